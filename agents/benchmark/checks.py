"""Verification of results files: policies replay their episodes, and trainings are repeated.

A replay cannot verify `UNSHOWN`. Only training again can show that no more steps were taken than claimed.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gymnosoma.envs.core.env.documentation import normaliser

from ..policies.fingerprints import env_fingerprint, values_digest
from ..policies.registry import task_class
from ..support.workers import run_jobs
from .entrants import Job, Unchecked, check_trust, cpu, policy_of, run_job
from .protocol import measure
from .results import Result, ScoreName, read
from .statistics import of_points

EPISODE, MEAN, MOST = 1e-5, 1e-3, 0.99
"""Tolerances of a replay: difference per episode and of the mean, as fractions of the scale, and the fraction of
episodes that must agree on a different processor. There, rounding differs and long episodes are chaotic; on the same
processor, all episodes must agree."""


UNSHOWN = "steps, seconds and seeds of a training, its config and digest, why it failed, versions and commit"
"""Contents of a line that no replay can verify."""


def width(env_id: str) -> float:
    """Return the length of an environment's score scale, or 1 without a scale."""
    scale = normaliser(env_id)
    return 1.0 if scale is None else scale["best"] - scale["floor"]


class Verdict(NamedTuple):
    """Messages for lines that differ and for unchecked lines; numbers of checked lines and of repeated trainings."""

    differs: list[str]
    unchecked: list[str]
    checked: int
    repeated: int


def check(
    file: Path, trust: bool = False, retrain: int = 0, seed: int = 0, executor: Executor | None = None
) -> Verdict:
    """Verify a results file line by line.

    With ``trust``, policies that execute third-party code are replayed, too. ``retrain`` is the number of trainings to
    repeat, chosen at random with ``seed``. Lines are distributed over any ``executor``, such as that of `workers`.
    """
    lines = read(file)
    jobs: dict[str, tuple[Any, ...]] = {}
    for number, each in enumerate(lines, 1):
        jobs[f"line {number}: {each.label}"] = (_different, each, file.parent.absolute(), trust)
    trained = [each for each in lines if each.mark and each.failed is None]
    for each in random.Random(seed).sample(trained, min(retrain, len(trained))):
        jobs[f"{each.label}, trained again"] = (_unlikely, each, lines, trust)
    outcomes = run_jobs(executor, _judged, jobs, "line")
    differs, unchecked, checked = _gaps(lines), [], [0, 0]
    for k, name in enumerate(jobs):
        reason, problem = ("", outcomes[name].error) if outcomes[name].error else outcomes[name].value
        if reason:
            unchecked.append(f"{name}: {reason}")
            continue
        checked[k >= len(lines)] += 1
        if problem:
            differs.append(f"{name}: {problem}")
    return Verdict(differs, unchecked, *checked)


def _judged(judge: Callable[..., str], *arguments: Any) -> tuple[str, str]:
    """Return the reason why a check is impossible, and the problem found; both are empty on success."""
    try:
        return "", judge(*arguments)
    except Unchecked as reason:
        return str(reason), ""


def _gaps(lines: Sequence[Result]) -> list[str]:
    """Return messages about missing and duplicate seeds, and about copies of a training."""
    groups: dict[tuple[str, ...], list[Result]] = {}
    for each in lines:
        key: tuple[str, ...] = (
            each.track,
            each.entrant.name,
            each.id.split("/")[1],
            str(each.mark),
            each.entrant.digest,
        )
        groups.setdefault(key, []).append(each)
    messages = []
    for key, group in groups.items():
        numbers = sorted(each.seed for each in group)
        weights = [each.weights for each in group if each.weights]
        if numbers != list(range(len(numbers))):
            messages.append(f"{', '.join(key)}: seeds must be 0 to {len(numbers) - 1}, each once, got {numbers}")
        if len({*weights}) < len(weights):
            messages.append(f"{', '.join(key)}: {len(weights)} trainings have only {len({*weights})} different weights")
    return messages


def _different(line: Result, folder: Path, trust: bool) -> str:
    """Replay the policy of a line; return the difference found, or an empty string."""
    env_id, episodes = line.id, line.episodes
    score, same = task_class(env_id).score, line.made.get("cpu") == cpu()
    claims: dict[str, Any] = {"fingerprint": env_fingerprint(env_id, line.env)}
    claims["score"] = ScoreName(score.name, score.unit)
    claims |= {} if line.mark else {"track": "open", "steps": 0, "failed": None}
    claims |= {"env": {}} if line.track == "fixed" else {}
    for key, value in claims.items():
        if getattr(line, key) != value:
            return f"{key} must be {value!r}, got {getattr(line, key)!r}"
    if line.mark and line.steps > line.mark:
        return f"steps must be at most its mark, {line.mark}, got {line.steps}"
    if line.mark and line.failed is None and line.weights is None:
        return "it has no weights, although failed is null"
    try:
        policy = policy_of(line, folder, trust)
    except ValueError as error:
        return str(error)
    if values_digest(policy.env) != values_digest(line.env):
        return f"env must be {policy.env}, that of its policy, got {line.env}"
    again = measure(env_id, policy, episodes.count)
    off = np.abs(np.subtract(again.scores[: len(episodes.scores)], episodes.scores)) / width(env_id)
    if len(off) and np.mean(off <= EPISODE) < (1.0 if same else MOST):
        return f"{int(np.sum(off > EPISODE))} of its {len(off)} scores differ in a replay"
    slack = EPISODE if same else 1.0 - MOST
    limits = dict.fromkeys(("mean", "sd"), MEAN * width(env_id))
    limits |= {"return_": slack * max(1.0, abs(again.return_ or 0.0)), "failed": slack, "succeeded": slack}
    for key, limit in limits.items():
        claim, value = getattr(episodes, key), getattr(again, key)
        if claim is not None and (value is None or abs(value - claim) > limit):
            expected = "null" if value is None else f"{value:.6g}"
            return f"episodes: {key.rstrip('_')} must be {expected}, got {claim:.6g}"
    return ""


def _unlikely(line: Result, lines: Sequence[Result], trust: bool) -> str:
    """Repeat a training; return a message if the score is outside the 99% prediction interval, else an empty string."""
    from scipy.stats import t

    keys = ("track", "id", "mark", "entrant")
    same = [each.episodes.mean for each in lines if all(getattr(each, key) == getattr(line, key) for key in keys)]
    if len(same) < 3:
        return "at least three trainings are needed for a prediction interval"
    check_trust(line.entrant.name, trust)
    job = Job(line.id, line.entrant.name, line.seed, (line.mark,), line.track, line.episodes.count)
    if job.digest != line.entrant.digest:
        raise Unchecked("the files or settings of the learner have changed")
    with tempfile.TemporaryDirectory() as place:
        (again,) = run_job(job, Path(place)).lines
    score, others, n = again.episodes.mean, of_points(same), len(same)
    half = float(t.ppf(0.995, n - 1) * math.sqrt(others.variance * (n + 1.0)))
    if abs(score - others.mean) <= half + MEAN * width(line.id):
        return ""
    return f"its score was {score:.5g}, outside the prediction interval {others.mean:.5g} ± {half:.3g}"
