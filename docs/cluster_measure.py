"""Wall time and memory of a small benchmark by one process, by two, and by Ray on two nodes of this machine.

``python docs/cluster_measure.py`` prints what ``docs/guides/cluster.md`` shows, ``--write`` writes it there; for an
idle machine of two cores or more, with the extra ``ray`` and psutil. Each way begins in a new folder, with compiled
kernels; all must find the same scores.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import marked
import psutil
from ray.cluster_utils import Cluster

HERE = Path(__file__).resolve().parent
TRAIN, GUIDE = HERE.parent / "train.py", HERE / "guides" / "cluster.md"
SMALL = ("benchmark", "WormSwim-v0", "LampreyEscape-v0", "--policy", "trained", "--train-seeds", "2")
WAYS = {"one process": (), "`--processes 2`": ("--processes", "2"), "`--ray`, two nodes": ("--ray",)}
EVERY = 0.5
"""Seconds between two looks at the memory."""


KINDS = ("all", "command", "workers", "others")


def memory(command: int) -> Counter[str]:
    """GB held by all that this process has begun, by kind; what several share is counted in parts."""
    held: Counter[str] = Counter()
    for process in psutil.Process().children(recursive=True):
        try:
            words = " ".join(process.cmdline())
            gigabytes = process.memory_full_info().pss / 1e9
        except (psutil.NoSuchProcess, psutil.AccessDenied):  # it has just ended
            continue
        works = words.startswith("ray::_called_in") or "spawn_main" in words
        held["command" if process.pid == command else "workers" if works else "others"] += gigabytes
        held["all"] += gigabytes
    return held


def measure(folder: Path, *options: str) -> tuple[float, Counter[str]]:
    """Seconds that the benchmark takes, and the most memory of each kind."""
    most: Counter[str] = Counter()
    begun = time.perf_counter()
    command = [sys.executable, TRAIN, *SMALL, "--folder", folder, *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            most |= memory(process.pid)
            time.sleep(EVERY)
    if process.returncode:
        raise SystemExit(process.returncode)
    return time.perf_counter() - begun, most


def scores(folder: Path) -> dict[str, list[float]]:
    """What a benchmark has found, by job."""
    files = sorted((folder / "jobs").rglob("*.json"))
    return {file.relative_to(folder).as_posix(): json.loads(file.read_text("utf-8"))["scores"] for file in files}


def table() -> str:
    """What the guide shows, in Markdown."""
    lines = [("", "wall, s", *(f"{kind}, GB" for kind in KINDS)), ("---", *["---:"] * (1 + len(KINDS)))]
    found = []
    with tempfile.TemporaryDirectory() as place:
        measure(Path(place) / "kernels", "--steps", "1", "--episodes", "2")
        for name, options in WAYS.items():
            nodes = None
            if "--ray" in options:
                nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
                nodes.add_node(num_cpus=1)
                options = (*options, nodes.address)
            folder = Path(place) / name.strip("`")
            seconds, most = measure(folder, *options)
            if nodes is not None:
                nodes.shutdown()
            lines.append((name, f"{seconds:.0f}", *(f"{most[kind]:.2f}" for kind in KINDS)))
            found.append(scores(folder))
    if not found[0] == found[1] == found[2]:
        raise SystemExit("scores differ")
    cores = f"{os.cpu_count()} cores, {platform.machine()}"
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + (
        f"\n\n`{' '.join(SMALL)}`, {len(found[0])} jobs, on {cores}; all three found the same scores, to the bit.\n"
    )


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--write", action="store_true", help="bring the guide up to date")
    given = asked.parse_args()
    shown = table()
    print(shown, end="")
    if given.write:
        GUIDE.write_text(marked.put(GUIDE.read_text("utf-8"), shown, "measured"), "utf-8")
