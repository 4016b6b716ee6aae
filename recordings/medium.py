"""Medium of recorded worms, estimated from the motion of midlines by inverse dynamics of the paper's model.

Inertia is negligible (mass / b_perp is 0.4 ms in water). If the shapes are known, three linear equations of force and
torque determine the motion of the body. Their only parameter is the ratio b_perp / b_par of the friction coefficients.
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
"""Medium indices of the grid search."""

LARGEST_RATIO = 200.0
"""Largest ratio that can be estimated from midlines."""

TRIM = 0.15
"""Part of the recording that is not used at each end, in windows."""

TURN = 0.29
"""Factor that converts an angle to a distance, in body lengths: the radius of gyration of a rod."""

MISFIT = 0.02
"""Largest root mean square of unexplained displacements, in body lengths, for which the model is valid."""

LEAST_WINDOWS, LEAST_PATH, LEAST_BEND = 3, 0.1, 0.05
"""Requirements of a recording: number of windows, path in body lengths, root mean square of the joint angles (rad)."""

LEAST_DRAWS = 20
"""Smallest total number of bootstrap repeats of all worms."""


PAPERS = tuple((across / along).tolist() for across, along in zip(*medium([0.0, 1.0]).values(), strict=True))
"""Ratios b_perp / b_par of the paper's water and agar."""


def ratio_of(sigma: Any) -> Any:
    """Return the ratio b_perp / b_par of the medium ``sigma`` on the paper's line from water (0) to agar (1)."""
    water, agar = PAPERS
    return water * (agar / water) ** np.asarray(sigma, float)


def sigma_of(ratio: Any) -> Any:
    """Return the medium index of the ratio b_perp / b_par on the paper's line."""
    water, agar = PAPERS
    return np.log(np.asarray(ratio, float) / water) / np.log(agar / water)


class WormFit(NamedTuple):
    """Medium of one worm.

    ``sigma`` is the medium index, and ``interval`` its 95% interval. ``residual`` (m) is the root mean square of the
    displacement in a window that the model does not explain. ``windows`` is the number of windows.
    """

    sigma: float
    interval: tuple[float, float]
    residual: float
    windows: int


@dataclass(frozen=True)
class MediumFit:
    """Medium of a group of worms.

    Args:
        sigma: Medium index on the paper's line; NaN if only a lower bound is known.
        interval (tuple of 2 float): 95% interval of sigma; the upper end is infinite if midlines do not determine it.
        per_worm (tuple of WormFit): Result of each motion.
        repeats: Number of repeats of the parametric bootstrap, per worm.
        bias: Mean error of the bootstrap, which is subtracted from the estimates.
        seed: Random seed of the bootstrap.
        notes (tuple of str): Warnings.
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
        """Ratio b_perp / b_par; NaN if only a lower bound is known."""
        return float(ratio_of(self.sigma))

    @property
    def ratio_interval(self) -> tuple[float, float]:
        """95% interval of the ratio."""
        return float(ratio_of(self.interval[0])), float(ratio_of(self.interval[1]))

    @property
    def report(self) -> str:
        """Results as text."""
        low, high = self.ratio_interval
        if np.isnan(self.sigma):
            line = f"b_perp / b_par is at least {low:.3g}: midlines do not determine it further"
        else:
            line = f"b_perp / b_par = {self.ratio:.3g} (95% from {low:.3g} to {high:.3g})"
            line += f"; sigma = {self.sigma:.3f} (from {self.interval[0]:.3f} to {self.interval[1]:.3f})"
        return "\n".join([line, *self.notes])


class _Resistance(NamedTuple):
    """Force and torque of the medium over time, divided by b_par: (M_par + R M_perp) V + b_par + R b_perp."""

    along: Array
    across: Array
    along_shape: Array
    across_shape: Array

    def velocity(self, ratio: float) -> Array:
        """Return the velocity of the centre and the rate of the heading (T, 3) at which force and torque are 0."""
        matrix, force = self.along + ratio * self.across, self.along_shape + ratio * self.across_shape
        return np.asarray(np.linalg.solve(matrix, -force[..., None])[..., 0], float)


class Shape(NamedTuple):
    """Motion of the rods relative to the body's centre and mean heading.

    ``tangent``, ``place`` and ``velocity`` (T, n, 2) and ``rate`` (T, n) belong to the rods. ``heading_rate`` (T,) and
    ``centre_rate`` (T, 2) are the measured rates of mean heading and centre, which are subtracted.
    """

    tangent: Array
    place: Array
    velocity: Array
    rate: Array
    heading_rate: Array
    centre_rate: Array


def shape_of(motion: Motion) -> Shape:
    """Compute the shapes of a motion, and the rates of its centre and heading."""
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
    """Return the rods' midpoints (T, n, 2) relative to their mean, from their half vectors (T, n, 2)."""
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
    """Displacements of a motion in windows, as measured and as predicted for a medium."""

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
        """Raise ValueError if the worm rests, or the recording is too short."""
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
                f"square), got {path / self.length:.2g} and {bend:.2g}: the medium of a resting worm is not determined"
            )

    def misfit(self, sigma: float) -> Array:
        """Return the model's displacement minus the measured one in each window (W, 3), m."""
        rest = self._resistance.velocity(float(ratio_of(sigma))) - self._measured
        total = np.pad(np.cumsum(0.5 * (rest[1:] + rest[:-1]), 0), ((1, 0), (0, 0))) * self._step
        return (total[self.starts + self.size] - total[self.starts]) * self._scale

    def fit(self) -> float:
        """Return the medium index with the least sum of squares."""
        sums = np.array([np.sum(self.misfit(sigma) ** 2) for sigma in GRID])
        best = int(np.clip(sums.argmin(), 1, len(GRID) - 2))
        sigma, step = GRID[best], GRID[1] - GRID[0]
        values = sums[best - 1 : best + 2]
        for finer in (0.1, 0.1):  # minimum of a parabola on the grid, then on finer points
            bend = values[0] - 2.0 * values[1] + values[2]
            move = 0.5 * (values[0] - values[2]) / bend if bend > 0.0 else 0.0
            sigma += float(np.clip(move, -1.0, 1.0)) * step
            step *= finer
            values = np.array([np.sum(self.misfit(sigma + each) ** 2) for each in (-step, 0.0, step)])
        return float(sigma)

    def spread(self, sigma: float) -> float:
        """Return the variance of the medium index, with windows treated as independent."""
        step = 1e-3
        slope = (self.misfit(sigma + step) - self.misfit(sigma - step)) / (2.0 * step)
        score = np.sum(slope * self.misfit(sigma), 1)
        m = len(score)
        return float(np.sum(score**2) * m / (m - 1) / np.sum(slope**2) ** 2)


