"""Reading of model files and mappings, and key-by-key checks of their tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import shown
from ..core.files import read_toml
from . import nerves

LIMITS = dict.fromkeys(("muscle", "neuron", "cylinder", "motor", "inputs"), 1024)
LIMITS |= {"curve": 256, "pieces of curves": 8192, "wraps": 2048}
LIMITS |= {"body": 128, "frame": 256, "spline": 256, "pin": 256, "contact": 64, "wrench": 256}
LIMITS |= {"synapses": 2048, "points of paths": 8192, "times of splines": 2048}
"""Largest numbers of tables of each kind in a model, and of entries in all of them together."""

LARGEST = 1e9
"""Largest magnitude of a number in a model, in SI, so that products do not overflow."""

SMALLEST = 1e-12
"""Smallest value of a number that must be greater than 0."""

_DEEPEST = 8  # levels of tables and lists; valid models have up to 6
_ENTRIES = LIMITS["body"] ** 2  # in one table or list; the key B of a length needs most
_KEY, _TEXT = 100, 200  # characters

# Files and mappings


def read_file(source: str | Path, what: str) -> dict[str, Any]:
    """Return the contents of an untrusted TOML file; error messages start with ``what``."""
    try:
        path = Path(source)
        if path.suffix.lower() in (".osim", ".xml", ".mjb"):
            raise ValueError("load it with gymnosoma.biomechanics.load, or convert it to TOML with 'gymnosoma import'")
        return plain(read_toml(path))
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{what} {str(source)!r} cannot be read: {error}") from None


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


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number; booleans are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most and value.isprintable()


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
        proportional (set of str): Muscles without activation dynamics, with a force proportional to excitation.
        frames: Body, rotation matrix (3, 3) and origin (3,) m in the body of each further frame.
        outputs: Index of the first output and number of outputs of each control module.
    """

    entries: dict[str, Sequence[str]]
    declared: bool = False
    proportional: set[str] = field(default_factory=set)
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
        ball = isinstance(value, str) and value.endswith(".rz") and f"{value[:-3]}.ry" in self.entries["body"]
        index = self.index("body", value[:-3] if ball else value, path)
        if index >= len(self.entries["joint"]):
            raise ValueError(f"{path}: joint {shown(value)} must be free, but it follows another joint or is fixed")
        return index

    def point(self, value: Any, path: str) -> tuple[int, list[float]]:
        """Return body and position of a point [body, x, y, z]."""
        placed = isinstance(value, list | tuple) and len(value) == 4 and all(map(is_number, value[1:]))
        expect(placed, path, "be [body, x, y, z]", value)
        if isinstance(value[0], str) and value[0] in self.frames:
            body, R, at = self.frames[value[0]]
            return body, (R @ value[1:] + at).tolist()
        return self.index("body", value[0], path, ground=True), list(map(float, value[1:]))

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


def read(keys: Sequence[Key], values: Any, path: str, names: Names) -> dict[str, Any]:
    """Check a table key by key and return its values with defaults; error messages start with ``path``."""
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
    """Return the unit vector along the part of ``side`` perpendicular to ``axis``; ``path`` is the key of ``side``."""
    side = side - (side @ axis) * axis
    size = np.linalg.norm(side)
    other = "normal" if path.endswith("tangent") else "the axis"
    expect(bool(size >= 1e-6), path, f"not be parallel to {other}", value)
    return side / size
