"""The medium of recorded worms: the model of the paper, run backwards, fitted to the motion of midlines.

Inertia is negligible (mass / b_perp is 0.4 ms in water): with the shapes given, the motion of the body obeys three
linear equations, of force and torque, in which only the ratio b_perp / b_par of the friction coefficients appears.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import number, shown, whole
from gymnosoma.envs.worm import medium

from .motion import FINER, Motion, arc_length, even, smoothed

Array = NDArray[np.float64]

GRID = np.linspace(-0.35, 1.6, 50)
"""Medium indices that are tried."""

LARGEST_RATIO = 200.0
"""Ratio from which on midlines do not tell one from another."""

TRIM = 0.15
"""Windows left out at each end of a record."""

TURN = 0.29
"""Lengths by which an angle is multiplied to be added to distances: a rod's radius of gyration."""

MISFIT = 0.02
"""Root mean square of the displacements that are not explained, in lengths, beyond which the model does not hold."""

LEAST_WINDOWS, LEAST_PATH, LEAST_BEND = 3, 0.1, 0.05
"""Windows, lengths of path, and root mean square of joint angles (rad) of a record that tells the medium."""

LEAST_DRAWS = 20
"""Repeats of all worms together from which the noise of an estimate is known."""


PAPERS = tuple((across / along).tolist() for across, along in zip(*medium([0.0, 1.0]).values(), strict=True))
"""Ratios b_perp / b_par of the paper's water and agar."""


def ratio_of(sigma: Any) -> Any:
    """Ratio b_perp / b_par of the medium ``sigma`` on the paper's line from water (0) to agar (1)."""
    water, agar = PAPERS
    return water * (agar / water) ** np.asarray(sigma, float)


def sigma_of(ratio: Any) -> Any:
    """Medium index of the ratio b_perp / b_par, if the medium lies on the paper's line."""
    water, agar = PAPERS
    return np.log(np.asarray(ratio, float) / water) / np.log(agar / water)


class WormFit(NamedTuple):
    """The medium of one worm.

    ``sigma`` and the 95% ``interval`` of it, low and high; ``residual`` (m), root mean square of what the model leaves
    of the displacement in a window; ``windows``, how many.
    """

    sigma: float
    interval: tuple[float, float]
    residual: float
    windows: int


@dataclass(frozen=True)
class MediumFit:
    """The medium of a group of worms.

    Args:
        sigma: Medium index, if the medium lies on the paper's line; NaN where only a bound is known.
        interval (tuple of 2 float): Of 95%, in sigma; the upper end is infinite where midlines do not tell.
        per_worm (tuple of WormFit): Of each motion.
        repeats: Of the parametric bootstrap, for each.
        bias: Mean by which repeats missed what they were made of; taken off.
        seed: Of the repeats.
        notes (tuple of str): What to mind.
    """

    sigma: float
    interval: tuple[float, float]
    per_worm: tuple[WormFit, ...]
    repeats: int
    bias: float
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        """Ratio b_perp / b_par; NaN where only a bound is known."""
        return float(ratio_of(self.sigma))

    @property
    def ratio_interval(self) -> tuple[float, float]:
        """Interval of 95% of the ratio."""
        return float(ratio_of(self.interval[0])), float(ratio_of(self.interval[1]))

    @property
    def report(self) -> str:
        """Results, a line each."""
        low, high = self.ratio_interval
        if np.isnan(self.sigma):
            line = f"b_perp / b_par is at least {low:.3g}: midlines do not tell more"
        else:
            line = f"b_perp / b_par = {self.ratio:.3g} (95% from {low:.3g} to {high:.3g})"
            line += f"; sigma = {self.sigma:.3f} (from {self.interval[0]:.3f} to {self.interval[1]:.3f})"
        return "\n".join([line, *self.notes])


class _Resistance(NamedTuple):
    """Force and torque of the medium at each moment, less b_par: (M_par + R M_perp) V + b_par + R b_perp."""

    along: Array
    across: Array
    along_shape: Array
    across_shape: Array

    def velocity(self, ratio: float) -> Array:
        """Velocity of the centre and the rate of the heading (T, 3) at which no force and no torque is left."""
        matrix, force = self.along + ratio * self.across, self.along_shape + ratio * self.across_shape
        return np.asarray(np.linalg.solve(matrix, -force[..., None])[..., 0], float)


