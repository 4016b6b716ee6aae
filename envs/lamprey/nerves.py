"""Spinal cord of the lamprey: records of its neurons, and the cord in a loop with the body, as kernels.

Each of S segments has on each side one excitatory (EIN), one contralateral inhibitory (CCIN), one lateral
inhibitory interneuron (LIN) and one motoneuron (MN), each standing for a population; edge cells sense the
curvature at every joint (Ekeberg, 1993). Side 0 is left, 1 right; cells are counted in the order above.

Kernels work on lanes and take records as those of ``body.py`` do; beside them they take ``cord``, one record of the
cord's constants (``cord_dtype``). ``xs`` and ``ks`` hold the fields of cord and body. Loops over f run over segments
and lanes as one, so that they vectorise for a single animal too.
"""

from __future__ import annotations

import numpy as np

from ..core.circuit.kernels import activity
from ..core.kernels.jit import exp, kernel
from ..core.kernels.lanes import batch_kernel
from ..core.kernels.records import fields, record
from .body import (
    BROKEN,
    EULER,
    LEFT,
    RIGHT,
    RUNGE_KUTTA,
    begin_step,
    clear_work,
    end_step,
    euler,
    finish_runge_kutta,
    follow_slope,
    implicit,
    keep_start,
    move_body,
    runge_kutta_stage,
    start_runge_kutta,
)

CELLS = ("EIN", "CCIN", "LIN", "MN")
"""Types of neurons, in the order in which they are counted."""

MN, EDGE = 3, 4
"""Places of those that are named below; in ``cell_gain`` the edge cells come after all others."""

EXCITATORY, INHIBITORY = 0, 1
"""Places in ``input``."""

ADAPTING = 2
"""The first so many cells adapt; Table 1 gives the others no adaptation."""


def cord_fields(n: int, segments: int, adapting: int = ADAPTING) -> list[tuple]:
    """Fields that a cord of ``segments`` adds to the record of a body of ``n`` links."""
    return fields(
        (
            "excitation inhibition",
            (2, 4, segments),
            "1",
            "delayed inputs xi+ and xi- of Eq. 1, by side, cell and segment",
        ),
        ("adaptation", (2, adapting, segments), "1", "theta of Eq. 1, of the cells that adapt"),
        ("tonic", (), "1", "level of the drive"),
        ("asymmetry", (), "1", "added to it on the right, taken away on the left"),
        ("head_extra", (), "1", "its relative increase in the first segments"),
        ("residual", (2, n - 1), "1", "left; right, added to the motoneurons of every joint"),
        ("segment_gain", (2, segments), "1", "output left, from 0 (lesioned) to 1, by side and segment"),
        ("cell_gain", (2, 5), "1", "the same by side and cell, edge cells last"),
        ("cell_segments", 2, "1", "from the first to before the second it holds, but for edge cells"),
        ("bath", segments, "1", "tonic drive beside the brainstem's"),
        ("transection", (), "1", "segments in front of a cut, 0 where there is none"),
    )


def motoneuron_fields(n: int) -> list[tuple]:
    """Fields that motoneurons without a cord, one a side and joint, add to the record of a body of ``n`` links."""
    return fields(
        ("excitation inhibition", (2, n - 1), "1", "left; right: delayed inputs xi+ and xi- of Eq. 1"),
        ("command", (2, n - 1), "1", "from -1 (fully inhibited) to 1 (fully excited)"),
    )


def motoneuron_dtype() -> np.dtype:
    """Record of a motoneuron's constants."""
    return record(
        ("threshold gain rate", (), "1, 1, 1/s", "Theta, Gamma and 1/tau_D of Table 1"),
        ("excite inhibit", (), "1", "what a command of 1 or -1 adds up to"),
    )


def cord_work(n: int, segments: int, windows: int, pad: int) -> list[tuple]:
    """Scratch fields of a cord with ``windows`` different extents, the longest over ``pad`` segments."""
    return fields(
        ("share", (windows, segments), "1", "one over the number of sources, as in the constants"),
        ("level", (2, segments), "1", "brainstem drive, by side and segment"),
        (
            "intact output",
            (2, 4, segments),
            "1",
            "gain left by all lesions, and of all neurons, by side, cell and segment",
        ),
        ("total", (2, 3, segments + 2 * pad + 1), "1", "running sums of the output, continued beyond the ends"),
        ("edge", (2, n - 1), "1/m", "output of the edge cells, by side and joint"),
        ("input", (2, segments), "1", "EXCITATORY and INHIBITORY, that reach one cell type of one side"),
    )


