"""The benchmark, the speed report and the shaping function."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import asdict
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import scipy.stats
from ids import ALL
from pieces import marked

import gymnosoma
from gymnosoma.agents.benchmark import benchmark, entrants, results
from gymnosoma.agents.benchmark import protocol as contest
from gymnosoma.agents.benchmark.benchmark import KEPT, normalised
from gymnosoma.agents.benchmark.jobs import MAX_EPISODES, VALIDATION_EPISODES, Job, do, jobs_of
from gymnosoma.agents.benchmark.statistics import (
    aggregate,
    difference,
    estimate,
    holm,
    interquartile_mean,
    profile,
    seconds_to,
    share,
)
from gymnosoma.agents.controllers import Oracle, worm
from gymnosoma.agents.learning.runs import recipe
from gymnosoma.agents.learning.search import CONSTANT, search
from gymnosoma.agents.policies.agent import reference_policy
from gymnosoma.agents.policies.evaluation import BENCHMARK_SEED, SEARCH_SEED, VALIDATION_SEED, Episodes, evaluate
from gymnosoma.agents.policies.fingerprints import of_id
from gymnosoma.agents.policies.lookup import find_policy, shipped
from gymnosoma.agents.policies.registry import references_of, task_class, task_of
from gymnosoma.agents.support.workers import RETRIES, workers
from gymnosoma.envs import CATALOGUE, tolerance
from gymnosoma.envs.core.env.documentation import normaliser, normalisers
from tools import gates, oracle, publish

CRAWL, SWIM = "gymnosoma/WormCrawl-v0", "gymnosoma/WormSwim-v0"


def jobs_in(folder):
    return {file.relative_to(folder / "jobs").as_posix() for file in (folder / "jobs").rglob("*.json")}


def test_a_benchmark_repeats_nothing_and_can_be_run_again(tmp_path, monkeypatch, command, capsys):
    """Small, of policies that need no search; the second time all is there, in another folder all is the same."""
    arguments = ("benchmark", "WormSwim-v0", "--policy", "trained", "--episodes", 4, "--folder")
    command(*arguments, tmp_path / "a")
    assert jobs_in(tmp_path / "a") == {f"WormSwim-v0/{name}.json" for name in ("random", "baseline", "trained")}
    first = (tmp_path / "a" / "benchmark.json").read_bytes()
    for name in ("benchmark.png", "profiles.png"):
        assert (tmp_path / "a" / name).stat().st_size > 5_000
    (tmp_path / "a" / "jobs" / "WormSwim-v0" / "baseline.json").unlink()
    done = []
    monkeypatch.setattr(benchmark, "do", lambda job, folder: (done.append(job.name), do(job, folder)))
    command(*arguments, tmp_path / "a")
    assert done == ["WormSwim-v0/baseline"]
    assert (tmp_path / "a" / "benchmark.json").read_bytes() == first
    policies = json.loads(first)["results"][SWIM]["policies"]
    # Measured in four episodes: 0.0 and 0.81 of the scale.
    assert policies["baseline"]["normalised"] < 0.3 < 0.6 < policies["trained"]["normalised"] < 1.05
    assert policies["trained"]["ahead"]["baseline"]["p"] < 0.05
    assert policies["trained"]["trainings"] == 0  # it comes with the package
    with pytest.raises(SystemExit, match=r"episodes must be 4, with which .* was measured, got 5"):
        command(*arguments[:-2], 5, "--folder", tmp_path / "a")
    (tmp_path / "a" / "jobs" / "WormSwim-v0" / "random.json").write_text("{}")
    with pytest.raises(SystemExit, match=r"random.json' is no result of a benchmark: it lacks scores"):
        command(*arguments, tmp_path / "a")


def test_what_fails_is_told_and_the_rest_is_done(tmp_path, monkeypatch, command, capsys):
    def broken(job, folder):
        if job.policy == "baseline":
            raise OSError(28, "No space left on device")
        do(job, folder)

    monkeypatch.setattr(benchmark, "do", broken)
    command("benchmark", "WormSwim-v0", "--policy", "random", "--episodes", 2, "--folder", tmp_path)
    said = " ".join(capsys.readouterr().out.split())
    assert "WormSwim-v0/baseline: OSError: [Errno 28] No space left on device" in said
    assert "1 results are missing" in said and jobs_in(tmp_path) == {"WormSwim-v0/random.json"}
    assert json.loads((tmp_path / "benchmark.json").read_text())["missing"] == ["WormSwim-v0/baseline"]


PIECES = ("a", "fails", "dies", "b", "dies once", "c")


def begun(folder):
    return {path.name: path.read_text().count("begun") for path in folder.iterdir()}


@pytest.mark.full
def _changed(document):
    """Copies of a JSON document in which one value is another, or is not there."""
    for key in document if isinstance(document, dict) else range(min(1, len(document))):
        for value in (None, [], {}, "x", True, np.nan, -np.inf, 10**400):
            copy = document.copy()
            copy[key] = value
            yield copy
        copy = document.copy()
        del copy[key]
        yield copy
        if isinstance(document[key], dict | list):
            for value in _changed(document[key]):
                copy = document.copy()
                copy[key] = value
                yield copy


def test_what_a_result_holds_is_checked(tmp_path):
    job = Job("gymnosoma/WormMedium-v0", "random", episodes=2)
    do(job, tmp_path)
    found, refused = job.result(tmp_path), 0
    for mutant in _changed(found):
        job.file(tmp_path).write_text(json.dumps(mutant))
        try:
            read = job.result(tmp_path)
        except ValueError as error:
            assert "WormMedium" in str(error) and len(str(error).splitlines()) == 1
            refused += 1
        else:
            changed = {key for key in found if read[key] != found[key]}
            assert changed <= {"score", "unit", "env", "versions", "job"}  # texts and tables of anything
            assert all(read["job"].get(key) == value for key, value in found["job"].items())
    assert refused > 150


def test_a_process_that_dies_takes_nothing_with_it(tmp_path):
    with workers(processes=2) as engine:
        found = {name: rest for name, *rest in engine.work(marked, {name: (tmp_path, name) for name in PIECES})}
        assert found.pop("dies") == [None, f"a process died, and again in each of {RETRIES} tries"]
        assert found.pop("fails") == [None, "ValueError: two lines"]
        assert found == {name: [name.upper(), None] for name in ("a", "b", "c", "dies once")}
        once = dict.fromkeys(("a", "b", "c", "fails"), 1)
        assert begun(tmp_path) == {**once, "dies": 1 + RETRIES, "dies once": 2}
        assert [outcome.value for outcome in engine.work(marked, {"d": (tmp_path, "d")})] == ["D"]  # it goes on


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--processes", "0"), "processes must be at least 1, got 0"),
        (("--processes", "two"), "processes must be a whole number, got 'two'"),
        (("--processes", "2", "--ray"), "processes must be left out where ray is given, got 2"),
    ],
)
def test_who_works_is_checked(tmp_path, command, capsys, given, message):
    with pytest.raises(SystemExit) as raised:
        command("benchmark", "WormSwim-v0", "--folder", tmp_path, *given)
    assert message in f"{raised.value} {' '.join(capsys.readouterr().err.replace('│', '').split())}"


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(ImportError, match=re.escape("ray is not installed: pip install 'gymnosoma[ray]'")),
        workers(ray=""),
    ):
        pass


RUN = """
import sys
from gymnosoma.cli import main
if __name__ == "__main__":
    sys.argv = ["gymnosoma", *sys.argv[1:]]
    main.main()
