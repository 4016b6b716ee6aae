"""The benchmark as independent jobs: each measures one policy on one id, and leaves one file.

A job is a function of plain values, so that any engine can do it, and its file is complete or not there: whatever
ends the work costs what was under way, and the same work begun again does what is left.
"""

from __future__ import annotations

import contextlib
import csv
import json
import re
import reprlib
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..learning.search import CONSTANT, search
from ..policies.agent import Policy
from ..policies.evaluation import BENCHMARK_SEED, VALIDATION_SEED, evaluate
from ..policies.fingerprints import of_id, of_values
from ..policies.lookup import REPLAY, find_policy, shipped
from ..policies.registry import controllers_digest, references_of, task_class, task_of, versions
from ..support import progress, schema
from ..support.files import replacing

EPISODES, BINARY_EPISODES, VALIDATION_EPISODES = 256, 1024, 128
"""Episodes that measure a policy; where a score is binary; those that choose among trainings."""

SPLITS = ("test", "robust")
"""Splits in which a policy is measured besides, where the id has them: with `EPISODES` at most."""

MAX_EPISODES = VALIDATION_SEED - BENCHMARK_SEED

CHANGED = {
    "id": "the behaviour of the environment has",
    "policy": "the files of the policy have",
    "recipe": "the recipe has",
}
"""What errors say of digests."""


def _finite(name: str, value: Any) -> None:
    if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
        raise ValueError(f"{name} must be a finite number, got {reprlib.repr(value)}")


def _all_finite(name: str, value: Any) -> None:
    schema.typed(name, value, list, "be a list")
    for number in value:
        _finite(f"each of {name}", number)


def _table(name: str, value: Any) -> None:
    schema.typed(name, value, dict, "be an object")


def _text(name: str, value: Any) -> None:
    schema.typed(name, value, str, "be a text")


def _played(name: str, value: Any) -> None:
    schema.held(name, value, PLAYED)


def _splits(name: str, value: Any) -> None:
    schema.held(name, value, dict.fromkeys(value if isinstance(value, dict) else (), _played))


PLAYED: dict[str, schema.Check] = {"scores": _all_finite, "return": _finite, "failed": _finite}
RESULT: dict[str, schema.Check] = PLAYED | {
    "splits": _splits,
    "job": _table,
    "depends": _table,
    "score": _text,
    "unit": _text,
    "env": _table,
    "seconds": _finite,
    "versions": _table,
}
OF_SOME: dict[str, schema.Check] = {
    "validation": _finite,
    "parameters": _table,
    "reference": _text,
    "curve": lambda name, value: schema.held(name, value, dict.fromkeys(("steps", "seconds", "score"), _all_finite)),
}
"""What the file of a result holds, and what those of some policies and ids hold besides."""


@dataclass(frozen=True)
class Job:
    """One policy on one id.

    Args:
        policy: A name as of `find_policy`, or ``best constant``.
        training: Of ``trained``: the seed of a training of our own, by the recipe; without, what comes with the
            package.
        episodes, steps: Instead of `EPISODES` or `BINARY_EPISODES`, and of a training, instead of the recipe's.
    """

    env_id: str
    policy: str
    training: int | None = None
    episodes: int | None = None
    steps: int | None = None

    @cached_property
    def depends(self) -> dict[str, str]:
        """Digests of what the result depends on: how the id behaves, what the policy is made of."""
        own = references_of(self.env_id)
        if self.training is not None:
            from ..learning.runs import recipe

            chosen = recipe(self.env_id)
            return {"id": of_id(self.env_id, chosen["env"]), "recipe": of_values(chosen)}
        if self.policy == CONSTANT:
            env = next(reference.env for reference in own.values() if reference.bounds)
            return {"id": of_id(self.env_id, env), "policy": controllers_digest(self.env_id)}
        policy = find_policy(self.env_id, self.policy)
        return {"id": of_id(self.env_id, policy.env), "policy": policy.digest()}

    @property
    def count(self) -> int:
        """Number of episodes."""
        return self.episodes or (BINARY_EPISODES if task_of(self.env_id).score.binary else EPISODES)

    @property
    def splits(self) -> list[str]:
        """Splits in which the policy is measured besides."""
        task = task_of(self.env_id)
        return [name for name in SPLITS if (task.hidden if name == "test" else task.varied())]

    @property
    def name(self) -> str:
        """Name of the job, and of its file below ``jobs`` in the folder of the benchmark."""
        policy = re.sub(r"[^\w.-]+", "_", self.policy)
        return f"{self.env_id.split('/')[1]}/{policy}" + ("" if self.training is None else f"-{self.training}")

    def file(self, folder: Path) -> Path:
        """File of the result."""
        return folder / "jobs" / f"{self.name}.json"

    def run(self, folder: Path) -> Path:
        """Run folder of a training."""
        return folder / "runs" / f"{self.env_id.split('/')[1]}-{self.training}"

    def result(self, folder: Path) -> dict[str, Any] | None:
        """Result of the job, None as long as it is not done.

        ValueError if the file is no result, one of other settings, or of what has changed since.
        """
        file = self.file(folder)
        if not file.is_file():
            return None
        try:
            found = json.loads(file.read_text("utf-8"))
            schema.typed("its content", found, dict, "be an object")
            schema.read(found, RESULT, "it lacks {key}")
            schema.read(found["splits"], dict.fromkeys(self.splits, _played), "splits: it lacks {key}")
            for key in OF_SOME.keys() & found.keys():
                OF_SOME[key](key, found[key])
        except (OSError, ValueError, RecursionError) as error:
            raise ValueError(f"{str(file)!r} is no result of a benchmark: {error}") from None
        job = found["job"]
        for key, value in asdict(self).items():
            if job.get(key) != value:
                raise ValueError(
                    f"{key} must be {job.get(key)!r}, with which {str(file)!r} was measured, got {value!r}: give that, "
                    "or another --folder"
                )
        few = min(self.count, EPISODES)
        for played, count in ((found, self.count), *((found["splits"][split], few) for split in self.splits)):
            if len(played["scores"]) != count:
                raise ValueError(f"{str(file)!r} must hold {count} scores, got {len(played['scores'])}")
        stale = [CHANGED[key] for key, digest in self.depends.items() if found["depends"].get(key) != digest]
        if stale:
            raise ValueError(
                f"{str(file)!r} must be a result of what is measured now, but {' and '.join(stale)} changed since "
                f"{self.policy} was measured on {self.env_id}: give --restart to measure anew, or another --folder"
            )
        return found

    def discard(self, folder: Path) -> None:
        """Remove what is kept of the job."""
        self.file(folder).unlink(missing_ok=True)
        shutil.rmtree(self.run(folder), ignore_errors=True)


