"""Tools on top of the one derivative: linearisation, induced accelerations, stability, delays, patterns of activation.

Bunderson et al. (2012), sections 2.2.3 and 3.2; equilibration, section 2.2.2, can be imported from here as well. SciPy
is imported where it is used: tasks import this module, and most of them need none of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .animal import Neuromechanic
from .equilibrium import (  # noqa: F401, the guide finds them here
    Balance,
    Infeasible,
    Unreachable,
    balance,
    equilibrate,
    muscle_limits,
    posture,
    quadratic_program,
    refuse_contacts,
)
from .muscles import COMPLIANT_TENDON
from .sampling import walk

Vector = NDArray[np.float64]


# Linearisation, Eqs 21-23


def linearise(animal: Neuromechanic, start: dict[str, Any], step: float = 1e-6) -> Vector:
    """State matrix A = df/dz by central differences over all states; Eq. 22. Delayed signals stay what they are.

    Args:
        start: Initial values, of an equilibrium for instance (``Balance.start``).
        step: Of the differences.

    Returns:
        A (N, N) float

    Raises:
        ValueError: For a model with contacts, which switch: pin its points instead.
    """
    refuse_contacts(animal)
    row = animal.rows(1)
    animal.reset(row, np.zeros(1, np.int64), start)
    z = animal.vector(row)
    A = np.empty((len(z), len(z)))
    for i in range(len(z)):
        side = np.zeros(len(z))
        side[i] = step
        A[:, i] = (animal.rate(row, z + side) - animal.rate(row, z - side)) / (2 * step)
    return A


def input_matrix(animal: Neuromechanic, start: dict[str, Any], step: float = 1e-6) -> Vector:
    """Input matrix B = df/du by central differences over the drive; with `linearise`, dz/dt = A dz + B du.

    Args:
        start: Initial values, with the ``input`` about which the model is linearised.
        step: Of the differences.

    Returns:
        B (N, u) float: For the inputs in the order of ``model.inputs``.

    Raises:
        ValueError: For a model with contacts, which switch.

    Examples:
        The inputs of the arm's muscles reach their activations first:

        >>> from gymnosoma.envs.neuromechanic import Neuromechanic
        >>> from gymnosoma.envs.neuromechanic.analysis import input_matrix
        >>> from gymnosoma.envs.neuromechanic.hindlimb import asset
        >>> B = input_matrix(Neuromechanic(asset("arm")), {"activation": [0.2, 0.2], "input": [0.2, 0.2]})
        >>> B.shape, bool((B[:4] == 0).all())
        ((6, 2), True)
    """
    refuse_contacts(animal)
    row = animal.rows(1)
    animal.reset(row, np.zeros(1, np.int64), start)
    B = np.empty((animal.model.counts["size"], animal.drive_size))
    for i in range(animal.drive_size):
        rates = []
        for side in (step, -step):
            moved = row.copy()
            moved["input"][0, i] += side
            rates.append(animal.rate(moved))
        B[:, i] = (rates[0] - rates[1]) / (2 * step)
    return B


def induced_accelerations(animal: Neuromechanic, row: NDArray[Any]) -> dict[str, Vector]:
    """Accelerations of the joints that each force of Eqs 4 to 7 induces by itself; they add up to ``qdd``.

    Every force meets the whole body: pins answer to each. What the pins' own motion and their correction of errors ask
    for stands beside the forces.

    Args:
        row ((1,) record)

    Returns:
        dict: rad/s^2, or m/s^2: ``gravity`` (n,), with the ground's acceleration; ``velocity`` (n,), Coriolis and
            centrifugal; ``passive`` (n,), damping and springs of joints; ``muscle`` (m, n), ``motor`` (r, n) and
            ``wrench`` (w, n), one by one; ``pin`` (n,).

    Raises:
        ValueError: For a model with contacts, which act in time steps.

    Examples:
        By how much the arm's muscles, each by itself, accelerate its bent elbow:

        >>> from gymnosoma.envs.neuromechanic import Neuromechanic
        >>> from gymnosoma.envs.neuromechanic.analysis import induced_accelerations
        >>> from gymnosoma.envs.neuromechanic.hindlimb import asset
        >>> arm = Neuromechanic(asset("arm"))
        >>> row = arm.rows(1)
        >>> row["q"], row["activation"] = [0.0, 1.0], 0.2
        >>> elbow = induced_accelerations(arm, row)["muscle"][:, 1]
        >>> bool(elbow[0] > 0 > elbow[1])  # the biceps flexes it, the triceps extends it
        True
    """
    refuse_contacts(animal)
    arrays, n = animal.model.arrays, len(animal.model.bodies)
    still = row.copy()
    still["v"] = 0.0
    weight = -row["mass"][0] * animal.mechanics(still)["bias"]
    k = animal.mechanics(row)
    muscle = k["arm"] * k["force"][:, None]
    motor = np.zeros((len(arrays["motor"]), n))
    motor[np.arange(len(motor)), arrays["motor"][:, 0]] = k["motor"]
    forces = {
        "gravity": weight,
        "velocity": -row["mass"][0] * k["bias"] - weight,
        "passive": k["joint_torque"] - muscle.sum(0) - motor.sum(0),
        "muscle": muscle,
        "motor": motor,
        "wrench": k["wrench_torque"],
    }
    ease, J = np.linalg.inv(k["M"]), k["J"]
    pull = ease @ J.T @ np.linalg.inv(J @ ease @ J.T)  # acceleration per acceleration of the pins
    free = ease - pull @ J @ ease
    return {name: force @ free.T for name, force in forces.items()} | {"pin": pull @ k["drift"]}


def growth(A: Vector) -> Vector:
    """Largest real part (...,) 1/s of the eigenvalues of state matrices (..., N, N)."""
    return np.linalg.eigvals(A).real.max(-1)


def stable(A: Vector, margin: float = 1e-6) -> NDArray[np.bool_]:
    """Whether all eigenvalues of ``A`` (..., N, N) 1/s have real parts below ``-margin``: Lyapunov's first method.

    A model whose pins have no rate has pairs of zero eigenvalues, one for each pin; give them one.
    """
    return growth(A) < -margin


@dataclass(frozen=True)
class Shortcut:
    """State matrices of all activation patterns, A = A_0 + sum e_m A_m over joint positions and velocities; Eq. 23.

    Activations decay on their own, so they add stable eigenvalues only and are left out.

    Args:
        base ((2n, 2n) float)
        slopes ((m, 2n, 2n) float)
    """

    base: Vector
    slopes: Vector

    def matrix(self, activation: Vector) -> Vector:
        """State matrix (..., 2n, 2n) of activation patterns (..., m)."""
        m = len(self.slopes)
        flat = activation @ self.slopes.reshape(m, -1)
        return self.base + flat.reshape(*activation.shape[:-1], *self.base.shape)


def shortcut(animal: Neuromechanic, start: dict[str, Any]) -> Shortcut:
    """Find the coefficients of Eq. 23 at a posture, from one pattern per muscle and the silent one.

    Raises:
        ValueError: If a muscle has a compliant tendon or no activation: then the state matrix is not linear.
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


