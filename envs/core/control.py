"""Controllers: a `Controller` drives an animal, a `TaskController` plays a task.

Both name what they read, so that it is checked once, before anything moves, and not found out in the middle.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import number, numbers, shown

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Values = Mapping[str, Floats]
"""Arrays by name, each with a leading axis of rows."""


@runtime_checkable
class Controller(Protocol):
    """An animal's own controller: its drive in SI, from time and what is sensed.

    In `simulate` it reads the animal's signals, in an environment the fields of the observation, which have the
    same names where they are the same quantities.
    """

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the signals that ``drive`` reads."""

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Drive (B, nu) at times ``t`` (B,) s; ``first`` (B,) marks rows that begin an episode."""


@runtime_checkable
class TaskController(Protocol):
    """Plays a task whose actions are more, or other, than the drive of its animal: answers, a moving plate."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the fields of the observation that ``choose`` reads."""

    def choose(self, t: Floats, fields: Values, first: Flags) -> Floats:
        """Values of the action in SI (B, action_size), in the order of ``task.action_fields()``."""


class OpenLoop(ABC):
    """A controller that listens to nothing, not even to what it did before: its drive is a function of time.

    `simulate` asks it for many times at once.
    """

    reads: tuple[str, ...] = ()

    @abstractmethod
    def at(self, t: Floats) -> Floats:
        """Drive (T, nu) at times ``t`` (T,) s, each as if it were the only one; or (T, B, nu), of B animals."""

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Drive (B, nu) at times ``t`` (B,) s."""
        return self.at(t)


class Schedule(OpenLoop):
    """A drive as a table over time, each row held until the next; the first before it begins, the last for ever.

    ``times`` (N,), s, rise and say when each row begins, or a number is the interval between them, the first at 0;
    ``values`` (N, nu) are in SI for all animals, or (N, B, nu) for each. ValueError for times that do not rise, or
    values that are no finite numbers, one row for each time.

    Examples:
        >>> from gymnosoma.envs import Schedule, simulate
        >>> from gymnosoma.envs.lamprey import Lamprey
        >>> faster = Schedule([0.0, 0.2], [[0.2, 0.0, 1.0], [0.4, 0.0, 1.0]])
        >>> run = simulate(Lamprey(), faster, 0.4)
    """

    def __init__(self, times: ArrayLike, values: ArrayLike) -> None:
        self.values = numbers("values", values)
        if self.values.ndim not in (2, 3) or not self.values.size:
            raise ValueError(
                f"values must be a table (times, drive) or (times, animals, drive), got shape {self.values.shape}"
            )
        if np.ndim(times) == 0:
            self.times = number("times", times, above=0) * np.arange(len(self.values))
        else:
            self.times = numbers("times", times)
        if self.times.shape != (len(self.values),) or not (np.diff(self.times) > 0).all():
            raise ValueError(f"times must rise, one for each of {len(self.values)} rows of values, got {shown(times)}")

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a CSV file: times (s) in the first column, the drive in the others; one line may name them.

        ValueError, which names the file, if it cannot be read or is no such table.
        """
        path = Path(path)
        try:
            if path.exists() and not path.is_file():  # a pipe would be waited for
                raise ValueError("it is no file")
            lines = path.read_text(encoding="utf-8").splitlines()
            named = bool(lines) and any(character.isalpha() for character in lines[0].replace("e", "").replace("E", ""))
            with warnings.catch_warnings(action="error"):  # of an empty file
                table = np.loadtxt(lines[named:], delimiter=",", ndmin=2)
            return cls(table[:, 0], table[:, 1:])
        except (OSError, ValueError, UserWarning) as error:
            reason = " ".join(str(error).split())
            raise ValueError(f"drive {str(path)!r} cannot be read: {reason}") from None

    def at(self, t: Floats) -> Floats:
        """Drive (T, nu) or (T, B, nu) at times ``t`` (T,) s."""
        row = np.searchsorted(self.times, t, "right") - 1
        return self.values[np.maximum(row, 0)]

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Drive (B, nu) at times ``t`` (B,) s."""
        values = self.at(t)
        return values if values.ndim == 2 else values[np.arange(len(t)), np.arange(len(t))]


def check_reads(controller: Any, known: Iterable[str], where: str) -> None:
    """Raise ValueError, which names what is missing, unless all that a controller reads is ``known``.

    ``where`` says who offers these names, such as ``"Worm senses"``.
    """
    names = tuple(known)
    missing = [name for name in controller.reads if name not in names]
    if missing:
        raise ValueError(
            f"controller {type(controller).__name__} reads {', '.join(map(repr, missing))}; {where} only "
            f"{', '.join(names)}"
        )
