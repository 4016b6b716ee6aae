"""Behaviour of a recorded or simulated worm: sines along the body, forward and backward crawling, and turns.

The method is that of Chung, Chang & Kim (2024), Methods, "Defining behavioral categories".
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs import Trajectory
from gymnosoma.envs.core.arguments import choice, number, numbers
from gymnosoma.envs.core.kinds import takes_objects

from .joint_angles import Kymogram
from .motion import Motion
from .units import Array, runs

TURN = 0.07
"""Smoothed offset (rad) beyond which a worm turns."""

SMOOTHING = 0.5
"""Window of the Savitzky-Golay filter, s."""

LONGEST = 3.0
"""Longest wave that is fitted, body lengths; a longer one is a straight worm. The paper's worms have 0.5 to 1.1."""

MISFIT = 0.5
"""Share of a frame's variance that a sine may leave before the fit starts again from the frame itself."""

SIDES = ("negative", "positive", "either")


class SineFit(NamedTuple):
    """Sines fitted to the joint angles of each frame, (N,) each; NaN in frames without measurement or fit.

    theta = amplitude sin(2 pi (xi - phase) / wavelength) + offset, with xi from 0 (head) to 1 (tail),
    amplitude >= 0 and 0 <= phase < wavelength.
    """

    amplitude: Array
    wavelength: Array
    phase: Array
    offset: Array


class Behaviour(NamedTuple):
    """Behaviour of a worm in each frame, (N,) each.

    ``label`` is "forward", "backward", "turn" or "unknown". ``phase_rate`` is the smoothed speed of the wave towards
    the tail, in body lengths per second. ``offset`` (rad) is the smoothed mean joint angle. Both are NaN in unknown
    frames.
    """

    label: NDArray[np.str_]
    phase_rate: Array
    offset: Array


class Phase(NamedTuple):
    """Frames ``start`` to ``stop - 1`` with the same behaviour."""

    label: str
    start: int
    stop: int


def _sine(xi: Array, amplitude: float, wavelength: float, phase: float, offset: float) -> Array:
    return amplitude * np.sin(2 * np.pi / wavelength * (xi - phase)) + offset


def _sine_slopes(xi: Array, amplitude: float, wavelength: float, phase: float, offset: float) -> Array:
    # The finite differences of curve_fit fail at tiny phases, because their step is proportional to the phase.
    wave = 2 * np.pi / wavelength
    slope = amplitude * wave * np.cos(wave * (xi - phase))
    return np.stack([np.sin(wave * (xi - phase)), slope * (phase - xi) / wavelength, -slope, np.ones_like(xi)], -1)


def _guess(xi: Array, frame: Array) -> tuple[float, float, float, float]:
    """Return the first guess of a sine from the crest and the trough of a frame."""
    high, low = xi[frame.argmax()], xi[frame.argmin()]
    # The paper's initial wavelength is negative if the trough is behind the crest.
    wavelength = 2 * abs(high - low) or 1.0
    return 0.5 * float(np.ptp(frame)), wavelength, high - wavelength / 4, float(frame.mean())


