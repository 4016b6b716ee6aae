"""The model's parameters, events and signals, as every environment takes them."""

import dataclasses
import importlib.util
import pickle

import gymnasium
import numpy as np
import pytest
from fixtures.pendulum.animal import Pendulum, PendulumParams
from ids import IDS
from properties import contents

from gymnosoma.envs import Event, simulate
from gymnosoma.envs.core.arguments import fingerprint
from gymnosoma.envs.core.env.environment import read_actions
from gymnosoma.envs.core.model import quantities
from gymnosoma.envs.lamprey import Lamprey
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.model import changed
from gymnosoma.envs.neuromechanic.standing import standing
from gymnosoma.envs.whisker_chain import Whisker
from gymnosoma.envs.whisker_rod import WhiskerRod
from gymnosoma.envs.worm import SineKymogram, Worm, WormParams, load_kymogram

CHANGES = {
    Worm: {"damping": 2e-11, "mass": 3e-9},
    Lamprey: {"damping": 2.5e-3, "mass": [0.02] * 10},
    Whisker: {"link_mass": [3e-8] * 13, "length": 0.05},
    WhiskerRod: {"damping": 2.0, "density": 2000.0},
    Pendulum: {"length": 1.5},
}
"""Fields of the params of animals, other than usual; of an animal that is not here, all of its parameters."""

OTHERS = {Lamprey: ("drive", "circuit"), WhiskerRod: ("relief",)}
"""What else the tasks say of their animals, beside the time step and the scheme."""

BY_FIELDS = [case for case in IDS if not case.values[0].partition("/")[2].startswith(("Hindlimb", "Stand"))]


def make(env_id, **arguments):
    return gymnasium.make(env_id, disable_env_checker=True, **arguments).unwrapped


def play(env, steps, seed=7):
    """Small actions, the same for all environments."""
    rng = np.random.default_rng(seed)
    return [env.step(0.1 * rng.uniform(-1.0, 1.0, env.action_space.shape)) for _ in range(steps)]


def rows_of(env):
    return {name: value for name, value in contents(env).items() if name.startswith("rows")}


def same(one, other):
    assert contents(one) == contents(other)


@pytest.mark.parametrize("env_id", BY_FIELDS)
def test_params_are_those_of_the_animal(env_id):
    """Object and mapping do the same, which is what the animal does that is built with them; another animal differs."""
    usual = make(env_id)
    animal = usual.task.animal
    kind = next((kind for kind in type(animal).__mro__ if kind in CHANGES), type(animal))
    change = CHANGES.get(kind) or {name: 0.99 * getattr(animal.params, name) for name in animal.parameters}
    own = {name: tuple(value) if isinstance(value, list) else value for name, value in change.items()}
    params = dataclasses.replace(animal.params, **own)
    mapped, given = make(env_id, params=change), make(env_id, params=params)
    for env in (usual, mapped, given):
        env.reset(seed=3)
    assert mapped.task.animal.params == params
    extra = {name: getattr(animal, name) for name in OTHERS.get(kind, ())}
    alone = type(animal)(params=params, dt=animal.dt, scheme=animal.scheme, **extra)
    rows, fresh = given.batch.rows.copy(), alone.rows(1)
    for name in alone.parameters:  # what a task draws or sets is so whatever the params are
        drawn = name not in change and np.array_equal(usual.batch.rows[name], rows[name])
        assert drawn or np.array_equal(fresh[name], rows[name]), name
    action, task = np.full((1, given.task.action_size), 0.1, np.float32), given.task
    limited = action.astype(float)
    read_actions(action, np.zeros_like(limited), task.authority, task.smoothing_weight, limited)
    drive = task.hooks.command(limited, rows, given.batch.memory.copy())
    alone.advance(rows, np.arange(1), drive, given.batch.steps)
    for env in (usual, mapped, given):
        env.step(action[0])
    same(mapped, given)
    found = given.batch.rows
    for name in found.dtype.names:
        assert np.array_equal(rows[name], found[name]), name
    assert rows_of(usual) != rows_of(given)
    mapped.restore(given.save())


@pytest.mark.full
def test_params_of_the_platform_are_values_of_its_model(tmp_path):
    env_id = "gymnosoma/StandGains-v0"
    change = {"body": {"torso": {"inertial": {"mass": 50.0}}}}
    file = tmp_path / "change.toml"
    file.write_text("[body.torso.inertial]\nmass = 50.0\n")
    usual, mapped, read = make(env_id), make(env_id, params=change), make(env_id, params=str(file))
    task = usual.task
    model = standing(delay=task.longest_delay, largest_torque=task.largest_torque)
    model["platform"]["pulse"] *= task.pushes
    alone = Neuromechanic(changed(model, change), task.animal.dt)
    for env in (usual, mapped, read):
        env.reset(seed=1)
        play(env, 15)
    assert fingerprint(alone.model) == fingerprint(mapped.task.animal.model) != fingerprint(task.animal.model)
    same(mapped, read)
    assert rows_of(usual) != rows_of(mapped)


