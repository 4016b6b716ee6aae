"""Command sweep: a table over a grid of what `simulate` takes."""

import csv
import itertools
from pathlib import Path

import pytest

from gymnosoma.cli import sweep
from gymnosoma.cli.simulate import make_animal, read_drive
from gymnosoma.envs import simulate
from gymnosoma.envs.worm import SineKymogram, Worm, WormParams

GRID = ("--over", "sigma=0:1:2", "--over", "stiffness=1e-10:1e-9:3:log", "--over", "drive.amplitude=0.4,0.6")
ASKED = (
    *("worm", *GRID, "--drive", "sine", "--duration", "0.02", "--every", "0.01"),
    *("--column", "power.mean", "--column", "centre.last"),
)


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_sweep_is_a_table_of_simulations_and_goes_on(tmp_path, monkeypatch, command):
    table, journal = tmp_path / "a.csv", tmp_path / "a.points.jsonl"
    command("sweep", *ASKED, "--table", table)
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
    done, real = [], sweep.simulate_points
    monkeypatch.setattr(sweep, "simulate_points", lambda asked, points: (done.extend(points), real(asked, points))[1])
    command("sweep", *ASKED, "--table", table)
    assert len(done) == 2 and table.read_bytes() == whole
    command("sweep", *ASKED, "--table", table)
    assert len(done) == 2 and table.read_bytes() == whole
    with pytest.raises(SystemExit, match=r"duration must be as the sweep in '.*a.points.jsonl' began"):
        command("sweep", *ASKED, "--table", table, "--duration", 0.04)


def alone(asked, point):
    """A row of the table from one simulation, with all of its state."""
    body, controller, told = sweep.prepare(asked, point)
    run = simulate(body, controller, **told)
    columns = {name: values for label in asked["column"] for name, (_, values) in run._columns((label,)).items()}
    found = {f"{name}.{each}": float(sweep.STATISTICS[each](columns[name])) for name in columns for each in STATISTICS}
    return found | {"time": float(run.time[-1]), "failure": run.failure}


ARM = Path(__file__).parents[1] / "assets" / "neuromechanic" / "arm.toml"

STATISTICS = ("mean", "min", "max", "last")

TOGETHER = [
    ("worm", ["sine"], {"sigma": [0.0, 0.3, 1.0], "n_rods": [25, 13], "drive.amplitude": [0.4, 0.6]}, 0.1, 0.02),
    ("worm", ["3.1"], {"stiffness": [1e-10, 2e-7, 1e-9], "start.heading": [0.0, 0.7]}, 1.0, 0.05),
]
OTHERS = [
    ("lamprey", ["brainstem"], {"muscle_gain": [1e-3, 3e-3], "scheme": ["published", "implicit"]}, 0.1, 0.02),
    ("whisker_chain", ["whisk"], {"friction": [0.0, 0.2, 0.4, 0.6], "start.stiffness": [1e-5, 2e-5]}, 0.08, 0.008),
    ("whisker_chain", ["100", "0", "0"], {"length": [0.049, 0.05, 0.051], "rest_angle": [0.0, 0.01]}, 0.02, 1e-3),
    (str(ARM), ["0.1", "0.2"], {"start.q": [0.0, 0.1], "body.fore.inertial.mass": [0.5, 0.6]}, 0.1, 0.02),
    ("whisker_rod", ["0.2", "0", "0"], {"memory_length": [1e-5, 5e-5, 1e-4], "start.side": [1, -1]}, 4e-3, 1e-3),
]
LONG = [
    ("lamprey", ["brainstem"], {"start.feedback": [0.0, 1.0, 2.0], "cord.segments": [100, 60]}, 0.1, 0.02),
    ("whisker_rod", ["sweep"], {"youngs_modulus": [3e9, 4e9, 5e9], "n_segments": [20, 30]}, 4e-3, 1e-3),
]


@pytest.mark.parametrize(
    "animal, drive, axes, duration, every",
    [
        *TOGETHER,
        *(pytest.param(*case, marks=pytest.mark.full) for case in OTHERS),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in LONG),
    ],
)
def test_points_side_by_side_equal_one_by_one(animal, drive, axes, duration, every):
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    asked = {"animal": animal, "drive": drive, "duration": duration, "every": every, "param": {}, "start": {}}
    asked |= dict.fromkeys(("hold", "scheme", "dt")) | {"event": []}
    asked["column"] = [name for name in sweep.prepare(asked, points[0])[0].signals if name != "time"]
    many = sweep.simulate_points(asked, points)
    for point, row in zip(points, many, strict=True):
        assert repr(row) == repr(alone(asked, point)), point  # to the bit, what is not a number, too
    assert len({sweep._shared(*sweep.prepare(asked, point)) for point in points}) < len(points)


def test_a_point_that_cannot_be_does_not_stop_the_others(tmp_path, command):
    table = tmp_path / "a.csv"
    given = ("worm", "--over", "start.heading=0:4:5", "--over", "start.centre=0,1e10", "--duration", 0.01)
    with pytest.raises(
        SystemExit, match=r"5 points failed, first .*10000000000.*start: centre must be within .*1e\+09"
    ):
        command("sweep", *given, "--column", "centre.last", "--table", table)
    rows = read(table)
    assert [bool(row["failure"]) for row in rows] == [False, True] * 5
    assert len(set(row["centre_0.last"] for row in rows[::2])) == 1


@pytest.mark.full
def test_a_sweep_is_the_same_on_several_processes(tmp_path, command):
    for name, processes in (("one", 1), ("two", 2)):
        command("sweep", *ASKED, "--table", tmp_path / f"{name}.csv", "--processes", processes)
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
        (("worm", "--over", "sigma=0:1:3", "--table", "x.txt"), "table must end in one of .csv, .json, .p"),
        (
            ("worm", "--over", "a=0:1:2000", "--over", "b=0:1:2000"),
            "over must make at most 1000000 .*got 4000000",
        ),
    ],
)
def test_what_cannot_be_swept_is_told(tmp_path, monkeypatch, command, given, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=message):
        command("sweep", *given)
    assert not list(tmp_path.iterdir())


def test_the_sine_of_a_worm_is_that_of_its_medium():
    for sigma in (0.0, 0.3, 1.0):
        body = make_animal("worm", {"sigma": sigma}, {})
        own, given = read_drive(body, ["sine"]), SineKymogram.for_medium(sigma)
        assert own.period == pytest.approx(given.period, rel=1e-12) and own.wavenumber == pytest.approx(
            given.wavenumber
        )
    assert read_drive(make_animal("worm", {}, {}), ["sine"]).period == SineKymogram.for_medium(1.0).period
    with pytest.raises(ValueError, match=r"param 'sgima' is not known; did you mean sigma\? It must be one of n_rods"):
        make_animal("worm", {"sgima": 0.0}, {})
