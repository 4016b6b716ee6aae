"""The platform against MuJoCo, closed forms and its own invariants, and bad models with their errors."""

import numpy as np
import pytest

from gymnosoma.envs import simulate
from gymnosoma.envs.neuromechanic import Module, Neuromechanic
from gymnosoma.envs.neuromechanic import muscles as hill
from gymnosoma.envs.neuromechanic import paths as string
from gymnosoma.envs.neuromechanic.hindlimb import POSTURE, asset, hindlimb

pytestmark = pytest.mark.full

ONE = np.zeros(1, np.int64)
G = 9.81


def pendulum(**joint):
    return {
        "schema": 1,
        "gravity": [0, -G, 0],
        "body": {
            "rod": {
                "joint": {"type": "revolute", "axis": [0, 0, 1], **joint},
                "inertial": {"mass": 2.0, "centre": [0, -0.5, 0], "inertia": [0.1, 0.0, 0.1]},
            }
        },
    }


def tree(seed, n=7):
    """Random tree of revolute and prismatic joints in space, with springs and damping."""
    rng = np.random.default_rng(seed)
    body = {}
    for i in range(n):
        R = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        moments = rng.uniform(0.5, 1.0, 3) * 0.01
        J = R @ np.diag(moments) @ R.T
        body[f"b{i}"] = {
            "joint": {
                "type": "prismatic" if rng.random() < 0.25 else "revolute",
                "axis": rng.standard_normal(3).tolist(),
                "at": (0.3 * rng.standard_normal(3)).tolist(),
                "damping": float(rng.uniform(0, 0.2)),
                "stiffness": float(rng.uniform(0, 2.0)),
                "rest": float(rng.uniform(-0.5, 0.5)),
            },
            "inertial": {
                "mass": float(rng.uniform(0.5, 2.0)),
                "centre": (0.2 * rng.standard_normal(3)).tolist(),
                "inertia": [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]],
            },
        }
        if i:
            body[f"b{i}"]["parent"] = f"b{rng.integers(i)}"
    return {"schema": 1, "gravity": [1.0, -9.0, 2.0], "body": body}


def in_mujoco(mujoco, model):
    """The same bodies in MuJoCo."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.compiler.balanceinertia = False
    spec.option.gravity = model["gravity"]
    made = {"ground": spec.worldbody}
    for name, body in model["body"].items():
        joint, inertial = body["joint"], body["inertial"]
        made[name] = made[body.get("parent", "ground")].add_body(name=name, pos=joint["at"])
        made[name].add_joint(
            type=mujoco.mjtJoint.mjJNT_HINGE if joint["type"] == "revolute" else mujoco.mjtJoint.mjJNT_SLIDE,
            axis=joint["axis"],
            damping=joint["damping"],
            stiffness=joint["stiffness"],
            springref=joint["rest"],
        )
        made[name].mass, made[name].ipos = inertial["mass"], inertial["centre"]
        made[name].fullinertia, made[name].explicitinertial = inertial["inertia"], True
    compiled = spec.compile()
    return compiled, mujoco.MjData(compiled)


def order_in(compiled, mujoco, animal):
    """Positions of our joints among MuJoCo's, which stand depth first."""
    names = [mujoco.mj_id2name(compiled, mujoco.mjtObj.mjOBJ_BODY, i + 1) for i in range(compiled.nv)]
    return [names.index(name) for name in animal.model.bodies]


@pytest.mark.term
@pytest.mark.parametrize("seed", range(6))
def test_mass_matrix_and_bias_are_mujocos(seed):
    mujoco = pytest.importorskip("mujoco")
    model = tree(seed)
    animal = Neuromechanic(model)
    compiled, data = in_mujoco(mujoco, model)
    order = order_in(compiled, mujoco, animal)
    rng = np.random.default_rng(seed + 100)
    q, v = rng.standard_normal((2, 7))
    data.qpos[order], data.qvel[order] = q, v
    mujoco.mj_forward(compiled, data)
    full = np.zeros((7, 7))
    mujoco.mj_fullM(compiled, data, full)
    row = animal.rows(1)
    animal.reset(row, ONE, {"q": q, "v": v})
    k = animal.mechanics(row)
    # Measured: 2e-14 of entries of order 10.
    assert np.abs(k["M"] - full[np.ix_(order, order)]).max() < 1e-12
    assert np.abs(k["bias"] - data.qfrc_bias[order]).max() < 1e-12
    assert np.abs(k["qdd"] - data.qacc[order]).max() < 1e-10 * np.abs(k["qdd"]).max()