"""
SMALL = ("benchmark", "WormSwim-v0", "--policy", "random", "trained", "--train-seeds", "2", "--steps", "60000",
         "--episodes", "16", "--processes", "2", "--folder")  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="there are no such signals")
@pytest.mark.slow
@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_a_benchmark_that_is_killed_goes_on(tmp_path, blow):
    """In the midst of two trainings; what it finds in the end is, to the bit, what it would have found undisturbed."""
    script = tmp_path / "run.py"
    script.write_text(RUN)

    def begin(folder):
        return subprocess.Popen(
            [sys.executable, script, *SMALL, folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    undisturbed = begin(tmp_path / "a")
    assert undisturbed.wait(600) == 0, undisturbed.stderr.read()
    process = begin(tmp_path / "b")
    curve = tmp_path / "b" / "runs" / "WormSwim-v0-0" / "config.json"
    deadline = time.monotonic() + 300.0
    while not curve.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(blow)
    assert process.wait(60) != 0
    assert not (tmp_path / "b" / "jobs" / "WormSwim-v0" / "trained-0.json").exists()
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "b" / "jobs").rglob("*.json")}
    again = begin(tmp_path / "b")
    assert again.wait(600) == 0, again.stderr.read()
    assert all(path.stat().st_mtime_ns == when for path, when in done.items())
    assert jobs_in(tmp_path / "a") == jobs_in(tmp_path / "b")
    for name in jobs_in(tmp_path / "a"):
        one, other = (json.loads((tmp_path / k / "jobs" / name).read_text()) for k in "ab")
        for key in ("scores", "return", "failed", "validation"):
            assert one.get(key) == other.get(key)
        if "curve" in one:
            assert one["curve"]["steps"] == other["curve"]["steps"]
            assert one["curve"]["score"] == other["curve"]["score"]
    results = json.loads((tmp_path / "b" / "benchmark.json").read_text())["results"][SWIM]
    assert results["policies"]["trained"]["trainings"] == 2 and "95% of the scale" in results["seconds"]
    assert (tmp_path / "b" / "curves.png").stat().st_size > 5_000


def test_the_search_finds_a_better_wave():
    _, parameters, policy = search(CRAWL, generations=6)
    assert 0.1 <= parameters["amplitude"] <= 0.9
    found, paper = (evaluate(CRAWL, p, 8).info["priced_speed"].mean() for p in (policy, find_policy(CRAWL, "baseline")))
    assert found > 1.5 * paper


def test_what_the_search_finds_is_no_worse_than_the_reference():
    """At its price the paper's wave in water is the best: what was luckier in a few episodes must not replace it."""
    *_, policy = search(SWIM, generations=1)
    found, paper = (evaluate(SWIM, p, 8).info["priced_speed"].mean() for p in (policy, find_policy(SWIM, "baseline")))
    assert found > 0.999 * paper


