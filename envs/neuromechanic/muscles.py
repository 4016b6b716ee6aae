"""Hill muscles and springs: curves, activation, and force from the state; Bunderson et al. (2012), Eqs 12 and 13.

The forces of Hill muscles are never negative, at any length, velocity and activation.
"""

from __future__ import annotations

import math

from ..core.kernels.jit import inlined, kernel
from ..core.kernels.maths import asinh, exp, log
from .skeleton import curve

RIGID_TENDON, COMPLIANT_TENDON, SHORT_RANGE, PROPORTIONAL, SPRING = 0, 1, 2, 3, 4
DE_GROOTE, THELEN, MUJOCO, TABLES = 0, 1, 2, 3
SMOOTH, SWITCHED, ZAJAC, SCHUTTE = 0, 1, 2, 3

TENDON_RATE = math.log(6.0) / 0.049
"""Exponent of the tendon curve, which gives the maximal force at a strain of 4.9%."""

GAUSSIANS = (
    (0.8150671134243542, 1.055033428970575, 0.162384573599574, 0.063303448465465),
    (0.433004984392647, 0.716775413397760, -0.029947116970696, 0.200356847296188),
    (0.1, 1.0, 0.353553390593274, 0.0),
)
"""Height b1, centre b2, and width b3 + b4 length of the Gaussians in De Groote's active curve, which is 1 at length 1.

OpenSim's constants, from the authors' program; the paper prints fewer digits.
"""

D1, D2, D3, D4 = -0.3211346127989808, -8.149, -0.374, 0.8825327733249912
"""Constants of De Groote's force-velocity curve d1 asinh(d2 v + d3) + d4, which is 1 at rest; sources as above."""

SHORTEST = math.exp(4.0 * (0.2 - 1.0) / 0.6)
"""Value of the exponential in De Groote's passive curve at the start of the curve."""

TENDON_STRAIN, PASSIVE_STRAIN, PASSIVE_SHAPE, ACTIVE_SHAPE, ECCENTRIC, CONCAVE = range(6)
"""Constants of Thelen's curves in ``shape`` (6,): strains of the tendon and of passive fibres at the maximal force,
shapes of the passive and the active curve, largest force of lengthening fibres, curvature of the force-velocity curve.
"""

SHORTEST_FIBRE, LONGEST_FIBRE, MOST, PASSIVE = range(4)
"""Constants of MuJoCo's curves in ``shape`` (6,), all relative: smallest and largest length of active fibres, largest
force of lengthening fibres, and twice the passive force halfway between optimal and largest length."""

ACTIVE, PASSIVE_FIBRE, VELOCITY, TENDON, DAMPING, CLIPPED = range(6)
"""Constants of muscles with curves of their own in ``shape`` (6,): the numbers of these curves, the damping of the
fibres in maximal forces at the maximal velocity, and 1 if the sum of active force and damping is at least 0."""

NEAR = 0.975
"""Fraction of the largest additional force of lengthening fibres up to which Thelen's curve is inverted."""

LEAST = 0.01
"""Smallest activation of a muscle with a compliant tendon, because its fibre velocity contains force / activation."""


CURVES = True
"""Whether muscles can have curves other than De Groote's; `variant` removes their code otherwise."""


@kernel
def force_length(curves, shape, length):
    """Return the active force-length curve, relative to the maximal force.

    Sources: three Gaussians (De Groote et al., 2016), one Gaussian (Thelen, 2003, Eq. 4), or four parabolas (MuJoCo,
    mju_muscleGain).

    Args:
        curves: DE_GROOTE, THELEN or MUJOCO, also in the functions below.
        shape ((6,) float): Constants of Thelen's or MuJoCo's curves, also in the functions below.
        length: Fibre length / optimal length.
    """
    if curves == MUJOCO:
        end = shape[SHORTEST_FIBRE] if length <= 1.0 else shape[LONGEST_FIBRE]
        x = (length - 1.0) / (end - 1.0)  # 0 at the top, 1 at the end
        return 1.0 - 2.0 * x * x if x <= 0.5 else 2.0 * (1.0 - x) ** 2 if x <= 1.0 else 0.0
    if curves != DE_GROOTE:
        return exp(-((length - 1.0) ** 2) / shape[ACTIVE_SHAPE])
    total = 0.0
    for b1, b2, b3, b4 in GAUSSIANS:
        total += b1 * exp(-0.5 * ((length - b2) / (b3 + b4 * length)) ** 2)
    return total


