"""Policies as files, waves of episodes, and results that are never lost."""

import base64
import json
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from ids import IDS
from safetensors.numpy import load_file, save_file
from stable_baselines3.common.policies import ActorCriticPolicy

from gymnosoma.agents import ControllerAgent, TrainedAgent
from gymnosoma.agents.learning import training
from gymnosoma.agents.policies import card as policy_file
from gymnosoma.agents.policies import evaluation as policies
from gymnosoma.agents.policies.agent import ConstantAgent, Policy, ReplayAgent
from gymnosoma.agents.policies.card import load_policy, read_card, write_policy
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.fingerprints import of_id
from gymnosoma.agents.policies.lookup import find_policy, outdated, replay, shipped
from gymnosoma.agents.support.files import replacing, result
from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.core.env.documentation import figures
from gymnosoma.envs.worm import SineKymogram
from gymnosoma.films import reel

SWIM = "gymnosoma/WormSwim-v0"
UNTRAINED = {
    "StandPulse-v0",
    "WhiskerDetect-v0",
    "WormMedium-v0",
    "WormTransition-v0",
}
"""Ids that have changed since policies were trained."""
SHIPPED = [name for entry in CATALOGUE if shipped(name := f"gymnosoma/{entry.name}").is_dir()]


def agents(env_id, folder):
    card = read_card(folder)
    return TrainedAgent.load(folder, gymnasium.make_vec(env_id, num_envs=1, **card["env"]))


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
    assert {path.name for path in folder.iterdir()} == {"policy.safetensors", "card.json"}
    card = read_card(folder)
    assert card["id"] == env_id and card["scores"]["episodes"] == 128
    tensors = {name: torch.from_numpy(each) for name, each in load_file(folder / "policy.safetensors").items()}
    envs = gymnasium.make_vec(env_id, num_envs=1, **card["env"])
    spaces = envs.single_observation_space, envs.single_action_space
    observations = np.random.default_rng(0).normal(size=(1000, *spaces[0].shape)).astype(np.float32)
    agent = load_policy(folder, envs)
    if card["algorithm"] == "ppo":
        policy = ActorCriticPolicy(*spaces, lambda _: 0.0, net_arch=card["network"]["net_arch"])
        policy.load_state_dict(tensors)
        expected = policy.predict(observations, deterministic=True)[0]  # by torch, which sums up in another order
        np.testing.assert_allclose(agent.act(observations, None), expected, rtol=0, atol=5e-6)
        return

    def answers(kind):  # of large weights; `test_what_answers_goes_on_to_the_bit_and_plays` looks at how they are used
        x = torch.from_numpy(observations).to(kind)
        for k in range(len(tensors) // 2):
            layer = [tensors[f"layers.{k}.{name}"].to(kind) for name in ("weight", "bias")]
            x = torch.nn.functional.linear(x.tanh() if k else x, *layer)
        return x.numpy()

    assert card["algorithm"] == "supervised"
    rounding = np.abs(answers(torch.float32) - answers(torch.float64)).max()
    np.testing.assert_allclose(agent.network(observations), answers(torch.float32), rtol=0, atol=4 * rounding)


def test_what_is_shipped_has_been_measured():
    measured = [env_id for env_id, result in figures().items() if "shipped" in result]
    assert measured == SHIPPED
    assert {entry.name for entry in CATALOGUE} - {env_id.split("/")[1] for env_id in SHIPPED} == UNTRAINED


@pytest.mark.parametrize("algorithm", ["ppo", "sac"])
def test_weights_act_as_the_checkpoint_does(tmp_path, algorithm):
    training.train(SWIM, tmp_path / "run", algorithm, steps=64, num_envs=2)
    envs = gymnasium.make_vec(SWIM, num_envs=1, **read_card(tmp_path / "run")["env"])
    own = TrainedAgent.load(tmp_path / "run", envs)
    theirs = TrainedAgent.unpickle(tmp_path / "run" / "checkpoint.zip", algorithm, envs)
    observations = np.random.default_rng(0).normal(size=(200, *envs.single_observation_space.shape)).astype(np.float32)
    np.testing.assert_allclose(own.act(observations, None), theirs.act(observations, None), rtol=0, atol=2e-6)


def test_a_policy_with_two_networks_comes_back(tmp_path):
    envs = gymnasium.make_vec(SWIM, num_envs=1)
    spaces = envs.single_observation_space, envs.single_action_space
    arch = {"pi": [8], "vf": [4, 4]}
    policy = ActorCriticPolicy(*spaces, lambda _: 0.1, net_arch=arch, activation_fn=torch.nn.ReLU)
    write_policy(tmp_path, policy, SWIM, "ppo", {}, {})
    observations = np.ones((3, *spaces[0].shape), np.float32)
    found = TrainedAgent.load(tmp_path, envs).act(observations, None)
    expected = policy.predict(observations, deterministic=True)[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6)
    sde = ActorCriticPolicy(*spaces, lambda _: 0.1, use_sde=True)
    with pytest.raises(ValueError, match="policy must be a plain MlpPolicy of ppo"):
        write_policy(tmp_path, sde, SWIM, "ppo", {}, {})


def test_a_policy_is_refused_where_actions_mean_something_else(copy):
    for given, message in (
        ({"actions": "modes"}, "learned with actions='residual', the environment has actions='modes'"),
        ({"history": 2}, "learned with history=1, the environment has history=2"),
    ):
        with pytest.raises(ValueError, match=message):
            TrainedAgent.load(copy, RecordEpisodeStatistics(gymnasium.make_vec(SWIM, 1, **given)))
    with pytest.raises(ValueError, match="envs must be a vector environment"):
        TrainedAgent.load(copy, gymnasium.make(SWIM))


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


def header(folder, text, tail=b""):
    data = text if isinstance(text, bytes) else json.dumps(text).encode()
    (folder / "policy.safetensors").write_bytes(struct.pack("<Q", len(data)) + data + tail)


def tensors(change):
    def damage(folder):
        held = load_file(folder / "policy.safetensors")
        change(held)
        save_file(held, folder / "policy.safetensors")

    return damage


def poison(value):
    def change(held):
        held["action_net.bias"][2] = value

    return tensors(change)


WEIGHTS = {
    "truncated": (
        lambda f: os.truncate(f / "policy.safetensors", 5000),
        "copy/policy.safetensors': it is not a file of safetensors",
    ),
    "empty": (lambda f: os.truncate(f / "policy.safetensors", 0), "is not a file of safetensors"),
    "absent": (
        lambda f: (f / "policy.safetensors").unlink(),
        "has no policy.safetensors that can be read: No such file",
    ),
    "a folder": (
        lambda f: (f / "policy.safetensors").unlink() or (f / "policy.safetensors").mkdir(),
        "copy': policy.safetensors must be a file",
    ),
    "a zip": (lambda f: (f / "policy.safetensors").write_bytes(b"PK\3\4" * 9), "header must have at most 65536 bytes"),
    "long header": (lambda f: header(f, b" " * 70_000), "header must have at most 65536 bytes, got 70000"),
    "no JSON": (lambda f: header(f, b"{nothing"), "is not a file of safetensors"),
    "negative": (
        lambda f: header(f, {"log_std": {"dtype": "F32", "shape": [-6], "data_offsets": [0, 24]}}, bytes(24)),
        "is not a file of safetensors",
    ),
    "overflow": (
        lambda f: header(f, {"log_std": {"dtype": "F32", "shape": [2**62, 8], "data_offsets": [0, 24]}}, bytes(24)),
        "is not a file of safetensors",
    ),
    "bytes beyond": (
        lambda f: header(f, {"log_std": {"dtype": "F32", "shape": [6], "data_offsets": [0, 24]}}, bytes(30)),
        "is not a file of safetensors",
    ),
    "too few": (
        lambda f: header(f, {"log_std": {"dtype": "F32", "shape": [6], "data_offsets": [0, 24]}}, bytes(24)),
        "tensor 'mlp_extractor.policy_net.0.weight' is missing",
    ),
    "extra": (
        tensors(lambda held: held.update({"more\nthan one": np.zeros(1, np.float32)})),
        r"tensor 'more\\nthan one' is not known to the network of the card",
    ),
    "shape": (
        tensors(lambda held: held.update({"action_net.bias": np.zeros(7, np.float32)})),
        r"tensor 'action_net.bias' must be F32 \(6,\), got F32 \(7,\)",
    ),
    "transposed": (
        tensors(lambda held: held.update({"action_net.weight": held["action_net.weight"].T.copy()})),
        r"tensor 'action_net.weight' must be F32 \(6, 64\), got F32 \(64, 6\)",
    ),
    "type": (
        tensors(lambda held: held.update({"log_std": held["log_std"].astype(np.float64)})),
        r"tensor 'log_std' must be F32 \(6,\), got F64 \(6,\)",
    ),
    "NaN": (poison(np.nan), "tensor 'action_net.bias' must be finite"),
    "infinite": (poison(np.inf), "tensor 'action_net.bias' must be finite"),
}


def card(**changes):
    return lambda folder: edit(folder, **changes)


def without(key):
    def damage(folder):
        held = json.loads((folder / "card.json").read_text())
        del held[key]
        (folder / "card.json").write_text(json.dumps(held))

    return damage


def text(data):
    return lambda folder: (folder / "card.json").write_bytes(data)


def network(**changes):
    return card(network={"net_arch": [64, 64], "activation": "Tanh"} | changes)


SPACE = {"shape": [58], "low": -10.0, "high": 10.0}
CARDS = {
    "absent": (lambda f: (f / "card.json").unlink(), "copy' has no card.json that can be read: No such file"),
    "empty": (text(b""), "copy/card.json': Expecting value"),
    "list": (text(b"[1]"), "it must hold an object, got"),
    "not UTF-8": (text(b'{"id": "\xff"}'), "codec can't decode"),
    "deep": (text(b"[" * 60_000), "recursion"),
    "long": (text(b" " * 70_000), "it must have at most 65536 bytes"),
    "400 digits": (text(b'{"format": 1' + b"0" * 400 + b"}"), " is missing"),
    "5000 digits": (text(b'{"format": 1' + b"0" * 5000 + b"}"), "digits"),
    "NaN": (text(b'{"format": NaN}'), "numbers must be finite, got NaN"),
    "unknown": (card(pickle="x"), '"pickle" is not known; allowed are format, id'),
    "later": (card(format=2), "format must be 1, got 2"),
    "bool": (card(format=True), "format must be an integer, got true"),
    "other id": (card(id="gymnosoma/WormCrawl-v0"), "was trained for gymnosoma/WormCrawl-v0, not for"),
    "algorithm": (card(algorithm="a2c"), "algorithm must be one of ppo, sac, cma, supervised, got 'a2c'"),
    "wrong algorithm": (card(algorithm="sac"), "tensor 'action_net.bias' is not known"),
    "width": (network(net_arch=[128, -1]), r"net_arch must be a list .* got \[128, -1\]"),
    "huge": (network(net_arch=[10**400]), r"it must have at most 67108864 bytes"),
    "many": (network(net_arch=[1] * 1000), "net_arch must be a list of at most 16 integers"),
    "other net": (network(net_arch=[64, 32]), r"must be F32 \(32, 64\), got F32 \(64, 64\)"),
    "names": (network(net_arch={"pi": [128], "qf": [128]}), "two by the names pi and vf"),
    "activation": (network(activation="Module"), "network: activation must be one of Tanh, ReLU, got 'Module'"),
    "network": (card(network={}), "network must hold net_arch and activation"),
    "space": (card(observation_space=SPACE | {"shape": [10**9]}), r"observation_space must be the environment's, .*58"),
    "bounds": (card(action_space=SPACE), "action_space must be the environment's"),
    "task": (card(env={"task": "os:system"}), "card.json': env must be one of history, .*, got 'task'"),
    "wrapper": (card(env={"wrappers": ["x"]}), "env must be one of history, .*, got 'wrappers'"),
    "value": (card(env={"actions": "flight"}), "actions must be one of .* got 'flight'"),
} | {f"no {key}": (without(key), f"copy/card.json': {key} is missing") for key in (*policy_file.KEYS, "network")}


@pytest.mark.parametrize(("damage", "message"), [*WEIGHTS.values(), *CARDS.values()], ids=[*WEIGHTS, *CARDS])
def test_a_damaged_policy_is_refused_in_one_line(copy, error_of, damage, message):
    damage(copy)
    line = error_of("evaluate", "WormSwim-v0", "--policy", copy, "--episodes", 1)
    assert line is not None and re.search(message, line), line


def test_a_file_with_bytes_changed_is_refused_or_finite(copy):
    """Whatever 300 random changes of the header or the card do, there is one line of error or a policy that acts."""
    rng = np.random.default_rng(0)
    envs = gymnasium.make_vec(SWIM, num_envs=1, **read_card(copy)["env"])
    observations = np.zeros((1, 58), np.float32)
    whole = {name: (copy / name).read_bytes() for name in ("policy.safetensors", "card.json")}
    refused = 0
    for k in range(300):
        name = ("policy.safetensors", "card.json")[k % 2]
        data = bytearray(whole[name])
        for at in rng.integers(0, min(len(data), 1200), rng.integers(1, 4)):
            data[at] = rng.integers(256)
        (copy / name).write_bytes(data)
        try:
            found = TrainedAgent.load(copy, envs).act(observations, None)
            assert np.isfinite(found).all()
        except ValueError as error:
            refused += 1
            assert "\n" not in str(error) and name in str(error), error
        (copy / name).write_bytes(whole[name])
    assert refused > 200


def test_a_bomb_is_refused_at_once(copy):
    """600 MB, once behind a header and card that claim them, once behind ones that do not."""
    claims = {"log_std": {"dtype": "F32", "shape": [150_000_000], "data_offsets": [0, 600_000_000]}}
    header(copy, claims)
    os.truncate(copy / "policy.safetensors", (copy / "policy.safetensors").stat().st_size + 600_000_000)
    policy = find_policy(SWIM, str(copy))
    envs = gymnasium.make_vec(SWIM, num_envs=1, **policy.env)
    tracemalloc.start()
    for damage in (lambda f: None, lambda f: edit(f, network={"net_arch": [12_000] * 2, "activation": "Tanh"})):
        damage(copy)
        with pytest.raises(ValueError, match=r"policy.safetensors': it must have at most 67108864 bytes, got \d{9}"):
            policy.make(envs, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["card.json", "policy.safetensors"])
def test_a_pipe_is_not_waited_for(copy, name):
    (copy / name).unlink()
    os.mkfifo(copy / name)
    with pytest.raises(ValueError, match=f"{name} must be a file"):
        find_policy(SWIM, str(copy)).make(gymnasium.make_vec(SWIM, num_envs=1), 0)


class Bomb:
    def __reduce__(self):
        return os.mkdir, (os.environ["BOMB"],)


def test_a_zip_runs_nothing_unless_trusted(tmp_path, monkeypatch, error_of):
    monkeypatch.setenv("BOMB", str(tmp_path / "ran"))
    card = json.loads((shipped(SWIM) / "card.json").read_text())
    config = {name: card[name] for name in ("id", "algorithm", "env", "versions")}
    config |= {"steps": 1, "num_envs": 1, "imitate": "", "seed": 0, "settings": {}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with zipfile.ZipFile(tmp_path / "policy.zip", "w") as file:
        data = {"policy_class": {":type:": "x", ":serialized:": base64.b64encode(pickle.dumps(Bomb())).decode()}}
        file.writestr("data", json.dumps(data))
    for command in ("evaluate", "render", "benchmark"):
        line = error_of(command, "WormSwim-v0", "--policy", tmp_path / "policy.zip")
        assert "runs whatever code its author put there" in line and "--trust" in line
    assert not (tmp_path / "ran").exists()
    shutil.copy(tmp_path / "policy.zip", tmp_path.parent / "alone.zip")
    line = error_of("evaluate", "WormSwim-v0", "--policy", tmp_path.parent / "alone.zip", "--trust")
    assert "has no run's config.json beside it" in line and "module:function" in line
    line = error_of("evaluate", "WormSwim-v0", "--policy", tmp_path / "policy.zip", "--trust")
    assert "cannot be loaded" in line
    assert (tmp_path / "ran").exists()  # so that the test above can fail


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


def test_a_hundred_million_episodes_are_begun(monkeypatch, error_of):
    class Enough(Exception):
        pass

    counts = []

    def rollout(envs, *_, **__):
        counts.append(envs.num_envs)
        raise Enough

    monkeypatch.setattr(policies, "rollout", rollout)
    tracemalloc.start()
    with pytest.raises(Enough):
        error_of("evaluate", "WormSwim-v0", "--episodes", 100_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 1000 < counts[0] <= 1024 and peak < 50e6


# Results.


def test_results_move_in_the_end(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("old")
    (tmp_path / "link.txt").symlink_to(path)
    with result("save", tmp_path / "link.txt") as file:
        file.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new" and (tmp_path / "link.txt").is_symlink()
    assert not file.parent.exists()
    with pytest.raises(ZeroDivisionError), result("save", path) as file:
        file.write_text("half")
        raise ZeroDivisionError
    assert path.read_text() == "new" and not file.parent.exists()
    assert {p.name for p in tmp_path.iterdir()} == {"x.txt", "link.txt"}


def test_what_cannot_be_written_is_refused_first(tmp_path, error_of):
    (tmp_path / "folder.json").mkdir()
    long = tmp_path / ("x" * 300 + ".json")
    for path in (tmp_path / "folder.json", tmp_path / "none" / "x.json", long):
        started = time.monotonic()
        line = error_of("evaluate", "WormSwim-v0", "--episodes", 10**9, "--json-file", path)
        assert line.startswith("error: save must be a file ") and str(path) in line
        assert time.monotonic() - started < 30
    line = error_of("render", "WormSwim-v0", "--save", tmp_path / "none" / "x.gif")
    assert line.startswith("error: save must be a file in a folder that exists, got ")


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
    assert done.stdout == "save must be a file that can be written, got 'x.gif': File too large\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("evaluate", "WormSwim-v0", "--episodes", 2, "--json-file"), "x.json"),
        (("render", "WormSwim-v0", "--seconds", 0.05, "--size", "128x128", "--save"), "x.png"),
        (("render", "WormSwim-v0", "--seconds", 0.05, "--size", "128x128", "--save"), "x.gif"),
    ],
)
def test_a_result_is_kept_where_writing_fails_in_the_end(tmp_path, monkeypatch, arguments, name, error_of):
    """The folder goes while the animal swims."""
    folder = tmp_path / "gone"
    folder.mkdir()
    module, function = (policies, "evaluate") if arguments[0] == "evaluate" else (reel, "play")
    real = getattr(module, function)

    def vanish(*args, **kwargs):
        shutil.rmtree(folder)
        return real(*args, **kwargs)

    monkeypatch.setattr(module, function, vanish)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    line = error_of(*arguments, folder / name)
    found = re.search(r"could not be written to '.*': .*; the result is kept in '(.*)'$", line)
    assert found and Path(found[1]).stat().st_size > 100, line


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("render", "WormSwin-v0"), "WormSwim-v0"),
        (("play", "gymnosoma:gymnosoma/wormswim-v0"), "WormSwim-v0"),
        (("evaluate", "whisker_sweep"), "WhiskerSweep-v0"),
        (("simulate", "wrom"), "worm"),
        (("speed", "--animal", "Lamprey"), "lamprey"),
        (("tarin", "WormSwim-v0"), "train"),
        (("train", "WormSwim-v0", "--timesteps", "5"), "--steps"),
        (("render", "WormSwim-v0", "--output=x.png"), "--save"),
        (("figures", "--figure", "4"), "figure_4"),
        (("figures", "whisker_rod", "--figure", "Fig. 5"), "figure_5"),
        (("figures", "worm", "--figure", "40"), None),
        (("list", "WormSwin-v0"), "WormSwim-v0"),
        (("evaluate", "WormSwim-v0", "--policy", "baselin"), "baseline"),
        (("evaluate", "Banana-v0"), None),
        (("evaluate", "WormSwim-v0", "--policy", "runs/none"), None),
    ],
)
def test_a_mistyped_name_is_told_what_was_meant(error_of, arguments, meant):
    line = error_of(*arguments)
    told = re.search(r"; did you mean (.+?)\?(?: It must be one of .+)?$", line)
    assert (told and told[1]) == meant


