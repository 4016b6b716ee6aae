"""Compliant contact and bushings: elastic forces with damping between two bodies.

Each force acts along generalised directions, three for a contact and six for a bushing. A direction (n,) is the
derivative of a rate (m/s or rad/s) between the bodies with respect to the joint velocities. `body` describes the
records ``t``, ``k`` and ``x``; ``v`` (n,) are joint velocities and ``dt`` (s) is the time step.
"""

from __future__ import annotations

import math

from ..core.kernels.jit import add_scaled, kernel
from ..core.kernels.maths import sincos
from .skeleton import add_wrench, place, push, rotate

FORCE, STIFFNESS, DAMPING = range(3)
"""Entries of ``k.elastic`` for each direction: force (N), and its derivatives that implicit steps use (N/m, N s/m).

Steps take the stiffness of contact implicitly, but not that of bushings, which would damp their oscillations.
"""

GAP, PRESS = range(2)
"""First entries of ``k.touch`` for each contact: distance of the surfaces (m) and normal force (N)."""

STIFF, DISSIPATION, SHARE, DYNAMIC, STATIC, VISCOUS, TRANSITION = range(7)
"""Constants of a contact in ``touch_law``: stiffness (Pa), dissipation (s/m), share of the indentation that the
first surface takes, friction coefficients (1, 1, s/m), and velocity of slip (m/s) of the largest static friction."""

RELEASES = 3
"""Largest number of times that a step is solved again without contacts that would pull."""


@kernel
def along(k, i, v, n):
    """Return the rate (m/s or rad/s) of direction i."""
    rate = 0.0
    for j in range(n):
        rate += k.way[i, j] * v[j]
    return rate


@kernel
def between(t, k, i, bodies, x, y, z, d0, d1, d2):
    """Write direction i: the motion of the first of two bodies relative to the second along (d0, d1, d2) at a point."""
    for j in range(t.bodies):
        k.way[i, j] = 0.0
    push(t, k, bodies[0], x, y, z, d0, d1, d2, k.way[i])
    push(t, k, bodies[1], x, y, z, -d0, -d1, -d2, k.way[i])


@kernel
def turning(t, k, i, bodies, m0, m1, m2):
    """Write direction i: the rotation of the first of two bodies relative to the second about (m0, m1, m2)."""
    for j in range(t.bodies):
        k.way[i, j] = 0.0
    add_wrench(t, k, bodies[0], m0, m1, m2, 0.0, 0.0, 0.0, k.way[i])
    add_wrench(t, k, bodies[1], -m0, -m1, -m2, 0.0, 0.0, 0.0, k.way[i])


