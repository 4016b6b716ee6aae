"""Reference controllers of the whisker chain: whisks, taps, a localiser, a PI hold, a follower."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gymnosoma.envs.core.arguments import choice
from gymnosoma.envs.core.model.control import Controller, Flags, Floats, Values
from gymnosoma.envs.whisker_chain.analysis import static_stiffness
from gymnosoma.envs.whisker_chain.params import table
from gymnosoma.envs.whisker_chain.tasks import ACCELERATION, RATE, Hold, Localize, Tap, Whisk, WhiskerTask

from . import Law, read_references
from .base import ByHand, ConstantValues, RowMemory, moved, pressed


@dataclass(eq=False)
class StatefulController(RowMemory, ABC):
    """Base class for controllers with memory that choose the acceleration of the base and a task's answers.

    Args:
        control_rate (Hz): Number of decisions per second.
    """

    control_rate: float = field(default=250.0, kw_only=True)

    def run(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return the decisions of all rows; rows that start an episode have the initial `memory`."""
        _, memory = self.recall(first)
        # Scalar signals have the shape (B,) from an animal and (B, 1) from an observation.
        columns = {name: np.reshape(signals[name], (len(t), -1)) for name in self.reads}
        return self._decide(t, {name: v[:, 0] if v.shape[1] == 1 else v for name, v in columns.items()}, memory)

    @abstractmethod
    def _decide(self, t: Floats, signals: Values, memory: dict[str, Floats]) -> Floats:
        """Return the angular acceleration of the base (B,), or with answers (B, nu), and update ``memory``."""

    def towards(self, signals: Values, rate: Floats | float, limit: float) -> Floats:
        """Return the acceleration (B,), up to ``limit`` rad/s^2, that brings the base to ``rate`` rad/s."""
        return np.clip((rate - signals["base_rate"]) * self.control_rate, -limit, limit)


class BaseController(StatefulController):
    """Base class for controllers that turn the base directly; `Muscular` adapts them to tasks."""

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return the drive (B, 3) at times ``t`` (B,) s: angular acceleration (rad/s^2) of a base that only turns."""
        drive = np.zeros((len(t), 3))
        drive[:, 0] = self.run(t, signals, first)
        return drive


class Muscular:
    """Adapter of a controller to a task: commands the muscle such that the base has the controller's acceleration."""

    def __init__(self, controller: StatefulController, task: WhiskerTask) -> None:
        choice("actions", task.actions, ("trajectory",))
        self.controller, self.task = controller, task
        self.reads = tuple(dict.fromkeys((*controller.reads, "base_rate", "muscle")))

    def choose(self, t: Floats, fields: Values, first: Flags) -> Floats:
        """Return the command (rad/s^2) at times ``t`` (B,) s and the answers, (B, action_size)."""
        values = self.controller.run(t, fields, first).reshape(len(t), -1)
        values[:, 0] = self.task.excitation(values[:, 0], fields["base_rate"][:, 0], *fields["muscle"].T)
        return values


@dataclass(eq=False)
class SineWhisk(BaseController):
    """The paper's free whisk: 8 Hz, 20 degrees peak to peak, from rest at the rear end.

    Args:
        amplitude (rad): Half of the peak-to-peak angle; by default the paper's.
        frequency (Hz): Frequency; by default the paper's.
        middle (rad): Mean angle.

    Examples:
        Without an environment, hold the drive for a control period, and start the base at the rear end:

        >>> from gymnosoma.agents.controllers.whisker_chain import SineWhisk
        >>> from gymnosoma.envs import simulate
        >>> from gymnosoma.envs.whisker_chain import Whisker
        >>> whisk = SineWhisk(control_rate=250.0)
        >>> run = simulate(Whisker(), whisk, 0.2, hold=1 / 250.0, start={"base_angle": -whisk.amplitude})
        >>> print(run["base_angle"].max().round(2))
        0.17
    """

    amplitude: float = field(default_factory=lambda: 0.5 * table()["whisk_amplitude"])
    frequency: float = field(default_factory=lambda: table()["whisk_frequency"])
    middle: float = 0.0
    reads = ("base_angle", "base_rate")

    @property
    def omega(self) -> float:
        """Angular frequency, rad/s."""
        return 2 * np.pi * self.frequency

    def acceleration(self, t: Floats, signals: Values) -> Floats:
        """Return the acceleration (B,) that follows the sine, with feedback."""
        period, phase = 1.0 / self.control_rate, self.omega * t
        now = self.omega * (t - 0.5 * period)
        ahead = self.amplitude * self.omega**2 * np.cos(phase)
        error = self.middle - self.amplitude * np.cos(now) - signals["base_angle"]
        rate_error = self.amplitude * self.omega * np.sin(now) - signals["base_rate"]
        return ahead + 60.0**2 * error + 120.0 * rate_error

    def _decide(self, t, signals, memory):
        return self.acceleration(t, signals)


