"""Mechanics of the lamprey: records of one animal, and three time-stepping schemes as kernels.

A chain of n links in water (Ekeberg, 1993). Link i has its midpoint at (x_i, y_i), angle phi_i (head to
tail, so the animal faces -(cos phi, sin phi)) and rate omega_i. Joint j lies between links j and j+1;
the motoneurons of its left and right side, M_L and M_R, make and stiffen its muscles (Eq. 7).

Kernels work on lanes (see ``core/lanes.py``): the last axis of every field is the animal. They take ``xs``, ``ks``
and ``links``, each one record: the state in lanes (``body_fields``), scratch space in lanes (``body_work``) and the
constants of the links (``links_dtype``); all is in SI, and what is named as written is changed in place.
"""

from __future__ import annotations

import numpy as np

from ..core.jit import batch_kernel, kernel, prange, sincos
from ..core.lanes import gather, scatter

BENT, BROKEN = 1.0, 2.0
"""Status codes: a joint beyond ``LIMIT``; the state is not finite."""

LIMIT = 2.0
"""Largest joint angle, rad; of bodies bent further the paper says nothing."""

EULER, IMPLICIT, RUNGE_KUTTA = 0, 1, 2
"""Schemes: the paper's; linearly implicit; fourth order, for reference."""

PARAMETERS = ("muscle_gain", "muscle_stiffness", "tonic_stiffness", "damping", "water", "feedback")


def body_fields(n: int) -> list[tuple]:
    """Fields of the record of one body of ``n`` links, without a cord.

    ``time`` s; ``status``; ``link_position`` (x; y) m and ``link_velocity`` m/s of the midpoints;
    ``link_angle`` rad; ``link_rate`` rad/s; ``centre`` m and ``centre_velocity`` m/s of mass;
    ``motoneuron`` (left; right) of every joint, held since the last neural step; ``work`` J, positive
    work of the active muscles since the last ``advance`` began; then the physical parameters:
    ``muscle_gain`` alpha and ``muscle_stiffness`` beta N m, ``tonic_stiffness`` gamma, ``damping``
    delta N m s (Eq. 7), ``water``, the factor on both drag coefficients, ``feedback``, the strength of the
    edge cells' synapse (Table 2), and ``current`` (x; y) m/s, the velocity of the water.
    """
    return [
        ("time", "f8"),
        ("status", "f8"),
        ("link_position", "f8", (2, n)),
        ("link_velocity", "f8", (2, n)),
        ("link_angle", "f8", (n,)),
        ("link_rate", "f8", (n,)),
        ("centre", "f8", (2,)),
        ("centre_velocity", "f8", (2,)),
        ("motoneuron", "f8", (2, n - 1)),
        ("work", "f8"),
        *[(name, "f8") for name in PARAMETERS],
        ("current", "f8", (2,)),
    ]


def links_dtype(n: int) -> np.dtype:
    """Record of the links' constants: half length m, 1/kg, 1/(kg m^2), share of the mass, drag N s^2/m^2."""
    names = ("half", "inverse_mass", "inverse_inertia", "share", "drag_perpendicular", "drag_parallel")
    return np.dtype([(name, "f8", (n,)) for name in names])


def body_work(n: int) -> list[tuple]:
    """Scratch fields of the mechanics."""
    return [
        ("s", "f8", (n,)),
        ("c", "f8", (n,)),
        ("torque", "f8", (n + 1,)),  # of the joint before link i; 0 at the ends
        ("motion", "f8", (3, n)),  # accelerations or speeds of x, y, angle
        ("lever", "f8", (3, n)),  # K_i of a link: xx, xy, yy
        ("lower", "f8", (n, 4)),  # factor L of Eq. 12's matrix, a row per joint
        ("inverse", "f8", (n, 3)),  # 1/D: xx, xy, yy; row j+1 for joint j, and none before the first
        ("gap", "f8", (n, 2)),  # right-hand side of Eq. 12, a row per joint
        ("force", "f8", (n + 1, 2)),  # of link i on link i-1; 0 at the ends
        ("viscous", "f8", (n + 1,)),  # derivative of a joint's impulse by its rate
        ("upper", "f8", (n, 9)),  # factors of the implicit scheme's elimination
        ("z", "f8", (n, 3)),
        ("schur", "f8", (9,)),  # what reaches the next link
        ("start", "f8", (2, n + 2)),  # angles and centre, and their speeds, when a Runge-Kutta step begins
        ("slope", "f8", (2, n + 2)),  # weighted mean of their derivatives
    ]


