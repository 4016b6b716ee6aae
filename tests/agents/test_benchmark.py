"""The benchmark: budgets, what learners see, results that can be checked, tables, statistics, work in processes."""

import errno
import inspect
import json
import shutil
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
import scipy.stats
import torch
from ids import ALL
from pieces import marked
from safetensors.numpy import save_file
from stable_baselines3 import PPO, SAC

from gymnosoma.agents.benchmark import checks, entrants, learners, results, tables
from gymnosoma.agents.benchmark.entrants import Job, jobs
from gymnosoma.agents.benchmark.protocol import MARKS, Budget, BudgetSpent, Reports, environments, measure
from gymnosoma.agents.benchmark.results import MAX_EPISODES, Entrant, Measurement, Result, ScoreName, Seconds
from gymnosoma.agents.benchmark.statistics import Estimate, combined, estimate, holm, of_points
from gymnosoma.agents.learning.runs import drawn_seeds, recipe
from gymnosoma.agents.learning.sb3_env import SB3VecEnv, network_of
from gymnosoma.agents.learning.search import CONSTANT, search
from gymnosoma.agents.policies import fingerprints
from gymnosoma.agents.policies.evaluation import BENCHMARK_SEED, SEARCH_SEED, VALIDATION_SEED, evaluate
from gymnosoma.agents.policies.fingerprints import env_fingerprint
from gymnosoma.agents.policies.lookup import find_policy, shipped
from gymnosoma.agents.policies.networks import Network
from gymnosoma.agents.support.schema import plain
from gymnosoma.agents.support.workers import RETRIES, run_jobs, workers
from gymnosoma.cli.benchmark import run
from gymnosoma.envs import tolerance
from gymnosoma.envs.core import files

CRAWL, SWIM, REACH = "gymnosoma/WormCrawl-v0", "gymnosoma/WormSwim-v0", "gymnosoma/WormReach-v0"
HOLD = "fixtures.learner:hold"
PUBLISHED = Path(__file__).parents[2] / "docs" / "results" / "results.jsonl.xz"


# What a learner sees.


def step(envs):
    return envs.step(np.zeros(envs.action_space.shape, np.float32))


def test_one_budget_counts_the_steps_of_all_environments():
    budget = Budget(25, 0)
    make = environments(SWIM, budget, "fixed")
    three, two = make(3), make(2)
    for envs in (three, two):
        envs.reset(seed=0)
        step(envs)
    assert (budget.used, budget.left) == (5, 20)
    for _ in range(6):
        step(three)
    with pytest.raises(BudgetSpent):
        step(three)
    assert budget.used == 23
    step(two)
    assert budget.left == 0


def test_rows_that_are_only_reset_spend_nothing():
    budget = Budget(10_000, 0)
    envs = environments(SWIM, budget, "open")(2, "NextStep", max_episode_steps=5)
    envs.reset(seed=0)
    for _ in range(12):
        step(envs)
    assert budget.used == 2 * 10


def test_a_learner_sees_no_more_than_the_track_shows():
    budget = Budget(10_000, 3)
    envs = environments(CRAWL, budget, "fixed")(2)
    assert not hasattr(envs, "save") and not hasattr(envs, "task") and not hasattr(envs.unwrapped, "batch")
    first, infos = envs.reset(seed=7)
    assert infos == {} and envs.spec.max_episode_steps == 400
    with pytest.raises(ValueError, match="options"):
        envs.reset(options={"curl": 0.0})
    with pytest.raises(ValueError, match="arguments of the environment"):
        environments(CRAWL, budget, "fixed")(2, history=2)
    for _ in range(400):
        *_, truncated, infos = step(envs)
    assert truncated.all() and infos["final_info"].keys() == {"score", "failure", "_score", "_failure"}
    assert np.isfinite(infos["final_info"]["score"]).all() and infos["final_obs"][0].shape == first[0].shape
    again = environments(CRAWL, Budget(9, 3), "fixed")(2).reset(seed=7)[0]
    other = environments(CRAWL, Budget(9, 4), "fixed")(2).reset(seed=7)[0]
    measured, _ = gymnasium.make_vec(CRAWL, 2).reset(seed=7)
    assert np.array_equal(again, first)
    assert not np.array_equal(other, first) and not np.array_equal(measured, first)
    opened = environments(CRAWL, Budget(100, 0), "open")(1, history=2)
    opened.reset(seed=0)
    assert opened.unwrapped.save()
    SB3VecEnv(envs).close()


