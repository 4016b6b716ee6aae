"""What the first step costs: CPU time of a new process, with and without compiled kernels."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

import numpy as np

from .environments import timed_ids
from .measure import Row

IMPORT = "import numba, gymnasium"
STEP = """
import gymnasium, gymnosoma
env = gymnasium.make("gymnosoma/{}")
env.reset(seed=0)
env.step(env.action_space.sample())
"""
TOLD = "\nimport os\nprint(sum(os.times()[:2]))"


def first(animals: Sequence[str], repeats: int) -> list[Row]:
    """CPU seconds to the first step and to the end of commands; ratios to importing numba and gymnasium just before."""
    rows: list[Row] = []
    units: list[float] = []

    def measure(what: str, code: str, places: Sequence[Mapping[str, str]]) -> None:
        pairs = np.array([(_cpu(IMPORT, {}), _cpu(code, place)) for place in places])
        units.extend(pairs[:, 0].tolist())
        rows.append(Row.median(what, pairs[:, 1], "CPU s", pairs[:, 1] / pairs[:, 0]))

    for animal in animals:
        for name in timed_ids(animal):
            with tempfile.TemporaryDirectory() as folder:
                # The first takes long, and varies little.
                places = [{"NUMBA_CACHE_DIR": os.path.join(folder, str(k))} for k in range(max(1, repeats // 2))]
                measure(f"{name}: first step, nothing compiled", STEP.format(name), places)
                measure(f"{name}: first step, kernels compiled", STEP.format(name), places[:1] * repeats)
    for command in ("list", "--help"):
        code = f"import sys; sys.argv = ['gymnosoma', {command!r}]\n" + (
            "from gymnosoma.cli.main import main\ntry:\n    main()\nexcept SystemExit:\n    pass"
        )
        measure(f"`{command}`", code, [{}] * repeats)
    return [Row.median(IMPORT, np.array(units), "CPU s"), *rows]


def _cpu(code: str, variables: Mapping[str, str]) -> float:
    """CPU seconds of a new process that does this."""
    done = subprocess.run(
        [sys.executable, "-c", code + TOLD],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.splitlines()[-1])
