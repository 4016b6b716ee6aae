"""Inverse dynamics, static optimisation, moment arms and induced accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs import Trajectory
from gymnosoma.envs.core.arguments import choice, number, numbers
from gymnosoma.envs.core.kinds import takes_objects
from gymnosoma.envs.neuromechanic import COMPLIANT_TENDON, RIGID_TENDON, Neuromechanic, at_joints, refuse_contacts
from gymnosoma.envs.neuromechanic.muscles import PROPORTIONAL

from .motions import Load, Motion

Vector = NDArray[np.float64]


def smooth(animal: Neuromechanic, motion: Motion, cutoff: float | None = 6.0) -> tuple[Vector, Vector, Vector]:
    """Compute joint positions, velocities and accelerations (T, n) by a quintic spline.

    Args:
        animal: Model with n joints.
        motion: Motion with T times and a column for each joint.
        cutoff (Hz): Cutoff frequency of a third-order Butterworth filter, which is applied forwards and backwards
            before the spline; None does not filter. As in OpenSim, the motion is first continued at both ends by half
            its length, reflected at the end points.

    Raises:
        ValueError: If a joint has no column, a column has gaps, the model has ball joints or free bodies, or the
            intervals to filter are not equal.
    """
    from scipy.interpolate import make_interp_spline

    model = animal.model
    if model.counts["balls"]:
        raise ValueError("model must have no balls or free bodies: a motion has no columns for them")
    turns = np.array([joint.revolute for joint in model.joints])
    q = numbers("motion", np.stack([motion.filled(name) for name in model.bodies], 1))
    time, q = motion.time, q * np.where(turns & motion.degrees, np.pi / 180.0, 1.0)
    if cutoff is not None:
        pace = np.diff(motion.time)
        if np.ptp(pace) > 1e-3 * pace.mean():
            raise ValueError("motion must have equal time intervals to be filtered; set cutoff=None")
        limit = 0.5 / float(pace.mean())
        number("cutoff", cutoff, above=0, maximum=0.99 * limit)
        more = len(q) // 2
        q = np.concatenate([2.0 * q[0] - q[more:0:-1], q, 2.0 * q[-1] - q[-2 : -2 - more : -1]])
        time = time[0] + float(pace.mean()) * np.arange(-more, len(q) - more)
        q = _lowpass(_lowpass(q, cutoff / limit)[::-1], cutoff / limit)[::-1]
    ends = ([(3, np.zeros(q.shape[1])), (4, np.zeros(q.shape[1]))],) * 2 if len(q) > 5 else None
    spline = make_interp_spline(time, q, k=min(5, len(q) - 1), bc_type=ends)
    return spline(motion.time), spline(motion.time, 1), spline(motion.time, 2)


def _lowpass(q: Vector, cutoff: float) -> Vector:
    """Apply OpenSim's third-order Butterworth filter to columns; as there, the first three rows do not change."""
    from scipy.signal import butter, lfilter, lfiltic

    b, a = butter(3, cutoff)
    start = np.stack([lfiltic(b, a, past, past) for past in q[2::-1].T], 1)
    return np.concatenate([q[:3], lfilter(b, a, q[3:], axis=0, zi=start)[0]])


@takes_objects
def inverse_dynamics(
    animal: Neuromechanic, motion: Motion, loads: Sequence[Load] = (), cutoff: float | None = 6.0
) -> Trajectory:
    """Compute the joint torques that produce a motion.

    Muscles, springs, damping and joint limits are not modelled: the result is the sum of their torques.

    Args:
        animal: Model with n joints.
        motion: Motion with T times and a column for each joint.
        loads: Recorded external forces.
        cutoff (Hz): Cutoff frequency of the filter; see `smooth`.

    Returns:
        Trajectory: ``q``, ``v``, ``qdd`` and ``torque`` (T, n), in rad and N m (m and N for sliding joints).
    """
    return torques(animal, motion.time, *smooth(animal, motion, cutoff), loads)


@takes_objects
def torques(
    animal: Neuromechanic, time: Vector, q: Vector, v: Vector, qdd: Vector, loads: Sequence[Load] = ()
) -> Trajectory:
    """Compute `inverse_dynamics` from joint positions, velocities and accelerations (T, n)."""
    arrays, row = animal.model.arrays, animal.rows(1)
    frames = [
        [_frame(animal, f"loads: {key}", getattr(load, key)) for key in ("body", "axes", "origin")] for load in loads
    ]
    forces = [load.at(time) for load in loads]
    torque = np.empty_like(q)
    for i in range(len(time)):
        row["q"], row["v"] = q[i], v[i]
        k = animal.mechanics(row)
        torque[i] = k["M"] @ qdd[i] + k["bias"]
        for load, (body, axes, origin), parts in zip(loads, frames, forces, strict=True):
            R, _ = _placed(k, axes)
            turn, centre = _placed(k, origin if load.point else body)
            force, point, moment = R @ parts[0][i], turn @ parts[1][i] + centre, R @ parts[2][i]
            torque[i] -= at_joints(k, arrays, body[0], np.concatenate([np.cross(point, force) + moment, force]))
    return Trajectory(time, {"q": q, "v": v, "qdd": qdd, "torque": torque}, None)


Frame = tuple[int, Vector, Vector]
"""Body (-1 for the ground), and rotation matrix and origin (m) of a frame in it."""


def _frame(animal: Neuromechanic, argument: str, name: str) -> Frame:
    """Return a body or frame by its name."""
    model = animal.model
    bodies = (*model.bodies, *model.followers)
    choice(argument, name, (*bodies, *model.frames, "ground"))
    straight = bodies.index(name) if name in bodies else -1, np.eye(3), np.zeros(3)
    return model.frames.get(name, straight)


