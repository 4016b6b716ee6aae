"""What the follicle feels: samples of the base wrench, and the power of the moment's samples in bands, as kernels."""

from __future__ import annotations

import math

from ..core.kernels.jit import exp, kernel, sincos
from .body import BANDS, SAMPLES, SLOW


@kernel
def follow_samples(samples, mean, band, power, interval):
    """Follow the power of the moment in its bands, as ``body.follow_bands`` does, from noisy samples of it.

    Args:
        samples ((B, SAMPLES, 3) float): Base wrench (M, Fx, Fy), N m and N, an ``interval`` (s) apart.
        mean, band ((B,) and (B, bands, 4) float, N m): Slow mean of the moment, and states of the two complex
            resonators of each band; changed in place.
        power ((B, bands) float, (N m)^2): Written: mean over the samples.
    """
    slow = 1.0 - exp(-interval / SLOW)
    for j in range(len(BANDS)):
        omega = 2.0 * math.pi * BANDS[j]
        decay = exp(-omega * interval / 3.1)
        sine, cosine = sincos(omega * interval)
        cosine *= decay
        sine *= decay
        share = 1.0 - decay
        for b in range(len(mean)):
            middle = mean[b]
            ax, ay, bx, by = band[b, j, 0], band[b, j, 1], band[b, j, 2], band[b, j, 3]
            total = 0.0
            for i in range(SAMPLES):
                middle += slow * (samples[b, i, 0] - middle)
                ax, ay = ax * cosine - ay * sine + share * (samples[b, i, 0] - middle), ax * sine + ay * cosine
                bx, by = bx * cosine - by * sine + share * ax, bx * sine + by * cosine + share * ay
                total += bx * bx + by * by
            band[b, j, 0], band[b, j, 1], band[b, j, 2], band[b, j, 3] = ax, ay, bx, by
            power[b, j] = 2.0 * total / SAMPLES
    for b in range(len(mean)):
        for i in range(SAMPLES):
            mean[b] += slow * (samples[b, i, 0] - mean[b])
