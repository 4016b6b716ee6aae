"""Kernels for the bookkeeping of rows in each step of a `Batch`."""

from __future__ import annotations

import numpy as np

from ..kernels.jit import kernel


@kernel
def clip_actions(actions, clipped):
    """Clip actions to [-1, 1]; return whether all of them are finite.

    Args:
        actions ((B, n) float)
        clipped ((B, n) float64): Output.

    Returns:
        bool
    """
    zero = 0.0
    for b in range(actions.shape[0]):
        for j in range(actions.shape[1]):
            a = np.float64(actions[b, j])
            zero += a * 0.0
            clipped[b, j] = min(max(a, -1.0), 1.0)
    return zero == 0.0


@kernel
def limit_change(target, before, largest, step, drive):
    """Move a drive towards a target, with limits on its magnitude and its change.

    Args:
        target, before ((B, n) float64): Target, and present drive.
        largest, step: Largest magnitude, and largest change.
        drive ((B, n) float64): Output.
    """
    for b in range(target.shape[0]):
        for j in range(target.shape[1]):
            wanted = min(max(target[b, j], -largest), largest)
            drive[b, j] = min(max(wanted, before[b, j] - step), before[b, j] + step)


@kernel
def scale_down(values, scale, limit, scaled):
    """Divide values by the scales of their columns and clip them.

    Args:
        values ((B, d) float64)
        scale ((d,) float64)
        limit: Largest magnitude of a result.
        scaled ((B, d) float32): Output.
    """
    for b in range(values.shape[0]):
        for j in range(values.shape[1]):
            scaled[b, j] = min(max(values[b, j] / scale[j], -limit), limit)


@kernel
def close_step(status, ending, elapsed, limit, terminated, truncated):
    """Find the episodes that a step ends: failed animals and endings of tasks terminate, the time limit truncates.

    Args:
        status ((B,) float): Status of the animals; 0: no failure.
        ending ((B,) float): Ending of the tasks; 0: the episode goes on.
        elapsed ((B,) float): Steps of the episodes; one is added.
        limit: Steps after which an episode is truncated.
        terminated, truncated ((B,) bool): Output.

    Returns:
        bool: Whether any episode is over.
    """
    over = False
    for b in range(len(status)):
        elapsed[b] += 1.0
        terminated[b] = (status[b] != 0.0) | (ending[b] != 0.0)
        truncated[b] = elapsed[b] >= limit
        over |= terminated[b] | truncated[b]
    return over
