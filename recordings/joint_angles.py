"""Kymograms of recorded worms: joint angles from tangent angles and tables, with gaps, at other rates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs.core.arguments import choice, number, shown, whole
from gymnosoma.envs.core.files import check_file
from gymnosoma.envs.worm import KymogramPlayback

Array = NDArray[np.float64]

MISSING = ("", "nan", "na", "n/a", "null", "none", "-")
"""Cells of a file without a measurement; in any case."""

TIME = ("time", "t", "seconds", "time_s", "timestamp")
"""Names of a column of times, s."""

COUNTERS = ("frame", "index", "id", "")
"""Names of a column that counts the frames."""

SHORT = 2
"""Frames that a gap may have to be filled: under 3, as in the recordings of Chung et al. (2024)."""


@dataclass(frozen=True)
class Kymogram:
    """Joint angles of a worm over time, with NaN where nothing was measured; each method gives a new one.

    Args:
        angles ((N, n_joints) array, rad): Rod i+1 minus rod i of each joint, head to tail.
        rate: Frames a second.
        notes (tuple of str): What was done to get it, in order; `report` shows them.

    Raises:
        ValueError: For angles that are no matrix of at least 2 joints, or a rate out of range.
    """

    angles: Array
    rate: float
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        angles = np.array(self.angles)
        if angles.dtype.kind not in "iuf" or np.isinf(angles).any():
            raise ValueError(f"angles must hold finite numbers, or NaN, got {shown(self.angles)}")
        if angles.ndim != 2 or angles.shape[1] < 2 or not len(angles):
            raise ValueError(f"angles must be a matrix (frames, joints) of at least 2 joints, got shape {angles.shape}")
        object.__setattr__(self, "angles", angles.astype(float))
        object.__setattr__(self, "rate", number("rate", self.rate, above=0, maximum=1e6))

    @property
    def report(self) -> str:
        """What was done, a line for each step."""
        return "\n".join(self.notes)

    @property
    def duration(self) -> float:
        """Time of the last frame, s."""
        return (len(self.angles) - 1) / self.rate

    @classmethod
    def from_tangents(cls, tangents: ArrayLike, rate: float, n_joints: int = 24) -> Kymogram:
        """Turn tangent angles, such as WormPose's, into joint angles.

        Args:
            tangents ((N, P) float, rad): Direction of each of P >= 3 equal pieces of the midline, head to tail, with or
                without jumps of 2 pi.
            rate: Frames a second.
            n_joints: Joints to have.

        Raises:
            ValueError: For tangents that are no such matrix.
        """
        whole("n_joints", n_joints, 2, 1000)
        directions = cls(np.asarray(tangents), rate).angles
        if directions.shape[1] < 3:
            raise ValueError(f"tangents must have shape (frames, pieces) with 3 pieces or more, got {directions.shape}")
        note = f"{len(directions)} frames of {directions.shape[1]} tangents at {rate:g} Hz: {n_joints} joints"
        return cls(_joints(np.unwrap(directions, axis=1), n_joints), rate, (note,))

    @classmethod
    def read(cls, path: str | Path, rate: float | None = None, kind: str = "joints") -> Kymogram:
        """Read a file as other programs write it, and note what was made of it.

        Args:
            path: ``.npy``, or text with a frame a line and cells between commas, semicolons or tabs. A first line of
                words is a header; columns that it calls time or frame are no angles; what follows a ``#`` is a comment.
                Cells that are empty or say NaN, NA, null or - are gaps.
            rate: Frames a second; needed where no column has times.
            kind ({"joints", "tangents"}): What the columns are; tangents as in `from_tangents`.

        Raises:
            ValueError: If the file cannot be read so.
        """
        choice("kind", kind, ("joints", "tangents"))
        path = Path(path)
        names: list[str] = []
        try:
            if path.suffix not in (".npy", ".csv", ".tsv", ".txt"):
                raise ValueError("it is no .npy, .csv, .tsv or .txt file")
            check_file(path)
            if path.suffix == ".npy":
                values = np.load(path, mmap_mode="r", allow_pickle=False)
            else:
                values, names = _table(path)
            notes = [f"{path.name}: {len(values)} frames of {values.shape[1]} columns"]
            for j in reversed([j for j, name in enumerate(names) if name.lower() in TIME + COUNTERS]):
                if names[j].lower() in TIME and rate is None and len(values) > 1:
                    rate = float(1.0 / np.nanmedian(np.diff(values[:, j])))
                notes.append(f"column {j + 1}, {names[j]!r}, holds no angles")
                values = np.delete(values, j, 1)
            if rate is None:
                raise ValueError("rate must be given, frames a second: the file has no column of times")
            angles = cls.from_tangents(values, rate) if kind == "tangents" else cls(values, rate)
        except Exception as error:  # a damaged file ends in many ways
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ValueError(f"kymogram {str(path)!r} cannot be read: {reason}") from None
        missing = np.isnan(angles.angles).any(1).sum()
        return replace(angles, notes=(*notes, *angles.notes, f"gaps in {missing} frames, at {rate:g} Hz"))

    def filled(self, longest: int = SHORT) -> Kymogram:
        """Fill gaps by lines in time, joint by joint.

        Args:
            longest (0 to 10^6): Frames that a gap may have; 2 by default, the paper's.

        Raises:
            ValueError: For longer gaps, and gaps at either end; `part` leaves them out.
        """
        whole("longest", longest, 0)
        angles, frames = self.angles.copy(), np.arange(len(self.angles))
        for column in angles.T:
            missing = np.isnan(column)
            edges = np.flatnonzero(np.diff(np.concatenate([[0], missing, [0]])))
            for start, stop in zip(edges[::2], edges[1::2], strict=True):
                if stop - start > longest or start == 0 or stop == len(column):
                    raise ValueError(
                        f"gaps must have at most {longest} frames and lie between measured ones, got one from frame "
                        f"{start} to {stop - 1} of {len(column)}; `part` leaves it out"
                    )
            column[missing] = np.interp(frames[missing], frames[~missing], column[~missing])
        count = int(np.isnan(self.angles).any(1).sum())
        return replace(self, angles=angles, notes=(*self.notes, f"gaps filled in {count} frames"))

    def resampled(self, rate: float | None = None, n_joints: int | None = None) -> Kymogram:
        """Change the rate, by lines in time, and the number of joints, by the rods' directions along the body.

        A frame between two of which one has a gap has it, too; a gap spreads over the frame where joints change.
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
        """Frames ``start`` to ``stop - 1``."""
        whole("start", start, 0)
        whole("stop", stop, start + 1, len(self.angles))
        return Kymogram(self.angles[start:stop], self.rate, (*self.notes, f"frames {start} to {stop - 1}"))

    def playback(self) -> KymogramPlayback:
        """Controller that plays it.

        Raises:
            ValueError: If it has gaps.
        """
        if np.isnan(self.angles).any():
            raise ValueError("angles must have no gaps to be played: fill them (`filled`) or leave them out (`part`)")
        return KymogramPlayback(self.angles, self.rate)


