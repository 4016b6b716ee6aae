"""Training of policies into run folders that can be resumed."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from gymnosoma.envs.core.arguments import choice, whole
from gymnosoma.envs.core.kinds import takes_objects
from gymnosoma.moved import point_from

from ..policies.answers import Answers
from ..policies.fingerprints import env_fingerprint
from ..policies.registry import ALGORITHMS, check_env, references_of, searched, task_of, versions
from ..support.files import check_folder, locked
from ..support.schema import read
from ..support.workers import run_jobs, values_of
from .runs import CONFIG, RANGES, Run, RunConfig, check_settings, read_config, recipe


@dataclass(frozen=True)
class TrainConfig:
    """Settings of a training. By default, most values are the recipe's.

    Args:
        algorithm: Learning algorithm. By default, the recipe's.
        steps: Total number of steps. By default, the recipe's.
        num_envs: Number of parallel environments. By default, the recipe's.
        imitate: Reference controller, such as baseline, that PPO imitates before it learns; "" for none.
        controller: With cma, the reference to optimise, such as baseline; "" optimises the weights of a network. With
            supervised, the reference that moves the animal while a network learns the answers.
        recipe: TOML file with training settings. By default, the environment's recipe.
        seed: Random seed for the network and the environments.
        checkpoint: Steps between checkpoints, or one rollout if it is longer. cma saves every generation.
        threads: CPU threads of the network. More than 2 rarely help.
        env: Arguments of the environment, added to the recipe's.
        settings: Settings of the algorithm, added to the recipe's.
    """

    algorithm: Literal["ppo", "sac", "cma", "supervised", None] = None
    steps: int | None = None
    num_envs: int | None = None
    imitate: str | None = None
    controller: str | None = None
    recipe: Path | None = None
    seed: int = 0
    checkpoint: int = 100_000
    threads: int = 1
    env: Annotated[Mapping[str, Any], tyro.conf.Suppress] = field(default_factory=dict)
    settings: Annotated[Mapping[str, Any], tyro.conf.Suppress] = field(default_factory=dict)

    def options(self, *names: str) -> dict[str, Any]:
        """Return those of the named settings that are not None."""
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@takes_objects
def train(
    env_id: str,
    folder: Path,
    config: TrainConfig = TrainConfig(),
    *,
    resume: bool = False,
    stop: Callable[[], object] = lambda: False,
    watch: Callable[[Mapping[str, float]], None] = lambda row: None,
) -> bool:
    """Train a policy into a run folder.

    The folder contains ``config.json``, ``card.json``, ``curve.csv``, a checkpoint, ``policy.safetensors`` (if the
    policy has a network), and TensorBoard logs (PPO and SAC).

    Args:
        env_id: Environment.
        folder: Run folder.
        config: Settings.
        resume: Continue the run in ``folder`` from its last checkpoint, bit for bit if it uses one thread. The settings
            must agree with the run, except that ``steps`` may increase. Checkpoints of PPO and SAC contain pickled
            Python objects: resume only runs that you trust, because loading executes code.
        stop: Function called after every update. The run is saved and ends if it returns True.
        watch: Function called with each row of the learning curve, as a mapping.

    Returns:
        bool: False if ``stop`` ended the run.

    Raises:
        ValueError: If the settings are invalid, if the folder already contains a run (without ``resume``) or no run
            that can be resumed, or if another process is using the folder.
        OSError: If a file cannot be written; names the file. The run can be resumed after freeing disk space.
    """
    run_config(env_id, folder, config, resume)  # before the folder is created
    with locked("folder", folder):
        own = run_config(env_id, folder, config, resume)
        algorithm, goal = ALGORITHMS[own.algorithm], config.steps or own.steps
        own = replace(
            own,
            versions=own.versions or versions(*algorithm.libraries),
            fingerprint=own.fingerprint or env_fingerprint(env_id, own.env),
            steps=max(goal, own.steps),
        )
        run = Run(folder, own, goal, config.checkpoint, stop=stop, watch=watch, resumed=resume)
        if resume and not run.checkpoint.is_file():
            raise ValueError(f"folder {str(folder)!r} has no {run.checkpoint.name} to resume from")
        learning = import_module(f".{algorithm.module}", __package__)
        try:
            return learning.learn(run, config.threads)
        finally:
            run.close()


def train_all(env_id: str, runs: Mapping[Path, TrainConfig], executor: Executor | None = None) -> None:
    """Train policies into several run folders; existing runs continue from their last checkpoint.

    Args:
        env_id: Environment.
        runs: Settings by run folder. All machines of the executor must share the folders.
        executor: Any executor, such as that of `workers`; None trains in this process, one after another.

    Raises:
        Unfinished: If trainings failed; the others are complete.
    """
    for folder in runs:
        folder.mkdir(parents=True, exist_ok=True)
    jobs = {str(folder): (env_id, folder.absolute(), config) for folder, config in runs.items()}
    values_of(run_jobs(executor, _train_shared, jobs, "run"), "; use --resume to continue")


def _train_shared(env_id: str, folder: Path, config: TrainConfig) -> None:
    """Train on any machine that shares the run folder."""
    if not folder.is_dir():
        raise ValueError(f"folder must be shared by all machines, got {str(folder)!r}, unknown to {platform.node()}")
    train(env_id, folder, config, resume=(folder / CONFIG).exists())


def run_config(env_id: str, folder: Path, config: TrainConfig, resume: bool = False) -> RunConfig:
    """Check the settings and return the configuration of the run, without importing learning libraries.

    For a new run, ``versions`` and ``fingerprint`` are empty, because they take long to compute.

    Raises:
        ValueError: As in `train`.
    """
    for name, (low, high) in RANGES.items():
        if getattr(config, name) is not None:
            whole(name, getattr(config, name), low, high)
    if resume:
        return _resumed(env_id, folder, config)
    check_folder("folder", folder)
    if (folder / CONFIG).exists():
        raise ValueError(f"folder {str(folder)!r} already contains a run: use --resume to continue it, or --folder")
    return _new(env_id, config)


def _resumed(env_id: str, folder: Path, config: TrainConfig) -> RunConfig:
    """Read the configuration of the run in a folder and check that the settings agree with it."""
    run = read_config(folder)
    check_settings(run.algorithm, run.settings)
    if run.id != env_id:
        raise ValueError(f"folder {str(folder)!r} holds a run of {run.id}, not of {env_id}")
    for part, values, before in (
        ("", config.options("algorithm", "num_envs"), vars(run)),
        ("", {**config.settings, **config.options("imitate", "controller")}, run.settings),
        ("env: ", config.env, run.env),
    ):
        for name, value in values.items():
            if value != before.get(name):
                raise ValueError(f"{part}{name} must be {before.get(name)!r}, as in the run, got {value!r}")
    if env_fingerprint(env_id, run.env) != run.fingerprint:
        raise ValueError(
            f"folder {str(folder)!r} must contain a run of the current version of {env_id}, but the environment has "
            "changed: train in another --folder"
        )
    return run


def _new(env_id: str, config: TrainConfig) -> RunConfig:
    """Create the configuration of a new run from the recipe and the settings."""
    base = recipe(env_id, config.algorithm, config.recipe)
    algorithm, settings = base.algorithm, {**base.settings, **config.settings}
    env: Mapping[str, Any] = base.env
    check_settings(algorithm, settings)
    for name, value in config.options("imitate", "controller").items():
        if name not in settings:
            raise ValueError(f"{name} must be left out for {algorithm}, got {value!r}")
        settings[name] = value
    if algorithm == "cma" and settings["controller"]:
        env = searched(env_id, settings["controller"]).env  # the recipe's arguments are for a network
    elif algorithm == "supervised":
        choice("controller", settings["controller"], references_of(env_id))
        env = {**references_of(env_id)[settings["controller"]].env, **env}
    elif settings.get("imitate"):
        choice("imitate", settings["imitate"], references_of(env_id))
    env = {**env, **config.env}
    for name, value in env.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError(f"env: {name} must consist of numbers, strings, lists and mappings (JSON)") from None
    own = {"id": env_id, "seed": config.seed, "versions": {}, "fingerprint": "", "env": env, "settings": settings}
    run = read(RunConfig, {**vars(base), **own, **config.options("num_envs", "steps")}, "run")
    check_env(env_id, env)
    if algorithm == "supervised":
        Answers(task_of(env_id, **env))
    return run


point_from(__name__)
