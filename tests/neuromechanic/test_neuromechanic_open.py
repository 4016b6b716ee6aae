"""What users build: declared inputs, leaky neurons, organs, modules, wrenches, prescribed motion, free bodies."""

import copy

import numpy as np
import pytest

from gymnosoma.biomechanics import input_matrix
from gymnosoma.envs import simulate
from gymnosoma.envs.neuromechanic import Neuromechanic, linearise, load
from gymnosoma.envs.neuromechanic.hindlimb import asset

ONE = np.zeros(1, np.int64)
G = 9.81

# Inputs


def test_the_order_of_inputs_is_what_is_declared():
    """Rewiring, and other muscles before those that were there, leave each input where a policy finds it."""
    arm = asset("arm")
    plain = load(arm).inputs
    arm["muscle"]["biceps"]["excitation"] = "input.biceps"  # mentioned first now
    arm["muscle"] = {"brachialis": copy.deepcopy(arm["muscle"]["biceps"]), **arm["muscle"]}
    assert load(arm).inputs == plain == ("triceps", "biceps")
    arm["inputs"].append("spare")
    assert load(arm).inputs == (*plain, "spare")
    arm["inputs"] = []
    with pytest.raises(ValueError, match=r"model.inputs is missing: .* biceps, triceps$"):
        load(arm)


# Neurons


@pytest.mark.parametrize("scheme", ["semi_implicit", "rk4"])
def test_a_leaky_neuron_answers_a_step_exponentially(scheme):
    """s = 1 - exp(-t / tau) after a step, to rounding where steps are exact; two in a row are of second order."""
    arm = asset("arm")
    arm["neuron"]["one"] = {"tau": 0.02, "synapse": [{"from": "input.biceps", "gain": 2.0}], "bias": -1.0}
    arm["neuron"]["two"] = {"tau": 0.02, "synapse": [{"from": "neuron.one"}], "shape": {"type": "tanh"}}
    arm["neuron"]["short"] = {"tau": 1e-6, "synapse": [{"from": "input.biceps"}]}
    if scheme == "rk4":
        del arm["neuron"]["short"]
    run = simulate(Neuromechanic(arm, scheme=scheme), [0.0, 1.0], 0.2, every=1e-2)
    t = run.time / 0.02
    first, second = 1 - np.exp(-t), 1 - (1 + t) * np.exp(-t)
    exact = {"semi_implicit": 1e-12, "rk4": 1e-6}[scheme]  # RK4: its own error at dt / tau = 0.05
    assert np.abs(run["neuron_state"][:, 0] - first).max() < exact
    # What the second hears is held for a step of the semi-implicit scheme.
    assert np.abs(run["neuron_state"][:, 1] - second).max() < {"semi_implicit": 0.02, "rk4": 1e-6}[scheme]
    # Outputs are those at the beginning of the last step.
    behind = simulate(Neuromechanic(arm, scheme=scheme), [0.0, 1.0], 0.2, every=1e-3)["neuron_state"][:-1, 1]
    assert np.abs(run["neurons"][1:, 2] - np.tanh(behind[9::10])).max() < 1e-14
    if scheme == "semi_implicit":
        assert np.abs(run["neuron_state"][1:, 2] - 1.0).max() < 1e-12


def test_leaky_neurons_may_hear_each_other():
    """A loop without delay is none where a neuron in it is leaky; two that inhibit each other choose."""
    arm = asset("arm")
    for a, b, start in (("left", "right", 0.1), ("right", "left", 0.0)):
        synapses = [{"from": f"neuron.{b}", "gain": -2.0}]
        shape = {"type": "saturate", "low": 0.0, "high": 1.0}
        arm["neuron"][a] = {"tau": 0.05, "start": start, "bias": 1.0, "synapse": synapses, "shape": shape}
    run = simulate(Neuromechanic(arm), [0.0, 0.0], 1.0, every=0.1)
    assert run["neuron_state"][0].tolist() == [0.1, 0.0]
    assert np.abs(run["neurons"][-1, 1:] - [1.0, 0.0]).max() < 1e-6


