"""Tasks of the whisker chain: localise a peg, tap it, hold a contact, whisk after a goal."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import number, read_params
from ..core.env.task import ActionField, Ending, EpisodeStart, Field, Hidden, Score, Task, clipped, measures, tolerance
from ..core.kernels.jit import kernel
from ..core.kernels.maths import interpolated, normal_number, total
from ..core.model.control import Floats
from ..core.model.quantities import Option
from .analysis import static_stiffness
from .animal import Whisker
from .params import WhiskerParams, table

ACCELERATION, RATE, REACH = 3000.0, 20.0, 0.7
"""Largest angular acceleration (rad/s^2), rate (rad/s) and angle (rad) of the base."""

TWITCH = (5.0e-3, 7.4e-3)
"""Time constants (s) of the two stages between command and muscle force.

They are the rise and decay of calcium in the intrinsic muscle, fitted to whisker movements evoked by single motoneuron
spikes, at large angles: Simony et al. (2010), J. Neurosci. 30:8935; taur and tauc in their program, ModelDB 127512. The
movement peaks 18 ms after the spike: Herfst and Brecht (2008), J. Neurophysiol. 99:2821. Unlike theirs, this muscle is
linear: force does not grow with the fourth power of calcium.
"""

DAMPING = 50.0
"""Damping rate (1/s) of the base by tissue, our choice.

