"""Whatever is given, an environment works or refuses it in a line: arguments, options, seeds, actions, snapshots."""

import copy
import json
import string
from functools import cache

import gymnasium
import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from ids import ALL, FIRST
from properties import DEFAULT, SLOW, TIERS, contents, holds, refusal

from gymnosoma.agents.learning.runs import read_config
from gymnosoma.agents.support.schema import plain
from gymnosoma.envs.core.env.task import task_arguments

EVERY = pytest.mark.parametrize(
    ("env_id", "tier"),
    [
        *[pytest.param(name, DEFAULT, id=f"{name}-default") for name in FIRST],
        *[pytest.param(name, SLOW, id=f"{name}-slow", marks=pytest.mark.slow) for name in ALL],
    ],
)

NUMBERS = st.one_of(
    st.floats(),
    st.integers(-3, 3),
    st.integers(),
    st.sampled_from([10**400, -(10**400), 2**62, 5e-324, 1.7e308, -0.0, np.float32(1), np.int8(1), np.array(1.0)]),
)
ODDITIES = [
    1j,
    object(),
    np.array("abc"),
    np.bool_(True),
    np.datetime64("NaT"),
    np.array([None]),
    [[1], [1, 2]],
    range(3),
]
ANYTHING = st.one_of(
    NUMBERS,
    st.none(),
    st.booleans(),
    st.text(max_size=20),
    st.binary(max_size=20),
    st.lists(st.one_of(st.floats(), st.none(), st.text(max_size=3)), max_size=4),
    st.dictionaries(st.text(max_size=3), st.floats(), max_size=2),
    npst.arrays(npst.scalar_dtypes(), npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)),
    st.sampled_from(ODDITIES),
)


@cache
def made(env_id, rows=None):
    """An environment, of which every example makes a new start."""
    if rows is None:
        return gymnasium.make(env_id, disable_env_checker=True).unwrapped
    return gymnasium.make_vec(env_id, num_envs=rows, max_episode_steps=5).unwrapped


def works(env, steps=2):
    """Assert that an environment stays finite for some steps, of another episode if this one has ended."""
    rng = np.random.default_rng(0)
    if isinstance(env, gymnasium.Env) and env.batch.needs_reset[0]:
        env.reset(seed=0)
    for _ in range(steps):
        observation, reward, terminated, _, info = env.step(rng.uniform(-1.0, 1.0, env.action_space.shape))
        assert env.observation_space.contains(observation) and np.isfinite(reward).all()
        for name, value in info.items():
            # What has not happened may be infinite, such as the time of an answer that was not given.
            assert np.asarray(value).dtype.kind not in "fc" or not np.isnan(value).any(), name
        if np.any(terminated):
            break


# Arguments

SHARED = ["history", "randomize", "threads", "width", "height", "render_mode"]
OF_VECTORS = ["num_envs", "autoreset_mode", "max_episode_steps"]


@EVERY
def test_any_argument(env_id, tier):
    names = [*task_arguments(type(made(env_id).task)), *SHARED]

    def check(name, value, rows):
        assume(name != "render_mode" or isinstance(value, str))  # where Gymnasium itself breaks
        arguments = {name: value} if rows is None else {"num_envs": rows, name: value}
        make = gymnasium.make if rows is None else gymnasium.make_vec
        try:
            env = make(env_id, **arguments).unwrapped
        except (ValueError, TypeError) as error:
            refusal(error, name)
            return
        env.reset(seed=0)
        works(env)
        env.close()

    holds(check, tier, 60, name=st.sampled_from(names), value=ANYTHING, rows=st.none())
    holds(check, tier, 25, name=st.sampled_from(names + OF_VECTORS), value=ANYTHING, rows=st.just(2))


# Options


@EVERY
@pytest.mark.parametrize("rows", [None, 3])
def test_any_option(env_id, rows, tier):
    env = made(env_id, rows)
    known = {**env.task.animal.parameters, **env.task.options}

    def check(data):
        name = data.draw(st.sampled_from([*known]))
        option = known[name]
        shape = option.shape if data.draw(st.booleans()) else (rows or 1, *option.shape)
        ends = st.sampled_from([option.low, option.high])
        inside = st.one_of(st.floats(option.low, option.high), ends)
        good = npst.arrays(np.float64, shape, elements=inside) if shape else inside
        beyond = [np.nextafter(option.low, -np.inf), np.nextafter(option.high, np.inf)]
        value = data.draw(st.one_of(good, ANYTHING, st.sampled_from(beyond)))
        env.reset(seed=0)
        before = contents(env)
        plain = type(value) in (int, float)
        try:
            env.reset(seed=1, options={name: value})
        except ValueError as error:
            if str(error).startswith("start: "):  # no such body can be
                return refusal(error)
            refusal(error, name)
            assert contents(env) == before
            within = plain and option.low <= value <= option.high
            assert not within or "follows from" in str(error), error
        else:
            assert not plain or option.low <= value <= option.high
            works(env)

    holds(check, tier, 120, data=st.data())


@EVERY
def test_any_bounds_of_randomize(env_id, tier):
    known = {**made(env_id).task.animal.parameters, **made(env_id).task.options}

    def check(data):
        name = data.draw(st.sampled_from([*known]))
        option = known[name]
        within = st.lists(st.floats(option.low, option.high), min_size=2, max_size=2)
        bounds = data.draw(st.one_of(within, within.map(sorted), st.lists(NUMBERS, max_size=3), ANYTHING))
        try:
            env = gymnasium.make(env_id, randomize={name: bounds}).unwrapped
        except ValueError as error:
            refusal(error, "randomize", name)
        else:
            assert option.shape == () or name in env.task.animal.parameters
            try:
                env.reset(seed=0)
            except ValueError as error:
                refusal(error, "start: plate_distance must")  # a rod so thick cannot be bent where the task puts it
            else:
                works(env)

    holds(check, tier, 40, data=st.data())


