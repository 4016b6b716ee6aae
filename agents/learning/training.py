"""Trains policies into run folders that survive an interruption; here the request is checked and handed on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymnosoma.envs.core.arguments import choice

from ..policies.answers import Answers
from ..policies.config import RANGES, check_config, read_config
from ..policies.fingerprints import of_id
from ..policies.registry import references_of, searched, task_of
from ..support.files import locked
from ..support.schema import in_range
from ..support.workers import HERE, Workers
from .runs import Run, recipe, versions_of


@dataclass(frozen=True)
class Training:
    """A request for a training; the recipe adds what it leaves open.

    Args:
        algorithm, steps, num_envs, imitate: Instead of the recipe's.
        controller: Reference whose parameters ``cma`` searches, a network's weights where it is ``""``; with
            ``supervised`` the one that moves while answers are learned.
        env, settings: Arguments of the environment, and settings of the algorithm, on top of the recipe's.
        recipe_file: A recipe in TOML, instead of the id's own.
        seed: Of the network and the animals.
        checkpoint: Steps between checkpoints; a kill loses at most so many, or a rollout if that is longer. With
            ``cma`` every generation is kept.
        threads: For the network; more than 2 rarely help.
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
        workers: Workers = HERE,
    ) -> bool:
        """Train a policy into a run folder.

        The folder gets ``config.json``, ``card.json``, ``policy.safetensors`` where there is a network, ``curve.csv``,
        ``curve.png``, a checkpoint, and of PPO and SAC TensorBoard's logs.

        Args:
            resume: Continue the run in ``folder`` from its last checkpoint, to the bit (with one thread). Those of PPO
                and SAC hold pickled Python objects: resuming somebody else's run runs their code. What else is asked
                must be what the run began with; ``steps`` may be more.
            stop: Asked after every update; when it gives True the run ends there.
            watch: Called with each row of the learning curve, as a mapping.
            workers: Who plays the generations of ``cma``; the result is the same, to the bit.

        Returns:
            bool: False if ``stop`` ended it; all is saved then too.

        Raises:
            ValueError: If the folder already holds a run (without ``resume``), or none that can be resumed, if another
                process trains there, or what is asked for is not possible.
            OSError: If a file cannot be written, naming it; the run can be resumed when there is room again.
        """
        self.check(folder, resume=resume)  # before there is a folder
        with locked("folder", folder):
            config = self.check(folder, resume=resume)
            config["versions"] = config["versions"] or versions_of(config["algorithm"])
            config["fingerprint"] = config["fingerprint"] or of_id(self.env_id, config["env"])
            goal = self.steps or config["steps"]
            config["steps"] = max(goal, config["steps"])
            run = Run(folder, config, goal, self.checkpoint, stop=stop, watch=watch, resumed=resume, workers=workers)
            return self._learn(run)

    def check(self, folder: Path, *, resume: bool = False) -> dict[str, Any]:
        """Configuration of a run in a folder; versions and fingerprint, which take long, are empty where it is new.

        Raises:
            ValueError: For what `run` would refuse, before anything that learns is imported.
        """
        for name in ("steps", "num_envs", "seed", "checkpoint", "threads"):
            if getattr(self, name) is not None:
                in_range(name, getattr(self, name), *RANGES[name])
        return self._begun(folder) if resume else self._begin(folder)

    def _learn(self, run: Run) -> bool:
        config = run.config
        if run.resumed and not run.checkpoint.is_file():
            raise ValueError(f"folder {str(run.folder)!r} has no {run.checkpoint.name} to resume from")
        try:
            if config["algorithm"] == "cma":
                from .evolution import learn
            elif config["algorithm"] == "supervised":
                from .supervision import learn
            else:
                from .reinforcement import learn

            finished = learn(run, self.threads)
        finally:
            run.close()
        run.draw_curve()
        return finished

    def _given(self) -> dict[str, Any]:
        """Values that replace those of the recipe."""
        given = {name: getattr(self, name) for name in ("algorithm", "num_envs", "imitate")}
        return {name: value for name, value in given.items() if value is not None}

    def _set(self) -> dict[str, Any]:
        """Settings that replace those of the recipe."""
        return {**self.settings, **({} if self.controller is None else {"controller": self.controller})}

    def _begun(self, folder: Path) -> dict[str, Any]:
        """Read the configuration of the run in a folder, with which the request must agree."""
        config = read_config(folder)
        if config["id"] != self.env_id:
            raise ValueError(f"folder {str(folder)!r} holds a run of {config['id']}, not of {self.env_id}")
        began = {
            **{name: (value, config[name]) for name, value in self._given().items()},
            **{name: (value, config["settings"].get(name)) for name, value in self._set().items()},
            **{f"env: {name}": (value, config["env"].get(name)) for name, value in self.env.items()},
        }
        for name, (value, before) in began.items():
            if value != before:
                raise ValueError(f"{name} must be {before!r}, as the run in {str(folder)!r} began, got {value!r}")
        if of_id(self.env_id, config["env"]) != config.get("fingerprint"):
            raise ValueError(
                f"folder {str(folder)!r} must hold a run of {self.env_id} as it is now, but the environment behaved "
                "otherwise when the run began: train anew in another --folder"
            )
        return config

    def _begin(self, folder: Path) -> dict[str, Any]:
        """Make the configuration of a new run: the recipe's, changed by the request."""
        if (folder / "config.json").exists():
            raise ValueError(f"folder {str(folder)!r} already holds a run: give --resume to continue it, or --folder")
        config = recipe(self.env_id, self.algorithm, self.recipe_file)
        config.pop("tune")
        config["settings"] |= self.settings
        if self.controller is not None and "controller" not in config["settings"]:
            raise ValueError(f"controller must be left out for {config['algorithm']}, got {self.controller!r}")
        config["settings"] |= self._set()
        config |= {"id": self.env_id, "seed": self.seed, "versions": {}} | self._given()
        config |= {} if self.steps is None else {"steps": self.steps}
        config["algorithm"] = config["algorithm"].lower()
        if config["imitate"] and config["algorithm"] != "ppo":
            raise ValueError(f"imitate must be left out for {config['algorithm']}, got {config['imitate']!r}")
        base, supervised = config["env"], config["algorithm"] == "supervised"
        if config["algorithm"] == "cma" and config["settings"]["controller"]:
            base = searched(self.env_id, config["settings"]["controller"]).env  # the recipe's is the network's
        elif supervised:
            choice("controller", config["settings"]["controller"], references_of(self.env_id))
            base = {**references_of(self.env_id)[config["settings"]["controller"]].env, **base}
        config |= {"env": {**base, **self.env}, "fingerprint": ""}
        check_config(config)
        if supervised:
            Answers(task_of(self.env_id, **config["env"]))
        return config


def train(env_id: str, folder: Path, algorithm: str | None = None, **arguments: Any) -> bool:
    """Train a policy into a run folder; further arguments are those of `Training` and of `Training.run`."""
    asked = {name: arguments.pop(name) for name in Training.__dataclass_fields__ if name in arguments}
    return Training(env_id, algorithm, **asked).run(folder, **arguments)
