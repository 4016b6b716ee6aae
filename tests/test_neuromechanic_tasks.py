"""HindlimbHold and a user's own arm: goals, rewards, agents, pictures."""

from importlib import resources

import gymnasium
import numpy as np
import pytest

from gymnosoma.agents.evaluation.policies import evaluate, find_policy
from gymnosoma.envs import check_vector_env, register_model
from gymnosoma.envs.neuromechanic.hindlimb import PAW_FORCE, POSTURE, asset

pytestmark = pytest.mark.full

HOLD, ARM = "gymnosoma/HindlimbHold-v0", "gymnosoma/TestArm-v0"


@pytest.fixture(scope="module", autouse=True)
def arm():
    path = resources.files("gymnosoma.assets").joinpath("neuromechanic/arm.toml")
    register_model(ARM, str(path), goal=(0.3, 1.3))
    yield
    del gymnasium.registry[ARM]


def test_the_central_pattern_holds_without_pushes():
    envs = gymnasium.make_vec(HOLD, num_envs=4)
    envs.reset(seed=0, options={"push": 0.0})
    action = envs.task.action_from_drive(np.tile(envs.task.pattern, (4, 1)))
    for _ in range(200):
        _, rewards, terminated, _, infos = envs.step(action)
    assert not terminated.any()
    # Actions are float32: the posture is off by their rounding only.
    assert infos["posture_error"].max() < 1e-4
    assert np.abs(infos["paw_force"] - PAW_FORCE).max() < 1e-2
    assert rewards.min() > 0.95


def test_pushes_come_once_a_second_and_are_felt():
    env = gymnasium.make(HOLD).unwrapped
    env.reset(seed=3, options={"push": 4.0})
    action = env.task.action_from_drive(env.task.pattern[None])[0]
    pushed, moved = [], []
    for _ in range(500):
        env.step(action)
        force = env.simulation.rows["wrench"][0, 0, :3]
        assert np.linalg.norm(force) <= 4.0
        pushed.append(force.any())
        moved.append(np.abs(env.simulation.rows["v"][0]).max())
    begins = np.flatnonzero(np.diff(np.r_[0, pushed]) == 1)
    assert (begins // 100).tolist() == [0, 1, 2, 3, 4]
    assert np.max(moved) > 0.5


def test_agents_stand_in_the_order_of_their_stability():
    held = {
        name: evaluate(HOLD, find_policy(HOLD, name), episodes=16).info["held"]
        for name in ("baseline", "most_stable", "least_stress")
    }
    assert (held["baseline"] == 5.0).all()
    assert (held["most_stable"] == 5.0).all()
    assert np.mean(held["least_stress"]) < 1.0  # measured: 0.3 s


def test_residual_zero_is_the_baseline():
    scores = []
    for arguments in ({}, {"actions": "residual"}):
        envs = gymnasium.make_vec(HOLD, num_envs=3, **arguments)
        envs.reset(seed=1)
        pattern = np.tile(envs.task.pattern, (3, 1))
        action = np.zeros((3, 31)) if arguments else envs.task.action_from_drive(pattern)
        scores.append(np.mean([envs.step(action)[1] for _ in range(50)]))
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_stiffness_must_be_possible():
    with pytest.raises(ValueError, match=r"stiffness must be .* -1"):
        gymnasium.make(HOLD, stiffness=-1.0)


def test_both_schemes_agree():
    ends = []
    for arguments in ({"dt": 1e-4}, {"scheme": "rk4"}):
        envs = gymnasium.make_vec(HOLD, num_envs=2, **arguments)
        envs.reset(seed=5)
        action = envs.task.action_from_drive(np.tile(envs.task.pattern, (2, 1)))
        for _ in range(60):
            envs.step(action)
        ends.append(envs.simulation.rows["q"].copy())
    assert np.abs(ends[0] - POSTURE).max() > 1e-3
    assert np.abs(ends[0] - ends[1]).max() < 1e-3  # measured: 1e-4


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
            push = max(push, env.task.animal.contact_force(env.simulation.rows)[0, 0, 1])
        assert push > 1.0
        assert {"mass", "friction"} == set(env.task.animal.parameters)
        assert env.render().shape == (180, 320, 3)
    finally:
        del gymnasium.registry[env_id]


def test_a_users_arm_can_be_drawn():
    env = gymnasium.make(ARM, render_mode="rgb_array", width=320, height=180)
    env.reset(seed=0)
    before = env.render()
    for _ in range(20):
        env.step(env.action_space.sample())
    assert before.shape == (180, 320, 3)
    assert not np.array_equal(before, env.render())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"joint": "wrist"}, "joint must be one of upper, fore, got 'wrist'"),
        ({"goal": (1.0, 0.0)}, r"goal must be .low, high., got .1.0, 0.0."),
        ({"inputs": (1.0, 0.0)}, r"inputs must be .low, high."),
        ({"actions": "thoughts"}, "actions must be one of inputs, got 'thoughts'"),
        ({"model": {"schema": 1}}, "model.body must hold at least one body"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        gymnasium.make(ARM, **arguments)


def test_a_model_without_inputs_cannot_be_driven():
    model = asset("arm")
    for name in ("muscle", "neuron"):
        del model[name]
    with pytest.raises(ValueError, match=r"model must have at least one input.NAME, got none"):
        gymnasium.make(ARM, model=model)


@pytest.mark.slow
def test_a_users_arm_is_trained(tmp_path):
    """Step by step as a new user would: a file, an id, a short training, better than chance and the baseline."""
    pytest.importorskip("stable_baselines3")
    from gymnosoma.agents.learning.training import train

    train(ARM, tmp_path / "run", "ppo", steps=200_000, num_envs=32)
    trained = evaluate(ARM, find_policy(ARM, str(tmp_path / "run")), episodes=32).returns.mean()
    assert trained > evaluate(ARM, find_policy(ARM, "baseline"), episodes=32).returns.mean()
