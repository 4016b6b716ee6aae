"""The medium, the forces and the drive of recorded worms, from their midlines."""

import tracemalloc
from dataclasses import replace
from itertools import pairwise

import gymnasium
import numpy as np
import pytest
from recorded import RATE, joints, seen, worms
from scipy.interpolate import CubicSpline

from gymnosoma.envs import simulate
from gymnosoma.envs.worm import SineKymogram, Worm, WormParams, load_kymogram, medium
from gymnosoma.recordings import Midlines, Motion, fit_medium, forces
from gymnosoma.recordings.body import Body
from gymnosoma.recordings.medium import _Windows, ratio_of, sigma_of
from gymnosoma.recordings.motion import FINER, _elsewhere
from papers.worm.analysis import bend_force, force_map
from papers.worm.playback import play


def clean(angle, centre, rate=RATE):
    """Motion of a chain as it is, without a camera."""
    frames = np.arange(len(angle))
    moments = np.arange(FINER * (len(angle) - 1) + 1) / FINER
    splines = [CubicSpline(frames, each)(moments) for each in (angle, centre)]
    return Motion(
        moments / rate, *splines, 1e-3, rate, measured=np.ones(len(angle), bool), places=np.linspace(0, 1, 49)
    )


def motions(sigma, count, seconds=10.0, seed=0, **how):
    """What a camera sees of worms in a medium, smoothed."""
    runs, first = worms(sigma, count, seconds, seed=seed)
    rng = np.random.default_rng(seed)
    return [Midlines.from_array(seen(joints(run, first), rng, **how), RATE).smoothed() for run in runs]


@pytest.mark.parametrize("sigma", [0.0, 0.5, 1.0])
def test_a_clean_chain_gives_its_medium_back(sigma):
    """Of three worms; of twelve, and at 0.2 and 0.8, it was the same to four digits."""
    runs, first = worms(sigma, 3, 6.0)
    for run in runs:
        found = _Windows(clean(run["rod_angle"][first:], run["centre"][first:]), 1.0).fit()
        assert found == pytest.approx(sigma, abs=2e-3)


def test_a_recorded_turn_gives_the_medium_in_which_it_is_played():
    """The omega turn on agar / 100, sigma 1, and in a medium between: its windows of 10 s, not corrected."""
    angles = load_kymogram("omega_turn")[:320]
    for sigma, limit in ((1.0, 0.01), (0.5, 0.01)):
        run = play(Worm(), angles, medium(sigma, 0.01))
        found = _Windows(clean(run["rod_angle"][:, 0], run["centre"][:, 0], 32.0), 1.0).fit()
        assert found == pytest.approx(sigma, abs=limit)


@pytest.mark.full
@pytest.mark.parametrize(("sigma", "group", "each"), [(0.0, 0.01, 0.02), (1.0, 0.02, 0.05)])
def test_a_group_of_worms_gives_its_medium(sigma, group, each):
    """Five worms of 10 s at 2 um, tips cut by 10 um, a frame of twenty and ten in a row lost."""
    fit = fit_medium(motions(sigma, 5))
    assert fit.sigma == pytest.approx(sigma, abs=group)
    assert fit.interval[0] <= sigma <= fit.interval[1]
    assert fit.ratio == pytest.approx(1.5 * (40 / 1.5) ** fit.sigma) and sigma_of(fit.ratio) == pytest.approx(fit.sigma)
    for worm in fit.per_worm:
        assert worm.sigma == pytest.approx(sigma, abs=each)
        assert worm.windows >= 6 and worm.residual < 20e-6


def recorded(
    sigma,
    count,
    seed,
    rate=RATE,
    points=49,
    stays=0,
    along=0,
    noise=2e-6,
    tail=0,
    drift=0,
    half=0,
    jumps=0,
    scale=1.0,
    seconds=10.0,
    lost=(),
):
    """Motions of worms; noise is ``stays`` of that a frame before, ``along`` of that a point before.

    The ``tail`` (share) is never seen, water drifts (m/s), in ``half`` frames one half of the worm is seen, and in
    ``jumps`` frames it is 0.2 mm away. From and to the times ``lost`` (s), no worm is seen.
    """
    runs, first = worms(sigma, count, seconds, rate, seed)
    rng = np.random.default_rng(seed)
    found = []
    for run in runs:
        lines = seen(joints(run, first), rng, points, noise=0.0, tail=tail, half=half)
        white = rng.normal(0.0, noise, lines.shape)
        for each, share in ((white, stays), (np.swapaxes(white, 0, 1), along)):
            for before, now in pairwise(each):
                now *= np.sqrt(1 - share**2)
                now += share * before
        flow = np.arange(len(lines))[:, None, None] / rate * drift * np.array([0.6, 0.8])
        lines[25::25][:jumps] += 0.2e-3
        for start, stop in lost:
            lines[round(rate * start) : round(rate * stop)] = np.nan
        found.append(Midlines.from_array(lines + white + flow, rate, scale=scale).smoothed())
    return found


