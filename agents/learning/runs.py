"""Run folders: recipes, records of the learning under way, and what all algorithms have in common."""

from __future__ import annotations

import io
import json
import reprlib
import sys
import time
import tomllib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import choice

from ..policies.registry import ALGORITHMS, task_of, versions
from ..support.files import replacing
from ..support.progress import progress_bar
from ..support.workers import HERE, Workers

CURVE = ("steps", "seconds", "episodes", "return", "score")
"""Columns of the learning curve: steps in all; CPU seconds of training in all; episodes in all; means of the last 100.

The seconds are those of all threads of the process, and of the processes that play its generations, of every run that
came to this point, imitation included: unlike time by the clock they do not depend on what else the machine does. The
means of ``cma`` are over the last 32 episodes of those that the favourites of the generations played; of
``supervised``, over 64 in which a round's network answers.
"""

VALIDATION = 3_000_000_000
"""Seed of the first episode by which a run chooses between what it has found; no benchmark begins there."""

CHECKPOINTS = {
    "ppo": "checkpoint.zip",
    "sac": "checkpoint.zip",
    "cma": "checkpoint.json",
    "supervised": "checkpoint.safetensors",
}
"""Files from which runs are resumed, by algorithm."""


def recipe(env_id: str, algorithm: str | None = None, file: Path | None = None) -> dict[str, Any]:
    """Training settings of an id: its own recipe, or the default of the algorithm.

    ``algorithm`` is used instead of the recipe's; ``file`` is a recipe in TOML, instead of the id's own.

    Returns:
        dict: ``algorithm``, ``steps``, ``num_envs``, ``imitate``, ``env``, the algorithm's ``settings``, and what
            `tune` tries, ``tune``.

    Raises:
        ValueError: If the algorithm or the file is none.
    """
    folder = resources.files("gymnosoma.agents.learning").joinpath("recipes")
    own: Any = file or folder.joinpath(f"{env_id.split('/')[-1]}.toml")
    default = tomllib.loads(folder.joinpath("default.toml").read_text("utf-8"))
    if file is not None and not file.is_file():
        raise ValueError(f"recipe must be a file, got {str(file)!r}")
    try:
        chosen = default | (tomllib.loads(own.read_text("utf-8")) if own.is_file() else {})
        for key in chosen:
            choice("key", key, default)
        name = (algorithm or chosen["algorithm"]).lower()
        choice("algorithm", name, ALGORITHMS)
        for key in (name, "tune"):
            if not isinstance(chosen[key], dict):
                raise ValueError(f"{key} must be a table, got {reprlib.repr(chosen[key])}")
    except ValueError as error:
        raise ValueError(str(error) if file is None else f"recipe {str(file)!r}: {error}") from None
    settings = default[name] | chosen[name]
    shared = {key: settings.pop(key, chosen[key]) for key in ("steps", "num_envs", "env")}
    imitated = chosen["imitate"] if name == "ppo" else ""
    tried = chosen["tune"].get(name, {})
    return {"algorithm": name, **shared, "imitate": imitated, "settings": settings, "tune": tried}


