"""Tunes recipes: short trainings with settings that Optuna proposes; those that fall behind are ended early."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import sqlalchemy.exc

from ..policies.evaluation import evaluate
from ..policies.fingerprints import of_id
from ..policies.lookup import find_policy
from ..policies.registry import check_env, task_of
from ..support.files import locked, replacing
from ..support.workers import HERE, Workers, watched
from .runs import VALIDATION, recipe
from .training import train

STUDY = "study.db"
"""SQLite file of the study, which holds each trial when it has ended."""

REPORTS = 10
"""Points of a trial's learning curve at which it may be ended."""

EPISODES = 64
"""Episodes whose mean score is that of a trial; neither training nor a benchmark plays them."""


PRUNER = optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=2)

State = optuna.trial.TrialState


def tune(
    env_id: str,
    folder: Path,
    algorithm: str | None = None,
    *,
    trials: int = 20,
    steps: int = 200_000,
    seconds: float | None = None,
    seed: int = 0,
    env: Mapping[str, Any] | None = None,
    recipe_file: Path | None = None,
    resume: bool = False,
    together: int = 1,
    workers: Workers = HERE,
) -> tuple[dict[str, Any], float] | None:
    """Search the settings that a recipe's table ``tune`` lists, by their score after a short training.

    The folder gets the study, and the best as a recipe, ``ID.toml``. The proposals are those of a tree-structured
    Parzen estimator, seeded by the number of trials that have ended; so a study that was stopped begins the trials
    that were under way again, and goes on as if nothing had happened.

    Args:
        env_id, folder, algorithm, env, recipe_file, seed: As of `Training`.
        trials, steps: How many in all, and of how many steps.
        seconds: CPU seconds after which a trial ends, too.
        resume: Go on with the study in ``folder``.
        together: Trials that are proposed together, from what those before have found; so many can be done at the same
            time.
        workers: Who does the trials; the result is the same, to the bit.

    Returns:
        settings, score: The best, None if no trial has ended.

    Raises:
        ValueError: If the folder holds a study (without ``resume``), none, or one of something else, or if another
            process tunes there.
    """
    base = recipe(env_id, algorithm, recipe_file)
    space = base["tune"]
    if not space:
        raise ValueError(f"algorithm must have a table tune.{base['algorithm']} in the recipe, which has none")
    for name, values in space.items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"tune.{base['algorithm']}: {name} must be a list of values, got {values!r}")
    given = {**base["env"], **(env or {})}
    check_env(env_id, given)
    asked = {"id": env_id, "seed": seed, "steps": steps, "seconds": seconds, "env": given}
    asked |= {"recipe": base, "together": together, "behaviour of the environment": of_id(env_id, given)}
    path = folder / STUDY
    if path.exists() != resume:
        hint = "holds no study to go on with" if resume else "already holds a study: give --resume to go on with it"
        raise ValueError(f"folder {str(folder)!r} {hint}")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with locked("folder", folder):
            study = _Study(folder, asked)
            while len(study.trials()) < trials or study.trials(State.RUNNING):
                study.round(trials, workers)
            if not study.trials(State.COMPLETE):
                return None
            study.write()
            return study.best()
    except (sqlalchemy.exc.SQLAlchemyError, optuna.exceptions.OptunaError) as error:
        raise OSError(f"{str(path)!r}: {' '.join(str(error).split())[:300]}") from error


