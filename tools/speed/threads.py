"""What a second thread brings: time steps a second of many rows on two threads, against one.

Beside it what two programs bring that share nothing, of half the rows each: no more can be had of the machine.
"""

from __future__ import annotations

import multiprocessing
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
PERIODS = 10
"""Control periods from the start before the animals are set back: whoever writes all rows moves them to its core."""


def threads(animals: Sequence[str], repeats: int, rows: Sequence[int] = ROWS) -> list[Row]:
    """Time steps a second of all rows together with `THREADS` threads; ratios to one thread, the same animals."""
    context = multiprocessing.get_context("spawn")
    pipe, end = context.Pipe()
    other = context.Process(target=_answer, args=(end,), daemon=True)
    other.start()
    found = []
    for animal in animals:
        for name in timed_ids(animal):
            for count in rows:
                one, two = (_made(name, count, number) for number in (1, THREADS))
                half = _made(name, count // 2, 1)
                pipe.send((name, count // 2))
                pipe.recv()
                jobs = {"one": partial(_steps, one), "two": partial(_steps, two), "apart": partial(_apart, half, pipe)}
                rates = paired(jobs, repeats)
                for job, what in (("two", f"{THREADS} threads against one"), ("apart", "two programs of half as many")):
                    ratio = rates[job] / rates["one"]
                    found.append(Row.median(f"{name}, {count} rows, {what}", rates[job], "time steps/s", ratio))
    pipe.send(None)
    other.join()
    return found


def _made(name: str, count: int, number: int) -> Any:
    """Environments of an id, whose kernels are compiled."""
    envs = gymnasium.make_vec(f"gymnosoma/{name}", num_envs=count, threads=number)
    _steps(envs, 0.0)
    return envs


def _apart(envs: Any, pipe: Any) -> float:
    """Time steps a second of these environments and of those of the process at the other end, at the same time."""
    time.sleep(0.01)  # threads of the job before still wait for work
    pipe.send(True)
    return _steps(envs) + float(pipe.recv())


def _answer(pipe: Any) -> None:
    """Make environments where a name and a number are asked for, and time them where nothing is."""
    envs: Any = None
    while (asked := pipe.recv()) is not None:
        if asked is True:
            pipe.send(_steps(envs))
        else:
            name, count = asked
            envs = _made(name, count, 1)
            pipe.send(None)


def _steps(envs: Any, wall: float = 0.2) -> float:
    """Time steps a second of all rows together, in control periods by random actions."""
    envs.reset(seed=0)
    batch = envs.batch
    task, rows, ids = batch.task, batch.rows, batch.ids
    start = rows.copy()
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (len(rows), task.action_size))
    drive = task.command(actions, rows, batch.memory)
    steps, spent = 0, 0.0
    while steps == 0 or spent < wall:
        rows[:] = start
        begun = time.perf_counter()
        for _ in range(PERIODS):
            task.animal.advance(rows, ids, drive, batch.steps)
        spent += time.perf_counter() - begun
        steps += PERIODS * len(rows) * batch.steps
    return steps / spent
