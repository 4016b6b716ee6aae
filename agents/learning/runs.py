"""Run folders with recipes, checkpoints and learning curves, shared by all algorithms."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np

from gymnosoma.envs.core.arguments import choice, number, numbers, whole, within
from gymnosoma.envs.core.files import read_toml
from gymnosoma.envs.core.kinds import advice

from ..policies.card import AlgorithmName, EnvId, check_widths
from ..policies.registry import ALGORITHMS, check_env, task_class
from ..support.files import replacing
from ..support.progress import progress_bar, sparkline
from ..support.schema import Check, mapping, plain, read, read_json, text

CURVE = ("steps", "seconds", "episodes", "return", "score")
"""Columns of the learning curve.

``steps``, ``seconds`` and ``episodes`` are totals. The seconds are CPU time of all threads, including imitation and the
run before it was resumed; unlike wall-clock time, they do not depend on other programs. ``return`` and ``score`` are
means over the last 100 episodes. For ``cma``, they are means over the last 32 episodes of the favourites, and for
``supervised``, over 64 episodes with the network of the round.
"""

VALIDATION = 3_000_000_000
"""Seed of the first episode for choosing between candidates. The benchmark uses other seeds."""

MAX_CHECKPOINT = 2**28
"""Maximum size of a ``checkpoint.json``, bytes."""

Whole = Annotated[int, partial(whole, minimum=0, maximum=10**15)]


@dataclass
class Record:
    """Lines of ``curve.csv``, and total numbers of episodes and CPU seconds of a run."""

    curve: list[str]
    episodes: Whole
    seconds: Annotated[float, partial(number, minimum=0.0)]


def _layers(name: str, value: Any) -> None:
    for widths in value.values() if isinstance(value, dict) else [value]:  # of stable-baselines3's two networks
        check_widths(name, widths)
        within(name, widths, 1, MAX_WIDTH)


MAX_WIDTH = 4096
"""Largest width of a layer of a trained network."""

KINDS: dict[str, Check] = {"net_arch": _layers, "imitate": text, "controller": text, "parameters": mapping}
"""Checks of the settings that are not numbers."""


def check_settings(algorithm: str, settings: Mapping[str, Any]) -> None:
    """Raise ValueError, naming the setting, unless it belongs to the algorithm and its value is in range."""
    default = _defaults()
    ranges = default["ranges"][algorithm]
    for name, value in settings.items():
        choice(f"{algorithm}: setting", name, [*ranges, *(KINDS.keys() & default[algorithm])])
        if name in KINDS:
            KINDS[name](f"{algorithm}: {name}", value)
        elif isinstance(ranges[name][0], int):
            whole(f"{algorithm}: {name}", value, *ranges[name])
        else:
            number(f"{algorithm}: {name}", value, None, *ranges[name])


@cache
def _defaults() -> dict[str, Any]:
    return tomllib.loads(
        resources.files("gymnosoma.agents.learning").joinpath("recipes/default.toml").read_text("utf-8")
    )


def table(name: str, value: Any) -> None:
    """Raise ValueError unless ``value`` consists of rows of numbers."""
    if numbers(name, value).ndim != 2 and value:
        raise ValueError(f"{name} must be rows of numbers")


Table = Annotated[Any, table]

RANGES = {
    "steps": (1, 10**12),
    "num_envs": (1, 2**16),
    "seed": (0, 2**32 - 1),  # NumPy's
    "checkpoint": (1, 10**12),
    "threads": (1, 256),
}
"""Lowest and highest values of the integer settings of a run."""


def _within(name: str) -> Check:
    return partial(whole, minimum=RANGES[name][0], maximum=RANGES[name][1])


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Settings of a training; ``settings`` are those of the algorithm."""

    algorithm: AlgorithmName
    steps: Annotated[int, _within("steps")]
    num_envs: Annotated[int, _within("num_envs")]
    env: dict[str, Any]
    settings: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class RunConfig(Recipe):
    """Contents of ``config.json`` in a run folder."""

    id: EnvId
    seed: Annotated[int, _within("seed")]
    versions: dict[str, Any]
    fingerprint: str


CONFIG, MAX_CONFIG = "config.json", 2**16
"""Name of the file, and its maximum size in bytes."""


def read_config(folder: Path) -> RunConfig:
    """Read the configuration of a run folder; raise ValueError, naming file and key, if ``train`` did not write it."""
    config = read_json(RunConfig, folder / CONFIG, MAX_CONFIG)
    try:
        check_env(config.id, config.env)
    except ValueError as error:
        raise ValueError(f"{str(folder / CONFIG)!r}: {error}") from None
    return config


