"""A model that is a fifth wrong fails the page of its paper."""

from inspect import signature

import pytest

from gymnosoma.envs import simulate
from gymnosoma.envs.lamprey import Lamprey, LampreyParams
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.standing import DELAY, reflex_input, standing
from gymnosoma.envs.whisker_chain.params import table as chain_table
from gymnosoma.envs.whisker_rod import WhiskerRodParams
from gymnosoma.envs.worm import Worm, WormParams
from gymnosoma.envs.worm import medium as worm_medium
from papers.lamprey.measures import Swimming, swim
from papers.lamprey.swimming import FAST, SLOW
from papers.neuromechanic.standing import events
from papers.paper import Sheet, load, printed
from papers.worm.analysis import crawl_speed, swim_speed
from papers.worm.drawing import MM


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
        swims = [Swimming(lamprey, run) for run in swim(lamprey, [SLOW, FAST])]
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
