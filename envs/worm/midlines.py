"""Midlines of recorded worms: from arrays, and from files of trackers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..core.arguments import number, whole
from .kymogram import HIGHEST_RATE
from .midline_files import read
from .motion import HIGHEST_ORDER, LEAST_FRAMES, ORDER, Array, Flags, Motion, checked, smoothed, turned_round, upright
from .params import PHYSICAL


@dataclass(frozen=True)
class Midlines:
    """Midlines of one recorded worm, in m, head to tail, NaN in frames without one.

    Args:
        points ((N, P, 2) array, m): At least 5 points, evenly along the body; y upwards.
        rate: Frames a second.
        notes (tuple of str): Where they are from; `report` shows them.

    Raises:
        ValueError: For points that are no such array, hold no midline, or a rate out of range.

    Examples:
        A worm of which a camera sees 49 points, each 2 um off, 30 times a second; and what is known of it again:

        >>> import numpy as np
        >>> from gymnosoma.envs import simulate
        >>> from gymnosoma.envs.worm import Midlines, SineKymogram, Worm, WormParams
        >>> wave = SineKymogram.for_medium(1.0)
        >>> run = simulate(Worm(WormParams.in_medium(1.0)), wave, duration=4.0, every=1 / 30)
        >>> joints = np.concatenate([run["head"][:, None], run["rod_centre"], run["tail"][:, None]], axis=1)
        >>> noisy = joints + 2e-6 * np.random.default_rng(0).standard_normal(joints.shape)
        >>> motion = Midlines.from_array(noisy, rate=30.0).smoothed()
        >>> print(f"{1e3 * motion.length:.2f} mm, noise of {1e6 * motion.noise:.0f} um")
        1.00 mm, noise of 2 um
    """

    points: Array
    rate: float
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        points = checked(self.points)
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "rate", number("rate", self.rate, above=0, maximum=HIGHEST_RATE))

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
        lines = upright(points, y_down, head, scale)
        count, width = lines.shape[:2]
        return cls(lines, rate, (f"{count} frames of {width} points at {number('rate', rate, above=0):g} Hz",))

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
        """Read what a tracker has written; the formats are told in `midline_files`.

        Args:
            path: ``.npy``, ``.csv``, ``.wcon`` (also zipped), ``.json``, ``.hdf5`` or ``.h5``.
            worm: Which of several.
            rate: Frames a second; of a file that says it, this is taken instead.
            microns_per_pixel: Where the file has pixels.
            head ({"first", "last"}): Where the file does not say it.
            y_down: Whether y grows downwards; where the file does not say it, and has pixels.
            keypoints: Names of body parts, head to tail, of a file of keypoints.

        Raises:
            ValueError: If the file cannot be read so, naming it; if what is missing was not given.
        """
        lines, rate, notes = read(Path(path), worm, rate, microns_per_pixel, head, y_down, keypoints)
        return cls(lines, rate, notes)

    @property
    def report(self) -> str:
        """Where they are from, a line for each step."""
        return "\n".join(self.notes)

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
        known = self.measured
        if known.sum() < LEAST_FRAMES:
            raise ValueError(f"midlines must have at least {LEAST_FRAMES} frames with one, got {int(known.sum())}")
        first, last = np.flatnonzero(known)[[0, -1]]
        points, known = self.points[first : last + 1], known[first : last + 1]
        notes = list(self.notes)
        if len(points) < len(self.points):
            notes.append(f"frames {first} to {last} kept, between the first midline and the last")
        points, turned = turned_round(points, known)
        if turned:
            told = ", ".join(f"{a + first} to {b - 1 + first}" for a, b in turned)
            notes.append(f"head and tail changed places in frames {told}, which are turned round")
        degree = min(order, points.shape[1] - 2)
        if degree < order:
            notes.append(f"polynomials of degree {degree}, not {order}: there are {points.shape[1]} points")
        motion = smoothed(points, known, self.rate, degree, n_rods)
        low, high = PHYSICAL["length"].low, PHYSICAL["length"].high
        if not low <= motion.length <= high:
            raise ValueError(
                f"midlines must be {1e3 * low:g} to {1e3 * high:g} mm long, got {1e3 * motion.length:.3g} mm: say what "
                "their unit is, by microns_per_pixel of a file (1 for um, 1000 for mm) or scale of an array"
            )
        motion = replace(motion, time=motion.time + first / self.rate)
        lost = int((~known).sum())
        bridged = f"{lost} frames without a midline, {len(motion.gaps)} gaps too long to be bridged"
        told = f"noise {1e6 * motion.noise:.2g} um, tips missed by {1e6 * motion.jitter:.2g} um"
        notes.append(f"length {1e3 * motion.length:.4g} mm, {told}; {bridged}")
        return replace(motion, notes=tuple(notes))
