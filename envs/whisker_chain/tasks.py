"""Tasks of the vibrissa: localise, detect, tap, hold a contact, whisk to a set point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import number
from ..core.noise import normal, uniform
from ..core.spec import ActionField, Field, Option
from ..core.task import EpisodeStart, Task, tolerance
from .animal import FAR, Whisker, wrench_mean
from .params import WhiskerParams

ACCELERATION, RATE, REACH = 3000.0, 20.0, 0.7
"""Largest angular acceleration (rad/s^2) and rate (rad/s) of the base, and its largest angle (rad) either way."""

SENSOR = (0.01e-6, 0.2e-6, 0.2e-6)
"""Standard deviation of the sensor noise: M (N m), Fx, Fy (N)."""

MICRO = 1e-6

SMOOTHING = 0.02
"""Time (s) over which amplitude and set point of a commanded whisk are smoothed."""

FOLLOWING = 75.0
"""Natural frequency (1/s) with which the base follows a commanded whisk."""


class WhiskerTask(Task):
    """Actions and observations that all tasks of the vibrissa share; subclasses add scene, answers, reward.

    ## Starting State

    Straight and at rest at a base angle of {start_angle:g} rad.

    ## Version History

    * v0: first version
    """

    animal: Whisker
    action_modes = ("trajectory", "whisk")
    control_rate = 250.0
    duration: float
    """Length of an episode, s."""
    start_angle = -0.35
    """Base angle at the start, rad."""
    answers: Mapping[str, ActionField] = {}
    """Entries of the action after the motion: what the vibrissa answers, one number each."""
    arguments: Mapping[str, str] = {
        **Task.arguments,
        "scheme": "``complementarity``, or the paper's ``events``",
        "dt": "time step, s",
        "noise": "factor on the sensor noise",
        "friction": "Coulomb's coefficient against pegs; above 0 it is an option of the reset, too",
    }

    def __init__(
        self,
        actions: str | None = None,
        scheme: str = "complementarity",
        dt: float = 1e-4,
        control_rate: float | None = None,
        noise: float = 1.0,
        friction: float = 0.0,
    ) -> None:
        super().__init__(actions, control_rate)
        self.noise = number("noise", noise, least=0)
        self.animal = Whisker(WhiskerParams(friction=friction), dt, scheme)
        ranges = np.array([(field.low, field.high) for field in self.action_fields().values()])
        self._middle, self._half = ranges.mean(1), 0.5 * np.diff(ranges)[:, 0]

    def fields(self) -> dict[str, Field]:
        """Mean wrench, motion of the base, time, previous action."""
        noise = ", ".join(f"{1e6 * deviation:g}" for deviation in SENSOR)
        wrench = f"M, Fx, Fy on the follicle, means over the period, with noise of {noise} uN m, uN, uN times ``noise``"
        fields = {
            "base_wrench_mean": Field(3, "N m, N, N", (1e-6, 1e-5, 5e-5), wrench),
            "base_angle": Field(1, "rad", 0.5, "angle of the base"),
            "base_rate": Field(1, "rad/s", 10.0, "rate of the base"),
            "time": Field(1, "s", 1.0, "time since the start"),
            "action": Field(self.action_size, "1", 1.0, "previous action"),
        }
        if self.actions == "whisk":
            fields["phase"] = Field(2, "1", 1.0, "sine and cosine of the whisk's phase")
        return fields

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        """Motion of the base, then the task's answers."""
        kept = f"rate and angle of the base are kept within {RATE:g} rad/s and {REACH:g} rad and continuous"
        motion = {
            "trajectory": {
                "acceleration": ActionField(
                    1, -ACCELERATION, ACCELERATION, "rad/s^2", f"angular acceleration of the base; {kept}"
                )
            },
            "whisk": {
                "amplitude": ActionField(1, 0.0, 0.35, "rad", f"of a sine that the base follows; {kept}"),
                "set_point": ActionField(1, -0.35, 0.35, "rad", "middle of the sine"),
                "frequency": ActionField(1, 2.0, 20.0, "Hz", "of the sine"),
            },
        }
        return {**motion[mode or self.actions], **self.answers}

    def memory_fields(self) -> list[tuple[Any, ...]]:
        """Previous action, phase, smoothed amplitude and set point of the whisk (rad), seed of the noise."""
        return [("action", "f8", (self.action_size,)), ("phase", "f8"), ("whisk", "f8", (2,)), ("noise", "u8")]

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        """Straight and at rest at the angle ``start_angle``."""
        episodes.memory["noise"] = episodes.draw(lambda rng: rng.integers(0, 2**63))
        episodes.memory["whisk"][:, 1] = self.start_angle
        return {"base_angle": self.start_angle}

    def length(self, episodes: EpisodeStart) -> NDArray[np.float64] | float:
        """Length (m) that the vibrissae are going to have."""
        return episodes.options.get("length", self.animal.params.length)

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Angular acceleration of the base, so that its rate stays continuous and its angle within reach."""
        memory["action"] = actions
        wanted = self._middle + self._half * actions
        theta, omega, period = rows["link_angle"][:, 0], rows["base_rate"], 1.0 / self.control_rate
        plain = self.actions == "trajectory"
        acceleration = wanted[:, 0] if plain else self._follow_whisk(wanted, theta, omega, memory)
        # The fastest rates at the period's end from which the base can still stop within its reach.
        half, coast = 0.5 * ACCELERATION * period, 0.5 * period * omega
        high = np.sqrt(np.maximum(half**2 + 2 * ACCELERATION * (REACH - theta - coast), 0.0)) - half
        low = half - np.sqrt(np.maximum(half**2 + 2 * ACCELERATION * (REACH + theta + coast), 0.0))
        high, low = np.minimum(high, RATE), np.maximum(low, -RATE)
        target = np.minimum(np.maximum(omega + np.clip(acceleration, -ACCELERATION, ACCELERATION) * period, low), high)
        drive = np.zeros((len(rows), self.animal.drive_size))
        drive[:, 0] = np.clip((target - omega) * self.control_rate, -ACCELERATION, ACCELERATION)
        return drive

    def _follow_whisk(
        self, wanted: NDArray[np.float64], theta: NDArray[np.float64], omega: NDArray[np.float64], memory: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Acceleration that follows the whisk set point - amplitude cos(phase), both smoothed."""
        period = 1.0 / self.control_rate
        turn = 2 * np.pi * wanted[:, 2]
        memory["phase"] = (memory["phase"] + turn * period) % (2 * np.pi)
        memory["whisk"] += (wanted[:, :2] - memory["whisk"]) * (period / (period + SMOOTHING))
        amplitude, middle = memory["whisk"][:, 0], memory["whisk"][:, 1]
        s, c = np.sin(memory["phase"]), np.cos(memory["phase"])
        ahead = amplitude * turn**2 * c
        off = middle - amplitude * c - theta
        return ahead + 2 * FOLLOWING * (amplitude * turn * s - omega) + FOLLOWING**2 * off

    def answer(self, memory: NDArray[Any], name: str) -> NDArray[np.float64]:
        """What was answered last as ``name``, (B,) in SI."""
        j = self.action_size - len(self.answers) + list(self.answers).index(name)
        return self._middle[j] + self._half[j] * memory["action"][:, j]

    def action_from_values(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action of this acceleration (rad/s^2), or of this whisk, and these answers."""
        return np.clip((np.asarray(values) - self._middle) / self._half, -1.0, 1.0).astype(np.float32)

    def action_from_drive(self, drive: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action that commands the angular acceleration of ``drive`` (B, 3); answers are in the middle of their range.

        The base turns in place, so that its acceleration along x and y is left out.
        """
        if self.actions != "trajectory":
            return super().action_from_drive(drive)
        values = np.tile(self._middle, (len(drive), 1))
        values[:, 0] = np.asarray(drive)[:, 0]
        return self.action_from_values(values)

    def sense(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Noisy mean wrench of the period, motion of the base, time, previous action."""
        noise = self.noise * np.array(SENSOR) * normal(memory["noise"], rows["step"], 3)
        return {
            "base_wrench_mean": wrench_mean(rows) + noise,
            "base_angle": rows["link_angle"][:, 0],
            "base_rate": rows["base_rate"],
            "time": rows["time"],
            "action": memory["action"],
            "phase": np.stack([np.sin(memory["phase"]), np.cos(memory["phase"])], 1),
        }

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time (s), base angle (rad), mean wrench (N m, N) and push of the peg (N s) in the period."""
        return {
            "time": rows["time"].copy(),
            "base_angle": rows["link_angle"][:, 0].copy(),
            "base_wrench": wrench_mean(rows),
            "push": rows["contact_sum"][:, 0].copy(),
        }


class PegTask(WhiskerTask):
    """A point peg somewhere ahead, given by its place on the straight whisker and the base angle that touches it."""

    place_range = (0.3, 0.9)
    """Range of the peg's distance from the base, in lengths of the whisker."""
    bearing_range = (-0.15, 0.35)
    """Range of the base angle at which the straight whisker would touch, rad."""
    absent_share = 0.0
    """Share of episodes without a peg."""
    push_cost = 0.01
    """Price of a push of 1 uN s."""
    options: Mapping[str, Option] = {
        "peg_place": Option(0.15, 1.2, "lengths", "distance of the peg from the base"),
        "peg_bearing": Option(-0.3, 0.6, "rad", "base angle at which the straight whisker would touch the peg"),
        "peg_present": Option(0.0, 1.0, "1", "whether there is a peg: above 0.5"),
    }

    def memory_fields(self):
        return [
            *super().memory_fields(),
            ("place", "f8"),
            ("bearing", "f8"),
            ("present", "f8"),
            ("touched", "f8"),
            ("pushed", "f8"),
        ]

    def start(self, episodes):
        values = super().start(episodes)
        drawn = episodes.draw(
            lambda rng: (rng.uniform(*self.place_range), rng.uniform(*self.bearing_range), rng.uniform())
        )
        memory, options = episodes.memory, episodes.options
        memory["place"] = options.get("peg_place", drawn[:, 0])
        memory["bearing"] = options.get("peg_bearing", drawn[:, 1])
        memory["present"] = options.get("peg_present", drawn[:, 2] >= self.absent_share)
        memory["touched"] = np.inf
        distance = np.where(memory["present"] > 0.5, memory["place"] * self.length(episodes), FAR)
        peg = distance[:, None] * np.stack([np.cos(memory["bearing"]), np.sin(memory["bearing"])], 1)
        return values | {"peg": peg[:, None]}

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Price of the push; keeps the time of the first touch and the sum of pushes."""
        push = rows["contact_sum"][:, 0]
        memory["pushed"] += push
        memory["touched"] = np.where((push > 0.0) & np.isinf(memory["touched"]), rows["time"], memory["touched"])
        return -self.push_cost * push / MICRO

    def info(self, rows, memory):
        return super().info(rows, memory) | {
            "peg_place": memory["place"].copy(),
            "peg_bearing": memory["bearing"].copy(),
            "touched": np.isfinite(memory["touched"]).astype(float),
            "pushed": memory["pushed"].copy(),
        }


class Localize(PegTask):
    """Touch a peg and say where it is.

    ## Description

    The vibrissa of Quist et al. (2014). A point peg stands 0.3 to 0.9 lengths from the base, where the straight
    whisker would touch it at a base angle of -0.15 to 0.35 rad. The reference sweeps at 100 deg/s until Fx tells the
    touch, decelerates, waits for the vibrations to die and solves the statics: its median radial error is 0.001
    lengths, 90% are below 0.03, and it returns 0.33. With four times the haste it returns 0.59.

    ## Rewards

    At every step 1/150 if the estimated point is within 0.01 lengths of the peg, falling to 0.1/150 at 0.11
    lengths; less {push_cost:g} for every uN s of push. ``info["error"]`` is the distance between both in lengths,
    ``info["place_error"]`` that of the radial distances.
    """

    duration = 0.6
    answers: Mapping[str, ActionField] = {
        "place": ActionField(1, 0.2, 1.0, "lengths", "estimate of the peg's distance from the base"),
        "bearing": ActionField(1, -0.35, 0.55, "rad", "estimate of the peg's bearing"),
    }

    def _errors(self, memory: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        place, bearing = self.answer(memory, "place"), self.answer(memory, "bearing")
        off = place**2 + memory["place"] ** 2 - 2 * place * memory["place"] * np.cos(bearing - memory["bearing"])
        return np.sqrt(np.maximum(off, 0.0)), np.abs(place - memory["place"])

    def reward(self, rows, memory):
        steps = self.control_rate * self.duration
        return super().reward(rows, memory) + tolerance(self._errors(memory)[0], 0.0, 0.01, 0.1) / steps

    def info(self, rows, memory):
        error, place_error = self._errors(memory)
        return super().info(rows, memory) | {"error": error, "place_error": place_error}


class Detect(PegTask):
    """Tell, quickly and gently, whether a peg stands in the way.

    ## Description

    The vibrissa of Quist et al. (2014). In half of the episodes a point peg stands 0.5 to 0.9 lengths from the base,
    where the straight whisker would touch it at a base angle of -0.15 to 0.3 rad. The reference whisks at 8 Hz and
    takes Fx below a threshold for a touch: always right, 11 ms late, it returns 0.45. At a distal touch M is no
    larger than in free whisking: this is the paper's claim.

    ## Rewards

    A declaration after the first touch earns 1, less 0.5 for every 100 ms of delay, at least 0.1; one
    without a touch costs 1. Every uN s of push costs {push_cost:g}. ``info["hit"]``, ``info["false_alarm"]`` and
    ``info["delay"]`` (s, infinite without a hit) tell what has happened, ``info["correct"]`` is 1 for a hit or for
    silence without a touch.
    """

    duration = 0.4
    place_range = (0.5, 0.9)
    bearing_range = (-0.15, 0.3)
    absent_share = 0.5
    answers: Mapping[str, ActionField] = {
        "verdict": ActionField(1, -1.0, 1.0, "1", "the first value above 0 declares a touch, once and for all")
    }

    def fields(self):
        return super().fields() | {"declared": Field(1, "1", 1.0, "1 once a touch is declared")}

    def memory_fields(self):
        return [*super().memory_fields(), ("declared", "f8"), ("hit", "f8"), ("alarm", "f8")]

    def start(self, episodes):
        episodes.memory["declared"] = np.inf
        return super().start(episodes)

    def sense(self, rows, memory):
        return super().sense(rows, memory) | {"declared": np.isfinite(memory["declared"]).astype(float)}

    def reward(self, rows, memory):
        # The verdict was given before the period whose push is paid for now.
        declares = np.isinf(memory["declared"]) & (self.answer(memory, "verdict") > 0.0)
        began = rows["time"] - 1.0 / self.control_rate
        touched = memory["touched"] <= began + 0.5 * self.animal.dt
        memory["declared"] = np.where(declares, began, memory["declared"])
        memory["hit"] = np.where(declares & touched, 1.0, memory["hit"])
        memory["alarm"] = np.where(declares & ~touched, 1.0, memory["alarm"])
        delay = np.where(touched & declares, began, 0.0) - np.where(touched & declares, memory["touched"], 0.0)
        prize = np.where(touched, np.maximum(1.0 - 5.0 * delay, 0.1), -1.0)
        return super().reward(rows, memory) + np.where(declares, prize, 0.0)

    def info(self, rows, memory):
        hit, silent = memory["hit"] > 0.0, np.isinf(memory["declared"])
        delay = np.where(hit, memory["declared"], np.inf) - np.where(hit, memory["touched"], 0.0)
        quiet = silent & np.isinf(memory["touched"])
        return super().info(rows, memory) | {
            "hit": memory["hit"].copy(),
            "false_alarm": memory["alarm"].copy(),
            "correct": (hit | quiet).astype(float),
            "delay": delay,
        }


class Tap(PegTask):
    """Touch a peg in time, with the least push.

    ## Description

    The vibrissa of Quist et al. (2014). A point peg stands 0.4 to 0.9 lengths from the base, where the straight
    whisker would touch it at a base angle of -0.15 to 0.25 rad. The reference approaches at 115 deg/s and retracts as
    soon as Fx tells the touch; it returns 0.84.

    ## Rewards

    The changes of a grade that is 0 before the first touch and then 1/(1 + pushed/1 uN s); so the return is the
    grade at the end, and a late touch is worth as much as an early one. ``info["touched"]`` tells whether,
    ``info["pushed"]`` how much in N s.
    """

    duration = 0.4
    place_range = (0.4, 0.9)
    bearing_range = (-0.15, 0.25)

    def _grade(self, memory: NDArray[Any]) -> NDArray[np.float64]:
        return np.where(np.isfinite(memory["touched"]), 1.0 / (1.0 + memory["pushed"] / MICRO), 0.0)

    def reward(self, rows, memory):
        before = self._grade(memory)
        super().reward(rows, memory)
        return self._grade(memory) - before


class Hold(WhiskerTask):
    """Hold a contact moment against a peg that moves.

    ## Description

    The vibrissa of Quist et al. (2014). A point peg 0.35 to 0.6 lengths from the base, just ahead of the whisker,
    swings across it by up to 1 mm in three sines of 0.5 to 4 Hz. The rats are predicted to press in and to wait until
    the vibrations have died; here the pressure itself is to be kept, a moment of -1.5 to -0.5 uN m drawn for every
    episode. The reference, a PI controller of M, stays within 0.04 uN m on average and returns 469.

    ## Rewards

    1 within 0.02 uN m of the goal, falling to 0.1 at 0.32 uN m. ``info["error"]`` is the distance in N m, mean
    over the episode so far.

    ## Starting State

    Straight and at rest, 0.05 rad short of the peg.
    """

    duration = 2.0
    start_angle = -0.05
    options: Mapping[str, Option] = {
        "peg_place": Option(0.2, 0.9, "lengths", "distance of the peg from the base"),
        "goal": Option(-3e-6, 0.0, "N m", "moment to hold"),
    }

    def fields(self):
        return super().fields() | {"goal": Field(1, "N m", 1e-6, "moment to hold")}

    def memory_fields(self):
        return [
            *super().memory_fields(),
            ("goal", "f8"),
            ("swing", "f8", (3,)),
            ("frequency", "f8", (3,)),
            ("lag", "f8", (3,)),
            ("error", "f8"),
        ]

    def start(self, episodes):
        values = super().start(episodes)
        memory, options = episodes.memory, episodes.options
        drawn = episodes.draw(lambda rng: rng.uniform(size=11))
        memory["goal"] = options.get("goal", (-1.5 + drawn[:, 0]) * MICRO)
        memory["swing"] = 1e-3 / 3 * drawn[:, 2:5]
        memory["frequency"] = 0.5 + 3.5 * drawn[:, 5:8]
        memory["lag"] = 2 * np.pi * drawn[:, 8:11]
        place = options.get("peg_place", 0.35 + 0.25 * drawn[:, 1])
        peg = np.stack([place * self.length(episodes), self._peg(memory, 0.0)], 1)
        return values | {"peg": peg[:, None]}

    def _peg(self, memory: NDArray[Any], time: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Place of the peg across the whisker at ``time``, (B,) m; 0 at the start."""
        phase = 2 * np.pi * memory["frequency"] * np.asarray(time)[..., None]
        return np.sum(memory["swing"] * (np.sin(phase + memory["lag"]) - np.sin(memory["lag"])), 1)

    def command(self, actions, rows, memory):
        """Move the peg, too: it swings on whatever the whisker does."""
        now = rows["time"]
        ahead = self._peg(memory, now + 1.0 / self.control_rate) - self._peg(memory, now)
        rows["peg_velocity"][:, 1, 0] = ahead * self.control_rate
        return super().command(actions, rows, memory)

    def sense(self, rows, memory):
        return super().sense(rows, memory) | {"goal": memory["goal"]}

    def _error(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        return np.abs(wrench_mean(rows)[:, 0] - memory["goal"])

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """1 within 0.02 uN m of the goal, 0.1 at 0.32 uN m; keeps the sum of errors."""
        memory["error"] += self._error(rows, memory)
        return tolerance(self._error(rows, memory), 0.0, 0.02 * MICRO, 0.3 * MICRO)

    def info(self, rows, memory):
        periods = np.maximum(rows["time"] * self.control_rate, 1.0)
        return super().info(rows, memory) | {"goal": memory["goal"].copy(), "error": memory["error"] / periods}


class Whisk(WhiskerTask):
    """Follow a set point in free air with the least vibration.

    ## Description

    The vibrissa of Quist et al. (2014), without a peg. Every {span:g} s the goal jumps to an angle
    between -0.35 and 0.35 rad, to which the tip's direction from the base is to come, and stay. The whisker
    resonates at 49 Hz. The reference moves the base by a shaped ramp, in two halves half a period apart, and
    returns 456; without the shaping 435.

    ## Rewards

    1 while the tip's direction is within 0.005 rad of the goal, falling to 0.1 at 0.055 rad.
    ``info["error"]`` is the distance in rad, mean over the episode so far.

    ## Starting State

    Straight and at rest along x.
    """

    duration = 2.0
    start_angle = 0.0
    span = 0.25
    """Time between jumps of the goal, s."""

    def fields(self):
        return super().fields() | {"goal": Field(1, "rad", 0.5, "angle of the goal")}

    def memory_fields(self):
        return [*super().memory_fields(), ("error", "f8")]

    def goal(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Angle (B,) to be at, from the end of this period on."""
        number = np.floor((rows["time"] + 0.5 / self.control_rate) / self.span)
        return 0.35 * (2.0 * uniform(~memory["noise"], number, 1)[:, 0] - 1.0)

    def sense(self, rows, memory):
        return super().sense(rows, memory) | {"goal": self.goal(rows, memory)}

    def _error(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        angle = rows["link_angle"]
        tip = np.arctan2(np.sum(np.sin(angle), 1), np.sum(np.cos(angle), 1))
        return np.abs(tip - self.goal(rows, memory))

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """1 within 0.005 rad of the goal, 0.1 at 0.055 rad; keeps the sum of errors."""
        memory["error"] += self._error(rows, memory)
        return tolerance(self._error(rows, memory), 0.0, 0.005, 0.05)

    def info(self, rows, memory):
        periods = np.maximum(rows["time"] * self.control_rate, 1.0)
        return super().info(rows, memory) | {"error": memory["error"] / periods}
