"""Command sweep: a table over a grid of what `simulate` takes."""

import csv
import sys

import pytest

from gymnosoma.agents.commands import main as cli
from gymnosoma.agents.commands import sweep
from gymnosoma.envs import simulate
from gymnosoma.envs.worm import SineKymogram, Worm, WormParams

GRID = ("--over", "sigma=0:1:2", "--over", "stiffness=1e-10:1e-9:3:log", "--over", "drive.amplitude=0.4,0.6")
ASKED = (
    *("worm", *GRID, "--drive", "sine", "--duration", "0.02", "--every", "0.01"),
    *("--column", "power.mean", "--column", "centre.last"),
)


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["gymnosoma", "sweep", *map(str, arguments)])
    cli.main()


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_sweep_is_a_table_of_simulations_and_goes_on(tmp_path, monkeypatch):
    table, journal = tmp_path / "a.csv", tmp_path / "a.points.jsonl"
    call(monkeypatch, *ASKED, "--table", table)
    rows, whole = read(table), table.read_bytes()
    assert len(rows) == 12 and list(rows[0])[:4] == ["sigma", "stiffness", "drive.amplitude", "power.mean"]
    row = rows[-2]
    assert (row["sigma"], float(row["stiffness"]), row["drive.amplitude"]) == ("1.0", pytest.approx(1e-9), "0.4")
    body = Worm(WormParams.in_medium(1.0, stiffness=float(row["stiffness"])))
    run = simulate(body, SineKymogram.for_medium(1.0, amplitude=0.4), 0.02, 0.01)
    assert float(row["power.mean"]) == run["power"].mean() and float(row["centre_1.last"]) == run["centre"][-1, 1]
    assert row["failure"] == "" and float(row["time"]) == 0.02
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-2]) + lines[-2][:-20])  # killed while a point was written
    done, real = [], sweep.simulate_point
    monkeypatch.setattr(sweep, "simulate_point", lambda *given: (done.append(given[1]), real(*given))[1])
    call(monkeypatch, *ASKED, "--table", table)
    assert len(done) == 2 and table.read_bytes() == whole
    with pytest.raises(SystemExit, match=r"duration must be as the sweep in '.*a.points.jsonl' began"):
        call(monkeypatch, *ASKED, "--table", table, "--duration", 0.04)


@pytest.mark.full
def test_a_sweep_is_the_same_on_several_processes(tmp_path, monkeypatch):
    for name, processes in (("one", 1), ("two", 2)):
        call(monkeypatch, *ASKED, "--table", tmp_path / f"{name}.csv", "--processes", processes)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("worm",), "over must give at least one name, each once, got none"),
        (("worm", "--over", "sigma"), "over must be NAME=LOW:HIGH:COUNT.*got 'sigma'"),
        (("worm", "--over", "sigma=0:1"), "over must be NAME=LOW:HIGH:COUNT.*got 'sigma=0:1'"),
        (("worm", "--over", "sigma=0:1:3:ln"), "over must be NAME=LOW:HIGH:COUNT.*got 'sigma=0:1:3:ln'"),
        (("worm", "--over", "sigma=0:1:3:log"), "over: sigma must lie above 0 for log, got '0:1:3:log'"),
        (("worm", "--over", "sigma=0:2:3"), r"sigma must be .*at most 1, got 2\.0"),
        (("worm", "--over", "colour=1,2"), "param.*colour"),
        (("worm", "--over", "drive.amplitude=1,2"), "drive must be one of sine, .*which have parameters, got ''"),
        (("worm", "--over", "drive.x=1,2", "--drive", "sine"), "drive must take x, got 'sine', which does not"),
        (("worm", "--over", "sigma=0:1:3", "--column", "smell"), "column: signal must be one of .*got 'smell'"),
        (("worm", "--over", "sigma=0:1:3", "--table", "x.txt"), "table must end in .csv or .parquet, got 'x.txt'"),
        (
            ("worm", "--over", "a=0:1:2000", "--over", "b=0:1:2000"),
            "over must make at most 1000000 .*got 4000000",
        ),
    ],
)
def test_what_cannot_be_swept_is_told(tmp_path, monkeypatch, given, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=message):
        call(monkeypatch, *given)
    assert not list(tmp_path.iterdir())
