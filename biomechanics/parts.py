"""Parts of imported models: frames, joined masses, and a report of what became of each part."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass
class Report:
    """What became of the parts of a model, in words, each by its name.

    Args:
        taken, renamed, ignored, refused (list of str)
    """

    taken: list[str] = field(default_factory=list)
    renamed: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def rename(self, label: str, others: Iterable[str]) -> str:
        """Name by which our keys call a part, no dots in it and unlike ``others``."""
        name, used = re.sub(r"[^\w-]", "_", label), {"ground", *others}
        while name in used:
            name += "_"
        if name != label:
            self.renamed.append(f"{label} is {name}")
        return name

    def __str__(self) -> str:
        """All of it, a line for each entry."""
        parts = {name: getattr(self, name) for name in ("taken", "renamed", "ignored", "refused")}
        return "\n".join(f"{name}: {entry}" for name, entries in parts.items() for entry in entries)


@dataclass
class Place:
    """Where a frame of OpenSim is: in a body of ours, turned by R, at p (m)."""

    body: str
    R: Vector
    p: Vector

    def point(self, x: Vector) -> list[Any]:
        """Point of the frame, as our keys say it."""
        return [self.body, *(self.R @ x + self.p).tolist()]


def united(parts: list[tuple[float, Vector, Vector]]) -> dict[str, Any]:
    """Inertial keys of what moves together: masses, their centres, and inertias about these."""
    mass = sum(part[0] for part in parts)
    centre = sum((m * c for m, c, _ in parts), np.zeros(3)) / (mass or 1.0)
    total = np.zeros((3, 3))
    for m, c, inertia in parts:
        r = c - centre
        total += inertia + m * (r @ r * np.eye(3) - np.outer(r, r))
    moments = [*np.diag(total).tolist(), total[0, 1], total[0, 2], total[1, 2]]
    return {"mass": mass, "centre": centre.tolist(), "inertia": moments}
