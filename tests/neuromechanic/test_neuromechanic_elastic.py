"""Compliant contact, bushings, springs, actuators and pins on moving lines against closed forms; wrong values."""

import numpy as np
import pytest
from scipy.optimize import brentq

from gymnosoma.biomechanics import induced_accelerations
from gymnosoma.envs import simulate
from gymnosoma.envs.neuromechanic import Neuromechanic, load

pytestmark = pytest.mark.full

MASS, RADIUS, MODULUS = 2.0, 0.05, 1e7


def slide(axis, parent="ground", **more):
    return {"parent": parent, "joint": {"type": "prismatic", "axis": axis}} | more


def ball(gravity=9.81, **law):
    """A sphere of 2 kg that moves in a plane above the ground."""
    contact = {"type": "compliant", "point": ["y", 0, 0, 0], "radius": RADIUS, "stiffness": MODULUS, "friction": 0.0}
    return {
        "schema": 1,
        "gravity": [0, -gravity, 0],
        "body": {"x": slide([1, 0, 0]), "y": slide([0, 1, 0], "x", inertial={"mass": MASS})},
        "contact": {"foot": contact | law},
    }


@pytest.mark.term
def test_a_sphere_sinks_in_as_hertz_says():
    run = simulate(Neuromechanic(ball(dissipation=2.0)), np.zeros(0), 1.0, start={"q": [0, RADIUS]})
    depth = (0.75 * MASS * 9.81 / (np.sqrt(RADIUS) * MODULUS)) ** (2 / 3)
    assert RADIUS - run["q"][-1, 1] == pytest.approx(depth, rel=1e-6)
    assert run["contact_force"][-1, 0] == pytest.approx([0.0, MASS * 9.81, 0.0], rel=1e-9)
    assert run["contact_point"][-1, 0] == pytest.approx([0.0, -0.5 * depth, 0.0], rel=1e-6)


@pytest.mark.parametrize(
    ("scheme", "dt", "error"), [("rk4", 1e-5, 1e-6), ("dop853", 1e-4, 1e-3), ("semi_implicit", 1e-5, 0.02)]
)
def test_a_rebound_loses_the_energy_of_hunt_and_crossley(scheme, dt, error):
    """Energy gives the depth without dissipation; dividing the acceleration by the velocity gives the rebound."""
    speed = 0.7
    for dissipation in (0.0, 0.5):
        animal = Neuromechanic(ball(0.0, dissipation=dissipation), dt, scheme=scheme)
        run = simulate(animal, np.zeros(0), 0.02, every=dt, start={"q": [0, RADIUS + 1e-4], "v": [0.0, -speed]})
        a, after = 1.5 * dissipation, speed
        if dissipation == 0.0:
            depth = (15 * MASS * speed**2 / (16 * np.sqrt(RADIUS) * MODULUS)) ** 0.4
            assert RADIUS - run["q"][:, 1].min() == pytest.approx(depth, rel=error)
        else:
            before = speed - np.log1p(a * speed) / a
            after = brentq(lambda u, a=a, before=before: -u - np.log1p(-a * u) / a - before, 1e-6, speed)
            assert after < 0.8 * speed
        assert run["v"][-1, 1] == pytest.approx(after, rel=error)


def test_friction_is_stribecks():
    law = {"friction": 0.4, "static_friction": 0.9, "viscous_friction": 0.3, "transition_velocity": 0.1}
    animal = Neuromechanic(ball(**law))
    row = animal.rows(1)
    row["q"] = [0.0, RADIUS - 1e-3]
    for slip in (-0.05, 0.1, 0.3, 2.0):
        row["v"], pace = [slip, 0.0], abs(slip) / 0.1
        ratio = min(pace, 1.0) * (0.4 + 2 * 0.5 / (1 + pace**2)) + 0.3 * abs(slip)
        for factor in (1.0, 0.5):
            row["friction"] = factor
            drag, normal, _ = animal.mechanics(row)["contact_force"][0]
            assert normal == pytest.approx(4 / 3 * MODULUS * np.sqrt(RADIUS) * 1e-3**1.5, rel=1e-12)
            assert drag == pytest.approx(-factor * np.sign(slip) * ratio * normal, rel=1e-12)


