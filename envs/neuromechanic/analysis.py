"""Equilibria, stability, and activation patterns that hold a posture; Bunderson et al. (2012), 2.2.3 and 3.2.

These functions evaluate a model without advancing it. Those of `gymnosoma.biomechanics` (delays, feedback design,
recorded motions) build on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.moved import point_from

from ..core.arguments import number, shown
from ..core.kinds import takes_objects
from . import nerves
from .animal import Neuromechanic
from .convex import Infeasible, quadratic_program, walk
from .muscles import ACTIVE, COMPLIANT_TENDON, LEAST, PASSIVE_FIBRE, PROPORTIONAL, VELOCITY, curve_of, stretched

Vector = NDArray[np.float64]


# Equilibria, Eqs 15-20


class Unreachable(Infeasible):
    """Error: no inputs produce the excitations that hold the posture."""


@dataclass(frozen=True)
class Balance:
    """Equilibrium of a model.

    Args:
        force ((m,) float, N): Muscle forces.
        activation ((m,) float): Activations, equal to excitations at rest (Eq. 19).
        input ((u,) float): Drive that produces these excitations.
        start: Initial values for `Neuromechanic.reset`.
    """

    force: Vector
    activation: Vector
    input: Vector
    start: dict[str, Vector]


def muscle_limits(
    animal: Neuromechanic, row: NDArray[Any], least: ArrayLike = 0.0, most: ArrayLike = 1.0
) -> tuple[Vector, Vector]:
    """Compute the smallest and largest force (m,) N of each muscle at rest in a row's posture; Eq. 16.

    Args:
        animal: Model with m muscles.
        row ((1,) record): Row with the posture.
        least, most ((m,) float): Smallest and largest activation; 0 and 1 by default.
    """
    arrays, limits = animal.model.arrays, []
    own = arrays["activation"] >= 0
    for a in (least, most):
        still, each = row.copy(), np.broadcast_to(np.asarray(a, float), own.shape)
        still["v"] = 0.0
        still["activation"] = each[own]
        start = {name: still[name][0] for name in ("q", "activation", "strength")}
        animal.reset(still, np.zeros(1, np.int64), start)
        force = animal.mechanics(still)["force"]
        limits.append(
            np.where(arrays["muscle"] != PROPORTIONAL, force, each * arrays["max_force"] * row["strength"][0])
        )
    return limits[0], limits[1]


def reach(animal: Neuromechanic) -> tuple[Vector, Vector]:
    """Return the smallest and largest excitation (m,) that the source of each muscle's excitation can produce."""
    arrays, size = animal.model.arrays, len(animal.model.muscles)
    least, most = np.zeros(size), np.ones(size)
    for m, (kind, index) in enumerate(arrays["excitation"]):
        if kind == nerves.CONSTANT:
            least[m] = most[m] = arrays["excitation_value"][m]
        elif kind == nerves.NEURON and arrays["shape"][index] in (nerves.HEAVISIDE, nerves.SATURATE):
            least[m], most[m] = np.clip([arrays["low"][index], arrays["high"][index]], 0.0, 1.0)
    return least, most


