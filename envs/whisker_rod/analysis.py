"""What the paper reads from a recording: stations, sticks and slips, spectra, modes, event averages.

All take a trajectory of :func:`gymnosoma.envs.simulate`. The maps of Figs 2, 3 and 5 are signals by
themselves: ``run["curvature_change"]`` and ``run["moment"]`` over ``run.time`` and ``run["arc"]``.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.signal import welch

from ..core.simulate import Trajectory


def station(run: Trajectory, name: str, s: float) -> NDArray[np.float64]:
    """Signal along the whisker, (T,) or (T, 2), at the distance ``s`` (m) from the base.

    Parameters
    ----------
    run : Trajectory
    name : str
        ``moment`` or ``curvature_change``, or of the nodes ``centreline``, ``velocity``, ``acceleration``.
    s : float, m
    """
    values, arc = run[name], run["arc"][0]
    arc = arc[: values.shape[1]]  # joints lie at the inner ends of the segments
    if not arc[0] <= s <= arc[-1]:
        raise ValueError(f"s must lie within {arc[0]:g} and {arc[-1]:g} m, got {s!r}")
    i = max(int(np.searchsorted(arc, s)) - 1, 0)
    f = (s - arc[i]) / (arc[i + 1] - arc[i])
    return (1.0 - f) * values[:, i] + f * values[:, i + 1]


def _peaks(signal: NDArray[np.float64], threshold: float) -> NDArray[np.int64]:
    """Frame of the maximum of each stretch in which ``signal`` (T,) exceeds ``threshold``."""
    edges = np.diff((signal > threshold).astype(int), prepend=0, append=0)
    stretches = zip(np.flatnonzero(edges > 0), np.flatnonzero(edges < 0), strict=True)
    return np.array([start + int(np.argmax(signal[start:end])) for start, end in stretches], np.int64)


def slips(run: Trajectory, speed: float) -> NDArray[np.int64]:
    """Frames of slips, at which the plate passes the tip fastest, over 1.5 times its ``speed`` (m/s)."""
    return _peaks(np.abs(run["slip_speed"]), 1.5 * abs(speed))


def sticks(run: Trajectory, s: float = 3e-3) -> NDArray[np.int64]:
    """Frames of sticks, at which the plate drags the whisker along most, seen at ``s`` (m) from the base; Fig. 1E.

    The paper moves the whisker over the surface and takes minima of its velocity below the driving
    speed; here the plate moves along +x, and these are maxima above zero.
    """
    return _peaks(station(run, "velocity", s)[:, 0], 0.0)


def spectrum(signal: NDArray[np.float64], rate: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Frequencies (Hz) and power spectral density of ``signal`` (T,), sampled at ``rate`` (Hz)."""
    return welch(signal, rate, nperseg=min(len(signal), 1024), detrend="constant")


def band_shares(
    signal: NDArray[np.float64], rate: float, edges: tuple[float, ...] = (40.0, 140.0, 300.0, 550.0, 2000.0)
) -> NDArray[np.float64]:
    """Fractions of the power between ``edges`` (Hz), of that above the first; by default modes 1, 2, 3, higher ones."""
    frequency, power = spectrum(signal, rate)
    parts = [power[(frequency >= low) & (frequency < high)].sum() for low, high in pairwise(edges)]
    return np.array(parts) / power[frequency >= edges[0]].sum()


def principal_mode(run: Trajectory, first: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shape (n,) in which the moment varies most from frame ``first`` on, and the places (m) of its nodes; Fig. 5J."""
    moment, s = run["moment"][first:], run["arc"][0][:-1]
    shape = np.linalg.svd(moment - moment.mean(0), full_matrices=False)[2][0]
    i = np.flatnonzero(shape[1:] * shape[:-1] < 0.0)
    return shape, s[i] + (s[i + 1] - s[i]) * shape[i] / (shape[i] - shape[i + 1])


def around(signal: NDArray[np.float64], events: NDArray[np.int64], before: int, after: int) -> NDArray[np.float64]:
    """Mean course of ``signal`` (T,) from ``before`` to ``after`` frames about ``events``; Figs 3D, 3E, 4C and 5G."""
    events = events[(events >= before) & (events + after < len(signal))]
    return signal[events[:, None] + np.arange(-before, after + 1)].mean(0)
