"""Lengths of muscles as polynomials of several joints, fitted to lengths and moment arms at many postures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.neuromechanic import exponents

Vector = NDArray[np.float64]

STRAY = 3.0, 1e-3
"""A sample is left out whose error exceeds so many medians, and this (m) more: lengths of another program may jump."""


class Fit(NamedTuple):
    """A fitted length.

    Args:
        length (dict): As the key ``length`` of a muscle holds it.
        error, arm_error (m): Root mean squares over the fifth of the postures that was not fitted, without strays.
        strays: Their share.
    """

    length: dict[str, Any]
    error: float
    arm_error: float
    strays: float


def fit_length(joints: Sequence[str], q: Vector, length: Vector, arm: Vector, degree: int = 8) -> Fit:
    """Fit a length by least squares to lengths and moment arms together; the last fifth of the postures tests it.

    Args:
        joints: One to four.
        q ((N, j) float, rad or m): Positions of these joints, in any order of postures.
        length ((N,) float, m): Postures without one, or without arms, are left out.
        arm ((N, j) float, m or 1): -dL/dq.
        degree: 0 to 9.
    """
    finite = np.isfinite(length) & np.isfinite(arm).all(1)
    q, length, arm = q[finite], length[finite], arm[finite]
    low, high = q.min(0), q.max(0)
    middle, half = 0.5 * (low + high), np.maximum(0.5 * (high - low), 1e-9)
    powers = np.array(exponents(len(joints), degree))
    u = ((q - middle) / half)[:, None, :]
    parts = [np.prod(u**powers, 2)]
    for j in range(len(joints)):
        lower = powers.copy()
        lower[:, j] = np.maximum(lower[:, j] - 1, 0)
        parts.append(-powers[:, j] / half[j] * np.prod(u**lower, 2))
    A, y = np.stack(parts, 1), np.column_stack([length, arm])
    own = len(q) - len(q) // 5
    keep = np.ones_like(y, bool)
    for _ in range(3):
        fitted = keep[:own]
        c = np.linalg.lstsq(A[:own][fitted], y[:own][fitted], rcond=None)[0]
        error = np.abs(A @ c - y)
        keep = error <= STRAY[0] * np.median(error[:own]) + STRAY[1]
    test, close = error[own:], keep[own:]
    error_of, arm_error = (float(np.sqrt(np.mean(test[:, part][close[:, part]] ** 2))) for part in (0, slice(1, None)))
    table = {"joints": list(joints), "middle": middle.tolist(), "half": half.tolist(), "degree": degree}
    return Fit(table | {"coefficients": c.tolist()}, error_of, arm_error, float(1.0 - close.mean()))