In the model of Simony et al. the pad damps a follicle with about 460/s, but it also has springs, unlike this base.
"""

SENSOR = (0.01e-6, 0.2e-6, 0.2e-6)
"""Standard deviation of the sensor noise: M (N m), Fx, Fy (N)."""

MICRO = 1e-6

SMOOTHING, FOLLOWING = 0.02, 75.0
"""Time constant (s) of amplitude and set point of a commanded whisk and of a rate added in `Localize`, and natural
frequency (1/s) of the base that follows a whisk."""


class WhiskerTask(Task):
    """Base class for tasks of the whisker chain; subclasses add the scene, answers and the reward.

    ## Starting State

    The whisker is straight and at rest, with a base angle of {start_angle:g} rad.
    """

    animal: Whisker
    action_modes: tuple[str, ...] = ("residual", "trajectory", "whisk")
    control_rate = 250.0
    duration: float
    """Duration of an episode, s."""
    start_angle = -0.35
    """Base angle at the start, rad."""
    answers: Mapping[str, ActionField] = {}
    """Entries of the action after the motion: answers, one number each."""
    residual_scale = 1.0
    """Rate (rad/s) that an action of 1 adds with ``actions="residual"`` and an ``authority`` of 1."""
    smoothing = 0.02
    phased: tuple[str, ...] = ("whisk",)
    """Action modes in which the phase of the whisk is observed."""
    sensor: tuple[float, ...] = SENSOR
    """Standard deviation of the sensor noise: M (N m), Fx, Fy (N)."""
    physiology = measures("whisker_chain", "WhiskerTask")
    info_fields = {"base_angle": "f8", "base_wrench": "3f8", "push": "f8", "effort": "f8"}
    """Base angle (rad); mean wrench (N m, N) and impulse of the peg (N s) in the period; mean effort of the episode."""
    arguments = {
        "scheme": "``complementarity``, or the paper's ``events``",
        "dt": "time step, s",
        "noise": "factor of the sensor noise",
        "friction": "Coulomb friction coefficient at pegs, by default that of ``params``; if positive, it is also an "
        "option of the reset",
        "params": "``WhiskerParams``, or a mapping of its fields with changes to the paper's values",
    }

    def __init__(
        self,
        scheme: str = "complementarity",
        dt: float = 1e-4,
        noise: float = 1.0,
        friction: float | None = None,
        params: WhiskerParams | Mapping[str, Any] | None = None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self.noise = number("noise", noise, minimum=0)
        self.animal = Whisker(read_params("params", params, WhiskerParams(), friction=friction), dt, scheme)
        low, high = self.action_bounds
        self._shows_phase = self.actions in self.phased
        self._middle, self._half = 0.5 * (low + high), 0.5 * (high - low)
        period = 1.0 / self.control_rate
        self._gains = -np.expm1(-period / np.array(TWITCH))
        self._yield = -np.expm1(-DAMPING * period) / (DAMPING * period)

    @property
    def observation_fields(self) -> Mapping[str, Field]:
        noise = ", ".join(f"{1e6 * deviation:g}" for deviation in self.sensor)
        wrench = f"M, Fx, Fy on the follicle, period means; noise of {noise} uN m, uN, uN times ``noise``"
        muscle = "first and second stage of the muscle; the second accelerates the base"
        fields = {
            "base_wrench_mean": Field(3, "N m, N, N", (1e-6, 1e-5, 5e-5), wrench),
            "base_angle": Field(1, "rad", 0.5, "angle of the base"),
            "base_rate": Field(1, "rad/s", 10.0, "angular velocity of the base"),
            "muscle": Field(2, "rad/s^2", ACCELERATION, muscle),
            "time": Field(1, "s", 1.0, "time since the start"),
            "action": Field(self.action_size, "1", self.authority, "previous action"),
        }
        if self._shows_phase:
            fields["phase"] = Field(2, "1", 1.0, "sine and cosine of the whisk's phase")
        return fields

    @property
    def memory_fields(self) -> Mapping[str, str]:
        """Fields of the memory.

        Previous action; stages of the muscle (rad/s^2); smoothed amplitude and set point of the whisk (rad); effort of
        the last period, and its sum over the episode; phase of the whisk (rad); seed of the noise.
        """
        scalars = dict.fromkeys(("exertion", "effort", "whisk_phase"), "f8")
        return {"action": f"({self.action_size},)f8", "muscle": "2f8", "whisk": "2f8", **scalars, "noise": "u8"}

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        note = f"the base is limited to {RATE:g} rad/s and {REACH:g} rad"
        stages = " and ".join(f"{1e3 * stage:g}" for stage in TWITCH)
        meaning = (
            f"angular acceleration of the base; a muscle follows in two stages of {stages} ms, against a damping of "
        )
        meaning += f"{DAMPING:g}/s; {note}"
        scale, added = self.residual_scale, f"added to the base rate that the animal's own controller commands; {note}"
        motion = {
            "trajectory": {"command": ActionField(1, -ACCELERATION, ACCELERATION, "rad/s^2", meaning)},
            "whisk": {
                "amplitude": ActionField(1, 0.0, 0.35, "rad", f"amplitude of a sine that the base follows; {note}"),
                "set_point": ActionField(1, -0.35, 0.35, "rad", "middle of the sine"),
                "frequency": ActionField(1, 2.0, 20.0, "Hz", "frequency of the sine"),
            },
            "residual": {"rate": ActionField(1, -scale, scale, "rad/s", added)},
        }
        return {**motion[mode or self.actions], **self.answers}

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        episodes.memory["noise"] = episodes.draw(lambda rng: rng.integers(0, 2**63))
        episodes.memory["whisk"][:, 1] = self.start_angle
        return {"base_angle": self.start_angle}

    def length(self, episodes: EpisodeStart) -> Floats | float:
        """Return the length (m) of the whisker in these episodes."""
        return episodes.options.get("length", self.animal.params.length)

    def command(self, row: Any, memory: Any, action: Any, drive: Any) -> None:
        # The drive is limited so that the rate and the angle of the base stay in range.
        theta, omega, period = row.link_angle[0], row.base_rate, 1.0 / self.control_rate
        for j in range(len(action)):
            memory.action[j] = action[j]
        if self.actions == "trajectory":
            command = self.meaning(action, 0)
        else:
            if self.actions == "residual":
                turn = self.own(self.meaning(action, 0), row, memory)
            else:
                turn = self.follow_whisk(row, memory, action)
            command = self.excitation(turn, omega, memory.muscle[0], memory.muscle[1])
        acceleration = self.pull(limited(command, ACCELERATION), omega, memory)
        # Largest rates at the end of the period that still allow the base to stop within its reach.
        half, coast = 0.5 * ACCELERATION * period, 0.5 * period * omega
        high = math.sqrt(max(half**2 + 2 * ACCELERATION * (REACH - theta - coast), 0.0)) - half
        low = half - math.sqrt(max(half**2 + 2 * ACCELERATION * (REACH + theta + coast), 0.0))
        target = omega + limited(acceleration, ACCELERATION) * period
        target = min(max(target, max(low, -RATE)), min(high, RATE))
        drive[0] = limited((target - omega) * self.control_rate, ACCELERATION)
        drive[1], drive[2] = 0.0, 0.0

    def meaning(self, action: Any, j: int) -> Any:
        return self._middle[j] + self._half[j] * action[j]

    @abstractmethod
    def own(self, added: Any, row: Any, memory: Any) -> Any:
        """Return the acceleration (rad/s^2) that the animal's own controller commands with a residual ``added``."""

    def towards(self, rate: Any, row: Any, limit: Any) -> Any:
        """Return the acceleration, up to ``limit`` rad/s^2, that brings the base to a rate (rad/s) in a period."""
        return limited((rate - row.base_rate) * self.control_rate, limit)

    def pull(self, command: Any, rate: Any, memory: Any) -> Any:
        """Advance the muscle by a control period and return the mean acceleration of the base.

        ``command`` and result are in rad/s^2; ``rate`` (rad/s) is that of the base at the start of the period.
        """
        memory.muscle[0] += self._gains[0] * (command - memory.muscle[0])
        memory.muscle[1] += self._gains[1] * (memory.muscle[0] - memory.muscle[1])
        memory.exertion = ((command - memory.muscle[1]) / ACCELERATION) ** 2
        memory.effort += memory.exertion
        return self._yield * (memory.muscle[1] - DAMPING * rate)

    def excitation(self, acceleration: Any, rate: Any, first: Any, second: Any) -> Any:
        """Return the command for a mean acceleration of the base in the next period, without limits.

        The command, the acceleration, and the ``first`` and ``second`` stage of the muscle are in rad/s^2, as numbers
        or arrays. ``rate`` (rad/s) is that of the base at the start of the period.
        """
        stage = second + (acceleration / self._yield + DAMPING * rate - second) / self._gains[1]
        return first + (stage - first) / self._gains[0]

    def follow_whisk(self, row: Any, memory: Any, action: Any) -> Any:
        """Return the acceleration that follows the whisk set point - amplitude cos(phase), both smoothed."""
        period, turn = 1.0 / self.control_rate, 2 * math.pi * self.meaning(action, 2)
        memory.whisk_phase = (memory.whisk_phase + turn * period) % (2 * math.pi)
        for k in range(2):
            memory.whisk[k] += (self.meaning(action, k) - memory.whisk[k]) * (period / (period + SMOOTHING))
        amplitude, middle = memory.whisk[0], memory.whisk[1]
        s, c = math.sin(memory.whisk_phase), math.cos(memory.whisk_phase)
        ahead = amplitude * turn**2 * c
        off = middle - amplitude * c - row.link_angle[0]
        return ahead + 2 * FOLLOWING * (amplitude * turn * s - row.base_rate) + FOLLOWING**2 * off

    def action_from_values(self, values: Floats) -> NDArray[np.float32]:
        return clipped((np.asarray(values) - self._middle) / (self.authority * self._half))

    def wrench(self, row: Any, i: int) -> Any:
        """Return component ``i`` of M (N m), Fx and Fy (N) on the follicle, the mean over the period."""
        return row.wrench_sum[i] / max(row.span, 1e-300)

    def felt(self, row: Any, memory: Any, i: int) -> Any:
        """Return component ``i`` of M (N m), Fx and Fy (N) on the follicle with sensor noise."""
        return self.wrench(row, i) + self.noise * self.sensor[i] * normal_number(memory.noise, row.step, 3, i)

    def sense(self, row: Any, memory: Any, observation: Any) -> None:
        for i in range(3):
            observation.base_wrench_mean[i] = self.felt(row, memory, i)
        observation.base_angle[0] = row.link_angle[0]
        if self._shows_phase:
            observation.phase[0], observation.phase[1] = math.sin(memory.whisk_phase), math.cos(memory.whisk_phase)

    def info(self, row: Any, memory: Any, info: Any) -> None:
        for i in range(3):
            info.base_wrench[i] = self.wrench(row, i)
        info.base_angle, info.push = row.link_angle[0], row.contact_sum[0]
        info.effort = memory.effort / self.periods(row)

    def periods(self, row: Any) -> Any:
        """Return the number of control periods since the start, at least 1."""
        return max(row.time * self.control_rate, 1.0)