def test_a_spindle_fires_in_ramp_and_hold_as_prochazkas_equation_says():
    """Rates from the angle that the ramp prescribes, in mm and mm/s as the papers have them, and 15 ms late."""
    animal = Neuromechanic(asset("spindle"))
    run = simulate(animal, [0.0], 0.8, every=1e-3)
    late = run.time[1:] - 1e-3 - 0.015
    angle, speed = 1.2 - 2.0 * np.clip(late - 0.2, 0.0, 0.2), np.where((late > 0.2) & (late < 0.4), -2.0, 0.0)
    hand = np.array([0.03 * np.cos(angle) + 0.04 * np.sin(angle), 0.03 * np.sin(angle) - 0.04 * np.cos(angle)])
    string = np.array([[0.03], [0.3]]) - hand
    length = np.sqrt(np.sum(string**2, 0))
    pace = np.sum(string * np.array([hand[1], -hand[0]]), 0) / length * speed
    stretch, v = 1e3 * (length - 0.28), 1e3 * pace
    active = run["activation"][np.maximum(np.arange(len(late)) - 15, 0), 0]
    ia = 50.0 + 2.0 * stretch + 4.3 * np.sign(v) * np.abs(v) ** 0.6 + 50.0 * active
    # Where the spline has a corner, the pin takes a while to follow, and slow motion is heard well.
    ramp, hold = (late > 0.27) & (late < 0.399), late > 0.55
    settled = (late < 0.199) | ramp | hold
    assert np.abs(run["neurons"][1:, 0] - ia)[settled].max() < 0.02
    assert ia[ramp][-1] > ia[hold][0] + 40.0  # it is the velocity that it hears best
    force = run["muscle_force"][np.maximum(np.arange(1, len(run.time)) - 15, 1), 0]
    assert np.abs(run["neurons"][1:, 1] - 333.0 / 600.0 * force)[20:].max() < 1e-9
    assert run["muscle_force"][-1, 0] > 2.0 * run["muscle_force"][150, 0]  # and the muscle resists


# Wrenches and motion


def test_a_wrench_is_a_parameter_of_each_row_and_may_follow_signals():
    """Force at the centre of mass over mass, moment over inertia, sums of numbers, splines and inputs."""
    arm = asset("arm")
    slide = {"type": "prismatic", "axis": [1, 0, 0]}
    arm = {
        "schema": 1,
        "inputs": ["push"],
        "body": {
            "sled": {"joint": slide, "inertial": {"mass": 2.0}},
            "wheel": {
                "parent": "sled",
                "joint": {"type": "revolute", "axis": [0, 0, 1]},
                "inertial": {"mass": 1.0, "inertia": [0.1, 0.1, 0.2]},
            },
        },
        "spline": {"s": {"times": [0.0, 1.0], "values": [0.0, 4.0]}},
        "wrench": {
            "hand": {"body": "wheel", "force": [1.0, 0, 0], "moment": [0, 0, "spline.s"]},
            "other": {"body": "wheel", "force": ["input.push", 0, 0], "frame": "body"},
        },
        "neuron": {"late": {"synapse": [{"from": "input.push", "delay": 0.03}]}},
    }
    animal = Neuromechanic(arm)
    assert animal.parameters["wrench"].shape == (2, 6)
    rows, ids = animal.rows(3), np.arange(3)
    wrench = np.zeros((3, 2, 6))
    wrench[:, 0, 0] = 0.0, 1.0, -6.0
    animal.reset(rows, ids, {"wrench": wrench, "q": [0.0, np.pi / 3], "input": [3.0]})
    rows["time"] = 0.5
    for i in range(3):
        k = animal.mechanics(rows[i : i + 1])
        assert k["qdd"][0] == pytest.approx((wrench[i, 0, 0] + 3.0 * 0.5) / 3.0, abs=1e-14)
        assert k["qdd"][1] == pytest.approx(2.0 / 0.2)
    plain = animal.rows(1)
    assert plain["wrench"][0, 0].tolist() == [1.0, 0, 0, 0, 0, 0]
    # The sum of all, held for a second: v = F t / m.
    run = simulate(animal, [0.0], 1.0, every=1.0, start={"wrench": wrench[2]})
    assert run["v"][-1, 0] == pytest.approx(-6.0 / 3.0)
    # A push half-way, which an event or `set_parameters` gives as well.
    row = animal.rows(1)
    animal.reset(row, ONE, {"wrench": np.zeros((2, 6))})
    animal.advance(row, ONE, np.zeros((1, 1)), 500)
    row["wrench"][0, 0, 0] = 3.0
    animal.advance(row, ONE, np.zeros((1, 1)), 500)
    assert row["v"][0, 0] == pytest.approx(0.5)


