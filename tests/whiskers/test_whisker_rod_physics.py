"""The whisker against closed forms, against scipy's solvers, and against what must not change."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad, solve_bvp, solve_ivp
from scipy.optimize import brentq
from scipy.special import ive, jv, kve, yv

from gymnosoma.envs import simulate
from gymnosoma.envs.whisker_rod import Relief, WhiskerRod, WhiskerRodParams, body
from gymnosoma.envs.whisker_rod.statics import equilibrium
from papers.whisker_rod.reference import Reference

pytestmark = pytest.mark.full

SLIDE = np.array([[0.2, 0.0, 0.0]])
AIR = {"plate_distance": 1.0}
SCHEMES = ("midpoint", "published")
both = pytest.mark.parametrize("scheme", SCHEMES)


def started(animal, count=1, **start):
    rows = animal.rows(count)
    animal.reset(rows, np.arange(count), start)
    return rows


def radius(p, s):
    return p.base_radius + (p.tip_radius - p.base_radius) * s / p.length


@pytest.mark.term
def test_segments_hold_the_mass_and_inertia_of_the_cone():
    p = WhiskerRodParams(n_segments=7, curvature_base=20.0, curvature_tip=-60.0)
    animal = WhiskerRod(p)
    h, m, jp, stiffness, viscosity, rest = animal.rods(animal.rows(1))[0]
    node = np.append(0.0, np.cumsum(h))
    assert node[-1] == pytest.approx(p.length, rel=1e-14)

    def integral(a, b, weight, power, factor):
        return quad(lambda s: p.density * np.pi * factor * radius(p, s) ** power * weight(s - a, b - s), a, b)[0]

    outer = [integral(a, b, lambda i, o: i / (i + o), 2, 1.0) for a, b in pairwise(node)]
    inner = [integral(a, b, lambda i, o: o / (i + o), 2, 1.0) for a, b in pairwise(node)]
    np.testing.assert_allclose(m, outer + np.append(inner[1:], 0.0), rtol=1e-12)
    turning = [integral(a, b, lambda i, o: 1.0, 4, 0.25) for a, b in pairwise(node)]
    lever = [integral(a, b, lambda i, o: i * o, 2, 1.0) for a, b in pairwise(node)]
    np.testing.assert_allclose(jp, np.subtract(turning, lever), rtol=1e-10)
    middle = 0.5 * (node[1:] + node[:-1])
    cell = np.diff(middle, prepend=0.0)
    np.testing.assert_allclose(stiffness, p.youngs_modulus * np.pi / 4 * radius(p, node[:-1]) ** 4 / cell, rtol=1e-13)
    delta = 0.5 * p.density * np.sqrt(p.youngs_modulus / p.density) * p.base_radius**3
    np.testing.assert_allclose(viscosity, delta * np.pi * radius(p, node[:-1]) ** 2 / cell, rtol=1e-13)
    np.testing.assert_allclose(np.cumsum(rest), 20.0 * middle - 40.0 * middle**2 / p.length, rtol=1e-12)


def cone_frequencies(p, count):
    """Clamped-free modes of a truncated cone without rotary inertia, Hz, from its Bessel functions."""
    base = p.length * p.base_radius / (p.base_radius - p.tip_radius)  # distance from the apex
    tip = base - p.length
    wave = 2.0 * base * np.sqrt(p.density / p.youngs_modulus) / p.base_radius

    def determinant(f):
        # As EI ~ x^4 and rho A ~ x^2, the shapes are Z_2(z)/x with z = 2 sqrt(k x) and Z = J, Y, I, K.
        k = 2.0 * np.pi * f * wave
        z0, z1 = 2.0 * np.sqrt(k * tip), 2.0 * np.sqrt(k * base)
        shapes = (
            (jv, -1.0),
            (yv, -1.0),
            (lambda n, z: ive(n, z) * np.exp(z - z1), 1.0),
            (lambda n, z: kve(n, z) * np.exp(z0 - z), -1.0),
        )
        columns = [(Z(2, z1), s * Z(3, z1), Z(4, z0), 4.0 * Z(4, z0) + s * z0 / 2.0 * Z(5, z0)) for Z, s in shapes]
        matrix = np.array(columns).T
        return np.linalg.det(matrix / np.abs(matrix).max(1, keepdims=True))

    grid = np.linspace(20.0, 1500.0, 400)
    values = [determinant(f) for f in grid]
    pairs = zip(pairwise(grid), pairwise(values), strict=True)
    return np.array([brentq(determinant, *ends) for ends, (u, v) in pairs if u * v < 0])[:count]


@pytest.mark.term
def test_modes_are_those_of_the_cone():
    """N = 30: 0.34% at mode 6; the error falls as 1/N^2."""
    exact = cone_frequencies(WhiskerRodParams(), 6)
    np.testing.assert_allclose(exact[:4], [88.37, 215.87, 399.4, 646.4], atol=0.06)
    errors = []
    for n in (30, 60):
        animal = WhiskerRod(WhiskerRodParams(n_segments=n))
        errors.append(Reference(animal, started(animal, **AIR)[0]).modes()[0][:6] / exact - 1.0)
    assert np.abs(errors[0]).max() < 3.6e-3 and abs(errors[0][1]) < 4e-4
    assert (np.abs(errors[1]) < 0.35 * np.abs(errors[0])).all()


def elastica(p, distance, mu, start):
    """Static whisker by scipy's boundary-value solver: theta, M, y along s, and the normal force."""

    def slope(s, z, force):
        theta, moment = z[:2]
        stiffness = p.youngs_modulus * np.pi / 4 * radius(p, s) ** 4
        curvature = p.curvature_base + (p.curvature_tip - p.curvature_base) * s / p.length
        push = force[0] * 1e-6 * (mu * np.sin(theta) + np.cos(theta))
        return np.array([moment * 1e-9 / stiffness + curvature, push * 1e9, np.sin(theta)])

    def ends(a, b, force):
        return np.array([a[0] - np.pi / 2, a[2], b[1], b[2] - distance])

    s, theta, force = start
    moment = np.gradient(theta, s) * p.youngs_modulus * np.pi / 4 * radius(p, s) ** 4
    y = np.append(0.0, np.cumsum(np.diff(s) * np.sin(theta[1:])))
    solution = solve_bvp(slope, ends, s, np.array([theta, moment * 1e9, y]), [force * 1e6], tol=1e-8, max_nodes=50_000)
    assert solution.success
    return solution.sol(s)[0], solution.p[0] * 1e-6


