"""What all tasks of the worm share: its actions, its posture, what it pays for, and that it must not cross itself."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.arguments import choice, read_params, within
from ..core.circuit.circuit import Circuit
from ..core.env.spec import ActionField, Ending, Field
from ..core.env.task import EpisodeStart, Rows, Task, clipped, measures
from ..core.model.chain import body_frame, crosses_itself
from ..core.model.control import Controller, Floats
from .animal import Worm
from .kymogram import FRAME_RATE, KymogramPlayback, SineKymogram
from .params import WormParams
from .steering import SteeringLaw, steer

CROSSED = 10.0
"""Ending: the body crossed itself."""

MAX_WEIGHT = 3.0
"""Largest factor on a projection of a circuit that an action sets."""

JOINTS = 24
"""Of the paper's worm."""

MODES = 6
"""Spatial cosines of the action modes ``modes`` and ``residual``; a body with fewer joints has as many as these."""


class WormTask(Task):
    """Actions and observations that all tasks of the worm share; subclasses add goal, reward, endings.

    ## Starting State

    At rest, slightly and smoothly bent at random (up to 0.05 rad per mode), heading anywhere.

    ## Version History

    * v0: first version
    """

    animal: Worm
    action_modes: tuple[str, ...] = ("residual", "modes", "angles")
    sigma = 1.0
    """Medium index: 0 water, 1 agar."""
    friction_scale = 1.0
    """Factor on the friction."""
    control_rate = 20.0
    largest_angle = 0.9
    """Largest control angle, rad."""
    fastest = 12.5
    """Fastest change of a control angle, rad/s: the recorded worms' frames differ by up to 12.3."""
    time_step = 5e-3
    reference_text = "the paper's sine"
    """What ``actions="residual"`` adds to."""
    residual_scale = 0.5
    """Share of the largest angle that an action of 1 adds to it by each mode."""
    steers: Mapping[str, float] | None = None
    """How the paper's sine is steered, see `SteeringLaw`; None where nothing is."""
    recorded: str | None = None
    """Recorded kymogram that is the reference, unless another one is given."""
    recorded_frames = 0
    """Its last frames, or 0 for all."""
    recorded_smoothing = 0.0
    """Standard deviation (s) of the Gaussian by which these are smoothed over time."""
    endings = {CROSSED: Ending("the body crossed itself")}
    physiology = measures("worm", "WormTask", largest_angle=largest_angle)
    posture: Floats | float = 0.0
    """Mean joint angles at the start, rad."""
    remembers = {"action": "({self.action_size},)f8", "energy": "f8", "value": "f8", "crossed": "f8"}
    """Previous action, the muscles' work so far (J), what has been rewarded, and whether the body crosses itself."""
    reported = ["time", "centre", "work", "muscle_work", "energy"]
    drives = True
    arguments = {
        **Task.arguments,
        "scheme": "``midpoint``, or the paper's ``published``",
        "dt": "time step, s; by default one that suits the scheme and the task",
        "n_rods": "rods of the body; by default 25, or what ``params`` says",
        "params": "``WormParams``, or a mapping of its fields, which changes those of the task",
        "kymogram": (
            "what ``actions=\"residual\"`` adds to instead of the animal's own controller: a recording's name, a file, "
            "or angles (frames, joints) in rad, 32 a second"
        ),
        "circuit": (
            "a nervous system, to whose control angles the actions add: a ``Circuit``, a file, or ``ahead``; with it "
            '``actions="weights"`` sets factors on its projections instead'
        ),
    }

    def __init__(
        self,
        scheme: str = "midpoint",
        dt: float | None = None,
        n_rods: int | None = None,
        params: WormParams | Mapping[str, Any] | None = None,
        kymogram: str | Path | ArrayLike | None = None,
        circuit: Circuit | str | Path | None = None,
        **common: Any,
    ) -> None:
        if circuit is not None:
            self.action_modes = ("angles", "modes", "weights")
        super().__init__(**common)
        choice("scheme", scheme, Worm.solvers["scheme"])
        if dt is None and scheme == "midpoint":
            dt = self.time_step
        usual = WormParams.in_medium(self.sigma, self.friction_scale)
        self.animal = Worm(read_params("params", params, usual, n_rods=n_rods), dt, scheme, circuit=circuit)
        self.drives = self.actions != "weights"
        joints = self.animal.drive_size
        place = np.arange(joints) / (joints - 1)
        self.modes = np.cos(np.pi * np.arange(min(MODES, joints))[:, None] * place)
        """Spatial modes (modes, joints)."""
        self.wave = SineKymogram.for_medium(self.sigma, n_joints=joints)
        self.steering = SteeringLaw(self.control_rate, self.wave.period, **self.steers or {})
        """How the paper's sine is steered, where it is."""
        self.kymogram = self._angles(kymogram)
        """Angles (frames, joints) rad, 32 frames a second; none where the paper's sine is the reference."""
        self.plays = len(self.kymogram) > 0
        """Whether a kymogram is the reference."""
        self.largest_change = self.fastest / self.control_rate
        """Largest change of a control angle in a control period, rad."""

    def fields(self) -> dict[str, Field]:
        joints = self.animal.drive_size
        return {
            "joint_angle": Field(joints, "rad", 0.5, "joint angles, head to tail", 1, JOINTS),
            "joint_rate": Field(joints, "rad/s", 5.0, "joint rates", 1, JOINTS),
            "action": Field(self.action_size, "1", 1.0, "previous action", int(self.actions == "angles")),
            "velocity": Field(2, "m/s", 1e-3, "velocity of the centre of mass along and left of the head"),
            **super().fields(),
        }

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        mode, largest, joints = mode or self.actions, self.largest_angle, self.animal.drive_size
        pace = f"changes by at most {self.fastest:g} rad/s"
        if mode == "weights":
            assert self.animal.circuit is not None
            names = self.animal.circuit.weights
            return {"weight": ActionField(len(names), 0.0, MAX_WEIGHT, "1", f"factors on {', '.join(names)}")}
        if mode == "angles":
            meaning = f"control angle of each joint, head to tail; it {pace}"
            return {"control_angle": ActionField(joints, -largest, largest, "rad", meaning)}
        meaning = "amplitudes of cosines along the body, of 0, 1/2, 1, ... waves"
        if mode == "residual":
            largest *= self.residual_scale
            meaning += f", added to {self.reference_text}"
        meaning += f"; the sum is clipped, and {pace}"
        return {"mode_amplitude": ActionField(len(self.modes), -largest, largest, "rad", meaning)}

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        draws = episodes.draw(lambda rng: rng.uniform(-1.0, 1.0, MODES + 1))
        deviation = 0.05 * np.sum(draws[:, : len(self.modes), None] * self.modes, 1)
        return {"joint_angle": self.posture + deviation, "heading": np.pi * draws[:, MODES]}

    def begin(self, episodes: EpisodeStart, rows: Rows) -> None:
        episodes.memory["crossed"] = self.animal.crosses(rows)

    @staticmethod
    def forward(episodes: EpisodeStart) -> Floats:
        """Direction (A, 2) in which the bodies lie at the start, tail to head."""
        heading = episodes.values["heading"]
        return -np.stack([np.cos(heading), np.sin(heading)], 1)

    def command(self, row: Any, memory: Any, action: Any, drive: Any) -> None:
        curl = self.curl(memory)
        if self.actions == "weights":
            for k in range(len(action)):
                row.synapse[k] = self.meaning(action, k)
        if self.actions == "residual":
            self.reference_angles(row, memory, drive)
        for j in range(len(drive)):
            if self.actions == "weights":
                drive[j] = curl
            else:
                angle = self.largest_angle * self.bend(action, j)
                if self.actions == "residual":
                    angle = drive[j] + self.residual_scale * angle
                before = (row.control_angle[j] if self.animal.circuit is None else row.residual[j]) - curl
                wanted = min(max(angle, -self.largest_angle), self.largest_angle)
                drive[j] = min(max(wanted, before - self.largest_change), before + self.largest_change) + curl
        for k in range(len(action)):
            memory.action[k] = action[k]

    def bend(self, action: Any, j: int) -> Any:
        """Share of the largest angle by which an action bends joint ``j``."""
        if self.actions == "angles":
            return action[j]
        share = 0.0
        for k in range(len(action)):
            share += action[k] * self.modes[k, j]
        return share

    def curl(self, memory: Any) -> Any:
        """What is added (rad), unseen, to the control angles of all joints, if a task remembers a ``curl``."""
        if self.curled:
            return memory.curl
        return 0.0

    @property
    def curled(self) -> bool:
        """Whether the task remembers a ``curl``."""
        return "curl" in (self.memory.names or ())

    def _angles(self, kymogram: str | Path | ArrayLike | None) -> Floats:
        """Angles of a kymogram, by default those of the task's own."""
        joints = self.animal.drive_size
        source = self.recorded if kymogram is None else kymogram
        if source is None:
            return np.empty((0, joints))
        try:
            angles = KymogramPlayback(source).angles
        except ValueError as error:
            raise ValueError(f"kymogram: {error}") from None
        within("kymogram", angles, -np.pi, np.pi, "rad")
        if angles.shape[1] != joints:
            what = source if isinstance(source, str | Path) else "kymogram"
            raise ValueError(f"n_rods must be {angles.shape[1] + 1} to play {what}, got {joints + 1}")
        if kymogram is not None:
            return angles
        angles = angles[-self.recorded_frames :]
        if self.recorded_smoothing:
            from scipy.ndimage import gaussian_filter1d  # slow to import

            angles = gaussian_filter1d(angles, self.recorded_smoothing * FRAME_RATE, axis=0, mode="nearest")
        return angles

    def reference(self) -> Controller:
        """Kymogram to which ``actions="residual"`` adds, or else the paper's wave, which a task may steer."""
        return KymogramPlayback(self.kymogram) if self.plays else self.wave

    def reference_angles(self, row: Any, memory: Any, drive: Any) -> None:
        """Set control angles (n_joints,) rad to which ``actions="residual"`` adds: the animal's own controller's."""
        time = row.time + 0.5 / self.control_rate
        if self.plays:
            frame = min(math.floor(time * FRAME_RATE + 1e-9), len(self.kymogram) - 1)
            for j in range(len(drive)):
                drive[j] = self.kymogram[frame, j]
        else:
            height = self.wave.amplitude * min(time / self.wave.ramp, 1.0)
            cosine, sine = height * math.cos(self.wave.pace * time), height * math.sin(self.wave.pace * time)
            bias = 0.0
            if self.steers is not None:
                bias = self.steering_bias(row, memory)
            for j in range(len(drive)):
                drive[j] = cosine * self.wave.cos[j] + sine * self.wave.sin[j] + bias

    def steering_bias(self, row: Any, memory: Any) -> Any:
        """Bias (rad) of all control angles that turns the worm to where it is to go."""
        along, left = self.aim(row, memory)
        bias, memory.off = steer(
            along,
            left,
            row.time == 0.0,
            self.control_rate,
            memory.towards,
            memory.off,
            self.steering.decay,
            self.steering.gain,
            self.steering.integral,
            self.steering.limit,
        )
        return bias

    def aim(self, row: Any, memory: Any) -> Any:
        """Where the worm is to go, along and left of its head; of tasks whose reference is steered."""
        raise NotImplementedError

    def action_from_values(self, values):
        if self.actions == "weights":
            return super().action_from_values(values)
        return clipped(np.asarray(values) / self.action_bounds[1])

    def action_from_drive(self, drive):
        if self.actions != "modes":
            return super().action_from_drive(drive)
        weights = np.linalg.solve(self.modes @ self.modes.T, self.modes)
        actions = np.asarray(drive) / self.largest_angle
        return clipped(np.sum(actions[:, None, :] * weights, 2))

    def heading(self, row: Any) -> Any:
        """Direction (rad) in which the head points."""
        return row.rod_angle[0] + math.pi

    def sense(self, row: Any, memory: Any, observation: Any) -> None:
        for j in range(len(row.rod_angle) - 1):
            observation.joint_angle[j] = row.rod_angle[j + 1] - row.rod_angle[j]
            observation.joint_rate[j] = row.rod_rate[j + 1] - row.rod_rate[j]
        along, left = body_frame(self.heading(row), row.centre_velocity[0], row.centre_velocity[1])
        observation.velocity[0], observation.velocity[1] = along, left

    def reward(self, row: Any, memory: Any) -> Any:
        """Give the growth of the `value`, so that the return is the last value."""
        memory.energy += row.muscle_work
        memory.crossed = 1.0 if self.crosses(row) else 0.0
        before = memory.value
        memory.value = self.value(row, memory)
        return memory.value - before

    def crosses(self, row: Any) -> Any:
        """Tell whether the body crosses itself."""
        return crosses_itself(row.rod_angle, self.animal.rod_lengths, self.animal.scratch)

    @abstractmethod
    def value(self, row: Any, memory: Any) -> Any:
        """Say what the episode is worth if it ends here; called once a period, it may keep progress in memory."""

    def ending(self, row: Any, memory: Any) -> Any:
        return CROSSED * memory.crossed

    def fails(self, row: Any, memory: Any) -> Any:
        """Tell whether the worm has crossed itself or broken down."""
        return row.status + memory.crossed != 0.0
