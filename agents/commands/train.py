"""Command ``train``."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from ..evaluation.policies import full_id, references_of
from ..files import replacing
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

    Ctrl-C and SIGTERM stop the training after the update under way and keep everything; --resume continues it as if
    nothing had happened. A second Ctrl-C stops at once, and loses what came after the last checkpoint.

    Args:
        env_id: An environment, such as WormSwim-v0; see `list`.
        algorithm: Instead of the recipe's.
        steps: Steps in all, instead of the recipe's.
        num_envs: Animals trained on side by side, instead of the recipe's.
        seed: Of the network and the animals.
        folder: Run folder; runs/ID-ALGORITHM-SEED by default.
        resume: Continue the run in the folder from its last checkpoint. Not somebody else's: it could run their code.
        checkpoint: Steps between checkpoints.
        threads: Threads of the network.
        episodes: Episodes of the evaluation at the end; not those that `evaluate` takes.
    """
    from ..learning import training
    from ..learning.policy_file import add_scores

    if episodes < 1:
        raise ValueError(f"episodes must be at least 1, got {episodes!r}")
    env_id = full_id(env_id)
    if folder is None:
        chosen = training.recipe(env_id, algorithm)["algorithm"]
        folder = Path("runs") / f"{env_id.split('/')[1]}-{chosen}-{seed}"
    with _signals() as caught:
        training.train(
            env_id, folder, algorithm, steps, num_envs, seed, checkpoint, threads, resume, stop=lambda: caught
        )
    if caught:
        print(f"Interrupted. Everything is in {folder}; continue with --resume.")
        sys.exit(128 + caught[0])
    rows = measure(env_id, [str(folder), *references_of(env_id), "random"], episodes, 1000)
    with replacing(folder / "evaluation.json") as file:
        file.write((json.dumps(rows, indent=2) + "\n").encode())
    add_scores(folder, rows[0])
    show(rows)
    print(f"Policy, learning curve and evaluation are in {folder}.")


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Note the first SIGINT or SIGTERM instead of obeying it; a second one is obeyed at once."""
    caught: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: object) -> None:
        caught.append(number)
        restore()
        with suppress(OSError):  # os.write: a signal may come amid a print
            os.write(2, b"\nStopping after this update, to save all of it; again to stop at once.\n")

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as of nohup
            signal.signal(number, note)
    try:
        yield caught
    finally:
        restore()
