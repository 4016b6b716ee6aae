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
    """CPU seconds to the first step and to the end of commands, in those that to import numba and gymnasium takes."""
    rows = []
    unit = _cpu(IMPORT, repeats, {})
    rows.append(Row(IMPORT, float(np.median(unit)), "CPU s"))

    def row(what: str, seconds: Sequence[float]) -> None:
        each = float(np.median(seconds))
        rows.append(Row(what, each, "CPU s", each / float(np.median(unit))))

    for animal in animals:
        for name in timed_ids(animal):
            code, cold, warm = STEP.format(name), [], []
            for _ in range(max(1, repeats // 2)):  # they take long, and vary little
                with tempfile.TemporaryDirectory() as folder:
                    place = {"NUMBA_CACHE_DIR": folder}
                    cold += _cpu(code, 1, place)
                    warm += _cpu(code, 1, place)
            row(f"{name}: first step, nothing compiled", cold)
            row(f"{name}: first step, kernels compiled", warm)
    for command in ("list", "--help"):
        code = f"import sys; sys.argv = ['gymnosoma', {command!r}]\n" + (
            "from gymnosoma.agents.commands.main import main\ntry:\n    main()\nexcept SystemExit:\n    pass"
        )
        row(f"`{command}`", _cpu(code, repeats, {}))
    return rows


def _cpu(code: str, repeats: int, variables: Mapping[str, str]) -> list[float]:
    """CPU seconds of new processes that do this."""
    found = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-c", code + TOLD],
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(float(done.stdout.splitlines()[-1]))
    return found
