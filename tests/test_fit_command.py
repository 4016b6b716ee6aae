"""Command ``fit``: from a recording to what is known of it, as a file, a table, a film and a figure."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from recorded import RATE, joints, seen, worms

from gymnosoma import __version__
from gymnosoma.cli.fit import fit
from gymnosoma.envs import simulate
from gymnosoma.envs.worm import Worm, WormParams


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A file of a worm of 5 s at sigma 0.5."""
    (run,), first = worms(0.5, 1, 5.0)
    path = tmp_path_factory.mktemp("recording") / "worm.npy"
    np.save(path, seen(joints(run, first), np.random.default_rng(0), gap=0))
    return path


def columns(path):
    with open(path) as file:
        return {name.rstrip("_0123456789") for name in file.readline().strip().split(",")}


def test_a_recording_becomes_a_file_a_table_a_film_and_a_figure(recording, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    paths = {"save": "fit.json", "csv": "forces.csv", "film": "film.png", "figure": "fit.svg"}
    given = {name: tmp_path / path for name, path in paths.items()}
    fit("worm", (recording,), rate=RATE, repeats=2, **given | {"save": ((given["save"],),)})
    told = json.loads((tmp_path / "fit.json").read_text())
    assert told["version"] == __version__ and told["seed"] == 0 and told["repeats"] == 2
    (file,) = told["files"]
    assert file == {"name": "worm.npy", "sha256": hashlib.sha256(recording.read_bytes()).hexdigest()}
    assert told["sigma"] == pytest.approx(0.5, abs=0.03)
    assert told["sigma_interval"][0] < told["sigma"] < told["sigma_interval"][1]
    assert told["ratio"] == pytest.approx(1.5 * (40 / 1.5) ** told["sigma"])
    assert told["assumed"] == {} and "friction_force" not in told["identifiable"]
    assert "force_per_friction" in columns("forces.csv") and "friction_force" not in columns("forces.csv")
    said = capsys.readouterr().out
    assert "b_perp / b_par = " in said and "Wrote fit.svg" not in said and said.count("Wrote ") == 4
    assert "<svg" in (tmp_path / "fit.svg").read_text() and (tmp_path / "film.png").read_bytes()[:4] == b"\x89PNG"


def test_what_is_assumed_is_told(recording, tmp_path, capsys):
    how = {"rate": RATE, "repeats": 2, "save": ((tmp_path / "fit.json",),), "csv": tmp_path / "forces.csv"}
    fit("worm", (recording,), sigma=True, stiffness=1.75e-10, damping=3.125e-11, **how)
    told = json.loads((tmp_path / "fit.json").read_text())
    assert told["assumed"].keys() == {"sigma", "stiffness", "damping"}
    assert {"friction_force", "control_angle"} <= set(told["identifiable"])
    assert {"friction_force", "control_angle"} <= columns(tmp_path / "forces.csv")
    fit("worm", (recording,), rate=RATE, repeats=2, csv=how["csv"], friction=(0.02, 0.0003))
    assert "friction has the ratio 66.7, which is not what the recording tells" in capsys.readouterr().out
    fit("worm", (recording,), friction=(0.02, 0.003), **how)
    told = json.loads((tmp_path / "fit.json").read_text())
    assert told["assumed"] == {"friction": [0.02, 0.003]} and "control_angle" not in told["identifiable"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"rate": None}, "rate must be given, frames a second"),
        ({"stiffness": 1e-10}, "stiffness and damping must be given together"),
        ({"stiffness": 1e-10, "damping": 1e-11}, "friction or sigma must be given with stiffness"),
        ({"sigma": True, "friction": (0.1, 0.01)}, "friction must be left out where sigma says what it is"),
        ({"friction": (128.0, 3.2)}, r"friction must be within \[0, 100\] kg/s, got 128"),
        ({"figure": "fit.txt"}, "figure must end in one of .pdf, .png, .svg"),
        ({"film": "fit.txt"}, "film must end in one of"),
        ({"save": [[Path("fit.txt")]]}, "save must end in one of .json, .csv"),
        ({"save": [[Path("a.png"), Path("b.gif")]]}, "save must give one file of a kind"),
        ({"csv": "none/fit.csv"}, "csv must be a file in a folder that exists"),
        ({"files": 2, "csv": "fit.csv"}, "csv must be asked of one recording, got 2"),
        ({"files": 0}, "files must be one recording or more"),
        ({"window": 3.0}, "at least 3 windows of 3 s"),
    ],
)
def test_what_cannot_be_asked_is_refused(recording, tmp_path, how, message):
    files = (recording,) * how.get("files", 1)
    given = {name: tmp_path / value if isinstance(value, str) else value for name, value in how.items()}
    given.pop("files", None)
    with pytest.raises(ValueError, match=message):
        fit("worm", files, **{"rate": RATE, "repeats": 2} | given)


