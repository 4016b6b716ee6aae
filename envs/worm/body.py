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
            ("carry", "f8", (14,)),  # what the elimination hands to the next rod
            ("factor", "f8", (n, 9)),
            ("z", "f8", (n, 3)),
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
    carry, factor, z, scale = k.carry, k.factor, k.z, k.scale
    for e in range(lanes):
        x.work[e] = 0.0
        elastic[0, e] = elastic[n, e] = 0.0
        viscous[0, e] = viscous[n, e] = 0.0
    for _ in range(steps):
        # Difference weights of BDF2; the first two steps start from the state at time zero.
        for e in range(lanes):
            age = x.step[e]
            m = x.mass[e] / n
            r = x.length[e] / (2 * n)
            inertia = m * r * r / 3.0
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
            scale[7, e] = inertia / dt * a0 + x.friction_perpendicular[e] * r * r / (3.0 * n)
        for i in range(n):
            for e in range(lanes):
                sin[i, e], cos[i, e] = sincos(s[i, e] + 0.5 * dt * omega[i, e])
        for i in range(n - 1):
            for e in range(lanes):
                theta = s[i + 1, e] - s[i, e]
                cos2 = 0.5 * (1.0 + cos[i, e] * cos[i + 1, e] + sin[i, e] * sin[i + 1, e])
                x.status[e] = FOLDED if (abs(cos2) < 1e-4) | (abs(theta) > np.pi) else x.status[e]
                gain = 1.0 / cos2
                elastic[i + 1, e] = gain * x.stiffness[e] * (theta - x.control_angle[i, e])
                viscous[i + 1, e] = gain * (x.stiffness[e] * 0.5 * dt + x.damping[e])
        # Elimination, one rod (omega_i, F_i) at a time, from the head. To the next rod it hands the Schur
        # complement (0 .. 5), right-hand sides (6 .. 8), and that rod's free velocity and mobility (9 .. 13).
        for e in range(lanes):
            for j in range(9):
                carry[j, e] = 0.0
            px = scale[3, e] * vx[0, e] - scale[4, e] * vx1[0, e]
            py = scale[3, e] * vy[0, e] - scale[4, e] * vy1[0, e]
            gxx = scale[1, e] + scale[2, e] * cos[0, e] * cos[0, e]
            gxy = scale[2, e] * cos[0, e] * sin[0, e]
            gyy = scale[1, e] + scale[2, e] * sin[0, e] * sin[0, e]
            carry[9, e] = gxx * px + gxy * py
            carry[10, e] = gxy * px + gyy * py
            carry[11, e] = gxx
            carry[12, e] = gxy
            carry[13, e] = gyy
        for i in range(n - 1):
            for e in range(lanes):
                r = scale[0, e]
                # free velocity and mobility of the next rod
                px = scale[3, e] * vx[i + 1, e] - scale[4, e] * vx1[i + 1, e]
                py = scale[3, e] * vy[i + 1, e] - scale[4, e] * vy1[i + 1, e]
                gxx = scale[1, e] + scale[2, e] * cos[i + 1, e] * cos[i + 1, e]
                gxy = scale[2, e] * cos[i + 1, e] * sin[i + 1, e]
                gyy = scale[1, e] + scale[2, e] * sin[i + 1, e] * sin[i + 1, e]
                ux = gxx * px + gxy * py
                uy = gxy * px + gyy * py
                # this rod's diagonal block and right-hand side; couplings to the next rod: omega to omega'
                # by the joint's viscosity, F to omega' by the lever arm, F to F' by the next rod's mobility
                ww = carry[0, e] + scale[7, e] + viscous[i, e] + viscous[i + 1, e]
                wx = carry[1, e] + r * sin[i, e]
                wy = carry[2, e] - r * cos[i, e]
                xx = carry[3, e] - carry[11, e] - gxx
                xy = carry[4, e] - carry[12, e] - gxy
                yy = carry[5, e] - carry[13, e] - gyy
                bw = (
                    carry[6, e]
                    + scale[5, e] * omega[i, e]
                    - scale[6, e] * omega1[i, e]
                    + elastic[i + 1, e]
                    - elastic[i, e]
                )
                bx = carry[7, e] + carry[9, e] - ux
                by = carry[8, e] + carry[10, e] - uy
                ww1 = -viscous[i + 1, e]

                d = 1.0 / ww
                f0, f1, f2 = wx * d, wy * d, ww1 * d
                xx -= f0 * wx
                xy -= f0 * wy
                yy -= f1 * wy
                xw1 = r * sin[i + 1, e] - f0 * ww1
                yw1 = -r * cos[i + 1, e] - f1 * ww1
                bx -= f0 * bw
                by -= f1 * bw

                d1 = 1.0 / (xx * yy - xy * xy)
                ixx, ixy, iyy = yy * d1, -xy * d1, xx * d1
                f3, f4, f5 = ixx * xw1 + ixy * yw1, ixx * gxx + ixy * gxy, ixx * gxy + ixy * gyy
                f6, f7, f8 = ixy * xw1 + iyy * yw1, ixy * gxx + iyy * gxy, ixy * gxy + iyy * gyy
                carry[0, e] = -f2 * ww1 - f3 * xw1 - f6 * yw1
                carry[1, e] = -f3 * gxx - f6 * gxy
                carry[2, e] = -f3 * gxy - f6 * gyy
                carry[3, e] = -f4 * gxx - f7 * gxy
                carry[4, e] = -f4 * gxy - f7 * gyy
                carry[5, e] = -f5 * gxy - f8 * gyy
                carry[6, e] = -f2 * bw - f3 * bx - f6 * by
                carry[7, e] = -f4 * bx - f7 * by
                carry[8, e] = -f5 * bx - f8 * by
                carry[9, e] = ux
                carry[10, e] = uy
                carry[11, e] = gxx
                carry[12, e] = gxy
                carry[13, e] = gyy
                z[i, 0, e] = bw * d
                z[i, 1, e] = ixx * bx + ixy * by
                z[i, 2, e] = ixy * bx + iyy * by
                factor[i, 0, e], factor[i, 1, e], factor[i, 2, e] = f0, f1, f2
                factor[i, 3, e], factor[i, 4, e], factor[i, 5, e] = f3, f4, f5
                factor[i, 6, e], factor[i, 7, e], factor[i, 8, e] = f6, f7, f8
        # Back substitution from the tail; z becomes (omega_i, F_i). Several small loops rather than one:
        # LLVM gives up on vectorising a loop with many arrays that might overlap.
        for e in range(lanes):
            i = n - 1
            bw = carry[6, e] + scale[5, e] * omega[i, e] - scale[6, e] * omega1[i, e] - elastic[i, e]
            z[i, 0, e] = bw / (carry[0, e] + scale[7, e] + viscous[i, e])
            z[i, 1, e] = 0.0
            z[i, 2, e] = 0.0
        for i in range(n - 2, -1, -1):
            for e in range(lanes):
                w, fx, fy = z[i + 1, 0, e], z[i + 1, 1, e], z[i + 1, 2, e]
                hx = z[i, 1, e] - factor[i, 3, e] * w - factor[i, 4, e] * fx - factor[i, 5, e] * fy
                hy = z[i, 2, e] - factor[i, 6, e] * w - factor[i, 7, e] * fx - factor[i, 8, e] * fy
                z[i, 0, e] -= factor[i, 0, e] * hx + factor[i, 1, e] * hy + factor[i, 2, e] * w
                z[i, 1, e] = hx
                z[i, 2, e] = hy
        for e in range(lanes):
            for j in range(5):
                carry[j, e] = 0.0
        for i in range(n):
            for e in range(lanes):
                omega1[i, e] = omega[i, e]
                omega[i, e] = z[i, 0, e]
            for e in range(lanes):
                s[i, e] += dt * omega[i, e]
        for i in range(n):
            for e in range(lanes):
                # The velocity follows from the impulses of inertia and of the forces on both sides.
                px = scale[3, e] * vx[i, e] - scale[4, e] * vx1[i, e] + z[i, 1, e] - carry[3, e]
                py = scale[3, e] * vy[i, e] - scale[4, e] * vy1[i, e] + z[i, 2, e] - carry[4, e]
                carry[3, e] = z[i, 1, e]
                carry[4, e] = z[i, 2, e]
                along = scale[2, e] * (cos[i, e] * px + sin[i, e] * py)
                vx1[i, e] = vx[i, e]
                vy1[i, e] = vy[i, e]
                vx[i, e] = scale[1, e] * px + along * cos[i, e]
                vy[i, e] = scale[1, e] * py + along * sin[i, e]
        for i in range(n):
            for e in range(lanes):
                par = cos[i, e] * vx[i, e] + sin[i, e] * vy[i, e]
                perp = cos[i, e] * vy[i, e] - sin[i, e] * vx[i, e]
                carry[0, e] += vx[i, e]
                carry[1, e] += vy[i, e]
                carry[2, e] += x.friction_parallel[e] * par * par + x.friction_perpendicular[e] * perp * perp
        for e in range(lanes):
            x.centre_velocity[0, e] = carry[0, e] / n
            x.centre_velocity[1, e] = carry[1, e] / n
            x.centre[0, e] += dt * x.centre_velocity[0, e]
            x.centre[1, e] += dt * x.centre_velocity[1, e]
            x.work[e] += dt / n * carry[2, e]
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


