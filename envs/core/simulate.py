"""The model without reinforcement learning: drive an animal, get a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Animal(Protocol):
    """What the core asks of an animal; ``envs/worm/animal.py`` is an example."""

    dt: float
    state: np.dtype[Any]
    drive_size: int
    parameters: tuple[str, ...]
    failures: Mapping[float, str]
    signals: dict[str, Callable[[NDArray[Any]], NDArray[np.float64]]]

    @property
    def check_parameter(self) -> Callable[[str, ArrayLike], None]:
        """Raises ValueError unless a physical parameter, named first, can have a value."""

    def rows(self, count: int) -> NDArray[Any]:
        """Make rows of state."""

    def reset(self, rows: NDArray[Any], ids: NDArray[np.int64], start: Mapping[str, ArrayLike] | None = None) -> None:
        """Start rows anew."""

    def advance(self, rows: NDArray[Any], ids: NDArray[np.int64], drive: NDArray[np.float64], steps: int) -> None:
        """Advance rows with the drive held."""


def read_start(
    start: Mapping[str, ArrayLike] | None,
    shapes: Mapping[str, tuple[int, ...]],
    count: int,
    parameters: Sequence[str],
    check: Callable[[str, ArrayLike], None],
) -> dict[str, NDArray[np.float64]]:
    """Check the initial values that an animal's ``reset`` is given, and spread them over rows.

    Parameters
    ----------
    start : mapping, optional
        Name to value, for all rows or with a leading axis of ``count``.
    shapes : mapping
        Name to shape of one row's value.
    count : int
        Rows.
    parameters : sequence of str
        Names of physical parameters, each one number per row.
    check : callable
        Raises ValueError unless the value of a parameter, given with its name, is possible.

    Returns
    -------
    dict
        Name to array (count, ...).

    Raises
    ------
    ValueError
        For an unknown name, a wrong shape, or a value that is not finite or not possible.
    """
    known = {**shapes, **{name: () for name in parameters}}
    given = {}
    for name, value in (start or {}).items():
        if name not in known:
            raise ValueError(f"start: {name!r} is not known; allowed are {', '.join(known)}")
        if name in parameters:
            check(name, value)
        shape = (count, *known[name])
        array = np.asarray(value, float)
        try:
            given[name] = np.broadcast_to(array, shape)
        except ValueError:
            raise ValueError(f"start: {name} must have shape {shape[1:]} or {shape}, got {array.shape}") from None
        if not np.isfinite(array).all():
            raise ValueError(f"start: {name} must be finite, got {value!r}")
    return given


class Controller(Protocol):
    """An animal's own controller: drive in SI from time and what is sensed."""

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Drive (B, nu) at times ``t`` (B,); ``first`` (B,) marks rows that begin an episode."""


class Trajectory(Mapping[str, NDArray[np.float64]]):
    """Recorded signals, each with a leading axis of time, in SI.

    Parameters
    ----------
    time : (N,) array, s
    signals : dict
        Name to array (N, ...).
    failure : str, optional
        Why the simulation ended early.
    """

    def __init__(
        self, time: NDArray[np.float64], signals: dict[str, NDArray[np.float64]], failure: str | None = None
    ) -> None:
        self.time = time
        self.failure = failure
        self._signals = signals

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name not in self._signals:
            raise KeyError(f"{name!r} was not recorded; recorded are {', '.join(self._signals)}")
        return self._signals[name]

    def __iter__(self):
        return iter(self._signals)

    def __len__(self) -> int:
        return len(self._signals)

    def save(self, path: str | Path) -> None:
        """Write time and signals as a NumPy archive (``.npz``)."""
        arrays: dict[str, Any] = {"time": self.time, **self._signals}
        np.savez_compressed(path, **arrays)


class _Senses(Mapping[str, NDArray[np.float64]]):
    """Signals of an animal, computed when asked for."""

    def __init__(self, animal: Animal, rows: NDArray[Any]) -> None:
        self._animal, self._rows = animal, rows

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        return self._animal.signals[name](self._rows)

    def __iter__(self):
        return iter(self._animal.signals)

    def __len__(self) -> int:
        return len(self._animal.signals)


def simulate(
    animal: Animal,
    drive: ArrayLike | Callable[[float], ArrayLike] | Controller,
    duration: float,
    every: float | None = None,
    start: Mapping[str, ArrayLike] | None = None,
    hold: float | None = None,
) -> Trajectory:
    """Simulate one animal.

    Parameters
    ----------
    animal : Animal
        Such as ``Worm(WormParams.in_medium(sigma=1.0))``.
    drive : array (nu,), function of time (s), or Controller
        In SI; an array is held. A function or controller is asked for the middle of each ``hold``.
    duration : float, s
    every : float, s, optional
        Interval between recordings; the default is ``hold``.
    start : mapping, optional
        Named initial values, see the animal's ``reset``; straight and at rest otherwise.
    hold : float, s, optional
        Time for which a drive is held; one time step by default.

    Returns
    -------
    Trajectory
        From time 0; it ends early, with ``failure`` set, where the simulation breaks down.

    Raises
    ------
    ValueError
        If a time is not positive or not a multiple of the one it divides into, or the drive has a wrong
        shape or is not finite.
    """
    hold = animal.dt if hold is None else hold
    every = hold if every is None else every
    steps = _multiple("hold", hold, "the time step", animal.dt)
    stride = _multiple("every", every, "hold", hold)
    count = _multiple("duration", duration, "every", every)
    rows, ids = animal.rows(1), np.zeros(1, np.int64)
    animal.reset(rows, ids, start)
    senses = _Senses(animal, rows)

    def command(t: float) -> Any:
        if hasattr(drive, "drive"):
            return drive.drive(np.array([t]), senses, np.array([rows["time"][0] == 0.0]))
        return drive(t) if callable(drive) else drive

    shape = (1, animal.drive_size)
    record: dict[str, list[Any]] = {name: [np.copy(sense(rows)[0])] for name, sense in animal.signals.items()}
    failure = None
    for k in range(count * stride):
        value = np.asarray(command((k + 0.5) * hold), float)
        if value.shape not in (shape, shape[1:]):
            raise ValueError(f"drive must have shape {shape[1:]}, got {value.shape}")
        if not np.isfinite(value).all():
            raise ValueError(f"drive must be finite, got {value} at time {(k + 0.5) * hold:g} s")
        animal.advance(rows, ids, value.reshape(shape), steps)
        if rows["status"][0] != 0.0:
            failure = animal.failures[rows["status"][0]]
            break
        if (k + 1) % stride == 0:
            for name, sense in animal.signals.items():
                record[name].append(np.copy(sense(rows)[0]))
    signals = {name: np.array(values) for name, values in record.items()}
    recorded = len(next(iter(signals.values())))
    return Trajectory(every * np.arange(recorded, dtype=float), signals, failure)


def _multiple(name: str, value: float, of: str, unit: float) -> int:
    """Tell how often ``unit`` fits into ``value``, which must be a whole number of times."""
    count = round(value / unit) if np.isfinite(value) and value > 0 else 0
    if count < 1 or abs(count * unit - value) > 1e-6 * unit:
        raise ValueError(f"{name} must be a positive multiple of {of} ({unit:g} s), got {value!r}")
    return count
