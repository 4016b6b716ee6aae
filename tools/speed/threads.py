"""Speed with several threads, and memory per row."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from .kernels import CASES, UNIT, Case, pace
from .measure import Row, paired

COUNT = 1024
"""Number of animals."""


def threads(animals: Sequence[str], repeats: int) -> list[Row]:
    """Measure simulated seconds per wall second with 1, 2, 4, ... threads, with ratios to one thread."""
    numbers = [2**k for k in range((os.cpu_count() or 1).bit_length())]
    rows = []
    for case in (CASES[name]()[0] for name in animals):
        jobs = {f"{n} threads": partial(_pace, case, n) for n in numbers}
        for job in jobs.values():
            job(0.0)  # compile
        paces = paired(jobs, repeats)
        note = f"{case.animal.rows(1).itemsize:,} bytes a row"
        rows += [
            Row.median(f"{case.what}: {name}", each, UNIT, each / paces["1 threads"], note)
            for name, each in paces.items()
        ]
    return rows


def _pace(case: Case, number: int, wall: float = 0.1) -> float:
    case.animal.threads = number
    return pace(case, COUNT, wall)
