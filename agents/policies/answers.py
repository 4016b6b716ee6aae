"""Answers in actions: some entries of the action of a task say what is true, and another commits them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs.core.env.task import Task

from .agent import Agent
from .networks import Network

QUIETEST, LOUDEST = -6.0, 1.0
"""Least and greatest logarithm of a standard deviation that a network may claim, in units of the action."""


class Answers:
    """Places of a task's answers in its action, their right values, and the meaning of a network's outputs.

    The network has an output for each answer, then another for each that is a number. Of a number they are mean and
    logarithm of the standard deviation, in units of the action; of a verdict, half the logit.

    Raises:
        ValueError: If the task's action has no fields with a `ActionField.truth`, or none called ``commit``.
    """

    def __init__(self, task: Task) -> None:
        fields, start = task.action_fields(), 0
        places = {}
        for name, field in fields.items():
            places[name] = start
            start += field.size
        answers = {name: field for name, field in fields.items() if field.truth}
        if not answers or "commit" not in fields:
            raise ValueError(
                f"algorithm must not be supervised for {type(task).__name__}, whose actions hold no answers"
            )
        self.task = task
        self.columns = [places[name] for name in answers]
        self.commit = places["commit"]
        self.truths = [field.truth for field in answers.values()]
        self.verdict = np.array([field.verdict for field in answers.values()])
        self.ends = [(field.low, field.high) for field in answers.values()]
        self._lows = np.concatenate([np.full(field.size, field.low) for field in fields.values()])
        self.outputs = len(answers) + int(np.sum(~self.verdict))

    def right(self, info: dict[str, Any]) -> NDArray[np.float32]:
        """Right answers (B, k), in units of the action."""
        truths = np.stack([np.asarray(info[key], float) for key in self.truths], 1)
        low, high = np.array(self.ends).T
        values = np.tile(self._lows, (len(truths), 1))
        values[:, self.columns] = np.where(self.verdict, np.where(truths > 0.5, high, low), truths)
        return self.task.action_from_values(values)[:, self.columns]

    def read(self, outputs: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Answers (B, k) and their standard deviations (B, k); a verdict is taken for -1 or 1 by its probability."""
        means = outputs[:, : len(self.columns)].astype(float)
        means[:, self.verdict] = np.tanh(means[:, self.verdict])
        doubts = np.sqrt(np.maximum(1.0 - means**2, 0.0))
        doubts[:, ~self.verdict] = np.exp(np.clip(outputs[:, len(self.columns) :], QUIETEST, LOUDEST))
        return means, doubts


class AnsweringAgent:
    """A controller moves, a network answers from the newest observations; it commits when it is sure, or time is up.

    Args:
        doubt (float or (B,) array): Mean standard deviation of the answers, in units of the action, up to which they
            are committed.
        latest (float or (B,) array, s): Time from which they are committed whatever the doubt.
    """

    def __init__(
        self, mover: Agent, network: Network | None, answers: Answers, doubt: ArrayLike = 0.0, latest: ArrayLike = 0.0
    ) -> None:
        self.mover, self.network, self.answers = mover, network, answers
        self.doubt, self.latest = np.asarray(doubt), np.asarray(latest)
        self._steps = np.zeros(0)

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions; without a network nothing is answered."""
        if len(self._steps) != len(first):
            self._steps = np.zeros(len(first))
        self._steps = np.where(first, 1.0, self._steps + 1.0)
        actions = self.mover.act(observations, first)
        actions[:, self.answers.columns], actions[:, self.answers.commit] = 0.0, -1.0
        if self.network is not None:
            means, doubts = self.answers.read(self.network(observations))
            late = self._steps / self.answers.task.control_rate > self.latest
            actions[:, self.answers.columns] = means
            actions[:, self.answers.commit] = np.where(late | (doubts.mean(1) <= self.doubt), 1.0, -1.0)
        return actions
