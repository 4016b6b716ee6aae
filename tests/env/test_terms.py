"""Terms of rewards and successes in the info."""

import gymnasium
import numpy as np
import pytest
from ids import ADDED, IDS

from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.envs import tolerance
from gymnosoma.envs.core.env.environment import BodyEnv
from gymnosoma.envs.worm.tasks import Crawl


def assert_sums(task, infos, rewards):
    """Assert that the terms in infos add up to rewards."""
    terms = np.array([infos[name] for name in task.reward_fields])
    assert (np.abs(terms.sum(0) - rewards) <= 1e-12 * np.abs(terms).max(0)).all()
    return terms


def break_row(env, row):
    """Set the state of a row to values that no step survives."""
    rows = env.unwrapped.batch.rows
    for name in {"time", "q"} & {*rows.dtype.names}:
        rows[name][row] = np.nan


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
@pytest.mark.parametrize("env_id", IDS)
def test_terms_add_up_to_the_reward(env_id, mode):
    """Also in steps that fail, that end an episode and that begin one."""
    envs = gymnasium.make_vec(
        env_id, num_envs=4, vectorization_mode="vector_entry_point", max_episode_steps=13, autoreset_mode=mode
    )
    task, rng = envs.unwrapped.task, np.random.default_rng(0)
    assert len(task.reward_fields) or env_id in ADDED
    if not task.reward_fields:
        return
    _, infos = envs.reset(seed=0)
    assert not assert_sums(task, infos, 0.0).any()
    ended, failures = np.zeros(4, bool), 0
    for k in range(30):
        if k % 7 == 5:
            break_row(envs, 1)  # fails in this step
        _, rewards, terminated, truncated, infos = envs.step(rng.choice([-1.0, 1.0], envs.action_space.shape))
        over, final = terminated | truncated, infos
        if mode == "SameStep" and over.any():
            assert not np.any([infos[name][over] for name in task.reward_fields])
            final = {name: np.where(over, infos["final_info"][name], infos[name]) for name in task.reward_fields}
        terms = assert_sums(task, final, rewards)
        assert np.isfinite(terms).all() and (mode == "SameStep" or not terms[:, ended].any())
        ended, failures = over, failures + terminated[1]
    assert failures


@pytest.mark.parametrize("env_id", IDS)
def test_terms_of_a_single_environment(env_id):
    env, rng = gymnasium.make(env_id), np.random.default_rng(1)
    task = env.unwrapped.task
    if not task.reward_fields:
        return
    env.reset(seed=0)
    for k in range(20):
        if k == 19:
            break_row(env, 0)
        _, reward, _, _, info = env.step(rng.uniform(-1.0, 1.0, env.action_space.shape))
        assert_sums(task, info, reward)
    assert info["failure"]
    for name, text in task.reward_terms.items():
        assert f"``reward_{name}``" in env.unwrapped.__doc__ and text


def gain(key, scale):
    """Return a function for a term that is the increase of a quantity in the info."""
    return lambda task, old, new: scale(task) * (new[key] - old[key])


MEANINGS = {
    "WormSwim-v0": {
        "speed": gain("distance", lambda task: 1e3 * task.control_rate),
        "power": gain("energy", lambda task: -1e3 * task.control_rate * task.own_speed / (4.0 * task.own_power)),
    },
    "WormReach-v0": {"work": lambda task, old, new: -50.0 * new["muscle_work"] / task.own_energy},
    "WormEscape-v0": {"progress": gain("progress", lambda task: 100.0)},
    "WormFollow-v0": {"precision": lambda task, old, new: tolerance(new["error"], 0.0, 0.02e-3, 0.2e-3)},
    "LampreyEscape-v0": {
        "distance": gain("distance", lambda task: task.control_rate / task.length),
        "energy": gain("energy_spent", lambda task: -task.price * task.control_rate / task.length),
    },
    "WhiskerTap-v0": {"touch": gain("taps", lambda task: 25.0)},
}


@pytest.mark.parametrize("name", MEANINGS)
def test_terms_have_their_meaning(name):
    """Compared with other quantities in the info; the other terms are set directly."""
    env = gymnasium.make(f"gymnosoma/{name}")
    _, old = env.reset(seed=2)
    sums = dict.fromkeys(MEANINGS[name], 0.0)
    for _ in range(env.spec.max_episode_steps):
        *_, terminated, truncated, new = env.step(np.zeros(env.action_space.shape))
        for term, meaning in MEANINGS[name].items():
            if not new["failure"]:
                assert new[f"reward_{term}"] == pytest.approx(meaning(env.unwrapped.task, old, new), rel=1e-6, abs=1e-9)
                sums[term] += abs(new[f"reward_{term}"])
        old = new
        if terminated or truncated:
            break
    assert all(sums.values())


SUCCESSES = {
    "LampreyEconomy-v0": "wave",
    "WhiskerTap-v0": "remembers",
    "WhiskerHold-v0": "trained",
    "WhiskerWhisk-v0": "foresees",
    "WhiskerSweep-v0": "trained",
    "WhiskerRegulate-v0": "trained",
    "HindlimbHold-v0": "trained",
    "StandGains-v0": "trained",
}
"""Policies that often succeed, where a success does not end the episode."""


@pytest.mark.full
@pytest.mark.parametrize("name", SUCCESSES)
def test_successes_can_be_reached_but_not_by_chance(name):
    env_id = f"gymnosoma/{name}"
    trained = evaluate(env_id, find_policy(env_id, SUCCESSES[name]), episodes=16)
    chance = evaluate(env_id, find_policy(env_id, "random"), episodes=16, authority=1.0, smoothing=0.0)
    assert trained.info["is_success"].mean() > 0.2 > chance.info["is_success"].mean()


class Forward(Crawl):
    """A task that replaces the reward, and says nothing of its terms."""

    def return_so_far(self, row, memory):
        return 2.0 * super().return_so_far(row, memory)


def test_a_replaced_reward_has_no_inherited_terms():
    env = BodyEnv(f"{__name__}:Forward")
    assert not [name for name in env.reset(seed=0)[1] if name.startswith("reward_")]
    env.step(env.action_space.sample())


def test_an_entry_of_none_removes_a_field():
    class Blind(Crawl):
        observation_fields = {"direction": None}
        memory_fields = {"heat": None, "seen": "f8"}

    usual, blind = Crawl(), Blind()
    assert {*usual.layout.fields} - {*blind.layout.fields} == {"direction"}
    assert {*usual.memory.names} ^ {*blind.memory.names} == {"heat", "seen"}
