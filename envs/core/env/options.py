"""Options of resets: values of an episode, values kept for later episodes, and random values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import shown
from ..model.events import Event, read_events
from ..model.quantities import Option
from .task import Task

if TYPE_CHECKING:
    from .distributions import Distributions

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
        self.randomize: Distributions = {}
        """Distributions of parameters and options, drawn for every episode."""
        if randomize is not None:
            from .distributions import read_distributions

            self.randomize = read_distributions(randomize, self._option, self._task.parameters)

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
        parameters = {name: self.options[name] for name in self._task.parameters}
        events = read_events("options: events", values.pop("events", ()), parameters, count)
        return self._spread("options", values, count), events, bool(keep)

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
            some, options = ids[part], {}
            if self.randomize:
                from .distributions import drawn

                options = drawn(self.randomize, [rngs[i] for i in some], self._option)
            for name in self.defaults[some[0]].values:
                options[name] = np.array([self.defaults[i].values[name] for i in some])
            yield some, options | {name: value[part] for name, value in values.items()}
