"""Readers of keypoints: DeepLabCut's ``.csv`` and ``.h5``, SLEAP's ``.slp``, ``.h5`` and ``.csv``.

SLEAP's files are read by sleap-io. It has no reader for DeepLabCut's ``.h5``, and movement and pandas read it with
PyTables, which unpickles attributes, so that a file could run code. Here nothing is unpickled.
"""

from __future__ import annotations

import csv
import io
import math
import pickletools
from pathlib import Path
from typing import Any

import numpy as np

from gymnosoma.envs.core import files
from gymnosoma.envs.core.arguments import choice, library, shown

from .units import Array, Hints, by_frame, whole_numbers

LIKELY = 0.6
"""Smallest likelihood of a keypoint that is used."""

INSTANCE = 2000
"""Memory (bytes) that sleap-io takes for an animal in a frame."""


def read_deeplabcut(text: str, hints: Hints) -> Array:
    """Return keypoints (N, P, 2) from a table, which has a line ``individuals`` if it has several animals."""
    lines = csv.reader(io.StringIO(text, newline=""))
    head: dict[str, list[str]] = {}
    for line in filter(None, lines):
        head[line[0].strip().lower()] = [cell.strip() for cell in line[1:]]
        if "coords" in head or len(head) > 3:
            break
    if not {"bodyparts", "coords"} <= head.keys():
        raise ValueError(f"file must have the lines scorer, bodyparts and coords, got {', '.join(head)}")
    labels = list(zip(*(head[name] for name in ("individuals", "bodyparts", "coords") if name in head), strict=True))
    rows = [[float(cell) if cell.strip() else np.nan for cell in line] for line in lines if line]
    table = np.array(rows, float).reshape(len(rows), len(labels) + 1)
    return _likely(labels, table[:, 1:], table[:, 0], hints)


def read_deeplabcut_table(table: Any, hints: Hints) -> Array:
    """Return keypoints (N, P, 2) from the table that pandas writes into a ``.h5`` file."""
    blocks = [name for name in table.dtype.names or () if name != "index"]
    kind = table.attrs.get("values_block_0_kind")
    if blocks != ["values_block_0"] or not isinstance(kind, bytes):
        raise ValueError(f"df_with_missing must have columns of numbers by frame, got {shown(table.dtype.names)}")
    values = np.asarray(table["values_block_0"], float)
    # The attribute is a pickled list of tuples of words. Only the words and references to them are read.
    words, last = [], None
    memo: dict[Any, str | None] = {}
    for code, argument, _ in pickletools.genops(kind):
        if code.name.endswith("UNICODE"):
            last = argument
        elif code.name.endswith(("PUT", "MEMOIZE")):
            memo[len(memo) if argument is None else argument] = last
        else:
            last = memo.get(argument) if code.name.endswith("GET") else None
        if last is not None and code.name.endswith(("UNICODE", "GET")):
            words.append(last)
    levels = len(words) // max(values.shape[1], 1)
    if levels not in (3, 4) or len(words) != levels * values.shape[1]:
        raise ValueError(f"df_with_missing must have columns of scorer, bodyparts and coords, got {shown(words[:4])}")
    labels = [tuple(words[k + 1 : k + levels]) for k in range(0, len(words), levels)]
    return _likely(labels, values, table["index"], hints)


def _likely(labels: list[tuple[str, ...]], table: Array, frames: Any, hints: Hints) -> Array:
    """Return the keypoints of one animal, NaN if unlikely; labels are (animal), part and coordinate."""
    column = {label[-3:] if len(label) > 2 else ("worm", *label): j for j, label in enumerate(labels)}
    worm = hints.pick("worm", (label[0] for label in column))
    names = chosen([part for name, part, _ in column if name == worm], hints)
    axes = [[column[worm, name, axis] for name in names] for axis in ("x", "y", "likelihood")]
    x, y, likelihood = (table[:, each] for each in axes)
    points = np.stack([x, y], -1)
    points[~(likelihood >= LIKELY)] = np.nan
    return by_frame(points, whole_numbers("frame", frames))


def chosen(parts: list[str], hints: Hints) -> tuple[str, ...]:
    """Return the body parts that the hints name, each once."""
    names: tuple[str, ...] = hints.keypoints
    if not names or len(set(names)) < len(names):
        allowed = ", ".join(dict.fromkeys(parts))
        raise ValueError(f"keypoints must be different body parts, head to tail, of {allowed}, got {shown(names)}")
    for name in names:
        choice("keypoints", name, dict.fromkeys(parts))
    return names


def read_sleap(path: Path, hints: Hints) -> Array:
    """Return keypoints (N, P, 2) from a file of SLEAP, whose user labels replace predictions."""
    sleap_io = library("sleap_io")
    video = sleap_io.Video("video", open_backend=False)  # instead of that named in the file
    if path.suffix.lower() == ".slp":
        labels = sleap_io.load_slp(str(path), open_videos=False)
    else:
        load = sleap_io.load_analysis_h5 if path.suffix.lower() == ".h5" else sleap_io.load_csv
        labels = load(str(path), video=video)
    if len(labels.videos) != 1 or len(labels.skeletons) != 1:
        raise ValueError(f"file must have one video and one skeleton, got {len(labels.videos)}")
    tracks: dict[str, dict[int, Any]] = {}
    for frame in labels.labeled_frames:
        for instance in (*frame.predicted_instances, *frame.user_instances):
            track = tracks.setdefault(instance.track.name if instance.track else "untracked", {})
            if type(track.get(frame.frame_idx)) is type(instance):
                raise ValueError(f"frame {frame.frame_idx} must have one animal per track: track them in SLEAP")
            track[frame.frame_idx] = instance
    worm = hints.pick("worm", tracks)
    nodes = labels.skeletons[0].node_names
    order = [nodes.index(name) for name in chosen(nodes, hints)]
    points = np.array([instance.numpy()[order] for instance in tracks[worm].values()], float)
    return by_frame(points, np.array(list(tracks[worm])), 0)


def check_hdf5(file: Any, size: int) -> None:
    """Raise ValueError if a file of ``size`` bytes has links to other files, or if its contents take much memory."""
    import h5py

    sizes = [0]

    def check(name: str, link: Any) -> None:
        part = file[name] if isinstance(link, h5py.HardLink) else None
        if part is None or getattr(part, "external", None) or getattr(part, "is_virtual", False):
            raise ValueError(f"{name} must be in the file itself, got a link")
        if isinstance(part, h5py.Dataset):
            sizes.append(part.dtype.itemsize * max(part.size or 0, math.prod(part.chunks or (1,))))
            each = {"tracks": 2 * len(file.get("node_names", "x")), "instances": 1}.get(name, 0)
            sizes.append(INSTANCE * (part.size or 0) // each if each else 0)

    file.visititems_links(check)
    files.check_memory(sum(sizes), size)
