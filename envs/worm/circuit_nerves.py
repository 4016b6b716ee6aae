"""The worm with a nervous system that is data, as kernels: it feels its bending, and moves its muscles.

``xs`` and ``ks`` hold the fields of the circuit (``core/circuit/kernels.py``) beside those of the body.
"""

from __future__ import annotations

from ..core.circuit.kernels import drive_joints, fire_circuit, is_cut, prepare_circuit, prepare_drive, step_circuit
from ..core.kernels.jit import kernel
from ..core.kernels.lanes import batch_kernel
from ..core.kernels.records import fields
from .body import BROKEN, begin_midpoint, midpoint_step


def nervous_fields(n: int) -> list[tuple]:
    """Fields that a worm of ``n`` rods with a circuit has beside it."""
    return fields(
        ("residual", n - 1, "rad", "the drive, added to the control angles of the circuit"),
        ("feedback", n - 1, "1", "factor on what is felt of each joint, 0 where it is deaf"),
    )


@kernel
def feel_bending(xs, ks):
    """Write what is ``sensed``: the angle of every joint, times its ``feedback``; on a right side its negative."""
    x, k = xs[0], ks[0]
    sides, joints, lanes = k.sensed.shape
    for j in range(joints):
        for e in range(lanes):
            k.sensed[0, j, e] = x.feedback[j, e] * (x.rod_angle[j + 1, e] - x.rod_angle[j, e])
        for e in range(lanes if sides == 2 else 0):
            k.sensed[sides - 1, j, e] = -k.sensed[0, j, e]


@kernel
def command_muscles(xs, ks, circuit):
    """Write the ``control_angle`` of every joint: what the circuit drives it with, left less right, and the drive."""
    x, k, p = xs[0], ks[0], circuit[0]
    joints, lanes = x.control_angle.shape
    drive_joints(ks, circuit)
    for j in range(joints):
        for e in range(lanes):
            x.control_angle[j, e] = k.muscle[0, j, e] + x.residual[j, e]
        for e in range(lanes if p.sided[p.muscles] == 2 else 0):
            x.control_angle[j, e] -= k.muscle[k.muscle.shape[0] - 1, j, e]


@kernel
def prepare_crawling(xs, ks, dt, profile, circuit):
    """Do what follows from the parameters alone."""
    prepare_circuit(xs, ks, circuit)


@kernel
def crawl(xs, ks, steps, dt, profile, circuit):
    """Advance circuit and body by ``steps`` steps of ``dt`` s; the body by ``body.midpoint``, with its ``profile``.

    In each the neurons move with the bending at its start held, then the body with the muscles that they command at
    the end.
    """
    begin_midpoint(xs, ks)
    prepare_drive(xs, ks, circuit)
    cut = is_cut(ks)
    for _ in range(steps):
        feel_bending(xs, ks)
        fire_circuit(xs, ks, circuit, cut)
        step_circuit(xs, ks, circuit, dt, cut)
        fire_circuit(xs, ks, circuit, cut)
        command_muscles(xs, ks, circuit)
        midpoint_step(xs, ks, dt, profile)


CRAWLING = batch_kernel(crawl, BROKEN, prepare=prepare_crawling)
