"""Mechanics of the whisker rod: records of one animal, and the time step as kernels over lanes.

A conical rod of N rigid segments with angles theta_i is clamped at its base. Its tip touches a plate at y = ybar that
moves along +x (Oladazimi, Putelat et al., 2021, Eqs 5-13). The joints have elasticity and Kelvin-Voigt damping, the
contact is unilateral, and friction follows a rate-and-state law.

Kernels work on lanes (``core/kernels/lanes.py``): the last axis of every field is the animal.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.kernels.jit import kernel
from ..core.kernels.lanes import batch_kernel, one_pass, record
from ..core.kernels.maths import asinh, exp, log, sincos

FLIPPED, BURIED, WILD, BROKEN = 1.0, 2.0, 3.0, 4.0
"""Status codes: the tip is parallel to the plate; an inner node is behind it; a segment is too fast; not finite."""

_NAMES = (
    "density length base_radius tip_radius youngs_modulus damping external_damping curvature_base curvature_tip "
    "rate_strength state_strength reference_speed reference_friction memory_length relief"
)

PARAMETERS = tuple(_NAMES.split())
"""Parameters of a row with one number; ``curvature`` has one per joint."""

SAMPLES = 8
"""Samples of the base wrench in one ``advance``; at 500 Hz this is 4 kHz, as the paper's camera."""

BANDS = (60.0, 90.0, 135.0, 200.0, 300.0, 450.0, 675.0, 1000.0)
"""Centres of the frequency bands for the power of the base moment, Hz."""

SLOW = 10e-3
"""Time constant (s) of the mean that is subtracted from the base moment before it is filtered."""

TURN = 0.05
"""Largest rotation (rad) of a segment in one step; a step with a larger one is divided."""

DEPTH = 20e-6
"""Largest depth (m) of an inner node behind the plate."""


def state_dtype(n: int) -> np.dtype:
    """Return the record type of one whisker of ``n`` segments."""
    return record(
        ("time", (), "s", ""),
        ("status", (), "1", "0, FLIPPED, BURIED, WILD or BROKEN"),
        ("segment_angle segment_rate", n, "rad, rad/s", "base to tip"),
        ("segment_acceleration", n, "rad/s^2", "mean of the last step"),
        ("cosine sine", n, "1", "of the angles half a step ahead"),
        ("base_angle", (), "rad", ""),
        ("tip tip_velocity", 2, "m, m/s", "x; y"),
        ("plate_position plate_distance", (), "m", "x and y of the plate"),
        ("plate_velocity", 2, "m/s", "x; y; part of the drive, like ``base_rate``"),
        ("base_rate", (), "rad/s", ""),
        ("slip_speed", (), "m/s", ""),
        ("friction_state", (), "1", "the paper's phi"),
        ("friction_level friction_trend", (), "1", "mu/a, and its last change"),
        ("tip_force", 2, "N", "mean over the last step"),
        ("base_wrench", 3, "N m, N", "M, Fx, Fy of the rod on its base, mean over the last step"),
        ("base_wrench_mean", 3, "N m, N", "over the last ``advance``, as are the next three"),
        ("base_wrench_samples", (SAMPLES, 3), "N m, N", ""),
        ("contact", (), "1", "fraction of time"),
        ("band_power", len(BANDS), "(N m)^2", ""),
        ("moment_mean", (), "N m", "state of a filter"),
        ("band", (len(BANDS), 4), "N m", "states of the filters"),
        (_NAMES, (), "kg/m^3, m ...", "see `params.PHYSICAL`"),
        ("curvature", n, "rad/m", "of each joint"),
    )


