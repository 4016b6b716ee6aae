"""The command line as a whole: help texts, exit statuses, completion, files by their ending, kernels compiled ahead."""

import csv
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gymnosoma
from gymnosoma.agents.policies.evaluation import Summary
from gymnosoma.agents.support.files import write_table
from gymnosoma.cli import compile as command
from gymnosoma.cli.evaluate import show
from gymnosoma.cli.main import COMMANDS
from gymnosoma.envs.core.kernels import cache as kernel_cache
from gymnosoma.envs.core.model.trajectory import Trajectory
from gymnosoma.envs.neuromechanic.hindlimb import POSTURE

SWIM = "WormSwim-v0"


def test_a_table_tells_seeds_arguments_and_failures(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    row = {"id": SWIM, "episodes": 4, "seed": 1000, "unit": "mm/s", "score": "speed", "failures": {}, "env": {}}
    row |= {"options": {}}
    row |= dict.fromkeys(("score_mean", "return_mean", "length_mean"), -1e-9) | {"score_sd": 0.0, "return_sd": 0.0}
    names = [f"WormSwim-v0-ppo-{k}" for k in range(2)]
    failed = {"the body crossed itself": 3, "the animal fell over backwards": 1}
    one, two = {"policy": names[0], "env": {"actions": "modes"}}, {"policy": names[1], "failures": failed}
    show([Summary(**row | one), Summary(**row | two)])
    said = capsys.readouterr().out
    assert "4 episodes, seeds 1000 to 1003" in said and all(said.count(name) > 1 for name in names)
    assert f"{names[0]}: actions=modes\n" in said and "-0.00 " not in said
    assert f"{names[1]} failed: 3: the body crossed itself; 1: the animal fell" in said


@pytest.mark.parametrize("name", COMMANDS)
def test_choices_keep_their_order(name):  # tyro shuffles those of a union
    assert not re.search(r"(Literal\[[^]]*\]|bool) \| None", str(inspect.signature(COMMANDS[name])))


def test_a_closed_output_is_no_error(command, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    command("list", SWIM)


@pytest.mark.parametrize("given", ["--help", "list"])
def test_a_reader_that_closes_early_gets_no_traceback(given):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "gymnosoma", *given.split()]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (ended.stderr, ended.returncode) == ("", 1)


def test_disabled_compilation_is_named():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    ended = subprocess.run([sys.executable, "-c", "import gymnosoma"], env=environment, capture_output=True, text=True)
    assert ended.stderr.splitlines()[-1].startswith("ImportError: NUMBA_DISABLE_JIT must be 0")


@pytest.mark.parametrize(
    ("given", "status"),
    [
        (("trian",), 2),
        (("evaluate", SWIM, "--episodess", 3), 2),
        (("evaluate", SWIM, "--save", "x.parquet"), 1),
    ],
)
def test_wrong_usage_has_status_2(command, monkeypatch, given, status):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SystemExit) as end:
        command(*given)
    assert end.value.code == status


@pytest.mark.full
@pytest.mark.parametrize("model", ["arm", "hindlimb"])
def test_models_of_the_package_are_simulated(command, tmp_path, model):
    command("simulate", model, "--duration", 0.01, "--save", tmp_path / "run.npz")
    start = Trajectory.load(tmp_path / "run.npz")["q"][0]
    assert start == pytest.approx({"hindlimb": POSTURE}.get(model, start))


