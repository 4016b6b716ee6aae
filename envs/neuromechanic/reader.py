"""Reading of models: files and mappings, what a key may hold, and tables that are checked key by key."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import shown
from ..core.files import check_file
from . import nerves

LARGEST_FILE = 1 << 20
"""Bytes that a model's file may have."""

LIMITS = dict.fromkeys(("muscle", "neuron", "cylinder", "motor", "inputs"), 1024)
LIMITS |= {"curve": 256, "pieces of curves": 8192, "wraps": 2048}
LIMITS |= {"body": 128, "spline": 256, "pin": 256, "contact": 64, "wrench": 256}
LIMITS |= {"synapses": 2048, "points of paths": 8192, "times of splines": 2048}
"""How many tables of a kind a model may have, and how many entries they may have together."""

LARGEST = 1e9
"""Size that a number of a model may have, in SI: no product of several overflows."""

SMALLEST = 1e-12
"""The least value of a number that must be greater than 0."""

_DEEPEST = 8  # levels of tables and lists: two more than any model has
_ENTRIES = LIMITS["body"] ** 2  # of any table or list: the most are those of B
_KEY, _TEXT = 100, 200  # characters
_PARTS = 16
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_PARTS}}}", re.ASCII)

# Files and mappings


def read_file(source: str | Path, what: str) -> dict[str, Any]:
    """Contents of a TOML file, which may hold anything; errors name ``what`` it is meant to be."""
    try:
        path = Path(source)
        if path.suffix.lower() in (".osim", ".xml", ".mjb"):
            raise ValueError("gymnosoma.biomechanics.load makes a mapping of it, and 'gymnosoma import' a TOML file")
        check_file(path, LARGEST_FILE)
        text = path.read_bytes().decode()
        # The parser takes a time that grows with the square of a key's parts.
        if match := _LONG_KEY.search(text):
            line = text.count("\n", 0, match.start()) + 1
            raise ValueError(f"line {line}: a key has more than {_PARTS} parts")
        return plain(tomllib.loads(text))
    except RecursionError:
        raise ValueError(f"{what} {str(source)!r} cannot be read: its values are nested too deeply") from None
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{what} {str(source)!r} cannot be read: {error}") from None


def plain(value: Any, path: str = "", depth: int = 0) -> Any:
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
        return {key: plain(part, f"{path}.{key}" if path else key, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part, f"{here}[{i}]", depth + 1) for i, part in enumerate(value)]
    if isinstance(value, str):
        expect(_is_text(value, _TEXT), here, f"have at most {_TEXT} printable characters", value)
    elif isinstance(value, int | float):
        expect(not abs(value) > LARGEST, here, f"be a number within -{LARGEST:g} and {LARGEST:g}", value)
    return value


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, which True and False are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most and value.isprintable()


def listed(names: Iterable[str]) -> str:
    """Names for an error, of which there may be many."""
    first = list(names)
    return ", ".join(first[:20] + ["..."] * (len(first) > 20))


def expect(holds: bool, path: str, what: str, value: Any) -> None:
    """Refuse a value that is not what it must be."""
    if not holds:
        raise ValueError(f"{path} must {what}, got {shown(value)}")


def limit(kind: str, count: int, path: str) -> None:
    """Refuse more of a kind than `LIMITS` allow."""
    if count > LIMITS[kind]:
        raise ValueError(f"{path}: a model has at most {LIMITS[kind]} {kind}, got {count}")


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
"""Signals: the kinds of tables that have some, and by the last part of the signal's name what a kernel calls it."""

_SIGNALS = (
    "joint.BODY.position, joint.BODY.velocity, muscle.NAME.QUANTITY, neuron.NAME, spline.NAME, input.NAME, "
    "body.NAME.x (y, z, vx, vy, vz), contact.NAME.height, contact.NAME.force, module.NAME.OUTPUT"
)


