"""One battery over every id."""

import copy
import gc
import itertools
import math
import multiprocessing
import os
import pickle
import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.env_match import check_environments_match
from ids import ADDED, ALL, IDS
from pieces import future
from stable_baselines3.common.env_checker import check_env as check_with_sb3

from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.agents.policies.registry import references_of, task_of
from gymnosoma.envs.core.env.documentation import HEADINGS
from gymnosoma.envs.core.env.task import task_arguments

pytestmark = pytest.mark.parametrize("env_id", IDS)


def parameter(env_id):
    """Name of a physical parameter of the animal, one number of at least 0, and its value by default."""
    animal = gymnasium.make(env_id).unwrapped.task.animal
    name = next(name for name, option in animal.parameters.items() if not option.shape)
    return name, animal.rows(1)[name][0]


def bang_bang(rng, shape):
    """Extreme actions that flip at random: the hardest that a policy can do."""
    return np.where(rng.random(shape) < 0.5, -1.0, 1.0).astype(np.float32)


def test_passes_the_checkers_of_other_libraries(env_id):
    env = gymnasium.make(env_id)
    check_env(env.unwrapped, skip_render_check=True)
    check_with_sb3(env.unwrapped)
    check_environments_match(env, gymnasium.make(env_id), 5)
    assert env.spec.max_episode_steps > 0


def test_documents_itself(env_id):
    """The documentation of an id is whole, and agrees with the environment entry by entry."""
    env = gymnasium.make(env_id).unwrapped
    text, task = env.__doc__, env.task
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == [
        "Description",
        "Action Space",
        "Observation Space",
        "Rewards",
        "Starting State",
        "Episode End",
        "Arguments",
        "Version History",
    ]
    assert set(HEADINGS) < set(headings)
    default, *others = task.action_modes
    first = text.partition("## ")[0]
    assert ("actions are residuals" in first) == (default == "residual")
    if default == "residual":
        assert all(f'* ``actions="{mode}"``: ' in first for mode in others)
        make = re.search(rf'gymnasium.make\("{env_id}", actions="(\w+)"\)', first)
        assert gymnasium.make(env_id, actions=make[1]).unwrapped.task.actions in others
    frames, _, size = env.batch.frames.shape[1], *env.batch.frames.shape[1:]
    assert f"({f'{frames} * {size}' if frames > 1 else size},)" in text
    for mode in task.action_modes:
        fields = task.action_fields(mode)
        assert f'``actions="{mode}"``' in text and f"Box(-1, 1, ({sum(f.size for f in fields.values())},))" in text
        assert all(field.meaning in text and field.low < field.high for field in fields.values())
    assert sum(field.size for field in task.action_fields().values()) == env.action_space.shape[0]
    for name, field in task.layout.fields.items():
        assert re.search(rf"\| {name} +\| {re.escape(field.meaning)} ", text), name
    for name in {*task_arguments(type(task)), *task.options, *task.animal.parameters} - {*task.unavailable}:
        assert f"| ``{name}`` " in text, name
    for option in {**task.animal.parameters, **task.options}.values():
        assert option.meaning and option.unit and option.low < option.high
    for reason in [*(ending.reason for ending in task.endings.values()), *task.animal.failures.values()]:
        assert reason in text
    assert f"Episodes are truncated after {gymnasium.spec(env_id).max_episode_steps} steps" in text
    assert not re.search(r"\{[a-z_]+(:[^}\"]*)?\}", text.replace("{mode}", "")), "a placeholder was left"
    assert task.arguments.keys() == task_arguments(type(task)).keys()


def test_fields_and_signals_are_one_vocabulary(env_id):
    """What is observed under the name of a signal is that signal (but for a task's noise and delays)."""
    env = gymnasium.make(env_id, **({"noise": 0.0} if "noise" in signature_of(env_id) else {})).unwrapped
    env.reset(seed=0)
    for _ in range(3):
        env.step(np.full(env.action_space.shape, 0.3))
    task, rows = env.task, env.batch.rows
    sensed = task.hooks.sensed(rows, env.batch.memory)
    for name in task.layout.fields.keys() & task.animal.signals.keys():
        signal = task.animal.signal(rows, name).reshape(1, -1)
        assert np.array_equal(np.reshape(sensed[name], signal.shape), signal), name


def signature_of(env_id):
    """Arguments of an id's task."""
    return task_arguments(type(gymnasium.make(env_id).unwrapped.task))


