"""Step environments with hostile actions and options, in a checkout: ``python -m tools.soak [ID ...]``.

Observations and rewards must stay finite and within their spaces, and a restored snapshot must repeat its future.
"""

from __future__ import annotations

import itertools
import pickle
import sys
import warnings
from collections.abc import Mapping
from typing import Annotated, Any

import gymnasium
import numpy as np
import tyro
from numpy.typing import NDArray

from gymnosoma.agents.policies.registry import all_ids, full_id, task_of
from gymnosoma.envs.core.env.task import task_arguments

REPEATED = 8
"""Steps that are repeated after a snapshot is restored."""

REFUSALS = ("options: ", "start: ")
"""Beginnings of the errors for options that exclude each other."""


def soak(
    ids: Annotated[tuple[str, ...], tyro.conf.Positional] = (), /, steps: int = 100_000, rows: int = 18, seed: int = 0
) -> None:
    """Step environments with hostile actions and options in all action modes and solvers; exit with 1 if one fails.

    Args:
        ids: Environments; all by default.
        steps: Number of steps of all rows together, for each action mode and solver.
        rows: Number of animals side by side.
        seed: Random seed of options and actions.
    """
    failed = False
    for env_id in map(full_id, ids or all_ids()):
        for arguments in cases(env_id):
            what = " ".join([env_id, *arguments.values()])
            try:
                print(f"{what}: {play(env_id, arguments, steps, rows, seed)} episodes")
            except Exception as error:
                print(f"{what}: {type(error).__name__}: {error}")
                failed = True
    sys.exit(int(failed))


def cases(env_id: str) -> list[dict[str, str]]:
    """All combinations of action modes and solvers of an id."""
    task = task_of(env_id)
    solvers = {name: task.animal.solvers[name] for name in task.animal.solvers if name in task_arguments(type(task))}
    names, values = zip(*{"actions": task.action_modes, **solvers}.items(), strict=True)
    return [dict(zip(names, each, strict=True)) for each in itertools.product(*values)]


def play(env_id: str, arguments: Mapping[str, str], steps: int, rows: int, seed: int) -> int:
    """Step an environment and check it; return the number of episodes that ended.

    Raises:
        AssertionError: If a result is not finite, leaves its space, or is not repeated after `restore`.
    """
    rng, episodes = np.random.default_rng(seed), 0
    make: Any = gymnasium.make_vec
    envs, copy = (make(env_id, num_envs=rows, **arguments) for _ in range(2))
    task = envs.unwrapped.batch.task
    options = {**task.animal.parameters, **task.options}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        envs.reset(seed=seed)
        for _ in range(max(1, steps // (REPEATED * rows))):
            if rng.random() < 0.05:
                try:
                    envs.reset(options=draw_options(rng, options, rows))
                except ValueError as error:
                    if not str(error).startswith(REFUSALS):
                        raise
                    envs.reset()
            snapshot = pickle.loads(pickle.dumps(envs.save()))
            actions = [draw_actions(rng, (rows, task.action_size)) for _ in range(REPEATED)]
            results = [envs.step(each) for each in actions]
            copy.reset(seed=0)
            copy.step(actions[0])
            copy.restore(snapshot)
            for action, result in zip(actions, results, strict=True):
                check(envs, result)
                for name, value, again in zip(("observation", "reward"), result, copy.step(action), strict=False):
                    assert value.tobytes() == again.tobytes(), f"{name} differs after a restoration"
                episodes += int((result[2] | result[3]).sum())
    envs.close()
    copy.close()
    return episodes


def check(envs: Any, result: tuple[Any, ...]) -> None:
    """Check a result of ``step``."""
    observations, rewards, terminated, _, infos = result
    assert observations in envs.observation_space, "observation lies outside its space"
    assert np.isfinite(observations).all() and np.isfinite(rewards).all(), "observation or reward is not finite"
    for name, value in infos.items():
        assert getattr(value, "dtype", None) != np.float64 or not np.isnan(value).any(), f"info {name!r} is NaN"
    final = infos.get("final_info", infos)
    for row in np.flatnonzero(final.get("_failure", ())):
        assert terminated[row] and final["failure"][row], "failure does not terminate the episode, or lacks a reason"


def draw_options(rng: np.random.Generator, options: Mapping[str, Any], rows: int) -> dict[str, NDArray[np.float64]]:
    """Draw up to two options at the ends of their ranges, or within."""
    names = rng.permutation([*options])[: rng.integers(1, 3)].tolist()
    shapes = {name: (rows, *options[name].shape) for name in names}
    return {
        name: np.where(
            rng.random(shape) < 0.5,
            rng.choice([options[name].low, options[name].high], shape),
            rng.uniform(options[name].low, options[name].high, shape),
        )
        for name, shape in shapes.items()
    }


def draw_actions(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Draw actions: random, at their ends, tiny, or far beyond what is allowed."""
    values = rng.uniform(-1.0, 1.0, shape)
    bang = rng.random((shape[0], 1)) < 0.5
    return np.where(bang, np.sign(values), values) * rng.choice([1.0, 1.0, 1e-3, 1e30], (shape[0], 1))


if __name__ == "__main__":
    tyro.cli(soak)
