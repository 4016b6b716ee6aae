"""Kernels for the bookkeeping of rows in each step of a `TaskBatch`."""

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
def close_step(status, ending, elapsed, limit, terminated, truncated, needs_reset):
    """Find the episodes that a step ends: failed animals and endings of tasks terminate, the time limit truncates.

    Args:
        status ((B,) float): Status of the animals; 0: no failure.
        ending ((B,) float): Ending of the tasks; 0: the episode goes on.
        elapsed ((B,) float): Steps of the episodes; one is added.
        limit: Steps after which an episode is truncated.
        terminated, truncated, needs_reset ((B,) bool): Output; ``needs_reset``: either of them.
    """
    for b in range(len(status)):
        elapsed[b] += 1.0
        terminated[b] = (status[b] != 0.0) | (ending[b] != 0.0)
        truncated[b] = elapsed[b] >= limit
        needs_reset[b] = terminated[b] | truncated[b]