@dataclass(eq=False)
class HalfSineTap(BaseController):
    """The paper's tap (Fig. 9): half a period of a sine forwards, then constant.

    Args:
        reach (rad): Angle of the movement; by default the paper's 20 degrees.
        frequency (Hz): Frequency of the sine; the paper's are 4, 8 and 16.
    """

    reach: float = field(default_factory=lambda: table()["whisk_amplitude"])
    frequency: float = field(default_factory=lambda: table()["whisk_frequency"])
    reads = ("base_angle", "base_rate")
    memory = {"start": np.nan}

    @property
    def omega(self) -> float:
        """Angular frequency, rad/s."""
        return 2 * np.pi * self.frequency

    def _decide(self, t, signals, memory):
        memory["start"] = np.where(np.isnan(memory["start"]), signals["base_angle"], memory["start"])
        # The phase follows from the way, so that a muscle that starts late has the right speed at each angle.
        way = np.clip((signals["base_angle"] - memory["start"]) / self.reach, 0.0, 1.0)
        phase = np.arccos(1.0 - 2.0 * way) + self.omega / self.control_rate
        return self.towards(signals, 0.5 * self.reach * self.omega * np.sin(np.minimum(phase, np.pi)), ACCELERATION)


@dataclass(eq=False)
class Localizer(StatefulController):
    """Localiser that sweeps until it touches the peg, decelerates, waits, solves the statics and commits the place.

    The distance s (lengths) solves M = s L (Fy cos d + Fx sin d), where d is the angle turned since the touch, computed
    from M and the stiffness of the whisker against a peg at s.

    Args:
        speed (rad/s): Angular velocity of the sweep.
        threshold (N): Fx below minus the threshold in two successive periods is a touch.
        stop (rad): Angle over which the base decelerates after the touch.
        wait (s): Time from touch to answer. The wrench of the last period is used in the first half of it, and the mean
            wrench in the second.
        length (m): Length of the whisker.
    """

    speed: float = Localize.speed
    threshold: float = Localize.fall
    stop: float = Localize.stop
    wait: float = Localize.wait
    length: float = 49e-3
    reads = ("base_wrench_mean", "base_angle", "base_rate")
    memory = {"passed": 0.0, "touch": np.inf, "bearing": 0.1, "place": 0.6, "moment": 0.0, "axial": 0.0}
    memory["transverse"] = 0.0

    def __post_init__(self) -> None:
        self._places = np.linspace(0.2, 0.95, 31)
        self._stiffness = np.array([static_stiffness(place) for place in self._places])

    def _decide(self, t, signals, memory):
        wrench = dict(zip(("moment", "axial", "transverse"), signals["base_wrench_mean"].T, strict=True))
        new = np.isinf(memory["touch"])
        memory["passed"] = np.where(wrench["axial"] < -self.threshold, memory["passed"] + 1.0, 0.0)
        touches = new & (memory["passed"] >= 2.0)
        memory["touch"] = np.where(touches, t, memory["touch"])
        memory["bearing"] = np.where(
            touches, signals["base_angle"] - 2.0 / self.control_rate * signals["base_rate"], memory["bearing"]
        )
        # Whole numbers, which do not depend on rounding errors of the time.
        since, wait = np.rint((t - memory["touch"]) * self.control_rate), round(self.wait * self.control_rate, 6)
        solving = (since > 0.0) & (since <= wait)
        samples = np.maximum(np.floor(np.minimum(since, wait)) - np.floor(0.5 * wait), 1.0)
        for name, value in wrench.items():
            memory[name] = np.where(solving, value + np.where(samples > 1.0, memory[name], 0.0), memory[name])
        valid = memory["transverse"] < 0.0
        force = np.where(valid, memory["transverse"], -1.0)
        place = np.clip(memory["moment"] / (force * self.length), 0.2, 1.0)
        pushed = -memory["moment"] / samples / np.interp(place, self._places, self._stiffness)
        force = force * np.cos(pushed) + np.where(valid, memory["axial"], 0.0) * np.sin(pushed)
        place = np.clip(memory["moment"] / (force * self.length), 0.2, 1.0)
        memory["place"] = np.where(valid, place, memory["place"])
        memory["bearing"] = np.where(valid & solving, signals["base_angle"] - pushed, memory["bearing"])
        brake = self.speed**2 / (2.0 * self.stop)
        press = np.where(
            np.isinf(memory["touch"]), self.towards(signals, self.speed, 1000.0), self.towards(signals, 0.0, brake)
        )
        back = self.towards(signals, np.where(signals["base_angle"] > -0.2, -2.0, 0.0), 500.0)
        # Start early enough for the commitment to end with the estimate.
        commit = np.where(since > wait - Localize.commitment * self.control_rate + 1.0, 1.0, -1.0)
        return np.stack([np.where(since > wait, back, press), memory["place"], memory["bearing"], commit], 1)