def test_the_policy_reported_last_before_a_mark_plays_there(tmp_path):
    budget = Budget(100, 0)
    reports = Reports(tmp_path, budget, [30, 60])
    policy = learners.NetworkPolicy(Network.from_vectors(np.zeros(6), [2, 2]), squashed=True)
    for used in (10, 20, 40, 50, 70, 80):
        budget.used = used
        reports(policy)
    assert (reports.at(30), reports.at(60), reports.at(5)) == (20, 50, None)
    assert sorted(int(path.name) for path in tmp_path.iterdir()) == [20, 50, 80]
    assert learners.load(reports.place(80)).squashed


def test_a_policy_can_be_reported_at_each_mark():
    budget, steps = Budget(100, 0, [30, 60, 61]), []
    budget.at_mark(lambda: steps.append(budget.used))
    envs = environments(SWIM, budget, "fixed")(4)
    envs.reset(seed=0)
    with pytest.raises(BudgetSpent):
        while True:
            step(envs)
    assert steps == [28, 60, 100]


@pytest.mark.parametrize("name", learners.LEARNERS)
def test_learners_report_at_the_marks(name, tmp_path):
    """They reported every 25,000 steps, so that 75,008 stood for 100,000."""
    run_job(replace(training(name, marks=(100, 150)), episodes=2), tmp_path)
    config = learners.LEARNERS[name].config
    rows = config.get("num_envs") or config["population"] * config["episodes"]
    assert [line.steps for line in results.read(results.gather(tmp_path))] == [100 - 100 % rows, 150 - 150 % rows]
    assert all(mark % rows <= 0.01 * mark for mark in MARKS)


@pytest.mark.parametrize(
    ("name", "algorithm", "steps"),
    [("ppo_default", PPO, 2048), pytest.param("sac_default", SAC, 620, marks=pytest.mark.full)],
)
def test_default_learners_are_those_of_the_library(name, algorithm, steps):
    """Only the seeds of the episodes differ, because the benchmark replaces them. An episode takes 600 steps."""
    torch.set_num_threads(1)  # rounding depends on it
    reported, budget = [], Budget(steps, 3)
    with pytest.raises(BudgetSpent):
        learners.LEARNERS[name](
            environments(REACH, budget, "fixed"), steps=steps, seed=3, report=reported.append, track="fixed"
        )
    model = algorithm("MlpPolicy", gymnasium.make(REACH), seed=3)
    model.get_env()._seeds = Budget(0, 3).seeds(drawn_seeds(3, 0, 1), 1)
    start = network_of(model.policy).tensors()
    model.learn(steps)
    expected, [policy] = network_of(model.policy).tensors(), reported
    assert policy.network.tensors().keys() == expected.keys()
    for key, weights in policy.network.tensors().items():
        assert np.array_equal(weights, expected[key]) and not np.array_equal(weights, start[key])


def test_the_guide_lists_the_settings_of_all_learners():
    guide = (PUBLISHED.parents[1] / "guides" / "enter.md").read_text("utf-8")
    for name, learner in learners.LEARNERS.items():
        [row] = [line for line in guide.splitlines() if line.startswith(f"| `{name}` |")]
        settings = {} if learner.config is learners.DEFAULT else learner.config
        assert all(f"`{key}` {value}" in row for key, value in settings.items())


def test_a_saved_network_keeps_its_activation(tmp_path):
    vector = np.random.default_rng(0).normal(size=Network.length([3, 4, 2]))
    network = Network(Network.from_vectors(vector, [3, 4, 2]).layers, "ReLU")
    learners.NetworkPolicy(network, squashed=True).save(tmp_path)
    loaded, inputs = learners.load(tmp_path), np.ones((5, 3), np.float32)
    assert loaded.squashed and np.array_equal(loaded.network(inputs), network(inputs))


@pytest.mark.parametrize("name", ["layers.0.weight", "layers.1.weight", "layers.1.bias"])
def test_weights_of_a_turned_shape_are_refused(tmp_path, name):
    tensors = Network.from_vectors(np.zeros(Network.length([3, 4, 2])), [3, 4, 2]).tensors()
    tensors[name] = np.ascontiguousarray(np.atleast_2d(tensors[name]).T)
    save_file(tensors, tmp_path / "policy.safetensors")
    with pytest.raises(ValueError, match=rf"tensor 'layers\.\d\.{name[9:]}' must be F32 \(.*\), got F32 \(.*\)"):
        learners.load(tmp_path)


