"""Command line of the papers' figures, for use in a clone: ``python -m papers [ANIMAL ...]``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import tyro

try:
    from .fingerprints import record
    from .page import update, write
    from .paper import PAPERS, draw, load, printed
except ModuleNotFoundError as error:
    raise SystemExit(f"error: {error.name} is not installed: pip install -c constraints.txt -e '.[data]'") from None


def figures(
    animal: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="ANIMAL ...")] = (),
    figure: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    folder: Path = Path("figures"),
    page: Path | None = None,
) -> None:
    """Draw the papers' figures from simulations, and compare the papers' numbers with ours.

    Each figure is written as PNG and PDF, its data and the comparison as CSV.

    Args:
        animal: Animals whose papers are drawn, such as worm; all by default.
        figure: Figures to draw, such as figure_5; may be repeated; all by default.
        folder: Output folder.
        page: Markdown page to update, such as docs/papers.md, with its CSV file and the pages of the animals.
    """
    papers = [load(name) for name in animal or PAPERS]
    entries = [(paper.animal, entry) for paper in papers for entry in paper.figures]
    names = {entry.name for _, entry in entries}
    if unknown := {*figure} - names:
        raise SystemExit(f"error: figure must be one of {', '.join(sorted(names))}, got {', '.join(unknown)}")
    for own, entry in entries:
        if figure and entry.name not in figure:
            continue
        begin, place = time.perf_counter(), folder / own
        place.mkdir(parents=True, exist_ok=True)
        rows = draw(entry, printed(own).get(entry.name, []), place)
        counted = [row for row in rows if row.kind == "printed"]
        wrong = [f"{row.what}: paper {row.paper}, ours {row.ours:.4g}" for row in counted if not row.agrees]
        numbers = f"{len(counted) - len(wrong)} of {len(counted)} printed numbers agree, " if counted else ""
        print(f"{place / entry.name}.png: {numbers}{time.perf_counter() - begin:.1f} s", *wrong, sep="\n  ")
        if page is not None:
            update(page.with_suffix(".csv"), own, entry.name, rows)
            write(page, own, entry.name, place / f"{entry.name}.png")
            record([f"{own} {entry.name}"])


if __name__ == "__main__":
    tyro.cli(figures)
