"""Kernels for the neurons of a circuit, with running sums along the cord and animals in lanes.

A circuit has populations of cells, one per side and segment, and projections between them. A projection extends over a
range of segments, so the sum over its sources is the difference of two running sums. Loops within a step run over
segments and lanes together, with branches on a cell's dynamics outside.

The arguments ``xs`` and ``ks`` of the kernels are records (1,) of state and scratch space in lanes. In addition to the
fields of an animal, they have those of ``circuit_fields`` and ``circuit_work``. The argument ``circuit`` is a record
(1,) of constants (``circuit_dtype``). Side 0 is left, 1 right; a cell on the midline has side 0.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..kernels.jit import kernel, variant
from ..kernels.lanes import fields, nothing, record
from ..kernels.maths import exp, exp_head, exp_reduced, exp_tail, normal_at, sincos

EKEBERG, PHASE, MATSUOKA, LEAKY, BISTABLE, SWITCH, SENSE = range(7)
"""Dynamics of cells."""

STATES = (3, 1, 2, 1, 1, 1, 0)
"""Number of state variables of a cell, by dynamics."""

EXCITATORY, INHIBITORY, RATE = 0, 1, 2
"""Inputs of a cell; for phase oscillators, the factors of cosine and sine, and the addition to the frequency; RATE of
leaky cells is the conductance of their gap junctions."""

TANH, POSITIVE, LINEAR, SIGMOID = range(4)
OUTPUTS = {"tanh": TANH, "positive": POSITIVE, "linear": LINEAR, "sigmoid": SIGMOID}
"""Output functions of leaky cells."""


def circuit_fields(
    sides: int, neurons: int, cells: int, segments: int, states: int, projections: int, at: bool
) -> list[tuple]:
    """Return the fields that a circuit adds to the record of an animal; ``neurons`` of the ``cells`` have a state."""
    every = (projections, sides, segments) if at else (1, 1, 1)
    return fields(
        ("neuron", (states, sides, neurons, segments), "1", "state, by variable, side, population and segment"),
        ("noise_count", (), "1", "steps of the neurons, each with its set of random numbers"),
        ("tonic asymmetry head_extra", (), "1", "level of the brainstem, addition on the right, and to the head"),
        ("synapse", projections, "1", "factor on each projection"),
        ("synapse_at", every, "1", "factor by side and segment of the target, if enabled"),
        ("gain", (sides, cells, segments), "1", "factor on the output, from 0 (ablated) to 1"),
        ("segment_gain", (sides, segments), "1", "factor for all neurons of a segment"),
        ("cell_gain", (sides, cells), "1", "factor for a population"),
        ("cell_segments", 2, "1", "range of segments with cell_gain, without the end; not for senses"),
        ("touch", 2, "1", "of head and tail"),
        ("bath", segments, "1", "tonic drive, added to the brainstem's"),
        ("cut", (sides, max(segments - 1, 1)), "1", "1 if the axons of this side are cut behind a segment"),
        ("transection", (), "1", "segments in front of a cut of both sides; 0: no cut"),
        ("noise", neurons, "1", "standard deviation of the noise in a population's state"),
        ("noise_seed", (), "1", "seed of the noise"),
    )


RARE = ("synapse_at", "touch", "bath")
"""Parameters that only some circuits have as options; they are fields of all."""


def circuit_work(*sizes: int) -> list[tuple]:
    """Return the scratch fields of a circuit; ``states`` is 0 if there are no Runge-Kutta steps."""
    sides, neurons, cells, segments, states, joints, channels, links, windows, tracts, pad = sizes
    reference = (max(states, 1), sides, neurons if states else 1, segments if states else 1)
    return fields(
        ("weight", (links, sides, segments), "1", "of each projection, by side and segment of its target"),
        ("share", (windows, sides, segments), "1", "one over the number of sources"),
        ("intact", (sides, cells, segments), "1", "factor on outputs after all lesions"),
        ("open", (sides, segments), "1", "1 if axons of the brainstem arrive"),
        ("keep", (sides, segments), "1", "0 in the first segment behind a cut"),
        ("first last", (sides, segments), "1", "range of segments between the cuts around this one"),
        ("cut_at", (sides, segments), "1", "first segments behind the cuts"),
        ("cuts", sides, "1", "number of cuts"),
        ("level", (sides, neurons, segments), "1", "drive of a cell"),
        (
            "output",
            (sides, channels, segments),
            "1",
            "output of all cells; also sine and cosine, or state and presence",
        ),
        ("total", (sides, tracts, segments + 2 * pad + 1), "1", "running sums, by side of the axon"),
        ("received", (3, segments), "1", "EXCITATORY, INHIBITORY and RATE of one population and side"),
        ("part", segments, "1", "sums of one projection"),
        ("sensed", (sides, joints), "1", "signal at each joint"),
        ("sloped", joints, "1", "this signal times its slopes"),
        ("muscle", (sides, joints), "1", "drive of the muscles at each joint"),
        ("change", (3, segments), "1/s", "derivatives of the state of one population and side"),
        ("start slope", reference, "1, 1/s", "start of a Runge-Kutta step; weighted mean of the derivatives"),
    )


def circuit_dtype(
    sides: int, neurons: int, cells: int, segments: int, joints: int, links: int, windows: int, tracts: int, senses: int
) -> np.dtype:
    """Return the record type of a circuit's constants."""
    return record(
        (
            "kind sided states wave shape sense",
            cells,
            "1",
            "of populations; indices of sine (or state) and sense",
            "i8",
        ),
        ("begin end", cells, "1", "segments that have the cell", "i8"),
        ("threshold gain adaptation hysteresis", cells, "1", ""),
        ("rate adaptation_rate", cells, "1/s", ""),
        ("touch", (neurons, 2), "1", "input from a touch of head and tail"),
        ("brainstem bias", (neurons, sides, segments), "1", "strength of the tonic drive; constant input"),
        ("projection source target port window tract", links, "1", "tract -1: from the same segment alone", "i8"),
        ("source_side", (links, sides), "1", "by side of the target", "i8"),
        ("strength", (links, sides, segments), "1", ""),
        ("rostral caudal normalise from_begin from_end", windows, "1", "extents; segments with sources", "i8"),
        ("share", (windows, segments), "1", "one over the number of sources, of an intact cord"),
        ("tract_source", tracts, "1", "channel", "i8"),
        ("tract_side", (tracts, sides), "1", "side of its cells, by side of the axon", "i8"),
        ("felt", (senses, segments, joints), "1", "weights of joints in a sense"),
        ("felt_first felt_last", (senses, segments), "1", "range of joints with weights, without the end", "i8"),
        ("slopes", (senses, sides, 2), "1", "factors on positive and negative signals"),
        ("muscle_first muscle_last", joints, "1", "segments that drive the muscles of a joint", "i8"),
        ("activation series", joints, "1", "activation of antagonists per output; relative stiffness in series"),
        ("angle", (), "rad", "rest angle of a joint with a fully shortened side; 0 without antagonists"),
        ("stiffness damping", (), "1", "of antagonists, relative to the passive joint"),
        ("muscles head steps", (), "1", "population that drives muscles; segments of the head; substeps", "i8"),
        ("tile", (), "1", "period of the stored weights, segments", "i8"),
        ("clamp", (), "1", "1 if the end segments replace missing ones"),
    )


