"""The papers' figures: what they hand over, beside what the papers print; a model that is wrong fails its page."""

import re
from dataclasses import replace
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from gymnosoma.envs import simulate
from gymnosoma.envs.lamprey import Lamprey, LampreyParams
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.standing import DELAY, reflex_input, standing
from gymnosoma.envs.whisker_chain.params import table as chain_table
from gymnosoma.envs.whisker_rod import WhiskerRodParams
from gymnosoma.envs.worm import Worm, WormParams
from gymnosoma.envs.worm import medium as worm_medium
from papers.lamprey import swimming
from papers.lamprey.measures import Swimming, swim
from papers.neuromechanic.standing import events
from papers.page import KINDS, pages, read
from papers.paper import PAPERS, PaperFigure, Printed, Sheet, draw, load, printed
from papers.whisker_chain.air import ENDS
from papers.worm.analysis import crawl_speed, swim_speed
from papers.worm.drawing import MM

DOCS = Path(__file__).parents[2] / "docs"

NOTE = "at {rate:.1f} Hz, off by {off:.0f}%"
SPEED = Printed("figure_5", "speed", "speed", "Fig. 5", "mm/s", "about 40", 36, 44, "printed", NOTE)
TURN = Printed("figure_5", "turn", "turn", "text", "deg/s", "to the right", -np.inf, 0, "direction", "")


def _small(sheet):
    time = np.linspace(0, 1, 3)
    sheet.table("A", time_s=time[:, None], place=[0.0, 1.0], angle_rad=time[:, None] * [1.0, 2.0])
    sheet.found(speed=52.5, rate=2.0, turn=-181)
    return Figure()


def test_a_figure_is_a_picture_its_numbers_and_the_papers(tmp_path):
    rows = draw(PaperFigure("figure_5", "A small one", _small), (SPEED, TURN), tmp_path)
    assert [row.agrees for row in rows] == [False, True]
    assert [row.note for row in rows] == ["at 2.0 Hz, off by 31%", ""]
    assert {path.name for path in tmp_path.iterdir()} == {
        "figure_5.pdf",
        "figure_5.png",
        "figure_5_A.csv",
        "figure_5_against_paper.csv",
    }
    lines = (tmp_path / "figure_5_A.csv").read_text().splitlines()
    assert lines[0] == "time_s,place,angle_rad"
    assert len(lines) == 7 and lines[-1] == "1,1,2"


@pytest.mark.parametrize("rows", [(SPEED,), (SPEED, TURN, replace(TURN, name="lift"))])
def test_every_value_has_a_row_and_every_row_a_value(rows):
    sheet = Sheet(rows)
    _small(sheet)
    with pytest.raises(ValueError, match="same names"):
        sheet.comparisons()


@pytest.mark.parametrize("animal", PAPERS)
def test_tables_of_printed_numbers_are_consistent(animal):
    names = [entry.name for entry in load(animal).figures]
    assert names and len(set(names)) == len(names) and printed(animal).keys() <= set(names)
    rows = [row for part in printed(animal).values() for row in part]
    assert all(row.kind in KINDS and row.low <= row.high for row in rows)
    assert len({(row.figure, row.name) for row in rows}) == len(rows)
    prints = [(row.where, row.printed) for row in rows if row.kind == "printed"]
    assert len(set(prints)) == len(prints), "no print is counted twice"


def test_the_pages_are_made_of_their_numbers():
    rows = read(DOCS / "papers.csv")
    for name, text in pages(rows).items():
        assert (DOCS / (f"papers/{name}.md" if name in PAPERS else f"{name}.md")).read_text("utf-8") == text
    drawn = {row[:2] for row in rows}
    assert drawn == {(animal, figure) for animal in PAPERS for figure in printed(animal)}
    assert all(row[2].note for row in rows if row[2].kind in ("printed", "contradicted") and not row[2].agrees)
    assert not any(row[2].agrees for row in rows if row[2].kind == "contradicted")
    for animal in PAPERS:
        shown = {path.stem for path in (DOCS / "papers" / animal).iterdir()}
        assert shown == {entry.name for entry in load(animal).figures}


