"""Command ``compile``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from gymnosoma.agents.policies.agent import Policy
from gymnosoma.agents.policies.lookup import find_policy, shipped
from gymnosoma.agents.policies.registry import all_ids, full_id, references_of
from gymnosoma.agents.support.workers import run_jobs, values_of, workers
from gymnosoma.envs.core.kernels import jit
from gymnosoma.envs.core.kernels.cache import copy_shipped, only_native
from gymnosoma.envs.wrappers import make_vec

from .arguments import Arguments, Params, Processes, read_arguments


def compile_(
    ids: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    /,
    num_envs: tuple[int, ...] = (1, 64),
    threads: int = 1,
    processes: Processes = 2,
    env: Arguments = (),
    param: Params = (),
    wheel: Path | None = None,
) -> None:
    """Compile the kernels of environments ahead of time.

    This is useful for container images, clusters and CI. Each environment takes two steps with random actions, with its
    references, and with the arguments of its trained policy. The kernels called are cached in NUMBA_CACHE_DIR (default:
    the user's cache folder); cached kernels are not recompiled. They are made for this very processor; those of a wheel
    serve all processors of a level, and 64 lampreys with them take up to a third longer.

    Args:
        ids: Environments to compile. By default, all.
        num_envs: Numbers of animals per environment. Single animals and batches of sixteen or more use different code.
        threads: Threads of the environment. More than one also compiles the multithreaded code.
        processes: Number of processes that compile different environments at the same time.
        wheel: Wheel of gymnosoma, whose kernels are copied to the cache and used where they fit. They must be of the
            same code, numba and Python; the wheel contains machine code, so take it only from a source you trust.
    """
    if wheel is not None:
        print(f"{copy_shipped(wheel)} kernels copied")
    names = [full_id(name) for name in ids] or all_ids()
    arguments, before = {**read_arguments(env, param), "threads": threads}, jit.compiled()
    mixed = sorted(names, key=lambda name: names.index(name) % 5)  # neighbours share few kernels, see `cache.locked`
    jobs = {
        f"{name.partition('/')[2]} x {count}": (name, count, arguments, wheel is None)
        for count in num_envs
        for name in mixed
    }
    with workers(processes) as executor:
        seconds = values_of(run_jobs(executor, _compile, jobs, "part", leave=False))
    print(*(f"{name}: {value:.1f} s" for name, value in zip(jobs, seconds, strict=True)), sep="\n")
    print(f"{len(jit.compiled() - before)} kernels compiled")


def _compile(env_id: str, count: int, arguments: dict[str, Any], native: bool) -> float:
    """Compile the kernels of one environment, and return the seconds that it took."""
    start = time.perf_counter()
    with only_native(native):
        for policy in _policies(env_id):
            _step(env_id, policy, count, {**policy.env, **arguments})
    return time.perf_counter() - start


def _policies(env_id: str) -> list[Policy]:
    """Return a random policy, the references, and a random policy with the trained policy's environment arguments."""
    chance = find_policy(env_id, "random")
    policies = [chance, *(find_policy(env_id, name) for name in references_of(env_id))]
    if shipped(env_id).is_dir():
        policies.append(Policy("trained", chance.make, find_policy(env_id, "trained").env))
    return policies


def _step(env_id: str, policy: Policy, count: int, arguments: dict[str, Any]) -> None:
    envs = make_vec(env_id, num_envs=count, **arguments)
    agent = policy.make(envs, 0)
    observations, _ = envs.reset(seed=0)
    for first in (np.ones(count, np.bool_), np.zeros(count, np.bool_)):
        observations, *_ = envs.step(agent.act(observations, first))
    envs.close()
