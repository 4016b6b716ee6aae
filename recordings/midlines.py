"""Midlines of recorded worms: from arrays, and from files of trackers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gymnosoma.envs.core.arguments import choice, number, shown, whole
from gymnosoma.envs.worm import WormParams

from .motion import ORDER, Array, Flags, Motion, smoothed, turned_round
from .tracker_files import HEADS, HIGHEST_RATE, Hints, read_midlines, upright

LEAST_POINTS, LEAST_FRAMES = 5, 8
"""Points of a midline and frames of a recording that can be smoothed."""

HIGHEST_ORDER = 40
"""Largest degree that can be asked for."""


@dataclass(frozen=True)
class Midlines:
    """Midlines of one recorded worm, in m, head to tail, NaN in frames without one.

    Args:
        points ((N, P, 2) array, m): At least 5 points, evenly along the body; y upwards.
        rate: Frames a second.
        notes (tuple of str): Where they are from.

    Raises:
        ValueError: For points that are no such array, hold no midline, or a rate out of range.

    Examples:
        A camera sees 49 points of a worm, each 2 um off, 30 times a second:

        >>> import numpy as np
        >>> from gymnosoma.envs import simulate
        >>> from gymnosoma.envs.worm import SineKymogram, Worm, WormParams
        >>> from gymnosoma.recordings import Midlines
        >>> wave = SineKymogram.for_medium(1.0)
        >>> run = simulate(Worm(WormParams.in_medium(1.0)), wave, duration=4.0, every=1 / 30)
        >>> joints = np.concatenate([run["head"][:, None], run["rod_centre"], run["tail"][:, None]], axis=1)
        >>> noisy = joints + 2e-6 * np.random.default_rng(0).standard_normal(joints.shape)
        >>> motion = Midlines.from_array(noisy, rate=30.0).smoothed()
        >>> print(f"{1e3 * motion.length:.2f} mm, noise of {1e6 * motion.noise:.0f} um")
        1.00 mm, noise of 2 um

        Its kymogram, 32 frames a second, as a worm of the model can play it:

        >>> kymogram = motion.kymogram().resampled(32.0)
        >>> again = simulate(Worm(dt=1 / 320), kymogram.playback(), kymogram.duration, every=1 / 32)
    """

    points: Array
    rate: float
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        number("rate", self.rate, above=0, maximum=HIGHEST_RATE)
        lines = np.array(self.points)
        if lines.dtype.kind not in "iuf" or np.isinf(lines).any():
            raise ValueError(f"midlines must hold finite numbers, or NaN, got {shown(self.points)}")
        if lines.ndim != 3 or lines.shape[1] < LEAST_POINTS or lines.shape[2] != 2:
            raise ValueError(
                f"midlines must have shape (frames, points, 2) with {LEAST_POINTS} points or more, got {lines.shape}"
            )
        lines = lines.astype(float)
        lines[~np.isfinite(lines).all((1, 2))] = np.nan
        object.__setattr__(self, "points", lines)
        if not self.measured.any():
            raise ValueError("midlines must have a frame with a midline, got none")

    @classmethod
    def from_array(
        cls, points: ArrayLike, rate: float, y_down: bool = False, head: str = "first", scale: float = 1.0
    ) -> Midlines:
        """Take midlines as they are in memory.

        Args:
            points ((N, P, 2) float): In m, or in what ``scale`` says; frames with NaN in them are gaps.
            rate: Frames a second.
            y_down: Whether y grows downwards, as in pixels; this changes the sign of all angles.
            head ({"first", "last"}): The end of each midline that is the head.
            scale (m): Of one unit of the points.
        """
        choice("head", head, HEADS)
        midlines = cls(np.asarray(points), rate)
        lines = upright(midlines.points, y_down, head, number("scale", scale, above=0))
        return cls(lines, rate, (f"{len(lines)} frames of {lines.shape[1]} points at {rate:g} Hz",))

    @classmethod
    def read(
        cls,
        path: str | Path,
        worm: str | int | None = None,
        rate: float | None = None,
        microns_per_pixel: float | None = None,
        head: str | None = None,
        y_down: bool | None = None,
        keypoints: tuple[str, ...] = (),
    ) -> Midlines:
        """Read a tracker's file; `tracker_files` describes the formats.

        Args:
            path: ``.npy``, ``.csv``, ``.wcon`` (also zipped), ``.json``, ``.hdf5`` or ``.h5``.
            worm: Which of several.
            rate: Frames a second; it is taken instead of the one in the file.
            microns_per_pixel: Where the file has pixels.
            head ({"first", "last"}): Where the file does not say it.
            y_down: Whether y grows downwards; where the file does not say it, and has pixels.
            keypoints: Names of body parts, head to tail, of a file of keypoints.

        Raises:
            ValueError: If the file cannot be read so, naming it; if something that the file lacks was not given.
        """
        path = Path(path)
        if microns_per_pixel is not None:
            number("microns_per_pixel", microns_per_pixel, above=0)
        if head is not None:
            choice("head", head, HEADS)
        try:
            lines, rate, notes = read_midlines(path, Hints(worm, rate, microns_per_pixel, head, y_down, keypoints))
            midlines = cls(lines, rate)
        except ImportError:
            raise
        except Exception as error:  # a damaged file ends in many ways
            reason = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
            raise ValueError(f"recording {str(path)!r} cannot be read: {reason}") from None
        size = f"{len(midlines.points)} frames of {midlines.points.shape[1]} points at {rate:g} Hz"
        return replace(midlines, notes=(path.name, size, *notes))

    @property
    def measured(self) -> Flags:
        """Frames (N,) that have a midline."""
        return np.asarray(np.isfinite(self.points).all((1, 2)))

    def smoothed(self, order: int = ORDER, n_rods: int = 25) -> Motion:
        """Take the noise out: polynomials along the body, penalised third differences in time, both by the data.

        Frames before the first midline and after the last are left out. Head and tail that change places from one frame
        to the next are set right, and noted. Gaps of more than 3 frames, or an eighth of the wave's period if that is
        less, are bridged for films; no fit uses them.

        Args:
            order (2 to P - 2): Degree of the polynomials; less where there are fewer points.
            n_rods: Of the chain that is laid along.

        Raises:
            ValueError: For fewer than 8 midlines, lengths that differ by more than 15%, or are no worm's.
        """
        whole("order", order, 2, HIGHEST_ORDER)
        whole("n_rods", n_rods, 3, 1000)
        measured = self.measured
        if measured.sum() < LEAST_FRAMES:
            raise ValueError(f"midlines must have at least {LEAST_FRAMES} frames with one, got {int(measured.sum())}")
        first, last = np.flatnonzero(measured)[[0, -1]]
        points, measured = self.points[first : last + 1], measured[first : last + 1]
        notes = list(self.notes)
        if len(points) < len(self.points):
            notes.append(f"frames {first} to {last} kept, between the first midline and the last")
        points, turned = turned_round(points, measured)
        if turned:
            frames = ", ".join(f"{a + first} to {b - 1 + first}" for a, b in turned)
            notes.append(f"head and tail changed places in frames {frames}, which are turned round")
        degree = min(order, points.shape[1] - 2)
        if degree < order:
            notes.append(f"polynomials of degree {degree}, not {order}: there are {points.shape[1]} points")
        motion = smoothed(points, measured, self.rate, degree, n_rods)
        try:
            WormParams(length=motion.length)
        except ValueError as error:
            raise ValueError(
                f"midlines: {error}; give their unit, by microns_per_pixel of a file (1 for um, 1000 for mm) or scale "
                "of an array"
            ) from None
        notes.append(
            f"length {1e3 * motion.length:.4g} mm, noise {1e6 * motion.noise:.2g} um, tips missed by "
            f"{1e6 * motion.jitter:.2g} um; {int((~measured).sum())} frames without a midline, {len(motion.gaps)} gaps "
            "too long to be bridged"
        )
        return replace(motion, time=motion.time + first / self.rate, notes=tuple(notes))
