"""Searches the best constants of an animal's controller: the score that can be had without learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..controllers import Reference
from ..policies.agent import Agent, Policy, reference_policy
from ..policies.evaluation import SEARCH_SEED
from ..policies.registry import references_of, task_of
from ..policies.rollout import SideBySide, play_side_by_side

CONSTANT = "best constant"
"""Name of the policy that is found."""

SEARCHED, COMPARED, FINALISTS = 4, 32, 8
"""Episodes of a candidate in the search; of a finalist after it; number of these."""


def search(env_id: str, generations: int = 30, seed: int = SEARCH_SEED) -> tuple[str, dict[str, float], Policy] | None:
    """Find the best constant parameters of the references of an id that have bounds, by differential evolution.

    The best of few episodes is lucky: so the best of the last generations and the references as they are are then
    compared in more and other episodes. What an id hides is drawn from its training split. A generation has 8
    candidates for each parameter, all played side by side, each in four episodes; ``seed`` is that of the evolution,
    and of the first episode.

    Returns:
        reference, parameters, policy: Empty parameters are the reference's own. None where the id has no such
            reference.
    """
    found = [
        (value, name, parameters, reference_policy(CONSTANT, reference, **parameters))
        for name, reference in references_of(env_id).items()
        if reference.bounds
        for value, parameters in [_best(env_id, reference, generations, seed)]
    ]
    return max(found, key=lambda each: each[0])[1:] if found else None


def _best(env_id: str, reference: Reference, generations: int, seed: int) -> tuple[float, dict[str, float]]:
    """Score and parameters of the best of a reference."""
    from scipy.optimize import differential_evolution

    bounds, task = reference.bounds, task_of(env_id)
    score = task.score
    env: dict[str, Any] = {**reference.env, **({"split": "train"} if task.hidden else {})}

    def play(candidates: Sequence[Mapping[str, float]], episodes: int, first: int) -> NDArray[np.float64]:
        def agent(envs: Any) -> Agent:
            policies = [reference_policy(CONSTANT, reference, **parameters) for parameters in candidates]
            return SideBySide([policy.make(envs, 0) for policy in policies])

        played = play_side_by_side(env_id, env, agent, len(candidates), range(first, first + episodes))
        return played.score(score).reshape(-1, episodes).mean(1)

    def named(vector: NDArray[np.float64]) -> dict[str, float]:
        return {name: float(value) for name, value in zip(bounds, vector, strict=True)}

    evolved = differential_evolution(
        lambda candidates: -play([named(vector) for vector in np.atleast_2d(candidates.T)], SEARCHED, seed),
        list(bounds.values()),
        maxiter=generations,
        popsize=8,
        seed=seed,
        polish=False,
        updating="deferred",
        vectorized=True,
    )
    order = np.argsort(evolved.population_energies)[: FINALISTS - 1]
    finalists = [{}, *(named(vector) for vector in evolved.population[order])]
    scores = play(finalists, COMPARED, seed + SEARCHED)
    return float(scores.max()), finalists[int(scores.argmax())]
