"""Command ``physiology``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Annotated, Any

import tyro

from gymnosoma.agents.policies.lookup import find_policy, shipped
from gymnosoma.agents.policies.registry import full_id
from gymnosoma.agents.support.files import TABLES, check_saved, result, write_table

from .arguments import Arguments, Events, Id, Options, Params, Saved, Trust, read_arguments, read_options


def physiology(
    env_id: Id,
    /,
    policy: tuple[str, ...] = (),
    episodes: int = 16,
    seed: int = 0,
    option: Options = (),
    event: Events = (),
    env: Arguments = (),
    param: Params = (),
    save: Annotated[Saved, tyro.conf.arg(aliases=("--json-file",))] = (),
    trust: Trust = False,
) -> None:
    """Measure what policies do to the body, beside the animal's own controller: frequency, power, saturation.

    What passes a limit of the task is marked, and the argument for that limit stands below the table. Where a limit is
    a multiple of what the animal's own controller needs, it depends on the episodes. A "-" is what was not measured.

    Args:
        policy: As for `evaluate`; the trained one by default, where there is one. The baseline is always shown.
        episodes: Episodes of each, means of which are shown.
        seed: Of the first episode.
        save: Also write the figures there: .json, or as a table with a row for each policy's, .csv or .parquet.
    """
    from gymnosoma.agents.policies import physiology as measured

    env_id = full_id(env_id)
    if episodes < 1:
        raise ValueError(f"episodes must be at least 1, got {episodes!r}")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed!r}")
    names = policy or (("trained",) if shipped(env_id).is_dir() else ())
    found = [find_policy(env_id, name, trust=trust) for name in names]
    with ExitStack() as stack:
        files = [stack.enter_context(result("save", path)) for path in check_saved("save", save, TABLES)]
        made, options = read_arguments(env, param), read_options(option, event)
        table = measured.physiology(env_id, found, episodes, seed, options, **made)
        show(env_id, table)
        for file in files:
            if file.suffix == ".json":
                file.write_text(json.dumps(table, indent=2) + "\n", "utf-8")
            else:
                write_table(
                    file,
                    [
                        {"measure": name, "unit": entry["unit"], "policy": player, "value": value}
                        for name, entry in table.items()
                        for player, value in entry["policies"].items()
                    ],
                )


def show(env_id: str, measures: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the measures of an id as a table."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    players = list(next(iter(measures.values()))["policies"])
    table = Table(title=env_id.split("/")[1])
    for column in ("measure", *players, "limit", "known of the animal"):
        table.add_column(escape(column), justify="right" if column in (*players, "limit") else "left")
    for name, entry in measures.items():
        beyond = entry.get("beyond", ())
        cells = [
            f"[red]{_three(value)}[/]" if player in beyond else _three(value)
            for player, value in entry["policies"].items()
        ]
        unit = "" if entry["unit"] == "1" else f", {entry['unit']}"
        limit = _three(entry["limit"]) if "limit" in entry else ""
        table.add_row(escape(name + unit), *cells, limit, escape(entry["known"]))
    console = Console()
    console.print(table)
    for name, entry in measures.items():
        for player in entry.get("beyond", ()):
            text = f"{name}: {player} has {_three(entry['policies'][player])}, beyond {_three(entry['limit'])}"
            console.print(f"{text}: {entry['why']}", style="red", markup=False, highlight=False)


def _three(value: float) -> str:
    """Three digits; nothing where nothing was measured."""
    return f"{value:.3g}" if math.isfinite(value) else "-"
