"""Random numbers as a function of a seed and a count.

Unlike the numbers of a generator, they do not depend on the order of calls, and a saved seed is enough to repeat an
observation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .jit import kernel, log, sincos

_GAMMA, _MIX, _MIX_AGAIN = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def uniform(seed: NDArray[np.uint64], count: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return uniform numbers in (0, 1) from the generator splitmix64, starting at position ``count * size``.

    Args:
        seed ((B,) uint64)
        count ((B,) float): Integers, such as the number of the step.
        size: Number of random numbers per row.

    Returns:
        (B, size) float
    """
    place = count.astype(np.uint64)[:, None] * np.uint64(size) + np.arange(1, size + 1, dtype=np.uint64)
    z: Any = seed[:, None] + place * _GAMMA
    z = (z ^ (z >> np.uint64(30))) * _MIX
    z = (z ^ (z >> np.uint64(27))) * _MIX_AGAIN
    z ^= z >> np.uint64(31)
    return ((z >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def normal(seed: NDArray[np.uint64], count: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return standard normal numbers (B, size) by the Box-Muller method; arguments as for :func:`uniform`."""
    u = uniform(seed, count, 2 * size)
    return np.sqrt(-2.0 * np.log(u[:, :size])) * np.cos(2.0 * np.pi * u[:, size:])


@kernel
def uniform_at(seed, place):
    """Return the number of `uniform` at the position ``place`` (uint64) after a ``seed`` (uint64)."""
    z = seed + place * _GAMMA
    z = (z ^ (z >> np.uint64(30))) * _MIX
    z = (z ^ (z >> np.uint64(27))) * _MIX_AGAIN
    z ^= z >> np.uint64(31)
    return (np.float64(np.int64(z >> np.uint64(11))) + 0.5) * 2.0**-53


@kernel
def normal_at(seed, count, size, i):
    """Return number ``i`` of the ``size`` numbers of `normal`; the bits of the float ``seed`` are the seed."""
    bits = np.float64(seed).view(np.uint64)
    place = np.uint64(np.int64(count)) * np.uint64(2 * size) + np.uint64(i + 1)
    cosine = sincos(2.0 * np.pi * uniform_at(bits, place + np.uint64(size)))[1]
    return math.sqrt(-2.0 * log(uniform_at(bits, place))) * cosine


@kernel
def normal_number(seed, count, size, i):
    """Return number ``i`` of the ``size`` numbers of `normal` for a ``seed`` (uint64), computed with the C library."""
    place = np.uint64(np.int64(count)) * np.uint64(2 * size) + np.uint64(i + 1)
    u, angle = uniform_at(seed, place), 2.0 * math.pi * uniform_at(seed, place + np.uint64(size))
    return math.sqrt(-2.0 * math.log(u)) * math.cos(angle)
