"""Training of policies into run folders that can be resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymnosoma.envs.core.arguments import choice, whole

from ..policies.answers import Answers
from ..policies.config import CONFIG, RANGES, check_config, read_config
from ..policies.fingerprints import env_fingerprint
from ..policies.registry import references_of, searched, task_of
from ..support.files import check_folder, locked
from .runs import Run, check_settings, recipe, versions_of


@dataclass(frozen=True)
class Training:
    """Settings of a training run. Values that are None are taken from the recipe.

    Args:
        algorithm: ``ppo``, ``sac``, ``cma`` or ``supervised``.
        steps: Total number of steps.
        num_envs: Number of parallel environments.
        imitate: Reference that ``ppo`` imitates before it learns; ``""`` for none.
        controller: With ``cma``, the reference to optimise; ``""`` optimises the weights of a network. With
            ``supervised``, the reference that moves the animal while answers are learned.
        env: Arguments of the environment, added to the recipe's.
        recipe_file: Recipe in TOML. By default, the environment's recipe.
        settings: Settings of the algorithm, added to the recipe's.
        seed: Random seed for the network and the environments.
        checkpoint: Steps between checkpoints, or one rollout if it is longer. ``cma`` saves every generation.
        threads: CPU threads of the network. More than 2 rarely help.
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

        The folder contains ``config.json``, ``card.json``, ``curve.csv``, a checkpoint, ``policy.safetensors`` (if the
        policy has a network), and TensorBoard logs (PPO and SAC).

        Args:
            resume: Continue the run in ``folder`` from its last checkpoint, bit for bit if it uses one thread. The
                settings must agree with the run, except that ``steps`` may increase. Checkpoints of PPO and SAC contain
                pickled Python objects: resume only runs that you trust, because loading executes code.
            stop: Function called after every update. The run is saved and ends if it returns True.
            watch: Function called with each row of the learning curve, as a mapping.

        Returns:
            bool: False if ``stop`` ended the run.

        Raises:
            ValueError: If the settings are invalid, if the folder already contains a run (without ``resume``) or no run
                that can be resumed, or if another process is using the folder.
            OSError: If a file cannot be written; names the file. The run can be resumed after freeing disk space.
        """
        self.check(folder, resume=resume)  # before the folder is created
        with locked("folder", folder):
            config = self.check(folder, resume=resume)
            config["versions"] = config["versions"] or versions_of(config["algorithm"])
            config["fingerprint"] = config["fingerprint"] or env_fingerprint(self.env_id, config["env"])
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
        """Check the settings and return the configuration of the run, without importing learning libraries.

        For a new run, ``versions`` and ``fingerprint`` are empty, because they take long to compute.

        Raises:
            ValueError: As in `run`.
        """
        for name, (low, high) in RANGES.items():
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), low, high)
        if resume:
            return self._resumed(folder)
        check_folder("folder", folder)
        if (folder / CONFIG).exists():
            raise ValueError(f"folder {str(folder)!r} already contains a run: use --resume to continue it, or --folder")
        return self._new()

    def _options(self, *names: str) -> dict[str, Any]:
        """Return those of the named settings that are not None."""
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def _resumed(self, folder: Path) -> dict[str, Any]:
        """Read the configuration of the run in a folder and check that the settings agree with it."""
        config = read_config(folder)
        check_settings(config["algorithm"], config["settings"])
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
        if env_fingerprint(self.env_id, config["env"]) != config["fingerprint"]:
            raise ValueError(
                f"folder {str(folder)!r} must contain a run of the current version of {self.env_id}, but the "
                "environment has changed: train in another --folder"
            )
        return config

    def _new(self) -> dict[str, Any]:
        """Create the configuration of a new run from the recipe and the settings."""
        config = recipe(self.env_id, self.algorithm, self.recipe_file)
        algorithm, settings = config["algorithm"], config["settings"]
        settings |= self.settings
        check_settings(algorithm, settings)
        for name, value in self._options("imitate", "controller").items():
            if name not in settings:
                raise ValueError(f"{name} must be left out for {algorithm}, got {value!r}")
            settings[name] = value
        config |= {"id": self.env_id, "seed": self.seed, "versions": {}, "fingerprint": ""}
        config |= self._options("num_envs", "steps")
        base = config["env"]
        if algorithm == "cma" and settings["controller"]:
            base = searched(self.env_id, settings["controller"]).env  # the recipe's arguments are for a network
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
                raise ValueError(f"env: {name} must consist of numbers, strings, lists and mappings (JSON)") from None
        check_config(config)
        if algorithm == "supervised":
            Answers(task_of(self.env_id, **config["env"]))
        return config


def train(env_id: str, folder: Path, algorithm: str | None = None, **arguments: Any) -> bool:
    """Train a policy into a run folder. ``arguments`` are those of `Training` and `Training.run`."""
    request = {name: arguments.pop(name) for name in Training.__dataclass_fields__ if name in arguments}
    return Training(env_id, algorithm, **request).run(folder, **arguments)
