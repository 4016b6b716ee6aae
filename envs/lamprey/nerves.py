"""Nerves of the lamprey as kernels: a circuit in a loop with the body, a circuit alone, and motoneurons alone.

The spinal cord of Ekeberg (1993) is such a circuit, ``assets/lamprey/circuits/cord.toml``. Kernels work on lanes and
take records as those of ``body.py`` do; ``xs`` and ``ks`` hold the fields of the circuit
(``core/circuit/kernels.py``) beside those of the body, or of an isolated cord. Side 0 is left, 1 right.
"""

from __future__ import annotations

import numpy as np

from ..core.circuit.kernels import (
    EXCITATORY,
    INHIBITORY,
    activity,
    add_noise,
    drive_joints,
    fire_circuit,
    is_cut,
    prepare_circuit,
    prepare_drive,
    receive_circuit,
    stage_circuit,
    step_circuit,
)
from ..core.kernels.jit import exp, kernel
from ..core.kernels.lanes import batch_kernel
from ..core.kernels.records import fields, record
from .body import (
    BROKEN,
    LEFT,
    RIGHT,
    RUNGE_KUTTA,
    begin_step,
    clear_work,
    end_step,
    finish_runge_kutta,
    move_body,
    runge_kutta_stage,
    start_runge_kutta,
)


def residual_fields(n: int) -> list[tuple]:
    """Fields of an animal of ``n`` links with a circuit that are its own."""
    return fields(("residual", (2, n - 1), "1", "left; right, added to what drives the muscles of every joint"))


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


def isolated_fields(n: int) -> list[tuple]:
    """Fields of a cord without a body that come before the circuit's; joints are left; right."""
    return fields(
        ("time", (), "s", ""),
        ("status", (), "1", "0 or BROKEN"),
        ("joint_angle", n - 1, "rad", "given, for the record"),
        ("edge", (2, n - 1), "1/m", "given: what it senses"),
        ("motoneuron output", (2, n - 1), "1", "output, and its mean during ``advance``"),
        ("excite inhibit", (2, n - 1), "1", "means of what its motoneurons receive"),
        ("feedback", (), "m", "strength of the edge cells' synapses"),
    )


@kernel
def sense_curvature(xs, ks, links):
    """Write what is ``sensed`` by side and joint: curvature where it stretches the side, times the ``feedback``.

    Ekeberg (1993), Eq. 8.
    """
    x, k, p = xs[0], ks[0], links[0]
    n, lanes = x.link_angle.shape
    for j in range(n - 1):
        span = 1.0 / (p.half[j] + p.half[j + 1])
        for e in range(lanes):
            curvature = span * (x.link_angle[j, e] - x.link_angle[j + 1, e])
            k.sensed[LEFT, j, e] = x.feedback[e] * (-curvature if curvature < 0.0 else 0.0)
            k.sensed[RIGHT, j, e] = x.feedback[e] * (curvature if curvature > 0.0 else 0.0)


@kernel
def drive_muscles(xs, ks, circuit):
    """Write the ``motoneuron`` of every joint, 0 .. 1: what the circuit drives it with, plus ``residual``."""
    x, k = xs[0], ks[0]
    sides, joints, lanes = x.motoneuron.shape
    drive_joints(ks, circuit)
    for side in range(sides):
        for j in range(joints):
            for e in range(lanes):
                m = k.muscle[side, j, e] + x.residual[side, j, e]
                x.motoneuron[side, j, e] = 0.0 if m < 0.0 else (1.0 if m > 1.0 else m)


@kernel
def fire(xs, ks, links, circuit, cut):
    """Write the outputs of all cells and the ``motoneuron`` of every joint."""
    sense_curvature(xs, ks, links)
    fire_circuit(xs, ks, circuit, cut)
    drive_muscles(xs, ks, circuit)


@kernel
def prepare_swimming(xs, ks, dt, links, circuit, scheme, substeps):
    """Do what follows from the parameters alone."""
    prepare_circuit(xs, ks, circuit)


