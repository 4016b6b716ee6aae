"""Midlines as trackers write them.

``.npy``: (N, P, 2), in m, or in pixels if ``microns_per_pixel`` is given. ``.csv``: columns ``frame, point, x, y``, in
the same units, or DeepLabCut's. ``.wcon`` and ``.json`` (also zipped): Worm tracker Commons Object Notation. ``.hdf5``
and ``.h5``: Tierpsy's ``featuresN``, ``features`` and ``skeletons``. What is not known is passed over, and what was not
measured is a gap.
"""

from __future__ import annotations

import csv
import json
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import choice, number, shown
from ..core.files import check_file
from .kymogram import HIGHEST_RATE
from .motion import HEADS, upright

Array = NDArray[np.float64]

LARGEST = 2 << 30
"""Bytes that a recording may have."""

MOST_NUMBERS = 1 << 28
"""Numbers of a recording, once read."""

UNEVEN = 0.02
"""Share of the interval between frames by which times may differ from even ones."""

LIKELY = 0.6
"""Likelihood of a keypoint below which it was not found."""

PREFIXES = {"": 1.0, "c": 1e-2, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9, "k": 1e3}
LONG = {"": 1.0, "centi": 1e-2, "milli": 1e-3, "micro": 1e-6, "nano": 1e-9}

UNITS = {
    "m": {short + "m": factor for short, factor in PREFIXES.items()}
    | {long + name: factor for long, factor in LONG.items() for name in ("metre", "meter")}
    | {"micron": 1e-6, "inch": 0.0254, "in": 0.0254},
    "s": {short + "s": factor for short, factor in PREFIXES.items()}
    | {long + "second": factor for long, factor in LONG.items()}
    | {"sec": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0, "d": 86400.0, "day": 86400.0},
}
"""Units of length and of time, in SI; words may have an s."""


class Recorded(NamedTuple):
    """Midlines (N, P, 2) m, y upwards, head first, NaN in gaps; frames a second; and where they are from."""

    points: Array
    rate: float
    notes: tuple[str, ...]


class _Given:
    """What the reader of a file was told beside it."""

    def __init__(
        self,
        worm: str | int | None,
        rate: float | None,
        microns: float | None,
        head: str | None,
        y_down: bool | None,
        keypoints: tuple[str, ...],
    ) -> None:
        if rate is not None:
            number("rate", rate, above=0, maximum=HIGHEST_RATE)
        if microns is not None:
            number("microns_per_pixel", microns, above=0)
        if head is not None:
            choice("head", head, HEADS)
        self.worm, self.rate, self.microns, self.head, self.y_down = worm, rate, microns, head, y_down
        self.keypoints = keypoints

    def need_rate(self, known: float | None = None) -> float:
        rate = self.rate if self.rate is not None else known
        if rate is None or not np.isfinite(rate) or not rate > 0:
            raise ValueError("rate must be given, frames a second: the file does not say it")
        return float(rate)

    def need_scale(self, known: float | None = None) -> float:
        """Size of a pixel in m."""
        microns = self.microns if self.microns is not None else known
        if microns is None or not np.isfinite(microns) or not microns > 0:
            raise ValueError("microns_per_pixel must be given: the file holds pixels, and does not say their size")
        return 1e-6 * float(microns)

    def need_y_down(self) -> bool:
        if self.y_down is None:
            raise ValueError("y_down must be given, True or False: pixels count from the top in most files, not in all")
        return self.y_down

    def pick(self, names: Iterable[Any]) -> Any:
        """The worm that was asked for, or the only one."""
        known = list(dict.fromkeys(names))
        if not known:
            raise ValueError("it holds no worm")
        if self.worm is None:
            if len(known) > 1:
                raise ValueError(f"worm must be given, one of {_listed(known)}")
            return known[0]
        for name in known:
            if str(name) == str(self.worm):
                return name
        raise ValueError(f"worm must be one of {_listed(known)}, got {shown(self.worm)}")


