"""Reference controllers of the whisker: constant sweeps, a texture classifier, contact keeping.

``python -m gymnosoma.agents.whisker_rod`` trains the classifier anew and prints its table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import gymnosoma.envs  # noqa: F401 (registers the ids)
from gymnosoma.envs.core.simulate import Controller
from gymnosoma.envs.core.table import read_table
from gymnosoma.envs.whisker_rod.tasks import CENTRE, DISTANCES, SPEEDS, TEXTURES, Sweep, Texture

LEVELS = ((0.02, 0.47, 0.76, 1.02, 1.94, 2.32), (0.05, 0.075, 0.1, 0.13, 0.16, 0.2))
"""Level of the second mode, log10 (nN m)^2, that a steady speed in m/s gives at L = 22 um, 0.985 lengths."""


class ConstantSweep:
    """The plate runs at a constant speed and distance; nothing is named.

    Parameters
    ----------
    speed : float, m/s
    distance : float
        In lengths of the whisker.
    columns : int
        Of the drive; those after the first two are -1.
    """

    def __init__(self, speed: float, distance: float = CENTRE, columns: int = 2) -> None:
        self._drive = np.array([speed, distance, *[-1.0] * (columns - 2)])

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Speed in m/s, distance in lengths, and -1 (B, columns)."""
        return np.tile(self._drive, (len(t), 1))


class TextureClassifier:
    """Sweeps slowly, and names the texture whose mean band levels are nearest.

    Parameters
    ----------
    speed, distance : float
        Of the sweep, m/s and lengths.
    start, stop : float, s
        Between which the levels are averaged; then it decides.
    """

    def __init__(self, speed: float = 0.04, distance: float = CENTRE, start: float = 0.08, stop: float = 0.2) -> None:
        self._sweep = ConstantSweep(speed, distance, 3 + len(TEXTURES))
        self._start, self._stop = start, stop
        table = read_table("whisker_rod/textures.toml")
        self._centroids = np.array([table[f"texture_{k}"] for k in range(len(TEXTURES))])
        self._spread = table["spread"]
        self._sums, self._count = np.zeros((0, 0)), np.zeros(0)

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Speed, distance, stop, and scores (B, 7) at times ``t`` (B,) s."""
        levels = signals["band_level"]
        if len(self._count) != len(t):
            self._sums, self._count = np.zeros_like(levels), np.zeros(len(t))
        self._sums[first], self._count[first] = 0.0, 0.0
        ready = t > self._start
        self._sums += levels * ready[:, None]
        self._count += ready
        mean = self._sums / np.maximum(self._count, 1.0)[:, None]
        away = np.sum(((mean[:, None] - self._centroids) / self._spread) ** 2, 2)
        drive = self._sweep.drive(t, signals, first)
        drive[:, 2] = np.where(t > self._stop, 1.0, -1.0)
        drive[:, 3:] = np.where(away == away.min(1, keepdims=True), 1.0, -1.0)
        return drive


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

    def __init__(self, gain: float = 5e3, force: float = 0.8e-6, share: float = 0.3) -> None:
        self.gain, self.force, self.share = gain, force, share
        self._mean = np.zeros(0)

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Change of the plate's distance (B, 1) in lengths."""
        force = -signals["force"][:, 1]
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

    def __init__(self, factor: float = 1.0, distance: float = CENTRE) -> None:
        self.factor, self.distance = factor, distance

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Speed in m/s and distance in lengths (B, 2)."""
        speed = self.factor * np.interp(signals["goal"][:, 0], *LEVELS)
        return np.stack([speed, np.full(len(t), self.distance)], 1)


class Steering:
    """The plate in the hands of a person, ten times slower than life; see `agents.play`."""

    rate = 500.0
    pace = 0.2
    """Time in which a key takes speed or distance through its range, s."""

    def __init__(self, task: Any) -> None:
        self._columns = task.action_size
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
        """Lay another texture on the plate, unless it is to be told."""
        if key == "l" and not self._texture:
            now = self.parameters.get("memory_length", TEXTURES[-1])
            self.parameters = {"memory_length": TEXTURES[(TEXTURES.index(now) + 1) % len(TEXTURES)]}

    def state(self) -> str:
        """Drive in words."""
        length = self.parameters.get("memory_length")
        texture = "" if length is None else f", L = {1e6 * length:g} um"
        if self._sweep:
            return f"distance {self.rate * self.change:+.3f} lengths/s{texture}"
        return f"{self.speed:.2f} m/s, {self.distance:.4f} lengths{texture}"

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Change of the distance (B, 1), or speed in m/s, distance in lengths, and what is told (B, columns)."""
        if self._sweep:
            return np.full((len(t), 1), self.change)
        drive = np.full((len(t), self._columns), -1.0)
        drive[:, :2] = self.speed, self.distance
        if self._named is not None and self._texture:
            drive[:, [2, 3 + self._named]] = 1.0
        return drive


