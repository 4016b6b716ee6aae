"""Effects of a policy on the body, compared with the animal's own controller and with the task's limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.env.task import Measure
from gymnosoma.envs.wrappers import make_vec

from .agent import Agent, Policy
from .evaluation import rollout
from .lookup import find_policy
from .registry import references_of, task_of

ACTION = {
    "action at its ends": Measure("saturation", "action", "%", 100.0, "share of movement actions at their bounds"),
    "action's slew": Measure("slew", "action", "1/s", 1.0, "rms rate of change of the action"),
}
"""Measures of all tasks, in addition to those of the task."""

NEAR = 0.99
"""Fraction of the bound above which a value counts as saturated."""

PADDING = 8
"""Factor of zero padding, which refines the frequency grid of spectra."""


class _Watched:
    """Agent that records quantities at the end of each control period, for the first episode of each row."""

    def __init__(self, agent: Agent, envs: Any, sources: Sequence[str]) -> None:
        self._agent, self._batch = agent, envs.unwrapped.batch
        self._sources = sources
        self._running = np.ones(envs.num_envs, np.bool_)
        fields = envs.unwrapped.task.action_fields()
        moves = [not field.truth and name != "commit" for name, field in fields.items()]
        self._moving = np.repeat(moves, [field.size for field in fields.values()])
        self._begun = False
        self.notes: list[dict[str, list[NDArray[np.float64]]]] = [{name: [] for name in sources} for _ in self._running]

    def _note(self, name: str, values: NDArray[Any]) -> None:
        for i in np.flatnonzero(self._running):
            self.notes[i][name].append(np.asarray(values[i], float).ravel())

    def end(self, last: NDArray[np.bool_]) -> None:
        """Record the final state of the rows that ended ``last``; rows that ended earlier have been reset."""
        self._running &= last
        self.look()

    def look(self) -> None:
        """Record the state after the last control period."""
        animal, rows = self._batch.task.animal, self._batch.rows
        info = self._batch.infos()
        for name in self._sources:
            if name != "action":
                self._note(name, animal.signal(rows, name) if name in animal.signals else info[name])

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Record the state and return the actions of the wrapped agent."""
        if self._begun:
            self._running &= ~first  # rows after a reset
        self._begun = True
        self.look()
        action = self._agent.act(observations, first)
        if "action" in self._sources:
            self._note("action", action[:, self._moving])
        return action


def _spectrum(values: NDArray[np.float64], rate: float, padding: int) -> tuple[NDArray[np.float64], ...]:
    """Return frequencies (Hz) and the summed power spectral density of values (T, k)."""
    from scipy.signal import periodogram

    frequency, power = periodogram(values, rate, "hann", padding * len(values), detrend="linear", axis=0)
    return frequency, power.sum(1)


def measured(measure: Measure, values: NDArray[np.float64], rate: float) -> float:
    """Compute a measure of one episode, in its unit, or NaN if the episode is too short.

    ``values`` (T, k) are the source quantity at the end of each control period, and ``rate`` is the control rate, Hz.
    """
    if len(values) < 4 and measure.kind in ("frequency", "above", "slew"):
        return np.nan
    match measure.kind:
        case "frequency":
            frequency, power = _spectrum(values, rate, PADDING)
            power[frequency < 1.5 * rate / len(values)] = 0.0  # drift slower than the episode
            result = frequency[np.argmax(power)] if power.max() > 0.0 else 0.0
        case "mean":
            result = values.mean()
        case "peak":
            result = np.abs(values).max()
        case "rms":
            result = np.sqrt(np.mean(values**2))
        case "slew":
            result = rate * np.sqrt(np.mean(np.diff(values, axis=0) ** 2))
        case "saturation":
            result = np.mean(np.abs(values) >= NEAR * measure.bound)
        case "above":
            frequency, power = _spectrum(values, rate, 1)
            result = np.sqrt(np.sum(power[frequency > measure.band]) * (frequency[1] - frequency[0]) / values.shape[1])
        case "rate":
            result = np.sum(values[-1] - values[0]) * rate / max(len(values) - 1, 1)
        case _:
            result = values[-1].sum()
    return float(measure.factor * result)


def observed(
    env_id: str,
    policy: Policy,
    measures: Mapping[str, Measure],
    episodes: int = 16,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    **env: Any,
) -> dict[str, float]:
    """Measure a policy and return means over episodes, or NaN if all episodes were too short."""
    envs: Any = make_vec(env_id, num_envs=episodes, **policy.env | env)
    try:
        sources = list(dict.fromkeys(measure.source for measure in measures.values()))
        watched = _Watched(policy.make(envs, 0), envs, sources)
        results = rollout(envs, watched, seed=seed, options=dict(options or {}))
        watched.end(results.lengths == results.lengths.max())
        rate = envs.unwrapped.task.control_rate
    finally:
        envs.close()
    means = {}
    for name, measure in measures.items():
        values = [
            measured(measure, np.array(each[measure.source]), rate)
            for each, failure in zip(watched.notes, results.failures, strict=True)
            if failure is None or not measure.complete
        ]
        finite = [value for value in values if np.isfinite(value)]
        means[name] = float(np.mean(finite)) if finite else np.nan
    return means


@dataclass(frozen=True)
class Effect:
    """Effect of policies on the body.

    Args:
        unit, meaning, known: Unit and meaning of the measure, and values known from the literature.
        policies: Value of each policy.
        limit, why: Limit of the task, in that unit, and its reason, if there is one.
        beyond: Policies that exceed the limit.
    """

    unit: str
    meaning: str
    known: str
    policies: dict[str, float]
    limit: float | None = None
    why: str = ""
    beyond: tuple[str, ...] = ()


def physiology(
    env_id: str,
    policies: Sequence[Policy],
    episodes: int = 16,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    **env: Any,
) -> dict[str, Effect]:
    """Measure the effects of policies and of the baseline on the body, with arguments as in `evaluate`."""
    measures = {**task_of(env_id, **env).physiology, **ACTION}
    players = {policy.name: policy for policy in policies}
    own = references_of(env_id)
    if "baseline" in own:
        players = {"baseline": find_policy(env_id, "baseline"), **players}
    how: dict[str, Any] = {"episodes": episodes, "seed": seed, "options": options, **env}
    values = {name: observed(env_id, policy, measures, **how) for name, policy in players.items()}
    table = {}
    for name, measure in measures.items():
        limit, means = measure.maximum, {player: each[name] for player, each in values.items()}
        if measure.times is not None and "baseline" in values:
            limit = measure.times * means["baseline"]
        beyond = () if limit is None else tuple(player for player, mean in means.items() if mean > limit)
        why = "" if limit is None else measure.why
        table[name] = Effect(measure.unit, measure.meaning, measure.known, means, limit, why, beyond)
    return table
