"""Run folders: killed, interrupted, on a full disk, damaged; whatever happens, a run goes on as if nothing had."""

import io
import json
import pickle
import re
import shutil
import signal
import sys
import zipfile
from pathlib import Path

import pytest
import stable_baselines3
import torch
from runs import SWIM, FullDisk, curve, train

from gymnosoma.agents.learning.runs import read_config
from gymnosoma.agents.learning.training import TrainConfig
from gymnosoma.agents.policies import repository
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.agents.support.interruption import noted_signals
from gymnosoma.agents.support.progress import sparkline
from gymnosoma.cli.arguments import read_arguments
from gymnosoma.cli.train import LAST, STOPPING
from gymnosoma.cli.train import train as train_command
from gymnosoma.envs.core import files

ROLLOUT = 8 * 128
"""Steps between two updates of PPO with eight animals."""
SHORT = {"num_envs": 8, "steps": 4 * ROLLOUT, "checkpoint": 1}
WILD = Path(__file__).parents[1] / "fixtures" / "wild.toml"
"""Recipe by which a worm soon crosses itself: episodes end within a rollout, and each update gives the curve a row."""


def steps_of(folder):
    """Steps that the checkpoint of a run has; -1 without one."""
    if not (folder / "checkpoint.zip").exists():
        return -1
    with zipfile.ZipFile(folder / "checkpoint.zip") as archive:
        return json.loads(archive.read("data"))["num_timesteps"]


def assert_same(folder, other, algorithm="ppo"):
    """Two runs must have the same curve, and the same weights and optimizers, to the bit."""
    assert curve(folder) == curve(other)
    kind = getattr(stable_baselines3, algorithm.upper())
    one, two = (kind.load(path / "checkpoint.zip", device="cpu").get_parameters() for path in (folder, other))
    torch.testing.assert_close(one, two, rtol=0.0, atol=0.0)


