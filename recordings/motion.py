"""Motion of a recorded worm, smoothed to remove the camera's noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .joint_angles import Kymogram
from .smoothing import smooth
from .units import runs, stretches

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Progress = Callable[..., Iterable[Any]]


def silent(items: Iterable[Any], **about: Any) -> Iterable[Any]:
    """Return the items; show no progress."""
    return items


ORDER = 12
"""Degree of the polynomials of the tangent angle along the body; higher ones are below 0.02 rad in crawling worms."""

FINER = 4
"""Number of time points of a motion per frame of the recording."""

PIECES = 50
"""Smallest number of pieces into which a midline is divided."""

GAP, LOST = 3, (1.0, 100)
"""Longest gap in which a motion is reliable, frames, and longest one that smoothing bridges, s and frames."""

LEAST_STRETCH = 8
"""Smallest number of midlines between two gaps that are not bridged."""

BLOCK, SAMPLE = 512, 4000
"""Number of frames that are fitted at once, and that are used for statistics of the noise, to limit memory."""

STEPS, FAR = 8, 0.5
"""Number of Levenberg-Marquardt steps, and distance from the neighbours' shape at which they are repeated (rad)."""

MOST_PERSISTENT = 0.95
"""Largest correlation of noise from frame to frame; a more persistent deviation is a shape."""

CORRELATIONS = np.linspace(0.0, 0.9, 10)
"""Correlations of the noise of neighbouring points that are distinguished."""

VARIATION = 0.15
"""Largest relative deviation of a midline's length from the median of the worm."""

PRIOR, DAMPING, NOISE = 6, 1e-3, 2e-3
"""Degree above which the prior of the angle's coefficients falls from 1 rad, first damping, and noise assumed first.

The noise is in lengths.
"""

UNEVEN = 0.008
"""Smallest deviation from evenly spaced points that is noticed in the lengths of chords."""

SHORTER, JUMP, MISFIT, FLOOR, STRIDE, FASTER = 0.05, 8.0, 6.0, 0.01, 0.15, 3.0
"""Limits of a bad frame.

In order: relative deviation of its length from the median; deviation from the motion smoothed in time, and of points
from the fitted midline, relative to the median of all frames; least deviation, and distance of centres of successive
frames, in lengths; mean speed in a gap, relative to the median.
"""

REPEATED, ELSEWHERE = "repeat the frame before", "are elsewhere"
"""Reasons for the rejection of frames."""

LEAST_SAMPLING = 5.0
"""Smallest number of frames per undulation."""

MOST_BAD, LEAST_PAIRS = 0.2, 0.2
"""Largest share of bad frames, and smallest number of pairs of frames for an autocorrelation, in frames."""


@dataclass(frozen=True)
class Motion:
    """Smoothed motion of a recorded worm, represented by the model's rods.

    Args:
        time ((T,) array, s): Times at equal intervals, `FINER` per frame of the recording.
        rod_angle ((T, n) array, rad): Heading of each rod, head to tail, continuous.
        centre ((T, 2) array, m): Centre of mass.
        length (m): Median length of the body.
        rate (Hz): Frame rate of the recording.
        measured ((N,) bool): Mask of frames with a midline.
        places ((P,) array): Positions of the recorded points along the midline, from 0 to 1.
        noise (m): Standard deviation of each coordinate of a point.
        jitter (m): Standard deviation of the distance by which the tracker misses the tips.
        persistence: Correlation of a point's noise with that in the next frame, at least 0.
        along: Correlation of a point's noise with that of the next point, at least 0.
        gaps (tuple of (int, int)): Start and stop frames (stop exclusive) of long gaps.
        order: Degree of the polynomials of the tangent angle.
        points ((N, P, 2) array, m): Midlines, not smoothed.
        period (s): Duration of an undulation.
        notes (tuple of str): Processing steps in order, shown by `report`.
    """

    time: Array
    rod_angle: Array
    centre: Array
    length: float
    rate: float
    measured: Flags
    places: Array
    noise: float = 0.0
    jitter: float = 0.0
    persistence: float = 0.0
    along: float = 0.0
    gaps: tuple[tuple[int, int], ...] = ()
    order: int = ORDER
    points: Array | None = None
    period: float = float("inf")
    notes: tuple[str, ...] = ()

    @property
    def joint_angle(self) -> Array:
        """Heading of rod i+1 minus that of rod i (T, n - 1), rad; the two joints at each end have twice the error."""
        return np.diff(self.rod_angle)

    @property
    def reliable(self) -> Flags:
        """Mask (T,) of times that are not in a long gap, nor within a frame of one."""
        reliable = np.ones(len(self.time), bool)
        for start, stop in self.gaps:
            reliable[max((start - 2) * FINER + 1, 0) : (stop + 1) * FINER] = False
        return reliable

    @property
    def report(self) -> str:
        """Processing steps, one line each."""
        return "\n".join(self.notes)

    def kymogram(self) -> Kymogram:
        """Return the joint angles at the recording's frames, NaN where they are not reliable."""
        angles = np.where(self.reliable[::FINER, None], self.joint_angle[::FINER], np.nan)
        return Kymogram(angles, self.rate, self.notes)