@kernel
def tanh(z):
    """Return the hyperbolic tangent, exactly odd; absolute error 2e-16."""
    e = exp(-2.0 * abs(z))
    t = (1.0 - e) / (1.0 + e)
    return -t if z < 0.0 else t


@kernel
def activity(excitation, inhibition, fatigue, threshold, gain):
    """Return the output of a neuron, Ekeberg (1993), Eq. 2; ``fatigue`` is mu theta."""
    u = 1.0 - exp((threshold - excitation) * gain) - inhibition - fatigue
    return u if u > 0.0 else 0.0


@kernel
def _find_cuts(xs, ks):
    """Find the cuts of axons on each side: set ``open`` and ``cuts``.

    If there is a cut, also set ``keep``, ``first``, ``last`` and ``cut_at``.
    """
    x, k = xs[0], ks[0]
    sides, segments, lanes = x.segment_gain.shape
    found = False
    for side in range(sides):
        for e in range(lanes):
            k.cuts[side, e] = 0.0
            found |= x.transection[e] > 0.0
        for q in range(x.cut.shape[1]):
            for e in range(lanes):
                found |= x.cut[side, q, e] > 0.0
        for q in range(segments):
            for e in range(lanes):
                k.open[side, q, e] = 1.0
    if not found:
        return
    for side in range(sides):
        for e in range(lanes):
            count, first = 0, 0
            for q in range(segments):
                across = x.cut[side, max(q - 1, 0), e] > 0.0 or math.ceil(x.transection[e]) == q
                k.keep[side, q, e] = 0.0 if q > 0 and across else 1.0
                if q > 0 and across:
                    k.cut_at[side, count, e] = q
                    count, first = count + 1, q
                k.first[side, q, e] = first
                k.open[side, q, e] = 1.0 if count == 0 else 0.0
            k.cuts[side, e] = count
            last = segments
            for q in range(segments - 1, -1, -1):
                k.last[side, q, e] = last
                last = q if k.keep[side, q, e] == 0.0 else last