@pytest.mark.parametrize("scheme", ["semi_implicit", "rk4"])
def test_pins_and_joints_move_as_splines_say(scheme):
    """A rod turned by its joint, whose pin gives the torque of inverse dynamics; a hand that is led along a line."""
    from scipy.interpolate import CubicSpline

    times, values = [0.0, 0.3, 0.6], [0.0, 0.8, 0.5]
    rod = {"joint": {"type": "revolute", "axis": [0, 0, 1]}, "inertial": {"mass": 1.0, "inertia": [0.1, 0.1, 0.2]}}
    spline = {"s": {"times": times, "values": values, "ends": "clamped"}}
    late = {"late": {"synapse": [{"from": "spline.s", "delay": 0.03}]}}
    pin = {"turn": {"joint": "rod", "motion": "spline.s", "rate": 50.0}}
    turned = {"schema": 1, "body": {"rod": rod}, "spline": spline, "pin": pin, "neuron": late}
    run = simulate(Neuromechanic(turned, scheme=scheme), [], 0.6, every=0.01)
    exact = CubicSpline(times, values, bc_type="clamped")
    assert np.abs(run["q"][:, 0] - exact(run.time)).max() < {"semi_implicit": 2e-3, "rk4": 1e-8}[scheme]
    # Of up to 8 N m, once the first step's error has gone; of the beginning of the last step, or of its last stage.
    ago, close = {"semi_implicit": (1e-3, 0.05), "rk4": (0.0, 0.01)}[scheme]
    assert np.abs(run["reaction"][15:-1, 0] - 0.2 * exact(run.time[15:-1] - ago, 2)).max() < close
    arm = asset("arm")
    arm["spline"] = {"s": {"times": [0.0, 0.5], "values": [0.0, -0.05], "ends": "clamped"}}
    start = [0.4, 0.8]
    for body, angle in zip(arm["body"].values(), start, strict=True):
        body["joint"]["start"] = angle
    hand = ["fore", 0, -0.3, 0]
    place = 0.3 * np.array([np.sin(0.4) + np.sin(1.2), -np.cos(0.4) - np.cos(1.2)])
    led = {"point": hand, "to": ["ground", *place.tolist(), 0], "axes": [[1, 0, 0], [0, 1, 0]], "rate": 50.0}
    arm["pin"] = {"led": led | {"motion": ["spline.s", 0]}}
    run = simulate(Neuromechanic(arm, scheme=scheme), [0.0, 0.0], 0.7, every=0.1)
    a, b = run["q"][-1, 0], run["q"][-1].sum()
    there = 0.3 * np.array([np.sin(a) + np.sin(b), -np.cos(a) - np.cos(b)])
    assert np.abs(there - place - [-0.05, 0.0]).max() < 1e-5


# Modules


# Analysis


def loaded(seed=0):
    """The arm in motion, with a pin along one direction, a motor and two wrenches."""
    arm = asset("arm")
    arm["body"]["fore"]["joint"] |= {"stiffness": 2.0, "rest": 0.3}
    arm["motor"] = {"m": {"joint": "fore", "from": "input.biceps", "gain": 3.0}}
    arm["wrench"] = {
        "push": {"body": "fore", "at": [0, -0.2, 0], "force": [3.0, 1.0, 0]},
        "twist": {"body": "upper", "moment": [0, 0, "input.triceps"]},
    }
    animal, row = Neuromechanic(arm), np.random.default_rng(seed)
    start = {"q": row.uniform(0, 1, 2), "v": row.normal(size=2), "activation": row.random(2), "input": row.random(2)}
    rows = animal.rows(1)
    animal.reset(rows, ONE, start)
    return animal, rows, start


