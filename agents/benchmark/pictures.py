"""Pictures of a benchmark: normalised scores, performance profiles, learning curves."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..learning.search import CONSTANT
from .benchmark import Curves, Found, normalised, scores_of
from .statistics import profile

COLOURS = {"random": "0.65", "baseline": "tab:blue", CONSTANT: "tab:green", "trained": "tab:orange"}
OTHERS = ("tab:cyan", "tab:purple", "tab:olive", "tab:brown", "tab:pink", "tab:red")


def _grid(count: int, width: float, height: float) -> tuple[Any, list[Any]]:
    """A figure of ``count`` panels."""
    from matplotlib.figure import Figure

    columns = min(count, 4)
    lines = -(-count // columns)
    figure = Figure(figsize=(width * columns, height * lines), layout="constrained")
    axes = list(np.atleast_1d(figure.subplots(lines, columns, squeeze=False)).ravel())
    for plot in axes[count:]:
        plot.remove()
    return figure, axes[:count]


def draw_scores(results: Mapping[str, Any], path: Path) -> None:
    """Draw each policy's mean and interval, in the unit of the score; a line where 1 is."""
    figure, axes = _grid(len(results["results"]), 3.2, 2.4)
    for plot, (env_id, result) in zip(axes, results["results"].items(), strict=True):
        others = itertools.cycle(OTHERS)
        for k, (name, entry) in enumerate(reversed(result["policies"].items())):
            colour = COLOURS.get(name) or next(others)
            low, high = entry["interval"]
            plot.plot([low, high], [k, k], color=colour, linewidth=5, alpha=0.4, solid_capstyle="butt")
            plot.plot(entry["mean"], k, "o", color=colour, markersize=5)
        plot.set_yticks(range(len(result["policies"])), reversed(list(result["policies"])), fontsize=8)
        if "best" in result:
            plot.axvline(result["best"], color="0.3", linewidth=0.8, linestyle=":")
        plot.set_title(env_id.split("/")[1], fontsize=10)
        plot.set_xlabel(_score(result), fontsize=8)
        plot.tick_params(axis="x", labelsize=8)
        plot.margins(y=0.15)
        plot.spines[["top", "right"]].set_visible(False)
        plot.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=100)


def _score(result: Mapping[str, Any]) -> str:
    """Name of an id's score, with its unit."""
    unit = "" if result["unit"] == "1" else f" [{result['unit']}]"
    return result["score"].replace("is_", "").replace("_", " ") + unit


def draw_profiles(found: Found, policies: Sequence[str], path: Path) -> bool:
    """Draw performance profiles over ids; nothing where no id is normalised."""
    from matplotlib.figure import Figure

    levels = np.linspace(-0.2, 1.1, 131)
    figure = Figure(figsize=(6, 3.8), layout="constrained")
    plot = figure.subplots()
    others = itertools.cycle(OTHERS)
    drawn = False
    for name in policies:
        every = {env_id: normalised(env_id, scores_of(own[name])) for env_id, own in found.items() if own.get(name)}
        by_id = {env_id: scores for env_id, scores in every.items() if scores is not None}
        if not by_id:
            continue
        colour = COLOURS.get(name) or next(others)
        plot.plot(levels, profile(by_id, levels), color=colour, label=f"{name}, {len(by_id)} ids")
        drawn = True
    if drawn:
        plot.set(xlabel="normalised score", ylabel="share of trainings above it", ylim=(0, 1.02))
        plot.legend(frameon=False, fontsize=8)
        plot.grid(alpha=0.3)
        figure.savefig(path, dpi=100)
    return drawn


def draw_curves(curves: Curves, results: Mapping[str, Any], path: Path) -> None:
    """Draw learning curves of at least one id against steps and CPU seconds, each training a line."""
    figure, axes = _grid(2 * len(curves), 3.2, 2.4)
    for k, (env_id, lines) in enumerate(curves.items()):
        for plot, column, factor, label in (
            (axes[2 * k], "steps", 1e-6, "steps [million]"),
            (axes[2 * k + 1], "seconds", 1.0, "CPU seconds"),
        ):
            for line in lines:
                plot.plot(factor * np.array(line[column]), line["score"], color=COLOURS["trained"], linewidth=1)
            for name in ("baseline", CONSTANT):
                entry = results[env_id]["policies"].get(name)
                if entry is not None:
                    plot.axhline(entry["mean"], color=COLOURS[name], linewidth=0.8, linestyle="--")
            plot.set_title(env_id.split("/")[1], fontsize=10)
            plot.set_xlabel(label, fontsize=8)
            plot.set_ylabel(_score(results[env_id]), fontsize=8)
            plot.tick_params(labelsize=8)
            plot.spines[["top", "right"]].set_visible(False)
            plot.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