def test_a_free_trajectory_is_mujocos():
    """Runge-Kutta steps of 1 ms over 1 s, in both programs."""
    mujoco = pytest.importorskip("mujoco")
    model = tree(1)
    animal = Neuromechanic(model, dt=1e-3, scheme="rk4")
    compiled, data = in_mujoco(mujoco, model)
    compiled.opt.timestep, compiled.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_RK4
    order = order_in(compiled, mujoco, animal)
    start = 0.3 * np.random.default_rng(0).standard_normal(7)
    data.qpos[order] = start
    run = simulate(animal, np.zeros(0), 1.0, every=0.5, start={"q": start})
    mujoco.mj_step(compiled, data, 1000)
    assert np.abs(run["q"][-1] - data.qpos[order]).max() < 1e-9  # measured: 2e-12


@pytest.mark.term
def test_a_wrench_at_a_point_is_mujocos():
    mujoco = pytest.importorskip("mujoco")
    model = tree(2)
    wrench = {"body": "b6", "at": [0.1, -0.2, 0.3], "force": [1.0, 2.0, -3.0], "moment": [0.3, -0.1, 0.2]}
    animal = Neuromechanic(model | {"wrench": {"w": wrench}})
    without = Neuromechanic(model)
    compiled, data = in_mujoco(mujoco, model)
    order = order_in(compiled, mujoco, animal)
    q = np.random.default_rng(3).standard_normal(7)
    data.qpos[order] = q
    mujoco.mj_forward(compiled, data)
    body = compiled.body("b6").id
    point = data.xpos[body] + data.xmat[body].reshape(3, 3) @ wrench["at"]
    force = np.zeros(7)
    mujoco.mj_applyFT(compiled, data, wrench["force"], wrench["moment"], point, body, force)
    taus = []
    for one in (animal, without):
        row = one.rows(1)
        one.reset(row, ONE, {"q": q})
        taus.append(one.mechanics(row)["tau"])
    assert np.abs(taus[0] - taus[1] - force[order]).max() < 1e-12


def test_a_pendulum_swings_as_elliptic_functions_say():
    from scipy.special import ellipj, ellipk

    inertia, start = 0.1 + 2.0 * 0.25, 1.5
    omega, m = np.sqrt(2.0 * G * 0.5 / inertia), np.sin(start / 2) ** 2
    run = simulate(Neuromechanic(pendulum(), scheme="rk4"), np.zeros(0), 2.0, every=0.1, start={"q": [start]})
    sn = ellipj(ellipk(m) - omega * run.time, m)[0]
    assert np.abs(run["q"][:, 0] - 2 * np.arcsin(np.sqrt(m) * sn)).max() < 3e-9  # measured: 5e-10 at most


def test_orders_of_the_fixed_step_schemes():
    def end(scheme, dt):
        animal = Neuromechanic(pendulum(damping=0.2), dt=dt, scheme=scheme)
        return simulate(animal, np.zeros(0), 1.0, every=1.0, start={"q": [1.0]})["q"][-1, 0]

    exact = end("rk4", 1e-3)
    for scheme, order in (("semi_implicit", 1), ("rk4", 4)):
        errors = [abs(end(scheme, dt) - exact) for dt in (0.02, 0.01)]
        assert abs(np.log2(errors[0] / errors[1]) - order) < 0.15


def test_energy_of_an_undamped_tree_stays():
    model = tree(4)
    for body in model["body"].values():
        body["joint"]["damping"] = 0.0
    run = simulate(Neuromechanic(model, scheme="rk4"), [], 1.0, every=0.1, start={"v": np.ones(7)})
    assert np.ptp(run["energy"]) < 1e-6 * np.abs(run["energy"]).max()  # measured: 3e-9


# Muscles


SHAPES = np.array([0.04, 0.6, 5.0, 0.45, 1.4, 0.25]), np.array([0.033, 0.5, 4.0, 0.5, 1.8, 0.3])
"""Constants of Thelen (2003), and those of many OpenSim models."""


