"""What acts on an animal during a run: controllers, and events that change its parameters.

A `Controller` drives an animal, a `TaskController` plays a task. Both list the names they read, so that missing ones
are found before the simulation starts.
"""

from __future__ import annotations

import csv
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import number, numbers, printable, shown, suggestion
from ..files import read_text
from ..kinds import advice, takes_objects
from .quantities import Option

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Values = Mapping[str, Floats]
"""Arrays by name, each with a leading axis of rows."""


@runtime_checkable
class Controller(Protocol):
    """Controller of an animal: computes the drive in SI from time and signals.

    In `simulate` it reads the animal's signals, in an environment the fields of the observation. A field and a signal
    with the same name are the same quantity.
    """

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the signals that ``drive`` reads."""

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return the drive (B, nu) at times ``t`` (B,) s; ``first`` (B,) marks rows that start an episode."""


@runtime_checkable
class TaskController(Protocol):
    """Controller for a task with actions that are not just the animal's drive, such as answers or a moving plate."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the fields of the observation that ``choose`` reads."""

    def choose(self, t: Floats, fields: Values, first: Flags) -> Floats:
        """Return the values of the action in SI (B, action_size), in the order of ``task.action_fields()``."""


class OpenLoop(ABC):
    """Controller without memory or input: its drive is a function of time, evaluated at many times in one call."""

    reads: tuple[str, ...] = ()

    @abstractmethod
    def at(self, t: Floats) -> Floats:
        """Return the drive (T, nu) at times ``t`` (T,) s, or (T, B, nu) for B animals.

        The drive at one time must not depend on the other times.
        """

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return the drive (B, nu) at times ``t`` (B,) s."""
        return self.at(t)


class Schedule(OpenLoop):
    """Drive as a table over time; each row applies until the next one.

    The first row also applies before its time, and the last row applies until the end.

    Args:
        times ((N,) or float, s): Increasing start times of the rows, or a constant interval with the first row at 0.
        values ((N, nu) or (N, B, nu)): Drive in SI, for all animals or for each.
        names: Name of each column, one of the animal's ``drive_names``, in any order; by default, columns are in the
            animal's order.

    Raises:
        ValueError: If times do not increase, values are not finite numbers with a row per time, or there is not one
            name per column.

    Examples:
        >>> from gymnosoma.envs import Schedule, simulate
        >>> from gymnosoma.envs.lamprey import Lamprey
        >>> faster = Schedule([0.0, 0.2], [[0.2, 0.0, 1.0], [0.4, 0.0, 1.0]])
        >>> run = simulate(Lamprey(), faster, 0.4)
    """

    @takes_objects
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
            raise ValueError(f"times must increase, one per row of values ({len(self.values)}), got {shown(times)}")
        self.names = None if names is None else tuple(names)
        if names is not None and not len(set(names)) == len(names) == self.values.shape[-1]:
            raise ValueError(f"names must be {self.values.shape[-1]} distinct, got {', '.join(map(repr, names))}")

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a CSV file of times (s) and the drive.

        If the first line has names, one must be ``time`` and the rest the animal's ``drive_names``, in any order.
        Without names, the first column is the time, and the rest are in the animal's order.

        Raises:
            ValueError: If the file cannot be read or has another form; the message names it.
        """
        path = Path(path)
        try:
            names, lines = _header(read_text(path).splitlines())
            if names is not None and names.count("time") != 1:
                raise ValueError(f"one column must be named 'time', got {shown(names)}")
            with warnings.catch_warnings(action="error"):  # for an empty file
                table = np.loadtxt(lines, delimiter=",", ndmin=2)
            if table.shape[1] < 2:
                raise ValueError("it must have columns of the drive after the time")
            if names is None:
                return cls(table[:, 0], table[:, 1:])
            if table.shape[1] != len(names):
                raise ValueError(f"it must have a column for each of {len(names)} names, got {table.shape[1]}")
            time = names.index("time")
            return cls(table[:, time], np.delete(table, time, 1), [*names[:time], *names[time + 1 :]])
        except (OSError, ValueError, UserWarning, csv.Error) as error:
            reason = advice(path, "drive", "base") or printable(error)
            raise ValueError(f"drive {str(path)!r} cannot be read: {reason}") from None

    def ordered(self, names: Sequence[str]) -> Schedule:
        """Return the schedule with columns in the order of ``names``; raises ValueError if its names differ."""
        if self.names is None or self.names == tuple(names):
            return self
        wrong = [f"{name!r} is not known{suggestion(name, names)}" for name in self.names if name not in names]
        wrong += [f"{name!r} is missing" for name in names if name not in self.names]
        if wrong:
            raise ValueError(f"drive must have the columns {', '.join(['time', *names])}: {', and '.join(wrong)}")
        return Schedule(self.times, self.values[..., [self.names.index(name) for name in names]], names)

    def at(self, t: Floats) -> Floats:
        """Return the drive (T, nu) or (T, B, nu) at times ``t`` (T,) s."""
        row = np.searchsorted(self.times, t, "right") - 1
        return self.values[np.maximum(row, 0)]

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return the drive (B, nu) at times ``t`` (B,) s."""
        values = self.at(t)
        return values if values.ndim == 2 else values[np.arange(len(t)), np.arange(len(t))]


def _header(lines: list[str]) -> tuple[list[str] | None, list[str]]:
    """Return the names of a CSV file's columns, or None without a line of names, and the other lines."""
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    first = [cell.strip() for cell in next(csv.reader(lines[:1], skipinitialspace=True), [])]
    try:
        for cell in first:
            float(cell)
    except ValueError:
        return first, lines[1:]
    return None, lines