# Seeds and actions


@EVERY
@pytest.mark.parametrize("rows", [None, 3])
def test_any_seed(env_id, rows, tier):
    env = made(env_id, rows)
    whole = st.one_of(st.none(), st.integers(), st.integers(0, 2**32))

    def check(seed):
        try:
            first = env.reset(seed=seed)[0]
        except (ValueError, TypeError, gymnasium.error.Error) as error:
            refusal(error)
            assert "seed" in str(error).lower(), error
            return
        assert env.observation_space.contains(first)
        if isinstance(seed, int) and not isinstance(seed, bool):
            assert seed >= 0 and np.array_equal(first, env.reset(seed=seed)[0])

    holds(check, tier, 80, seed=st.one_of(whole, st.lists(whole, min_size=3, max_size=3), ANYTHING))


@EVERY
@pytest.mark.parametrize("rows", [None, 3])
def test_any_action(env_id, rows, tier):
    env = made(env_id, rows)
    shape = env.action_space.shape
    right = npst.arrays(st.one_of(npst.scalar_dtypes(), st.just(np.dtype("f8"))), shape)

    def check(action):
        env.reset(seed=0)
        before = contents(env)
        try:
            observation, reward, *_ = env.step(action)
        except ValueError as error:
            refusal(error, "action")
            assert contents(env) == before
        else:
            assert np.shape(action) == shape and env.observation_space.contains(observation)
            assert np.isfinite(reward).all()

    holds(check, tier, 80, action=st.one_of(right, right.map(np.ndarray.tolist), ANYTHING))


# Snapshots


@EVERY
@pytest.mark.parametrize("rows", [None, 3])
def test_any_snapshot(env_id, rows, tier):
    """What is not what `save` gives is refused by name, and nothing is changed; what is, has one future."""
    env = made(env_id, rows)
    env.reset(seed=5)
    works(env)
    saved = env.save()
    works(env, 3)
    later = contents(env)

    arrays = [name for name, part in saved.items() if isinstance(part, np.ndarray)]

    def check(data):
        snapshot = copy.deepcopy(saved)
        name = data.draw(st.sampled_from(arrays))
        part = snapshot[name]
        what = data.draw(st.sampled_from(["missing", "replaced", "entry", "cut", "kind"]))
        if what == "missing":
            del snapshot[name]
        elif what == "replaced":
            snapshot[name] = data.draw(ANYTHING)
        elif what == "cut":
            snapshot[name] = part[:-1]
        elif what == "kind":
            snapshot[name] = part.astype(object)
        else:
            field = part
            if part.dtype.names:
                name = data.draw(st.sampled_from(part.dtype.names))
                field = part[name]
            if field.size:
                place = data.draw(st.integers(0, field.size - 1))
                field.flat[place] = np.nan if field.dtype.kind == "f" else 1
        env.restore(saved)
        works(env, 1)
        before = contents(env)
        try:
            env.restore(snapshot)
        except ValueError as error:
            refusal(error, "snapshot", "")
            assert contents(env) == before
        else:
            if snapshot["generators"]:  # otherwise it is as of an environment without an episode
                works(env, 3)
                assert contents(env) == later or what in ("entry", "replaced")

    holds(check, tier, 120, data=st.data())


# Configurations of runs

CONFIG = {
    "id": "gymnosoma/WormSwim-v0",
    "algorithm": "ppo",
    "steps": 1000,
    "num_envs": 4,
    "seed": 0,
    "env": {"actions": "modes", "history": 2},
    "fingerprint": "0123456789abcdef",
    "settings": {"gamma": 0.99, "net_arch": [64, 64]},
    "versions": {"numpy": "2.0"},
}
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(string.printable, max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)


@TIERS
def test_any_config(tier, tmp_path):
    """A file is refused in a line that names it, and the key that is wrong, or is what `train` takes."""
    file = tmp_path / "config.json"

    def check(data):
        config = copy.deepcopy(CONFIG)
        name = data.draw(st.sampled_from([*config]))
        within = config[name]
        what = data.draw(st.sampled_from(["missing", "value", "entry", "added", "bytes"]))
        words = [name]
        if what == "missing":
            del config[name]
        elif what == "entry" and isinstance(within, dict):
            key = data.draw(st.one_of(st.sampled_from([*within]), st.text(max_size=5)))
            within[key] = data.draw(JSON)
        elif what == "added":
            key = data.draw(st.text(max_size=10))
            config[key] = data.draw(JSON)
            words = []
        else:
            config[name] = data.draw(JSON)
        text = json.dumps(config).encode()
        if what == "bytes":
            at = data.draw(st.integers(0, len(text) - 1))
            text = text[:at] + data.draw(st.binary(max_size=3)) + text[at + data.draw(st.integers(0, 3)) :]
            words = []
        file.write_bytes(text)
        try:
            found = read_config(tmp_path)
        except ValueError as error:
            refusal(error, "config.json", *(() if "numbers must be finite" in str(error) else words))
        else:
            assert what == "bytes" or plain(found) == json.loads(text)

    holds(check, tier, 400, data=st.data())
