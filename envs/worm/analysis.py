"""The analyses of Chung, Chang & Kim (2024): behaviour, forces, power, speeds. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import number, numbers
from ..core.simulate import ensemble
from .animal import Worm, friction_force
from .kymogram import FRAME_RATE, HIGHEST_RATE
from .params import friction, table

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


class ForceMap(NamedTuple):
    """Friction on the rods in each frame; Fig. 4, upper three panels.

    ``force`` (N, n, 2) N, its ``magnitude`` (N, n) N and ``mean`` over the rods (N,) N, and the
    ``power`` (N,) W that the worm spends on it.
    """

    force: Array
    magnitude: Array
    mean: Array
    power: Array


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

    Parameters
    ----------
    joint_angle : (N, n - 1) float, rad

    Raises
    ------
    ValueError
        If the fit of a frame does not converge.
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

    Parameters
    ----------
    joint_angle : (N, n - 1) float, rad
        At least 4 frames of 3 joints.
    rate : float, Hz
        Frames a second.
    most_waves : float
        Largest wavenumber that is tried, at most half the number of joints.
    highest : float, Hz
        Highest frequency that is tried, at most half the rate.

    Raises
    ------
    ValueError
        For angles that are no such matrix, or hold nothing but gaps or one number.

    Examples
    --------
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

    rate = number("rate", rate, above=0, most=HIGHEST_RATE)
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

    Parameters
    ----------
    joint_angle : (N, n - 1) float, rad
        Of the simulated worm.
    interval : float, s
        Between frames.
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


def phase_means(values: Array, label: NDArray[np.str_]) -> Array:
    """Mean over each phase of the behaviour, such as the powers printed with Fig. 4 of Chung et al. (2024).

    Parameters
    ----------
    values : (N,) float
        One of each frame.
    label : (N,) str
        Behaviour in each frame, see `classify`.

    Returns
    -------
    means : (K,) float
        In the unit of ``values``, one for each phase of `phases`.

    Examples
    --------
    Power against friction in an omega turn on agar with a hundredth of its friction:

    >>> from gymnosoma.envs.worm import Worm, load_kymogram
    >>> from gymnosoma.envs.worm.analysis import classify, force_map, medium, phase_means, phases, play
    >>> friction = medium(1.0, 0.01)
    >>> run = play(Worm(dt=1 / 320), load_kymogram("omega_turn"), friction)
    >>> power = force_map(run["rod_angle"][:, 0], run["rod_centre"][:, 0], friction).power
    >>> label = classify(run["joint_angle"][:, 0]).label
    >>> for phase, mean in zip(phases(label), phase_means(power, label), strict=True):
    ...     print(f"{phase.label}: {1e15 * mean:.0f} fW")
    forward: 2100 fW
    backward: 16238 fW
    turn: 11119 fW
    forward: 5442 fW
    """
    return np.array([values[phase.start : phase.stop].mean() for phase in phases(label)])


def force_map(
    rod_angle: Array,
    rod_centre: Array,
    parameters: Mapping[str, Any] | NDArray[Any],
    interval: float = 1 / FRAME_RATE,
    share: ArrayLike = 1.0,
) -> ForceMap:
    """Friction on each rod and power, from snapshots.

    Chung et al. (2024), Fig. 4. Velocities are backward differences of the rod centres, resolved along
    the later snapshot and zero in frame 0; friction of the rods' rotation is left out, as in the paper.

    Parameters
    ----------
    rod_angle : (N, ..., n) float, rad
    rod_centre : (N, ..., n, 2) float, m
    parameters : mapping or rows
        ``friction_perpendicular`` and ``friction_parallel`` in kg/s, each () or (...,).
    interval : float, s
        Between snapshots.
    share : (n,) float, optional
        The rods' friction in a worm of another shape, ``rod_friction`` of its parameters.
    """
    velocity = np.zeros_like(rod_centre)
    velocity[1:] = np.diff(rod_centre, axis=0) / interval
    force = friction_force(rod_angle, velocity, parameters, share)
    magnitude = np.linalg.norm(force, axis=-1)
    return ForceMap(force, magnitude, magnitude.mean(-1), -np.sum(force * velocity, (-2, -1)))


def bend_force(magnitude: Array, rods: slice) -> tuple[float, float]:
    """Mean friction force on the rods of a deep bend and on the rest; Chung et al. (2024), Fig. 4.

    Parameters
    ----------
    magnitude : (n,) float, N
        One frame of `force_map`.
    rods : slice
        The rods that form the bend.

    Returns
    -------
    bend, rest : float, N

    Examples
    --------
    In frame 194 of the delta turn the last ten rods form the deep bend:

    >>> from gymnosoma.envs.worm import Worm, load_kymogram
    >>> from gymnosoma.envs.worm.analysis import bend_force, force_map, medium, play
    >>> friction = medium(1.0, 0.01)
    >>> run = play(Worm(dt=1 / 320), load_kymogram("delta_turn"), friction)
    >>> magnitude = force_map(run["rod_angle"][:, 0], run["rod_centre"][:, 0], friction).magnitude
    >>> bend, rest = bend_force(magnitude[194], slice(15, 25))
    >>> print(f"{1e12 * bend:.0f} pN on the bend, {1e12 * rest:.0f} pN on the rest")
    10247 pN on the bend, 2754 pN on the rest
    """
    bend = np.zeros(len(magnitude), bool)
    bend[rods] = True
    return float(magnitude[bend].mean()), float(magnitude[~bend].mean())


def tracking_error(joint_angle: Array, control_angle: Array) -> Array:
    """E_theta = mean of abs(theta - theta_ctrl) over time and joints, rad.

    Chung et al. (2024), Fig. 5, supplements 2 and 3; Appendix 1, Figs. 3 and 5.

    Parameters
    ----------
    joint_angle : (N, ..., n - 1) float, rad
    control_angle : (N, n - 1) float, rad
        The command that frame i sets out with.
    """
    control = control_angle.reshape(len(control_angle), *(1,) * (joint_angle.ndim - 2), -1)
    return np.abs(joint_angle - control).mean((0, -1))


def distance(centre_velocity: Array, interval: float = 1 / FRAME_RATE) -> Array:
    """Total traveled distance as the paper sums it, abs(v_c) dt over snapshots, in m; sources as `tracking_error`.

    A kymogram's frames are held, so that the worm slows down from jump to jump: at the snapshots, which are the ends
    of the frames, it is slower than between them, and the sum is up to 8% shorter than the path, `path_length`.

    Parameters
    ----------
    centre_velocity : (N, ..., 2) float, m/s
    interval : float, s
        Between snapshots.
    """
    return interval * np.linalg.norm(centre_velocity, axis=-1).sum(0)


def path_length(centre: Array) -> Array:
    """Length of the path of the centre of mass (N, ..., 2) m, in m."""
    return np.linalg.norm(np.diff(centre, axis=0), axis=-1).sum(0)


def turning(rod_angle: Array) -> Array:
    """Total change S of the mean heading of the rods (N, ..., n) rad, in rad; sources as `tracking_error`."""
    return np.abs(np.diff(rod_angle.mean(-1), axis=0)).sum(0)


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

    Parameters
    ----------
    worm : Worm
        Where its time step does not divide 1/rate, the next smaller one that does is taken.
    angles : (N, n - 1) float, rad
        At least two frames.
    start, count, signals
        As for `ensemble`.
    rate : float, Hz
        Frames a second, from 0.01 to 10^6.

    Returns
    -------
    dict
        Name to array (N, count, ...): as many snapshots as frames.

    Raises
    ------
    ValueError
        For angles that are no such matrix, or a rate out of range.
    """
    angles, rate = numbers("angles", angles), number("rate", rate, least=0.01, most=HIGHEST_RATE)
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


