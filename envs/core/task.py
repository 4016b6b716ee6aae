"""What a task is, and the one shaping function of all rewards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .animal import Animal
from .arguments import choice, number, within
from .spec import ActionField, Ending, Field, Hidden, Layout, Measure, Option, Score


class EpisodeStart:
    """Episodes about to start, one for each of A rows: what `Task.start` and `Task.begin` are given.

    Args:
        rngs: One per episode.
        options: Given or drawn values of options, each with an entry per episode.
        memory ((A,) records of the task's ``memory``): Zeros, to be set.
        hidden: From what hidden options are drawn.
        split ({None, "train", "test"}): Part of their ranges.
    """

    def __init__(
        self,
        rngs: Sequence[np.random.Generator],
        options: Mapping[str, NDArray[np.float64]],
        memory: NDArray[Any],
        hidden: Mapping[str, Hidden],
        split: str | None,
    ) -> None:
        self.rngs, self.options, self.memory = rngs, options, memory
        self._hidden, self._split = hidden, split
        self.values: dict[str, Any] = {}
        """What `Task.start` gave, for `Task.begin`."""

    def __len__(self) -> int:
        return len(self.rngs)

    def draw(self, function: Callable[[np.random.Generator], ArrayLike]) -> NDArray[Any]:
        """What ``function`` draws from the generator of each episode, (A, ...)."""
        return np.array([function(rng) for rng in self.rngs])

    def hidden(self, name: str) -> NDArray[np.float64]:
        """A hidden option (A,): as given, else drawn. The generators move on by as much either way."""
        drawn = self.draw(lambda rng: self._hidden[name].draw(rng, self._split))
        return self.options.get(name, drawn)


class Task(ABC):
    """What an environment asks of a task; ``envs/worm/tasks.py`` holds examples.

    A task is NumPy over rows and holds nothing itself: what it must remember of a row is a record of
    ``memory``. Results for a row must not depend on how many rows there are: elementwise operations and
    sums along the last axis are safe, matrix products are not.

    A task says, as data, what it observes (`fields`), what actions mean (`action_fields`), what it remembers
    (`memory_fields`), ``options``, ``endings`` and ``score``, and does seven things: `start` episodes, `begin` their
    memory, `command` the animal, `sense`, `reward`, tell the `ending`, and `info`. Animals have a base class of
    their own that does most of it; a task adds to what ``super()`` gives.

    Args:
        actions: One of ``action_modes``, the first by default.
        control_rate: Instead of the task's.

    Raises:
        ValueError: For another action mode, or a rate that is not finite and greater than 0.
    """

    action_modes: tuple[str, ...]
    """What actions may mean, the default first."""
    control_rate: float
    """Actions a second, Hz."""
    animal: Animal
    options: Mapping[str, Option] = {}
    """Of the reset, beside the animal's parameters."""
    unavailable: Mapping[str, str] = {}
    """Options that the task has with other arguments, and what they need."""
    hidden: Mapping[str, Hidden] = {}
    """Those that are drawn for every episode and not shown; ``split`` divides their ranges."""
    split: str | None = None
    """Part of the hidden options' ranges from which episodes are drawn: all, ``"train"`` or ``"test"``."""
    endings: Mapping[float, Ending] = {}
    """What the codes of `ending` mean."""
    score = Score("return")
    physiology: Mapping[str, Measure] = {}
    """What is measured of the animal, by name, and its limits; fixed before anything is trained."""
    arguments: Mapping[str, str] = {
        "actions": "what actions mean, see above",
        "control_rate": "actions a second, Hz",
    }
    """What each argument means, for the documentation."""
    shared: tuple[str, ...] = ()
    """Attributes in which tasks may differ by their arguments beside the animal: snapshots tell them apart."""

    def __init__(self, actions: str | None = None, control_rate: float | None = None) -> None:
        self.actions = self.action_modes[0] if actions is None else actions
        choice("actions", self.actions, self.action_modes)
        if control_rate is not None:
            usual = type(self).control_rate
            self.control_rate = float(
                within("control_rate", number("control_rate", control_rate), usual / 100, 100 * usual, "Hz")
            )

    # What it is made of.

    @abstractmethod
    def fields(self) -> dict[str, Field]:
        """Entries of the observation, in order."""

    @abstractmethod
    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        """Entries of the action with an action mode, that in force by default."""

    def memory_fields(self) -> list[tuple[Any, ...]]:
        """What is remembered of a row, as fields of a dtype."""
        return []

    @cached_property
    def layout(self) -> Layout:
        """Places of the fields in the observation."""
        return Layout(self.fields())

    @cached_property
    def memory(self) -> np.dtype[Any]:
        """Record of what is remembered of a row."""
        return np.dtype(self.memory_fields())

    @cached_property
    def action_size(self) -> int:
        """Numbers of an action."""
        return sum(field.size for field in self.action_fields().values())

    # What it does.

    def reset(
        self,
        rows: NDArray[Any],
        memory: NDArray[Any],
        ids: NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
        options: Mapping[str, NDArray[np.float64]],
    ) -> None:
        """Start an episode in ``rows[ids]``; ``rngs`` and each of ``options`` have an entry per id."""
        episodes = EpisodeStart(rngs, options, np.zeros(len(ids), self.memory), self.hidden, self.split)
        episodes.values = self.start(episodes)
        physical = {name: options[name] for name in self.animal.parameters if name in options}
        self.animal.reset(rows, ids, episodes.values | physical)
        self.begin(episodes, rows[ids])
        memory[ids] = episodes.memory

    @abstractmethod
    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        """Start values of the animal, each for all rows or per episode; physical options are added to them.

        Random numbers are drawn here, and memory that depends on them is set.
        """

    def begin(self, episodes: EpisodeStart, rows: NDArray[Any]) -> None:
        """Set memory that depends on the animals as they have been started, ``rows`` (A,)."""
        return

    @abstractmethod
    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Drive in SI (B, nu) from actions (B, action_size) in [-1, 1]; called before the physics."""

    @abstractmethod
    def sense(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Values in SI of all `fields`, each (B, size) or (B,); what is no field is for those who call ``super()``."""

    def observe(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float32]:
        """Observations (B, d): what is sensed, packed."""
        return self.layout.pack(self.sense(rows, memory))

    @abstractmethod
    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Rewards (B,); called once after the physics of each period, so it may keep progress in memory."""

    def ending(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Ending (B,) of each row: 0 while it goes on, else a key of ``endings``."""
        return np.zeros(len(rows))

    @abstractmethod
    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Physical quantities in SI, each with a leading axis of B, none a view of its arguments."""

    # The way back, for controllers.

    @abstractmethod
    def action_from_values(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action (B, action_size) that means ``values`` (B, action_size) in SI, clipped to what is possible."""

    def action_from_drive(self, drive: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action whose command comes closest to a drive of the animal (B, nu) in SI.

        Raises:
            ValueError: Where actions of this mode do not command the drive.
        """
        raise ValueError(
            f"actions={self.actions!r} of {type(self).__name__} do not command the drive of "
            f"{type(self.animal).__name__}: a controller must choose values of the action"
        )


def tolerance(value: ArrayLike, low: float, high: float, margin: float, at_margin: float = 0.1) -> NDArray[np.float64]:
    """Reward shaping: 1 inside [low, high], falling smoothly outside.

    Args:
        value (array_like)
        low, high: Bounds of the goal.
        margin: Distance from the bounds at which the result is ``at_margin``; 0 gives a step.
        at_margin (float, in (0, 1))

    Returns:
        array, in [0, 1]: 1 / (1 + c d^2) with d the distance from the bounds.

    Raises:
        ValueError: If the bounds are swapped, the margin is negative or ``at_margin`` is not in (0, 1).
    """
    if not low <= high:
        raise ValueError(f"low must not exceed high, got {low!r} and {high!r}")
    if not margin >= 0:
        raise ValueError(f"margin must be at least 0, got {margin!r}")
    if not 0 < at_margin < 1:
        raise ValueError(f"at_margin must lie in (0, 1), got {at_margin!r}")
    x = np.asarray(value, float)
    distance = np.maximum(np.maximum(low - x, x - high), 0.0)
    if margin == 0:
        return np.where(distance > 0, 0.0, 1.0)
    return 1.0 / (1.0 + (1.0 / at_margin - 1.0) * (distance / margin) ** 2)
