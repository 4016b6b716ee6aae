"""Kernels of a worm with a circuit, which senses joint angles and outputs control angles.

Here is the link between circuit and body: senses, muscles, and the step that advances both. The neurons are in
``core/circuit/kernels.py``, the body is in ``body.py``. ``xs`` and ``ks`` have the fields of both.
"""

from __future__ import annotations

from ..core.circuit.kernels import drive_joints, fire_circuit, is_cut, prepare_circuit, prepare_drive, step_circuit
from ..core.kernels.jit import kernel
from ..core.kernels.lanes import batch_kernel, fields
from .body import BROKEN, begin_midpoint, midpoint_step


def nervous_fields(n: int) -> list[tuple]:
    """Return the additional fields of a worm of ``n`` rods with a circuit."""
    return fields(
        ("residual", n - 1, "rad", "drive, added to the control angles of the circuit"),
        ("tone", (2, n - 1), "1", "factors of the muscles' activation on stiffness and damping"),
        ("feedback", n - 1, "1", "factor on the sensed angle of each joint"),
        ("stiffening", (), "1", "effect of activation on stiffness and damping, from 0 to 1"),
    )


def nervous_work(n: int) -> list[tuple]:
    """Return the additional scratch fields of a worm of ``n`` rods with a circuit."""
    return fields(("passive", (2, n - 1), "N m, N m s", "stiffness and damping of the passive joints"))


@kernel
def feel_bending(xs, ks):
    """Set ``sensed``: the angle of each joint times its ``feedback``, with the opposite sign on the right side."""
    x, k = xs[0], ks[0]
    sides, joints, lanes = k.sensed.shape
    for j in range(joints):
        for e in range(lanes):
            k.sensed[0, j, e] = x.feedback[j, e] * (x.rod_angle[j + 1, e] - x.rod_angle[j, e])
        for e in range(lanes if sides == 2 else 0):
            k.sensed[sides - 1, j, e] = -k.sensed[0, j, e]


@kernel
def unit(value):
    """Return a value clipped to 0 .. 1."""
    return 0.0 if value < 0.0 else (1.0 if value > 1.0 else value)


@kernel
def command_muscles(xs, ks, circuit):
    """Set the ``control_angle`` of each joint: output of the circuit, left minus right, plus the drive.

    With antagonists, it is the angle at which their torques balance, plus the drive; they also set ``stiffness`` and
    ``damping``.
    """
    x, k, p = xs[0], ks[0], circuit[0]
    joints, lanes = x.control_angle.shape
    drive_joints(ks, circuit)
    for j in range(joints if p.angle > 0.0 else 0):
        left, right = k.muscle[0, j], k.muscle[k.muscle.shape[0] - 1, j]
        for e in range(lanes):
            a, b = unit(p.activation[j] * left[e]), unit(p.activation[j] * right[e])
            stiffening = x.stiffening[e]
            left_part = a / (1.0 + stiffening * (1.0 + p.stiffness * a) / p.series[j])
            right_part = b / (1.0 + stiffening * (1.0 + p.stiffness * b) / p.series[j])
            tone = left_part + right_part
            share = p.stiffness * (a * left_part - b * right_part) / (1.0 + p.stiffness * tone)
            x.control_angle[j, e] = p.angle * share + x.residual[j, e]
            x.tone[0, j, e] = 1.0 + stiffening * p.stiffness * tone
            x.tone[1, j, e] = 1.0 + stiffening * p.damping * (a + b)
            x.stiffness[j, e] = k.passive[0, j, e] * x.tone[0, j, e]
            x.damping[j, e] = k.passive[1, j, e] * x.tone[1, j, e]
    for j in range(0 if p.angle > 0.0 else joints):
        for e in range(lanes):
            x.control_angle[j, e] = k.muscle[0, j, e] + x.residual[j, e]
        for e in range(lanes if p.sided[p.muscles] == 2 else 0):
            x.control_angle[j, e] -= k.muscle[k.muscle.shape[0] - 1, j, e]


@kernel
def keep_joints(xs, ks, circuit, begin):
    """Keep stiffness and damping of the passive joints at the start of an ``advance``; restore them at its end."""
    x, k, p = xs[0], ks[0], circuit[0]
    joints, lanes = x.control_angle.shape
    for j in range(joints if p.angle > 0.0 else 0):
        for e in range(lanes):
            if begin:
                k.passive[0, j, e], k.passive[1, j, e] = x.stiffness[j, e], x.damping[j, e]
            else:
                x.stiffness[j, e], x.damping[j, e] = k.passive[0, j, e], k.passive[1, j, e]


@kernel
def prepare_crawling(xs, ks, dt, profile, circuit):
    """Compute constants of an ``advance`` that depend only on parameters."""
    prepare_circuit(xs, ks, circuit)


@kernel
def crawl(xs, ks, steps, dt, profile, circuit):
    """Advance circuit and body by ``steps`` steps of ``dt`` s; the body uses ``body.midpoint`` and its ``profile``.

    In each step, the neurons advance with the joint angles at its start. Then the body advances with the control angles
    from the new outputs of the neurons.
    """
    begin_midpoint(xs, ks)
    prepare_drive(xs, ks, circuit)
    cut = is_cut(ks)
    keep_joints(xs, ks, circuit, True)
    for _ in range(steps):
        feel_bending(xs, ks)
        fire_circuit(xs, ks, circuit, cut)
        step_circuit(xs, ks, circuit, dt, cut)
        fire_circuit(xs, ks, circuit, cut)
        command_muscles(xs, ks, circuit)
        midpoint_step(xs, ks, dt, profile)
    keep_joints(xs, ks, circuit, False)


CRAWLING = batch_kernel(crawl, BROKEN, prepare=prepare_crawling)