def test_observations_of_another_size_are_refused():
    network = Network.from_vectors(np.zeros(Network.length([3, 2])), [3, 2])
    with pytest.raises(ValueError, match=r"observations must have shape \(B, 3\) for this network, got \(5, 2\)"):
        learners.NetworkPolicy(network).act(np.zeros((5, 2), np.float32), None)


def test_five_trainings_are_the_default():
    assert [job.seed for job in jobs(SWIM, entered=["ppo_default"])] == [0, 1, 2, 3, 4]
    assert inspect.signature(run).parameters["seeds"].default == 5


def test_seeds_do_not_meet():
    """Nor those of training, whose rows begin with its own seed, one more each."""
    most = max(recipe(env_id).num_envs for env_id in ALL) + 1000
    starts = [most, BENCHMARK_SEED, VALIDATION_SEED, SEARCH_SEED]
    assert starts == sorted(starts) and BENCHMARK_SEED + MAX_EPISODES <= VALIDATION_SEED


# Results, and checks of them.


def run_job(job, place):
    entrants.save_job(job, place, entrants.run_job(job, place))


def training(name, seed=0, marks=(60, 100), track="fixed"):
    return Job(SWIM, name, seed, marks, track, episodes=16)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Results of three trainings by somebody else's learner, and of the animal's own controller."""
    place = tmp_path_factory.mktemp("benchmark")
    for job in (*(training(HOLD, seed) for seed in range(3)), Job(SWIM, "baseline", episodes=16)):
        run_job(job, place)
    results.gather(place)
    return place


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


def documents(file):
    """Lines of a results file, as they are written."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def verdict(place, **options):
    return checks.check(place / "results.jsonl", **options)


def changed(place, **changes):
    """Change keys of the first line, which is of the baseline."""
    file = place / "results.jsonl"
    first, *rest = file.read_text().splitlines(keepends=True)
    file.write_text("".join([json.dumps(json.loads(first) | changes) + "\n", *rest]))


def test_results_are_played_again(folder):
    lines = results.read(folder / "results.jsonl")
    assert [(each.seed, each.mark, each.steps) for each in lines][1:] == [
        (seed, mark, used) for seed in range(3) for mark, used in ((60, 40), (100, 80))
    ]
    alone = verdict(folder)
    assert alone.checked == 1 and len(alone.unchecked) == 6  # it runs no code of others
    with workers(processes=2) as executor:
        assert verdict(folder, executor=executor) == alone
    assert verdict(folder, trust=True) == ([], [], 7, 0)
    assert verdict(folder, trust=True, retrain=2).repeated == 2
    results.write(folder / "packed.jsonl.xz", lines)
    assert results.read(folder / "packed.jsonl.xz") == lines


def test_a_check_finds_one_score_one_byte_and_one_seed(copy):
    episodes = documents(copy / "results.jsonl")[0]["episodes"]

    def edited(scores):
        return {**episodes, "scores": scores, "mean": float(np.mean(scores)), "sd": float(np.std(scores, ddof=1))}

    first, *rest = episodes["scores"]
    changed(copy, episodes=edited([first + 1e-3, *rest]))
    (line,) = verdict(copy, trust=True).differs
    assert "1 of its 16 scores" in line
    changed(copy, episodes=edited([score + 1e-5 for score in episodes["scores"]]), made={"cpu": "another"})
    assert "scores differ in a replay" in verdict(copy).differs[0]
    changed(copy, episodes=episodes, fingerprint="other")
    assert "fingerprint" in verdict(copy).differs[0]
    for name in ("../weights", "my_module:act", "runs/mine"):
        changed(copy, fingerprint=results.read(copy / "results.jsonl")[1].fingerprint, env={}, entrant={
            "name": name, "config": {}, "digest": ""
        })  # fmt: skip
        assert verdict(copy).differs or "third-party code" in verdict(copy).unchecked[0]
    lines = results.read(training(HOLD, 1).file(copy))
    weights = copy / "weights" / lines[0].weights / "action.json"
    weights.write_text(weights.read_text().replace("0", "1", 1))
    assert "a different digest" in " ".join(verdict(copy, trust=True).differs)
    shutil.rmtree(weights.parent)
    assert "weights are missing" in " ".join(verdict(copy, trust=True).unchecked)
    training(HOLD, 1).discard(copy)
    results.gather(copy)
    assert len([line for line in verdict(copy, trust=True).differs if "seeds must be 0 to 1" in line]) == 2


