"""The whisker's tasks: what actions do, what rewards mean, and what the references reach."""

import gymnasium
import numpy as np
import pytest

from gymnosoma.agents.evaluation.policies import evaluate, find_policy
from gymnosoma.agents.learning.textures import train_classifier
from gymnosoma.envs.core.table import read_table
from gymnosoma.envs.whisker_rod.tasks import DISTANCE_STEP, SPEED_STEP, TEXTURES, level

pytestmark = pytest.mark.full

TEXTURE, SWEEP, REGULATE = (f"gymnosoma/Whisker{name}-v0" for name in ("Texture", "Sweep", "Regulate"))


def made(env_id, count=1, **arguments):
    envs = gymnasium.make_vec(env_id, num_envs=count, **arguments)
    return envs, envs.task, envs.simulation


def test_the_plate_goes_where_the_action_says():
    envs, task, simulation = made(REGULATE)
    envs.reset(seed=0)
    wanted = np.array([[0.25, 0.988]])
    length = simulation.rows["length"][0]
    for _ in range(20):
        speed, distance = simulation.memory["speed"][0], simulation.rows["plate_distance"][0]
        *_, info = envs.step(task.action_from_values(wanted))
        assert abs(info["plate_speed"][0] - speed) <= SPEED_STEP * (1 + 1e-9)
        assert abs(info["plate_distance"][0] - distance) <= DISTANCE_STEP * length * (1 + 1e-9)
    assert info["plate_speed"][0] == pytest.approx(0.25, abs=1e-7)  # float32 actions
    assert info["plate_distance"][0] == pytest.approx(0.988 * length, abs=1e-9)


