"""Solver of the paper: the three-stage Radau IIA method of order 5 with a fixed step, as a kernel over lanes.

Oladazimi, Putelat et al. (2021) integrate the differential-algebraic equations of index 2 with RADAU5 of Hairer and
Wanner (1996). Here the step is fixed and the number of Newton iterations is limited. If they do not converge, the
step of that lane is divided, see `_divided`. As in ``body.midpoint`` the plate can push but not pull. In contact, the
normal velocity of the tip is constrained (Eq. 12 differentiated once).

The unknowns are the accelerations of the segments at the three stages. Newton's matrix uses the directions of the
segments in the middle of the step in all iterations. In the basis of the eigenvectors of the coefficients it separates
into a real and a complex system of the size of the rod. Both are eliminated from tip to base in O(N), as in
``body.midpoint``. The remaining unknowns are the forces on the tip at the stages, which depend on three friction
coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.kernels.jit import kernel
from ..core.kernels.lanes import batch_kernel, one_pass, record
from ..core.kernels.maths import asinh, exp, log, sincos
from .body import (
    BROKEN,
    SAMPLES,
    TURN,
    WILD,
    accept,
    attempt,
    check_model,
    clear_impulses,
    clear_means,
    direct,
    follow_bands,
    keep_forces,
    move_plate,
    scale,
    segments,
    surface,
    take_means,
    tune_bands,
    work_dtype,
)

NODES = np.array([0.15505102572168219018, 0.64494897427831780982, 1.0])
"""Times of the stages, in steps."""

COEFFICIENTS = np.array(
    [
        [0.19681547722366042587, -0.065535425850198388109, 0.023770974348220152420],
        [0.39442431473908727700, 0.29207341166522846302, -0.041548752125997930198],
        [0.37640306270046727505, 0.51248582618842161384, 0.11111111111111111111],
    ]
)
"""Coefficients of the method; the last row is also the weights."""

SQUARED = np.array(
    [
        [0.021835034190722739673, -0.019857254098612274616, 0.010042630196562411016],
        [0.17719058743194560795, 0.038164965809277260327, -0.0073759635298957443491],
        [0.31804138174397716939, 0.18195861825602283061, 0.0],
    ]
)
"""Matrix square of the coefficients."""

EIGENVALUES = np.array([0.27488882959567736775, 0.16255558520216131613 + 0.18494932440714078428j])
"""Eigenvalues of the coefficients; the third is the conjugate of the second."""

VECTORS = np.array(
    [
        [0.09443876248897524149, -0.1412552950209542084 - 0.03002919410514742449j],
        [0.2502131229653333114, 0.204129352293799932 + 0.3829421127572619378j],
        [1.0, 1.0],
    ]
)
"""Eigenvectors of the coefficients, in columns."""

INVERSE = np.array(
    [
        [4.178718591551904727, 0.3276828207610623871, 0.523376445499449548],
        [
            -2.089359295775952364 + 0.251436317472893438j,
            -0.1638414103805311935 - 1.285963474927802715j,
            0.238311777250275226 + 0.2980196024141124625j,
        ],
    ],
    dtype=np.complex128,
)
"""Inverse of the matrix of the eigenvectors, without the conjugate row."""

SHARES = np.array([1.0, 2.0])
"""Weights of the systems; the complex one counts twice, because it also represents its conjugate."""

ITERATIONS = 12
"""Largest number of Newton iterations."""

LAG = 1e-6
"""Largest distance (m) by which the tip lags behind a plate within a step, after a jump of the plate's velocity."""

LARGEST_IMPACT = 16
"""Largest part of a step, in 1/256, in which the tip may land on the plate."""

UNSOLVED = 16
"""Number of unsolved parts in a call after which Newton's iteration is not tried again, because it is expensive."""

BUDGET = 32
"""Number of parts per step, averaged over a call, above which a lane is WILD; the tasks' whiskers need up to 16."""

LEAP = 4.0
"""Largest change of mu/a in one iteration."""

TURN_LEFT, LEVEL_LEFT = 1e-10, 1e-7
"""Largest change of an angle (rad) and of mu/a in the last Newton iteration; the next one would be a tenth of it."""