@pytest.mark.full
def test_noise_that_stays_for_several_frames_is_seen_and_taken_off():
    found = recorded(0.5, 3, 9, stays=0.7)
    assert [each.persistence for each in found] == pytest.approx([0.7] * 3, abs=0.04)
    fit = fit_medium(found)
    assert fit.interval[0] <= 0.5 <= fit.interval[1] and fit.sigma == pytest.approx(0.5, abs=5e-3)


def test_a_line_has_a_positive_length_even_if_the_first_guess_points_backwards():
    body = Body(places := np.linspace(0.0, 1.0, 13), 6, 25)
    line = 1e-3 * np.stack([places, 0.2 * places**2], 1)[None]
    usual, _ = body.fit(line, start := body.start(line), 1e-6, 8)
    other, _ = body.fit(line, start + np.pi * (np.arange(10) == 0), 1e-6, 8)
    np.testing.assert_allclose(other[0, 1:], usual[0, 1:], rtol=1e-4, atol=1e-6)
    assert np.cos(other[0, 0] - usual[0, 0]) == pytest.approx(1.0)


def test_frames_elsewhere_are_rejected_alone():
    """Before a lost frame, and two in a row on different sides."""
    place = 0.2e-3 * np.isin(np.arange(40), (20, 30)) - 0.2e-3 * (np.arange(40) == 31)
    centre, frames = np.stack([5e-6 * np.arange(40), place], 1), np.delete(np.arange(41), 21)
    assert np.flatnonzero(_elsewhere(centre, frames, 1e-3)).tolist() == [20, 30, 31]


@pytest.fixture(scope="module", params=[0.1, 0.65])
def longer(request):
    """What a tracker makes of a swimmer or a crawler in 30 s (751, 49, 2) m, its medium, and its motion."""
    (run,), first = worms(request.param, 1, 30.0, 25.0, seed=4)
    lines = seen(joints(run, first), np.random.default_rng(4), drops=0, gap=0)
    return lines, request.param, Midlines.from_array(lines, 25.0).smoothed()


@pytest.mark.parametrize("name", ["1 s", "10 s", "1 and 4 s", "1, 3 and 10 s"])
def test_a_worm_that_is_lost_for_seconds(longer, name):
    """Length, period and medium are those of the recording without gaps."""
    lines, sigma, usual = longer
    lines = lines.copy()
    for start, stop in LOST[name]:
        lines[25 * start : 25 * stop] = np.nan
    motion = Midlines.from_array(lines, 25.0).smoothed()
    assert motion.length == pytest.approx(usual.length, rel=2e-3)
    assert motion.period == pytest.approx(usual.period, rel=0.05)
    assert (motion.noise, motion.jitter) == pytest.approx((usual.noise, usual.jitter), rel=0.1)
    assert len(motion.gaps) == len(LOST[name])
    edge = motion.reliable & (np.abs(np.subtract.outer(motion.time, np.ravel(LOST[name]))).min(1) > 0.2)
    np.testing.assert_allclose(motion.joint_angle[edge], usual.joint_angle[edge], atol=0.1)
    fit = fit_medium(motion, repeats=4)
    assert fit.interval[0] <= sigma <= fit.interval[1] and np.diff(fit.interval) < 0.06
    out = forces(motion, fit)
    start, stop = (4 * 25 * second for second in LOST[name][0])
    ways = [np.hypot(*(centre[stop] - centre[start])) for centre in (out["refit_centre"], motion.centre)]
    assert ways[0] == pytest.approx(ways[1], abs=20e-6)


def test_a_worm_that_turns_round_while_it_is_lost_keeps_its_head(longer):
    lines, _, usual = longer
    turned = 2.0 * lines[300].mean(0) - lines[300:]
    lines = np.concatenate([lines[:300], np.full((100, 49, 2), np.nan), turned])
    motion = Midlines.from_array(lines, 25.0).smoothed()
    assert "changed places" not in motion.report and "lost from 12 to 16 s" in motion.report
    np.testing.assert_allclose(motion.joint_angle[1620:], usual.joint_angle[1220:], atol=0.1)