def work_dtype(n: int) -> np.dtype:
    """Return the record type of the scratch space of :func:`midpoint`.

    Fields of each segment precede those of the whole whisker for speed: LLVM compares the address ranges of both kinds.
    """
    return record(
        # The rod, see `segments`.
        ("segment_length node_mass inertia", n, "m, kg, kg m^2", "of a segment, of its outer node, and the remainder"),
        ("stiffness viscosity rest_angle", n, "N m, N m s, rad", "of the joint before a segment"),
        # The same for a time step.
        ("joint_spring joint_response", n, "N m s, kg m^2", "impulse per angle, and per increment of its rate"),
        ("damped_mass damped_inertia", n, "kg, kg m^2", "including the external damping"),
        ("joint_impulse", n, "N m s", "impulse of each joint at the old rates"),
        ("drift", (2, n), "m/s", "velocity increment of the outer relative to the inner node at the old rate"),
        ("increment", n, "rad/s", "increment of the segment's rate with a fixed inner node; later the full increment"),
        ("by_tip by_node", (2, n), "1/(kg m), 1/m", "increase per impulse on the tip, decrease per node increment"),
        ("by_rate", n, "1", "increase per increment of the rate of the segment before"),
        ("lighter drag", (), "1", "factors of the external damping, see `scale`"),
        # Elimination from tip to base: quadratic form in the velocity increment (x, y) of a node and the rate
        # increment w of the segment before it; its linear part; and that of unit impulses on the tip (second letter).
        ("mass_xx mass_xy mass_yy mass_xw mass_yw mass_ww", (), "kg, kg m, kg m^2", ""),
        ("load_x load_y load_w", (), "N s, N m s", ""),
        ("unit_xx unit_yx unit_wx unit_xy unit_yy unit_wy", (), "1, m", ""),
        # The tip.
        ("tip_change_x tip_change_y", (), "m/s", "velocity increment without contact"),
        ("correction_x correction_y", (), "m/s", "correction of it for external damping"),
        ("compliance_xx compliance_xy compliance_yy", (), "1/kg", "velocity increment per impulse"),
        # Contact.
        ("free_x free_y", (), "m/s", "velocity of the tip without contact"),
        ("height slope stretch", (), "m, 1, 1", "relief, and length along it per length along x"),
        ("entering", (), "m/s", "speed of the tip into the plate without contact"),
        ("compliance_nn compliance_nt", (), "1/kg", "along the normal, and between normal and tangent"),
        ("touching", (), "1", "1 in contact"),
        # Friction.
        ("gain", (), "s/m", "gamma/V_*"),
        ("level level_low level_high searching", (), "1", "mu/a with its bracket; 1 until it is found"),
        ("slip", (), "m/s", "corresponding slip speed"),
        ("impulse_x impulse_y", (), "N s", "of the plate on the tip"),
        ("friction_state", (), "1", "phi"),
        # Solution from base to tip.
        ("last_x last_y last_w", (), "m/s, rad/s", "increments of the last node's velocity and of its segment's rate"),
        ("fastest", (), "rad/s", "largest magnitude of a rate"),
        # Accepted parts of a step.
        ("accepted too_fast", (), "1", "1 if the lane takes the step; 1 if its step must be divided"),
        ("tip tip_velocity", 2, "m, m/s", "x, y"),
        ("highest", (), "m", "largest y of an inner node"),
        ("base_impulse", 3, "N m s, N s", "M, Fx, Fy"),
        ("tip_impulse", 2, "N s", "x, y"),
        ("contact_time", (), "s", ""),
        ("band_cosine band_sine band_share", len(BANDS), "1", "rotation in a step, weight of the newest moment"),
        ("mean_share", (), "1", "weight of the newest moment in its mean"),
    )


@kernel
def segments(xs, ks):
    """Divide the truncated cone into rigid segments with joints between them.

    Nodes are at s_j = l (1 - (1 - j/N)^1.5). The mass of each segment is distributed to its ends by the lever rule;
    ``inertia`` is the remaining moment of inertia. The joint before segment i has the stiffness EI(s)/c and the
    viscosity delta A(s)/c, where c is the distance of the segments' middles (Oladazimi et al., 2021, Eqs 5 and 6).
    """
    x = xs[0]
    k = ks[0]
    n, lanes = x.segment_angle.shape
    for i in range(n):
        for e in range(lanes):
            k.node_mass[i, e] = 0.0
    for i in range(n):
        left = (n - i) / n
        right = (n - i - 1) / n
        before = (n - i + 1) / n if i > 0 else left
        s0 = 1.0 - left * math.sqrt(left)
        s1 = 1.0 - right * math.sqrt(right)
        middle = 0.5 * (s0 + s1)
        middle_before = 0.5 * (1.0 - before * math.sqrt(before) + s0) if i > 0 else 0.0
        for e in range(lanes):
            length = x.length[e]
            taper = x.tip_radius[e] - x.base_radius[e]
            r0 = x.base_radius[e] + taper * s0
            r1 = x.base_radius[e] + taper * s1
            a, b, c = r0 * r0, r0 * r1, r1 * r1
            h = length * (s1 - s0)
            mass_per_area = x.density[e] * math.pi * h
            outer = mass_per_area * (a + 2.0 * b + 3.0 * c) / 12.0
            inner = mass_per_area * (3.0 * a + 2.0 * b + c) / 12.0
            k.segment_length[i, e] = h
            k.node_mass[i, e] += outer
            if i > 0:
                k.node_mass[i - 1, e] += inner
            k.inertia[i, e] = mass_per_area * (
                (a * a + a * b + a * c + b * c + c * c) / 20.0 - h * h * (a / 20.0 + b / 15.0 + c / 20.0)
            )
            cell = length * (middle - middle_before)
            speed_of_sound = math.sqrt(x.youngs_modulus[e] / x.density[e])
            cubed = x.base_radius[e] * x.base_radius[e] * x.base_radius[e]
            delta = 0.5 * x.damping[e] * x.density[e] * speed_of_sound * cubed
            k.stiffness[i, e] = x.youngs_modulus[e] * math.pi / 4.0 * a * a / cell
            k.viscosity[i, e] = delta * math.pi * a / cell
            change = x.curvature_tip[e] - x.curvature_base[e]
            bend = x.curvature_base[e] + 0.5 * change * (middle + middle_before)
            k.rest_angle[i, e] = cell * (bend + x.curvature[i, e])