@pytest.mark.term
@pytest.mark.parametrize(
    ("mu", "curvature", "ybar"), [(0.0, 0.0, 0.98), (0.2, 0.0, 0.98), (0.1, 0.0, 0.99), (0.0, -20.0, 0.97)]
)
def test_equilibrium_is_the_elasticas(mu, curvature, ybar):
    """Normal force within 0.10% at N = 30 (frictionless, 0.98 l), 0.034% at N = 50; measured."""
    errors = []
    for n in (30, 50):
        p = WhiskerRodParams(n_segments=n, curvature_tip=curvature)
        animal = WhiskerRod(p)
        rows = started(animal, plate_distance=ybar * p.length, friction_coefficient=mu)
        rod, theta = animal.rods(rows)[0], rows["segment_angle"][0].copy()
        force = equilibrium(rod, np.pi / 2, ybar * p.length, mu, theta)
        node = np.append(0.0, np.cumsum(rod[0]))
        at_nodes = np.interp(node, 0.5 * (node[1:] + node[:-1]), theta)
        angles, exact = elastica(p, ybar * p.length, mu, (node, at_nodes, force))
        errors.append(abs(force / exact - 1.0))
        assert rows["tip"][0, 1] == pytest.approx(ybar * p.length, abs=1e-13)
        assert np.abs(angles - at_nodes)[1:-1].max() < 0.03
    assert errors[0] < 2e-3 and errors[1] < 0.45 * errors[0]
    if mu == curvature == 0.0:
        assert errors[0] < 1.1e-3 and errors[1] < 3.7e-4


def plucked(animal, tip_angle=0.3):
    """In air, bent in the shape of its first mode."""
    shape = Reference(animal, started(animal, **AIR)[0]).modes()[1][:, 0]
    return started(animal, segment_angle=np.pi / 2 - tip_angle * shape, **AIR)


