"""Models: what is read from files and mappings, and how mistakes in them are named."""

import copy

import numpy as np
import pytest

from gymnosoma.envs.neuromechanic import COM, Module, Neuromechanic, load
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
        (edit("body", "upper", "parent", value="fore"), r"body.\w+.parent makes a cycle: \w+ -> \w+ -> \w+"),
        (edit("body", "fore", "parent", value="uper"), "body.fore.parent: body 'uper' is not known; known are ground"),
        (edit("body", "fore", "inertial", "mass", value=-1.0), "body.fore.inertial.mass must be .* got -1.0"),
        (
            edit("body", "fore", "inertial", value={"mass": 0}),
            "body.fore.inertial.mass must be greater than 0: nothing",
        ),
        (
            edit("body", "fore", "inertial", "inertia", value=[1, 0.1, 0.1]),
            "body.fore.inertial.inertia must be moments",
        ),
        (edit("body", "fore", "joint", "axis", value=[0, 0, 0]), "body.fore.joint.axis must not be zero"),
        (edit("body", "fore", "joint", "axis", value=[0, 1]), "body.fore.joint.axis must be a list of 3 numbers"),
        (
            edit("body", "fore", "joint", "type", value="weld"),
            "body.fore.joint.type must be one of revolute, prismatic, ball, free",
        ),
        (edit("body", "fore", "joint", "damping", value=float("nan")), "body.fore.joint.damping must be a number"),
        (edit("body", "fore", "jiont", value={}), "body.fore.jiont is not known; allowed are parent, joint, inertial"),
        (lambda model: without(model, "body", "fore", "joint"), "body.fore.joint is missing"),
        (
            lambda model: model["muscle"]["biceps"].update(kind=model["muscle"]["biceps"].pop("model")),
            "muscle.biceps.model is missing, and kind is not known",
        ),
        (edit("gravty", value=[0, 0, 0]), "model.gravty is not known; allowed are schema, gravity"),
        (edit("schema", value=2), "model.schema must be 1, got 2"),
        (lambda model: model["neuron"].update(LOOP), r"neuron.\w.synapse without delay makes a cycle: \w -> \w -> \w"),
        (
            edit("neuron", "reflex", "synapse", 0, "from", value="muscle.biceps.size"),
            r"synapse\[0\].from: a muscle has",
        ),
        (edit("neuron", "reflex", "synapse", 0, "from", value="muscle.b.length"), "muscle 'b' is not known; known are"),
        (edit("neuron", "reflex", "synapse", 0, "from", value="thought"), r"synapse\[0\].from must be one of joint"),
        (edit("neuron", "reflex", "synapse", 0, "delay", value=-0.1), r"synapse\[0\].delay must be .* -0.1"),
        (edit("neuron", "reflex", "shape", "low", value=2.0), "neuron.reflex.shape.low must be less than high"),
        (
            edit("muscle", "biceps", "path", value=[["ground", 0, 0, 0]]),
            "muscle.biceps.path must be a list of at least 2",
        ),
        (edit("muscle", "biceps", "path", 1, value=["hand", 0, 0, 0]), r"muscle.biceps.path\[1\]: body 'hand'"),
        (edit("muscle", "biceps", "model", "max_force", value=0.0), "muscle.biceps.model.max_force must be .* 0.0"),
        (
            edit("muscle", "biceps", "model", "type", value="hill"),
            "muscle.biceps.model.type must be one of rigid_tendon",
        ),
        (edit("muscle", "biceps", "excitation", value=1.5), "muscle.biceps.excitation must be .* 1.5"),
        (edit("muscle", "biceps", "length", value={}), "muscle.biceps must have either path or length"),
        (edit("body", value={}), "model.body must hold at least one body"),
    ],
)
def test_bad_models_are_named(change, message):
    model = copy.deepcopy(ARM)
    if isinstance(model, dict):
        change(model)
    with pytest.raises(ValueError, match=message):
        load(model)


def test_a_delay_must_fit_the_time_step():
    with pytest.raises(ValueError, match=r"delay must be a whole number of time steps of 0.007 s, got 0.03 s"):
        Neuromechanic(ARM, dt=7e-3)
    with pytest.raises(ValueError, match="cannot simulate delays"):
        Neuromechanic(ARM).integrate(0.1, 0.1)


@pytest.mark.parametrize("text", ["schema = ", "no file"])
def test_unreadable_files_are_named(tmp_path, text):
    path = tmp_path / "model.toml"
    if text != "no file":
        path.write_text(text)
    with pytest.raises(ValueError, match=r"model.toml' cannot be read"):
        load(path)


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ({"com": Module(-1, 0, None)}, "modules: states and outputs must be at least 0"),
        ({"com": Module(1, 0, None)}, "modules: kernel must be a function, got None"),
        ({"com": COM}, "module 'com' has 12 outputs, counted from 0, got 'module.com.12'"),
        ({}, "module 'com' is not known"),
    ],
)
def test_wrong_modules_are_named(modules, message):
    model = copy.deepcopy(ARM)
    model["neuron"]["n"] = {"synapse": [{"from": "module.com.12"}]}
    with pytest.raises(ValueError, match=message):
        load(model, modules)
