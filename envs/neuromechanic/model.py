"""Models as data: bodies, muscles, neurons, contacts and so on from a TOML file or a dict, checked key by key."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import shown
from . import muscles, nerves, skeleton
from .modules import Module
from .table import pack

SCHEMA = 1
"""Version of the schema."""

LARGEST_FILE = 1 << 20
"""Bytes that a model's file may have."""

LIMITS = {
    "body": 128,
    "muscle": 1024,
    "neuron": 1024,
    "cylinder": 1024,
    "spline": 256,
    "motor": 1024,
    "pin": 256,
    "contact": 64,
    "wrench": 256,
    "inputs": 1024,
    "synapses": 2048,
    "points of paths": 8192,
    "times of splines": 2048,
}
"""Tables of a kind, and what their entries add up to, that a model may have."""

LARGEST = 1e9
"""Size that a number of a model may have, in SI: no product of several overflows."""

SMALLEST = 1e-12
"""What a number that must be greater than 0 is at least."""

LONGEST_DELAY = 10.0
"""Of a synapse, s."""

LONGEST_PAST = 1 << 20
"""Numbers that a row may keep of the past: delayed signals times the time steps of the longest delay (8 MiB)."""

_DEEPEST = 8  # levels of tables and lists: two more than any model has
_ENTRIES = LIMITS["body"] ** 2  # of any table or list: the most are those of B
_KEY, _TEXT = 100, 200  # characters
_PARTS = 16
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_PARTS}}}", re.ASCII)

_MUSCLES = ("rigid_tendon", "compliant_tendon", "short_range", "proportional")
_CURVES = ("de_groote", "thelen")
_ACTIVATIONS = ("smooth", "switched", "zajac")
_SHAPES = ("linear", "sigmoid", "tanh", "heaviside", "saturate")
_NEURONS = ("sum", "spindle", "golgi")
_SPINDLES = {
    "Ia": {"bias": 50.0, "length_gain": 2000.0, "velocity_gain": 4.3 * 1000.0**0.6, "coactivation": 50.0},
    "II": {"bias": 80.0, "length_gain": 13500.0, "velocity_gain": 0.0, "coactivation": 20.0},
}
"""Rates (1/s) at rest, per m, per (m/s)^0.6 and at full activation, of the cat's afferents: the form is that of
Prochazka & Gorassini (1998, J Physiol 507:277-291), the constants those of Prochazka (1999, Prog Brain Res 123:133-142)
as models of spinal reflexes use them."""
_GOLGI = 333.0  # 1/s at the maximal force, Prochazka (1999)
_RATE = {"type": "saturate", "low": 0.0, "high": 1000.0}  # 1/s, of afferents
_SUFFIXES = {"ball": ("rx", "ry"), "free": ("x", "y", "z", "rx", "ry")}
_MUSCLE_SIGNALS = {
    "length": nerves.LENGTH,
    "velocity": nerves.LENGTH_RATE,
    "fibre_length": nerves.FIBRE_LENGTH,
    "fibre_velocity": nerves.FIBRE_VELOCITY,
    "force": nerves.FORCE,
    "activation": nerves.ACTIVATION,
}


class Joint(NamedTuple):
    """What tasks and pictures must know of a joint: its start, range and unit."""

    start: float
    low: float
    high: float
    revolute: bool