@kernel
def passive_force(curves, shape, length):
    """Return the passive force-length curve, relative to the maximal force and never negative.

    Sources: De Groote et al. (2016) with OpenSim's offset (0 up to a fifth of the optimal length, 1 at a strain of
    0.6), Thelen (2003), Eq. 3 (0 up to the optimal length, 1 at ``passive_strain``), or MuJoCo (mju_muscleBias; 0 up to
    the optimal length).
    """
    if curves == MUJOCO:
        x = max(length - 1.0, 0.0) / (0.5 * (shape[LONGEST_FIBRE] - 1.0))
        return shape[PASSIVE] * (0.5 * x * x if x <= 1.0 else x - 0.5)
    if curves != DE_GROOTE:
        steep = shape[PASSIVE_SHAPE]
        return max((exp(steep * (length - 1.0) / shape[PASSIVE_STRAIN]) - 1.0) / (exp(steep) - 1.0), 0.0)
    return max((exp(4.0 * (length - 1.0) / 0.6) - SHORTEST) / (exp(4.0) - SHORTEST), 0.0)


@kernel
def fastest(curves, a):
    """Return largest shortening velocity / maximal velocity at activation ``a``; Thelen (2003), Eq. 6."""
    return 0.25 + 0.75 * a if curves == THELEN else 1.0


@kernel
def force_velocity(curves, shape, v):
    """Return the force-velocity curve and its slope; the force is 0 above the largest shortening velocity.

    Sources: De Groote et al. (2016), hyperbolas of Thelen (2003), Eqs 6 and 7 (the slope doubles from shortening to
    lengthening), or parabolas of MuJoCo (mju_muscleGain).

    Args:
        v: Velocity / `fastest` velocity, negative for shortening.
    """
    if curves == DE_GROOTE:
        x = D2 * v + D3
        f = D1 * asinh(x) + D4
        return (f, D1 * D2 / math.sqrt(1.0 + x * x)) if f > 0.0 else (0.0, 0.0)
    if v <= -1.0:
        return 0.0, 0.0
    if curves == MUJOCO:
        most = shape[MOST] - 1.0
        if v <= 0.0:
            return (v + 1.0) ** 2, 2.0 * (v + 1.0)
        return (shape[MOST] - (most - v) ** 2 / most, 2.0 * (most - v) / most) if v <= most else (shape[MOST], 0.0)
    concave, more = shape[CONCAVE], shape[ECCENTRIC] - 1.0
    if v <= 0.0:
        d = 1.0 - v / concave
        return (1.0 + v) / d, (1.0 + 1.0 / concave) / (d * d)
    c = more / (2.0 + 2.0 / concave)
    return 1.0 + more * v / (v + c), more * c / (v + c) ** 2


@kernel
def velocity_of(curves, shape, f):
    """Return velocity / `fastest` velocity for which `force_velocity` is ``f``."""
    if curves == DE_GROOTE:
        e = exp((f - D4) / D1)
        return (0.5 * (e - 1.0 / e) - D3) / D2
    if f <= 0.0:
        return -1.0
    concave, more = shape[CONCAVE], shape[ECCENTRIC] - 1.0
    if f <= 1.0:
        return (f - 1.0) / (1.0 + f / concave)
    g = min(f - 1.0, NEAR * more)
    return more / (2.0 + 2.0 / concave) * g / (more - g)


@kernel
def tendon_force(curves, shape, length):
    """Return tendon force / maximal force at ``length`` / slack length.

    Sources: De Groote et al. (2016), Eq. 2, which is negative for a slack tendon, or Thelen (2003), Eq. 5.
    """
    if curves == DE_GROOTE:
        return 0.2 * (exp(TENDON_RATE * (length - 1.0)) - 1.0)
    strain, most = length - 1.0, shape[TENDON_STRAIN]
    toe = 0.609 * most
    if strain > toe:
        return 1.712 / most * (strain - toe) + 0.33
    return 0.33 / (exp(3.0) - 1.0) * (exp(3.0 * strain / toe) - 1.0) if strain > 0.0 else 0.0


