"""Command ``evaluate``."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Annotated, Any

import tyro

from gymnosoma.agents.policies import evaluation
from gymnosoma.agents.policies.agent import Policy
from gymnosoma.agents.policies.lookup import find_policy, outdated, stand_in
from gymnosoma.agents.policies.registry import full_id, task_class
from gymnosoma.agents.support.files import TABLES, check_saved, result, write_table
from gymnosoma.agents.support.progress import progress_bar
from gymnosoma.envs.core.arguments import shown, whole

from .arguments import Arguments, Events, Id, Options, Outputs, Params, read_arguments, read_options
from .tables import show_table


def evaluate(
    env_id: Id,
    /,
    policy: tuple[str, ...] = ("baseline",),
    episodes: int = 64,
    seed: int = 0,
    physiology: bool = False,
    scheme: str | None = None,
    option: Options = (),
    event: Events = (),
    env: Arguments = (),
    param: Params = (),
    save: Annotated[Outputs, tyro.conf.arg(aliases=("--json-file",))] = (),
) -> None:
    """Score policies on the same episodes.

    Args:
        policy: Policies: a reference controller (see `list`), trained, random, zero, "replay of NAME", a run folder, or
            module:function for a function of your own that maps observations (B, d) to actions (B, n). If the task has
            no references, baseline means random.
        episodes: Number of episodes per policy.
        seed: Seed of the first episode; episode i uses seed + i.
        physiology: Measure effects on the body (such as frequency, power and saturation) instead of scores, and compare
            them with the animal's own controller. Values beyond a limit of the task are marked with ! and explained.
        scheme: Time-stepping scheme. By default, the task's.
        save: Output files for the results (.json, .csv, .parquet).
    """
    env_id = full_id(env_id)
    arguments = read_arguments(env, param) | ({} if scheme is None else {"scheme": scheme})
    policy = tuple(stand_in(env_id, name) for name in policy)
    with ExitStack() as stack:
        files = [stack.enter_context(result("save", path)) for path in check_saved("save", save, TABLES)]
        options = read_options(option, event)
        if physiology:
            rows = _measure_body(env_id, policy, episodes, seed, options, **arguments)
        else:
            rows = measure(env_id, policy, episodes, seed, options, **arguments)
            show(rows)
        for file in files:
            write_table(file, rows)


def measure(
    env_id: str, names: Sequence[str], episodes: int, seed: int, options: Mapping[str, float] | None = None, **env: Any
) -> list[dict[str, Any]]:
    """Evaluate policies on the same episodes with a progress bar; return one summary per policy."""
    policies = _find(env_id, names, episodes, seed, options, **env)
    rows: list[dict[str, Any]] = []
    with progress_bar(total=len(policies) * episodes, unit="episode", leave=False) as bar:

        def watch(ended: int) -> None:
            bar.update(len(rows) * episodes + ended - bar.n)

        for policy in policies:
            request = {"seed": seed, "options": dict(options or {}), "env": {**policy.env, **env}}
            keep = {task_class(env_id).score.name}  # the only quantity in a summary
            results = evaluation.evaluate(env_id, policy, episodes, seed, watch, options, keep, **env)
            rows.append(evaluation.summary(env_id, policy, results) | request)
    return rows


def _find(
    env_id: str, names: Sequence[str], episodes: int, seed: int, options: Mapping[str, float] | None, **env: Any
) -> list[Policy]:
    """Find policies by name and check that each can play."""
    for name, value, low in (("episodes", episodes, 1), ("seed", seed, 0)):
        whole(name, value, low, 2**62)
    if not names:
        raise ValueError("policy must contain at least one name, such as baseline or random")
    policies = [find_policy(env_id, name) for name in names]
    for policy in policies:
        evaluation.check_play(env_id, policy, episodes, options, **env)
        if warning := outdated(env_id, policy):
            logging.getLogger("gymnosoma").warning(warning)
    return policies


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print the summaries of one environment as a table."""
    unit = f" [{rows[0]['unit']}]" if rows[0]["unit"] != "1" else ""
    seeds = f"seeds {rows[0]['seed']} to {rows[0]['seed'] + rows[0]['episodes'] - 1}"
    lines = [
        (
            row["policy"],
            f"{row['score_mean']:z.4f} ± {row['score_sd']:.4f}",
            f"{row['return_mean']:z.2f} ± {row['return_sd']:.2f}",
            f"{row['length_mean']:.0f}",
            str(sum(row["failures"].values()) or "none"),
        )
        for row in rows
    ]
    columns = ("policy", f"{rows[0]['score'].replace('is_', '')}{unit}", "return", "steps", "failed")
    title = f"{rows[0]['id']}, {rows[0]['episodes']} episodes, {seeds}"
    show_table(columns, lines, title, "± standard deviation over episodes")
    for row in rows:
        if row["failures"]:
            print(f"{row['policy']} failed: {'; '.join(f'{n}: {reason}' for reason, n in row['failures'].items())}")
        if row["env"]:
            values = {name: shown(value).strip("'") for name, value in row["env"].items()}
            print(f"{row['policy']}: {', '.join(f'{name}={value}' for name, value in values.items())}")


def _measure_body(
    env_id: str, names: Sequence[str], episodes: int, seed: int, options: Mapping[str, float] | None, **env: Any
) -> list[dict[str, Any]]:
    """Measure and print the effects of policies on the body; return one row per measure and policy."""
    from gymnosoma.agents.policies.physiology import physiology

    policies = _find(env_id, names, episodes, seed, options, **env)
    measures = physiology(env_id, policies, episodes, seed, options, **env)
    _show_body(env_id, measures)
    return [
        {"measure": name, "policy": policy, "value": value}
        | {key: entry[key] for key in ("unit", "meaning", "known", "limit", "why") if key in entry}
        for name, entry in measures.items()
        for policy, value in entry["policies"].items()
    ]


def _show_body(env_id: str, measures: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the measures of one environment as a table."""
    lines, remarks = [], []
    for name, entry in measures.items():
        limit, cells = _three(entry["limit"]) if "limit" in entry else "", []
        for player, value in entry["policies"].items():
            beyond = player in entry.get("beyond", ())
            cells.append(_three(value) + " !" * beyond)
            if beyond:
                remarks.append(f"! {name}: {player} has {_three(value)}, limit {limit}: {entry['why']}")
        unit = "" if entry["unit"] == "1" else f", {entry['unit']}"
        lines.append((name + unit, *cells, limit, entry["known"]))
    players = next(iter(measures.values()))["policies"]
    show_table(("measure", *players, "limit", "known values"), lines, env_id.split("/")[1])
    print(*remarks, sep="\n", end="\n" if remarks else "")


def _three(value: float) -> str:
    """Format a value with three digits, or as a dash if it is not finite."""
    return f"{value:.3g}" if math.isfinite(value) else "-"
