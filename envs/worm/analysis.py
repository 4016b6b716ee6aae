"""Behaviour and waves of recorded worms, and recordings played to worms; Chung, Chang & Kim (2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import number, numbers
from ..core.model.run import ensemble
from ..core.model.trajectory import Trajectory
from .animal import Worm
from .kymogram import FRAME_RATE, HIGHEST_RATE
from .params import friction

Array = NDArray[np.float64]

TURN = -0.07
"""A smoothed offset below this is a turn, rad (Methods, "Defining behavioral categories")."""

SMOOTHING = 0.5
"""Window of the Savitzky-Golay filter, s."""


class SineFit(NamedTuple):
    """Sine of best fit to the joint angles of each frame, (N,) each; Fig. 4, supplement 1.

    theta = amplitude sin(2 pi (xi - phase) / wavelength) + offset, with xi from 0 (head) to 1 (tail),
    amplitude >= 0 and 0 <= phase < wavelength.
    """

    amplitude: Array
    wavelength: Array
    phase: Array
    offset: Array


class Behaviour(NamedTuple):
    """What a worm does in each frame, (N,) each; Fig. 4, bottom, and its supplement 1.

    ``label`` is "forward", "backward" or "turn"; ``phase_rate`` (1/s) is the smoothed speed of the
    wave towards the tail in body lengths, ``offset`` (rad) the smoothed mean joint angle.
    """

    label: NDArray[np.str_]
    phase_rate: Array
    offset: Array


class Phase(NamedTuple):
    """Frames ``start`` to ``stop - 1``, in which the behaviour stays the same."""

    label: str
    start: int
    stop: int


class WaveFit(NamedTuple):
    """Travelling wave of best fit to a kymogram, A cos(2 pi (nu x - t/T) + phase) + bias with x from 0 to 1.

    ``amplitude`` A (rad, at least 0), ``wavenumber`` nu (at least 0), ``period`` T (s; negative where the wave runs
    tail to head, infinite where it stands), ``bias`` (rad) and ``phase`` (rad); ``explained`` is the share of the
    variance that it explains.
    """

    amplitude: float
    wavenumber: float
    period: float
    bias: float
    phase: float
    explained: float


def _sine(xi: Array, amplitude: float, wavelength: float, phase: float, offset: float) -> Array:
    return amplitude * np.sin(2 * np.pi / wavelength * (xi - phase)) + offset


def _sine_slopes(xi: Array, amplitude: float, wavelength: float, phase: float, offset: float) -> Array:
    # Differences, curve_fit's default, get stuck where the phase is tiny: their step is a fraction of it.
    wave = 2 * np.pi / wavelength
    slope = amplitude * wave * np.cos(wave * (xi - phase))
    return np.stack([np.sin(wave * (xi - phase)), slope * (phase - xi) / wavelength, -slope, np.ones_like(xi)], -1)


def fit_sine(joint_angle: ArrayLike) -> SineFit:
    """Fit a sine along the body to each frame, starting from the frame before.

    Chung et al. (2024), Methods, "Defining behavioral categories".

    Args:
        joint_angle ((N, n - 1) float, rad)

    Raises:
        ValueError: If the fit of a frame does not converge.
    """
    from scipy.optimize import curve_fit  # slow to import

    angles = np.asarray(joint_angle, float)
    xi = np.linspace(0.0, 1.0, angles.shape[1])
    high, low = xi[angles[0].argmax()], xi[angles[0].argmin()]
    # The printed guess of the wavelength is negative where the trough lies behind the crest.
    wavelength = 2 * abs(high - low) or 1.0
    guess = (0.5 * np.ptp(angles[0]), wavelength, high - wavelength / 4, angles[0].mean())
    fits = np.empty((len(angles), 4))
    for i, frame in enumerate(angles):
        try:
            (amplitude, wavelength, phase, offset), _ = curve_fit(_sine, xi, frame, guess, jac=_sine_slopes)
        except RuntimeError as error:
            raise ValueError(f"joint_angle: no sine could be fitted to frame {i}: {error}") from None
        if amplitude < 0:
            amplitude, phase = -amplitude, phase - wavelength / 2
        fits[i] = guess = (amplitude, wavelength, phase % wavelength, offset)
    return SineFit(*fits.T)


def fit_wave(
    joint_angle: ArrayLike, rate: float = FRAME_RATE, most_waves: float = 4.0, highest: float = 8.0
) -> WaveFit:
    """Fit the paper's travelling wave to a recorded kymogram; gaps (NaN) count for nothing.

    Chung et al. (2024), Fig. 2: A = 0.6, with nu = 1.832 and T = 1.6 s on agar, 0.667 and 0.4 s in water. The start is
    the strongest of the waves on a grid; then least squares.

    Args:
        joint_angle ((N, n - 1) float, rad): At least 4 frames of 3 joints.
        rate: Frames a second.
        most_waves: Largest wavenumber that is tried, at most half the number of joints.
        highest: Highest frequency that is tried, at most half the rate.

    Raises:
        ValueError: For angles that are no such matrix, or hold nothing but gaps or one number.

    Examples:
        The omega turn's first phase, in which the worm crawls forwards, and the second, backwards:

        >>> from gymnosoma.envs.worm import load_kymogram
        >>> from gymnosoma.envs.worm.analysis import fit_wave
        >>> angles = load_kymogram("omega_turn")
        >>> for part in angles[:202], angles[202:333]:
        ...     fit = fit_wave(part)
        ...     print(f"A {fit.amplitude:.2f} rad, nu {fit.wavenumber:.2f}, T {fit.period:.2f} s: {fit.explained:.0%}")
        A 0.27 rad, nu 1.68, T 2.02 s: 83%
        A 0.25 rad, nu 1.07, T -1.26 s: 53%
    """
    from scipy.optimize import least_squares  # slow to import

    rate = number("rate", rate, above=0, maximum=HIGHEST_RATE)
    angles = np.asarray(joint_angle, float)
    if angles.ndim != 2 or angles.shape[0] < 4 or angles.shape[1] < 3 or np.isinf(angles).any():
        raise ValueError(f"joint_angle must be a finite matrix of at least 4 frames of 3 joints, got {angles.shape}")
    given = np.isfinite(angles)
    if not (given.any() and np.ptp(angles[given]) > 0.0):
        raise ValueError("joint_angle must hold different numbers, got gaps or one number alone")
    frames, joints = angles.shape
    x, t = np.linspace(0.0, 1.0, joints), np.arange(frames) / rate
    rest = np.where(given, angles - angles[given].mean(), 0.0)
    step = 0.25 / t[-1]
    frequency = np.arange(-min(highest, 0.5 * rate), min(highest, 0.5 * rate) + step, step)
    wavenumber = np.arange(0.0, min(most_waves, 0.5 * joints) + 0.05, 0.05)
    power = np.abs(np.exp(2j * np.pi * frequency[:, None] * t) @ rest @ np.exp(-2j * np.pi * x[:, None] * wavenumber))
    best = np.unravel_index(power.argmax(), power.shape)
    found = angles[given]
    places = np.broadcast_to(x, angles.shape)[given], np.broadcast_to(t[:, None], angles.shape)[given]

    def waves(nu: float, f: float) -> Array:
        angle = 2 * np.pi * (nu * places[0] - f * places[1])
        return np.stack([np.cos(angle), np.sin(angle), np.ones_like(angle)], 1)

    def misfit(wave: Array) -> Array:
        # What is linear is solved for; the rest is left to the search.
        basis = waves(wave[0], wave[1])
        return basis @ np.linalg.lstsq(basis, found, rcond=None)[0] - found

    start = np.array([wavenumber[best[1]], frequency[best[0]]])
    nu, f = least_squares(misfit, start, x_scale=[0.05, step]).x
    (cos, sin, bias), *_ = np.linalg.lstsq(waves(nu, f), found, rcond=None)
    explained = 1.0 - float(np.mean(misfit(np.array([nu, f])) ** 2) / np.var(found))
    if nu < 0:
        nu, f, sin = -nu, -f, -sin
    period = 1.0 / f if f else np.inf
    return WaveFit(*map(float, (np.hypot(cos, sin), nu, period, bias, np.arctan2(-sin, cos), explained)))


def classify(joint_angle: ArrayLike, interval: float = 1 / FRAME_RATE) -> Behaviour:
    """Tell forward and backward locomotion and turns apart.

    Chung et al. (2024), Methods, "Defining behavioral categories". A mean joint angle off zero counts as a turn
    on one side only: with the angles of the other side of the body nothing is a turn.

    Args:
        joint_angle ((N, n - 1) float, rad): Of the simulated worm.
        interval (s): Between frames.
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


