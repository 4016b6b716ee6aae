"""Ways to learn beside PPO and SAC: imitation, evolution, supervised answers; recipes."""

import shutil

import gymnasium
import numpy as np
import pytest
import stable_baselines3
from ids import ADDED
from runs import SWIM, curve, train

from gymnosoma.agents.learning import evolution, imitation, supervision
from gymnosoma.agents.learning.runs import read_config, recipe
from gymnosoma.agents.learning.sb3_env import make_sb3_env
from gymnosoma.agents.learning.search import Evolution
from gymnosoma.agents.policies.answers import Answers
from gymnosoma.agents.policies.card import read_card
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy


def test_a_network_imitates_a_controller(monkeypatch):
    monkeypatch.setattr(imitation, "ROUNDS", 3)
    monkeypatch.setattr(imitation, "EPISODES", 16)
    env = {"actions": "modes"}
    envs = gymnasium.make_vec(SWIM, 16, autoreset_mode="SameStep", **env)
    model = stable_baselines3.PPO("MlpPolicy", make_sb3_env(SWIM, 16, **env), seed=0, device="cpu")

    def misses():
        """Rms difference from what the controller does, where that leads."""
        teacher = find_policy(SWIM, "baseline").make(envs, 0)
        observations, _ = envs.reset(seed=500)
        first, error = np.ones(16, np.bool_), []
        for _ in range(300):
            wanted = teacher.act(observations, first)
            error.append(model.predict(observations, deterministic=True)[0] - wanted)
            observations, *_ = envs.step(wanted)
            first = np.zeros(16, np.bool_)
        return np.sqrt(np.mean(np.square(error)))

    before = misses()
    imitation.imitate(model, SWIM, "baseline", env, 0)
    assert misses() < 0.1 * before


@pytest.mark.parametrize("size", [1, 3])
def test_an_evolution_finds_a_peak_and_goes_on_to_the_bit(size):
    """In a box, of one number too; from the scores alone it comes to the same state."""
    peak = np.linspace(0.2, 0.9, size)

    def evolve(generations, history=()):
        search = Evolution(np.full(size, 0.5), 0.3, np.random.default_rng(0), box=(0.0, 1.0), history=history)
        for _ in range(generations):
            search.tell(-np.abs(search.ask() - peak).sum(1))
        return search

    whole, half = evolve(30), evolve(15)
    assert whole.candidates.min() >= 0.0 and whole.candidates.max() <= 1.0
    np.testing.assert_allclose(whole.favourite, peak, atol=0.02)
    again = evolve(15, half.history)
    assert np.array_equal(again.best(4), whole.best(4)) and again.best(4).shape == (4, size)


EVOLVED = {
    "controller": {"controller": "baseline", "num_envs": 9},
    "network": {"controller": "", "num_envs": 9, "settings": {"net_arch": [4]}, "env": {"actions": "modes"}},
}


@pytest.mark.parametrize("kind", EVOLVED)
def test_an_evolved_policy_plays(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(evolution, "COMPARED", 2)
    run = tmp_path / "run"
    assert train(SWIM, run, "cma", steps=2 * 9 * 400, **EVOLVED[kind])
    assert (run / "policy.safetensors").exists() == (kind == "network") and not list(run.glob("*.zip"))
    policy = find_policy(SWIM, str(run))
    envs = gymnasium.make_vec(SWIM, 3, **policy.env)
    observations, _ = envs.reset(seed=0)
    acts = policy.make(envs, 0).act(observations, np.ones(3, np.bool_))
    assert acts.shape == (3, envs.single_action_space.shape[0]) and np.ptp(acts) > 0.0
    with pytest.raises(ValueError, match=r"env: actions must be .*, as in the run, got 'residual'"):
        train(SWIM, run, "cma", resume=True, env={"actions": "residual"})


RECORD = '{"curve": [], "episodes": 0, "seconds": 0.0}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "steps is missing"),
        ("[" * 60_000, "recursion"),
        (f'{{"record": {RECORD}, "steps": 1, "scores": 3, "recent": []}}', "scores must be rows of numbers"),
        (f'{{"record": {RECORD}, "steps": 1, "scores": [["a"]], "recent": []}}', "scores must be finite"),
        (f'{{"record": {RECORD}, "steps": 1, "scores": [], "recent": [], "x": 1}}', "'x' is not known"),
    ],
)
def test_a_damaged_checkpoint_of_an_evolution_is_refused(tmp_path, monkeypatch, content, message):
    monkeypatch.setattr(evolution, "COMPARED", 1)
    assert not train(SWIM, tmp_path / "run", "cma", controller="baseline", stop=lambda: True)
    (tmp_path / "run" / "checkpoint.json").write_text(content)
    with pytest.raises(ValueError, match=rf"checkpoint.json'.*{message}"):
        train(SWIM, tmp_path / "run", resume=True)


