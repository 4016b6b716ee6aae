"""Reference controllers of the whisker: constant sweeps, textures told by their vibration, keeping contact or a level.

All play tasks: actions say where the plate shall be, and not, as the whisker's drive does, how fast it goes there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.control import Controller, Schedule, TaskController
from gymnosoma.envs.core.table import read_table
from gymnosoma.envs.whisker_rod.tasks import (
    CENTRE,
    DISTANCE_STEP,
    DISTANCES,
    LAG,
    LENGTHS,
    SPEEDS,
    Regulate,
    Sweep,
    Texture,
)

from . import Reference, References

__all__ = [
    "REFERENCES",
    "ConstantSweep",
    "ContactKeeper",
    "LevelKeeper",
    "SteadySpeed",
    "Steering",
    "SwingTracker",
    "TextureEstimator",
]

LEVELS = ((0.02, 0.47, 0.76, 1.02, 1.94, 2.32), (0.05, 0.075, 0.1, 0.13, 0.16, 0.2))
"""Level of the second mode, log10 (nN m)^2, that a steady speed in m/s gives at L = 22 um, 0.985 lengths."""

FORCE, SLOPE = 0.805e-6, 1.64e-5
"""Mean force towards the base at 0.985 lengths, N, and by how much it falls with the distance, N per length; measured
at 0.979 to 0.991 lengths and 0.1 m/s."""

SETTLING = 0.05
"""Time (s) in which the vibration grows from rest, and says nothing of the speed yet."""


class ConstantSweep:
    """The plate runs at a constant speed and distance; no texture is told.

    Args:
        speed (m/s)
        distance: In lengths of the whisker.
    """

    reads = ()

    def __init__(self, speed: float, distance: float = CENTRE) -> None:
        self._values = np.array([speed, distance])

    def choose(
        self, t: NDArray[np.float64], fields: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Speed in m/s and distance in lengths (B, 2)."""
        return np.tile(self._values, (len(t), 1))


