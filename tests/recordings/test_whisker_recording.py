"""Forces of a recorded vibrissa in free air."""

from contextlib import nullcontext

import numpy as np
import pytest
from trackers import TIMES, sway, whisk, write_whisk
from trackers import WHISK_RATE as RATE

from gymnosoma.envs import simulate
from gymnosoma.envs.whisker_chain import Whisker, follow
from gymnosoma.recordings import RecordedBase, free_forces


@pytest.fixture(scope="module")
def true():
    drive, start = follow(1e-4, whisk, sway)
    run = simulate(Whisker(), drive, 1.0, every=1 / RATE, start=start)
    inside = (TIMES > 0.1) & (TIMES < 0.9)
    return run["base_wrench"][inside], inside


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 10), marks=pytest.mark.full)], ids=["two", "eight"])
def test_forces_in_free_air(true, seeds):
    """2 mrad and 10 um of noise: the peak of Fy within 5%, its error within 8% (ten seeds: 2.3%, 3.1%)."""
    wrench, inside = true
    for seed in seeds:
        noise = np.random.default_rng(seed).standard_normal((2, len(TIMES)))
        base = RecordedBase(whisk(TIMES) + 2e-3 * noise[0], RATE, sway(TIMES) + 1e-5 * noise[1])
        assert base.noise["angle"] == pytest.approx(2e-3, rel=0.15) and base.noise["x"] == pytest.approx(1e-5, rel=0.15)
        run = free_forces(base)
        np.testing.assert_allclose(run.time, TIMES[inside])
        found = run["base_wrench"]
        assert np.abs(found[:, 2]).max() == pytest.approx(np.abs(wrench[:, 2]).max(), rel=0.05)
        assert np.sqrt(np.mean((found[:, 2] - wrench[:, 2]) ** 2) / np.mean(wrench[:, 2] ** 2)) < 0.08


@pytest.mark.parametrize(("rate", "needed"), [(30, 125), (60, 84), (120, 0), (240, 0), (333.3, 0), (499.95, 0)])
def test_any_rate_that_resolves_the_whisk(true, rate, needed):
    """The moment within 3% of that at 500 Hz; slower cameras are refused with the rate needed."""
    times = np.arange(int(rate) + 1) / rate
    with pytest.raises(ValueError, match=f"at least {needed} Hz") if needed else nullcontext():
        run = free_forces(RecordedBase(whisk(times), rate, sway(times)))
        moment = np.interp(run.time, TIMES[true[1]], true[0][:, 0])
        assert np.abs(run["base_wrench"][:, 0] - moment).max() < 0.03 * np.abs(moment).max()


DEGREES, PIXEL = 180 / np.pi, {"microns_per_pixel": 50, "y_down": True}
TABLES = [
    ("time,angle,x", (1, DEGREES, 1), {}, "degrees"),
    ("time,angle,x", (1, 1, 1e3), {}, "mm"),
    ("time,angle,x", (1e3, 1, 1), {}, "ms"),
    ("time,angle,x", (1, 1, 1), {"angle_unit": "deg"}, "likely rad"),
    ("time,angle,x_px", (1, 1, 2e4), {}, "microns_per_pixel"),
    ("time,angle_deg,x", (1, DEGREES, 1), {"angle_unit": "rad"}, "angle_unit"),
    ("phi,time,x", (1, 1, 1), {}, "angle"),
    ("Time_ms,angle_deg,x (mm)", (1e3, DEGREES, 1e3), {"rate": RATE}, ""),
    ("t,theta,x", (1, -DEGREES, 2e4), {"angle_unit": "deg"} | PIXEL, ""),
]


@pytest.mark.parametrize(("head", "scale", "hints", "refused"), TABLES)
def test_units_of_tables(tmp_path, head, scale, hints, refused):
    """Times, which have gaps and are not even, angles and positions."""
    times = np.delete(TIMES + 1e-4 * np.sin(TIMES), [200, 201])
    rows = np.stack([times, whisk(times), sway(times)], 1) * scale
    np.savetxt(tmp_path / "base.csv", rows, "%.12g", ",", header=head, comments="")
    with pytest.raises(ValueError, match=rf"base\.csv.*{refused}") if refused else nullcontext():
        place = RecordedBase.read(tmp_path / "base.csv", **hints)._motion(TIMES)
        np.testing.assert_allclose(place[:, :2], np.stack([whisk(TIMES), sway(TIMES)], 1), atol=2e-3)


@pytest.mark.parametrize("name", ["a.measurements", "a.whiskers"])
def test_files_of_whisk_are_read(tmp_path, name):
    write_whisk(tmp_path / name, 2)
    with pytest.raises(ValueError, match="whisker must be one of"):
        RecordedBase.read(tmp_path / name, rate=RATE, microns_per_pixel=50.0)
    base = RecordedBase.read(tmp_path / name, rate=RATE, microns_per_pixel=50.0, whisker=1)
    place = base.repeated(0)._motion(TIMES)
    np.testing.assert_allclose(place[:, 0], whisk(TIMES) + 0.1, atol=1e-4)
    np.testing.assert_allclose(np.diff(place[:, 1]), np.diff(sway(TIMES)), atol=1e-7)


def test_errors_of_a_recording_with_gaps_are_those_of_its_measured_frames():
    noise = 2e-3 * np.random.default_rng(0).standard_normal(len(TIMES))
    lost = np.isin(np.arange(len(TIMES)) % 50, (20, 21, 22))
    bases = [RecordedBase(np.where(gaps, np.nan, whisk(TIMES) + noise), RATE) for gaps in (False & lost, lost)]
    assert bases[0].noise["angle"] == pytest.approx(bases[1].noise["angle"], rel=0.1)
    errors = [np.std(base.repeated(0)._motion(TIMES)[lost, 0] - base._motion(TIMES)[lost, 0]) for base in bases]
    assert errors[1] > 1.2 * errors[0]


def test_a_part_of_a_recording(tmp_path):
    np.savetxt(tmp_path / "base.csv", lost(0.4, 0.5), "%.12g", header="angle", comments="")
    with pytest.raises(ValueError, match=r"frame 200 to 249: leave it out with --to 0.398 or --from 0.5"):
        RecordedBase.read(tmp_path / "base.csv", rate=RATE)
    for start, stop, first, duration in ((None, 0.398, 0, 0.398), (0.5, None, 250, 0.5)):
        base = RecordedBase.read(tmp_path / "base.csv", rate=RATE, start=start, stop=stop)
        assert base.first == first and base.duration == pytest.approx(duration)


def test_gaps_at_the_start_are_left_out():
    base = RecordedBase(np.where(TIMES < 0.06, np.nan, whisk(TIMES)), RATE)
    assert base.first == 30 and free_forces(base).time[0] == pytest.approx(0.162)


def lost(start, stop):
    frames = np.arange(len(TIMES))
    return np.where((start * RATE <= frames) & (frames < stop * RATE), np.nan, whisk(TIMES))


WRONG = [("angle", np.zeros(100)), ("angle", np.full(501, np.inf)), ("x", np.zeros(500)), ("rate", 0.0)]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [(*each, each[0]) for each in WRONG]
    + [
        ("angle", lost(0.2, 0.22), "at most 3 frames, got one from frame 100 to 109"),
        ("angle", lost(0.2, 0.7), "from frame 100 to 349: leave it out with --to 0.198 or --from 0.7"),
    ],
)
def test_wrong_recordings_are_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        RecordedBase(**{"angle": whisk(TIMES), "rate": RATE} | {name: value})
