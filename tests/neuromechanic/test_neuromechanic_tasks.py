"""HindlimbHold and a user's own arm: goals, rewards, agents, pictures."""

import json
from importlib import resources

import gymnasium
import numpy as np
import pytest

from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy, shipped
from gymnosoma.envs import check_vector_env, register_model
from gymnosoma.envs.neuromechanic.hindlimb import (
    LARGEST_REFLEX,
    PAW_FORCE,
    POSTURE,
    asset,
    stretch_reflex,
)

pytestmark = pytest.mark.full

HOLD, ARM = "gymnosoma/HindlimbHold-v0", "gymnosoma/TestArm-v0"
EXCITATION = {"actions": "excitation"}


@pytest.fixture(scope="module", autouse=True)
def arm():
    path = resources.files("gymnosoma.assets").joinpath("neuromechanic/arm.toml")
    register_model(ARM, str(path), goal=(0.3, 1.3))
    yield
    del gymnasium.registry[ARM]


def test_a_policy_of_an_own_arm_is_found(tmp_path):
    card = json.loads((shipped(HOLD) / "card.json").read_text("utf-8")) | {"id": ARM, "env": {"goal": (0.4, 1.0)}}
    (tmp_path / "card.json").write_text(json.dumps(card))
    assert find_policy(ARM, str(tmp_path)).env == {"goal": [0.4, 1.0]}
    (tmp_path / "card.json").write_text(json.dumps(card | {"env": {"goal": (1.0, 0.4)}}))
    with pytest.raises(ValueError, match=r"card.json': env: goal"):
        find_policy(ARM, str(tmp_path))


@pytest.mark.parametrize(("arguments", "stable"), [({"stiffness": 6.0}, True), ({}, False)])
def test_the_central_pattern_holds_stiff_muscles_without_pushes(arguments, stable):
    """With muscles as soft as the task's it is an equilibrium that is left, without feedback."""
    envs = gymnasium.make_vec(HOLD, num_envs=4, **EXCITATION, **arguments)
    envs.reset(seed=0, options={"push": 0.0, "load": 0.0})
    pattern = envs.task.action_from_drive(np.tile(envs.task.pattern, (4, 1)))
    for _ in range(200):
        _, rewards, terminated, _, infos = envs.step(pattern)
    assert not terminated.any()
    # Actions are float32: the posture is off by their rounding only.
    assert (infos["posture_error"].max() < 1e-4) == stable
    assert (rewards.min() > 0.95) == stable
    assert not stable or np.abs(infos["paw_force"] - PAW_FORCE).max() < 1e-2


def test_a_load_comes_and_stays():
    """Ramped in over 0.2 s, in a direction of its own in each episode; what pushes is told beside it."""
    envs = gymnasium.make_vec(HOLD, num_envs=3)
    envs.reset(seed=3, options={"push": 0.0, "load": 2.0})
    forces = []
    for _ in range(40):
        infos = envs.step(np.zeros((3, 7)))[-1]
        forces.append(envs.batch.rows["wrench"][:, 0, :3].copy())
        assert (infos["push"] == 0.0).all() and infos["load"] == pytest.approx(2.0)
    sizes = np.sqrt(np.sum(np.square(forces), 2))
    assert sizes[:, 0] == pytest.approx(np.minimum(0.1 * np.arange(40), 2.0))
    assert np.abs(forces[-1][0] - forces[-1][1]).max() > 0.1
    assert 0.005 < infos["posture_error"].mean() < 0.3


def test_the_integral_takes_away_what_a_load_bends():
    """Without pushes the reflex stays off the posture, and the integral comes back to it."""
    bent = {}
    for name in ("baseline", "integral"):
        envs = gymnasium.make_vec(HOLD, num_envs=8, **EXCITATION)
        agent = find_policy(HOLD, name).make(envs, 0)
        observations, _ = envs.reset(seed=5, options={"push": 0.0, "load": 2.0})
        for k in range(450):
            observations, *_, infos = envs.step(agent.act(observations, np.full(8, k == 0)))
        bent[name] = infos["posture_error"].mean()
    assert bent["integral"] < 0.2 * bent["baseline"]


