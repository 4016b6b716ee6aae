"""Find numbers in texts whose sources have changed since they were measured.

These numbers come from trainings and long computations, which the tests do not repeat. The text is between the marks
``<!-- NAME -->`` and ``<!-- /NAME -->`` of its page. ``docs/texts.json`` has a digest of its numbers and of their
sources: the behaviour of an id or of a computation, the code of an example, or pinned versions. `publish` compares the
digest with the present one. ``python -m tools.texts NAME ...`` writes it after a measurement.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gymnosoma.agents.benchmark import protocol
from gymnosoma.agents.benchmark.learners import LEARNERS
from gymnosoma.agents.benchmark.tables import LEAST
from gymnosoma.agents.policies.card import WEIGHTS
from gymnosoma.agents.policies.fingerprints import env_fingerprint, files_digest, values_digest
from gymnosoma.agents.policies.lookup import shipped
from gymnosoma.biomechanics import import_model
from gymnosoma.envs import simulate
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.worm import SineKymogram, Worm, WormParams
from gymnosoma.recordings import Midlines, RecordedBase, fit_medium, forces, free_forces
from papers.fingerprints import behaviour, code

from . import installs
from .clone import ROOT, between

MEASURED = "docs/texts.json"
PICTURE = ROOT / "docs" / "follow_recorded.png"
"""Last frame of the film of the trained policy on the guide's recorded worm."""


@dataclass(frozen=True)
class Text:
    """Text with numbers.

    Args:
        page: File of the text.
        command: Measurement of the numbers.
        sources: Function that returns what the numbers depend on.
    """

    page: str
    command: str
    sources: Callable[[], Any]


def pins(*packages: str) -> list[str]:
    """Return the pinned versions of packages."""
    lines = (ROOT / installs.PINS).read_text("utf-8").splitlines()
    return [line for line in lines if line.partition("==")[0] in packages]


def ids(*names: str) -> list[str]:
    """Return the fingerprints of ids with their default arguments."""
    return [env_fingerprint(f"gymnosoma/{name}-v0", {}) for name in names]


def example(name: str) -> str:
    """Return a digest of the code of an example."""
    return code(ROOT / "examples" / f"{name}.py")


@cache
def worm_fit() -> list[str]:
    """Return the medium and the forces of a simulated worm that is recorded with noise and lost for a second."""
    params, rng = WormParams.in_medium(0.5), np.random.default_rng(0)
    run = simulate(Worm(params), SineKymogram.for_medium(0.5), 9.0, every=1 / 30)
    points = np.concatenate([run["head"][:, None], run["rod_centre"], run["tail"][:, None]], axis=1)
    points += 2e-6 * rng.standard_normal(points.shape)
    points[60:95] = np.nan
    motion = Midlines.from_array(points, 30.0).smoothed()
    fit, out = fit_medium(motion, repeats=4), forces(motion, params)
    return _digits(fit.sigma, *fit.interval, motion.length, motion.period, out["friction_force"].std(), out["power"])


def whisker_fit() -> list[str]:
    """Return the wrench of a simulated whisk that is recorded with noise."""
    angle = 0.3 * np.sin(16 * np.pi * np.arange(500) / 500) + 2e-3 * np.random.default_rng(0).standard_normal(500)
    return _digits(*free_forces(RecordedBase(angle, 500.0))["base_wrench"].T)


def _digits(*values: Any) -> list[str]:
    return [f"{np.mean(np.abs(value)):.3g}" for value in values]


@cache
def imports() -> str:
    """Return a digest of three imported models of OpenSim and one of MuJoCo, and of the behaviour of one of them."""
    files = [f"opensim/{name}.osim" for name in ("arm26", "leg6dof9musc", "gait10dof18musc")]
    files.append("fixtures/mujoco_arm.xml")
    models = [import_model(ROOT / "tests" / file, partial=True)[0] for file in files]
    return values_digest(_plain(models), behaviour(Neuromechanic(models[0])))


