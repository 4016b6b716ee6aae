"""Mechanics of the lamprey: records, and kernels of three time-stepping schemes.

The model is a chain of n links in water (Ekeberg, 1993). Link i has its midpoint at (x_i, y_i), angle phi_i (head to
tail, so that the animal faces -(cos phi, sin phi)) and rate omega_i. Joint j connects links j and j+1. The outputs M_L
and M_R of its left and right motoneurons determine torque and stiffness of its muscles (Eq. 7).

Kernels work on lanes (``core/kernels/lanes.py``): the last axis of every field is the animal. Their arguments ``xs``,
``ks`` and ``links`` are arrays of one record: state (``body_fields``), scratch space (``body_work``) and constants of
the links (``links_dtype``). They take ``steps`` steps of ``dt`` (s) and change fields in place. All units are SI.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..core.kernels.jit import kernel, variant
from ..core.kernels.lanes import batch_kernel, fields, nothing, record
from ..core.kernels.maths import sincos

BENT, BROKEN = 1.0, 2.0
"""Status codes: a joint is bent beyond ``LARGEST_JOINT_ANGLE``, or the state is not finite."""

LARGEST_JOINT_ANGLE = 2.0
"""Largest valid angle of a joint, rad; the paper does not describe stronger bending."""

EULER, IMPLICIT, RUNGE_KUTTA = 0, 1, 2
"""Schemes: the paper's explicit Euler, linearly implicit, and fourth-order Runge-Kutta."""

METHODS = ("euler", "implicit", "runge_kutta")
"""Kernels of the schemes."""

X, Y, ANGLE = 0, 1, 2
"""Indices of the coordinates of a link: components along the axes of the world, and angle."""

XX, XY, YY = 0, 1, 2
"""Indices of the entries of a symmetric 2x2 matrix."""

LEFT, RIGHT = 0, 1
"""Indices of the sides."""

MAINTENANCE = 30.0 / 16.0
"""Maintenance heat rate of a fully active muscle at rest, per unit torque, rad/s.

Source: Hill (1938), Proc. R. Soc. B 126:136-195. The rate is a b = P0 v_max / 16, with his a / P0 = b / v_max = 1/4.
The assumed v_max of 30 rad/s corresponds to 10 muscle lengths per second, which is typical for vertebrates, for fibres
1 cm from the axis of a 3 cm link. Ekeberg gives no value, and we found none for the lamprey.
"""

MUSCLES = ("muscle_gain", "muscle_stiffness", "tonic_stiffness", "damping")
"""Parameters of each joint."""

PARAMETERS = (*MUSCLES, "water", "feedback")


def body_fields(n: int) -> list[tuple]:
    """Return the fields of a body of ``n`` links, without a cord."""
    return fields(
        ("time", (), "s", ""),
        ("status", (), "1", "0, BENT or BROKEN"),
        ("link_position link_velocity", (2, n), "m, m/s", "x, y of the midpoints"),
        ("link_angle link_rate", n, "rad, rad/s", ""),
        ("centre centre_velocity", 2, "m, m/s", "centre of mass"),
        ("motoneuron", (2, n - 1), "1", "left, right of each joint, constant during a neural step"),
        ("forced_torque", n - 1, "N m", "external, on each joint, constant during a neural step"),
        (
            "work spent",
            (),
            "J",
            "in the present ``advance``: positive work of active muscles; work plus heat of muscles",
        ),
        ("muscle_gain muscle_stiffness", n - 1, "N m", "alpha and beta of Eq. 7"),
        ("tonic_stiffness damping", n - 1, "1, N m s", "gamma and delta of Eq. 7"),
        ("water", (), "1", "factor on both drag coefficients"),
        ("feedback", (), "m", "strength of the edge cells' synapse (Table 2)"),
        ("current", 2, "m/s", "x, y of the water"),
        ("forced_bending forced_lag", n - 1, "N m, rad", "amplitude and lag of an external torque on each joint"),
        ("forced_frequency", (), "Hz", "of this torque"),
    )


def links_dtype(n: int) -> np.dtype:
    """Return the record of the links' constants."""
    return record(
        ("half inverse_mass inverse_inertia", n, "m, 1/kg, 1/(kg m^2)", "half length, inverse mass and inertia"),
        ("share", n, "1", "fraction of the body's mass"),
        ("drag_perpendicular drag_parallel", n, "N s^2/m^2", "lambda of Eq. 6"),
    )


