"""Command ``fit``: from a recording to what is known of it, as a file, a table, a film and a figure."""

import hashlib
import json

import numpy as np
import pytest
from recorded import RATE, recorded_worm

from gymnosoma import __version__
from gymnosoma.cli.fit import fit
from gymnosoma.cli.main import main


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A file of a worm of 5 s at sigma 0.5."""
    return recorded_worm(tmp_path_factory.mktemp("recording") / "worm.npy")


def test_a_part_is_fitted_from_the_command_line(recording, tmp_path, monkeypatch, capsys):
    options = ["--rate", "30", "--from", "0.5", "--to", "4.5", "--repeats", "2", "--save", str(tmp_path / "fit.json")]
    monkeypatch.setattr("sys.argv", ["gymnosoma", "fit", "worm", str(recording), *options])
    main()
    said = capsys.readouterr().out
    assert "frames 15 to 135 kept" in said and "sigma = 0.5" in said
    told = json.loads((tmp_path / "fit.json").read_text())
    assert told["from"] == 0.5 and told["to"] == 4.5


def columns(path):
    with open(path) as file:
        return {name.rstrip("_0123456789") for name in file.readline().strip().split(",")}


def save(folder, *names):
    return (tuple(folder / name for name in names),)


def test_a_recording_becomes_a_file_a_table_and_a_film(recording, tmp_path, capsys):
    fit("worm", (recording,), rate=RATE, repeats=2, save=save(tmp_path, "fit.json", "forces.csv", "film.png"))
    told = json.loads((tmp_path / "fit.json").read_text())
    assert told["version"] == __version__ and told["seed"] == 0 and told["repeats"] == 2
    (file,) = told["files"]
    assert file == {"name": "worm.npy", "sha256": hashlib.sha256(recording.read_bytes()).hexdigest()}
    assert told["sigma"] == pytest.approx(0.5, abs=0.03)
    assert told["interval"][0] < told["sigma"] < told["interval"][1]
    assert told["ratio"] == pytest.approx(1.5 * (40 / 1.5) ** told["sigma"])
    assert told["assumed"] == {}
    names = columns(tmp_path / "forces.csv")
    assert "force_per_friction" in names and "friction_force" not in names
    said = capsys.readouterr().out
    assert "b_perp / b_par = " in said and said.count("Wrote ") == 3
    assert (tmp_path / "film.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"rate": None}, 1),
        ({"sigma": True, "friction": (0.1, 0.01)}, 1),
        ({"save": "fit.txt"}, 1),
        ({}, 0),
        ({"angle_unit": "deg"}, 1),
        ({"friction": (0.1, 0.01)}, 2),
    ],
)
def test_what_cannot_be_asked_is_refused(recording, tmp_path, options, count):
    options = {"rate": RATE, "repeats": 2} | options
    if "save" in options:
        options["save"] = save(tmp_path, options["save"])
    with pytest.raises(ValueError, match="must"):
        fit("worm", (recording,) * count, **options)


def test_a_vibrissa_in_free_air(tmp_path, capsys):
    t = np.arange(251) / 500.0
    rows = np.stack([t, 0.3 * np.sin(2 * np.pi * 8 * t)], 1)
    np.savetxt(tmp_path / "base.csv", rows, "%.9f", ",", header="time,angle", comments="")
    (tmp_path / "hair.toml").write_text("length = 40e-3\ndensity = 1200.0\ncurvature = [-10.0, -20.0]\n")
    base, hair = (tmp_path / "base.csv",), tmp_path / "hair.toml"
    fit("whisker", base, params=hair, save=save(tmp_path, "fit.json", "fit.csv", "fit.png"))
    told = json.loads((tmp_path / "fit.json").read_text())
    assert told["params"] == "hair.toml"
    table = np.genfromtxt(tmp_path / "fit.csv", delimiter=",", names=True)
    assert told["largest"]["Fy"] == pytest.approx(np.abs(table["base_wrench_2"]).max())
    assert told["error"]["Fy"] < 0.01 * told["largest"]["Fy"] and (tmp_path / "fit.png").stat().st_size > 10_000
    assert "largest values in free air: M " in capsys.readouterr().out
    (tmp_path / "wrong.toml").write_text("lenght = 1")
    for name in ("wrong.toml", "none.toml"):
        with pytest.raises(ValueError, match=f"params '.*{name}' cannot be read"):
            fit("whisker", base, params=tmp_path / name)
    with pytest.raises(ValueError, match="save must"):
        fit("whisker", base, save=save(tmp_path, "film.mp4"))
