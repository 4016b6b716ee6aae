"""Bookkeeping of rows in every step of a `Batch`: as kernels, because it is done so often."""

from __future__ import annotations

import numpy as np

from ..kernels.jit import kernel


@kernel
def clip_actions(actions, clipped):
    """Clip actions to [-1, 1]; tell whether all of them are finite.

    Args:
        actions ((B, n) float)
        clipped ((B, n) float64): Written.

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
    """Come as near to a target as a drive may be, and as fast as it may change.

    Args:
        target, before ((B, n) float64): What is wanted, and the drive so far.
        largest, step: Largest magnitude, and largest change.
        drive ((B, n) float64): Written.
    """
    for b in range(target.shape[0]):
        for j in range(target.shape[1]):
            wanted = min(max(target[b, j], -largest), largest)
            drive[b, j] = min(max(wanted, before[b, j] - step), before[b, j] + step)


@kernel
def scale_down(values, scale, limit, scaled):
    """Divide values by the scales of their columns, within plus or minus a limit.

    Args:
        values ((B, d) float64)
        scale ((d,) float64)
        scaled ((B, d) float32): Written.
    """
    for b in range(values.shape[0]):
        for j in range(values.shape[1]):
            scaled[b, j] = min(max(values[b, j] / scale[j], -limit), limit)


@kernel
def close_step(status, ending, elapsed, limit, terminated, truncated):
    """Close a step: a failed animal or its task ends an episode, the clock truncates it.

    Args:
        status ((B,) float): Of the animals; 0 means that all is well.
        ending ((B,) float): Of the tasks; 0 while they go on.
        elapsed ((B,) float): Steps of the episodes; one is added.
        limit: Steps after which an episode is truncated.
        terminated, truncated ((B,) bool): Written.

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
