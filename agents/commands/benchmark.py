"""Command ``benchmark``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import tyro

from ..evaluation.policies import all_ids, find_policy, full_id, references_of
from ..files import result


def benchmark(
    ids: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    /,
    policy: tuple[str, ...] = ("random", "baseline", "best constant", "trained"),
    episodes: int = 64,
    seed: int = 0,
    folder: Path = Path("benchmark"),
    rerun: Path | None = None,
    trust: bool = False,
) -> None:
    """Compare chance, the animals' own controllers, the best constant parameters and trained policies.

    Scores are normalised so that chance is 0 and the best known, or a bound that none can pass, 1; the animal's own
    controller lies in between. Over all ids the interquartile mean of these is shown. The folder gets the figures as
    JSON, and a picture.

    Args:
        ids: Environments; all by default.
        policy: As for `evaluate`, and "best constant": found by a search of its own.
        episodes: Episodes of each policy.
        seed: Of the first episode.
        folder: Where the results go.
        rerun: Repeat the benchmark of this JSON file, with its settings.
        trust: Load zips of stable-baselines3 too, which run whatever code their author put into them.
    """
    from rich.console import Console

    from ..evaluation import benchmark as measured

    if episodes < 2:
        raise ValueError(f"episodes must be at least 2, got {episodes!r}")
    if rerun is not None and ids:
        raise ValueError(f"ids must not be given with --rerun, which repeats those of {str(rerun)!r}; got {ids!r}")
    names = [full_id(name) for name in ids] or all_ids()
    for env_id in names:
        for name in policy:
            if name not in (measured.CONSTANT, "trained") and (name != "baseline" or references_of(env_id)):
                find_policy(env_id, name, trust=trust)  # a wrong name is told before the work, not after
    folder.mkdir(parents=True, exist_ok=True)
    with result("folder", folder / "benchmark.png") as picture:
        with result("folder", folder / "benchmark.json") as file:
            with Console(stderr=True).status("") as status:
                results = (
                    measured.benchmark(names, policy, episodes, seed, status.update, trust)
                    if rerun is None
                    else measured.rerun(rerun, status.update, trust)
                )
            measured.show(results)
            file.write_text(json.dumps(results, indent=1) + "\n")
        measured.draw(results, picture)
    print(f"Figures and picture are in {folder}.")
