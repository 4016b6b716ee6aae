"""Tasks in Gymnasium's goal form: reach a place, with a reward that shows only success."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arguments import shown
from ..model.chain import body_frame
from ..model.control import Floats
from .hooks import Record
from .spec import LIMIT, Field
from .task import EpisodeStart, Rows, Task


class GoalTask(Task):
    """Task with Gymnasium's goal form if ``goal=True``; list this class before the animal's base task.

    Places are relative to the animal's place at the start, with x along its direction then. The reward is 0 within
    ``radius`` of the desired place and -1 outside, without costs and penalties. Only success and a breakdown of the
    animal end an episode, because any earlier end would avoid negative rewards.
    """

    radius: float
    goal_scale: float
    """Scale of places, m."""
    goal_instead: str
    """Field that the desired place replaces."""
    arguments = {  # noqa: RUF012
        "goal": (
            "True selects the goal form: the observation is a mapping with ``observation``, ``achieved_goal`` and "
            "``desired_goal``; the reward is 0 within the radius and -1 outside"
        )
    }

    def __init__(self, goal: bool = False, **arguments: Any) -> None:
        if not isinstance(goal, bool | np.bool_):
            raise ValueError(f"goal must be True or False, got {shown(goal)}")
        self.goal = bool(goal)
        super().__init__(**arguments)

    def goal_place(self, row: Any) -> Any:
        """Return the place (x, y) m that must reach the goal; by default the centre of mass."""
        return row.centre[0], row.centre[1]

    @abstractmethod
    def goal_wanted(self, memory: Any) -> Any:
        """Return the place (x, y) m of the goal."""

    def fields(self) -> dict[str, Field]:  # noqa: D102
        fields = super().fields()
        if not self.goal:
            return fields
        fields.pop(self.goal_instead, None)
        return {
            **fields,
            "facing": Field(2, "1", 1.0, "direction, along and to the left of that at the start"),
            "achieved_goal": Field(2, "m", self.goal_scale, "place relative to the start, x along the direction then"),
            "desired_goal": Field(2, "m", self.goal_scale, "place to be reached, in the same coordinates"),
        }

    @property
    def memory_fields(self) -> Mapping[str, str]:  # noqa: D102
        return {"frame": "3f8"} if self.goal else {}

    def begin(self, episodes: EpisodeStart, rows: Rows) -> None:  # noqa: D102
        super().begin(episodes, rows)
        if self.goal:
            ahead = self.forward(episodes)  # type: ignore[attr-defined]
            places = [self.goal_place(Record(row)) for row in rows]
            episodes.memory["frame"][:, :2] = np.reshape(places, (-1, 2))
            episodes.memory["frame"][:, 2] = np.arctan2(ahead[:, 1], ahead[:, 0])

    def seen_from_start(self, memory: Any, x: Any, y: Any) -> Any:
        """Return a place relative to that at the start, along and to the left of the direction then, m."""
        return body_frame(memory.frame[2], x - memory.frame[0], y - memory.frame[1])

    def sense(self, row: Any, memory: Any, observation: Any) -> None:  # noqa: D102
        super().sense(row, memory, observation)
        if self.goal:
            turned = self.heading(row) - memory.frame[2]  # type: ignore[attr-defined]
            observation.facing[0], observation.facing[1] = math.cos(turned), math.sin(turned)
            x, y = self.goal_place(row)
            along, left = self.seen_from_start(memory, x, y)
            observation.achieved_goal[0], observation.achieved_goal[1] = along, left
            x, y = self.goal_wanted(memory)
            along, left = self.seen_from_start(memory, x, y)
            observation.desired_goal[0], observation.desired_goal[1] = along, left

    def reward(self, row: Any, memory: Any) -> Any:  # noqa: D102
        full = super().reward(row, memory)  # type: ignore[safe-super]
        if not self.goal:
            return full
        x, y = self.goal_place(row)
        along, left = self.seen_from_start(memory, x, y)
        x, y = self.goal_wanted(memory)
        there, aside = self.seen_from_start(memory, x, y)
        x = self.goal_scale * (self.observed(along) - self.observed(there))
        y = self.goal_scale * (self.observed(left) - self.observed(aside))
        return 0.0 if math.sqrt(x * x + y * y) <= self.radius else -1.0

    def observed(self, place: Any) -> Any:
        """Return the observed value of a goal's coordinate."""
        return float(np.float32(min(max(place / self.goal_scale, -LIMIT), LIMIT)))

    def compute_reward(self, achieved_goal: ArrayLike, desired_goal: ArrayLike, info: Any = None) -> Floats | float:
        """Return the rewards, a float or an array (...), of observed goals (..., 2); ``info`` is ignored."""
        away = self.goal_scale * (np.asarray(achieved_goal, float) - np.asarray(desired_goal, float))
        rewards = np.where(np.sqrt(np.sum(away * away, -1)) <= self.radius, 0.0, -1.0)
        return rewards if rewards.ndim else float(rewards)

    def ending(self, row: Any, memory: Any) -> Any:  # noqa: D102
        return 0.0 if self.goal else super().ending(row, memory)
