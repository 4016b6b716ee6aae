"""Figures of papers: drawing functions, their numbers by name, and the comparison with the printed numbers.

``papers.toml`` lists the figures and the modules that draw them. ``ANIMAL.csv`` lists the numbers that the paper of an
animal prints. Drawing a figure writes ``FOLDER/worm/figure_5.png``, the same picture as PDF, the data of each panel as
``figure_5_A.csv``, and the comparison as ``figure_5_against_paper.csv``. `page` makes the documentation of these.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import import_module
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
from cycler import cycler
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from gymnosoma.agents.support.files import result
from gymnosoma.agents.support.progress import progress_bar

ENTRIES = tomllib.loads(Path(__file__).with_name("papers.toml").read_text("utf-8"))
PAPERS = tuple(ENTRIES)
"""Animals with a paper: each has a folder and a table of printed numbers in this package."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colours of lines, distinguishable by colour-blind readers (Okabe and Ito)."""

STYLE: Any = {
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
    "figure.titlesize": "large",
    "font.size": 11,
    "legend.frameon": False,
    "legend.fontsize": "small",
    "lines.linewidth": 1.3,
    "pdf.fonttype": 42,
}
"""Matplotlib settings of all figures; `draw` sets them."""

MARK: Mapping[str, Any] = {"color": "k", "linestyle": "none", "marker": "D", "markerfacecolor": "none", "zorder": 6}
"""Style of the markers of printed values; see `mark_printed`."""


@dataclass(frozen=True)
class Printed:
    """Number printed in a paper, a row of its table.

    Our value agrees if it is between ``low`` and ``high``. These bounds are half a unit of the last digit on either
    side (35 to 45 for "about 40", whose zero is not significant), a printed range, or a sign. They must follow from the
    print alone, not from our result. Rows with the same ``where`` and ``printed`` belong to one printed number; at most
    one of them may have the kind "printed".
    """

    figure: str
    name: str  # name of our value in `Sheet.found`
    what: str  # quantity and conditions
    where: str  # place in the paper
    unit: str  # unit of low, high and ours; "1" for none
    printed: str  # printed text, such as "about 40"
    low: float
    high: float
    kind: str  # one of `page.KINDS`; `page.EXPLAINED` defines them
    note: str  # reason for a disagreement, or how we read the print; see `against`

    @property
    def value(self) -> float:
        """First number in the printed text."""
        return float(re.findall(r"-?\d[\d,]*\.?\d*", self.printed)[0].replace(",", ""))

    @property
    def needed(self) -> set[str]:
        """Names of the values in the note."""
        return {name for _, name, *_ in Formatter().parse(self.note) if name}

    def against(self, values: Mapping[str, Any]) -> Comparison:
        """Compare the printed number with the entry of the same name in ``values``.

        The note is formatted with ``values`` by ``str.format``. In it, ``{off}`` is our relative deviation in per cent.
        """
        ours = float(values[self.name])
        off = {"off": 100 * abs(ours / self.value - 1)} if "off" in self.needed else {}
        note = self.note.format(**values, **off)
        return Comparison(self.what, self.where, self.kind, self.unit, self.printed, self.low, self.high, ours, note)


@dataclass(frozen=True)
class Comparison:
    """Comparison of a printed number (``paper``) with ours; the other fields are those of `Printed`."""

    what: str
    where: str
    kind: str
    unit: str
    paper: str
    low: float
    high: float
    ours: float
    note: str = ""

    @property
    def agrees(self) -> bool:
        """Whether our value is within the bounds."""
        return bool(self.low <= self.ours <= self.high)


@cache
def printed(animal: str) -> dict[str, list[Printed]]:
    """Read the numbers printed in an animal's paper, by figure."""
    table: dict[str, list[Printed]] = {}
    for line in read_csv(Path(__file__).with_name(f"{animal}.csv")):
        table.setdefault(line["figure"], []).append(Printed(**line))
    return table


