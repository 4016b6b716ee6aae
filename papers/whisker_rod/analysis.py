"""Measures of the whisker rod's paper: stations, sticks and slips, spectra, modes, event averages.

The functions take a trajectory of :func:`gymnosoma.envs.simulate` or of `slide`. The maps of Figs 2, 3 and 5 are
signals of the trajectory: ``run["curvature_change"]`` and ``run["moment"]`` over ``run["time"]`` and ``run["arc"]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import welch

from gymnosoma.envs.core.model.simulate import simulate
from gymnosoma.envs.core.model.trajectory import Trajectory
from gymnosoma.envs.whisker_rod import WhiskerRod
from gymnosoma.envs.whisker_rod.params import table

Run = Mapping[str, NDArray[np.float64]]
"""Trajectory, a mapping of names to signals (T, ...), such as `gymnosoma.envs.simulate` returns."""

FRAME = 0.25e-3
"""Interval between frames of the paper's camera, s."""

ENDS = "tip", "base"

STEADY_FRICTION = 0.1991
"""Friction coefficient mu of steady sliding at 0.2 m/s, from Eq. 13 at mu_* = 0.37."""


def slide(
    animal: WhiskerRod,
    duration: float,
    count: int = 1,
    start: Mapping[str, ArrayLike] | None = None,
    every: float = FRAME,
    signals: tuple[str, ...] = ("arc", "moment", "acceleration", "velocity", "base_wrench", "slip_speed"),
    progress: Callable[[float], None] | None = None,
    speed: ArrayLike | None = None,
) -> list[Trajectory]:
    """Slide a plate under ``count`` whiskers at the same time.

    Args:
        animal: Model of the whiskers.
        duration (s): Simulated time.
        count: Number of whiskers.
        start, signals, progress: As in `simulate`.
        every (s): Interval between records, a multiple of the time step.
        speed (m/s): Speed of the plate; by default the paper's 0.2.

    Returns:
        list of Trajectory: One for each whisker.

    Raises:
        RuntimeError: If the simulation of a whisker fails.
    """
    drive = np.zeros((count, 3))
    drive[:, 0] = table()["plate_speed"] if speed is None else speed
    runs = simulate(animal, drive, duration, every, start, every, count=count, signals=signals, progress=progress)
    for b, run in enumerate(runs):
        if run.failure is not None:
            raise RuntimeError(f"whisker {b}: {run.failure}")
    return runs


