"""Spinal cord of the lamprey: records of its neurons, and the cord in a loop with the body, as kernels.

Each of S segments has on each side one excitatory (EIN), one contralateral inhibitory (CCIN), one lateral
inhibitory interneuron (LIN) and one motoneuron (MN), each standing for a population; edge cells sense the
curvature at every joint (Ekeberg, 1993). Side 0 is left, 1 right; cells are counted in the order above.

Kernels work on lanes (see ``core/lanes.py``): the last axis of every field is the animal. They take ``xs``, ``ks``,
``links`` and ``cord``, each one record: the state in lanes (``body_fields`` and ``cord_fields``), scratch space in
lanes (``body_work`` and ``cord_work``), and the constants of links and cord (``links_dtype``, ``cord_dtype``); all is
in SI, and what is named as written is changed in place. Loops over f run over segments and lanes as one, so that they
vectorise for a single animal too.
"""

from __future__ import annotations

import numpy as np

from ..core.jit import batch_kernel, exp, kernel, prange
from ..core.lanes import gather, scatter
from .body import BROKEN, EULER, account, begin, check, euler, finish, implicit, stage

CELLS = ("EIN", "CCIN", "LIN", "MN")
MN = 3
CCIN = 1

ADAPTING = 2
"""The first so many cells adapt; Table 1 gives the others no adaptation."""


def cord_fields(n: int, segments: int) -> list[tuple]:
    """Fields that a cord of ``segments`` adds to the record of a body of ``n`` links.

    ``excitation`` and ``inhibition``, the delayed inputs xi+ and xi- of Eq. 1, by side, cell and segment;
    ``adaptation``, its theta, of the cells that adapt; the drive in force: ``tonic`` level, ``asymmetry``
    (added on the right, taken away on the left), ``head_extra`` (relative increase in the first segments) and
    ``residual`` (left; right), added to the motoneurons of every joint; and gains between 0 (lesioned) and 1
    (intact): ``segment_gain`` by side and segment, ``cell_gain`` by side and cell, edge cells last.
    """
    return [
        ("excitation", "f8", (2, 4, segments)),
        ("inhibition", "f8", (2, 4, segments)),
        ("adaptation", "f8", (2, ADAPTING, segments)),
        ("tonic", "f8"),
        ("asymmetry", "f8"),
        ("head_extra", "f8"),
        ("residual", "f8", (2, n - 1)),
        ("segment_gain", "f8", (2, segments)),
        ("cell_gain", "f8", (2, 5)),
    ]


def cord_work(n: int, segments: int, windows: int, pad: int) -> list[tuple]:
    """Scratch fields of a cord with ``windows`` different extents, the longest over ``pad`` segments."""
    return [
        ("share", "f8", (windows, segments)),
        ("level", "f8", (2, segments)),
        ("intact", "f8", (2, 4, segments)),
        ("output", "f8", (2, 4, segments)),
        ("total", "f8", (2, 3, segments + 2 * pad + 1)),  # running sums of the output, continued beyond the ends
        ("edge", "f8", (2, n - 1)),
        ("input", "f8", (2, segments)),  # excitation and inhibition that reach one cell type of one side
    ]


def isolated_fields(n: int, segments: int) -> list[tuple]:
    """Record of a cord without a body: ``status``, what its ``edge`` cells sense, and its output.

    ``edge`` (left; right, by joint) 1/m is given; ``output`` is the mean of ``motoneuron`` during ``advance``.
    """
    joints = [(name, "f8", (2, n - 1)) for name in ("edge", "motoneuron", "output")]
    return [("status", "f8"), *joints, ("feedback", "f8"), *cord_fields(n, segments)]


def reference_work(segments: int) -> list[tuple]:
    """Further scratch fields for Runge-Kutta steps of the neurons: xi+, xi-, theta by side, cell and segment."""
    return [("neuron_start", "f8", (3, 2, 4, segments)), ("neuron_slope", "f8", (3, 2, 4, segments))]


