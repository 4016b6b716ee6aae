"""Recordings of real worms: from midlines or tangent angles, with gaps, to angles that the model's joints take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import choice, number, shown, whole
from ..core.files import check_file
from .kymogram import FRAME_RATE, HIGHEST_RATE, LARGEST_FILE, KymogramPlayback, measured, read_matrix
from .motion import (
    FINER,
    HIGHEST_ORDER,
    LEAST_FRAMES,
    LEAST_POINTS,
    ORDER,
    arc_length,
    even,
    smoothed,
    turned_round,
)

Array = NDArray[np.float64]

MISSING = ("", "nan", "na", "n/a", "null", "none", "-")
"""What a cell of a file says where nothing was measured; in any case."""

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

    Examples:
        From midlines to a film: here those of a simulated worm, head to tail, with a frame in which none was found.

        >>> import numpy as np
        >>> from gymnosoma.envs import simulate
        >>> from gymnosoma.envs.worm import Kymogram, SineKymogram, Worm, WormParams
        >>> params = WormParams.in_medium(1.0)
        >>> run = simulate(Worm(params), SineKymogram.for_medium(1.0), duration=3.0, every=0.05)
        >>> midlines = np.concatenate([run["head"][:, None], run["rod_centre"], run["tail"][:, None]], axis=1)
        >>> midlines[30] = np.nan
        >>> kymogram = Kymogram.from_midlines(midlines, rate=20.0).filled().resampled(32.0)
        >>> print(kymogram.report)
        61 frames of 27 points at 20 Hz: 24 joints by arc length; nothing measured in 1 frame
        smoothed by polynomials of degree 16: noise 0.01% of the length
        1 gap of at most 2 frames filled, 1 frame in all
        61 frames at 20 Hz to 97 at 32 Hz
        >>> again = simulate(Worm(params, dt=1 / 320), kymogram.playback(), kymogram.duration, every=1 / 32)
        >>> from gymnosoma.films import film
        >>> film(again, "worm.mp4")  # doctest: +SKIP
    """

    angles: Array
    rate: float = FRAME_RATE
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        angles = measured("angles", self.angles)
        if angles.ndim != 2 or angles.shape[1] < 2 or not len(angles):
            raise ValueError(f"angles must be a matrix (frames, joints) of at least 2 joints, got shape {angles.shape}")
        object.__setattr__(self, "angles", angles)
        object.__setattr__(self, "rate", number("rate", self.rate, above=0, maximum=HIGHEST_RATE))

    @property
    def report(self) -> str:
        """What was done, a line for each step."""
        return "\n".join(self.notes)

    @property
    def duration(self) -> float:
        """Time from the first frame to the last, s."""
        return (len(self.angles) - 1) / self.rate

    @classmethod
    def from_midlines(
        cls,
        midlines: ArrayLike,
        rate: float = FRAME_RATE,
        n_joints: int = 24,
        y_down: bool = False,
        order: int | None = ORDER,
    ) -> Kymogram:
        """Lay a chain of equal rods along each midline, such as Tierpsy's skeletons.

        A camera's noise of 2 um would make 0.1 rad of error of a joint, whose signal is 0.16 to 0.35 rad; smoothed
        as `Midlines.smoothed` does, 0.01 to 0.03 are left, and 0.05 in the last two joints of each end.

        Args:
            midlines ((N, P, 2) float): Points x, y from head to tail in any unit, at least 3, not necessarily evenly;
                frames with NaN in them are gaps.
            y_down: Whether y grows downwards, as in pixels; this changes the sign of all angles.
            order (2 to P - 2): Degree of the polynomials along the body that take the noise out; less where there are
                fewer points. None takes the points as they are: a chain with a joint at every point, evenly, is found
                exactly. Fewer than 5 points, or 8 frames, are taken so, too.

        Raises:
            ValueError: For midlines that are no such array, have no length, or differ in length by more than 15%.
        """
        whole("n_joints", n_joints, 2, 1000)
        if order is not None:
            whole("order", order, 2, HIGHEST_ORDER)
        lines = measured("midlines", midlines)
        if lines.ndim != 3 or lines.shape[1] < 3 or lines.shape[2] != 2 or not len(lines):
            raise ValueError(f"midlines must have shape (frames, points, 2) with 3 points or more, got {lines.shape}")
        angles = np.full((len(lines), n_joints), np.nan)
        found = np.asarray(np.isfinite(lines).all((1, 2)))
        for i in np.flatnonzero(found):
            if not np.ptp(lines[i], axis=0).any():
                raise ValueError(f"midlines: that of frame {i} has no length, got {shown(lines[i, 0])} at every point")
        notes: list[str] = []
        if order is None or found.sum() < LEAST_FRAMES or lines.shape[1] < LEAST_POINTS:
            angles[found] = _along(lines[found], n_joints)
        else:
            first, last = np.flatnonzero(found)[[0, -1]]
            known = found[first : last + 1]
            straight, turned = turned_round(lines[first : last + 1], known)
            degree = min(order, lines.shape[1] - 2)
            motion = smoothed(straight, known, rate, degree, n_joints + 1)
            angles[first : last + 1] = np.diff(motion.rod_angle[::FINER])
            angles[~found] = np.nan
            notes = [
                f"smoothed by polynomials of degree {degree}: noise {motion.noise / motion.length:.2%} of the length"
            ]
            notes += [f"head and tail change places {len(turned)} times, set right"] if turned else []
        note = (
            f"{_count(len(lines), 'frame')} of {lines.shape[1]} points at {rate:g} Hz: {n_joints} joints by arc length"
        )
        note += f"; nothing measured in {_count(int((~found).sum()), 'frame')}" if not found.all() else ""
        return cls(-angles if y_down else angles, rate, (note, *notes))

    @classmethod
    def from_tangents(cls, tangents: ArrayLike, rate: float = FRAME_RATE, n_joints: int = 24) -> Kymogram:
        """Turn tangent angles, such as WormPose's, into joint angles.

        Args:
            tangents ((N, P) float, rad): Direction of each of P >= 3 equal pieces of the midline, head to tail, with or
                without jumps of 2 pi.

        Raises:
            ValueError: For tangents that are no such matrix.
        """
        whole("n_joints", n_joints, 2, 1000)
        directions = measured("tangents", tangents)
        if directions.ndim != 2 or directions.shape[1] < 3 or not len(directions):
            raise ValueError(f"tangents must have shape (frames, pieces) with 3 pieces or more, got {directions.shape}")
        angles = _joints(np.unwrap(directions, axis=1), n_joints)
        note = f"{_count(len(angles), 'frame')} of {directions.shape[1]} tangents at {rate:g} Hz: {n_joints} joints"
        return cls(angles, rate, (note,))

    @classmethod
    def read(
        cls, path: str | Path, rate: float | None = None, n_joints: int | None = None, kind: str = "joints"
    ) -> Kymogram:
        """Read a file as other programs write it, and note what was made of it.

        Args:
            path: ``.npy``, or text with a frame a line and cells between commas, semicolons or tabs. A first line of
                words is a header; columns that it calls time or frame are no angles; what follows a ``#`` is a comment.
                Cells that are empty or say NaN, NA, null or - are gaps.
            rate: Frames a second; by default what the column of times says, else 32.
            n_joints: Joints to have; as many as the file has by default.
            kind ({"joints", "tangents"}): What the columns are; tangents as in `from_tangents`.

        Raises:
            ValueError: If the file cannot be read so; rows and columns in errors count from 1, rows as the lines of the
                file.
        """
        choice("kind", kind, ("joints", "tangents"))
        path = Path(path)
        try:
            if path.suffix not in (".npy", ".csv", ".tsv", ".txt") or not path.is_file():
                raise ValueError("it is no .npy, .csv, .tsv or .txt file")
            check_file(path, LARGEST_FILE)
            if path.suffix == ".npy":
                values, names = measured("it", read_matrix(path)), None
            else:
                values, names = _text(path.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError) as error:
            raise ValueError(f"kymogram {str(path)!r} cannot be read: {error}") from None
        notes = [f"{path.name}: {_count(len(values), 'frame')} of {_count(values.shape[1], 'column')}"]
        if names is not None:
            names = [name.strip().strip('"') for name in names]
            notes.append(f"a header: {shown(', '.join(names))}")
            words = [name.lower() for name in names]
            kept = [j for j, word in enumerate(words) if word not in TIME + COUNTERS]
            for j in sorted(set(range(len(words))) - set(kept)):
                notes.append(f"column {j + 1}, {names[j]!r}, holds no angles")
                if words[j] in TIME and rate is None and len(values) > 1:
                    rate = float(1.0 / np.nanmedian(np.diff(values[:, j])))
                    notes.append(f"{rate:g} Hz by these times")
            values = values[:, kept]
        if rate is None:
            rate = FRAME_RATE
            notes.append(f"{rate:g} Hz taken for granted")
        missing = np.isnan(values)
        if missing.any():
            gaps = _count(int(missing.sum()), "cell")
            notes.append(f"{gaps} without a number, in {_count(int(missing.any(1).sum()), 'frame')}")
        try:
            if kind == "tangents":
                made = cls.from_tangents(values, rate, n_joints or 24)
            else:
                made = cls(values, rate)
                made = made if n_joints is None else made.resampled(n_joints=n_joints)
        except ValueError as error:
            raise ValueError(f"kymogram {str(path)!r} cannot be read: {error}") from None
        return replace(made, notes=(*notes, *made.notes))

    def filled(self, longest: int = SHORT, longer: str = "refuse") -> Kymogram:
        """Fill gaps by lines in time, joint by joint.

        Args:
            longest (0 to 10^6): Frames that a gap may have; 2 by default, the paper's.
            longer ({"refuse", "keep", "cut"}): What becomes of others, and of gaps at either end: an error, NaN as
                before, or all but the longest stretch without one is left out.

        Raises:
            ValueError: For gaps that are too long, if they are refused; if nothing is left.
        """
        whole("longest", longest, 0)
        choice("longer", longer, ("refuse", "keep", "cut"))
        angles = self.angles.copy()
        frames = np.arange(len(angles))
        gaps, left, cells = set(), [], np.zeros(len(angles), np.bool_)
        for j, column in enumerate(angles.T):
            for start, stop in _runs(np.isnan(column)):
                if stop - start <= longest and start > 0 and stop < len(angles):
                    gaps.add((start, stop))
                    cells[start:stop] = True
                    ends = [start - 1, stop]
                    angles[start:stop, j] = np.interp(frames[start:stop], ends, column[ends])
                else:
                    left.append((start, stop))
        notes = []
        if gaps:
            done = f"{_count(len(gaps), 'gap')} of at most {_count(longest, 'frame')} filled"
            notes.append(f"{done}, {_count(int(cells.sum()), 'frame')} in all")
        if left and longer == "refuse":
            start, stop = max(left, key=lambda gap: gap[1] - gap[0])
            edge = "" if start > 0 and stop < len(angles) else ", which is at an end"
            raise ValueError(
                f"longest must be at least the frames of every gap, got {longest} and a gap of "
                f"{_count(stop - start, 'frame')} from frame {start}{edge}; longer='keep' or 'cut' allow it"
            )
        if left and longer == "keep":
            notes.append(f"{_count(len(set(left)), 'gap')} kept, the longest of {max(b - a for a, b in left)} frames")
        if left and longer == "cut":
            stretches = _runs(np.isfinite(angles.sum(1)))
            if not stretches:
                raise ValueError(f"longer must be 'keep' where every frame has a gap, got {longer!r}")
            start, stop = max(stretches, key=lambda run: run[1] - run[0])
            notes.append(f"frames {start} to {stop - 1} of {len(angles)} kept, between gaps that are longer")
            angles = angles[start:stop]
        return Kymogram(angles, self.rate, (*self.notes, *(notes or ["no gaps"])))

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
            new = number("rate", rate, above=0, maximum=HIGHEST_RATE)
            count = int(np.floor((len(angles) - 1) / self.rate * new + 1e-9)) + 1
            place = np.minimum(np.arange(count) * (self.rate / new), len(angles) - 1)
            before = np.minimum((place + 1e-9).astype(int), len(angles) - 1)
            after = np.minimum(before + 1, len(angles) - 1)
            share = np.clip(place - before, 0.0, 1.0)[:, None]
            share[share < 1e-9] = 0.0
            between = (1.0 - share) * angles[before] + share * angles[after]
            notes.append(f"{_count(len(angles), 'frame')} at {self.rate:g} Hz to {count} at {new:g} Hz")
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
            raise ValueError(f"angles must have no gaps to be played, got {self._gaps()}: fill them (`filled`)")
        return KymogramPlayback(self.angles, self.rate)

    def _gaps(self) -> str:
        missing = np.isnan(self.angles)
        return f"{_count(int(missing.sum()), 'angle')} missing in {_count(int(missing.any(1).sum()), 'frame')}"


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First index and the one after the last of each stretch of true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]]))).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _along(lines: Array, n_joints: int) -> Array:
    """Joint angles (N, n_joints) of chains of equal rods on midlines (N, P, 2), as they are."""
    places = np.broadcast_to(np.linspace(0.0, 1.0, n_joints + 2), (len(lines), n_joints + 2))
    rods = np.diff(even(lines, arc_length(lines), places), axis=1)
    across = rods[:, :-1, 0] * rods[:, 1:, 1] - rods[:, :-1, 1] * rods[:, 1:, 0]
    return np.arctan2(across, np.sum(rods[:, :-1] * rods[:, 1:], 2))


