"""Writes what a benchmark found into a checkout: figures, README's table, learning curves, normalisers, policies."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gymnosoma
from gymnosoma.agents.benchmark.benchmark import KEPT, Curves, Found, levels, rounded, scores_of
from gymnosoma.agents.benchmark.jobs import VALIDATION_EPISODES, Job
from gymnosoma.agents.benchmark.statistics import estimate, holm, seconds_to
from gymnosoma.agents.learning.search import CONSTANT
from gymnosoma.agents.policies.agent import Policy
from gymnosoma.agents.policies.card import CARD, WEIGHTS, add_scores
from gymnosoma.agents.policies.evaluation import BENCHMARK_SEED, VALIDATION_SEED, Episodes, evaluate
from gymnosoma.agents.policies.lookup import REPLAY, find_policy, shipped
from gymnosoma.agents.policies.physiology import physiology
from gymnosoma.agents.policies.registry import all_ids, task_class, task_of
from gymnosoma.agents.support.files import replacing
from gymnosoma.agents.support.workers import Workers, watched
from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core.env.documentation import FIGURES, NORMALISERS, normalisers, summary

BEGIN, END = "<!-- benchmark -->", "<!-- end of benchmark -->"
"""Between these lines README holds what is made here."""

CURVES = "curves.json"
"""File in docs with the learning curves, of which the site draws pictures."""

POINTS = 50
"""Points of a learning curve that are written; as a rule it has more."""

SCALE = ("floor", "best", "bound", "why")
"""Keys of a normaliser."""

HEAD = """\
# What normalised scores call 0 and 1, in the unit of the score, frozen for each id and version. `floor` is the better
# of the animal's own controller and zero actions in the benchmark's episodes: `python train.py benchmark --floor`
# measures it anew. `best` is a `bound` that no policy can pass, or what an oracle found, which a policy may pass:
# `python -m tools.oracle ID --write`.
"""


def checkout() -> Path:
    """Folder of the checkout that this package is run from."""
    return Path(gymnosoma.__file__).resolve().parents[1]


ANIMALS = {"worm": "worm", "lamprey": "lamprey", "whisker_chain": "vibrissa", "whisker_rod": "whisker on sandpaper"}
ANIMALS |= {"neuromechanic": "musculoskeletal"}
"""What README calls the animals, by their folders."""

SHORT = 60
"""Most characters that README tells of a task."""


def readme_table(results: Mapping[str, Any]) -> str:
    """README's table of ids: what is asked, of which animal, and what training reaches beside the animal's own."""
    lines = ["| id | task | animal | trained | link |", "|" + "---|" * 5]
    text = (checkout() / "pyproject.toml").read_text("utf-8")
    site = tomllib.loads(text)["project"]["urls"]["Documentation"]
    ahead = _ahead(results)
    for entry in CATALOGUE:
        result = results["results"].get(f"gymnosoma/{entry.name}", {"policies": {}})
        policies, unit = result["policies"], result.get("unit", "1").replace("1", "")
        trained = ""
        if "trained" in policies:
            mean = f"{policies['trained']['mean']:.3g}"
            trained = f"{f'**{mean}**' if f'gymnosoma/{entry.name}' in ahead else mean} {unit}".strip()
        if trained and "baseline" in policies:
            trained += f" ({policies['baseline']['mean']:.3g})"
        task = summary(task_class(f"gymnosoma/{entry.name}")).rstrip(".")
        cut = re.match(f"(.{{,{SHORT}}})[,;:]", task) if len(task) > SHORT else None
        task = cut[1] if cut else task
        animal, link = entry.task.partition(".")[0], f"[page]({site}/environments/{entry.name}.html)"
        lines.append(f"| `{entry.name}` | {task} | {ANIMALS[animal]} | {trained} | {link} |")
    shown = [each for each in results["results"].values() if "trained" in each["policies"]]
    text = (
        "Mean scores of trained policies (speeds less the price of work) and, in brackets, of the animal's own "
        "controller; bold where training is above everything beside it (p < .05, adjusted by Holm): in "
        f"{len(ahead)} of {len(shown)} ids. [All scores]({site}/environments/)."
    )
    return "\n".join([*lines, "", text])


def table(results: Mapping[str, Any]) -> str:
    """All figures of a benchmark as a table of Markdown, with what it shows."""
    head = ["id", "task", "score", "zero", "animal's own controller", "best other reference"]
    head += ["best constant parameters", "replay", "trained", "counts as 1"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    ahead = _ahead(results)
    for env_id, result in results["results"].items():
        policies = result["policies"]
        score = result["score"].replace("is_", "").replace("_", " ")
        own = policies["baseline"]["mean"] if "baseline" in policies else float("-inf")
        known = ("random", "zero", "baseline", CONSTANT, "trained")
        others = {
            name: entry
            for name, entry in policies.items()
            if name not in known and not name.startswith(REPLAY) and entry["mean"] > own
        }
        best = max(others, key=lambda name: others[name]["mean"], default=None)
        cells = [
            f"`{env_id.split('/')[1]}`",
            summary(task_class(env_id)).rstrip("."),
            score if result["unit"] in ("", "1") else f"{score}, {result['unit']}",
            _cell(policies.get("zero")),
            _cell(policies.get("baseline")),
            "" if best is None else f"{_cell(others[best])} `{best}`",
            _cell(policies.get(CONSTANT)),
            _cell(next((entry for name, entry in policies.items() if name.startswith(REPLAY)), None)),
            _cell(policies.get("trained"), bold=env_id in ahead),
            f"{result['best']:g}" if "best" in result else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", _sentences(results)])


def _cell(entry: Mapping[str, Any] | None, bold: bool = False) -> str:
    if entry is None:
        return ""
    low, high = entry["interval"]
    mean = f"**{entry['mean']:.3g}**" if bold else f"{entry['mean']:.3g}"
    return f"{mean} [{low:.3g}, {high:.3g}]"


def _ahead(results: Mapping[str, Any]) -> set[str]:
    """Ids in which what was trained is surely above all that was not: the largest p of each, adjusted by Holm."""
    largest = {
        env_id: max(entry["p"] if entry["mean"] > 0.0 else 1.0 for entry in ahead.values())
        for env_id, result in results["results"].items()
        if (ahead := result["policies"].get("trained", {}).get("ahead"))
    }
    return {env_id for env_id, p in zip(largest, holm([*largest.values()]), strict=True) if p < 0.05}


def _sentences(results: Mapping[str, Any]) -> str:
    """What the table shows."""
    entries = [entry for result in results["results"].values() for entry in result["policies"].values()]
    counts = sorted({entry["episodes"] for entry in entries})
    trained = [
        result["policies"]["trained"]["trainings"]
        for result in results["results"].values()
        if "trained" in result["policies"]
    ]
    each = f"{counts[0]} episodes" + (f" ({counts[-1]} where an answer is right or wrong)" if len(counts) > 1 else "")
    text = [f"Means of {each}, with 95% intervals (`python train.py benchmark`)."]
    if trained:
        anew = sorted({count for count in trained if count})
        which = []
        if 0 in trained:
            which.append("the policy that comes with the package, of one training")
        if anew:
            which.append(f"all of {' or '.join(map(str, anew))} trainings by the recipe")
        text.append(f'"Trained" is {" or ".join(which)}.')
        every, ahead = results["results"], _ahead(results)
        behind = [name.split("/")[1] for name in every if "trained" in every[name]["policies"] and name not in ahead]
        rest = f"all but {', '.join(behind)}" if behind else "all"
        text.append(
            "It is bold where it is above everything beside it, each with p < .05 (adjusted by Holm for all ids): in "
            f"{len(trained) - len(behind)} of {len(trained)} ids, {rest}."
        )
    text.append(
        '"Replay" does in every episode what the trained policy, or a reference, did in one. The scale runs from the '
        "better of the animal's own controller and zero actions to what counts as 1: a bound, or what an oracle found."
    )
    if CONSTANT in results["aggregate"]:
        means = [
            f"{name} {results['aggregate'][name]['mean']:.2f} ({results['aggregate'][name]['ids']} ids)"
            for name in ("baseline", CONSTANT, "trained")
            if name in results["aggregate"]
        ]
        text.append(f"Means of normalised scores, each over the ids that have one: {', '.join(means)}.")
    if results["missing"]:
        ids = dict.fromkeys(name.partition("/")[0] for name in results["missing"])
        text.append(f"**Partial**: {len(results['missing'])} results are missing, of {', '.join(ids)}.")
    return " ".join(text)


def in_readme(text: str) -> str:
    """What a README holds between the marks.

    Raises:
        ValueError: If it has no such marks.
    """
    if BEGIN not in text or END not in text:
        raise ValueError(f"README.md must have lines {BEGIN!r} and {END!r}, between which the table goes")
    return text.partition(BEGIN)[2].partition(END)[0].strip("\n")


def write_readme(results: Mapping[str, Any], root: Path) -> None:
    """Put the table of ids into README; ``python -m tools.publish`` does so from the figures kept."""
    readme = (root / "README.md").read_text("utf-8")
    in_readme(readme)
    before, after = readme.partition(BEGIN)[0], readme.partition(END)[2]
    with replacing(root / "README.md") as file:
        file.write(f"{before}{BEGIN}\n{readme_table(results)}\n{END}{after}".encode())


def write(results: Mapping[str, Any], curves: Curves, root: Path) -> Mapping[str, Any]:
    """Write figures, README's table and learning curves; what documentation says of ids is made from them.

    The figures hold means and intervals, and of each policy the first few scores, by which a test measures some of
    them again; the scores of all episodes stay in the folder of the benchmark. Where some ids alone were measured the
    others' figures stay, and nothing is said of all together; so do learning curves of what was not trained anew.

    Returns:
        mapping: All figures that stand there now.
    """
    results, curves = _beside_others(results, curves, root)
    kept = {name: value for name, value in results.items() if name != "failed"}
    with replacing(root / "assets" / FIGURES) as file:
        file.write((json.dumps(kept, indent=1) + "\n").encode())
    write_readme(results, root)
    with replacing(root / "docs" / CURVES) as file:
        file.write(written_curves(curves).encode())
    return results


def _beside_others(results: Mapping[str, Any], curves: Curves, root: Path) -> tuple[Mapping[str, Any], Curves]:
    """Figures and curves of all ids, of those that were not measured, or not trained, as they were."""
    kept, lines = (json.loads((root / place).read_text("utf-8")) for place in (f"assets/{FIGURES}", f"docs/{CURVES}"))
    measured, known = results["results"], lines | dict(curves)
    ids = [env_id for env_id in all_ids() if env_id in kept["results"] | measured]
    every = {env_id: dict(measured.get(env_id) or kept["results"][env_id]) for env_id in ids}
    drawn = {env_id: known[env_id] for env_id in ids if env_id in known}
    for env_id, trainings in drawn.items():
        thin = json.loads(written_curves({env_id: trainings}))[env_id]
        every[env_id]["seconds"] = rounded({k: seconds_to(thin, level) for k, level in levels(every[env_id]).items()})
    total = results["aggregate"] if ids == [*measured] else {}
    return {**results, "aggregate": total, "results": every}, drawn


def written_curves(curves: Curves) -> str:
    """Learning curves as JSON, a line for each training: some points of each, with four significant digits."""
    ids = []
    for env_id, trainings in curves.items():
        lines = []
        for curve in trainings:
            rows = np.unique(np.linspace(0, len(curve["steps"]) - 1, POINTS).round().astype(int))
            thin = {name: [float(f"{values[row]:.4g}") for row in rows] for name, values in curve.items()}
            lines.append(json.dumps(thin, separators=(",", ":")))
        ids.append(f"\n{json.dumps(env_id)}: [\n" + ",\n".join(lines) + "\n]")
    return "{" + ",".join(ids) + "\n}\n"


def freeze(entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Set what normalised scores call 0 or 1: the keys that are given, of ids; the others stay as they are."""
    normalisers.cache_clear()  # the file may have changed since this process began
    known = {name: dict(entry) for name, entry in normalisers().items()}
    for env_id, entry in entries.items():
        known.setdefault(env_id.removeprefix("gymnosoma/"), {}).update(entry)
    ids = [env_id.removeprefix("gymnosoma/") for env_id in all_ids()]
    tables = [
        f"[{name}]\n" + "".join(f"{key} = {json.dumps(known[name][key])}\n" for key in SCALE if key in known[name])
        for name in ids
        if name in known
    ]
    with replacing(checkout() / "assets" / NORMALISERS) as file:
        file.write("\n".join([HEAD, *tables]).encode())
    normalisers.cache_clear()


