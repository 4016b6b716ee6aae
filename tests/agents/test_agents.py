"""Agents, rollouts, the bridge to SB3, training and the command line."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from gymnosoma.agents import ControllerAgent, rollout
from gymnosoma.agents.learning.sb3_env import SB3VecEnv, make_sb3_env
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.agents.policies.registry import full_id, references_of
from gymnosoma.envs import CATALOGUE
from gymnosoma.envs.worm.kymogram import KymogramPlayback, SineKymogram

ROOT = Path(__file__).resolve().parents[2]
SWIM = "gymnosoma/WormSwim-v0"


def command(*arguments, cwd, **kwargs):
    return subprocess.run(
        [sys.executable, str(ROOT / "train.py"), *map(str, arguments)],
        cwd=cwd, capture_output=True, text=True, check=False, **kwargs,
    )  # fmt: skip


def test_actions_encode_control_angles():
    envs = gymnasium.make_vec(SWIM, num_envs=3, actions="angles")
    envs.reset(seed=0, options={"curl": 0.0})
    angles = envs.batch.rows["control_angle"] + np.random.default_rng(0).uniform(-0.3, 0.3, (3, 24))
    envs.step(envs.task.action_from_drive(angles))
    np.testing.assert_allclose(envs.batch.rows["control_angle"], angles, atol=1e-7)  # float32 actions


def test_a_result_does_not_depend_on_the_number_of_rows():
    few, many = (evaluate(SWIM, find_policy(SWIM, "baseline"), count, seed=4) for count in (3, 20))
    assert np.array_equal(few.returns, many.returns[:3])
    assert np.array_equal(few.info["distance"], many.info["distance"][:3])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_rollout_in_both_autoreset_modes(mode):
    arguments = {"num_envs": 4, "actions": "angles", "max_episode_steps": 30}
    envs = gymnasium.make_vec(SWIM, autoreset_mode=mode, **arguments)
    result = rollout(envs, ControllerAgent(SineKymogram.for_medium(0.0), envs.task), seed=0)
    envs = gymnasium.make_vec(SWIM, **arguments)
    expected = rollout(envs, ControllerAgent(SineKymogram.for_medium(0.0), envs.task), seed=0)
    assert result.lengths.tolist() == [30] * 4
    assert np.array_equal(result.returns, expected.returns)
    assert np.array_equal(result.info["centre"], expected.info["centre"])


def test_the_clock_of_a_controller_restarts_with_its_episode():
    envs = gymnasium.make_vec(SWIM, num_envs=2, actions="angles")
    agent = ControllerAgent(KymogramPlayback(np.linspace(0, 0.9, 40)[:, None] * np.ones(24), rate=40.0), envs.task)
    observations, _ = envs.reset(seed=0)
    first = np.array([True, True])
    for k in range(5):
        actions = agent.act(observations, first)
        np.testing.assert_allclose(actions[0], k / 39, atol=1e-6)
        first = np.array([False, k == 1])
    np.testing.assert_allclose(actions[1], 2 / 39, atol=1e-6)


def test_of_references_some_are_to_be_searched():
    for own in filter(None, (references_of(full_id(entry.name)) for entry in CATALOGUE)):
        assert next(iter(own)) == "baseline"
        assert any(reference.bounds for reference in own.values())


class Failing(gymnasium.vector.VectorWrapper):
    """Ends row 0 by failure at step 3, row 1 by the time limit at step 5."""

    def __init__(self, envs):
        super().__init__(envs)
        self.count = 0

    def step(self, actions):
        self.count += 1
        if self.count == 3:
            self.env.unwrapped.batch.rows["mass"][0] = np.nan
        return super().step(actions)


def test_the_bridge_tells_failure_from_the_time_limit():
    envs = Failing(gymnasium.make_vec(SWIM, num_envs=2, autoreset_mode="SameStep", max_episode_steps=5))
    bridge = SB3VecEnv(envs)
    bridge.seed(0)
    bridge.reset()
    seen = {}
    for k in range(1, 6):
        observations, rewards, dones, infos = bridge.step(np.full((2, 6), 0.1 * k, np.float32))
        assert rewards.dtype == np.float32
        for i in np.flatnonzero(dones):
            seen[int(i)] = k, infos[i], observations[i].copy()
        observations[:] = 0.0  # the terminal observation must be a copy
    assert {i: k for i, (k, *_) in seen.items()} == {0: 3, 1: 5}
    assert envs.unwrapped.failures[seen[0][1]["failure"]] == "the state is not finite"
    assert not seen[0][1]["TimeLimit.truncated"] and seen[1][1]["TimeLimit.truncated"]
    for _, info, opening in seen.values():
        assert np.abs(info["terminal_observation"]).max() > 0
        assert not np.array_equal(info["terminal_observation"], opening)
        assert np.isfinite(info["distance"])


def test_the_bridge_does_not_reset_a_part_of_the_rows():
    envs = make_sb3_env("gymnosoma/WormReach-v0", 3, wrappers={"GoalObservation": {}})
    envs.reset()
    for indices in ([0], 1, [0, 1]):
        with pytest.raises(ValueError, match="indices must contain all rows"):
            envs.env_method("reset", indices=indices)
    assert envs.env_method("compute_reward", np.zeros((2, 2)), np.ones((2, 2)), {}, indices=[0])[0].tolist() == [-1, -1]
    assert len(envs.env_method("reset")) == 3


def test_the_bridge_wants_same_step():
    with pytest.raises(ValueError, match="SAME_STEP"):
        SB3VecEnv(gymnasium.make_vec(SWIM, num_envs=2))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short training run."""
    folder = tmp_path_factory.mktemp("work")
    ended = command("train", "WormSwim-v0", "--steps", 10_000, "--episodes", 4, "--folder", "run", cwd=folder)
    assert ended.returncode == 0, ended.stderr
    assert "\r" not in ended.stderr and "100%" in ended.stderr
    return folder


def test_a_run_folder_is_complete(run):
    names = {path.name for path in (run / "run").iterdir()}
    assert names >= {"config.json", "checkpoint.zip", "curve.csv", "evaluation.json", "policy.safetensors", "card.json"}
    assert list((run / "run" / "tensorboard").rglob("events*"))
    rows = json.loads((run / "run" / "evaluation.json").read_text())
    assert [row["policy"] for row in rows] == ["run", *references_of(SWIM), "random", "trained"]
    steps = trained(run)
    assert steps == sorted(set(steps)) and steps[-1] >= 10_000


def trained(folder):
    with (folder / "run" / "curve.csv").open() as file:
        return [int(row["steps"]) for row in csv.DictReader(file)]


def test_a_script_without_a_guard_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import math\n"
        "from gymnosoma.agents.support.workers import run_jobs, workers\n"
        "with workers(2) as executor:\n"
        "    run_jobs(executor, math.sqrt, {'a': (4.0,), 'b': (9.0,)}, 'job')\n"
    )
    done = subprocess.run([sys.executable, script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert 'Unguarded: processes run this script again: put its calls below `if __name__ == "__main__":`' in done.stderr
