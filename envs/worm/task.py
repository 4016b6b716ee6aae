"""What all tasks of the worm share: its actions, its posture, what it pays for, and that it must not cross itself."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import choice, read_params, within
from ..core.circuit.circuit import Circuit
from ..core.env.row_kernels import limit_change
from ..core.env.spec import ActionField, Ending, Field
from ..core.env.task import EpisodeStart, Rows, Task, clipped, measures
from ..core.model.chain import to_body_frame
from ..core.model.control import Controller, Floats
from .animal import Worm
from .kymogram import FRAME_RATE, KymogramPlayback, SineKymogram
from .params import WormParams
from .steering import SteeringLaw

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
        self._wave = SineKymogram.for_medium(self.sigma, n_joints=joints)
        self.steering = SteeringLaw(self.control_rate, self._wave.period, **self.steers or {})
        """How the paper's sine is steered, where it is."""
        self.kymogram = self._angles(kymogram)
        """Angles (frames, joints) rad, 32 frames a second; none where the paper's sine is the reference."""

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

    def command(self, actions: Floats, rows: Rows, memory: Rows) -> Floats:
        memory["action"] = actions
        curl = self.curl(memory)
        if self.actions == "weights":
            rows["synapse"][...] = self.values(actions)
            return np.zeros((len(actions), self.animal.drive_size)) + curl
        largest, step = self.largest_angle, self.fastest / self.control_rate
        before = rows["control_angle" if self.animal.circuit is None else "residual"] - curl
        if self.actions == "angles":
            angles = largest * actions
        else:
            angles = largest * np.sum(actions[:, :, None] * self.modes, 1)
        if self.actions == "residual":
            angles = self.reference_angles(rows, memory) + self.residual_scale * angles
        drive = np.empty_like(angles)
        limit_change(angles, before, largest, step, drive)
        return drive + curl

    @staticmethod
    def curl(memory: Rows) -> Floats | float:
        """What is added (B, 1) rad, unseen, to the control angles of all joints; nothing where no task remembers it."""
        return memory["curl"][:, None] if "curl" in (memory.dtype.names or ()) else 0.0

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
        return KymogramPlayback(self.kymogram) if len(self.kymogram) else self._wave

    def reference_angles(self, rows: Rows, memory: Rows) -> Floats:
        """Control angles (B, n_joints) rad to which ``actions="residual"`` adds: the animal's own controller's."""
        time = rows["time"]
        first = time == 0.0
        angles = self.reference().drive(time + 0.5 / self.control_rate, {}, first)
        if self.steers is None or len(self.kymogram):
            return angles
        return angles + self.steering.bias(self.aim(rows, memory), first, memory)

    def aim(self, rows: Rows, memory: Rows) -> Floats:
        """Where the worm is to go, (B, 2) along and left of its head; of tasks whose reference is steered."""
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

    @staticmethod
    def heading(rows: Rows) -> Floats:
        """Direction (B,) rad in which the head points."""
        return rows["rod_angle"][:, 0] + np.pi

    def sense(self, rows: Rows, memory: Rows) -> dict[str, NDArray[Any]]:
        angle, rate, heading = rows["rod_angle"], rows["rod_rate"], self.heading(rows)
        # np.diff takes three times as long.
        return super().sense(rows, memory) | {
            "joint_angle": angle[:, 1:] - angle[:, :-1],
            "joint_rate": rate[:, 1:] - rate[:, :-1],
            "velocity": to_body_frame(heading, rows["centre_velocity"]),
            "heading": heading,
        }

    def reward(self, rows: Rows, memory: Rows) -> Floats:
        """Give the growth of the `value`, so that the return is the last value."""
        memory["energy"] += rows["muscle_work"]
        memory["crossed"] = self.animal.crosses(rows)
        value, before = self.value(rows, memory), memory["value"].copy()
        memory["value"] = value
        return value - before

    @abstractmethod
    def value(self, rows: Rows, memory: Rows) -> Floats:
        """Say what the episode is worth (B,) if it ends here; called once a period, it may keep progress in memory."""

    def ending(self, rows: Rows, memory: Rows) -> Floats:
        return CROSSED * memory["crossed"]

    @staticmethod
    def fails(rows: Rows, memory: Rows) -> NDArray[np.bool_]:
        """Tell which worms have crossed themselves or broken down, (B,)."""
        return (rows["status"] + memory["crossed"]) != 0.0