def fit_sine(joint_angle: ArrayLike) -> SineFit:
    """Fit a sine along the body to each frame, starting from the fit of the previous frame.

    A fit that leaves over half of the frame's variance starts again from its crest and trough, and the better one
    counts.

    Args:
        joint_angle ((N, n - 1) float, rad): Joint angles of the frames; frames with NaN are left out.

    Returns:
        SineFit: NaN in frames that are left out, in those in which the fit does not converge, and where the wave would
            be longer than three body lengths, as in a straight worm.

    Raises:
        ValueError: If joint_angle is not a matrix with at least four joints, or contains infinite numbers.

    Examples:
        >>> xi = np.linspace(0.0, 1.0, 24)
        >>> fit = fit_sine([0.4 * np.sin(2 * np.pi * (xi - 0.1) / 0.7) + 0.05])
        >>> [round(float(value[0]), 3) for value in fit]
        [0.4, 0.7, 0.1, 0.05]
    """
    angles = np.asarray(joint_angle, float)
    if angles.ndim != 2 or angles.shape[1] < 4:
        raise ValueError(f"joint_angle must have shape (frames, joints) with joints >= 4, got {angles.shape}")
    numbers("joint_angle", angles[~np.isnan(angles)])
    xi = np.linspace(0.0, 1.0, angles.shape[1])
    fits = np.full((len(angles), 4), np.nan)
    guess: tuple[float, ...] | None = None
    for i, frame in enumerate(angles):
        if np.isnan(frame).any():
            guess = None
            continue
        fit = None if guess is None else _fitted(xi, frame, guess)
        if fit is None or _misfit(xi, frame, fit) > MISFIT:
            again = _fitted(xi, frame, _guess(xi, frame))
            if fit is None or (again is not None and _misfit(xi, frame, again) < _misfit(xi, frame, fit)):
                fit = again
        guess = fit
        if fit is not None:
            fits[i] = fit
    return SineFit(*fits.T)


def _misfit(xi: Array, frame: Array, fit: tuple[float, ...]) -> float:
    """Return the variance of a frame that its sine leaves, relative to all of it."""
    spread = float(np.var(frame))
    return float(np.mean((frame - _sine(xi, *fit)) ** 2)) / spread if spread else 0.0


def _fitted(xi: Array, frame: Array, guess: tuple[float, ...]) -> tuple[float, ...] | None:
    """Return amplitude, wavelength, phase and offset of the sine of a frame, None without a fit."""
    from scipy.optimize import curve_fit  # slow to import

    if not np.ptp(frame):
        return None
    try:
        amplitude, wavelength, phase, offset = curve_fit(_sine, xi, frame, guess, jac=_sine_slopes)[0]
    except RuntimeError:  # no convergence
        return None
    if not 0.0 < wavelength <= LONGEST:
        return None
    if amplitude < 0:
        amplitude, phase = -amplitude, phase - wavelength / 2
    return amplitude, wavelength, phase % wavelength, offset


@takes_objects
def classify(worm: Kymogram | Motion | Trajectory, side: str = "negative", turn: float = TURN) -> Behaviour:
    """Classify the frames of a worm as forward or backward locomotion, or as turns.

    Args:
        worm: Joint angles of one of these:

            - Kymogram: at its frames.
            - Motion: at its times, of which each frame has several. Times in long gaps are unknown.
            - Trajectory, such as the result of `forces` or `simulate`: at its times, so that the labels belong to its
              signals. Times that are not reliable are unknown.
        side ({"negative", "positive", "either"}): Sign of the mean joint angle in turns. The paper counts turns to one
            side only, which is the negative one for its model; in a recording the sign depends on mirroring.
        turn (rad): Smoothed mean joint angle beyond which the worm turns. The paper's is 0.07 for 24 joints.

    Returns:
        Behaviour: With the label "unknown" in frames without measurement, and in stretches shorter than half a second.

    Raises:
        ValueError: If an argument is invalid, or the times are fewer than eight per second.

    Examples:
        A wave that travels 0.5 body lengths per second towards the tail:

        >>> time, xi = np.arange(64)[:, None] / 32, np.linspace(0.0, 1.0, 24)
        >>> behaviour = classify(Kymogram(0.4 * np.sin(2 * np.pi * (xi / 0.7 - time / 1.4)), 32.0))
        >>> str(behaviour.label[10]), round(float(behaviour.phase_rate[10]), 3)
        ('forward', 0.5)
    """
    choice("side", side, SIDES)
    number("turn", turn, above=0.0)
    angles, interval = _angles(worm)
    window = 2 * int(SMOOTHING / interval / 2) + 1
    if window < 5:
        raise ValueError(f"worm must have at least 8 times per second, got {1 / interval:.3g}")
    fit = fit_sine(angles)
    label = np.full(len(angles), "unknown", "<U8")
    phase_rate, offset = np.full((2, len(angles)), np.nan)
    for start, stop in runs(np.isfinite(fit.phase)):
        if stop - start >= window:
            own = slice(start, stop)
            phase_rate[own], offset[own] = _smoothed(SineFit(*(values[own] for values in fit)), window, interval)
    aside = {"negative": -offset, "positive": offset, "either": np.abs(offset)}[side]
    known = np.isfinite(offset)
    label[known] = np.where(aside > turn, "turn", np.where(phase_rate > 0, "forward", "backward"))[known]
    return Behaviour(label, phase_rate, offset)