def _joints(directions: Array, n_joints: int) -> Array:
    """Joint angles (N, n_joints) of a chain with the directions (N, P) of equal pieces of the midline, rad.

    By a cubic spline through the middles of the pieces; NaN in frames with gaps.
    """
    from scipy.interpolate import CubicSpline  # slow to import

    pieces, rods = directions.shape[1], n_joints + 1
    angles = np.full((len(directions), n_joints), np.nan)
    measured = ~np.isnan(directions).any(1)
    if measured.any():
        spline = CubicSpline((np.arange(pieces) + 0.5) / pieces, directions[measured], axis=1)
        angles[measured] = np.diff(spline((np.arange(rods) + 0.5) / rods), axis=1)
    return angles


def _table(path: Path) -> tuple[Array, list[str]]:
    """Numbers of a file of text, NaN where there are none, and the names of its columns, if it has them."""
    with open(path, encoding="utf-8-sig") as file:
        first = next((line for line in file if line.partition("#")[0].strip()), "")
    separator = next((mark for mark in "\t;," if mark in first), ",")
    cells = np.genfromtxt(path, str, delimiter=separator, autostrip=True, ndmin=2, encoding="utf-8-sig")
    cells = np.where(np.isin(np.char.lower(np.char.strip(cells, '"')), MISSING), "nan", np.char.strip(cells, '"'))
    try:
        return cells.astype(float), []
    except ValueError:
        return cells[1:].astype(float), cells[0].tolist()
