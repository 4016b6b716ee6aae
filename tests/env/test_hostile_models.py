"""What users and foreign files state: numbers, parameters, kymograms, models. An error is one line that names it."""

import re
import tomllib
from collections import Counter
from importlib import resources

import numpy as np
import pytest
from hypothesis import note
from hypothesis import strategies as st
from properties import DEFAULT, TIERS, holds

from gymnosoma.envs.core.arguments import choice, number, numbers, whole
from gymnosoma.envs.core.files import LARGEST_TEXT
from gymnosoma.envs.lamprey import LampreyParams
from gymnosoma.envs.neuromechanic import Neuromechanic, load
from gymnosoma.envs.whisker_chain import WhiskerParams
from gymnosoma.envs.whisker_rod import WhiskerRodParams
from gymnosoma.envs.worm import WormParams, load_kymogram

NAMES = ("arm", "hindlimb", "standing", "spindle")


def refuse(make, *words):
    """Assert that a call raises ValueError in one short line with these words."""
    with pytest.raises(ValueError) as caught:
        make()
    line = str(caught.value)
    assert "\n" not in line and len(line) < 1000, line
    for word in words:
        assert word in line, line


# Numbers

NO_NUMBERS = ["1.0", b"1", True, np.bool_(True), np.str_("1"), 1j, None, {}, object()]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_what_is_no_number(value):
    for wrong in (value, [value], [1.0, value], (2, [value]), np.array([value, value])):
        refuse(lambda wrong=wrong: numbers("stiffness", wrong), "stiffness must be finite, got ")
        refuse(
            lambda wrong=wrong: number("stiffness", wrong, minimum=0), "stiffness must be finite and at least 0, got "
        )
        refuse(lambda wrong=wrong: whole("count", wrong), "count must be an integer from 1 to 1000000, got ")
        refuse(lambda wrong=wrong: choice("scheme", wrong, ("a", "b")), "scheme must be one of a, b, got ")


@pytest.mark.parametrize("value", [bytearray(b"1"), memoryview(b"1"), 10**400, 10**9999], ids=type)
def test_what_numpy_would_convert_or_choke_on(value):
    for wrong in (value, [value], [1.0, value]):
        refuse(lambda wrong=wrong: numbers("x", wrong), "x must be finite, got ")


@pytest.mark.parametrize(
    ("params", "name", "column"),
    [
        (WormParams, "stiffness", False),
        (LampreyParams, "muscle_gain", False),
        (LampreyParams, "mass", True),
        (WhiskerRodParams, "curvature_base", False),
        (WhiskerRodParams, "density", False),
        (WhiskerParams, "length", False),
        (WhiskerParams, "joint_stiffness", True),
        (WhiskerParams, "link_mass", True),
        (WhiskerParams.of, "density", False),
        (WhiskerParams.of, "modulus", True),
    ],
)
def test_parameters_are_numbers_or_columns(params, name, column):
    fit = 1e-3 if column else [1e-3] * 3
    for wrong in (fit, np.array(fit), "1", True, None, [[1e-3] * 3] * 3, [True] * 13, ["1"] * 13, []):
        refuse(lambda wrong=wrong: params(**{name: wrong}), name, "must")


# Kymograms


def test_kymograms_of_any_size(tmp_path):
    with open(tmp_path / "large.npy", "wb") as file:
        file.truncate(LARGEST_TEXT + 1)
    refuse(lambda: load_kymogram(tmp_path / "large.npy"), f"{LARGEST_TEXT + 1} bytes, {LARGEST_TEXT} are allowed")
    refuse(lambda: load_kymogram(5), "kymogram '5' cannot be read")  # type: ignore[arg-type]
    (tmp_path / "notes.csv").write_text("# head, tail\n0.1, -2e-1 # frame 0\n\n3,4\r\n")
    assert load_kymogram(tmp_path / "notes.csv").tolist() == [[0.1, -0.2], [3.0, 4.0]]
    np.save(tmp_path / "small.npy", np.array([[1, 2]], ">i2"))
    assert load_kymogram(tmp_path / "small.npy").tolist() == [[1.0, 2.0]]


# Models

MODELS = {
    name: resources.files("gymnosoma.assets").joinpath(f"neuromechanic/{name}.toml").read_text() for name in NAMES
}
ARM = MODELS["arm"]
LINK = '[body.b%d]\nparent = "%s"\njoint = { type = "revolute", axis = [0, 0, 1] }\ninertial = { mass = 1 }\n'