def test_energy_is_kept_without_damping():
    """Free swing over 20 ms: the drift falls with dt^2."""
    drifts = []
    for dt in (20e-6, 10e-6, 5e-6):
        animal = WhiskerRod(WhiskerRodParams(damping=0.0), dt=dt)
        rows = plucked(animal)
        start, worst = animal.energy(rows)[0], 0.0
        for _ in range(100):
            animal.advance(rows, np.arange(1), 0.0 * SLIDE, round(2e-4 / dt))
            worst = max(worst, abs(animal.energy(rows)[0] / start - 1.0))
        drifts.append(worst)
    assert drifts[1] < 0.35 * drifts[0] and drifts[2] < 0.35 * drifts[1]
    assert drifts[1] < 1e-3


def compared(animal, rows, reference, touching, every=2e-4, duration=10e-3, tolerance=1e-7):
    """Tip (T, 2) and base moment (T,) by the kernels and by Radau IIA."""
    times = np.arange(round(duration / every) + 1) * every
    n = animal.params.n_segments
    exact = reference.integrate(rows[0], times, touching, tolerance)
    theta, omega = exact[:, :n], exact[:, n : 2 * n]
    tip = np.stack([np.cos(theta) @ reference.h, np.sin(theta) @ reference.h], 1)
    deflection = theta[:, 0] - reference.base - reference.base_rate * times - reference.rest[0]
    moment = reference.stiffness[0] * deflection + reference.viscosity[0] * (omega[:, 0] - reference.base_rate)
    ours = [(rows["tip"][0].copy(), animal.signal(rows, "moment")[0, 0])]
    drive = np.array([[reference.speed, 0.0, reference.base_rate]])
    for _ in times[1:]:
        animal.advance(rows, np.arange(1), drive, round(every / animal.dt))
        ours.append((rows["tip"][0].copy(), animal.signal(rows, "moment")[0, 0]))
    return np.array([o[0] for o in ours]), tip, np.array([o[1] for o in ours]), moment


@pytest.mark.slow
def test_stick_slip_is_second_order():
    """The tip after 10 ms: 0.13, 0.51 um at 10, 20 us, N = 30 (measured)."""
    errors = []
    for dt in (20e-6, 10e-6):
        animal = WhiskerRod(WhiskerRodParams(n_segments=30), dt=dt)
        rows = started(animal)
        tip, exact, *_ = compared(animal, rows, Reference(animal, rows[0], 0.2), True)
        errors.append(np.linalg.norm(tip - exact, axis=1).max())
    assert errors[1] < 0.3 * errors[0] and errors[1] < 0.16e-6


@pytest.mark.term
def test_motion_in_air_agrees_with_radau():
    """A curved whisker with external damping, swung from its base."""
    animal = WhiskerRod(WhiskerRodParams(n_segments=20, curvature_tip=-40.0, external_damping=200.0), dt=5e-6)
    rows = started(animal, **AIR)
    reference = Reference(animal, rows[0], 0.0, base_rate=3.0)
    tip, exact, moment, exact_moment = compared(animal, rows, reference, False)
    assert np.ptp(exact[:, 0]) > 500e-6
    assert np.linalg.norm(tip - exact, axis=1).max() < 0.1e-6
    assert np.std(moment - exact_moment) < 2e-3 * np.std(exact_moment)


PUBLISHED = {
    "in air": (AIR | {"segment_angle": np.pi / 2 - 0.3 * np.linspace(0, 1, 30) ** 2}, 0.0),
    "sliding": ({}, 0.2),
}


def course_of(dt, start, speed, every=5e-4, duration=10e-3):
    """Course of the tip (T, 2) by the published scheme."""
    animal = WhiskerRod(WhiskerRodParams(n_segments=30), dt=dt, scheme="published")
    rows, tips = started(animal, **start), []
    for _ in range(round(duration / every)):
        animal.advance(rows, np.arange(1), speed / 0.2 * SLIDE, round(every / dt))
        tips.append(rows["tip"][0].copy())
    assert rows["status"][0] == 0.0
    return np.array(tips)


