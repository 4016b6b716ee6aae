"""Entrants of the benchmark: fixed policies, learners, and trainings with the recipe.

The work consists of independent jobs: one policy on one environment, or one training with its measurements. Any
process on any machine can run a job. It returns its results, which `run` saves when each job has finished, so an
interruption affects only unfinished jobs.
"""

from __future__ import annotations

import errno
import os
import platform
import random
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gymnosoma
from gymnosoma.envs.core.arguments import choice, one_of, printable, shown
from gymnosoma.envs.core.files import partial_path, remove
from gymnosoma.moved import point_from

from ..learning.search import CONSTANT, search
from ..policies.agent import Agent, FunctionAgent, Policy, reference_policy
from ..policies.card import CARD, WEIGHTS, check_parameters
from ..policies.fingerprints import env_fingerprint, files_digest, values_digest
from ..policies.lookup import OWN, REPLAY, find_policy, shipped
from ..policies.registry import own_module, references_of, source_digest, task_class, versions
from ..support import progress
from ..support.files import locked, replacing
from ..support.schema import read
from ..support.workers import Outcome, Unfinished, run_jobs
from . import learners, results
from .protocol import MARKS, TRAININGS, Budget, BudgetSpent, Entrant, Reports, environments, episodes_of, measure

RECIPE = "recipe"
"""Name of the learner that trains with the recipe of each environment, in the track ``open``."""


AGAIN = "use --restart to measure again, or another --folder"


@dataclass(frozen=True)
class Job:
    """One policy on one environment, or one training of a learner.

    Args:
        name: Name of a policy (see `find_policy`, or ``best constant``) or of a learner.
        seed: Seed of a training; None for a policy.
        marks: Numbers of steps at which a learner is measured; the last one is its budget.
        episodes: Number of benchmark episodes.
    """

    env_id: str
    name: str
    seed: int | None = None
    marks: tuple[int, ...] = (0,)
    track: str = "open"
    episodes: int = 256

    @property
    def label(self) -> str:
        """Name of the job and of its files."""
        parts = [self.env_id.split("/")[1], self.name, *([] if self.seed is None else [str(self.seed)])]
        return "-".join(re.sub(r"[^\w.-]+", "_", part) for part in parts)

    def file(self, folder: Path) -> Path:
        """Return the file for the results of the job."""
        return folder / "lines" / f"{self.label}.jsonl"

    def run(self, folder: Path) -> Path:
        """Return the folder of a training in progress; with the recipe, it is the run folder."""
        return folder / "runs" / self.label

    @cached_property
    def digest(self) -> str:
        """Digest of the entrant's source code, weights or settings."""
        if self.seed is None:
            if self.name == CONSTANT:
                own = {name: each.bounds for name, each in references_of(self.env_id).items() if each.bounds}
                return values_digest({name: [find_policy(self.env_id, name).digest(), own[name]] for name in own})
            return find_policy(self.env_id, self.name).digest()
        if self.name == RECIPE:
            from ..learning.runs import recipe

            return values_digest(vars(recipe(self.env_id)))
        learner, _ = find_learner(self.name)
        if isinstance(learner, learners.Learner):
            return values_digest(self.name, learner.version, learner.config)
        module = own_module(f"learner {self.name!r}", self.name.partition(":")[0])
        return values_digest(source_digest(module, learner), getattr(learner, "config", {}))

    def lines(self, folder: Path) -> list[results.Result] | None:
        """Read the results of the job, or return None if it is not finished.

        Raises:
            ValueError: If the file is damaged, or if settings, environment or entrant have changed.
        """
        file = self.file(folder)
        if not file.is_file():
            return None
        lines = results.read(file)
        if not lines:
            raise ValueError(f"{str(file)!r} must not be empty: {AGAIN}")
        first = lines[0]
        settings = tuple(each.mark for each in lines), first.track, first.episodes.count
        for key, value in zip(("marks", "track", "episodes"), settings, strict=True):
            if value != getattr(self, key):
                raise ValueError(f"{key} must be {value!r}, as in {str(file)!r}, got {getattr(self, key)!r}: {AGAIN}")
        changed = {
            "the behaviour of the environment": first.fingerprint != env_fingerprint(self.env_id, first.env),
            "the files or settings of the entrant": first.entrant.digest != self.digest,
            "the saved weights": not all(_intact(folder, each.weights) for each in lines if each.weights),
        }
        if any(changed.values()):
            parts = " and ".join(part for part, differs in changed.items() if differs)
            raise ValueError(f"{parts} changed since {self.name} was measured on {self.env_id}: {AGAIN}")
        return lines

    def discard(self, folder: Path) -> None:
        """Delete the results of the job."""
        self.file(folder).unlink(missing_ok=True)
        shutil.rmtree(self.run(folder), ignore_errors=True)


