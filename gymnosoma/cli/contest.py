"""Commands ``enter``, ``check`` and ``leaderboard``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import tyro

from gymnosoma.agents.benchmark import protocol as contest
from gymnosoma.agents.benchmark import results
from gymnosoma.agents.benchmark.entrants import LEARNERS
from gymnosoma.agents.benchmark.pictures import draw_leaderboard
from gymnosoma.agents.policies.registry import all_ids, full_id
from gymnosoma.agents.support.files import check_installed, locked
from gymnosoma.agents.support.schema import in_range
from gymnosoma.agents.support.workers import Unfinished, watched, workers

from .arguments import Processes


def enter(
    ids: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    /,
    learner: tuple[str, ...] = ("ppo",),
    seeds: int = 3,
    marks: tuple[int, ...] = contest.MARKS[:2],
    track: str = contest.TRACKS[0],
    processes: Processes = 1,
    folder: Path = Path("contest"),
) -> None:
    """Let learning algorithms compete by a fixed budget of steps, on environments as they are.

    Each training is a process of its own; it leaves its lines, one for each mark, in the folder when it is done, and
    its policies below ``weights``. After a kill or Ctrl-C the same command does what is left. All lines together are
    ``results.jsonl``, which `check` plays again. Where trainings failed they are listed, and the exit status is 1.

    Args:
        ids: Environments; all ranked ones by default.
        learner: ppo, sac, cma, which come with the package; module:function of your own, see the guide; or what does
            not learn: zero, random, baseline or another reference.
        seeds: Trainings, from seed 0 on.
        marks: Steps after which policies are measured, in 256 episodes (1024 where an answer is right or wrong).
        track: fixed, where a learner sees observations, rewards and spaces; or open, where it may use all there is.
        folder: Where the results go.
    """
    from gymnosoma.envs.core.arguments import choice

    choice("track", track, contest.TRACKS)
    in_range("seeds", seeds, 1, 1000)
    for mark in marks or [0]:
        in_range("marks", mark, 1, 10**12)
    ranked = [env_id for env_id in all_ids() if env_id not in results.UNRANKED]
    names = [full_id(name) for name in ids] or ranked
    left, files, done = {}, {}, 0
    for env_id in names:
        for name in learner:
            still = contest.stands(env_id, name)
            if not still:
                contest.find_learner(name)
                check_installed(*filter(None, [LEARNERS.get(name)]))
            for seed in range(1 if still else seeds):
                file = contest.piece(folder, env_id, name, seed)
                label = f"{env_id.split('/')[1]}, {name}, {seed}"
                files[label] = file
                if file.is_file():
                    _check_marks(file, [0] if still else sorted(marks), track)
                    done += 1
                    continue
                left[label] = (env_id, name, folder) if still else (env_id, name, folder, seed, marks, track)
    with locked("folder", folder):
        try:
            with workers(processes) as engine:
                stopped = [
                    f"{each} failed: {error}"
                    for each, _, error in watched(engine.work(_enter, left), len(left), "training", done)
                    if error is not None and not files[each].is_file()
                ]
        finally:  # after Ctrl-C, too
            file = contest.gather(folder)
    rows = results.rows_of([file], unchecked=True)
    results.show(rows)
    print(f"Results are in {file}; `gymnosoma check {file}` plays them again.")
    failed = [line for file in files.values() if file.is_file() for line in results.failures(file)]
    for line in failed:
        print(line)
    if failed or stopped:
        raise Unfinished(
            "; ".join([*stopped, *([f"{len(failed)} results are of trainings that failed"] if failed else [])])
        )


def _check_marks(file: Path, marks: list[int], track: str) -> None:
    """Raise ValueError unless a training that is done was measured at these marks, in this track."""
    kept = results.read(file)
    found = [each["mark"] for each in kept]
    if found != marks:
        raise ValueError(
            f"marks must be {found}, at which {str(file)!r} was measured, got {marks}; or another --folder"
        )
    if marks != [0] and kept[0]["track"] != track:
        raise ValueError(f"track must be {kept[0]['track']!r}, as of {str(file)!r}, got {track!r}; or another --folder")


def _enter(env_id: str, name: str, folder: Path, *training: object) -> None:
    if training:
        seed, marks, track = training
        contest.train(env_id, name, seed, marks, track, folder)  # type: ignore[arg-type]
        if failed := results.failures(contest.piece(folder, env_id, name, seed)):  # type: ignore[arg-type]
            raise Unfinished(failed[0])  # its lines are kept; the bar counts it
    else:
        contest.stand(env_id, name, folder)


def check(
    file: Annotated[Path, tyro.conf.Positional],
    /,
    retrain: int = 0,
    trust: Annotated[bool, tyro.conf.arg(help="Play learners of others, too, whose code is then run.")] = False,
    processes: Processes = 1,
) -> None:
    """Check a file of results: its form, its fingerprints, its weights, and every score, by playing all policies again.

    The exit status is 0 where all is as the file says, 1 where something differs, 2 where something cannot be checked.
    That no more steps were taken than are claimed is not seen by playing; only training again shows it.

    Args:
        file: Such as contest/results.jsonl.
        retrain: So many trainings, drawn at random, are trained again; their scores must be likely beside the others.
    """
    in_range("retrain", retrain, 0, 10_000)
    found = results.check(file, trust, retrain, processes=processes)
    for line in (*found.differs, *found.unchecked):
        print(line)
    print(f"{found.checked} lines played again, {len(found.differs)} differ, {len(found.unchecked)} not checkable.")
    if status := results.exit_status(found):
        sys.exit(status)


def leaderboard(folders: Annotated[tuple[Path, ...], tyro.conf.Positional], /, out: Path = Path()) -> None:
    """Make a leaderboard, a page, a table and a picture, of results that were checked.

    Args:
        folders: Each holds a results.jsonl and what `check` noted of it.
        out: Folder that gets leaderboard.html, leaderboard.csv and leaderboard.png.
    """
    for folder in folders:
        if not (folder / "results.jsonl").is_file():
            raise ValueError(f"folders must each hold a results.jsonl, got {str(folder)!r}")
    rows = results.rows_of([folder / "results.jsonl" for folder in folders])
    out.mkdir(parents=True, exist_ok=True)
    results.write_leaderboard(rows, out)
    draw_leaderboard(rows, out / "leaderboard.png")
    results.show(rows)
    for track, mark in sorted({(row["track"], row["mark"]) for row in rows}):
        if found := results.agreement([row for row in rows if (row["track"], row["mark"]) == (track, mark)]):
            print(f"Track {track}, mark {mark:,}:")
            results.show_agreement(found)
    print(f"Written: {', '.join(str(out / f'leaderboard.{suffix}') for suffix in ('html', 'csv', 'png'))}.")
