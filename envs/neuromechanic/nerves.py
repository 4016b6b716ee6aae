"""Nervous systems: signals, delays, neurons, splines, and control modules; Bunderson et al. (2012), Eqs 8 to 10.

Kernels have the record arguments that `body` describes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..core.kernels.jit import inlined, kernel, uncached
from ..core.kernels.maths import exp, log
from .elastic import GAP, PRESS
from .skeleton import place, point_motion

LINEAR, SIGMOID, TANH, HEAVISIDE, SATURATE = 0, 1, 2, 3, 4
CONSTANT, POSITION, VELOCITY, NEURON, SPLINE, INPUT, MODULE = 0, 1, 2, 9, 10, 11, 12
LENGTH, LENGTH_RATE, FIBRE_LENGTH, FIBRE_VELOCITY, FORCE, ACTIVATION = range(3, 9)
PLACE, SPEED, HEIGHT, PRESSURE = range(13, 17)
"""Kinds of signals for synapses, excitations and motors."""


@kernel
def piece(t, s, time):
    """Return the piece of cubic spline ``s`` at ``time`` (s), clipped to the spline's range, and the time (s) in it."""
    first, last = t.spline_start[s], t.spline_start[s + 1] - 1
    x = min(max(time, t.spline_time[first]), t.spline_time[last])
    i = first
    while i < last - 1 and x >= t.spline_time[i + 1]:
        i += 1
    return i, x - t.spline_time[i]


@kernel
def spline(t, s, time):
    """Return the value of cubic spline ``s`` at ``time`` (s), constant beyond its ends."""
    i, d = piece(t, s, time)
    c = t.spline_cubic[i]
    return c[3] + d * (c[2] + d * (c[1] + d * c[0]))


@kernel
def spline_motion(t, s, time):
    """Return value, rate and acceleration of cubic spline ``s`` at ``time`` (s), constant beyond its ends."""
    i, d = piece(t, s, time)
    c = t.spline_cubic[i]
    value = c[3] + d * (c[2] + d * (c[1] + d * c[0]))
    if not t.spline_time[t.spline_start[s]] <= time < t.spline_time[t.spline_start[s + 1] - 1]:
        return value, 0.0, 0.0
    return value, c[2] + d * (2.0 * c[1] + 3.0 * d * c[0]), 2.0 * c[1] + 6.0 * d * c[0]


