"""Recorded motions, the torques that they take, and the muscles that give these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import number, shown
from ..core.files import check_file
from ..core.model.trajectory import Trajectory
from .animal import Neuromechanic, at_joints
from .muscles import COMPLIANT_TENDON, RIGID_TENDON, SHORT_RANGE
from .reader import listed

Vector = NDArray[np.float64]

LARGEST_FILE = 1 << 28
"""Bytes that a motion's file may have."""


@dataclass(frozen=True)
class Motion:
    """A table over time.

    Args:
        time ((T,) float, s)
        names (tuple of str): Of the columns.
        values ((T, C) float)
        degrees: Whether what turns is in degrees.

    Raises:
        ValueError: If shapes do not agree.
    """

    time: Vector
    names: tuple[str, ...]
    values: Vector
    degrees: bool = False

    def __post_init__(self) -> None:
        wanted, got = (len(self.time), len(self.names)), np.shape(self.values)
        if got != wanted:
            raise ValueError(
                f"values must have shape {wanted}, a row for each time and a column for each name, got {got}"
            )

    def __getitem__(self, name: str) -> Vector:
        """Column by its name, or by a part of its path, as ``knee`` of ``/jointset/knee_r/knee/value``."""
        for i, column in enumerate(self.names):
            if column == name or name in column.split("/")[-2:]:
                return self.values[:, i]
        raise ValueError(f"motion has no column {name!r}; it has {listed(self.names)}")


def read_motion(path: str | Path) -> Motion:
    """Read a table of OpenSim (``.mot``, ``.sto``) or of markers (``.trc``, whose columns are ``NAME.x`` and so on).

    Raises:
        ValueError: If it cannot be read, its times do not rise, or a row has too few numbers.
    """
    path = Path(path)
    try:
        check_file(path, LARGEST_FILE)
        lines = path.read_text("utf-8", "replace").splitlines()
        markers = path.suffix.lower() == ".trc"
        names, rows, degrees = _markers(lines) if markers else _storage(lines)
        table = np.array([[float(cell) for cell in row.split("\t" if markers else None)] for row in rows])
        if table.ndim != 2 or table.shape[1] != len(names) or len(table) < 2:
            raise ValueError(f"it must have at least 2 rows of {len(names)} numbers, got shape {table.shape}")
        time = names.index("time")
        if not (np.diff(table[:, time]) > 0).all():
            raise ValueError("its times must rise")
    except (OSError, ValueError) as error:
        raise ValueError(f"motion {str(path)!r} cannot be read: {error}") from None
    others = [i for i, name in enumerate(names) if i != time and name != "Frame#"]
    return Motion(table[:, time], tuple(names[i] for i in others), table[:, others], degrees)


def _storage(lines: Sequence[str]) -> tuple[list[str], list[str], bool]:
    end = next((i for i, line in enumerate(lines) if line.strip().lower() == "endheader"), None)
    if end is None:
        raise ValueError("it has no line 'endheader'")
    head = "".join(line.replace(" ", "").lower() + "\n" for line in lines[:end])
    body = [line for line in lines[end + 1 :] if line.strip()]
    names = body[0].split() if body else []
    if "time" not in names:
        raise ValueError(f"one column must be named 'time', got {listed(names)}")
    return names, body[1:], "indegrees=yes" in head


def _markers(lines: Sequence[str]) -> tuple[list[str], list[str], bool]:
    start = next((i for i, line in enumerate(lines) if line.startswith("Frame#")), None)
    if start is None:
        raise ValueError("it has no line that begins with 'Frame#'")
    markers = [name for name in lines[start].split("\t")[2:] if name.strip()]
    names = ["Frame#", "time", *(f"{name.strip()}.{axis}" for name in markers for axis in "xyz")]
    return names, [line.rstrip("\t") for line in lines[start + 2 :] if line.strip()], False