@kernel
def tendon_length(curves, shape, f):
    """Return length / slack length for which `tendon_force` is ``f``."""
    if curves == DE_GROOTE:
        return 1.0 + log(max(1.0 + 5.0 * f, 1e-12)) / TENDON_RATE
    most = shape[TENDON_STRAIN]
    toe = 0.609 * most
    if f > 0.33:
        return 1.0 + toe + (f - 0.33) * most / 1.712
    return 1.0 + toe / 3.0 * log(1.0 + max(f, 0.0) * (exp(3.0) - 1.0) / 0.33)


@kernel
def activation_rate(kind, rise, fall, e, a):
    """Return the rate of activation (1/s), Eq. 12.

    Args:
        kind: SMOOTH: blend of the two time constants over a tenth of the range of ``e - a`` (De Groote et al., 2016,
            Eq. 1); SWITCHED: Thelen (2003), Eq. 1; ZAJAC: Zajac (1989), Eq. 13; SCHUTTE: the same while activation
            rises, and exponential with the time constant ``fall`` otherwise (OpenSim's Schutte1993Muscle).
        rise, fall (s): Time constants of activation and deactivation.
        e, a (0 to 1): Excitation and activation.
    """
    if kind == SMOOTH:
        f = 0.5 - 1.0 / (exp(20.0 * (e - a)) + 1.0)
        s = 0.5 + 1.5 * a
        return (e - a) * ((f + 0.5) / (rise * s) + s * (0.5 - f) / fall)
    if kind == SWITCHED:
        s = 0.5 + 1.5 * a
        return (e - a) / (rise * s) if e > a else (e - a) * s / fall
    if kind == SCHUTTE:
        return (e - a) * (1.0 / fall + max(1.0 / rise - 1.0 / fall, 0.0) * (e if e > a else 0.0))
    b = rise / fall
    return (e - (b + (1.0 - b) * e) * a) / rise


@kernel
def pennate(t, m, along):
    """Return fibre length (m) and cosine of the pennation angle from the fibre's projection on the tendon (m).

    The thickness of the muscle is constant.
    """
    c = t.cos_pennation[m]
    h = t.optimal_length[m] * math.sqrt(max(1.0 - c * c, 0.0))
    along = max(along, 1e-6)
    fibre = math.sqrt(along * along + h * h)
    return fibre, along / fibre


