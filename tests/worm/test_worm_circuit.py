"""The worm with a nervous system: gaits by proprioception, deaf joints, starts."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from fixtures.reversing import reversing

from gymnosoma.envs import Circuit, Population, simulate
from gymnosoma.envs.worm import Worm, WormParams, active_joints, medium
from gymnosoma.envs.worm.analysis import Gait
from papers.worm import circuits

STILL = np.zeros(24)
SIGNALS = ("joint_angle", "centre")


def gaits(worm, sigma, neuron, duration=16.0, **start):
    start = {**medium(sigma), "neuron": neuron, **start}
    runs = simulate(worm, STILL, duration, 0.025, start, count=len(neuron), signals=SIGNALS)
    return [Gait(run, duration - 10.0) for run in runs]


def random_starts(worm, count):
    """States V of head and body anywhere in -1 .. 1, muscles at rest."""
    neuron = np.zeros((count, *worm.state["neuron"].shape))
    neuron[:, 0, 0, :2] = np.random.default_rng(0).uniform(-1.0, 1.0, (count, 2, 24))
    return neuron


@pytest.mark.full
def test_the_circuit_that_comes_with_the_package_crawls_and_swims():
    worm = Worm(circuit="ahead")
    for sigma, frequency, waves in ((0.0, 1.80, 0.95), (1.0, 0.80, 1.49)):
        for gait in gaits(worm, sigma, random_starts(worm, 3)):
            assert gait.frequency == pytest.approx(frequency, rel=0.02)
            assert gait.wavenumber == pytest.approx(waves, abs=0.03)
    feedback = np.ones((2, 24))
    feedback[0, 8:16] = 0.0
    lame, whole = gaits(worm, 0.0, random_starts(worm, 2), feedback=feedback)
    assert abs(lame.joints[16]) < 0.02 < 0.2 < abs(whole.joints[16])
    run = simulate(worm, STILL, 8.0, start=medium(0.0))
    assert 35.0 < np.abs(np.diff(run["control_angle"][400:], axis=0)).max() / worm.dt < 38.0
    slow = Worm(circuit=worm.circuit.replace(muscle={"delay": 0.1}))
    found = [gait.frequency for gait in gaits(slow, np.array([0.0, 1.0]), random_starts(slow, 2))]
    assert found == pytest.approx([1.29, 0.68], abs=0.02)


def test_a_worm_that_is_deaf_in_front_is_silent_and_one_without_muscles_is_still():
    worm = Worm(circuit="ahead")
    feedback = np.ones((3, 24))
    feedback[1, :12] = 0.0
    gain = np.ones((3, 1, len(worm.circuit.names), 24))
    gain[2, :, worm.circuit.names.index("muscle")] = 0.0
    start = {**medium(0.0), "feedback": feedback, "gain": gain}
    runs = simulate(worm, STILL, 8.0, 0.025, start, count=3)
    swing = [np.ptp(run["joint_angle"][-80:], axis=0).max() for run in runs]
    assert swing[0] > 0.3
    assert swing[1] < 0.1 * swing[0]
    turns = np.diff(np.sign(np.diff(runs[1]["joint_angle"][-80:], axis=0)), axis=0)
    assert not turns.any()  # it relaxes slowly, and does not beat
    assert np.abs(runs[2]["control_angle"]).max() == 0.0


@pytest.mark.parametrize("constant", ["tonic", "bias"])
def test_a_constant_input_bends_a_worm(constant):
    bend = 0.1 * (np.arange(24) > 9)
    cell = Population("m", "leaky", 1, delay=0.01, output="linear", **{constant: bend})
    worm = Worm(circuit=Circuit(24, [cell], [], "m"))
    starts = {1.0: {}, 2.0: {"tonic": 0.5, "bath": 1.5}} if constant == "tonic" else {1.0: {}}
    for factor, start in starts.items():
        run = simulate(worm, STILL, 0.5, start=start)
        np.testing.assert_allclose(run["control_angle"][-1], factor * bend, atol=1e-12)
    assert worm.parameters.keys() & {"tonic", "bath"} == {name for start in starts.values() for name in start}


def boyle(angle):
    """Switches (T, 2, 12) and muscles (T, 2, 12) of Boyle et al. (2012), by their 48 segments, after each step."""
    bend = 1.92 * np.repeat(angle, 2, axis=1) / 2.0
    felt = np.stack([-bend * np.where(bend < 0.0, 0.8, 1.2), bend], 1)
    unit, on, pull, found = np.arange(12), np.array([[1.0], [0.0]]) * np.ones(12), np.zeros((2, 12)), []
    weight = 0.65 * (0.4 + 0.08 * unit) / 2.0 * np.where(unit < 7, 1.0, np.sqrt(6 // (12 - unit)))
    for s in felt:
        current = 0.675 + weight * np.stack([s[:, 4 * u : 4 * u + 24].sum(1) for u in unit], 1)
        current[1] += 0.5 - on[0]
        on = (current > 0.75 - 0.5 * on) * 1.0
        pull = pull + 0.05 * (on - on[::-1] - pull)
        found.append((on, pull))
    return np.array(found).swapaxes(0, 1)


@pytest.mark.parametrize("stiffening", [0.0, 1.0])
def test_the_circuit_of_boyle_is_its_equations(stiffening):
    worm = Worm(circuit="boyle")
    signals = ("joint_angle", "joint_rate", "neurons", "control_angle", "joint_torque", "rod_angle")
    start = {**medium(0.3), "stiffening": stiffening, "stiffness": 3e-11, "damping": 1e-12}
    run = simulate(worm, STILL, 3.0, worm.dt, start, signals=signals)
    on, pull = boyle(run["joint_angle"][:-1])
    neurons = run["neurons"][1:]
    assert (neurons[:, :, 0] == on).all() and np.abs(np.diff(on, axis=0)).sum() > 50
    assert np.abs(neurons[:, :, 1] - pull).max() < 0.03  # Euler's steps against Runge-Kutta's
    gain = 0.7 * (1.0 - 0.6 * np.arange(48) / 48.0) / np.where(np.arange(48), 1.0, 1.5)
    a, b = np.clip(gain.reshape(24, 2).mean(1) * np.repeat(neurons[:, :, 1], 2, axis=2), 0.0, 1.0).swapaxes(0, 1)
    series = worm.circuit.antagonists.along("series", 24)
    part = [each / (1.0 + stiffening * (1.0 + 10.0 * each) / series) for each in (a, b)]
    stiffness = 1.0 + 10.0 * (part[0] + part[1])
    rest = 10.0 * (a * part[0] - b * part[1]) / stiffness * 0.65 * 2.0 / 24.0 / 0.08
    np.testing.assert_allclose(run["control_angle"][1:], rest, atol=1e-6)
    middle = run["joint_angle"] - 0.5 * worm.dt * run["joint_rate"]
    spring = 3e-11 * (1.0 + stiffening * (stiffness - 1.0)) * (rest - middle[1:])
    damper = 1e-12 * (1.0 + stiffening * 50.0 * (a + b)) * run["joint_rate"][1:]
    torque = (spring - damper) / np.cos(0.5 * middle[1:]) ** 2
    np.testing.assert_allclose(run["joint_torque"][1:], torque, atol=1e-5 * np.abs(torque).max())


@pytest.mark.parametrize("n_rods", [25, 49])
def test_joints_share_segments_by_their_place(n_rods):
    worm = Worm(WormParams(n_rods=n_rods), circuit="boyle")
    joints = n_rods - 1
    record = worm.circuit.record(joints, worm.dt)[0]
    assert (record["muscle_first"] == np.arange(joints) * 12 // joints).all()
    first, last = record["felt_first"][0], record["felt_last"][0]
    assert (first == np.arange(12) * joints // 12).all() and (last == np.minimum(first + joints // 2, joints)).all()
    uneven = worm.circuit.replace(joint=(0, *range(3, 14)))
    assert (uneven.record(joints, worm.dt)[0]["muscle_first"][:5] == [0, 0, 0, 1, 2]).all()


def test_a_touch_acts_on_the_cells_that_are_named():
    worm = Worm(circuit=Circuit.load("boyle", "worm").replace(B={"touch": [-3.0, 0.5]}))
    touches = [{"time": 1.0, "touch": [1.0, 0.0]}, {"time": 2.0, "touch": [0.0, 0.0]}]
    run = simulate(worm, STILL, 3.0, start=medium(0.0), events=touches)
    cells = run["neurons"][:, :, 0].any((1, 2))
    assert not cells[(run.time > 1.05) & (run.time < 1.95)].any() and cells[run.time > 2.05].all()
    assert "touch" not in Worm(circuit="boyle").parameters


def test_what_a_worm_cannot_have_is_refused():
    with pytest.raises(ValueError, match="scheme must be"):
        Worm(circuit="ahead", scheme="published")
    with pytest.raises(ValueError, match="segments must be"):
        Worm(circuit=Circuit(30, [Population("b", "bistable", 1, delay=0.01, gain=2.0)], [], "b"))


@pytest.mark.full
def test_the_gaits_of_boyle_are_those_on_the_page():
    """Within 5% of a prototype of 1 ms steps; joints that follow activation are within 6% of the authors' program."""
    media = [circuits.gaits(Worm(circuit="boyle"), circuits.friction(index), 1)[0] for index in (0.0, 1.0)]
    np.testing.assert_allclose([gait[:3] for gait in media], [(1.64, 1.97, 0.067), (0.459, 0.767, 0.224)], rtol=0.05)
    index = [0.0, 0.1, 0.5, 1.0]
    gaits = circuits.gaits(Worm(circuit="boyle"), circuits.friction(index) | active_joints(24), 4)
    authors = np.array([circuits.AUTHORS[each] for each in index])
    np.testing.assert_allclose(gaits[:, 0], authors[:, 0], rtol=0.06)
    assert gaits[-1, 1] == pytest.approx(authors[-1, 1], rel=0.01)
    rhythm = circuits.gaits(Worm(circuit="ventral_cord"), circuits.friction([0.0, 1.0]), 2)[:, 0]
    assert rhythm[0] == pytest.approx(rhythm[1], rel=0.01)  # it does not feel the medium