def _plain(value: Any) -> Any:
    """Return a description with its floats as six digits."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(each) for each in value]
    return f"{value:.6g}" if isinstance(value, float) else value


def sizes() -> list[Any]:
    """Return the measured sizes of the extras in README."""
    measured = json.loads((ROOT / installs.MEASURED).read_text("utf-8"))
    return [*(measured[extra]["download"] for extra in ("none", "torch", "train")), *pins("torch")]


INTERVALS = "pytest -m slow -s tests/recordings/test_worm_fit.py"
RECORDINGS = "docs/guides/recordings_reference.md"

TEXTS = {
    "sizes": Text("README.md", "python -m tools.installs", sizes),
    "cuda": Text(installs.GUIDE, "pip download -c constraints.txt torch", lambda: pins("torch")),
    "protocol": Text(
        "docs/results/index.md",
        "gymnosoma benchmark run --help",
        lambda: [protocol.EPISODES, protocol.BINARY_EPISODES, protocol.TRAININGS, LEAST],
    ),
    "settings": Text(
        "docs/guides/enter.md",
        "gymnosoma benchmark run",
        lambda: [[each.config for each in LEARNERS.values()], pins("stable_baselines3", "cma")],
    ),
    "train-swim": Text(
        "docs/guides/train.md",
        "gymnosoma train WormSwim-v0",
        lambda: [
            *ids("WormSwim"),
            *(code(ROOT / "agents" / "learning" / "recipes" / f"{name}.toml") for name in ("default", "WormSwim-v0")),
            files_digest(shipped("gymnosoma/WormSwim-v0") / WEIGHTS),
            pins("stable_baselines3", "torch"),
        ],
    ),
    "ppo": Text(
        "docs/guides/libraries.md",
        "python examples/stable_baselines3_ppo.py",
        lambda: [*ids("WormSwim"), example("stable_baselines3_ppo"), pins("stable_baselines3", "torch")],
    ),
    "hindsight": Text(
        "docs/guides/libraries.md",
        "python examples/her_reach.py",
        lambda: [*ids("WormReach"), example("her_reach"), pins("stable_baselines3", "torch")],
    ),
    "ends": Text("docs/guides/recordings.md", "python docs/outputs.py docs/guides/recordings.md", worm_fit),
    "own-worm": Text(
        "docs/guides/recordings.md",
        "gymnosoma train WormFollow-v0 --env kymogram=kymogram.npy --steps 250000, and the render after it",
        lambda: [*ids("WormFollow"), worm_fit(), files_digest(PICTURE), pins("stable_baselines3", "torch")],
    ),
    "long-recordings": Text(RECORDINGS, f"{INTERVALS} -k half_an_hour", worm_fit),
    "intervals": Text(RECORDINGS, f"{INTERVALS} -k test_intervals_hold", worm_fit),
    "lost-worms": Text(RECORDINGS, f"{INTERVALS} -k lost_worms", worm_fit),
    "turns": Text(RECORDINGS, "pytest tests/recordings/test_worm_fit.py -k turn", worm_fit),
    "whiskers": Text(RECORDINGS, "pytest tests/recordings/test_whisker_recording.py", whisker_fit),
    "formats": Text(RECORDINGS, "pytest tests/recordings", lambda: pins("h5py", "numpy", "pandas", "sleap-io")),
    "elbow": Text(
        "docs/guides/import.md",
        "gymnosoma train arm26.osim --joint r_elbow_flex --goal 90",
        lambda: [imports(), pins("stable_baselines3", "torch")],
    ),
    "timing": Text(
        "docs/guides/import.md",
        "python -m gymnosoma.biomechanics.timing arm26.osim leg6dof9musc.osim",
        lambda: [imports(), code(ROOT / "biomechanics" / "timing.py")],
    ),
    "myosuite": Text(
        "docs/guides/import.md",
        "python -m gymnosoma.biomechanics.compare FILE.xml",
        lambda: [imports(), code(ROOT / "biomechanics" / "mujoco.py")],
    ),
    "opensim-models": Text(
        "docs/guides/opensim_models.md", "python -m gymnosoma.biomechanics.compare FOLDER --states 5", imports
    ),
    "accuracy": Text("docs/guides/import.md", "pytest tests/biomechanics/test_biomechanics_cases.py", imports),
}
"""Texts by the name of their marks."""


def numbers(page: str, name: str) -> list[str]:
    """Return the numbers of a text."""
    return re.findall(r"\d+(?:[.,]\d+)*", between(page, name))


def digest(name: str, root: Path = ROOT) -> str:
    """Return a digest of the numbers of a text and of their sources."""
    text = TEXTS[name]
    return values_digest(numbers((root / text.page).read_text("utf-8"), name), text.sources())


def stale(root: Path = ROOT) -> Iterator[str]:
    """List the texts whose numbers or sources have changed."""
    known = json.loads((root / MEASURED).read_text("utf-8"))
    for name, text in TEXTS.items():
        if known.get(name) != digest(name, root):
            repeat = f"repeat `{text.command}`, then run `python -m tools.texts {name}`"
            yield f"{text.page}: {name}: the numbers or their sources have changed: {repeat}"


def main(root: Path = ROOT) -> None:
    """Write the digests of the texts named by the arguments."""
    path = root / MEASURED
    known = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    known |= {name: digest(name, root) for name in sys.argv[1:]}
    path.write_text(json.dumps({name: known[name] for name in TEXTS if name in known}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
