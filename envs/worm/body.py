"""Mechanics of the worm: records of one animal, and the two time-stepping schemes as kernels.

A chain of n rods of mass m = M/n and half length r = L/(2n) in a viscous medium (Chung, Chang & Kim,
2024). Rod i has angle s_i (head to tail), rate omega_i and centre velocity v_i; between rods i and
i+1 acts a damped torsional spring whose rest angle is the control angle.

Kernels work on lanes (see ``core/lanes.py``): the last axis of every field is the animal.
"""

from __future__ import annotations

import numpy as np

from ..core.jit import batch_kernel, kernel, prange, sincos
from ..core.lanes import gather, scatter

FOLDED, BROKEN = 1.0, 2.0
"""Status codes: a joint folded back on itself; the state is not finite."""

PARAMETERS = ("mass", "length", "friction_perpendicular", "friction_parallel", "stiffness", "damping")


def state_dtype(n: int) -> np.dtype:
    """Record of one worm of ``n`` rods.

    ``time`` s; ``step`` since reset; ``status``; ``rod_angle`` rad; ``rod_rate`` rad/s and
    ``rod_velocity`` (x; y) m/s, and both one step ``before``; ``centre`` m and ``centre_velocity`` m/s
    of mass; ``control_angle`` rad; ``work`` J done against friction since the last ``advance`` began;
    then the physical parameters in SI.
    """
    return np.dtype(
        [
            ("time", "f8"),
            ("step", "f8"),
            ("status", "f8"),
            ("rod_angle", "f8", (n,)),
            ("rod_rate", "f8", (n,)),
            ("rod_rate_before", "f8", (n,)),
            ("rod_velocity", "f8", (2, n)),
            ("rod_velocity_before", "f8", (2, n)),
            ("centre", "f8", (2,)),
            ("centre_velocity", "f8", (2,)),
            ("control_angle", "f8", (n - 1,)),
            ("work", "f8"),
            *[(name, "f8") for name in PARAMETERS],
        ]
    )


def midpoint_work(n: int) -> np.dtype:
    """Scratch space of :func:`midpoint`."""
    return np.dtype(
        [
            ("s", "f8", (n,)),
            ("c", "f8", (n,)),
            ("elastic", "f8", (n + 1,)),  # spring torque of the joint before rod i; 0 at the ends
            ("viscous", "f8", (n + 1,)),  # its derivative by the rate of the joint
            ("u", "f8", (2, n)),  # velocity of a rod without joint forces
            ("g", "f8", (3, n)),  # mobility of a rod: xx, xy, yy
            ("carry", "f8", (9,)),  # Schur complement that reaches the next rod
            ("upper", "f8", (n, 10)),  # factors of the elimination
            ("z", "f8", (n, 3)),
            ("back", "f8", (6,)),
            ("scale", "f8", (8,)),
        ]
    )