@kernel
def scale(x, k, dt):
    """Scale the segments with the time step; external damping acts as additional mass."""
    n, lanes = x.segment_angle.shape
    for e in range(lanes):
        k.lighter[e] = 1.0 / (1.0 + 0.5 * dt * x.external_damping[e])
        k.drag[e] = dt * x.external_damping[e] * k.lighter[e]
    for i in range(n):
        for e in range(lanes):
            k.damped_mass[i, e] = k.node_mass[i, e] / k.lighter[e]
            k.damped_inertia[i, e] = k.inertia[i, e] / k.lighter[e]
            k.joint_spring[i, e] = dt * k.stiffness[i, e]
            k.joint_response[i, e] = 0.5 * dt * (k.viscosity[i, e] + 0.5 * dt * k.stiffness[i, e])


@kernel
def _spring(x, k):
    """Compute the impulse of each joint for its angle in the middle of the step and the rates at the start."""
    n, lanes = x.segment_angle.shape
    theta, omega = x.segment_angle, x.segment_rate
    for i in range(n):
        for e in range(lanes):
            deflection = theta[i, e] - (theta[i - 1, e] if i > 0 else x.base_angle[e]) - k.rest_angle[i, e]
            rate = omega[i, e] - (omega[i - 1, e] if i > 0 else x.base_rate[e])
            k.joint_impulse[i, e] = k.joint_spring[i, e] * deflection + 2.0 * k.joint_response[i, e] * rate


@kernel
def _begin_at_tip(k):
    """Start the elimination at the tip, with only the unit impulses on it."""
    for e in range(k.mass_xx.shape[0]):
        k.mass_xx[e] = k.mass_xy[e] = k.mass_yy[e] = k.mass_xw[e] = k.mass_yw[e] = k.mass_ww[e] = 0.0
        k.load_x[e] = k.load_y[e] = k.load_w[e] = 0.0
        k.unit_xx[e] = k.unit_yy[e] = 1.0
        k.unit_yx[e] = k.unit_xy[e] = k.unit_wx[e] = k.unit_wy[e] = 0.0
        k.tip_change_x[e] = k.tip_change_y[e] = k.correction_x[e] = k.correction_y[e] = 0.0
        k.compliance_xx[e] = k.compliance_xy[e] = k.compliance_yy[e] = 0.0


@kernel
def _eliminate(x, k, dt):
    """Eliminate the rate increments from tip to base.

    The equations of all segments beyond a node reduce to a quadratic form (``mass``) in the velocity increment of the
    node and the rate increment of the segment before it, with a linear part (``load``). Two unit impulses on the tip
    (``unit``) are eliminated, too, and result in ``tip_change`` and the compliance of the tip.
    """
    n, lanes = x.segment_angle.shape
    omega, alpha, cos, sin = x.segment_rate, x.segment_acceleration, x.cosine, x.sine
    _begin_at_tip(k)
    once = one_pass(dt)
    for i in range(n - 1, -1, -1):
        for _ in range(once):
            for e in range(lanes):
                response = k.joint_response[i, e]
                inertia = k.damped_inertia[i, e]
                h = k.segment_length[i, e]
                c = cos[i, e]
                s = sin[i, e]
                ax = -h * s
                ay = h * c
                # Without a rate increment the outer node turns about the inner one, and is damped.
                middle = omega[i, e] + 0.5 * dt * alpha[i, e]
                turn = -dt * h * middle * middle
                brake = k.drag[e] * omega[i, e]
                bx = k.lighter[e] * turn * c + brake * ax
                by = k.lighter[e] * turn * s + brake * ay
                k.correction_x[e] += turn * c - bx
                k.correction_y[e] += turn * s - by
                k.drift[0, i, e] = bx
                k.drift[1, i, e] = by
                # Quadratic form in the inner node's velocity and this segment's rate increment.
                mass_xx = k.mass_xx[e] + k.damped_mass[i, e]
                mass_xy = k.mass_xy[e]
                mass_yy = k.mass_yy[e] + k.damped_mass[i, e]
                px = k.mass_xw[e]
                py = k.mass_yw[e]
                unit_xx, unit_yx, unit_xy, unit_yy = k.unit_xx[e], k.unit_yx[e], k.unit_xy[e], k.unit_yy[e]
                load_x = k.load_x[e] - mass_xx * bx - mass_xy * by
                load_y = k.load_y[e] - mass_xy * bx - mass_yy * by
                load_w = k.load_w[e] - px * bx - py * by - inertia * brake
                kx = mass_xx * ax + mass_xy * ay + px
                ky = mass_xy * ax + mass_yy * ay + py
                d = (ax * (kx + px) + ay * (ky + py)) + (k.mass_ww[e] + inertia + response)
                inverse = 1.0 / d
                q = k.joint_impulse[i, e]
                # Rate increment that minimises the form.
                w = (load_w + ax * load_x + ay * load_y - q) * inverse
                wx = (k.unit_wx[e] + ax * unit_xx + ay * unit_yx) * inverse
                wy = (k.unit_wy[e] + ax * unit_xy + ay * unit_yy) * inverse
                wd = w * d
                k.tip_change_x[e] += unit_xx * bx + unit_yx * by + wx * wd
                k.tip_change_y[e] += unit_xy * bx + unit_yy * by + wy * wd
                k.compliance_xx[e] += wx * wx * d
                k.compliance_xy[e] += wx * wy * d
                k.compliance_yy[e] += wy * wy * d
                by_node_x = kx * inverse
                by_node_y = ky * inverse
                by_rate = response * inverse
                # Remaining form, in the inner node's velocity and the rate increment of the segment before it.
                k.mass_xx[e] = mass_xx - kx * by_node_x
                k.mass_xy[e] = mass_xy - kx * by_node_y
                k.mass_yy[e] = mass_yy - ky * by_node_y
                k.mass_xw[e] = kx * by_rate
                k.mass_yw[e] = ky * by_rate
                k.mass_ww[e] = response - response * by_rate
                k.load_x[e] = load_x - kx * w
                k.load_y[e] = load_y - ky * w
                k.load_w[e] = response * w + q
                k.unit_xx[e] = unit_xx - kx * wx
                k.unit_yx[e] = unit_yx - ky * wx
                k.unit_xy[e] = unit_xy - kx * wy
                k.unit_yy[e] = unit_yy - ky * wy
                k.unit_wx[e] = response * wx
                k.unit_wy[e] = response * wy
                k.increment[i, e] = w
                k.by_tip[0, i, e] = wx
                k.by_tip[1, i, e] = wy
                k.by_node[0, i, e] = by_node_x
                k.by_node[1, i, e] = by_node_y
                k.by_rate[i, e] = by_rate