@kernel
def limited(value, limit):
    """Return ``value`` clipped to -``limit`` .. ``limit``."""
    return min(max(value, -limit), limit)


class AnswerEnding(IntEnum):
    """Endings of `Localize` by its committed answer."""

    RIGHT = 1
    WRONG = 2


class PegTask(WhiskerTask):
    """Base class for tasks with one point peg, defined by its distance and by the base angle at which it touches."""

    hidden = {"peg_place": Hidden(0.3, 0.9), "peg_bearing": Hidden(-0.15, 0.35)}
    push_cost = 0.01
    """Cost of a push of 1 uN s."""
    memory_fields = dict.fromkeys(("peg_place", "peg_bearing", "touched", "pushed"), "f8")
    info_fields = {**dict.fromkeys(("peg_place", "peg_bearing", "pushed"), "copy"), "touched": "f8"}
    options = {
        "peg_place": Option(0.15, 1.2, "lengths", "distance of the peg from the base"),
        "peg_bearing": Option(-0.3, 0.6, "rad", "base angle at which the straight whisker would touch the peg"),
    }

    def start(self, episodes):
        values = super().start(episodes)
        memory = episodes.memory
        for name in ("peg_place", "peg_bearing"):
            memory[name] = episodes.hidden(name)
        memory["touched"] = np.inf
        episodes.draw(lambda rng: rng.uniform())  # keeps the random numbers of later episodes as they were
        distance = memory["peg_place"] * self.length(episodes)
        peg = distance[:, None] * np.stack([np.cos(memory["peg_bearing"]), np.sin(memory["peg_bearing"])], 1)
        return values | {"peg": peg[:, None]}

    def reward(self, row: Any, memory: Any) -> Any:
        """Return minus the cost of the push; record the first touch and the total push."""
        push = row.contact_sum[0]
        memory.pushed += push
        if push > 0.0 and math.isinf(memory.touched):
            memory.touched = row.time
        return -self.push_cost * push / MICRO

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.touched = math.isfinite(memory.touched)