class Shape(NamedTuple):
    """Chain of a motion about its centre, which is at rest, as is the mean of its headings.

    ``tangent``, ``place`` and ``velocity`` (T, n, 2) of the rods and their ``rate`` (T, n); ``heading_rate`` (T,) and
    ``centre_rate`` (T, 2) that were measured and are left out.
    """

    tangent: Array
    place: Array
    velocity: Array
    rate: Array
    heading_rate: Array
    centre_rate: Array


def shape_of(motion: Motion) -> Shape:
    """What a motion shows of the body's shapes, and of its place."""
    from scipy.interpolate import CubicSpline  # slow to import

    n, seconds = motion.rod_angle.shape[1], motion.time - motion.time[0]
    rate = CubicSpline(seconds, motion.rod_angle)(seconds, 1)
    turning = rate.mean(1)
    tangent = np.stack([np.cos(motion.rod_angle), np.sin(motion.rod_angle)], -1)
    half = motion.length / (2 * n)
    rate -= turning[:, None]
    swing = half * rate[..., None] * np.stack([-tangent[..., 1], tangent[..., 0]], -1)
    centre_rate = CubicSpline(seconds, motion.centre)(seconds, 1)
    return Shape(tangent, _chained(half * tangent), _chained(swing), rate, turning, centre_rate)


def _chained(half: Array) -> Array:
    """Middles (T, n, 2) of rods about their mean, of what each rod has from its middle to its end (T, n, 2)."""
    middle = np.cumsum(2.0 * half, 1) - half
    return middle - middle.mean(1, keepdims=True)


def _resistance(shape: Shape, length: float) -> _Resistance:
    n = shape.tangent.shape[1]
    normal = np.stack([-shape.tangent[..., 1], shape.tangent[..., 0]], -1)
    around = np.stack([-shape.place[..., 1], shape.place[..., 0]], -1)
    parts: list[Array] = []
    for axis in (shape.tangent, normal):
        arm = np.concatenate([axis, np.sum(axis * around, -1, keepdims=True)], -1)
        parts += [np.swapaxes(arm, 1, 2) @ arm, np.sum(arm * np.sum(axis * shape.velocity, -1, keepdims=True), 1)]
    along, along_shape, across, across_shape = parts
    across[:, 2, 2] += n * (length / (2 * n)) ** 2 / 3.0
    return _Resistance(along, across, along_shape, across_shape)


