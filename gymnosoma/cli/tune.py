"""Command ``tune``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from gymnosoma.agents.policies.config import RANGES
from gymnosoma.agents.policies.registry import full_id
from gymnosoma.agents.support.workers import workers
from gymnosoma.envs.core.arguments import whole

from .arguments import Arguments, Id, Params, Processes, folder_part, read_arguments


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
) -> None:
    """Search training settings with short runs and save the best.

    The result is a recipe for `train --recipe`. The table tune of the recipe lists the values to try. The score of a
    trial is its mean over 64 validation episodes. Finished trials are saved, and --resume continues the search.

    Args:
        algorithm: Learning algorithm. By default, the recipe's.
        trials: Number of trials.
        steps: Training steps per trial.
        seed: Seed of the search and of every training.
        recipe: TOML file with training settings. By default, the environment's recipe.
        folder: Folder of the study. By default, tuning/ID-ALGORITHM; arguments of --env are appended.
        resume: Continue the study in the folder.
        together: Number of trials proposed together, which can run in parallel. By default, the number of processes.
    """
    from gymnosoma.agents.learning import tuning
    from gymnosoma.agents.learning.runs import recipe as read_recipe

    for name, value in (("steps", steps), ("seed", seed)):
        whole(name, value, *RANGES[name])
    for name, value, high in (("trials", trials, 10**6), ("together", together or 1, 1024)):
        whole(name, value, 1, high)
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
        with workers(processes) as engine:
            best = tuning.tune(env_id, place, algorithm, **request, together=together or engine.count, workers=engine)
    except KeyboardInterrupt:
        print(f"Interrupted. All finished trials are in {place}; use --resume to continue.")
        raise
    if best is not None:
        settings, score = best
        print(f"Best score {score:.4g}: {', '.join(f'{name} {value}' for name, value in settings.items())}")
        print(f"The recipe is {place / f'{short}.toml'}; use it with train {short} --recipe FILE.")
