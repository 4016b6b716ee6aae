"""How a lamprey steers itself: its brainstem turns the cord to a goal, and the cord commands the motoneurons."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..core.kernels.jit import kernel
from ..core.kernels.sums import total
from ..core.model.control import Flags, Floats
from .params import motoneuron, table


@kernel
def _commands(excite, inhibit, neuron, commands):
    p = neuron[0]
    for i in range(len(commands)):
        u = 1.0 - math.exp((p.threshold - excite[i]) * p.gain) - inhibit[i]
        enough = p.threshold - math.log1p(-max(u, 0.0)) / p.gain
        commands[i] = enough / p.excite if u > 0.0 else u / p.inhibit


def command(excite: Floats, inhibit: Floats) -> Floats:
    """Command of a motoneuron that makes as much of it, in the end, as what excites and inhibits it together.

    A command does one or the other, by what is left of both where Eq. 2 of Ekeberg (1993) adds them up.
    """
    commands = np.empty(excite.size)
    _commands(excite.ravel(), inhibit.ravel(), motoneuron(), commands)
    return commands.reshape(excite.shape)


@kernel
def steer(along, left, first, recent, gain, limit):
    """Give the asymmetry of the brainstem's drive that turns a lamprey to its goal.

    Args:
        along, left: Way to the goal, along and left of the heading, of any length.
        first: Whether the lamprey has just started.
        recent ((2, K) float): Last directions of the goal, changed in place: the present one is put at the end.
        gain (1/rad), limit: Of a `Steering`.
    """
    size, last = max(math.sqrt(along * along + left * left), 1e-12), recent.shape[1] - 1
    for k in range(last + 1):
        old = not first and k < last
        recent[0, k] = recent[0, k + 1] if old else along / size
        recent[1, k] = recent[1, k + 1] if old else left / size
    # Directions, not angles, are averaged: a bearing jumps by a turn behind the tail.
    bearing = math.atan2(total(recent[1]), total(recent[0]))
    return min(max(-gain * bearing, -limit), limit)


@kernel
def _steer_rows(way, first, recent, gain, limit, asymmetry):
    for b in range(len(way)):
        asymmetry[b] = steer(way[b, 0], way[b, 1], first[b], recent[b], gain, limit)


@dataclass(frozen=True)
class Steering:
    """Proportional heading control over the drive of the brainstem.

    At a tonic ``level`` the asymmetry follows the bearing with a ``gain`` (1/rad) up to a ``limit``: the drive is
    raised on the side to turn to. As the heading swings with the body, the bearing is averaged over a time of
    ``smoothing`` (s).
    """

    level: float = 0.4
    gain: float = 0.25
    limit: float = 0.2
    smoothing: float = 0.25

    def kept(self, control_rate: float) -> int:
        """Number K of directions within the time of ``smoothing``."""
        return max(round(self.smoothing * control_rate), 1)

    def asymmetry(self, way: Floats, first: Flags, recent: Floats) -> Floats:
        """Asymmetries (B,) for ways (B, 2) to the goal, by `steer`; ``recent`` (B, 2, K) changes."""
        result = np.empty(len(way))
        _steer_rows(np.ascontiguousarray(way), first, recent, float(self.gain), float(self.limit), result)
        return result

    def drive(self, asymmetry: Floats) -> Floats:
        """Tonic level, asymmetry and head extra (B, 3)."""
        drive = np.empty((len(asymmetry), 3))
        drive[:, 0], drive[:, 1], drive[:, 2] = self.level, asymmetry, table()["head_extra"]
        return drive
