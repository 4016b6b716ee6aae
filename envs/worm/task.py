"""Base class of the worm's tasks."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.arguments import choice, read_params, within
from ..core.env.spec import ActionField, Ending, Field
from ..core.env.task import EpisodeStart, Rows, Task, clipped, measures
from ..core.model.chain import body_frame, crosses_itself
from ..core.model.control import Controller, Floats
from .animal import Worm
from .kymogram import FRAME_RATE, KymogramPlayback, SineKymogram
from .params import WormParams
from .steering import SteeringLaw, steer

if TYPE_CHECKING:
    from ..core.circuit.circuit import Circuit

CROSSED = 10.0
"""Ending: the body crossed itself."""

MAX_WEIGHT = 3.0
"""Maximum factor on a projection of a circuit with ``actions="weights"``."""

JOINTS = 24
"""Number of joints of the paper's worm."""

MODES = 6
"""Number of cosines of the action modes ``modes`` and ``residual``; at most the number of joints."""


class WormTask(Task):
    """Base class of the worm's tasks: actions, observations and muscle work; subclasses add `return_so_far`.

    ## Starting State

    The worm is at rest, with a random smooth bend (up to 0.05 rad per mode) and a random heading.

    ## Version History

    * v0: first version
    """

    animal: Worm
    action_modes: tuple[str, ...] = ("residual", "modes", "angles")
    sigma = 1.0
    """Medium index, 0 for water and 1 for agar."""
    friction_scale = 1.0
    """Factor on the friction coefficients."""
    control_rate = 20.0
    largest_angle = 0.9
    """Maximum control angle, rad."""
    fastest = 12.5
    """Maximum rate of a control angle, rad/s; recorded worms reach 12.3 between frames."""
    time_step = 5e-3
    reference_text = "the paper's sine"
    """Name of the base controller of ``actions="residual"``, for the documentation."""
    residual_scale = 0.5
    """Amplitude that a residual action of 1 adds in each mode, relative to the maximum angle."""
    steers: Mapping[str, float] | None = None
    """Parameters of the `SteeringLaw` that steers the paper's sine; None for no steering."""
    recorded: str | None = None
    """Name of the recorded kymogram that is the default reference; None for the paper's sine."""
    follows = False
    """Whether the kymogram has an effect in all action modes."""
    recorded_frames = 0
    """Number of frames to use from the end of the recording; 0 for all."""
    recorded_smoothing = 0.0
    """Standard deviation (s) of a Gaussian filter over the time of the recording."""
    endings = {CROSSED: Ending("the body crossed itself")}
    physiology = measures("worm", "WormTask", largest_angle=largest_angle)
    posture: Floats | float = 0.0
    """Mean joint angles at the start, rad."""
    info_fields = dict.fromkeys(("centre", "work", "muscle_work", "energy"), "copy")
    drives = True
    arguments = {
        **Task.arguments,
        "scheme": "``midpoint``, or the paper's ``published``",
        "dt": "time step, s; the default depends on the scheme and the task",
        "n_rods": "number of rods; by default that of ``params``, or 25",
        "params": "``WormParams``, or a mapping with changes to the task's parameters",
        "kymogram": (
            'base of ``actions="residual"`` instead of the animal\'s own controller: name of a recording, file, or '
            "angles (frames, joints) in rad with 32 frames per second"
        ),
        "circuit": (
            "nervous system: a ``Circuit``, a file, ``boyle``, ``ventral_cord`` or ``ahead``; actions add to its "
            'control angles, or set factors on its projections with ``actions="weights"``'
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
        """Steering law of the paper's sine; used only if ``steers`` is set."""
        if kymogram is not None and self.actions != "residual" and not self.follows:
            raise ValueError(f"kymogram needs actions='residual', got actions={self.actions!r}")
        self.kymogram = self._angles(kymogram)
        """Joint angles (frames, joints), rad, 32 per second; empty if the reference is the paper's sine."""
        self.plays = len(self.kymogram) > 0
        """Whether the reference is a kymogram."""
        self.largest_change = self.fastest / self.control_rate
        """Maximum change of a control angle in a control period, rad."""

    @property
    def observation_fields(self) -> Mapping[str, Field]:
        joints = self.animal.drive_size
        return {
            "joint_angle": Field(joints, "rad", 0.5, "joint angles, head to tail", 1, JOINTS),
            "joint_rate": Field(joints, "rad/s", 5.0, "joint rates", 1, JOINTS),
            "action": Field(self.action_size, "1", 1.0, "previous action", int(self.actions == "angles")),
            "velocity": Field(2, "m/s", 1e-3, "velocity of the centre of mass, along and to the left of the head"),
        }

    @property
    def memory_fields(self) -> Mapping[str, str]:
        """Previous action, muscle work since the start (J), sum of rewards, and whether the body crosses itself."""
        return {"action": f"({self.action_size},)f8", "energy": "f8", "return_so_far": "f8", "crossed": "f8"}

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
        meaning = "amplitudes of cosines with 0, 1/2, 1, ... waves along the body"
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
        """Return the directions (A, 2) of the bodies at the start, tail to head."""
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
        """Return the angle that an action commands at joint ``j``, relative to the maximum angle."""
        if self.actions == "angles":
            return action[j]
        share = 0.0
        for k in range(len(action)):
            share += action[k] * self.modes[k, j]
        return share

    def curl(self, memory: Any) -> Any:
        """Return the hidden angle (rad) added to all control angles; 0 if the memory has no ``curl``."""
        if self.curled:
            return memory.curl
        return 0.0

    @property
    def curled(self) -> bool:
        """Whether the task's memory has a ``curl``."""
        return "curl" in (self.memory.names or ())

    def _angles(self, kymogram: str | Path | ArrayLike | None) -> Floats:
        """Return the angles of a kymogram, by default the task's recording."""
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
            name = source if isinstance(source, str | Path) else "kymogram"
            raise ValueError(f"n_rods must be {angles.shape[1] + 1} to play {name}, got {joints + 1}")
        if kymogram is not None:
            return angles
        angles = angles[-self.recorded_frames :]
        if self.recorded_smoothing:
            from scipy.ndimage import gaussian_filter1d  # slow to import

            angles = gaussian_filter1d(angles, self.recorded_smoothing * FRAME_RATE, axis=0, mode="nearest")
        return angles

    def reference(self) -> Controller:
        """Return the base controller of ``actions="residual"`` without steering: a kymogram or the paper's sine."""
        return KymogramPlayback(self.kymogram) if self.plays else self.wave

    def reference_angles(self, row: Any, memory: Any, drive: Any) -> None:
        """Set ``drive`` to the control angles (n_joints,), rad, of the base controller of ``actions="residual"``."""
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
        """Return the bias (rad) of all control angles that turns the worm to its goal."""
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
        """Return the direction of the goal, along and to the left of the head; needed for a steered reference."""
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
        """Return the direction of the head, rad."""
        return row.rod_angle[0] + math.pi

    def sense(self, row: Any, memory: Any, observation: Any) -> None:
        for j in range(len(row.rod_angle) - 1):
            observation.joint_angle[j] = row.rod_angle[j + 1] - row.rod_angle[j]
            observation.joint_rate[j] = row.rod_rate[j + 1] - row.rod_rate[j]
        along, left = body_frame(self.heading(row), row.centre_velocity[0], row.centre_velocity[1])
        observation.velocity[0], observation.velocity[1] = along, left

    def reward(self, row: Any, memory: Any) -> Any:
        """Return the change of `return_so_far`, so that the return is the last value."""
        memory.energy += row.muscle_work
        memory.crossed = 1.0 if self.crosses(row) else 0.0
        before = memory.return_so_far
        memory.return_so_far = self.return_so_far(row, memory)
        return memory.return_so_far - before

    def crosses(self, row: Any) -> Any:
        """Return whether the body crosses itself."""
        return crosses_itself(row.rod_angle, self.animal.rod_lengths, self.animal.scratch)

    @abstractmethod
    def return_so_far(self, row: Any, memory: Any) -> Any:
        """Return the episode's return if it ends now; called once per period, so that it may update the memory."""

    def ending(self, row: Any, memory: Any) -> Any:
        return CROSSED * memory.crossed

    def fails(self, row: Any, memory: Any) -> Any:
        """Return whether the worm crosses itself or its simulation failed."""
        return row.status + memory.crossed != 0.0