@pytest.mark.parametrize("what", PUBLISHED)
def test_published_is_of_fifth_order(what):
    """The tip's error falls by 32 when the step is halved: measured 25 and 33 in air, 28 and 35 sliding."""
    fine = course_of(2.5e-6, *PUBLISHED[what])
    errors = [np.abs(course_of(dt, *PUBLISHED[what]) - fine).max() for dt in (50e-6, 25e-6, 12.5e-6)]
    assert np.log2(np.divide(errors[:-1], errors[1:])).min() > 4.5, errors
    assert errors[0] < 20e-9  # m: 17 nm in air, 2.5 nm sliding (measured)


@pytest.mark.parametrize(
    "dt, off, moments",
    [pytest.param(50e-6, 5e-9, 5e-3, marks=pytest.mark.slow), pytest.param(25e-6, 2e-10, 5e-4, marks=pytest.mark.slow)],
)
def test_published_agrees_with_scipys_radau(dt, off, moments):
    """Stick-slip over 10 ms: the paper's method, here and in scipy."""
    animal = WhiskerRod(WhiskerRodParams(n_segments=30), dt=dt, scheme="published")
    rows = started(animal)
    reference = Reference(animal, rows[0], 0.2)
    tip, exact, moment, exact_moment = compared(animal, rows, reference, True, tolerance=1e-10)
    assert np.ptp(exact[:, 0]) > 400e-6
    assert np.linalg.norm(tip - exact, axis=1).max() < off
    assert np.std(moment - exact_moment) < moments * np.std(exact_moment)


@pytest.mark.parametrize(("memory_length", "mode"), [(50e-6, 1), (500e-6, 0)])
def test_growth_of_vibration_is_the_eigenvalues(memory_length, mode):
    """A mode, plucked while sliding steadily, grows (L = 50 um, mode 2) or decays (500 um, mode 1) as computed."""
    animal = WhiskerRod(WhiskerRodParams(n_segments=30, memory_length=memory_length))
    rows = started(animal, friction_coefficient=0.199)
    reference = Reference(animal, rows[0], 0.2)
    theta, _ = reference.sliding(rows[0])
    rate = reference.growth(rows[0])[mode]
    start = {"segment_angle": theta + 1e-3 * (np.arange(30) / 29) ** 4, "friction_coefficient": 0.199}
    run = simulate(animal, SLIDE[0], 0.25, every=0.25e-3, hold=0.25e-3, start=start)
    moment = run["base_wrench"][1:, 0]
    window = np.hanning(200) * np.exp(-1j * rate.imag * run.time[:200])
    parts = [moment[k : k + 200] - moment[k : k + 200].mean() for k in (0, 400, 800)]
    growth = np.diff([np.log(np.abs(np.sum(window * part))) for part in parts]) / 0.1
    np.testing.assert_allclose(growth, rate.real, atol=0.5)


def test_friction_state_is_exact():
    """Eq. 13 at a constant slip speed, for slow and fast slip."""
    V, L = 1e-6, 10e-6
    for slip in (0.0, 1e-5, 1e-3, 0.05, 0.6):
        for t in (5e-6, 1e-4):
            exact = solve_ivp(lambda _, y, u=slip: (V - u * y) / L, (0, t), [3e-6], rtol=1e-12, atol=1e-20).y[0, -1]
            z = slip * t / L
            value, slope = body.aged(3e-6, V * t / L, z, np.exp(-z))
            assert value == pytest.approx(exact, rel=1e-9)
            near = body.aged(3e-6, V * t / L, z + 1e-6, np.exp(-z - 1e-6))[0]
            assert slope == pytest.approx((near - value) / 1e-6, rel=1e-4)


@pytest.mark.term
def test_sliding_friction_obeys_the_printed_law():
    """Eq. 13 over sticks and slips with Table 1: a 0.035, b 0.049, V_* 1 um/s, L 10 um; and our mu_*."""
    run = simulate(WhiskerRod(WhiskerRodParams(n_segments=20), dt=1e-6), SLIDE[0], 0.02)
    slip, phi, mu = (run[name][-10_000:] for name in ("slip_speed", "friction_state", "friction_coefficient"))
    slip, mu, middle = slip[1:], mu[1:], 0.5 * (phi[1:] + phi[:-1])  # of each step's middle
    law = 0.035 * np.arcsinh(slip / 2e-6 * np.exp((0.37 + 0.049 * np.log(middle)) / 0.035))
    ageing = 1e-6 * (1e-6 - slip * middle) / 10e-6
    assert np.abs(mu - law).max() < 1e-3 * np.abs(law).max()
    assert np.abs(np.diff(phi) - ageing).max() < 1e-2 * np.abs(ageing).max()
    assert slip.max() > 5.0 * slip.min()