@kernel
def orient(xs, ks):
    """Write the sines and cosines of the links' angles into ``s`` and ``c``."""
    x, k = xs[0], ks[0]
    n, lanes = x.link_angle.shape
    for i in range(n):
        for e in range(lanes):
            k.s[i, e], k.c[i, e] = sincos(x.link_angle[i, e])


@kernel
def factor(ks, links):
    """Factorise G^T M^-1 G = L D L^T, Ekeberg (1993), Eq. 12.

    The matrix couples neighbouring joints only, by 2x2 blocks: with n_i = (-sin, cos) phi_i and
    K_i = h_i^2/I_i n_i n_i^T, link i adds 1/m_i + K_i to the two joints it touches and K_i - 1/m_i between them.

    Parameters
    ----------
    ks : (1,) record of scratch space in lanes
        After :func:`orient`. ``lever``, ``lower`` and ``inverse`` are written.
    links : (1,) record of ``links_dtype(n)``
    """
    k, p = ks[0], links[0]
    n, lanes = k.s.shape
    s, c, xx, xy, yy = k.s, k.c, k.lever[0], k.lever[1], k.lever[2]
    low, inv = k.lower, k.inverse
    for i in range(n):
        lever = p.half[i] * p.half[i] * p.inverse_inertia[i]
        for e in range(lanes):
            xx[i, e] = lever * s[i, e] * s[i, e]
            xy[i, e] = -lever * s[i, e] * c[i, e]
            yy[i, e] = lever * c[i, e] * c[i, e]
    for e in range(lanes):
        inv[0, 0, e] = inv[0, 1, e] = inv[0, 2, e] = 0.0
    for j in range(n - 1):
        mass0, mass = p.inverse_mass[j], p.inverse_mass[j] + p.inverse_mass[j + 1]
        for e in range(lanes):
            bxx, bxy, byy = xx[j, e] - mass0, xy[j, e], yy[j, e] - mass0
            ixx, ixy, iyy = inv[j, 0, e], inv[j, 1, e], inv[j, 2, e]
            lxx, lxy = bxx * ixx + bxy * ixy, bxx * ixy + bxy * iyy
            lyx, lyy = bxy * ixx + byy * ixy, bxy * ixy + byy * iyy
            dxx = mass + xx[j, e] + xx[j + 1, e] - (lxx * bxx + lxy * bxy)
            dxy = xy[j, e] + xy[j + 1, e] - (lxx * bxy + lxy * byy)
            dyy = mass + yy[j, e] + yy[j + 1, e] - (lyx * bxy + lyy * byy)
            scale = 1.0 / (dxx * dyy - dxy * dxy)
            low[j, 0, e], low[j, 1, e], low[j, 2, e], low[j, 3, e] = lxx, lxy, lyx, lyy
            inv[j + 1, 0, e], inv[j + 1, 1, e], inv[j + 1, 2, e] = scale * dyy, -scale * dxy, scale * dxx


