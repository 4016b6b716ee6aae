"""Run folders: recipes, checkpoints, learning curves, and all that the algorithms share."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module, resources
from pathlib import Path
from typing import Any

import numpy as np

from gymnosoma.envs.core.arguments import choice, number, numbers

from ..policies.config import CONFIG
from ..policies.registry import ALGORITHMS, task_of, versions
from ..support.files import replacing
from ..support.progress import progress_bar
from ..support.schema import OBJECT, Check, held, in_range, read_json, typed

CURVE = ("steps", "seconds", "episodes", "return", "score")
"""Columns of the learning curve: steps in all; CPU seconds of training in all; episodes in all; means of the last 100.

The seconds are those of all threads of the process, of every run that came to this point, imitation included: unlike
time by the clock they do not depend on what else the machine does. The means of ``cma`` are over the last 32 episodes
that the favourites of the generations played; of ``supervised``, over 64 in which a round's network answers.
"""

VALIDATION = 3_000_000_000
"""Seed of the first episode by which a run chooses between its candidates; no benchmark begins there."""

CHECKPOINTS = dict.fromkeys(("ppo", "sac"), "checkpoint.zip") | dict.fromkeys(("cma", "supervised"), "checkpoint.json")
"""Files from which runs are resumed, by algorithm."""

MAX_CHECKPOINT = 2**28
"""Largest size of a ``checkpoint.json``, bytes."""

WHOLE: Check = partial(in_range, low=0, high=10**15)
RECORD: Check = partial(
    held,
    keys={
        "curve": partial(typed, kind=list, words="be a list"),
        "episodes": WHOLE,
        "seconds": partial(number, minimum=0.0),
    },
)


def table(name: str, value: Any) -> None:
    """Raise ValueError unless these are rows of numbers."""
    if numbers(name, value).ndim != 2 and value:
        raise ValueError(f"{name} must be rows of numbers")


def recipe(env_id: str, algorithm: str | None = None, file: Path | None = None) -> dict[str, Any]:
    """Training settings of an id: its own recipe, or the default of the algorithm.

    Args:
        algorithm: Instead of the recipe's.
        file: A recipe in TOML, instead of the id's own.

    Returns:
        dict: ``algorithm``, ``steps``, ``num_envs``, ``env``, the algorithm's ``settings``, and lists of settings that
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
            OBJECT(key, chosen[key])
    except ValueError as error:
        raise ValueError(str(error) if file is None else f"recipe {str(file)!r}: {error}") from None
    settings = default[name] | chosen[name]
    shared = {key: settings.pop(key, chosen[key]) for key in ("steps", "num_envs", "env")}
    return {"algorithm": name, **shared, "settings": settings, "tune": chosen["tune"].get(name, {})}


class Run:
    """A run folder under way.

    Args:
        config: As in ``config.json``.
        goal, every: Steps at which it ends, and between checkpoints.
        stop, watch: As of `Training.run`.
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
    ) -> None:
        self.folder, self.config, self.goal, self.every = folder, config, goal, every
        self.stop, self._watch, self.resumed = stop, watch, resumed
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

    def begin(self, record: Mapping[str, Any] | None = None) -> None:
        """Write ``config.json``, once there is a checkpoint; ``record`` is that of a checkpoint that is resumed."""
        if record is not None:
            self.record = dict(record)
            self.save_curve()
        with replacing(self.folder / CONFIG) as file:
            file.write((json.dumps(self.config, indent=2) + "\n").encode())

    def start(self, state: dict[str, Any], keys: Mapping[str, Check]) -> dict[str, Any]:
        """Begin with a first state, or with that of ``checkpoint.json``, which is checked by its ``keys``."""
        if self.resumed:
            state = read_json(self.checkpoint, MAX_CHECKPOINT, {**keys, "record": RECORD})
            self.begin(state.pop("record"))
        else:
            self.save(state)
            self.begin()
        self.start_clock()
        return state

    def save(self, state: Mapping[str, Any]) -> None:
        """Write ``checkpoint.json`` and the curve."""
        with replacing(self.checkpoint) as file:
            file.write(json.dumps({**state, "record": self.record}, allow_nan=False).encode())
        self.save_curve()

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


def drawn_seeds(seed: int, round_: int, count: int) -> list[int]:
    """Draw the seeds of a round's episodes: at least 2**62, where nothing is measured, chosen or searched."""
    words = np.random.SeedSequence((0x67796D, seed, round_)).generate_state(count, np.uint64)
    return [int(word) >> 2 | 2**62 for word in words]


def versions_of(algorithm: str) -> dict[str, str]:
    """Versions of the libraries that an algorithm uses."""
    names = {"cma": ["cma"], "supervised": ["torch"]}.get(algorithm, ["torch", "stable_baselines3"])
    return versions() | {name: import_module(name).__version__ for name in names}
