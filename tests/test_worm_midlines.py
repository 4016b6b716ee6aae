"""Midlines of worms: the camera's noise taken out, and files as trackers write them, whole and damaged."""

import csv
import io
import json
import zipfile

import numpy as np
import pytest
from recorded import RATE, joints, seen, worms

from gymnosoma.recordings import Midlines
from gymnosoma.recordings.smoothing import smooth


@pytest.fixture(scope="module")
def crawl():
    """A worm on agar for four seconds: head, joints and tail (121, 26, 2) m, and joint angles."""
    (run,), first = worms(1.0, 1, 4.0)
    return joints(run, first), run["joint_angle"][first:]


@pytest.fixture(scope="module")
def lines(crawl):
    """What a tracker makes of it (121, 49, 2) m."""
    return seen(crawl[0], np.random.default_rng(0))


@pytest.mark.parametrize(("criterion", "order"), [("gcv", 3), ("reml", 3), ("reml", 5)])
def test_smoothing_is_a_least_squares_fit_with_a_penalty(criterion, order):
    """Against dense matrices, with lost samples: the fit, its degrees of freedom, and no other weight is better."""
    rng = np.random.default_rng(0)
    t = np.arange(80)
    y = np.sin(2 * np.pi * t / 30)[:, None] + 0.1 * rng.standard_normal((80, 3))
    known = rng.random(80) > 0.1
    found = smooth(np.where(known[:, None], y, np.nan), order, criterion, known)
    bend = np.diff(np.eye(80), order, axis=0)
    w, m = np.diag(known.astype(float)), known.sum()

    def cost(weight, series):
        matrix = w + weight * bend.T @ bend
        fit = np.linalg.solve(matrix, w @ series)
        rest, freedom = (series - fit)[known], np.trace(np.linalg.solve(matrix, w))
        if criterion == "gcv":
            return np.sum(rest**2) / (1 - freedom / m) ** 2, fit, freedom
        spread = (m - order) * np.log(series[known] @ rest)
        return spread + np.linalg.slogdet(matrix)[1] - (80 - order) * np.log(weight), fit, freedom

    for k in range(3):
        least, fit, freedom = cost(found.weight[k], y[:, k])
        np.testing.assert_allclose(found.values[:, k], fit, atol=1e-8)
        assert found.freedom[k] == pytest.approx(freedom, abs=1e-3)
        assert all(cost(found.weight[k] * factor, y[:, k])[0] > least for factor in (10**-0.5, 10**0.5))
    assert np.sqrt(np.mean((found.values - np.sin(2 * np.pi * t / 30)[:, None]) ** 2)) < 0.05


def test_the_noise_of_a_camera_is_taken_out(crawl, lines):
    """2 um make 0.1 rad of a joint, smoothed 0.03 (0.05 in the last two), where the signal is 0.3."""
    angles = crawl[1]
    motion = Midlines.from_array(lines, RATE).smoothed()
    known = motion.reliable[::4]
    error = motion.joint_angle[::4] - angles
    assert np.sqrt(np.mean(error[known, 2:-2] ** 2)) < 0.03
    assert np.sqrt(np.mean(error[known] ** 2)) < 0.05
    assert motion.noise == pytest.approx(2e-6, rel=0.05)
    assert motion.jitter == pytest.approx(10e-6, rel=0.25)
    assert motion.length == pytest.approx(1e-3, rel=0.03)
    assert np.abs(motion.centre[::4] - crawl[0].mean(1))[known].max() < 10e-6
    (gap,) = motion.gaps
    assert gap[1] - gap[0] >= 10 and not motion.reliable[gap[0] * 4 : gap[1] * 4].any()

    kymogram = motion.kymogram()
    assert np.array_equal(np.isnan(kymogram.angles).any(1), ~known)


def test_another_scale_or_axis_or_end_changes_just_that(lines):
    usual = Midlines.from_array(lines, RATE).smoothed()
    large = Midlines.from_array(3.0 * lines, RATE).smoothed()
    np.testing.assert_allclose(large.rod_angle, usual.rod_angle, atol=1e-9)
    np.testing.assert_allclose(large.centre, 3.0 * usual.centre, atol=1e-12)
    down = Midlines.from_array(lines * [1, -1], RATE, y_down=True).smoothed()
    np.testing.assert_allclose(down.rod_angle, usual.rod_angle, atol=1e-12)
    back = Midlines.from_array(lines[:, ::-1], RATE, head="last").smoothed()
    np.testing.assert_array_equal(back.rod_angle, usual.rod_angle)
    fast = Midlines.from_array(lines, 2 * RATE).smoothed()
    np.testing.assert_allclose(fast.time, 0.5 * usual.time)
    np.testing.assert_array_equal(fast.rod_angle, usual.rod_angle)