def test_frames_far_from_the_others_and_alone_are_named(longer):
    lines, _, usual = longer
    far = lines.copy()
    far[250:300] = np.nan
    far[300:] += 0.1
    with pytest.raises(ValueError, match=r"250 are elsewhere; frames 0 to 249 \(0 to 9.96 s\) are far"):
        Midlines.from_array(far, 25.0).smoothed()
    alone = np.concatenate([lines, np.full((2000, 49, 2), np.nan), lines[-1:]])
    motion = Midlines.from_array(alone, 25.0).smoothed()
    np.testing.assert_array_equal(motion.rod_angle, usual.rod_angle)
    assert "fewer than 8 between long gaps: 1" in motion.report
    lines = np.where((np.arange(751) % 40 < 7)[:, None, None], lines, np.nan)
    with pytest.raises(ValueError, match="at least 8 frames without a gap of more than 1 s"):
        Midlines.from_array(lines, 25.0).smoothed()


def test_what_a_tracker_misses_is_found():
    """Half a worm in three frames; a tail that is 3% short, in water that drifts by 5 um/s; few points."""
    (usual,) = recorded(0.5, 1, 1)
    (halves,) = recorded(0.5, 1, 1, half=3)
    (far,) = recorded(0.5, 1, 1, tail=0.03, drift=5e-6, points=13)
    assert "have another length" in halves.report and "rejected" not in usual.report
    for motion, tail, drift in ((usual, 0.0, 0.0), (halves, 0.0, 0.0), (far, 0.03, 5e-6)):
        fit = fit_medium(motion)
        assert fit.sigma == pytest.approx(0.5, abs=0.02) and fit.interval[0] <= 0.5 <= fit.interval[1]
        assert fit.per_worm[0].tips[1] - 0.008 == pytest.approx(tail, abs=0.012)
        assert np.hypot(*fit.per_worm[0].drift) == pytest.approx(drift, abs=1.5e-6)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"rate": 6.0}, "record with at least"),
        ({"half": 90}, "usable in 80% of the frames"),
        ({"scale": 10.0}, "10 times too far apart"),
        ({"scale": 1e-3}, "1000 times too close together"),
        ({"scale": 1e6}, "in um, not in m, 1e.06 times too far apart: pass scale=1e-06"),
        ({"scale": 4.0}, "a worm's length"),
    ],
)
def test_what_is_not_a_worm_or_not_seen_is_refused(how, message):
    with pytest.raises(ValueError, match=message):
        recorded(0.1, 1, 0, **how)


def test_a_swimmer_with_inertia_is_refused():
    """A fish of 1 mm beats 20 times a second."""
    run = simulate(Worm(dt=1 / 400), SineKymogram(period=0.05, ramp=0.0), 2.0, every=1 / 400)
    with pytest.raises(ValueError, match="inertia"):
        Midlines.from_array(joints(run), 400.0).smoothed()


@pytest.mark.slow
def test_half_an_hour_is_fitted_in_pieces():
    (run,), first = worms(0.65, 1, 400.0, 25.0)
    lines = seen(joints(run, first), np.random.default_rng(0))
    tracemalloc.start()
    fit = fit_medium(Midlines.from_array(lines, 25.0).smoothed())
    assert tracemalloc.get_traced_memory()[1] < 10e3 * len(lines)  # B; 45,000 frames are half an hour
    tracemalloc.stop()
    assert fit.sigma == pytest.approx(0.65, abs=0.01) and fit.per_worm[0].windows > 300


CAMERAS = {
    "half a worm": {"half": 3},
    "jumps": {"jumps": 3},
    "short tail": {"tail": 0.03},
    "drift": {"drift": 5e-6},
    "20 um": {"noise": 20e-6},
    "10 Hz": {"rate": 10.0},
    "15 Hz": {"rate": 15.0},
    "60 Hz": {"rate": 60.0},
} | {f"{points} points": {"points": points} for points in (9, 11, 13, 17, 25, 33, 49)}
"""Faults, rates and points of cameras and trackers."""