@pytest.mark.term
def test_curves_at_tabulated_points():
    assert hill.force_length(hill.DE_GROOTE, SHAPES[0], 0.95) == pytest.approx(0.9786, abs=5e-5)  # Neuromechanic's
    for curves, shape in ((hill.DE_GROOTE, SHAPES[0]), (hill.THELEN, SHAPES[0]), (hill.THELEN, SHAPES[1])):
        assert hill.passive_force(curves, shape, 1.0 + shape[1]) == pytest.approx(1.0)
        both = hill.force_length(curves, shape, 1.0), hill.force_velocity(curves, shape, 0.0)[0]
        assert both == pytest.approx((1.0, 1.0), abs=1e-15)
        assert (
            hill.force_velocity(curves, shape, -1.0)[0] < 1e-15 < hill.force_velocity(curves, shape, -0.999)[0] < 4e-4
        )
        assert hill.force_velocity(curves, shape, -2.0) == (0.0, 0.0)
        for v in np.linspace(-0.9, 0.5, 9):
            f, slope = hill.force_velocity(curves, shape, v)
            assert hill.velocity_of(curves, shape, f) == pytest.approx(v, abs=1e-12)
            h = 1e-6
            ahead, behind = (hill.force_velocity(curves, shape, v + s)[0] for s in (h, -h))
            assert slope == pytest.approx((ahead - behind) / (2 * h), rel=1e-5)
        # Thelen's printed 1.712, 0.609 and 0.33 give his tendon 0.99939 at its strain, not 1.
        stretch, pulled = (1.049, 1.0) if curves == hill.DE_GROOTE else (1.0 + shape[0], 1.712 * (1.0 - 0.609) + 0.33)
        assert hill.tendon_force(curves, shape, stretch) == pytest.approx(pulled)
        for f in (0.0, 0.3, 0.33, 1.2):
            again = hill.tendon_force(curves, shape, hill.tendon_length(curves, shape, f))
            assert again == pytest.approx(f, abs=1e-14)


@pytest.mark.term
@pytest.mark.parametrize("shape", SHAPES)
def test_thelens_muscle_obeys_his_equations(shape):
    """Forces of a shortening and a lengthening muscle, put into Thelen (2003), Eqs 6 and 7, give their velocity."""
    model, a = hanging("rigid_tendon", curves="thelen", pennation=0.0), 0.3
    names = "tendon_strain", "passive_strain", "passive_shape", "active_shape", "eccentric", "concave"
    model["muscle"]["m"]["model"] |= dict(zip(names, shape.tolist(), strict=True))
    animal = Neuromechanic(model)
    assert animal.model.arrays["thelen"][0].tolist() == shape.tolist()
    row = animal.rows(1)
    most, optimal, fastest = (animal.model.arrays[name][0] for name in ("max_force", "optimal_length", "max_velocity"))
    for speed in (-0.3, -0.01, 0.01, 0.3):
        animal.reset(row, ONE, {"activation": [a], "v": [speed]})
        k = animal.mechanics(row)
        length = k["fibre"][0] / optimal
        fl = np.exp(-((length - 1.0) ** 2) / shape[3])
        fp = max(np.expm1(shape[2] * (length - 1.0) / shape[1]) / np.expm1(shape[2]), 0.0)
        F = k["force"][0] / most - fp
        b = a * fl + F / shape[5] if a * fl >= F else (2 + 2 / shape[5]) * (a * fl * shape[4] - F) / (shape[4] - 1)
        assert (0.25 + 0.75 * a) * (F - a * fl) / b == pytest.approx(k["rate"][0] / (optimal * fastest), rel=1e-9)
    h = 1e-6
    forces = []
    for speed in (0.2 + h, 0.2 - h):
        animal.reset(row, ONE, {"activation": [a], "v": [speed]})
        k = animal.mechanics(row)
        forces.append((k["force"][0], k["rate"][0]))
    slope = (forces[0][0] - forces[1][0]) / (forces[0][1] - forces[1][1])
    assert k["slope"][0] == pytest.approx(slope, rel=1e-5)


# What OpenSim 4.6 computes for a CoordinateLimitForce of 20 N m/deg above 30 deg, 5 below -10 deg, damped by 0.7
# N m s/deg, over 4 deg: position (deg), speed (deg/s), torque (N m).
OPENSIM_LIMIT = [
    (31, 0, -2.0703125),
    (33, 10, -60.064453125),
    (40, -20, -186.0),
    (-12, 0, 5.0),
    (-11, 30, -1.65625),
    (-20, 5, 46.5),
    (0, 9, 0.0),
]


def limited():
    deg = np.pi / 180
    limit = {"low": -10 * deg, "high": 30 * deg, "stiffness": [5 / deg, 20 / deg], "damping": 0.7 / deg}
    return Neuromechanic(pendulum(limit=limit | {"transition": 4 * deg})), deg


