"""Checks that a task must pass before policies are ranked on it.

Feedback must increase the score, no script may reach the top of the scale, and the scale must resolve differences.
``docs/gates.csv`` has the results, a row for each id, with the fingerprint of the id's behaviour at that time.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import tyro

from gymnosoma.agents.benchmark.protocol import EPISODES
from gymnosoma.agents.learning.search import CONSTANT
from gymnosoma.agents.policies.agent import Policy, reference_policy
from gymnosoma.agents.policies.evaluation import BENCHMARK_SEED, VALIDATION_SEED, evaluate
from gymnosoma.agents.policies.fingerprints import env_fingerprint
from gymnosoma.agents.policies.lookup import find_policy, replay
from gymnosoma.agents.policies.physiology import physiology
from gymnosoma.agents.policies.registry import all_ids, full_id, references_of, task_class
from gymnosoma.agents.support.files import replacing
from gymnosoma.agents.support.progress import progress_bar
from gymnosoma.envs.core.env.documentation import figures, normaliser

from .clone import ROOT

FILE = "gates.csv"
"""Name of the file of results, in docs."""

LEAST, MOST, RESOLVED, FAILING, SATURATED = 0.2, 0.9, 0.03, 0.05, 0.05
"""Limits of the checks.

As shares of the scale: smallest value of feedback, largest score of a script, largest half width of the paired interval
of `EPISODES`. Then the largest share of failed episodes of the best reference (failures that the task itself measures
do not count), and the largest share of motion commands at their limits.
"""

GUESS = "guess"
"""Reference of perception tasks that answers without touching; it takes the place of the replay."""

MEASURED = {
    "StandGains-v0": "a fall is a failure of the task itself",
    "WhiskerLocalize-v0": "a wrong answer is the score",
}
"""Ids in which a failure is part of the score, and why."""

COLUMNS: tuple[str, ...] = (
    "id",
    "fingerprint",
    "floor",
    "best",
    "closed",
    "score",
    "open",
    "open_score",
    "feedback",
    "script",
)
COLUMNS += ("script_score", "script_share", "beyond", "saturation", "half_width", "failed", "learned", "fails")


def gates(
    ids: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    /,
    policy: str | None = None,
    episodes: int = EPISODES,
    write: bool = False,
) -> None:
    """Check tasks before policies are ranked on them.

    (a) The best closed-loop policy (reference or trained) scores at least 0.2 of the scale more than a replay of its
    actions, or, in perception tasks, than answering without touching. (b) No reference scores more than 0.9 of the
    scale. (c) The best reference and the trained policy respect the animal's limits, and at most 5% of their motion
    commands are at the limits of the action. (d) The half width of the 95% interval of the mean difference from the
    animal's own controller is at most 3% of the scale. (e) Less than 5% of the best reference's episodes fail, not
    counting failures that the task measures.

    Args:
        ids: Environments; all by default.
        policy: Trained policy, as in `evaluate`; requires a single id.
        episodes: Number of episodes, from seed 10000 on.
        write: Write the rows into docs/gates.csv.
    """
    names = [full_id(name) for name in ids] or all_ids()
    if policy is not None and len(names) != 1:
        raise ValueError(f"ids must be a single id if a policy is given, got {len(names)} ids")
    if episodes < 2:
        raise ValueError(f"episodes must be at least 2, got {episodes!r}")
    learned = None if policy is None else find_policy(names[0], policy)
    rows = []
    for env_id in progress_bar(names, unit="id"):
        rows.append(row(env_id, learned, episodes))
        print("\n".join(f"{name:>12} {value}" for name, value in rows[-1].items()), end="\n\n")
        if write:
            _write(rows[-1])


def row(env_id: str, learned: Policy | None, episodes: int) -> dict[str, Any]:
    """Measure the row of an id.

    Raises:
        ValueError: If the scores of the id are not normalised.
    """
    from scipy.stats import t

    scale = normaliser(env_id)
    if scale is None:
        raise ValueError(f"{env_id} must have floor and best in assets/normalisers.toml")
    score = task_class(env_id).score
    env = {"split": None} if task_class(env_id).hidden else {}

    def play(player: Policy) -> tuple[np.ndarray, float]:
        results = evaluate(env_id, player, episodes, BENCHMARK_SEED, keep={score.name}, **env)
        return results.score(score) * score.factor, float(np.mean([each is not None for each in results.failures]))

    own = {name: find_policy(env_id, name) for name in references_of(env_id)}
    figure = figures().get(env_id, {}).get("policies", {}).get(CONSTANT, {})
    if figure.get("parameters"):
        searched = (name for name, reference in references_of(env_id).items() if reference.bounds)
        reference = references_of(env_id)[figure.get("reference") or next(searched)]
        own[CONSTANT] = reference_policy(CONSTANT, reference, **figure["parameters"])
    scores, failed = {}, {}
    for name, player in own.items():
        scores[name], failed[name] = play(player)
    scripts = [name for name in own if not name.startswith("oracle")]
    script = max(scripts, key=lambda name: scores[name].mean())
    closed, closed_policy = script, own[script]
    if learned is not None:
        scores[learned.name], _ = play(learned)
        if scores[learned.name].mean() > scores[script].mean():
            closed, closed_policy = learned.name, learned
    open_policy = GUESS if GUESS in own else f"replay of {closed}"
    open_score = scores[GUESS].mean() if GUESS in own else play(replay(env_id, closed_policy))[0].mean()
    best, width = scores[closed], scale["best"] - scale["floor"]
    other = scores["baseline"]
    half = t.ppf(0.975, episodes - 1) * np.std(best - other, ddof=1) / np.sqrt(episodes) / width
    players = [own[script], *([] if learned is None else [learned])]
    body = physiology(env_id, players, seed=VALIDATION_SEED)
    names = {player.name for player in players}
    beyond = [f"{what} ({who})" for what, entry in body.items() for who in entry.beyond if who in names]
    content = {
        "id": env_id.split("/")[1],
        "fingerprint": env_fingerprint(env_id, {}),
        "floor": scale["floor"],
        "best": scale["best"],
        "closed": closed,
        "score": _short(best.mean()),
        "open": open_policy,
        "open_score": _short(open_score),
        "feedback": _short((best.mean() - open_score) / width),
        "script": script,
        "script_score": _short(scores[script].mean()),
        "script_share": _short((scores[script].mean() - scale["floor"]) / width),
        "beyond": "; ".join(beyond),
        "saturation": _short(max(body["action at its ends"].policies[name] for name in names) / 100.0),
        "half_width": _short(half),
        "failed": _short(failed[script]),
        "learned": "" if learned is None else _short(scores[learned.name].mean()),
    }
    return content | {"fails": " ".join(failing(content))}


def failing(row: Mapping[str, Any]) -> list[str]:
    """Return the letters of the checks that a row fails."""
    gates = {
        "a": float(row["feedback"]) >= LEAST,
        "b": float(row["script_share"]) <= MOST,
        "c": not row["beyond"] and float(row["saturation"]) <= SATURATED,
        "d": float(row["half_width"]) <= RESOLVED,
        "e": row["id"] in MEASURED or float(row["failed"]) < FAILING,
    }
    return [gate for gate, holds in gates.items() if not holds]


def published_rows() -> dict[str, dict[str, str]]:
    """Read docs/gates.csv, and return its rows by id."""
    file = ROOT / "docs" / FILE
    text = file.read_text("utf-8") if file.is_file() else ""
    return {each["id"]: each for each in csv.DictReader(io.StringIO(text))}


def _write(row: Mapping[str, Any]) -> None:
    rows: dict[str, Mapping[str, Any]] = {**published_rows(), row["id"]: row}
    order: Sequence[str] = [env_id.split("/")[1] for env_id in all_ids()]
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows[name] for name in order if name in rows)
    with replacing(ROOT / "docs" / FILE) as file:
        file.write(out.getvalue().encode())


def _short(value: float) -> float:
    return float(f"{value:.4g}")


if __name__ == "__main__":
    tyro.cli(gates)