@kernel
def touch(t, k, x, v, c):
    """Compute compliant contact c of a sphere with a plane or a sphere, and its directions from 3 c.

    The normal force is Hertz's, with the dissipation of Hunt and Crossley (1975):
    F = 4/3 E sqrt(R) d^(3/2) (1 + 3/2 c d'), at least 0, for the indentation d (m), its rate d' and the radius R (m) of
    the sphere (R1 R2 / (R1 + R2) for two). Friction is that of Simbody's HuntCrossleyForce, F (min(s, 1) (mu_d +
    2 (mu_s - mu_d) / (1 + s^2)) + mu_v v) for a slip of v (m/s), or s in transition velocities.
    """
    law, touched, bodies, first = t.touch_law[c], k.touch[c], t.touch_body[c], 3 * c
    for i in range(first, first + 3):
        k.elastic[i, FORCE] = k.elastic[i, STIFFNESS] = k.elastic[i, DAMPING] = 0.0
    x0, y0, z0 = place(k, bodies[0], t.touch_at[c, 0])
    x1, y1, z1 = place(k, bodies[1], t.touch_at[c, 1])
    u, w, s = x0 - x1, y0 - y1, z0 - z1
    radius, other = t.touch_radius[c]
    if other > 0.0:
        distance = math.sqrt(u * u + w * w + s * s)
        d = max(distance, 1e-300)
        d0, d1, d2 = u / d, w / d, s / d
        gap, curvature = distance - radius - other, radius * other / (radius + other)
    else:
        d0, d1, d2 = t.touch_normal[c]
        if bodies[1] >= 0:
            d0, d1, d2 = rotate(k.turn[bodies[1]], d0, d1, d2)
        gap, curvature = u * d0 + w * d1 + s * d2 - radius, radius
    depth = max(-gap, 0.0)
    deep = radius - law[SHARE] * depth
    x0, y0, z0 = x0 - deep * d0, y0 - deep * d1, z0 - deep * d2
    touched[GAP], touched[PRESS] = gap, 0.0
    touched[2], touched[3], touched[4] = x0, y0, z0
    touched[5] = touched[6] = touched[7] = 0.0
    if depth == 0.0:
        return
    between(t, k, first, bodies, x0, y0, z0, d0, d1, d2)
    hertz = 4.0 / 3.0 * law[STIFF] * depth * math.sqrt(curvature * depth)
    damping = 1.5 * law[DISSIPATION] * hertz
    f = hertz - damping * along(k, first, v, t.bodies)
    if f <= 0.0:
        return
    # Two tangents, the first perpendicular to the axis along which the normal is shortest.
    if abs(d0) <= abs(d1) and abs(d0) <= abs(d2):
        e0, e1, e2 = 0.0, d2, -d1
    elif abs(d1) <= abs(d2):
        e0, e1, e2 = -d2, 0.0, d0
    else:
        e0, e1, e2 = d1, -d0, 0.0
    size = math.sqrt(e0 * e0 + e1 * e1 + e2 * e2)
    e0, e1, e2 = e0 / size, e1 / size, e2 / size
    g0, g1, g2 = d1 * e2 - d2 * e1, d2 * e0 - d0 * e2, d0 * e1 - d1 * e0
    between(t, k, first + 1, bodies, x0, y0, z0, e0, e1, e2)
    between(t, k, first + 2, bodies, x0, y0, z0, g0, g1, g2)
    slip, aside = along(k, first + 1, v, t.bodies), along(k, first + 2, v, t.bodies)
    speed = math.sqrt(slip * slip + aside * aside)
    pace = speed / law[TRANSITION]
    grip = law[DYNAMIC] + 2.0 * (law[STATIC] - law[DYNAMIC]) / (1.0 + pace * pace)
    drag = x.friction * f * (grip / max(speed, law[TRANSITION]) + law[VISCOUS])
    k.elastic[first, FORCE], k.elastic[first, STIFFNESS], k.elastic[first, DAMPING] = f, 1.5 * f / depth, damping
    k.elastic[first + 1, FORCE], k.elastic[first + 1, DAMPING] = -drag * slip, drag
    k.elastic[first + 2, FORCE], k.elastic[first + 2, DAMPING] = -drag * aside, drag
    touched[PRESS] = f
    touched[5] = f * d0 - drag * (slip * e0 + aside * g0)
    touched[6] = f * d1 - drag * (slip * e1 + aside * g1)
    touched[7] = f * d2 - drag * (slip * e2 + aside * g2)


@kernel
def axis(k, body, frame, j):
    """Return axis j of a ``frame`` (3, 3) of a body in the world."""
    d0, d1, d2 = frame[0, j], frame[1, j], frame[2, j]
    return rotate(k.turn[body], d0, d1, d2) if body >= 0 else (d0, d1, d2)


