"""Arguments of environments: each changes something, and survives a spec written as JSON."""

import gymnasium
import numpy as np
import pytest
from arguments import DISTRIBUTIONS, FILE, choices, examples
from gymnasium.envs.registration import EnvSpec
from ids import ADDED, ALL, FIRST

from gymnosoma.envs.core.env.task import task_arguments

SWIM = "gymnosoma/WormSwim-v0"
TIERS = [pytest.param(env_id, marks=pytest.mark.full if env_id in FIRST else pytest.mark.slow) for env_id in ALL]


def returns(env_id, arguments, make=gymnasium.make):
    """Make an environment, and another from its spec as JSON; assert that they start equal episodes."""
    env = make(env_id, **arguments)
    text = env.spec.to_json()
    again = make(EnvSpec.from_json(text))
    assert again.spec.to_json() == text and again.observation_space == env.observation_space
    for seed in (3, None):
        observations = [each.reset(seed=seed)[0] for each in (env, again)]
        for one, other in zip(*map(flat, observations), strict=True):
            assert np.array_equal(one, other)


def flat(observation):
    return observation.values() if isinstance(observation, dict) else [observation]


@pytest.mark.parametrize("env_id", TIERS)
def test_arguments_survive_json(env_id):
    tried = set()
    for needed, arguments in examples(env_id):
        returns(env_id, needed | arguments)
        tried |= arguments.keys()
    task = gymnasium.make(env_id).unwrapped.task
    single = {name for name, values in choices(task).items() if len(values) == 1}
    single |= set() if "peg_place" in task.options else {"friction"}  # which needs a peg
    assert env_id in ADDED or tried | single >= task_arguments(type(task)).keys()


@pytest.mark.parametrize("arguments", [{"randomize": DISTRIBUTIONS}, FILE])
def test_objects_survive_json(arguments):
    returns(SWIM, arguments)
    returns(SWIM, {"num_envs": 3, "autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP, **arguments}, make_vec)


def make_vec(env_id, **arguments):
    return gymnasium.make_vec(env_id, **arguments)


def test_code_is_not_written_as_json():
    env = gymnasium.make(SWIM, randomize={"mass": lambda rng: 1e-9})
    with pytest.raises(ValueError, match=r"randomize must be plain data .* function"):
        env.spec.to_json()


@pytest.mark.parametrize("wrong", [{"low": 1e-9}, {"distribution": "Beta"}, {"distribution": "Uniform", "low": 1e-9}])
def test_a_wrong_distribution_is_named(wrong):
    with pytest.raises(ValueError, match="randomize: mass: "):
        gymnasium.make(SWIM, randomize={"mass": wrong})