def body_work(n: int) -> list[tuple]:
    """Return the scratch fields of the mechanics."""
    return fields(
        ("sine cosine", n, "1", "of the links' angles"),
        ("torque", n + 1, "N m", "of the joint in front of link i, 0 at the ends"),
        ("motion", (3, n), "m/s^2 or m/s, rad", "accelerations or velocities of unconstrained links: X, Y, ANGLE"),
        ("gap", (n, 2), "as motion", "right-hand side of Eq. 12 by joint: X, Y"),
        ("mean", 2, "m or m/s", "mass-weighted mean: X, Y"),
        # Eq. 12
        ("lever", (3, n), "1/kg", "K_i of a link: XX, XY, YY"),
        ("lower", (n, 2, 2), "1", "factor L of the matrix, one block per joint"),
        ("inverse", (n, 3), "kg", "1/D: XX, XY, YY; row j+1 for joint j; row 0 is 0"),
        ("force", (n + 1, 2), "N or N s", "of link i on link i-1: X, Y, 0 at the ends"),
        # Implicit scheme
        ("viscous", n + 1, "N m s^2", "derivative of a joint's angular impulse by its rate, 0 at the ends"),
        ("mobility", (3, n), "1/kg", "(m + dt D)^-1 of a link in water: XX, XY, YY"),
        ("schur", (3, 3), "", "addition of previous links to the matrix of the next: X, Y, ANGLE"),
        ("schur_side", 3, "m/s, N m s", "addition of previous links to the right-hand side of the next"),
        ("side", (n, 3), "N s, rad/s", "eliminated right-hand side: impulse X, Y behind a link; rate, ANGLE"),
        ("rate_factor", (n, 3), "", "dependence of a rate on impulse X, Y behind the link and the next rate, ANGLE"),
        ("impulse_factor", (n, 2, 3), "", "dependence of impulse X, Y on the next impulse X, Y and rate, ANGLE"),
        ("impulse", (n + 1, 2), "N s", "of link i on link i-1: X, Y, 0 at the ends"),
        ("lack", (), "N m s", "missing angular momentum about the centre of mass, then missing rate, rad/s"),
        ("inertia", (), "kg m^2", "of the body about the centre of mass"),
        # Runge-Kutta: start of a step, and weighted mean of the derivatives
        ("start_angle start_rate", n, "rad, rad/s", ""),
        ("start_centre start_velocity", 2, "m, m/s", ""),
        ("slope_angle slope_rate", n, "rad/s, rad/s^2", ""),
        ("slope_centre slope_velocity", 2, "m/s, m/s^2", ""),
    )


@kernel
def orient(xs, ks):
    """Set ``sine`` and ``cosine`` of the links' angles."""
    x, k = xs[0], ks[0]
    n, lanes = x.link_angle.shape
    for i in range(n):
        for e in range(lanes):
            k.sine[i, e], k.cosine[i, e] = sincos(x.link_angle[i, e])


@kernel
def factorise(ks, links):
    """Factorise G^T M^-1 G = L D L^T, Ekeberg (1993), Eq. 12, into ``lower`` and ``inverse``; after :func:`orient`.

    The matrix has 2x2 blocks, which couple neighbouring joints. With n_i = (-sin, cos) phi_i and ``lever``
    K_i = h_i^2/I_i n_i n_i^T, link i adds 1/m_i + K_i to its two joints, and K_i - 1/m_i between them.
    """
    k, p = ks[0], links[0]
    n, lanes = k.sine.shape
    s, c, xx, xy, yy = k.sine, k.cosine, k.lever[XX], k.lever[XY], k.lever[YY]
    low, inv = k.lower, k.inverse
    for i in range(n):
        lever = p.half[i] * p.half[i] * p.inverse_inertia[i]
        for e in range(lanes):
            xx[i, e] = lever * s[i, e] * s[i, e]
            xy[i, e] = -lever * s[i, e] * c[i, e]
            yy[i, e] = lever * c[i, e] * c[i, e]
    for e in range(lanes):
        inv[0, XX, e] = inv[0, XY, e] = inv[0, YY, e] = 0.0
    for j in range(n - 1):
        mass0, mass = p.inverse_mass[j], p.inverse_mass[j] + p.inverse_mass[j + 1]
        for e in range(lanes):
            bxx, bxy, byy = xx[j, e] - mass0, xy[j, e], yy[j, e] - mass0
            ixx, ixy, iyy = inv[j, XX, e], inv[j, XY, e], inv[j, YY, e]
            lxx, lxy = bxx * ixx + bxy * ixy, bxx * ixy + bxy * iyy
            lyx, lyy = bxy * ixx + byy * ixy, bxy * ixy + byy * iyy
            dxx = mass + xx[j, e] + xx[j + 1, e] - (lxx * bxx + lxy * bxy)
            dxy = xy[j, e] + xy[j + 1, e] - (lxx * bxy + lxy * byy)
            dyy = mass + yy[j, e] + yy[j + 1, e] - (lyx * bxy + lyy * byy)
            scale = 1.0 / (dxx * dyy - dxy * dxy)
            low[j, X, X, e], low[j, X, Y, e], low[j, Y, X, e], low[j, Y, Y, e] = lxx, lxy, lyx, lyy
            inv[j + 1, XX, e], inv[j + 1, XY, e], inv[j + 1, YY, e] = scale * dyy, -scale * dxy, scale * dxx


