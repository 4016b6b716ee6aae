"""Mechanics of the whisker chain: records of one animal, and the variational integrator as kernels.

The chain has n rigid links of length L with headings phi_i and a point mass m_i at c_i along each link, joined by
springs k_i and dampers b_i (Quist et al., 2014). Link 1 is in the follicle and follows the drive; the rest are free.
The state consists of the headings and their conjugate momenta p_i. Each step solves the forced discrete
Euler-Lagrange equation of the midpoint rule for the next headings.

Kernels work on lanes (``core/kernels/lanes.py``): the last axis of every field is the animal. ``x`` is a block of
``state_dtype`` and ``k`` a block of ``work_dtype``; kernels write to their fields.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.kernels.jit import kernel
from ..core.kernels.lanes import batch_kernel, record
from ..core.kernels.maths import sincos, sincos_small

UNSOLVED, BROKEN = 1.0, 2.0
"""Status codes: the equations of a step were not solved; the state is not finite."""

PARAMETERS = ("length", "mass", "stiffness", "damping", "friction", "restitution", "stop_at_contact")
"""Parameters of a row with one number; ``rest_angle`` has one per joint."""

PASSES = 24
"""Largest number of Newton iterations in a step."""

TOLERANCE = 1e-6
"""Norm (rad) of the correction at which the Newton iteration ends."""

LARGEST_TURN = 1.5
"""Largest turn (rad) of a link in a step; larger turns count as unsolved."""

MISSED = 1e-4
"""Largest depth (m) of a peg behind the whisker; deeper pegs count as being on the other side."""

SWEEPS = 8
"""Gauss-Seidel sweeps over several pegs within one Newton iteration."""

GRAZE = 1e-12
"""Gap (m) that counts as closed when collisions are located."""

INSTANT = 1e-9
"""Duration (s) over which a collision's velocities are differenced; the result does not depend on it."""

REST = 1e-9
"""Speed (m/s) below which the whisker stays at the peg after a collision."""

EVENTS, BOUNCES = 50, 20
"""Largest number of collisions in one step, and of those with a bounce; later ones have no restitution."""


def state_dtype(n: int, pegs: int) -> np.dtype:
    """Return the record type of one whisker of ``n`` links and its ``pegs`` pegs."""
    return record(
        ("time", (), "s", ""),
        ("step", (), "1", "since reset"),
        ("status", (), "1", "0, UNSOLVED or BROKEN"),
        ("base base_velocity", 2, "m, m/s", "of link 1"),
        ("base_rate", (), "rad/s", "of link 1"),
        ("drive", 3, "rad/s^2, m/s^2", "angular acceleration and acceleration of the base"),
        ("link_angle", n, "rad", ""),
        ("link_rate link_rate_before", n, "rad/s", "mean over the last step, and over the one before"),
        ("momentum", n, "N m s", "conjugate to the headings"),
        ("linear_momentum", 2, "N s", ""),
        ("wrench", 3, "N m, N", "M, Fx, Fy on the follicle at the start of the last step, in the axes of link 1"),
        ("span", (), "s", "duration of the last ``advance``, as for all sums"),
        ("wrench_sum", 3, "N m s, N s", "of the wrench over time"),
        ("collision_energy", (), "J", "lost"),
        ("peg peg_velocity", (2, pegs), "m, m/s", "x; y"),
        ("peg_radius", pegs, "m", ""),
        ("peg_side", pegs, "1", "+1 if the peg is to the left of the whisker, -1 if to the right"),
        ("contact_force", (2, pegs), "N", "push; drag in the last step"),
        ("contact_sum", pegs, "N s", "of the push over time"),
        ("touch", pegs, "1", "1 if it pushed in the last step"),
        ("contact_link contact_place", pegs, "1, m", "touched link, and place along it"),
        ("stopped", (), "1", "1 if a contact has stopped the base"),
        ("step_length", (), "s", "of the last step"),
        ("base_velocity_mean base_velocity_before", 2, "m/s", "over the last step, and over the one before"),
        (" ".join(PARAMETERS), (), "m, kg, N m/rad, N m s/rad, 1 ...", "see `params.PHYSICAL`"),
        ("rest_angle", n - 1, "rad", "of each joint"),
    )


