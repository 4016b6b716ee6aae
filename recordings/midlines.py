"""Midlines of recorded worms, from arrays and files of trackers.

The formats are in `tracker_files` and `keypoint_files`, and the smoothing is in `motion`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gymnosoma.envs.core.arguments import choice, number, printable, shown, whole
from gymnosoma.envs.core.kinds import takes_objects

from .body import Progress, silent
from .motion import ORDER, Flags, Motion, smooth_midlines
from .tracker_files import HEADS, read_midlines, upright
from .units import HIGHEST_RATE, Array, Hints, reading, within_span

LEAST_POINTS = 9
"""Smallest number of points of a midline."""

HIGHEST_ORDER = 40
"""Largest degree of the polynomials."""


@dataclass(frozen=True)
class Midlines:
    """Midlines of one recorded worm, in m, head to tail, NaN in frames without one.

    Args:
        points ((N, P, 2) array, m): At least 9 points per midline, evenly spaced along the body, with y upwards.
        rate (Hz): Frame rate.
        notes (tuple of str): Source and processing steps.
        unit_from (str): Source of the unit of length, for messages: an argument, or the file.

    Raises:
        ValueError: If the shape of points is wrong, no frame has a midline, or the rate is out of range.

    Examples:
        A camera with 30 frames per second records 49 points of a worm with 2 um of noise:

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

        A simulated worm plays the kymogram at 32 frames per second:

        >>> kymogram = motion.kymogram().resampled(32.0)
        >>> again = simulate(Worm(dt=1 / 320), kymogram.playback(), kymogram.duration, every=1 / 32)
    """

    points: Array
    rate: float
    notes: tuple[str, ...] = ()
    unit_from: str = "scale"

    def __post_init__(self) -> None:
        number("rate", self.rate, above=0, maximum=HIGHEST_RATE)
        lines = np.array(self.points)
        if lines.dtype.kind not in "iuf" or np.isinf(lines).any():
            raise ValueError(f"midlines must be finite numbers or NaN, got {shown(self.points)}")
        if lines.ndim != 3 or lines.shape[1] < LEAST_POINTS or lines.shape[2] != 2:
            raise ValueError(
                f"midlines must have shape (frames, points, 2) with at least {LEAST_POINTS} points, got {lines.shape}"
            )
        lines = lines.astype(float)
        lines[~np.isfinite(lines).all((1, 2))] = np.nan
        object.__setattr__(self, "points", lines)
        if not self.measured.any():
            raise ValueError("midlines must have a frame with a midline, got none")

    @classmethod
    @takes_objects
    def from_array(
        cls, points: ArrayLike, rate: float, y_down: bool = False, head: str = "first", scale: float = 1.0
    ) -> Midlines:
        """Create midlines from an array.

        Args:
            points ((N, P, 2) float): Points in units of ``scale``; frames with NaN are gaps.
            rate (Hz): Frame rate.
            y_down: Whether y points downwards, as in pixels; this changes the sign of all angles.
            head ({"first", "last"}): End of each midline that is the head.
            scale (m): Unit of the points.
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
        start: float | None = None,
        stop: float | None = None,
    ) -> Midlines:
        """Read a tracker's file; `tracker_files` describes the formats.

        Args:
            path: File ``.npy``, ``.csv``, ``.wcon`` (also zipped), ``.json``, ``.hdf5``, ``.h5`` or ``.slp``.
            worm: Worm to read; required if there are several.
            rate (Hz): Frame rate; overrides an attribute of the file, and must match a column of times.
            microns_per_pixel (um): Size of a pixel; required if the file has pixels of unknown size, and overrides that
                of Tierpsy's files.
            head ({"first", "last"}): End with the head; "first" by default. For ``.wcon`` and ``.json``, it is required
                if the file does not contain it.
            y_down: Whether y points downwards; required for pixels if the file does not contain it.
            keypoints: Names of body parts from head to tail; required for a file of keypoints.
            start, stop (s): Part of the recording to use, in time from its first frame; all by default.

        Raises:
            ValueError: If the file cannot be read, a required argument is missing, or one has no effect on the file.
        """
        path = Path(path)
        if microns_per_pixel is not None:
            number("microns_per_pixel", microns_per_pixel, above=0)
        if head is not None:
            choice("head", head, HEADS)
        with reading("recording", path, "midlines"):
            pixels = {"microns_per_pixel": microns_per_pixel, "y_down": y_down}
            hints = Hints(worm=worm, rate=rate, head=head, keypoints=keypoints, **pixels)
            lines, rate, notes = read_midlines(path, hints)
            midlines = cls(lines, rate, unit_from="microns_per_pixel" if "microns_per_pixel" in hints.asked else "file")
        if start is not None or stop is not None:
            midlines = replace(midlines, points=within_span(midlines.points, rate, start, stop))
        size = f"{len(midlines.points)} frames of {midlines.points.shape[1]} points at {rate:g} Hz"
        return replace(midlines, notes=(printable(path.name), size, *notes))

    @property
    def measured(self) -> Flags:
        """Mask (N,) of the frames with a midline."""
        return np.asarray(np.isfinite(self.points).all((1, 2)))

    def smoothed(self, order: int = ORDER, n_rods: int = 25, progress: Progress = silent) -> Motion:
        """Fit a smooth line of constant length to every frame, and remove its noise by penalised third differences.

        The data determine the weight of the penalty. Frames before the first and after the last midline are removed. If
        head and tail swap between frames, this is corrected and noted. Frames are rejected and noted if they repeat the
        previous frame, if their length differs by more than 5% (or 6 robust standard deviations) from the median, if
        they are elsewhere, or if they deviate from a smooth line or motion by several times the median. Gaps of more
        than 3 frames, or an eighth of the wave's period if that is shorter, are interpolated for films, but not used in
        fits. Gaps of more than a second or 100 frames are not bridged: the stretches between them are smoothed alone,
        and those with fewer than 8 midlines are left out.

        Args:
            order (2 to 40): Degree of the polynomial of the tangent angle along the body; at most 2 P - 6 is used.
            n_rods: Number of rods of the fitted chain.
            progress: Function that shows the progress of an iteration, such as ``tqdm``.

        Raises:
            ValueError: If no stretch has 8 midlines, there are fewer than 5 frames per undulation, lengths differ by
                more than 15%, more than 20% of the frames are rejected, or length or inertia are not those of a worm.
        """
        whole("order", order, 2, HIGHEST_ORDER)
        whole("n_rods", n_rods, 3, 1000)
        return smooth_midlines(self.points, self.rate, order, n_rods, progress, self.notes, self.unit_from)