@kernel
def is_cut(ks):
    """Return whether an axon is cut in any lane."""
    k = ks[0]
    found = False
    for side in range(k.cuts.shape[0]):
        for e in range(k.cuts.shape[1]):
            found |= k.cuts[side, e] > 0.0
    return found


@kernel
def _share_out(xs, ks, circuit):
    """Set ``share``: one over the number of existing sources between the same cuts."""
    x, k, p = xs[0], ks[0], circuit[0]
    sides, segments, lanes = x.segment_gain.shape
    for w in range(len(p.rostral)):
        for side in range(sides if is_cut(ks) else 1):
            for q in range(segments):
                for e in range(lanes):
                    k.share[w, side, q, e] = p.share[w, q]
            for e in range(lanes):
                for j in range(int(k.cuts[side, e]) if p.normalise[w] and p.clamp == 0.0 else 0):
                    at = int(k.cut_at[side, j, e])
                    begin, end = min(at - p.rostral[w], at), max(at + p.caudal[w], at + 1)
                    for q in range(max(begin, 0), min(end, segments)):
                        low = max(q - p.caudal[w], int(k.first[side, q, e]), p.from_begin[w])
                        high = min(q + p.rostral[w] + 1, int(k.last[side, q, e]), p.from_end[w])
                        k.share[w, side, q, e] = 1.0 / (high - low) if high > low else 0.0


@kernel
def prepare_circuit(xs, ks, circuit):
    """Compute weights, shares, lesions and cuts from the parameters, by segment and lane."""
    x, k, p = xs[0], ks[0], circuit[0]
    sides, segments, lanes = x.segment_gain.shape
    _find_cuts(xs, ks)
    _share_out(xs, ks, circuit)
    many, wide, long = x.synapse_at.shape[:3]
    read = segments if lanes == 1 else min(p.tile, segments)
    for i in range(len(p.projection)):
        n = p.projection[i]
        for side in range(sides):
            factor = x.synapse_at[min(n, many - 1), min(side, wide - 1)]
            for q in range(read):
                for e in range(lanes):
                    k.weight[i, side, q, e] = x.synapse[n, e] * p.strength[i, side, q]
            for q in range(read if long > 1 else 0):
                for e in range(lanes):
                    k.weight[i, side, q, e] = x.synapse[n, e] * factor[q, e] * p.strength[i, side, q]
    find_intact(xs, ks, circuit)


@kernel
def find_intact(xs, ks, circuit):
    """Set ``intact``: the factor that all lesions together put on the output of each cell."""
    x, k, p = xs[0], ks[0], circuit[0]
    sides, segments, lanes = x.segment_gain.shape
    first, last = x.cell_segments[0], x.cell_segments[1]
    for side in range(sides):
        lesion = x.segment_gain[side]
        for cell in range(len(p.kind)):
            intact, gain, own = k.intact[side, cell], x.gain[side, cell], x.cell_gain[side, cell]
            neural = p.kind[cell] != SENSE
            for q in range(segments):
                there = 1.0 if (p.begin[cell] <= q) & (q < p.end[cell]) else 0.0
                for e in range(lanes if neural else 0):
                    inside = (first[e] <= q) & (q < last[e])
                    intact[q, e] = there * (gain[q, e] * (lesion[q, e] * (own[e] if inside else 1.0)))
                for e in range(0 if neural else lanes):
                    intact[q, e] = there * (gain[q, e] * own[e])