@both
def test_the_plate_only_pushes(scheme):
    """Lifted off by a jerk of the plate, the whisker touches down again; the plate never pulls."""
    animal = WhiskerRod(scheme=scheme)
    rows = started(animal)
    ids = np.arange(1)
    contact, gap = [], []
    for k in range(2000):
        speed = 3.0 if k == 200 else 0.0  # 0.3 mm away within 0.1 ms
        animal.advance(rows, ids, np.array([[0.2, speed, 0.0]]), round(100e-6 / animal.dt))
        assert rows["status"][0] == 0.0
        assert rows["tip_force"][0, 1] <= 0.0
        contact.append(rows["contact"][0])
        gap.append(animal.signal(rows, "gap")[0])
    contact, gap = np.array(contact), np.array(gap)
    assert contact[:200].min() == pytest.approx(1.0) and contact.min() == 0.0
    assert contact[-200:].mean() > 0.99
    assert np.min(gap) > -1e-6 and np.max(gap) > 20e-6  # 0.3 um deep at the worst (measured)
    assert 1e-6 < rows["friction_state"][0] < 1.0


@pytest.mark.parametrize("scheme", [pytest.param("midpoint", marks=pytest.mark.term), "published"])
def test_base_wrench_balances_momentum(scheme):
    """Force of the plate less that on the base is the change of momentum."""
    animal = WhiskerRod(WhiskerRodParams(n_segments=20), dt=5e-6, scheme=scheme)
    rows = started(animal)
    m = animal.rods(rows)[0, 1]

    def momentum():
        return m @ animal.signal(rows, "velocity")[0, 1:]

    animal.advance(rows, np.arange(1), SLIDE, 1001)
    before, sums = momentum(), np.zeros(2)
    for _ in range(400):
        animal.advance(rows, np.arange(1), SLIDE, 1)
        sums += rows["tip_force"][0] - rows["base_wrench"][0, 1:]
    change = momentum() - before
    np.testing.assert_allclose(animal.dt * sums, change, atol=2e-4 * np.abs(change).max())


@both
def test_samples_and_means_of_the_wrench(scheme):
    animal = WhiskerRod(dt=10e-6, scheme=scheme)
    rows, single = started(animal), started(animal)
    animal.advance(rows, np.arange(1), SLIDE, 200)
    parts = []
    for _ in range(200):
        animal.advance(single, np.arange(1), SLIDE, 1)
        parts.append(single["base_wrench"][0].copy())
        assert (single["base_wrench_samples"][0] == parts[-1]).all()
    samples = np.reshape(parts, (8, 25, 3)).mean(1)
    np.testing.assert_allclose(rows["base_wrench_samples"][0], samples, rtol=1e-12, atol=1e-20)
    np.testing.assert_allclose(rows["base_wrench_mean"][0], np.mean(parts, 0), rtol=1e-12, atol=1e-20)


