"""The papers' figures: what a figure hands over, and the page that is made of it."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from gymnosoma.papers.paper import PAPERS, Comparison, PaperFigure, draw, load, page, read, update

DOCS = Path(__file__).parents[1] / "docs"


def _small(sheet):
    time = np.linspace(0, 1, 3)
    sheet.table("A", time_s=time[:, None], place=[0.0, 1.0], angle_rad=time[:, None] * [1.0, 2.0])
    sheet.compare("speed", "mm/s", "about 40", 36, 44, 52.5, "stiffer at the base")
    sheet.compare("turn", "deg/s", "to the right", -np.inf, 0, -181)
    return Figure()


def test_a_figure_is_a_picture_its_numbers_and_the_papers(tmp_path):
    rows = draw(PaperFigure("figure_5", "A small one", _small), tmp_path)
    assert [row.agrees for row in rows] == [False, True]
    assert {path.name for path in tmp_path.iterdir()} == {
        "figure_5.png",
        "figure_5_A.csv",
        "figure_5_against_paper.csv",
    }
    lines = (tmp_path / "figure_5_A.csv").read_text().splitlines()
    assert lines[0] == "time_s,place,angle_rad"
    assert len(lines) == 7 and lines[-1] == "1,1,2"


def test_one_figure_is_brought_up_to_date_and_the_others_stay(tmp_path):
    file = tmp_path / "papers.csv"
    first, second = (entry.name for entry in load("worm").figures[:2])
    update(file, "worm", second, [Comparison("b", "1", "2", 1.5, 2.5, 2.0)])
    update(file, "worm", first, [Comparison("a", "1", "about 1", 0.9, 1.1, 3.0, "why, with a comma")])
    update(file, "worm", second, [Comparison("c", "m", "2", 1.5, 2.5, 2.25)])
    assert [(row[1], row[2].what, row[2].ours) for row in read(file)] == [(first, "a", 3.0), (second, "c", 2.25)]
    text = page(read(file))
    assert "| a |  | about 1 | 3 | **no** | why, with a comma |" in text
    assert "1 of 2 numbers agree" in text


@pytest.mark.parametrize("animal", PAPERS)
def test_figures_are_named_once_and_say_what_they_show(animal):
    paper = load(animal)
    names = [entry.name for entry in paper.figures]
    assert names and len(set(names)) == len(names)
    assert all(entry.title for entry in paper.figures)


def test_the_page_is_made_of_its_numbers():
    rows = read(DOCS / "papers.csv")
    assert (DOCS / "papers.md").read_text() == page(rows)
    drawn = {row[:2] for row in rows}
    assert drawn <= {(animal, entry.name) for animal in PAPERS for entry in load(animal).figures}
    assert all(row[2].note for row in rows if not row[2].agrees), "what does not agree says why"


QUICK = {
    "worm": "figure_4",
    "lamprey": "figure_4",
    "whisker_chain": "figure_6",
    "whisker_rod": "table_1",
    "neuromechanic": "figure_3",
}
"""A figure of each paper that is quick to draw and has printed numbers."""


@pytest.mark.full
@pytest.mark.parametrize("animal", PAPERS)
def test_a_figure_drawn_anew_has_the_numbers_of_the_page(animal, tmp_path):
    figure = next(entry for entry in load(animal).figures if entry.name == QUICK[animal])
    written = [row for name, entry, row in read(DOCS / "papers.csv") if (name, entry) == (animal, figure.name)]
    drawn = draw(figure, tmp_path)
    assert drawn and [row.what for row in drawn] == [row.what for row in written]
    assert [row.ours for row in drawn] == pytest.approx([row.ours for row in written], rel=1e-3, abs=1e-9)
    assert [row.agrees for row in drawn] == [row.agrees for row in written]