def test_environments_are_made_as_asked(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    asked = ("--param", "stiffness=1e-10", "--env", "actions=modes", "--event", "0.1:damping=1e-11")
    command("evaluate", SWIM, "--policy", "zero", "--episodes", 2, *asked, "--save", "e.json", "e.csv")
    (row,) = json.loads((tmp_path / "e.json").read_text())
    assert row["env"] == {"actions": "modes", "params": {"stiffness": 1e-10}}
    (flat,) = csv.DictReader((tmp_path / "e.csv").open())
    assert json.loads(flat["env"]) == row["env"] and float(flat["score_mean"]) == row["score_mean"]
    command("evaluate", SWIM, "--physiology", "--policy", "zero", "--episodes", 2, *asked, "--save", "p.json", "p.csv")
    rows, flat = json.loads((tmp_path / "p.json").read_text()), list(csv.DictReader((tmp_path / "p.csv").open()))
    assert [(row["measure"], row["policy"]) for row in rows] == [(row["measure"], row["policy"]) for row in flat]
    command("render", SWIM, "--seconds", 0.1, "--size", "128x128", *asked, "--save", "a.png", "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    command("render", SWIM, "--seconds", 0.1, "--size", "128x128", "--save", "c.png")
    assert (tmp_path / "a.png").read_bytes() != (tmp_path / "c.png").read_bytes()
    with pytest.raises(SystemExit, match="env must not set params together with --param"):
        command("evaluate", SWIM, "--env", "params={}", "--param", "stiffness=1e-10")
    with pytest.raises(SystemExit, match="params"):
        command("play", SWIM, "--param", "stifness=1e-10")


# Kernels are compiled ahead, and nothing is left to compile


TRAIN = Path(gymnosoma.__file__).resolve().parents[1] / "train.py"


def test_all_that_is_played_is_stepped(monkeypatch, capsys, tmp_path):
    stepped = []
    monkeypatch.setattr(kernel_cache, "FOLDER", tmp_path)  # other tests compile at the same time
    monkeypatch.setattr(
        command, "_step", lambda name, policy, count, arguments: stepped.append((name, policy.name, count, arguments))
    )
    command.compile_(("WormSwim-v0", "StandGains-v0"), num_envs=(1, 20), threads=2, processes=1, env=("history=3",))
    assert {name for name, *_ in stepped} == {"gymnosoma/WormSwim-v0", "gymnosoma/StandGains-v0"}
    policies = {policy for name, policy, *_ in stepped if "Worm" in name}
    assert {"random", "baseline", "trained"} <= policies
    assert {count for *_, count, _ in stepped} == {1, 20}
    assert all(each["threads"] == 2 and each["history"] == 3 for *_, each in stepped)
    assert "\n0 kernels compiled" in capsys.readouterr().out


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


@pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="Ctrl-C reaches processes differently")
@pytest.mark.parametrize("program", [["-m", "gymnosoma"], ["train.py"]], ids=" ".join)
def test_interrupted_imports_give_one_line(program):
    code = f"""
import runpy, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
def interrupt():
    while "numpy" not in sys.modules:
        time.sleep(0.001)
    signal.raise_signal(signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
sys.orig_argv, sys.argv = ["python", *{program!r}, "list"], [{program[0]!r}, "list"]
runpy.run_{"module" if program[0] == "-m" else "path"}({program[-1]!r}, run_name="__main__")
"""
    folder = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert (ended.stderr, ended.returncode) == ("interrupted\n", 130)


def test_importing_the_package_leaves_signals_alone():
    code = "import signal, gymnosoma; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {code}"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("columns", ["1", "7", "0", "-3", "x"])
def test_help_is_printed_in_narrow_windows(command, monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(SystemExit, match="0"):
        command("evaluate", "--help")
    assert "--episodes" in capsys.readouterr().out


def test_json_has_no_infinite_numbers(tmp_path):
    values = {"a": np.inf, "b": [1.0, -np.inf], "c": {"d": np.array([np.nan, 2.0])}, "e": np.float32(np.inf), "f": 1}
    write_table(tmp_path / "table.json", [values])

    def refuse(name):
        raise ValueError(name)

    (row,) = json.loads((tmp_path / "table.json").read_text(), parse_constant=refuse)
    assert row == {"a": None, "b": [1.0, None], "c": {"d": [None, 2.0]}, "e": None, "f": 1}
