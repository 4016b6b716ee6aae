"""Elementary functions, sums and random numbers for kernels.

Gives speed and equal bits: LLVM vectorises these functions over lanes, and they return the same numbers in every
process and on every machine. Functions of the C library cannot be vectorised and differ between systems. No version of
numba should change them; `test_functions.py`, `test_circuit.py` and `test_hooks.py` compare them with the C
library and NumPy.

Random numbers are functions of a seed and a count. Unlike the numbers of a generator, they do not depend on the order
of calls, and a saved seed is enough to repeat an observation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .jit import kernel, variant


@kernel
def sincos_small(r):
    """Return sine and cosine of an angle up to pi/4 in magnitude (rad), by the polynomials of fdlibm."""
    z = r * r
    p = 2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)
    p = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * p)
    s = r + r * z * (-1.66666666666666324348e-01 + z * p)
    p = -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)
    p = -1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * p)
    c = 1.0 - 0.5 * z + z * z * (4.16666666666666019037e-02 + z * p)
    return s, c


@kernel
def sincos(x):
    """Return sine and cosine of any angle, by Cody-Waite reduction, without branches.

    Args:
        x (rad): Accurate to 2e-16 for abs(x) < 1e5; beyond that the reduction loses digits.

    Returns:
        sin, cos float
    """
    # Adding and subtracting 1.5 * 2**52 rounds to the nearest integer in two vectorisable operations.
    n = (x * 0.6366197723675814 + 6755399441055744.0) - 6755399441055744.0
    # pi/2 in three parts of 33 bits: their products with n are exact up to n = 2**20.
    r = ((x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21
    s, c = sincos_small(r)
    quadrant = n - 4.0 * ((n * 0.25 + 6755399441055744.0) - 6755399441055744.0)  # -2 .. 2
    swap = (quadrant == 1.0) | (quadrant == -1.0)
    sin = c if swap else s
    cos = s if swap else c
    sin = -sin if (quadrant < 0.0) | (quadrant == 2.0) else sin
    cos = -cos if (quadrant > 0.0) | (quadrant == -2.0) else cos
    return sin, cos


@kernel
def exp_reduced(x):
    """Return the remainder r of x after Cody-Waite reduction and a power of 2; `exp` is the power times exp(r)."""
    y = -708.0 if x < -708.0 else (709.0 if x > 709.0 else x)
    # The sum with 1.5 * 2**52 holds the nearest integer n in its lowest bits: they become the exponent of 2**n.
    t = y * 1.4426950408889634 + 6755399441055744.0
    n = t - 6755399441055744.0
    r = (y - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10
    return r, np.int64((np.float64(t).view(np.int64) << 52) + 0x3FF0000000000000).view(np.float64)


@kernel
def exp_tail(r):
    """Return the terms of exp(r) from the 7th power on, divided by this power."""
    tail = 1 / 3628800 + r * (1 / 39916800 + r * (1 / 479001600 + r * (1 / 6227020800)))
    return 1 / 5040 + r * (1 / 40320 + r * (1 / 362880 + r * tail))


@kernel
def exp_head(r, tail):
    """Return exp(r), with the result of `exp_tail`."""
    tail = 1 / 24 + r * (1 / 120 + r * (1 / 720 + r * tail))
    return 1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * tail)))


@kernel
def exp(x):
    """Return the exponential, by Cody-Waite reduction and its series to the 13th power, without branches.

    Args:
        x: Clipped to -708 .. 709, so that the result is neither subnormal nor infinite.

    Returns:
        float: Relative error below 2e-16.
    """
    r, power = exp_reduced(x)
    return power * exp_head(r, exp_tail(r))


@kernel
def log(x):
    """Return the natural logarithm, by the reduction and the polynomial of fdlibm, without branches.

    Args:
        x: Positive and normal (at least 2.3e-308); the result for any other number is meaningless.

    Returns:
        float: Relative error below 3e-16.
    """
    # Relative to the bits of sqrt(1/2), the exponent k leaves a mantissa in sqrt(1/2) .. sqrt(2).
    bits = np.float64(x).view(np.int64) - 0x3FE6A09E667F3BCD
    # k in the lowest bits of 1.5 * 2**52 converts it to a float without an integer conversion.
    k = np.int64((bits >> 52) + 0x4338000000000000).view(np.float64) - 6755399441055744.0
    f = np.int64((bits & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    # Two shorter chains of operations: a single lane waits for each result.
    odd = z * (
        6.666666666666735130e-01
        + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01))
    )
    even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
    r = odd + even
    h = 0.5 * f * f
    return k * 6.93147180369123816490e-01 - ((h - (s * (h + r) + k * 1.90821492927058770002e-10)) - f)


@kernel
def asinh(x):
    """Return the inverse hyperbolic sine, without branches.

    Args:
        x: Below 1e150 in magnitude, so that its square is finite.

    Returns:
        float: Relative error below 5e-16.
    """
    y = abs(x)
    t = y + y * y / (1.0 + math.sqrt(1.0 + y * y))
    u = 1.0 + t
    result = log(u) + (t - (u - 1.0)) / u  # the second term corrects the rounding of 1 + t
    return -result if x < 0.0 else result


@kernel
def _term(value):
    return value


@kernel
def _square(value):
    return value * value


@kernel
def _lane(values, first):
    """Return the sum of every eighth number from index ``first``, within the last complete group of eight."""
    result = _term(values[first])
    for i in range(first + 8, len(values) - len(values) % 8, 8):
        result += _term(values[i])
    return result


@kernel
def total(values):
    """Return the sum of up to 128 numbers (n,), with the pairwise summation of ``numpy.sum`` along the last axis."""
    n, result, first = len(values), 0.0, 0
    if n >= 8:
        left = (_lane(values, 0) + _lane(values, 1)) + (_lane(values, 2) + _lane(values, 3))
        right = (_lane(values, 4) + _lane(values, 5)) + (_lane(values, 6) + _lane(values, 7))
        result, first = left + right, n - n % 8
    for i in range(first, n):
        result += _term(values[i])
    return result


total_square = variant(total, "square", _term=_square)
"""Sum of the squares of up to 128 numbers."""


@kernel
def mean(values):
    """Return the mean of up to 128 numbers (n,)."""
    return total(values) / len(values)


@kernel
def interpolated(x, places, values):
    """Return the linear interpolation of ``values`` (n,) at increasing ``places`` (n,), constant beyond the ends."""
    i = 1
    while i < len(places) - 1 and places[i] < x:
        i += 1
    share = (x - places[i - 1]) / (places[i] - places[i - 1])
    return values[i - 1] + min(max(share, 0.0), 1.0) * (values[i] - values[i - 1])


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
