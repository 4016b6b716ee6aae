"""What controllers share: a memory for each row, and being in the hands of a person."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from gymnosoma.envs.core.model.control import Flags, Floats


class RowMemory:
    """Remembers numbers of each row from one control period to the next."""

    reads: tuple[str, ...] = ()
    memory: Mapping[str, Any] = {}
    """What is remembered, by name: the values, numbers or arrays, with which an episode begins."""
    _state: dict[str, Floats] | None = None

    def recall(self, first: Flags) -> tuple[Flags, dict[str, Floats]]:
        """Say which rows begin an episode, all if their number has changed, and what is remembered, to be changed."""
        if self._state is None or any(len(value) != len(first) for value in self._state.values()):
            first, self._state = np.ones(len(first), np.bool_), {}
        for name, start in self.memory.items():
            fresh = np.broadcast_to(np.asarray(start, float), (len(first), *np.shape(start)))
            begins = first.reshape(-1, *(1,) * np.ndim(start))
            self._state[name] = np.where(begins, fresh, self._state.get(name, fresh))
        return first, self._state


def pressed(keys: Set[str], more: str, less: str) -> int:
    """Say where two opposite keys pull: 1, -1, or 0 with both or none of them."""
    return (more in keys) - (less in keys)


def moved(value: float, step: float, low: float, high: float) -> float:
    """Move a value by a step within bounds."""
    return float(np.clip(value + step, low, high))


class ByHand:
    """An animal in the hands of a person: base of each animal's ``Steering``, see the command ``play``."""

    reads: tuple[str, ...] = ()
    control_rate: float
    keys: tuple[tuple[str, str], ...]
    """Keys, and what each does."""

    def __init__(self) -> None:
        self.parameters: dict[str, float] = {}
        """Parameters of the animal that the person has changed."""

    def press(self, key: str) -> None:
        """Answer a key that was pressed; by default nothing happens at once."""