@kernel
def aged(phi, fresh, z, decay):
    """Return the friction state after sliding and its derivative by ``z``: the solution of Eq. 13 at constant speed.

    ``phi`` is the state before, ``fresh`` = V_* t/L its increase in the same time at rest, ``z`` the slip distance in
    memory lengths L, and ``decay`` = exp(-z).
    """
    # (1 - exp(-z))/z and its derivative, as series where the difference would cancel
    small = z < 0.03
    safe = 1.0 if small else z
    series = 1.0 - z * (1 / 2 - z * (1 / 6 - z * (1 / 24 - z * (1 / 120 - z * (1 / 720 - z * (1 / 5040))))))
    series_slope = z * (1 / 3 - z * (1 / 8 - z * (1 / 30 - z * (1 / 144 - z * (1 / 840))))) - 1 / 2
    mean = series if small else (1.0 - decay) / safe
    mean_slope = series_slope if small else (decay - mean) / safe
    return phi * decay + fresh * mean, fresh * mean_slope - phi * decay


@kernel
def surface(profile, period, position):
    """Return the height (m) of a relief at a ``position`` (m) on the plate, and its slope.

    ``profile`` (K, 4) m contains the polynomials of ``Relief.coefficients``, which repeat after ``period`` (m).
    """
    count = len(profile)
    if count == 1:
        return profile[0, 0], 0.0
    place = position / period
    place = (place - math.floor(place)) * count
    j = max(min(int(place), count - 1), 0)  # a place that is not a number becomes the smallest integer
    f = place - j
    height = profile[j, 0] + f * (profile[j, 1] + f * (profile[j, 2] + f * profile[j, 3]))
    slope = profile[j, 1] + f * (2.0 * profile[j, 2] + f * 3.0 * profile[j, 3])
    return height, slope * count / period


@kernel
def _approach(x, k, dt, profile, period):
    """Predict the contact with Moreau's rule, and guess the friction."""
    lanes = x.length.shape[0]
    slope, free_x, free_y, entering, touching = k.slope, k.free_x, k.free_y, k.entering, k.touching
    for e in range(lanes):
        place = x.tip[0, e] - x.plate_position[e]
        k.height[e], _ = surface(profile, period, place)
        ahead = dt * (x.tip_velocity[0, e] - x.plate_velocity[0, e])
        _, slope[e] = surface(profile, period, place + ahead)
    for e in range(lanes):
        tilt = x.relief[e] * slope[e]
        gap = x.plate_distance[e] + x.relief[e] * k.height[e] - x.tip[1, e]
        # The gap may close. Penetration decreases by a fifth per step, with at most 1 m/s.
        bound = gap / dt if gap > 0.0 else max(0.2 * gap / dt, -1.0)
        bound += x.plate_velocity[1, e] - tilt * x.plate_velocity[0, e]
        slope[e] = tilt
        k.stretch[e] = math.sqrt(1.0 + tilt * tilt)
        free_x[e] = x.tip_velocity[0, e] + k.tip_change_x[e] + k.correction_x[e]
        free_y[e] = x.tip_velocity[1, e] + k.tip_change_y[e] + k.correction_y[e]
        entering[e] = free_y[e] - tilt * free_x[e] - bound
        xx, xy, yy = k.compliance_xx[e], k.compliance_xy[e], k.compliance_yy[e]
        k.compliance_nn[e] = yy - 2.0 * tilt * xy + tilt * tilt * xx
        k.compliance_nt[e] = (yy - xx) * tilt + (1.0 - tilt * tilt) * xy
        touching[e] = 1.0 if entering[e] > 0.0 else 0.0
        k.searching[e] = touching[e]
        k.level[e] = x.friction_level[e] + x.friction_trend[e]
        k.level_low[e] = -60.0
        k.level_high[e] = 60.0
        k.gain[e] = 0.5 * exp(x.reference_friction[e] / x.rate_strength[e]) / x.reference_speed[e]
        k.slip[e] = 0.0
        k.impulse_x[e] = k.impulse_y[e] = 0.0


