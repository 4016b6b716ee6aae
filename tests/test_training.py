"""Run folders: killed, interrupted, on a full disk, damaged; whatever happens, a run goes on as if nothing had."""

import errno
import io
import json
import multiprocessing
import pickle
import re
import resource
import shutil
import signal
import sys
import zipfile
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from time import monotonic, process_time, sleep

import gymnasium
import numpy as np
import pytest
import stable_baselines3
import torch
from safetensors.numpy import load_file

from gymnosoma.agents.commands import main as cli
from gymnosoma.agents.commands.arguments import read_arguments
from gymnosoma.agents.commands.evaluate import measure
from gymnosoma.agents.commands.train import LAST, STOPPING
from gymnosoma.agents.commands.train import train as train_command
from gymnosoma.agents.evaluation.policies import evaluate, find_policy, read_config
from gymnosoma.agents.evaluation.progress import progress_bar
from gymnosoma.agents.evaluation.work import workers
from gymnosoma.agents.interruption import noted_signals
from gymnosoma.agents.learning import evolution, imitation, supervision, tuning
from gymnosoma.agents.learning.answers import Answers
from gymnosoma.agents.learning.policy_file import read_card
from gymnosoma.agents.learning.runs import recipe
from gymnosoma.agents.learning.sb3_env import SB3VecEnv
from gymnosoma.agents.learning.training import train
from gymnosoma.envs.core import files

SWIM = "gymnosoma/WormSwim-v0"
ROLLOUT = 8 * 128
"""Steps between two updates of PPO with eight animals."""
SHORT = {"num_envs": 8, "steps": 4 * ROLLOUT, "checkpoint": 1}
WILD = Path(__file__).with_name("wild.toml")
"""Recipe by which a worm soon crosses itself: episodes end within a rollout, and each update gives the curve a row."""


def steps_of(folder):
    """Steps that the checkpoint of a run has; -1 without one."""
    if not (folder / "checkpoint.zip").exists():
        return -1
    with zipfile.ZipFile(folder / "checkpoint.zip") as archive:
        return json.loads(archive.read("data"))["num_timesteps"]


def curve(folder):
    """Rows of the learning curve without the seconds, after a look at their form."""
    header, *lines = (folder / "curve.csv").read_text().splitlines()
    assert header == "steps,seconds,episodes,return,score"
    rows = [tuple(map(float, line.split(","))) for line in lines]
    assert all(len(row) == 5 for row in rows)
    assert all(a[0] < b[0] and a[1] <= b[1] and a[2] <= b[2] for a, b in pairwise(rows))
    return [(row[0], *row[2:]) for row in rows]


def assert_same(folder, other, algorithm="ppo"):
    """Two runs must have the same curve, and the same weights and optimizers, to the bit."""
    assert curve(folder) == curve(other)
    kind = getattr(stable_baselines3, algorithm.upper())
    one, two = (kind.load(path / "checkpoint.zip", device="cpu").get_parameters() for path in (folder, other))
    torch.testing.assert_close(one, two, rtol=0.0, atol=0.0)


