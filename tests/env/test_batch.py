"""The vector environment is bit for bit as many scalar ones."""

import itertools
import re

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from ids import ALL, FIRST, IDS

from gymnosoma.agents.policies.registry import task_class
from gymnosoma.envs import CATALOGUE, check_vector_env
from gymnosoma.envs.core.env.task import task_arguments
from gymnosoma.envs.core.model.animal import ANIMALS, find_animal

MODES = [mode.value for mode in AutoresetMode]
LONG = "LampreyEscape-v0", "LampreyWaypoints-v0", "WhiskerSweep-v0", "StandGains-v0"
"""Ids that compile the solver of another id of the animal anew."""


def hard(envs, seed=0):
    """Random and bang-bang actions in turn."""
    rng = np.random.default_rng(seed)

    def policy(_):
        actions = rng.uniform(-1, 1, envs.action_space.shape)
        return (np.sign(actions) if rng.random() < 0.5 else actions).astype(np.float32)

    return policy


def tier(env_id, mode):
    """All ways to begin anew for one id, one for the others; the rest, and what compiles long, only when asked."""
    if (mode != MODES[0] and env_id != FIRST[0]) or env_id.partition("/")[2] in LONG:
        return pytest.mark.slow
    return () if env_id in FIRST else pytest.mark.full


@pytest.mark.parametrize(
    ("env_id", "mode"), [pytest.param(*each, marks=tier(*each)) for each in itertools.product(ALL, MODES)]
)
def test_vector_equals_scalar(env_id, mode):
    animal = gymnasium.make(env_id).unwrapped.task.animal
    name = next(iter(animal.parameters))
    usual = float(animal.rows(1)[name].flat[0])
    extra = {"max_episode_steps": 12, "randomize": {name: (0.8 * usual, 1.25 * usual)}, "history": 2}
    envs = gymnasium.make_vec(env_id, num_envs=19, autoreset_mode=mode, **extra)
    ended = check_vector_env(envs, lambda: gymnasium.make(env_id, **extra), steps=45, policy=hard(envs))
    assert ended >= 19 * 3


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("count", [1, 3])
def test_infos_are_arrays_that_other_libraries_take(env_id, count):
    envs = gymnasium.make_vec(env_id, count, autoreset_mode="SameStep", max_episode_steps=2)
    infos = [envs.reset(seed=0)[1], *(envs.step(np.zeros(envs.action_space.shape))[-1] for _ in range(2))]
    for name, value in itertools.chain(*(info.items() for info in [*infos, infos[-1]["final_info"]])):
        if name not in ("final_obs", "final_info"):
            # torch refuses strides that are no multiple of the size of an entry
            assert value.flags.aligned and value.strides == np.empty(value.shape, value.dtype).strides, name


@pytest.mark.parametrize(
    ("arguments", "limit"), [({}, 400), ({"max_episode_steps": None}, 400), ({"max_episode_steps": -1}, np.inf)]
)
def test_the_time_limit_is_that_of_the_id(arguments, limit):
    assert gymnasium.make_vec("gymnosoma/WormSwim-v0", 1, **arguments)._limit == limit
    with pytest.raises(ValueError, match=r"max_episode_steps must be an integer .* 1\.5"):
        gymnasium.make_vec("gymnosoma/WormSwim-v0", 1, max_episode_steps=1.5)


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
                self.unwrapped.batch.rows["mass"][0] = np.nan
            return super().step(action)

    class SpoiltVector(gymnasium.vector.VectorWrapper):
        counts = np.zeros(6, int)

        def step(self, actions):
            inner = self.env.unwrapped
            late = inner.save()["needs_reset"]
            self.counts = self.counts + ~late
            spoil = ((self.counts + 3 * np.arange(6)) % 11 == 0) & ~late
            inner.batch.rows["mass"][spoil] = np.nan
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