@takes_objects
def equilibrate(
    animal: Neuromechanic,
    q: ArrayLike,
    wrench: ArrayLike | None = None,
    cost: ArrayLike | None = None,
    linear: ArrayLike | None = None,
    reaction: ArrayLike | None = None,
) -> Balance:
    """Find muscle forces, activations and inputs that hold a posture at rest; Eqs 15-20.

    Args:
        animal: Model with n joints, m muscles, w wrenches and c pin directions.
        q ((n,) float): Posture, rad or m.
        wrench ((w, 6) float, N and N m): External wrenches; those of the model by default.
        cost ((m,) or (m, m) float): Q of Eq. 17; by default 1 / Fmax^2, which minimises muscle stress.
        linear ((m,) float): C of Eq. 17; 0 by default.
        reaction ((c,) float, N): Forces of the pins, W_C of Eq. 15; free variables by default.

    Returns:
        Balance

    Raises:
        Infeasible: If no forces within the muscles' limits hold the posture.
        Unreachable: If such forces exist, but no inputs produce the excitations.
        ValueError: If the cost has the wrong shape or negative curvature, or the model has contacts or no muscles.
    """
    refuse_contacts(animal)
    row = posture(animal, q, wrench)
    m = len(animal.model.muscles)
    if m == 0:
        raise ValueError("model must have muscles to hold the posture")
    arrays = animal.model.arrays
    weight = arrays["max_force"] ** -2.0 if cost is None else np.asarray(cost, float)
    Q = np.diag(weight) if weight.ndim == 1 else weight
    if Q.shape != (m, m) or not np.isfinite(Q).all() or np.linalg.eigvalsh(0.5 * (Q + Q.T))[0] < -1e-12:
        raise ValueError(f"cost must have shape ({m},) or ({m}, {m}) and be positive semidefinite, got {cost!r}")
    c = np.zeros(m) if linear is None else np.broadcast_to(np.asarray(linear, float), m)
    k = animal.mechanics(row)
    load = k["arm"].T @ k["force"] - k["tau"]
    rows = k["arm"]
    if reaction is None:
        rows = np.vstack([rows, k["J"]])
    else:
        load = load - k["J"].T @ np.asarray(reaction, float)
    idle = (np.abs(rows).max(0, initial=0.0) < 1e-9) & (np.abs(load) > 1e-6 * max(1.0, float(np.abs(load).max())))
    if idle.any():
        moved = ", ".join(f"{animal.model.bodies[i]} ({load[i]:.4g})" for i in np.flatnonzero(idle))
        raise Infeasible(
            f"no muscle or pin acts on joints with a load (N m or N): {moved}; lock these joints in the source model, "
            "hold them with a [pin.NAME], or balance the load with a wrench"
        )
    far = 1e3 * max(1.0, float(np.abs(load).max()) / max(float(np.abs(rows).max()), 1e-12))
    low, high = muscle_limits(animal, row, *reach(animal))
    free = np.full(len(rows) - m, far)
    Q, c = np.pad(Q, (0, len(free))), np.r_[c, np.zeros(len(free))]
    least, most = np.r_[np.maximum(low, -far), -free], np.r_[high, free]
    forces = quadratic_program(Q, c, rows.T, load, least, most, animal.model.bodies)
    return balance(animal, q, forces[:m], wrench)


def _start(q: ArrayLike, wrench: ArrayLike | None) -> dict[str, Vector]:
    values = {"q": q} if wrench is None else {"q": q, "wrench": wrench}
    return {name: np.asarray(value, float) for name, value in values.items()}


def posture(animal: Neuromechanic, q: ArrayLike, wrench: ArrayLike | None = None) -> NDArray[Any]:
    """Return a row (1,) at rest in posture ``q``, with ``wrench`` instead of the model's wrenches."""
    row, joints = animal.rows(1), animal.model.bodies
    if np.shape(q) != (len(joints),):
        raise ValueError(f"q must be a number for each of {', '.join(joints)} (rad, or m), got {shown(q)}")
    start = _start(q, wrench)
    animal.reset(row, np.zeros(1, np.int64), start)
    return row


def refuse_contacts(animal: Neuromechanic) -> None:
    """Raise ValueError if the model has rigid contacts, which make the rate discontinuous."""
    if animal.model.counts["contacts"]:
        raise ValueError(f"model must have no contacts: pin the points {', '.join(animal.model.contacts)} instead")


