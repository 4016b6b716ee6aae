"""Plays policies in seeded episodes, and sums up what came of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any

import gymnasium

from gymnosoma.envs.core.arguments import whole

from .agent import Policy
from .registry import task_of
from .rollout import Episodes, joined, rollout

WAVE = 1024
"""Largest number of episodes that are played side by side, which bounds the memory of an evaluation."""

BENCHMARK_SEED, VALIDATION_SEED, SEARCH_SEED, REPLAY_SEED = 10_000, 20_000, 30_000, 50_000
"""First seeds of the episodes that measure a policy, that choose among trained ones, that find constants, and whose
actions are replayed.

Seeds of training are drawn from 2**62 on (`learning.runs.drawn_seeds`): none of these are the same.
"""


def evaluate(
    env_id: str,
    policy: Policy,
    episodes: int = 64,
    seed: int = 0,
    watch: Callable[[int], None] | None = None,
    options: Mapping[str, float] | None = None,
    keep: Collection[str] | None = None,
    **env: Any,
) -> Episodes:
    """Play a policy: episode i seeded ``seed + i``, with reset ``options``, at most ``WAVE`` of them at once.

    Of `Episodes.info` only what is in ``keep`` is kept, everything by default.
    """
    waves: list[Episodes] = []
    for wave in play(env_id, policy, episodes, seed, watch, options, **env):
        if keep is not None:
            wave.info = {name: value for name, value in wave.info.items() if name in keep}
        waves.append(wave)
    return waves[0] if len(waves) == 1 else joined(waves)


def play(
    env_id: str,
    policy: Policy,
    episodes: int,
    seed: int,
    watch: Callable[[int], None] | None = None,
    options: Mapping[str, float] | None = None,
    wrap: Callable[[Any], Any] = lambda envs: envs,
    **env: Any,
) -> Iterator[Episodes]:
    """Play a policy as `evaluate` does, wave by wave; ``wrap`` is put around the vector environment of each."""
    for start, end in _waves(episodes):
        envs = gymnasium.make_vec(env_id, num_envs=end - start, **policy.env | env)
        watch_all = None if watch is None else lambda ended, start=start: watch(start + ended)
        try:
            agent = policy.make(envs, start)
            yield rollout(wrap(envs), agent, seed=seed + start, options=dict(options or {}), watch=watch_all)
        finally:
            envs.close()


def _waves(episodes: int) -> list[tuple[int, int]]:
    """First and last episode of each wave."""
    whole("episodes", episodes, maximum=10**9)
    # Of equal size: with a handful of rows, networks are multiplied in another order, and round otherwise.
    count = -(-episodes // WAVE)
    return list(pairwise(episodes * k // count for k in range(count + 1)))


def check_play(env_id: str, policy: Policy, episodes: int, options: Mapping[str, float] | None, **env: Any) -> None:
    """Raise ValueError for arguments and options with which `play` could not begin."""
    envs: Any = gymnasium.make_vec(env_id, num_envs=1, **policy.env | env)
    envs.batch.options(options, _waves(episodes)[0][1])


def summary(env_id: str, policy: Policy, result: Episodes) -> dict[str, Any]:
    """Figures of an evaluation, ready for JSON."""
    score = task_of(env_id, **policy.env).score
    values = result.score(score) * score.factor
    failures = Counter(reason for reason in result.failures if reason)
    return {
        "id": env_id,
        "policy": policy.name,
        "episodes": len(result.returns),
        "score": score.name,
        "unit": score.unit,
        "score_mean": float(values.mean()),
        "score_sd": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
        "return_mean": float(result.returns.mean()),
        "return_sd": float(result.returns.std(ddof=1)) if len(values) > 1 else 0.0,
        "length_mean": float(result.lengths.mean()),
        "failures": dict(failures),
    }
