"""The whisker's tasks: what actions do, what rewards mean, and what the references reach."""

import gymnasium
import numpy as np
import pytest

from gymnosoma.agents.controllers.whisker_rod import REFERENCES
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.envs.whisker_rod.sensor import SENSOR, level
from gymnosoma.envs.whisker_rod.tasks import LAG, SPEEDS, Texture

pytestmark = pytest.mark.full

SWEEP, REGULATE, TEXTURE = (f"gymnosoma/Whisker{name}-v0" for name in ("Sweep", "Regulate", "Texture"))


def made(env_id, count=1, **arguments):
    envs = gymnasium.make_vec(env_id, num_envs=count, **arguments)
    return envs, envs.task, envs.batch


def samples(batch):
    memory = batch.memory
    return np.concatenate([memory["moment_samples"][:, :, None], memory["force_samples"]], 2)


def test_the_plate_goes_where_the_action_says():
    envs, task, batch = made(REGULATE, actions="plate")
    envs.reset(seed=0)
    wanted = np.array([[0.25, 0.988]])
    length = batch.rows["length"][0]
    for _ in range(400):
        *_, info = envs.step(task.action_from_values(wanted))
    assert info["plate_speed"][0] == pytest.approx(0.25, abs=1e-7)  # float32 actions
    assert info["plate_distance"][0] == pytest.approx(0.988 * length, abs=1e-9)


@pytest.mark.parametrize("mode", ["residual", "plate"])
def test_actions_cannot_shake_the_plate(mode):
    """The plate moves as slowly as muscles, so it does not drive the modes of the whisker."""
    envs, task, _ = made(REGULATE, actions=mode)
    envs.reset(seed=0)
    motion = []
    for k in range(200):
        *_, info = envs.step(np.full((1, 2), 1.0 if k % 4 < 2 else -1.0, np.float32))  # 125 Hz
        motion.append([info["plate_speed"][0], info["plate_distance"][0]])
    limits = task.physiology["speed_shake"].maximum, task.physiology["distance_shake"].maximum
    assert (np.ptp(motion[-4:], axis=0) / 2 < 0.5 * np.array(limits) / [1e3, 1e6]).all()


