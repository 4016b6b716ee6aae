"""Pages of the documentation that compare the papers' printed numbers with ours.

``docs/papers.csv`` has all numbers. ``docs/papers.md`` summarises them. Pages such as ``docs/papers/worm.md`` show the
figures and numbers of one paper, with pictures such as ``docs/papers/worm/figure_5.webp``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path

from PIL import Image

from gymnosoma.agents.support.files import result

from .paper import PAPERS, Comparison, Paper, load, read_csv, write_csv

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
    return [(row.pop("animal"), row.pop("figure"), Comparison(**row)) for row in read_csv(path)]


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


KINDS = ("printed", "direction", "reading", "fit", "contradicted", "misprint")
"""Kinds of comparison, which the pages explain; only printed numbers count."""

SUMMARY = (
    "**{printed_agree} of {printed} printed numbers agree.** Contradicted statements: {contradicted}.",
    "Not counted: {direction_agree} of {direction} directions agree. "
    "Readings: {reading}. Fits: {fit}. Misprints: {misprint}.",
)
"""First lines of a page, with the entries of `_tally`."""


def _tally(rows: Iterable[Comparison]) -> dict[str, int]:
    """Count the comparisons of each kind, and those that agree; several rows for one reading or fit count once."""
    rows = list(rows)
    tally: dict[str, int] = {}
    for kind in KINDS:
        own = [row for row in rows if row.kind == kind]
        prints = own if kind in ("printed", "direction") else {(row.where, row.paper) for row in own}
        tally |= {kind: len(prints), f"{kind}_agree": sum(row.agrees for row in own)}
    return tally


def pages(rows: Sequence[Row]) -> dict[str, str]:
    """Return all pages in Markdown by name: ``papers`` and each animal."""
    texts = {animal: _page(load(animal), [row for row in rows if row[0] == animal]) for animal in PAPERS}
    return {"papers": _all(rows), **texts}


def _all(rows: Sequence[Row]) -> str:
    total = _tally(row[2] for row in rows)
    lines = [
        "# Comparison with the papers",
        "",
        "These pages compare the papers' figures, tables and printed numbers with our simulations. "
        "`python -m papers` computes them.",
        "",
        *(text.format(**total) for text in SUMMARY),
        "",
        "| paper | printed (agree) | direction (agree) | reading | fit | contradicted | misprint |",
        "|---|---|---|---|---|---|---|",
    ]
    columns = "{printed} ({printed_agree}) | {direction} ({direction_agree}) | {reading} | {fit} | {contradicted}"
    for animal in PAPERS:
        own = _tally(row[2] for row in rows if row[0] == animal)
        text = f"| [{heading(animal)}](papers/{animal}.md) | {columns} | {{misprint}} |"
        lines.append(text.format(**own))
    contents = ["```{toctree}", ":hidden:", "", *(f"papers/{name}" for name in PAPERS), "```", ""]
    return "\n".join([*lines, "", *EXPLAINED, *contents])


EXPLAINED = (
    "Each row states the kind of its comparison:",
    "",
    "- *printed*: a number that the paper prints. It agrees if ours is within half a unit of its last digit, or within "
    "the range that the paper states. Each number counts once, even if several rows show it. Only this kind counts.",
    "- *direction*: the paper describes a sign or a trend in words, or prints a number so coarse that a model with an "
    "error of 20% would reproduce it, too.",
    "- *reading*: the paper does not define the quantity, or describes it in words. The table shows the possible "
    "readings. A reading that we chose because of its result is not an agreement.",
    "- *fit*: we chose a value that the paper does not state so that this number is reproduced.",
    "- *contradicted*: the statement is clear, and the model contradicts it in all conditions that the row lists.",
    "- *misprint*: the number contradicts other statements in the same paper.",
    "",
)


def _page(paper: Paper, rows: Sequence[Row]) -> str:
    tally = _tally(row[2] for row in rows)
    lines = [
        f"# {heading(paper.animal)}",
        "",
        paper.reference,
        "",
        *(text.format(**tally) for text in SUMMARY),
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
    verdict = "**contradicted**" if row.kind == "contradicted" else f"{row.kind}, {verdict}"
    return f"| {what} | {row.paper} | {_shown(row.ours)}{unit}<br>{verdict} |"


def _shown(value: float) -> str:
    """Format a value with four significant digits, or as a whole number from 10,000 on."""
    return f"{value:.4g}" if abs(value) < 1e4 or abs(value) >= 1e6 else f"{value:.0f}"


def heading(name: str) -> str:
    """Return the heading of a figure: "Figure 2, supplement 1" for ``figure_2_supplement_1``."""
    words = " ".join(word.upper() if len(word) <= 2 else word for word in name.split("_"))
    return re.sub(r"(?<=\d) (?=\w)", ", ", words[0].upper() + words[1:])