@pytest.mark.term
def test_torques_of_limits_are_opensims():
    animal, deg = limited()
    row = animal.rows(1)
    for q, v, torque in OPENSIM_LIMIT:
        animal.reset(row, ONE, {"q": [q * deg], "v": [v * deg]})
        assert animal.signal(row, "joint_torque")[0, 0] == pytest.approx(torque, abs=1e-9)
        assert animal.mechanics(row)["tau"][0] == pytest.approx(torque - 2.0 * G * 0.5 * np.sin(q * deg), abs=1e-9)


@pytest.mark.slow
def test_limits_hold():
    animal, deg = limited()
    run = simulate(animal, [], 10.0, every=0.01, start={"q": [1.5]})
    assert run["q"].min() > -40 * deg and run["q"][200:].min() > -25 * deg
    assert abs(run["v"][-1, 0]) < 1e-6 or abs(run["q"][-1, 0]) < 30 * deg


def postures(model, type_, curves):
    """Model with other muscles, and 2000 random postures, rates and activations within its joints' ranges."""
    for muscle in model["muscle"].values():
        if type_ == "proportional":
            muscle["model"] = {"type": type_, "max_force": muscle["model"]["max_force"]}
        elif type_ is not None:
            muscle["model"] |= {"type": type_, "curves": curves}
    animal, rng, count = Neuromechanic(model), np.random.default_rng(0), 2000
    low, high = np.array([[max(joint.low, -2.5), min(joint.high, 2.5)] for joint in animal.model.joints]).T
    rows, silent = animal.rows(count), rng.random((count, 1)) < 0.3
    start = {"q": rng.uniform(low, high, (count, len(low))), "v": 20.0 * rng.uniform(-1, 1, (count, len(low)))}
    active = animal.model.counts["active"]
    if active:
        start["activation"] = np.where(silent, 0.0, rng.random((count, active)))
    animal.reset(rows, np.arange(count), start)
    return animal, rows


@pytest.mark.parametrize(
    ("name", "type_", "curves"),
    [
        ("arm", "rigid_tendon", "de_groote"),
        ("arm", "rigid_tendon", "thelen"),
        ("arm", "compliant_tendon", "de_groote"),
        ("arm", "compliant_tendon", "thelen"),
        ("arm", "proportional", ""),
        ("hindlimb", None, ""),
    ],
)
def test_muscles_never_push(name, type_, curves):
    """At any posture, rate and activation; once the arm's pushed with up to 11 N, the hindlimb's with 2.9 kN."""
    animal, rows = postures(asset(name), type_, curves)
    force = animal.signals["muscle_force"](rows)
    assert force.min() >= 0.0
    assert force.max() > 100.0
    animal.advance(rows, np.arange(len(rows)), np.full((len(rows), animal.drive_size), 0.3), 20)
    assert animal.signals["muscle_force"](rows).min() >= 0.0


@pytest.mark.parametrize("kind", [hill.SMOOTH, hill.SWITCHED, hill.ZAJAC])
def test_activation_follows_excitation(kind):
    for e in (0.0, 0.3, 1.0):
        assert hill.activation_rate(kind, 0.015, 0.06, e, e) == pytest.approx(0.0, abs=1e-15) or kind == hill.ZAJAC
    assert hill.activation_rate(kind, 0.015, 0.06, 1.0, 0.2) > 0 > hill.activation_rate(kind, 0.015, 0.06, 0.0, 0.5)
    # Far from each other the smooth blend is the switch.
    if kind == hill.SMOOTH:
        for e, a in ((1.0, 0.1), (0.0, 0.9)):
            switched = hill.activation_rate(hill.SWITCHED, 0.015, 0.06, e, a)
            assert hill.activation_rate(kind, 0.015, 0.06, e, a) == pytest.approx(switched, rel=1e-6)


@pytest.mark.term
def test_short_range_stiffness_of_the_hindlimb():
    """F = Fmax a (0.9786 + 4 dl/lopt + 0.1 ldot/lopt) cos(pennation), for the soleus and the medial gastrocnemius."""
    animal, rng = Neuromechanic(hindlimb()), np.random.default_rng(0)
    row = animal.rows(1)
    for name, most, optimal, pennation in (("sol", 20.5, 0.041728, 0.128619), ("mg", 90.2, 0.022474, 0.386802)):
        m, q = animal.model.muscles.index(name), POSTURE + 0.05 * rng.standard_normal(7)
        animal.reset(row, ONE, {"q": q, "v": rng.standard_normal(7), "activation": np.full(31, 0.3)})
        k = animal.mechanics(row)
        stretch, rate = k["length"][m] - animal.model.arrays["reference_length"][m], k["rate"][m]
        force = 0.3 * most * (0.9786 + (4.0 * stretch + 0.1 * rate) / optimal) * np.cos(pennation)
        assert k["force"][m] == pytest.approx(force, rel=1e-5) and min(force, abs(stretch)) > 1e-4