def test_observations_are_what_they_are_called():
    envs, task, simulation = made(TEXTURE, 3)
    envs.reset(seed=0)
    observations, *_ = envs.step(np.full((3, 7), -0.5, np.float32))
    seen, rows = task.layout.unpack(observations), simulation.rows
    wrench = seen["base_wrench_mean"]
    np.testing.assert_allclose(wrench[:, 0], rows["base_wrench_mean"][:, 0], rtol=1e-5, atol=1e-14)
    np.testing.assert_allclose(wrench[:, 1:], rows["base_wrench_mean"][:, 1:], rtol=1e-5, atol=1e-12)
    samples = rows["base_wrench_samples"]
    np.testing.assert_allclose(seen["moment_samples"], samples[:, :, 0], rtol=1e-5, atol=1e-14)
    np.testing.assert_allclose(seen["force_samples"].reshape(3, 8, 2), samples[:, :, 1:], rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(seen["band_level"], level(rows["band_power"]), rtol=1e-5)
    assert level(np.array([0.0, 1e-18, 1e-17])).tolist() == [-6.0, 0.0, 1.0]


def test_the_texture_is_hidden_and_drawn_evenly():
    envs, _, simulation = made(TEXTURE, 400)
    envs.reset(seed=0)
    textures = simulation.memory["texture"].astype(int)
    assert (np.bincount(textures) > 70).all()
    assert (simulation.rows["memory_length"] == np.array(TEXTURES)[textures]).all()
    friction = simulation.rows["reference_friction"] / 0.37
    assert friction.min() > 0.9 and friction.max() < 1.1 and np.ptp(friction) > 0.19
    envs.reset(options={"texture": 2.0})
    assert (simulation.rows["memory_length"] == 20e-6).all()


@pytest.mark.parametrize(("score", "reward"), [(3, 0.998), (1, -1.002)])
def test_naming_ends_the_episode(score, reward):
    envs, task, _ = made(TEXTURE)
    envs.reset(seed=0, options={"texture": 3.0})
    action = np.array([[-1.0, 0.0, 1.0, -1.0, -1.0, -1.0, -1.0]], np.float32)
    action[0, 3 + score] = 0.5
    for _ in range(round(task.least * task.control_rate)):
        _, rewards, terminated, *_ = envs.step(action)
        assert rewards[0] == pytest.approx(-0.002) and not terminated[0]
    _, rewards, terminated, _, info = envs.step(action)
    assert terminated[0] and rewards[0] == pytest.approx(reward)
    assert info["is_success"][0] == (score == 3)
    assert ("failure" in info) == (score != 3)


def test_the_swing_is_what_it_is_said_to_be():
    envs, task, simulation = made(SWEEP)
    envs.reset(seed=0, options={"amplitude": 0.004, "frequency": 5.0, "distance": 0.985})
    places = []
    for _ in range(300):
        *_, info = envs.step(np.zeros((1, 1), np.float32))
        places.append(info["plate_distance"][0] / simulation.rows["length"][0])
    t = np.arange(1, 301) / task.control_rate
    expected = 0.985 + 0.004 * np.minimum(10 * t, 1) * np.sin(2 * np.pi * 5.0 * t)
    np.testing.assert_allclose(places, expected, atol=1e-9)


def test_flight_costs():
    envs, _, simulation = made(SWEEP)
    envs.reset(seed=0, options={"amplitude": 0.0, "distance": 0.99})
    held = envs.step(np.zeros((1, 1), np.float32))[1][0]
    assert held == pytest.approx(1.0)
    for _ in range(25):
        _, rewards, *_, info = envs.step(np.ones((1, 1), np.float32))
    assert info["contact"][0] == 0.0 and rewards[0] == pytest.approx(-1.0)
    assert simulation.memory["own"][0] == pytest.approx(25 * DISTANCE_STEP)


def test_regulation_is_rewarded_near_the_goal():
    envs, task, simulation = made(REGULATE)
    envs.reset(seed=0)
    for _ in range(5):
        _, rewards, *_, info = envs.step(np.zeros((1, 2), np.float32))
    error = level(simulation.rows["band_power"][0, task.band]) - simulation.memory["goal"][0]
    assert info["error"][0] == pytest.approx(error)
    assert rewards[0] == pytest.approx(1 / (1 + 9 * (max(abs(error) - 0.1, 0) / 0.5) ** 2))


def test_the_classifier_is_the_one_that_is_trained():
    """The table in the assets is what its script gives, to the digits written."""
    fresh = train_classifier(episodes=600)
    stored = read_table("whisker_rod/textures.toml")
    for name in stored:
        np.testing.assert_allclose(fresh[name], stored[name], atol=0.06)  # 600 episodes instead of 2000


def test_slow_sweeps_tell_textures_apart():
    """Settled: 0.95 right at 0.05 m/s by nearest centroid. At 0.04 m/s, within 0.2 s, measured 1.00 of 256."""
    result = evaluate(TEXTURE, find_policy(TEXTURE, "baseline"), 256, seed=5000)
    assert result.info["is_success"].mean() > 0.98
    assert result.returns.mean() == pytest.approx(0.798, abs=0.03)


def test_contact_is_kept():
    """Settled: 100% of the time in the window, 63% without control. Measured: 100%, 69%."""
    kept = evaluate(SWEEP, find_policy(SWEEP, "baseline"), 64, seed=5000)
    assert kept.failures == [None] * 64 and kept.info["held"].min() > 0.999
    still = evaluate(SWEEP, find_policy(SWEEP, "still"), 64, seed=5000)
    assert still.info["held"].mean() == pytest.approx(0.66, abs=0.07)
    assert still.returns.mean() < 0.9 * kept.returns.mean()


def test_a_steady_speed_regulates_somewhat():
    """Measured: 230 of 500; the paper's sweep 104, chance 158."""
    reached = evaluate(REGULATE, find_policy(REGULATE, "baseline"), 64, seed=5000).returns.mean()
    assert reached > 1.5 * evaluate(REGULATE, find_policy(REGULATE, "paper"), 64, seed=5000).returns.mean()


def test_the_trained_policy_regulates_better():
    """Two million steps of PPO: measured 453 of 500."""
    reached = evaluate(REGULATE, find_policy(REGULATE, "trained"), 64, seed=5000)
    assert reached.failures == [None] * 64 and reached.returns.mean() > 430.0


def test_rough_paper_shakes_the_whisker():
    """P80 as a relief raises the power above 550 Hz; the step is halved for it."""
    powers = []
    for slope in (0.0, 0.3):
        envs, task, simulation = made(REGULATE, 8, relief_slope=slope)
        assert task.animal.dt == (5e-6 if slope else 1e-5)
        envs.reset(seed=0, options={"memory_length": 20e-6, "distance": 0.985})
        for _ in range(150):
            envs.step(np.zeros((8, 2), np.float32))
        powers.append(simulation.rows["band_power"].copy())
    high = [(power[:, -2:].sum(1) / power.sum(1)).mean() for power in powers]
    assert high[1] > 3.0 * high[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"relief_slope": -1.0}, "relief_slope must be finite and at least 0 and at most 0.5"),
        ({"n_segments": 1}, "n_segments must be"),
        ({"actions": "torque"}, "actions must be one of plate, got 'torque'"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        gymnasium.make(REGULATE, **arguments)


def test_the_reference_scores_the_same_by_the_papers_solver():
    """One episode of keeping contact by each scheme."""
    scores = [
        evaluate(SWEEP, find_policy(SWEEP, "baseline"), 1, seed=3, scheme=scheme).returns[0]
        for scheme in ("midpoint", "published")
    ]
    assert scores[1] == pytest.approx(scores[0], rel=0.05)


@pytest.mark.parametrize("env_id", [TEXTURE, SWEEP, REGULATE])
def test_every_task_takes_the_papers_solver(env_id):
    env = gymnasium.make(env_id, scheme="published")
    env.reset(seed=0)
    assert env.unwrapped.task.animal.scheme == "published" and env.unwrapped.task.animal.dt == 50e-6
    for _ in range(5):
        *_, info = env.step(np.zeros(env.action_space.shape, np.float32))
    assert "failure" not in info
