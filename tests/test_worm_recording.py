"""Recordings of worms: midlines, tangents and files to joint angles, gaps, resampling, and the wave in them."""

import gymnasium
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from gymnosoma.envs import simulate
from gymnosoma.envs.worm import Kymogram, SineKymogram, Worm, WormParams, load_kymogram
from gymnosoma.envs.worm.analysis import fit_wave


@pytest.fixture(scope="module")
def crawl():
    """A worm on agar: the ends of its rods (N, 26, 2), its joint angles and its headings, 20 times a second."""
    run = simulate(Worm(WormParams.in_medium(1.0)), SineKymogram.for_medium(1.0, ramp=0.0), 3.0, every=0.05)
    angle = run["rod_angle"]
    rods = 1e-3 / 25 * np.stack([np.cos(angle), np.sin(angle)], -1)
    points = run["head"][:, None] + np.pad(np.cumsum(rods, 1), ((0, 0), (1, 0), (0, 0)))
    return points, run["joint_angle"], angle


def test_midlines_and_tangents_of_a_simulated_worm_give_its_joints_back(crawl):
    points, joints, headings = crawl
    np.testing.assert_allclose(Kymogram.from_midlines(points, order=None).angles, joints, atol=1e-9)
    mirrored = Kymogram.from_midlines(points * [1, -1], y_down=True, order=None)
    np.testing.assert_allclose(mirrored.angles, joints, atol=1e-9)
    turns = (headings + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose(Kymogram.from_tangents(turns).angles, joints, atol=1e-9)


def test_a_smooth_midline_gives_the_joints_within_the_discretisation(crawl):
    """Of 49 points, uneven, on a smooth line through the joints, as Tierpsy has them; in pixels."""
    points, joints, _ = crawl
    place = np.linspace(0.0, 1.0, 49) ** 1.1
    lines = 1e6 / 5 * np.array([CubicSpline(np.linspace(0.0, 1.0, 26), line)(place) for line in points])
    error = Kymogram.from_midlines(lines, order=None).angles - joints
    assert np.sqrt(np.mean(error**2)) < 0.01 < 0.03 * np.ptp(joints)  # measured


@pytest.mark.parametrize("n", [12, 24, 60])
def test_any_number_of_joints(n):
    """Midlines bent as 1.2 cos(2 pi s): joints are differences of the mean direction of neighbouring rods."""
    turn = 1.2

    def joints(count):
        ends = np.linspace(0.0, 1.0, count + 2)
        mean = turn * np.diff(np.sin(2 * np.pi * ends)) / (2 * np.pi) * (count + 1)
        return np.diff(mean)[None]

    fine = (np.arange(400) + 0.5) / 400
    tangents = turn * np.cos(2 * np.pi * fine)[None]
    line = np.pad(np.cumsum(np.stack([np.cos(tangents), np.sin(tangents)], -1), 1), ((0, 0), (1, 0), (0, 0)))
    most = np.abs(joints(n)).max()
    assert np.abs(Kymogram.from_tangents(tangents, n_joints=n).angles - joints(n)).max() < 0.02 * most
    assert np.abs(Kymogram.from_midlines(line, n_joints=n).angles - joints(n)).max() < 0.03 * most
    again = Kymogram(joints(24)).resampled(n_joints=n).angles
    assert again.shape == (1, n) and np.abs(again - joints(n)).max() < 0.05 * most
    assert (Kymogram(joints(24)).resampled(n_joints=24).angles == joints(24)).all()


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
    """Of one and two frames they are filled; of three they are refused, kept, or what lies beside them is cut."""
    whole = np.linspace(0.0, 1.0, 40)[:, None] * [1.0, -2.0, 3.0]
    angles = whole.copy()
    angles[[3, 7, 8]] = np.nan
    angles[20, 1] = np.nan
    filled = Kymogram(angles).filled()
    np.testing.assert_allclose(filled.angles, whole, atol=1e-12)
    assert filled.notes == ("3 gaps of at most 2 frames filled, 4 frames in all",)
    angles[25:28] = np.nan
    with pytest.raises(ValueError, match="got 2 and a gap of 3 frames from frame 25; longer='keep' or 'cut' allow it"):
        Kymogram(angles).filled()
    kept = Kymogram(angles).filled(longer="keep")
    assert np.flatnonzero(np.isnan(kept.angles).any(1)).tolist() == [25, 26, 27]
    assert kept.notes[-1] == "1 gap kept, the longest of 3 frames"
    cut = Kymogram(angles).filled(longer="cut")
    np.testing.assert_allclose(cut.angles, whole[:25], atol=1e-12)
    assert cut.notes[-1] == "frames 0 to 24 of 40 kept, between gaps that are longer"
    np.testing.assert_allclose(Kymogram(angles).filled(3).angles, whole, atol=1e-12)
    with pytest.raises(ValueError, match="angles must have no gaps to be played, got 9 angles missing in 3 frames"):
        kept.playback()
    angles[0] = np.nan
    with pytest.raises(ValueError, match="a gap of 3 frames from frame 25"):
        Kymogram(angles).filled()
    with pytest.raises(ValueError, match="a gap of 1 frame from frame 0, which is at an end"):
        Kymogram(np.concatenate([angles[:1], whole])).filled()


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
    assert kymogram.report.splitlines() == [
        "worm.csv: 3 frames of 5 columns",
        "a header: 'frame, time, a1, a2, a3'",
        "column 1, 'frame', holds no angles",
        "column 2, 'time', holds no angles",
        "25 Hz by these times",
        "3 cells without a number, in 1 frame",
    ]
    wide = Kymogram.read(path, n_joints=24).filled()
    assert wide.angles.shape == (3, 24) and wide.notes[-2] == "3 joints to 24"
    np.save(tmp_path / "tangents.npy", np.tile(np.linspace(0.0, 1.0, 100), (5, 1)))
    arc = Kymogram.read(tmp_path / "tangents.npy", rate=30.0, kind="tangents")
    np.testing.assert_allclose(arc.angles, 100 / 99 / 25, atol=1e-12)  # a circular arc
    np.save(tmp_path / "tangents.npy", load_kymogram("omega_turn"))
    assert (Kymogram.read(tmp_path / "tangents.npy").angles == load_kymogram("omega_turn")).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n0.1,0.2\n0.3,x\n", "row 3, column 2 must be a number or a gap, got 'x'"),
        ("a,b\n0.1,0.2\n0.3\n", "row 3 has 1 column, those before have 2"),
        ("a,b,c\n0.1,0.2\n", "row 2 has 2 columns, those before have 3"),
        ("a,b\n", "must hold a matrix of numbers"),
        ("0.1\n0.2\n", "at least 2 joints, got shape"),
        ("0.1,inf\n0.1,inf\n", "row 2, column 2 must be a number or a gap, got 'inf'"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, text, message):
    path = tmp_path / "worm.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"worm.csv' cannot be read: .*{message}"):
        Kymogram.read(path)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Kymogram(np.zeros(24)), "angles must be a matrix"),
        (lambda: Kymogram([["0.1", "0.2"]]), "angles must hold numbers, or NaN"),
        (lambda: Kymogram(np.full((3, 24), np.inf)), "angles must be finite, or NaN"),
        (lambda: Kymogram(np.zeros((3, 24)), 0.0), "rate must be"),
        (lambda: Kymogram(np.zeros((3, 24))).part(0, 4), "stop must be an integer from 1 to 3"),
        (lambda: Kymogram(np.zeros((3, 24))).filled(longer="drop"), "longer must be one of refuse, keep, cut"),
        (lambda: Kymogram(np.full((3, 24), np.nan)).filled(longer="cut"), "longer must be 'keep' where every frame"),
        (lambda: Kymogram.from_midlines(np.zeros((3, 49))), "midlines must have shape"),
        (lambda: Kymogram.from_midlines(np.zeros((3, 49, 2))), "midlines: that of frame 0 has no length"),
        (lambda: Kymogram.from_tangents(np.zeros((3, 2))), "tangents must have shape"),
        (lambda: Kymogram.read("worm.mat"), "'worm.mat' cannot be read: it is no .npy, .csv, .tsv or .txt file"),
        (lambda: fit_wave(np.zeros((9, 24))), "joint_angle must hold different numbers"),
        (lambda: fit_wave(np.zeros((9, 2))), "joint_angle must be a finite matrix of at least 4 frames of 3 joints"),
    ],
)
def test_wrong_recordings_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


