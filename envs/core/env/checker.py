"""Checker for vector environments, as a supplement to Gymnasium's ``check_env``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv


def check_vector_env(
    envs: VectorEnv,
    twin: Callable[[], gymnasium.Env],
    steps: int = 1000,
    seed: int = 0,
    policy: Callable[[Any], Any] | None = None,
) -> int:
    """Compare a vector environment with scalar environments step by step: spaces, values, resets, infos.

    All comparisons are exact. Any Gymnasium vector environment with array spaces can be checked if row i, seeded with
    ``seed + i``, should equal a scalar environment with this seed.

    Args:
        envs: Vector environment, with its reset mode in ``metadata["autoreset_mode"]``.
        twin: Function that makes the scalar environment.
        steps: Number of steps.
        seed: Seed of the first row.
        policy: Function from observations to actions of all rows; random actions by default.

    Returns:
        int: Number of episodes that ended; if 0, resets were not tested.

    Raises:
        AssertionError: If a value differs; the message includes the row and the step.
    """
    mode = envs.metadata.get("autoreset_mode")
    _check(isinstance(mode, AutoresetMode), f"metadata['autoreset_mode'] must be an AutoresetMode, is {mode!r}")
    twins = [twin() for _ in range(envs.num_envs)]
    for name in ("observation_space", "action_space"):
        single, own = getattr(envs, f"single_{name}"), getattr(twins[0], name)
        _check(own.shape is not None, f"{name} must hold arrays, is {own}")
        _check(single == own, f"single_{name} {single} differs from the scalar {own}")
        _check(getattr(envs, name).shape == (envs.num_envs, *own.shape), f"{name} is not {envs.num_envs} times {own}")
    envs.action_space.seed(seed)
    observations, infos = envs.reset(seed=seed)
    for i, env in enumerate(twins):
        observation, info = env.reset(seed=seed + i)
        _same(observations[i], observation, f"first observation of row {i}")
        _same_info(infos, info, i, f"first info of row {i}")
    resets = np.zeros(envs.num_envs, np.bool_)
    episodes = 0
    for k in range(steps):
        if mode is AutoresetMode.DISABLED and resets.any():
            observations, infos = envs.reset(options={"reset_mask": resets.copy()})
            for i in np.flatnonzero(resets).tolist():
                observation, info = twins[i].reset()
                _same(observations[i], observation, f"observation of row {i}, reset before step {k}")
                _same_info(infos, info, i, f"info of row {i}, reset before step {k}")
            resets[:] = False
        actions = envs.action_space.sample() if policy is None else policy(observations)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        _same(rewards.shape, (envs.num_envs,), "shape of the rewards")
        _check(envs.observation_space.contains(observations), f"observations at step {k} leave their space")
        for i, env in enumerate(twins):
            where = f"row {i} at step {k}"
            if mode is AutoresetMode.NEXT_STEP and resets[i]:
                observation, info = env.reset()
                reward: Any = 0.0
                end = cut = False
            else:
                observation, reward, end, cut, info = env.step(actions[i])
            _same(rewards[i], reward, f"reward of {where}")
            _same((bool(terminated[i]), bool(truncated[i])), (bool(end), bool(cut)), f"ending of {where}")
            resets[i] = end or cut
            episodes += int(resets[i])
            if mode is AutoresetMode.SAME_STEP and resets[i]:
                _same(infos["final_obs"][i], observation, f"final_obs of {where}")
                _same_info(infos["final_info"], info, i, f"final_info of {where}")
                observation, info = env.reset()
            _same(observations[i], observation, f"observation of {where}")
            _same_info(infos, info, i, f"info of {where}")
        if mode is AutoresetMode.SAME_STEP:
            resets[:] = False
    for env in twins:
        env.close()
    return episodes


def _check(right: Any, what: str) -> None:
    if not right:  # python -O would remove an assert statement
        raise AssertionError(what)


def _same(value: Any, expected: Any, what: str) -> None:
    _check(np.array_equal(value, expected), f"{what}: {value} differs from the scalar's {expected}")


def _same_info(infos: dict[str, Any], info: dict[str, Any], row: int, what: str) -> None:
    for key, expected in info.items():
        _check(key in infos and infos[f"_{key}"][row], f"{what}: {key!r} is missing")
        _same(infos[key][row], expected, f"{what}, {key!r}")
    for key in infos:
        if not key.startswith("_") and key not in info and key not in ("final_obs", "final_info"):
            _check(not infos[f"_{key}"][row], f"{what}: {key!r} is not in the scalar's")