def isolated_fields(n: int) -> list[tuple]:
    """Fields of a cord without a body that come before its own; joints are left; right."""
    return fields(
        ("time", (), "s", ""),
        ("status", (), "1", "0 or BROKEN"),
        ("joint_angle", n - 1, "rad", "given, for the record"),
        ("edge", (2, n - 1), "1/m", "given: what it senses"),
        ("motoneuron output", (2, n - 1), "1", "output, and its mean during ``advance``"),
        ("excite inhibit", (2, n - 1), "1", "means of what its motoneurons receive"),
        ("feedback", (), "m", "strength of the edge cells' synapses"),
    )


def reference_work(segments: int, adapting: int = ADAPTING) -> list[tuple]:
    """Further scratch fields for Runge-Kutta steps: where one begins, and the weighted mean of the derivatives."""
    inputs, fatigue = (2, 4, segments), (2, adapting, segments)
    return fields(
        ("start_excitation start_inhibition", inputs, "1", ""),
        ("start_adaptation", fatigue, "1", ""),
        ("slope_excitation slope_inhibition", inputs, "1/s", ""),
        ("slope_adaptation", fatigue, "1/s", ""),
    )


def cord_dtype(segments: int, joints: int, synapses: int, windows: int, edges: int) -> np.dtype:
    """Record of the constants of Tables 1 and 2, with room for so many projections, extents and edge projections."""
    return record(
        ("threshold gain adaptation", 4, "1", "Theta, Gamma and mu, by cell"),
        ("rate adaptation_rate", 4, "1/s", "1/tau_D and 1/tau_A"),
        ("brainstem", 4, "1", "strength"),
        ("source target", synapses, "1", "cells of a projection; a target is -1 where there is none", "i8"),
        ("inhibitory crossed", synapses, "1", "1 or 0", "i8"),
        ("window", synapses, "1", "place among the extents", "i8"),
        ("strength", synapses, "1", ""),
        ("rostral caudal", windows, "1", "segments of an extent", "i8"),
        ("share", (windows, segments), "1", "one over the number of sources of each receiving segment"),
        ("joint", segments, "1", "whose edge cells a segment has", "i8"),
        ("edge_target", edges, "1", "cell, or -1", "i8"),
        ("edge_inhibitory", edges, "1", "1 from the other side, 0 from their own and excitatory", "i8"),
        ("edge_rostral edge_caudal", edges, "1", "extents", "i8"),
        ("edge_strength", edges, "1", ""),
        ("edge_weight", (edges, segments, joints), "1", "of every joint for each receiving segment"),
        ("edge_first edge_last", (edges, segments), "1", "it is 0 but from the first to before the last", "i8"),
        ("windows reach head", (), "1", "number of extents; longest of all; segments of the head", "i8"),
        ("clamp", (), "1", "1 where the end segments stand in for missing ones"),
    )


@kernel
def stretch_sides(xs, links, gain, sensed):
    """Write what is ``sensed`` by side and joint, curvature where it stretches the side times the side's ``gain``.

    Ekeberg (1993), Eq. 8, in 1/m; ``gain`` is a pair of arrays by lane.
    """
    x, p = xs[0], links[0]
    n, lanes = x.link_angle.shape
    left, right = gain
    for j in range(n - 1):
        span = 1.0 / (p.half[j] + p.half[j + 1])
        for e in range(lanes):
            curvature = span * (x.link_angle[j, e] - x.link_angle[j + 1, e])
            sensed[LEFT, j, e] = left[e] * (-curvature if curvature < 0.0 else 0.0)
            sensed[RIGHT, j, e] = right[e] * (curvature if curvature > 0.0 else 0.0)