def directions(angle: Array) -> Array:
    """Return the unit vectors (..., 2) of angles (...)."""
    return np.stack([np.cos(angle), np.sin(angle)], -1)


def correct_swaps(points: Array, measured: Flags, rate: float) -> tuple[Array, list[tuple[int, int]]]:
    """Correct frames in which head and tail have swapped.

    Each midline and its reverse are compared with the previous midline. The head is the end that is first in most
    frames. A worm may turn round while it is lost, so each stretch between gaps that are not bridged is on its own.

    Args:
        points ((N, P, 2) float): Midlines.
        measured ((N,) bool): Mask of frames with a midline.
        rate (Hz): Frame rate.

    Returns:
        points (N, P, 2): Corrected midlines.
        stretches (list of (int, int)): Start and stop of the corrected intervals of frames.
    """
    lengths = _in_blocks(arc_length, points)[:, -1]
    median = np.median(lengths[measured])
    # Half a worm may resemble either half of the reversed one.
    frames = np.flatnonzero(measured & (np.abs(lengths - median) < 2.0 * SHORTER * median))
    lines = points[frames]
    lines -= lines.mean(1, keepdims=True)
    swapped = np.einsum("tpx,tpx->t", lines[1:], lines[:-1, ::-1])
    direct = np.einsum("tpx,tpx->t", lines[1:], lines[:-1])
    turned = np.concatenate([[False], np.cumsum(swapped > direct) % 2 == 1])
    for start, stop in known_stretches(measured, rate):
        inside = (start <= frames) & (frames < stop)
        turned[inside] ^= turned[inside].sum() > 0.5 * inside.sum()
    if not turned.any():
        return points, []
    points = points.copy()
    points[frames[turned]] = points[frames[turned], ::-1]
    return points, [(int(frames[a]), int(frames[b - 1]) + 1) for a, b in runs(turned)]