def cord_dtype(segments: int, synapses: int, windows: int) -> np.dtype:
    """Record of the constants of Tables 1 and 2.

    By cell: ``threshold`` Theta, ``gain`` Gamma, ``adaptation`` mu, ``rate`` 1/tau_D and ``adaptation_rate``
    1/tau_A 1/s, ``brainstem`` strength. By projection: ``source``, ``target``, ``inhibitory`` and ``crossed``
    (1 or 0), ``strength``, and ``window``, its place among the different extents. By extent: ``rostral`` and
    ``caudal`` segments, and ``share``, one over the number of sources, of each receiving segment. ``head``
    segments; ``clamp``: 1 where the end segments stand in for missing ones.
    """
    cells = ("threshold", "gain", "adaptation", "rate", "adaptation_rate", "brainstem")
    return np.dtype(
        [
            *[(name, "f8", (4,)) for name in cells],
            *[(name, "i8", (synapses,)) for name in ("source", "target", "inhibitory", "crossed", "window")],
            ("strength", "f8", (synapses,)),
            ("rostral", "i8", (windows,)),
            ("caudal", "i8", (windows,)),
            ("share", "f8", (windows, segments)),
            ("head", "i8"),
            ("clamp", "f8"),
        ]
    )


@kernel
def sense(xs, ks, links):
    """Outputs of the edge cells, the curvature of each joint where it stretches the side; Ekeberg (1993), Eq. 8.

    ``edge`` (left; right, by joint) is written, 1/m.
    """
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    for j in range(n - 1):
        span = 1.0 / (p.half[j] + p.half[j + 1])
        for e in range(lanes):
            bend = span * (x.link_angle[j, e] - x.link_angle[j + 1, e])
            k.edge[0, j, e] = x.cell_gain[0, 4, e] * (-bend if bend < 0.0 else 0.0)
            k.edge[1, j, e] = x.cell_gain[1, 4, e] * (bend if bend > 0.0 else 0.0)


@kernel
def prepare(xs, ks, cord):
    """Spread what stays the same during ``advance`` over segments and lanes: brainstem drive, gains, shares.

    The brainstem only excites: where the asymmetry exceeds the tonic level, the drive is zero.
    """
    x, k, p = xs[0], ks[0], cord[0]
    segments, lanes = x.excitation.shape[2:]
    for side in range(2):
        sign = 2.0 * side - 1.0
        for q in range(segments):
            head = 1.0 if q < p.head else 0.0
            for e in range(lanes):
                level = x.tonic[e] * (1.0 + head * x.head_extra[e]) + sign * x.asymmetry[e]
                k.level[side, q, e] = level if level > 0.0 else 0.0
        for cell in range(4):
            for q in range(segments):
                for e in range(lanes):
                    k.intact[side, cell, q, e] = x.segment_gain[side, q, e] * x.cell_gain[side, cell, e]
    for w in range(p.share.shape[0]):
        for q in range(segments):
            for e in range(lanes):
                k.share[w, q, e] = p.share[w, q]


@kernel
def activity(excitation, inhibition, fatigue, threshold, gain):
    """Output of a neuron, Ekeberg (1993), Eq. 2; ``fatigue`` is mu theta."""
    u = 1.0 - exp((threshold - excitation) * gain) - inhibition - fatigue
    return u if u > 0.0 else 0.0