class Localize(PegTask):
    """Touch a peg, estimate its position, and commit the estimate.

    ## Description

    The model is the whisker of Quist et al. (2014). The scene is one point peg in front of it:

    | hidden quantity | distribution                                                               |
    |-----------------|----------------------------------------------------------------------------|
    | distance        | 0.4 to 0.9 lengths from the base                                           |
    | bearing         | -0.15 to 0.35 rad: base angle at which the straight whisker would touch it |

    The animal's own controller sweeps at 100 deg/s until Fx signals a touch, decelerates, waits until the vibration has
    decayed, solves the statics and commits the solution, which takes 0.42 s. The reference ``quick`` does the same at
    230 deg/s. ``guess`` commits the middle of the ranges without touching the peg.

    By default, actions add to this controller: to the rate of the base, smoothed with a time constant of 20 ms, and to
    its answer. Its estimate is observed from the touch on. Its ``commit`` rises after the touch and becomes positive
    when the animal answers. In the other modes, the action has both numbers and ``commit``. The task is hard because
    the position can only be inferred from the wrench of the bent whisker, which vibrates after the touch, and because
    waiting costs reward. ``info`` has the correct answers for supervised learning.

    ## Rewards

    The reward of each step is ``r = A - {push_cost:g} J - {hurt_price:g} H - {effort_price:g} E``:

    * ``A``: 0 until ``commit`` has been positive for 20 ms. Then the episode ends with
      ``A = (1 - t / {duration:g} s) / (1 + 9 e^2)``, where ``e = max(d / 0.1 - 0.1, 0)``, ``d`` is the distance of
      estimate and peg (lengths) and ``t`` the time (s)
    * ``J``: impulse of the peg in the period (uN s)
    * ``H = max(F / {gentle_uN:g} uN - 1, 0)``, where ``F`` is the mean force of the peg in the period (uN)
    * ``E``: squared difference of command and muscle, in units of the largest command

    It rewards accurate, fast answers and gentle touches. ``info["error"]`` is ``d``, ``info["place_error"]`` is the
    error of the distance (lengths), and ``info["peg_place"]`` and ``info["peg_bearing"]`` are the correct answers.
    ``info["is_success"]`` is true after a committed answer with ``d`` up to {near:g}. ``info["committed"]`` is the time
    of that answer (s), infinite before.
    """

    score = Score("return", binary=True)
    hidden = {"peg_place": Hidden(0.4, 0.9)}
    duration = 0.6
    near = 0.11
    """Largest error of a right answer, lengths."""
    gentle = 80e-6
    """Largest force (N) on the peg without a penalty, as mean over a period.

    It is twice the peak force of the reference controller, which averages 32 to 42 uN.
    """
    hurt_price = 0.02
    """Cost of a period with twice the gentle force; our choice, like ``effort_price``."""
    effort_price = 0.02
    """Cost of a period in which command and muscle differ by the largest command."""
    gentle_uN = 1e6 * gentle
    physiology = measures("whisker_chain", "Localize", PegTask.physiology, gentle=gentle_uN)
    commitment = 0.02
    """Time (s) for which ``commit`` must be positive."""
    residual_scale = 5.0
    authority, smoothing = 0.2, 0.05
    largest_correction = (0.1, 0.15, 1.0)
    """Change of the animal's own distance (lengths), bearing (rad) and ``commit`` by an action of 1."""
    speed, fall, stop, wait = 1.745, 1e-6, 0.07, 0.12
    """The animal's own controller: rate of the sweep (rad/s), fall of Fx (N) that signals a touch, angle over which it
    decelerates (rad), and time from touch to answer (s)."""
    places = np.linspace(0.2, 0.95, 31)
    """Distances (lengths) of pegs with known static stiffness."""
    memory_fields = {"held": "f8", "committed": "f8", "answer": "3f8", "estimate": "3f8"}
    memory_fields |= {"passed": "f8", "touch": "f8", "since": "f8", "added": "f8", "wrench": "3f8"}
    """Number of periods of ``commit``; time of the answer (s); current answer and that of the animal's own controller:
    distance (lengths), bearing (rad) and ``commit``. Of this controller: number of periods with a fall of Fx, time of
    the touch (s), number of periods since then, rate added by actions (rad/s), and M, Fx, Fy (N m, N): of the last
    period, or, from half of ``wait`` on, their sum."""
    info_fields = {"committed": "copy", "is_success": "?", "error": "f8", "place_error": "f8"}
    reward_terms = {
        "answer": "``A``",
        "push": "``-{push_cost:g} J``",
        "hurt": "``-{hurt_price:g} H``",
        "effort": "``-{effort_price:g} E``",
    }
    answers = {
        "place": ActionField(1, 0.2, 1.0, "lengths", "estimate of the peg's distance from the base", "peg_place"),
        "bearing": ActionField(1, -0.35, 0.55, "rad", "estimate of the peg's bearing", "peg_bearing"),
        "commit": ActionField(1, -1.0, 1.0, "1", "positive for 20 ms without interruption: the answer becomes final"),
    }
    endings = {
        AnswerEnding.RIGHT: Ending("the right answer was committed", success=True),
        AnswerEnding.WRONG: Ending("a wrong answer was committed"),
    }

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.stiffness = np.array([static_stiffness(place) for place in self.places])
        """Static moment (N m) per angle (rad) against a peg at each of ``places``."""
        self.waited = float(round(self.wait * self.control_rate))
        """Number of control periods from the touch to the animal's answer."""

    @property
    def observation_fields(self):
        meaning = "distance, bearing and ``commit`` of the animal's own controller"
        held = {"held": Field(1, "s", 0.02, "time since ``commit`` became positive; 0 if it is not")}
        own = {
            "estimate": Field(3, "lengths, rad, 1", (1.0, 0.5, 1.0), meaning),
            "added": Field(1, "rad/s", self.residual_scale, "rate that actions have added to the animal's own"),
            "felt": Field(1, "s", 0.02, "time since the animal's own controller felt the peg; 0 before, at most 0.1"),
        }
        return held | (own if self.actions == "residual" else {})

    def action_fields(self, mode=None):
        fields = super().action_fields(mode)
        if (mode or self.actions) == "residual":
            for name, largest in zip(self.answers, self.largest_correction, strict=True):
                meaning = f"{fields[name].meaning}; added to that of the animal's own controller"
                fields[name] = replace(fields[name], low=-largest, high=largest, meaning=meaning)
        return fields

    def start(self, episodes):
        episodes.memory["committed"] = episodes.memory["touch"] = np.inf
        episodes.memory["estimate"] = 0.6, 0.1, -1.0
        return super().start(episodes)

    def command(self, row, memory, action, drive):
        super().command(row, memory, action, drive)
        for j in range(3):
            memory.answer[j] = self.meaning(action, j - 3)
            if self.actions == "residual":
                memory.answer[j] += memory.estimate[j]

    def listen(self, row: Any, memory: Any) -> Any:
        """Update the estimate of the animal's own controller at the end of a period."""
        angle, rate, time = row.link_angle[0], row.base_rate, row.time + 0.5 / self.control_rate
        memory.passed = memory.passed + 1.0 if self.felt(row, memory, 1) < -self.fall else 0.0
        if math.isinf(memory.touch) and memory.passed >= 2.0:
            memory.touch, memory.estimate[1] = time, angle - 2.0 * rate / self.control_rate
        # Whole numbers, which do not depend on rounding errors of the time.
        memory.since = np.rint((time - memory.touch) * self.control_rate)
        if 0.0 < memory.since <= self.waited:
            self.solve(row, memory, max(memory.since - math.floor(0.5 * self.waited), 1.0))
        # Positive early enough for the commitment to end with the estimate.
        last = self.waited - self.commitment * self.control_rate + 1.0
        memory.estimate[2] = limited(memory.since / last - 1.0, 1.0)

    def own(self, added, row, memory):
        period, before = 1.0 / self.control_rate, memory.added
        memory.added += (added - before) * (period / (period + SMOOTHING))
        rate, limit = self.speed, 1000.0
        if math.isfinite(memory.touch):
            rate, limit = 0.0, self.speed**2 / (2.0 * self.stop)
        if memory.since > self.waited:
            rate, limit = -2.0 if row.link_angle[0] > -0.2 else 0.0, 500.0
        return self.towards(rate + before, row, limit) + (memory.added - before) * self.control_rate

    def solve(self, row: Any, memory: Any, samples: Any) -> Any:
        """Estimate the place of the peg from the mean wrench of a number of samples.

        The distance s (lengths) solves M = s L (Fy cos d + Fx sin d), where d is the angle turned since the touch,
        computed from M and the stiffness of the whisker against a peg at s.
        """
        for i in range(3):
            memory.wrench[i] = self.felt(row, memory, i) + (memory.wrench[i] if samples > 1.0 else 0.0)
        moment, axial, force = memory.wrench[0], memory.wrench[1], memory.wrench[2]
        if force < 0.0:
            place = min(max(moment / (force * row.length), 0.2), 1.0)
            pushed = -moment / samples / interpolated(place, self.places, self.stiffness)
            force = force * math.cos(pushed) + axial * math.sin(pushed)
            memory.estimate[0] = min(max(moment / (force * row.length), 0.2), 1.0)
            memory.estimate[1] = row.link_angle[0] - pushed

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        observation.held[0] = memory.held / self.control_rate
        if self.actions == "residual":
            observation.felt[0] = min(max(memory.since / self.control_rate, 0.0), 0.1)

    def error(self, memory: Any) -> Any:
        """Return the distance (lengths) between the peg and its estimate."""
        place, bearing, truth = memory.answer[0], memory.answer[1], memory.peg_place
        off = place**2 + truth**2 - 2 * place * truth * math.cos(bearing - memory.peg_bearing)
        return math.sqrt(max(off, 0.0))

    def right(self, memory: Any) -> Any:
        """Return whether the current answer is right."""
        return self.error(memory) <= self.near

    def worth(self, row: Any, memory: Any) -> Any:
        """Return the reward for committing the current answer."""
        haste = max(1.0 - row.time / self.duration, 0.0)
        return tolerance(self.error(memory), 0.0, 0.01, 0.1) * haste

    def reward(self, row, memory):
        memory.reward_push = super().reward(row, memory)
        memory.reward_effort = -self.effort_price * memory.exertion
        force = row.contact_sum[0] * self.control_rate
        memory.reward_hurt = -self.hurt_price * max(force / self.gentle - 1.0, 0.0)
        memory.reward_answer, memory.held = 0.0, memory.held + 1.0 if memory.answer[2] > 0.0 else 0.0
        if math.isinf(memory.committed) and memory.held >= max(np.rint(self.commitment * self.control_rate), 1.0):
            memory.committed = row.time
            memory.reward_answer = self.worth(row, memory)
        self.listen(row, memory)
        return memory.reward_push + memory.reward_effort + memory.reward_hurt + memory.reward_answer

    def ending(self, row, memory):
        if math.isinf(memory.committed):
            return 0.0
        return AnswerEnding.RIGHT if self.right(memory) else AnswerEnding.WRONG

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.is_success = math.isfinite(memory.committed) and self.right(memory)
        info.error = self.error(memory)
        info.place_error = abs(memory.answer[0] - memory.peg_place)


