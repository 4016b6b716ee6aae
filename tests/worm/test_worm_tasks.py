"""The worm's tasks: what they reward, how they end, and that their references score what they should."""

from dataclasses import replace

import gymnasium
import numpy as np
import pytest
from ids import IDS, module

from gymnosoma.agents import ConstantAgent, ControllerAgent
from gymnosoma.agents.policies.agent import Policy
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.agents.policies.registry import references_of, task_of
from gymnosoma.envs.worm import Worm, WormParams
from gymnosoma.envs.worm.kymogram import FRAME_RATE, KymogramPlayback, SineKymogram, load_kymogram
from gymnosoma.envs.worm.tasks import Swim

ANGLES = {"actions": "angles"}


WORMS = [each for each in IDS if ".worm." in module(*each.values) and references_of(*each.values)]
"""Those that have a controller of the animal's own."""


@pytest.mark.parametrize("actions", ["modes", "angles"])
def test_a_worm_of_four_rods_has_three_modes(actions):
    """Of six cosines at three joints some are the same: once no drive became an action of them."""
    envs = gymnasium.make_vec("gymnosoma/WormSwim-v0", num_envs=3, n_rods=4, actions=actions)
    envs.reset(seed=0, options={"curl": 0.0})
    action = np.random.default_rng(0).uniform(-0.1, 0.1, (3, 3)).astype(np.float32)
    _, rewards, *_ = envs.step(action)
    assert np.isfinite(rewards).all()
    np.testing.assert_allclose(envs.task.action_from_drive(envs.batch.rows["control_angle"]), action, atol=1e-6)


def test_rewards_add_up_to_distance_less_its_price():
    envs = gymnasium.make_vec("gymnosoma/WormSwim-v0", num_envs=5, max_episode_steps=100, **ANGLES)
    envs.reset(seed=0)
    total, work = np.zeros(5), np.zeros(5)
    rng = np.random.default_rng(0)
    for _ in range(99):
        _, rewards, *_, infos = envs.step(rng.uniform(-1, 1, (5, 24)))
        total += rewards
        work += infos["muscle_work"]
    price = Swim.own_speed / (4 * Swim.own_power)
    paid = price * (work + infos["heat"] * infos["time"])
    np.testing.assert_allclose(total, 40.0 * 1e3 * (infos["distance"] - paid), rtol=1e-9)
    np.testing.assert_allclose(infos["energy"], work, rtol=1e-12)
    np.testing.assert_allclose(infos["power"], work / infos["time"], rtol=1e-9)
    paid = price * (infos["power"] + infos["heat"])
    np.testing.assert_allclose(infos["priced_speed"], infos["speed"] - paid, rtol=1e-9)


@pytest.mark.parametrize(("scheme", "dt"), [("midpoint", 5e-3), ("published", 1e-5)])
def test_effort_is_the_square_of_the_torques(scheme, dt):
    """By the rule of trapezes, from the angles between steps."""
    worm = Worm(WormParams.in_medium(1.0), dt, scheme)
    rows, ids, drive = worm.rows(1), np.zeros(1, np.int64), np.linspace(-0.3, 0.5, 24)[None]
    worm.reset(rows, ids, {})
    effort, squares = 0.0, []
    for _ in range(20):
        worm.advance(rows, ids, drive, 1)
        effort += rows["muscle_effort"][0]
        squares.append(worm.params.stiffness * np.sum((drive - np.diff(rows["rod_angle"])) ** 2))
    before = worm.params.stiffness * np.sum(drive**2)
    assert effort == pytest.approx(dt * (0.5 * before + sum(squares) - 0.5 * squares[-1]), rel=5e-3)
    again = worm.rows(1)
    worm.reset(again, ids, {})
    worm.advance(again, ids, drive, 20)
    assert again["muscle_effort"][0] == pytest.approx(effort, rel=1e-9)


