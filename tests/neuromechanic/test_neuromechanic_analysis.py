"""The tools against closed forms and scipy."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import kstest

from gymnosoma.biomechanics import characteristic_roots
from gymnosoma.envs import simulate
from gymnosoma.envs.neuromechanic import Module, Neuromechanic, equilibrate, linearise
from gymnosoma.envs.neuromechanic.analysis import (
    Infeasible,
    Unreachable,
    growth,
    muscle_limits,
    posture,
    quadratic_program,
    sample_patterns,
    shortcut,
)
from gymnosoma.envs.neuromechanic.hindlimb import PAW_FORCE, asset, hindlimb

pytestmark = pytest.mark.full

ONE = np.zeros(1, np.int64)


@pytest.mark.parametrize("seed", range(5))
def test_the_quadratic_program_is_scipys(seed):
    rng = np.random.default_rng(seed)
    n, r = 12, 4
    root = rng.standard_normal((n, n))
    Q, c, A = root @ root.T / n, rng.standard_normal(n), rng.standard_normal((r, n))
    low, high = np.zeros(n), rng.uniform(0.5, 2.0, n)
    b = A @ (high * rng.uniform(0.1, 0.9, n))
    x = quadratic_program(Q, c, A, b, low, high)
    other = minimize(
        lambda x: 0.5 * x @ Q @ x + c @ x,
        0.5 * high,
        jac=lambda x: Q @ x + c,
        method="SLSQP",
        bounds=list(zip(low, high, strict=True)),
        constraints={"type": "eq", "fun": lambda x: A @ x - b, "jac": lambda x: A},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    assert np.abs(A @ x - b).max() < 1e-10
    assert np.abs(x - other.x).max() < 1e-6  # measured: 2e-8, of SLSQP


def test_the_limbs_least_stress_is_scipys():
    model = hindlimb()
    animal = Neuromechanic(model)
    q = animal.rows(1)["q"][0]
    force = PAW_FORCE
    found = equilibrate(animal, q, reaction=force)
    row = posture(animal, q)
    k, most = animal.mechanics(row), animal.model.arrays["max_force"]
    low, high = muscle_limits(animal, row)
    A, b = k["arm"].T, k["arm"].T @ k["force"] - k["tau"] - k["J"].T @ force
    scale = most / 100.0
    other = minimize(
        lambda x: 0.5 * np.sum((x * scale / most) ** 2) * 1e4,
        0.2 * high / scale,
        jac=lambda x: x * (scale / most) ** 2 * 1e4,
        method="SLSQP",
        bounds=list(zip(low / scale, high / scale, strict=True)),
        constraints={"type": "eq", "fun": lambda x: (A * scale) @ x - b, "jac": lambda x: A * scale},
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    assert np.abs(A @ found.force - b).max() < 1e-10
    assert np.abs(found.force - other.x * scale).max() < 1e-3  # measured: 1e-5 N of forces up to 40 N


def lever(**muscle):
    """A rod with an antagonistic pair."""
    model = {
        "schema": 1,
        "gravity": [0, -9.81, 0],
        "inputs": ["flexor", "extensor"],
        "body": {
            "rod": {
                "joint": {"type": "revolute", "axis": [0, 0, 1], "damping": 0.1, "start": 0.3},
                "inertial": {"mass": 2.0, "centre": [0, -0.3, 0], "inertia": [0.02, 0.001, 0.02]},
            }
        },
        "muscle": {},
    }
    for name, side in (("flexor", 1.0), ("extensor", -1.0)):
        model["muscle"][name] = {
            "model": {"type": "rigid_tendon", "max_force": 400.0, "optimal_length": 0.12, "slack_length": 0.2} | muscle,
            "path": [["ground", 0.04 * side, 0.1, 0.0], ["rod", 0.03 * side, -0.2, 0.0]],
            "excitation": f"input.{name}",
        }
    return model


@pytest.mark.parametrize("tendon", ["rigid_tendon", "compliant_tendon", "proportional"])
def test_a_lever_rests_where_it_is_equilibrated(tendon):
    model = lever(type=tendon)
    if tendon == "proportional":
        for muscle in model["muscle"].values():
            muscle["model"] = {"type": tendon, "max_force": 400.0}
    animal = Neuromechanic(model)
    found = equilibrate(animal, [0.3], linear=[-1e-4, -1e-4])
    row = animal.rows(1)
    animal.reset(row, ONE, found.start)
    assert np.abs(animal.rate(row)).max() < 1e-8  # measured: 1e-10
    assert found.activation.max() > 0.01


def test_inputs_are_found_through_neurons():
    model = lever()
    model["muscle"]["flexor"]["excitation"] = "neuron.reflex"
    stretch = {"from": "muscle.flexor.length", "gain": 5.0, "offset": 0.3, "delay": 0.02}
    model["neuron"] = {"reflex": {"shape": {"type": "sigmoid"}, "synapse": [stretch, {"from": "input.flexor"}]}}
    animal = Neuromechanic(model)
    found = equilibrate(animal, [0.3], linear=[-1e-4, -1e-4])
    row = animal.rows(1)
    animal.reset(row, ONE, found.start)
    assert np.abs(animal.rate(row)).max() < 1e-7
    assert np.abs(row["excitation"][0] - found.activation).max() < 1e-9


@pytest.mark.parametrize("name", ["arm", "hindlimb"])
def test_no_equilibrium_pushes(name):
    """At postures far from the start, where some muscles are short; once they held with less than nothing."""
    animal = Neuromechanic(hindlimb() if name == "hindlimb" else asset(name))
    rng, start, found = np.random.default_rng(1), animal.rows(1)["q"][0], []
    for _ in range(30):
        q = start + rng.uniform(0.0, 0.9, len(start)) * rng.choice([-1.0, 1.0], len(start))
        low, high = muscle_limits(animal, posture(animal, q))
        assert (low >= 0.0).all() and (high >= low).all()
        try:
            found.append(equilibrate(animal, q).force)
        except Infeasible:
            continue
    assert len(found) > 3
    assert np.min(found) >= 0.0
    with pytest.raises(ValueError, match=f"q must be a number for each of {animal.model.bodies[0]}, .*got "):
        equilibrate(animal, start[:1])


@pytest.mark.term
def test_a_pendulum_has_its_eigenvalues():
    model = {key: value for key, value in lever().items() if key != "muscle"}
    animal = Neuromechanic(model)
    inertia, stiffness = 0.02 + 2.0 * 0.09, 2.0 * 9.81 * 0.3
    for q, sign in ((0.0, 1.0), (np.pi, -1.0)):
        A = linearise(animal, {"q": [q]})
        exact = np.roots([inertia, 0.1, sign * stiffness])
        assert np.abs(np.sort_complex(np.linalg.eigvals(A)) - np.sort_complex(exact)).max() < 1e-8
        assert (growth(A) < -1e-6) == (sign > 0)


def delayed(gain, delay, chain=False):
    """A mass without damping to speak of, whose position is fed back late: x'' + c x' + k x(t - tau) = 0."""
    synapse = {"from": "joint.mass.position", "gain": -gain, "delay": delay}
    neuron = {"reflex": {"synapse": [synapse]}}
    if chain:
        first, second = {**synapse, "delay": 0.4 * delay}, {"from": "neuron.first", "delay": 0.6 * delay}
        neuron = {"first": {"synapse": [first]}, "reflex": {"synapse": [second]}}
    return {
        "schema": 1,
        "body": {
            "mass": {
                "joint": {"type": "prismatic", "axis": [1, 0, 0], "damping": 20.0},
                "inertial": {"mass": 1.0},
            }
        },
        "neuron": neuron,
        "motor": {"m": {"joint": "mass", "from": "neuron.reflex"}},
    }


