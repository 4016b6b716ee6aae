"""Results that are kept: compared with what they depend on, and written by one process at a time."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from runs import train

from gymnosoma.agents.benchmark import results
from gymnosoma.agents.policies import fingerprints
from gymnosoma.agents.policies.fingerprints import env_fingerprint
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.agents.support.files import locked
from gymnosoma.envs.core.files import replacing
from gymnosoma.envs.worm import tasks
from gymnosoma.envs.worm.steering import SteeringLaw

SWIM = "gymnosoma/WormSwim-v0"
HOLD = """
import sys
from pathlib import Path
from gymnosoma.agents.support.files import locked
with locked("folder", Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder():
    """Holds a place in another process, until that is killed."""
    processes = []

    def hold(place):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        processes.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield hold
    for process in processes:
        process.kill()
        process.communicate()


def test_a_benchmark_is_of_the_policy_that_it_measured(tmp_path, monkeypatch, capsys, command, error_of):
    """A module that was edited is another policy; what is measured anew is that alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    own, lines = tmp_path / "own_swimmer.py", tmp_path / "b" / "lines"
    line = "benchmark run WormSwim-v0 --policy own_swimmer:act random --episodes 2 --folder b"
    asked = line.split()

    def write(value):
        own.write_text(f"import numpy as np\n\ndef act(seen):\n    return np.full((len(seen), 6), {value})\n")
        monkeypatch.delitem(sys.modules, "own_swimmer", raising=False)

    write(0.1)
    command(*asked)
    before, random = results.read(lines / "WormSwim-v0-own_swimmer_act.jsonl"), lines / "WormSwim-v0-random.jsonl"
    stat = random.stat()
    write(0.2)
    told = error_of(*asked)
    assert "settings of the entrant changed since own_swimmer:act was measured" in told and "--restart" in told
    command(*asked, "--restart")
    assert results.read(lines / "WormSwim-v0-own_swimmer_act.jsonl")[0].episodes != before[0].episodes
    assert random.stat() == stat
    monkeypatch.setattr(fingerprints, "_cache", {})
    monkeypatch.setattr(tasks.Swim, "control_rate", 20.0)
    assert "the behaviour of the environment changed since" in error_of(*asked)


def test_a_run_is_of_the_environment_that_it_began_with(tmp_path, monkeypatch):
    asked = {"algorithm": "cma", "steps": 4000}
    train(SWIM, tmp_path / "run", **asked)
    train(SWIM, tmp_path / "run", resume=True)
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    monkeypatch.setattr(fingerprints, "_cache", {})
    assert config["fingerprint"] == env_fingerprint(SWIM, config["env"])
    monkeypatch.setattr(fingerprints, "_cache", {})

    def reward(self, row, memory):
        return 1.001 * super().reward(row, memory)

    monkeypatch.setattr(tasks.Swim, "reward", reward, raising=False)
    with pytest.raises(ValueError, match="the environment has changed"):
        train(SWIM, tmp_path / "run", resume=True)


def test_a_reference_is_what_it_does(monkeypatch):
    """A comment in its code changes nothing, another constant does."""
    before, baseline = find_policy(SWIM, "best_sine").digest(), find_policy(SWIM, "baseline").digest()
    assert find_policy(SWIM, "best_sine").digest() == before != baseline
    monkeypatch.setattr(SteeringLaw, "bias", lambda *given: 1e-4)
    assert find_policy(SWIM, "best_sine").digest() != before


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        (("train", "WormSwim-v0", "--steps", 100, "--folder", "run"), "run"),
        (("benchmark", "run", "WormSwim-v0", "--policy", "random", "--folder", "run"), "run"),
    ],
)
def test_two_processes_do_not_write_one_place(tmp_path, monkeypatch, holder, error_of, asked, place):
    """The second is told who holds it, and leaves everything as it is; a lock dies with its process."""
    monkeypatch.chdir(tmp_path)
    process = holder(tmp_path / place)
    before = sorted(tmp_path.rglob("*"))
    assert f"locked by process {process.pid} on " in error_of(*asked)
    assert sorted(tmp_path.rglob("*")) == before
    process.kill()
    process.wait()
    with locked("folder", tmp_path / place), locked("folder", tmp_path / place):
        pass


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners")
def test_a_checkpoint_that_others_can_write_is_not_unpickled(tmp_path, monkeypatch):
    train(SWIM, tmp_path / "run", "ppo", steps=2000, num_envs=8)
    (tmp_path / "run" / "checkpoint.zip").chmod(0o646)
    monkeypatch.setattr("pickle.load", lambda file: pytest.fail("it was unpickled"))
    with pytest.raises(ValueError, match=r"checkpoint.zip' cannot be loaded: .* other users can write it, and loading"):
        train(SWIM, tmp_path / "run", resume=True)


def test_a_planted_link_is_not_followed(tmp_path, monkeypatch):
    """The name of a file that is not whole cannot be foreseen, and what has that name all the same is not opened."""
    (tmp_path / "victim").write_text("precious")
    with replacing(tmp_path / "a.json") as file:
        first = Path(file.name)
    with replacing(tmp_path / "a.json") as file:
        assert Path(file.name) != first
        file.write(b"1")
    first.symlink_to(tmp_path / "victim")
    monkeypatch.setattr("uuid.UUID.hex", first.name.rpartition("-")[2])
    with pytest.raises(FileExistsError, match=r"a\.json"), replacing(tmp_path / "a.json"):
        pass
    assert (tmp_path / "victim").read_text() == "precious" and (tmp_path / "a.json").read_text() == "1"
    first.write_text("what a killed process left")
    with locked("folder", tmp_path):
        assert {path.name for path in tmp_path.iterdir()} == {"victim", "a.json", ".lock"}


@pytest.mark.full
@pytest.mark.parametrize("env_id", ["gymnosoma/StandGains-v0", "gymnosoma/HindlimbHold-v0"])
def test_rounding_is_no_other_behaviour(env_id, monkeypatch):
    """A figure that stands symmetrically leans by nothing but rounding, which is another one on another processor."""
    usual, make = env_fingerprint(env_id, {}), gymnasium.make_vec

    def shaken(by, *arguments, **given):
        envs = make(*arguments, **given)
        reset, rng = envs.reset, np.random.default_rng(0)

        def later(**how):
            found = reset(**how)
            angles = envs.unwrapped.batch.rows["q"]
            angles += by * rng.choice([-1, 0, 1], angles.shape)
            return found

        envs.reset = later
        return envs

    for by, same in ((2e-16, True), (1e-5, False)):
        monkeypatch.setattr(fingerprints, "_cache", {})
        monkeypatch.setattr(gymnasium, "make_vec", functools.partial(shaken, by))
        assert (env_fingerprint(env_id, {}) == usual) == same
