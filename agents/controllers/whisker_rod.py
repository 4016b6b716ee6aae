"""Reference controllers of the whisker rod: constant sweeps, keeping contact or a level, integrating evidence.

They require a task: actions set the place of the plate, while the drive of the whisker is the velocity of the plate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymnosoma.envs.core.model.control import Controller, Flags, Floats, Schedule, Values
from gymnosoma.envs.whisker_rod import tasks
from gymnosoma.envs.whisker_rod.tasks import (
    CENTRE,
    DISTANCES,
    FORCE,
    LEVELS,
    SETTLING,
    SLOPE,
    SPEEDS,
    Regulate,
    Sweep,
    Texture,
)

from . import Law, read_references
from .base import ByHand, ConstantValues, RowMemory, moved, pressed


@dataclass(eq=False)
class SwingTracker(RowMemory):
    """Controller that estimates the swing of the plate from the force with an observer, and compensates for it.

    The model of the swing is a sine with two states, the swing and its rate (in units of the swing). The estimate is
    advanced by the lag of the plate. With ``frequency`` and ``rate_gain`` 0 it is the animal's own reflex, which
    opposes the distance inferred from the force.

    Args:
        gain, rate_gain: Corrections of swing and rate per difference between inferred and expected swing.
        frequency (Hz): Frequency of the sine; by default the middle of the task's range.
    """

    task: Sweep
    gain: float = 0.1
    rate_gain: float = 0.1
    frequency: float = 7.5
    reads = ("base_wrench_mean", "own_way")
    memory = {"swing": 0.0, "rate": 0.0, "asked": 0.0}

    def choose(self, t: Floats, fields: Values, first: Flags) -> Floats:
        """Return the change of the distance (B, 1) in lengths."""
        _, memory = self.recall(first)
        turn, lag = 2.0 * np.pi * self.frequency / self.task.control_rate, 2.0 * np.pi * self.frequency * tasks.LAG
        distance = (FORCE + fields["base_wrench_mean"][:, 2]) / SLOPE - fields["own_way"][:, 0]
        error = distance - memory["swing"]
        c, s = np.cos(turn), np.sin(turn)
        swing, rate = memory["swing"] + self.gain * error, memory["rate"] + self.rate_gain * error
        memory["swing"], memory["rate"] = c * swing + s * rate, c * rate - s * swing  # a period later
        largest = self.task.largest_change
        change = np.clip(-(memory["swing"] + lag * memory["rate"]) - memory["asked"], -largest, largest)
        memory["asked"] = memory["asked"] + change
        return change[:, None]


@dataclass(eq=False)
class LevelKeeper(RowMemory):
    """Constant speed that leads to the ``goal`` at L = 25 um, with integral feedback from the level around 200 Hz.

    The default gain has the highest mean score among four gains in 32 episodes from seed 700000.

    Args:
        gain: Change of the logarithm of the speed in a period per mean error, log10 (nN m)^2.
        distance (lengths)
    """

    gain: float = Regulate.gain
    distance: float = CENTRE
    reads = ("felt_level", "goal")
    memory = {"change": 0.0}

    def choose(self, t: Floats, fields: Values, first: Flags) -> Floats:
        """Return speed (m/s) and distance (lengths), (B, 2)."""
        first, memory = self.recall(first)
        gain = np.where(t > SETTLING, self.gain, 0.0)
        change = np.clip(memory["change"] + gain * (fields["goal"] - fields["felt_level"])[:, 0], -1.5, 1.5)
        memory["change"] = np.where(first, 0.0, change)
        speed = np.clip(np.interp(fields["goal"][:, 0], *LEVELS) * np.exp(memory["change"]), *SPEEDS)
        return np.stack([speed, np.full(len(t), self.distance)], 1)


@dataclass(eq=False)
class Integrator:
    """Constant speed; the evidence of a period is a weighted sum of what it felt.

    Args:
        speed (m/s)
        moment, force: Weights of the vibration of the moment and of the transverse force.
        load (1/uN): Weight of the mean axial force on the piece.
    """

    speed: float = Texture.slow
    moment: float = 1.0
    force: float = 0.0
    load: float = 0.0
    reads = ("vibration", "load_mean")

    def choose(self, t: Floats, fields: Values, first: Flags) -> Floats:
        """Return speed (m/s) and evidence for a rough plate, (B, 2)."""
        vibration, load = fields["vibration"], 1e6 * fields["load_mean"][:, 1]
        evidence = self.moment * vibration[:, 0] + self.force * vibration[:, 1] + self.load * load
        whole = Texture.whole_evidence
        return np.stack([np.full(len(t), self.speed), np.clip(evidence, -whole, whole)], 1)


GRADES = tuple(float(length) for length in np.geomspace(5e-6, 50e-6, 9))
"""Memory lengths (m) of the textures of the keyboard control."""


class Steering(ByHand):
    """Keyboard control of the plate, ten times slower than real time."""

    control_rate = 500.0
    pace = 0.2
    """Time (s) in which a key moves speed or distance through its range."""

    def __init__(self, task: Any) -> None:
        super().__init__()
        self._sweep, self._texture = isinstance(task, Sweep), isinstance(task, Texture)
        self.speed, self.distance, self.change, self.evidence = task.start_speed, CENTRE, 0.0, 0.0
        keys = [("up, down", "evidence for rough, smooth" if self._texture else "plate away, nearer")]
        if not self._sweep:
            keys.append(("right, left", "plate faster, slower"))
        if not self._texture:
            keys.append(("L", "another texture"))
        self.keys = tuple(keys)

    def hold(self, keys: Set[str], dt: float) -> None:
        share = dt / self.pace
        self.change = ((DISTANCES[1] - DISTANCES[0]) * share) * pressed(keys, "up", "down")
        self.evidence = Texture.largest_evidence * pressed(keys, "up", "down")
        self.distance = moved(self.distance, self.change, *DISTANCES)
        faster = pressed(keys, "right", "left") * share
        self.speed = moved(self.speed, (SPEEDS[1] - SPEEDS[0]) * faster, *SPEEDS)

    def press(self, key: str) -> None:
        """Change the texture of the plate, unless the task is to recognise it."""
        if key == "l" and not self._texture:
            now = self.parameters.get("memory_length", GRADES[-1])
            self.parameters = {"memory_length": GRADES[(GRADES.index(now) + 1) % len(GRADES)]}

    def state(self) -> str:
        length = self.parameters.get("memory_length")
        texture = "" if length is None else f", L = {1e6 * length:g} um"
        if self._sweep:
            return f"distance {self.control_rate * self.change:+.3f} lengths/s{texture}"
        if self._texture:
            return f"{self.speed:.2f} m/s"
        return f"{self.speed:.2f} m/s, {self.distance:.4f} lengths{texture}"

    def choose(self, t: Floats, fields: Values, first: Flags) -> Floats:
        """Return the change of the distance (B, 1) in lengths; or speed (m/s), and distance (lengths) or evidence."""
        if self._sweep:
            return np.full((len(t), 1), self.change)
        return np.tile([self.speed, self.evidence if self._texture else self.distance], (len(t), 1))


LAWS: dict[str, Law] = {
    "swing": SwingTracker,
    "level": lambda task, **values: LevelKeeper(**values),
    "constant": ConstantValues,
    "integrator": lambda task, **values: Integrator(**values),
}

REFERENCES = read_references("whisker_rod", (Sweep, Regulate, Texture), LAWS)

DRIVES: Mapping[str, Callable[..., Controller]] = {
    "sweep": lambda animal, speed=0.2: Schedule([0.0], [[speed, 0.0, 0.0]])
}
"""Controllers for simulations without a task: the plate moves as in the paper."""
