"""What a second thread brings: time steps a second of many rows on two threads, against one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from .environments import timed_ids
from .measure import Row, paired

ROWS = (64, 256, 1024)
THREADS = 2


def threads(animals: Sequence[str], repeats: int, rows: Sequence[int] = ROWS) -> list[Row]:
    """Time steps a second of all rows together with `THREADS` threads; ratios to one thread, the same animals."""
    found = []
    for animal in animals:
        for name in timed_ids(animal):
            for count in rows:
                jobs = {}
                for number in (1, THREADS):
                    envs = gymnasium.make_vec(f"gymnosoma/{name}", num_envs=count, threads=number)
                    jobs[str(number)] = partial(_steps, envs)
                    jobs[str(number)](0.0)  # compile
                rates = paired(jobs, repeats)
                many, one = rates[str(THREADS)], rates["1"]
                what = f"{name}, {count} rows, {THREADS} threads against one"
                found.append(Row(what, float(np.median(many)), "time steps/s", float(np.median(many / one))))
    return found


def _steps(envs: Any, wall: float = 0.2) -> float:
    """Time steps a second of all rows together, in control periods by random actions."""
    envs.reset(seed=0)
    simulation = envs.simulation
    task, rows, ids = simulation.task, simulation.rows, simulation.ids
    start = rows.copy()
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (len(rows), task.action_size))
    drive = task.command(actions, rows, simulation.memory)
    steps, spent = 0, 0.0
    while steps == 0 or spent < wall:
        rows[:] = start
        begun = time.perf_counter()
        task.animal.advance(rows, ids, drive, simulation.steps)
        spent += time.perf_counter() - begun
        steps += len(rows) * simulation.steps
    return steps / spent