@kernel
def _find_friction(x, k, dt):
    """Compute the impulse of the plate on the tip with rate-and-state friction, Eq. 13.

    A safeguarded Newton iteration solves y = asinh(gamma u/V_* phi^(b/a)) for y = mu/a; u is the slip speed in the
    middle of the step.
    """
    lanes = x.length.shape[0]
    slope, stretch, compliance_nn, compliance_nt = k.slope, k.stretch, k.compliance_nn, k.compliance_nt
    level, low, high, searching, slip = k.level, k.level_low, k.level_high, k.searching, k.slip
    for iteration in range(60):
        waiting = 0.0
        for e in range(lanes):
            waiting += searching[e]
        if waiting == 0.0:
            break
        for e in range(lanes):
            a = x.rate_strength[e]
            ratio = x.state_strength[e] / a
            tilt = slope[e]
            old, lower, upper, old_slip = level[e], low[e], high[e], slip[e]
            old_x, old_y = k.impulse_x[e], k.impulse_y[e]
            mu = a * old
            # Impulses along the normal, x and y, and their derivatives by y = old.
            stiff = compliance_nn[e] - mu * compliance_nt[e]
            limit = 1e-3 * compliance_nn[e]
            above = stiff > limit
            stiff = stiff if above else limit
            impulse = k.entering[e] / stiff
            impulse_slope = impulse * a * compliance_nt[e] / stiff
            impulse_slope = impulse_slope if above else 0.0
            along_x = impulse * (tilt + mu)
            along_y = impulse * (mu * tilt - 1.0)
            along_x_slope = impulse_slope * (tilt + mu) + impulse * a
            along_y_slope = impulse_slope * (mu * tilt - 1.0) + impulse * a * tilt
            # Resulting slip speed and friction level.
            new_x = k.free_x[e] + k.compliance_xx[e] * along_x + k.compliance_xy[e] * along_y
            u = (x.plate_velocity[0, e] - 0.5 * (x.tip_velocity[0, e] + new_x)) * stretch[e]
            u_slope = -0.5 * stretch[e] * (k.compliance_xx[e] * along_x_slope + k.compliance_xy[e] * along_y_slope)
            way = 0.5 * dt / x.memory_length[e]
            z = abs(u) * way
            middle, middle_slope = aged(x.friction_state[e], x.reference_speed[e] * way, z, exp(-z))
            strength = k.gain[e] * exp(ratio * log(middle))
            product = u * strength
            product_slope = strength * u_slope * (1.0 + ratio * z * middle_slope / middle)
            residual = old - asinh(product)
            derivative = 1.0 - product_slope / math.sqrt(1.0 + product * product)
            active = searching[e] != 0.0
            lower = old if residual < 0.0 else lower
            upper = old if residual > 0.0 else upper
            new = old - residual / derivative
            # Bisect if Newton's step leaves the bracket, and after a dozen iterations.
            good = (new > lower) & (new < upper) & (iteration < 12)
            new = new if good else 0.5 * (lower + upper)
            # Extrapolate to the new y, so that no evaluation is needed after the last iteration.
            change = new - old
            low[e] = lower
            high[e] = upper
            level[e] = new if active else old
            slip[e] = u + u_slope * change if active else old_slip
            k.impulse_x[e] = along_x + along_x_slope * change if active else old_x
            k.impulse_y[e] = along_y + along_y_slope * change if active else old_y
            searching[e] = 1.0 if active & (abs(change) > 1e-3) else 0.0


@kernel
def _age(x, k, dt):
    """Compute the friction state after sliding at constant speed, or after ageing in flight."""
    for e in range(x.length.shape[0]):
        way = dt / x.memory_length[e]
        z = abs(k.slip[e]) * way
        sliding, _ = aged(x.friction_state[e], x.reference_speed[e] * way, z, exp(-z))
        flying = min(x.friction_state[e] + x.reference_speed[e] * way, 1.0)
        k.friction_state[e] = sliding if k.touching[e] != 0.0 else flying


@kernel
def _solve(x, k):
    """Compute the rate increments from base to tip for the impulse on the tip, and the fastest rate."""
    n, lanes = x.segment_angle.shape
    omega, cos, sin = x.segment_rate, x.cosine, x.sine
    for e in range(lanes):
        k.last_x[e] = k.last_y[e] = k.last_w[e] = k.fastest[e] = 0.0
    for i in range(n):
        for e in range(lanes):
            own = k.increment[i, e] + k.by_tip[0, i, e] * k.impulse_x[e] + k.by_tip[1, i, e] * k.impulse_y[e]
            node = k.by_node[0, i, e] * k.last_x[e] + k.by_node[1, i, e] * k.last_y[e]
            w = own + (k.by_rate[i, e] * k.last_w[e] - node)
            k.last_x[e] = k.last_x[e] + k.drift[0, i, e] - k.segment_length[i, e] * sin[i, e] * w
            k.last_y[e] = k.last_y[e] + k.drift[1, i, e] + k.segment_length[i, e] * cos[i, e] * w
            k.last_w[e] = w
            k.increment[i, e] = w
            rate = abs(omega[i, e] + w)
            k.fastest[e] = rate if rate > k.fastest[e] else k.fastest[e]


