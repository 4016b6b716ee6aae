"""Behaviour of recorded worms, and playback of recordings on the model; Chung, Chang & Kim (2024), Figs. 3 and 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs.worm import Worm
from gymnosoma.envs.worm.kymogram import FRAME_RATE
from papers.simulations import ensemble

Array = NDArray[np.float64]

TURN = -0.07
"""Smoothed offset (rad) below which a worm turns (Methods, "Defining behavioral categories")."""

SMOOTHING = 0.5
"""Window of the Savitzky-Golay filter, s."""


class SineFit(NamedTuple):
    """Sines fitted to the joint angles of each frame, (N,) each (Fig. 4, supplement 1).

    theta = amplitude sin(2 pi (xi - phase) / wavelength) + offset, with xi from 0 (head) to 1 (tail),
    amplitude >= 0 and 0 <= phase < wavelength.
    """

    amplitude: Array
    wavelength: Array
    phase: Array
    offset: Array


class Behaviour(NamedTuple):
    """Behaviour of a worm in each frame, (N,) each (Fig. 4, bottom, and its supplement 1).

    ``label`` is "forward", "backward" or "turn". ``phase_rate`` is the smoothed speed of the wave towards the tail, in
    body lengths per second. ``offset`` (rad) is the smoothed mean joint angle.
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


def fit_sine(joint_angle: ArrayLike) -> SineFit:
    """Fit a sine along the body to each frame, starting from the fit of the previous frame.

    Source: Chung et al. (2024), Methods, "Defining behavioral categories".

    Args:
        joint_angle ((N, n - 1) float, rad): Joint angles of the frames.

    Raises:
        ValueError: If the fit of a frame does not converge.
    """
    from scipy.optimize import curve_fit  # slow to import

    angles = np.asarray(joint_angle, float)
    xi = np.linspace(0.0, 1.0, angles.shape[1])
    high, low = xi[angles[0].argmax()], xi[angles[0].argmin()]
    # The paper's initial wavelength is negative if the trough is behind the crest.
    wavelength = 2 * abs(high - low) or 1.0
    guess = (0.5 * np.ptp(angles[0]), wavelength, high - wavelength / 4, angles[0].mean())
    fits = np.empty((len(angles), 4))
    for i, frame in enumerate(angles):
        try:
            (amplitude, wavelength, phase, offset), _ = curve_fit(_sine, xi, frame, guess, jac=_sine_slopes)
        except RuntimeError as error:
            raise ValueError(f"joint_angle must fit a sine, got no convergence in frame {i}: {error}") from None
        if amplitude < 0:
            amplitude, phase = -amplitude, phase - wavelength / 2
        fits[i] = guess = (amplitude, wavelength, phase % wavelength, offset)
    return SineFit(*fits.T)


def classify(joint_angle: ArrayLike, interval: float = 1 / FRAME_RATE) -> Behaviour:
    """Classify frames as forward or backward locomotion, or as turns.

    Source: Chung et al. (2024), Methods, "Defining behavioral categories". Only negative mean joint angles count as
    turns, so the sign of the angles matters.

    Args:
        joint_angle ((N, n - 1) float, rad): Joint angles of the simulated worm.
        interval (s): Time between frames.
    """
    from scipy.signal import savgol_filter  # slow to import

    fit = fit_sine(joint_angle)
    jump = np.diff(fit.phase)
    wavelength = fit.wavelength[1:]
    jump += wavelength * ((jump < -wavelength / 2).astype(float) - (jump > wavelength / 2))
    phase = fit.phase[0] + np.concatenate([[0.0], np.cumsum(jump)])
    window = 2 * int(SMOOTHING / interval / 2) + 1
    phase_rate = savgol_filter(phase, window, 2, deriv=1, delta=interval)
    offset_rate = savgol_filter(fit.offset, window, 2, deriv=1, delta=interval)
    offset = np.concatenate([[0.0], np.cumsum(0.5 * interval * (offset_rate[1:] + offset_rate[:-1]))])
    offset += fit.offset.mean() - offset.mean()
    label = np.where(offset < TURN, "turn", np.where(phase_rate > 0, "forward", "backward"))
    return Behaviour(label, phase_rate, offset)


def phases(label: NDArray[np.str_]) -> list[Phase]:
    """Split the labels (N,) of `classify` into phases of one behaviour each."""
    cuts = [0, *(np.flatnonzero(label[1:] != label[:-1]) + 1), len(label)]
    return [Phase(str(label[a]), int(a), int(b)) for a, b in pairwise(cuts)]


def play(
    worm: Worm,
    angles: Array,
    start: Mapping[str, ArrayLike] | None = None,
    count: int = 1,
    rate: float = FRAME_RATE,
    signals: Sequence[str] = ("centre", "centre_velocity", "rod_angle", "rod_centre", "joint_angle"),
) -> dict[str, Array]:
    """Play a kymogram on many worms, from rest in the shape of frame 0; each frame is held for 1/rate.

    Source: Chung et al. (2024), Fig. 3; with ``start=medium(...)`` Fig. 5, supplements 2 and 3, and Appendix 1,
    Figs. 3 to 6.

    Args:
        worm: Model of the worms. The time step is reduced if it does not divide 1/rate.
        angles ((N, n - 1) float, rad): Frames of the kymogram, at least two.
        start, count, signals: As in `ensemble`.
        rate (Hz): Frame rate, from 0.01 to 10^6.

    Returns:
        dict: Name to array (N, count, ...), one snapshot per frame.
    """
    steps = int(np.ceil(1 / (rate * worm.dt) - 1e-6))
    if abs(steps * worm.dt * rate - 1) > 1e-6:
        worm = Worm(worm.params, 1 / (rate * steps), worm.scheme, worm.threads)
    return ensemble(
        worm,
        lambda t: angles[int(t * rate)],
        count,
        (len(angles) - 1) / rate,
        1 / rate,
        hold=1 / rate,
        start={"joint_angle": angles[0]} | dict(start or {}),
        signals=signals,
    )