def test_curl_is_added_to_what_is_commanded_and_strength_to_what_it_does():
    envs = gymnasium.make_vec("gymnosoma/WormCrawl-v0", num_envs=2, actions="angles")
    envs.reset(seed=0, options={"curl": np.array([0.0, 0.1]), "drag": 1.0, "strength": np.array([1.0, 0.8])})
    for _ in range(3):
        envs.step(np.full((2, 24), 0.2))
    commanded = envs.batch.rows["control_angle"]
    np.testing.assert_allclose(commanded[0], 0.18, atol=1e-6)
    np.testing.assert_allclose(commanded[1], 0.28, atol=1e-6)
    np.testing.assert_allclose(envs.batch.rows["control_gain"], [[1.0] * 24, [0.8] * 24])


def test_steering_meets_the_curl():
    """Unsteered, a worm of either curl goes in circles."""
    env_id = "gymnosoma/WormCrawl-v0"
    wave = Policy("wave", lambda envs, _: ControllerAgent(SineKymogram.for_medium(1.0), envs.task), ANGLES)
    for curl in (-0.15, 0.15):
        there = {"curl": curl, "drag": 1.0, "strength": 1.0}
        lost, steered = (
            evaluate(env_id, policy, 4, options=there).info["speed"].mean()
            for policy in (wave, find_policy(env_id, "baseline"))
        )
        assert lost < 0.5 * steered


def commands(env_id, policy, episodes=4):
    """Commands (steps, rows, joints) of a policy."""
    drives = []

    def make(envs, start):
        advance = envs.task.animal.advance

        def watched(rows, ids, drive, steps):
            drives.append(np.full((len(rows), drive.shape[1]), np.nan))
            drives[-1][ids] = drive
            advance(rows, ids, drive, steps)

        envs.task.animal.advance = watched
        return policy.make(envs, start)

    evaluate(env_id, Policy(policy.name, make, policy.env), episodes)
    return np.array(drives)


@pytest.mark.parametrize("env_id", WORMS)
def test_commands_change_no_faster_than_they_may(env_id):
    task = task_of(env_id)
    random = replace(find_policy(env_id, "random"), env={"authority": 1.0, "smoothing": 0.0})
    change = np.abs(np.diff(commands(env_id, random), axis=0))
    largest, whole = 12.5 / task.control_rate, 2.0 * task.largest_angle
    assert np.nanmax(change) == pytest.approx(largest, rel=1e-12) if largest < whole else np.nanmax(change) < largest


def unhidden(env_id, policy, episodes, **env):
    """Episodes in the paper's conditions."""
    return evaluate(env_id, find_policy(env_id, policy), episodes, split="paper", **env)


@pytest.mark.parametrize("env_id", WORMS)
def test_returns_order_policies_as_scores_do(env_id):
    still = Policy("still", lambda envs, _: ConstantAgent(np.zeros(24, np.float32)), ANGLES)
    policies = [find_policy(env_id, key) for key in ("random", *references_of(env_id))] + [still]
    score, returns, scores = task_of(env_id).score, [], []
    for policy in policies:
        result = evaluate(env_id, policy, 8)
        returns.append(result.returns.mean())
        scores.append(result.score(score).mean() * score.factor)
    assert len(set(np.argsort(returns))) >= 4 and np.array_equal(np.argsort(returns), np.argsort(scores))
    if score.name == "priced_speed":
        np.testing.assert_allclose(returns, 400.0 * np.array(scores), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "failed"), [("WormCrawl-v0", -100.0), ("WormReach-v0", -200.0)])
def test_a_failed_episode_returns_its_fine(name, failed):
    env_id = f"gymnosoma/{name}"
    result = evaluate(env_id, Policy("curl", lambda envs, _: ConstantAgent(np.ones(24, np.float32)), ANGLES), 4)
    assert result.failures == ["the body crossed itself"] * 4
    np.testing.assert_allclose(result.returns, failed, rtol=1e-12)
    score = task_of(env_id).score
    expected = failed / 400 if score.name == "priced_speed" else failed
    np.testing.assert_allclose(result.score(score) * score.factor, expected, rtol=1e-12)


def test_targets_are_where_the_options_put_them():
    env = gymnasium.make("gymnosoma/WormReach-v0")
    for bearing in (0.0, 0.5 * np.pi, -2.0):
        env.reset(seed=3, options={"target_distance": 3e-3, "target_bearing": bearing})
        batch = env.unwrapped.batch
        head = batch.task.animal.points(batch.rows)[0, 0]
        away = batch.memory["target"][0] - head
        forward = batch.rows["rod_angle"][0].mean() + np.pi
        assert np.hypot(*away) == pytest.approx(3e-3, rel=1e-12)
        turn = np.arctan2(away[1], away[0]) - forward - bearing
        assert np.cos(turn) == pytest.approx(1.0, abs=1e-12)


