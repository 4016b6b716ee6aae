"""Protocol P1: learners of one configuration each, a budget of steps, and the same episodes for all at its marks.

A learner is a function ``learner(make_envs, *, steps, seed, report, track)``. ``make_envs(num_envs, autoreset)`` gives
vector environments, all of which spend one budget; ``report(policy)`` hands over a policy that plays from now on, and
what was reported last before a mark is measured there. A policy has ``act(observations, first)``, as of `Agent`, and
``save(folder)``; beside the learner stands ``load(folder)``, which gives it back.

In the track ``fixed`` environments are as they are registered, and show observations, rewards and, at the end of an
episode, its score and failure; in ``open`` a learner may ask for arguments, infos and snapshots, all of which spend the
same budget.
"""

from __future__ import annotations

import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import NDArray

import gymnosoma
from gymnosoma.envs.core.arguments import one_of, shown

from ..policies.agent import Agent, FunctionAgent, Policy
from ..policies.evaluation import BENCHMARK_SEED, evaluate
from ..policies.fingerprints import of_files, of_id
from ..policies.lookup import OWN, find_policy
from ..policies.registry import own_module, references_of, task_class, task_of, versions
from ..support.files import replacing
from .jobs import BINARY_EPISODES, EPISODES

PROTOCOL, FORMAT = "P1", "gymnosoma-result-1"
MARKS = (100_000, 300_000, 1_000_000)
TRACKS = ("fixed", "open")
SHIPPED = "gymnosoma.agents.benchmark.entrants"
"""Module of the learners that come with the package, which are named without it."""

MAX_REPORTS = 1000