@kernel
def join(ks, links):
    """Make accelerations or speeds of loose links fit the joints, Ekeberg (1993), Eq. 12 and section 3.6.

    Solves (G^T M^-1 G) f = pi - G^T q for the inner forces f and adds M^-1 G f to q: the least change in the
    metric of the masses, which leaves momentum and angular momentum alone.

    Parameters
    ----------
    ks : (1,) record of scratch space in lanes
        After :func:`factor`. ``motion`` holds q (x; y; angle) and is changed; ``gap`` holds pi, a row per
        joint, and is lost; row j+1 of ``force`` becomes F_j, which acts on link j and, reversed, on link j+1.
    links : (1,) record of ``links_dtype(n)``
    """
    k, p = ks[0], links[0]
    n, lanes = k.s.shape
    s, c, low, inv, gap, force = k.s, k.c, k.lower, k.inverse, k.gap, k.force
    qx, qy, qw = k.motion[0], k.motion[1], k.motion[2]
    for j in range(n - 1):
        i, h0, h1 = j + 1, p.half[j], p.half[j + 1]
        for e in range(lanes):
            out0, out1 = h0 * qw[j, e], h1 * qw[i, e]
            gap[j, 0, e] += out0 * s[j, e] + out1 * s[i, e] - (qx[j, e] - qx[i, e])
            gap[j, 1, e] -= out0 * c[j, e] + out1 * c[i, e] + (qy[j, e] - qy[i, e])
    for j in range(1, n - 1):
        for e in range(lanes):
            gx, gy = gap[j - 1, 0, e], gap[j - 1, 1, e]
            gap[j, 0, e] -= low[j, 0, e] * gx + low[j, 1, e] * gy
            gap[j, 1, e] -= low[j, 2, e] * gx + low[j, 3, e] * gy
    for e in range(lanes):
        force[0, 0, e] = force[0, 1, e] = force[n, 0, e] = force[n, 1, e] = 0.0
    for j in range(n - 1):
        for e in range(lanes):
            gx, gy = gap[j, 0, e], gap[j, 1, e]
            force[j + 1, 0, e] = inv[j + 1, 0, e] * gx + inv[j + 1, 1, e] * gy
            force[j + 1, 1, e] = inv[j + 1, 1, e] * gx + inv[j + 1, 2, e] * gy
    for j in range(n - 2, 0, -1):
        for e in range(lanes):
            fx, fy = force[j + 1, 0, e], force[j + 1, 1, e]
            force[j, 0, e] -= low[j, 0, e] * fx + low[j, 2, e] * fy
            force[j, 1, e] -= low[j, 1, e] * fx + low[j, 3, e] * fy
    for i in range(n):
        light, lever = p.inverse_mass[i], p.inverse_inertia[i] * p.half[i]
        for e in range(lanes):
            fx0, fy0, fx1, fy1 = force[i, 0, e], force[i, 1, e], force[i + 1, 0, e], force[i + 1, 1, e]
            qx[i, e] += light * (fx1 - fx0)
            qy[i, e] += light * (fy1 - fy0)
            qw[i, e] += lever * ((fy0 + fy1) * c[i, e] - (fx0 + fx1) * s[i, e])


