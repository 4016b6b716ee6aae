"""Muscle forces, activations and inputs that hold a posture at rest; Bunderson et al. (2012), Eqs 15-20."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import shown
from . import nerves
from .animal import Neuromechanic
from .muscles import ACTIVE, COMPLIANT_TENDON, LEAST, PASSIVE_FIBRE, VELOCITY, curve_of, stretched

Vector = NDArray[np.float64]


class Infeasible(ValueError):
    """Error: no muscle forces within their limits hold the posture."""


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


def quadratic_program(
    Q: Vector, c: Vector, A: Vector, b: Vector, low: Vector, high: Vector, names: Sequence[str] = ()
) -> Vector:
    """Minimise x'Qx / 2 + c'x subject to A x = b and low <= x <= high; Eqs 15-17.

    The method is a primal-dual interior-point method with Mehrotra's predictor and corrector.

    Args:
        Q ((n, n) float): Quadratic cost, positive semidefinite.
        c ((n,) float): Linear cost.
        A ((r, n) float), b ((r,) float): Equality constraints.
        low, high ((n,) float): Bounds.
        names: Names of the constraints for the error message.

    Returns:
        x (n,) float

    Raises:
        Infeasible: If no x satisfies the constraints. The message has the smallest violation.
    """
    from scipy.linalg import lu_factor
    from scipy.optimize import linprog

    n, r = len(c), len(b)
    fixed = low == high
    if n and fixed.any():  # the method needs an interior point
        x, free = low.copy(), ~fixed
        x[free] = quadratic_program(
            Q[np.ix_(free, free)],
            c[free] + Q[np.ix_(free, fixed)] @ low[fixed],
            A[:, free],
            b - A[:, fixed] @ low[fixed],
            low[free],
            high[free],
            names,
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
        short: Any = np.full(r, np.inf) if miss.x is None else scale * (miss.x[n : n + r] - miss.x[n + r :])
        if names:
            short = ", ".join(f"{value:.4g} at {name}" for name, value in zip(names, short, strict=True) if value)
        raise Infeasible(f"no forces within their limits balance the load; the smallest imbalance is {short}")
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
    # Correct rounding errors of the balance by forces far from their limits.
    inner = np.minimum(s, t)
    x = x - inner * (np.linalg.pinv(A * inner) @ (A @ x - b))
    return np.clip(x, low, high)


def _newton(
    lu: Any, dual: Vector, primal: Vector, now: tuple[Vector, ...], lower: Vector, upper: Vector
) -> tuple[Vector, ...]:
    """Return the Newton steps of x, y, u and w towards s u = ``lower`` and t w = ``upper``."""
    from scipy.linalg import lu_solve

    x, _, s, t, u, w = now
    right = np.concatenate([-dual + lower / s - u - upper / t + w, -primal])
    solved = lu_solve(lu, right, check_finite=False)
    step = solved[: len(x)]
    return step, solved[len(x) :], lower / s - u - u / s * step, upper / t - w + w / t * step


def _reach(value: Vector, step: Vector) -> float:
    """Return the largest fraction of a step, up to 1, that keeps all values non-negative."""
    with np.errstate(over="ignore"):
        return min(1.0, float(np.min(-value[step < 0] / step[step < 0], initial=np.inf)))


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
        limits.append(np.where(own, force, each * arrays["max_force"] * row["strength"][0]))
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


def posture(animal: Neuromechanic, q: ArrayLike, wrench: ArrayLike | None = None) -> NDArray[Any]:
    """Return a row (1,) at rest in posture ``q``, with ``wrench`` instead of the model's wrenches."""
    row, joints = animal.rows(1), animal.model.bodies
    if np.shape(q) != (len(joints),):
        raise ValueError(f"q must be a number for each of {', '.join(joints)} (rad, or m), got {shown(q)}")
    start = {"q": np.asarray(q, float)} | ({} if wrench is None else {"wrench": np.asarray(wrench, float)})
    animal.reset(row, np.zeros(1, np.int64), start)
    return row


def refuse_contacts(animal: Neuromechanic) -> None:
    """Raise ValueError if the model has contacts, which make the rate discontinuous."""
    if animal.model.contacts:
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
    start = {"q": np.asarray(q, float), "activation": activation[own], "fibre_length": fibres}
    if wrench is not None:
        start["wrench"] = np.asarray(wrench, float)
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
