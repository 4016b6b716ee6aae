"""Functions and classes of users as policies, and which episodes learning may see."""

import sys

import gymnasium
import numpy as np
import pieces
import pytest

from gymnosoma.agents.learning.runs import drawn_seeds
from gymnosoma.agents.learning.sb3_env import make_sb3_env
from gymnosoma.agents.policies import evaluation, registry
from gymnosoma.agents.policies.agent import ConstantAgent, Policy
from gymnosoma.agents.policies.evaluation import BENCHMARK_SEED, evaluate
from gymnosoma.agents.policies.lookup import find_policy

SWIM = "gymnosoma/WormSwim-v0"


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
