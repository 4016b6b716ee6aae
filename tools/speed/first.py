"""CPU time until the first step in a new process on one processor, with and without compiled kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

import numpy as np

from .environments import IDS
from .measure import Row

STEP = """
import os, gymnasium, gymnosoma
if hasattr(os, "sched_setaffinity"):  # one processor, so that no second process compiles beside this one
    os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})
env = gymnasium.make("gymnosoma/{}")
env.reset(seed=0)
env.step(env.action_space.sample())
print(sum(os.times()[:2]))
"""


def first(animals: Sequence[str], repeats: int) -> list[Row]:
    """Measure CPU seconds to the first step of each animal."""
    rows = []
    for name in (IDS[animal][0] for animal in animals):
        with tempfile.TemporaryDirectory() as folder:
            times = np.array([_cpu(STEP.format(name), folder) for _ in range(1 + repeats)])
        rows.append(Row.median(f"{name}: nothing compiled", times[:1], "CPU s"))
        rows.append(Row.median(f"{name}: kernels compiled", times[1:], "CPU s"))
    return rows


def _cpu(code: str, cache: str) -> float:
    """Return the CPU seconds of a new process that runs ``code`` with ``cache`` as its folder of compiled kernels."""
    variables = {**os.environ, "NUMBA_CACHE_DIR": cache}
    ended = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
    return float(ended.stdout.splitlines()[-1])
