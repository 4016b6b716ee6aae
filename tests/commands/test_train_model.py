"""A file of a model as the target of train: goals in degrees, and run folders that all commands accept."""

import json
import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from gymnosoma.agents.policies.models import ENVIRONMENT
from gymnosoma.agents.policies.registry import full_id
from gymnosoma.biomechanics import import_model
from gymnosoma.biomechanics.self_check import falling
from gymnosoma.envs import register_model
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.hindlimb import asset

pytestmark = pytest.mark.full

OPENSIM = Path(__file__).parents[1] / "opensim"
PELVIS = ["pelvis_tx", "pelvis_ty", "pelvis_tilt"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("arm26.osim", "--joint", "elbow"), "joint must be one of r_shoulder_elev, r_elbow_flex, got 'elbow'"),
        (
            ("arm26.osim", "--goal", "131"),
            "numbers from 0 to 130 degrees, the range of r_elbow_flex, got 131",
        ),
        (
            ("leg6dof9musc.osim", "--joint", "pelvis_ty", "--goal", "4"),
            "from -1 to 3 m, the range of pelvis_ty",
        ),
        (("arm26.osim", "--goal", "10", "20", "30"), "got 10 20 30"),
        (("leg6dof9musc.osim",), f"fixed must hold the model, .* use --fixed {' '.join(PELVIS)}"),
        (("leg6dof9musc.osim", "--fixed", "hip"), "fixed 'hip' is not known|fixed must be one of"),
    ],
)
def test_what_a_model_cannot_do_is_one_line(tmp_path, monkeypatch, error_of, asked, message):
    monkeypatch.chdir(tmp_path)
    text = error_of("train", OPENSIM / asked[0], *asked[1:])
    assert re.search(message, text), text
    assert not list(tmp_path.iterdir())


def test_a_model_falls_unless_something_carries_it():
    leg = import_model(OPENSIM / "leg6dof9musc.osim")[0]
    assert falling(Neuromechanic(leg)) == PELVIS
    assert falling(Neuromechanic(leg | {"gravity": [0.0, 0.0, 0.0]})) == []
    spring = json.loads(json.dumps(leg))
    spring["body"]["pelvis_ty"]["joint"]["stiffness"] = 1e4
    assert falling(Neuromechanic(spring)) == []
    assert falling(Neuromechanic(asset("arm"))) == [] == falling(Neuromechanic(asset("hopper")))


def test_a_run_folder_of_a_model_is_an_id_for_all_commands(tmp_path, monkeypatch, command, capsys):
    monkeypatch.chdir(tmp_path)
    model = asset("arm")
    model["body"]["fore"]["joint"]["range"] = [0.0, 2.5]
    from gymnosoma.biomechanics import write_toml

    Path("mine.toml").write_text(write_toml(model))
    steps = ("--steps", 512, "--num-envs", 4, "--episodes", 2, "--recipe", "quick.toml")
    Path("quick.toml").write_text("[ppo]\nn_steps = 64\nbatch_size = 64\n")
    command("train", "mine.toml", "--goal", 60, "--folder", "run", *steps)
    text = capsys.readouterr().out
    assert "Task: move fore to 60 degrees (range 0 to 143.2) and hold it there." in text
    assert "gymnosoma render run --policy run" in text and Path("run/episode.gif").is_file()
    before = gymnasium.spec("gymnosoma/mine-v0").kwargs
    del gymnasium.registry["gymnosoma/mine-v0"]
    command("evaluate", "run", "--policy", "run", "baseline", "random", "--episodes", 2)
    assert "held [s]" in capsys.readouterr().out
    assert gymnasium.spec(full_id("run")).kwargs == before
    env = gymnasium.make("gymnosoma/mine-v0")
    _, info = env.reset(seed=0)
    assert info["goal"] == pytest.approx(np.pi / 3.0) and not info["is_success"]
    own = json.loads(Path("run", ENVIRONMENT).read_text())
    for change in ({"env_id": "gymnosoma/WormSwim-v0"}, {"env_id": "other"}, {"task": "os:system"}):
        Path("run", ENVIRONMENT).write_text(json.dumps(own | change))
        with pytest.raises(ValueError, match=r"env_id|not known"):
            full_id("run")


def test_a_goal_may_be_fixed_and_held():
    """A joint that follows its goal holds it, and the time starts again when it leaves."""
    env_id = "gymnosoma/TestGoal-v0"
    register_model(env_id, asset("arm"), joint="fore", goal=0.5)
    try:
        env = gymnasium.make(env_id).unwrapped
        for seed in range(3):
            assert env.reset(seed=seed)[1]["goal"] == 0.5
        held = []
        for angle in [0.5] * 60 + [0.7] + [0.45] * 5:
            env.batch.rows["q"][0, 1], env.batch.rows["v"][0] = angle, 0.0
            info = env.step(-np.ones(2, np.float32))[-1]
            held.append((info["held"], bool(info["is_success"])))
        assert held[48][0] == pytest.approx(0.98) and not held[48][1] and held[49][1]
        assert held[60] == (0.0, False) and held[-1][0] == pytest.approx(0.1)
        for goal, message in ((9.0, "goal of fore must be within"), ((0.5, 0.2), "low < high")):
            with pytest.raises(ValueError, match=message):
                gymnasium.make(env_id, goal=goal)
    finally:
        del gymnasium.registry[env_id]


def test_a_free_body_is_held_in_its_start_posture():
    box = {"joint": {"type": "free", "start": [0.1, 0.2, 0.3], "attitude": [0.8, 0.0, 0.6, 0.0]}}
    box["inertial"] = {"mass": 1.0, "inertia": [0.1, 0.1, 0.1]}
    tip = {"parent": "box", "joint": {"type": "revolute", "axis": [0, 0, 1], "at": [0.5, 0, 0]}}
    tip["inertial"] = {"mass": 1.0, "centre": [0.1, 0, 0], "inertia": [0.1, 0.1, 0.1]}
    model = {"schema": 1, "gravity": [0, 0, -9.81], "body": {"box": box, "tip": tip}}
    model |= {"inputs": ["turn"], "motor": {"turn": {"joint": "tip", "from": "input.turn"}}}
    assert falling(Neuromechanic(model)) == ["box"]
    free = Neuromechanic(model)
    place = free.mechanics(free.rows(1))["origin"][-1]
    env_id = "gymnosoma/TestBox-v0"
    register_model(env_id, model, joint="tip", fixed=["box"])
    try:
        env = gymnasium.make(env_id, render_mode="rgb_array", width=320, height=180).unwrapped
        env.reset(seed=0)
        animal = env.task.animal
        assert animal.model.bodies == ("tip",)
        origins = animal.mechanics(env.batch.rows)["origin"]
        assert min(np.linalg.norm(origins - place, axis=1)) < 1e-12
        assert env.render().std() > 0.0
        with pytest.raises(ValueError, match="box must have no position"):
            gymnasium.make(env_id, fixed={"box": 1.0})
    finally:
        del gymnasium.registry[env_id]
