"""Readers of midlines in files of trackers.

- ``.npy``: array (N, P, 2) in m, or in pixels if ``microns_per_pixel`` is given.
- ``.csv``: columns ``frame, point, x, y`` or ``frame, x0, y0, x1, y1, ...`` in the same units, also with ``time`` (s)
  and ``worm``.
- ``.csv``, ``.h5`` and ``.slp`` with keypoints: see `keypoint_files`.
- ``.wcon`` and ``.json`` (also zipped): Worm tracker Commons Object Notation (``WCON_format.md`` of tracker-commons).
- ``.hdf5`` and ``.h5``: Tierpsy's ``featuresN``, ``features`` and ``skeletons`` (its ``docs/OUTPUTS.md``,
  ``smooth_skeletons_table.py``, ``obtainFeatures.py`` and ``read_attrs.py``).

Unknown entries are ignored. Frames without a complete midline are gaps.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core import files
from gymnosoma.envs.core.arguments import library, shown

from .joint_angles import read_columns
from .keypoint_files import check_hdf5, read_deeplabcut, read_deeplabcut_table, read_sleap
from .units import Array, Hints, at_even_times, by_frame, check_size, whole_numbers

HEADS = ("first", "last")
"""Ends of a midline at which a file has the head."""

TABLES = ("features_timeseries", "trajectories_data", "timeseries_data")
"""Tables with a row for each worm and frame."""

STAGE = "stage_position_pix"
"""Position of a moving stage, pixels, by frame, which is added to the midlines."""


REPEATED = 2
"""Number of frames that Tierpsy may repeat, at the end of a video."""

MOST_LINKS = 1000
"""Largest number of linked files of a recording."""


Recording = tuple[Array, float, tuple[str, ...]]
"""Midlines (N, P, 2) in m (y upwards, head first, NaN in gaps), frame rate in Hz, and notes."""


def upright(points: Array, y_down: bool, head: str, scale: float) -> Array:
    """Return midlines (N, P, 2) in m, with y upwards and the head first; arguments as in `Midlines.from_array`."""
    lines = points * scale
    if y_down:
        lines[..., 1] *= -1.0
    return lines[:, ::-1] if head == "last" else lines


def read_midlines(path: Path, hints: Hints) -> Recording:
    """Read a file; a damaged file can raise any error."""
    readers = {".npy": _npy, ".csv": _csv}
    readers |= dict.fromkeys((".wcon", ".json", ".zip"), _wcon) | dict.fromkeys((".hdf5", ".h5", ".slp"), _hdf5)
    if path.suffix.lower() not in readers:
        raise ValueError(f"file name must end in one of {', '.join(readers)}, got {path.suffix!r}")
    files.check_file(path, files.LARGEST_BINARY)
    recording = readers[path.suffix.lower()](path, hints)
    hints.check_unused()
    return recording


def _npy(path: Path, hints: Hints) -> Recording:
    points = files.read_array(path)
    if points.ndim != 3:
        raise ValueError("file must contain an array of shape (frames, points, 2)")
    return _scaled(points, hints)


def _scaled(
    points: Array, hints: Hints, rate: float | None = None, notes: tuple[str, ...] = (), pixels: bool = False
) -> Recording:
    """Convert midlines in m or pixels; the head is first and y points upwards by default, but pixels require y_down."""
    pixels = pixels or hints.microns_per_pixel is not None
    y_down, scale = (hints.need_y_down(), hints.need_scale()) if pixels else (bool(hints.y_down), 1.0)
    return upright(points, y_down, hints.head or "first", scale), rate or hints.need_rate(), notes


def _csv(path: Path, hints: Hints) -> Recording:
    with path.open("rb") as file:
        head = file.read(files.LARGEST_SETTINGS).decode("utf-8-sig", "replace").partition("\n")[0].lower()
    if head.startswith("scorer"):
        return _scaled(read_deeplabcut(files.read_text(path, files.LARGEST_RECORDING), hints), hints, pixels=True)
    if "instance.score" in head:
        files.check_file(path, files.LARGEST_TEXT)
        return _scaled(read_sleap(path, hints), hints, pixels=True)
    table, names = read_columns(path, files.LARGEST_RECORDING)
    columns = dict(zip((name.lower() for name in names), table.T, strict=True))
    ends = sorted((name[1:] for name in columns if re.fullmatch(r"x_?\d+", name)), key=lambda end: int(end.strip("_")))
    wide = [axis + end for axis in "xy" for end in ends]
    timed = bool(wide) and "time" in columns
    needed = {"time" if timed else "frame", *(wide or ("point", "x", "y"))}
    if len(columns) < len(names) or not needed <= columns.keys():
        raise ValueError(f"first line must name frame, point, x, y or frame, x0, y0, x1, ..., got {shown(head)}")
    if "worm" in columns:
        worms = whole_numbers("column worm", columns["worm"])
        rows = worms == hints.pick("worm", worms.tolist())
        columns = {name: values[rows] for name, values in columns.items()}
    if wide:
        points = np.stack([columns[name] for name in wide], 1).reshape(-1, 2, len(ends)).swapaxes(1, 2)
        if timed:
            points, rate, notes = at_even_times(columns["time"], points, hints.rate)
            return _scaled(points, hints, rate, notes)
        points = by_frame(points, whole_numbers("frame", columns["frame"]))
    else:
        index = whole_numbers("frame and point", np.stack([columns["frame"], columns["point"]], 1))
        index -= index.min(0)
        frames, width = (index.max(0) + 1).tolist()
        check_size(frames, width)
        cells, counts = np.unique(index @ [width, 1], return_counts=True)
        if counts.max() > 1:
            raise ValueError(
                f"frame and point must be unique, got two rows in frame {cells[np.argmax(counts)] // width}"
            )
        points = np.full((frames, width, 2), np.nan)
        points[index[:, 0], index[:, 1]] = np.stack([columns["x"], columns["y"]], 1)
    return _scaled(points, hints)


# Worm tracker Commons Object Notation.


def _wcon(path: Path, hints: Hints) -> Recording:
    if zipfile.is_zipfile(path):
        with files.zipped(path, files.LARGEST_RECORDING) as archive:
            names = [PurePosixPath(each.filename) for each in archive.infolist() if not each.is_dir()]
            # Macs add hidden files, and copies of each file's attributes.
            names = [name for name in names if not (name.name.startswith(".") or "__MACOSX" in name.parts)]
            first, size = (names or [PurePosixPath("(any)")])[0], path.stat().st_size
            read = lambda name: files.decoded(archive.read(str(first.parent / name)), size)  # noqa: E731
            records, count = _linked(first.name, read)
            if count < len(names):
                raise ValueError(f"zip file must contain one file or linked ones, got {shown([*map(str, names)])}")
    else:
        records, _ = _linked(path.name, lambda name: files.read_text(path.with_name(name), files.LARGEST_RECORDING))
    worm = hints.pick("worm", (entry["id"] for _, entry in records))
    parts = [_entry(entry, units, hints) for units, entry in records if entry["id"] == worm]
    t, points, centroid = (np.concatenate(part) for part in zip(*parts, strict=True))
    measured = np.isfinite(points).all((1, 2)) & np.isfinite(centroid).all(1)
    if measured.any():
        ways = [float(np.ptp(each[measured], 0).max()) for each in (points.mean(1), centroid)]
        if ways[0] < 0.1 * ways[1]:
            raise ValueError("x and y must be absolute, but only their centroid moves: name the origins ox and oy")
    order = np.argsort(t, kind="stable")
    points, rate, notes = at_even_times(t[order], points[order], hints.rate)
    notes += tuple(f"ventral: {shown(entry['ventral'])}" for _, entry in records if "ventral" in entry)[:1]
    return upright(points, bool(hints.y_down), "first", 1.0), rate, notes


def _linked(first: str, read: Callable[[str], str]) -> tuple[list[tuple[Any, dict[str, Any]]], int]:
    """Return units and entries of ``data`` of a file and those that its entry ``files`` links to, and their number."""
    entries: list[tuple[Any, dict[str, Any]]] = []
    pending = [first]
    for name in pending:
        try:
            record = json.loads(read(name))
        except (OSError, KeyError):
            raise ValueError(f"file {name!r} is missing or cannot be opened") from None
        if not isinstance(record, dict) or not isinstance(record.get("units"), dict) or "data" not in record:
            raise ValueError(f"file {name!r} must contain an object with units and data")
        data = record["data"] if isinstance(record["data"], list) else [record["data"]]
        if not all(isinstance(each, dict) and {"id", "t", "x", "y"} <= each.keys() for each in data):
            raise ValueError(f"each entry of data must have id, t, x and y in {name!r}")
        entries += [(record["units"], each) for each in data]
        links = record.get("files") or {}
        for link in [each for key in ("prev", "next") for each in np.atleast_1d(links.get(key) or []).tolist()]:
            this = links.get("this")
            around = name.rsplit(str(this), 1)
            other = str(link).join(around)
            if not this or len(around) < 2:
                raise ValueError(f"this in files must be a part of the name {name!r}, got {shown(this)}")
            if PurePosixPath(other).name != other:
                raise ValueError(f"files must link to files in the same folder, got {shown(link)}")
            if len(pending) > MOST_LINKS:
                raise ValueError(f"files must link to at most {MOST_LINKS} files, got more")
            pending += [other] if other not in pending else []
    return entries, len(pending)


def _entry(entry: Mapping[str, Any], units: Mapping[str, Any], hints: Hints) -> tuple[Array, Array, Array]:
    """Return times (N,) in s, midlines (N, P, 2), head first, and centroids (N, 2) in m of one entry of ``data``.

    Points and centroids are relative to the origin, ``ox`` and ``oy``. A centroid is not an origin: files of
    tracker-commons with and without it contain the same points.
    """
    if not isinstance(entry["t"], list):
        entry = {key: [value] for key, value in entry.items()}
    t = _numbers("t", entry["t"])
    axes, centroid = [], []
    for name in "xy":
        if not isinstance(entry[name], list) or len(entry[name]) != len(t):
            raise ValueError(f"{name} must have an entry for each of {len(t)} times")
        rows = [row if isinstance(row, list) else [row] for row in entry[name]]
        values = np.full((len(t), max(map(len, rows), default=0)), np.nan)
        for k, row in enumerate(rows):
            if len(row) == values.shape[1]:  # frames with fewer points are gaps
                values[k] = _numbers(name, row)
        scale, place = hints.unit(name, units.get(name), "length"), {"o": np.zeros(1), "c": np.full(1, np.nan)}
        for kind in (kind for kind in place if entry.get(kind + name) is not None):
            value, unit = entry[kind + name], units.get(kind + name, units[name])  # by default the axis's
            factor = hints.unit(kind + name, unit, "length")
            place[kind] = _numbers(kind + name, value if isinstance(value, list) else [value]) * factor
        axes.append(values * scale + place["o"][:, None])
        centroid.append(np.broadcast_to(place["c"], len(t)))
    points = np.stack(axes, -1)
    heads = entry.get("head", "?")
    heads = heads if isinstance(heads, list) else [heads] * len(t)
    ends = [{"L": "first", "R": "last"}.get(str(head)) or hints.head for head in heads]
    if None in ends:
        raise ValueError("head must be given as first or last, because the file does not say where the head is")
    turned = np.array([end == "last" for end in ends])
    points[turned] = points[turned, ::-1]
    return t * hints.unit("t", units.get("t"), "time"), points, np.stack(centroid, -1)


def _numbers(name: str, values: list[Any]) -> Array:
    """Convert numbers of JSON to an array, with NaN for ``null``."""
    if not all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        raise ValueError(f"{name} must be numbers or null, got {shown(values)}")
    return np.array([np.nan if value is None else value for value in values], float)


# Tierpsy.


def _hdf5(path: Path, hints: Hints) -> Recording:
    h5py = library("h5py")
    with h5py.File(path, "r") as file:
        check_hdf5(file, path.stat().st_size)
        if "df_with_missing/table" in file:
            return _scaled(read_deeplabcut_table(file["df_with_missing/table"], hints), hints, pixels=True)
        if "coordinates/skeletons" in file or ("skeleton" in file and "trajectories_data" in file):
            return _tierpsy(file, hints)
        if not {"tracks", "pred_points", "points"} & set(file):
            known = "Tierpsy's coordinates/skeletons or skeleton, DeepLabCut's df_with_missing/table, or SLEAP's tracks"
            raise ValueError(f"file must contain {known}, got {shown(sorted(file))}")
        if "tracks" in file and "point_scores" not in file:
            raise ValueError("file must have point_scores beside tracks: export it again, or give the .slp file")
    return _scaled(read_sleap(path, hints), hints, pixels=True)


def _column(table: Any, *names: str) -> NDArray[Any]:
    for name in names:
        if name in (table.dtype.names or ()):
            return np.asarray(table[name])
    raise ValueError(f"{table.name[1:]} must have the column {' or '.join(names)}, got {shown(table.dtype.names)}")


def _attribute(file: Any, *names: str) -> Any:
    """Return an attribute of the file or of one of its tables, or None."""
    for place in ("/", *(name for name in (*TABLES, "coordinates/skeletons", "skeleton") if name in file)):
        for value in (file[place].attrs[name] for name in names if name in file[place].attrs):
            return value.decode() if isinstance(value, bytes) else value
    return None


def _tierpsy(file: Any, hints: Hints) -> Recording:
    """Read the midlines of one worm, which have the head first and the axes of the image.

    Smoothed skeletons are in um, or in pixels if not calibrated, with a row for each ``skeleton_id`` of the
    trajectories (-1: none) or for each row of ``features_timeseries``. Others are in pixels, with a row for each row of
    the trajectories. Times are ``timestamp_raw``, which counts dropped frames, too, or else frame numbers.
    """
    smoothed = "coordinates/skeletons" in file
    skeletons, table = file["coordinates/skeletons" if smoothed else "skeleton"], None
    for name in (name for name in TABLES if name in file):
        linked = smoothed and name == "trajectories_data" and "skeleton_id" in (file[name].dtype.names or ())
        if table is None and (linked or len(file[name]) == len(skeletons)):
            table = file[name]
            ids = _column(table, "skeleton_id").astype(np.int64) if linked else np.arange(len(table))
    if table is None or skeletons.ndim != 3 or not ids.max(initial=-1) < len(skeletons):
        raise ValueError(f"{skeletons.name[1:]} must have a row of points for each skeleton, got {skeletons.shape}")
    if not smoothed:
        ids[~_column(table, "is_good_skel", "has_skeleton").astype(bool)] = -1
    is_moved = STAGE in file and not _attribute(file, "is_WT2")
    if (smoothed and is_moved) or (not smoothed and STAGE not in file and "stage_movement" in file):
        raise ValueError(f"stage positions must be in {STAGE} beside /skeleton, or added (is_WT2) in a _featuresN.hdf5")
    worms = _column(table, "worm_index_joined", "worm_index").astype(np.int64)
    rows = np.flatnonzero((ids >= 0) & (worms > 0))
    rows = rows[worms[rows] == hints.pick("worm", np.unique(worms[rows]).tolist())]
    frames = _column(table, "frame_number", "timestamp", "timestamp_raw")[rows]
    if "timestamp_raw" in table.dtype.names:
        raw = _column(table, "timestamp_raw")[rows]
        frames = raw if np.isfinite(raw).all() and len(np.unique(raw)) >= len(raw) - REPEATED else frames
    frames, first = np.unique(whole_numbers("timestamp", frames), return_index=True)
    if len(first) < len(rows) - REPEATED:
        raise ValueError(f"frame numbers must be unique, got {len(first)} in {len(rows)} rows")
    rows = rows[first]
    unique, which = np.unique(ids[rows], return_inverse=True)
    check_size(len(unique), skeletons.shape[1])
    points = np.asarray(skeletons[unique], float)[which]
    if not smoothed and STAGE in file:
        points += np.asarray(file[STAGE], float)[_column(table, "frame_number")[rows]][:, None]
    pixel = _number(_attribute(file, "microns_per_pixel", "micronsPerPixel", "pixels2microns_x"))
    calibrated = (_attribute(file, "xy_units") or ("um" if pixel not in (None, 1.0) else "pixels")) != "pixels"
    scale = hints.need_scale(pixel if calibrated else None) / (1.0 if not (smoothed and calibrated) else pixel or 1.0)
    fps = None if _attribute(file, "time_units") == "frames" else _number(_attribute(file, "fps", "expected_fps"))
    if "timestamp/time" in file and np.isfinite(steps := np.diff(np.asarray(file["timestamp/time"], float))).any():
        fps = 1.0 / step if 0.0 < (step := float(np.nanmedian(steps))) <= 1.0 else fps  # as Tierpsy prefers
    y_down = True if hints.y_down is None else hints.y_down
    return upright(by_frame(points, frames), y_down, hints.head or "first", scale), hints.need_rate(fps), ()


def _number(value: Any) -> float | None:
    return None if value is None else float(np.ravel(value)[0])
