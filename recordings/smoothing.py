"""Noise taken out of recorded series by penalised differences, with a weight found from the series."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Smoothed(NamedTuple):
    """Series (T, S) without their noise, the weight (S,) of each one's penalty, and its degrees of freedom (S,)."""

    values: Array
    weight: Array
    freedom: Array


def smooth(
    values: Array, order: int, criterion: str, measured: NDArray[np.bool_] | None = None, largest: float = 10**6.5
) -> Smoothed:
    """Smooth series in time: minimise sum (y - z)^2 + lam sum (D^d z)^2, with D^d the d-th difference, each alone.

    Whittaker, "On a new method of graduation", Proc. Edinburgh Math. Soc. 41 (1923), 63-75. The weight lam, of a grid
    in steps of sqrt 10 from 0.01 on, is where generalised cross-validation is least (Craven & Wahba, Numer. Math. 31
    (1979), 377-403), RSS / (1 - edf/m)^2; or where the restricted likelihood of the d-fold integrated random walk with
    white noise, of which z is the expectation, is greatest (Wahba, Ann. Stat. 13 (1985), 1378-1402).

    Args:
        values ((T, S) float): At equal intervals, more than 2 ``order`` of them measured.
        order (1 to 6): Of the differences, d.
        criterion ({"gcv", "reml"})
        measured ((T,) bool): Where they were; the rest counts for nothing, and is filled. All by default.
        largest: Greatest weight that is tried.

    Raises:
        ValueError: For too few times.
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
        # One step of refinement: large weights leave few digits to what varies slowly.
        rest = np.where(mask[:, None], y - z, 0.0)
        z += cho_solve_banded((factor, False), rest - weight * _penalised(z, kernel))
        rest = np.where(mask[:, None], values - z, 0.0)
        freedom = count - _slope(penalty, mask, weight)
        if criterion == "gcv":
            cost = np.log(np.sum(rest**2, 0) + 1e-300) - 2.0 * np.log(max(1.0 - freedom / total, 1e-300))
        else:
            spread = np.log(np.maximum(np.sum(y * rest, 0), 1e-300))
            cost = (total - order) * spread + 2.0 * np.sum(np.log(factor[-1])) - (count - order) * np.log(weight)
        better = cost < best
        best[better] = cost[better]
        result.values[:, better], result.weight[better], result.freedom[better] = z[:, better], weight, freedom
    return result


def _band(kernel: Array, count: int) -> Array:
    """Upper band of D'D (d + 1, T), as LAPACK has it."""
    d = len(kernel) - 1
    band = np.zeros((d + 1, count))
    for offset in range(d + 1):
        for k in range(d + 1 - offset):
            band[d - offset, k + offset : count - d + k + offset] += kernel[k] * kernel[k + offset]
    return band


def _penalised(z: Array, kernel: Array) -> Array:
    """D'D z by differences, whose sums cancel less than those of the band."""
    d = len(kernel) - 1
    bend = np.diff(z, d, axis=0)
    out = np.zeros_like(z)
    for k, factor in enumerate(kernel):
        out[k : len(z) - d + k] += factor * bend
    return out


def _slope(penalty: Array, mask: NDArray[np.bool_], weight: float) -> float:
    """Slope of ln det (W + lam D'D) by ln lam: T less the degrees of freedom of the fit."""
    from scipy.linalg import cholesky_banded

    step, value = 0.01, []
    for sign in (1.0, -1.0):
        matrix = weight * np.exp(sign * step) * penalty
        matrix[-1] += mask
        value.append(2.0 * np.sum(np.log(cholesky_banded(matrix)[-1])))
    return (value[0] - value[1]) / (2.0 * step)