def test_a_worm_that_straightens(tmp_path):
    params = WormParams.in_medium(0.8)
    bend = 0.6 * np.cos(2 * np.pi * np.linspace(0, 1, 24))
    run = simulate(Worm(params), np.zeros(24), 2.0, 1 / RATE, {"joint_angle": bend})
    np.save(tmp_path / "limp.npy", seen(joints(run), np.random.default_rng(0), gap=0))
    friction = params.friction_perpendicular, params.friction_parallel
    how = {"rate": RATE, "relaxation": True, "friction": friction}
    fit("worm", (tmp_path / "limp.npy",), save=((tmp_path / "fit.json",),), **how)
    told = json.loads((tmp_path / "fit.json").read_text())
    assert told["friction_over_stiffness"] == pytest.approx(friction[0] / params.stiffness, rel=0.1)
    assert told["lag"] == pytest.approx(params.damping / params.stiffness, rel=0.2)
    with pytest.raises(ValueError, match="relaxation must be asked of one recording, with friction and save alone"):
        fit("worm", (tmp_path / "limp.npy",), csv=tmp_path / "fit.csv", **how)


def test_a_vibrissa_in_free_air(tmp_path, capsys):
    t = np.arange(251) / 500.0
    rows = np.stack([t, 0.3 * np.sin(2 * np.pi * 8 * t)], 1)
    np.savetxt(tmp_path / "base.csv", rows, "%.9f", ",", header="time,angle", comments="")
    (tmp_path / "hair.toml").write_text("length = 40e-3\ndensity = 1200.0\ncurvature = [-10.0, -20.0]\n")
    paths = {name: tmp_path / f"fit.{name}" for name in ("json", "csv")}  # each is written by its ending
    fit("whisker", (tmp_path / "base.csv",), params=tmp_path / "hair.toml", save=(tuple(paths.values()),))
    told = json.loads(paths["json"].read_text())
    assert told["assumed"] == {"contact": "none", "params": "hair.toml"}
    table = np.genfromtxt(paths["csv"], delimiter=",", names=True)
    assert told["largest"]["Fy"] == pytest.approx(np.abs(table["base_wrench_2"]).max())
    assert "in free air, at most: M " in capsys.readouterr().out
    (tmp_path / "wrong.toml").write_text("lenght = 1")
    for how, message in (
        ({"sigma": True}, "sigma must be left out for a vibrissa"),
        ({"params": tmp_path / "wrong.toml"}, "params '.*wrong.toml' cannot be read: .*lenght"),
        ({"params": tmp_path / "none.toml"}, "params '.*none.toml' cannot be read"),
    ):
        with pytest.raises(ValueError, match=message):
            fit("whisker", (tmp_path / "base.csv",), **how)
    with pytest.raises(ValueError, match="params must be left out for worms"):
        fit("worm", (tmp_path / "base.csv",), params=tmp_path / "hair.toml")
