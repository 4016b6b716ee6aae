"""Mechanics of the vibrissa: records of one animal, and the variational integrator as a kernel.

A chain of n rigid links of length L, headings phi_i, with a point mass m_i at c_i along each, joined by
springs k_i and dampers b_i (Quist et al., 2014). Link 1 sits in the follicle and moves as it is told;
the others are free. The state is the heading and its conjugate momentum p_i; a step solves the forced
discrete Euler-Lagrange equation of the midpoint rule for the next heading.

Kernels work on lanes (see ``core/lanes.py``): the last axis of every field is the animal. In all of them
``x`` is a block of ``state_dtype`` and ``k`` one of ``work_dtype``; what a kernel writes is in their fields.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.jit import batch_kernel, kernel, prange, sincos, sincos_small
from ..core.lanes import gather, scatter

UNSOLVED, BROKEN = 1.0, 2.0
"""Status codes: the equations of a step were not solved; the state is not finite."""

PARAMETERS = ("length", "mass", "stiffness", "damping", "friction", "restitution")

PASSES = 24
"""Newton passes after which a step counts as not solved."""

TOLERANCE = 1e-6
"""Size (rad) of the last Newton correction of a step."""

MISSED = 1e-4
"""A point found deeper than this (m) behind the hair at a step's start is on its other side."""

SWEEPS = 8
"""Gauss-Seidel sweeps over several pegs within one Newton pass."""

GRAZE = 1e-12
"""Gap (m) that counts as closed where collisions are located."""

INSTANT = 1e-9
"""Duration (s) over which a collision's velocities are differenced; it cancels."""

REST = 1e-9
"""Speed (m/s) after a collision below which the hair stays at the peg."""

EVENTS, BOUNCES = 50, 20
"""Collisions in one step, and how many of them may bounce; then the hair stays."""


def state_dtype(n: int, pegs: int) -> np.dtype:
    """Record of one vibrissa of ``n`` links among ``pegs`` pegs.

    ``time`` s; ``step`` since reset; ``status``; ``base`` m, ``base_velocity`` m/s and ``base_rate``
    rad/s of link 1; ``drive``: angular acceleration of the base (rad/s^2) and its acceleration (m/s^2);
    ``link_angle`` rad; ``link_rate`` rad/s, mean over the last step, and one step ``before``;
    ``momentum`` N m s conjugate to the headings; ``linear_momentum`` N s; ``wrench`` M (N m), Fx, Fy (N)
    at the start of the last step; then per peg ``peg`` (x; y) m, ``peg_velocity`` m/s, ``peg_radius`` m,
    ``peg_side``: +1 where the peg is on the left of the hair, -1 on its right;
    ``contact_force`` (push; drag) N in the last step, ``touch`` 1 where it pushed, ``contact_link``,
    ``contact_place`` m along it. Since the last ``advance`` began: ``span`` s, ``wrench_sum`` N m s and
    N s, ``contact_sum`` N s, ``collision_energy`` J lost. Then the physical parameters in SI;
    ``stiffness`` and ``damping`` are those of the first free joint.
    """
    return np.dtype(
        [
            ("time", "f8"),
            ("step", "f8"),
            ("status", "f8"),
            ("base", "f8", (2,)),
            ("base_velocity", "f8", (2,)),
            ("base_rate", "f8"),
            ("drive", "f8", (3,)),
            ("link_angle", "f8", (n,)),
            ("link_rate", "f8", (n,)),
            ("link_rate_before", "f8", (n,)),
            ("momentum", "f8", (n,)),
            ("linear_momentum", "f8", (2,)),
            ("wrench", "f8", (3,)),
            ("span", "f8"),
            ("wrench_sum", "f8", (3,)),
            ("collision_energy", "f8"),
            ("peg", "f8", (2, pegs)),
            ("peg_velocity", "f8", (2, pegs)),
            ("peg_radius", "f8", (pegs,)),
            ("peg_side", "f8", (pegs,)),
            ("contact_force", "f8", (2, pegs)),
            ("contact_sum", "f8", (pegs,)),
            ("touch", "f8", (pegs,)),
            ("contact_link", "f8", (pegs,)),
            ("contact_place", "f8", (pegs,)),
            *[(name, "f8") for name in PARAMETERS],
        ]
    )


