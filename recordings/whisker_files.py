"""Readers of the motion of a whisker's base.

- ``.csv``, ``.tsv`` and ``.txt``: a table with the names of `COLUMNS` in the first line, which a unit may follow, as in
  ``angle_deg``, ``x (mm)`` or ``time [ms]``.
- ``.measurements`` and ``.whiskers`` of whisk (Clack et al., PLoS Comput. Biol. 8 (2012), e1002591), in the layouts of
  its ``measurements_io_v1.c`` to ``_v3.c`` and ``whisker_io_whiskbin1.c``.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from gymnosoma.envs.core import files
from gymnosoma.envs.core.arguments import shown

from .body import arc_length
from .joint_angles import read_columns
from .units import COUNTED, FACTORS, Array, Hints, at_even_times, by_frame, whole_numbers

COLUMNS = {
    "angle": ("angle", "theta", "base_angle"),
    "x": ("x", "base_x", "follicle_x"),
    "y": ("y", "base_y", "follicle_y"),
    "time": ("time", "t", "timestamp"),
    "frame": ("frame", "frame_number", "fid"),
    "whisker": ("whisker", "whisker_id", "label", "state", "wid"),
}
"""Quantities and the names of their columns."""

KINDS = {"angle": ("angle", "rad"), "x": ("length", "m"), "y": ("length", "m"), "time": ("time", "s")}
"""Kinds of units, and the units of columns that declare none."""

LEAST = {"angle": 0.04, "length": 2e-5, "time": 2e-5}
"""Smallest range of an angle (rad) or position (m), and interval of times (s), in a unit that is not that of SI."""

LEAST_POINTS = 8
"""Smallest number of points of a trace."""

JUMP = 0.3
"""Largest distance of a follicle from that in the frame before, as a share of the whisker."""


def read_base(path: Path, hints: Hints) -> tuple[dict[str, Array], float, tuple[str, ...]]:
    """Return angle and, if the file has them, x and y of a base (N,) in rad and m, the frame rate in Hz, and notes.

    Angles are counter-clockwise, with y upwards. Missing values are NaN. A damaged file can raise any error.
    """
    reader = {".measurements": _measurements, ".whiskers": _whiskers}.get(path.suffix.lower(), _table)
    columns, units = reader(path, hints)
    for name in (name for name in KINDS if name in columns):
        kind, usual = KINDS[name]
        pixels = kind == "length" and hints.microns_per_pixel is not None
        units[name] = units.get(name) or getattr(hints, f"{kind}_unit") or ("px" if pixels else usual)
        values, factor = columns[name], hints.unit(name, units[name], kind)
        extent = float(np.nanmedian(np.diff(values)) if kind == "time" else np.ptp(values[np.isfinite(values)]))
        if factor != 1.0 and factor * extent < LEAST[kind] <= extent and np.nanmax(np.abs(values)) < 7.0:
            raise ValueError(f"column {name} must be in {units[name]}, got a range of {extent:.3g}: likely {usual}")
        columns[name] = factor * values
    down = hints.y_down
    if down is None:
        down = reader is not _table or (units.get("x", units.get("y")) in COUNTED["length"] and hints.need_y_down())
    names = [name for name in ("angle", "x", "y") if name in columns]
    motion = np.stack([-columns[name] if down and name != "x" else columns[name] for name in names], 1)
    if "time" in columns:
        motion, rate, notes = at_even_times(columns["time"], motion, hints.rate)
        return dict(zip(names, motion.T, strict=True)), rate, notes
    if "frame" in columns:
        frames = whole_numbers("column frame", columns["frame"])
        motion = by_frame(motion, frames, min(int(frames.min()), 0))
    return dict(zip(names, motion.T, strict=True)), hints.need_rate(), ()


def _chosen(columns: dict[str, Array], hints: Hints) -> dict[str, Array]:
    """Return the rows of one whisker, in order."""
    if "whisker" in columns:
        labels = whole_numbers("column whisker", columns["whisker"])  # below 0 are other hairs
        rows = labels == hints.pick("whisker", np.unique(labels[labels >= 0]).tolist())
        columns = {name: values[rows] for name, values in columns.items()}
    if key := next((name for name in ("time", "frame") if name in columns), None):
        order = np.argsort(columns[key], kind="stable")
        columns = {name: values[order] for name, values in columns.items()}
        twice = np.flatnonzero(np.diff(columns[key]) == 0)
        if len(twice):
            what = f"several at {key} {columns[key][twice[0]]:g}"
            raise ValueError(f"column whisker must name each whisker (by classify in whisk), got {what}")
    return columns


def _table(path: Path, hints: Hints) -> tuple[dict[str, Array], dict[str, str | None]]:
    table, names = read_columns(path)
    columns: dict[str, Array] = {}
    units: dict[str, str | None] = {}
    known = {*FACTORS, *sum(COUNTED.values(), ())}
    for name, values in zip(names, table.T, strict=True):
        words = [word for word in re.split(r"[^a-zµμ0-9]+", name.lower()) if word]
        unit = words.pop() if len(words) > 1 and {words[-1], words[-1].removesuffix("s")} & known else None
        for quantity, synonyms in COLUMNS.items():
            if "_".join(words) in synonyms:
                columns.setdefault(quantity, values)
                units.setdefault(quantity, unit)
    if "angle" not in columns:
        raise ValueError(f"first line must name a column angle, got {shown(', '.join(names))}")
    return _chosen(columns, hints), units


PIXELS = {"angle": "deg", "x": "px", "y": "px"}
"""Units of whisk."""


def _measurements(path: Path, hints: Hints) -> tuple[dict[str, Array], dict[str, str | None]]:
    """Read angles and follicles; the whiskers are the states of whisk's ``classify``."""
    content = files.read_bytes(path, files.LARGEST_RECORDING)
    rows, width = np.frombuffer(content[8:16], "<i4").tolist() if content[:5].lower() == b"measv" else (1, 0)
    head = (len(content) - 16) / max(rows, 1) - 16 * width
    if width < 8 or head not in (40, 41, 44, 48):  # by version and compiler
        raise ValueError("file must have the layout of whisk's versions 1 to 3 (measurements_convert writes them)")
    lines = np.frombuffer(content, np.uint8, offset=16).reshape(rows, -1)
    row, data = lines[:, :40].copy().view("<i4"), lines[:, int(head) :].copy().view("<f8")
    x, y = data[:, row[0, 6]], data[:, row[0, 7]]
    columns = {"frame": row[:, 1], "whisker": row[:, 3], "angle": data[:, 2], "x": x, "y": y}
    columns = _chosen({**columns, "dx": data[:, 6] - x, "dy": data[:, 7] - y}, hints)
    # Angles are from the x axis or, for a face at the left or right, from the y axis; the tip tells which.
    tip = np.degrees(np.arctan2(columns.pop("dy"), columns.pop("dx")))
    choices = [columns["angle"], 90.0 - columns["angle"]]
    fits = [float(np.nanmean(np.cos(np.radians(choice - tip)))) for choice in choices]
    if max(fits) < 0.7:
        raise ValueError("column angle must be that of the whisker at the follicle, within 45 degrees of the tip")
    columns["angle"] = choices[int(np.argmax(fits))]
    return columns, dict(PIXELS)