@pytest.mark.parametrize(
    ("algorithm", "num_envs", "steps", "kill", "stop"),
    [
        ("ppo", 32, 20_000, 4, 1),
        ("sac", 8, 4_400, 20, 17),  # the network learns from step 4000 on
        pytest.param("ppo", 64, 40_000, 4, 1, marks=pytest.mark.full),
    ],
)
def test_a_resumed_run_equals_one_in_one_go(tmp_path, algorithm, num_envs, steps, kill, stop):
    """Killed after some updates, when the last checkpoint is old; stopped some updates after it was resumed."""
    arguments = {"algorithm": algorithm, "num_envs": num_envs, "steps": steps, "checkpoint": steps // 4}
    updates = iter(range(1, 10**6))

    def copy():
        if next(updates) == kill:
            shutil.copytree(tmp_path / "whole", tmp_path / "run")

    assert train(SWIM, tmp_path / "whole", **arguments, stop=copy)
    kept = steps_of(tmp_path / "run")
    assert 0 < kept < steps
    stops = iter([False] * stop)
    assert not train(SWIM, tmp_path / "run", resume=True, stop=lambda: next(stops, True))
    assert kept < steps_of(tmp_path / "run") < steps
    assert train(SWIM, tmp_path / "run", resume=True)
    assert_same(tmp_path / "run", tmp_path / "whole", algorithm)


def test_a_kill_loses_at_most_one_interval(tmp_path):
    done = []

    def look():
        kept = steps_of(tmp_path / "run")
        assert len(done) * ROLLOUT - kept <= 3 * ROLLOUT - 1
        assert not curve(tmp_path / "run") or curve(tmp_path / "run")[-1][0] <= kept
        done.append(kept)

    arguments = {"num_envs": 8, "steps": 8 * ROLLOUT, "checkpoint": 3 * ROLLOUT - 1}
    train(SWIM, tmp_path / "run", **arguments, recipe_file=WILD, stop=look)
    assert len(done) == 8 and len(set(done)) == 4


def test_seconds_are_those_of_the_processor(tmp_path):
    before, spent = process_time(), []
    stops = iter([False, False, True])
    for resume in (False, True):
        sleeper = lambda: sleep(0.5) or next(stops, False)  # noqa: E731
        train(SWIM, tmp_path / "run", **SHORT, recipe_file=WILD, resume=resume, stop=sleeper)
        lines = (tmp_path / "run" / "curve.csv").read_text().splitlines()
        spent.append(float(lines[-1].split(",")[1]))
    assert 0.0 < spent[0] < spent[1] <= process_time() - before


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run in one go, with its evaluation."""
    folder = tmp_path_factory.mktemp("training") / "run"
    train_command("WormSwim-v0", folder=folder, **SHORT, recipe=WILD, episodes=1)
    return folder


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The same run, stopped before its last update."""
    stops = iter([False] * 3)
    folder = tmp_path_factory.mktemp("training") / "run"
    assert not train(SWIM, folder, **SHORT, recipe_file=WILD, stop=lambda: next(stops, True))
    assert len(curve(folder)) >= 2
    return folder


@pytest.fixture
def half(stopped, tmp_path):
    """A copy of the run that was stopped."""
    return shutil.copytree(stopped, tmp_path / "run")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda path: path.unlink(), "No such file or directory; written anew from the checkpoint"),
        (lambda path: path.write_text(path.read_text()[:-4]), "dropped 1 rows .*first '3072"),
        (lambda path: path.write_text(path.read_text() + "5120,9"), "dropped 1 rows .*first '5120,9'"),
        (lambda path: path.write_text(path.read_text() + "a,b,c,d,e\n1,1,1,1,1\n"), "dropped 2 rows"),
        (lambda path: path.write_bytes(b"\xff\x00\r" * 1000), "dropped 1000 rows|dropped 999 rows"),
        (lambda path: path.write_text(""), None),
        (lambda path: None, None),
    ],
)
def test_a_broken_curve_is_mended_from_the_checkpoint(whole, half, capfd, harm, message):
    harm(half / "curve.csv")
    capfd.readouterr()
    assert train(SWIM, half, resume=True)
    said = [line for line in capfd.readouterr().err.splitlines() if "curve.csv" in line]
    assert [bool(re.search(message, line)) for line in said] == [True] if message else not said
    assert_same(half, whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "a2c"}, "algorithm must be one of ppo, sac, cma, supervised, got 'a2c'"),
        ({"algorithm": ["ppo"]}, r"algorithm must be a string, got \['ppo'\]"),
        ({"env": {"task": "os:system"}}, "env: argument must be one of .*actions.*, got 'task'"),
        ({"env": {"num_envs": 3}}, "env: argument must be one of .*, got 'num_envs'"),
        ({"env": {"actions": "all"}}, "env: actions must be one of .*, got 'all'"),
        ({"env": []}, r"env must map names to values, got \[\]"),
        ({"id": "gymnosoma/WormFly-v0"}, "id must be one of .*, got 'gymnosoma/WormFly-v0'"),
        ({"steps": "1e6"}, "steps must be a whole number, got '1e6'"),
        ({"steps": True}, "steps must be a whole number, got True"),
        ({"steps": -1}, "steps must be at least 1, got -1"),
        ({"num_envs": 10**9}, "num_envs must be at most 65536, got 1000000000"),
        ({"seed": 2**32}, "seed must be at most 4294967295, got 4294967296"),
        ({"seed": float("nan")}, "seed must be a whole number, got nan"),
        ({"settings": {"gamma": [[]]}}, r"settings: 'gamma' must be a number, a word or some of them, got \[\[\]\]"),
        ({"settings": {"a\nb": None}}, r"settings: 'a\\nb' must be a number"),
        ({"settings": None}, "settings must map names to values, got None"),
        ({"versions": {"numpy": 2}}, "versions: 'numpy' must be a string, got 2"),
        ({"folder": "/"}, "key must be one of id, .*, got 'folder'"),
        ("[1]", r"it must hold id, algorithm, .*, got \[1\]"),
        ("{}", "'id' is missing"),
        ("[" * 60_000, "recursion"),
        ('{"id": 1' + "0" * 5000 + "}", "digits"),
        ("\xff", "codec can't decode|Expecting value"),
        (" " * 100_000, "it must have at most 65536 bytes, got 100000"),
    ],
)
def test_a_config_is_checked(whole, tmp_path, change, message):
    config = read_config(whole)
    text = change if isinstance(change, str) else json.dumps(config | change)
    (tmp_path / "config.json").write_text(text, "latin-1")
    with pytest.raises(ValueError, match=r"run folder '.*' has no usable config\.json: ") as raised:
        read_config(tmp_path)
    assert re.search(f"config.json: .*{message}", str(raised.value)) and "\n" not in str(raised.value)


