"""Policies as files, waves of episodes, results that are never lost; functions and classes of users as policies."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tracemalloc
from pathlib import Path

import gymnasium
import numpy as np
import pieces
import pytest
import stable_baselines3
import torch
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from ids import IDS
from runs import train
from safetensors.numpy import load_file

from gymnosoma.agents import ControllerAgent, load_policy
from gymnosoma.agents.learning.runs import drawn_seeds
from gymnosoma.agents.learning.sb3_env import make_sb3_env
from gymnosoma.agents.policies import evaluation, registry
from gymnosoma.agents.policies import evaluation as policies
from gymnosoma.agents.policies.agent import ConstantAgent, Policy, ReplayAgent
from gymnosoma.agents.policies.card import read_card
from gymnosoma.agents.policies.evaluation import BENCHMARK_SEED, evaluate
from gymnosoma.agents.policies.lookup import find_policy, outdated, replay, shipped
from gymnosoma.agents.support.files import replacing
from gymnosoma.envs.core.env.vector import BodyVectorEnv
from gymnosoma.envs.worm import SineKymogram
from gymnosoma.films import reel

SWIM = "gymnosoma/WormSwim-v0"
SHIPPED = [each for each in IDS if shipped(*each.values).is_dir()]


@pytest.fixture
def copy(tmp_path):
    """A policy that comes with the package, to be damaged."""
    return Path(shutil.copytree(shipped(SWIM), tmp_path / "copy"))


def edit(folder, **changes):
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps(card | changes))


# Files.


@pytest.mark.parametrize("env_id", SHIPPED)
def test_shipped_policies_are_weights_and_a_card(env_id):
    folder = shipped(env_id)
    assert {path.name for path in folder.iterdir()} == {"policy.safetensors", "card.json", "README.md"}
    card = read_card(folder)
    assert card.id == env_id and card.scores.episodes == 128
    tensors = {name: torch.from_numpy(each) for name, each in load_file(folder / "policy.safetensors").items()}
    envs = gymnasium.make_vec(env_id, num_envs=1, **card.env)
    shape = 1000, *envs.single_observation_space.shape
    observations = np.random.default_rng(0).normal(size=shape).astype(np.float32)

    def outputs(kind):
        x = torch.from_numpy(observations).to(kind)
        for k in range(len(tensors) // 2):
            layer = [tensors[f"layers.{k}.{name}"].to(kind) for name in ("weight", "bias")]
            x = torch.nn.functional.linear(x.tanh() if k else x, *layer)
        return x.numpy()

    rounding = np.abs(outputs(torch.float32) - outputs(torch.float64)).max()
    network = load_policy(folder, envs).network  # by torch, which sums up in another order
    np.testing.assert_allclose(network(observations), outputs(torch.float32), rtol=0, atol=4 * rounding)


@pytest.mark.parametrize("algorithm", ["ppo", "sac"])
def test_weights_act_as_the_checkpoint_does(tmp_path, algorithm):
    arch = {"pi": [8], "vf" if algorithm == "ppo" else "qf": [4, 4]}
    train(SWIM, tmp_path / "run", algorithm, steps=64, num_envs=2, settings={"net_arch": arch})
    card = read_card(tmp_path / "run")
    assert vars(card.network) == {"net_arch": [8], "activation": "Tanh" if algorithm == "ppo" else "ReLU"}
    envs = gymnasium.make_vec(SWIM, num_envs=1, **card.env)
    theirs = getattr(stable_baselines3, algorithm.upper()).load(tmp_path / "run" / "checkpoint.zip", device="cpu")
    observations = np.random.default_rng(0).normal(size=(200, *envs.single_observation_space.shape)).astype(np.float32)
    actions = load_policy(tmp_path / "run", envs).act(observations, None)
    np.testing.assert_allclose(actions, theirs.predict(observations, deterministic=True)[0], rtol=0, atol=2e-6)


@pytest.mark.parametrize("env", [{"actions": "modes"}, {"history": 2}])
def test_a_policy_is_refused_where_actions_mean_something_else(copy, env):
    with pytest.raises(ValueError, match=f"trained with {next(iter(env))}=|observation_space must be"):
        load_policy(copy, RecordEpisodeStatistics(gymnasium.make_vec(SWIM, 1, **env)))
    with pytest.raises(ValueError, match="envs must be a vector environment"):
        load_policy(copy, gymnasium.make(SWIM))


def test_a_policy_is_refused_in_another_environment(copy):
    edit(copy, id="gymnosoma/WormReach-v0")
    with pytest.raises(ValueError, match="was trained for gymnosoma/WormReach-v0, the environment is " + SWIM):
        load_policy(copy, gymnasium.make_vec(SWIM, 1))
    with pytest.raises(ValueError, match="was trained for gymnosoma/WormReach-v0, the environment is Swim"):
        load_policy(copy, BodyVectorEnv(1, "gymnosoma.envs.worm.tasks:Swim"))


def test_loading_weights_unpickles_nothing(copy):
    """Neither our code nor that of stable-baselines3 or torch."""
    script = (
        "import sys, pickle, gymnasium, gymnosoma\n"
        "from gymnosoma.agents.policies.lookup import find_policy\n"
        f"policy = find_policy({SWIM!r}, {str(copy)!r})\n"
        "assert 'torch' not in sys.modules, 'torch is imported'\n"
        f"envs = gymnasium.make_vec({SWIM!r}, num_envs=1, **policy.env)\n"
        "import stable_baselines3, torch, cloudpickle\n"
        "def refuse(*_, **__): raise AssertionError('unpickled')\n"
        "class Refused:\n"
        "    def __init__(self, *_, **__): refuse()\n"
        "for module in (pickle, cloudpickle, torch): module.load = refuse\n"
        "pickle.loads = cloudpickle.loads = refuse\n"
        "pickle.Unpickler = pickle._Unpickler = Refused\n"
        "policy.make(envs, 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: os.truncate(folder / "policy.safetensors", 5000), "it is not a safetensors file"),
        (lambda folder: edit(folder, algorithm="a2c"), "algorithm must be one of ppo, .*, got 'a2c'"),
        (lambda folder: edit(folder, env={"actions": "flight"}), "actions must be one of .* got 'flight'"),
        (lambda folder: edit(folder, env={"wrappers": ["x"]}), r"wrappers must map names .* got \['x'\]"),
    ],
)
def test_a_damaged_policy_is_refused_in_one_line(copy, error_of, damage, message):
    """By the command; other damages are in `test_damage`."""
    damage(copy)
    line = error_of("evaluate", "WormSwim-v0", "--policy", copy, "--episodes", 1)
    assert line is not None and re.search(message, line), line


def test_a_bomb_is_refused_at_once(copy):
    """600 MB, once behind a header and card that claim them, once behind ones that do not."""
    data = json.dumps(
        {"layers.0.bias": {"dtype": "F32", "shape": [150_000_000], "data_offsets": [0, 600_000_000]}}
    ).encode()
    (copy / "policy.safetensors").write_bytes(struct.pack("<Q", len(data)) + data)
    os.truncate(copy / "policy.safetensors", (copy / "policy.safetensors").stat().st_size + 600_000_000)
    policy = find_policy(SWIM, str(copy))
    envs = gymnasium.make_vec(SWIM, num_envs=1, **policy.env)
    tracemalloc.start()
    for damage in (lambda f: None, lambda f: edit(f, network={"net_arch": [12_000] * 2, "activation": "Tanh"})):
        damage(copy)
        with pytest.raises(ValueError, match=r"policy.safetensors': it .* 67108864"):
            policy.make(envs, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


# Waves.


@pytest.mark.parametrize("name", ["baseline", "random", "trained"])
def test_waves_play_what_one_go_does(monkeypatch, name):
    def play():
        seen = []
        options = {"max_episode_steps": 40}
        played = evaluate(SWIM, find_policy(SWIM, name, seed=3), 50, seed=5, watch=seen.append, **options)
        return played, seen

    one, _ = play()
    monkeypatch.setattr(policies, "WAVE", 20)
    waves, seen = play()
    assert seen == sorted(seen) and {16, 33, 50} <= {*seen}
    assert np.array_equal(one.returns, waves.returns) and np.array_equal(one.lengths, waves.lengths)
    assert one.failures == waves.failures
    assert one.info.keys() == waves.info.keys()
    for key, value in one.info.items():
        assert np.array_equal(value, waves.info[key]), key
    assert len(np.unique(one.returns)) > 40


# Results.


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="needs a limit on the size of files")
def test_a_full_disk_is_noticed_first(tmp_path):
    script = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "from pathlib import Path\n"
        "from gymnosoma.agents.support.files import result\n"
        "try:\n"
        "    with result('save', Path('x.gif')): print('entered')\n"
        "except ValueError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "save must be a writable file, got 'x.gif': File too large\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("evaluate", "WormSwim-v0", "--episodes", 2, "--json-file"), "x.json"),
        (("render", "WormSwim-v0", "--seconds", 0.05, "--size", "128x128", "--save"), "x.gif"),
    ],
)
def test_a_result_is_kept_where_writing_fails_in_the_end(tmp_path, monkeypatch, arguments, name, command):
    """The folder goes while the animal swims."""
    folder = tmp_path / "gone"
    folder.mkdir()
    module, function = (policies, "evaluate") if arguments[0] == "evaluate" else (reel, "_save_gif")
    real = getattr(module, function)

    def vanish(*args, **kwargs):
        shutil.rmtree(folder)
        return real(*args, **kwargs)

    monkeypatch.setattr(module, function, vanish)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(SystemExit) as end:
        command(*arguments, folder / name)
    line = str(end.value)
    assert end.value.code == 1  # the arguments were valid
    place = re.search(r"could not be written to '.*': .*; the result is kept in '(.*)'$", line)
    assert place and Path(place[1]).stat().st_size > 100, line


def test_a_replacement_is_whole_or_not_there(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        file.write(b"ne")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_what_needs_no_feedback_can_be_replayed():
    """The paper's sine looks at the time alone; a worm that is steered gets lost."""
    sine = SineKymogram.for_medium(0.0)
    wave = Policy("wave", lambda envs, _: ControllerAgent(sine, envs.task), {"actions": "angles"})
    usual = {"curl": 0.0, "drag": 1.0, "strength": 1.0}
    once, again = (evaluate(SWIM, policy, 18, seed=5, options=usual) for policy in (wave, replay(SWIM, wave)))
    np.testing.assert_array_equal(once.returns, again.returns)
    reach = "gymnosoma/WormReach-v0"
    steered, lost = (evaluate(reach, find_policy(reach, name), 18) for name in ("baseline", "replay of baseline"))
    assert lost.returns.mean() < steered.returns.mean() - 50.0