def test_seeds_do_not_meet():
    """Nor those of training, whose rows begin with its own seed, one more each."""
    most = max(recipe(env_id)["num_envs"] for env_id in ALL) + 1000
    starts = [most, BENCHMARK_SEED, VALIDATION_SEED, SEARCH_SEED]
    assert starts == sorted(starts) and BENCHMARK_SEED + MAX_EPISODES <= VALIDATION_SEED
    assert VALIDATION_SEED + VALIDATION_EPISODES <= SEARCH_SEED


# Statistics: against scipy's and by how often intervals hold what they should.


def scores(n, m, mean, seed):
    return np.random.default_rng(seed).normal(mean, 1.0, (n, m))


def test_intervals_and_differences_are_students():
    x, y, one, other = scores(5, 40, 0.5, 0), scores(4, 40, 0.2, 1), scores(1, 40, 0.0, 2), scores(1, 40, 0.1, 3)
    known = scipy.stats.ttest_1samp(x.mean(1), 0.0)
    assert estimate(x)[0] == x.mean() and estimate(x)[1] == pytest.approx(tuple(known.confidence_interval()))
    assert estimate(one)[1] == pytest.approx(tuple(scipy.stats.ttest_1samp(one[0], 0.0).confidence_interval()))
    welch = scipy.stats.ttest_ind(x.mean(1), y.mean(1), equal_var=False)
    found = difference(x, y)
    assert found.p == pytest.approx(welch.pvalue)
    assert found.interval == pytest.approx(tuple(welch.confidence_interval()))
    assert difference(one, other).p == pytest.approx(scipy.stats.ttest_rel(one[0], other[0]).pvalue)
    assert difference(x, one).mean == pytest.approx(-difference(one, x).mean)
    assert estimate(np.ones((2, 5)))[1] == (1.0, 1.0) and difference(one, one) == (0.0, (0.0, 0.0), 1.0)
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06]) and holm([]) == []
    assert share(0, 5) == pytest.approx((0.0, 0.522), abs=1e-3)


