"""What `simulate` costs beside the kernel: against one bare call of ``advance`` with the same drive."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gymnosoma.envs import OpenLoop, Schedule, simulate
from gymnosoma.envs.core.model.animal import Animal
from gymnosoma.envs.lamprey import Lamprey
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.hindlimb import hindlimb
from gymnosoma.envs.neuromechanic.standing import reflex_input, standing
from gymnosoma.envs.whisker_chain import Whisker
from gymnosoma.envs.whisker_rod import WhiskerRod
from gymnosoma.envs.worm import SineKymogram, Worm

from .measure import Row, paired

STEPS, EVERY = 2000, 10
"""Time steps of a simulation, and between recordings where it is not every one."""

CASES: Mapping[str, Mapping[str, tuple[Callable[[], Animal], Any]]] = {
    "worm": {
        "worm, held": (Worm, np.full(24, 0.1)),
        "worm, SineKymogram": (Worm, SineKymogram()),
        "worm, Schedule": (Worm, Schedule(0.05, np.random.default_rng(0).uniform(-0.3, 0.3, (200, 24)))),
    },
    "lamprey": {"lamprey, held": (Lamprey, np.array([0.4, 0.0, 0.7]))},
    "whisker_chain": {"whisker_chain, held": (Whisker, np.zeros(3))},
    "whisker_rod": {"whisker_rod, held": (WhiskerRod, np.zeros(3))},
    "neuromechanic": {
        "hindlimb, held": (lambda: Neuromechanic(hindlimb()), np.full(31, 0.05)),
        "standing figure, held": (lambda: Neuromechanic(standing()), reflex_input(1.1)),
    },
}
"""Animals and what drives them, array or `OpenLoop`."""


def overheads(animals: Sequence[str], repeats: int) -> list[Row]:
    """CPU time of a time step in `simulate`, us; ratios to one bare call of ``advance``."""
    rows = []
    for animal in animals:
        for what, (make, drive) in CASES.get(animal, {}).items():
            made = make()
            held = drive.at(np.array([made.dt])) if isinstance(drive, OpenLoop) else drive[None]
            jobs: dict[str, Callable[[], float]] = {"bare": partial(_bare, made, held)}
            for every, when in ((1, "recorded at every step"), (EVERY, f"at every {EVERY}th")):
                jobs[when] = partial(_simulated, made, drive, every * made.dt)
            for job in jobs.values():
                job()  # compile
            times = paired(jobs, 2 * repeats + 1)
            bare = times.pop("bare")
            for (when, spent), every in zip(times.items(), (1, EVERY), strict=True):
                note = f"{made.record_dtype(every).itemsize:,} bytes a moment"
                rows.append(Row.median(f"{what}, {when}", 1e6 / STEPS * spent, "CPU us a step", spent / bare, note))
    return rows


def _bare(animal: Animal, drive: np.ndarray[Any, Any]) -> float:
    """CPU seconds of one call of ``advance``, and of the start before."""
    begun = time.process_time()
    rows, ids = animal.rows(1), np.zeros(1, np.int64)
    animal.reset(rows, ids)
    animal.advance(rows, ids, drive, STEPS)
    return time.process_time() - begun


def _simulated(animal: Animal, drive: Any, every: float) -> float:
    """CPU seconds of `simulate` with as many steps."""
    begun = time.process_time()
    run = simulate(animal, drive, STEPS * animal.dt, every)
    spent = time.process_time() - begun
    if run.failure is not None:
        raise RuntimeError(f"{type(animal).__name__} failed ({run.failure}), its speed means nothing")
    return spent
