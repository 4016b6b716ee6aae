"""The model without reinforcement learning: drive an animal, get a trajectory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import choice, whole, within
from .animal import MAX_STEPS, Animal, Signals
from .control import Controller, OpenLoop, Schedule, TaskController, check_reads
from .events import Event, EventQueue, read_events
from .trajectory import Moments, Trajectory

Drive = ArrayLike | Callable[[float], ArrayLike] | Controller
Start = Mapping[str, ArrayLike] | None

MOST_RECORDINGS = 10**9
"""Largest number of moments that are recorded."""

AT_ONCE = 50_000
"""Time steps of all animals together, in which nothing can interrupt or tell the progress."""

AHEAD = 1 << 16
"""Numbers of an animal's drive that are asked for ahead: they are still near when they are wanted."""

LARGEST = 1 << 23
"""Numbers that records may take of which only signals are kept: 64 MB."""

NEAR, FEW = 1 << 20, 16
"""Such records take 8 MB where this many of an animal fit: memory that is used again costs less than new."""


@overload
def simulate(
    animal: Animal,
    drive: Drive | Sequence[Drive],
    duration: float,
    every: float | None = None,
    start: Start | Sequence[Start] = None,
    hold: float | None = None,
    events: Sequence[Event | Mapping[str, Any]] = (),
    count: None = None,
    signals: Sequence[str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Trajectory: ...


@overload
def simulate(
    animal: Animal,
    drive: Drive | Sequence[Drive],
    duration: float,
    every: float | None = None,
    start: Start | Sequence[Start] = None,
    hold: float | None = None,
    events: Sequence[Event | Mapping[str, Any]] = (),
    *,
    count: int,
    signals: Sequence[str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Trajectory]: ...


def simulate(
    animal: Animal,
    drive: Drive | Sequence[Drive],
    duration: float,
    every: float | None = None,
    start: Start | Sequence[Start] = None,
    hold: float | None = None,
    events: Sequence[Event | Mapping[str, Any]] = (),
    count: int | None = None,
    signals: Sequence[str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Trajectory | list[Trajectory]:
    """Simulate one animal, or many side by side.

    What is held, is a function of time or an `OpenLoop` such as `Schedule` runs compiled between recordings; one that
    listens is asked in every ``hold``. Many animals share vector instructions and the ``threads`` of the animal; each
    moves to the bit as if it were alone.

    Args:
        animal: Such as ``Worm(WormParams.in_medium(sigma=1.0))``.
        drive (array (nu,), function of time (s), or Controller): In SI; an array is held. A function or controller is
            asked for the middle of each ``hold``. What plays a task (`TaskController`) needs an environment:
            `gymnosoma.agents.ControllerAgent`. One that raises StopIteration ends the simulation. Of many animals an
            array or function may also give (count, nu), and a sequence has a function or controller for each.
        duration (s): A multiple of ``hold``; the last recording is the last within it, and the simulation ends there.
        every (s): Interval between recordings, at least ``hold``, which is the default. If it is no multiple of
            ``hold``, as 1/30 s of a camera is not, each recording is made at the end of the ``hold`` that comes
            nearest: ``time`` of what is returned has the true times, and its ``every`` this interval.
        start: Initial values, which the animal's documentation names, and parameters; straight and at rest otherwise.
            Of many animals for all, or with a leading axis of ``count``; a sequence has a mapping for each.
        hold (s): Time for which a drive is held; one time step by default, a million at most.
        events (sequence of Event or mapping): Parameters that change; each takes effect when the first ``hold`` begins
            at or after its time.
        count: Animals side by side; one by default.
        signals (sequence of str): All that is kept, where the states of many animals, of which all signals and films
            are made, would fill the memory.
        progress: Told now and then what time (s) has been reached; if it raises StopIteration, this ends the
            simulation.

    Returns:
        Trajectory, or with ``count`` a list of them: From time 0; it ends early, with ``failure`` set and a
            UserWarning, where the simulation breaks down.

    Raises:
        ValueError: If a time is not positive or not a multiple of the one it divides into, ``every`` is shorter than
            ``hold`` or longer than ``duration``, the drive has a wrong shape or is not finite, a controller plays a
            task or reads what the animal does not sense, an event is none, sets what is no parameter, or comes after
            the end, or a signal is not known.

    Examples:
        Eight worms, from water to agar, each with its medium's wave:

        >>> import numpy as np
        >>> from gymnosoma.envs import simulate
        >>> from gymnosoma.envs.worm import SineKymogram, Worm, medium
        >>> sigma = np.linspace(0.0, 1.0, 8)
        >>> waves = [SineKymogram.for_medium(each) for each in sigma]
        >>> runs = simulate(Worm(threads=2), waves, 5.0, every=0.05, start=medium(sigma), count=8)
        >>> speed = [np.linalg.norm(run["centre"][-1] - run["centre"][0]) / 5.0 for run in runs]
    """
    size = 1 if count is None else count
    whole("count", size)
    hold = animal.dt if hold is None else hold
    every = hold if every is None else every
    steps = _multiple("hold", hold, "the time step", animal.dt)
    if steps > MAX_STEPS:
        raise ValueError(f"hold must be at most {MAX_STEPS} time steps ({animal.dt:g} s), got {hold!r}")
    at, even = _recordings(every, hold, duration)
    last = len(at) - 1
    end = duration if duration - hold * at[last] < 0.5 * hold else float(hold * at[last])
    rows, ids, queue = animal.rows(size), np.arange(size), EventQueue(size)
    source = _Source(animal, drive, rows, hold, count)
    coming = read_events("events", events, animal.parameters, size)
    for event in coming:
        within("events: time", event.time, 0.0, end, "s")
    if isinstance(start, Mapping) or start is None:
        animal.reset(rows, ids, start)
    else:
        if len(start) != size:
            raise ValueError(f"start must have a mapping for each of {size}, got {len(start)}")
        for k, each in enumerate(start):
            animal.reset(rows, ids[k : k + 1], each)
    for name in signals or ():
        choice("signals", name, animal.signals)
    for i in range(size if coming else 0):
        queue.set(i, [event.of(i) for event in coming])
    # Before which holds something may happen: rows count their time themselves, and round otherwise.
    due = [int(np.ceil((event.time - 0.5 * animal.dt) / hold)) + near for event in coming for near in (-1, 0, 1)]
    try:
        record = _Record(animal, rows, last, signals)
    except (MemoryError, ValueError):
        raise ValueError(
            f"duration must be less, or every more, for {last + 1} records of {size} animals to fit into memory, "
            f"got {duration!r} and {every!r}; of `signals` alone more fit"
        ) from None
    k, since, recorded, stride = 0, 0, 0, int(at[1])
    now, ended = 0, False
    ahead = min(AT_ONCE // (steps * size), AHEAD // max(animal.drive_size, 1)) + 1
    most = 1 if source.listens else ahead
    while now < at[last] and len(ids) and not ended:
        try:
            if progress is not None:
                progress(now * hold)
        except StopIteration:
            break
        queue.apply_due(rows, ids, animal.dt)
        if now >= recorded:
            k = now // stride + 1 if even else k + 1  # the next recording
            since, recorded = int(at[k - 1]), int(at[k])
            stride = recorded - since
        until = min([int(at[record.full]) if even else recorded, now + most, *(n for n in due if n > now)])
        until = min(until, recorded) if now > since or until < recorded else until - until % stride
        drives, ended = source.ask(now, until - now)
        own = drives if len(ids) == size else drives[:, ids]
        animal.run(rows, ids, own, steps, record.moments, (k - 1 - record.first) * stride + now - since, stride)
        now += len(drives)
        if now == at[record.full]:
            record.empty(rows)
        ids = ids[rows["status"][ids] == 0.0]
    time_of = every * np.arange(len(at), dtype=float) if even else hold * at.astype(float)
    runs = record.trajectories(time_of, every, rows)
    if failed := [run for run in runs if run.failure]:
        first = min(failed, key=lambda run: float(run.time[-1]))
        many = "" if count is None else f" for {len(failed)} of {count} animals, the first"
        said = f"simulation ended early{many} after {first.time[-1]:g} of {end:g} s: {first.failure}"
        warnings.warn(said, UserWarning, stacklevel=2)
    return runs if count is not None else runs[0]


def ensemble(
    animal: Animal,
    drive: ArrayLike | Callable[[float], ArrayLike] | OpenLoop,
    count: int,
    duration: float,
    every: float | None = None,
    hold: float | None = None,
    start: Mapping[str, ArrayLike] | None = None,
    signals: Sequence[str] = (),
) -> dict[str, NDArray[np.float64]]:
    """Simulate animals side by side, as `simulate` does, and put each signal of all of them into one array.

    Args:
        drive (array, function of time (s) or OpenLoop): (nu,) or (count, nu), as of `simulate`.
        duration (s)
        every, hold, start, signals: As of `simulate`.

    Returns:
        dict: Name to array (N, count, ...), also of ``time`` (N, count) s; NaN from where an animal failed.
    """
    runs = simulate(animal, drive, duration, every, start, hold, count=count, signals=signals)
    hold = animal.dt if hold is None else hold
    moments = len(_recordings(hold if every is None else every, hold, duration)[0])
    record = {}
    for name in ("time", *signals):
        record[name] = np.full((moments, count, *runs[0][name].shape[1:]), np.nan)
        for b, run in enumerate(runs):
            record[name][: len(run.time), b] = run[name]
    return record


class _Source:
    """Drives of many animals, asked for ahead where they do not listen."""

    def __init__(self, animal: Animal, drive: Any, rows: NDArray[Any], hold: float, count: int | None) -> None:
        several = isinstance(drive, list | tuple) and any(callable(getattr(each, "drive", each)) for each in drive)
        if several and len(drive) != count:
            raise ValueError(f"drive must have a function or controller for each of {count or 1}, got {len(drive)}")
        self.listens = False
        self._hold, shape = hold, (len(rows), animal.drive_size)
        self._shapes = (shape[1:], shape)[: 1 if count is None else 2]  # of drives, as an error names them
        self._parts = [
            self._part(animal, each, rows[k : k + 1] if several else rows)
            for k, each in enumerate(drive if several else [drive])
        ]

    def _part(
        self, animal: Animal, drive: Any, rows: NDArray[Any]
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Return the function from times (T,) to drives (T, B, nu) of some rows, fewer where they end."""
        shape = len(rows), animal.drive_size
        if isinstance(drive, Schedule):
            drive = drive.ordered(animal.drive_names)
        if isinstance(drive, OpenLoop):

            def at(times: NDArray[np.float64]) -> NDArray[np.float64]:
                values = np.asarray(drive.at(times), float)
                self._check(values.shape[1:], shape)
                if values.ndim == 2:
                    values = values[:, None]
                return values if values.shape[1:] == shape else np.broadcast_to(values, (len(values), *shape))

            return at
        if not (callable(drive) or hasattr(drive, "reads")):
            constant = np.asarray(drive, float)
            self._check(constant.shape, shape)
            return lambda times: np.broadcast_to(constant, (len(times), *shape))
        if isinstance(drive, Controller):
            check_reads(drive, animal.signals, f"{type(animal).__name__} senses")
            self.listens |= bool(drive.reads)
            senses: Mapping[str, Any] = Signals(animal, rows) if drive.reads else {}

            def one(t: float) -> Any:
                return drive.drive(np.full(len(rows), t), senses, np.full(len(rows), t < self._hold))

        elif isinstance(drive, TaskController):
            raise ValueError(
                f"drive must be an array, a function of time or a Controller; {type(drive).__name__} plays a task: it "
                "chooses values of actions, not a drive, and needs an environment"
            )
        else:
            one = drive

        def each(times: NDArray[np.float64]) -> NDArray[np.float64]:
            values = np.empty((len(times), *shape))
            for k, t in enumerate(times.tolist()):
                try:
                    value = np.asarray(one(t), float)
                except StopIteration:
                    return values[:k]
                self._check(value.shape, shape)
                values[k] = value
            return values

        return each

    def _check(self, drive_shape: tuple[int, ...], shape: tuple[int, int]) -> None:
        if drive_shape not in (shape[1:], shape):
            allowed = " or ".join(map(str, self._shapes))
            raise ValueError(f"drive must have shape {allowed}, got {drive_shape}")

    def ask(self, first: int, holds: int) -> tuple[NDArray[np.float64], bool]:
        """Return drives (T, B, nu) of ``holds`` from the ``first``, fewer before a wrong one, and whether they end."""
        times: NDArray[np.float64] = (np.arange(first, first + holds, dtype=float) + 0.5) * self._hold
        parts: list[NDArray[np.float64]] = [part(times) for part in self._parts]
        answered = min(map(len, parts))
        drives = parts[0] if len(parts) == 1 else np.concatenate([part[:answered] for part in parts], 1)
        if np.isfinite(drives if drives.strides[0] else drives[:1]).all():  # what is held is a view
            return drives, answered < holds
        wrong = int(np.argmin(np.isfinite(drives).all((1, 2))))
        if wrong == 0:
            raise ValueError(f"drive must be finite, got {drives[0]} at time {times[0]:g} s")
        return drives[:wrong], False


class _Record:
    """Records in time of many animals, or of some of their signals.

    Args:
        rows ((B,) records): At the start.
        last: Number of the last record in time; the start is 0.
        signals (sequence of str or None): All that is kept, if any are named.
    """

    def __init__(self, animal: Animal, rows: NDArray[Any], last: int, signals: Sequence[str] | None) -> None:
        self._animal, self._last, self._signals = animal, last, signals
        numbers = len(rows) * rows.dtype.itemsize // 8
        width = last + 1
        if signals is not None:
            width = min(width, max(NEAR // numbers, min(LARGEST // numbers, FEW), 2))
        self.moments = np.empty((len(rows), width), rows.dtype)
        self.moments["time"] = 0.0
        self.moments[:, 0] = rows
        self.first = 0
        """Number of the record that is the first of ``moments``."""
        self._counts = np.zeros(len(rows), int)
        self._values: dict[str, NDArray[np.float64]] = {}

    @property
    def full(self) -> int:
        """Number of the last record that ``moments`` have room for."""
        return min(self.first + self.moments.shape[1] - 1, self._last)

    def _here(self) -> NDArray[np.int64]:
        """How many of ``moments`` each animal has reached, whose time is then not 0."""
        return (self.moments["time"][:, 1:] > 0.0).sum(1) + ((self.first == 0) | (self.moments["time"][:, 0] > 0.0))

    def empty(self, rows: NDArray[Any]) -> None:
        """Make room, unless all records are kept."""
        if self._signals is None:
            return
        here = self._here()
        going = np.flatnonzero(here > 0)
        for b in going[here[going] < here.max()]:  # who has failed stays where it was
            self.moments[b, here[b] :] = self.moments[b, here[b] - 1]
        if going.size:
            moments = self.moments if len(going) == len(rows) else self.moments[going]
            chunk = Moments(self._animal, moments[:, : here.max()])
            for name in self._signals:
                values = chunk.signal(name)
                if name not in self._values:
                    self._values[name] = np.empty((len(rows), self._last + 1, *values.shape[2:]))
                self._values[name][going, self.first : self.first + values.shape[1]] = values
        self._counts += here
        self.first += self.moments.shape[1]
        self.moments["time"] = 0.0

    def trajectories(self, time: NDArray[np.float64], every: float, rows: NDArray[Any]) -> list[Trajectory]:
        """What was recorded of each animal at ``time``, whose last ``rows`` tell why it ended."""
        whole_rows = self._signals is None
        if whole_rows:
            self._counts = self._here()
        elif self.first <= self._last:
            self.empty(rows)
        return [
            Trajectory(
                time[:count].copy(),
                {name: values[b, :count] for name, values in self._values.items()},
                self._animal.failures.get(float(rows["status"][b])),
                self._animal,
                Moments(self._animal, self.moments[b : b + 1, :count]) if whole_rows else None,
                every,
            )
            for b, count in enumerate(self._counts.tolist())
        ]


def _recordings(every: float, hold: float, duration: float) -> tuple[NDArray[np.int64], bool]:
    """Numbers of holds after which is recorded, and whether they are ``every`` apart rather than what comes nearest."""
    holds = _multiple("duration", duration, "hold", hold)
    if not (1.0 - 1e-6) * hold <= every <= (holds + 1e-6) * hold:
        raise ValueError(f"every must be within [{hold:g}, {duration:g}] s, from hold to duration, got {every!r}")
    ratio = every / hold
    if holds / ratio > MOST_RECORDINGS:
        raise ValueError(
            f"duration must be less, or every more, for at most {MOST_RECORDINGS} recordings, got {duration!r} and "
            f"{every!r}"
        )
    if abs(ratio - round(ratio)) <= 1e-6:
        return round(ratio) * np.arange(holds // round(ratio) + 1), True
    near = ratio * np.arange(int(holds / ratio + 1e-6) + 1)
    return np.floor(near + 0.5 + 1e-6).astype(np.int64), False  # of two as near the later, whatever was rounded


def _multiple(name: str, value: float, of: str, unit: float) -> int:
    """Tell how often ``unit`` fits into ``value``, which must be a whole number of times."""
    count = round(value / unit) if np.isfinite(value) and value > 0 else 0
    if count < 1 or abs(count * unit - value) > 1e-6 * unit:
        raise ValueError(f"{name} must be a positive multiple of {of} ({unit:g} s), got {value!r}")
    return count
