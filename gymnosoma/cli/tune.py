"""Command ``tune``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

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

    The recipe's table tune lists the values that are tried. A trial is judged by 64 episodes of its own. Trials
    that have ended are kept; --resume goes on.

    Args:
        algorithm: Instead of the recipe's.
        trials: Number of trainings.
        steps: Of each training.
        seed: Of the search, and of every training.
        recipe: Settings in TOML, instead of the environment's own.
        folder: Of the study; tuning/ID-ALGORITHM by default, with the arguments of --env after it.
        resume: Go on with the study in the folder.
        together: Trials that are proposed together, and can be done at the same time; the number of processes, or of a
            cluster's cores, by default.
    """
    from gymnosoma.agents.learning import tuning
    from gymnosoma.agents.learning.runs import recipe as read_recipe

    for name, value in (("steps", steps), ("seed", seed)):
        in_range(name, value, *RANGES[name])
    for name, value, high in (("trials", trials, 10**6), ("together", together or 1, 1024)):
        in_range(name, value, 1, high)
    env_id, arguments = full_id(env_id), read_arguments(env, param)
    short, chosen = env_id.split("/")[1], read_recipe(env_id, algorithm, recipe)["algorithm"]
    place = folder or Path("tuning") / f"{short}-{chosen}{folder_part(arguments)}"
    request: dict[str, Any] = {
        "trials": trials,
        "steps": steps,
        "seed": seed,
        "env": arguments,
        "recipe_file": recipe,
        "resume": resume,
    }
    try:
        with workers(processes, ray) as engine:
            best = tuning.tune(env_id, place, algorithm, **request, together=together or engine.count, workers=engine)
    except KeyboardInterrupt:
        print(f"Interrupted. All trials that have ended are in {place}; go on with --resume.")
        raise
    if best is not None:
        settings, score = best
        print(f"Best score {score:.4g}: {', '.join(f'{name} {value}' for name, value in settings.items())}")
        print(f"The recipe is {place / f'{short}.toml'}; use it by train {short} --recipe FILE.")