def test_the_animal_senses_its_signals(env_id):
    animal = gymnasium.make(env_id).unwrapped.task.animal
    rows = animal.rows(3)
    for name in animal.signals:
        assert len(animal.signal(rows, name)) == 3
    assert "time" in animal.signals
    with pytest.raises(ValueError, match=r"signal 'colour' is not known; known are .*time"):
        animal.signal(rows, "colour")


@pytest.mark.parametrize("vector", [False, True])
def test_a_copy_lives_on_by_itself(env_id, vector):
    """Whether restored, copied deeply or pickled, it has the same future, and the same next episode."""

    def make():
        return gymnasium.make_vec(env_id, num_envs=4) if vector else gymnasium.make(env_id).unwrapped

    env, other = make(), make()
    actions = np.random.default_rng(0).uniform(-1, 1, (20, *env.action_space.shape))
    assert pickle.loads(pickle.dumps(env)).reset(seed=5)[0].shape == env.reset(seed=5)[0].shape
    for action in actions[:4]:
        env.step(action)
    other.restore(pickle.loads(pickle.dumps(env.save())))
    twins = [other, copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for action in actions[4:]:
        *own, info = env.step(action)
        for twin in twins:
            *seen, told = twin.step(action)
            assert all(map(np.array_equal, own, seen)) and info.keys() == told.keys()
            assert all(np.array_equal(info[name], told[name]) for name in info)
        if not vector and own[2]:
            break
    opening = env.reset()[0]
    assert all(np.array_equal(opening, twin.reset()[0]) for twin in twins)


def test_parameters_can_be_set_in_the_middle(env_id):
    envs, (name, _) = gymnasium.make_vec(env_id, num_envs=3), parameter(env_id)
    envs.reset(seed=0)
    values = envs.batch.rows[name] * [1.0, 1.1, 1.2]
    envs.set_parameters(**{name: values})
    assert np.array_equal(envs.task.animal.rows(3)[name] * 0 + envs.batch.rows[name], values)
    for wrong, message in (({"colour": 1.0}, "colour is not known; allowed are"), ({name: -1.0}, f"{name} must be")):
        with pytest.raises(ValueError, match=message):
            envs.set_parameters(**wrong)
    assert np.array_equal(envs.batch.rows[name], values)


def test_the_state_of_another_env_is_refused(env_id):
    env = gymnasium.make(env_id).unwrapped
    env.reset(seed=0)
    saved = env.save()
    with pytest.raises(ValueError, match="snapshot: rows"):
        env.restore(saved | {"rows": saved["rows"][:0]})
    with pytest.raises(ValueError, match="snapshot: memory"):
        env.restore(saved | {"memory": np.zeros(1)})
    other = next(name for name in ALL if name != env_id)
    with pytest.raises(ValueError, match="snapshot must be one of"):
        gymnasium.make(other).unwrapped.restore(saved)
    with pytest.raises(ValueError, match="snapshot must be one of"):
        env.restore(None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scheme": "euler"}, "scheme must be one of .* 'euler'"),
        ({"control_rate": 0.0}, "control_rate must be .* 0.0"),
        ({"control_rate": True}, "control_rate must be .* True"),
    ],
)
def test_wrong_arguments_are_named(env_id, arguments, message):
    with pytest.raises((ValueError, gymnasium.error.Error), match=message):
        gymnasium.make(env_id, **arguments)


