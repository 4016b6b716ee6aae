"""Trains policies into run folders that survive an interruption: what is asked is checked here, and handed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gymnosoma.envs.core.arguments import choice

from ..evaluation.policies import RANGES, check_config, in_range, read_config, references_of, searched, task_of
from ..evaluation.work import HERE, Crew
from .answers import Answers
from .runs import Run, recipe, versions


def train(
    env_id: str,
    folder: Path,
    algorithm: str | None = None,
    steps: int | None = None,
    num_envs: int | None = None,
    imitate: str | None = None,
    seed: int = 0,
    checkpoint: int = 100_000,
    threads: int = 1,
    resume: bool = False,
    stop: Callable[[], object] = lambda: False,
    *,
    controller: str | None = None,
    env: Mapping[str, Any] | None = None,
    recipe_file: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    watch: Callable[[Mapping[str, float]], None] = lambda row: None,
    crew: Crew = HERE,
) -> bool:
    """Train a policy into a run folder.

    The folder gets ``config.json``, ``card.json``, ``policy.safetensors`` where there is a network, ``curve.csv``,
    ``curve.png``, a checkpoint, and of PPO and SAC TensorBoard's logs.

    Parameters
    ----------
    env_id : str
    folder : path
    algorithm, steps, num_envs, imitate : optional
        Instead of the recipe's.
    seed : int
    checkpoint : int
        Steps between checkpoints; a kill loses at most so many, or a rollout if that is longer. With ``cma``
        every generation is kept.
    threads : int
        For the network; more than 2 rarely help.
    resume : bool
        Continue the run in ``folder`` from its last checkpoint, to the bit (with one thread). Those of PPO and SAC
        hold pickled Python objects: resuming somebody else's run runs their code. What else is given must be what the
        run began with; ``steps`` may be more.
    stop : function
        Asked after every update; when it gives True the run ends there.
    controller : str, optional
        Reference whose parameters ``cma`` searches, a network's weights where it is ``""``; with ``supervised``
        the one that moves while answers are learned.
    env : mapping, optional
        Arguments of the environment, on top of the recipe's.
    recipe_file : path, optional
        A recipe in TOML, instead of the id's own.
    settings : mapping, optional
        Of the algorithm, on top of the recipe's.
    watch : function
        Told each row of the learning curve, as a mapping.
    crew : Crew
        Who plays the generations of ``cma``; the result is the same, to the bit.

    Returns
    -------
    bool
        False if ``stop`` ended it; all is saved then too.

    Raises
    ------
    ValueError
        If the folder already holds a run (without ``resume``), or none that can be resumed, or what is asked for is
        not possible.
    OSError
        If a file cannot be written, naming it; the run can be resumed when there is room again.
    """
    whole = {"steps": steps, "num_envs": num_envs, "seed": seed, "checkpoint": checkpoint, "threads": threads}
    for name, value in whole.items():
        if value is not None:
            in_range(name, value, *RANGES[name])
    given = {"algorithm": algorithm, "num_envs": num_envs, "imitate": imitate}
    own = {} if controller is None else {"controller": controller}
    if resume:
        config = read_config(folder)
        if config["id"] != env_id:
            raise ValueError(f"folder {str(folder)!r} holds a run of {config['id']}, not of {env_id}")
        began = {
            **{name: (value, config[name]) for name, value in given.items() if value is not None},
            **{name: (value, config["settings"].get(name)) for name, value in {**(settings or {}), **own}.items()},
            **{f"env: {name}": (value, config["env"].get(name)) for name, value in (env or {}).items()},
        }
        for name, (value, before) in began.items():
            if value != before:
                raise ValueError(f"{name} must be {before!r}, as the run in {str(folder)!r} began, got {value!r}")
        goal = steps or config["steps"]
        config["steps"] = max(goal, config["steps"])
    else:
        if (folder / "config.json").exists():
            raise ValueError(f"folder {str(folder)!r} already holds a run: give --resume to continue it, or --folder")
        config = recipe(env_id, algorithm, recipe_file)
        config.pop("tune")
        config["settings"] |= settings or {}
        if own:
            if "controller" not in config["settings"]:
                raise ValueError(f"controller must be left out for {config['algorithm']}, got {controller!r}")
            config["settings"] |= own
        config |= {"id": env_id, "seed": seed, "versions": versions(config["algorithm"])}
        config |= {name: value for name, value in (given | {"steps": steps}).items() if value is not None}
        config["algorithm"] = config["algorithm"].lower()
        if config["imitate"] and config["algorithm"] != "ppo":
            raise ValueError(f"imitate must be left out for {config['algorithm']}, got {config['imitate']!r}")
        base = config["env"]
        if config["algorithm"] == "cma" and config["settings"]["controller"]:
            base = searched(env_id, config["settings"]["controller"]).env  # the recipe's is the network's
        elif config["algorithm"] == "supervised":
            choice("controller", config["settings"]["controller"], references_of(env_id))
            base = {**references_of(env_id)[config["settings"]["controller"]].env, **base}
        config["env"] = {**base, **(env or {})}
        check_config(config)
        if config["algorithm"] == "supervised":
            Answers(task_of(env_id, **config["env"]))
        goal = config["steps"]
    run = Run(folder, config, goal, checkpoint, stop, watch, resume, crew)
    if resume and not run.checkpoint.is_file():
        raise ValueError(f"folder {str(folder)!r} has no {run.checkpoint.name} to resume from")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if config["algorithm"] == "cma":
            from .evolution import learn
        elif config["algorithm"] == "supervised":
            from .supervision import learn
        else:
            from .reinforcement import learn

        finished = learn(run, threads)
    finally:
        run.close()
    run.draw_curve()
    return finished