def train_classifier(episodes: int = 2000, seed: int = 1_000_000) -> dict[str, NDArray[np.float64]]:
    """Centroids of the textures' mean band levels, and the spread within them, from simulated sweeps.

    Parameters
    ----------
    episodes : int
    seed : int
        Of the first episode.

    Returns
    -------
    dict
        ``texture_0`` .. and ``spread``, each (8,), as in ``assets/whisker_rod/textures.toml``.
    """
    watcher = TextureClassifier(stop=np.inf)
    envs: Any = gymnasium.make_vec("gymnosoma/WhiskerTexture-v0", num_envs=episodes)
    observations, infos = envs.reset(seed=seed)
    first = np.ones(episodes, np.bool_)
    for step in range(100):
        t = np.full(episodes, (step + 0.5) / envs.task.rate)
        drive = watcher.drive(t, envs.task.layout.decode(observations), first)
        observations, *_, infos = envs.step(envs.task.encode(drive))
        first[:] = False
    levels = watcher._sums / watcher._count[:, None]
    groups = [levels[infos["texture"] == k] for k in range(len(TEXTURES))]
    result = {f"texture_{k}": group.mean(0) for k, group in enumerate(groups)}
    return result | {"spread": np.sqrt(np.mean([group.var(0) for group in groups], 0))}


REFERENCES: dict[str, dict[str, tuple[Callable[[Any], Controller], dict[str, Any]]]] = {
    "Texture": {
        "baseline": (lambda task: TextureClassifier(), {}),
        "silent": (lambda task: ConstantSweep(0.2, columns=task.action_size), {}),
    },
    "Sweep": {
        "baseline": (lambda task: ContactKeeper(), {}),
        "still": (lambda task: ContactKeeper(gain=0.0), {}),
    },
    "Regulate": {"baseline": (lambda task: SteadySpeed(), {}), "paper": (lambda task: ConstantSweep(0.2, 0.98), {})},
}
"""Controllers by task and name, each with the arguments of the environment that it needs."""

SEARCHES: dict[str, tuple[Callable[..., Controller], dict[str, tuple[float, float]]]] = {
    "Texture": (
        lambda task, **chosen: TextureClassifier(**chosen),
        {"start": (0.0, 0.1), "stop": (0.05, 0.3)},
    ),
    "Sweep": (
        lambda task, **chosen: ContactKeeper(**chosen),
        {"gain": (0.0, 2e4), "force": (0.7e-6, 0.9e-6), "share": (0.05, 1.0)},
    ),
    "Regulate": (
        lambda task, **chosen: SteadySpeed(**chosen),
        {"factor": (0.5, 2.0), "distance": (0.978, 0.992)},
    ),
}
"""Families of controllers with constant parameters, and the parameters' bounds, by task."""


if __name__ == "__main__":
    print("# Mean band levels (log10 (nN m)^2) of TextureClassifier's sweep by texture, and their spread within one.")
    print("# Written by python -m gymnosoma.agents.whisker_rod")
    for _name, _values in train_classifier().items():
        print(f'\n[{_name}]\nvalue = {np.round(_values, 4).tolist()}\nunit = "1"')