@kernel
def prepare_drive(xs, ks, circuit):
    """Set ``level`` of each cell: its bias plus the tonic drive, the brainstem's in front of a cut and the bath's.

    The tonic drive is limited to 0 from below, if the asymmetry exceeds the tonic level. Cells on the midline have no
    asymmetry.
    """
    x, k, p = xs[0], ks[0], circuit[0]
    sides, segments, lanes = x.segment_gain.shape
    for sided in range(1, sides + 1):
        for side in range(sided):
            sign = 2.0 * side - 1.0 if sided == 2 else 0.0
            for q in range(segments):
                shared, arriving, bath = k.part[q], k.open[side, q], x.bath[q]
                head = 1.0 if q < p.head else 0.0
                for e in range(lanes):
                    tonic = x.tonic[e] * (1.0 + head * x.head_extra[e]) + sign * x.asymmetry[e]
                    drive = arriving[e] * tonic + bath[e]
                    shared[e] = drive if drive > 0.0 else 0.0
            for cell in range(k.level.shape[1]):
                if p.sided[cell] == sided:
                    level, strength, part = k.level[side, cell], p.brainstem[cell, side], k.part
                    for q in range(segments):
                        own, weight, shared, bias = level[q], strength[q], part[q], p.bias[cell, side, q]
                        head, tail = p.touch[cell, 0], p.touch[cell, 1]
                        for e in range(lanes):
                            own[e] = weight * shared[e] + bias + (head * x.touch[0, e] + tail * x.touch[1, e])


@kernel
def feel(ks, circuit, side, cell):
    """Set the ``output`` of a sense: a weighted mean or sum of the signal at the joints."""
    k, p = ks[0], circuit[0]
    segments, lanes = k.output.shape[2:]
    n, u, signal = p.sense[cell], k.output[side, cell], k.sensed[side]
    up, down = p.slopes[n, side, 0], p.slopes[n, side, 1]
    if up != 1.0 or down != 1.0:
        for j in range(len(signal)):
            for e in range(lanes):
                k.sloped[j, e] = signal[j, e] * (up if signal[j, e] > 0.0 else down)
        signal = k.sloped
    for q in range(segments):
        first, last = p.felt_first[n, q], p.felt_last[n, q]
        if last == first + 1:  # the most frequent case
            weight = p.felt[n, q, first]
            for e in range(lanes):
                u[q, e] = k.intact[side, cell, q, e] * (weight * signal[first, e])
            continue
        for e in range(lanes):
            u[q, e] = 0.0
        for j in range(first, last):
            for e in range(lanes):
                u[q, e] += p.felt[n, q, j] * signal[j, e]
        for e in range(lanes):
            u[q, e] *= k.intact[side, cell, q, e]


@kernel
def fire_cells(xs, ks, circuit, side, cell):
    """Set the ``output`` of a population on one side, and for phases their sine and cosine; Ekeberg (1993), Eq. 2."""
    x, k, p = xs[0], ks[0], circuit[0]
    segments, lanes = k.output.shape[2:]
    span = segments * lanes
    if p.kind[cell] != EKEBERG:
        _fire_others(xs, ks, circuit, side, cell)
        return
    threshold, gain, fatigue = p.threshold[cell], p.gain[cell], p.adaptation[cell]
    u, intact = k.output[side, cell].reshape(span), k.intact[side, cell].reshape(span)
    a, inhibited = x.neuron[0, side, cell].reshape(span), x.neuron[1, side, cell].reshape(span)
    tired = x.neuron[2, side, cell].reshape(span)
    rest, power = k.received[0].reshape(span), k.received[1].reshape(span)
    # Three loops, because a processor cannot start the next numbers of a longer one early enough.
    for f in range(span):
        rest[f], power[f] = exp_reduced((threshold - a[f]) * gain)
    for f in range(span):
        u[f] = exp_tail(rest[f])
    for f in range(span):
        active = 1.0 - power[f] * exp_head(rest[f], u[f]) - inhibited[f] - fatigue * tired[f]
        u[f] = intact[f] * (active if active > 0.0 else 0.0)