def test_a_replay_begins_with_each_episode_and_ends_in_zeros():
    actions = np.arange(1.0, 7.0, dtype=np.float32).reshape(3, 2, 1)
    agent = ReplayAgent(actions, start=1)
    firsts = [[True] * 3, [False] * 3, [False, True, False], [False] * 3]
    actions = [agent.act(np.zeros((3, 1), np.float32), np.array(first))[:, 0].tolist() for first in firsts]
    assert actions == [[2, 1, 2], [4, 3, 4], [6, 1, 6], [0, 3, 0]]


def test_a_card_tells_what_its_policy_was_trained_for(tmp_path, command, caplog):
    train(SWIM, tmp_path / "run", "cma", steps=1000, num_envs=8)
    assert outdated(SWIM, find_policy(SWIM, str(tmp_path / "run"))) is None
    assert outdated(SWIM, find_policy(SWIM, "baseline")) is None
    edit(tmp_path / "run", fingerprint="other")
    command("evaluate", "WormSwim-v0", "--policy", str(tmp_path / "run"), "--episodes", "2")
    assert "policy 'run' was trained on a different version of gymnosoma/WormSwim-v0" in caplog.text


# Functions and classes of users, and which episodes learning may see


def test_a_function_is_a_policy():
    mine = evaluate(SWIM, find_policy(SWIM, "pieces:half"), 3, seed=5)
    constant = Policy("half", lambda *_: ConstantAgent(np.full(6, 0.5, np.float32)), {"actions": "modes"})
    np.testing.assert_array_equal(mine.returns, evaluate(SWIM, constant, 3, seed=5).returns)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:act", "policy 'no_such_module:act': module 'no_such_module' cannot be imported"),
        ("pieces:act", "policy 'pieces:act': module 'pieces' must have a callable 'act', got None"),
        ("pieces:", "policy must be one of random, baseline, .* or module:function, got 'pieces:'"),
        ("pieces:short", r"policy 'pieces:short': actions must have shape \(2, 6\), got \(1, 6\)"),
        ("pieces:Idle", "policy 'pieces:Idle': class 'Idle' must have a method 'act', got None"),
        ("pieces:endless", "policy 'pieces:endless': actions must be finite, got"),
    ],
)
def test_what_is_no_function_for_a_policy_is_named(name, message):
    with pytest.raises(ValueError, match=message):
        evaluate(SWIM, find_policy(SWIM, name), 2)


