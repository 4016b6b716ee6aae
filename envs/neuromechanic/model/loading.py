"""Models: the class `Model`, loading from TOML files or mappings, and changes to a description.

Files are untrusted: their size, nesting and names are checked here, their tables in `tables` and `build`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arguments import choice, number, shown
from ...core.files import read_toml, toml_key, toml_value
from ...core.kinds import advice, takes_objects
from ..nerves import Module
from ..params import PHYSICAL
from .build import Joint, build
from .layout import pack
from .reader import LARGEST, LIMITS, expect, listed

LONGEST_PAST = 1 << 20
"""Largest number of past values in a row: delayed signals times the time steps of the longest delay (8 MiB)."""


@dataclass(frozen=True)
class Model:
    """Checked model, made by `load`.

    Args:
        bodies, muscles, neurons, inputs, wrenches, pins, contacts (tuple of str): Names, in the order of the state
            vector and of the signals. A body with a ball or free joint has three or six names, its own last.
        followers (tuple of str): Bodies with joints that follow another joint, numbered after ``bodies``.
        joints (tuple of Joint): Joint of each body in ``bodies``.
        frames: Body, rotation matrix (3, 3) and origin (3,) m of each further frame, by name.
        modules (tuple of Module): Control modules.
        arrays: Constants by name, see `layout.ARRAYS`.
        counts: Numbers of bodies, muscles and other parts.
        delays ((S,) float, s): Delay of each synapse.
        wrench ((W, 6) float, N and N m): Constant part of each wrench.
        start ((s,) float): Initial states n: 0 for control modules, ``start`` for leaky neurons.
        pulse ((P, 3) float): Pulses of the ground: onset (s), duration (s), peak (m/s^2).
        origin: Prefix of error messages with the name of the file; empty for a mapping.
        description (mapping or None): Source of the model, which trajectories save; None if there are modules.
    """

    bodies: tuple[str, ...]
    followers: tuple[str, ...]
    muscles: tuple[str, ...]
    neurons: tuple[str, ...]
    inputs: tuple[str, ...]
    wrenches: tuple[str, ...]
    pins: tuple[str, ...]
    contacts: tuple[str, ...]
    joints: tuple[Joint, ...]
    frames: dict[str, tuple[int, NDArray[np.float64], NDArray[np.float64]]]
    modules: tuple[Module, ...]
    delays: NDArray[np.float64]
    wrench: NDArray[np.float64]
    start: NDArray[np.float64]
    pulse: NDArray[np.float64]
    arrays: dict[str, NDArray[Any]]
    counts: dict[str, int]
    origin: str = field(default="", compare=False)
    description: Mapping[str, Any] | None = field(default=None, compare=False)

    def records(self, dt: float) -> tuple[NDArray[Any], dict[str, np.dtype[Any]]]:
        """Return table and record types for time steps of ``dt`` (s); see `layout.pack`.

        Raises:
            ValueError: If a delay is too long or not a whole number of time steps.
        """
        synapse, steps = self.arrays["synapse"].copy(), self.delays / dt
        most = LONGEST_PAST // max(self.counts["delays"], 1) - 1
        whole = np.rint(steps)
        wrong = ~(steps <= most) | (np.abs(steps - whole) > 1e-6 * steps) | ((self.delays > 0) & (whole < 1))
        if wrong.any():
            raise ValueError(
                f"{self.origin}delay of a synapse must be a whole number of time steps of {dt:g} s, at most {most} for "
                f"{self.counts['delays']} delayed signals, got {self.delays[wrong][0]:g} s"
            )
        synapse[:, 3] = whole
        depth = math.ceil(PHYSICAL["delay"].high * synapse[:, 3].max(initial=0)) + 1 if self.counts["delays"] else 0
        arrays = self.arrays | {"synapse": synapse, "interval": np.array([dt])}
        return pack(arrays, self.counts | {"depth": depth})


_DEEPEST = 8  # levels of tables and lists; valid models have up to 6
_ENTRIES = LIMITS["body"] ** 2  # in one table or list; the key B of a length needs most
_KEY, _TEXT = 100, 200  # characters


def read_file(source: str | Path, what: str) -> dict[str, Any]:
    """Return the contents of an untrusted TOML file; error messages start with ``what``."""
    try:
        table = plain(read_toml(Path(source)))
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{what} {str(source)!r} cannot be read: {advice(source, 'model') or error}") from None
    if text := advice(source, "model"):
        raise ValueError(f"{what} {str(source)!r} cannot be read: {text}")
    return table


def plain(value: Any, path: str = "", depth: int = 0) -> Any:
    """Copy a description into dicts, lists and Python numbers, and check sizes, names and magnitudes."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    here = path or "model"
    if isinstance(value, Mapping | list | tuple):
        if depth == _DEEPEST:
            raise ValueError(f"{here} is nested too deeply: {_DEEPEST} levels of tables and lists are allowed")
        if len(value) > _ENTRIES:
            raise ValueError(f"{here} must have at most {_ENTRIES} entries, got {len(value)}")
    if isinstance(value, Mapping):
        for key in value:
            if not (key and _is_text(key, _KEY)):
                raise ValueError(f"{here}: a name must have 1 to {_KEY} printable characters, got {shown(key)}")
        return {key: plain(part, f"{path}.{key}" if path else key, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part, f"{here}[{i}]", depth + 1) for i, part in enumerate(value)]
    if isinstance(value, str):
        expect(_is_text(value, _TEXT), here, f"have at most {_TEXT} printable characters", value)
    elif isinstance(value, int | float):
        expect(not abs(value) > LARGEST, here, f"be a number within -{LARGEST:g} and {LARGEST:g}", value)
    return value


