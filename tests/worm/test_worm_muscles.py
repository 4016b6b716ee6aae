"""Muscles of each joint, bodies of a shape, and what acts between the rods."""

import gymnasium
import numpy as np
import pytest
from worm.test_worm_physics import continuous_model, end_of, wave

from gymnosoma.envs import simulate
from gymnosoma.envs.worm import Worm, WormParams

SCHEMES = ("midpoint", "published")
ONES = (1.0,) * 25


def uneven(n=10, **changes):
    """A tapered worm with unequal rods and muscles."""
    along, joint = np.linspace(0.0, 1.0, 41), np.linspace(0.0, 1.0, n - 1)
    muscles = {
        "stiffness": 1e-10 * (1.0 + joint),
        "damping": 2e-11 * (2.0 - joint),
        "control_gain": 1.0 - 0.5 * joint,
    }
    joints = np.linspace(0.0, 1.0, n + 1)[1:-1] ** 1.2
    return WormParams.in_medium(0.0, 1.0, n, **muscles, **changes).with_outline(1.1 - along, joints=joints, drag="area")


@pytest.mark.slow
def test_shaped_worm_converges_to_the_model():
    """Against scipy's solution in minimal coordinates: the midpoint scheme with order two, the paper's with one."""
    body, sine, duration = uneven(), wave(0.0, 10), 0.1

    def control(t):
        return sine(t) * np.sin(0.5 * np.pi * t / duration) ** 2

    angle, centre = continuous_model(body, control, duration)
    ends = [end_of(body, "midpoint", dt, duration, control) for dt in (2.5e-3, 1.25e-3, 6.25e-4)]
    errors = np.array([(np.abs(s - angle).max(), np.linalg.norm(x - centre) / body.length) for s, x in ends])
    assert (errors[-1] < 1e-5).all()
    assert (np.abs(np.log2(errors[-2] / errors[-1]) - 2.0) < 0.1).all()
    middle, fine = (end_of(body, "published", dt, duration, control)[0] for dt in (2e-5, 1e-5))
    # Its limit lies beside the model, by its correction of the angular momentum; measured 2.6e-4 rad.
    assert np.abs(2 * fine - middle - angle).max() == pytest.approx(2.6e-4, rel=0.02)
    assert np.abs(fine - middle).max() < 2.2e-3


@pytest.mark.full
@pytest.mark.parametrize("scheme", SCHEMES)
def test_equal_rods_told_one_by_one_are_the_uniform_body(scheme):
    told = WormParams(stiffness=(1.75e-10,) * 24, rod_mass=ONES, rod_length=ONES, rod_friction=ONES)
    runs = [simulate(Worm(body, scheme=scheme), wave(1.0, 25), 0.01, every=0.01) for body in (WormParams(), told)]
    for name in runs[0]:
        np.testing.assert_allclose(runs[1][name], runs[0][name], rtol=1e-9, atol=1e-12 * np.abs(runs[0][name]).max())


def test_outline():
    """A cylinder has the default's rods; an ellipsoid its volume, and caps in proportion."""
    tube = WormParams().with_outline([5e-5, 5e-5])
    usual = np.full(25, WormParams().mass / 25)
    np.testing.assert_allclose(np.multiply(tube.mass / 25, tube.rod_mass), usual, rtol=1e-12)
    np.testing.assert_allclose([tube.rod_length, tube.rod_friction], 1.0, rtol=1e-12)
    along = np.linspace(0.0, 1.0, 4001)
    radius = 4e-5 * np.sqrt(1 - (2 * along - 1) ** 2)
    egg = WormParams(3).with_outline(radius, density=1e3, drag="area", joints=[0.1, 0.5])
    assert egg.mass == pytest.approx(1e3 * 4 / 3 * np.pi * 5e-4 * 4e-5**2, rel=1e-3)
    cap = 0.1**2 * (3 - 2 * 0.1)  # of the volume of an ellipsoid, cut at a tenth of its length
    np.testing.assert_allclose(np.array(egg.rod_mass) / 3, [cap, 0.5 - cap, 0.5], rtol=1e-3)
    np.testing.assert_allclose(np.array(egg.rod_length) / 3, [0.1, 0.4, 0.5], rtol=1e-12)
    segment = (np.arccos(0.8) - 0.8 * np.sqrt(1 - 0.8**2)) / np.pi
    np.testing.assert_allclose(np.array(egg.rod_friction) / 3, [segment, 0.5 - segment, 0.5], rtol=1e-3)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_ablated_joints_do_not_bend(scheme):
    """Commands to joints without muscles leave a straight worm straight; the same ones bend a whole worm."""
    tail = np.arange(24) >= 12
    for gain, bends in ((np.where(tail, 0.0, 1.0), False), (1.0, True)):
        run = simulate(Worm(WormParams(control_gain=gain), scheme=scheme), np.where(tail, 0.6, 0.0), 0.05, every=0.05)
        assert run["joint_angle"].any() == run["control_torque"].any() == run["joint_force"].any() == bends


