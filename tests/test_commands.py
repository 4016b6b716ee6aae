"""The command line as a whole: what help texts say, exit statuses, completion, files by their ending."""

import csv
import json
import sys

import pytest

from gymnosoma.cli.evaluate import show
from gymnosoma.cli.simulate import MODELS
from gymnosoma.envs.core.model.trajectory import Trajectory
from gymnosoma.envs.neuromechanic.hindlimb import POSTURE
from gymnosoma.envs.neuromechanic.standing import upright

SWIM = "WormSwim-v0"


def test_a_table_tells_seeds_arguments_and_failures(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    row = {"id": SWIM, "episodes": 4, "seed": 1000, "unit": "mm/s", "score": "speed", "failures": {}, "env": {}}
    row |= dict.fromkeys(("score_mean", "return_mean", "length_mean"), -1e-9) | {"score_sd": 0.0, "return_sd": 0.0}
    names = [f"WormSwim-v0-ppo-{k}" for k in range(2)]
    failed = {"the body crossed itself": 3, "the animal fell over backwards": 1}
    show([row | {"policy": names[0], "env": {"actions": "modes"}}, row | {"policy": names[1], "failures": failed}])
    said = capsys.readouterr().out
    assert "4 episodes, seeds 1000 to 1003" in said and all(said.count(name) > 1 for name in names)
    assert f"{names[0]}: actions=modes\n" in said and "-0.00 " not in said
    assert f"{names[1]} failed: 3: the body crossed itself; 1: the animal fell" in said


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


def test_a_simulation_is_saved_by_the_endings(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    how = ("simulate", "worm", "--drive", "sine", "--duration", 0.02, "--size", "128x128")
    command(*how, "--save", "a.npz", "a.json", "a.png", "--csv", "a.csv", "--film", "a.gif")
    run = Trajectory.load(tmp_path / "a.npz")
    for rows in (json.loads((tmp_path / "a.json").read_text()), list(csv.DictReader((tmp_path / "a.csv").open()))):
        assert [float(row["time"]) for row in rows] == run.time.tolist()
        assert [float(row["joint_angle_3"]) for row in rows] == run["joint_angle"][:, 3].tolist()
    assert (tmp_path / "a.png").read_bytes()[1:4] == b"PNG" and (tmp_path / "a.gif").read_bytes()[:3] == b"GIF"
    for names in (("b.mp4", "b.png"), ("c.npz",)):
        with pytest.raises(SystemExit, match=r"must (end in|be a file)"):
            command("render", SWIM, "--save", *names, "no/where.png")
    assert not {"b.mp4", "b.png", "c.npz"} & {path.name for path in tmp_path.iterdir()}


@pytest.mark.full
@pytest.mark.parametrize("model", MODELS)
def test_models_of_the_package_are_simulated(command, tmp_path, model):
    command("simulate", model, "--duration", 0.01, "--save", tmp_path / "run.npz")
    start = Trajectory.load(tmp_path / "run.npz")["q"][0]
    assert start == pytest.approx({"hindlimb": POSTURE, "standing": upright(1.1)}.get(model, start))


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
    with pytest.raises(SystemExit, match="env must leave params out where param is given"):
        command("evaluate", SWIM, "--env", "params={}", "--param", "stiffness=1e-10")
    with pytest.raises(SystemExit, match="params"):
        command("play", SWIM, "--param", "stifness=1e-10")
