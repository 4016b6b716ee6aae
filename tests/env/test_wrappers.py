"""Wrappers: vector form equals scalar form in all autoreset modes, with copies, pickles and Gymnasium's wrappers."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import FlattenObservation
from gymnasium.wrappers.vector import FlattenObservation as VectorFlattenObservation

from gymnosoma.envs import check_vector_env, wrappers

SWIM, REACH, WAYPOINTS = (f"gymnosoma/{name}-v0" for name in ("WormSwim", "WormReach", "LampreyWaypoints"))
ERRORS = {"noise": {"joint_angle": 0.05}, "dropout": {"joint_rate": 0.1}, "resolution": {"velocity": 1e-5}}
DELAYS = {"DelayObservation": {"delay": 2}, "DelayAction": {"delay": 1}}
NEAR = {"randomize": {"target_distance": (0.2e-3, 0.3e-3)}, "control_rate": 5.0}
CASES = [
    (SWIM, {"DisturbObservation": ERRORS, **DELAYS}, {}),
    (SWIM, {"ModeObservation": {"modes": 5}, "DisturbObservation": {"noise": {"joint_angle": 0.05}}}, {}),
    (SWIM, {"PixelObservation": {"size": 40}, "DelayObservation": {"delay": 1}}, {}),
    (REACH, {"DisturbObservation": ERRORS, "GoalObservation": {}}, NEAR),
    (REACH, {"ModeObservation": {}, "DelayAction": {"delay": 1}, "GoalObservation": {}}, NEAR),
    (WAYPOINTS, {"GoalObservation": {}}, {}),
]


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize(("env_id", "wrapped", "arguments"), CASES)
def test_vector_form_equals_scalar_form(env_id, wrapped, arguments, mode):
    arguments = {"max_episode_steps": 9, "history": 2, **arguments}

    def twin():
        env = wrappers.make(env_id, wrapped, **arguments)
        return FlattenObservation(env) if isinstance(env.observation_space, gymnasium.spaces.Dict) else env

    envs = wrappers.make_vec(env_id, 3, wrapped, autoreset_mode=mode, **arguments)
    if isinstance(envs.single_observation_space, gymnasium.spaces.Dict):
        if mode is AutoresetMode.SAME_STEP:
            pytest.skip("Gymnasium's wrapper does not support this mode; test_bend tests goals in it")
        envs = VectorFlattenObservation(envs)
    assert check_vector_env(envs, twin, steps=40) >= 9


@pytest.mark.parametrize("rows", [None, 3])
def test_copies_and_pickles_of_wrapped_environments(rows):
    wrapped = {"PixelObservation": {"size": 40}, **DELAYS}
    env = wrappers.make(SWIM, wrapped) if rows is None else wrappers.make_vec(SWIM, rows, wrapped)
    env.reset(seed=0)
    action = np.full(env.action_space.shape, 0.1)
    env.step(action)
    twins = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    expected = env.step(action)[0]
    for other in twins:
        np.testing.assert_array_equal(other.step(action)[0], expected)
