"""Sines, behaviour and power of recorded worms."""

import numpy as np
import pytest

from gymnosoma.envs import simulate
from gymnosoma.envs.worm import SineKymogram, Worm, WormParams
from gymnosoma.recordings import Kymogram, Midlines, classify, fit_sine, forces, phase_means, phases

RATE, XI = 32.0, np.linspace(0.0, 1.0, 24)


def wave(seconds, speed, offset=0.0):
    """Joint angles of a wave of 0.7 body lengths that travels ``speed`` lengths per second towards the tail."""
    time = np.arange(round(RATE * seconds))[:, None] / RATE
    return 0.4 * np.sin(2 * np.pi * (XI - speed * time) / 0.7) + offset


def test_phases_of_a_worm_that_reverses_and_turns():
    angles = np.concatenate([wave(4.0, 0.5), wave(4.0, -0.5), wave(4.0, 0.5, -0.2)])
    behaviour = classify(Kymogram(angles, RATE))
    found = phases(behaviour.label)
    assert [phase.label for phase in found] == ["forward", "backward", "turn"]
    assert [phase.start for phase in found] == pytest.approx([0, 128, 256], abs=8)  # a quarter of a second
    assert phase_means(np.arange(384.0), behaviour.label) == pytest.approx([63.5, 191.5, 319.5], abs=8)
    for side, label in (("positive", "forward"), ("either", "turn")):
        assert phases(classify(Kymogram(angles, RATE), side).label)[-1].label == label
    assert (classify(Kymogram(angles, RATE), turn=0.3).label != "turn").all()
    with pytest.raises(ValueError, match="side must be"):
        classify(Kymogram(angles, RATE), "ventral")
    with pytest.raises(ValueError, match="values must have the shape"):
        phase_means(np.zeros(3), behaviour.label)


def test_frames_without_measurement_are_unknown():
    angles = wave(6.0, 0.5)
    angles[64:70] = np.nan
    angles[70:78, 3] = np.nan
    angles[80:82] = np.nan  # two frames alone before it
    behaviour = classify(Kymogram(angles, RATE))
    assert [tuple(phase) for phase in phases(behaviour.label)] == [
        ("forward", 0, 64),
        ("unknown", 64, 82),
        ("forward", 82, 192),
    ]
    assert np.isnan(behaviour.offset[64:82]).all() and np.isfinite(behaviour.phase_rate[82:]).all()
    fit = fit_sine(angles)
    assert np.isnan(fit.amplitude[64:78]).all() and fit.wavelength[79] == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("worm", "message"),
    [
        (np.zeros((9, 24)), "worm must be a Kymogram, a Motion or a Trajectory, got ndarray"),
        (Kymogram(np.zeros((9, 3)), RATE), r"joints >= 4, got \(9, 3\)"),
        (Kymogram(wave(2.0, 0.5), 4.0), "at least 8 times per second, got 4"),
    ],
)
def test_recordings_that_cannot_be_classified(worm, message):
    with pytest.raises(ValueError, match=message):
        classify(worm)


def test_a_filmed_worm_crawls_forwards_with_its_power():
    """From midlines with noise: labels, speed of the wave, and the mean power per phase, against the model's own."""
    params, drive = WormParams.in_medium(0.5), SineKymogram.for_medium(0.5)
    run = simulate(Worm(params), drive, 4.0, every=1 / 30)
    joints = np.concatenate([run["head"][:, None], run["rod_centre"], run["tail"][:, None]], axis=1)
    points = joints + 2e-6 * np.random.default_rng(0).standard_normal(joints.shape)
    motion = Midlines(points, 30.0).smoothed()
    out = forces(motion, params)
    middle = slice(len(out.time) // 4, -len(out.time) // 4)  # it starts straight, without a wave
    for worm in (motion, out):
        behaviour = classify(worm)
        assert len(behaviour.label) == len(out.time) and (behaviour.label[middle] == "forward").all()
    model = classify(run)
    assert behaviour.phase_rate[middle].mean() == pytest.approx(model.phase_rate[30:-30].mean(), rel=0.03)
    label = behaviour.label[middle]
    powers = phase_means(out["power"][middle], label)
    assert powers == pytest.approx([run["power"][30:-30].mean()], rel=0.1)
