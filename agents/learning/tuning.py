"""Tuning of recipes: short trainings with settings proposed by Optuna."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import sqlalchemy.exc

from gymnosoma.envs.core.files import toml_value

from ..policies.evaluation import evaluate
from ..policies.fingerprints import of_id
from ..policies.lookup import find_policy
from ..policies.registry import check_env, task_of
from ..support.files import check_folder, locked, replacing
from ..support.workers import HERE, Workers, watched
from .runs import VALIDATION, recipe
from .training import train

STUDY = "study.db"
"""SQLite file of the study. Each trial is stored when it is finished."""

EPISODES = 64
"""Number of validation episodes per trial; neither training nor the benchmark uses them."""

State = optuna.trial.TrialState


def tune(
    env_id: str,
    folder: Path,
    algorithm: str | None = None,
    *,
    trials: int = 20,
    steps: int = 200_000,
    seed: int = 0,
    env: Mapping[str, Any] | None = None,
    recipe_file: Path | None = None,
    resume: bool = False,
    together: int = 1,
    workers: Workers = HERE,
) -> tuple[dict[str, Any], float] | None:
    """Search for the settings with the highest score after a short training.

    The table ``tune`` of the recipe lists the values to try. A tree-structured Parzen estimator, seeded with ``seed``
    plus the number of the trial, proposes the settings. The folder contains the study and the best recipe, ``ID.toml``.
    A resumed study restarts unfinished trials and gives the same result.

    Args:
        env_id, algorithm, env, recipe_file, seed: As in `Training`.
        folder: Folder of the study.
        trials: Total number of trials.
        steps: Training steps per trial.
        resume: Continue the study in ``folder``.
        together: Number of trials proposed together, from the results of previous trials, which can run in parallel.
        workers: Workers that run the trials. They do not affect the result.

    Returns:
        settings, score: Best settings and their score, or None if no trial is finished.

    Raises:
        ValueError: If the recipe has no table ``tune``, if the folder already contains a study (without ``resume``), no
            study, or one with other arguments, if another process is using the folder, or if a trial fails.
    """
    base = recipe(env_id, algorithm, recipe_file)
    if not base["tune"]:
        raise ValueError(f"recipe must have a table tune.{base['algorithm']} for this algorithm, but it is missing")
    for name, values in base["tune"].items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"tune.{base['algorithm']}: {name} must be a list of values, got {values!r}")
    base["env"] |= env or {}
    check_env(env_id, base["env"])
    check_folder("folder", folder)
    request = {"id": env_id, "seed": seed, "steps": steps, "recipe": base, "together": together}
    request["environment"] = of_id(env_id, base["env"])
    path = folder / STUDY
    if path.exists() != resume:
        hint = "contains no study to continue" if resume else "already contains a study: use --resume to continue it"
        raise ValueError(f"folder {str(folder)!r} {hint}")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with locked("folder", folder):
            study = _Study(folder, request)
            while len(study.trials(State.COMPLETE)) < trials:
                study.round(trials, workers)
            return study.best() if study.trials(State.COMPLETE) else None
    except (sqlalchemy.exc.SQLAlchemyError, optuna.exceptions.OptunaError) as error:
        raise OSError(f"{str(path)!r}: {' '.join(str(error).split())[:300]}") from error


class _Study:
    """Optuna study in a folder. ``request`` contains the arguments shared by all trials."""

    def __init__(self, folder: Path, request: Mapping[str, Any]) -> None:
        self._folder, self._request, self._space = folder, request, request["recipe"]["tune"]
        storage = f"sqlite:///{(folder / STUDY).absolute()}"
        self._study = optuna.create_study(
            storage=storage, study_name=request["id"], direction="maximize", load_if_exists=True
        )
        text = json.dumps(request, sort_keys=True)
        before = json.loads(self._study.user_attrs.get("request", text))
        names = [name for name, value in json.loads(text).items() if value != before.get(name)]
        if names:
            raise ValueError(f"{', '.join(names)} must match the study in {str(folder)!r}: use another --folder")
        self._study.set_user_attr("request", text)
        for trial in self.trials(State.RUNNING):
            if trial.params.keys() != self._space.keys():  # interrupted while it was proposed
                self._study.tell(trial.number, state=State.FAIL)

    def trials(self, *states: State) -> list[optuna.trial.FrozenTrial]:
        """Return the trials in the given states."""
        return self._study.get_trials(deepcopy=False, states=states)

    def best(self) -> tuple[dict[str, Any], float]:
        """Return settings and score of the best trial."""
        return self._settings(self._study.best_trial.params), self._study.best_value

    def _settings(self, places: Mapping[str, int]) -> dict[str, Any]:
        """Look up settings by their positions in the lists of values; the search uses positions to preserve order."""
        return {name: values[places[name]] for name, values in self._space.items()}

    def _propose(self, trials: int) -> None:
        """Propose the remaining trials of the current round."""
        size, running = self._request["together"], self.trials(State.RUNNING)
        count = len(running) + len(self.trials(State.COMPLETE))
        first = (count - bool(running)) // size * size
        for number in range(count, min(first + size, trials)):
            self._study.sampler = optuna.samplers.TPESampler(seed=self._request["seed"] + number, n_startup_trials=8)
            trial = self._study.ask()
            for name, values in self._space.items():
                trial.suggest_int(name, 0, len(values) - 1)

    def round(self, trials: int, workers: Workers) -> None:
        """Propose and run the trials of one round, in any order."""
        self._propose(trials)
        running = {f"trial-{trial.number}": trial for trial in self.trials(State.RUNNING)}
        pieces = {
            name: (self._folder / name, self._request, self._settings(trial.params)) for name, trial in running.items()
        }
        failed, ended = [], len(self.trials(State.COMPLETE))
        for name, score, error in watched(workers.work(_trial, pieces), len(pieces), "trial", ended):
            if error is not None:
                failed.append(f"{name} failed: {error}")
                self._study.tell(running[name].number, state=State.FAIL)
                continue
            self._study.tell(running[name].number, score)
            self.write()
        if failed:
            raise ValueError("; ".join(failed))

    def write(self) -> None:
        """Write the best settings as a recipe."""
        request, base, (best, score) = self._request, self._request["recipe"], self.best()
        top = {name: best.pop(name, base[name]) for name in ("algorithm", "steps", "num_envs", "env")}
        text = (
            f"# Best of {len(self.trials(State.COMPLETE))} trials of {request['steps']} steps, seed {request['seed']}: "
            f"score {score:.4g}\n# in {EPISODES} validation episodes, which training and the benchmark do not use.\n"
        )
        text += "".join(f"{name} = {toml_value(value)}\n" for name, value in top.items())
        text += f"\n[{base['algorithm']}]\n"
        text += "".join(f"{name} = {toml_value(value)}\n" for name, value in {**base["settings"], **best}.items())
        with replacing(self._folder / f"{request['id'].split('/')[1]}.toml") as file:
            file.write(text.encode())


def _trial(place: Path, request: Mapping[str, Any], settings: Mapping[str, Any]) -> float:
    """Run a short training and return its score."""
    shutil.rmtree(place, ignore_errors=True)
    base, settings = request["recipe"], dict(settings)
    try:
        train(
            request["id"],
            place,
            base["algorithm"],
            num_envs=settings.pop("num_envs", base["num_envs"]),
            steps=request["steps"],
            seed=request["seed"],
            env=base["env"],
            checkpoint=10**12,
            settings={**base["settings"], **settings},
        )
        episodes = evaluate(request["id"], find_policy(request["id"], str(place)), EPISODES, VALIDATION)
        score = task_of(request["id"], **base["env"]).score
        return float(np.mean(episodes.score(score) * score.factor))
    finally:
        shutil.rmtree(place, ignore_errors=True)