def correlations(run: Run, window: slice, filmed: bool = False) -> dict[str, float]:
    """Compute the correlation coefficients of Fig. 5 and its text.

    Args:
        run: Trajectory recorded in frames.
        window: Frames to use.
        filmed: Compute accelerations from the positions by central differences, twice, as from the paper's videos;
            if False, use those of the simulation.

    Returns:
        dict: ``acceleration`` (tip and base, along x), ``normal`` and ``axial`` (acceleration of the base and the force
        on it, Fx or Fy), and ``moment`` (tip and base).
    """
    t = table()

    def r(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
        return float(np.corrcoef(a[window], b[window])[0, 1])

    places = {end: station(run, "centreline" if filmed else "acceleration", t[f"{end}_station"])[:, 0] for end in ENDS}
    tip, base = (np.gradient(np.gradient(place)) if filmed else place for place in places.values())
    return {
        "acceleration": r(tip, base),
        "normal": r(base, run["base_wrench"][:, 1]),
        "axial": r(base, run["base_wrench"][:, 2]),
        "moment": r(*(station(run, "moment", t[f"{end}_station"]) for end in ENDS)),
    }


def station(run: Run, name: str, s: float) -> NDArray[np.float64]:
    """Interpolate a signal of joints or nodes, (T,) or (T, 2), at the distance ``s`` (m) from the base."""
    values, arc = run[name], run["arc"][0]
    arc = arc[: values.shape[1]]  # joints are at the inner ends of the segments
    if not arc[0] <= s <= arc[-1]:
        raise ValueError(f"s must be within {arc[0]:g} and {arc[-1]:g} m, got {s!r}")
    i = max(int(np.searchsorted(arc, s)) - 1, 0)
    f = (s - arc[i]) / (arc[i + 1] - arc[i])
    return (1.0 - f) * values[:, i] + f * values[:, i + 1]


def _peaks(signal: NDArray[np.float64], threshold: float) -> NDArray[np.int64]:
    """Return the frame of the maximum in each interval in which ``signal`` (T,) exceeds ``threshold``."""
    stretches = _intervals(signal > threshold)
    return np.array([start + int(np.argmax(signal[start:end])) for start, end in stretches], np.int64)


def _intervals(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the first frame, and the frame after the last, of each interval (N, 2) in which ``mask`` (T,) is true."""
    edges = np.diff(mask.astype(int), prepend=0, append=0)
    return np.stack([np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)], 1)


def slips(run: Run, speed: float) -> NDArray[np.int64]:
    """Return the frames of slips: maxima of the slip speed above 1.5 times the plate's ``speed`` (m/s)."""
    return _peaks(np.abs(run["slip_speed"]), 1.5 * abs(speed))


def sticks(run: Run, s: float = 3e-3) -> NDArray[np.int64]:
    """Return the frames of sticks: maxima of the whisker's velocity at ``s`` (m) from the base; Fig. 1E.

    In the paper the whisker moves over the surface, and sticks are minima of its velocity below the driving speed. Here
    the plate moves along +x, so they are maxima above zero.
    """
    return _peaks(station(run, "velocity", s)[:, 0], 0.0)


def tip_sticks(run: Run, speed: float, share: float = 0.05) -> NDArray[np.int64]:
    """Return the first and last frame (N, 2) of the intervals in which the tip itself sticks.

    Args:
        run: Trajectory with the signal ``slip_speed``.
        speed (m/s): Speed of the plate.
        share: Slip speed, relative to the plate's, below which the tip sticks.

    Examples:
        >>> tip_sticks({"slip_speed": np.array([0.2, 0.001, -0.002, 0.3, 0.0, 0.2])}, 0.2).tolist()
        [[1, 2], [4, 4]]
    """
    return _intervals(np.abs(run["slip_speed"]) < share * abs(speed)) - np.array([0, 1])


def spectrum(signal: NDArray[np.float64], rate: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the frequencies (Hz) and power spectral density of ``signal`` (T,), sampled at ``rate`` (Hz)."""
    return welch(signal, rate, nperseg=min(len(signal), 1024), detrend="constant")


def band_shares(
    signal: NDArray[np.float64], rate: float, edges: tuple[float, ...] = (40.0, 140.0, 300.0, 550.0, 2000.0)
) -> NDArray[np.float64]:
    """Return the power in each band over the power in all, by default of modes 1, 2, 3 and all higher ones.

    Examples:
        A tone in the band of mode 1, and one of half its amplitude (a quarter of its power) in the band of mode 2:

        >>> t = np.arange(4096) / 4000.0
        >>> moment = np.sin(2 * np.pi * 90.0 * t) + 0.5 * np.sin(2 * np.pi * 220.0 * t)
        >>> band_shares(moment, 4000.0).round(2).tolist()
        [0.8, 0.2, 0.0, 0.0]
    """
    frequency, power = spectrum(signal, rate)
    parts = [power[(frequency >= low) & (frequency < high)].sum() for low, high in pairwise(edges)]
    return np.array(parts) / power[frequency >= edges[0]].sum()


def principal_mode(run: Run, first: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first principal component (n,) of the moment along the whisker, and its nodes (m); Fig. 5J.

    The component is computed from frame ``first`` on. It has length 1 and an arbitrary sign.

    Examples:
        A steady moment plus a standing wave with nodes at 10 and 20 mm from the base:

        >>> s = np.linspace(0.0, 30e-3, 61)
        >>> wave = np.sin(2 * np.pi * 100.0 * np.arange(200) / 4000.0)
        >>> moment = 1e-8 + 1e-9 * wave[:, None] * np.cos(np.pi * (s[:-1] - 5e-3) / 10e-3)
        >>> shape, nodes = principal_mode({"moment": moment, "arc": np.tile(s, (200, 1))})
        >>> nodes.round(6).tolist()
        [0.01, 0.02]
    """
    moment, s = run["moment"][first:], run["arc"][0][:-1]
    shape = np.linalg.svd(moment - moment.mean(0), full_matrices=False)[2][0]
    i = np.flatnonzero(shape[1:] * shape[:-1] < 0.0)
    return shape, s[i] + (s[i + 1] - s[i]) * shape[i] / (shape[i] - shape[i + 1])


def around(signal: NDArray[np.float64], events: NDArray[np.int64], before: int, after: int) -> NDArray[np.float64]:
    """Average ``signal`` (T,) from ``before`` frames before to ``after`` frames after events; Figs 3D, 3E, 4C, 5G."""
    events = events[(events >= before) & (events + after < len(signal))]
    return signal[events[:, None] + np.arange(-before, after + 1)].mean(0)