def floors(found: Found) -> dict[str, dict[str, float]]:
    """What normalised scores call 0: the better of the animal's own controller and of zero actions, of each id."""
    floor = {}
    for env_id, policies in found.items():
        scores = [scores_of(policies[name]).mean() for name in ("baseline", "zero") if policies.get(name)]
        if scores:
            floor[env_id] = {"floor": float(f"{max(scores):.4g}")}
    return floor


def ship(jobs: Sequence[Job], found: Found, folder: Path, root: Path) -> list[str]:
    """Copy the best training of each id into the assets, by its validation score, of those that may be shipped.

    It must be better than what is shipped now, by the same episodes, and within the limits that the task sets to what
    a policy does to the body.

    Returns:
        list of str: For each id what was done, and why.
    """
    said = []
    for env_id in found:
        done = {job: job.result(folder) for job in jobs if job.env_id == env_id and job.training is not None}
        scores = {job: result["validation"] for job, result in done.items() if result is not None}
        name = env_id.split("/")[1]
        if not scores:
            said.append(f"{name}: no training is done")
            continue
        if len(scores) < len(done):
            said.append(f"{name}: not shipped: {len(done) - len(scores)} trainings are not done")
            continue
        there = shipped(env_id).is_dir()
        known = validated(env_id, find_policy(env_id, "trained"))["score_mean"] if there else -math.inf
        for job in sorted(scores, key=lambda job: -scores[job]):
            about = f"{name}: training {job.training} of {len(scores)}, validation score {scores[job]:.4g}"
            if known >= scores[job]:
                said.append(f"{about}; not shipped: what is there has {known:.4g}")
                break
            policy = find_policy(env_id, str(job.run(folder)))
            beyond = [
                f"{what} {entry['trained'] or math.nan:.3g} {entry['unit']}, at most {entry['limit']:.3g}"
                for what, entry in measured(env_id, policy).items()
                if "limit" in entry and (entry["trained"] is None or entry["trained"] > entry["limit"])
            ]
            if beyond:
                said.append(f"{about}; not shipped, beyond the task's limits: {'; '.join(beyond)}")
                continue
            place = root / "assets" / "policies" / name
            place.mkdir(parents=True, exist_ok=True)
            for file in (WEIGHTS, CARD):
                shutil.copyfile(job.run(folder) / file, place / file)
            add_scores(place, validated(env_id, policy))
            said.append(f"{about}; shipped")
            break
    return said