def jobs(
    env_id: str,
    policies: Sequence[str] | None = None,
    entered: Sequence[str] = (),
    seeds: int = TRAININGS,
    marks: Sequence[int] | None = None,
    track: str = "fixed",
    episodes: int | None = None,
) -> list[Job]:
    """List the jobs of an environment, without missing policies, such as a trained one.

    Args:
        policies: Names of policies. By default, without learners: random, all references, best constant, the
            trained policy included in the package, and a replay of one of these.
        entered: Names of learners.
        seeds: Number of trainings per learner, with seeds 0, 1, ...
        marks: Numbers of steps at which learners are measured. By default, `MARKS`, and for the recipe its own steps.
    """
    own, count = references_of(env_id), episodes or episodes_of(env_id)
    absent = {
        "baseline": "baseline" not in own,
        CONSTANT: not any(reference.bounds for reference in own.values()),
        "trained": not shipped(env_id).is_dir(),
    }
    if policies is None:
        replayed = ["trained"] if not absent["trained"] else [*own][1:2] or [*own]
        policies = ["random", *own, CONSTANT, "trained", *(f"{REPLAY}{name}" for name in replayed)]
        policies = () if entered else policies
    work = [Job(env_id, name, episodes=count) for name in dict.fromkeys(policies) if not absent.get(name)]
    for name in dict.fromkeys(entered):
        budget, of = tuple(sorted(marks or MARKS)), track
        if name == RECIPE:
            from ..learning.runs import recipe

            budget, of = (max(marks or [recipe(env_id).steps]),), "open"
        work += [Job(env_id, name, seed, budget, of, count) for seed in range(seeds)]
    return work


def find_learner(name: str) -> tuple[Callable[..., None], Callable[[Path], Entrant]]:
    """Find a learner and the function ``load`` of its module.

    Raises:
        ValueError: If the learner or ``load`` does not exist; names it.
    """
    if name in learners.LEARNERS:
        return learners.LEARNERS[name], learners.load
    if not OWN.fullmatch(name):
        raise ValueError(one_of("learner", name, [*learners.LEARNERS, RECIPE], " or module:function"))
    module, _, function = name.partition(":")
    contents = own_module(f"learner {name!r}", module)
    learner, load = getattr(contents, function, None), getattr(contents, "load", None)
    for what, value in ((function, learner), ("load", load)):
        if not callable(value):
            raise ValueError(f"learner {name!r}: module {module!r} must have a callable {what!r}, got {shown(value)}")
    return learner, load  # type: ignore[return-value]


def playing(entrant: Entrant, name: str, env: dict[str, Any]) -> Policy:
    """Create a policy, with checked actions, from an entrant that a learner reported."""

    def make(envs: Any, start: int) -> Agent:
        return FunctionAgent(name, entrant.act, envs.task.action_size, with_first=True)

    return Policy(name, make, env)


Weights = dict[str, dict[str, bytes]]
"""Contents of the files of policies, by the digest of the policy and the path within its folder."""


class JobResult(NamedTuple):
    """Results of a job, and the policies that it trained."""

    lines: list[results.Result]
    weights: Weights


def run(
    jobs: Sequence[Job], folder: Path, executor: Executor | None = None, restart: bool = False
) -> dict[str, Outcome]:
    """Run those jobs that have no results in a folder, and collect all results of the folder in ``results.jsonl``.

    Jobs with the most steps start first.

    Args:
        jobs: Jobs, as from `jobs`.
        folder: Results folder.
        executor: Any executor, such as that of `workers`; None runs the jobs in this process, one after another.
        restart: Measure changed environments or entrants again. Without this option, a change is an error.

    Returns:
        dict: Outcomes of the jobs that ran, by label. A failed training has an error, although its results are saved.

    Raises:
        ValueError: If the folder is in use, or contains damaged or outdated results.
    """
    digests = {job.label: job.digest for job in jobs}  # fails early if a name is wrong
    with locked("folder", folder):
        remaining: dict[str, Job] = {}
        for job in sorted(jobs, key=lambda job: -max(job.marks)):
            try:
                finished = job.lines(folder) is not None
            except ValueError:
                if not restart:
                    raise
                job.discard(folder)
                finished = False
            if not finished:
                remaining[job.label] = job

        def save(label: str, result: JobResult) -> None:
            save_job(remaining[label], folder, result)

        work = {label: (job, folder.absolute()) for label, job in remaining.items()}
        try:
            return run_jobs(executor, run_job, work, "job", len(digests) - len(work), save=save)
        finally:  # also after Ctrl-C
            results.gather(folder)


def run_job(job: Job, folder: Path) -> JobResult:
    """Run a job.

    A training has its checkpoints in the results folder, if this machine shares it.
    """
    weights: Weights = {}
    if job.seed is None:
        return JobResult([_play(job, weights)], weights)
    with _run_folder(job, folder) as place:
        if job.name == RECIPE:
            return JobResult([_by_recipe(job, place, weights)], weights)
        return JobResult(_train(job, place, weights), weights)