@kernel
def midpoint(xs, ks, steps, dt):
    """Take ``steps`` steps of the linearly implicit midpoint rule with BDF2 rates.

    Rates and rod velocities live at half steps, angles and the centre at whole steps. Everything stiff
    (springs, friction, joints) is implicit at the half step and linear in the unknowns, so one
    symmetric quasi-definite banded system gives the rates omega_i and the joint forces F_i; rod
    velocities are eliminated through their momentum equations. The muscle forces of the paper's
    appendix amount to a joint torque tau / cos^2(theta/2).

    Chung et al. (2024), equations of "Newton's equation of motion"; the scheme is ours.

    Parameters
    ----------
    xs : (1,) record of ``state_dtype(n)`` in lanes
        Changed in place. ``status`` becomes FOLDED where a joint reaches pi.
    ks : (1,) record of ``midpoint_work(n)`` in lanes
    steps : int
    dt : float, s
    """
    x = xs[0]
    k = ks[0]
    n, lanes = x.rod_angle.shape
    s, omega, omega1 = x.rod_angle, x.rod_rate, x.rod_rate_before
    vx, vy, vx1, vy1 = x.rod_velocity[0], x.rod_velocity[1], x.rod_velocity_before[0], x.rod_velocity_before[1]
    sin, cos, elastic, viscous = k.s, k.c, k.elastic, k.viscous
    ux, uy, gxx, gxy, gyy = k.u[0], k.u[1], k.g[0], k.g[1], k.g[2]
    carry, upper, z, back, scale = k.carry, k.upper, k.z, k.back, k.scale
    for e in range(lanes):
        x.work[e] = 0.0
        elastic[0, e] = elastic[n, e] = 0.0
        viscous[0, e] = viscous[n, e] = 0.0
    for _ in range(steps):
        # Difference weights of BDF2; the first two steps start from the state at rest time zero.
        for e in range(lanes):
            age = x.step[e]
            m = x.mass[e] / n
            r = x.length[e] / (2 * n)
            inertia = m * r * r / 3.0
            beta = x.friction_perpendicular[e] * r * r / (3.0 * n)
            a0 = 2.0 if age == 0.0 else (5.0 / 3.0 if age == 1.0 else 1.5)
            a1 = 2.0 if age == 0.0 else (3.0 if age == 1.0 else 2.0)
            a2 = 0.0 if age == 0.0 else (4.0 / 3.0 if age == 1.0 else 0.5)
            g_par = 1.0 / (a0 * m / dt + x.friction_parallel[e] / n)
            g_perp = 1.0 / (a0 * m / dt + x.friction_perpendicular[e] / n)
            scale[0, e] = r
            scale[1, e] = g_perp
            scale[2, e] = g_par - g_perp
            scale[3, e] = m / dt * a1
            scale[4, e] = m / dt * a2
            scale[5, e] = inertia / dt * a1
            scale[6, e] = inertia / dt * a2
            scale[7, e] = inertia / dt * a0 + beta
        for i in range(n):
            for e in range(lanes):
                sin[i, e], cos[i, e] = sincos(s[i, e] + 0.5 * dt * omega[i, e])
        for i in range(n - 1):
            for e in range(lanes):
                cos2 = 0.5 * (1.0 + cos[i, e] * cos[i + 1, e] + sin[i, e] * sin[i + 1, e])
                x.status[e] = FOLDED if cos2 < 1e-4 else x.status[e]
                gain = 1.0 / cos2
                elastic[i + 1, e] = gain * x.stiffness[e] * (s[i + 1, e] - s[i, e] - x.control_angle[i, e])
                viscous[i + 1, e] = gain * (x.stiffness[e] * 0.5 * dt + x.damping[e])
        for i in range(n):
            for e in range(lanes):
                px = scale[3, e] * vx[i, e] - scale[4, e] * vx1[i, e]
                py = scale[3, e] * vy[i, e] - scale[4, e] * vy1[i, e]
                gxx[i, e] = scale[1, e] + scale[2, e] * cos[i, e] * cos[i, e]
                gxy[i, e] = scale[2, e] * cos[i, e] * sin[i, e]
                gyy[i, e] = scale[1, e] + scale[2, e] * sin[i, e] * sin[i, e]
                ux[i, e] = gxx[i, e] * px + gxy[i, e] * py
                uy[i, e] = gxy[i, e] * px + gyy[i, e] * py
        for j in range(9):
            for e in range(lanes):
                carry[j, e] = 0.0
        # Elimination, one rod (omega_i, F_i) at a time. Its coupling to the next rod: omega to omega'
        # by the joint's viscosity, F to omega' by the lever arm, F to F' by the next rod's mobility.
        for i in range(n - 1):
            for e in range(lanes):
                r = scale[0, e]
                ww = carry[0, e] + scale[7, e] + viscous[i, e] + viscous[i + 1, e]
                wx = carry[1, e] + r * sin[i, e]
                wy = carry[2, e] - r * cos[i, e]
                xx = carry[3, e] - gxx[i, e] - gxx[i + 1, e]
                xy = carry[4, e] - gxy[i, e] - gxy[i + 1, e]
                yy = carry[5, e] - gyy[i, e] - gyy[i + 1, e]
                bw = (
                    carry[6, e]
                    + scale[5, e] * omega[i, e]
                    - scale[6, e] * omega1[i, e]
                    + elastic[i + 1, e]
                    - elastic[i, e]
                )
                bx = carry[7, e] + ux[i, e] - ux[i + 1, e]
                by = carry[8, e] + uy[i, e] - uy[i + 1, e]
                ww1 = -viscous[i + 1, e]
                xw1 = r * sin[i + 1, e]
                yw1 = -r * cos[i + 1, e]

                d = 1.0 / ww
                f0, f1, f2 = wx * d, wy * d, ww1 * d
                xx -= f0 * wx
                xy -= f0 * wy
                yy -= f1 * wy
                xw1 -= f0 * ww1
                yw1 -= f1 * ww1
                w1w1 = -f2 * ww1
                bx -= f0 * bw
                by -= f1 * bw
                bw1 = -f2 * bw
                z[i, 0, e] = bw * d

                d = 1.0 / xx
                f3, f4, f5, f6 = xy * d, xw1 * d, gxx[i + 1, e] * d, gxy[i + 1, e] * d
                yy -= f3 * xy
                yw1 -= f3 * xw1
                yx1 = gxy[i + 1, e] - f3 * gxx[i + 1, e]
                yy1 = gyy[i + 1, e] - f3 * gxy[i + 1, e]
                w1w1 -= f4 * xw1
                w1x1 = -f4 * gxx[i + 1, e]
                w1y1 = -f4 * gxy[i + 1, e]
                x1x1 = -f5 * gxx[i + 1, e]
                x1y1 = -f5 * gxy[i + 1, e]
                y1y1 = -f6 * gxy[i + 1, e]
                by -= f3 * bx
                bw1 -= f4 * bx
                bx1 = -f5 * bx
                by1 = -f6 * bx
                z[i, 1, e] = bx * d

                d = 1.0 / yy
                f7, f8, f9 = yw1 * d, yx1 * d, yy1 * d
                carry[0, e] = w1w1 - f7 * yw1
                carry[1, e] = w1x1 - f7 * yx1
                carry[2, e] = w1y1 - f7 * yy1
                carry[3, e] = x1x1 - f8 * yx1
                carry[4, e] = x1y1 - f8 * yy1
                carry[5, e] = y1y1 - f9 * yy1
                carry[6, e] = bw1 - f7 * by
                carry[7, e] = bx1 - f8 * by
                carry[8, e] = by1 - f9 * by
                z[i, 2, e] = by * d

                upper[i, 0, e], upper[i, 1, e], upper[i, 2, e] = f0, f1, f2
                upper[i, 3, e], upper[i, 4, e], upper[i, 5, e], upper[i, 6, e] = f3, f4, f5, f6
                upper[i, 7, e], upper[i, 8, e], upper[i, 9, e] = f7, f8, f9
        # Back substitution from the tail; with F on both sides of a rod its velocity follows.
        i = n - 1
        for e in range(lanes):
            bw = carry[6, e] + scale[5, e] * omega[i, e] - scale[6, e] * omega1[i, e] - elastic[i, e]
            back[0, e] = bw / (carry[0, e] + scale[7, e] + viscous[i, e])
            back[1, e] = 0.0
            back[2, e] = 0.0
            back[3, e] = 0.0
            back[4, e] = 0.0
            back[5, e] = 0.0
        for i in range(n - 1, -1, -1):
            for e in range(lanes):
                # w, fx, fy: this rod's rate, and the force of the next rod on it
                w = back[0, e]
                fx = back[1, e]
                fy = back[2, e]
                j = max(i - 1, 0)
                inside = 1.0 if i > 0 else 0.0
                hy = z[j, 2, e] - upper[j, 7, e] * w - upper[j, 8, e] * fx - upper[j, 9, e] * fy
                hx = z[j, 1, e] - upper[j, 3, e] * hy - upper[j, 4, e] * w - upper[j, 5, e] * fx - upper[j, 6, e] * fy
                hw = z[j, 0, e] - upper[j, 0, e] * hx - upper[j, 1, e] * hy - upper[j, 2, e] * w
                jx = fx - inside * hx
                jy = fy - inside * hy
                new_x = ux[i, e] + gxx[i, e] * jx + gxy[i, e] * jy
                new_y = uy[i, e] + gxy[i, e] * jx + gyy[i, e] * jy
                vx1[i, e] = vx[i, e]
                vy1[i, e] = vy[i, e]
                omega1[i, e] = omega[i, e]
                vx[i, e] = new_x
                vy[i, e] = new_y
                omega[i, e] = w
                s[i, e] += dt * w
                par = cos[i, e] * new_x + sin[i, e] * new_y
                back[0, e] = hw
                back[1, e] = hx
                back[2, e] = hy
                back[3, e] += new_x
                back[4, e] += new_y
                back[5, e] += x.friction_parallel[e] * par * par + x.friction_perpendicular[e] * (
                    new_x * new_x + new_y * new_y - par * par
                )
        for e in range(lanes):
            x.centre_velocity[0, e] = back[3, e] / n
            x.centre_velocity[1, e] = back[4, e] / n
            x.centre[0, e] += dt * x.centre_velocity[0, e]
            x.centre[1, e] += dt * x.centre_velocity[1, e]
            x.work[e] += dt / n * back[5, e]
            x.step[e] += 1.0
            x.time[e] += dt


def _midpoint_rows(rows, ids, blocks, lanes, work, steps, dt):
    width = lanes.shape[2]
    count = len(lanes)
    for t in prange(count):
        for first in range(t * width, len(ids), count * width):
            gather(rows, ids, first, lanes[t])
            midpoint(blocks[t : t + 1], work[t : t + 1], steps, dt)
            scatter(lanes[t], rows, ids, first, 2, BROKEN)


MIDPOINT = batch_kernel(_midpoint_rows)