def medium(sigma: ArrayLike = 1.0, scale: ArrayLike = 1.0) -> dict[str, Array]:
    """Friction coefficients as reset options: medium index ``sigma``, times ``scale`` (eta of the appendix)."""
    perpendicular, parallel = friction(sigma)
    factor = np.asarray(scale, float)
    return {"friction_perpendicular": factor * perpendicular, "friction_parallel": factor * parallel}


def play(
    worm: Worm,
    angles: Array,
    start: Mapping[str, ArrayLike] | None = None,
    count: int = 1,
    rate: float = FRAME_RATE,
    signals: Sequence[str] = ("centre", "centre_velocity", "rod_angle", "rod_centre", "joint_angle"),
) -> dict[str, Array]:
    """Play a kymogram to many worms: each frame held for 1/rate, from rest in the shape of frame 0.

    Chung et al. (2024), Fig. 3; with ``start=medium(...)`` Fig. 5, supplements 2 and 3, and Appendix 1,
    Figs. 3 to 6.

    Args:
        worm: Where its time step does not divide 1/rate, the next smaller one that does is taken.
        angles ((N, n - 1) float, rad): At least two frames.
        start, count, signals: As for `ensemble`.
        rate: Frames a second, from 0.01 to 10^6.

    Returns:
        dict: Name to array (N, count, ...): as many snapshots as frames.

    Raises:
        ValueError: For angles that are no such matrix, or a rate out of range.
    """
    angles, rate = numbers("angles", angles), number("rate", rate, minimum=0.01, maximum=HIGHEST_RATE)
    if angles.ndim != 2 or len(angles) < 2 or angles.shape[1] != worm.drive_size:
        raise ValueError(
            f"angles must be a matrix of at least 2 frames of {worm.drive_size} joints, got shape {angles.shape}"
        )
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


