"""Kernels are compiled ahead by a command, and nothing is left to compile."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gymnosoma
from gymnosoma.cli import compile as command

TRAIN = Path(gymnosoma.__file__).resolve().parents[1] / "train.py"


def test_all_that_is_played_is_stepped(monkeypatch, capsys):
    stepped = []
    monkeypatch.setattr(
        command, "_step", lambda name, policy, count, arguments: stepped.append((name, policy.name, count, arguments))
    )
    command.compile_(("WormSwim-v0", "StandGains-v0"), num_envs=(1, 20), threads=2, processes=1, env=("history=3",))
    assert {name for name, *_ in stepped} == {"gymnosoma/WormSwim-v0", "gymnosoma/StandGains-v0"}
    policies = {policy for name, policy, *_ in stepped if "Worm" in name}
    assert {"random", "baseline", "trained"} <= policies
    assert {count for *_, count, _ in stepped} == {1, 20}
    assert all(each["threads"] == 2 and each["history"] == 3 for *_, each in stepped)
    assert "0 kernels compiled" in capsys.readouterr().out


@pytest.mark.slow
def test_nothing_is_left_to_compile(tmp_path):
    def run(*arguments):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, *map(str, arguments)], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout, {path.name for path in tmp_path.rglob("*.nbc")}

    told, kernels = run(TRAIN, "compile", "WormSwim-v0")
    assert f"{len(kernels)} kernels compiled" in told and len(kernels) > 5
    assert run(TRAIN, "evaluate", "WormSwim-v0", "--policy", "random", "baseline", "--episodes", 17)[1] == kernels
    told, after = run(TRAIN, "compile", "WormSwim-v0")
    assert "\n0 kernels compiled" in told and after == kernels
