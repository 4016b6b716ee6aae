"""Write published results into a clone, and find published files that are out of date.

``python -m tools.publish`` makes README's table, the site's page of results and the scores in the documentation from
``docs/results/results.jsonl.xz``. ``--add FILE`` first adds the results of ``benchmark run`` to that file.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import tyro

from gymnosoma.agents.benchmark import protocol, results, tables
from gymnosoma.agents.benchmark.checks import MEAN, width
from gymnosoma.agents.benchmark.entrants import RECIPE, Unchecked, policy_of
from gymnosoma.agents.benchmark.pictures import draw
from gymnosoma.agents.learning.search import CONSTANT
from gymnosoma.agents.policies.agent import Policy
from gymnosoma.agents.policies.card import CARD, WEIGHTS, add_scores
from gymnosoma.agents.policies.evaluation import VALIDATION_SEED, Summary, evaluate, summary
from gymnosoma.agents.policies.fingerprints import env_fingerprint, values_digest
from gymnosoma.agents.policies.lookup import find_policy, outdated, shipped
from gymnosoma.agents.policies.physiology import physiology
from gymnosoma.agents.policies.registry import all_ids, task_class
from gymnosoma.agents.policies.repository import write_repository
from gymnosoma.agents.support.files import replacing
from gymnosoma.agents.support.progress import progress_bar
from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core.env.documentation import FIGURES, NORMALISERS, normaliser, normalisers
from papers import fingerprints

from . import installs, speed, texts
from .clone import ROOT, SCALE, between, put, update_scales
from .gates import failing, published_rows
from .live.modules import ANIMALS as LIVE

PUBLISHED, PICTURES = "docs/results/results.jsonl.xz", "docs/pictures.json"
CLIENTS, LIBRARIES = "docs/clients.json", "docs/guides/libraries.md"
VALIDATION_EPISODES = 128
"""Number of episodes for the choice among trainings."""

FEW = 4
"""Number of episodes that `stale` repeats to compare a policy with its results."""

ANIMALS = {
    "worm": ("Chung, Chang & Kim 2024", "muscles at 24 joints, or a nervous system"),
    "lamprey": ("Ekeberg 1993", "a spinal cord with stretch receptors"),
    "whisker_chain": ("Quist et al. 2014", "motion of the whisker's base"),
    "whisker_rod": ("Oladazimi, Putelat et al. 2021", "a rough plate that slides past the tip"),
    "neuromechanic": ("Bunderson et al. 2012", "31 muscles of a cat's hindlimb; reflexes of a standing person"),
}
"""Paper of each animal, and what moves it."""


def publish(add: tuple[Path, ...] = (), floors: bool = False, ship: Path | None = None, check: bool = False) -> None:
    """Write tables, pages and scores from the published results.

    Args:
        add: Files of results of ``benchmark run``; they replace those of the same ids and entrants.
        floors: Set the lower reference of each scale to the score of the animal's own controller.
        ship: Folder of ``benchmark run --learner recipe``; the median training of each id is copied into
            assets/policies.
        check: List files and figures that are out of date, with exit status 1 if there are any, and write nothing.
    """
    root = ROOT
    if check:
        problems = list(stale(root))
        print(*problems, sep="\n")
        sys.exit(f"{len(problems)} published files or figures are out of date" if problems else 0)
    if ship is not None:
        print(*ship_trainings(ship, root), sep="\n")
    lines = results.read(root / PUBLISHED)
    if add:
        new = [line for file in add for line in results.read(file)]
        keys = {_key(line) for line in new}
        order = {env_id: k for k, env_id in enumerate(all_ids())}
        lines = [*(line for line in lines if _key(line) not in keys), *new]
        lines.sort(key=lambda line: (order[line.id], line.mark))
        results.write(root / PUBLISHED, lines)
        for folder in {file.parent / "weights" for file in add if (file.parent / "weights").is_dir()}:
            shutil.copytree(folder, root / "docs" / "results" / "weights", dirs_exist_ok=True)
    rows = tables.rows_of(lines)
    if floors:
        update_scales({env_id: {"floor": floor} for env_id, floor in floors_of(rows).items()})
        rows = tables.rows_of(lines)
    for path, text in pages(rows, root).items():
        with replacing(path) as file:
            file.write(text.encode())
    draw(rows, root / "docs" / "results" / "scores.png")


def _key(line: results.Result) -> tuple[Any, ...]:
    name = line.entrant.name
    return line.id, name, line.track, 0 if name == RECIPE else line.mark


def pages(rows: Sequence[tables.Row], root: Path) -> dict[Path, str]:
    """Return the generated texts by file."""
    page, readme = root / "docs" / "results" / "index.md", root / "README.md"
    text = page.read_text("utf-8")
    for name, make in (("summary", tables.summary), ("policies", tables.policies), ("learners", tables.learners)):
        text = put(text, name, make(rows))
    return {
        page: text,
        readme: put(readme.read_text("utf-8"), "benchmark", readme_table(rows)),
        root / "assets" / FIGURES: json.dumps({"results": figures_of(rows)}, indent=1) + "\n",
    }


def readme_table(rows: Sequence[tables.Row]) -> str:
    """Return README's table of animals: paper, what moves them, ids, and the range of trained scores on the scale."""
    ahead, lines, failing = tables.ahead(rows), [], []
    for animal, about in ANIMALS.items():
        ids = [f"gymnosoma/{entry.name}" for entry in CATALOGUE if entry.task.startswith(f"{animal}.")]
        cells = [each.get(RECIPE) or each.get("trained") for each in (tables.at(rows, env_id) for env_id in ids)]
        gains = [cell.scaled.mean for cell in cells if cell and cell.scaled]
        failing += [
            f"{name.removeprefix('gymnosoma/').removesuffix('-v0')} ({tables.percent(cell.failed)})"
            for name, cell in zip(ids, cells, strict=True)
            if cell and cell.failed
        ]
        names = ", ".join(f"**{name}**" if name in ahead else name for name in ids).replace("gymnosoma/", "")
        link = f"[{animal.replace('_', ' ')}](docs/animals/{animal}.md)"
        gain = f"{min(gains):.2f} to {max(gains):.2f}" if gains else ""
        lines.append([link, *about, names.replace("-v0", ""), gain])
    table = tables.markdown(["animal", "paper", "moved by", "ids (add `-v0`)", "gain"], lines)
    failed = f" Trained policies fail in episodes of {', '.join(failing)}." * bool(failing)
    return (
        f"{table}\n\n"
        "Gain: lowest and highest score of the trained policies on a scale. 0 is the animal's own controller, and 1 is "
        "a limit that no policy can exceed or, where none is known, the score of a controller fitted to each episode. "
        "Bold: training beats every policy that does not learn (p < 0.05, "
        f"Holm-corrected).{failed} [All results](docs/results/index.md)."
    )


