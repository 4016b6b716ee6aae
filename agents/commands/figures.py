"""Command ``figures``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

import tyro

Animal = Literal["worm", "lamprey", "whisker_chain", "whisker_rod", "neuromechanic"]


def figures(
    animal: Annotated[tuple[Animal, ...], tyro.conf.Positional] = (),
    figure: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    folder: Path = Path("figures"),
    page: Path | None = None,
) -> None:
    """Draw the papers' figures from simulations, each with its numbers as CSV, and with the paper's beside ours.

    Args:
        animal: Whose paper; all by default.
        figure: Which figure, such as figure_5; may be repeated; all by default.
        folder: Where pictures and numbers go.
        page: Also bring up to date this page (Markdown, such as docs/papers.md) and the CSV beside it.
    """
    from ..evaluation.progress import progress_bar
    from ..figures import paper as drawn

    papers = [drawn.load(name) for name in animal or drawn.PAPERS]
    known = [entry.name for paper in papers for entry in paper.figures]
    for name in figure:
        if name not in known:
            raise ValueError(f"figure must be one of {', '.join(dict.fromkeys(known))}, got {name!r}")
    chosen = [(paper, entry) for paper in papers for entry in paper.figures if not figure or entry.name in figure]
    bar = progress_bar(chosen, unit="figure")
    for paper, entry in bar:
        bar.set_description(f"{paper.animal} {entry.name}")
        place = folder / paper.animal
        place.mkdir(parents=True, exist_ok=True)
        begin = time.perf_counter()
        rows = drawn.draw(entry, place)
        agreed = sum(row.agrees for row in rows)
        numbers = f"{agreed} of {len(rows)} numbers agree, " if rows else ""
        bar.write(f"{place / entry.name}.png: {numbers}{time.perf_counter() - begin:.1f} s")
        if page is not None:
            drawn.update(page.with_suffix(".csv"), paper.animal, entry.name, rows)
            page.write_text(drawn.page(drawn.read(page.with_suffix(".csv"))))