@pytest.mark.parametrize("n", [3, 5, 10, 20])
def test_intervals_cover(n):
    """Of 4,000 experiments: trainings in frozen episodes, and beside a fixed policy in episodes that are drawn anew."""
    rng = np.random.default_rng(n)
    mean, beside = 0, 0
    for _ in range(4000):
        shared, trained = rng.normal(0.0, 1.0, (1, 30)), rng.normal(0.0, 0.3, (n, 1))
        low, high = estimate(trained + rng.normal(0.0, 0.5, (n, 30)))[1]
        mean += low < 0.0 < high
        x, y = trained + shared + rng.normal(0.0, 0.5, (n, 30)), shared + rng.normal(0.0, 1.0, (1, 30))
        low, high = difference(x, y).interval
        beside += low < 0.0 < high
    assert 0.94 < mean / 4000 < 0.96 and 0.94 < beside / 4000 < 0.975, (mean / 4000, beside / 4000)


def test_interquartile_means_are_rliables():
    assert interquartile_mean([0.0, 1.0, 2.0, 100.0]) == 1.5
    x = scores(5, 7, 0.0, 0)
    kept = np.sort(x.ravel())[8:-8]  # a quarter of 35, rounded down
    assert interquartile_mean(x, axis=None) == pytest.approx(kept.mean(), rel=1e-14)


def test_aggregates_and_profiles_are_of_all_trainings():
    by_id = {f"id{k}": scores(n, 10, k, k) for k, n in enumerate((1, 5, 5))}
    runs = [row.mean() for own in by_id.values() for row in own]
    found = aggregate(by_id)
    assert found["mean"] == found["unclipped"] == pytest.approx(np.mean([own.mean() for own in by_id.values()]))
    assert found["middle"] == pytest.approx(np.mean(sorted(runs)[2:-2])) and (found["ids"], found["runs"]) == (3, 11)
    assert found["interval"][0] < found["mean"] < found["interval"][1]
    worse = aggregate(by_id | {"far": np.full((2, 10), -9.0)})
    assert worse["mean"] == pytest.approx((3 * found["mean"] - 1.0) / 4)
    assert worse["unclipped"] == pytest.approx((3 * found["mean"] - 9.0) / 4)
    assert profile(by_id, [-5.0, 1.5, 5.0]).tolist() == [1.0, np.mean([run > 1.5 for run in runs]), 0.0]


def test_seconds_until_a_score_is_passed():
    curves = [{"seconds": [1.0, 2.0, 3.0], "score": [0.0, 1.0, last]} for last in (2.0, 2.0, 0.0)]
    assert seconds_to(curves, 1.0) == 2.0 and seconds_to(curves, 2.0) == 3.0
    assert seconds_to(curves, 3.0) is None and seconds_to([], 0.0) is None and seconds_to(curves[2:], 2.0) is None


def test_scores_are_normalised_by_what_is_frozen():
    assert normalisers().keys() <= {entry.name for entry in CATALOGUE}
    for name, scale in normalisers().items():
        assert list(scale) == [*publish.SCALE] and scale["floor"] < scale["best"] and scale["why"]
        assert normalised(f"gymnosoma/{name}", np.array([scale["floor"], scale["best"]])).tolist() == [0.0, 1.0]
    assert normaliser("gymnosoma/WormTurn-v0") is None and normalised("gymnosoma/WormTurn-v0", np.ones(2)) is None


# What is written: assets/benchmark.json, and README's table, documentation and thresholds made from it.

ROOT = Path(gymnosoma.__file__).resolve().parents[1]
FIGURES = json.loads((ROOT / "assets" / "benchmark.json").read_text())


