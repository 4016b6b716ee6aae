"""Quadratic programs and samples of polytopes. Nothing here depends on a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.kernels.jit import kernel

Vector = NDArray[np.float64]


class Infeasible(ValueError):
    """Error: no muscle forces within their limits hold the posture."""


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


@kernel
def walk(x, directions, low, high, thin, rng, samples):
    """Sample a polytope uniformly by hit-and-run: move repeatedly to a random point on a line in a random direction.

    Source: Smith (1984), Operations Research 32:1296.

    Args:
        x ((n,) float): Interior point at the start; overwritten.
        directions ((n, k) float): Basis of the allowed directions.
        low, high ((n,) float): Bounds.
        thin: Number of moves per sample.
        rng (numpy Generator): Random generator.
        samples ((N, n) float): Output.
    """
    n, k = directions.shape
    for s in range(len(samples)):
        for _ in range(thin):
            way = samples[s]
            for i in range(n):
                way[i] = 0.0
            for j in range(k):
                g = rng.standard_normal()
                for i in range(n):
                    way[i] += g * directions[i, j]
            first, last = -np.inf, np.inf
            for i in range(n):
                if way[i] != 0.0:
                    a, b = (low[i] - x[i]) / way[i], (high[i] - x[i]) / way[i]
                    first, last = max(first, min(a, b)), min(last, max(a, b))
            step = first + (last - first) * rng.random()
            for i in range(n):
                x[i] += step * way[i]
        for i in range(n):
            samples[s, i] = x[i]