@dataclass(eq=False)
class Tapper(BaseController):
    """Animal's own controller in `Tap`, optionally with memory of the peg's bearing.

    It taps once in each window, and waits behind the peg for the next window.

    Args:
        speed (rad/s): Angular velocity of the approach.
        threshold (N): The base retracts if Fx is less than ``-threshold``.
        remembers (rad): Retract this far before the smallest base angle at which the peg was felt in two successive
            periods, to brake during the touch. None: no memory.
    """

    speed: float = Tap.approach
    threshold: float = Tap.threshold
    remembers: float | None = None
    reads = ("base_wrench_mean", "base_angle", "base_rate", "left")
    memory = {"touched": 0.0, "left": 0.0, "turns": 0.0, "known": 1.0, "last": np.inf}

    def _decide(self, t, signals, memory):
        new, angle = signals["left"] > memory["left"], signals["base_angle"]
        memory["left"] = signals["left"].copy()
        for name in ("touched", "turns"):
            memory[name] = np.where(new, 0.0, memory[name])
        felt = signals["base_wrench_mean"][:, 1] < -self.threshold
        if self.remembers is not None:
            ahead = (memory["turns"] == 0.0) & (memory["touched"] == 0.0)
            memory["known"] = np.where(felt, np.minimum(memory["known"], memory["last"]), memory["known"])
            memory["last"] = np.where(ahead & felt, angle, np.inf)
            memory["turns"] = np.where(ahead & (angle > memory["known"] - self.remembers), 1.0, memory["turns"])
        memory["touched"] = np.maximum(memory["touched"], felt)
        turned = (memory["touched"] > 0.0) | (memory["turns"] > 0.0)
        back = self.towards(signals, np.where(angle > -0.3, -4.0, 0.0), ACCELERATION)
        return np.where(turned, back, self.towards(signals, self.speed, 1000.0))


@dataclass(eq=False)
class Holder(BaseController):
    """Animal's own controller in `Hold`: the rate of the base is proportional to the error of M.

    Args:
        gain (rad/s per N m)
        integral (rad/s^2 per N m): Gain of the time integral of the error.
    """

    gain: float = Hold.gain
    integral: float = 0.0
    reads = ("base_wrench_mean", "base_rate", "goal")
    memory = {"past": 0.0}

    def _decide(self, t, signals, memory):
        error = signals["base_wrench_mean"][:, 0] - signals["goal"]
        memory["past"] = np.clip(memory["past"] + self.integral * error / self.control_rate, -3.0, 3.0)
        rate = np.clip(self.gain * error + memory["past"], -5.0, 5.0)
        return self.towards(signals, rate, Hold.limit)