def work_dtype(n: int, pegs: int, directions: int) -> np.dtype:
    """Scratch space of a step: ``directions`` is 2 with friction, else 1."""
    loads = pegs * directions
    return np.dtype(
        [
            ("mass", "f8", (n,)),  # m/dt
            ("lever", "f8", (n,)),  # c
            ("outer", "f8", (n,)),  # mass at the outer end of a link, by the lever rule, /dt
            ("spin", "f8", (n,)),  # what the lever rule misses in the moment of inertia, /dt
            ("joint", "f8", (n,)),  # k dt/4 + b/2
            ("spring", "f8", (n,)),  # k dt/2
            ("bent", "f8", (n,)),  # k dt/2 times the joint angle at the step's start
            ("length", "f8", ()),
            ("s0", "f8", (n,)),
            ("c0", "f8", (n,)),
            ("s1", "f8", (n,)),
            ("c1", "f8", (n,)),
            ("s", "f8", (n,)),
            ("c", "f8", (n,)),
            ("delta", "f8", (n,)),
            ("move", "f8", (2,)),
            ("w", "f8", (2, n)),
            ("force", "f8", (n,)),  # LQ
            ("reaction", "f8", (3,)),
            ("base", "f8", (4,)),  # LQ and LV of link 1, and the momentum, of the solved step
            ("u", "f8", (2,)),
            ("carry", "f8", (10,)),
            ("load", "f8", (loads, 3)),
            ("pivot", "f8", (n,)),
            ("k", "f8", (2, n)),
            ("a", "f8", (2, n)),
            ("z", "f8", (1 + loads, n)),  # correction by the residual, and by a unit of each load
            ("G", "f8", (loads, n)),
            ("normal", "f8", (2, pegs)),
            ("ready", "f8", (pegs,)),
            ("peg_move", "f8", (2, pegs)),
            ("ahead", "f8", (5,)),
            ("residual", "f8", (loads,)),
            ("D", "f8", (loads, loads)),
            ("impulse", "f8", (loads,)),
            ("error", "f8", ()),
            ("open", "f8", ()),
            ("kept", "f8", (state_dtype(n, pegs).itemsize // 8,)),  # state before an event
        ]
    )


@kernel
def _prepare(x, k, profile, dt):
    """Constants of a step of length ``dt`` from the parameters of each lane, and sincos of the headings."""
    n, lanes = x.link_angle.shape
    for e in range(lanes):
        k.length[e] = x.length[e] / n
    for i in range(n):
        for e in range(lanes):
            k.mass[i, e] = x.mass[e] * profile[0, i] / dt
            k.lever[i, e] = k.length[e] * profile[1, i]
            k.spring[i, e] = 0.5 * dt * x.stiffness[e] * profile[2, i]
            k.joint[i, e] = 0.5 * (k.spring[i, e] + x.damping[e] * profile[3, i])
            k.s0[i, e], k.c0[i, e] = sincos(x.link_angle[i, e])
    for i in range(n):
        j = min(i + 1, n - 1)
        share = 1.0 - profile[1, j] if i < n - 1 else 0.0
        for e in range(lanes):
            k.outer[i, e] = k.mass[i, e] * profile[1, i] + k.mass[j, e] * share
            k.spin[i, e] = -k.mass[i, e] * k.lever[i, e] * (k.length[e] - k.lever[i, e])


@kernel
def _nearest_link(x, k, o):
    """Link closest to peg ``o``, where on it and how far; link 1, in the follicle, cannot be touched.

    Of several discs in one place each takes another link, so that together they stop a hair that lies
    along a wall. Writes ``contact_link``, the link's normal, and into ``ahead`` the peg along and across
    the link and the squared distance.
    """
    n, lanes = x.link_angle.shape
    along, across, nearest, px, py = k.ahead[0], k.ahead[1], k.ahead[2], k.ahead[3], k.ahead[4]
    link, normal_x, normal_y = x.contact_link[o], k.normal[0, o], k.normal[1, o]
    for e in range(lanes):
        px[e] = x.peg[0, o, e] - x.base[0, e] - k.length[e] * k.c0[0, e]
        py[e] = x.peg[1, o, e] - x.base[1, e] - k.length[e] * k.s0[0, e]
        nearest[e] = 1e300
    for i in range(1, n):
        for e in range(lanes):
            t = px[e] * k.c0[i, e] + py[e] * k.s0[i, e]
            d = py[e] * k.c0[i, e] - px[e] * k.s0[i, e]
            beyond = t - min(max(t, 0.0), k.length[e])
            far = beyond * beyond + d * d
            for before in range(o):
                same = (x.peg[0, before, e] == x.peg[0, o, e]) & (x.peg[1, before, e] == x.peg[1, o, e])
                taken = same & (x.peg_radius[o, e] > 0.0) & (x.contact_link[before, e] == i)
                far = 1e200 if taken else far
            near = far < nearest[e]
            nearest[e] = far if near else nearest[e]
            along[e] = t if near else along[e]
            across[e] = d if near else across[e]
            link[e] = i if near else link[e]
            normal_x[e] = -k.s0[i, e] if near else normal_x[e]
            normal_y[e] = k.c0[i, e] if near else normal_y[e]
            px[e] -= k.length[e] * k.c0[i, e]
            py[e] -= k.length[e] * k.s0[i, e]


@kernel
def _out_of_reach(link, along, length, n):
    """Tell whether a peg lies beyond the tip or before the first link that can be touched."""
    return ((link == n - 1) & (along > length)) | ((link == 1) & (along < 0.0))


@kernel
def _signed_gap(radius, side, along, across, length, free):
    """Gap (m) between a peg on a ``side`` of the hair and the link it lies beside.

    A point is tested against the whole line of the link, a disc against the link itself; no gap to
    a point is closed that is out of reach.
    """
    beyond = along - min(max(along, 0.0), length)
    distance = math.sqrt(beyond * beyond + across * across)
    distance = distance if (side * across >= 0.0) | free else -distance
    return side * across if radius == 0.0 else distance - radius


@kernel
def _find_contact(x, k):
    """Direction of a push by every peg at the step's start, and its moment arm about each joint.

    A point pushes across the link, also a little past a node; a disc pushes away from its centre.
    """
    n, lanes = x.link_angle.shape
    pegs = x.peg_radius.shape[0]
    directions = k.G.shape[0] // pegs
    along, across = k.ahead[0], k.ahead[1]
    for o in range(pegs):
        _nearest_link(x, k, o)
        normal_x, normal_y, link, place = k.normal[0, o], k.normal[1, o], x.contact_link[o], x.contact_place[o]
        for e in range(lanes):
            # A peg keeps its side of the hair while it is within reach.
            radius = x.peg_radius[o, e]
            free = _out_of_reach(link[e], along[e], k.length[e], n)
            sign = 1.0 if across[e] >= 0.0 else -1.0
            side = sign if free | (x.peg_side[o, e] * across[e] < -radius - MISSED) else x.peg_side[o, e]
            x.peg_side[o, e] = side
            gap = _signed_gap(radius, side, along[e], across[e], k.length[e], free)
            point = radius == 0.0
            held = min(max(along[e], 0.0), k.length[e])
            unit = 1.0 / (gap + radius if gap + radius != 0.0 else 1.0)
            away = -across[e] * unit
            ahead = (held - along[e]) * unit
            nx = ahead * normal_y[e] + away * normal_x[e]
            ny = away * normal_y[e] - ahead * normal_x[e]
            normal_x[e] = -side * normal_x[e] if point else nx
            normal_y[e] = -side * normal_y[e] if point else ny
            place[e] = along[e] if point else held
            k.ready[o, e] = 0.0 if (point & free) | (gap < -max(MISSED, 0.5 * radius)) else 1.0
        for i in range(n):
            for e in range(lanes):
                arm = k.length[e] if i < link[e] else (place[e] if i == link[e] else 0.0)
                k.G[o * directions, i, e] = arm * (normal_y[e] * k.c0[i, e] - normal_x[e] * k.s0[i, e])
        if directions == 2:
            for i in range(n):
                for e in range(lanes):
                    arm = k.length[e] if i < link[e] else (place[e] if i == link[e] else 0.0)
                    k.G[o * directions + 1, i, e] = arm * (normal_x[e] * k.c0[i, e] + normal_y[e] * k.s0[i, e])


@kernel
def _turn(x, k):
    """Headings at the middle and the end of the step, and the momenta of the point masses between."""
    n, lanes = x.link_angle.shape
    delta, ux, uy = k.delta, k.u[0], k.u[1]
    for e in range(lanes):
        ux[e] = k.move[0, e]
        uy[e] = k.move[1, e]
    for i in range(n):
        for e in range(lanes):
            sh, ch = sincos_small(0.5 * delta[i, e])
            s = k.s0[i, e] * ch + k.c0[i, e] * sh
            c = k.c0[i, e] * ch - k.s0[i, e] * sh
            k.s[i, e] = s
            k.c[i, e] = c
            still = k.open[e] != 0.0
            k.s1[i, e] = s * ch + c * sh if still else k.s1[i, e]
            k.c1[i, e] = c * ch - s * sh if still else k.c1[i, e]
            dx = -s * delta[i, e]
            dy = c * delta[i, e]
            k.w[0, i, e] = k.mass[i, e] * (ux[e] + k.lever[i, e] * dx)
            k.w[1, i, e] = k.mass[i, e] * (uy[e] + k.lever[i, e] * dy)
            ux[e] += k.length[e] * dx
            uy[e] += k.length[e] * dy


@kernel
def _factorise(x, k):
    """Eliminate the headings from tip to base, for any residual and for a unit of each contact load.

    The matrix of a Newton pass is M/dt + dt/4 K + b/2. What lies beyond a joint answers the joint's
    motion through a mass P, a coupling p and a stiffness pw, so one sweep takes link after link.
    """
    n, lanes = x.link_angle.shape
    xx, xy, yy, px, py, pw = k.carry[0], k.carry[1], k.carry[2], k.carry[3], k.carry[4], k.carry[5]
    for e in range(lanes):
        xx[e] = xy[e] = yy[e] = px[e] = py[e] = pw[e] = 0.0
    for i in range(n - 1, 0, -1):
        for e in range(lanes):
            ax = -k.length[e] * k.s[i, e]
            ay = k.length[e] * k.c[i, e]
            joint = k.joint[i, e]
            xx[e] += k.outer[i, e]
            yy[e] += k.outer[i, e]
            kx = xx[e] * ax + xy[e] * ay + px[e]
            ky = xy[e] * ax + yy[e] * ay + py[e]
            d = 1.0 / (ax * (kx + px[e]) + ay * (ky + py[e]) + pw[e] + k.spin[i, e] + joint)
            xx[e] -= kx * kx * d
            xy[e] -= kx * ky * d
            yy[e] -= ky * ky * d
            px[e] = kx * joint * d
            py[e] = ky * joint * d
            pw[e] = joint - joint * joint * d
            k.a[0, i, e] = ax
            k.a[1, i, e] = ay
            k.k[0, i, e] = kx
            k.k[1, i, e] = ky
            k.pivot[i, e] = d
    for a in range(k.G.shape[0]):
        gx, gy, gw = k.load[a, 0], k.load[a, 1], k.load[a, 2]
        for e in range(lanes):
            gx[e] = gy[e] = gw[e] = 0.0
        for i in range(n - 1, 0, -1):
            for e in range(lanes):
                t = k.pivot[i, e] * (gw[e] + k.a[0, i, e] * gx[e] + k.a[1, i, e] * gy[e] + k.G[a, i, e])
                gx[e] -= k.k[0, i, e] * t
                gy[e] -= k.k[1, i, e] * t
                gw[e] = k.joint[i, e] * t
                k.z[1 + a, i, e] = t
        _substitute(k, 1 + a)
    for a in range(k.G.shape[0]):
        for b in range(k.G.shape[0]):
            for e in range(lanes):
                k.D[a, b, e] = 0.0
            for i in range(1, n):
                for e in range(lanes):
                    k.D[a, b, e] += k.G[a, i, e] * k.z[1 + b, i, e]


@kernel
def _substitute(k, a):
    """Finish correction ``a`` of the headings, from base to tip."""
    n, lanes = k.s.shape
    ux, uy, before = k.ahead[0], k.ahead[1], k.ahead[2]
    for e in range(lanes):
        ux[e] = uy[e] = before[e] = 0.0
    for i in range(1, n):
        for e in range(lanes):
            pull = k.k[0, i, e] * ux[e] + k.k[1, i, e] * uy[e] - k.joint[i, e] * before[e]
            w = k.z[a, i, e] - k.pivot[i, e] * pull
            k.z[a, i, e] = w
            before[e] = w
            ux[e] += k.a[0, i, e] * w
            uy[e] += k.a[1, i, e] * w


@kernel
def _balance(x, k):
    """Residual p + LQ - LV of the discrete equations without contact, and the correction it asks for.

    Quist et al. (2014), Eqs. 6-9.
    """
    n, lanes = x.link_angle.shape
    s, c, delta, ux, uy, outward = k.s, k.c, k.delta, k.u[0], k.u[1], k.ahead[0]
    gx, gy, gw = k.carry[6], k.carry[7], k.carry[8]
    for e in range(lanes):
        gx[e] = gy[e] = gw[e] = outward[e] = 0.0
        ux[e] = uy[e] = 0.0  # momentum of all that lies beyond
    for i in range(n - 1, 0, -1):
        for e in range(lanes):
            pi_x = k.lever[i, e] * k.w[0, i, e] + k.length[e] * ux[e]
            pi_y = k.lever[i, e] * k.w[1, i, e] + k.length[e] * uy[e]
            ux[e] += k.w[0, i, e]
            uy[e] += k.w[1, i, e]
            tau = k.bent[i, e] + k.joint[i, e] * (delta[i, e] - delta[i - 1, e])
            lq = outward[e] - tau - 0.5 * delta[i, e] * (c[i, e] * pi_x + s[i, e] * pi_y)
            lv = c[i, e] * pi_y - s[i, e] * pi_x
            outward[e] = tau
            k.force[i, e] = lq if k.open[e] != 0.0 else k.force[i, e]
            r = x.momentum[i, e] + lq - lv
            t = k.pivot[i, e] * (gw[e] + k.a[0, i, e] * gx[e] + k.a[1, i, e] * gy[e] + r)
            gx[e] -= k.k[0, i, e] * t
            gy[e] -= k.k[1, i, e] * t
            gw[e] = k.joint[i, e] * t
            k.z[0, i, e] = t
    for e in range(lanes):
        pi_x = k.lever[0, e] * k.w[0, 0, e] + k.length[e] * ux[e]
        pi_y = k.lever[0, e] * k.w[1, 0, e] + k.length[e] * uy[e]
        k.reaction[0, e] = outward[e] - 0.5 * delta[0, e] * (c[0, e] * pi_x + s[0, e] * pi_y)
        k.reaction[1, e] = c[0, e] * pi_y - s[0, e] * pi_x
        ux[e] += k.w[0, 0, e]
        uy[e] += k.w[1, 0, e]
    _substitute(k, 0)


@kernel
def _contact_impulse(x, k):
    """Impulses of the pegs that close no gap below zero at the step's end and pull nowhere.

    A push per peg, at least 0, with friction a drag within Coulomb's cone; several pegs by Gauss-Seidel.
    """
    n, lanes = x.link_angle.shape
    pegs = x.peg_radius.shape[0]
    loads = k.G.shape[0]
    directions = loads // pegs
    px, py, tx, ty, slip = k.ahead[0], k.ahead[1], k.ahead[2], k.ahead[3], k.ahead[4]
    for o in range(pegs):
        a = o * directions
        link = x.contact_link[o]
        for e in range(lanes):
            px[e] = x.peg[0, o, e] + k.peg_move[0, o, e] - x.base[0, e] - k.move[0, e]
            py[e] = x.peg[1, o, e] + k.peg_move[1, o, e] - x.base[1, e] - k.move[1, e]
            tx[e] = ty[e] = 0.0
            k.residual[a, e] = 0.0
        for i in range(n):
            for e in range(lanes):
                arm = k.length[e] if i < link[e] else 0.0
                here = 1.0 if i == link[e] else 0.0
                px[e] -= arm * k.c1[i, e]
                py[e] -= arm * k.s1[i, e]
                tx[e] += here * k.c1[i, e]
                ty[e] += here * k.s1[i, e]
        for e in range(lanes):
            along = tx[e] * px[e] + ty[e] * py[e]
            across = tx[e] * py[e] - ty[e] * px[e]
            # For the step a small disc slides along its link, at a link's end and on a wall the place is kept:
            # on a wall the nearest place jumps from one end to the other as the link turns.
            place, radius = x.contact_place[o, e], x.peg_radius[o, e]
            kept = (radius > 0.0) & ((place == 0.0) | (place == k.length[e]) | (radius > k.length[e]))
            away = math.sqrt((along - place) * (along - place) + across * across)
            k.residual[a, e] = (away if kept else x.peg_side[o, e] * across) - radius
        if directions == 2:
            for e in range(lanes):
                dx = k.move[0, e] - k.peg_move[0, o, e]
                dy = k.move[1, e] - k.peg_move[1, o, e]
                slip[e] = k.normal[0, o, e] * dy - k.normal[1, o, e] * dx + k.G[a + 1, 0, e] * k.delta[0, e]
            for i in range(1, n):
                for e in range(lanes):
                    slip[e] += k.G[a + 1, i, e] * k.delta[i, e]
            for e in range(lanes):
                k.residual[a + 1, e] = slip[e]
    for a in range(loads):
        for i in range(1, n):
            for e in range(lanes):
                k.residual[a, e] += k.G[a, i, e] * k.z[0, i, e]
    for _ in range(SWEEPS if pegs > 1 else 1):
        for o in range(pegs):
            a = o * directions
            gap, slip = k.ahead[0], k.ahead[1]
            for e in range(lanes):
                gap[e] = k.residual[a, e]
                slip[e] = k.residual[a + directions - 1, e]
            for b in range(loads):
                if b // directions != o:
                    for e in range(lanes):
                        gap[e] += k.D[a, b, e] * k.impulse[b, e]
                        slip[e] += k.D[a + directions - 1, b, e] * k.impulse[b, e]
            for e in range(lanes):
                push = -gap[e] / k.D[a, a, e]
                push = push if (push > 0.0) & (k.ready[o, e] != 0.0) else 0.0
                drag = 0.0
                if directions == 2:
                    nn, nt, tt = k.D[a, a, e], k.D[a, a + 1, e], k.D[a + 1, a + 1, e]
                    mu = x.friction[e]
                    det = 1.0 / (nn * tt - nt * nt)
                    stick_push = (nt * slip[e] - tt * gap[e]) * det
                    stick_drag = (nt * gap[e] - nn * slip[e]) * det
                    ratio = -mu if slip[e] + nt * push > 0.0 else mu
                    slide_push = -gap[e] / max(nn + ratio * nt, 1e-3 * nn)
                    slide_push = slide_push if slide_push > 0.0 else 0.0
                    sticks = (stick_push > 0.0) & (abs(stick_drag) <= mu * stick_push)
                    touches = push > 0.0
                    push = (stick_push if sticks else slide_push) if touches else 0.0
                    drag = (stick_drag if sticks else ratio * slide_push) if touches else 0.0
                    k.impulse[a + 1, e] = drag if k.open[e] != 0.0 else k.impulse[a + 1, e]
                k.impulse[a, e] = push if k.open[e] != 0.0 else k.impulse[a, e]


@kernel
def step(x, k, dt):
    """Take one step of the variational integrator; a contact that is ready closes no gap below zero at its end.

    Quist et al. (2014), Eqs. 6-12: midpoint rule, forces f+ and f- each half a step's impulse. The
    contact acts at the step's start in the direction that ``_find_contact`` found there.

    Parameters
    ----------
    x : record of ``state_dtype`` in lanes
        Changed in place. ``status`` becomes UNSOLVED where Newton's method does not converge.
    k : record of ``work_dtype`` in lanes
        Prepared for ``dt``, with the contacts found.
    dt : float, s
    """
    n, lanes = x.link_angle.shape
    pegs = x.peg_radius.shape[0]
    loads = k.G.shape[0]
    delta, s0, c0 = k.delta, k.s0, k.c0
    for e in range(lanes):
        delta[0, e] = dt * (x.base_rate[e] + 0.5 * dt * x.drive[0, e])
        k.move[0, e] = dt * (x.base_velocity[0, e] + 0.5 * dt * x.drive[1, e])
        k.move[1, e] = dt * (x.base_velocity[1, e] + 0.5 * dt * x.drive[2, e])
        k.open[e] = 1.0 if x.status[e] == 0.0 else 0.0
    for o in range(pegs):
        for e in range(lanes):
            k.peg_move[0, o, e] = dt * x.peg_velocity[0, o, e]
            k.peg_move[1, o, e] = dt * x.peg_velocity[1, o, e]
    for a in range(loads):
        for e in range(lanes):
            k.impulse[a, e] = 0.0
    for i in range(1, n):
        for e in range(lanes):
            delta[i, e] = dt * (2.0 * x.link_rate[i, e] - x.link_rate_before[i, e])
            k.bent[i, e] = k.spring[i, e] * (x.link_angle[i, e] - x.link_angle[i - 1, e])
    for count in range(PASSES):
        _turn(x, k)
        if count != 1:  # the first matrix serves the second pass too
            _factorise(x, k)
        _balance(x, k)
        _contact_impulse(x, k)
        before = k.ahead[0]
        for e in range(lanes):
            k.error[e] = before[e] = 0.0
        for i in range(1, n):
            for a in range(loads):
                for e in range(lanes):
                    k.z[0, i, e] += k.z[1 + a, i, e] * k.impulse[a, e]
            for e in range(lanes):
                w = k.z[0, i, e] if k.open[e] != 0.0 else 0.0
                tau = k.joint[i, e] * (w - before[e])
                before[e] = w
                k.force[i - 1, e] += tau
                k.force[i, e] -= tau
                delta[i, e] += w
                s1, c1 = k.s1[i, e], k.c1[i, e]
                k.s1[i, e] += w * (c1 - 0.5 * w * s1)
                k.c1[i, e] -= w * (s1 + 0.5 * w * c1)
                k.error[e] += w * w
        # The base's rows at the corrected headings: what the elimination left over is their derivative.
        gx, gy, gw = k.carry[6], k.carry[7], k.carry[8]
        for a in range(loads):
            for e in range(lanes):
                gx[e] += k.load[a, 0, e] * k.impulse[a, e]
                gy[e] += k.load[a, 1, e] * k.impulse[a, e]
                gw[e] += k.load[a, 2, e] * k.impulse[a, e]
        for e in range(lanes):
            lq = k.reaction[0, e] + gw[e]
            lv = k.reaction[1, e] + k.length[e] * (k.s[0, e] * gx[e] - k.c[0, e] * gy[e])
            still = k.open[e] != 0.0
            k.base[0, e] = lq if still else k.base[0, e]
            k.base[1, e] = lv if still else k.base[1, e]
            k.base[2, e] = k.u[0, e] - gx[e] if still else k.base[2, e]
            k.base[3, e] = k.u[1, e] - gy[e] if still else k.base[3, e]
            k.open[e] = 0.0 if k.error[e] <= TOLERANCE * TOLERANCE else k.open[e]  # NaN stays open
        left = 0.0
        for e in range(lanes):
            left += k.open[e]
        if left == 0.0:
            break
    # Reaction on the follicle, what is missing in the balance of the base's momenta, as an impulse.
    mz, fx, fy = k.reaction[0], k.reaction[1], k.reaction[2]
    for e in range(lanes):
        x.status[e] = UNSOLVED if k.open[e] != 0.0 else x.status[e]
        mz[e] = x.momentum[0, e] + k.base[0, e] - k.base[1, e]
        fx[e] = x.linear_momentum[0, e] - k.base[2, e]
        fy[e] = x.linear_momentum[1, e] - k.base[3, e]
        x.momentum[0, e] = k.base[0, e] + k.base[1, e]
        x.linear_momentum[0, e] = k.base[2, e]
        x.linear_momentum[1, e] = k.base[3, e]
    directions = loads // pegs
    for o in range(pegs):
        for e in range(lanes):
            push = k.impulse[o * directions, e]
            mz[e] += k.G[o * directions, 0, e] * push
            fx[e] += k.normal[0, o, e] * push
            fy[e] += k.normal[1, o, e] * push
            x.contact_force[0, o, e] = push / dt
            x.contact_sum[o, e] += push
            x.touch[o, e] = 1.0 if push > 0.0 else 0.0
        if directions == 2:
            for e in range(lanes):
                drag = k.impulse[o * directions + 1, e]
                mz[e] += k.G[o * directions + 1, 0, e] * drag
                fx[e] -= k.normal[1, o, e] * drag
                fy[e] += k.normal[0, o, e] * drag
                x.contact_force[1, o, e] = drag / dt
    for i in range(1, n):
        for e in range(lanes):
            x.momentum[i, e] += 2.0 * k.force[i, e]
        for a in range(loads):
            for e in range(lanes):
                x.momentum[i, e] += k.G[a, i, e] * k.impulse[a, e]
    for e in range(lanes):
        x_axis = fx[e] * c0[0, e] + fy[e] * s0[0, e]
        y_axis = fy[e] * c0[0, e] - fx[e] * s0[0, e]
        x.wrench[0, e] = mz[e] / dt
        x.wrench[1, e] = x_axis / dt
        x.wrench[2, e] = y_axis / dt
        x.wrench_sum[0, e] += mz[e]
        x.wrench_sum[1, e] += x_axis
        x.wrench_sum[2, e] += y_axis
        x.base_rate[e] += dt * x.drive[0, e]
        x.base[0, e] += k.move[0, e]
        x.base[1, e] += k.move[1, e]
        x.base_velocity[0, e] += dt * x.drive[1, e]
        x.base_velocity[1, e] += dt * x.drive[2, e]
        x.time[e] += dt
        x.span[e] += dt
        x.step[e] += 1.0
    for o in range(pegs):
        for e in range(lanes):
            x.peg[0, o, e] += k.peg_move[0, o, e]
            x.peg[1, o, e] += k.peg_move[1, o, e]
    for i in range(n):
        for e in range(lanes):
            s0[i, e] = k.s1[i, e]
            c0[i, e] = k.c1[i, e]
            x.status[e] = UNSOLVED if abs(delta[i, e]) > 1.5 else x.status[e]
            x.link_rate_before[i, e] = x.link_rate[i, e]
            x.link_rate[i, e] = delta[i, e] / dt
            x.link_angle[i, e] += delta[i, e]


@kernel
def _begin(x):
    """Zero the sums of a control period."""
    for e in range(x.time.shape[0]):
        x.span[e] = x.collision_energy[e] = 0.0
        for j in range(3):
            x.wrench_sum[j, e] = 0.0
        for o in range(x.peg_radius.shape[0]):
            x.contact_sum[o, e] = 0.0


@kernel
def complementarity(xs, ks, profile, steps, dt):
    """Take ``steps`` steps with contact closed at each step's end.

    Parameters
    ----------
    xs : (1,) record of ``state_dtype`` in lanes
        Changed in place. ``status`` becomes UNSOLVED where Newton's method does not converge.
    ks : (1,) record of ``work_dtype`` in lanes
    profile : (4, n) float
        Shares of the links: mass of the whole, centre over length of the link, stiffness and damping
        relative to the first free joint.
    steps : int
    dt : float, s
    """
    x = xs[0]
    k = ks[0]
    _begin(x)
    _prepare(x, k, profile, dt)
    for _ in range(steps):
        _find_contact(x, k)
        step(x, k, dt)


def _complementarity_rows(rows, ids, blocks, lanes, work, profile, steps, dt):
    width = lanes.shape[2]
    count = len(lanes)
    for t in prange(count):
        for first in range(t * width, len(ids), count * width):
            gather(rows, ids, first, lanes[t])
            complementarity(blocks[t : t + 1], work[t : t + 1], profile, steps, dt)
            scatter(lanes[t], rows, ids, first, 2, BROKEN)


COMPLEMENTARITY = batch_kernel(_complementarity_rows)


@kernel
def _least_gap(x, k):
    """Least gap (m) of the pegs that do not touch, each on the side where it is known to be; one lane."""
    n = x.link_angle.shape[0]
    least = 1e300
    for o in range(x.peg_radius.shape[0]):
        _nearest_link(x, k, o)
        radius, along, across = x.peg_radius[o, 0], k.ahead[0, 0], k.ahead[1, 0]
        free = _out_of_reach(x.contact_link[o, 0], along, k.length[0], n)
        if x.touch[o, 0] == 0.0 and not (radius == 0.0 and free):
            least = min(least, _signed_gap(radius, x.peg_side[o, 0], along, across, k.length[0], free))
    return least


@kernel
def _try_step(x, k, numbers, profile, dt):
    """Step from the kept state, letting only those pegs push that touch; give the least gap of the others."""
    for j in range(numbers.shape[0]):
        numbers[j, 0] = k.kept[j, 0]
    _prepare(x, k, profile, dt)
    _find_contact(x, k)
    for o in range(x.peg_radius.shape[0]):
        k.ready[o, 0] *= x.touch[o, 0]
    step(x, k, dt)
    return _least_gap(x, k)


@kernel
def _collide(x, k, profile, keep):
    """Stop or throw back the pegs that the hair meets: the momenta after a collision; one lane.

    Quist et al. (2014), Eqs. 19-23. The free links obey M v = p + G lambda. Of the collision energy
    v_n^2/(2 G M^-1 G^T) the share 1 - C.O.R. is lost, so that v_n reverses times ``keep``, the root of
    the C.O.R. The base moves on as it does; there is no friction in a collision.
    """
    n = x.link_angle.shape[0]
    pegs = x.peg_radius.shape[0]
    loads = k.G.shape[0]
    directions = loads // pegs
    _prepare(x, k, profile, INSTANT)
    _find_contact(x, k)
    for i in range(n):
        k.joint[i, 0] = k.bent[i, 0] = k.delta[i, 0] = 0.0
    k.delta[0, 0] = INSTANT * x.base_rate[0]
    k.move[0, 0] = INSTANT * x.base_velocity[0, 0]
    k.move[1, 0] = INSTANT * x.base_velocity[1, 0]
    k.open[0] = 1.0
    _turn(x, k)
    _factorise(x, k)
    _balance(x, k)
    for o in range(pegs):
        a = o * directions
        k.impulse[a, 0] = 0.0
        k.residual[a, 0] = (
            k.normal[0, o, 0] * (k.move[0, 0] - INSTANT * x.peg_velocity[0, o, 0])
            + k.normal[1, o, 0] * (k.move[1, 0] - INSTANT * x.peg_velocity[1, o, 0])
            + k.G[a, 0, 0] * k.delta[0, 0]
        )
        for i in range(1, n):
            k.residual[a, 0] += k.G[a, i, 0] * k.z[0, i, 0]
        _nearest_link(x, k, o)
        gap = math.sqrt(k.ahead[2, 0]) - x.peg_radius[o, 0]
        x.touch[o, 0] = 1.0 if k.ready[o, 0] != 0.0 and gap < 2.0 * GRAZE else 0.0
    for _ in range(SWEEPS if pegs > 1 else 1):
        for o in range(pegs):
            a = o * directions
            leaves = k.residual[a, 0]
            for b in range(pegs):
                if b != o:
                    leaves += k.D[a, b * directions, 0] * k.impulse[b * directions, 0]
            wanted = keep * max(-k.residual[a, 0], 0.0)
            k.impulse[a, 0] = x.touch[o, 0] * max((wanted - leaves) / k.D[a, a, 0], 0.0)
    mz = x.momentum[0, 0]
    fx = x.linear_momentum[0, 0] - k.u[0, 0] + k.carry[6, 0]
    fy = x.linear_momentum[1, 0] - k.u[1, 0] + k.carry[7, 0]
    gx, gy = k.carry[6, 0], k.carry[7, 0]
    for o in range(pegs):
        a = o * directions
        push = k.impulse[a, 0]
        after = k.residual[a, 0]
        for b in range(pegs):
            after += k.D[a, b * directions, 0] * k.impulse[b * directions, 0]
        x.collision_energy[0] -= 0.5 * push * (k.residual[a, 0] + after) / INSTANT
        x.contact_sum[o, 0] += push
        # What leaves and yet is back within the step bounces too briefly to be followed: it stays.
        stays = after <= INSTANT * REST or k.residual[a, 0] >= 0.0
        x.touch[o, 0] = 1.0 if x.touch[o, 0] != 0.0 and stays else 0.0
        gx += k.load[a, 0, 0] * push
        gy += k.load[a, 1, 0] * push
        mz += k.G[a, 0, 0] * push
        fx += k.load[a, 0, 0] * push + k.normal[0, o, 0] * push
        fy += k.load[a, 1, 0] * push + k.normal[1, o, 0] * push
        for i in range(1, n):
            x.momentum[i, 0] += k.G[a, i, 0] * push
            k.z[0, i, 0] += k.z[1 + a, i, 0] * push
    x.momentum[0, 0] = k.reaction[1, 0] + k.length[0] * (k.s[0, 0] * gx - k.c[0, 0] * gy)
    x.linear_momentum[0, 0] = k.u[0, 0] - gx
    x.linear_momentum[1, 0] = k.u[1, 0] - gy
    x.wrench_sum[0, 0] += mz - x.momentum[0, 0]
    x.wrench_sum[1, 0] += fx * k.c0[0, 0] + fy * k.s0[0, 0]
    x.wrench_sum[2, 0] += fy * k.c0[0, 0] - fx * k.s0[0, 0]
    for i in range(1, n):
        x.link_rate[i, 0] = x.link_rate_before[i, 0] = k.z[0, i, 0] / INSTANT


@kernel
def events(xs, ks, numbers, profile, steps, dt):
    """Take ``steps`` steps, each cut where the hair meets a peg, with restitution there; one lane.

    Quist et al. (2014), Figs. 2-4. A peg that touches after its collision pushes until its impulse
    would turn into a pull.

    Parameters
    ----------
    xs, ks, profile, steps, dt
        As for :func:`complementarity`.
    numbers : (K, 1) float
        The memory of ``xs``.
    """
    x = xs[0]
    k = ks[0]
    _begin(x)
    for _ in range(steps):
        left = dt
        for event in range(EVENTS):
            for j in range(numbers.shape[0]):
                k.kept[j, 0] = numbers[j, 0]
            _prepare(x, k, profile, left)
            low, high = 0.0, left
            before = _least_gap(x, k)
            after = _try_step(x, k, numbers, profile, left)
            if after > -GRAZE or event == EVENTS - 1:
                break
            # The first instant at which a gap closes, by regula falsi (Illinois).
            h = 0.0
            if before > GRAZE:
                f_low, f_high, last = before, after, 0.0
                for _ in range(60):
                    h = (low * f_high - high * f_low) / (f_high - f_low)
                    f = _try_step(x, k, numbers, profile, h)
                    if abs(f) < GRAZE or high - low < 1e-15:
                        break
                    if f > 0.0:
                        low, f_low = h, f
                        f_high *= 0.5 if last > 0.0 else 1.0
                    else:
                        high, f_high = h, f
                        f_low *= 0.5 if last < 0.0 else 1.0
                    last = f
            else:
                for j in range(numbers.shape[0]):
                    numbers[j, 0] = k.kept[j, 0]
            bounces = math.sqrt(x.restitution[0]) if event < BOUNCES else 0.0
            _collide(x, k, profile, bounces)
            left -= h


def _events_rows(rows, ids, blocks, lanes, work, profile, steps, dt):
    width = lanes.shape[2]
    count = len(lanes)
    for t in prange(count):
        for first in range(t * width, len(ids), count * width):
            gather(rows, ids, first, lanes[t])
            events(blocks[t : t + 1], work[t : t + 1], lanes[t], profile, steps, dt)
            scatter(lanes[t], rows, ids, first, 2, BROKEN)


LOCATED = batch_kernel(_events_rows)