@pytest.mark.full
def test_a_muscle_of_the_hindlimb_is_weakened():
    params = {"muscle": {"mg": {"model": {"max_force": 1.0}}}}
    usual, weak = make("gymnosoma/HindlimbHold-v0"), make("gymnosoma/HindlimbHold-v0", params=params)
    muscle = usual.task.animal.model.muscles.index("mg")
    force = [env.task.animal.signal(env.batch.rows, "muscle_force")[0] for env in (usual, weak) if env.reset(seed=0)]
    assert force[1][muscle] < 0.1 * force[0][muscle]


@pytest.mark.parametrize(
    ("env_id", "arguments", "message"),
    [
        (
            "WormSwim-v0",
            {"params": {"stifness": 1.0}},
            "params: 'stifness' is not known; allowed are n_rods, .*damping",
        ),
        ("WormSwim-v0", {"params": {"damping": -1.0}}, r"params: damping must be within \[0, .*got -1.0"),
        ("WormFollow-v0", {"kymogram": "no.csv"}, "kymogram: .*no.csv.* cannot be read"),
        ("WormFollow-v0", {"kymogram": np.full((3, 24), 4.0)}, "kymogram must be within .*rad, got"),
        ("StandGains-v0", {"params": {"gravity": [0, 0]}}, "params: model.gravity must be"),
        ("StandGains-v0", {"params": "no.toml"}, "params 'no.toml' cannot be read"),
    ],
)
def test_wrong_arguments_are_told(env_id, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(f"gymnosoma/{env_id}", **arguments)


def test_a_kymogram_of_ones_own(tmp_path):
    """It is followed, added to, and played by the reference; from a file as from an array."""
    angles = load_kymogram("delta_turn")[:40]
    file = tmp_path / "own.csv"
    np.savetxt(file, angles, delimiter=",", fmt="%.18g")
    envs = [make("gymnosoma/WormFollow-v0", kymogram=given) for given in (angles, str(file), angles.tolist())]
    for env in envs:
        env.reset(seed=0)
        play(env, 2)
        same(env, envs[0])
    assert len(envs[0].task.path) == 41
    crawl = make("gymnosoma/WormCrawl-v0", kymogram=angles, control_rate=32.0, dt=0.1 / 32.0)
    crawl.reset(seed=0, options={"friction_parallel": 3.2e-5, "friction_perpendicular": 1.28e-3})
    for _ in range(3):
        crawl.step(np.zeros(6, np.float32))
    step = crawl.task.fastest / 32.0
    assert np.abs(crawl.batch.rows["control_angle"][0] - angles[2]).max() <= step
    assert np.array_equal(crawl.task.reference().drive(np.array([3.5 / 32]), {}, np.array([False]))[0], angles[3])


def test_a_cord_of_ones_own():
    env = make("gymnosoma/LampreyEscape-v0", actions="brainstem", circuit={"head_segments": 20, "ends": "clamp"})
    other = make("gymnosoma/LampreyEscape-v0", actions="brainstem", circuit={"ends": "clamp"})
    assert env.task.animal.circuit == other.task.animal.circuit.replace(head_segments=20)
    for each in (env, other):
        each.reset(seed=0)
        play(each, 5)
    assert rows_of(env) != rows_of(other)
    in_the_loop = [make("gymnosoma/LampreyEscape-v0", circuit=given) for given in ({}, {"head_segments": 30})]
    for each in in_the_loop:
        each.reset(seed=0)
        play(each, 5)
    assert rows_of(in_the_loop[0]) != rows_of(in_the_loop[1])


# Events


def a_parameter(env):
    """Name, two values within its range, and its value, of a parameter that any row may change."""
    animal = env.task.animal
    name = "damping" if "damping" in animal.parameters else next(iter(animal.parameters))
    usual = env.batch.rows[name][0].copy()
    return name, 0.5 * usual, 0.75 * usual, usual


@pytest.mark.parametrize("env_id", IDS)
def test_an_event_is_a_parameter_set_at_its_time(env_id):
    """To the bit; also in a copy of a moment before or after it, and for each of many rows."""
    hand, env, copy = make(env_id), make(env_id), make(env_id)
    env.reset(seed=2)
    name, first, second, usual = a_parameter(env)
    period = 1.0 / env.task.control_rate
    events = [{"time": 3 * period, name: first}, Event(1.5 * period, {name: second})]
    hand.reset(seed=2)
    env.reset(seed=2, options={"events": events})
    rng, saved = np.random.default_rng(0), {}
    actions = 0.1 * rng.uniform(-1.0, 1.0, (5, *env.action_space.shape))
    for k, action in enumerate(actions):
        if k in (2, 3):
            hand.set_parameters(**{name: second if k == 2 else first})
        by_hand, by_event = hand.step(action), env.step(action)
        assert np.array_equal(by_hand[0], by_event[0]) and by_hand[1:4] == by_event[1:4]
        assert rows_of(hand) == rows_of(env)
        saved[k] = env.save()
    assert not np.array_equal(env.batch.rows[name][0], usual)
    for k in (1, 2, 4):
        copy.restore(pickle.loads(pickle.dumps(saved[k])))
        for action in actions[k + 1 :]:
            copy.step(action)
        same(copy, env)
    vector = gymnasium.make_vec(env_id, num_envs=2).unwrapped
    shape = np.shape(usual)
    values = np.stack([np.broadcast_to(first, shape), np.broadcast_to(second, shape)])
    vector.reset(seed=[2, 2], options={"events": [{"time": 1.5 * period, name: values}]})
    hand.reset(seed=2)
    for k, action in enumerate(actions):
        if k == 2:
            hand.set_parameters(**{name: second})
        hand.step(action)
        vector.step(np.stack([action, action]))
    for field in hand.batch.rows.dtype.names:
        assert np.array_equal(hand.batch.rows[field][0], vector.batch.rows[field][1]), field


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_events_end_with_their_episode(mode):
    vector = gymnasium.make_vec(
        "gymnosoma/PendulumUp-v0", num_envs=3, max_episode_steps=3, autoreset_mode=mode
    ).unwrapped
    vector.reset(seed=0, options={"events": [{"time": 0.05, "length": [1.1, 1.2, 1.3]}, {"time": 0.5, "length": 9.0}]})
    seen = []
    for _ in range(14):
        *_, truncated, _ = vector.step(np.zeros((3, 1)))
        seen.append(vector.batch.rows["length"].tolist())
        if mode == "Disabled" and truncated.any():
            vector.reset(options={"reset_mask": truncated})
    after = {"NextStep": 3, "SameStep": 2, "Disabled": 3}[mode]
    assert seen[0] == [1.0] * 3 and seen[1] == [1.1, 1.2, 1.3]
    assert all(lengths == [1.0] * 3 for lengths in seen[after:])
    assert vector.save()["events"] == [[], [], []]


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([{"time": 1.0}], r"events\[0\] must set something; allowed are length"),
        ([{"time": 1.0, "legth": 1.0}], r"events\[0\]: 'legth' is not known; allowed are length"),
        ([{"length": 1.0}], r"events\[0\]: time must be .*at least 0, got None"),
    ],
)
def test_wrong_events_are_told_before_anything_changes(events, message):
    env = make("gymnosoma/PendulumUp-v0")
    env.reset(seed=0)
    before = contents(env)
    with pytest.raises(ValueError, match=f"^options: {message}"):
        env.reset(seed=1, options={"events": events})
    assert contents(env) == before
    with pytest.raises(ValueError, match=f"^{message}"):
        simulate(Pendulum(), [0.0], 2.0, hold=0.05, events=events)


