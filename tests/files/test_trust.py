"""Files of others: nothing in them chooses what is imported or called, or gets into a terminal, table or page as is."""

import csv
import json
import os
import shutil
import sys

import numpy as np
import pytest

from gymnosoma.agents.benchmark import entrants, learners, results, tables
from gymnosoma.agents.benchmark.entrants import Job
from gymnosoma.agents.benchmark.pictures import draw
from gymnosoma.agents.policies import card
from gymnosoma.agents.policies.lookup import shipped
from gymnosoma.agents.support.files import write_table
from gymnosoma.biomechanics.importer import Report
from gymnosoma.envs import Trajectory

SWIM = "gymnosoma/WormSwim-v0"
ENV = {"task": "trap:spring"}
LURE = "[/red]|`$x_\\1 <b>"


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """A line of results, of zero actions."""
    place = tmp_path_factory.mktemp("results")
    job = Job(SWIM, "zero", episodes=2)
    entrants.save_job(job, place, entrants.run_job(job, place))
    return json.loads(results.gather(place).read_text().splitlines()[0])


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A module in the working folder that leaves a mark when it is imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "trap.py").write_text("open('sprung', 'w')\ndef spring(*a, **b): pass\ndef load(folder): pass\n")
    yield tmp_path / "sprung"
    sys.modules.pop("trap", None)


def write(file, *lines):
    file.write_text("".join(json.dumps(each) + "\n" for each in lines))


def training(line, **changes):
    """Lines of three trainings of a learner that another module has, or of what changes."""
    about = {"entrant": {"name": "trap:spring", "config": {}, "digest": ""}, "mark": 9, "track": "fixed"} | changes
    return [line | about | {"seed": seed, "failed": "it failed"} for seed in range(3)]


def lured(line, folder):
    """Write files that name the module, and yield the commands that read them."""
    write(folder / "env.jsonl", line | {"env": ENV})
    write(folder / "name.jsonl", *(line | {"entrant": line["entrant"] | {"name": f"{a}trap:spring"}}
                                   for a in ("", "replay of ")))  # fmt: skip
    write(folder / "learner.jsonl", *(each | {"failed": None} for each in training(line)))
    for name in ("env", "name", "learner"):
        yield "benchmark", "check", f"{name}.jsonl", "--retrain", 1
        yield "benchmark", "table", f"{name}.jsonl"
    shutil.copytree(shipped(SWIM), folder / "run")
    document = json.loads((folder / "run" / "card.json").read_text())
    (folder / "run" / "card.json").write_text(json.dumps(document | {"env": ENV}))
    yield "evaluate", "WormSwim-v0", "--policy", "run"
    document = {"id": SWIM, "algorithm": "cma", "steps": 9, "num_envs": 1, "seed": 0, "settings": {}}
    document |= {"fingerprint": "", "versions": {}, "env": ENV}
    (folder / "run" / "config.json").write_text(json.dumps(document))
    yield "train", "WormSwim-v0", "--folder", "run", "--resume"
    (folder / "recipe.toml").write_text('[cma]\nenv = {task = "trap:spring"}\n')
    yield "train", "WormSwim-v0", "--algorithm", "cma", "--recipe", "recipe.toml"


def test_no_file_chooses_what_is_imported(line, trap, error_of):
    for command in lured(line, trap.parent):
        told = error_of(*command)
        assert not trap.exists() and "trap" not in sys.modules, command
        assert command[1] == "table" or told in (1, 2) or "argument must be one of" in told, (command, told)


def test_errors_of_results_are_printable(line, tmp_path, error_of):
    write(tmp_path / "x.jsonl", line | {"failed": "\x1b[2J"})
    told = error_of("benchmark", "check", tmp_path / "x.jsonl")
    assert "x.jsonl', line 1: " in told and told.isprintable()


def test_names_are_shown_as_they_are(line, tmp_path, command, capsys):
    lines = training(line, entrant={"name": LURE, "config": {}, "digest": ""}, score={"name": LURE, "unit": "|"})
    write(tmp_path / "x.jsonl", line | {"entrant": {"name": "x|", "config": {}, "digest": ""}}, *lines)
    command("benchmark", "table", tmp_path / "x.jsonl", "--out", tmp_path / "tables")
    assert "[/red]|`$x_\\1" in capsys.readouterr().out
    for table in (tmp_path / "tables" / "table.md").read_text().split("\n\n"):
        rows = [row.replace("\\|", "").count("|") for row in table.splitlines() if row.startswith("|")]
        assert len({*rows}) <= 1 and "<b>" not in table.replace("\\<b", "")
    draw(tables.rows_of(results.read(tmp_path / "x.jsonl")), tmp_path / "x.png")


def test_tables_run_nothing_in_a_spreadsheet(tmp_path):
    write_table(tmp_path / "x.csv", [{"policy": "=1+1", "unit": "@x", "score": -2.5, "n": '-"x",y'}])
    assert [*csv.DictReader((tmp_path / "x.csv").open())] == [
        {"policy": "'=1+1", "unit": "'@x", "score": "-2.5", "n": '\'-"x",y'}
    ]
    for name in ('a,"b', "a\x1b", "=a", "a\nb"):
        Trajectory(np.arange(2.0), {name: np.ones(2)}).save(tmp_path / "x.npz")
        with pytest.raises(ValueError, match="must be a name"):
            Trajectory.load(tmp_path / "x.npz")


def test_reports_and_errors_are_printable(tmp_path, error_of, monkeypatch):
    assert str(Report(taken=["muscle \x9b2J\n"])).isprintable()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("a\x1b[2J\nb,\x1b[2J,\n")
    told = error_of("fit", "worm", "x.csv", "--keypoints", "a")
    assert told.isprintable() and told.startswith("error: ")


def test_weights_of_the_learners_have_a_limit(tmp_path, monkeypatch):
    (tmp_path / "policy.safetensors").write_bytes(b"\xff" * 8)
    with pytest.raises(ValueError, match="header must have at most"):
        learners.load(tmp_path)
    os.truncate(tmp_path / "policy.safetensors", card.MAX_WEIGHTS + 1)
    with pytest.raises(ValueError, match="are allowed"):
        learners.load(tmp_path)
