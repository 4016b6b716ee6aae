"""Results of a contest as a file: what it may hold, whether it is true, and a leaderboard of several.

A line of ``results.jsonl`` is one training at one mark. Everything in it but its steps and times can be checked: the
policy plays its episodes again. Steps cannot be proved by a replay; only training again can (``--retrain``).
"""

from __future__ import annotations

import html
import json
import math
import random
import reprlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core.arguments import choice

from ..policies.evaluation import BENCHMARK_SEED
from ..policies.fingerprints import of_files, of_id
from ..policies.lookup import find_policy
from ..policies.registry import all_ids
from ..support import schema
from ..support.files import replacing
from ..support.workers import watched, workers
from . import protocol as contest
from .benchmark import UNRANKED, normalised
from .statistics import aggregate, difference, estimate, holm, share

EPISODE, MEAN, MOST = 1e-5, 1e-3, 0.99
"""Shares of the scale by which a replay may differ in an episode and in the mean. On another processor, which rounds
otherwise, only `MOST` episodes must be the same, as long ones are chaotic; on the same one all of them."""

COMPLETE, PRELIMINARY = 10, 5
"""Trainings of each id with which a learner's row is complete, or preliminary; with fewer it has no mean over ids."""


def _number(name: str, value: Any) -> None:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {reprlib.repr(value)}")


def _whole(name: str, value: Any) -> None:
    schema.in_range(name, value, 0, 2**53)


def _text(name: str, value: Any) -> None:
    schema.typed(name, value, str, "be a text")


def _some_text(name: str, value: Any) -> None:
    if value is not None:
        _text(name, value)


def _none(name: str, value: Any) -> None:
    if value is not None:
        raise ValueError(f"{name} must be null, got {reprlib.repr(value)}")


def _table(name: str, value: Any) -> None:
    schema.typed(name, value, dict, "be an object")


def _list_of(check: schema.Check) -> schema.Check:
    def every(name: str, value: Any) -> None:
        schema.typed(name, value, list, "be a list")
        for each in value:
            check(f"each of {name}", each)

    return every


def _one_of(*allowed: Any) -> schema.Check:
    return lambda name, value: choice(name, value, allowed)


def _object(**keys: schema.Check) -> schema.Check:
    return lambda name, value: schema.held(name, value, keys)


def _failures(name: str, value: Any) -> None:
    schema.held(name, value, dict.fromkeys(value if isinstance(value, dict) else (), _list_of(_whole)))


def _weights(name: str, value: Any) -> None:
    if value is not None:
        schema.held(name, value, {"sha256": _text, "bytes": _whole})


LINE: dict[str, schema.Check] = {
    "$id": _one_of(contest.FORMAT),
    "protocol": _one_of(contest.PROTOCOL),
    "track": _one_of(*contest.TRACKS),
    "id": _text,
    "fingerprint": _text,
    "learner": _object(name=_text, entry=_text, config=_table, source_sha256=_text),
    "train_seed": _whole,
    "mark": _whole,
    "steps": _whole,
    "failed": _some_text,
    "env": _table,
    "split": _none,
    "score": _object(name=_text, unit=_text),
    "episodes": _object(
        first_seed=lambda name, value: schema.in_range(name, value, BENCHMARK_SEED, BENCHMARK_SEED),
        scores=_list_of(_number),
        returns=lambda name, value: value is None or _list_of(_number)(name, value),
        lengths=_list_of(_whole),
        failures=_failures,
    ),
    "cpu_s": _object(train=_number, evaluate=_number),
    "wall_s": _number,
    "cpu": _text,
    "threads": _whole,
    "versions": _table,
    "weights": _weights,
}
"""Keys of a line: all are there, and no others."""


def read(file: Path) -> list[dict[str, Any]]:
    """Lines of a file of results; ValueError that names file, line and key where it is none."""
    try:
        texts = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"file {str(file)!r} cannot be read: {error}") from None
    lines = []
    for number, text in enumerate(texts, 1):
        try:
            found = json.loads(text, parse_constant=_refuse)
            schema.held("a line", found, LINE)
            choice("id", found["id"], all_ids())
            counts = {len(value) for value in found["episodes"].values() if isinstance(value, list)}
            if counts != {contest.episodes_of(found["id"])}:
                raise ValueError(f"episodes must be {contest.episodes_of(found['id'])}, got {sorted(counts)}")
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{str(file)!r}, line {number}: {error}") from None
        lines.append(found)
    return lines