class _Windows:
    """What a motion tells: displacements in windows, measured and of a medium."""

    def __init__(self, motion: Motion, window: float) -> None:
        rate = motion.rate * FINER
        shape = shape_of(motion)
        self._motion, self.length = motion, motion.length
        self._resistance = _resistance(shape, motion.length)
        self._step = 1.0 / rate
        self._measured = np.concatenate([shape.centre_rate, shape.heading_rate[:, None]], 1)
        self._scale = np.array([1.0, 1.0, TURN * motion.length])
        size, trim = round(window * rate), round(TRIM * window * rate)
        reliable = motion.reliable
        starts = np.arange(trim, len(motion.time) - trim - size, max(size, 1))
        self.starts = np.array([a for a in starts if reliable[a : a + size + 1].all()], int)
        self.size = size

    def check(self, name: str, window: float) -> None:
        """Raise ValueError for a worm that rests, or a record that is too short."""
        if len(self.starts) < LEAST_WINDOWS:
            raise ValueError(
                f"{name} must have at least {LEAST_WINDOWS} windows of {window:g} s without a long gap, "
                f"got {len(self.starts)}"
            )
        moments = (self.starts[:, None] + np.arange(self.size)).ravel()
        bend = float(np.sqrt(np.mean(self._motion.joint_angle[moments] ** 2)))
        steps = self._motion.centre[self.starts + self.size] - self._motion.centre[self.starts]
        path = float(np.sum(np.hypot(*steps.T)))
        if bend < LEAST_BEND or path < LEAST_PATH * self.length:
            raise ValueError(
                f"{name} must move by {LEAST_PATH:g} lengths and bend its joints by {LEAST_BEND:g} rad (root mean "
                f"square), got {path / self.length:.2g} and {bend:.2g}: a worm that rests does not tell its medium"
            )

    def misfit(self, sigma: float) -> Array:
        """Displacement of the model less that measured, in each window (W, 3), m."""
        rest = self._resistance.velocity(float(ratio_of(sigma))) - self._measured
        total = np.pad(np.cumsum(0.5 * (rest[1:] + rest[:-1]), 0), ((1, 0), (0, 0))) * self._step
        return (total[self.starts + self.size] - total[self.starts]) * self._scale

    def fit(self) -> float:
        """Medium index of the least sum of squares."""
        sums = np.array([np.sum(self.misfit(sigma) ** 2) for sigma in GRID])
        best = int(np.clip(sums.argmin(), 1, len(GRID) - 2))
        sigma, step = GRID[best], GRID[1] - GRID[0]
        values = sums[best - 1 : best + 2]
        for finer in (0.1, 0.1):  # a parabola on the grid, then through points near its least
            bend = values[0] - 2.0 * values[1] + values[2]
            move = 0.5 * (values[0] - values[2]) / bend if bend > 0.0 else 0.0
            sigma += float(np.clip(move, -1.0, 1.0)) * step
            step *= finer
            values = np.array([np.sum(self.misfit(sigma + each) ** 2) for each in (-step, 0.0, step)])
        return float(sigma)

    def spread(self, sigma: float) -> float:
        """Variance of the medium index as windows that know nothing of each other tell it."""
        step = 1e-3
        slope = (self.misfit(sigma + step) - self.misfit(sigma - step)) / (2.0 * step)
        score = np.sum(slope * self.misfit(sigma), 1)
        m = len(score)
        return float(np.sum(score**2) * m / (m - 1) / np.sum(slope**2) ** 2)


