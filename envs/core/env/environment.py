"""Environments: rows of one task, and Gymnasium's environment of one animal, which has one row."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box
from numpy.typing import ArrayLike, NDArray

from gymnosoma.moved import points

from ..arguments import DISPLAYS, choice, plain, shown, whole, within
from ..kernels.cache import compile_ahead
from ..kernels.jit import kernel
from ..model.animal import MAX_STEPS
from ..model.control import Event, EventQueue
from .hooks import FAULTS, LIMIT, Comparison, columns, interned, is_foreign, try_hooks
from .options import ResetOptions, Values
from .task import SPLITS, Layout, Task, load_task, task_arguments

if TYPE_CHECKING:
    from ..draw.view import View

RENDER_MODES = ("rgb_array", "human")

SHARED = ("history", "randomize", "split")
"""Arguments of all environments that change observations or random values."""

_INSTEAD = {
    "goal": "GoalObservation",
    "modes": "ModeObservation",
    "observation": "ModeObservation or PixelObservation",
    "pixels": "PixelObservation",
    **dict.fromkeys(("sensor_noise", "sensor_dropout", "sensor_step"), "DisturbObservation"),
    "observation_delay": "DelayObservation",
    "action_delay": "DelayAction",
}
"""Wrappers of `gymnosoma.envs.wrappers` by the argument that users may look for."""

FASTEST = 50.0
"""Highest frame rate, Hz; tasks with a higher control rate are shown in slow motion."""

WIDTH, HEIGHT = 960, 540
"""Default size of a frame, pixels."""

SMALLEST_FRAME, LARGEST_FRAME = 64, 4096
"""Smallest and largest width and height of a frame, pixels."""

LONGEST = 1e9
"""Largest time of an animal in a snapshot, s."""

LARGEST = 1e100
"""Largest number in a snapshot, whose square is finite."""

Snapshot = dict[str, Any]
"""State of environments as plain arrays; can be pickled."""


@kernel
def read_actions(actions, previous, authority, weight, taken):
    """Clip actions to [-1, 1], multiply them by the authority and filter them; return whether all of them are finite.

    Args:
        actions ((B, n) float): New actions.
        previous ((B, n) float64): Output of the last step.
        authority: Factor of the new actions.
        weight: Weight of the new actions in the filter; 1: no filter.
        taken ((B, n) float64): Output.

    Returns:
        bool
    """
    zero = 0.0
    for b in range(actions.shape[0]):
        for j in range(actions.shape[1]):
            a = np.float64(actions[b, j])
            zero += a * 0.0
            new = authority * min(max(a, -1.0), 1.0)
            taken[b, j] = new if weight == 1.0 else previous[b, j] + weight * (new - previous[b, j])
    return zero == 0.0


@kernel
def close_step(status, ending, elapsed, limit, terminated, truncated, needs_reset):
    """Find the episodes that a step ends: failed animals and endings of tasks terminate, the time limit truncates.

    Args:
        status ((B,) float): Status of the animals; 0: no failure.
        ending ((B,) float): Ending of the tasks; 0: the episode goes on.
        elapsed ((B,) float): Steps of the episodes; one is added.
        limit: Steps after which an episode is truncated.
        terminated, truncated, needs_reset ((B,) bool): Output; ``needs_reset``: either of them.
    """
    for b in range(len(status)):
        elapsed[b] += 1.0
        terminated[b] = (status[b] != 0.0) | (ending[b] != 0.0)
        truncated[b] = elapsed[b] >= limit
        needs_reset[b] = terminated[b] | truncated[b]


def _make_task(task: str, arguments: Mapping[str, Any], split: str | None) -> Task:
    """Make a task from its name, its arguments and the split of its hidden options."""
    kind = load_task(task)
    allowed = task_arguments(kind)
    for key in arguments:
        if key not in allowed:  # Python's wording: libraries look for it and drop the argument
            hint = f"allowed are {', '.join((*allowed, *SHARED))}"
            if key in _INSTEAD:
                hint = f"wrap the environment in {_INSTEAD[key]} of gymnosoma.envs.wrappers instead"
            if key == "signals":
                hint = "call env.unwrapped.signal(name) instead"
            raise TypeError(f"{kind.__name__} got an unexpected keyword argument {key!r}; {hint}")
    instance = kind(**arguments)
    params = getattr(instance.animal, "params", None)
    for name, requirement in instance.unavailable.items():
        if (value := getattr(params, name, None)) != getattr(type(params), name, None):
            raise ValueError(f"params: {name} needs {requirement}, got {shown(value)}")
    if split is not None:
        choice("split", split, SPLITS)
        if split not in ("paper", "robust") and not instance.hidden:
            raise ValueError(
                f"split must be 'paper', 'robust' or None for {kind.__name__} (no hidden options), got {split!r}"
            )
        instance.split = split
    return instance


def _check_effect(name: str, value: Any, usual: int, requirement: str, effective: bool) -> None:
    """Raise ValueError if an argument would have no effect."""
    if not effective and (not isinstance(value, int | np.integer) or value != usual):
        raise ValueError(f"{name} needs {requirement}, got {shown(value)} without it")


def _steps(task: Task) -> int:
    """Return the number of time steps in a control period."""
    dt = task.animal.dt
    steps = 1.0 / (task.control_rate * dt)
    count = round(steps)
    if not 1 <= count <= MAX_STEPS or abs(steps - count) > 1e-6 * count:
        raise ValueError(
            f"control_rate ({task.control_rate:g} Hz) and dt ({dt:g} s) must give a whole number of time steps per "
            f"control period, at most {MAX_STEPS}, got {steps:g}"
        )
    return count


class TaskBatch:
    """Rows of one task with their memories and random generators, the core of both environments.

    Arguments that are not listed here are as for `BodyEnv`.

    Args:
        task: Module and class, such as ``"gymnosoma.envs.worm.tasks:Crawl"``.
        count: Number of rows.
        split ({None, "paper", "train", "within", "test", "robust"}): See `Hidden` and `BODY`.
        threads: Number of threads that advance the rows.
        **arguments: Arguments of the task.
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
        width: int = WIDTH,
        height: int = HEIGHT,
        **arguments: Any,
    ) -> None:
        if render_mode is not None:
            choice("render_mode", render_mode, RENDER_MODES)
        for name, value, usual in (("width", width, WIDTH), ("height", height, HEIGHT)):
            whole(name, value, SMALLEST_FRAME, LARGEST_FRAME)
            _check_effect(name, value, usual, "render_mode", render_mode is not None)
        self.task = _make_task(task, arguments, split)
        animal = self.task.animal
        animal.threads = threads
        choice("score: name", self.task.score.name, ("return", *self.task.info_fields))
        self.steps = _steps(self.task)
        if self.task.smoothing and "action" not in (self.task.memory.names or ()):
            raise ValueError(
                f"smoothing must be 0 for {type(self.task).__name__}, whose memory has no field 'action', "
                f"got {self.task.smoothing!r}"
            )
        whole("history", history, maximum=1000)
        whole("num_envs", count)
        self.options = ResetOptions(self.task, count, randomize)
        if self.task.circuit is not None:
            compile_ahead(self.task.circuit, count)
            animal.compile(count)  # at the same time
        self.rows = animal.rows(count)
        self.rows = self.rows.view(interned(self.rows.dtype))
        self.memory = np.zeros(count, interned(self.task.memory))
        self.rngs: list[np.random.Generator] = []
        self.frames: NDArray[np.float32] = np.zeros((count, history, self.task.layout.size), np.float32)
        self.ended: tuple[NDArray[Any], NDArray[Any]] = self.rows[:0], self.memory[:0]
        """Copies of the last rows and memories of the episodes that ended in a step with autoreset mode SAME_STEP."""
        self._observations: NDArray[Any] | None = None
        self._infos: NDArray[Any] | None = None
        self.ids = np.arange(count)
        self.needs_reset = np.ones(count, np.bool_)
        """Whether the episode of a row has ended, or has not begun."""
        self.elapsed = np.zeros(count)
        """Number of steps in the episode."""
        self.endings = np.zeros(count)
        """Endings that the task returned in the last step."""
        self.failures_end = True
        """Whether an ending of the task that is not a success ends an episode."""
        faults = (*FAULTS.values(), "ending returned a number that is not in endings")
        self.reasons = (*self.task.failures, *(f"{type(self.task).__name__}: {fault}" for fault in faults))
        """Reasons of failures, with those of hooks that fail."""
        self._no_failures = np.zeros(count, np.int64)
        self._no_failures.flags.writeable = False  # shared by all infos
        self.queue = EventQueue(count)
        foreign = is_foreign(type(self.task)) and self.task.compiled
        self._comparison = Comparison(self.task) if foreign else None
        self.fps = min(self.task.control_rate, FASTEST)
        self.view: View | None = None
        if render_mode is not None:
            from ..draw.view import View  # other processes do not need pygame

            self.view = View(self.task, count, width, height, self.fps, render_mode == "human")

    def set_parameters(self, values: Mapping[str, ArrayLike]) -> None:
        """Set physical parameters during episodes, one value for all rows or one per row."""
        for name, value in self.options.parameters(values, len(self.rows)).items():
            self.rows[name] = value
        self._observations = self._infos = None

    def reset(
        self, ids: NDArray[np.int64], values: Values | None = None, events: Sequence[Event] = (), keep: bool = False
    ) -> None:
        """Start episodes in ``ids`` with values and events from `ResetOptions.read`; ``keep`` stores them."""
        self.needs_reset[ids] = True  # stays so if the reset fails
        if keep:
            self.options.keep(ids, values or {}, events)
        for some, options in self.options.episodes(ids, self.rngs, values or {}):
            self.task.reset(self.rows, self.memory, some, [self.rngs[i] for i in some], options)
        self._observations = self._infos = None
        if is_foreign(type(self.task)):
            try_hooks(self.task, self.rows[ids], self.memory[ids])
        for j, i in enumerate(ids):
            self.queue.set(i, [event.of(j) for event in events] if events else self.options.defaults[i].events)
        observations = self.task.hooks.observe(self.rows[ids], self.memory[ids])
        if np.isnan(observations).any():
            raise ValueError(f"{type(self.task).__name__}: sense set an observation that is not a number at the start")
        self.frames[ids] = observations[:, None]
        self.endings[ids] = self.elapsed[ids] = 0.0
        self.needs_reset[ids] = False
        if self.view is not None:
            self.view.clear(ids)
            self.view.record(self.rows, self.memory, ids)

    def check_actions(self, actions: ArrayLike, alone: bool = False, limited: bool = True) -> NDArray[np.float64]:
        """Check actions (B, n), or (n,) if ``alone``; return them as float64 (B, n), clipped to [-1, 1].

        Residual actions are ``limited`` by the authority and the filter of the task.
        """
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
        task = self.task
        taken = previous = np.empty(shape)
        authority = weight = 1.0
        if limited:
            authority, weight = task.authority, task.smoothing_weight
            if weight != 1.0:
                previous = self.memory["action"]
        if not read_actions(array, previous, authority, weight, taken):
            raise ValueError(f"action must be finite, got {shown(array[~np.isfinite(array).all(1)][0])}")
        return taken

    def step(self, actions: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Advance all rows by one control period; rows that need a reset start an episode instead.

        `terminated` or `over` must be called next.

        Args:
            actions: Actions (B, n) from `check_actions`.

        Returns:
            observations, rewards
        """
        task, rows, memory = self.task, self.rows, self.memory
        ids: Any = self.ids
        resets: Any = ()
        if np.count_nonzero(self.needs_reset):
            ids, resets = np.flatnonzero(~self.needs_reset), np.flatnonzero(self.needs_reset)
        self.queue.apply_due(rows, ids, task.animal.dt)
        comparison = self._comparison if self._comparison is not None and self._comparison.steps else None
        if comparison is not None:
            comparison.command(actions, rows, memory, ids)
        drive = task.hooks.command(actions, rows, memory)
        if comparison is not None:
            comparison.check("drive", (drive,), rows, memory)
        task.animal.advance(rows, ids, drive if len(ids) == len(rows) else drive[ids], self.steps)
        if comparison is not None:
            comparison.close(rows, memory)
        rewards, self.endings, self._observations, self._infos = task.hooks.close(rows, memory)
        if comparison is not None:
            results = rewards, self.endings, self._observations, self._infos
            comparison.check("reward ending observation infos", results, rows, memory)
        if not self.failures_end:
            successes = [code for code, ending in task.endings.items() if ending.success]
            self.endings[~np.isin(self.endings, [*successes, *FAULTS])] = 0.0
        if self.view is not None:
            self.view.record(rows, memory, ids)
        if len(resets):
            self.reset(resets)
            self.elapsed[resets] = -1.0  # this step does not count
            rewards[resets] = 0.0
        return self._stacked(ids), rewards

    def terminated(self) -> bool:
        """Return whether the last step terminated the episode of the only row."""
        self.needs_reset[0] = ended = bool(self.endings[0] != 0.0 or self.rows["status"][0] != 0.0)
        return ended

    def over(self, limit: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which episodes the last step terminated, and which it truncated after ``limit`` steps."""
        count = len(self.rows)
        terminated, truncated = np.empty(count, np.bool_), np.empty(count, np.bool_)
        status = np.ascontiguousarray(self.rows["status"])  # one layout, so that the kernel is compiled once
        close_step(status, self.endings, self.elapsed, limit, terminated, truncated, self.needs_reset)
        return terminated, truncated

    def _stacked(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Add the present observations of ``ids`` to the stacked ones, and return a copy of those of all rows."""
        new, self._observations = self._observations, None  # what is handed out is not kept
        if new is None:
            new = self.task.hooks.observe(self.rows, self.memory)
        if self.frames.shape[1] == 1 and len(ids) == len(self.frames):
            self.frames[:, 0] = new
            return new
        self.frames[ids, :-1] = self.frames[ids, 1:]
        self.frames[ids, -1] = new[ids]
        return self.observations()

    def observations(self) -> NDArray[np.float32]:
        """Return a copy of the stacked observations of all rows."""
        return self.frames.reshape(len(self.frames), -1).copy()

    def infos(self) -> dict[str, NDArray[Any]]:
        """Return the quantities in the info of all rows, each (B, ...)."""
        return columns(self._records())

    def info(self) -> dict[str, Any]:
        """Return the quantities in the info of the only row."""
        names, arrays = self.task.hooks.info_names
        info = dict(zip(names, self._records().item(), strict=True))
        for name in arrays:
            info[name] = info[name].copy()  # the next step overwrites it
        return info

    def _records(self) -> NDArray[Any]:
        infos, self._infos = self._infos, None
        return self.task.hooks.close(self.rows, self.memory, False)[3] if infos is None else infos

    def failures(self) -> NDArray[np.int64]:
        """Return the place in ``reasons`` for each row that failed, 0 for the others, as (B,)."""
        if not np.count_nonzero(self.needs_reset):
            return self._no_failures
        return np.array([self._failure(i) for i in range(len(self.rows))], np.int64)

    def _failure(self, i: int) -> int:
        """Return the place of the reason why row ``i`` failed (the animal's before the task's); 0 if it did not."""
        if self.rows["status"][i] != 0.0:
            return self.reasons.index(self.task.animal.failures[self.rows["status"][i]])
        code = self.endings[i]
        if code in FAULTS:
            return self.reasons.index(f"{type(self.task).__name__}: {FAULTS[code]}")
        if code != 0.0 and code not in self.task.endings:
            return len(self.reasons) - 1
        if code == 0.0 or self.task.endings[code].success:
            return 0
        return self.reasons.index(self.task.reason(self.rows[i], code))

    def save(self) -> Snapshot:
        """Copy all states that affect the future."""
        state = {name: own.copy() for name, own in self._arrays().items()}
        return {
            "task": self._name,
            **state,
            "generators": [copy.deepcopy(rng.bit_generator.state) for rng in self.rngs],
            "events": copy.deepcopy(self.queue.waiting),
            "randomize": self.options.randomize,
            "kept": copy.deepcopy(self.options.defaults),
        }

    @property
    def _name(self) -> str:
        kind = type(self.task)
        return f"{kind.__module__}:{kind.__qualname__}"

    def _arrays(self) -> dict[str, NDArray[Any]]:
        names = ("rows", "memory", "frames", "needs_reset", "elapsed", "endings")
        return {name: getattr(self, name) for name in names}

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a snapshot of the same task and number of rows."""
        arrays = self._arrays()
        parts = {"task", *arrays, "generators", "events", "randomize", "kept"}
        if not (isinstance(snapshot, Mapping) and parts <= snapshot.keys() and snapshot["task"] == self._name):
            raise ValueError(f"snapshot must be one of {self._name}, from save(), got {shown(snapshot)}")
        for name, own in arrays.items():
            check_array(f"snapshot: {name}", snapshot[name], own)
        self._check_states(snapshot)
        count, states = len(self.rows), snapshot["generators"]
        for name in ("events", "kept", *(["generators"] if states else [])):
            if len(snapshot[name]) != count:
                raise ValueError(f"snapshot: {name} must have an entry for each of {count} rows")
        rngs = [np.random.default_rng() for _ in states]
        self.options.check_saved(snapshot["kept"], snapshot["events"], snapshot["randomize"])
        for rng, state in zip(rngs, states, strict=True):
            rng.bit_generator.state = copy.deepcopy(state)
        for name, own in arrays.items():
            own[...] = snapshot[name]
        self._observations = self._infos = None
        self.rngs = rngs
        self.options.randomize, self.options.defaults = snapshot["randomize"], copy.deepcopy(snapshot["kept"])
        for i, waiting in enumerate(copy.deepcopy(snapshot["events"])):
            self.queue.set(i, waiting)
        if self.view is not None:
            self.view.clear(self.ids)
            self.view.record(self.rows, self.memory, self.ids)

    def _check_states(self, snapshot: Snapshot) -> None:
        """Raise ValueError if a number that kernels use as an index, a state or a counter is out of range.

        A step notices if other numbers are wrong.
        """
        animal, rows, memory = self.task.animal, snapshot["rows"], snapshot["memory"]
        for name, option in animal.parameters.items():
            option.check(f"snapshot: rows: {name}", rows[name])
        within("snapshot: rows: time", rows["time"], 0.0, LONGEST, "s")
        within("snapshot: frames", snapshot["frames"], -LIMIT, LIMIT, "1")
        choices = {"status": (rows, [0.0, *animal.failures]), "endings": (snapshot, [0.0, *self.task.endings, *FAULTS])}
        for name, (part, allowed) in choices.items():
            if not np.isin(part[name], allowed).all():
                raise ValueError(f"snapshot: {name} must be one of {allowed}, got {shown(part[name])}")
        counters = {"elapsed": snapshot, **({"step": rows} if "step" in (rows.dtype.names or ()) else {})}
        indices = [(name, part, range(2**53)) for name, part in counters.items()]
        indices += [(name, rows, allowed) for name, allowed in animal.indices.items()]
        indices += [(name, memory, allowed) for name, allowed in self.task.indices.items()]
        for name, part, span in indices:
            values = part[name]
            if ((values != np.rint(values)) | (values < span.start) | (values >= span.stop)).any():
                raise ValueError(
                    f"snapshot: {name} must be an integer from {span.start} to {span.stop - 1}, got {shown(values)}"
                )
        for name, part in (("rows", rows), ("memory", memory)):
            for field in part.dtype.names or ():
                large = part[field].dtype.kind == "f" and np.isfinite(part[field]) & (np.abs(part[field]) > LARGEST)
                if np.any(large):
                    raise ValueError(f"snapshot: {name}: {field} must be at most {LARGEST:g}, got {shown(part[field])}")


def is_seed(value: Any) -> bool:
    """Return whether a value can seed a random generator."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 0


def check_array(name: str, value: Any, own: NDArray[Any]) -> None:
    """Raise ValueError if an array of a snapshot differs in form from ``own`` or has numbers that are not finite.

    The memory may contain infinity, but not NaN.
    """
    if not (isinstance(value, np.ndarray) and value.dtype == own.dtype and value.shape == own.shape):
        raise ValueError(f"{name} must be an array of shape {own.shape} and type {own.dtype}, as save() gives it")
    for part in [...] if own.dtype.names is None else own.dtype.names:
        numbers = value[part]
        # Memory may contain infinity, such as the time of a touch before it happens.
        if (np.isnan(numbers) if name == "snapshot: memory" else ~np.isfinite(numbers)).any():
            raise ValueError(f"{name} must be finite, got {shown(numbers)} in {part}")


class _TaskDocumentation:
    """``__doc__`` of an environment class; on an environment, the documentation of its task."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, env: Any, kind: type) -> str | None:
        if env is None:
            return self._text
        from .documentation import describe

        task, history = env.batch.task, env.batch.frames.shape[1]
        # The registered spec has the time limit, which the spec of the innermost environment lacks.
        spec = None if env.spec is None else gymnasium.registry.get(env.spec.id)
        if spec is None:
            return describe(task, history)
        return describe(task, history, spec.id, spec.max_episode_steps, spec.reward_threshold)


class Spec(EnvSpec):
    """Gymnasium's spec, with arguments that ``to_json`` writes as plain data."""

    def to_json(self) -> str:
        """Return the spec as JSON, from which ``EnvSpec.from_json`` makes an equal environment.

        Raises:
            ValueError: If an argument contains a function or other code; the message names it.
        """
        arguments = {}
        for name, value in self.kwargs.items():
            try:
                arguments[name] = plain(str(value) if isinstance(value, Path) else value)
            except TypeError as error:
                raise ValueError(f"{name} must be plain data to be written as JSON: {error}") from None
        return EnvSpec.to_json(replace(self, kwargs=arguments))


def render_modes() -> list[str]:
    """Return the render modes available here: a window needs a display.

    Gymnasium's ``check_env`` makes an environment with each of them.
    """
    windowless = sys.platform == "linux" and not DISPLAYS & os.environ.keys()
    return [mode for mode in RENDER_MODES if not (windowless and mode == "human")]


class EnvMixin:
    """Methods and properties that both environments add to Gymnasium's interface."""

    batch: TaskBatch

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if isinstance(cls.__doc__, str):
            cls.__doc__ = _TaskDocumentation(cls.__doc__)  # type: ignore[assignment]

    @property
    def spec(self) -> Spec | None:
        """Spec that Gymnasium sets, for ``gymnasium.make(spec)``."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = None if spec is None else Spec(**{f.name: getattr(spec, f.name) for f in fields(spec) if f.init})

    _spec: Spec | None = None

    @property
    def failures(self) -> tuple[str, ...]:
        """Reasons of failures: ``failures[info["failure"]]``. The number 0 means no failure, and its text is empty."""
        return self.batch.reasons

    @property
    def task(self) -> Task:
        """Task of the environment; ``task.animal`` is the animal."""
        return self.batch.task

    @property
    def view(self) -> View | None:
        """View that draws the animals and keeps their recent states; None without a ``render_mode``."""
        return self.batch.view

    def set_parameters(self, **values: ArrayLike) -> None:
        """Set physical parameters in the middle of an episode.

        Args:
            **values: Value in SI by name of the parameter, for all rows or one per row.

        Raises:
            ValueError: If a name is unknown or a value is out of range.
        """
        self.batch.set_parameters(values)

    def set_randomize(self, randomize: Mapping[str, Any] | None) -> None:
        """Replace the distributions of parameters and options, starting with the next episodes.

        Args:
            randomize: As in the constructor; None draws no values.

        Raises:
            ValueError: If a name is unknown or a distribution is invalid.
        """
        self.batch.options.set_randomize(randomize)

    @property
    def layout(self) -> Layout:
        """Fields of the observation."""
        return self.task.layout

    def signal(self, name: str) -> NDArray[Any]:
        """Return a signal of the animal in SI, which is listed on the page of the animal.

        Args:
            name: Name of the signal, such as ``"joint_rate"``.

        Returns:
            array (...), or (num_envs, ...) of a vector environment

        Raises:
            ValueError: If the animal has no such signal.
        """
        choice("name", name, self.task.animal.signals)
        values = self.task.animal.signal(self.batch.rows, name)
        return values[0] if isinstance(self, gymnasium.Env) else values

    def save(self) -> Snapshot:
        """Copy the states of all animals and their random generators, without the state of wrappers."""
        return self.batch.save()

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a state from ``save``; the same actions then give exactly the same results."""
        self.batch.restore(snapshot)

    def _spaces(self) -> tuple[Box, Box]:
        """Return the observation space and the action space of one row."""
        observations = Box(-LIMIT, LIMIT, (self.batch.frames[0].size,), np.float32)
        return observations, Box(-1.0, 1.0, (self.task.action_size,), np.float32)

    def _show(self) -> None:
        """Update the window, if there is one."""
        if self.view is not None:
            self.view.show()

    def _pictures(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Return frames (height, width, 3) of all rows, or None in a window or without a render mode."""
        if self.view is None:
            gymnasium.logger.warn("render() needs a render_mode: pass render_mode='rgb_array' or 'human', got None")
            return None
        if not self.batch.rngs:
            raise ResetNeeded("no episode has begun: call reset() before render()")
        return None if self.view.human else tuple(self.view.draw(i).array() for i in range(len(self.batch.rows)))

    def _close_window(self) -> None:
        if self.view is not None:
            self.view.close()


@points
class BodyEnv(EnvMixin, gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):  # type: ignore[misc]
    """Gymnasium environment of one animal with one task.

    Args:
        task: Module and class of the task; set at registration.
        render_mode ({None, "rgb_array", "human"}): With ``"rgb_array"``, ``render`` returns frames; with ``"human"``, a
            window shows the animal.
        history: Number of observations stacked into one, oldest first, for tasks with hidden state.
        randomize: Mapping of names to distributions, for physical parameters and task options to draw for every
            episode. A distribution is a pair (low, high), uniform; a frozen distribution of ``scipy.stats``; a mapping
            such as ``{"distribution": "loguniform", "args": [0.5, 2.0]}``; or a function of a random generator, which
            ``spec.to_json`` refuses. If an option is an array, a distribution whose parameters are arrays draws each
            entry independently.
        split ({None, "paper", "train", "within", "test", "robust"}): Part of the ranges of the task's hidden options.
            ``"paper"``: the conditions of the paper, as far as it states them, such as no curl and the printed drag.
            None: the whole range. ``"train"``: the range without the held-out parts. ``"within"``: held-out parts
            inside the range. ``"test"``: held-out parts at its ends. ``"robust"``: the whole range, with parameters of
            the body multiplied by factors from 0.7 to 1.3.
        threads: Accepted for compatibility with `BodyVectorEnv`; one animal uses one thread.
        width, height: Size of a rendered frame in pixels, 64 to 4096.
        **arguments: Arguments of the task, such as ``actions``, ``scheme``, ``dt``, ``control_rate`` and ``params``.
            ``params`` is an object with the animal's parameters, or a mapping of the parameters to change.

    Raises:
        TypeError: If an argument is unknown.
        ValueError: If the value of an argument is invalid; the message names the argument.

    Examples:
        A worm with weak muscles, and a signal of it that is not in the info; a lamprey with a changed spinal cord; a
        standing figure with a heavy torso; and a worm that follows a given kymogram:

        >>> import gymnasium, numpy
        >>> import gymnosoma.envs
        >>> weak = gymnasium.make("gymnosoma/WormSwim-v0", params={"stiffness": 1e-10})
        >>> observation, info = weak.reset(seed=0)
        >>> weak.unwrapped.signal("joint_rate").shape
        (24,)
        >>> cord = {"ends": "clamp", "head_segments": 20}
        >>> lamprey = gymnasium.make("gymnosoma/LampreyEscape-v0", actions="brainstem", circuit=cord)
        >>> heavy = {"body": {"torso": {"inertial": {"mass": 50.0}}}}
        >>> figure = gymnasium.make("gymnosoma/StandGains-v0", params=heavy)
        >>> angles = 0.5 * numpy.sin(numpy.linspace(0.0, 12.0, 200)[:, None] - numpy.linspace(0.0, 8.0, 24))
        >>> path = gymnasium.make("gymnosoma/WormFollow-v0", kymogram=angles)
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 40}  # noqa: RUF012 (Gymnasium's form)

    def __init__(self, task: str, render_mode: str | None = None, **arguments: Any) -> None:
        self.batch = TaskBatch(task, 1, render_mode=render_mode, **arguments)
        self.render_mode = render_mode
        self.metadata = self.metadata | {"render_modes": render_modes(), "render_fps": self.batch.fps}
        spaces: Any = self._spaces()
        self.observation_space, self.action_space = spaces

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Seed of the random generator; None continues with the present generator.
            options: Values of physical parameters and task options by name for this episode, and two special keys.
                ``events`` is a list of `Event` or mappings: changes during the episode. ``keep=True`` also applies the
                values and events to the following episodes, until another reset with ``keep``.

        Returns:
            observation, info

        Raises:
            ValueError: If the seed is invalid, an option is unknown or its value is invalid.
        """
        if not (seed is None or is_seed(seed)):
            raise ValueError(f"seed must be an int of at least 0, got {shown(seed)}")
        read = self.batch.options.read(options, 1)
        super().reset(seed=None if seed is None else int(seed))  # Gymnasium refuses integers of NumPy
        self.batch.rngs = [self.np_random]
        self.batch.reset(self.batch.ids, *read)
        self._show()
        return self.batch.observations()[0], self._info()

    def step(self, action: ArrayLike) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Apply ``action`` for one control period; values outside [-1, 1] are clipped.

        Returns:
            observation, reward, terminated, truncated, info: ``failures[info["failure"]]`` is the reason if the
                episode failed, else the number is 0. ``truncated`` is False; Gymnasium's wrapper applies the limit.

        Raises:
            ValueError: If the action has the wrong shape or is not finite.
            ResetNeeded: If the episode has ended, or `reset` was not called.
        """
        batch = self.batch
        if batch.needs_reset[0]:
            raise ResetNeeded("the episode has ended or not begun: call reset()")
        observations, rewards = batch.step(batch.check_actions(action, alone=True))
        terminated = batch.terminated()
        self._show()
        return observations[0], float(rewards[0]), terminated, False, self._info()

    def render(self) -> NDArray[np.uint8] | None:
        """Draw the current state.

        Returns:
            (height, width, 3) array of uint8, or None: The frame; None if a window shows it.
        """
        frames = self._pictures()
        return None if frames is None else frames[0]

    def close(self) -> None:
        """Close the window, if there is one; may be called twice."""
        self._close_window()

    def _info(self) -> dict[str, Any]:
        info = self.batch.info()
        info["failure"] = int(self.batch.failures()[0]) if self.batch.needs_reset[0] else 0
        return info

    def restore(self, snapshot: Snapshot) -> None:  # noqa: D102
        super().restore(snapshot)
        if self.batch.rngs:
            self._np_random = self.batch.rngs[0]
