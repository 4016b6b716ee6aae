"""Estimates, with their uncertainty, from a few trainings that are each measured in the same episodes.

The points of an estimate are the mean scores of trainings or, where there is one policy, its episodes. Trainings are
few, and their spread counts: intervals (95%) are Student's, as a percentile bootstrap of five trainings would cover
83%. Where trainings split into good and failed ones, no interval of a mean can be trusted, so all points are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Estimate(NamedTuple):
    """A mean, the variance of this mean, and its degrees of freedom."""

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
        """Two-sided probability of so large a mean where there is none."""
        from scipy.stats import t

        if self.variance <= 0.0:
            return float(self.mean == 0.0)
        return float(2.0 * t.sf(abs(self.mean) / np.sqrt(self.variance), self.freedom))


def estimate(mean: float, sd: float, count: int) -> Estimate:
    """Estimate a mean from the mean and the standard deviation of some points."""
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
    """Adjust probabilities for that many comparisons (Holm 1979, A simple sequentially rejective test)."""
    order = np.argsort(p, kind="stable")
    stepped = np.asarray(p)[order] * np.arange(len(p), 0, -1)
    adjusted: Any = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted.tolist()
