"""Simulation without reinforcement learning: drive an animal and record a trajectory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import choice, whole, within
from ..kinds import takes_objects
from .animal import MAX_STEPS, Animal, Signals
from .control import Controller, Event, EventQueue, OpenLoop, Schedule, TaskController, check_reads, read_events
from .trajectory import Moments, Trajectory

Drive = ArrayLike | Callable[[float], ArrayLike] | Controller
Start = Mapping[str, ArrayLike] | None

MOST_RECORDINGS = 10**9
"""Largest number of recordings."""

AT_ONCE = 50_000
"""Time steps, summed over animals, between two calls of ``progress``; a run cannot be interrupted within them."""

AHEAD = 1 << 16
"""Numbers of an animal's drive that are requested in advance: few enough to stay in the cache."""

MOST_NUMBERS, USUAL_NUMBERS, LEAST_MOMENTS = 1 << 23, 1 << 20, 16
"""Numbers in temporary records when only signals are kept: at most 64 MB, and 8 MB if `LEAST_MOMENTS` moments of every
animal fit, because reused memory is faster than new memory."""


@overload
def simulate(
    animal: Animal,
    drive: Drive | Sequence[Drive] | None,
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
    drive: Drive | Sequence[Drive] | None,
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


@takes_objects
def simulate(
    animal: Animal,
    drive: Drive | Sequence[Drive] | None,
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

    A constant drive, a function of time or an `OpenLoop` such as `Schedule` runs in compiled code between recordings. A
    controller that reads signals is called once per ``hold``. Many animals share vector instructions and the
    ``threads`` of the animal, and each gives the same result as alone, bit for bit.

    Args:
        animal: Such as ``Worm(WormParams.in_medium(sigma=1.0))``.
        drive (array (nu,), function of time (s), or Controller): Drive in SI. An array is constant. A function or
            controller is evaluated at the middle of each ``hold`` and may raise StopIteration to end the simulation.
            For many animals, an array or function may also give (count, nu), and a sequence has a function or
            controller for each. A `TaskController` needs an environment: `gymnosoma.agents.ControllerAgent`. None
            selects the animal's own controller at the paper's parameters, with its control period as ``hold``.
        duration (s): A multiple of ``hold``. The simulation ends at the last recording within it.
        every (s): Interval between recordings, at least ``hold`` (the default). If it is not a multiple of ``hold``,
            such as the 1/30 s of a camera, each recording is made at the end of the nearest ``hold``; the trajectory's
            ``time`` has the actual times, and its ``every`` this interval.
        start: Initial values, listed in the animal's documentation, and parameters; by default the animal is straight
            and at rest. For many animals, each value is for all or has a leading axis of ``count``; a sequence has a
            mapping for each animal.
        hold (s): Time of constant drive: one time step by default, at most a million time steps.
        events (sequence of Event or mapping): Changes of parameters. Each takes effect at the first start of a ``hold``
            at or after its time.
        count: Number of animals side by side; one by default.
        signals (sequence of str): Record only these signals, if the full states of many animals do not fit into memory;
            other signals and films are then not available.
        progress: Called now and then with the time (s) reached; raises StopIteration to end the simulation.

    Returns:
        Trajectory, or with ``count`` a list of them: Recorded from time 0. If the simulation breaks down, the
            trajectory ends early, ``failure`` is set and a UserWarning is issued.

    Raises:
        ValueError: If a time is not positive, ``duration`` is not a multiple of ``hold`` or ``hold`` not a multiple of
            the time step, ``every`` is shorter than ``hold`` or longer than ``duration``, the drive has the wrong shape
            or is not finite, a controller plays a task or reads a signal that the animal lacks, an event is invalid or
            after the end, or a signal is unknown.

    Examples:
        Eight worms, from water to agar, each with the wave of its medium:

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
    drive, hold = _held(animal, drive, hold)
    every = hold if every is None else every
    steps = _multiple("hold", hold, "the time step", animal.dt)
    if steps > MAX_STEPS:
        raise ValueError(f"hold must be at most {MAX_STEPS} time steps ({animal.dt:g} s), got {hold!r}")
    at, even = _recordings(every, hold, duration)
    last, final = len(at) - 1, int(at[-1])
    end = duration if duration - hold * final < 0.5 * hold else hold * final
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
    # Holds before which an event may be due, give or take one: rows add up their time and round differently.
    due = [int(np.ceil((event.time - 0.5 * animal.dt) / hold)) + near for event in coming for near in (-1, 0, 1)]
    try:
        record = _Record(animal, rows, last, signals)
    except (MemoryError, ValueError):
        raise ValueError(
            f"duration must be less, or every more, for {last + 1} records of {size} animals to fit into memory, "
            f"got {duration!r} and {every!r}; with `signals`, more fit"
        ) from None
    k, since, recorded, stride = 0, 0, 0, int(at[1])
    now, ended = 0, False
    most = 1 if source.listens else min(AT_ONCE // (steps * size), AHEAD // max(animal.drive_size, 1)) + 1
    while now < final and len(ids) and not ended:
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
        began = rows["time"].copy()
        animal.run(rows, ids, own, steps, record.moments, (k - 1 - record.first) * stride + now - since, stride)
        if np.count_nonzero(rows["status"]):
            held = np.rint((rows["time"] - began)[ids] / hold)
            record.counts[ids] = at.searchsorted(now + held, "right")
            ids = ids[rows["status"][ids] == 0.0]
        now += len(drives)
        if now == at[record.full]:
            record.empty()
    if now < final:
        record.counts[ids] = at.searchsorted(now, "right")
    time_of = every * np.arange(len(at), dtype=float) if even else hold * at.astype(float)
    runs = record.trajectories(time_of, every, rows)
    if failed := [run for run in runs if run.failure]:
        first = min(failed, key=lambda run: float(run.time[-1]))
        many = "" if count is None else f" for {len(failed)} of {count} animals, the first"
        text = f"simulation ended early{many} after {first.time[-1]:g} of {end:g} s: {first.failure}"
        warnings.warn(text, UserWarning, stacklevel=3)
    return runs if count is not None else runs[0]


def _held(animal: Animal, drive: Any, hold: float | None) -> tuple[Any, float]:
    """Return the drive and its hold (s); the default drive is the animal's own controller."""
    if drive is None:
        drive = animal.default_drive()
        hold = 1.0 / rate if hold is None and (rate := getattr(drive, "control_rate", None)) else hold
    return drive, animal.dt if hold is None else hold


class _Source:
    """Drives of many animals, requested in advance if no controller reads signals."""

    def __init__(self, animal: Animal, drive: Any, rows: NDArray[Any], hold: float, count: int | None) -> None:
        several = isinstance(drive, list | tuple) and any(callable(getattr(each, "drive", each)) for each in drive)
        if several and len(drive) != count:
            raise ValueError(f"drive must have a function or controller for each of {count or 1}, got {len(drive)}")
        self.listens = False
        self._hold, shape = hold, (len(rows), animal.drive_size)
        self._shapes = (shape[1:], shape)[: 1 if count is None else 2]  # allowed shapes of drives, for errors
        self._animal = animal
        self._parts = [
            self._part(animal, each, rows[k : k + 1] if several else rows)
            for k, each in enumerate(drive if several else [drive])
        ]

    def _part(
        self, animal: Animal, drive: Any, rows: NDArray[Any]
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Return a function from times (T,) to drives (T, B, nu) of some rows; it returns fewer if the drive ends."""
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
                "chooses actions, not a drive, and needs an environment"
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
            allowed, names = " or ".join(map(str, self._shapes)), self._animal.drive_names
            named = ", ".join(names if len(names) < 5 else (names[0], "...", names[-1]))
            raise ValueError(f"drive must have shape {allowed} ({named}), got {drive_shape}")

    def ask(self, first: int, holds: int) -> tuple[NDArray[np.float64], bool]:
        """Return drives (T, B, nu) from the ``first`` hold, fewer before an invalid one, and whether they end."""
        times: NDArray[np.float64] = (np.arange(first, first + holds, dtype=float) + 0.5) * self._hold
        parts: list[NDArray[np.float64]] = [part(times) for part in self._parts]
        answered = min(map(len, parts))
        drives = parts[0] if len(parts) == 1 else np.concatenate([part[:answered] for part in parts], 1)
        if np.isfinite(drives if drives.strides[0] else drives[:1]).all():  # a constant drive is a view
            return drives, answered < holds
        wrong = int(np.argmin(np.isfinite(drives).all((1, 2))))
        if wrong == 0:
            raise ValueError(f"drive must be finite, got {drives[0]} at time {times[0]:g} s")
        return drives[:wrong], False


class _Record:
    """Recordings of the states of many animals, or of some of their signals.

    Args:
        rows ((B,) records): Rows at the start.
        last: Index of the last recording; the start is 0.
        signals (sequence of str or None): Names of the signals to keep in place of states.
    """

    def __init__(self, animal: Animal, rows: NDArray[Any], last: int, signals: Sequence[str] | None) -> None:
        self._animal, self._last, self._signals = animal, last, signals
        numbers = len(rows) * rows.dtype.itemsize // 8
        width = last + 1
        if signals is not None:
            width = min(width, max(USUAL_NUMBERS // numbers, min(MOST_NUMBERS // numbers, LEAST_MOMENTS), 2))
        self.moments = np.empty((len(rows), width), rows.dtype)
        self.moments[:, 0] = rows
        self.first, self.full = 0, width - 1
        """Indices of the recordings at the start and the end of ``moments``."""
        self.counts = np.full(len(rows), last + 1)
        """Number of recordings of each animal, less than all if it fails or the simulation is stopped."""
        self._values: dict[str, NDArray[np.float64]] = {}

    def empty(self) -> None:
        """Compute the signals of ``moments`` and reuse their memory, unless all states are kept."""
        if self._signals is None:
            return
        here = np.clip(self.counts - self.first, 0, self.moments.shape[1])
        going = np.flatnonzero(here > 0)
        for b in going[here[going] < here.max()]:  # repeat the last state of failed animals
            self.moments[b, here[b] :] = self.moments[b, here[b] - 1]
        if going.size:
            moments = self.moments if len(going) == len(here) else self.moments[going]
            chunk = Moments(self._animal, moments[:, : here.max()])
            for name in self._signals:
                values = chunk.signal(name)
                if name not in self._values:
                    self._values[name] = np.empty((len(here), self._last + 1, *values.shape[2:]))
                self._values[name][going, self.first : self.first + values.shape[1]] = values
        self.first, self.full = self.full + 1, min(self.full + self.moments.shape[1], self._last)

    def trajectories(self, time: NDArray[np.float64], every: float, rows: NDArray[Any]) -> list[Trajectory]:
        """Return a trajectory per animal at the times ``time``; the final ``rows`` have the reason of a failure."""
        if self.first <= self._last:
            self.empty()
        return [
            Trajectory(
                time[:count].copy(),
                {name: values[b, :count] for name, values in self._values.items()},
                self._animal.failures.get(float(rows["status"][b])),
                self._animal,
                Moments(self._animal, self.moments[b : b + 1, :count]) if self._signals is None else None,
                every,
            )
            for b, count in enumerate(self.counts.tolist())
        ]


def _recordings(every: float, hold: float, duration: float) -> tuple[NDArray[np.int64], bool]:
    """Return the numbers of holds before each recording, and whether they are spaced exactly by ``every``."""
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
        return np.arange(0, holds + 1, round(ratio)), True
    near = ratio * np.arange(int(holds / ratio + 1e-6) + 1)
    return np.floor(near + 0.5 + 1e-6).astype(np.int64), False  # the later one of two equally near


def _multiple(name: str, value: float, of: str, unit: float) -> int:
    """Return ``value / unit``, which must be a positive integer."""
    count = round(value / unit) if 0 < value < np.inf else 0
    if count < 1 or abs(count * unit - value) > 1e-6 * unit:
        raise ValueError(f"{name} must be a positive multiple of {of} ({unit:g} s), got {value!r}")
    return count
