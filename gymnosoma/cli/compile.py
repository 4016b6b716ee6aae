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
    """Compile the kernels of environments ahead: for images, clusters, CI.

    Each is stepped twice by chance, by its references, and as its trained policy takes it; what that calls is kept in
    the folder that NUMBA_CACHE_DIR names, by default your user cache. What lies there already is not compiled again.

    Args:
        ids: Environments; all by default.
        num_envs: Animals side by side: one alone runs other code than sixteen or more.
        threads: As of the environment; with more than one, the code for several threads.
    """
    from gymnosoma.agents.support.progress import progress_bar

    names = [full_id(name) for name in ids] or all_ids()
    arguments = read_arguments(env, param)
    lines = []
    for name in progress_bar(names, leave=False):
        begun, had = time.perf_counter(), jit.compiled()
        for policy in _policies(name):
            for count in num_envs:
                _step(name, policy, count, {**policy.env, **arguments, "threads": threads})
        kernels, seconds = len(jit.compiled() - had), time.perf_counter() - begun
        lines.append(f"{name.partition('/')[2]}: {kernels} kernels compiled, {seconds:.1f} s")
    print(*lines, sep="\n")


def _policies(env_id: str) -> list[Policy]:
    """Find chance, the references, and chance in the environment of the trained policy."""
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
