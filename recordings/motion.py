"""Smoothed motion of a recorded worm: rejection of bad frames, smoothing over time, noise, undulation and gaps.

The curves fitted to single frames are in `body`, the smoothing of series in `smoothing`, and the medium in `medium`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .body import Body, Progress, arc_length, in_blocks
from .joint_angles import Kymogram
from .smoothing import smooth
from .units import Array, runs, stretches

Flags = NDArray[np.bool_]
ORDER = 12
"""Degree of the polynomials of the tangent angle along the body; higher ones are below 0.02 rad in crawling worms."""

FINER = 4
"""Number of time points of a motion per frame of the recording."""

GAP, LOST = 3, (1.0, 100)
"""Longest gap in which a motion is reliable, frames, and longest one that smoothing bridges, s and frames."""

LEAST_STRETCH = 8
"""Smallest number of midlines between two gaps that are not bridged."""

SAMPLE = 4000
"""Number of frames that are used for statistics of the noise, to limit memory."""

STEPS, FAR = 8, 0.5
"""Number of Levenberg-Marquardt steps, and distance from the neighbours' shape at which they are repeated (rad)."""

MOST_PERSISTENT = 0.95
"""Largest correlation of noise from frame to frame; a more persistent deviation is a shape."""

CORRELATIONS = np.linspace(0.0, 0.9, 10)
"""Correlations of the noise of neighbouring points that are distinguished."""

VARIATION = 0.15
"""Largest relative deviation of a midline's length from the median of the worm."""

NOISE = 2e-3
"""Noise of points that is assumed first (lengths)."""

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


SHORTEST, LONGEST = 0.2e-3, 2e-3
"""Range of the length of C. elegans (m): 0.25 mm when it hatches, 1.6 mm when it is old."""

INERTIA, LAG = 0.4e-3, 0.02
"""Mass / b_perp of a worm of 1 mm in water (s), and its largest value relative to the radian of an undulation."""


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
    lengths = in_blocks(arc_length, points)[:, -1]
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


def known_stretches(measured: Flags, rate: float) -> list[tuple[int, int]]:
    """Return start and stop of the stretches of frames that are smoothed, which gaps that are not bridged separate."""
    return stretches(measured, min(LOST[0] * rate, LOST[1]), LEAST_STRETCH)


def known_frames(measured: Flags, rate: float) -> Flags:
    """Return the mask of measured frames that are in a stretch long enough for smoothing."""
    known = np.zeros(len(measured), bool)
    for start, stop in known_stretches(measured, rate):
        known[start:stop] = measured[start:stop]
    return known


def smooth_midlines(
    points: Array, rate: float, order: int, n_rods: int, progress: Progress, notes: tuple[str, ...], unit_from: str
) -> Motion:
    """Smooth midlines (N, P, 2); see `Midlines.smoothed`. ``unit_from`` is that of `Midlines`."""
    finite: Flags = np.asarray(np.isfinite(points).all((1, 2)))
    total, measured = int(finite.sum()), known_frames(finite, rate)
    if not measured.any():
        raise ValueError(
            f"midlines must be in at least {LEAST_STRETCH} frames without a gap of more than {LOST[0]:g} s or "
            f"{LOST[1]} frames between them, got {total} frames"
        )
    steps = list(notes)
    if alone := total - int(measured.sum()):
        steps.append(f"frames left out, fewer than {LEAST_STRETCH} between long gaps: {alone}")
    first, last = np.flatnonzero(measured)[[0, -1]].tolist()
    if last - first + 1 < len(points):
        steps.append(f"frames {first} to {last} kept, between the first midline and the last")
    points, measured = points[first : last + 1], measured[first : last + 1]
    points, swaps = correct_swaps(points, measured, rate)
    if swaps:
        frames = ", ".join(f"{a + first} to {b - 1 + first}" for a, b in swaps)
        steps.append(f"head and tail changed places in frames {frames}; corrected")
    degree = min(order, 2 * points.shape[1] - 6)
    if degree < order:
        steps.append(f"angles by polynomials of degree {degree}, not {order}: there are {points.shape[1]} points")
    motion = _smoothed_motion(points, measured, rate, degree, n_rods, progress, first)
    _check_animal(motion, unit_from)
    steps.append(
        f"length {1e3 * motion.length:.4g} mm, noise {1e6 * motion.noise:.2g} um, tips missed by "
        f"{1e6 * motion.jitter:.2g} um; {int((~measured).sum())} frames without a midline, {len(motion.gaps)} long "
        f"gaps; {motion.period * rate:.2g} frames per undulation"
    )
    for before, after in pairwise(known_stretches(motion.measured, rate)):
        times = (first + before[1]) / rate, (first + after[0]) / rate
        steps.append(
            f"lost from {times[0]:.6g} to {times[1]:.6g} s; the head is then the end that is first in most frames"
        )
    return replace(motion, time=motion.time + first / rate, notes=(*steps, *motion.notes))


