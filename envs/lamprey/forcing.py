"""Kernel of external torques that bend a swimming lamprey, sinusoidal with a lag for each joint."""

from __future__ import annotations

import numpy as np

from ..core.kernels.jit import kernel, sincos


@kernel
def force(xs, dt):
    """Set the ``forced_torque`` of each joint at the middle of the next step of ``dt`` (s).

    It is ``forced_bending * cos(2 pi forced_frequency t - forced_lag)``. A positive torque increases the joint angle.
    """
    x = xs[0]
    joints, lanes = x.forced_bending.shape
    forced = False
    for j in range(joints):
        for e in range(lanes):
            forced |= (x.forced_bending[j, e] != 0.0) | (x.forced_torque[j, e] != 0.0)
    for j in range(joints if forced else 0):
        for e in range(lanes):
            phase = 2.0 * np.pi * x.forced_frequency[e] * (x.time[e] + 0.5 * dt) - x.forced_lag[j, e]
            torque = x.forced_bending[j, e] * sincos(phase)[1]
            x.forced_torque[j, e] = torque if x.forced_bending[j, e] != 0.0 else 0.0
