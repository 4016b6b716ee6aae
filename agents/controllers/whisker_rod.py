"""Reference controllers of the whisker: constant sweeps, a texture classifier, contact keeping.

All play tasks: actions say where the plate shall be, and not, as the whisker's drive does, how fast it goes there.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.control import TaskController
from gymnosoma.envs.core.table import read_table
from gymnosoma.envs.whisker_rod.tasks import CENTRE, DISTANCES, SPEEDS, TEXTURES, Regulate, Sweep, Texture

from . import Reference, References

__all__ = ["REFERENCES", "ConstantSweep", "ContactKeeper", "SteadySpeed", "Steering", "TextureClassifier"]

LEVELS = ((0.02, 0.47, 0.76, 1.02, 1.94, 2.32), (0.05, 0.075, 0.1, 0.13, 0.16, 0.2))
"""Level of the second mode, log10 (nN m)^2, that a steady speed in m/s gives at L = 22 um, 0.985 lengths."""


class ConstantSweep:
    """The plate runs at a constant speed and distance; nothing is named.

    Parameters
    ----------
    speed : float, m/s
    distance : float
        In lengths of the whisker.
    action_size : int
        Of the task; entries after the first two are -1.
    """

    reads = ()

    def __init__(self, speed: float, distance: float = CENTRE, action_size: int = 2) -> None:
        self._values = np.array([speed, distance, *[-1.0] * (action_size - 2)])

    def choose(
        self, t: NDArray[np.float64], fields: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Speed in m/s, distance in lengths, and -1 (B, action_size)."""
        return np.tile(self._values, (len(t), 1))