def wrapped(path, **more):
    model = pendulum(start=0.4)
    model["cylinder"] = {
        "pulley": {"body": "ground", "at": [0, 0, 0], "axis": [0, 0, 1], "side": [1, 0, 0], "radius": 0.05}
    }
    model["muscle"] = {"m": {"model": {"type": "proportional", "max_force": 10.0}, "path": path, "excitation": 0.5}}
    return model | more


PATHS = {
    "straight": [["ground", 0.1, 0.2, 0.0], ["rod", 0.05, -0.3, 0.1]],
    "via": [["ground", 0.1, 0.2, 0.0], ["ground", 0.1, 0.05, 0.0], ["rod", 0.08, -0.1, 0.0], ["rod", 0.05, -0.3, 0.1]],
    "cylinder": [["ground", 0.0, 0.2, 0.0], {"cylinder": "pulley"}, ["rod", 0.0, -0.3, 0.1]],
}


@pytest.mark.parametrize("name", PATHS)
def test_moment_arms_are_gradients_of_the_length(name):
    animal = Neuromechanic(wrapped(PATHS[name]))
    row, h = animal.rows(1), 1e-6
    for q in np.linspace(-1.0, 1.0, 7):
        lengths = []
        for s in (h, -h, 0.0):
            animal.reset(row, ONE, {"q": [q + s], "v": [0.7]})
            k = animal.mechanics(row)
            lengths.append(k["length"][0])
        assert k["arm"][0, 0] == pytest.approx((lengths[1] - lengths[0]) / (2 * h), abs=1e-9)
        assert k["rate"][0] == pytest.approx(-0.7 * k["arm"][0, 0], abs=1e-15)


@pytest.mark.term
def test_a_cylinder_is_a_pulley():
    """On a pulley about the joint's axis the moment arm is its radius, and the arc joins two tangents."""
    model = wrapped([["ground", 0.0, 0.2, 0.0], {"cylinder": "pulley"}, ["rod", 0.0, -0.3, 0.0]])
    animal = Neuromechanic(model)
    row = animal.rows(1)
    for q in (-0.3, 0.0, 0.3):
        animal.reset(row, ONE, {"q": [q]})
        k = animal.mechanics(row)
        arc = np.pi - np.arccos(0.05 / 0.2) - np.arccos(0.05 / 0.3) - q
        assert k["length"][0] == pytest.approx(np.sqrt(0.2**2 - 0.05**2) + np.sqrt(0.3**2 - 0.05**2) + 0.05 * arc)
        assert k["arm"][0, 0] == pytest.approx(0.05)


def test_a_pulley_halves_the_arc_of_a_wrap():
    """After a pulley of two ends, segments and arcs count by half, and so do moment arms."""
    path = [["ground", 0.0, 0.2, 0.0], {"cylinder": "pulley"}, ["rod", 0.0, -0.3, 0.0]]
    whole, half = (Neuromechanic(wrapped(each)) for each in (path, [["ground", 0, 0, 0], {"pulley": 2.0}, *path]))
    row = whole.rows(1)
    k, shared = whole.mechanics(row), half.mechanics(half.rows(1))
    assert shared["length"][0] == pytest.approx(0.5 * k["length"][0])
    assert shared["arm"][0, 0] == pytest.approx(0.5 * k["arm"][0, 0])


@pytest.mark.term
def test_a_fitted_length_is_its_quadratic():
    model = wrapped(PATHS["straight"])
    length = {"mean": 0.4, "at": [0.3], "a": [0.02], "B": [[0, 0, -0.05]]}
    model["muscle"]["m"] = {key: value for key, value in model["muscle"]["m"].items() if key != "path"}
    model["muscle"]["m"]["length"] = length
    k = Neuromechanic(model).mechanics(Neuromechanic(model).rows(1))
    d = 0.4 - 0.3
    assert k["length"][0] == pytest.approx(0.4 - (0.02 * d - 0.5 * 0.05 * d**2), abs=1e-15)
    assert k["arm"][0, 0] == pytest.approx(0.02 - 0.05 * d, abs=1e-15)


