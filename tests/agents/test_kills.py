"""Commands that are killed whenever something on the disk has changed, and files that are damaged."""

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

from gymnosoma.agents.benchmark import entrants, results
from gymnosoma.agents.learning.training import train
from gymnosoma.envs import simulate
from gymnosoma.envs.core.model.trajectory import Trajectory
from gymnosoma.envs.worm import Worm
from gymnosoma.recordings import Kymogram

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SWIM = "gymnosoma/WormSwim-v0"
WILD = Path(__file__).parents[1] / "fixtures" / "wild.toml"
KILLS = 6


def _lines(folder):
    return [
        (line["entrant"], line["episodes"], line["weights"]) for line in results.read(folder / "b" / "results.jsonl")
    ]


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
    resumes = {"train": folder / "run-0" / "config.json"}
    name, *given = command.split()
    given += ["--resume"] if name in resumes and resumes[name].exists() else []
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


def mutants(content, count=60):
    """Copies with bytes that are flipped, cut, doubled, or of anything."""
    rng = random.Random(0)
    for k in range(count):
        i, j = sorted(rng.sample(range(len(content)), 2))
        yield (
            content[:i] + bytes([content[i] ^ 1 << rng.randrange(8)]) + content[i + 1 :],
            content[:i],
            content[:i] + content[j:],
            content[:j] + content[i:],
            content[:i] + rng.randbytes(j - i) + content[j:],
            rng.randbytes(100),
        )[k % 6]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A run, a result, and recordings."""
    folder = tmp_path_factory.mktemp("kept")
    train(SWIM, folder / "run", "ppo", steps=2000, num_envs=8)
    entrants.run_job(entrants.Job(SWIM, "random", episodes=2), folder)
    angles = np.sin(np.linspace(0.0, 9.0, 60)[:, None] - np.linspace(0.0, 6.0, 24))
    np.savetxt(folder / "angles.csv", angles, delimiter=",")
    np.save(folder / "angles.npy", angles)
    simulate(Worm(), angles[0], 0.1).save(folder / "run.npz")
    return folder


READERS = {
    "run/checkpoint.zip": lambda folder: train(SWIM, folder / "run", "ppo", resume=True),
    "run/curve.csv": lambda folder: train(SWIM, folder / "run", "ppo", resume=True),
    "run/config.json": lambda folder: train(SWIM, folder / "run", "ppo", resume=True),
    "lines/WormSwim-v0-random.jsonl": lambda folder: results.read(folder / "lines" / "WormSwim-v0-random.jsonl"),
    "angles.csv": lambda folder: Kymogram.read(folder / "angles.csv", rate=32.0),
    "angles.npy": lambda folder: Kymogram.read(folder / "angles.npy", rate=32.0),
    "run.npz": lambda folder: Trajectory.load(folder / "run.npz"),
}


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_read_or_refused_in_a_line(kept, tmp_path, name, capsys):
    """Whatever a disk makes of bytes: there is no other error. What JSON may hold instead is in the other tiers."""
    content, refused = (kept / name).read_bytes(), 0
    for mutant in mutants(content):
        shutil.copytree(kept, tmp_path / "copy")
        (tmp_path / "copy" / name).write_bytes(mutant)
        try:
            READERS[name](tmp_path / "copy")
        except (ValueError, OSError) as error:
            refused += 1
            assert str(error) and len(str(error).splitlines()) == 1, error
        shutil.rmtree(tmp_path / "copy")
    with capsys.disabled():
        print(f"{name}: {refused} of 60 refused")
