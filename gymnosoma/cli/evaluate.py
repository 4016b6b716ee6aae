"""Command ``evaluate``."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Annotated, Any

import tyro

from gymnosoma.agents.policies import evaluation
from gymnosoma.agents.policies.lookup import find_policy, outdated
from gymnosoma.agents.policies.registry import full_id, references_of, task_of
from gymnosoma.agents.support.files import TABLES, check_saved, result, write_table
from gymnosoma.agents.support.progress import progress_bar
from gymnosoma.agents.support.workers import Unfinished, watched, workers
from gymnosoma.envs.core.arguments import shown

from .arguments import (
    Arguments,
    Events,
    Id,
    Options,
    Params,
    Processes,
    Ray,
    Saved,
    Trust,
    read_arguments,
    read_options,
)


def evaluate(
    env_id: Id,
    /,
    policy: tuple[str, ...] = ("baseline",),
    episodes: int = 64,
    seed: int = 0,
    scheme: str | None = None,
    option: Options = (),
    event: Events = (),
    env: Arguments = (),
    param: Params = (),
    save: Annotated[Saved, tyro.conf.arg(aliases=("--json-file",))] = (),
    trust: Trust = False,
    processes: Processes = 1,
    ray: Ray = None,
) -> None:
    """Measure policies on the same episodes.

    Args:
        policy: Any of: baseline (random where a task has none) or another reference of `list`, trained, random, zero,
            "replay of" and one of these, run folders, SB3 zips (--trust), module:function for a function of your own,
            observations (B, d) to actions (B, n).
        episodes: Episodes of each.
        seed: Of the first episode; episode i has seed + i.
        scheme: Time-stepping scheme, instead of the default.
        save: Also write the figures there, .json, .csv or .parquet.
    """
    env_id = full_id(env_id)
    made = read_arguments(env, param) | ({} if scheme is None else {"scheme": scheme})
    if not references_of(env_id):
        policy = tuple("random" if name == "baseline" else name for name in policy)
    with ExitStack() as stack:
        files = [stack.enter_context(result("save", path)) for path in check_saved("save", save, TABLES)]
        options = read_options(option, event)
        if processes == 1 and ray is None:  # with a bar for each policy's episodes
            rows = measure(env_id, policy, episodes, seed, options, trust, **made)
        else:
            _check(policy, episodes, seed)
            pieces = {name: (env_id, (name,), episodes, seed, options, trust, made) for name in policy}
            with workers(processes, ray) as engine:
                outcomes = watched(engine.work(_measured, pieces), len(pieces), "policy", leave=False)
                done = {outcome.name: outcome for outcome in outcomes}
            for name, _, error in done.values():
                if error is not None:
                    raise Unfinished(f"policy {name!r} could not be measured: {error}")
            rows = [row for name in policy for row in done[name].value]
        show(rows)
        for file in files:
            write_table(file, rows)


def measure(
    env_id: str,
    names: Sequence[str],
    episodes: int,
    seed: int,
    options: Mapping[str, float] | None = None,
    trust: bool = False,
    **env: Any,
) -> list[dict[str, Any]]:
    """Summaries of policies that play the same episodes, with a progress bar."""
    _check(names, episodes, seed)
    found = [find_policy(env_id, name, trust=trust) for name in names]
    for policy in found:
        evaluation.check_play(env_id, policy, episodes, options, **env)
        if warning := outdated(env_id, policy):
            logging.getLogger("gymnosoma").warning(warning)
    rows: list[dict[str, Any]] = []
    with progress_bar(total=len(found) * episodes, unit="episode", leave=False) as bar:

        def watch(ended: int) -> None:
            bar.update(len(rows) * episodes + ended - bar.n)

        for policy in found:
            asked = {"seed": seed, "options": dict(options or {}), "env": {**policy.env, **env}}
            keep = {task_of(env_id, **policy.env).score.name}  # all that a summary shows
            played = evaluation.evaluate(env_id, policy, episodes, seed, watch, options, keep, **env)
            rows.append(evaluation.summary(env_id, policy, played) | asked)
    return rows


def _check(names: Sequence[str], episodes: int, seed: int) -> None:
    if episodes < 1:
        raise ValueError(f"episodes must be at least 1, got {episodes!r}")
    if not names:
        raise ValueError("policy must name at least one, such as baseline or random")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed!r}")


def _measured(*given: Any) -> list[dict[str, Any]]:
    """`measure` as a piece of work."""
    *rest, env = given
    return measure(*rest, **env)


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print summaries of one id as a table."""
    from rich.console import Console
    from rich.table import Table

    unit = f" [{rows[0]['unit']}]" if rows[0]["unit"] != "1" else ""
    seeds = f"seeds {rows[0]['seed']} to {rows[0]['seed'] + rows[0]['episodes'] - 1}"
    table = Table(
        title=f"{rows[0]['id']}, {rows[0]['episodes']} episodes, {seeds}", caption="± standard deviation over episodes"
    )
    for column in ("policy", f"{rows[0]['score'].replace('is_', '')}{unit}", "return", "steps", "failed"):
        left = column == "policy"
        table.add_column(column.replace("[", r"\["), justify="left" if left else "right", overflow="fold")
    for row in rows:
        table.add_row(
            row["policy"],
            f"{row['score_mean']:z.4f} ± {row['score_sd']:.4f}",
            f"{row['return_mean']:z.2f} ± {row['return_sd']:.2f}",
            f"{row['length_mean']:.0f}",
            str(sum(row["failures"].values()) or "none"),
        )
    Console().print(table)
    for row in rows:
        if row["failures"]:
            print(f"{row['policy']} failed: {'; '.join(f'{n}: {reason}' for reason, n in row['failures'].items())}")
        if row["env"]:
            values = {name: value if isinstance(value, str) else shown(value) for name, value in row["env"].items()}
            print(f"{row['policy']}: {', '.join(f'{name}={value}' for name, value in values.items())}")