@pytest.mark.parametrize("env_id", [SWEEP, REGULATE])
def test_the_papers_sweep_is_a_reference(env_id):
    """The plate moves at 0.2 m/s, as fast as the whisker's tip at 420 degrees per second."""
    policy = find_policy(env_id, "paper")
    envs, _, batch = made(env_id, **policy.env)
    agent, (observations, _) = policy.make(envs, 0), envs.reset(seed=0)
    for k in range(400):
        observations, *_ = envs.step(agent.act(observations, np.array([k == 0])))
    assert batch.rows["plate_velocity"][0, 0] == pytest.approx(0.2, abs=1e-6)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_observations_are_what_they_are_called(noise):
    envs, task, batch = made(REGULATE, 3, noise=noise)
    envs.reset(seed=0)
    observations, *_ = envs.step(np.full((3, 2), -0.5, np.float32))
    seen, rows, felt = task.layout.unpack(observations), batch.rows, samples(batch)
    wrench = seen["base_wrench_mean"]
    np.testing.assert_allclose(wrench[:, 0], felt[:, :, 0].mean(1), rtol=1e-5, atol=1e-14)
    np.testing.assert_allclose(wrench[:, 1:], felt[:, :, 1:].mean(1), rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(seen["moment_samples"], felt[:, :, 0], rtol=1e-5, atol=1e-14)
    np.testing.assert_allclose(seen["force_samples"].reshape(3, 8, 2), felt[:, :, 1:], rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(seen["band_level"], batch.memory["band_level"], rtol=1e-5)
    assert [level(power) for power in (0.0, 1e-18, 1e-17)] == [-6.0, 0.0, 1.0]
    if noise == 0.0:
        assert (felt == rows["base_wrench_samples"]).all()
        np.testing.assert_allclose(felt.mean(1), rows["base_wrench_mean"], rtol=1e-9)


def test_the_sensor_is_as_noisy_as_it_says():
    envs, _, batch = made(REGULATE, 400)
    envs.reset(seed=0)
    envs.step(np.zeros((400, 2), np.float32))
    noise = (samples(batch) - batch.rows["base_wrench_samples"]).reshape(-1, 3) / SENSOR
    assert noise.std(0) == pytest.approx(1.0, abs=0.04) and abs(noise.mean(0)).max() < 0.06  # 3200 samples
    assert abs(np.corrcoef(noise.T) - np.eye(3)).max() < 0.06


def test_levels_of_the_samples_are_those_of_the_moment():
    """Without noise, the filters of 4 kHz samples agree with those that run at the time step."""
    envs, task, batch = made(REGULATE, 4, noise=0.0)
    envs.reset(seed=0)
    for _ in range(100):
        envs.step(np.zeros((4, 2), np.float32))
    off = batch.memory["band_level"] - np.vectorize(level)(batch.rows["band_power"])
    assert abs(off[:, : task.band + 1]).max() < 0.1 and abs(off).max() < 0.5


def test_the_swing_is_what_it_is_said_to_be():
    envs, task, batch = made(SWEEP, actions="plate")
    envs.reset(seed=0, options={"amplitude": 0.004, "frequency": 5.0, "distance": 0.985})
    places = []
    for _ in range(300):
        *_, info = envs.step(np.zeros((1, 1), np.float32))
        places.append(info["plate_distance"][0] / batch.rows["length"][0])
    t = np.arange(1, 301) / task.control_rate
    expected = 0.985 + 0.004 * np.minimum(10 * t, 1) * np.sin(2 * np.pi * 5.0 * t)
    np.testing.assert_allclose(places, expected, atol=1e-9)


def test_swings_are_drawn_both_ways():
    envs, _, batch = made(SWEEP, 200)
    envs.reset(seed=0)
    amplitude, frequency = batch.memory["amplitude"], batch.memory["frequency"]
    assert 70 < (amplitude > 0).sum() < 130
    for values, (low, high) in ((abs(amplitude), (0.006, 0.01)), (frequency, (5.0, 10.0))):
        assert low <= values.min() < low + 0.05 * (high - low) and high - 0.05 * (high - low) < values.max() <= high


def test_the_plate_lags():
    """After one period's command the plate goes the commanded way with the time constant that is stated."""
    envs, task, batch = made(SWEEP, actions="plate")
    envs.reset(seed=0, options={"amplitude": 0.0, "distance": 0.985})
    ways = []
    for k in range(20):
        envs.step(np.full((1, 1), -float(k == 0), np.float32))
        ways.append(batch.rows["plate_distance"][0] / batch.rows["length"][0] - 0.985)
    t = np.arange(1, 21) / task.control_rate
    np.testing.assert_allclose(ways, -task.largest_change * (1 - np.exp(-t / LAG)), atol=1e-9)


def test_flight_is_worth_nothing():
    """But what the command costs."""
    envs, task, _ = made(SWEEP, actions="plate")
    envs.reset(seed=0, options={"amplitude": 0.0, "distance": 0.985})
    held = envs.step(np.zeros((1, 1), np.float32))[1][0]
    assert held == pytest.approx(1.0)
    for _ in range(35):
        _, rewards, *_, info = envs.step(np.ones((1, 1), np.float32))
    assert (
        info["contact"][0] == 0.0
        and rewards[0] == pytest.approx(-task.effort_price)
        and 1 / 500 < info["held"][0] < 36 / 500
    )


def test_regulation_is_rewarded_near_the_goal():
    envs, task, batch = made(REGULATE)
    envs.reset(seed=0)
    power, share = 0.0, 1 - np.exp(-0.002 / 0.02)
    for _ in range(60):
        _, rewards, *_, info = envs.step(np.zeros((1, 2), np.float32))
        power += share * (batch.rows["band_power"][0, task.band] - power)
    error = level(power) - batch.memory["goal"][0]
    assert info["error"][0] == pytest.approx(error)
    assert rewards[0] == pytest.approx(1 / (1 + 9 * (max(abs(error) - 0.1, 0) / 0.25) ** 2))


def test_levels_to_be_held_change():
    """Every quarter of a second and of the range, not where one is given."""
    envs, task, batch = made(REGULATE, 2)
    for options in ({}, {"goal": 1.0}):
        envs.reset(seed=0, options=options)
        goals = []
        for _ in range(500):
            envs.step(np.zeros((2, 2), np.float32))
            goals.append(batch.memory["goal"].copy())
        changes = np.flatnonzero((np.diff(goals, axis=0) != 0.0).all(1)) + 1
        assert changes.tolist() == ([] if options else [125, 250, 375])
        quarters = np.floor(4.0 * (np.array(goals[::125]) - task.goals[0]) / np.diff(task.goals))
        assert (np.sort(quarters, axis=0) == (3.0 if options else np.arange(4.0)[:, None])).all()


def test_rough_paper_shakes_the_whisker():
    """P80 as a relief raises the power above 550 Hz; the step is halved for it."""
    powers = []
    for slope in (0.0, 0.3):
        envs, task, batch = made(REGULATE, 8, relief_slope=slope)
        assert task.animal.dt == (5e-6 if slope else 1e-5)
        envs.reset(seed=0, options={"memory_length": 20e-6, "distance": 0.985})
        for _ in range(150):
            envs.step(np.zeros((8, 2), np.float32))
        powers.append(batch.rows["band_power"].copy())
    high = [(power[:, -2:].sum(1) / power.sum(1)).mean() for power in powers]
    assert high[1] > 3.0 * high[0]


def test_pieces_are_rough_or_smooth_and_their_friction_is_drawn():
    envs, _, batch = made(TEXTURE, 64)
    envs.reset(seed=0)
    memory, length = batch.memory, np.log(batch.memory["memory_length"] / 15e-6) / np.log(50 / 15)
    assert abs(memory["roughness"].mean() - 0.5) < 0.03 and set(np.unique(memory["roughness"])) == {0.0, 1.0}
    assert (abs(np.histogram(length, 4, (0.0, 1.0))[0] / length.size - 0.25) < 0.03).all()
    assert np.ptp(memory["reference_friction"]) / 0.37 == pytest.approx(0.2, abs=0.01)
    seen = []
    for _ in range(200):
        *_, info = envs.step(np.zeros((64, 2), np.float32))
        seen.append([batch.rows["relief"].copy(), batch.rows["memory_length"].copy()])
    assert np.array_equal(np.unique(seen, axis=None)[-2:], [0.75, 1.0])
    assert len(np.unique([lengths for _, lengths in seen])) == pytest.approx(64 + info["answered"].sum(), abs=64)
    envs.reset(seed=0, options={"roughness": 1.0, "memory_length": 2e-5})
    assert (batch.memory["roughness"] == 1.0).all() and (batch.memory["memory_length"] == 2e-5).all()
    for split, outer in (("train", False), ("test", True)):  # the outer tenths are for tests
        envs, _, batch = made(TEXTURE, 16, split=split)
        envs.reset(seed=0)
        length = np.log(batch.memory["memory_length"] / 15e-6) / np.log(50 / 15)
        for place in (length, batch.memory["reference_friction"] / 0.074 - 4.5):
            assert ((abs(place - 0.5) > 0.4) == outer).all()


def test_vibration_is_the_power_of_differences():
    envs, task, batch = made(TEXTURE, 16)
    envs.reset(seed=0)
    for _ in range(30):
        envs.step(np.full((16, 2), 0.3, np.float32))
    memory, expected = batch.memory, []
    both = 1e9 * memory["moment_samples"], 1e6 * memory["force_samples"][:, :, 0]
    for k in range(4):
        change = np.diff(both[k % 2], 1 + k // 2, axis=1)
        mean = [np.interp(speed, task.speeds, task.criteria[k]) for speed in memory["plate_speed"]]
        expected.append(np.log10(np.mean(change**2, 1)) - mean)
    assert memory["vibration"] == pytest.approx(np.transpose(expected), rel=1e-9, abs=1e-12)


def test_evidence_is_integrated_to_a_bound():
    """Replayed in NumPy: the animal's own evidence and that of actions, the answers, and their rewards."""
    envs, task, batch = made(TEXTURE, 32)
    envs.reset(seed=0)
    rng, answered, (total, sums, periods, felt) = np.random.default_rng(0), 0, np.zeros((4, 32))
    for _ in range(400):
        rough = batch.memory["roughness"][np.arange(32), batch.memory["piece"].astype(int)] > 0.5
        actions = rng.uniform(-1.0, 1.0, (32, 2)).astype(np.float32)
        _, rewards, *_ = envs.step(actions)
        periods += 1
        total += (felt + task.authority * task.largest_evidence * actions[:, 1]) * (periods > 10)
        felt = np.clip(batch.memory["vibration"][:, 0], -1.5, 1.5)
        ended = (abs(total) >= task.bound) | (periods == 150)
        sums += rewards
        right = (total > 0.0) == rough
        credit = np.where(ended, np.where(right, 1.0, -3.0), total * (2.0 * rough - 1.0) / task.bound)
        assert sums == pytest.approx(credit, abs=1e-6)
        answered, sums = answered + ended.sum(), np.where(ended, 0.0, sums)
        total, periods = np.where(ended, 0.0, total), np.where(ended, 0.0, periods)
        assert batch.memory["evidence"] == pytest.approx(total, abs=1e-6)
    assert answered > 100


def test_a_classifier_of_the_forces_tells_textures_apart():
    """From 0.3 s of each piece at 0.14 m/s: least squares on a half of the pieces, tested on the other half."""
    envs, _, batch = made(TEXTURE, 128, actions="plate")
    envs.reset(seed=0)
    low, high = SPEEDS
    actions = np.tile(np.float32([2.0 * (0.14 - low) / (high - low) - 1.0, 0.0]), (128, 1))  # no evidence, no answer
    features, rough = [], []
    for _ in range(3):
        rough.append(batch.memory["roughness"][np.arange(128), batch.memory["piece"].astype(int)] > 0.5)
        for _ in range(149):
            envs.step(actions)
        cues = np.concatenate([batch.memory["vibration_mean"], 1e7 * batch.memory["load_mean"]], 1)
        features.append(np.concatenate([cues, np.ones((128, 1))], 1))
        envs.step(actions)
    cues, sides = np.concatenate(features[1:]), 2.0 * np.concatenate(rough[1:]) - 1.0
    fitted, tested = slice(0, None, 2), slice(1, None, 2)
    weights = np.linalg.lstsq(cues[fitted], sides[fitted], rcond=None)[0]
    assert (np.sign(cues[tested] @ weights) == sides[tested]).mean() > 0.85


def test_the_animal_tells_textures_apart_by_one_cue_and_better_by_two():
    played = {name: evaluate(TEXTURE, find_policy(TEXTURE, name), 32) for name in REFERENCES[Texture]}
    right = {name: episodes.info["right"].mean() for name, episodes in played.items()}
    assert 0.75 < right["baseline"] < 0.85 < right["transverse"] < 0.95
    assert 0.4 < right["guess"] < 0.6
