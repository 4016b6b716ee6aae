"""Command line for speed measurements in a clone: ``python -m tools.speed``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args

import tyro
from tqdm import tqdm

from gymnosoma.agents.policies.fingerprints import env_fingerprint

from .environments import IDS, environments
from .first import first
from .kernels import kernels
from .measure import Row, machine
from .simulate import overheads
from .threads import threads

ROOT = Path(__file__).resolve().parents[2]
MEASURED, GUIDE, README = ROOT / "docs" / "speed.json", ROOT / "docs" / "guides" / "speed.md", ROOT / "README.md"

PARTS: dict[str, tuple[str, Callable[[Sequence[str], int], list[Row]]]] = {
    "kernels": ("Kernels", kernels),
    "simulate": ("`simulate` over the kernel", overheads),
    "environments": ("Environments", environments),
    "first": ("First use", first),
    "threads": ("Threads, and memory of a row", threads),
}
"""Title and function of each part."""

Animal = Literal["worm", "lamprey", "whisker_chain", "whisker_rod", "neuromechanic"]
Part = Literal["kernels", "simulate", "environments", "first", "threads"]

SUMMARY = {
    "one worm | ElegansBot, the authors' program": r"worm in (agar|water): alone",
    "64 worms | ElegansBot, one worm": r"worm in (agar|water): .*lanes",
    "one whisker rod | SciPy's Radau": r"whisker rod on a plate: alone",
    "skeleton of the hindlimb | MuJoCo's `rollout`": r"the hindlimb's skeleton: alone",
    "standing figure on two feet | MuJoCo's `rollout`": r"the standing figure: alone",
    "`WormSwim-v0`, 64 environments | Gymnasium's `Swimmer-v5`, 64 environments": r"WormSwim-v0, 64 side by side",
}
"""First two cells of each row in README, and the measured rows with the ratios of the third cell."""


def speed(
    part: tuple[Part, ...] = ("kernels", "simulate", "environments"),
    animal: tuple[Animal, ...] = get_args(Animal),
    repeats: int = 5,
    write: bool = False,
) -> None:
    """Measure the speed on one core, and compare it with installed programs (ElegansBot, SciPy, MuJoCo).

    Args:
        part: Measurements: kernels against other programs, `simulate` against the kernel, environments against
            Swimmer-v5, CPU time of the first use, several threads with a model of larger machines.
        animal: Animals to measure.
        repeats: Number of runs; the median is shown.
        write: Also write docs/speed.json, and the tables of the guide and README; needs all parts but threads.

    Raises:
        ValueError: If a part is missing that would be lost in what is written.
    """
    if write and (missing := {*PARTS} - {*part} - {"threads"}):
        raise ValueError(f"part must also have {', '.join(sorted(missing))} with write, got {', '.join(part)}")
    figures: dict[str, list[dict[str, Any]]] = {}
    for title, function in tqdm([PARTS[name] for name in part], leave=False):
        rows = function(animal, repeats)
        figures[title] = [asdict(row) for row in rows]
    labels = [row["what"].partition(",")[0] for rows in figures.values() for row in rows]
    ids = {name: env_fingerprint(f"gymnosoma/{name}", {}) for names in IDS.values() for name in names if name in labels}
    measured = {"machine": machine(), "ids": ids, "figures": figures}
    print(tables(measured))
    if write:
        MEASURED.write_text(json.dumps(measured, indent=2) + "\n", "utf-8")
        for page, text in ((GUIDE, tables(measured)), (README, ratios(measured))):
            old = page.read_text("utf-8")
            before, after = old.partition("<!-- speed -->\n")[0], old.partition("<!-- /speed -->")[2]
            page.write_text(f"{before}<!-- speed -->\n{text}<!-- /speed -->{after}", "utf-8")


def _digits(value: float | None) -> str:
    """Format a number with three significant digits, or as a whole number from 1000 on."""
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def tables(measured: Mapping[str, Any]) -> str:
    """Return the tables of the guide, in Markdown."""
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
    """Return the table of README, in Markdown."""
    lines = [f"Speed on one core ({measured['machine']['cpu']}):", ""]
    lines += ["| simulation | compared with | times faster |", "|---|---|---:|"]
    for words, pattern in SUMMARY.items():
        rows = [row for part in measured["figures"].values() for row in part if re.fullmatch(pattern, row["what"])]
        values = sorted(row["ratio"] for row in rows if row["ratio"] is not None)
        if values:
            lines.append(f"| {words} | {' to '.join(dict.fromkeys(map(_digits, (values[0], values[-1]))))} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    tyro.cli(speed)