@pytest.mark.parametrize(
    ("key", "value"),
    [("return", 9.0), ("failed", 0.5), ("succeeded", 0.5), ("sd", 1.0), ("name", "speed"), ("unit", "m"), ("steps", 5),
     ("track", "fixed"), ("failed", "no memory"), ("env", {})],
)  # fmt: skip
def test_a_check_compares_all_that_a_replay_shows(copy, key, value, command, capsys):
    line = documents(copy / "results.jsonl")[0]
    part = "score" if key in ("name", "unit") else "episodes" if isinstance(value, float) else None
    also = {"fingerprint": env_fingerprint(SWIM, {})} if key == "env" else {}
    few = {"scores": line["episodes"]["scores"][:3]} if part == "episodes" else {}  # the rest cannot show the others
    changed(copy, **({part: line[part] | few | {key: value}} if part else {key: value}), **also)
    with pytest.raises(SystemExit) as end:
        command("benchmark", "check", copy / "results.jsonl", "--trust")
    said = capsys.readouterr().out
    assert end.value.code == 1 and f"{key} must be" in said.replace("score must", f"{key} must"), said
    assert "No replay can show these: steps, seconds" in said


def test_a_full_disk_leaves_no_half_weights(folder, tmp_path, monkeypatch):
    """Nor does it count as a failure of the learner; files that were damaged later are noticed."""
    job, full = training(HOLD), []

    def stuck(path):
        if full or path.name.startswith("action"):
            full.append(path.parent.mkdir(exist_ok=True) or path.write_text("[0."))
            raise OSError(errno.ENOSPC, "No space left on device")
        return files.replacing(path)

    monkeypatch.setattr(entrants, "replacing", stuck)
    with pytest.raises(OSError, match="No space"):
        run_job(job, tmp_path)
    assert full and not [*(tmp_path / "weights").iterdir()] and job.lines(tmp_path) is None
    monkeypatch.setattr(entrants, "replacing", files.replacing)
    run_job(job, tmp_path)
    (tmp_path / "lines" / f"partial-{job.label}.jsonl-{'0' * 32}").write_text("{")  # of a process that was killed
    assert results.read(results.gather(tmp_path)) == job.lines(tmp_path)
    next((tmp_path / "weights").rglob("action.json")).write_text("[0.")
    with pytest.raises(ValueError, match="the saved weights changed"):
        job.lines(tmp_path)


def test_an_edited_learner_is_another(folder, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "clever.py").write_text("from helped import learn\ndef load(folder): pass\n")
    digests = set()
    for text in ("def learn(): pass\n", "def learn(): return\n"):
        (tmp_path / "helped.py").write_text(text)
        digests.add(training("clever:learn").digest)
    assert len(digests) == 2
    lines = results.read(folder / "results.jsonl")
    assert tables.rows_of([*lines, *lines]) == tables.rows_of(lines)  # a folder that was given twice
    edited = [replace(line, entrant=replace(line.entrant, digest="2")) for line in lines if line.mark]
    rows = tables.rows_of([*lines, *edited])
    assert [row.entrant for row in rows] == ["baseline", *[HOLD, f"{HOLD} (version 2)"] * 2]
    assert all(len(row.cells[SWIM].lines) == (3 if row.learns else 1) for row in rows)
    with pytest.raises(ValueError, match="results must be of one version of"):
        tables.rows_of([*lines, replace(lines[0], fingerprint="other")])


def test_a_copy_of_a_training_is_no_training(copy):
    file = copy / "results.jsonl"
    *_, last = lines = results.read(file)
    results.write(file, [*lines, replace(last, seed=3)])
    assert "4 trainings have only 3 different weights" in " ".join(verdict(copy).differs)


def _mutants(document):
    """Copies of a JSON document in which one value is another, or is not there."""
    for key in document if isinstance(document, dict) else range(min(1, len(document))):
        for value in (None, [], {}, "x", True, np.nan, -np.inf, 10**400):
            yield {**document, key: value} if isinstance(document, dict) else [value, *document[1:]]
        if isinstance(document, dict):
            yield {name: value for name, value in document.items() if name != key}
            if isinstance(document[key], dict | list):
                yield from ({**document, key: value} for value in _mutants(document[key]))


def test_whatever_a_line_holds_is_read_or_refused(folder, tmp_path):
    (line, *_), refused = documents(folder / "results.jsonl"), 0
    for mutant in _mutants(line):
        (tmp_path / "x.jsonl").write_text(json.dumps(mutant) + "\n")
        try:
            (found,) = results.read(tmp_path / "x.jsonl")
        except ValueError as error:
            assert len(str(error).splitlines()) == 1
            refused += 1
        else:  # texts and tables of anything, and null where a number may be unknown
            assert {key for key, value in plain(found).items() if value != line[key]} <= {
                "fingerprint", "entrant", "env", "score", "made", "failed", "weights", "episodes"
            }  # fmt: skip
    assert refused > 150