def published_work(n: int) -> np.dtype:
    """Return the record type of the scratch space of :func:`published`.

    Fields of each segment come first, then those of `body.midpoint`, then those of the whisker. Axes of length 2 are
    the real and the complex system of Newton's matrix, and real and imaginary part.
    """
    body: Mapping[str, Any] = work_dtype(n).fields or {}
    return record(
        ("acceleration", (3, n), "rad/s^2", "of the segments at the stages"),
        ("missing", (3, n), "N m", "residual torque of the segments at the stages"),
        ("vector", (2, n), "m", "vector of a segment at a stage"),
        ("node_force", (2, n), "N", "force that accelerates and damps its outer node"),
        ("inverse", (2, 2, n), "1/(kg m^2)", "inverse pivot of Newton's matrix"),
        ("column", (2, 2, 2, n), "kg m", "column of the node (x, y)"),
        ("response", (2, 2, n), "kg m^2", "response of the joint"),
        ("per_force", (2, 2, 2, n), "1/(kg m)", "accelerations per force on the tip (x, y)"),
        ("solution", (2, 2, n), "rad/s^2", ""),
        *[(name, field[0].shape, "", "of `body.midpoint`") for name, field in body.items()],
        ("compliance", (3, 3, 3), "s/kg", "velocity of the tip at a stage per force on it at a stage (xx, xy, yy)"),
        ("tip_change", (3, 2), "m/s, N", "change of the tip's velocity by the rod; later of the force on the tip"),
        ("stage_tip stage_velocity", (3, 2), "m, m/s", "tip at a stage"),
        ("base", (3, 3), "N m, N", "wrench on the base at a stage"),
        ("peak", (), "m", "largest y of an inner node"),
        # Contact at the stages.
        ("force", 3, "N", "along the normal"),
        ("stage_level stage_slope stage_slip stage_state", 3, "1, 1, m/s, 1", "mu/a; of relief; speed; of friction"),
        ("closing bound", (), "m/s", "normal speed of tip relative to plate before the step, and its goal after it"),
        ("change", (), "1", "largest change in an iteration, in units of the tolerance"),
        ("failed", (), "1", "1 if a step is not solved"),
        ("parts unsolved", (), "1", "parts tried in this call, and unsolved parts of 1/16"),
        # Equations of the friction; see `_touch`.
        ("table along", (3, 7), "", ""),
        ("normal", (3, 4), "", ""),
        ("slip_slope", (3, 3), "", ""),
        # Running values along the rod.
        ("before", 2, "rad, rad/s", "angle and rate of the segment before"),
        ("node", 6, "m, m/s, m/s^2", "motion of the outer node; later the force on the rod beyond"),
        ("form", (2, 16), "", "real; imaginary"),
    )


@kernel
def _factor(x, k, dt):
    """Eliminate the rod from tip to base in both systems with two unit forces on the tip, as in `body._eliminate`."""
    n, lanes = x.segment_angle.shape
    once = one_pass(dt)
    for i in range(3):
        for j in range(3):
            for m in range(3):
                for e in range(lanes):
                    k.compliance[i, j, m, e] = 0.0
    for q in range(2):
        mu = dt * EIGENVALUES[q]
        for m in range(16):
            for e in range(lanes):
                k.form[0, m, e] = k.form[1, m, e] = 0.0
        for e in range(lanes):
            k.form[0, 6, e] = k.form[0, 9, e] = 1.0
        for i in range(n - 1, -1, -1):
            for _ in range(once):
                for e in range(lanes):
                    damped = 1.0 + mu * x.external_damping[e]
                    inertia = damped * k.inertia[i, e]
                    response = mu * (k.viscosity[i, e] + mu * k.stiffness[i, e])
                    h = k.segment_length[i, e]
                    ax = -h * x.sine[i, e]
                    ay = h * x.cosine[i, e]
                    mass = damped * k.node_mass[i, e]
                    mass_xx = complex(k.form[0, 0, e], k.form[1, 0, e]) + mass
                    mass_xy = complex(k.form[0, 1, e], k.form[1, 1, e])
                    mass_yy = complex(k.form[0, 2, e], k.form[1, 2, e]) + mass
                    px = complex(k.form[0, 3, e], k.form[1, 3, e])
                    py = complex(k.form[0, 4, e], k.form[1, 4, e])
                    mass_ww = complex(k.form[0, 5, e], k.form[1, 5, e])
                    unit_xx = complex(k.form[0, 6, e], k.form[1, 6, e])
                    unit_yx = complex(k.form[0, 7, e], k.form[1, 7, e])
                    unit_xy = complex(k.form[0, 8, e], k.form[1, 8, e])
                    unit_yy = complex(k.form[0, 9, e], k.form[1, 9, e])
                    unit_wx = complex(k.form[0, 10, e], k.form[1, 10, e])
                    unit_wy = complex(k.form[0, 11, e], k.form[1, 11, e])
                    kx = mass_xx * ax + mass_xy * ay + px
                    ky = mass_xy * ax + mass_yy * ay + py
                    d = ax * (kx + px) + ay * (ky + py) + mass_ww + inertia + response
                    size = 1.0 / (d.real * d.real + d.imag * d.imag)
                    inverse = complex(d.real * size, -d.imag * size)
                    # Accelerations per unit forces.
                    loaded_x = unit_wx + ax * unit_xx + ay * unit_yx
                    loaded_y = unit_wy + ax * unit_xy + ay * unit_yy
                    wx = loaded_x * inverse
                    wy = loaded_y * inverse
                    _add(k.form, 12, e, mu * wx * loaded_x)
                    _add(k.form, 13, e, mu * wx * loaded_y)
                    _add(k.form, 14, e, mu * wy * loaded_y)
                    # Remaining form beyond the inner node.
                    by_x = kx * inverse
                    by_y = ky * inverse
                    by_rate = response * inverse
                    _put(k.form, 0, e, mass_xx - kx * by_x)
                    _put(k.form, 1, e, mass_xy - kx * by_y)
                    _put(k.form, 2, e, mass_yy - ky * by_y)
                    _put(k.form, 3, e, kx * by_rate)
                    _put(k.form, 4, e, ky * by_rate)
                    _put(k.form, 5, e, response - response * by_rate)
                    _put(k.form, 6, e, unit_xx - kx * wx)
                    _put(k.form, 7, e, unit_yx - ky * wx)
                    _put(k.form, 8, e, unit_xy - kx * wy)
                    _put(k.form, 9, e, unit_yy - ky * wy)
                    _put(k.form, 10, e, response * wx)
                    _put(k.form, 11, e, response * wy)
                    _put(k.inverse[q], i, e, inverse)
                    _put(k.column[q, 0], i, e, kx)
                    _put(k.column[q, 1], i, e, ky)
                    _put(k.response[q], i, e, response)
                    _put(k.per_force[q, 0], i, e, wx)
                    _put(k.per_force[q, 1], i, e, wy)
        for i in range(3):
            for j in range(3):
                part = SHARES[q] * VECTORS[i, q] * INVERSE[q, j]
                for m in range(3):
                    for e in range(lanes):
                        k.compliance[i, j, m, e] += part.real * k.form[0, 12 + m, e] - part.imag * k.form[1, 12 + m, e]