def test_the_ends_of_table_1_are_within_the_rounding_of_their_print():
    hair = ENDS["hair"]
    assert f"{1e3 * hair.length:.0f} {1e6 * hair.base_radius:.1f} {1e6 * hair.tip_radius:.2f}" == "49 91.4 1.75"
    assert f"{ENDS['density'] / 1e3:.2f}" == "1.14"
    assert [f"{value / 1e9:.2f}" for value in ENDS["modulus"]] == ["4.50", "3.08"]
    assert [f"{value:.3f}" for value in ENDS["damping_ratio"]] == ["0.988", "0.033"]


CHEAP = {
    "lamprey table_3",
    *(f"whisker_chain {name}" for name in ("table_1", "figure_6", "figure_7", "figure_9", "figure_10", "figure_11")),
}
"""Figures that are computed in the default run."""

SLOW = {
    "worm figure_2",
    "worm figure_4",
    "worm figure_4_supplement_1",
    "lamprey figure_4",
    "whisker_rod table_1",
    "lamprey section_4.1",
    "whisker_rod figure_5",
    "worm figure_3",
    *(f"worm figure_5_supplement_{k}" for k in (2, 3)),
    *(f"worm appendix_1_figure_{k}" for k in (3, 4, 5, 6)),
    "whisker_rod figure_5_modes",
    "whisker_rod figure_5_sticks",
    "whisker_rod figure_5_correlations",
    "neuromechanic figure_2",
}
"""Figures that take half a minute and more; what `test_settled` has of them is computed with ``full``."""

TOLERANCE = {
    "whisker_rod figure_5": 1e-2,
    "whisker_rod figure_5_correlations": 1e-2,
    "whisker_rod figure_5_sticks": 0.05,
    "neuromechanic figure_2": 0.05,
    "neuromechanic figure_3": 1e-3,
    "neuromechanic illustration_2": 1.0,
}
"""How far ours may be from what was written, relative: chaos, samples that differ with LAPACK, and rounding errors."""

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def _figures():
    for animal in PAPERS:
        for figure in printed(animal):
            name = f"{animal} {figure}"
            marks = () if name in CHEAP else pytest.mark.slow if name in SLOW else pytest.mark.full
            yield pytest.param(animal, figure, marks=marks)


@pytest.mark.paper
@pytest.mark.parametrize(("animal", "figure"), list(_figures()))
def test_a_figure_has_the_numbers_that_were_written(animal, figure):
    written = [row for name, entry, row in read(DOCS / "papers.csv") if (name, entry) == (animal, figure)]
    sheet = Sheet(printed(animal)[figure])
    next(entry for entry in load(animal).figures if entry.name == figure).draw(sheet)
    found = sheet.comparisons()
    name = f"{animal} {figure}"
    assert [row.what for row in found] == [row.what for row in written]
    assert [row.agrees for row in found] == [row.agrees for row in written]
    for ours, theirs in zip(found, written, strict=True):
        if "a time of this machine" in ours.note:
            continue
        assert ours.ours == pytest.approx(theirs.ours, rel=TOLERANCE.get(name, 1e-4), abs=1e-9), ours.what
        if name not in TOLERANCE:
            assert ours.note == theirs.note
        assert NUMBER.sub("", ours.note) == NUMBER.sub("", theirs.note)
        values = [[float(value) for value in NUMBER.findall(row.note)] for row in (ours, theirs)]
        assert values[0] == pytest.approx(values[1], rel=0.1, abs=0.02), ours.what


