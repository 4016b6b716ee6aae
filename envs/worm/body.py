"""Mechanics of the worm: records, and kernels of the two time-stepping schemes.

The model is a chain of n rods in a viscous medium (Chung, Chang & Kim, 2024). Each rod has mass m = M/n and half length
r = L/(2n). Rod i has angle s_i (head to tail), rate omega_i and centre velocity v_i. A damped torsional spring connects
rods i and i+1; its rest angle is the control angle times the gain of the joint.

A body with a shape has a ``profile`` (3, n): mass, length and friction of each rod relative to a rod of the uniform
body, with a mean of 1. The constants of its rods are arrays. The paper's uniform body has a ``profile`` (0,). Helpers
such as `_of` and `_times` are compiled for either type, so that the uniform body has no extra cost.

Kernels work on lanes (``core/kernels/lanes.py``): the last axis of every field is the animal. A scheme takes arrays of
one record: ``xs`` with the state, which it updates, and ``ks`` with its scratch space. The stages of a scheme take the
records ``x`` and ``k``, and pass results to each other in ``k``.
"""

from __future__ import annotations

import numpy as np

from ..core.kernels.jit import kernel
from ..core.kernels.lanes import batch_kernel, record
from ..core.kernels.maths import sincos

FOLDED, BROKEN = 1.0, 2.0
"""Status codes: a joint folded back on itself, or the state is not finite."""

OF_WORM = ("mass", "length", "friction_perpendicular", "friction_parallel")
"""Parameters of the whole worm."""

OF_JOINT = ("stiffness", "damping", "control_gain")
"""Parameters of each joint."""

MASS, LENGTH, FRICTION = range(3)
"""Row indices of a ``profile``."""


def state_dtype(n: int) -> np.dtype:
    """Return the record of one worm of ``n`` rods."""
    return record(
        ("time", (), "s", ""),
        ("step", (), "1", "number of steps since the reset"),
        ("status", (), "1", "0, FOLDED or BROKEN"),
        ("rod_angle", n, "rad", "head to tail"),
        ("rod_rate rod_rate_before", n, "rad/s", "present, and one step ago"),
        ("rod_velocity rod_velocity_before", (2, n), "m/s", "x, y of the centres, present and one step ago"),
        ("centre", 2, "m", "centre of mass"),
        ("centre_velocity", 2, "m/s", "velocity of the centre of mass"),
        ("control_angle", n - 1, "rad", "the drive"),
        ("work muscle_work", (), "J", "against friction, and positive work of muscles, in one ``advance``"),
        ("muscle_effort", (), "J s", "integral of squared muscle torque over stiffness, in one ``advance``"),
        (" ".join(OF_WORM), (), "kg, m, kg/s, kg/s", "parameters of the worm"),
        (" ".join(OF_JOINT), n - 1, "N m, N m s, 1", "parameters of each joint"),
    )


@kernel
def _of(rods, i, e):
    """Return a constant of rod ``i`` from an array for all rods (lanes,), or for each rod (n, lanes)."""
    if rods.ndim == 1:
        return rods[e]
    return rods[i, e]


@kernel
def _set(rods, i, e, value):
    """Set the constant that `_of` returns."""
    if rods.ndim == 1:
        rods[e] = value
    else:
        rods[i, e] = value


@kernel
def _times(value, profile, line, i):
    """Return a value of the uniform body's rods times the share of rod ``i``."""
    if profile.ndim == 1:
        return value
    return profile[line, i] * value


@kernel
def _over(value, profile, line, i):
    """Return a value of the uniform body's rods divided by the share of rod ``i``."""
    if profile.ndim == 1:
        return value
    return value / profile[line, i]


@kernel
def _levers(r, i, e, a, b):
    """Return r_i a + r_(i+1) b, with the half lengths of two rods, m."""
    if r.ndim == 1:
        return r[e] * (a + b)
    return r[i, e] * a + r[i + 1, e] * b


@kernel
def _line(r, i, e, a, b):
    """Return the result of `_levers` divided by r_(i+1)."""
    if r.ndim == 1:
        return a + b
    return r[i, e] / r[i + 1, e] * a + b


def midpoint_work(n: int, shaped: bool = False) -> np.dtype:
    """Return the scratch record of :func:`midpoint`; a ``shaped`` body has separate constants for each rod."""
    rods = (n,) if shaped else ()
    return record(
        ("half_length", rods, "m", "half length of a rod"),
        ("mobility_across mobility_excess", rods, "s/kg", "velocity per force: across, and along minus across"),
        ("velocity_weight velocity_weight_before", rods, "kg/s", "weights of velocities in the momentum before a step"),
        ("rate_weight rate_weight_before", rods, "kg m^2/s", "weights of rates in the angular momentum before a step"),
        ("resistance", rods, "kg m^2/s", "torque per rate"),
        ("sin cos", n, "1", "sine and cosine of the angles at the half step"),
        ("elastic", n + 1, "N m", "torque of the spring before each rod, 0 at the ends"),
        ("viscous", n + 1, "N m s", "derivative of this torque by the joint's rate, 0 at the ends"),
        # Passed to the next rod; w: equation of its rate, x and y: equations of the force behind it.
        ("schur_ww schur_wx schur_wy schur_xx schur_xy schur_yy", (), "kg m^2/s, m, s/kg", "Schur complement"),
        ("right_w right_x right_y", (), "N m, m/s", "right-hand side"),
        ("mobility_xx mobility_xy mobility_yy", (), "s/kg", "mobility of the next rod"),
        ("free_x free_y", (), "m/s", "velocity of the next rod without joint forces"),
        # Coefficients of the back substitution: derivatives with respect to quantities of the next rod.
        (
            "rate_by_x rate_by_y rate_by_next",
            n,
            "1/(N s), 1",
            "of the rate by the force behind the rod, and by the next rate",
        ),
        ("x_by_rate x_by_x x_by_y y_by_rate y_by_x y_by_y", n, "N s, 1", "of the force by the next rate and force"),
        ("rate force_x force_y", n, "rad/s, N", "remaining right-hand sides, then the solution"),
        ("before_x before_y", (), "N", "force at the joint in front of a rod"),
        ("sum_x sum_y", (), "m/s", "sum of the rods' velocities"),
        ("power", (), "W", "n times the power against friction"),
    )