@kernel
def _put(field, i, e, value):
    """Write a complex number."""
    field[0, i, e] = value.real
    field[1, i, e] = value.imag


@kernel
def _add(field, i, e, value):
    """Add a complex number."""
    field[0, i, e] += value.real
    field[1, i, e] += value.imag


@kernel
def _balance(x, k, dt, stage):
    """Move the rod to a stage, and compute the residual torques, its tip, and the wrench on its base."""
    n, lanes = x.segment_angle.shape
    once = one_pass(dt)
    a, b = COEFFICIENTS[stage], SQUARED[stage]
    c, square = dt * NODES[stage], dt * dt
    acceleration, missing, node = k.acceleration, k.missing, k.node
    for m in range(6):
        for e in range(lanes):
            node[m, e] = 0.0
    for e in range(lanes):
        k.before[0, e] = x.base_angle[e] + c * x.base_rate[e]
        k.before[1, e] = x.base_rate[e]
        k.peak[e] = -1.0
    for i in range(n):
        for e in range(lanes):
            a0, a1, a2 = acceleration[0, i, e], acceleration[1, i, e], acceleration[2, i, e]
            alpha = acceleration[stage, i, e]
            rate = x.segment_rate[i, e] + dt * (a[0] * a0 + a[1] * a1 + a[2] * a2)
            start = x.segment_angle[i, e] + c * x.segment_rate[i, e]
            angle = start + square * (b[0] * a0 + b[1] * a1 + b[2] * a2)
            deflection = angle - k.before[0, e] - k.rest_angle[i, e]
            torque = k.stiffness[i, e] * deflection + k.viscosity[i, e] * (rate - k.before[1, e])
            k.before[0, e] = angle
            k.before[1, e] = rate
            s, cosine = sincos(angle)
            hx = k.segment_length[i, e] * cosine
            hy = k.segment_length[i, e] * s
            k.peak[e] = node[1, e] if node[1, e] > k.peak[e] else k.peak[e]
            node[0, e] += hx
            node[1, e] += hy
            node[2, e] -= hy * rate
            node[3, e] += hx * rate
            node[4, e] -= hy * alpha + hx * rate * rate
            node[5, e] += hx * alpha - hy * rate * rate
            drag = x.external_damping[e]
            k.node_force[0, i, e] = k.node_mass[i, e] * (node[4, e] + drag * node[2, e])
            k.node_force[1, i, e] = k.node_mass[i, e] * (node[5, e] + drag * node[3, e])
            k.vector[0, i, e] = hx
            k.vector[1, i, e] = hy
            missing[stage, i, e] = -torque - k.inertia[i, e] * (alpha + drag * rate)
            if i > 0:
                missing[stage, i - 1, e] += torque
            else:
                k.base[stage, 0, e] = torque
    for e in range(lanes):
        mu = x.rate_strength[e] * k.stage_level[stage, e]
        k.stage_tip[stage, 0, e] = node[0, e]
        k.stage_tip[stage, 1, e] = node[1, e]
        k.stage_velocity[stage, 0, e] = node[2, e]
        k.stage_velocity[stage, 1, e] = node[3, e]
        # Force on the rod beyond, minus that of the plate.
        node[0, e] = -k.force[stage, e] * (k.stage_slope[stage, e] + mu)
        node[1, e] = -k.force[stage, e] * (mu * k.stage_slope[stage, e] - 1.0)
    for i in range(n - 1, -1, -1):
        for _ in range(once):
            for e in range(lanes):
                node[0, e] += k.node_force[0, i, e]
                node[1, e] += k.node_force[1, i, e]
                missing[stage, i, e] += k.vector[1, i, e] * node[0, e] - k.vector[0, i, e] * node[1, e]
    for e in range(lanes):
        k.base[stage, 1, e] = -node[0, e]
        k.base[stage, 2, e] = -node[1, e]


