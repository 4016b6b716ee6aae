"""Speed with several threads, memory per row, and a model of larger machines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

import numpy as np

from .kernels import CASES, UNIT, Case, pace
from .measure import Row, paired

COUNT = 1024
"""Number of animals."""

LARGER = (8, 16, 64)
"""Numbers of cores of the modelled machines."""


def threads(animals: Sequence[str], repeats: int) -> list[Row]:
    """Measure simulated seconds per wall second with 1, 2, 4, ... threads, with ratios to one thread.

    The model is Amdahl's law, with the serial share from the largest number of threads measured.
    """
    numbers = [2**k for k in range((os.cpu_count() or 1).bit_length())]
    rows = []
    for case in (CASES[name]()[0] for name in animals):
        jobs = {f"{n} threads": partial(_pace, case, n) for n in numbers}
        for job in jobs.values():
            job(0.0)  # compile
        paces = paired(jobs, repeats)
        one, most = paces["1 threads"], numbers[-1]
        note = f"{case.animal.rows(1).itemsize:,} bytes a row"
        rows += [Row.median(f"{case.what}: {name}", each, UNIT, each / one, note) for name, each in paces.items()]
        serial = float(np.clip((most / np.median(paces[f"{most} threads"] / one) - 1) / max(most - 1, 1), 0, 1))
        for n in (n for n in LARGER if n > most > 1):
            ratio = n / (1 + serial * (n - 1))
            rows.append(Row(f"{case.what}: {n} threads", float(np.median(one) * ratio), UNIT, ratio, "model"))
    return rows


def _pace(case: Case, number: int, wall: float = 0.1) -> float:
    case.animal.threads = number
    return pace(case, COUNT, wall)