@inlined
def contract(t, k, m, a, fibre, strength):
    """Compute fibre length, its rate, force, and slope dF/d(rate of the path) of muscle ``m``.

    The force is F = Fmax (a fl fv + fp) cos(alpha) for a rigid tendon, the tendon's force for a compliant one, and
    F = Fmax a (fl + kappa dl/lopt + beta ldot/lopt) cos(alpha), at least 0, for short-range stiffness (illustrations 1
    and 2).

    Reads ``k.length`` and ``k.rate``, writes ``k.fibre``, ``k.fibre_rate``, ``k.force`` and ``k.slope``. ``a`` is the
    activation, or the excitation of a proportional muscle, Eq. 13. ``fibre`` (m) is the fibre length for a compliant
    tendon. ``strength`` is a factor on the maximal force.
    """
    kind, optimal, shape = t.muscle[m], t.optimal_length[m], t.thelen[m]
    curves = t.curves[m] if CURVES else DE_GROOTE
    most = strength * t.max_force[m]
    if CURVES and curves == TABLES:
        contract_own(t, k, m, a, fibre, most)
    elif kind == RIGID_TENDON:
        fibre, c = pennate(t, m, k.length[m] - t.slack_length[m])
        speed = t.max_velocity[m] * optimal * fastest(curves, a)
        rate = k.rate[m] * c
        f, slope = force_velocity(curves, shape, rate / speed)
        active = a * force_length(curves, shape, fibre / optimal)
        k.fibre[m], k.fibre_rate[m] = fibre, rate
        k.force[m] = most * (active * f + passive_force(curves, shape, fibre / optimal)) * c
        k.slope[m] = most * active * slope * c * c / speed
    elif kind == COMPLIANT_TENDON:
        a = max(a, LEAST)
        h = optimal * math.sqrt(max(1.0 - t.cos_pennation[m] ** 2, 0.0))
        c = math.sqrt(max(1.0 - (h / fibre) ** 2, 1e-6)) if fibre > h else 1e-3
        f = tendon_force(curves, shape, (k.length[m] - fibre * c) / t.slack_length[m])
        g = (f / c - passive_force(curves, shape, fibre / optimal)) / (a * force_length(curves, shape, fibre / optimal))
        k.fibre[m] = fibre
        # Beyond these forces the curve would give velocities that are too fast for the time step.
        g = min(max(g, 0.0), 1.8)
        k.fibre_rate[m] = t.max_velocity[m] * optimal * fastest(curves, a) * velocity_of(curves, shape, g)
        k.force[m] = most * max(f, 0.0)
        k.slope[m] = 0.0
    elif kind == SHORT_RANGE:
        c = t.cos_pennation[m]
        stretch, rate = k.length[m] - t.reference_length[m], k.rate[m]
        k.fibre[m], k.fibre_rate[m] = optimal + stretch, rate
        per = most * a * c / optimal
        f = optimal * t.force_length[m] + t.short_stiffness[m] * stretch + t.short_viscosity[m] * rate
        k.force[m] = per * max(f, 0.0)
        k.slope[m] = per * t.short_viscosity[m] if f > 0.0 else 0.0
    else:
        contract_proportional(t, k, m, a, strength)


@kernel
def contract_own(t, k, m, a, fibre, most):
    """Apply `contract` to a muscle with curves of its own and the maximal force ``most`` (N).

    Its fibres can have damping: F = Fmax (a fl fv + fp + damping v) cos(alpha), where v is the relative velocity.
    """
    optimal, damping = t.optimal_length[m], t.thelen[m, DAMPING]
    speed = t.max_velocity[m] * optimal
    if t.muscle[m] == RIGID_TENDON:
        fibre, c = pennate(t, m, k.length[m] - t.slack_length[m])
        rate = k.rate[m] * c
        f, slope = curve_of(t, m, VELOCITY, rate / speed)
        active = a * curve_of(t, m, ACTIVE, fibre / optimal)[0]
        force = active * f + curve_of(t, m, PASSIVE_FIBRE, fibre / optimal)[0] + damping * rate / speed
        k.force[m] = most * c * max(force, 0.0)
        k.slope[m] = most * c * c * (active * slope + damping) / speed if force > 0.0 else 0.0
    else:
        h = optimal * math.sqrt(max(1.0 - t.cos_pennation[m] ** 2, 0.0))
        c = math.sqrt(max(1.0 - (h / fibre) ** 2, 1e-6)) if fibre > h else 1e-3
        f = max(curve_of(t, m, TENDON, (k.length[m] - fibre * c) / t.slack_length[m])[0], 0.0)
        active = max(a, LEAST) * curve_of(t, m, ACTIVE, fibre / optimal)[0]
        rest = f / c - curve_of(t, m, PASSIVE_FIBRE, fibre / optimal)[0]
        if t.thelen[m, CLIPPED] != 0.0:
            rest = max(rest, 0.0)
        low, high, v = -1.0, 1.0, 0.0
        for _ in range(40):  # Newton's method within bounds
            g, slope = curve_of(t, m, VELOCITY, v)
            excess = active * g + damping * v - rest
            if abs(excess) < 1e-12:
                break
            low, high = (low, v) if excess > 0.0 else (v, high)
            v -= excess / max(active * slope + damping, 1e-9)
            if not low < v < high:
                v = 0.5 * (low + high)
        rate = speed * v
        k.force[m], k.slope[m] = most * f, 0.0
    k.fibre[m], k.fibre_rate[m] = fibre, rate


