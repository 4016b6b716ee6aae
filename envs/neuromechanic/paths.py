"""Muscle paths: lengths, moment arms and rates, from points and surfaces or from a fitted function of the posture."""

from __future__ import annotations

import math

from ..core.kernels.jit import add_scaled, inlined, kernel
from .ellipsoid import PLANE, over
from .skeleton import place, push, rotate

SIDE, ANY, SIDED, INSIDE, SPHERE = range(5)
"""Ways of a string along a cylinder: by OpenSim's rule for a side, the shorter way, by MuJoCo's rule for a side, and
inside. For a sphere, add SPHERE - ANY to the last three."""

ELLIPSOID = SPHERE + 3
"""Way over an ellipsoid; add a method of `ellipsoid`."""

MEETS, LEAVES, BEFORE, AFTER = range(4)
"""Rows of ``k.meet``: points where a string meets and leaves a surface, and the points before and after it."""


@kernel
def tangents(meet, radius, p, q):
    """Find the points where a taut string from ``p`` to ``q`` meets and leaves a cylinder about the z axis.

    The string passes on the side of positive x. The shortest line on the unrolled surface is straight, so that z is a
    linear function of the length in the x-y plane.

    Args:
        meet ((4, 3) float, m): Output for the two points in rows MEETS and LEAVES.
        radius (m): Radius of the cylinder.
        p, q ((3,) float, m): Ends of the string.

    Returns:
        wraps bool: Whether the string touches the cylinder.
        arc float, m: Length on the surface.
    """
    arc = around(meet, radius, p, q, 1.0 if q[1] >= p[1] else -1.0, math.pi)
    return arc >= 0.0, max(arc, 0.0)


@kernel
def around(meet, radius, p, q, turn, most):
    """Return the length (m) on a cylinder about the z axis of a taut string in direction ``turn`` (1: anticlockwise).

    The result is -1 if the string would turn by ``most`` (rad) or more, or an end is inside the cylinder. See
    `tangents` for the other arguments.
    """
    dp, dq = math.hypot(p[0], p[1]), math.hypot(q[0], q[1])
    if dp <= radius or dq <= radius:
        return -1.0
    first = math.atan2(p[1], p[0]) + turn * math.acos(radius / dp)
    last = math.atan2(q[1], q[0]) - turn * math.acos(radius / dq)
    angle = turn * (last - first) % (2.0 * math.pi)
    if angle >= most:
        return -1.0
    lead, trail = math.sqrt(dp * dp - radius * radius), math.sqrt(dq * dq - radius * radius)
    way = lead + radius * angle + trail
    rise = (q[2] - p[2]) / way
    meet[MEETS, 0], meet[MEETS, 1] = radius * math.cos(first), radius * math.sin(first)
    meet[MEETS, 2] = p[2] + rise * lead
    meet[LEAVES, 0], meet[LEAVES, 1] = radius * math.cos(last), radius * math.sin(last)
    meet[LEAVES, 2] = q[2] - rise * trail
    return radius * angle * math.sqrt(1.0 + rise * rise)


@kernel
def pierces(radius, p, q):
    """Return whether the line between ``p`` and ``q`` pierces the cylinder, and x (m) of its point nearest the axis."""
    u, v = q[0] - p[0], q[1] - p[1]
    size = u * u + v * v
    t = -(p[0] * u + p[1] * v) / size if size > 0.0 else -1.0
    return 0.0 < t < 1.0 and math.hypot(p[0] + t * u, p[1] + t * v) < radius, p[0] + t * u