@kernel
def join(ks, links):
    """Project accelerations or velocities of unconstrained links onto the joints; Ekeberg (1993), Eq. 12, section 3.6.

    Solves (G^T M^-1 G) f = pi - G^T q for the inner forces f and adds M^-1 G f to q. This is the smallest change in the
    metric of the masses; momentum and angular momentum do not change. Call it after :func:`factorise`. ``motion`` is q
    and is updated. ``gap`` is pi and is overwritten. Row j+1 of ``force`` becomes F_j, which acts on link j, and with
    the opposite sign on link j+1.
    """
    k, p = ks[0], links[0]
    n, lanes = k.sine.shape
    s, c, low, inv, gap, force = k.sine, k.cosine, k.lower, k.inverse, k.gap, k.force
    qx, qy, qw = k.motion[X], k.motion[Y], k.motion[ANGLE]
    for j in range(n - 1):
        i, h0, h1 = j + 1, p.half[j], p.half[j + 1]
        for e in range(lanes):
            out0, out1 = h0 * qw[j, e], h1 * qw[i, e]
            gap[j, X, e] += out0 * s[j, e] + out1 * s[i, e] - (qx[j, e] - qx[i, e])
            gap[j, Y, e] -= out0 * c[j, e] + out1 * c[i, e] + (qy[j, e] - qy[i, e])
    for j in range(1, n - 1):
        for e in range(lanes):
            gx, gy = gap[j - 1, X, e], gap[j - 1, Y, e]
            gap[j, X, e] -= low[j, X, X, e] * gx + low[j, X, Y, e] * gy
            gap[j, Y, e] -= low[j, Y, X, e] * gx + low[j, Y, Y, e] * gy
    for e in range(lanes):
        force[0, X, e] = force[0, Y, e] = force[n, X, e] = force[n, Y, e] = 0.0
    for j in range(n - 1):
        for e in range(lanes):
            gx, gy = gap[j, X, e], gap[j, Y, e]
            force[j + 1, X, e] = inv[j + 1, XX, e] * gx + inv[j + 1, XY, e] * gy
            force[j + 1, Y, e] = inv[j + 1, XY, e] * gx + inv[j + 1, YY, e] * gy
    for j in range(n - 2, 0, -1):
        for e in range(lanes):
            fx, fy = force[j + 1, X, e], force[j + 1, Y, e]
            force[j, X, e] -= low[j, X, X, e] * fx + low[j, Y, X, e] * fy
            force[j, Y, e] -= low[j, X, Y, e] * fx + low[j, Y, Y, e] * fy
    for i in range(n):
        light, lever = p.inverse_mass[i], p.inverse_inertia[i] * p.half[i]
        for e in range(lanes):
            fx0, fy0, fx1, fy1 = force[i, X, e], force[i, Y, e], force[i + 1, X, e], force[i + 1, Y, e]
            qx[i, e] += light * (fx1 - fx0)
            qy[i, e] += light * (fy1 - fy0)
            qw[i, e] += lever * ((fy0 + fy1) * c[i, e] - (fx0 + fx1) * s[i, e])


@kernel
def accelerate(xs, ks, links):
    """Set ``motion`` to the accelerations of all links; Ekeberg (1993), Eqs. 4, 6, 7, 12; after :func:`orient`.

    Muscles bend the chain towards the active side. Drag is opposite to the velocity relative to the water and quadratic
    in each of its components along and across the link (Eq. 6 has their magnitudes).
    """
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    s, c, phi, omega, m, torque = k.sine, k.cosine, x.link_angle, x.link_rate, x.motoneuron, k.torque
    vx, vy = x.link_velocity[X], x.link_velocity[Y]
    ax, ay, aw = k.motion[X], k.motion[Y], k.motion[ANGLE]
    for e in range(lanes):
        torque[0, e] = torque[n, e] = 0.0
    for j in range(n - 1):
        i, h0, h1 = j + 1, p.half[j], p.half[j + 1]
        for e in range(lanes):
            w0, w1 = omega[j, e], omega[i, e]
            stiffness = x.muscle_stiffness[j, e] * (m[LEFT, j, e] + m[RIGHT, j, e] + x.tonic_stiffness[j, e])
            active = x.muscle_gain[j, e] * (m[LEFT, j, e] - m[RIGHT, j, e])
            torque[i, e] = active + stiffness * (phi[i, e] - phi[j, e]) + x.damping[j, e] * (w1 - w0)
            torque[i, e] -= x.forced_torque[j, e]
            k.gap[j, X, e] = h0 * w0 * w0 * c[j, e] + h1 * w1 * w1 * c[i, e]
            k.gap[j, Y, e] = h0 * w0 * w0 * s[j, e] + h1 * w1 * w1 * s[i, e]
    for i in range(n):
        light, turn = p.inverse_mass[i], p.inverse_inertia[i]
        parallel, perpendicular = p.drag_parallel[i], p.drag_perpendicular[i]
        for e in range(lanes):
            sin, cos, ux, uy = s[i, e], c[i, e], vx[i, e] - x.current[X, e], vy[i, e] - x.current[Y, e]
            par = ux * cos + uy * sin
            perp = uy * cos - ux * sin
            w_par = -x.water[e] * parallel * par * abs(par)
            w_perp = -x.water[e] * perpendicular * perp * abs(perp)
            ax[i, e] = light * (w_par * cos - w_perp * sin)
            ay[i, e] = light * (w_par * sin + w_perp * cos)
            aw[i, e] = turn * (torque[i + 1, e] - torque[i, e])
    factorise(ks, links)
    join(ks, links)


