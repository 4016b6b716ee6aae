"""Imperfect senses and late hands: what lies between a task and whoever plays it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import choice, shown, whole, within
from ..kernels.noise import normal, uniform
from .spec import LIMIT
from .task import Task

LONGEST_DELAY = 1000
"""Control periods by which senses or hands may be late."""

_DROPS = np.uint64(0x5851F42D4C957F2D)
"""Makes the seed of what is dropped from that of the noise."""


class Senses:
    """What happens to observations and actions on their way, with the state that this takes of each row.

    Noise is added, the sum is rounded to steps, some numbers are dropped, and all of it arrives late. What is drawn is
    a function of a seed of the row, which its generator gives at the start of an episode, and of the observation's
    number in the episode; so a row does not depend on how many there are.

    Args:
        count: Rows.
        shape, dtype: Of one observation.
        sensor_noise (mapping): Field of the observation to the standard deviation of its noise, in the field's unit.
        sensor_dropout (mapping): Field to the probability with which each of its numbers reads 0 in an observation.
        sensor_step (mapping): Field to the step to whose multiples it is rounded, in its unit.
        observation_delay, action_delay: In control periods. The first observation is seen until the second arrives;
            until the first action does, the animal gets the one whose values are nearest to 0.

    Raises:
        ValueError: For an unknown field or an impossible value, naming it.
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
        """Records (B,): seed, observations in the episode, and what is under way, oldest first."""

    def begin(self, ids: NDArray[np.int64], rngs: Sequence[np.random.Generator], first: NDArray[Any]) -> NDArray[Any]:
        """Begin episodes in ``ids`` with what is there to be seen, (A, ...); gives what is seen of it."""
        if self._draws:
            self.state["seed"][ids] = [rng.integers(2**63, dtype=np.uint64) for rng in rngs]
        self.state["count"][ids] = 0.0
        first = self._disturbed(first, self.state[ids])
        self.state["seen"][ids] = first[:, None]
        self.state["acted"][ids] = self._rest
        return first

    def see(self, present: NDArray[Any], ids: NDArray[np.int64]) -> NDArray[Any]:
        """What is seen in ``ids`` when ``present`` (B, ...) is there; other rows hold anything."""
        state = self.state
        state["count"][ids] += 1.0
        present = self._disturbed(present, state)
        if not self._late:
            return present
        return self._later("seen", present, ids)

    def act(self, actions: NDArray[np.float64], ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Actions (B, n) that arrive in ``ids`` when ``actions`` are sent."""
        return self._later("acted", actions, ids) if self._late_hands else actions

    def _later(self, name: str, sent: NDArray[Any], ids: NDArray[np.int64]) -> NDArray[Any]:
        under_way = self.state[name]
        arrived = under_way[:, 0].copy()
        under_way[ids, :-1] = under_way[ids, 1:]
        under_way[ids, -1] = sent[ids]
        return arrived

    def _disturbed(self, observations: NDArray[Any], state: NDArray[Any]) -> NDArray[Any]:
        """Add the noise, rounding and dropouts of the senses to observations, without their delay."""
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
    """Name, value, place in the observation and unit of each field that an argument is about."""
    if not isinstance(values, Mapping | None):
        raise ValueError(f"{argument} must map fields of the observation to numbers, got {shown(values)}")
    entries = []
    for name, value in (values or {}).items():
        if fields is None:
            raise ValueError(f"{argument} needs observation='fields': pixels have no field {shown(name)}")
        choice(argument, name, fields)
        entries.append((name, value, task.layout.slices[name], task.layout.fields[name].unit))
    return entries
