"""Kernels of the lamprey's nervous system: circuit with body, isolated circuit, and motoneurons with body.

The spinal cord of Ekeberg (1993) is a circuit, ``assets/lamprey/circuits/cord.toml``. Kernels work on lanes and take
records like those of ``body.py``. ``xs`` and ``ks`` have the fields of the circuit (``core/circuit/kernels.py``), and
those of the body or the isolated cord. Side 0 is left, 1 is right.
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
    for_steps,
    is_cut,
    prepare_circuit,
    prepare_drive,
    receive_circuit,
    stage_circuit,
    step_circuit,
)
from ..core.kernels.jit import kernel
from ..core.kernels.lanes import batch_kernel, fields, record
from ..core.kernels.maths import exp
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
    """Return the fields of residual actions on an animal of ``n`` links with a circuit."""
    return fields(("residual", (2, n - 1), "1", "left, right, added to the drive of each joint's muscles"))


def motoneuron_fields(n: int) -> list[tuple]:
    """Return the fields of motoneurons without a cord, one per side and joint, for a body of ``n`` links."""
    return fields(
        ("excitation inhibition", (2, n - 1), "1", "left, right: delayed inputs xi+ and xi- of Eq. 1"),
        ("command", (2, n - 1), "1", "from -1 (fully inhibited) to 1 (fully excited)"),
    )


def motoneuron_dtype() -> np.dtype:
    """Return the record of a motoneuron's constants."""
    return record(
        ("threshold gain rate", (), "1, 1, 1/s", "Theta, Gamma and 1/tau_D of Table 1"),
        ("excite inhibit", (), "1", "input at a command of 1 and of -1"),
    )


def isolated_fields(n: int) -> list[tuple]:
    """Return the fields of an isolated cord that precede those of the circuit; sides are left, right."""
    return fields(
        ("time", (), "s", ""),
        ("status", (), "1", "0 or BROKEN"),
        ("joint_angle", n - 1, "rad", "imposed angle, for recordings"),
        ("edge", (2, n - 1), "1/m", "imposed output of the edge cells"),
        ("motoneuron output", (2, n - 1), "1", "output of motoneurons, and its mean during ``advance``"),
        ("excite inhibit", (2, n - 1), "1", "mean inputs of motoneurons during ``advance``"),
        ("feedback", (), "m", "strength of the edge cells' synapses"),
    )


@kernel
def sense_curvature(xs, ks, links):
    """Set ``sensed`` by side and joint: the curvature that stretches this side, times ``feedback``.

    Source: Ekeberg (1993), Eq. 8.
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
    """Set the ``motoneuron`` of each joint, from 0 to 1: output of the circuit plus ``residual``."""
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
    """Set the outputs of all cells and the ``motoneuron`` of each joint."""
    sense_curvature(xs, ks, links)
    fire_circuit(xs, ks, circuit, cut)
    drive_muscles(xs, ks, circuit)


@kernel
def prepare_swimming(xs, ks, dt, links, circuit, scheme, substeps):
    """Compute constants of an ``advance`` that depend only on parameters."""
    prepare_circuit(xs, ks, circuit)


@kernel
def swim(xs, ks, steps, dt, links, circuit, scheme, substeps):
    """Advance circuit and body by ``steps`` steps of ``dt`` with ``substeps`` of the body each; the drive is constant.

    In each step, edge cells and motoneurons are computed from the state at its start. Then the neurons advance by
    `step_circuit`, and the body advances with these motoneurons by EULER or IMPLICIT. ``status`` becomes BENT if a
    joint exceeds ``LARGEST_JOINT_ANGLE``. Source: Ekeberg (1993), sections 2 and 3, with a dt of 10 ms.
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
    """Compute constants of an ``advance`` that depend only on parameters."""
    prepare_circuit(xs, ks, circuit)


@kernel
def swim_reference(xs, ks, steps, dt, links, circuit):
    """Advance like :func:`swim`, with one fourth-order step of ``dt`` for neurons and body together."""
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
    """Set the ``motoneuron`` of each joint, for motoneurons without a cord; Ekeberg (1993), Eq. 2."""
    x, p = xs[0], neuron[0]
    sides, joints, lanes = x.motoneuron.shape
    for side in range(sides):
        for j in range(joints):
            for e in range(lanes):
                excited, inhibited = x.excitation[side, j, e], x.inhibition[side, j, e]
                x.motoneuron[side, j, e] = activity(excited, inhibited, 0.0, p.threshold, p.gain)


@kernel
def follow(xs, neuron, part):
    """Move ``excitation`` and ``inhibition`` of motoneurons by ``part`` of the way to their commands; Eq. 1."""
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
    """Advance motoneurons and body like :func:`swim`; the commands of the motoneurons are constant.

    ``xs`` has ``body_fields`` and ``motoneuron_fields``, ``ks`` has ``body_work``, and ``neuron`` is one record of
    ``motoneuron_dtype``. With RUNGE_KUTTA, the motoneurons during a step have their exact state at its middle.
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
    """Compute constants of an ``advance`` that depend only on parameters."""
    prepare_circuit(xs, ks, circuit)


@kernel
def fictive(xs, ks, steps, dt, circuit):
    """Advance an isolated circuit by ``steps`` steps of ``dt``; its senses are constant."""
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


REFERENCE = batch_kernel(swim_reference, BROKEN, prepare=prepare_reference, wide=False)

FICTIVE = {
    euler: batch_kernel(for_steps(fictive, euler), BROKEN, together=False, prepare=prepare_fictive, wide=False)
    for euler in (False, True)
}
"""Kernels of a circuit without the body, as in fictive swimming, with Runge-Kutta and with Euler steps."""