def test_gymnasium_tells_what_was_meant_of_our_ids():
    for make in (gymnasium.make, lambda name: gymnasium.make_vec(name, num_envs=1)):
        with pytest.raises(gymnasium.error.NameNotFound, match="Did you mean: `WormSwim`"):
            make("gymnosoma/WormSwin-v0")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux")
def test_a_device_that_fails_in_the_end(tmp_path, error_of, capsys):
    (tmp_path / "full.json").symlink_to("/dev/full")
    line = error_of("evaluate", "WormSwim-v0", "--episodes", 2, "--json-file", tmp_path / "full.json")
    kept = Path(re.search("No space left on device; the result is kept in '(.*)'$", line)[1])
    assert json.loads(kept.read_text())[0]["episodes"] == 2
    assert "baseline" in capsys.readouterr().out  # the table was shown before
    shutil.rmtree(kept.parent)


def test_a_replacement_is_whole_or_not_there(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        file.write(b"ne")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (MemoryError(), "error: MemoryError"),
        (OverflowError("int too\nlarge"), "error: int too large"),
        (RecursionError("deep"), "error: deep"),
        (ImportError("no module x"), "error: no module x"),
    ],
)
def test_what_users_cause_is_one_line(monkeypatch, error, shown, error_of):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(policies, "evaluate", fail)
    assert error_of("evaluate", "WormSwim-v0") == shown