@kernel
def sense_curvature(xs, ks, links):
    """Write the ``edge``, the curvature of each joint where it stretches the side."""
    gain = xs[0].cell_gain
    stretch_sides(xs, links, (gain[LEFT, EDGE], gain[RIGHT, EDGE]), ks[0].edge)


@kernel
def prepare(xs, ks, cord):
    """Spread what stays the same during ``advance`` over segments and lanes: ``level``, ``intact`` and ``share``.

    The drive is the brainstem's, in front of a transection, and the bath's. It only excites: where the asymmetry
    exceeds the tonic level, the drive is zero.
    """
    x, k, p = xs[0], ks[0], cord[0]
    segments, lanes = x.excitation.shape[2:]
    for side in range(2):
        sign = 2.0 * side - 1.0
        for q in range(segments):
            head = 1.0 if q < p.head else 0.0
            for e in range(lanes):
                level = x.tonic[e] * (1.0 + head * x.head_extra[e]) + sign * x.asymmetry[e]
                level += x.bath[q, e]
                k.level[side, q, e] = level if level > 0.0 else 0.0
        for cell in range(4):
            for q in range(segments):
                for e in range(lanes):
                    k.intact[side, cell, q, e] = x.segment_gain[side, q, e] * x.cell_gain[side, cell, e]
    for e in range(lanes):  # the few animals that are otherwise
        first, last, cut = x.cell_segments[0, e], x.cell_segments[1, e], x.transection[e]
        if first > 0.0 or last < segments or cut > 0.0:
            for side in range(2):
                for q in range(segments):
                    if 0.0 < cut <= q:
                        k.level[side, q, e] = max(x.bath[q, e], 0.0)
                    if not first <= q < last:
                        for cell in range(4):
                            k.intact[side, cell, q, e] = x.segment_gain[side, q, e]
    for w in range(p.windows):
        for q in range(segments):
            for e in range(lanes):
                k.share[w, q, e] = p.share[w, q]


@kernel
def fire_type(xs, ks, cord, side, cell):
    """Write the ``output`` of the neurons of one type and side in all segments, Ekeberg (1993), Eq. 2."""
    x, k, p = xs[0], ks[0], cord[0]
    segments, lanes = x.excitation.shape[2:]
    span = segments * lanes
    threshold, gain, fatigue = p.threshold[cell], p.gain[cell], p.adaptation[cell]
    excited, inhibited = x.excitation[side, cell].reshape(span), x.inhibition[side, cell].reshape(span)
    tired = x.adaptation[side, min(cell, x.adaptation.shape[1] - 1)].reshape(span)
    intact = k.intact[side, cell].reshape(span)
    u = k.output[side, cell].reshape(span)
    for f in range(span):
        u[f] = intact[f] * activity(excited[f], inhibited[f], fatigue * tired[f], threshold, gain)


@kernel
def add_up(ks, cord, side, cell):
    """Write into ``total`` the running sum along the cord of the outputs of one type and side.

    It begins with 0 and is continued beyond both ends by the output of the end segment, if ``clamp`` is 1.
    """
    k, p = ks[0], cord[0]
    segments, lanes = k.output.shape[2:]
    span = segments * lanes
    pad = (k.total.shape[2] - 1 - segments) // 2 * lanes
    u, total = k.output[side, cell].reshape(span), k.total[side, cell].reshape(span + 2 * pad + lanes)
    for e in range(lanes):
        total[e] = 0.0
    for f in range(pad):
        total[f + lanes] = total[f] + p.clamp * u[f % lanes]
    for f in range(span):
        total[pad + f + lanes] = total[pad + f] + u[f]
    for f in range(pad):
        total[pad + span + f + lanes] = total[pad + span + f] + p.clamp * u[span - lanes + f % lanes]