@kernel
def _fire_others(xs, ks, circuit, side, cell):
    """Set the ``output`` of a population other than Ekeberg's neurons.

    Cohen, Holmes & Rand (1982), max(0, A cos theta); Matsuoka (1985), max(0, x); leaky cells tanh(g (x - theta)), its
    positive part, g (x - theta), or 1/(1 + exp(-g (x - theta))); bistable cells V; switches 0 or 1.
    """
    x, k, p = xs[0], ks[0], circuit[0]
    segments, lanes = k.output.shape[2:]
    span = segments * lanes
    kind, threshold, gain = p.kind[cell], p.threshold[cell], p.gain[cell]
    u, intact = k.output[side, cell].reshape(span), k.intact[side, cell].reshape(span)
    a = x.neuron[0, side, cell].reshape(span)
    if kind == PHASE:
        sine, cosine = k.output[side, p.wave[cell]].reshape(span), k.output[side, p.wave[cell] + 1].reshape(span)
        for f in range(span):
            s, c = sincos(a[f])
            sine[f], cosine[f] = intact[f] * s, intact[f] * c
            u[f] = intact[f] * (gain * c if gain * c > 0.0 else 0.0)
    elif kind == MATSUOKA:
        for f in range(span):
            u[f] = intact[f] * (a[f] if a[f] > 0.0 else 0.0)
    elif kind == LEAKY and p.shape[cell] == LINEAR:
        for f in range(span):
            u[f] = intact[f] * (gain * (a[f] - threshold))
    elif kind == LEAKY and p.shape[cell] == SIGMOID:
        for f in range(span):
            u[f] = intact[f] / (1.0 + exp(gain * (threshold - a[f])))
    elif kind == LEAKY:
        lowest = -1.0 if p.shape[cell] == TANH else 0.0
        for f in range(span):
            t = tanh(gain * (a[f] - threshold))
            u[f] = intact[f] * (t if t > lowest else lowest)
    elif kind == SWITCH:
        for f in range(span):
            u[f] = intact[f] if a[f] > 0.5 else 0.0
    else:
        for f in range(span):
            u[f] = intact[f] * a[f]
    if kind == LEAKY and p.wave[cell] >= 0:
        state, there = k.output[side, p.wave[cell]].reshape(span), k.output[side, p.wave[cell] + 1].reshape(span)
        for f in range(span):
            state[f], there[f] = intact[f] * a[f], intact[f]


@kernel
def read_outputs(rows, numbers, xs, ks, circuit, outputs):
    """Write the ``outputs`` (B, sides, neurons, S) of the cells of ``rows`` (B, K) that have a state.

    ``xs`` and ``ks`` are records of one lane, ``numbers`` is the memory of ``xs``; all are overwritten.
    """
    p = circuit[0]
    for b in range(len(rows)):
        for i in range(len(numbers)):
            numbers[i] = rows[b, i]
        find_intact(xs, ks, circuit)
        for cell in range(outputs.shape[2]):
            for side in range(p.sided[cell]):
                fire_cells(xs, ks, circuit, side, cell)
                for q in range(outputs.shape[3]):
                    outputs[b, side, cell, q] = ks[0].output[side, cell, q, 0]


@kernel
def add_up_tract(ks, circuit, side, t, cut):
    """Write into ``total`` the running sum, starting with 0, along a tract with axons on one side.

    With ``clamp`` 1, the output of the end segment continues the sum beyond both ends. If ``cut`` is True, the sum
    restarts at 0 behind each cut, so that no rounding error passes it.
    """
    k, p = ks[0], circuit[0]
    segments, lanes = k.output.shape[2:]
    span = segments * lanes
    pad = (k.total.shape[2] - 1 - segments) // 2 * lanes
    u = k.output[p.tract_side[t, side], p.tract_source[t]].reshape(span)
    total, keep = k.total[side, t].reshape(span + 2 * pad + lanes), k.keep[side].reshape(span)
    for e in range(lanes):
        total[e] = 0.0
    for f in range(pad):
        total[f + lanes] = total[f] + p.clamp * u[f % lanes]
    if cut:
        for f in range(span):
            total[pad + f + lanes] = keep[f] * total[pad + f] + u[f]
    else:
        for f in range(span):
            total[pad + f + lanes] = total[pad + f] + u[f]
    for f in range(pad):
        total[pad + span + f + lanes] = total[pad + span + f] + p.clamp * u[span - lanes + f % lanes]


@kernel
def fire_circuit(xs, ks, circuit, cut):
    """Set the ``output`` of all cells and the running sums; after `prepare_circuit`."""
    p = circuit[0]
    for cell in range(len(p.kind)):
        for side in range(p.sided[cell]):
            if p.kind[cell] == SENSE:
                feel(ks, circuit, side, cell)
            else:
                fire_cells(xs, ks, circuit, side, cell)
    for t in range(len(p.tract_source)):
        for side in range(ks[0].total.shape[0]):
            add_up_tract(ks, circuit, side, t, cut)