@kernel
def inner_forces(rows, number, xs, ks, links, forces):
    """Compute the inner forces of rows without changing them; Ekeberg (1993), Eq. 12.

    Args:
        rows ((B, K) float): Rows, which start with ``body_fields``.
        number ((K',) float): Memory of ``xs``, overwritten.
        xs, ks: State and scratch space with one lane, overwritten.
        links: Constants of the links.
        forces ((B, n - 1, 2) float, N): Result, the forces of link i+1 on link i along the axes of the world.
    """
    for b in range(len(rows)):
        for i in range(len(number)):
            number[i] = rows[b, i]
        orient(xs, ks)
        accelerate(xs, ks, links)
        for j in range(forces.shape[1]):
            forces[b, j, X], forces[b, j, Y] = ks[0].force[j + 1, X, 0], ks[0].force[j + 1, Y, 0]


@kernel
def mass_mean(qx, qy, share, mean):
    """Set ``mean`` (2, W) to the means of ``qx`` and ``qy`` (n, W) with the weights ``share`` (n,)."""
    n, lanes = qx.shape
    for e in range(lanes):
        mean[X, e] = mean[Y, e] = 0.0
    for i in range(n):
        for e in range(lanes):
            mean[X, e] += share[i] * qx[i, e]
            mean[Y, e] += share[i] * qy[i, e]


@kernel
def set_positions(xs, ks, links):
    """Set ``link_position`` from angles and ``centre``; Ekeberg (1993), section 3.6; after :func:`orient`."""
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    px, py, s, c = x.link_position[X], x.link_position[Y], k.sine, k.cosine
    for e in range(lanes):
        px[0, e] = py[0, e] = 0.0
    for i in range(1, n):
        for e in range(lanes):
            px[i, e] = px[i - 1, e] + p.half[i - 1] * c[i - 1, e] + p.half[i] * c[i, e]
            py[i, e] = py[i - 1, e] + p.half[i - 1] * s[i - 1, e] + p.half[i] * s[i, e]
    mass_mean(px, py, p.share, k.mean)
    for i in range(n):
        for e in range(lanes):
            px[i, e] += x.centre[X, e] - k.mean[X, e]
            py[i, e] += x.centre[Y, e] - k.mean[Y, e]


@kernel
def set_velocities(xs, ks, links):
    """Set ``link_velocity`` from ``link_rate`` and ``centre_velocity``; after :func:`orient`."""
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    vx, vy, w, s, c = x.link_velocity[X], x.link_velocity[Y], x.link_rate, k.sine, k.cosine
    for e in range(lanes):
        vx[0, e] = vy[0, e] = 0.0
    for i in range(1, n):
        for e in range(lanes):
            vx[i, e] = vx[i - 1, e] - p.half[i - 1] * w[i - 1, e] * s[i - 1, e] - p.half[i] * w[i, e] * s[i, e]
            vy[i, e] = vy[i - 1, e] + p.half[i - 1] * w[i - 1, e] * c[i - 1, e] + p.half[i] * w[i, e] * c[i, e]
    mass_mean(vx, vy, p.share, k.mean)
    for i in range(n):
        for e in range(lanes):
            vx[i, e] += x.centre_velocity[X, e] - k.mean[X, e]
            vy[i, e] += x.centre_velocity[Y, e] - k.mean[Y, e]


@kernel
def euler(xs, ks, links, steps, dt):
    """Take ``steps`` steps of the paper's explicit Euler method, then reposition and project the links.

    Positions move with the old velocities. Source: Ekeberg (1993), section 3.6.
    """
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    position, velocity, phi, omega, a = x.link_position, x.link_velocity, x.link_angle, x.link_rate, k.motion
    for _ in range(steps):
        orient(xs, ks)
        accelerate(xs, ks, links)
        for i in range(n):
            for e in range(lanes):
                position[X, i, e] += dt * velocity[X, i, e]
                position[Y, i, e] += dt * velocity[Y, i, e]
                phi[i, e] += dt * omega[i, e]
                velocity[X, i, e] += dt * a[X, i, e]
                velocity[Y, i, e] += dt * a[Y, i, e]
                omega[i, e] += dt * a[ANGLE, i, e]
    orient(xs, ks)
    factorise(ks, links)
    mass_mean(position[X], position[Y], p.share, x.centre)
    set_positions(xs, ks, links)
    for i in range(n):
        for e in range(lanes):
            a[X, i, e], a[Y, i, e], a[ANGLE, i, e] = velocity[X, i, e], velocity[Y, i, e], omega[i, e]
            k.gap[i, X, e] = k.gap[i, Y, e] = 0.0
    join(ks, links)
    for i in range(n):
        for e in range(lanes):
            velocity[X, i, e], velocity[Y, i, e], omega[i, e] = a[X, i, e], a[Y, i, e], a[ANGLE, i, e]
    mass_mean(velocity[X], velocity[Y], p.share, x.centre_velocity)