def wave_speed(
    worm: Worm,
    sigma: ArrayLike,
    wavenumber: ArrayLike,
    period: ArrayLike,
    amplitude: ArrayLike = 0.6,
    after: float = 0.0,
    duration: float = 5.0,
    bent: bool = False,
    hold: float | None = None,
) -> Array:
    """Speed of worms driven by sines A cos(2 pi (nu (i - 1)/(n - 2) - t/T)), from rest.

    Chung et al. (2024), Figs. 2 and 5. All array arguments broadcast against each other.

    Parameters
    ----------
    worm : Worm
    sigma : array_like
        Medium index.
    wavenumber : array_like
    period : array_like, s
    amplitude : array_like, rad
    after, duration : float, s
        Displacement counts from ``after`` to ``after + duration``.
    bent : bool
        Start in the shape of the first command instead of straight.
    hold : float, s, optional
        Hold each command for this long with the value that it has at the beginning, as the authors'
        program does for 1 ms; otherwise each step takes the value at its middle.

    Returns
    -------
    speed : array, m/s
        Displacement of the centre of mass over time; NaN where a worm failed.
    """
    values = np.broadcast_arrays(*(np.asarray(v, float) for v in (sigma, wavenumber, period, amplitude)))
    sigmas, nu, rate, height = values[0].ravel(), values[1].ravel(), 2 * np.pi / values[2].ravel(), values[3].ravel()
    place = 2 * np.pi * nu[:, None] * np.linspace(0.0, 1.0, worm.drive_size)
    cos, sin = height[:, None] * np.cos(place), height[:, None] * np.sin(place)
    lead = 0.0 if hold is None else 0.5 * hold

    def wave(t: float) -> Array:
        angle = rate * (t - lead)
        return np.cos(angle)[:, None] * cos + np.sin(angle)[:, None] * sin

    start = medium(sigmas) | ({"joint_angle": wave(lead)} if bent else {})
    every = np.gcd(round(after * 1000), round(duration * 1000)) / 1000
    centre = ensemble(worm, wave, len(nu), after + duration, every, hold, start, ("centre",))["centre"]
    path = centre[-1] - centre[round(after / every)]
    return (np.linalg.norm(path, axis=-1) / duration).reshape(values[0].shape)


def crawl_speed(worm: Worm, hold: float | None = None) -> float:
    """Speed of the paper's crawl on agar in m/s: 0 to 5 s from rest in the shape of the wave; Fig. 2B."""
    t = table()
    wave = t["agar_wavenumber"], t["agar_period"], t["wave_amplitude"]
    return float(wave_speed(worm, 1.0, *wave, bent=True, hold=hold))


def swim_speed(worm: Worm, hold: float | None = None) -> float:
    """Speed of the paper's swim in water in m/s, over the 20 periods after the first 2 s; Fig. 2D."""
    t = table()
    wave = t["water_wavenumber"], t["water_period"], t["wave_amplitude"]
    return float(wave_speed(worm, 0.0, *wave, after=2.0, duration=20 * t["water_period"], bent=True, hold=hold))


def speed_grid(worm: Worm, sigma: float, wavenumber: ArrayLike, period: ArrayLike) -> Array:
    """Speed (K, L) m/s over wavenumbers (K,) and periods (L,) s, 0 to 5 s from straight rest; Fig. 5A."""
    return wave_speed(worm, sigma, np.asarray(wavenumber)[:, None], np.asarray(period)[None, :])
