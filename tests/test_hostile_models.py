"""What users and foreign files state: numbers, parameters, kymograms, models. An error is one line that names it."""

import io
import tracemalloc

import numpy as np
import pytest

from gymnosoma.envs.core.arguments import choice, number, numbers, whole
from gymnosoma.envs.lamprey import Cord, LampreyParams, Synapse
from gymnosoma.envs.whisker_chain import WhiskerParams
from gymnosoma.envs.whisker_rod import Relief, WhiskerRodParams
from gymnosoma.envs.worm import KymogramPlayback, Worm, WormParams, load_kymogram
from gymnosoma.envs.worm.analysis import play
from gymnosoma.envs.worm.kymogram import LARGEST_FILE


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
        refuse(lambda wrong=wrong: number("stiffness", wrong, least=0), "stiffness must be finite and at least 0, got ")
        refuse(lambda wrong=wrong: whole("count", wrong), "count must be an integer of at least 1, got ")
        refuse(lambda wrong=wrong: choice("scheme", wrong, ("a", "b")), "scheme must be one of a, b, got ")
    refuse(lambda: number("stiffness", value), "only int and float are numbers")


@pytest.mark.parametrize("value", [bytearray(b"1"), memoryview(b"1"), 10**400, 10**9999], ids=type)
def test_what_numpy_would_convert_or_choke_on(value):
    for wrong in (value, [value], [1.0, value]):
        refuse(lambda wrong=wrong: numbers("x", wrong), "x must be finite, got ", "only int and float are numbers")


def test_what_is_a_number():
    for value in (2, 2.0, np.float32(2), np.int8(2), np.array(2.0), np.uint64(2)):
        assert number("x", value) == 2.0 and type(number("x", value)) is float
    for values in ([1, 2.0], (1, np.float64(2)), np.array([1, 2]), range(1, 3), [np.array(1), np.array(2.0)]):
        assert numbers("x", values).tolist() == [1.0, 2.0]
    refuse(lambda: number("x", [1.0]), "x must be a number, got [1.0]")
    refuse(lambda: number("x", np.zeros(1000)), "x must be a number, got [0.0, 0.0")
    refuse(lambda: numbers("x", [[1], [1, 2]]), "x must be finite, got [[1], [1, 2]]")
    refuse(lambda: numbers("x", np.array([1.0, np.nan])), "x must be finite, got [1.0, nan]")


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
        (WhiskerParams.tapered, "density", False),
        (WhiskerParams.tapered, "modulus", True),
    ],
)
def test_parameters_are_numbers_or_columns(params, name, column):
    fit = 1e-3 if column else [1e-3] * 3
    for wrong in (fit, np.array(fit), "1", True, None, [[1e-3] * 3] * 3, [True] * 13, ["1"] * 13, []):
        refuse(lambda wrong=wrong: params(**{name: wrong}), name, "must")


def test_other_arguments_of_the_animals():
    refuse(lambda: Relief.random(1e-4, 0.1, period=100.0), "period must be finite and greater than 0 and at most 10")
    refuse(lambda: Relief.measured(io.StringIO("1\ntwo\n3\n"), 1e-5), "cannot be read: could not convert string 'two'")
    refuse(lambda: Relief.measured(io.StringIO("1\nnan\n3\n"), 1e-5), "cannot be read: heights must be finite")
    refuse(lambda: Cord(synapses=(Synapse("EIN", "MN", "1", 1, 1),)), "synapses: strength must be finite, got '1'")


# Kymograms


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