@kernel
def accelerate(xs, ks, links):
    """Accelerations of all links under water, muscles and inner forces, Ekeberg (1993), Eqs. 4, 6, 7, 12.

    Muscles bend the chain towards the active side. Drag acts against the velocity relative to the water,
    along and across the link separately, with the square of each component (Eq. 6 prints the magnitudes).

    Parameters
    ----------
    xs : (1,) record of the state in lanes
    ks : (1,) record of scratch space in lanes
        After :func:`orient`. ``motion`` becomes the accelerations (x; y, m/s^2; angle, rad/s^2), ``torque`` N m.
    links : (1,) record of ``links_dtype(n)``
    """
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    s, c, phi, omega, m, torque = k.s, k.c, x.link_angle, x.link_rate, x.motoneuron, k.torque
    vx, vy = x.link_velocity[0], x.link_velocity[1]
    ax, ay, aw = k.motion[0], k.motion[1], k.motion[2]
    for e in range(lanes):
        torque[0, e] = torque[n, e] = 0.0
    for j in range(n - 1):
        i, h0, h1 = j + 1, p.half[j], p.half[j + 1]
        for e in range(lanes):
            w0, w1 = omega[j, e], omega[i, e]
            stiffness = x.muscle_stiffness[e] * (m[0, j, e] + m[1, j, e] + x.tonic_stiffness[e])
            active = x.muscle_gain[e] * (m[0, j, e] - m[1, j, e])
            torque[i, e] = active + stiffness * (phi[i, e] - phi[j, e]) + x.damping[e] * (w1 - w0)
            k.gap[j, 0, e] = h0 * w0 * w0 * c[j, e] + h1 * w1 * w1 * c[i, e]
            k.gap[j, 1, e] = h0 * w0 * w0 * s[j, e] + h1 * w1 * w1 * s[i, e]
    for i in range(n):
        light, turn, parallel, perpendicular = (
            p.inverse_mass[i],
            p.inverse_inertia[i],
            p.drag_parallel[i],
            p.drag_perpendicular[i],
        )
        for e in range(lanes):
            sin, cos, ux, uy = s[i, e], c[i, e], vx[i, e] - x.current[0, e], vy[i, e] - x.current[1, e]
            par = ux * cos + uy * sin
            perp = uy * cos - ux * sin
            w_par = -x.water[e] * parallel * par * abs(par)
            w_perp = -x.water[e] * perpendicular * perp * abs(perp)
            ax[i, e] = light * (w_par * cos - w_perp * sin)
            ay[i, e] = light * (w_par * sin + w_perp * cos)
            aw[i, e] = turn * (torque[i + 1, e] - torque[i, e])
    factor(ks, links)
    join(ks, links)


@kernel
def centre(qx, qy, share, mean):
    """Mean over the mass of the body.

    Parameters
    ----------
    qx, qy : (n, W) float
    share : (n,) float
        Of each link in the mass.
    mean : (2, W) float
        Written, in the unit of ``qx`` and ``qy``.
    """
    n, lanes = qx.shape
    for e in range(lanes):
        mean[0, e] = mean[1, e] = 0.0
    for i in range(n):
        for e in range(lanes):
            mean[0, e] += share[i] * qx[i, e]
            mean[1, e] += share[i] * qy[i, e]


@kernel
def place(xs, ks, links):
    """Write the ``link_position`` that fits ``link_angle`` and ``centre``; Ekeberg (1993), section 3.6.

    After :func:`orient`.
    """
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    px, py, s, c = x.link_position[0], x.link_position[1], k.s, k.c
    for e in range(lanes):
        px[0, e] = py[0, e] = 0.0
    for i in range(1, n):
        for e in range(lanes):
            px[i, e] = px[i - 1, e] + p.half[i - 1] * c[i - 1, e] + p.half[i] * c[i, e]
            py[i, e] = py[i - 1, e] + p.half[i - 1] * s[i - 1, e] + p.half[i] * s[i, e]
    centre(px, py, p.share, k.gap[0])
    for i in range(n):
        for e in range(lanes):
            px[i, e] += x.centre[0, e] - k.gap[0, 0, e]
            py[i, e] += x.centre[1, e] - k.gap[0, 1, e]


@kernel
def carry(xs, ks, links):
    """Write the ``link_velocity`` that fits ``link_rate`` and ``centre_velocity``; after :func:`orient`."""
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    vx, vy, w, s, c = x.link_velocity[0], x.link_velocity[1], x.link_rate, k.s, k.c
    for e in range(lanes):
        vx[0, e] = vy[0, e] = 0.0
    for i in range(1, n):
        for e in range(lanes):
            vx[i, e] = vx[i - 1, e] - p.half[i - 1] * w[i - 1, e] * s[i - 1, e] - p.half[i] * w[i, e] * s[i, e]
            vy[i, e] = vy[i - 1, e] + p.half[i - 1] * w[i - 1, e] * c[i - 1, e] + p.half[i] * w[i, e] * c[i, e]
    centre(vx, vy, p.share, k.gap[0])
    for i in range(n):
        for e in range(lanes):
            vx[i, e] += x.centre_velocity[0, e] - k.gap[0, 0, e]
            vy[i, e] += x.centre_velocity[1, e] - k.gap[0, 1, e]


