"""How speed is measured: jobs in turn within one run, medians, and ratios pair by pair."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LANES = 64
"""Animals side by side where they are stepped in lanes."""

PEERS = ("mujoco", "elegansbot", "scipy", "pyelastica", "opensim")
"""Distributions that are compared with, where they are installed."""

PACE = "simulated s per wall s"


@dataclass
class Row:
    """One line of the report: what, its figure and unit, its ratio to what it is compared with, and a note."""

    what: str
    value: float
    unit: str
    ratio: float | None = None
    note: str = ""

    @classmethod
    def median(
        cls,
        what: str,
        found: NDArray[np.float64],
        unit: str,
        relative: NDArray[np.float64] | None = None,
        note: str = "",
    ) -> Row:
        """The medians of what each run ``found``, and of these figures ``relative`` to what they are compared with."""
        return cls(what, float(np.median(found)), unit, None if relative is None else float(np.median(relative)), note)


def machine() -> dict[str, str | int]:
    """What was measured on, and with."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):  # Linux tells it here only
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        name = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), name)
    found: dict[str, str | int] = {"cpu": name, "cores": os.cpu_count() or 1, "system": platform.system()}
    found |= {"python": platform.python_version()}
    for package in ("gymnosoma", "numpy", "numba", "gymnasium", *PEERS):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def paired(jobs: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, NDArray[np.float64]]:
    """Run jobs in turn, A B C A B C ...; what each measured, (repeats,)."""
    results: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            results[name].append(job())
    return {name: np.array(values) for name, values in results.items()}


@dataclass(frozen=True)
class Case:
    """A simulation to be timed.

    Args:
        animal: Makes it.
        drive (function of time): Drive in SI, held for ``hold`` from a time (s) on.
        hold, duration (s)
        start (function of the number of animals): Their initial values. They differ, as animals that do all the same at
            once flatter the lanes.
    """

    what: str
    animal: Callable[[], Any]
    drive: Callable[[float], ArrayLike]
    hold: float
    duration: float
    start: Callable[[int], dict[str, Any]] = lambda count: {}


def pace(case: Case, animal: Any, count: int, wall: float = 0.1) -> float:
    """Simulated seconds of all animals together per wall second, over at least ``wall`` s."""
    rows, ids, steps = animal.rows(count), np.arange(count), round(case.hold / animal.dt)
    drives = [np.tile(case.drive(k * case.hold), (count, 1)) for k in range(round(case.duration / case.hold))]
    runs, spent = 0, 0.0
    while runs == 0 or spent < wall:
        animal.reset(rows, ids, case.start(count))
        start = time.perf_counter()
        for drive in drives:
            animal.advance(rows, ids, drive, steps)
        spent += time.perf_counter() - start
        runs += 1
    if rows["status"].any():
        raise RuntimeError(f"{case.what}: an animal failed, its speed means nothing")
    return runs * case.duration * count / spent


def simulations(
    cases: Sequence[Case], repeats: int, peers: Mapping[str, Callable[[], float]] | None = None
) -> list[Row]:
    """Simulated seconds per wall second on one core, alone and in lanes, and of peers; ratios to the first of these."""
    jobs: dict[str, Callable[[], float]] = dict(peers or {})
    first = next(iter(jobs), None)
    steps: dict[str, float] = {}
    for case in cases:
        made = case.animal()
        for count, how in ((1, "alone"), (LANES, f"{LANES} in lanes")):
            pace(case, made, count, 0.0)  # compile
            jobs[f"{case.what}, {how}"] = partial(pace, case, made, count)
            steps[f"{case.what}, {how}"] = made.dt
    rows = []
    paces = paired(jobs, repeats)
    for what, found in paces.items():
        step = steps.get(what)
        note = "" if step is None else f"{np.median(step / found) * 1e6:.3g} us for {step * 1e3:g} ms"
        rows.append(Row.median(what, found, PACE, None if first is None else found / paces[first], note))
    return rows


def report(rows: list[Row], title: str) -> None:
    """Print rows as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    for column in ("what", "median", "unit", "ratio", "note"):
        table.add_column(column, justify="left" if column in ("what", "unit") else "right")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:,.{0 if row.ratio >= 100 else 1 if row.ratio >= 1 else 4}f}"
        table.add_row(
            row.what, f"{row.value:,.3g}" if row.value < 1000 else f"{row.value:,.0f}", row.unit, ratio, row.note
        )
    Console(width=120).print(table)
