"""Files that are passed to the wrong function: the error has the right one."""

import re
from pathlib import Path

import numpy as np
import pytest
from formats import FORMATS

from gymnosoma import agents, biomechanics, recordings
from gymnosoma.agents.learning.training import train
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.envs import Circuit, Schedule, Trajectory, simulate
from gymnosoma.envs.core.kinds import LOADERS, kind_of
from gymnosoma.envs.lamprey import Lamprey
from gymnosoma.envs.lamprey.analysis import Swimming
from gymnosoma.envs.neuromechanic import Neuromechanic, equilibrate, linearise
from gymnosoma.envs.whisker_chain import Whisker, WhiskerParams, quasi_static
from gymnosoma.envs.whisker_rod import Relief, WhiskerRod, WhiskerRodParams
from gymnosoma.envs.worm import KymogramPlayback, Worm
from gymnosoma.envs.worm.analysis import Gait
from gymnosoma.envs.wrappers import make_vec
from gymnosoma.films import film

SWIM = "gymnosoma/WormSwim-v0"
KINDS = {
    "cord.toml": "circuit",
    "worm.toml": "circuit",
    "arm.toml": "model",
    "recipe.toml": "recipe",
    "card.json": "policy",
    "policy.safetensors": "policy",
    "results.jsonl": "results",
    "results.jsonl.xz": "results",
    "run.npz": "trajectory",
    "wave.npy": "kymogram",
    "gaps.npy": "kymogram",
    "lines.npy": "midlines",
    "lines.csv": "midlines",
    "dlc.csv": "midlines",
    "lines.wcon": "midlines",
    "lines.zip": "midlines",
    "featuresN.hdf5": "midlines",
    "skeletons.hdf5": "midlines",
    "base.csv": "base",
    "base.measurements": "base",
    "base.whiskers": "base",
    "drive.csv": "",  # numbers alone, as are the next ones
    "wave.csv": "",
    "gaps.csv": "",
    "heights.txt": "",
    "values.csv": "",
    "hair.toml": "",
    "config.json": "",
    "walk.mot": "motion",
    "walk.trc": "motion",
    "leg.osim": "foreign",
    "arm.xml": "foreign",
}
"""Kind of each file of `FORMATS`; empty if other functions may read it, too."""

TABLES = {"kymogram": ("base", "kymogram", "drive"), "": ("base", "drive")}
"""Kinds of tables that a reader of a kind can read, too, or refuses by its own words."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with a file of each format."""
    monkeypatch.chdir(tmp_path)
    for name, form in FORMATS.items():
        form.write(Path(name))
    Path("timed.csv").write_text("time,biceps\n0,1\n1,2\n")
    Path("loads.xml").write_text("<OpenSimDocument><ExternalLoads/></OpenSimDocument>")
    return tmp_path


def test_every_format_has_a_kind(folder):
    assert {name: kind_of(name) for name in FORMATS} == KINDS
    assert (kind_of("timed.csv"), kind_of("loads.xml"), kind_of("missing.csv"), kind_of(3)) == (
        "drive",
        "loads",
        "",
        "",
    )
    assert kind_of("missing.osim") == "foreign" and {*KINDS.values()} - {""} <= {*LOADERS}


# Those of whole folders are tried below.
@pytest.mark.parametrize("door", [name for name in FORMATS if KINDS[name] != "policy" and name != "config.json"])
def test_a_reader_of_one_format_refuses_the_others(folder, door):
    own, tried = "kymogram" if door in ("wave.csv", "gaps.csv") else KINDS[door], 0
    for name, kind in KINDS.items():
        if kind in ("", own) or kind in TABLES.get(own, ()):
            continue
        with pytest.raises(ValueError) as caught:
            FORMATS[door].read(Path(name))
        assert str(caught.value).endswith(f"load it with {LOADERS[kind]}"), name
        assert name in str(caught.value) and "\n" not in str(caught.value)
        tried += 1
    assert tried >= 13


def arm():
    return Neuromechanic("arm.toml")