def _listed(names: list[Any]) -> str:
    return ", ".join(map(str, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def read(
    path: Path,
    worm: str | int | None,
    rate: float | None,
    microns_per_pixel: float | None,
    head: str | None,
    y_down: bool | None,
    keypoints: tuple[str, ...],
) -> Recorded:
    """Read a file; see `read` of `Midlines`."""
    given = _Given(worm, rate, microns_per_pixel, head, y_down, keypoints)
    readers = {".npy": _npy, ".csv": _csv, ".wcon": _wcon, ".json": _wcon, ".zip": _wcon, ".hdf5": _hdf5, ".h5": _hdf5}
    try:
        if path.suffix.lower() not in readers:
            raise ValueError(f"it must end in one of {', '.join(readers)}")
        check_file(path, LARGEST)
        recorded = readers[path.suffix.lower()](path, given)
        if not np.isfinite(recorded.points).all((1, 2)).any():
            raise ValueError("no frame of it has a midline")
    except ImportError:
        raise
    except (OSError, ValueError, TypeError, KeyError, MemoryError, OverflowError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"recording {str(path)!r} cannot be read: {reason}") from None
    count, width = recorded.points.shape[:2]
    return recorded._replace(
        notes=(path.name, f"{count} frames of {width} points at {recorded.rate:g} Hz", *recorded.notes)
    )


def _npy(path: Path, given: _Given) -> Recorded:
    try:
        held = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError:
        raise
    except Exception as error:  # a damaged header ends in many ways
        raise ValueError(f"it is no array: {error}") from None
    if not isinstance(held, np.ndarray):
        raise ValueError("it must hold an array of shape (frames, points, 2), got an archive")
    return _plain_units(held, given)


def _plain_units(points: Any, given: _Given) -> Recorded:
    """Midlines in m, head first, y up, unless it was said otherwise; of pixels it must be said."""
    pixels = given.microns is not None
    y_down = given.need_y_down() if pixels else bool(given.y_down)
    scale = given.need_scale() if pixels else 1.0
    return Recorded(upright(points, y_down, given.head or "first", scale), given.need_rate(), ())


def _csv(path: Path, given: _Given) -> Recorded:
    with open(path, encoding="utf-8-sig", newline="") as file:
        first = next(csv.reader(file), [])
        file.seek(0)
        if first and first[0].strip().lower() == "scorer":
            return _deeplabcut(file, given)
        names = [name.strip().lower() for name in next(csv.reader(file), [])]
        missing = [name for name in ("frame", "point", "x", "y") if name not in names]
        if missing:
            raise ValueError(f"its first line must name the columns frame, point, x, y, got {shown(', '.join(names))}")
        order = [names.index(name) for name in ("frame", "point", "x", "y")]
        try:
            table = np.genfromtxt(file, delimiter=",", usecols=order, ndmin=2, invalid_raise=True, comments="#")
        except ValueError as error:
            raise ValueError(f"it is no table of numbers: {error}") from None
    if not len(table):
        raise ValueError("it has no frames")
    index = _whole_numbers("frame and point", table[:, :2])
    index -= index.min(0)
    frames, width = (index.max(0) + 1).tolist()
    _check_size(frames * width * 2)
    points = np.full((frames, width, 2), np.nan)
    if len(np.unique(index, axis=0)) < len(index):
        raise ValueError("a point of a frame must be there once, got one twice")
    points[index[:, 0], index[:, 1]] = table[:, 2:]
    return _plain_units(points, given)


def _whole_numbers(name: str, values: Any) -> NDArray[np.int64]:
    array = np.asarray(values, float)
    if not np.isfinite(array).all() or (array != np.rint(array)).any() or (np.abs(array) > 1e15).any():
        raise ValueError(f"{name} must be whole numbers, got {shown(array[~(array == np.rint(array))][:3])}")
    return array.astype(np.int64)


def _check_size(count: int) -> None:
    if count > MOST_NUMBERS:
        raise ValueError(f"it would take {count} numbers, {MOST_NUMBERS} are allowed: frames or points are misnumbered")


def _deeplabcut(file: Any, given: _Given) -> Recorded:
    """Keypoints: lines ``scorer``, in some files ``individuals``, ``bodyparts`` and ``coords``, then frames."""
    lines = csv.reader(file)
    head: dict[str, list[str]] = {}
    for line in lines:
        head[line[0].strip().lower()] = [cell.strip() for cell in line[1:]]
        if "coords" in head or len(head) > 4:
            break
    if not {"bodyparts", "coords"} <= head.keys():
        raise ValueError(f"it must have the lines scorer, bodyparts and coords, got {', '.join(head)}")
    parts, coords = head["bodyparts"], head["coords"]
    if len(parts) != len(coords):
        raise ValueError(f"bodyparts and coords must be as many, got {len(parts)} and {len(coords)}")
    worms = head.get("individuals", ["worm"] * len(parts))
    worm = given.pick(worms)
    known = [part for part, name in dict.fromkeys(zip(parts, worms, strict=True)) if name == worm]
    names = given.keypoints
    if not names:
        raise ValueError(f"keypoints must be given, names of body parts from head to tail out of {', '.join(known)}")
    for name in names:
        choice("keypoints", name, known)
    column = {key: j + 1 for j, key in enumerate(zip(worms, parts, coords, strict=True))}
    try:
        rows = [[float(cell) if cell.strip() else np.nan for cell in line] for line in lines if line]
        table = np.array(rows, float).reshape(len(rows), -1)
        x, y, likely = (table[:, [column[worm, name, axis] for name in names]] for axis in ("x", "y", "likelihood"))
    except (ValueError, KeyError, IndexError) as error:
        raise ValueError(f"it is no table of x, y and likelihood of each body part: {error}") from None
    points = np.stack([x, y], -1)
    points[~(likely >= LIKELY)] = np.nan
    frames = _whole_numbers("frame", table[:, 0])
    scale, y_down = given.need_scale(), given.need_y_down()
    body = upright(_by_frame(points, frames), y_down, given.head or "first", scale)
    return Recorded(body, given.need_rate(), ())


def _by_frame(points: Array, frames: NDArray[np.int64]) -> Array:
    """Midlines (N, P, 2) by the numbers of their frames; those that are missing are gaps."""
    if not len(frames):
        raise ValueError("it has no frames")
    if len(np.unique(frames)) < len(frames):
        raise ValueError("a frame must be there once, got one twice")
    place = frames - frames.min()
    count = int(place.max()) + 1
    _check_size(count * points.shape[1] * 2)
    lines = np.full((count, *points.shape[1:]), np.nan)
    lines[place] = points
    return lines


# Worm tracker Commons Object Notation.


def _wcon(path: Path, given: _Given) -> Recorded:
    if path.suffix.lower() == ".zip" or zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as packed:
            members = [each for each in packed.infolist() if not each.is_dir()]
            if len(members) != 1:
                raise ValueError(f"it must hold one file, got {shown([each.filename for each in members])}")
            if members[0].file_size > LARGEST:
                raise ValueError(f"its file takes {members[0].file_size} bytes, {LARGEST} are allowed")
            text = packed.read(members[0]).decode("utf-8-sig")
    else:
        text = path.read_text("utf-8-sig")
    record = json.loads(text)
    if not isinstance(record, dict) or not isinstance(record.get("units"), dict) or "data" not in record:
        raise ValueError("it must be an object with units and data")
    chunks = record.get("files")
    if isinstance(chunks, dict) and (chunks.get("next") or chunks.get("prev")):
        raise ValueError(f"it is one of several files, which must be joined first: {shown(chunks)}")
    data = record["data"] if isinstance(record["data"], list) else [record["data"]]
    if not all(isinstance(each, dict) and {"id", "t", "x", "y"} <= each.keys() for each in data):
        raise ValueError("each entry of data must have id, t, x and y")
    worm = given.pick(each["id"] for each in data)
    units = record["units"]
    scale = {name: _unit(name, units.get(name)) for name in ("t", "x", "y")}
    for axis in "xy":  # of the origins, which may have units of their own
        scale |= {kind + axis: _unit(kind + axis, units.get(kind + axis, units[axis])) for kind in "oc"}
    times, lines = [], []
    for each in data:
        if each["id"] == worm:
            t, points = _entry(each, scale, given)
            times.append(t)
            lines.append(points)
    widths = {each.shape[1] for each in lines}
    if len(widths) > 1:
        raise ValueError(f"midlines must have as many points in each frame, got {sorted(widths)}")
    t, points = np.concatenate(times), np.concatenate(lines)
    order = np.argsort(t, kind="stable")
    points, rate, note = _even_times(t[order], points[order], given.rate)
    ventral = next((each["ventral"] for each in data if each["id"] == worm and "ventral" in each), None)
    notes = [note] * bool(note) + [f"ventral: {shown(ventral)}"] * (ventral is not None)
    return Recorded(upright(points, bool(given.y_down), "first", 1.0), rate, tuple(notes))


def _unit(name: str, text: Any) -> float:
    """Factor of a unit to SI, such as of ``um``, ``0.04*s``, ``s/25``."""
    wrong = ValueError(f"units: {name} must be a unit of {'time' if name == 't' else 'length'}, got {shown(text)}")
    if not isinstance(text, str):
        raise wrong
    known, value, found = UNITS["s" if name == "t" else "m"], 1.0, 0
    for sign, part in re.findall(r"([*/ ]|^)([^*/ ]+)", text.strip()):
        factor = known.get(part, known.get(part.removesuffix("s")))
        if factor is None:
            if not re.fullmatch(r"\d+\.?\d*(?:[eE][-+]?\d+)?", part):
                raise wrong
            factor = float(part)
        else:
            found += -1 if sign == "/" else 1
        value *= 1.0 / factor if sign == "/" and factor else factor
    if found != 1 or not 0.0 < value < np.inf:
        raise wrong
    return value


def _entry(entry: Mapping[str, Any], scale: Mapping[str, float], given: _Given) -> tuple[Array, Array]:
    """Times (N,) s and midlines (N, P, 2) m, head first, of one entry of ``data``."""
    single = not isinstance(entry["t"], list)
    t = _numbers("t", [entry["t"]] if single else entry["t"])
    axes = []
    for name in ("x", "y"):
        rows = [entry[name]] if single else entry[name]
        if not isinstance(rows, list) or len(rows) != len(t):
            raise ValueError(f"{name} must have an entry for each of {len(t)} times")
        rows = [row if isinstance(row, list) else [row] for row in rows]
        width = max(map(len, rows), default=0)
        values = np.full((len(t), width), np.nan)
        for k, row in enumerate(rows):
            if len(row) == width:  # else a frame in which less was found
                values[k] = _numbers(name, row)
        # Places are from the origin; where none is given and the centroid is, from that.
        origin = next((kind + name for kind in "oc" if kind + name in entry), "")
        start = entry[origin] if origin else 0.0
        shift = _numbers(origin, start if isinstance(start, list) else [start])[:, None] * scale.get(origin, 0.0)
        axes.append(values * scale[name] + shift)
    points = np.stack(axes, -1)
    heads = entry.get("head", "?")
    heads = heads if isinstance(heads, list) else [heads] * len(t)
    if len(heads) != len(t):
        raise ValueError(f"head must be one, or one for each of {len(t)} times, got {len(heads)}")
    known = {"L": "first", "R": "last"}
    ends = [known.get(str(head), given.head) for head in heads]
    if None in ends:
        raise ValueError(f"head must be given, first or last: the file does not say it, got {shown(heads[0])}")
    turned = np.array([end == "last" for end in ends])
    points[turned] = points[turned, ::-1]
    return t * scale["t"], points


def _numbers(name: str, values: list[Any]) -> Array:
    """Numbers of JSON, NaN for ``null``."""
    if not all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        raise ValueError(f"{name} must hold numbers or null, got {shown(values)}")
    return np.array([np.nan if value is None else value for value in values], float)


def _even_times(t: Array, points: Array, rate: float | None) -> tuple[Array, float, str]:
    """Midlines at even times, the rate, and what was done for it."""
    if not np.isfinite(t).all() or (np.diff(t) <= 0).any():
        raise ValueError("t must be finite, and each time once")
    if rate is None:
        if len(t) < 2:
            raise ValueError("rate must be given, frames a second: there are not two times")
        rate = float(1.0 / np.median(np.diff(t)))
    place = (t - t[0]) * rate
    frames = np.rint(place).astype(np.int64)
    if np.abs(place - frames).max() <= UNEVEN * max(len(t), 50) / 50 and len(np.unique(frames)) == len(frames):
        return _by_frame(points, frames), rate, ""
    even = np.arange(int(place[-1] + 1e-9) + 1)
    _check_size(len(even) * points.shape[1] * 2)
    known = np.isfinite(points).all((1, 2))
    if known.sum() < 2:
        raise ValueError("no two frames of it have a midline")
    lines = np.full((len(even), *points.shape[1:]), np.nan)
    flat = points[known].reshape(int(known.sum()), -1)
    near = np.abs(even[:, None] - place[known][None]).min(1) < 1.0 if len(even) * known.sum() < MOST_NUMBERS else None
    filled = np.stack([np.interp(even, place[known], column) for column in flat.T], 1).reshape(lines.shape)
    lines[slice(None) if near is None else near] = filled[slice(None) if near is None else near]
    return lines, rate, f"times are not even: by lines to {rate:g} Hz"


# Tierpsy.


def _hdf5(path: Path, given: _Given) -> Recorded:
    try:
        import h5py
    except ImportError:
        raise ImportError("h5py is not installed: pip install 'gymnosoma[recordings]'") from None
    try:
        file = h5py.File(path, "r")
    except OSError:
        raise ValueError("it is no HDF5 file") from None
    with file:
        if "coordinates/skeletons" in file and ("timeseries_data" in file or "features_timeseries" in file):
            return _features(file, given)
        if "skeleton" in file and "trajectories_data" in file:
            return _skeletons(file, given)
        if "df_with_missing" in file:
            raise ValueError("it is DeepLabCut's, whose .csv is read instead")
        raise ValueError(
            "it must hold Tierpsy's coordinates/skeletons and timeseries_data or features_timeseries, or skeleton and "
            f"trajectories_data, got {shown(sorted(file.keys()))}"
        )


def _column(table: Any, *names: str) -> NDArray[Any]:
    for name in names:
        if name in (table.dtype.names or ()):
            return np.asarray(table[name])
    raise ValueError(f"{table.name[1:]} must have the column {' or '.join(names)}, got {shown(table.dtype.names)}")


def _attribute(file: Any, names: tuple[str, ...]) -> Any:
    """Attribute of the file, or of one of its tables, None where there is none."""
    for place in ("/", *(name for name in ("trajectories_data", "coordinates/skeletons", "skeleton") if name in file)):
        for name in names:
            if name in file[place].attrs:
                value = file[place].attrs[name]
                return value.decode() if isinstance(value, bytes) else value
    return None


def _frames_a_second(file: Any, given: _Given) -> float:
    if given.rate is None and _attribute(file, ("time_units",)) == "frames":
        raise ValueError("rate must be given, frames a second: the file counts frames")
    value = _attribute(file, ("fps", "expected_fps"))
    return given.need_rate(None if value is None else float(np.ravel(value)[0]))


def _rows(file: Any, name: str, rows: NDArray[np.bool_], given: _Given) -> Array:
    """Skeletons of some rows of a table."""
    table = file[name]
    if table.ndim != 3 or table.shape[2] != 2 or table.shape[0] != len(rows):
        raise ValueError(f"{name} must have shape ({len(rows)}, points, 2), got {table.shape}")
    _check_size(int(rows.sum()) * table.shape[1] * 2)
    return np.asarray(table[np.flatnonzero(rows)], float)


def _features(file: Any, given: _Given) -> Recorded:
    table = file["timeseries_data" if "timeseries_data" in file else "features_timeseries"]
    worms = _column(table, "worm_index")
    rows = worms == given.pick(np.unique(worms).tolist())
    frames = _whole_numbers("timestamp", _column(table, "timestamp")[rows])
    points = _rows(file, "coordinates/skeletons", rows, given)
    return _tierpsy(points, frames, 1e-6, file, given)


def _skeletons(file: Any, given: _Given) -> Recorded:
    table = file["trajectories_data"]
    worms = _column(table, "worm_index_joined", "worm_index_manual", "worm_index")
    rows = worms == given.pick(np.unique(worms[worms > 0]).tolist())
    frames = _whole_numbers("frame_number", _column(table, "frame_number")[rows])
    points = _rows(file, "skeleton", rows, given)
    good = _column(table, "is_good_skel", "has_skeleton")[rows].astype(bool)
    points[~good] = np.nan
    known = _attribute(file, ("microns_per_pixel",))
    if given.microns is None and _attribute(file, ("xy_units",)) == "pixels":
        raise ValueError("microns_per_pixel must be given: the file does not know the size of a pixel")
    scale = given.need_scale(None if known is None else float(np.ravel(known)[0]))
    return _tierpsy(points, frames, scale, file, given)


def _tierpsy(points: Array, frames: NDArray[np.int64], scale: float, file: Any, given: _Given) -> Recorded:
    """Its head is first, its axes are those of the image."""
    rate = _frames_a_second(file, given)
    down = True if given.y_down is None else given.y_down
    return Recorded(upright(_by_frame(points, frames), down, given.head or "first", scale), rate, ())