@kernel
def attempt(x, k, dt, profile, period):
    """Compute a step without changing the state."""
    _spring(x, k)
    _eliminate(x, k, dt)
    _approach(x, k, dt, profile, period)
    _find_friction(x, k, dt)
    _age(x, k, dt)
    _solve(x, k)


@kernel
def move_plate(x, k, e, dt, slip, state, level):
    """Move plate and base, and store slip speed, state and level of the friction, if the lane accepts the step."""
    accepted = k.accepted[e] != 0.0
    change = level - x.friction_level[e] if k.touching[e] != 0.0 else 0.0
    k.contact_time[e] += dt * k.touching[e] if accepted else 0.0
    x.slip_speed[e] = slip if accepted else x.slip_speed[e]
    x.friction_state[e] = state if accepted else x.friction_state[e]
    x.friction_trend[e] = change if accepted else x.friction_trend[e]
    x.friction_level[e] += change if accepted else 0.0
    x.base_angle[e] += dt * x.base_rate[e] if accepted else 0.0
    x.plate_position[e] += dt * x.plate_velocity[0, e] if accepted else 0.0
    x.plate_distance[e] += dt * x.plate_velocity[1, e] if accepted else 0.0


@kernel
def _add_impulses(x, k, dt):
    """Move plate and base and sum up impulses in the lanes that accept the step."""
    for e in range(x.length.shape[0]):
        accepted = k.accepted[e] != 0.0
        base_moment = k.joint_impulse[0, e] + k.joint_response[0, e] * k.increment[0, e]
        base_x = k.load_x[e] + k.unit_xx[e] * k.impulse_x[e] + k.unit_xy[e] * k.impulse_y[e]
        base_y = k.load_y[e] + k.unit_yx[e] * k.impulse_x[e] + k.unit_yy[e] * k.impulse_y[e]
        k.base_impulse[0, e] += base_moment if accepted else 0.0
        k.base_impulse[1, e] += base_x if accepted else 0.0
        k.base_impulse[2, e] += base_y if accepted else 0.0
        k.tip_impulse[0, e] += k.impulse_x[e] if accepted else 0.0
        k.tip_impulse[1, e] += k.impulse_y[e] if accepted else 0.0
        move_plate(x, k, e, dt, k.slip[e], k.friction_state[e], k.level[e])


@kernel
def _turn(x, k, dt):
    """Turn the segments, and their directions half a step ahead, in the lanes that accept the step.

    Also computes position and velocity of the tip, and the height of the inner node that is nearest to the plate. Old
    values are read first, so that LLVM does not branch and scatter the results.
    """
    n, lanes = x.segment_angle.shape
    theta, omega, alpha, cos, sin = x.segment_angle, x.segment_rate, x.segment_acceleration, x.cosine, x.sine
    tip_x, tip_y, velocity_x, velocity_y = k.tip[0], k.tip[1], k.tip_velocity[0], k.tip_velocity[1]
    per_dt = 1.0 / dt
    for e in range(lanes):
        tip_x[e] = tip_y[e] = velocity_x[e] = velocity_y[e] = 0.0
        k.highest[e] = -1.0 if k.accepted[e] != 0.0 else k.highest[e]
    for i in range(n):
        for e in range(lanes):
            accepted = k.accepted[e] != 0.0
            w = k.increment[i, e]
            old_theta, old_omega, old_alpha = theta[i, e], omega[i, e], alpha[i, e]
            old_cos, old_sin = cos[i, e], sin[i, e]
            rate = old_omega + w
            half = 0.5 * dt * rate
            z = half * half
            s1 = half * (1.0 - z * (1 / 6 - z * (1 / 120 - z * (1 / 5040))))
            c1 = 1.0 - z * (1 / 2 - z * (1 / 24 - z * (1 / 720)))
            c = old_cos * c1 - old_sin * s1
            s = old_sin * c1 + old_cos * s1
            hx = k.segment_length[i, e] * c
            hy = k.segment_length[i, e] * s
            c2 = c * c1 - s * s1
            s2 = s * c1 + c * s1
            scale = 1.5 - 0.5 * (c2 * c2 + s2 * s2)
            new_cos, new_sin = c2 * scale, s2 * scale
            turned, new_alpha = old_theta + dt * (old_omega + 0.5 * w), w * per_dt
            new_omega = rate if accepted else old_omega
            cos[i, e] = new_cos if accepted else old_cos
            sin[i, e] = new_sin if accepted else old_sin
            theta[i, e] = turned if accepted else old_theta
            omega[i, e] = new_omega
            alpha[i, e] = new_alpha if accepted else old_alpha
            k.highest[e] = tip_y[e] if accepted & (tip_y[e] > k.highest[e]) else k.highest[e]
            tip_x[e] += hx
            tip_y[e] += hy
            velocity_x[e] -= hy * new_omega
            velocity_y[e] += hx * new_omega
    for e in range(lanes):
        accepted = k.accepted[e] != 0.0
        x.tip[0, e] = tip_x[e] if accepted else x.tip[0, e]
        x.tip[1, e] = tip_y[e] if accepted else x.tip[1, e]
        x.tip_velocity[0, e] = velocity_x[e] if accepted else x.tip_velocity[0, e]
        x.tip_velocity[1, e] = velocity_y[e] if accepted else x.tip_velocity[1, e]