def _refuse(text: str) -> None:
    raise ValueError(f"numbers must be finite, got {text}")


SOLVED = 0.9
"""Score on the scale from which on a learner counts as having solved an id."""


class Verdict(NamedTuple):
    """What a check found: lines that differ, what could not be checked, and how much was."""

    differs: list[str]
    unchecked: list[str]
    checked: int


def check(file: Path, trust: bool = False, retrain: int = 0, seed: int = 0, processes: int = 1) -> Verdict:
    """Check a file of results, line by line; a bar shows how far it is.

    Policies in the form of the package's own learners are played again; those of others need the ``load`` beside their
    learner, which runs with ``trust`` only.
    """
    lines = read(file)
    pieces: dict[str, tuple[Any, ...]] = {}
    for number, each in enumerate(lines, 1):
        pieces[f"line {number}: {_name(each)}"] = (_different, each, file.parent, trust)
    trained = [each for each in lines if each["mark"] and each["failed"] is None]
    for each in random.Random(seed).sample(trained, min(retrain, len(trained))):
        pieces[f"{_name(each)}, trained again"] = (_unlikely, each, lines)
    with workers(processes) as engine:
        found = {each.name: each for each in watched(engine.work(_judged, pieces), len(pieces), "line")}
    differs, unchecked = _gaps(lines), []
    for name in pieces:
        reason, problem = (None, found[name].error) if found[name].error else found[name].value
        if reason:
            unchecked.append(f"{name}: {reason}")
        elif problem:
            differs.append(f"{name}: {problem}")
    kept = {"results": of_files(file), "differs": len(differs), "unchecked": len(unchecked), "retrained": retrain}
    with replacing(file.parent / "checked.json") as out:
        out.write((json.dumps(kept) + "\n").encode())
    return Verdict(differs, unchecked, len(lines) - len(unchecked))


def _name(line: Mapping[str, Any]) -> str:
    return f"{line['id'].split('/')[1]}, {line['learner']['name']}, seed {line['train_seed']}, mark {line['mark']}"


def failures(file: Path) -> list[str]:
    """Of each line whose training failed, what it is of and why."""
    return [
        f"{_name(each)}: {each['failed']}{'' if each['weights'] else '; it counts as zero actions'}"
        for each in read(file)
        if each["failed"] is not None
    ]


def _judged(judge: Callable[..., str], *arguments: Any) -> tuple[str, str]:
    """Why something cannot be checked, and what of it is not so; both empty where all is well."""
    try:
        return "", judge(*arguments)
    except _Unchecked as reason:
        return str(reason), ""


class _Unchecked(Exception):
    """Why a line cannot be checked."""