NEAREST = -1.0
"""Score on the scale below which a point of `draw_leaderboard` stands at the edge; in means nothing counts as less."""


def draw_leaderboard(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw what learners reach on each id, by the animal at 0 and the oracle or bound at 1, of `results.rows_of`.

    The rows are those of the track fixed at the mark that most trainings reach; what does not learn is grey.
    """
    from matplotlib.figure import Figure

    still = [row for row in rows if not row["mark"] and row["learner"] not in ("baseline", "zero")]
    marks = [row["mark"] for row in rows if row["mark"] and row["track"] == "fixed"]
    mark = max(marks, key=lambda each: (marks.count(each), each), default=0)
    learners = [row for row in rows if row["mark"] == mark and row["mark"] and row["track"] == "fixed"]
    best = {
        env_id: max(row["ids"][env_id]["mean"] for row in learners if env_id in row["ids"])
        for env_id in {env_id for row in learners for env_id in row["ids"]}
    }
    ids = sorted(best, key=lambda env_id: best[env_id])
    figure = Figure(figsize=(8, 1.2 + 0.34 * len(ids) + 0.2 * len(learners)), layout="constrained")
    plot = figure.subplots()
    for x, name in ((0.0, "animal, or none"), (1.0, "oracle or bound")):
        plot.axvline(x, color="0.2", linewidth=1)
        plot.text(x, 1.01, name, transform=plot.get_xaxis_transform(), ha="center", fontsize=9)
    for k, env_id in enumerate(ids):
        for row in still:
            if env_id in row["ids"]:
                plot.plot(max(row["ids"][env_id]["mean"], NEAREST), k, "|", color="0.6", markersize=9)
        for n, row in enumerate(learners):
            if env_id not in row["ids"]:
                continue
            colour, y = f"C{n}", k + 0.18 * (n - 0.5 * (len(learners) - 1))
            mean, ends = row["ids"][env_id]["mean"], np.maximum(row["ids"][env_id]["interval"], NEAREST)
            if len(row["ids"][env_id]["points"]) > 1:
                plot.plot(ends, [y, y], color=colour, linewidth=3, alpha=0.4)
            plot.plot(max(mean, NEAREST), y, "o" if mean >= NEAREST else "<", color=colour, markersize=6)
            if mean < NEAREST:
                plot.text(NEAREST + 0.03 + 0.1 * n, y, f"{mean:.2f}", color=colour, fontsize=7, va="center")
    for n, row in enumerate(learners):
        counts = sorted({len(scores) for scores in row["scores"].values()})
        each = f", trainings of each id: {' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))}"
        total = f", mean {row['mean']:.2f} ({row['standing']})" if "mean" in row else each
        failed = f", {row['failed']} failed" if row["failed"] else ""
        plot.plot([], [], "o", color=f"C{n}", label=f"{row['learner']}{total}{failed}")
    if still:
        names = ", ".join(dict.fromkeys(row["learner"] for row in still))
        plot.plot([], [], "|", color="0.6", markersize=9, label=f"{names}; at the edge where below {NEAREST:g}")
    plot.set_yticks(range(len(ids)), [env_id.split("/")[1] for env_id in ids])
    plot.set_ylim(-0.6, len(ids) - 0.4)
    plot.set_xlim(NEAREST - 0.05, 1.1)
    plot.set_xlabel(f"score on the scale of each id after {mark:,} steps; bars are 95% intervals over trainings")
    plot.grid(axis="y", alpha=0.2)
    plot.spines[["top", "right", "left"]].set_visible(False)
    if learners:
        figure.legend(frameon=False, fontsize=9, loc="outside lower center")
    figure.savefig(path, dpi=110)