def test_readme_holds_the_figures():
    assert publish.in_readme((ROOT / "README.md").read_text("utf-8")) == publish.readme_table(FIGURES)
    known = [f"gymnosoma/{entry.name}" for entry in CATALOGUE]
    assert list(FIGURES["results"]) == [env_id for env_id in known if env_id in FIGURES["results"]]


def test_documentation_holds_the_figures():
    entry = FIGURES["results"][SWIM]["policies"]["baseline"]
    line = next(line for line in gymnasium.make(SWIM).unwrapped.__doc__.splitlines() if line.startswith("| baseline"))
    assert [cell.strip() for cell in line.strip("|").split("|")][1] == f"{entry['mean']:.3g}"


def test_learning_curves_agree_with_the_figures():
    curves = json.loads((ROOT / "docs" / publish.CURVES).read_text())
    assert list(curves) == [env_id for env_id, one in FIGURES["results"].items() if "seconds" in one]
    for env_id, trainings in curves.items():
        result = FIGURES["results"][env_id]
        again = {what: seconds_to(trainings, level) for what, level in benchmark.levels(result).items()}
        assert benchmark.rounded(again) == result["seconds"]


def test_learning_curves_are_thinned():
    long = {name: np.linspace(0.0, 1.0, 201).tolist() for name in ("steps", "seconds", "score")}
    short = {name: [0.123456, 2.0] for name in long}
    found = json.loads(publish.written_curves({SWIM: [long, short], CRAWL: [short]}))
    assert list(found) == [SWIM, CRAWL] and found[CRAWL] == [{name: [0.1235, 2.0] for name in long}]
    assert len(found[SWIM][0]["steps"]) == publish.POINTS and found[SWIM][0]["score"][::49] == [0.0, 1.0]
    assert json.loads(publish.written_curves({})) == {}


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_thresholds_lie_between_the_best_constant_and_the_best_known(entry):
    between = publish.thresholds(FIGURES).get(f"gymnosoma/{entry.name}")
    if between is None:  # it was not measured yet, or nothing that is known is better
        assert entry.reward_threshold is None
    else:
        assert between[0] < entry.reward_threshold <= between[1]


QUICK = {"WormSwim-v0": "trained", "WhiskerTexture-v0": "baseline"}
"""What is measured by default: a network, and an animal's own controller."""


CHAOTIC = ("gymnosoma/LampreyWaypoints-v0", "trained")
"""In its 30 s the last digits of a network grow to other ways through the waypoints."""


def sampled():
    """Each policy of each id."""
    for env_id, result in FIGURES["results"].items():
        for name in result["policies"]:
            few = QUICK.get(env_id.split("/")[1]) == name
            told = name not in ("zero", "random")
            yield pytest.param(env_id, name, marks=[] if few else pytest.mark.full if told else pytest.mark.slow)


@pytest.mark.parametrize(("env_id", "name"), list(sampled()))
def test_the_figures_can_be_measured_again(env_id, name):
    """The first episodes; a network of a few rows is multiplied in another order than one of many, and rounds so."""
    entry = FIGURES["results"][env_id]["policies"][name]
    if entry["trainings"]:  # the best of them comes with the package
        entry = FIGURES["results"][env_id]["shipped"]
    if name == CONSTANT:
        own = references_of(env_id)
        searched = entry.get("reference") or next(name for name, reference in own.items() if reference.bounds)
        policy = reference_policy(name, own[searched], **entry["parameters"])
    else:
        policy = find_policy(env_id, name)
    score = task_of(env_id).score
    if (env_id, name) == CHAOTIC:
        scores = evaluate(env_id, policy, 64, BENCHMARK_SEED).score(score) * score.factor
        assert abs(scores.mean() - entry["mean"]) < 3.0 * scores.std() / 8.0
        return
    again = evaluate(env_id, policy, KEPT, BENCHMARK_SEED)
    tolerance = 1e-4 if name == "trained" else 1e-8
    np.testing.assert_allclose(again.score(score) * score.factor, entry["first"], rtol=tolerance, atol=1e-9)