@kernel
def _balance_all(x, k, dt):
    """Move the rod to its three stages, without a loop, because LLVM only vectorises code for a constant stage."""
    _balance(x, k, dt, 0)
    _balance(x, k, dt, 1)
    _balance(x, k, dt, 2)


@kernel
def _reduce(x, k, dt):
    """Eliminate the residual torques from tip to base, and compute the changes of the tip's velocity at the stages."""
    n, lanes = x.segment_angle.shape
    once = one_pass(dt)
    for i in range(3):
        for e in range(lanes):
            k.tip_change[i, 0, e] = k.tip_change[i, 1, e] = 0.0
    for q in range(2):
        mu = dt * EIGENVALUES[q]
        t0, t1, t2 = INVERSE[q, 0], INVERSE[q, 1], INVERSE[q, 2]
        for m in range(5):
            for e in range(lanes):
                k.form[0, m, e] = k.form[1, m, e] = 0.0
        for i in range(n - 1, -1, -1):
            for _ in range(once):
                for e in range(lanes):
                    ax = -k.segment_length[i, e] * x.sine[i, e]
                    ay = k.segment_length[i, e] * x.cosine[i, e]
                    load_x = complex(k.form[0, 0, e], k.form[1, 0, e])
                    load_y = complex(k.form[0, 1, e], k.form[1, 1, e])
                    load_w = complex(k.form[0, 2, e], k.form[1, 2, e])
                    own = t0 * k.missing[0, i, e] + t1 * k.missing[1, i, e] + t2 * k.missing[2, i, e]
                    load = load_w + ax * load_x + ay * load_y + own
                    w = load * complex(k.inverse[q, 0, i, e], k.inverse[q, 1, i, e])
                    _put(k.form, 0, e, load_x - w * complex(k.column[q, 0, 0, i, e], k.column[q, 0, 1, i, e]))
                    _put(k.form, 1, e, load_y - w * complex(k.column[q, 1, 0, i, e], k.column[q, 1, 1, i, e]))
                    _put(k.form, 2, e, w * complex(k.response[q, 0, i, e], k.response[q, 1, i, e]))
                    _add(k.form, 3, e, load * complex(k.per_force[q, 0, 0, i, e], k.per_force[q, 0, 1, i, e]))
                    _add(k.form, 4, e, load * complex(k.per_force[q, 1, 0, i, e], k.per_force[q, 1, 1, i, e]))
                    _put(k.solution[q], i, e, w)
        for i in range(3):
            part = SHARES[q] * mu * VECTORS[i, q]
            for m in range(2):
                for e in range(lanes):
                    k.tip_change[i, m, e] += part.real * k.form[0, 3 + m, e] - part.imag * k.form[1, 3 + m, e]


@kernel
def _eliminate(table, first, last, e):
    """Solve three equations, columns 0 to 2 of ``table`` (3, 7, lanes), for its columns ``first`` to ``last``."""
    for i in range(3):
        inverse = 1.0 / table[i, i, e]
        for m in range(i + 1, 3):
            factor = table[m, i, e] * inverse
            for j in range(i + 1, 3):
                table[m, j, e] -= factor * table[i, j, e]
            for j in range(first, last + 1):
                table[m, j, e] -= factor * table[i, j, e]
    for i in range(2, -1, -1):
        inverse = 1.0 / table[i, i, e]
        for j in range(first, last + 1):
            value = table[i, j, e]
            for m in range(i + 1, 3):
                value -= table[i, m, e] * table[m, j, e]
            table[i, j, e] = value * inverse


