"""Piecewise polynomials for joints that follow another joint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import keys
from .layout import arrays_of
from .reader import Names, expect, limit, read

HIGHEST = 15
"""Highest power of a polynomial."""


def curves(tables: Mapping[str, Any], names: Names) -> dict[str, NDArray[Any]]:
    """Return the arrays of all curves for `skeleton.curve`."""
    start, places, pieces = [0], list[float](), list[NDArray[np.float64]]()
    for name, table in tables.items():
        curve, path = read(keys.CURVE, table, f"curve.{name}", names), f"curve.{name}"
        if curve["kind"] == "polynomial":
            powers = np.array(curve["coefficients"])
            expect(len(powers) <= HIGHEST + 1, f"{path}.coefficients", f"be at most {HIGHEST + 1} numbers", len(powers))
            places, pieces = [*places, 0.0], [*pieces, powers]
        else:
            x, y = np.array(curve["x"]), np.array(curve["y"])
            expect(bool((np.diff(x) > 1e-9).all()), f"{path}.x", "be ascending", x)
            expect(len(x) == len(y), f"{path}.y", f"be {len(x)} numbers, one for each x", y)
            places += [x[0], *x]
            pieces += list(cubics(curve["kind"], x, y))
        start.append(len(places))
        limit("pieces of curves", len(places), path)
    names.entries["curve"] = tuple(tables)
    wide = 1 << (max([4, *map(len, pieces)]) - 1).bit_length()  # `layout` pads to powers of two, at the end
    padded = [np.concatenate([np.zeros(wide - len(piece)), piece]) for piece in pieces]
    return arrays_of({"curve_start": start, "curve_x": places, "curve_piece": padded}, wide=wide)


def cubics(kind: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the coefficients (n + 1, 4), highest power first, of the pieces before, between and after n points.

    Kind ``"simm"`` is the spline of SIMM and OpenSim (SimmSpline): its third derivative at each end is that of the
    cubic through the four points at this end. Kind ``"linear"`` interpolates linearly.
    """
    n, h = len(x), np.diff(x)
    d = np.diff(y) / h
    c = np.zeros(n)  # second derivative / 6
    if n > 2 and kind != "linear":
        A, r = np.zeros((n, n)), np.zeros(n)
        for i in range(1, n - 1):
            A[i, i - 1 : i + 2] = h[i - 1], 2.0 * (h[i - 1] + h[i]), h[i]
            r[i] = d[i] - d[i - 1]
        A[0, :2], A[-1, -2:] = (-h[0], h[0]), (h[-1], -h[-1])
        if n > 3:
            r[0] = (r[2] / (x[3] - x[1]) - r[1] / (x[2] - x[0])) * h[0] ** 2 / (x[3] - x[0])
            r[-1] = -(r[-2] / (x[-1] - x[-3]) - r[-3] / (x[-2] - x[-4])) * h[-1] ** 2 / (x[-1] - x[-4])
        c[:] = np.linalg.solve(A, r)
    slope = d - h * (c[1:] + 2.0 * c[:-1])
    last = d[-1] + h[-1] * (c[-2] + 2.0 * c[-1])
    zero = np.zeros(n - 1)
    bend, turn = (3.0 * c[:-1], np.diff(c) / h) if kind != "linear" else (zero, zero)
    inner = np.stack([turn, bend, slope, y[:-1]], 1)
    return np.vstack([[0.0, 0.0, slope[0], y[0]], inner, [0.0, 0.0, last, y[-1]]])