@kernel
def drive_joints(ks, circuit):
    """Set the ``muscle`` of each joint: the mean output of the segments that drive it."""
    k, p = ks[0], circuit[0]
    lanes = k.muscle.shape[2]
    for side in range(p.sided[p.muscles]):
        for j in range(k.muscle.shape[1]):
            for e in range(lanes):
                k.muscle[side, j, e] = 0.0
            for q in range(p.muscle_first[j], p.muscle_last[j]):
                for e in range(lanes):
                    k.muscle[side, j, e] += k.output[side, p.muscles, q, e]
            for e in range(lanes):
                k.muscle[side, j, e] /= p.muscle_last[j] - p.muscle_first[j]


@kernel
def _sum_near_cuts(ks, circuit, side, i):
    """Recompute the ``part`` of projection ``i`` near cuts, within reach of its window, where running sums restart."""
    k, p = ks[0], circuit[0]
    segments, lanes = k.part.shape
    pad = (k.total.shape[2] - 1 - segments) // 2
    rostral, caudal = p.rostral[p.window[i]], p.caudal[p.window[i]]
    u, total = k.output[p.source_side[i, side], p.source[i]], k.total[side, p.tract[i]]
    for e in range(lanes):
        for j in range(int(k.cuts[side, e])):
            at = int(k.cut_at[side, j, e])
            for q in range(max(min(at - rostral, at), 0), min(max(at + caudal, at) + 1, segments)):
                first, last = int(k.first[side, q, e]), int(k.last[side, q, e])
                low, high = max(q - caudal, first), min(q + rostral + 1, last)
                value = total[pad + high, e] if high > low else 0.0
                if high > low and (low > first or first == 0):
                    value -= total[pad + low, e]
                before = min(max(first - (q - caudal), 0), rostral + caudal + 1)
                behind = min(max(q + rostral + 1 - last, 0), rostral + caudal + 1)
                k.part[q, e] = value + p.clamp * (before * u[first, e] + behind * u[last - 1, e])


