"""Command ``train``."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gymnosoma.agents.policies.registry import full_id, references_of
from gymnosoma.agents.support.files import locked, replacing
from gymnosoma.agents.support.interruption import noted_signals
from gymnosoma.agents.support.workers import Unfinished, Workers, watched, workers

from .arguments import Arguments, Id, Params, Processes, Ray, folder_part, read_arguments
from .evaluate import measure, show

if TYPE_CHECKING:
    from gymnosoma.agents.learning.training import Training

STOPPING, LAST = (
    (signal.SIGINT, signal.SIGTERM),
    "\nStopping after this update, to save all of it; again to stop at once.\n",
)
"""Signals that end a training after the update under way, and the message then."""


def train(
    env_id: Id,
    /,
    algorithm: Literal["ppo", "sac", "cma", "supervised"] | None = None,
    steps: int | None = None,
    num_envs: int | None = None,
    imitate: str | None = None,
    controller: str | None = None,
    env: Arguments = (),
    param: Params = (),
    recipe: Path | None = None,
    seed: int = 0,
    seeds: int = 1,
    folder: Path | None = None,
    resume: bool = False,
    checkpoint: int = 100_000,
    threads: int = 1,
    episodes: int = 64,
    processes: Processes = 1,
    ray: Ray = None,
) -> None:
    """Train a policy, then compare it with the animal's own controllers.

    Ctrl-C and SIGTERM stop the training after the update under way and keep everything; --resume continues it as if
    nothing had happened. A second Ctrl-C stops at once, and loses what came after the last checkpoint.

    Args:
        algorithm: Instead of the recipe's.
        steps: Steps in all, instead of the recipe's.
        num_envs: Animals trained on side by side, instead of the recipe's.
        imitate: Reference that the network imitates before it learns, such as baseline; "" for none. PPO only.
        controller: Reference whose parameters cma searches, such as baseline; "" for the weights of a network. With
            supervised: reference that moves while a network learns what the action's answers should be.
        recipe: Settings in TOML, such as `tune` writes, instead of the environment's own.
        seed: Random seed for the network and the environments.
        seeds: Number of runs, with the seeds from there on, one after another or on --processes; each has a folder of
            its own, ...-SEED.
        folder: Run folder; runs/ID-ALGORITHM-SEED by default, with the arguments of --env between the last two.
        resume: Continue the run in the folder from its last checkpoint; of several seeds, those that have begun, and
            begin the others. Not somebody else's: it could run their code.
        checkpoint: Steps between checkpoints.
        threads: Threads of the network.
        episodes: Episodes of the evaluation at the end; not those that `evaluate` takes.
    """
    from gymnosoma.agents.learning.runs import recipe as read_recipe
    from gymnosoma.agents.learning.training import Training

    for name, value in (("episodes", episodes), ("seeds", seeds)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}")
    several = processes > 1 or ray is not None
    if several and seeds == 1:
        raise ValueError("processes and ray have no effect on a single run; combine them with --seeds")
    env_id, arguments = full_id(env_id), read_arguments(env, param)
    request = Training(
        env_id,
        algorithm,
        steps=steps,
        num_envs=num_envs,
        imitate=imitate,
        controller=controller,
        env=arguments,
        recipe_file=recipe,
        checkpoint=checkpoint,
        threads=threads,
    )
    chosen = read_recipe(env_id, algorithm, recipe)["algorithm"]
    stem = folder or Path("runs") / f"{env_id.split('/')[1]}-{chosen}{folder_part(arguments)}"
    folders = {k: stem.with_name(f"{stem.name}-{k}") for k in range(seed, seed + seeds)}
    if folder is not None and seeds == 1:
        folders = {seed: folder}
    for k, place in folders.items():
        replace(request, seed=k).check(place, resume=resume and (seeds == 1 or (place / "config.json").exists()))
    if several:
        with workers(processes, ray) as engine:
            rows = _train_together(request, folders, episodes, engine)
    else:
        rows = []
        for k, place in folders.items():
            rows.append(_train_one(replace(request, seed=k), place, episodes))
    names = [*references_of(env_id), "random"]
    others = measure(env_id, names, episodes, 1000)
    for place, row in zip(folders.values(), rows, strict=True):
        _note_scores(place, row, others)
    show([*rows, *others])
    print(f"Policy, learning curve and evaluation are in {', '.join(map(str, folders.values()))}.")


def _train_one(request: Training, place: Path, episodes: int) -> dict[str, Any]:
    """Train, until a signal comes; the scores."""
    with noted_signals(*STOPPING, message=LAST) as caught:
        request.run(place, resume=(place / "config.json").exists(), stop=lambda: caught)
    if caught:
        print(f"Interrupted. Everything is in {place}; continue with --resume.")
        sys.exit(128 + caught[0])
    return measure(request.env_id, [str(place)], episodes, 1000)[0]


def _train_seed(request: Training, place: Path, episodes: int) -> dict[str, Any]:
    """Train in another process; the scores."""
    request.run(place, resume=(place / "config.json").exists())
    return measure(request.env_id, [str(place)], episodes, 1000)[0]


def _train_together(
    request: Training, folders: Mapping[int, Path], episodes: int, engine: Workers
) -> list[dict[str, Any]]:
    """Train and measure seeds at the same time; a run that was stopped goes on from its last checkpoint."""
    pieces = {str(place): (replace(request, seed=seed), place, episodes) for seed, place in folders.items()}
    outcomes = {outcome.name: outcome for outcome in watched(engine.work(_train_seed, pieces), len(pieces), "run")}
    failed = [f"{name}: {outcome.error}" for name, outcome in outcomes.items() if outcome.error is not None]
    if failed:
        raise Unfinished("; ".join(failed) + "; go on with --resume")
    return [outcomes[name].value for name in pieces]


def _note_scores(place: Path, own: dict[str, Any], others: Sequence[dict[str, Any]]) -> None:
    from gymnosoma.agents.policies.card import add_scores

    with locked("folder", place):
        with replacing(place / "evaluation.json") as file:
            file.write((json.dumps([own, *others], indent=2) + "\n").encode())
        add_scores(place, own)