@kernel
def accept(x, k, dt):
    """Take the step in the lanes that are ``accepted``."""
    _add_impulses(x, k, dt)
    _turn(x, k, dt)


@kernel
def direct(x, e, dt):
    """Compute cosine and sine of one lane's angles half a step ahead."""
    for i in range(x.segment_angle.shape[0]):
        x.sine[i, e], x.cosine[i, e] = sincos(x.segment_angle[i, e] + 0.5 * dt * x.segment_rate[i, e])


@kernel
def _divided(x, k, lane, dt, profile, period):
    """Take one step in one lane by parts, down to 1/256 of the step, so that no segment turns too far."""
    lanes = x.length.shape[0]
    part, left = 128, 256
    while left > 0:
        small = dt * part / 256.0
        scale(x, k, small)
        direct(x, lane, small)
        attempt(x, k, small, profile, period)
        if k.fastest[lane] * small > TURN:
            if part > 1:
                part //= 2
                continue
            x.status[lane] = WILD
        for e in range(lanes):
            k.accepted[e] = 1.0 if e == lane else 0.0
        accept(x, k, small)
        left -= part
    scale(x, k, dt)
    direct(x, lane, dt)


@kernel
def clear_impulses(k):
    """Clear the sums over a step."""
    for e in range(k.contact_time.shape[0]):
        k.base_impulse[0, e] = k.base_impulse[1, e] = k.base_impulse[2, e] = 0.0
        k.tip_impulse[0, e] = k.tip_impulse[1, e] = k.contact_time[e] = 0.0


@kernel
def _step(x, k, dt, profile, period):
    """Take a step in all lanes, by parts in lanes where a segment would turn too far."""
    lanes = x.length.shape[0]
    clear_impulses(k)
    attempt(x, k, dt, profile, period)
    for e in range(lanes):
        k.too_fast[e] = 1.0 if (k.fastest[e] * dt > TURN) & (x.status[e] == 0.0) else 0.0
        k.accepted[e] = 1.0 - k.too_fast[e]
    count = 0.0
    for e in range(lanes):
        count += k.too_fast[e]
    accept(x, k, dt)
    if count > 0.0:
        for e in range(lanes):
            if k.too_fast[e] != 0.0:
                _divided(x, k, e, dt, profile, period)


@kernel
def keep_forces(x, k, dt, sample):
    """Store the mean forces of a step on tip and base, and add those on the base to the current sample."""
    lanes = x.length.shape[0]
    for e in range(lanes):
        x.time[e] += dt
        x.contact[e] += k.contact_time[e]
        x.tip_force[0, e] = k.tip_impulse[0, e] / dt
        x.tip_force[1, e] = k.tip_impulse[1, e] / dt
    for j in range(3):
        for e in range(lanes):
            x.base_wrench[j, e] = k.base_impulse[j, e] / dt
            x.base_wrench_samples[sample, j, e] += x.base_wrench[j, e]


@kernel
def tune_bands(k, dt):
    """Set the filters of the base moment: two complex resonators in series, 0.6 octaves wide at half power."""
    lanes = k.mean_share.shape[0]
    for j in range(len(BANDS)):
        omega = 2.0 * math.pi * BANDS[j]
        decay = exp(-omega * dt / 3.1)
        sine, cosine = sincos(omega * dt)
        for e in range(lanes):
            k.band_cosine[j, e] = decay * cosine
            k.band_sine[j, e] = decay * sine
            k.band_share[j, e] = 1.0 - decay
    slow = 1.0 - exp(-dt / SLOW)
    for e in range(lanes):
        k.mean_share[e] = slow


@kernel
def follow_bands(x, k):
    """Update the power of the base moment in its bands by one step."""
    lanes = x.length.shape[0]
    for e in range(lanes):
        x.moment_mean[e] += k.mean_share[e] * (x.base_wrench[0, e] - x.moment_mean[e])
    for j in range(len(BANDS)):
        for e in range(lanes):
            cosine = k.band_cosine[j, e]
            sine = k.band_sine[j, e]
            share = k.band_share[j, e]
            ax, ay, bx, by = x.band[j, 0, e], x.band[j, 1, e], x.band[j, 2, e], x.band[j, 3, e]
            new_ax = ax * cosine - ay * sine + share * (x.base_wrench[0, e] - x.moment_mean[e])
            new_ay = ax * sine + ay * cosine
            new_bx = bx * cosine - by * sine + share * new_ax
            new_by = bx * sine + by * cosine + share * new_ay
            x.band[j, 0, e] = new_ax
            x.band[j, 1, e] = new_ay
            x.band[j, 2, e] = new_bx
            x.band[j, 3, e] = new_by
            x.band_power[j, e] += 2.0 * (new_bx * new_bx + new_by * new_by)