def _joints(directions: Array, n_joints: int) -> Array:
    """Joint angles (N, n_joints) of a chain with the directions (N, P) of equal pieces of the midline, rad.

    By a cubic spline through the middles of the pieces; NaN in frames with gaps.
    """
    from scipy.interpolate import CubicSpline  # slow to import

    pieces, rods = directions.shape[1], n_joints + 1
    angles = np.full((len(directions), n_joints), np.nan)
    found = ~np.isnan(directions).any(1)
    if found.any():
        spline = CubicSpline((np.arange(pieces) + 0.5) / pieces, directions[found], axis=1)
        angles[found] = np.diff(spline((np.arange(rods) + 0.5) / rods), axis=1)
    return angles


def _text(text: str) -> tuple[Array, list[str] | None]:
    """Numbers of a file of text, NaN where there are none, and its header."""
    names: list[str] | None = None
    rows: list[list[float]] = []
    separator = ""
    for i, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0]
        if not line.strip():
            continue
        separator = separator or next((mark for mark in "\t;," if mark in line), ",")
        cells = line.split(separator)
        if not rows and names is None and any(_cell(cell) is None for cell in cells):
            names = cells
            continue
        row = [_cell(cell) for cell in cells]
        for j, value in enumerate(row):
            if value is None:
                raise ValueError(f"row {i}, column {j + 1} must be a number or a gap, got {shown(cells[j])}")
        width = len(names or (rows[0] if rows else row))
        if len(row) != width:
            raise ValueError(f"row {i} has {_count(len(row), 'column')}, those before have {width}")
        rows.append([value for value in row if value is not None])
    if not rows:
        raise ValueError("it must hold a matrix of numbers (frames, joints), got none")
    return np.array(rows), names


def _cell(cell: str) -> float | None:
    """Number of a cell, NaN of a gap, None of words."""
    if cell.strip().strip('"').lower() in MISSING:
        return np.nan
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