@pytest.mark.skipif(os.name == "nt", reason="needs a pipe of a shell")
def test_a_reader_that_leaves_ends_the_command_quietly(tmp_path):
    root = Path(__file__).resolve().parents[1]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, root / "train.py", "render", "WormSwim-v0", "--seconds", "0.05", "--save", "x.png"],
        cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(writing)
    assert done.returncode == 1
    assert not re.search("Traceback|Exception|[Ee]rror", done.stderr), done.stderr


def test_zeros_are_a_policy():
    played = evaluate(SWIM, find_policy(SWIM, "zero"), 2, seed=5)
    constant = Policy("none", lambda envs, _: ConstantAgent(np.zeros(envs.task.action_size, np.float32)))
    np.testing.assert_array_equal(played.returns, evaluate(SWIM, constant, 2, seed=5).returns)


def test_what_needs_no_feedback_can_be_replayed():
    """The paper's sine looks at the time alone; a worm that is steered gets lost."""
    sine = SineKymogram.for_medium(0.0)
    wave = Policy("wave", lambda envs, _: ControllerAgent(sine, envs.task), {"actions": "angles"})
    usual = {"curl": 0.0, "drag": 1.0, "strength": 1.0}
    once, again = (evaluate(SWIM, policy, 18, seed=5, options=usual) for policy in (wave, replay(SWIM, wave)))
    np.testing.assert_array_equal(once.returns, again.returns)
    reach = "gymnosoma/WormReach-v0"
    steered, lost = (evaluate(reach, find_policy(reach, name), 18) for name in ("baseline", "replay of baseline"))
    assert lost.returns.mean() < steered.returns.mean() - 0.5