@kernel
def check_model(x, k, top):
    """Set the status of lanes where more than the tip touches; ``top`` is the largest height of the relief, m."""
    n, lanes = x.segment_angle.shape
    for e in range(lanes):
        reach = x.plate_distance[e] < x.length[e]
        tip_angle = x.segment_angle[n - 1, e]
        flipped = reach & ((tip_angle <= 0.0) | (tip_angle >= math.pi))
        buried = reach & (k.highest[e] > x.plate_distance[e] + x.relief[e] * top + DEPTH)
        failure = BURIED if buried else (FLIPPED if flipped else 0.0)
        x.status[e] = failure if x.status[e] == 0.0 else x.status[e]


@kernel
def clear_means(x, k):
    """Clear the sums over an ``advance``."""
    lanes = x.length.shape[0]
    for e in range(lanes):
        x.contact[e] = 0.0
        k.highest[e] = -1.0
    for j in range(len(BANDS)):
        for e in range(lanes):
            x.band_power[j, e] = 0.0
    for j in range(3):
        for e in range(lanes):
            x.base_wrench_mean[j, e] = 0.0
        for i in range(SAMPLES):
            for e in range(lanes):
                x.base_wrench_samples[i, j, e] = 0.0


@kernel
def take_means(x, steps, dt):
    """Convert the sums over an ``advance`` to means."""
    lanes = x.length.shape[0]
    for j in range(3):
        for i in range(SAMPLES):
            # With fewer steps than samples, empty samples repeat the previous one.
            first = (i * steps + SAMPLES - 1) // SAMPLES
            count = ((i + 1) * steps + SAMPLES - 1) // SAMPLES - first
            for e in range(lanes):
                total = x.base_wrench_samples[i, j, e]
                x.base_wrench_mean[j, e] += total / steps
                x.base_wrench_samples[i, j, e] = total / count if count > 0 else x.base_wrench_samples[i - 1, j, e]
    for e in range(lanes):
        x.contact[e] /= steps * dt
        for j in range(len(BANDS)):
            x.band_power[j, e] /= steps


@kernel
def prepare(xs, ks, dt, profile, period, top):
    """Compute segments and filters from the parameters; the arguments are those of :func:`midpoint`."""
    segments(xs, ks)
    scale(xs[0], ks[0], dt)
    tune_bands(ks[0], dt)


@kernel
def midpoint(xs, ks, steps, dt, profile, period, top):
    """Take ``steps`` steps of ``dt`` (s) of the linearly implicit midpoint rule with contact at the velocity level.

    Elasticity and damping are implicit and linear in the rate increments. Inertia is evaluated at the extrapolated
    middle of the step. N increments are eliminated in O(N). If a segment of a lane would turn by more than 0.05 rad,
    the step of that lane is divided.

    The equations are Eqs 5-13 of Oladazimi, Putelat et al. (2021); the scheme is ours. Call :func:`prepare` first.
    ``status`` becomes FLIPPED, BURIED or WILD if the model is no longer valid.

    Args:
        xs, ks ((1,) records of ``state_dtype(n)`` and ``work_dtype(n)`` in lanes)
        profile ((K, 4) float, m): Relief of the plate, see :func:`surface`.
        period, top (m): Period and largest height of the relief.
    """
    x = xs[0]
    k = ks[0]
    clear_means(x, k)
    for step in range(steps):
        _step(x, k, dt, profile, period)
        keep_forces(x, k, dt, step * SAMPLES // steps)
        follow_bands(x, k)
        check_model(x, k, top)
    take_means(x, steps, dt)


MIDPOINT = batch_kernel(midpoint, BROKEN, prepare=prepare)


@kernel
def rods(rows, blocks, lanes, work, out):
    """Compute the segments of many whiskers, see :func:`segments`.

    ``rows`` (B, K) are records of ``state_dtype(n)`` as numbers. ``blocks`` is a (1,) record with one lane, ``lanes``
    the same as numbers, and ``work`` scratch space. The output ``out`` (B, 6, n) is length (m), mass of the outer node
    (kg), inertia (kg m^2), and stiffness (N m), viscosity (N m s) and rest angle (rad) of the joint before.
    """
    for a in range(len(rows)):
        for j in range(rows.shape[1]):
            lanes[0, j, 0] = rows[a, j]
        segments(blocks, work)
        k = work[0]
        for i in range(out.shape[2]):
            out[a, 0, i] = k.segment_length[i, 0]
            out[a, 1, i] = k.node_mass[i, 0]
            out[a, 2, i] = k.inertia[i, 0]
            out[a, 3, i] = k.stiffness[i, 0]
            out[a, 4, i] = k.viscosity[i, 0]
            out[a, 5, i] = k.rest_angle[i, 0]
