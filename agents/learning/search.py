"""Optimisation with CMA-ES, and the search for the best constant parameters of an animal's controller.

Hansen & Ostermeier (2001), Completely derandomized self-adaptation in evolution strategies; the package ``cma``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..controllers import Reference
from ..policies.agent import Agent, Policy, reference_policy
from ..policies.evaluation import SEARCH_SEED, SideBySide, play_side_by_side
from ..policies.registry import references_of, task_of

CONSTANT = "best constant"
"""Name of the policy returned by `search`."""

SEARCHED, COMPARED, FINALISTS = 4, 32, 8
"""Episodes per candidate in the search, episodes per finalist in the comparison, and number of finalists."""


class Evolution:
    """CMA-ES optimiser that maximises a score, with the methods ``ask`` and ``tell``.

    Args:
        start ((k,) float): Mean of the first generation.
        spread (float or (k,) float): Standard deviation of the first generation.
        rng: Random generator of the candidates.
        box: Lower and upper bound of all parameters.
        population: Number of candidates per generation. By default, 4 + 3 ln(k).
        full: Maximum k for a full covariance matrix; above it, the matrix is diagonal.
        history: Scores of previous generations. The search is replayed from them and continues exactly.

    Attributes:
        history: Scores of all generations.
        candidates ((P, k) float): Candidates of the current generation.
    """

    def __init__(
        self,
        start: ArrayLike,
        spread: ArrayLike,
        rng: np.random.Generator,
        *,
        box: tuple[float, float] | None = None,
        population: int = 0,
        full: int = 200,
        history: Sequence[Sequence[float]] = (),
    ) -> None:
        import cma

        mean, deviation = np.atleast_1d(np.asarray(start, float)), np.asarray(spread, float)
        self._size = len(mean)
        if self._size == 1:  # cma needs at least two parameters; the second one is unused
            mean, deviation = np.repeat(mean, 2), deviation.reshape(-1)[0]
        options: dict[str, Any] = {"seed": np.nan, "randn": lambda *shape: rng.standard_normal(shape)}
        options |= {"verbose": -9, "verb_log": 0, "CMA_diagonal": self._size > full}
        options |= {} if box is None else {"bounds": [*box]}
        options |= {"popsize": population} if population else {}
        options |= {"CMA_stds": deviation} if deviation.ndim else {}
        self._strategy = cma.CMAEvolutionStrategy(mean, 1.0 if deviation.ndim else float(deviation), options)
        self.history: list[list[float]] = []
        self.candidates = np.zeros((0, self._size))
        for scores in history:  # reproduces the state
            self.ask()
            self.tell(scores)

    def ask(self) -> NDArray[np.float64]:
        """Return the candidates (P, k) of the next generation."""
        self._vectors = self._strategy.ask()
        self.candidates = np.array(self._vectors)[:, : self._size]
        return self.candidates

    def tell(self, scores: ArrayLike) -> None:
        """Update the search with the scores (P,) of the candidates."""
        self.history.append(np.asarray(scores, float).tolist())
        self._strategy.tell(self._vectors, (-np.asarray(scores, float)).tolist())

    @property
    def favourite(self) -> NDArray[np.float64]:
        """Mean of the search distribution (k,)."""
        return self._strategy.result.xfavorite[: self._size]

    def best(self, count: int) -> NDArray[np.float64]:
        """Return the favourite and the best candidates of the last generation, (count, k)."""
        order = np.argsort(-np.asarray(self.history[-1:]).ravel(), kind="stable")[: count - 1]
        return np.stack([self.favourite, *self.candidates[order]])


class Controllers:
    """Search space of the bounded parameters of a reference, scaled to [0, 1].

    In place of a vector, None means the unchanged parameters.
    """

    def __init__(self, name: str, reference: Reference) -> None:
        self.name, self.reference, self.size = name, reference, len(reference.bounds)

    def parameters(self, vector: NDArray[np.float64] | None) -> dict[str, float]:
        """Return parameters by name; empty for the unchanged reference."""
        if vector is None:
            return {}
        both = zip(self.reference.bounds.items(), vector, strict=True)
        return {name: float(min(max(low + (high - low) * x, low), high)) for (name, (low, high)), x in both}

    def agent(self, vectors: Sequence[NDArray[np.float64] | None], envs: Any) -> Agent:
        """Create one agent for several candidates."""
        policies = [reference_policy(self.name, self.reference, **self.parameters(vector)) for vector in vectors]
        return SideBySide([policy.make(envs, 0) for policy in policies])


def search(env_id: str, generations: int = 30, seed: int = SEARCH_SEED) -> tuple[str, dict[str, float], Policy] | None:
    """Find the best constant parameters of an environment's references that have bounds.

    Each generation has 8 candidates per parameter, each evaluated in four episodes. The best candidates of the last
    generation and the unchanged reference are then compared on more and different episodes, because a high score in few
    episodes may be luck. Hidden options are drawn from the training split.

    Args:
        generations: Number of generations.
        seed: Seed of the search and of its first episode.

    Returns:
        reference, parameters, policy: Name, parameters (empty if unchanged) and policy; None if no reference has
            bounds.
    """
    results = [
        _best(env_id, Controllers(name, reference), generations, seed)
        for name, reference in references_of(env_id).items()
        if reference.bounds
    ]
    return max(results, key=lambda each: each[0])[1:] if results else None


def _best(env_id: str, kind: Controllers, generations: int, seed: int) -> tuple[float, str, dict[str, float], Policy]:
    """Search the parameters of one reference; return score, name, parameters and policy of the best."""
    task = task_of(env_id)
    env = {**kind.reference.env, **({"split": "train"} if task.hidden else {})}

    def play(vectors: Any, episodes: int, first: int) -> NDArray[np.float64]:
        seeds = range(first, first + episodes)
        results = play_side_by_side(env_id, env, lambda envs: kind.agent(vectors, envs), len(vectors), seeds)
        return results.score(task.score).reshape(-1, episodes).mean(1)

    start, rng = np.full(kind.size, 0.5), np.random.default_rng(seed)
    evolution = Evolution(start, 0.3, rng, box=(0.0, 1.0), population=8 * kind.size)
    for _ in range(generations):
        evolution.tell(play(evolution.ask(), SEARCHED, seed))
    finalists = [None, *evolution.best(FINALISTS - 1)]
    scores = play(finalists, COMPARED, seed + SEARCHED)
    best = finalists[int(scores.argmax())]
    policy = reference_policy(CONSTANT, kind.reference, **kind.parameters(best))
    return float(scores.max()), kind.name, kind.parameters(best), policy