@kernel
def _touch(x, k, e, dt):
    """Change the forces of the plate on the tip in one lane, by a Newton step in the friction at the three stages.

    The unknowns are the changes of mu/a. The normal forces are eliminated by the condition that the tip stays on the
    plate, and the friction states by Eq. 13. The changes of the force on the tip are written to ``tip_change``.
    """
    a = x.rate_strength[e]
    ratio = x.state_strength[e] / a
    way = dt / x.memory_length[e]
    table, along, slip, state = k.table, k.along, k.stage_slip, k.stage_state
    # Normal forces: derivatives of the tip's normal and tangential velocity by normal force and level.
    for i in range(3):
        tilt = k.stage_slope[i, e]
        for j in range(3):
            mu = a * k.stage_level[j, e]
            xx, xy, yy = k.compliance[i, j, 0, e], k.compliance[i, j, 1, e], k.compliance[i, j, 2, e]
            push_x, push_y = k.stage_slope[j, e] + mu, mu * k.stage_slope[j, e] - 1.0
            drag_x, drag_y = a * k.force[j, e], a * k.force[j, e] * k.stage_slope[j, e]
            along[i, j, e] = xx * push_x + xy * push_y
            along[i, 3 + j, e] = xx * drag_x + xy * drag_y
            table[i, j, e] = xy * push_x + yy * push_y - tilt * along[i, j, e]
            table[i, 3 + j, e] = xy * drag_x + yy * drag_y - tilt * along[i, 3 + j, e]
        along[i, 6, e] = k.stage_velocity[i, 0, e] + k.tip_change[i, 0, e]
        velocity_y = k.stage_velocity[i, 1, e] + k.tip_change[i, 1, e]
        # The normal velocity changes linearly to its goal: a jump within the step would pull at the second stage.
        wanted = k.closing[e] + NODES[i] * (k.bound[e] - k.closing[e])
        wanted += x.plate_velocity[1, e] - tilt * x.plate_velocity[0, e]
        table[i, 6, e] = wanted - (velocity_y - tilt * along[i, 6, e])
    _eliminate(table, 3, 6, e)
    # Slip speeds, and their derivatives by the levels.
    for i in range(3):
        stretch = math.sqrt(1.0 + k.stage_slope[i, e] * k.stage_slope[i, e])
        velocity = along[i, 6, e]
        for m in range(3):
            velocity += along[i, m, e] * table[m, 6, e]
        slip[i, e] = stretch * (x.plate_velocity[0, e] - velocity)
        for j in range(3):
            slope = along[i, 3 + j, e]
            for m in range(3):
                slope -= along[i, m, e] * table[m, 3 + j, e]
            k.slip_slope[i, j, e] = -stretch * slope
    for i in range(3):
        for j in range(4):
            k.normal[i, j, e] = table[i, 3 + j, e]
    # Friction state.
    for i in range(3):
        for j in range(3):
            table[i, j, e] = way * COEFFICIENTS[i, j] * abs(slip[j, e]) + (1.0 if i == j else 0.0)
            table[i, 3 + j, e] = 1.0 if i == j else 0.0
    _eliminate(table, 3, 5, e)
    for i in range(3):
        value = 0.0
        for j in range(3):
            fresh = way * x.reference_speed[e] * NODES[j]
            value += table[i, 3 + j, e] * (x.friction_state[e] + fresh)
        state[i, e] = value
    for i in range(3):
        for j in range(3):
            slope = 0.0
            for m in range(3):
                slope += table[i, 3 + m, e] * COEFFICIENTS[m, j]
            slope *= -way * state[j, e]
            along[i, j, e] = slope if slip[j, e] > 0.0 else -slope
    # Levels.
    for i in range(3):
        value = max(state[i, e], 1e-30)
        strength = k.gain[e] * exp(ratio * log(value))
        product = strength * slip[i, e]
        flat = strength / math.sqrt(1.0 + product * product)
        for j in range(3):
            by_state = 0.0
            for m in range(3):
                by_state += along[i, m, e] * k.slip_slope[m, j, e]
            slope = flat * (k.slip_slope[i, j, e] + ratio * slip[i, e] / value * by_state)
            table[i, j, e] = (1.0 if i == j else 0.0) - slope
        table[i, 3, e] = asinh(product) - k.stage_level[i, e]
    _eliminate(table, 3, 3, e)
    largest = 0.0
    for i in range(3):
        largest = max(largest, abs(table[i, 3, e]))
    share = 1.0 if largest < LEAP else LEAP / largest
    for i in range(3):
        table[i, 3, e] *= share
    for i in range(3):
        mu = a * k.stage_level[i, e]
        level = table[i, 3, e]
        force = k.normal[i, 3, e]
        for j in range(3):
            force -= k.normal[i, j, e] * table[j, 3, e]
        tilt, drag = k.stage_slope[i, e], level * a * k.force[i, e]
        k.tip_change[i, 0, e] = force * (tilt + mu) + drag
        k.tip_change[i, 1, e] = force * (mu * tilt - 1.0) + drag * tilt
    for i in range(3):
        force = k.normal[i, 3, e]
        for j in range(3):
            force -= k.normal[i, j, e] * table[j, 3, e]
        k.force[i, e] += force
        k.stage_level[i, e] += table[i, 3, e]
    k.change[e] = largest / LEVEL_LEFT


