"""Kymograms of worms: tangents and files to joint angles, gaps, other rates and numbers of joints."""

import gymnasium
import numpy as np
import pytest

from gymnosoma.envs import simulate
from gymnosoma.envs.worm import SineKymogram, Worm, WormParams, load_kymogram
from gymnosoma.recordings import Kymogram


def test_tangents_of_a_simulated_worm_give_its_joints_back():
    run = simulate(Worm(WormParams.in_medium(1.0)), SineKymogram.for_medium(1.0, ramp=0.0), 3.0, every=0.05)
    turns = (run["rod_angle"] + np.pi) % (2 * np.pi) - np.pi
    kymogram = Kymogram.from_tangents(turns, 20.0)
    np.testing.assert_allclose(kymogram.angles, run["joint_angle"], atol=1e-9)
    angles = kymogram.resampled(32.0).angles
    env = gymnasium.make("gymnosoma/WormFollow-v0", kymogram=angles)
    assert (env.unwrapped.task.reference().angles == angles).all()


@pytest.mark.parametrize("n", [12, 60])
def test_any_number_of_joints(n):
    """Midlines bent as 1.2 cos(2 pi s): joints are differences of the mean direction of neighbouring rods."""
    turn = 1.2

    def joints(count):
        ends = np.linspace(0.0, 1.0, count + 2)
        mean = turn * np.diff(np.sin(2 * np.pi * ends)) / (2 * np.pi) * (count + 1)
        return np.diff(mean)[None]

    tangents = turn * np.cos(2 * np.pi * (np.arange(400) + 0.5) / 400)[None]
    most = np.abs(joints(n)).max()
    assert np.abs(Kymogram.from_tangents(tangents, 1.0, n_joints=n).angles - joints(n)).max() < 0.02 * most
    again = Kymogram(joints(24), 1.0).resampled(n_joints=n).angles
    assert again.shape == (1, n) and np.abs(again - joints(n)).max() < 0.05 * most
    assert (Kymogram(joints(24), 1.0).resampled(n_joints=24).angles == joints(24)).all()


def test_resampling_in_time():
    line = Kymogram(np.linspace(0.0, 1.0, 31)[:, None] * [1.0, -2.0, 3.0], 30.0)
    new = line.resampled(32.0)
    assert new.angles.shape == (33, 3) and new.rate == 32.0 and new.duration == line.duration == 1.0
    np.testing.assert_allclose(new.angles, np.linspace(0.0, 1.0, 33)[:, None] * [1.0, -2.0, 3.0], atol=1e-12)
    np.testing.assert_allclose(line.resampled(15.0).angles, line.angles[::2], atol=1e-12)
    gap = line.angles.copy()
    gap[10] = np.nan
    assert np.flatnonzero(np.isnan(Kymogram(gap, 30.0).resampled(60.0).angles[:, 0])).tolist() == [19, 20, 21]


def test_gaps():
    """Of one and two frames they are filled; longer ones and those at the ends are refused, and can be left out."""
    whole = np.linspace(0.0, 1.0, 40)[:, None] * [1.0, -2.0, 3.0]
    angles = whole.copy()
    angles[[3, 7, 8]] = np.nan
    angles[20, 1] = np.nan
    np.testing.assert_allclose(Kymogram(angles, 32.0).filled().angles, whole, atol=1e-12)
    angles[25:28] = np.nan
    gap = Kymogram(angles, 32.0)
    np.testing.assert_allclose(gap.filled(3).angles, whole, atol=1e-12)
    np.testing.assert_allclose(gap.part(0, 25).filled().angles, whole[:25], atol=1e-12)
    for wrong in (gap.filled, gap.playback, gap.part(8, 24).filled):
        with pytest.raises(ValueError, match="gaps"):
            wrong()


def test_a_file_of_another_program(tmp_path):
    path = tmp_path / "worm.csv"
    rows = [
        "frame;time;a1;a2;a3  # degrees of freedom",
        "0;0.00;0.1;0.2;0.3",
        "",
        "1;0.04;;NaN;NA",
        "2;0.08;0.3;0.4;0.5",
    ]
    path.write_text("\ufeff" + "\n".join(rows), encoding="utf-8")
    kymogram = Kymogram.read(path)
    assert kymogram.rate == pytest.approx(25.0)
    np.testing.assert_array_equal(kymogram.angles, [[0.1, 0.2, 0.3], [np.nan] * 3, [0.3, 0.4, 0.5]])
    np.save(tmp_path / "tangents.npy", np.tile(np.linspace(0.0, 1.0, 100), (5, 1)))
    arc = Kymogram.read(tmp_path / "tangents.npy", rate=30.0, kind="tangents")
    np.testing.assert_allclose(arc.angles, 100 / 99 / 25, atol=1e-12)  # a circular arc
    np.save(tmp_path / "turn.npy", load_kymogram("omega_turn"))
    assert (Kymogram.read(tmp_path / "turn.npy", rate=32.0).angles == load_kymogram("omega_turn")).all()
