"""What is returned belongs to the caller: nothing that comes later writes into it, and nothing given is written to."""

import contextlib
import inspect

import gymnasium
import ids
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from gymnosoma.agents import ConstantAgent, ControllerAgent, RandomAgent
from gymnosoma.agents.controllers import references, steering
from gymnosoma.agents.policies.registry import task_class
from gymnosoma.envs import simulate
from gymnosoma.envs.core.model.animal import Signals
from gymnosoma.envs.core.model.control import Controller
from gymnosoma.envs.worm.kymogram import KymogramPlayback, SineKymogram


def writable(array):
    return isinstance(array, np.ndarray) and (array.flags.writeable or writable(array.base))


def arrays(thing, seen=None):
    """All arrays that can be reached from a thing and that something could write to."""
    seen = {} if seen is None else seen
    if id(thing) in seen:
        return
    seen[id(thing)] = thing  # kept, so that no other thing gets its id
    if isinstance(thing, np.ndarray):
        if thing.dtype == object:
            yield from arrays(thing.tolist(), seen)
        elif thing.size and writable(thing):
            yield thing
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from arrays(value, seen)
    elif isinstance(thing, list | tuple):
        for value in thing:
            yield from arrays(value, seen)
    elif type(thing).__module__.startswith(("gymnosoma", "fixtures")) and not isinstance(thing, type):
        yield from arrays(getattr(thing, "__dict__", {}), seen)


def assert_apart(returned, *others):
    """No array of what was ``returned`` has memory in common with an array of the others."""
    theirs = list(arrays(list(others)))
    for array in arrays(returned):
        assert not any(np.shares_memory(array, other) for other in theirs)


def copies(thing):
    return [array.copy() for array in arrays(thing)]


def same(array, other):
    if array.dtype.names:  # between the fields may be anything
        return all(same(array[name], other[name]) for name in array.dtype.names)
    return array.tobytes() == other.tobytes()


def assert_unchanged(thing, kept):
    assert all(same(array, copy) for array, copy in zip(arrays(thing), kept, strict=True))


def made(env_id, count=3, **arguments):
    return gymnasium.make_vec(env_id, num_envs=count, **arguments)


def read(animal, rows):
    """All that an animal tells of rows: its signals, as they are asked for and as controllers get them, and methods."""
    senses = Signals(animal, rows)
    told = {name: (animal.signal(rows, name), senses[name]) for name in senses}
    for name, method in inspect.getmembers(type(animal), inspect.isfunction):
        needed = [p.name for p in inspect.signature(method).parameters.values() if p.default is p.empty][1:]
        if name == "neurons" and name not in animal.signals:
            continue  # this lamprey has no cord
        if needed in (["rows"], ["row"]) and not name.startswith("_"):
            told[name + "()"] = getattr(animal, name)(rows if needed == ["rows"] else rows[:1])
    return told


@pytest.mark.parametrize("env_id", ids.IDS)
def test_what_animals_tell(env_id):
    envs = made(env_id)
    envs.reset(seed=0)
    animal, rows = envs.task.animal, envs.batch.rows
    first = read(animal, rows)
    assert first
    kept = copies(first)
    assert_apart(first, envs, read(animal, rows))
    for _ in range(3):
        envs.step(envs.action_space.sample())
    animal.reset(rows, np.arange(3))
    assert_unchanged(first, kept)


@pytest.mark.parametrize("env_id", ids.IDS)
def test_trajectories(env_id):
    animal = made(env_id).task.animal
    drive, hold = np.zeros(animal.drive_size), 5 * animal.dt
    run = simulate(animal, drive, 3 * hold, hold=hold)
    first = [run.time, dict(run), run.rows]  # it knows its animal, too, which draws it
    kept = copies(first)
    assert kept
    assert_apart(first, animal, drive, simulate(animal, drive + 0.01, 3 * hold, hold=hold))
    assert_unchanged(first, kept)


def drives(env_id):
    """What drives a task's animal or plays the task: its references, waves and recordings, a person."""
    kind = task_class(env_id)
    for reference in references(kind).values():
        envs = made(env_id, **reference.env)
        yield envs, reference.make(envs.task)
    envs = made(env_id)
    yield envs, SineKymogram()
    yield envs, KymogramPlayback(np.zeros((9, 24)), rate=32.0)
    if steering(kind) is not None:
        with contextlib.suppress(ValueError):  # not every task of an animal can be steered
            yield envs, steering(kind)(envs.task)


@pytest.mark.parametrize("env_id", ids.IDS)
def test_controllers(env_id):
    for envs, controller in drives(env_id):
        act = controller.drive if isinstance(controller, Controller) else controller.choose
        observations, _ = envs.reset(seed=0)
        past = []
        for k in range(4):
            fields = envs.task.layout.unpack(observations)
            given = np.full(3, (k + 0.5) / envs.task.control_rate), fields, np.full(3, k == 0)
            before = copies(given)
            result = act(*given)
            assert_unchanged(given, before)
            assert_apart(given, controller)  # it may not remember what others will write to
            assert_apart(result, given, controller, [value for value, _ in past])
            past.append((result, copies(result)))
            observations, *_ = envs.step(envs.action_space.sample())
        for result, kept in past:
            assert_unchanged(result, kept)


@pytest.mark.parametrize("env_id", ids.IDS)
def test_agents(env_id):
    envs = made(env_id)
    size = envs.task.action_size
    players = [(envs, ConstantAgent(np.zeros(size, np.float32))), (envs, RandomAgent(size))]
    baseline = references(task_class(env_id)).get("baseline")
    if baseline is not None:
        envs = made(env_id, **baseline.env)
        players.append((envs, ControllerAgent(baseline.make(envs.task), envs.task)))
    for envs, agent in players:
        observations, _ = envs.reset(seed=0)
        first = agent.act(observations, np.ones(3, bool))
        kept = copies([first, observations])
        second = agent.act(envs.step(first)[0], np.zeros(3, bool))
        assert_apart([first, second], agent, envs, observations)
        assert_apart(first, second)
        assert_unchanged([first, observations], kept)


@pytest.mark.parametrize("mode", [*AutoresetMode, None])
@pytest.mark.parametrize("env_id", ids.IDS)
def test_environments(env_id, mode):
    """Resets, steps and snapshots of both environments, over ends of episodes in every mode; None is a scalar one."""
    if mode is None:
        episodes(gymnasium.make(env_id).unwrapped)
    else:
        episodes(made(env_id, autoreset_mode=mode, max_episode_steps=3))


def test_stacked_observations():
    episodes(gymnasium.make(ids.FIRST[0], history=2).unwrapped)
    episodes(made(ids.FIRST[0], max_episode_steps=3, history=2))


def episodes(env):
    past = []

    def note(*returned):
        assert_apart(returned, env, [value for value, _ in past])
        past.append((returned, copies(returned)))

    note(env.reset(seed=0))
    for k in range(7):
        action = env.action_space.sample()
        result = env.step(action)
        note(action, result)
        note(env.save())
        if k % 4 == 3:
            env.restore(past[-1][0][0])
        if isinstance(env, gymnasium.Env) and result[2]:
            note(env.reset())
        if getattr(env, "autoreset_mode", None) is AutoresetMode.DISABLED and (over := result[2] | result[3]).any():
            note(env.reset(options={"reset_mask": over}))
    for returned, kept in past:
        assert_unchanged(returned, kept)
