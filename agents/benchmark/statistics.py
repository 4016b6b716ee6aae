"""Means with confidence intervals, from a small number of trainings.

The data points are the mean scores of the trainings or, for a single policy, the scores of its episodes. Intervals are
Student's 95% intervals, because a percentile bootstrap of five trainings would cover only 83%. If the trainings are
bimodal (some succeed, some fail), an interval of the mean is misleading; all points are therefore reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Estimate(NamedTuple):
    """Estimate of a mean, with the variance of the mean and its degrees of freedom."""

    mean: float
    variance: float
    freedom: float

    @property
    def interval(self) -> tuple[float, float]:
        """Student's 95% interval."""
        from scipy.stats import t

        half = float(t.ppf(0.975, self.freedom) * np.sqrt(self.variance)) if self.variance > 0.0 else 0.0
        return self.mean - half, self.mean + half

    @property
    def p(self) -> float:
        """Two-sided p-value of the null hypothesis that the mean is zero (t-test)."""
        from scipy.stats import t

        if self.variance <= 0.0:
            return float(self.mean == 0.0)
        return float(2.0 * t.sf(abs(self.mean) / np.sqrt(self.variance), self.freedom))


def estimate(mean: float, sd: float, count: int) -> Estimate:
    """Estimate a mean from the mean and standard deviation of ``count`` points."""
    return Estimate(mean, sd**2 / count, max(count - 1.0, 1.0))


def of_points(points: ArrayLike) -> Estimate:
    """Estimate the mean of points."""
    values = np.asarray(points, float)
    return estimate(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0, len(values))


def combined(estimates: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """Estimate a weighted sum of independent means (Welch and Satterthwaite)."""
    parts = [(weight**2 * each.variance, each.freedom) for each, weight in zip(estimates, weights, strict=True)]
    variance = sum(part for part, _ in parts)
    freedom = variance**2 / sum(part**2 / own for part, own in parts) if variance > 0.0 else 1.0
    return Estimate(sum(each.mean * weight for each, weight in zip(estimates, weights, strict=True)), variance, freedom)


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p-values for multiple comparisons (Holm 1979, A simple sequentially rejective test)."""
    order = np.argsort(p, kind="stable")
    stepped = np.asarray(p)[order] * np.arange(len(p), 0, -1)
    adjusted: Any = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted.tolist()
