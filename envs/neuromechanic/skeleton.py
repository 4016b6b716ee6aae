"""Rigid bodies: kinematics, mass matrix, bias forces and Jacobians of a tree, in the world frame.

Spatial vectors are (angular, linear) at the world's origin, so that they add up along the tree without transformations.
The algorithms are composite rigid bodies and recursive Newton-Euler, Featherstone (2008), chapters 5 and 6. Kernels
have the record arguments that `body` describes.
"""

from __future__ import annotations

import math

from ..core.kernels.jit import inlined, kernel
from ..core.kernels.maths import sincos

REVOLUTE, PRISMATIC, BALL = 0, 1, 2
"""Types of joints; the three joints of a ball are BALL, BALL + 1 and BALL + 2."""

MASS, MX, MY, MZ, XX, YY, ZZ, XY, XZ, YZ = range(10)
"""Entries of an inertia about the world's origin: mass (kg), first moments (kg m), second moments (kg m^2)."""


@kernel
def half_turn(x, y, z):
    """Return the quaternion (w, x, y, z) of a rotation vector, rad."""
    angle = math.sqrt(x * x + y * y + z * z)
    s, c = sincos(0.5 * angle)
    f = s / angle if angle > 1e-9 else 0.5
    return c, f * x, f * y, f * z


@kernel
def turned(x, y, z, R):
    """Write the rotation matrix ``R`` (3, 3) of a rotation vector, rad."""
    w, x, y, z = half_turn(x, y, z)
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
    R[1, 0], R[1, 1], R[1, 2] = 2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
    R[2, 0], R[2, 1], R[2, 2] = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)


@kernel
def turn_on(q, v, dt, new):
    """Rotate a rotation vector ``q`` (3,) rad with ``v`` (3,) rad/s for ``dt`` s, and write the result to ``new`` (3,).

    The velocity is constant in the body's frame, so that quaternions multiply. This works for any step and attitude.
    The result is the shorter of the two rotation vectors of the attitude.
    """
    w, x, y, z = half_turn(q[0], q[1], q[2])
    d, a, b, c = half_turn(dt * v[0], dt * v[1], dt * v[2])
    w, x, y, z = (
        w * d - x * a - y * b - z * c,
        w * a + x * d + y * c - z * b,
        w * b - x * c + y * d + z * a,
        w * c + x * b - y * a + z * d,
    )
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    s = math.sqrt(x * x + y * y + z * z)
    f = 2.0 * math.atan2(s, w) / s if s > 1e-9 else 2.0
    new[0], new[1], new[2] = f * x, f * y, f * z


@kernel
def turn_rate(q, v, rate):
    """Write the rate (3,) rad/s of a rotation vector ``q`` (3,) for the velocity ``v`` (3,) about the body's axes.

    It is singular at whole turns, which `shorten` avoids.
    """
    x, y, z = q[0], q[1], q[2]
    a, b, c = y * v[2] - z * v[1], z * v[0] - x * v[2], x * v[1] - y * v[0]
    angle = math.sqrt(x * x + y * y + z * z)
    f = 1.0 / 12.0 + angle * angle / 720.0
    if angle > 1e-2:
        sine, cosine = sincos(0.5 * angle)
        f = (1.0 - 0.5 * angle * cosine / sine) / (angle * angle)
    rate[0] = v[0] + 0.5 * a + f * (y * c - z * b)
    rate[1] = v[1] + 0.5 * b + f * (z * a - x * c)
    rate[2] = v[2] + 0.5 * c + f * (x * b - y * a)


@kernel
def shorten(q):
    """Replace a rotation vector (3,) longer than half a turn by the equivalent shorter one."""
    angle = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2])
    if angle > math.pi:
        f = 1.0 - 2.0 * math.pi * math.ceil(0.5 * angle / math.pi - 0.5) / angle
        q[0], q[1], q[2] = f * q[0], f * q[1], f * q[2]


