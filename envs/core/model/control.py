"""Controllers: a `Controller` drives an animal, a `TaskController` plays a task.

Both name what they read, so that it is checked once, before anything moves, and not found out in the middle.
"""

from __future__ import annotations

import csv
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import number, numbers, shown, suggestion

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
    ``values`` (N, nu) are in SI for all animals, or (N, B, nu) for each. ``names`` of the columns, if they are given,
    say which of an animal's ``drive_names`` each is, in whatever order they stand; without them the order is the
    animal's. ValueError for times that do not rise, values that are no finite numbers, one row for each time, or names
    that are not one for each column.

    Examples:
        >>> from gymnosoma.envs import Schedule, simulate
        >>> from gymnosoma.envs.lamprey import Lamprey
        >>> faster = Schedule([0.0, 0.2], [[0.2, 0.0, 1.0], [0.4, 0.0, 1.0]])
        >>> run = simulate(Lamprey(), faster, 0.4)
    """

    def __init__(self, times: ArrayLike, values: ArrayLike, names: Sequence[str] | None = None) -> None:
        self.values = numbers("values", values)
        if self.values.ndim not in (2, 3) or not len(self.values):  # some models have no inputs
            raise ValueError(
                f"values must be a table (times, drive) or (times, animals, drive), got shape {self.values.shape}"
            )
        if np.ndim(times) == 0:
            self.times = number("times", times, above=0) * np.arange(len(self.values))
        else:
            self.times = numbers("times", times)
        if self.times.shape != (len(self.values),) or not (np.diff(self.times) > 0).all():
            raise ValueError(f"times must rise, one for each of {len(self.values)} rows of values, got {shown(times)}")
        self.names = None if names is None else tuple(names)
        if names is not None and not len(set(names)) == len(names) == self.values.shape[-1]:
            raise ValueError(f"names must be {self.values.shape[-1]}, each once, got {', '.join(map(repr, names))}")

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a CSV file of times (s) and the drive, whose first line may name the columns.

        Where it does, one of them is ``time`` and the others are what drives the animal (``animal.drive_names``), in
        any order. Otherwise the first column is the time, and the others are in the animal's order. ValueError, which
        names the file, if it cannot be read or is no such table.
        """
        path = Path(path)
        try:
            if path.exists() and not path.is_file():  # a pipe would be waited for
                raise ValueError("it is no file")
            names, lines = _header(path.read_text(encoding="utf-8-sig").splitlines())
            if names is not None and names.count("time") != 1:
                raise ValueError(f"one column must be named 'time', got {', '.join(map(repr, names))}")
            with warnings.catch_warnings(action="error"):  # of an empty file
                table = np.loadtxt(lines, delimiter=",", ndmin=2)
            if table.shape[1] < 2:
                raise ValueError("it must have columns of the drive beside the time")
            if names is None:
                return cls(table[:, 0], table[:, 1:])
            if table.shape[1] != len(names):
                raise ValueError(f"it must have a column for each of {len(names)} names, got {table.shape[1]}")
            time = names.index("time")
            return cls(table[:, time], np.delete(table, time, 1), [*names[:time], *names[time + 1 :]])
        except (OSError, ValueError, UserWarning) as error:
            reason = " ".join(str(error).split())
            raise ValueError(f"drive {str(path)!r} cannot be read: {reason}") from None

    def ordered(self, names: Sequence[str]) -> Schedule:
        """This schedule with its columns in the order of ``names``; ValueError unless they have these names."""
        if self.names is None or self.names == tuple(names):
            return self
        wrong = [f"{name!r} is not known{suggestion(name, names)}" for name in self.names if name not in names]
        wrong += [f"{name!r} is missing" for name in names if name not in self.names]
        if wrong:
            raise ValueError(f"drive must have the columns {', '.join(['time', *names])}: {', and '.join(wrong)}")
        return Schedule(self.times, self.values[..., [self.names.index(name) for name in names]], names)

    def at(self, t: Floats) -> Floats:
        """Drive (T, nu) or (T, B, nu) at times ``t`` (T,) s."""
        row = np.searchsorted(self.times, t, "right") - 1
        return self.values[np.maximum(row, 0)]

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Drive (B, nu) at times ``t`` (B,) s."""
        values = self.at(t)
        return values if values.ndim == 2 else values[np.arange(len(t)), np.arange(len(t))]


def _header(lines: list[str]) -> tuple[list[str] | None, list[str]]:
    """Names of the columns of a CSV file, None where no line names them, and the lines that follow."""
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    first = [cell.strip() for cell in next(csv.reader(lines[:1], skipinitialspace=True), [])]
    try:
        for cell in first:
            float(cell)
    except ValueError:
        return first, lines[1:]
    return None, lines


def check_reads(controller: Any, signals: Iterable[str], where: str) -> None:
    """Raise ValueError, which names what is missing, unless ``signals`` has all that a controller reads.

    ``where`` says who offers these names, such as ``"Worm senses"``.
    """
    names = tuple(signals)
    missing = [name for name in controller.reads if name not in names]
    if missing:
        raise ValueError(
            f"controller {type(controller).__name__} reads {', '.join(map(repr, missing))}; {where} only "
            f"{', '.join(names)}"
        )