@kernel
def active_turn(radius, p, q):
    """Return OpenSim's direction (1: anticlockwise) around a cylinder about the z axis with the side positive x.

    Each end has two tangents. OpenSim takes the direction with tangent points at positive x. The first end decides if
    exactly one of its tangent points is there, else the last end. If no tangent point is, the longer way is taken.
    """
    lead = math.sqrt(p[0] * p[0] + p[1] * p[1] - radius * radius)
    trail = math.sqrt(q[0] * q[0] + q[1] * q[1] - radius * radius)
    up, up_y = radius * p[0] - lead * p[1], radius * p[1] + lead * p[0]
    down, down_y = radius * p[0] + lead * p[1], radius * p[1] - lead * p[0]
    last_up, last_up_y = radius * q[0] + trail * q[1], radius * q[1] - trail * q[0]
    last_down, last_down_y = radius * q[0] - trail * q[1], radius * q[1] + trail * q[0]
    if (up > 0.0) != (down > 0.0):
        return 1.0 if up > 0.0 else -1.0
    if last_down > 0.0:
        return -1.0
    if up > 0.0 or last_up > 0.0:
        return 1.0
    return 1.0 if up * last_up + up_y * last_up_y < down * last_down + down_y * last_down_y else -1.0


@kernel
def wrapped(meet, way, radius, half, p, q):
    """Return the length (m) of a string on a surface (-1 if it is straight), and whether the straight line pierces it.

    This is the rule of OpenSim's WrapCylinder. A string wraps a cylinder with a side on that side if the straight line
    pierces the cylinder, if both ends are on the other side, or if one end is and the line passes the axis there. This
    can be more than half a turn. A string wraps a cylinder without a side the shorter way if the line pierces it. The
    string stays straight if it would touch beyond the ends of the cylinder.

    Args:
        meet, radius, p, q: See `tangents`.
        way: SIDE or ANY. For a sphere, the axis is perpendicular to the plane of p, q and the centre.
        half (m): Half the length of the cylinder.
    """
    if math.hypot(p[0], p[1]) <= radius or math.hypot(q[0], q[1]) <= radius:
        return -1.0, False
    hit, near = pierces(radius, p, q)
    if way == SIDE:
        if (p[0] > 0.0 or q[0] > 0.0) and not hit and not (p[0] * q[0] <= 0.0 and near <= 0.0):
            return -1.0, False
        arc = around(meet, radius, p, q, active_turn(radius, p, q), 2.0 * math.pi)
    else:
        if not hit:
            return -1.0, False
        other = around(meet, radius, p, q, -1.0, math.pi)
        arc = around(meet, radius, p, q, 1.0, math.pi)
        if arc < 0.0 or 0.0 <= other < arc:
            arc = around(meet, radius, p, q, -1.0, math.pi)
    if abs(meet[MEETS, 2]) > half and abs(meet[LEAVES, 2]) > half:
        return -1.0, False
    return arc, hit


@kernel
def sided(meet, radius, x, y, p, q):
    """Return the length (m) on a cylinder about the z axis of a string with the side (x, y); -1 if it is straight.

    This is the rule of MuJoCo 4: if the side is opposite to the sector between ``p`` and ``q``, the string takes the
    longer way; else the side has no effect. See `wrapped` for the other arguments and results.
    """
    across = p[0] * q[1] - p[1] * q[0]
    if (y * q[0] - x * q[1]) * across >= 0.0 and (x * p[1] - y * p[0]) * across >= 0.0:
        return around(meet, radius, p, q, -1.0 if across > 0.0 else 1.0, 2.0 * math.pi), True
    return wrapped(meet, ANY, radius, math.inf, p, q)