@kernel
def euler(xs, ks, links, steps, dt):
    """Take ``steps`` steps of the paper's scheme: explicit Euler, then repositioning and projection.

    Ekeberg (1993), section 3.6. Positions move with the old speeds.

    Parameters
    ----------
    xs : (1,) record of the state in lanes
        Changed in place.
    ks : (1,) record of scratch space in lanes
    links : (1,) record of ``links_dtype(n)``
    steps : int
    dt : float, s
    """
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    position, velocity, phi, omega, a = x.link_position, x.link_velocity, x.link_angle, x.link_rate, k.motion
    for _ in range(steps):
        orient(xs, ks)
        accelerate(xs, ks, links)
        for i in range(n):
            for e in range(lanes):
                position[0, i, e] += dt * velocity[0, i, e]
                position[1, i, e] += dt * velocity[1, i, e]
                phi[i, e] += dt * omega[i, e]
                velocity[0, i, e] += dt * a[0, i, e]
                velocity[1, i, e] += dt * a[1, i, e]
                omega[i, e] += dt * a[2, i, e]
    orient(xs, ks)
    factor(ks, links)
    centre(position[0], position[1], p.share, x.centre)
    place(xs, ks, links)
    for i in range(n):
        for e in range(lanes):
            a[0, i, e], a[1, i, e], a[2, i, e] = velocity[0, i, e], velocity[1, i, e], omega[i, e]
            k.gap[i, 0, e] = k.gap[i, 1, e] = 0.0
    join(ks, links)
    for i in range(n):
        for e in range(lanes):
            velocity[0, i, e], velocity[1, i, e], omega[i, e] = a[0, i, e], a[1, i, e], a[2, i, e]
    centre(velocity[0], velocity[1], p.share, x.centre_velocity)