def test_pushes_come_once_a_second_and_are_felt():
    env = gymnasium.make(HOLD, **EXCITATION).unwrapped
    env.reset(seed=3, options={"push": 4.0, "load": 0.0})
    action = env.task.action_from_drive(env.task.pattern[None])[0]
    pushed, moved = [], []
    for _ in range(500):
        info = env.step(action)[-1]
        force = env.batch.rows["wrench"][0, 0, :3]
        assert info["push"] == pytest.approx(np.linalg.norm(force)) and info["push"] <= 4.0
        pushed.append(force.any())
        moved.append(np.abs(env.batch.rows["v"][0]).max())
    begins = np.flatnonzero(np.diff(np.r_[0, pushed]) == 1)
    assert (begins // 100).tolist() == [0, 1, 2, 3, 4]
    assert np.max(moved) > 0.5


@pytest.mark.parametrize(("arguments", "periods"), [({}, 1), ({"delay": 0.0}, 0), ({"delay": 0.025}, 3)])
def test_senses_are_late(arguments, periods):
    """What is observed is what the joints and the paw were a delay ago, to the rounding of observations."""
    env = gymnasium.make(HOLD, **EXCITATION, **arguments).unwrapped
    assert env.task.moments == periods + 1
    observation, _ = env.reset(seed=0, options={"push": 30.0})
    rng, past = np.random.default_rng(0), []
    for _ in range(20):
        rows = env.batch.rows
        past.append([rows["q"][0] - POSTURE, rows["v"][0].copy(), rows["reaction"][0] - PAW_FORCE])
        known = env.task.layout.unpack(observation[None])
        then = past[max(len(past) - 1 - periods, 0)]
        for name, value in zip(("posture_error", "posture_rate", "force_error"), then, strict=True):
            bound = 10.0 * env.task.layout.fields[name].scale
            assert known[name][0] == pytest.approx(np.clip(value, -bound, bound), rel=1e-5, abs=1e-5)
        assert known["activation"][0] == pytest.approx(rows["activation"][0], abs=1e-6)
        action = env.task.pattern + rng.uniform(-0.2, 0.2, 31)
        observation = env.step(env.task.action_from_drive(action[None])[0])[0]
    assert np.abs(past[-1][0] - past[0][0]).max() > 1e-3


def test_the_reflex_excites_what_is_stretched():
    task = gymnasium.make(HOLD).unwrapped.task
    row = task.animal.rows(1)
    lengths = []
    for angle in (POSTURE, POSTURE + 1e-6):
        row["q"] = angle
        lengths.append(task.animal.mechanics(row)["length"])
    stretch = lengths[1] - lengths[0]
    excited = [stretch_reflex(arm, np.full(7, 1e-6), np.zeros(7), 40.0, 0.0) for arm in task.arm]
    assert excited == pytest.approx(40.0 * stretch, abs=1e-4 * 40.0 * np.abs(stretch).max())
    assert max(abs(stretch_reflex(arm, np.ones(7), np.ones(7))) for arm in task.arm) == LARGEST_REFLEX


def test_actions_move_the_posture_to_which_the_reflex_pulls():
    """At a rate, up to an end; what is saved goes on to the bit, and a shift beyond its end is refused."""
    envs = gymnasium.make_vec(HOLD, num_envs=3, authority=1.0)
    envs.reset(seed=0, options={"push": 0.0, "load": 0.0})
    task, action = envs.task, np.zeros((3, 7), np.float32)
    action[:, 1] = [0.0, 0.1, 1.0]
    for _ in range(20):
        envs.step(action)
    shift, moved = envs.batch.memory["shift"], envs.batch.rows["q"][:, 1] - POSTURE[1]
    assert shift[:, 1] == pytest.approx([0.0, 0.04, 0.4]) and not np.delete(shift, 1, 1).any()
    assert moved[0] < 0.0 < moved[1] < 0.05 < moved[2]
    kept, expected = envs.save(), envs.step(action)[0]
    other = gymnasium.make_vec(HOLD, num_envs=3, authority=1.0)
    other.reset(seed=1)
    other.restore(kept)
    assert np.array_equal(other.step(action)[0], expected)
    for _ in range(10):
        envs.step(action)
    assert envs.batch.memory["shift"][2, 1] == task.largest_shift


# A user's own model


def test_a_users_arm_is_an_environment():
    extra = {"max_episode_steps": 30}
    envs = gymnasium.make_vec(ARM, num_envs=5, **extra)
    ended = check_vector_env(envs, lambda: gymnasium.make(ARM, **extra), steps=80)
    assert ended >= 10
    better, chance = (
        evaluate(ARM, find_policy(ARM, name), episodes=32).returns.mean() for name in ("baseline", "random")
    )
    assert better > 1.5 * chance


def test_a_joint_whose_start_is_at_an_end_of_its_range_starts_inside():
    model, env_id = asset("arm"), "gymnosoma/TestEdge-v0"
    model["body"]["fore"]["joint"] |= {"start": 0.0, "range": [0.0, 2.0]}
    register_model(env_id, model)
    try:
        envs = gymnasium.make_vec(env_id, num_envs=64)
        observations, _ = envs.reset(seed=0)
        assert envs.task.layout.unpack(observations)["joint_angle"][:, -1].min() > 0.0499  # to float32
    finally:
        del gymnasium.registry[env_id]


def test_a_users_model_may_have_feet():
    """A leg that hops on a slider: its muscle presses the foot on the ground, and ground and foot are drawn."""
    model = {
        "schema": 1,
        "gravity": [0, -9.81, 0],
        "body": {
            "trunk": {
                "joint": {"type": "prismatic", "axis": [0, 1, 0], "start": 0.5},
                "inertial": {"mass": 3.0, "centre": [0, 0, 0], "inertia": [0, 0, 0]},
            },
            "leg": {
                "parent": "trunk",
                "joint": {"type": "revolute", "axis": [0, 0, 1], "start": 0.2, "range": [-1, 1]},
                "inertial": {"mass": 0.5, "centre": [0, -0.2, 0], "inertia": [0.01, 0, 0.01]},
            },
        },
        "motor": {"hip": {"joint": "leg", "from": "input.hip", "gain": 5.0}},
        "contact": {"foot": {"point": ["leg", 0, -0.5, 0], "friction": 0.5, "tangent": [1, 0, 0]}},
    }
    env_id = "gymnosoma/TestHop-v0"
    register_model(env_id, model, joint="leg", contacts="staggered")
    try:
        env = gymnasium.make(env_id, render_mode="rgb_array", width=320, height=180).unwrapped
        env.reset(seed=0, options={"friction": 0.9})
        push = 0.0
        for _ in range(5):
            env.step(-np.ones(1))
            push = max(push, env.task.animal.contact_force(env.batch.rows)[0, 0, 1])
        assert push > 1.0
        assert {"mass", "friction"} == set(env.task.animal.parameters)
        assert env.render().shape == (180, 320, 3)
    finally:
        del gymnasium.registry[env_id]


@pytest.mark.full
def test_joints_are_held_or_stopped_and_failures_name_them():
    model = asset("arm")
    model["body"]["fore"]["joint"]["range"] = [0.2, 1.2]
    kinds = {
        "end": {"ranges": "end"},
        "limit": {"ranges": "limit"},
        "ignore": {"ranges": "ignore"},
        "fixed": {"fixed": {"upper": 0.3}, "ranges": "ignore"},
    }
    ends = {}
    for name, arguments in kinds.items():
        env_id = f"gymnosoma/Range{name.capitalize()}-v0"
        register_model(env_id, model, 300, joint="fore", **arguments)
        env = gymnasium.make(env_id)
        env.reset(seed=1)
        over = False
        while not over:
            *_, ended, cut, info = env.step(np.array([-1.0, 1.0], np.float32))  # the biceps, with all its force
            over = ended or cut
        ends[name] = ended, env.unwrapped.failures[info["failure"]], *env.unwrapped.batch.rows["q"][0]
    assert ends["end"][:2] == (True, "joint fore has left its range, 0.2 to 1.2")
    assert not ends["limit"][0] and 1.2 < ends["limit"][3] < 1.35
    assert ends["ignore"][3] > 1.4 and abs(ends["fixed"][2] - 0.3) < 1e-6
    with pytest.raises(ValueError, match="fixed must be one of upper, fore"):
        gymnasium.make(env_id, fixed=["wrist"])
    with pytest.raises(ValueError, match="ranges must be one of end, limit, ignore"):
        gymnasium.make(env_id, ranges="stop")
    for name in kinds:
        del gymnasium.registry[f"gymnosoma/Range{name.capitalize()}-v0"]
