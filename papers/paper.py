"""What a paper's figure is: a function that draws it from simulations, with its numbers and the paper's beside it.

Each module of this folder offers ``PAPER``. Drawn, a figure is a picture ``FOLDER/worm/figure_5.png``, the numbers in
it as ``figure_5_A.csv`` for each panel, and ``figure_5_against_paper.csv``; `page` makes ``docs/papers.md`` of these.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from gymnosoma.agents.evaluation.progress import progress_bar
from gymnosoma.agents.files import result

PAPERS = ("worm", "lamprey", "whisker_chain", "whisker_rod", "neuromechanic")
"""Animals, each with a module of this folder."""

PRINTED: Mapping[str, Any] = {"color": "k", "linestyle": "none", "marker": "D", "markerfacecolor": "none", "zorder": 6}
"""How values that the paper prints are marked on axes; see `mark_printed`."""


@dataclass(frozen=True)
class Comparison:
    """One number that the paper prints, and ours.

    Parameters
    ----------
    what : str
        The quantity, with the conditions that tell it from others.
    unit : str
        Of ``low``, ``high`` and ``ours``; "1" for none.
    paper : str
        As printed, such as "about 40".
    low, high : float
        What agrees with that print: half a unit of its last digit either way, what its words mean ("about":
        10%), or the sign. They come from the print alone, never from our result.
    ours : float
    note : str
        Why not, where ours lies outside; or how the print was read.
    """

    what: str
    unit: str
    paper: str
    low: float
    high: float
    ours: float
    note: str = ""

    @property
    def agrees(self) -> bool:
        """Whether ours lies within what the print allows."""
        return bool(self.low <= self.ours <= self.high)


COLUMNS = ("animal", "figure", *(entry.name for entry in fields(Comparison)))
"""Of a file with comparisons."""


@dataclass
class Sheet:
    """What a figure hands over beside its picture."""

    tables: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    comparisons: list[Comparison] = field(default_factory=list)

    def table(self, panel: str, **columns: ArrayLike) -> None:
        """Keep what a panel draws, as a CSV file: columns that broadcast to one shape, named with their unit."""
        arrays = np.broadcast_arrays(*map(np.asarray, columns.values()))
        self.tables[panel] = {name: array.ravel() for name, array in zip(columns, arrays, strict=True)}

    def compare(
        self, what: str, unit: str, paper: str, low: float, high: float, ours: float, note: str = ""
    ) -> Comparison:
        """Set ours beside what the paper prints; arguments as of `Comparison`."""
        self.comparisons.append(Comparison(what, unit, paper, low, high, float(ours), note))
        return self.comparisons[-1]

    def progress(self, steps: Iterable[Any], what: str, total: int | None = None) -> Iterable[Any]:
        """Show how far a long simulation is."""
        return progress_bar(steps, desc=what, total=total, leave=False)

    def clock(self, what: str, duration: float) -> Callable[[float], None]:
        """Show how far `simulate` is, as its ``progress``."""
        bar = progress_bar(desc=what, total=duration, leave=False, bar_format="{l_bar}{bar}| {n:.3g} of {total:.3g} s")
        return lambda t: bar.update(t - bar.n)


@dataclass(frozen=True)
class PaperFigure:
    """A figure or table of a paper.

    Parameters
    ----------
    name : str
        As in file names: ``figure_5``, ``table_1``, ``figure_s3``.
    title : str
        What it shows, in one line.
    draw : callable
    """

    name: str
    title: str
    draw: Callable[[Sheet], Figure]


@dataclass(frozen=True)
class Paper:
    """The figures of one paper.

    Parameters
    ----------
    animal : str
    reference : str
        Authors, year, title, journal.
    figures : tuple of PaperFigure
        In the paper's order.
    missing : mapping
        Panels that no simulation gives, and what they show; recordings, photographs, schemes.
    """

    animal: str
    reference: str
    figures: tuple[PaperFigure, ...]
    missing: Mapping[str, str]


def load(animal: str) -> Paper:
    """Read the figures of an animal's paper."""
    return import_module(f".{animal}", __package__).PAPER


def mark_printed(ax: Axes, x: ArrayLike, y: ArrayLike, label: str = "printed in the paper") -> None:
    """Mark values that the paper prints."""
    ax.plot(np.atleast_1d(x), np.atleast_1d(y), label=label, **PRINTED)


