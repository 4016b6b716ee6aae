"""Inverse dynamics, static optimisation, moment arms and induced accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs import Trajectory
from gymnosoma.envs.core.arguments import choice, number, numbers
from gymnosoma.envs.neuromechanic import COMPLIANT_TENDON, RIGID_TENDON, Neuromechanic, at_joints, refuse_contacts

from .motions import Load, Motion

Vector = NDArray[np.float64]


def smooth(animal: Neuromechanic, motion: Motion, cutoff: float | None = 6.0) -> tuple[Vector, Vector, Vector]:
    """Positions, velocities and accelerations (T, n) of the joints, by a quintic spline.

    Args:
        cutoff (Hz): Of a Butterworth filter of order 4, forth and back, before it; None for none.

    Raises:
        ValueError: If a joint has no column or a value is not finite, or the model has balls.
    """
    from scipy.interpolate import make_interp_spline
    from scipy.signal import butter, filtfilt

    model = animal.model
    if model.counts["balls"]:
        raise ValueError("model has balls or free bodies, whose positions are no columns of a motion")
    turns = np.array([joint.revolute for joint in model.joints])
    q = numbers("motion", np.stack([motion[name] for name in model.bodies], 1))
    q = q * np.where(turns & motion.degrees, np.pi / 180.0, 1.0)
    if cutoff is not None:
        pace = np.diff(motion.time)
        if np.ptp(pace) > 1e-3 * pace.mean():
            raise ValueError("motion must have equal intervals to be filtered; set cutoff=None")
        limit = 0.5 / float(pace.mean())
        number("cutoff", cutoff, above=0, maximum=0.99 * limit)
        q = filtfilt(*butter(4, cutoff / limit), q, axis=0)
    spline = make_interp_spline(motion.time, q, k=min(5, len(q) - 1))
    return spline(motion.time), spline(motion.time, 1), spline(motion.time, 2)


def inverse_dynamics(
    animal: Neuromechanic, motion: Motion, loads: Sequence[Load] = (), cutoff: float | None = 6.0
) -> Trajectory:
    """Torques that a motion takes, without those of muscles, springs, damping and limits.

    Args:
        motion: With a column for each joint.
        loads: Recorded forces from outside.
        cutoff (Hz): See `smooth`.

    Returns:
        Trajectory: ``q``, ``v``, ``qdd`` and ``torque`` (T, n), rad and N m (m and N where a joint slides).
    """
    return torques(animal, motion.time, *smooth(animal, motion, cutoff), loads)


def torques(
    animal: Neuromechanic, time: Vector, q: Vector, v: Vector, qdd: Vector, loads: Sequence[Load] = ()
) -> Trajectory:
    """`inverse_dynamics` of joint positions, velocities and accelerations (T, n)."""
    arrays, row = animal.model.arrays, animal.rows(1)
    bodies = (*animal.model.bodies, *animal.model.followers)
    for load in loads:
        choice("loads: body", load.body, bodies)
    pushes = [(bodies.index(load.body), *load.at(time)) for load in loads]
    torque = np.empty_like(q)
    for i in range(len(time)):
        row["q"], row["v"] = q[i], v[i]
        k = animal.mechanics(row)
        torque[i] = k["M"] @ qdd[i] + k["bias"]
        for body, force, point, moment in pushes:
            whole = np.concatenate([np.cross(point[i], force[i]) + moment[i], force[i]])
            torque[i] -= at_joints(k, arrays, body, whole)
    return Trajectory(time, {"q": q, "v": v, "qdd": qdd, "torque": torque}, None)


HELD = 1e-3
"""Torque (N m), or force (N), by which muscles may miss what a motion takes, in parts of the largest."""


def static_optimisation(
    animal: Neuromechanic,
    motion: Motion | Trajectory,
    loads: Sequence[Load] = (),
    cutoff: float | None = 6.0,
    reserve: ArrayLike = 0.0,
) -> Trajectory:
    """Activations of least sum of squares that give the torques of a motion, frame by frame.

    Tendons are taken as rigid; a muscle's force then is a line in its activation. Joints that no muscle crosses, as
    those of a pelvis in space, are left out. Where the muscles cannot give the torques, they come as near as they can.

    Args:
        motion: A motion, or what `inverse_dynamics` returned.
        loads, cutoff: As of `inverse_dynamics`.
        reserve ((n,) float, N m or N): Torque of a motor at each joint, at an activation of 1, which counts as a
            muscle's; 0 for none.

    Returns:
        Trajectory: ``q``, ``torque`` (T, n), ``activation`` and ``force`` (T, m), ``residual`` (T, n) that the muscles
            do not give, and ``held`` (T,), 1 where it is less than `HELD`.
    """
    run = motion if isinstance(motion, Trajectory) else inverse_dynamics(animal, motion, loads, cutoff)
    if not animal.model.muscles:
        raise ValueError("model has no muscles")
    torque, q, v = run["torque"], run["q"], run["v"]
    motors = np.broadcast_to(numbers("reserve", reserve, minimum=0), torque.shape[1:])
    rigid = animal.twin()
    kinds = rigid.table["muscle"][0]
    kinds[kinds == COMPLIANT_TENDON] = RIGID_TENDON
    states = [_affine(rigid, q[i], v[i]) for i in range(len(q))]
    crossed = np.any([np.abs(arm).max(0, initial=0.0) > 1e-9 for arm, _, _ in states], axis=0) | (motors > 0.0)
    size = np.maximum(np.abs(torque).max(0), 1e-9)
    # The torques are met as if each had a motor that is dear to use; a reserve is one that is not.
    weight = np.where(crossed, np.where(motors > 0.0, 1.0 / np.maximum(motors, 1e-12), 1e5 / size), 0.0)
    frames: dict[str, list[Vector]] = {"activation": [], "force": [], "residual": []}
    for i, (arm, low, high) in enumerate(states):
        A, b = arm.T * (high - low), torque[i] - arm.T @ low
        a = _least(A * weight[:, None], b * weight)
        frames["activation"].append(a)
        frames["force"].append(low + a * (high - low))
        frames["residual"].append(b - A @ a)
    result = {name: np.array(values) for name, values in frames.items()}
    missed = np.abs(result["residual"]) / size
    balanced = np.all((missed < HELD) | ~crossed | (motors > 0.0), axis=1).astype(float)
    return Trajectory(run.time, {"q": q, "v": v, "torque": torque, **result, "held": balanced}, None)


def _affine(animal: Neuromechanic, q: Vector, v: Vector) -> tuple[Vector, Vector, Vector]:
    """Moment arms (m, n), and forces (m,) N at activations 0 and 1, of a posture that moves."""
    row, forces = animal.rows(1), []
    row["q"], row["v"] = q, v
    for level in (0.0, 1.0):
        row["activation"] = level
        k = animal.mechanics(row)
        free = animal.model.arrays["activation"] < 0
        forces.append(np.where(free, level * animal.model.arrays["max_force"], k["force"]))
    return k["arm"], forces[0], np.maximum(forces[1], forces[0] + 1e-9)


def _least(A: Vector, b: Vector) -> Vector:
    """Minimise a'a + |A a - b|^2 in 0 <= a <= 1."""
    from scipy.optimize import lsq_linear

    size = A.shape[1]
    stacked, target = np.vstack([np.eye(size), A]), np.r_[np.zeros(size), b]
    return np.clip(lsq_linear(stacked, target, (0.0, 1.0), method="bvls", tol=1e-14).x, 0.0, 1.0)


