"""Smoothing of recorded series by penalised differences, with a weight determined from the data.

Bad frames and long gaps are not handled here, but in `motion` and `vibrissa`.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .units import Array


class Smoothed(NamedTuple):
    """Smoothed series (T, S), and the penalty weight (S,) and degrees of freedom (S,) of each."""

    values: Array
    weight: Array
    freedom: Array


def smooth(
    values: Array, order: int, criterion: str, measured: NDArray[np.bool_] | None = None, largest: float = 10**6.5
) -> Smoothed:
    """Smooth each series by minimising sum (y - z)^2 + lam sum (D^d z)^2, with D^d the d-th difference.

    Source: Whittaker, "On a new method of graduation", Proc. Edinburgh Math. Soc. 41 (1923), 63-75. The weight lam is
    chosen from a grid from 0.01 in factors of sqrt 10:

    - "gcv" minimises generalised cross-validation, RSS / (1 - edf/m)^2 (Craven & Wahba, Numer. Math. 31 (1979),
      377-403).
    - "reml" maximises the restricted likelihood of a d-fold integrated random walk with white noise, whose expectation
      is z (Wahba, Ann. Stat. 13 (1985), 1378-1402).

    Args:
        values ((T, S) float): Series at equal intervals, with more than 2 ``order`` measured times.
        order (1 to 6): Order d of the differences.
        criterion ({"gcv", "reml"}): Criterion for the weight.
        measured ((T,) bool): Mask of measured times; all by default. The other values are ignored and filled.
        largest: Largest weight of the grid.

    Raises:
        ValueError: If there are too few measured times.
    """
    from scipy.linalg import cho_solve_banded, cholesky_banded  # slow to import

    count, series = values.shape
    mask = np.ones(count, bool) if measured is None else measured
    total = int(mask.sum())
    if total <= 2 * order:
        raise ValueError(f"values must be measured at more than {2 * order} times, got {total}")
    y = np.where(mask[:, None], values, 0.0)
    kernel = np.array([(-1.0) ** (order - k) * comb(order, k) for k in range(order + 1)])
    penalty = _band(kernel, count)
    weights = 10.0 ** np.arange(-2.0, np.log10(largest) + 1e-9, 0.5)
    best = np.full(series, np.inf)
    result = Smoothed(np.empty_like(y), np.empty(series), np.empty(series))
    for weight in weights:
        matrix = weight * penalty
        matrix[-1] += mask
        factor = cholesky_banded(matrix)
        z = cho_solve_banded((factor, False), y)
        # One step of iterative refinement, because large weights make the system ill-conditioned.
        residuals = np.where(mask[:, None], y - z, 0.0)
        z += cho_solve_banded((factor, False), residuals - weight * _penalised(z, kernel))
        residuals = np.where(mask[:, None], values - z, 0.0)
        freedom = count - _slope(penalty, mask, weight)
        if criterion == "gcv":
            cost = np.log(np.sum(residuals**2, 0) + 1e-300) - 2.0 * np.log(max(1.0 - freedom / total, 1e-300))
        else:
            spread = np.log(np.maximum(np.sum(y * residuals, 0), 1e-300))
            cost = (total - order) * spread + 2.0 * np.sum(np.log(factor[-1])) - (count - order) * np.log(weight)
        better = cost < best
        best[better] = cost[better]
        result.values[:, better], result.weight[better], result.freedom[better] = z[:, better], weight, freedom
    return result


def _band(kernel: Array, count: int) -> Array:
    """Return the upper band of D'D, (d + 1, T), in LAPACK's layout."""
    d = len(kernel) - 1
    band = np.zeros((d + 1, count))
    for offset in range(d + 1):
        for k in range(d + 1 - offset):
            band[d - offset, k + offset : count - d + k + offset] += kernel[k] * kernel[k + offset]
    return band


def _penalised(z: Array, kernel: Array) -> Array:
    """Compute D'D z by differences, which has less cancellation than the band matrix."""
    d = len(kernel) - 1
    bend = np.diff(z, d, axis=0)
    out = np.zeros_like(z)
    for k, factor in enumerate(kernel):
        out[k : len(z) - d + k] += factor * bend
    return out


def _slope(penalty: Array, mask: NDArray[np.bool_], weight: float) -> float:
    """Return the derivative of ln det (W + lam D'D) by ln lam, which is T minus the degrees of freedom of the fit."""
    from scipy.linalg import cholesky_banded

    step, value = 0.01, []
    for sign in (1.0, -1.0):
        matrix = weight * np.exp(sign * step) * penalty
        matrix[-1] += mask
        value.append(2.0 * np.sum(np.log(cholesky_banded(matrix)[-1])))
    return (value[0] - value[1]) / (2.0 * step)
