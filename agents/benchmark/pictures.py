"""Plot of the scores of learners on each environment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .tables import LEAST, Row

COLOURS = {
    "recipe": "C0",
    "cma": "C1",
    "ppo_64_envs": "C2",
    "sac_64_envs": "C3",
    "ppo_default": "C4",
    "sac_default": "C5",
}
"""Colours of our learners in all figures. Others have colours by their order, and policies that do not learn are grey.
"""


def draw(rows: Sequence[Row], path: Path) -> None:
    """Plot the scores of all entrants on the scale of each environment (0: animal, 1: oracle or bound).

    Learners are coloured and shown at the mark with the most results. Fixed policies are grey.
    """
    from matplotlib.figure import Figure

    marks = [row.mark for row in rows if row.mark]
    mark = max(marks, key=lambda each: (marks.count(each), each), default=0)
    learners = [row for row in rows if row.learns and row.mark in (0, mark)]
    others = [row for row in rows if not row.learns and row.entrant not in ("baseline", "zero")]
    scaled = {env_id for row in rows for env_id, cell in row.cells.items() if cell.scaled is not None}
    colours = [COLOURS.get(row.entrant, f"C{6 + n % 4}") for n, row in enumerate(learners)]
    best = {
        env_id: max((row.cells[env_id].scaled.mean for row in learners if env_id in row.cells), default=0.0)  # type: ignore[union-attr]
        for env_id in scaled
    }
    ids = sorted(best, key=lambda env_id: (best[env_id], env_id))
    figure = Figure(figsize=(8, 1.6 + 0.34 * len(ids) + 0.2 * len(learners)), layout="constrained")
    plot = figure.subplots()
    for x, name in ((0.0, "animal"), (1.0, "oracle or bound")):
        plot.axvline(x, color="0.2", linewidth=1)
        plot.text(x, 1.01, name, transform=plot.get_xaxis_transform(), ha="center", fontsize=9)
    for k, env_id in enumerate(ids):
        for row in others:
            if env_id in row.cells:
                plot.plot(max(row.cells[env_id].scaled.mean, LEAST), k, "|", color="0.6", markersize=9)  # type: ignore[union-attr]
        for n, (row, colour) in enumerate(zip(learners, colours, strict=True)):
            if (cell := row.cells.get(env_id)) is None or cell.scaled is None:
                continue
            y = k + 0.18 * (n - 0.5 * (len(learners) - 1))
            if cell.points:
                ends = [max(end, LEAST) for end in cell.scaled.interval]
                plot.plot(ends, [y, y], color=colour, linewidth=3, alpha=0.4)
            marker = "o" if cell.scaled.mean >= LEAST else "<"
            plot.plot(max(cell.scaled.mean, LEAST), y, marker, color=colour, markersize=6)
    for row, colour in zip(learners, colours, strict=True):
        plot.plot([], [], "o", color=colour, label=row.entrant.replace("$", r"\$"))
    if others:
        plot.plot([], [], "|", color="0.6", markersize=9, label="policies that do not learn")
    plot.set_yticks(range(len(ids)), [env_id.split("/")[1] for env_id in ids])
    plot.set_ylim(-0.6, len(ids) - 0.4)
    plot.set_xlim(LEAST - 0.05, max(1.1, plot.get_xlim()[1]))
    plot.set_xlabel(f"score on the scale of each id, after {mark:,} steps; at the edge: below {LEAST:g}")
    plot.grid(axis="y", alpha=0.2)
    plot.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(frameon=False, fontsize=9, loc="outside lower center")
    figure.savefig(path, dpi=110)