@kernel
def add_turning(A, V, S, speed):
    """Add to ``A`` (6,) the acceleration due to a joint ``speed`` about the axis ``S`` (6,), which moves with ``V``."""
    A[0] += (V[1] * S[2] - V[2] * S[1]) * speed
    A[1] += (V[2] * S[0] - V[0] * S[2]) * speed
    A[2] += (V[0] * S[1] - V[1] * S[0]) * speed
    A[3] += (V[1] * S[5] - V[2] * S[4] + V[4] * S[2] - V[5] * S[1]) * speed
    A[4] += (V[2] * S[3] - V[0] * S[5] + V[5] * S[0] - V[3] * S[2]) * speed
    A[5] += (V[0] * S[4] - V[1] * S[3] + V[3] * S[1] - V[4] * S[0]) * speed


@kernel
def curve(t, c, x):
    """Return the value of the piecewise polynomial ``c`` at ``x``, and its first two derivatives."""
    i, last = t.curve_start[c], t.curve_start[c + 1] - 1
    while i < last:
        middle = (i + last + 1) // 2
        i, last = (middle, last) if x >= t.curve_x[middle] else (i, middle - 1)
    d, y, slope, bend = x - t.curve_x[i], 0.0, 0.0, 0.0
    for j in range(t.curve_piece.shape[1]):
        bend = bend * d + 2.0 * slope
        slope = slope * d + y
        y = y * d + t.curve_piece[i, j]
    return y, slope, bend


FOLLOWERS = True
"""Whether joints can follow other joints; `variant` removes their code otherwise."""


@kernel
def lead(t, k, q):
    """Write to ``k.follow`` the positions of followers and their derivatives with respect to the leader's position."""
    for i in range(t.bodies, t.links):
        x, f = q[t.coordinate[i]], k.follow[i]
        if t.curve[i] >= 0:
            f[0], f[1], f[2] = curve(t, t.curve[i], x)
        else:
            f[0], f[1], f[2] = t.slope[i] * x + t.shift[i], t.slope[i], 0.0


