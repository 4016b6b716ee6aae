"""The command that measures speed: all of its parts run, and say what they measured."""

import json

import numpy as np
import pytest

from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core.model.animal import ANIMALS
from tools.speed import environments, first, lamprey, neuromechanic, opensim, sizes, threads


@pytest.mark.full
@pytest.mark.parametrize(
    ("animal", "peer"),
    [
        pytest.param("worm", "ElegansBot", marks=pytest.mark.slow),
        ("whisker_chain", "trep"),
        ("whisker_rod", "Radau"),
    ],
)
def test_speed_is_reported(animal, peer, tmp_path, command, capsys):
    file = tmp_path / "speed.json"
    command("speed", "--animal", animal, "--seconds", 0.1, "--repeats", 1, "--json-file", file)
    found = json.loads(file.read_text())
    figures = found["figures"]
    assert found["machine"]["cores"] >= 1 and found["machine"]["numba"]
    titles = [f"Simulation: {animal}", "`simulate` over the kernel", "Environments: steps a second"]
    assert list(figures)[:3] == titles
    assert all(row["value"] > 0 for title in titles for row in figures[title])
    assert all(np.isfinite(row["value"]) for rows in figures.values() for row in rows)
    assert peer in capsys.readouterr().out


@pytest.mark.slow
def test_threads_sizes_and_first_use_are_measured(monkeypatch):
    two = threads.threads(("whisker_rod",), 1, (20,))
    assert [row.what.split(", ", 2)[2] for row in two] == ["2 threads against one", "two programs of half as many"]
    assert all(row.ratio > 0 and row.value > 0 for row in two)
    counts = sizes.BODIES["worm"]
    monkeypatch.setattr(sizes, "BODIES", {"worm": (counts[0], (5, 10), counts[2])})
    small, large = sizes.sizes(("worm",), 1)
    assert small.ratio == 1.0 and large.value > 0 and "bytes a row" in large.note
    assert sizes._pendulum(3)["body"]["link_2"]["parent"] == "link_1"
    monkeypatch.setattr(first, "timed_ids", lambda animal: ("WhiskerRegulate-v0",))
    unit, cold, warm, *commands = first.first(("whisker_rod",), 1)
    assert unit.value > 0 and 0 < warm.value < cold.value and 0 < warm.ratio < cold.ratio
    assert [row.what for row in commands] == ["`list`", "`--help`"]


def test_all_animals_are_timed():
    for animal in ANIMALS:
        assert {f"{name}" for name in environments.timed_ids(animal)} <= {entry.name for entry in CATALOGUE}
    assert environments.timed_ids("whisker_chain") == ("WhiskerLocalize-v0",)  # the first of the catalogue


@pytest.mark.full
def test_hindlimb_and_standing_figure_are_timed():
    rows = neuromechanic.simulations(1, 0.1)
    assert all(row.value > 0 for row in rows)
    assert sum("muscles" in row.what for row in rows) == 2
    assert sum("standing" in row.what for row in rows) >= 4


def test_opensim_is_left_out_with_a_word_where_it_is_not_installed(monkeypatch, capsys):
    monkeypatch.setattr(opensim.importlib.util, "find_spec", lambda name: None)
    assert opensim.beside_opensim(1) == [] and "opensim is not installed" in capsys.readouterr().out


@pytest.mark.slow
def test_arm26_is_as_right_as_opensims_and_timed():
    pytest.importorskip("opensim.simulation")  # the folder beside this file is a module opensim, too
    theirs, ours, *torques = opensim.beside_opensim(1)
    errors = [float(row.note.split()[1]) for row in (theirs, ours)]
    assert errors[0] < 0.01 and errors[1] < 0.03  # rad; two of our lengths are fitted
    assert [row.unit for row in torques] == ["frames per CPU s"] * 2


@pytest.mark.full
def test_lamprey_is_timed_with_and_without_its_cord():
    rows = lamprey.simulations(1, 0.1)
    assert len(rows) == 8 and all(row.value > 1.0 for row in rows)
