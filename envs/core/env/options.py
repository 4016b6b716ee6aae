"""Options of resets: values of an episode, values kept for later episodes, and random values."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import choice, shown
from ..model.control import Event, read_events
from ..model.quantities import Option
from .task import Task

DISTRIBUTIONS = ("uniform", "loguniform", "truncnorm", "triang", "beta", "randint", "rv_discrete")
"""Bounded distributions of `scipy.stats` that mappings may name."""

FORMS = (
    "(low, high), a frozen distribution of scipy.stats, a mapping such as "
    "{'distribution': 'loguniform', 'args': [0.5, 2]}, or a function of a generator"
)

Values = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Defaults:
    """Options and events of a row that apply to all episodes until a reset replaces them."""

    values: Values = field(default_factory=dict)
    events: Sequence[Event] = ()


class ResetOptions:
    """Options of a task's resets, with the kept values and the distributions.

    Args:
        count: Number of rows.
        randomize: As for `TaskBatch`.
    """

    def __init__(self, task: Task, count: int, randomize: Any) -> None:
        self._task = task
        self.options: dict[str, Option] = {**task.parameters, **task.options}
        """Options by name, the animal's parameters first."""
        self.set_randomize(randomize)
        self.defaults = [Defaults()] * count
        """Options of each row that apply to later resets."""

    def set_randomize(self, randomize: Any) -> None:
        """Replace the distributions, starting with the next episodes."""
        self.randomize = {} if randomize is None else _read(randomize, self._option, self._task.parameters)
        """Distributions of parameters and options, drawn for every episode."""

    def _option(self, label: str, name: str) -> Option:
        """Return the option ``name``; raises ValueError if there is none."""
        if name not in self.options:
            if name in self._task.unavailable:
                raise ValueError(f"{label} needs {self._task.unavailable[name]}")
            raise ValueError(f"{label} is not known; allowed are {', '.join(self.options)}")
        return self.options[name]

    def read(self, options: Mapping[str, Any] | None, count: int) -> tuple[Values, list[Event], bool]:
        """Check the options of a reset of ``count`` rows; return values, events, and whether to keep them."""
        if not isinstance(options, Mapping | None):
            raise ValueError(f"options must map names to values, got {shown(options)}")
        values = dict(options or {})
        keep = values.pop("keep", False)
        if not isinstance(keep, bool | np.bool_):
            raise ValueError(f"options: keep must be True or False, got {shown(keep)}")
        events = self._events("options: events", values.pop("events", ()), count)
        return self._spread("options", values, count), events, bool(keep)

    def _events(self, label: str, events: Any, count: int) -> list[Event]:
        parameters = {name: self.options[name] for name in self._task.parameters}
        return read_events(label, events, parameters, count)

    def _spread(self, label: str, values: Mapping[str, Any], count: int) -> Values:
        return {
            name: self._option(f"{label}: {name}", name).spread(f"{label}: {name}", value, count)
            for name, value in values.items()
        }

    def parameters(self, values: Mapping[str, ArrayLike], count: int) -> Values:
        """Check physical parameters and broadcast them to ``count`` rows."""
        for name in values:
            if name not in self._task.parameters and name not in self._task.unavailable:
                allowed = ", ".join(self._task.parameters)
                raise ValueError(f"parameters: {name} is not known; allowed are {allowed}")
        return self._spread("parameters", values, count)

    def check_saved(self, defaults: Sequence[Any], events: Iterable[Any], randomize: Any) -> None:
        """Check the options of a snapshot: those of later episodes and events, with an entry per row; distributions.

        Raises:
            ValueError: If a name is unknown, or a value has another shape or is out of range.
        """
        try:
            _read(randomize, self._option, self._task.parameters)
        except ValueError as error:
            raise ValueError(f"snapshot: {error}") from None
        for each in defaults:
            if not isinstance(each, Defaults):
                raise ValueError(f"snapshot: kept must hold options as save() gives them, got {shown(each)}")
            for name, value in each.values.items():
                label = f"snapshot: kept: {name}"
                option = self._option(label, name)
                if np.shape(option.check(label, value)) != option.shape:
                    raise ValueError(f"{label} must have shape {option.shape}, got {np.shape(value)}")
        for waiting in (*events, *(each.events for each in defaults)):
            self._events("snapshot: events", waiting, 1)

    def keep(self, ids: NDArray[np.int64], values: Values, events: Sequence[Event]) -> None:
        """Store values and events, with an entry for each of ``ids``, for later episodes."""
        for j, i in enumerate(ids):
            own = {name: value[j].copy() for name, value in values.items()}
            self.defaults[i] = Defaults(own, [event.of(j) for event in events])

    def episodes(
        self, ids: NDArray[np.int64], rngs: Sequence[np.random.Generator], values: Values
    ) -> Iterator[tuple[NDArray[np.int64], dict[str, NDArray[np.float64]]]]:
        """Divide ``ids`` into parts that set the same options; yield each part with its options.

        ``values`` override stored values, which override random ones; ``rngs`` are the generators of all rows.
        """
        parts: dict[Any, list[int]] = {}
        for j, i in enumerate(ids):
            parts.setdefault(tuple(sorted(self.defaults[i].values)), []).append(j)
        for part in map(np.array, parts.values()):
            some = ids[part]
            options = _drawn(self.randomize, [rngs[i] for i in some], self._option)
            for name in self.defaults[some[0]].values:
                options[name] = np.array([self.defaults[i].values[name] for i in some])
            yield some, options | {name: value[part] for name, value in values.items()}