@kernel
def curve_of(t, m, part, x):
    """Return a curve of muscle ``m`` at ``x`` (ACTIVE, PASSIVE_FIBRE, VELOCITY or TENDON), and its slope if known.

    Splines of active fibres are not negative, and tendons do not pull if they are slack.
    """
    curves, shape = t.curves[m], t.thelen[m]
    if curves == TABLES:
        y, slope, _ = curve(t, int(shape[part]), x)
        if part in (ACTIVE, TENDON):
            y = max(y, 0.0) if part == ACTIVE or x >= 1.0 else 0.0
        return y, slope
    if part == VELOCITY:
        return force_velocity(curves, shape, x)
    if part == TENDON:
        return tendon_force(curves, shape, x), 0.0
    return force_length(curves, shape, x) if part == ACTIVE else passive_force(curves, shape, x), 0.0


@kernel
def stretched(t, m, f):
    """Return the length / slack length of the tendon of muscle ``m`` at the force ``f`` (maximal forces)."""
    if t.curves[m] != TABLES:
        return tendon_length(t.curves[m], t.thelen[m], f)
    low, high = 1.0, 2.0
    for _ in range(60):
        x = 0.5 * (low + high)
        low, high = (x, high) if curve_of(t, m, TENDON, x)[0] < f else (low, x)
    return high


@kernel
def contract_proportional(t, k, m, e, strength):
    """Apply `contract` to a proportional muscle with excitation ``e``, Eq. 13."""
    k.fibre[m], k.fibre_rate[m] = k.length[m], k.rate[m]
    k.force[m] = strength * t.max_force[m] * min(max(e, t.excitation_low[m]), t.excitation_high[m])
    k.slope[m] = 0.0


@kernel
def stretch_spring(t, k, m):
    """Apply `contract` to a spring, F = K s (1 + D s') with the stretch s (m), which is at least 0 for a string."""
    stretch, rate = k.length[m] - t.reference_length[m], k.rate[m]
    if t.force_length[m] == 0.0:
        stretch = max(stretch, 0.0)
    k.fibre[m], k.fibre_rate[m] = k.length[m], rate
    k.force[m] = t.short_stiffness[m] * stretch * (1.0 + t.short_viscosity[m] * rate)
    k.slope[m] = t.short_stiffness[m] * max(stretch, 0.0) * t.short_viscosity[m]


@kernel
def resting_fibre(t, m, length, a):
    """Return the fibre length (m) at which the fibres and the compliant tendon of muscle ``m`` balance; Eq. 20.

    ``length`` (m) is the length of the path and ``a`` the activation.
    """
    optimal = t.optimal_length[m]
    h = optimal * math.sqrt(max(1.0 - t.cos_pennation[m] ** 2, 0.0))
    low, high = max(0.2 * optimal, 1.01 * h), math.sqrt(length * length + h * h)
    if tension(t, m, length, a, low, h) <= 0.0:
        low = max(0.01 * optimal, 1.01 * h)
    for _ in range(60):
        fibre = 0.5 * (low + high)
        if tension(t, m, length, a, fibre, h) > 0.0:
            low = fibre
        else:
            high = fibre
    return 0.5 * (low + high)


@kernel
def tension(t, m, length, a, fibre, h):
    """Return the excess of the tendon's force over that of fibres of length ``fibre`` and height ``h`` (m)."""
    optimal = t.optimal_length[m]
    c = math.sqrt(max(1.0 - (h / fibre) ** 2, 1e-6))
    f = curve_of(t, m, TENDON, (length - fibre * c) / t.slack_length[m])[0]
    still = curve_of(t, m, ACTIVE, fibre / optimal)[0] * curve_of(t, m, VELOCITY, 0.0)[0]
    return f - (max(a, LEAST) * still + curve_of(t, m, PASSIVE_FIBRE, fibre / optimal)[0]) * c


@kernel
def rest_fibres(ts, lengths, activations, fibres):
    """Write `resting_fibre` to ``fibres`` (f,) m, from ``lengths`` (m,) m of all paths and ``activations`` (a,)."""
    t = ts[0]
    for m in range(t.muscles):
        if t.fibre[m] >= 0:
            fibres[t.fibre[m]] = resting_fibre(t, m, lengths[m], activations[t.activation[m]])