def figures_of(rows: Sequence[tables.Row]) -> dict[str, Any]:
    """Return the scores that the documentation of each id shows."""
    figures = {}
    for env_id in all_ids():
        policies: dict[str, Any] = {}
        for name, cell in tables.at(rows, env_id).items():
            returns = [line.episodes.return_ for line in cell.lines if line.episodes.return_ is not None]
            policies[name] = {
                "mean": _six(cell.score.mean),
                "interval": [_six(end) for end in cell.score.interval],
                "return": _six(float(np.mean(returns))) if returns else None,
                "failed": None if cell.failed is None else _six(cell.failed),
                "succeeded": None if cell.succeeded is None else _six(cell.succeeded),
                "trainings": len(cell.lines) if name == RECIPE else 0,
                **(cell.lines[0].entrant.config if name == CONSTANT else {}),
            }
        if policies:
            figures[env_id] = {"policies": policies}
    return figures


def _six(value: float) -> float:
    return float(f"{value:.6g}")


def floors_of(rows: Sequence[tables.Row]) -> dict[str, float]:
    """Return the lower reference of each id's scale: the score of the animal's own controller."""
    cells = {env_id: tables.at(rows, env_id).get("baseline") for env_id in all_ids() if normaliser(env_id)}
    return {env_id: float(f"{cell.score.mean:.4g}") for env_id, cell in cells.items() if cell}