@pytest.mark.full
def test_a_touch_stops_or_reverses_a_worm():
    touches = [{"time": 10.0, "touch": [1.0, 0.0]}, {"time": 16.0, "touch": [0.0, 0.0]}]
    stopping, back = Circuit.load("boyle", "worm").replace(B={"touch": (-3.0, 0.0)}), []
    for circuit in (stopping, reversing()):
        run = simulate(Worm(circuit=circuit), STILL, 16.0, 0.025, medium(1.0, 0.5), events=touches)
        axis = run["head"] - run["tail"]
        speed = np.sum(run["centre_velocity"] * axis, 1) / np.linalg.norm(axis, axis=1)
        assert speed[run.time < 10.0].mean() > 0.15e-3
        back.append(-0.025 * np.cumsum(speed[run.time >= 10.0]).min())
    assert back[0] < 1e-5 and 0.3e-3 < back[1] < 0.5e-3


@pytest.mark.full
def test_a_task_takes_a_circuit_to_which_actions_add_or_whose_weights_they_are():
    env = gymnasium.make("gymnosoma/WormCrawl-v0", circuit="ahead")
    env.reset(seed=1)
    _, _, _, _, info = env.step(np.zeros(24, np.float32))
    assert np.isfinite(info["speed"])
    envs = gymnasium.make_vec("gymnosoma/WormCrawl-v0", num_envs=2, circuit="ahead", actions="weights")
    envs.reset(seed=1)
    task = envs.unwrapped.task
    weights = np.stack([np.ones(4), np.full(4, 0.5)])
    for _ in range(10):
        envs.step(task.action_from_values(weights))
    rows = envs.unwrapped.batch.rows
    np.testing.assert_allclose(rows["synapse"], weights, atol=1e-6)
    assert np.unique(rows["residual"], axis=1).shape == (2, 1)  # the hidden curl alone
    bends = np.abs(rows["control_angle"]).max(1)
    assert bends[1] < bends[0]
    with pytest.raises(ValueError, match="actions must be"):
        gymnasium.make("gymnosoma/WormCrawl-v0", actions="weights")
