"""The benchmark, the speed report and the shaping function."""

import json
import sys

import numpy as np
import pytest

from gymnosoma.agents.commands import main as cli
from gymnosoma.agents.commands.speed import ANIMALS
from gymnosoma.agents.evaluation.benchmark import _normalise, aggregate, interquartile_mean, interval, search
from gymnosoma.agents.evaluation.policies import evaluate, find_policy
from gymnosoma.agents.speed import environments, lamprey, neuromechanic
from gymnosoma.envs import CATALOGUE, tolerance

CRAWL, SWIM = "gymnosoma/WormCrawl-v0", "gymnosoma/WormSwim-v0"


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["gymnosoma", *map(str, arguments)])
    cli.main()


def test_a_benchmark_can_be_run_again(tmp_path, monkeypatch):
    call(monkeypatch, "benchmark", "WormSwim-v0", "--policy", "trained", "--episodes", 4, "--folder", tmp_path / "a")
    first = json.loads((tmp_path / "a" / "benchmark.json").read_text())
    call(monkeypatch, "benchmark", "--rerun", tmp_path / "a" / "benchmark.json", "--folder", tmp_path / "b")
    assert json.loads((tmp_path / "b" / "benchmark.json").read_text()) == first
    assert (tmp_path / "b" / "benchmark.png").stat().st_size > 10_000
    policies = first["results"][SWIM]["policies"]
    assert list(policies) == ["random", "baseline", "trained"]
    assert policies["random"]["normalised"] == 0.0
    # Measured: 0.82 and 1.00 of the best known.
    assert policies["baseline"]["normalised"] < 0.9 < policies["trained"]["normalised"] < 1.05


@pytest.mark.parametrize("content", ["{}", "not json", "[1]"])
def test_a_file_without_a_benchmark_is_refused(tmp_path, monkeypatch, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(SystemExit, match="holds no benchmark"):
        call(monkeypatch, "benchmark", "--rerun", tmp_path / "x.json")


def test_the_search_finds_a_better_wave():
    parameters, policy = search(CRAWL, generations=6)
    assert 0.1 <= parameters["amplitude"] <= 0.9
    found, paper = (evaluate(CRAWL, p, 8).info["priced_speed"].mean() for p in (policy, find_policy(CRAWL, "baseline")))
    assert found > 1.5 * paper


def test_what_the_search_finds_is_no_worse_than_the_reference():
    """At its price the paper's wave in water is the best: what was luckier in a few episodes must not replace it."""
    _, policy = search(SWIM, generations=1)
    found, paper = (evaluate(SWIM, p, 8).info["priced_speed"].mean() for p in (policy, find_policy(SWIM, "baseline")))
    assert found > 0.999 * paper


def result(best, apart, seed=0):
    """Result of an id on which the baseline is ``apart`` from chance."""
    episodes = np.random.default_rng(seed).normal(0, 1, (2, 50)) + np.array([[0.0], [apart]])
    names = ("random", "baseline")
    policies = {n: {"mean": e.mean(), "episodes": e.tolist()} for n, e in zip(names, episodes, strict=True)}
    found = {"best": best, "policies": policies}
    _normalise(found)
    return found


def test_scores_are_normalised_by_chance_and_the_best_known():
    policies = result(5.0, 2.0)["policies"]
    chance, own = (policies[name]["mean"] for name in ("random", "baseline"))
    assert policies["random"]["normalised"] == 0.0
    assert policies["baseline"]["normalised"] == pytest.approx((own - chance) / (5.0 - chance))
    for best in (None, chance + 0.1):  # not known, or not to be told from chance
        assert result(best, 2.0)["policies"]["baseline"]["normalised"] is None


def test_the_aggregate_is_an_interquartile_mean():
    assert interquartile_mean([0.0, 1.0, 2.0, 100.0]) == 1.5
    results = {f"id{k}": result(10.0, apart, k) for k, apart in enumerate((0.0, 2.0, 4.0, 9.0))}
    results["none"] = result(None, 5.0)
    found = aggregate(results, "baseline")
    means = [results[f"id{k}"]["policies"]["baseline"]["normalised"] for k in range(4)]
    assert found["mean"] == pytest.approx(np.mean(sorted(means)[1:3])) and found["ids"] == 4
    low, high = found["interval"]
    assert low < found["mean"] < high and 0.02 < high - low < 0.12
    assert aggregate(results, "baseline") == found
    assert aggregate(results, "trained") is None


def test_intervals_hold_the_mean():
    values = np.random.default_rng(1).exponential(1.0, 200)
    low, high = interval(values)
    assert low < values.mean() < high
    assert high - low == pytest.approx(4 * values.std() / np.sqrt(200), rel=0.2)
    assert interval(np.ones(5)) == (1.0, 1.0)


@pytest.mark.full
@pytest.mark.parametrize(
    ("animal", "peer"),
    [("worm", "ElegansBot"), ("whisker_chain", "trep"), ("whisker_rod", "Radau")],
)
def test_speed_is_reported(animal, peer, tmp_path, monkeypatch, capsys):
    file = tmp_path / "speed.json"
    call(monkeypatch, "speed", "--animal", animal, "--seconds", 0.1, "--repeats", 1, "--json-file", file)
    figures = json.loads(file.read_text())
    assert list(figures)[:2] == [f"Simulation: {animal}", "Environments: steps a second"]
    assert all(row["value"] > 0 for rows in list(figures.values())[:2] for row in rows)
    assert all(np.isfinite(row["value"]) for rows in figures.values() for row in rows)
    assert peer in capsys.readouterr().out


def test_all_animals_are_timed():
    assert ANIMALS == ("worm", "lamprey", "whisker_chain", "whisker_rod", "neuromechanic")
    for animal in ANIMALS:
        assert {f"{name}" for name in environments.timed_ids(animal)} <= {entry.name for entry in CATALOGUE}
    assert environments.timed_ids("whisker_chain") == ("WhiskerLocalize-v0",)  # the first of the catalogue


@pytest.mark.full
def test_hindlimb_and_standing_figure_are_timed():
    rows = neuromechanic.simulations(1, 0.1)
    assert all(row.value > 0 for row in rows)
    assert sum("muscles" in row.what for row in rows) == 2
    assert sum("standing" in row.what for row in rows) >= 4


@pytest.mark.full
def test_lamprey_is_timed_with_and_without_its_cord():
    rows = lamprey.simulations(1, 0.1)
    assert len(rows) == 8 and all(row.value > 1.0 for row in rows)


def test_tolerance():
    np.testing.assert_allclose(
        tolerance([-3.0, -1.0, 0.0, 1.0, 2.0, 3.0], -1.0, 1.0, 2.0), [0.1, 1.0, 1.0, 1.0, 1 / 3.25, 0.1]
    )
    assert tolerance([0.0, 2.0], 0.0, 1.0, 0.0).tolist() == [1.0, 0.0]
    for bad, message in (((1, 0, 1), "low must not exceed high"), ((0, 1, -1), "margin"), ((0, 1, 1, 2), "at_margin")):
        with pytest.raises(ValueError, match=message):
            tolerance(0.0, *bad)
