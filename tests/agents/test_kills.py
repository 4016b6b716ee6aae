"""Commands that are killed, as in a power cut, or whose disk is full: repeated, they end as if nothing had been."""

import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from recorded import recorded_worm
from runs import curve

from gymnosoma.agents.benchmark import results
from gymnosoma.agents.learning.runs import CONFIG

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
FIXTURES = Path(__file__).parents[1] / "fixtures"
KILLS = {"train": 34, "benchmark": 33, "fit": 33, "processes": 6}
"""Number of kills of each command."""

DISK, TRIES = 2**25, 8
"""Size of the disk that is filled, bytes, and how often each command meets less space than it needs in all."""


def _files(folder):
    """Files with their contents, but for locks, logs and those with CPU seconds."""
    skipped = re.compile(r"\.lock|tensorboard|checkpoint|curve\.csv|\.jsonl")
    names = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in names if not skipped.search(str(path))}


def _lines(folder):
    """Files of a benchmark, and its results without CPU seconds."""
    lines = [replace(line, seconds=None, made=None) for line in results.read(folder / "out" / "results.jsonl")]
    return _files(folder), lines, [path.name for path in sorted((folder / "out" / "lines").iterdir())]


def _outputs(folder):
    """Files but for those that a killed process leaves beside its outputs, in a folder that no command owns."""
    return {name: content for name, content in _files(folder).items() if not re.match("out/(partial|trial)-", name)}


def _runs(folder):
    """Files of trainings, and their learning curves without CPU seconds."""
    return _files(folder), [curve(path.parent) for path in sorted(folder.glob("*/curve.csv"))]


