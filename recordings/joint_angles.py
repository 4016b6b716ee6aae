"""Kymograms of recorded worms: joint angles from tables or tangent angles, with gaps and resampling.

Midlines with positions are in `midlines`.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gymnosoma.envs.core.arguments import choice, number, printable, shown, whole
from gymnosoma.envs.core.files import LARGEST_TEXT, read_array, read_text
from gymnosoma.envs.worm import KymogramPlayback

from .units import Array, at_even_times, reading, runs

MISSING = ("", "nan", "na", "n/a", "null", "none", "-")
"""Cells of a file without a measurement (case-insensitive)."""

TIME = ("time", "t", "seconds", "time_s", "timestamp")
"""Names of columns with times, s."""

COUNTERS = ("frame", "index", "id", "")
"""Names of columns that number the frames."""

SHORT = 2
"""Longest gap that is filled, frames: fewer than 3, as in the recordings of Chung et al. (2024)."""


@dataclass(frozen=True)
class Kymogram:
    """Joint angles of a worm over time, with NaN for missing measurements.

    Methods return a new kymogram.

    Args:
        angles ((N, n_joints) array, rad): Angle of rod i+1 minus that of rod i for each joint, head to tail.
        rate (Hz): Frame rate.
        notes (tuple of str): Processing steps in order, shown by `report`.

    Raises:
        ValueError: If angles are not a matrix with at least 2 joints, or the rate is out of range.
    """

    angles: Array
    rate: float
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        angles = np.array(self.angles)
        if angles.dtype.kind not in "iuf" or np.isinf(angles).any():
            raise ValueError(f"angles must be finite numbers or NaN, got {shown(self.angles)}")
        if angles.ndim != 2 or angles.shape[1] < 2 or not len(angles):
            raise ValueError(f"angles must be a matrix (frames, joints) of at least 2 joints, got shape {angles.shape}")
        object.__setattr__(self, "angles", angles.astype(float))
        object.__setattr__(self, "rate", number("rate", self.rate, above=0, maximum=1e6))

    @property
    def report(self) -> str:
        """Processing steps, one line each."""
        return "\n".join(self.notes)

    @property
    def duration(self) -> float:
        """Time of the last frame, s."""
        return (len(self.angles) - 1) / self.rate

    @classmethod
    def from_tangents(cls, tangents: ArrayLike, rate: float, n_joints: int = 24) -> Kymogram:
        """Convert tangent angles, such as those of WormPose, to joint angles.

        Args:
            tangents ((N, P) float, rad): Direction of each of P >= 3 equal pieces of the midline, head to tail, with or
                without jumps of 2 pi.
            rate (Hz): Frame rate.
            n_joints: Number of joints of the result.

        Raises:
            ValueError: If tangents have fewer than 3 pieces or are not a matrix.
        """
        whole("n_joints", n_joints, 2, 1000)
        directions = cls(np.asarray(tangents), rate).angles
        if directions.shape[1] < 3:
            raise ValueError(f"tangents must have shape (frames, pieces) with pieces >= 3, got {directions.shape}")
        note = f"{len(directions)} frames of {directions.shape[1]} tangents at {rate:g} Hz: {n_joints} joints"
        return cls(_joints(np.unwrap(directions, axis=1), n_joints), rate, (note,))

    @classmethod
    def read(cls, path: str | Path, rate: float | None = None, kind: str = "joints") -> Kymogram:
        """Read angles from a file.

        Args:
            path: File ``.npy`` or text, with one frame per line and cells separated by commas, semicolons or tabs. A
                first line of words is a header; columns with names such as time or frame are not used as angles. Text
                after ``#`` is a comment. Empty cells, NaN, NA, null and - are gaps.
            rate (Hz): Frame rate; required if there is no column of times.
            kind ({"joints", "tangents"}): Content of the columns; tangents as in `from_tangents`.

        Raises:
            ValueError: If the file cannot be read.
        """
        choice("kind", kind, ("joints", "tangents"))
        path = Path(path)
        names: list[str] = []
        with reading("kymogram", path, "kymogram", "drive", "base"):
            if path.suffix not in (".npy", ".csv", ".tsv", ".txt"):
                raise ValueError(f"file name must end in .npy, .csv, .tsv or .txt, got {path.suffix!r}")
            if path.suffix == ".npy":
                values = read_array(path, LARGEST_TEXT)
            else:
                values, names = read_columns(path)
            notes = [f"{printable(path.name)}: {len(values)} frames of {values.shape[1]} columns"]
            others = [j for j, name in enumerate(names) if name.lower() in TIME + COUNTERS]
            timed = next((j for j in others if names[j].lower() in TIME and len(values) > 1), None)
            if timed is not None:
                values, rate, even = at_even_times(values[:, timed], values, rate)
                notes += even
            for j in reversed(others):
                notes.append(f"column {j + 1}, {names[j]!r}, is not an angle")
                values = np.delete(values, j, 1)
            if rate is None:
                raise ValueError("rate (frames per second) must be given, because the file has no column of times")
            if kind == "joints" and np.abs(values).max(initial=0.0, where=np.isfinite(values)) > np.pi:
                raise ValueError("angles of joints must be within pi, got larger ones: likely degrees, or of tangents")
            angles = cls.from_tangents(values, rate) if kind == "tangents" else cls(values, rate)
        missing = np.isnan(angles.angles).any(1).sum()
        return replace(angles, notes=(*notes, *angles.notes, f"gaps in {missing} frames, at {rate:g} Hz"))

    def filled(self, longest: int = SHORT) -> Kymogram:
        """Fill gaps by linear interpolation in time.

        Args:
            longest (0 to 10^6): Longest gap to fill, frames; 2 by default, as in the paper.

        Raises:
            ValueError: If a gap is longer, or is at an end of the recording; cut it off with `part`.
        """
        whole("longest", longest, 0)
        angles, frames = self.angles.copy(), np.arange(len(self.angles))
        for column in angles.T:
            missing = np.isnan(column)
            for start, stop in runs(missing):
                if stop - start > longest or start == 0 or stop == len(column):
                    raise ValueError(
                        f"gaps must have at most {longest} frames and be between measured ones, got one from frame "
                        f"{start} to {stop - 1} of {len(column)}; cut it off with `part`"
                    )
            column[missing] = np.interp(frames[missing], frames[~missing], column[~missing])
        count = int(np.isnan(self.angles).any(1).sum())
        return replace(self, angles=angles, notes=(*self.notes, f"gaps filled in {count} frames"))

    def resampled(self, rate: float | None = None, n_joints: int | None = None) -> Kymogram:
        """Change the frame rate by linear interpolation in time, and the number of joints by splines along the body.

        A new frame next to a gap is a gap, too. If the number of joints changes, a gap in one joint becomes a gap in
        all joints of the frame.

        Args:
            rate (Hz): New frame rate; unchanged by default.
            n_joints: New number of joints; unchanged by default.
        """
        angles, new, notes = self.angles, self.rate, list(self.notes)
        if n_joints is not None and n_joints != angles.shape[1]:
            whole("n_joints", n_joints, 2, 1000)
            notes.append(f"{angles.shape[1]} joints to {n_joints}")
            angles = _joints(np.pad(np.cumsum(angles, 1), ((0, 0), (1, 0))), n_joints)
        if rate is not None and rate != self.rate:
            new = number("rate", rate, above=0, maximum=1e6)
            count = int(np.floor(self.duration * new + 1e-9)) + 1
            place = np.minimum(np.arange(count) * (self.rate / new), len(angles) - 1)
            before = np.minimum((place + 1e-9).astype(int), len(angles) - 1)
            after = np.minimum(before + 1, len(angles) - 1)
            share = np.clip(place - before, 0.0, 1.0)[:, None]
            share[share < 1e-9] = 0.0
            between = (1.0 - share) * angles[before] + share * angles[after]
            notes.append(f"{len(angles)} frames at {self.rate:g} Hz to {count} at {new:g} Hz")
            angles = np.where(share == 0.0, angles[before], between)
        return Kymogram(angles, new, tuple(notes))

    def part(self, start: int, stop: int) -> Kymogram:
        """Return frames ``start`` to ``stop - 1``."""
        whole("start", start, 0)
        whole("stop", stop, start + 1, len(self.angles))
        return Kymogram(self.angles[start:stop], self.rate, (*self.notes, f"frames {start} to {stop - 1}"))

    def playback(self) -> KymogramPlayback:
        """Return a controller that plays the kymogram.

        Raises:
            ValueError: If there are gaps.
        """
        if np.isnan(self.angles).any():
            raise ValueError("angles must not have gaps: fill them with `filled`, or cut them off with `part`")
        return KymogramPlayback(self.angles, self.rate)


def _joints(directions: Array, n_joints: int) -> Array:
    """Return the joint angles (N, n_joints) of a chain from the directions (N, P) of equal pieces of the midline, rad.

    A cubic spline interpolates the directions at the pieces' midpoints. Frames with gaps are NaN.
    """
    from scipy.interpolate import CubicSpline  # slow to import

    pieces, rods = directions.shape[1], n_joints + 1
    angles = np.full((len(directions), n_joints), np.nan)
    measured = ~np.isnan(directions).any(1)
    if measured.any():
        spline = CubicSpline((np.arange(pieces) + 0.5) / pieces, directions[measured], axis=1)
        angles[measured] = np.diff(spline((np.arange(rods) + 0.5) / rods), axis=1)
    return angles


def read_columns(path: Path, largest: int = LARGEST_TEXT) -> tuple[Array, list[str]]:
    """Read the numbers of a text file, NaN for missing ones, and the names of its columns, if any.

    Raises:
        ValueError: If a line has too few or too many cells, or a cell is not a number.
    """
    values, width, separator = array("d"), 0, ","
    names: list[str] = []
    for line in (line.partition("#")[0] for line in read_text(path, largest).splitlines()):
        if line.strip(" \r\n"):
            separator = separator if width else next((mark for mark in "\t;," if mark in line), ",")
            cells = [cell.strip().strip('"') for cell in line.split(separator)]
            row = [_number(cell) for cell in cells]
            if not width and None in row:
                names, width = cells, len(cells)
                continue
            width = width or len(cells)
            index = len(values) // width
            if len(row) != width:
                raise ValueError(f"row {index} must have {width} cells, got {len(row)}")
            if None in row:
                column = row.index(None)
                name = names[column] if names else column + 1
                raise ValueError(f"row {index}, column {name} must be a number, got {shown(cells[column])}")
            values.extend(row)  # type: ignore[arg-type]
    return np.array(values).reshape(-1, max(width, 1)), names


def _number(cell: str) -> float | None:
    try:
        return math.nan if cell.lower() in MISSING else float(cell)
    except ValueError:
        return None
