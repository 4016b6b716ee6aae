"""Residual actions: their share of the whole range, their filter, and what random ones cost."""

import gymnasium
import numpy as np
import pytest
from ids import IDS

from gymnosoma.agents.policies.agent import ConstantAgent, RandomAgent
from gymnosoma.agents.policies.evaluation import rollout
from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core.env.documentation import normaliser
from gymnosoma.envs.wrappers import DelayAction, make_vec

SWIM, TAP, LIMB = "gymnosoma/WormSwim-v0", "gymnosoma/WhiskerTap-v0", "gymnosoma/HindlimbHold-v0"


@pytest.mark.parametrize(("env_id", "smoothing"), [(SWIM, 0.1), (TAP, 0.03), (LIMB, 0.0)])
def test_actions_are_a_filtered_share_of_the_whole_range(env_id, smoothing):
    part = {"authority": 0.3, "smoothing": smoothing}
    env, whole = gymnasium.make(env_id, **part), gymnasium.make(env_id, authority=1.0, smoothing=0.0)
    envs = make_vec(env_id, num_envs=2, **part)
    env.reset(seed=1), whole.reset(seed=1), envs.reset(seed=[1, 2])
    weight = 1.0 - np.exp(-1.0 / (smoothing * env.unwrapped.task.control_rate)) if smoothing else 1.0
    command = np.zeros(env.action_space.shape)
    for action in np.random.default_rng(0).uniform(-1.0, 1.0, (20, *command.shape)):
        command += weight * (0.3 * action - command)
        observation, reward, *_ = env.step(action)
        assert reward == pytest.approx(whole.step(command)[1], rel=1e-9, abs=1e-12)
        observations, rewards, *_ = envs.step(np.tile(action, (2, 1)))
        assert observations[0].tobytes() == observation.tobytes() and rewards[0] == reward


def test_the_filtered_action_is_observed_in_units_of_the_authority():
    env = gymnasium.make(SWIM, authority=0.25, smoothing=0.1)
    layout = env.unwrapped.task.layout
    env.reset(seed=0)
    for _ in range(100):
        observation = env.step(np.full(6, 0.8))[0]
    np.testing.assert_allclose(observation[layout.slices["action"]], 0.8, rtol=1e-5)


def test_a_delay_and_the_filter_both_apply_once():
    late, env = DelayAction(gymnasium.make(SWIM), delay=2), gymnasium.make(SWIM)
    late.reset(seed=3), env.reset(seed=3)
    actions = np.random.default_rng(1).uniform(-1.0, 1.0, (10, 6))
    rewards = [late.step(action)[1] for action in actions]
    assert rewards == [env.step(action)[1] for action in [*np.zeros((2, 6)), *actions[:-2]]]


def test_values_and_actions_agree():
    for env_id in (SWIM, TAP, LIMB):
        task = gymnasium.make(env_id, authority=0.5).unwrapped.task
        actions = np.random.default_rng(2).uniform(-1.0, 1.0, (5, task.action_size))
        np.testing.assert_allclose(task.action_from_values(task.values(actions)), actions, atol=1e-6)


@pytest.mark.parametrize(
    ("env_id", "arguments", "message"),
    [
        (SWIM, {"authority": 0}, "authority must be finite and greater than 0 and at most 1, got 0"),
        (SWIM, {"authority": 1.5}, "authority must be .* at most 1, got 1.5"),
        (SWIM, {"smoothing": -1}, "smoothing must be finite and at least 0 and at most 10, got -1"),
        (SWIM, {"actions": "modes", "authority": 0.5}, "authority needs actions='residual', got 0.5 with .*'modes'"),
        (SWIM, {"actions": "angles", "smoothing": 0.1}, "smoothing needs actions='residual'"),
        (LIMB, {"smoothing": 0.1}, "smoothing must be 0 for HindlimbHold, whose memory has no field 'action', got 0.1"),
    ],
)
def test_arguments_without_effect_are_refused(env_id, arguments, message):
    with pytest.raises(ValueError, match=message):
        gymnasium.make(env_id, **arguments)


def cost_of(env_id, agent, episodes=32, seed=870_000):
    """Return the mean score and the mean return of an agent."""
    envs = make_vec(env_id, num_envs=episodes)
    played = rollout(envs, agent(envs.unwrapped.task.action_size), seed=seed)
    score = envs.unwrapped.task.score
    envs.close()
    return played.score(score).mean() * score.factor, played.returns.mean()


@pytest.mark.parametrize("env_id", IDS[: len(CATALOGUE)])
def test_random_actions_are_survivable(env_id):
    """They cost at most 0.3 of the scale. The mean of 256 episodes, 0.16 at most, is in the guide to training."""
    own, _ = cost_of(env_id, lambda size: ConstantAgent(np.zeros(size, np.float32)))
    disturbed, _ = cost_of(env_id, lambda size: RandomAgent(size, 5))
    scale = normaliser(env_id)
    assert (disturbed - own) / (scale["best"] - scale["floor"]) > -0.3


@pytest.mark.parametrize("env_id", IDS[: len(CATALOGUE)])
def test_observations_are_rarely_at_their_limits(env_id):
    envs, rng = make_vec(env_id, num_envs=32), np.random.default_rng(6)
    space, share, steps = envs.single_observation_space, 0.0, 300
    envs.reset(seed=880_000)
    for _ in range(steps):
        observations = envs.step(rng.uniform(-1.0, 1.0, envs.action_space.shape).astype(np.float32))[0]
        share += np.mean((observations <= space.low) | (observations >= space.high), 0) / steps
    envs.close()
    assert share.max() < 0.03