def fit_medium(
    motions: Motion | Sequence[Motion], repeats: int | None = None, seed: int = 0, window: float = 1.0
) -> MediumFit:
    """Find the ratio b_perp / b_par of the friction of a medium, from midlines alone.

    The shapes of a worm move it as the medium lets them; the ratio is where its displacements in windows are those
    measured, by least squares. Regression on velocities would be biased by noise; on displacements the bias is of
    second order, and is taken off by a parametric bootstrap. Pixel size, frame rate and muscles do not matter. The
    intervals hold the noise of points and tips, not a model that does not hold.

    Args:
        motions: Of worms in the same medium, from `Midlines.smoothed`.
        repeats (2 to 1000): Of the bootstrap for each worm; 4 by default, or as many as make 20 of all.
        seed: Of the bootstrap.
        window (s): In which displacements are taken; three of them at least are needed.

    Returns:
        MediumFit: Of the group and of each worm.

    Raises:
        ValueError: For a worm that does not move, or has too few windows without a long gap.
    """
    from scipy.stats import t as student  # slow to import

    several = tuple(motions) if isinstance(motions, Iterable) else (motions,)
    if not several or not all(isinstance(each, Motion) for each in several):
        raise ValueError(f"motions must be one Motion or more, as of Midlines.smoothed, got {shown(motions)}")
    window, count = number("window", window, above=0), len(several)
    repeats = max(4, -(-LEAST_DRAWS // count)) if repeats is None else repeats
    whole("repeats", repeats, 2, 1000)
    whole("seed", seed, 0, 2**63)
    parts = [_Windows(motion, window) for motion in several]
    for k, part in enumerate(parts):
        part.check("motions" if count == 1 else f"motions[{k}]", window)
    raw = np.array([part.fit() for part in parts])
    draws = np.empty((count, repeats))
    for k, motion in enumerate(several):
        rng = np.random.default_rng([seed, k])
        for b in range(repeats):
            draws[k, b] = _Windows(_seen_again(motion, raw[k], rng), window).fit() - raw[k]
    bias, noise = float(draws.mean()), float(draws.var(ddof=1))
    sigma = raw - bias
    worms, notes = [], []
    for k, part in enumerate(parts):
        half = 1.96 * np.sqrt(part.spread(raw[k]) + noise)
        residual = float(np.sqrt(np.mean(np.sum(part.misfit(raw[k]) ** 2, 1))))
        interval = _bounded(sigma[k] - half, sigma[k] + half)
        worms.append(WormFit(float(sigma[k]), interval, residual, len(part.starts)))
        if residual > MISFIT * part.length:
            notes.append(
                f"worm {k + 1}: {1e6 * residual:.2g} um of its displacement in a window are not explained, more "
                f"than {MISFIT:.0%} of its length: the model (viscous, in the plane, no groove) may not hold"
            )
    if count > 1:
        half = student.ppf(0.975, count - 1) * np.sqrt(sigma.var(ddof=1) / count + noise / (count * repeats))
        interval = _bounded(sigma.mean() - half, sigma.mean() + half)
    mean = float("nan") if np.isinf(interval[1]) else float(sigma.mean())
    return MediumFit(mean, interval, tuple(worms), repeats, bias, seed, tuple(notes))


def _bounded(low: float, high: float) -> tuple[float, float]:
    """An interval that has no upper end where midlines do not tell one."""
    return float(low), float("inf") if high > sigma_of(LARGEST_RATIO) else float(high)


def moved(motion: Motion, shape: Shape, ratio: float) -> tuple[Array, Array]:
    """Velocities (T, n, 2) m/s and rates (T, n) rad/s of the rods at which neither a force nor a torque is left."""
    velocity = _resistance(shape, motion.length).velocity(ratio)
    around = np.stack([-shape.place[..., 1], shape.place[..., 0]], -1)
    turning = velocity[:, 2, None]
    return velocity[:, None, :2] + turning[..., None] * around + shape.velocity, turning + shape.rate


def path(motion: Motion, ratio: float) -> tuple[Array, Array]:
    """Centre (T, 2) m and turn (T,) rad, added to the measured headings, with which the shapes move in a medium.

    From the measured place and heading on, by the velocities at which neither a force nor a torque is left.
    """
    shape = shape_of(motion)
    velocity = _resistance(shape, motion.length).velocity(ratio)
    step = np.diff(motion.time)

    def total(rate: Array) -> Array:
        return np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * step)])

    turn = total(velocity[:, 2] - shape.heading_rate)
    c, s = np.cos(turn), np.sin(turn)
    x, y = velocity[:, 0], velocity[:, 1]
    return motion.centre[0] + np.stack([total(c * x - s * y), total(s * x + c * y)], 1), turn


def _seen_again(motion: Motion, sigma: float, rng: np.random.Generator) -> Motion:
    """Motion of a worm that moves its shapes in a medium, seen with the noise of the first recording."""
    centre, turn = path(motion, float(ratio_of(sigma)))
    return seen_again(motion, (motion.rod_angle + turn[:, None])[::FINER], centre[::FINER], rng)


def seen_again(motion: Motion, rod_angle: Array, centre: Array, rng: np.random.Generator) -> Motion:
    """What a recording with the noise of ``motion`` makes of other shapes (N, n) rad and places (N, 2) m of frames."""
    from scipy.interpolate import CubicSpline  # slow to import

    n = rod_angle.shape[1]
    half = motion.length / (2 * n) * np.stack([np.cos(rod_angle), np.sin(rod_angle)], -1)
    middle = centre[:, None] + _chained(half)
    joints = np.concatenate([middle[:, :1] - half[:, :1], middle + half], 1)
    curve = CubicSpline(np.linspace(0.0, 1.0, n + 1), joints, axis=1)(np.linspace(0.0, 1.0, 8 * n + 1))
    head, tail = np.abs(rng.normal(0.0, motion.jitter / motion.length, (2, len(curve), 1)))
    lines = even(curve, arc_length(curve), head + (1.0 - head - tail) * motion.places)
    noise, stays = rng.normal(0.0, motion.noise, lines.shape), motion.persistence
    for before, now in pairwise(noise):
        now *= np.sqrt(1.0 - stays**2)
        now += stays * before
    lines += noise
    lines[~motion.measured] = np.nan
    again = smoothed(lines, motion.measured, motion.rate, motion.order, n)
    return replace(again, gaps=motion.gaps)