def test_a_hard_sphere_lands_and_leaves_without_pull():
    """Its natural period is 0.05 ms. A wrench of twice the weight lifts it from rest with one gravity."""
    model = ball(stiffness=1e9, dissipation=1.0, friction=0.8) | {"wrench": {"lift": {"body": "y"}}}
    animal = Neuromechanic(model, 1e-3)
    run = simulate(animal, np.zeros(0), 0.2, every=1e-3, start={"q": [0, RADIUS + 1e-3], "v": [0.1, 0.0]})
    assert run.failure is None and np.abs(run["v"][-20:]).max() < 2e-3
    assert np.abs(run["contact_force"][-20:, 0] - [0.0, MASS * 9.81, 0.0]).max() < 1.0
    start = {"q": run["q"][-1], "wrench": [[0, 2 * MASS * 9.81, 0, 0, 0, 0]]}
    up = simulate(animal, np.zeros(0), 0.1, every=1e-3, start=start)
    assert up["v"][-1, 1] == pytest.approx(0.981, abs=0.02)
    assert (up["contact_force"][5:] == 0.0).all()
    leaving = {"q": [0.0, RADIUS - 1e-6], "v": [0.0, 0.5]}
    up = simulate(animal, np.zeros(0), 1e-3, start=leaving)
    assert up["v"][-1, 1] == pytest.approx(0.5 - 9.81e-3, abs=1e-3)


def pair():
    """Two spheres on sliders, one on the ground's axis and the other on a hinge."""
    model = ball()
    model["body"]["arm"] = {"joint": {"type": "revolute", "axis": [0, 0, 1]}, "inertial": {"mass": 1.0}}
    model["body"]["arm"]["inertial"]["inertia"] = [0.1, 0.1, 0.1]
    model["contact"]["foot"] |= {"to": ["arm", 0.3, 0, 0], "to_radius": 0.1, "friction": 0.5, "dissipation": 0.2}
    return model


def test_accelerations_by_contact_add_up_and_joints_carry_the_rest():
    animal = Neuromechanic(pair())
    row = animal.rows(1)
    row["q"], row["v"] = [0.28, 0.12, 0.1], [0.1, -0.4, 1.0]
    k = animal.mechanics(row)
    assert k["contact_gap"][0] < 0.0
    induced = induced_accelerations(animal, row)
    assert np.abs(induced["contact"]).min() > 1.0
    total = sum(each.reshape(-1, 3).sum(0) for each in induced.values())
    assert total == pytest.approx(k["qdd"], rel=1e-9)
    ball_force, arm_force = animal.joint_force(row)[0, [1, 2]]
    assert ball_force == pytest.approx([MASS * k["qdd"][0] - k["contact_force"][0, 0], 0.0, 0.0], abs=1e-6)
    assert arm_force == pytest.approx(k["contact_force"][0] + [0.0, 9.81, 0.0], abs=1e-6)


def test_neurons_sense_compliant_contacts():
    model = ball()
    model["neuron"] = {n: {"synapse": [{"from": f"contact.foot.{n}"}]} for n in ("height", "force")}
    animal = Neuromechanic(model)
    row = animal.rows(1)
    for y in (RADIUS - 1e-3, RADIUS + 1e-3):
        row["q"] = [0.0, y]
        k = animal.mechanics(row)
        assert k["neuron"] == pytest.approx([y - RADIUS, k["contact_force"][0, 1]])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"radius": 0.0}, r"contact.foot.radius must be a number"),
        ({"stiffness": -1.0}, r"contact.foot.stiffness must be a number"),
        ({"share": 1.2}, r"contact.foot.share must be a number from 0 to 1, got 1.2"),
        ({"tangent": [1, 0, 0]}, r"contact.foot.tangent is not known; allowed are type, point, radius"),
        ({"to_radius": 0.1, "normal": [0, 1, 0]}, r"contact.foot.normal is not known"),
        ({"to": ["y", 0, 0, 0]}, r"contact.foot.to must be on another body than point"),
        ({"point": ["ground", 0, 0, 0]}, r"contact.foot.point must be on a body, got 'ground'"),
        ({"type": "soft"}, r"contact.foot.type must be one of rigid, compliant, got 'soft'"),
        ({"type": "rigid"}, r"contact.foot.radius is not known"),
    ],
)
def test_wrong_contacts_are_refused(change, told):
    with pytest.raises(ValueError, match=told):
        load(ball(**change))


def test_contacts_are_of_one_type():
    model = ball()
    model["contact"]["heel"] = {"point": ["y", 0, 0, 0], "friction": 0.5}
    with pytest.raises(ValueError, match=r"contact.foot.type must be the same for all contacts, got 'compliant'"):
        load(model)