def test_trainings_that_fail_count_as_zero_actions(tmp_path, command, capsys):
    run_job(Job(SWIM, "zero", episodes=16), tmp_path)
    (zero,) = results.read(Job(SWIM, "zero").file(tmp_path))
    with pytest.raises(SystemExit) as end:
        command("benchmark", "run", "WormSwim-v0", "--learner", "fixtures.learner:fail", "fixtures.learner:endless",
                "--seeds", 1, "--marks", 50, "--episodes", 16, "--folder", tmp_path)  # fmt: skip
    said = capsys.readouterr().out
    assert end.value.code == 1 and "no memory left; it counts as zero actions" in said
    for line in results.read(tmp_path / "results.jsonl"):
        assert line.weights is None and line.episodes == zero.episodes
    assert verdict(tmp_path).differs == []
    for name in ("fixtures.learner:none", "pppo"):
        with pytest.raises(ValueError, match="learner"):
            entrants.find_learner(name)


def test_the_commands_repeat_nothing_and_refuse_other_settings(tmp_path, command, error_of, capsys, monkeypatch):
    place = tmp_path / "a"
    arguments = ("benchmark", "run", "WormSwim-v0", "--policy", "baseline", "trained", "--learner", HOLD, "--seeds", 1,
                 "--folder", place, "--marks", 50, "--episodes")  # fmt: skip
    command(*arguments, 4)
    assert "results.jsonl --trust` verifies" in capsys.readouterr().out
    first = (place / "results.jsonl").read_bytes()
    work = []
    run = entrants.run_job
    monkeypatch.setattr(entrants, "run_job", lambda job, folder: (work.append(job.label), run(job, folder))[1])
    Job(SWIM, "baseline").file(place).unlink()
    command(*arguments, 4)
    assert work == ["WormSwim-v0-baseline"]
    assert [line["episodes"] for line in documents(place / "results.jsonl")] == [
        json.loads(line)["episodes"] for line in first.splitlines()
    ]
    assert "episodes must be 4, as in" in error_of(*arguments, 5)
    command(*arguments, 5, "--restart")
    file = Job(SWIM, "baseline").file(place)
    file.write_text(file.read_text().replace('"seed"', '"seeds"'))
    assert "line 1: a line: seed is missing" in error_of(*arguments, 5)
    command(*arguments, 5, "--restart")
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        command("benchmark", "check", place / "results.jsonl")
    assert end.value.code == 2 and "1 not checkable" in capsys.readouterr().out
    command("benchmark", "check", place / "results.jsonl", "--trust")
    command("benchmark", "table", place / "results.jsonl", "--out", place / "tables")
    assert "| `WormSwim-v0` |" in (place / "tables" / "table.md").read_text()
    assert (place / "tables" / "table.png").stat().st_size > 5000
    command("benchmark", "table", Job(SWIM, HOLD, 0).file(place), PUBLISHED, "--ids", "WormSwim-v0")
    assert "recipe" in (words := capsys.readouterr().out.split()) and "WormReach-v0" not in words
    unmeasured = error_of("benchmark", "table", place / "results.jsonl", "--ids", "WormSwim-v0", "WormReach-v0")
    assert "ids must have results in the files, got gymnosoma/WormReach-v0" in unmeasured


def test_a_table_makes_only_environments_of_unknown_fingerprint(tmp_path, command, capsys, monkeypatch):
    """It made one for each line, and one for each id and action mode."""
    made, make = [], gymnasium.make_vec
    monkeypatch.setattr(fingerprints, "_cache", {})
    monkeypatch.setattr(gymnasium, "make_vec", lambda name, *args, **env: made.append(name) or make(name, *args, **env))
    command("benchmark", "table", PUBLISHED)
    assert not made
    (old, *_) = (line for line in results.read(PUBLISHED) if line.id == SWIM and line.env == {"actions": "angles"})
    results.write(tmp_path / "x.jsonl", [replace(old, fingerprint="another")])
    command("benchmark", "table", tmp_path / "x.jsonl")
    assert made == [SWIM] and f"another version of the environment: {SWIM}" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.full
