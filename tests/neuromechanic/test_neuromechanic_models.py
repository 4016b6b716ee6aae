"""Models: what is read from files and mappings, and how mistakes in them are named."""

import copy
import tomllib

import numpy as np
import pytest
from formats import ASSETS, chain, listening
from neuromechanic.test_neuromechanic_physics import SHAPES, hanging
from properties import refuse

from gymnosoma.envs import simulate
from gymnosoma.envs.neuromechanic import Neuromechanic, load
from gymnosoma.envs.neuromechanic import muscles as hill
from gymnosoma.envs.neuromechanic.hindlimb import asset

ARM, TEXT = asset("arm"), (ASSETS / "neuromechanic/arm.toml").read_text()
LOOP = {
    "a": {"synapse": [{"from": "neuron.b"}]},
    "b": {"synapse": [{"from": "neuron.a"}]},
}


def test_a_file_and_a_dict_are_the_same(tmp_path):
    (tmp_path / "arm.toml").write_text(TEXT)
    one, two = load(tmp_path / "arm.toml"), load(tomllib.loads(TEXT))
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


def test_models_from_elsewhere():
    refuse(lambda: load("/dev/zero"), "model '/dev/zero' cannot be read: it is not a regular file")
    refuse(lambda: load(5), "model '5' cannot be read")  # type: ignore[arg-type]
    round_and_round: dict = {"schema": 1}
    round_and_round["body"] = round_and_round
    refuse(lambda: load(round_and_round), "is nested too deeply")
    refuse(lambda: load({"schema": 1, 2: 3}), "model: a name must have 1 to 100 printable characters, got 2")  # type: ignore[dict-item]
    model = tomllib.loads(TEXT)
    joint = model["body"]["fore"]["joint"]
    for wrong in (b"abc", "abc", [True, 0, 1], np.array("abc"), np.zeros(4), np.array([1j, 0, 0]), range(3)):
        joint["axis"] = wrong
        refuse(lambda: load(model), "body.fore.joint.axis must be a list of 3 numbers, got ")
    joint["axis"] = np.array([0, 0, 1], np.float32)
    arrays = load(tomllib.loads(TEXT)).arrays
    assert all(np.array_equal(arrays[name], array) for name, array in load(model).arrays.items())


def test_the_past_is_bounded(tmp_path):
    (tmp_path / "slow.toml").write_text(TEXT.replace("delay = 0.03", "delay = 10"))
    model = load(tmp_path / "slow.toml")
    assert model.records(1e-3)[1]["row"].itemsize < 1 << 18
    for dt in (7e-3, 1e-9, 1e-300):
        refuse(lambda dt=dt: model.records(dt), "slow.toml': delay of a synapse must be a whole number of time steps")


def test_largest_models():
    """As many as are allowed make records that a computer has memory for; nothing recurses."""
    for text in (chain(128), TEXT + listening(900, lambda i: i + 1) + "[neuron.n900]\n"):
        model = load(tomllib.loads(text))
        table, records = model.records(1e-3)
        assert max(table.dtype.itemsize, *(record.itemsize for record in records.values())) < 1 << 29


@pytest.mark.full
def test_rows_whose_neurons_overflow_break_down():
    """A neuron that hears itself louder and louder is a failure, not an infinite observation."""
    model = tomllib.loads(TEXT)
    model["neuron"]["loud"] = {
        "synapse": [{"from": "neuron.loud", "gain": 1e9, "delay": 0.03}, {"from": "input.biceps"}]
    }
    animal = Neuromechanic(model)
    rows, ids = animal.rows(2), np.arange(2)
    animal.advance(rows, ids, np.array([[0.0, 1e-9], [0.0, 0.0]]), 2000)
    assert animal.failures[rows["status"][0]] == "the state is not finite" and rows["status"][1] == 0.0
    for name in animal.signals:
        assert np.isfinite(animal.signal(rows, name)).all(), name
    refuse(
        lambda: animal.reset(rows, ids, {"input": [1e300, 0.0]}), "start: input must be within [-1e+09, 1e+09] in SI"
    )


def test_a_spindle_rests_where_its_muscle_does():
    models = [asset("spindle") for _ in range(3)]
    del models[0]["neuron"]["ia"]["rest"], models[2]["neuron"]["ia"]["rest"]
    models[1]["neuron"]["ia"]["rest"] = 0.15 + 0.14  # slack and optimal length
    one, two = (load(model).arrays for model in models[:2])
    assert all(np.array_equal(one[name], two[name]) for name in one)
    models[2]["muscle"]["biceps"]["model"] = {"type": "proportional", "max_force": 600.0}
    refuse(lambda: load(models[2]), "neuron.ia.rest is missing")


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


@pytest.mark.full
def test_a_delay_of_one_step_is_the_papers_excitation_and_converges_to_ours():
    """Section 2.1.2: excitations use muscle variables of the previous time step, with an error of first order."""

    def moved(dt, delay):
        arm = asset("arm")
        arm["neuron"]["reflex"]["synapse"][0] = {
            "from": "muscle.biceps.fibre_length",
            "gain": 20.0,
            "offset": 0.15,
        } | delay
        return simulate(Neuromechanic(arm, dt), [0.3, 0.2], 0.5, every=0.01, start={"v": [1.0, -2.0]})["q"]

    coarse, fine = (np.abs(moved(dt, {}) - moved(dt, {"delay": dt})).max() for dt in (1e-3, 5e-4))
    assert coarse == pytest.approx(0.025, rel=0.1) and coarse / fine == pytest.approx(2.0, rel=0.1)
