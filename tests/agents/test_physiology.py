"""What policies do to the body: measures, limits and the command."""

import json
from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from ids import IDS

from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.agents.policies.physiology import measured, observed, physiology
from gymnosoma.agents.policies.registry import task_of
from gymnosoma.envs.core.env.task import KINDS, Measure

RATE = 50.0
TIME = np.arange(400) / RATE
WAVE = np.stack([0.3 * np.sin(2 * np.pi * 2.25 * TIME + phase) for phase in (0.0, 1.0)], 1)

EXPECTED = {
    "frequency": 2.25,
    "mean": 0.0,
    "peak": 0.3,
    "rms": 0.3 / np.sqrt(2.0),
    "slew": 0.3 / np.sqrt(2.0) * 2.0 * RATE * np.sin(np.pi * 2.25 / RATE),
    "saturation": np.mean(np.abs(WAVE) >= 0.99 * 0.29),
    "above": 0.3 / np.sqrt(2.0),
    "rate": np.sum(WAVE[-1] - WAVE[0]) / TIME[-1],
    "final": WAVE[-1].sum(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_measures_of_a_wave(kind):
    measure = Measure(kind, "angle", factor=10.0, bound=0.29, band=1.0)
    assert measured(measure, WAVE, RATE) == pytest.approx(10.0 * EXPECTED[kind], rel=0.02, abs=0.02)


def test_what_is_slower_than_the_band_does_not_count():
    slow = WAVE + np.sin(2 * np.pi * 0.25 * TIME)[:, None]  # two periods of it
    assert measured(Measure("above", "angle", band=1.0), slow, RATE) == pytest.approx(0.3 / np.sqrt(2.0), rel=0.02)
    assert measured(Measure("above", "angle", band=3.0), slow, RATE) < 0.02
    assert np.isnan(measured(Measure("frequency", "angle"), WAVE[:3], RATE))


@pytest.mark.parametrize("env_id", IDS)
def test_measures_can_be_read(env_id):
    env = gymnasium.make(env_id)
    _, info = env.reset(seed=0)
    task = env.unwrapped.task
    known = {"action", *task.animal.signals, *info}
    assert {measure.source for measure in task.physiology.values()} <= known
    env.close()


def test_policies_are_held_to_limits(monkeypatch, tmp_path, capsys, command):
    env_id = "gymnosoma/WormSwim-v0"
    limited = {
        "joint angles": Measure("rms", "joint_angle", "deg", 180.0 / np.pi, times=1.2, why="they are a worm's"),
        "wave": Measure("frequency", "joint_angle", "Hz", known="1.7 to 2.5 Hz"),
        "distance": Measure("final", "distance", "mm", 1e3, maximum=1.0, why="for the sake of the test"),
    }
    monkeypatch.setattr(type(task_of(env_id)), "physiology", limited)
    table = physiology(env_id, [find_policy(env_id, "boyle")], 2)
    rms, wave, distance = (table[name] for name in limited)
    assert rms.limit == pytest.approx(1.2 * rms.policies["baseline"])
    assert list(wave.policies) == ["baseline", "boyle"]
    assert wave.policies["baseline"] == pytest.approx(2.5, abs=0.1) and wave.limit is None
    assert distance.beyond == ("baseline",)
    assert table["action at its ends"].policies["baseline"] == 0.0
    guess = physiology("gymnosoma/WhiskerLocalize-v0", [find_policy("gymnosoma/WhiskerLocalize-v0", "guess")], 2)
    assert guess["action at its ends"].policies["guess"] == 0.0  # though it holds its commitment at its end
    file = tmp_path / "table.json"
    command("evaluate", "WormSwim-v0", "--physiology", "--policy", "boyle", "--episodes", 2, "--json-file", file)
    rows = json.loads(file.read_text())
    assert {row["measure"] for row in rows} == table.keys() and {row["policy"] for row in rows} == {
        "baseline",
        "boyle",
    }
    for row in rows:
        assert table[row["measure"]].policies[row["policy"]] == row["value"]
    assert "limit 1: for the sake of the test" in " ".join(capsys.readouterr().out.split())


def test_episodes_are_measured_to_their_own_end():
    """Rows that end before others are reset while those go on."""
    env_id = "gymnosoma/WormReach-v0"
    policy = find_policy(env_id, "baseline")
    played = evaluate(env_id, policy, 4)
    assert len(set(played.lengths)) == 4
    measures = {"power": Measure("rate", "energy"), "energy": Measure("final", "energy")}
    found = observed(env_id, policy, measures, 4)
    assert found["energy"] == pytest.approx(played.info["energy"].mean())
    assert found["power"] == pytest.approx((played.info["energy"] / played.info["time"]).mean())


@pytest.mark.full
def test_falls_do_not_tell_of_those_who_stand():
    env_id = "gymnosoma/StandGains-v0"
    policy = replace(find_policy(env_id, "zero"), env={"randomize": {"push": (0.16, 0.28)}})
    played = evaluate(env_id, policy, 8, options={"growth": -1.0})
    stood = np.array([failure is None for failure in played.failures])
    assert 0 < stood.sum() < 8
    measures = {"all": Measure("final", "largest_torque"), "stood": Measure("final", "largest_torque", complete=True)}
    found = observed(env_id, policy, measures, 8, options={"growth": -1.0})
    torque = played.info["largest_torque"]
    assert found["all"] == pytest.approx(torque.mean())
    assert found["stood"] == pytest.approx(torque[stood].mean()) and found["stood"] < found["all"]
