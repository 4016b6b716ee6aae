"""Elementary functions of the kernels against the C library's extended precision."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gymnosoma.envs
from gymnosoma.envs.core.kernels import maths
from gymnosoma.envs.core.kernels.jit import kernel


@kernel
def every_log(x, out):
    for i in range(len(x)):
        out[i] = maths.log(x[i])


@kernel
def every_asinh(x, out):
    for i in range(len(x)):
        out[i] = maths.asinh(x[i])


RNG = np.random.default_rng(0)
WIDE = 10 ** RNG.uniform(-300, 300, 100_000)
SIGNED = RNG.choice([-1.0, 1.0], 200_000) * 10 ** RNG.uniform(-300, 149, 200_000)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no extended precision here")
@pytest.mark.parametrize(
    ("function", "exact", "x", "error"),
    [
        (every_log, np.log, WIDE, 3e-16),  # measured 1.5e-16
        (every_log, np.log, 1.0 + RNG.uniform(-0.5, 1.0, 100_000), 3e-16),
        (every_asinh, np.arcsinh, SIGNED, 5e-16),  # measured 3.2e-16
        (every_asinh, np.arcsinh, RNG.uniform(-10.0, 10.0, 100_000), 5e-16),
    ],
)
def test_relative_error(function, exact, x, error):
    out = np.empty_like(x)
    function(x, out)
    expected = exact(x.astype(np.longdouble))
    assert np.abs((out - expected) / expected).max() < error


def test_exact_points():
    assert maths.log(1.0) == 0.0 and maths.asinh(0.0) == 0.0


@pytest.mark.full
def test_what_one_process_compiled_the_next_one_finds():
    """All animals: a kernel that is not found again costs every start, worker and test some seconds."""
    script = (
        "import gymnasium\n"
        "import numba\n"
        "from numba.core.event import install_recorder\n"
        "from gymnosoma.envs import CATALOGUE\n"
        "with install_recorder('numba:compile') as compiled:\n"
        "    numba.njit(lambda: 1)()\n"
        "    own = len(compiled.buffer)\n"
        "    for entry in CATALOGUE:\n"
        "        env = gymnasium.make(f'gymnosoma:gymnosoma/{entry.name}')\n"
        "        env.reset(seed=0)\n"
        "        env.step(env.action_space.sample())\n"
        "print(own, len(compiled.buffer))\n"
    )

    def counts():
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        return tuple(map(int, done.stdout.split()))

    counts()
    own, all_of_them = counts()
    assert own > 0 and all_of_them == own


def test_kernels_use_numpy_for_types_alone():
    """Scalar functions of NumPy do not exist on GPUs."""
    for path in Path(gymnosoma.envs.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if {"kernel", "inlined"} & set(map(ast.unparse, getattr(node, "decorator_list", []))):
                assert not re.search(r"np\.(floor|ceil|sqrt|abs|exp|log)\(", ast.unparse(node)), path