@pytest.mark.parametrize(
    ("algorithm", "num_envs", "steps", "kill", "stop"),
    [
        ("ppo", 32, 20_000, 4, 1),
        ("sac", 8, 4_400, 20, 17),  # the network learns from step 4000 on
        pytest.param("ppo", 64, 40_000, 4, 1, marks=pytest.mark.full),
    ],
)
def test_a_resumed_run_equals_one_in_one_go(tmp_path, algorithm, num_envs, steps, kill, stop):
    """Killed after some updates, when the last checkpoint is old; stopped some updates after it was resumed."""
    arguments = {"algorithm": algorithm, "num_envs": num_envs, "steps": steps, "checkpoint": steps // 4}
    updates = iter(range(1, 10**6))

    def copy():
        if next(updates) == kill:
            shutil.copytree(tmp_path / "whole", tmp_path / "run")

    assert train(SWIM, tmp_path / "whole", **arguments, stop=copy)
    kept = steps_of(tmp_path / "run")
    assert 0 < kept < steps
    stops = iter([False] * stop)
    assert not train(SWIM, tmp_path / "run", resume=True, stop=lambda: next(stops, True))
    assert kept < steps_of(tmp_path / "run") < steps
    assert train(SWIM, tmp_path / "run", resume=True)
    assert_same(tmp_path / "run", tmp_path / "whole", algorithm)


def test_a_kill_loses_at_most_one_interval(tmp_path):
    done = []

    def look():
        kept = steps_of(tmp_path / "run")
        assert len(done) * ROLLOUT - kept <= 3 * ROLLOUT - 1
        assert not curve(tmp_path / "run") or curve(tmp_path / "run")[-1][0] <= kept
        done.append(kept)

    arguments = {"num_envs": 8, "steps": 8 * ROLLOUT, "checkpoint": 3 * ROLLOUT - 1}
    train(SWIM, tmp_path / "run", **arguments, recipe=WILD, stop=look)
    assert len(done) == 8 and len(set(done)) == 4


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run in one go, with its evaluation."""
    folder = tmp_path_factory.mktemp("training") / "run"
    train_command("WormSwim-v0", TrainConfig(**SHORT, recipe=WILD), folder=folder, episodes=1)
    return folder


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The same run, stopped before its last update."""
    stops = iter([False] * 3)
    folder = tmp_path_factory.mktemp("training") / "run"
    assert not train(SWIM, folder, **SHORT, recipe=WILD, stop=lambda: next(stops, True))
    assert len(curve(folder)) >= 2
    return folder


@pytest.fixture
def half(stopped, tmp_path):
    """A copy of the run that was stopped."""
    return shutil.copytree(stopped, tmp_path / "run")


def test_a_run_is_a_model_repository_that_numpy_plays(whole, tmp_path, monkeypatch):
    """As a clone without the checkpoint; the metadata are JSON, of which YAML is a superset."""
    clone = tmp_path / "clone"
    clone.mkdir()
    for name in repository.FILES:
        if name != repository.ENVIRONMENT:  # of models in files only
            shutil.copy(whole / name, clone)
    _, head, text = (clone / "README.md").read_text("utf-8").split("---\n")
    metadata = {key: json.loads(value) for key, value in (line.split(": ", 1) for line in head.splitlines())}
    assert metadata["license"] == "mit" and metadata["library_name"] == "gymnosoma"
    (result,) = metadata["model-index"][0]["results"]
    assert result["dataset"]["type"] == SWIM and "+/-" in result["metrics"][0]["value"]
    assert f"({repository.PICTURE})" in text and "gymnosoma evaluate WormSwim-v0" in text
    for name in ("torch", "stable_baselines3"):
        monkeypatch.setitem(sys.modules, name, None)
    played = evaluate(SWIM, find_policy(SWIM, str(clone)), 1, 1000).returns[0]
    assert played == json.loads((whole / "evaluation.json").read_text("utf-8"))[0]["return_mean"]


def test_a_curve_is_drawn_in_a_line(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), "utf-8"))
    assert sparkline([]) == "" and sparkline([2.0, 2.0]) == "▁▁" and sparkline([0.0, 7.0, 3.0]) == "▁█▄"
    assert sparkline(range(48)) == "▁▂▂▃▄▄▅▅▆▇▇█"
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), "ascii"))
    assert sparkline([1.0]) == ""


@pytest.mark.parametrize(
    "harm", [lambda path: path.unlink(), lambda path: path.write_bytes(b"\xff\x00\r" * 1000)], ids=["absent", "bytes"]
)
def test_a_broken_curve_is_mended_from_the_checkpoint(whole, half, harm):
    harm(half / "curve.csv")
    assert train(SWIM, half, resume=True)
    assert_same(half, whole)


def change_state(path, change):
    """Change our part of a checkpoint."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    state = pickle.loads(members.pop("state.pkl"))
    if change is not None:
        members["state.pkl"] = pickle.dumps(state | change)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (None, "it has no state.pkl"),
        ({"algorithm": "sac"}, "its algorithm is 'sac', but 'ppo' in config.json"),
    ],
)
def test_a_foreign_checkpoint_is_refused(whole, tmp_path, change, message):
    shutil.copytree(whole, tmp_path / "run")
    change_state(tmp_path / "run" / "checkpoint.zip", change)
    with pytest.raises(ValueError, match=f"checkpoint '.*checkpoint.zip' cannot be loaded: .*{message}"):
        train(SWIM, tmp_path / "run", resume=True)


@pytest.fixture
def without_ctrl_c():
    """Python's own reaction to signals, whatever the test runner has made of it."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_is_obeyed_at_once(without_ctrl_c, first):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), noted_signals(*STOPPING, message=LAST) as caught:
        signal.raise_signal(first)
        assert caught == [first]
        assert signal.getsignal(signal.SIGTERM) is before
        signal.raise_signal(signal.SIGINT)
    with noted_signals(*STOPPING, message=LAST) as caught:
        pass
    assert not caught and signal.getsignal(signal.SIGINT) is signal.default_int_handler