def test_events_of_simulate():
    """What is before an event is as without it; what comes after is another simulation that starts there."""
    wave = SineKymogram.for_medium(0.0)
    worm = Worm(WormParams.in_medium(0.0))
    plain, run = (
        simulate(worm, wave, 0.4, hold=0.01, events=events)
        for events in ([], [Event(0.195, {"friction_parallel": 0.1})])
    )
    assert np.array_equal(plain["joint_angle"][:21], run["joint_angle"][:21])
    assert not np.array_equal(plain["joint_angle"][21], run["joint_angle"][21])
    rows, ids = worm.rows(1), np.arange(1)
    worm.reset(rows, ids)
    for k in range(40):
        if k == 20:
            rows["friction_parallel"] = 0.1
        worm.advance(rows, ids, wave((k + 0.5) * 0.01)[None], 2)
    assert np.array_equal(worm.signal(rows, "joint_angle")[0], run["joint_angle"][-1])
    with pytest.raises(ValueError, match=r"events: time must be within \[0, 0.4\] s, got 0.5"):
        simulate(worm, wave, 0.4, events=[Event(0.5, {"mass": 1e-9})])


def test_signals_of_an_environment():
    env = make("gymnosoma/PendulumUp-v0").unwrapped
    env.reset(seed=0)
    assert env.signal("angle") == env.batch.rows["angle"][0]
    vector = gymnasium.make_vec("gymnosoma/PendulumUp-v0", num_envs=2)
    vector.reset(seed=0)
    assert vector.signal("angle").shape == (2,)
    with pytest.raises(ValueError, match="angel' is not known; did you mean angle"):
        env.signal("angel")
    with pytest.raises(TypeError, match=r"'signals'; call env.unwrapped.signal\(name\) instead"):
        make("gymnosoma/PendulumUp-v0", signals=["rate"])


def test_a_specification_and_a_copy_hold_the_params():
    env = gymnasium.make("gymnosoma/PendulumUp-v0", params={"length": 1.5})
    for other in (
        gymnasium.make(env.spec),
        pickle.loads(pickle.dumps(env)),
        gymnasium.make(env.spec.from_json(env.spec.to_json())),
    ):
        assert other.unwrapped.task.animal.params == PendulumParams(1.5)
        other.reset(seed=0)
        assert other.unwrapped.batch.rows["length"] == 1.5


def test_a_changed_table_changes_the_defaults(monkeypatch):
    table = quantities.read_table
    monkeypatch.setattr(quantities, "read_table", lambda path: {**table(path), "state_strength": 0.05})
    spec = importlib.util.find_spec("gymnosoma.envs.whisker_rod.params")
    params = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(params)
    assert params.WhiskerRodParams().state_strength == 0.05
