"""What a simulation recorded: signals over time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Trajectory(Mapping[str, NDArray[np.float64]]):
    """Recorded signals, each with a leading axis of time, in SI.

    Parameters
    ----------
    time : (N,) array, s
    signals : dict
        Name to array (N, ...).
    failure : str, optional
        Why the simulation ended early.
    """

    def __init__(
        self, time: NDArray[np.float64], signals: dict[str, NDArray[np.float64]], failure: str | None = None
    ) -> None:
        self.time = time
        self.failure = failure
        self._signals = signals

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        if name == "time":
            return self.time
        if name not in self._signals:
            raise KeyError(f"{name!r} was not recorded; recorded are {', '.join(self._signals)}")
        return self._signals[name]

    def __iter__(self):
        return iter(self._signals)

    def __len__(self) -> int:
        return len(self._signals)

    def save(self, path: str | Path) -> None:
        """Write time and signals as a NumPy archive (``.npz``)."""
        arrays: dict[str, Any] = {"time": self.time, **self._signals}
        np.savez_compressed(path, **arrays)
