"""Medium of recorded worms, estimated from the motion of midlines by inverse dynamics of the paper's model.

Inertia is negligible (mass / b_perp is 0.4 ms in water). If the shapes are known, three linear equations of force and
torque determine the motion of the body. Their only parameter is the ratio b_perp / b_par of the friction coefficients.
Forces on the rods are in `forces`, and the noise of a recording is measured in `motion`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gymnosoma.envs.core.arguments import number, shown, whole
from gymnosoma.envs.core.kinds import hint
from gymnosoma.envs.worm import medium

from .body import Progress, directions, rotated, silent
from .motion import FINER, Motion, known_frames, simulate_recording
from .units import Array, runs

GRID = np.linspace(-0.35, 1.6, 14)
"""Medium indices of the grid search."""

LARGEST_RATIO = 200.0
"""Largest ratio that can be estimated from midlines."""

TRIM = 0.15
"""Part of the recording that is not used at each end, in windows."""

TURN = 0.29
"""Factor that converts an angle to a distance, in body lengths: the radius of gyration of a rod."""

TIP, DRIFT = 0.03, 5e-3
"""Standard deviations of the prior of a tip that is missed in all frames, and of a drift in a window (lengths)."""

MOST_TIP, MOST_DRIFT = 0.08, 0.02
"""Largest part of the body that may be missing at an end, and largest drift in a window (lengths)."""

END = 3
"""Number of rods whose curvature continues in a missing tip."""

MISFIT, EXCESS = 0.02, 3.0
"""Limits of the unexplained displacements.

In order: root mean square in body lengths, and ratio to that caused by noise; the fit is refused beyond both.
"""

UNSURE, MODEL, EARLIER = 0.3, 3e-3, 8
"""Uncertainty of a bias (as a share of it) and of the model, and weight of a group's expected scatter (worms)."""

PIECE = 60.0
"""Duration of the pieces into which recordings of more than twice this length are divided, s."""

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
    displacement in a window that the model does not explain. ``windows`` is the number of windows. ``tips`` (lengths)
    are the parts of the body missing at head and tail, and ``drift`` (m/s) is the velocity of the water or the stage.
    """

    sigma: float
    interval: tuple[float, float]
    residual: float
    windows: int
    tips: tuple[float, float] = (0.0, 0.0)
    drift: tuple[float, float] = (0.0, 0.0)


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


class Shapes(NamedTuple):
    """Motion of the rods relative to the body's centre and mean heading.

    ``half`` (m) is half the length of a rod. ``tangent``, ``place`` and ``velocity`` (T, n, 2) and ``rate`` (T, n)
    belong to the rods. ``measured`` (T, 3) are the rates of the centre and the mean heading, which are subtracted.
    """

    half: float
    tangent: Array
    place: Array
    velocity: Array
    rate: Array
    measured: Array

    def resistance(self) -> _Resistance:
        """Return the medium's resistance to the body."""
        around, parts = rotated(self.place), list[Array]()
        for axis in (self.tangent, rotated(self.tangent)):
            arm = np.concatenate([axis, np.sum(axis * around, -1, keepdims=True)], -1)
            parts += [np.swapaxes(arm, 1, 2) @ arm, np.sum(arm * np.sum(axis * self.velocity, -1, keepdims=True), 1)]
        along, along_shape, across, across_shape = parts
        across[:, 2, 2] += self.place.shape[1] * self.half**2 / 3.0
        return _Resistance(along, across, along_shape, across_shape)

    def rod_velocities(self, ratio: float) -> tuple[Array, Array]:
        """Return the velocities (T, n, 2), m/s, and rates (T, n), rad/s, at which total force and torque are 0."""
        velocity = self.resistance().velocity(ratio)
        turning = velocity[:, 2, None]
        return velocity[:, None, :2] + turning[..., None] * rotated(self.place) + self.velocity, turning + self.rate


