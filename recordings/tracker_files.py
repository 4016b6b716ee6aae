"""Readers of midlines in files of trackers.

- ``.npy``: array (N, P, 2) in m, or in pixels if ``microns_per_pixel`` is given.
- ``.csv``: columns ``frame, point, x, y`` in the same units, or DeepLabCut's columns.
- ``.wcon`` and ``.json`` (also zipped): Worm tracker Commons Object Notation.
- ``.hdf5`` and ``.h5``: Tierpsy's ``featuresN``, ``features`` and ``skeletons``.

Unknown entries are ignored. Frames without a complete midline are gaps.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core import files
from gymnosoma.envs.core.arguments import choice, number, shown

Array = NDArray[np.float64]

HEADS = ("first", "last")
"""Ends of a midline at which a file has the head."""

HIGHEST_RATE = 1e6
"""Largest frame rate of a recording, Hz."""

MOST_NUMBERS = 1 << 28
"""Largest number of values in a recording."""

TABLES = ["coordinates", "coordinates/skeletons", "timeseries_data", "features_timeseries", "skeleton"]
TABLES += ["trajectories_data"]
"""Groups and tables of Tierpsy that are read."""

UNEVEN = 0.02
"""Largest deviation of times from even ones, as a share of the interval between frames."""

LIKELY = 0.6
"""Smallest likelihood of a keypoint that is used."""

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
"""Units of length and time in SI; words may have a plural s."""


class Recording(NamedTuple):
    """Midlines (N, P, 2) in m (y upwards, head first, NaN in gaps), frame rate in Hz, and notes."""

    points: Array
    rate: float
    notes: tuple[str, ...] = ()


class Hints(NamedTuple):
    """Arguments of `Midlines.read` for information that a file may lack."""

    worm: str | int | None
    rate: float | None
    microns_per_pixel: float | None
    head: str | None
    y_down: bool | None
    keypoints: tuple[str, ...]

    def need_rate(self, value: float | None = None) -> float:
        """Return the frame rate (Hz) of the hints or, without one, that of the file."""
        rate = value if self.rate is None else self.rate
        if rate is None:
            raise ValueError("rate (frames per second) must be given, because the file does not contain it")
        return number("rate", rate, above=0, maximum=HIGHEST_RATE)

    def need_scale(self, value: float | None = None) -> float:
        """Return the size of a pixel (m) of the hints or, without one, that of the file."""
        microns = value if self.microns_per_pixel is None else self.microns_per_pixel
        if microns is None:
            raise ValueError("microns_per_pixel must be given, because the file has pixels of unknown size")
        return 1e-6 * number("microns_per_pixel", microns, above=0)

    def need_y_down(self) -> bool:
        """Return whether y points downwards."""
        if self.y_down is None:
            raise ValueError("y_down must be given for pixels: True if y points downwards, as in most files")
        return self.y_down

    def pick(self, names: Iterable[Any]) -> Any:
        """Return the name of the requested worm, or of the only one."""
        worms = list(dict.fromkeys(names))
        if len(worms) == 1 and self.worm is None:
            return worms[0]
        for name in worms:
            if str(name) == str(self.worm):
                return name
        raise ValueError(f"worm must be one of {shown(worms)}, got {shown(self.worm)}")


def upright(points: Array, y_down: bool, head: str, scale: float) -> Array:
    """Return midlines (N, P, 2) in m, with y upwards and the head first; arguments as in `Midlines.from_array`."""
    lines = points * scale
    if y_down:
        lines[..., 1] *= -1.0
    return lines[:, ::-1] if head == "last" else lines


def read_midlines(path: Path, hints: Hints) -> Recording:
    """Read a file; a damaged file can raise any error."""
    readers = {".npy": _npy, ".csv": _csv, ".wcon": _wcon, ".json": _wcon, ".zip": _wcon, ".hdf5": _hdf5, ".h5": _hdf5}
    if path.suffix.lower() not in readers:
        raise ValueError(f"file name must end in one of {', '.join(readers)}, got {path.suffix!r}")
    files.check_file(path, files.LARGEST_BINARY)
    return readers[path.suffix.lower()](path, hints)


def _npy(path: Path, hints: Hints) -> Recording:
    points = files.read_array(path)
    if points.ndim != 3:
        raise ValueError("file must contain an array of shape (frames, points, 2)")
    return _in_plain_units(points, hints)


def _in_plain_units(points: Array, hints: Hints) -> Recording:
    """Convert midlines in m or pixels; the head is first and y points upwards by default, but pixels require y_down."""
    pixels = hints.microns_per_pixel is not None
    y_down = hints.need_y_down() if pixels else bool(hints.y_down)
    scale = hints.need_scale() if pixels else 1.0
    return Recording(upright(points, y_down, hints.head or "first", scale), hints.need_rate())


def _csv(path: Path, hints: Hints) -> Recording:
    file = io.StringIO(files.read_text(path, files.LARGEST_RECORDING), newline="")
    names = [name.strip().lower() for name in next(csv.reader(file), [])]
    if names[:1] == ["scorer"]:
        return _deeplabcut(file, hints)
    columns = ("frame", "point", "x", "y")
    if not set(columns) <= set(names):
        raise ValueError(f"first line must name the columns frame, point, x, y, got {shown(', '.join(names))}")
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # for a file without frames
        table = np.genfromtxt(file, delimiter=",", usecols=[names.index(name) for name in columns], ndmin=2)
    index = _whole_numbers("frame and point", table[:, :2])
    index -= index.min(0)
    frames, width = (index.max(0) + 1).tolist()
    _check_size(frames, width)
    points = np.full((frames, width, 2), np.nan)
    if len(np.unique(index, axis=0)) < len(index):
        raise ValueError("frame and point must be unique, got a duplicate")
    points[index[:, 0], index[:, 1]] = table[:, 2:]
    return _in_plain_units(points, hints)


def _whole_numbers(name: str, values: Any) -> NDArray[np.int64]:
    array = np.asarray(values, float)
    if not len(array) or not (np.abs(array) < 1e15).all() or (array != np.rint(array)).any():
        raise ValueError(f"{name} must be whole numbers, got {shown(array[~(array == np.rint(array))][:3])}")
    return array.astype(np.int64)


def _check_size(frames: int, width: int) -> None:
    if 2 * frames * width > MOST_NUMBERS:
        raise ValueError(f"frames and points must be numbered consecutively, got {frames} frames of {width} points")


def _by_frame(points: Array, frames: NDArray[np.int64]) -> Array:
    """Return midlines (N, P, 2) in the order of their frame numbers, with gaps for missing frames."""
    if len(np.unique(frames)) < len(frames):
        raise ValueError("frame numbers must be unique, got a duplicate")
    count = int(np.ptp(frames)) + 1
    _check_size(count, points.shape[1])
    lines = np.full((count, *points.shape[1:]), np.nan)
    lines[frames - frames.min()] = points
    return lines


def _deeplabcut(file: Any, hints: Hints) -> Recording:
    """Read keypoints, which follow the lines ``individuals`` (optional), ``bodyparts`` and ``coords``."""
    lines = csv.reader(file)
    head: dict[str, list[str]] = {}
    for line in filter(None, lines):
        head[line[0].strip().lower()] = [cell.strip() for cell in line[1:]]
        if "coords" in head or len(head) > 3:
            break
    if not {"bodyparts", "coords"} <= head.keys():
        raise ValueError(f"file must have the lines scorer, bodyparts and coords, got {', '.join(head)}")
    parts, coords = head["bodyparts"], head["coords"]
    worms = head.get("individuals", ["worm"] * len(parts))
    column = {key: j + 1 for j, key in enumerate(zip(worms, parts, coords, strict=True))}
    worm = hints.pick(worms)
    choices = dict.fromkeys(part for name, part, _ in column if name == worm)
    if not hints.keypoints:
        raise ValueError(f"keypoints must be names of body parts from head to tail, out of {', '.join(choices)}")
    for name in hints.keypoints:
        choice("keypoints", name, choices)
    rows = [[float(cell) if cell.strip() else np.nan for cell in line] for line in lines if line]
    table = np.array(rows, float).reshape(len(rows), -1)
    axes = [[column[worm, name, axis] for name in hints.keypoints] for axis in ("x", "y", "likelihood")]
    x, y, likelihood = (table[:, each] for each in axes)
    points = np.stack([x, y], -1)
    points[~(likelihood >= LIKELY)] = np.nan
    points = _by_frame(points, _whole_numbers("frame", table[:, 0]))
    scale, y_down = hints.need_scale(), hints.need_y_down()
    return Recording(upright(points, y_down, hints.head or "first", scale), hints.need_rate())


# Worm tracker Commons Object Notation.


def _wcon(path: Path, hints: Hints) -> Recording:
    if zipfile.is_zipfile(path):
        with files.zipped(path, files.LARGEST_RECORDING) as archive:
            members = [each for each in archive.infolist() if not each.is_dir()]
            if len(members) != 1:
                raise ValueError(f"zip file must contain one file, got {len(members)}")
            text = files.decoded(archive.read(members[0]), path.stat().st_size)
    else:
        text = files.read_text(path, files.LARGEST_RECORDING)
    record = json.loads(text)
    if not isinstance(record, dict) or not isinstance(record.get("units"), dict) or "data" not in record:
        raise ValueError("file must contain an object with units and data")
    chunks = record.get("files")
    if isinstance(chunks, dict) and (chunks.get("next") or chunks.get("prev")):
        raise ValueError(f"file is part of a series, which must be joined first, got {shown(chunks)}")
    data = record["data"] if isinstance(record["data"], list) else [record["data"]]
    if not all(isinstance(each, dict) and {"id", "t", "x", "y"} <= each.keys() for each in data):
        raise ValueError("each entry of data must have id, t, x and y")
    if not data or not all(np.size(each["t"]) for each in data):
        raise ValueError("each entry of data must have times")
    worm = hints.pick(each["id"] for each in data)
    data = [each for each in data if each["id"] == worm]
    units = record["units"]
    scale = {name: _unit(name, units.get(name)) for name in ("t", "x", "y")}
    for axis in "xy":  # units of the origins, by default those of the axis
        scale |= {kind + axis: _unit(kind + axis, units.get(kind + axis, units[axis])) for kind in "oc"}
    times, lines = zip(*(_entry(each, scale, hints) for each in data), strict=True)
    t, points = np.concatenate(times), np.concatenate(lines)
    order = np.argsort(t, kind="stable")
    points, rate, notes = _at_even_times(t[order], points[order], hints)
    notes += tuple(f"ventral: {shown(each['ventral'])}" for each in data if "ventral" in each)[:1]
    return Recording(upright(points, bool(hints.y_down), "first", 1.0), rate, notes)


def _unit(name: str, text: Any) -> float:
    """Return the factor of a unit to SI; examples of units are ``um``, ``0.04*s`` and ``s/25``."""
    units, value, power = UNITS["s" if name == "t" else "m"], 1.0, 0
    for sign, part in re.findall(r"([*/ ]|^)([^*/ ]+)", str(text).strip()):
        factor = units.get(part, units.get(part.removesuffix("s")))
        if factor is not None:
            power += -1 if sign == "/" else 1
        elif re.fullmatch(r"\d+\.?\d*(?:[eE][-+]?\d+)?", part):
            factor = float(part)
        else:
            power = 2
            break
        value *= 1.0 / factor if sign == "/" and factor else factor
    if power != 1 or not 0.0 < value < np.inf:
        raise ValueError(f"units: {name} must be a unit of {'time' if name == 't' else 'length'}, got {shown(text)}")
    return value


def _entry(entry: Mapping[str, Any], scale: Mapping[str, float], hints: Hints) -> tuple[Array, Array]:
    """Return times (N,) in s and midlines (N, P, 2) in m, head first, of one entry of ``data``."""
    single = not isinstance(entry["t"], list)
    t = _numbers("t", [entry["t"]] if single else entry["t"])
    axes = []
    for name in ("x", "y"):
        rows = [entry[name]] if single else entry[name]
        if not isinstance(rows, list) or len(rows) != len(t):
            raise ValueError(f"{name} must have an entry for each of {len(t)} times")
        rows = [row if isinstance(row, list) else [row] for row in rows]
        values = np.full((len(t), max(map(len, rows), default=0)), np.nan)
        for k, row in enumerate(rows):
            if len(row) == values.shape[1]:  # frames with fewer points are gaps
                values[k] = _numbers(name, row)
        # Positions are relative to the origin or, without one, to the centroid.
        origin = next((kind + name for kind in "oc" if kind + name in entry), "")
        start = entry[origin] if origin else 0.0
        shift = _numbers(origin, start if isinstance(start, list) else [start])[:, None] * scale.get(origin, 0.0)
        axes.append(values * scale[name] + shift)
    points = np.stack(axes, -1)
    heads = entry.get("head", "?")
    heads = heads if isinstance(heads, list) else [heads] * len(t)
    ends = [{"L": "first", "R": "last"}.get(str(head), hints.head) for head in heads]
    if None in ends:
        raise ValueError(f"head must be given as first or last, because the file has {shown(heads[0])}")
    turned = np.array([end == "last" for end in ends])
    points[turned] = points[turned, ::-1]
    return t * scale["t"], points


def _numbers(name: str, values: list[Any]) -> Array:
    """Convert numbers of JSON to an array, with NaN for ``null``."""
    if not all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        raise ValueError(f"{name} must be numbers or null, got {shown(values)}")
    return np.array([np.nan if value is None else value for value in values], float)


def _at_even_times(t: Array, points: Array, hints: Hints) -> tuple[Array, float, tuple[str, ...]]:
    """Return midlines at even times, interpolated linearly if necessary, the rate, and notes."""
    if not np.isfinite(t).all() or (np.diff(t) <= 0).any():
        raise ValueError("t must be finite, without duplicates")
    rate = hints.need_rate(float(1.0 / np.median(np.diff(t))) if len(t) > 1 else None)
    place = (t - t[0]) * rate
    _check_size(int(min(place[-1], MOST_NUMBERS)) + 1, points.shape[1])
    frames = np.rint(place).astype(np.int64)
    if np.abs(place - frames).max() <= UNEVEN * max(len(t), 50) / 50 and len(np.unique(frames)) == len(frames):
        return _by_frame(points, frames), rate, ()
    even = np.arange(int(place[-1] + 1e-9) + 1)
    measured = np.isfinite(points).all((1, 2))
    if not measured.any():
        raise ValueError("file must have a frame with a midline, got none")
    place, flat = place[measured], points[measured].reshape(int(measured.sum()), -1)
    lines = np.stack([np.interp(even, place, column) for column in flat.T], 1).reshape(-1, *points.shape[1:])
    after = np.searchsorted(place, even).clip(max=len(place) - 1)
    near = np.minimum(np.abs(place[after] - even), np.abs(place[(after - 1).clip(0)] - even)) < 1.0
    lines[~near] = np.nan
    return lines, rate, (f"times are not even: by lines to {rate:g} Hz",)


# Tierpsy.


def _hdf5(path: Path, hints: Hints) -> Recording:
    try:
        import h5py
    except ImportError:
        raise ImportError("h5py is not installed: pip install 'gymnosoma[recordings]'") from None
    with h5py.File(path, "r") as file:
        for name in TABLES:
            link = file.get(name, getlink=True)
            if link is not None and not isinstance(link, h5py.HardLink):
                raise ValueError(f"{name} must be in the file itself, got a link")
        if "coordinates/skeletons" in file and ("timeseries_data" in file or "features_timeseries" in file):
            return _features(file, hints)
        if "skeleton" in file and "trajectories_data" in file:
            return _skeletons(file, hints)
        raise ValueError(
            "file must contain Tierpsy's coordinates/skeletons and timeseries_data or features_timeseries, or skeleton "
            f"and trajectories_data, got {shown(sorted(file.keys()))}; for DeepLabCut use the .csv file"
        )


def _check_table(table: Any, size: int) -> None:
    """Raise ValueError unless ``size`` bytes of a table, and its chunks, may be read from the file itself."""
    if table.is_virtual or table.external:
        raise ValueError(f"{table.name[1:]} must be in the file itself, got a link")
    chunk = table.dtype.itemsize * math.prod(table.chunks or (1,))
    files.check_memory(max(size, chunk), Path(table.file.filename).stat().st_size)


def _column(table: Any, *names: str) -> NDArray[Any]:
    for name in names:
        if name in (table.dtype.names or ()):
            _check_table(table, table.size * table.dtype[name].itemsize)
            return np.asarray(table[name])
    raise ValueError(f"{table.name[1:]} must have the column {' or '.join(names)}, got {shown(table.dtype.names)}")


def _attribute(file: Any, *names: str) -> Any:
    """Return an attribute of the file or of one of its tables, or None."""
    for place in ("/", *(name for name in ("trajectories_data", "coordinates/skeletons", "skeleton") if name in file)):
        for name in names:
            if name in file[place].attrs:
                value = file[place].attrs[name]
                return value.decode() if isinstance(value, bytes) else value
    return None


def _features(file: Any, hints: Hints) -> Recording:
    table = file["timeseries_data" if "timeseries_data" in file else "features_timeseries"]
    worms = _column(table, "worm_index")
    rows = worms == hints.pick(np.unique(worms).tolist())
    frames = _whole_numbers("timestamp", _column(table, "timestamp")[rows])
    return _tierpsy(_points(file["coordinates/skeletons"], rows), frames, 1e-6, file, hints)


def _skeletons(file: Any, hints: Hints) -> Recording:
    table = file["trajectories_data"]
    worms = _column(table, "worm_index_joined", "worm_index_manual", "worm_index")
    rows = worms == hints.pick(np.unique(worms[worms > 0]).tolist())
    frames = _whole_numbers("frame_number", _column(table, "frame_number")[rows])
    points = _points(file["skeleton"], rows)
    points[~_column(table, "is_good_skel", "has_skeleton")[rows].astype(bool)] = np.nan
    in_pixels = _attribute(file, "xy_units") == "pixels"
    scale = hints.need_scale(None if in_pixels else _number(_attribute(file, "microns_per_pixel")))
    return _tierpsy(points, frames, scale, file, hints)


def _points(table: Any, rows: NDArray[np.bool_]) -> Array:
    """Return the skeletons in some rows of a table."""
    if table.ndim != 3 or table.shape[0] != len(rows):
        raise ValueError(f"{table.name[1:]} must have shape ({len(rows)}, points, 2), got {table.shape}")
    _check_size(int(rows.sum()), table.shape[1])
    _check_table(table, int(rows.sum()) * math.prod(table.shape[1:]) * max(table.dtype.itemsize, 8))
    return np.asarray(table[np.flatnonzero(rows)], float)


def _tierpsy(points: Array, frames: NDArray[np.int64], scale: float, file: Any, hints: Hints) -> Recording:
    """Convert Tierpsy's midlines, which have the head first and the axes of the image."""
    in_frames = _attribute(file, "time_units") == "frames"
    rate = hints.need_rate(None if in_frames else _number(_attribute(file, "fps", "expected_fps")))
    y_down = True if hints.y_down is None else hints.y_down
    return Recording(upright(_by_frame(points, frames), y_down, hints.head or "first", scale), rate)


def _number(value: Any) -> float | None:
    return None if value is None else float(np.ravel(value)[0])
