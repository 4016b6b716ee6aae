"""Finds what an episode is worth: a controller is fitted to each of some frozen episodes, by CMA-ES.

Hansen & Ostermeier (2001), Completely derandomized self-adaptation in evolution strategies; the package ``cma``. No
learning takes part, and nothing that was trained: so the mean of the best scores can be the 1 of a scale on which
learning is measured. It is no bound; a policy that does better than a controller of this form passes it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import controllers
from ..controllers import Oracle
from ..policies.agent import ControllerAgent
from ..policies.fingerprints import of_id, of_values
from ..policies.registry import controllers_digest, task_class, task_of
from ..policies.rollout import play_side_by_side
from ..support.files import replacing
from ..support.workers import Workers, watched

ORACLE_SEED = 40_000
"""First seed of the frozen episodes; nothing else is played, searched or learned in them."""

TOGETHER = 16
"""Episodes whose searches go side by side, and are kept when they are done."""

SEARCHES = 2
"""Searches of each episode, by other random numbers: they tell whether one would do."""

STILL, AGREE = 0.01, 0.02
"""Shares of the scale that the second half of the generations, and another search, may add to what counts as found."""


class Found(NamedTuple):
    """Best scores of the episodes, in the unit that is shown.

    Args:
        start: Of the parameters with which the searches began, (E,).
        best: Best so far after each generation, (searches, generations, E).
    """

    start: NDArray[np.float64]
    best: NDArray[np.float64]

    @property
    def value(self) -> float:
        """Mean over the episodes of the best of all searches."""
        return float(self.best[:, -1].max(0).mean())

    def unconverged(self, floor: float) -> dict[str, tuple[float, float]]:
        """Shares of the scale that later generations and other searches add, each with what is allowed."""
        last, half = self.best[:, -1], self.best[:, self.best.shape[1] // 2]
        scale = self.value - floor
        return {
            "the second half of the generations adds": (float((last - half).mean()) / scale, STILL),
            "searches differ by": (float(np.ptp(last.mean(1))) / scale, AGREE),
        }


def oracle_of(env_id: str) -> Oracle:
    """The oracle of an id; ValueError where its scale has a bound instead."""
    found = controllers.oracle(task_class(env_id))
    if found is None:
        raise ValueError(
            f"id must be one that has an oracle, got {env_id!r}, whose scale ends at a bound or has no end"
        )
    return found


def search(env_id: str, episodes: int, generations: int, population: int, folder: Path, engine: Workers) -> Found:
    """Search all episodes, of which ``folder`` keeps what is done; the same call does what is left.

    Raises:
        ValueError: If the id has no oracle.
        RuntimeError: If a search fails.
    """
    oracle = oracle_of(env_id)
    depends = of_values(of_id(env_id, oracle.env), controllers_digest(env_id), generations, population)
    pieces = {
        f"{env_id.split('/')[1]}-{depends}-{k}-{search}": (env_id, k, min(TOGETHER, episodes - k), search, generations)
        for k in range(0, episodes, TOGETHER)
        for search in range(SEARCHES)
    }
    files = {name: folder / f"{name}-{count}.json" for name, (_, _, count, _, _) in pieces.items()}
    left = {name: (*piece, population, files[name]) for name, piece in pieces.items() if not files[name].is_file()}
    for name, _, error in watched(engine.work(_search, left), len(left), "search", len(pieces) - len(left)):
        if error is not None:
            raise RuntimeError(f"{name} failed: {error}")
    kept = [json.loads(file.read_text("utf-8")) for file in files.values()]
    start = np.concatenate([each["start"] for each in kept[::SEARCHES]])
    best = [np.concatenate([each["best"] for each in kept[k::SEARCHES]], axis=1) for k in range(SEARCHES)]
    return Found(start, np.array(best))


def _search(env_id: str, first: int, episodes: int, number: int, generations: int, population: int, file: Path) -> None:
    """Search some episodes from the ``first`` on, and write the start's and the best scores after each generation."""
    import cma

    oracle, score = oracle_of(env_id), task_of(env_id).score
    seeds = range(ORACLE_SEED + first, ORACLE_SEED + first + episodes)
    spread = np.asarray(oracle.spread, float)

    def play(candidates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores (E, P) of parameters (E, P, k)."""
        players = candidates.shape[1]
        rows = candidates.swapaxes(0, 1).reshape(players * episodes, -1)
        played = play_side_by_side(
            env_id,
            {**oracle.env, **({"split": None} if task_class(env_id).hidden else {})},
            lambda envs: ControllerAgent(oracle.make(envs.task, rows), envs.task),
            players,
            seeds,
        )
        return (played.score(score) * score.factor).reshape(players, episodes).T

    start = np.broadcast_to(np.asarray(oracle.start, float), (episodes, 1, len(spread)))
    begun = best = play(start)[:, 0]
    strategies = []
    for seed in seeds:
        rng = np.random.default_rng((seed, number))
        randn = {"seed": np.nan, "randn": lambda *shape, rng=rng: rng.standard_normal(shape)}
        quiet = {"popsize": population, "CMA_stds": spread, "verbose": -9, "verb_log": 0, "tolfun": 0, "tolx": 0}
        strategies.append(cma.CMAEvolutionStrategy([*oracle.start], 1.0, quiet | randn))
    history = []
    for _ in range(generations):
        asked = np.array([strategy.ask() for strategy in strategies])
        scores = play(asked)
        for strategy, candidates, found in zip(strategies, asked, scores, strict=True):
            strategy.tell(list(candidates), (-found).tolist())
        best = np.maximum(best, scores.max(1))
        history.append(best.tolist())
    with replacing(file) as out:
        out.write((json.dumps({"start": begun.tolist(), "best": history}) + "\n").encode())
