"""Ways to learn beside PPO and SAC: imitation, evolution, supervised answers; recipes and their tuning."""

import io
import json
import resource
import shutil

import gymnasium
import numpy as np
import pytest
import stable_baselines3
from runs import SWIM, FullDisk, curve
from safetensors.numpy import load_file

from gymnosoma.agents.learning import evolution, imitation, supervision, tuning
from gymnosoma.agents.learning.runs import recipe
from gymnosoma.agents.learning.sb3_env import SB3VecEnv
from gymnosoma.agents.learning.training import train
from gymnosoma.agents.policies.answers import Answers
from gymnosoma.agents.policies.card import read_card
from gymnosoma.agents.policies.config import read_config
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.agents.support.workers import workers
from gymnosoma.cli.evaluate import measure
from gymnosoma.envs.core import files


def test_a_network_imitates_a_controller(monkeypatch):
    monkeypatch.setattr(imitation, "ROUNDS", 3)
    monkeypatch.setattr(imitation, "EPISODES", 16)
    env = {"actions": "modes"}
    envs = gymnasium.make_vec(SWIM, 16, autoreset_mode="SameStep", **env)
    model = stable_baselines3.PPO("MlpPolicy", SB3VecEnv(envs), seed=0, device="cpu")

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


def test_what_cannot_be_imitated_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"imitate must be one of baseline, .*got 'nobody'"):
        train(SWIM, tmp_path / "run", imitate="nobody", steps=1)
    with pytest.raises(ValueError, match="imitate must be left out for sac, got 'baseline'"):
        train(SWIM, tmp_path / "run", imitate="baseline", algorithm="sac", steps=1)
    assert not (tmp_path / "run" / "config.json").exists()


EVOLVED = {
    "controller": {"controller": "baseline", "num_envs": 9},
    "network": {"controller": "", "num_envs": 9, "settings": {"net_arch": [4]}, "env": {"actions": "modes"}},
}


@pytest.mark.parametrize("kind", EVOLVED)
def test_what_evolves_plays(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(evolution, "COMPARED", 2)
    run = tmp_path / "run"
    assert train(SWIM, run, "cma", steps=2 * 9 * 400, **EVOLVED[kind])
    assert (run / "policy.safetensors").exists() == (kind == "network") and not list(run.glob("*.zip"))
    policy = find_policy(SWIM, str(run))
    envs = gymnasium.make_vec(SWIM, 3, **policy.env)
    observations, _ = envs.reset(seed=0)
    acts = policy.make(envs, 0).act(observations, np.ones(3, np.bool_))
    assert acts.shape == (3, envs.single_action_space.shape[0]) and np.ptp(acts) > 0.0
    if kind == "network":
        layers = load_file(run / "policy.safetensors")
        hidden = np.tanh(observations @ layers["layers.0.weight"].T + layers["layers.0.bias"])
        expected = np.clip(hidden @ layers["layers.1.weight"].T + layers["layers.1.bias"], -1, 1)
        np.testing.assert_allclose(acts, expected, atol=1e-5)
    with pytest.raises(ValueError, match=r"env: actions must be .*, as the run in .* began, got 'residual'"):
        train(SWIM, run, "cma", resume=True, env={"actions": "residual"})


@pytest.mark.full
@pytest.mark.parametrize("kind", EVOLVED)
def test_generations_are_shared_out_to_the_bit(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(evolution, "COMPARED", 2)
    train(SWIM, tmp_path / "one", "cma", steps=2 * 9 * 400, **EVOLVED[kind])
    with workers(processes=2) as engine:
        train(SWIM, tmp_path / "two", "cma", steps=2 * 9 * 400, workers=engine, **EVOLVED[kind])
    assert_same_files(tmp_path / "one", tmp_path / "two")
    fitness = [json.loads((tmp_path / name / "checkpoint.json").read_text())["fitness"] for name in ("one", "two")]
    assert fitness[0] == fitness[1] and len(fitness[0]) > 1


@pytest.mark.slow
def test_a_wave_that_evolves_passes_the_sine(tmp_path):
    crawl = "gymnosoma/WormCrawl-v0"
    train(crawl, tmp_path / "run", "cma", controller="baseline", num_envs=36, steps=700_000)
    score = {name: measure(crawl, [name], 32, 1000)[0]["score_mean"] for name in ("baseline", str(tmp_path / "run"))}
    assert score[str(tmp_path / "run")] > score["baseline"]


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        ("{}", "'record'"),
        ("[" * 60_000, "recursion"),
        ('{"record": {}, "steps": 1, "fitness": 3, "recent": []}', "not iterable"),
        ('{"record": {}, "steps": 1, "fitness": [["a"]], "recent": []}', "could not convert"),
        ('{"record": {}, "steps": 1, "fitness": [], "recent": [], "x": 1}', "something else than steps"),
    ],
)
def test_a_damaged_checkpoint_of_an_evolution_is_refused(tmp_path, monkeypatch, harm, message):
    monkeypatch.setattr(evolution, "COMPARED", 1)
    assert not train(SWIM, tmp_path / "run", "cma", controller="baseline", stop=lambda: True)
    (tmp_path / "run" / "checkpoint.json").write_text(harm)
    with pytest.raises(ValueError, match=f"checkpoint.json' cannot be loaded: .*{message}"):
        train(SWIM, tmp_path / "run", resume=True)