def _check_animal(motion: Motion, unit_from: str) -> None:
    """Raise ValueError if the length or the inertia is not that of a worm, with a correction of the unit."""
    if not SHORTEST <= motion.length <= LONGEST:
        factor = 10.0 ** round(np.log10(motion.length / 0.8e-3))
        unit = {1e3: "in mm, not in m, ", 1e6: "in um, not in m, "}.get(factor, "")
        wrong = f"{factor:g} times too far apart" if factor > 1.0 else f"{1.0 / factor:g} times too close together"
        fix = {
            "scale": f"pass scale={1.0 / factor:g}, or divide the one passed by {factor:g}",
            "microns_per_pixel": f"pass --microns-per-pixel {1e6 / factor:g} (Python: microns_per_pixel), or divide "
            f"the one passed by {factor:g}",
            "file": "the file declares a wrong unit of length; correct it there",
        }[unit_from]
        advice = f"; if this is a worm, points are {unit}{wrong}: {fix}" if factor != 1.0 else ""
        raise ValueError(
            f"midlines must have a worm's length of {1e3 * SHORTEST:g} to {1e3 * LONGEST:g} mm, got "
            f"{1e3 * motion.length:.3g} mm{advice}"
        )
    lag = 2.0 * np.pi / motion.period * INERTIA * (motion.length / 1e-3) ** 2
    if lag > LAG:
        raise ValueError(
            f"midlines must undulate slowly enough for inertia to be negligible, got {1 / motion.period:.2g} Hz at "
            f"{1e3 * motion.length:.2g} mm, at most {LAG / lag / motion.period:.2g} Hz: no worm, or a wrong rate"
        )