@both
def test_time_may_be_cut_anywhere(scheme):
    animal = WhiskerRod(scheme=scheme)
    whole, cut = started(animal), started(animal)
    animal.advance(whole, np.arange(1), SLIDE, 300)
    for steps in (1, 7, 92, 200):
        animal.advance(cut, np.arange(1), SLIDE, steps)
    for name in ("segment_angle", "segment_rate", "cosine", "sine", "tip", "friction_state", "band"):
        assert np.array_equal(whole[name], cut[name])


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "threads"), [("midpoint", 2), ("published", 2)])
def test_a_whisker_does_not_depend_on_its_neighbours(scheme, threads):
    """Bit for bit, over lift-offs, divided steps, failures and reliefs."""
    count = 37
    length = WhiskerRodParams().length
    start = {
        "plate_distance": np.linspace(0.978, 0.995, count) * length,
        "memory_length": np.geomspace(5e-6, 100e-6, count),
        "relief": np.arange(count) % 2.0,
    }
    relief = Relief.random(201e-6, 0.2)
    many, one = (WhiskerRod(dt=5e-6, scheme=scheme, relief=relief, threads=number) for number in (threads, 1))
    rows, singles = started(many, count, **start), started(one, count, **start)
    rng = np.random.default_rng(0)
    for _ in range(10):
        drive = np.stack([rng.uniform(-0.4, 0.8, count), rng.uniform(-0.05, 0.05, count), rng.uniform(-8, 8, count)], 1)
        many.advance(rows, np.arange(count), drive, 150)
        for b in range(count):
            one.advance(singles, np.array([b]), drive[b : b + 1], 150)
    assert rows.tobytes() == singles.tobytes()
    assert 3 < np.sum(rows["status"] != 0.0) < count - 3


def test_reliefs():
    x = np.linspace(0.0, 3e-3, 7001)

    def profile(relief):
        c = relief.coefficients()
        return np.array([body.surface(c, relief.period, s) for s in x]).T

    height, slope = profile(Relief.sine(10e-6, 200e-6))
    np.testing.assert_allclose(height, 10e-6 * np.sin(2 * np.pi * x / 200e-6), atol=1e-9)
    np.testing.assert_allclose(slope, np.pi / 10 * np.cos(2 * np.pi * x / 200e-6), atol=3e-4)
    rough = Relief.random(201e-6, 0.3, seed=4)
    x = np.linspace(0.0, rough.period, 20001)
    height, slope = profile(rough)
    assert np.sqrt(np.mean(slope**2)) == pytest.approx(0.3, rel=0.01)
    np.testing.assert_allclose(np.gradient(height, x)[1:-1], slope[1:-1], atol=2e-3)
    power = np.abs(np.fft.rfft(height[:-1])) ** 2
    wavelength = rough.period / np.average(np.arange(len(power)), weights=power)
    assert wavelength == pytest.approx(201e-6, rel=0.1)
    height, slope = profile(Relief.flat())
    assert not height.any() and not slope.any()


@both
def test_the_tip_follows_a_slow_grating(scheme):
    """Pushed slowly over a shallow grating, the tip stays on it."""
    relief = Relief.sine(5e-6, 1e-3)
    animal = WhiskerRod(WhiskerRodParams(memory_length=500e-6), dt=5e-6, scheme=scheme, relief=relief)
    rows = started(animal, plate_distance=0.985 * animal.params.length)
    coefficients = relief.coefficients()
    for k in range(100):
        animal.advance(rows, np.arange(1), 0.25 * SLIDE, 100)
        place = rows["tip"][0, 0] - rows["plate_position"][0]
        height = body.surface(coefficients, relief.period, place)[0]
        if k > 10:
            assert rows["contact"][0] == pytest.approx(1.0)
            assert rows["tip"][0, 1] == pytest.approx(rows["plate_distance"][0] + height, abs=0.05e-6)


@pytest.mark.parametrize("scheme", [pytest.param("midpoint", marks=pytest.mark.term), "published"])
def test_a_relief_pushes_along_its_normal(scheme):
    """At rest, the force on the base is that of the plate: normal to the slope, and friction along it."""
    relief, params = Relief.sine(20e-6, 1e-3), WhiskerRodParams(n_segments=10, external_damping=1e3)
    animal = WhiskerRod(params, dt=2e-5, scheme=scheme, relief=relief)
    rows = started(animal, plate_distance=0.985 * params.length)
    animal.advance(rows, np.arange(1), np.zeros((1, 3)), 2500)
    place = rows["tip"][0, 0] - rows["plate_position"][0]
    slope = 0.04 * np.pi * np.cos(2 * np.pi * place / 1e-3)
    mu = animal.signal(rows, "friction_coefficient")[0]
    _, fx, fy = animal.signal(rows, "base_wrench")[0]
    assert fx / fy == pytest.approx((slope + mu) / (mu * slope - 1.0), abs=1e-3)
    assert abs(slope) > 0.03