def test_a_string_beyond_the_end_of_a_cylinder_is_straight():
    """It wraps if it meets or leaves the surface within the cylinder, as OpenSim's WrapCylinder."""
    meet, p, q = np.zeros((4, 3)), np.array([0.0, 0.2, 0.01]), np.array([0.0, -0.2, 0.05])
    lead, arc = np.sqrt(0.2**2 - 0.05**2), 0.05 * (np.pi - 2 * np.arccos(0.05 / 0.2))
    rise = 0.04 / (2 * lead + arc)
    near, far = 0.01 + rise * lead, 0.05 - rise * lead
    for half, wraps in ((1.01 * far, True), (0.99 * far, True), (1.01 * near, True), (0.99 * near, False)):
        length, _ = string.wrapped(meet, string.SIDE, 0.05, half, p, q)
        assert length == (pytest.approx(arc * np.sqrt(1 + rise**2)) if wraps else -1.0)


def hanging(kind, **more):
    """A mass on a vertical muscle."""
    muscle = {"type": kind, "max_force": 100.0, "optimal_length": 0.1, "slack_length": 0.2, "pennation": 0.2} | more
    return {
        "schema": 1,
        "gravity": [0, -G, 0],
        "body": {
            "weight": {
                "joint": {"type": "prismatic", "axis": [0, 1, 0], "at": [0, -0.31, 0]},
                "inertial": {"mass": 3.0},
            }
        },
        "muscle": {"m": {"model": muscle, "path": [["ground", 0, 0, 0], ["weight", 0, 0, 0]], "excitation": "input.m"}},
    }


@pytest.mark.parametrize("kind", ["rigid_tendon", "compliant_tendon"])
@pytest.mark.parametrize("curves", ["de_groote", "thelen"])
def test_a_weight_comes_to_rest_where_the_muscle_carries_it(kind, curves):
    animal = Neuromechanic(hanging(kind, curves=curves), dt=1e-3)
    run = simulate(animal, np.array([0.3]), 20.0, every=1.0, start={"activation": [0.3]})
    assert run["muscle_force"][-1, 0] == pytest.approx(3.0 * G, rel=1e-3)
    assert abs(run["v"][-1, 0]) < 1e-4


def test_a_stiff_tendon_is_a_rigid_one():
    """With a tendon a twentieth as long the two models differ by its few per cent of stretch only."""
    paths = {}
    for kind in ("rigid_tendon", "compliant_tendon"):
        model = hanging(kind, slack_length=0.01)
        model["body"]["weight"]["joint"]["at"] = [0, -0.12, 0]
        model["body"]["weight"]["inertial"]["mass"] = 3.19  # nearly at rest: the paths differ by the stretch alone
        animal = Neuromechanic(model, dt=2e-4)
        paths[kind] = simulate(animal, np.array([0.3]), 0.5, every=0.05, start={"activation": [0.3]})["q"][:, 0]
    gap = np.abs(paths["rigid_tendon"] - paths["compliant_tendon"]).max()
    assert gap < 0.049 * 0.01 * 2  # measured: 0.4 mm, the tendon stretches by up to 0.5 mm


def test_light_segments_need_implicit_muscle_damping():
    """A hand of 10 g with a strong muscle relaxes at 1e4 /s: 2 ms steps follow, where explicit ones would explode."""
    model = pendulum(start=0.3, stiffness=20.0)
    model["body"]["rod"]["inertial"] = {"mass": 0.01, "centre": [0, -0.05, 0], "inertia": [1e-5, 0, 1e-5]}
    muscle = {"type": "rigid_tendon", "max_force": 600.0, "optimal_length": 0.1, "slack_length": 0.2}
    for name, side in (("flexor", 0.03), ("extensor", -0.03)):
        path = [["ground", side, 0.25, 0.0], ["rod", side, -0.05, 0.0]]
        model.setdefault("muscle", {})[name] = {"model": muscle, "path": path, "excitation": 0.3}
    fast = Neuromechanic(model, dt=2e-3)
    start = {"activation": [0.3, 0.3]}
    row = fast.rows(1)
    fast.reset(row, ONE, start)
    k = fast.mechanics(row)
    rate = np.sum(k["slope"] * k["arm"][:, 0] ** 2) / k["M"][0, 0]
    assert rate * fast.dt > 10
    rough = simulate(fast, np.zeros(0), 0.2, every=0.02, start=start)
    fine = simulate(Neuromechanic(model, dt=1e-5), np.zeros(0), 0.2, every=0.02, start=start)
    assert np.abs(rough["q"] - fine["q"]).max() < 0.01  # measured: 0.002


# Neurons, modules, pins


