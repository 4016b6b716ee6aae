"""The vector environment is bit for bit as many scalar ones."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from ids import FIRST, IDS

from gymnosoma.agents.evaluation.policies import task_class
from gymnosoma.envs import check_vector_env
from gymnosoma.envs.core.animal import find_animal
from gymnosoma.envs.core.simulation import task_arguments

MODES = [mode.value for mode in AutoresetMode]


def hard(envs, seed=0):
    """Random and bang-bang actions in turn."""
    rng = np.random.default_rng(seed)

    def policy(_):
        actions = rng.uniform(-1, 1, envs.action_space.shape)
        return (np.sign(actions) if rng.random() < 0.5 else actions).astype(np.float32)

    return policy


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env_id", IDS)
def test_vector_equals_scalar(env_id, mode):
    animal = gymnasium.make(env_id).unwrapped.task.animal
    name = next(iter(animal.parameters))
    usual = float(animal.rows(1)[name].flat[0])
    extra = {"max_episode_steps": 35, "randomize": {name: (0.8 * usual, 1.25 * usual)}, "history": 2}
    envs = gymnasium.make_vec(env_id, num_envs=19, autoreset_mode=mode, **extra)
    ended = check_vector_env(envs, lambda: gymnasium.make(env_id, **extra), steps=120, policy=hard(envs))
    assert ended >= 19 * 3


@pytest.mark.parametrize("mode", MODES)
def test_vector_equals_scalar_over_failures(mode):
    """Spoilt states end episodes at different times in different rows."""
    env_id = "gymnosoma/WormSwim-v0"

    class Spoilt(gymnasium.Wrapper):
        def __init__(self, env, row):
            super().__init__(env)
            self.row, self.count = row, 0

        def step(self, action):
            self.count += 1
            if (self.count + 3 * self.row) % 11 == 0:
                self.unwrapped.simulation.rows["mass"][0] = np.nan
            return super().step(action)

    class SpoiltVector(gymnasium.vector.VectorWrapper):
        counts = np.zeros(6, int)

        def step(self, actions):
            inner = self.env.unwrapped
            late = inner.save()["done"]
            self.counts = self.counts + ~late
            spoil = ((self.counts + 3 * np.arange(6)) % 11 == 0) & ~late
            inner.simulation.rows["mass"][spoil] = np.nan
            return super().step(actions)

    rows = iter(range(6))
    envs = SpoiltVector(gymnasium.make_vec(env_id, num_envs=6, autoreset_mode=mode, max_episode_steps=25))
    ended = check_vector_env(
        envs, lambda: Spoilt(gymnasium.make(env_id, max_episode_steps=25), next(rows)), steps=80, policy=hard(envs)
    )
    assert ended > 30


def schemes(env_id):
    """All schemes of an id's animal but the default."""
    kind = task_class(env_id)
    solvers = find_animal(kind.__module__.split(".")[2]).solvers["scheme"]
    return [name for name in solvers if name != task_arguments(kind)["scheme"]]


ROD = ("gymnosoma/WhiskerTexture-v0", "published")
SCHEMES = [
    pytest.param(
        env_id, name, marks=pytest.mark.slow if name == "published" and "Texture" in env_id else pytest.mark.full
    )
    for env_id in FIRST[:5]
    for name in schemes(env_id)
]
"""But the rod's equations in steps of their own (`test_a_whisker_does_not_depend_on_its_neighbours`)."""


@pytest.mark.parametrize(("env_id", "scheme"), SCHEMES)
def test_vector_equals_scalar_under_every_scheme(env_id, scheme):
    extra = {"max_episode_steps": 6, "scheme": scheme}
    envs = gymnasium.make_vec(env_id, num_envs=19, autoreset_mode="NextStep", **extra)
    ended = check_vector_env(envs, lambda: gymnasium.make(env_id, **extra), steps=15, policy=hard(envs))
    assert ended >= 19