@pytest.mark.slow
@pytest.mark.parametrize("camera", CAMERAS)
def test_intervals_hold(camera):
    """In at least 5 of 6 groups of two worms, two in each medium; none is refused."""
    media = 3 * (0.1,) if camera == "20 um" else (0.1, 0.65, 0.9)
    groups, alone, halves = 0, 0, []
    for seed, sigma in enumerate(2 * media):
        fit = fit_medium(recorded(sigma, 2, seed, stays=0.5, along=0.5, **CAMERAS[camera]))
        groups += fit.interval[0] <= sigma <= fit.interval[1]
        alone += sum(worm.interval[0] <= sigma <= worm.interval[1] for worm in fit.per_worm)
        halves.append(0.5 * np.diff(fit.interval).item())
    print(f"{camera}: {groups} of 6 groups, {alone} of 12 worms; half width {np.median(halves):.3f}")
    assert groups >= 5 and alone >= 10 and np.median(halves) <= 0.05


LOST = {
    "1 s": ((8, 9),),
    "3 s": ((9, 12),),
    "10 s": ((12, 22),),
    "1 and 4 s": ((6, 7), (18, 22)),
    "3 times 2 s": ((5, 7), (13, 15), (21, 23)),
    "1, 3 and 10 s": ((5, 6), (10, 13), (17, 27)),
}
"""Times (s) at which a worm is lost, in recordings of 30 s."""


@pytest.mark.slow
def test_intervals_hold_for_lost_worms():
    """In at least 22 of 24 recordings of one worm each, of four media; lengths and periods are those of no gap."""
    hold, offs = 0, []
    for seed, (name, lost) in enumerate(LOST.items()):
        for sigma in (0.1, 0.35, 0.65, 0.9):
            how = {"seconds": 30.0, "stays": 0.5, "along": 0.5, "rate": 25.0}
            (usual,), (motion,) = (recorded(sigma, 1, 8300 + seed, **how, lost=gaps) for gaps in ((), lost))
            fit = fit_medium(motion)
            low, high = fit.interval
            hold += low <= sigma <= high
            offs.append((motion.length / usual.length - 1.0, motion.period / usual.period - 1.0))
            told = f"{fit.sigma:.3f} | {low:.3f} to {high:.3f} | {'yes' if low <= sigma <= high else 'no'}"
            print(f"| {name} | {sigma} | {told} | {offs[-1][0]:+.2%} | {offs[-1][1]:+.1%} |")
    assert hold >= 22 and np.abs(offs).max(0)[0] < 5e-3 and np.abs(offs).max(0)[1] < 0.05


def test_a_worm_alone_and_what_the_ratio_does_not_depend_on():
    """Scale, rate with the window, axes, ends, and the order in which nothing is drawn."""
    (run,), first = worms(0.5, 1, 5.0)
    lines = seen(joints(run, first), np.random.default_rng(0))

    def fit(lines, rate=RATE, window=1.0, **how):
        return fit_medium(Midlines.from_array(lines, rate, **how).smoothed(), repeats=2, window=window)

    usual = fit(lines)
    assert usual.sigma == pytest.approx(0.5, abs=0.03)
    assert usual.per_worm[0].interval == usual.interval
    assert fit(lines).sigma == usual.sigma
    for other in (
        fit(1.5 * lines),
        fit(lines, 2 * RATE, 0.5),
        fit(lines * [1, -1]),
        fit(lines * [1, -1], y_down=True),
    ):
        assert other.per_worm[0].windows == usual.per_worm[0].windows
        raw, was = other.sigma + other.bias, usual.sigma + usual.bias
        assert ratio_of(raw) == pytest.approx(ratio_of(was), rel=1e-6)
    assert fit(lines[:, ::-1]).sigma == pytest.approx(usual.sigma, abs=3e-3)


def test_beyond_agar_there_is_a_bound():
    """Where midlines cannot tell a ratio from 200, at least how much is told, and no number."""
    fit = fit_medium(motions(1.5, 1, 5.0), repeats=4)
    assert np.isnan(fit.sigma) and np.isnan(fit.ratio) and fit.interval[1] == fit.ratio_interval[1] == np.inf
    assert 0.9 < fit.interval[0] < 1.5
    assert "is at least" in fit.report


def test_what_does_not_tell_a_medium_is_refused():
    (run,), first = worms(1.0, 1, 4.0)
    motion = clean(run["rod_angle"][first:], run["centre"][first:])
    still = clean(np.tile(motion.rod_angle[:1], (121, 1)), np.tile(motion.centre[:1], (121, 1)))
    for wrong, options in (
        (still, {}),
        ([motion, still], {}),
        (run, {}),
        (motion, {"window": 2.0}),
    ):
        with pytest.raises(ValueError, match="must"):
            fit_medium(wrong, **options)


