"""Tasks with answers: some elements of the action estimate hidden quantities, and ``commit`` submits them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs.core.env.task import Task

from .agent import Agent, Clock
from .networks import Network

QUIETEST, LOUDEST = -6.0, 1.0
"""Bounds of the predicted log standard deviation, with the standard deviation in units of the action."""


class Answers:
    """Positions of a task's answers in its action, their true values, and the outputs of a network that estimates them.

    The outputs of the network are the means of all answers, followed by their log standard deviations, in units of the
    action.

    Raises:
        ValueError: If the task's action has no field with `ActionField.truth`, or no field ``commit``, or if answers
            add to those of the animal's own controller.
    """

    def __init__(self, task: Task) -> None:
        fields, start = task.action_fields(), 0
        places = {}
        for name, field in fields.items():
            places[name] = start
            start += field.size
        answers = {name: field for name, field in fields.items() if field.truth}
        if not answers or "commit" not in fields or task.actions == "residual":
            raise ValueError(
                f"algorithm must not be supervised for {type(task).__name__} with actions={task.actions!r}: its "
                "actions contain no answers"
            )
        self.task = task
        self.columns = [places[name] for name in answers]
        self.commit = places["commit"]
        self.truths = [field.truth for field in answers.values()]
        self._lows = np.concatenate([np.full(field.size, field.low) for field in fields.values()])
        self.outputs = 2 * len(answers)

    def right(self, info: dict[str, Any]) -> NDArray[np.float32]:
        """Return the true answers (B, k), in units of the action."""
        truths = np.stack([np.asarray(info[key], float) for key in self.truths], 1)
        values = np.tile(self._lows, (len(truths), 1))
        values[:, self.columns] = truths
        return self.task.action_from_values(values)[:, self.columns]

    def read(self, outputs: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return answers (B, k) and their standard deviations (B, k)."""
        means, spread = np.split(outputs.astype(float), 2, axis=1)
        return means, np.exp(np.clip(spread, QUIETEST, LOUDEST))


class AnsweringAgent:
    """Agent that moves with a controller and answers with a network, if there is one.

    Args:
        doubt (float or (B,) array): Largest mean standard deviation of committed answers, in units of the action.
        latest (float or (B,) array, s): Time after which answers are committed with any standard deviation.
    """

    def __init__(
        self, mover: Agent, network: Network | None, answers: Answers, doubt: ArrayLike = 0.0, latest: ArrayLike = 0.0
    ) -> None:
        self.mover, self.network, self.answers = mover, network, answers
        self.doubt, self.latest = np.asarray(doubt), np.asarray(latest)
        self._clock = Clock()

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return actions (B, n)."""
        steps = self._clock.tick(first) + 1.0
        actions = self.mover.act(observations, first)
        actions[:, self.answers.columns], actions[:, self.answers.commit] = 0.0, -1.0
        if self.network is not None:
            means, doubts = self.answers.read(self.network(observations))
            late = steps / self.answers.task.control_rate > self.latest
            actions[:, self.answers.columns] = means
            actions[:, self.answers.commit] = np.where(late | (doubts.mean(1) <= self.doubt), 1.0, -1.0)
        return actions
