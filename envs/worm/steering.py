"""Steering: how a worm's own controller turns it to where it is to go, in tasks and for controllers alike."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.kernels.jit import kernel
from ..core.model.control import Flags, Floats

LONGEST = 6.0
"""Largest integral of a bearing over time, rad s."""

REMEMBERED = {"towards": "2f8", "off": "f8"}
"""What steering remembers of a row, as a task's ``remembers``: the average direction and the integral (rad s)."""


@kernel
def steer(along, left, first, rate, towards, off, decay, gain, integral, limit):
    """Give the bias (rad) of all control angles that turns a worm, and the integral of the bearing (rad s).

    Args:
        along, left: Direction to go to, along and left of the head, of any length.
        first: Whether the average begins.
        rate (Hz): Calls a second.
        towards ((2,) float): Average direction, changed in place.
        off (rad s): Integral so far.
        decay, gain, integral, limit: Of a `SteeringLaw`.
    """
    # Directions, not angles, are averaged: a bearing jumps by a turn behind the tail.
    size, old = max(math.sqrt(along * along + left * left), 1e-12), 0.0 if first else decay
    towards[0] = along / size if first else old * towards[0] + (1.0 - old) * (along / size)
    towards[1] = left / size if first else old * towards[1] + (1.0 - old) * (left / size)
    bearing = math.atan2(towards[1], towards[0])
    off = min(max(off + bearing / rate, -LONGEST), LONGEST)
    # The worm turns towards its concave side: bent to the right (positive angles), it turns right.
    return min(max(-gain * bearing - integral * off, -limit), limit), off


@kernel
def _steer_rows(direction, first, rate, towards, off, decay, gain, integral, limit, bias):
    for b in range(len(direction)):
        along, left = direction[b, 0], direction[b, 1]
        own = towards[b]
        bias[b], off[b] = steer(along, left, first[b], rate, own, off[b], decay[b], gain[b], integral[b], limit[b])


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
        count = len(direction)
        towards, off, bias = np.array(memory["towards"]), np.array(memory["off"]), np.empty(count)
        law = [np.broadcast_to(each, count).copy() for each in (self.decay, self.gain, self.integral, self.limit)]
        _steer_rows(np.ascontiguousarray(direction), first, self.control_rate, towards, off, *law, bias)
        memory["towards"], memory["off"] = towards, off
        return bias[:, None]

    @property
    def decay(self) -> Floats | float:
        """Weight of the past in the average direction."""
        return np.exp(-1.0 / (self.smoothing * self.control_rate))
