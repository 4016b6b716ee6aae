"""Build the wheel of a release, with compiled kernels for this version of Python and numba: ``python -m tools.wheel``.

The kernels of all ids are compiled for each level of x86-64, so the processor must have the best one. A user whose
Python, numba or processor differs compiles kernels as in a clone. Uncommitted changes are not in the wheel.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import tyro
from llvmlite.binding import get_host_cpu_features

from gymnosoma.cli.arguments import Processes
from gymnosoma.envs.core.kernels.cache import FOLDER, LEVELS, SHIPPED

from .clone import ROOT


def wheel(folder: Path = Path("dist"), *, levels: tuple[str, ...] = tuple(LEVELS), processes: Processes = 2) -> Path:
    """Build the wheel for this version of Python, and return its path.

    Args:
        folder: Folder for the wheel.
        levels: Levels of x86-64 that kernels are compiled for.
        processes: Number of processes that compile.
    """
    if platform.machine() != "x86_64" or sys.platform != "linux":
        raise ValueError(f"kernels must be compiled on Linux with x86-64, got {sys.platform} with {platform.machine()}")
    host = {*get_host_cpu_features().flatten().split(",")}
    for level in levels:
        if level not in LEVELS or not {*LEVELS[level].split(",")} <= host:
            raise ValueError(f"levels must be those of this processor, of {', '.join(LEVELS)}, got {level!r}")
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    options = [f"--python-tag={version}", "--plat-name=manylinux2014_x86_64"]
    with tempfile.TemporaryDirectory() as name:
        source, cache = Path(name) / "source", Path(name) / "cache"
        archive = Path(name) / "source.tar"
        subprocess.run(["git", "archive", "-o", archive, "HEAD"], cwd=ROOT, check=True)
        with tarfile.open(archive) as packed:
            packed.extractall(source, filter="data")
        kernels = source / SHIPPED.relative_to(ROOT)
        for level in levels:
            target = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": LEVELS[level], "NUMBA_CACHE_DIR": str(cache)}
            command = [sys.executable, "train.py", "compile", "--processes", str(processes)]
            environment = {**os.environ, **target, "PYTHONPATH": str(source)}
            subprocess.run(command, cwd=source, env=environment, check=True)
        shutil.copytree(cache / FOLDER.name, kernels, ignore=shutil.ignore_patterns("*.tmp"))
        settings = [f"--config-settings=--build-option={option}" for option in options]
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", *settings, "-w", str(folder), str(source)]
        subprocess.run(command, check=True)
    path = next(each for each in folder.glob(f"gymnosoma-*-{version}-*.whl"))
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    return path


if __name__ == "__main__":
    tyro.cli(wheel)
