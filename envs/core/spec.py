"""What a task is made of, as data: entries of observations and actions, options, endings, the score.

The spaces, the checks and the documentation of an environment are all made from these, so that they agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import within

LIMIT = 10.0
"""Observations are clipped to this many times their scale."""


@dataclass(frozen=True)
class Field:
    """One entry of the observation: ``size`` numbers, observed as value / ``scale``.

    A field that holds a signal of the animal has that signal's name.

    Parameters
    ----------
    size : int
    unit : str
        SI unit of the value; several, separated by commas, where the numbers differ in it.
    scale : float or tuple of float
        Typical magnitude in that unit; observations lie in [-10, 10] times it.
    meaning : str
        For the documentation.
    """

    size: int
    unit: str
    scale: float | tuple[float, ...]
    meaning: str


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
        self.scale = np.concatenate([np.broadcast_to(field.scale, field.size) for field in fields.values()])
        self.size = len(self.scale)

    def pack(self, values: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float32]:
        """Pack values in SI, each (B, size) or (B,), into observations (B, d)."""
        first = next(iter(values.values()))
        packed = np.empty((len(first), self.size))
        for name, part in self.slices.items():
            value = values[name]
            packed[:, part] = value if value.ndim == 2 else value[:, None]
        packed /= self.scale
        np.maximum(packed, -LIMIT, out=packed)  # in two steps: np.clip alone costs as much as all the rest
        np.minimum(packed, LIMIT, out=packed)
        return packed.astype(np.float32)

    def unpack(self, observations: NDArray[np.floating]) -> dict[str, NDArray[np.float64]]:
        """Unpack the newest frame of observations (B, k d) into values in SI, each (B, size)."""
        newest = observations[:, -self.size :] * self.scale
        return {name: newest[:, part] for name, part in self.slices.items()}


@dataclass(frozen=True)
class ActionField:
    """One entry of the action: ``size`` numbers in [-1, 1], which mean ``low`` .. ``high``.

    Parameters
    ----------
    size : int
    low, high : float
        What -1 and 1 mean.
    unit : str
        SI unit of these.
    meaning : str
        For the documentation.
    """

    size: int
    low: float
    high: float
    unit: str
    meaning: str


@dataclass(frozen=True)
class Option:
    """A value that ``reset(options=...)`` accepts and ``randomize`` may draw.

    Parameters
    ----------
    low, high : float
        Allowed range, both ends included: where the model means something, some orders of magnitude around what
        was published.
    unit : str
    meaning : str
        For the documentation.
    shape : tuple of int
        Of one row's value.
    """

    low: float
    high: float
    unit: str
    meaning: str
    shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not -math.inf < self.low <= self.high < math.inf:
            raise ValueError(f"low and high must be finite and in order, got {self.low!r} and {self.high!r}")

    def check(self, name: str, value: ArrayLike) -> NDArray[np.float64]:
        """Check a value, or one per row; ValueError if it is none, or out of range."""
        return within(name, value, self.low, self.high, self.unit)


@dataclass(frozen=True)
class Ending:
    """How a task may end an episode.

    Parameters
    ----------
    reason : str
        For people; ``info["failure"]`` of an episode that failed.
    success : bool
        Otherwise it is a failure.
    """

    reason: str
    success: bool = False


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