def _whiskers(path: Path, hints: Hints) -> tuple[dict[str, Array], dict[str, str | None]]:
    """Read traces, and fit the angle at the follicle as whisk does, by a cubic polynomial."""
    content = files.read_bytes(path, files.LARGEST_RECORDING)
    if not content.startswith(b"bwhiskbin1\0"):
        raise ValueError("file must have the layout whiskbin1 (whisker_convert writes it)")
    place, rows = 12, []
    traces: list[Array] = []
    while place + 12 <= len(content) - 4:
        label, frame, count = np.frombuffer(content, "<i4", 3, place).tolist()
        if count < LEAST_POINTS:
            raise ValueError(f"whiskers must have at least {LEAST_POINTS} points, got {count} in frame {frame}")
        rows.append((frame, label, len(traces)))
        traces.append(np.frombuffer(content, "<f4", 2 * count, place + 12).reshape(2, count).T.astype(float))
        place += 12 + 16 * count
    columns = _chosen(dict(zip(("frame", "whisker", "which"), np.array(rows).T, strict=True)), hints)
    lines = [traces[k] for k in columns.pop("which")]
    # The follicle is the end that moves less.
    ways = [[lines[0]], [lines[0][::-1]]]
    for way in ways:
        for line in lines[1:]:
            ends = np.hypot(*(line[[0, -1]] - way[-1][0]).T)
            way.append(line if ends[0] < ends[1] else line[::-1])
    way = min(ways, key=lambda way: np.hypot(*np.diff([line[0] for line in way], axis=0).T).sum())
    starts, places = np.array([line[0] for line in way]), [arc_length(line[None])[0] for line in way]
    jumps = np.hypot(*np.diff(starts, axis=0).T) > JUMP * np.median([place[-1] for place in places])
    if jumps.any():
        what = f"another one in frame {columns['frame'][1:][jumps][0]}"
        raise ValueError(f"whisker must be the same in all frames, got {what}: classify, and give the .measurements")
    slopes = np.array([np.polyfit(place / place[-1], line, 3)[2] for place, line in zip(places, way, strict=True)])
    columns |= {"angle": np.degrees(np.arctan2(slopes[:, 1], slopes[:, 0])), "x": starts[:, 0], "y": starts[:, 1]}
    return columns, dict(PIXELS)