def test_a_replay_begins_with_each_episode_and_ends_in_zeros():
    actions = np.arange(1.0, 7.0, dtype=np.float32).reshape(3, 2, 1)
    agent = ReplayAgent(actions, start=1)
    firsts = [[True] * 3, [False] * 3, [False, True, False], [False] * 3]
    done = [agent.act(np.zeros((3, 1), np.float32), np.array(first))[:, 0].tolist() for first in firsts]
    assert done == [[2, 1, 2], [4, 3, 4], [6, 1, 6], [0, 3, 0]]


@pytest.mark.parametrize("env_id", [each for each in IDS if each.values[0] in SHIPPED])
def test_shipped_policies_are_of_their_ids_as_they_are(env_id):
    assert outdated(env_id, find_policy(env_id, "trained")) is None


def test_a_card_tells_what_its_policy_was_trained_for(tmp_path, command, caplog):
    training.train(SWIM, tmp_path / "run", "cma", steps=1000, num_envs=8)
    policy = find_policy(SWIM, str(tmp_path / "run"))
    assert policy.card["fingerprint"] == of_id(SWIM, policy.env) and outdated(SWIM, policy) is None
    assert outdated(SWIM, find_policy(SWIM, "baseline")) is None
    for fingerprint, message in (("other", "trained when gymnosoma/WormSwim-v0 behaved otherwise"), (None, "may have")):
        held = json.loads((tmp_path / "run" / "card.json").read_text())
        held.pop("fingerprint")
        if fingerprint is not None:
            held["fingerprint"] = fingerprint
        (tmp_path / "run" / "card.json").write_text(json.dumps(held))
        caplog.clear()
        command("evaluate", "WormSwim-v0", "--policy", str(tmp_path / "run"), "--episodes", "2")
        assert "policy 'run' was trained" in caplog.text and message in caplog.text