@kernel
def load(xs, ks, links, dt):
    """Set torques and drag of an implicit step; after :func:`orient` and :func:`set_velocities`.

    Sets ``torque`` without damping; ``viscous``, the effect of damping and stiffness on the new rates; ``gap``;
    ``mobility``; and ``motion``, the velocities of unconstrained links after the drag ``-lambda |v_old| v_new``.
    """
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    s, c, phi, omega, m = k.sine, k.cosine, x.link_angle, x.link_rate, x.motoneuron
    vx, vy = x.link_velocity[X], x.link_velocity[Y]
    ux, uy, torque, viscous = k.motion[X], k.motion[Y], k.torque, k.viscous
    gxx, gxy, gyy, gap = k.mobility[XX], k.mobility[XY], k.mobility[YY], k.gap
    for e in range(lanes):
        torque[0, e] = torque[n, e] = viscous[0, e] = viscous[n, e] = 0.0
    for j in range(n - 1):
        i, h0, h1 = j + 1, p.half[j], p.half[j + 1]
        for e in range(lanes):
            w0, w1 = omega[j, e], omega[i, e]
            stiffness = x.muscle_stiffness[j, e] * (m[LEFT, j, e] + m[RIGHT, j, e] + x.tonic_stiffness[j, e])
            active = x.muscle_gain[j, e] * (m[LEFT, j, e] - m[RIGHT, j, e])
            torque[i, e] = active + stiffness * (phi[i, e] - phi[j, e]) - x.forced_torque[j, e]
            viscous[i, e] = dt * (x.damping[j, e] + dt * stiffness)
            gap[j, X, e] = dt * (h0 * w0 * w0 * c[j, e] + h1 * w1 * w1 * c[i, e])
            gap[j, Y, e] = dt * (h0 * w0 * w0 * s[j, e] + h1 * w1 * w1 * s[i, e])
    for i in range(n):
        mass = 1.0 / p.inverse_mass[i]
        parallel, perpendicular = dt * p.drag_parallel[i], dt * p.drag_perpendicular[i]
        for e in range(lanes):
            sin, cos, wx, wy = s[i, e], c[i, e], x.current[X, e], x.current[Y, e]
            par, perp = vx[i, e] * cos + vy[i, e] * sin, vy[i, e] * cos - vx[i, e] * sin
            w_par, w_perp = wx * cos + wy * sin, wy * cos - wx * sin
            d_par = x.water[e] * parallel * abs(par - w_par)
            d_perp = x.water[e] * perpendicular * abs(perp - w_perp)
            g_par, g_perp = 1.0 / (mass + d_par), 1.0 / (mass + d_perp)
            u_par, u_perp = g_par * (mass * par + d_par * w_par), g_perp * (mass * perp + d_perp * w_perp)
            ux[i, e] = u_par * cos - u_perp * sin
            uy[i, e] = u_par * sin + u_perp * cos
            gxx[i, e] = g_par * cos * cos + g_perp * sin * sin
            gxy[i, e] = (g_par - g_perp) * sin * cos
            gyy[i, e] = g_par * sin * sin + g_perp * cos * cos