@inlined
def kinematics(t, k, q):
    """Compute rotations ``k.turn``, origins ``k.origin`` (m) and joint axes ``k.S`` of the bodies from positions ``q``.

    Body i rotates about, or slides along, its axis through its origin by ``q[i]`` (rad or m). For a ball, the three
    positions are its rotation vector, and the three axes are those of the rotated body. Followers have the indices
    from n. Their positions are functions of the leader's position, with its derivative as a factor on their axes.
    """
    if FOLLOWERS:
        lead(t, k, q)
    for e in range(t.links):
        i = t.sequence[e] if FOLLOWERS else e
        p = t.parent[i]
        x = k.follow[i, 0] if FOLLOWERS and i >= t.bodies else q[i]
        R = k.turn[i]
        a0, a1, a2 = t.axis[i, 0], t.axis[i, 1], t.axis[i, 2]
        b0, b1, b2 = rotate(k.turn[p], a0, a1, a2) if p >= 0 else (a0, a1, a2)
        o0, o1, o2 = place(k, p, t.at[i])
        S = k.S[i]
        if t.joint[i] == REVOLUTE:
            s, c = sincos(x)
            d = 1.0 - c
            e00, e01, e02 = c + d * a0 * a0, d * a0 * a1 - s * a2, d * a0 * a2 + s * a1
            e10, e11, e12 = d * a0 * a1 + s * a2, c + d * a1 * a1, d * a1 * a2 - s * a0
            e20, e21, e22 = d * a0 * a2 - s * a1, d * a1 * a2 + s * a0, c + d * a2 * a2
            if p >= 0:
                P = k.turn[p]
                for r in range(3):
                    P0, P1, P2 = P[r, 0], P[r, 1], P[r, 2]
                    R[r, 0] = P0 * e00 + P1 * e10 + P2 * e20
                    R[r, 1] = P0 * e01 + P1 * e11 + P2 * e21
                    R[r, 2] = P0 * e02 + P1 * e12 + P2 * e22
            else:
                R[0, 0], R[0, 1], R[0, 2] = e00, e01, e02
                R[1, 0], R[1, 1], R[1, 2] = e10, e11, e12
                R[2, 0], R[2, 1], R[2, 2] = e20, e21, e22
            S[0], S[1], S[2] = b0, b1, b2
            S[3], S[4], S[5] = o1 * b2 - o2 * b1, o2 * b0 - o0 * b2, o0 * b1 - o1 * b0
        elif t.joint[i] >= BALL:
            axis = t.joint[i] - BALL
            if axis == 0:
                turned(q[i], q[i + 1], q[i + 2], k.ball)
                for r in range(3):
                    for c_ in range(3):
                        if p >= 0:
                            P = k.turn[p]
                            R[r, c_] = P[r, 0] * k.ball[0, c_] + P[r, 1] * k.ball[1, c_] + P[r, 2] * k.ball[2, c_]
                        else:
                            R[r, c_] = k.ball[r, c_]
            else:
                for r in range(3):
                    for c_ in range(3):
                        R[r, c_] = k.turn[p, r, c_]
            b0, b1, b2 = R[0, axis], R[1, axis], R[2, axis]
            S[0], S[1], S[2] = b0, b1, b2
            S[3], S[4], S[5] = o1 * b2 - o2 * b1, o2 * b0 - o0 * b2, o0 * b1 - o1 * b0
        else:
            o0 += x * b0
            o1 += x * b1
            o2 += x * b2
            for r in range(3):
                for c_ in range(3):
                    R[r, c_] = k.turn[p, r, c_] if p >= 0 else (1.0 if r == c_ else 0.0)
            S[0] = S[1] = S[2] = 0.0
            S[3], S[4], S[5] = b0, b1, b2
        k.origin[i, 0], k.origin[i, 1], k.origin[i, 2] = o0, o1, o2


@inlined
def inertias(t, k):
    """Write the inertia of each body about the world's origin, ``k.body_inertia`` (n, 10), in the order MASS to YZ."""
    for i in range(t.links):
        R, B = k.turn[i], k.body_inertia[i]
        m = t.mass[i]
        if m == 0.0:
            for j in range(len(B)):
                B[j] = 0.0
            continue
        x, y, z = place(k, i, t.centre[i])
        B[MASS], B[MX], B[MY], B[MZ] = m, m * x, m * y, m * z
        J = t.inertia[i]
        xx, yy, zz, xy, xz, yz = J[0], J[1], J[2], J[3], J[4], J[5]
        # Rows of R J, then entries of R J R'.
        a0 = R[0, 0] * xx + R[0, 1] * xy + R[0, 2] * xz
        a1 = R[0, 0] * xy + R[0, 1] * yy + R[0, 2] * yz
        a2 = R[0, 0] * xz + R[0, 1] * yz + R[0, 2] * zz
        b0 = R[1, 0] * xx + R[1, 1] * xy + R[1, 2] * xz
        b1 = R[1, 0] * xy + R[1, 1] * yy + R[1, 2] * yz
        b2 = R[1, 0] * xz + R[1, 1] * yz + R[1, 2] * zz
        c0 = R[2, 0] * xx + R[2, 1] * xy + R[2, 2] * xz
        c1 = R[2, 0] * xy + R[2, 1] * yy + R[2, 2] * yz
        c2 = R[2, 0] * xz + R[2, 1] * yz + R[2, 2] * zz
        B[XX] = a0 * R[0, 0] + a1 * R[0, 1] + a2 * R[0, 2] + m * (y * y + z * z)
        B[YY] = b0 * R[1, 0] + b1 * R[1, 1] + b2 * R[1, 2] + m * (x * x + z * z)
        B[ZZ] = c0 * R[2, 0] + c1 * R[2, 1] + c2 * R[2, 2] + m * (x * x + y * y)
        B[XY] = a0 * R[1, 0] + a1 * R[1, 1] + a2 * R[1, 2] - m * x * y
        B[XZ] = a0 * R[2, 0] + a1 * R[2, 1] + a2 * R[2, 2] - m * x * z
        B[YZ] = b0 * R[2, 0] + b1 * R[2, 1] + b2 * R[2, 2] - m * y * z


