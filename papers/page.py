"""Pages of the documentation that compare the papers' printed numbers with ours.

``docs/papers.csv`` has all numbers. ``docs/papers.md`` summarises them. Pages such as ``docs/papers/worm.md`` show the
figures and numbers of one paper, with pictures such as ``docs/papers/worm/figure_5.webp``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from PIL import Image

from gymnosoma.agents.support.files import result

from .paper import PAPERS, Comparison, Paper, load, write_csv

COLUMNS = ("animal", "figure", *(entry.name for entry in fields(Comparison)))
"""Columns of the CSV file of comparisons."""

Row = tuple[str, str, Comparison]
"""Animal, figure, comparison."""

WIDTH = 1200
"""Width of the pictures, pixels."""


def update(path: Path, animal: str, figure: str, comparisons: Sequence[Comparison]) -> None:
    """Replace the comparisons of one figure in the CSV file ``path``."""
    others = [row for row in read(path) if row[:2] != (animal, figure)] if path.exists() else []
    order = [(name, entry.name) for name in PAPERS for entry in load(name).figures]
    rows = [*others, *((animal, figure, comparison) for comparison in comparisons)]
    rows = sorted((row for row in rows if row[:2] in order), key=lambda row: order.index(row[:2]))
    write_csv(path, COLUMNS, [[*row[:2], *(getattr(row[2], name) for name in COLUMNS[2:])] for row in rows])


def read(path: Path) -> list[Row]:
    """Read a CSV file of comparisons."""
    with path.open(newline="", encoding="utf-8") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    numbers = ("low", "high", "ours")
    return [
        (row.pop("animal"), row.pop("figure"), Comparison(**row | {name: float(row[name]) for name in numbers}))
        for row in rows
    ]


def write(path: Path, animal: str, figure: str, picture: Path) -> None:
    """Update all pages, with the summary at ``path``, and convert the ``picture`` (PNG) of a figure for its page."""
    rows, folder = read(path.with_suffix(".csv")), path.with_suffix("") / animal
    folder.mkdir(parents=True, exist_ok=True)
    image = Image.open(picture).convert("RGB")
    image = image.resize((WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS)
    with result("page", folder / f"{figure}.webp") as file:
        image.save(file, quality=70, method=6)
    for name, text in pages(rows).items():
        (path if name == "papers" else folder.parent / f"{name}.md").write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Tally:
    """Number of comparisons of each kind, and how many of them agree."""

    printed: int
    agree: int
    slips: int
    open: int
    directions: int
    directions_agree: int
    fits: int
    contradicted: int

    @classmethod
    def of(cls, rows: Iterable[Comparison]) -> Tally:
        """Count the comparisons; several rows for one slip, fit or reading count once."""
        prints: dict[str, set[tuple[str, str]]] = {}
        rows = list(rows)
        for row in rows:
            prints.setdefault(row.kind, set()).add((row.where, row.paper))
        counted, directions = ([row.agrees for row in rows if row.kind == kind] for kind in ("printed", "direction"))
        slips, readings, *rest = (len(prints.get(kind, ())) for kind in ("slip", "reading", "fit", "contradicted"))
        return cls(len(counted), sum(counted), slips, readings, len(directions), sum(directions), *rest)

    @property
    def headline(self) -> str:
        """First line of a page, with the numbers that count."""
        return (
            f"**{self.agree} of {self.printed} printed numbers agree.** Misprints: {self.slips}. "
            f"Ambiguous numbers: {self.open}."
        )

    @property
    def not_counted(self) -> str:
        """Second line of a page, with the comparisons that do not count."""
        trends = f"{self.directions_agree} of {self.directions} trends agree"
        return f"Not counted: {trends}. Fitted numbers: {self.fits}. Contradicted statements: {self.contradicted}."


MARKS = {"printed": "", "direction": "trend, ", "reading": "ambiguous, ", "slip": "misprint, ", "fit": "fit, "}
MARKS["contradicted"] = "contradicted, "
"""Labels of the kinds of comparison; only printed numbers count and need no label."""


def pages(rows: Sequence[Row]) -> dict[str, str]:
    """Return all pages in Markdown by name: ``papers`` and each animal."""
    texts = {animal: _page(load(animal), [row for row in rows if row[0] == animal]) for animal in PAPERS}
    return {"papers": _all(rows), **texts}


def _all(rows: Sequence[Row]) -> str:
    total = Tally.of(row[2] for row in rows)
    lines = [
        "# Comparison with the papers",
        "",
        "These pages compare the papers' figures, tables and printed numbers with our simulations. "
        "`python -m papers` computes them.",
        "",
        total.headline,
        total.not_counted,
        "",
        "| paper | numbers (agree) | misprints | ambiguous | trends (agree) | fitted | contradicted |",
        "|---|---|---|---|---|---|---|",
    ]
    for animal in PAPERS:
        t = Tally.of(row[2] for row in rows if row[0] == animal)
        lines += [
            f"| [{heading(animal)}](papers/{animal}.md) | {t.printed} ({t.agree}) | {t.slips} | {t.open} | "
            f"{t.directions} ({t.directions_agree}) | {t.fits} | {t.contradicted} |"
        ]
    contents = ["```{toctree}", ":hidden:", "", *(f"papers/{name}" for name in PAPERS), "```", ""]
    return "\n".join([*lines, "", *EXPLAINED, *contents])


EXPLAINED = (
    "A printed number agrees if ours is within half a unit of its last digit, or within the range that the paper "
    "states. Each printed number counts once, even if several rows show it. Other comparisons do not count:",
    "",
    "- *trend*: the paper describes a sign or a trend in words, or prints a number so coarse that a model with an "
    "error of 20% would reproduce it, too.",
    "- *ambiguous*: the paper does not define the quantity, or describes it in words. The table shows the possible "
    "readings. A reading that we chose because of its result is not an agreement.",
    "- *fit*: we chose a value that the paper does not state so that this number is reproduced.",
    "- *misprint*: the number contradicts other statements in the same paper.",
    "- *contradicted*: the model shows the opposite of a statement in words, in all conditions that the row lists.",
    "",
)


def _page(paper: Paper, rows: Sequence[Row]) -> str:
    tally = Tally.of(row[2] for row in rows)
    lines = [
        f"# {heading(paper.animal)}",
        "",
        paper.reference,
        "",
        tally.headline,
        tally.not_counted,
        "",
        f"**Reproduced.** {paper.holds}",
        "",
        f"**Ambiguous in the paper.** {paper.open}",
        "",
        f"**Not reproduced.** {paper.missed}",
    ]
    for figure in paper.figures:
        name = heading(figure.name)
        picture = f"![{name}: {figure.title}]({paper.animal}/{figure.name}.webp)"
        lines += ["", f"## {name}", "", figure.title + ".", "", picture]
        if own := [row for _, entry, row in rows if entry == figure.name]:
            lines += ["", "| quantity | paper | ours |", "|---|---|---|", *map(_line, own)]
    if paper.missing:
        lines += ["", "## Not drawn", ""]
        lines += [f"- {panel}: {what}" for panel, what in paper.missing.items()]
    return "\n".join(lines) + "\n"


def _line(row: Comparison) -> str:
    unit = "" if row.unit == "1" else f" {row.unit}"
    what = f"{row.what} ({row.where})" + (f"<br>*{row.note}*" if row.note else "")
    verdict = "agrees" if row.agrees else "**does not agree**" if row.kind == "printed" else "does not agree"
    return f"| {what} | {row.paper} | {_shown(row.ours)}{unit}<br>{MARKS[row.kind]}{verdict} |"


def _shown(value: float) -> str:
    """Format a value with four significant digits, or as a whole number from 10,000 on."""
    return f"{value:.4g}" if abs(value) < 1e4 or abs(value) >= 1e6 else f"{value:.0f}"


def heading(name: str) -> str:
    """Return the heading of a figure: "Figure 2, supplement 1" for ``figure_2_supplement_1``."""
    words = " ".join(word.upper() if len(word) <= 2 else word for word in name.split("_"))
    return re.sub(r"(?<=\d) (?=\w)", ", ", words[0].upper() + words[1:])
