"""Contact and friction against closed forms, exhaustive search, the laws themselves and MuJoCo; bad models' errors."""

import itertools

import numpy as np
import pytest

from gymnosoma.envs import simulate
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic import contact as c
from tools.mujoco_models import in_mujoco, standing_on_springs

pytestmark = pytest.mark.full

G = 9.81
SOLVERS = ("modes", "staggered", "sweep")


def slide(axis, parent=None):
    return {"joint": {"type": "prismatic", "axis": axis}} | ({"parent": parent} if parent else {})


def heavy(mass, *inertia):
    return {"inertial": {"mass": mass, "centre": [0, 0, 0], "inertia": list(inertia) or [0.0, 0.0, 0.0]}}


def puck(slope=0.0, friction=0.5):
    """A point of 2 kg in a plane, on a surface inclined by ``slope``: down to the right."""
    normal = [np.sin(slope), np.cos(slope), 0.0]
    return {
        "schema": 1,
        "gravity": [0, -G, 0],
        "body": {"x": slide([1, 0, 0]), "y": slide([0, 1, 0], "x") | heavy(2.0)},
        "contact": {
            "foot": {"point": ["y", 0, 0, 0], "normal": normal, "tangent": [1, 0, 0], "friction": friction},
        },
        "wrench": {"pull": {"body": "y"}},
    }


def box(friction=0.5, width=0.4, height=0.3):
    """A box of 3 kg in a plane that stands on two corners; its joints are at its centre."""
    half = [0.5 * width, 0.5 * height]
    moment = 3.0 * (width**2 + height**2) / 12
    corners = {"left": -half[0], "right": half[0]}
    return {
        "schema": 1,
        "gravity": [0, -G, 0],
        "body": {
            "x": slide([1, 0, 0]),
            "y": slide([0, 1, 0], "x"),
            "turn": {"parent": "y", "joint": {"type": "revolute", "axis": [0, 0, 1]}} | heavy(3.0, moment, 0.0, moment),
        },
        "contact": {
            name: {"point": ["turn", x, -half[1], 0], "tangent": [1, 0, 0], "friction": friction}
            for name, x in corners.items()
        },
        "wrench": {"pull": {"body": "turn"}},
    }


