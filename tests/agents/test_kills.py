"""Commands that are killed whenever something on the disk has changed."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from runs import curve

from gymnosoma.agents.benchmark import results

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SWIM = "gymnosoma/WormSwim-v0"
WILD = Path(__file__).parents[1] / "fixtures" / "wild.toml"
KILLS = 6


def _lines(folder):
    return [(line.entrant, line.episodes, line.weights) for line in results.read(folder / "b" / "results.jsonl")]


def _seeds(folder):
    weights = [(folder / f"run-{k}" / "policy.safetensors").read_bytes() for k in range(2)]
    return weights, [curve(folder / f"run-{k}") for k in range(2)]


COMMANDS = {
    "benchmark": (
        "benchmark run WormSwim-v0 --policy random --learner recipe --seeds 2 --marks 40000 --episodes 16 --folder b",
        _lines,
    ),
    "train": (
        "train WormSwim-v0 --seeds 2 --processes 2 --steps 40000 --checkpoint 2000 --episodes 2 --folder run "
        f"--recipe {WILD}",
        _seeds,
    ),
}


def looks(folder):
    """What lies on the disk: another value whenever something was written."""
    found = []
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # it went meanwhile
                held = os.stat(os.path.join(place, name))
                found.append((name, held.st_size, held.st_mtime_ns))
    return sorted(found)


def begin(command, folder):
    name, *given = command.split()
    given += ["--resume"] if any(folder.glob("run-*/config.json")) else []  # either run may be the first
    return subprocess.Popen(
        [sys.executable, ROOT / "train.py", name, *given],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run_until(command, folder, changes):
    """Run a command until so many changes on the disk have been seen: how many there were, and whether it ended."""
    process, before, seen = begin(command, folder), looks(folder), 0
    try:
        while process.poll() is None and seen < changes:
            now = looks(folder)
            seen, before = seen + (now != before), now
            time.sleep(0.001)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        ended = process.wait()
    finally:
        said = process.communicate()[1]
    assert ended in (0, -signal.SIGKILL), said
    return seen, ended == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_kills_amid_progress_change_nothing(tmp_path, name):
    command, contents = COMMANDS[name]
    (tmp_path / "whole").mkdir()
    for _ in range(2):  # the second time nothing is compiled
        shutil.rmtree(tmp_path / "whole")
        (tmp_path / "whole").mkdir()
        changes, ended = run_until(command, tmp_path / "whole", np.inf)
        assert ended
    rng, kills, folder = random.Random(0), [], tmp_path / "killed"
    while len(kills) < KILLS:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        ended = False
        while not ended:
            seen, ended = run_until(command, folder, rng.randint(1, 3 * changes // 2))
            kills += [] if ended else [seen]
        assert contents(folder) == contents(tmp_path / "whole")
    print(f"{name}: {changes} changes in one go; killed after {kills}")