class TextureEstimator:
    """Sweeps slowly, and tells the texture from its vibration by a ridge regression.

    Args:
        start, stop (s): Between which the levels of the vibration are collected; then it commits itself.
        speed, distance: Of the sweep, m/s and lengths.
    """

    reads = ("band_level",)

    def __init__(self, start: float = 0.04, stop: float = 0.22, speed: float = 0.04, distance: float = CENTRE) -> None:
        self._start, self._stop, self._sweep = start, stop, (speed, distance)
        table = read_table("whisker_rod/textures.toml")
        self._weights, self._offset = table["weights"], table["offset"]
        self._count = np.zeros(0)
        self._sum = self._square = np.zeros((0, 0))

    @property
    def features(self) -> NDArray[np.float64]:
        """What the answer is linear in, (B, 16): means of the band levels so far, then their standard deviations."""
        count = np.maximum(self._count, 1.0)[:, None]
        mean = self._sum / count
        return np.concatenate([mean, np.sqrt(np.maximum(self._square / count - mean**2, 0.0))], 1)

    def choose(
        self, t: NDArray[np.float64], fields: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Speed, distance, answer in m, commit (B, 4) at times ``t`` (B,) s."""
        levels = fields["band_level"]
        if len(self._count) != len(t):
            self._count, self._sum, self._square = np.zeros(len(t)), np.zeros_like(levels), np.zeros_like(levels)
        for sums in (self._count, self._sum, self._square):
            sums[first] = 0.0
        ready = t > self._start
        self._count += ready
        self._sum += levels * ready[:, None]
        self._square += levels**2 * ready[:, None]
        answer = np.exp(self._offset + np.sum(self.features * self._weights, 1))
        values = np.empty((len(t), 4))
        values[:, :2] = self._sweep
        values[:, 2] = np.clip(answer, *LENGTHS)
        values[:, 3] = np.where(t > self._stop, 1.0, -1.0)
        return values


class Guess:
    """Commits itself at once to the middle of the textures.

    What is told without feeling anything.
    """

    reads = ()

    def choose(
        self, t: NDArray[np.float64], fields: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Speed, distance, answer in m, commit (B, 4)."""
        return np.tile([0.04, CENTRE, np.sqrt(LENGTHS[0] * LENGTHS[1]), 1.0], (len(t), 1))


class ContactKeeper:
    """Moves the plate in proportion to the error of the force on the base, low-passed.

    Args:
        gain (lengths/N): Change of the distance in a period per error of the force.
        force: To be kept; 0.8 uN is that at 0.985 lengths.
        share: Of the newest force in the mean.
    """

    reads = ("base_wrench_mean",)

    def __init__(self, gain: float = 2e4, force: float = 0.8e-6, share: float = 0.6) -> None:
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


class SwingTracker:
    """Takes the plate's swing for a sine, follows it by what the force tells of the distance, and goes against it.

    An observer of two states, the swing and its rate, with constant gains; the lag of the plate is inverted.

    Args:
        gain, rate_gain: Shares of the difference between felt and expected swing that correct the swing and its rate
            (in units of the swing).
        frequency: Of the sine: the middle of those that are drawn.
    """

    reads = ("base_wrench_mean", "own_way")

    def __init__(self, task: Sweep, gain: float = 0.25, rate_gain: float = 0.1, frequency: float = 7.5) -> None:
        self.gain, self.rate_gain = gain, rate_gain
        turn = 2.0 * np.pi * frequency / task.control_rate
        self._turn, self._lag = (np.cos(turn), np.sin(turn)), 2.0 * np.pi * frequency * LAG
        self._swing = self._rate = self._asked = np.zeros(0)

    def choose(
        self, t: NDArray[np.float64], fields: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Change of the distance (B, 1) that the plate is to have, in lengths."""
        if len(self._swing) != len(t):
            self._swing = self._rate = self._asked = np.zeros(len(t))
        swing, rate, asked = (np.where(first, 0.0, old) for old in (self._swing, self._rate, self._asked))
        felt = (FORCE + fields["base_wrench_mean"][:, 2]) / SLOPE - fields["own_way"][:, 0]
        off = felt - swing
        c, s = self._turn
        swing, rate = swing + self.gain * off, rate + self.rate_gain * off
        self._swing, self._rate = c * swing + s * rate, c * rate - s * swing  # a period later
        change = np.clip(-(self._swing + self._lag * self._rate) - asked, -DISTANCE_STEP, DISTANCE_STEP)
        self._asked = asked + change
        return change[:, None]


class SteadySpeed:
    """The constant speed that gives the ``goal`` on a middling texture.

    Args:
        factor: On that speed.
        distance: In lengths of the whisker.
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


class LevelKeeper:
    """Corrects the steady speed by what the level about 200 Hz lacks, in proportion to its time integral.

    Args:
        gain: Change of the speed's logarithm in a period per log10 (nN m)^2 of the mean error.
        share: Of the newest level in the mean.
        distance: In lengths of the whisker.
    """

    reads = ("band_level", "goal")

    def __init__(self, gain: float = 0.03, share: float = 0.2, distance: float = CENTRE) -> None:
        self.gain, self.share, self._steady = gain, share, SteadySpeed(distance=distance)
        self._error, self._change = np.zeros(0), np.zeros(0)

    def choose(
        self, t: NDArray[np.float64], fields: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Speed in m/s and distance in lengths (B, 2)."""
        if len(self._error) != len(t):
            self._error, self._change = np.zeros(len(t)), np.zeros(len(t))
        missing = fields["goal"][:, 0] - fields["band_level"][:, Regulate.band]
        settled = t > SETTLING
        share = np.where(settled, self.share, 0.0)
        self._error = np.where(first, 0.0, self._error + share * (missing - self._error))
        self._change = np.where(first, 0.0, np.clip(self._change + self.gain * self._error, -1.5, 1.5))
        values = self._steady.choose(t, fields, first)
        values[:, 0] = np.clip(values[:, 0] * np.exp(self._change), *SPEEDS)
        return values


GRADES = tuple(float(length) for length in np.geomspace(*LENGTHS, 9))
"""Memory lengths among which a person chooses, m."""


class Steering:
    """The plate in the hands of a person, ten times slower than life; see `commands.play`."""

    reads = ()
    control_rate = 500.0
    pace = 0.2
    """Time in which a key takes speed or distance through its range, s."""

    def __init__(self, task: Any) -> None:
        self._sweep, self._texture = isinstance(task, Sweep), isinstance(task, Texture)
        self.speed, self.distance, self.change = task.start_speed, CENTRE, 0.0
        self._answer: float | None = None
        self.parameters: dict[str, float] = {}
        keys = [("up, down", "plate away, nearer")]
        if not self._sweep:
            keys.append(("right, left", "plate faster, slower"))
        keys.append(("1 .. 9", "hold: L = 5 .. 50 um") if self._texture else ("L", "another texture"))
        self.keys = tuple(keys)

    def hold(self, held: Set[str], dt: float) -> None:
        """Keys in ``held`` are down for ``dt`` s."""
        share = dt / self.pace
        self.change = ((DISTANCES[1] - DISTANCES[0]) * share) * (("up" in held) - ("down" in held))
        self.distance = float(np.clip(self.distance + self.change, *DISTANCES))
        faster = (("right" in held) - ("left" in held)) * share
        self.speed = float(np.clip(self.speed + (SPEEDS[1] - SPEEDS[0]) * faster, *SPEEDS))
        self._answer = next((length for k, length in enumerate(GRADES) if str(k + 1) in held), None)

    def press(self, key: str) -> None:
        """Lay another texture on the plate, unless it is to be named."""
        if key == "l" and not self._texture:
            now = self.parameters.get("memory_length", GRADES[-1])
            self.parameters = {"memory_length": GRADES[(GRADES.index(now) + 1) % len(GRADES)]}

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
        """Change of the distance (B, 1) in lengths; or speed in m/s and distance in lengths, then L in m and commit."""
        if self._sweep:
            return np.full((len(t), 1), self.change)
        motion = [self.speed, self.distance]
        answer = [LENGTHS[0], -1.0] if self._answer is None else [self._answer, 1.0]
        return np.tile([*motion, *answer] if self._texture else motion, (len(t), 1))


def _estimator(task: Any, **chosen: float) -> TaskController:
    return TextureEstimator(**chosen)


def _tracker(task: Any, **chosen: float) -> TaskController:
    return SwingTracker(task, **chosen)


def _level(task: Any, **chosen: float) -> TaskController:
    return LevelKeeper(**chosen)


REFERENCES: References = {
    Texture: {
        "baseline": Reference(_estimator, bounds={"stop": (0.15, 0.4)}),
        "guess": Reference(lambda task: Guess()),
    },
    Sweep: {
        "baseline": Reference(
            _tracker, bounds={"gain": (0.02, 0.6), "rate_gain": (0.0, 0.3), "frequency": (3.0, 12.0)}
        ),
        "keeper": Reference(lambda task: ContactKeeper()),
        "still": Reference(lambda task: ContactKeeper(gain=0.0)),
    },
    Regulate: {
        "baseline": Reference(_level, bounds={"gain": (0.0, 0.1), "share": (0.05, 1.0), "distance": (0.978, 0.992)}),
        "steady": Reference(lambda task: SteadySpeed()),
        "paper": Reference(lambda task: ConstantSweep(0.2, 0.98)),
    },
}

DRIVES: Mapping[str, Callable[..., Controller]] = {
    "sweep": lambda animal, speed=0.2: Schedule([0.0], [[speed, 0.0, 0.0]]),
}
"""Controllers that need no task: the plate moves as in the paper."""
