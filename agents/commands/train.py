"""Command ``train``."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from ..evaluation.policies import full_id, references_of
from ..files import replacing
from .arguments import Arguments, Id, read_arguments
from .evaluate import measure, show


def train(
    env_id: Id,
    /,
    algorithm: Literal["ppo", "sac", "cma", "supervised"] | None = None,
    steps: int | None = None,
    num_envs: int | None = None,
    imitate: str | None = None,
    controller: str | None = None,
    env: Arguments = (),
    recipe: Path | None = None,
    seed: int = 0,
    seeds: int = 1,
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
        imitate: Reference that the network imitates before it learns, such as baseline; "" for none. PPO only.
        controller: Reference whose parameters cma searches, such as baseline; "" for the weights of a network. With
            supervised: reference that moves while a network learns what the action's answers should be.
        env: Argument of the environment, such as actions=residual or history=4, on top of the recipe's; may be
            repeated. A run that is resumed keeps those that it began with.
        recipe: Settings in TOML, such as `tune` writes, instead of the environment's own.
        seed: Of the network and the animals.
        seeds: Runs, one after another, with the seeds from there on; each has a folder of its own, ...-SEED.
        folder: Run folder; runs/ID-ALGORITHM-SEED by default.
        resume: Continue the run in the folder from its last checkpoint; of several seeds, those that have begun, and
            begin the others. Not somebody else's: it could run their code.
        checkpoint: Steps between checkpoints.
        threads: Threads of the network.
        episodes: Episodes of the evaluation at the end; not those that `evaluate` takes.
    """
    from ..learning import runs, training
    from ..learning.policy_file import add_scores

    for name, value in (("episodes", episodes), ("seeds", seeds)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}")
    env_id, given = full_id(env_id), read_arguments(env)
    chosen = runs.recipe(env_id, algorithm, recipe)["algorithm"]
    stem = folder or Path("runs") / f"{env_id.split('/')[1]}-{chosen}"
    folders = {k: stem.with_name(f"{stem.name}-{k}") for k in range(seed, seed + seeds)}
    if folder is not None and seeds == 1:
        folders = {seed: folder}
    own: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for k, place in folders.items():
        begun = resume and (seeds == 1 or (place / "config.json").exists())
        with noted_signals() as caught:
            training.train(
                env_id,
                place,
                algorithm,
                steps,
                num_envs,
                imitate,
                k,
                checkpoint,
                threads,
                begun,
                stop=lambda: caught,
                controller=controller,
                env=given,
                recipe_file=recipe,
            )
        if caught:
            print(f"Interrupted. Everything is in {place}; continue with --resume.")
            sys.exit(128 + caught[0])
        others = others or measure(env_id, [*references_of(env_id), "random"], episodes, 1000)
        own += measure(env_id, [str(place)], episodes, 1000)
        with replacing(place / "evaluation.json") as file:
            file.write((json.dumps([own[-1], *others], indent=2) + "\n").encode())
        add_scores(place, own[-1])
    show([*own, *others])
    print(f"Policy, learning curve and evaluation are in {', '.join(map(str, folders.values()))}.")


@contextmanager
def noted_signals() -> Iterator[list[int]]:
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