def test_functions_and_classes_are_told_where_episodes_begin(monkeypatch):
    """Once in each row, at the first of its steps; rows that have ended go on beside the others."""
    pieces.counting.told.clear()
    played = evaluate(SWIM, find_policy(SWIM, "pieces:counting"), 3)
    told = np.array(pieces.counting.told)
    assert told[0].all() and not told[1 : played.lengths.min()].any()
    monkeypatch.setattr(evaluation, "WAVE", 2)
    together = find_policy(SWIM, "pieces:Remembering")
    before = pieces.Remembering.made
    several = evaluate(SWIM, together, 3)
    assert pieces.Remembering.made == before + 2
    alone = [evaluate(SWIM, together, 1, seed).returns[0] for seed in range(3)]
    assert several.returns.tolist() == alone


def test_training_never_sees_what_is_measured():
    """Whatever its seed and however many rows it has: `train --seed 10000` began with the benchmark's own episodes."""
    envs = make_sb3_env(SWIM, 3)
    envs.seed(BENCHMARK_SEED)
    seen = envs.reset()
    measured, _ = gymnasium.make_vec(SWIM, 3).reset(seed=BENCHMARK_SEED)
    assert not any(np.array_equal(one, other) for one in seen for other in measured)
    envs.seed(BENCHMARK_SEED)
    assert np.array_equal(envs.reset(), seen)
    drawn = [drawn_seeds(seed, round_, 1000) for seed in (0, BENCHMARK_SEED) for round_ in range(3)]
    assert len({seed for seeds in drawn for seed in seeds}) == 6000 and min(map(min, drawn)) >= 2**62


def test_a_module_in_the_working_folder_is_found(tmp_path, monkeypatch):
    (tmp_path / "my_own_agent.py").write_text("def act(observations):\n    return observations[:, :24]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    assert find_policy(SWIM, "my_own_agent:act").name == "my_own_agent:act"
    mine = "from gymnosoma.envs import register_model\nregister_model('gymnosoma/MyBody-v0', 'arm.toml')\n"
    (tmp_path / "my_own_body.py").write_text(mine)
    try:
        assert registry.full_id("my_own_body:MyBody-v0") == "gymnosoma/MyBody-v0"
    finally:
        gymnasium.registry.pop("gymnosoma/MyBody-v0", None)
    with pytest.raises(ValueError, match="id 'nowhere:MyBody-v0': module 'nowhere' cannot be imported"):
        registry.full_id("nowhere:MyBody-v0")