@kernel
def midpoint(xs, ks, steps, dt, profile):
    """Take ``steps`` steps of ``dt`` (s) of the linearly implicit midpoint rule with BDF2 rates.

    Rates and rod velocities are defined at half steps, angles and the centre at whole steps. All stiff terms (springs,
    friction, joints) are implicit at the half step and linear in the unknowns. A symmetric quasi-definite banded system
    therefore determines the rates omega_i and the joint forces F_i. Rod velocities are eliminated by their momentum
    equations. The muscle forces of the paper's appendix are equivalent to a joint torque tau / cos^2(theta/2).

    Equations: Chung et al. (2024), "Newton's equation of motion". The scheme is not from the paper. The scratch space
    is `midpoint_work`. ``status`` becomes FOLDED if a joint reaches pi.
    """
    begin_midpoint(xs, ks)
    for _ in range(steps):
        midpoint_step(xs, ks, dt, profile)


@kernel
def begin_midpoint(xs, ks):
    """Set work and effort to 0 for a new ``advance``, and the joint torques beyond the ends of the body."""
    x, k = xs[0], ks[0]
    n, lanes = x.rod_angle.shape
    for e in range(lanes):
        x.work[e] = x.muscle_work[e] = x.muscle_effort[e] = 0.0
        k.elastic[0, e] = k.elastic[n, e] = 0.0
        k.viscous[0, e] = k.viscous[n, e] = 0.0


@kernel
def midpoint_step(xs, ks, dt, profile):
    """Take one step of :func:`midpoint`."""
    x, k = xs[0], ks[0]
    _weights(x, k, profile, dt)
    _joints(x, k, dt)
    _eliminate(x, k)
    _substitute(x, k)
    _move(x, k, profile, dt)
    _shorten(x, dt)


@kernel
def _weights(x, k, profile, dt):
    """Set the constants that depend on the BDF2 weights; the first two steps start from the state at time 0."""
    n, lanes = x.rod_angle.shape
    for i in range(1 if profile.ndim == 1 else n):
        for e in range(lanes):
            age = x.step[e]
            m = _times(x.mass[e] / n, profile, MASS, i)
            r = _times(x.length[e] / (2 * n), profile, LENGTH, i)
            inertia = m * r * r / 3.0
            a0 = 2.0 if age == 0.0 else (5.0 / 3.0 if age == 1.0 else 1.5)
            a1 = 2.0 if age == 0.0 else (3.0 if age == 1.0 else 2.0)
            a2 = 0.0 if age == 0.0 else (4.0 / 3.0 if age == 1.0 else 0.5)
            along = 1.0 / (a0 * m / dt + _times(x.friction_parallel[e] / n, profile, FRICTION, i))
            across = 1.0 / (a0 * m / dt + _times(x.friction_perpendicular[e] / n, profile, FRICTION, i))
            drag = _times(x.friction_perpendicular[e] * r * r / (3.0 * n), profile, FRICTION, i)
            _set(k.half_length, i, e, r)
            _set(k.mobility_across, i, e, across)
            _set(k.mobility_excess, i, e, along - across)
            _set(k.velocity_weight, i, e, m / dt * a1)
            _set(k.velocity_weight_before, i, e, m / dt * a2)
            _set(k.rate_weight, i, e, inertia / dt * a1)
            _set(k.rate_weight_before, i, e, inertia / dt * a2)
            _set(k.resistance, i, e, inertia / dt * a0 + drag)


@kernel
def _joints(x, k, dt):
    """Set the rods' directions and the joint torques, linear in the rates, at the half step."""
    n, lanes = x.rod_angle.shape
    s, sin, cos = x.rod_angle, k.sin, k.cos
    for i in range(n):
        for e in range(lanes):
            sin[i, e], cos[i, e] = sincos(s[i, e] + 0.5 * dt * x.rod_rate[i, e])
    for i in range(n - 1):
        for e in range(lanes):
            theta = s[i + 1, e] - s[i, e]
            cos2 = 0.5 * (1.0 + cos[i, e] * cos[i + 1, e] + sin[i, e] * sin[i + 1, e])
            x.status[e] = FOLDED if (abs(cos2) < 1e-4) | (abs(theta) > np.pi) else x.status[e]
            gain = 1.0 / cos2
            rest = x.control_gain[i, e] * x.control_angle[i, e]
            k.elastic[i + 1, e] = gain * x.stiffness[i, e] * (theta - rest)
            k.viscous[i + 1, e] = gain * (x.stiffness[i, e] * 0.5 * dt + x.damping[i, e])