@kernel
def implicit(xs, ks, links, steps, dt):
    """Take ``steps`` linearly implicit steps in angles and centre of mass; the scheme is ours.

    Muscle stiffness and damping act on the new rates, drag is -lambda |v_old| v_new, and positions move with
    the new speeds. The unknowns are the rates omega_i and the impulses F_i in the joints, link by link: a
    symmetric quasi-definite band, eliminated by blocks of 1 + 2. Velocities of the links follow from their
    momentum equations with the mobility (m + dt D)^-1.

    Parameters
    ----------
    xs : (1,) record of the state in lanes
        Changed in place.
    ks : (1,) record of scratch space in lanes
    links : (1,) record of ``links_dtype(n)``
    steps : int
    dt : float, s
    """
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    s, c, phi, omega, m = k.s, k.c, x.link_angle, x.link_rate, x.motoneuron
    vx, vy = x.link_velocity[0], x.link_velocity[1]
    ux, uy, torque, viscous = k.motion[0], k.motion[1], k.torque, k.viscous
    gxx, gxy, gyy, gap, upper, z, schur = k.lever[0], k.lever[1], k.lever[2], k.gap, k.upper, k.z, k.schur
    for _ in range(steps):
        orient(xs, ks)
        carry(xs, ks, links)
        for e in range(lanes):
            torque[0, e] = torque[n, e] = viscous[0, e] = viscous[n, e] = 0.0
        for j in range(n - 1):
            i, h0, h1 = j + 1, p.half[j], p.half[j + 1]
            for e in range(lanes):
                w0, w1 = omega[j, e], omega[i, e]
                stiffness = x.muscle_stiffness[e] * (m[0, j, e] + m[1, j, e] + x.tonic_stiffness[e])
                active = x.muscle_gain[e] * (m[0, j, e] - m[1, j, e])
                torque[i, e] = active + stiffness * (phi[i, e] - phi[j, e])
                viscous[i, e] = dt * (x.damping[e] + dt * stiffness)
                gap[j, 0, e] = dt * (h0 * w0 * w0 * c[j, e] + h1 * w1 * w1 * c[i, e])
                gap[j, 1, e] = dt * (h0 * w0 * w0 * s[j, e] + h1 * w1 * w1 * s[i, e])
        for i in range(n):
            mass, parallel, perpendicular = (
                1.0 / p.inverse_mass[i],
                dt * p.drag_parallel[i],
                dt * p.drag_perpendicular[i],
            )
            for e in range(lanes):
                sin, cos, wx, wy = s[i, e], c[i, e], x.current[0, e], x.current[1, e]
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
        for a in range(9):
            for e in range(lanes):
                schur[a, e] = 0.0
        for i in range(n - 1):
            h0, h1, inertia = p.half[i], p.half[i + 1], 1.0 / p.inverse_inertia[i]
            for e in range(lanes):
                hxx, hxy, hyy, couple = gxx[i + 1, e], gxy[i + 1, e], gyy[i + 1, e], -viscous[i + 1, e]
                d = 1.0 / (schur[0, e] + inertia + viscous[i, e] + viscous[i + 1, e])
                wx, wy = schur[1, e] + h0 * s[i, e], schur[2, e] - h0 * c[i, e]
                bw = schur[6, e] + inertia * omega[i, e] + dt * (torque[i + 1, e] - torque[i, e])
                fx, fy, fw = wx * d, wy * d, couple * d
                xx = schur[3, e] - gxx[i, e] - hxx - fx * wx
                xy = schur[4, e] - gxy[i, e] - hxy - fx * wy
                yy = schur[5, e] - gyy[i, e] - hyy - fy * wy
                xw, yw = h1 * s[i + 1, e] - fx * couple, -h1 * c[i + 1, e] - fy * couple
                bx = schur[7, e] + ux[i, e] - ux[i + 1, e] - gap[i, 0, e] - fx * bw
                by = schur[8, e] + uy[i, e] - uy[i + 1, e] - gap[i, 1, e] - fy * bw
                r = 1.0 / (xx * yy - xy * xy)
                ixx, ixy, iyy = r * yy, -r * xy, r * xx
                pxw, pyw = ixx * xw + ixy * yw, ixy * xw + iyy * yw
                pxx, pyx = ixx * hxx + ixy * hxy, ixy * hxx + iyy * hxy
                pxy, pyy = ixx * hxy + ixy * hyy, ixy * hxy + iyy * hyy
                zx, zy = ixx * bx + ixy * by, ixy * bx + iyy * by
                schur[0, e] = -fw * couple - xw * pxw - yw * pyw
                schur[1, e] = -xw * pxx - yw * pyx
                schur[2, e] = -xw * pxy - yw * pyy
                schur[3, e] = -hxx * pxx - hxy * pyx
                schur[4, e] = -hxx * pxy - hxy * pyy
                schur[5, e] = -hxy * pxy - hyy * pyy
                schur[6, e] = -fw * bw - xw * zx - yw * zy
                schur[7, e] = -hxx * zx - hxy * zy
                schur[8, e] = -hxy * zx - hyy * zy
                z[i, 0, e], z[i, 1, e], z[i, 2, e] = d * bw, zx, zy
                upper[i, 0, e], upper[i, 1, e], upper[i, 2, e] = fx, fy, fw
                upper[i, 3, e], upper[i, 4, e], upper[i, 5, e] = pxw, pxx, pxy
                upper[i, 6, e], upper[i, 7, e], upper[i, 8, e] = pyw, pyx, pyy
        inertia = 1.0 / p.inverse_inertia[n - 1]
        for e in range(lanes):
            bw = schur[6, e] + inertia * omega[n - 1, e] - dt * torque[n - 1, e]
            omega[n - 1, e] = bw / (schur[0, e] + inertia + viscous[n - 1, e])
            gap[n - 1, 0, e] = gap[n - 1, 1, e] = 0.0
        for i in range(n - 2, -1, -1):
            for e in range(lanes):
                w, jx, jy = omega[i + 1, e], gap[i + 1, 0, e], gap[i + 1, 1, e]
                fx = z[i, 1, e] - upper[i, 3, e] * w - upper[i, 4, e] * jx - upper[i, 5, e] * jy
                fy = z[i, 2, e] - upper[i, 6, e] * w - upper[i, 7, e] * jx - upper[i, 8, e] * jy
                gap[i, 0, e], gap[i, 1, e] = fx, fy
                omega[i, e] = z[i, 0, e] - upper[i, 0, e] * fx - upper[i, 1, e] * fy - upper[i, 2, e] * w
        for e in range(lanes):
            schur[0, e] = schur[1, e] = 0.0
        for i in range(n):
            for e in range(lanes):
                jx, jy = gap[i, 0, e] - schur[0, e], gap[i, 1, e] - schur[1, e]
                vx[i, e] = ux[i, e] + gxx[i, e] * jx + gxy[i, e] * jy
                vy[i, e] = uy[i, e] + gxy[i, e] * jx + gyy[i, e] * jy
                phi[i, e] += dt * omega[i, e]
                schur[0, e], schur[1, e] = gap[i, 0, e], gap[i, 1, e]
        centre(vx, vy, p.share, x.centre_velocity)
        for e in range(lanes):
            x.centre[0, e] += dt * x.centre_velocity[0, e]
            x.centre[1, e] += dt * x.centre_velocity[1, e]
    orient(xs, ks)
    place(xs, ks, links)
    carry(xs, ks, links)


