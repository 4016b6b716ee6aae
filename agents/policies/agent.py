"""Agents, which map observations to actions: reference controllers, constants, random actions, user functions."""

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
    """Agent that acts for all rows of a vector environment together."""

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return actions (B, n) for observations (B, d); ``first`` (B,) marks the first step of an episode."""


class Clock:
    """Counter of the steps of each row since the start of its episode."""

    def __init__(self) -> None:
        self._next = np.zeros(0)

    def tick(self, first: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the number of steps (B,) before this one, and count it."""
        steps = self._next if len(self._next) == len(first) else np.zeros(len(first))
        steps = np.where(first, 0.0, steps)
        self._next = steps + 1.0
        return steps


class ControllerAgent:
    """Agent that plays a task with an animal's own controller, and converts its drive to actions.

    The controller receives observations in SI and the time of the middle of each control period.

    Raises:
        ValueError: If the controller reads a field that the task does not observe.
    """

    def __init__(self, controller: Controller | TaskController, task: Task) -> None:
        check_reads(controller, task.layout.fields, f"{type(task).__name__} observes")
        self.controller = (
            controller.ordered(task.animal.drive_names) if isinstance(controller, Schedule) else controller
        )
        self.task = task
        self._act = self._drive if isinstance(controller, Controller) else self._choose
        self._clock = Clock()

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the actions that apply the controller's output, (B, n)."""
        t = (self._clock.tick(first) + 0.5) / self.task.control_rate
        return self._act(t, self.task.layout.unpack(observations), first)

    def _drive(self, *senses: Any) -> NDArray[np.float32]:
        return self.task.action_from_drive(self.controller.drive(*senses))  # type: ignore[union-attr]

    def _choose(self, *senses: Any) -> NDArray[np.float32]:
        return self.task.action_from_values(self.controller.choose(*senses))  # type: ignore[union-attr]


class ConstantAgent:
    """Agent with a constant action (n,). With ``actions="residual"``, zeros leave control to the baseline."""

    def __init__(self, action: NDArray[np.float32]) -> None:
        self.action = action

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the constant action for each row, (B, n)."""
        return np.tile(self.action, (len(first), 1))


class ReplayAgent:
    """Agent that repeats the actions (T, K, n) of K recorded episodes and ignores observations.

    Row i repeats episode (``start`` + i) modulo K. After the end of the recording, actions are zero.
    """

    def __init__(self, actions: NDArray[np.float32], start: int = 0) -> None:
        self._actions, self._start = np.concatenate([actions, np.zeros_like(actions[:1])]), start
        self._clock = Clock()

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the recorded actions of the current steps, (B, n)."""
        steps = self._clock.tick(first).astype(np.int64)
        sources = (self._start + np.arange(len(first))) % self._actions.shape[1]
        return self._actions[np.minimum(steps, len(self._actions) - 1), sources]


class RandomAgent:
    """Agent with uniform random actions in [-1, 1].

    Row i uses the generator ``(seed, start + i)``. ``start`` is the number of the first row within a larger batch.
    """

    def __init__(self, size: int, seed: int = 0, start: int = 0) -> None:
        self._size, self._seed, self._start = size, seed, start
        self._rngs: list[np.random.Generator] = []

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return random actions (B, n); those of a row do not depend on the number of rows."""
        if len(self._rngs) != len(first):
            self._rngs = [np.random.default_rng((self._seed, self._start + i)) for i in range(len(first))]
        return np.array([rng.uniform(-1.0, 1.0, self._size) for rng in self._rngs], np.float32)


class FunctionAgent:
    """Agent that calls a user's function and checks its actions (B, size) in [-1, 1].

    The arguments of the function are observations (B, d) and, if ``with_first``, a mask of first steps of episodes
    (B,). Error messages contain ``name``.
    """

    def __init__(self, name: str, function: Callable[..., Any], size: int, with_first: bool) -> None:
        self._name, self._function, self._size, self._with_first = name, function, size, with_first

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the function's actions (B, size); raise ValueError, naming the policy, if they are invalid."""
        actions = self._function(observations, first) if self._with_first else self._function(observations)
        actions = numbers(f"policy {self._name!r}: actions", actions)
        if actions.shape != (len(first), self._size):
            raise ValueError(
                f"policy {self._name!r}: actions must have shape {(len(first), self._size)}, got {actions.shape}"
            )
        return actions.astype(np.float32)


@dataclass
class Policy:
    """Recipe for an agent, with the arguments of the environment that it needs.

    Args:
        make: Creates the agent from a vector environment and the number of the episode of its first row.
        env: Arguments of the environment.
        card: `Card` of a trained policy.
        digest: Computes a digest of the policy's files or source code.
    """

    name: str
    make: Callable[[Any, int], Agent]
    env: dict[str, Any] = field(default_factory=dict)
    card: Any = None
    digest: Callable[[], str] = str


def reference_policy(name: str, reference: Reference, **parameters: float) -> Policy:
    """Create a policy from a reference, with changed parameters.

    With ``actions="residual"``, the environment contains the animal's own controller. ``baseline`` then acts with
    zeros.
    """

    def make(envs: Any, start: int) -> Agent:
        if envs.task.actions == "residual" and name == "baseline":
            return ConstantAgent(np.zeros(envs.task.action_size, np.float32))
        return ControllerAgent(reference.make(envs.task, **parameters), envs.task)

    return Policy(name, make, dict(reference.env))