def test_the_recipe_and_the_best_constant_can_be_entered(tmp_path, monkeypatch):
    monkeypatch.setattr(entrants, "search", lambda env_id: search(env_id, generations=1))
    run_job(Job(SWIM, entrants.RECIPE, 0, (9000,), episodes=4), tmp_path)
    run_job(Job(SWIM, CONSTANT, episodes=4), tmp_path)
    results.gather(tmp_path)
    assert verdict(tmp_path) == ([], [], 2, 0)
    assert {job.name for job in jobs(SWIM)} >= {"random", "baseline", CONSTANT, "replay of trained"}
    (one,) = jobs(SWIM, entered=[entrants.RECIPE], seeds=1)
    assert (one.marks, one.track) == ((recipe(SWIM).steps,), "open")


@pytest.mark.full
@pytest.mark.parametrize("name", learners.LEARNERS)
def test_shipped_learners_play_as_they_learned(name, tmp_path):
    """After at least one update."""
    most = {"ppo_default": 2100, "sac_default": 500, "cma": 30_000}.get(name, 9000)  # a generation takes 25,600
    run_job(training(name, marks=(most,)), tmp_path)
    (line,) = results.read(results.gather(tmp_path))
    assert line.failed is None and most - 64 < line.steps <= most
    assert verdict(tmp_path) == ([], [], 1, 0)


# Statistics and tables.


def test_intervals_and_differences_are_students():
    rng = np.random.default_rng(0)
    x, y = rng.normal(0.5, 1.0, 5), rng.normal(0.2, 2.0, 40)
    reference = scipy.stats.ttest_1samp(x, 0.0)
    assert of_points(x).interval == pytest.approx(tuple(reference.confidence_interval()))
    assert of_points(x).p == pytest.approx(reference.pvalue)
    assert estimate(x.mean(), x.std(ddof=1), 5) == of_points(x)
    welch, found = scipy.stats.ttest_ind(x, y, equal_var=False), combined([of_points(x), of_points(y)], [1.0, -1.0])
    assert found.p == pytest.approx(welch.pvalue)
    assert found.interval == pytest.approx(tuple(welch.confidence_interval()))
    assert of_points([1.0, 1.0]).interval == (1.0, 1.0) and of_points([1.0]).p == 0.0
    assert combined([Estimate(1.0, 0.0, 1.0)] * 2, [1.0, -1.0]).p == 1.0
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06]) and holm([]) == []


def made(env_id, name, mark, *means, sd=0.01):
    """Lines of an entrant in 256 episodes, or 1024."""
    about = {"id": env_id, "entrant": Entrant(name, {}, ""), "track": "open", "mark": mark, "steps": mark}
    about |= {"failed": None, "fingerprint": "", "env": {}, "score": ScoreName("return", "1"), "weights": None}
    about |= {"seconds": Seconds(0.0, 0.0), "made": {}}
    measured = [Measurement(entrants.episodes_of(env_id), [], mean, sd, 0.0, 0.0) for mean in means]
    return [Result(**about, seed=k, episodes=each) for k, each in enumerate(measured)]


def test_rows_are_of_entrants_and_marks():
    lines = [*made(SWIM, "baseline", 0, 0.1), *made(SWIM, "ppo", 100, 0.1, 0.2), *made(SWIM, "ppo", 300, 0.2, 0.3)]
    lines += [*made(SWIM, entrants.RECIPE, 1000, 0.3, 0.4), *made(CRAWL, entrants.RECIPE, 2000, 0.3, 0.4)]
    rows = tables.rows_of(lines)
    assert [(row.entrant, row.mark, len(row.cells)) for row in rows] == [
        ("baseline", 0, 1), ("recipe", 0, 2), ("ppo", 300, 1), ("ppo", 100, 1)
    ]  # fmt: skip
    assert all(row.mean is None for row in rows) and tables.policies([]) == ""
    assert "### After 300 steps" in tables.learners(rows) and "0.35 [" in tables.policies(rows)
    assert "| trainings of each id | 2 |\n| steps of a training | 300 |" in tables.learners(rows)
    assert "trained by the recipe (2 trainings)" in tables.policies(rows)
    lines[0] = replace(lines[0], episodes=replace(lines[0].episodes, count=4))
    few = next(row for row in tables.rows_of(lines) if row.entrant == "baseline")
    assert few.name == "baseline, 4 episodes" and "baseline" not in tables.at([few], SWIM)