def test_arguments_of_the_environment_are_kept(tmp_path):
    env = {"actions": "residual", "history": 2}
    train(SWIM, tmp_path / "run", steps=1, num_envs=1, env=env)
    assert read_config(tmp_path / "run")["env"] == env == read_card(tmp_path / "run")["env"]
    assert train(SWIM, tmp_path / "run", resume=True, env={"history": 2})
    with pytest.raises(ValueError, match=r"env: history must be 2, as the run in '.*' began, got 3"):
        train(SWIM, tmp_path / "run", resume=True, env={"history": 3})
    policy = find_policy(SWIM, str(tmp_path / "run"))
    assert evaluate(SWIM, policy, 1, max_episode_steps=2).lengths == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"env": {"flight": 1}}, "env: argument must be one of .*actions.*, got 'flight'"),
        ({"env": {"actions": "flight"}}, "env: actions must be one of .*, got 'flight'"),
        ({"env": {"history": 0}}, "env: history must be an integer from 1 to 1000, got 0"),
        ({"algorithm": "cma", "controller": "nobody"}, "controller must be one of baseline, .*got 'nobody'"),
        ({"algorithm": "supervised"}, "algorithm must not be supervised for Swim, whose actions hold no answers"),
        ({"algorithm": "supervised", "controller": "x"}, "controller must be one of baseline, .*got 'x'"),
        ({"controller": "baseline"}, "controller must be left out for ppo, got 'baseline'"),
        ({"algorithm": "cma", "imitate": "baseline"}, "imitate must be left out for cma, got 'baseline'"),
    ],
)
def test_what_cannot_be_trained_is_told(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        train(SWIM, tmp_path / "run", **arguments)
    assert not (tmp_path / "run").exists()


DETECT = "gymnosoma/WhiskerDetect-v0"
ANSWERED = {
    "num_envs": 8,
    "steps": 3 * 8 * 12,
    "env": {"history": 3},
    "settings": {"latest": 0.05, "net_arch": [4], "n_epochs": 1, "parameters": {"amplitude": 0.35}},
}


@pytest.fixture
def few(monkeypatch):
    """Few episodes and rules decide."""
    monkeypatch.setattr(evolution, "COMPARED", 2)
    for name, value in (("CHOSEN", 2), ("SCORED", 2), ("DOUBTS", (0.0, 0.5)), ("SHARES", (0.5, 1.0))):
        monkeypatch.setattr(supervision, name, value)


@pytest.fixture(params=[*EVOLVED, "answers"])
def another_way(request, few):
    """Trains in a folder by another algorithm than stable-baselines3's."""
    if request.param == "answers":
        return lambda folder, **given: train(DETECT, folder, "supervised", **ANSWERED, **given)
    return lambda folder, **given: train(SWIM, folder, "cma", steps=3 * 9 * 400, **EVOLVED[request.param], **given)


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


def test_what_answers_commits_itself(few, tmp_path):
    run = tmp_path / "run"
    assert train(DETECT, run, "supervised", **ANSWERED)
    card = read_card(run)
    assert card["rule"]["doubt"] in (0.0, 0.5) and card["controller"]["parameters"] == {"amplitude": 0.35}
    played = evaluate(DETECT, find_policy(DETECT, str(run)), 4)
    assert np.isfinite(played.info["committed"]).all()  # at the latest after 0.05 s
    assert (played.lengths <= round((0.05 + 0.02) * 250)).all()
    damaged = (run / "checkpoint.safetensors").read_bytes()[:200]
    (run / "checkpoint.safetensors").write_bytes(damaged)
    with pytest.raises(ValueError, match=r"checkpoint.safetensors' cannot be loaded: "):
        train(DETECT, run, resume=True)


@pytest.mark.parametrize(
    ("name", "after"),
    [("checkpoint.", 1)]
    + [pytest.param(name, 0, marks=pytest.mark.full) for name in ("checkpoint.", "curve.csv", "card.json")],
)
def test_a_full_disk_costs_nothing_in_other_ways_to_learn(another_way, tmp_path, monkeypatch, name, after):
    assert another_way(tmp_path / "whole")
    opened = []

    def scarce(path, mode):
        opened.append(path.name)
        meant = f"partial-{name}" in path.name
        full = meant and sum(f"partial-{name}" in each for each in opened) > after
        return io.BufferedRandom(FullDisk(path, "x+")) if full else open(path, mode)

    with monkeypatch.context() as patched, pytest.raises(OSError, match=rf"\[Errno 28\] .*{name}"):
        patched.setattr(files, "open", scarce, raising=False)
        another_way(tmp_path / "run")
    assert not list((tmp_path / "run").glob("partial-*"))
    assert any((tmp_path / "run").glob("checkpoint.*")) == (name != "checkpoint." or after > 0)
    if not any((tmp_path / "run").glob("checkpoint.*")):  # nothing was learned yet
        shutil.rmtree(tmp_path / "run")
    another_way(tmp_path / "run", resume=(tmp_path / "run").exists())
    assert_same_files(tmp_path / "run", tmp_path / "whole")


@pytest.mark.full
def test_supervised_answers_pass_the_reference(tmp_path):
    localize = "gymnosoma/WhiskerLocalize-v0"
    train(localize, tmp_path / "run", "supervised")
    names = ("baseline", "quick", str(tmp_path / "run"))
    scores = [measure(localize, [name], 64, 1000)[0]["score_mean"] for name in names]
    assert scores[2] > max(scores[:2]) + 0.05


def study(folder, trials):
    """What a small study is asked for."""
    file = folder / "x.toml"
    file.write_text(
        "[ppo]\nn_steps = 64\nbatch_size = 128\nn_epochs = 1\nlog_std_init = -1.0\nnet_arch = [4]\n"
        "[tune.ppo]\nnum_envs = [8, 16]\nlearning_rate = [1e-4, 1e-3]\nnet_arch = [[4], [8]]\n"
    )
    return {"recipe_file": file, "steps": 2 * 16 * 64, "trials": trials, "env": {"actions": "modes"}}


def test_a_study_goes_on_where_it_was_stopped_or_had_no_room(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "EPISODES", 2)
    asked = study(tmp_path, trials=3)
    best = tuning.tune(SWIM, tmp_path / "whole", **asked)
    trial, done = tuning._trial, []

    def stopped(*given):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(trial(*given))
        return done[-1]

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(tuning, "_trial", stopped)
        tuning.tune(SWIM, tmp_path / "half", **asked)
    assert len(done) == 2

    def crowded(*given):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        try:
            return trial(*given)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    with (
        monkeypatch.context() as patched,
        pytest.raises(ValueError, match=r"trial 2 failed: OSError: .*File too large"),
    ):
        patched.setattr(tuning, "_trial", crowded)
        tuning.tune(SWIM, tmp_path / "half", **asked, resume=True)
    assert tuning.tune(SWIM, tmp_path / "half", **asked, resume=True) == best
    one, two = (tmp_path / name / "WormSwim-v0.toml" for name in ("whole", "half"))
    assert one.read_bytes() == two.read_bytes()
    found = recipe(SWIM, file=one)
    assert found["env"] == {"actions": "modes"} and found["settings"]["n_epochs"] == 1
    assert {**found["settings"], "num_envs": found["num_envs"]}.items() >= best[0].items()
    with pytest.raises(ValueError, match="already holds a study"):
        tuning.tune(SWIM, tmp_path / "half", **asked)
    with pytest.raises(ValueError, match=r"steps must be as the study in '.*' began"):
        tuning.tune(SWIM, tmp_path / "half", **asked | {"steps": 1}, resume=True)


@pytest.mark.full
def test_trials_that_are_proposed_together_are_the_same_whoever_does_them(tmp_path):
    asked = study(tmp_path, trials=4)
    best = tuning.tune(SWIM, tmp_path / "one", **asked, together=2)
    with workers(processes=2) as engine:
        assert tuning.tune(SWIM, tmp_path / "two", **asked, together=2, workers=engine) == best
    one, two = (tmp_path / name / "WormSwim-v0.toml" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    with pytest.raises(ValueError, match=r"together must be as the study in '.*' began"):
        tuning.tune(SWIM, tmp_path / "two", **asked | {"trials": 5}, together=3, resume=True)


def test_a_recipe_keeps_the_settings_that_it_does_not_name(tmp_path):
    (tmp_path / "x.toml").write_text("steps = 1000\n[ppo]\nlearning_rate = 1e-4\n")
    found, default = recipe(SWIM, file=tmp_path / "x.toml"), recipe("gymnosoma/LampreySpeed-v0")
    assert found["settings"] == default["settings"] | {"learning_rate": 1e-4} and found["steps"] == 1000


@pytest.mark.parametrize("name", ["Localize", "Detect", pytest.param("Texture", marks=pytest.mark.full)])
def test_right_answers_are_those_that_are_scored(name):
    """Committed at once, what ``info`` calls true is a success; its opposite is none."""
    for sign, success in ((1.0, 1.0), (-1.0, 0.0)):
        envs = gymnasium.make_vec(f"gymnosoma/Whisker{name}-v0", 16, autoreset_mode="SameStep")
        answers = Answers(envs.unwrapped.task)
        _, infos = envs.reset(seed=0)
        actions = np.zeros(envs.action_space.shape, np.float32)
        right = answers.right(infos)
        actions[:, answers.columns], actions[:, answers.commit] = np.where(sign > 0, right, -np.sign(right)), 1.0
        done, told = np.zeros(16, np.bool_), np.full(16, np.nan)
        while not done.all():
            _, _, terminated, truncated, infos = envs.step(actions)
            new = (terminated | truncated) & ~done
            if new.any():
                told[new] = infos["final_info"]["is_success"][new]
            done |= new
        assert np.mean(told) == success