def _played(env_id: str, policy: Policy, episodes: int, seed: int) -> tuple[Episodes, NDArray[np.float64]]:
    """Episodes in which what is hidden is drawn from all of its range, and their scores in the unit that is shown."""
    score = task_of(env_id).score
    env = {"split": None} if task_class(env_id).hidden else {}
    played = evaluate(env_id, policy, episodes, seed, **env)
    return played, played.score(score) * score.factor


def validated(env_id: str, policy: Policy) -> dict[str, Any]:
    """What a policy gets in the episodes that choose among trainings, as a card notes it."""
    score = task_of(env_id).score
    played, scores = _played(env_id, policy, VALIDATION_EPISODES, VALIDATION_SEED)
    return {
        "score": score.name,
        "unit": score.unit,
        "score_mean": float(scores.mean()),
        "score_sd": float(scores.std()),
        "return_mean": float(played.returns.mean()),
        "return_sd": float(played.returns.std()),
        "episodes": VALIDATION_EPISODES,
        "seed": VALIDATION_SEED,
    }


def measured(env_id: str, policy: Policy) -> dict[str, dict[str, Any]]:
    """What a policy does to the body, by measure.

    Returns:
        dict: ``unit``, ``baseline`` where there is one, ``trained`` (either None where no episode gives a value),
            ``limit`` if any.
    """
    found = {}
    for name, entry in physiology(env_id, [policy], seed=VALIDATION_SEED).items():
        values = {player: value if math.isfinite(value) else None for player, value in entry["policies"].items()}
        trained = values.pop(policy.name)
        limit = {"limit": entry["limit"]} if "limit" in entry else {}
        found[name] = {"unit": entry["unit"], **values, "trained": trained, **limit}
    return found