def balance(animal: Neuromechanic, q: ArrayLike, force: ArrayLike, wrench: ArrayLike | None = None) -> Balance:
    """Compute activations, fibre lengths, inputs and states n for muscle forces at an equilibrium; Eqs 18-20.

    Args:
        animal: Model with n joints, m muscles and w wrenches.
        q ((n,) float): Posture, rad or m.
        force ((m,) float, N): Muscle forces within their limits.
        wrench ((w, 6) float, N and N m): External wrenches; those of the model by default.

    Returns:
        Balance

    Raises:
        Unreachable: If no inputs produce the excitations. The message names the muscle and its closest excitation.
    """
    arrays, force = animal.model.arrays, np.asarray(force, float)
    row = posture(animal, q, wrench)
    low, high = muscle_limits(animal, row)
    activation = np.clip((force - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
    length = animal.mechanics(row)["length"]
    fibres = np.zeros(animal.model.counts["fibres"])
    for m in np.flatnonzero(arrays["muscle"] == COMPLIANT_TENDON):
        most, optimal = arrays["max_force"][m], arrays["optimal_length"][m]
        table = animal.table[0]
        height = optimal * np.sqrt(max(1.0 - arrays["cos_pennation"][m] ** 2, 0.0))
        along = length[m] - arrays["slack_length"][m] * stretched(table, m, force[m] / most)
        fibre = float(np.hypot(along, height))
        f = force[m] / most * fibre / along - curve_of(table, m, PASSIVE_FIBRE, fibre / optimal)[0]
        still = curve_of(table, m, ACTIVE, fibre / optimal)[0] * curve_of(table, m, VELOCITY, 0.0)[0]
        activation[m] = np.clip(f / still, LEAST, 1.0)
        fibres[arrays["fibre"][m]] = fibre
    own = arrays["activation"] >= 0
    start = _start(q, wrench) | {"activation": activation[own], "fibre_length": fibres}
    start |= _drive(animal, start, activation)
    return Balance(force, activation, start["input"], start)


def _drive(animal: Neuromechanic, start: dict[str, Vector], excitation: Vector) -> dict[str, Vector]:
    """Find the inputs and the states n at rest that produce the ``excitation`` (m,); Eq. 18.

    Saturated neurons have no slope, which stops the search. So the search starts from the solution for linear neurons,
    with the inverse of sigmoid and tanh shapes applied to the excitations.
    """
    from scipy.optimize import least_squares

    size, arrays = len(animal.model.inputs), animal.model.arrays
    where = slice(2 * len(animal.model.bodies), 2 * len(animal.model.bodies) + len(animal.model.start))
    pace = np.ones(len(animal.model.start))
    pace[len(pace) - len(arrays["tau"]) :] = arrays["tau"]
    shape, (kinds, index) = arrays["shape"], arrays["excitation"].T
    by_neuron, curved = kinds == nerves.NEURON, (shape == nerves.SIGMOID) | (shape == nerves.TANH)
    inverse = excitation.copy()
    for m in np.flatnonzero(by_neuron):
        a = min(excitation[m], 1.0 - 1e-15)
        if shape[index[m]] == nerves.SIGMOID:
            inverse[m] = np.log(max(a, 1e-300) / (1.0 - a))
        elif shape[index[m]] == nerves.TANH:
            inverse[m] = np.arctanh(a)

    def started(x: Vector) -> dict[str, Vector]:
        return start | {"input": x[:size]} | ({"n": x[size:]} if len(pace) else {})

    def resting(body: Neuromechanic, missed: Callable[[NDArray[Any]], Vector]) -> Callable[[Vector], Vector]:
        row = body.rows(1)

        def excess(x: Vector) -> Vector:
            body.reset(row, np.zeros(1, np.int64), started(x))
            return np.concatenate([missed(row), body.rate(row)[where] * pace])

        return excess

    def unbounded(row: NDArray[Any]) -> Vector:
        """Return excitations before they are clipped to 0 to 1."""
        value = row["excitation"][0].copy()
        for source, name in ((nerves.NEURON, "neuron"), (nerves.INPUT, "input")):
            value[kinds == source] = row[name][0, index[kinds == source]]
        return value

    straight = _with_lines(animal, shape != nerves.LINEAR)
    lines = _with_lines(animal, (shape != nerves.LINEAR) & ~curved)
    true = resting(animal, lambda row: row["excitation"][0] - excitation)
    inverted = resting(straight, lambda row: unbounded(row) - inverse)
    partly = resting(lines, lambda row: unbounded(row) - excitation)
    x = np.concatenate([np.full(size, 0.1), animal.model.start])
    if len(x):
        for excess in (inverted, partly, true):
            x = np.asarray(least_squares(excess, x, xtol=1e-15, ftol=1e-15, gtol=1e-15).x)
            if np.abs(true(x)).max(initial=0.0) < EXACT:
                break
    missed = true(x)
    if np.abs(missed).max(initial=0.0) < 1e-6:
        return started(x)
    worst = int(np.abs(missed[: len(excitation)]).argmax())
    name, level = animal.model.muscles[worst], excitation[worst] + missed[worst]
    raise Unreachable(f"muscle.{name} needs excitation {excitation[worst]:.4g}, but its source gives {level:.4g}")


EXACT = 1e-11
"""Largest error of an excitation or a resting state that counts as rounding."""


def _with_lines(animal: Neuromechanic, which: NDArray[np.bool_]) -> Neuromechanic:
    """Return a copy of an animal with linear shapes for some neurons."""
    twin = animal.twin()
    twin.table["shape"][0][np.flatnonzero(which)] = nerves.LINEAR
    return twin


# Linearisation, Eqs 21-23


@takes_objects
def linearise(animal: Neuromechanic, start: dict[str, Any], step: float = 1e-6) -> Vector:
    """Compute the state matrix A = df/dz by central differences over all states, with constant delayed signals; Eq. 22.

    Args:
        animal: Model with N states.
        start: Initial values, such as those of an equilibrium (``Balance.start``).
        step: Step of the differences.

    Returns:
        A (N, N) float

    Raises:
        ValueError: If the model has contacts, which make the rate discontinuous. Pin the points instead.
    """
    refuse_contacts(animal)
    row = animal.rows(1)
    animal.reset(row, np.zeros(1, np.int64), start)
    return differences(lambda z: animal.rate(row, z), animal.vector(row), step)


def differences(function: Callable[[Vector], Vector], x: Vector, step: float = 1e-6) -> Vector:
    """Compute the Jacobian (m, n) of a function of (n,) that returns (m,), by central differences."""
    sides = step * np.eye(len(x))
    columns = [(function(x + side) - function(x - side)) / (2 * step) for side in sides]
    return np.stack(columns, 1) if columns else np.zeros((len(function(x)), 0))


def growth(A: Vector) -> Vector:
    """Return the largest real part (...,), 1/s, of the eigenvalues of state matrices (..., N, N)."""
    return np.linalg.eigvals(A).real.max(-1)


@dataclass(frozen=True)
class Shortcut:
    """State matrix of joint positions and velocities as a function of activations, A = A_0 + sum e_m A_m; Eq. 23.

    Activations have independent, stable eigenvalues and are left out.

    Args:
        base ((2n, 2n) float): State matrix A_0 without activation.
        slopes ((m, 2n, 2n) float): Change A_m per activation of each muscle.
    """

    base: Vector
    slopes: Vector

    def matrix(self, activation: Vector) -> Vector:
        """Return the state matrices (..., 2n, 2n) of activation patterns (..., m)."""
        m = len(self.slopes)
        flat = activation @ self.slopes.reshape(m, -1)
        return self.base + flat.reshape(*activation.shape[:-1], *self.base.shape)


def shortcut(animal: Neuromechanic, start: dict[str, Any]) -> Shortcut:
    """Compute the coefficients of Eq. 23 at a posture, by linearising without activation and with each muscle alone.

    Raises:
        ValueError: If a muscle has a compliant tendon or no activation, so that the state matrix is not linear in it.
    """
    arrays, n = animal.model.arrays, len(animal.model.bodies)
    for name, kind, index in zip(animal.model.muscles, arrays["muscle"], arrays["activation"], strict=True):
        if kind == COMPLIANT_TENDON or index < 0:
            raise ValueError(f"muscle {name!r} must have a rigid tendon and an activation for the shortcut of Eq. 23")
    m = len(arrays["muscle"])
    matrices = [
        linearise(animal, start | {"activation": pattern})[: 2 * n, : 2 * n]
        for pattern in np.vstack([np.zeros(m), np.eye(m)])
    ]
    return Shortcut(matrices[0], np.array(matrices[1:]) - matrices[0])


# Activation patterns that hold a posture


def _motions(k: dict[str, Vector]) -> Vector:
    """Return a basis (n, f) of the joint motions that pins allow, from `Neuromechanic.mechanics`."""
    from scipy.linalg import null_space

    return null_space(k["J"]) if len(k["J"]) else np.eye(k["M"].shape[0])


def _patterns(
    animal: Neuromechanic, q: ArrayLike, wrench: ArrayLike | None, reaction: ArrayLike | None
) -> tuple[Vector, Vector]:
    """Return A of the equations A a = b of patterns (m,) that hold a posture, and the pattern farthest from 0 and 1."""
    from scipy.optimize import linprog

    refuse_contacts(animal)
    row = posture(animal, q, wrench)
    k = animal.mechanics(row)
    low, high = muscle_limits(animal, row)
    load = k["arm"].T @ (k["force"] - low) - k["tau"]
    A = k["arm"].T * (high - low)
    if reaction is None:
        free = _motions(k)
        A, load = free.T @ A, free.T @ load
    else:
        load = load - k["J"].T @ np.asarray(reaction, float)
    m = A.shape[1]
    inner = linprog(
        np.r_[np.zeros(m), -1.0],
        A_ub=np.block([[-np.eye(m), np.ones((m, 1))], [np.eye(m), np.ones((m, 1))]]),
        b_ub=np.r_[np.zeros(m), np.ones(m)],
        A_eq=np.hstack([A, np.zeros((len(load), 1))]),
        b_eq=load,
        bounds=[(0.0, 1.0)] * (m + 1),
    )
    if inner.x is None or inner.x[-1] < 1e-9:
        raise Infeasible("no activations strictly between 0 and 1 hold the posture")
    return A, inner.x[:m]


def central_pattern(
    animal: Neuromechanic, q: ArrayLike, wrench: ArrayLike | None = None, reaction: ArrayLike | None = None
) -> Vector:
    """Compute the analytic centre (m,) of all activation patterns that hold a posture.

    It maximises the product of a (1 - a) over the muscles, so that every muscle is active. See `sample_patterns` for
    the arguments.
    """
    from scipy.linalg import null_space

    A, a = _patterns(animal, q, wrench, reaction)
    free = null_space(A)
    for _ in range(100):
        slope, curvature = 1.0 / (1.0 - a) - 1.0 / a, 1.0 / (1.0 - a) ** 2 + 1.0 / a**2
        step = -free @ np.linalg.solve(free.T @ (curvature[:, None] * free), free.T @ slope)
        part = 1.0 / (1.0 + np.sqrt(step @ (curvature * step)))  # damping keeps the pattern in the interior
        a = a + (step if part > 0.9 else part * step)
        if np.abs(step).max() < 1e-13:
            break
    return a


def stiff_pattern(
    animal: Neuromechanic,
    q: ArrayLike,
    wrench: ArrayLike | None = None,
    reaction: ArrayLike | None = None,
    weight: float = 5.0,
) -> Vector:
    """Find the pattern (m,) that holds a posture with the smallest cost sum(a^2) / 2 - weight k.

    The first term limits co-contraction. k (N m/rad) is the stiffness of the joints in the direction in which it is
    smallest, among the directions that the pins allow. Moment arms and intrinsic stiffness of the muscles determine it,
    together with the change of the moment arms and gravity. A damped limb is stable if k is positive. The cost is
    convex; cutting planes find its minimum. Bunderson et al. (2012), 3.1, mention such a cost but do not print it.

    Args:
        weight (rad/(N m)): Weight of the stiffness; 0 minimises the activations. See `sample_patterns` for the other
            arguments.

    Raises:
        Infeasible, ValueError: See `sample_patterns`; also if ``weight`` is negative or a tendon is compliant.
    """
    number("weight", weight, minimum=0.0)
    A, a = _patterns(animal, q, wrench, reaction)
    start = _start(q, wrench)
    short, k = shortcut(animal, start), animal.mechanics(posture(animal, q, wrench))
    (m, n), free = (len(a), len(k["M"])), _motions(k)
    stiffness = -free.T @ k["M"] @ np.concatenate([short.base[None], short.slopes])[:, n:, :n] @ free
    stiffness = 0.5 * (stiffness + stiffness.swapaxes(1, 2))  # the sum of a balanced pattern is symmetric
    load, far, least, cuts = A @ a, float(np.abs(stiffness).sum()), np.inf, []
    for _ in range(200):
        values, vectors = np.linalg.eigh(stiffness[0] + np.tensordot(a, stiffness[1:], 1))
        if values[0] > least - 1e-7 * values[-1]:
            break
        cuts.append(vectors[:, 0] @ stiffness @ vectors[:, 0])
        planes, count = np.array(cuts), len(cuts)
        # Unknowns: activations, k, and the excess of the stiffness over k in each direction found so far.
        sides = np.hstack([planes[:, 1:], -np.ones((count, 1)), -np.eye(count)])
        x = quadratic_program(
            np.diag(np.r_[np.ones(m), np.zeros(1 + count)]),
            np.r_[np.zeros(m), -weight, np.zeros(count)],
            np.vstack([np.pad(A, ((0, 0), (0, 1 + count))), sides]),
            np.r_[load, -planes[:, 0]],
            np.r_[np.zeros(m), -far, np.zeros(count)],
            np.r_[np.ones(m), far, np.full(count, 2.0 * far)],
        )
        a, least = x[:m], x[m]
    return a


def most_stable(
    animal: Neuromechanic,
    q: ArrayLike,
    wrench: ArrayLike | None = None,
    reaction: ArrayLike | None = None,
    count: int = 1000,
    rounds: int = 20,
    seed: int = 0,
) -> Vector:
    """Search the most stable pattern (m,) that holds a posture, by the shortcut of Eq. 23.

    The search draws ``count`` patterns. In each of ``rounds``, it moves from the best one part of the way towards each
    of the drawn patterns, which preserves the balance. See `sample_patterns` for the other arguments.
    """
    start = _start(q, wrench)
    short = shortcut(animal, start)
    patterns = sample_patterns(animal, q, count, wrench, reaction, seed=seed)
    candidates, best, least = patterns, patterns[0], np.inf
    for k in range(rounds):
        rates = growth(short.matrix(candidates))
        if rates.min() < least:
            best, least = candidates[rates.argmin()], rates.min()
        candidates = best + 0.5 * 0.8**k * (patterns - best)
    return best


def sample_patterns(
    animal: Neuromechanic,
    q: ArrayLike,
    count: int,
    wrench: ArrayLike | None = None,
    reaction: ArrayLike | None = None,
    thin: int = 50,
    seed: int = 0,
) -> Vector:
    """Draw activation patterns uniformly from all that hold a posture, by hit-and-run.

    Args:
        animal: Model without compliant tendons.
        q ((n,) float): Posture, rad or m.
        count: Number of patterns.
        wrench, reaction (array): See `equilibrate`. Without ``reaction``, the forces of the pins are arbitrary.
        thin: Number of moves per pattern.
        seed: Random seed.

    Returns:
        (count, m) float: Activations within [0, 1].

    Raises:
        Infeasible: If no pattern, or only patterns with muscles at their limits, hold the posture.
        ValueError: If ``count`` or ``thin`` is less than 1, or the model has contacts.
    """
    from scipy.linalg import null_space

    if count < 1 or thin < 1:
        raise ValueError(f"count and thin must be at least 1, got {count!r} and {thin!r}")
    A, x = _patterns(animal, q, wrench, reaction)
    m = A.shape[1]
    rng, directions, limits = np.random.default_rng(seed), null_space(A), (np.zeros(m), np.ones(m))
    for _ in range(3):
        # The polytope of patterns is much longer in some directions. Scaling steps by its extent speeds up mixing.
        pilot = np.empty((50 * m, m))
        walk(x, np.ascontiguousarray(directions), *limits, 20, rng, pilot)
        values, vectors = np.linalg.eigh(np.cov(pilot.T))
        wide = values > 1e-12 * values[-1]
        directions = vectors[:, wide] * np.sqrt(values[wide])
    # Remove rounding errors of the directions, which would add up to a violation of the equations.
    directions -= np.linalg.pinv(A) @ (A @ directions)
    samples = np.empty((count, m))
    walk(x, np.ascontiguousarray(directions), *limits, thin, rng, samples)
    return samples


point_from(__name__)