@kernel
def fire(xs, ks, cord):
    """Outputs of all neurons, their running sums along the cord, and the motoneurons of every joint.

    Ekeberg (1993), Eq. 2. A joint's muscles are driven by the mean of the motoneurons of the segments within
    half a link of it, plus ``residual``, within 0 .. 1.

    Parameters
    ----------
    xs : (1,) record of the state in lanes
        ``motoneuron`` is written.
    ks : (1,) record of scratch space in lanes
        After :func:`prepare`. ``output`` and ``total`` are written.
    cord : (1,) record of ``cord_dtype``
    """
    x, k, p = xs[0], ks[0], cord[0]
    segments, lanes = x.excitation.shape[2:]
    joints = x.motoneuron.shape[1]
    link = segments // (joints + 1)
    span = segments * lanes
    pad = (k.total.shape[2] - 1 - segments) // 2 * lanes
    for side in range(2):
        for cell in range(4):
            threshold, gain, fatigue = p.threshold[cell], p.gain[cell], p.adaptation[cell]
            excited, inhibited = x.excitation[side, cell].reshape(span), x.inhibition[side, cell].reshape(span)
            tired, intact = (
                x.adaptation[side, min(cell, ADAPTING - 1)].reshape(span),
                k.intact[side, cell].reshape(span),
            )
            u = k.output[side, cell].reshape(span)
            for f in range(span):
                u[f] = intact[f] * activity(excited[f], inhibited[f], fatigue * tired[f], threshold, gain)
            if cell != MN:
                total = k.total[side, cell].reshape(span + 2 * pad + lanes)
                for e in range(lanes):
                    total[e] = 0.0
                for f in range(pad):
                    total[f + lanes] = total[f] + p.clamp * u[f % lanes]
                for f in range(span):
                    total[pad + f + lanes] = total[pad + f] + u[f]
                for f in range(pad):
                    total[pad + span + f + lanes] = total[pad + span + f] + p.clamp * u[span - lanes + f % lanes]
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
def neuron_outputs(excitation, inhibition, adaptation, segment_gain, cell_gain, cord, outputs):
    """Outputs of all neurons of rows, as :func:`fire` gives them to the network.

    Parameters
    ----------
    excitation, inhibition, adaptation, segment_gain, cell_gain : (B, ...) float
        Fields of the state.
    cord : (1,) record of ``cord_dtype``
    outputs : (B, 2, 4, S) float
        Written.
    """
    p = cord[0]
    for b in range(len(outputs)):
        for side in range(2):
            for cell in range(4):
                for q in range(outputs.shape[3]):
                    fatigue = p.adaptation[cell] * adaptation[b, side, min(cell, ADAPTING - 1), q]
                    u = activity(
                        excitation[b, side, cell, q],
                        inhibition[b, side, cell, q],
                        fatigue,
                        p.threshold[cell],
                        p.gain[cell],
                    )
                    outputs[b, side, cell, q] = segment_gain[b, side, q] * cell_gain[b, side, cell] * u


@kernel
def receive(xs, ks, cord, side, cell):
    """Sum what excites and inhibits the neurons of one type and side into ``input``, Ekeberg (1993), Eq. 1.

    A projection from p reaches q where q - caudal <= p <= q + rostral, so a sum over the sources is the
    difference of two running sums. After :func:`sense` and :func:`fire`.

    Parameters
    ----------
    xs, ks, cord : (1,) records
    side, cell : int
        Of the receiving neurons.
    """
    x, k, p = xs[0], ks[0], cord[0]
    segments, lanes = x.excitation.shape[2:]
    joints = x.motoneuron.shape[1]
    link = segments // (joints + 1)
    span = segments * lanes
    pad = (k.total.shape[2] - 1 - segments) // 2
    weight = p.brainstem[cell]
    level, excite, inhibit = k.level[side].reshape(span), k.input[0].reshape(span), k.input[1].reshape(span)
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
    if cell == CCIN:
        for j in range(joints):
            first = j * link + link // 2 if j > 0 else 0
            last = (j + 1) * link + link // 2 if j < joints - 1 else segments
            for q in range(first, last):
                for e in range(lanes):
                    k.input[1, q, e] += x.feedback[e] * k.edge[1 - side, j, e]


@kernel
def integrate(xs, ks, cord, dt):
    """Take one Euler step of all neurons, Ekeberg (1993), Eq. 1 and section 3.6.

    Parameters
    ----------
    xs : (1,) record of the state in lanes
        ``excitation``, ``inhibition`` and ``adaptation`` are changed.
    ks : (1,) record of scratch space in lanes
        After :func:`sense` and :func:`fire`.
    cord : (1,) record of ``cord_dtype``
    dt : float, s
    """
    x, k, p = xs[0], ks[0], cord[0]
    segments, lanes = x.excitation.shape[2:]
    span = segments * lanes
    excite, inhibit = k.input[0].reshape(span), k.input[1].reshape(span)
    for side in range(2):
        for cell in range(4):
            receive(xs, ks, cord, side, cell)
            part = dt * p.rate[cell]
            excited, inhibited = x.excitation[side, cell].reshape(span), x.inhibition[side, cell].reshape(span)
            for f in range(span):
                excited[f] += part * (excite[f] - excited[f])
                inhibited[f] += part * (inhibit[f] - inhibited[f])
        for cell in range(ADAPTING):
            part = dt * p.adaptation_rate[cell]
            u, tired = k.output[side, cell].reshape(span), x.adaptation[side, cell].reshape(span)
            for f in range(span):
                tired[f] += part * (u[f] - tired[f])


