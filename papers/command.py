"""Command ``figures``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from tqdm import tqdm

from gymnosoma.agents.support.workers import Unfinished, watched, workers
from gymnosoma.cli.arguments import Processes, Ray
from gymnosoma.envs.core.arguments import choice

if TYPE_CHECKING:
    from .paper import Comparison


def figures(
    animal: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="ANIMAL ...")] = (),
    figure: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = (),
    folder: Path = Path("figures"),
    page: Path | None = None,
    processes: Processes = 1,
    ray: Ray = None,
) -> None:
    """Draw the papers' figures from simulations, each with its numbers as CSV, and with the paper's beside ours.

    Args:
        animal: Whose paper, such as worm; all by default.
        figure: Which figure, such as figure_5; may be repeated; all by default.
        folder: Where pictures and numbers go.
        page: Also bring up to date this page (Markdown, such as docs/papers.md), and the CSV and pages beside it.
    """
    from . import paper as drawn
    from .page import update, write

    for name in animal:
        choice("animal", name, drawn.PAPERS)
    papers = [drawn.load(name) for name in animal or drawn.PAPERS]
    known = [entry.name for paper in papers for entry in paper.figures]
    for name in figure:
        choice("figure", name, dict.fromkeys(known))
    pieces = {
        f"{paper.animal} {entry.name}": (paper.animal, entry.name, folder)
        for paper in papers
        for entry in paper.figures
        if not figure or entry.name in figure
    }
    failed = {}
    with workers(processes, ray) as engine:
        for name, found, error in watched(engine.work(_drawn, pieces), len(pieces), "figure"):
            if error is not None:
                failed[name] = error
                continue
            rows, seconds = found
            own, entry_name, _ = pieces[name]
            counted = [row.agrees for row in rows if row.kind == "printed"]
            numbers = f"{sum(counted)} of {len(counted)} printed numbers agree, " if counted else ""
            tqdm.write(f"{folder / own / entry_name}.png: {numbers}{seconds:.1f} s")
            if page is not None:
                update(page.with_suffix(".csv"), own, entry_name, rows)
                write(page, own, entry_name, folder / own / f"{entry_name}.png")
    if failed:
        raise Unfinished("; ".join(f"{name} failed: {error}" for name, error in failed.items()))


def _drawn(animal: str, name: str, folder: Path) -> tuple[list[Comparison], float]:
    """How a figure, drawn into the folder of its animal, compares; and the seconds it took."""
    from . import paper as drawn

    entry = next(entry for entry in drawn.load(animal).figures if entry.name == name)
    place = folder / animal
    place.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    return drawn.draw(entry, drawn.printed(animal).get(name, []), place), time.perf_counter() - begin
