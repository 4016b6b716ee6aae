"""Sensors of the follicle: noisy samples of the base wrench, and the power of the moment in frequency bands.

Here are kernels that tasks call in their hooks. The wrench and its power without noise are computed in ``body.py``.
"""

from __future__ import annotations

import math

from ..core.kernels.jit import kernel
from ..core.kernels.maths import exp, normal_number, sincos
from .body import BANDS, SAMPLES, SLOW

SENSOR = (1e-9, 0.3e-6, 0.3e-6)
"""Standard deviation of the noise on each sample of the base wrench: M (N m), Fx, Fy (N)."""


@kernel
def take_samples(wrench, seed, period, factor, moment, force, mean):
    """Add noise to the samples of the base wrench.

    Args:
        wrench ((SAMPLES, 3) float): Samples without noise: M (N m), Fx, Fy (N).
        seed, period (uint64, float): Seed of the noise, and number of the control period.
        factor: Factor of the noise.
        moment, force ((SAMPLES,) float, N m, and (SAMPLES, 2) float, N): Output: samples with noise.
        mean ((3,) float): Output: mean of the samples with noise.
    """
    for k in range(3):
        total = 0.0
        for i in range(SAMPLES):
            sample = wrench[i, k] + factor * SENSOR[k] * normal_number(seed, period, 3 * SAMPLES, 3 * i + k)
            total += sample
            if k == 0:
                moment[i] = sample
            else:
                force[i, k - 1] = sample
        mean[k] = total / SAMPLES


@kernel
def level(power):
    """Convert a power of the moment, (N m)^2, to log10 of (nN m)^2, at least -6."""
    return math.log10(max(power, 1e-24)) + 18.0


@kernel
def follow_moment(moment, interval, mean, band, levels):
    """Filter noisy samples of the moment, and compute its power in each band, as in ``body.follow_bands``.

    Args:
        moment ((SAMPLES,) float, N m): Samples with a spacing of ``interval`` (s).
        mean (N m): Slow mean of the moment before the samples.
        band ((bands, 4) float, N m): States of the two complex resonators of each band; changed in place.
        levels ((bands,) float, log10 (nN m)^2): Output: `level` of the mean power over the samples.

    Returns:
        float: Slow mean after the samples, N m.
    """
    slow, middle = 1.0 - exp(-interval / SLOW), mean
    for j in range(len(BANDS)):
        omega = 2.0 * math.pi * BANDS[j]
        decay = exp(-omega * interval / 3.1)
        sine, cosine = sincos(omega * interval)
        sine, cosine = decay * sine, decay * cosine
        share = 1.0 - decay
        ax, ay, bx, by = band[j, 0], band[j, 1], band[j, 2], band[j, 3]
        middle, total = mean, 0.0
        for i in range(SAMPLES):
            middle += slow * (moment[i] - middle)
            ax, ay = ax * cosine - ay * sine + share * (moment[i] - middle), ax * sine + ay * cosine
            bx, by = bx * cosine - by * sine + share * ax, bx * sine + by * cosine + share * ay
            total += bx * bx + by * by
        band[j, 0], band[j, 1], band[j, 2], band[j, 3] = ax, ay, bx, by
        levels[j] = level(2.0 * total / SAMPLES)
    return middle


@kernel
def take_vibration(moment, force, powers):
    """Compute the power of the first and second differences of the samples of a period.

    Args:
        moment, force ((SAMPLES,) float, N m, and (SAMPLES, 2) float, N): Samples of M, and of Fx and Fy.
        powers ((4,) float): Output: log10 of the mean squares, of M in (nN m)^2 and of Fx in uN^2: first differences of
            M and Fx, then second differences.
    """
    for j in range(4):
        total = 0.0
        for i in range(SAMPLES - 1 - j // 2):
            if j == 0:
                change = 1e9 * (moment[i + 1] - moment[i])
            elif j == 1:
                change = 1e6 * (force[i + 1, 0] - force[i, 0])
            elif j == 2:
                change = 1e9 * (moment[i + 2] - 2.0 * moment[i + 1] + moment[i])
            else:
                change = 1e6 * (force[i + 2, 0] - 2.0 * force[i + 1, 0] + force[i, 0])
            total += change * change
        powers[j] = math.log10(max(total / (SAMPLES - 1 - j // 2), 1e-9))