class Tap(PegTask):
    """Tap a peg repeatedly, each time with as little push as possible.

    ## Description

    The model is the whisker of Quist et al. (2014). The scene is one point peg in front of it:

    | hidden quantity | distribution                                                               |
    |-----------------|----------------------------------------------------------------------------|
    | distance        | 0.5 to 0.8 lengths from the base                                           |
    | bearing         | -0.15 to 0.25 rad: base angle at which the straight whisker would touch it |

    The peg must be tapped once in each of {taps} windows of {window:g} s. The task is hard because a gentle tap
    requires braking before the touch, at a bearing that can only be learned from earlier taps. The ranges exclude near
    pegs, which are stiff, and far pegs, which are hardly felt, so that scores depend on the tapping and not on the peg.

    The animal's own controller has no memory: it approaches at 92 deg/s and retracts when Fx signals a touch. The
    reference ``remembers`` brakes for the bearing at which it has felt the peg. By default, actions add to the fall
    of Fx at which the animal retracts, and the observation contains this bearing, so that policies without memory can
    brake, too.

    ## Rewards

    The reward of each step is ``r = {reward_scale:g} (G - G_before) / {taps}``, from the change of the window's grade:

    * ``G = 1 / (1 + J / 1 uN s)`` after a valid touch in the window, else 0
    * ``J``: impulse of the peg since the start of the window (uN s)

    A touch is valid if the base angle has been below {behind:g} rad before it in the window; earlier touches only add
    to ``J``. The return is {reward_scale:g} times the mean of the final grades of all windows. ``info["taps"]`` is the
    number of windows with a valid touch and ``info["pushed"]`` the total impulse (N s). ``info["is_success"]`` is true
    after a valid touch in each of the {taps} windows.
    """

    reward_scale = 100.0
    """Factor on all rewards. With a return of 1 for a whole episode, SAC's entropy bonus outweighs the task."""
    approach, threshold = 1.6, 0.8e-6
    """Approach rate (rad/s) of the animal's own controller, and the fall of Fx (N) at which it turns back."""
    authority = 0.2
    largest_evidence = 1e-6
    """Change (N) of that fall of Fx by an action of 1 with an ``authority`` of 1."""
    duration = 2.4
    taps = 4
    window = 0.6
    """Duration of a window for one tap, s."""
    behind = -0.3
    """Base angle (rad) that the base must have been behind in a window before a touch counts."""
    hidden = {"peg_place": Hidden(0.5, 0.8), "peg_bearing": Hidden(-0.15, 0.25)}
    memory_fields = dict.fromkeys(("back", "tapped", "push", "turned", "taps", "number", "known", "last"), "f8")
    """In this window: whether the base has been behind, whether a touch has counted, the push (N s), and whether the
    animal's own controller has turned back. Windows with a tap; number of the window; smallest and last base angle
    (rad) at which the peg was felt."""
    info_fields = {"taps": "copy", "is_success": "?"}
    reward_terms = {
        "touch": "``{reward_scale:g} / {taps}`` in the step with a valid touch",
        "push": "``{reward_scale:g} / {taps}`` of the loss of grade by the push",
    }

    def action_fields(self, mode=None):
        if (mode or self.actions) != "residual":
            return super().action_fields(mode)
        most, meaning = self.largest_evidence, "added to the fall of Fx at which the animal's own controller retracts"
        return {"evidence": ActionField(1, -most, most, "N", meaning)}

    @property
    def observation_fields(self):
        meaning = "smallest angle at which the animal's own controller has felt the peg minus base angle, at most 0.5"
        window = {
            "left": Field(1, "s", 0.6, "time to the end of the window"),
            "back": Field(1, "1", 1.0, f"whether the base has been behind {self.behind:g} rad in this window"),
        }
        own = {
            "turned": Field(1, "1", 1.0, "whether the animal's own controller has retracted in this window"),
            "ahead": Field(1, "rad", 0.1, meaning),
        }
        return window | (own if self.actions == "residual" else {})

    def start(self, episodes):
        episodes.memory["back"], episodes.memory["known"], episodes.memory["last"] = 1.0, 1.0, np.inf
        return super().start(episodes)

    def own(self, added, row, memory):
        angle, axial = row.link_angle[0], self.felt(row, memory, 1)
        turns = axial - added < -self.threshold
        # Smallest angle at which it has turned back and still felt the peg a period later.
        if axial < -self.threshold:
            memory.known = min(memory.known, memory.last)
        memory.last = angle if turns and memory.turned == 0.0 else math.inf
        memory.turned = max(memory.turned, turns)
        if memory.turned > 0.0:
            return self.towards(-4.0 if angle > -0.3 else 0.0, row, ACCELERATION)
        return self.towards(self.approach, row, 1000.0)

    def windows(self, row: Any) -> Any:
        """Return the number of windows that are over at the end of this period."""
        return math.floor((row.time + 0.5 / self.control_rate) / self.window)

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        observation.left[0] = self.window * (self.windows(row) + 1.0) - row.time
        if self.actions == "residual":
            observation.ahead[0] = min(memory.known - row.link_angle[0], 0.5)

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.is_success = memory.taps >= self.taps

    def grade(self, memory: Any) -> Any:
        """Return the grade of the current window."""
        return memory.tapped / (1.0 + memory.push / MICRO)

    def reward(self, row, memory):
        super().reward(row, memory)
        push, before, number = row.contact_sum[0], self.grade(memory), self.windows(row)
        memory.push += push
        memory.reward_touch = 0.0
        if push > 0.0 and memory.back > 0.0 and memory.tapped == 0.0:
            memory.tapped = 1.0
            memory.taps += 1.0
            memory.reward_touch = self.reward_scale / self.taps
        change = self.reward_scale * (self.grade(memory) - before) / self.taps
        memory.reward_push = change - memory.reward_touch
        # A new window starts without a grade.
        if number > memory.number:
            memory.tapped = memory.push = memory.turned = memory.back = 0.0
        memory.number = number
        if row.link_angle[0] < self.behind:
            memory.back = 1.0
        return change


