"""Evaluation of policies on seeded episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import whole
from gymnosoma.envs.core.env.task import Score
from gymnosoma.envs.core.kinds import takes_objects
from gymnosoma.envs.wrappers import make_vec

from .agent import Agent, Policy
from .registry import task_class

WAVE = 1024
"""Maximum number of episodes in one vector environment. It limits the memory of an evaluation."""

BENCHMARK_SEED, VALIDATION_SEED, SEARCH_SEED, REPLAY_SEED = 10_000, 20_000, 30_000, 50_000
"""First seeds of the episodes for the benchmark, for selecting trained policies, for searching constants, and for
replays.

Training uses other seeds, from 2**62 (see `learning.runs.drawn_seeds`).
"""


@dataclass
class Episodes:
    """Outcomes of episodes, one per row.

    Args:
        returns ((B,) float): Sum of rewards of each episode.
        lengths ((B,) int): Number of steps of each episode.
        failures: Reason for the failure of each episode, or None.
        info: Physical quantities of the last step by name, each (B, ...).
    """

    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    failures: list[str | None]
    info: dict[str, NDArray[Any]] = field(default_factory=dict)

    def score(self, score: Score) -> NDArray[np.float64]:
        """Return scores (B,), in the unit of ``info``."""
        if score.name == "return":
            return self.returns
        values = np.asarray(self.info[score.name], float)
        return np.where([reason is None for reason in self.failures], values, score.failed)


class SideBySide:
    """Several agents, with an equal, contiguous share of the rows for each."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self._agents = agents

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the actions of all agents, (B, n)."""
        each = len(first) // len(self._agents)
        rows = (slice(k * each, (k + 1) * each) for k in range(len(self._agents)))
        return np.concatenate(
            [agent.act(observations[row], first[row]) for agent, row in zip(self._agents, rows, strict=True)]
        )


def play_side_by_side(
    env_id: str, env: Mapping[str, Any], make: Callable[[Any], Agent], players: int, seeds: Sequence[int]
) -> Episodes:
    """Play the same episodes with several players in one vector environment, in contiguous rows for each player.

    ``make`` creates one agent for all rows.
    """
    envs: Any = make_vec(env_id, players * len(seeds), **env)
    try:
        return rollout(envs, make(envs), seed=[*seeds] * players)
    finally:
        envs.close()


def joined(waves: Sequence[Episodes]) -> Episodes:
    """Concatenate episodes."""
    return Episodes(
        np.concatenate([wave.returns for wave in waves]),
        np.concatenate([wave.lengths for wave in waves]),
        [reason for wave in waves for reason in wave.failures],
        {name: np.concatenate([wave.info[name] for wave in waves]) for name in waves[0].info},
    )


@takes_objects
def rollout(
    envs: VectorEnv,
    agent: Agent,
    seed: int | Sequence[int] | None = None,
    options: dict[str, Any] | None = None,
    watch: Callable[[int], None] | None = None,
) -> Episodes:
    """Play one episode in every row of a vector environment with a time limit.

    Args:
        envs, agent: Environment, and agent for all rows.
        seed: Seeds of the rows. An int seeds row i with ``seed + i``, whatever the number of rows.
        options: Reset options.
        watch: Called after every step with the number of finished episodes.

    Raises:
        ValueError: If the autoreset mode is DISABLED, because finished rows cannot be stepped.
    """
    mode = envs.metadata.get("autoreset_mode")
    if mode is AutoresetMode.DISABLED:
        raise ValueError(f"autoreset_mode must be NEXT_STEP or SAME_STEP, got {mode!r}")
    observations, _ = envs.reset(seed=seed, options=options)  # type: ignore[arg-type]
    count = envs.num_envs
    result = Episodes(np.zeros(count), np.zeros(count, np.int64), [None] * count)
    running, first = np.ones(count, np.bool_), np.ones(count, np.bool_)
    over = np.zeros(count, np.bool_)
    while running.any():
        observations, rewards, terminated, truncated, infos = envs.step(agent.act(observations, first))
        first = over if mode is AutoresetMode.NEXT_STEP else terminated | truncated
        over = terminated | truncated
        result.returns[running] += rewards[running]
        result.lengths[running] += 1
        ended = running & over
        if ended.any():
            final = infos.get("final_info", infos)
            for name, value in final.items():
                if name == "failure":
                    for i in np.flatnonzero(ended & (value != 0)):
                        result.failures[i] = reasons(envs)[value[i]]
                elif not name.startswith("_") and isinstance(value, np.ndarray):
                    result.info.setdefault(name, np.zeros_like(value))[ended] = value[ended]
            running &= ~over
        if watch is not None:
            watch(int(count - running.sum()))
    return result


def reasons(envs: VectorEnv) -> Sequence[str]:
    """Return the reasons of failures by their number, of our vector environment or of one made of scalar ones."""
    bare: Any = envs.unwrapped
    return bare.failures if hasattr(bare, "failures") else bare.get_attr("failures")[0]


@takes_objects
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
    """Evaluate a policy, with at most ``WAVE`` episodes in parallel.

    Episode i has seed ``seed + i``. ``keep`` lists the quantities to return in `Episodes.info` (by default, all). The
    arguments ``env`` replace those of the policy. ``watch`` and ``options`` are those of `rollout`.
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
    """Play a policy like `evaluate`, and yield the episodes in waves. ``wrap`` wraps each vector environment."""
    for start, end in _waves(episodes):
        envs = make_vec(env_id, num_envs=end - start, **policy.env | env)
        watch_all = None if watch is None else lambda ended, start=start: watch(start + ended)
        try:
            agent = policy.make(envs, start)
            yield rollout(wrap(envs), agent, seed=seed + start, options=dict(options or {}), watch=watch_all)
        finally:
            envs.close()