@dataclass
class Sheet:
    """Data and values of one figure; ``rows`` are the paper's printed numbers."""

    rows: Sequence[Printed] = ()
    tables: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def table(self, panel: str, **columns: ArrayLike) -> None:
        """Add the data of a panel, written as CSV: columns that broadcast to one shape, with the unit in their name."""
        arrays = np.broadcast_arrays(*map(np.asarray, columns.values()))
        self.tables[panel] = {name: array.ravel() for name, array in zip(columns, arrays, strict=True)}

    def found(self, prefix: str = "", /, **values: Any) -> None:
        """Add values for the printed rows and their notes, under their names preceded by ``prefix``."""
        for name, value in values.items():
            self.values[prefix + name] = value

    def row(self, name: str) -> Printed:
        """Return the printed row of this name."""
        return next(row for row in self.rows if row.name == name)

    def printed(self, name: str) -> float:
        """Return the number that the paper prints under this name."""
        return self.row(name).value

    def comparisons(self) -> list[Comparison]:
        """Compare each value with its printed number.

        Raises:
            ValueError: If a row has no value, or a value has no row.
        """
        required = {row.name for row in self.rows}.union(*(row.needed - {"off"} for row in self.rows))
        if names := required.symmetric_difference(self.values):
            raise ValueError(f"values and rows must have the same names, got {', '.join(sorted(names))} once")
        return [row.against(self.values) for row in self.rows]

    def progress(self, steps: Iterable[Any], what: str, total: int | None = None) -> Iterable[Any]:
        """Show the progress of a long simulation."""
        return progress_bar(steps, desc=what, total=total, leave=False)

    def clock(self, what: str, duration: float) -> Callable[[float], None]:
        """Return a ``progress`` callback for `simulate` that shows the simulated time."""
        bar = progress_bar(desc=what, total=duration, leave=False, bar_format="{l_bar}{bar}| {n:.3g} of {total:.3g} s")
        return lambda t: bar.update(t - bar.n)


@dataclass(frozen=True)
class PaperFigure:
    """A figure or table of a paper."""

    name: str  # as in file names: figure_5, table_1, figure_s3
    title: str
    draw: Callable[[Sheet], Figure]


@dataclass(frozen=True)
class Paper:
    """The figures of one paper."""

    animal: str
    reference: str  # authors, year, title, journal
    holds: str  # reproduced results
    open: str  # ambiguous statements
    missed: str  # results that are not reproduced
    figures: tuple[PaperFigure, ...]  # in the paper's order
    missing: Mapping[str, str]  # panels without a simulation (recordings, photographs, schemes): name to content


@cache
def load(animal: str) -> Paper:
    """Load the entry of an animal's paper in `papers.toml`, with the functions that draw its figures."""
    entry, figures = ENTRIES[animal], []
    for name, (module, title) in entry["figures"].items():
        draws = getattr(import_module(f".{animal}.{module}", __package__), name.replace(".", "_"))
        figures.append(PaperFigure(name, title, draws))
    words = {name: entry[name] for name in ("reference", "holds", "open", "missed", "missing")}
    return Paper(animal=animal, figures=tuple(figures), **words)


def mark_printed(ax: Axes, x: ArrayLike, y: ArrayLike, label: str = "printed in the paper") -> None:
    """Mark values printed in the paper on axes."""
    ax.plot(np.atleast_1d(x), np.atleast_1d(y), label=label, **MARK)


def draw(figure: PaperFigure, rows: Sequence[Printed], folder: Path) -> list[Comparison]:
    """Draw one figure, and write its pictures, data and comparison with the paper into an existing folder."""
    sheet = Sheet(rows)
    with rc_context(STYLE):
        picture = figure.draw(sheet)
        comparisons = sheet.comparisons()
        for ending in ("png", "pdf"):
            with result("folder", folder / f"{figure.name}.{ending}") as file:
                picture.savefig(file, dpi=200)
    for panel, columns in sheet.tables.items():
        write_csv(folder / f"{figure.name}_{panel}.csv", tuple(columns), zip(*columns.values(), strict=True))
    names = [entry.name for entry in fields(Comparison)]
    lines = [[getattr(row, name) for name in names] for row in comparisons]
    write_csv(folder / f"{figure.name}_against_paper.csv", names, lines)
    return comparisons


def read_csv(path: Path) -> list[dict[str, Any]]:
    """Read the rows of a table of printed numbers or comparisons."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [
        {name: float(text) if name in ("low", "high", "ours") else text for name, text in row.items()} for row in rows
    ]


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a table as CSV, floats with six significant digits."""
    with result("folder", path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows([f"{value:.6g}" if isinstance(value, float) else value for value in row] for row in rows)