def test_a_model_that_does_not_hold_is_told():
    """A worm that is dragged along by 0.1 mm/s."""
    (run,), first = worms(0.5, 1, 6.0)
    drift = np.outer(np.arange(181) / RATE, [1e-4, 0.0])
    with pytest.raises(ValueError, match="does not explain"):
        fit_medium(clean(run["rod_angle"][first:], run["centre"][first:] + drift), repeats=2)


# Forces and the drive.


def test_any_stiffness_gives_the_same_midlines_with_another_drive():
    """What midlines cannot tell: kappa halved, doubled, c / kappa tripled, played again (measured 5e-5 rad, 0.4 um)."""
    worm = Worm(WormParams.in_medium(0.5), dt=1e-3)
    run = simulate(worm, SineKymogram.for_medium(0.5), 5.0, every=5e-3)
    motion = clean(run["rod_angle"][200:], run["centre"][200:], 200.0)
    usual = forces(motion, worm.params)
    for kappa, lag in ((0.5, 1.0), (2.0, 1.0), (1.0, 3.0)):
        params = replace(
            worm.params, stiffness=kappa * worm.params.stiffness, damping=lag * kappa * worm.params.damping
        )
        out = forces(motion, params)
        assert np.abs(out["control_angle"] - usual["control_angle"]).max() > 0.01
        np.testing.assert_allclose(out["friction_force"], usual["friction_force"], atol=1e-18)
        drive = CubicSpline(out.time, out["control_angle"])
        start = {name: out[name][0] for name in ("rod_angle", "rod_rate", "centre", "centre_velocity")}
        again = simulate(Worm(params, dt=1e-3), drive, 3.9, every=5e-3, start=start)
        assert np.abs(again["joint_angle"] - run["joint_angle"][200:981]).max() < 2e-4
        assert np.abs(again["centre"] - run["centre"][200:981]).max() < 1e-6


@pytest.mark.parametrize(
    ("sigma", "force", "drive"),
    [(0.0, 0.10, 0.25), (0.5, 0.20, 0.25), pytest.param(1.0, 0.5, 0.25, marks=pytest.mark.full)],
)
def test_forces_and_drive_of_a_worm(sigma, force, drive):
    """Of a clean chain, and of what a camera sees: relative error of the forces, rad of the drive, 6% of the power."""
    (run,), first = worms(sigma, 1, 10.0)
    params = run.animal.params
    motion = clean(run["rod_angle"][first:], run["centre"][first:])
    lines = seen(joints(run, first), np.random.default_rng(3))
    for seen_as, limits in ((motion, (0.03, 0.03)), (Midlines.from_array(lines, RATE).smoothed(), (force, drive))):
        out, known = forces(seen_as, params), seen_as.reliable[::FINER]
        known[:5] = known[-5:] = False

        def error(name, part, out=out, known=known):
            return (out[name][::FINER] - run[name][first:])[known][:, part]

        inside, every = slice(2, -2), slice(None)
        assert np.sqrt(np.mean(error("friction_force", every) ** 2)) < limits[0] * np.sqrt(
            np.mean(run["friction_force"][first:][known] ** 2)
        )
        assert np.sqrt(np.mean(error("control_angle", inside) ** 2)) < limits[1]
        assert out["power"][::FINER][known].mean() == pytest.approx(run["power"][first:][known].mean(), rel=0.06)
        scale = np.abs(out["friction_force"]).max()
        assert np.abs(out["friction_force"].sum(1)).max() < 1e-12 * scale
        np.testing.assert_allclose(out["joint_torque"], params.friction_perpendicular * out["torque_per_friction"])
    assert any("first and last" in note for note in out.notes)
    noted = any("slips by less than the noise" in note for note in out.notes)
    assert noted == (sigma == 1.0) and not any("slips" in note for note in forces(motion, params).notes)


