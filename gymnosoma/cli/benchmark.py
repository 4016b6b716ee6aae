"""Commands ``benchmark run``, ``benchmark check`` and ``benchmark table``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Union

import tyro

from gymnosoma.agents.benchmark import checks, entrants, protocol, results, tables
from gymnosoma.agents.benchmark.learners import LEARNERS
from gymnosoma.agents.learning.search import CONSTANT
from gymnosoma.agents.policies.card import read_card
from gymnosoma.agents.policies.fingerprints import env_fingerprint
from gymnosoma.agents.policies.lookup import shipped
from gymnosoma.agents.policies.registry import ALGORITHMS, all_ids, full_id
from gymnosoma.agents.support.files import check_folder, check_installed, replacing
from gymnosoma.agents.support.workers import Unfinished, workers
from gymnosoma.envs.core.arguments import choice, whole

from .arguments import Processes, Ray
from .tables import show_table


def run(
    ids: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    /,
    policy: tuple[str, ...] | None = None,
    learner: tuple[str, ...] = (),
    seeds: int = protocol.TRAININGS,
    marks: tuple[int, ...] | None = None,
    track: str = protocol.TRACKS[0],
    episodes: int | None = None,
    processes: Processes = 1,
    ray: Ray = None,
    folder: Path = Path("benchmark"),
    restart: bool = False,
) -> None:
    """Measure policies, and learners with a fixed step budget, on the same episodes.

    Each policy and each training saves its results when it is finished. After an interruption, the same command runs
    the remaining work. Saved results are reused only while the environment and the entrant are unchanged. All results
    are collected in ``results.jsonl``; `check` verifies this file with the policies in the folder ``weights``. If
    trainings failed, they are listed and the exit status is 1.

    Args:
        ids: Environments to measure. By default, all.
        policy: Policies, as for `evaluate`, or "best constant" for optimised constant parameters. Default if there is
            no learner: random, all references, best constant, trained, and a replay of one of these.
        learner: ppo_default and sac_default (stable-baselines3 with its defaults), ppo_64_envs, sac_64_envs, cma,
            recipe (trains like `train`), or module:function for your own learner (see the guide).
        seeds: Number of trainings per learner, with seeds 0, 1, ...
        marks: Numbers of steps after which learners are measured. By default, 100000 and 300000; recipe is measured
            only at the largest mark, by default its own number of steps.
        track: fixed (a learner sees observations, rewards and spaces only) or open (no restriction).
        episodes: Number of episodes per policy. By default, 256, or 1024 if the score is binary.
        folder: Output folder.
        restart: Measure changed environments or entrants again. Without this option, a change is an error.
    """
    choice("track", track, protocol.TRACKS)
    whole("seeds", seeds, 1, 1000)
    for mark in marks or ():
        whole("marks", mark, 1, 10**12)
    if episodes is not None:
        whole("episodes", episodes, 2, results.MAX_EPISODES)
    names = [full_id(name) for name in ids] or all_ids()
    jobs = [job for env_id in names for job in entrants.jobs(env_id, policy, learner, seeds, marks, track, episodes)]
    algorithms = {CONSTANT: "cma", entrants.RECIPE: "ppo"} | {name: one.algorithm for name, one in LEARNERS.items()}
    names_used = {algorithms[job.name] for job in jobs if job.name in algorithms}
    check_installed(*(library for name in sorted(names_used) for library in ALGORITHMS[name].libraries))
    check_folder("folder", folder)  # before digests, which play a few episodes
    with workers(processes, ray) as executor:
        outcomes = entrants.run(jobs, folder, executor, restart)
    lines = [line for job in jobs if job.file(folder).is_file() for line in results.read(job.file(folder))]
    show(tables.rows_of(lines))
    trust = " --trust" * any(":" in job.name for job in jobs)
    file = folder / "results.jsonl"
    print(f"Results are in {file}; `gymnosoma benchmark check {file}{trust}` verifies them.")
    missing = [outcomes[job.label] for job in jobs if not job.file(folder).is_file()]
    problems = [f"{each.name} failed: {each.error}" for each in missing]
    problems += results.failures(lines)
    for problem in problems:
        print(problem)
    if problems:
        raise Unfinished(f"{len(problems)} results failed or are missing")


def check(
    file: Annotated[Path, tyro.conf.Positional],
    /,
    retrain: int = 0,
    trust: Annotated[bool, tyro.conf.arg(help="Also replay third-party policies, which runs their code.")] = False,
    processes: Processes = 1,
    ray: Ray = None,
) -> None:
    """Verify a results file by replaying its policies.

    The check compares everything that a replay shows: fingerprints, weights, arguments, name and unit of the score,
    every score, mean return, and share of failed episodes. It lists what no replay can show. The exit status is 0 if
    all results are confirmed, 1 if a result differs, and 2 if a result cannot be checked.

    Args:
        file: Results file, such as benchmark/results.jsonl; it may be compressed (.xz).
        retrain: Number of randomly chosen trainings to repeat. The new score must fall within the 99% prediction
            interval of the other trainings.
    """
    whole("retrain", retrain, 0, 10_000)
    with workers(processes, ray) as executor:
        verdict = checks.check(file, trust, retrain, executor=executor)
    for line in (*verdict.differs, *verdict.unchecked):
        print(line)
    again = f", {verdict.repeated} trainings repeated" if verdict.repeated else ""
    counts = f"{len(verdict.differs)} differ, {len(verdict.unchecked)} not checkable"
    print(f"{verdict.checked} lines replayed{again}, {counts}.")
    print(f"No replay can show these: {checks.UNSHOWN}.")
    if verdict.differs or verdict.unchecked:
        sys.exit(1 if verdict.differs else 2)


def table(
    files: Annotated[tuple[Path, ...], tyro.conf.Positional], /, ids: tuple[str, ...] = (), out: Path | None = None
) -> None:
    """Show results files as one table.

    A training that occurs more than once counts once. The command lists results of another version of an environment,
    but does not verify results.

    Args:
        files: Results files, such as benchmark/results.jsonl; they may be compressed (.xz).
        ids: Environments to show. By default, all.
        out: Output folder for table.md and table.png.
    """
    if out is not None:
        check_folder("out", out)
        check_installed("matplotlib")
    names = {full_id(name) for name in ids}
    read = [(file, line) for file in files for line in results.read(file)]
    if missing := names - {line.id for _, line in read}:
        raise ValueError(f"ids must have results in the files, got {', '.join(sorted(missing))}")
    read = [(file, line) for file, line in read if not names or line.id in names]
    lines = [line for _, line in read]
    rows = tables.rows_of(lines)
    show(rows)
    if repeated := len(lines) - sum(len(cell.lines) for row in rows for cell in row.cells.values()):
        print(f"{repeated} of {len(lines)} lines repeat a training or a policy and do not count.")
    stored = {each: read_card(shipped(each)).fingerprint for each in all_ids() if shipped(each).is_dir()}
    # Results in a file are of one version of each id, so a line with the card's fingerprint stands for all of the id.
    same = {(file, line.id) for file, line in read if line.fingerprint == stored.get(line.id)}
    others = [line for file, line in read if (file, line.id) not in same]
    if changed := {line.id for line in others if line.fingerprint != env_fingerprint(line.id, line.env)}:
        print(f"Measured on another version of the environment: {', '.join(sorted(changed))}.")
    if out is not None:
        from gymnosoma.agents.benchmark.pictures import draw

        out.mkdir(parents=True, exist_ok=True)
        with replacing(out / "table.md") as page:
            page.write("\n\n".join(filter(None, (tables.policies(rows), tables.learners(rows)))).encode())
        draw(rows, out / "table.png")
        print(f"Written: {out / 'table.md'}, {out / 'table.png'}.")


def show(rows: Sequence[tables.Row]) -> None:
    """Print all results as a table."""
    columns = ("id", "entrant", "score", "on the scale", "least", "trainings", "failed", "succeeded")
    names = {id(row): f"{row.name}, {row.track}, {row.mark:,} steps" if row.mark else row.name for row in rows}
    lines = [
        (
            env_id.split("/")[1],
            names[id(row)],
            tables.text(cell.score),
            f"{cell.scaled.mean:z.2f}" if cell.scaled else "",
            f"{min(cell.points):z.3g}" if cell.points else "",
            f"{len(cell.lines)}{f' ({cell.broken} failed)' if cell.broken else ''}" if row.learns else "",
            tables.percent(cell.failed or None),
            tables.percent(cell.succeeded),
        )
        for env_id in all_ids()
        for row in rows
        if (cell := row.cells.get(env_id))
    ]
    means = [("mean of all", names[id(row)], "", tables.text(row.mean, (), ".2f")) for row in rows if row.mean]
    title = (
        "Mean scores with 95% intervals; on the scale 0 is the animal, and 1 the best; failed and successful episodes"
    )
    show_table(columns, [*lines, *means], title, width=130)


def grouped(actions: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Create a command whose first argument selects one of several functions."""
    kinds = [Annotated[Any, tyro.conf.subcommand(name, constructor=action)] for name, action in actions.items()]

    def benchmark(action: Any) -> Any:
        """Compare policies and learners on the same episodes."""
        return action

    benchmark.__annotations__["action"] = Annotated[Union[tuple(kinds)], tyro.conf.arg(name="")]  # noqa: UP007
    return benchmark


ACTIONS: dict[str, Callable[..., Any]] = {"run": run, "check": check, "table": table}
benchmark = grouped(ACTIONS)
