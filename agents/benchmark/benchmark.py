"""Compares chance, the animals' own controllers, the best constant parameters and trained policies.

The work is a list of jobs (`jobs`), done by one process, several, or a cluster (`work`); what their files say is put
together here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core.env.documentation import normaliser

from ..support.workers import Workers, watched
from .jobs import SPLITS, Job, do
from .statistics import Scores, aggregate, difference, estimate, seconds_to, share

KEPT = 4
"""Episodes of which the written figures keep the scores, so that these can be measured again."""

Found = dict[str, dict[str, list[dict[str, Any]]]]
"""Results of jobs by id and policy, a list of trainings."""

UNRANKED = {f"gymnosoma/{entry.name}" for entry in CATALOGUE if not entry.ranked}
"""Ids that do not count where policies are compared over all of them."""

Curves = Mapping[str, Sequence[Mapping[str, Sequence[float]]]]
"""Learning curves by id, a list of trainings: ``steps``, CPU ``seconds``, ``score``."""


def benchmark(
    jobs: Sequence[Job],
    folder: Path,
    engine: Workers,
) -> dict[str, Any]:
    """Do those jobs that are not done, and put together what all have found; see `summary`.

    The folder gets a file for each job, and the run folders of trainings.

    Raises:
        ValueError: If the folder holds results of other settings, or damaged ones; nothing is done then.
    """
    left = {job.name: job for job in jobs if job.result(folder) is None}
    failed = {}
    pieces = {name: (job, folder) for name, job in left.items()}
    for name, _, error in watched(engine.work(do, pieces), len(pieces), "job", len(jobs) - len(left)):
        if error is not None:
            failed[name] = error
    missing = [job.name for job in jobs if job.result(folder) is None]
    return summary(gather(jobs, folder), missing, failed)


def gather(jobs: Sequence[Job], folder: Path) -> Found:
    """Results of jobs; an empty list for what is not done."""
    found: Found = {}
    for job in jobs:
        results = found.setdefault(job.env_id, {}).setdefault(job.policy, [])
        result = job.result(folder)
        if result is not None:
            results.append(result)
    return found


def curves_of(found: Found) -> Curves:
    """Learning curves of the ids that were trained."""
    curves = {
        env_id: [result["curve"] for result in policies.get("trained", []) if "curve" in result]
        for env_id, policies in found.items()
    }
    return {env_id: lines for env_id, lines in curves.items() if lines}


def scores_of(results: Sequence[Mapping[str, Any]]) -> Scores:
    """Scores (n, m) of trainings."""
    return np.array([result["scores"] for result in results])


def normalised(env_id: str, scores: Scores) -> Scores | None:
    """Scores of which the floor is 0 and the best 1; None for an id without normalisers."""
    scale = normaliser(env_id)
    return None if scale is None else (scores - scale["floor"]) / (scale["best"] - scale["floor"])


def summary(found: Found, missing: Sequence[str] = (), failed: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Figures of a benchmark, ready for JSON.

    Args:
        found: Of `gather`.
        missing: Names of jobs that are not done: these figures are partial.
        failed: Name of a job to what went wrong.

    Returns:
        dict: ``results`` by id: its ``score`` and ``unit``; ``floor`` and ``best``, by which scores are normalised;
            and of each of its ``policies``

            - ``mean`` over trainings and episodes with its 95% ``interval`` (`estimate`), ``normalised``;
            - of trainings the ``points``, which are their means, the ``least`` of these, and how many are ``below`` the
              middle of the scale, with the interval of their share;
            - ``ahead``, of what was trained: of each policy which was not, by how much its mean is above it, the
              ``interval`` and ``p``, which tables adjust for all of their ids;
            - ``splits``: by name, ``mean`` and ``interval`` where what the id hides is drawn from the outer tenths
              (``"test"``), and where bodies vary (``"robust"``);
            - the mean ``return``, the share of ``failed`` episodes, how many ``episodes`` and ``trainings`` (0: what
              comes with the package, or is not trained), the ``parameters`` that a search found, and of which
              ``reference``, and, without trainings, the ``first`` scores;

            and ``seconds``: CPU seconds of training after which the learning curve passes the animal's own controller,
            the best constant, and 95% of the scale. Then the ``aggregate`` of each policy
            over ids, ``missing`` and ``failed``.
    """
    ids = {env_id: _summary_of(env_id, policies) for env_id, policies in found.items()}
    names = dict.fromkeys(name for policies in found.values() for name in policies)
    total = {}
    for policy in names:
        by_id = {}
        for env_id, policies in found.items():
            if policies.get(policy) and env_id not in UNRANKED:
                scores = normalised(env_id, scores_of(policies[policy]))
                if scores is not None:
                    by_id[env_id] = scores
        if len(by_id) > 1 or (by_id and len(found) == 1):  # of one id among many there is nothing to sum up
            total[policy] = rounded(aggregate(by_id))
    done = [result for policies in found.values() for results in policies.values() for result in results]
    return {
        "versions": done[0]["versions"] if done else {},
        "missing": list(missing),
        "failed": dict(failed or {}),
        "aggregate": total,
        "results": ids,
    }


