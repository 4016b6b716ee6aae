"""Steering of the lamprey's cord by its brainstem, and equivalent commands of motoneurons.

Here are the laws as kernels for one row, which tasks call in their hooks, and as functions and a class for many rows.
The cord is in ``nerves.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..core.kernels.jit import kernel
from ..core.kernels.maths import total
from ..core.model.control import Flags, Floats
from .params import motoneuron, table


@cache
def response() -> Floats:
    """Return the constants of a motoneuron for `command_of`, (4,)."""
    return np.array(motoneuron()[0][["threshold", "gain", "excite", "inhibit"]].item())


@kernel
def command_of(excite, inhibit, response):
    """Return the command of a motoneuron with these inputs, see `command`."""
    threshold, gain = response[0], response[1]
    u = 1.0 - math.exp((threshold - excite) * gain) - inhibit
    enough = threshold - math.log1p(-max(u, 0.0)) / gain
    return enough / response[2] if u > 0.0 else u / response[3]


@kernel
def _commands(excite, inhibit, response, commands):
    for i in range(len(commands)):
        commands[i] = command_of(excite[i], inhibit[i], response)


def command(excite: Floats, inhibit: Floats) -> Floats:
    """Return the commands of motoneurons that have the same steady output as these inputs; Ekeberg (1993), Eq. 2.

    Args:
        excite, inhibit: Excitatory and inhibitory inputs of motoneurons. Only their net effect remains, because a
            command either excites or inhibits.
    """
    commands = np.empty(excite.size)
    _commands(excite.ravel(), inhibit.ravel(), response(), commands)
    return commands.reshape(excite.shape)


@kernel
def steer(along, left, first, recent, gain, limit):
    """Return the asymmetry of the brainstem's drive that turns a lamprey to its goal.

    Args:
        along, left: Vector to the goal, along and to the left of the heading, of any length.
        first: True in the first period of an episode.
        recent ((2, K) float): Last directions of the goal, updated in place; the newest one is at the end.
        gain (1/rad), limit: Parameters of a `Steering`.
    """
    size, last = max(math.sqrt(along * along + left * left), 1e-12), recent.shape[1] - 1
    for k in range(last + 1):
        old = not first and k < last
        recent[0, k] = recent[0, k + 1] if old else along / size
        recent[1, k] = recent[1, k + 1] if old else left / size
    # The average is over directions, because the bearing jumps by 2 pi behind the tail.
    bearing = math.atan2(total(recent[1]), total(recent[0]))
    return min(max(-gain * bearing, -limit), limit)


@kernel
def _steer_rows(way, first, recent, gain, limit, asymmetry):
    for b in range(len(way)):
        asymmetry[b] = steer(way[b, 0], way[b, 1], first[b], recent[b], gain, limit)


@dataclass(frozen=True)
class Steering:
    """Proportional heading control by the drive of the brainstem, which is increased on the side of the goal.

    The asymmetry is ``-gain * bearing``, clipped to ``limit``.

    Args:
        level: Tonic level.
        gain (1/rad): Gain of the asymmetry.
        limit: Maximum asymmetry.
        smoothing (s): Time of a moving average of the bearing, because the heading oscillates with the body.
    """

    level: float = 0.4
    gain: float = 0.25
    limit: float = 0.2
    smoothing: float = 0.25

    def kept(self, control_rate: float) -> int:
        """Return the number K of directions in the moving average."""
        return max(round(self.smoothing * control_rate), 1)

    def asymmetry(self, way: Floats, first: Flags, recent: Floats) -> Floats:
        """Return asymmetries (B,) for vectors (B, 2) to the goal, by `steer`; updates ``recent`` (B, 2, K)."""
        result = np.empty(len(way))
        _steer_rows(np.ascontiguousarray(way), first, recent, float(self.gain), float(self.limit), result)
        return result

    def drive(self, asymmetry: Floats) -> Floats:
        """Return the drive (B, 3): tonic level, asymmetry and head extra."""
        drive = np.empty((len(asymmetry), 3))
        drive[:, 0], drive[:, 1], drive[:, 2] = self.level, asymmetry, table()["head_extra"]
        return drive