def work_dtype(n: int, pegs: int, directions: int) -> np.dtype:
    """Return the record type of the scratch space of a step of length dt.

    Each peg applies ``directions`` loads: push and drag (2) with friction, only the push (1) without. Loads are ordered
    by peg. Fields for the end of the step refer to the last Newton iteration.
    """
    loads = pegs * directions
    return record(
        ("length", (), "m", "of a link"),
        ("base_move", 2, "m", "motion of the base in the step"),
        ("peg_move", (2, pegs), "m", "motion of the pegs in the step"),
        ("base_force base_inertia", (), "N m s", "LQ and LV of link 1 before a correction"),
        ("solved_force solved_inertia", (), "N m s", "the same once solved"),
        ("solved_momentum", 2, "N s", "momentum of the chain, once solved"),
        ("follicle_moment", (), "N m s", "impulse of the moment on the follicle"),
        ("follicle_force", 2, "N s", "impulse of the force on the follicle, along world x and y"),
        # Running sums along the chain.
        ("joint_x joint_y", (), "m", "displacement of the current joint"),
        ("momentum_x momentum_y", (), "N s", "momentum of the links beyond the joint; at the end of all links"),
        ("before", (), "rad", "correction of the previous link"),
        ("outer_torque", (), "N m s", "impulse of the joint at a link's outer end"),
        # Elimination from tip to base: the links beyond a joint.
        ("beyond_xx beyond_xy beyond_yy", (), "kg/s", "effective mass for a displacement of the joint, /dt"),
        ("beyond_xw beyond_yw", (), "kg m/s", "coupling of that displacement with the turn of the previous link"),
        ("beyond_ww", (), "kg m^2/s", "resistance to that turn"),
        ("left_x left_y left_turn", (), "N s, N m s", "remaining residual of that displacement and turn"),
        ("load_x load_y load_turn", loads, "1, 1, m", "the same for a unit of each load"),
        # Contacts.
        ("normal", (2, pegs), "1", "direction of a push"),
        ("ready", pegs, "1", "1 if a peg can push"),
        ("along across square", (), "m, m, m^2", "place of a peg at its nearest link, and squared distance"),
        ("peg_x peg_y", (), "m", "position of a peg relative to the base of a link"),
        ("tangent", 2, "1", "direction of the touched link"),
        ("gap slip", (), "m", "gap and slip of a peg with the loads of the other pegs"),
        ("residual", loads, "m", "gap or slip at the end of the step without loads"),
        ("compliance", (loads, loads), "m/(N s)", "gap or slip per unit of each load"),
        ("impulse", loads, "N s", "impulse of each load"),
        ("error unsolved", (), "rad^2, 1", "squared correction of a Newton iteration; 1 if another one is needed"),
        # Constants of the step, by link or by the joint at its base.
        ("mass lever", n, "kg/s, m", "m/dt and c"),
        ("outer_mass", n, "kg/s", "mass at the outer end of a link by the lever rule, /dt"),
        ("spin", n, "kg m^2/s", "correction of the moment of inertia for the lever rule, /dt"),
        ("resistance", n, "N m s", "k dt/4 + b/2, resistance of a joint to a correction"),
        ("spring start_torque", n, "N m s", "k dt/2, and that times the bend of the joint at the start of the step"),
        # Motion of the links in the step.
        ("sin_start cos_start sin_end cos_end sin_middle cos_middle", n, "1", "of the headings"),
        ("turn", n, "rad", "change of the headings"),
        ("mass_momentum", (2, n), "N s", "momentum of the point masses"),
        ("discrete_force", n, "N m s", "LQ"),
        # Elimination of each link.
        ("pivot", n, "s/(kg m^2)", "inverse"),
        ("coupling arm", (2, n), "kg m/s, m", "momentum of links from here on and displacement of the end, per turn"),
        ("correction", (1 + loads, n), "rad", "of the turn, due to the residual and to a unit of each load"),
        ("gradient", (loads, n), "m", "derivatives of gaps and slips by the headings"),
        ("saved", state_dtype(n, pegs).itemsize // 8, "", "state before an event"),
    )


@kernel
def _scale(x, k, profile, dt):
    """Compute the constants of a step of length ``dt`` from the parameters of each lane."""
    n, lanes = x.link_angle.shape
    for e in range(lanes):
        k.length[e] = x.length[e] / n
    for i in range(n):
        for e in range(lanes):
            k.mass[i, e] = x.mass[e] * profile[0, i] / dt
            k.lever[i, e] = k.length[e] * profile[1, i]
            k.spring[i, e] = 0.5 * dt * x.stiffness[e] * profile[2, i]
            k.resistance[i, e] = 0.5 * (k.spring[i, e] + x.damping[e] * profile[3, i])
    for i in range(n):
        j = min(i + 1, n - 1)
        share = 1.0 - profile[1, j] if i < n - 1 else 0.0
        for e in range(lanes):
            k.outer_mass[i, e] = k.mass[i, e] * profile[1, i] + k.mass[j, e] * share
            k.spin[i, e] = -k.mass[i, e] * k.lever[i, e] * (k.length[e] - k.lever[i, e])


@kernel
def _direct(x, k):
    """Compute sine and cosine of the headings."""
    n, lanes = x.link_angle.shape
    angle = k.cos_start
    for i in range(n):
        for e in range(lanes):
            angle[i, e] = x.link_angle[i, e]
    for i in range(n):
        for e in range(lanes):
            k.sin_start[i, e], k.cos_start[i, e] = sincos(angle[i, e])


@kernel
def _prepare(x, k, profile, dt):
    """Prepare a step of length ``dt``."""
    _scale(x, k, profile, dt)
    _direct(x, k)


# Contacts at the start of a step.


@kernel
def _nearest_link(x, k, o):
    """Find the link nearest to peg ``o``, the place on it, and the distance; link 1 cannot be touched.

    Discs at the same position choose different links, so that together they can stop a whisker along a wall.
    """
    n, lanes = x.link_angle.shape
    along, across, nearest, px, py = k.along, k.across, k.square, k.peg_x, k.peg_y
    link, normal_x, normal_y = x.contact_link[o], k.normal[0, o], k.normal[1, o]
    for e in range(lanes):
        px[e] = x.peg[0, o, e] - x.base[0, e] - k.length[e] * k.cos_start[0, e]
        py[e] = x.peg[1, o, e] - x.base[1, e] - k.length[e] * k.sin_start[0, e]
        nearest[e] = 1e300
    for i in range(1, n):
        for e in range(lanes):
            t = px[e] * k.cos_start[i, e] + py[e] * k.sin_start[i, e]
            d = py[e] * k.cos_start[i, e] - px[e] * k.sin_start[i, e]
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
            normal_x[e] = -k.sin_start[i, e] if near else normal_x[e]
            normal_y[e] = k.cos_start[i, e] if near else normal_y[e]
            px[e] -= k.length[e] * k.cos_start[i, e]
            py[e] -= k.length[e] * k.sin_start[i, e]


@kernel
def _out_of_reach(link, along, length, n):
    """Return whether a peg is beyond the tip or before the first link that can be touched."""
    return ((link == n - 1) & (along > length)) | ((link == 1) & (along < 0.0))


@kernel
def _signed_gap(radius, side, along, across, length, free):
    """Return the gap (m) between a peg on a ``side`` of the whisker and its nearest link.

    The gap of a point is measured to the line through the link, that of a disc to the link itself. Points out of reach
    have no contact.
    """
    beyond = along - min(max(along, 0.0), length)
    distance = math.sqrt(beyond * beyond + across * across)
    distance = distance if (side * across >= 0.0) | free else -distance
    return side * across if radius == 0.0 else distance - radius


@kernel
def _find_contact(x, k):
    """Compute the direction of each peg's push at the start of the step, and its moment arm about each joint.

    A point pushes perpendicular to the link, even slightly past a node. A disc pushes away from its centre.
    """
    n, lanes = x.link_angle.shape
    pegs = x.peg_radius.shape[0]
    directions = k.gradient.shape[0] // pegs
    along, across = k.along, k.across
    for o in range(pegs):
        _nearest_link(x, k, o)
        normal_x, normal_y, link, place = k.normal[0, o], k.normal[1, o], x.contact_link[o], x.contact_place[o]
        for e in range(lanes):
            # A peg stays on its side of the whisker while it is within reach.
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
        for a in range(directions):
            gradient = k.gradient[o * directions + a]
            for i in range(n):
                for e in range(lanes):
                    arm = k.length[e] if i < link[e] else (place[e] if i == link[e] else 0.0)
                    push = normal_y[e] * k.cos_start[i, e] - normal_x[e] * k.sin_start[i, e]
                    drag = normal_x[e] * k.cos_start[i, e] + normal_y[e] * k.sin_start[i, e]
                    gradient[i, e] = arm * (push if a == 0 else drag)


# A Newton iteration.


@kernel
def _predict(x, k, dt):
    """Compute the motion of base and pegs in the step, and extrapolate the rates to guess the turns."""
    n, lanes = x.link_angle.shape
    for e in range(lanes):
        k.turn[0, e] = dt * (x.base_rate[e] + 0.5 * dt * x.drive[0, e])
        k.base_move[0, e] = dt * (x.base_velocity[0, e] + 0.5 * dt * x.drive[1, e])
        k.base_move[1, e] = dt * (x.base_velocity[1, e] + 0.5 * dt * x.drive[2, e])
        k.unsolved[e] = 1.0 if x.status[e] == 0.0 else 0.0
    for o in range(x.peg_radius.shape[0]):
        for e in range(lanes):
            k.peg_move[0, o, e] = dt * x.peg_velocity[0, o, e]
            k.peg_move[1, o, e] = dt * x.peg_velocity[1, o, e]
    for a in range(k.gradient.shape[0]):
        for e in range(lanes):
            k.impulse[a, e] = 0.0
    for i in range(1, n):
        for e in range(lanes):
            k.turn[i, e] = dt * (2.0 * x.link_rate[i, e] - x.link_rate_before[i, e])
            bend = x.link_angle[i, e] - x.link_angle[i - 1, e] - x.rest_angle[i - 1, e]
            k.start_torque[i, e] = k.spring[i, e] * bend


@kernel
def _turn_links(x, k):
    """Compute the headings at the middle and end of the step, and the momenta of the point masses."""
    n, lanes = x.link_angle.shape
    turn, ux, uy = k.turn, k.joint_x, k.joint_y
    for e in range(lanes):
        ux[e] = k.base_move[0, e]
        uy[e] = k.base_move[1, e]
    for i in range(n):
        for e in range(lanes):
            sh, ch = sincos_small(0.5 * turn[i, e])
            s = k.sin_start[i, e] * ch + k.cos_start[i, e] * sh
            c = k.cos_start[i, e] * ch - k.sin_start[i, e] * sh
            k.sin_middle[i, e] = s
            k.cos_middle[i, e] = c
            goes_on = k.unsolved[e] != 0.0
            k.sin_end[i, e] = s * ch + c * sh if goes_on else k.sin_end[i, e]
            k.cos_end[i, e] = c * ch - s * sh if goes_on else k.cos_end[i, e]
            dx = -s * turn[i, e]
            dy = c * turn[i, e]
            k.mass_momentum[0, i, e] = k.mass[i, e] * (ux[e] + k.lever[i, e] * dx)
            k.mass_momentum[1, i, e] = k.mass[i, e] * (uy[e] + k.lever[i, e] * dy)
            ux[e] += k.length[e] * dx
            uy[e] += k.length[e] * dy


@kernel
def _factorise(k):
    """Eliminate the headings from tip to base, and apply a unit of each contact load.

    The matrix of a Newton iteration is M/dt + dt/4 K + b/2. Mass, coupling and resistance represent all links beyond a
    joint.
    """
    n, lanes = k.pivot.shape
    xx, xy, yy, xw, yw, ww = k.beyond_xx, k.beyond_xy, k.beyond_yy, k.beyond_xw, k.beyond_yw, k.beyond_ww
    for e in range(lanes):
        xx[e] = xy[e] = yy[e] = xw[e] = yw[e] = ww[e] = 0.0
    for i in range(n - 1, 0, -1):
        for e in range(lanes):
            ax = -k.length[e] * k.sin_middle[i, e]
            ay = k.length[e] * k.cos_middle[i, e]
            joint = k.resistance[i, e]
            xx[e] += k.outer_mass[i, e]
            yy[e] += k.outer_mass[i, e]
            kx = xx[e] * ax + xy[e] * ay + xw[e]
            ky = xy[e] * ax + yy[e] * ay + yw[e]
            d = 1.0 / (ax * (kx + xw[e]) + ay * (ky + yw[e]) + ww[e] + k.spin[i, e] + joint)
            xx[e] -= kx * kx * d
            xy[e] -= kx * ky * d
            yy[e] -= ky * ky * d
            xw[e] = kx * joint * d
            yw[e] = ky * joint * d
            ww[e] = joint - joint * joint * d
            k.arm[0, i, e] = ax
            k.arm[1, i, e] = ay
            k.coupling[0, i, e] = kx
            k.coupling[1, i, e] = ky
            k.pivot[i, e] = d
    _respond(k)


@kernel
def _respond(k):
    """Compute the corrections due to a unit of each load, and the compliance of gaps and slips."""
    n, lanes = k.pivot.shape
    loads = k.gradient.shape[0]
    for a in range(loads):
        gx, gy, gw = k.load_x[a], k.load_y[a], k.load_turn[a]
        for e in range(lanes):
            gx[e] = gy[e] = gw[e] = 0.0
        for i in range(n - 1, 0, -1):
            for e in range(lanes):
                t = k.pivot[i, e] * (gw[e] + k.arm[0, i, e] * gx[e] + k.arm[1, i, e] * gy[e] + k.gradient[a, i, e])
                gx[e] -= k.coupling[0, i, e] * t
                gy[e] -= k.coupling[1, i, e] * t
                gw[e] = k.resistance[i, e] * t
                k.correction[1 + a, i, e] = t
        _substitute(k, 1 + a)
    for a in range(loads):
        for b in range(loads):
            for e in range(lanes):
                k.compliance[a, b, e] = 0.0
            for i in range(1, n):
                for e in range(lanes):
                    k.compliance[a, b, e] += k.gradient[a, i, e] * k.correction[1 + b, i, e]


@kernel
def _substitute(k, a):
    """Complete correction ``a`` of the headings from base to tip."""
    n, lanes = k.pivot.shape
    ux, uy, before = k.joint_x, k.joint_y, k.before
    for e in range(lanes):
        ux[e] = uy[e] = before[e] = 0.0
    for i in range(1, n):
        for e in range(lanes):
            pull = k.coupling[0, i, e] * ux[e] + k.coupling[1, i, e] * uy[e] - k.resistance[i, e] * before[e]
            w = k.correction[a, i, e] - k.pivot[i, e] * pull
            k.correction[a, i, e] = w
            before[e] = w
            ux[e] += k.arm[0, i, e] * w
            uy[e] += k.arm[1, i, e] * w


@kernel
def _balance(x, k):
    """Compute the residual p + LQ - LV without contact (Quist et al., 2014, Eqs. 6-9) and its correction."""
    n, lanes = x.link_angle.shape
    s, c, turn, ux, uy, outward = k.sin_middle, k.cos_middle, k.turn, k.momentum_x, k.momentum_y, k.outer_torque
    gx, gy, gw = k.left_x, k.left_y, k.left_turn
    for e in range(lanes):
        gx[e] = gy[e] = gw[e] = outward[e] = 0.0
        ux[e] = uy[e] = 0.0
    for i in range(n - 1, 0, -1):
        for e in range(lanes):
            pi_x = k.lever[i, e] * k.mass_momentum[0, i, e] + k.length[e] * ux[e]
            pi_y = k.lever[i, e] * k.mass_momentum[1, i, e] + k.length[e] * uy[e]
            ux[e] += k.mass_momentum[0, i, e]
            uy[e] += k.mass_momentum[1, i, e]
            tau = k.start_torque[i, e] + k.resistance[i, e] * (turn[i, e] - turn[i - 1, e])
            lq = outward[e] - tau - 0.5 * turn[i, e] * (c[i, e] * pi_x + s[i, e] * pi_y)
            lv = c[i, e] * pi_y - s[i, e] * pi_x
            outward[e] = tau
            k.discrete_force[i, e] = lq if k.unsolved[e] != 0.0 else k.discrete_force[i, e]
            r = x.momentum[i, e] + lq - lv
            t = k.pivot[i, e] * (gw[e] + k.arm[0, i, e] * gx[e] + k.arm[1, i, e] * gy[e] + r)
            gx[e] -= k.coupling[0, i, e] * t
            gy[e] -= k.coupling[1, i, e] * t
            gw[e] = k.resistance[i, e] * t
            k.correction[0, i, e] = t
    for e in range(lanes):
        pi_x = k.lever[0, e] * k.mass_momentum[0, 0, e] + k.length[e] * ux[e]
        pi_y = k.lever[0, e] * k.mass_momentum[1, 0, e] + k.length[e] * uy[e]
        k.base_force[e] = outward[e] - 0.5 * turn[0, e] * (c[0, e] * pi_x + s[0, e] * pi_y)
        k.base_inertia[e] = c[0, e] * pi_y - s[0, e] * pi_x
        ux[e] += k.mass_momentum[0, 0, e]
        uy[e] += k.mass_momentum[1, 0, e]
    _substitute(k, 0)


@kernel
def _predict_contact(x, k):
    """Predict gap at the end of the step and slip during it for each peg without loads, to first order."""
    n, lanes = x.link_angle.shape
    pegs = x.peg_radius.shape[0]
    loads = k.gradient.shape[0]
    directions = loads // pegs
    px, py, tx, ty, slip = k.peg_x, k.peg_y, k.tangent[0], k.tangent[1], k.slip
    for o in range(pegs):
        a = o * directions
        link = x.contact_link[o]
        for e in range(lanes):
            px[e] = x.peg[0, o, e] + k.peg_move[0, o, e] - x.base[0, e] - k.base_move[0, e]
            py[e] = x.peg[1, o, e] + k.peg_move[1, o, e] - x.base[1, e] - k.base_move[1, e]
            tx[e] = ty[e] = 0.0
            k.residual[a, e] = 0.0
        for i in range(n):
            for e in range(lanes):
                arm = k.length[e] if i < link[e] else 0.0
                here = 1.0 if i == link[e] else 0.0
                px[e] -= arm * k.cos_end[i, e]
                py[e] -= arm * k.sin_end[i, e]
                tx[e] += here * k.cos_end[i, e]
                ty[e] += here * k.sin_end[i, e]
        for e in range(lanes):
            along = tx[e] * px[e] + ty[e] * py[e]
            across = tx[e] * py[e] - ty[e] * px[e]
            # During the step a small disc slides along its link. At the end of a link and on a wall the place stays,
            # because on a wall the nearest place jumps from one end to the other as the link turns.
            place, radius = x.contact_place[o, e], x.peg_radius[o, e]
            kept = (radius > 0.0) & ((place == 0.0) | (place == k.length[e]) | (radius > k.length[e]))
            away = math.sqrt((along - place) * (along - place) + across * across)
            k.residual[a, e] = (away if kept else x.peg_side[o, e] * across) - radius
        if directions == 2:
            for e in range(lanes):
                dx = k.base_move[0, e] - k.peg_move[0, o, e]
                dy = k.base_move[1, e] - k.peg_move[1, o, e]
                slip[e] = k.normal[0, o, e] * dy - k.normal[1, o, e] * dx + k.gradient[a + 1, 0, e] * k.turn[0, e]
            for i in range(1, n):
                for e in range(lanes):
                    slip[e] += k.gradient[a + 1, i, e] * k.turn[i, e]
            for e in range(lanes):
                k.residual[a + 1, e] = slip[e]
    for a in range(loads):
        for i in range(1, n):
            for e in range(lanes):
                k.residual[a, e] += k.gradient[a, i, e] * k.correction[0, i, e]


@kernel
def _contact_impulse(x, k):
    """Compute the impulses of the pegs: no penetration at the end of the step, no pull, Coulomb friction."""
    lanes = x.time.shape[0]
    pegs = x.peg_radius.shape[0]
    loads = k.gradient.shape[0]
    directions = loads // pegs
    gap, slip, compliance = k.gap, k.slip, k.compliance
    _predict_contact(x, k)
    for _ in range(SWEEPS if pegs > 1 else 1):
        for o in range(pegs):
            a = o * directions
            for e in range(lanes):
                gap[e] = k.residual[a, e]
                slip[e] = k.residual[a + directions - 1, e]
            for b in range(loads):
                if b // directions != o:
                    for e in range(lanes):
                        gap[e] += compliance[a, b, e] * k.impulse[b, e]
                        slip[e] += compliance[a + directions - 1, b, e] * k.impulse[b, e]
            for e in range(lanes):
                push = -gap[e] / compliance[a, a, e]
                push = push if (push > 0.0) & (k.ready[o, e] != 0.0) else 0.0
                drag = 0.0
                if directions == 2:
                    nn, nt, tt = compliance[a, a, e], compliance[a, a + 1, e], compliance[a + 1, a + 1, e]
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
                    k.impulse[a + 1, e] = drag if k.unsolved[e] != 0.0 else k.impulse[a + 1, e]
                k.impulse[a, e] = push if k.unsolved[e] != 0.0 else k.impulse[a, e]


@kernel
def _correct(k):
    """Correct the turns and the balance of link 1 in the unsolved lanes."""
    n, lanes = k.pivot.shape
    loads = k.gradient.shape[0]
    before = k.before
    for e in range(lanes):
        k.error[e] = before[e] = 0.0
    for i in range(1, n):
        for a in range(loads):
            for e in range(lanes):
                k.correction[0, i, e] += k.correction[1 + a, i, e] * k.impulse[a, e]
        for e in range(lanes):
            w = k.correction[0, i, e] if k.unsolved[e] != 0.0 else 0.0
            tau = k.resistance[i, e] * (w - before[e])
            before[e] = w
            k.discrete_force[i - 1, e] += tau
            k.discrete_force[i, e] -= tau
            k.turn[i, e] += w
            s, c = k.sin_end[i, e], k.cos_end[i, e]
            k.sin_end[i, e] += w * (c - 0.5 * w * s)
            k.cos_end[i, e] -= w * (s + 0.5 * w * c)
            k.error[e] += w * w
    # Balance of the base at the corrected headings, whose derivative remains from the elimination.
    gx, gy, gw = k.left_x, k.left_y, k.left_turn
    for a in range(loads):
        for e in range(lanes):
            gx[e] += k.load_x[a, e] * k.impulse[a, e]
            gy[e] += k.load_y[a, e] * k.impulse[a, e]
            gw[e] += k.load_turn[a, e] * k.impulse[a, e]
    for e in range(lanes):
        lq = k.base_force[e] + gw[e]
        lv = k.base_inertia[e] + k.length[e] * (k.sin_middle[0, e] * gx[e] - k.cos_middle[0, e] * gy[e])
        goes_on = k.unsolved[e] != 0.0
        k.solved_force[e] = lq if goes_on else k.solved_force[e]
        k.solved_inertia[e] = lv if goes_on else k.solved_inertia[e]
        k.solved_momentum[0, e] = k.momentum_x[e] - gx[e] if goes_on else k.solved_momentum[0, e]
        k.solved_momentum[1, e] = k.momentum_y[e] - gy[e] if goes_on else k.solved_momentum[1, e]
        k.unsolved[e] = 0.0 if k.error[e] <= TOLERANCE * TOLERANCE else k.unsolved[e]  # NaN counts as unsolved


# After the Newton iteration.


@kernel
def _change_momenta(x, k, dt):
    """Compute momenta at the end of the step, forces of the pegs, and the impulse on the follicle."""
    n, lanes = x.link_angle.shape
    pegs = x.peg_radius.shape[0]
    loads = k.gradient.shape[0]
    directions = loads // pegs
    mz, fx, fy = k.follicle_moment, k.follicle_force[0], k.follicle_force[1]
    for e in range(lanes):
        x.status[e] = UNSOLVED if k.unsolved[e] != 0.0 else x.status[e]
        mz[e] = x.momentum[0, e] + k.solved_force[e] - k.solved_inertia[e]
        fx[e] = x.linear_momentum[0, e] - k.solved_momentum[0, e]
        fy[e] = x.linear_momentum[1, e] - k.solved_momentum[1, e]
        x.momentum[0, e] = k.solved_force[e] + k.solved_inertia[e]
        x.linear_momentum[0, e] = k.solved_momentum[0, e]
        x.linear_momentum[1, e] = k.solved_momentum[1, e]
    for o in range(pegs):
        for e in range(lanes):
            push = k.impulse[o * directions, e]
            mz[e] += k.gradient[o * directions, 0, e] * push
            fx[e] += k.normal[0, o, e] * push
            fy[e] += k.normal[1, o, e] * push
            x.contact_force[0, o, e] = push / dt
            x.contact_sum[o, e] += push
            x.touch[o, e] = 1.0 if push > 0.0 else 0.0
        if directions == 2:
            for e in range(lanes):
                drag = k.impulse[o * directions + 1, e]
                mz[e] += k.gradient[o * directions + 1, 0, e] * drag
                fx[e] -= k.normal[1, o, e] * drag
                fy[e] += k.normal[0, o, e] * drag
                x.contact_force[1, o, e] = drag / dt
    for i in range(1, n):
        for e in range(lanes):
            x.momentum[i, e] += 2.0 * k.discrete_force[i, e]
        for a in range(loads):
            for e in range(lanes):
                x.momentum[i, e] += k.gradient[a, i, e] * k.impulse[a, e]


@kernel
def _move_on(x, k, dt):
    """Compute the wrench on the follicle in the axes of link 1 at the step's start, and move on to its end."""
    n, lanes = x.link_angle.shape
    mz, fx, fy = k.follicle_moment, k.follicle_force[0], k.follicle_force[1]
    for e in range(lanes):
        x_axis = fx[e] * k.cos_start[0, e] + fy[e] * k.sin_start[0, e]
        y_axis = fy[e] * k.cos_start[0, e] - fx[e] * k.sin_start[0, e]
        x.wrench[0, e] = mz[e] / dt
        x.wrench[1, e] = x_axis / dt
        x.wrench[2, e] = y_axis / dt
        x.wrench_sum[0, e] += mz[e]
        x.wrench_sum[1, e] += x_axis
        x.wrench_sum[2, e] += y_axis
        x.step_length[e] = dt
        x.base_rate[e] += dt * x.drive[0, e]
        x.time[e] += dt
        x.span[e] += dt
        x.step[e] += 1.0
    for d in range(2):
        for e in range(lanes):
            x.base_velocity_before[d, e] = x.base_velocity_mean[d, e]
            x.base_velocity_mean[d, e] = k.base_move[d, e] / dt
            x.base[d, e] += k.base_move[d, e]
            x.base_velocity[d, e] += dt * x.drive[1 + d, e]
        for o in range(x.peg_radius.shape[0]):
            for e in range(lanes):
                x.peg[d, o, e] += k.peg_move[d, o, e]
    for i in range(n):
        for e in range(lanes):
            k.sin_start[i, e] = k.sin_end[i, e]
            k.cos_start[i, e] = k.cos_end[i, e]
            x.status[e] = UNSOLVED if abs(k.turn[i, e]) > LARGEST_TURN else x.status[e]
            x.link_rate_before[i, e] = x.link_rate[i, e]
            x.link_rate[i, e] = k.turn[i, e] / dt
            x.link_angle[i, e] += k.turn[i, e]


@kernel
def step(x, k, dt):
    """Take one step of the variational integrator, without penetration at its end for contacts that are ready.

    Quist et al. (2014), Eqs. 6-12: midpoint rule; each of the forces f+ and f- has half the impulse of a step. Contacts
    act at the start of the step, in the direction set by ``_find_contact``. ``status`` becomes UNSOLVED if Newton's
    method does not converge.
    """
    _predict(x, k, dt)
    for count in range(PASSES):
        _turn_links(x, k)
        if count != 1:  # the second iteration reuses the first matrix
            _factorise(k)
        _balance(x, k)
        _contact_impulse(x, k)
        _correct(k)
        left = 0.0
        for e in range(k.unsolved.shape[0]):
            left += k.unsolved[e]
        if left == 0.0:
            break
    _change_momenta(x, k, dt)
    _move_on(x, k, dt)


@kernel
def _stop_base(x, e):
    """Stop the base of a lane and clear its drive."""
    x.stopped[e] = 1.0
    x.base_rate[e] = x.base_velocity[0, e] = x.base_velocity[1, e] = 0.0
    x.drive[0, e] = x.drive[1, e] = x.drive[2, e] = 0.0


@kernel
def _begin(x):
    """Clear the sums of a control period, and the drive of stopped bases."""
    for e in range(x.time.shape[0]):
        x.span[e] = x.collision_energy[e] = 0.0
        if x.stopped[e] != 0.0:
            x.stopped[e] = 0.0
            if x.stop_at_contact[e] >= 0.5:
                _stop_base(x, e)
        for j in range(3):
            x.wrench_sum[j, e] = 0.0
        for o in range(x.peg_radius.shape[0]):
            x.contact_sum[o, e] = 0.0


@kernel
def prepare(xs, ks, dt, profile):
    """Compute constants from the parameters; the arguments are those of :func:`complementarity`."""
    _scale(xs[0], ks[0], profile, dt)


@kernel
def complementarity(xs, ks, steps, dt, profile):
    """Take ``steps`` steps of ``dt`` (s) with contacts closed at the end of each step; call :func:`prepare` first.

    Args:
        xs, ks ((1,) records of ``state_dtype`` and ``work_dtype`` in lanes)
        profile ((4, n) float): For each link: fraction of the mass, position of the mass in links, and stiffness and
            damping relative to the first free joint.
    """
    x = xs[0]
    k = ks[0]
    _begin(x)
    _direct(x, k)
    stops = False
    for e in range(x.time.shape[0]):
        stops |= x.stop_at_contact[e] >= 0.5
    for _ in range(steps):
        _find_contact(x, k)
        step(x, k, dt)
        if stops:
            for o in range(x.peg_radius.shape[0]):
                for e in range(x.time.shape[0]):
                    if x.touch[o, e] != 0.0 and x.stop_at_contact[e] >= 0.5:
                        _stop_base(x, e)


COMPLEMENTARITY = batch_kernel(complementarity, BROKEN, together=False, prepare=prepare)


# Collisions within a step; these kernels work on a single lane.


@kernel
def _least_gap(x, k):
    """Return the smallest gap (m) of the pegs without contact, each measured from its side of the whisker."""
    n = x.link_angle.shape[0]
    least = 1e300
    for o in range(x.peg_radius.shape[0]):
        _nearest_link(x, k, o)
        radius, along, across = x.peg_radius[o, 0], k.along[0], k.across[0]
        free = _out_of_reach(x.contact_link[o, 0], along, k.length[0], n)
        if x.touch[o, 0] == 0.0 and not (radius == 0.0 and free):
            least = min(least, _signed_gap(radius, x.peg_side[o, 0], along, across, k.length[0], free))
    return least


@kernel
def _try_step(x, k, profile, dt):
    """Step from the saved state with forces of touching pegs only; return the smallest gap of the remaining pegs."""
    for j in range(x.numbers.shape[0]):
        x.numbers[j, 0] = k.saved[j, 0]
    _prepare(x, k, profile, dt)
    _find_contact(x, k)
    for o in range(x.peg_radius.shape[0]):
        k.ready[o, 0] *= x.touch[o, 0]
    step(x, k, dt)
    return _least_gap(x, k)


@kernel
def _closing_time(x, k, profile, before, after, left):
    """Step from the saved state to the first time (s) at which a gap closes, found by regula falsi (Illinois).

    The smallest gap (m) is ``before`` now, and ``after`` (negative) after the remaining time ``left`` (s).
    """
    low, high = 0.0, left
    h, f_low, f_high, last = 0.0, before, after, 0.0
    for _ in range(60):
        h = (low * f_high - high * f_low) / (f_high - f_low)
        f = _try_step(x, k, profile, h)
        if abs(f) < GRAZE or high - low < 1e-15:
            break
        if f > 0.0:
            low, f_low = h, f
            f_high *= 0.5 if last > 0.0 else 1.0
        else:
            high, f_high = h, f
            f_low *= 0.5 if last < 0.0 else 1.0
        last = f
    return h


@kernel
def _approach(x, k, profile):
    """Compute the rates before a collision, the resulting changes of gaps (``residual``), and the touching pegs.

    The equations are those of a step of length ``INSTANT`` without springs and dampers.
    """
    n = x.link_angle.shape[0]
    pegs = x.peg_radius.shape[0]
    directions = k.gradient.shape[0] // pegs
    _prepare(x, k, profile, INSTANT)
    _find_contact(x, k)
    for i in range(n):
        k.resistance[i, 0] = k.start_torque[i, 0] = k.turn[i, 0] = 0.0
    k.turn[0, 0] = INSTANT * x.base_rate[0]
    k.base_move[0, 0] = INSTANT * x.base_velocity[0, 0]
    k.base_move[1, 0] = INSTANT * x.base_velocity[1, 0]
    k.unsolved[0] = 1.0
    _turn_links(x, k)
    _factorise(k)
    _balance(x, k)
    for o in range(pegs):
        a = o * directions
        k.impulse[a, 0] = 0.0
        k.residual[a, 0] = (
            k.normal[0, o, 0] * (k.base_move[0, 0] - INSTANT * x.peg_velocity[0, o, 0])
            + k.normal[1, o, 0] * (k.base_move[1, 0] - INSTANT * x.peg_velocity[1, o, 0])
            + k.gradient[a, 0, 0] * k.turn[0, 0]
        )
        for i in range(1, n):
            k.residual[a, 0] += k.gradient[a, i, 0] * k.correction[0, i, 0]
        _nearest_link(x, k, o)
        gap = math.sqrt(k.square[0]) - x.peg_radius[o, 0]
        x.touch[o, 0] = 1.0 if k.ready[o, 0] != 0.0 and gap < 2.0 * GRAZE else 0.0
    _find_contact(x, k)  # the search has replaced the directions of pushes


@kernel
def _collide(x, k, profile, keep):
    """Compute the momenta after a collision with pegs.

    Quist et al. (2014), Eqs. 19-23. The free links obey M v = p + G lambda. The fraction 1 - C.O.R. of the collision
    energy v_n^2/(2 G M^-1 G^T) is lost, so v_n becomes -``keep`` v_n, where ``keep`` is the square root of the C.O.R.
    """
    pegs = x.peg_radius.shape[0]
    directions = k.gradient.shape[0] // pegs
    _approach(x, k, profile)
    for _ in range(SWEEPS if pegs > 1 else 1):
        for o in range(pegs):
            a = o * directions
            leaves = k.residual[a, 0]
            for b in range(pegs):
                if b != o:
                    leaves += k.compliance[a, b * directions, 0] * k.impulse[b * directions, 0]
            wanted = keep * max(-k.residual[a, 0], 0.0)
            k.impulse[a, 0] = x.touch[o, 0] * max((wanted - leaves) / k.compliance[a, a, 0], 0.0)
    _throw_back(x, k)


@kernel
def _throw_back(x, k):
    """Apply the impulses of a collision to momenta, rates, collision energy, and wrench on the follicle."""
    n = x.link_angle.shape[0]
    pegs = x.peg_radius.shape[0]
    directions = k.gradient.shape[0] // pegs
    mz = x.momentum[0, 0]
    fx = x.linear_momentum[0, 0] - k.momentum_x[0] + k.left_x[0]
    fy = x.linear_momentum[1, 0] - k.momentum_y[0] + k.left_y[0]
    gx, gy = k.left_x[0], k.left_y[0]
    for o in range(pegs):
        a = o * directions
        push = k.impulse[a, 0]
        after = k.residual[a, 0]
        for b in range(pegs):
            after += k.compliance[a, b * directions, 0] * k.impulse[b * directions, 0]
        x.collision_energy[0] -= 0.5 * push * (k.residual[a, 0] + after) / INSTANT
        x.contact_sum[o, 0] += push
        # A bounce that returns within the step is too short to follow: the contact remains.
        stays = after <= INSTANT * REST or k.residual[a, 0] >= 0.0
        x.touch[o, 0] = 1.0 if x.touch[o, 0] != 0.0 and stays else 0.0
        gx += k.load_x[a, 0] * push
        gy += k.load_y[a, 0] * push
        mz += k.gradient[a, 0, 0] * push
        fx += k.load_x[a, 0] * push + k.normal[0, o, 0] * push
        fy += k.load_y[a, 0] * push + k.normal[1, o, 0] * push
        for i in range(1, n):
            x.momentum[i, 0] += k.gradient[a, i, 0] * push
            k.correction[0, i, 0] += k.correction[1 + a, i, 0] * push
    x.momentum[0, 0] = k.base_inertia[0] + k.length[0] * (k.sin_middle[0, 0] * gx - k.cos_middle[0, 0] * gy)
    x.linear_momentum[0, 0] = k.momentum_x[0] - gx
    x.linear_momentum[1, 0] = k.momentum_y[0] - gy
    x.wrench_sum[0, 0] += mz - x.momentum[0, 0]
    x.wrench_sum[1, 0] += fx * k.cos_start[0, 0] + fy * k.sin_start[0, 0]
    x.wrench_sum[2, 0] += fy * k.cos_start[0, 0] - fx * k.sin_start[0, 0]
    for i in range(1, n):
        x.link_rate[i, 0] = x.link_rate_before[i, 0] = k.correction[0, i, 0] / INSTANT


@kernel
def events(xs, ks, steps, dt, profile):
    """Take ``steps`` steps in one lane, each divided at collisions, which are resolved with restitution.

    Quist et al. (2014), Figs. 2-4. A peg that still touches after its collision pushes until its impulse would become
    a pull. Arguments are those of :func:`complementarity`.
    """
    x = xs[0]
    k = ks[0]
    _begin(x)
    for _ in range(steps):
        left = dt
        for event in range(EVENTS):
            for j in range(x.numbers.shape[0]):
                k.saved[j, 0] = x.numbers[j, 0]
            _prepare(x, k, profile, left)
            before = _least_gap(x, k)
            after = _try_step(x, k, profile, left)
            if after > -GRAZE or event == EVENTS - 1:
                break
            h = 0.0
            if before > GRAZE:
                h = _closing_time(x, k, profile, before, after, left)
            else:
                for j in range(x.numbers.shape[0]):
                    x.numbers[j, 0] = k.saved[j, 0]
            if x.stop_at_contact[0] >= 0.5:  # the links retain their momenta
                _stop_base(x, 0)
            bounces = math.sqrt(x.restitution[0]) if event < BOUNCES else 0.0
            _collide(x, k, profile, bounces)
            left -= h


LOCATED = batch_kernel(events, BROKEN, together=False)
