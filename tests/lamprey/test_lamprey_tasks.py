"""The lamprey's tasks and its own controllers: scores settled with an independent program, and one cord per row."""

import gymnasium
import numpy as np
import pytest

from gymnosoma.agents.controllers import references
from gymnosoma.agents.controllers.lamprey import (
    SteeredWave,
    TravellingWave,
    WaypointSteering,
)
from gymnosoma.agents.policies.registry import task_of
from gymnosoma.envs import simulate
from gymnosoma.envs.lamprey import Lamprey, LampreyParams
from gymnosoma.envs.lamprey.tasks import Economy, Escape

MASS = np.asarray(LampreyParams().mass)


def swum(run):
    """Displacement (m), and positive work (J) of both sides of a joint together, which is what that program knows."""
    m, dt = run["motoneuron"][1:], run.time[1]
    power = LampreyParams().muscle_gain * (m[:, 1] - m[:, 0]) * run["joint_rate"][:-1]
    return np.linalg.norm(run["centre"][-1] - run["centre"][0]), dt * np.maximum(power, 0.0).sum()


@pytest.mark.parametrize(("tonic", "distance", "cost"), [(0.15, 1.81, 0.061), (0.4, 2.70, 0.178), (0.7, 3.69, None)])
@pytest.mark.full
def test_five_seconds_of_the_cord(tonic, distance, cost):
    """Straight start, cord in the loop: distance and work per metre of the independent program."""
    far, work = swum(simulate(Lamprey(), [tonic, 0.0, 0.7], 5.0))
    assert far == pytest.approx(distance, abs=0.006)
    assert cost is None or work / far == pytest.approx(cost, abs=0.0006)