def ship_trainings(folder: Path, root: Path) -> list[str]:
    """Copy the training of each id with the median validation score into the assets.

    Trainings beyond the limits of the task do not count. Of an even number, the lower one in the middle is copied.

    Returns:
        list of str: Decisions and their reasons.
    """
    trainings: dict[str, list[Policy]] = {}
    for line in results.read(folder / "results.jsonl"):
        if line.entrant.name == RECIPE:
            trainings.setdefault(line.id, []).append(policy_of(line, folder))
    decisions = []
    for env_id, policies in trainings.items():
        place, allowed = root / "assets" / "policies" / env_id.split("/")[1], []
        for k, policy in enumerate(policies):
            if beyond := beyond_limits(env_id, policy):
                decisions.append(f"{place.name}: training {k} is beyond the task's limits: {'; '.join(beyond)}")
            else:
                allowed.append((k, validated(env_id, policy)))
        if not allowed:
            continue
        allowed.sort(key=lambda training: training[1].score_mean)
        k, scores = allowed[(len(allowed) - 1) // 2]
        place.mkdir(parents=True, exist_ok=True)
        for file in (WEIGHTS, CARD):
            shutil.copyfile(folder / "weights" / policies[k].name / file, place / file)
        add_scores(place, scores)
        write_repository(place)
        decisions.append(f"{place.name}: training {k} of {len(policies)} shipped, score {scores.score_mean:.4g}")
    return decisions


def validated(env_id: str, policy: Policy) -> Summary:
    """Measure a policy in the validation episodes, for its card."""
    env = {"split": None} if task_class(env_id).hidden else {}
    results = evaluate(env_id, policy, VALIDATION_EPISODES, VALIDATION_SEED, **env)
    return summary(env_id, policy, results, VALIDATION_SEED, **env)


def beyond_limits(env_id: str, policy: Policy) -> list[str]:
    """List the physiological measures in which a policy exceeds a limit of the task."""
    problems = []
    for measure, entry in physiology(env_id, [policy], seed=VALIDATION_SEED).items():
        value = entry.policies[policy.name]
        if entry.limit is not None and not value <= entry.limit:
            problems.append(f"{measure} {value:.3g} {entry.unit}, at most {entry.limit:.3g}")
    return problems


def thresholds(rows: Sequence[tables.Row]) -> dict[str, tuple[float, float] | None]:
    """Return the range of returns allowed for each id's ``reward_threshold``.

    The lower end is the return of the best constant policy. The upper end is the best return of a measured policy, or
    of the normaliser's best score if that is not a bound. (The line through the random and the best constant policy
    converts this score to a return.) The range is None if no policy is better than the best constant one.
    """
    between: dict[str, tuple[float, float] | None] = {}
    for env_id, result in figures_of(rows).items():
        policies, scale = result["policies"], normalisers().get(env_id.removeprefix("gymnosoma/"), {})
        if CONSTANT not in policies or "random" not in policies:
            continue
        constant, chance = policies[CONSTANT], policies["random"]
        better = [each["return"] for each in policies.values() if each["interval"][0] > constant["interval"][1]]
        if not scale.get("bound", True) and scale["best"] > constant["interval"][1]:
            slope = (constant["return"] - chance["return"]) / (constant["mean"] - chance["mean"])
            better.append(constant["return"] + slope * (scale["best"] - constant["mean"]))
        between[env_id] = (constant["return"], max(better)) if better else None
    return between


def stamp(env_id: str, policies: Iterable[str]) -> str:
    """Return a digest of an id's behaviour and of policies, for a picture that shows them."""
    return values_digest(env_fingerprint(env_id, {}), [find_policy(env_id, name).digest() for name in policies])


def stale_pictures(root: Path) -> Iterator[str]:
    """List the pictures of ids or policies that have changed."""
    for name, shown in json.loads((root / PICTURES).read_text("utf-8")).items():
        try:
            fresh = all(stamp(env_id, each["policies"]) == each["digest"] for env_id, each in shown.items())
        except (ValueError, gymnasium.error.Error):  # no longer exists
            fresh = False
        if not fresh:
            yield f"docs/{name}: an id or policy has changed: run `python docs/pictures.py {name}`"


def stale_clients(root: Path) -> Iterator[str]:
    """List the checks by other libraries whose ids have changed, or whose row in the guide is another."""
    table = between((root / LIBRARIES).read_text("utf-8"), "clients")
    measured = json.loads((root / CLIENTS).read_text("utf-8"))
    rows = {f"{name}: {what}": passed for name, _, what, _, passed in map(_cells, table.strip().splitlines()[2:])}
    for what in sorted(rows.keys() | measured.keys()):
        entry = measured.get(what)
        if entry is None or entry["passed"] != rows.get(what):
            yield f"{LIBRARIES}: {what} differs from {CLIENTS}: run `python tests/clients.py --write`"
            continue
        changed = [
            each for each in entry["ids"] if each not in all_ids() or env_fingerprint(each, {}) != entry["ids"][each]
        ]
        if changed or (len(entry["ids"]) > len(ANIMALS) and {*entry["ids"]} != {*all_ids()}):
            yield f"{LIBRARIES}: {what}: ids have changed: {', '.join(changed) or 'some are new'}"


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("| ").split("|")]