@kernel
def _add_weighted(received, weight, share, upto, before):
    """Add ``weight`` times ``share`` of the difference of two running sums, repeating the weights along the cord.

    Equal weights are stored for some segments only, so that they stay in the fastest cache.
    """
    n = len(weight)
    for k in range((len(received) + n - 1) // n):
        target, factor = received[k * n : (k + 1) * n], share[k * n : (k + 1) * n]
        high, low = upto[k * n : (k + 1) * n], before[k * n : (k + 1) * n]
        for f in range(len(target)):
            target[f] += weight[f] * (factor[f] * (high[f] - low[f]))


@kernel
def _add_plain(received, weight, share, part):
    """Add ``weight`` times ``share`` times ``part``, like `_add_weighted`."""
    n = len(weight)
    for k in range((len(received) + n - 1) // n):
        target, factor, given = received[k * n : (k + 1) * n], share[k * n : (k + 1) * n], part[k * n : (k + 1) * n]
        for f in range(len(target)):
            target[f] += weight[f] * (factor[f] * given[f])


@kernel
def receive_circuit(ks, circuit, side, cell, cut):
    """Sum the inputs of a population on one side into ``received``; after `fire_circuit`.

    A projection from p reaches q if q - caudal <= p <= q + rostral, so a sum over the sources is the difference of two
    running sums.
    """
    k, p = ks[0], circuit[0]
    segments, lanes = k.part.shape
    span, long = segments * lanes, k.total.shape[2] * lanes
    pad = (k.total.shape[2] - 1 - segments) // 2
    again = span if lanes == 1 else min(p.tile * lanes, span)
    given = RATE if p.kind[cell] == PHASE else EXCITATORY
    drive = k.level[side, cell].reshape(span)
    for port in range(3 if p.wave[cell] >= 0 else 2):
        received = k.received[port].reshape(span)
        if port == given:
            for f in range(span):
                received[f] = drive[f]
        else:
            for f in range(span):
                received[f] = 0.0
    for i in range(len(p.target)):
        if p.target[i] == cell:
            w, weight = p.window[i], k.weight[i, side].reshape(span)[:again]
            received, share = k.received[p.port[i]].reshape(span), k.share[w, side if cut else 0].reshape(span)
            if p.tract[i] < 0:
                _add_plain(received, weight, share, k.output[p.source_side[i, side], p.source[i]].reshape(span))
                continue
            low, high = (pad - p.caudal[w]) * lanes, (pad + p.rostral[w] + 1) * lanes
            total = k.total[side, p.tract[i]].reshape(long)
            before, upto = total[low : low + span], total[high : high + span]
            if cut:
                part = k.part.reshape(span)
                for f in range(span):
                    part[f] = upto[f] - before[f]
                _sum_near_cuts(ks, circuit, side, i)
                _add_plain(received, weight, share, part)
            else:
                _add_weighted(received, weight, share, upto, before)


@kernel
def _euler_step(xs, ks, circuit, dt, cut):
    """Take one Euler step of a circuit of Ekeberg's neurons; Ekeberg (1993), Eq. 1 and section 3.6."""
    x, k, p = xs[0], ks[0], circuit[0]
    segments, lanes = k.part.shape
    span = segments * lanes
    excite, inhibit = k.received[EXCITATORY].reshape(span), k.received[INHIBITORY].reshape(span)
    for cell in range(x.neuron.shape[2]):
        for side in range(p.sided[cell]):
            receive_circuit(ks, circuit, side, cell, cut)
            part = dt * p.rate[cell]
            excited, inhibited = x.neuron[0, side, cell].reshape(span), x.neuron[1, side, cell].reshape(span)
            for f in range(span):
                excited[f] += part * (excite[f] - excited[f])
                inhibited[f] += part * (inhibit[f] - inhibited[f])
            if p.adaptation[cell] > 0.0:
                part = dt * p.adaptation_rate[cell]
                u, tired = k.output[side, cell].reshape(span), x.neuron[2, side, cell].reshape(span)
                for f in range(span):
                    tired[f] += part * (u[f] - tired[f])


@kernel
def _derive(xs, ks, circuit, side, cell):
    """Set ``change``, the derivative of the state of a population on one side; after `receive_circuit`.

    Ekeberg (1993), Eq. 1; Cohen, Holmes & Rand (1982), Eq. 1, written as a rotation by sums of sines and cosines;
    Matsuoka (1985), Eq. 1; leaky cells tau x' = -(1 + conductance) x + E - I; bistable cells tau V' = -V +
    tanh(beta V + E - I).
    """
    x, k, p = xs[0], ks[0], circuit[0]
    segments, lanes = k.part.shape
    span = segments * lanes
    kind, rate, slow = p.kind[cell], p.rate[cell], p.adaptation_rate[cell]
    excite, inhibit = k.received[EXCITATORY].reshape(span), k.received[INHIBITORY].reshape(span)
    change, a = k.change[0].reshape(span), x.neuron[0, side, cell].reshape(span)
    if kind == EKEBERG:
        u, inhibited = k.output[side, cell].reshape(span), x.neuron[1, side, cell].reshape(span)
        tired = x.neuron[2, side, cell].reshape(span)
        change1, change2 = k.change[1].reshape(span), k.change[2].reshape(span)
        for f in range(span):
            change[f] = rate * (excite[f] - a[f])
            change1[f] = rate * (inhibit[f] - inhibited[f])
        for f in range(span):
            change2[f] = slow * (u[f] - tired[f])
    elif kind == PHASE:
        own = k.received[RATE].reshape(span)
        for f in range(span):
            s, c = sincos(a[f])
            change[f] = rate + own[f] + excite[f] * c - inhibit[f] * s
    elif kind == MATSUOKA:
        b, v, change1 = p.adaptation[cell], x.neuron[1, side, cell].reshape(span), k.change[1].reshape(span)
        for f in range(span):
            change[f] = rate * (excite[f] - inhibit[f] - a[f] - b * v[f])
            change1[f] = slow * ((a[f] if a[f] > 0.0 else 0.0) - v[f])
    elif kind == LEAKY and p.wave[cell] >= 0:
        conductance = k.received[RATE].reshape(span)
        for f in range(span):
            change[f] = rate * (excite[f] - inhibit[f] - (1.0 + conductance[f]) * a[f])
    elif kind == LEAKY:
        for f in range(span):
            change[f] = rate * (excite[f] - inhibit[f] - a[f])
    else:
        beta = p.gain[cell]
        for f in range(span):
            change[f] = rate * (tanh(beta * a[f] + excite[f] - inhibit[f]) - a[f])


@kernel
def _switch(xs, ks, circuit, side, cell):
    """Set the state of a switch to 0 or 1; its noise, the difference of the state to these, adds to the input."""
    x, k, p = xs[0], ks[0], circuit[0]
    segments, lanes = k.part.shape
    span = segments * lanes
    excite, inhibit = k.received[EXCITATORY].reshape(span), k.received[INHIBITORY].reshape(span)
    a, threshold, hysteresis = x.neuron[0, side, cell].reshape(span), p.threshold[cell], p.hysteresis[cell]
    for f in range(span):
        old = 1.0 if a[f] > 0.5 else 0.0
        a[f] = 1.0 if excite[f] - inhibit[f] + hysteresis * old + (a[f] - old) > threshold else 0.0


@kernel
def stage_circuit(xs, ks, circuit, stage, dt, cut):
    """Take one of the four stages of a Runge-Kutta step of all neurons; after `fire_circuit`."""
    x, k, p = xs[0], ks[0], circuit[0]
    segments, lanes = k.part.shape
    span = segments * lanes
    weight = 1.0 / 3.0 if stage == 1 or stage == 2 else 1.0 / 6.0
    ahead = dt if stage == 2 else 0.5 * dt
    for cell in range(x.neuron.shape[2]):
        for side in range(p.sided[cell]):
            if p.kind[cell] == SWITCH:
                if stage == 0:
                    receive_circuit(ks, circuit, side, cell, cut)
                    _switch(xs, ks, circuit, side, cell)
                continue
            receive_circuit(ks, circuit, side, cell, cut)
            _derive(xs, ks, circuit, side, cell)
            for v in range(p.states[cell]):
                value, change = x.neuron[v, side, cell].reshape(span), k.change[v].reshape(span)
                start, slope = k.start[v, side, cell].reshape(span), k.slope[v, side, cell].reshape(span)
                if stage == 0:
                    for f in range(span):
                        start[f] = value[f]
                        slope[f] = 0.0
                for f in range(span):
                    slope[f] += weight * change[f]
                    value[f] = start[f] + ahead * change[f]
                if stage == 3:
                    for f in range(span):
                        value[f] = start[f] + dt * slope[f]


@kernel
def _runge_kutta_step(xs, ks, circuit, dt, cut):
    """Take one fourth-order step of all neurons with constant senses; needs the outputs at its start."""
    for stage in range(4):
        if stage > 0:
            fire_circuit(xs, ks, circuit, cut)
        stage_circuit(xs, ks, circuit, stage, dt, cut)


@kernel
def add_noise(xs, circuit, dt, euler):
    """Add the noise of a step ``dt`` to the first variable of each neuron; Euler steps have their own decay factor.

    For a cell with a delay and no input, the stationary standard deviation is ``noise``, for any ``dt``.
    """
    x, p = xs[0], circuit[0]
    sides, neurons, segments, lanes = x.neuron.shape[1:]
    for cell in range(neurons):
        noisy = False
        for e in range(lanes):
            noisy |= x.noise[cell, e] > 0.0
        if not noisy:
            continue
        part = dt * p.rate[cell]
        left = 1.0 - part if euler else exp(-part)
        spread = math.sqrt(dt if p.kind[cell] == PHASE else max(1.0 - left * left, 0.0))
        for side in range(p.sided[cell]):
            for q in range(p.begin[cell], p.end[cell]):
                i, value = (side * neurons + cell) * segments + q, x.neuron[0, side, cell, q]
                for e in range(lanes):
                    drawn = normal_at(x.noise_seed[e], x.noise_count[e], sides * neurons * segments, i)
                    value[e] += x.noise[cell, e] * spread * drawn if x.noise[cell, e] > 0.0 else 0.0
    for e in range(lanes):
        x.noise_count[e] += 1.0


@kernel
def step_circuit(xs, ks, circuit, dt, cut):
    """Advance the neurons by ``dt``; after `fire_circuit`.

    A circuit of Ekeberg's neurons takes one Euler step, as in the paper; other circuits take ``steps`` fourth-order
    Runge-Kutta steps.
    """
    p = circuit[0]
    if p.steps == 0:
        _euler_step(xs, ks, circuit, dt, cut)
        add_noise(xs, circuit, dt, True)
    else:
        for n in range(p.steps):
            if n > 0:
                fire_circuit(xs, ks, circuit, cut)
            _runge_kutta_step(xs, ks, circuit, dt / p.steps, cut)
            add_noise(xs, circuit, dt / p.steps, False)


@cache
def for_steps(step: Any, euler: bool) -> Any:
    """Return a variant of a kernel for Ekeberg's neurons with Euler steps, or for other circuits; compiles faster."""
    needless = ("_fire_others", "_runge_kutta_step") if euler else ("_euler_step",)
    return variant(step, "ekeberg" if euler else "other", **dict.fromkeys(needless, nothing))