@kernel
def _free_rod(x, k, i, e):
    """Return mobility (xx, xy, yy), s/kg, of rod ``i`` and its velocity (x, y), m/s, without joint forces."""
    vx, vy, vx1, vy1 = x.rod_velocity[0], x.rod_velocity[1], x.rod_velocity_before[0], x.rod_velocity_before[1]
    px = _of(k.velocity_weight, i, e) * vx[i, e] - _of(k.velocity_weight_before, i, e) * vx1[i, e]
    py = _of(k.velocity_weight, i, e) * vy[i, e] - _of(k.velocity_weight_before, i, e) * vy1[i, e]
    gxx = _of(k.mobility_across, i, e) + _of(k.mobility_excess, i, e) * k.cos[i, e] * k.cos[i, e]
    gxy = _of(k.mobility_excess, i, e) * k.cos[i, e] * k.sin[i, e]
    gyy = _of(k.mobility_across, i, e) + _of(k.mobility_excess, i, e) * k.sin[i, e] * k.sin[i, e]
    return gxx, gxy, gyy, gxx * px + gxy * py, gxy * px + gyy * py


@kernel
def _eliminate(x, k):
    """Eliminate (omega_i, F_i) rod by rod from the head, and set the factors and the reduced right-hand side."""
    n, lanes = x.rod_angle.shape
    omega, omega1, sin, cos, elastic, viscous = x.rod_rate, x.rod_rate_before, k.sin, k.cos, k.elastic, k.viscous
    for e in range(lanes):
        k.schur_ww[e] = k.schur_wx[e] = k.schur_wy[e] = k.schur_xx[e] = k.schur_xy[e] = k.schur_yy[e] = 0.0
        k.right_w[e] = k.right_x[e] = k.right_y[e] = 0.0
        k.mobility_xx[e], k.mobility_xy[e], k.mobility_yy[e], k.free_x[e], k.free_y[e] = _free_rod(x, k, 0, e)
    for i in range(n - 1):
        for e in range(lanes):
            r, r1 = _of(k.half_length, i, e), _of(k.half_length, i + 1, e)
            gxx, gxy, gyy, ux, uy = _free_rod(x, k, i + 1, e)
            # Diagonal block and right-hand side of this rod. Couplings to the next rod: omega to omega' by the
            # joint's viscosity, F to omega' by the lever arm, F to F' by the next rod's mobility.
            ww = k.schur_ww[e] + _of(k.resistance, i, e) + viscous[i, e] + viscous[i + 1, e]
            wx = k.schur_wx[e] + r * sin[i, e]
            wy = k.schur_wy[e] - r * cos[i, e]
            xx = k.schur_xx[e] - k.mobility_xx[e] - gxx
            xy = k.schur_xy[e] - k.mobility_xy[e] - gxy
            yy = k.schur_yy[e] - k.mobility_yy[e] - gyy
            bw = k.right_w[e] + _of(k.rate_weight, i, e) * omega[i, e] - _of(k.rate_weight_before, i, e) * omega1[i, e]
            bw = bw + elastic[i + 1, e] - elastic[i, e]
            bx = k.right_x[e] + k.free_x[e] - ux
            by = k.right_y[e] + k.free_y[e] - uy
            ww1 = -viscous[i + 1, e]

            # Eliminate the rate.
            d = 1.0 / ww
            fx, fy, fw1 = wx * d, wy * d, ww1 * d
            xx -= fx * wx
            xy -= fx * wy
            yy -= fy * wy
            xw1 = r1 * sin[i + 1, e] - fx * ww1
            yw1 = -r1 * cos[i + 1, e] - fy * ww1
            bx -= fx * bw
            by -= fy * bw

            # Eliminate the force.
            d1 = 1.0 / (xx * yy - xy * xy)
            ixx, ixy, iyy = yy * d1, -xy * d1, xx * d1
            fxw, fxx, fxy = ixx * xw1 + ixy * yw1, ixx * gxx + ixy * gxy, ixx * gxy + ixy * gyy
            fyw, fyx, fyy = ixy * xw1 + iyy * yw1, ixy * gxx + iyy * gxy, ixy * gxy + iyy * gyy
            k.schur_ww[e] = -fw1 * ww1 - fxw * xw1 - fyw * yw1
            k.schur_wx[e] = -fxw * gxx - fyw * gxy
            k.schur_wy[e] = -fxw * gxy - fyw * gyy
            k.schur_xx[e] = -fxx * gxx - fyx * gxy
            k.schur_xy[e] = -fxx * gxy - fyx * gyy
            k.schur_yy[e] = -fxy * gxy - fyy * gyy
            k.right_w[e] = -fw1 * bw - fxw * bx - fyw * by
            k.right_x[e] = -fxx * bx - fyx * by
            k.right_y[e] = -fxy * bx - fyy * by
            k.mobility_xx[e], k.mobility_xy[e], k.mobility_yy[e], k.free_x[e], k.free_y[e] = gxx, gxy, gyy, ux, uy
            k.rate[i, e] = bw * d
            k.force_x[i, e] = ixx * bx + ixy * by
            k.force_y[i, e] = ixy * bx + iyy * by
            k.rate_by_x[i, e], k.rate_by_y[i, e], k.rate_by_next[i, e] = fx, fy, fw1
            k.x_by_rate[i, e], k.x_by_x[i, e], k.x_by_y[i, e] = fxw, fxx, fxy
            k.y_by_rate[i, e], k.y_by_x[i, e], k.y_by_y[i, e] = fyw, fyx, fyy