@pytest.mark.term
def test_shapes_splines_and_offsets():
    """Each shaping function of Eq. 9 on a spline of time, once its synapse's gain and offset have acted."""
    times, values = [0.0, 0.1, 0.2, 0.3], [0.0, 1.0, -1.0, 0.5]
    shapes = {
        "linear": ({"type": "linear"}, lambda s: s),
        "sigmoid": ({"type": "sigmoid"}, lambda s: 1 / (1 + np.exp(-s))),
        "tanh": ({"type": "tanh"}, np.tanh),
        "step": ({"type": "heaviside", "low": -2.0, "high": 3.0}, lambda s: np.where(s >= 0, 3.0, -2.0)),
        "clip": ({"type": "saturate", "low": -0.5, "high": 0.7}, lambda s: np.clip(s, -0.5, 0.7)),
    }
    model = pendulum() | {"spline": {"s": {"times": times, "values": values}}}
    synapse = {"from": "spline.s", "gain": 2.0, "offset": 0.1}
    model["neuron"] = {name: {"shape": shape, "synapse": [synapse]} for name, (shape, _) in shapes.items()}
    animal = Neuromechanic(model)
    run = simulate(animal, np.zeros(0), 0.4, every=0.01)
    from scipy.interpolate import CubicSpline

    seen = run.time[1:] - animal.dt  # neurons are recorded as of the beginning of the last step
    s = 2.0 * (CubicSpline(times, values, bc_type="natural")(np.minimum(seen, 0.3)) - 0.1)
    for j, (_, function) in enumerate(shapes.values()):
        assert np.abs(run["neurons"][1:, j] - function(s)).max() < 1e-12


@pytest.mark.parametrize("scheme", ["semi_implicit", "rk4"])
def test_a_delay_is_a_delay(scheme):
    model = pendulum(start=1.0)
    model["neuron"] = {
        "past": {"synapse": [{"from": "joint.rod.position", "delay": 0.05}]},
        "older": {"synapse": [{"from": "neuron.past", "delay": 0.02}]},
    }
    run = simulate(Neuromechanic(model, scheme=scheme), np.zeros(0), 0.5, every=1e-3)
    angle = np.concatenate([np.full(100, 1.0), run["q"][:, 0]])
    for j, delay in ((0, 50), (1, 70)):
        assert np.array_equal(run["neurons"][1:, j], angle[100 - delay : 100 - delay + 500])


def test_a_control_module_integrates_momentum():
    """A free body in the plane: the integral of linear momentum is mass times way; Eq. 11."""

    def integrate(time, q, v, n, momentum, inputs, heard, dn, out):
        for i in range(6):
            dn[i] = momentum[i]
            out[i] = n[i]

    slide = {"type": "prismatic", "at": [0, 0, 0]}
    model = {
        "schema": 1,
        "gravity": [0, -G, 0],
        "body": {
            "x": {"joint": slide | {"axis": [1, 0, 0]}},
            "y": {"parent": "x", "joint": slide | {"axis": [0, 1, 0]}},
            "turn": {
                "parent": "y",
                "joint": {"type": "revolute", "axis": [0, 0, 1]},
                "inertial": {"mass": 2.0, "centre": [0.1, 0, 0], "inertia": [0.01, 0.01, 0.02]},
            },
        },
        "neuron": {"way": {"synapse": [{"from": "module.com.3"}]}},
    }
    animal = Neuromechanic(model, scheme="rk4", modules={"com": Module(6, 6, integrate)})
    run = simulate(animal, np.zeros(0), 0.5, every=0.1, start={"v": [1.0, 2.0, 3.0]})
    way = 2.0 * (run["centre"] - run["centre"][0])
    assert np.abs(run["module_state"][:, 3:] - way).max() < 1e-10
    # Nothing turns a free body: its angular momentum about the centre of mass stays 0.02 * 3.
    assert np.abs(run["module_state"][:, 2] - 0.06 * run.time).max() < 1e-10


def test_pinned_ends_stay_and_carry_the_weight():
    """Two rods that hang from two points, a closed chain: the pins carry half of the weight each."""
    rod = {"mass": 1.0, "centre": [0, -0.25, 0], "inertia": [0.02, 0.0, 0.02]}
    joint = {"type": "revolute", "axis": [0, 0, 1]}
    a = np.arccos(0.3 / 0.5)
    model = {
        "schema": 1,
        "gravity": [0, -G, 0],
        "body": {
            "one": {"joint": joint | {"at": [-0.3, 0, 0], "start": np.pi / 2 - a}, "inertial": rod},
            "two": {"parent": "one", "joint": joint | {"at": [0, -0.5, 0], "start": 2 * a}, "inertial": rod},
        },
        "pin": {"end": {"point": ["two", 0, -0.5, 0], "to": ["ground", 0.3, 0, 0], "axes": [[1, 0, 0], [0, 1, 0]]}},
    }
    animal = Neuromechanic(model)
    row = animal.rows(1)
    assert animal.mechanics(row)["reaction"][1] == pytest.approx(G)  # by symmetry
    run = simulate(animal, np.zeros(0), 1.0, every=0.1)
    assert np.abs(run["q"] - run["q"][0]).max() < 1e-9