def test_the_recorded_escape_passes_all_stages():
    result = unhidden("gymnosoma/WormEscape-v0", "baseline", 32)
    assert set(result.info["side"]) == {-1.0, 1.0}
    assert (result.info["stage"] == 2).all() and result.info["is_success"].all()
    assert not result.info["crossed"].any()
    np.testing.assert_allclose(result.info["reversed"], 0.5e-3)
    np.testing.assert_allclose(result.info["progress"], 1.0)
    assert (result.info["run"] >= 1e-3).all() and (result.lengths < 480).all()


def test_an_escape_counts_to_its_side_and_no_faster_than_a_worm():
    """The animal's turn to the left: where it should go right, it never ends the second stage."""
    envs = gymnasium.make_vec("gymnosoma/WormEscape-v0", num_envs=2, **ANGLES)
    task = envs.task
    turn = KymogramPlayback(load_kymogram("omega_turn")[-len(task.kymogram) :])
    envs.reset(seed=0, options={"side": [0.3, -0.3], "curl": 0.0, "drag": 1.0})
    before, fastest = {"reversed": 0.0, "turned": 0.0, "run": 0.0}, {}
    for k in range(360):
        drive = np.repeat(turn.at(np.array([k / FRAME_RATE])), 2, 0)
        *_, infos = envs.step(task.action_from_drive(drive))
        for name, value in before.items():
            fastest[name] = max(fastest.get(name, 0.0), (infos[name][0] - np.broadcast_to(value, 2)[0]) * FRAME_RATE)
            before[name] = infos[name].copy()
    assert infos["stage"].tolist() == [2.0, 1.0]
    np.testing.assert_allclose([fastest["reversed"], fastest["turned"]], [0.6e-3, 2.1], rtol=1e-9)
    assert 0.0 < fastest["run"] <= 0.6e-3


@pytest.mark.parametrize(("name", "reference"), [("WormEscape-v0", "staged"), ("WormFollow-v0", "steered")])
def test_steering_pays_where_a_body_is_curled(name, reference):
    env_id = f"gymnosoma/{name}"
    result, baseline = (evaluate(env_id, find_policy(env_id, each), 8) for each in (reference, "baseline"))
    assert result.failures == [None] * 8 and result.info["is_success"].all()
    assert result.returns.mean() > baseline.returns.mean()


def test_circling_is_no_escape():
    """Once turned, only distance counts: a worm that curls up at its place earns nothing more."""
    env_id = "gymnosoma/WormEscape-v0"
    envs = gymnasium.make_vec(env_id, num_envs=1, **ANGLES)
    envs.reset(seed=0)
    envs.batch.memory["stage"] = 2.0
    envs.batch.memory["turn_centre"] = envs.batch.rows["centre"]
    for _ in range(400):
        *_, infos = envs.step(np.ones((1, 24)))
    assert infos["run"][0] < 0.5e-3


@pytest.mark.paper
@pytest.mark.parametrize(("name", "speed"), [("Crawl", 0.208), ("Swim", 0.223)])
def test_the_papers_conditions_give_the_papers_speeds(name, speed):
    """Printed; our waves start with a ramp and from random bends, which costs up to 4%."""
    info = unhidden(f"gymnosoma/Worm{name}-v0", "baseline", 32).info
    assert 1e3 * info["speed"].mean() == pytest.approx(speed, rel=0.04)


@pytest.mark.parametrize(("turn", "frames"), [("omega_turn", 600), ("delta_turn", 300)])
def test_a_recorded_path_is_followed_to_its_end(turn, frames):
    env_id = "gymnosoma/WormFollow-v0"
    result = unhidden(env_id, "baseline", 16, turn=turn)
    assert result.info["is_success"].all()
    assert result.lengths.tolist() == [frames] * 16
    task = task_of(env_id, turn=turn)
    near = result.returns + task.effort * result.info["energy"] / task.own_work
    assert near.mean() > 0.75 * frames