def test_arguments_of_the_environment_are_kept(tmp_path):
    env = {"actions": "residual", "history": 2}
    train(SWIM, tmp_path / "run", steps=1, num_envs=1, env=env)
    kept = env | {"authority": 1.0, "smoothing": 0.0}  # the recipe's
    assert read_config(tmp_path / "run").env == kept == read_card(tmp_path / "run").env
    assert train(SWIM, tmp_path / "run", resume=True, env={"history": 2})
    with pytest.raises(ValueError, match="env: history must be 2, as in the run, got 3"):
        train(SWIM, tmp_path / "run", resume=True, env={"history": 3})
    policy = find_policy(SWIM, str(tmp_path / "run"))
    assert evaluate(SWIM, policy, 1, max_episode_steps=2).lengths == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"env": {"actions": "flight"}}, "env: actions must be one of .*, got 'flight'"),
        ({"algorithm": "cma", "controller": "nobody"}, "controller must be one of baseline, .*got 'nobody'"),
        ({"algorithm": "supervised"}, "algorithm must not be supervised for Swim with actions="),
    ],
)
def test_an_impossible_training_is_refused(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        train(SWIM, tmp_path / "run", **arguments)
    assert not (tmp_path / "run").exists()


LOCALIZE = "gymnosoma/WhiskerLocalize-v0"
ANSWERED = {
    "num_envs": 8,
    "steps": 3 * 8 * 12,
    "env": {"history": 3, "actions": "trajectory"},
    "settings": {"latest": 0.05, "net_arch": [4], "n_epochs": 1, "parameters": {"speed": 2.0}},
}


@pytest.fixture
def few(monkeypatch):
    """Few episodes and rules decide."""
    monkeypatch.setattr(evolution, "COMPARED", 2)
    for name, value in (("CHOSEN", 2), ("SCORED", 2), ("DOUBTS", (0.0, 0.5)), ("SHARES", (0.5, 1.0))):
        monkeypatch.setattr(supervision, name, value)


@pytest.fixture(params=[pytest.param("controller", marks=pytest.mark.full), "network", "answers"])
def another_way(request, few):
    """Trains in a folder by another algorithm than stable-baselines3's."""
    if request.param == "answers":
        return lambda folder, **options: train(LOCALIZE, folder, "supervised", **ANSWERED, **options)
    return lambda folder, **options: train(SWIM, folder, "cma", steps=3 * 9 * 400, **EVOLVED[request.param], **options)


def assert_same_files(folder, other):
    """Two runs by whichever algorithm must have the same curve, and the same policy, to the bit."""
    assert curve(folder) == curve(other)
    for name in ("card.json", "policy.safetensors"):
        one, two = folder / name, other / name
        assert one.exists() == two.exists()
        assert not one.exists() or one.read_bytes() == two.read_bytes()


def test_runs_go_on_to_the_bit_in_other_ways_to_learn(another_way, tmp_path):
    """A copy of the folder amid the run is what a kill would have left; another one is stopped."""
    whole, killed, stopped = (tmp_path / name for name in ("whole", "killed", "stopped"))
    updates, stops = iter(range(1, 10**6)), iter([False] * 2)
    copy = lambda: shutil.copytree(whole, killed) and None if next(updates) == 2 else None  # noqa: E731
    assert another_way(whole, stop=copy)
    assert not another_way(stopped, stop=lambda: next(stops, True))
    assert len(curve(stopped)) == 2 and 0 < len(curve(killed)) < len(curve(whole))
    for folder in (killed, stopped):
        assert another_way(folder, resume=True)
        assert_same_files(folder, whole)


def test_an_answering_policy_commits_itself(few, tmp_path):
    run = tmp_path / "run"
    assert train(LOCALIZE, run, "supervised", **ANSWERED)
    card = read_card(run)
    assert card.rule.doubt in (0.0, 0.5) and card.controller.parameters == {"speed": 2.0}
    played = evaluate(LOCALIZE, find_policy(LOCALIZE, str(run)), 4)
    assert np.isfinite(played.info["committed"]).all()  # at the latest after 0.05 s
    assert (played.lengths <= round((0.05 + 0.02) * 250)).all()


def test_a_recipe_keeps_the_settings_that_it_does_not_name(tmp_path):
    (tmp_path / "x.toml").write_text("steps = 1000\n[ppo]\nlearning_rate = 1e-4\n")
    own, default = recipe(SWIM, file=tmp_path / "x.toml"), recipe(ADDED[0])
    assert own.settings == default.settings | {"learning_rate": 1e-4} and own.steps == 1000


def test_right_answers_are_those_that_are_scored():
    """Committed at once, what ``info`` calls true is a success; its opposite is none."""
    for sign, success in ((1.0, 1.0), (-1.0, 0.0)):
        envs = gymnasium.make_vec(LOCALIZE, 16, autoreset_mode="SameStep", actions="trajectory")
        answers = Answers(envs.unwrapped.task)
        _, infos = envs.reset(seed=0)
        actions = np.zeros(envs.action_space.shape, np.float32)
        right = answers.right(infos)
        actions[:, answers.columns], actions[:, answers.commit] = np.where(sign > 0, right, -np.sign(right)), 1.0
        over, scores = np.zeros(16, np.bool_), np.full(16, np.nan)
        while not over.all():
            _, _, terminated, truncated, infos = envs.step(actions)
            new = (terminated | truncated) & ~over
            if new.any():
                scores[new] = infos["final_info"]["is_success"][new]
            over |= new
        assert np.mean(scores) == success