@pytest.mark.term
@pytest.mark.parametrize("rate", [0.0, 30.0])
def test_errors_of_pins_between_moving_bodies_decay_with_critical_damping(rate):
    """In any posture and motion, gap'' = -2 r gap' - r^2 gap, by differences of the points' positions."""
    joint = {"type": "revolute", "axis": [0, 0, 1]}
    rod = {"mass": 1.0, "centre": [0, -0.25, 0], "inertia": [0.02, 0.0, 0.02]}
    body = {
        "one": {"joint": joint | {"at": [-0.3, 0, 0]}, "inertial": rod},
        "two": {"joint": joint | {"at": [0.2, 0.1, 0]}, "inertial": rod},
        "tip": {"parent": "two", "joint": joint | {"at": [0, -0.3, 0]}, "inertial": rod},
    }
    end = {"point": ["one", 0.02, -0.5, 0], "to": ["tip", 0.0, -0.3, 0], "axes": [[0.6, 0.8, 0]], "rate": rate}
    animal = Neuromechanic({"schema": 1, "gravity": [0, -G, 0], "body": body, "pin": {"end": end}})
    q, v, row, h = np.array([0.3, -0.5, 0.9]), np.array([2.0, -3.0, 4.0]), animal.rows(1), 1e-4
    animal.reset(row, ONE, {"q": q, "v": v})
    qdd = animal.mechanics(row)["qdd"]

    def gap(t):
        one, two, tip = q + t * v + 0.5 * t * t * qdd
        here = -0.3 + (0.02 - 0.5j) * np.exp(1j * one)  # x + iy
        there = 0.2 + 0.1j - 0.3j * np.exp(1j * two) - 0.3j * np.exp(1j * (two + tip))
        return ((here - there) * (0.6 - 0.8j)).real

    before, now, after = gap(-h), gap(0.0), gap(h)
    speed = (after - before) / (2 * h)
    assert (after - 2 * now + before) / h**2 == pytest.approx(-rate * (2 * speed + rate * now), abs=1e-4)
    assert abs(now) > 0.1 and abs(speed) > 0.5


def test_pins_do_no_work_and_do_not_drift():
    """A four-bar swings: energy stays while its pin holds."""
    joint = {"type": "revolute", "axis": [0, 0, 1]}
    rod = {"mass": 1.0, "centre": [0, -0.25, 0], "inertia": [0.02, 0.0, 0.02]}
    model = {
        "schema": 1,
        "gravity": [0, -G, 0],
        "body": {
            "a": {"joint": joint, "inertial": rod},
            "b": {"parent": "a", "joint": joint | {"at": [0, -0.5, 0], "start": np.pi / 2}, "inertial": rod},
            "c": {"parent": "b", "joint": joint | {"at": [0, -0.5, 0], "start": np.pi / 2}, "inertial": rod},
        },
        "pin": {"p": {"point": ["c", 0, -0.5, 0], "to": ["ground", 0.5, 0, 0], "axes": [[1, 0, 0], [0, 1, 0]]}},
    }
    # The rates 1, -1, 1 move the rods a and c side by side.
    run = simulate(Neuromechanic(model, scheme="rk4"), [], 2.0, every=0.1, start={"v": [1.0, -1.0, 1.0]})
    assert np.ptp(run["energy"]) < 1e-7
    assert np.abs(run["q"][:, 0] + run["q"][:, 1] - np.pi / 2).max() < 1e-7
    assert np.ptp(run["q"][:, 0]) > 0.2


# Rows


def test_a_broken_state_is_told_and_left_out():
    animal = Neuromechanic(pendulum())
    rows, ids = animal.rows(4), np.arange(4)
    rows["mass"][1:] = np.nan, 0.0, 1.0
    rows["v"][3] = 2e4
    animal.advance(rows, ids, np.zeros((4, 0)), 10)
    told = [animal.failures.get(status) for status in rows["status"]]
    assert told == [None, "the state is not finite", "masses or pins are singular", "a joint moves too fast"]
    assert np.isfinite(rows["q"]).all()
