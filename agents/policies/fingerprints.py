"""Fingerprints of environments and policies, used to check whether saved results are still valid."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.wrappers import make_vec
from gymnosoma.moved import point_from

PROBE_SEED, PROBES, PROBE_STEPS = 77_000, 4, 50
"""First seed, number and length of the episodes that probe the behaviour of an environment. They have no other use."""

NOISE = 1e-9
"""Absolute value below which a number counts as 0, such as the lean of a symmetric stance (rounding, up to 4e-13)."""


def values_digest(*values: Any) -> str:
    """Return a digest of plain values. The order of keys has no effect."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=repr).encode()).hexdigest()[:16]


def files_digest(*paths: Path) -> str:
    """Return a digest of the contents of files, in the order of the arguments."""
    digests = []
    for path in paths:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return values_digest(*digests)


def env_fingerprint(env_id: str, env: Mapping[str, Any]) -> str:
    """Return a fingerprint of an environment's behaviour: its spaces, its score and the first steps of some episodes.

    Observations and rewards have a scale of 1. They are rounded to six digits, and values below `NOISE` to 0, so that
    the fingerprint does not depend on the processor. The argument ``split``, which selects the range of hidden options,
    has no effect.
    """
    spec: Any = gymnasium.spec(env_id)
    env = {name: value for name, value in env.items() if name != "split"}
    key = values_digest(env_id, spec.kwargs, env)
    if key not in _cache:
        with closing(make_vec(env_id, num_envs=PROBES, **env)) as envs:
            spaces = [envs.single_observation_space, envs.single_action_space]
            facts = [key, spec.max_episode_steps, envs.task.control_rate, repr(envs.task.score)]
            facts += [[space.shape, space.low.tolist(), space.high.tolist()] for space in spaces]
            (first, *_), *steps = _probe(envs)
            outputs = [first, *(part for observations, rewards, _ in steps for part in (observations, rewards))]
        _cache[key] = values_digest(facts, rounded(outputs))
    return _cache[key]


_cache: dict[str, str] = {}
"""Fingerprints of environments computed in this process, by key."""


def policy_fingerprint(env_id: str, policy: Any) -> str:
    """Return a fingerprint of a policy's behaviour: its actions for the observations of the episodes that probe the id.

    The actions are rounded as in `env_fingerprint`. They do not move the animal, so that rounding is not amplified.
    """
    env = {name: value for name, value in policy.env.items() if name != "split"}
    with closing(make_vec(env_id, num_envs=PROBES, **env)) as envs:
        agent, over = policy.make(envs, 0), np.ones(PROBES, np.bool_)
        actions = []
        for observations, _, ended in _probe(envs):
            actions.append(agent.act(observations, over))
            over = ended
    return values_digest(env_id, env, rounded(actions))


def _probe(envs: Any) -> Iterator[tuple[NDArray[Any], ...]]:
    """Step an environment with fixed actions; yield observations, rewards and ends of episodes."""
    observations, _ = envs.reset(seed=PROBE_SEED)
    yield observations, np.zeros(PROBES), np.ones(PROBES, np.bool_)
    for k in range(PROBE_STEPS):
        wave = np.sin(0.1 * k + np.arange(envs.task.action_size))
        observations, rewards, terminated, truncated, _ = envs.step(np.tile(wave, (PROBES, 1)).astype(np.float32))
        yield observations, rewards, terminated | truncated


def rounded(arrays: Iterable[NDArray[Any]]) -> list[list[str]]:
    """Format the numbers of arrays with six digits; absolute values below `NOISE` are 0."""
    counted = [np.where(np.abs(each) < NOISE, 0.0, each).ravel().tolist() for each in arrays]
    return [[f"{value + 0.0:.6g}" for value in each] for each in counted]


point_from(__name__)
