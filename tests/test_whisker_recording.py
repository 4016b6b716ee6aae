"""Forces of a recorded vibrissa in free air."""

import numpy as np
import pytest

from gymnosoma.envs import simulate
from gymnosoma.envs.whisker_chain import Whisker, follow
from gymnosoma.recordings import RecordedBase, free_forces

RATE = 500.0
TIMES = np.arange(501) / RATE


def whisk(t):
    """8 Hz and its harmonic, swelling."""
    return 0.35 * np.sin(2 * np.pi * 8 * t) * (1 + 0.2 * np.sin(2 * np.pi * 1.3 * t)) + 0.05 * np.sin(
        32 * np.pi * t + 1
    )


def sway(t):
    return 1e-3 * np.sin(2 * np.pi * 8 * t)


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


def test_frames_that_were_lost_are_bridged(true):
    wrench, _ = true
    noise = np.random.default_rng(0).standard_normal((2, len(TIMES)))
    angle = whisk(TIMES) + 2e-3 * noise[0]
    angle[np.random.default_rng(1).random(len(angle)) < 0.05] = np.nan
    found = free_forces(RecordedBase(angle, RATE, sway(TIMES)))["base_wrench"]
    assert np.sqrt(np.mean((found[:, 2] - wrench[:, 2]) ** 2) / np.mean(wrench[:, 2] ** 2)) < 0.08


def test_a_table_is_read(tmp_path):
    rows = np.stack([TIMES, sway(TIMES), whisk(TIMES)], 1)
    np.savetxt(tmp_path / "base.csv", rows, "%.12g", ",", header="Time,x,angle", comments="")
    read = RecordedBase.read(tmp_path / "base.csv")
    assert read.rate == pytest.approx(RATE) and read.duration == pytest.approx(1.0)
    made = RecordedBase(whisk(TIMES), RATE, sway(TIMES))
    np.testing.assert_allclose(read.at(TIMES), made.at(TIMES), atol=1e-3 * np.abs(made.at(TIMES)).max())
    for text in ("phi\n1\n", "angle\n1\n2\n", "angle,x\n1\n2\n", "angle,time\n1,0\n2,1\n3,3\n"):
        (tmp_path / "wrong.csv").write_text(text)
        with pytest.raises(ValueError, match=r"wrong\.csv"):
            RecordedBase.read(tmp_path / "wrong.csv")


@pytest.mark.parametrize(
    "how", [{"angle": np.zeros(100)}, {"angle": np.full(501, np.inf)}, {"x": np.zeros(500)}, {"rate": 0.0}]
)
def test_wrong_recordings_are_refused(how):
    with pytest.raises(ValueError, match=next(iter(how))):
        RecordedBase(**{"angle": whisk(TIMES), "rate": RATE} | how)
