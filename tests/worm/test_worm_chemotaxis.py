"""Chemotaxis: the field, the senses, and the animal's klinotaxis against a published program."""

import gymnasium
import numpy as np
import pytest

from gymnosoma.agents.controllers.worm import Navigation
from gymnosoma.agents.policies.agent import ConstantAgent, Policy
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.envs.worm.kymogram import SineKymogram

ID = "gymnosoma/WormChemotaxis-v0"


def still(**env):
    """Policy of zero actions."""
    return Policy("still", lambda envs, _: ConstantAgent(np.zeros(envs.single_action_space.shape, np.float32)), env)


@pytest.mark.parametrize(
    ("field", "repellent", "place", "expected"),
    [
        ("gaussian", 0.0, (4e-3, 0.0), 50.0),
        ("gaussian", 0.0, (4e-3, 2e-3), 50.0 * np.exp(-0.5)),
        ("gaussian", 0.5, (-4e-3, 0.0), 50.0 * np.exp(-8.0)),
        ("gaussian", 0.5, (0.0, 0.0), 25.0 * (1.0 + np.exp(-2.0))),
        ("linear", 0.0, (0.0, 3e-3), 25.0),
        ("linear", 0.0, (8e-3, 0.0), 75.0),
        ("linear", 0.0, (-5e-3, 0.0), 0.0),
    ],
)
def test_the_field_is_as_documented(field, repellent, place, expected):
    """Places are relative to the start of the head, with the source 4 mm ahead on the x-axis; its width is 2 mm."""
    env = gymnasium.make(ID, field=field)
    options = {"source_distance": 4e-3, "source_bearing": 0.0, "width": 2e-3, "repellent": repellent}
    _, info = env.reset(seed=1, options=options)
    batch = env.unwrapped.batch
    memory = batch.memory.view(np.recarray)[0]
    ahead = memory.ahead
    x, y = memory.source + (place[0] - 4e-3) * ahead + place[1] * np.array([-ahead[1], ahead[0]])
    assert batch.task.concentration(x, y, memory) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert info["concentration"] == pytest.approx(
        batch.task.concentration(*batch.task.animal.points(batch.rows)[0, 0], memory)
    )


def test_the_first_observation_has_no_direction():
    env = gymnasium.make(ID)
    first, *others = [env.reset(seed=2, options={"source_bearing": each})[0] for each in (0.0, 1.5, -3.0)]
    assert all(np.array_equal(first, other) for other in others)
    assert first[env.unwrapped.task.layout.slices["concentration"]] > 0.0


def test_the_sensed_change_is_that_of_the_logarithm():
    """The exact solution for a concentration that is constant between the ends of control periods."""
    env = gymnasium.make(ID)
    env.reset(seed=3, options={"source_bearing": 0.5})
    memory, task = env.unwrapped.batch.memory, env.unwrapped.task
    response = [np.log(memory["concentration"][0] + 0.1)]
    for _ in range(40):
        observation, *_, info = env.step(np.zeros(env.action_space.shape))
        response.append(np.log(info["concentration"] + 0.1))
    kernel = np.exp(-0.2 * np.arange(40) / 0.4)
    change = np.sum(np.diff(response)[::-1] * kernel) * np.exp(-0.2 / 0.4) / 0.4
    assert task.layout.unpack(observation[None])["change"][0, 0] == pytest.approx(change, rel=1e-5)


def climb(seconds, gain=None, **env):
    """Chemotaxis index of 32 animals, and their curving rate (deg/mm) up the gradient where it is 0.02 to 0.05 1/mm.

    The field is that of Hironaka & Sumi (2025): a Gaussian of 16.1 mm, 45 mm away.
    """
    periods = round(seconds * 5.0)
    envs = gymnasium.make_vec(ID, num_envs=32, max_episode_steps=periods + 1, **env)
    if gain is not None:
        envs.task.gain = gain
    envs.reset(seed=0, options={"source_distance": 45e-3, "width": 16.1e-3})
    path = []
    for k in range(periods):
        *_, infos = envs.step(np.zeros(envs.action_space.shape))
        if k % 8 == 0 and k > 40:  # once a wave
            path.append(1e3 * infos["centre"])
    steps = np.diff(np.array(path), axis=0)
    length, heading = np.hypot(*np.moveaxis(steps, 2, 0)), np.unwrap(np.arctan2(steps[..., 1], steps[..., 0]), axis=0)
    rate = np.rad2deg(np.diff(heading, axis=0)) / length[1:]
    way, ahead = 1e3 * envs.batch.memory["source"] - path[1:-1], 0.5 * (heading[1:] + heading[:-1])
    across = (np.cos(ahead) * way[..., 1] - np.sin(ahead) * way[..., 0]) / 16.1**2
    steep = (np.abs(across) > 0.02) & (np.abs(across) < 0.05) & (np.hypot(way[..., 0], way[..., 1]) > 5.0)
    return infos["chemotaxis_index"].mean(), (rate * np.sign(across))[steep].mean()


@pytest.mark.paper
def test_the_animal_climbs_like_the_published_model():
    """Wormsim 0.1.1, the program of Hironaka & Sumi (2025), has an index of 0.616 and curves by up to 28 deg/mm."""
    index, curving = climb(300.0)
    assert index == pytest.approx(0.616, abs=0.03)  # measured 0.602
    assert 5.0 < curving < 60.0  # measured 35
    index, curving = climb(300.0, gain=0.0)
    assert index < 0.0 and abs(curving) < 3.0


def test_the_circuit_climbs_with_the_klinotaxis():
    index, _ = climb(120.0, circuit="boyle", actions="modes")
    alone, _ = climb(120.0, gain=0.0, circuit="boyle", actions="modes")
    assert index > alone + 0.05


@pytest.mark.parametrize("field", ["gaussian", "linear"])
@pytest.mark.parametrize("repellent", [0.0, 1.0])
def test_the_animal_finds_the_source_in_all_fields(field, repellent):
    result = evaluate(ID, still(field=field), 32, options={"repellent": repellent})
    assert result.info["chemotaxis_index"].mean() > 0.25
    assert result.returns == pytest.approx(result.info["chemotaxis_index"] * result.lengths)


def test_pirouettes_begin_when_the_concentration_falls():
    task = gymnasium.make(ID, actions="angles").unwrapped.task
    law = Navigation(SineKymogram(amplitude=0.0), task, gain=0.0, limit=0.0, onset=-0.1, turn=0.2, duration=1.0)
    sides = []
    for k in range(40):
        change = np.array([[-0.5 if k >= 10 else 0.5]])
        signals = {"change": change, "joint_angle": np.zeros((1, 24))}
        sides.append(law.drive(np.array([0.2 * k]), signals, np.array([k == 0]))[0, 0])
    sides = np.array(sides)
    assert not sides[:10].any() and set(sides) == {-0.2, 0.0, 0.2}
    begins = np.flatnonzero((sides != 0.0) & (np.roll(sides, 1) == 0.0))
    assert np.all(np.diff(np.sign(sides[begins])) != 0.0)