@contextmanager
def _run_folder(job: Job, folder: Path) -> Iterator[Path]:
    """Yield the folder of a training in progress, a temporary one if this machine has no results folder."""
    if folder.is_dir():
        yield job.run(folder)
    else:
        with tempfile.TemporaryDirectory() as place:
            yield job.run(Path(place))


def save_job(job: Job, folder: Path, result: JobResult) -> None:
    """Write the results of a job into the results folder.

    Raises:
        Unfinished: If its training failed. The file is written nevertheless and contains the reason.
    """
    for digest, contents in result.weights.items():
        _save_weights(folder, digest, contents)
    results.write(job.file(folder), result.lines)
    for reason in (each.failed for each in result.lines if each.failed is not None):
        raise Unfinished(reason)


def _play(job: Job, weights: Weights) -> results.Result:
    """Measure a fixed policy."""
    config: dict[str, Any] = {}
    if job.name == CONSTANT:
        reference, parameters, policy = search(job.env_id)  # type: ignore[misc]
        config = vars(_Constant(reference, parameters))
    else:
        policy = find_policy(job.env_id, job.name)
    run = Path(job.name)
    digest = _keep(run, weights) if policy.card is not None and job.name != "trained" and run.is_dir() else None
    started = time.process_time()
    episodes = measure(job.env_id, policy, job.episodes)
    seconds = time.process_time() - started
    return _result(job, policy.name, episodes, 0.0, seconds, policy.env, config=config, weights=digest)


def _by_recipe(job: Job, run: Path, weights: Weights) -> results.Result:
    """Train with the recipe in a run folder, or resume an interrupted training, and measure the result."""
    from ..learning.training import TrainConfig, train

    started = time.process_time()
    env = {"split": "train"} if task_class(job.env_id).hidden else {}
    with progress.hidden():
        config = TrainConfig(steps=job.marks[0], seed=job.seed or 0, env=env)
        train(job.env_id, run, config, resume=(run / "config.json").exists())
    spent, started = time.process_time() - started, time.process_time()
    policy = find_policy(job.env_id, str(run))
    episodes = measure(job.env_id, policy, job.episodes)
    seconds, (steps,) = time.process_time() - started, job.marks
    digest = _keep(run, weights)
    return _result(job, RECIPE, episodes, spent, seconds, policy.env, mark=steps, steps=steps, weights=digest)


def _train(job: Job, place: Path, weights: Weights) -> list[results.Result]:
    """Train a learner and measure it at the marks.

    A training counts as zero actions if it raises an error, reports no policy, or reports a policy that fails.
    """
    learner, load = find_learner(job.name)
    seed = job.seed or 0
    shutil.rmtree(place, ignore_errors=True)
    budget = Budget(max(job.marks), seed, job.marks)
    reports = Reports(place, budget, job.marks)
    _seed_all(seed)
    failed, started, config = None, time.process_time(), dict(getattr(learner, "config", {}))
    make_envs = environments(job.env_id, budget, job.track)
    try:
        learner(make_envs, steps=budget.steps, seed=seed, report=reports, track=job.track)
    except BudgetSpent:
        pass
    except Exception as error:  # any error counts as a failure of the learner
        failed = _message(error)
    spent, lines = time.process_time() - started, []
    for mark in job.marks:
        steps = reports.at(mark)
        digest, reason, env, started = None, failed, {}, time.process_time()
        if steps is None:
            reason = reason or f"it reported no policy within {mark} steps"
        else:
            try:
                entrant = load(reports.place(steps))
                env = dict(getattr(entrant, "env", {}))
                episodes = measure(job.env_id, playing(entrant, job.name, env), job.episodes)
            except Exception as error:
                reason = _message(error)
            else:
                digest = _keep(reports.place(steps), weights)
        if digest is None:
            env, episodes = {}, measure(job.env_id, find_policy(job.env_id, "zero"), job.episodes)
        seconds = time.process_time() - started
        outcome = {"mark": mark, "steps": steps or 0, "failed": reason, "weights": digest, "config": config}
        lines.append(_result(job, job.name, episodes, spent, seconds, env, **outcome))
    shutil.rmtree(place, ignore_errors=True)
    return lines