@kernel
def eliminate(xs, ks, links, dt):
    """Eliminate rates and impulses of an implicit step from head to tail in blocks of 1 + 2; after :func:`load`.

    The unknowns of link i are its rate omega_i and the impulse F_i in the joint behind it. ``rate_factor``,
    ``impulse_factor`` and ``side`` express them by those of the next link, ``schur`` and ``schur_side`` remain for the
    last link.
    """
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    s, c, omega, ux, uy, torque, viscous = k.sine, k.cosine, x.link_rate, k.motion[X], k.motion[Y], k.torque, k.viscous
    gxx, gxy, gyy, gap = k.mobility[XX], k.mobility[XY], k.mobility[YY], k.gap
    schur, schur_side, side, rate, impulse = k.schur, k.schur_side, k.side, k.rate_factor, k.impulse_factor
    for e in range(lanes):
        schur[X, X, e] = schur[X, Y, e] = schur[Y, Y, e] = 0.0
        schur[X, ANGLE, e] = schur[Y, ANGLE, e] = schur[ANGLE, ANGLE, e] = 0.0
        schur_side[X, e] = schur_side[Y, e] = schur_side[ANGLE, e] = 0.0
    for i in range(n - 1):
        h0, h1, inertia = p.half[i], p.half[i + 1], 1.0 / p.inverse_inertia[i]
        for e in range(lanes):
            hxx, hxy, hyy, couple = gxx[i + 1, e], gxy[i + 1, e], gyy[i + 1, e], -viscous[i + 1, e]
            # Rate of the link.
            d = 1.0 / (schur[ANGLE, ANGLE, e] + inertia + viscous[i, e] + viscous[i + 1, e])
            wx, wy = schur[X, ANGLE, e] + h0 * s[i, e], schur[Y, ANGLE, e] - h0 * c[i, e]
            bw = schur_side[ANGLE, e] + inertia * omega[i, e] + dt * (torque[i + 1, e] - torque[i, e])
            fx, fy, fw = wx * d, wy * d, couple * d
            # Impulse behind the link.
            xx = schur[X, X, e] - gxx[i, e] - hxx - fx * wx
            xy = schur[X, Y, e] - gxy[i, e] - hxy - fx * wy
            yy = schur[Y, Y, e] - gyy[i, e] - hyy - fy * wy
            xw, yw = h1 * s[i + 1, e] - fx * couple, -h1 * c[i + 1, e] - fy * couple
            bx = schur_side[X, e] + ux[i, e] - ux[i + 1, e] - gap[i, X, e] - fx * bw
            by = schur_side[Y, e] + uy[i, e] - uy[i + 1, e] - gap[i, Y, e] - fy * bw
            r = 1.0 / (xx * yy - xy * xy)
            ixx, ixy, iyy = r * yy, -r * xy, r * xx
            pxw, pyw = ixx * xw + ixy * yw, ixy * xw + iyy * yw
            pxx, pyx = ixx * hxx + ixy * hxy, ixy * hxx + iyy * hxy
            pxy, pyy = ixx * hxy + ixy * hyy, ixy * hxy + iyy * hyy
            zx, zy = ixx * bx + ixy * by, ixy * bx + iyy * by
            # Additions to the equations of the next link.
            schur[ANGLE, ANGLE, e] = -fw * couple - xw * pxw - yw * pyw
            schur[X, ANGLE, e] = -xw * pxx - yw * pyx
            schur[Y, ANGLE, e] = -xw * pxy - yw * pyy
            schur[X, X, e] = -hxx * pxx - hxy * pyx
            schur[X, Y, e] = -hxx * pxy - hxy * pyy
            schur[Y, Y, e] = -hxy * pxy - hyy * pyy
            schur_side[ANGLE, e] = -fw * bw - xw * zx - yw * zy
            schur_side[X, e] = -hxx * zx - hxy * zy
            schur_side[Y, e] = -hxy * zx - hyy * zy
            side[i, ANGLE, e], side[i, X, e], side[i, Y, e] = d * bw, zx, zy
            rate[i, X, e], rate[i, Y, e], rate[i, ANGLE, e] = fx, fy, fw
            impulse[i, X, ANGLE, e], impulse[i, X, X, e], impulse[i, X, Y, e] = pxw, pxx, pxy
            impulse[i, Y, ANGLE, e], impulse[i, Y, X, e], impulse[i, Y, Y, e] = pyw, pyx, pyy


@kernel
def substitute(xs, ks, links, dt):
    """Set the new ``link_rate`` and ``impulse`` of an implicit step from tail to head; after :func:`eliminate`."""
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    omega, impulse, side, rate, factor = x.link_rate, k.impulse, k.side, k.rate_factor, k.impulse_factor
    inertia = 1.0 / p.inverse_inertia[n - 1]
    for e in range(lanes):
        bw = k.schur_side[ANGLE, e] + inertia * omega[n - 1, e] - dt * k.torque[n - 1, e]
        omega[n - 1, e] = bw / (k.schur[ANGLE, ANGLE, e] + inertia + k.viscous[n - 1, e])
        impulse[n, X, e] = impulse[n, Y, e] = impulse[0, X, e] = impulse[0, Y, e] = 0.0
    for i in range(n - 2, -1, -1):
        for e in range(lanes):
            w, jx, jy = omega[i + 1, e], impulse[i + 2, X, e], impulse[i + 2, Y, e]
            fx = side[i, X, e] - factor[i, X, ANGLE, e] * w - factor[i, X, X, e] * jx - factor[i, X, Y, e] * jy
            fy = side[i, Y, e] - factor[i, Y, ANGLE, e] * w - factor[i, Y, X, e] * jx - factor[i, Y, Y, e] * jy
            impulse[i + 1, X, e], impulse[i + 1, Y, e] = fx, fy
            omega[i, e] = side[i, ANGLE, e] - rate[i, X, e] * fx - rate[i, Y, e] * fy - rate[i, ANGLE, e] * w


