"""Motion of a recorded worm, smoothed to remove the camera's noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .joint_angles import Kymogram
from .smoothing import smooth

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

ORDER = 16
"""Degree of the polynomials along the body; 10 is too small for the wave on agar, and 22 is not better."""

FINER = 4
"""Number of time points of a motion per frame of the recording."""

ARC = 201
"""Number of points at which the length of a midline is computed."""

GAP = 3
"""Longest gap, frames, in which a motion is reliable."""

VARIATION = 0.15
"""Largest relative deviation of a midline's length from the median of the worm."""

MOST_PERSISTENT = 0.95
"""Largest correlation of noise from frame to frame; a more persistent deviation is a shape."""


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
        gaps (tuple of (int, int)): Start and stop frames (stop exclusive) of long gaps.
        order: Degree of the polynomials along the body.
        shapes ((N, order + 1, 2) array, m): Coefficients of the polynomials of each frame, not smoothed in time.
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
    gaps: tuple[tuple[int, int], ...] = ()
    order: int = ORDER
    shapes: Array | None = None
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


def turned_round(points: Array, measured: Flags) -> tuple[Array, list[tuple[int, int]]]:
    """Correct frames in which head and tail have swapped.

    Each midline and its reverse are compared with the previous midline. The head is the end that is first in most
    frames.

    Args:
        points ((N, P, 2) float): Midlines.
        measured ((N,) bool): Mask of frames with a midline.

    Returns:
        points (N, P, 2): Corrected midlines.
        stretches (list of (int, int)): Start and stop of the corrected intervals of frames.
    """
    frames = np.flatnonzero(measured)
    lines = points[frames]
    direct = np.sum((lines[1:] - lines[:-1]) ** 2, (1, 2))
    swapped = np.sum((lines[1:] - lines[:-1, ::-1]) ** 2, (1, 2))
    turned = np.concatenate([[False], np.cumsum(swapped < direct) % 2 == 1])
    if turned.sum() > 0.5 * len(turned):
        turned = ~turned
    if not turned.any():
        return points, []
    points = points.copy()
    points[frames[turned]] = points[frames[turned], ::-1]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], turned.astype(int), [0]])))
    return points, [(int(frames[a]), int(frames[b - 1]) + 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def polynomials(places: Array, order: int) -> tuple[Array, Array]:
    """Return orthonormal polynomials (P, m + 1) at ``places`` (shares of the length), and at `ARC` even places."""
    vander = np.polynomial.legendre.legvander
    q, r = np.linalg.qr(vander(2.0 * places - 1.0, order))
    return q, np.linalg.solve(r.T, vander(np.linspace(-1.0, 1.0, ARC), order).T).T


def smoothed(points: Array, measured: Flags, rate: float, order: int, n_rods: int) -> Motion:
    """Smooth midlines (N, P, 2), whose first and last frames are measured; see `Midlines.smoothed`."""
    from scipy.interpolate import CubicSpline  # slow to import

    count, width = points.shape[:2]
    along = arc_length(points[measured])
    places = np.mean(along / along[:, -1:], 0)
    basis, fine = polynomials(places, order)
    shapes = np.einsum("pm,tpx->tmx", basis, np.where(measured[:, None, None], points, 0.0))
    rest = np.where(measured[:, None, None], points - np.einsum("pm,tmx->tpx", basis, shapes), 0.0)
    noise = np.sqrt(np.sum(rest**2) / (2 * measured.sum() * (width - order - 1)))
    both = np.flatnonzero(measured[1:] & measured[:-1])
    power = np.sum(0.5 * (rest[both] ** 2 + rest[both + 1] ** 2))
    persistence = np.clip(np.sum(rest[both] * rest[both + 1]) / max(power, 1e-300), 0.0, MOST_PERSISTENT)
    # With few points, polynomials can oscillate between them: check the lengths.
    raw = arc_length(np.einsum("pm,tmx->tpx", basis, shapes[measured]))[:, -1]
    low, median, high = np.quantile(raw, [0.05, 0.5, 0.95])
    if not median > 0.0 or max(high - median, median - low) > VARIATION * median:
        raise ValueError(
            f"midlines must have lengths within {VARIATION:.0%} of each other, got {1e3 * low:.3g} to {1e3 * high:.3g} "
            f"mm about {1e3 * median:.3g}: a wrong scale, several worms, or too few points"
        )
    series = smooth(shapes.reshape(count, -1), 3, "gcv", measured).values
    moments = np.arange(FINER * (count - 1) + 1) / FINER
    series = CubicSpline(np.arange(count), series)(moments).reshape(len(moments), order + 1, 2)
    curve = np.einsum("am,tmx->tax", fine, series)
    along = arc_length(curve)
    joints = even(curve, along, np.broadcast_to(np.linspace(0.0, 1.0, n_rods + 1), (len(curve), n_rods + 1)))
    rods = np.diff(joints, axis=1)
    angle = np.unwrap(np.arctan2(rods[..., 1], rods[..., 0]), axis=1)
    mean = angle.mean(1)
    angle += (np.unwrap(mean) - mean)[:, None]
    centre = 0.5 * (joints[:, 1:] + joints[:, :-1]).mean(1)
    place = np.cumsum(measured) - 1
    ends = np.mean((raw[place[both + 1]] - raw[place[both]]) ** 2) / 2 if len(both) else 0.0
    # Subtract the noise of the end points. The standard deviation of the sum of two independent |N(0, 1)| is 0.853.
    ends -= noise**2 * np.sum(basis[[0, -1]] ** 2)
    jitter = np.sqrt(max(ends, 0.0)) / 0.853
    gaps = _long_gaps(measured, np.diff(angle), rate)
    time = moments / rate
    length = float(np.median(along[:, -1]))
    errors = float(noise), float(jitter), float(persistence)
    return Motion(time, angle, centre, length, rate, measured, places, *errors, gaps, order, shapes)


def arc_length(curve: Array) -> Array:
    """Return the length (T, A) along curves (T, A, 2) from their first points."""
    steps = np.hypot(*np.moveaxis(np.diff(curve, axis=1), -1, 0))
    return np.pad(np.cumsum(steps, 1), ((0, 0), (1, 0)))


def even(curve: Array, along: Array, places: Array) -> Array:
    """Interpolate curves (T, A, 2) of lengths ``along`` (T, A) at ``places`` (T, K), given as shares of the length."""
    # One interpolation for all curves, each in a separate interval.
    offset = 2.0 * np.arange(len(curve))[:, None]
    lengths = (along / along[:, -1:] + offset).ravel()
    positions = (places + offset).ravel()
    return np.stack([np.interp(positions, lengths, curve[..., k].ravel()).reshape(places.shape) for k in range(2)], -1)


def _long_gaps(measured: Flags, joint_angle: Array, rate: float) -> tuple[tuple[int, int], ...]:
    """Return the gaps longer than `GAP` frames, or than an eighth of the wave's period if that is shorter."""
    missing = np.concatenate([[0], (~measured).astype(int), [0]])
    edges = np.flatnonzero(np.diff(missing)).tolist()
    if not edges:
        return ()
    bend = joint_angle - joint_angle.mean(0)
    rms, slope = np.sqrt(np.mean(bend**2)), np.sqrt(np.mean((np.gradient(bend, axis=0) * FINER * rate) ** 2))
    frames = min(GAP, rate * 2.0 * np.pi * rms / max(slope, 1e-300) / 8.0)
    return tuple((a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a > max(frames, 1.0))
