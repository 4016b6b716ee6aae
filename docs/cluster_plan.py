"""How long the full benchmark takes on a cluster, and where its scheduler is the limit, by simulation.

``python docs/cluster_plan.py`` prints what ``docs/guides/cluster.md`` shows, from the times of pieces of work in
``docs/cluster_plan.csv``; ``--folder F`` takes them from the folder of a benchmark instead; ``--write`` writes both
files. Nothing here was run on more than one machine.
"""

from __future__ import annotations

import argparse
import csv
import heapq
import io
import re
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from gymnosoma.agents.evaluation.jobs import VALIDATION_EPISODES, Job, jobs_of
from gymnosoma.agents.evaluation.policies import references_of
from gymnosoma.agents.evaluation.search import COMPARED, CONSTANT, FINALISTS, SEARCHED
from gymnosoma.envs import CATALOGUE

SEEDS, TRIALS, TRIAL_STEPS, TRIAL_EPISODES = 5, 20, 200_000, 64
"""Trainings of each id; trials of its tuning, all proposed together, which come before its trainings: the steps of
each, and the episodes that judge it."""

GENERATIONS, CANDIDATES = 31, 8
"""Of a search for the best constants, if it goes on to the end; candidates for each of them."""

EVERY = 100_000
"""Steps between two checkpoints."""

START, TASK = 5.0, 0.9e-3
"""Seconds until a core's first piece begins (imports, kernels from their cache); the scheduler's for each piece, one
piece after another: an empty one."""

PRICE = 0.04
"""Of a core for an hour, in dollars: assumed."""

CORES = (1, 10, 100, 1000)

TRIAL = "trial"
HERE = Path(__file__).parent
TIMES, GUIDE = HERE / "cluster_plan.csv", HERE / "guides" / "cluster.md"


class Piece(NamedTuple):
    """What is done ``count`` times: CPU seconds and bytes of checkpoints of each, and from where these are known."""

    id: str
    policy: str
    count: int
    seconds: float
    bytes: float
    source: str


def measured(folder: Path) -> list[Piece]:
    """Pieces of the full benchmark, from the folder of one; what is missing there is as with others of the animal."""
    known: dict[tuple[str, str], tuple[float, float]] = {}
    wanted: list[tuple[str, str, str, int]] = []
    for entry in CATALOGUE:
        env_id, animal = f"gymnosoma/{entry.name}", entry.task.partition(".")[0]
        jobs: dict[str, list[Job]] = {TRIAL: []}
        for job in jobs_of(env_id, trainings=SEEDS):
            jobs.setdefault(job.policy, []).append(job)
        for policy, own in jobs.items():
            wanted.append((entry.name, animal, policy, TRIALS if policy == TRIAL else len(own)))
            found = [(job, result) for job in own if (result := job.result(folder)) is not None]
            if found:
                costs = [cost(job, result, folder) for job, result in found]
                known[entry.name, policy] = mean(part[0] for part in costs), mean(part[1] for part in costs)
            if found and policy == "trained":
                known[entry.name, TRIAL] = mean(trial(result) for _, result in found), 0.0
    return [Piece(name, policy, count, *assumed(known, name, animal, policy)) for name, animal, policy, count in wanted]