def examine(env_id: str, episodes: int) -> dict[str, Any]:
    """Measure the policy that comes with the package.

    Returns:
        dict: ``weights``, the SHA-256 of its file; ``mean`` score with its ``interval``, mean ``return``, the ``first``
            scores; ``physiology`` as of `measured`.
    """
    policy = find_policy(env_id, "trained")
    played, scores = _played(env_id, policy, episodes, BENCHMARK_SEED)
    mean, within = estimate(scores[None])
    return {
        "weights": digest(shipped(env_id)),
        "mean": mean,
        "interval": list(within),
        "return": float(played.returns.mean()),
        "first": scores[:KEPT].tolist(),
        "physiology": measured(env_id, policy),
    }


def digest(folder: Path) -> str:
    """SHA-256 of a policy's weights."""
    return hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()


def add_shipped(results: dict[str, Any], engine: Workers) -> None:
    """Add to the figures, by id, what its ``shipped`` policy reaches, and does to the body.

    Raises:
        RuntimeError: If one cannot be measured.
    """
    pieces = {
        env_id: (env_id, result["policies"]["trained"]["episodes"])
        for env_id, result in results["results"].items()
        if shipped(env_id).is_dir() and "trained" in result["policies"]
    }
    for env_id, found, error in watched(engine.work(examine, pieces), len(pieces), "policy"):
        if error is not None:
            raise RuntimeError(f"the policy of {env_id} cannot be measured: {error}")
        results["results"][env_id]["shipped"] = rounded(found)