class Run:
    """A run folder under way.

    Args:
        config: As in ``config.json``.
        goal, every: Steps at which it ends, and between checkpoints.
        stop, watch, workers: As of `Training.run`.
        resumed: Whether it goes on from a checkpoint.

    Attributes:
        record: ``curve`` (lines of ``curve.csv``), ``episodes`` and CPU ``seconds`` so far.
        score: Of the task.
    """

    def __init__(
        self,
        folder: Path,
        config: dict[str, Any],
        goal: int,
        every: int,
        *,
        stop: Callable[[], object],
        watch: Callable[[Mapping[str, float]], None],
        resumed: bool,
        workers: Workers = HERE,
    ) -> None:
        self.folder, self.config, self.goal, self.every = folder, config, goal, every
        self.stop, self._watch, self.resumed, self.workers = stop, watch, resumed, workers
        self.score = task_of(config["id"], **config["env"]).score
        self.record: dict[str, Any] = {"curve": [], "episodes": 0, "seconds": 0.0}
        self._bar: Any = None
        self.start_clock()

    @property
    def checkpoint(self) -> Path:
        """File from which it can be resumed."""
        return self.folder / CHECKPOINTS[self.config["algorithm"]]

    def start_clock(self) -> None:
        """Count CPU seconds from now on."""
        self._before, self._started = self.record["seconds"], time.process_time()

    def spend(self, seconds: float) -> None:
        """Count CPU seconds of other processes, too."""
        self._before += seconds

    def begin(self, record: Mapping[str, Any] | None = None) -> None:
        """Write ``config.json``: now that there is a checkpoint, there is a run that can be resumed.

        ``record`` is that of the checkpoint, to which the curve is made to agree.
        """
        if record is not None:
            self.record = dict(record)
            _compare_curve(self.folder / "curve.csv", self.record["curve"])
            self.save_curve()
        with replacing(self.folder / "config.json") as file:
            file.write((json.dumps(self.config, indent=2) + "\n").encode())

    def show(self, steps: int) -> None:
        """Draw the progress bar."""
        if self._bar is None:
            self._bar = progress_bar(total=self.goal, initial=steps, unit="step", unit_scale=True, smoothing=0.05)
        self._bar.update(min(steps, self.goal) - self._bar.n)

    def note(self, steps: int, returns: Sequence[float], scores: Sequence[float]) -> dict[str, float] | None:
        """Add a row to the learning curve: means of ``returns`` and ``scores`` (K,) in SI, if there are any yet."""
        self.record["seconds"] = self._before + time.process_time() - self._started
        row = None
        if len(returns):
            mean, score = float(np.mean(returns)), float(np.mean(scores)) * self.score.factor
            seconds, episodes = self.record["seconds"], self.record["episodes"]
            line = f"{steps},{seconds:.2f},{episodes},{mean:.6g},{score:.6g}"
            self.record["curve"].append(line)
            self.show(steps)
            text = f"return {mean:.2f}, {self.score.name} {score:.4g} {self.score.unit}"
            self._bar.set_postfix_str(text, refresh=False)
            row = dict(zip(CURVE, map(float, line.split(",")), strict=True))
            self._watch(row)
        self.show(steps)
        return row

    def save_curve(self) -> None:
        """Write ``curve.csv``."""
        with replacing(self.folder / "curve.csv") as file:
            file.write("".join(f"{line}\n" for line in [",".join(CURVE), *self.record["curve"]]).encode())

    def close(self) -> None:
        """Finish the progress bar."""
        if self._bar is not None:
            self._bar.close()

    def draw_curve(self) -> None:
        """Draw the learning curve as ``curve.png``."""
        if not self.record["curve"]:  # no episode has ended yet
            return
        rows = [[float(value) for value in line.split(",")] for line in self.record["curve"]]
        data = dict(zip(CURVE, np.array(rows).T, strict=True))
        figure = Figure(figsize=(8, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        unit = "" if self.score.unit == "1" else f" [{self.score.unit}]"
        for axes, column, label in ((left, "return", "return"), (right, "score", f"{self.score.name}{unit}")):
            axes.plot(data["steps"] / 1e6, data[column])
            axes.set(xlabel="steps [million]", ylabel=label)
            axes.grid(alpha=0.3)
        figure.suptitle(f"{self.folder.name}, {data['seconds'][-1]:.0f} CPU s")
        picture = io.BytesIO()
        figure.savefig(picture, dpi=120)
        with replacing(self.folder / "curve.png") as file:
            file.write(picture.getbuffer())


class Recent:
    """Returns and scores of the last 32 episodes, for the learning curve of what evolves."""

    def __init__(self, kept: Sequence[Sequence[float]] = ((), ())) -> None:
        self.returns, self.scores = (deque(values, maxlen=32) for values in kept)

    def add(self, returns: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
        """Add episodes (K,)."""
        self.returns.extend(map(float, returns))
        self.scores.extend(map(float, scores))

    def kept(self) -> list[list[float]]:
        """Both lists, from which another `Recent` can be made."""
        return [list(self.returns), list(self.scores)]


def drawn_seeds(seed: int, round_: int, count: int) -> list[int]:
    """Seeds of the episodes of a round of a run: at least 2**62, where nothing is measured, chosen or searched."""
    drawn = np.random.SeedSequence((0x67796D, seed, round_)).generate_state(count, np.uint64)
    return [int(word) >> 2 | 2**62 for word in drawn]


def _compare_curve(curve: Path, known: Sequence[str]) -> None:
    """Print where a curve differs from the checkpoint's, which is about to replace it."""
    try:
        lines = curve.read_text("utf-8", errors="replace").splitlines()[1:]
    except OSError as error:
        print(f"{curve}: {error.strerror}; written anew from the checkpoint", file=sys.stderr)
        return
    # A kill between checkpoint and curve leaves a curve that is behind, and whole.
    held = set(known)
    broken = [line for line in lines if line not in held]
    if broken:
        shown = reprlib.repr(broken[0])
        print(f"{curve}: dropped {len(broken)} rows that the checkpoint does not have, first {shown}", file=sys.stderr)


def versions_of(algorithm: str) -> dict[str, str]:
    """Versions of what an algorithm runs on."""
    names = {"cma": ["cma"], "supervised": ["torch"]}.get(algorithm, ["torch", "stable_baselines3"])
    return versions() | {name: import_module(name).__version__ for name in names}
