"""Sums, means and interpolation in kernels, equal to NumPy's to the last bit."""

from __future__ import annotations

from .jit import kernel, variant


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