class Gait:
    """The wave that runs along a worm, and how fast it moves: rhythm, waves on the body, amplitude, speed.

    All are of the strongest rhythm of the joint angles.

    Args:
        run (Trajectory): With ``joint_angle`` and ``centre``, recorded at equal intervals.
        begin (s): What is before is not looked at.

    Raises:
        ValueError: Where the animal failed, or fewer than eight moments are looked at.
    """

    def __init__(self, run: Trajectory, begin: float = 0.0) -> None:
        late = run.time >= begin - 1e-9
        if run.failure is not None or late.sum() < 8:
            raise ValueError(f"run must not fail, and last beyond {begin:g} s, got {run.failure or run.time[-1]!r}")
        time, angle, centre = run.time[late], run["joint_angle"][late], run["centre"][late]
        angle = angle - angle.mean(0)
        window = np.hanning(len(time) + 2)[1:-1, None]
        long, every = 8 * len(time), float(time[1] - time[0])
        power = np.sum(np.abs(np.fft.rfft(angle * window, long, axis=0)) ** 2, 1)
        top = int(np.clip(np.argmax(power[1:]) + 1, 2, len(power) - 2))
        before, at, behind = np.log(power[top - 1 : top + 2] + 1e-300)
        bend = before - 2.0 * at + behind
        self.frequency = float(top + (0.5 * (before - behind) / bend if bend < 0.0 else 0.0)) / (long * every)
        """Hz."""
        turns = np.exp(-2j * np.pi * self.frequency * time)[:, None]
        self.joints = 2.0 * np.sum(turns * angle * window, 0) / window.sum()
        """Complex amplitudes (n - 1,) rad of the joints."""
        pair = self.joints[1:] * np.conj(self.joints[:-1])
        weight = max(float(np.sum(np.abs(pair))), 1e-300)
        self.wavenumber = -float(np.sum(np.angle(pair) * np.abs(pair)) / weight) * len(pair) / (2.0 * np.pi)
        """Waves on the body, from the lags between joints by the product of their amplitudes; negative: backwards."""
        self.amplitude = float(np.abs(self.joints).mean())
        """Mean of the joints, rad."""
        total = max(float(np.sum((angle * window) ** 2)), 1e-300)
        self.share = float(np.sum(np.abs(self.joints) ** 2) / 2.0 * np.sum(window**2) / total)
        """Of the variance of the angles that this one rhythm has."""
        self.speed = float(np.linalg.norm(centre[-1] - centre[0]) / (time[-1] - time[0]))
        """Of the centre from first to last, m/s."""