def change_state(path, change):
    """Change our part of a checkpoint."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    state = pickle.loads(members.pop("state.pkl"))
    if change is not None:
        members["state.pkl"] = pickle.dumps(state | change)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (None, "it holds no state.pkl"),
        ({"algorithm": "sac"}, "it is of algorithm 'sac', config.json says 'ppo'"),
        ({"environments": {}}, "snapshot"),
    ],
)
def test_a_foreign_checkpoint_is_refused(whole, tmp_path, change, message):
    shutil.copytree(whole, tmp_path / "run")
    change_state(tmp_path / "run" / "checkpoint.zip", change)
    with pytest.raises(ValueError, match=f"checkpoint '.*checkpoint.zip' cannot be loaded: .*{message}"):
        train(SWIM, tmp_path / "run", resume=True)


def test_a_config_of_another_run_is_refused(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    config = read_config(whole) | {"num_envs": 4}
    (tmp_path / "run" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"checkpoint .* cannot be loaded: ValueError: snapshot: elapsed must be"):
        train(SWIM, tmp_path / "run", resume=True)


@pytest.fixture
def without_ctrl_c():
    """Python's own reaction to signals, whatever the test runner has made of it."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_is_obeyed_at_once(without_ctrl_c, first):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt), noted_signals(*STOPPING, message=LAST) as caught:
        signal.raise_signal(first)
        assert caught == [first]
        assert signal.getsignal(signal.SIGTERM) is before
        signal.raise_signal(signal.SIGINT)
    with noted_signals(*STOPPING, message=LAST) as caught:
        pass
    assert not caught and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_no_terminal_gets_lines(capsys):
    bar = progress_bar(total=10_000, unit="step")
    for _ in range(10_000):
        bar.set_postfix_str("return 1", refresh=False)
        bar.update()
    bar.close()
    written = capsys.readouterr().err
    assert "\r" not in written and "100%" in written.splitlines()[-1] and len(written.splitlines()) <= 3