def shapes_of(motion: Motion) -> Shapes:
    """Compute the shapes of a motion, and the rates of its centre and heading."""
    from scipy.interpolate import CubicSpline  # slow to import

    half, seconds = motion.length / (2 * motion.rod_angle.shape[1]), motion.time - motion.time[0]
    tangent, rate = directions(motion.rod_angle), CubicSpline(seconds, motion.rod_angle)(seconds, 1)
    turning = rate.mean(1, keepdims=True)
    rate -= turning
    place, velocity = (_from_head(each) for each in (half * tangent, half * rate[..., None] * rotated(tangent)))
    place, velocity = (each - each.mean(1, keepdims=True) for each in (place, velocity))
    measured = np.concatenate([CubicSpline(seconds, motion.centre)(seconds, 1), turning], 1)
    return Shapes(half, tangent, place, velocity, rate, measured)


def _from_head(half: Array) -> Array:
    """Return the rods' midpoints (T, n, 2) relative to the head, from their half vectors (T, n, 2)."""
    return np.asarray(np.cumsum(2.0 * half, 1) - half)


class _Windows:
    """Displacements of a motion in windows, as measured and as predicted for a medium."""

    def __init__(self, motion: Motion, window: float) -> None:
        rate, shapes = motion.rate * FINER, shapes_of(motion)
        self._motion, self.length, self._step = motion, motion.length, 1.0 / rate
        self._resistance, self._measured = shapes.resistance(), shapes.measured
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
        """Return the medium index with the least sum of squares, without missing tips and drift."""
        sums = np.array([np.sum(self.misfit(sigma) ** 2) for sigma in GRID])
        best = int(np.clip(sums.argmin(), 1, len(GRID) - 2))
        sigma, step, values = float(GRID[best]), float(GRID[1] - GRID[0]), sums[best - 1 : best + 2]
        for finer in (0.2, 0.1, 0.1):  # minimum of a parabola on the grid, then on finer points
            bend = values[0] - 2.0 * values[1] + values[2]
            move = 0.5 * (values[0] - values[2]) / bend if bend > 0.0 else 0.0
            sigma += float(np.clip(move, -1.0, 1.0)) * step
            step *= finer
            values = np.array([np.sum(self.misfit(sigma + each) ** 2) for each in (-step, 0.0, step)])
        return sigma


class _Solution(NamedTuple):
    """Medium index, missing tips (2,), drift (2,) m/s, residual (m), variance of the index, and its part by tips."""

    sigma: float
    tips: Array
    drift: Array
    residual: float
    variance: float
    by_tips: float


