"""The contest of learners: budgets, what they see, results that can be checked, the leaderboard."""

import json
import re
import shutil
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import scipy.stats

import gymnosoma
from gymnosoma.agents.benchmark import entrants, results
from gymnosoma.agents.benchmark import protocol as contest
from gymnosoma.agents.benchmark.protocol import Budget, BudgetSpent, Reports, environments
from gymnosoma.agents.learning.sb3_env import SB3VecEnv
from gymnosoma.agents.policies.networks import Network

SWIM, MEDIUM = "gymnosoma/WormSwim-v0", "gymnosoma/WormMedium-v0"
HOLD = "fixtures.learner:hold"
IDS = ("WormSwim-v0", "WormReach-v0", "WhiskerHold-v0")


def test_one_budget_counts_the_steps_of_all_environments():
    budget = Budget(25, 0)
    make = environments(SWIM, budget, "fixed")
    three, two = make(3), make(2)
    for envs in (three, two):
        envs.reset(seed=0)
        envs.step(np.zeros(envs.action_space.shape, np.float32))
    assert (budget.used, budget.left) == (5, 20)
    for _ in range(6):
        three.step(np.zeros(three.action_space.shape, np.float32))
    with pytest.raises(BudgetSpent, match="3 steps would pass the budget: 2 of 25 are left"):
        three.step(np.zeros(three.action_space.shape, np.float32))
    assert budget.used == 23
    two.step(np.zeros(two.action_space.shape, np.float32))
    assert budget.left == 0


def test_rows_that_begin_anew_spend_nothing():
    """With NEXT_STEP a row that has ended is only reset in the step after it."""
    budget = Budget(10_000, 0)
    envs = environments(SWIM, budget, "open")(2, "NextStep", max_episode_steps=5)
    envs.reset(seed=0)
    for _ in range(12):
        envs.step(np.zeros(envs.action_space.shape, np.float32))
    assert budget.used == 2 * 10


def test_a_learner_sees_no_more_than_the_track_shows():
    budget = Budget(10_000, 3)
    envs = environments(MEDIUM, budget, "fixed")(2)
    assert not hasattr(envs, "save") and not hasattr(envs, "task") and not hasattr(envs.unwrapped, "batch")
    seen, infos = envs.reset(seed=7)
    assert infos == {} and envs.spec.max_episode_steps == 400
    with pytest.raises(ValueError, match=r"options must be left out .* got \{'sigma': 0.0\}"):
        envs.reset(options={"sigma": 0.0})
    with pytest.raises(ValueError, match="arguments of the environment must be left out in the track 'fixed'"):
        environments(MEDIUM, budget, "fixed")(2, observe_medium=True)
    for _ in range(400):
        *_, truncated, infos = envs.step(np.zeros(envs.action_space.shape, np.float32))
    assert truncated.all() and infos["final_info"].keys() == {"score", "failure", "_score", "_failure"}
    assert np.isfinite(infos["final_info"]["score"]).all() and infos["final_obs"][0].shape == seen[0].shape
    again = environments(MEDIUM, Budget(9, 3), "fixed")(2).reset(seed=7)[0]
    assert np.array_equal(again, seen)
    other = environments(MEDIUM, Budget(9, 4), "fixed")(2).reset(seed=7)[0]
    measured, _ = gymnasium.make_vec(MEDIUM, 2).reset(seed=7)
    assert not np.array_equal(other, seen) and not np.array_equal(measured, seen)
    opened = environments(MEDIUM, Budget(100, 0), "open")(1, observe_medium=True)
    opened.reset(seed=0)
    assert opened.unwrapped.save()
    SB3VecEnv(envs).close()


def test_what_was_reported_last_before_a_mark_plays_there(tmp_path):
    budget = Budget(100, 0)
    reports = Reports(tmp_path, budget, [30, 60])
    saved = entrants.NetworkPolicy(Network.from_vectors(np.zeros(6), [2, 2]), squashed=True)
    for used in (10, 20, 40, 50, 70, 80):
        budget.used = used
        reports(saved)
    assert (reports.at(30), reports.at(60), reports.at(5)) == (20, 50, None)
    assert sorted(int(path.name) for path in tmp_path.iterdir()) == [20, 50, 80]