@pytest.mark.parametrize("chain", [False, True])
def test_characteristic_roots_solve_the_characteristic_equation(chain):
    gain, delay = 90.0, 0.1
    roots = characteristic_roots(Neuromechanic(delayed(gain, delay, chain)), {"q": [0.0]})[:6]
    assert np.abs(roots**2 + 20.0 * roots + gain * np.exp(-roots * delay)).max() < 1e-5  # measured: 1e-7


def test_delay_at_which_feedback_becomes_unstable():
    """Closed form: at the crossing s = i w, w^4 + c^2 w^2 = k^2 and tan(w tau) = c / w."""
    gain, c = 300.0, 20.0
    w = np.sqrt(0.5 * (-(c**2) + np.sqrt(c**4 + 4 * gain**2)))
    critical = np.arctan2(c, w) / w
    short, long = (round(f * critical, 3) for f in (0.95, 1.05))
    rates = [characteristic_roots(Neuromechanic(delayed(gain, tau)), {"q": [0.0]})[0].real for tau in (short, long)]
    assert rates[0] < 0 < rates[1]
    # The simulation grows at the rate that the roots tell.
    run = simulate(Neuromechanic(delayed(gain, long), scheme="rk4"), np.zeros(0), 8.0, every=0.01, start={"q": [1e-3]})
    envelope = [np.abs(run["q"][a:b]).max() for a, b in ((200, 300), (700, 800))]
    assert np.log(envelope[1] / envelope[0]) / 5.0 == pytest.approx(rates[1], rel=0.05)


