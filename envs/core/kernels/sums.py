"""Sums, means and interpolation in kernels, to the bit as NumPy has them."""

from __future__ import annotations

from .jit import kernel


@kernel
def total(values):
    """Sum up to 128 numbers (n,) pairwise, as ``numpy.sum`` does along the last axis."""
    n = len(values)
    if n < 8:
        result = 0.0
        for i in range(n):
            result += values[i]
        return result
    a, b, c, d, e, f, g, h = values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7]
    whole = n - n % 8
    for i in range(8, whole, 8):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        e += values[i + 4]
        f += values[i + 5]
        g += values[i + 6]
        h += values[i + 7]
    result = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(whole, n):
        result += values[i]
    return result


@kernel
def mean(values):
    """Average up to 128 numbers (n,)."""
    return total(values) / len(values)


@kernel
def interpolate(x, places, values):
    """Interpolate linearly between ``values`` (n,) at increasing ``places`` (n,), as ``numpy.interp`` does."""
    last = len(places) - 1
    if x <= places[0]:
        return values[0]
    if x >= places[last]:
        return values[last]
    j = 0
    while places[j + 1] <= x:
        j += 1
    if x == places[j]:
        return values[j]
    slope = (values[j + 1] - values[j]) / (places[j + 1] - places[j])
    return slope * (x - places[j]) + values[j]