@kernel
def _substitute(x, k):
    """Substitute from the tail, so that ``rate`` and ``force`` become omega_i and F_i."""
    n, lanes = x.rod_angle.shape
    for e in range(lanes):
        i = n - 1
        now = _of(k.rate_weight, i, e) * x.rod_rate[i, e]
        before = _of(k.rate_weight_before, i, e) * x.rod_rate_before[i, e]
        bw = k.right_w[e] + now - before - k.elastic[i, e]
        k.rate[i, e] = bw / (k.schur_ww[e] + _of(k.resistance, i, e) + k.viscous[i, e])
        k.force_x[i, e] = 0.0
        k.force_y[i, e] = 0.0
    for i in range(n - 2, -1, -1):
        for e in range(lanes):
            w, fx, fy = k.rate[i + 1, e], k.force_x[i + 1, e], k.force_y[i + 1, e]
            hx = k.force_x[i, e] - k.x_by_rate[i, e] * w - k.x_by_x[i, e] * fx - k.x_by_y[i, e] * fy
            hy = k.force_y[i, e] - k.y_by_rate[i, e] * w - k.y_by_x[i, e] * fx - k.y_by_y[i, e] * fy
            k.rate[i, e] -= k.rate_by_x[i, e] * hx + k.rate_by_y[i, e] * hy + k.rate_by_next[i, e] * w
            k.force_x[i, e] = hx
            k.force_y[i, e] = hy


@kernel
def _move(x, k, profile, dt):
    """Update angles, rod velocities, centre of mass and work with the new rates and forces."""
    n, lanes = x.rod_angle.shape
    s, omega, omega1, sin, cos = x.rod_angle, x.rod_rate, x.rod_rate_before, k.sin, k.cos
    vx, vy, vx1, vy1 = x.rod_velocity[0], x.rod_velocity[1], x.rod_velocity_before[0], x.rod_velocity_before[1]
    for e in range(lanes):
        k.before_x[e] = k.before_y[e] = k.sum_x[e] = k.sum_y[e] = k.power[e] = 0.0
    # LLVM does not vectorise one loop with many arrays that might overlap, hence several small loops.
    for i in range(n):
        for e in range(lanes):
            omega1[i, e] = omega[i, e]
            omega[i, e] = k.rate[i, e]
        for e in range(lanes):
            s[i, e] += dt * omega[i, e]
    for i in range(n):
        for e in range(lanes):
            # The velocity follows from the momentum before the step and the forces on both sides.
            px = _of(k.velocity_weight, i, e) * vx[i, e] - _of(k.velocity_weight_before, i, e) * vx1[i, e]
            py = _of(k.velocity_weight, i, e) * vy[i, e] - _of(k.velocity_weight_before, i, e) * vy1[i, e]
            px = px + k.force_x[i, e] - k.before_x[e]
            py = py + k.force_y[i, e] - k.before_y[e]
            k.before_x[e] = k.force_x[i, e]
            k.before_y[e] = k.force_y[i, e]
            along = _of(k.mobility_excess, i, e) * (cos[i, e] * px + sin[i, e] * py)
            vx1[i, e] = vx[i, e]
            vy1[i, e] = vy[i, e]
            vx[i, e] = _of(k.mobility_across, i, e) * px + along * cos[i, e]
            vy[i, e] = _of(k.mobility_across, i, e) * py + along * sin[i, e]
    for i in range(n):
        for e in range(lanes):
            par = cos[i, e] * vx[i, e] + sin[i, e] * vy[i, e]
            perp = cos[i, e] * vy[i, e] - sin[i, e] * vx[i, e]
            k.sum_x[e] += _times(vx[i, e], profile, MASS, i)
            k.sum_y[e] += _times(vy[i, e], profile, MASS, i)
            power = x.friction_parallel[e] * par * par + x.friction_perpendicular[e] * perp * perp
            k.power[e] += _times(power, profile, FRICTION, i)
    for e in range(lanes):
        x.centre_velocity[0, e] = k.sum_x[e] / n
        x.centre_velocity[1, e] = k.sum_y[e] / n
        x.centre[0, e] += dt * x.centre_velocity[0, e]
        x.centre[1, e] += dt * x.centre_velocity[1, e]
        x.work[e] += dt / n * k.power[e]
        x.step[e] += 1.0
        x.time[e] += dt


@kernel
def _shorten(x, dt):
    """Add the positive work and the effort of the muscles in the last step.

    The power of a joint's muscle is the positive part of kappa (g theta_ctrl - theta) times the rate, with the gain g.
    It excludes the factor 1 / cos^2(theta/2) of the paper's appendix, which adds at most 1.6% for the paper's waves.
    The effort is the squared torque divided by kappa.
    """
    n, lanes = x.rod_angle.shape
    s, omega = x.rod_angle, x.rod_rate
    for i in range(n - 1):
        for e in range(lanes):
            rate = omega[i + 1, e] - omega[i, e]
            theta = s[i + 1, e] - s[i, e] - 0.5 * dt * rate
            stretch = x.control_gain[i, e] * x.control_angle[i, e] - theta
            power = x.stiffness[i, e] * stretch * rate
            x.muscle_work[e] += dt * power if power > 0.0 else 0.0
            x.muscle_effort[e] += dt * x.stiffness[i, e] * (stretch * stretch)


MIDPOINT = batch_kernel(midpoint, BROKEN)