def test_the_shortcut_is_exact_and_asks_for_rigid_tendons():
    animal = Neuromechanic(hindlimb())
    q = animal.rows(1)["q"][0]
    found = shortcut(animal, {"q": q})
    pattern = np.random.default_rng(0).uniform(size=31)
    direct = linearise(animal, {"q": q, "activation": pattern})[:14, :14]
    assert np.abs(found.matrix(pattern) - direct).max() < 1e-6 * np.abs(direct).max()
    with pytest.raises(ValueError, match="muscle 'flexor' must have a rigid tendon"):
        shortcut(Neuromechanic(lever(type="compliant_tendon")), {"q": [0.3]})


def test_samples_hold_the_posture_and_are_uniform():
    """One joint, two muscles: the patterns form a segment, on which the samples lie uniformly."""
    animal = Neuromechanic(lever())
    samples = sample_patterns(animal, [0.3], 4000, thin=5)
    assert samples.min() >= 0 and samples.max() <= 1
    row = animal.rows(1)
    for pattern in samples[:20]:
        animal.reset(row, ONE, {"q": [0.3], "activation": pattern})
        assert abs(animal.mechanics(row)["qdd"][0]) < 1e-9
    along = (samples[:, 0] - samples[:, 0].min()) / np.ptp(samples[:, 0])
    assert kstest(along, "uniform").pvalue > 1e-3
    with pytest.raises(ValueError, match="count and thin must be at least 1"):
        sample_patterns(animal, [0.3], 0)


# The drive that gives the excitations, Eq. 18


def rate_at_rest(animal, found):
    row = animal.rows(1)
    animal.reset(row, ONE, found.start)
    return animal.rate(row)


def test_the_arms_reflex_is_driven_wherever_the_arm_can_be_held():
    arm, rates, infeasible = Neuromechanic(asset("arm")), [], 0
    for q in np.stack(np.meshgrid(np.linspace(-1, 1.5, 12), np.linspace(0.1, 2.2, 12)), -1).reshape(-1, 2):
        try:
            rates.append(np.abs(rate_at_rest(arm, equilibrate(arm, q))).max())
        except Unreachable:
            raise
        except Infeasible:
            infeasible += 1
    assert (len(rates), infeasible) == (45, 99)
    assert max(rates) < 1e-9  # measured: 2.4e-13


@pytest.mark.parametrize("inner", ["sigmoid", "tanh", "saturate"])
@pytest.mark.parametrize("outer", ["linear", "sigmoid", "tanh", "saturate"])
def test_chains_of_curved_neurons_are_inverted(inner, outer):
    """Inputs far out on the shapes, where no slope leads back."""
    model = lever()
    for name in ("flexor", "extensor"):
        model["muscle"][name]["excitation"] = f"neuron.{name}"
        model.setdefault("neuron", {})[name] = {
            "shape": {"type": outer},
            "synapse": [{"from": f"neuron.{name}_inner", "gain": 20.0, "offset": 0.4, "delay": 0.02}],
        }
        inside = [{"from": f"input.{name}"}, {"from": f"muscle.{name}.length", "gain": 900.0, "offset": 0.3}]
        model["neuron"][f"{name}_inner"] = {"shape": {"type": inner}, "tau": 0.05, "synapse": inside}
    animal = Neuromechanic(model)
    found = equilibrate(animal, [0.3], linear=[-1e-4, -1e-4])
    assert found.activation.max() > 0.01
    assert np.abs(rate_at_rest(animal, found)).max() < 1e-8


def test_states_of_control_modules_rest_as_well():
    def lag(time, q, v, n, momentum, inputs, heard, dn, out):
        dn[0] = (inputs[0] - n[0]) / 0.3
        out[0] = n[0]

    model = lever()
    model["muscle"]["flexor"]["excitation"] = "module.lag.0"
    animal = Neuromechanic(model, modules={"lag": Module(1, 1, lag)})
    found = equilibrate(animal, [0.3], linear=[-1e-4, -1e-4])
    assert found.start["n"] == pytest.approx(found.activation[:1]) and found.activation[0] > 0.01
    assert np.abs(rate_at_rest(animal, found)).max() < 1e-8