# Closed forms


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_puck_sticks_on_a_gentle_slope(solver):
    slope = np.arctan(0.49)
    run = simulate(Neuromechanic(puck(slope), contacts=solver), np.zeros(0), 1.0, every=0.01)
    assert np.abs(run["q"]).max() < 1e-12
    assert (run["contact_mode"][1:] == c.STICK).all()
    assert run["contact_force"][-1, 0] == pytest.approx([0.0, 2.0 * G, 0.0], abs=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_puck_slides_down_a_steep_slope(solver):
    slope = 0.6
    run = simulate(Neuromechanic(puck(slope), contacts=solver), np.zeros(0), 1.0, every=0.01)
    down = np.array([np.cos(slope), -np.sin(slope)])
    expected = G * (np.sin(slope) - 0.5 * np.cos(slope)) * run.time
    assert run["v"] @ down == pytest.approx(expected, abs=1e-9)
    assert np.abs(run["v"] @ [down[1], -down[0]]).max() < 1e-9
    assert (run["contact_mode"][1:] == c.SLIP).all()


def test_friction_stops_a_puck_and_does_not_push_it_back():
    animal = Neuromechanic(puck(friction=0.3))
    run = simulate(animal, np.zeros(0), 1.0, start={"v": [-2.0, 0.0]})
    at_rest = np.flatnonzero(np.abs(run["v"][:, 0]) < 1e-9)
    assert run.time[at_rest[0]] == pytest.approx(2.0 / (0.3 * G), abs=2e-3)
    assert run["q"][-1, 0] == pytest.approx(-(2.0**2) / (2 * 0.3 * G), rel=2e-3)
    assert (run["contact_mode"][1 : at_rest[0] - 1] == c.BACK).all()
    assert (run["contact_mode"][at_rest[0] + 1 :] == c.STICK).all()
    assert np.abs(run["v"][at_rest[0] :]).max() < 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_pulled_box_slides_and_shares_its_load(solver):
    """Pulled at its centre: friction acts 0.15 m below it, so the leading corner carries more."""
    run = simulate(
        Neuromechanic(box(0.3), contacts=solver),
        np.zeros(0),
        0.5,
        start={"q": [0, 0.15, 0], "wrench": [[12.0, 0, 0, 0, 0, 0]]},
    )
    rub = 0.3 * 3.0 * G
    assert run["v"][-1, 0] == pytest.approx((12.0 - rub) / 3.0 * 0.5, rel=1e-5)
    shift = rub * 0.15 / 0.4
    expected = [0.5 * 3.0 * G - shift, 0.5 * 3.0 * G + shift]
    assert run["contact_force"][-1, :, 1] == pytest.approx(expected, rel=1e-5)
    assert (run["contact_mode"][-1] == c.SLIP).all()


def test_a_box_tips_where_friction_holds_it():
    """A pull at its centre tips a box that is narrower than high over friction: F h/2 > m g w/2."""
    for pull, tips in ((2.9, False), (3.3, True)):
        animal = Neuromechanic(box(2.0, 0.03, 0.3))
        run = simulate(animal, np.zeros(0), 0.1, start={"q": [0, 0.15, 0], "wrench": [[pull, 0, 0, 0, 0, 0]]})
        assert (run["q"][-1, 2] < -1e-3) == tips
        assert (run["contact_mode"][-1, 0] == c.OPEN) == tips


def test_a_spatial_puck_is_slowed_against_its_way():
    model = puck(friction=0.2)
    del model["contact"]["foot"]["tangent"]
    model["body"] = {"x": slide([1, 0, 0]), "z": slide([0, 0, 1], "x"), "y": slide([0, 1, 0], "z") | heavy(2.0)}
    for solver in ("sweep", "staggered"):
        run = simulate(Neuromechanic(model, contacts=solver), np.zeros(0), 0.5, start={"v": [1.2, -0.9, 0.0]})
        expected = (1.5 - 0.2 * G * run.time)[:, None] * [0.8, -0.6, 0.0]
        assert run["v"] == pytest.approx(expected, abs=1e-6)
        assert (run["contact_mode"][1:] == c.SLIP).all()


@pytest.mark.slow
def test_a_spatial_box_slides_on_its_four_corners():
    joints = {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1]}
    body, parent = {}, None
    for name, axis in joints.items():
        body[name] = slide(axis, parent)
        parent = name
    for name, axis in {"yaw": [0, 1, 0], "roll": [1, 0, 0], "pitch": [0, 0, 1]}.items():
        body[name] = {"parent": parent, "joint": {"type": "revolute", "axis": axis}}
        parent = name
    body["pitch"] |= heavy(3.0, 0.03, 0.05, 0.04)
    corners = list(itertools.product((-0.2, 0.2), (-0.1, 0.1)))
    contact = {f"c{i}": {"point": ["pitch", x, -0.1, z], "friction": 0.3} for i, (x, z) in enumerate(corners)}
    animal = Neuromechanic({"schema": 1, "gravity": [0, -G, 0], "body": body, "contact": contact})
    run = simulate(animal, np.zeros(0), 0.3, start={"q": [0, 0.1, 0, 0, 0, 0], "v": [1.5, 0, 0, 0, 0, 0]})
    assert run["v"][-1, 0] == pytest.approx(1.5 - 0.3 * G * 0.3, rel=1e-3)
    assert run["contact_force"][-1].sum(0) == pytest.approx([-0.3 * 3.0 * G, 3.0 * G, 0.0], rel=1e-2, abs=1e-2)
    assert np.abs(run["q"][-1, 1] - 0.1) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
def test_impacts_never_raise_the_energy(solver):
    """Without gravity: nothing but impacts and friction changes the energy of boxes thrown at the ground."""
    model = box(0.7)
    model["gravity"] = [0, 0, 0]
    animal, rng, hits = Neuromechanic(model, contacts=solver), np.random.default_rng(0), 0
    count = 64
    rows, ids = animal.rows(count), np.arange(count)
    q = np.column_stack([np.zeros(count), np.full(count, 0.3), rng.uniform(-np.pi, np.pi, count)])
    v = np.column_stack([rng.normal(0, 2, count), rng.uniform(-3, -1, count), rng.normal(0, 5, count)])
    animal.reset(rows, ids, {"q": q, "v": v})
    energy = animal.energy(rows)
    for _ in range(400):
        animal.advance(rows, ids, np.zeros((count, 0)), 1)
        after = animal.energy(rows)
        hits += np.sum(after < energy - 1e-6)
        assert (after <= energy + 1e-7).all()
        energy = after
    assert hits > count
    lowest = min(animal.mechanics(rows[i : i + 1])["contact_point"][:, 1].min() for i in range(count))
    assert lowest > -1e-2