class _Keys:
    """A table of the model that notes which of its keys were read, and names them in errors."""

    def __init__(self, path: str, values: Any) -> None:
        if not isinstance(values, Mapping):
            raise ValueError(f"{path} must be a table, got {shown(values)}")
        self.path, self.values = path, values
        self.read: list[str] = []

    def __contains__(self, key: str) -> bool:
        self.read.append(key)
        return key in self.values

    def get(self, key: str, default: Any = None) -> Any:
        self.read.append(key)
        if key in self.values:
            return self.values[key]
        if default is None:
            raise ValueError(f"{self.path}.{key} is missing")
        return default

    def table(self, key: str, default: Mapping[str, Any] | None = None) -> _Keys:
        return _Keys(f"{self.path}.{key}", self.get(key, default))

    def number(self, key: str, default: float | None = None, low: float = -np.inf, high: float = np.inf) -> float:
        value = self.get(key, default)
        if not (_is_number(value) and low <= value <= high):
            raise ValueError(f"{self.path}.{key} must be a number {_within(low, high)}, got {shown(value)}")
        return float(value)

    def positive(self, key: str, default: float | None = None) -> float:
        value = self.get(key, default)
        if not (_is_number(value) and value > 0):
            raise ValueError(f"{self.path}.{key} must be a number greater than 0, got {shown(value)}")
        if value < SMALLEST:
            raise ValueError(f"{self.path}.{key} must be at least {SMALLEST:g}, got {shown(value)}")
        return float(value)

    def vector(self, key: str, sizes: Sequence[int], default: Sequence[float] | None = None) -> NDArray[np.float64]:
        value = self.get(key, default)
        if not (isinstance(value, list | tuple) and len(value) in sizes and all(map(_is_number, value))):
            count = " or ".join(str(size) for size in sizes)
            raise ValueError(f"{self.path}.{key} must be a list of {count} numbers, got {shown(value)}")
        return np.asarray(value, float)

    def direction(self, key: str, default: Sequence[float] | None = None) -> NDArray[np.float64]:
        value = self.vector(key, (3,), default)
        size = float(np.linalg.norm(value))
        if not size > SMALLEST:
            raise ValueError(f"{self.path}.{key} must not be zero, got {shown(value)}")
        return value / size

    def choice(self, key: str, allowed: Iterable[str], default: str | None = None) -> str:
        value, allowed = self.get(key, default), list(allowed)
        if not (isinstance(value, str) and value in allowed):
            raise ValueError(f"{self.path}.{key} must be one of {', '.join(allowed)}, got {shown(value)}")
        return value

    def close(self) -> None:
        """Refuse keys that nobody has read."""
        for key in self.values:
            if key not in self.read:
                raise ValueError(f"{self.path}.{key} is not known; allowed are {_listed(dict.fromkeys(self.read))}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most and value.isprintable()


def _plain(value: Any, path: str = "", depth: int = 0) -> Any:
    """Copy a description into dicts and lists of Python's own numbers, and refuse what no model has anywhere."""
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
        return {key: _plain(part, f"{path}.{key}" if path else key, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, f"{here}[{i}]", depth + 1) for i, part in enumerate(value)]
    if isinstance(value, str) and not _is_text(value, _TEXT):
        raise ValueError(f"{here} must have at most {_TEXT} printable characters, got {shown(value)}")
    if isinstance(value, int | float) and abs(value) > LARGEST:
        raise ValueError(f"{here} must be a number within -{LARGEST:g} and {LARGEST:g}, got {shown(value)}")
    return value


def _listed(names: Iterable[str]) -> str:
    """Names for an error, of which there may be many."""
    first = list(names)
    return ", ".join(first[:20] + ["..."] * (len(first) > 20))


def _within(low: float, high: float) -> str:
    if high < np.inf:
        return f"from {low:g} to {high:g}"
    return f"of at least {low:g}" if low > -np.inf else "that is finite"


def _sorted(kind: str, after: Mapping[str, Sequence[str]], key: str) -> list[str]:
    """Names in an order in which each stands after those it needs; a cycle is an error."""
    order: dict[str, None] = {}
    for first in after:
        way: dict[str, Iterator[str]] = {} if first in order else {first: iter(after[first])}
        while way:
            name = next(reversed(way))
            for other in way[name]:
                if other in way:
                    names = list(way)
                    cycle = " -> ".join([*names[names.index(other) :][:20], other])
                    raise ValueError(f"{kind}.{other}.{key} makes a cycle: {cycle}")
                if other not in order:
                    way[other] = iter(after[other])
                    break
            else:
                del way[name]
                order[name] = None
    return list(order)


@dataclass(frozen=True)
class Model:
    """A checked model; `load` makes it.

    Parameters
    ----------
    bodies, muscles, neurons, inputs, wrenches, pins, contacts : tuple of str
        Names, in the order of the state vector and of the signals. A body with a ball or free joint has three or six,
        its own being the last.
    joints : tuple of Joint
        One per body.
    modules : tuple of Module
    arrays : dict
        Constants by name, see `table.pack`.
    counts : dict
    delays : (S,) float, s
        Of each synapse.
    wrench : (W, 6) float, N and N m
        Constant part of each wrench.
    start : (s,) float
        States n at the beginning: of control modules 0, of leaky neurons what the model says.
    pulse : (3,) float
        Of the ground: when it begins (s), how long it lasts (s), its peak (m/s^2).
    origin : str
        What errors begin with: the file, or nothing.
    description : mapping or None
        What the model was made of, where that is data alone.
    """

    bodies: tuple[str, ...]
    muscles: tuple[str, ...]
    neurons: tuple[str, ...]
    inputs: tuple[str, ...]
    wrenches: tuple[str, ...]
    pins: tuple[str, ...]
    contacts: tuple[str, ...]
    joints: tuple[Joint, ...]
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
        """Table for time steps of ``dt`` (s), of which every delay must be a whole number; see `table.pack`."""
        synapse, steps = self.arrays["synapse"].copy(), self.delays / dt
        most = LONGEST_PAST // max(self.counts["delays"], 1) - 1
        for j, delay in enumerate(self.delays):
            n = int(np.searchsorted(self.arrays["synapse_start"], j, "right")) - 1
            key = f"{self.origin}neuron.{self.neurons[n]}.synapse[{j - self.arrays['synapse_start'][n]}].delay"
            if not steps[j] <= most:
                raise ValueError(
                    f"{key} must be at most {most} time steps of {dt:g} s for {self.counts['delays']} delayed signals, "
                    f"got {delay:g} s"
                )
            if abs(steps[j] - round(steps[j])) > 1e-6 * steps[j] or (delay > 0 and round(steps[j]) < 1):
                raise ValueError(f"{key} must be a whole number of time steps of {dt:g} s, got {delay:g} s")
        synapse[:, 3] = np.rint(steps)
        depth = int(synapse[:, 3].max(initial=0)) + 1 if self.counts["delays"] else 0
        arrays = self.arrays | {"synapse": synapse, "interval": np.array([dt])}
        return pack(arrays, self.counts | {"depth": depth})


def load(source: str | Path | Mapping[str, Any], modules: Mapping[str, Module] | None = None) -> Model:
    """Read and check a model.

    A model states ``schema = 1``, ``gravity`` (3 numbers, m/s^2, none by default), where it has several inputs
    ``inputs``, their names in the order of the drive, and the tables below, all but the platform with names of their
    own as in ``[body.forearm]``. Units are SI, positions refer to the joint of the body; what stands in brackets may be
    left out.

    ==========  ====================================================================================================
    table       keys
    ==========  ====================================================================================================
    body        ``joint``, [``parent``: a body, else the ground], [``inertial``]
    . joint     ``type``: revolute or prismatic, ``axis``, [``at``: where in the parent, ``start``, ``range``,
                ``damping``, ``stiffness``, ``rest``]; ball, [``at``, ``attitude``: a quaternion w, x, y, z,
                ``damping``]; free, [``at``, ``start``: x, y, z, ``attitude``]
    . inertial  ``mass``, [``centre``, ``inertia`` about it: xx, yy, zz, perhaps xy, xz, yz]
    muscle      ``model``, ``path`` or ``length``, ``excitation``: a signal or a number from 0 to 1
    . model     ``type``: rigid_tendon or compliant_tendon with ``max_force``, ``optimal_length``, ``slack_length``,
                [``max_velocity``: lengths/s, ``pennation``, ``curves``: de_groote or thelen, ``activation``];
                short_range with ``max_force``, ``optimal_length``, ``stiffness``, ``reference_length``,
                [``viscosity``, ``force_length``, ``pennation``, ``activation``]; proportional with ``max_force``
    . path      points ``[body or "ground", x, y, z]``, and between two of them ``{ cylinder = NAME }``
    . length    mean - a d - d B d / 2 in d = q - at, so that the moment arms are a + B d: ``mean``, ``a``, [``at``,
                ``B``: a list of [i, j, value]]
    cylinder    ``body``, ``at``, ``axis``, ``side``: the way round it, ``radius``
    neuron      ``synapse``: a list of tables, [``bias``, ``shape``: ``type`` linear, sigmoid, tanh, heaviside or
                saturate, the last two with ``low`` and ``high``; ``tau``: s, time constant of what is shaped, which
                then is a state, and its ``start``]; or an organ of a muscle, as below
    . synapse   ``from``: a signal, [``gain``, ``offset``, ``power``, ``delay``, ``by``: a signal that multiplies the
                gain]; adds gain (signal - offset) to what the shape is applied to, or that difference's power with its
                sign
    . spindle   ``type`` spindle, ``muscle``, [``afferent``: Ia or II, ``rest``: m, ``bias``, ``length_gain``,
                ``velocity_gain``, ``power``, ``coactivation``, ``delay``]; impulses/s: bias + length_gain (length -
                rest) + velocity_gain velocity^power + coactivation activation, from 0 to 1000
    . golgi     ``type`` golgi, ``muscle``, [``gain``: impulses/s at the maximal force, ``threshold``: N, ``delay``]
    spline      ``times``, ``values``, [``ends``: natural, or clamped, which begins and ends at rest]
    motor       ``joint``: a body's, ``from``: a signal, [``gain``]; a torque or force
    pin         ``point``, ``to``: points as in paths, [``axes``: directions that are held, ``motion``: for each of them
                0 or the ``spline.NAME`` of the distance]; or ``joint``: a body's, ``motion``; [``rate``: 1/s at which
                errors decay]
    contact     ``point``, ``friction``, [``tangent``: for bodies that move in a plane, the direction of friction; for
                all contacts or none, ``normal`` of the surface: up by default, ``height`` of it along the normal]
    wrench      ``body``, [``at``, ``force``, ``moment``: three each, numbers or signals, ``frame``: world or body]; a
                row's parameter ``wrench`` replaces the numbers and adds to the signals
    platform    [``axis``, ``onset``, ``duration``, ``peak``] of a half-sine of the ground's acceleration
    ==========  ====================================================================================================

    Signals are ``joint.BODY.position``, ``joint.BODY.velocity``, ``muscle.NAME.force`` (``length``, ``velocity``,
    ``fibre_length``, ``fibre_velocity``, ``activation``), ``neuron.NAME``, ``spline.NAME``, ``module.NAME.OUTPUT``,
    ``body.NAME.x`` (``y``, ``z``: where its joint is in the world, ``vx``, ``vy``, ``vz``: how fast it moves),
    ``contact.NAME.height`` above its surface, ``contact.NAME.force`` along the normal in the last step, and
    ``input.NAME``, which is an input.

    A ball turns freely about its joint, a free body moves as well. Its joints are named ``BODY.rx``, ``BODY.ry``,
    ``BODY.rz`` and, of a free one, ``BODY.x`` and so on, before these. Positions of the first three are the rotation
    vector, whose length is the angle of the turn, at most half a turn; velocities, motors and damping are about the
    body's own axes. Nothing is singular. The signal ``quaternion`` of the animal says the same of all balls.

    No number exceeds `LARGEST`, no delay `LONGEST_DELAY`, and `LIMITS` tells how many bodies, muscles and so on there
    may be. A file has at most `LARGEST_FILE` bytes, in UTF-8.

    Parameters
    ----------
    source : path of a TOML file, or mapping
        A mapping has the same keys.
    modules : mapping, optional
        A control module by its name; it is code, so no file can name one.

    Raises
    ------
    ValueError
        If something is wrong; the message names the file, the key, the value and what is allowed.

    Examples
    --------
    An arm with a spindle and a tendon organ in its biceps, and a leaky interneuron that both reach:

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
    >>> animal.model.inputs  # as the arm declares them, whatever is edited
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
        return _Builder(_plain(source), dict(modules or {})).model()
    description = _description(source, "model")
    origin = f"model {str(source)!r}: "
    try:
        return replace(_Builder(description, dict(modules or {})).model(), origin=origin)
    except ValueError as error:
        raise ValueError(f"{origin}{error}") from None


def changed(
    model: str | Path | Mapping[str, Any],
    params: Mapping[str, Any] | str | Path | None,
    modules: Mapping[str, Module] | None = None,
) -> dict[str, Any]:
    """Copy of a model's description with other values.

    Parameters
    ----------
    model : path of a TOML file, or mapping
        As `load` takes it.
    params : mapping or path of a TOML file, optional
        With the same keys, but only those whose values are to be others, as in
        ``{"muscle": {"biceps": {"model": {"max_force": 100.0}}}}``. Lists are replaced as a whole. Bodies, muscles,
        inputs and so on stay those of the model: other models are for `register_model`.
    modules : mapping, optional
        Control modules by name.

    Raises
    ------
    ValueError
        If ``params`` is neither, its file cannot be read, it names what the model does not have, or the model is no
        longer possible.
    """
    own: dict[str, Any] = _plain(model) if isinstance(model, Mapping) else _description(model, "model")
    if params is None:
        return own
    if isinstance(params, Mapping):
        values = _plain(params, "params")
    elif isinstance(params, str | Path):
        values = _description(params, "params")
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
    ):
        if old != new:
            raise ValueError(f"params must leave the {what} as they are, {shown(old)}, got {shown(new)}")
    return result


def _merged(own: Mapping[str, Any], values: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    result = dict(own)
    for key, value in values.items():
        if len(path) < 2 and key not in own:  # deeper, `load` knows which keys there may be
            raise ValueError(f"params: {'.'.join((*path, key))} is not known; the model has {_listed(own)}")
        known = own.get(key)
        if isinstance(value, Mapping) and isinstance(known, Mapping):
            value = _merged(known, value, (*path, key))
        result[key] = value
    return result


def _description(source: str | Path, what: str) -> dict[str, Any]:
    """Contents of a TOML file; ``what`` it is to be is named in errors."""
    try:
        return _plain(_read(Path(source)))
    except RecursionError:
        raise ValueError(f"{what} {str(source)!r} cannot be read: its values are nested too deeply") from None
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{what} {str(source)!r} cannot be read: {error}") from None


def _read(path: Path) -> dict[str, Any]:
    """Read a TOML file that may be anything."""
    if path.exists() and not path.is_file():  # a pipe would be waited for, a device never ends
        raise ValueError("it is no file")
    if path.stat().st_size > LARGEST_FILE:
        raise ValueError(f"it has {path.stat().st_size} bytes, {LARGEST_FILE} are allowed")
    text = path.read_bytes().decode()
    # The parser takes a time that grows with the square of a key's parts.
    if found := _LONG_KEY.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"line {line}: a key has more than {_PARTS} parts")
    return tomllib.loads(text)


class _Builder:
    """Reads the tables of a description one after the other."""

    def __init__(self, description: Mapping[str, Any], modules: dict[str, Module]) -> None:
        self.top = _Keys("model", description)
        self.modules = modules
        self.inputs: list[str] = []
        self.delayed: list[tuple[int, int]] = []
        self.t: dict[str, Any] = {}

    def tables(self, kind: str) -> dict[str, _Keys]:
        found = self.top.get(kind, {})
        if not isinstance(found, Mapping):
            raise ValueError(f"{kind} must be a table of tables, got {shown(found)}")
        if len(found) > LIMITS[kind]:
            raise ValueError(f"{kind} must hold at most {LIMITS[kind]} tables, got {len(found)}")
        return {name: _Keys(f"{kind}.{name}", values) for name, values in found.items()}

    def limit(self, kind: str, count: int, path: str) -> None:
        if count > LIMITS[kind]:
            raise ValueError(f"{path}: a model has at most {LIMITS[kind]} {kind}, got {count}")

    def put(self, **arrays: Any) -> None:
        self.t |= arrays

    def name(self, value: Any, path: str, kind: str, known: Sequence[str], also: Sequence[str] = ()) -> int:
        """Index of a name; -1 for the ground."""
        if value in also:
            return -1
        if value not in known:
            raise ValueError(f"{path}: {kind} {shown(value)} is not known; known are {_listed([*also, *known])}")
        return list(known).index(value)

    def model(self) -> Model:
        top = self.top
        version = top.get("schema", 0)
        if version != SCHEMA:
            raise ValueError(f"model.schema must be {SCHEMA}, got {shown(version)}")
        self.put(gravity=top.vector("gravity", (3,), (0.0, 0.0, 0.0)))
        self.declared = self.read_inputs(top)
        kinds = ("body", "cylinder", "muscle", "neuron", "spline", "motor", "pin", "contact", "wrench")
        tables = {kind: self.tables(kind) for kind in kinds}
        pulse = self.read_platform(top.table("platform", {}))
        top.close()
        states, outputs = self.read_modules()
        names = ("muscle", "neuron", "spline", "contact")
        self.muscles, self.neurons, self.splines, self.contacts = (tuple(tables[k]) for k in names)
        joints = self.read_bodies(tables["body"])
        self.read_cylinders(tables["cylinder"])
        self.read_splines(tables["spline"])
        self.read_muscles(tables["muscle"])
        delays = self.read_neurons(tables["neuron"])
        self.read_hearing()
        self.read_motors(tables["motor"])
        self.read_pins(tables["pin"])
        self.read_contacts(tables["contact"])
        wrench = self.read_wrenches(tables["wrench"])
        if not self.declared and len(self.inputs) > 1:
            order = ", ".join(f'"{name}"' for name in self.inputs[:20])
            raise ValueError(
                "model.inputs is missing: it must list the inputs in the order of the drive, which no edit then "
                f"changes; now it would be [{order}{', ...' * (len(self.inputs) > 20)}]"
            )
        self.put(delayed=np.array(self.delayed, np.int64).reshape(-1, 2))
        counts = {"bodies": len(self.bodies), "muscles": len(self.muscles), "neurons": len(self.neurons)}
        counts |= {name: int(np.sum(self.t[key] >= 0)) for name, key in (("active", "activation"), ("fibres", "fibre"))}
        counts |= {"inputs": len(self.inputs), "wrenches": len(wrench), "pins": len(self.t["pin_rate"])}
        counts |= {"delays": len(self.delayed), "motors": len(self.t["motor"]), "fits": len(self.t["fit_mean"])}
        counts |= {"contacts": len(tables["contact"]), "contact_rows": self.contact_rows}
        counts |= {"states": states + len(self.t["tau"]), "outputs": outputs, "leaky": len(self.t["tau"])}
        counts |= {"reads": len(self.t["read"]), "pushes": len(self.t["push"]), "balls": len(self.t["ball"])}
        counts["size"] = 2 * counts["bodies"] + counts["states"] + counts["active"] + counts["fibres"]
        return Model(
            self.bodies,
            self.muscles,
            self.neurons,
            tuple(self.inputs),
            tuple(tables["wrench"]),
            tuple(tables["pin"]),
            tuple(tables["contact"]),
            joints,
            tuple(module._replace(reads=tuple(module.reads)) for module in self.modules.values()),
            delays,
            wrench,
            np.concatenate([np.zeros(states), self.starts]),
            pulse,
            self.t,
            counts,
            description=None if self.modules else self.top.values,
        )

    def read_inputs(self, top: _Keys) -> bool:
        """Names of inputs in the order in which they are declared, if they are."""
        names = top.get("inputs", [])
        if not (isinstance(names, list | tuple) and all(isinstance(name, str) and name for name in names)):
            raise ValueError(f"model.inputs must be a list of names, got {shown(names)}")
        for name in names:
            if "." in name or list(names).count(name) > 1:
                raise ValueError(f"model.inputs must hold each name once, and none with a dot, got {shown(name)}")
        self.limit("inputs", len(names), "model.inputs")
        self.inputs = list(names)
        return bool(names)

    def read_modules(self) -> tuple[int, int]:
        """Numbers of states and outputs of all control modules; where the outputs of each begin is kept."""
        states = outputs = 0
        self.output: dict[str, int] = {}
        for name, module in self.modules.items():
            if not isinstance(module, Module):
                raise ValueError(f"modules: {name!r} must be a Module, got {shown(module)}")
            if not all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= 1024 for n in module[:2]):
                raise ValueError(f"modules: states and outputs must be at least 0 and at most 1024, got {module[:2]}")
            if not callable(module.kernel):
                raise ValueError(f"modules: kernel must be a function, got {module.kernel!r}")
            if isinstance(module.reads, str) or not all(isinstance(source, str) for source in module.reads):
                raise ValueError(f"modules: reads of {name!r} must be names of signals, got {shown(module.reads)}")
            self.output[name] = outputs
            states, outputs = states + module.states, outputs + module.outputs
        if max(states, outputs) > 1024:
            raise ValueError(f"modules: states and outputs must add up to at most 1024, got {states} and {outputs}")
        return states, outputs

    def read_hearing(self) -> None:
        """Signals that control modules read, which must be known before they run."""
        found = []
        for name, module in self.modules.items():
            for i, source in enumerate(module.reads):
                path = f"modules: {name}.reads[{i}]"
                kind, index = self.signal(source, path)
                if kind == nerves.MODULE:
                    raise ValueError(f"{path} must not be what a module tells, which is known later, got {source!r}")
                if kind == nerves.NEURON and self.neurons[index] not in self.leaky:
                    raise ValueError(f"{path}: neuron {self.neurons[index]!r} must have a tau; others come later")
                self.refuse_instant(path, kind, index)
                found.append((kind, index))
        self.put(read=np.array(found, np.int64).reshape(-1, 2))

    def read_bodies(self, tables: dict[str, _Keys]) -> tuple[Joint, ...]:
        if not tables:
            raise ValueError("model.body must hold at least one body")
        parents = {name: keys.get("parent", "ground") for name, keys in tables.items()}
        for name, parent in parents.items():
            self.name(parent, f"body.{name}.parent", "body", list(tables), ["ground"])
        needed = {name: [] if parent == "ground" else [parent] for name, parent in parents.items()}
        self.own = tuple(_sorted("body", needed, "parent"))
        self.bodies: tuple[str, ...] = ()
        self.balls: list[int] = []
        rows: dict[str, list[Any]] = {
            k: []
            for k in [
                "parent",
                "joint",
                "axis",
                "at",
                "mass",
                "centre",
                "inertia",
                "damping",
                "stiffness",
                "rest",
                "start",
                "low",
                "high",
            ]
        }
        for name in self.own:
            keys = tables[name]
            joint = keys.table("joint")
            kind = joint.choice("type", ("revolute", "prismatic", "ball", "free"))
            parent = -1 if parents[name] == "ground" else self.bodies.index(parents[name])
            if kind in _SUFFIXES:
                self.read_ball(name, joint, kind, parent, rows)
            else:
                self.bodies += (name,)
                rows["parent"].append(parent)
                rows["joint"].append(skeleton.REVOLUTE if kind == "revolute" else skeleton.PRISMATIC)
                rows["axis"].append(joint.direction("axis"))
                rows["at"].append(joint.vector("at", (3,), (0.0, 0.0, 0.0)))
                for key in ("damping", "stiffness"):
                    rows[key].append(joint.number(key, 0.0, low=0.0))
                rows["start"].append(joint.number("start", 0.0))
                rows["rest"].append(joint.number("rest", 0.0))
                wide = np.pi if kind == "revolute" else 10.0
                low, high = joint.vector("range", (2,), (-wide, wide))
                if not low < high:
                    raise ValueError(f"{joint.path}.range must be [low, high], got {[low, high]}")
                rows["low"].append(low)
                rows["high"].append(high)
            self.limit("body", len(self.bodies), f"{joint.path}.type")
            joint.close()
            inertial = keys.table("inertial", {"mass": 0.0})
            mass = inertial.number("mass", low=0.0)
            inertia = inertial.vector("inertia", (3, 6), (0.0, 0.0, 0.0))
            inertia = np.concatenate([inertia, np.zeros(6 - len(inertia))])
            xx, yy, zz, xy, xz, yz = inertia
            moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            if moments[0] < -1e-6 * moments[2] or moments[2] > (moments[0] + moments[1]) * (1 + 1e-6):
                raise ValueError(
                    f"{inertial.path}.inertia must be moments about the centre of mass, none negative nor greater than "
                    f"the sum of the others, got {shown(inertia)}"
                )
            rows["mass"].append(mass)
            rows["centre"].append(inertial.vector("centre", (3,), (0.0, 0.0, 0.0)))
            rows["inertia"].append(inertia)
            inertial.close()
            keys.close()
        self.put(ball=np.array(self.balls, np.int64))
        moved = np.array(rows["mass"])
        for i in range(len(moved) - 1, -1, -1):
            if moved[i] == 0.0:
                raise ValueError(f"body.{self.bodies[i]}.inertial.mass must be greater than 0: nothing moves with it")
            if rows["parent"][i] >= 0:
                moved[rows["parent"][i]] += moved[i]
        spans = zip(*(rows.pop(k) for k in ("start", "low", "high")), rows["joint"], strict=True)
        whole = {"parent", "joint"}
        self.put(**{k: np.array(v, np.int64 if k in whole else np.float64) for k, v in rows.items()})
        return tuple(Joint(start, low, high, kind != skeleton.PRISMATIC) for start, low, high, kind in spans)

    def read_ball(self, name: str, joint: _Keys, kind: str, parent: int, rows: dict[str, list[Any]]) -> None:
        """Append to ``rows`` the joints of a ball, or of a free body; all but the last have no mass."""
        names = [f"{name}.{suffix}" for suffix in _SUFFIXES[kind]] + [name]
        at = joint.vector("at", (3,), (0.0, 0.0, 0.0))
        place = joint.vector("start", (3,), (0.0, 0.0, 0.0)).tolist() if kind == "free" else []
        damping = joint.number("damping", 0.0, low=0.0) if kind == "ball" else 0.0
        attitude = joint.vector("attitude", (4,), (1.0, 0.0, 0.0, 0.0))
        size = float(np.linalg.norm(attitude))
        if not size > SMALLEST:
            raise ValueError(f"{joint.path}.attitude must not be zero, got {shown(joint.values['attitude'])}")
        w, *side = attitude / size * (1.0 if attitude[0] >= 0.0 else -1.0)
        long = float(np.linalg.norm(side))
        turn = [s * (2.0 * math.atan2(long, w) / long if long > 1e-9 else 2.0) for s in side]
        self.balls.append(len(self.bodies) + len(place))
        for i, start in enumerate(place + turn):
            turns = i >= len(place)
            rows["parent"].append(parent if i == 0 else len(self.bodies) + i - 1)
            rows["joint"].append(skeleton.BALL + i - len(place) if turns else skeleton.PRISMATIC)
            rows["axis"].append(np.eye(3)[i % 3])
            rows["at"].append(at if i == 0 else np.zeros(3))
            rows["damping"].append(damping)
            rows["stiffness"].append(0.0)
            rows["rest"].append(0.0)
            rows["start"].append(start)
            wide = 3.2 if turns else 1e3
            rows["low"].append(-wide)
            rows["high"].append(wide)
        for key, nothing in (("mass", 0.0), ("centre", np.zeros(3)), ("inertia", np.zeros(6))):
            rows[key] += [nothing] * (len(names) - 1)
        self.bodies += tuple(names)

    def read_cylinders(self, tables: dict[str, _Keys]) -> None:
        self.cylinders = tuple(tables)
        body, at, frame, radius = [], [], [], []
        for keys in tables.values():
            body.append(self.name(keys.get("body"), f"{keys.path}.body", "body", self.bodies, ["ground"]))
            at.append(keys.vector("at", (3,)))
            axis, side = keys.direction("axis"), keys.direction("side")
            side = side - (side @ axis) * axis
            if np.linalg.norm(side) < 1e-6:
                raise ValueError(f"{keys.path}.side must not be parallel to the axis, got {shown(keys.values['side'])}")
            side /= np.linalg.norm(side)
            frame.append([side, np.cross(axis, side), axis])
            radius.append(keys.positive("radius"))
            keys.close()
        self.put(
            cylinder_body=np.array(body, np.int64),
            cylinder_at=np.array(at, float).reshape(-1, 3),
            cylinder_frame=np.array(frame, float).reshape(-1, 3, 3),
            cylinder_radius=np.array(radius, float),
        )

    def read_splines(self, tables: dict[str, _Keys]) -> None:
        start = [0]
        times: list[float] = []
        cubics: list[Any] = []
        for keys in tables.values():
            lists = []
            for key in ("times", "values"):
                value = keys.get(key)
                if not (isinstance(value, list) and len(value) > 1 and all(map(_is_number, value))):
                    raise ValueError(f"{keys.path}.{key} must be a list of at least 2 numbers, got {shown(value)}")
                lists.append(np.asarray(value, float))
            if len(lists[0]) != len(lists[1]) or not (np.diff(lists[0]) > 1e-9).all():
                raise ValueError(f"{keys.path}.times must ascend, one for each of the values, got {shown(lists[0])}")
            ends = keys.choice("ends", ("natural", "clamped"), "natural")
            keys.close()
            self.limit("times of splines", len(times) + len(lists[0]), f"{keys.path}.times")
            from scipy.interpolate import CubicSpline  # slow to import, and few models have splines

            cubic = CubicSpline(*lists, bc_type=ends)
            times += lists[0].tolist()
            cubics += [*cubic.c.T, np.array([0.0, 0.0, 0.0, lists[1][-1]])]
            start.append(len(times))
        self.put(
            spline_start=np.array(start, np.int64),
            spline_time=np.array(times, float),
            spline_cubic=np.array(cubics, float).reshape(-1, 4),
        )

    def signal(self, value: Any, path: str) -> tuple[int, int]:
        """Kind and index of a signal by its name."""
        forms = (
            "joint.BODY.position, joint.BODY.velocity, muscle.NAME.QUANTITY, neuron.NAME, spline.NAME, input.NAME, "
            "body.NAME.x (y, z, vx, vy, vz), contact.NAME.height, contact.NAME.force, module.NAME.OUTPUT"
        )
        kind, *rest = str(value).split(".")
        if kind == "joint" and len(rest) in (2, 3) and rest[-1] in ("position", "velocity"):
            index = self.joint(".".join(rest[:-1]), path)
            return (nerves.POSITION if rest[-1] == "position" else nerves.VELOCITY), index
        if kind == "body" and len(rest) == 2 and rest[1] in ("x", "y", "z", "vx", "vy", "vz"):
            index = 3 * self.name(rest[0], path, "body", self.bodies) + "xyz".index(rest[1][-1])
            return (nerves.PLACE if len(rest[1]) == 1 else nerves.SPEED), index
        if kind == "contact" and len(rest) == 2 and rest[1] in ("height", "force"):
            index = self.name(rest[0], path, "contact", self.contacts)
            return (nerves.HEIGHT if rest[1] == "height" else nerves.PRESSURE), index
        if kind == "muscle" and len(rest) == 2 and rest[1] in _MUSCLE_SIGNALS:
            index = self.name(rest[0], path, "muscle", self.muscles)
            if rest[1] == "activation" and self.t["activation"][index] < 0:
                raise ValueError(f"{path}: muscle {rest[0]!r} is proportional and has no activation")
            return _MUSCLE_SIGNALS[rest[1]], index
        if kind == "muscle":
            raise ValueError(f"{path}: a muscle has {', '.join(_MUSCLE_SIGNALS)}, got {shown(value)}")
        if kind == "neuron" and len(rest) == 1:
            return nerves.NEURON, self.name(rest[0], path, "neuron", self.neurons)
        if kind == "spline" and len(rest) == 1:
            return nerves.SPLINE, self.name(rest[0], path, "spline", self.splines)
        if kind == "input" and len(rest) == 1 and rest[0]:
            if rest[0] not in self.inputs:
                if self.declared:
                    raise ValueError(
                        f"{path}: input {shown(rest[0])} is not declared; model.inputs has {_listed(self.inputs)}"
                    )
                self.inputs.append(rest[0])
                self.limit("inputs", len(self.inputs), path)
            return nerves.INPUT, self.inputs.index(rest[0])
        if kind == "module" and len(rest) == 2:
            self.name(rest[0], path, "module", list(self.modules))
            outputs = self.modules[rest[0]].outputs
            if rest[1].isdecimal() and int(rest[1]) < outputs:
                return nerves.MODULE, self.output[rest[0]] + int(rest[1])
            raise ValueError(f"{path}: module {rest[0]!r} has {outputs} outputs, counted from 0, got {shown(value)}")
        raise ValueError(f"{path} must be one of {forms}, got {shown(value)}")

    def joint(self, value: Any, path: str) -> int:
        """Index of a joint by the name of its body, or of one of a ball's or a free body's."""
        ball = isinstance(value, str) and value.endswith(".rz") and f"{value[:-3]}.ry" in self.bodies
        return self.name(value[:-3] if ball else value, path, "body", self.bodies)

    def point(self, value: Any, path: str) -> tuple[int, NDArray[np.float64]]:
        """Body and position of a point [body, x, y, z]."""
        if not (isinstance(value, list | tuple) and len(value) == 4 and all(map(_is_number, value[1:]))):
            raise ValueError(f"{path} must be [body, x, y, z], got {shown(value)}")
        return self.name(value[0], path, "body", self.bodies, ["ground"]), np.array(value[1:], float)

    def read_muscles(self, tables: dict[str, _Keys]) -> None:
        columns: dict[str, list[Any]] = {
            k: []
            for k in [
                "muscle",
                "curves",
                "max_force",
                "optimal_length",
                "slack_length",
                "cos_pennation",
                "max_velocity",
                "force_length",
                "short_stiffness",
                "short_viscosity",
                "reference_length",
                "activation",
                "activation_kind",
                "rise_time",
                "fall_time",
                "fibre",
                "fit",
            ]
        }
        body: list[int] = []
        at, cylinder, start = [], [], [0]
        fits: list[tuple[float, Any, Any, Any]] = []
        active = fibres = 0
        for keys in tables.values():
            if ("path" in keys) == ("length" in keys):
                raise ValueError(f"{keys.path} must have either path or length, got {_listed(keys.values)}")
            if "path" in keys:
                columns["fit"].append(-1)
                points = self.read_path(keys)
                self.limit("points of paths", len(body) + len(points), f"{keys.path}.path")
                body += [p[0] for p in points]
                at += [p[1] for p in points]
                cylinder += [p[2] for p in points]
            else:
                columns["fit"].append(len(fits))
                fits.append(self.read_fit(keys.table("length")))
            start.append(len(body))
            keys.get("excitation")  # read later, when neurons and inputs are known
            model = keys.table("model")
            kind = model.choice("type", _MUSCLES)
            new: dict[str, Any] = dict.fromkeys(columns, 0.0)
            new |= {"muscle": _MUSCLES.index(kind), "activation": -1, "fibre": -1, "curves": 0, "activation_kind": 0}
            new |= {"cos_pennation": 1.0, "optimal_length": 1.0, "max_force": model.positive("max_force")}
            if kind != "proportional":
                new["optimal_length"] = model.positive("optimal_length")
                new["cos_pennation"] = np.cos(model.number("pennation", 0.0, 0.0, 1.4))
                act = model.table("activation", {"type": "smooth"})
                new["activation_kind"] = _ACTIVATIONS.index(act.choice("type", _ACTIVATIONS, "smooth"))
                new["rise_time"], new["fall_time"] = act.positive("rise", 0.015), act.positive("fall", 0.06)
                act.close()
                new["activation"], active = active, active + 1
            if kind in ("rigid_tendon", "compliant_tendon"):
                new["slack_length"] = model.positive("slack_length")
                new["max_velocity"] = model.positive("max_velocity", 10.0)
                new["curves"] = _CURVES.index(model.choice("curves", _CURVES, "de_groote"))
            if kind == "compliant_tendon":
                new["fibre"], fibres = fibres, fibres + 1
            if kind == "short_range":
                new["short_stiffness"] = model.number("stiffness", low=0.0)
                new["short_viscosity"] = model.number("viscosity", 0.0, low=0.0)
                new["force_length"] = model.number("force_length", 1.0, low=0.0)
                new["reference_length"] = model.number("reference_length")
            model.close()
            keys.close()
            for key in columns.keys() - {"fit"}:
                columns[key].append(new[key])
        whole = {"muscle", "curves", "activation", "activation_kind", "fibre", "fit"}
        self.put(**{k: np.array(v, np.int64 if k in whole else np.float64) for k, v in columns.items()})
        n = len(self.bodies)
        self.put(
            path_start=np.array(start, np.int64),
            point_body=np.array(body, np.int64),
            point_at=np.array(at, float).reshape(-1, 3),
            point_cylinder=np.array(cylinder, np.int64),
            fit_mean=np.array([f[0] for f in fits], float),
            fit_at=np.array([f[1] for f in fits], float).reshape(-1, n),
            fit_a=np.array([f[2] for f in fits], float).reshape(-1, n),
            fit_B=np.array([f[3] for f in fits], float).reshape(-1, n, n),
        )
        excitations, values = [], []
        for keys in tables.values():
            source = keys.values["excitation"]
            if _is_number(source):
                value = keys.number("excitation", low=0.0, high=1.0)
                excitations.append((nerves.CONSTANT, 0))
                values.append(value)
            else:
                excitations.append(self.signal(source, f"{keys.path}.excitation"))
                values.append(0.0)
        self.put(excitation=np.array(excitations, np.int64).reshape(-1, 2), excitation_value=np.array(values, float))
        stateless = self.t["muscle"] == muscles.PROPORTIONAL
        for keys, (kind_, index), free in zip(tables.values(), excitations, stateless, strict=True):
            if free and kind_ == nerves.FORCE and stateless[index]:
                raise ValueError(f"{keys.path}.excitation must not be the force of a proportional muscle")

    def read_path(self, keys: _Keys) -> list[tuple[int, NDArray[np.float64], int]]:
        points = keys.get("path")
        if not (isinstance(points, list | tuple) and len(points) > 1):
            raise ValueError(f"{keys.path}.path must be a list of at least 2 points, got {shown(points)}")
        result = []
        for i, value in enumerate(points):
            path = f"{keys.path}.path[{i}]"
            if isinstance(value, Mapping):
                entry = _Keys(path, value)
                which = self.name(entry.get("cylinder"), f"{path}.cylinder", "cylinder", self.cylinders)
                entry.close()
                neighbours = [points[j] if 0 <= j < len(points) else {} for j in (i - 1, i + 1)]
                if any(isinstance(other, Mapping) for other in neighbours):
                    raise ValueError(f"{path} must stand between two points, got {shown(value)}")
                result.append((-1, np.zeros(3), which))
            else:
                result.append((*self.point(value, path), -1))
        return result

    def read_fit(self, fit: _Keys) -> tuple[float, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        n = len(self.bodies)
        mean, a = fit.positive("mean"), fit.vector("a", (n,))
        at, pairs = fit.vector("at", (n,), [0.0] * n), fit.get("B", [])
        if not isinstance(pairs, list):
            raise ValueError(f"{fit.path}.B must be a list of [i, j, value], got {shown(pairs)}")
        B = np.zeros((n, n))
        for entry in pairs:
            if not (
                isinstance(entry, list | tuple)
                and len(entry) == 3
                and all(map(_is_number, entry))
                and all(int(i) == i and 0 <= i < n for i in entry[:2])
            ):
                raise ValueError(
                    f"{fit.path}.B must be a list of [i, j, value] with i, j below {n}, got {shown(entry)}"
                )
            i, j = int(entry[0]), int(entry[1])
            B[i, j] = B[j, i] = entry[2]
        fit.close()
        return mean, at, a, B

    def read_neurons(self, tables: dict[str, _Keys]) -> NDArray[np.float64]:
        shape, low, high, start, biases = [], [], [], [0], []
        synapses: list[tuple[int, ...]] = []
        gains, offsets, powers, delays = [], [], [], []
        heard: dict[str, list[str]] = {}
        self.leaky = [name for name, keys in tables.items() if "tau" in keys]
        taus = [tables[name].positive("tau") for name in self.leaky]
        self.starts = np.array([tables[name].number("start", 0.0) for name in self.leaky])
        for name, keys in tables.items():
            bias, organ = self.read_organ(keys)
            biases.append(bias)
            form = keys.table("shape", _RATE if organ else {"type": "linear"})
            shape.append(_SHAPES.index(form.choice("type", _SHAPES)))
            bounded = _SHAPES[shape[-1]] in ("heaviside", "saturate")
            low.append(form.number("low", 0.0) if bounded else 0.0)
            high.append(form.number("high", 1.0) if bounded else 0.0)
            if bounded and not low[-1] < high[-1]:
                raise ValueError(f"{form.path}.low must be less than high, got {low[-1]:g} and {high[-1]:g}")
            form.close()
            heard[name] = []
            entries = keys.get("synapse", [])
            if not isinstance(entries, list | tuple):
                raise ValueError(f"{keys.path}.synapse must be a list of tables, got {shown(entries)}")
            paths = [f"{keys.path}.synapse[{i}]" for i in range(len(entries))] + [keys.path] * len(organ)
            for path, values in zip(paths, [*entries, *organ], strict=True):
                synapse = _Keys(path, values)
                kind, index = self.signal(synapse.get("from"), f"{synapse.path}.from")
                by = self.signal(synapse.get("by"), f"{synapse.path}.by") if "by" in synapse else (nerves.CONSTANT, 0)
                gains.append(synapse.number("gain", 1.0))
                offsets.append(synapse.number("offset", 0.0))
                powers.append(synapse.number("power", 1.0, 0.01, 10.0))
                delays.append(synapse.number("delay", 0.0, 0.0, LONGEST_DELAY))
                column = -1
                self.refuse_instant(f"{synapse.path}.by", *by)
                if by[0] == nerves.NEURON:
                    self.hear(heard[name], by[1])
                if delays[-1] > 0.0:
                    if (kind, index) not in self.delayed:
                        self.delayed.append((kind, index))
                    column = self.delayed.index((kind, index))
                elif kind == nerves.NEURON:
                    self.hear(heard[name], index)
                else:
                    self.refuse_instant(f"{synapse.path}.delay must be greater than 0", kind, index)
                synapses.append((kind, index, column, 0, *by))
                self.limit("synapses", len(synapses), synapse.path)
                synapse.close()
            keys.close()
            start.append(len(synapses))
        # What a leaky neuron tells is a state, and needs nothing that is heard now: it is summed up last.
        heard |= {name: [] for name in self.leaky}
        order = [name for name in _sorted("neuron", heard, "synapse without delay") if name not in self.leaky]
        self.put(
            tau=np.array(taus, float),
            bias=np.array(biases, float),
            power=np.array(powers, float),
            order=np.array([self.neurons.index(name) for name in [*order, *self.leaky]], np.int64),
            shape=np.array(shape, np.int64),
            low=np.array(low, float),
            high=np.array(high, float),
            synapse_start=np.array(start, np.int64),
            synapse=np.array(synapses, np.int64).reshape(-1, 6),
            gain=np.array(gains, float),
            offset=np.array(offsets, float),
        )
        return np.array(delays, float)

    def hear(self, heard: list[str], index: int) -> None:
        """Note that a neuron must be known first, unless it is leaky."""
        if self.neurons[index] not in self.leaky:
            heard.append(self.neurons[index])

    def read_organ(self, keys: _Keys) -> tuple[float, list[dict[str, Any]]]:
        """Bias and own synapses of a neuron: none, or those of a muscle's organ."""
        kind = keys.choice("type", _NEURONS, "sum")
        if kind == "sum":
            return keys.number("bias", 0.0), []
        name = keys.get("muscle")
        m = self.name(name, f"{keys.path}.muscle", "muscle", self.muscles)
        delay, t = keys.number("delay", 0.0, 0.0, LONGEST_DELAY), self.t
        if kind == "golgi":
            gain = keys.number("gain", _GOLGI, low=0.0) / t["max_force"][m]
            threshold = keys.number("threshold", 0.0, low=0.0)
            source = f"muscle.{name}.force"
            return keys.number("bias", 0.0), [{"from": source, "gain": gain, "offset": threshold, "delay": delay}]
        usual = _SPINDLES[keys.choice("afferent", _SPINDLES, "Ia")]
        proportional = t["muscle"][m] == muscles.PROPORTIONAL
        rest = t["reference_length"][m]
        if t["muscle"][m] in (muscles.RIGID_TENDON, muscles.COMPLIANT_TENDON):
            rest = t["slack_length"][m] + t["optimal_length"][m] * t["cos_pennation"][m]
        length = {"gain": keys.number("length_gain", usual["length_gain"])}
        length["offset"] = keys.number("rest", None if proportional else float(rest))
        speed = {"gain": keys.number("velocity_gain", usual["velocity_gain"])}
        speed["power"] = keys.number("power", 0.6, 0.01, 10.0)
        alpha = {"gain": keys.number("coactivation", 0.0 if proportional else usual["coactivation"])}
        parts = {"length": length, "velocity": speed, "activation": alpha}
        own = [
            {"from": f"muscle.{name}.{part}", "delay": delay, **values}
            for part, values in parts.items()
            if values["gain"] != 0.0
        ]
        return keys.number("bias", usual["bias"]), own

    def refuse_instant(self, path: str, kind: int, index: int) -> None:
        """Refuse the force of a proportional muscle where it would be needed before it is known."""
        if kind == nerves.FORCE and self.t["muscle"][index] == muscles.PROPORTIONAL:
            raise ValueError(f"{path}: the force of a proportional muscle follows its excitation at once")

    def read_motors(self, tables: dict[str, _Keys]) -> None:
        motor, gain = [], []
        for keys in tables.values():
            body = self.joint(keys.get("joint"), f"{keys.path}.joint")
            motor.append((body, *self.signal(keys.get("from"), f"{keys.path}.from")))
            gain.append(keys.number("gain", 1.0))
            keys.close()
        self.put(motor=np.array(motor, np.int64).reshape(-1, 3), motor_gain=np.array(gain, float))

    def read_pins(self, tables: dict[str, _Keys]) -> None:
        body, at, axes, rate, joints, motions = [], [], [], [], [], []
        nowhere = np.zeros(3)
        for keys in tables.values():
            decay = keys.number("rate", 20.0, low=0.0)
            if "joint" in keys:
                given = keys.get("joint")
                joint = self.joint(given, f"{keys.path}.joint")
                if self.t["joint"][joint] >= skeleton.BALL:
                    raise ValueError(f"{keys.path}.joint must turn about one axis or slide, got {shown(given)}")
                motions += self.read_motion(keys, 1)
                axes.append(nowhere)
                body.append((-1, -1))
                at.append((nowhere, nowhere))
                rate.append(decay)
                joints.append(joint)
                keys.close()
                continue
            moving, there = self.point(keys.get("point"), f"{keys.path}.point")
            other, here = self.point(keys.get("to"), f"{keys.path}.to")
            directions = keys.get("axes", [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
            if not isinstance(directions, list | tuple) or not directions:
                raise ValueError(f"{keys.path}.axes must be a list of directions, got {shown(directions)}")
            for i, axis in enumerate(directions):
                axes.append(_Keys(f"{keys.path}.axes", {f"[{i}]": axis}).direction(f"[{i}]"))
                body.append((moving, other))
                at.append((there, here))
                rate.append(decay)
                joints.append(-1)
            motions += self.read_motion(keys, len(directions))
            keys.close()
        self.put(
            pin_joint=np.array(joints, np.int64),
            pin_spline=np.array(motions, np.int64),
            pin_body=np.array(body, np.int64).reshape(-1, 2),
            pin_at=np.array(at, float).reshape(-1, 2, 3),
            pin_axis=np.array(axes, float).reshape(-1, 3),
            pin_rate=np.array(rate, float),
        )

    def read_motion(self, keys: _Keys, count: int) -> list[int]:
        """Splines that a pin follows, -1 where it stays."""
        given = keys.get("motion", 0)
        values = [given] * count if count == 1 and not isinstance(given, list | tuple) else given
        if values == 0:
            values = [0] * count
        if not (isinstance(values, list | tuple) and len(values) == count):
            raise ValueError(f"{keys.path}.motion must be a list of {count}, 0 or spline.NAME each, got {shown(given)}")
        found = []
        for i, value in enumerate(values):
            kind, name, *rest = [*str(value).split(".", 1), ""]
            if value == 0 and not isinstance(value, bool):
                found.append(-1)
            elif kind == "spline" and rest == [""]:
                found.append(self.name(name, f"{keys.path}.motion[{i}]", "spline", self.splines))
            else:
                raise ValueError(f"{keys.path}.motion[{i}] must be 0 or spline.NAME, got {shown(value)}")
        return found

    def read_contacts(self, tables: dict[str, _Keys]) -> None:
        body, at, frames, height, friction = [], [], [], [], []
        planar = {"tangent" in keys for keys in tables.values()}
        self.contact_rows = 2 if planar == {True} else 3
        for keys in tables.values():
            if len(self.t["pin_rate"]):
                raise ValueError(f"{keys.path}: contacts and pins exclude each other; remove the tables pin or contact")
            if len(planar) > 1:
                raise ValueError(f"{keys.path}.tangent must be given for all contacts, which are then planar, or none")
            moving, there = self.point(keys.get("point"), f"{keys.path}.point")
            if moving < 0:
                raise ValueError(f"{keys.path}.point must be on a body, got 'ground'")
            normal = keys.direction("normal", (0.0, 1.0, 0.0))
            side = keys.direction("tangent") if "tangent" in keys else np.eye(3)[np.argmin(np.abs(normal))]
            side = side - (side @ normal) * normal
            if np.linalg.norm(side) < 1e-6:
                raise ValueError(
                    f"{keys.path}.tangent must not be parallel to normal, got {shown(keys.values['tangent'])}"
                )
            side /= np.linalg.norm(side)
            body.append(moving)
            at.append(there)
            frames.append([normal, side, np.cross(normal, side)])
            height.append(keys.number("height", 0.0))
            friction.append(keys.number("friction", low=0.0))
            keys.close()
        self.put(
            contact_body=np.array(body, np.int64),
            contact_at=np.array(at, float).reshape(-1, 3),
            contact_frame=np.array(frames, float).reshape(-1, 3, 3),
            contact_height=np.array(height, float),
            contact_friction=np.array(friction, float),
        )

    def read_platform(self, keys: _Keys) -> NDArray[np.float64]:
        moves = bool(keys.values)
        self.put(platform=keys.direction("axis", (1.0, 0.0, 0.0)) if moves else np.zeros(3))
        pulse = [keys.number("onset", 0.0, low=0.0), keys.number("duration", 0.0, low=0.0), keys.number("peak", 0.0)]
        if pulse[2] and not pulse[1]:
            raise ValueError(f"{keys.path}.duration must be greater than 0 for a peak of {pulse[2]:g}, got 0")
        if 0 < pulse[1] < SMALLEST:
            raise ValueError(f"{keys.path}.duration must be 0 or at least {SMALLEST:g}, got {pulse[1]:g}")
        keys.close()
        return np.array(pulse)

    def read_wrenches(self, tables: dict[str, _Keys]) -> NDArray[np.float64]:
        body, at, local, values, driven = [], [], [], [], []
        for w, keys in enumerate(tables.values()):
            body.append(self.name(keys.get("body"), f"{keys.path}.body", "body", self.bodies))
            at.append(keys.vector("at", (3,), (0.0, 0.0, 0.0)))
            local.append(keys.choice("frame", ("world", "body"), "world") == "body")
            constant = np.zeros(6)
            for part, key in enumerate(("force", "moment")):
                given = keys.get(key, [0.0, 0.0, 0.0])
                if not (isinstance(given, list | tuple) and len(given) == 3):
                    raise ValueError(f"{keys.path}.{key} must be a list of 3 numbers or signals, got {shown(given)}")
                for i, value in enumerate(given):
                    if _is_number(value):
                        constant[3 * part + i] = value
                    else:
                        driven.append((w, 3 * part + i, *self.signal(value, f"{keys.path}.{key}[{i}]")))
            values.append(constant)
            self.limit("wrench", len(driven), f"{keys.path}: signals")
            keys.close()
        self.put(
            push=np.array(driven, np.int64).reshape(-1, 4),
            wrench_body=np.array(body, np.int64),
            wrench_at=np.array(at, float).reshape(-1, 3),
            wrench_local=np.array(local, np.int64),
        )
        return np.array(values, float).reshape(-1, 6)