@pytest.mark.full
def test_the_input_matrix_foretells_what_an_input_does():
    animal, row, start = loaded()
    A, B, z, u = linearise(animal, start), input_matrix(animal, start), animal.vector(row), 1e-4
    other = row.copy()
    other["input"][0] += [u, -2.0 * u]
    dz = 1e-4 * np.arange(1, len(z) + 1)
    foretold = animal.rate(row) + A @ dz + B @ [u, -2.0 * u]
    assert np.abs(foretold - animal.rate(other, z + dz)).max() < 1e-3 * np.abs(foretold).max()
    assert np.abs(B).max() > 1.0


# Forces and powers of joints


@pytest.mark.full
def test_powers_are_the_rate_of_the_energy():
    """No springs here: what the joints' torques do is what the body gains, and the muscles' power is theirs."""
    arm = asset("arm")
    for body in arm["body"].values():
        body["joint"]["damping"] = 0.0
    run = simulate(Neuromechanic(arm, scheme="rk4"), [0.3, 0.2], 0.2, every=1e-3, start={"v": [1.0, -2.0]})
    power = run["joint_power"].sum(1)
    gained = np.concatenate([[0.0], np.cumsum(0.5e-3 * (power[1:] + power[:-1]))])
    # Trapezia of 1 ms; measured: 3e-4.
    assert np.abs(run["energy"] - run["energy"][0] - gained).max() < 1e-3 * np.ptp(run["energy"])
    assert np.abs(run["muscle_power"].sum(1) - power).max() < 1e-9 * np.abs(power).max()


@pytest.mark.full
def test_joint_forces_are_newtons():
    """In any motion: mass times acceleration, by differences of the centres of mass, less weight and what pushes."""
    animal, row, _ = loaded()
    arrays, qdd, h = animal.model.arrays, animal.mechanics(row)["qdd"], 1e-5

    def centres(t):
        moved = row.copy()
        moved["q"] += t * row["v"] + 0.5 * t * t * qdd
        k = animal.mechanics(moved)
        return k["origin"] + np.einsum("nij,nj->ni", k["turn"], arrays["centre"])

    felt = (centres(h) - 2.0 * centres(0.0) + centres(-h)) / h**2 + [0.0, G, 0.0]
    fore = arrays["mass"][1] * felt[1] - [3.0, 1.0, 0.0]
    upper = arrays["mass"][0] * felt[0] + fore
    assert np.abs(animal.signal(row, "joint_force")[0] - [upper, fore]).max() < 1e-4  # of up to 58 N


# Free bodies


@pytest.mark.full
def test_a_free_symmetric_top_precesses_as_eulers_equations_say():
    """Over many turns: the spin about the body's axes, and the axis of symmetry about the angular momentum."""
    block = {
        "schema": 1,
        "gravity": [0, -G, 0],
        "body": {"top": {"joint": {"type": "free"}, "inertial": {"mass": 1.0, "inertia": [0.01, 0.01, 0.015]}}},
    }
    animal = Neuromechanic(block, scheme="rk4")
    spin = np.array([3.0, 0.0, 12.0])
    run = simulate(animal, [], 3.0, every=0.05, start={"v": [1.0, 2.0, 0.0, *spin]})
    t, rate = run.time, (0.015 - 0.01) / 0.01 * 12.0
    wobble = np.array([3.0 * np.cos(rate * t), 3.0 * np.sin(rate * t), np.full(len(t), 12.0)]).T
    assert np.abs(run["v"][:, 3:] - wobble).max() < 1e-8
    L = np.array([0.03, 0.0, 0.18])
    around, angle = L / np.linalg.norm(L), np.linalg.norm(L) / 0.01 * t
    e = np.array([0.0, 0.0, 1.0])
    along = (around @ e) * around
    axis = along + np.cos(angle)[:, None] * (e - along) + np.sin(angle)[:, None] * np.cross(around, e)
    w, x, y, z = run["quaternion"][:, 0].T
    seen = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]).T
    assert np.abs(seen - axis).max() < 1e-8
    assert np.abs(run["q"][:, :3] - np.array([t, 2.0 * t - 0.5 * G * t**2, 0 * t]).T).max() < 1e-10
    assert np.sqrt((run["q"][:, 3:] ** 2).sum(1)).max() < np.pi + 1e-12
    assert np.abs(run["joint_force"]).max() < 1e-12


