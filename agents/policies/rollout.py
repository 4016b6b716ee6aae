"""Plays agents in environments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from gymnosoma.envs.core.env.spec import Score

from .agent import Agent


@dataclass
class Episodes:
    """Outcome of one episode per row.

    Args:
        returns, lengths ((B,) float, (B,) int): Sums of rewards, and numbers of steps.
        failures: Reason for which each episode failed, None if it did not.
        info: Each physical quantity of the last step, (B, ...).
    """

    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    failures: list[str | None]
    info: dict[str, NDArray[Any]] = field(default_factory=dict)

    def score(self, score: Score) -> NDArray[np.float64]:
        """Scores (B,), in the unit of the info."""
        if score.name == "return":
            return self.returns
        values = np.asarray(self.info[score.name], float)
        return np.where([reason is None for reason in self.failures], values, score.failed)


class SideBySide:
    """Agents that each play an equal share of the rows, one share after another."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self._agents = agents

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions."""
        each = len(first) // len(self._agents)
        rows = (slice(k * each, (k + 1) * each) for k in range(len(self._agents)))
        return np.concatenate(
            [agent.act(observations[row], first[row]) for agent, row in zip(self._agents, rows, strict=True)]
        )


def play_side_by_side(
    env_id: str, env: Mapping[str, Any], make: Callable[[Any], Agent], players: int, seeds: Sequence[int]
) -> Episodes:
    """Play the episodes of the seeds by some players, whose rows follow each other; one agent acts for all of them."""
    envs: Any = gymnasium.make_vec(env_id, players * len(seeds), **env)
    try:
        return rollout(envs, make(envs), seed=[*seeds] * players)
    finally:
        envs.close()


def joined(waves: Sequence[Episodes]) -> Episodes:
    """Episodes one after another; those of a wave whose info lacks a quantity have zeros there."""
    info: dict[str, NDArray[Any]] = {}
    for name, like in {name: value for wave in waves for name, value in wave.info.items()}.items():
        blank = [np.zeros((len(wave.returns), *like.shape[1:]), like.dtype) for wave in waves]
        info[name] = np.concatenate([wave.info.get(name, zeros) for wave, zeros in zip(waves, blank, strict=True)])
    return Episodes(
        np.concatenate([wave.returns for wave in waves]),
        np.concatenate([wave.lengths for wave in waves]),
        [reason for wave in waves for reason in wave.failures],
        info,
    )


def rollout(
    envs: VectorEnv,
    agent: Agent,
    seed: int | Sequence[int] | None = None,
    options: dict[str, Any] | None = None,
    watch: Callable[[int], None] | None = None,
) -> Episodes:
    """Play one episode in every row of a vector environment, which has a time limit.

    Args:
        seed: An int seeds row i with ``seed + i``; so the result of a row does not depend on how many there are.
        options: Of the reset.
        watch: Called with the number of episodes that have ended, after every step.

    Raises:
        ValueError: If the autoreset mode is DISABLED: then ended rows cannot be stepped on.
    """
    mode = envs.metadata.get("autoreset_mode")
    if mode is AutoresetMode.DISABLED:
        raise ValueError(f"autoreset_mode must be NEXT_STEP or SAME_STEP, got {mode!r}")
    observations, _ = envs.reset(seed=seed, options=options)  # type: ignore[arg-type]
    count = envs.num_envs
    result = Episodes(np.zeros(count), np.zeros(count, np.int64), [None] * count)
    running, first = np.ones(count, np.bool_), np.ones(count, np.bool_)
    done = np.zeros(count, np.bool_)
    while running.any():
        observations, rewards, terminated, truncated, infos = envs.step(agent.act(observations, first))
        first = done if mode is AutoresetMode.NEXT_STEP else terminated | truncated
        done = terminated | truncated
        result.returns[running] += rewards[running]
        result.lengths[running] += 1
        ended = running & done
        if ended.any():
            final = infos.get("final_info", infos)
            for name, value in final.items():
                if name == "failure":
                    for i in np.flatnonzero(ended):
                        result.failures[i] = value[i]
                elif not name.startswith("_") and isinstance(value, np.ndarray):
                    result.info.setdefault(name, np.zeros_like(value))[ended] = value[ended]
            running &= ~done
        if watch is not None:
            watch(int(count - running.sum()))
    return result