class Load(NamedTuple):
    """A recorded force on a body, as of the ground on a foot.

    Args:
        body: Of the model.
        motion: Table with the force, its place and a moment, in the world.
        force, point, moment: What the names of their columns begin with, before x, y and z; no moment if it is "".
    """

    body: str
    motion: Motion
    force: str = "ground_force_v"
    point: str = "ground_force_p"
    moment: str = "ground_torque_"

    def at(self, time: Vector) -> tuple[Vector, Vector, Vector]:
        """Force (T, 3) N, place (T, 3) m and moment (T, 3) N m at times (T,) s."""

        def read(name: str) -> Vector:
            if not name:
                return np.zeros((len(time), 3))
            return np.stack([np.interp(time, self.motion.time, self.motion[f"{name}{axis}"]) for axis in "xyz"], 1)

        return read(self.force), read(self.point), read(self.moment)


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
    q = np.stack([motion[name] for name in model.bodies], 1) * np.where(turns & motion.degrees, np.pi / 180.0, 1.0)
    if len(wrong := np.argwhere(~np.isfinite(q))):
        i, j = wrong[0]
        raise ValueError(f"motion must be finite, got {q[i, j]} of {model.bodies[j]!r} at {motion.time[i]:g} s")
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
    """`inverse_dynamics` of joint positions, velocities and accelerations (T, n) that are known."""
    arrays, row = animal.model.arrays, animal.rows(1)
    bodies = (*animal.model.bodies, *animal.model.followers)
    for load in loads:
        if load.body not in bodies:
            raise ValueError(f"loads: body {load.body!r} is not known; the model has {listed(bodies)}")
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
    reserve: ArrayLike | None = None,
) -> Trajectory:
    """Activations of least sum of squares that give the torques of a motion, frame by frame.

    Tendons are taken as rigid; a muscle's force then is a line in its activation. Joints that no muscle crosses, as
    those of a pelvis in space, are left out. Where the muscles cannot give the torques, they come as near as they can.

    Args:
        motion: A motion, or what `inverse_dynamics` told of one.
        loads, cutoff: As of `inverse_dynamics`.
        reserve ((n,) float, N m or N): Torque of a motor at each joint, at an activation of 1, which counts as a
            muscle's; without it there are none.

    Returns:
        Trajectory: ``q``, ``torque`` (T, n), ``activation`` and ``force`` (T, m), ``residual`` (T, n) that the muscles
            do not give, and ``held`` (T,), 1 where it is less than `HELD`.
    """
    run = motion if isinstance(motion, Trajectory) else inverse_dynamics(animal, motion, loads, cutoff)
    count = len(animal.model.muscles)
    if not count:
        raise ValueError("model has no muscles")
    rigid = _rigid(animal)
    torque, q, v = run["torque"], run["q"], run["v"]
    shape = torque.shape[1:]
    motors = np.zeros(shape) if reserve is None else np.broadcast_to(np.asarray(reserve, float), shape)
    if not (motors >= 0.0).all():
        raise ValueError(f"reserve must not be negative, got {shown(reserve)}")
    states = [_affine(rigid, q[i], v[i]) for i in range(len(q))]
    crossed = np.any([np.abs(arm).max(0, initial=0.0) > 1e-9 for arm, _, _ in states], axis=0) | (motors > 0.0)
    size = np.maximum(np.abs(torque).max(0), 1e-9)
    # The torques are met as if each had a motor that is dear to use; a reserve is one that is not.
    weight = np.where(crossed, np.where(motors > 0.0, 1.0 / np.maximum(motors, 1e-12), 1e5 / size), 0.0)
    a, active = np.zeros(count), np.zeros(count, np.int64)
    found: dict[str, list[Vector]] = {"activation": [], "force": [], "residual": []}
    for i, (arm, low, high) in enumerate(states):
        A, b = arm.T * (high - low), torque[i] - arm.T @ low
        a, active = _least(A * weight[:, None], b * weight, active)
        found["activation"].append(a)
        found["force"].append(low + a * (high - low))
        found["residual"].append(b - A @ a)
    result = {name: np.array(values) for name, values in found.items()}
    missed = np.abs(result["residual"]) / size
    held = np.all((missed < HELD) | ~crossed | (motors > 0.0), axis=1).astype(float)
    return Trajectory(run.time, {"q": q, "v": v, "torque": torque, **result, "held": held}, None)


def _rigid(animal: Neuromechanic) -> Neuromechanic:
    """Copy of an animal whose tendons are rigid; it shares all else."""
    arrays = animal.model.arrays
    if ((arrays["muscle"] == SHORT_RANGE) & (arrays["activation"] < 0)).any():  # pragma: no cover
        raise ValueError("model has muscles without activation")
    twin = animal.twin()
    kinds = twin.table["muscle"][0]
    kinds[kinds == COMPLIANT_TENDON] = RIGID_TENDON
    return twin


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


def _least(A: Vector, b: Vector, active: NDArray[np.int64]) -> tuple[Vector, NDArray[np.int64]]:
    """Minimise a'a + |A a - b|^2 in 0 <= a <= 1, from a guess which a are at a limit (-1, 1), and tell which are.

    Primal-dual active sets (Hintermueller, Ito & Kunisch, 2002), SIAM J Optim 13:865; where they go round in circles,
    SciPy's bounded least squares.
    """
    m = len(active)
    H, g = np.eye(m) + A.T @ A, A.T @ b
    for _ in range(30):
        free = active == 0
        a = (active == 1).astype(float)
        if free.any():
            a[free] = np.linalg.solve(H[np.ix_(free, free)], g[free] - H[np.ix_(free, ~free)] @ a[~free])
        pull = g - H @ a  # what still moves a, where it is at a limit
        new = np.where(free, (a > 1.0).astype(int) - (a < 0.0), np.where(pull * active > 0.0, active, 0))
        if (new == active).all():
            return a, active
        active = new
    from scipy.optimize import lsq_linear

    a = lsq_linear(np.vstack([np.eye(m), A]), np.r_[np.zeros(m), b], (0.0, 1.0), method="bvls", tol=1e-14).x
    active = (a > 1.0 - 1e-12).astype(np.int64) - (a < 1e-12)
    return np.where(active == 0, a, active == 1), active


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
    if joint not in bodies:
        raise ValueError(f"joint must be one of {listed(bodies)}, got {joint!r}")
    if q is not None:
        row["q"] = np.asarray(q, float)
    i = bodies.index(joint)
    places = np.linspace(animal.model.joints[i].low, animal.model.joints[i].high, count)
    found: dict[str, list[Any]] = {"length": [], "arm": []}
    for place in places:
        row["q"][0, i] = place
        k = animal.mechanics(row)
        found["length"].append(k["length"])
        found["arm"].append(k["arm"][:, i])
    return Trajectory(places, {name: np.array(values) for name, values in found.items()}, None)