@kernel
def _solve(x, k, dt):
    """Change the accelerations from base to tip, given the changes of the force on the tip."""
    n, lanes = x.segment_angle.shape
    square = dt * dt / TURN_LEFT
    for q in range(2):
        t0, t1, t2 = INVERSE[q, 0], INVERSE[q, 1], INVERSE[q, 2]
        v0, v1, v2 = SHARES[q] * VECTORS[0, q], SHARES[q] * VECTORS[1, q], SHARES[q] * VECTORS[2, q]
        for m in range(3):
            for e in range(lanes):
                k.form[0, m, e] = k.form[1, m, e] = 0.0
        for i in range(n):
            for e in range(lanes):
                force_x = t0 * k.tip_change[0, 0, e] + t1 * k.tip_change[1, 0, e] + t2 * k.tip_change[2, 0, e]
                force_y = t0 * k.tip_change[0, 1, e] + t1 * k.tip_change[1, 1, e] + t2 * k.tip_change[2, 1, e]
                node_x = complex(k.form[0, 0, e], k.form[1, 0, e])
                node_y = complex(k.form[0, 1, e], k.form[1, 1, e])
                before = complex(k.form[0, 2, e], k.form[1, 2, e])
                own = complex(k.solution[q, 0, i, e], k.solution[q, 1, i, e])
                own += force_x * complex(k.per_force[q, 0, 0, i, e], k.per_force[q, 0, 1, i, e])
                own += force_y * complex(k.per_force[q, 1, 0, i, e], k.per_force[q, 1, 1, i, e])
                held = before * complex(k.response[q, 0, i, e], k.response[q, 1, i, e])
                held -= node_x * complex(k.column[q, 0, 0, i, e], k.column[q, 0, 1, i, e])
                held -= node_y * complex(k.column[q, 1, 0, i, e], k.column[q, 1, 1, i, e])
                w = own + held * complex(k.inverse[q, 0, i, e], k.inverse[q, 1, i, e])
                _put(k.form, 0, e, node_x - k.segment_length[i, e] * x.sine[i, e] * w)
                _put(k.form, 1, e, node_y + k.segment_length[i, e] * x.cosine[i, e] * w)
                _put(k.form, 2, e, w)
                searching = k.searching[e] > 0.0
                c0, c1, c2 = (v0 * w).real, (v1 * w).real, (v2 * w).real
                k.acceleration[0, i, e] += c0 if searching else 0.0
                k.acceleration[1, i, e] += c1 if searching else 0.0
                k.acceleration[2, i, e] += c2 if searching else 0.0
                change = square * max(abs(c0), abs(c1), abs(c2))
                # NaN counts as a change.
                k.change[e] = k.change[e] if change <= k.change[e] else change


@kernel
def _newton(x, k, dt, profile, period):
    """Solve the stages in the lanes that are ``searching``; unsolved lanes remain ``searching``."""
    lanes = x.length.shape[0]
    for _ in range(ITERATIONS):
        waiting = 0.0
        for e in range(lanes):
            waiting += max(k.searching[e], 0.0)
        if waiting == 0.0:
            break
        _balance_all(x, k, dt)
        _reduce(x, k, dt)
        for e in range(lanes):
            k.change[e] = 0.0
            if (k.searching[e] > 0.0) & (k.touching[e] != 0.0):
                for i in range(3):
                    place = k.stage_tip[i, 0, e] - x.plate_position[e] - dt * NODES[i] * x.plate_velocity[0, e]
                    _, slope = surface(profile, period, place)
                    k.stage_slope[i, e] = x.relief[e] * slope
                _touch(x, k, e, dt)
            else:
                for i in range(3):
                    k.tip_change[i, 0, e] = k.tip_change[i, 1, e] = 0.0
        _solve(x, k, dt)
        for e in range(lanes):
            k.searching[e] = 0.0 if (k.change[e] < 1.0) & (k.searching[e] > 0.0) else k.searching[e]
    for e in range(lanes):
        worn = (k.stage_state[0, e] <= 0.0) | (k.stage_state[1, e] <= 0.0) | (k.stage_state[2, e] <= 0.0)
        k.searching[e] = 1.0 if (k.touching[e] != 0.0) & worn & (k.accepted[e] != 0.0) else k.searching[e]


