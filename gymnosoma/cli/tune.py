"""Command ``tune``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from gymnosoma.agents.policies.config import RANGES
from gymnosoma.agents.policies.registry import full_id
from gymnosoma.agents.support.schema import in_range
from gymnosoma.agents.support.workers import workers

from .arguments import Arguments, Id, Params, Processes, Ray, folder_part, read_arguments


def tune(
    env_id: Id,
    /,
    algorithm: Literal["ppo", "sac", "cma"] | None = None,
    trials: int = 20,
    steps: int = 200_000,
    seconds: float | None = None,
    seed: int = 0,
    env: Arguments = (),
    param: Params = (),
    recipe: Path | None = None,
    folder: Path | None = None,
    resume: bool = False,
    together: int | None = None,
    processes: Processes = 1,
    ray: Ray = None,
) -> None:
    """Search good settings by short trainings, and write the best as a recipe for `train --recipe`.

    What is tried are the lists in the recipe's table tune; a trial is judged by 64 episodes of its own, and ended early
    where its learning curve is below the median of those before. Whatever ends it keeps all trials that have ended;
    --resume goes on.

    Args:
        algorithm: Instead of the recipe's.
        trials: Trainings in all.
        steps: Of each training.
        seconds: CPU seconds after which a training ends, too.
        seed: Of the search, and of every training.
        recipe: Settings in TOML, instead of the environment's own.
        folder: Of the study; tuning/ID-ALGORITHM by default, with the arguments of --env after it.
        resume: Go on with the study in the folder.
        together: Trials that are proposed together, and can be done at the same time; the number of processes, or of
            a cluster's cores, by default. Another number is another study.
    """
    from gymnosoma.agents.learning.runs import recipe as read_recipe
    from gymnosoma.agents.learning.tuning import tune as search

    for name, value in (("steps", steps), ("seed", seed)):
        in_range(name, value, *RANGES[name])
    in_range("trials", trials, 1, 10**6)
    if seconds is not None and not 0.0 < seconds < float("inf"):
        raise ValueError(f"seconds must be finite and greater than 0, got {seconds!r}")
    env_id = full_id(env_id)
    short, chosen = env_id.split("/")[1], read_recipe(env_id, algorithm, recipe)["algorithm"]
    given = read_arguments(env, param)
    place = folder or Path("tuning") / f"{short}-{chosen}{folder_part(given)}"
    if together is not None:
        in_range("together", together, 1, 1024)
    try:
        with workers(processes, ray) as engine:
            found = search(
                env_id,
                place,
                algorithm,
                trials=trials,
                steps=steps,
                seconds=seconds,
                seed=seed,
                env=given,
                recipe_file=recipe,
                resume=resume,
                together=together or engine.count,
                workers=engine,
            )
    except KeyboardInterrupt:
        print(f"Interrupted. All trials that have ended are in {place}; go on with --resume.")
        raise
    if found is not None:
        settings, score = found
        print(f"Best score {score:.4g}: {', '.join(f'{name} {value}' for name, value in settings.items())}")
        print(f"As a recipe it is in {place / f'{short}.toml'}; use it by train {short} --recipe FILE.")
