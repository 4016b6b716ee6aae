"""Pictures of a benchmark: normalised scores, performance profiles, learning curves."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .benchmark import Curves, Found, normalised, scores_of
from .search import CONSTANT
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