def test_the_best_training_is_shipped_if_it_may_be(tmp_path, monkeypatch):
    """By its score in the episodes for that; a run is here the policy that comes with the package."""
    jobs = jobs_of(SWIM, ["trained"], trainings=2)[-2:]
    assets = tmp_path / "assets" / "policies" / "WormSwim-v0"
    for job, validation in zip(jobs, (0.1, 0.2), strict=True):
        shutil.copytree(shipped(SWIM), job.run(tmp_path))
        card = json.loads((shipped(SWIM) / "card.json").read_text())
        card["versions"]["training"] = str(job.training)
        (job.run(tmp_path) / "card.json").write_text(json.dumps(card))
        job.file(tmp_path).parent.mkdir(parents=True, exist_ok=True)
        scores = {"scores": [0.0] * 256, "return": 0.0, "failed": 0.0}
        played = scores | {"splits": {"test": scores, "robust": scores}, "seconds": 0.0, "validation": validation}
        of = {"job": asdict(job), "depends": job.depends, "score": "", "unit": "", "env": {}, "versions": {}}
        job.file(tmp_path).write_text(json.dumps(played | of))

    def said():
        return publish.ship(jobs, benchmark.gather(jobs, tmp_path), tmp_path, tmp_path)

    body = {"unit": "nW", "policies": {"baseline": 5.0, "WormSwim-v0-1": 9.0, "WormSwim-v0-0": 8.0}, "limit": 7.0}
    monkeypatch.setattr(publish, "physiology", lambda *_, **__: {"muscle power": body})
    monkeypatch.setattr(publish, "evaluate", lambda *_, **__: Episodes(*[np.full(1, 3e-4)] * 2, [None], known))
    known = {"priced_speed": np.full(1, 3e-4)}
    assert said() == ["WormSwim-v0: training 1 of 2, validation score 0.2; not shipped: what is there has 0.3"]
    known["priced_speed"] = np.full(1, 1e-4)
    known["priced_speed"] = np.full(1, 0.0)
    best, next_best = said()
    assert best.endswith("not shipped, beyond the task's limits: muscle power 9 nW, at most 7")
    assert next_best.endswith(
        "training 0 of 2, validation score 0.1; not shipped, beyond the task's limits: muscle power 8 nW, at most 7"
    )
    assert not assets.exists()
    body["policies"]["WormSwim-v0-0"] = 6.0
    assert said()[1].endswith("training 0 of 2, validation score 0.1; shipped")
    assert json.loads((assets / "card.json").read_text())["versions"]["training"] == "0"
    body["policies"]["WormSwim-v0-1"] = 7.0
    assert said() == ["WormSwim-v0: training 1 of 2, validation score 0.2; shipped"]
    card = json.loads((assets / "card.json").read_text())
    assert card["versions"]["training"] == "1"
    assert card["scores"]["episodes"] == VALIDATION_EPISODES and card["scores"]["score_mean"] == 0.0
    assert (assets / "policy.safetensors").exists()
    jobs[0].file(tmp_path).unlink()
    assert said()[0].endswith("not shipped: 1 trainings are not done")


def test_what_is_shipped_is_measured_as_the_rows_beside_it():
    entry = publish.examine(SWIM, KEPT)
    assert entry["first"] == pytest.approx(FIGURES["results"][SWIM]["shipped"]["first"], rel=1e-4)
    assert entry["mean"] == pytest.approx(np.mean(entry["first"]))
    power = entry["physiology"]["muscle power"]
    assert power["trained"] < power["limit"] and power["unit"] == "nW"
    assert entry["physiology"] == publish.measured(SWIM, find_policy(SWIM, "trained"))