@kernel
def integrate_stage(xs, ks, cord, part, ahead):
    """One of the four evaluations of a Runge-Kutta step of all neurons, as ``body.stage`` is of the mechanics."""
    x, k, p = xs[0], ks[0], cord[0]
    segments, lanes = x.excitation.shape[2:]
    for side in range(2):
        for cell in range(4):
            receive(xs, ks, cord, side, cell)
            rate = p.rate[cell]
            for q in range(segments):
                for e in range(lanes):
                    a = rate * (k.input[0, q, e] - x.excitation[side, cell, q, e])
                    b = rate * (k.input[1, q, e] - x.inhibition[side, cell, q, e])
                    k.neuron_slope[0, side, cell, q, e] += part * a
                    k.neuron_slope[1, side, cell, q, e] += part * b
                    x.excitation[side, cell, q, e] = k.neuron_start[0, side, cell, q, e] + ahead * a
                    x.inhibition[side, cell, q, e] = k.neuron_start[1, side, cell, q, e] + ahead * b
        for cell in range(ADAPTING):
            rate = p.adaptation_rate[cell]
            for q in range(segments):
                for e in range(lanes):
                    a = rate * (k.output[side, cell, q, e] - x.adaptation[side, cell, q, e])
                    k.neuron_slope[2, side, cell, q, e] += part * a
                    x.adaptation[side, cell, q, e] = k.neuron_start[2, side, cell, q, e] + ahead * a


@kernel
def runge_kutta(xs, ks, links, cord, dt):
    """Take one fourth-order step of cord and body together, the reference for the other schemes."""
    x, k = xs[0], ks[0]
    segments, lanes = x.excitation.shape[2:]
    begin(xs, ks)
    for side in range(2):
        for cell in range(4):
            for q in range(segments):
                for e in range(lanes):
                    k.neuron_start[0, side, cell, q, e] = x.excitation[side, cell, q, e]
                    k.neuron_start[1, side, cell, q, e] = x.inhibition[side, cell, q, e]
                    if cell < ADAPTING:
                        k.neuron_start[2, side, cell, q, e] = x.adaptation[side, cell, q, e]
                    for a in range(3):
                        k.neuron_slope[a, side, cell, q, e] = 0.0
    for i in range(4):
        part = 1.0 / 3.0 if i == 1 or i == 2 else 1.0 / 6.0
        ahead = dt if i == 2 else 0.5 * dt
        sense(xs, ks, links)
        fire(xs, ks, cord)
        integrate_stage(xs, ks, cord, part, ahead)
        stage(xs, ks, links, part, ahead)
    for side in range(2):
        for cell in range(4):
            for q in range(segments):
                for e in range(lanes):
                    start, slope = k.neuron_start, k.neuron_slope
                    x.excitation[side, cell, q, e] = start[0, side, cell, q, e] + dt * slope[0, side, cell, q, e]
                    x.inhibition[side, cell, q, e] = start[1, side, cell, q, e] + dt * slope[1, side, cell, q, e]
                    if cell < ADAPTING:
                        x.adaptation[side, cell, q, e] = start[2, side, cell, q, e] + dt * slope[2, side, cell, q, e]
    finish(xs, ks, links, dt)


