"""Tasks of the vibrissa: localise, detect, tap, hold a contact, whisk to a set point."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import number, read_params
from ..core.noise import normal, uniform
from ..core.spec import ActionField, Ending, Field, Hidden, Measure, Option, Score
from ..core.task import EpisodeStart, Task, tolerance
from .animal import FAR, Whisker, wrench_mean
from .params import WhiskerParams

ACCELERATION, RATE, REACH = 3000.0, 20.0, 0.7
"""Largest angular acceleration (rad/s^2) and rate (rad/s) of the base, and its largest angle (rad) either way."""

TWITCH = (5.0e-3, 7.4e-3)
"""Time constants (s) of the two stages between command and muscle force.

Simony et al. (2010), J. Neurosci. 30:8935, large angles: the release and the decay of calcium in the intrinsic muscle,
fitted to whisker movements that spikes of motoneurons evoke (their program, ModelDB 127512: taur, tauc). A movement
reaches its peak 18 ms after the spike: Herfst and Brecht (2008), J. Neurophysiol. 99:2821. What is left out is that
force grows with the fourth power of calcium.
"""

DAMPING = 50.0
"""Rate (1/s) at which tissue slows the base; chosen.

The pad of Simony et al. damps a follicle by about 460/s, beside springs that hold it and that this base does not have.
"""

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
    sensor: tuple[float, ...] = SENSOR
    """Standard deviation of the sensor noise: M (N m), Fx, Fy (N)."""
    physiology: Mapping[str, Measure] = {
        "whisk": Measure(
            "frequency",
            "base_angle",
            "Hz",
            meaning="frequency of the base",
            known="5 to 15 Hz in exploratory, 15 to 25 Hz in foveal whisking of rats: Berg and Kleinfeld (2003), "
            "J. Neurophysiol. 89:104",
        ),
        "vibration": Measure("above", "base_acceleration", "rad/s^2", meaning="acceleration above 60 Hz", band=60.0),
        "slew": Measure("slew", "base_acceleration", "rad/s^3", meaning="change of the acceleration"),
        "rate": Measure("peak", "base_rate", "rad/s", meaning="fastest turn"),
        "effort": Measure("final", "effort", meaning="squared distance of command and muscle over the largest"),
        "push": Measure("peak", "contact_force_mean", "uN", 1e6, meaning="push of the peg, mean over a period"),
        "moment": Measure("peak", "base_moment_mean", "uN m", 1e6, meaning="moment on the follicle"),
    }
    arguments: Mapping[str, str] = {
        **Task.arguments,
        "scheme": "``complementarity``, or the paper's ``events``",
        "dt": "time step, s",
        "noise": "factor on the sensor noise",
        "friction": (
            "Coulomb's coefficient against pegs; above 0 it is an option of the reset, too; by default 0, or what "
            "``params`` says"
        ),
        "params": "``WhiskerParams``, or a mapping of its fields, which changes those of the paper",
    }

    def __init__(
        self,
        actions: str | None = None,
        scheme: str = "complementarity",
        dt: float = 1e-4,
        control_rate: float | None = None,
        noise: float = 1.0,
        friction: float | None = None,
        params: WhiskerParams | Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(actions, control_rate)
        self.noise = number("noise", noise, minimum=0)
        self.animal = Whisker(read_params("params", params, WhiskerParams(), friction=friction), dt, scheme)
        ranges = np.array([(field.low, field.high) for field in self.action_fields().values()])
        self._middle, self._half = ranges.mean(1), 0.5 * np.diff(ranges)[:, 0]
        period = 1.0 / self.control_rate
        self._gains = -np.expm1(-period / np.array(TWITCH))
        self._yield = -np.expm1(-DAMPING * period) / (DAMPING * period)

    def fields(self) -> dict[str, Field]:
        """Mean wrench, motion of the base, time, previous action."""
        noise = ", ".join(f"{1e6 * deviation:g}" for deviation in self.sensor)
        wrench = f"M, Fx, Fy on the follicle, means over the period, with noise of {noise} uN m, uN, uN times ``noise``"
        fields = {
            "base_wrench_mean": Field(3, "N m, N, N", (1e-6, 1e-5, 5e-5), wrench),
            "base_angle": Field(1, "rad", 0.5, "angle of the base"),
            "base_rate": Field(1, "rad/s", 10.0, "rate of the base"),
            "muscle": Field(
                2, "rad/s^2", ACCELERATION, "first and second stage of the muscle; the second accelerates the base"
            ),
            "time": Field(1, "s", 1.0, "time since the start"),
            "action": Field(self.action_size, "1", 1.0, "previous action"),
        }
        if self.actions == "whisk":
            fields["phase"] = Field(2, "1", 1.0, "sine and cosine of the whisk's phase")
        return fields

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        """Motion of the base, then the task's answers."""
        kept = f"rate and angle of the base are kept within {RATE:g} rad/s and {REACH:g} rad and continuous"
        stages = " and ".join(f"{1e3 * stage:g}" for stage in TWITCH)
        muscle = f"a muscle follows in two stages of {stages} ms, against a damping of {DAMPING:g}/s"
        motion = {
            "trajectory": {
                "command": ActionField(
                    1, -ACCELERATION, ACCELERATION, "rad/s^2", f"angular acceleration of the base; {muscle}; {kept}"
                )
            },
            "whisk": {
                "amplitude": ActionField(1, 0.0, 0.35, "rad", f"of a sine that the base follows by its muscle; {kept}"),
                "set_point": ActionField(1, -0.35, 0.35, "rad", "middle of the sine"),
                "frequency": ActionField(1, 2.0, 20.0, "Hz", "of the sine"),
            },
        }
        return {**motion[mode or self.actions], **self.answers}

    def memory_fields(self) -> list[tuple[Any, ...]]:
        """Previous action, muscle (rad/s^2), effort, phase, smoothed whisk (rad), seed of the noise.

        ``exertion`` is the effort of the last period, ``effort`` the sum of all; ``whisk`` its amplitude and set point.
        """
        return [
            ("action", "f8", (self.action_size,)),
            ("muscle", "f8", (2,)),
            ("exertion", "f8"),
            ("effort", "f8"),
            ("phase", "f8"),
            ("whisk", "f8", (2,)),
            ("noise", "u8"),
        ]

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
        if self.actions == "trajectory":
            command = wanted[:, 0]
        else:
            command = self.excitation(self._follow_whisk(wanted, theta, omega, memory), omega, memory["muscle"])
        acceleration = self._pull(np.clip(command, -ACCELERATION, ACCELERATION), omega, memory)
        # The fastest rates at the period's end from which the base can still stop within its reach.
        half, coast = 0.5 * ACCELERATION * period, 0.5 * period * omega
        high = np.sqrt(np.maximum(half**2 + 2 * ACCELERATION * (REACH - theta - coast), 0.0)) - half
        low = half - np.sqrt(np.maximum(half**2 + 2 * ACCELERATION * (REACH + theta + coast), 0.0))
        high, low = np.minimum(high, RATE), np.maximum(low, -RATE)
        target = np.minimum(np.maximum(omega + np.clip(acceleration, -ACCELERATION, ACCELERATION) * period, low), high)
        drive = np.zeros((len(rows), self.animal.drive_size))
        drive[:, 0] = np.clip((target - omega) * self.control_rate, -ACCELERATION, ACCELERATION)
        return drive

    def _pull(
        self, command: NDArray[np.float64], omega: NDArray[np.float64], memory: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Mean acceleration of the base in a period in which its muscle follows a command, rad/s^2."""
        first, second = memory["muscle"][:, 0], memory["muscle"][:, 1]
        first = first + self._gains[0] * (command - first)
        second = second + self._gains[1] * (first - second)
        memory["muscle"] = np.stack([first, second], 1)
        memory["exertion"] = ((command - second) / ACCELERATION) ** 2
        memory["effort"] += memory["exertion"]
        return self._yield * (second - DAMPING * omega)

    def excitation(
        self, acceleration: NDArray[np.float64], rate: NDArray[np.float64], muscle: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Command that gives the base an acceleration in the next period; it may be more than is possible.

        Args:
            acceleration ((B,) float, rad/s^2): Mean over the period.
            rate ((B,) float, rad/s): Of the base, at its start.
            muscle ((B, 2) float, rad/s^2): Its stages.

        Returns:
            (B,) float, rad/s^2
        """
        first, second = muscle[:, 0], muscle[:, 1]
        stage = second + (acceleration / self._yield + DAMPING * rate - second) / self._gains[1]
        return first + (stage - first) / self._gains[0]

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
        """Action of this command (rad/s^2), or of this whisk, and these answers."""
        return np.clip((np.asarray(values) - self._middle) / self._half, -1.0, 1.0).astype(np.float32)

    def sense(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Noisy mean wrench of the period, motion of the base, muscle, time, previous action."""
        noise = self.noise * np.array(self.sensor) * normal(memory["noise"], rows["step"], 3)
        return {
            "base_wrench_mean": wrench_mean(rows) + noise,
            "base_angle": rows["link_angle"][:, 0],
            "base_rate": rows["base_rate"],
            "muscle": memory["muscle"],
            "time": rows["time"],
            "action": memory["action"],
            "phase": np.stack([np.sin(memory["phase"]), np.cos(memory["phase"])], 1),
        }

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time (s), base angle (rad), mean wrench (N m, N) and push of the peg (N s) in the period, mean effort."""
        return {
            "time": rows["time"].copy(),
            "base_angle": rows["link_angle"][:, 0].copy(),
            "base_wrench": wrench_mean(rows),
            "push": rows["contact_sum"][:, 0].copy(),
            "effort": memory["effort"] / self._periods(rows),
        }

    def _periods(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Control periods since the start, at least 1."""
        return np.maximum(rows["time"] * self.control_rate, 1.0)


class PegTask(WhiskerTask):
    """A point peg somewhere ahead, given by its place on the straight whisker and the base angle that touches it."""

    hidden: Mapping[str, Hidden] = {"peg_place": Hidden(0.3, 0.9), "peg_bearing": Hidden(-0.15, 0.35)}
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
        memory = episodes.memory
        memory["place"], memory["bearing"] = episodes.hidden("peg_place"), episodes.hidden("peg_bearing")
        drawn = episodes.draw(lambda rng: rng.uniform() >= self.absent_share)
        memory["present"] = episodes.options.get("peg_present", drawn)
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


RIGHT, WRONG = 1.0, 2.0
"""Endings of an episode: the answer was right, or not."""


class AnswerTask(PegTask):
    """A peg of which something is to be told: the first answer that is committed counts, and ends the episode."""

    commitment = 0.02
    """Time (s) for which ``commit`` must be above 0."""
    silence = 0.0
    """Reward of an episode's end without an answer."""
    commit: Mapping[str, ActionField] = {
        "commit": ActionField(1, -1.0, 1.0, "1", "above 0 for 20 ms on end: the answer of now is final")
    }
    endings: Mapping[float, Ending] = {
        RIGHT: Ending("the right answer was committed", success=True),
        WRONG: Ending("a wrong answer was committed"),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._needed = max(round(self.commitment * self.control_rate), 1)

    def fields(self):
        return super().fields() | {"held": Field(1, "s", 0.02, "time for which ``commit`` has been above 0")}

    def memory_fields(self):
        return [*super().memory_fields(), ("held", "f8"), ("committed", "f8")]

    def start(self, episodes):
        episodes.memory["committed"] = np.inf
        return super().start(episodes)

    def sense(self, rows, memory):
        return super().sense(rows, memory) | {"held": memory["held"] / self.control_rate}

    @abstractmethod
    def right(self, memory: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether the answer of now is right (B,)."""

    @abstractmethod
    def worth(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """What the answer of now is worth, if it is final (B,)."""

    def reward(self, rows, memory):
        """Price of the push, worth of the answer that is committed now, or of none at the end."""
        paid = super().reward(rows, memory)
        silent = np.isinf(memory["committed"])
        memory["held"] = np.where(self.answer(memory, "commit") > 0.0, memory["held"] + 1.0, 0.0)
        commits = silent & (memory["held"] >= self._needed)
        memory["committed"] = np.where(commits, rows["time"], memory["committed"])
        over = np.abs(rows["time"] - self.duration) < 0.5 / self.control_rate
        last = np.where(silent & over, self.silence, 0.0)
        return paid + np.where(commits, self.worth(rows, memory), last)

    def ending(self, rows, memory):
        return np.where(np.isfinite(memory["committed"]), np.where(self.right(memory), RIGHT, WRONG), 0.0)

    def info(self, rows, memory):
        success = np.isfinite(memory["committed"]) & self.right(memory)
        return super().info(rows, memory) | {"committed": memory["committed"].copy(), "is_success": success}

    def _haste(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        return np.maximum(1.0 - rows["time"] / self.duration, 0.0)


class Localize(AnswerTask):
    """Touch a peg, say where it is, and be done.

    ## Description

    The vibrissa of Quist et al. (2014). A point peg stands 0.3 to 0.9 lengths from the base, where the straight
    whisker would touch it at a base angle of -0.15 to 0.35 rad. The reference sweeps at 100 deg/s until Fx tells the
    touch, decelerates, waits for the vibrations to die, solves the statics and commits the solution: its median error
    is 0.006 lengths, but it takes 0.41 s and returns 0.19. In a hurry, at 340 deg/s, it is off by 0.009 lengths after
    0.15 s and returns 0.60. Reward alone teaches no answers: ``info`` has the right ones, for supervision.

    ## Rewards

    When an answer has been committed for 20 ms, the episode ends with 1 if the estimated point is within 0.01 lengths
    of the peg, falling to 0.1 at 0.11 lengths, times 1 - t/{duration:g} s; without an answer there is nothing. Every
    uN s of push costs {push_cost:g}. ``info["error"]`` is the distance between both points in lengths,
    ``info["place_error"]`` that of the radial distances; ``info["peg_place"]`` and ``info["peg_bearing"]`` are the
    answers that would be best. Up to {near:g} lengths count as right, ``info["is_success"]``.
    """

    score = Score("return", binary=True)
    duration = 0.6
    near = 0.11
    """Largest error of an answer that is called right, lengths."""
    answers: Mapping[str, ActionField] = {
        "place": ActionField(1, 0.2, 1.0, "lengths", "estimate of the peg's distance from the base", "peg_place"),
        "bearing": ActionField(1, -0.35, 0.55, "rad", "estimate of the peg's bearing", "peg_bearing"),
        **AnswerTask.commit,
    }

    def _errors(self, memory: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        place, bearing = self.answer(memory, "place"), self.answer(memory, "bearing")
        off = place**2 + memory["place"] ** 2 - 2 * place * memory["place"] * np.cos(bearing - memory["bearing"])
        return np.sqrt(np.maximum(off, 0.0)), np.abs(place - memory["place"])

    def right(self, memory):
        return self._errors(memory)[0] <= self.near

    def worth(self, rows, memory):
        return tolerance(self._errors(memory)[0], 0.0, 0.01, 0.1) * self._haste(rows)

    def info(self, rows, memory):
        error, place_error = self._errors(memory)
        return super().info(rows, memory) | {"error": error, "place_error": place_error}


class Detect(AnswerTask):
    """Tell, quickly and gently, whether a peg stands in the way.

    ## Description

    The vibrissa of Quist et al. (2014). In half of the episodes a point peg stands 0.8 to 1 lengths from the base,
    where the straight whisker would touch it at a base angle of -0.15 to 0.3 rad; the sensors are three times as noisy
    as in the other tasks. The reference sweeps forwards as in a whisk of 8 Hz and takes Fx below a threshold for a
    touch, or the end of the sweep for the peg's absence: d' is 1.7, a hit comes 32 ms after the touch. With quiet
    sensors a threshold on Fx tells distal touches from free whisking, and one on M does not: this is the paper's claim.

    ## Rewards

    When a verdict has been committed for 20 ms, the episode ends with 1 - t/{duration:g} s if it is right, with -1 if
    it is wrong; without a verdict it ends with {silence:g}. Every uN s of push costs {push_cost:g}.
    ``info["peg_present"]`` is the truth; ``info["is_success"]``, ``info["hit"]`` and ``info["false_alarm"]`` tell what
    the verdict was, ``info["delay"]`` how long it came after the first touch (s, infinite unless it did).
    """

    score = Score("return", failed=-1.0, binary=True)
    duration = 0.4
    silence = -1.0
    sensor = tuple(3.0 * deviation for deviation in SENSOR)
    hidden: Mapping[str, Hidden] = {"peg_place": Hidden(0.8, 1.0), "peg_bearing": Hidden(-0.15, 0.3)}
    absent_share = 0.5
    answers: Mapping[str, ActionField] = {
        "verdict": ActionField(1, -1.0, 1.0, "1", "above 0: there is a peg", "peg_present", verdict=True),
        **AnswerTask.commit,
    }

    def _said(self, memory: NDArray[Any]) -> NDArray[np.bool_]:
        return self.answer(memory, "verdict") > 0.0

    def right(self, memory):
        return self._said(memory) == (memory["present"] > 0.5)

    def worth(self, rows, memory):
        return np.where(self.right(memory), self._haste(rows), -1.0)

    def info(self, rows, memory):
        done, said, there = np.isfinite(memory["committed"]), self._said(memory), memory["present"] > 0.5
        hit, felt = done & said & there, memory["touched"] < memory["committed"]
        delay = np.where(hit & felt, memory["committed"], np.inf) - np.where(hit & felt, memory["touched"], 0.0)
        return super().info(rows, memory) | {
            "peg_present": there.astype(float),
            "hit": hit.astype(float),
            "false_alarm": (done & said & ~there).astype(float),
            "delay": delay,
        }


LATE = 1.0
"""Ending of a tap that did not come."""


class Tap(PegTask):
    """Touch a peg in time, with the least push.

    ## Description

    The vibrissa of Quist et al. (2014). A point peg stands 0.4 to 0.9 lengths from the base, where the straight
    whisker would touch it at a base angle of -0.15 to 0.25 rad. The reference approaches at 92 deg/s and retracts as
    soon as Fx tells the touch; it returns 0.82.

    ## Rewards

    The changes of a grade that is 0 before the first touch and then 1/(1 + pushed/1 uN s); so the return is the
    grade at the end, and a late touch is worth as much as an early one, but after {duration:g} s it is too late.
    ``info["touched"]`` tells whether, ``info["pushed"]`` how much in N s.
    """

    score = Score("return")
    duration = 0.4
    endings: Mapping[float, Ending] = {LATE: Ending("the peg was not touched in time")}
    hidden: Mapping[str, Hidden] = {"peg_place": Hidden(0.4, 0.9), "peg_bearing": Hidden(-0.15, 0.25)}

    def _grade(self, memory: NDArray[Any]) -> NDArray[np.float64]:
        return np.where(np.isfinite(memory["touched"]), 1.0 / (1.0 + memory["pushed"] / MICRO), 0.0)

    def reward(self, rows, memory):
        before = self._grade(memory)
        super().reward(rows, memory)
        return self._grade(memory) - before

    def ending(self, rows, memory):
        """End when it is too late: were that a mere truncation, learners would hope for a touch after it."""
        late = rows["time"] > self.duration - 0.5 / self.control_rate
        return np.where(late & ~np.isfinite(memory["touched"]), LATE, 0.0)


EFFORT_PRICE = 0.3
"""Price of a period in which command and muscle are as far apart as the largest command; chosen."""

SMOOTH: Mapping[str, Measure] = {
    **WhiskerTask.physiology,
    "vibration": replace(
        WhiskerTask.physiology["vibration"],
        maximum=70.0,
        why="the acceleration of the paper's whisk, 8 Hz through 20 degrees, is 312 rad/s^2 (rms): 5% of its power "
        "above all that rats whisk with",
    ),
}
"""Measures of tasks in which a smooth motion is possible."""


class Hold(WhiskerTask):
    """Hold a contact moment against a peg that moves.

    ## Description

    The vibrissa of Quist et al. (2014). A point peg 0.35 to 0.6 lengths from the base, just ahead of the whisker,
    swings across it by up to 1 mm in three sines of 1.5 to 12 Hz. The rats are predicted to press in and to wait until
    the vibrations have died; here the pressure itself is to be kept, a moment of -1.5 to -0.5 uN m drawn for every
    episode. The reference turns the base at a rate in proportion to the error of M: it stays within 0.06 uN m on
    average and returns 428; with 1.5 times the gain it chatters.

    ## Rewards

    1 within 0.02 uN m of the goal, falling to 0.1 at 0.32 uN m, less {effort_price:g} times the effort: the squared
    distance of command and muscle, over the largest command. ``info["error"]`` is the distance from the goal in N m,
    ``info["effort"]`` the effort, means over the episode so far.

    ## Starting State

    Straight and at rest, 0.05 rad short of the peg.
    """

    score = Score("return")
    duration = 2.0
    start_angle = -0.05
    effort_price = EFFORT_PRICE
    hidden: Mapping[str, Hidden] = {"peg_place": Hidden(0.35, 0.6)}
    physiology: Mapping[str, Measure] = SMOOTH
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
        memory = episodes.memory
        memory["goal"] = episodes.options.get("goal", (-1.5 + episodes.draw(lambda rng: rng.uniform())) * MICRO)
        place = episodes.hidden("peg_place")
        drawn = episodes.draw(lambda rng: rng.uniform(size=9))
        memory["swing"] = 1e-3 / 3 * drawn[:, :3]
        memory["frequency"] = 1.5 + 10.5 * drawn[:, 3:6]
        memory["lag"] = 2 * np.pi * drawn[:, 6:]
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
        """1 within 0.02 uN m of the goal, 0.1 at 0.32 uN m, less the effort; keeps the sum of errors."""
        error = self._error(rows, memory)
        memory["error"] += error
        return tolerance(error, 0.0, 0.02 * MICRO, 0.3 * MICRO) - self.effort_price * memory["exertion"]

    def info(self, rows, memory):
        error = memory["error"] / self._periods(rows)
        return super().info(rows, memory) | {"goal": memory["goal"].copy(), "error": error}


class Whisk(WhiskerTask):
    """Follow a set point in free air with the least vibration.

    ## Description

    The vibrissa of Quist et al. (2014), without a peg. Every {span:g} s the goal jumps to an angle
    between -0.35 and 0.35 rad, to which the tip's direction from the base is to come, and stay. The whisker
    resonates at 49 Hz. The reference moves the base by a shaped ramp, in two halves half a period apart, and
    returns 444; without the shaping 425.

    ## Rewards

    1 while the tip's direction is within 0.005 rad of the goal, falling to 0.1 at 0.055 rad, less {effort_price:g}
    times the effort: the squared distance of command and muscle, over the largest command. ``info["error"]`` is the
    distance from the goal in rad, ``info["effort"]`` the effort, means over the episode so far.

    ## Starting State

    Straight and at rest along x.
    """

    score = Score("return")
    duration = 2.0
    start_angle = 0.0
    effort_price = EFFORT_PRICE
    physiology: Mapping[str, Measure] = SMOOTH
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
        """1 within 0.005 rad of the goal, 0.1 at 0.055 rad, less the effort; keeps the sum of errors."""
        error = self._error(rows, memory)
        memory["error"] += error
        return tolerance(error, 0.0, 0.005, 0.05) - self.effort_price * memory["exertion"]

    def info(self, rows, memory):
        return super().info(rows, memory) | {"error": memory["error"] / self._periods(rows)}