def fit_medium(
    motions: Motion | Sequence[Motion], repeats: int | None = None, seed: int = 0, window: float = 1.0
) -> MediumFit:
    """Estimate the ratio b_perp / b_par of the friction of a medium from midlines.

    The ratio is fitted to the displacements in windows by least squares. (Noise would bias a regression on velocities.
    On displacements, the bias is of second order, and a parametric bootstrap corrects it.) The result does not depend
    on pixel size, frame rate or muscles. The intervals include the noise of points and tips, but not errors of the
    model.

    Args:
        motions: Motions of worms in the same medium, from `Midlines.smoothed`.
        repeats (2 to 1000): Number of bootstrap repeats per worm; by default at least 4, and at least 20 in total.
        seed: Random seed of the bootstrap.
        window (s): Duration of the windows; at least three are required.

    Returns:
        MediumFit: Result for the group and for each worm.

    Raises:
        ValueError: If a worm does not move, or has too few windows without a long gap.
    """
    from scipy.stats import t as student  # slow to import

    several = tuple(motions) if isinstance(motions, Iterable) else (motions,)
    if not several or not all(isinstance(each, Motion) for each in several):
        raise ValueError(f"motions must be one or more Motion of Midlines.smoothed, got {shown(motions)}")
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
                f"than {MISFIT:.0%} of its length: the model (viscous, in the plane, no groove) may be invalid"
            )
    if count > 1:
        half = student.ppf(0.975, count - 1) * np.sqrt(sigma.var(ddof=1) / count + noise / (count * repeats))
        interval = _bounded(sigma.mean() - half, sigma.mean() + half)
    mean = float("nan") if np.isinf(interval[1]) else float(sigma.mean())
    return MediumFit(mean, interval, tuple(worms), repeats, bias, seed, tuple(notes))


def _bounded(low: float, high: float) -> tuple[float, float]:
    """Return an interval with an infinite upper end if that exceeds `LARGEST_RATIO`."""
    return float(low), float("inf") if high > sigma_of(LARGEST_RATIO) else float(high)


def moved(motion: Motion, shape: Shape, ratio: float) -> tuple[Array, Array]:
    """Return the rods' velocities (T, n, 2) in m/s and rates (T, n) in rad/s at which total force and torque are 0."""
    velocity = _resistance(shape, motion.length).velocity(ratio)
    around = np.stack([-shape.place[..., 1], shape.place[..., 0]], -1)
    turning = velocity[:, 2, None]
    return velocity[:, None, :2] + turning[..., None] * around + shape.velocity, turning + shape.rate


def path(motion: Motion, ratio: float) -> tuple[Array, Array]:
    """Compute the path of the shapes in a medium, from the measured initial position and heading.

    Returns:
        centre (T, 2): Position of the centre, m.
        turn (T,): Angle to add to the measured headings, rad.
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
    """Simulate a recording of the motion's shapes in a medium, with the noise of the original recording."""
    centre, turn = path(motion, float(ratio_of(sigma)))
    return seen_again(motion, (motion.rod_angle + turn[:, None])[::FINER], centre[::FINER], rng)


def seen_again(motion: Motion, rod_angle: Array, centre: Array, rng: np.random.Generator) -> Motion:
    """Simulate a recording of shapes (N, n) in rad and centres (N, 2) in m, with the noise of ``motion``."""
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
