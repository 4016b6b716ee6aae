"""Models: what is read from files and mappings, and how mistakes in them are named."""

import copy
import tomllib
from importlib import resources

import numpy as np
import pytest
from neuromechanic.test_neuromechanic_physics import SHAPES, hanging

from gymnosoma.envs import simulate
from gymnosoma.envs.neuromechanic import Neuromechanic, load
from gymnosoma.envs.neuromechanic import muscles as hill
from gymnosoma.envs.neuromechanic.hindlimb import asset

ARM = asset("arm")
LOOP = {
    "a": {"synapse": [{"from": "neuron.b"}]},
    "b": {"synapse": [{"from": "neuron.a"}]},
}


def test_a_file_and_a_dict_are_the_same(tmp_path):
    text = resources.files("gymnosoma.assets").joinpath("neuromechanic/arm.toml").read_text()
    (tmp_path / "arm.toml").write_text(text)
    one, two = load(tmp_path / "arm.toml"), load(tomllib.loads(text))
    assert one.bodies == two.bodies == ("upper", "fore")
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


# Constants of muscles


def test_passive_curves_are_opensims():
    """De Groote's has the offset that makes it 0 at a fifth of the optimal length; Thelen's is 0 up to that length."""
    offset, shape = np.exp(4.0 * (0.2 - 1.0) / 0.6), SHAPES[0]
    for length in np.linspace(0.21, 1.8, 9):
        exact = (np.exp(4.0 * (length - 1.0) / 0.6) - offset) / (np.exp(4.0) - offset)
        assert hill.passive_force(hill.DE_GROOTE, shape, length) == pytest.approx(exact, rel=1e-12)
        exact = max(np.expm1(5.0 * (length - 1.0) / 0.6) / np.expm1(5.0), 0.0)
        assert hill.passive_force(hill.THELEN, shape, length) == pytest.approx(exact, rel=1e-12)
    assert hill.passive_force(hill.DE_GROOTE, shape, 1.0) == pytest.approx(0.018229, abs=1e-6)
    assert hill.passive_force(hill.DE_GROOTE, shape, 0.1) == hill.passive_force(hill.THELEN, shape, 0.9) == 0.0


def test_activation_has_the_published_time_constants():
    """De Groote et al. (2016): 15 and 60 ms, in the closed form of Thelen (2003), Eq. 1, for constant excitation."""
    animal = Neuromechanic(hanging("rigid_tendon"), dt=2.5e-4)

    def activation(excitation, start, time):
        return simulate(animal, np.array([excitation]), time, start={"activation": [start]})["activation"][-1, 0]

    a = activation(0.0, 1.0, 0.03)
    assert np.log(0.5 * (0.5 + 1.5 * a) / a) == pytest.approx(0.5 * 0.03 / 0.06, rel=0.01)
    a = activation(1.0, 0.0, 0.01)
    assert -1.5 * a - 2.0 * np.log(1.0 - a) == pytest.approx(0.01 / 0.015, rel=0.03)  # a smooth switch: 2%