def _placed(k: dict[str, Vector], frame: Frame) -> tuple[Vector, Vector]:
    """Return rotation matrix and origin (m) of a frame in the world, from the result of `Neuromechanic.mechanics`."""
    body, R, p = frame
    return (R, p) if body < 0 else (k["turn"][body] @ R, k["turn"][body] @ p + k["origin"][body])


@takes_objects
def point_path(animal: Neuromechanic, run: Trajectory, body: str, at: ArrayLike = (0.0, 0.0, 0.0)) -> Vector:
    """Compute the positions (T, 3) m of a point of a body in the world, from the joint positions ``q`` of a trajectory.

    Args:
        animal: Model.
        run: Trajectory with ``q`` (T, n), from `inverse_dynamics` or `simulate`.
        body: Name of a body or frame of the model.
        at ((3,) float, m): Point in the frame of the body.
    """
    frame, row, path = _frame(animal, "body", body), animal.rows(1), []
    for q in run["q"]:
        row["q"] = q
        R, p = _placed(animal.mechanics(row), frame)
        path.append(R @ np.asarray(at, float) + p)
    return np.array(path)


HELD = 1e-3
"""Largest residual of a torque or force for a frame to count as held, relative to the largest of the motion."""


@takes_objects
def static_optimisation(
    animal: Neuromechanic,
    motion: Motion | Trajectory,
    loads: Sequence[Load] = (),
    cutoff: float | None = 6.0,
    reserve: ArrayLike = 0.0,
) -> Trajectory:
    """Compute the activations with the least sum of squares that produce the torques of a motion, frame by frame.

    Tendons count as rigid, so that muscle force is a linear function of activation. Joints without muscles, such as
    those between the pelvis and the ground, are left out. If the muscles are too weak, the torques are approximated.

    Args:
        animal: Model with n joints and m muscles.
        motion: Motion, or result of `inverse_dynamics`.
        loads, cutoff: See `inverse_dynamics`.
        reserve ((n,) float, N m or N): Torque of a reserve motor at each joint at activation 1. Its activation is
            part of the sum of squares. 0 adds no motor.

    Returns:
        Trajectory: ``q``, ``v``, ``torque`` (T, n), ``activation`` and ``force`` (T, m), ``residual`` (T, n), the
            torque that the muscles cannot produce, and ``held`` (T,), 1 if the residual is below `HELD`.

    Raises:
        ValueError: If the model has no muscles.
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
    # Every crossed joint gets a motor: an expensive one, which enforces the torque, or the cheap reserve.
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
    """Return moment arms (m, n) and the forces (m,) N at activations 0 and 1, for positions and velocities (n,)."""
    row, forces = animal.rows(1), []
    row["q"], row["v"] = q, v
    for level in (0.0, 1.0):
        row["activation"] = level
        k = animal.mechanics(row)
        free = animal.model.arrays["muscle"] == PROPORTIONAL
        forces.append(np.where(free, level * animal.model.arrays["max_force"], k["force"]))
    return k["arm"], forces[0], np.maximum(forces[1], forces[0] + 1e-9)


def _least(A: Vector, b: Vector) -> Vector:
    """Minimise a'a + |A a - b|^2 subject to 0 <= a <= 1."""
    from scipy.optimize import lsq_linear

    size = A.shape[1]
    stacked, target = np.vstack([np.eye(size), A]), np.r_[np.zeros(size), b]
    return np.clip(lsq_linear(stacked, target, (0.0, 1.0), method="bvls", tol=1e-14).x, 0.0, 1.0)


@takes_objects
def moment_arms(animal: Neuromechanic, joint: str, q: ArrayLike | None = None, count: int = 101) -> Trajectory:
    """Compute lengths and moment arms of all muscles over the range of one joint.

    Args:
        animal: Model with n joints and m muscles.
        joint: Name of the joint, one of ``model.bodies``.
        q ((n,) float): Posture of the other joints; the model's start posture by default.
        count: Number of positions.

    Returns:
        Trajectory: ``length`` and ``arm`` (count, m), with positions of the joint (rad or m) instead of times.
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


@takes_objects
def induced_accelerations(animal: Neuromechanic, row: NDArray[Any]) -> dict[str, Vector]:
    """Compute the joint accelerations that each force of Eqs 4 to 7 induces; they add up to ``qdd``.

    Each acceleration includes the reaction of the pins to its force. The acceleration that results from the motion of
    the pins and from the correction of their errors is a separate entry, ``pin``.

    Args:
        animal: Model with n joints, m muscles, r motors and w wrenches.
        row ((1,) record): State of the model.

    Returns:
        dict: Accelerations, rad/s^2 (m/s^2 for sliding joints):

            * ``gravity`` (n,): gravity and acceleration of the ground
            * ``velocity`` (n,): Coriolis and centrifugal forces
            * ``passive`` (n,): damping, springs and limits of joints, and bushings
            * ``muscle`` (m, n), ``motor`` (r, n), ``wrench`` (w, n), ``contact`` (c, n): each of them separately
            * ``pin`` (n,): motion and error correction of the pins

    Raises:
        ValueError: If the model has rigid contacts, which act on whole time steps.

    Examples:
        Acceleration of the arm's bent elbow by each muscle:

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
        "contact": k["contact_torque"],
    }
    ease, J = np.linalg.inv(k["M"]), k["J"]
    pull = ease @ J.T @ np.linalg.inv(J @ ease @ J.T)  # acceleration of the joints per acceleration of the pins
    free = ease - pull @ J @ ease
    return {name: force @ free.T for name, force in forces.items()} | {"pin": pull @ k["drift"]}