@kernel
def swim(xs, ks, links, cord, scheme, steps, dt, substeps):
    """Advance cord and body by ``steps`` steps of ``dt``, the brainstem drive held.

    In each step edge cells and motoneurons are taken from the state at its start, then the neurons take one
    Euler step, then the body moves with these motoneurons; Ekeberg (1993), sections 2 and 3.

    Parameters
    ----------
    xs : (1,) record of the state in lanes
        Changed in place. ``status`` becomes BENT where a joint passes ``LIMIT``.
    ks : (1,) record of scratch space in lanes
    links : (1,) record of ``links_dtype(n)``
    cord : (1,) record of ``cord_dtype``
    scheme : int
        EULER or IMPLICIT.
    steps : int
    dt : float, s
        The paper's is 10 ms.
    substeps : int
        Mechanical steps in ``dt``.
    """
    x = xs[0]
    lanes = x.work.shape[0]
    for e in range(lanes):
        x.work[e] = 0.0
    prepare(xs, ks, cord)
    for _ in range(steps):
        sense(xs, ks, links)
        fire(xs, ks, cord)
        account(xs, dt)
        integrate(xs, ks, cord, dt)
        if scheme == EULER:
            euler(xs, ks, links, substeps, dt / substeps)
        else:
            implicit(xs, ks, links, substeps, dt / substeps)
        check(xs, dt)


@kernel
def swim_reference(xs, ks, links, cord, steps, dt):
    """As :func:`swim`, with neurons and body in one fourth-order step of ``dt``."""
    x = xs[0]
    lanes = x.work.shape[0]
    for e in range(lanes):
        x.work[e] = 0.0
    prepare(xs, ks, cord)
    for _ in range(steps):
        fire(xs, ks, cord)
        account(xs, dt)
        runge_kutta(xs, ks, links, cord, dt)
        check(xs, dt)


def _cord_rows(rows, ids, blocks, lanes, work, links, cord, scheme, steps, dt, substeps):
    width = lanes.shape[2]
    count = len(lanes)
    for t in prange(count):
        for first in range(t * width, len(ids), count * width):
            gather(rows, ids, first, lanes[t])
            swim(blocks[t : t + 1], work[t : t + 1], links, cord, scheme, steps, dt, substeps)
            scatter(lanes[t], rows, ids, first, 1, BROKEN)


CORD = batch_kernel(_cord_rows)


def _reference_rows(rows, ids, blocks, lanes, work, links, cord, scheme, steps, dt, substeps):
    width = lanes.shape[2]
    count = len(lanes)
    for t in prange(count):
        for first in range(t * width, len(ids), count * width):
            gather(rows, ids, first, lanes[t])
            swim_reference(blocks[t : t + 1], work[t : t + 1], links, cord, steps, dt)
            scatter(lanes[t], rows, ids, first, 1, BROKEN)


REFERENCE = batch_kernel(_reference_rows)


@kernel
def fictive(xs, ks, cord, steps, dt):
    """Advance an isolated cord by ``steps`` steps of ``dt``, with what its edge cells sense held.

    Parameters
    ----------
    xs : (1,) record of ``isolated_fields`` in lanes
        Changed in place.
    ks : (1,) record of ``cord_work`` in lanes
    cord : (1,) record of ``cord_dtype``
    steps : int
    dt : float, s
    """
    x, k = xs[0], ks[0]
    sides, joints, lanes = x.edge.shape
    prepare(xs, ks, cord)
    for side in range(sides):
        for j in range(joints):
            for e in range(lanes):
                k.edge[side, j, e] = x.cell_gain[side, 4, e] * x.edge[side, j, e]
                x.output[side, j, e] = 0.0
    for _ in range(steps):
        fire(xs, ks, cord)
        for side in range(sides):
            for j in range(joints):
                for e in range(lanes):
                    x.output[side, j, e] += x.motoneuron[side, j, e] / steps
        integrate(xs, ks, cord, dt)


def _isolated_rows(rows, ids, blocks, lanes, work, cord, steps, dt):
    width = lanes.shape[2]
    count = len(lanes)
    for t in prange(count):
        for first in range(t * width, len(ids), count * width):
            gather(rows, ids, first, lanes[t])
            fictive(blocks[t : t + 1], work[t : t + 1], cord, steps, dt)
            scatter(lanes[t], rows, ids, first, 0, BROKEN)


ISOLATED = batch_kernel(_isolated_rows)