@kernel
def pulled(meet, radius, p, q):
    """Return 0 for a string that touches a cylinder about the z axis from inside, and -1 if it is straight.

    This is the rule of MuJoCo (wrap_inside): a string that would miss the circle touches it at the point with the
    shortest path, where it is reflected like light. Newton's method finds the angle to the normal at this point.
    """
    a, b = math.hypot(p[0], p[1]), math.hypot(q[0], q[1])
    if a <= radius or b <= radius or pierces(radius, p, q)[0]:
        return -1.0, False
    between = math.acos(min(max((p[0] * q[0] + p[1] * q[1]) / (a * b), -1.0), 1.0))
    A, B, angle = radius / a, radius / b, 0.5 * math.pi
    for _ in range(30):  # the residual is concave and decreasing, so that steps stay on the right of the root
        sine, cosine = math.sin(angle), math.cos(angle)
        first, last = A * sine, B * sine
        miss = math.asin(first) + math.asin(last) - 2.0 * angle + between
        step = miss / (2.0 - A * cosine / math.sqrt(1.0 - first * first) - B * cosine / math.sqrt(1.0 - last * last))
        angle += step
        if abs(step) < 1e-14:
            break
    turn = angle - math.asin(A * math.sin(angle))
    s, c = math.sin(turn), math.cos(turn)
    if p[0] * q[1] - p[1] * q[0] < 0.0:
        s = -s
    x, y = c * p[0] - s * p[1], s * p[0] + c * p[1]
    f = radius / math.hypot(x, y)
    x, y = f * x, f * y
    first, last = math.hypot(p[0] - x, p[1] - y), math.hypot(q[0] - x, q[1] - y)
    for r in (MEETS, LEAVES):
        meet[r, 0], meet[r, 1], meet[r, 2] = x, y, p[2] + (q[2] - p[2]) * first / (first + last)
    return 0.0, False


@kernel
def flat(meet, way, radius, half, x, y, p, q):
    """Return the result of `wrapped`, `sided` or `pulled`, depending on ``way``."""
    if way == SIDED:
        return sided(meet, radius, x, y, p, q)
    if way == INSIDE:
        return pulled(meet, radius, p, q)
    return wrapped(meet, way, radius, half, p, q)


@kernel
def segment(t, k, w, i, rates):
    """Apply wrap ``w`` to the string between nodes i and i + 1; see `wrapped`. ``k.meet`` is in the world frame.

    For ``rates``, see `ellipsoid.over`.
    """
    c, meet = t.wrap[w, 0], k.meet
    p, q = meet[BEFORE], meet[AFTER]
    inside(t, k, c, k.node[i, 0], k.node[i, 1], k.node[i, 2], p)
    inside(t, k, c, k.node[i + 1, 0], k.node[i + 1, 1], k.node[i + 1, 2], q)
    way, radius, half = t.cylinder_way[c], t.cylinder_radius[c], t.cylinder_half[c]
    if ELLIPSOIDS and way >= ELLIPSOID:
        arc = over(k.ellipsoid, meet, t.cylinder_radii[c], way - ELLIPSOID, t.cylinder_quadrant[c], p, q, rates)
        hit = arc >= 0.0
    elif way < SPHERE:
        arc, hit = flat(meet, way, radius, half, 1.0, 0.0, p, q)
    else:
        # Axes for the plane of both ends and the centre: x to the first end, y perpendicular, z normal to the plane.
        R, dp = k.ball, math.sqrt(p[0] ** 2 + p[1] ** 2 + p[2] ** 2)
        along = (p[0] * q[0] + p[1] * q[1] + p[2] * q[2]) / max(dp, 1e-12)
        for j in range(3):
            R[0, j] = p[j] / max(dp, 1e-12)
            R[1, j] = q[j] - along * R[0, j]
        across = math.sqrt(R[1, 0] ** 2 + R[1, 1] ** 2 + R[1, 2] ** 2)
        if across < 1e-9:
            return -1.0, False
        for j in range(3):
            R[1, j] /= across
        p[0], p[1], p[2] = dp, 0.0, 0.0
        q[0], q[1], q[2] = along, across, 0.0
        # The side is the x axis of the sphere's frame.
        arc, hit = flat(meet, way - SPHERE + ANY, radius, half, R[0, 0], R[1, 0], p, q)
        for r in (MEETS, LEAVES):
            x, y = meet[r, 0], meet[r, 1]
            for j in range(3):
                meet[r, j] = x * R[0, j] + y * R[1, j]
    for r in (MEETS, LEAVES):
        x, y, z = outside(t, k, c, meet[r])
        meet[r, 0], meet[r, 1], meet[r, 2] = x, y, z
    return arc, hit