# Delays


def characteristic_roots(animal: Neuromechanic, start: dict[str, Any], nodes: int = 32) -> NDArray[np.complex128]:
    """Rightmost roots (1/s) of the linearised delay equation, by Chebyshev collocation of the delayed signals' past.

    With z' = A z + sum B_d s(t - d) and s = C z + sum D_d s(t - d), the past of s between the longest delay and now is
    a polynomial through ``nodes`` points besides the present (Breda, Maset & Vermiglio, 2005). Delays are exact, not
    whole steps of the simulation.

    Args:
        animal: With N states, of whose signals S are delayed.
        start: Initial values, of an equilibrium.

    Returns:
        roots (N + nodes S,) complex, 1/s: Ordered from the right; far to the left they belong to the polynomial rather
            than to the equation.

    Raises:
        ValueError: For a model with contacts.

    Examples:
        The standing figure with the reflexes of the paper, and with reflexes that are still later. It is stable where
        the real part of the rightmost root is negative:

        >>> from gymnosoma.envs.neuromechanic import Neuromechanic
        >>> from gymnosoma.envs.neuromechanic.analysis import characteristic_roots
        >>> from gymnosoma.envs.neuromechanic.standing import DAMPING, STIFFNESS, splay, standing, upright
        >>> for delay in (0.12, 0.3):
        ...     animal = Neuromechanic(standing(1.1, feet="pinned", delay=delay))
        ...     start = {"q": upright(1.1), "input": [splay(1.1), STIFFNESS, DAMPING]}
        ...     growth = characteristic_roots(animal, start)[0].real
        ...     print(f"{delay} s late: {growth:.2f} /s")
        0.12 s late: -0.94 /s
        0.3 s late: 0.53 /s
    """
    A = linearise(animal, start)
    size, columns = len(A), animal.model.counts["delays"]
    if columns == 0:
        return _sorted_roots(A)
    steps = animal.table["synapse"][0]
    delays = {int(d): None for c, d in zip(steps[:, 2], steps[:, 3], strict=True) if c >= 0 and d > 0}
    row = animal.rows(1)
    animal.reset(row, np.zeros(1, np.int64), start)
    factor, row["delay"] = float(row["delay"][0]), 1.0
    z, h = animal.vector(row), 1e-6
    depth = row["ring"].shape[1]

    def jacobian(change: Any, count: int) -> tuple[Vector, Vector]:
        rates, sensed = np.empty((size, count)), np.empty((columns, count))
        for i in range(count):
            values = []
            for sign in (1.0, -1.0):
                at, vector = change(i, sign * h)
                moved = animal.with_vector(at, vector)
                values.append((animal.rate(moved), animal.mechanics(moved)["delayed"]))
            rates[:, i] = (values[0][0] - values[1][0]) / (2 * h)
            sensed[:, i] = (values[0][1] - values[1][1]) / (2 * h)
        return rates, sensed

    def push_state(i: int, by: float) -> tuple[NDArray[Any], Vector]:
        side = z.copy()
        side[i] += by
        return row, side

    C = jacobian(push_state, size)[1]
    x, weight, derivative = _chebyshev(nodes)
    longest = factor * max(delays) * animal.dt
    derivative *= 2.0 / longest
    # s now = C z + sum D s(past): unknowns are z and the past, node by node; the present is eliminated.
    B, D = np.zeros((size, (nodes + 1) * columns)), np.zeros((columns, (nodes + 1) * columns))
    for delay in delays:

        def push_past(i: int, by: float, delay: int = delay) -> tuple[NDArray[Any], Vector]:
            at = row.copy()
            at["step"] = 0.0
            at["ring"][0, -delay % depth, i] += by
            return at, z

        rates, sensed = jacobian(push_past, columns)
        at = 1.0 - 2.0 * factor * delay * animal.dt / longest
        near = np.abs(x - at) < 1e-12
        part = np.where(near, 1.0, 0.0) if near.any() else weight / (at - x) / np.sum(weight / (at - x))
        B += np.kron(part, rates)
        D += np.kron(part, sensed)
    now = np.linalg.solve(np.eye(columns) - D[:, :columns], np.hstack([C, D[:, columns:]]))
    past = np.kron(derivative[1:], np.eye(columns))
    whole = np.block(
        [
            [A + B[:, :columns] @ now[:, :size], B[:, columns:] + B[:, :columns] @ now[:, size:]],
            [past[:, :columns] @ now[:, :size], past[:, columns:] + past[:, :columns] @ now[:, size:]],
        ]
    )
    return _sorted_roots(whole)