def stale(root: Path) -> Iterator[str]:
    """List the published files and figures that do not agree with the code, with the reason."""
    lines = results.read(root / PUBLISHED)
    rows = tables.rows_of(lines)
    for path, text in pages(rows, root).items():
        if not path.is_file() or path.read_text("utf-8") != text:
            yield f"{path.relative_to(root)}: differs from {PUBLISHED}: run `python -m tools.publish`"
    yield from _stale_lines(lines, root)
    for env_id in all_ids():
        if shipped(env_id).is_dir() and (problem := outdated(env_id, find_policy(env_id, "trained"))):
            yield f"assets/policies: {problem}"
    yield from stale_pictures(root)
    yield from stale_clients(root)
    yield from installs.stale(root)
    yield from texts.stale(root)
    yield from fingerprints.stale(root)
    for make in LIVE.values():
        make()  # raises an error if a live animal does not fit its data
    floors, gates = floors_of(rows), published_rows()
    for name, scale in normalisers().items():
        floor = floors.get(f"gymnosoma/{name}", scale["floor"])
        if not math.isclose(floor, scale["floor"], rel_tol=1e-3):
            yield f"assets/{NORMALISERS}: floor of {name} must be {floor}, got {scale['floor']}"
    for name, row in gates.items():
        if row["fingerprint"] != env_fingerprint(f"gymnosoma/{name}", {}):
            yield f"docs/gates.csv: {name} has changed since the measurement"
        if (float(row["floor"]), float(row["best"])) != tuple(normalisers()[name][key] for key in SCALE[:2]):
            yield f"docs/gates.csv: {name} was measured on a different scale"
        if " ".join(failing(row)) != row["fails"]:
            yield f"docs/gates.csv: {name} fails {failing(row)}, not {row['fails']!r}"
    between = thresholds(rows)
    for entry in CATALOGUE:
        ends = between.get(f"gymnosoma/{entry.name}")
        threshold = entry.reward_threshold
        if not (ends is None if threshold is None else ends is not None and ends[0] < threshold <= ends[1]):
            yield f"{entry.name}: reward_threshold must be in {ends}, got {threshold}"
        if entry.ranked and (entry.name not in gates or gates[entry.name]["fails"]):
            yield f"docs/gates.csv: {entry.name} is ranked, but has not passed the checks"
    measured = json.loads(speed.MEASURED.read_text("utf-8"))
    if not measured.get("ids"):
        yield "docs/speed.json: fingerprints of the measured ids are missing"
    for name, fingerprint in measured.get("ids", {}).items():
        if fingerprint != env_fingerprint(f"gymnosoma/{name}", {}):
            yield f"docs/speed.json: {name} has changed since the measurement"
    for page, text in ((speed.GUIDE, speed.tables(measured)), (speed.README, speed.ratios(measured))):
        if text not in page.read_text("utf-8"):
            yield f"{page.relative_to(root)}: speeds differ from docs/speed.json"


def _stale_lines(lines: Iterable[results.Result], root: Path) -> Iterator[str]:
    """List results of changed ids or policies; policies that do not learn repeat their first episodes."""
    groups = {(line.id, line.entrant.name, json.dumps(line.env)): line for line in lines}
    for line in progress_bar(groups.values(), unit="entrant"):
        where = f"{PUBLISHED}: {line.label}"
        if line.fingerprint != env_fingerprint(line.id, line.env):
            yield f"{where}: the id has changed since the measurement"
        elif line.entrant.name == "trained":
            if line.entrant.digest != find_policy(line.id, "trained").digest():
                yield f"{where}: the shipped policy has been replaced"
        elif not line.mark and (scores := line.episodes.scores[:FEW]):
            try:
                again = protocol.measure(line.id, policy_of(line, root / "docs" / "results"), len(scores))
            except (Unchecked, ValueError) as error:
                yield f"{where}: {error}"
            else:
                if np.abs(np.subtract(again.scores, scores)).max() > MEAN * width(line.id):
                    yield f"{where}: the policy has changed since the measurement"


if __name__ == "__main__":
    tyro.cli(publish)
