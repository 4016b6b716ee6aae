"""Frames and masses of imported models, and the report of an import."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import printable

Vector = NDArray[np.float64]

LARGEST_FILE = 16 << 20
"""Largest size of a model file, bytes."""


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
        """Return a new valid name for a part: letters, digits, ``_`` and ``-`` only.

        ``used`` counts how often a name was asked for; a number is added to names in use.
        """
        name = first = re.sub(r"[^\w-]", "_", label)[:80] or "_"
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
