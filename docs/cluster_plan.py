"""How long the full benchmark takes on a cluster, and where its scheduler is the limit, by simulation.

``python docs/cluster_plan.py [FOLDER]`` prints what ``docs/guides/cluster.md`` shows (``--write`` writes it there);
with the folder of a benchmark the seconds of its jobs take the place of estimates. Nothing here was run on more than
one machine.
"""

from __future__ import annotations

import heapq
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from gymnosoma.agents.evaluation.jobs import jobs_of
from gymnosoma.agents.evaluation.search import CONSTANT
from gymnosoma.envs import CATALOGUE

LEARNING = 57e-6
"""CPU seconds of PPO for each step, without the animal: 131,072 steps of WormSwim took 7.7 s, animal included."""

STEPS_A_SECOND = {"Worm": 540e3, "Lamprey": 400e3, "Whisker": 50e3, "Hindlimb": 34e3, "Stand": 80e3}
"""Of environments, 64 in lanes (`docs/guides/speed.md`): the animal's part of a step."""

EVALUATION, SEARCH = 3.0, 60.0
"""CPU seconds of an evaluation (16 episodes of WormSwim took 0.19 s), and of the search for the best constants, which
is assumed."""

USUAL = 2e6
STEPS = {
    "WormCrawl-v0": 1.5e6,
    "WormSwim-v0": 1e6,
    "WormMedium-v0": 1.5e6,
    "WormTransition-v0": 1.5e6,
    "WormReach-v0": 1.5e6,
    "LampreyEconomy-v0": 1.2e6,
    "WhiskerLocalize-v0": 0.04e6,
    "WhiskerDetect-v0": 0.16e6,
    "WhiskerHold-v0": 1.3e6,
    "WhiskerTexture-v0": 0.256e6,
    "WhiskerRegulate-v0": 1.5e6,
    "StandPulse-v0": 3e6,
    "StandGains-v0": 1.5e6,
}
"""Of a training, as the recipes have them when this was written; of all other ids the first."""

SEEDS, TRIALS, TRIAL_STEPS = 5, 20, 200_000
"""Trainings of each id; trials of its tuning, all proposed together, which come before its trainings."""

START, TASK = 5.0, 0.9e-3
"""Seconds until a core's first piece begins (imports, kernels from their cache); the scheduler's for each piece, one
piece after another: an empty one."""

CHECKPOINT, EVERY = 0.84e6, 100_000
"""Bytes of a checkpoint, and steps between two."""

PRICE = 0.04
"""Of a core for an hour, in dollars: assumed."""

CORES = (1, 10, 100, 1000)

IDS = tuple(f"gymnosoma/{entry.name}" for entry in CATALOGUE)


def pieces(folder: Path | None = None) -> tuple[list[float], list[float]]:
    """CPU seconds of the trials of all ids, and of what comes after them; measured where a folder holds it."""
    tuning, rest = [], []
    for env_id in IDS:
        name = env_id.split("/")[1]
        rate = next(rate for animal, rate in STEPS_A_SECOND.items() if name.startswith(animal))
        step = LEARNING + 1.0 / rate
        tuning += [TRIAL_STEPS * step + EVALUATION] * TRIALS
        for job in jobs_of(env_id, trainings=SEEDS):
            found = None if folder is None else job.result(folder)
            if found is not None:
                learned = found.get("curve", {}).get("seconds") or [0.0]
                rest.append(found["seconds"] + learned[-1] + (SEARCH if job.policy == CONSTANT else 0.0))
            elif job.policy == CONSTANT:
                rest.append(SEARCH + EVALUATION)
            else:
                rest.append(EVALUATION + (0.0 if job.training is None else STEPS.get(name, USUAL) * step))
    return tuning, rest


def makespan(seconds: Sequence[float], cores: int, task: float = TASK, start: float = START) -> float:
    """Time until all pieces are done: the longest first, each after the scheduler has sent those before it."""
    free = [start] * cores
    sent = 0.0
    for piece in sorted(seconds, reverse=True):
        sent += task
        heapq.heapreplace(free, max(free[0], sent) + piece)
    return max(free)


def table(folder: Path | None = None) -> str:
    """What the guide shows, in Markdown: a row for each number of cores, and where more gain nothing."""
    tuning, rest = pieces(folder)
    work = sum(tuning) + sum(rest)
    traffic = SEEDS * sum(STEPS.get(env_id.split("/")[1], USUAL) for env_id in IDS) / EVERY * CHECKPOINT
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
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + (
        f"\n\n{len(tuning) + len(rest)} pieces, {work / 3600:.1f} CPU hours, a core at ${PRICE} an hour. More than "
        f"{work / longest:.0f} cores gain little:\na trial and a training follow one another, the longest ones for "
        f"{longest / 60:.0f} minutes. The scheduler sends {1 / TASK:.0f} pieces a second,\nhowever many cores "
        f"there are: it is the limit where a piece takes less than {limits} cores. Trainings are far from it;\n"
        "points of a sweep may be there.\n"
    )


GUIDE = Path(__file__).parent / "guides" / "cluster.md"


def in_guide(text: str, found: str) -> str:
    """The guide with another table."""
    return re.sub(r"(?s)(<!-- plan -->\n).*(<!-- /plan -->)", lambda match: match[1] + found + match[2], text)


if __name__ == "__main__":
    if "--write" in sys.argv:
        GUIDE.write_text(in_guide(GUIDE.read_text("utf-8"), table()), "utf-8")
    else:
        print(table(Path(sys.argv[1]) if len(sys.argv) > 1 else None), end="")
