"""Stability of models with delayed neural signals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.neuromechanic import Neuromechanic, linearise

Vector = NDArray[np.float64]


def characteristic_roots(animal: Neuromechanic, start: dict[str, Any], nodes: int = 32) -> NDArray[np.complex128]:
    """Compute the rightmost characteristic roots (1/s) of the linearised delay equation by Chebyshev collocation.

    The equation is z' = A z + sum B_d s(t - d) with the delayed signals s = C z + sum D_d s(t - d). The method
    approximates s between the longest delay and the present by a polynomial through the present and ``nodes`` earlier
    points (Breda, Maset & Vermiglio, 2005). It uses the exact delays, without rounding to the simulation's time steps.

    Args:
        animal: Model with N states and S delayed signals.
        start: Initial values at an equilibrium.
        nodes: Number of collocation points in the past.

    Returns:
        roots (N + nodes S,) complex, 1/s: Sorted by decreasing real part. Roots far to the left are artefacts of the
            polynomial.

    Raises:
        ValueError: If the model has contacts.

    Examples:
        Compare the standing figure with the paper's delay and with a longer one. It is stable if the real part of the
        rightmost root is negative:

        >>> from gymnosoma.envs.neuromechanic import Neuromechanic
        >>> from gymnosoma.biomechanics import characteristic_roots
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
    # The unknowns are z and the past of s at the nodes; the present is eliminated by s = C z + sum D s(past).
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
    """Return the points from 1 (present) to -1, their barycentric weights and the differentiation matrix."""
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