class FullDisk(io.FileIO):
    """A file that takes a hundred bytes."""

    def write(self, data):
        room = max(100 - self.tell(), 0)
        if len(data) <= room:
            return super().write(data)
        super().write(bytes(data)[:room])
        raise OSError(errno.ENOSPC, "No space left on device")


FILES = (
    "checkpoint.zip",
    "curve.csv",
    "config.json",
    "policy.safetensors",
    "card.json",
    "curve.png",
    "evaluation.json",
)


@pytest.mark.parametrize(
    ("name", "after"),
    [("checkpoint.zip", 2), ("config.json", 0)]
    + [
        pytest.param(name, after, marks=pytest.mark.full)
        for name, after in (("checkpoint.zip", 0), ("curve.csv", 0), ("curve.csv", 2), *((x, 0) for x in FILES[3:]))
    ],
)
def test_a_full_disk_costs_no_run(whole, tmp_path, monkeypatch, name, after):
    """The disk is full when a file of that name is to be written, after so many of them."""
    folder, opened = tmp_path / "run", []
    arguments = SHORT | {"folder": folder, "recipe": WILD, "episodes": 1}

    def scarce(path, mode):
        opened.append(path.name)
        full = opened.count(f"partial-{name}") > after
        return io.BufferedRandom(FullDisk(path, "w+")) if full and path.name == f"partial-{name}" else open(path, mode)

    monkeypatch.setattr(files, "open", scarce, raising=False)
    with pytest.raises(OSError, match=rf"\[Errno 28\] No space left on device: '.*{name}'"):
        train_command("WormSwim-v0", **arguments)
    assert not list(folder.glob("partial-*")) and f"partial-{name}" in opened
    began = (folder / "config.json").exists()
    assert began or (name in FILES[:3] and not after)  # nothing was begun, nothing is lost
    if began:
        assert curve(folder) == curve(whole)[: len(curve(folder))]
    monkeypatch.undo()
    train_command("WormSwim-v0", **arguments, resume=began)
    assert_same(folder, whole)
    assert {path.name for path in folder.iterdir()} >= set(FILES)