class SmoothTask(WhiskerTask):
    """Base class for tasks with an effort cost, where peg or goal moves as a sum of three sines."""

    duration = 2.0
    effort_price = 0.3
    """Cost of a period in which command and muscle differ by the largest command; our choice."""
    physiology = measures("whisker_chain", "SmoothTask", WhiskerTask.physiology)
    memory_fields = {"error": "f8", "swing": "3f8", "frequency": "3f8", "lag": "3f8"}
    """Sum of errors; amplitudes, frequencies (Hz) and initial phases (rad) of three sines."""
    precision: tuple[float, float]
    """Largest error with full reward, and the additional error at which the reward is 0.1."""
    info_fields = {"error": "f8", "is_success": "?"}
    reward_terms = {"precision": "``1 / (1 + 9 e^2)``", "effort": "``-{effort_price:g} E``"}

    @abstractmethod
    def distance(self, row: Any, memory: Any) -> Any:
        """Return the distance from the goal."""

    def reward(self, row: Any, memory: Any) -> Any:
        distance = self.distance(row, memory)
        memory.error += distance
        memory.reward_precision = tolerance(distance, 0.0, self.precision[0], self.precision[1])
        memory.reward_effort = -self.effort_price * memory.exertion
        return memory.reward_precision + memory.reward_effort

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.error = memory.error / self.periods(row)
        over = row.status == 0.0 and row.time > self.duration - 0.5 / self.control_rate
        info.is_success = over and info.error <= self.largest_error

    @property
    def largest_error(self) -> float:
        """Largest mean error of a success, at which the first term of the reward is 1/2."""
        return self.precision[0] + self.precision[1] / 3.0

    def sines(self, memory: Any, time: Any) -> Any:
        """Return the sum of the sines at a time (s) minus that at time 0, in the unit of ``swing``."""
        place = 0.0
        for k in range(3):
            phase = 2 * math.pi * memory.frequency[k] * time
            place += memory.swing[k] * (math.sin(phase + memory.lag[k]) - math.sin(memory.lag[k]))
        return place