@kernel
def signal(t, k, x, z, time, kind, index):
    """Return the present value, in SI, of the signal of a ``kind`` and ``index``; ``k`` must contain it already."""
    n = t.bodies
    if kind == POSITION:
        return z[index] if index < n else k.follow[index, 0]
    if kind == VELOCITY:
        return z[n + index] if index < n else k.follow[index, 1] * z[n + t.coordinate[index]]
    if kind == LENGTH:
        return k.length[index]
    if kind == LENGTH_RATE:
        return k.rate[index]
    if kind == FIBRE_LENGTH:
        return k.fibre[index]
    if kind == FIBRE_VELOCITY:
        return k.fibre_rate[index]
    if kind == FORCE:
        return k.force[index]
    if kind == ACTIVATION:
        return z[2 * n + t.states + t.activation[index]]
    if kind == NEURON:
        return k.neuron[index]
    if kind == SPLINE:
        return spline(t, index, time)
    if kind == INPUT:
        return x.input[index]
    if kind == MODULE:
        return k.output[index]
    if kind == PLACE:
        return k.origin[index // 3, index % 3]
    if kind == SPEED:
        o = k.origin[index // 3]
        v0, v1, v2, _, _, _ = point_motion(k, index // 3, o[0], o[1], o[2])
        return v0 if index % 3 == 0 else v1 if index % 3 == 1 else v2
    if kind == HEIGHT:
        if t.touches > 0:
            return k.touch[index, GAP]
        px, py, pz = place(k, t.contact_body[index], t.contact_at[index])
        normal = t.contact_frame[index, 0]
        return normal[0] * px + normal[1] * py + normal[2] * pz - t.contact_height[index]
    if kind == PRESSURE:
        if t.touches > 0:
            return k.touch[index, PRESS]
        return x.impulse[index * t.contact_rows] / t.interval[0]
    return 0.0


@inlined
def past(t, x, column, delay, fraction):
    """Return the value of a signal ``delay`` steps before a fraction (0 to 1) of the present step.

    Values between steps are interpolated linearly. The row's factor ``x.delay`` scales all delays, which are at least
    one step. ``column`` is the index of the delayed signal. The ring buffer ``x.ring`` has ``t.depth`` steps of
    ``t.delays`` signals, with the present step at ``x.step``.
    """
    ago = x.step - max(delay * x.delay, 1.0)
    at = math.floor(ago)
    fraction += ago - at
    if fraction >= 1.0:
        at, fraction = at + 1, fraction - 1.0
    value = x.ring[at % t.depth * t.delays + column]
    if fraction > 0.0:
        value += fraction * (x.ring[(at + 1) % t.depth * t.delays + column] - value)
    return value


@inlined
def remember(t, k, x, z):
    """Write the present values of all delayed signals to ``x.ring``, for `past`."""
    for d in range(t.delays):
        row = int(x.step) % t.depth
        x.ring[row * t.delays + d] = signal(t, k, x, z, x.time, t.delayed[d, 0], t.delayed[d, 1])


@kernel
def shaped(shape, low, high, s):
    """Return a shaping function (Eq. 9, or saturation between ``low`` and ``high``) of a sum ``s``."""
    if shape == SIGMOID:
        return 1.0 / (1.0 + exp(-s))
    if shape == TANH:
        return 1.0 - 2.0 / (exp(2.0 * s) + 1.0)
    if shape == HEAVISIDE:
        return high if s >= 0.0 else low
    if shape == SATURATE:
        return min(max(s, low), high)
    return s


@kernel
def bent(value, power):
    """Return the power of the magnitude of ``value``, with the sign of ``value``."""
    if value == 0.0:
        return 0.0
    return math.copysign(exp(power * log(abs(value))), value)


@inlined
def leaky_neurons(t, k, z):
    """Write the outputs ``k.neuron`` of leaky neurons, which come last in order, from their states in ``z``."""
    instant, state = t.neurons - t.leaky, 2 * t.bodies + t.states - t.leaky
    for i in range(t.leaky):
        j = t.order[instant + i]
        k.neuron[j] = shaped(t.shape[j], t.low[j], t.high[j], z[state + i])


@kernel
def make_neurons_exact(t, k, dt):
    """Change the rates ``k.dz`` of leaky neurons so that an Euler step of ``dt`` s is exact for constant inputs.

    The step is then stable for any time constant.
    """
    state = 2 * t.bodies + t.states - t.leaky
    for i in range(t.leaky):
        h = dt / t.tau[i]
        k.dz[state + i] *= (1.0 - exp(-h)) / h


@inlined
def neurons(t, k, x, z, time, fraction):
    """Write the outputs ``k.neuron`` of all neurons, each after those that it reads without delay; Eq. 8.

    Extensions of the paper: a signal can multiply the gain of a synapse (presynaptic modulation), synapses can have
    powers, and leaky neurons with time constant tau have a state s, part of n in Eq. 3, with tau ds/dt = -s + sum.
    """
    instant, state = t.neurons - t.leaky, 2 * t.bodies + t.states - t.leaky
    for i in range(t.neurons):
        j = t.order[i]
        total = t.bias[j]
        for s in range(t.synapse_start[j], t.synapse_start[j + 1]):
            kind, index, column, delay, by, which = t.synapse[s]
            value = past(t, x, column, delay, fraction) if column >= 0 else signal(t, k, x, z, time, kind, index)
            value = value - t.offset[s]
            if t.power[s] != 1.0:
                value = bent(value, t.power[s])
            value = t.gain[s] * value
            total += value if by == CONSTANT else value * signal(t, k, x, z, time, by, which)
        if i < instant:
            k.neuron[j] = total if t.shape[j] == LINEAR else shaped(t.shape[j], t.low[j], t.high[j], total)
        else:
            k.dz[state + i - instant] = (total - z[state + i - instant]) / t.tau[i - instant]


class Module(NamedTuple):
    """Control module: a kernel with states and outputs, Eq. 10.

    Args:
        states, outputs: Numbers of states and of outputs; output i is the signal ``module.NAME.i``.
        kernel (kernel, or a function that numba can compile): Called as ``kernel(time, q, v, n, momentum, inputs,
            heard, dn, out)``. It writes the rates ``dn`` of its states ``n`` and its outputs ``out``. ``momentum``
            (12,) is the angular momentum about the centre of mass, the linear momentum, and position and velocity of
            the centre of mass. ``heard`` has the values of ``reads``.
        reads (sequence of str): Names of signals, such as lengths, velocities, forces and activations of muscles, leaky
            neurons and splines.

    Examples:
        One module that integrates the stretch of a muscle beyond 0.35 m, and one that computes its power:

        >>> from gymnosoma.envs.neuromechanic import Module, Neuromechanic, load
        >>> from gymnosoma.envs.neuromechanic.hindlimb import asset
        >>> def stretch(time, q, v, n, momentum, inputs, heard, dn, out):
        ...     dn[0] = heard[0] - 0.35
        ...     out[0] = n[0]
        >>> def power(time, q, v, n, momentum, inputs, heard, dn, out):
        ...     out[0] = -heard[0] * heard[1]
        >>> modules = {
        ...     "stretch": Module(1, 1, stretch, ["muscle.biceps.length"]),
        ...     "power": Module(0, 1, power, ["muscle.biceps.force", "muscle.biceps.velocity"]),
        ... }
        >>> arm = asset("arm")
        >>> arm["neuron"]["reflex"]["synapse"].append({"from": "module.stretch.0", "gain": 5.0})
        >>> animal = Neuromechanic(load(arm, modules))
        >>> rows = animal.rows(1)
        >>> rows["n"].shape  # one state for each row
        (1, 1)
    """

    states: int
    outputs: int
    kernel: Any
    reads: tuple[str, ...] | list[str] = ()


def chain(modules: tuple[Module, ...]) -> Any:
    """Return one kernel that calls the kernels of all modules, each with its part of states, readings and outputs."""
    first, *others = modules
    if not others:
        return first.kernel
    one, rest = (uncached(function) for function in (first.kernel, chain(tuple(others))))
    states, outputs, reads = first.states, first.outputs, len(first.reads)

    def both(time, q, v, n, momentum, inputs, heard, dn, out):
        one(time, q, v, n[:states], momentum, inputs, heard[:reads], dn[:states], out[:outputs])
        rest(time, q, v, n[states:], momentum, inputs, heard[reads:], dn[states:], out[outputs:])

    return both
