"""What an animal is to the core: rows of state that can be started, advanced and read."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import number, whole, within
from ..kernels.stepper import check_rows
from .quantities import Option, Signal, labels, signal_table

MAX_THREADS = 256

MAX_STEPS = 1_000_000
"""Time steps in one go, which nothing can interrupt."""

LARGEST_START = 1e9
"""Largest magnitude of an initial value, in SI."""

ANIMALS: dict[str, str] = {}
"""Names of animals, each with module and class; the catalogue fills it."""


class Animal(ABC):
    """A body with its nervous system, many at once; ``envs/worm/animal.py`` is an example.

    Rows are records of ``state``, one for each animal, which hold all that the future depends on; an object
    of this class holds constants and scratch space only. So it is copied and pickled by making it anew.
    """

    dt: float
    """Time step, s."""
    state: np.dtype[Any]
    """Record of one animal, with at least ``time`` (s) and ``status`` (0 while all is well)."""
    drive_size: int
    """Numbers that drive one animal."""
    parameters: Mapping[str, Option]
    """Physical parameters: a number per row, or where they have a shape several, under the same name in ``state``."""
    varied: Sequence[str] = ()
    """Those of the body that differ most between animals: size, mass, stiffness, strength, delay."""
    failures: Mapping[float, str]
    """Why an animal broke down, by ``status``."""
    SIGNALS: Mapping[str, Signal] = {}
    """What can be read of rows; ``{signals}`` in the docstring of the class becomes a table of it."""
    solvers: Mapping[str, tuple[str, ...]]
    """What each attribute that tells how it is solved may be, the attribute being an argument of that name, too."""
    cells: tuple[str, ...] = ()
    """Names of the populations of the signal ``neurons`` (sides, populations, segments), if it has any."""

    _init_arguments: tuple[tuple[Any, ...], dict[str, Any]]
    _stepper: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__doc__:  # python -OO leaves none
            cls.__doc__ = inspect.cleandoc(cls.__doc__).replace("{signals}", signal_table(cls.SIGNALS))

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:  # noqa: D102
        self = super().__new__(cls)
        self._init_arguments = args, kwargs
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        args, kwargs = self._init_arguments
        return _make, (type(self), args, kwargs, self.threads)

    @property
    def drive_names(self) -> tuple[str, ...]:
        """Names of the numbers that drive one animal, by which the columns of a table are found."""
        return tuple(labels("drive", (self.drive_size,)))

    @cached_property
    def signals(self) -> dict[str, Callable[[NDArray[Any]], NDArray[np.float64]]]:
        """Functions of rows (B,) that give `SIGNALS`, (B, ...) in SI; views of the rows where they hold it."""
        return {name: signal.of(name, self) for name, signal in self.SIGNALS.items()}

    @property
    def threads(self) -> int:
        """Threads that advance many rows; results do not depend on it."""
        return self._stepper.threads

    @threads.setter
    def threads(self, threads: int) -> None:
        whole("threads", threads, maximum=MAX_THREADS)
        if threads != self._stepper.threads:
            self._stepper.threads = threads

    @abstractmethod
    def rows(self, count: int) -> NDArray[Any]:
        """Make rows of state."""

    @abstractmethod
    def start_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of what `reset` takes of each row beside the ``parameters``."""

    @abstractmethod
    def start(self, fresh: NDArray[Any], values: Mapping[str, NDArray[np.float64]]) -> None:
        """Set ``fresh`` rows (A,), which `rows` has made, to the initial values that were given, each (A, ...)."""

    def reset(self, rows: NDArray[Any], ids: NDArray[np.int64], start: Mapping[str, ArrayLike] | None = None) -> None:
        """Start ``rows[ids]`` anew; other rows are not touched.

        Args:
            rows ((B,) records): Changed in place.
            ids ((A,) int)
            start: Initial values that the class's documentation names, and any of ``parameters``, which otherwise
                return to the values in ``params``; each for all rows or with a leading axis of A.

        Raises:
            ValueError: For an unknown name, a wrong shape, or a value that is not possible.
        """
        values = read_start(start, self.start_shapes(), len(ids), self.parameters)
        fresh = self.rows(len(ids))
        self.start(fresh, values)
        rows[ids] = fresh

    @abstractmethod
    def advance(self, rows: NDArray[Any], ids: NDArray[np.int64], drive: NDArray[np.float64], steps: int) -> None:
        """Advance ``rows[ids]`` by ``steps`` time steps with the drive (A, drive_size) held.

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
        """Advance rows, all of them well, with each of several drives held in turn, as `advance` does with one.

        Args:
            rows ((B,) records): Changed in place.
            ids ((A,) int)
            drives ((T, A, drive_size) float)
            steps: Time steps for which each is held.
            records ((B, N) records of ``state``): Moment k of a row is written when it has followed k ``stride``
                drives, unless it has failed.
            offset: Drives that the rows had followed before; negative where moment 0 is yet to come.
            stride: Drives between moments.
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
        """Signal ``name`` of all rows, (B, ...) in SI, as a copy.

        Raises:
            ValueError: If the animal has no such signal.
        """
        if name not in self.signals:
            raise ValueError(f"signal {name!r} is not known; known are {', '.join(self.signals)}")
        return np.array(self.signals[name](rows))


class InLanes(Animal):
    """An animal whose rows a `Stepper` moves, which knows what fields are driven."""

    @property
    def drive_names(self) -> tuple[str, ...]:  # noqa: D102
        named = (label for name in self._stepper.driven for label in labels(name, self.state[name].shape))
        return tuple(named)[: self.drive_size]

    @abstractmethod
    def _arguments(self) -> tuple[Any, ...]:
        """What the compiled step takes after the records and the number of steps."""

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
        failed = np.flatnonzero(rows["status"][ids])  # places in ``ids``
        while failed.size:  # they are as they were at the last moment, from where `advance` may know a way
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
    """Class of the animal of that name in `ANIMALS`."""
    module, _, kind = ANIMALS[name].partition(":")
    return getattr(import_module(module), kind)


def time_step(dt: float | None, default: float) -> float:
    """Check a time step (s), which lies within 1e-6 and 100 times the ``default`` of its scheme."""
    return default if dt is None else float(within("dt", number("dt", dt), 1e-6 * default, 100 * default, "s"))


class Signals(Mapping[str, NDArray[np.float64]]):
    """Signals of an animal's rows, computed when asked for: copies, which a controller may keep."""

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
    """Check the initial values that `Animal.reset` is given, and spread them over rows.

    Args:
        start: Name to value, for all rows or with a leading axis of ``count``.
        shapes: Name to shape of one row's value.
        count: Rows.
        parameters: Physical parameters, spread as `Option.spread` does.

    Returns:
        dict: Name to array (count, ...).

    Raises:
        ValueError: For an unknown name, a wrong shape, or a value that is no number or out of range.
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