class Hold(SmoothTask):
    """Hold a contact moment against a moving peg.

    ## Description

    The model is the whisker of Quist et al. (2014). A point peg just ahead of it swings across it:

    | hidden quantity   | distribution                                         |
    |-------------------|------------------------------------------------------|
    | distance          | 0.5 to 0.6 lengths from the base                     |
    | motion of the peg | sum of three sines of 3 to 10 Hz and 0.17 to 0.33 mm |

    The goal, which is observed, is a moment M on the follicle, drawn from -1.5 to -0.5 uN m. The paper predicts that
    rats press against an object and wait until the vibration has decayed; here, the pressure must be held. The task is
    hard because the motion of the peg is not observed and the muscle is slow.

    The animal's own controller turns the base at a rate proportional to the error of M. By default, actions add to
    that rate. The reference ``firm`` has almost twice the gain; at 1.5 times its gain some episodes chatter.

    ## Rewards

    The reward of each step is ``r = 1 / (1 + 9 e^2) - {effort_price:g} E``:

    * ``e = max(d / 0.08 uN m - 0.125, 0)``, where ``d`` is the distance of the mean M in the period from the goal
      (uN m): full reward up to 0.01 uN m
    * ``E``: squared difference of command and muscle, in units of the largest command

    It rewards a constant moment at little effort. ``info["error"]`` and ``info["effort"]`` are the means of ``d`` (N m)
    and ``E`` since the start. ``info["is_success"]`` is true after {duration:g} s if the mean of ``d`` is at most
    {largest_error_shown:.3f} uN m, where the reward without effort is 1/2.

    ## Starting State

    The whisker is straight and at rest, 0.05 rad from the peg.
    """

    gain, limit = 8e6, 1500.0
    """Gain of the animal's own controller from the error of M to the rate (rad/s per N m), and its largest acceleration
    (rad/s^2)."""
    start_angle = -0.05
    precision = (0.01 * MICRO, 0.08 * MICRO)
    effort_price = 1.0
    observation_fields = {"goal": Field(1, "N m", 1e-6, "moment to hold")}
    memory_fields = {"goal": "f8"}
    info_fields = {"goal": "copy"}
    hidden = {"peg_place": Hidden(0.5, 0.6)}
    options = {
        "peg_place": Option(0.2, 0.9, "lengths", "distance of the peg from the base"),
        "goal": Option(-3e-6, 0.0, "N m", "moment to hold"),
    }

    def start(self, episodes):
        values = super().start(episodes)
        memory = episodes.memory
        memory["goal"] = episodes.options.get("goal", (-1.5 + episodes.draw(lambda rng: rng.uniform())) * MICRO)
        place = episodes.hidden("peg_place")
        samples = episodes.draw(lambda rng: rng.uniform(size=9))
        memory["swing"] = 1e-3 / 3 * (0.5 + 0.5 * samples[:, :3])
        memory["frequency"] = 3.0 + 7.0 * samples[:, 3:6]
        memory["lag"] = 2 * np.pi * samples[:, 6:]
        peg = np.stack([place * self.length(episodes), np.zeros(len(episodes))], 1)
        return values | {"peg": peg[:, None]}

    def command(self, row, memory, action, drive):
        # The motion of the peg does not depend on the whisker.
        ahead = self.sines(memory, row.time + 1.0 / self.control_rate) - self.sines(memory, row.time)
        row.peg_velocity[1, 0] = ahead * self.control_rate
        super().command(row, memory, action, drive)

    def own(self, added, row, memory):
        error = self.felt(row, memory, 0) - memory.goal
        rate = limited(self.gain * error, 5.0)  # a stronger push makes M more negative
        return self.towards(rate + added, row, self.limit)

    def distance(self, row, memory):
        return abs(self.wrench(row, 0) - memory.goal)

    @property
    def largest_error_shown(self) -> float:
        """Largest mean error of a success, uN m."""
        return self.largest_error / MICRO