def moment_arms(animal: Neuromechanic, joint: str, q: ArrayLike | None = None, count: int = 101) -> Trajectory:
    """Lengths and moment arms of all muscles over the range of a joint, the others held.

    Args:
        joint: Of ``model.bodies``.
        q ((n,) float): Posture of the others; the model's start by default.
        count: Of positions.

    Returns:
        Trajectory: Over positions of the joint (rad or m) instead of times: ``length`` and ``arm`` (count, m).
    """
    bodies, row = animal.model.bodies, animal.rows(1)
    choice("joint", joint, bodies)
    if q is not None:
        row["q"] = np.asarray(q, float)
    i = bodies.index(joint)
    places = np.linspace(animal.model.joints[i].low, animal.model.joints[i].high, count)
    lengths, arms = [], []
    for place in places:
        row["q"][0, i] = place
        k = animal.mechanics(row)
        lengths.append(k["length"])
        arms.append(k["arm"][:, i])
    return Trajectory(places, {"length": np.array(lengths), "arm": np.array(arms)}, None)


def induced_accelerations(animal: Neuromechanic, row: NDArray[Any]) -> dict[str, Vector]:
    """Accelerations of the joints that each force of Eqs 4 to 7 induces by itself; they add up to ``qdd``.

    Every force meets the whole body: pins answer to each. What the pins' own motion and their correction of errors ask
    for stands beside the forces.

    Args:
        row ((1,) record)

    Returns:
        dict: rad/s^2, or m/s^2: ``gravity`` (n,), with the ground's acceleration; ``velocity`` (n,), Coriolis and
            centrifugal; ``passive`` (n,), damping and springs of joints; ``muscle`` (m, n), ``motor`` (r, n) and
            ``wrench`` (w, n), one by one; ``pin`` (n,).

    Raises:
        ValueError: For a model with contacts, which act in time steps.

    Examples:
        By how much the arm's muscles, each by itself, accelerate its bent elbow:

        >>> from gymnosoma.envs.neuromechanic import Neuromechanic
        >>> from gymnosoma.biomechanics import induced_accelerations
        >>> from gymnosoma.envs.neuromechanic.hindlimb import asset
        >>> arm = Neuromechanic(asset("arm"))
        >>> row = arm.rows(1)
        >>> row["q"], row["activation"] = [0.0, 1.0], 0.2
        >>> elbow = induced_accelerations(arm, row)["muscle"][:, 1]
        >>> bool(elbow[0] > 0 > elbow[1])  # the biceps flexes it, the triceps extends it
        True
    """
    refuse_contacts(animal)
    arrays, n = animal.model.arrays, len(animal.model.bodies)
    still = row.copy()
    still["v"] = 0.0
    weight = -row["mass"][0] * animal.mechanics(still)["bias"]
    k = animal.mechanics(row)
    muscle = k["arm"] * k["force"][:, None]
    motor = np.zeros((len(arrays["motor"]), n))
    motor[np.arange(len(motor)), arrays["motor"][:, 0]] = k["motor"]
    forces = {
        "gravity": weight,
        "velocity": -row["mass"][0] * k["bias"] - weight,
        "passive": k["joint_torque"] - muscle.sum(0) - motor.sum(0),
        "muscle": muscle,
        "motor": motor,
        "wrench": k["wrench_torque"],
    }
    ease, J = np.linalg.inv(k["M"]), k["J"]
    pull = ease @ J.T @ np.linalg.inv(J @ ease @ J.T)  # acceleration per acceleration of the pins
    free = ease - pull @ J @ ease
    return {name: force @ free.T for name, force in forces.items()} | {"pin": pull @ k["drift"]}