def _read(randomize: Any, option: Callable[[str, str], Option], alone: Container[str]) -> dict[str, Any]:
    """Check distributions of options; return each as a pair, a distribution of SciPy, or a function.

    Args:
        option: Function from a label for errors and a name to the `Option`; raises ValueError if it is unknown.
        alone: Names of array options that accept one number for all entries.

    Raises:
        ValueError: If a distribution is invalid for its option; the message names it.
    """
    if not isinstance(randomize, Mapping):
        raise ValueError(f"randomize must map names to (low, high), got {shown(randomize)}")
    checked: dict[str, Any] = {}
    for name, one in randomize.items():
        label = f"randomize: {name}"
        setting = option(label, name)
        if isinstance(one, Mapping):
            one = _frozen(label, **one)
        if callable(one) and not hasattr(one, "rvs"):
            checked[name] = one
            continue
        if hasattr(one, "rvs"):
            checked[name], ends = one, np.stack(np.broadcast_arrays(*one.support()))
        elif (isinstance(one, Sequence) and len(one) == 2) or (isinstance(one, np.ndarray) and one.shape[:1] == (2,)):
            ends = setting.check(label, one)
            if ends.shape != (2,) or ends[0] > ends[1]:
                raise ValueError(f"{label} must be (low, high) of a scalar, got {shown(one)}")
            checked[name] = float(ends[0]), float(ends[1])
        else:
            raise ValueError(f"{label} must be {FORMS}, got {shown(one)}")
        ends = setting.check(label, ends)
        if ends.ndim > 1:
            setting.spread(label, ends[0], 1)
        elif setting.shape and name not in alone:
            raise ValueError(f"{label} needs a distribution with parameters of shape {setting.shape}, got {shown(one)}")
    return checked


def _frozen(label: str, distribution: Any = None, args: Sequence[Any] = (), **arguments: Any) -> Any:
    """Return a frozen distribution of SciPy."""
    from scipy import stats  # other environments do not need it

    choice(f"{label}: distribution", distribution, DISTRIBUTIONS)
    try:
        return getattr(stats, distribution)(*args, **arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{label}: {error}") from None


def _drawn(
    randomize: Mapping[str, Any], rngs: Sequence[np.random.Generator], option: Callable[[str, str], Option]
) -> dict[str, NDArray[np.float64]]:
    """Draw options with an entry for every generator; results of functions are checked."""
    values: dict[str, list[Any]] = {name: [] for name in randomize}
    for rng in rngs:
        for name, one in randomize.items():
            setting = option(name, name)
            if isinstance(one, tuple):
                value: Any = np.broadcast_to(rng.uniform(*one), setting.shape)
            elif hasattr(one, "rvs"):
                low, high = one.support()
                draws = one.rvs(size=np.shape(low) or None, random_state=rng)
                value = np.broadcast_to(np.clip(draws, low, high), setting.shape)  # rounding errors
            else:
                value = setting.spread(f"randomize: {name}", one(rng), 1)[0]
            values[name].append(value)
    return {name: np.array(each) for name, each in values.items()}