def _gaps(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is missing of seeds from 0 on, and of marks, or is there twice."""
    seeds: dict[tuple[str, ...], list[int]] = {}
    for each in lines:
        key = (each["track"], each["learner"]["entry"], each["id"].split("/")[1], str(each["mark"]))
        seeds.setdefault(key, []).append(each["train_seed"])
    return [
        f"{', '.join(key)}: seeds must be 0 to {len(found) - 1}, each once, got {sorted(found)}"
        for key, found in seeds.items()
        if sorted(found) != list(range(len(found)))
    ]


def _different(line: Mapping[str, Any], folder: Path, trust: bool) -> str:
    """What of a line is not so; empty where all is well."""
    env_id, entry = line["id"], line["learner"]["entry"]
    if line["mark"] and line["steps"] > line["mark"]:
        return f"steps must be at most its mark, {line['mark']}, got {line['steps']}"
    if line["track"] == "fixed" and line["env"]:
        return f"env must be empty in the track 'fixed', got {line['env']}"
    if line["fingerprint"] != of_id(env_id, line["env"]):
        return "its fingerprint is not that of how the environment behaves now"
    weights = line["weights"]
    if weights is None:
        name = "zero" if line["mark"] else entry
        if not contest.stands(env_id, name):
            return f"it has no weights, and {name!r} is no policy of this id"
        policy = find_policy(env_id, name)
        if line["mark"] and line["failed"] is None:
            return "it has no weights, and failed is null"
    else:
        place = folder / "weights" / weights["sha256"]
        if not place.is_dir():
            raise _Unchecked("its weights are not here")
        if contest.digest(place) != weights["sha256"]:
            return "its weights have another digest"
        if not entry.startswith(f"{contest.SHIPPED}:") and not trust:
            raise _Unchecked(f"its policy is played by {entry}, code of others: give --trust to run it")
        _, load, _ = contest.find_learner(entry)
        policy = contest.playing(load(place), entry, line["env"])
    again, said = contest.measure(env_id, policy), line["episodes"]
    width = _width(env_id)
    off = np.abs(np.subtract(again["scores"], said["scores"])) / width
    if np.mean(off <= EPISODE) < (1.0 if line["cpu"] == contest.cpu() else MOST):
        return f"{int(np.sum(off > EPISODE))} of its {len(off)} scores are others when its policy plays"
    if abs(np.mean(again["scores"]) - np.mean(said["scores"])) > MEAN * width:
        return f"its mean score must be {np.mean(again['scores']):.6g}, got {np.mean(said['scores']):.6g}"
    return ""


def _width(env_id: str) -> float:
    """Length of an id's scale; 1 where it has none."""
    ends = normalised(env_id, np.array([0.0, 1.0]))
    return 1.0 if ends is None else float(1.0 / (ends[1] - ends[0]))


def _unlikely(line: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> str:
    """Whether training again gives what the other trainings do not make likely, by a prediction interval of 99%."""
    from scipy.stats import t

    same = [
        float(np.mean(each["episodes"]["scores"]))
        for each in lines
        if all(each[key] == line[key] for key in ("track", "id", "mark")) and each["learner"] == line["learner"]
    ]
    if len(same) < 3:
        return "three trainings or more are needed to tell what is likely"
    with tempfile.TemporaryDirectory() as place:
        name = line["learner"]["entry"]
        contest.train(line["id"], name, line["train_seed"], [line["mark"]], line["track"], Path(place))
        (found,) = read(contest.piece(Path(place), line["id"], name, line["train_seed"]))
    score, sd, n = float(np.mean(found["episodes"]["scores"])), float(np.std(same, ddof=1)), len(same)
    half = float(t.ppf(0.995, n - 1)) * sd * math.sqrt(1.0 + 1.0 / n)
    if abs(score - np.mean(same)) <= half + MEAN * _width(line["id"]):
        return ""
    return f"its score was {score:.5g}, where {np.mean(same):.5g} ± {half:.3g} are likely"


# The leaderboard.


def rows_of(files: Sequence[Path], unchecked: bool = False) -> list[dict[str, Any]]:
    """Rows of a leaderboard: learner, track and mark, and what each reaches, of files that were checked.

    With ``unchecked`` nothing is asked of them.

    Raises:
        ValueError: If a file was not checked since it was written, or differs from what its policies do.
    """
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for file in files:
        checked = "" if unchecked else _checked(file)
        for each in read(file):
            learner = each["learner"]
            key: tuple[Any, ...] = (each["track"], each["mark"], learner["entry"])
            if each["mark"]:  # a reference is another one on each animal
                key += (learner["source_sha256"], str(learner["config"]))
            new = {
                "learner": learner["name"],
                "entry": learner["entry"],
                "track": each["track"],
                "mark": each["mark"],
                "file": str(file),
            }
            new |= {"checked": checked, "commit": each["versions"].get("commit", ""), "scores": {}, "failures": {}}
            row = rows.setdefault(key, new)
            row["scores"].setdefault(each["id"], []).append(each["episodes"]["scores"])
            row["failures"][each["id"]] = row["failures"].get(each["id"], 0) + (each["failed"] is not None)
    names = [name for name, _ in {(row["learner"], row["entry"]) for row in rows.values()}]
    for row in rows.values():
        if names.count(row["learner"]) > 1:
            row["learner"] = row["entry"]
        _sum_up(row)
    return sorted(
        rows.values(), key=lambda row: (row["track"], -row["mark"], -row["mean"] if "mean" in row else math.inf)
    )


def _checked(file: Path) -> str:
    note = file.parent / "checked.json"
    try:
        kept = json.loads(note.read_text("utf-8"))
        schema.held("checked", kept, {"results": _text, **dict.fromkeys(("differs", "unchecked", "retrained"), _whole)})
    except (OSError, ValueError) as error:
        raise ValueError(f"{str(file)!r} was not checked: run `gymnosoma check {file}` ({error})") from None
    if kept["results"] != of_files(file):
        raise ValueError(f"{str(file)!r} has changed since it was checked: run `gymnosoma check {file}`")
    if kept["differs"]:
        raise ValueError(f"{str(file)!r} does not hold what its policies do: {kept['differs']} lines differ")
    said = f"retrained {kept['retrained']}" if kept["retrained"] else "checked"
    return f"{said}, {kept['unchecked']} lines not checkable" if kept["unchecked"] else said


def _sum_up(row: dict[str, Any]) -> None:
    """Add what a row reaches on each id and, where it is complete, over all ranked ids."""
    matrices = {env_id: np.array(scores) for env_id, scores in row["scores"].items()}
    by_id = {env_id: scaled for env_id, one in matrices.items() if (scaled := normalised(env_id, one)) is not None}
    row["ids"] = {}
    for env_id, scaled in by_id.items():
        mean, interval = estimate(scaled)
        points = scaled.mean(1)
        below = int((points < 0.5).sum())
        row["ids"][env_id] = {"mean": mean, "interval": interval, "points": points.tolist(), "below": below}
        row["ids"][env_id]["below_interval"] = share(below, len(points))
        row["ids"][env_id]["failed"] = row["failures"][env_id]
    ranked = {f"gymnosoma/{entry.name}" for entry in CATALOGUE} - UNRANKED
    fewest = min((len(by_id.get(env_id, ())) for env_id in ranked), default=0)
    row["trainings"], row["failed"] = fewest, sum(row["failures"].values())
    if fewest >= (PRELIMINARY if row["mark"] else 1):
        found = aggregate({env_id: by_id[env_id] for env_id in ranked})
        row |= {"mean": found["mean"], "interval": found["interval"], "unclipped": found["unclipped"]}
        row["standing"] = "complete" if fewest >= COMPLETE or not row["mark"] else "preliminary"
    else:
        row["standing"] = "partial"


def agreement(rows: Sequence[Mapping[str, Any]], draws: int = 1000) -> dict[str, Any]:
    """Whether ids tell learners apart, and rank them alike, of rows of one track and mark.

    Args:
        rows: Of `rows_of`; those of learners that have three trainings or more of the same ids count.
        draws: Times that trainings are redrawn, with replacement, for the intervals of tau.

    Returns:
        dict: Kendall's ``tau`` of the learners' ranks, the mean over all pairs of ids, with its ``interval``; of each
            of the ``ids`` its mean ``tau`` with the others and its ``interval``, in how many ``pairs`` of learners it
            tells them ``apart`` (Welch, adjusted by Holm, at 5%), and whether ``all`` or ``none`` of them reach .9.
            Of two learners there is no tau: an id can only rank them alike or reversed, and redrawn trainings pull its
            interval to one side.
    """
    full = [row for row in rows if row["mark"] and min(len(each["points"]) for each in row["ids"].values()) >= 3]
    ids = [env_id for env_id in all_ids() if full and all(env_id in row["ids"] for row in full)]
    if len(full) < 2 or len(ids) < 2:
        return {}
    points = [[np.array(row["ids"][env_id]["points"]) for row in full] for env_id in ids]
    pairs = list(combinations(range(len(full)), 2))
    rng = np.random.default_rng(0)

    def taus(means: NDArray[np.float64]) -> NDArray[np.float64]:
        """Tau of each pair of ids (..., I, I) of means (..., I, L)."""
        signs = np.stack([np.sign(means[..., a] - means[..., b]) for a, b in pairs], -1)
        return signs @ signs.swapaxes(-1, -2) / len(pairs)

    found = taus(np.array([[one.mean() for one in of] for of in points]))
    redrawn = [[one[rng.integers(len(one), size=(draws, len(one)))].mean(1) for one in of] for of in points]
    drawn = taus(np.array(redrawn).transpose(2, 0, 1))
    others = ~np.eye(len(ids), dtype=bool)

    def summed(where: NDArray[np.bool_]) -> dict[str, Any]:
        if len(full) < 3:
            return {}
        low, high = np.quantile(drawn[:, where].mean(1), (0.025, 0.975))
        return {"tau": float(found[where].mean()), "interval": (float(low), float(high))}

    table = {}
    for k, (env_id, of) in enumerate(zip(ids, points, strict=True)):
        p = holm([difference(of[a][:, None], of[b][:, None]).p for a, b in pairs])
        reach = [one.mean() > SOLVED for one in of]
        apart = {
            "apart": int(np.sum(np.array(p) < 0.05)),
            "pairs": len(pairs),
            "all": all(reach),
            "none": not any(reach),
        }
        table[env_id] = summed(others & (np.arange(len(ids)) == k)[:, None]) | apart
    return {**summed(others), "learners": [row["learner"] for row in full], "ids": table}


def tau(found: Mapping[str, Any]) -> str:
    """Tau of `agreement` or of one of its ids, with its interval."""
    if "tau" not in found:
        return "told where there are three learners or more"
    low, high = found["interval"]
    return f"{found['tau']:.2f} [{low:.2f}, {high:.2f}]"


def show_agreement(found: Mapping[str, Any]) -> None:
    """Print whether ids tell learners apart."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    if not found:
        return
    table = Table(title=f"Kendall's tau between ids of the ranks of {', '.join(found['learners'])}: {tau(found)}")
    for column in ("id", "tau with the others", "pairs told apart", "reach .9"):
        table.add_column(column)
    for env_id, each in found["ids"].items():
        reach = "all" if each["all"] else "none" if each["none"] else "some"
        table.add_row(env_id.split("/")[1], escape(tau(each)), f"{each['apart']} of {each['pairs']}", reach)
    Console(width=110).print(table)


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a leaderboard."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Scores from 0 (the animal, or zero actions) to 1 (oracle or bound)")
    for column in ("track", "mark", "learner", "id", "mean [95%], least", "trainings", "failed"):
        table.add_column(column)
    for row in rows:
        for k, (env_id, entry) in enumerate(row["ids"].items()):
            head = (row["track"], f"{row['mark']:,}", row["learner"]) if k == 0 else ("", "", "")
            table.add_row(
                *head,
                env_id.split("/")[1],
                cell(entry).replace("[", r"\["),
                str(len(entry["points"])),
                str(entry["failed"]),
            )
        if "mean" in row:
            table.add_row(
                "",
                "",
                "",
                f"mean of all, {row['standing']}",
                f"{row['mean']:.3f}",
                str(row["trainings"]),
                str(row["failed"]),
            )
    Console(width=110).print(table)


def write_leaderboard(rows: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Write ``leaderboard.html`` and ``leaderboard.csv``."""
    ids = [env_id for env_id in all_ids() if any(env_id in row["ids"] for row in rows)]
    head = ["learner", "track", "mark", "mean of all ids", "standing", "failed", "checked", "commit", "file"]
    head += [env_id.split("/")[1] for env_id in ids]
    table = [head]
    for row in rows:
        total = f"{row['mean']:.3f} [{row['interval'][0]:.3f}, {row['interval'][1]:.3f}]" if "mean" in row else ""
        cells = [row["learner"], row["track"], f"{row['mark']:,}", total, row["standing"]]
        cells += [str(row["failed"]), row["checked"], row["commit"][:10], row["file"]]
        table.append([*cells, *(cell(row["ids"].get(env_id)) for env_id in ids)])
    with replacing(folder / "leaderboard.csv") as out:
        out.write("".join(",".join(f'"{cell}"' for cell in cells) + "\n" for cells in table).encode())
    lines = [
        "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
        for tag, cells in zip(["th", *["td"] * len(rows)], table, strict=True)
    ]
    with replacing(folder / "leaderboard.html") as out:
        out.write(PAGE.replace("ROWS", "\n".join(lines)).encode())


def cell(entry: Mapping[str, Any] | None) -> str:
    """Mean, interval and least training of a row's entry for an id, or of all ids without points, as text."""
    if entry is None:
        return ""
    count = len(entry["points"])
    if count == 1:
        return f"{entry['mean']:z.2f}"
    low, high = entry["interval"]
    least = f", least {min(entry['points']):z.2f}" if count else ""
    return f"{entry['mean']:z.2f} [{low:z.2f}, {high:z.2f}]{least}"


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>gymnosoma leaderboard</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }
div { overflow-x: auto } table { border-collapse: collapse }
th, td { padding: .3em .7em; text-align: left; white-space: nowrap }
th { border-bottom: 2px solid #888 } tr + tr td { border-top: 1px solid #ddd } td:nth-child(4) { font-weight: 600 }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #161616 } tr + tr td { border-color: #333 } }
</style>
<h1>Leaderboard</h1>
<p>Scores on the scale of each id: 0 is the better of the animal's own controller and zero actions, 1 a bound or what
an oracle found. Means over trainings with their 95% intervals. The mean of all ids stands where each ranked one has
five trainings, and is preliminary below ten. Tracks and marks are not compared with each other.</p>
<div><table>
ROWS
</table></div>
</html>
"""


def exit_status(verdict: Verdict) -> int:
    """0 where all is as it says, 1 where something differs, 2 where something could not be checked."""
    return 1 if verdict.differs else 2 if verdict.unchecked else 0