@kernel
def times(B, v):
    """Return the momentum (angular about the origin, linear) of an inertia (10,) with velocity ``v`` (6,)."""
    return (
        B[XX] * v[0] + B[XY] * v[1] + B[XZ] * v[2] + B[MY] * v[5] - B[MZ] * v[4],
        B[XY] * v[0] + B[YY] * v[1] + B[YZ] * v[2] + B[MZ] * v[3] - B[MX] * v[5],
        B[XZ] * v[0] + B[YZ] * v[1] + B[ZZ] * v[2] + B[MX] * v[4] - B[MY] * v[3],
        B[MASS] * v[3] + v[1] * B[MZ] - v[2] * B[MY],
        B[MASS] * v[4] + v[2] * B[MX] - v[0] * B[MZ],
        B[MASS] * v[5] + v[0] * B[MY] - v[1] * B[MX],
    )


@inlined
def mass_matrix(t, k):
    """Write the mass matrix ``k.M`` (n, n) of Eq. 4, after `inertias`; Featherstone (2008), table 6.2."""
    n, links = t.bodies, t.links
    for i in range(links):
        for j in range(10):
            k.inertia[i, j] = k.body_inertia[i, j]
    for i in range(n):
        for j in range(n):
            k.M[i, j] = 0.0
    for e in range(links - 1, -1, -1):
        i = t.sequence[e] if FOLLOWERS else e
        p = t.parent[i]
        if p >= 0:
            for j in range(10):
                k.inertia[p, j] += k.inertia[i, j]
        f0, f1, f2, f3, f4, f5 = times(k.inertia[i], k.S[i])
        j = i
        while j >= 0:
            S = k.S[j]
            m = S[0] * f0 + S[1] * f1 + S[2] * f2 + S[3] * f3 + S[4] * f4 + S[5] * f5
            if not FOLLOWERS:
                k.M[i, j] = k.M[j, i] = m
            else:
                m *= (1.0 if i < n else k.follow[i, 1]) * (1.0 if j < n else k.follow[j, 1])
                a, b = t.coordinate[i], t.coordinate[j]
                k.M[a, b] += m
                if i != j:
                    k.M[b, a] += m
            j = t.parent[j]


@kernel
def speed(t, k, v, i):
    """Return the velocity (rad/s or m/s) of joint or follower ``i``; storing it would make `bias_force` slower."""
    return k.follow[i, 1] * v[t.coordinate[i]] if FOLLOWERS and i >= t.bodies else v[i]