@kernel
def _guess(x, k, e):
    """Set the initial guess of Newton's iteration in one lane, with or without contact."""
    n = x.segment_angle.shape[0]
    for j in range(3):
        for i in range(n):
            k.acceleration[j, i, e] = x.segment_acceleration[i, e]
        k.force[j, e] = max(-x.tip_force[1, e], 0.0) if k.touching[e] != 0.0 else 0.0
        k.stage_level[j, e] = x.friction_level[e] + x.friction_trend[e] * NODES[j]
        k.stage_slope[j, e] = 0.0
        k.stage_slip[j, e] = 0.0
        k.stage_state[j, e] = x.friction_state[e]


@kernel
def _approach(x, k, dt, profile, period):
    """Compute gap and normal speed before a step; the tip touches if it did in the last step or the gap is closed."""
    for e in range(x.length.shape[0]):
        height, slope = surface(profile, period, x.tip[0, e] - x.plate_position[e])
        tilt = x.relief[e] * slope
        gap = x.plate_distance[e] + x.relief[e] * height - x.tip[1, e]
        # The gap may close. Penetration decreases by a fifth per step, with at most 1 m/s.
        k.bound[e] = gap / dt if gap > 0.0 else max(0.2 * gap / dt, -1.0)
        k.closing[e] = x.tip_velocity[1, e] - x.plate_velocity[1, e]
        k.closing[e] -= tilt * (x.tip_velocity[0, e] - x.plate_velocity[0, e])
        k.gain[e] = 0.5 * exp(x.reference_friction[e] / x.rate_strength[e]) / x.reference_speed[e]
        k.touching[e] = 1.0 if (x.tip_force[1, e] != 0.0) | (gap <= 0.0) else 0.0


@kernel
def _attempt(x, k, dt, profile, period):
    """Solve a step in the lanes that are ``accepted``, without changing the state; failed lanes remain ``searching``.

    If the plate would pull, or there is no solution with contact, the step is solved without contact. It fails if the
    tip then passes the plate.
    """
    lanes = x.length.shape[0]
    _factor(x, k, dt)
    _approach(x, k, dt, profile, period)
    for e in range(lanes):
        k.searching[e] = k.accepted[e]
        _guess(x, k, e)
    _newton(x, k, dt, profile, period)
    lifted = 0.0
    for e in range(lanes):
        impulse = 0.0
        for i in range(3):
            impulse += COEFFICIENTS[2, i] * k.force[i, e]
        pulled = (impulse < 0.0) | (k.searching[e] != 0.0)
        if (k.accepted[e] != 0.0) & (k.touching[e] != 0.0) & pulled:
            k.touching[e] = 0.0
            k.searching[e] = 1.0
            lifted += 1.0
            _guess(x, k, e)
        else:
            k.searching[e] *= -1.0  # excluded from the second solution
    if lifted > 0.0:
        _newton(x, k, dt, profile, period)
    for e in range(lanes):
        place = k.stage_tip[2, 0, e] - x.plate_position[e] - dt * x.plate_velocity[0, e]
        height, _ = surface(profile, period, place)
        distance = x.plate_distance[e] + dt * x.plate_velocity[1, e] + x.relief[e] * height
        landing = (k.touching[e] == 0.0) & (k.stage_tip[2, 1, e] > distance)
        lagging = (k.touching[e] != 0.0) & (0.5 * dt * abs(k.closing[e]) > LAG)
        k.searching[e] = 1.0 if (landing | lagging) & (k.accepted[e] != 0.0) else abs(k.searching[e])


@kernel
def _accept(x, k, dt):
    """Take the step in the lanes that are ``accepted``."""
    n, lanes = x.segment_angle.shape
    square = dt * dt
    b0, b1, b2 = COEFFICIENTS[2, 0], COEFFICIENTS[2, 1], COEFFICIENTS[2, 2]
    s0, s1 = SQUARED[2, 0], SQUARED[2, 1]
    _balance_all(x, k, dt)
    for i in range(3):
        for e in range(lanes):
            share = dt * COEFFICIENTS[2, i] if k.accepted[e] != 0.0 else 0.0
            mu = x.rate_strength[e] * k.stage_level[i, e]
            k.base_impulse[0, e] += share * k.base[i, 0, e]
            k.base_impulse[1, e] += share * k.base[i, 1, e]
            k.base_impulse[2, e] += share * k.base[i, 2, e]
            k.tip_impulse[0, e] += share * k.force[i, e] * (k.stage_slope[i, e] + mu)
            k.tip_impulse[1, e] += share * k.force[i, e] * (mu * k.stage_slope[i, e] - 1.0)
            # Marks contact for the remaining parts of the step.
            x.tip_force[1, e] = -k.touching[e] if k.accepted[e] != 0.0 else x.tip_force[1, e]
    for e in range(lanes):
        accepted = k.accepted[e] != 0.0
        touching = k.touching[e] != 0.0
        flying = min(x.friction_state[e] + x.reference_speed[e] * dt / x.memory_length[e], 1.0)
        state = k.stage_state[2, e] if touching else flying
        slip = k.stage_slip[2, e] if touching else 0.0
        move_plate(x, k, e, dt, slip, state, k.stage_level[2, e])
        k.highest[e] = k.peak[e] if accepted else k.highest[e]
        for m in range(2):
            x.tip[m, e] = k.stage_tip[2, m, e] if accepted else x.tip[m, e]
            x.tip_velocity[m, e] = k.stage_velocity[2, m, e] if accepted else x.tip_velocity[m, e]
    for i in range(n):
        for e in range(lanes):
            accepted = k.accepted[e] != 0.0
            a0, a1, a2 = k.acceleration[0, i, e], k.acceleration[1, i, e], k.acceleration[2, i, e]
            mean = b0 * a0 + b1 * a1 + b2 * a2
            rate = x.segment_rate[i, e] + dt * mean
            angle = x.segment_angle[i, e] + dt * x.segment_rate[i, e] + square * (s0 * a0 + s1 * a1)
            s, c = sincos(angle + 0.5 * dt * rate)
            x.segment_angle[i, e] = angle if accepted else x.segment_angle[i, e]
            x.segment_rate[i, e] = rate if accepted else x.segment_rate[i, e]
            x.segment_acceleration[i, e] = mean if accepted else x.segment_acceleration[i, e]
            x.cosine[i, e] = c if accepted else x.cosine[i, e]
            x.sine[i, e] = s if accepted else x.sine[i, e]


