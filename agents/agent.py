"""Agents: what maps observations to actions, whether a reference controller, chance or a trained network."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.control import Controller, TaskController, check_reads
from gymnosoma.envs.core.task import Task


class Agent(Protocol):
    """Acts for all rows of a vector environment at once."""

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions (B, n) for observations (B, d), of which ``first`` (B,) open an episode."""


class ControllerAgent:
    """An animal's own controller playing a task.

    Parameters
    ----------
    controller : Controller or TaskController
        Gives the drive of the animal, or the values of the action, in SI at the middle of each control period.
    task : Task
        Unpacks observations into what the controller reads, and finds the action.

    Raises
    ------
    ValueError
        If the controller reads what the task does not observe.
    """

    def __init__(self, controller: Controller | TaskController, task: Task) -> None:
        check_reads(controller, task.layout.fields, f"{type(task).__name__} observes")
        self.controller, self.task = controller, task
        self._act = self._drive if isinstance(controller, Controller) else self._choose
        self._steps = np.zeros(0)

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions that do what the controller would."""
        if len(self._steps) != len(first):
            self._steps = np.zeros(len(first))
        self._steps = np.where(first, 0.0, self._steps)
        t = (self._steps + 0.5) / self.task.control_rate
        self._steps = self._steps + 1.0
        return self._act(t, self.task.layout.unpack(observations), first)

    def _drive(self, *seen: Any) -> NDArray[np.float32]:
        return self.task.action_from_drive(self.controller.drive(*seen))  # type: ignore[union-attr]

    def _choose(self, *seen: Any) -> NDArray[np.float32]:
        return self.task.action_from_values(self.controller.choose(*seen))  # type: ignore[union-attr]


class ConstantAgent:
    """The same action always; zeros are the reference of ``actions="residual"``."""

    def __init__(self, action: NDArray[np.float32]) -> None:
        self.action = action

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions."""
        return np.tile(self.action, (len(first), 1))


class RandomAgent:
    """Uniform actions.

    Parameters
    ----------
    size : int
        Of the action.
    seed : int
    """

    def __init__(self, size: int, seed: int = 0) -> None:
        self._size, self._seed = size, seed
        self._rngs: list[np.random.Generator] = []

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions; those of a row do not depend on how many rows there are."""
        if len(self._rngs) != len(first):
            self._rngs = [np.random.default_rng((self._seed, i)) for i in range(len(first))]
        return np.array([rng.uniform(-1.0, 1.0, self._size) for rng in self._rngs], np.float32)


class TrainedAgent:
    """A policy trained with stable-baselines3, acting without exploration.

    Parameters
    ----------
    path : path
        The ``policy.zip`` of a run folder. A zip of SB3 contains pickled Python objects, and loading one
        runs whatever code its author put there: load your own and those you trust.
    algorithm : {"PPO", "SAC"}

    Raises
    ------
    ValueError
        If the file is not a policy, or belongs to other spaces.
    """

    def __init__(self, path: str | Path, algorithm: str, env: Any) -> None:
        import stable_baselines3

        try:
            self._model = getattr(stable_baselines3, algorithm).load(path, device="cpu")
        except Exception as error:  # zip, pickle and torch each raise their own
            raise ValueError(f"policy {str(path)!r} cannot be loaded: {type(error).__name__}: {error}") from error
        for name in ("observation_space", "action_space"):
            own, other = getattr(self._model, name), getattr(env, f"single_{name}")
            if own.shape != other.shape:
                raise ValueError(f"policy {str(path)!r} has {name} {own.shape}, the environment {other.shape}")

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions."""
        return self._model.predict(observations, deterministic=True)[0]