def chain(count):
    return "schema = 1\n" + "".join(LINK % (i, f"b{i - 1}" if i else "ground") for i in range(count))


def listening(count, to):
    return "".join(f'[neuron.n{i}]\nsynapse = [{{ from = "neuron.n{to(i)}" }}]\n' for i in range(count))


HOSTILE = {
    "long delay": (
        ARM.replace("delay = 0.03", "delay = 1e4"),
        "neuron.reflex.synapse[0].delay must be a number from 0 to 10",
    ),
    "900 bodies": (chain(900), "body must hold at most 128 tables, got 900"),
    "100000 bodies": (chain(100_000), "bytes, 1048576 are allowed"),
    "contacts": (ARM + "".join(f"[contact.c{i}]\n" for i in range(65)), "contact must hold at most 64 tables, got 65"),
    "synapses": (
        ARM + "[neuron.n]\nsynapse = [" + '{ from = "neuron.reflex" },' * 2049 + "]\n",
        "at most 2048 tables, got",
    ),
    "circle": (
        ARM + listening(1000, lambda i: (i + 1) % 1000),
        "neuron.n0.synapse without delay makes a cycle: n0 -> n1",
    ),
    "no UTF-8": (ARM.encode() + b"# \xff\n", "can't decode byte 0xff"),
    "400 digits": (
        ARM.replace("damping = 0.1", "damping = " + "1" * 400),
        "body.upper.joint.damping must be a number within",
    ),
    "hexadecimal": (
        ARM.replace("damping = 0.1", "damping = 0x" + "1" * 9000),
        "body.upper.joint.damping must be a number",
    ),
    "no list": (ARM.replace("[0, -9.81, 0]", "3"), "model.gravity must be a list of 3 numbers, got 3"),
    "truth": (
        ARM.replace("mass = 2.0", "mass = true"),
        "body.upper.inertial.mass must be a number of at least 0, got True",
    ),
    "tiny": (
        ARM.replace("max_force = 600.0", "max_force = 1e-300"),
        "muscle.biceps.model.max_force must be a number of at least 1e-12",
    ),
    "header": (ARM + "[" + ".".join("a" * 100_000) + "]\n", "line 28: a key has more than 16 parts"),
    "braces": (ARM + "x = " + "{ a = " * 100_000, "its values are nested too deeply"),
    "two lines": (ARM + '[body."a\\nb"]\n', "body: a name must have 1 to 100 printable characters, got 'a\\nb'"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_models(tmp_path, name):
    text, message = HOSTILE[name]
    assert text != ARM
    (tmp_path / "foreign.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    refuse(lambda: load(tmp_path / "foreign.toml"), "foreign.toml'", message)


def test_models_from_elsewhere(tmp_path):
    refuse(lambda: load("/dev/zero"), "model '/dev/zero' cannot be read: it is not a regular file")
    refuse(lambda: load(5), "model '5' cannot be read")  # type: ignore[arg-type]
    round_and_round: dict = {"schema": 1}
    round_and_round["body"] = round_and_round
    refuse(lambda: load(round_and_round), "is nested too deeply")
    refuse(lambda: load({"schema": 1, 2: 3}), "model: a name must have 1 to 100 printable characters, got 2")  # type: ignore[dict-item]
    model = tomllib.loads(ARM)
    joint = model["body"]["fore"]["joint"]
    for wrong in (b"abc", "abc", [True, 0, 1], np.array("abc"), np.zeros(4), np.array([1j, 0, 0]), range(3)):
        joint["axis"] = wrong
        refuse(lambda: load(model), "body.fore.joint.axis must be a list of 3 numbers, got ")
    joint["axis"] = np.array([0, 0, 1], np.float32)
    arrays = load(tomllib.loads(ARM)).arrays
    assert all(np.array_equal(arrays[name], array) for name, array in load(model).arrays.items())


def test_the_past_is_bounded(tmp_path):
    (tmp_path / "slow.toml").write_text(ARM.replace("delay = 0.03", "delay = 10"))
    model = load(tmp_path / "slow.toml")
    assert model.records(1e-3)[1]["row"].itemsize < 1 << 18
    for dt in (7e-3, 1e-9, 1e-300):
        refuse(lambda dt=dt: model.records(dt), "slow.toml': delay of a synapse must be a whole number of time steps")


def test_largest_models():
    """As many as are allowed make records that a computer has memory for; nothing recurses."""
    for text in (chain(128), ARM + listening(900, lambda i: i + 1) + "[neuron.n900]\n"):
        model = load(tomllib.loads(text))
        table, records = model.records(1e-3)
        assert max(table.dtype.itemsize, *(record.itemsize for record in records.values())) < 1 << 29


@pytest.mark.full
def test_rows_whose_neurons_overflow_break_down():
    """A neuron that hears itself louder and louder is a failure, not an infinite observation."""
    model = tomllib.loads(ARM)
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


# Mutations

TOKENS = ["nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "0", "-1", "1e9", "-1e9", "1e-12", "9" * 400]
TOKENS += [
    "true",
    '""',
    '"ground"',
    '"neuron.reflex"',
    "[]",
    "{}",
    "[0, 0, 0]",
    "[[]]",
    "{ type = 1 }",
    "1979-05-27",
    "'",
]


def mutate(text, rng):
    """Change a few things of a file: a value, a word, a line, a byte."""
    data = text.encode()
    for _ in range(rng.randrange(1, 3)):
        text = data.decode(errors="surrogateescape")
        lines = text.splitlines(keepends=True)
        at = rng.randrange(len(lines))
        kind = rng.randrange(12)
        if kind < 7:  # a number
            found = list(re.finditer(r"(?<![\w.])-?\d[\d.e-]*", text))
            old = rng.choice(found)
            scaled = (
                f"{float(old[0]) * 10.0 ** rng.randrange(-9, 10):g}" if re.fullmatch(r"-?\d+\.?\d*", old[0]) else "1"
            )
            new = scaled if kind < 5 else rng.choice(TOKENS)
            text = text[: old.start()] + new + text[old.end() :]
        elif kind == 7:  # a word, by another of the file
            found = list(re.finditer(r"[A-Za-z_]+", text))
            old, new = rng.choice(found), rng.choice(found)
            text = text[: old.start()] + new[0] + text[old.end() :]
        elif kind == 8:
            del lines[at]
            text = "".join(lines)
        elif kind == 9:
            lines.insert(rng.randrange(len(lines)), lines[at])
            text = "".join(lines)
        elif kind == 10:  # a whole value
            key, equals, _ = lines[at].partition("=")
            lines[at] = f"{key}{equals} {rng.choice(TOKENS)}\n"
            text = "".join(lines)
        data = text.encode(errors="surrogateescape")
        if kind == 11:
            where = rng.randrange(len(data))
            data = data[:where] + bytes([rng.randrange(256)]) + data[where + rng.randrange(2) :]
    return data


def survive(path, sizes):
    """Tell what becomes of a model: refused, run, or only built where its size would need kernels of its own."""
    try:
        animal = Neuromechanic(path)
        if (animal.table.dtype, animal.state) not in sizes:
            return "built"
        rows, ids = animal.rows(2), np.arange(2)
        for drive in (0.0, 1.0, -1.0):
            animal.advance(rows, ids, np.full((2, animal.drive_size), drive), 10)
            assert set(rows["status"]) <= {0.0, *animal.failures}
            for name in animal.signals:
                assert np.isfinite(animal.signal(rows, name)).all(), name
        return "run" if (rows["status"] == 0.0).all() else "broke down"
    except ValueError as error:
        line = str(error)
        assert "\n" not in line and len(line) < 2000 and f"{path.name}'" in line, line
        return "refused"


@TIERS
def test_mutated_models(tmp_path, tier):
    """Each mutation of a file of the package is refused in a line, or runs finite."""
    animals = map(Neuromechanic, map(tomllib.loads, MODELS.values()))  # by default those without contacts run
    sizes = [(each.table.dtype, each.state) for each in animals if tier > DEFAULT or each.contacts is None]
    path = tmp_path / "mutant.toml"
    outcomes: Counter[str] = Counter()

    def check(name, rng):
        path.write_bytes(mutate(MODELS[name], rng))
        note(repr(path.read_bytes()))
        outcomes[survive(path, sizes)] += 1

    holds(check, tier, 250, name=st.sampled_from(NAMES), rng=st.randoms(use_true_random=False))
    assert outcomes["refused"] > outcomes.total() / 3 and outcomes["run"] > outcomes.total() / 5, outcomes
