"""Gait of a worm: frequency, wavenumber, amplitude and speed.

Here is what users of recorded runs need. Measures that only the figures of the paper show are in ``papers/worm``.
"""

from __future__ import annotations

import numpy as np

from ..core.kinds import takes_objects
from ..core.model.trajectory import Trajectory


class Gait:
    """Frequency, wavenumber, amplitude and speed of a worm at the dominant frequency of its joint angles.

    Args:
        run (Trajectory): Recording with ``joint_angle`` and ``centre`` at equal intervals.
        begin (s): Start of the part to analyse.

    Raises:
        ValueError: If the animal failed, or fewer than eight samples remain.
    """

    @takes_objects
    def __init__(self, run: Trajectory, begin: float = 0.0) -> None:
        late = run.time >= begin - 1e-9
        if run.failure is not None or late.sum() < 8:
            raise ValueError(f"run must not fail and have 8 samples after {begin:g} s, got {run.failure or late.sum()}")
        time, angle, centre = run.time[late], run["joint_angle"][late], run["centre"][late]
        angle = angle - angle.mean(0)
        window = np.hanning(len(time) + 2)[1:-1, None]
        long, every = 8 * len(time), float(time[1] - time[0])
        power = np.sum(np.abs(np.fft.rfft(angle * window, long, axis=0)) ** 2, 1)
        top = int(np.clip(np.argmax(power[1:]) + 1, 2, len(power) - 2))
        before, at, behind = np.log(power[top - 1 : top + 2] + 1e-300)
        bend = before - 2.0 * at + behind
        self.frequency = float(top + (0.5 * (before - behind) / bend if bend < 0.0 else 0.0)) / (long * every)
        """Dominant frequency, Hz."""
        turns = np.exp(-2j * np.pi * self.frequency * time)[:, None]
        self.joints = 2.0 * np.sum(turns * angle * window, 0) / window.sum()
        """Complex amplitudes of the joint angles at this frequency, (n - 1,) rad."""
        pair = self.joints[1:] * np.conj(self.joints[:-1])
        weight = max(float(np.sum(np.abs(pair))), 1e-300)
        self.wavenumber = -float(np.sum(np.angle(pair) * np.abs(pair)) / weight) * len(pair) / (2.0 * np.pi)
        """Number of waves on the body, negative for a wave from tail to head.

        It is the mean phase lag between neighbouring joints, weighted by the product of their amplitudes.
        """
        self.amplitude = float(np.abs(self.joints).mean())
        """Mean amplitude of the joint angles, rad."""
        total = max(float(np.sum((angle * window) ** 2)), 1e-300)
        self.share = float(np.sum(np.abs(self.joints) ** 2) / 2.0 * np.sum(window**2) / total)
        """Fraction of the variance of the joint angles at this frequency."""
        self.speed = float(np.linalg.norm(centre[-1] - centre[0]) / (time[-1] - time[0]))
        """Distance between first and last position of the centre over time, m/s."""
        period = min(max(round(1.0 / (self.frequency * every)), 1), len(time) - 1)
        sums = np.cumsum(np.vstack([np.zeros(2), centre]), 0)
        track = (sums[period:] - sums[:-period]) / period
        self.forward = float(np.linalg.norm(np.diff(track, axis=0), axis=1).mean() / every)
        """Speed along the track of the centre, averaged over a period, m/s; it ignores turns."""