class _Study:
    """A study in a folder; ``asked`` holds what its trials have in common."""

    def __init__(self, folder: Path, asked: Mapping[str, Any]) -> None:
        self._folder, self._asked, self._space = folder, asked, asked["recipe"]["tune"]
        self._study = optuna.create_study(
            storage=f"sqlite:///{(folder / STUDY).absolute()}",
            study_name=asked["id"],
            direction="maximize",
            load_if_exists=True,
            pruner=PRUNER,
        )
        known = self._study.user_attrs.get("asked")
        if known is not None and json.loads(known) != json.loads(json.dumps(asked)):
            before = json.loads(known)
            names = [name for name in asked if json.loads(json.dumps(asked[name])) != before.get(name)]
            raise ValueError(f"{', '.join(names)} must be as the study in {str(folder)!r} began")
        self._study.set_user_attr("asked", json.dumps(asked))

    def trials(self, *states: State) -> list[Any]:
        """Trials in some states; by default all but those that failed, which do not count."""
        return self._study.get_trials(deepcopy=False, states=states or (State.COMPLETE, State.PRUNED, State.RUNNING))

    def best(self) -> tuple[dict[str, Any], float]:
        """Settings and score of the best trial."""
        return self._settings(self._study.best_trial.params), self._study.best_value

    def _settings(self, places: Mapping[str, int]) -> dict[str, Any]:
        """Values from their places in the lists, so that the search knows their order."""
        return {name: values[places[name]] for name, values in self._space.items()}

    def _proposed(self, trials: int) -> Sequence[optuna.trial.FrozenTrial]:
        """Propose the trials of a round, unless one was stopped; give those that were complete before the round.

        A round that was stopped is the last one of the study, and goes on with its trials that have not ended.
        """
        for trial in self.trials(State.RUNNING):
            if trial.params.keys() != self._space.keys():  # killed while it was proposed
                self._study.tell(trial.number, state=State.FAIL)
        size, count = self._asked["together"], len(self.trials())
        first = (count - 1 if self.trials(State.RUNNING) else count) // size * size
        for number in range(count, min(first + size, trials)):
            self._study.sampler = optuna.samplers.TPESampler(seed=self._asked["seed"] + number, n_startup_trials=8)
            trial = self._study.ask()
            for name, values in self._space.items():
                trial.suggest_int(name, 0, len(values) - 1)
        return [trial for trial in self.trials()[:first] if trial.state == State.COMPLETE]

    def round(self, trials: int, workers: Workers) -> None:
        """Propose some trials from what rounds before have found, and do them, in whatever order."""
        known = self._proposed(trials)
        running = {f"trial {trial.number}": trial for trial in self.trials(State.RUNNING)}
        pieces = {
            name: (self._folder / f"trial-{trial.number}", self._asked, self._settings(trial.params), known)
            for name, trial in running.items()
        }
        failed = {}
        ended = len(self.trials(State.COMPLETE, State.PRUNED))
        for name, found, error in watched(workers.work(_trial, pieces), len(pieces), "trial", ended):
            number = running[name].number
            if error is not None:
                failed[name] = error
                self._study.tell(number, state=State.FAIL)
                continue
            reports, score = found
            trial = optuna.trial.Trial(self._study, running[name]._trial_id)
            for step, value in reports.items():
                trial.report(value, step)
            if score is None:
                self._study.tell(number, state=State.PRUNED)
            else:
                self._study.tell(number, score)
            self.write()
        if failed:
            raise ValueError("; ".join(f"{name} failed: {error}" for name, error in failed.items()))

    def write(self) -> None:
        """Write the best as a recipe."""
        pruned, complete = len(self.trials(State.PRUNED)), len(self.trials(State.COMPLETE))
        if not complete:
            return
        asked, base, (best, score) = self._asked, self._asked["recipe"], self.best()
        top = {name: base[name] for name in ("algorithm", "steps", "num_envs")} | {"env": asked["env"]}
        if base["algorithm"] == "ppo":
            top["imitate"] = base["imitate"]
        top |= {name: best.pop(name) for name in ("num_envs", "imitate") if name in best}
        budget = f"{asked['steps']} steps" + ("" if asked["seconds"] is None else f" or {asked['seconds']:g} CPU s")
        text = (
            f"# Chosen among {complete + pruned} trials of {budget} with seed {asked['seed']}, {pruned} of them ended "
            f"early:\n# score {score:.4g} in {EPISODES} episodes that neither training nor a benchmark plays.\n"
        )
        text += "".join(f"{name} = {_toml(value)}\n" for name, value in top.items())
        text += f"\n[{base['algorithm']}]\n"
        text += "".join(f"{name} = {_toml(value)}\n" for name, value in {**base["settings"], **best}.items())
        with replacing(self._folder / f"{asked['id'].split('/')[1]}.toml") as file:
            file.write(text.encode())


def _trial(
    place: Path, asked: Mapping[str, Any], chosen: Mapping[str, Any], known: Sequence[optuna.trial.FrozenTrial]
) -> tuple[dict[int, float], float | None]:
    """A short training: its learning curve at some steps, and its score, None where it fell behind the ``known``."""
    study = optuna.create_study(direction="maximize", pruner=PRUNER)
    study.add_trials(known)
    trial = study.ask()
    settings = dict(chosen)
    shared = {name: settings.pop(name) for name in ("num_envs", "imitate") if name in settings}
    base = asked["recipe"]
    shutil.rmtree(place, ignore_errors=True)
    spent = [0.0]
    reports: dict[int, float] = {}

    def watch(row: Mapping[str, float]) -> None:
        spent[0] = row["seconds"]
        part = row["steps"] / asked["steps"]
        if asked["seconds"] is not None:
            part = max(part, row["seconds"] / asked["seconds"])
        step = min(int(REPORTS * part), REPORTS)
        if step not in reports:
            reports[step] = row["score"]
            trial.report(row["score"], step)
        if trial.should_prune():
            raise optuna.TrialPruned

    try:
        train(
            asked["id"],
            place,
            base["algorithm"],
            **{name: asked[name] for name in ("steps", "seed", "env")},
            checkpoint=10**12,
            settings={**base["settings"], **settings},
            **shared,
            stop=lambda: asked["seconds"] is not None and spent[0] > asked["seconds"],
            watch=watch,
        )
        played = evaluate(asked["id"], find_policy(asked["id"], str(place)), EPISODES, VALIDATION)
        score = task_of(asked["id"], **asked["env"]).score
        return reports, float(np.mean(played.score(score) * score.factor))
    except optuna.TrialPruned:
        return reports, None
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _toml(value: Any) -> str:
    """A value of a recipe: JSON is TOML but for tables."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)