@kernel
def swim(xs, ks, steps, dt, links, circuit, scheme, substeps):
    """Advance circuit and body by ``steps`` steps of ``dt``, ``substeps`` of the body in each, the drive held.

    In each step edge cells and motoneurons are taken from the state at its start, then the neurons step as
    `step_circuit` says, then the body moves with these motoneurons, by EULER or IMPLICIT; Ekeberg (1993), sections 2
    and 3, where dt is 10 ms. ``status`` becomes BENT where a joint passes ``LARGEST_JOINT_ANGLE``.
    """
    clear_work(xs)
    prepare_drive(xs, ks, circuit)
    cut = is_cut(ks)
    for _ in range(steps):
        fire(xs, ks, links, circuit, cut)
        begin_step(xs, dt)
        step_circuit(xs, ks, circuit, dt, cut)
        move_body(xs, ks, links, scheme, substeps, dt / substeps)
        end_step(xs, dt)


@kernel
def prepare_reference(xs, ks, dt, links, circuit):
    """Do what follows from the parameters alone."""
    prepare_circuit(xs, ks, circuit)


@kernel
def swim_reference(xs, ks, steps, dt, links, circuit):
    """Swim as :func:`swim` does, with neurons and body in one fourth-order step of ``dt``."""
    clear_work(xs)
    prepare_drive(xs, ks, circuit)
    cut = is_cut(ks)
    for _ in range(steps):
        fire(xs, ks, links, circuit, cut)
        begin_step(xs, dt)
        start_runge_kutta(xs, ks)
        for stage in range(4):
            if stage > 0:
                fire(xs, ks, links, circuit, cut)
            part = 1.0 / 3.0 if stage == 1 or stage == 2 else 1.0 / 6.0
            ahead = dt if stage == 2 else 0.5 * dt
            stage_circuit(xs, ks, circuit, stage, dt, cut)
            runge_kutta_stage(xs, ks, links, part, ahead)
        finish_runge_kutta(xs, ks, links, dt)
        add_noise(xs, circuit, dt, False)
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


@kernel
def prepare_fictive(xs, ks, dt, circuit):
    """Do what follows from the parameters alone."""
    prepare_circuit(xs, ks, circuit)


@kernel
def fictive(xs, ks, steps, dt, circuit):
    """Advance an isolated circuit by ``steps`` steps of ``dt``, with what it senses held."""
    x, k, p = xs[0], ks[0], circuit[0]
    sides, joints, lanes = x.edge.shape
    prepare_drive(xs, ks, circuit)
    cut = is_cut(ks)
    for side in range(sides):
        for j in range(joints):
            for e in range(lanes):
                k.sensed[side, j, e] = x.feedback[e] * x.edge[side, j, e]
                x.output[side, j, e] = x.excite[side, j, e] = x.inhibit[side, j, e] = 0.0
    for e in range(lanes):
        x.time[e] += steps * dt
    for _ in range(steps):
        fire_circuit(xs, ks, circuit, cut)
        drive_muscles(xs, ks, circuit)
        for side in range(sides):
            receive_circuit(ks, circuit, side, p.muscles, cut)
            for j in range(joints):
                count = (p.muscle_last[j] - p.muscle_first[j]) * steps
                for e in range(lanes):
                    x.output[side, j, e] += x.motoneuron[side, j, e] / steps
                for q in range(p.muscle_first[j], p.muscle_last[j]):
                    for e in range(lanes):
                        x.excite[side, j, e] += k.received[EXCITATORY, q, e] / count
                        x.inhibit[side, j, e] += k.received[INHIBITORY, q, e] / count
        step_circuit(xs, ks, circuit, dt, cut)


SWIMMING = batch_kernel(swim, BROKEN, prepare=prepare_swimming)

REFERENCE = batch_kernel(swim_reference, BROKEN, prepare=prepare_reference)

DRIVEN = batch_kernel(swim_driven, BROKEN)

FICTIVE = batch_kernel(fictive, BROKEN, together=False, prepare=prepare_fictive)
"""A circuit without the body, as in fictive swimming."""
