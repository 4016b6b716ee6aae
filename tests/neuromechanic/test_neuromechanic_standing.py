"""Illustration 3 of Bunderson et al. (2012), and the tasks of the standing figure with their agents.

The platform has the printed acceleration. The paper states neither the stance nor the times of its pulses; those of
the asset give its course.
"""

import gymnasium
import numpy as np
import pytest
from scipy.optimize import brentq

from gymnosoma.envs import simulate
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic import contact as c
from gymnosoma.envs.neuromechanic.standing import (
    CENTRE_OF_MASS,
    HIPS,
    LEG,
    STANCE,
    STIFFNESS,
    feet,
    ramp_and_hold,
    reflex_input,
    splay,
    standing,
    upright,
)
from papers.neuromechanic.standing import DURATION, critical_delay, events, growth_over_delay, lean, stands

pytestmark = pytest.mark.full

GAINS = "gymnosoma/StandGains-v0"
ONE = np.zeros(1, np.int64)


# The figure


@pytest.mark.term
def test_the_figure_is_winters():
    animal = Neuromechanic(standing())
    row = animal.rows(1)
    k = animal.mechanics(row)
    # Winter's fractions of 70 kg and 1.75 m: head, arms and trunk, and a leg of thigh and shank.
    parts = np.array([[0.1, 0.0, 0.245, 0.433, 0.323], [0.0465, 0.245, 0.246, 0.433, 0.302]])
    weight, above, length, middle, gyration = parts.T * np.array([[70.0], [1.75], [1.75], [1.0], [1.0]])
    centre = weight @ (above + middle * length) / weight.sum()
    turning = weight @ ((gyration * length) ** 2 + (above + middle * length - centre) ** 2)
    torso, trunk = 0.678 * 70.0, 0.288 * 1.75
    winter = {"torso": [torso, 0.626 * trunk, torso * (0.496 * trunk) ** 2]}
    winter |= {name: [weight.sum(), -centre, turning] for name in ("left_leg", "right_leg")}
    model = standing()
    assert [foot["friction"] for foot in model["contact"].values()] == [0.8, 0.8] and model["gravity"] == [0, -9.81, 0]
    for name, expected in winter.items():
        inertial = model["body"][name]["inertial"]
        assert [inertial["mass"], inertial["centre"][1], inertial["inertia"][0]] == pytest.approx(expected, rel=1e-3)
    np.testing.assert_allclose([HIPS, LEG], [0.191 * 1.75, (0.53 - 0.039) * 1.75], rtol=2e-3)
    assert k["contact_point"][:, 0] == pytest.approx([-0.5 * STANCE * 0.334, 0.5 * STANCE * 0.334])
    assert np.abs(k["contact_point"][:, 1]).max() < 1e-15
    rng = np.random.default_rng(0)
    animal.reset(row, ONE, {"q": rng.normal(0, 0.5, 5)})
    assert feet(row["q"])[0] == pytest.approx(animal.mechanics(row)["contact_point"][:, :2], abs=1e-12)


@pytest.mark.paper
def test_free_and_pinned_figure_agree_before_the_slip():
    """Fig. 3, frames 1 and 2."""
    free, pinned = stands("free"), stands("pinned")
    until = np.flatnonzero(free["contact_mode"][1:].max(1) >= c.SLIP)[0]
    before = slice(1, until)
    torque = [run["neurons"][before, -2:] for run in (free, pinned)]
    assert np.abs(torque[0]).max() > 30.0
    assert np.abs(torque[0] - torque[1]).max() < 3e-4
    ground = [free["contact_force"][before, :, :2], pinned["reaction"][before].reshape(-1, 2, 2)]
    assert np.abs(ground[0] - ground[1])[1:].max() < 0.02
    left, right = pinned["reaction"].reshape(-1, 2, 2)[1:, :, 1].T
    assert left.min() > 20.0
    assert pinned.time[1:][right <= 0.0][0] == pytest.approx(2.07, abs=0.01)  # "would reach zero"
    assert np.abs(standing()["platform"]["pulse"][0]["peak"]) == 7.75