@inlined
def bias_force(t, k, v):
    """Write the generalised force ``k.bias`` of velocities and gravity in M qdd + bias = tau; -(V + G) of Eqs 4, 5.

    The method is recursive Newton-Euler without joint accelerations, Featherstone (2008), table 5.1. It also writes
    velocities ``k.V`` and accelerations ``k.A`` of the bodies for Jacobians. Gravity ``k.gravity`` (3,) m/s^2 affects
    ``k.f`` only. ``v`` (n,) is in rad/s or m/s.
    """
    n = t.bodies
    for e in range(t.links):
        i = t.sequence[e] if FOLLOWERS else e
        p = t.parent[i]
        V, A, S = k.V[i], k.A[i], k.S[i]
        for j in range(6):
            V[j] = (k.V[p, j] if p >= 0 else 0.0) + S[j] * speed(t, k, v, i)
            A[j] = k.A[p, j] if p >= 0 else 0.0
        if FOLLOWERS and i >= n:
            bend = k.follow[i, 2] * v[t.coordinate[i]] ** 2
            for j in range(6):
                A[j] += S[j] * bend
        if t.joint[i] < BALL:
            add_turning(A, V, S, speed(t, k, v, i))
        else:
            # The axes rotate with the whole ball, so that only the motion before the ball adds acceleration.
            before = t.parent[i - (t.joint[i] - BALL)]
            if before >= 0:
                add_turning(A, k.V[before], S, speed(t, k, v, i))
        B, f = k.body_inertia[i], k.f[i]
        if B[MASS] == 0.0:
            f[0] = f[1] = f[2] = f[3] = f[4] = f[5] = 0.0
            continue
        p0, p1, p2, p3, p4, p5 = times(B, V)
        f[0], f[1], f[2], f[3], f[4], f[5] = times(B, A)
        g = k.gravity
        f[0] += V[1] * p2 - V[2] * p1 + V[4] * p5 - V[5] * p4 - (B[MY] * g[2] - B[MZ] * g[1])
        f[1] += V[2] * p0 - V[0] * p2 + V[5] * p3 - V[3] * p5 - (B[MZ] * g[0] - B[MX] * g[2])
        f[2] += V[0] * p1 - V[1] * p0 + V[3] * p4 - V[4] * p3 - (B[MX] * g[1] - B[MY] * g[0])
        f[3] += V[1] * p5 - V[2] * p4 - B[MASS] * g[0]
        f[4] += V[2] * p3 - V[0] * p5 - B[MASS] * g[1]
        f[5] += V[0] * p4 - V[1] * p3 - B[MASS] * g[2]
    for e in range(t.links - 1, -1, -1):
        i = t.sequence[e] if FOLLOWERS else e
        S, f, p = k.S[i], k.f[i], t.parent[i]
        bias = S[0] * f[0] + S[1] * f[1] + S[2] * f[2] + S[3] * f[3] + S[4] * f[4] + S[5] * f[5]
        if FOLLOWERS and i >= n:
            k.follow[i, 3] = bias
        else:
            k.bias[i] = bias
        if p >= 0:
            for j in range(6):
                k.f[p, j] += f[j]
    if FOLLOWERS:
        for i in range(n, t.links):
            k.bias[t.coordinate[i]] += k.follow[i, 1] * k.follow[i, 3]


@kernel
def momentum(t, k):
    """Write the momentum ``k.momentum`` (12,) of the model, after `bias_force`; L qd of Eq. 11.

    It has the angular momentum about the centre of mass (kg m^2/s), the linear momentum (kg m/s), and position (m) and
    velocity (m/s) of the centre of mass.
    """
    m = x = y = z = l0 = l1 = l2 = p0 = p1 = p2 = 0.0
    for i in range(t.links):
        B = k.body_inertia[i]
        a0, a1, a2, a3, a4, a5 = times(B, k.V[i])
        m, x, y, z = m + B[MASS], x + B[MX], y + B[MY], z + B[MZ]
        l0, l1, l2, p0, p1, p2 = l0 + a0, l1 + a1, l2 + a2, p0 + a3, p1 + a4, p2 + a5
    x, y, z = x / m, y / m, z / m
    h = k.momentum
    h[0], h[1], h[2] = l0 - (y * p2 - z * p1), l1 - (z * p0 - x * p2), l2 - (x * p1 - y * p0)
    h[3], h[4], h[5] = p0, p1, p2
    h[6], h[7], h[8] = x, y, z
    h[9], h[10], h[11] = p0 / m, p1 / m, p2 / m


@kernel
def rotate(R, x, y, z):
    """Return a vector of a body's frame in the world frame; ``R`` (3, 3) is the body's rotation matrix."""
    return (
        R[0, 0] * x + R[0, 1] * y + R[0, 2] * z,
        R[1, 0] * x + R[1, 1] * y + R[1, 2] * z,
        R[2, 0] * x + R[2, 1] * y + R[2, 2] * z,
    )


