"""Trains policies into run folders that survive an interruption: checks a request, and hands it to its algorithm."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymnosoma.envs.core.arguments import choice

from ..policies.answers import Answers
from ..policies.config import CONFIG, RANGES, check_config, read_config
from ..policies.fingerprints import of_id
from ..policies.registry import references_of, searched, task_of
from ..support.files import locked
from ..support.schema import in_range
from .runs import Run, recipe, versions_of


@dataclass(frozen=True)
class Training:
    """A request for a training; the recipe has the values that are left out.

    Args:
        algorithm, steps, num_envs: Instead of the recipe's.
        imitate: Reference that the network of ``ppo`` imitates before it learns; ``""`` for none.
        controller: Reference whose parameters ``cma`` searches, ``""`` for a network's weights; with ``supervised`` the
            reference that moves while answers are learned.
        env, settings: Arguments of the environment, and settings of the algorithm, on top of the recipe's.
        recipe_file: A recipe in TOML, instead of the id's own.
        seed: Random seed for the network and the environments.
        checkpoint: Steps between checkpoints; a kill loses at most so many, or a rollout if that is longer. With
            ``cma`` every generation is saved.
        threads: Threads of the network; more than 2 rarely help.
    """

    env_id: str
    algorithm: str | None = None
    steps: int | None = None
    num_envs: int | None = None
    imitate: str | None = None
    controller: str | None = None
    env: Mapping[str, Any] = field(default_factory=dict)
    recipe_file: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    checkpoint: int = 100_000
    threads: int = 1

    def run(
        self,
        folder: Path,
        *,
        resume: bool = False,
        stop: Callable[[], object] = lambda: False,
        watch: Callable[[Mapping[str, float]], None] = lambda row: None,
    ) -> bool:
        """Train a policy into a run folder.

        The folder gets ``config.json``, ``card.json``, ``policy.safetensors`` where there is a network, ``curve.csv``,
        a checkpoint, and of PPO and SAC TensorBoard's logs.

        Args:
            resume: Continue the run in ``folder`` from its last checkpoint, to the bit (with one thread). Those of PPO
                and SAC hold pickled Python objects: resuming somebody else's run runs their code. The request must
                agree with the run; ``steps`` may be more.
            stop: Called after every update; the run ends if it returns True.
            watch: Called with each row of the learning curve, as a mapping.

        Returns:
            bool: False if ``stop`` ended it; all is saved then too.

        Raises:
            ValueError: If the folder already holds a run (without ``resume``), or none that can be resumed, if another
                process trains there, or the request is not possible.
            OSError: If a file cannot be written, naming it; the run can be resumed when there is room again.
        """
        self.check(folder, resume=resume)  # before there is a folder
        with locked("folder", folder):
            config = self.check(folder, resume=resume)
            config["versions"] = config["versions"] or versions_of(config["algorithm"])
            config["fingerprint"] = config["fingerprint"] or of_id(self.env_id, config["env"])
            goal = self.steps or config["steps"]
            config["steps"] = max(goal, config["steps"])
            run = Run(folder, config, goal, self.checkpoint, stop=stop, watch=watch, resumed=resume)
            if resume and not run.checkpoint.is_file():
                raise ValueError(f"folder {str(folder)!r} has no {run.checkpoint.name} to resume from")
            if config["algorithm"] == "cma":
                from .evolution import learn
            elif config["algorithm"] == "supervised":
                from .supervision import learn
            else:
                from .reinforcement import learn
            try:
                return learn(run, self.threads)
            finally:
                run.close()

    def check(self, folder: Path, *, resume: bool = False) -> dict[str, Any]:
        """Configuration of a run in a folder; versions and fingerprint, which take long, are empty if it is new.

        Raises:
            ValueError: As `run`, before anything that learns is imported.
        """
        for name, (low, high) in RANGES.items():
            if getattr(self, name) is not None:
                in_range(name, getattr(self, name), low, high)
        if resume:
            return self._resumed(folder)
        if (folder / CONFIG).exists():
            raise ValueError(f"folder {str(folder)!r} already holds a run: give --resume to continue it, or --folder")
        return self._new()

    def _options(self, *names: str) -> dict[str, Any]:
        """Arguments that are not left out."""
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def _resumed(self, folder: Path) -> dict[str, Any]:
        """Read the configuration of the run in a folder, with which the request must agree."""
        config = read_config(folder)
        if config["id"] != self.env_id:
            raise ValueError(f"folder {str(folder)!r} holds a run of {config['id']}, not of {self.env_id}")
        settings = {**self.settings, **self._options("imitate", "controller")}
        for part, values, before in (
            ("", self._options("algorithm", "num_envs"), config),
            ("", settings, config["settings"]),
            ("env: ", self.env, config["env"]),
        ):
            for name, value in values.items():
                if value != before.get(name):
                    raise ValueError(f"{part}{name} must be {before.get(name)!r}, as in the run, got {value!r}")
        if of_id(self.env_id, config["env"]) != config["fingerprint"]:
            raise ValueError(
                f"folder {str(folder)!r} must hold a run of {self.env_id} as it is now, but the environment has "
                "changed since: train in another --folder"
            )
        return config

    def _new(self) -> dict[str, Any]:
        """Make the configuration of a new run: the recipe's, changed by the request."""
        config = recipe(self.env_id, self.algorithm, self.recipe_file)
        config.pop("tune")
        algorithm, settings = config["algorithm"], config["settings"]
        settings |= self.settings
        for name, value in self._options("imitate", "controller").items():
            if name not in settings:
                raise ValueError(f"{name} must be left out for {algorithm}, got {value!r}")
            settings[name] = value
        config |= {"id": self.env_id, "seed": self.seed, "versions": {}, "fingerprint": ""}
        config |= self._options("num_envs", "steps")
        base = config["env"]
        if algorithm == "cma" and settings["controller"]:
            base = searched(self.env_id, settings["controller"]).env  # the recipe's is the network's
        elif algorithm == "supervised":
            choice("controller", settings["controller"], references_of(self.env_id))
            base = {**references_of(self.env_id)[settings["controller"]].env, **base}
        elif settings.get("imitate"):
            choice("imitate", settings["imitate"], references_of(self.env_id))
        config["env"] = {**base, **self.env}
        for name, value in config["env"].items():
            try:
                json.dumps(value, allow_nan=False)
            except (TypeError, ValueError):
                raise ValueError(f"env: {name} must be of JSON: numbers, strings, lists, mappings") from None
        check_config(config)
        if algorithm == "supervised":
            Answers(task_of(self.env_id, **config["env"]))
        return config


def train(env_id: str, folder: Path, algorithm: str | None = None, **arguments: Any) -> bool:
    """Train a policy into a run folder; further arguments are those of `Training` and of `Training.run`."""
    request = {name: arguments.pop(name) for name in Training.__dataclass_fields__ if name in arguments}
    return Training(env_id, algorithm, **request).run(folder, **arguments)