def test_a_trained_row_is_bold_where_it_is_surely_ahead():
    def row(*p):
        policies = {"trained": {"mean": 1.2, "interval": [1.1, 1.3], "trainings": 2, "episodes": 64}}
        policies["trained"]["ahead"] = {name: {"mean": 0.1, "p": one} for name, one in zip("ab", p, strict=True)}
        found = {"score": "return", "unit": "1", "policies": policies}
        results = {"results": {SWIM: found}, "aggregate": {}, "missing": []}
        short = "**1.2**" if max(p) < 0.05 else "1.2"
        assert f"| worm | {short} | [page](" in publish.readme_table(results)
        assert f"in {max(p) < 0.05:d} of 1 ids. [All" in publish.readme_table(results)
        return publish.table(results)

    assert "| **1.2** [1.1, 1.3] |" in row(0.01, 0.04) and "in 1 of 1 ids, all." in row(0.01, 0.04)
    assert "| 1.2 [1.1, 1.3] |" in row(0.01, 0.06)
    assert "in 0 of 1 ids, all but WormSwim-v0." in row(0.01, 0.06)


def test_bold_rows_are_adjusted_for_all_ids_though_each_was_measured_alone():
    def behind(p, mean=0.1):
        ahead = {"baseline": {"mean": mean, "p": p}, "zero": {"mean": 0.1, "p": 0.0}}
        return {"policies": {"trained": {"ahead": ahead}}}

    found = {"a": behind(0.02), "b": behind(0.03), "c": behind(0.001), "d": behind(0.001, -0.1), "e": {"policies": {}}}
    assert publish._ahead({"results": found}) == {"c"}
    assert publish._ahead({"results": {"a": found["a"], "c": found["c"]}}) == {"a", "c"}


def test_the_scale_is_frozen_anew(tmp_path, monkeypatch):
    (tmp_path / "assets").mkdir()
    monkeypatch.setattr(publish, "checkout", lambda: tmp_path)
    found = {name: [{"scores": [score, score + 0.1]}] for name, score in (("baseline", 0.1), ("zero", 0.2))}
    floors = publish.floors({SWIM: found, CRAWL: {"baseline": found["baseline"]}, "gymnosoma/WormTurn-v0": {}})
    assert floors == {SWIM: {"floor": 0.25}, CRAWL: {"floor": 0.15}}
    publish.freeze(floors | {"gymnosoma/WormTurn-v0": {"best": 1.0}})
    found = tomllib.loads((tmp_path / "assets" / "normalisers.toml").read_text())
    assert found.pop("WormSwim-v0") == {**normalisers()["WormSwim-v0"], "floor": 0.25}
    assert found.pop("WormCrawl-v0")["floor"] == 0.15 and found.pop("WormTurn-v0") == {"best": 1.0}
    assert found == {
        name: entry for name, entry in normalisers().items() if name not in ("WormSwim-v0", "WormCrawl-v0")
    }


def test_an_oracle_is_searched_in_pieces_and_knows_what_its_episode_hides(tmp_path, monkeypatch, capsys):
    """One number, the amplitude of the worm's wave: it finds in each episode at least what it began with."""

    class Wave:
        reads = ()

        def __init__(self, task, numbers):
            self.amplitude, self.place = numbers[:, :1], np.linspace(0.0, 1.0, task.animal.drive_size)

        def drive(self, t, signals, first):
            assert len(t) == len(self.amplitude)
            return self.amplitude * np.cos(2 * np.pi * (1.8 * self.place - t[:, None] / 1.6))

    monkeypatch.setattr(
        worm, "ORACLES", {task_class(CRAWL): Oracle(Wave, [0.3], [0.2], {"actions": "angles"})}, raising=False
    )
    monkeypatch.setattr(oracle, "TOGETHER", 2)
    arguments = {"episodes": 3, "generations": 2, "population": 4, "folder": tmp_path}
    oracle.oracle("WormCrawl-v0", **arguments)
    said = capsys.readouterr().out
    files = sorted(path for path in tmp_path.glob("*.json"))
    assert len(files) == 4 and "of 3 episodes" in said and "of the scale; at most 1%" in said
    kept = json.loads(files[0].read_text())
    assert np.all(np.array(kept["best"][0]) >= kept["start"]) and np.all(np.diff(kept["best"], axis=0) >= 0.0)
    before = files[0].stat().st_mtime_ns
    files[-1].unlink()
    oracle.oracle("WormCrawl-v0", **arguments)
    assert capsys.readouterr().out == said and files[0].stat().st_mtime_ns == before
    with pytest.raises(ValueError, match="id must be one with an oracle, got 'gymnosoma/WormReach-v0'"):
        oracle.oracle_of("gymnosoma/WormReach-v0")