WHOLE = npy(np.zeros((4, 24)))
FOREIGN = {
    "huge.npy": (WHOLE.replace(b"(4, 24), }        ", b"(100000000, 24), }"), "does not fit a file of 896 bytes"),
    "endless.npy": (WHOLE.replace(b"(4, 24), }" + b" " * 20, b"(4%s, 24), }" % (b"0" * 20)), "of 896 bytes"),
    "negative.npy": (WHOLE.replace(b"(4, 24), }  ", b"(-4, -24), }"), "the header does not fit"),
    "open.npy": (WHOLE.replace(b"(4, 24), }", b"(((((((((("), "the header does not fit"),
    "short.npy": (WHOLE[:500], "does not fit a file of 500 bytes"),
    "nan.npy": (npy(np.array([[0.0, 0.0], [0.0, np.nan]])), "row 2, column 2 must be a finite number, got nan"),
    "words.npy": (npy(np.array([["1", "2"]])), "must hold a matrix of numbers (frames, joints), got <U1"),
    "truth.npy": (npy(np.array([[True]])), "must hold a matrix of numbers (frames, joints), got bool"),
    "complex.npy": (npy(np.array([[1j]])), "must hold a matrix of numbers (frames, joints), got complex128"),
    "header.csv": (b"head,tail\n0.1,0.2\n", "row 1, column 1 must be a finite number, got 'head'"),
    "nan.csv": (b"# head,tail\n0.1,0.2\n\n0.3,nan\n", "row 4, column 2 must be a finite number, got 'nan'"),
    "hole.csv": (b"0.1,,0.2\n", "row 1, column 2 must be a finite number, got ''"),
    "ragged.csv": (b"0.1,0.2\n0.1\n", "row 2 has 1 columns, those before have 2"),
    "bytes.csv": (b"0.1,\xff\n", "can't decode byte 0xff"),
    "none.csv": (b"# nothing\n", "must hold a matrix of numbers (frames, joints), got none"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_kymograms(tmp_path, name):
    data, message = FOREIGN[name]
    (tmp_path / name).write_bytes(data)
    tracemalloc.start()
    try:
        refuse(lambda: load_kymogram(tmp_path / name), f"{name}' cannot be read: ", message)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


def test_kymograms_of_any_size(tmp_path):
    with open(tmp_path / "large.npy", "wb") as file:
        file.truncate(LARGEST_FILE + 1)
    refuse(lambda: load_kymogram(tmp_path / "large.npy"), f"{LARGEST_FILE + 1} bytes, {LARGEST_FILE} are allowed")
    refuse(lambda: load_kymogram(5), "kymogram '5' cannot be read")  # type: ignore[arg-type]
    (tmp_path / "notes.csv").write_text("# head, tail\n0.1, -2e-1 # frame 0\n\n3,4\r\n")
    assert load_kymogram(tmp_path / "notes.csv").tolist() == [[0.1, -0.2], [3.0, 4.0]]
    np.save(tmp_path / "small.npy", np.array([[1, 2]], ">i2"))
    assert load_kymogram(tmp_path / "small.npy").tolist() == [[1.0, 2.0]]


def test_damaged_kymograms(tmp_path):
    rng = np.random.default_rng(14)
    refused = 0
    for i in range(300):
        data = bytearray(WHOLE)
        for at in rng.integers(len(data) if i % 2 else 128, size=4):
            data[at] = rng.integers(256)
        (tmp_path / "damaged.npy").write_bytes(data)
        try:
            assert np.isfinite(load_kymogram(tmp_path / "damaged.npy")).all()
        except ValueError as error:
            refused += 1
            assert "\n" not in str(error) and "damaged.npy' cannot be read: " in str(error)
    assert 100 < refused < 300


def test_playing_with_any_step():
    """A step that does not divide the frames' interval is replaced by the next smaller one that does."""
    angles = load_kymogram("omega_turn")[:9]
    chosen, told = play(Worm(), angles), play(Worm(dt=1 / 224), angles)
    assert chosen["centre"].shape == (9, 1, 2)
    assert all(np.array_equal(chosen[name], told[name]) for name in told)
    refuse(lambda: play(Worm(), angles[:, :20]), "angles must be a matrix of at least 2 frames of 24 joints")
    refuse(lambda: play(Worm(), angles[:1]), "angles must be a matrix of at least 2 frames")
    refuse(
        lambda: play(Worm(), angles, rate=1e-9), "rate must be finite and at least 0.01 and at most 1e+06, got 1e-09"
    )
    refuse(lambda: KymogramPlayback(angles, rate=1e300), "rate must be finite and greater than 0 and at most 1e+06")