def recipe(env_id: str, algorithm: str | None = None, file: Path | None = None) -> Recipe:
    """Return the training settings of an environment: the defaults, updated by its recipe or that of its task.

    Args:
        algorithm: Learning algorithm. By default, the recipe's.
        file: Recipe in TOML. By default, the environment's recipe, if it has one.

    Raises:
        ValueError: If the algorithm does not exist, or the file is missing or invalid.
    """
    folder = resources.files("gymnosoma.agents.learning").joinpath("recipes")
    own: Any = file or folder.joinpath(f"{env_id.split('/')[-1]}.toml")
    if file is None and not own.is_file():
        own = folder.joinpath(f"{task_class(env_id).__name__}.toml")
    default = deepcopy(_defaults())
    default.pop("ranges")
    if file is not None and not file.is_file():
        raise ValueError(f"recipe must be a file, got {str(file)!r}")
    try:
        chosen = default | (read_toml(own) if own.is_file() else {})
        for key in chosen:
            choice("key", key, default)
        text("algorithm", chosen["algorithm"])
        name = (algorithm or chosen["algorithm"]).lower()
        choice("algorithm", name, ALGORITHMS)
        mapping(name, chosen[name])
        settings = default[name] | chosen[name]
        shared = {key: settings.pop(key, chosen[key]) for key in ("steps", "num_envs", "env")}
        check_settings(name, settings)
        return read(Recipe, {"algorithm": name, **shared, "settings": settings}, name)
    except ValueError as error:
        reason = advice(file, "recipe") or error
        raise ValueError(str(error) if file is None else f"recipe {str(file)!r}: {reason}") from None


State = TypeVar("State", bound=Any)
"""Dataclass of the state of a training in ``checkpoint.json``, with the field ``record``."""


class Run:
    """State of a run folder during training.

    Args:
        config: Configuration of the run.
        goal, every: Total number of steps, and steps between checkpoints.
        stop, watch: As in `train`.
        resumed: Whether the run continues from a checkpoint.

    Attributes:
        record: Learning curve and totals.
        score: Score of the task.
    """

    def __init__(
        self,
        folder: Path,
        config: RunConfig,
        goal: int,
        every: int,
        *,
        stop: Callable[[], object],
        watch: Callable[[Mapping[str, float]], None],
        resumed: bool,
    ) -> None:
        self.folder, self.config, self.goal, self.every = folder, config, goal, every
        self.stop, self._watch, self.resumed = stop, watch, resumed
        self.score = task_class(config.id).score
        self.record = Record([], 0, 0.0)
        self._bar: Any = None
        self.start_clock()

    @property
    def checkpoint(self) -> Path:
        """Path of the checkpoint file."""
        return self.folder / ALGORITHMS[self.config.algorithm].checkpoint

    def start_clock(self) -> None:
        """Start counting CPU seconds."""
        self._before, self._started = self.record.seconds, time.process_time()

    def begin(self, record: Record | None = None) -> None:
        """Write ``config.json`` after the first checkpoint, or restore the ``record`` of a resumed checkpoint."""
        if record is not None:
            self.record = record
            self.save_curve()
        with replacing(self.folder / CONFIG) as file:
            file.write((json.dumps(plain(self.config), indent=2) + "\n").encode())

    def start(self, state: State) -> State:
        """Save the initial state, or load a state of its class from ``checkpoint.json``; return the state."""
        if self.resumed:
            state = read_json(type(state), self.checkpoint, MAX_CHECKPOINT)
            self.begin(state.record)
        else:
            self.save(state)
            self.begin()
        self.start_clock()
        return state

    def save(self, state: Any) -> None:
        """Write ``checkpoint.json`` and the curve."""
        with replacing(self.checkpoint) as file:
            file.write(json.dumps(plain(state), allow_nan=False).encode())
        self.save_curve()

    def show(self, steps: int) -> None:
        """Update the progress bar."""
        if self._bar is None:
            self._bar = progress_bar(total=self.goal, initial=steps, unit="step", unit_scale=True, smoothing=0.05)
        self._bar.update(min(steps, self.goal) - self._bar.n)

    def note(self, steps: int, returns: Sequence[float], scores: Sequence[float]) -> dict[str, float] | None:
        """Append the means of ``returns`` (K,) and ``scores`` (K,), in SI, to the learning curve and return the row.

        Without returns, only the progress bar is updated.
        """
        self.record.seconds = self._before + time.process_time() - self._started
        row = None
        if len(returns):
            mean, score = float(np.mean(returns)), float(np.mean(scores)) * self.score.factor
            record = self.record
            line = f"{steps},{record.seconds:.2f},{record.episodes},{mean:.6g},{score:.6g}"
            record.curve.append(line)
            self.show(steps)
            curve = sparkline([float(each.rpartition(",")[2]) for each in record.curve])
            unit = f" {self.score.unit}" if self.score.unit != "1" else ""
            more = f", {self.score.name} {score:.4g}{unit}" if self.score.name != "return" else ""
            text = f"return {mean:.2f}{more} {curve}".rstrip()
            self._bar.set_postfix_str(text, refresh=False)
            row = dict(zip(CURVE, map(float, line.split(",")), strict=True))
            self._watch(row)
        self.show(steps)
        return row

    def save_curve(self) -> None:
        """Write ``curve.csv``."""
        with replacing(self.folder / "curve.csv") as file:
            file.write("".join(f"{line}\n" for line in [",".join(CURVE), *self.record.curve]).encode())

    def close(self) -> None:
        """Close the progress bar."""
        if self._bar is not None:
            self._bar.close()


def drawn_seeds(seed: int, round_: int, count: int) -> list[int]:
    """Draw the seeds of a round's training episodes. They are at least 2**62; evaluation uses lower seeds."""
    words = np.random.SeedSequence((0x67796D, seed, round_)).generate_state(count, np.uint64)
    return [int(word) >> 2 | 2**62 for word in words]