def _is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most and value.isprintable()


@takes_objects
def write_toml(description: Mapping[str, Any]) -> str:
    """Return a description as TOML text, with one table for each body, muscle and other part."""
    lines = [
        f"{toml_key(key)} = {toml_value(value)}" for key, value in description.items() if not isinstance(value, Mapping)
    ]
    for kind, tables in description.items():
        if isinstance(tables, Mapping):
            nested = all(isinstance(values, Mapping) for values in tables.values())
            for name, values in tables.items() if nested else [(None, tables)]:
                lines.append(f"[{kind}]" if name is None else f"[{kind}.{toml_key(name)}]")
                lines += [f"{toml_key(key)} = {toml_value(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def load(source: str | Path | Mapping[str, Any], modules: Mapping[str, Module] | None = None) -> Model:
    """Read and check a model.

    A model is a table with the keys in `tables.KINDS`. The guide "Models in TOML" lists them with units and meanings.
    Units are SI, and positions are relative to the joint of the body.

    These signals can be the source of a synapse, motor or excitation:

    * ``joint.BODY.position`` and ``velocity``
    * ``muscle.NAME.force``, ``length``, ``velocity``, ``fibre_length``, ``fibre_velocity`` and ``activation``
    * ``body.NAME.x``, ``y``, ``z``, ``vx``, ``vy``, ``vz``: position and velocity of the body's joint in the world
    * ``contact.NAME.height`` above the surface, and ``contact.NAME.force`` along the normal in the last step
    * ``neuron.NAME``, ``spline.NAME``, ``module.NAME.OUTPUT`` and ``input.NAME``, an input of the model

    A body with a ball joint rotates freely; a free body also moves. The joints of a ball are ``BODY.rx``, ``BODY.ry``
    and ``BODY.rz``, after ``BODY.x``, ``BODY.y`` and ``BODY.z`` for a free body. Positions of the first three are the
    rotation vector, with the angle (at most pi) as its length. Velocities, motors and damping refer to the axes of the
    body. This has no singularities. The signal ``quaternion`` gives the same rotations.

    The rate of a spindle is bias + length_gain (length - rest) + velocity_gain velocity^power + coactivation
    activation, and that of a tendon organ is bias + gain (force - threshold) / max_force. By default, both are
    clipped to 0 to 1000 impulses per second.

    Numbers are limited to `reader.LARGEST`, delays to `tables.LONGEST_DELAY`, numbers of bodies, muscles and other
    parts to `reader.LIMITS`, and files (UTF-8) to `core.files.LARGEST_SETTINGS` bytes.

    Args:
        source (path of a TOML file, or mapping): Model. For OpenSim and MuJoCo files, pass the mapping that
            `gymnosoma.biomechanics.load` returns.
        modules: Control modules by name. They are code, so files cannot define them.

    Raises:
        ValueError: If the model is invalid. The message names the file, the key, the value and the allowed values.

    Examples:
        An arm with a spindle and a tendon organ in the biceps, which both connect to a leaky interneuron:

        >>> from gymnosoma.envs import simulate
        >>> from gymnosoma.envs.neuromechanic import Neuromechanic, load
        >>> from gymnosoma.envs.neuromechanic.hindlimb import asset
        >>> arm = asset("arm")
        >>> arm["neuron"]["ia"] = {"type": "spindle", "muscle": "biceps", "delay": 0.01}
        >>> arm["neuron"]["ib"] = {"type": "golgi", "muscle": "biceps", "delay": 0.01}
        >>> sources = [{"from": "neuron.ia"}, {"from": "neuron.ib", "gain": -0.5}]
        >>> arm["neuron"]["inter"] = {"tau": 0.02, "synapse": sources}
        >>> arm["wrench"] = {"hand": {"body": "fore", "at": [0, -0.26, 0]}}
        >>> animal = Neuromechanic(load(arm))
        >>> animal.model.inputs  # in the order that the arm declares
        ('triceps', 'biceps')
        >>> run = simulate(animal, [0.1, 0.1], 0.2, every=0.1, start={"wrench": [10.0, 0, 0, 0, 0, 0]})
        >>> run["neurons"].shape, run["joint_torque"].shape  # reflex, ia, ib, inter; two joints
        ((3, 4), (3, 2))

        A body that falls and tumbles in space:

        >>> block = {
        ...     "schema": 1,
        ...     "gravity": [0, -9.81, 0],
        ...     "body": {
        ...         "block": {
        ...             "joint": {"type": "free", "start": [0, 1, 0]},
        ...             "inertial": {"mass": 1.0, "inertia": [0.01, 0.02, 0.025]},
        ...         }
        ...     },
        ... }
        >>> animal = Neuromechanic(block)
        >>> animal.model.bodies
        ('block.x', 'block.y', 'block.z', 'block.rx', 'block.ry', 'block')
        >>> run = simulate(animal, [], 0.2, every=0.2, start={"v": [0, 0, 0, 1, 10, 0]})
        >>> run["quaternion"].shape  # times, balls, (w, x, y, z)
        (2, 1, 4)
    """
    if isinstance(source, Mapping):
        return Model(**build(plain(source), modules or {}))
    description, origin = read_file(source, "model"), f"model {str(source)!r}: "
    try:
        return Model(**build(description, modules or {}), origin=origin)
    except ValueError as error:
        raise ValueError(f"{origin}{error}") from None


def changed(
    model: str | Path | Mapping[str, Any],
    params: Mapping[str, Any] | str | Path | None,
    modules: Mapping[str, Module] | None = None,
) -> dict[str, Any]:
    """Return a copy of a model's description with some values changed.

    Args:
        model (path of a TOML file, or mapping): Model, as for `load`.
        params (mapping or path of a TOML file): Keys to change with their new values, such as
            ``{"muscle": {"biceps": {"model": {"max_force": 100.0}}}}``. Lists are replaced as a whole. Bodies, muscles
            and inputs cannot be added or removed; register another model with `register_model` instead.
        modules: Control modules by name.

    Raises:
        ValueError: If ``params`` has another type, its file cannot be read, it names a part that the model lacks, or
            the changed model is invalid.
    """
    own: dict[str, Any] = plain(model) if isinstance(model, Mapping) else read_file(model, "model")
    if params is None:
        return own
    if isinstance(params, Mapping):
        values = plain(params, "params")
    elif isinstance(params, str | Path):
        values = read_file(params, "params")
    else:
        raise ValueError(f"params must be a mapping or the path of a TOML file, got {shown(params)}")
    result = _merged(own, values, ())
    before = load(own, modules)
    try:
        after = load(result, modules)
    except ValueError as error:
        raise ValueError(f"params: {error}") from None
    for what, old, new in (
        ("inputs", before.inputs, after.inputs),
        ("activations", before.counts["active"], after.counts["active"]),
        ("number of pulses", before.counts["pulses"], after.counts["pulses"]),
    ):
        if old != new:
            raise ValueError(f"params must not change the {what}, {shown(old)}, got {shown(new)}")
    return result


def _merged(own: Mapping[str, Any], values: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    result = dict(own)
    for key, value in values.items():
        if len(path) < 2 and key not in own:  # `load` checks keys on deeper levels
            raise ValueError(f"params: {'.'.join((*path, key))} is not known; the model has {listed(own)}")
        inner = own.get(key)
        if isinstance(value, Mapping) and isinstance(inner, Mapping):
            value = _merged(inner, value, (*path, key))
        result[key] = value
    return result


def held(model: dict[str, Any], fixed: Mapping[str, float] | Sequence[str]) -> dict[str, Any]:
    """Hold joints of a description at positions (rad or m), by default their start; changes and returns ``model``.

    Hinges and slides are pinned. Ball joints and free bodies become rigid in their start posture.
    """
    joints = {name: table["joint"] for name, table in model["body"].items()}
    for name in fixed:
        choice("fixed", name, [name for name, joint in joints.items() if not {"follows", "fixed"} & set(joint)])
        joint = joints[name]
        if "axis" not in joint:
            if isinstance(fixed, Mapping):
                raise ValueError(f"fixed: {name} must have no position, because it is a {joint['type']} joint")
            w, *axis = joint.get("attitude", [1.0, 0.0, 0.0, 0.0])
            sine = math.hypot(*axis)
            at = np.add(joint.get("at", [0.0] * 3), joint.get("start", [0.0] * 3)).tolist()
            joint.clear()
            joint |= {"type": "revolute", "axis": axis if sine else [1.0, 0.0, 0.0], "at": at}
            joint["fixed"] = 2.0 * math.atan2(sine, w)
            continue
        place = fixed[name] if isinstance(fixed, Mapping) else joint.get("start", 0.0)
        joint["start"], pin = number(f"fixed: {name}", place), f"fixed_{name}"
        model.setdefault("spline", {})[pin] = {"times": [0.0, 1.0], "values": [place, place]}
        model.setdefault("pin", {})[pin] = {"joint": name, "motion": f"spline.{pin}"}
    return model


STIFF = 100.0
"""Natural frequency of a joint against its limit, rad/s; the damping is critical."""


def limited(model: dict[str, Any], fixed: Collection[str], make: Callable[[Any], Any]) -> Any:
    """Make an animal from a description, with limits at the ends of ranges of joints that have a range and no limit.

    The stiffness is in proportion to the inertia that moves with the joint in the start posture.
    """
    limits = {}
    for name, table in model["body"].items():
        joint = table["joint"]
        if name not in fixed and "range" in joint and not {"follows", "fixed", "limit"} & set(joint):
            low, high = joint["range"]
            joint["limit"] = limits[name] = {"low": low, "high": high, "stiffness": [0.0], "transition": 0.02}
    animal = make(model)  # the number of limits determines the compiled code
    masses = np.diag(animal.mechanics(animal.rows(1))["M"])
    for name, limit in limits.items():
        mass = float(masses[animal.model.bodies.index(name)])
        limit |= {"stiffness": [STIFF**2 * mass], "damping": 2.0 * STIFF * mass}
    return make(model)