STIFFNESS, DAMPING = [3.0, 5.0, 8.0, 40.0, 60.0, 90.0], [0.1, 0.3, 0.2, 2.0, 1.0, 3.0]
INERTIA = [0.05, 0.04, 0.06, MASS, MASS, MASS]


def block(**more):
    """A free body in a bushing, whose axes are turned about y."""
    turned = {"at": [0.1, 0.2, 0.3], "attitude": [0.8, 0, 0.6, 0]}
    bushing = {"frame": "block", "to": "wall"}
    for name, values in (("stiffness", STIFFNESS), ("damping", DAMPING)):
        bushing |= {f"rotational_{name}": values[:3], f"translational_{name}": values[3:]}
    start = {"type": "free", "start": [0.1, 0.2, 0.3], "attitude": [0.8, 0, 0.6, 0]}
    return {
        "schema": 1,
        "body": {"block": {"joint": start, "inertial": {"mass": MASS, "inertia": INERTIA[:3]}}},
        "frame": {"wall": {"body": "ground"} | turned},
        "bushing": {"mount": bushing | more},
    }


@pytest.mark.term
@pytest.mark.parametrize("scheme", ["rk4", "semi_implicit"])
@pytest.mark.parametrize("i", range(6))
def test_a_bushing_is_a_spring_and_a_damper_in_six_directions(i, scheme):
    dt, speed = (1e-3, 0.8) if scheme == "rk4" else (2e-5, 0.8)
    animal = Neuromechanic(block(), dt, scheme=scheme)
    axis = np.eye(3)[i % 3]
    if i >= 3:  # displacements are along the axes of the wall
        w, y = 0.8, 0.6
        axis = np.array([[w * w - y * y, 0, 2 * w * y], [0, 1, 0], [-2 * w * y, 0, w * w - y * y]])[:, i - 3]
    v = speed * np.concatenate([axis * (i >= 3), axis * (i < 3)])  # about the axes of the body
    run = simulate(animal, np.zeros(0), 0.4, every=0.1, start={"v": v})
    decay = 0.5 * DAMPING[i] / INERTIA[i]
    pace = np.sqrt(STIFFNESS[i] / INERTIA[i] - decay**2)
    sine, cosine = np.sin(pace * run.time), np.cos(pace * run.time)
    expected = speed * np.exp(-decay * run.time) * (cosine - decay / pace * sine)
    assert run["v"] == pytest.approx(np.outer(expected, v / speed), abs=1e-8 if scheme == "rk4" else 1e-3)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"to": "floor"}, r"bushing.mount.to: body 'floor' is not known; known are ground"),
        ({"frame": "ground"}, r"bushing.mount.to must be on another body than frame, got 'ground'"),
        ({"rotational_damping": [1, 0, -1]}, r"bushing.mount.rotational_damping must not be negative"),
        ({"translational_stiffness": 3.0}, r"bushing.mount.translational_stiffness must be a list of 3 numbers"),
        ({"stiffness": 3.0}, r"bushing.mount.stiffness is not known; allowed are frame, to"),
    ],
)
def test_wrong_bushings_are_refused(change, told):
    with pytest.raises(ValueError, match=told):
        load(block(**change))


def string(**model):
    """A mass of 2 kg on a string from the ground."""
    muscle = {"path": [["ground", 0, 0, 0], ["x", 0, 0, 0]], "model": model}
    return {
        "schema": 1,
        "body": {"x": slide([1, 0, 0], inertial={"mass": MASS})},
        "muscle": {"string": muscle | ({} if model["type"] == "spring" else {"excitation": "input.pull"})},
    }


@pytest.mark.term
@pytest.mark.parametrize("pushes", [False, True])
def test_a_spring_has_its_stiffness_and_dissipation(pushes):
    law = {"type": "spring", "stiffness": 50.0, "rest_length": 0.3, "dissipation": 0.4, "pushes": pushes}
    animal = Neuromechanic(string(**law))
    row = animal.rows(1)
    for x, v in ((0.5, 0.0), (0.5, 1.2), (0.5, -1.2), (0.1, 0.7)):
        row["q"], row["v"] = [x], [v]
        stretch = x - 0.3 if pushes else max(x - 0.3, 0.0)
        assert animal.mechanics(row)["force"] == pytest.approx([50.0 * stretch * (1 + 0.4 * v)], rel=1e-12)
    swing = simulate(Neuromechanic(string(**law | {"dissipation": 0.0}), scheme="rk4"), [], 0.3, start={"q": [0.4]})
    assert swing["q"][:, 0] == pytest.approx(0.3 + 0.1 * np.cos(5.0 * swing.time), abs=1e-9)  # within half a period