def published_work(n: int, shaped: bool = False) -> np.dtype:
    """Return the scratch record of :func:`published`; a ``shaped`` body has a half length for each rod."""
    return record(
        ("sin cos", n, "1", "sine and cosine of the angles"),
        ("place velocity", (2, n), "m, m/s", "of the rods' centres relative to the centre of mass"),
        ("rate", n, "rad/s", "rate before the correction"),
        ("force", (2, n), "N", "force of friction and muscles on a rod"),
        ("torque rate_torque", n, "N m", "of friction and muscles; of elasticity and joint forces only"),
        ("joint_force", (2, n), "N", "right-hand side Q, then joint forces"),
        ("lower_xx lower_xy lower_yx lower_yy", n, "1", "A_i B_i^-1 in the elimination of joint forces"),
        ("inverse_xx inverse_xy inverse_yy", n, "1", "B_i^-1 in this elimination"),
        ("upper", n, "1", "factor in the elimination of rates"),
        ("half_length", n if shaped else (), "m", "half length of a rod"),
        ("inertia_before spin_before", (), "kg m^2, kg m^2/s", "about the centre of mass, before the step"),
        ("inertia_after spin_after", (), "kg m^2, kg m^2/s", "about the centre of mass, after the step"),
        ("friction_x friction_y friction_torque", (), "N, N m", "on the worm; torque about the centre of mass"),
        ("correction", (), "rad/s", "correction of all rates"),
    )


@kernel
def published(xs, ks, steps, dt, profile):
    """Take ``steps`` steps of the paper's semi-implicit Euler method with its inertia correction (dt = 1e-5 s).

    Source: Chung et al. (2024), Appendix 1. Friction and muscle forces are evaluated at t. Joint forces solve D F = Q.
    Rates are implicit in damping, elasticity and friction. The friction on the centre of mass is divided by
    1 + b dt/M. Finally, a correction of the rates makes the angular momentum of the worm change by the torque of
    friction.

    For arguments and ``status`` see :func:`midpoint`; the scratch space is `published_work`.
    """
    x = xs[0]
    k = ks[0]
    n, lanes = x.rod_angle.shape
    for e in range(lanes):
        x.work[e] = x.muscle_work[e] = x.muscle_effort[e] = 0.0
    for i in range(1 if profile.ndim == 1 else n):
        for e in range(lanes):
            _set(k.half_length, i, e, _times(x.length[e] / (2 * n), profile, LENGTH, i))
    for i in range(n):
        for e in range(lanes):
            k.sin[i, e], k.cos[i, e] = sincos(x.rod_angle[i, e])
    for _ in range(steps):
        _about_centre(k, profile, x.rod_rate)
        _friction(x, k, profile, dt)
        _muscles(x, k)
        _right_sides(x, k, profile)
        _joint_forces(x, k, profile)
        _rates(x, k, profile, dt)
        _centre(x, k, dt)
        _correct(x, k, profile, dt)
        _shorten(x, dt)
    _about_centre(k, profile, x.rod_rate)
    for a in range(2):
        for i in range(n):
            for e in range(lanes):
                x.rod_velocity[a, i, e] = k.velocity[a, i, e] + x.centre_velocity[a, e]


@kernel
def _about_centre(k, profile, rate):
    """Set positions and velocities of the rods relative to the centre of mass, for rates (n, lanes) in rad/s."""
    n, lanes = k.sin.shape
    sin, cos, d, v, r = k.sin, k.cos, k.place, k.velocity, k.half_length
    for e in range(lanes):
        d[0, 0, e] = d[1, 0, e] = v[0, 0, e] = v[1, 0, e] = 0.0
    for i in range(n - 1):
        for e in range(lanes):
            d[0, i + 1, e] = d[0, i, e] + _levers(r, i, e, cos[i, e], cos[i + 1, e])
            d[1, i + 1, e] = d[1, i, e] + _levers(r, i, e, sin[i, e], sin[i + 1, e])
            w0, w1 = rate[i, e], rate[i + 1, e]
            v[0, i + 1, e] = v[0, i, e] - _levers(r, i, e, w0 * sin[i, e], w1 * sin[i + 1, e])
            v[1, i + 1, e] = v[1, i, e] + _levers(r, i, e, w0 * cos[i, e], w1 * cos[i + 1, e])
    for a in range(2):
        for i in range(n - 1, 0, -1):
            for e in range(lanes):
                d[a, 0, e] += _times(d[a, i, e], profile, MASS, i)
                v[a, 0, e] += _times(v[a, i, e], profile, MASS, i)
        for e in range(lanes):
            d[a, 0, e] /= -n
            v[a, 0, e] /= -n
        for i in range(1, n):
            for e in range(lanes):
                d[a, i, e] += d[a, 0, e]
                v[a, i, e] += v[a, 0, e]


@kernel
def _rod_motion(x, k, profile, i, e):
    """Return velocity (x, y), m/s, of rod ``i``, and inertia, kg m^2, and spin, kg m^2/s, about the centre of mass."""
    n = x.rod_angle.shape[0]
    d, r = k.place, _of(k.half_length, i, e)
    m = _times(x.mass[e] / n, profile, MASS, i)
    vx = k.velocity[0, i, e] + x.centre_velocity[0, e]
    vy = k.velocity[1, i, e] + x.centre_velocity[1, e]
    inertia = m * (d[0, i, e] * d[0, i, e] + d[1, i, e] * d[1, i, e]) + m * r * r / 3.0
    return vx, vy, inertia, m * (d[0, i, e] * vy - d[1, i, e] * vx)