@kernel
def _divided(x, k, lane, dt, profile, period):
    """Take one step in one lane by parts of at least 1/256 of the step.

    The tip never leaves the plate in the paper, so its equations do not include impacts. Parts of 1/16 with an impact,
    and those that Newton's iteration does not solve, are steps of `body.midpoint`. After `UNSOLVED` of them, all
    remaining parts are.
    """
    lanes = x.length.shape[0]
    part, left = 128, 256
    while left > 0:
        small = dt * part / 256.0
        k.parts[lane] += 1.0
        for e in range(lanes):
            k.accepted[e] = 1.0 if e == lane else 0.0
        if k.unsolved[lane] < UNSOLVED:
            direct(x, lane, small)
            _attempt(x, k, small, profile, period)
            if k.searching[lane] == 0.0:
                _accept(x, k, small)
                left -= part
                continue
            if part > LARGEST_IMPACT:
                part //= 2
                continue
            k.unsolved[lane] += 1.0
        scale(x, k, small)
        direct(x, lane, small)
        attempt(x, k, small, profile, period)
        if k.fastest[lane] * small > TURN:
            if part > 1:
                part //= 2
                continue
            x.status[lane] = WILD
            return
        accept(x, k, small)
        x.tip_force[1, lane] = k.impulse_y[lane]
        left -= part
    direct(x, lane, dt)


@kernel
def _step(x, k, dt, profile, period):
    """Take a step in all lanes, by parts in lanes where Newton's iteration does not converge."""
    lanes = x.length.shape[0]
    clear_impulses(k)
    for e in range(lanes):
        k.accepted[e] = 1.0 if x.status[e] == 0.0 else 0.0
    _attempt(x, k, dt, profile, period)
    count = 0.0
    for e in range(lanes):
        k.failed[e] = k.searching[e]
        k.accepted[e] -= k.failed[e]
        count += k.failed[e]
    _accept(x, k, dt)
    if count > 0.0:
        for e in range(lanes):
            if k.failed[e] != 0.0:
                _divided(x, k, e, dt, profile, period)


@kernel
def prepare(xs, ks, dt, profile, period, top):
    """Compute segments and filters from the parameters; the arguments are those of :func:`published`."""
    segments(xs, ks)
    tune_bands(ks[0], dt)


@kernel
def published(xs, ks, steps, dt, profile, period, top):
    """Take ``steps`` steps of Radau IIA of order 5, the paper's method; arguments and ``status`` are as in `midpoint`.

    Oladazimi, Putelat et al. (2021), Eqs 5-13 and Numerical implementation; Hairer & Wanner (1996), IV.8. The scratch
    space is of type ``published_work``; call :func:`prepare` first.
    """
    x = xs[0]
    k = ks[0]
    clear_means(x, k)
    for e in range(x.length.shape[0]):
        k.parts[e] = k.unsolved[e] = 0.0
    for step in range(steps):
        _step(x, k, dt, profile, period)
        for e in range(x.length.shape[0]):
            if (k.parts[e] > BUDGET * steps) & (x.status[e] == 0.0):
                x.status[e] = WILD
        keep_forces(x, k, dt, step * SAMPLES // steps)
        follow_bands(x, k)
        check_model(x, k, top)
    take_means(x, steps, dt)


PUBLISHED = batch_kernel(published, BROKEN, prepare=prepare)
