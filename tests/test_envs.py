"""One battery over every id."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from gymnosoma.agents.evaluate import evaluate, find_policy
from gymnosoma.envs import CATALOGUE

IDS = [f"gymnosoma/{name}" for name, *_ in CATALOGUE]
pytestmark = pytest.mark.parametrize("env_id", IDS)


def parameter(env_id):
    """Name of a physical parameter of the animal; all are at least 0."""
    return gymnasium.make(env_id).unwrapped.task.animal.parameters[0]


def bang_bang(rng, shape):
    """Extreme actions that flip at random: the hardest that a policy can do."""
    return np.where(rng.random(shape) < 0.5, -1.0, 1.0).astype(np.float32)


def test_passes_gymnasiums_checker(env_id):
    env = gymnasium.make(env_id)
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec.max_episode_steps > 0


def test_documents_itself(env_id):
    text = type(gymnasium.make(env_id).unwrapped.task).__doc__
    headings = [line.strip() for line in text.splitlines() if line.strip().startswith("## ")]
    assert headings == [
        f"## {name}"
        for name in (
            "Description",
            "Action Space",
            "Observation Space",
            "Rewards",
            "Starting State",
            "Episode End",
            "Arguments",
            "Version History",
        )
    ]
    env = gymnasium.make(env_id)
    frames = env.unwrapped.bodies.frames.shape[1]
    size = env.unwrapped.task.layout.size
    assert f"({f'{frames} * {size}' if frames > 1 else size},)" in text


def test_same_seed_same_episode(env_id):
    def play():
        env = gymnasium.make(env_id)
        env.action_space.seed(3)
        out = [env.reset(seed=7)[0]]
        for _ in range(50):
            observation, reward, terminated, *_ = env.step(env.action_space.sample())
            out += [observation, [reward]]
            if terminated:
                break
        return np.concatenate(out)

    assert np.array_equal(play(), play())


def test_seeds_differ(env_id):
    env = gymnasium.make(env_id)
    assert not np.array_equal(env.reset(seed=1)[0], env.reset(seed=2)[0])


def test_a_saved_state_repeats_the_future(env_id):
    env = gymnasium.make(env_id).unwrapped
    env.reset(seed=5)
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (40, *env.action_space.shape))
    for action in actions[:8]:
        env.step(action)
    saved = pickle.loads(pickle.dumps(env.save()))

    def future(env):
        steps = []
        for action in actions[8:]:
            observation, reward, over, *_ = env.step(action)
            steps.append((observation, reward))
            if over:
                break
        return steps, env.reset()[0]

    first, opening = future(env)
    other = gymnasium.make(env_id).unwrapped
    other.restore(saved)
    second, again = future(other)
    assert all(np.array_equal(a[0], b[0]) and a[1] == b[1] for a, b in zip(first, second, strict=True))
    assert np.array_equal(opening, again)


def test_a_deep_copy_lives_on_by_itself(env_id):
    env = gymnasium.make(env_id).unwrapped
    env.reset(seed=5)
    actions = np.random.default_rng(0).uniform(-1, 1, (10, *env.action_space.shape))
    env.step(actions[0])
    twin = copy.deepcopy(env)
    first, second = ([e.step(action)[0] for action in actions[1:5]] for e in (env, twin))
    assert np.array_equal(first, second)
    assert env.unwrapped.bodies.rows["time"] == twin.bodies.rows["time"] > 0


def test_the_state_of_another_env_is_refused(env_id):
    env = gymnasium.make(env_id).unwrapped
    env.reset(seed=0)
    saved = env.save()
    with pytest.raises(ValueError, match="snapshot: rows"):
        env.restore(saved | {"rows": saved["rows"][:0]})
    with pytest.raises(ValueError, match="snapshot: memory"):
        env.restore(saved | {"memory": np.zeros(1)})
    other = next(name for name in IDS if name != env_id)
    with pytest.raises(ValueError, match="snapshot must be one of"):
        gymnasium.make(other).unwrapped.restore(saved)
    with pytest.raises(ValueError, match="snapshot must be one of"):
        env.restore(None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scheme": "euler"}, "scheme must be one of .* 'euler'"),
        ({"actions": "thoughts"}, "actions must be one of .* 'thoughts'"),
        ({"dt": -1.0}, "dt must be .* -1.0"),
        ({"dt": "fast"}, "dt must be .* 'fast'"),
        ({"threads": 1.5}, "threads must be an integer of at least 1, got 1.5"),
        ({"rate": 0.0}, "rate must be .* 0.0"),
        ({"rate": True}, "rate must be .* True"),
        ({"rate": 7.3}, "rate must divide"),
        ({"history": 0}, "history must be .* 0"),
        ({"randomize": {"colour": (0, 1)}}, "randomize: colour is not known; allowed are"),
        ({"randomize": 5}, "randomize must map names to .low, high."),
        ({"randomize": {"colour": 5}}, "randomize: colour must be .low, high."),
        ({"render_mode": "ansi"}, "render_mode"),
        ({"colour": 1}, "argument 'colour' is not known; allowed are actions, .*dt, .*history and randomize"),
    ],
)
def test_wrong_arguments_are_named(env_id, arguments, message):
    with pytest.raises((ValueError, gymnasium.error.Error), match=message):
        gymnasium.make(env_id, **arguments)


def test_swapped_bounds_are_named(env_id):
    name = parameter(env_id)
    with pytest.raises(ValueError, match=f"randomize: {name} must be .low, high."):
        gymnasium.make(env_id, randomize={name: (2, 1)})


def test_wrong_actions_are_named(env_id):
    env = gymnasium.make(env_id, disable_env_checker=True).unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(env.action_space.sample())
    env.reset(seed=0)
    size = env.action_space.shape[0]
    for bad, message in (
        (np.full(size, np.nan), "action must be finite"),
        (np.full(size, np.inf), "action must be finite"),
        (np.zeros(size + 1), "action must have shape"),
        (0.5, "action must have shape"),
        (["left"] * size, "action must be an array of real numbers"),
        (np.full(size, 0.5j), "action must be an array of real numbers"),
        ([[0.0], [0.0, 0.0]], "action must be an array of real numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            env.step(bad)
    observation = env.step(np.full(size, 5.0))[0]
    assert np.isfinite(observation).all()


def test_wrong_options_are_named(env_id):
    env, name = gymnasium.make(env_id), parameter(env_id)
    for options, message in (
        ({"colour": 1}, "options: colour is not known; allowed are"),
        ({name: -1.0}, f"options: {name} must be"),
        ({name: np.nan}, f"options: {name} must be within"),
        (5, "options must map names to values"),
        ({name: [1.0, 2.0]}, f"options: {name} must have shape"),
    ):
        with pytest.raises(ValueError, match=message):
            env.reset(seed=0, options=options)


def test_parameters_can_be_drawn_and_set(env_id):
    name = parameter(env_id)
    envs = gymnasium.make_vec(env_id, num_envs=8, randomize={name: (1e-9, 3e-9)})
    envs.reset(seed=0)
    drawn = envs.bodies.rows[name].copy()
    assert len(set(drawn)) == 8
    assert ((drawn >= 1e-9) & (drawn <= 3e-9)).all()
    given = np.linspace(1e-9, 2e-9, 8)
    envs.reset(seed=0, options={name: given})
    assert np.array_equal(envs.bodies.rows[name], given)
    envs.reset(seed=0)
    assert np.array_equal(envs.bodies.rows[name], drawn)


def soak(env_id, steps, seed):
    """Step many animals with random and bang-bang actions; count steps, collect failures."""
    count = 100
    envs = gymnasium.make_vec(env_id, num_envs=count)
    rng = np.random.default_rng(seed)
    observations, _ = envs.reset(seed=seed)
    reasons = set()
    low, high = envs.single_observation_space.low, envs.single_observation_space.high
    for k in range(steps // count):
        shape = (count, *envs.single_action_space.shape)
        actions = bang_bang(rng, shape) if k % 200 < 100 else rng.uniform(-1, 1, shape)
        observations, rewards, terminated, _, infos = envs.step(actions)
        assert ((observations >= low) & (observations <= high)).all()  # false for NaN, too
        assert np.isfinite(rewards).all()
        failed = infos.get("_failure", np.zeros(count, bool))
        reasons.update(infos["failure"][failed] if failed.any() else ())
        success = infos.get("is_success", np.zeros(count, bool))
        assert (failed | success.astype(bool))[terminated].all(), "an ending without a reason"
    return reasons


def test_random_and_bang_bang_actions(env_id):
    assert all(isinstance(reason, str) and reason for reason in soak(env_id, 100_000, 1))


@pytest.mark.slow
def test_a_million_random_and_bang_bang_actions(env_id):
    assert all(isinstance(reason, str) and reason for reason in soak(env_id, 1_000_000, 2))


def test_a_state_that_is_not_finite_ends_the_episode(env_id):
    envs = gymnasium.make_vec(env_id, num_envs=5)
    envs.reset(seed=0)
    envs.bodies.rows[parameter(env_id)][3] = np.nan
    actions = np.zeros(envs.action_space.shape)
    observations, rewards, terminated, _, infos = envs.step(actions)
    assert terminated.tolist() == [False, False, False, True, False]
    assert infos["failure"][3] in envs.task.animal.failures.values()
    assert infos["_failure"].tolist() == terminated.tolist()
    assert np.isfinite(observations).all() and np.isfinite(rewards).all()
    observations, *_, infos = envs.step(actions)
    assert np.isfinite(observations).all() and "failure" not in infos


def test_reference_finishes_its_episode(env_id):
    result = evaluate(env_id, find_policy(env_id, "baseline"), episodes=32)
    if "Stand" in env_id:  # the paper's reflex loses its balance more often than not
        assert set(result.failures) == {None, "the figure has fallen"}
        return
    assert result.failures == [None] * 32
    if "is_success" in result.info:
        assert result.info["is_success"].all()
