"""Sections and segments of a tapered round hair."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def area(radius: ArrayLike) -> NDArray[np.float64]:
    """Area (m^2) of a round section of ``radius`` (m)."""
    return np.pi * np.asarray(radius, float) ** 2


def second_moment(radius: ArrayLike) -> NDArray[np.float64]:
    """Second moment of area (m^4) of a round section of ``radius`` (m)."""
    return 0.25 * np.pi * np.asarray(radius, float) ** 4


def cone_volume(base: ArrayLike, tip: ArrayLike, length: ArrayLike) -> NDArray[np.float64]:
    """Volume (m^3) of a truncated cone from the radii of its ends and its length (m)."""
    base, tip = np.asarray(base, float), np.asarray(tip, float)
    return np.asarray(length) * np.pi / 3.0 * (base**2 + base * tip + tip**2)


def cone_centroid(base: ArrayLike, tip: ArrayLike, length: ArrayLike, planar: bool = False) -> NDArray[np.float64]:
    """Distance (m) of the centre of mass of a truncated cone from its base.

    Parameters
    ----------
    base, tip, length : array_like, m
    planar : bool
        Take the centroid of the outline, a trapezoid, instead of the solid's.
    """
    base, tip = np.asarray(base, float), np.asarray(tip, float)
    if planar:
        return np.asarray(length) / 3.0 * (base + 2.0 * tip) / (base + tip)
    return np.asarray(length) / 4.0 * (base**2 + 2.0 * base * tip + 3.0 * tip**2) / (base**2 + base * tip + tip**2)