def _chebyshev(nodes: int) -> tuple[Vector, Vector, Vector]:
    """Points from 1, which is now, to -1, their barycentric weights, and the matrix that differentiates."""
    x = np.cos(np.pi * np.arange(nodes + 1) / nodes)
    weight = np.r_[0.5, np.ones(nodes - 1), 0.5] * (-1.0) ** np.arange(nodes + 1)
    differences = x[:, None] - x
    np.fill_diagonal(differences, 1.0)
    derivative = weight / weight[:, None] / differences
    np.fill_diagonal(derivative, 0.0)
    np.fill_diagonal(derivative, -derivative.sum(1))
    return x, weight, derivative


def _sorted_roots(A: Vector) -> NDArray[np.complex128]:
    roots = np.linalg.eigvals(A).astype(complex)
    return roots[np.argsort(-roots.real)]


# Activation patterns that hold a posture


def _patterns(
    animal: Neuromechanic, q: ArrayLike, wrench: ArrayLike | None, reaction: ArrayLike | None
) -> tuple[Vector, Vector]:
    """Equations A a = b of the patterns (m,) that hold a posture, and the one farthest from 0 and 1."""
    from scipy.linalg import null_space
    from scipy.optimize import linprog

    refuse_contacts(animal)
    row = posture(animal, q, wrench)
    k = animal.mechanics(row)
    low, high = muscle_limits(animal, row)
    load = k["arm"].T @ (k["force"] - low) - k["tau"]
    A = k["arm"].T * (high - low)
    if reaction is None:
        still = null_space(k["J"]).T if len(k["J"]) else np.eye(len(load))
        A, load = still @ A, still @ load
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
    """Activations (m,) in the analytic centre of all patterns that hold a posture; arguments as in `sample_patterns`.

    They maximise the product of all a (1 - a), so every muscle takes its part.
    """
    from scipy.linalg import null_space

    A, a = _patterns(animal, q, wrench, reaction)
    free = null_space(A)
    for _ in range(100):
        slope, curvature = 1.0 / (1.0 - a) - 1.0 / a, 1.0 / (1.0 - a) ** 2 + 1.0 / a**2
        step = -free @ np.linalg.solve(free.T @ (curvature[:, None] * free), free.T @ slope)
        part = 1.0 / (1.0 + np.sqrt(step @ (curvature * step)))  # damped: never leaves the interior
        a = a + (step if part > 0.9 else part * step)
        if np.abs(step).max() < 1e-13:
            break
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
    """Search the pattern (m,) that holds a posture and decays fastest, through the shortcut of Eq. 23.

    The best of ``count`` patterns is moved part of the way towards each of the others, which keeps the balance, and so
    on for some ``rounds``; arguments as in `sample_patterns`.
    """
    start = {"q": np.asarray(q, float)} | ({} if wrench is None else {"wrench": np.asarray(wrench, float)})
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
    """Draw activation patterns that hold a posture, uniformly from all that do, by hit-and-run.

    Args:
        animal: Without compliant tendons.
        q ((n,) float)
        wrench, reaction (array): As for `equilibrate`; without ``reaction`` the pins may carry whatever they must.
        thin: Moves from one pattern to the next.

    Returns:
        (count, m) float: Activations within [0, 1].

    Raises:
        Infeasible: If the posture cannot be held, or only with some muscles at their limits.
    """
    from scipy.linalg import null_space

    if count < 1 or thin < 1:
        raise ValueError(f"count and thin must be at least 1, got {count!r} and {thin!r}")
    A, x = _patterns(animal, q, wrench, reaction)
    m = A.shape[1]
    rng, directions, limits = np.random.default_rng(seed), null_space(A), (np.zeros(m), np.ones(m))
    for _ in range(3):
        # The patterns form a body much longer in some directions than in others: steps in proportion mix faster.
        pilot = np.empty((50 * m, m))
        walk(x, np.ascontiguousarray(directions), *limits, 20, rng, pilot)
        values, vectors = np.linalg.eigh(np.cov(pilot.T))
        wide = values > 1e-12 * values[-1]
        directions = vectors[:, wide] * np.sqrt(values[wide])
    # Rounding of the directions must not carry the walk off the equations.
    directions -= np.linalg.pinv(A) @ (A @ directions)
    samples = np.empty((count, m))
    walk(x, np.ascontiguousarray(directions), *limits, thin, rng, samples)
    return samples