class Whisk(SmoothTask):
    """Follow a moving goal with the tip in free air.

    ## Description

    The model is the whisker of Quist et al. (2014) without a peg. The direction from the base to the tip must follow a
    goal angle that starts at 0:

    | hidden quantity | distribution                                                               |
    |-----------------|----------------------------------------------------------------------------|
    | path            | sum of three sines of 1 to 4, 4 to 7 and 7 to 10 Hz and 0.058 to 0.117 rad |

    The animal's own controller does not look at the goal: it is the paper's whisk in free air, a sine of 8 Hz and 20
    degrees. By default, actions add to the angle of this whisk, which the base follows. The references ``follower``
    and ``foresees`` follow the goal.

    The goal for the end of the next period is observed with a noise of {blur:g} rad. The task is hard because the
    muscle is slow, so the path must be predicted from noisy observations, and because the whisker resonates at 49 Hz.

    ## Rewards

    The reward of each step is ``r = 1 / (1 + 9 e^2) - {effort_price:g} E``:

    * ``e = max(d / 0.05 rad - 0.1, 0)``, where ``d`` is the distance of the tip's direction from the goal (rad): full
      reward up to 0.005 rad
    * ``E``: squared difference of command and muscle, in units of the largest command

    It rewards precision at little effort. ``info["error"]`` and ``info["effort"]`` are the means of ``d`` (rad) and
    ``E`` since the start. ``info["is_success"]`` is true after {duration:g} s if the mean of ``d`` is at most
    {largest_error:.3f} rad, where the reward without effort is 1/2.

    ## Starting State

    The whisker is straight and at rest along x, where the goal starts.
    """

    start_angle = 0.0
    precision = (0.005, 0.05)
    residual_scale = 0.6
    """Angle (rad) that an action of 1 adds with an ``authority`` of 1."""
    phased = ("whisk", "residual")
    amplitude, turn, gain = 0.5 * table()["whisk_amplitude"], 2 * np.pi * table()["whisk_frequency"], 60.0
    """The animal's own whisk: amplitude (rad), angular frequency (rad/s), and gain of its feedback (1/s)."""
    observation_fields = {"goal": Field(1, "rad", 0.5, "goal angle for the end of the next period, with noise")}
    blur = 0.001
    """Standard deviation of the noise of the observed goal, rad."""
    unavailable = dict.fromkeys(("friction", "restitution", "stop_at_contact"), "a task with a peg")

    def action_fields(self, mode=None):
        if (mode or self.actions) != "residual":
            return super().action_fields(mode)
        scale, meaning = self.residual_scale, "added to the angle of the animal's own whisk, which the base follows"
        return {"angle": ActionField(1, -scale, scale, "rad", meaning)}

    def own(self, added, row, memory):
        period, turn, now = 1.0 / self.control_rate, self.turn, self.turn * row.time
        memory.whisk_phase = now + turn * period
        off = added - self.amplitude * math.cos(now) - row.link_angle[0]
        slow = self.amplitude * turn * math.sin(now) - row.base_rate
        ahead = self.amplitude * turn**2 * math.cos(now + 0.5 * turn * period)
        return ahead + self.gain**2 * off + 2.0 * self.gain * slow

    def start(self, episodes):
        values = super().start(episodes)
        samples = episodes.draw(lambda rng: rng.uniform(size=9))
        episodes.memory["swing"] = 0.35 / 6 * (1.0 + samples[:, :3])
        episodes.memory["frequency"] = 1.0 + 3.0 * (np.arange(3) + samples[:, 3:6])
        episodes.memory["lag"] = 2 * np.pi * samples[:, 6:]
        return values

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        noise = self.blur * normal_number(~memory.noise, row.step, 1, 0)
        observation.goal[0] = self.sines(memory, row.time + 1.0 / self.control_rate) + noise

    @property
    def directions(self) -> Floats:
        """Return scratch space for the direction of each link, (2, n)."""
        return np.empty((2, self.animal.params.n_links))

    def distance(self, row, memory):
        along, across = self.directions[0], self.directions[1]
        for i in range(len(along)):
            along[i], across[i] = math.cos(row.link_angle[i]), math.sin(row.link_angle[i])
        return abs(math.atan2(total(across), total(along)) - self.sines(memory, row.time))
