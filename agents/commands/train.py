"""Command ``train``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

from ..evaluation.policies import full_id, references_of
from .arguments import Id
from .evaluate import measure, show


def train(
    env_id: Id,
    /,
    algorithm: Literal["ppo", "sac"] | None = None,
    steps: int | None = None,
    num_envs: int | None = None,
    seed: int = 0,
    folder: Path | None = None,
    resume: bool = False,
    checkpoint: int = 100_000,
    threads: int = 1,
    episodes: int = 64,
) -> None:
    """Train a policy, then compare it with the animal's own controllers.

    Ctrl-C stops the training and keeps everything; --resume continues it.

    Args:
        env_id: An environment, such as WormSwim-v0; see `list`.
        algorithm: Instead of the recipe's.
        steps: Steps in all, instead of the recipe's.
        num_envs: Animals trained on side by side, instead of the recipe's.
        seed: Of the network and the animals.
        folder: Run folder; runs/ID-ALGORITHM-SEED by default.
        resume: Continue the run in the folder from its last checkpoint.
        checkpoint: Steps between checkpoints.
        threads: Threads of the network.
        episodes: Episodes of the evaluation at the end; not those that `evaluate` takes.
    """
    from ..learning import training

    if episodes < 1:
        raise ValueError(f"episodes must be at least 1, got {episodes!r}")
    env_id = full_id(env_id)
    if folder is None:
        chosen = training.recipe(env_id, algorithm)["algorithm"]
        folder = Path("runs") / f"{env_id.split('/')[1]}-{chosen}-{seed}"
    finished = training.train(env_id, folder, algorithm, steps, num_envs, seed, checkpoint, threads, resume)
    if not finished:
        print(f"Interrupted. Everything is in {folder}; continue with --resume.")
        sys.exit(130)
    rows = measure(env_id, [str(folder), *references_of(env_id), "random"], episodes, 1000)
    (folder / "evaluation.json").write_text(json.dumps(rows, indent=2) + "\n")
    show(rows)
    print(f"Policy, learning curve and evaluation are in {folder}.")