def trajectory(count, threads, steps=60, **arguments):
    envs = gymnasium.make_vec(
        "gymnosoma/WormCrawl-v0", num_envs=count, threads=threads, max_episode_steps=25, **arguments
    )
    actions = np.random.default_rng(0).uniform(-1, 1, (steps, 67, *envs.single_action_space.shape))
    out = [envs.reset(seed=3)[0]]
    for k in range(steps):
        observations, rewards, *_ = envs.step(actions[k, :count])
        out += [observations, rewards[:, None]]
    return np.concatenate(out, 1)


@pytest.mark.parametrize("scheme", [{}, {"scheme": "published", "dt": 1e-3}])
def test_threads_and_number_of_rows_do_not_matter(scheme):
    all_rows = trajectory(67, 1, **scheme)
    for count, threads in ((67, 2), (67, 3), (33, 2), (18, 1), (17, 1), (3, 1), (2, 1), (1, 1)):
        assert np.array_equal(all_rows[:count], trajectory(count, threads, **scheme)), (count, threads)


def test_the_checker_finds_a_difference():
    env_id = "gymnosoma/WormCrawl-v0"
    envs = gymnasium.make_vec(env_id, num_envs=3)
    with pytest.raises(AssertionError, match="reward of row 0 at step 0"):
        check_vector_env(envs, lambda: gymnasium.make(env_id, dt=2.5e-3), steps=5)
    with pytest.raises(AssertionError, match="ending of row"):
        check_vector_env(envs, lambda: gymnasium.make(env_id, max_episode_steps=3), steps=5)
    with pytest.raises(AssertionError, match="observation_space"):
        check_vector_env(envs, lambda: gymnasium.make(env_id, history=2), steps=5)


def test_the_checker_checks_other_peoples_environments():
    envs = gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync")
    assert check_vector_env(envs, lambda: gymnasium.make("CartPole-v1"), steps=100) > 0


def test_options_per_row_and_reset_mask():
    envs = gymnasium.make_vec("gymnosoma/WormMedium-v0", num_envs=4, autoreset_mode="Disabled", max_episode_steps=2)
    _, info = envs.reset(seed=0, options={"sigma": [0.0, 0.25, 0.5, 1.0]})
    assert info["sigma"].tolist() == [0.0, 0.25, 0.5, 1.0]
    for _ in range(2):
        *_, truncated, info = envs.step(np.zeros((4, 24)))
    assert truncated.all()
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.zeros((4, 24)))
    mask = np.array([True, False, False, True])
    _, info = envs.reset(options={"reset_mask": mask, "sigma": [0.1, 0.2]})
    assert info["_sigma"].tolist() == mask.tolist()
    assert info["sigma"].tolist() == [0.1, 0.0, 0.0, 0.2]
    fresh = gymnasium.make_vec("gymnosoma/WormMedium-v0", num_envs=4, autoreset_mode="Disabled")
    with pytest.raises(gymnasium.error.ResetNeeded):
        fresh.reset(options={"reset_mask": mask})
    for bad in (np.zeros(4, bool), np.ones(3, bool), [True] * 4, np.ones(4)):
        with pytest.raises(ValueError, match="reset_mask"):
            envs.reset(options={"reset_mask": bad})


def test_episode_statistics_of_gymnasium():
    envs = RecordEpisodeStatistics(gymnasium.make_vec("gymnosoma/WormCrawl-v0", num_envs=3, max_episode_steps=10))
    envs.reset(seed=0)
    total = np.zeros(3)
    for _ in range(10):
        _, rewards, *_, infos = envs.step(np.ones((3, 24)))
        total += rewards
    assert infos["_episode"].all()
    assert infos["episode"]["l"].tolist() == [10, 10, 10]
    np.testing.assert_allclose(infos["episode"]["r"], total, rtol=1e-6)


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_worker_processes(context):
    envs = gymnasium.make_vec(
        "gymnosoma:gymnosoma/WormCrawl-v0", num_envs=2, vectorization_mode="async", vector_kwargs={"context": context}
    )
    native = gymnasium.make_vec("gymnosoma/WormCrawl-v0", num_envs=2)
    try:
        assert np.array_equal(envs.reset(seed=0)[0], native.reset(seed=0)[0])
        actions = np.full((2, 24), 0.3, np.float32)
        assert np.array_equal(envs.step(actions)[0], native.step(actions)[0])
    finally:
        envs.close()
