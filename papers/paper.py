"""What a paper's figure is: a function that draws it from simulations, and hands over its numbers by name.

``papers.toml`` tells which figures there are and who draws them, ``ANIMAL.csv`` what the paper of an animal prints. A
figure that is drawn becomes a picture ``FOLDER/worm/figure_5.png``, the same as ``figure_5.pdf``, the numbers in it as
``figure_5_A.csv`` for each panel, and ``figure_5_against_paper.csv``; `page` makes the documentation of these.
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
"""Animals, each with a folder here, and a table of what its paper prints."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Of lines that are apart for readers of all kinds of sight (Okabe and Ito)."""

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
"""How all figures look; `draw` sets it."""

MARK: Mapping[str, Any] = {"color": "k", "linestyle": "none", "marker": "D", "markerfacecolor": "none", "zorder": 6}
"""How values that the paper prints are marked on axes; see `mark_printed`."""


@dataclass(frozen=True)
class Printed:
    """What a paper says of one number, a row of its table.

    What agrees with the print lies between ``low`` and ``high``: half a unit of the last digit either way (of "about
    40", where the zero is no digit, 35 to 45), a range that it states, or the sign. They come from the print alone,
    never from our result. Rows of one ``where`` and one ``printed`` are of the same print, of which no two are counted.
    """

    figure: str
    name: str  # of the value that the figure hands over
    what: str  # the quantity, with the conditions that tell it from others
    where: str  # in the paper
    unit: str  # of low, high and ours; "1" for none
    printed: str  # such as "about 40"
    low: float
    high: float
    kind: str  # printed, direction, reading, fit or slip; `page.EXPLAINED` says what these are
    note: str  # why ours does not agree, or how the print was read; see `against`

    @property
    def value(self) -> float:
        """The first number in the print."""
        return float(re.findall(r"-?\d[\d,]*\.?\d*", self.printed)[0].replace(",", ""))

    @property
    def needed(self) -> set[str]:
        """Names of the values in the note."""
        return {name for _, name, *_ in Formatter().parse(self.note) if name}

    def against(self, values: Mapping[str, Any]) -> Comparison:
        """Set the value of this name among a figure's ``values`` beside the print.

        They stand in the note as in ``str.format``; ``{off}`` is by how many per cent ours is off.
        """
        ours = float(values[self.name])
        off = {"off": 100 * abs(ours / self.value - 1)} if "off" in self.needed else {}
        note = self.note.format(**values, **off)
        return Comparison(self.what, self.where, self.kind, self.unit, self.printed, self.low, self.high, ours, note)


@dataclass(frozen=True)
class Comparison:
    """A printed number and ours; ``paper`` is the print, and the rest as of `Printed`."""

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
        """Whether ours lies within what the print allows."""
        return bool(self.low <= self.ours <= self.high)


@cache
def printed(animal: str) -> dict[str, list[Printed]]:
    """What an animal's paper prints, the rows of each figure."""
    table: dict[str, list[Printed]] = {}
    with Path(__file__).with_name(f"{animal}.csv").open(newline="", encoding="utf-8") as file:
        lines: list[dict[str, Any]] = list(csv.DictReader(file))
    for line in lines:
        row = Printed(**line | {name: float(line[name]) for name in ("low", "high")})
        table.setdefault(row.figure, []).append(row)
    return table


@dataclass
class Sheet:
    """What a figure hands over beside its picture; ``rows`` are what the paper prints in it."""

    rows: Sequence[Printed] = ()
    tables: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def table(self, panel: str, **columns: ArrayLike) -> None:
        """Keep what a panel draws, as a CSV file: columns that broadcast to one shape, named with their unit."""
        arrays = np.broadcast_arrays(*map(np.asarray, columns.values()))
        self.tables[panel] = {name: array.ravel() for name, array in zip(columns, arrays, strict=True)}

    def found(self, prefix: str = "", /, **values: Any) -> None:
        """Hand over values by name, behind ``prefix``: those of the printed rows, and those in their notes."""
        for name, value in values.items():
            self.values[prefix + name] = value

    def row(self, name: str) -> Printed:
        """What the paper prints under this name."""
        return next(row for row in self.rows if row.name == name)

    def printed(self, name: str) -> float:
        """The number that the paper prints under this name."""
        return self.row(name).value

    def comparisons(self) -> list[Comparison]:
        """Set every value beside its print.

        Raises:
            ValueError: For a row without a value, and a value that no row asks for.
        """
        required = {row.name for row in self.rows}.union(*(row.needed - {"off"} for row in self.rows))
        if names := required.symmetric_difference(self.values):
            raise ValueError(f"values and rows must have the same names, got {', '.join(sorted(names))} once")
        return [row.against(self.values) for row in self.rows]

    def progress(self, steps: Iterable[Any], what: str, total: int | None = None) -> Iterable[Any]:
        """Show how far a long simulation is."""
        return progress_bar(steps, desc=what, total=total, leave=False)

    def clock(self, what: str, duration: float) -> Callable[[float], None]:
        """Show how far `simulate` is, as its ``progress``."""
        bar = progress_bar(desc=what, total=duration, leave=False, bar_format="{l_bar}{bar}| {n:.3g} of {total:.3g} s")
        return lambda t: bar.update(t - bar.n)


@dataclass(frozen=True)
class PaperFigure:
    """A figure or table of a paper."""

    name: str  # as in file names: figure_5, table_1, figure_s3
    title: str  # what it shows, in one line
    draw: Callable[[Sheet], Figure]


@dataclass(frozen=True)
class Paper:
    """The figures of one paper."""

    animal: str
    reference: str  # authors, year, title, journal
    holds: str  # what of the paper the model gives
    open: str  # what the print leaves open
    missed: str  # what we could not reach
    figures: tuple[PaperFigure, ...]  # in the paper's order
    missing: Mapping[str, str]  # panels that no simulation gives, and what they show: recordings, photographs, schemes


@cache
def load(animal: str) -> Paper:
    """Read of an animal's paper what `papers.toml` tells, with the functions that draw its figures."""
    entry, figures = ENTRIES[animal], []
    for name, (module, title) in entry["figures"].items():
        draws = getattr(import_module(f".{animal}.{module}", __package__), name.replace(".", "_"))
        figures.append(PaperFigure(name, title, draws))
    words = {name: entry[name] for name in ("reference", "holds", "open", "missed", "missing")}
    return Paper(animal=animal, figures=tuple(figures), **words)


def mark_printed(ax: Axes, x: ArrayLike, y: ArrayLike, label: str = "printed in the paper") -> None:
    """Mark values that the paper prints."""
    ax.plot(np.atleast_1d(x), np.atleast_1d(y), label=label, **MARK)


def draw(figure: PaperFigure, rows: Sequence[Printed], folder: Path) -> list[Comparison]:
    """Draw one figure into a folder that exists: its picture, its numbers, and how they compare with the paper."""
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


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a table, numbers with six digits."""
    with result("folder", path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows([f"{value:.6g}" if isinstance(value, float) else value for value in row] for row in rows)
