"""Muscle paths: lengths, moment arms, and rates, from points, cylinders or a fitted function of the posture."""

from __future__ import annotations

import math

from ..core.jit import inlined, kernel
from .skeleton import place, push

MEETS, LEAVES, BEFORE, AFTER = range(4)
"""Rows of ``k.meet``: where a string meets and leaves a cylinder, and its points before and after it."""


@kernel
def tangents(meet, radius, p, q):
    """Points where a taut string from ``p`` to ``q`` meets and leaves a cylinder about the z axis.

    It passes on the side of positive x. The shortest line on the unrolled surface is straight, so height grows in
    proportion to the way in the plane.

    Args:
        meet ((4, 3) float, m): The two points, written to the rows MEETS and LEAVES.
        radius (m)
        p, q ((3,) float, m)

    Returns:
        wraps bool: Whether the string touches.
        arc float, m: Its length on the surface.
    """
    dp, dq = math.hypot(p[0], p[1]), math.hypot(q[0], q[1])
    if dp <= radius or dq <= radius:
        return False, 0.0
    turn = 1.0 if q[1] >= p[1] else -1.0
    first = math.atan2(p[1], p[0]) + turn * math.acos(radius / dp)
    last = math.atan2(q[1], q[0]) - turn * math.acos(radius / dq)
    angle = turn * (last - first) % (2.0 * math.pi)
    if angle >= math.pi:
        return False, 0.0
    lead, trail = math.sqrt(dp * dp - radius * radius), math.sqrt(dq * dq - radius * radius)
    way = lead + radius * angle + trail
    rise = (q[2] - p[2]) / way
    meet[MEETS, 0], meet[MEETS, 1] = radius * math.cos(first), radius * math.sin(first)
    meet[MEETS, 2] = p[2] + rise * lead
    meet[LEAVES, 0], meet[LEAVES, 1] = radius * math.cos(last), radius * math.sin(last)
    meet[LEAVES, 2] = q[2] - rise * trail
    return True, radius * angle * math.sqrt(1.0 + rise * rise)


@kernel
def span(t, k, m, body, x, y, z, body1, x1, y1, z1):
    """Length (m) of a straight piece between two bodies; its share of the moment arms -dL/dq is added."""
    u, v, w = x1 - x, y1 - y, z1 - z
    length = math.sqrt(u * u + v * v + w * w)
    if length > 0.0:
        u, v, w = u / length, v / length, w / length
        push(t, k, body, x, y, z, u, v, w, k.arm[m])
        push(t, k, body1, x1, y1, z1, -u, -v, -w, k.arm[m])
    return length


@inlined
def paths(t, k, q, v):
    """Lengths ``k.length`` (m), moment arms ``k.arm`` = -dL/dq (m or 1) and rates ``k.rate`` (m/s); R of Eq. 14.

    A fitted length is L = mean - (a.d + d.B d / 2) with d = q - at, so its moment arm is a + B d.

    Comes after `kinematics`; ``q`` and ``v`` (n,) are joint positions (rad or m) and velocities.
    """
    n = t.bodies
    meet = k.meet
    for m in range(t.muscles):
        arm = k.arm[m]
        fit = t.fit[m]
        length = 0.0
        if fit >= 0:
            # Whole padded columns: their length is a constant, so they become vector instructions.
            for i in range(len(arm)):
                arm[i] = t.fit_a[fit, i]
            for j in range(n):
                d = q[j] - t.fit_at[fit, j]
                for i in range(len(arm)):
                    arm[i] += d * t.fit_B[fit, j, i]
            length = t.fit_mean[fit]
            for i in range(n):
                length -= 0.5 * (t.fit_a[fit, i] + arm[i]) * (q[i] - t.fit_at[fit, i])
        else:
            for i in range(n):
                arm[i] = 0.0
            first = t.path_start[m]
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
                        length += arc + span(t, k, m, body, x, y, z, b, x1, y1, z1)
                        body = b
                        x, y, z = outside(t, k, c, meet[LEAVES])
                    continue
                b = t.point_body[j]
                x1, y1, z1 = place(k, b, t.point_at[j])
                length += span(t, k, m, body, x, y, z, b, x1, y1, z1)
                body, x, y, z = b, x1, y1, z1
        k.length[m] = length
        rate = 0.0
        for i in range(n):
            rate -= arm[i] * v[i]
        k.rate[m] = rate


@kernel
def inside(t, k, c, x, y, z, local):
    """Coordinates ``local`` (3,) m, written, of a point (x, y, z) of the world in the frame of cylinder ``c``."""
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
    """Point of the world (m) that has coordinates ``local`` (3,) m in the frame of cylinder ``c``."""
    a, F = t.cylinder_at[c], t.cylinder_frame[c]
    x = a[0] + F[0, 0] * local[0] + F[1, 0] * local[1] + F[2, 0] * local[2]
    y = a[1] + F[0, 1] * local[0] + F[1, 1] * local[1] + F[2, 1] * local[2]
    z = a[2] + F[0, 2] * local[0] + F[1, 2] * local[1] + F[2, 2] * local[2]
    return place(k, t.cylinder_body[c], (x, y, z))