@pytest.fixture(scope="module", autouse=True)
def few():
    """Few frozen episodes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contest, "EPISODES", 16)
        yield


@pytest.fixture(scope="module")
def entered(tmp_path_factory):
    """Results of three trainings by somebody else's learner, and of the animal's own controller."""
    folder = tmp_path_factory.mktemp("contest")
    for seed in range(3):
        contest.train(SWIM, HOLD, seed, [60, 100], "fixed", folder)
    contest.stand(SWIM, "baseline", folder)
    contest.gather(folder)
    return folder


@pytest.fixture
def copy(entered, tmp_path):
    return shutil.copytree(entered, tmp_path / "copy")


def verdict(folder, **given):
    return results.check(folder / "results.jsonl", **given)


def changed(folder, **changes):
    """Change keys of the first line."""
    file = folder / "results.jsonl"
    first, *rest = file.read_text().splitlines(keepends=True)
    file.write_text("".join([json.dumps(json.loads(first) | changes) + "\n", *rest]))


def test_results_are_played_again(entered, copy):
    lines = results.read(entered / "results.jsonl")
    assert [(each["train_seed"], each["mark"], each["steps"]) for each in lines][1:] == [
        *((seed, mark, used) for seed in range(3) for mark, used in ((60, 40), (100, 80)))
    ]
    one = verdict(copy)
    assert one.checked == 1 and len(one.unchecked) == 6  # it runs no code of others
    assert verdict(copy, processes=2).unchecked == one.unchecked  # of 16 episodes, which others do not know of
    assert verdict(copy, trust=True) == ([], [], 7)


def test_a_check_finds_one_score_one_byte_and_one_seed(copy):
    scores = json.loads((copy / "lines").joinpath("WormSwim-v0-baseline-0.jsonl").read_text())["episodes"]
    changed(copy, episodes=scores | {"scores": [scores["scores"][0] + 1e-3, *scores["scores"][1:]]})
    (line,) = verdict(copy, trust=True).differs
    assert line.endswith("1 of its 16 scores are others when its policy plays")
    changed(copy, episodes=scores | {"scores": [score + 1e-5 for score in scores["scores"]]}, cpu="another")
    assert "scores are others" in verdict(copy).differs[0]
    changed(copy, episodes=scores, fingerprint="other")
    assert "its fingerprint is not that of how" in verdict(copy).differs[0]
    lines = results.read(copy / "lines" / "WormSwim-v0-fixtures.learner.hold-1.jsonl")
    weights = copy / "weights" / lines[0]["weights"]["sha256"] / "action.json"
    weights.write_text(weights.read_text().replace("0", "1", 1))
    assert "its weights have another digest" in " ".join(verdict(copy, trust=True).differs)
    shutil.rmtree(weights.parent)
    assert "its weights are not here" in " ".join(verdict(copy, trust=True).unchecked)
    (copy / "lines" / "WormSwim-v0-fixtures.learner.hold-1.jsonl").unlink()
    contest.gather(copy)
    gaps = [line for line in verdict(copy, trust=True).differs if "seeds must be" in line]
    assert len(gaps) == 2 and gaps[0].endswith("seeds must be 0 to 1, each once, got [0, 2]")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"track": "closed"}, "track must be one of fixed, open, got 'closed'"),
        ({"extra": 1}, "a line must hold"),
        ({"id": "gymnosoma/WormSwin-v0"}, "did you mean"),
        ({"wall_s": "long"}, "wall_s must be a finite number, got 'long'"),
        ({"mark": -1}, "mark must be at least 0"),
        ({"episodes": {}}, "episodes must hold first_seed and scores"),
    ],
)
def test_what_is_no_result_is_named(copy, changes, message):
    changed(copy, **changes)
    with pytest.raises(ValueError, match=message) as error:
        results.read(copy / "results.jsonl")
    assert "line 1" in str(error.value)


def test_trainings_that_fail_count_as_zero_actions(tmp_path):
    for name, reason in (("fail", "RuntimeError: no memory left"), ("endless", "actions must be finite")):
        contest.train(SWIM, f"fixtures.learner:{name}", 0, [50], "fixed", tmp_path)
        (line,) = results.read(contest.piece(tmp_path, SWIM, f"fixtures.learner:{name}", 0))
        assert reason in line["failed"] and line["weights"] is None
    contest.stand(SWIM, "zero", tmp_path)
    (zero,) = results.read(contest.piece(tmp_path, SWIM, "zero", 0))
    assert line["episodes"] == zero["episodes"]
    contest.gather(tmp_path)
    assert verdict(tmp_path).differs == []
    with pytest.raises(ValueError, match=r"module 'fixtures\.learner' must have a callable 'none', got None"):
        contest.find_learner("fixtures.learner:none")
    with pytest.raises(ValueError, match="learner 'pppo' is not known; did you mean ppo"):
        contest.find_learner("pppo")


def test_a_leaderboard_is_made_of_checked_results(copy, command, error_of, capsys):
    with pytest.raises(SystemExit) as end:
        command("check", copy / "results.jsonl")
    assert end.value.code == 2 and "6 not checkable" in capsys.readouterr().out
    command("check", copy / "results.jsonl", "--trust")
    command("leaderboard", copy, "--out", copy / "board")
    page = (copy / "board" / "leaderboard.html").read_text()
    table = (copy / "board" / "leaderboard.csv").read_text()
    assert page.count("<tr>") == 4 and '"hold","fixed","100"' in table and '"partial","0","checked"' in table
    assert (copy / "board" / "leaderboard.png").stat().st_size > 5000
    changed(copy, wall_s=1.0)
    assert "has changed since it was checked" in error_of("leaderboard", copy)
    assert "folders must each hold a results.jsonl, got 'nix'" in error_of("leaderboard", "nix")


def test_trainings_that_fail_are_told(tmp_path, command, capsys):
    fail, folder = "fixtures.learner:fail", tmp_path / "contest"
    for _ in range(2):  # also where nothing is left to do
        with pytest.raises(SystemExit) as end:
            command("enter", "WormSwim-v0", "--learner", fail, "--seeds", 2, "--marks", 50, "--folder", folder)
        said = "WormSwim-v0, fail, seed 1, mark 50: RuntimeError: no memory left; it counts as zero actions\n"
        assert end.value.code == 1 and said in capsys.readouterr().out
    command("check", folder / "results.jsonl")
    capsys.readouterr()
    command("leaderboard", folder, "--out", folder)
    assert '"partial","2","checked"' in (folder / "leaderboard.csv").read_text()
    said = capsys.readouterr().out
    assert "-0.00" not in said and "Track fixed" not in said  # of one learner no agreement is told


def test_learners_of_one_name_are_told_apart(copy):
    (row, *_) = results.rows_of([copy / "results.jsonl"], unchecked=True)
    assert row["learner"] == "hold"
    changed(copy, learner={**results.read(copy / "results.jsonl")[-1]["learner"], "entry": "other:hold"}, mark=60)
    names = {row["learner"] for row in results.rows_of([copy / "results.jsonl"], unchecked=True)}
    assert names == {HOLD, "other:hold"}


def test_ids_agree_where_they_rank_learners_alike():
    def row(name, *means):
        points = {
            f"gymnosoma/{env_id}": [mean - 0.01, mean, mean + 0.01] for env_id, mean in zip(IDS, means, strict=True)
        }
        return {"learner": name, "mark": 100, "ids": {key: {"points": value} for key, value in points.items()}}

    found = results.agreement([row("a", 0.1, 0.2, 0.95), row("b", 0.4, 0.5, 0.94), row("c", 0.7, 0.5, 0.93)])
    of = {env_id.split("/")[1]: each for env_id, each in found["ids"].items()}
    assert [of[name]["apart"] for name in IDS] == [3, 2, 0] and of[IDS[2]]["all"] and of[IDS[0]]["none"]
    ranks = [[0.1, 0.4, 0.7], [0.2, 0.5, 0.5], [0.95, 0.94, 0.93]]
    assert found["tau"] == pytest.approx(np.mean([scipy.stats.kendalltau(ranks[0], ranks[2]).statistic, 2 / 3, -2 / 3]))
    low, high = of[IDS[0]]["interval"]
    assert -1.0 <= low <= of[IDS[0]]["tau"] <= high <= 1.0
    assert results.agreement([row("a", 0.1, 0.2, 0.3)]) == {}
    two = results.agreement([row("a", 0.1, 0.2, 0.95), row("b", 0.4, 0.5, 0.94)])
    assert "tau" not in two and all("tau" not in each and each["pairs"] == 1 for each in two["ids"].values())


def test_what_has_been_entered_is_not_trained_again(tmp_path, command, error_of, capsys, monkeypatch):
    arguments = ("enter", "WormSwim-v0", "--learner", HOLD, "zero", "--seeds", 1, "--folder", tmp_path, "--marks", 50)
    command(*arguments)
    assert "Results are in" in capsys.readouterr().out
    monkeypatch.setattr(contest, "train", None)
    command(*arguments)
    assert "marks must be [50], at which" in error_of(*arguments, 60)
    assert "track must be 'fixed'" in error_of(*arguments, "--track", "open")
    assert "seeds must be at least 1, got 0" in error_of("enter", "--seeds", 0)


def test_the_learner_of_the_guide_can_be_entered(tmp_path, monkeypatch, command, capsys):
    guide = Path(gymnosoma.__file__).resolve().parents[1] / "docs" / "guides" / "enter.md"
    (tmp_path / "guide_learner.py").write_text(re.search(r"```py\n(.*?)```", guide.read_text(), re.DOTALL)[1])
    monkeypatch.chdir(tmp_path)
    command("enter", "WormSwim-v0", "--learner", "guide_learner:search", "--seeds", 1, "--marks", 30_000)
    command("check", "contest/results.jsonl", "--trust")
    assert "1 lines played again, 0 differ, 0 not checkable." in capsys.readouterr().out
    (line,) = results.read(Path("contest/results.jsonl"))
    assert line["steps"] == 25_600 and line["failed"] is None and line["learner"]["config"] == {"scale": 0.3}


@pytest.mark.full
@pytest.mark.parametrize("name", entrants.LEARNERS)
def test_shipped_learners_play_as_they_learned(name, tmp_path):
    """A few thousand steps; what is saved is a network of ours, and stable-baselines3's does the same."""
    most = 30_000 if name == "cma" else 9000  # a generation takes 25,600
    contest.train(SWIM, name, 0, [2000, most], "fixed", tmp_path)
    early, late = results.read(contest.piece(tmp_path, SWIM, name, 0))
    assert early["failed"] is None or early["steps"] == 0
    assert late["failed"] is None and 5000 < late["steps"] <= most and late["weights"]["bytes"] < 100_000
    contest.gather(tmp_path)
    assert verdict(tmp_path).differs == []


def test_a_network_of_stable_baselines3_becomes_ours():
    from stable_baselines3 import PPO, SAC

    for kind, squashed in ((PPO, False), (SAC, True)):
        import torch

        given = {"policy_kwargs": {"activation_fn": torch.nn.Tanh}} if squashed else {}
        model = kind(
            "MlpPolicy", SB3VecEnv(environments(SWIM, Budget(9, 0), "fixed")(2)), seed=0, device="cpu", **given
        )
        seen = np.random.default_rng(0).normal(size=(100, model.observation_space.shape[0])).astype(np.float32)
        theirs, _ = model.predict(seen, deterministic=True)
        np.testing.assert_allclose(entrants.played(model, squashed).act(seen, np.zeros(100, bool)), theirs, atol=2e-6)
