"""The task in a medium that changes: its table of sines, the animal's wave, and what adapts to the medium."""

import gymnasium
import numpy as np
import pytest

from gymnosoma.agents.policies.agent import ConstantAgent, Policy
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.envs.worm.kymogram import SineKymogram
from gymnosoma.envs.worm.media import AMPLITUDE, fastest_sines, of_medium
from gymnosoma.envs.worm.params import friction
from papers.worm.medium import best_sine, sines

ID = "gymnosoma/WormMedium-v0"


def in_medium(sigma, later=None, change=10.0, stay=100.0):
    """Options of a medium at the start, and another one from ``change`` s to the end, or for ``stay`` s."""
    media = {"light": sigma, "heavy": sigma if later is None else later, "direction": 1.0}
    return media | {"change_time": change, "stay": stay}


def own_wave(sigma):
    """Frequency and wavenumber of the zero action."""
    return np.array([of_medium(sigma, "frequency"), of_medium(sigma, "wavenumber")])


def wave(frequency, wavenumber):
    """Policy that commands a sine in episodes that start in a medium of 0.5."""

    def make(envs, _):
        own = own_wave(0.5)
        values = np.array([[np.log2(frequency / own[0]), wavenumber - own[1], 0.0]])
        return ConstantAgent(envs.unwrapped.task.action_from_values(values)[0])

    return Policy("wave", make, {"authority": 1.0, "smoothing": 0.0})


@pytest.mark.parametrize("k", [0, 5, 10])
def test_the_table_has_what_its_search_measures(k):
    table = fastest_sines()
    measured = sines(
        table["sigma"][k], *(table[name][k : k + 1] for name in ("frequency", "wavenumber")), np.array([0.6])
    )
    for name, values in measured.items():
        assert values[0] == pytest.approx(table[name][k], rel=5e-3)


@pytest.mark.full
def test_the_search_finds_the_table_again():
    found, table = best_sine(0.7), fastest_sines()
    for name, values in table.items():
        assert found[name] == pytest.approx(values[7], rel=5e-3)


def test_other_sines_are_slower():
    table = fastest_sines()
    for k in (0, 4, 8, 10):
        frequency = table["frequency"][k] * np.array([0.7, 1.4, 1.0, 1.0])
        wavenumber = table["wavenumber"][k] + np.array([0.0, 0.0, -0.3, 0.3])
        others = sines(table["sigma"][k], frequency, wavenumber, np.full(4, 0.6))
        assert others["speed"].max() < table["speed"][k]


def test_the_fastest_sine_has_a_reward_of_one():
    """Less the time from rest to its speed."""
    table = fastest_sines()
    for sigma in (0.3, 0.8):
        k = round(10 * sigma)
        policy = wave(table["frequency"][k], table["wavenumber"][k])
        result = evaluate(ID, policy, 8, options=in_medium(0.5, sigma, 0.0))
        assert result.info["net_progress"].mean() == pytest.approx(1.0, abs=0.08)
        assert result.returns == pytest.approx(400.0 * result.info["net_progress"])
        assert result.info["net_progress"] == pytest.approx(
            2.0 * result.info["relative_speed"] - result.info["relative_power"]
        )


def test_zero_actions_are_the_fastest_sine_of_the_first_medium():
    env = gymnasium.make(ID)
    env.reset(seed=1, options=in_medium(0.3, 0.9, 2.0))
    frequency, wavenumber = own_wave(0.3)
    sine, rows = SineKymogram(AMPLITUDE, wavenumber, 1.0 / frequency), env.unwrapped.batch.rows
    for k in range(80):
        env.step(np.zeros(3))
        if k > 20:  # before, the commands start from the bend of the body
            np.testing.assert_allclose(rows["control_angle"][0], sine(0.05 * (k + 0.5)), atol=1e-9)


def test_the_medium_changes_and_is_not_observed():
    env = gymnasium.make(ID)
    observations = []
    for later in (0.2, 0.9):
        observation, info = env.reset(seed=2, options=in_medium(0.2, later, 1.0, 0.3))
        seen, sigmas = [observation], [info["sigma"]]
        for _ in range(30):
            observation, *_, info = env.step(np.zeros(3))
            seen.append(observation), sigmas.append(info["sigma"])
            across = env.unwrapped.batch.rows["friction_perpendicular"][0]
            assert across == pytest.approx(float(friction(info["sigma"])[0]))
        observations.append(seen)
        assert sigmas == [0.2] * 21 + [later] * 6 + [0.2] * 4
    equal = [np.array_equal(*both) for both in zip(*observations, strict=True)]
    assert all(equal[:21]) and not equal[21]
    assert "velocity" not in env.unwrapped.task.layout.fields


@pytest.mark.parametrize("split", [None, "train", "test"])
def test_one_medium_is_light_and_the_other_heavy(split):
    envs = gymnasium.make_vec(ID, num_envs=64, vectorization_mode="vector_entry_point", split=split)
    envs.reset(seed=4)
    first, later = envs.unwrapped.batch.memory["media"].T
    light, heavy = np.minimum(first, later), np.maximum(first, later)
    assert 0.0 <= light.min() < light.max() <= 0.5 and 0.8 <= heavy.min() < heavy.max() <= 1.0
    assert 0.3 < np.mean(first < later) < 0.7
    if split == "test":
        assert np.all(np.minimum(light, 0.5 - light) <= 0.05) and np.all(np.minimum(heavy - 0.8, 1.0 - heavy) <= 0.02)


def test_actions_change_the_wave():
    env = gymnasium.make(ID, authority=1.0, smoothing=0.0)
    env.reset(seed=3, options=in_medium(1.0))
    observation, *_ = env.step(np.array([0.4, -0.5, -1.0]))
    task = env.unwrapped.task
    frequency, wavenumber = own_wave(1.0)
    expected = [2.0 * frequency, wavenumber - 1.6, 0.6 * 2.0**-0.8]
    np.testing.assert_allclose(task.layout.unpack(observation[None])["wave"][0], expected, rtol=1e-6)


def test_what_feels_its_joints_adapts():
    """From agar to water and back, for which the animal's own wave does not adapt."""
    for media in ((1.0, 0.1), (0.1, 1.0)):
        options = in_medium(*media, 4.0)
        own, adaptive = (
            evaluate(ID, find_policy(ID, name), 8, options=options).info["net_progress"].mean()
            for name in ("baseline", "adaptation")
        )
        assert adaptive > own + 0.3


@pytest.mark.full
def test_the_circuit_adapts_its_gait():
    speed = [
        evaluate(ID, find_policy(ID, "boyle"), 8, options=in_medium(0.5, sigma, 4.0)).info["net_progress"].mean()
        for sigma in (0.1, 0.9)
    ]
    assert min(speed) > 0.2


def test_friction_is_that_of_the_medium():
    with pytest.raises(ValueError, match="friction_parallel needs a task without ``light``"):
        gymnasium.make(ID).reset(options={"friction_parallel": 1.0})
