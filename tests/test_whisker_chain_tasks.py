"""The vibrissa's tasks: continuous motion, noise, and what the reference controllers reach."""

import pickle

import gymnasium
import numpy as np
import pytest

from gymnosoma.agents.agent import ControllerAgent
from gymnosoma.agents.controllers import references
from gymnosoma.agents.controllers.whisker_chain import Detector, HalfSineTap, SineWhisk, Steering
from gymnosoma.agents.evaluation.policies import evaluate, find_policy
from gymnosoma.agents.evaluation.rollout import rollout
from gymnosoma.envs import simulate
from gymnosoma.envs.core.control import Controller, TaskController
from gymnosoma.envs.core.noise import normal, uniform
from gymnosoma.envs.whisker_chain import Whisker
from gymnosoma.envs.whisker_chain.tasks import ACCELERATION, RATE, REACH, SENSOR

pytestmark = pytest.mark.full

IDS = [f"gymnosoma/Whisker{name}-v0" for name in ("Localize", "Detect", "Tap", "Hold", "Whisk")]


@pytest.mark.parametrize("actions", ["trajectory", "whisk"])
def test_the_base_moves_smoothly_whatever_the_policy_does(actions):
    envs = gymnasium.make_vec(IDS[0], num_envs=64, actions=actions)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    before = envs.simulation.rows["base_rate"].copy()
    for k in range(149):
        shape = envs.action_space.shape
        extreme = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
        envs.step(extreme if k % 40 < 20 else np.ones(shape) * (-1) ** (k // 40))
        rate = envs.simulation.rows["base_rate"]
        assert (np.abs(rate - before) <= ACCELERATION / 250.0 * (1 + 1e-12)).all()
        assert (np.abs(rate) <= RATE * (1 + 1e-12)).all()
        assert (np.abs(envs.simulation.rows["link_angle"][:, 0]) < REACH + 1e-6).all()
        before = rate.copy()


@pytest.mark.parametrize("env_id", IDS)
def test_action_from_values_is_the_inverse_of_command(env_id):
    task = gymnasium.make(env_id).unwrapped.task
    rows, memory = task.animal.rows(5), np.zeros(5, task.memory)
    values = np.zeros((5, task.action_size))
    values[:, 0] = np.linspace(-2000.0, 2000.0, 5)
    answers = {name: np.linspace(field.low, field.high, 5) for name, field in task.answers.items()}
    for j, value in enumerate(answers.values()):
        values[:, 1 + j] = value
    actions = task.action_from_values(values)
    np.testing.assert_allclose(task.command(actions, rows, memory)[:, 0], values[:, 0], atol=1e-3)
    for name, value in answers.items():
        np.testing.assert_allclose(task.answer(memory, name), value, atol=1e-6)


@pytest.mark.parametrize("env_id", IDS)
def test_action_from_drive_is_the_inverse_of_command(env_id):
    task = gymnasium.make(env_id).unwrapped.task
    rows, memory = task.animal.rows(5), np.zeros(5, task.memory)
    drive = np.zeros((5, 3))
    drive[:, 0] = np.linspace(-2000.0, 2000.0, 5)
    actions = task.action_from_drive(drive)
    np.testing.assert_allclose(task.command(actions, rows, memory), drive, atol=1e-3)
    assert np.array_equal(actions[:, 1:], np.zeros((5, len(task.answers))))


def test_a_whisk_is_not_commanded_by_a_drive():
    task = gymnasium.make(IDS[0], actions="whisk").unwrapped.task
    with pytest.raises(ValueError, match="actions='whisk' of Localize do not command the drive of Whisker"):
        task.action_from_drive(np.zeros((1, 3)))
    assert task.action_from_values(np.array([[0.1, 0.0, 8.0, 0.6, 0.1]])).shape == (1, 5)


def test_noise_is_a_function_of_seed_and_count():
    seeds = np.random.default_rng(0).integers(0, 2**63, 4000).astype(np.uint64)
    counts = np.arange(4000.0) * 40.0
    u, z = uniform(seeds[:1].repeat(4000), counts, 3), normal(seeds, np.full(4000, 80.0), 3)
    assert ((u > 0.0) & (u < 1.0)).all()
    assert np.abs(u.mean(0) - 0.5).max() < 0.02  # four standard errors
    assert np.abs(z.mean(0)).max() < 0.065
    assert np.abs(z.std(0) - 1.0).max() < 0.045
    assert np.abs(np.corrcoef(np.concatenate([z, u], 1).T) - np.eye(6)).max() < 0.065
    assert np.array_equal(normal(seeds[7:9], np.full(2, 80.0), 3), z[7:9])


def test_sensors_are_as_noisy_as_documented():
    env = gymnasium.make(IDS[4]).unwrapped
    quiet = gymnasium.make(IDS[4], noise=0.0).unwrapped
    seen = []
    for one in (env, quiet):
        one.reset(seed=0)
        seen.append(np.array([one.step([0.0])[0][:3] for _ in range(400)]))
    assert np.array_equal(seen[1], np.zeros_like(seen[1]))
    spread = seen[0].std(0) * env.task.layout.scale[:3]
    assert np.allclose(spread, SENSOR, rtol=0.12)


# Measured over 64 episodes: mean return, standard deviation; bounds are three standard errors below.
RETURNS = {
    ("Localize", "baseline"): 0.245,
    ("Localize", "quick"): 0.495,
    ("Detect", "baseline"): 0.28,
    ("Tap", "baseline"): 0.815,
    ("Hold", "baseline"): 462.0,
    ("Whisk", "baseline"): 452.0,
}


@pytest.mark.parametrize("scheme", ["complementarity", "events"])
@pytest.mark.parametrize(("name", "policy"), list(RETURNS))
def test_references_reach_their_scores(name, policy, scheme):
    env_id = f"gymnosoma/Whisker{name}-v0"
    result = evaluate(env_id, find_policy(env_id, policy), 64, scheme=scheme)
    assert result.failures == [None] * 64
    assert result.returns.mean() > RETURNS[name, policy]


def test_shaping_the_ramp_spares_vibration():
    env_id = IDS[4]
    shaped, plain = (evaluate(env_id, find_policy(env_id, name), 32).returns for name in ("baseline", "unshaped"))
    assert (shaped > plain).all()


def test_localisation_error():
    """The scripted localiser, 100 deg/s: median of the radial error 0.001 lengths, 90% below 0.03."""
    error = evaluate(IDS[0], find_policy(IDS[0], "baseline"), 128).info["place_error"]
    assert np.median(error) < 0.0125
    assert np.percentile(error, 90) < 0.05


@pytest.mark.paper
def test_axial_force_detects_distal_contact_where_the_moment_does_not():
    """Quist et al. (2014), Stage 2: no threshold on M tells a distal touch from free whisking, one on Fx does.

    Both thresholds are as low as 500 free whisks without a false alarm allow.
    """
    rates = {}
    for signal, threshold in (("axial", 0.7e-6), ("moment", 0.16e-6)):
        envs = gymnasium.make_vec(IDS[1], num_envs=100)
        agent = ControllerAgent(Detector(signal, threshold, SineWhisk(0.35)), envs.task)
        free = rollout(envs, agent, seed=0, options={"peg_present": 0.0})
        touch = {"peg_present": 1.0, "peg_place": np.linspace(0.85, 0.9, 100), "peg_bearing": 0.35 - np.deg2rad(5.0)}
        distal = rollout(envs, agent, seed=0, options=touch)
        assert free.info["false_alarm"].sum() == 0
        rates[signal] = distal.info["hit"].mean()
    # Measured: 1.00 and 0.01.
    assert rates["axial"] > 0.95
    assert rates["moment"] < 0.1


@pytest.mark.parametrize("make", [SineWhisk, HalfSineTap])
def test_whisks_follow_their_angles(make):
    envs = gymnasium.make_vec(IDS[4], num_envs=1)
    controller = make()
    if make is SineWhisk:
        controller.middle = controller.amplitude  # begins at rest at the angle 0
    agent = ControllerAgent(controller, envs.task)
    observations, _ = envs.reset(seed=0)
    worst = 0.0
    for k in range(100):
        observations, *_ = envs.step(agent.act(observations, np.array([k == 0])))
        t = (k + 1) / 250.0
        if make is SineWhisk:
            wanted = controller.amplitude * (1.0 - np.cos(controller.omega * t))
        else:
            wanted = 0.5 * controller.reach * (1.0 - np.cos(controller.omega * min(t, np.pi / controller.omega)))
        worst = max(worst, abs(envs.simulation.rows["link_angle"][0, 0] - wanted))
    assert worst < 0.01


def test_the_trained_policy_holds_better_than_the_pi_controller():
    pytest.importorskip("stable_baselines3")
    trained, own = (evaluate(IDS[3], find_policy(IDS[3], name), 64, seed=1000) for name in ("trained", "baseline"))
    # Measured on these unseen episodes: 490 against 469.
    assert trained.failures == [None] * 64
    assert trained.returns.mean() > own.returns.mean() + 10.0


@pytest.mark.parametrize("make", [SineWhisk, HalfSineTap])
def test_motions_need_no_environment(make):
    """In free air the same controller moves the base as in the task, where actions are rounded to float32."""
    rate = 250.0
    envs = gymnasium.make_vec(IDS[4], num_envs=1, noise=0.0)
    agent = ControllerAgent(make(control_rate=rate), envs.task)
    observations, _ = envs.reset(seed=0)
    seen = []
    for k in range(50):
        observations, *_ = envs.step(agent.act(observations, np.array([k == 0])))
        seen.append([envs.simulation.rows["link_angle"][0, 0], *envs.simulation.rows["wrench_sum"][0]])
    run = simulate(Whisker(), make(control_rate=rate), 0.2, hold=1.0 / rate)
    own = np.column_stack([run["base_angle"], run["base_wrench_mean"] / rate])[1:]
    # Measured: 1.2e-7 of the largest.
    assert (np.abs(own - seen).max(0) < 1e-6 * np.abs(own).max(0)).all()


def test_controllers_are_what_they_drive():
    tasks = [gymnasium.make(env_id).unwrapped.task for env_id in IDS]
    for task in tasks:
        for name, reference in references(type(task)).items():
            controller = reference.make(task)
            assert isinstance(controller, TaskController if task.answers else Controller), name
            assert not (isinstance(controller, TaskController) and isinstance(controller, Controller)), name
        assert sum(bool(reference.bounds) for reference in references(type(task)).values()) == 1
        assert isinstance(Steering(task), TaskController)


def test_a_person_steers_base_and_answers():
    envs = gymnasium.make_vec(IDS[0], num_envs=1)
    hand = Steering(envs.task)
    agent = ControllerAgent(hand, envs.task)
    observations, _ = envs.reset(seed=0)
    for k in range(25):
        hand.hold({"up", "w", "d"}, 1.0 / 250.0)
        observations, *_ = envs.step(agent.act(observations, np.array([k == 0])))
    memory = envs.simulation.memory
    assert envs.simulation.rows["base_rate"][0] == pytest.approx(hand.speed, rel=1e-3)
    # A quarter of the way through the range, from the middle.
    assert envs.task.answer(memory, "place")[0] == pytest.approx(0.6 + 0.25 * 0.8, abs=1e-6)
    assert envs.task.answer(memory, "bearing")[0] == pytest.approx(0.1 - 0.25 * 0.9, abs=1e-6)


@pytest.mark.parametrize("env_id", IDS)
def test_a_pickled_environment_goes_on_to_the_bit(env_id):
    env = gymnasium.make(env_id).unwrapped
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1.0, 1.0, (40, env.task.action_size))
    for action in actions[:20]:
        env.step(action)
    twin = pickle.loads(pickle.dumps(env))
    for action in actions[20:]:
        own, other = env.step(action), twin.step(action)
        assert np.array_equal(own[0], other[0])
        assert own[1:4] == other[1:4]