@kernel
def gap(a, b):
    """Return the distance (m) of two points (3,)."""
    return math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)


@kernel
def wrap_nodes(t, k, m, count, w, first):
    """Apply wrap ``w`` to the segment of a path of ``count`` nodes where it adds least length; return the new count.

    Segments that pierce the surface take precedence. ``first`` is the first wrap of muscle ``m``.
    """
    for i in range(count):  # remove the result of the previous pass
        if k.node_wrap[i] == w:
            count -= 2
            for j in range(i, count):
                move_node(k, j + 2, j)
            break
    best, last, where, must = math.inf, 0.0, -1, False
    rates = 4 if alone(t, m) else 0
    for i in range(count - 1):
        low, high = k.node_point[i] - t.path_start[m], k.node_point[i + 1] - t.path_start[m]
        own = k.node_wrap[i] >= 0 and k.node_wrap[i] == k.node_wrap[i + 1]
        own |= t.point_share[k.node_point[i]] == 0.0
        if own or low < t.wrap[w, 1] or high > t.wrap[w, 2] + (k.node_wrap[i + 1] < 0) - 1 or must:
            continue
        arc, hit = segment(t, k, w, i, rates)
        if arc < 0.0:
            continue
        p, q = k.node[i], k.node[i + 1]
        more = gap(p, k.meet[MEETS]) + arc + gap(k.meet[LEAVES], q) - gap(p, q)
        if hit or more < best:
            best, last, where, must = more, arc, i, hit
    if where < 0:
        return count
    k.wrap_arc[w - first] = last if must else segment(t, k, w, where, rates)[0]
    for j in range(count - 1, where, -1):
        move_node(k, j, j + 2)
    for r in (MEETS, LEAVES):
        j = where + 1 + r
        k.node[j, 0], k.node[j, 1], k.node[j, 2] = k.meet[r, 0], k.meet[r, 1], k.meet[r, 2]
        k.node_body[j], k.node_wrap[j], k.node_point[j] = t.cylinder_body[t.wrap[w, 0]], w, k.node_point[where]
    return count + 2


@kernel
def move_node(k, i, j):
    """Copy node i of a path to index j."""
    k.node[j, 0], k.node[j, 1], k.node[j, 2] = k.node[i, 0], k.node[i, 1], k.node[i, 2]
    k.node_body[j], k.node_wrap[j], k.node_point[j] = k.node_body[i], k.node_wrap[i], k.node_point[i]


@kernel
def present(t, k, q, j):
    """Return whether point ``j`` is active; conditional points depend on the position of a joint."""
    joint = t.point_joint[j]
    if joint < 0:
        return True
    position = q[joint] if joint < t.bodies else k.follow[joint, 0]
    return t.point_range[j, 0] <= position <= t.point_range[j, 1]


PASSES = 8
"""Largest number of passes over the wraps of a muscle."""


