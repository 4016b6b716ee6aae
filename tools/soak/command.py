"""Command ``soak``."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from gymnosoma.agents.policies.registry import all_ids, full_id
from gymnosoma.agents.support.files import result

if TYPE_CHECKING:
    from .hostile import Tally


def soak(
    ids: Annotated[tuple[str, ...], tyro.conf.Positional] = (),
    /,
    minutes: float | None = None,
    steps: int = 1_000_000,
    other_steps: int = 10_000,
    seed: int = 0,
    json_file: Annotated[Path | None, tyro.conf.arg(aliases=("--save",))] = None,
) -> None:
    """Ask the worst of environments: they must stay finite, within their spaces, and repeat themselves.

    Actions are random, bang-bang, held, alternating; options and the bounds of `randomize` lie at the ends of their
    ranges and within; with all action modes and solvers, many animals side by side and one alone, with snapshots
    restored in between. What goes wrong is shown with the `--seed` that does it again at once, and the exit
    code is 1. Ctrl-C and SIGTERM end it early, and keep what is known.

    Args:
        ids: Environments; all by default.
        minutes: Longest that it takes.
        steps: Steps of each environment as it is by default.
        other_steps: Steps with each other action mode and solver.
        seed: Of the first round of each.
        json_file: Also write the figures there.
    """
    from gymnosoma.agents.support.progress import progress_bar

    from . import hostile

    if minutes is not None and not minutes > 0:
        raise ValueError(f"minutes must be greater than 0, got {minutes!r}")
    for name, value in (("steps", steps), ("other_steps", other_steps)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed!r}")
    names = [full_id(name) for name in ids] or all_ids()
    interruption = None
    with nullcontext() if json_file is None else result("json_file", json_file) as file:
        cases = [hostile.cases(name, steps, other_steps) for name in names]
        # All ids as they are by default, then each with another setting: however short it is, it sees many ids.
        tallies = [tally for turn in itertools.zip_longest(*cases) for tally in turn if tally is not None]
        total = sum(tally.goal for tally in tallies)
        with progress_bar(total=total, unit="step", unit_scale=True, leave=False) as bar:

            def watch(tally: Tally, made: int) -> None:
                bar.set_postfix_str(f"{tally.name}, seed {seed + tally.rounds}", refresh=sys.stderr.isatty())
                bar.update(made)

            try:
                hostile.soak(tallies, 60.0 * (minutes or float("inf")), seed, watch)
            except KeyboardInterrupt as caught:
                interruption = caught
        show(tallies)
        if file is not None:
            file.write_text(json.dumps([tally.figures() for tally in tallies], indent=1) + "\n", "utf-8")
    if interruption is not None:
        raise interruption
    if any(tally.violations for tally in tallies):
        sys.exit(1)


def show(tallies: Sequence[Tally]) -> None:
    """Print what became of all, and what went wrong."""
    from rich.console import Console
    from rich.table import Table

    begun = sum(tally.rounds > 0 for tally in tallies)
    met = sum(tally.steps >= tally.goal for tally in tallies)
    ids = len({tally.env_id for tally in tallies if tally.rounds}), len({tally.env_id for tally in tallies})
    table = Table(
        title=f"{sum(tally.steps for tally in tallies):,} steps of {ids[0]} of {ids[1]} ids, in {begun} of "
        f"{len(tallies)} settings, {met} of which made all of their steps"
    )
    for column in ("id, actions, solver", "steps", "episodes", "failed", "refused", "slowest step", "memory", "wrong"):
        table.add_column(column, justify="left" if column in ("id, actions, solver", "failed") else "right")
    for tally in tallies:
        failed = "\n".join(f"{count}: {reason}" for reason, count in tally.failures.most_common()) or "none"
        if not tally.rounds:
            table.add_row(tally.name.replace(" ", "\n", 1), "not reached")
            continue
        table.add_row(
            tally.name.replace(" ", "\n", 1),
            f"{tally.steps:,}",
            f"{tally.episodes:,}",
            failed,
            f"{tally.refused:,}",
            "" if tally.slowest is None else f"{1e3 * tally.slowest:.2f} ms",
            "" if tally.memory is None else f"{tally.memory:+.1f} MiB",
            str(len(tally.violations)),
        )
    console = Console(width=130)
    console.print(table)
    for tally in tallies:
        for violation in tally.violations:
            console.print(violation, style="red", markup=False, highlight=False, soft_wrap=True)
