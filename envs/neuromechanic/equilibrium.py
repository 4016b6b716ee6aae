"""Muscle forces, activations and inputs that hold a posture at rest: Bunderson et al. (2012), Eqs 15-20.

SciPy is imported where it is used: tasks import this module, and most of them need none of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .animal import Neuromechanic
from .muscles import COMPLIANT_TENDON, LEAST, force_length, force_velocity, passive_force, tendon_length

Vector = NDArray[np.float64]


class Infeasible(ValueError):
    """No muscle forces within their limits hold the posture."""


@dataclass(frozen=True)
class Balance:
    """An equilibrium.

    Args:
        force ((m,) float, N): Of the muscles.
        activation ((m,) float): And excitation, which are the same at rest (Eq. 19).
        input ((u,) float): Drive that gives these excitations; NaN where no drive does.
        start: Initial values for `Neuromechanic.reset`.
    """

    force: Vector
    activation: Vector
    input: Vector
    start: dict[str, Vector]


def quadratic_program(Q: Vector, c: Vector, A: Vector, b: Vector, low: Vector, high: Vector) -> Vector:
    """Minimise x'Qx / 2 + c'x subject to A x = b and low <= x <= high; Eqs 15-17.

    A primal-dual interior-point method with Mehrotra's predictor and corrector, from a strictly interior point.

    Args:
        Q ((n, n) float): Positive semidefinite.
        c, low, high ((n,) float)
        A ((r, n) float)
        b ((r,) float)

    Returns:
        x (n,) float

    Raises:
        Infeasible: If no x satisfies the constraints; the message tells by how much they are missed.
    """
    from scipy.linalg import lu_factor
    from scipy.optimize import linprog

    n, r = len(c), len(b)
    fixed = low == high
    if n and fixed.any():  # there is no interior to start from
        x, free = low.copy(), ~fixed
        x[free] = quadratic_program(
            Q[np.ix_(free, free)],
            c[free] + Q[np.ix_(free, fixed)] @ low[fixed],
            A[:, free],
            b - A[:, fixed] @ low[fixed],
            low[free],
            high[free],
        )
        return x
    scale = max(float(np.abs(A).max(initial=0.0)), 1e-300)
    miss = linprog(
        np.r_[np.zeros(n), np.ones(2 * r)],
        A_eq=np.hstack([A / scale, np.eye(r), -np.eye(r)]),
        b_eq=b / scale,
        bounds=[*zip(low, high, strict=True), *[(0.0, None)] * (2 * r)],
    )
    if not miss.success or miss.fun > 1e-9 * max(1.0, float(np.abs(b).max(initial=0.0)) / scale):
        short = np.inf if miss.x is None else scale * (miss.x[n : n + r] - miss.x[n + r :])
        raise Infeasible(f"no forces within their limits balance the load; at best it is missed by {short}")
    if n == 0:
        return np.zeros(0)
    x = 0.5 * (low + high)
    s, t = x - low, high - x
    weight = max(float(np.abs(Q @ x + c).max(initial=0.0)), 1e-12)
    u, w, y = np.full(n, weight), np.full(n, weight), np.zeros(r)

    for _ in range(100):
        dual = Q @ x + c - A.T @ y - u + w
        primal = A @ x - b
        gap = float(s @ u + t @ w) / (2 * n)
        size = max(1.0, float(np.abs(x).max()))
        if gap < 1e-13 * weight * size and np.abs(primal).max(initial=0.0) < 1e-12 * scale * size:
            break
        K = np.block([[Q + np.diag(u / s + w / t), -A.T], [A, np.zeros((r, r))]])
        lu = lu_factor(K, check_finite=False)
        now = x, y, s, t, u, w
        step, _, du, dw = _newton(lu, dual, primal, now, np.zeros(n), np.zeros(n))
        p, d = min(_reach(s, step), _reach(t, -step)), min(_reach(u, du), _reach(w, dw))
        ahead = float((s + p * step) @ (u + d * du) + (t - p * step) @ (w + d * dw)) / (2 * n)
        centre = gap * (ahead / gap) ** 3
        step, dy, du, dw = _newton(lu, dual, primal, now, centre - step * du, centre + step * dw)
        p, d = 0.995 * min(_reach(s, step), _reach(t, -step)), 0.995 * min(_reach(u, du), _reach(w, dw))
        x, s, t = x + p * step, s + p * step, t - p * step
        y, u, w = y + d * dy, u + d * du, w + d * dw
    # The last digits of the balance, by the forces that are far from their limits.
    inner = np.minimum(s, t)
    x = x - inner * (np.linalg.pinv(A * inner) @ (A @ x - b))
    return np.clip(x, low, high)


def _newton(
    lu: Any, dual: Vector, primal: Vector, now: tuple[Vector, ...], lower: Vector, upper: Vector
) -> tuple[Vector, ...]:
    """Newton step towards s u = ``lower`` and t w = ``upper``: of x, y, u and w."""
    from scipy.linalg import lu_solve

    x, _, s, t, u, w = now
    right = np.concatenate([-dual + lower / s - u - upper / t + w, -primal])
    solved = lu_solve(lu, right, check_finite=False)
    step = solved[: len(x)]
    return step, solved[len(x) :], lower / s - u - u / s * step, upper / t - w + w / t * step


def _reach(value: Vector, step: Vector) -> float:
    """Part of a step, at most all of it, after which no value is negative."""
    with np.errstate(over="ignore"):
        return min(1.0, float(np.min(-value[step < 0] / step[step < 0], initial=np.inf)))


def muscle_limits(animal: Neuromechanic, row: NDArray[Any]) -> tuple[Vector, Vector]:
    """Forces of the muscles at rest (N), passive and fully active, at a row's posture, none negative; Eq. 16."""
    arrays, limits = animal.model.arrays, []
    for a in (0.0, 1.0):
        still = row.copy()
        still["v"] = 0.0
        still["activation"] = a
        start = {name: still[name][0] for name in ("q", "activation", "strength")}
        animal.reset(still, np.zeros(1, np.int64), start)
        force = animal.mechanics(still)["force"]
        free = arrays["activation"] < 0
        limits.append(np.where(free, a * arrays["max_force"] * row["strength"][0], force))
    return limits[0], limits[1]


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
        q ((n,) float): Posture.
        wrench ((w, 6) float, N and N m): External wrenches; the model's own otherwise.
        cost ((m,) or (m, m) float): Q of Eq. 17; by default 1 / Fmax^2, the muscles' stress.
        linear ((m,) float): C of Eq. 17.
        reaction ((c,) float, N): Forces of the pins, W_C of Eq. 15; found as well where they are not given.

    Returns:
        Balance

    Raises:
        Infeasible: If no forces within the muscles' limits hold the posture.
        ValueError: If the cost has a wrong shape or a negative curvature, or the model has contacts or no muscles.
    """
    row = posture(animal, q, wrench)
    m = len(animal.model.muscles)
    if m == 0:
        raise ValueError("model has no muscles that could hold the posture")
    arrays = animal.model.arrays
    weight = arrays["max_force"] ** -2.0 if cost is None else np.asarray(cost, float)
    Q = np.diag(weight) if weight.ndim == 1 else weight
    if Q.shape != (m, m) or not np.isfinite(Q).all() or np.linalg.eigvalsh(0.5 * (Q + Q.T))[0] < -1e-12:
        raise ValueError(f"cost must be ({m},) or ({m}, {m}) and not negative, got {cost!r}")
    c = np.zeros(m) if linear is None else np.broadcast_to(np.asarray(linear, float), m)
    k = animal.mechanics(row)
    low, high = muscle_limits(animal, row)
    free = reaction is None
    load = k["arm"].T @ k["force"] - k["tau"]
    if free:
        A = np.hstack([k["arm"].T, k["J"].T])
        b, size = load, len(k["J"])
        far = 1e3 * max(1.0, float(np.abs(load).max()) / max(float(np.abs(A).max()), 1e-12))
        Q = np.block([[Q, np.zeros((m, size))], [np.zeros((size, m + size))]])
        c, low_, high_ = np.r_[c, np.zeros(size)], np.r_[low, -far * np.ones(size)], np.r_[high, far * np.ones(size)]
        force = quadratic_program(Q, c, A, b, low_, high_)[:m]
    else:
        force = quadratic_program(Q, c, k["arm"].T, load - k["J"].T @ np.asarray(reaction, float), low, high)
    return balance(animal, q, force, wrench)


def posture(animal: Neuromechanic, q: ArrayLike, wrench: ArrayLike | None = None) -> NDArray[Any]:
    """Row (1,) at rest in posture ``q``, with ``wrench`` in place of the model's own."""
    refuse_contacts(animal)
    row = animal.rows(1)
    start = {"q": np.asarray(q, float)} | ({} if wrench is None else {"wrench": np.asarray(wrench, float)})
    animal.reset(row, np.zeros(1, np.int64), start)
    return row


