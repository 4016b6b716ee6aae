"""Command ``compile``."""

from __future__ import annotations

import time
from typing import Annotated, Any

import gymnasium
import numpy as np
import tyro

from gymnosoma.agents.policies.agent import Policy
from gymnosoma.agents.policies.lookup import find_policy, shipped
from gymnosoma.agents.policies.registry import all_ids, full_id, references_of
from gymnosoma.envs.core.kernels import jit

from .arguments import Arguments, Params, read_arguments


def compile_(
    ids: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    /,
    num_envs: tuple[int, ...] = (1, 64),
    threads: int = 1,
    env: Arguments = (),
    param: Params = (),
) -> None:
    """Compile the kernels of environments ahead of time.

    This is useful for container images, clusters and CI. Each environment takes two steps with random actions, with its
    references, and with the arguments of its trained policy. The kernels called are cached in NUMBA_CACHE_DIR (default:
    the user's cache folder); cached kernels are not recompiled.

    Args:
        ids: Environments to compile. By default, all.
        num_envs: Numbers of animals per environment. Single animals and batches of sixteen or more use different code.
        threads: Threads of the environment. More than one also compiles the multithreaded code.
    """
    from gymnosoma.agents.support.progress import progress_bar

    names = [full_id(name) for name in ids] or all_ids()
    arguments = read_arguments(env, param)
    lines = []
    for name in progress_bar(names, leave=False):
        start, before = time.perf_counter(), jit.compiled()
        for policy in _policies(name):
            for count in num_envs:
                _step(name, policy, count, {**policy.env, **arguments, "threads": threads})
        kernels, seconds = len(jit.compiled() - before), time.perf_counter() - start
        lines.append(f"{name.partition('/')[2]}: {kernels} kernels compiled, {seconds:.1f} s")
    print(*lines, sep="\n")


def _policies(env_id: str) -> list[Policy]:
    """Return a random policy, the references, and a random policy with the trained policy's environment arguments."""
    chance = find_policy(env_id, "random")
    policies = [chance, *(find_policy(env_id, name) for name in references_of(env_id))]
    if shipped(env_id).is_dir():
        policies.append(Policy("trained", chance.make, find_policy(env_id, "trained").env))
    return policies


def _step(env_id: str, policy: Policy, count: int, arguments: dict[str, Any]) -> None:
    envs = gymnasium.make_vec(env_id, num_envs=count, **arguments)
    agent = policy.make(envs, 0)
    observations, _ = envs.reset(seed=0)
    for first in (np.ones(count, np.bool_), np.zeros(count, np.bool_)):
        observations, *_ = envs.step(agent.act(observations, first))
    envs.close()
