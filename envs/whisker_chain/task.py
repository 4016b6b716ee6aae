"""Base class for tasks of the whisker chain: muscle of the base, sensors of the follicle, answers."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import number, read_params
from ..core.env.spec import ActionField, Field
from ..core.env.task import EpisodeStart, Task, clipped, measures
from ..core.kernels.jit import kernel
from ..core.kernels.maths import normal_number
from ..core.model.control import Floats
from .animal import Whisker
from .params import WhiskerParams

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

    ## Version History

    * v0: first version
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
    """Rate (rad/s) that an action of 1 adds with ``actions="residual"``."""
    phased: tuple[str, ...] = ("whisk",)
    """Action modes in which the phase of the whisk is observed."""
    sensor: tuple[float, ...] = SENSOR
    """Standard deviation of the sensor noise: M (N m), Fx, Fy (N)."""
    physiology = measures("whisker_chain", "WhiskerTask")
    info_fields = {"base_angle": "f8", "base_wrench": "3f8", "push": "f8", "effort": "f8"}
    """Base angle (rad); mean wrench (N m, N) and impulse of the peg (N s) in the period; mean effort of the episode."""
    arguments = {
        **Task.arguments,
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
            "action": Field(self.action_size, "1", 1.0, "previous action"),
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
        return clipped((np.asarray(values) - self._middle) / self._half)

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