@pytest.mark.full
@pytest.mark.parametrize("name", ["lamprey figure_4", "whisker_chain figure_7"])
def test_a_picture_is_drawn(name, tmp_path):
    """By the other tests its numbers are handed over, and its text is not set."""
    animal, figure = name.split()
    entry = next(entry for entry in load(animal).figures if entry.name == figure)
    assert draw(entry, printed(animal)[figure], tmp_path) and (tmp_path / f"{figure}.png").stat().st_size > 1e5


# A model that is a fifth wrong fails the page of its paper


def _drawn(animal, figure):
    sheet = Sheet(printed(animal)[figure])
    next(entry for entry in load(animal).figures if entry.name == figure).draw(sheet)
    return {(figure, row.name): sheet.values[row.name] for row in sheet.rows}


def _default(monkeypatch, params, **changed):
    """Give a class of parameters other defaults."""
    names = [name for name, entry in signature(params).parameters.items() if entry.default is not entry.empty]
    values = [changed.get(name, value) for name, value in zip(names, params.__init__.__defaults__, strict=True)]
    monkeypatch.setattr(params.__init__, "__defaults__", tuple(values))


def _chain(name, figure):
    def measure(monkeypatch, factor):
        monkeypatch.setitem(chain_table(), name, factor * chain_table()[name])
        return _drawn("whisker_chain", figure)

    return measure


def _rod(name):
    def measure(monkeypatch, factor):
        _default(monkeypatch, WhiskerRodParams, **{name: factor * getattr(WhiskerRodParams(), name)})
        return _drawn("whisker_rod", "table_1")

    return measure


def _lamprey(name):
    def measure(monkeypatch, factor):
        lamprey = Lamprey(LampreyParams(**{name: factor * getattr(LampreyParams(), name)}))
        swims = [Swimming(lamprey, run) for run in swim(lamprey, [swimming.SLOW, swimming.FAST])]
        figures = zip(("figure_4", "figure_5"), swims, strict=True)
        return {(figure, what): getattr(run, what) for figure, run in figures for what in ("frequency", "speed")}

    return measure


def _worm(name):
    def measure(monkeypatch, factor):
        worm = Worm(WormParams(**{name: factor * getattr(WormParams(), name)}))
        return {("figure_2", "crawl"): MM * crawl_speed(worm), ("figure_2", "swim"): MM * swim_speed(worm)}

    return measure


def _worm_friction(monkeypatch, factor):
    def medium(sigma):
        found = worm_medium(sigma)
        return found | {"friction_perpendicular": factor * found["friction_perpendicular"]}

    monkeypatch.setattr("papers.worm.analysis.medium", medium)
    return _worm("stiffness")(monkeypatch, 1.0)


def _standing(monkeypatch, factor):
    animal = Neuromechanic(standing(delay=factor * DELAY), 2.5e-4)
    (slip, _), lifts = events(simulate(animal, reflex_input(), 2.5, every=1e-3, hold=1e-3))
    return {("figure_3", "slip"): slip, ("figure_3", "lift"): min(lifts)}


WRONG = {
    "worm friction across": (_worm_friction, 0.8),
    "lamprey muscle_gain": (_lamprey("muscle_gain"), 0.8),
    "whisker_chain stiffness": (_chain("joint_stiffness", "figure_11"), 0.8),
    "whisker_rod youngs_modulus": (_rod("youngs_modulus"), 0.8),
    "neuromechanic delay": (_standing, 1.2),
}
"""Constants of the models: how rows of a page are computed with a factor on them, and a factor that is wrong."""


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_model_fails_its_page(name, monkeypatch):
    measure, factor = WRONG[name]
    rows = {(row.figure, row.name): row for part in printed(name.split()[0]).values() for row in part}
    verdicts = []
    for value in (1.0, factor):
        with monkeypatch.context() as patched:
            found = measure(patched, value)
        verdicts.append({key: rows[key].low <= ours <= rows[key].high for key, ours in found.items()})
    right, wrong = verdicts
    assert right != wrong
    assert any(right.values()), "the right model has something to lose"
