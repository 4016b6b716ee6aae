"""What the importers of OpenSim and MuJoCo share: names, frames and masses of a description, and its report.

`opensim` and `mujoco` read the other programs' models.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import printable
from gymnosoma.envs.neuromechanic import cubics
from gymnosoma.envs.neuromechanic.model.build import idle_joints
from gymnosoma.envs.neuromechanic.model.loading import plain
from gymnosoma.envs.neuromechanic.model.reader import Names
from gymnosoma.envs.neuromechanic.model.tables import INERTIAL, JOINT, KINDS, is_possible

Vector = NDArray[np.float64]

LARGEST_FILE = 16 << 20
"""Largest size of a model file, bytes."""


def valid_name(label: str) -> str:
    """Return a label with letters, digits, ``_`` and ``-`` only."""
    return re.sub(r"[^\w-]", "_", label)


def installed(module: str) -> bool:
    """Return whether a module of another program is installed."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@dataclass
class Report:
    """Report of an import: lists of texts, each of which names a part of the model.

    Args:
        taken (list of str): Imported parts.
        renamed (list of str): Parts with another name or zero position in the description.
        ignored (list of str): Parts that are left out and do not prevent the import.
        refused (list of str): Unsupported parts.
    """

    taken: list[str] = field(default_factory=list)
    renamed: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def rename(self, label: str, used: dict[str, int]) -> str:
        """Return a new valid name for a part.

        ``used`` counts how often a name was asked for; a number is added to names in use.
        """
        name = first = valid_name(label)[:80] or "_"
        while name in used:
            used[first] += 1
            name = f"{first}_{used[first]}"
        used[name] = 1
        if name != label:
            self.renamed.append(f"{label} to {name}")
        return name

    def __str__(self) -> str:
        """Return the report as text with one entry per line."""
        parts = {name: getattr(self, name) for name in ("taken", "renamed", "ignored", "refused")}
        return "\n".join(f"{name}: {printable(entry)}" for name, entries in parts.items() for entry in entries)


@dataclass
class Place:
    """Frame of an imported model: its body in the description, its rotation matrix R and its origin p (m) in it."""

    body: str
    R: Vector
    p: Vector

    def frame(self) -> dict[str, Any]:
        """Return the keys of the frame in a description."""
        from scipy.spatial.transform import Rotation

        x, y, z, w = Rotation.from_matrix(self.R).as_quat().tolist()
        return {"body": self.body, "at": self.p.tolist(), "attitude": [w, x, y, z]}

    def point(self, x: Vector) -> list[Any]:
        """Return the description's ``[body, x, y, z]`` of a point (3,) m of the frame."""
        return [self.body, *(self.R @ x + self.p).tolist()]