@pytest.mark.parametrize(("wave", "distance", "cost"), [((1.0, 6.0, 0.8), 4.22, None), ((0.5, 3.0, 1.0), 2.57, 0.096)])
@pytest.mark.full
def test_five_seconds_of_a_sine(wave, distance, cost):
    given = TravellingWave(*wave, drive="muscle")

    def held(t):
        return given.drive(np.array([0.02 * (t // 0.02) + 0.01]), {}, np.zeros(1, bool))[0]

    far, work = swum(simulate(Lamprey(drive="muscle"), held, 5.0))
    assert far == pytest.approx(distance, abs=0.006)
    assert cost is None or work / far == pytest.approx(cost, abs=0.0006)


@pytest.mark.parametrize(("bearing", "distance"), [(0, 0.84), (90, 0.68), (135, 0.29), (180, -0.19)])
@pytest.mark.full
def test_escape_of_the_cord(bearing, distance):
    """Level 0.6, gain 0.3; the bearing is to the left."""
    way = np.radians(180 + bearing)
    goal = np.array([np.cos(way), np.sin(way)])

    class Steering(WaypointSteering):
        def drive(self, t, signals, first):
            off = way - (np.sum(MASS * signals["link_angle"], 1) / MASS.sum() + np.pi)
            return super().drive(t, {"direction": np.stack([np.cos(off), np.sin(off)], 1)}, first)

    steering = Steering(0.6, 0.3, 0.3, "direction", control_rate=50.0)
    steering.reads = ("link_angle",)
    run = simulate(Lamprey(), steering, 2.0, hold=0.02)
    assert run["centre"][-1] @ goal == pytest.approx(distance, abs=0.01)


def test_what_is_added_to_the_steered_cord(monkeypatch):
    """Three cosines a side, in the proportion of the amplitude, from head to tail; the sum ends at what is possible."""
    monkeypatch.setattr(Escape, "lag", 1e-9)
    envs = gymnasium.make_vec("gymnosoma/LampreyEscape-v0", num_envs=7)
    envs.reset(seed=[0] * 7, options={"weakness": 0.0})
    task, batch = envs.task, envs.batch
    actions = np.concatenate([np.zeros((1, 6)), 0.1 * np.eye(6)])
    drive = task.hooks.command(actions, batch.rows, batch.memory).reshape(7, 2, 9)
    place = np.linspace(0.0, np.pi, 9)
    for side in range(2):
        for mode in range(3):
            added = drive[1 + 3 * side + mode] - drive[0]
            assert added[side] == pytest.approx(0.1 * task.amplitude * np.cos(mode * place))
            assert (added[1 - side] == 0.0).all()
    assert task.hooks.command(np.full((7, 6), -1.0), batch.rows, batch.memory).min() == pytest.approx(-1.0)


@pytest.mark.parametrize("actions", ["motoneuron", "muscle", "brainstem"])
def test_a_weak_side_loses_excitation_and_nothing_else(actions):
    """On the right 0.3 of it, on the left nothing, of no inhibition; drives follow within 35 ms, segments at once."""
    envs = gymnasium.make_vec("gymnosoma/LampreyEscape-v0", num_envs=2, actions=actions)
    envs.reset(seed=0, options={"weakness": np.array([0.3, -0.3])})
    task, rows, memory = envs.batch.task, envs.batch.rows, envs.batch.memory
    if actions == "brainstem":
        assert rows["segment_gain"][:, :, 7] == pytest.approx(np.array([[1.0, 0.7], [0.7, 1.0]]))
        return
    for sign in (1.0, -1.0):
        memory["excited"] = 0.0
        action = np.full((2, 18), sign)
        drives = [task.hooks.command(action, rows, memory)[:, -18:].reshape(2, 2, 9)[:, :, 3] for _ in range(5)]
        asked = task.values(action)[0, 0]
        share = np.array([[1.0, 0.7], [0.7, 1.0]]) if sign > 0.0 else np.ones((2, 2))
        for k, drive in enumerate(drives):
            assert drive == pytest.approx(asked * share * (1.0 - np.exp(-0.02 * (k + 1) / 0.035)))


def test_a_users_task_need_not_hide_a_weakness(monkeypatch):
    monkeypatch.setattr(Escape, "hidden", {})
    envs = gymnasium.make_vec("gymnosoma/LampreyEscape-v0", num_envs=2)
    envs.reset(seed=0)
    assert (envs.batch.memory["strength"] == 1.0).all()


def test_a_place_counts_where_it_was_nearest():
    """Within 0.05 m of the place, and when it has been left again, nothing changes but what is paid."""
    envs = gymnasium.make_vec("gymnosoma/LampreyEconomy-v0", num_envs=2)
    envs.reset(seed=0, options={"bearing": 0.5})
    task, rows, memory = envs.batch.task, envs.batch.rows, envs.batch.memory
    seen = task.hooks.sensed(rows, memory)
    assert np.hypot(*seen["target"].T) == pytest.approx(1.2)
    assert np.arctan2(*seen["target"].T[::-1]) == pytest.approx(0.5, abs=0.05)  # heading is that of the bent body
    assert seen["time_left"] == pytest.approx(6.0)
    for away, distance in ((0.4, 0.8), (0.01, 1.15), (0.9, 1.15)):
        memory["place"] = rows["centre"] + [away, 0.0]
        task.hooks.close(rows, memory)
        assert task.hooks.info(rows, memory)["distance"] == pytest.approx(distance)


def test_a_wave_answers_each_row_by_its_own_parameters():
    """And gives the parameters of a reference to all rows alike."""
    task = task_of("gymnosoma/LampreyEconomy-v0", actions="motoneuron")
    rng = np.random.default_rng(0)
    signals = {"target": rng.normal(size=(3, 2)), "time_left": rng.uniform(1.0, 5.0, (3, 1))}
    usual = references(Economy)["wave"].parameters

    def drive(**given):
        wave, first = SteeredWave(task, **{**usual, **given}), np.ones(3, bool)
        return [wave.drive(np.full(3, 0.5 * k), signals, first & (k == 0)) for k in range(3)][-1]

    other = drive(gain=np.array([usual["gain"], 0.0, usual["gain"]]))
    assert np.array_equal(other[[0, 2]], drive()[[0, 2]]) and not np.array_equal(other[1], drive()[1])
    at_the_goal = {"target": np.full((3, 2), 0.03), "time_left": signals["time_left"]}
    assert (SteeredWave(task, **usual).drive(np.zeros(3), at_the_goal, np.ones(3, bool)) == -1.0).all()
    with pytest.raises(ValueError, match="actions must be one of motoneuron, muscle, got 'brainstem'"):
        SteeredWave(task_of("gymnosoma/LampreyEscape-v0", actions="brainstem"), **references(Escape)["wave"].parameters)


@pytest.mark.full
def test_waypoints_are_counted_and_follow_each_other():
    envs = gymnasium.make_vec("gymnosoma/LampreyWaypoints-v0", num_envs=2)
    envs.reset(seed=0, options={"turning": 0.0})
    legs = np.diff(envs.batch.memory["waypoint"], axis=1)
    assert np.ptp(np.unwrap(np.arctan2(*legs.T)), 0) == pytest.approx(0.0, abs=1e-9)
    envs.reset(seed=0)
    legs = np.diff(envs.batch.memory["waypoint"], axis=1)
    turns = np.diff(np.unwrap(np.arctan2(legs[..., 1], legs[..., 0])))[:, 7:15] % (2 * np.pi)
    assert (np.sort(turns // (np.pi / 4)) == np.arange(8)).all()
    rows, memory = envs.batch.rows, envs.batch.memory
    gaps = np.linalg.norm(np.diff(memory["waypoint"], axis=1), axis=2)
    assert ((gaps > 0.6 - 1e-9) & (gaps < 1.2 + 1e-9)).all()
    memory["waypoint"][0, 0] = rows["centre"][0] + 0.05
    memory["away"][0] = np.hypot(0.05, 0.05)
    *_, info = envs.step(np.zeros((2, 6)))
    assert info["reached"].tolist() == [1.0, 0.0]
    assert abs(info["distance"]).max() < 0.1
