"""Linearisation, stability, and activation patterns that hold a posture; Bunderson et al. (2012), 2.2.3 and 3.2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import number
from .animal import Neuromechanic
from .equilibrium import Infeasible, muscle_limits, posture, quadratic_program, refuse_contacts
from .muscles import COMPLIANT_TENDON
from .sampling import walk

Vector = NDArray[np.float64]


# Linearisation, Eqs 21-23


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
    z = animal.vector(row)
    A = np.empty((len(z), len(z)))
    for i in range(len(z)):
        side = np.zeros(len(z))
        side[i] = step
        A[:, i] = (animal.rate(row, z + side) - animal.rate(row, z - side)) / (2 * step)
    return A


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
    start = {"q": np.asarray(q, float)} | ({} if wrench is None else {"wrench": np.asarray(wrench, float)})
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