@kernel
def dot(a, b):
    """Return the product of two vectors (x, y, z)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def bush(t, k, v, c):
    """Compute the forces of bushing c and its directions from 3 touches + 6 c, as in OpenSim's BushingForce.

    The coordinates are the body-fixed angles about x, then y, then z of the first frame in the second (rad), and its
    displacement (m). Each has a linear spring and damper. They are singular at 90 degrees about y.
    """
    bodies, first = t.bushing_body[c], 3 * t.touches + 6 * c
    moving, fixed = t.bushing_frame[c]
    m0, m1, m2 = (axis(k, bodies[0], moving, 0), axis(k, bodies[0], moving, 1), axis(k, bodies[0], moving, 2))
    f0, f1, f2 = (axis(k, bodies[1], fixed, 0), axis(k, bodies[1], fixed, 1), axis(k, bodies[1], fixed, 2))
    x, y, z = place(k, bodies[0], t.bushing_at[c, 0])
    x1, y1, z1 = place(k, bodies[1], t.bushing_at[c, 1])
    shift = (x - x1, y - y1, z - z1)
    xx, xy, xz = dot(f0, m0), dot(f0, m1), dot(f0, m2)
    level = math.sqrt(xx * xx + xy * xy)
    turns = (math.atan2(-dot(f1, m2), dot(f2, m2)), math.atan2(xz, level), math.atan2(-xy, xx))
    s, q = sincos(turns[2])
    p, r = q / level, s / level
    turning(t, k, first, bodies, p * m0[0] - r * m1[0], p * m0[1] - r * m1[1], p * m0[2] - r * m1[2])
    turning(t, k, first + 1, bodies, s * m0[0] + q * m1[0], s * m0[1] + q * m1[1], s * m0[2] + q * m1[2])
    p, r = xz * p, xz * r
    turning(
        t,
        k,
        first + 2,
        bodies,
        m2[0] - p * m0[0] + r * m1[0],
        m2[1] - p * m0[1] + r * m1[1],
        m2[2] - p * m0[2] + r * m1[2],
    )
    between(t, k, first + 3, bodies, x, y, z, f0[0], f0[1], f0[2])
    between(t, k, first + 4, bodies, x, y, z, f1[0], f1[1], f1[2])
    between(t, k, first + 5, bodies, x, y, z, f2[0], f2[1], f2[2])
    bend = (turns[0], turns[1], turns[2], dot(f0, shift), dot(f1, shift), dot(f2, shift))
    for i in range(6):
        damping = t.bushing_damping[c, i]
        k.elastic[first + i, DAMPING], k.elastic[first + i, STIFFNESS] = damping, 0.0
        k.elastic[first + i, FORCE] = -t.bushing_stiffness[c, i] * bend[i] - damping * along(k, first + i, v, t.bodies)


@kernel
def elastic(t, k, x, v):
    """Add the forces of compliant contacts and bushings to ``k.tau``, after `skeleton.kinematics`."""
    for c in range(t.touches):
        touch(t, k, x, v, c)
    for c in range(t.bushings):
        bush(t, k, v, c)
    for i in range(t.elastics):
        f = k.elastic[i, FORCE]
        if f != 0.0:
            for j in range(t.bodies):
                k.tau[j] += f * k.way[i, j]


@kernel
def imply(t, k, v, i, dt, sign):
    """Add ``sign`` times the stiffness and damping of direction i to ``k.M`` and ``k.tau``.

    The force F - K dt v' - C (v' - v) then belongs to the rate v' at the end of the step, which is stable for any
    stiffness K and damping C.
    """
    stiff, size = k.elastic[i, STIFFNESS], dt * (dt * k.elastic[i, STIFFNESS] + k.elastic[i, DAMPING])
    if size > 0.0:
        way, pull = k.way[i], sign * dt * stiff * along(k, i, v, t.bodies)
        for j in range(t.bodies):
            if way[j] != 0.0:
                add_scaled(k.M[j], k.M[j], sign * size * way[j], way)
                k.tau[j] -= pull * way[j]


@kernel
def release(t, k, v, dt):
    """Remove contacts that would pull at the end of the step; return whether there are any. See `imply`."""
    pulling = False
    for c in range(t.touches):
        i = 3 * c
        f, stiff, damping = k.elastic[i]
        if f > 0.0:
            change = dt * along(k, i, k.qdd, t.bodies)
            if f - dt * stiff * (along(k, i, v, t.bodies) + change) - damping * change < 0.0:
                pulling = True
                for row in range(i, i + 3):
                    imply(t, k, v, row, dt, -1.0)
                    for j in range(t.bodies):
                        k.tau[j] -= k.elastic[row, FORCE] * k.way[row, j]
                    k.elastic[row, FORCE] = 0.0
    return pulling
