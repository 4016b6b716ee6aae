"""Simulations of many animals side by side, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs import OpenLoop, simulate
from gymnosoma.envs.core.model.animal import Animal


def ensemble(
    animal: Animal,
    drive: ArrayLike | Callable[[float], ArrayLike] | OpenLoop,
    count: int,
    duration: float,
    every: float | None = None,
    hold: float | None = None,
    start: Mapping[str, ArrayLike] | None = None,
    signals: Sequence[str] = (),
) -> dict[str, NDArray[np.float64]]:
    """Simulate animals side by side and return each signal of all of them as one array.

    Args:
        drive (array, function of time (s) or OpenLoop): (nu,) or (count, nu), as in `simulate`.
        count: Number of animals.
        duration (s)
        every, hold, start, signals: As in `simulate`.

    Returns:
        dict: Name to array (N, count, ...), including ``time`` (N, count) s; NaN after an animal failed.
    """
    runs = simulate(animal, drive, duration, every, start, hold, count=count, signals=signals)
    moments = int(duration / (every or hold or animal.dt) + 1e-6) + 1
    record = {}
    for name in ("time", *signals):
        record[name] = np.full((moments, count, *runs[0][name].shape[1:]), np.nan)
        for b, run in enumerate(runs):
            record[name][: len(run.time), b] = run[name]
    return record