def refuse_contacts(animal: Neuromechanic) -> None:
    """Raise ValueError for a model with contacts, which switch."""
    if animal.model.contacts:
        raise ValueError(f"model has contacts, which switch: pin the points {', '.join(animal.model.contacts)} instead")


def balance(animal: Neuromechanic, q: ArrayLike, force: ArrayLike, wrench: ArrayLike | None = None) -> Balance:
    """Complete muscle forces to an equilibrium: activations, fibre lengths and inputs; Eqs 18-20.

    Args:
        q ((n,) float)
        force ((m,) float, N): Within the muscles' limits.
        wrench ((w, 6) float)

    Returns:
        Balance: Where some excitation cannot be reached through the neurons, the inputs are NaN.
    """
    from scipy.optimize import least_squares

    arrays, force = animal.model.arrays, np.asarray(force, float)
    row = posture(animal, q, wrench)
    low, high = muscle_limits(animal, row)
    activation = np.clip((force - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
    length = animal.mechanics(row)["length"]
    fibres = np.zeros(animal.model.counts["fibres"])
    for m in np.flatnonzero(arrays["muscle"] == COMPLIANT_TENDON):
        most, optimal, curves = arrays["max_force"][m], arrays["optimal_length"][m], int(arrays["curves"][m])
        height = optimal * np.sqrt(max(1.0 - arrays["cos_pennation"][m] ** 2, 0.0))
        along = length[m] - arrays["slack_length"][m] * tendon_length(force[m] / most)
        fibre = float(np.hypot(along, height))
        f = force[m] / most * fibre / along - passive_force(curves, fibre / optimal)
        still = force_length(curves, fibre / optimal) * force_velocity(curves, 0.0)[0]
        activation[m] = np.clip(f / still, LEAST, 1.0)
        fibres[arrays["fibre"][m]] = fibre
    own = arrays["activation"] >= 0
    start = {"q": np.asarray(q, float), "activation": activation[own], "fibre_length": fibres}
    if wrench is not None:
        start["wrench"] = np.asarray(wrench, float)

    # Unknown are the inputs, and the states of leaky neurons, which rest.
    size, leaky, n = len(animal.model.inputs), animal.model.counts["leaky"], len(start["q"])
    rest = slice(2 * n + len(animal.model.start) - leaky, 2 * n + len(animal.model.start))

    def started(x: Vector) -> dict[str, Vector]:
        states = {"n": np.concatenate([animal.model.start[:-leaky], x[size:]])} if leaky else {}
        return start | {"input": x[:size], **states}

    def excess(x: Vector) -> Vector:
        animal.reset(row, np.zeros(1, np.int64), started(x))
        missed = row["excitation"][0] - activation
        return np.concatenate([missed, animal.rate(row)[rest] * animal.model.arrays["tau"]]) if leaky else missed

    first = np.concatenate([np.full(size, 0.1), animal.model.start[len(animal.model.start) - leaky :]])
    for _ in range(leaky):  # what leaky neurons hear with these inputs, one after the other
        animal.reset(row, np.zeros(1, np.int64), started(first))
        first[size:] += animal.rate(row)[rest] * animal.model.arrays["tau"]
    found = least_squares(excess, first, xtol=1e-15, ftol=1e-15, gtol=1e-15).x if len(first) else first
    if np.abs(excess(found)).max(initial=0.0) < 1e-6:
        return Balance(force, activation, found[:size], started(found))
    return Balance(force, activation, np.full(size, np.nan), start | {"input": np.zeros(size)})