class TextureClassifier:
    """Sweeps slowly, and names the texture whose mean band levels are nearest.

    Parameters
    ----------
    speed, distance : float
        Of the sweep, m/s and lengths.
    start, stop : float, s
        Between which the levels are averaged; then it decides.
    """

    reads = ("band_level",)

    def __init__(self, speed: float = 0.04, distance: float = CENTRE, start: float = 0.08, stop: float = 0.2) -> None:
        self._sweep = ConstantSweep(speed, distance, 3 + len(TEXTURES))
        self._start, self._stop = start, stop
        table = read_table("whisker_rod/textures.toml")
        self._centroids = np.array([table[f"texture_{k}"] for k in range(len(TEXTURES))])
        self._spread = table["spread"]
        self._sums, self._count = np.zeros((0, 0)), np.zeros(0)

    @property
    def mean_levels(self) -> NDArray[np.float64]:
        """Means (B, 8) of the band levels so far, log10 (nN m)^2."""
        return self._sums / np.maximum(self._count, 1.0)[:, None]

    def choose(
        self, t: NDArray[np.float64], fields: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Speed, distance, stop, and scores (B, 7) at times ``t`` (B,) s."""
        levels = fields["band_level"]
        if len(self._count) != len(t):
            self._sums, self._count = np.zeros_like(levels), np.zeros(len(t))
        self._sums[first], self._count[first] = 0.0, 0.0
        ready = t > self._start
        self._sums += levels * ready[:, None]
        self._count += ready
        away = np.sum(((self.mean_levels[:, None] - self._centroids) / self._spread) ** 2, 2)
        values = self._sweep.choose(t, fields, first)
        values[:, 2] = np.where(t > self._stop, 1.0, -1.0)
        values[:, 3:] = np.where(away == away.min(1, keepdims=True), 1.0, -1.0)
        return values


class ContactKeeper:
    """Moves the plate in proportion to the error of the force on the base, low-passed.

    Parameters
    ----------
    gain : float, lengths/N
        Change of the distance in a period per error of the force.
    force : float, N
        To be kept; 0.8 uN is that at 0.985 lengths.
    share : float
        Of the newest force in the mean.
    """

    reads = ("base_wrench_mean",)

    def __init__(self, gain: float = 5e3, force: float = 0.8e-6, share: float = 0.3) -> None:
        self.gain, self.force, self.share = gain, force, share
        self._mean = np.zeros(0)

    def choose(
        self, t: NDArray[np.float64], fields: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Change of the plate's distance (B, 1) in lengths."""
        force = -fields["base_wrench_mean"][:, 2]
        if len(self._mean) != len(t):
            self._mean = force
        self._mean = np.where(first, force, self._mean + self.share * (force - self._mean))
        return (self.gain * np.clip(self._mean - self.force, -0.2e-6, 0.2e-6))[:, None]


class SteadySpeed:
    """The constant speed that gives the ``goal`` on a middling texture.

    Parameters
    ----------
    factor : float
        On that speed.
    distance : float
        In lengths of the whisker.
    """

    reads = ("goal",)

    def __init__(self, factor: float = 1.0, distance: float = CENTRE) -> None:
        self.factor, self.distance = factor, distance

    def choose(
        self, t: NDArray[np.float64], fields: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Speed in m/s and distance in lengths (B, 2)."""
        speed = self.factor * np.interp(fields["goal"][:, 0], *LEVELS)
        return np.stack([speed, np.full(len(t), self.distance)], 1)


class Steering:
    """The plate in the hands of a person, ten times slower than life; see `commands.play`."""

    reads = ()
    control_rate = 500.0
    pace = 0.2
    """Time in which a key takes speed or distance through its range, s."""

    def __init__(self, task: Any) -> None:
        self._action_size = task.action_size
        self._sweep, self._texture = isinstance(task, Sweep), isinstance(task, Texture)
        self.speed, self.distance, self.change = task.start_speed, CENTRE, 0.0
        self._named: int | None = None
        self.parameters: dict[str, float] = {}
        keys = [("up, down", "plate away, nearer")]
        if not self._sweep:
            keys.append(("right, left", "plate faster, slower"))
        keys.append(("1 .. 4", "name the texture: L = 5 .. 50 um") if self._texture else ("L", "another texture"))
        self.keys = tuple(keys)

    def hold(self, held: Set[str], dt: float) -> None:
        """Keys in ``held`` are down for ``dt`` s."""
        share = dt / self.pace
        self.change = ((DISTANCES[1] - DISTANCES[0]) * share) * (("up" in held) - ("down" in held))
        self.distance = float(np.clip(self.distance + self.change, *DISTANCES))
        faster = (("right" in held) - ("left" in held)) * share
        self.speed = float(np.clip(self.speed + (SPEEDS[1] - SPEEDS[0]) * faster, *SPEEDS))
        self._named = next((k for k in range(len(TEXTURES)) if str(k + 1) in held), None)

    def press(self, key: str) -> None:
        """Lay another texture on the plate, unless it is to be named."""
        if key == "l" and not self._texture:
            now = self.parameters.get("memory_length", TEXTURES[-1])
            self.parameters = {"memory_length": TEXTURES[(TEXTURES.index(now) + 1) % len(TEXTURES)]}

    def state(self) -> str:
        """Sweep in words."""
        length = self.parameters.get("memory_length")
        texture = "" if length is None else f", L = {1e6 * length:g} um"
        if self._sweep:
            return f"distance {self.control_rate * self.change:+.3f} lengths/s{texture}"
        return f"{self.speed:.2f} m/s, {self.distance:.4f} lengths{texture}"

    def choose(
        self, t: NDArray[np.float64], fields: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Change of the distance (B, 1) in lengths, or speed in m/s, distance in lengths, and answers (B, size)."""
        if self._sweep:
            return np.full((len(t), 1), self.change)
        values = np.full((len(t), self._action_size), -1.0)
        values[:, :2] = self.speed, self.distance
        if self._named is not None and self._texture:
            values[:, [2, 3 + self._named]] = 1.0
        return values


def _classifier(task: Any, **chosen: float) -> TaskController:
    return TextureClassifier(**chosen)


def _keeper(task: Any, **chosen: float) -> TaskController:
    return ContactKeeper(**chosen)


def _steady(task: Any, **chosen: float) -> TaskController:
    return SteadySpeed(**chosen)


REFERENCES: References = {
    Texture: {
        "baseline": Reference(_classifier, bounds={"start": (0.0, 0.1), "stop": (0.05, 0.3)}),
        "silent": Reference(lambda task: ConstantSweep(0.2, action_size=task.action_size)),
    },
    Sweep: {
        "baseline": Reference(_keeper, bounds={"gain": (0.0, 2e4), "force": (0.7e-6, 0.9e-6), "share": (0.05, 1.0)}),
        "still": Reference(lambda task: ContactKeeper(gain=0.0)),
    },
    Regulate: {
        "baseline": Reference(_steady, bounds={"factor": (0.5, 2.0), "distance": (0.978, 0.992)}),
        "paper": Reference(lambda task: ConstantSweep(0.2, 0.98)),
    },
}