def test_what_midlines_do_not_tell_is_refused():
    (run,), first = worms(0.5, 1, 5.0)
    motion = clean(run["rod_angle"][first:], run["centre"][first:])
    params = run.animal.params
    pair = (params.friction_perpendicular, params.friction_parallel)
    whole, known, ratio = forces(motion, params), forces(motion, pair), forces(motion, pair[0] / pair[1])
    for name in ("force_per_friction", "power_per_friction", "torque_per_friction", "refit_centre"):
        np.testing.assert_array_equal(ratio[name], whole[name])
    np.testing.assert_allclose(known["friction_force"], whole["friction_force"], atol=1e-20)
    np.testing.assert_allclose(known["power"], whole["power"])
    for name in ("friction_force", "power", "joint_torque"):
        with pytest.raises(ValueError, match="friction_perpendicular must be given"):
            ratio[name]
    for out in (ratio, known):
        assert "control_angle" not in out and "muscle_power" not in out
        with pytest.raises(ValueError, match="kappa must be given"):
            out.kymogram()
    for wrong in (
        WormParams(n_rods=13),
        (0.1, 0.0),
        0.0,
    ):
        with pytest.raises(ValueError, match="must"):
            forces(motion, wrong)


def test_the_fitted_worm_goes_on():
    """Its kymogram plays in `simulate` as it moved, and is what WormFollow follows."""
    (run,), first = worms(1.0, 1, 6.0)
    motion = Midlines.from_array(seen(joints(run, first), np.random.default_rng(0), gap=0), RATE).smoothed()
    kymogram = forces(motion, WormParams.in_medium(1.0)).kymogram()
    start = {"rod_angle": motion.rod_angle[0], "centre": motion.centre[0]}
    again = simulate(Worm(WormParams.in_medium(1.0, length=motion.length)), kymogram.playback(), 6.0, 1 / RATE, start)
    assert np.sqrt(np.mean((again["joint_angle"] - run["joint_angle"][first:]) ** 2)) < 0.08
    assert np.abs(again["centre"] - run["centre"][first:]).max() < 0.05e-3
    angles = np.clip(kymogram.resampled(32.0).angles, -1.1, 1.1)
    env = gymnasium.make("gymnosoma/WormFollow-v0", kymogram=angles)
    env.reset(seed=0)
    assert (env.unwrapped.task.reference().angles == angles).all()


TURNS = {
    "omega_turn": (359, slice(3, 15), (0, 202, 333, 407, 600), (3536, 1737), (2094, 16437, 11118, 5480)),
    "delta_turn": (194, slice(15, 25), (1, 49, 124, 130, 196, 300), (10497, 2677), (3514, 11176, 17544, 13046, 6429)),
}
"""Frame of the deep bend, its rods, where phases begin; printed friction (pN) there and elsewhere, powers (fW)."""


@pytest.mark.full
@pytest.mark.parametrize("name", TURNS)
def test_the_papers_turns_give_medium_and_forces_back(name):
    """On agar / 100, of clean shapes and through a camera; forces and powers as the paper has them, between frames.

    The print is of the paper's own time stepping, from which ours differs by up to 4.0% (friction) and 2.8% (power).
    """
    deep, bend, cuts, friction, power = TURNS[name]
    agar = medium(1.0, 0.01)
    run = play(Worm(), load_kymogram(name), agar, signals=("rod_angle", "rod_centre", "centre", "head"))
    run = {signal: value[:, 0] for signal, value in run.items()}
    played = force_map(run["rod_angle"], run["rod_centre"], agar).force[5:-5]
    motion = Midlines.from_array(seen(joints(run), np.random.default_rng(0), gap=0), 32.0).smoothed()
    fit = fit_medium(motion, repeats=4)
    assert fit.sigma == pytest.approx(1.0, abs=0.02)
    for seen_as, rods, bends, powers in (
        (clean(run["rod_angle"], run["centre"], 32.0), 0.01, 0.05, 0.04),
        (motion, 0.35, 0.3, 0.12),
    ):
        out = forces(seen_as, WormParams.in_medium(1.0, scale=0.01))
        ends = out.refit_joints[::FINER]
        angle = (out["rod_angle"] + out["refit_turn"][:, None])[::FINER]
        found = force_map(angle, 0.5 * (ends[:, 1:] + ends[:, :-1]), agar)
        off = found.force[5:-5] - played
        assert np.sqrt((off**2).sum() / (played**2).sum()) < rods
        np.testing.assert_allclose(1e12 * np.array(bend_force(found.magnitude[deep], bend)), friction, rtol=bends)
        phases = [1e15 * found.power[a:b].mean() for a, b in pairwise(cuts)]
        np.testing.assert_allclose(phases, power, rtol=powers)