SCHEMES = [
    pytest.param(
        env_id,
        name,
        marks=pytest.mark.slow if name in ("rk4", "published") else pytest.mark.full,
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


OWN_SCHEMES = {"whisker_chain": "events", "neuromechanic": "rk4"}
"""Scheme of the paper by animal; `published` for the others."""


@pytest.mark.full
@pytest.mark.parametrize("env_id", [f"gymnosoma/{entry.name}" for entry in CATALOGUE])
def test_the_papers_scheme_gives_the_animal_its_score(env_id):
    """Sums of the rewards' terms over 100 steps of the animal's own controller; a contact can begin a step late."""
    own = OWN_SCHEMES.get(task_class(env_id).__module__.split(".")[2], "published")
    if env_id == "gymnosoma/StandGains-v0":
        with pytest.raises(ValueError, match=r"scheme must be 'semi_implicit'.* for a model with contacts, got 'rk4'"):
            gymnasium.make(env_id, scheme=own)
        return
    sums = []
    for arguments in ({}, {"scheme": own}):
        env = gymnasium.make(env_id, **arguments)
        env.reset(seed=5)
        infos = [env.step(np.zeros(env.action_space.shape, np.float32))[4] for _ in range(100)]
        sums.append(np.array([[info[name] for name in info if name.startswith("reward_")] for info in infos]).sum(0))
    assert np.abs(sums[0]).sum() > 0.01
    assert np.abs(sums[1] - sums[0]).sum() < 0.03 * np.abs(sums[0]).sum()


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


@pytest.mark.parametrize("scheme", [{}, pytest.param({"scheme": "published", "dt": 1e-3}, marks=pytest.mark.slow)])
def test_threads_and_number_of_rows_do_not_matter(scheme):
    all_rows = trajectory(67, 1, **scheme)
    for count, threads in ((67, 2), (67, 3), (33, 2), (18, 1), (17, 1), (3, 1), (2, 1), (1, 1)):
        assert np.array_equal(all_rows[:count], trajectory(count, threads, **scheme)), (count, threads)


ROWS = 5

WRONG = {
    "ids must be within [0, 4], got [1, 5]": {"ids": np.array([1, 5])},
    "ids must be within [0, 4], got [0, 100000000]": {"ids": np.array([0, 10**8])},
    "ids must be within [0, 4], got [-1, 2]": {"ids": np.array([-1, 2])},
    "ids must name each row once, got [3, 3]": {"ids": np.array([3, 3])},
    "ids must be an array (A,) of integers, got [0.0, 1.5]": {"ids": np.array([0.0, 1.5])},
    "ids must be an array (A,) of integers, got [True, False]": {"ids": np.array([True, False])},
    "steps must be an integer from 1 to": {"steps": -5},
    "steps must be an integer from 1 to 281474976710656, got 1.5": {"steps": 1.5},
    "rows must be records (B,) of this animal": {"rows": lambda rows: rows.view(np.float64)},
    "rows must be records (B,) of this": {"rows": lambda rows: np.zeros(ROWS, [*rows.dtype.descr, ("more", float)])},
    "rows must be records (B,) of this animal, contiguous": {"rows": lambda rows: np.repeat(rows, 2)[::2]},
    "rows must be records (B,) of this animal, contiguous and": {
        "rows": lambda rows: np.frombuffer(rows.tobytes(), rows.dtype)
    },
    "stride must be an integer from 1 to": {"stride": 0},
    "offset must be an integer from -1 to": {"offset": -2},
    "records must have shape (5, N) with N over 9": {"offset": 7},
    "records must have shape (5, N) with N over 2": {"records": lambda records: records[:3]},
    "records must be an array of the animal's state": {"records": lambda records: records.view(np.uint8)},
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", ANIMALS)
def test_no_kernel_meets_what_is_outside_its_rows(name, wrong):
    """What was written outside of memory before is refused, and nothing is changed."""
    task = gymnasium.make(next(each for each in FIRST if task_class(each).__module__.split(".")[2] == name)).unwrapped
    animal = task.task.animal
    rows, ids = animal.rows(ROWS), np.array([3, 1], np.int32)
    animal.reset(rows, np.arange(ROWS))
    records, size = np.zeros((ROWS, 3), animal.state), animal.drive_size
    animal.advance(rows, ids, np.zeros((2, size)), np.int64(1))  # in any order, of any kind of integer
    given = {"rows": rows, "ids": ids, "steps": 1, "records": records, "offset": 0, "stride": 1}
    for key, value in WRONG[wrong].items():
        given[key] = value(given[key]) if callable(value) else value
    before = rows.copy(), records.copy()
    call = {key: given[key] for key in ("rows", "ids")}
    with pytest.raises(ValueError, match=re.escape(wrong)):
        animal.run(**call, drives=np.zeros((2, 2, size)), **{key: given[key] for key in list(given)[2:]})
    if wrong.startswith(("ids", "steps", "rows")):
        with pytest.raises(ValueError, match=re.escape(wrong)):
            animal.advance(**call, drive=np.zeros((2, size)), steps=given["steps"])
    assert np.array_equal(rows, before[0]) and np.array_equal(records, before[1])


def test_options_per_row_and_reset_mask():
    envs = gymnasium.make_vec("gymnosoma/WormEscape-v0", num_envs=4, autoreset_mode="Disabled", max_episode_steps=2)
    _, info = envs.reset(seed=0, options={"side": [1.0, -1.0, 1.0, -1.0]})
    assert info["side"].tolist() == [1.0, -1.0, 1.0, -1.0]
    for _ in range(2):
        *_, truncated, info = envs.step(np.zeros((4, 6)))
    assert truncated.all()
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.zeros((4, 6)))
    mask = np.array([True, False, False, True])
    _, info = envs.reset(options={"reset_mask": mask, "side": [-1.0, 1.0]})
    assert info["_side"].tolist() == mask.tolist()
    assert info["side"].tolist() == [-1.0, 0.0, 0.0, 1.0]
    fresh = gymnasium.make_vec("gymnosoma/WormCrawl-v0", num_envs=4, autoreset_mode="Disabled")
    with pytest.raises(gymnasium.error.ResetNeeded):
        fresh.reset(options={"reset_mask": mask})
    for bad in (np.zeros(4, bool), np.ones(3, bool), [True] * 4, np.ones(4)):
        with pytest.raises(ValueError, match="reset_mask"):
            envs.reset(options={"reset_mask": bad})


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_worker_processes(context):
    envs = gymnasium.make_vec(
        "gymnosoma:gymnosoma/WormCrawl-v0", num_envs=2, vectorization_mode="async", vector_kwargs={"context": context}
    )
    native = gymnasium.make_vec("gymnosoma/WormCrawl-v0", num_envs=2)
    try:
        assert np.array_equal(envs.reset(seed=0)[0], native.reset(seed=0)[0])
        actions = np.full((2, 6), 0.3, np.float32)
        assert np.array_equal(envs.step(actions)[0], native.step(actions)[0])
    finally:
        envs.close()