@kernel
def winding(t, k, q, m):
    """Return the length (m) of a path with conditional points, pulleys or wraps, and add its moment arms -dL/dq.

    Several wraps are applied in turn, until the relative change of the length is less than 1e-9.
    """
    count = 0
    for j in range(t.path_start[m], t.path_start[m + 1]):
        if present(t, k, q, j):
            x, y, z = place(k, t.point_body[j], t.point_at[j])
            k.node[count, 0], k.node[count, 1], k.node[count, 2] = x, y, z
            k.node_body[count], k.node_wrap[count], k.node_point[count] = t.point_body[j], -1, j
            count += 1
    first, last, before = t.wrap_start[m], t.wrap_start[m + 1], math.inf
    for _ in range(PASSES if last > first else 0):
        for w in range(first, last):
            count = wrap_nodes(t, k, m, count, w, first)
        length = 0.0
        for i in range(count - 1):
            own = k.node_wrap[i] >= 0 and k.node_wrap[i] == k.node_wrap[i + 1]
            length += k.wrap_arc[k.node_wrap[i] - first] if own else gap(k.node[i], k.node[i + 1])
        if last - first == 1 or abs(length - before) < 1e-9 * length:
            break
        before = length
    length = 0.0
    for i in range(count - 1):
        if k.node_wrap[i] >= 0 and k.node_wrap[i] == k.node_wrap[i + 1]:
            length += k.wrap_arc[k.node_wrap[i] - first] * t.point_share[k.node_point[i]]
            if ELLIPSOIDS and t.cylinder_way[t.wrap[k.node_wrap[i], 0]] >= ELLIPSOID:
                lean(t, k, m, i)
            continue
        a, b, share = k.node[i], k.node[i + 1], t.point_share[k.node_point[i]]
        if share > 0.0:
            length += span(t, k, m, share, k.node_body[i], a[0], a[1], a[2], k.node_body[i + 1], b[0], b[1], b[2])
    return length


@kernel
def alone(t, m):
    """Return whether a path has one wrap, so that the derivatives of its last segment are still in ``k.ellipsoid``."""
    return t.wrap_start[m + 1] - t.wrap_start[m] == 1


@kernel
def lean(t, k, m, i):
    """Add the moment arms of the string over an ellipsoid from node i, apart from those of its straight parts."""
    c, meet = t.wrap[k.node_wrap[i], 0], k.meet
    b, F, share = t.cylinder_body[c], t.cylinder_frame[c], t.point_share[k.node_point[i]]
    if not alone(t, m):
        p, q, way = meet[BEFORE], meet[AFTER], t.cylinder_way[c] - ELLIPSOID
        inside(t, k, c, k.node[i - 1, 0], k.node[i - 1, 1], k.node[i - 1, 2], p)
        inside(t, k, c, k.node[i + 2, 0], k.node[i + 2, 1], k.node[i + 2, 2], q)
        over(k.ellipsoid, meet, t.cylinder_radii[c], way, t.cylinder_quadrant[c], p, q, 4)
    for end in range(2):
        j, g = i - 1 + 3 * end, k.ellipsoid[PLANE, 3 + end]
        x, y, z = k.node[j, 0], k.node[j, 1], k.node[j, 2]
        u = share * (F[0, 0] * g[0] + F[1, 0] * g[1] + F[2, 0] * g[2])
        v = share * (F[0, 1] * g[0] + F[1, 1] * g[1] + F[2, 1] * g[2])
        w = share * (F[0, 2] * g[0] + F[1, 2] * g[1] + F[2, 2] * g[2])
        if b >= 0:
            u, v, w = rotate(k.turn[b], u, v, w)
        push(t, k, k.node_body[j], x, y, z, -u, -v, -w, k.arm[m])
        push(t, k, b, x, y, z, u, v, w, k.arm[m])


@kernel
def span(t, k, m, share, body, x, y, z, body1, x1, y1, z1):
    """Return ``share`` times the length (m) of a segment between two bodies, and add its moment arms -dL/dq."""
    u, v, w = x1 - x, y1 - y, z1 - z
    length = math.sqrt(u * u + v * v + w * w)
    if length > 0.0:
        u, v, w = share * (u / length), share * (v / length), share * (w / length)
        push(t, k, body, x, y, z, u, v, w, k.arm[m])
        push(t, k, body1, x1, y1, z1, -u, -v, -w, k.arm[m])
    return share * length


WINDING = ELLIPSOIDS = True
"""Whether paths can need `winding` and `ellipsoid`; `variant` removes their code otherwise."""


