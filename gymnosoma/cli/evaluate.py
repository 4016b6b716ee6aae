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
from gymnosoma.agents.policies.evaluation import Summary
from gymnosoma.agents.policies.lookup import find_policy, outdated, stand_in
from gymnosoma.agents.policies.physiology import Effect, physiology
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
            summaries = measure(env_id, policy, episodes, seed, options, **arguments)
            show(summaries)
            rows = [vars(each) for each in summaries]
        for file in files:
            write_table(file, rows)


def measure(
    env_id: str, names: Sequence[str], episodes: int, seed: int, options: Mapping[str, float] | None = None, **env: Any
) -> list[Summary]:
    """Evaluate policies on the same episodes with a progress bar; return one summary per policy."""
    policies = _find(env_id, names, episodes, seed, options, **env)
    rows: list[Summary] = []
    with progress_bar(total=len(policies) * episodes, unit="episode", leave=False) as bar:

        def watch(ended: int) -> None:
            bar.update(len(rows) * episodes + ended - bar.n)

        for policy in policies:
            keep = {task_class(env_id).score.name}  # the only quantity in a summary
            results = evaluation.evaluate(env_id, policy, episodes, seed, watch, options, keep, **env)
            rows.append(evaluation.summary(env_id, policy, results, seed, options, **env))
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


def show(rows: Sequence[Summary]) -> None:
    """Print the summaries of one environment as a table."""
    first = rows[0]
    unit = f" [{first.unit}]" if first.unit != "1" else ""
    lines = [
        (
            row.policy,
            f"{row.score_mean:z.4f} ± {row.score_sd:.4f}",
            f"{row.return_mean:z.2f} ± {row.return_sd:.2f}",
            f"{row.length_mean:.0f}",
            str(sum(row.failures.values()) or "none"),
        )
        for row in rows
    ]
    columns = ("policy", f"{first.score.replace('is_', '')}{unit}", "return", "steps", "failed")
    title = f"{first.id}, {first.episodes} episodes, seeds {first.seed} to {first.seed + first.episodes - 1}"
    show_table(columns, lines, title, "± standard deviation over episodes")
    for row in rows:
        if row.failures:
            print(f"{row.policy} failed: {'; '.join(f'{n}: {reason}' for reason, n in row.failures.items())}")
        if row.env:
            values = {name: shown(value).strip("'") for name, value in row.env.items()}
            print(f"{row.policy}: {', '.join(f'{name}={value}' for name, value in values.items())}")


def _measure_body(
    env_id: str, names: Sequence[str], episodes: int, seed: int, options: Mapping[str, float] | None, **env: Any
) -> list[dict[str, Any]]:
    """Measure and print the effects of policies on the body; return one row per measure and policy."""
    policies = _find(env_id, names, episodes, seed, options, **env)
    effects = physiology(env_id, policies, episodes, seed, options, **env)
    _show_body(env_id, effects)
    return [
        {"measure": name, "policy": policy, "value": value}
        | {"unit": effect.unit, "meaning": effect.meaning, "known": effect.known}
        | ({} if effect.limit is None else {"limit": effect.limit, "why": effect.why})
        for name, effect in effects.items()
        for policy, value in effect.policies.items()
    ]


def _show_body(env_id: str, effects: Mapping[str, Effect]) -> None:
    """Print the effects of policies on the body as a table."""
    lines, remarks = [], []
    for name, effect in effects.items():
        limit, cells = "" if effect.limit is None else _three(effect.limit), []
        for player, value in effect.policies.items():
            beyond = player in effect.beyond
            cells.append(_three(value) + " !" * beyond)
            if beyond:
                remarks.append(f"! {name}: {player} has {_three(value)}, limit {limit}: {effect.why}")
        unit = "" if effect.unit == "1" else f", {effect.unit}"
        lines.append((name + unit, *cells, limit, effect.known))
    players = next(iter(effects.values())).policies
    show_table(("measure", *players, "limit", "known values"), lines, env_id.split("/")[1])
    print(*remarks, sep="\n", end="\n" if remarks else "")


def _three(value: float) -> str:
    """Format a value with three digits, or as a dash if it is not finite."""
    return f"{value:.3g}" if math.isfinite(value) else "-"
