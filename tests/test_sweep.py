"""Command sweep: a table over a grid of what `simulate` takes."""

import csv
from pathlib import Path

import numpy as np
import pytest

from gymnosoma.cli import sweep
from gymnosoma.cli.simulate import Settings, make_animal, read_drive
from gymnosoma.envs import Trajectory, simulate
from gymnosoma.envs.worm import SineKymogram, Worm, WormParams

GRID = ("--over", "sigma=0:1:2", "--over", "stiffness=1e-10:1e-9:3:log", "--over", "drive.amplitude=0.4,0.6")
ASKED = (
    *("worm", *GRID, "--drive", "sine", "--duration", "0.02", "--every", "0.01"),
    *("--column", "power.mean", "--column", "centre.last"),
)
ARM = Path(__file__).parents[1] / "assets" / "neuromechanic" / "arm.toml"


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
    repeated, real = [], sweep.simulate_points
    monkeypatch.setattr(sweep, "simulate_points", lambda task, points: (repeated.extend(points), real(task, points))[1])
    for _ in range(2):
        command("sweep", *ASKED, "--table", table)
        assert len(repeated) == 2 and table.read_bytes() == whole
    with pytest.raises(SystemExit, match="duration must match the sweep"):
        command("sweep", *ASKED, "--table", table, "--duration", 0.04)


def test_the_default_is_the_animals_own_gait(tmp_path, command):
    """The paper's waves of 0.2 mm/s, in 1.6 s on agar and 0.4 s in water, and the same in Python and `simulate`."""
    times = ("--duration", 8.0, "--every", 0.05)
    command("sweep", "worm", "--over", "sigma=0,1", *times, "--table", tmp_path / "a.csv")
    command("simulate", "worm", "--param", "sigma=0", *times, "--save", tmp_path / "a.npz")
    water, agar = read(tmp_path / "a.csv")
    assert list(water)[:4] == ["sigma", "speed", "frequency", "power"]
    for row, frequency in ((water, 1.0 / 0.4), (agar, 1.0 / 1.6)):
        assert 0.15e-3 < float(row["speed"]) < 0.25e-3 and float(row["power"]) > 0.0
        assert float(row["frequency"]) == pytest.approx(frequency, rel=0.05)
    run = simulate(Worm(WormParams.in_medium(0.0)), None, 8.0, 0.05)
    assert np.linalg.norm(run["centre"][-1] - run["centre"][0]) / 8.0 == pytest.approx(float(water["speed"]), rel=1e-12)
    assert np.array_equal(Trajectory.load(tmp_path / "a.npz")["centre"], run["centre"])


def alone(task, point):
    """A row of the table from one simulation, with all of its state."""
    body, controller, settings = sweep.prepare(task, point)
    run = simulate(body, controller, **settings)
    columns = {name: values for label in task["column"] for name, (_, values) in run._columns((label,)).items()}
    statistics = sweep.STATISTICS.items()
    row = {f"{name}.{each}": float(made(values)) for name, values in columns.items() for each, made in statistics}
    return row | {"time": float(run.time[-1]), "failure": run.failure}


@pytest.mark.parametrize(
    ("animal", "drive", "axes", "duration", "every"),
    [
        ("worm", ("sine",), {"sigma": [0.0, 1.0], "n_rods": [25, 10], "drive.amplitude": [0.4, 0.6]}, 0.1, 0.02),
        ("worm", ("3.1",), {"stiffness": [1e-10, 2e-7, 1e-9], "start.heading": [0.0, 0.7]}, 1.0, 0.05),
        *(
            pytest.param(*case, marks=pytest.mark.full)
            for case in (
                ("lamprey", ("brainstem",), {"muscle_gain": [1e-3, 3e-3]}, 0.1, 0.02),
                ("whisker_chain", ("whisk",), {"friction": [0.0, 0.2], "start.stiffness": [1e-5, 2e-5]}, 0.08, 0.008),
                (str(ARM), ("0.1", "0.2"), {"start.q": [0.0, 0.1], "body.fore.inertial.mass": [0.5, 0.6]}, 0.1, 0.02),
                ("whisker_rod", ("0.2", "0", "0"), {"memory_length": [1e-5, 5e-5], "start.side": [1, -1]}, 4e-3, 1e-3),
            )
        ),
    ],
)
def test_points_side_by_side_equal_one_by_one(animal, drive, axes, duration, every):
    settings = Settings(drive=drive, duration=duration, every=every)
    task, grid = sweep.plan(animal, settings, axes)
    task["column"] = [name for name in sweep.prepare(task, grid[0])[0].signals if name != "time"]
    portions = list(sweep._portions(task, dict(enumerate(grid)), 16))
    assert len(portions) < len(grid)
    for portion in portions:
        rows = sweep.simulate_points(task, [grid[k] for k in portion])
        for k, row in zip(portion, rows, strict=True):
            assert repr(row) == repr(alone(task, grid[k])), grid[k]  # to the bit, what is not a number, too


def test_a_point_that_cannot_be_does_not_stop_the_others(tmp_path, command):
    table = tmp_path / "a.csv"
    grid = ("worm", "--drive", 0, "--over", "start.heading=0:4:5", "--over", "start.centre=0,1e10", "--duration", 0.01)
    with pytest.raises(SystemExit, match="5 points failed"):
        command("sweep", *grid, "--column", "centre.last", "--table", table)
    rows = read(table)
    assert [bool(row["failure"]) for row in rows] == [False, True] * 5
    assert len(set(row["centre_0.last"] for row in rows[::2])) == 1


@pytest.mark.full
def test_a_sweep_is_the_same_on_several_processes(tmp_path, command):
    for name, processes in (("one", 1), ("two", 2)):
        command("sweep", *ASKED, "--table", tmp_path / f"{name}.csv", "--processes", processes)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--over", "sigma=0:1:3:log"),
        ("--over", "colour=1,2"),
        ("--over", "a=0:1:2000", "--over", "b=0:1:2000"),
    ],
)
def test_impossible_sweeps_are_refused(tmp_path, monkeypatch, command, arguments):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        command("sweep", "worm", *arguments)
    assert end.value.code == 2 and not list(tmp_path.iterdir())


def test_the_sine_of_a_worm_is_that_of_its_medium():
    for sigma in (0.0, 0.3, 1.0):
        own, reference = read_drive(make_animal("worm", {"sigma": sigma}, {}), ["sine"]), SineKymogram.for_medium(sigma)
        assert (own.period, own.wavenumber) == pytest.approx((reference.period, reference.wavenumber), rel=1e-12)
