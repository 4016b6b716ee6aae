"""Events: changes of an animal's parameters at given times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import number, shown
from .quantities import Option


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