@pytest.mark.parametrize("size", [1000, pytest.param(100_000, marks=pytest.mark.full)])
def test_a_limit_of_file_size_costs_no_run(whole, half, monkeypatch, size):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr(sys, "argv", ["gymnosoma", "train", "WormSwim-v0", "--folder", str(half), "--resume"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert re.fullmatch(rf"error: \[Errno 27\] File too large: '{half}/\S+'", str(stopped.value.code))
    assert train(SWIM, half, resume=True)
    assert_same(half, whole)


@contextmanager
def trainee(folder):
    """A process that trains, forked from one that has imported everything; it ends with the block."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([train_command.__module__, train.__module__])
    arguments = SHORT | {"folder": folder, "steps": 16 * ROLLOUT, "recipe": WILD, "episodes": 1}
    began = (folder / "config.json").exists()
    process = context.Process(target=train_command, args=("WormSwim-v0",), kwargs=arguments | {"resume": began})
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


@pytest.mark.parametrize("kills", [pytest.param(6, marks=pytest.mark.full), pytest.param(20, marks=pytest.mark.slow)])
def test_kills_change_nothing(tmp_path, kills):
    """Runs killed at moments drawn from all their length, until they are done, become what one in one go becomes.

    Half of the moments are drawn in time; half in steps, and then fall into the writing of a file.
    """
    rng = np.random.default_rng(0)
    for _ in range(2):  # the second time nothing is compiled
        shutil.rmtree(tmp_path / "whole", ignore_errors=True)
        began = monotonic()
        with trainee(tmp_path / "whole") as process:
            process.join()
            assert process.exitcode == 0
        length = monotonic() - began
    expected, killed_at, writing = curve(tmp_path / "whole"), [], 0
    while len(killed_at) < kills:
        folder, kept, done = tmp_path / f"after {len(killed_at)} kills", 0, False
        while not done:
            with trainee(folder) as process:
                if len(killed_at) % 2:
                    process.join(rng.uniform(0.0, length))
                else:
                    reached = kept + rng.uniform(0.0, 6.0) * ROLLOUT
                    while process.is_alive() and not (any(folder.glob("partial-*")) and steps_of(folder) >= reached):
                        sleep(0.0005)
                done = not process.is_alive()
            assert process.exitcode == (0 if done else -signal.SIGKILL)
            if (folder / "config.json").exists():
                read_config(folder)
                assert steps_of(folder) >= kept
                kept = steps_of(folder)
                assert curve(folder) == expected[: len(curve(folder))]
            if not done:
                killed_at.append(kept)
                writing += any(folder.glob("partial-*"))
        assert_same(folder, tmp_path / "whole")
        assert not list(folder.glob("partial-*"))
    print(f"a run of {length:.1f} s, {writing} kills amid writing, checkpoints when killed: {killed_at}")
    assert len(set(killed_at)) > 0.3 * kills and writing > 0.2 * kills


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
def test_what_evolves_goes_on_to_the_bit_and_plays(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(evolution, "COMPARED", 2)

    def go(name, steps, **changes):
        return train(SWIM, tmp_path / name, "cma", steps=steps, **(EVOLVED[kind] | changes))

    steps = 4 * 9 * 400
    assert go("whole", steps)
    stops = iter([False] * 2)
    assert not go("run", steps, stop=lambda: next(stops, True))
    assert len(curve(tmp_path / "run")) == 2
    assert go("run", steps, resume=True)
    assert curve(tmp_path / "run") == curve(tmp_path / "whole")
    for name in ("card.json", "policy.safetensors"):
        one, two = (tmp_path / folder / name for folder in ("run", "whole"))
        assert one.exists() == two.exists() == (kind == "network" or name == "card.json")
        assert not one.exists() or one.read_bytes() == two.read_bytes()
    assert not list((tmp_path / "run").glob("*.zip"))
    policy = find_policy(SWIM, str(tmp_path / "run"))
    envs = gymnasium.make_vec(SWIM, 3, **policy.env)
    observations, _ = envs.reset(seed=0)
    acts = policy.make(envs, 0).act(observations, np.ones(3, np.bool_))
    assert acts.shape == (3, envs.single_action_space.shape[0]) and np.ptp(acts) > 0.0
    if kind == "network":
        layers = load_file(tmp_path / "run" / "policy.safetensors")
        hidden = np.tanh(observations @ layers["layers.0.weight"].T + layers["layers.0.bias"])
        expected = np.clip(hidden @ layers["layers.1.weight"].T + layers["layers.1.bias"], -1, 1)
        np.testing.assert_allclose(acts, expected, atol=1e-5)
    with pytest.raises(ValueError, match=r"env: actions must be .*, as the run in .* began, got 'residual'"):
        go("run", steps, resume=True, env={"actions": "residual"})


@pytest.mark.full
@pytest.mark.parametrize("kind", EVOLVED)
def test_generations_are_shared_out_to_the_bit(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(evolution, "COMPARED", 2)
    train(SWIM, tmp_path / "one", "cma", steps=2 * 9 * 400, **EVOLVED[kind])
    with workers(processes=2) as engine:
        train(SWIM, tmp_path / "two", "cma", steps=2 * 9 * 400, workers=engine, **EVOLVED[kind])
    assert curve(tmp_path / "one") == curve(tmp_path / "two")
    for name in ("checkpoint.json", "card.json", "policy.safetensors"):
        one, two = ((tmp_path / folder / name) for folder in ("one", "two"))
        assert one.exists() == two.exists()
        if name == "checkpoint.json":
            told = [json.loads(file.read_text())["fitness"] for file in (one, two)]
            assert told[0] == told[1] and len(told[0]) > 1
        elif one.exists():
            assert one.read_bytes() == two.read_bytes()


@pytest.mark.full
def test_a_wave_that_evolves_passes_the_sine(tmp_path):
    train(SWIM, tmp_path / "run", "cma", controller="baseline", num_envs=36, steps=700_000)
    score = {name: measure(SWIM, [name], 32, 1000)[0]["score_mean"] for name in ("baseline", str(tmp_path / "run"))}
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


def test_what_answers_goes_on_to_the_bit_and_plays(tmp_path, monkeypatch):
    for name, value in (("CHOSEN", 2), ("SCORED", 2), ("DOUBTS", (0.0, 0.5)), ("SHARES", (0.5, 1.0))):
        monkeypatch.setattr(supervision, name, value)
    assert train(DETECT, tmp_path / "whole", "supervised", **ANSWERED)
    stops = iter([False] * 2)
    assert not train(DETECT, tmp_path / "run", "supervised", **ANSWERED, stop=lambda: next(stops, True))
    assert len(curve(tmp_path / "run")) == 2
    assert train(DETECT, tmp_path / "run", resume=True)
    assert curve(tmp_path / "run") == curve(tmp_path / "whole")
    for name in ("card.json", "policy.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    card = read_card(tmp_path / "run")
    assert card["rule"]["doubt"] in (0.0, 0.5) and card["controller"]["parameters"] == {"amplitude": 0.35}
    played = evaluate(DETECT, find_policy(DETECT, str(tmp_path / "run")), 4)
    assert np.isfinite(played.info["committed"]).all()  # it commits itself: at the latest after 0.05 s
    assert (played.lengths <= round((0.05 + 0.02) * 250)).all()
    damaged = (tmp_path / "run" / "checkpoint.safetensors").read_bytes()[:200]
    (tmp_path / "run" / "checkpoint.safetensors").write_bytes(damaged)
    with pytest.raises(ValueError, match=r"checkpoint.safetensors' cannot be loaded: "):
        train(DETECT, tmp_path / "run", resume=True)


@pytest.fixture(params=[*EVOLVED, "answers"])
def another_way(request, monkeypatch):
    """Trains in a folder by another algorithm than stable-baselines3's."""
    monkeypatch.setattr(evolution, "COMPARED", 2)
    for name, value in (("CHOSEN", 2), ("SCORED", 2), ("DOUBTS", (0.0, 0.5)), ("SHARES", (0.5, 1.0))):
        monkeypatch.setattr(supervision, name, value)
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


def test_a_kill_changes_nothing_in_other_ways_to_learn(another_way, tmp_path):
    """A copy of the folder amid the run is what a kill would have left."""
    updates = iter(range(1, 10**6))
    copy = lambda: shutil.copytree(tmp_path / "whole", tmp_path / "run") and None if next(updates) == 2 else None  # noqa: E731
    assert another_way(tmp_path / "whole", stop=copy)
    assert 0 < len(curve(tmp_path / "run")) < len(curve(tmp_path / "whole"))
    assert another_way(tmp_path / "run", resume=True)
    assert_same_files(tmp_path / "run", tmp_path / "whole")


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
        return io.BufferedRandom(FullDisk(path, "w+")) if full else open(path, mode)

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


def test_a_study_goes_on_where_it_was_stopped_or_had_no_room(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "EPISODES", 2)
    (tmp_path / "x.toml").write_text(
        "[ppo]\nn_steps = 64\nbatch_size = 128\nn_epochs = 1\nlog_std_init = -1.0\nnet_arch = [4]\n"
        "[tune.ppo]\nnum_envs = [8, 16]\nlearning_rate = [1e-4, 1e-3]\nnet_arch = [[4], [8]]\n"
    )
    asked = {"recipe_file": tmp_path / "x.toml", "steps": 2 * 16 * 64, "trials": 3, "env": {"actions": "modes"}}
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
    (tmp_path / "x.toml").write_text(
        "[ppo]\nn_steps = 64\nbatch_size = 128\nn_epochs = 1\nlog_std_init = -1.0\nnet_arch = [4]\n"
        "[tune.ppo]\nnum_envs = [8, 16]\nlearning_rate = [1e-4, 1e-3]\nnet_arch = [[4], [8]]\n"
    )
    asked = {"recipe_file": tmp_path / "x.toml", "steps": 2 * 16 * 64, "trials": 4, "env": {"actions": "modes"}}
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


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("actions=residual", {"actions": "residual"}),
        ("history=4", {"history": 4}),
        ("dt=1e-3", {"dt": 1e-3}),
        ('randomize={"stiffness": [1, 2]}', {"randomize": {"stiffness": [1, 2]}}),
        ("split=", {"split": ""}),
        ("dt=NaN", {"dt": "NaN"}),
        ("=3", None),
        ("history", None),
    ],
)
def test_arguments_are_read(given, expected):
    if expected is not None:
        assert read_arguments([given]) == expected
        return
    with pytest.raises(ValueError, match=f"env must be NAME=VALUE, such as actions=residual, got '{given}'"):
        read_arguments([given])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps = ", "Invalid|Expected"),
        ("flight = 1", "key must be one of algorithm, .*, got 'flight'"),
        ("ppo = 1", "ppo must be a table, got 1"),
        ('algorithm = "a2c"', "algorithm must be one of ppo, .*got 'a2c'"),
    ],
)
def test_a_recipe_is_checked(tmp_path, text, message):
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(ValueError, match=f"recipe '.*x.toml': .*({message})"):
        train(SWIM, tmp_path / "run", recipe_file=tmp_path / "x.toml")
    with pytest.raises(ValueError, match="recipe must be a file, got"):
        train(SWIM, tmp_path / "run", recipe_file=tmp_path)


