"""The model without reinforcement learning: drive an animal, get a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .animal import MOST_STEPS, Animal, Signals
from .arguments import within
from .control import Controller, TaskController, check_reads
from .events import Agenda, Event, read_events
from .trajectory import Trajectory


def simulate(
    animal: Animal,
    drive: ArrayLike | Callable[[float], ArrayLike] | Controller,
    duration: float,
    every: float | None = None,
    start: Mapping[str, ArrayLike] | None = None,
    hold: float | None = None,
    events: Sequence[Event | Mapping[str, Any]] = (),
) -> Trajectory:
    """Simulate one animal.

    Parameters
    ----------
    animal : Animal
        Such as ``Worm(WormParams.in_medium(sigma=1.0))``.
    drive : array (nu,), function of time (s), or Controller
        In SI; an array is held. A function or controller is asked for the middle of each ``hold``. What plays a
        task (`TaskController`) needs an environment: `gymnosoma.agents.ControllerAgent`. One that raises
        StopIteration ends the simulation.
    duration : float, s
    every : float, s, optional
        Interval between recordings; the default is ``hold``.
    start : mapping, optional
        Named initial values, see the animal's ``reset``; straight and at rest otherwise.
    hold : float, s, optional
        Time for which a drive is held; one time step by default, a million at most.
    events : sequence of Event or mapping, optional
        Parameters that change; each takes effect when the first ``hold`` begins at or after its time.

    Returns
    -------
    Trajectory
        From time 0; it ends early, with ``failure`` set, where the simulation breaks down.

    Raises
    ------
    ValueError
        If a time is not positive or not a multiple of the one it divides into, the drive has a wrong
        shape or is not finite, a controller plays a task or reads what the animal does not sense, or an event is
        none, sets what is no parameter, or comes after the end.
    """
    kind = type(animal).__name__
    if isinstance(drive, TaskController) and not isinstance(drive, Controller):
        raise ValueError(
            f"drive must be an array, a function of time or a Controller; {type(drive).__name__} plays a task: it "
            "chooses values of actions, not a drive, and needs an environment"
        )
    if isinstance(drive, Controller):
        check_reads(drive, animal.signals, f"{kind} senses")
    hold = animal.dt if hold is None else hold
    every = hold if every is None else every
    steps = _multiple("hold", hold, "the time step", animal.dt)
    if steps > MOST_STEPS:
        raise ValueError(f"hold must be at most {MOST_STEPS} time steps ({animal.dt:g} s), got {hold!r}")
    stride = _multiple("every", every, "hold", hold)
    count = _multiple("duration", duration, "every", every)
    rows, ids, agenda = animal.rows(1), np.zeros(1, np.int64), Agenda(1)
    coming = read_events("events", events, animal.parameters, 1)
    for event in coming:
        within("events: time", event.time, 0.0, duration, "s")
    animal.reset(rows, ids, start)
    agenda.set(ids, coming)
    senses = Signals(animal, rows)

    def controlled(t: float) -> Any:
        return drive.drive(np.array([t]), senses, np.array([rows["time"][0] == 0.0]))  # type: ignore[union-attr]

    def held(t: float) -> Any:
        return drive

    command: Any = controlled if isinstance(drive, Controller) else drive if callable(drive) else held

    shape = (1, animal.drive_size)
    record, moments = np.zeros(count + 1, animal.state), 1
    record[0] = rows[0]
    failure = None
    for k in range(count * stride):
        try:
            value = np.asarray(command((k + 0.5) * hold), float)
        except StopIteration:
            break
        if value.shape not in (shape, shape[1:]):
            raise ValueError(f"drive must have shape {shape[1:]}, got {value.shape}")
        if not np.isfinite(value).all():
            raise ValueError(f"drive must be finite, got {value} at time {(k + 0.5) * hold:g} s")
        agenda.happen(rows, ids, animal.dt)
        animal.advance(rows, ids, value.reshape(shape), steps)
        if rows["status"][0] != 0.0:
            failure = animal.failures[rows["status"][0]]
            break
        if (k + 1) % stride == 0:
            record[moments] = rows[0]
            moments += 1
    return Trajectory(every * np.arange(moments, dtype=float), failure=failure, animal=animal, rows=record[:moments])


def _multiple(name: str, value: float, of: str, unit: float) -> int:
    """Tell how often ``unit`` fits into ``value``, which must be a whole number of times."""
    count = round(value / unit) if np.isfinite(value) and value > 0 else 0
    if count < 1 or abs(count * unit - value) > 1e-6 * unit:
        raise ValueError(f"{name} must be a positive multiple of {of} ({unit:g} s), got {value!r}")
    return count