@kernel
def stage(xs, ks, links, part, ahead):
    """One of the four evaluations of a Runge-Kutta step of the mechanics, in angles and centre of mass.

    Parameters
    ----------
    xs : (1,) record of the state in lanes
        Moved from the step's start by ``ahead`` times the derivative found here.
    ks : (1,) record of scratch space in lanes
        ``start`` and, in ``slope``, the sum of derivatives so far; ``slope`` gains ``part`` times the derivative.
    links : (1,) record of ``links_dtype(n)``
    part : float
    ahead : float, s
    """
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    start, slope, motion = k.start, k.slope, k.motion
    orient(xs, ks)
    carry(xs, ks, links)
    accelerate(xs, ks, links)
    centre(motion[0], motion[1], p.share, k.gap[0])
    for i in range(n):
        for e in range(lanes):
            w, a = x.link_rate[i, e], motion[2, i, e]
            slope[0, i, e] += part * w
            slope[1, i, e] += part * a
            x.link_angle[i, e] = start[0, i, e] + ahead * w
            x.link_rate[i, e] = start[1, i, e] + ahead * a
    for d in range(2):
        for e in range(lanes):
            v, a = x.centre_velocity[d, e], k.gap[0, d, e]
            slope[0, n + d, e] += part * v
            slope[1, n + d, e] += part * a
            x.centre[d, e] = start[0, n + d, e] + ahead * v
            x.centre_velocity[d, e] = start[1, n + d, e] + ahead * a


@kernel
def begin(xs, ks):
    """Note in ``start`` where a Runge-Kutta step of the mechanics begins, and clear ``slope``."""
    x, k = xs[0], ks[0]
    n, lanes = x.link_angle.shape
    for e in range(lanes):
        for i in range(n):
            k.start[0, i, e], k.start[1, i, e] = x.link_angle[i, e], x.link_rate[i, e]
        for d in range(2):
            k.start[0, n + d, e], k.start[1, n + d, e] = x.centre[d, e], x.centre_velocity[d, e]
        for i in range(n + 2):
            k.slope[0, i, e] = k.slope[1, i, e] = 0.0


