"""Agents: what maps observations to actions, whether a reference controller, chance or a trained network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import numbers
from gymnosoma.envs.core.env.task import Task
from gymnosoma.envs.core.model.control import Controller, Schedule, TaskController, check_reads

from ..controllers import Reference


class Agent(Protocol):
    """Acts for all rows of a vector environment at once."""

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions (B, n) for observations (B, d), of which ``first`` (B,) open an episode."""


class ControllerAgent:
    """An animal's own controller plays a task: it reads fields of observations, and its drive becomes actions.

    It is asked in SI, at the time of the middle of each control period.

    Raises:
        ValueError: If the controller reads what the task does not observe.
    """

    def __init__(self, controller: Controller | TaskController, task: Task) -> None:
        check_reads(controller, task.layout.fields, f"{type(task).__name__} observes")
        self.controller = (
            controller.ordered(task.animal.drive_names) if isinstance(controller, Schedule) else controller
        )
        self.task = task
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

    def _drive(self, *senses: Any) -> NDArray[np.float32]:
        return self.task.action_from_drive(self.controller.drive(*senses))  # type: ignore[union-attr]

    def _choose(self, *senses: Any) -> NDArray[np.float32]:
        return self.task.action_from_values(self.controller.choose(*senses))  # type: ignore[union-attr]


class ConstantAgent:
    """The same action always; zeros are the reference of ``actions="residual"``."""

    def __init__(self, action: NDArray[np.float32]) -> None:
        self.action = action

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions."""
        return np.tile(self.action, (len(first), 1))


class ReplayAgent:
    """Actions (T, K, n) of K episodes, played again whatever is observed; zeros after their end.

    Row i plays those of episode (``start`` + i) modulo K, from its own first step on.
    """

    def __init__(self, actions: NDArray[np.float32], start: int = 0) -> None:
        self._actions, self._start = np.concatenate([actions, np.zeros_like(actions[:1])]), start
        self._steps = np.zeros(0, np.int64)

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions."""
        steps = self._steps if len(self._steps) == len(first) else np.zeros(len(first), np.int64)
        steps = np.where(first, 0, steps)
        self._steps = steps + 1
        sources = (self._start + np.arange(len(first))) % self._actions.shape[1]
        return self._actions[np.minimum(steps, len(self._actions) - 1), sources]


class _Drawing:
    """Numbers drawn for each row by a generator of its own: those of a row do not depend on how many rows there are."""

    def __init__(self, seed: int, start: int, *stream: int) -> None:
        self._seed, self._start, self._stream = seed, start, stream
        self._rngs: list[np.random.Generator] = []

    def generators(self, count: int) -> list[np.random.Generator]:
        if len(self._rngs) != count:
            rows = range(self._start, self._start + count)
            self._rngs = [np.random.default_rng((self._seed, i, *self._stream)) for i in rows]
        return self._rngs


class RandomAgent:
    """Uniform actions of a size.

    ``start`` is the number of the first row, where these rows are some of more: row i of all has generator
    ``(seed, i)``.
    """

    def __init__(self, size: int, seed: int = 0, start: int = 0) -> None:
        self._size, self._drawing = size, _Drawing(seed, start)

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions; those of a row do not depend on how many rows there are."""
        return np.array(
            [rng.uniform(-1.0, 1.0, self._size) for rng in self._drawing.generators(len(first))], np.float32
        )


class NoisyAgent:
    """An agent whose actions are disturbed, and stay within [-1, 1].

    ``noise`` is the standard deviation, normal and independent in every number of every action; ``seed`` and ``start``
    are as of `RandomAgent`, whose numbers are others.
    """

    def __init__(self, agent: Agent, noise: float, seed: int = 0, start: int = 0) -> None:
        self._agent, self._noise, self._drawing = agent, noise, _Drawing(seed, start, 1)

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Add noise to the agent's actions; that of a row does not depend on the number of rows."""
        actions = self._agent.act(observations, first)
        rngs = self._drawing.generators(len(first))
        noise = np.array([rng.normal(0.0, self._noise, actions.shape[1]) for rng in rngs])
        return np.clip(actions + noise, -1.0, 1.0).astype(np.float32)


class FunctionAgent:
    """A user's own function or object with ``act``, whose actions (B, size) in [-1, 1] are checked.

    It takes observations (B, d) and, ``with_first``, which of them open an episode (B,). ``name`` is for errors.
    """

    def __init__(self, name: str, function: Callable[..., Any], size: int, with_first: bool) -> None:
        self._name, self._function, self._size, self._with_first = name, function, size, with_first

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions; ValueError, which names the function, if it gives anything else."""
        actions = self._function(observations, first) if self._with_first else self._function(observations)
        actions = numbers(f"policy {self._name!r}: actions", actions)
        if actions.shape != (len(first), self._size):
            raise ValueError(
                f"policy {self._name!r}: actions must have shape {(len(first), self._size)}, got {actions.shape}"
            )
        return actions.astype(np.float32)


@dataclass
class Policy:
    """An agent to be made for an environment, and how that environment must be made for it.

    Args:
        make: Agent from a vector environment and the number of the episode that its first row plays.
        env, card: Arguments of the environment; of a trained policy, what its ``card.json`` says.
        digest: Digest of its files or its source: of all that it is made of and can be seen from outside.
    """

    name: str
    make: Callable[[Any, int], Agent]
    env: dict[str, Any] = field(default_factory=dict)
    card: dict[str, Any] = field(default_factory=dict)
    digest: Callable[[], str] = str


def reference_policy(name: str, reference: Reference, **parameters: float) -> Policy:
    """A reference as a policy, with other parameters than its own.

    With ``actions="residual"`` the animal's own controller, ``baseline``, is in the environment, and acts with zeros.
    """

    def make(envs: Any, start: int) -> Agent:
        if envs.task.actions == "residual" and name == "baseline":
            return ConstantAgent(np.zeros(envs.task.action_size, np.float32))
        return ControllerAgent(reference.make(envs.task, **parameters), envs.task)

    return Policy(name, make, dict(reference.env))