def test_the_power_of_the_spring_is_more_than_that_of_its_command():
    """What a bent body gives back counts as the spring's power; only ``control_torque`` is the command's."""
    bent, stiffness, damping = {"joint_angle": np.full(24, 0.15)}, 1.75e-10, 1.75e-10 / 5.6  # as printed
    for gain, command in ((0.0, 0.2), (1.0, 0.2)):
        run = simulate(Worm(WormParams(control_gain=gain)), np.full(24, command), 0.1, start=bent)
        rate = run["joint_rate"][1:]
        theta = run["joint_angle"][1:] - 0.5 * 5e-3 * rate
        lever = np.cos(0.5 * theta) ** 2
        spring = run["joint_torque"][1:] * lever + damping * rate
        np.testing.assert_allclose(run["muscle_power"][1:], np.maximum(spring * rate, 0.0).sum(1), rtol=1e-9)
        np.testing.assert_allclose(run["control_torque"][1:] * lever, stiffness * gain * command, rtol=1e-9)
        passive = run["joint_torque"][1:] - run["control_torque"][1:]
        np.testing.assert_allclose(passive * lever, -stiffness * theta - damping * rate, rtol=1e-9, atol=1e-20)
        assert run["muscle_power"][1:].min() > 0.0


BODIES = {
    "uniform": WormParams(mass=2e-7, friction_perpendicular=5.2e-6, friction_parallel=3.5e-6),
    "shaped": uneven(mass=2e-7),
}


@pytest.mark.parametrize("name", ["uniform", pytest.param("shaped", marks=pytest.mark.full)])
def test_what_acts_on_a_rod_moves_it(name):
    """Newton and Euler for every rod, and the balance of power, with accelerations from differences; a heavy worm."""
    dt, body = 2e-5, BODIES[name]
    run = simulate(Worm(body, dt), wave(0.0, body.n_rods), 0.02)
    middle = slice(501, -1)

    def slope(x):
        return (x[502:] - x[500:-2]) / (2 * dt)

    n = body.n_rods
    mass, length, friction = body.profile if name == "shaped" else np.ones((3, n))
    m, r = body.mass / n * mass, body.length / (2 * n) * length
    drag = body.friction_perpendicular / n * friction * r**2 / 3
    angle = (run["rod_angle"] - 0.5 * dt * run["rod_rate"])[middle]
    normal = np.stack([-np.sin(angle), np.cos(angle)], -1)
    force = np.pad(run["joint_force"][middle], ((0, 0), (1, 1), (0, 0)))
    torque = np.pad(run["joint_torque"][middle], ((0, 0), (1, 1)))

    def close(found, wanted):
        assert np.abs(found - wanted).max() < 2e-3 * np.abs(wanted).max()

    pushed = force[:, 1:] - force[:, :-1] + run["friction_force"][middle]
    close(slope(run["rod_velocity"]), pushed / m[:, None])
    turned = torque[:, :-1] - torque[:, 1:] - drag * run["rod_rate"][middle]
    turned += r * np.sum(normal * (force[:, 1:] + force[:, :-1]), -1)
    lever = m * r**2 / 3
    assert np.abs(slope(run["rod_rate"]) * lever - turned).max() < 2e-2 * np.abs(torque).max()
    kinetic = 0.5 * np.sum(m * np.sum(run["rod_velocity"] ** 2, -1) + lever * run["rod_rate"] ** 2, -1)
    spent = run["power"] + np.sum(drag * run["rod_rate"] ** 2, -1)
    close(run["joint_power"].sum(-1)[middle], slope(kinetic) + spent[middle])
    assert np.abs(slope(kinetic)).max() > 0.1 * spent[middle].max()


def test_joints_are_set_from_the_environment():
    """One number for all joints, one for each, one for each worm; at the start, later, and drawn."""
    joints = np.linspace(0.0, 1.0, 24)
    env = gymnasium.make("gymnosoma/WormSwim-v0", randomize={"damping": (1e-11, 2e-11)}).unwrapped
    env.reset(seed=0, options={"control_gain": joints, "stiffness": 1e-10})
    rows = env.batch.rows
    assert (rows["control_gain"] == joints).all() and (rows["stiffness"] == 1e-10).all()
    assert np.ptp(rows["damping"]) == 0.0 and 1e-11 <= rows["damping"][0, 0] <= 2e-11
    env.set_parameters(control_gain=0.5)
    assert (rows["control_gain"] == 0.5).all()
    envs = gymnasium.make_vec("gymnosoma/WormSwim-v0", num_envs=3, randomize={"damping": (1e-11, 2e-11)})
    envs.reset(seed=0, options={"stiffness": [1e-10, 2e-10, 3e-10]})
    rows = envs.unwrapped.batch.rows
    assert rows["stiffness"].tolist() == [[s] * 24 for s in (1e-10, 2e-10, 3e-10)]
    assert (np.ptp(rows["damping"], 1) == 0.0).all() and np.ptp(rows["damping"]) > 0.0


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (lambda: WormParams(stiffness=[1e-10] * 3), "stiffness"),
        (lambda: WormParams(rod_length=[0.0] * 25), "rod_length"),
        (lambda: WormParams(3).with_outline([1e-5, 1e-5], joints=[0.5, 0.4]), "joints"),
    ],
)
def test_wrong_muscles_and_shapes_are_named(wrong, name):
    with pytest.raises(ValueError, match=f"^{name} must"):
        wrong()