@kernel
def move(xs, ks, links, dt):
    """Finish an implicit step: set velocities from the impulses, then angles and centre from the velocities.

    These velocities fit the joints of the old shape. Velocities that fit the new shape lack some angular momentum about
    the centre. A rotation of the whole body restores it, so that angular momentum is conserved without water.
    """
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    rx, ry, vx, vy, omega = x.link_position[X], x.link_position[Y], x.link_velocity[X], x.link_velocity[Y], x.link_rate
    ux, uy, gxx, gxy, gyy = k.motion[X], k.motion[Y], k.mobility[XX], k.mobility[XY], k.mobility[YY]
    impulse, lack, inertia = k.impulse, k.lack, k.inertia
    for e in range(lanes):
        lack[e] = inertia[e] = 0.0
    for i in range(n):
        mass, own = 1.0 / p.inverse_mass[i], 1.0 / p.inverse_inertia[i]
        for e in range(lanes):
            jx, jy = impulse[i + 1, X, e] - impulse[i, X, e], impulse[i + 1, Y, e] - impulse[i, Y, e]
            vx[i, e] = ux[i, e] + gxx[i, e] * jx + gxy[i, e] * jy
            vy[i, e] = uy[i, e] + gxy[i, e] * jx + gyy[i, e] * jy
            arm_x, arm_y = rx[i, e] - x.centre[X, e], ry[i, e] - x.centre[Y, e]
            lack[e] += mass * (arm_x * vy[i, e] - arm_y * vx[i, e]) + own * omega[i, e]
            x.link_angle[i, e] += dt * omega[i, e]
    mass_mean(vx, vy, p.share, x.centre_velocity)
    for e in range(lanes):
        x.centre[X, e] += dt * x.centre_velocity[X, e]
        x.centre[Y, e] += dt * x.centre_velocity[Y, e]
    orient(xs, ks)
    set_positions(xs, ks, links)
    set_velocities(xs, ks, links)
    for i in range(n):
        mass, own = 1.0 / p.inverse_mass[i], 1.0 / p.inverse_inertia[i]
        for e in range(lanes):
            arm_x, arm_y = rx[i, e] - x.centre[X, e], ry[i, e] - x.centre[Y, e]
            lack[e] -= mass * (arm_x * vy[i, e] - arm_y * vx[i, e]) + own * omega[i, e]
            inertia[e] += mass * (arm_x * arm_x + arm_y * arm_y) + own
    for e in range(lanes):
        lack[e] /= inertia[e]
    for i in range(n):
        for e in range(lanes):
            omega[i, e] += lack[e]
            vx[i, e] -= lack[e] * (ry[i, e] - x.centre[Y, e])
            vy[i, e] += lack[e] * (rx[i, e] - x.centre[X, e])


@kernel
def implicit(xs, ks, links, steps, dt):
    """Take ``steps`` linearly implicit steps in angles and centre of mass; the scheme is not from the paper.

    Muscle stiffness and damping act on the new rates, drag is ``-lambda |v_old| v_new``, and positions move with the
    new velocities. The unknowns are the rates omega_i and the impulses F_i in the joints. Their matrix is a symmetric
    quasi-definite band, which is eliminated in blocks of 1 + 2. Velocities of the links follow from their momentum
    equations with the mobility (m + dt D)^-1.
    """
    orient(xs, ks)
    for _ in range(steps):
        load(xs, ks, links, dt)
        eliminate(xs, ks, links, dt)
        substitute(xs, ks, links, dt)
        move(xs, ks, links, dt)


@kernel
def keep_start(value, start, slope):
    """Store the start of a Runge-Kutta step of values (n, W), and set the mean of their derivatives to 0."""
    for i in range(value.shape[0]):
        for e in range(value.shape[1]):
            start[i, e] = value[i, e]
            slope[i, e] = 0.0


@kernel
def add_slope(value, derivative, start, slope, part, ahead):
    """Add a derivative (n, W) times ``part`` to the mean, and set the value ``ahead`` (s) of the start."""
    for i in range(value.shape[0]):
        for e in range(value.shape[1]):
            rate = derivative[i, e]
            slope[i, e] += part * rate
            value[i, e] = start[i, e] + ahead * rate


@kernel
def follow_slope(value, start, slope, dt):
    """Set values to their start plus ``dt`` (s) times the mean of the derivatives."""
    for i in range(value.shape[0]):
        for e in range(value.shape[1]):
            value[i, e] = start[i, e] + dt * slope[i, e]


@kernel
def start_runge_kutta(xs, ks):
    """Start a Runge-Kutta step of the mechanics."""
    x, k = xs[0], ks[0]
    keep_start(x.link_angle, k.start_angle, k.slope_angle)
    keep_start(x.link_rate, k.start_rate, k.slope_rate)
    keep_start(x.centre, k.start_centre, k.slope_centre)
    keep_start(x.centre_velocity, k.start_velocity, k.slope_velocity)


@kernel
def runge_kutta_stage(xs, ks, links, part, ahead):
    """Take one of the four stages of a Runge-Kutta step of the mechanics, in angles and centre of mass.

    Call it after :func:`start_runge_kutta`; for ``part`` and ``ahead`` see :func:`add_slope`.
    """
    x, k = xs[0], ks[0]
    orient(xs, ks)
    set_velocities(xs, ks, links)
    accelerate(xs, ks, links)
    mass_mean(k.motion[X], k.motion[Y], links[0].share, k.mean)
    add_slope(x.link_angle, x.link_rate, k.start_angle, k.slope_angle, part, ahead)
    add_slope(x.link_rate, k.motion[ANGLE], k.start_rate, k.slope_rate, part, ahead)
    add_slope(x.centre, x.centre_velocity, k.start_centre, k.slope_centre, part, ahead)
    add_slope(x.centre_velocity, k.mean, k.start_velocity, k.slope_velocity, part, ahead)


@kernel
def finish_runge_kutta(xs, ks, links, dt):
    """Finish a Runge-Kutta step of the mechanics."""
    x, k = xs[0], ks[0]
    follow_slope(x.link_angle, k.start_angle, k.slope_angle, dt)
    follow_slope(x.link_rate, k.start_rate, k.slope_rate, dt)
    follow_slope(x.centre, k.start_centre, k.slope_centre, dt)
    follow_slope(x.centre_velocity, k.start_velocity, k.slope_velocity, dt)
    orient(xs, ks)
    set_positions(xs, ks, links)
    set_velocities(xs, ks, links)