def test_a_head_that_becomes_the_tail_is_set_right(lines):
    usual = Midlines.from_array(lines, RATE).smoothed()
    flipped = lines.copy()
    flipped[50:60] = flipped[50:60, ::-1]
    flipped[80] = flipped[80, ::-1]
    motion = Midlines.from_array(flipped, RATE).smoothed()
    np.testing.assert_array_equal(motion.rod_angle, usual.rod_angle)
    known = np.isfinite(lines[50:60]).all((1, 2))
    places = 50 + np.flatnonzero(known)
    told = f"head and tail changed places in frames {places[0]} to {places[-1]}"
    assert any(note.startswith(told) for note in motion.notes), motion.report


def test_what_was_not_measured_at_the_ends_is_left_out(lines):
    padded = np.concatenate([np.full((5, 49, 2), np.nan), lines, np.full((3, 49, 2), np.nan)])
    motion, usual = (Midlines.from_array(each, RATE).smoothed() for each in (padded, lines))
    np.testing.assert_array_equal(motion.rod_angle, usual.rod_angle)
    np.testing.assert_allclose(motion.time, usual.time + 5 / RATE)
    assert "frames 5 to 125 kept, between the first midline and the last" in motion.notes


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x: Midlines.from_array(x[:, :4], RATE), "midlines must have shape"),
        (lambda x: Midlines.from_array(x, 0.0), "rate must be"),
        (lambda x: Midlines.from_array(np.concatenate([x, 1.5 * x]), RATE).smoothed(), "lengths within 15%"),
    ],
)
def test_wrong_midlines_are_named(lines, wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong(lines)


# Files.


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


def write_tierpsy(path, lines, kind, **changes):
    h5py = pytest.importorskip("h5py")
    known = np.isfinite(lines).all((1, 2))
    frames = np.flatnonzero(known) if kind != "skeletons" else np.arange(len(lines))
    both = np.concatenate([frames, frames])
    down = lines[frames] * [1, -1] * (1e6 if kind != "skeletons" else 1e6 / 5)
    points = np.concatenate([down + 50.0, np.full_like(down, np.nan)])
    worm = np.repeat([3, 7], len(frames))
    names = ("worm_index_joined", "frame_number") if kind == "skeletons" else ("worm_index", "timestamp")
    columns = [(names[0], "i4"), (names[1], "i4"), ("skeleton_id", "i4"), ("is_good_skel", "u1")]
    rows = np.zeros(len(both), columns)
    rows[names[0]], rows[names[1]] = worm, both
    rows["is_good_skel"] = np.concatenate([known[frames], known[frames]])
    with h5py.File(path, "w") as file:
        table = {"featuresN": "timeseries_data", "features": "features_timeseries", "skeletons": "trajectories_data"}
        file[table[kind]] = rows
        if kind == "featuresN":
            file["trajectories_data"] = np.zeros(1)
        file["skeleton" if kind == "skeletons" else "coordinates/skeletons"] = np.nan_to_num(points, nan=np.nan)
        holder = file["trajectories_data"] if kind == "featuresN" else file
        about = {"fps" if kind == "featuresN" else "expected_fps": RATE, "microns_per_pixel": 5.0}
        for name, value in (about | {"xy_units": "micrometers", "time_units": "seconds"} | changes).items():
            if value is not None:
                holder.attrs[name] = value


def same(midlines, lines, shift=0.0):
    """Whether these are the midlines, but for a shift of the origin."""
    assert midlines.rate == pytest.approx(RATE)
    np.testing.assert_allclose(midlines.points - shift, lines, atol=1e-12)


def test_arrays_and_tables_are_read(tmp_path, lines):
    np.save(tmp_path / "a.npy", lines)
    same(Midlines.read(tmp_path / "a.npy", rate=RATE), lines)
    np.save(tmp_path / "pixels.npy", lines[:, ::-1] * [1, -1] / 5e-6)
    how = {"rate": RATE, "microns_per_pixel": 5.0, "y_down": True, "head": "last"}
    same(Midlines.read(tmp_path / "pixels.npy", **how), lines)
    write_csv(tmp_path / "a.csv", lines)
    read = Midlines.read(tmp_path / "a.csv", rate=RATE)
    same(read, lines)
    assert read.notes == ("a.csv", "121 frames of 49 points at 30 Hz")


def test_wcon_is_read(tmp_path, lines):
    write_wcon(tmp_path / "a.wcon", lines)
    read = Midlines.read(tmp_path / "a.wcon", worm="a")
    same(read, lines, 1e-4)
    assert read.notes[-1] == "ventral: 'CW'"
    with zipfile.ZipFile(tmp_path / "a.wcon.zip", "w") as packed:
        packed.write(tmp_path / "a.wcon", "a.wcon")
    same(Midlines.read(tmp_path / "a.wcon.zip", worm="a"), lines, 1e-4)
    data = wcon(lines)["data"][:2]
    for entry in data:
        del entry["ox"], entry["oy"]
    write_wcon(tmp_path / "a.json", lines, data=data)  # the centroid is the origin then
    same(Midlines.read(tmp_path / "a.json"), lines, [7e-6, 0.0])
    for entry in data:
        del entry["cx"]
        entry["t"] = [t + 0.1 * np.sin(t) for t in entry["t"]]
    write_wcon(tmp_path / "b.json", lines, data=data)
    uneven = Midlines.read(tmp_path / "b.json", rate=RATE)
    assert "times are not even: by lines to 30 Hz" in uneven.notes
    both = uneven.measured[:100] & np.isfinite(lines[:100]).all((1, 2))
    assert np.abs(uneven.points[:100] - lines[:100])[both].max() < 40e-6  # a tenth of a frame, and lines between


@pytest.mark.parametrize("kind", ["featuresN", "features", "skeletons"])
def test_tierpsys_files_are_read(tmp_path, lines, kind):
    path = tmp_path / f"worm_{kind}.hdf5"
    write_tierpsy(path, lines, kind)
    scale = 50e-6 if kind != "skeletons" else 250e-6
    same(Midlines.read(path, worm=3), lines, [scale, -scale])
    with pytest.raises(ValueError, match="midlines must have a frame"):
        Midlines.read(path, worm=7)
    with pytest.raises(ValueError, match="worm must be one of"):
        Midlines.read(path)


def test_keypoints_are_read(tmp_path, lines):
    few = lines[:, ::4]
    (tmp_path / "dlc.csv").write_text(deeplabcut(few / 5e-6))
    names = tuple(f"p{j}" for j in range(13))
    how = {"rate": RATE, "microns_per_pixel": 5.0, "y_down": False}
    midlines = Midlines.read(tmp_path / "dlc.csv", keypoints=names, **how)
    same(midlines, few)
    assert "polynomials of degree 11, not 16: there are 13 points" in midlines.smoothed().notes
    for keypoints in ((), ("nose", *names)):
        with pytest.raises(ValueError, match="keypoints must be"):
            Midlines.read(tmp_path / "dlc.csv", keypoints=keypoints, **how)


ENTRY = {"id": "a", "t": [0], "x": [[0, 1, 2, 3, 4]], "y": [[0] * 5], "head": "L"}
UNITS = {"t": "s", "x": "mm", "y": "mm"}


def write_text(text):
    return lambda path, lines: path.write_text(text)


def write_faulty_csv(fault):
    return lambda path, lines: write_csv(path, lines, fault=fault)


def write_faulty_wcon(units=UNITS, **entry):
    record = {"units": units, "data": [ENTRY | entry]}
    return lambda path, lines: path.write_text(json.dumps(record))


FAULTS = {
    "a.mat": write_text(""),
    "empty.npy": lambda path, lines: np.save(path, np.full((9, 9, 2), np.nan)),
    "pickle.npy": lambda path, lines: np.save(path, np.array([{}], object), allow_pickle=True),
    "header.csv": write_text("frame,x,y\n1,2,3\n"),
    "twice.csv": write_faulty_csv("0,0,1e-3,1e-3"),
    "lacks.wcon": write_text('{"units": {}, "data": [{"id": "a"}]}'),
    "unit.wcon": write_faulty_wcon(UNITS | {"x": "pixels"}),
    "head.wcon": write_faulty_wcon(head="?"),
    "twice.wcon": write_faulty_wcon(t=[0, 0], x=[ENTRY["x"][0]] * 2, y=[ENTRY["y"][0]] * 2),
    "far.wcon": write_faulty_wcon(t=[0, 1, 1e12], x=[ENTRY["x"][0]] * 3, y=[ENTRY["y"][0]] * 3),
}


@pytest.mark.parametrize("name", FAULTS)
def test_files_with_a_fault_are_refused(tmp_path, lines, name):
    FAULTS[name](tmp_path / name, lines)
    with pytest.raises(ValueError, match=f"recording '.*{name}' cannot be read: ."):
        Midlines.read(tmp_path / name, rate=RATE)
