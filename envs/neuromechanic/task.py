"""Base classes for tasks of musculoskeletal models."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..core.arguments import number
from ..core.env.spec import Ending, Field, Hidden
from ..core.env.task import EpisodeStart, Task, measures, tolerance
from ..core.kernels.jit import kernel
from ..core.model.animal import time_step
from ..core.model.quantities import Option
from .animal import Neuromechanic
from .contact import SLIP
from .model import changed
from .standing import DELAY, HOLD, LEG, RAMP, ramp_and_hold, splay, upright

DOWN = 12.0
"""Ending: the figure has fallen."""


@kernel
def move_on(history):
    """Shift a history (moments, n) by one towards the oldest, so that the last entry can be overwritten."""
    for k in range(len(history) - 1):
        for i in range(history.shape[1]):
            history[k, i] = history[k + 1, i]


class NeuromechanicTask(Task):
    """Base class for tasks of musculoskeletal models; subclasses add observations, reward and endings.

    ## Version History

    * v0: first version
    """

    animal: Neuromechanic
    control_rate = 100.0
    drives = True
    arguments = {
        **Task.arguments,
        "scheme": "``semi_implicit``, or the paper's ``rk4``",
        "dt": "time step, s",
        "params": "changes to the model: a mapping such as "
        '``{"body": {"torso": {"inertial": {"mass": 40.0}}}}``, or the path of a TOML file with the same keys',
    }


class StandTask(NeuromechanicTask):
    """Base class for tasks of the standing figure: stance, push, delayed senses, reward and fall.

    ## Rewards

    The reward of each step is ``r = 1 - 0.4 (1 - L) - 0.1 T - 0.1 S``:

    * ``L = 1 / (1 + 9 (lean / 0.5 rad)^2)``, where ``lean`` is the rms of the angle of the torso from the vertical and
      of both hip angles from the symmetric stance (rad): 1 if upright, 0.1 at 0.5 rad
    * ``T``: mean over both hips of ``(torque / {largest_torque:g} N m)^2``
    * ``S``: fraction of the feet that slip

    It rewards an upright posture with little effort and steady feet. ``info["survived"]`` is 1 until the figure falls.

    ## Starting State

    The figure is upright and at rest. The distance of the feet is drawn from 1 to 1.4 hip widths.
    """

    options = {
        "stance": Option(0.8, 1.8, "hip widths", "distance of the feet"),
        "push": Option(-1.0, 1.0, "m/s", "speed of the platform, positive to the right; the side is random if drawn"),
        "onset": Option(0.0, 100.0, "s", "time at which the platform starts to move"),
    }
    endings = {DOWN: Ending("the figure has fallen")}
    hidden = {"push": Hidden(0.15, 0.25), "onset": Hidden(0.1, 0.5)}
    physiology = measures("neuromechanic", "StandTask")
    observes = {
        "torso_angle": Field(1, "rad", 0.3, "delayed angle of the torso"),
        "torso_rate": Field(1, "rad/s", 1.0, "delayed angular velocity of the torso"),
        "hip_angle": Field(2, "rad", 0.3, "delayed angles of left and right leg from the torso"),
        "hip_rate": Field(2, "rad/s", 1.0, "delayed angular velocities of left and right hip"),
        "stance": Field(1, "hip widths", 1.0, "distance of the feet at the start"),
    }
    remembers = {"stance": "f8", "splay": "f8", "work": "f8", "largest_torque": "f8"}
    """Distance of the feet (hip widths) and angle of the legs from the vertical (rad) at the start; positive work (J)
    and largest torque (N m) of the hips since the start, sampled at the ends of control periods."""
    reported = ["time", "stance", "work", "largest_torque"]
    informs = {"survived": "f8", "push": "f8", "slipping": "i8"}
    """1 while the figure stands; speed of the platform between its pulses (m/s); number of slipping feet."""
    arguments = {
        **NeuromechanicTask.arguments,
        "scheme": "``semi_implicit``, which contacts require",
        "contacts": "contact solver: ``modes`` (default), ``staggered`` (the paper's) or ``sweep``",
    }
    stances = (1.0, 1.4)
    """Range from which the stance is drawn, hip widths."""
    largest_lean, lowest_hips = 1.2, 0.4 * LEG
    """Largest angle of torso or legs from the vertical (rad) and lowest height of the hips (m) of a standing figure."""
    ramp, hold = RAMP, HOLD
    """Duration of the platform's acceleration and of its deceleration, and time between them, s."""
    largest_torque = 200.0
    """Torque scale of the effort in the reward, N m."""
    longest_delay = DELAY
    """Delay of the senses at ``delay`` = 1, s."""

    def __init__(
        self,
        scheme: str = "semi_implicit",
        dt: float = 1e-3,
        contacts: str | None = None,
        params: Mapping[str, Any] | str | Path | None = None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        dt = number("dt", time_step(dt, 1e-3), maximum=0.5 * self.longest_delay)
        self.animal = Neuromechanic(changed(self.figure(dt), params), dt, scheme, contacts=contacts)

    @abstractmethod
    def figure(self, dt: float) -> dict[str, Any]:
        """Return the description of the model for time steps of ``dt`` s."""

    @abstractmethod
    def hip_torque(self, row: Any) -> Any:
        """Return the torques of left and right hip, N m."""

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        options, draws = episodes.options, episodes.draw(lambda rng: rng.random(2))
        low, high = self.stances
        stance = episodes.memory["stance"]
        stance[:] = options.get("stance", low + (high - low) * draws[:, 0])
        episodes.memory["splay"] = splay(stance)
        push = episodes.hidden("push")
        if "push" not in options:
            push = np.where(draws[:, 1] < 0.5, -push, push)
        return {"q": upright(stance), "pulse": ramp_and_hold(episodes.hidden("onset"), push, self.ramp, self.hold)}

    def hip(self, row: Any, side: int) -> Any:
        """Return the delayed angle (rad) and rate (rad/s) of the left (0) or right (1) leg from the torso."""
        return row.neuron[2 + 2 * side], row.neuron[3 + 2 * side]

    def sense(self, row: Any, memory: Any, observation: Any) -> None:
        observation.torso_angle[0], observation.torso_rate[0] = row.neuron[0], row.neuron[1]
        for side in range(2):
            observation.hip_angle[side], observation.hip_rate[side] = self.hip(row, side)

    def slipping(self, row: Any) -> Any:
        """Return the number of slipping feet."""
        count = 0
        for mode in row.mode:
            count += mode >= SLIP
        return count

    def reward(self, row: Any, memory: Any) -> Any:
        left, right = self.hip_torque(row)
        power = max(left * row.v[3], 0.0) + max(right * row.v[4], 0.0)
        memory.work += power / self.control_rate
        memory.largest_torque = max(memory.largest_torque, abs(left), abs(right))
        lean = math.sqrt((row.q[2] ** 2 + (row.q[3] + memory.splay) ** 2 + (row.q[4] - memory.splay) ** 2) / 3.0)
        near = tolerance(lean, 0.0, 0.0, 0.5)
        effort = ((left / self.largest_torque) ** 2 + (right / self.largest_torque) ** 2) / 2.0
        return 1.0 - 0.4 * (1.0 - near) - 0.1 * effort - 0.1 * (self.slipping(row) / len(row.mode))

    def ending(self, row: Any, memory: Any) -> Any:
        torso, left, right = row.q[2], row.q[3], row.q[4]
        lean = max(abs(torso), abs(torso + left), abs(torso + right))
        return DOWN if lean > self.largest_lean or row.q[1] < self.lowest_hips else 0.0

    def info(self, row: Any, memory: Any, info: Any) -> None:
        info.survived = 1.0 if row.status == 0.0 and self.ending(row, memory) == 0.0 else 0.0
        info.push = row.pulse[0, 2] * 2.0 * row.pulse[0, 1] / np.pi
        info.slipping = self.slipping(row)