@kernel
def _friction(x, k, profile, dt):
    """Set forces and torques of the medium, and inertia and spin before the step; add the work against friction."""
    n, lanes = x.rod_angle.shape
    sin, cos, d = k.sin, k.cos, k.place
    for e in range(lanes):
        k.inertia_before[e] = k.spin_before[e] = 0.0
        k.friction_x[e] = k.friction_y[e] = k.friction_torque[e] = 0.0
    for i in range(n):
        for e in range(lanes):
            vx, vy, inertia, spin = _rod_motion(x, k, profile, i, e)
            par = cos[i, e] * vx + sin[i, e] * vy
            perp = cos[i, e] * vy - sin[i, e] * vx
            along, across = x.friction_parallel[e] * par, x.friction_perpendicular[e] * perp
            fx = _times(-(along * cos[i, e] - across * sin[i, e]) / n, profile, FRICTION, i)
            fy = _times(-(along * sin[i, e] + across * cos[i, e]) / n, profile, FRICTION, i)
            r = _of(k.half_length, i, e)
            k.force[0, i, e] = fx
            k.force[1, i, e] = fy
            drag = -x.friction_perpendicular[e] * r * r / (3 * n) * x.rod_rate[i, e]
            k.torque[i, e] = _times(drag, profile, FRICTION, i)
            k.rate_torque[i, e] = 0.0
            x.work[e] -= dt * (fx * vx + fy * vy)
            k.friction_x[e] += fx
            k.friction_y[e] += fy
            k.friction_torque[e] += d[0, i, e] * fy - d[1, i, e] * fx
            k.inertia_before[e] += inertia
            k.spin_before[e] += spin


@kernel
def _muscles(x, k):
    """Add the torques of the joints' springs and dampers and the resulting muscle forces (Appendix 1)."""
    n, lanes = x.rod_angle.shape
    sin, cos, force, torque, rate_torque = k.sin, k.cos, k.force, k.torque, k.rate_torque
    for i in range(n - 1):
        for e in range(lanes):
            # sin(theta/2)/cos^2(theta/2) (cos phi, sin phi) without half angles
            sin_theta = sin[i + 1, e] * cos[i, e] - cos[i + 1, e] * sin[i, e]
            fold = 1.0 + cos[i, e] * cos[i + 1, e] + sin[i, e] * sin[i + 1, e]
            theta = x.rod_angle[i + 1, e] - x.rod_angle[i, e]
            x.status[e] = FOLDED if (abs(fold) < 2e-4) | (abs(theta) > np.pi) else x.status[e]
            elastic = x.stiffness[i, e] * (theta - x.control_gain[i, e] * x.control_angle[i, e])
            tau = elastic + x.damping[i, e] * (x.rod_rate[i + 1, e] - x.rod_rate[i, e])
            # Between rods of unequal length the force acts along the line through their centres, without a torque.
            pull = tau / _of(k.half_length, i, e) * sin_theta / (fold * fold)
            px = pull * _line(k.half_length, i, e, cos[i, e], cos[i + 1, e])
            py = pull * _line(k.half_length, i, e, sin[i, e], sin[i + 1, e])
            force[0, i, e] -= px
            force[1, i, e] -= py
            force[0, i + 1, e] += px
            force[1, i + 1, e] += py
            torque[i, e] += tau
            torque[i + 1, e] -= tau
            rate_torque[i, e] += elastic
            rate_torque[i + 1, e] -= elastic


@kernel
def _right_sides(x, k, profile):
    """Set the right-hand side Q of the joint forces, N (Appendix 1)."""
    n, lanes = x.rod_angle.shape
    sin, cos, omega, force, torque = k.sin, k.cos, x.rod_rate, k.force, k.torque
    for i in range(n - 1):
        for e in range(lanes):
            m = x.mass[e] / n
            r0, r1 = _of(k.half_length, i, e), _of(k.half_length, i + 1, e)
            t0 = _over(3.0 / r0 * torque[i, e], profile, MASS, i)
            t1 = _over(3.0 / r1 * torque[i + 1, e], profile, MASS, i + 1)
            w0 = m * r0 * omega[i, e] * omega[i, e]
            w1 = m * r1 * omega[i + 1, e] * omega[i + 1, e]
            s0, s1, c0, c1 = sin[i, e], sin[i + 1, e], cos[i, e], cos[i + 1, e]
            qx = _over(force[0, i + 1, e], profile, MASS, i + 1) - _over(force[0, i, e], profile, MASS, i)
            qy = _over(force[1, i + 1, e], profile, MASS, i + 1) - _over(force[1, i, e], profile, MASS, i)
            k.joint_force[0, i, e] = qx + t0 * s0 + t1 * s1 + w0 * c0 + w1 * c1
            k.joint_force[1, i, e] = qy - t0 * c0 - t1 * c1 + w0 * s0 + w1 * s1


