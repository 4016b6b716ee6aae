"""What a task is, and the one shaping function of all rewards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import choice, number
from .simulate import Animal

LIMIT = 10.0
"""Observations are clipped to this many times their scale."""


@dataclass(frozen=True)
class Field:
    """One entry of the observation: ``size`` numbers, observed as value / ``scale``.

    Parameters
    ----------
    size : int
    unit : str
        SI unit of the value.
    scale : float
        Typical magnitude in that unit; observations lie in [-10, 10] times it.
    """

    size: int
    unit: str
    scale: float


class Layout:
    """Positions and scales of the fields in an observation vector.

    Parameters
    ----------
    fields : mapping of name to Field
    """

    def __init__(self, fields: Mapping[str, Field]) -> None:
        ends = np.cumsum([field.size for field in fields.values()])
        self.fields = dict(fields)
        self.slices = {
            name: slice(int(end) - field.size, int(end))
            for (name, field), end in zip(fields.items(), ends, strict=True)
        }
        self.scale = np.concatenate([np.full(field.size, field.scale) for field in fields.values()])
        self.size = len(self.scale)

    def encode(self, values: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float32]:
        """Pack values in SI, each (B, size) or (B,), into observations (B, d)."""
        first = next(iter(values.values()))
        packed = np.empty((len(first), self.size))
        for name, part in self.slices.items():
            value = values[name]
            packed[:, part] = value if value.ndim == 2 else value[:, None]
        packed /= self.scale
        return np.clip(packed, -LIMIT, LIMIT, out=packed).astype(np.float32)

    def decode(self, observations: NDArray[np.floating]) -> dict[str, NDArray[np.float64]]:
        """Unpack the newest frame of observations (B, k d) into values in SI, each (B, size)."""
        newest = observations[:, -self.size :] * self.scale
        return {name: newest[:, part] for name, part in self.slices.items()}


@dataclass(frozen=True)
class Option:
    """A value that ``reset(options=...)`` accepts and ``randomize`` may draw.

    Parameters
    ----------
    low, high : float
        Allowed range, both ends included.
    unit : str
    shape : tuple of int
        Of one row's value.
    """

    low: float
    high: float
    unit: str
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class Score:
    """By what a task's results are compared: an info key of the last step, or ``"return"``.

    Parameters
    ----------
    name : str
    unit : str
        For people, such as "mm/s".
    factor : float
        From the info's SI unit to ``unit``.
    """

    name: str
    unit: str = "1"
    factor: float = 1.0


class Task(ABC):
    """What ``core/batch.py`` asks of a task; ``envs/worm/tasks.py`` holds examples.

    A task is NumPy over rows and holds nothing itself: what it must remember of a row is a record of
    ``memory``. Results for a row must not depend on how many rows there are: elementwise operations and
    sums along the last axis are safe, matrix products are not.

    Parameters
    ----------
    actions : str, optional
        One of ``levels``, the first by default.
    rate : float, Hz, optional
        Of the control, instead of the task's.

    Raises
    ------
    ValueError
        For another action level, or a rate that is not finite and greater than 0.
    """

    levels: tuple[str, ...]
    """What actions may mean, the default first."""
    rate: float
    animal: Animal
    action_size: int
    layout: Layout
    memory: np.dtype[Any]
    options: Mapping[str, Option] = {}
    endings: Mapping[float, str] = {}
    """Failures: status that ``terminated`` gives, and why the episode is over."""
    score = Score("return")

    def __init__(self, actions: str | None = None, rate: float | None = None) -> None:
        self.actions = self.levels[0] if actions is None else actions
        choice("actions", self.actions, self.levels)
        if rate is not None:
            self.rate = number("rate", rate, above=0)

    @abstractmethod
    def reset(
        self,
        rows: NDArray[Any],
        memory: NDArray[Any],
        ids: NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
        options: Mapping[str, NDArray[np.float64]],
    ) -> None:
        """Start an episode in ``rows[ids]``; ``rngs`` and each of ``options`` have an entry per id."""

    @abstractmethod
    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Drive in SI (B, nu) from actions (B, action_size) in [-1, 1]; called before the physics."""

    @abstractmethod
    def encode(self, drive: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action (B, action_size) whose command comes closest to a drive in SI (B, nu)."""

    @abstractmethod
    def observe(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float32]:
        """Observations (B, d)."""

    @abstractmethod
    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Rewards (B,); called once after the physics of each period, so it may note progress in memory."""

    @abstractmethod
    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Physical quantities in SI, each with a leading axis of B, none a view of its arguments."""

    def terminated(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Ending (B,) of each row: 0 while it goes on, a key of ``endings`` for a failure, else success."""
        return np.zeros(len(rows))

    def physical(self, options: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
        """Those of the reset's options that are parameters of the animal."""
        return {name: options[name] for name in self.animal.parameters if name in options}


def tolerance(value: ArrayLike, low: float, high: float, margin: float, at_margin: float = 0.1) -> NDArray[np.float64]:
    """Reward shaping: 1 inside [low, high], falling smoothly outside.

    Parameters
    ----------
    value : array_like
    low, high : float
        Bounds of the goal.
    margin : float
        Distance from the bounds at which the result is ``at_margin``; 0 gives a step.
    at_margin : float, in (0, 1)

    Returns
    -------
    array, in [0, 1]
        1 / (1 + c d^2) with d the distance from the bounds.

    Raises
    ------
    ValueError
        If the bounds are swapped, the margin is negative or ``at_margin`` is not in (0, 1).
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
