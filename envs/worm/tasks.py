"""Tasks of the worm: swim, crawl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.chain import into_frame
from ..core.task import Field, Layout, Option
from .animal import Worm
from .kymogram import SineKymogram
from .params import WormParams

CROSSED = 10.0
MODES = 6
BEND = 0.9
"""Largest commanded joint angle, rad."""


class _WormTask:
    """Actions and observations that all tasks of the worm share.

    Subclasses name their medium and control rate, and add goal, reward and endings.
    """

    sigma: float
    scale = 1.0
    rate: float
    bend = BEND
    options: dict[str, Option] = {}  # noqa: RUF012 (never changed)
    endings = {CROSSED: "the body crossed itself"}  # noqa: RUF012
    extra_fields: dict[str, Field] = {}  # noqa: RUF012
    extra_memory: tuple[tuple[Any, ...], ...] = ()

    def __init__(
        self,
        actions: str = "angles",
        scheme: str = "midpoint",
        dt: float | None = None,
        rate: float | None = None,
        n_rods: int = 25,
        threads: int = 1,
    ) -> None:
        if actions not in ("angles", "modes", "residual"):
            raise ValueError(f"actions must be one of angles, modes, residual, got {actions!r}")
        if rate is not None:
            if not (np.isfinite(rate) and rate > 0):
                raise ValueError(f"rate must be finite and greater than 0, got {rate!r}")
            self.rate = rate
        self.actions = actions
        self.animal = Worm(WormParams.in_medium(self.sigma, self.scale, n_rods), dt, scheme, threads)
        joints = self.animal.drive_size
        self.action_size = MODES if actions == "modes" else joints
        place = np.arange(joints) / (joints - 1)
        self._modes = np.cos(np.pi * np.arange(MODES)[:, None] * place)
        self._wave = SineKymogram.for_medium(self.sigma, n_joints=joints)
        self.layout = Layout(
            {
                "joint_angle": Field(joints, "rad", 0.5),
                "joint_rate": Field(joints, "rad/s", 5.0),
                "action": Field(self.action_size, "1", 1.0),
                "velocity": Field(2, "m/s", 1e-3),
                **self.extra_fields,
            }
        )
        self.memory = np.dtype(
            [("action", "f8", (self.action_size,)), ("from", "f8", (2,)), ("goal", "f8", (2,)), *self.extra_memory]
        )

    def reset(
        self,
        rows: NDArray[Any],
        memory: NDArray[Any],
        ids: NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
        options: Mapping[str, NDArray[np.float64]],
    ) -> None:
        """Start at rest, slightly and smoothly bent, with the head in a random direction."""
        draws = np.array([rng.uniform(-1.0, 1.0, MODES + 1) for rng in rngs])
        bend = np.sum(draws[:, :MODES, None] * self._modes, 1)
        heading = np.pi * draws[:, MODES]
        physical = {name: options[name] for name in self.animal.parameters if name in options}
        self.animal.reset(rows, ids, {"joint_angle": 0.05 * bend, "heading": heading, **physical})
        fresh = np.zeros(len(ids), self.memory)
        fresh["goal"] = -np.stack([np.cos(heading), np.sin(heading)], 1)
        fresh["from"] = rows["centre"][ids]
        memory[ids] = fresh

    def command(
        self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Control angles from actions."""
        memory["action"] = actions
        memory["from"] = rows["centre"]
        if self.actions == "angles":
            return self.bend * actions
        if self.actions == "modes":
            return np.clip(self.bend * np.sum(actions[:, :, None] * self._modes, 1), -self.bend, self.bend)
        angles = self._reference(rows) + self.bend * actions
        return np.clip(angles, -self.bend, self.bend)

    def _reference(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Control angles of the reference controller in the coming period, to which `residual` adds."""
        return self._wave.drive(rows["time"] + 0.5 / self.rate, {}, rows["time"] == 0.0)

    def encode(self, drive: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action whose control angles come closest to ``drive`` (B, n_joints) rad."""
        drive = np.asarray(drive) / self.bend
        if self.actions == "modes":
            gram = self._modes @ self._modes.T
            weights = np.linalg.solve(gram, self._modes)
            drive = np.sum(drive[:, None, :] * weights, 2)
        elif self.actions == "residual":
            raise ValueError("actions='residual' adds to the reference controller, whose own action is zero")
        return np.clip(drive, -1.0, 1.0).astype(np.float32)

    def observe(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float32]:
        """Posture, previous action, and velocity and goal in the frame of the head."""
        values = {
            "joint_angle": np.diff(rows["rod_angle"]),
            "joint_rate": np.diff(rows["rod_rate"]),
            "action": memory["action"],
            "velocity": into_frame(rows["rod_angle"][:, 0] + np.pi, rows["centre_velocity"]),
        }
        return self.layout.encode(values | self.extra(rows, memory))

    def extra(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
        """Values of ``extra_fields``."""
        return {}

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Rewards of the period that has just ended."""
        raise NotImplementedError

    def terminated(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """End when the body crosses itself."""
        return np.where(self.animal.crosses(rows), CROSSED, 0.0)

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Centre of mass (m), its velocity (m/s), and the work of the period against friction (J)."""
        return {
            "centre": rows["centre"].copy(),
            "centre_velocity": rows["centre_velocity"].copy(),
            "work": rows["work"].copy(),
            "time": rows["time"].copy(),
        }
