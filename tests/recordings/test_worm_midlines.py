"""Midlines of worms: the camera's noise taken out, and files as trackers write them."""

import json
import pickle
import zipfile

import numpy as np
import pytest
from recorded import RATE, joints, seen, worms
from trackers import deeplabcut, wcon, write_csv, write_tierpsy, write_wcon

from gymnosoma.recordings import Midlines
from gymnosoma.recordings.smoothing import smooth
from gymnosoma.recordings.units import Hints


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
    large = Midlines.from_array(1.5 * lines, RATE).smoothed()
    np.testing.assert_allclose(large.rod_angle, usual.rod_angle, atol=1e-5)
    np.testing.assert_allclose(large.centre, 1.5 * usual.centre, atol=1e-9)
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
        (lambda x: Midlines.from_array(x[:, :8], RATE), "midlines must have shape"),
        (lambda x: Midlines.from_array(x, 0.0), "rate must be"),
        (lambda x: Midlines.from_array(np.concatenate([x, 1.5 * x]), RATE).smoothed(), "lengths within 15%"),
    ],
)
def test_wrong_midlines_are_named(lines, wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong(lines)


# Files.


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
    head = "frame,worm," + ",".join(f"{axis}{j}" for j in range(49) for axis in "xy")
    rows = [[k, worm, *line.ravel()] for k, line in enumerate(lines) for worm in (1, 2)]
    np.savetxt(tmp_path / "wide.csv", rows, "%.17g", ",", header=head, comments="")
    same(Midlines.read(tmp_path / "wide.csv", worm=2, rate=RATE), lines)
    (tmp_path / "a.mat").touch()
    with pytest.raises(ValueError, match=r"recording '.*a\.mat' cannot be read: ."):
        Midlines.read(tmp_path / "a.mat", rate=RATE)


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
    write_wcon(tmp_path / "a.json", lines, data=data)  # a centroid is no origin
    same(Midlines.read(tmp_path / "a.json"), lines)
    # Linked files, in an archive of a Mac, in units that the file does not know.
    for k, entry in enumerate(data):
        part = wcon(lines, data=entry, files={"this": f"_{k}", ["next", "prev"][k]: [f"_{1 - k}"]})
        part["units"] = {"t": "frames", "x": "pixels", "y": "pixels"}
        (tmp_path / f"part_{k}.wcon").write_text(json.dumps(part))
    with zipfile.ZipFile(tmp_path / "mac.wcon.zip", "w") as packed:
        for name in ("part_0.wcon", "part_1.wcon"):
            packed.write(tmp_path / name, f"worm/{name}")
            packed.writestr(f"__MACOSX/worm/._{name}", b"Mac OS X")
            same(Midlines.read(tmp_path / name, rate=RATE, microns_per_pixel=1.0), lines)
    same(Midlines.read(tmp_path / "mac.wcon.zip", rate=RATE, microns_per_pixel=1.0), lines)
    for entry in data:
        del entry["cx"]
        entry["t"] = [t + 0.1 * np.sin(t) for t in entry["t"]]
    write_wcon(tmp_path / "b.json", lines, data=data)
    uneven = Midlines.read(tmp_path / "b.json", rate=RATE)
    assert any(note.startswith("times are not even") for note in uneven.notes)
    both = uneven.measured[:100] & np.isfinite(lines[:100]).all((1, 2))
    assert np.abs(uneven.points[:100] - lines[:100])[both].max() < 40e-6  # a tenth of a frame, and lines between


@pytest.mark.parametrize("kind", ["featuresN", "features", "skeletons"])
def test_tierpsys_files_are_read(tmp_path, lines, kind):
    """Neither blobs nor dropped frames nor a stage that moves change another midline."""
    path, stage = tmp_path / f"worm_{kind}.hdf5", np.arange(242.0).reshape(121, 2)
    dropped = np.where(np.isin(np.arange(121), [2, 3])[:, None, None], np.nan, lines)
    for changes, size in (({}, None), ({"xy_units": "pixels"}, 5.0 if kind == "skeletons" else 1.0)):
        write_tierpsy(path, lines, kind, **changes)
        same(Midlines.read(path, microns_per_pixel=size), dropped, [50e-6, -50e-6])
    for wrong, message in (({"worm": 7}, "worm must be one of"), ({}, "microns_per_pixel must be given")):
        with pytest.raises(ValueError, match=message):
            Midlines.read(path, **wrong)
    write_tierpsy(path, lines, kind, stage)
    if kind == "skeletons":
        same(Midlines.read(path), dropped, [50e-6, -50e-6])
    else:
        with pytest.raises(ValueError, match="stage"):
            Midlines.read(path)


def test_keypoints_are_read(tmp_path, lines):
    few = lines[:, ::4]
    (tmp_path / "dlc.csv").write_text(deeplabcut(few / 5e-6))
    names = tuple(f"p{j}" for j in range(13))
    how = {"rate": RATE, "microns_per_pixel": 5.0, "y_down": False}
    midlines = Midlines.read(tmp_path / "dlc.csv", keypoints=names, **how)
    same(midlines, few)
    for keypoints in ((), ("nose", *names), ("p0", *names)):
        with pytest.raises(ValueError, match="keypoints must be"):
            Midlines.read(tmp_path / "dlc.csv", keypoints=keypoints, **how)
    # The table that pandas makes of it; words are pickled, as PyTables does.
    h5py = pytest.importorskip("h5py")
    labels = [("net", name, axis) for name in names for axis in ("x", "y", "likelihood")]
    values = np.genfromtxt(tmp_path / "dlc.csv", delimiter=",", skip_header=3)
    rows = np.array([(row[0], row[1:]) for row in values], [("index", "i8"), ("values_block_0", "f8", len(labels))])
    with h5py.File(tmp_path / "dlc.h5", "w") as file:
        file["df_with_missing/table"] = rows
        file["df_with_missing/table"].attrs["values_block_0_kind"] = np.bytes_(pickle.dumps(labels, 0))
    same(Midlines.read(tmp_path / "dlc.h5", keypoints=names, **how), few)


@pytest.mark.parametrize("name", ["a.slp", "a.h5", "a.csv"])
def test_files_of_sleap_are_read(tmp_path, lines, name):
    sio = pytest.importorskip("sleap_io")
    few, names = lines[:, ::4], tuple(f"p{j}" for j in range(13))
    skeleton, video, frames = sio.Skeleton([*names]), sio.Video("a.mp4", open_backend=False), []
    tracks, make = [sio.Track("a"), sio.Track("b")], sio.PredictedInstance.from_numpy
    for k in np.flatnonzero(np.isfinite(few).all((1, 2))):
        worms = [make(few[k] / 5e-6 + 9.0 * j, skeleton=skeleton, track=track) for j, track in enumerate(tracks)]
        frames.append(sio.LabeledFrame(video=video, frame_idx=int(k), instances=worms))
    sio.save_file(sio.Labels(frames, videos=[video], skeletons=[skeleton], tracks=tracks), str(tmp_path / name))
    how = {"rate": RATE, "microns_per_pixel": 5.0, "y_down": False, "keypoints": names}
    same(Midlines.read(tmp_path / name, worm="a", **how), few)
    with pytest.raises(ValueError, match="worm must be one of"):
        Midlines.read(tmp_path / name, **how)


UNITS = {
    "length": {
        "mm": 1e-3,
        "micrometres": 1e-6,
        "µm": 1e-6,
        "microns": 1e-6,
        "Km": 1e3,
        "Mm": 1e6,
        "gigameters": 1e9,
        "inch": 0.0254,
        "inches": 0.0254,
        "12*in": 0.3048,
        "in / 72": 0.0254 / 72,
        "ft": 0.3048,
        "foot": 0.3048,
        "feet": 0.3048,
        "mm^2/m": 1e-6,
        "50*%*cm": 5e-3,
    },
    "time": {
        "sec": 1.0,
        "hr": 3600.0,
        "h": 3600.0,
        "min": 60.0,
        "days": 86400.0,
        "ks": 1e3,
        "kiloseconds": 1e3,
        "Ms": 1e6,
        "megaseconds": 1e6,
        "Gs": 1e9,
        "gigaseconds": 1e9,
        "0.04*s": 0.04,
        "1/s^-1": 1.0,
    },
}
WRONG_UNITS = (
    "",
    "1",
    "min",
    "mm^2",
    "mm**2",
    "msecond",
    "millis",
    "0*mm",
    "1/0*mm",
    "s",
    "mm/s",
    None,
    "1e300*1e300*m",
)


def test_units_are_those_of_wcon():
    """By its `WCON_format.md` and the units of tracker-commons' reader."""
    for kind, units in UNITS.items():
        for text, factor in units.items():
            assert Hints().unit("x", text, kind) == pytest.approx(factor, rel=1e-12), text
    for text in WRONG_UNITS:
        with pytest.raises(ValueError, match="unit of x must be a unit of length, got"):
            Hints().unit("x", text, "length")


def test_a_part_of_a_recording(tmp_path, lines):
    """Times stay those of the whole."""
    np.save(tmp_path / "a.npy", lines)
    midlines = Midlines.read(tmp_path / "a.npy", rate=RATE, start=1.0, stop=3.0)
    motion, usual = midlines.smoothed(), Midlines(lines[30:91], RATE).smoothed()
    np.testing.assert_array_equal(motion.rod_angle, usual.rod_angle)
    np.testing.assert_allclose(motion.time, usual.time + 1.0)
    for start, stop, name in ((5.0, None, "start"), (-1.0, None, "start"), (2.0, 1.0, "stop")):
        with pytest.raises(ValueError, match=rf"{name} \(--.*\) must be"):
            Midlines.read(tmp_path / "a.npy", rate=RATE, start=start, stop=stop)


def test_messages_name_the_reason(tmp_path, lines):
    """A wrong unit of a file, an axis's unit, links, and a file without a worm."""
    write_wcon(tmp_path / "unit.wcon", lines, units={"t": "s/30", "x": "nm", "y": "nm"})
    midlines = Midlines.read(tmp_path / "unit.wcon", worm="a")
    with pytest.raises(ValueError, match="1000 times too close together: the file declares a wrong unit of length"):
        midlines.smoothed()
    faults = {
        "axis.wcon": ({"units": {"t": "s", "x": "furlong", "y": "mm"}}, "unit of x must be a unit of length"),
        "folder.wcon": ({"files": {"this": "folder", "next": ["../other"]}}, "files in the same folder"),
        "name.wcon": (
            {"files": {"this": "_0", "next": ["_1"]}},
            "this in files must be a part of the name 'name.wcon'",
        ),
        "none.wcon": ({"data": []}, "the measurements of a worm, got none"),
    }
    for name, (change, message) in faults.items():
        write_wcon(tmp_path / name, lines, **change)
        with pytest.raises(ValueError, match=message):
            Midlines.read(tmp_path / name, worm=None if name == "none.wcon" else "a")