def thresholds(results: Mapping[str, Any]) -> dict[str, tuple[float, float] | None]:
    """Returns between which an id's ``reward_threshold`` belongs: of the best constant, and of the best known.

    The best known is a policy that was measured, or the normaliser where that is no bound (as a return, on the line
    through chance and the best constant: a score is a multiple of the return, or the return). None where nothing known
    is better than the best constant.
    """
    found: dict[str, tuple[float, float] | None] = {}
    for env_id, result in results["results"].items():
        policies, scale = result["policies"], normalisers().get(env_id.removeprefix("gymnosoma/"), {})
        if CONSTANT not in policies or "random" not in policies:
            continue
        constant, chance = policies[CONSTANT], policies["random"]
        entries = [*policies.values(), *([result["shipped"]] if "shipped" in result else [])]
        known = [entry["return"] for entry in entries if entry["interval"][0] > constant["interval"][1]]
        if not scale.get("bound", True) and scale["best"] > constant["interval"][1]:
            slope = (constant["return"] - chance["return"]) / (constant["mean"] - chance["mean"])
            known.append(constant["return"] + slope * (scale["best"] - constant["mean"]))
        found[env_id] = (constant["return"], max(known)) if known else None
    return found


if __name__ == "__main__":
    write_readme(json.loads((checkout() / "assets" / FIGURES).read_text("utf-8")), checkout())