def test_gates_are_those_of_how_the_ids_behave():
    """Every ranked id passes, by a row that was measured on what the id is now."""
    kept, known = gates.kept(), {entry.name: entry for entry in CATALOGUE}
    assert kept.keys() <= known.keys()
    for name, row in kept.items():
        assert " ".join(gates.failing(row)) == row["fails"]
        scale = normalisers()[name]
        assert (float(row["floor"]), float(row["best"])) == (scale["floor"], scale["best"])
    passing = {name for name, row in kept.items() if not row["fails"]}
    assert {entry.name for entry in CATALOGUE if entry.ranked} <= passing


@pytest.mark.full
def test_gates_were_measured_on_what_the_ids_are_now():
    for name, row in gates.kept().items():
        assert row["fingerprint"] == of_id(f"gymnosoma/{name}", {}), name


SHOWN = ROOT / "docs" / "contest" / "results.jsonl"


@pytest.mark.skipif(not SHOWN.is_file(), reason="these results are no part of the sdist")
def test_what_the_site_shows_is_complete():
    """Every ranked id, by five trainings or more of each learner, as it was checked."""
    rows = results.rows_of([SHOWN])
    assert {row["learner"] for row in rows} == {"ppo", "cma", "sac", "zero", "random", "baseline"}
    assert all("mean" in row for row in rows if row["mark"] < contest.MARKS[2])  # the last is of some ids
    assert len(rows) == len({(row["learner"], row["mark"]) for row in rows})


@pytest.mark.full
@pytest.mark.skipif(not SHOWN.is_file(), reason="these results are no part of the sdist")
def test_what_the_site_shows_was_measured_on_what_the_ids_are_now():
    lines = results.read(SHOWN)
    for env_id, found in {line["id"]: line["fingerprint"] for line in lines}.items():
        assert found == of_id(env_id, {}), env_id
    for learner in (line["learner"] for line in lines if line["mark"]):
        assert learner["config"] == getattr(entrants, learner["name"]).config


def test_gates_fail_where_they_should():
    row = {"id": "WormSwim-v0", "feedback": 0.2, "script_share": 0.9, "beyond": "", "half_width": 0.03, "failed": 0.0}
    row["saturation"] = 0.05
    assert gates.failing(row) == []
    worse = {"feedback": 0.19, "script_share": 0.91, "beyond": "power (sine)", "half_width": 0.031, "failed": 0.05}
    for gate, (name, value) in zip("abcde", worse.items(), strict=True):
        assert gates.failing(row | {name: value}) == [gate]
    assert gates.failing(row | {"saturation": 0.051}) == ["c"]
    assert gates.failing(row | {"id": "StandPulse-v0", "failed": 0.9}) == []
    with pytest.raises(ValueError, match="ids must be one where a policy is given, got 2"):
        gates.gates(("WormSwim-v0", "WormReach-v0"), policy="trained")


def test_tolerance():
    np.testing.assert_allclose(
        tolerance([-3.0, -1.0, 0.0, 1.0, 2.0, 3.0], -1.0, 1.0, 2.0), [0.1, 1.0, 1.0, 1.0, 1 / 3.25, 0.1]
    )
    assert tolerance([0.0, 2.0], 0.0, 1.0, 0.0).tolist() == [1.0, 0.0]
    for bad, message in (((1, 0, 1), "low must not exceed high"), ((0, 1, -1), "margin"), ((0, 1, 1, 2), "at_margin")):
        with pytest.raises(ValueError, match=message):
            tolerance(0.0, *bad)
