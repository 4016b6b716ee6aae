"""Interface of an animal: rows of state that are started, advanced and read."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import frozen, number, shown, whole, within
from ..kernels.lanes import check_rows
from .quantities import Option, Signal, labels, signal_table

MAX_THREADS = 256

MAX_STEPS = 1_000_000
"""Time steps in one call, which cannot be interrupted."""

LARGEST_START = 1e9
"""Largest magnitude of an initial value, in SI."""

ANIMALS: dict[str, str] = {}
"""Module and class of each animal by name, filled by the catalogue."""


class Animal(ABC):
    """Body with its nervous system, simulated in many rows; ``envs/worm/animal.py`` is an example.

    Rows are records of ``state``, one per animal, with all variables that affect the future. An object of this class
    has only constants and scratch space, so copying or pickling it makes a new one from the same arguments.
    """

    dt: float
    """Time step, s."""
    state: np.dtype[Any]
    """Record of one animal with at least ``time`` (s) and ``status`` (0 unless the animal has failed)."""
    drive_size: int
    """Number of drive values of one animal."""
    parameters: Mapping[str, Option]
    """Physical parameters by name, also fields of ``state``: a number per row, or an array if they have a shape."""
    randomized_parameters: Sequence[str] = ()
    """Parameters of the body that differ most between individuals: size, mass, stiffness, strength, delay."""
    failures: Mapping[float, str]
    """Reason of a failure by ``status``."""
    indices: Mapping[str, range] = {}
    """Values of the fields of ``state`` that are indices or states, such as the number of a link."""
    SIGNALS: Mapping[str, Signal] = {}
    """Signals that can be read from rows; ``{signals}`` in the docstring of the class becomes a table of them."""
    solvers: Mapping[str, tuple[str, ...]]
    """Allowed values of each attribute that selects a solver and is also an argument."""
    argument_types: Mapping[str, type] = {}
    """Dataclasses of the constructor's arguments by name, for `from_plain`."""
    cells: tuple[str, ...] = ()
    """Names of the populations in the signal ``neurons`` (sides, populations, segments), if there is one."""

    _init_arguments: tuple[tuple[Any, ...], dict[str, Any]]
    _stepper: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__doc__:  # python -OO removes it
            cls.__doc__ = inspect.cleandoc(cls.__doc__).replace("{signals}", signal_table(cls.SIGNALS))

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:  # noqa: D102
        self = super().__new__(cls)
        self._init_arguments = args, kwargs
        return self

    def __repr__(self) -> str:
        args, kwargs = self._init_arguments
        words = [*map(shown, args), *(f"{name}={shown(value)}" for name, value in kwargs.items())]
        return f"{type(self).__name__}({', '.join(words)})"

    def __reduce__(self) -> tuple[Any, ...]:
        args, kwargs = self._init_arguments
        return _make, (type(self), args, kwargs, self.threads)

    @classmethod
    def from_plain(cls, arguments: Mapping[str, Any]) -> Self:
        """Make an animal from plain data, such as the arguments in a trajectory's file.

        Args:
            arguments: Arguments of the constructor by name. Lists become tuples; a mapping becomes an object of the
                argument's class in `argument_types`.
        """
        values = {name: frozen(value) for name, value in arguments.items()}
        for name, kind in cls.argument_types.items():
            if isinstance(fields := values.get(name), Mapping):
                values[name] = kind(**{field: frozen(value) for field, value in fields.items()})
        return cls(**values)

    def default_drive(self) -> Any:
        """Return the controller that `simulate` uses if no drive is passed: the animal's own at the paper's parameters.

        It is defined in the package's controllers, which are loaded here. Override it in an animal of another package
        that is to run without them.
        """
        return import_module("gymnosoma.agents.controllers").own_drive(self)

    @property
    def drive_names(self) -> tuple[str, ...]:
        """Names of the drive values, used as names of columns in tables."""
        return tuple(labels("drive", (self.drive_size,)))

    @cached_property
    def signals(self) -> dict[str, Callable[[NDArray[Any]], NDArray[np.float64]]]:
        """Functions from rows (B,) to each of `SIGNALS`, (B, ...) in SI; results may be views of the rows."""
        return {name: signal.of(name, self) for name, signal in self.SIGNALS.items()}

    @property
    def threads(self) -> int:
        """Number of threads that advance rows; results do not depend on it."""
        return self._stepper.threads

    @threads.setter
    def threads(self, threads: int) -> None:
        whole("threads", threads, maximum=MAX_THREADS)
        if threads != self._stepper.threads:
            self._stepper.threads = threads

    def compile(self, count: int) -> None:  # noqa: B027
        """Compile or load the kernels that advance ``count`` rows, without calling them; optional."""

    @abstractmethod
    def rows(self, count: int) -> NDArray[Any]:
        """Make ``count`` rows of state."""

    @abstractmethod
    def start_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape, per row, of each initial value of `reset` except ``parameters``."""

    @abstractmethod
    def start(self, fresh: NDArray[Any], values: Mapping[str, NDArray[np.float64]]) -> None:
        """Set ``fresh`` rows (A,), made by `rows`, to initial values (A, ...) by name."""

    def reset(self, rows: NDArray[Any], ids: NDArray[np.int64], start: Mapping[str, ArrayLike] | None = None) -> None:
        """Reset ``rows[ids]``; other rows are unchanged.

        Args:
            rows ((B,) records): Changed in place.
            ids ((A,) int)
            start: Initial values, listed in the docstring of the class, and any of ``parameters``, by default those in
                ``params``; each for all rows or with a leading axis of A.

        Raises:
            ValueError: If a name is unknown, a shape is wrong, or a value is invalid.
        """
        values = read_start(start, self.start_shapes(), len(ids), self.parameters)
        fresh = self.rows(len(ids))
        self.start(fresh, values)
        rows[ids] = fresh

    @abstractmethod
    def advance(self, rows: NDArray[Any], ids: NDArray[np.int64], drive: NDArray[np.float64], steps: int) -> None:
        """Advance ``rows[ids]`` by ``steps`` time steps with a constant drive (A, drive_size).

        A row that fails keeps its last valid state and gets a ``status`` listed in ``failures``.
        """

    def run(
        self,
        rows: NDArray[Any],
        ids: NDArray[np.int64],
        drives: NDArray[np.float64],
        steps: int,
        records: NDArray[Any] | None = None,
        offset: int = 0,
        stride: int = 1,
    ) -> None:
        """Advance rows with a sequence of drives, like repeated calls of `advance`; no row may have failed before.

        Args:
            rows ((B,) records): Changed in place.
            ids ((A,) int)
            drives ((T, A, drive_size) float)
            steps: Number of time steps for each drive.
            records ((B, N) records of ``state``): Output: moment k of a row, after k ``stride`` drives, unless it has
                failed.
            offset: Number of drives that the rows have completed before; negative if moment 0 is in the future.
            stride: Number of drives between moments.
        """
        for k, drive in enumerate(drives, offset + 1):
            well = rows["status"][ids] == 0.0
            if not well.any():
                break
            self.advance(rows, ids[well], np.ascontiguousarray(drive[well]), steps)
            if records is not None and k % stride == 0:
                going = ids[rows["status"][ids] == 0.0]
                records[going, k // stride] = rows[going]

    def signal(self, rows: NDArray[Any], name: str) -> NDArray[np.float64]:
        """Return a copy of the signal ``name`` of all rows, (B, ...) in SI.

        Raises:
            ValueError: If the animal does not have this signal.
        """
        if name not in self.signals:
            raise ValueError(f"signal {name!r} is not known; known are {', '.join(self.signals)}")
        return np.array(self.signals[name](rows))


class InLanes(Animal):
    """Animal advanced by a `Stepper`, which names the driven fields."""

    @property
    def drive_names(self) -> tuple[str, ...]:  # noqa: D102
        named = (label for name in self._stepper.driven for label in labels(name, self.state[name].shape))
        return tuple(named)[: self.drive_size]

    @abstractmethod
    def _arguments(self) -> tuple[Any, ...]:
        """Return the arguments of the compiled step after the records and the number of steps."""

    def _move(
        self,
        rows: NDArray[Any],
        ids: NDArray[np.int64],
        drives: NDArray[np.float64],
        records: NDArray[Any] | None,
        offset: int,
        stride: int,
        steps: int,
    ) -> None:
        """Run rows until they fail."""
        self._stepper.run(rows, ids, drives, records, offset, stride, steps, *self._arguments())

    def compile(self, count: int) -> None:  # noqa: D102
        self._stepper.compile(count, *self._arguments())

    def advance(self, rows: NDArray[Any], ids: NDArray[np.int64], drive: NDArray[np.float64], steps: int) -> None:  # noqa: D102
        self._move(rows, ids, drive[None], None, 0, 1, steps)

    def run(  # noqa: D102
        self,
        rows: NDArray[Any],
        ids: NDArray[np.int64],
        drives: NDArray[np.float64],
        steps: int,
        records: NDArray[Any] | None = None,
        offset: int = 0,
        stride: int = 1,
    ) -> None:
        check_rows(rows, self.state)
        began = rows["time"].copy()
        self._move(rows, ids, drives, records, offset, stride, steps)
        failed = rows["status"][ids].nonzero()[0]  # places in ``ids``
        while failed.size:  # they have the state of the last moment; `advance` may succeed from there
            followed = np.rint((rows["time"] - began)[ids[failed]] / (steps * self.dt)).astype(int)
            k = followed.min()
            until = min(k + stride - (offset + k) % stride, len(drives))
            again, failed = failed[followed == k], failed[followed > k]
            rows["status"][ids[again]] = 0.0
            super().run(rows, ids[again], drives[k:until, again], steps, records, offset + k, stride)
            well = again[rows["status"][ids[again]] == 0.0]
            self._move(rows, ids[well], drives[until:, well], records, offset + until, stride, steps)
            failed = np.concatenate([failed, well[rows["status"][ids[well]] != 0.0]])


def _make(kind: type[Animal], args: tuple[Any, ...], kwargs: dict[str, Any], threads: int) -> Animal:
    animal = kind(*args, **kwargs)
    animal.threads = threads
    return animal


def find_animal(name: str) -> type[Animal]:
    """Return the class of the animal with this name in `ANIMALS`."""
    module, _, kind = ANIMALS[name].partition(":")
    return getattr(import_module(module), kind)


def time_step(dt: float | None, default: float) -> float:
    """Check a time step (s): 1e-6 to 100 times the ``default`` of its scheme; None selects the default."""
    return default if dt is None else float(within("dt", number("dt", dt), 1e-6 * default, 100 * default, "s"))


class Signals(Mapping[str, NDArray[np.float64]]):
    """Signals of rows, computed on access; controllers may keep the arrays, which are copies."""

    def __init__(self, animal: Animal, rows: NDArray[Any]) -> None:
        self._animal, self._rows = animal, rows

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        return np.array(self._animal.signals[name](self._rows))

    def __iter__(self):
        return iter(self._animal.signals)

    def __len__(self) -> int:
        return len(self._animal.signals)


def read_start(
    start: Mapping[str, ArrayLike] | None,
    shapes: Mapping[str, tuple[int, ...]],
    count: int,
    parameters: Mapping[str, Option],
) -> dict[str, NDArray[np.float64]]:
    """Check the initial values of `Animal.reset` and broadcast them to rows.

    Args:
        start: Name to value, for all rows or with a leading axis of ``count``.
        shapes: Name to shape of one row's value.
        count: Number of rows.
        parameters: Physical parameters, broadcast by `Option.spread`.

    Returns:
        dict: Name to array (count, ...).

    Raises:
        ValueError: If a name is unknown, a shape is wrong, or a value is not a number or out of range.
    """
    values = {}
    for name, value in (start or {}).items():
        label = f"start: {name}"
        if name in parameters:
            values[name] = parameters[name].spread(label, value, count)
            continue
        if name not in shapes:
            raise ValueError(f"start: {name!r} is not known; allowed are {', '.join([*shapes, *parameters])}")
        array = within(label, value, -LARGEST_START, LARGEST_START, "in SI")
        shape = (count, *shapes[name])
        try:
            values[name] = np.broadcast_to(array, shape)
        except ValueError:
            raise ValueError(f"{label} must have shape {shape[1:]} or {shape}, got {array.shape}") from None
    return values