OBJECTS = {
    "animal": [
        (lambda: simulate("arm.toml", None, 1.0), "model"),
        (lambda: simulate(Path("arm.toml"), None, 1.0), "model"),
        (lambda: biomechanics.inverse_dynamics("leg.osim", "walk.mot"), "foreign"),
        (lambda: biomechanics.torques("leg.osim", [0], [0], [0], [0]), "foreign"),
        (lambda: biomechanics.moment_arms("leg.osim", "knee"), "foreign"),
        (lambda: biomechanics.induced_accelerations("arm.toml", None), "model"),
        (lambda: biomechanics.characteristic_roots("arm.toml", {}), "model"),
        (lambda: biomechanics.input_matrix("arm.toml", {}), "model"),
        (lambda: biomechanics.lqr("arm.toml", {}), "model"),
        (lambda: equilibrate("arm.toml", [0]), "model"),
        (lambda: linearise("arm.toml", {}), "model"),
        (lambda: Trajectory.load("run.npz", "arm.toml"), "model"),
    ],
    "drive": [
        (lambda: simulate(Worm(), "lines.wcon", 1.0), "midlines"),
        (lambda: simulate(Worm(), "drive.csv", 1.0), "drive"),
    ],
    "run": [
        (lambda: film("run.npz", "film.png"), "trajectory"),
        (lambda: Gait("run.npz"), "trajectory"),
        (lambda: Swimming(Lamprey(), "run.npz"), "trajectory"),
        (lambda: biomechanics.point_path(arm(), "run.npz", "fore"), "trajectory"),
    ],
    "motion": [
        (lambda: biomechanics.inverse_dynamics(arm(), "walk.mot"), "motion"),
        (lambda: biomechanics.static_optimisation(arm(), "walk.mot"), "motion"),
        (lambda: recordings.forces("lines.wcon", 1.0), "midlines"),
    ],
    "motions": [
        (lambda: recordings.fit_medium("lines.wcon"), "midlines"),
        (lambda: recordings.fit_medium(["lines.npy"]), "midlines"),
    ],
    "loads": [
        (lambda: biomechanics.inverse_dynamics(arm(), biomechanics.read_motion("walk.mot"), "loads.xml"), "loads")
    ],
    "worm": [(lambda: recordings.classify("lines.wcon"), "midlines")],
    "base": [(lambda: recordings.free_forces("base.csv"), "base")],
    "points": [(lambda: recordings.Midlines.from_array("lines.npy", 30.0), "midlines")],
    "times": [(lambda: Schedule("timed.csv", None), "drive")],
    "table": [(lambda: Circuit.from_table("cord.toml"), "circuit")],
    "description": [(lambda: biomechanics.write_toml("leg.osim"), "foreign")],
    "params": [
        (lambda: Worm("cord.toml"), "circuit"),
        (lambda: Lamprey("cord.toml"), "circuit"),
        (lambda: Whisker("hair.toml"), None),
        (lambda: WhiskerRod("hair.toml"), None),
        (lambda: quasi_static([0.1], [0.02, 0.01], "hair.toml"), None),
    ],
    "hair": [(lambda: WhiskerParams.of("hair.toml"), None), (lambda: WhiskerRodParams.of("hair.toml"), None)],
    "circuit": [
        (lambda: Worm(circuit="arm.toml"), "model"),
        (lambda: Lamprey(circuit="run.npz"), "trajectory"),
    ],
    "modules": [(lambda: Neuromechanic("arm.toml", modules="cord.toml"), "circuit")],
    "kymogram": [(lambda: KymogramPlayback("lines.wcon"), "midlines")],
    "config": [(lambda: train(SWIM, Path("out"), "recipe.toml"), "recipe")],
    "agent": [(lambda: agents.rollout(make_vec(SWIM, 1), "run"), "gymnosoma.agents.load_policy")],
    "policy": [
        (lambda: evaluate(SWIM, "trained"), "gymnosoma.agents.policies.lookup.find_policy"),
        (lambda: find_policy(SWIM, "run.npz"), "trajectory"),
        (lambda: find_policy(SWIM, "card.json"), "policy"),
    ],
    "folder": [
        (lambda: agents.load_policy("run.npz", make_vec(SWIM, 1)), "trajectory"),
        (lambda: agents.load_policy("policy.safetensors", make_vec(SWIM, 1)), "policy"),
    ],
    "relief": [(lambda: WhiskerRod(relief="heights.txt"), "gymnosoma.envs.whisker_rod.Relief.measured")],
    "model": [
        (lambda: Neuromechanic("leg.osim"), "foreign"),
        (lambda: Neuromechanic("cord.toml"), "circuit"),
        (lambda: biomechanics.load("arm.toml"), "model"),
    ],
}
"""Calls with the name of a file, by the argument that is wrong, and the kind of the file or the function."""


@pytest.mark.parametrize("name", OBJECTS)
def test_a_file_in_place_of_an_object_is_refused(folder, name):
    for call, kind in OBJECTS[name]:
        with pytest.raises(ValueError, match=rf"^{name} ") as caught:
            call()
        text = str(caught.value)
        assert kind is None or text.endswith(f"load it with {LOADERS.get(kind, kind)}"), text
        assert re.search(r"'[\w.]+'", text) and "\n" not in text


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("simulate run.npz --save a.png", "trajectory"),
        ("simulate cord.toml --save a.png", "circuit"),
        ("simulate worm --drive lines.wcon --save a.png", "midlines"),
        ("simulate worm --param circuit=leg.osim --save a.png", "foreign"),
        ("fit worm run.npz", "trajectory"),
        ("fit worm base.csv", "base"),
        ("fit whisker lines.wcon", "midlines"),
        ("fit whisker base.csv --params cord.toml", "circuit"),
        ("import arm.toml", "model"),
        ("train cord.toml", "circuit"),
        ("train run.npz", "trajectory"),
        ("train WormSwim-v0 --recipe arm.toml", "model"),
        ("evaluate WormSwim-v0 --policy card.json", "policy"),
        ("evaluate arm.toml", "model"),
        ("render WormSwim-v0 --policy run.npz --save a.png", "trajectory"),
        ("benchmark check run.npz", "trajectory"),
        ("benchmark table card.json", "policy"),
    ],
)
def test_a_command_refuses_files_of_another_kind(folder, error_of, words, kind):
    assert error_of(*words.split()).endswith(f"load it with {LOADERS[kind]}")


def test_names_that_are_no_files_are_left_to_the_function():
    assert Relief.sine(1e-6, 1e-4).period == 1e-4
    assert len(simulate(Worm(), np.zeros(24), 0.01, signals=("power",)).time) > 1