def test_the_summary_counts_ids_above_the_animal_and_above_all_policies_that_do_not_learn():
    scores = {SWIM: (0.1, 0.11, (0.15, 0.151, 0.152)), CRAWL: (0.1, 0.2, (0.11, 0.12)), REACH: (0.1, 0.2, (-0.05, 0.9))}
    lines = []
    for env_id, (own, sine, trainings) in scores.items():
        lines += [*made(env_id, "baseline", 0, own), *made(env_id, "best_sine", 0, sine)]
        lines += [*made(env_id, "random", 0, 0.95), *made(env_id, entrants.RECIPE, 1000, *trainings)]
        lines += [*made(env_id, "ppo", 100, 0.0), *made(env_id, "ppo", 300, *trainings)]
    first, second, third = tables.summary(tables.rows_of(lines)).splitlines()
    assert first.endswith("on 2 of 3 ids.")
    assert "on 2 ids, on 1 significantly" in second
    assert second.endswith("are WormCrawl-v0 (`best_sine`), WormReach-v0 (`best_sine`).")
    assert "`ppo`" in third and "after 300 steps on 2 of 3 ids" in third
    assert tables.summary([]) == ""


def test_tables_show_failed_and_successful_episodes():
    policy = find_policy(REACH, "trained")
    played, measured = evaluate(REACH, policy, 8, BENCHMARK_SEED), measure(REACH, policy, 8)
    assert measured.succeeded == played.info["is_success"].mean() > 0.0
    shares = {"baseline": (0.75, 0.0), "recipe": (0.999, 0.25), "trained": (0.0, None)}
    lines = [line for name in shares for line in made(REACH, name, 9 * (name == "recipe"), 0.1)]
    for k, (failed, succeeded) in enumerate(shares.values()):
        lines[k] = replace(lines[k], episodes=replace(lines[k].episodes, failed=failed, succeeded=succeeded))
    assert tables.policies(tables.rows_of(lines)).endswith("| 75% / >99% / 0% | 0% / 25% / ? |")


def test_a_mean_over_ids_is_of_five_trainings_of_each_none_below_the_least(monkeypatch):
    for module in (entrants, tables):  # without making each environment
        monkeypatch.setattr(module, "episodes_of", lambda env_id: 256)
    lines = [line for env_id in tables.RANKED for line in made(env_id, "ppo", 100, *[-1e9] * 5)]
    (row,) = tables.rows_of(lines)
    assert row.mean.mean == pytest.approx(tables.LEAST)
    assert tables.rows_of(lines[1:])[0].mean is None
    (policy,) = tables.rows_of(line for env_id in tables.RANKED for line in made(env_id, "zero", 0, 0.0))
    assert policy.mean.interval[0] < policy.mean.mean < policy.mean.interval[1]


def test_bold_is_adjusted_for_all_ids():
    """A training is ahead where it is surely above each policy that does not learn."""
    above = [0.2, 0.21, 0.22]
    clear = [*made(SWIM, "recipe", 9, *above), *made(SWIM, "zero", 0, 0.1), *made(SWIM, "baseline", 0, 0.1)]
    close = [*made(CRAWL, "recipe", 9, *above), *made(CRAWL, "zero", 0, 0.1), *made(CRAWL, "baseline", 0, 0.183)]
    assert tables.ahead(tables.rows_of(clear)) == {SWIM} and tables.ahead(tables.rows_of(close)) == {CRAWL}
    assert tables.ahead(tables.rows_of([*clear, *close])) == {SWIM, CRAWL}
    for mean in (0.186, 0.3):
        close[-1] = replace(close[-1], episodes=replace(close[-1].episodes, mean=mean))
        assert CRAWL not in tables.ahead(tables.rows_of([*clear, *close]))


# The best constant.


@pytest.mark.slow
def test_the_search_finds_a_better_wave():
    *_, policy = search(CRAWL, generations=6)
    best, paper = (evaluate(CRAWL, p, 8).info["priced_speed"].mean() for p in (policy, find_policy(CRAWL, "baseline")))
    assert best > 1.5 * paper


def test_tolerance():
    expected = {-3.0: 0.1, -1.0: 1.0, 0.0: 1.0, 1.0: 1.0, 2.0: 1 / 3.25, 3.0: 0.1}
    for value, reward in expected.items():
        assert tolerance(value, -1.0, 1.0, 2.0) == pytest.approx(reward)
    assert [tolerance(value, 0.0, 1.0, 0.0) for value in (0.0, 2.0)] == [1.0, 0.0]
    for bad, message in (((1, 0, 1), "low must not exceed high"), ((0, 1, -1), "margin"), ((0, 1, 1, 2), "at_margin")):
        with pytest.raises(ValueError, match=message):
            tolerance(0.0, *bad)


# Work in several processes.

