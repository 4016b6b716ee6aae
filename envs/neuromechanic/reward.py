"""The reward of standing figures, computed in every step of `tasks`."""

from __future__ import annotations

import math

from ..core.kernels.jit import kernel
from .contact import SLIP


@kernel
def reward_standing(q, v, torque, mode, leg, most, rate, work, largest, reward):
    """Write the ``reward`` (B,) of standing figures, and bring up to date what their hips have done.

    Args:
        q, v ((B, 5) float): Joints (m, rad) and their rates.
        torque ((B, 2) float, N m): Of the hips.
        mode ((B, c) float): Of the contacts.
        leg ((B,) float, rad): Angle of the legs out of the vertical in the stance at the start.
        most (N m): Torque at which effort counts as one.
        rate: Control periods a second.
        work, largest ((B,) float, J and N m): Done by the hips so far, and the largest torque of a hip.
    """
    for b in range(len(reward)):
        left, right = torque[b, 0], torque[b, 1]
        work[b] += (max(left * v[b, 3], 0.0) + max(right * v[b, 4], 0.0)) / rate
        largest[b] = max(largest[b], abs(left), abs(right))
        lean = math.sqrt((q[b, 2] ** 2 + (q[b, 3] + leg[b]) ** 2 + (q[b, 4] - leg[b]) ** 2) / 3.0)
        effort = ((left / most) ** 2 + (right / most) ** 2) / 2.0
        slips = 0.0
        for c in range(mode.shape[1]):
            slips += 1.0 if mode[b, c] >= SLIP else 0.0
        slips /= mode.shape[1]
        near = 1.0 / (1.0 + (1.0 / 0.1 - 1.0) * (lean / 0.5) ** 2)  # `tolerance` with a margin of 0.5 rad
        reward[b] = 1.0 - 0.4 * (1.0 - near) - 0.1 * effort - 0.1 * slips
