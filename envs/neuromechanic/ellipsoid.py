"""Muscle paths over an ellipsoid by the method of OpenSim's WrapEllipsoid.

The path is not the shortest on the surface. It is the shortest in a plane through both ends and a third point, the
crest, for which there are three methods. `paths` adds the moment arms, so the derivatives of the length are exact.

Coordinates are along the axes of the ellipsoid, in units of its mean radius. Points are in blocks of ``w``: row 0 is
the point, and the rows after it are its derivatives by the motion of the first and the last end in two directions each,
which are perpendicular to the line between them.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.kernels.jit import kernel

HYBRID, AXIAL, MIDPOINT = range(3)
"""OpenSim's methods to find the crest."""

FIRST, LAST, ENTRY, EXIT, PLACE, NEAR, SUM, AXIS, CREST, SCALARS, SHAPE, PLANE = range(12)
"""Blocks of ``w``: ends of the string, points where the straight line enters and leaves, points near the line, the
nearest points of the surface, sums of directions, crests, numbers, the shape and the plane of `section`."""

LEAST, MOST = 0.7073, 0.9
"""Largest cosine of the line with an axis for a crest by the fan, and smallest for a crest by the axis."""

BORDER, SMALL = 0.3, 2e-13
"""Share of the line near its ends in which the crest by the axis fades, and the largest coordinate taken for 0."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
"""Nodes and weights of quadrature from -1 to 1."""

PANELS = 8
"""Number of equal parts of the line in which the fan is integrated."""


@kernel
def nearest(w, a, u, c, flat, rates, t=-math.inf):
    """Write block ``c``, the point of the ellipsoid nearest to that of block ``u``, and return its multiplier.

    Args:
        a ((3,) float): Radii.
        flat: Axis along which the point does not move, so that the nearest point is on an ellipse; -1 for none.
        rates: Number of derivatives.
        t: Guess of the multiplier t, by which the distance from the point is t times half the normal.
    """
    x, y, least = w[u, 0], w[c, 0], -math.inf
    if flat < 0:
        size = math.inf
        for i in range(3):
            if abs(x[i]) <= SMALL and a[0] + a[1] + a[2] - a[i] < size:
                size, flat = a[0] + a[1] + a[2] - a[i], i
    for i in range(3):
        if i != flat and abs(x[i]) > SMALL:
            least = max(least, a[i] * abs(x[i]) - a[i] * a[i])
    t = max(t, least)
    for _ in range(40):  # the residual is convex and decreasing, so that steps end on the left of the root
        miss, slope = -1.0, 0.0
        for i in range(3):
            if i != flat:
                f = a[i] / (t + a[i] * a[i])
                g = (f * x[i]) ** 2
                miss += g
                slope += g * f / a[i]
        if not slope > 0.0:
            break
        step = 0.5 * miss / slope
        t = max(t + step, least)
        if abs(step) < 1e-9:
            break
    for i in range(3):
        y[i] = x[i] if i == flat else a[i] * a[i] * x[i] / (t + a[i] * a[i])
    for d in range(1, rates + 1):
        above, below = 0.0, 0.0
        for i in range(3):
            if i != flat:
                f = 1.0 / (t + a[i] * a[i])
                above += y[i] * w[u, d, i] * f
                below += y[i] * x[i] * f * f
        for i in range(3):
            f = 1.0 / (t + a[i] * a[i])
            moved = a[i] * a[i] * f * (w[u, d, i] - x[i] * f * above / below)
            w[c, d, i] = w[u, d, i] if i == flat else moved
    return t


@kernel
def crossing(w, a, share, block, rates):
    """Write the point of the surface at a share of the line from the last to the first end."""
    r, along = w[block, 0], 0.0
    for i in range(3):
        r[i] = w[LAST, 0, i] + share * (w[FIRST, 0, i] - w[LAST, 0, i])
        along += r[i] / (a[i] * a[i]) * (w[FIRST, 0, i] - w[LAST, 0, i])
    for d in range(1, rates + 1):
        rise = 0.0
        for i in range(3):
            w[block, d, i] = w[LAST, d, i] + share * (w[FIRST, d, i] - w[LAST, d, i])
            rise += r[i] / (a[i] * a[i]) * w[block, d, i]
        for i in range(3):
            w[block, d, i] -= rise / along * (w[FIRST, 0, i] - w[LAST, 0, i])


@kernel
def inner(w, share, rates):
    """Write block PLACE, the point at a share of the line within the ellipsoid; w[SCALARS, 1:, 0] are rates of it."""
    for d in range(rates + 1):
        for i in range(3):
            w[PLACE, d, i] = w[ENTRY, d, i] + share * (w[EXIT, d, i] - w[ENTRY, d, i])
            if d > 0:
                w[PLACE, d, i] += w[SCALARS, d, 0] * (w[EXIT, 0, i] - w[ENTRY, 0, i])


@kernel
def unit(w, block, rates):
    """Divide the vector of a block by its length."""
    x = w[block, 0]
    size = math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
    for i in range(3):
        x[i] /= size
    for d in range(1, rates + 1):
        y = w[block, d]
        along = x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
        for i in range(3):
            y[i] = (y[i] - along * x[i]) / size


@kernel
def fan(w, a, rates):
    """Write block SUM, a point in the mean direction from the line within the ellipsoid to its nearest surface.

    OpenSim takes the mean at 298 points in steps of 1/300, which is here an integral over their range.
    """
    for d in range(rates + 1):
        for i in range(3):
            w[SUM, d, i] = 0.0
        w[SCALARS, d, 0] = 0.0
    width, t = 298.0 / 300.0 / PANELS, -math.inf
    for panel in range(PANELS):
        for node in range(len(NODES)):
            inner(w, 0.5 / 300.0 + width * (panel + 0.5 + 0.5 * NODES[node]), rates)
            t = nearest(w, a, PLACE, NEAR, -1, rates, t)
            for d in range(rates + 1):
                for i in range(3):
                    w[NEAR, d, i] -= w[PLACE, d, i]
            unit(w, NEAR, rates)
            for d in range(rates + 1):
                for i in range(3):
                    w[SUM, d, i] += WEIGHTS[node] * w[NEAR, d, i]
    unit(w, SUM, rates)
    inner(w, 0.5, rates)
    for d in range(rates + 1):
        for i in range(3):
            w[SUM, d, i] += w[PLACE, d, i]


@kernel
def crest(w, a, method, side, rates):
    """Write block CREST from the blocks FIRST, LAST, ENTRY and EXIT; return whether strings pass on its other side.

    Args:
        method: HYBRID, AXIAL or MIDPOINT. The first blends a mean (`fan`) with the crest by the axis.
        side: Axis (1 to 3) of the half of the ellipsoid on which paths are, negative for its negative half; 0 for none.
    """
    long = math.sqrt(sum3(w[FIRST, 0], w[LAST, 0]))
    axis, mu = 0, 0.0
    for i in range(3):
        size = abs(w[FIRST, 0, i] - w[LAST, 0, i]) / long
        if size > mu:
            axis, mu = i, size
    wide = w[EXIT, 0, axis] - w[ENTRY, 0, axis]
    share = -w[ENTRY, 0, axis] / wide
    fade, slope = 1.0, 0.0
    if method == HYBRID and mu > LEAST:
        if not 0.0 <= share <= 1.0:
            fade = 0.0
        elif share < BORDER:
            fade, slope = share / BORDER, 1.0 / BORDER
        elif share > 1.0 - BORDER:
            fade, slope = (1.0 - share) / BORDER, -1.0 / BORDER
    sign = 1.0 if w[FIRST, 0, axis] > w[LAST, 0, axis] else -1.0
    for d in range(1, rates + 1):  # rates of the share and of the weight of the crest by the axis
        w[SCALARS, d, 0] = -((1.0 - share) * w[ENTRY, d, axis] + share * w[EXIT, d, axis]) / wide
        turn = sign * (w[FIRST, d, axis] - w[LAST, d, axis]) / long
        turn = fade * turn + slope * w[SCALARS, d, 0] * (mu - LEAST)
        w[SCALARS, d, 1] = turn / (MOST - LEAST)
    if fade < 1.0:
        mu = LEAST + fade * (mu - LEAST)
    weight = (mu - LEAST) / (MOST - LEAST)
    if method == MIDPOINT:
        for d in range(rates + 1):
            w[SCALARS, d, 0] = 0.0
        inner(w, 0.5, rates)
        nearest(w, a, PLACE, CREST, -1, rates)
    elif method == AXIAL or weight > 0.0:
        inner(w, share, rates)
        nearest(w, a, PLACE, CREST, axis, rates)
    if method == HYBRID and weight < 1.0:
        for d in range(rates + 1):
            for i in range(3):
                w[AXIS, d, i] = w[CREST, d, i]
        fan(w, a, rates)
        nearest(w, a, SUM, CREST, -1, rates)
        if weight > 0.0:
            for d in range(rates + 1):
                for i in range(3):
                    w[SUM, d, i] = weight * w[AXIS, d, i] + (1.0 - weight) * w[CREST, d, i]
                    if d > 0:
                        w[SUM, d, i] += w[SCALARS, d, 1] * (w[AXIS, 0, i] - w[CREST, 0, i])
            nearest(w, a, SUM, CREST, -1, rates)
    i, outside = abs(side) - 1, method == AXIAL and not 0.0 < share < 1.0
    if side != 0 and w[CREST, 0, i] * side < -SMALL:
        low, x, outside = min(max(weight, 0.0), 1.0) if method == HYBRID else 1.0, w[CREST, 0, i], False
        for d in range(rates + 1):
            for j in range(3):
                w[SUM, d, j] = w[CREST, d, j]
            w[SUM, d, i] = -low * w[CREST, d, i]
            if d > 0 and 0.0 < low < 1.0:
                w[SUM, d, i] -= w[SCALARS, d, 1] * x
        if low < 1.0:
            nearest(w, a, SUM, CREST, -1, rates)
        else:
            for d in range(rates + 1):
                w[CREST, d, i] = w[SUM, d, i]
    return outside


@kernel
def sum3(p, q):
    """Return the square of the distance of two points (3,)."""
    return (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2 + (p[2] - q[2]) ** 2


@kernel
def over(w, meet, radii, method, side, p, q, rates):
    """Return the length (m) on an ellipsoid of a string between two points; -1 if it is straight.

    The string is straight if the line between the ends does not enter and leave the ellipsoid, or an end is inside.

    Args:
        w: Work space.
        meet ((2, 3) float, m): Output for the points where the string meets and leaves the surface.
        radii ((3,) float, m): Radii.
        method, side: See `crest`.
        p, q ((3,) float, m): Ends.
        rates: 4 to write the derivatives, in w[PLANE, 3] for the first end and w[PLANE, 4] for the last one, without
            those of the straight parts; else 0.
    """
    a, scale = w[SHAPE, 0], 3.0 / (radii[0] + radii[1] + radii[2])
    A = B = C = D = 0.0
    size_p, size_q, along = 0.0, 0.0, 0.0
    for i in range(3):
        a[i] = scale * radii[i]
        x, y = scale * p[i], scale * q[i]
        w[FIRST, 0, i], w[LAST, 0, i] = x, y
        f, g = (x - y) / a[i], y / a[i]
        A, B, C, D = A + f * f, B + f * g, C + g * g, D + (x / a[i]) ** 2
        size_p, size_q, along = size_p + x * x, size_q + y * y, along + x * y
    inside = D < 1.0 - 1e-4 or C < 1.0 - 1e-4
    root = B * B - A * (C - 1.0)
    if inside or root < 0.0 or abs(along / math.sqrt(size_p * size_q) - 1.0) < 1e-4:
        return -1.0
    root = math.sqrt(root)
    near, far = (root - B) / A, (-root - B) / A
    if not (0.0 < near < 1.0 and 0.0 < far < 1.0):
        return -1.0
    if rates > 0:
        ways(w)
    crossing(w, a, near, ENTRY, rates)
    crossing(w, a, far, EXIT, rates)
    outside = crest(w, a, method, side, rates)
    return section(w, meet, a, scale, outside, rates)


@kernel
def ways(w):
    """Write the derivatives of the ends: two directions perpendicular to the line, of the first end and of the last."""
    x, y, z = w[FIRST, 0, 0] - w[LAST, 0, 0], w[FIRST, 0, 1] - w[LAST, 0, 1], w[FIRST, 0, 2] - w[LAST, 0, 2]
    long = math.sqrt(x * x + y * y + z * z)
    x, y, z = x / long, y / long, z / long
    e = w[FIRST, 1]
    if abs(x) < 0.6:
        e[0], e[1], e[2] = 0.0, z, -y
    else:
        e[0], e[1], e[2] = -z, 0.0, x
    long = math.sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2])
    for i in range(3):
        e[i] /= long
    f = w[FIRST, 2]
    f[0], f[1], f[2] = y * e[2] - z * e[1], z * e[0] - x * e[2], x * e[1] - y * e[0]
    for i in range(3):
        for d in range(2):
            w[LAST, 3 + d, i] = w[FIRST, 1 + d, i]
            w[FIRST, 3 + d, i] = w[LAST, 1 + d, i] = 0.0


@kernel
def section(w, meet, a, scale, outside, rates):
    """Return the length (m) of the string on the ellipse in the plane of both ends and the crest; see `over`.

    In coordinates divided by the radii, the ellipse is a circle.
    """
    p, q, c, e, m, n = w[FIRST, 0], w[LAST, 0], w[CREST, 0], w[PLANE, 0], w[PLANE, 1], w[PLANE, 2]
    size = 0.0
    for i in range(3):
        e[i] = (q[i] - p[i]) / a[i]
        size += e[i] * e[i]
    size, along = math.sqrt(size), 0.0
    for i in range(3):
        e[i] /= size
        along += e[i] * (c[i] - p[i]) / a[i]
    size = 0.0
    for i in range(3):
        m[i] = (c[i] - p[i]) / a[i] - along * e[i]
        size += m[i] * m[i]
    size, x, y, height, far = math.sqrt(size), 0.0, 0.0, 0.0, 0.0
    if outside and m[0] * p[0] / a[0] + m[1] * p[1] / a[1] + m[2] * p[2] / a[2] < 0.0:
        size = -size
    for i in range(3):
        m[i] /= size
        x, far, y = x + e[i] * p[i] / a[i], far + e[i] * q[i] / a[i], y + m[i] * p[i] / a[i]
    n[0], n[1], n[2] = e[1] * m[2] - e[2] * m[1], e[2] * m[0] - e[0] * m[2], e[0] * m[1] - e[1] * m[0]
    for i in range(3):
        height += n[i] * p[i] / a[i]
    radius = math.sqrt(1.0 - height * height)
    first = math.atan2(y, x) - math.acos(min(radius / math.hypot(x, y), 1.0))
    last = math.atan2(y, far) + math.acos(min(radius / math.hypot(far, y), 1.0))
    sweep = (first - last) % (2.0 * math.pi)
    for i in range(3):
        meet[0, i] = a[i] * (height * n[i] + radius * (math.cos(first) * e[i] + math.sin(first) * m[i])) / scale
        meet[1, i] = a[i] * (height * n[i] + radius * (math.cos(last) * e[i] + math.sin(last) * m[i])) / scale
    # The plane in the coordinates themselves: u and v are conjugate radii of the ellipse, `across` is normal to it.
    v, across, u = w[SHAPE, 1], w[SHAPE, 2], w[SHAPE, 3]
    for i in range(3):
        u[i], v[i] = a[i] * radius * e[i], a[i] * radius * m[i]
    across[0], across[1], across[2] = u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]
    size = math.sqrt(across[0] ** 2 + across[1] ** 2 + across[2] ** 2)
    for i in range(3):
        across[i] /= size
    panels, arc = int(sweep) + 1, 0.0
    one, rise, deep = 0.0, 0.0, 0.0
    half = 0.5 * sweep / panels
    for panel in range(panels):
        for node in range(len(NODES)):
            angle = last + half * (2 * panel + 1 + NODES[node])
            cosine, sine = math.cos(angle), math.sin(angle)
            speed = 0.0
            for i in range(3):
                speed += (cosine * v[i] - sine * u[i]) ** 2
            speed = math.sqrt(speed)
            arc += WEIGHTS[node] * speed
            if rates > 0:
                # A shift of the plane along its normal moves the string on the surface, towards its inside or outside.
                tx, ty, tz = (cosine * v[0] - sine * u[0]) / speed, (cosine * v[1] - sine * u[1]) / speed, 0.0
                tz = (cosine * v[2] - sine * u[2]) / speed
                ox = across[1] * tz - across[2] * ty
                oy = across[2] * tx - across[0] * tz
                oz = across[0] * ty - across[1] * tx
                bend = -(ox * (cosine * u[0] + sine * v[0]) + oy * (cosine * u[1] + sine * v[1]))
                bend -= oz * (cosine * u[2] + sine * v[2])
                lean, stand, part, up = 0.0, 0.0, 0.0, 0.0
                for i in range(3):
                    place = a[i] * height * n[i] + cosine * u[i] + sine * v[i]
                    o = ox if i == 0 else (oy if i == 1 else oz)
                    lean += place / (a[i] * a[i]) * across[i]
                    stand += place / (a[i] * a[i]) * o
                    part += (place - p[i]) * (q[i] - p[i])
                    up += (place - p[i]) * v[i]
                f = WEIGHTS[node] * bend / speed * lean / stand
                one, rise, deep = one + f, rise + f * part, deep + f * up
    if rates > 0:
        slopes(w, half * one, half * rise, half * deep)
    return half * arc / scale


@kernel
def slopes(w, one, rise, deep):
    """Write the derivatives of the length by both ends from sums over the ellipse.

    A shift s(x) of the plane along its normal changes the length by the integral of f s. The sums are the integrals of
    f, of f times the product with the line, and of f times the product with direction v of the ellipse.
    """
    p, q, c, v, across = w[FIRST, 0], w[LAST, 0], w[CREST, 0], w[SHAPE, 1], w[SHAPE, 2]
    ll = lv = vv = cl = cv = 0.0
    for i in range(3):
        line, reach = q[i] - p[i], c[i] - p[i]
        ll, lv, vv = ll + line * line, lv + line * v[i], vv + v[i] * v[i]
        cl, cv = cl + line * reach, cv + v[i] * reach
    # Shares along the line, and heights over it: v without its part along the line.
    rise, deep, part, high = rise / ll, deep - lv / ll * rise, cl / ll, cv - lv / ll * cl
    by_crest = deep / high
    by_first, by_last = one - rise - (1.0 - part) * by_crest, rise - part * by_crest
    for i in range(3):
        w[PLANE, 3, i], w[PLANE, 4, i] = by_first * across[i], by_last * across[i]
    for d in range(4):
        moved = 0.0
        for i in range(3):
            moved += across[i] * w[CREST, 1 + d, i]
        for i in range(3):
            w[PLANE, 3 + d // 2, i] += by_crest * moved * w[FIRST, 1 + d % 2, i]
