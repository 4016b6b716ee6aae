"""Steering law of the worm, used in tasks and by controllers.

Here are the law as a kernel for one row, which tasks call in their hooks, and as a class for many rows. The waves that
it bends are in ``kymogram.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.kernels.jit import kernel
from ..core.model.control import Flags, Floats

LONGEST = 6.0
"""Limit on the integral of the bearing over time, rad s."""

REMEMBERED = {"towards": "2f8", "off": "f8"}
"""Memory of the steering law, for a task's ``memory_fields``: average direction and integral of the bearing (rad s)."""


@kernel
def steer(along, left, first, rate, towards, off, decay, gain, integral, limit):
    """Return the bias (rad) of all control angles that turns a worm, and the integral of the bearing (rad s).

    Args:
        along, left: Direction of the goal, along and to the left of the head, of any length.
        first: True in the first period of an episode.
        rate (Hz): Control rate.
        towards ((2,) float): Average direction, updated in place.
        off (rad s): Integral of the bearing until now.
        decay, gain, integral, limit: Parameters of a `SteeringLaw`.
    """
    # The average is over directions, because the bearing jumps by 2 pi behind the tail.
    size, old = max(math.sqrt(along * along + left * left), 1e-12), 0.0 if first else decay
    towards[0] = along / size if first else old * towards[0] + (1.0 - old) * (along / size)
    towards[1] = left / size if first else old * towards[1] + (1.0 - old) * (left / size)
    bearing = math.atan2(towards[1], towards[0])
    off = min(max(off + bearing / rate, -LONGEST), LONGEST)
    # The worm turns towards its concave side: to the right if joint angles are positive.
    return min(max(-gain * bearing - integral * off, -limit), limit), off


@kernel
def _steer_rows(direction, first, rate, towards, off, decay, gain, integral, limit, bias):
    for b in range(len(direction)):
        along, left = direction[b, 0], direction[b, 1]
        own = towards[b]
        bias[b], off[b] = steer(along, left, first[b], rate, own, off[b], decay[b], gain[b], integral[b], limit[b])


@dataclass(eq=False)
class SteeringLaw:
    """Proportional-integral steering: a bias of all control angles from the bearing of a goal.

    The bias is ``-gain * bearing - integral * integral of the bearing``, clipped to ``limit``. The bearing is an
    exponential average, because it oscillates with the head.

    Args:
        control_rate (Hz): Number of calls per second.
        smoothing (s): Time constant of the average.
        gain, limit, integral (1, rad and 1/s): Gain, limit of the bias, and gain of the integral, which is limited to
            `LONGEST`.

    Parameters other than the rate are numbers or have one number per row, (B,).
    """

    control_rate: float
    smoothing: Floats | float = 1.6
    gain: Floats | float = 0.1
    limit: Floats | float = 0.15
    integral: Floats | float = 0.0

    def bias(self, direction: Floats, first: Flags, memory: Any) -> Floats:
        """Return the bias (B, 1), rad, that turns each worm to its goal; positive turns right.

        Args:
            direction ((B, 2) float): Direction of the goal, along and to the left of the head.
            first ((B,) bool): True for rows in the first period of an episode.
            memory: Mapping with the entries of `REMEMBERED` for all rows, updated in place.
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
