"""Speed as documentation: tables of the guide and the ratios of the README, from measurements.

``python train.py speed --part simulations environments circuits threads sizes first --json-file docs/speed/NAME.json``
measures a machine; ``python docs/speed.py --write`` makes both texts of all files there, ratios as ranges over the
machines.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import marked

HERE = Path(__file__).parent
MEASURED, GUIDE, README = HERE / "speed", HERE / "guides" / "speed.md", HERE.parent / "README.md"

CHOSEN = {
    "the worm alone, its authors' ElegansBot": r"(agar|water): midpoint, .*alone",
    "64 worms in lanes": r"(agar|water): midpoint, .*lanes",
    "the whisker on sandpaper, scipy's Radau": r"on a plate .*midpoint, alone",
    "the hindlimb's skeleton, MuJoCo's `rollout`": r"skeleton, .*: ours.*",
    "the standing figure on two feet, `rollout`": r"standing on two feet: ours.*",
    "64 `WormSwim-v0` side by side, 64 `Swimmer-v5`": r"WormSwim-v0, 64 in lanes",
}
"""What the README tells: its words, and the rows whose ratios they sum up."""


def figure(value: float) -> str:
    """Number with three digits."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def span(values: Iterable[float]) -> str:
    """One number, or the range of several."""
    shown = list(dict.fromkeys(figure(value) for value in sorted(values)))
    return shown[0] if len(shown) == 1 else f"{shown[0]} to {shown[-1]}"


def machine(about: dict[str, Any]) -> str:
    """What was measured on, in words."""
    packages = ", ".join(f"{name} {about[name]}" for name in ("python", "numpy", "numba", "mujoco") if name in about)
    return f"{about['cpu']}, {about['cores']} cores ({packages})"


def tables(machines: Sequence[dict[str, Any]]) -> str:
    """What the guide shows, in Markdown; values of the first machine that has them, ratios of all."""
    lines = [f"Measured on {'; '.join(machine(each['machine']) for each in machines)}.", ""]
    figures = {title: rows for each in reversed(machines) for title, rows in each["figures"].items()}
    for title, rows in figures.items():
        lines += [f"## {title}", "", "| what | median | unit | ratio | |", "|---|---:|---|---:|---|"]
        for row in rows:
            same = [
                other["ratio"]
                for each in machines
                for other in each["figures"].get(title, [])
                if other["what"] == row["what"] and other["ratio"] is not None
            ]
            ratio = span(same) if same else ""
            lines.append(f"| {row['what']} | {figure(row['value'])} | {row['unit']} | {ratio} | {row['note']} |")
        lines.append("")
    return "\n".join(lines)


def ratios(machines: Sequence[dict[str, Any]]) -> str:
    """What the README tells."""
    parts = []
    for words, pattern in CHOSEN.items():
        found = [
            row["ratio"]
            for each in machines
            for rows in each["figures"].values()
            for row in rows
            if re.fullmatch(pattern, row["what"]) and row["ratio"] is not None
        ]
        if found:
            parts.append(f"{words}: {span(found)}")
    names = "; ".join(dict.fromkeys(f"{each['machine']['cpu']}" for each in machines))
    return f"How many times faster than its peer, on one core ({names}): {'; '.join(parts)}.\n"


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--write", action="store_true", help="bring guide and README up to date")
    given = asked.parse_args()
    known = [json.loads(file.read_text("utf-8")) for file in sorted(MEASURED.glob("*.json"))]
    for file, shown in ((GUIDE, tables(known)), (README, ratios(known))):
        print(shown)
        if given.write:
            file.write_text(marked.put(file.read_text("utf-8"), shown, "speed"), "utf-8")