@pytest.mark.full
def test_a_free_body_with_a_limb_moves_as_mujocos():
    """A trunk that tumbles with a swinging arm on a ball joint, by Runge-Kutta steps of 1 ms in both programs."""
    mujoco = pytest.importorskip("mujoco")
    trunk = {"mass": 1.5, "centre": [0.05, 0.02, -0.03], "inertia": [0.01, 0.02, 0.025]}
    arm = {"mass": 0.5, "centre": [0, -0.1, 0.02], "inertia": [0.003, 0.001, 0.003]}
    attitude = np.array([0.8, 0.0, 0.6, 0.0])
    ours = {
        "schema": 1,
        "gravity": [0, -G, 0],
        "body": {
            "trunk": {"joint": {"type": "free", "start": [0, 1, 0], "attitude": attitude.tolist()}, "inertial": trunk},
            "arm": {"parent": "trunk", "joint": {"type": "ball", "at": [0.2, 0, 0], "damping": 0.01}, "inertial": arm},
        },
    }
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity = ours["gravity"]
    body = spec.worldbody.add_body(name="trunk", pos=[0, 1, 0], quat=attitude)
    body.add_freejoint()
    limb = body.add_body(name="arm", pos=[0.2, 0, 0])
    limb.add_joint(type=mujoco.mjtJoint.mjJNT_BALL, damping=0.01)
    for one, inertial in ((body, trunk), (limb, arm)):
        one.mass, one.ipos = inertial["mass"], inertial["centre"]
        one.fullinertia, one.explicitinertial = [*inertial["inertia"], 0, 0, 0], True
    compiled = spec.compile()
    compiled.opt.timestep, compiled.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(compiled)
    data.qvel[:] = [0.3, 1.0, 0.2, 1.0, 10.0, 2.0, -3.0, 1.0, 4.0]
    run = simulate(Neuromechanic(ours, scheme="rk4"), [], 1.0, every=1.0, start={"v": data.qvel.copy()})
    coarse, fine = (
        simulate(Neuromechanic(ours, dt=dt), [], 0.2, every=0.2, start={"v": data.qvel.copy()}) for dt in (1e-3, 5e-4)
    )
    mujoco.mj_step(compiled, data, 200)
    errors = [np.abs(one["v"][-1] - data.qvel).max() for one in (coarse, fine)]
    assert 1.8 < errors[0] / errors[1] < 2.2  # of first order, as the scheme is
    mujoco.mj_step(compiled, data, 800)
    # The programs truncate in other coordinates of the turn; measured: 1.2e-9 of 9 m/s and rad/s.
    assert np.abs(run["q"][-1, :3] - data.qpos[:3]).max() < 1e-9
    assert np.abs(run["v"][-1] - data.qvel).max() < 1e-8
    for ball, at in ((0, 3), (1, 7)):
        theirs = data.qpos[at : at + 4]
        assert 1.0 - abs(run["quaternion"][-1, ball] @ theirs) < 1e-12


@pytest.mark.full
def test_the_hopper_hops_by_what_its_feet_feel():
    animal = Neuromechanic(asset("hopper"))
    run = simulate(animal, [], 3.0, every=0.01)
    assert run.failure is None
    stands = run["contact_force"][:, :, 1].sum(1) > 0.0
    leaps = np.flatnonzero(stands[:-1] & ~stands[1:])
    assert len(leaps[run.time[leaps] > 1.0]) >= 4  # it goes on, and does not come to rest
    assert (run["contact_point"][~stands, :, 1] > -1e-6).all()
    assert abs(run["quaternion"][:, 0, 0]).min() > 0.99  # upright
    # On average the ground carries its weight.
    late = run.time > 1.0
    weight = run["contact_force"][late][:, :, 1].sum(1).mean()
    assert weight == pytest.approx(2.4 * G, rel=0.2)
    load = run["neurons"][:, 0]
    assert load[stands].mean() > 2.0 * load[~stands].mean()