@pytest.mark.parametrize(("nu", "period"), [(1.832, 1.6), (0.667, 0.4), (1.832, -1.6)])
def test_the_papers_wave_is_found_in_noise_and_gaps(nu, period):
    """A = 0.6, nu, T of Fig. 2, after noise of 0.15 rad, a tenth of the frames lost and a gap of 20."""
    rng = np.random.default_rng(0)
    sine = SineKymogram(0.6, nu, period, bias=0.05, ramp=0.0)
    angles = np.array([sine(k / 32) for k in range(240)]) + 0.15 * rng.standard_normal((240, 24))
    angles[rng.random(240) < 0.1] = np.nan
    angles[40:60] = np.nan
    fit = fit_wave(angles)
    np.testing.assert_allclose(fit[:4], [0.6, nu, period, 0.05], rtol=0.01, atol=5e-3)
    assert abs(fit.phase) < 0.02
    assert fit.explained == pytest.approx(0.18 / (0.18 + 0.15**2), abs=0.01)


def test_a_recording_is_the_reference_of_a_task(crawl):
    points, *_ = crawl
    kymogram = Kymogram.from_midlines(points, rate=20.0).resampled(32.0)
    env = gymnasium.make("gymnosoma/WormFollow-v0", kymogram=kymogram.angles)
    assert (env.unwrapped.task.reference().angles == kymogram.angles).all()
