"""Measurement of speed: jobs run alternately, with medians of values and of paired ratios."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LANES = 64
"""Number of animals that are stepped together in lanes."""

PACKAGES = ("gymnosoma", "numpy", "numba", "gymnasium", "scipy", "mujoco", "elegansbot")
"""Packages for which the installed version is recorded."""


@dataclass
class Row:
    """Measured speed: name, value and unit, ratio to another program, and a note."""

    what: str
    value: float
    unit: str
    ratio: float | None = None
    note: str = ""

    @classmethod
    def median(
        cls,
        what: str,
        values: NDArray[np.float64],
        unit: str,
        ratios: NDArray[np.float64] | None = None,
        note: str = "",
    ) -> Row:
        """Make a row from the medians of several runs."""
        return cls(what, float(np.median(values)), unit, None if ratios is None else float(np.median(ratios)), note)


def machine() -> dict[str, str | int]:
    """Describe this machine and the versions of the packages."""
    name = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):  # on Linux
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        name = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), name)
    about: dict[str, str | int] = {"cpu": name, "cores": os.cpu_count() or 1, "python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            about[package] = version(package)
    return about


def paired(jobs: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, NDArray[np.float64]]:
    """Run jobs alternately, A B C A B C ..., and return the values (repeats,) of each."""
    values: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            values[name].append(job())
    return {name: np.array(each) for name, each in values.items()}