@kernel
def place(k, body, r):
    """Return the world position (m) of the point ``r`` (3,) m of a body; body -1 is the ground."""
    if body < 0:
        return r[0], r[1], r[2]
    R, o = k.turn[body], k.origin[body]
    return (
        o[0] + R[0, 0] * r[0] + R[0, 1] * r[1] + R[0, 2] * r[2],
        o[1] + R[1, 0] * r[0] + R[1, 1] * r[1] + R[1, 2] * r[2],
        o[2] + R[2, 0] * r[0] + R[2, 1] * r[1] + R[2, 2] * r[2],
    )


@kernel
def push(t, k, body, x, y, z, f0, f1, f2, row):
    """Add to ``row`` (n,) the generalised force of a force (f0, f1, f2) at (x, y, z) on a body; J' W of Eq. 5.

    Force (N) and position (m) are in the world frame. For a unit force, the result is a row of the point's Jacobian.
    """
    add_wrench(t, k, body, y * f2 - z * f1, z * f0 - x * f2, x * f1 - y * f0, f0, f1, f2, row)


@kernel
def add_wrench(t, k, body, m0, m1, m2, f0, f1, f2, row):
    """Add to ``row`` (n,) the generalised force of a moment (N m) and a force (N) at the world's origin on a body."""
    j = body
    while j >= 0:
        S = k.S[j]
        s = S[0] * m0 + S[1] * m1 + S[2] * m2 + S[3] * f0 + S[4] * f1 + S[5] * f2
        if FOLLOWERS and j >= t.bodies:
            row[t.coordinate[j]] += k.follow[j, 1] * s
        else:
            row[j] += s
        j = t.parent[j]


@kernel
def point_motion(k, body, x, y, z):
    """Return velocity (m/s) and acceleration (m/s^2, for qdd = 0) of the point of a body at (x, y, z) in the world."""
    if body < 0:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    V, A = k.V[body], k.A[body]
    v0 = V[3] + V[1] * z - V[2] * y
    v1 = V[4] + V[2] * x - V[0] * z
    v2 = V[5] + V[0] * y - V[1] * x
    return (
        v0,
        v1,
        v2,
        A[3] + A[1] * z - A[2] * y + V[1] * v2 - V[2] * v1,
        A[4] + A[2] * x - A[0] * z + V[2] * v0 - V[0] * v2,
        A[5] + A[0] * y - A[1] * x + V[0] * v1 - V[1] * v0,
    )


@kernel
def cholesky(A, L, n):
    """Factor a symmetric matrix, the first n rows of ``A``, into L L'; return False unless it is positive definite.

    ``L`` can be ``A``. Only the lower triangles are read and written.
    """
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for c in range(j):
                s -= L[i, c] * L[j, c]
            if i == j:
                if not s > 0.0:
                    return False
                L[i, i] = math.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    return True


@kernel
def solve(L, b, n):
    """Solve L L' x = b with n unknowns in place, with ``L`` from `cholesky`."""
    for i in range(n):
        s = b[i]
        for c in range(i):
            s -= L[i, c] * b[c]
        b[i] = s / L[i, i]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for c in range(i + 1, n):
            s -= L[c, i] * b[c]
        b[i] = s / L[i, i]


@kernel
def solve_each(L, B, n, count):
    """Apply `solve` to the first ``count`` rows of ``B``, interleaved so that their divisions overlap."""
    for i in range(n):
        for r in range(count):
            s = B[r, i]
            for c in range(i):
                s -= L[i, c] * B[r, c]
            B[r, i] = s / L[i, i]
    for i in range(n - 1, -1, -1):
        for r in range(count):
            s = B[r, i]
            for c in range(i + 1, n):
                s -= L[c, i] * B[r, c]
            B[r, i] = s / L[i, i]
