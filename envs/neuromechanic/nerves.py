"""Neurons: signals, delays, shaping functions and splines; Bunderson et al. (2012), Eqs 8 and 9."""

from __future__ import annotations

import math

from ..core.jit import exp, kernel

LINEAR, SIGMOID, TANH, HEAVISIDE, SATURATE = 0, 1, 2, 3, 4
(
    CONSTANT,
    POSITION,
    VELOCITY,
    LENGTH,
    LENGTH_RATE,
    FIBRE_LENGTH,
    FIBRE_VELOCITY,
    FORCE,
    ACTIVATION,
    NEURON,
    SPLINE,
    INPUT,
    MODULE,
) = range(13)
"""Kinds of signals: what synapses, excitations and motors read."""


@kernel
def spline(t, s, time):
    """Value of cubic spline ``s`` at ``time`` (s), constant beyond its ends."""
    first, last = t.spline_start[s], t.spline_start[s + 1] - 1
    x = min(max(time, t.spline_time[first]), t.spline_time[last])
    i = first
    while i < last - 1 and x >= t.spline_time[i + 1]:
        i += 1
    d = x - t.spline_time[i]
    c = t.spline_cubic[i]
    return c[3] + d * (c[2] + d * (c[1] + d * c[0]))


@kernel
def signal(t, k, x, z, time, kind, index):
    """Present value of a signal, in SI.

    Parameters
    ----------
    t : record of the model
    k : record of scratch space
        Evaluated so far.
    x : record of state
    z : (N,) float
        State vector.
    time : float, s
    kind, index : int
        What, and which.
    """
    n = t.bodies
    if kind == POSITION:
        return z[index]
    if kind == VELOCITY:
        return z[n + index]
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
    return 0.0


@kernel
def past(t, x, column, delay, fraction):
    """Value that a signal had ``delay`` steps before ``fraction`` (0 to 1) of the present step, linear in between.

    The row's factor ``delay`` shortens all delays; that none gets shorter than a step is checked where it is set.

    Parameters
    ----------
    t : record of the model
    x : record of state
        ``x.ring`` holds ``t.depth`` steps of the ``t.delays`` delayed signals, the present step at ``x.step``.
    column : int
        Which delayed signal.
    delay : int
        In time steps.
    fraction : float
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


@kernel
def remember(t, k, x, z):
    """Keep the present of all delayed signals in ``x.ring``, for `past`."""
    for d in range(t.delays):
        row = int(x.step) % t.depth
        x.ring[row * t.delays + d] = signal(t, k, x, z, x.time, t.delayed[d, 0], t.delayed[d, 1])


@kernel
def shaped(shape, low, high, s):
    """Shaping functions of Eq. 9 of a sum ``s``, and saturation between ``low`` and ``high``."""
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
def neurons(t, k, x, z, time, fraction):
    """Outputs ``k.neuron`` of all neurons, each after those that it listens to without delay; Eq. 8.

    The gain of a synapse may be multiplied by a further signal, as by presynaptic modulation, which is ours.

    Parameters
    ----------
    t : record of the model
    k : record of scratch space
        Written.
    x : record of state
    z : (N,) float
    time : float, s
    fraction : float
        Part of the step that has passed, at which delayed values are read.
    """
    for i in range(t.neurons):
        j = t.order[i]
        total = 0.0
        for s in range(t.synapse_start[j], t.synapse_start[j + 1]):
            kind, index, column, delay, by, which = t.synapse[s]
            value = past(t, x, column, delay, fraction) if column >= 0 else signal(t, k, x, z, time, kind, index)
            value = t.gain[s] * (value - t.offset[s])
            total += value if by == CONSTANT else value * signal(t, k, x, z, time, by, which)
        k.neuron[j] = total if t.shape[j] == LINEAR else shaped(t.shape[j], t.low[j], t.high[j], total)