def test_wrong_actions_are_named(env_id):
    env = gymnasium.make(env_id, disable_env_checker=True).unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(env.action_space.sample())
    env.reset(seed=0)
    size = env.action_space.shape[0]
    for bad, message in (
        (np.full(size, np.nan), "action must be finite"),
        (np.zeros(size + 1), "action must have shape"),
        (["left"] * size, "action must be an array of real numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            env.step(bad)
    observation = env.step(np.full(size, 5.0))[0]
    assert np.isfinite(observation).all()


def test_parameters_can_be_drawn_and_set(env_id):
    name, value = parameter(env_id)
    envs = gymnasium.make_vec(env_id, num_envs=8, randomize={name: (0.9 * value, 1.1 * value)})
    envs.reset(seed=0)
    drawn = envs.batch.rows[name].copy()
    assert len(set(drawn)) == 8
    assert ((drawn >= 0.9 * value) & (drawn <= 1.1 * value)).all()
    given = np.linspace(0.9, 1.0, 8) * value
    envs.reset(seed=0, options={name: given})
    assert np.array_equal(envs.batch.rows[name], given)
    envs.reset(seed=0)
    assert np.array_equal(envs.batch.rows[name], drawn)


def types(info):
    """Keys and types of an info."""
    return {name: (type(value), np.shape(value), getattr(value, "dtype", None)) for name, value in info.items()}


KINDS = {
    "random": lambda rng, k, held: rng.uniform(-1.0, 1.0, held.shape).astype(np.float32),
    "bang-bang": lambda rng, k, held: bang_bang(rng, held.shape),
    "alternating": lambda rng, k, held: held if k % 2 else -held,
    "constant": lambda rng, k, held: held,
}
"""Actions in step k by kind; ``held`` are extreme actions, drawn once per episode."""


def play(env, kind, seed):
    """Step one animal or many without end, one step per item; check observations, rewards and endings."""
    rng, alone = np.random.default_rng(seed), not hasattr(env, "num_envs")
    limit, reasons = env.observation_space.high.min(), env.unwrapped.failures
    env.reset(seed=seed)
    for k in itertools.count():
        if k % env.spec.max_episode_steps == 0:
            held = bang_bang(rng, env.action_space.shape)
        observation, reward, terminated, truncated, info = env.step(KINDS[kind](rng, k, held))
        assert np.abs(observation).max() <= limit  # false for NaN, too
        assert np.isfinite(reward).all()
        if np.any(terminated):
            codes = np.ravel(info["failure"])
            assert all(isinstance(reasons[code], str) and reasons[code] for code in codes[codes != 0])
            success = np.ravel(info.get("is_success", False)).astype(bool)
            assert ((codes != 0) | success)[np.ravel(terminated)].all(), "an ending without a reason"
        if alone and (terminated or truncated):
            env.reset()
        yield


def soak(env_id, steps, seed, **arguments):
    """Step many animals, so many steps with each kind of actions."""
    envs = gymnasium.make_vec(env_id, num_envs=100, **arguments)
    for kind in KINDS:
        list(itertools.islice(play(envs, kind, seed), steps // envs.num_envs))


def test_extreme_actions(env_id):
    soak(env_id, 5_000, 1)


@pytest.mark.slow
def test_all_action_modes_and_solvers(env_id):
    task = task_of(env_id)
    solvers = {name: values for name, values in task.animal.solvers.items() if name in task_arguments(type(task))}
    names, values = zip(*{"actions": task.action_modes, **solvers}.items(), strict=True)
    for each in itertools.product(*values):
        soak(env_id, 1_000, 3, **dict(zip(names, each, strict=True)))


SYSTEM = Path("/proc/self")
"""Linux's files about this process."""


def resident():
    """Resident memory of this process, MB."""
    return int((SYSTEM / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def forked(env, actions):
    """Future of an environment in a forked process."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(future(env, actions)))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    finally:
        receiver.close()
        process.join()
        process.close()


def copied(env, other, seed):
    """Take an environment and its copies, ``other`` among them, into one future: a pickle, the actions, the digest."""
    actions = bang_bang(np.random.default_rng(seed), (50, *env.action_space.shape))
    other.unwrapped.restore(env.unwrapped.save())
    pickled = pickle.dumps(env)
    alone = [forked(env, actions), *(future(each, actions) for each in (other, copy.deepcopy(env), pickled))]
    own = future(env, actions)
    assert alone == [own] * len(alone)
    gc.collect()  # environments are cycles
    return pickled, actions, own


@pytest.mark.slow
@pytest.mark.skipif(not SYSTEM.exists(), reason="it needs Linux's files about processes")
@pytest.mark.parametrize("count", [64, None], ids=["rows", "alone"])
def test_long_soak(env_id, count):
    """200,000 steps with each kind of actions in each action mode; those of 64 rows count together.

    After the first 10,000 steps, or the first episode, the memory grows by less than 2 MB, but for that of copies. In
    the middle, copies of all kinds have one future.
    """

    def make():
        return gymnasium.make_vec(env_id, count, actions=mode) if count else gymnasium.make(env_id, actions=mode)

    waiting = []
    for mode in task_of(env_id).action_modes:
        env, sizes, files, used = make(), [], set(), 0.0
        calls = math.ceil(10_000 / (count or 1))
        for kind in KINDS:
            run = play(env, kind, 4)
            for part in range(20):
                for _ in itertools.islice(run, calls if sizes else max(calls, env.spec.max_episode_steps + 1)):
                    pass
                if part == 10:
                    before = resident()
                    waiting.append(copied(env, make(), len(waiting)))
                    used += resident() - before
                sizes.append(resident() - used)
                files.add(len(os.listdir(SYSTEM / "fd")))
        growth = max(sizes) - sizes[0]
        print(f"{env_id}, {mode}, {count or 1} rows: {sizes[0]:.0f} + {growth:.2f} MB, {used:.2f} for copies, {files}")
        assert growth < 2.0 and len(files) == 1
    pickled, actions, own = zip(*waiting, strict=True)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.starmap(future, zip(pickled, actions, strict=True)) == list(own)


def test_a_state_that_is_not_finite_ends_the_episode(env_id):
    envs = gymnasium.make_vec(env_id, num_envs=5)
    _, first = envs.reset(seed=0)
    envs.batch.rows[parameter(env_id)[0]][3] = np.nan
    actions = np.zeros(envs.action_space.shape)
    observations, rewards, terminated, _, infos = envs.step(actions)
    assert terminated.tolist() == [False, False, False, True, False]
    assert envs.failures[infos["failure"][3]] in envs.task.animal.failures.values()
    assert (infos["failure"] != 0).tolist() == terminated.tolist()
    assert types(first) == types(infos)
    assert np.isfinite(observations).all() and np.isfinite(rewards).all()
    observations, *_, infos = envs.step(actions)
    assert np.isfinite(observations).all() and not infos["failure"].any() and types(first) == types(infos)
    env = gymnasium.make(env_id)
    _, first = env.reset(seed=0)
    env.unwrapped.batch.rows[parameter(env_id)[0]] = np.nan
    *_, info = env.step(np.zeros(env.action_space.shape, np.float32))
    assert info["failure"] and types(first) == types(info)


def test_reference_finishes_its_episode(env_id):
    if "baseline" not in references_of(env_id):
        return  # a task needs none
    # A hidden curl leads recorded worms astray that do not steer, a hidden load the limb that does not add up; and a
    # whisker lifts off that does not foresee the surface.
    name = next(
        (name for name in ("staged", "steered", "integral", "tracker") if name in references_of(env_id)), "baseline"
    )
    result = evaluate(env_id, find_policy(env_id, name), episodes=32)
    if "Stand" in env_id:  # the paper's reflex mostly loses its balance
        assert set(result.failures) <= {None, "the figure has fallen"}
        return
    if "WhiskerLocalize" in env_id:  # they answer, though not always right
        assert set(result.failures) <= {None, "a wrong answer was committed"}
        assert np.isfinite(result.info["committed"]).all()
        return
    assert result.failures == [None] * 32
    if any(ending.success for ending in task_of(env_id).endings.values()):
        assert result.info["is_success"].all()


def test_actions_come_back_from_drives(env_id):
    """In each mode that commands a drive; where it is late or changes slowly, after a while."""
    for mode in task_of(env_id).action_modes:
        env = gymnasium.make(env_id, **({} if env_id == ADDED[1] else {"actions": mode, "split": "paper"})).unwrapped
        if not env.task.drives or mode == "residual":
            continue
        env.reset(seed=0)
        action = 0.05 * np.random.default_rng(0).uniform(-1.0, 1.0, env.action_space.shape)
        for _ in range(60):
            drive = env.task.hooks.command(action[None], env.batch.rows, env.batch.memory)
        np.testing.assert_allclose(env.task.action_from_drive(drive)[0], action, atol=1e-6, err_msg=mode)


def test_zero_actions_are_the_animals_own_controller(env_id):
    """By default, alone and side by side; the controller's own actions are rounded to float32."""
    if env_id in ADDED:
        return
    own = find_policy(env_id, "baseline")
    envs, other = gymnasium.make_vec(env_id, num_envs=3), gymnasium.make_vec(env_id, num_envs=3, **own.env)
    env, agent, first = gymnasium.make(env_id), own.make(other, 0), np.ones(3, bool)
    (_, _), (observations, _), _ = envs.reset(seed=7), other.reset(seed=7), env.reset(seed=7)
    totals = np.zeros((2, 3))
    for _ in range(600):
        _, rewards, over, cut, _ = envs.step(np.zeros(envs.action_space.shape))
        assert rewards[0] == env.step(np.zeros(env.action_space.shape))[1]
        observations, owned, *_ = other.step(agent.act(observations, first))
        first[:] = False
        totals += rewards, owned
        if (over | cut).any():
            break
    assert totals[0] == pytest.approx(totals[1], rel=1e-4, abs=1e-5) and totals[0].std() > 0.0
