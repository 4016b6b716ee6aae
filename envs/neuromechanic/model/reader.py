"""Reading of a model's tables: keys, forms of values, names and signals. `tables` lists the keys themselves.

A `Form` checks one value and converts it, `read` checks one table key by key, and `Names` resolves the names that
tables use for each other. Checks of files and of whole models are elsewhere, in `loading` and `build`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.arguments import shown
from .. import nerves

LIMITS = dict.fromkeys(("muscle", "neuron", "cylinder", "motor", "inputs"), 1024)
LIMITS |= {"curve": 256, "pieces of curves": 8192, "wraps": 2048}
LIMITS |= {"body": 128, "frame": 256, "spline": 256, "pin": 256, "contact": 256, "rigid contacts": 64}
LIMITS |= {"wrench": 256, "bushing": 256}
LIMITS |= {"synapses": 2048, "points of paths": 8192, "times of splines": 2048}
"""Largest numbers of tables of each kind in a model, and of entries in all of them together."""

LARGEST = 1e9
"""Largest magnitude of a number in a model, in SI, so that products do not overflow."""

SMALLEST = 1e-12
"""Smallest value of a number that must be greater than 0."""


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number; booleans are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def listed(names: Iterable[str]) -> str:
    """Return up to 20 names as text, for error messages."""
    first = list(names)
    return ", ".join(first[:20] + ["..."] * (len(first) > 20))


def expect(holds: bool, path: str, what: str, value: Any) -> None:
    """Raise ValueError that ``path`` must ``what`` unless ``holds``."""
    if not holds:
        raise ValueError(f"{path} must {what}, got {shown(value)}")


def limit(kind: str, count: int, path: str) -> None:
    """Raise ValueError if ``count`` is above the limit of a kind in `LIMITS`."""
    if count > LIMITS[kind]:
        raise ValueError(f"{path}: a model has at most {LIMITS[kind]} {kind}, got {count}")


Tables = Mapping[str, Any]
"""Tables of a kind by name, as in the file."""

# Names

_AXES = ("x", "y", "z")
QUANTITIES: dict[str, dict[str, int]] = {
    "joint": {"position": nerves.POSITION, "velocity": nerves.VELOCITY},
    "muscle": {
        "length": nerves.LENGTH,
        "velocity": nerves.LENGTH_RATE,
        "fibre_length": nerves.FIBRE_LENGTH,
        "fibre_velocity": nerves.FIBRE_VELOCITY,
        "force": nerves.FORCE,
        "activation": nerves.ACTIVATION,
    },
    "body": dict.fromkeys(_AXES, nerves.PLACE) | dict.fromkeys([f"v{axis}" for axis in _AXES], nerves.SPEED),
    "contact": {"height": nerves.HEIGHT, "force": nerves.PRESSURE},
    "neuron": {"": nerves.NEURON},
    "spline": {"": nerves.SPLINE},
}
"""Kernels' constants of signals, by kind of table and last part of the signal's name."""

_SIGNALS = (
    "joint.BODY.position, joint.BODY.velocity, muscle.NAME.QUANTITY, neuron.NAME, spline.NAME, input.NAME, "
    "body.NAME.x (y, z, vx, vy, vz), contact.NAME.height, contact.NAME.force, module.NAME.OUTPUT"
)


@dataclass
class Names:
    """Names that the keys of a model can refer to.

    Args:
        entries: Names in order, by kind of table. Bodies have the order of the tables until these have been read, then
            that of the state vector, with followers last. Joints have the order of the state vector.
        declared: Whether the model lists its inputs. If not, inputs are added when they first occur.
        muscles: Types of muscles by name.
        frames: Body, rotation matrix (3, 3) and origin (3,) m in the body of each further frame.
        outputs: Index of the first output and number of outputs of each control module.
    """

    entries: dict[str, Sequence[str]]
    declared: bool = False
    muscles: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, tuple[int, int]] = field(default_factory=dict)
    frames: dict[str, tuple[int, NDArray[np.float64], NDArray[np.float64]]] = field(default_factory=dict)

    def index(self, kind: str, value: Any, path: str, ground: bool = False) -> int:
        """Return the index of a name; -1 for the ground if ``ground`` allows it."""
        if ground and value == "ground":
            return -1
        labels = self.entries[kind]
        if value not in labels:
            allowed = listed(["ground", *labels] if ground else labels)
            raise ValueError(f"{path}: {kind} {shown(value)} is not known; known are {allowed}")
        return list(labels).index(value)

    def joint(self, value: Any, path: str) -> int:
        """Return the index of a joint by its name, which is that of its body or, for a ball, ``BODY.rx`` and so on."""
        index = self.any_joint(value, path)
        if index >= len(self.entries["joint"]):
            raise ValueError(f"{path}: joint {shown(value)} must be free, but it follows another joint or is fixed")
        return index

    def any_joint(self, value: Any, path: str) -> int:
        """Return the index of a joint, see `joint`, or of a follower."""
        ball = isinstance(value, str) and value.endswith(".rz") and f"{value[:-3]}.ry" in self.entries["body"]
        return self.index("body", value[:-3] if ball else value, path)

    def point(self, value: Any, path: str) -> tuple[int, list[float]]:
        """Return body and position of a point [body, x, y, z]."""
        placed = isinstance(value, list | tuple) and len(value) == 4 and all(map(is_number, value[1:]))
        expect(placed, path, "be [body, x, y, z]", value)
        if isinstance(value[0], str) and value[0] in self.frames:
            body, R, at = self.frames[value[0]]
            return body, (R @ value[1:] + at).tolist()
        return self.index("body", value[0], path, ground=True), list(map(float, value[1:]))

    def frame(self, value: Any, path: str) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
        """Return body, rotation matrix and origin (m) of a body, a frame or the ground by its name."""
        if value in self.frames:
            return self.frames[value]
        return self.index("body", value, path, ground=True), np.eye(3), np.zeros(3)

    def signal(self, value: Any, path: str) -> tuple[int, int]:
        """Return kind and index of a signal by its name, as arguments of `nerves.signal`."""
        kind, *rest = str(value).split(".")
        if kind == "input" and len(rest) == 1 and rest[0]:
            return nerves.INPUT, self._input(rest[0], path)
        if kind == "module" and len(rest) == 2:
            self.index("module", rest[0], path)
            first, outputs = self.outputs[rest[0]]
            if rest[1].isdecimal() and int(rest[1]) < outputs:
                return nerves.MODULE, first + int(rest[1])
            raise ValueError(f"{path}: module {rest[0]!r} has {outputs} outputs, counted from 0, got {shown(value)}")
        quantities, parts = QUANTITIES.get(kind, {}), len(rest) - (kind == "joint" and len(rest) == 3)
        quantity = "" if "" in quantities else rest[-1] if rest else ""
        if quantity in quantities and parts == (1 if quantity == "" else 2):
            if kind == "joint":
                return quantities[quantity], self.any_joint(".".join(rest[:-1]), path)
            index = self.index(kind, rest[0], path)
            if kind == "body":
                index = 3 * index + _AXES.index(quantity[-1])
            if quantity == "activation" and (kind := self.muscles.get(rest[0], "")) in ("proportional", "spring"):
                raise ValueError(f"{path}: muscle {rest[0]!r} is {kind} and has no activation")
            return quantities[quantity], index
        if kind == "muscle":
            raise ValueError(f"{path}: a muscle has {', '.join(quantities)}, got {shown(value)}")
        raise ValueError(f"{path} must be one of {_SIGNALS}, got {shown(value)}")

    def _input(self, name: str, path: str) -> int:
        inputs = list(self.entries["input"])
        if name not in inputs:
            if self.declared:
                raise ValueError(f"{path}: input {shown(name)} is not declared; model.inputs has {listed(inputs)}")
            self.entries["input"] = inputs = [*inputs, name]
            limit("inputs", len(inputs), path)
        return inputs.index(name)


def ordered(kind: str, after: Mapping[str, Sequence[str]], key: str) -> list[str]:
    """Return the names in an order that puts each after the names in its list; raise ValueError for a cycle."""
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


def turned(attitude: ArrayLike) -> NDArray[np.float64]:
    """Return the rotation matrix (3, 3) of a unit quaternion w, x, y, z."""
    w, *u = np.array(attitude)
    return (w * w - np.dot(u, u)) * np.eye(3) + 2.0 * np.outer(u, u) + 2.0 * w * np.cross(np.eye(3), u)


def across(side: NDArray[np.float64], axis: NDArray[np.float64], path: str, value: Any) -> NDArray[np.float64]:
    """Return the unit vector along the part of ``side`` perpendicular to ``axis``; ``path`` is the key of ``side``."""
    side = side - (side @ axis) * axis
    size = np.linalg.norm(side)
    other = "normal" if path.endswith("tangent") else "the axis"
    expect(bool(size >= 1e-6), path, f"not be parallel to {other}", value)
    return side / size


# Tables

REQUIRED, OPTIONAL = object(), object()
"""Markers for the default of a required key and of a key with the default None."""


class Form(NamedTuple):
    """Allowed values of a key: description, and a function of value, path and `Names` that checks and converts."""

    says: str
    read: Callable[[Any, str, Names], Any]


class Per(NamedTuple):
    """Default that depends on another key, which must come earlier in the table."""

    key: str
    values: Mapping[str, Any]


class Key(NamedTuple):
    """Key of a table.

    Args:
        name: Name of the key.
        form: Allowed values.
        default (REQUIRED, OPTIONAL, a value, or Per): Default value.
        unit: Unit of the values.
        meaning: Description for the documentation.
        types (tuple of str): Values of the table's key ``type`` that allow this key; all if empty.
        beside: Condition for the key: ``"NAME"``: key NAME is set; ``"no NAME"``: it is not set; ``"NAME=WORD"``: its
            value is WORD; ``"NAME!=WORD"``: its value is not WORD.
    """

    name: str
    form: Form
    default: Any
    unit: str
    meaning: str
    types: tuple[str, ...] = ()
    beside: str = ""

    def applies(self, entries: Mapping[str, Any]) -> bool:
        """Return whether a table allows this key, depending on its earlier keys."""
        without, _, other = self.beside.rpartition(" ")
        other, _, word = other.partition("=")
        if word:
            return bool((entries.get(other.rstrip("!")) == word) != other.endswith("!"))
        if other and (entries.get(other) is None) != (without == "no"):
            return False
        return not self.types or entries["type"] in self.types


class Table:
    """Keys of a table, and a check of its values together.

    Args:
        keys: Allowed keys.
        check: Function of the values, as returned by `read`, and of the table's path in the model. It raises ValueError
            if the values do not go together.
    """

    def __init__(self, *keys: Key, check: Callable[[dict[str, Any], str], None] = lambda values, path: None) -> None:
        self.keys, self.check = keys, check

    def read(self, table: Any, path: str, names: Names) -> dict[str, Any]:
        """Check a table and return its values with defaults; error messages start with ``path``."""
        expect(isinstance(table, Mapping), path, "be a table", table)
        values: dict[str, Any] = {}
        labels: list[str] = []
        for key in self.keys:
            if not key.applies(values):
                continue
            labels.append(key.name)
            default = key.default.values[values[key.default.key]] if isinstance(key.default, Per) else key.default
            value = table.get(key.name, default)
            if value is REQUIRED:
                strange = [name for name in table if name not in {each.name for each in self.keys}]
                raise ValueError(f"{path}.{key.name} is missing{f', and {strange[0]} is not known' if strange else ''}")
            values[key.name] = None if value is OPTIONAL else key.form.read(value, f"{path}.{key.name}", names)
        for name in table:
            if name not in labels:
                raise ValueError(f"{path}.{name} is not known; allowed are {listed(labels)}")
        self.check(values, path)
        return values

    def read_all(self, kind: str, tables: Tables, names: Names) -> dict[str, dict[str, Any]]:
        """Read all tables of a kind, by name."""
        return {name: self.read(table, f"{kind}.{name}", names) for name, table in tables.items()}


# Forms of values. Each check takes a value, its path in the model, and the names that it can refer to.


def number(low: float = -np.inf, high: float = np.inf) -> Form:
    """Return the form of a number from ``low`` to ``high``."""
    says = f"from {low:g} to {high:g}" if high < np.inf else f"of at least {low:g}" if low > -np.inf else ""

    def check(value: Any, path: str, names: Names) -> float:
        expect(is_number(value) and low <= value <= high, path, f"be a number {says or 'that is finite'}", value)
        return float(value)

    return Form(f"number {says}".strip(), check)


def vector(*sizes: int) -> Form:
    """Return the form of a list of numbers with one of the ``sizes``; by default, one number per joint."""

    def check(value: Any, path: str, names: Names) -> list[float]:
        allowed = sizes or (len(names.entries["joint"]),)
        count = " or ".join(map(str, allowed))
        expect(is_list(value, *allowed) and all(map(is_number, value)), path, f"be a list of {count} numbers", value)
        return list(map(float, value))

    return Form(f"list of {' or '.join(map(str, sizes)) or 'n'} numbers", check)


def is_list(value: Any, *sizes: int) -> bool:
    """Return whether a value is a list with one of the ``sizes``; any size by default."""
    return isinstance(value, list | tuple) and (not sizes or len(value) in sizes)


def _numbers(value: Any, path: str, names: Names) -> list[float]:
    numeric = is_list(value) and len(value) > 1 and all(map(is_number, value))
    expect(numeric, path, "be a list of at least 2 numbers", value)
    return list(map(float, value))


def _direction(value: Any, path: str, names: Names) -> NDArray[np.float64]:
    direction = np.array(vector(3).read(value, path, names))
    size = float(np.linalg.norm(direction))
    expect(size > SMALLEST, path, "not be zero", direction)
    return direction / size


def _directions(value: Any, path: str, names: Names) -> list[NDArray[np.float64]]:
    expect(is_list(value) and len(value) > 0, path, "be a list of directions", value)
    return [_direction(axis, f"{path}.[{i}]", names) for i, axis in enumerate(value)]


def choice(*allowed: str) -> Form:
    """Return the form of one of the ``allowed`` words."""

    def check(value: Any, path: str, names: Names) -> str:
        expect(isinstance(value, str) and value in allowed, path, f"be one of {', '.join(allowed)}", value)
        return value

    return Form(", ".join(f"`{word}`" for word in allowed), check)


def name(kind: str, ground: bool = False) -> Form:
    """Return the form of the name of a table, which is read as its index."""
    says = f"name of a {kind}" + ' or "ground"' * ground
    return Form(says, lambda value, path, names: names.index(kind, value, path, ground))


def table(keys: Table) -> Form:
    """Return the form of a table with these keys."""
    return Form("table", keys.read)


def several(keys: Table, most: int) -> Form:
    """Return the form of a table with these keys or a list of up to ``most`` tables; both are read as a list."""

    def check(value: Any, path: str, names: Names) -> list[dict[str, Any]]:
        if not is_list(value):
            return [keys.read(value, path, names)]
        expect(len(value) <= most, path, f"hold at most {most} tables", len(value))
        return [keys.read(entry, f"{path}[{i}]", names) for i, entry in enumerate(value)]

    return Form("table or list of tables", check)


def tables(kind: str) -> Form:
    """Return the form of a table of named tables, which are read later."""

    def check(value: Any, path: str, names: Names) -> Mapping[str, Any]:
        expect(isinstance(value, Mapping), kind, "be a table of tables", value)
        if len(value) > LIMITS[kind]:
            raise ValueError(f"{kind} must hold at most {LIMITS[kind]} tables, got {len(value)}")
        for name, values in value.items():
            expect(isinstance(values, Mapping), f"{kind}.{name}", "be a table", values)
        return value

    return Form(f"tables `[{kind}.NAME]`", check)


def _text(value: Any, path: str, names: Names) -> str:
    expect(isinstance(value, str), path, "be a name", value)
    return str(value)


def _truth(value: Any, path: str, names: Names) -> bool:
    expect(isinstance(value, bool), path, "be true or false", value)
    return bool(value)


def later(says: str) -> Form:
    """Return the form of a value that is checked later, because it depends on other tables."""
    return Form(says, lambda value, path, names: value)


NUMBER, DIRECTION = number(), Form("direction", _direction)
POSITIVE = number(SMALLEST)._replace(says="number above 0")
SIGNAL = Form("signal", lambda value, path, names: names.signal(value, path))
ANY_JOINT = Form("name of a joint", lambda value, path, names: names.any_joint(value, path))
FREE_JOINT = Form("name of a joint", lambda value, path, names: names.joint(value, path))
BODY_FRAME = Form("name of a body or frame", lambda value, path, names: names.frame(value, path))
POINT = Form('`[body or "ground", x, y, z]`', lambda value, path, names: names.point(value, path))
NUMBERS, DIRECTIONS = Form("list of numbers", _numbers), Form("list of directions", _directions)
TEXT, TRUTH = Form("name of a body", _text), Form("true or false", _truth)