@pytest.mark.paper
@pytest.mark.parametrize(
    ("dt", "solver"),
    [
        (2.5e-4, "modes"),
        *(pytest.param(1e-3, name, marks=pytest.mark.slow) for name in ("modes", "staggered", "sweep")),
    ],
)
def test_the_figure_slips_steps_and_stands(dt, solver):
    """Fig. 3: slip of the left foot at about 0.4 s, both feet leave the ground from about 2.3 s on, and no fall."""
    drawn = dt == 2.5e-4 and solver == "modes"
    animal = Neuromechanic(standing(), dt, contacts=solver)
    run = stands("free") if drawn else simulate(animal, reflex_input(), DURATION, every=1e-3)
    assert run.time[-1] == pytest.approx(DURATION) and run.failure is None
    assert all(np.isfinite(run[name]).all() for name in ("q", "v", "neurons", "contact_force"))
    (left, right), lifts = events(run)
    assert left == pytest.approx(0.409, abs=0.002)  # converged
    assert right > 2.0 and 2.249 < min(lifts) < max(lifts) < 2.4
    assert lean(run).max() < 0.13 and lean(run)[-1] < 0.06  # the legs are 0.078 rad from the vertical at the start
    assert np.abs(run["v"]).max() < 1.5


@pytest.mark.paper
def test_stances_that_are_stable_at_120_ms():
    def growth(stance):
        return float(growth_over_delay(stance, 0.12))

    assert brentq(growth, 0.9, 1.1, xtol=1e-5) == pytest.approx(0.998, abs=1e-3)
    assert brentq(growth, 1.4, 1.6, xtol=1e-5) == pytest.approx(1.485, abs=1e-3)
    assert growth(1.2) < 0.0


@pytest.mark.paper
@pytest.mark.parametrize(("stance", "delay"), [(1.0, 0.33), (1.1, 0.26), (1.2, 0.21), (1.4, 0.14), (1.6, 0.098)])
def test_critical_delays(stance, delay):
    assert critical_delay(stance) == pytest.approx(delay, rel=0.01)


def test_the_critical_delay_divides_simulations():
    """The roots know nothing of time stepping."""
    ends = []
    for delay in (0.19, 0.23):
        animal = Neuromechanic(standing(1.2, "pinned", delay=delay))
        start = {"q": upright(1.2), "v": [0, 0, 0, 0, 0], "pulse": ramp_and_hold(0.0, 0.0323, 0.0507, 20.0)}
        run = simulate(animal, reflex_input(1.2), 12.0, every=0.01, start=start)
        swing = np.abs(run["q"][:, 2])
        ends.append(swing[-200:].max() / swing[200:400].max())
    assert ends[0] < 0.9
    assert ends[1] > 1.1


@pytest.mark.term
def test_pulses_of_the_ground_add_up_and_events_set_them():
    """Speed and place of the ground are closed forms; a later pulse is the same from the start and from an event."""
    animal, pulse = Neuromechanic(standing()), ramp_and_hold(0.05, -0.1, 0.1, 0.2)
    run = simulate(animal, reflex_input(), 0.6, every=0.05, start={"pulse": pulse})
    assert run["platform"][[2, 4, 8, -1], 0] == pytest.approx([-9.0845e-4, -0.01, -0.02909155, -0.03])
    start, still = {"pulse": pulse * [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]]}, [{"time": 0.25, "pulse": pulse}]
    runs = [simulate(animal, reflex_input(), 0.6, 0.05, start, events=change)["q"] for change in (still, [])]
    assert (runs[0] == run["q"]).all() and (runs[1] != run["q"]).any()
    env = gymnasium.make(GAINS, disable_env_checker=True).unwrapped
    pulse = np.resize(pulse, (16, 3))
    assert env.reset(seed=0, options={"pulse": pulse})[1]["push"] == pytest.approx(-0.1)
    with pytest.raises(ValueError, match="number of pulses"):
        gymnasium.make(GAINS, params={"platform": {"pulse": {}}})


def test_feedback_of_the_centre_of_mass_steadies_the_figure():
    """The paper's control module, Eq. 11: its states are mass times displacement, and both hips act on it, late."""
    drive, start = reflex_input(), {"pulse": ramp_and_hold(0.2, -0.1)}
    joints = simulate(Neuromechanic(standing()), drive, 2.0, every=0.01, start=start)
    model = Neuromechanic(standing(centre_stiffness=-200.0), modules={"centre": CENTRE_OF_MASS})
    run = simulate(model, drive, 2.0, every=0.01, start=start)
    shift = run["centre"] - run["centre"][0]
    assert np.abs(run["module_state"][:, 3:] / 67.97 - shift).max() < 1e-2 * np.ptp(shift)
    assert np.ptp(shift[:, 0]) < 0.85 * np.ptp(joints["centre"][:, 0])
    neurons = list(model.model.neurons)
    centre = run["neurons"][:, neurons.index("centre")]
    assert (
        np.abs(centre[20:] + 200.0 * shift[8:-12, 0]).max() < 0.02 * np.abs(centre).max()
    )  # one step more than 0.12 s
    with pytest.raises(ValueError, match="centre"):
        Neuromechanic(standing(centre_stiffness=-200.0))


