"""The vibrissa's tasks: continuous motion, noise, and what the reference controllers reach."""

import gymnasium
import numpy as np
import pytest

from gymnosoma.agents.controllers import references
from gymnosoma.agents.controllers.whisker_chain import HalfSineTap, Muscular, SineWhisk
from gymnosoma.agents.policies.agent import ConstantAgent, ControllerAgent, Policy
from gymnosoma.agents.policies.evaluation import evaluate
from gymnosoma.agents.policies.lookup import find_policy
from gymnosoma.envs import simulate
from gymnosoma.envs.core.kernels.maths import normal, uniform
from gymnosoma.envs.whisker_chain import Whisker
from gymnosoma.envs.whisker_chain.tasks import ACCELERATION, DAMPING, RATE, REACH, SENSOR, TWITCH

pytestmark = pytest.mark.full

IDS = [f"gymnosoma/Whisker{name}-v0" for name in ("Localize", "Tap", "Hold", "Whisk")]
COMMANDED = {"actions": "trajectory"}


@pytest.mark.parametrize("actions", ["trajectory", "whisk"])
def test_the_base_moves_smoothly_whatever_the_policy_does(actions):
    envs = gymnasium.make_vec(IDS[3], num_envs=64, actions=actions)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    before = envs.batch.rows["base_rate"].copy()
    for k in range(149):
        shape = envs.action_space.shape
        extreme = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
        envs.step(extreme if k % 40 < 20 else np.ones(shape) * (-1) ** (k // 40))
        rate = envs.batch.rows["base_rate"]
        assert (np.abs(rate - before) <= ACCELERATION / 250.0 * (1 + 1e-12)).all()
        assert (np.abs(rate) <= RATE * (1 + 1e-12)).all()
        assert (np.abs(envs.batch.rows["link_angle"][:, 0]) < REACH + 1e-6).all()
        before = rate.copy()


@pytest.mark.parametrize("env_id", IDS)
def test_action_from_values_is_the_inverse_of_command(env_id):
    """From any state of the muscle, as far as commands reach."""
    task = gymnasium.make(env_id, **COMMANDED).unwrapped.task
    rows, memory = task.animal.rows(5), np.zeros(5, task.memory)
    rng = np.random.default_rng(0)
    rows["base_rate"], memory["muscle"] = rng.uniform(-2.0, 2.0, 5), rng.uniform(-300.0, 300.0, (5, 2))
    wanted = memory["muscle"][:, 1] + np.linspace(-400.0, 400.0, 5)
    values = np.zeros((5, task.action_size))
    values[:, 0] = task.excitation(wanted, rows["base_rate"], *memory["muscle"].T)
    assert (np.abs(values[:, 0]) < ACCELERATION).all()
    answers = {name: np.linspace(field.low, field.high, 5) for name, field in task.answers.items()}
    for j, value in enumerate(answers.values()):
        values[:, 1 + j] = value
    actions = task.action_from_values(values)
    np.testing.assert_allclose(task.hooks.command(actions.astype(float), rows, memory)[:, 0], wanted, atol=2e-3)
    for j, value in enumerate(answers.values(), 1):
        np.testing.assert_allclose(task.meaning(memory["action"].T, j), value, atol=1e-6)


@pytest.mark.parametrize("rate", [250.0, 500.0, 1000.0])
def test_the_muscle_follows_in_its_time(rate):
    """Two stages in series and a damped base, by their own solution, whatever the control rate."""
    env = gymnasium.make(IDS[3], control_rate=rate, **COMMANDED).unwrapped
    env.reset(seed=0)
    for _ in range(round(0.02 * rate)):
        env.step([0.1])
    first, second = env.batch.memory["muscle"][0]
    a, b = TWITCH
    assert first == pytest.approx(300.0 * (1.0 - np.exp(-0.02 / a)), rel=1e-6)
    exact = 300.0 * (1.0 - (a * np.exp(-0.02 / a) - b * np.exp(-0.02 / b)) / (a - b))
    # The second stage sees the first as it is at the period's end: half a period early, about 9% at 4 ms.
    assert 0.0 < second / exact - 1.0 < 0.095 * 250.0 / rate
    # Pulled on, the base comes to the rate at which tissue holds against the muscle.
    for _ in range(round(0.07 * rate)):
        env.step([0.1])
    assert env.batch.rows["base_rate"][0] == pytest.approx(300.0 / DAMPING, rel=0.1)


class Oracle:
    """Commits the truth at once."""

    def __init__(self, task, right=True):
        self.task, self.right, self.truth = task, right, None

    def act(self, observations, first):
        values = np.zeros((len(first), self.task.action_size))
        for j, name in enumerate(self.task.answers):
            values[:, 1 + j] = self.truth[name]
        values[:, -1] = 1.0
        return self.task.action_from_values(values)


def test_a_committed_answer_ends_the_episode():
    """What `info` says is the right answer; it counts 20 ms after the first commit, not if that is taken back."""
    envs = gymnasium.make_vec(IDS[0], num_envs=8, **COMMANDED)
    _, info = envs.reset(seed=0)
    oracle = Oracle(envs.task)
    oracle.truth = {"place": info["peg_place"], "bearing": info["peg_bearing"], "commit": 1.0}
    yes, no = oracle.act(None, np.zeros(8)), oracle.act(None, np.zeros(8))
    no[:, -1] = -1.0
    for action in [yes] * 4 + [no] + [yes] * 4:
        _, rewards, terminated, *_ = envs.step(action)
        assert not rewards.any() and not terminated.any()
    _, rewards, terminated, _, info = envs.step(yes)
    assert terminated.all() and not info["failure"].any() and info["is_success"].all()
    np.testing.assert_allclose(rewards, 1.0 - 0.04 / envs.task.duration, atol=1e-6)
    np.testing.assert_allclose(info["committed"], 0.04)


def test_silence_earns_nothing():
    still = ConstantAgent(np.array([0.0, 0.0, 0.0, -1.0], np.float32))
    assert not evaluate(IDS[0], Policy("own", lambda envs, start: still), 16, **COMMANDED).returns.any()


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
    env = gymnasium.make(IDS[3], **COMMANDED).unwrapped
    quiet = gymnasium.make(IDS[3], noise=0.0, **COMMANDED).unwrapped
    seen = []
    for one in (env, quiet):
        one.reset(seed=0)
        seen.append(np.array([one.step([0.0])[0][:3] for _ in range(400)]))
    assert np.array_equal(seen[1], np.zeros_like(seen[1]))
    spread = seen[0].std(0) * env.task.layout.scale[:3]
    assert np.allclose(spread, SENSOR, rtol=0.12)


def test_who_answers_pays_for_a_hard_push_and_for_effort():
    env = gymnasium.make(IDS[0], **COMMANDED)
    env.reset(seed=0, options={"peg_place": 0.4, "peg_bearing": 0.0})
    task, hard = env.unwrapped.task, 0.0
    for _ in range(100):
        _, reward, _, _, info = env.step(np.array([0.5, 0.0, 0.0, -1.0], np.float32))
        excess = max(info["push"] * task.control_rate / task.gentle - 1.0, 0.0)
        rest = reward + task.push_cost * info["push"] / 1e-6 + task.hurt_price * excess
        assert -task.effort_price <= rest <= 1e-9
        hard += excess
    assert hard > 1.0
    env.reset(seed=0, options={"peg_place": 0.9, "peg_bearing": 0.35})
    spent = [env.step(np.array([command, 0.0, 0.0, -1.0], np.float32))[1] for command in (0.0, 1.0)]
    assert spent[0] == 0.0 > spent[1]


@pytest.mark.paper
def test_axial_force_detects_distal_contact_where_the_moment_does_not():
    """Quist et al. (2014), Stage 2: no threshold on M tells a distal touch from free whisking, one on Fx does.

    A touch is a signal beyond all of those of the free whisks in two successive periods.
    """
    envs = gymnasium.make_vec(IDS[0], num_envs=100, **COMMANDED)
    agent = ControllerAgent(Muscular(SineWhisk(0.35), envs.task), envs.task)
    sizes = []
    for place in (1.2, np.linspace(0.85, 0.9, 100)):  # out of reach, and distal
        observations, _ = envs.reset(seed=0, options={"peg_place": place, "peg_bearing": 0.35 - np.deg2rad(5.0)})
        wrenches = []
        for k in range(30):
            motion = agent.act(observations, np.full(100, k == 0))
            observations, *_ = envs.step(np.column_stack([motion[:, :1], np.zeros((100, 2)), -np.ones(100)]))
            wrenches.append(envs.task.layout.unpack(observations)["base_wrench_mean"] * [1.0, -1.0, 1.0])
        pairs = np.minimum(wrenches[1:], wrenches[:-1])
        sizes.append(pairs[..., :2].max(0))
    free, distal = sizes
    hits = (distal > free.max(0)).mean(0)
    assert hits[0] < 0.1 and hits[1] > 0.95


@pytest.mark.parametrize("make", [SineWhisk, HalfSineTap])
def test_whisks_follow_their_angles(make):
    envs = gymnasium.make_vec(IDS[3], num_envs=1, **COMMANDED)
    controller = make()
    if make is SineWhisk:
        controller.middle = controller.amplitude  # begins at rest at the angle 0
    agent = ControllerAgent(Muscular(controller, envs.task), envs.task)
    observations, _ = envs.reset(seed=0)
    worst = 0.0
    for k in range(100):
        observations, *_ = envs.step(agent.act(observations, np.array([k == 0])))
        t = (k + 1) / 250.0
        if make is SineWhisk:
            wanted = controller.amplitude * (1.0 - np.cos(controller.omega * t))
        else:
            wanted = 0.5 * controller.reach * (1.0 - np.cos(controller.omega * min(t, np.pi / controller.omega)))
        worst = max(worst, abs(envs.batch.rows["link_angle"][0, 0] - wanted))
    assert worst < 0.01


@pytest.mark.paper
@pytest.mark.parametrize(("frequency", "speed"), [(4, 232.0), (8, 465.0), (16, 955.0)])
def test_half_sines_have_the_papers_speeds(frequency, speed):
    """Quist et al. (2014), Fig. 9: 20 degrees, and the printed speed after 14 of them."""
    envs = gymnasium.make_vec(IDS[1], num_envs=1, noise=0.0, **COMMANDED)
    agent = find_policy(IDS[1], f"half_sine_{frequency}_hz").make(envs, 0)
    observations, _ = envs.reset(seed=0, options={"peg_bearing": 0.6})
    rows, angles, rates = envs.batch.rows, [-0.35], [0.0]
    for k in range(50):
        observations, *_ = envs.step(agent.act(observations, np.array([k == 0])))
        angles.append(rows["link_angle"][0, 0])
        rates.append(rows["base_rate"][0])
    way = np.rad2deg(np.array(angles) - angles[0])
    assert way[-1] == pytest.approx(20.0, rel=0.005) and way.max() < 20.2
    up = int(np.argmax(way > 14.0)) + 1
    assert np.rad2deg(np.interp(14.0, way[:up], rates[:up])) == pytest.approx(speed, rel=0.06)
    assert np.argmax(way > 19.5) / 250.0 == pytest.approx(0.5 / frequency, abs=0.012)


@pytest.mark.parametrize("make", [SineWhisk, HalfSineTap])
def test_motions_need_no_environment(make):
    """In free air the same controller moves the base as in the task, where actions are rounded to float32."""
    rate = 250.0
    envs = gymnasium.make_vec(IDS[3], num_envs=1, noise=0.0, **COMMANDED)
    agent = ControllerAgent(Muscular(make(control_rate=rate), envs.task), envs.task)
    observations, _ = envs.reset(seed=0)
    seen = []
    for k in range(50):
        observations, *_ = envs.step(agent.act(observations, np.array([k == 0])))
        seen.append([envs.batch.rows["link_angle"][0, 0], *envs.batch.rows["wrench_sum"][0]])
    run = simulate(Whisker(), make(control_rate=rate), 0.2, hold=1.0 / rate)
    own = np.column_stack([run["base_angle"], run["base_wrench_mean"] / rate])[1:]
    # Measured: 1.2e-7 of the largest.
    assert (np.abs(own - seen).max(0) < 1e-6 * np.abs(own).max(0)).all()


@pytest.mark.parametrize("env_id", IDS)
def test_actions_add_to_the_animal(env_id):
    task = gymnasium.make(env_id, noise=0.0).unwrapped.task
    rows, memory = task.animal.rows(3), np.zeros(3, task.memory)
    rows["base_rate"] = task.speed if env_id == IDS[0] else 0.0  # no command at its limit
    actions = 0.01 * np.array([[-1.0], [0.0], [1.0]]) * np.eye(task.action_size)[0]
    rates = task.hooks.command(actions, rows, memory)[:, 0] / task.control_rate
    if env_id == IDS[1]:  # the evidence of a touch
        assert (rates > 0.0).all()
        task.hooks.command(100.0 * actions, rows, memory)
        assert memory["turned"].tolist() == [0.0, 0.0, 1.0]
    else:
        added = task.residual_scale * (task.gain**2 / task.control_rate if env_id == IDS[3] else 1.0)
        assert np.diff(rates) == pytest.approx(0.01 * added / (6.0 if env_id == IDS[0] else 1.0))  # over 20 ms
    for reference in [one for name, one in references(type(task)).items() if name != "guess"]:
        with pytest.raises(ValueError, match="actions must be one of trajectory, got 'residual'"):
            reference.make(task)


def test_the_answer_is_the_observed_estimate():
    """With residual actions, also while it changes; it is good 12 ms after the touch."""
    envs = gymnasium.make_vec(IDS[0], num_envs=64)
    observations, info = envs.reset(seed=0)
    places = np.full(64, np.nan)
    for _ in range(55):
        seen = envs.task.layout.unpack(observations)
        observations, *_ = envs.step(np.zeros((64, 4), np.float32))
        assert envs.batch.memory["answer"] == pytest.approx(seen["estimate"], abs=1e-6)
        places = np.where(np.isclose(seen["felt"][:, 0], 0.012), seen["estimate"][:, 0], places)
    assert np.nanmedian(np.abs(places - info["peg_place"])) < 0.03 and np.isfinite(places).sum() > 10


def test_the_animal_tells_where_it_has_felt_the_peg():
    """With residual actions, where a touch was felt for two periods: up to 0.06 rad after the straight whisker's."""
    envs = gymnasium.make_vec(IDS[1], num_envs=8, actions="residual")
    observations, info = envs.reset(seed=0)
    for _ in range(200):
        seen = envs.task.layout.unpack(observations)
        ahead, angle, known = seen["ahead"][:, 0], seen["base_angle"][:, 0], envs.batch.memory["known"]
        assert ahead == pytest.approx(np.minimum(known - angle, 0.5), abs=1e-6)
        assert ((known == 1.0) | (seen["turned"][:, 0] == 1.0) | (envs.batch.rows["time"] > 0.599)).all()
        observations, *_ = envs.step(np.zeros((8, 1), np.float32))
    behind = (known - info["peg_bearing"])[known < 1.0]
    assert len(behind) >= 6 and (behind > 0.0).all() and (behind < 0.06).all()


def test_a_window_pays_one_tap_after_the_base_has_been_behind():
    """Who has tapped and stays at the peg earns nothing in the next window."""
    task = gymnasium.make(IDS[1]).unwrapped.task
    rows, memory = task.animal.rows(3), np.zeros(3, task.memory)
    memory["touched"], memory["back"] = np.inf, [1.0, 1.0, 0.0]
    rows["contact_sum"][:, 0], rows["time"] = [1e-6, 0.0, 1e-6], 0.3
    np.testing.assert_allclose(task.hooks.close(rows, memory)[0], [12.5, 0.0, 0.0])
    rows["time"] = task.window
    np.testing.assert_allclose(task.hooks.close(rows, memory)[0], [100 / 12 - 12.5, 0.0, 0.0])
    assert not memory["back"].any() and not memory["push"].any() and memory["taps"].tolist() == [1.0, 0.0, 0.0]
    assert not task.hooks.close(rows, memory)[0].any()