@kernel
def finish(xs, ks, links, dt):
    """End a Runge-Kutta step of the mechanics: ``start`` plus ``dt`` (s) times ``slope``."""
    x, k = xs[0], ks[0]
    n, lanes = x.link_angle.shape
    for e in range(lanes):
        for i in range(n):
            x.link_angle[i, e] = k.start[0, i, e] + dt * k.slope[0, i, e]
            x.link_rate[i, e] = k.start[1, i, e] + dt * k.slope[1, i, e]
        for d in range(2):
            x.centre[d, e] = k.start[0, n + d, e] + dt * k.slope[0, n + d, e]
            x.centre_velocity[d, e] = k.start[1, n + d, e] + dt * k.slope[1, n + d, e]
    orient(xs, ks)
    place(xs, ks, links)
    carry(xs, ks, links)


@kernel
def runge_kutta(xs, ks, links, steps, dt):
    """Take ``steps`` fourth-order steps of ``dt`` (s) of the mechanics, the reference for the other schemes."""
    for _ in range(steps):
        begin(xs, ks)
        stage(xs, ks, links, 1.0 / 6.0, 0.5 * dt)
        stage(xs, ks, links, 1.0 / 3.0, 0.5 * dt)
        stage(xs, ks, links, 1.0 / 3.0, dt)
        stage(xs, ks, links, 1.0 / 6.0, 0.0)
        finish(xs, ks, links, dt)


@kernel
def account(xs, dt):
    """Add the muscles' work (J) of the coming ``dt`` (s), at the present rates, to ``work``.

    It is that of the active part of Eq. 7 where it is positive, sum max(alpha (M_L - M_R) (omega_j - omega_{j+1}), 0)
    dt.
    """
    x = xs[0]
    n, lanes = x.link_angle.shape
    omega, m = x.link_rate, x.motoneuron
    for j in range(n - 1):
        for e in range(lanes):
            power = x.muscle_gain[e] * (m[0, j, e] - m[1, j, e]) * (omega[j, e] - omega[j + 1, e])
            x.work[e] += dt * (power if power > 0.0 else 0.0)


@kernel
def check(xs, dt):
    """End a step of ``dt`` (s): move the clock; ``status`` becomes BENT where a joint is beyond ``LIMIT``."""
    x = xs[0]
    n, lanes = x.link_angle.shape
    for j in range(n - 1):
        for e in range(lanes):
            bend = abs(x.link_angle[j + 1, e] - x.link_angle[j, e])
            x.status[e] = BENT if (bend > LIMIT) & (bend < 1e300) else x.status[e]
    for e in range(lanes):
        x.time[e] += dt


@kernel
def swim(xs, ks, links, scheme, steps, dt, substeps):
    """Advance the body by ``steps`` steps of ``dt`` with the motoneurons held.

    Parameters
    ----------
    xs : (1,) record of the state in lanes
        Changed in place. ``status`` becomes BENT where a joint passes ``LIMIT``.
    ks : (1,) record of scratch space in lanes
    links : (1,) record of ``links_dtype(n)``
    scheme : int
        EULER, IMPLICIT or RUNGE_KUTTA.
    steps : int
    dt : float, s
        One step of ``steps``; with a cord that of the neurons.
    substeps : int
        Mechanical steps in ``dt``.
    """
    x = xs[0]
    lanes = x.work.shape[0]
    for e in range(lanes):
        x.work[e] = 0.0
    for _ in range(steps):
        account(xs, dt)
        if scheme == EULER:
            euler(xs, ks, links, substeps, dt / substeps)
        elif scheme == IMPLICIT:
            implicit(xs, ks, links, substeps, dt / substeps)
        else:
            runge_kutta(xs, ks, links, substeps, dt / substeps)
        check(xs, dt)


def _body_rows(rows, ids, blocks, lanes, work, links, scheme, steps, dt, substeps):
    width = lanes.shape[2]
    count = len(lanes)
    for t in prange(count):
        for first in range(t * width, len(ids), count * width):
            gather(rows, ids, first, lanes[t])
            swim(blocks[t : t + 1], work[t : t + 1], links, scheme, steps, dt, substeps)
            scatter(lanes[t], rows, ids, first, 1, BROKEN)


BODY = batch_kernel(_body_rows)