def jobs_of(
    env_id: str,
    policies: Sequence[str] | None = None,
    trainings: int = 0,
    episodes: int | None = None,
    steps: int | None = None,
) -> list[Job]:
    """List the jobs of an id, without those for which it has nothing, such as references or a trained policy.

    Args:
        env_id, episodes, steps: As of `Job`.
        policies: By default chance, zero actions, all references, the best constant, trained policies, and what of one
            of these repeats one episode's actions. Chance and the animal's own controller are always among them.
        trainings: Seeds with which ``trained`` is trained anew; with 0 it is what comes with the package.
    """
    own = references_of(env_id)
    strong = ["trained"] if shipped(env_id).is_dir() else [*own][1:2] or [*own]
    every = ["random", "zero", *own, CONSTANT, "trained", *(f"{REPLAY}{name}" for name in strong)]
    wanted = every if policies is None else ["random", "baseline", *policies]
    jobs = []
    for name in dict.fromkeys(wanted):
        absent = {
            "baseline": "baseline" not in own,
            CONSTANT: not any(reference.bounds for reference in own.values()),
            "trained": not trainings and not shipped(env_id).is_dir(),
        }
        if absent.get(name):
            continue
        seeds: Sequence[int | None] = range(trainings) if name == "trained" and trainings else [None]
        for seed in seeds:
            jobs.append(Job(env_id, name, seed, episodes, steps if seed is not None else None))
    return jobs


def discard_changed(jobs: Sequence[Job], folder: Path) -> None:
    """Remove what is kept of those jobs whose results are of something else, or damaged."""
    for job in jobs:
        try:
            job.result(folder)
        except ValueError:
            job.discard(folder)


def do(job: Job, folder: Path) -> None:
    """Do a job, and write its file.

    A training goes into a run folder below ``runs``, and continues from its last checkpoint where it has one. Its
    environment draws what it hides from the training split.
    """
    hides = bool(task_class(job.env_id).hidden)
    score = task_of(job.env_id).score
    count = job.count
    found: dict[str, Any] = {"job": asdict(job), "depends": job.depends, "score": score.name, "unit": score.unit}
    if job.policy == CONSTANT:
        searched = search(job.env_id)
        assert searched is not None
        found["reference"], found["parameters"], policy = searched
    elif job.training is not None:
        policy = _train(job, folder, hides)
        found["curve"] = _curve(job.run(folder))
    else:
        policy = find_policy(job.env_id, job.policy)

    def play(episodes: int, seed: int, **env: Any) -> dict[str, Any]:
        played = evaluate(job.env_id, policy, episodes, seed, keep={score.name}, **env)
        return {
            "scores": (played.score(score) * score.factor).tolist(),
            "return": float(played.returns.mean()),
            "failed": sum(reason is not None for reason in played.failures) / episodes,
        }

    everything = {"split": None} if hides else {}
    started = time.process_time()
    found |= {"env": {**policy.env}, **play(count, BENCHMARK_SEED, **everything)}
    found["seconds"] = time.process_time() - started
    found["splits"] = {split: play(min(count, EPISODES), BENCHMARK_SEED, split=split) for split in job.splits}
    if job.training is not None or job.policy == "trained":
        found["validation"] = float(np.mean(play(VALIDATION_EPISODES, VALIDATION_SEED, **everything)["scores"]))
    found["versions"] = versions()
    file = job.file(folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as out:
        out.write((json.dumps(found) + "\n").encode())


def _train(job: Job, folder: Path, hides: bool) -> Policy:
    """The policy of a training, which is begun, continued, or found finished."""
    from ..learning import training

    run = job.run(folder)
    begun = (run / "config.json").exists()
    with _quiet():
        training.train(
            job.env_id,
            run,
            steps=job.steps,
            seed=job.training or 0,
            resume=begun,
            env={"split": "train"} if hides else {},
        )
    return find_policy(job.env_id, str(run))


def _curve(run: Path) -> dict[str, list[float]]:
    """Learning curve of a run folder: steps, CPU seconds, score."""
    with (run / "curve.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [float(row[name]) for row in rows] for name in ("steps", "seconds", "score")}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Show no progress but the benchmark's own."""
    before, progress.shown = progress.shown, False
    try:
        yield
    finally:
        progress.shown = before
