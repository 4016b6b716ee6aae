"""Base classes of controllers: memory per row, and keyboard control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from gymnosoma.envs.core.model.control import Flags, Floats, Values


class RowMemory:
    """Base class of controllers that store numbers for each row between control periods."""

    reads: tuple[str, ...] = ()
    memory: Mapping[str, Any] = {}
    """Initial values (numbers or arrays) of the stored quantities, by name."""
    _state: dict[str, Floats] | None = None

    def recall(self, first: Flags) -> tuple[Flags, dict[str, Floats]]:
        """Return the rows that start an episode (all if the number of rows changed), and the memory to update."""
        if self._state is None or any(len(value) != len(first) for value in self._state.values()):
            first, self._state = np.ones(len(first), np.bool_), {}
        for name, start in self.memory.items():
            fresh = np.broadcast_to(np.asarray(start, float), (len(first), *np.shape(start)))
            begins = first.reshape(-1, *(1,) * np.ndim(start))
            self._state[name] = np.where(begins, fresh, self._state.get(name, fresh))
        return first, self._state


class ConstantValues:
    """Controller with constant values of the action, in SI."""

    reads = ()

    def __init__(self, task: Any, values: Sequence[float]) -> None:
        self.values = values

    def choose(self, t: Floats, fields: Values, first: Flags) -> Floats:
        """Return the values, (B, action_size)."""
        return np.tile(self.values, (len(t), 1))


def pressed(keys: Set[str], more: str, less: str) -> int:
    """Return the direction of two opposite keys: 1, -1, or 0 if both or neither are pressed."""
    return (more in keys) - (less in keys)


def moved(value: float, step: float, low: float, high: float) -> float:
    """Return the value changed by a step and clipped to bounds."""
    return float(np.clip(value + step, low, high))


class ByHand:
    """Keyboard control of an animal: base class of each animal's ``Steering``, see the command ``play``."""

    reads: tuple[str, ...] = ()
    control_rate: float
    keys: tuple[tuple[str, str], ...]
    """Keys and their effects."""

    def __init__(self) -> None:
        self.parameters: dict[str, float] = {}
        """Parameters of the animal changed by the user."""

    def press(self, key: str) -> None:
        """Handle a key press. By default, it has no immediate effect."""