def published_work(n: int) -> np.dtype:
    """Scratch space of :func:`published`."""
    return np.dtype(
        [
            ("s", "f8", (n,)),
            ("c", "f8", (n,)),
            ("d", "f8", (2, n)),  # rod centres relative to the centre of mass
            ("v", "f8", (2, n)),
            ("omega", "f8", (n,)),
            ("friction", "f8", (2, n)),
            ("force", "f8", (2, n)),  # friction and muscle force
            ("torque", "f8", (n,)),  # friction and muscle torque
            ("elastic", "f8", (n,)),  # elastic part, later with the joint torque
            ("q", "f8", (2, n)),  # right-hand side of the joint forces, later these forces
            ("lower", "f8", (4, n)),  # block elimination: A_i B_i^-1
            ("inverse", "f8", (3, n)),
            ("super", "f8", (n,)),
            ("sums", "f8", (8,)),
        ]
    )


@kernel
def _kinematics(sin, cos, omega, d, v, r, n, lanes):
    """Rod centres and velocities relative to the centre of mass, from angles and rates."""
    for e in range(lanes):
        d[0, 0, e] = d[1, 0, e] = v[0, 0, e] = v[1, 0, e] = 0.0
    for i in range(n - 1):
        for e in range(lanes):
            d[0, i + 1, e] = d[0, i, e] + r[e] * (cos[i, e] + cos[i + 1, e])
            d[1, i + 1, e] = d[1, i, e] + r[e] * (sin[i, e] + sin[i + 1, e])
            v[0, i + 1, e] = v[0, i, e] - r[e] * (omega[i, e] * sin[i, e] + omega[i + 1, e] * sin[i + 1, e])
            v[1, i + 1, e] = v[1, i, e] + r[e] * (omega[i, e] * cos[i, e] + omega[i + 1, e] * cos[i + 1, e])
    for a in range(2):
        for i in range(n - 1, 0, -1):
            for e in range(lanes):
                d[a, 0, e] += d[a, i, e]
                v[a, 0, e] += v[a, i, e]
        for e in range(lanes):
            d[a, 0, e] /= -n
            v[a, 0, e] /= -n
        for i in range(1, n):
            for e in range(lanes):
                d[a, i, e] += d[a, 0, e]
                v[a, i, e] += v[a, 0, e]