def _smoothed_motion(
    points: Array, measured: Flags, rate: float, order: int, n_rods: int, progress: Progress, first: int
) -> Motion:
    """Smooth midlines (N, P, 2) from frame ``first`` of a recording on, of which the first and last are measured."""
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
    raw = in_blocks(arc_length, lines)[:, -1][reject(repeated, REPEATED)]
    median = float(np.median(raw))
    reject(np.abs(raw - median) > max(SHORTER * median, 6.0 * _deviation(raw)), "have another length")
    raw = in_blocks(arc_length, points[measured])[:, -1]
    low, high = np.quantile(raw, [0.05, 0.95])
    if not median > 0.0 or max(high - median, median - low) > VARIATION * median:
        raise ValueError(
            f"midlines must have lengths within {VARIATION:.0%} of each other, got {1e3 * low:.3g} to {1e3 * high:.3g} "
            f"mm about {1e3 * median:.3g}: a wrong scale, several worms, or too few points"
        )
    frames = np.flatnonzero(measured)
    elsewhere = frames[~reject(_elsewhere(points[measured].mean(1), frames, median), ELSEWHERE)]
    body, noise = _calibrated(points[measured][:: max(1, int(measured.sum()) // SAMPLE)], order, n_rods, median)
    unknown, residuals = _fitted(body, points[measured], noise, progress)
    size = np.sqrt(np.mean(residuals**2, (1, 2)))
    kept = reject(size > max(MISFIT * float(np.median(size)), FLOOR * median), "are no smooth line")
    unknown, residuals = unknown[kept], residuals[kept]
    for _ in range(3):
        unknown[:, 0] = np.unwrap(unknown[:, 0])
        values = np.zeros((len(measured), unknown.shape[1]))
        values[measured] = unknown
        series = _smoothed(values, measured, rate)
        deviation = (values - series)[measured]
        deviation = np.sqrt(
            np.sum(deviation[:, : order + 1] ** 2, 1) * median**2 / 12.0 + np.sum(deviation[:, -2:] ** 2, 1)
        )
        bad = deviation > max(JUMP * float(np.median(deviation)), FLOOR * median)
        bad[[0, -1]] = False
        if not bad.any():
            break
        kept = reject(bad, "jump")
        unknown, residuals = unknown[kept], residuals[kept]
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
    frames = np.flatnonzero(measured)[:SAMPLE]
    errors = _errors(body, unknown[:SAMPLE], residuals[:SAMPLE], frames, noise)
    notes = (f"rejected frames: {_listed(reasons)}",) if any(reasons.values()) else ()
    none = series[:0]
    about = Motion(none, none, none, median, rate, measured, body.places, *errors, order=order, points=points)
    motion = _continued(about, body, float(np.median(unknown[:SAMPLE, -3])), series)
    gaps = _long_gaps(measured, motion.joint_angle, rate)
    return replace(motion, gaps=gaps, period=undulation / rate, notes=notes)


def _calibrated(lines: Array, order: int, n_rods: int, length: float) -> tuple[Body, float]:
    """Return the line model for the places of the points (N, P, 2), and a first estimate of the noise (m)."""
    along = arc_length(lines)
    places, even_places = np.median(along / along[:, -1:], 0), np.linspace(0.0, 1.0, lines.shape[1])
    if np.abs(places - even_places).max() < UNEVEN:
        places = even_places
    body = Body(places, order, n_rods)
    for _ in range(2):  # points of another spacing deviate along the body
        unknown, residuals = body.fit(lines, body.start(lines), NOISE * length, STEPS)
        shift = np.median(np.sum(residuals * body.tangent(unknown), -1) / unknown[:, -3:-2], 0)
        body = Body(np.concatenate([[0.0], (body.places + shift)[1:-1], [1.0]]), order, n_rods)
    noise = max(float(np.sqrt(np.median(np.mean(residuals**2, (1, 2))))), 1e-9 * length)
    freedom = np.trace(body.response(unknown[len(unknown) // 2], noise)[0])
    return body, noise * float(np.sqrt(2 * lines.shape[1] / max(freedom, 1.0)))


def _fitted(body: Body, lines: Array, noise: float, progress: Progress) -> tuple[Array, Array]:
    """Fit lines to all frames, again from their neighbours' shape if that differs; return unknowns and residuals."""
    from scipy.ndimage import median_filter  # slow to import

    unknown, residuals = body.fit(lines, body.start(lines), noise, STEPS, progress)
    unknown[:, 0] = np.unwrap(unknown[:, 0])
    near = median_filter(unknown, (5, 1), mode="nearest")
    far = np.sum((unknown - near)[:, : body.order + 1] ** 2, 1) > FAR**2
    if far.any():
        again, deviation = body.fit(lines[far], near[far], noise, STEPS)
        good = np.sum(deviation**2, (1, 2)) < 2.0 * np.sum(residuals[far] ** 2, (1, 2))
        far[far] = good
        unknown[far], residuals[far] = again[good], deviation[good]
    return unknown, residuals


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
    rod_angle = in_blocks(body.rods, modes)
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


def _errors(
    body: Body, unknown: Array, residuals: Array, frames: NDArray[np.int64], noise: float
) -> tuple[float, float, float, float]:
    """Return noise, jitter, persistence and correlation along the body, as in `Motion`, from fits of ``frames``."""
    count, middle = residuals.shape[1], unknown[len(unknown) // 2]
    matrix, variance = body.response(middle, noise)
    distance = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    total = np.sum(residuals**2)
    ratio, power = np.sum(residuals[:, 1:] * residuals[:, :-1]) / max(total, 1e-300), total / len(residuals)
    best = np.inf, 0.0, 1.0
    for correlation in CORRELATIONS:
        expected = matrix @ np.kron(np.maximum(correlation, 1e-9) ** distance, np.eye(2)) @ matrix.T
        lag = np.trace(expected[2:, :-2]) / max(np.trace(expected), 1e-300)
        best = min(best, (abs(lag - ratio), correlation, np.trace(expected)))
    noise = float(np.sqrt(power / max(best[2], 1.0)))
    both = np.flatnonzero(np.diff(frames) == 1)
    power = np.sum(0.5 * (residuals[both] ** 2 + residuals[both + 1] ** 2))
    persistence = np.clip(np.sum(residuals[both] * residuals[both + 1]) / max(power, 1e-300), 0.0, MOST_PERSISTENT)
    ends = np.mean((unknown[both + 1, -3] - unknown[both, -3]) ** 2) / 2 if len(both) else 0.0
    # Subtract the noise of the points. The standard deviation of the sum of two independent |N(0, 1)| is 0.853.
    jitter = np.sqrt(max(ends - variance * noise**2 * (1.0 - persistence), 0.0)) / 0.853
    return noise, float(jitter), float(persistence), float(best[1])


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
