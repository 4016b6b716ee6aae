"""What runs inside an environment: rows of one task with their memories and generators."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import choice, fingerprint, shown, whole, within
from ..draw.pixels import Pixels
from ..kernels.lanes import LARGEST as INFINITE
from ..kernels.stepper import LONGEST
from ..model.animal import LARGEST_START, MAX_STEPS
from ..model.events import Event, EventQueue, read_events
from ..model.quantities import Option
from .distributions import Drawn, drawn, read_distributions
from .row_kernels import clip_actions, close_step
from .senses import Senses
from .spec import LIMIT, SPLITS
from .task import Task, load_task, task_arguments

if TYPE_CHECKING:
    from ..draw.view import View

RENDER_MODES = ("rgb_array", "human")

IMPERFECT = ("sensor_noise", "sensor_dropout", "sensor_step", "observation_delay", "action_delay")
"""Arguments of all environments that make senses imperfect and hands late."""

SHARED = ("history", "randomize", "split", "signals", "observation", "pixels", "modes", *IMPERFECT)
"""Arguments of all environments that change what is observed, drawn or in the info."""

FASTEST = 50.0
"""Most frames a second, Hz; a task with a higher control rate is shown in slow motion."""

SMALLEST, LARGEST = 64, 4096
"""Width and height of a frame, pixels."""

Snapshot = dict[str, Any]
"""State of environments as plain arrays; can be pickled."""


@dataclass(frozen=True)
class Kept:
    """Options that hold for all episodes of a row, and events, until others are kept."""

    values: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    events: Sequence[Event] = ()

    def plain(self) -> dict[str, Any]:
        """As options of a reset."""
        return {**self.values, **({"events": [event.of(0).plain() for event in self.events]} if self.events else {})}


NOTHING = Kept()


def _made(task: str, arguments: Mapping[str, Any], split: str | None) -> Task:
    """Make the task of a name, with its arguments and the part of what it hides from which episodes are drawn."""
    kind = load_task(task)
    known = task_arguments(kind)
    for key in arguments:
        if key not in known:  # in Python's words, by which libraries tell that they may leave it out
            raise TypeError(
                f"{kind.__name__} got an unexpected keyword argument {key!r}; allowed are "
                f"{', '.join((*known, *SHARED))}"
            )
    made = kind(**arguments)
    if split is not None:
        choice("split", split, SPLITS)
        if split != "robust" and not made.hidden:
            raise ValueError(f"split must be 'robust' or None for {kind.__name__}, which hides nothing, got {split!r}")
        made.split = split
    return made


def _steps(task: Task) -> int:
    """Time steps of a control period."""
    dt = task.animal.dt
    steps = 1.0 / (task.control_rate * dt)
    count = round(steps)
    if count > MAX_STEPS:
        raise ValueError(
            f"control_rate and dt must give at most {MAX_STEPS} time steps a control period, got {steps:g} "
            f"(control_rate {task.control_rate:g} Hz, dt {dt:g} s)"
        )
    if count < 1 or abs(steps - count) > 1e-6 * count:
        raise ValueError(
            f"control_rate must divide 1/dt (control_rate {task.control_rate:g} Hz, dt {dt:g} s): a "
            f"control period must be a whole number of time steps, got {steps:g}"
        )
    return count


class Batch:
    """Rows of one task with their memories and generators; both environments are thin shells around it.

    Args:
        task: Module and class, as in ``"gymnosoma.envs.worm.tasks:Crawl"``.
        count: Number of rows.
        history: Observations stacked into one, oldest first.
        randomize: Name of a parameter or option to (low, high), to a `distributions.Distribution`, or to a function of
            a generator; drawn for every episode.
        split ({None, "train", "within", "test", "robust"}): Part of what is drawn for an episode; all by default, see
            `spec.Hidden` and `spec.BODY`.
        threads: Threads that advance the rows.
        render_mode ({None, "rgb_array", "human"})
        width, height: Of a frame, in pixels: 64 to 4096.
        signals (sequence of str): Signals of the animal that are added to the info.
        observation ({"fields", "modes", "pixels"}): What is observed.
        pixels: Width and height of the pictures that are observed.
        modes: Cosines by which fields along the body are observed with ``"modes"``.
        sensor_noise, sensor_dropout, sensor_step, observation_delay, action_delay: As of `senses.Senses`.
        **arguments: Of the task.
    """

    def __init__(
        self,
        task: str,
        count: int,
        /,
        *,
        history: int = 1,
        randomize: Mapping[str, Any] | None = None,
        split: str | None = None,
        threads: int = 1,
        render_mode: str | None = None,
        width: int = 960,
        height: int = 540,
        signals: Sequence[str] = (),
        observation: str = "fields",
        pixels: int = 84,
        modes: int = 6,
        sensor_noise: Mapping[str, float] | None = None,
        sensor_dropout: Mapping[str, float] | None = None,
        sensor_step: Mapping[str, float] | None = None,
        observation_delay: int = 0,
        action_delay: int = 0,
        **arguments: Any,
    ) -> None:
        if render_mode is not None:
            choice("render_mode", render_mode, RENDER_MODES)
        for name, value in (("width", width), ("height", height)):
            whole(name, value, SMALLEST, LARGEST)
        self.task = _made(task, arguments, split)
        animal = self.task.animal
        animal.threads = threads
        if isinstance(signals, str) or not isinstance(signals, Sequence):
            raise ValueError(f"signals must be a list of names, got {shown(signals)}")
        for name in signals:
            choice("signals", name, animal.signals)
        self.signals = tuple(signals)
        self.steps = _steps(self.task)
        whole("history", history, maximum=1000)
        whole("num_envs", count)
        self.randomize: list[Drawn] = [self._distributions(randomize)] * count
        """What is drawn for the episodes of each row."""
        self.kept = [NOTHING] * count
        """Options that stay, of each row."""
        self.rows = animal.rows(count)
        self.memory = np.zeros(count, self.task.memory)
        self.rngs: list[np.random.Generator] = []
        choice("observation", observation, ("fields", "modes", "pixels"))
        if observation == "modes":
            whole("modes", modes)
            self.task.observed_modes = modes
        self.pixels = Pixels(self.task, pixels) if observation == "pixels" else None
        if self.pixels is None:
            self.frames: NDArray[Any] = np.zeros((count, history, self.task.layout.size), np.float32)
        else:
            self.frames = np.zeros((count, history, pixels, pixels, 3), np.uint8)
        self.senses: Senses | None = None
        imperfections = sensor_noise, sensor_dropout, sensor_step, observation_delay, action_delay
        if imperfections != (None, None, None, 0, 0):
            self.senses = Senses(self.task, count, self.frames.shape[2:], self.frames.dtype.type, *imperfections)
        self.ids = np.arange(count)
        self.queue = EventQueue(count)
        self.fps = min(self.task.control_rate, FASTEST)
        self.view: View | None = None
        if render_mode is not None:
            from ..draw.view import View  # pygame stays out of processes that draw nothing

            self.view = View(self.task, count, width, height, self.fps, render_mode == "human")

    def _distributions(self, randomize: Any) -> Drawn:
        """Check what is drawn for every episode."""
        return read_distributions(randomize, self._option, lambda name: name in self.task.animal.parameters)

    def set_randomize(self, randomize: Any, rows: Any = None) -> None:
        """Draw otherwise from the next episodes on, in all rows or in some."""
        checked = self._distributions(randomize)
        ids = self.ids
        if rows is not None:
            mask = np.asarray(rows)
            if mask.dtype != np.bool_ or mask.shape != ids.shape:
                raise ValueError(f"rows must be a bool array of shape {ids.shape}, got {shown(rows)}")
            ids = np.flatnonzero(mask)
        for i in ids:
            self.randomize[i] = checked

    def _option(self, label: str, name: str) -> Option:
        """Option of this name, which must be known."""
        if name not in self.known:
            if name in self.task.unavailable:
                raise ValueError(f"{label} needs {self.task.unavailable[name]}")
            raise ValueError(f"{label} is not known; allowed are {', '.join(self.known)}")
        return self.known[name]

    def _value(self, label: str, name: str, value: Any, count: int) -> NDArray[np.float64]:
        """Check an option and spread it over ``count`` rows."""
        return self._option(label, name).spread(label, value, count)

    @cached_property
    def known(self) -> dict[str, Option]:
        """Options of a reset, the animal's parameters first; a task may allow less of them than its animal."""
        return {**self.task.animal.parameters, **self.task.options}

    def options(
        self, given: Mapping[str, Any] | None, count: int
    ) -> tuple[dict[str, NDArray[np.float64]], list[Event], bool]:
        """Check the options of a reset of ``count`` rows, its events, and whether they are to be kept."""
        if not isinstance(given, Mapping | None):
            raise ValueError(f"options must map names to values, got {shown(given)}")
        values = dict(given or {})
        keep = values.pop("keep", False)
        if not isinstance(keep, bool | np.bool_):
            raise ValueError(f"options: keep must be True or False, got {shown(keep)}")
        return *self._values("options", values, count), bool(keep)

    def _values(
        self, label: str, given: Mapping[str, Any], count: int
    ) -> tuple[dict[str, NDArray[np.float64]], list[Event]]:
        """Check options and events of ``count`` rows."""
        values = dict(given)
        events = self._events(f"{label}: events", values.pop("events", ()), count)
        return {name: self._value(f"{label}: {name}", name, value, count) for name, value in values.items()}, events

    def _events(self, label: str, given: Any, count: int) -> list[Event]:
        """Check events of ``count`` rows."""
        return read_events(label, given, {name: self.known[name] for name in self.task.animal.parameters}, count)

    def set_parameters(self, values: Mapping[str, ArrayLike]) -> None:
        """Set physical parameters of the animals in the middle of their episodes, one value or one per row."""
        for name in values:
            if name not in self.task.animal.parameters:
                known = ", ".join(self.task.animal.parameters)
                raise ValueError(f"parameters: {name} is not known; allowed are {known}")
        checked = {
            name: self._value(f"parameters: {name}", name, value, len(self.rows)) for name, value in values.items()
        }
        for name, value in checked.items():
            self.rows[name] = value

    def begin(
        self,
        rngs: list[np.random.Generator],
        ids: NDArray[np.int64],
        given: Mapping[str, NDArray[np.float64]],
        events: Sequence[Event],
        keep: bool = False,
    ) -> None:
        """Start episodes in ``ids`` as `reset` does, with generators of all rows; what is refused changes nothing."""
        before, states = self.rngs, [rng.bit_generator.state for rng in rngs]
        self.rngs = rngs
        try:
            self.reset(ids, given, events, keep)
        except Exception:
            self.rngs = before
            for rng, state in zip(rngs, states, strict=True):
                rng.bit_generator.state = state
            raise

    def reset(
        self,
        ids: NDArray[np.int64],
        given: Mapping[str, NDArray[np.float64]],
        events: Sequence[Event] = (),
        keep: bool = False,
    ) -> None:
        """Start new episodes in ``ids``; ``given`` options win over kept ones, and these over drawn ones.

        With ``keep`` what is given replaces what is kept.
        """
        kept = [NOTHING if keep else self.kept[i] for i in ids]
        parts = self._alike(ids, kept)
        starts = []
        for part in parts:
            rngs = [self.rngs[i] for i in ids[part]]
            options = drawn(self.randomize[ids[part[0]]], rngs, self._option)
            options |= {name: np.array([kept[j].values[name] for j in part]) for name in kept[part[0]].values}
            starts.append((ids[part], rngs, options | {name: value[part] for name, value in given.items()}))
        before = (self.rows[ids], self.memory[ids]) if len(parts) > 1 else None
        try:
            for some, rngs, options in starts:
                self.task.reset(self.rows, self.memory, some, rngs, options)
        except Exception:
            if before is not None:
                self.rows[ids], self.memory[ids] = before
            raise
        if keep:
            for j, i in enumerate(ids):
                values = {name: value[j].copy() for name, value in given.items()}
                own = [
                    Event(event.time, {n: np.asarray(v)[j : j + 1] for n, v in event.values.items()})
                    for event in events
                ]
                self.kept[i] = Kept(values, own)
        self.queue.set(ids, events)
        if not events:
            for j in [j for j, each in enumerate(kept) if each.events]:
                self.queue.set(ids[j : j + 1], kept[j].events)
        start = self._present(self.rows[ids], self.memory[ids])
        if self.senses is not None:
            start = self.senses.begin(ids, [self.rngs[i] for i in ids], start)
        self.frames[ids] = start[:, None]
        if self.view is not None:
            self.view.clear(ids)
            self.view.record(self.rows, self.memory, ids)

    def _alike(self, ids: NDArray[np.int64], kept: Sequence[Kept]) -> list[NDArray[np.int64]]:
        """Places in ``ids`` of rows for which options of the same names are drawn and kept, in parts."""
        parts: dict[Any, list[int]] = {}
        for j, i in enumerate(ids):
            parts.setdefault((id(self.randomize[i]), *sorted(kept[j].values)), []).append(j)
        return [np.array(part) for part in parts.values()]

    def check_actions(self, actions: ArrayLike, alone: bool = False) -> NDArray[np.float64]:
        """Actions (B, n), or (n,) of an animal alone, as finite float64 (B, n) within [-1, 1]."""
        shape = (len(self.rows), self.task.action_size)
        try:
            array = np.asarray(actions)
            if array.dtype != np.float32:
                array = array.astype(np.float64, casting="same_kind")
        except (ValueError, TypeError):
            raise ValueError(f"action must be an array of real numbers, got {shown(actions)}") from None
        if array.shape != shape[alone:]:
            raise ValueError(f"action must have shape {shape[alone:]}, got {array.shape}")
        array = array.reshape(shape)
        clipped = np.empty(shape)
        if not clip_actions(array, clipped):
            raise ValueError(f"action must be finite, got {shown(array[~np.isfinite(array).all(1)][0])}")
        return clipped

    def step(self, actions: NDArray[np.float64], ids: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Advance ``ids`` by one control period; rewards and the tasks' endings of all rows."""
        task, rows, memory = self.task, self.rows, self.memory
        self.queue.apply_due(rows, ids, task.animal.dt)
        if self.senses is not None:
            actions = self.senses.act(actions, ids)
        drive = task.command(actions, rows, memory)
        task.animal.advance(rows, ids, drive if len(ids) == len(rows) else drive[ids], self.steps)
        rewards = task.reward(rows, memory)
        if self.view is not None:
            self.view.record(rows, memory, ids)
        return rewards, task.ending(rows, memory)

    def close_step(
        self, ending: NDArray[np.float64], elapsed: NDArray[np.float64], limit: float
    ) -> tuple[bool, NDArray[np.bool_], NDArray[np.bool_]]:
        """Tell which episodes are over: whether any, those terminated, those truncated; ``elapsed`` is counted up."""
        count = len(self.rows)
        terminated, truncated = np.empty(count, np.bool_), np.empty(count, np.bool_)
        status = np.ascontiguousarray(self.rows["status"])  # of several rows as of one: else it is compiled for both
        return close_step(status, ending, elapsed, limit, terminated, truncated), terminated, truncated

    def failure(self, i: int, ending: NDArray[np.float64]) -> str | None:
        """Reason for which the episode of row ``i`` failed, None if it did not: the animal's before the task's."""
        if self.rows["status"][i] != 0.0:
            return self.task.animal.failures[self.rows["status"][i]]
        if ending[i] == 0.0 or self.task.endings[ending[i]].success:
            return None
        return self.task.endings[ending[i]].reason

    def observe(self, ids: NDArray[np.int64]) -> NDArray[Any]:
        """Observe again in ``ids``, and give the stacked observations of all rows, as a copy."""
        frames = self.frames
        if len(ids):
            new = self._present(self.rows, self.memory)
            if self.senses is not None:
                new = self.senses.see(new, ids)
            if frames.shape[1] == 1 and len(ids) == len(frames):
                frames[:, 0] = new
                return new
            frames[ids, :-1] = frames[ids, 1:]
            frames[ids, -1] = new[ids]
        if self.pixels is None:
            return frames.reshape(len(frames), -1).copy()
        return np.concatenate(list(frames.swapaxes(0, 1)), -1)

    def _present(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[Any]:
        """What there is to be observed in rows."""
        return self.task.observe(rows, memory) if self.pixels is None else self.pixels.draw(rows, memory)

    def info(self) -> dict[str, NDArray[Any]]:
        """Physical quantities of all rows, and the signals asked for."""
        info = self.task.info(self.rows, self.memory)
        for name in self.signals:
            if name in info:
                raise ValueError(f"signals: {name!r} is in the info already, as the task means it")
            info[name] = self.task.animal.signal(self.rows, name)
        return info

    def save(self) -> Snapshot:
        """Copy everything that the future depends on."""
        return {
            "task": self._identity,
            "rows": self.rows.copy(),
            "memory": self.memory.copy(),
            "frames": self.frames.copy(),
            "generators": [copy.deepcopy(rng.bit_generator.state) for rng in self.rngs],
            "events": [[event.plain() for event in waiting] for waiting in self.queue.waiting],
            "randomize": list(self.randomize),
            "kept": [each.plain() for each in self.kept],
        } | ({} if self.senses is None else {"senses": self.senses.state.copy()})

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a snapshot of the same task with as many rows."""
        found = snapshot.get("task") if isinstance(snapshot, Mapping) else snapshot
        if not (isinstance(snapshot, Mapping) and isinstance(found, str) and found == self._identity):
            raise ValueError(f"snapshot must be one of {self._identity}, as save() gives it, got one of {shown(found)}")
        for name in ("rows", "memory", "frames"):
            own, other = getattr(self, name), snapshot.get(name)
            if not (isinstance(other, np.ndarray) and other.dtype == own.dtype and other.shape == own.shape):
                raise ValueError(
                    f"snapshot: {name} must be an array of shape {own.shape} of this task's records, as save() gives it"
                )
            for part in [...] if own.dtype.names is None else own.dtype.names:
                wrong = np.isnan(other[part]) if name == "memory" else ~np.isfinite(other[part])
                if wrong.any():
                    place = name if part is ... else f"{name}: {part}"
                    raise ValueError(f"snapshot: {place} must be finite, got {shown(other[part][wrong][0])}")
        rngs = self._generators(snapshot.get("generators"))
        self._check_state(snapshot["rows"], snapshot["memory"], snapshot["frames"], begun=len(rngs) > 0)
        events = snapshot.get("events")
        if not (isinstance(events, list | tuple) and len(events) == len(self.rows)):
            raise ValueError(f"snapshot: events must be a list for each of {len(self.rows)} rows, got {shown(events)}")
        waiting = [self._events(f"snapshot: events[{i}]", each, 1) for i, each in enumerate(events)]
        randomize, kept = self._read_draws(snapshot.get("randomize")), self._read_kept(snapshot.get("kept"))
        if self.senses is not None:
            self.senses.check(snapshot.get("senses"))
            self.senses.state[...] = snapshot["senses"]
        for name in ("rows", "memory", "frames"):
            getattr(self, name)[...] = snapshot[name]
        self.randomize, self.kept = randomize, kept
        self.rngs = rngs
        self.queue.replace(waiting)
        if self.view is not None:
            self.view.clear(self.ids)
            self.view.record(self.rows, self.memory, self.ids)

    def _read_draws(self, given: Any) -> list[Drawn]:
        """What a snapshot says is drawn in each row; the same object where it is the same."""
        if not (isinstance(given, list | tuple) and len(given) == len(self.rows)):
            raise ValueError(
                f"snapshot: randomize must be a mapping for each of {len(self.rows)} rows, got {shown(given)}"
            )
        read: dict[int, Drawn] = {}
        for each in given:
            try:
                if id(each) not in read:
                    read[id(each)] = self._distributions(each)
            except ValueError as error:
                raise ValueError(f"snapshot: {error}") from None
        return [read[id(each)] for each in given]

    def _read_kept(self, given: Any) -> list[Kept]:
        """Options that a snapshot says stay in each row."""
        if not (
            isinstance(given, list | tuple)
            and len(given) == len(self.rows)
            and all(isinstance(each, Mapping) for each in given)
        ):
            raise ValueError(f"snapshot: kept must be a mapping for each of {len(self.rows)} rows, got {shown(given)}")
        found = []
        for i, each in enumerate(given):
            values, events = self._values(f"snapshot: kept[{i}]", each, 1)
            found.append(Kept({name: value[0].copy() for name, value in values.items()}, events) if each else NOTHING)
        return found

    def _check_state(self, rows: NDArray[Any], memory: NDArray[Any], frames: NDArray[Any], *, begun: bool) -> None:
        """Raise ValueError for what no episode holds, though it has the right form."""
        task, animal = self.task, self.task.animal
        for name, option in animal.parameters.items():
            option.check(f"snapshot: rows: {name}", rows[name])
        for name in animal.state.names or ():
            largest = LARGEST_START if name in animal.start_shapes() else INFINITE
            within(f"snapshot: rows: {name}", rows[name], -largest, largest)
        known = np.isin(rows["status"], [0.0, *animal.failures])
        if not known.all():
            codes = ", ".join(f"{code:g}" for code in animal.failures)
            raise ValueError(f"snapshot: rows: status must be 0 or {codes}, got {shown(rows['status'][~known][0])}")
        for name in {"time", "step"} & {*(animal.state.names or ())}:
            within(f"snapshot: rows: {name}", rows[name], 0.0, LONGEST)
        if self.pixels is None:
            within("snapshot: frames", frames, -LIMIT, LIMIT)
        if not begun:
            return
        for name, (low, high) in task.remembered_within.items():
            within(f"snapshot: memory: {name}", memory[name], low, high)
        try:
            with np.errstate(all="ignore"):
                seen = task.observe(rows, memory)
        except (ArithmeticError, LookupError, ValueError) as error:
            raise ValueError(f"snapshot: rows and memory must be those of an episode: {error}") from None
        if not np.isfinite(seen).all():
            raise ValueError(f"snapshot: rows and memory must be those of an episode, got observations {shown(seen)}")

    def _generators(self, states: Any) -> list[np.random.Generator]:
        """Generators in the states of a snapshot; none before the first reset."""
        if not (isinstance(states, list | tuple) and len(states) in (0, len(self.rows))):
            raise ValueError(f"snapshot: generators must be the states of {len(self.rows)}, got {shown(states)}")
        rngs = [np.random.default_rng() for _ in states]
        for rng, state in zip(rngs, states, strict=True):
            try:
                rng.bit_generator.state = copy.deepcopy(state)
            except (ValueError, TypeError, KeyError, OverflowError, AttributeError):
                raise ValueError(
                    f"snapshot: generators must hold states of {type(rng.bit_generator).__name__}, got {shown(state)}"
                ) from None
        return rngs

    @cached_property
    def _identity(self) -> str:
        """Task, action mode, solvers, time step, control rate, parameters: what a snapshot must agree in."""
        task, animal = self.task, self.task.animal
        shared = [getattr(of, name) for of in (animal, task) for name in of.shared]
        solvers = [getattr(animal, name) for name in animal.solvers]
        if self.pixels is not None:
            shared = [*shared, "pixels"]
        if task.observed_modes:
            shared = [*shared, "modes"]
        if self.senses is not None:
            shared = [*shared, *(each or {} for each in self.senses.settings)]
        parts = [f"{type(task).__module__}:{type(task).__name__}", task.actions, *solvers]
        return ", ".join(
            [*parts, f"dt {animal.dt:g} s", f"{task.control_rate:g} Hz", f"parameters {fingerprint(shared)}"]
        )
