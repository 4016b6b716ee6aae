"""CPU time per step of `simulate`, compared with the kernel alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gymnosoma.envs import OpenLoop, simulate
from gymnosoma.envs.core.model.animal import Animal
from gymnosoma.envs.lamprey import Lamprey
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.hindlimb import hindlimb
from gymnosoma.envs.whisker_chain import Whisker
from gymnosoma.envs.whisker_rod import WhiskerRod
from gymnosoma.envs.worm import SineKymogram, Worm

from .measure import Row, paired

STEPS, EVERY = 2000, 10
"""Number of time steps of a simulation, and between records."""

CASES: Mapping[str, tuple[Callable[[], Animal], Any]] = {
    "worm": (Worm, SineKymogram()),
    "lamprey": (Lamprey, np.array([0.4, 0.0, 0.7])),
    "whisker_chain": (Whisker, np.zeros(3)),
    "whisker_rod": (WhiskerRod, np.zeros(3)),
    "neuromechanic": (lambda: Neuromechanic(hindlimb()), np.full(31, 0.05)),
}
"""Model and drive of each animal."""


def overheads(animals: Sequence[str], repeats: int) -> list[Row]:
    """Measure CPU time per step in `simulate`, with ratios to one call of ``advance``."""
    rows = []
    for name in animals:
        make, drive = CASES[name]
        animal = make()
        jobs = {"kernel": partial(_kernel, animal, drive)}
        for every in (1, EVERY):
            jobs[f"every {every} steps"] = partial(_simulation, animal, drive, every * animal.dt)
        for job in jobs.values():
            job()  # compile
        times = paired(jobs, 2 * repeats + 1)
        rows += [
            Row.median(f"{name}: {what}", 1e6 / STEPS * spent, "CPU us a step", spent / times["kernel"])
            for what, spent in times.items()
        ]
    return rows


def _kernel(animal: Animal, drive: Any) -> float:
    """Return the CPU seconds of one call of ``advance``."""
    values = drive.at(np.array([animal.dt])) if isinstance(drive, OpenLoop) else drive[None]
    begin = time.process_time()
    rows, ids = animal.rows(1), np.zeros(1, np.int64)
    animal.reset(rows, ids)
    animal.advance(rows, ids, values, STEPS)
    return time.process_time() - begin


def _simulation(animal: Animal, drive: Any, every: float) -> float:
    """Return the CPU seconds of `simulate` with the same number of steps."""
    begin = time.process_time()
    simulate(animal, drive, STEPS * animal.dt, every)
    return time.process_time() - begin