class Entrant(Protocol):
    """A policy that a learner reports."""

    def act(self, observations: NDArray[np.float32], first: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Actions, as of `Agent`."""

    def save(self, folder: Path) -> None:
        """Write what ``load`` beside the learner reads, into a folder that is there."""


class BudgetSpent(Exception):
    """A step would pass the budget of a training."""


class Budget:
    """Steps of a training, over all environments that it makes: one of each row that is stepped, none for a reset."""

    def __init__(self, steps: int, seed: int) -> None:
        self.steps, self.used = steps, 0
        self._seed, self._unseeded = seed, 0

    @property
    def left(self) -> int:
        """Steps that are left."""
        return self.steps - self.used

    def spend(self, count: int) -> None:
        """Spend steps; BudgetSpent, and nothing is spent, where fewer are left."""
        if count > self.left:
            raise BudgetSpent(f"{count} steps would pass the budget: {self.left} of {self.steps} are left")
        self.used += count

    def seeds(self, given: int | Sequence[int | None] | None, count: int) -> list[int]:
        """Seeds of a reset in the place of those that are given: none that measures, whatever a learner asks for."""
        wanted = (
            [None] * count if given is None else given if isinstance(given, Sequence) else range(given, given + count)
        )
        return [self._drawn(seed) for seed in wanted]

    def _drawn(self, seed: int | None) -> int:
        if seed is None:
            self._unseeded += 1
        key = (0x67796D, self._seed, self._unseeded, 1) if seed is None else (0x67796D, self._seed, seed)
        return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0] >> np.uint64(2)) | 2**62


class Metered(VectorWrapper):
    """A vector environment that spends a budget, and draws its own seeds."""

    def __init__(self, envs: VectorEnv, budget: Budget) -> None:
        super().__init__(envs)
        self.budget = budget
        self._ended = np.zeros(envs.num_envs, np.bool_)
        self._next = envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Reset all rows."""
        self._ended[:] = False
        seeds: Any = self.budget.seeds(seed, self.num_envs)
        return self.env.reset(seed=seeds, options=options)

    def step(self, actions: Any) -> Any:
        """Step all rows; those that only begin anew spend nothing."""
        self.budget.spend(self.num_envs - int(self._ended.sum()))
        result = self.env.step(actions)
        if self._next:
            self._ended = result[2] | result[3]
        return result


class Fixed(VectorEnv):
    """What a learner sees in the track ``fixed``: observations, rewards and, at the end, score and failure."""

    def __init__(self, envs: Metered, score: str) -> None:
        self._envs, self._score, self.budget = envs, score, envs.budget
        self.num_envs, self.metadata, self.render_mode = envs.num_envs, dict(envs.metadata), None
        self.single_observation_space, self.single_action_space = (
            envs.single_observation_space,
            envs.single_action_space,
        )
        self.observation_space, self.action_space = envs.observation_space, envs.action_space
        self.spec: Any = SimpleNamespace(max_episode_steps=envs.spec.max_episode_steps)  # type: ignore[union-attr]

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        """Reset all rows; there are no options here."""
        if options:
            raise ValueError(f"options must be left out in the track 'fixed', got {shown(options)}")
        return self._envs.reset(seed=seed)[0], {}

    def step(self, actions: Any) -> Any:
        """Step all rows."""
        observations, rewards, terminated, truncated, infos = self._envs.step(actions)
        ended = terminated | truncated
        seen: dict[str, Any] = {}
        if ended.any():
            last = infos.get("final_info", infos)
            kept = {"failure": last.get("failure", np.full(self.num_envs, None, object))}
            if self._score in last:
                kept["score"] = np.where(ended, last[self._score], 0.0)
            kept |= {f"_{name}": ended.copy() for name in kept}
            seen = kept if "final_obs" not in infos else {"final_info": kept, "final_obs": infos["final_obs"]}
            seen |= {f"_{name}": ended.copy() for name in seen if name.startswith("final")}
        return observations, rewards, terminated, truncated, seen

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environment."""
        self._envs.close()


def environments(env_id: str, budget: Budget, track: str) -> Callable[..., VectorEnv]:
    """What a learner is given to make its environments with."""
    split = {"split": "train"} if task_class(env_id).hidden else {}

    def make_envs(num_envs: int, autoreset: str = "SameStep", **env: Any) -> VectorEnv:
        if env and track == "fixed":
            raise ValueError(f"arguments of the environment must be left out in the track 'fixed', got {shown(env)}")
        envs = gymnasium.make_vec(env_id, num_envs, autoreset_mode=autoreset, **{**split, **env})
        metered = Metered(envs, budget)
        return Fixed(metered, task_of(env_id).score.name) if track == "fixed" else metered

    return make_envs


class Reports:
    """Policies that a training has reported, of which those are kept that some mark may need."""

    def __init__(self, folder: Path, budget: Budget, marks: Sequence[int]) -> None:
        self._folder, self._budget, self._marks, self._count = folder, budget, sorted(marks), 0
        self.kept: dict[int, Entrant] = {}
        """Policies by the steps that had been spent."""

    def __call__(self, policy: Entrant) -> None:
        """Save a policy at once; its training may still fail."""
        self._count += 1
        if self._count > MAX_REPORTS:
            raise ValueError(f"report must be called at most {MAX_REPORTS} times")
        place = self.place(self._budget.used)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        policy.save(place)
        self.kept[self._budget.used] = policy
        needed = {self.at(mark) for mark in self._marks} | {max(self.kept)}
        for used in [used for used in self.kept if used not in needed]:
            shutil.rmtree(self.place(used))
            del self.kept[used]

    def place(self, used: int) -> Path:
        """Folder of the policy that was reported when so many steps had been spent."""
        return self._folder / f"{used}"

    def at(self, mark: int) -> int | None:
        """Steps that had been spent when what plays at a mark was reported; None without one."""
        return max((used for used in self.kept if used <= mark), default=None)


def find_learner(name: str) -> tuple[Callable[..., None], Callable[[Path], Entrant], str]:
    """Find a learner, ``load`` beside it, and its full name.

    Raises:
        ValueError: If there is none, naming what is missing.
    """
    full = name if ":" in name else f"{SHIPPED}:{name}"
    if not OWN.fullmatch(full):
        raise ValueError(
            f"learner must be the name of one that comes with the package, or module:function, got {name!r}"
        )
    module, _, function = full.partition(":")
    found = own_module(f"learner {name!r}", module)
    if module == SHIPPED:
        known = [*found.LEARNERS, "zero", "random", "baseline"]
        if function not in found.LEARNERS:
            raise ValueError(one_of("learner", function, known, ", another reference of the id, or module:function"))
    learner, load = getattr(found, function, None), getattr(found, "load", None)
    for what, value in ((function, learner), ("load", load)):
        if not callable(value):
            raise ValueError(f"learner {name!r}: module {module!r} must have a callable {what!r}, got {shown(value)}")
    return learner, load, full  # type: ignore[return-value]


def playing(entrant: Entrant, name: str, env: Mapping[str, Any]) -> Policy:
    """An entrant's policy as one of ours, whose actions are checked."""

    def make(envs: Any, start: int) -> Agent:
        return FunctionAgent(name, entrant.act, envs.task.action_size, with_first=True)

    return Policy(name, make, dict(env))


def episodes_of(env_id: str) -> int:
    """Number of the frozen episodes of an id."""
    return BINARY_EPISODES if task_of(env_id).score.binary else EPISODES


def measure(env_id: str, policy: Policy) -> dict[str, Any]:
    """Play the frozen episodes: ``scores``, ``returns`` where they are others, ``lengths``, failed ones by reason."""
    score = task_of(env_id).score
    env = {"split": None} if task_class(env_id).hidden else {}
    played = evaluate(env_id, policy, episodes_of(env_id), BENCHMARK_SEED, keep={score.name}, **env)
    scores, returns = _short(played.score(score) * score.factor), _short(played.returns)
    failures: dict[str, list[int]] = {}
    for k, why in enumerate(played.failures):
        if why is not None:
            failures.setdefault(why, []).append(k)
    return {
        "first_seed": BENCHMARK_SEED,
        "scores": scores,
        "returns": None if returns == scores else returns,
        "lengths": played.lengths.tolist(),
        "failures": failures,
    }


def _short(values: NDArray[np.float64]) -> list[float]:
    return [float(np.format_float_positional(value, 9, fractional=False)) for value in values]


def digest(folder: Path) -> str:
    """Digest of a folder's files: their names and contents."""
    return of_files(*sorted(path for path in folder.rglob("*") if path.is_file()))


def train(env_id: str, name: str, seed: int, marks: Sequence[int], track: str, folder: Path) -> None:
    """Train once, measure at the marks, and write a line for each into ``lines`` of the folder; weights beside it.

    A training that raises, or that reports nothing or what does not play, counts as zero actions, and says why.
    """
    learner, load, entry = find_learner(name)
    place = folder / "running" / f"{env_id.split('/')[1]}-{name.replace(':', '.')}-{seed}"
    shutil.rmtree(place, ignore_errors=True)
    budget = Budget(max(marks), seed)
    reports = Reports(place, budget, marks)
    _seed_all(seed)
    failed, started, wall = None, time.process_time(), time.time()
    try:
        learner(environments(env_id, budget, track), steps=budget.steps, seed=seed, report=reports, track=track)
    except BudgetSpent:
        pass
    except Exception as error:  # whatever it is, it is the learner's result
        failed = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    spent, wall = time.process_time() - started, time.time() - wall
    lines = []
    for mark in sorted(marks):
        used = reports.at(mark)
        weights, reason, env = None, failed, {}
        started = time.process_time()
        if used is None:
            reason = reason or f"it had reported no policy at {mark} steps"
        else:
            try:
                entrant = load(reports.place(used))
                env = dict(getattr(entrant, "env", {}))
                episodes = measure(env_id, playing(entrant, entry, env))
                weights = _keep(reports.place(used), folder)
            except Exception as error:
                reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        if weights is None:
            env = {}
            episodes = measure(env_id, find_policy(env_id, "zero"))
        seconds = {"train": spent, "evaluate": time.process_time() - started}
        about = learner_of(entry, learner)
        lines.append(line(env_id, about, seed, mark, used or 0, reason, env, track, episodes, seconds, wall, weights))
    write_lines(folder, env_id, name, seed, lines)
    shutil.rmtree(place, ignore_errors=True)


def stand(env_id: str, name: str, folder: Path) -> None:
    """Measure what does not learn, such as ``baseline`` or ``zero``: one line, at mark 0."""
    policy = find_policy(env_id, name)
    started = time.process_time()
    episodes = measure(env_id, policy)
    seconds = {"train": 0.0, "evaluate": time.process_time() - started}
    about = {"name": name, "entry": name, "config": {}, "source_sha256": policy.digest()}
    lines = [line(env_id, about, 0, 0, 0, None, policy.env, "open", episodes, seconds, seconds["evaluate"], None)]
    write_lines(folder, env_id, name, 0, lines)


def stands(env_id: str, name: str) -> bool:
    """Whether a name is that of a policy that does not learn."""
    return name in ("zero", "random", *references_of(env_id))


def learner_of(entry: str, learner: Callable[..., None]) -> dict[str, Any]:
    """What a result says of its learner."""
    source = Path(sys.modules[learner.__module__].__file__ or "")
    config = dict(getattr(learner, "config", {}))
    short = entry.partition(":")[2]
    return {
        "name": getattr(learner, "name", short),
        "entry": entry,
        "config": config,
        "source_sha256": of_files(source),
    }


def line(
    env_id: str,
    learner: Mapping[str, Any],
    seed: int,
    mark: int,
    used: int,
    failed: str | None,
    env: Mapping[str, Any],
    track: str,
    episodes: Mapping[str, Any],
    seconds: Mapping[str, float],
    wall: float,
    weights: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """A result: all keys that its file has."""
    score = task_of(env_id).score
    return {
        "$id": FORMAT,
        "protocol": PROTOCOL,
        "track": track,
        "id": env_id,
        "fingerprint": of_id(env_id, env),
        "learner": dict(learner),
        "train_seed": seed,
        "mark": mark,
        "steps": used,
        "failed": failed,
        "env": dict(env),
        "split": None,
        "score": {"name": score.name, "unit": score.unit},
        "episodes": dict(episodes),
        "cpu_s": {name: round(value, 3) for name, value in seconds.items()},
        "wall_s": round(wall, 3),
        "cpu": cpu(),
        "threads": int(os.environ.get("OMP_NUM_THREADS", "1")),
        "versions": {"python": platform.python_version(), **versions(), "commit": _commit()},
        "weights": weights,
    }


def cpu() -> str:
    """Name of this machine's processor, by which results may differ in their last digits."""
    known = Path("/proc/cpuinfo")
    named = re.search(r"^model name\s*: (.*)$", known.read_text("utf-8"), re.MULTILINE) if known.is_file() else None
    return named[1].strip() if named else platform.processor() or platform.machine()


def _commit() -> str:
    """Commit of the checkout, empty where the package was installed."""
    root = Path(gymnosoma.__file__).resolve().parents[1]
    command = ["git", "-C", str(root), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _keep(source: Path, folder: Path) -> dict[str, Any]:
    """Keep a policy's files under their digest."""
    name = digest(source)
    place = folder / "weights" / name
    if not place.is_dir():
        shutil.copytree(source, place)
    return {"sha256": name, "bytes": sum(path.stat().st_size for path in place.rglob("*") if path.is_file())}


def _seed_all(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - a learner may draw from it
    with suppress(ModuleNotFoundError):  # of which not all learners are made
        import torch

        torch.manual_seed(seed)
        torch.set_num_threads(1)


def piece(folder: Path, env_id: str, name: str, seed: int) -> Path:
    """File with the lines of a training."""
    return folder / "lines" / f"{env_id.split('/')[1]}-{name.replace(':', '.')}-{seed}.jsonl"


def write_lines(folder: Path, env_id: str, name: str, seed: int, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write the lines of a training at once."""
    file = piece(folder, env_id, name, seed)
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as out:
        out.write("".join(json.dumps(each, allow_nan=False, separators=(",", ":")) + "\n" for each in lines).encode())


def gather(folder: Path) -> Path:
    """Put the lines of all trainings of a folder into its ``results.jsonl``."""
    texts = [file.read_text("utf-8") for file in sorted((folder / "lines").glob("*.jsonl"))]
    with replacing(folder / "results.jsonl") as out:
        out.write("".join(texts).encode())
    return folder / "results.jsonl"
