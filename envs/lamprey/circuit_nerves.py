"""A circuit that is data in the cord's place, with the lamprey's body and without it, as kernels.

``xs`` and ``ks`` hold the fields of the circuit (``core/circuit/kernels.py``) beside those of the body, or of an
isolated cord.
"""

from __future__ import annotations

from ..core.circuit.kernels import (
    EXCITATORY,
    INHIBITORY,
    drive_joints,
    fire_circuit,
    is_cut,
    prepare_circuit,
    prepare_drive,
    receive_circuit,
    step_circuit,
)
from ..core.kernels.jit import kernel
from ..core.kernels.lanes import batch_kernel
from ..core.kernels.records import fields
from .body import BROKEN, begin_step, clear_work, end_step, move_body
from .nerves import stretch_sides


def residual_fields(n: int) -> list[tuple]:
    """Fields of an animal of ``n`` links with a circuit that are its own."""
    return fields(("residual", (2, n - 1), "1", "left; right, added to what drives the muscles of every joint"))


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
def prepare_swimming(xs, ks, dt, links, circuit, scheme, substeps):
    """Do what follows from the parameters alone."""
    prepare_circuit(xs, ks, circuit)


@kernel
def swim(xs, ks, steps, dt, links, circuit, scheme, substeps):
    """Advance circuit and body as ``nerves.swim`` does cord and body; its neurons step as `step_circuit` says.

    ``links`` and ``circuit`` are records of constants; ``scheme`` is EULER or IMPLICIT.
    """
    clear_work(xs)
    prepare_drive(xs, ks, circuit)
    cut = is_cut(ks)
    for _ in range(steps):
        stretch_sides(xs, links, (xs[0].feedback, xs[0].feedback), ks[0].sensed)
        fire_circuit(xs, ks, circuit, cut)
        drive_muscles(xs, ks, circuit)
        begin_step(xs, dt)
        step_circuit(xs, ks, circuit, dt, cut)
        move_body(xs, ks, links, scheme, substeps, dt / substeps)
        end_step(xs, dt)


SWIMMING = batch_kernel(swim, BROKEN, prepare=prepare_swimming)


@kernel
def prepare_fictive(xs, ks, dt, circuit):
    """Do what follows from the parameters alone."""
    prepare_circuit(xs, ks, circuit)


@kernel
def fictive(xs, ks, steps, dt, circuit):
    """Advance an isolated circuit as ``nerves.fictive`` does a cord, with what it senses held."""
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
                part = 1.0 / ((p.muscle_last[j] - p.muscle_first[j]) * steps)
                for e in range(lanes):
                    x.output[side, j, e] += x.motoneuron[side, j, e] / steps
                for q in range(p.muscle_first[j], p.muscle_last[j]):
                    for e in range(lanes):
                        x.excite[side, j, e] += part * k.received[EXCITATORY, q, e]
                        x.inhibit[side, j, e] += part * k.received[INHIBITORY, q, e]
        step_circuit(xs, ks, circuit, dt, cut)


FICTIVE = batch_kernel(fictive, BROKEN, together=False, prepare=prepare_fictive)
"""A circuit without the body, as in fictive swimming."""
