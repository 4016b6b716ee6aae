"""Arguments of environments: each changes something, and survives a spec written as JSON."""

import dataclasses
import itertools
import re
import warnings

import gymnasium
import numpy as np
import pytest
from arguments import DISTRIBUTIONS, FILE, choices, examples, options
from gymnasium.envs.registration import EnvSpec
from ids import ADDED, ALL, FIRST

from gymnosoma.agents.policies.registry import task_class
from gymnosoma.envs import simulate, wrappers
from gymnosoma.envs.core.circuit.circuit import Circuit
from gymnosoma.envs.core.env.task import task_arguments
from gymnosoma.envs.core.model.animal import find_animal

SWIM, FOLLOW, ESCAPE = "gymnosoma/WormSwim-v0", "gymnosoma/WormFollow-v0", "gymnosoma/LampreyEscape-v0"
TIERS = [pytest.param(env_id, marks=pytest.mark.full if env_id in FIRST[::3] else pytest.mark.slow) for env_id in ALL]


def returns(env_id, arguments, make=wrappers.make):
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
    single |= set() if "action" in task.memory.names else {"smoothing"}
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


@pytest.mark.parametrize(
    "wrong", [{"args": [1e-9]}, {"distribution": "cauchy"}, {"distribution": "loguniform", "args": [1e-9]}]
)
def test_a_wrong_distribution_is_named(wrong):
    with pytest.raises(ValueError, match="randomize: mass: "):
        gymnasium.make(SWIM, randomize={"mass": wrong})


def course(env, seed, steps, options=None):
    """Yield what is observed and drawn in an episode, and the state of the body, with small actions."""
    rng, names = np.random.default_rng(seed), env.unwrapped.batch.rows.dtype.names
    observation, info = env.reset(seed=seed, options=options)
    yield [*flat(observation), *(np.asarray(value) for name, value in info.items() if options is None)]
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(rng.uniform(0.0, 1.0, env.action_space.shape))
        rows = env.unwrapped.batch.rows
        body = [rows[name] for name in ("rod_angle", "link_angle", "segment_angle", "q", "centre") if name in names]
        yield [*flat(observation), reward, *body, *(info.values() if options is None else ())]
        if terminated or truncated:
            break
    yield [np.asarray(env.render())] if env.render_mode else []


def same(one, other):
    return len(one) == len(other) and all(map(np.array_equal, one, other))


def differ(courses):
    """Whether two courses differ, which ends them."""
    return any(not same(one, other) for one, other in itertools.zip_longest(*courses, fillvalue=[]))


MODES = [
    pytest.param(
        env_id,
        mode,
        marks=[] if env_id in FIRST and not k and "Lamprey" not in env_id else pytest.mark.slow,
    )
    for env_id in ALL
    for k, mode in enumerate(task_class(env_id).action_modes)
]


@pytest.mark.parametrize(("env_id", "mode"), MODES)
def test_every_option_changes_something(env_id, mode):
    env = gymnasium.make(env_id, actions=mode).unwrapped if env_id != ADDED[1] else gymnasium.make(env_id).unwrapped
    for name, both in options(env):
        assert any(differ([course(env, seed, 150, each) for each in both]) for seed in range(8)), name
    for name in env.task.unavailable:
        with pytest.raises(ValueError, match="needs"):
            env.reset(options={name: 1.0})


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ALL)
def test_every_argument_changes_something(env_id):
    for needed, arguments in examples(env_id):
        try:
            base = wrappers.make(env_id, **needed)
        except ValueError:  # it cannot be without the argument
            continue
        both = base, wrappers.make(env_id, **needed, **arguments)
        assert any(differ([course(env, seed, 150) for env in both]) for seed in range(8)), arguments


@pytest.mark.parametrize(
    ("env_id", "arguments", "words"),
    [
        (SWIM, {"width": 80}, "width needs render_mode"),
        (SWIM, {"actions": "modes", "kymogram": "omega_turn"}, "kymogram needs actions='residual'"),
        (FOLLOW, {"turn": "delta_turn", "kymogram": "omega_turn"}, "turn must be left out"),
        (ESCAPE, {"actions": "muscle", "params": {"feedback": 0.0}}, "params: feedback needs a cord"),
        ("gymnosoma/WhiskerTap-v0", {"params": {"restitution": 0.5}}, "restitution needs scheme='events'"),
        ("gymnosoma/WhiskerWhisk-v0", {"friction": 0.2}, "friction needs a task with a peg"),
        ("gymnosoma/WhiskerSweep-v0", {"params": {"relief": 0.5}}, "relief of params needs a plate with a relief"),
    ],
)
def test_an_argument_without_effect_is_an_error(env_id, arguments, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        gymnasium.make(env_id, **arguments)


CIRCUITS = [(path.parts[-3], path.stem) for path in sorted(FILE["circuit"].parents[2].glob("*/circuits/*.toml"))]


@pytest.mark.parametrize(
    ("animal", "name"), [pytest.param(*each, marks=() if each[1] == "boyle" else pytest.mark.slow) for each in CIRCUITS]
)
def test_every_constant_of_a_circuit_changes_something(animal, name):
    circuit = Circuit.load(name, animal)
    kind = find_animal(animal)
    drive = np.full(kind(circuit=circuit).drive_size, 0.3)

    def run(changed):
        with warnings.catch_warnings(action="ignore"):
            return simulate(kind(circuit=changed), drive, 1.0, 0.05)["joint_angle"]

    usual = run(circuit)
    for member in (*circuit.populations, *circuit.projections):
        for field in dataclasses.fields(member):
            value = getattr(member, field.name)
            if isinstance(value, float) and value and not (field.name == "adaptation_delay" and not member.adaptation):
                changed = circuit.replace(**{member.name: {field.name: 0.8 * value}})
                assert not np.array_equal(run(changed), usual), (member.name, field.name)


@pytest.mark.parametrize("seed", [np.int64(5), np.uint8(5)])
def test_seeds_are_any_integers(seed):
    env, envs = gymnasium.make(SWIM), gymnasium.make_vec(SWIM, 1)
    observations = env.reset(seed=5)[0], env.reset(seed=seed)[0], envs.reset(seed=seed)[0][0]
    assert all(np.array_equal(each, observations[0]) for each in observations)
    assert env.unwrapped.np_random_seed == 5


@pytest.mark.parametrize("seed", [-1, np.int64(-1), 1.0, "5", True])
def test_other_seeds_are_refused(seed):
    for env in (gymnasium.make(SWIM), gymnasium.make_vec(SWIM, 1)):
        with pytest.raises(ValueError, match="seed must be an int of at least 0"):
            env.reset(seed=seed)
