"""Models: what is read from files and mappings, and how mistakes in them are named."""

import copy

import numpy as np
import pytest

from gymnosoma.envs.neuromechanic import load
from gymnosoma.envs.neuromechanic.hindlimb import asset

ARM = asset("arm")
LOOP = {
    "a": {"synapse": [{"from": "neuron.b"}]},
    "b": {"synapse": [{"from": "neuron.a"}]},
}


def test_a_file_and_a_dict_are_the_same(tmp_path):
    import tomllib
    from importlib import resources

    path = resources.files("gymnosoma.assets").joinpath("neuromechanic/arm.toml")
    text = path.read_text()
    copied = tmp_path / "arm.toml"
    copied.write_text(text)
    assert len([line for line in text.splitlines() if line.strip()]) == 27
    one, two = load(copied), load(tomllib.loads(text))
    assert one.bodies == two.bodies == ("upper", "fore")
    assert one.inputs == ("triceps", "biceps")
    assert all(np.array_equal(one.arrays[name], two.arrays[name]) for name in one.arrays)


def without(model, *path):
    for key in path[:-1]:
        model = model[key]
    del model[path[-1]]


def edit(*path, value):
    def change(model):
        at = model
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (edit("body", "upper", "parent", value="fore"), r"body.\w+.parent makes a cycle"),
        (edit("body", "fore", "inertial", "mass", value=-1.0), "body.fore.inertial.mass must be .* got -1.0"),
        (lambda model: without(model, "body", "fore", "joint"), "body.fore.joint is missing"),
        (lambda model: model["neuron"].update(LOOP), r"neuron.\w.synapse without delay makes a cycle"),
        (edit("neuron", "reflex", "synapse", 0, "from", value="muscle.b.length"), "muscle 'b' is not known"),
    ],
)
def test_bad_models_are_named(change, message):
    model = copy.deepcopy(ARM)
    if isinstance(model, dict):
        change(model)
    with pytest.raises(ValueError, match=message):
        load(model)


@pytest.mark.parametrize("text", ["schema = ", "no file"])
def test_unreadable_files_are_named(tmp_path, text):
    path = tmp_path / "model.toml"
    if text != "no file":
        path.write_text(text)
    with pytest.raises(ValueError, match=r"model.toml' cannot be read"):
        load(path)