def _angles(worm: Kymogram | Motion | Trajectory) -> tuple[Array, float]:
    """Return the joint angles (N, n - 1), NaN if they are not reliable, and the time between them, s."""
    if isinstance(worm, Kymogram):
        return worm.angles, 1.0 / worm.rate
    if not isinstance(worm, Motion | Trajectory):
        raise ValueError(f"worm must be a Kymogram, a Motion or a Trajectory, got {type(worm).__name__}")
    if isinstance(worm, Motion):
        angles, reliable = worm.joint_angle, worm.reliable
    else:
        angles = worm["joint_angle"]
        reliable = worm["reliable"] > 0.0 if "reliable" in worm else np.ones(len(worm.time), bool)
    if len(worm.time) < 2:
        raise ValueError(f"worm must have at least 2 times, got {len(worm.time)}")
    # Times are multiples of the time step, so that their differences vary if `every` is not one.
    interval = float(worm.time[-1] - worm.time[0]) / (len(worm.time) - 1)
    return np.where(reliable[:, None], angles, np.nan), interval


def _smoothed(fit: SineFit, window: int, interval: float) -> tuple[Array, Array]:
    """Return the smoothed speed of the wave (body lengths/s) and offset (rad) of frames without gaps."""
    from scipy.signal import savgol_filter  # slow to import

    jump = np.diff(fit.phase)
    wavelength = fit.wavelength[1:]
    jump += wavelength * ((jump < -wavelength / 2).astype(float) - (jump > wavelength / 2))
    phase = fit.phase[0] + np.concatenate([[0.0], np.cumsum(jump)])
    phase_rate = savgol_filter(phase, window, 2, deriv=1, delta=interval)
    offset_rate = savgol_filter(fit.offset, window, 2, deriv=1, delta=interval)
    offset = np.concatenate([[0.0], np.cumsum(0.5 * interval * (offset_rate[1:] + offset_rate[:-1]))])
    return phase_rate, offset + (fit.offset.mean() - offset.mean())


def phases(label: NDArray[np.str_]) -> list[Phase]:
    """Split the labels (N,) of `classify` into phases of one behaviour each.

    Examples:
        >>> [tuple(phase) for phase in phases(np.array(["forward", "forward", "turn"]))]
        [('forward', 0, 2), ('turn', 2, 3)]
    """
    cuts = [0, *(np.flatnonzero(label[1:] != label[:-1]) + 1), len(label)]
    return [Phase(str(label[a]), int(a), int(b)) for a, b in pairwise(cuts)]


def phase_means(values: ArrayLike, label: NDArray[np.str_]) -> Array:
    """Average a signal, such as the power, over each phase of the behaviour.

    Args:
        values ((N,) float): Signal at the times of the labels.
        label ((N,) str): Labels of `classify`.

    Returns:
        array: Mean of each of `phases`.

    Raises:
        ValueError: If values and label differ in length.
    """
    values = np.asarray(values)
    if values.shape != label.shape:
        raise ValueError(f"values must have the shape of label, {label.shape}, got {values.shape}")
    return np.array([values[phase.start : phase.stop].mean() for phase in phases(label)])