PIECES = ("a", "fails", "dies", "b", "dies once", "c")


def test_a_process_that_dies_takes_nothing_with_it(tmp_path):
    with workers(processes=2) as executor:
        jobs = {name: (tmp_path, name) for name in PIECES}
        found = {name: rest for name, *rest in run_jobs(executor, marked, jobs, "job").values()}
        assert tuple(found) == PIECES  # "dies" is the last to end
        assert found.pop("dies") == [None, f"a process died, and again in each of {RETRIES} tries"]
        assert found.pop("fails") == [None, "ValueError: two lines"]
        assert found == {name: [name.upper(), None] for name in ("a", "b", "c", "dies once")}
        begun = {path.name: path.read_text().count("begun") for path in tmp_path.iterdir()}
        assert begun == {**dict.fromkeys(("a", "b", "c", "fails"), 1), "dies": 1 + RETRIES, "dies once": 2}
        assert run_jobs(executor, marked, {"d": (tmp_path, "d")}, "job")["d"].value == "D"  # it goes on


def test_any_executor_runs_jobs(tmp_path):
    names, folder = [], tmp_path / "absent"  # on a machine without the results folder
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        result = executor.submit(entrants.run_job, training(HOLD), folder).result()
        outcomes = run_jobs(executor, abs, {"a": (-1,), "b": (-2,)}, "job", save=lambda name, value: names.append(name))
    assert sorted(names) == ["a", "b"] and all(outcome.error is None for outcome in outcomes.values())
    assert not folder.exists()
    entrants.save_job(training(HOLD), folder, result)
    assert training(HOLD).lines(folder) == result.lines
    stuck = run_jobs(None, abs, {"a": (-1,)}, "job", save=lambda name, value: (folder / "results.jsonl" / "x").touch())
    assert "results.jsonl" in stuck["a"].error


def test_jobs_are_planned_by_their_measured_times():
    from tools import plan  # not in the wheel

    assert [plan.planned_time([1.0, 3.0, 2.0, 2.0], cores) for cores in (1, 2, 9)] == [8.0, 4.0, 3.0]
    lines = [*made(SWIM, "ppo", 100, 0.1), *made(SWIM, "ppo", 200, 0.2), *made(SWIM, "baseline", 0, 0.0)]
    timed = [replace(line, seconds=Seconds(9.0 if line.mark else 0.0, 2.0)) for line in lines]
    assert plan.job_seconds(timed) == [13.0, 2.0]


def test_the_median_training_within_the_limits_is_shipped(tmp_path, monkeypatch):
    from tools import publish  # not in the wheel

    scores, weights = [3.0, 9.0, 1.0, 2.0, 4.0], tmp_path / "weights"
    policies = [SimpleNamespace(name=str(k), score=score) for k, score in enumerate(scores)]
    for policy in policies:
        shutil.copytree(shipped("gymnosoma/WormSwim-v0"), weights / policy.name)
    (line,), left = made("gymnosoma/WormSwim-v0", "recipe", 9, 0.0), iter(policies)
    monkeypatch.setattr(publish.results, "read", lambda file: [line] * len(scores))
    monkeypatch.setattr(publish, "policy_of", lambda line, folder: next(left))
    monkeypatch.setattr(publish, "beyond_limits", lambda env_id, policy: ["fast"] if policy.score == 9.0 else [])
    monkeypatch.setattr(publish, "validated", lambda env_id, policy: SimpleNamespace(score_mean=policy.score))
    monkeypatch.setattr(
        publish, "add_scores", lambda place, scores: (place / "scores").write_text(str(scores.score_mean))
    )
    publish.ship_trainings(tmp_path, tmp_path)
    place = tmp_path / "assets" / "policies" / "WormSwim-v0"
    assert "2.0" in (place / "scores").read_text("utf-8")
    assert (place / "README.md").is_file()


def test_a_picture_of_another_policy_is_found(tmp_path):
    from tools import publish  # not in the wheel

    pictures = {"old.webp": ["zero", "baseline"], "new.webp": ["baseline"], "gone.webp": ["baseline", "nobody"]}
    digest = publish.stamp(SWIM, ["baseline"])
    shown = {name: {SWIM: {"policies": each, "digest": digest}} for name, each in pictures.items()}
    (tmp_path / "docs").mkdir()
    (tmp_path / publish.PICTURES).write_text(json.dumps(shown))
    assert [text.partition(":")[0] for text in publish.stale_pictures(tmp_path)] == ["docs/old.webp", "docs/gone.webp"]