@kernel
def runge_kutta(xs, ks, links, steps, dt):
    """Take ``steps`` fourth-order Runge-Kutta steps of the mechanics."""
    for _ in range(steps):
        start_runge_kutta(xs, ks)
        runge_kutta_stage(xs, ks, links, 1.0 / 6.0, 0.5 * dt)
        runge_kutta_stage(xs, ks, links, 1.0 / 3.0, 0.5 * dt)
        runge_kutta_stage(xs, ks, links, 1.0 / 3.0, dt)
        runge_kutta_stage(xs, ks, links, 1.0 / 6.0, 0.0)
        finish_runge_kutta(xs, ks, links, dt)


@kernel
def clear_work(xs):
    """Set ``work`` and ``spent`` to 0 for a new ``advance``."""
    x = xs[0]
    lanes = x.work.shape[0]
    for e in range(lanes):
        x.work[e] = x.spent[e] = 0.0


@kernel
def force(xs, dt):
    """Set the ``forced_torque`` of each joint at the middle of the next step of ``dt`` (s).

    It is ``forced_bending * cos(2 pi forced_frequency t - forced_lag)``. A positive torque increases the joint angle.
    """
    x = xs[0]
    joints, lanes = x.forced_bending.shape
    forced = False
    for j in range(joints):
        for e in range(lanes):
            forced |= (x.forced_bending[j, e] != 0.0) | (x.forced_torque[j, e] != 0.0)
    for j in range(joints if forced else 0):
        for e in range(lanes):
            phase = 2.0 * np.pi * x.forced_frequency[e] * (x.time[e] + 0.5 * dt) - x.forced_lag[j, e]
            torque = x.forced_bending[j, e] * sincos(phase)[1]
            x.forced_torque[j, e] = torque if x.forced_bending[j, e] != 0.0 else 0.0


@kernel
def begin_step(xs, dt):
    """Set the external torques, and add the muscles' energy of the next ``dt`` to ``work`` and ``spent``.

    Rates are those at the start of the step. Each side counts separately, so that co-contraction is not free. The work
    is that of the active part of Eq. 7 in shortening muscles, dt alpha sum (M_L max(v, 0) + M_R max(-v, 0)) with
    v = omega_j - omega_{j+1}. ``spent`` also includes the heat of activity, dt alpha `MAINTENANCE` sum (M_L + M_R).
    """
    force(xs, dt)
    x = xs[0]
    n, lanes = x.link_angle.shape
    omega, m = x.link_rate, x.motoneuron
    for j in range(n - 1):
        for e in range(lanes):
            bending = omega[j, e] - omega[j + 1, e]
            power = x.muscle_gain[j, e] * (m[LEFT, j, e] * bending if bending > 0.0 else -m[RIGHT, j, e] * bending)
            heat = x.muscle_gain[j, e] * MAINTENANCE * (m[LEFT, j, e] + m[RIGHT, j, e])
            x.work[e] += dt * power
            x.spent[e] += dt * (power + heat)


@kernel
def end_step(xs, dt):
    """Advance the time by ``dt`` (s); ``status`` becomes BENT if a joint is beyond ``LARGEST_JOINT_ANGLE``."""
    x = xs[0]
    n, lanes = x.link_angle.shape
    for j in range(n - 1):
        for e in range(lanes):
            angle = abs(x.link_angle[j + 1, e] - x.link_angle[j, e])
            # Angles that are not finite have the status BROKEN.
            x.status[e] = BENT if (angle > LARGEST_JOINT_ANGLE) & (angle < 1e300) else x.status[e]
    for e in range(lanes):
        x.time[e] += dt


@kernel
def move_body(xs, ks, links, scheme, steps, dt):
    """Take ``steps`` steps of a scheme: EULER, IMPLICIT or RUNGE_KUTTA."""
    if scheme == EULER:
        euler(xs, ks, links, steps, dt)
    elif scheme == IMPLICIT:
        implicit(xs, ks, links, steps, dt)
    else:
        runge_kutta(xs, ks, links, steps, dt)


@kernel
def swim(xs, ks, steps, dt, links, scheme, substeps):
    """Advance the body by ``steps`` steps of ``dt`` with ``substeps`` each; the motoneurons are constant.

    ``status`` becomes BENT if a joint exceeds ``LARGEST_JOINT_ANGLE``.
    """
    clear_work(xs)
    for _ in range(steps):
        begin_step(xs, dt)
        move_body(xs, ks, links, scheme, substeps, dt / substeps)
        end_step(xs, dt)


@cache
def kernels_of(step: Any, scheme: int, prepare: Any = nothing) -> tuple[Any, Any]:
    """Return the batch kernels of a step that calls `move_body`, with one scheme, because all take long to compile."""
    others = dict.fromkeys(set(METHODS) - {METHODS[scheme]}, nothing)
    return batch_kernel(variant(step, METHODS[scheme], **others), BROKEN, prepare=prepare, wide=False)