FILES = (
    "checkpoint.zip",
    "curve.csv",
    "config.json",
    "policy.safetensors",
    "card.json",
    "evaluation.json",
)


@pytest.mark.parametrize(
    ("name", "after"),
    [("checkpoint.zip", 2), ("config.json", 0)]
    + [pytest.param(name, 0, marks=pytest.mark.full) for name in ("checkpoint.zip", "curve.csv", *FILES[3:])],
)
def test_a_full_disk_costs_no_run(whole, tmp_path, monkeypatch, name, after):
    """The disk is full when a file of that name is to be written, after so many of them."""
    folder, opened = tmp_path / "run", []
    arguments = {"config": TrainConfig(**SHORT, recipe=WILD), "folder": folder, "episodes": 1}

    def scarce(path, mode):
        opened.append(path.name.rpartition("-")[0])
        full = opened[-1] == f"partial-{name}" and opened.count(f"partial-{name}") > after
        return io.BufferedRandom(FullDisk(path, "x+")) if full else open(path, mode)

    monkeypatch.setattr(files, "open", scarce, raising=False)
    with pytest.raises(OSError, match=rf"\[Errno 28\] No space left on device: '.*{name}'"):
        train_command("WormSwim-v0", **arguments)
    assert not list(folder.glob("partial-*")) and f"partial-{name}" in opened
    began = (folder / "config.json").exists()
    assert began or (name in FILES[:3] and not after)  # nothing was begun, nothing is lost
    if began:
        assert curve(folder) == curve(whole)[: len(curve(folder))]
    monkeypatch.undo()
    train_command("WormSwim-v0", **arguments, resume=began)
    assert_same(folder, whole)
    assert {path.name for path in folder.iterdir()} >= set(FILES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("actions=residual", {"actions": "residual"}),
        ("dt=1e-3", {"dt": 1e-3}),
        ('randomize={"stiffness": [1, 2]}', {"randomize": {"stiffness": [1, 2]}}),
        ("dt=NaN", {"dt": "NaN"}),
    ],
)
def test_arguments_are_read(text, expected):
    assert read_arguments([text]) == expected
    with pytest.raises(ValueError, match="env must be NAME=VALUE"):
        read_arguments(["=3"])


def test_a_recipe_is_a_file(tmp_path):
    with pytest.raises(ValueError, match="recipe must be a file, got"):
        train(SWIM, tmp_path / "run", recipe=tmp_path)


def test_seeds_are_trained_one_after_another(tmp_path, capsys):
    asked, short = {"folder": tmp_path / "run", "seeds": 2, "episodes": 1}, {"num_envs": 8, "seed": 3}
    train_command("WormSwim-v0", TrainConfig(**short, steps=ROLLOUT), **asked)
    told = capsys.readouterr().out
    assert re.match(
        rf"{SWIM}: ppo, 1,024 steps, 2 runs, about \d+ s on one core.\nPublished .*own controller 0.09", told
    )
    assert "below the trained policy of the package" in told and told.endswith(" --save film.mp4\n")
    one, two = (tmp_path / f"run-{k}" for k in (3, 4))
    assert [read_config(folder).seed for folder in (one, two)] == [3, 4]
    shutil.rmtree(two)
    with pytest.raises(ValueError, match="already contains a run"):
        train_command("WormSwim-v0", TrainConfig(**short, steps=ROLLOUT), **asked)
    train_command("WormSwim-v0", TrainConfig(**short, steps=2 * ROLLOUT), **asked, resume=True)
    assert [steps_of(folder) for folder in (one, two)] == [2 * ROLLOUT, 2 * ROLLOUT]
    assert json.loads((two / "evaluation.json").read_text())[0]["policy"] == "run-4"
