"""Values where they enter: numbers, columns, choices, kymograms. An error is one line that names the argument."""

import numpy as np
import pytest
from properties import refuse

from gymnosoma.envs.core.arguments import choice, number, numbers, whole
from gymnosoma.envs.lamprey import LampreyParams
from gymnosoma.envs.whisker_chain import WhiskerParams
from gymnosoma.envs.whisker_rod import WhiskerRodParams
from gymnosoma.envs.worm import WormParams, load_kymogram

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


def test_kymograms_are_of_any_numbers(tmp_path):
    refuse(lambda: load_kymogram(5), "kymogram '5' cannot be read")  # type: ignore[arg-type]
    (tmp_path / "notes.csv").write_text("# head, tail\n0.1, -2e-1 # frame 0\n\n3,4\r\n")
    assert load_kymogram(tmp_path / "notes.csv").tolist() == [[0.1, -0.2], [3.0, 4.0]]
    np.save(tmp_path / "small.npy", np.array([[1, 2]], ">i2"))
    assert load_kymogram(tmp_path / "small.npy").tolist() == [[1.0, 2.0]]