@dataclass(eq=False)
class Follower(BaseController):
    """Controller that follows a moving goal, which is observed with noise.

    Args:
        gain (1/s): Rate of the base per distance from the goal.
        fading: Weight of an observation relative to the next one in a fading-memory filter, which fits a parabola to
            the observations of the goal. 0: follow the last observation.
    """

    gain: float = 60.0
    fading: float = 0.0
    reads = ("base_angle", "base_rate", "goal")
    memory = {"angle": 0.0, "rate": 0.0, "bend": 0.0}

    def _decide(self, t, signals, memory):
        period, old = 1.0 / self.control_rate, 1.0 - self.fading
        angle = memory["angle"] + period * memory["rate"] + 0.5 * period**2 * memory["bend"]
        rate, off = memory["rate"] + period * memory["bend"], signals["goal"] - angle
        memory["angle"] = angle + (1.0 - self.fading**3) * off
        target = np.zeros_like(off)
        if self.fading > 0.0:
            target = memory["rate"] = rate + 1.5 * old**2 * (1.0 + self.fading) * off / period
            memory["bend"] = memory["bend"] + old**3 * off / period**2
        reached = signals["base_angle"] + 0.5 * (signals["base_rate"] + target) / self.control_rate
        return self.towards(signals, target + self.gain * (memory["angle"] - reached), ACCELERATION)


class Steering(ByHand):
    """Keyboard control of the base, five times slower than real time.

    W and S change the place of the peg, and A and D change the bearing, if the task asks for them. Hold E to commit the
    answer.
    """

    reads = ("base_rate", "muscle")
    control_rate = 250.0
    limit = 1000.0
    """Angular acceleration of the base, rad/s^2."""
    span = 0.4
    """Time (s) in which a key moves an answer through its range."""

    def __init__(self, task: Any) -> None:
        super().__init__()
        self.speed, self.turn, self._task = 2.0, 0, task
        self._ranges = {name: (field.low, field.high) for name, field in task.answers.items()}
        self._committing = self._ranges.pop("commit", None) is not None
        self._pairs = dict(zip(self._ranges, (("w", "s"), ("a", "d")), strict=False))
        self.answers = {name: 0.5 * (low + high) for name, (low, high) in self._ranges.items()}
        if self._committing:
            self.answers["commit"] = -1.0
        self.keys = (
            ("up, down", "turn the base"),
            ("right, left", "turn faster, slower"),
            *((f"{more}, {less}".upper(), f"{name}: more, less") for name, (more, less) in self._pairs.items()),
            *((("E", "commit"),) if self._committing else ()),
        )

    def hold(self, keys: Set[str], dt: float) -> None:
        self.turn = pressed(keys, "up", "down")
        self.speed = moved(self.speed * np.exp(5.0 * dt * pressed(keys, "right", "left")), 0.0, 0.2, RATE)
        for name, (more, less) in self._pairs.items():
            low, high = self._ranges[name]
            step = (high - low) * dt / self.span * pressed(keys, more, less)
            self.answers[name] = moved(self.answers[name], step, low, high)
        if self._committing:
            self.answers["commit"] = 1.0 if "e" in keys else -1.0

    def state(self) -> str:
        answers = "".join(f", {name} {value:+.2f}" for name, value in self.answers.items())
        return f"{np.rad2deg(self.turn * self.speed):+.0f} of {np.rad2deg(self.speed):.0f} deg/s{answers}"

    def choose(self, t: Floats, fields: Values, first: Flags) -> Floats:
        """Return the command to the muscle (rad/s^2) and the answers, (B, action_size)."""
        rate = fields["base_rate"][:, 0]
        turn = np.clip((self.turn * self.speed - rate) * self.control_rate, -self.limit, self.limit)
        values = np.tile([0.0, *self.answers.values()], (len(t), 1))
        values[:, 0] = self._task.excitation(turn, rate, *fields["muscle"].T)
        return values


def _through_muscle(kind: Callable[..., StatefulController]) -> Callable[..., Muscular]:
    """Return a factory of controllers of a ``kind``, with the control rate of their task and acting on its muscle."""
    return lambda task, **values: Muscular(kind(control_rate=task.control_rate, **values), task)


LAWS: dict[str, Law] = {
    "localizer": _through_muscle(Localizer),
    "tapper": _through_muscle(Tapper),
    "half_sine": _through_muscle(HalfSineTap),
    "holder": _through_muscle(Holder),
    "whisk": _through_muscle(SineWhisk),
    "follower": _through_muscle(Follower),
    "constant": ConstantValues,
}

REFERENCES = read_references("whisker_chain", (Localize, Tap, Hold, Whisk), LAWS)

DRIVES: Mapping[str, Callable[..., Controller]] = {
    "whisk": lambda animal, **parameters: SineWhisk(**parameters),
    "tap": lambda animal, **parameters: HalfSineTap(**parameters),
}
"""Controllers for simulations without a task."""
