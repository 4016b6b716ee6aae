"""Steering: how a worm's own controller turns it to where it is to go, in tasks and for controllers alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.model.control import Flags, Floats


@dataclass(eq=False)
class SteeringLaw:
    """A bias of all control angles by the bearing of a place or direction, and by how long it has been off.

    The bias is ``gain`` (rad per rad of bearing) times it and ``integral`` (1/s) times its integral over time, which
    ends at `LONGEST`, up to ``limit`` (rad). As the bearing swings with the head, it is averaged over a time of
    ``smoothing`` (s). It is asked ``control_rate`` (Hz) times a second. All may differ from row to row, (B,).
    """

    control_rate: float
    smoothing: Floats | float = 1.6
    gain: Floats | float = 0.1
    limit: Floats | float = 0.15
    integral: Floats | float = 0.0

    def bias(self, direction: Floats, first: Flags, memory: Any) -> Floats:
        """Bias (B, 1) rad, positive to the right, towards a ``direction`` (B, 2) along and left of the head.

        ``memory`` holds what is remembered of the rows, `REMEMBERED`, and is changed; where ``first`` (B,) an average
        begins.
        """
        # Directions, not angles, are averaged: a bearing jumps by a turn behind the tail.
        direction = direction / np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), 1e-12)
        old = np.reshape(np.exp(-1.0 / (self.smoothing * self.control_rate)), (-1, 1))
        towards = np.where(first[:, None], direction, old * memory["towards"] + (1 - old) * direction)
        bearing = np.arctan2(towards[:, 1], towards[:, 0])
        off = np.clip(memory["off"] + bearing / self.control_rate, -LONGEST, LONGEST)
        memory["towards"], memory["off"] = towards, off
        # The worm turns towards its concave side: bent to the right (positive angles), it turns right.
        return np.clip(-self.gain * bearing - self.integral * off, -self.limit, self.limit)[:, None]


LONGEST = 6.0
"""Largest integral of a bearing over time, rad s."""

REMEMBERED = {"towards": "2f8", "off": "f8"}
"""What steering remembers of a row, as a task's ``remembers``: the average direction and the integral (rad s)."""