@kernel
def add_up_behind(xs, ks, cord, side, cell):
    """Begin the running sums of :func:`add_up` anew behind a transection, in animals that have one.

    So nothing of what happens in front of the cut comes through it, not even by rounding. Sums over extents that
    reach the cut are then wrong, and :func:`receive_near_cut` makes them by hand.
    """
    x, k, p = xs[0], ks[0], cord[0]
    segments, lanes = k.output.shape[2:]
    pad = (k.total.shape[2] - 1 - segments) // 2
    u, total = k.output[side, cell], k.total[side, cell]
    for e in range(lanes):
        cut = x.transection[e]
        if cut > 0.0:
            sum_behind = 0.0
            for q in range(segments):
                if q >= cut:
                    sum_behind += u[q, e]
                    total[pad + q + 1, e] = sum_behind
            if cut < segments:
                for q in range(pad):
                    sum_behind += p.clamp * u[segments - 1, e]
                    total[pad + segments + q + 1, e] = sum_behind


@kernel
def drive_muscles(xs, ks, side):
    """Write the ``motoneuron`` of every joint on one side: what drives its muscles, 0 .. 1.

    It is the mean of the motoneurons of the segments within half a link of the joint, plus ``residual``.
    """
    x, k = xs[0], ks[0]
    segments, lanes = k.output.shape[2:]
    joints = x.motoneuron.shape[1]
    link = segments // (joints + 1)
    for j in range(joints):
        for e in range(lanes):
            x.motoneuron[side, j, e] = 0.0
        for q in range(j * link + link // 2, (j + 1) * link + link // 2):
            for e in range(lanes):
                x.motoneuron[side, j, e] += k.output[side, MN, q, e]
        for e in range(lanes):
            m = x.motoneuron[side, j, e] / link + x.residual[side, j, e]
            x.motoneuron[side, j, e] = 0.0 if m < 0.0 else (1.0 if m > 1.0 else m)


@kernel
def fire(xs, ks, cord):
    """Write the ``output`` of all neurons, its ``total``, and the ``motoneuron`` of joints; after :func:`prepare`."""
    for side in range(2):
        for cell in range(4):
            fire_type(xs, ks, cord, side, cell)
            if cell != MN:
                add_up(ks, cord, side, cell)
                add_up_behind(xs, ks, cord, side, cell)
        drive_muscles(xs, ks, side)


@kernel
def neuron_outputs(excitation, inhibition, adaptation, segment_gain, cell_gain, cell_segments, cord, outputs):
    """Write the ``outputs`` (B, 2, 4, S) of all neurons of rows, as :func:`fire` gives them to the network.

    The other arguments are fields of the state, each (B, ...), and the constants of the cord.
    """
    p = cord[0]
    for b in range(len(outputs)):
        for side in range(2):
            for cell in range(4):
                for q in range(outputs.shape[3]):
                    fatigue = p.adaptation[cell] * adaptation[b, side, min(cell, adaptation.shape[2] - 1), q]
                    excited, inhibited = excitation[b, side, cell, q], inhibition[b, side, cell, q]
                    u = activity(excited, inhibited, fatigue, p.threshold[cell], p.gain[cell])
                    inside = cell_segments[b, 0] <= q < cell_segments[b, 1]
                    gain = cell_gain[b, side, cell] if inside else 1.0
                    outputs[b, side, cell, q] = segment_gain[b, side, q] * gain * u


@kernel
def receive_near_cut(xs, ks, cord, side, cell):
    """Sum anew what :func:`receive` sums, near a transection, in animals that have one.

    Each half has an end here as the cord has at its own. Projections are summed source by source.
    """
    x, k, p = xs[0], ks[0], cord[0]
    segments, lanes = x.excitation.shape[2:]
    for e in range(lanes):
        if 0.0 < x.transection[e] < segments:
            cut = int(np.ceil(x.transection[e]))
            for q in range(max(cut - p.reach, 0), min(cut + p.reach + 1, segments)):
                low, high = (0, cut) if q < cut else (cut, segments)
                k.input[EXCITATORY, q, e] = p.brainstem[cell] * k.level[side, q, e]
                k.input[INHIBITORY, q, e] = 0.0
                for s in range(len(p.source)):
                    if p.target[s] == cell:
                        w, other = p.window[s], 1 - side if p.crossed[s] else side
                        total, count = 0.0, 0
                        for place in range(q - p.caudal[w], q + p.rostral[w] + 1):
                            source = min(max(place, low), high - 1)
                            if source == place or p.clamp > 0.0:
                                total += k.output[other, p.source[s], source, e]
                                count += 1
                        k.input[p.inhibitory[s], q, e] += p.strength[s] * (total / count)
                for s in range(len(p.edge_target)):
                    if p.edge_target[s] == cell:
                        kind = p.edge_inhibitory[s]
                        other = 1 - side if kind == INHIBITORY else side
                        total, count = 0.0, 0
                        for place in range(q - p.edge_caudal[s], q + p.edge_rostral[s] + 1):
                            source = min(max(place, low), high - 1)
                            if source == place or p.clamp > 0.0:
                                total += k.edge[other, p.joint[source], e]
                                count += 1
                        k.input[kind, q, e] += x.feedback[e] * (p.edge_strength[s] * (total / count))


@kernel
def receive(xs, ks, cord, side, cell):
    """Sum what excites and inhibits the neurons of one type and side into ``input``, Ekeberg (1993), Eq. 1.

    A projection from p reaches q where q - caudal <= p <= q + rostral, so a sum over the sources is the
    difference of two running sums. After :func:`sense_curvature` and :func:`fire`.
    """
    x, k, p = xs[0], ks[0], cord[0]
    segments, lanes = x.excitation.shape[2:]
    span = segments * lanes
    pad = (k.total.shape[2] - 1 - segments) // 2
    weight = p.brainstem[cell]
    level = k.level[side].reshape(span)
    excite, inhibit = k.input[EXCITATORY].reshape(span), k.input[INHIBITORY].reshape(span)
    for f in range(span):
        excite[f] = weight * level[f]
        inhibit[f] = 0.0
    for s in range(len(p.source)):
        if p.target[s] == cell:
            w, strength = p.window[s], p.strength[s]
            low, high = (pad - p.caudal[w]) * lanes, (pad + p.rostral[w] + 1) * lanes
            total = k.total[1 - side if p.crossed[s] else side, p.source[s]].reshape(span + (2 * pad + 1) * lanes)
            before, upto, share = total[low : low + span], total[high : high + span], k.share[w].reshape(span)
            target = k.input[p.inhibitory[s]].reshape(span)
            for f in range(span):
                target[f] += strength * (share[f] * (upto[f] - before[f]))
    for s in range(len(p.edge_target)):
        if p.edge_target[s] == cell:
            kind = p.edge_inhibitory[s]
            other = 1 - side if kind == INHIBITORY else side
            for q in range(segments):
                for j in range(p.edge_first[s, q], p.edge_last[s, q]):
                    weight = p.edge_weight[s, q, j]
                    for e in range(lanes):
                        k.input[kind, q, e] += x.feedback[e] * (weight * k.edge[other, j, e])
    receive_near_cut(xs, ks, cord, side, cell)


@kernel
def integrate(xs, ks, cord, dt):
    """Take one Euler step of all neurons, Ekeberg (1993), Eq. 1 and section 3.6; after :func:`fire`."""
    x, k, p = xs[0], ks[0], cord[0]
    segments, lanes = x.excitation.shape[2:]
    span = segments * lanes
    excite, inhibit = k.input[EXCITATORY].reshape(span), k.input[INHIBITORY].reshape(span)
    for side in range(2):
        for cell in range(4):
            receive(xs, ks, cord, side, cell)
            part = dt * p.rate[cell]
            excited, inhibited = x.excitation[side, cell].reshape(span), x.inhibition[side, cell].reshape(span)
            for f in range(span):
                excited[f] += part * (excite[f] - excited[f])
                inhibited[f] += part * (inhibit[f] - inhibited[f])
        for cell in range(x.adaptation.shape[1]):
            part = dt * p.adaptation_rate[cell]
            u, tired = k.output[side, cell].reshape(span), x.adaptation[side, cell].reshape(span)
            for f in range(span):
                tired[f] += part * (u[f] - tired[f])


@kernel
def start_neurons(xs, ks):
    """Begin a Runge-Kutta step of the neurons."""
    x, k = xs[0], ks[0]
    for side in range(2):
        for cell in range(4):
            keep_start(x.excitation[side, cell], k.start_excitation[side, cell], k.slope_excitation[side, cell])
            keep_start(x.inhibition[side, cell], k.start_inhibition[side, cell], k.slope_inhibition[side, cell])
        for cell in range(x.adaptation.shape[1]):
            keep_start(x.adaptation[side, cell], k.start_adaptation[side, cell], k.slope_adaptation[side, cell])


@kernel
def _approach(value, goal, rate, start, slope, part, ahead):
    """Do as `add_slope` with the derivative of values (S, W) that approach a goal with a ``rate`` (1/s)."""
    for q in range(value.shape[0]):
        for e in range(value.shape[1]):
            a = rate * (goal[q, e] - value[q, e])
            slope[q, e] += part * a
            value[q, e] = start[q, e] + ahead * a


@kernel
def neurons_stage(xs, ks, cord, part, ahead):
    """One of the four evaluations of a Runge-Kutta step of all neurons, as `runge_kutta_stage` of the mechanics.

    After :func:`start_neurons`, :func:`sense_curvature` and :func:`fire`.
    """
    x, k, p = xs[0], ks[0], cord[0]
    for s in range(2):
        for c in range(4):
            receive(xs, ks, cord, s, c)
            start, slope = k.start_excitation[s, c], k.slope_excitation[s, c]
            _approach(x.excitation[s, c], k.input[EXCITATORY], p.rate[c], start, slope, part, ahead)
            start, slope = k.start_inhibition[s, c], k.slope_inhibition[s, c]
            _approach(x.inhibition[s, c], k.input[INHIBITORY], p.rate[c], start, slope, part, ahead)
        for c in range(x.adaptation.shape[1]):
            start, slope = k.start_adaptation[s, c], k.slope_adaptation[s, c]
            _approach(x.adaptation[s, c], k.output[s, c], p.adaptation_rate[c], start, slope, part, ahead)


@kernel
def finish_neurons(xs, ks, dt):
    """End a Runge-Kutta step of the neurons."""
    x, k = xs[0], ks[0]
    for s in range(2):
        for c in range(4):
            follow_slope(x.excitation[s, c], k.start_excitation[s, c], k.slope_excitation[s, c], dt)
            follow_slope(x.inhibition[s, c], k.start_inhibition[s, c], k.slope_inhibition[s, c], dt)
        for c in range(x.adaptation.shape[1]):
            follow_slope(x.adaptation[s, c], k.start_adaptation[s, c], k.slope_adaptation[s, c], dt)


@kernel
def runge_kutta(xs, ks, links, cord, dt):
    """Take one fourth-order step of cord and body together, the reference for the other schemes."""
    start_runge_kutta(xs, ks)
    start_neurons(xs, ks)
    for i in range(4):
        part = 1.0 / 3.0 if i == 1 or i == 2 else 1.0 / 6.0
        ahead = dt if i == 2 else 0.5 * dt
        sense_curvature(xs, ks, links)
        fire(xs, ks, cord)
        neurons_stage(xs, ks, cord, part, ahead)
        runge_kutta_stage(xs, ks, links, part, ahead)
    finish_neurons(xs, ks, dt)
    finish_runge_kutta(xs, ks, links, dt)


@kernel
def swim(xs, ks, steps, dt, links, cord, scheme, substeps):
    """Advance cord and body by ``steps`` steps of ``dt``, ``substeps`` of the body in each, the brainstem drive held.

    In each step edge cells and motoneurons are taken from the state at its start, then the neurons take one Euler
    step, then the body moves with these motoneurons, by EULER or IMPLICIT; Ekeberg (1993), sections 2 and 3, where dt
    is 10 ms. ``status`` becomes BENT where a joint passes ``LARGEST_JOINT_ANGLE``.
    """
    clear_work(xs)
    prepare(xs, ks, cord)
    for _ in range(steps):
        sense_curvature(xs, ks, links)
        fire(xs, ks, cord)
        begin_step(xs, dt)
        integrate(xs, ks, cord, dt)
        if scheme == EULER:
            euler(xs, ks, links, substeps, dt / substeps)
        else:
            implicit(xs, ks, links, substeps, dt / substeps)
        end_step(xs, dt)


@kernel
def swim_reference(xs, ks, steps, dt, links, cord):
    """Swim as :func:`swim` does, with neurons and body in one fourth-order step of ``dt``."""
    clear_work(xs)
    prepare(xs, ks, cord)
    for _ in range(steps):
        fire(xs, ks, cord)
        begin_step(xs, dt)
        runge_kutta(xs, ks, links, cord, dt)
        end_step(xs, dt)


@kernel
def respond(xs, neuron):
    """Write the ``motoneuron`` of every joint, of motoneurons without a cord; Ekeberg (1993), Eq. 2."""
    x, p = xs[0], neuron[0]
    sides, joints, lanes = x.motoneuron.shape
    for side in range(sides):
        for j in range(joints):
            for e in range(lanes):
                excited, inhibited = x.excitation[side, j, e], x.inhibition[side, j, e]
                x.motoneuron[side, j, e] = activity(excited, inhibited, 0.0, p.threshold, p.gain)


@kernel
def follow(xs, neuron, part):
    """Move what excites and inhibits motoneurons without a cord by ``part`` of the way to its goal; Eq. 1."""
    x, p = xs[0], neuron[0]
    sides, joints, lanes = x.motoneuron.shape
    for side in range(sides):
        for j in range(joints):
            for e in range(lanes):
                command = x.command[side, j, e]
                excite, inhibit = (p.excite * command, 0.0) if command > 0.0 else (0.0, -p.inhibit * command)
                x.excitation[side, j, e] += part * (excite - x.excitation[side, j, e])
                x.inhibition[side, j, e] += part * (inhibit - x.inhibition[side, j, e])


@kernel
def swim_driven(xs, ks, steps, dt, links, neuron, scheme, substeps):
    """Advance motoneurons and body as :func:`swim` does, the command of the motoneurons held.

    ``xs`` holds ``body_fields`` and ``motoneuron_fields``, ``ks`` ``body_work``, ``neuron`` is one record of
    ``motoneuron_dtype``. Under RUNGE_KUTTA the motoneurons that act during a step are those at its middle, exactly.
    """
    clear_work(xs)
    rate = neuron[0].rate
    half = 1.0 - exp(-0.5 * dt * rate)
    for _ in range(steps):
        if scheme == RUNGE_KUTTA:
            follow(xs, neuron, half)
        respond(xs, neuron)
        begin_step(xs, dt)
        follow(xs, neuron, half if scheme == RUNGE_KUTTA else dt * rate)
        move_body(xs, ks, links, scheme, substeps, dt / substeps)
        end_step(xs, dt)


CORD = batch_kernel(swim, BROKEN)

DRIVEN = batch_kernel(swim_driven, BROKEN)

REFERENCE = batch_kernel(swim_reference, BROKEN)


@kernel
def fictive(xs, ks, steps, dt, cord):
    """Advance an isolated cord by ``steps`` steps of ``dt``, with what its edge cells sense held.

    ``xs`` holds ``isolated_fields`` and ``cord_fields``, ``ks`` ``cord_work``.
    """
    x, k = xs[0], ks[0]
    sides, joints, lanes = x.edge.shape
    prepare(xs, ks, cord)
    for side in range(sides):
        for j in range(joints):
            for e in range(lanes):
                k.edge[side, j, e] = x.cell_gain[side, EDGE, e] * x.edge[side, j, e]
                x.output[side, j, e] = x.excite[side, j, e] = x.inhibit[side, j, e] = 0.0
    link = x.excitation.shape[2] // (joints + 1)
    for e in range(lanes):
        x.time[e] += steps * dt
    for _ in range(steps):
        fire(xs, ks, cord)
        for side in range(sides):
            receive(xs, ks, cord, side, MN)
            for j in range(joints):
                for e in range(lanes):
                    x.output[side, j, e] += x.motoneuron[side, j, e] / steps
                for q in range(j * link + link // 2, (j + 1) * link + link // 2):
                    for e in range(lanes):
                        x.excite[side, j, e] += k.input[EXCITATORY, q, e] / (link * steps)
                        x.inhibit[side, j, e] += k.input[INHIBITORY, q, e] / (link * steps)
        integrate(xs, ks, cord, dt)


ISOLATED = batch_kernel(fictive, BROKEN, together=False)
