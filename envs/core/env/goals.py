"""Tasks in Gymnasium's goal form: a place is to be reached, the reward says only whether it is."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import shown
from ..model.chain import to_body_frame
from ..model.control import Floats
from .spec import GOALS, Field
from .task import EpisodeStart, Rows, Task


class GoalTask(Task):
    """A task that ``goal=True`` turns into Gymnasium's goal form; its class stands before that of the animal's tasks.

    Places are seen as from where the animal's own place was at the start, x along its direction then. The reward is -1
    until the place is within ``radius`` of the wanted one, then 0: price and fine are off. Only success and an animal
    that breaks down end an episode, for an early end would be a way to fewer of these rewards.
    """

    radius: float
    goal_scale: float
    """Of the places, m."""
    goal_instead: str
    """Field that the wanted place replaces."""
    arguments = {  # noqa: RUF012
        "goal": (
            "True gives the goal form: the observation is a mapping with ``observation``, ``achieved_goal`` and "
            "``desired_goal``, the reward -1 until within the radius, then 0"
        )
    }

    def __init__(self, goal: bool = False, **arguments: Any) -> None:
        if not isinstance(goal, bool | np.bool_):
            raise ValueError(f"goal must be True or False, got {shown(goal)}")
        self.goal = bool(goal)
        super().__init__(**arguments)

    def goal_place(self, rows: Rows) -> Floats:
        """Place (B, 2) m that is to come to the goal; by default the centre of mass."""
        return rows["centre"]

    @abstractmethod
    def goal_wanted(self, memory: Rows) -> Floats:
        """Give the place (B, 2) m to which it is to come."""

    def fields(self) -> dict[str, Field]:  # noqa: D102
        fields = super().fields()
        if not self.goal:
            return fields
        fields.pop(self.goal_instead, None)
        return {
            **fields,
            "facing": Field(2, "1", 1.0, "direction along and left of that at the start"),
            "achieved_goal": Field(2, "m", self.goal_scale, "place, from that at the start and along its direction"),
            "desired_goal": Field(2, "m", self.goal_scale, "place to be reached, likewise"),
        }

    def memory_fields(self) -> list[tuple[Any, ...]]:  # noqa: D102
        frame = [("frame", "3f8")] if self.goal else []
        return super().memory_fields() + frame

    def begin(self, episodes: EpisodeStart, rows: Rows) -> None:  # noqa: D102
        super().begin(episodes, rows)
        if self.goal:
            ahead = self.forward(episodes)  # type: ignore[attr-defined]
            episodes.memory["frame"][:, :2] = self.goal_place(rows)
            episodes.memory["frame"][:, 2] = np.arctan2(ahead[:, 1], ahead[:, 0])

    def sense(self, rows: Rows, memory: Rows) -> dict[str, NDArray[Any]]:  # noqa: D102
        senses = super().sense(rows, memory)
        if not self.goal:
            return senses
        origin, angle = memory["frame"][:, :2], memory["frame"][:, 2]
        turned = senses["heading"] - angle
        return senses | {
            "facing": np.stack([np.cos(turned), np.sin(turned)], 1),
            "achieved_goal": to_body_frame(angle, self.goal_place(rows) - origin),
            "desired_goal": to_body_frame(angle, self.goal_wanted(memory) - origin),
        }

    def reward(self, rows: Rows, memory: Rows) -> Floats:  # noqa: D102
        full = super().reward(rows, memory)  # type: ignore[safe-super]
        if not self.goal:
            return full
        observations = self.observe(rows, memory)
        return self.compute_reward(*(observations[:, self.layout.slices[name]] for name in GOALS))

    def compute_reward(self, achieved: ArrayLike, desired: ArrayLike) -> Floats:
        """Rewards (...) of goals (..., 2) as they are observed."""
        away = self.goal_scale * (np.asarray(achieved, float) - np.asarray(desired, float))
        return np.where(np.sqrt(np.sum(away * away, -1)) <= self.radius, 0.0, -1.0)

    def ending(self, rows: Rows, memory: Rows) -> Floats:  # noqa: D102
        return np.zeros(len(rows)) if self.goal else super().ending(rows, memory)
