"""Imperfect sensors and delayed actions, between a task and its agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import choice, shown, whole, within
from ..kernels.maths import normal, uniform
from .spec import LIMIT
from .task import Task

LONGEST_DELAY = 1000
"""Longest delay, control periods."""

_DROPS = np.uint64(0x5851F42D4C957F2D)
"""Combined with the seed of the noise to obtain the seed of dropouts."""


class Senses:
    """Errors and delays of observations and actions, with their state for each row.

    Noise is added first, then values are rounded, some numbers are dropped, and the result is delayed. Random numbers
    are a function of the row's seed, drawn from its generator at the start of an episode, and of the index of the
    observation, so they do not depend on the number of rows.

    Args:
        count: Number of rows.
        shape, dtype: Form of one observation.
        sensor_noise: Standard deviations of the noise by field of the observation, in the field's unit.
        sensor_dropout: Probabilities that a number reads 0, by field.
        sensor_step: Resolutions by field, in the field's unit; values are rounded to multiples of them.
        observation_delay, action_delay: Delays in control periods. Before the second observation arrives, the first is
            repeated; before the first action arrives, the action with values nearest to 0 is applied.

    Raises:
        ValueError: If a field is unknown or a value is invalid.
    """

    def __init__(
        self,
        task: Task,
        count: int,
        shape: tuple[int, ...],
        dtype: type,
        sensor_noise: Mapping[str, float] | None,
        sensor_dropout: Mapping[str, float] | None,
        sensor_step: Mapping[str, float] | None,
        observation_delay: int,
        action_delay: int,
    ) -> None:
        for name, delay in (("observation_delay", observation_delay), ("action_delay", action_delay)):
            whole(name, delay, 0, LONGEST_DELAY)
        fields = task.layout.fields if dtype is np.float32 else None
        size = task.layout.size
        scale = task.layout.scale
        deviation, share, step = np.zeros(size), np.zeros(size), np.zeros(size)
        for argument, values, all_of_it, lowest, relative in (
            ("sensor_noise", sensor_noise, deviation, 0.0, True),
            ("sensor_dropout", sensor_dropout, share, 0.0, False),
            ("sensor_step", sensor_step, step, 1e-6, True),
        ):
            for name, value, part, unit in _of_fields(argument, values, fields, task):
                largest = LIMIT * scale[part].max() if relative else 1.0
                checked = within(f"{argument}: {name}", value, lowest * largest, largest, unit if relative else "1")
                if checked.ndim:
                    raise ValueError(f"{argument}: {name} must be a number, got {shown(value)}")
                all_of_it[part] = checked / (scale[part] if relative else 1.0)
        self._noisy, self._droppable, self._rounded = map(np.flatnonzero, (deviation, share, step))
        self._deviation, self._share, self._step = deviation[self._noisy], share[self._droppable], step[self._rounded]
        nothing = np.clip(np.zeros((1, task.action_size)), *task.action_bounds)
        self._rest = np.asarray(task.action_from_values(nothing), float)[0]
        self._late, self._late_hands = observation_delay, action_delay
        self._draws = bool(len(self._noisy) or len(self._droppable))
        self.state = np.zeros(
            count,
            [
                ("seed", "u8"),
                ("count", "f8"),
                ("seen", dtype, (observation_delay, *shape)),
                ("acted", "f8", (action_delay, task.action_size)),
            ],
        )
        """Records (B,): seed, number of observations in the episode, and delayed values, oldest first."""

    def begin(self, ids: NDArray[np.int64], rngs: Sequence[np.random.Generator], first: NDArray[Any]) -> NDArray[Any]:
        """Start episodes in ``ids`` with true first observations (A, ...); return the disturbed ones."""
        if self._draws:
            self.state["seed"][ids] = [rng.integers(2**63, dtype=np.uint64) for rng in rngs]
        self.state["count"][ids] = 0.0
        first = self._disturbed(first, self.state[ids])
        self.state["seen"][ids] = first[:, None]
        self.state["acted"][ids] = self._rest
        return first

    def see(self, present: NDArray[Any], ids: NDArray[np.int64]) -> NDArray[Any]:
        """Return late and disturbed observations when ``present`` (B, ...) are the true ones, valid in ``ids``."""
        state = self.state
        state["count"][ids] += 1.0
        present = self._disturbed(present, state)
        if not self._late:
            return present
        return self._later("seen", present, ids)

    def act(self, actions: NDArray[np.float64], ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the delayed actions (B, n) when ``actions`` are sent; only ``ids`` are valid."""
        return self._later("acted", actions, ids) if self._late_hands else actions

    def _later(self, name: str, sent: NDArray[Any], ids: NDArray[np.int64]) -> NDArray[Any]:
        under_way = self.state[name]
        arrived = under_way[:, 0].copy()
        under_way[ids, :-1] = under_way[ids, 1:]
        under_way[ids, -1] = sent[ids]
        return arrived

    def _disturbed(self, observations: NDArray[Any], state: NDArray[Any]) -> NDArray[Any]:
        """Add noise, rounding and dropouts to observations, without the delay."""
        if not (self._draws or len(self._rounded)):
            return observations
        observations = observations.astype(float)
        seed, count = state["seed"], state["count"]
        if len(self._noisy):
            observations[:, self._noisy] += self._deviation * normal(seed, count, len(self._noisy))
        if len(self._rounded):
            observations[:, self._rounded] = np.rint(observations[:, self._rounded] / self._step) * self._step
        if len(self._droppable):
            silent = uniform(seed ^ _DROPS, count, len(self._droppable)) < self._share
            observations[:, self._droppable] = np.where(silent, 0.0, observations[:, self._droppable])
        return np.clip(observations, -LIMIT, LIMIT).astype(np.float32)


def _of_fields(
    argument: str, values: Any, fields: Iterable[str] | None, task: Task
) -> list[tuple[str, Any, slice, str]]:
    """Return name, value, slice of the observation and unit of each field in an argument."""
    if not isinstance(values, Mapping | None):
        raise ValueError(f"{argument} must map fields of the observation to numbers, got {shown(values)}")
    entries = []
    for name, value in (values or {}).items():
        if fields is None:
            raise ValueError(f"{argument} needs observation='fields', got {shown(name)} with 'pixels'")
        choice(argument, name, fields)
        entries.append((name, value, task.layout.slices[name], task.layout.fields[name].unit))
    return entries
