"""Plan the time of a benchmark on a number of cores, from the times of an earlier one.

::

    python -m tools.plan docs/results/results.jsonl.xz --cores 1 16 256

Each core takes the longest of the remaining jobs. Starting processes and reading from disks are not included.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import tyro

from gymnosoma.agents.benchmark import results
from gymnosoma.cli.tables import show_table
from gymnosoma.envs.core.arguments import whole


def plan(file: Annotated[Path, tyro.conf.Positional], /, cores: tuple[int, ...] = (1, 16, 256)) -> None:
    """Show the planned time of the jobs in a results file.

    Args:
        file: Results file, such as benchmark/results.jsonl; it may be compressed (.xz).
        cores: Numbers of cores.
    """
    for count in cores:
        whole("cores", count)
    seconds = job_seconds(results.read(file))
    total, longest = sum(seconds), max(seconds, default=0.0)
    times = {count: planned_time(seconds, count) for count in cores}
    lines = [(f"{count}", f"{time:,.0f}", f"{total / time / count:.0%}") for count, time in times.items() if time]
    title = f"{len(seconds)} jobs, {total:,.0f} s in all; the longest takes {longest:,.0f} s"
    show_table(("cores", "time [s]", "busy"), lines, title)


def job_seconds(lines: Iterable[results.Result]) -> list[float]:
    """Return the CPU time (s) of each job that has one; each mark of a training has a line."""
    jobs: dict[tuple[object, ...], tuple[float, float]] = {}
    for line in lines:
        key = line.id, line.entrant.name, line.entrant.digest, line.track, line.seed
        train, evaluate = jobs.get(key, (0.0, 0.0))
        jobs[key] = max(train, line.seconds.train), evaluate + line.seconds.evaluate
    return [sum(times) for times in jobs.values() if any(times)]


def planned_time(seconds: Iterable[float], cores: int) -> float:
    """Return the time (s) until all jobs have ended, if each core takes the longest of the remaining jobs."""
    ends = [0.0] * cores
    for time in sorted(seconds, reverse=True):
        heapq.heapreplace(ends, ends[0] + time)
    return max(ends)


if __name__ == "__main__":
    tyro.cli(plan)