def _message(error: Exception) -> str:
    """Return the reason of a learner's failure; raise the error if the disk is full, which no learner can help."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise error
    return printable(f"{type(error).__name__}: {error}")[:200]


def _result(
    job: Job, name: str, episodes: results.Measurement, train: float, evaluate: float, env: dict[str, Any], **rest: Any
) -> results.Result:
    """Create the result of a measurement; ``train`` and ``evaluate`` are CPU seconds, ``rest`` are fields."""
    score = task_class(job.env_id).score
    fields: dict[str, Any] = {"mark": 0, "steps": 0, "failed": None, **rest}
    return results.Result(
        id=job.env_id,
        fingerprint=env_fingerprint(job.env_id, env),
        entrant=results.Entrant(name, fields.pop("config", {}), job.digest),
        track=job.track,  # type: ignore[arg-type]
        seed=job.seed or 0,
        env=env,
        score=results.ScoreName(score.name, score.unit),
        episodes=episodes,
        seconds=results.Seconds(round(train, 3), round(evaluate, 3)),
        made={"cpu": cpu(), "python": platform.python_version(), **versions(), "commit": _commit()},
        **fields,
    )


def cpu() -> str:
    """Return the name of this machine's processor, which affects the rounding of results."""
    about = Path("/proc/cpuinfo")
    name = re.search(r"^model name\s*: (.*)$", about.read_text("utf-8"), re.MULTILINE) if about.is_file() else None
    return name[1].strip() if name else platform.processor() or platform.machine()


def _commit() -> str:
    """Return the commit of the checkout, or an empty string for an installed package."""
    root = Path(gymnosoma.__file__).resolve().parents[1]
    command = ["git", "-C", str(root), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _keep(source: Path, weights: Weights) -> str:
    """Add a policy's files to ``weights``, and return their digest."""
    files = _files(source)
    digest = files_digest(*files)
    weights[digest] = {file.relative_to(source).as_posix(): file.read_bytes() for file in files}
    return digest


def _save_weights(folder: Path, digest: str, contents: dict[str, bytes]) -> None:
    """Write a policy's files into a subfolder of ``weights``, which appears when all files are on the disk."""
    if _intact(folder, digest):
        return
    place = folder / "weights" / digest
    partial = partial_path(place)
    try:
        for name, content in contents.items():
            target = partial / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with replacing(target) as out:
                out.write(content)
        remove(place)
        os.rename(partial, place)
    finally:
        remove(partial)


def _intact(folder: Path, digest: str) -> bool:
    """Return whether the files of a policy are complete in ``weights``."""
    place = folder / "weights" / digest
    return place.is_dir() and files_digest(*_files(place)) == digest


def _files(folder: Path) -> list[Path]:
    """Return the files of a policy; of a run folder, only weights and card."""
    paths = (folder / WEIGHTS, folder / CARD) if (folder / CARD).is_file() else sorted(folder.rglob("*"))
    return [path for path in paths if path.is_file()]


def _seed_all(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - a learner may draw from it
    with suppress(ModuleNotFoundError):  # a learner may not need torch
        import torch

        torch.manual_seed(seed)
        torch.set_num_threads(1)


class Unchecked(Exception):
    """Reason why the policy of a line cannot be replayed."""


def check_trust(name: str, trust: bool) -> None:
    """Raise Unchecked for an entrant that is not part of this package, without ``trust``."""
    if not trust and name not in (*learners.LEARNERS, RECIPE):
        raise Unchecked(f"{name} is third-party code: use --trust to run it")


@dataclass(frozen=True)
class _Constant:
    """Settings of the entrant ``best constant``."""

    reference: str
    parameters: dict[str, Any]


def policy_of(line: results.Result, folder: Path, trust: bool = False) -> Policy:
    """Find the policy of a line of untrusted results.

    Raises:
        Unchecked: If its weights are missing, or if it executes third-party code without ``trust``.
        ValueError: If the policy does not exist, or the digest of its weights differs.
    """
    env_id, name = line.id, line.entrant.name
    if line.weights is None:
        source = "zero" if line.mark else name
        while source.startswith(REPLAY):
            source = source.removeprefix(REPLAY)
        if OWN.fullmatch(source):
            check_trust(source, trust)
        if source == CONSTANT:
            own, config = references_of(env_id), read(_Constant, line.entrant.config, "config")
            choice("config: reference", config.reference, own)
            check_parameters(own[config.reference], config.parameters)
            return reference_policy(CONSTANT, own[config.reference], **config.parameters)
        if source not in ("zero", "random", "trained", *references_of(env_id)) and not OWN.fullmatch(source):
            raise ValueError(f"it has no weights, and {name!r} is not a policy of this id")
        return find_policy(env_id, "zero" if line.mark else name)
    place = folder / "weights" / line.weights
    if not re.fullmatch("[0-9a-f]{16}", line.weights) or not place.is_dir():
        raise Unchecked("its weights are missing")
    if not _intact(folder, line.weights):
        raise ValueError("its weights have a different digest")
    if (place / CARD).is_file():
        return find_policy(env_id, str(place))
    check_trust(name, trust)
    return playing(find_learner(name)[1](place), name, line.env)


point_from(__name__)