def _waves(episodes: int) -> list[tuple[int, int]]:
    """Return start and end of the episode numbers of each wave."""
    whole("episodes", episodes, maximum=10**9)
    # Waves have equal sizes, because matrix products of very few rows are rounded differently.
    count = -(-episodes // WAVE)
    return list(pairwise(episodes * k // count for k in range(count + 1)))


def check_play(env_id: str, policy: Policy, episodes: int, options: Mapping[str, float] | None, **env: Any) -> None:
    """Raise ValueError for arguments and options that `play` does not accept."""
    envs: Any = make_vec(env_id, num_envs=1, **policy.env | env)
    envs.batch.options.read(options, _waves(episodes)[0][1])


@dataclass(frozen=True)
class Summary:
    """Summary of an evaluation, in values that JSON supports.

    Args:
        id, policy: Names of environment and policy.
        episodes: Number of episodes.
        score, unit: Name and unit of the score.
        score_mean, score_sd, return_mean, return_sd, length_mean: Means and standard deviations over episodes.
        failures: Number of failures by reason.
        seed: Seed of the first episode.
        options, env: Reset options, and arguments of the environment.
    """

    id: str
    policy: str
    episodes: int
    score: str
    unit: str
    score_mean: float
    score_sd: float
    return_mean: float
    return_sd: float
    length_mean: float
    failures: dict[str, int]
    seed: int
    options: dict[str, Any]
    env: dict[str, Any]


@takes_objects
def summary(
    env_id: str,
    policy: Policy,
    result: Episodes,
    seed: int = 0,
    options: Mapping[str, float] | None = None,
    **env: Any,
) -> Summary:
    """Summarise an evaluation; ``seed``, ``options`` and ``env`` are those of `evaluate`."""
    score = task_class(env_id).score
    values = result.score(score) * score.factor
    several = len(values) > 1
    return Summary(
        id=env_id,
        policy=policy.name,
        episodes=len(result.returns),
        score=score.name,
        unit=score.unit,
        score_mean=float(values.mean()),
        score_sd=float(values.std(ddof=1)) if several else 0.0,
        return_mean=float(result.returns.mean()),
        return_sd=float(result.returns.std(ddof=1)) if several else 0.0,
        length_mean=float(result.lengths.mean()),
        failures=dict(Counter(reason.partition(": ")[0] for reason in result.failures if reason)),
        seed=seed,
        options=dict(options or {}),
        env={**policy.env, **env},
    )
