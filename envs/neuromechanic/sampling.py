"""Hit-and-run sampling of a polytope."""

from __future__ import annotations

import numpy as np

from ..core.kernels.jit import kernel


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
