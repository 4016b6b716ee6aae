"""Estimates, with their uncertainty, from scores of a few trainings that are each measured in the same episodes.

Scores of a policy on an id are a matrix (n, m): n trainings, m episodes each; n is 1 for what is not trained. The
score X of a training is the mean over its episodes. Trainings are few, and their spread is what counts: intervals (95%)
are Student's, over trainings where there are some, over episodes where there is one policy. A percentile bootstrap of
five trainings would cover 83%. Where trainings split into good and failed ones no interval of a mean can be trusted at
these n: so all points, the least and a count stand beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEAST_NORMALISED = -1.0
"""Means over ids count no training as worse than this: how far it is below has no end."""

Scores = NDArray[np.float64]
"""(n, m) of n trainings and m episodes of each."""


class Difference(NamedTuple):
    """Difference of two means, its interval, and the two-sided probability of as much where there is none."""

    mean: float
    interval: tuple[float, float]
    p: float


def _points(scores: Scores) -> NDArray[np.float64]:
    """What the interval of a mean is made of: trainings, or the episodes of a single one."""
    return scores.mean(1) if len(scores) > 1 else scores[0]


def _spread(scores: Scores) -> tuple[float, float]:
    """Variance of the mean, and its degrees of freedom."""
    points = _points(scores)
    return float(points.var(ddof=1) / len(points)), len(points) - 1.0


def _student(mean: float, parts: Sequence[tuple[float, float]]) -> Difference:
    """Student's interval of a mean whose variance is a sum, each part with its degrees of freedom (Satterthwaite)."""
    from scipy.stats import t

    variance = sum(part for part, _ in parts)
    if variance <= 1e-30 * mean**2:
        return Difference(mean, (mean, mean), float(mean == 0.0))
    freedom = variance**2 / sum(part**2 / free for part, free in parts)
    half = float(t.ppf(0.975, freedom) * np.sqrt(variance))
    p = float(2.0 * t.sf(abs(mean) / np.sqrt(variance), freedom))
    return Difference(mean, (mean - half, mean + half), p)


def estimate(scores: Scores) -> tuple[float, tuple[float, float]]:
    """Mean over all trainings and episodes of an id, and its interval.

    That of several trainings is of other trainings in these episodes; that of one policy is of other episodes.
    """
    found = _student(float(scores.mean()), [_spread(scores)])
    return found.mean, found.interval


def difference(x: Scores, y: Scores) -> Difference:
    """Mean of X less that of Y, both measured in the same episodes.

    Of two single policies episodes are pairs. Of trainings and a single policy the spread of trainings and that of the
    paired episodes add up. Between trainings it is Welch's: their episodes are the same, and seeds are no pairs.
    """
    mean = float(x.mean() - y.mean())
    if len(x) > 1 and len(y) > 1:
        return _student(mean, [_spread(x), _spread(y)])
    paired = _spread((x.mean(0) - y.mean(0))[None])
    return _student(mean, [paired, *(_spread(scores) for scores in (x, y) if len(scores) > 1)])


def holm(p: Sequence[float]) -> list[float]:
    """Adjust probabilities for that many comparisons (Holm 1979, A simple sequentially rejective test)."""
    order = np.argsort(p, kind="stable")
    stepped = np.asarray(p)[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted.tolist()


def share(count: int, total: int) -> tuple[float, float]:
    """Interval of a share by Clopper and Pearson."""
    from scipy.stats import binomtest

    low, high = binomtest(count, total).proportion_ci(0.95, "exact")
    return float(low), float(high)


def interquartile_mean(values: ArrayLike, axis: int | None = -1) -> NDArray[np.float64]:
    """Mean of the middle half: a quarter of the values, rounded down, is left out at either end."""
    from scipy.stats import trim_mean

    return trim_mean(values, 0.25, axis=axis)


def aggregate(by_id: Mapping[str, Scores]) -> dict[str, Any]:
    """Aggregate a policy's normalised scores over ids, each of which counts as much; they are those ids, no sample.

    Returns:
        dict: ``mean`` and its 95% ``interval``, where no training counts as less than `LEAST_NORMALISED`; the
            ``unclipped`` mean; the interquartile mean over all trainings, ``middle``; how many ``ids`` and ``runs``.
    """
    runs = [scores.mean(1) for scores in by_id.values()]
    clipped = [np.maximum(each, LEAST_NORMALISED) for each in runs]
    count = len(by_id)
    parts = []
    for scores, kept in zip(by_id.values(), clipped, strict=True):
        variance, freedom = _spread(np.repeat(kept[:, None], 2, 1) if len(kept) > 1 else scores)
        parts.append((variance / count**2, freedom))
    found = _student(float(np.mean([each.mean() for each in clipped])), parts)
    every = np.concatenate(runs)
    return {
        "mean": found.mean,
        "interval": found.interval,
        "unclipped": float(np.mean([each.mean() for each in runs])),
        "middle": float(interquartile_mean(every)),
        "ids": count,
        "runs": len(every),
    }


def profile(by_id: Mapping[str, Scores], levels: ArrayLike) -> NDArray[np.float64]:
    """Performance profile: the share (k,) of trainings on all ids whose score is above each of some levels."""
    runs = np.concatenate([scores.mean(1) for scores in by_id.values()])
    return (runs > np.asarray(levels)[:, None]).mean(1)


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