@kernel
def _joint_forces(x, k, profile):
    """Solve D F = Q (Appendix 1) for the joint forces F with 2x2 blocks A_i, B_i, and add their torques on rods."""
    n, lanes = x.rod_angle.shape
    sin, cos, r, q, rate_torque = k.sin, k.cos, k.half_length, k.joint_force, k.rate_torque
    inverse_xx, inverse_xy, inverse_yy = k.inverse_xx, k.inverse_xy, k.inverse_yy
    lower_xx, lower_xy, lower_yx, lower_yy = k.lower_xx, k.lower_xy, k.lower_yx, k.lower_yy
    for i in range(n - 1):
        for e in range(lanes):
            both = _over(1.0, profile, MASS, i) + _over(1.0, profile, MASS, i + 1)
            bxx = _over(3.0 * sin[i, e] * sin[i, e], profile, MASS, i)
            bxx = bxx + _over(3.0 * sin[i + 1, e] * sin[i + 1, e], profile, MASS, i + 1) + both
            bxy = _over(-3.0 * sin[i, e] * cos[i, e], profile, MASS, i)
            bxy = bxy - _over(3.0 * sin[i + 1, e] * cos[i + 1, e], profile, MASS, i + 1)
            byy = _over(3.0 * cos[i, e] * cos[i, e], profile, MASS, i)
            byy = byy + _over(3.0 * cos[i + 1, e] * cos[i + 1, e], profile, MASS, i + 1) + both
            # The first joint has no A: its coefficients are 0, and index j is its own.
            j = max(i - 1, 0)
            inside = 1.0 if i > 0 else 0.0
            axx = inside * _over(3.0 * sin[i, e] * sin[i, e] - 1.0, profile, MASS, i)
            axy = inside * _over(-3.0 * sin[i, e] * cos[i, e], profile, MASS, i)
            ayy = inside * _over(3.0 * cos[i, e] * cos[i, e] - 1.0, profile, MASS, i)
            ixx = inverse_xx[j, e] if i > 0 else 0.0
            ixy = inverse_xy[j, e] if i > 0 else 0.0
            iyy = inverse_yy[j, e] if i > 0 else 0.0
            lxx = axx * ixx + axy * ixy
            lxy = axx * ixy + axy * iyy
            lyx = axy * ixx + ayy * ixy
            lyy = axy * ixy + ayy * iyy
            lower_xx[i, e], lower_xy[i, e], lower_yx[i, e], lower_yy[i, e] = lxx, lxy, lyx, lyy
            bxx -= lxx * axx + lxy * axy
            bxy -= lxx * axy + lxy * ayy
            byy -= lyx * axy + lyy * ayy
            # Select 0 here, too, because old values in the scratch space may not be finite.
            qx = q[0, j, e] if i > 0 else 0.0
            qy = q[1, j, e] if i > 0 else 0.0
            det = 1.0 / (bxx * byy - bxy * bxy)
            inverse_xx[i, e], inverse_xy[i, e], inverse_yy[i, e] = byy * det, -bxy * det, bxx * det
            q[0, i, e] -= lxx * qx + lxy * qy
            q[1, i, e] -= lyx * qx + lyy * qy
    for i in range(n - 2, -1, -1):
        for e in range(lanes):
            fx = inverse_xx[i, e] * q[0, i, e] + inverse_xy[i, e] * q[1, i, e]
            fy = inverse_xy[i, e] * q[0, i, e] + inverse_yy[i, e] * q[1, i, e]
            j = min(i + 1, n - 2)
            inside = 1.0 if i < n - 2 else 0.0
            fx -= inside * (lower_xx[j, e] * q[0, j, e] + lower_yx[j, e] * q[1, j, e])
            fy -= inside * (lower_xy[j, e] * q[0, j, e] + lower_yy[j, e] * q[1, j, e])
            q[0, i, e] = fx
            q[1, i, e] = fy
            rate_torque[i, e] += _of(r, i, e) * (cos[i, e] * fy - sin[i, e] * fx)
            rate_torque[i + 1, e] += _of(r, i + 1, e) * (cos[i + 1, e] * fy - sin[i + 1, e] * fx)


@kernel
def _rates(x, k, profile, dt):
    """Solve (1 - dt/I P) omega = omega + dt/I (tau_k + tau_joint), tridiagonal, for the new rates (Appendix 1)."""
    n, lanes = x.rod_angle.shape
    rate, upper = k.rate, k.upper
    for i in range(n):
        for e in range(lanes):
            m = _times(x.mass[e] / n, profile, MASS, i)
            r = _of(k.half_length, i, e)
            gain = dt / (m * r * r / 3.0)
            beta = _times(x.friction_perpendicular[e] * r * r / (3 * n), profile, FRICTION, i)
            # The first rod lacks a joint in front of it, and the last one behind it.
            j, h = max(i - 1, 0), min(i, n - 2)
            off0 = -gain * (x.damping[j, e] + x.stiffness[j, e] * dt) if i > 0 else 0.0
            off1 = -gain * (x.damping[h, e] + x.stiffness[h, e] * dt) if i < n - 1 else 0.0
            before = upper[j, e] if i > 0 else 0.0
            last = rate[j, e] if i > 0 else 0.0
            pivot = 1.0 / (1.0 + gain * beta - (off0 + off1) - off0 * before)
            upper[i, e] = off1 * pivot
            rate[i, e] = (x.rod_rate[i, e] + gain * k.rate_torque[i, e] - off0 * last) * pivot
    for i in range(n - 2, -1, -1):
        for e in range(lanes):
            rate[i, e] -= upper[i, e] * rate[i + 1, e]


