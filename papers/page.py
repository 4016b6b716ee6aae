"""The pages of the documentation on the papers: one of all, and one of each with its figures beside their numbers.

``docs/papers.csv`` has the numbers, ``docs/papers.md`` what they come to, and ``docs/papers/worm.md`` the rest, with
pictures such as ``docs/papers/worm/figure_5.webp``.
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
"""Columns of a file with comparisons."""

Row = tuple[str, str, Comparison]
"""Animal, figure, comparison."""

WIDTH = 1200
"""Pixels across a picture of a page."""


def update(path: Path, animal: str, figure: str, comparisons: Sequence[Comparison]) -> None:
    """Set the comparisons of one figure in a file of all figures, whose others stay as they are."""
    others = [row for row in read(path) if row[:2] != (animal, figure)] if path.exists() else []
    order = [(name, entry.name) for name in PAPERS for entry in load(name).figures]
    rows = [*others, *((animal, figure, comparison) for comparison in comparisons)]
    rows = sorted((row for row in rows if row[:2] in order), key=lambda row: order.index(row[:2]))
    write_csv(path, COLUMNS, [[*row[:2], *(getattr(row[2], name) for name in COLUMNS[2:])] for row in rows])


def read(path: Path) -> list[Row]:
    """Read a file of comparisons."""
    with path.open(newline="", encoding="utf-8") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    numbers = ("low", "high", "ours")
    return [
        (row.pop("animal"), row.pop("figure"), Comparison(**row | {name: float(row[name]) for name in numbers}))
        for row in rows
    ]


def write(path: Path, animal: str, figure: str, picture: Path) -> None:
    """Bring the pages up to date, of which the first is ``path``, and show the ``picture`` (PNG) of a figure."""
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
    """How many prints, not rows, there are of each kind, and how many of them agree."""

    printed: int
    agree: int
    slips: int
    open: int
    directions: int
    directions_agree: int
    fits: int

    @classmethod
    def of(cls, rows: Iterable[Comparison]) -> Tally:
        """Count; a slip, a fit or a reading that several rows are of counts once."""
        prints: dict[str, set[tuple[str, str]]] = {}
        rows = list(rows)
        for row in rows:
            prints.setdefault(row.kind, set()).add((row.where, row.paper))
        counted, directions = ([row.agrees for row in rows if row.kind == kind] for kind in ("printed", "direction"))
        slips, readings, fits = (len(prints.get(kind, ())) for kind in ("slip", "reading", "fit"))
        return cls(len(counted), sum(counted), slips, readings, len(directions), sum(directions), fits)

    @property
    def headline(self) -> str:
        """The first line on a paper."""
        return (
            f"**{self.agree} of {self.printed} printed numbers agree**; {_count(self.slips, 'slip')} of the print, "
            f"{self.open} undecided by the print."
        )

    @property
    def beside(self) -> str:
        """What is not counted."""
        return (
            f"Not counted: {self.directions_agree} of {_count(self.directions, 'direction')} that the words give "
            f"{'are' if self.directions != 1 else 'is'} ours, too; {_count(self.fits, 'number')} we fitted."
        )


def _count(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


MARKS = {"printed": "", "direction": "direction, ", "reading": "open, ", "fit": "fit, ", "slip": "slip, "}
"""What stands before whether a row that is not counted agrees."""


def pages(rows: Sequence[Row]) -> dict[str, str]:
    """All pages in Markdown: ``papers``, and one of each animal."""
    texts = {animal: _page(load(animal), [row for row in rows if row[0] == animal]) for animal in PAPERS}
    return {"papers": _all(rows), **texts}


def _all(rows: Sequence[Row]) -> str:
    total = Tally.of(row[2] for row in rows)
    lines = [
        "# The papers against us",
        "",
        "Every figure and table that the papers' models give, drawn by `python -m papers` from simulations, and "
        "every number that the papers print beside ours.",
        "",
        total.headline,
        total.beside,
        "",
        "| paper | printed, agree | slips | undecided | directions, agree | fits |",
        "|---|---|---|---|---|---|",
    ]
    for animal in PAPERS:
        t = Tally.of(row[2] for row in rows if row[0] == animal)
        lines += [
            f"| [{animal}](papers/{animal}.md) | {t.printed}, {t.agree} | {t.slips} | {t.open} | "
            f"{t.directions}, {t.directions_agree} | {t.fits} |"
        ]
    contents = ["```{toctree}", ":hidden:", "", *(f"papers/{name}" for name in PAPERS), "```", ""]
    return "\n".join([*lines, "", *EXPLAINED, *contents])


EXPLAINED = (
    "A *printed* number agrees where ours lies within what the print allows: half a unit of its last digit, or the "
    "range that it states. It counts once, whatever the number of rows that show it. These are not counted:",
    "",
    "- *direction*: words that name a sign or a trend, and digits that a model 20% off would give as well;",
    "- *open*: a print that does not decide what it is of, so that several readings stand beside it, or none but a "
    "reading of words. One that was found by its result is no agreement;",
    "- *fit*: we chose for it what the paper leaves open;",
    "- *slip*: the print contradicts the paper itself.",
    "",
    "Tests turn a constant of each model by a fifth, and find that rows of its page turn with it.",
    "",
)


def _page(paper: Paper, rows: Sequence[Row]) -> str:
    tally = Tally.of(row[2] for row in rows)
    lines = [
        f"# {paper.animal}",
        "",
        paper.reference,
        "",
        tally.headline,
        tally.beside,
        "",
        f"**What holds.** {paper.holds}",
        "",
        f"**What the print leaves open.** {paper.open}",
        "",
        f"**What we could not reach.** {paper.missed}",
    ]
    for figure in paper.figures:
        name = heading(figure.name)
        picture = f"![{name}: {figure.title}]({paper.animal}/{figure.name}.webp)"
        lines += ["", f"## {name}", "", figure.title + ".", "", picture]
        if own := [row for _, entry, row in rows if entry == figure.name]:
            lines += ["", "| what | paper | ours |", "|---|---|---|", *map(_line, own)]
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
    """Four digits, or all before the point."""
    return f"{value:.4g}" if abs(value) < 1e4 or abs(value) >= 1e6 else f"{value:.0f}"


def heading(name: str) -> str:
    """``figure_s3`` as "Figure S3", ``figure_2_supplement_1`` as "Figure 2, supplement 1"."""
    words = " ".join(word.upper() if len(word) <= 2 else word for word in name.split("_"))
    return re.sub(r"(?<=\d) (?=\w)", ", ", words[0].upper() + words[1:])