@kernel
def published(xs, ks, steps, dt):
    """Take ``steps`` steps of the paper's semi-implicit Euler method with its inertia correction.

    Chung et al. (2024), Appendix 1: friction and muscle forces at t; joint forces from D F = Q; rates
    implicit in damping, elasticity and friction; centre of mass damped by 1 + b dt/M; then the rates
    are corrected so that the angular momentum of the whole worm changes by the friction's torque.

    Parameters
    ----------
    xs : (1,) record of ``state_dtype(n)`` in lanes
        Changed in place. ``status`` becomes FOLDED where a joint reaches pi.
    ks : (1,) record of ``published_work(n)`` in lanes
    steps : int
    dt : float, s
        The paper's is 1e-5.
    """
    x = xs[0]
    k = ks[0]
    n, lanes = x.rod_angle.shape
    s, omega = x.rod_angle, x.rod_rate
    sin, cos, d, v, predicted = k.s, k.c, k.d, k.v, k.omega
    friction, force, torque, elastic, q = k.friction, k.force, k.torque, k.elastic, k.q
    lower, inverse, super_, sums = k.lower, k.inverse, k.super, k.sums
    r, inertia_before, momentum_before, turn = sums[0], sums[1], sums[2], sums[3]
    inertia_after, momentum_after, fx_sum, fy_sum = sums[4], sums[5], sums[6], sums[7]
    for e in range(lanes):
        x.work[e] = 0.0
        r[e] = x.length[e] / (2 * n)
    for i in range(n):
        for e in range(lanes):
            sin[i, e], cos[i, e] = sincos(s[i, e])
    for _ in range(steps):
        _kinematics(sin, cos, omega, d, v, r, n, lanes)
        for e in range(lanes):
            inertia_before[e] = momentum_before[e] = turn[e] = fx_sum[e] = fy_sum[e] = 0.0
        for i in range(n):
            for e in range(lanes):
                m = x.mass[e] / n
                vx = v[0, i, e] + x.centre_velocity[0, e]
                vy = v[1, i, e] + x.centre_velocity[1, e]
                par = cos[i, e] * vx + sin[i, e] * vy
                perp = cos[i, e] * vy - sin[i, e] * vx
                fx = -(x.friction_parallel[e] * par * cos[i, e] - x.friction_perpendicular[e] * perp * sin[i, e]) / n
                fy = -(x.friction_parallel[e] * par * sin[i, e] + x.friction_perpendicular[e] * perp * cos[i, e]) / n
                friction[0, i, e] = force[0, i, e] = fx
                friction[1, i, e] = force[1, i, e] = fy
                torque[i, e] = -x.friction_perpendicular[e] * r[e] * r[e] / (3 * n) * omega[i, e]
                elastic[i, e] = 0.0
                x.work[e] -= dt * (fx * vx + fy * vy)
                fx_sum[e] += fx
                fy_sum[e] += fy
                turn[e] += d[0, i, e] * fy - d[1, i, e] * fx
                inertia_before[e] += m * (d[0, i, e] * d[0, i, e] + d[1, i, e] * d[1, i, e]) + m * r[e] * r[e] / 3.0
                momentum_before[e] += m * (d[0, i, e] * vy - d[1, i, e] * vx)
        for i in range(n - 1):
            for e in range(lanes):
                # sin(theta/2)/cos^2(theta/2) (cos phi, sin phi) without half angles
                sin_theta = sin[i + 1, e] * cos[i, e] - cos[i + 1, e] * sin[i, e]
                fold = 1.0 + cos[i, e] * cos[i + 1, e] + sin[i, e] * sin[i + 1, e]
                theta = s[i + 1, e] - s[i, e]
                x.status[e] = FOLDED if (abs(fold) < 2e-4) | (abs(theta) > np.pi) else x.status[e]
                tau_k = x.stiffness[e] * (theta - x.control_angle[i, e])
                tau = tau_k + x.damping[e] * (omega[i + 1, e] - omega[i, e])
                pull = tau / r[e] * sin_theta / (fold * fold)
                px = pull * (cos[i, e] + cos[i + 1, e])
                py = pull * (sin[i, e] + sin[i + 1, e])
                force[0, i, e] -= px
                force[1, i, e] -= py
                force[0, i + 1, e] += px
                force[1, i + 1, e] += py
                torque[i, e] += tau
                torque[i + 1, e] -= tau
                elastic[i, e] += tau_k
                elastic[i + 1, e] -= tau_k
        # Joint forces: block elimination of the 2x2 blocks A_i, B_i of the paper, rows joint by joint.
        for i in range(n - 1):
            for e in range(lanes):
                m = x.mass[e] / n
                t0 = 3.0 / r[e] * torque[i, e]
                t1 = 3.0 / r[e] * torque[i + 1, e]
                w0 = m * r[e] * omega[i, e] * omega[i, e]
                w1 = m * r[e] * omega[i + 1, e] * omega[i + 1, e]
                q0 = (
                    force[0, i + 1, e]
                    - force[0, i, e]
                    + t0 * sin[i, e]
                    + t1 * sin[i + 1, e]
                    + w0 * cos[i, e]
                    + w1 * cos[i + 1, e]
                )
                q1 = (
                    force[1, i + 1, e]
                    - force[1, i, e]
                    - t0 * cos[i, e]
                    - t1 * cos[i + 1, e]
                    + w0 * sin[i, e]
                    + w1 * sin[i + 1, e]
                )
                bxx = 3.0 * sin[i, e] * sin[i, e] + 3.0 * sin[i + 1, e] * sin[i + 1, e] + 2.0
                bxy = -3.0 * sin[i, e] * cos[i, e] - 3.0 * sin[i + 1, e] * cos[i + 1, e]
                byy = 3.0 * cos[i, e] * cos[i, e] + 3.0 * cos[i + 1, e] * cos[i + 1, e] + 2.0
                # The first joint has no A: its coefficients vanish and it borrows its own entries.
                j = max(i - 1, 0)
                inside = 1.0 if i > 0 else 0.0
                axx = inside * (3.0 * sin[i, e] * sin[i, e] - 1.0)
                axy = inside * (-3.0 * sin[i, e] * cos[i, e])
                ayy = inside * (3.0 * cos[i, e] * cos[i, e] - 1.0)
                ixx = inverse[0, j, e] if i > 0 else 0.0
                ixy = inverse[1, j, e] if i > 0 else 0.0
                iyy = inverse[2, j, e] if i > 0 else 0.0
                lxx = axx * ixx + axy * ixy
                lxy = axx * ixy + axy * iyy
                lyx = axy * ixx + ayy * ixy
                lyy = axy * ixy + ayy * iyy
                lower[0, i, e], lower[1, i, e], lower[2, i, e], lower[3, i, e] = lxx, lxy, lyx, lyy
                bxx -= lxx * axx + lxy * axy
                bxy -= lxx * axy + lxy * ayy
                byy -= lyx * axy + lyy * ayy
                # A select, as above: what another animal left here may not be finite.
                qx = q[0, j, e] if i > 0 else 0.0
                qy = q[1, j, e] if i > 0 else 0.0
                q0 -= lxx * qx + lxy * qy
                q1 -= lyx * qx + lyy * qy
                det = 1.0 / (bxx * byy - bxy * bxy)
                inverse[0, i, e], inverse[1, i, e], inverse[2, i, e] = byy * det, -bxy * det, bxx * det
                q[0, i, e] = q0
                q[1, i, e] = q1
        for i in range(n - 2, -1, -1):
            for e in range(lanes):
                fx = inverse[0, i, e] * q[0, i, e] + inverse[1, i, e] * q[1, i, e]
                fy = inverse[1, i, e] * q[0, i, e] + inverse[2, i, e] * q[1, i, e]
                j = min(i + 1, n - 2)
                inside = 1.0 if i < n - 2 else 0.0
                fx -= inside * (lower[0, j, e] * q[0, j, e] + lower[2, j, e] * q[1, j, e])
                fy -= inside * (lower[1, j, e] * q[0, j, e] + lower[3, j, e] * q[1, j, e])
                q[0, i, e] = fx
                q[1, i, e] = fy
                elastic[i, e] += r[e] * (cos[i, e] * fy - sin[i, e] * fx)
                elastic[i + 1, e] += r[e] * (cos[i + 1, e] * fy - sin[i + 1, e] * fx)
        # Rates: (1 - dt/I P) omega = omega + dt/I (tau_k + tau_joint), tridiagonal.
        for i in range(n):
            for e in range(lanes):
                m = x.mass[e] / n
                gain = dt / (m * r[e] * r[e] / 3.0)
                beta = x.friction_perpendicular[e] * r[e] * r[e] / (3 * n)
                off = -gain * (x.damping[e] + x.stiffness[e] * dt)
                inner = 2.0 if 0 < i < n - 1 else 1.0
                j = max(i - 1, 0)
                before = super_[j, e] if i > 0 else 0.0
                last = predicted[j, e] if i > 0 else 0.0
                pivot = 1.0 / (1.0 + gain * beta - inner * off - off * before)
                super_[i, e] = off * pivot
                predicted[i, e] = (omega[i, e] + gain * elastic[i, e] - off * last) * pivot
        for i in range(n - 2, -1, -1):
            for e in range(lanes):
                predicted[i, e] -= super_[i, e] * predicted[i + 1, e]
        for e in range(lanes):
            slow = 1.0 / (1.0 + x.friction_perpendicular[e] * dt / x.mass[e])
            turn[e] *= slow
            x.centre_velocity[0, e] += dt * slow * fx_sum[e] / x.mass[e]
            x.centre_velocity[1, e] += dt * slow * fy_sum[e] / x.mass[e]
            x.centre[0, e] += dt * x.centre_velocity[0, e]
            x.centre[1, e] += dt * x.centre_velocity[1, e]
            inertia_after[e] = momentum_after[e] = 0.0
        for i in range(n):
            for e in range(lanes):
                sin[i, e], cos[i, e] = sincos(s[i, e] + dt * predicted[i, e])
        _kinematics(sin, cos, predicted, d, v, r, n, lanes)
        for i in range(n):
            for e in range(lanes):
                m = x.mass[e] / n
                vx = v[0, i, e] + x.centre_velocity[0, e]
                vy = v[1, i, e] + x.centre_velocity[1, e]
                inertia_after[e] += m * (d[0, i, e] * d[0, i, e] + d[1, i, e] * d[1, i, e]) + m * r[e] * r[e] / 3.0
                momentum_after[e] += m * (d[0, i, e] * vy - d[1, i, e] * vx)
        for e in range(lanes):
            turn[e] = (momentum_before[e] - momentum_after[e] + dt * turn[e]) / (
                0.5 * (inertia_before[e] + inertia_after[e])
            )
            x.step[e] += 1.0
            x.time[e] += dt
        for i in range(n):
            for e in range(lanes):
                omega[i, e] = predicted[i, e] + turn[e]
                s[i, e] += dt * omega[i, e]
                sin[i, e], cos[i, e] = sincos(s[i, e])
    _kinematics(sin, cos, omega, d, v, r, n, lanes)
    for a in range(2):
        for i in range(n):
            for e in range(lanes):
                x.rod_velocity[a, i, e] = v[a, i, e] + x.centre_velocity[a, e]


def _published_rows(rows, ids, blocks, lanes, work, steps, dt):
    width = lanes.shape[2]
    count = len(lanes)
    for t in prange(count):
        for first in range(t * width, len(ids), count * width):
            gather(rows, ids, first, lanes[t])
            published(blocks[t : t + 1], work[t : t + 1], steps, dt)
            scatter(lanes[t], rows, ids, first, 2, BROKEN)


PUBLISHED = batch_kernel(_published_rows)
