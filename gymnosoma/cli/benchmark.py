"""Commands ``benchmark run``, ``benchmark check`` and ``benchmark table``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Union

import tyro

from gymnosoma.agents.benchmark import checks, entrants, protocol, results, tables
from gymnosoma.agents.benchmark.learners import LEARNERS
from gymnosoma.agents.learning.search import CONSTANT
from gymnosoma.agents.policies.lookup import OWN
from gymnosoma.agents.policies.registry import all_ids, full_id
from gymnosoma.agents.support.files import check_installed, locked, replacing
from gymnosoma.agents.support.schema import in_range
from gymnosoma.agents.support.workers import Unfinished, watched, workers
from gymnosoma.envs.core.arguments import choice

from .arguments import Processes, Ray


def run(
    ids: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    /,
    policy: tuple[str, ...] | None = None,
    learner: tuple[str, ...] = (),
    seeds: int = 3,
    marks: tuple[int, ...] | None = None,
    track: str = protocol.TRACKS[0],
    episodes: int | None = None,
    processes: Processes = 1,
    ray: Ray = None,
    folder: Path = Path("benchmark"),
    restart: bool = False,
) -> None:
    """Measure policies, and learners with a fixed budget of steps, in the same episodes.

    A piece of the work is a policy on an id, or one training. Each leaves its lines in the folder when it is done;
    after a kill, Ctrl-C or a full disk the same command does the rest. Kept results count only as long as the
    environments and the entrants are the same. All lines together are ``results.jsonl``, which `check` plays again
    with the policies below ``weights``. If trainings failed, they are listed, and the exit status is 1.

    Args:
        ids: Environments; all by default.
        policy: As for `evaluate`, and "best constant", which is searched. By default, where no learner is named:
            random, zero, all references, best constant, trained, and a replay of one of these.
        learner: ppo, sac or cma; recipe, which trains as `train` does; or module:function of your own, see the guide.
        seeds: Trainings of each learner, from seed 0 on.
        marks: Steps after which learners are measured, 100000 and 300000 by default; the recipe trains for the largest,
            by default its own steps.
        track: fixed, where a learner sees observations, rewards and spaces; or open, where it may use everything.
        episodes: Of each policy, instead of 256, or 1024 where an answer is right or wrong.
        folder: Where the results go.
        restart: Measure again what has changed, instead of refusing.
    """
    choice("track", track, protocol.TRACKS)
    in_range("seeds", seeds, 1, 1000)
    for mark in marks or ():
        in_range("marks", mark, 1, 10**12)
    if episodes is not None:
        in_range("episodes", episodes, 2, protocol.MAX_EPISODES)
    names = [full_id(name) for name in ids] or all_ids()
    pieces = [
        piece for env_id in names for piece in entrants.pieces(env_id, policy, learner, seeds, marks, track, episodes)
    ]
    libraries = {CONSTANT: "cma", entrants.RECIPE: "stable_baselines3", **LEARNERS}
    check_installed(*(libraries[piece.name] for piece in pieces if piece.name in libraries))
    digests = {piece.label: piece.digest for piece in pieces}  # a wrong name is refused before the work
    for name in filter(OWN.fullmatch, policy or ()):
        print(f"{name} is known by the file of its module: what that imports or reads is not seen.")
    with locked("folder", folder), workers(processes, ray) as engine:
        work: dict[str, Any] = {}
        for piece in pieces:
            try:
                finished = piece.lines(folder) is not None
            except ValueError:
                if not restart:
                    raise
                piece.discard(folder)
                finished = False
            if not finished:
                work[piece.label] = (piece, folder)
        try:
            outcomes = engine.work(entrants.do, work)
            errors = [each for each in watched(outcomes, len(work), "piece", len(digests) - len(work)) if each.error]
        finally:  # after Ctrl-C, too
            file = results.gather(folder)
        lines = [line for piece in pieces if piece.file(folder).is_file() for line in results.read(piece.file(folder))]
    tables.show(tables.rows_of(lines))
    print(f"Results are in {file}; `gymnosoma benchmark check {file}` plays them again.")
    files = {piece.label: piece.file(folder) for piece in pieces}
    problems = [f"{each.name} failed: {each.error}" for each in errors if not files[each.name].is_file()]
    problems += results.failures(lines)
    for problem in problems:
        print(problem)
    if problems:
        raise Unfinished(f"{len(problems)} results failed or are missing")


def check(
    file: Annotated[Path, tyro.conf.Positional],
    /,
    retrain: int = 0,
    trust: Annotated[bool, tyro.conf.arg(help="Play policies of others, too, whose code is then run.")] = False,
    processes: Processes = 1,
) -> None:
    """Check a file of results: its form, its fingerprints, its weights, and every score, by playing all policies again.

    The exit status is 0 if all is true, 1 if something differs, 2 if something cannot be checked. Playing cannot show
    whether more steps were taken than claimed; only training again can.

    Args:
        file: Such as benchmark/results.jsonl; it may be compressed (.xz).
        retrain: So many trainings, drawn at random, are repeated; their scores must be likely beside the others.
    """
    in_range("retrain", retrain, 0, 10_000)
    verdict = checks.check(file, trust, retrain, processes=processes)
    for line in (*verdict.differs, *verdict.unchecked):
        print(line)
    print(
        f"{verdict.checked} lines played again, {len(verdict.differs)} differ, {len(verdict.unchecked)} not checkable."
    )
    if verdict.differs or verdict.unchecked:
        sys.exit(1 if verdict.differs else 2)


def table(files: Annotated[tuple[Path, ...], tyro.conf.Positional], /, out: Path | None = None) -> None:
    """Show files of results together.

    Args:
        files: Such as benchmark/results.jsonl; they may be compressed (.xz).
        out: Folder that gets table.md and table.png.
    """
    rows = tables.rows_of(line for file in files for line in results.read(file))
    tables.show(rows)
    if out is None:
        return
    from gymnosoma.agents.benchmark.pictures import draw

    out.mkdir(parents=True, exist_ok=True)
    with replacing(out / "table.md") as page:
        page.write(f"{tables.policies(rows)}\n\n{tables.learners(rows)}".encode())
    draw(rows, out / "table.png")
    print(f"Written: {', '.join(str(out / f'table.{suffix}') for suffix in ('md', 'png'))}.")


def grouped(actions: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Make the command, whose first word chooses one of some functions."""
    kinds = [Annotated[Any, tyro.conf.subcommand(name, constructor=action)] for name, action in actions.items()]

    def benchmark(action: Any) -> Any:
        """Measure policies and learners in the same episodes, check such results, and show them as tables."""
        return action

    benchmark.__annotations__["action"] = Annotated[Union[tuple(kinds)], tyro.conf.arg(name="")]  # noqa: UP007
    return benchmark


ACTIONS: dict[str, Callable[..., Any]] = {"run": run, "check": check, "table": table}
benchmark = grouped(ACTIONS)
