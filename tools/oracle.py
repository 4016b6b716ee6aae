"""Find the score that is 1 on the normalised scale, by fitting a controller to each of some fixed episodes with CMA-ES.

::

    python -m tools.oracle WormSwim-v0 --write

The search uses no learning and no trained policy. The mean of the best scores is not a bound: a policy can exceed it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from numpy.typing import NDArray

from gymnosoma.agents.learning.search import Evolution
from gymnosoma.agents.policies.agent import ControllerAgent
from gymnosoma.agents.policies.evaluation import play_side_by_side
from gymnosoma.agents.policies.fingerprints import env_fingerprint, values_digest
from gymnosoma.agents.policies.registry import controllers_digest, full_id, task_class
from gymnosoma.agents.support.files import locked, replacing
from gymnosoma.agents.support.workers import Workers, watched, workers
from gymnosoma.cli.arguments import Id, Processes
from gymnosoma.envs.core.arguments import whole
from gymnosoma.envs.core.env.documentation import normaliser

from . import publish
from .oracles import ORACLES, Oracle

ORACLE_SEED = 40_000
"""First seed of the episodes, which are used for this search only."""

TOGETHER = 16
"""Number of episodes that one job searches at the same time."""

SEARCHES = 2
"""Number of searches of each episode, with different random numbers; their difference shows convergence."""

STILL, AGREE = 0.01, 0.02
"""Convergence limits, as shares of the scale: gain in the second half of the generations, difference of searches."""


def oracle(
    env_id: Id,
    /,
    episodes: int = 64,
    generations: int = 60,
    population: int = 14,
    processes: Processes = 1,
    folder: Path = Path("oracle"),
    write: bool = False,
) -> None:
    """Find the score that is 1 on an id's scale, by fitting a controller to each of some episodes twice with CMA-ES.

    The search has converged if the second half of the generations adds less than 1% of the scale, and the two searches
    differ by less than 2% of it. If the command is interrupted, run it again to continue.

    Args:
        env_id: Environment.
        episodes: Number of episodes, from seed 40000 on.
        generations: Number of generations of each search.
        population: Number of candidates per generation.
        processes: Number of processes.
        folder: Folder for the results of the searches.
        write: Write the result into assets/normalisers.toml; an error if the search has not converged.
    """
    env_id = full_id(env_id)
    numbers = len(oracle_of(env_id).start)
    whole("episodes", episodes, 2, 1000)
    whole("generations", generations, 2, 10_000)
    whole("population", population, 4, 1000)
    scale = normaliser(env_id)
    with locked("folder", folder), workers(processes) as engine:
        start, best = search(env_id, episodes, generations, population, folder, engine)
    reached = best.max(0).mean(1)  # after each generation
    value, unit = float(reached[-1]), task_class(env_id).score.unit
    print(f"{env_id}: {value:.5g} {unit}, the mean of {episodes} episodes ({start.mean():.5g} at first)")
    steps = [generations * k // 4 - 1 for k in (1, 2, 3, 4)]
    print(f"After each quarter of the generations: {', '.join(f'{reached[step]:.5g}' for step in steps)}")
    converged = scale is not None
    if scale is not None:
        last = best[:, -1].mean(1)
        later = (last - best[:, generations // 2].mean(1)).mean()
        for what, change, limit in (
            ("The second half of the generations adds", later, STILL),
            ("Searches differ by", np.ptp(last), AGREE),
        ):
            share = change / (value - scale["floor"])
            converged &= bool(share < limit)
            print(f"{what} {share:.2%} of the scale; at most {limit:.0%} counts as converged.")
    if write:
        if not converged:
            raise ValueError("write requires a converged search: increase --generations")
        why = f"an oracle of {numbers} numbers, fitted to each of {episodes} episodes in {generations} generations"
        publish.freeze({env_id: {"best": float(f"{value:.4g}"), "bound": False, "why": why}})
        print("Written: assets/normalisers.toml.")


def oracle_of(env_id: str) -> Oracle:
    """Return the oracle of an id.

    Raises:
        ValueError: If the id has none, because its scale ends at a bound or has no end.
    """
    if task_class(env_id) not in ORACLES:
        raise ValueError(f"id must have an oracle, got {env_id!r}, whose scale ends at a bound or has no end")
    return ORACLES[task_class(env_id)]


def search(
    env_id: str, episodes: int, generations: int, population: int, folder: Path, engine: Workers
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Search all episodes, except those with results in ``folder``.

    Returns:
        start (E,): Scores of the initial parameters, in the unit shown to users.
        best (searches, generations, E): Best score after each generation.
    """
    depends = values_digest(
        env_fingerprint(env_id, oracle_of(env_id).env), controllers_digest(env_id), generations, population
    )
    files, jobs = {}, {}
    for first in range(0, episodes, TOGETHER):
        for number in range(SEARCHES):
            count = min(TOGETHER, episodes - first)
            name = f"{env_id.split('/')[1]}-{depends}-{first}-{number}-{count}"
            files[name] = folder / f"{name}.json"
            if not files[name].is_file():
                jobs[name] = (env_id, first, count, number, generations, population, files[name])
    outcomes = watched(engine.work(_search, jobs), jobs, "search", len(files) - len(jobs))
    for name, _, error in outcomes.values():
        if error is not None:
            raise RuntimeError(f"{name} failed: {error}")
    results = [json.loads(file.read_text("utf-8")) for file in files.values()]
    start = np.concatenate([each["start"] for each in results[::SEARCHES]])
    best = [np.concatenate([each["best"] for each in results[k::SEARCHES]], axis=1) for k in range(SEARCHES)]
    return start, np.array(best)


def _search(env_id: str, first: int, episodes: int, number: int, generations: int, population: int, file: Path) -> None:
    """Search ``episodes`` episodes from ``first`` on, and write the initial and best scores to ``file``."""
    own, score = oracle_of(env_id), task_class(env_id).score
    seeds = range(ORACLE_SEED + first, ORACLE_SEED + first + episodes)
    env = {**own.env, **({"split": None} if task_class(env_id).hidden else {})}

    def play(candidates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scores (E, P) of parameters (E, P, k)."""
        players = candidates.shape[1]
        rows = candidates.swapaxes(0, 1).reshape(players * episodes, -1)

        def agent(envs: Any) -> ControllerAgent:
            return ControllerAgent(own.make(envs.task, rows), envs.task)

        results = play_side_by_side(env_id, env, agent, players, seeds)
        return (results.score(score) * score.factor).reshape(players, episodes).T

    start = best = play(np.broadcast_to(np.asarray(own.start, float), (episodes, 1, len(own.start))))[:, 0]
    rngs = [np.random.default_rng((seed, number)) for seed in seeds]
    evolutions = [Evolution(own.start, own.spread, rng, population=population) for rng in rngs]
    history = []
    for _ in range(generations):
        scores = play(np.array([evolution.ask() for evolution in evolutions]))
        for evolution, each in zip(evolutions, scores, strict=True):
            evolution.tell(each)
        best = np.maximum(best, scores.max(1))
        history.append(best.tolist())
    with replacing(file) as out:
        out.write((json.dumps({"start": start.tolist(), "best": history}) + "\n").encode())


if __name__ == "__main__":
    tyro.cli(oracle)