class _Piece:
    """Fit of the medium of a piece of worm ``owner``, together with tips missing in all frames, and with a drift."""

    def __init__(self, motion: Motion, window: float, name: str, owner: int) -> None:
        self.motion, self.window, self.windows, self.owner = motion, window, _Windows(motion, window), owner
        self.windows.check(name, window)
        sigma = self.windows.fit()
        for _ in range(3):
            self.sigma, self._slopes = sigma, self._linear(sigma)
            self.best = self.solve(self.windows)
            sigma = float(np.clip(self.best.sigma, GRID[0], GRID[-1]))

    def _linear(self, sigma: float) -> Array:
        """Return the derivatives (3 W, 5) of the displacements by sigma, tips and drift."""
        usual, step = self.windows.misfit(sigma), 0.01
        slopes = [(self.windows.misfit(sigma + step) - self.windows.misfit(sigma - step)) / (2.0 * step)]
        for tips in ((step, 0.0), (0.0, step)):
            slopes.append((_Windows(_extended(self.motion, *tips), self.window).misfit(sigma) - usual) / step)
        slopes += [np.broadcast_to(axis, usual.shape) for axis in self.motion.length * np.eye(3)[:2]]
        return np.stack([slope.ravel() for slope in slopes], 1)

    def solve(self, windows: _Windows) -> _Solution:
        """Solve the equations linear about ``sigma`` by least squares with the prior, for these windows."""
        off, slopes = windows.misfit(self.sigma).ravel(), self._slopes
        precision = np.array([0.0, 1.0 / TIP, 1.0 / TIP, 1.0 / DRIFT, 1.0 / DRIFT]) ** 2
        noise = np.sqrt(np.mean(off**2))
        for _ in range(6):
            inverse = np.linalg.inv(slopes.T @ slopes + noise**2 * np.diag(precision))
            change = -inverse @ slopes.T @ off
            rest = off + slopes @ change
            noise = np.sqrt(np.sum(rest**2) / max(len(rest) - np.trace(inverse @ slopes.T @ slopes), 1.0))
        score = np.sum((rest[:, None] * slopes).reshape(-1, 3, 5), 1) @ inverse[0]
        known = np.linalg.inv(np.delete(np.delete(np.linalg.inv(inverse), (1, 2), 0), (1, 2), 1))[0, 0]
        variance = max(noise**2 * known, float(np.sum(score**2)) * len(score) / (len(score) - 1))
        variances = float(variance), float(noise**2 * (inverse[0, 0] - known))
        drift = change[3:] * self.motion.length / self.window
        return _Solution(self.sigma + change[0], change[1:3], drift, float(noise * np.sqrt(3.0)), *variances)

    def bootstrap(self, repeats: int, seed: int, number: int) -> None:
        """Solve simulated recordings of the shapes in the fitted medium, with the noise of the original recording."""
        motion = self.motion
        centre, turn = path(motion, shapes_of(motion), float(ratio_of(self.sigma)))
        shapes = (motion.rod_angle + turn[:, None])[::FINER], centre[::FINER]
        rngs = [np.random.default_rng([seed, number, draw]) for draw in range(repeats)]
        solutions = [self.solve(_Windows(simulate_recording(motion, *shapes, rng), self.window)) for rng in rngs]
        self.errors = np.array([each.sigma for each in solutions]) - self.sigma
        self.expected = float(np.mean([each.residual for each in solutions]))


def _extended(motion: Motion, head: float, tail: float) -> Motion:
    """Return a motion whose body is longer by ``head`` and ``tail`` (lengths), with the curvature of the ends."""
    angle, n = motion.rod_angle, motion.rod_angle.shape[1]
    place = (-head + (1.0 + head + tail) * (np.arange(n) + 0.5) / n) * n - 0.5
    left = np.clip(place.astype(int), 0, n - 2)
    share = np.clip(place - left, 0.0, 1.0)
    longer = angle[:, left] * (1.0 - share) + angle[:, left + 1] * share
    longer += np.outer((angle[:, END] - angle[:, 0]) / END, np.minimum(place, 0.0))
    longer += np.outer((angle[:, -1] - angle[:, -1 - END]) / END, np.maximum(place - (n - 1), 0.0))
    length = motion.length * (1.0 + head + tail)
    start = motion.centre - _from_head(motion.length / (2 * n) * directions(angle)).mean(1)
    way = angle[:, 0] - (angle[:, END] - angle[:, 0]) / END * 0.5 * (1.0 + head * n)
    start -= head * motion.length * directions(way)
    centre = start + _from_head(length / (2 * n) * directions(longer)).mean(1)
    return replace(motion, rod_angle=longer, length=length, centre=centre)