def draw(figure: PaperFigure, folder: Path) -> list[Comparison]:
    """Draw one figure: its picture, its numbers, and how they compare.

    Parameters
    ----------
    figure : PaperFigure
    folder : path
        Exists.

    Returns
    -------
    list of Comparison
    """
    sheet = Sheet()
    picture = figure.draw(sheet)
    with result("folder", folder / f"{figure.name}.png") as file:
        picture.savefig(file, dpi=130)
    for panel, columns in sheet.tables.items():
        _write(folder / f"{figure.name}_{panel}.csv", tuple(columns), zip(*columns.values(), strict=True))
    rows = [[getattr(row, name) for name in COLUMNS[2:]] for row in sheet.comparisons]
    _write(folder / f"{figure.name}_against_paper.csv", COLUMNS[2:], rows)
    return sheet.comparisons


def _write(path: Path, head: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    with result("folder", path) as draft, draft.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows([f"{value:.6g}" if isinstance(value, float) else value for value in row] for row in rows)


def update(path: Path, animal: str, figure: str, comparisons: Sequence[Comparison]) -> None:
    """Set the comparisons of one figure in a file of all figures, whose others stay as they are."""
    kept = [row for row in read(path) if row[:2] != (animal, figure)] if path.exists() else []
    order = [(name, entry.name) for name in PAPERS for entry in load(name).figures]
    rows = [*kept, *((animal, figure, comparison) for comparison in comparisons)]
    rows = sorted((row for row in rows if row[:2] in order), key=lambda row: order.index(row[:2]))
    _write(path, COLUMNS, [[*row[:2], *(getattr(row[2], name) for name in COLUMNS[2:])] for row in rows])


def read(path: Path) -> list[tuple[str, str, Comparison]]:
    """Read a file of comparisons: animal, figure, comparison."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        (
            row["animal"],
            row["figure"],
            Comparison(
                row["what"],
                row["unit"],
                row["paper"],
                float(row["low"]),
                float(row["high"]),
                float(row["ours"]),
                row["note"],
            ),
        )
        for row in rows
    ]


def page(rows: Sequence[tuple[str, str, Comparison]]) -> str:
    """The papers against us, figure by figure, in Markdown."""
    lines = [
        "# The papers against us",
        "",
        "Every figure and table that the papers' models give, drawn by `python train.py figures` from simulations run "
        "there and then. This page is made from the numbers of such a run (`--page`), `docs/papers.csv`. *Agrees* "
        "means within what the print allows: half a unit of its last digit, 10% where it says *about*, the sign where "
        "it names a direction.",
    ]
    for animal in PAPERS:
        paper = load(animal)
        agreed = [row[2].agrees for row in rows if row[0] == animal]
        lines += ["", f"## {animal}", "", f"{paper.reference}", "", f"{sum(agreed)} of {len(agreed)} numbers agree."]
        for figure in paper.figures:
            lines += ["", f"### {_heading(figure.name)}", "", figure.title]
            own = [row for name, entry, row in rows if (name, entry) == (animal, figure.name)]
            if own:
                lines += ["", "| what | unit | paper | ours | agrees | |", "|---|---|---|---|---|---|"]
            lines += [
                f"| {row.what} | {'' if row.unit == '1' else row.unit} | {row.paper} | {_shown(row.ours)} | "
                f"{'yes' if row.agrees else '**no**'} | {row.note} |"
                for row in own
            ]
        if paper.missing:
            lines += ["", "### Not drawn", ""]
            lines += [f"- {panel}: {what}" for panel, what in paper.missing.items()]
    return "\n".join(lines) + "\n"


def _shown(value: float) -> str:
    """Four digits, or all before the point."""
    return f"{value:.4g}" if abs(value) < 1e4 or abs(value) >= 1e6 else f"{value:.0f}"


def _heading(name: str) -> str:
    """``figure_s3`` as "Figure S3", ``figure_2_supplement_1`` as "Figure 2, supplement 1"."""
    words = " ".join(word.upper() if len(word) <= 2 else word for word in name.split("_"))
    return re.sub(r"(?<=\d) (?=\w)", ", ", words[0].upper() + words[1:])