def check_reads(controller: Any, signals: Iterable[str], where: str) -> None:
    """Raise ValueError unless ``signals`` includes all names that a controller reads.

    The message lists the missing names; ``where`` is part of it, such as ``"Worm senses"``.
    """
    names = tuple(signals)
    missing = [name for name in controller.reads if name not in names]
    if missing:
        raise ValueError(
            f"controller {type(controller).__name__} reads {', '.join(map(repr, missing))}; {where} only "
            f"{', '.join(names)}"
        )


@dataclass(frozen=True)
class Event:
    """Change of physical parameters at a given time, as by ``set_parameters``.

    It takes effect at the first start of a control period (in `simulate`: of a ``hold``) at or after ``time``, to
    within half a time step. A mapping such as ``{"time": 2.0, "stiffness": 1e-10}`` is equivalent and can be written in
    JSON.

    Args:
        time (float, s, at least 0): Time since the start of the episode.
        values: Name of a parameter to its value in SI, for all rows or one per row.

    Raises:
        ValueError: If the time is invalid or there are no values.

    Examples:
        A worm's muscles lose their stiffness after a second, and water turns into agar after two:

        >>> from gymnosoma.envs import Event, simulate
        >>> from gymnosoma.envs.worm import SineKymogram, Worm, WormParams
        >>> agar = WormParams.in_medium(1.0)
        >>> slack = Event(1.0, {"stiffness": 1e-11})
        >>> thick = Event(2.0, {name: getattr(agar, name) for name in ("friction_perpendicular", "friction_parallel")})
        >>> worm = Worm(WormParams.in_medium(0.0))
        >>> run = simulate(worm, SineKymogram.for_medium(0.0), 3.0, events=[slack, thick])

        In an environment, events are options of a reset:

        >>> import gymnasium
        >>> env = gymnasium.make("gymnosoma/WormSwim-v0")
        >>> observation, info = env.reset(seed=0, options={"events": [slack, {"time": 2.0, "damping": 0.0}]})
    """

    time: float
    values: Mapping[str, ArrayLike]

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", number("time", self.time, minimum=0))
        if not (isinstance(self.values, Mapping) and self.values):
            raise ValueError(f"values must map names of parameters to values, got {shown(self.values)}")

    def of(self, row: int) -> Event:
        """Return the event of one row, if values have an entry per row."""
        return Event(self.time, {name: np.array(np.asarray(value)[row]) for name, value in self.values.items()})


def read_events(label: str, events: Any, parameters: Mapping[str, Option], count: int) -> list[Event]:
    """Check events and broadcast their values to rows.

    Args:
        label: Name of the events in messages.
        events (sequence of Event or mapping)
        parameters: Parameters that may be set.
        count: Number of rows.

    Returns:
        list of Event: Sorted by time; values are arrays (count, ...).

    Raises:
        ValueError: If an event is invalid, a name is unknown, a shape is wrong, or a time or value is out of range.
    """
    if not isinstance(events, Sequence) or isinstance(events, str | bytes | bytearray):
        raise ValueError(f"{label} must be a list of Event, or of mappings with a time, got {shown(events)}")
    result = []
    for k, one in enumerate(events):
        where = f"{label}[{k}]"
        if not isinstance(one, Event | Mapping):
            raise ValueError(f"{where} must be an Event or a mapping with a time, got {shown(one)}")
        values = {"time": one.time, **one.values} if isinstance(one, Event) else dict(one)
        time = number(f"{where}: time", values.pop("time", None), minimum=0)
        if not values:
            raise ValueError(f"{where} must set something; allowed are {', '.join(parameters)}")
        checked: dict[str, NDArray[np.float64]] = {}
        for name, value in values.items():
            if name not in parameters:
                raise ValueError(f"{where}: {shown(name)} is not known; allowed are {', '.join(parameters)}")
            checked[name] = parameters[name].spread(f"{where}: {name}", value, count)
        result.append(Event(time, checked))
    return sorted(result, key=lambda event: event.time)


class EventQueue:
    """Future events of each row.

    Args:
        count: Number of rows.
    """

    def __init__(self, count: int) -> None:
        self.waiting: list[list[Event]] = [[] for _ in range(count)]
        self._any = False

    def set(self, row: int, events: Sequence[Event]) -> None:
        """Replace the future events of a ``row`` by checked ones with the row's values."""
        self.waiting[row] = list(events)
        self._any = self._any or bool(events)

    def apply_due(self, rows: NDArray[Any], ids: NDArray[np.int64], dt: float) -> None:
        """Apply the events in ``ids`` that are due in the control period that starts now."""
        if not self._any:
            return
        for i in ids:
            waiting = self.waiting[i]
            while waiting and waiting[0].time <= rows["time"][i] + 0.5 * dt:
                for name, value in waiting.pop(0).values.items():
                    rows[name][i] = value
        self._any = any(self.waiting)