class Importer:
    """Description of one model that grows part by part, with a report on them.

    Args:
        source: File or object that the model comes from, for error messages.
        gravity ((3,) float, m/s^2): Acceleration due to gravity.
    """

    def __init__(self, source: Any, gravity: Vector) -> None:
        self.source, self.gravity, self.report = source, gravity, Report()
        self.body: dict[str, Any] = {}
        self.curve: dict[str, Any] = {}
        self.tables: dict[str, dict[str, Any]] = defaultdict(dict)
        self.inputs: list[str] = []
        self.masses: dict[str, list[tuple[float, Vector, Vector]]] = {}
        self._names: dict[tuple[str, Any], str] = {}
        self._used: dict[str, dict[str, int]] = {}

    def name(self, label: str, kind: str = "body", part: Any = None) -> str:
        """Return the name of a part in the description, unique among parts of its kind.

        Parts are told apart by their label, or by ``part`` if it is passed.
        """
        key = kind, label if part is None else part
        if key not in self._names:
            self._names[key] = self.report.rename(label, self._used.setdefault(kind, {"ground": 1}))
        return self._names[key]

    def attempt(self, what: str, convert: Callable[..., None], *parts: Any) -> None:
        """Call ``convert`` with ``parts``; on ValueError, the report says that ``what`` is refused, and why."""
        try:
            convert(*parts)
        except ValueError as error:
            self.report.refused.append(f"{what}: {error}")

    def add_body(self, name: str, parent: str, joint: dict[str, Any]) -> None:
        """Add a massless body.

        Raises:
            ValueError: If the builder of models would refuse the joint, by the same checks.
        """
        JOINT.read(plain(joint), f"body.{name}.joint", self.names_so_far())
        self.body[name] = {"parent": parent, "joint": joint}

    def names_so_far(self) -> Names:
        """Return the names to which further tables can refer."""
        led = {name for name, body in self.body.items() if not body["joint"].keys().isdisjoint(("follows", "fixed"))}
        free = [name for name in self.body if name not in led]
        entries = {
            "body": [*free, *led],
            "joint": free,
            "input": (),
            "curve": self.curve,
            "cylinder": self.tables.get("cylinder", {}),
        }
        place = np.eye(3), np.zeros(3)
        bodies = {name: frame["body"] for name, frame in self.tables.get("frame", {}).items()}
        indices = {"ground": -1} | {name: i for i, name in enumerate(entries["body"])}
        frames = {name: (indices[body], *place) for name, body in bodies.items()}
        return Names({kind: tuple(labels) for kind, labels in entries.items()}, frames=frames)

    def add(self, kind: str, name: str, entry: dict[str, Any]) -> None:
        """Add a table of a kind.

        Raises:
            ValueError: If the builder of models would refuse it, by the same checks.
        """
        path = f"{kind}.{name}"
        KINDS[f"{kind}.NAME"].read(plain(entry, path), path, self.names_so_far())
        self.tables[kind][name] = entry

    def add_mass(self, name: str, mass: float, centre: Vector, inertia: Vector) -> None:
        """Add mass (kg), centre (3,) m and central inertia (3, 3) kg m^2 of a part to a body of the description.

        Raises:
            ValueError: If the mass is negative.
        """
        INERTIAL.read(plain({"mass": mass}), f"body.{name}.inertial", Names({}))
        self.masses.setdefault(name, []).append((mass, centre, inertia))

    def add_masses(self) -> None:
        """Give the bodies of the description the masses that move with them, and lock joints that move no mass."""
        for name, parts in self.masses.items():
            self.body[name]["inertial"] = entry = united(parts)
            if not is_possible(entry["inertia"]):
                entry["exact"] = True
                self.report.taken.append(f"inertia of {name}, unchanged although physically impossible")
        for name in idle_joints(self.body):
            if "axis" in self.body[name]["joint"]:
                start = self.body[name]["joint"].get("start", 0.0)
                self.report.refused.append(
                    f"joint {name}: it moves no mass; give one to {self.label_of(name)}, or use partial, "
                    f"which fixes the joint at {start:g}"
                )
                self.lock(name, start)

    def label_of(self, name: str) -> str:
        """Return the source's name of the part that a body of the description stands for."""
        return name

    def lock(self, name: str, start: float) -> None:
        """Fix a free joint and its followers at the positions for ``start`` (rad or m)."""
        for own, body in self.body.items():
            joint = body["joint"]
            if own == name or joint.get("follows") == name:
                f = {"curve": self.curve[joint["by"]]} if "by" in joint else {"gain": 1.0, "offset": 0.0, **joint}
                place = {key: joint[key] for key in ("type", "axis", "at") if key in joint}
                body["joint"] = place | {"fixed": value_of(f, start)}

    def add_muscle(self, name: str, course: dict[str, Any], model: dict[str, Any]) -> None:
        """Add a muscle with an input of its own, from the keys of its path and of its ``model``.

        Raises:
            ValueError: If the builder of models would refuse the muscle, by the same checks.
        """
        self.add("muscle", name, course | {"excitation": f"input.{name}", "model": model})
        self.inputs.append(name)

    def add_motor(self, name: str, joint: str, gain: float) -> None:
        """Add a motor with an input of its own."""
        self.add("motor", name, {"joint": joint, "from": f"input.{name}", "gain": gain})
        self.inputs.append(name)

    def description(self) -> dict[str, Any]:
        """Return the description of the parts so far."""
        tables = self.tables | {"inputs": self.inputs, "body": self.body, "curve": self.curve}
        description = {"schema": 1, "gravity": self.gravity.tolist()}
        return description | {name: table for name, table in tables.items() if table}

    def finish(self, partial: bool) -> tuple[dict[str, Any], Report]:
        """Return the description and the report.

        Raises:
            ValueError: If parts were refused, unless ``partial``.
        """
        if self.report.refused and not partial:
            refused = "; ".join(self.report.refused)
            raise ValueError(f"model {str(self.source)!r} has parts that are not supported: {refused}")
        return self.description(), self.report


def value_of(f: dict[str, Any], x: float) -> float:
    """Return the value at ``x`` of a function with ``gain`` and ``offset``, or with a ``curve``."""
    if "curve" not in f:
        return float(f["gain"] * x + f["offset"])
    curve = f["curve"]
    if curve["kind"] == "polynomial":
        return float(np.polyval(curve["coefficients"], x))
    places = np.array([curve["x"][0], *curve["x"]])
    i = int(np.searchsorted(places[1:], x, "right"))
    return float(np.polyval(cubics(curve["kind"], np.array(curve["x"]), np.array(curve["y"]))[i], x - places[i]))


def united(parts: list[tuple[float, Vector, Vector]]) -> dict[str, Any]:
    """Return the ``inertial`` keys of a body, joined from the mass, centre and central inertia of each part."""
    mass = sum(part[0] for part in parts)
    centre = sum((m * c for m, c, _ in parts), np.zeros(3)) / (mass or 1.0)
    total = np.zeros((3, 3))
    for m, c, inertia in parts:
        r = c - centre
        total += inertia + m * (r @ r * np.eye(3) - np.outer(r, r))
    moments = [*np.diag(total).tolist(), total[0, 1], total[0, 2], total[1, 2]]
    return {"mass": mass, "centre": centre.tolist(), "inertia": moments}
