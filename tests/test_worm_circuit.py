"""The worm with a nervous system: gaits by proprioception, deaf joints, starts."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from gymnosoma.agents.controllers.worm import REFERENCES
from gymnosoma.agents.policies.agent import reference_policy
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.envs import simulate
from gymnosoma.envs.core.circuit.circuit import Circuit, Population
from gymnosoma.envs.worm import Worm, medium
from gymnosoma.envs.worm.analysis import Gait
from gymnosoma.envs.worm.tasks import Medium

CIRCUIT = REFERENCES[Medium]["circuit"]

STILL = np.zeros(24)
SIGNALS = ("joint_angle", "centre")


def gaits(worm, sigma, neuron, duration=16.0, **start):
    start = {**medium(sigma), "neuron": neuron, **start}
    runs = simulate(worm, STILL, duration, 0.025, start, count=len(neuron), signals=SIGNALS)
    return [Gait(run, duration - 10.0) for run in runs]


def random_starts(worm, count):
    """States V of head and body anywhere in -1 .. 1, muscles at rest."""
    neuron = np.zeros((count, *worm.state["neuron"].shape))
    neuron[:, 0, 0, :2] = np.random.default_rng(0).uniform(-1.0, 1.0, (count, 2, 24))
    return neuron


@pytest.mark.full
def test_the_circuit_that_comes_with_the_package_crawls_and_swims():
    worm = Worm(circuit="ahead")
    for sigma, frequency, waves in ((0.0, 1.80, 0.95), (1.0, 0.80, 1.49)):
        for gait in gaits(worm, sigma, random_starts(worm, 3)):
            assert gait.frequency == pytest.approx(frequency, rel=0.02)
            assert gait.wavenumber == pytest.approx(waves, abs=0.03)
    feedback = np.ones((2, 24))
    feedback[0, 8:16] = 0.0
    lame, whole = gaits(worm, 0.0, random_starts(worm, 2), feedback=feedback)
    assert abs(lame.joints[16]) < 0.02 < 0.2 < abs(whole.joints[16])
    run = simulate(worm, STILL, 8.0, start=medium(0.0))
    assert 35.0 < np.abs(np.diff(run["control_angle"][400:], axis=0)).max() / worm.dt < 38.0
    slow = Worm(circuit=worm.circuit.replace(muscle={"delay": 0.1}))
    found = [gait.frequency for gait in gaits(slow, np.array([0.0, 1.0]), random_starts(slow, 2))]
    assert found == pytest.approx([1.29, 0.68], abs=0.02)


def test_a_worm_that_is_deaf_in_front_is_silent_and_one_without_muscles_is_still():
    worm = Worm(circuit="ahead")
    feedback = np.ones((3, 24))
    feedback[1, :12] = 0.0
    gain = np.ones((3, 1, len(worm.circuit.names), 24))
    gain[2, :, worm.circuit.names.index("muscle")] = 0.0
    start = {**medium(0.0), "feedback": feedback, "gain": gain}
    runs = simulate(worm, STILL, 8.0, 0.025, start, count=3)
    swing = [np.ptp(run["joint_angle"][-80:], axis=0).max() for run in runs]
    assert swing[0] > 0.3
    assert swing[1] < 0.1 * swing[0]
    turns = np.diff(np.sign(np.diff(runs[1]["joint_angle"][-80:], axis=0)), axis=0)
    assert not turns.any()  # it relaxes slowly, and does not beat
    assert np.abs(runs[2]["control_angle"]).max() == 0.0


@pytest.mark.parametrize("constant", ["tonic", "bias"])
def test_a_constant_input_bends_a_worm(constant):
    bend = 0.1 * (np.arange(24) > 9)
    cell = Population("m", "leaky", 1, delay=0.01, output="linear", **{constant: bend})
    worm = Worm(circuit=Circuit(24, [cell], [], "m"))
    starts = {1.0: {}, 2.0: {"tonic": 0.5, "bath": 1.5}} if constant == "tonic" else {1.0: {}}
    for factor, start in starts.items():
        run = simulate(worm, STILL, 0.5, start=start)
        np.testing.assert_allclose(run["control_angle"][-1], factor * bend, atol=1e-12)
    assert worm.parameters.keys() & {"tonic", "bath"} == {name for start in starts.values() for name in start}


def test_what_a_worm_cannot_have_is_refused():
    with pytest.raises(ValueError, match="scheme must be"):
        Worm(circuit="ahead", scheme="published")
    with pytest.raises(ValueError, match="segments must be"):
        Worm(circuit=Circuit(9, [Population("b", "bistable", 1, delay=0.01, gain=2.0)], [], "b"))


@pytest.mark.full
def test_the_reference_wakes_up_straight_and_earns_more_than_it_pays():
    woken, at_once = (
        evaluate("gymnosoma/WormMedium-v0", reference_policy("circuit", CIRCUIT, **given), 16, options={"curl": 0.0})
        for given in ({}, dict.fromkeys(Worm(circuit="ahead").circuit.weights, 1.0) | {"rise": 0.0})
    )
    assert woken.info["priced_speed"].min() > -0.05e-3  # in water it just pays
    assert woken.info["priced_speed"].mean() > 0.1e-3 > 0.0 > at_once.info["priced_speed"].mean()
    assert not any(woken.failures) and any(at_once.failures)  # those coil up


@pytest.mark.full
def test_a_task_takes_a_circuit_to_which_actions_add_or_whose_weights_they_are():
    env = gymnasium.make("gymnosoma/WormMedium-v0", circuit="ahead")
    env.reset(seed=1)
    _, _, _, _, info = env.step(np.zeros(24, np.float32))
    assert np.isfinite(info["speed"])
    envs = gymnasium.make_vec("gymnosoma/WormMedium-v0", num_envs=2, circuit="ahead", actions="weights")
    envs.reset(seed=1)
    task = envs.unwrapped.task
    weights = np.stack([np.ones(4), np.full(4, 0.5)])
    for _ in range(10):
        envs.step(task.action_from_values(weights))
    rows = envs.unwrapped.batch.rows
    np.testing.assert_allclose(rows["synapse"], weights, atol=1e-6)
    assert np.unique(rows["residual"], axis=1).shape == (2, 1)  # the hidden curl alone
    bends = np.abs(rows["control_angle"]).max(1)
    assert bends[1] < bends[0]
    with pytest.raises(ValueError, match="actions must be"):
        gymnasium.make("gymnosoma/WormMedium-v0", actions="weights")