@inlined
def paths(t, k, q, v):
    """Write lengths ``k.length`` (m), moment arms ``k.arm`` = -dL/dq (m or 1) and rates ``k.rate`` (m/s); R of Eq. 14.

    A fitted length is L = mean - (a.d + d.B d / 2) with d = q - at, with the moment arms a + B d.

    Call this after `kinematics`. ``q`` and ``v`` (n,) are joint positions (rad or m) and velocities.
    """
    n = t.bodies
    meet = k.meet
    for m in range(t.muscles):
        arm = k.arm[m]
        fit = t.fit[m]
        length = 0.0
        if fit >= 0:
            for j in range(n):
                add_scaled(arm, arm if j > 0 else t.fit_a[fit], q[j] - t.fit_at[fit, j], t.fit_B[fit, j])
            length = t.fit_mean[fit]
            for i in range(n):
                length -= 0.5 * (t.fit_a[fit, i] + arm[i]) * (q[i] - t.fit_at[fit, i])
        else:
            for i in range(n):
                arm[i] = 0.0
            first = t.path_start[m]
            if WINDING and t.winds[m]:
                length = winding(t, k, q, m)
                first = t.path_start[m + 1] - 1
            body = t.point_body[first]
            x, y, z = place(k, body, t.point_at[first])
            for j in range(first + 1, t.path_start[m + 1]):
                c = t.point_cylinder[j]
                if c >= 0:
                    b = t.cylinder_body[c]
                    x1, y1, z1 = place(k, t.point_body[j + 1], t.point_at[j + 1])
                    inside(t, k, c, x, y, z, meet[BEFORE])
                    inside(t, k, c, x1, y1, z1, meet[AFTER])
                    wraps, arc = tangents(meet, t.cylinder_radius[c], meet[BEFORE], meet[AFTER])
                    if wraps:
                        x1, y1, z1 = outside(t, k, c, meet[MEETS])
                        length += arc + span(t, k, m, 1.0, body, x, y, z, b, x1, y1, z1)
                        body = b
                        x, y, z = outside(t, k, c, meet[LEAVES])
                    continue
                b = t.point_body[j]
                x1, y1, z1 = place(k, b, t.point_at[j])
                length += span(t, k, m, 1.0, body, x, y, z, b, x1, y1, z1)
                body, x, y, z = b, x1, y1, z1
        k.length[m] = length
        rate = 0.0
        for i in range(n):
            rate -= arm[i] * v[i]
        k.rate[m] = rate


@kernel
def inside(t, k, c, x, y, z, local):
    """Write the coordinates ``local`` (3,) m of a world point (x, y, z) in the frame of cylinder ``c``."""
    b = t.cylinder_body[c]
    if b >= 0:
        R, o = k.turn[b], k.origin[b]
        x, y, z = x - o[0], y - o[1], z - o[2]
        x, y, z = (
            R[0, 0] * x + R[1, 0] * y + R[2, 0] * z,
            R[0, 1] * x + R[1, 1] * y + R[2, 1] * z,
            R[0, 2] * x + R[1, 2] * y + R[2, 2] * z,
        )
    a, F = t.cylinder_at[c], t.cylinder_frame[c]
    for i in range(3):
        local[i] = F[i, 0] * (x - a[0]) + F[i, 1] * (y - a[1]) + F[i, 2] * (z - a[2])


@kernel
def outside(t, k, c, local):
    """Return the world point (m) with coordinates ``local`` (3,) m in the frame of cylinder ``c``."""
    a, F = t.cylinder_at[c], t.cylinder_frame[c]
    x = a[0] + F[0, 0] * local[0] + F[1, 0] * local[1] + F[2, 0] * local[2]
    y = a[1] + F[0, 1] * local[0] + F[1, 1] * local[1] + F[2, 1] * local[2]
    z = a[2] + F[0, 2] * local[0] + F[1, 2] * local[1] + F[2, 2] * local[2]
    return place(k, t.cylinder_body[c], (x, y, z))