def _summary_of(env_id: str, policies: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    done = {name: results for name, results in policies.items() if results}
    table = {}
    for name, results in done.items():
        scores = scores_of(results)
        mean, within = estimate(scores)
        entry: dict[str, Any] = {
            "mean": mean,
            "interval": within,
            "failed": float(np.mean([result["failed"] for result in results])),
            "return": float(np.mean([result["return"] for result in results])),
            "episodes": scores.shape[1],
            "trainings": sum(result["job"]["training"] is not None for result in results),
        }
        scaled = normalised(env_id, scores)
        if scaled is not None:
            entry["normalised"] = float(scaled.mean())
        if len(scores) > 1:
            entry |= {"points": scores.mean(1).tolist(), "least": float(scores.mean(1).min())}
            if scaled is not None:
                below = int((scaled.mean(1) < 0.5).sum())
                entry["below"] = {"count": below, "interval": share(below, len(scores))}
        if name == "trained":
            others = {other: scores_of(known) for other, known in done.items() if other not in ("random", "trained")}
            entry["ahead"] = {other: difference(scores, known)._asdict() for other, known in others.items()}
        entry["splits"] = {}
        for split in results[0]["splits"]:
            mean, within = estimate(np.array([result["splits"][split]["scores"] for result in results]))
            entry["splits"][split] = {"mean": mean, "interval": within}
        table[name] = rounded(entry)
        if "parameters" in results[0]:
            table[name] |= {key: results[0][key] for key in ("reference", "parameters") if key in results[0]}
        if not entry["trainings"]:
            table[name]["first"] = [float(f"{score:.9g}") for score in results[0]["scores"][:KEPT]]
    first = next(iter(done.values()), [{"score": "", "unit": ""}])[0]
    scale = normaliser(env_id)
    found: dict[str, Any] = {"score": first["score"], "unit": first["unit"]}
    if scale is not None:
        found |= {"floor": scale["floor"], "best": scale["best"]}
    found["policies"] = table
    curves = [result["curve"] for result in done.get("trained", []) if "curve" in result]
    if curves:
        found["seconds"] = rounded({name: seconds_to(curves, level) for name, level in levels(found).items()})
    return found


def levels(result: Mapping[str, Any]) -> dict[str, float]:
    """Scores that a training may be asked to pass."""
    levels = {
        name: result["policies"][name]["mean"] for name in ("baseline", "best constant") if name in result["policies"]
    }
    if "best" in result:
        levels["95% of the scale"] = result["floor"] + 0.95 * (result["best"] - result["floor"])
    return levels


def rounded(entry: Any) -> Any:
    """Figures with six significant digits."""
    if isinstance(entry, float):
        return float(f"{entry:.6g}")
    if isinstance(entry, dict):
        return {name: rounded(value) for name, value in entry.items()}
    if isinstance(entry, list | tuple):
        return [rounded(value) for value in entry]
    return entry


def show(results: Mapping[str, Any]) -> None:
    """Print a benchmark as tables."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Means, with 95% intervals")
    columns = ("id", "policy", "score", "normalised", "trainings below the middle", "test", "robust", "failed")
    for column in columns:
        table.add_column(column, justify="left" if column in ("id", "policy") else "right")
    for env_id, result in results["results"].items():
        unit = "" if result["unit"] == "1" else f", {result['unit']}"
        head = f"{env_id.split('/')[1]}\n{result['score'].replace('is_', '')}{unit}"
        for k, (name, entry) in enumerate(result["policies"].items()):
            trainings = f", {entry['trainings']} trainings" if entry["trainings"] else ""
            table.add_row(
                head if k == 0 else "",
                name + trainings,
                _with_interval(entry["mean"], entry["interval"]),
                _two(entry.get("normalised")),
                f"{entry['below']['count']} of {entry['trainings']}" if "below" in entry else "",
                *(f"{entry['splits'][name]['mean']:.3g}" if name in entry["splits"] else "" for name in SPLITS),
                f"{entry['failed']:.0%}" if entry["failed"] else "",
                end_section=k == len(result["policies"]) - 1,
            )
    for name, entry in results["aggregate"].items():
        low, high = entry["interval"]
        text = f"[bold]{_two(entry['mean'])}[/] \\[{low:.2f}, {high:.2f}]"
        table.add_row("mean of all", f"{name}, {entry['ids']} ids", "", text)
    console = Console(width=130)
    console.print(table)
    for env_id, result in results["results"].items():
        for what, seconds in result.get("seconds", {}).items():
            when = "never passed" if seconds is None else f"passed after {seconds:.0f} CPU s"
            console.print(f"{env_id.split('/')[1]}: {what} {when}")
    for name, error in results["failed"].items():
        console.print(f"[red]failed[/]: {name}: {error}", soft_wrap=True)
    if results["missing"]:
        console.print(f"[bold]Partial[/]: {len(results['missing'])} results are missing.")


def _with_interval(mean: float, interval: Sequence[float]) -> str:
    low, high = interval
    return f"{mean:.3g} \\[{low:.3g}, {high:.3g}]"


def _two(value: float | None) -> str:
    """Two decimals, without the sign of a zero."""
    return "" if value is None else f"{round(value, 2) + 0.0:.2f}"