class Body:
    """Midlines of constant speed, whose tangent angle is a polynomial, seen at ``places`` (P,), shares of the length.

    The unknowns of a frame are the coefficients of the angle (order + 1, orthonormal Legendre polynomials), the length,
    and the centre (2).
    """

    def __init__(self, places: Array, order: int, n_rods: int) -> None:
        self.order, self.n_rods = order, n_rods
        count = n_rods * -(-PIECES // n_rods)
        self.middle = (np.arange(count) + 0.5) / count
        degree = np.arange(order + 1)
        self.modes = np.polynomial.legendre.legvander(2.0 * self.middle - 1.0, order) * np.sqrt(2.0 * degree + 1.0)
        reach = np.clip(places[:, None] * count - np.arange(count), 0.0, 1.0) / count
        self._reach = reach - (1.0 - self.middle) / count
        self._places = places
        # Prior of the coefficients: the spectrum of worms with up to two waves on the body.
        self._precision = np.concatenate([(np.maximum(degree, PRIOR) / PRIOR) ** 8.0 * (degree > 0), np.zeros(3)])

    def start(self, points: Array) -> Array:
        """Return initial values (N, U) of the unknowns, from splines through about a dozen points (N, P, 2)."""
        from scipy.interpolate import CubicSpline  # slow to import

        some = np.unique(np.linspace(0, points.shape[1] - 1, min(points.shape[1], self.order + 1)).round().astype(int))
        slope = CubicSpline(self._places[some], points[:, some], axis=1)(self.middle, 1)
        angle = np.unwrap(np.arctan2(slope[..., 1], slope[..., 0]), axis=1)
        length = np.mean(np.hypot(slope[..., 0], slope[..., 1]), 1)
        return np.concatenate([angle @ self.modes / len(self.middle), length[:, None], points.mean(1)], 1)

    def fit(
        self, points: Array, unknown: Array, noise: float, steps: int, progress: Progress = silent
    ) -> tuple[Array, Array]:
        """Return the unknowns (N, U) after Levenberg-Marquardt steps, and the residuals (N, P, 2) m."""
        fitted, rest = np.empty_like(unknown), np.empty_like(points)
        prior = noise**2 * self._precision
        for first in progress(range(0, len(points), BLOCK), desc="midlines"):
            part = slice(first, first + BLOCK)
            best, least = unknown[part], np.full(len(points[part]), np.inf)
            now, damping = best.copy(), np.full(len(best), DAMPING)
            for step in range(steps + 1):
                off, slope = self._linear(points[part], now, step < steps)
                cost = np.sum(off**2, 1) + now**2 @ prior
                better = cost < least
                best, least = np.where(better[:, None], now, best), np.where(better, cost, least)
                if step == 0:
                    matrix, right = np.empty((len(now), now.shape[1], now.shape[1])), np.empty_like(now)
                if step < steps:
                    part_slope = slope[better]
                    matrix[better] = np.swapaxes(part_slope, 1, 2) @ part_slope + np.diag(prior)
                    right[better] = np.squeeze(off[better][:, None] @ part_slope, 1) - now[better] * prior
                    damping = np.where(better, damping / 10.0, np.maximum(damping, DAMPING) * 10.0)
                    damped = matrix * (1.0 + damping[:, None, None] * np.eye(now.shape[1]))
                    now = best + np.linalg.solve(damped, right[..., None])[..., 0]
            off, _ = self._linear(points[part], best, False)
            best[:, 0] += np.pi * (best[:, -3] < 0.0)  # the same line, from the other side
            best[:, -3] = np.abs(best[:, -3])
            fitted[part], rest[part] = best, off.reshape(points[part].shape)
        return fitted, rest

    def _linear(self, points: Array, unknown: Array, sloped: bool = True) -> tuple[Array, Array]:
        """Return the residuals (N, 2 P) and the derivatives of the points (N, 2 P, U)."""
        length, centre = unknown[:, -3], unknown[:, -2:]
        tangent, line = self._line(unknown[:, : self.order + 1])
        rest = points - centre[:, None] - length[:, None, None] * line
        if not sloped:
            return rest.reshape(len(rest), -1), rest
        count, width = points.shape[:2]
        slope = np.zeros((count, width, 2, unknown.shape[1]))
        normal = np.stack([-tangent[:, 1], tangent[:, 0]], 1) * length[:, None, None]
        for axis in range(2):
            slope[:, :, axis, : self.order + 1] = self._reach @ (normal[:, axis, :, None] * self.modes)
            slope[:, :, axis, -2 + axis] = 1.0
        slope[..., -3] = line
        return rest.reshape(count, -1), slope.reshape(count, 2 * width, -1)

    def _line(self, modes: Array) -> tuple[Array, Array]:
        """Return the directions (N, 2, M) of the pieces of midlines of length 1, and their points (N, P, 2)."""
        angle = modes @ self.modes.T
        tangent = np.stack([np.cos(angle), np.sin(angle)], 1)
        return tangent, np.swapaxes(tangent @ self._reach.T, 1, 2)

    def response(self, unknown: Array, noise: float) -> tuple[Array, float]:
        """Return how one frame reacts to deviations of its points.

        Returns:
            projection (2 P, 2 P): Matrix that maps small deviations to residuals.
            variance: Variance of the length, for deviations with a standard deviation of 1.
        """
        _, slope = self._linear(np.zeros((1, len(self._places), 2)), unknown[None])
        matrix = slope[0].T @ slope[0] + noise**2 * np.diag(self._precision)
        projection = np.eye(slope.shape[1]) - slope[0] @ np.linalg.solve(matrix, slope[0].T)
        return projection, float(np.linalg.inv(matrix)[-3, -3])

    def points(self, modes: Array, length: float, centre: Array, head: Array, tail: Array) -> Array:
        """Return the points (N, P, 2) of midlines whose tips are missed by ``head`` and ``tail`` (N,)."""
        _, line = self._line(modes)
        moved = head[:, None] * (1.0 - self._places) - tail[:, None] * self._places
        return centre[:, None] + length * (line + moved[..., None] * self.tangent(modes))

    def tangent(self, modes: Array) -> Array:
        """Return the directions (N, P, 2) of the midlines at the points."""
        near = np.minimum((self._places * len(self.middle)).astype(int), len(self.middle) - 1)
        angle = modes[:, : self.order + 1] @ self.modes[near].T
        return directions(angle)

    def coefficients(self, rod_angle: Array) -> Array:
        """Return the coefficients (N, order + 1) of the headings (N, n) of rods."""
        return np.asarray(rod_angle @ np.linalg.pinv(self.modes.reshape(self.n_rods, -1, self.order + 1).mean(1)).T)

    def chord(self, modes: Array) -> float:
        """Return the mean length of a rod relative to the curve between its ends."""

        def chords(modes: Array) -> Array:
            angle = (modes @ self.modes.T).reshape(len(modes), self.n_rods, -1)
            return np.asarray(np.hypot(np.cos(angle).mean(2), np.sin(angle).mean(2)))

        return float(np.mean(_in_blocks(chords, modes)))

    def rods(self, coefficients: Array) -> Array:
        """Return the headings (T, n) of rods, continuous along the body."""
        mean = (coefficients @ self.modes.T).reshape(len(coefficients), self.n_rods, -1)
        middle = mean.mean(2, keepdims=True)
        turn = np.arctan2(np.sin(mean - middle).mean(2), np.cos(mean - middle).mean(2))
        return np.asarray(middle[..., 0] + turn)


def known_stretches(measured: Flags, rate: float) -> list[tuple[int, int]]:
    """Return start and stop of the stretches of frames that are smoothed, which gaps that are not bridged separate."""
    return stretches(measured, min(LOST[0] * rate, LOST[1]), LEAST_STRETCH)


def known_frames(measured: Flags, rate: float) -> Flags:
    """Return the mask of measured frames that are in a stretch long enough for smoothing."""
    known = np.zeros(len(measured), bool)
    for start, stop in known_stretches(measured, rate):
        known[start:stop] = measured[start:stop]
    return known


def smoothed(
    points: Array, measured: Flags, rate: float, order: int, n_rods: int, progress: Progress, first: int = 0
) -> Motion:
    """Smooth midlines (N, P, 2) from frame ``first`` of a recording on; see `Midlines.smoothed`.

    The first and last frames must be measured.
    """
    from scipy.ndimage import median_filter  # slow to import

    measured = measured.copy()
    reasons: dict[str, int] = {}
    total = int(measured.sum())

    def reject(bad: Flags, reason: str) -> Flags:
        """Remove some of the measured frames and those that they leave alone; return the mask of the others."""
        frames = np.flatnonzero(measured)
        measured[frames[bad]] = False
        measured[:] = known_frames(measured, rate)
        reasons[reason] = reasons.get(reason, 0) + len(frames) - int(measured.sum())
        if not measured.any():
            raise ValueError(
                f"midlines must be usable in {1 - MOST_BAD:.0%} of the frames, got none: {_listed(reasons)}"
            )
        return measured[frames]

    lines = points[measured]
    repeated = np.concatenate([[False], (lines[1:] == lines[:-1]).all((1, 2))])
    raw = _in_blocks(arc_length, lines)[:, -1][reject(repeated, REPEATED)]
    median = float(np.median(raw))
    reject(np.abs(raw - median) > max(SHORTER * median, 6.0 * _deviation(raw)), "have another length")
    raw = _in_blocks(arc_length, points[measured])[:, -1]
    low, high = np.quantile(raw, [0.05, 0.95])
    if not median > 0.0 or max(high - median, median - low) > VARIATION * median:
        raise ValueError(
            f"midlines must have lengths within {VARIATION:.0%} of each other, got {1e3 * low:.3g} to {1e3 * high:.3g} "
            f"mm about {1e3 * median:.3g}: a wrong scale, several worms, or too few points"
        )
    frames = np.flatnonzero(measured)
    elsewhere = frames[~reject(_elsewhere(points[measured].mean(1), frames, median), ELSEWHERE)]
    some = points[measured][:: max(1, int(measured.sum()) // SAMPLE)]
    along = arc_length(some)
    places, even_places = np.median(along / along[:, -1:], 0), np.linspace(0.0, 1.0, points.shape[1])
    if np.abs(places - even_places).max() < UNEVEN:
        places = even_places
    body = Body(places, order, n_rods)
    for _ in range(2):  # points of another spacing deviate along the body
        unknown, rest = body.fit(some, body.start(some), NOISE * median, STEPS)
        shift = np.median(np.sum(rest * body.tangent(unknown), -1) / unknown[:, -3:-2], 0)
        places = np.concatenate([[0.0], (places + shift)[1:-1], [1.0]])
        body = Body(places, order, n_rods)
    noise = max(float(np.sqrt(np.median(np.mean(rest**2, (1, 2))))), 1e-9 * median)
    noise *= np.sqrt(2 * len(places) / max(np.trace(body.response(unknown[len(unknown) // 2], noise)[0]), 1.0))
    lines = points[measured]
    unknown, rest = body.fit(lines, body.start(lines), noise, STEPS, progress)
    # Start frames with another shape than their neighbours again, from these.
    unknown[:, 0] = np.unwrap(unknown[:, 0])
    near = median_filter(unknown, (5, 1), mode="nearest")
    far = np.sum((unknown - near)[:, : order + 1] ** 2, 1) > FAR**2
    if far.any():
        again, off = body.fit(lines[far], near[far], noise, STEPS)
        good = np.sum(off**2, (1, 2)) < 2.0 * np.sum(rest[far] ** 2, (1, 2))
        far[far] = good
        unknown[far], rest[far] = again[good], off[good]
    size = np.sqrt(np.mean(rest**2, (1, 2)))
    kept = reject(size > max(MISFIT * float(np.median(size)), FLOOR * median), "are no smooth line")
    unknown, rest = unknown[kept], rest[kept]
    for _ in range(3):
        unknown[:, 0] = np.unwrap(unknown[:, 0])
        values = np.zeros((len(measured), unknown.shape[1]))
        values[measured] = unknown
        series = _smoothed(values, measured, rate)
        off = (values - series)[measured]
        off = np.sqrt(np.sum(off[:, : order + 1] ** 2, 1) * median**2 / 12.0 + np.sum(off[:, -2:] ** 2, 1))
        bad = off > max(JUMP * float(np.median(off)), FLOOR * median)
        bad[[0, -1]] = False
        if not bad.any():
            break
        kept = reject(bad, "jump")
        unknown, rest = unknown[kept], rest[kept]
    share = sum(number for reason, number in reasons.items() if reason != REPEATED) / total
    if share > MOST_BAD:
        raise ValueError(
            f"midlines must be usable in {1 - MOST_BAD:.0%} of the frames, got {share:.0%} bad ones: {_listed(reasons)}"
            + (_where_to_cut(elsewhere, first, rate) if reasons[ELSEWHERE] > 0.5 * MOST_BAD * total else "")
        )
    undulation = _undulation(values[:, 1 : order + 1], measured)
    if undulation < LEAST_SAMPLING:
        raise ValueError(
            f"rate must be at least {LEAST_SAMPLING:g} frames per undulation, got {undulation:.3g}: record with at "
            f"least {np.ceil(LEAST_SAMPLING / undulation * rate):g} Hz"
        )
    unknown, rest, frames = unknown[:SAMPLE], rest[:SAMPLE], np.flatnonzero(measured)[:SAMPLE]
    noise, along_noise, spread = _noise(body, unknown, rest, noise)
    both = np.flatnonzero(np.diff(frames) == 1)
    power = np.sum(0.5 * (rest[both] ** 2 + rest[both + 1] ** 2))
    persistence = np.clip(np.sum(rest[both] * rest[both + 1]) / max(power, 1e-300), 0.0, MOST_PERSISTENT)
    ends = np.mean((unknown[both + 1, -3] - unknown[both, -3]) ** 2) / 2 if len(both) else 0.0
    # Subtract the noise of the points. The standard deviation of the sum of two independent |N(0, 1)| is 0.853.
    jitter = np.sqrt(max(ends - spread * (1.0 - persistence), 0.0)) / 0.853
    errors = noise, float(jitter), float(persistence), along_noise
    notes = (f"rejected frames: {_listed(reasons)}",) if any(reasons.values()) else ()
    none = series[:0]
    about = Motion(none, none, none, median, rate, measured, places, *errors, order=order, points=points)
    motion = _continued(about, body, float(np.median(unknown[:, -3])), series)
    gaps = _long_gaps(measured, motion.joint_angle, rate)
    return replace(motion, gaps=gaps, period=undulation / rate, notes=notes)


def _smoothed(values: Array, measured: Flags, rate: float) -> Array:
    """Smooth series (N, S) within each stretch; those between the stretches are not changed."""
    series = values.copy()
    for start, stop in known_stretches(measured, rate):
        series[start:stop] = smooth(values[start:stop], 3, "gcv", measured[start:stop]).values
    return series


def _continued(motion: Motion, body: Body, length: float, series: Array) -> Motion:
    """Return a motion with the smoothed unknowns (N, U) of its frames, interpolated by splines, linearly while lost."""
    from scipy.interpolate import CubicSpline  # slow to import

    moments = np.arange(FINER * (len(series) - 1) + 1) / FINER
    values, known = np.empty((len(moments), series.shape[1])), np.zeros(len(moments), bool)
    for start, stop in known_stretches(motion.measured, motion.rate):
        part = slice(FINER * start, FINER * (stop - 1) + 1)
        local = np.arange(stop - start)
        values[part] = CubicSpline(local, series[start:stop])(moments[: FINER * (stop - start - 1) + 1])
        known[part] = True
    for column in values.T if not known.all() else ():
        column[~known] = np.interp(moments[~known], moments[known], column[known])
    modes, centre = values[:, : body.order + 1], values[:, -2:]
    length *= body.chord(modes[_between(motion.measured)])
    rod_angle = _in_blocks(body.rods, modes)
    return replace(motion, time=moments / motion.rate, rod_angle=rod_angle, centre=centre, length=length)


def _between(measured: Flags) -> Flags:
    """Return the mask of the times of a motion whose next frames, before and after, are measured."""
    moments = np.arange(FINER * (len(measured) - 1) + 1)
    return np.asarray(measured[moments // FINER] & measured[-(-moments // FINER)])


def simulate_recording(motion: Motion, rod_angle: Array, centre: Array, rng: np.random.Generator) -> Motion:
    """Simulate a recording of shapes (N, n) in rad and centres (N, 2) in m, with the noise of ``motion``."""
    body = Body(motion.places, motion.order, rod_angle.shape[1])
    modes, measured = body.coefficients(rod_angle), motion.measured
    length = motion.length / body.chord(modes[measured])
    tips = np.abs(rng.normal(0.0, motion.jitter / length, (2, len(modes))))
    lines = body.points(modes, length, centre, *tips)
    noise = rng.normal(0.0, motion.noise, lines.shape)
    for each, share in ((noise, motion.persistence), (np.swapaxes(noise, 0, 1), motion.along)):
        for before, now in pairwise(each):
            now *= np.sqrt(1.0 - share**2)
            now += share * before
    lines += noise
    lines[~measured] = np.nan
    unknown = np.concatenate([modes, np.full((len(modes), 1), length), centre], 1)[measured]
    unknown, _ = body.fit(lines[measured], unknown, motion.noise, 1)
    series = np.zeros((len(lines), unknown.shape[1]))
    series[measured] = unknown
    series = _smoothed(series, measured, motion.rate)
    return _continued(replace(motion, points=lines), body, float(np.median(unknown[:, -3])), series)


def _in_blocks(function: Callable[[Array], Array], values: Array) -> Array:
    return np.concatenate([function(values[k : k + BLOCK]) for k in range(0, len(values), BLOCK)])


def _listed(reasons: dict[str, int]) -> str:
    return ", ".join(f"{number} {reason}" for reason, number in reasons.items() if number)


def _deviation(values: Array) -> float:
    """Return a robust standard deviation."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def _elsewhere(centre: Array, frames: NDArray[np.int64], length: float) -> Flags:
    """Find stretches that begin and end with a jump from the longest stretch's path.

    A worm that was lost for long may be as far as it would come with `FASTER` times its usual speed.
    """
    step = np.hypot(*np.diff(centre, axis=0).T)
    speed = float(np.median(step / np.diff(frames)))
    stride = max(STRIDE * length, 8.0 * speed)
    stretches = np.split(np.arange(len(centre)), np.flatnonzero(step > 0.5 * stride) + 1)
    longest = max(range(len(stretches)), key=lambda k: len(stretches[k]))
    bad = np.zeros(len(centre), bool)
    for side in (range(longest + 1, len(stretches)), range(longest - 1, -1, -1)):
        last = stretches[longest]
        for k in side:
            near, far = (last[-1], stretches[k][0]) if k > longest else (last[0], stretches[k][-1])
            lost = abs(frames[far] - frames[near])
            if np.hypot(*(centre[far] - centre[near])) > max(
                stride * np.clip(lost / GAP, 1, 10), FASTER * speed * lost
            ):
                bad[stretches[k]] = True
            else:
                last = stretches[k]
    return bad


def _where_to_cut(elsewhere: NDArray[np.int64], first: int, rate: float) -> str:
    """Return the end of a message about frames ``elsewhere``, counted from ``first``, the longest stretch."""
    parts = stretches(np.isin(np.arange(elsewhere[-1] + 1), elsewhere), GAP)
    start, stop = max(parts, key=lambda part: part[1] - part[0])
    start, last = first + start, first + stop - 1
    return (
        f"; frames {start} to {last} ({start / rate:.6g} to {last / rate:.6g} s) are far from the others: fit the "
        "parts alone with --from and --to (Python: start and stop of `read`), or leave out another worm"
    )


def _undulation(shapes: Array, measured: Flags) -> float:
    """Return the number of frames per undulation: twice the first minimum of the autocorrelation of shapes (N, S).

    Only pairs of measured frames are used, with the weight that all pairs of the same lag would have.
    """
    count, total = len(shapes), measured.sum()
    shapes = np.where(measured[:, None], shapes - shapes[measured].mean(0), 0.0)
    values = [1.0]
    for lag in range(1, count // 2):
        pairs = np.sum(measured[lag:] & measured[:-lag])
        if pairs < LEAST_PAIRS * total:
            return 2.0 * lag
        weight = ((count - lag) / pairs) * (total / count)
        values.append(float(weight * np.sum(shapes[lag:] * shapes[:-lag]) / np.sum(shapes**2)))
        if len(values) > 2 and values[-1] > values[-2] and values[-2] < min(0.8 * values[1], 0.5):
            left, middle, right = values[-3:]
            return 2.0 * (lag - 1 + 0.5 * (left - right) / (left - 2.0 * middle + right))
    return 2.0 * (count // 2)


def _noise(body: Body, unknown: Array, rest: Array, noise: float) -> tuple[float, float, float]:
    """Return the noise of the points, its correlation along the body, and the variance of the length it causes."""
    unit, middle = rest.shape[1], unknown[len(unknown) // 2]
    matrix, variance = body.response(middle, noise)
    distance = np.abs(np.subtract.outer(np.arange(unit), np.arange(unit)))
    ratio, power = np.sum(rest[:, 1:] * rest[:, :-1]) / max(np.sum(rest**2), 1e-300), np.sum(rest**2) / len(rest)
    best = np.inf, 0.0, 1.0
    for correlation in CORRELATIONS:
        expected = matrix @ np.kron(np.maximum(correlation, 1e-9) ** distance, np.eye(2)) @ matrix.T
        lag = np.trace(expected[2:, :-2]) / max(np.trace(expected), 1e-300)
        best = min(best, (abs(lag - ratio), correlation, np.trace(expected)))
    found = float(np.sqrt(power / max(best[2], 1.0)))
    return found, float(best[1]), variance * found**2


def arc_length(curve: Array) -> Array:
    """Return the length (T, A) along curves (T, A, 2) from their first points."""
    steps = np.hypot(*np.moveaxis(np.diff(curve, axis=1), -1, 0))
    return np.pad(np.cumsum(steps, 1), ((0, 0), (1, 0)))


def _long_gaps(measured: Flags, joint_angle: Array, rate: float) -> tuple[tuple[int, int], ...]:
    """Return the gaps longer than `GAP` frames, or than an eighth of the wave's period if that is shorter."""
    gaps = runs(~measured)
    if not gaps:
        return ()
    known = _between(measured)[: FINER * SAMPLE]
    bend = joint_angle[: FINER * SAMPLE] - joint_angle[: FINER * SAMPLE][known].mean(0)
    steps = np.diff(bend, axis=0)[known[1:] & known[:-1]]
    slope = np.sqrt(np.mean(steps**2)) * FINER * rate if len(steps) else 0.0
    frames = min(GAP, rate * 2.0 * np.pi * np.sqrt(np.mean(bend[known] ** 2)) / max(slope, 1e-300) / 8.0)
    return tuple((a, b) for a, b in gaps if b - a > max(frames, 1.0))