@dataclass
class Names:
    """What the keys of a model may refer to.

    Args:
        entries: Names in order, by the kind of table. Bodies are those of the tables until these have been read, then
            those of the state vector and, after them, of followers; joints are those of the state vector.
        declared: Whether all inputs are known; if not, each comes to be where it is first mentioned.
        proportional (set of str): Muscles that have no activation, and whose force follows their excitation at once.
        outputs: Of a control module by its name, the numbers of its first output and of all of them.
    """

    entries: dict[str, Sequence[str]]
    declared: bool = False
    proportional: set[str] = field(default_factory=set)
    outputs: dict[str, tuple[int, int]] = field(default_factory=dict)

    def index(self, kind: str, value: Any, path: str, ground: bool = False) -> int:
        """Index of a name; -1 for the ground, where that is allowed."""
        if ground and value == "ground":
            return -1
        labels = self.entries[kind]
        if value not in labels:
            allowed = listed(["ground", *labels] if ground else labels)
            raise ValueError(f"{path}: {kind} {shown(value)} is not known; known are {allowed}")
        return list(labels).index(value)

    def joint(self, value: Any, path: str) -> int:
        """Index of a joint by the name of its body, or of one of a ball's or a free body's."""
        ball = isinstance(value, str) and value.endswith(".rz") and f"{value[:-3]}.ry" in self.entries["body"]
        index = self.index("body", value[:-3] if ball else value, path)
        if index >= len(self.entries["joint"]):
            raise ValueError(f"{path}: joint {shown(value)} follows another one; it has no position of its own")
        return index

    def point(self, value: Any, path: str) -> tuple[int, list[float]]:
        """Body and position of a point [body, x, y, z]."""
        placed = isinstance(value, list | tuple) and len(value) == 4 and all(map(is_number, value[1:]))
        expect(placed, path, "be [body, x, y, z]", value)
        return self.index("body", value[0], path, ground=True), list(map(float, value[1:]))

    def signal(self, value: Any, path: str) -> tuple[int, int]:
        """Kind and index of a signal by its name, as `nerves.signal` takes them."""
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
                name = ".".join(rest[:-1])
                follows = name in list(self.entries["body"])[len(self.entries["joint"]) :]
                return quantities[quantity], self.index("body", name, path) if follows else self.joint(name, path)
            index = self.index(kind, rest[0], path)
            if kind == "body":
                index = 3 * index + _AXES.index(quantity[-1])
            if quantity == "activation" and rest[0] in self.proportional:
                raise ValueError(f"{path}: muscle {rest[0]!r} is proportional and has no activation")
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


# Tables

REQUIRED, OPTIONAL = object(), object()
"""Defaults of a key that must be given, and of one that is None where it is not given."""


class Form(NamedTuple):
    """What a key may hold, in words, and the function that checks a value: of the value, its path, and `Names`."""

    says: str
    read: Callable[[Any, str, Names], Any]


class Per(NamedTuple):
    """A default that depends on another key, which stands before."""

    key: str
    values: Mapping[str, Any]


class Key(NamedTuple):
    """A key of a table.

    Args:
        default (REQUIRED, OPTIONAL, a value, or Per)
        types (tuple of str): Values of the table's key ``type`` with which it has this key; all if there are none.
        beside: Another key, without which this one is not known; ``"no NAME"`` is one with which it is not known, and
            ``"NAME=WORD"`` one that must be that word, ``"NAME!=WORD"`` one that must not.
    """

    name: str
    form: Form
    default: Any
    unit: str
    meaning: str
    types: tuple[str, ...] = ()
    beside: str = ""

    def applies(self, entries: Mapping[str, Any]) -> bool:
        """Whether a table has this key, by the keys before it."""
        without, _, other = self.beside.rpartition(" ")
        other, _, word = other.partition("=")
        if word:
            return bool((entries.get(other.rstrip("!")) == word) != other.endswith("!"))
        if other and (entries.get(other) is None) != (without == "no"):
            return False
        return not self.types or entries["type"] in self.types


def read(keys: Sequence[Key], values: Any, path: str, names: Names) -> dict[str, Any]:
    """Check a table key by key, and return what it says with the defaults; ``path`` begins the errors."""
    expect(isinstance(values, Mapping), path, "be a table", values)
    entries: dict[str, Any] = {}
    labels: list[str] = []
    for key in keys:
        if not key.applies(entries):
            continue
        labels.append(key.name)
        default = key.default.values[entries[key.default.key]] if isinstance(key.default, Per) else key.default
        value = values.get(key.name, default)
        if value is REQUIRED:
            strange = [name for name in values if name not in {each.name for each in keys}]
            raise ValueError(f"{path}.{key.name} is missing{f', and {strange[0]} is not known' if strange else ''}")
        entries[key.name] = None if value is OPTIONAL else key.form.read(value, f"{path}.{key.name}", names)
    for name in values:
        if name not in labels:
            raise ValueError(f"{path}.{name} is not known; allowed are {listed(labels)}")
    return entries


def across(side: NDArray[np.float64], axis: NDArray[np.float64], path: str, value: Any) -> NDArray[np.float64]:
    """Unit vector along the part of ``side`` that is perpendicular to ``axis``; ``path`` is the key that gave it."""
    side = side - (side @ axis) * axis
    size = np.linalg.norm(side)
    other = "normal" if path.endswith("tangent") else "the axis"
    expect(bool(size >= 1e-6), path, f"not be parallel to {other}", value)
    return side / size
