"""How a lamprey steers itself: its brainstem turns the cord to a goal, and the cord commands the motoneurons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .params import motoneuron, table

Floats = NDArray[np.float64]


def command(excite: Floats, inhibit: Floats) -> Floats:
    """Command of a motoneuron that makes as much of it, in the end, as what excites and inhibits it together.

    A command does one or the other, by what is left of both where Eq. 2 of Ekeberg (1993) adds them up.
    """
    p = motoneuron()[0]
    u = 1.0 - np.exp((p["threshold"] - excite) * p["gain"]) - inhibit
    enough = p["threshold"] - np.log1p(-np.maximum(u, 0.0)) / p["gain"]
    return np.where(u > 0.0, enough / p["excite"], u / p["inhibit"])


def _unit(way: Floats) -> Floats:
    return way / np.maximum(np.sqrt(np.sum(way**2, 1, keepdims=True)), 1e-12)


@dataclass(frozen=True)
class Steering:
    """Proportional heading control over the drive of the brainstem.

    At a tonic ``level`` the asymmetry follows the bearing with a ``gain`` (1/rad) up to a ``limit``: the drive is
    raised on the side to turn to. As the heading swings with the body, the bearing is averaged over a time of
    ``smoothing`` (s); ``recent`` are the directions of the goal within it, (B, K, 2), the last one at the end.
    """

    level: float = 0.4
    gain: float = 0.25
    limit: float = 0.2
    smoothing: float = 0.25

    def kept(self, control_rate: float) -> int:
        """Number K of directions within the time of ``smoothing``."""
        return max(round(self.smoothing * control_rate), 1)

    def begun(self, way: Floats, control_rate: float) -> Floats:
        """Directions at the start, where the ``way`` to the goal is (B, 2) along and left of the heading."""
        return np.repeat(_unit(way)[:, None], self.kept(control_rate), 1)

    @staticmethod
    def seen(way: Floats, recent: Floats) -> Floats:
        """Directions after another look at the ``way``."""
        return np.concatenate([recent[:, 1:], _unit(way)[:, None]], 1)

    def drive(self, recent: Floats) -> Floats:
        """Tonic level, asymmetry and head extra (B, 3)."""
        # Directions, not angles, are averaged: a bearing jumps by a turn behind the tail.
        mean = recent.swapaxes(1, 2).copy().sum(2)
        bearing = np.arctan2(mean[:, 1], mean[:, 0])
        drive = np.empty((len(recent), 3))
        drive[:, 0] = self.level
        drive[:, 1] = np.clip(-self.gain * bearing, -self.limit, self.limit)
        drive[:, 2] = table()["head_extra"]
        return drive