def test_a_fall_ends_on_the_ground_without_bouncing():
    animal = Neuromechanic(puck())
    run = simulate(animal, np.zeros(0), 1.0, start={"q": [0.0, 0.5]})
    hit = np.sqrt(2 * 0.5 / G)
    assert run.time[np.flatnonzero(run["contact_mode"][:, 0] != c.OPEN)[0]] == pytest.approx(hit, abs=2e-3)
    assert np.abs(run["q"][-1]).max() < 1e-12
    assert run["q"][:, 1].min() > -1e-12
    lost = run["energy"][0] - run["energy"][-1]
    assert lost == pytest.approx(2.0 * G * 0.5, rel=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("planar", [True, False])
def test_a_point_that_can_only_fall_lands(solver, planar):
    """Its tangential rows are zero: no friction can move it, and none must be divided by."""
    foot = {"point": ["y", 0, 0, 0], "friction": 0.5} | ({"tangent": [1, 0, 0]} if planar else {})
    model = {
        "schema": 1,
        "gravity": [0, -G, 0],
        "body": {"y": slide([0, 1, 0]) | heavy(2.0)},
        "contact": {"foot": foot},
    }
    if solver == "modes" and not planar:
        return
    run = simulate(Neuromechanic(model, contacts=solver), np.zeros(0), 0.3, start={"q": [0.1]})
    assert run.failure is None
    assert run["contact_force"][-1, 0] == pytest.approx([0.0, 2.0 * G, 0.0], abs=1e-6)
    assert abs(run["q"][-1, 0]) < 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_point_that_cannot_leave_its_surface_slides_below_it(solver):
    model = puck() | {"body": {"y": slide([1, 0, 0]) | heavy(2.0)}}
    model["contact"]["foot"]["height"] = 0.1
    run = simulate(Neuromechanic(model, contacts=solver), np.zeros(0), 0.1, start={"v": [1.0]})
    assert run.failure is None
    assert run["v"][-1, 0] == pytest.approx(1.0)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dt", [1e-3, 1e-5])
def test_what_is_far_does_not_disturb_what_rests(solver, dt):
    one, other = puck(), puck()
    model = one | {"body": one["body"] | {"u": slide([1, 0, 0]), "w": slide([0, 1, 0], "u") | heavy(2.0)}}
    model["contact"]["other"] = other["contact"]["foot"] | {"point": ["w", 0, 0, 0]}
    animal = Neuromechanic(model, dt, contacts=solver)
    run = simulate(animal, np.zeros(0), 500 * dt, start={"q": [0, 0, 0, 2.0]})
    assert run["contact_force"][1:, 0, 1] == pytest.approx(2.0 * G, rel=1e-4)
    assert (run["contact_mode"][1:] == [c.STICK, c.OPEN]).all()
    assert (run["contact_force"][1:, 1] == 0.0).all()


# The solvers on random problems


def problems(count, seed=0):
    """Random two-contact problems W, u, mu of five-joint bodies."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        J, root = rng.standard_normal((4, 5)), rng.standard_normal((5, 5))
        yield J @ np.linalg.inv(root @ root.T + 0.1 * np.eye(5)) @ J.T, rng.standard_normal(4), rng.uniform(0.1, 1.2, 2)


def exhaustive(W, u, mu):
    """All impulses that solve a planar two-contact problem, by trying the modes and checking each inequality."""
    found = []
    for modes in itertools.product(("open", "stick", "slip", "back"), repeat=2):
        A, b = np.eye(4), np.zeros(4)
        for i, mode in enumerate(modes):
            n, t = 2 * i, 2 * i + 1
            if mode != "open":
                A[n], b[n] = W[n], -u[n]
                if mode == "stick":
                    A[t], b[t] = W[t], -u[t]
                else:
                    A[t, n] = mu[i] if mode == "slip" else -mu[i]
        try:
            p = np.linalg.solve(A, b)
        except np.linalg.LinAlgError:
            continue
        w, tiny = W @ p + u, 1e-9
        holds = all(
            (w[2 * i] >= -tiny and mode == "open")
            or (
                mode != "open"
                and p[2 * i] >= -tiny
                and {
                    "stick": abs(p[2 * i + 1]) <= mu[i] * p[2 * i] + tiny,
                    "slip": w[2 * i + 1] >= -tiny,
                    "back": w[2 * i + 1] <= tiny,
                }[mode]
            )
            for i, mode in enumerate(modes)
        )
        if holds and not any(np.allclose(p, other, atol=1e-7) for other in found):
            found.append(p)
    return found


def test_unique_two_contact_problems_are_solved_as_by_exhaustive_search():
    several = cycles = 0
    count = 1500
    for W, u, mu in problems(count):
        solutions = exhaustive(W, u, mu)
        assert solutions
        several += len(solutions) > 1
        p, mode = np.zeros(4), np.zeros(2)
        error = c.by_modes(W, u, mu, 2, p, mode, np.zeros((4, 5)))
        assert error <= c.EXACT * max(np.abs(u).max(), (np.diag(W) * np.abs(p)).max())
        assert min(np.abs(p - other).max() / max(np.abs(other).max(), 1.0) for other in solutions) < 1e-6
        paper = np.zeros(4)
        turns = c.staggered(W, u, mu, 2, 2, paper)
        cycles += turns < 0
        if turns > 0 and len(solutions) == 1:
            assert paper == pytest.approx(solutions[0], rel=1e-5, abs=1e-5 * max(np.abs(solutions[0]).max(), 1.0))
    assert 0 < several < 0.02 * count
    assert 0 < cycles < 0.12 * count


def test_sweeps_find_the_unique_solution():
    """They fail in few of the random problems, and say so."""
    failed = count = 0
    for W, u, mu in problems(500, 2):
        solutions = exhaustive(W, u, mu)
        if len(solutions) == 1:
            p = np.zeros(4)
            turns = c.sweep(W, u, mu, 2, 2, p)
            failed, count = failed + (turns < 0), count + 1
            if turns > 0:
                assert p == pytest.approx(solutions[0], rel=1e-4, abs=1e-4 * max(np.abs(solutions[0]).max(), 1.0))
    assert 0 < failed < 0.06 * count


# Against MuJoCo


@pytest.mark.term
def test_a_sliding_puck_stops_where_mujocos_does():
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option timestep="0.0005" cone="elliptic" impratio="100"><flag multiccd="disable"/></option>
        <default><geom solref="0.002 1" solimp="0.99 0.999 0.0001"/></default>
        <worldbody><geom type="plane" size="9 9 1" friction="0.3" condim="3"/>
        <body pos="0 0 0.1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
        <geom type="sphere" size="0.1" mass="2" friction="0.3" condim="3"/></body></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    data.qvel[0] = 2.0
    for _ in range(2000):
        mujoco.mj_step(model, data)
    run = simulate(Neuromechanic(puck(friction=0.3), 5e-4), np.zeros(0), 1.0, start={"v": [2.0, 0.0]})
    assert run["q"][-1, 0] == pytest.approx(data.qpos[0], rel=0.01)


def test_the_standing_figure_sways_as_in_mujoco():
    """On ground that tilts by 2 degrees, hips as springs; MuJoCo's contacts are made as hard as its step allows."""
    mujoco = pytest.importorskip("mujoco")
    description = standing_on_springs()
    description["gravity"] = [G * np.sin(np.deg2rad(2.0)), -G * np.cos(np.deg2rad(2.0)), 0.0]
    model, data = in_mujoco(description, 2e-4)
    model.opt.impratio = 100.0
    model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    model.geom_solref[:] = [1e-3, 1.0]
    model.geom_solimp[:, :3] = [0.99, 0.999, 1e-4]
    run = simulate(Neuromechanic(description, 2e-4), np.zeros(0), 1.0, every=0.1)
    for k in range(1, 11):
        for _ in range(500):
            mujoco.mj_step(model, data)
        assert data.qpos[2:] == pytest.approx(run["q"][k, 2:], abs=1e-3)
        push = [np.zeros(6) for _ in range(data.ncon)]
        for i in range(data.ncon):
            mujoco.mj_contactForce(model, data, i, push[i])
        assert sorted(p[0] for p in push) == pytest.approx(sorted(run["contact_force"][k, :, 1]), rel=0.02)
    assert np.abs(run["q"][-1] - run["q"][0])[2:].max() > 0.02


# Ground, delays and gains


def reflex(delay, gain=-30.0, by=None):
    synapse = {"from": "joint.rod.position", "gain": gain, "delay": delay} | ({"by": by} if by else {})
    rod = {"joint": {"type": "revolute", "axis": [0, 0, 1], "start": 0.3, "damping": 0.5}} | heavy(2.0, 0.2, 0.0, 0.2)
    return {
        "schema": 1,
        "body": {"rod": rod},
        "neuron": {"stretch": {"synapse": [synapse]}},
        "motor": {"hinge": {"joint": "rod", "from": "neuron.stretch"}},
    }


@pytest.mark.parametrize("scheme", ["semi_implicit", "rk4"])
def test_the_factor_on_delays_shortens_them(scheme):
    short = simulate(Neuromechanic(reflex(0.03), scheme=scheme), np.zeros(0), 0.5)
    animal = Neuromechanic(reflex(0.06), scheme=scheme)
    half = simulate(animal, np.zeros(0), 0.5, start={"delay": 0.5})
    assert half["q"] == pytest.approx(short["q"], abs=1e-12)
    assert np.abs(simulate(animal, np.zeros(0), 0.5)["q"] - short["q"]).max() > 1e-2
    between = simulate(animal, np.zeros(0), 0.5, start={"delay": 0.4875})  # 29.25 steps
    near = [simulate(Neuromechanic(reflex(d), scheme=scheme), np.zeros(0), 0.5)["q"] for d in (0.029, 0.03)]
    assert between["q"] == pytest.approx(0.75 * near[0] + 0.25 * near[1], abs=1e-4)
