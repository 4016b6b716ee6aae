"""Estimates, with their uncertainty, from scores of a few trainings that are each measured in many episodes.

Scores of a policy on an id are a matrix (n, m): n trainings, m episodes each; n is 1 for what is not trained. The
score of a training is the mean over its episodes. Intervals (95%) are percentiles of a bootstrap that draws trainings
with replacement, and for each of them episodes with replacement, within each id alone. With them the measures of
Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice" (NeurIPS 2021), whose program
is rliable: there a run is one number, so that its bootstrap draws runs only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

SAMPLES = 1000
"""Samples that a bootstrap draws."""

Scores = NDArray[np.float64]
"""(n, m) of n trainings and m episodes of each."""


def interquartile_mean(values: ArrayLike, axis: int | None = -1) -> NDArray[np.float64]:
    """Mean of the middle half: a quarter of the values, rounded down, is left out at either end."""
    from scipy.stats import trim_mean

    return trim_mean(values, 0.25, axis=axis)


def resampled(scores: Scores, samples: int = SAMPLES, seed: int = 0) -> NDArray[np.float64]:
    """Draw trainings with replacement, and episodes of each with replacement: (samples, n, m)."""
    rng = np.random.default_rng(seed)
    n, m = scores.shape
    trainings = rng.integers(n, size=(samples, n, 1))
    return scores[trainings, rng.integers(m, size=(samples, n, m))]


def interval(values: ArrayLike) -> tuple[float, float]:
    """Percentiles 2.5 and 97.5 of what a bootstrap gave, along the first axis."""
    low, high = np.quantile(np.asarray(values), [0.025, 0.975], axis=0)
    return float(low), float(high)


def estimate(scores: Scores, statistic: Callable[..., Any] = np.mean) -> tuple[float, tuple[float, float]]:
    """A statistic over all trainings and episodes of an id (it takes ``axis``), and its interval."""
    drawn = resampled(scores)
    return float(statistic(scores.ravel(), axis=-1)), interval(statistic(drawn.reshape(len(drawn), -1), axis=-1))


def improvement(x: ArrayLike, y: ArrayLike) -> float:
    """Probability that an episode of X has a higher score than one of Y; equal ones count half.

    Mann and Whitney's U over the number of pairs, as rliable's probability of improvement.
    """
    x, y = np.ravel(x), np.sort(np.ravel(y))
    return float((np.searchsorted(y, x, "left") + np.searchsorted(y, x, "right")).mean() / (2 * len(y)))


def improvement_interval(x: Scores, y: Scores) -> tuple[float, float]:
    """Interval of `improvement`: both sides are resampled."""
    pairs = zip(resampled(x, seed=0), resampled(y, seed=1), strict=True)
    return interval([improvement(a, b) for a, b in pairs])


def difference_interval(x: Scores, y: Scores) -> tuple[float, float]:
    """Interval of the difference of means, X less Y: both sides are resampled."""
    return interval(resampled(x, seed=0).mean((1, 2)) - resampled(y, seed=1).mean((1, 2)))


def aggregate(by_id: Mapping[str, Scores]) -> dict[str, Any]:
    """Aggregate a policy's normalised scores over ids.

    Returns:
        dict: Interquartile ``mean`` over the scores of all trainings on all ids, its 95% ``interval``, the number of
            ``ids`` and of ``runs``.
    """
    runs = np.concatenate([scores.mean(1) for scores in by_id.values()])
    drawn = [resampled(scores, seed=k).mean(2) for k, scores in enumerate(by_id.values())]
    found = interval(interquartile_mean(np.concatenate(drawn, axis=1)))
    return {"mean": float(interquartile_mean(runs)), "interval": found, "ids": len(by_id), "runs": len(runs)}


def profile(by_id: Mapping[str, Scores], levels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Performance profile: the share (k,) of trainings on all ids whose score is above each of some levels.

    With it, its 95% band (2, k), which is that of each level by itself.
    """
    levels = np.asarray(levels)
    runs = np.concatenate([scores.mean(1) for scores in by_id.values()])
    drawn = [resampled(scores, seed=k).mean(2) for k, scores in enumerate(by_id.values())]
    shares = np.stack([(np.concatenate(drawn, axis=1) > level).mean(1) for level in levels], 1)
    return (runs > levels[:, None]).mean(1), np.quantile(shares, [0.025, 0.975], axis=0)


def seconds_to(curves: Sequence[Mapping[str, Sequence[float]]], level: float) -> float | None:
    """CPU seconds after which the learning curve reaches a score: the median of the trainings.

    Curves hold ``seconds`` and ``score``, the mean of the latest episodes of training, with the noise of exploration.
    None where half of the trainings or more never reach the level.
    """
    times = []
    for curve in curves:
        passed = (second for second, score in zip(curve["seconds"], curve["score"], strict=True) if score >= level)
        times.append(next(passed, np.inf))
    middle = float(np.median(times)) if times else np.inf
    return middle if np.isfinite(middle) else None