@kernel
def _centre(x, k, dt):
    """Move the centre of mass; friction and its torque are divided by 1 + b dt/M (Appendix 1)."""
    lanes = x.rod_angle.shape[1]
    for e in range(lanes):
        slow = 1.0 / (1.0 + x.friction_perpendicular[e] * dt / x.mass[e])
        k.friction_torque[e] *= slow
        x.centre_velocity[0, e] += dt * slow * k.friction_x[e] / x.mass[e]
        x.centre_velocity[1, e] += dt * slow * k.friction_y[e] / x.mass[e]
        x.centre[0, e] += dt * x.centre_velocity[0, e]
        x.centre[1, e] += dt * x.centre_velocity[1, e]


@kernel
def _correct(x, k, profile, dt):
    """Correct all rates so that the spin changes by the torque of friction, and update the angles (Appendix 1)."""
    n, lanes = x.rod_angle.shape
    s, sin, cos = x.rod_angle, k.sin, k.cos
    for i in range(n):
        for e in range(lanes):
            sin[i, e], cos[i, e] = sincos(s[i, e] + dt * k.rate[i, e])
    _about_centre(k, profile, k.rate)
    for e in range(lanes):
        k.inertia_after[e] = k.spin_after[e] = 0.0
    for i in range(n):
        for e in range(lanes):
            _, _, inertia, spin = _rod_motion(x, k, profile, i, e)
            k.inertia_after[e] += inertia
            k.spin_after[e] += spin
    for e in range(lanes):
        k.correction[e] = (k.spin_before[e] - k.spin_after[e] + dt * k.friction_torque[e]) / (
            0.5 * (k.inertia_before[e] + k.inertia_after[e])
        )
        x.step[e] += 1.0
        x.time[e] += dt
    for i in range(n):
        for e in range(lanes):
            x.rod_rate[i, e] = k.rate[i, e] + k.correction[e]
            s[i, e] += dt * x.rod_rate[i, e]
            sin[i, e], cos[i, e] = sincos(s[i, e])


PUBLISHED = batch_kernel(published, BROKEN)


@kernel
def joint_forces(angle, rate, force, torque, mass, half_length, ratio, out):
    """Compute the force of each rod on the rod in front of it from the equations of motion.

    Solves D F = Q of Appendix 1, with the muscles as torques, by block elimination from head to tail. Rods may differ.

    Args:
        angle, rate, mass, half_length ((B, n) float, rad, rad/s, kg, m): Angles, rates and constants of the rods.
        force ((B, n, 2) float, N): Force of the medium on the rods.
        torque ((B, n) float, N m): Torque of the medium and the joints on the rods.
        ratio ((n, 4) float): Scratch space.
        out ((B, n - 1, 2) float, N): Result.
    """
    n = angle.shape[1]
    for b in range(len(angle)):
        sin, cos = sincos(angle[b, 0])
        for i in range(n - 1):
            sin1, cos1 = sincos(angle[b, i + 1])
            r, r1, g, g1 = half_length[b, i], half_length[b, i + 1], 1.0 / mass[b, i], 1.0 / mass[b, i + 1]
            xx = g * (3.0 * sin * sin + 1.0) + g1 * (3.0 * sin1 * sin1 + 1.0)
            xy = -3.0 * (g * sin * cos + g1 * sin1 * cos1)
            yy = g * (3.0 * cos * cos + 1.0) + g1 * (3.0 * cos1 * cos1 + 1.0)
            turn, turn1 = 3.0 * g * torque[b, i] / r, 3.0 * g1 * torque[b, i + 1] / r1
            pull, pull1 = r * rate[b, i] * rate[b, i], r1 * rate[b, i + 1] * rate[b, i + 1]
            qx = g1 * force[b, i + 1, 0] - g * force[b, i, 0] + turn * sin + turn1 * sin1 + pull * cos + pull1 * cos1
            qy = g1 * force[b, i + 1, 1] - g * force[b, i, 1] - turn * cos - turn1 * cos1 + pull * sin + pull1 * sin1
            if i > 0:  # effect of the joint in front of this rod
                ax, ay, az = g * (3.0 * sin * sin - 1.0), -3.0 * g * sin * cos, g * (3.0 * cos * cos - 1.0)
                xx -= ax * ratio[i - 1, 0] + ay * ratio[i - 1, 2]
                xy -= ax * ratio[i - 1, 1] + ay * ratio[i - 1, 3]
                yy -= ay * ratio[i - 1, 1] + az * ratio[i - 1, 3]
                qx -= ax * out[b, i - 1, 0] + ay * out[b, i - 1, 1]
                qy -= ay * out[b, i - 1, 0] + az * out[b, i - 1, 1]
            det = 1.0 / (xx * yy - xy * xy)
            out[b, i, 0], out[b, i, 1] = det * (yy * qx - xy * qy), det * (xx * qy - xy * qx)
            ax, ay, az = g1 * (3.0 * sin1 * sin1 - 1.0), -3.0 * g1 * sin1 * cos1, g1 * (3.0 * cos1 * cos1 - 1.0)
            ratio[i, 0], ratio[i, 1] = det * (yy * ax - xy * ay), det * (yy * ay - xy * az)
            ratio[i, 2], ratio[i, 3] = det * (xx * ay - xy * ax), det * (xx * az - xy * ay)
            sin, cos = sin1, cos1
        for i in range(n - 3, -1, -1):
            x, y = out[b, i + 1, 0], out[b, i + 1, 1]
            out[b, i, 0] -= ratio[i, 0] * x + ratio[i, 1] * y
            out[b, i, 1] -= ratio[i, 2] * x + ratio[i, 3] * y