def test_an_actuator_pushes_and_pulls_within_its_bounds():
    animal = Neuromechanic(string(type="proportional", max_force=20.0, low=-0.5, high=3.0))
    row = animal.rows(1)
    row["q"] = [0.2]
    for command, force in ((-2.0, -10.0), (-0.25, -5.0), (0.5, 10.0), (7.0, 60.0)):
        row["input"] = [command]
        assert animal.mechanics(row)["force"] == pytest.approx([force], rel=1e-12)


def rod(*bead, **pin):
    """A rod that turns about z, with a bead of 1 kg."""
    inertial = {"mass": 3.0, "inertia": [0.2, 0.2, 0.2]}
    turning = {"joint": {"type": "revolute", "axis": [0, 0, 1]}, "inertial": inertial}
    model = {"schema": 1, "gravity": [0, -9.81, 0], "body": {"rod": turning, **dict(bead)}}
    return model | ({"pin": {"slot": pin}} if pin else {})


@pytest.mark.term
def test_a_bead_on_a_line_of_a_turning_rod_slides_as_on_a_joint():
    mass = {"inertial": {"mass": 1.0}}
    joint = slide([1, 0, 0], "rod")
    joint["joint"]["at"] = [0, 0.1, 0]
    tree = Neuromechanic(rod(("bead", joint | mass)), scheme="rk4")
    pin = {"point": ["bead", 0, 0, 0], "to": ["rod", 0, 0.1, 0], "axes": [[0, 1, 0]], "frame": "body"}
    pinned = Neuromechanic(rod(("x", slide([1, 0, 0])), ("bead", slide([0, 1, 0], "x") | mass), **pin), scheme="rk4")
    start = {"q": [0.0, 0.3], "v": [3.0, 0.5]}
    one = simulate(tree, [], 0.5, every=0.1, start=start)
    other = simulate(pinned, [], 0.5, every=0.1, start={"q": [0.0, 0.3, 0.1], "v": [3.0, 0.2, 0.9]})
    angle, along = one["q"].T
    assert np.ptp(along) > 0.1
    assert other["q"][:, 0] == pytest.approx(angle, abs=1e-8)
    assert other["q"][:, 1] == pytest.approx(along * np.cos(angle) - 0.1 * np.sin(angle), abs=1e-8)
    assert np.abs(other["joint_force"][:, 2]).max() < 1e-6 * np.abs(other["reaction"]).max()  # the pin bears all


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ({"type": "spring", "rest_length": 0.1}, r"muscle.string.model.stiffness is missing"),
        ({"type": "spring", "stiffness": -1.0}, r"muscle.string.model.stiffness must be a number of at least 0"),
        (
            {"type": "spring", "stiffness": 1.0, "rest_length": 0.1, "max_force": 1.0},
            r"muscle.string.model.max_force is not known",
        ),
        (
            {"type": "proportional", "max_force": 1.0, "low": 1.0},
            r"muscle.string.model.low must be below high, 1, got 1",
        ),
    ],
)
def test_wrong_springs_and_actuators_are_refused(model, told):
    with pytest.raises(ValueError, match=told):
        load(string(**model))


def test_a_spring_has_neither_excitation_nor_activation():
    model = string(type="spring", stiffness=1.0, rest_length=0.1)
    with pytest.raises(ValueError, match=r"muscle.string.excitation must not be given for a spring"):
        load(model | {"muscle": {"string": model["muscle"]["string"] | {"excitation": 0.5}}})
    for synapse, told in (
        ({"synapse": [{"from": "muscle.string.activation"}]}, r"muscle 'string' is spring and has no activation"),
        ({"type": "golgi", "muscle": "string"}, r"neuron.n.muscle must not be a spring"),
    ):
        with pytest.raises(ValueError, match=told):
            load(model | {"neuron": {"n": synapse}})
    assert load(model | {"neuron": {"n": {"type": "spindle", "muscle": "string"}}})
    with pytest.raises(ValueError, match=r"muscle.string.excitation is missing"):
        load(
            {
                **model,
                "muscle": {"string": model["muscle"]["string"] | {"model": {"type": "proportional", "max_force": 1}}},
            }
        )
