"""Files of recordings as trackers of worms and whiskers write them."""

import csv
import io
import json
import struct

import numpy as np
import pytest
from recorded import RATE

WHISK_RATE = 500.0
TIMES = np.arange(501) / WHISK_RATE


def whisk(t):
    """8 Hz and its harmonic, swelling."""
    return 0.35 * np.sin(2 * np.pi * 8 * t) * (1 + 0.2 * np.sin(2 * np.pi * 1.3 * t)) + 0.05 * np.sin(
        32 * np.pi * t + 1
    )


def sway(t):
    return 1e-3 * np.sin(2 * np.pi * 8 * t)


def table(lines):
    """Rows of frame, point, x, y."""
    for k, line in enumerate(lines):
        for j, (x, y) in enumerate(line):
            if np.isfinite(x):
                yield k, j, float(x), float(y)


def write_csv(path, lines, head="frame,point,x,y", fault=""):
    rows = [",".join(map(repr, row)) for row in table(lines)]
    path.write_text("\n".join([head, *rows, fault]) + "\n")


def wcon(lines, **changes):
    """Midlines from an origin of their own, um, frames counted; halves in two entries, the second head last."""
    rows = [[[None if np.isnan(v) else float(v) for v in axis] for axis in line.T] for line in 1e6 * lines]
    half = len(rows) // 2

    def entry(part, first, **more):
        x, y = ([row[k] for row in part] for k in range(2))
        t = list(range(first, first + len(part)))
        return {"id": "a", "t": t, "x": x, "y": y, "ox": 100.0, "oy": 0.1, "cx": 7.0, "head": "L", **more}

    late = [[axis[::-1] for axis in row] for row in rows[half:]]
    data = [entry(late, half, head="R", ventral="CW"), entry(rows[:half], 0), {**entry(rows[:1], 0), "id": "b"}]
    units = {"t": "s/30", "x": "um", "y": "micrometers", "oy": "mm", "speed": "mm/s"}
    return {"units": units, "data": data, "metadata": {"lab": 1}} | changes


def write_wcon(path, lines, **changes):
    path.write_text(json.dumps(wcon(lines, **changes)))


def deeplabcut(lines):
    parts = [f"p{j}" for j in range(lines.shape[1])]
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(["scorer", *["net"] * 3 * len(parts)])
    rows.writerow(["bodyparts", *[part for part in parts for _ in range(3)]])
    rows.writerow(["coords", *["x", "y", "likelihood"] * len(parts)])
    for k, line in enumerate(lines):
        lost = not np.isfinite(line).all()
        rows.writerow([k, *[v for x, y in np.nan_to_num(line) for v in (x, y, 0.1 if lost else 0.99)]])
    return out.getvalue()


def write_tierpsy(path, lines, kind, stage=None, **changes):
    """Worm 3 and two blobs as Tierpsy's writers lay them out, without frames 2 and 3, which the camera dropped."""
    h5py = pytest.importorskip("h5py")
    kept = np.delete(np.arange(len(lines)), [2, 3])
    known = np.isfinite(lines[kept]).all((1, 2))
    points = (lines[kept] * [1, -1] + 50e-6) / (5e-6 if kind == "skeletons" else 1e-6)
    names = "worm_index_joined,timestamp_raw,frame_number,skeleton_id,is_good_skel"
    rows = np.rec.fromarrays(np.broadcast_arrays([[2], [3], [7]], kept, np.arange(len(kept)), -1, 0), names=names)
    rows["skeleton_id"][1, known], rows["is_good_skel"][1] = np.arange(known.sum()), known
    about = {"fps": RATE, "expected_fps": RATE, "microns_per_pixel": 5.0, "xy_units": "micrometers"} | changes
    with h5py.File(path, "w") as file:
        table = "features_timeseries" if kind == "features" else "trajectories_data"
        if kind == "features":
            rows = np.rec.fromarrays([0.0 * kept + 3.0, 1.0 * kept], names="worm_index,timestamp")
        file[table] = rows.ravel()
        file[table].attrs.update(about)
        if kind == "skeletons":
            points -= 0.0 if stage is None else stage[: len(kept), None]
            file["skeleton"] = np.concatenate([0.0 * points, points, 0.0 * points])
        else:
            file["coordinates/skeletons"] = points[known] if kind == "featuresN" else points
        if stage is not None:
            file["stage_position_pix"] = stage[: len(kept)]


def write_whisk(path, count):
    """Whiskers of 100 px, with 50 um per px, in the layouts of whisk."""
    parts, along, table = [], np.arange(100.0), path.suffix == ".measurements"
    for k, t in enumerate(TIMES):
        for j in range(count):
            angle, x, y = -whisk(t) - 0.1 * j, 200.0 + sway(t) / 50e-6, 100.0 + 60.0 * j
            line = np.stack([x + along * np.cos(angle), y + along * np.sin(angle)])
            data = [100.0, 1.0, np.degrees(angle), 0.0, x, y, *line[:, -1]] + [0.0] * 8
            row = struct.pack("<10ic16d", 0, k, 9 - j, j, 0, 0, 4, 5, 0, 8, b"x", *data)
            trace = struct.pack("<3i", j, k, 100) + line[:, :: (-1) ** k].astype("<f4").tobytes() + bytes(800)
            parts.append(row if table else trace)
    head = b"measv3\0\0" + struct.pack("<2i", len(parts), 8) if table else b"bwhiskbin1\0\0"
    path.write_bytes(head + b"".join(parts[::-1] if table else [*parts, struct.pack("<i", len(parts))]))
