"""Invariants of the worm's mechanics, an independent solver, independence of batching, and clear failures."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from gymnosoma.envs import simulate
from gymnosoma.envs.core.kernels.maths import sincos
from gymnosoma.envs.core.model.chain import chain_points, self_crossing
from gymnosoma.envs.worm import Worm, WormParams, medium
from gymnosoma.envs.worm.body import BROKEN, FOLDED
from gymnosoma.envs.worm.kymogram import KymogramPlayback, SineKymogram
from papers.simulations import ensemble

SCHEMES = ("midpoint", "published")


def wave(sigma, n):
    return SineKymogram.for_medium(sigma, ramp=0.0, n_joints=n - 1)


def continuous_model(params, control, duration):
    """Solve the model with scipy, written in minimal coordinates (rod angles, centre) instead of joint forces.

    From straight rest. Returns rod angles and centre.
    """
    n = params.n_rods
    mass, length, friction = np.ones((3, n)) if params.rod_mass is None else params.profile
    m, r = params.mass / n * mass, params.length / (2 * n) * length
    inertia = m * r**2 / 3
    b_par, b_perp = params.friction_parallel / n * friction, params.friction_perpendicular / n * friction
    stiffness, damping, gain = map(np.asarray, (params.stiffness, params.damping, params.control_gain))
    # Rod centres relative to the centre of mass: d_i = sum_j lever_ij (cos s_j, sin s_j).
    lever = np.tril(np.full((n, n), 2 * r), -1) + r * np.eye(n)
    lever -= m @ lever / params.mass
    coupling = lever.T @ (m[:, None] * lever)

    def slope(t, y):
        s, _, omega, v_centre = np.split(y, [n, n + 2, 2 * n + 2])
        along, normal = np.stack([np.cos(s), np.sin(s)]), np.stack([-np.sin(s), np.cos(s)])
        v = v_centre[:, None] + (omega * normal) @ lever.T
        force = -b_par * (v * along).sum(0) * along - b_perp * (v * normal).sum(0) * normal
        theta = np.diff(s)
        tau = stiffness * (theta - gain * control(t)) + damping * np.diff(omega)
        tau = tau / np.cos(theta / 2) ** 2
        torque = np.append(tau, 0) - np.append(0, tau) - b_perp * r**2 / 3 * omega + (force @ lever * normal).sum(0)
        gap = s[:, None] - s
        alpha = np.linalg.solve(
            coupling * np.cos(gap) + inertia * np.eye(n), torque - (coupling * np.sin(gap)) @ omega**2
        )
        return np.concatenate([omega, v_centre, alpha, force.sum(1) / params.mass])

    scale = np.concatenate([np.ones(n), np.full(2, params.length), np.ones(n), np.full(2, params.length)])

    def f(t, z):
        return slope(t, z * scale) / scale

    def jacobian(t, z):
        """By complex steps: exact, where differences fail on a model with rates from 1 to 1e9 per second."""
        return np.stack([f(t, z + 1e-30j * e).imag * 1e30 for e in np.eye(len(z))], 1)

    # Tightening to 1e-9 changes the angles by 1e-11.
    run = solve_ivp(f, (0, duration), np.zeros(2 * n + 4), "Radau", jac=jacobian, rtol=1e-8, atol=1e-10)
    assert run.success
    end = run.y[:, -1] * scale
    return end[:n], end[n : n + 2]


def end_of(params, scheme, dt, duration, control):
    run = simulate(Worm(params, dt, scheme), control, duration, every=duration)
    assert run.failure is None
    return run["rod_angle"][-1], run["centre"][-1]


# Largest error of an angle (rad) and of the centre (body lengths) at 5 ms, as measured after 0.1 s.
ERRORS = {
    (10, 0.0): (1.55e-4, 1.68e-6),
    (50, 1.0): (3.19e-5, 3.07e-7),
}


@pytest.mark.parametrize("n, sigma", [pytest.param(*e, marks=[pytest.mark.full] * (e[0] > 10)) for e in ERRORS])
def test_midpoint_converges_to_the_model_with_order_two(n, sigma):
    """With a command that starts smoothly; a jump adds an initial layer that no step above 1e-5 s resolves."""
    params, sine, duration = WormParams.in_medium(sigma, n_rods=n), wave(sigma, n), 0.1

    def control(t):
        return sine(t) * np.sin(0.5 * np.pi * t / duration) ** 2

    angle, centre = continuous_model(params, control, duration)
    steps = 5e-3 / 2.0 ** np.arange(5)
    ends = [end_of(params, "midpoint", dt, duration, control) for dt in steps]
    errors = np.array([(np.abs(s - angle).max(), np.linalg.norm(x - centre) / params.length) for s, x in ends])
    np.testing.assert_allclose(errors[0], ERRORS[n, sigma], rtol=0.02)
    order = np.log2(errors[-2] / errors[-1])
    assert 1.95 < order[0] < 2.05
    assert 1.85 < order[1] < 2.05  # the centre's own error is smaller and settles later


@pytest.mark.parametrize(
    "sigma, midpoint, published",
    [pytest.param(1.0, (4.8e-4, 1.9e-5), 1.8e-3, marks=pytest.mark.full), (0.0, (2.6e-3, 1.05e-4), 8.3e-2)],
)
def test_error_of_the_head_after_ten_seconds(sigma, midpoint, published):
    """In mm, from straight rest, against the midpoint scheme at 0.2 ms (itself within 3e-6 mm of 0.05 ms)."""
    params, sine = WormParams.in_medium(sigma), wave(sigma, 25)

    def head(scheme, dt, hold=None):
        return simulate(Worm(params, dt, scheme), sine, 10.0, every=10.0, hold=hold)["head"][-1]

    reference = head("midpoint", 2e-4)
    for dt, error in zip((5e-3, 1e-3), midpoint, strict=True):
        assert 1e3 * np.linalg.norm(head("midpoint", dt) - reference) < 1.02 * error
    assert 1e3 * np.linalg.norm(head("published", 1e-5, 1e-3) - reference) < published


def test_friction_and_power_converge_with_order_two():
    """In water and on agar, at the middles of the steps, which coincide for steps of odd ratio; against 0.1 ms."""
    sines = [wave(sigma, 25) for sigma in (0.0, 1.0)]

    def control(t):
        return np.array([sine(t) for sine in sines])

    def course(ratio):
        dt = 4.5e-3 / ratio
        start = medium([0.0, 1.0]) | {"joint_angle": control(0.0)}
        run = ensemble(Worm(dt=dt), control, 2, 0.9, dt, start=start, signals=("friction_force", "power"))
        # The jump at the start leaves an initial layer, which is over after 0.4 s.
        middles = slice((ratio + 1) // 2 + 90 * ratio, None, ratio)
        return run["friction_force"][middles], run["power"][middles]

    force, power = course(45)
    strongest, highest = np.linalg.norm(force, axis=-1).max((0, 2)), power.max(0)
    errors = np.array(
        [
            [np.linalg.norm(f - force, axis=-1).max((0, 2)) / strongest, np.abs(p - power).max(0) / highest]
            for f, p in map(course, (1, 3, 9))
        ]
    )
    # At 4.5 ms: of the friction on a rod (of the peak friction), and of the power (of the peak power).
    np.testing.assert_allclose(errors[0], [(1.87e-3, 8.11e-4), (3.73e-4, 1.04e-5)], rtol=0.02)
    order = np.log(errors[:-1] / errors[1:]) / np.log(3)
    assert (order > 1.9).all()  # with the angles of the whole step it is 1


@pytest.mark.parametrize("scheme", SCHEMES)
def test_friction_at_the_start_is_that_of_the_start(scheme):
    worm, ids = Worm(scheme=scheme), np.zeros(1, np.int64)
    rows = worm.rows(1)
    worm.reset(rows, ids, {"rod_angle": np.full(25, 0.3), "rod_rate": 2.0, "centre_velocity": (1e-3, 0.0)})
    velocity, (sin, cos) = worm.signal(rows, "rod_velocity")[0], (np.sin(0.3), np.cos(0.3))
    par, perp = velocity @ (cos, sin), velocity @ (-sin, cos)
    force = -(np.outer(0.0032 * par, (cos, sin)) + np.outer(0.128 * perp, (-sin, cos))) / 25
    np.testing.assert_allclose(worm.signal(rows, "friction_force")[0], force, rtol=1e-12)
    np.testing.assert_allclose(worm.signal(rows, "power"), (0.0032 * par @ par + 0.128 * perp @ perp) / 25)


def test_a_straight_worm_in_water_stops_as_printed():
    """Its speed falls as exp(-b t / m), with 2 ug, 5.2e3 ug/s across the body, and 1.5 times less along it."""
    worm, start = Worm(WormParams.in_medium(0.0), 1e-6), {"centre_velocity": (1e-3, 1e-3)}
    run = simulate(worm, np.zeros(24), 5e-4, every=5e-4, start=start)
    speed = (run["centre"][-1] + 0.5e-6 * run["centre_velocity"][-1]) / 1e-3  # way so far, in s
    rate = np.array([5.2e3 / 1.5, 5.2e3]) / 2.0
    assert speed == pytest.approx(-np.expm1(-5e-4 * rate) / rate, rel=1e-3)


def test_positive_work_of_the_muscles():
    """Against the power: of the midpoint scheme at its own times, of the paper's at the steps' ends.

    A wave in water, from rest. The schemes differ as their waves do: measured 0.8%.
    """
    sine, total = SineKymogram.for_medium(0.0, ramp=0.0), {}
    for scheme, dt, steps, close in (("midpoint", 1e-4, 1, 1e-12), ("published", 1e-5, 10, 1e-2)):
        worm, ids = Worm(WormParams.in_medium(0.0), dt, scheme), np.zeros(1, np.int64)
        rows = worm.rows(1)
        worm.reset(rows, ids)
        work, power = np.zeros((2, 500))
        for k in range(500):
            worm.advance(rows, ids, sine((k + 0.5) * 1e-4)[None], steps)
            work[k], power[k] = rows["muscle_work"][0], worm.signal(rows, "muscle_power")[0]
        assert (work >= 0.0).all()
        total[scheme] = work.sum()
        assert total[scheme] == pytest.approx(1e-4 * power.sum(), rel=close)
    assert total["published"] == pytest.approx(total["midpoint"], rel=0.02)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_muscles_work_only_where_they_have_their_way(scheme):
    """Holding a bend costs nothing; let go, they do what they held, 1/2 kappa theta^2 a joint."""
    params = WormParams.in_medium(0.0)
    worm, ids = Worm(params, 1e-4, scheme), np.zeros(1, np.int64)
    rows = worm.rows(1)
    worm.reset(rows, ids, {"joint_angle": np.full(24, 0.1)})
    worm.advance(rows, ids, np.full((1, 24), 0.1), 10)
    assert rows["muscle_work"][0] < 1e-24
    worm.advance(rows, ids, np.zeros((1, 24)), 40_000)
    assert rows["muscle_work"][0] == pytest.approx(0.5 * params.stiffness * 24 * 0.1**2, rel=1e-3)


@pytest.mark.parametrize("n, offset", [pytest.param(3, 3.09e-4, marks=pytest.mark.full), (25, 5.2e-5)])
def test_published_is_first_order_with_a_limit_beside_the_model(n, offset):
    """Its correction of the angular momentum takes rods for points, so a difference (rad) stays for dt -> 0."""
    params, sine, duration = WormParams.in_medium(1.0, n_rods=n), wave(1.0, n), 0.1
    angle, _ = continuous_model(params, sine, duration)
    coarse, middle, fine = (end_of(params, "published", dt, duration, sine)[0] for dt in (4e-5, 2e-5, 1e-5))
    order = np.log2(np.abs(coarse - middle).max() / np.abs(middle - fine).max())
    assert 0.99 < order < 1.01
    limit = 2 * fine - middle
    assert np.abs(limit - angle).max() == pytest.approx(offset, rel=0.02)


def energy(params, row):
    """Kinetic energy, and elastic energy of the joints about the control angles, of a uniform body, J.

    The elastic torque is kappa (theta - theta_ctrl) / cos^2(theta/2), so its energy is the integral of that.
    """
    m, r = params.mass / params.n_rods, params.length / (2 * params.n_rods)
    kinetic = 0.5 * m * (np.sum(row["rod_velocity"] ** 2) + np.sum(row["rod_rate"] ** 2) * r**2 / 3)
    half, rest = 0.5 * np.diff(row["rod_angle"]), 0.5 * row["control_angle"]
    elastic = 4.0 * ((half - rest) * np.tan(half) + np.log(np.abs(np.cos(half) / np.cos(rest))))
    return kinetic + np.sum(row["stiffness"] * elastic)


def free_chain(scheme, dt, duration=4.0):
    """Let a chain with springs, but without friction and damping, move; momentum, spin, energy at both ends."""
    params = WormParams(
        10, 2e-6, 1e-3, friction_perpendicular=0.0, friction_parallel=0.0, stiffness=1.75e-13, damping=0.0
    )
    worm, ids, rng = Worm(params, dt, scheme), np.zeros(1, np.int64), np.random.default_rng(0)
    rows = worm.rows(1)
    start = {
        "joint_angle": 0.3 * rng.standard_normal(9),
        "rod_rate": np.linspace(-1, 1, 10) + 0.3 * rng.standard_normal(10),
        "centre_velocity": (1e-3, 2e-3),
        "centre": (1e-4, 0.0),
    }
    worm.reset(rows, ids, start)
    rows["control_angle"] = 0.2
    m, r = params.mass / 10, params.length / 20

    def invariants(back):
        now = rows.copy()
        now["rod_angle"] -= back * rows["rod_rate"]
        now["centre"] -= back * rows["centre_velocity"]
        place, velocity = worm.signal(now, "rod_centre"), worm.signal(now, "rod_velocity")
        spin = m * np.cross(place, velocity).sum() + m * r**2 / 3 * now["rod_rate"].sum()
        return m * velocity.sum(1)[0], spin, energy(params, now[0])

    before = invariants(0.0)
    worm.advance(rows, ids, np.full((1, 9), 0.2), round(duration / dt))
    # The midpoint scheme has its velocities half a step before its angles.
    return before, invariants(0.5 * dt if scheme == "midpoint" else 0.0)


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
def test_midpoint_without_friction():
    """Momentum to round-off; angular momentum and energy with an error of third order, energy never gained."""
    losses = []
    for dt in (1e-3, 5e-4):
        (p0, l0, e0), (p1, l1, e1) = free_chain("midpoint", dt)
        np.testing.assert_allclose(p1, p0, rtol=1e-12)  # measured 3e-13
        losses.append((abs(l1 / l0 - 1), 1 - e1 / e0))
    (spin, energy), (spin_half, energy_half) = losses
    assert spin < 2e-6 and 0 < energy < 2e-5  # measured 1.0e-6 and 1.5e-5
    assert spin / spin_half > 2**2.5 and energy / energy_half > 2**2.5


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors:DeprecationWarning")
def test_published_without_friction():
    """Momentum to round-off; angular momentum is off by 0.1% whatever the step, energy falls with first order."""
    losses = []
    for dt in (1e-4, 5e-5):
        (p0, l0, e0), (p1, l1, e1) = free_chain("published", dt, 0.5)
        np.testing.assert_allclose(p1, p0, rtol=1e-14)
        losses.append((abs(l1 / l0 - 1), 1 - e1 / e0))
    (spin, energy), (spin_half, energy_half) = losses
    assert spin == pytest.approx(1e-3, rel=0.05) and spin_half == pytest.approx(spin, rel=0.05)
    assert energy / energy_half == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize("friction", [5.2e-6, 0.128])
@pytest.mark.parametrize("scheme, dt", [("midpoint", 5e-3), ("published", 1e-5)])
def test_isotropic_friction_moves_nothing(scheme, dt, friction):
    worm = Worm(WormParams(friction_perpendicular=friction, friction_parallel=friction), dt, scheme)
    run = simulate(worm, SineKymogram(0.6, 1.0, 0.8, ramp=0.0), 1.0, every=0.5, hold=5e-3)
    assert np.ptp(run["joint_angle"][-1]) > 0.25
    assert np.abs(run["centre"]).max() < 1e-16 * worm.params.length  # measured 3e-18


def random_run(worm, count, steps, seed=1):
    """Rows of different worms with different commands; row i does not depend on ``count``."""
    rng = np.random.default_rng(seed)
    angle, command = 0.5 * rng.standard_normal((2, 64, worm.drive_size))
    sigma = rng.uniform(0, 1, 64)
    rows, ids = worm.rows(count), np.arange(count)
    worm.reset(rows, ids, medium(sigma[:count]) | {"joint_angle": angle[:count]})
    for k in range(3):
        worm.advance(rows, ids, (1 - k) * command[:count], steps)
    return rows


@pytest.mark.parametrize("scheme", ["midpoint", pytest.param("published", marks=pytest.mark.slow)])
@pytest.mark.parametrize("n", [pytest.param(3, marks=pytest.mark.slow), 25])
def test_rows_do_not_depend_on_their_number_or_on_threads(scheme, n):
    params = WormParams(n_rods=n)
    worm = Worm(params, scheme=scheme)
    forty = random_run(worm, 40, 5)
    assert not forty["status"].any()
    for count in (1, 2, 3, 16, 17):
        assert random_run(worm, count, 5).tobytes() == forty[:count].tobytes()
    for threads in (2, 4):
        assert random_run(Worm(params, scheme=scheme, threads=threads), 40, 5).tobytes() == forty.tobytes()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_failures_are_reported_and_stay_in_their_row(scheme):
    worm, ids = Worm(scheme=scheme), np.arange(20)
    command = np.full((20, 24), 0.1)

    def run(break_it):
        rows = worm.rows(20)
        worm.reset(rows, ids)
        drive = command.copy()
        break_it(rows, drive)
        before = rows.copy()
        worm.advance(rows, ids, drive, 10)
        return before, rows

    def fold(rows, drive):
        rows["rod_angle"][5, 12:] += np.pi

    def overflow(rows, drive):
        rows["rod_rate"][5, 3] = 1e300

    def not_a_number(rows, drive):
        drive[5, 7] = np.nan

    _, healthy = run(lambda rows, drive: None)
    assert not healthy["status"].any()
    for break_it, status in ((fold, FOLDED), (overflow, BROKEN), (not_a_number, BROKEN)):
        before, after = run(break_it)
        assert after["status"][5] == status and status in worm.failures
        for name in set(after.dtype.names) - {"status", "control_angle"}:
            np.testing.assert_array_equal(after[name][5], before[name][5])
            assert np.isfinite(after[name][5]).all()
        others = ids != 5
        assert after[others].tobytes() == healthy[others].tobytes()
        # What the failure leaves in the lane's work space must not reach the next worm there.
        assert run(lambda rows, drive: None)[1].tobytes() == healthy.tobytes()


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="long double is no longer than double here")
def test_sincos_against_long_double():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-s, s, 20000) for s in (1e-3, 4.0, 100.0, 1e5)] + [np.pi / 4 * np.arange(-64, 65)])
    ours = np.array([sincos(value) for value in x])
    exact = np.stack([np.sin(x.astype(np.longdouble)), np.cos(x.astype(np.longdouble))], 1)
    assert np.abs(ours - exact).max() < 2e-16  # measured 1.8e-16


def crosses_exactly(points):
    """Tell whether two rods that are not neighbours meet, in rational arithmetic."""
    p = [tuple(map(Fraction, point)) for point in points.tolist()]

    def side(a, b, c):
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    return any(
        side(p[i], p[i + 1], p[j]) * side(p[i], p[i + 1], p[j + 1]) < 0
        and side(p[j], p[j + 1], p[i]) * side(p[j], p[j + 1], p[i + 1]) < 0
        for i in range(len(p) - 1)
        for j in range(i + 2, len(p) - 1)
    )


@pytest.mark.parametrize("spread", [0.0, 0.9])
def test_self_crossing_against_every_pair(spread):
    rng = np.random.default_rng(0)
    angle = np.cumsum(rng.normal(rng.uniform(0, 0.4, (100, 1)), rng.uniform(0.1, 0.8, (100, 1)), (100, 25)), 1)
    points = np.empty((100, 26, 2))
    lengths = 1.0 + spread * (-1.0) ** np.arange(25)
    chain_points(angle, np.zeros((100, 2)), np.ones(100), lengths, np.ones(25), points)
    expected = np.array([crosses_exactly(chain) for chain in points])
    assert 20 < expected.sum() < 80
    crossed = np.empty(100, np.bool_)
    self_crossing(angle, lengths, np.empty((26, 2)), crossed)
    np.testing.assert_array_equal(crossed, expected)


NONE = np.zeros(24)


@pytest.mark.parametrize(
    "make, name",
    [
        (lambda: WormParams(n_rods=25.0), "n_rods"),
        (lambda: WormParams(length=np.nan), "length"),
        (lambda: WormParams.in_medium(np.nan), "sigma"),
        (lambda: simulate(Worm(), NONE, 0.1, start={"joint_angle": NONE[1:]}), "joint_angle"),
        (lambda: simulate(Worm(), NONE, 0.1, every=0.2), "every"),
        (lambda: KymogramPlayback(NONE), "source"),
    ],
)
def test_impossible_arguments_are_named(make, name):
    with pytest.raises(ValueError, match=name):
        make()