TINY = f"train WormSwim-v0 --num-envs 16 --steps 16384 --checkpoint 2048 --episodes 2 --recipe {FIXTURES / 'tiny.toml'}"
COMMANDS = {
    "train": (f"{TINY} --folder out", _runs),
    "benchmark": (
        "benchmark run WormSwim-v0 --policy random baseline --learner recipe --seeds 2 --marks 16384 --episodes 4 "
        "--folder out",
        _lines,
    ),
    "fit": ("fit worm worm.npy --rate 30 --repeats 20 --save out/fit.json out/forces.csv out/film.png", _outputs),
    "processes": (f"{TINY} --seeds 2 --processes 2 --folder out", _runs),
}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A file of a worm of 5 s at sigma 0.5."""
    return recorded_worm(tmp_path_factory.mktemp("recording") / "worm.npy")


@pytest.fixture
def fresh(recording):
    """Makes a folder in which commands begin."""

    def make(folder):
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "out").mkdir(parents=True)
        shutil.copy(recording, folder)
        return folder

    return make


def looks(folder):
    """What lies on the disk: another value whenever something was written."""
    found = []
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # it went meanwhile
                held = os.stat(os.path.join(place, name))
                found.append((name, held.st_size, held.st_mtime_ns))
    return sorted(found)


class Command:
    """A command in a process group of its own; without other processes, a fork of this one, which need not import."""

    def __init__(self, name, folder):
        self.output = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.arguments = COMMANDS[name][0].split()
        if any(folder.glob(f"out*/{CONFIG}")):
            self.arguments += ["--resume"]
        self.folder, environment = folder, {"TMPDIR": str(folder.parent)}
        if name == "processes":
            process = subprocess.Popen(
                [sys.executable, ROOT / "train.py", *self.arguments],
                cwd=folder,
                env=os.environ | environment,
                stdout=self.output,
                stderr=self.output,
                start_new_session=True,
            )
            self.ended, self.wait = process.poll, process.wait
        else:
            from gymnosoma.agents.learning import evolution, reinforcement  # noqa: F401 (children need not import them)

            process = multiprocessing.get_context("fork").Process(target=self._run, args=(environment,))
            process.start()
            self.ended = lambda: process.exitcode

            def wait():
                process.join()
                return process.exitcode

            self.wait = wait
        self.group = process.pid

    def _run(self, environment):
        os.setsid()
        os.chdir(self.folder)
        os.environ.update(environment)
        tempfile.tempdir = None  # read again
        sys.stdout = sys.stderr = self.output
        os.dup2(sys.stderr.fileno(), 2)
        sys.argv = ["gymnosoma", *self.arguments]
        from gymnosoma.cli.main import main

        main()

    def end(self):
        """Kill the group, if it has not ended by itself; return the exit status."""
        if self.ended() is None:
            time.sleep(0.01)  # it may not have its group yet
            with suppress(ProcessLookupError):
                os.killpg(self.group, signal.SIGKILL)
        return self.wait()

    def said(self):
        self.output.seek(0)
        return self.output.read()


def run_until(name, folder, changes=np.inf, seconds=np.inf):
    """Run a command until so many changes on the disk or so many seconds: changes, seconds, and whether it ended."""
    command, before, seen, started = Command(name, folder), looks(folder), 0, time.monotonic()
    while command.ended() is None and seen < changes and time.monotonic() - started < seconds:
        now = looks(folder)
        seen, before = seen + (now != before), now
        time.sleep(0.001)
    spent, status = time.monotonic() - started, command.end()
    assert status in (0, -signal.SIGKILL), command.said()
    return seen, spent, status == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_kills_change_nothing(tmp_path, fresh, name):
    """At random times, and at random changes on the disk, when the command writes."""
    contents = COMMANDS[name][1]
    for _ in range(2):  # the second time nothing is compiled
        changes, seconds, ended = run_until(name, fresh(tmp_path / "whole"))
        assert ended
    whole = contents(tmp_path / "whole")
    rng, kills, rounds, folder = random.Random(0), [], 0, tmp_path / "killed"
    while len(kills) < KILLS[name]:
        fresh(folder)
        ended, rounds = False, rounds + 1
        while not ended:
            when = {"changes": rng.randint(1, changes)} if rng.random() < 0.5 else {"seconds": rng.uniform(0, seconds)}
            *killed, ended = run_until(name, folder, **when)
            kills += [] if ended else [killed]
        assert contents(folder) == whole
    print(f"{name}: {changes} changes and {seconds:.1f} s in one go; {len(kills)} kills in {rounds} rounds")


@pytest.fixture
def disk(tmp_path):
    """A folder on a small disk of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only the superuser mounts disks")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def finished(folder, whole):
    """Files that are as they will be in the end, lines of results, and rows of learning curves; all can be read."""
    for path in folder.rglob("*.json"):
        json.loads(path.read_text())
    lines = {(path.name, k) for path in folder.rglob("*.jsonl") for k in range(len(results.read(path)))}
    rows = {row for path in folder.rglob("curve.csv") for row in curve(path.parent)}
    return {name for name, content in _files(folder).items() if content == whole.get(name)} | lines | rows


@pytest.mark.parametrize("name", ["train", "benchmark", "fit"])
def test_a_full_disk_loses_nothing(disk, tmp_path, fresh, name):
    """An error is one line, what was finished stays so, and with more space the command goes on."""
    contents, folder, ballast = COMMANDS[name][1], disk / "folder", disk / "ballast"
    assert run_until(name, fresh(tmp_path / "whole"))[2]
    whole, files = contents(tmp_path / "whole"), _files(tmp_path / "whole")
    size = sum(path.stat().st_size for path in (tmp_path / "whole").rglob("*"))
    rng, errors, rounds = random.Random(0), [], 0
    while len(errors) < TRIES:
        fresh(folder)
        status, rounds = 1, rounds + 1
        while status:
            system = os.statvfs(disk)
            room = rng.randrange(3 * size) // system.f_frsize
            with ballast.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, max(system.f_bavail - room, 1) * system.f_frsize)
            before, command = finished(folder, files), Command(name, folder)
            status, said = command.wait(), command.said()
            ballast.unlink()
            assert before <= finished(folder, files) and not [*disk.rglob("partial-*")]
            if status:
                (error,) = (line for line in said.splitlines() if line.startswith("error: "))
                assert "No space left" in said and "Traceback" not in said, said
                assert status == (2 if " must be a writable " in error else 1), said
                errors.append(re.sub("; the result is kept.*|: ./.*", "", error))
        assert contents(folder) == whole
    print(f"{name}: {len(errors)} errors in {rounds} rounds: {sorted(set(errors))}")