# The tasks


def test_pushes_grow_to_either_side():
    envs = gymnasium.make_vec(GAINS, num_envs=64)
    _, info = envs.reset(seed=0)
    onset, duration, peak = np.moveaxis(envs.unwrapped.batch.rows["pulse"], 2, 0)
    speed, gaps = 2.0 / np.pi * duration * peak, np.diff(onset[:, ::2])
    np.testing.assert_allclose(np.diff(np.abs(speed[:, ::2])), 0.08)
    assert 1.2 < gaps.min() < 1.3 and 1.7 < gaps.max() < 1.8 and abs(np.sign(speed[:, ::2]).mean()) < 0.15
    _, info = envs.reset(seed=0, options={"push": -0.12, "growth": -1.0, "onset": 0.0})
    assert (envs.unwrapped.batch.rows["pulse"][:, 2:, 2] == 0.0).all() and (info["pushes"] == 1).all()


def test_senses_are_late():
    """By the drawn delay and one time step, together two control periods here."""
    env = gymnasium.make(GAINS).unwrapped
    env.reset(seed=0, options={"push": 0.3, "onset": 0.05, "delay": 0.099 / 0.14})
    body = []
    for _ in range(8):
        observation = env.step(np.zeros(2))[0]
        body.append(env.batch.rows["q"][0].copy())
    known = env.task.layout.unpack(observation[None])
    assert known["torso_angle"][0, 0] == pytest.approx(body[-3][2], abs=1e-6)
    assert known["hip_angle"][0] == pytest.approx(body[-3][3:], abs=1e-6)
    assert abs(body[-1][3] - body[-3][3]) > 1e-3


def test_gains_act_on_the_reflex():
    env = gymnasium.make(GAINS, actions="gains").unwrapped
    env.reset(seed=0, options={"stance": 1.2, "push": 0.2, "onset": 0.0, "delay": 0.8})
    assert env.batch.rows["delay"][0] == 0.8
    action = env.task.action_from_drive(np.array([[0.0, 300.0, 60.0]]))[0]
    for _ in range(6):
        observation = env.step(action)[0]
    known = env.task.layout.unpack(observation[None])
    assert known["delay"][0, 0] == pytest.approx(0.112)
    assert [known["stiffness"][0, 0], known["damping"][0, 0]] == pytest.approx([300.0, 60.0], rel=1e-6)
    torque = env.batch.rows["neuron"][0, -2:]
    rest = splay(1.2) * np.array([-1.0, 1.0])
    assert torque == pytest.approx(-300.0 * (known["hip_angle"][0] - rest) - 60.0 * known["hip_rate"][0], abs=1e-2)
    assert np.abs(torque).max() > 1.0


def test_the_torque_of_reflexes_is_limited():
    """The paper's figure has no limit."""
    env = gymnasium.make(GAINS).unwrapped
    env.reset(seed=0, options={"push": 1.0, "stance": 1.0, "onset": 0.0})
    model, free = env.task.animal.model, Neuromechanic(standing())
    assert (model.arrays["low"][-2:] == -200.0).all() and (model.arrays["high"][-2:] == 200.0).all()
    largest, over = 0.0, False
    while not over:
        *_, terminated, truncated, info = env.step(np.ones(2))
        largest = max(largest, np.abs(env.batch.rows["neuron"][0, -2:]).max())
        over = terminated or truncated
    assert largest == info["largest_torque"] == 200.0
    far = {"q": upright(1.1) + np.array([0, 0.1, 0, 1.0, 0]), "input": reflex_input(1.1)}
    row = free.rows(1)
    free.reset(row, ONE, far)
    assert row["neuron"][0, -2] == pytest.approx(-STIFFNESS)
    with pytest.raises(ValueError, match=r"largest_torque must be .* 0, got -1.0"):
        standing(largest_torque=-1.0)


@pytest.mark.parametrize(("mass", "failure"), [(0.0, "masses or pins are singular"), (1.0, "the figure has fallen")])
def test_a_failure_is_no_survival(mass, failure):
    env = gymnasium.make(GAINS)
    env.reset(seed=0, options={"push": 0.9, "stance": 1.0})
    env.unwrapped.batch.rows["mass"] = mass
    info, over = {}, False
    while not over:
        *_, terminated, truncated, info = env.step(-np.ones(2))
        over = terminated or truncated
    assert env.unwrapped.failures[info["failure"]] == failure and info["survived"] == 0.0