def cost(job: Job, result: dict[str, Any], folder: Path) -> tuple[float, float]:
    """CPU seconds of a job, and bytes of its checkpoints.

    Its file tells those of the episodes that are scored, and of a training. Held out and validation episodes, and those
    of a search, are taken to be as quick.
    """
    count = len(result["scores"])
    episodes = count * (1 + ("held_out" in result)) + VALIDATION_EPISODES * ("validation" in result)
    if job.policy == CONSTANT:
        constants = next(len(own.bounds) for own in references_of(job.env_id).values() if own.bounds)
        episodes += GENERATIONS * CANDIDATES * constants * SEARCHED + FINALISTS * COMPARED
    curve = result.get("curve", {"steps": [0.0], "seconds": [0.0]})
    size = max((path.stat().st_size for path in job.run(folder).glob("checkpoint.*")), default=0)
    return curve["seconds"][-1] + result["seconds"] * episodes / count, size * (curve["steps"][-1] // EVERY)


def trial(result: dict[str, Any]) -> float:
    """CPU seconds of a trial of tuning, as a share of a training of the same id."""
    curve = result["curve"]
    share = min(TRIAL_STEPS / curve["steps"][-1], 1.0)
    return share * curve["seconds"][-1] + result["seconds"] * TRIAL_EPISODES / len(result["scores"])


def assumed(
    known: dict[tuple[str, str], tuple[float, float]], name: str, animal: str, policy: str
) -> tuple[float, float, str]:
    """Seconds and bytes of a piece, and their source: the mean of those that are next to it."""
    if (name, policy) in known:
        return *known[name, policy], "measured"
    animals = {entry.name: entry.task.partition(".")[0] for entry in CATALOGUE}
    special = {TRIAL, "trained", CONSTANT}
    for kind in ({policy}, {own for _, own in known} - special):
        for source, near in ((animal, {animal}), ("all", set(animals.values()))):
            costs = [both for (own, other), both in known.items() if animals[own] in near and other in kind]
            if costs:
                return mean(part[0] for part in costs), mean(part[1] for part in costs), f"as {source}"
    raise ValueError(f"folder must hold results of a benchmark with {policy!r}, got none")


def written(pieces: Iterable[Piece]) -> str:
    """As CSV, numbers with four digits."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(Piece._fields)
    rows.writerows(piece._replace(seconds=f"{piece.seconds:.4g}", bytes=f"{piece.bytes:.0f}") for piece in pieces)
    return text.getvalue()


def read(text: str) -> list[Piece]:
    """From CSV."""
    rows = csv.DictReader(text.splitlines())
    kinds: dict[str, Any] = {"count": int, "seconds": float, "bytes": float}
    return [Piece(**{name: kinds.get(name, str)(value) for name, value in row.items()}) for row in rows]


def makespan(seconds: Sequence[float], cores: int, task: float = TASK, start: float = START) -> float:
    """Time until all pieces are done: the longest first, each after the scheduler has sent those before it."""
    free = [start] * cores
    sent = 0.0
    for piece in sorted(seconds, reverse=True):
        sent += task
        heapq.heapreplace(free, max(free[0], sent) + piece)
    return max(free)


def table(pieces: Sequence[Piece]) -> str:
    """What the guide shows, in Markdown: a row for each number of cores, where more gain nothing, what is assumed."""
    tuning = [piece.seconds for piece in pieces if piece.policy == TRIAL for _ in range(piece.count)]
    rest = [piece.seconds for piece in pieces if piece.policy != TRIAL for _ in range(piece.count)]
    work = sum(tuning) + sum(rest)
    traffic = sum(piece.count * piece.bytes for piece in pieces)
    head = ("cores", "hours", "cores at work", "dollars", "checkpoints, MB/s", "scheduler at work")
    lines = [head, ("---:",) * len(head)]
    for cores in CORES:
        wall = makespan(tuning, cores) + makespan(rest, cores, start=0.0)
        lines.append(
            (
                f"{cores}",
                f"{wall / 3600:.2f}",
                f"{work / wall / cores:.0%}",
                f"{cores * wall / 3600 * PRICE:.2f}",
                f"{traffic / wall / 1e6:.2f}",
                f"{TASK * (len(tuning) + len(rest)) / wall:.2%}",
            )
        )
    longest = max(tuning) + max(rest)
    limits = ", ".join(f"{TASK * cores:.2g} s on {cores}" for cores in CORES[1:])
    known = sum(piece.count for piece in pieces if piece.source == "measured")
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + (
        f"\n\n{len(tuning) + len(rest)} pieces, {work / 3600:.1f} CPU hours, a core at ${PRICE} an hour. More than "
        f"{work / longest:.0f} cores gain little:\na trial and a training follow one another, the longest ones for "
        f"{longest / 60:.0f} minutes. The scheduler sends {1 / TASK:.0f} pieces a second,\nhowever many cores "
        f"there are: it is the limit where a piece takes less than {limits} cores. Trainings are far from it;\n"
        f"points of a sweep may be there.\n\n{known} pieces have times of their own id.\n{absent(pieces)}"
    )


def absent(pieces: Iterable[Piece]) -> str:
    """Which pieces have none."""
    ids = dict.fromkeys(piece.id for piece in pieces if piece.source != "measured")
    if not ids:
        return "None is missing.\n"
    told = f"What is missing of {', '.join(ids)} was not measured: it is taken to be as with ids of the same animal."
    return textwrap.fill(told, 120, break_on_hyphens=False) + "\n"


def in_guide(text: str, found: str, place: str = "plan") -> str:
    """The guide with another table between two marks."""
    return re.sub(rf"(?s)(<!-- {place} -->\n).*(<!-- /{place} -->)", lambda match: match[1] + found + match[2], text)


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--folder", type=Path, help="of a benchmark, with --train-seeds")
    asked.add_argument("--write", action="store_true", help="bring the guide and the CSV up to date")
    given = asked.parse_args()
    times = TIMES.read_text("utf-8") if given.folder is None else written(measured(given.folder))
    shown = table(read(times))
    if given.write:
        TIMES.write_text(times, "utf-8")
        GUIDE.write_text(in_guide(GUIDE.read_text("utf-8"), shown), "utf-8")
    else:
        print(shown, end="")
