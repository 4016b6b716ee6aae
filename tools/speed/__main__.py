"""Measure speed in a checkout: ``python -m tools.speed``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args

import tyro
from tqdm import tqdm

from gymnosoma.agents.policies.fingerprints import of_id

from .environments import IDS, environments
from .first import first
from .kernels import kernels
from .measure import Row, machine
from .simulate import overheads

ROOT = Path(__file__).resolve().parents[2]
MEASURED, GUIDE, README = ROOT / "docs" / "speed.json", ROOT / "docs" / "guides" / "speed.md", ROOT / "README.md"

PARTS: dict[str, tuple[str, Callable[[Sequence[str], int], list[Row]]]] = {
    "kernels": ("Kernels", kernels),
    "simulate": ("`simulate` over the kernel", overheads),
    "environments": ("Environments", environments),
    "first": ("First use", first),
}
"""Title and function of each part."""

Animal = Literal["worm", "lamprey", "whisker_chain", "whisker_rod", "neuromechanic"]
Part = Literal["kernels", "simulate", "environments", "first"]

SUMMARY = {
    "the worm alone, its authors' ElegansBot": r"worm in (agar|water): alone",
    "64 worms in lanes": r"worm in (agar|water): .*lanes",
    "the whisker on sandpaper, scipy's Radau": r"whisker on a plate: alone",
    "the hindlimb's skeleton, MuJoCo's `rollout`": r"the hindlimb's skeleton: alone",
    "the standing figure on two feet, `rollout`": r"the standing figure: alone",
    "64 `WormSwim-v0` side by side, 64 `Swimmer-v5`": r"WormSwim-v0, 64 side by side",
}
"""README's words, and the rows whose ratios they give."""


def speed(
    part: tuple[Part, ...] = ("kernels", "simulate", "environments"),
    animal: tuple[Animal, ...] = get_args(Animal),
    repeats: int = 5,
    write: bool = False,
) -> None:
    """Measure the speed on one core, with installed peers (ElegansBot, scipy, MuJoCo).

    Args:
        part: What to measure: kernels against their peers, `simulate` against the kernel, environments against
            Swimmer-v5, CPU time of the first use.
        animal: Which animals.
        repeats: Number of runs of each, in turn; medians are shown.
        write: Also write docs/speed.json, and the tables of guide and README.
    """
    figures: dict[str, list[dict[str, Any]]] = {}
    for title, function in tqdm([PARTS[name] for name in part], leave=False):
        rows = function(animal, repeats)
        figures[title] = [asdict(row) for row in rows]
    labels = [row["what"].partition(",")[0] for rows in figures.values() for row in rows]
    ids = {name: of_id(f"gymnosoma/{name}", {}) for names in IDS.values() for name in names if name in labels}
    measured = {"machine": machine(), "ids": ids, "figures": figures}
    print(tables(measured))
    if write:
        MEASURED.write_text(json.dumps(measured, indent=2) + "\n", "utf-8")
        for page, text in ((GUIDE, tables(measured)), (README, ratios(measured))):
            old = page.read_text("utf-8")
            before, after = old.partition("<!-- speed -->\n")[0], old.partition("<!-- /speed -->")[2]
            page.write_text(f"{before}<!-- speed -->\n{text}<!-- /speed -->{after}", "utf-8")


def _digits(value: float | None) -> str:
    """Number with three digits."""
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def tables(measured: Mapping[str, Any]) -> str:
    """Text of the guide, in Markdown."""
    about = measured["machine"]
    packages = ", ".join(f"{name} {about[name]}" for name in ("python", "numpy", "numba", "mujoco") if name in about)
    lines = [f"Measured on {about['cpu']}, {about['cores']} cores ({packages}).", ""]
    for title, rows in measured["figures"].items():
        lines += [f"## {title}", "", "| what | median | unit | ratio | |", "|---|---:|---|---:|---|"]
        for row in rows:
            cells = row["what"], _digits(row["value"]), row["unit"], _digits(row["ratio"]), row["note"]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def ratios(measured: Mapping[str, Any]) -> str:
    """Text of the README."""
    parts = []
    for words, pattern in SUMMARY.items():
        rows = [row for part in measured["figures"].values() for row in part if re.fullmatch(pattern, row["what"])]
        values = sorted(row["ratio"] for row in rows if row["ratio"] is not None)
        if values:
            parts.append(f"{words}: {' to '.join(dict.fromkeys(map(_digits, (values[0], values[-1]))))}")
    return f"How many times faster than its peer, on one core ({measured['machine']['cpu']}): {'; '.join(parts)}.\n"


if __name__ == "__main__":
    tyro.cli(speed)