def fit_medium(
    motions: Motion | Sequence[Motion],
    repeats: int | None = None,
    seed: int = 0,
    window: float = 1.0,
    progress: Progress = silent,
) -> MediumFit:
    """Estimate the ratio b_perp / b_par of the friction of a medium from midlines.

    The ratio is fitted to the displacements in windows by least squares. (Noise would bias a regression on velocities.
    On displacements, the bias is of second order, and a parametric bootstrap corrects it.) The result does not depend
    on pixel size, frame rate or muscles. Tips that the tracker misses in all frames and a drift of the stage or the
    water are fitted, too. The intervals include the noise of points and tips, and displacements that the model does not
    explain. Long recordings are fitted in pieces of a minute.

    Args:
        motions: Motions of worms in the same medium, from `Midlines.smoothed`.
        repeats (2 to 1000): Number of bootstrap repeats per worm; by default at least 4, and at least 20 in total.
        seed: Random seed of the bootstrap.
        window (s): Duration of the windows; at least three are required.
        progress: Function that shows the progress of an iteration, such as ``tqdm``.

    Returns:
        MediumFit: Result for the group and for each worm.

    Raises:
        ValueError: If a worm does not move, has too few windows without a long gap, drifts by over 2% of its length
            in a window, misses more than 8% of the body at an end, or does not move as in viscous friction.
    """
    several = tuple(motions) if isinstance(motions, Iterable) and not isinstance(motions, str) else (motions,)
    if not several or not all(isinstance(each, Motion) for each in several):
        end = hint(several[0]) if several else ""
        raise ValueError(f"motions must be one or more Motion of Midlines.smoothed, got {shown(motions)}{end}")
    window, count = number("window", window, above=0), len(several)
    repeats = max(4, -(-LEAST_DRAWS // count)) if repeats is None else repeats
    whole("repeats", repeats, 2, 1000)
    whole("seed", seed, 0, 2**63)
    pieces = [(k, piece) for k, motion in enumerate(several) for piece in _pieces(motion)]
    repeats = max(2, -(-repeats * count // len(pieces)))
    names = ["motions" if count == 1 else f"motions[{k}]" for k in range(count)]
    parts: list[_Piece] = []
    resting: list[ValueError] = []
    for b, (k, piece) in enumerate(progress(pieces, desc="medium")):
        try:
            part = _Piece(piece, window, names[k], k)
        except ValueError as error:  # a worm may rest for a minute
            resting.append(error)
            continue
        part.bootstrap(repeats, seed, b)
        _check(part, names[k])
        parts.append(part)
    if {part.owner for part in parts} != set(range(count)):
        raise resting[0]
    errors = np.array([part.errors for part in parts])
    # Between the mean of all worms and its own: a worm with few draws has an uncertain bias and variance.
    noise = 0.5 * errors.var(1, ddof=1) + 0.5 * float(errors.var(1, ddof=1).mean())
    own, bias = errors.mean(1), float(errors.mean())
    differ = max(float(own.var()) - float(noise.mean()) / repeats, 0.0)
    biases = bias + (own - bias) * differ / (differ + noise / repeats + 1e-300)
    best = [part.best for part in parts]
    residual = np.array([each.residual for each in best])
    sigma = np.array([each.sigma for each in best]) - biases
    variance = np.array([each.variance for each in best]) + noise
    variance = variance * np.maximum(residual / [part.expected for part in parts], 1.0) ** 2 + noise / repeats
    shared = (UNSURE * biases) ** 2 + MODEL**2 + np.array([each.by_tips for each in best])
    worms, combined = [], []
    for k in range(count):
        its = [j for j, part in enumerate(parts) if part.owner == k]
        combined.append(_combined(sigma[its], variance[its], shared[its]))
        mean, interval = combined[-1][0], _interval(*combined[-1])
        tips, drift = (tuple(np.mean([getattr(best[j], name) for j in its], 0).tolist()) for name in ("tips", "drift"))
        windows = sum(len(parts[j].windows.starts) for j in its)
        worms.append(WormFit(mean, interval, float(np.sqrt(np.mean(residual[its] ** 2))), windows, tips, drift))
    total = _combined(*np.array(combined)[:, :3].T)
    interval = _interval(*total)
    notes = (f"{len(resting)} pieces of {PIECE:g} s are not used; the first one: {resting[0]}",) if resting else ()
    mean = float("nan") if np.isinf(interval[1]) else total[0]
    return MediumFit(mean, interval, tuple(worms), repeats, bias, seed, notes)


def _pieces(motion: Motion) -> list[Motion]:
    """Divide a long motion into pieces of about a minute."""
    frames = len(motion.measured)
    count = int(frames / motion.rate / PIECE)
    if count < 2:
        return [motion]
    pieces = []
    for a, b in pairwise(np.linspace(0, frames - 1, count + 1).astype(int).tolist()):
        part = slice(FINER * a, FINER * b + 1)
        # A piece may contain only the end of a stretch that is too short alone.
        measured = known_frames(motion.measured[a : b + 1], motion.rate)
        gaps = [(max(start - a, 0), min(stop, b + 1) - a) for start, stop in motion.gaps if start <= b and stop > a]
        gaps += runs(motion.measured[a : b + 1] & ~measured)
        cut = {name: getattr(motion, name)[part] for name in ("time", "rod_angle", "centre")}
        pieces.append(replace(motion, **cut, measured=measured, gaps=tuple(gaps), points=None))
    return pieces


def _combined(sigma: Array, variance: Array, shared: Array) -> tuple[float, float, float, int]:
    """Return the weighted mean of independent estimates, its variance, that of their shared errors, and their number.

    The variance includes the scatter, relative to an expected one with the weight of `EARLIER` estimates.
    """
    weight = 1.0 / variance / np.sum(1.0 / variance)
    mean, count = np.sum(weight * sigma), len(sigma)
    scatter = (EARLIER + np.sum((sigma - mean) ** 2 / variance)) / (EARLIER + count - 1)
    return float(mean), float(max(scatter, 1.0) / np.sum(1.0 / variance)), float(np.sum(weight * shared)), count


def _interval(mean: float, variance: float, shared: float, count: int) -> tuple[float, float]:
    """Return a 95% interval, with an infinite upper end if that exceeds `LARGEST_RATIO`."""
    from scipy.stats import t as student  # slow to import

    quantile = 1.96 if count == 1 else student.ppf(0.975, EARLIER + count - 1)
    half = float(quantile) * np.sqrt(variance + shared)
    low, high = mean - half, mean + half
    return float(low), float("inf") if high > sigma_of(LARGEST_RATIO) else float(high)


def _check(worm: _Piece, name: str) -> None:
    """Raise ValueError if the model does not explain the motion."""
    best, length = worm.best, worm.motion.length
    speed, tip = float(np.hypot(*best.drift)), float(np.max(np.abs(best.tips)))
    if speed * worm.window > MOST_DRIFT * length:
        raise ValueError(
            f"{name} must drift by at most {1e6 * MOST_DRIFT * length / worm.window:.3g} um/s, got {1e6 * speed:.0f}: "
            "add the position of the stage to the midlines, or stop the flow"
        )
    if tip > MOST_TIP:
        raise ValueError(
            f"{name} must miss at most {MOST_TIP:.0%} of the body at an end, got {tip:.0%}: the tracker must find the "
            "tips of head and tail"
        )
    if best.residual > max(MISFIT * length, EXCESS * worm.expected):
        mean = 1e6 * np.hypot(*worm.windows.misfit(best.sigma)[:, :2].mean(0)) / worm.window
        raise ValueError(
            f"{name} must move as the model does, got {1e6 * best.residual:.3g} um of displacement per window that it "
            f"does not explain, more than {MISFIT:.0%} of the length; on average {mean:.2g} um/s: is the position of "
            "the stage added, is the frame rate high enough, is it a worm without inertia in viscous friction?"
        )


def path(motion: Motion, shapes: Shapes, ratio: float) -> tuple[Array, Array]:
    """Compute the path of the shapes in a medium, from the measured initial position and heading.

    In long gaps, the displacement is that between the measured positions.

    Returns:
        centre (T, 2): Position of the centre, m.
        turn (T,): Angle to add to the measured headings, rad.
    """
    velocity = np.where(motion.reliable[:, None], shapes.resistance().velocity(ratio), shapes.measured)
    step = np.diff(motion.time)

    def total(rate: Array) -> Array:
        return np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * step)])

    turn = total(velocity[:, 2] - shapes.measured[:, 2])
    c, s = np.cos(turn), np.sin(turn)
    x, y = velocity[:, 0], velocity[:, 1]
    return motion.centre[0] + np.stack([total(c * x - s * y), total(s * x + c * y)], 1), turn