def test_seeds_are_trained_one_after_another(tmp_path, monkeypatch):
    asked = {"folder": tmp_path / "run", "num_envs": 8, "seeds": 2, "seed": 3, "episodes": 1}
    train_command("WormSwim-v0", **asked, steps=ROLLOUT)
    one, two = (tmp_path / f"run-{k}" for k in (3, 4))
    assert [read_config(folder)["seed"] for folder in (one, two)] == [3, 4]
    shutil.rmtree(two)
    with pytest.raises(ValueError, match="already holds a run"):
        train_command("WormSwim-v0", **asked, steps=ROLLOUT)
    train_command("WormSwim-v0", **asked, steps=2 * ROLLOUT, resume=True)
    assert [steps_of(folder) for folder in (one, two)] == [2 * ROLLOUT, 2 * ROLLOUT]
    assert json.loads((two / "evaluation.json").read_text())[0]["policy"] == "run-4"


@pytest.mark.full
def test_seeds_are_trained_at_the_same_time_and_go_on(tmp_path, monkeypatch):
    def go(name, *rest):
        given = (SWIM, "--steps", "9000", "--seeds", "2", "--episodes", "2", "--folder", str(tmp_path / name))
        monkeypatch.setattr(sys, "argv", ["gymnosoma", "train", *given, *rest])
        cli.main()

    go("one")
    go("two", "--processes", "2")
    for k in range(2):
        one, two = (tmp_path / f"{name}-{k}" for name in ("one", "two"))
        assert (one / "policy.safetensors").read_bytes() == (two / "policy.safetensors").read_bytes()
        scores = [
            [row["score_mean"] for row in json.loads((run / "evaluation.json").read_text())] for run in (one, two)
        ]
        assert scores[0] == scores[1] and len(scores[0]) > 2
    with pytest.raises(SystemExit, match="two-0' already holds a run: give --resume"):
        go("two", "--processes", "2")
    go("two", "--processes", "2", "--resume")
