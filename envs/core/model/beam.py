"""Tapered hair with a circular section: shape, sections and segments."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import number, numbers, shown, whole
from .quantities import Option

SHAPE = {
    "length": Option(1e-3, 1.0, "m", "length"),
    "base_radius": Option(1e-6, 5e-3, "m", "radius at the base"),
    "tip_radius": Option(1e-8, 5e-3, "m", "radius at the tip"),
    "curvature": Option(-1e3, 1e3, "rad/m", "curvature at rest"),
}


@dataclass(frozen=True)
class Hair:
    """Shape at rest of a hair with a circular section, for both whisker models.

    Args:
        length (0.001 to 1 m): Length along the hair.
        base_radius (1e-06 to 0.005 m)
        tip_radius (1e-08 to 0.005 m): Radii at the ends of a truncated cone; equal radii make a cylinder.
        curvature (float or (K,) floats, -1000 to 1000 rad/m): Uniform, or values at equal distances from base to tip
            with linear interpolation. A positive curvature turns the hair counter-clockwise from base to tip.

    Raises:
        ValueError: If a value is out of range.

    Examples:
        A hair with a curvature that increases towards its tip, as a whisker chain and a whisker rod:

        >>> from gymnosoma.envs.whisker_chain import Hair, Whisker, WhiskerParams
        >>> from gymnosoma.envs.whisker_rod import WhiskerRod, WhiskerRodParams
        >>> hair = Hair(length=40e-3, base_radius=80e-6, tip_radius=2e-6, curvature=(-10.0, -20.0, -60.0))
        >>> chain = Whisker(WhiskerParams.of(hair, n_links=40, modulus=(3.3e9, 3.3e9)))
        >>> rod = WhiskerRod(WhiskerRodParams.of(hair, youngs_modulus=3.3e9))
        >>> print(round(hair.angle(hair.length), 3))
        -1.1
    """

    length: float
    base_radius: float
    tip_radius: float
    curvature: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        for name in ("length", "base_radius", "tip_radius"):
            SHAPE[name].check(name, number(name, getattr(self, name)))
        curvature = SHAPE["curvature"].check("curvature", self.curvature)
        if curvature.ndim > 1 or curvature.shape == (0,):
            raise ValueError(f"curvature must be a number or an array (K,), got {shown(self.curvature)}")
        object.__setattr__(self, "curvature", float(curvature) if curvature.ndim == 0 else tuple(curvature.tolist()))

    @classmethod
    def traced(cls, points: ArrayLike, base_radius: float, tip_radius: float, stations: int = 6) -> Hair:
        """Fit length and curvature to points along the midline of a hair at rest, such as on a scan.

        Args:
            points ((N, 2) array, m): From base to tip.
            base_radius, tip_radius (m)
            stations (2 to 1000): Number of fitted curvatures, at equal distances.

        Examples:
            >>> turn = np.linspace(0.0, 0.8, 50)
            >>> arc = 50e-3 * np.column_stack([np.sin(turn), 1.0 - np.cos(turn)])
            >>> hair = Hair.traced(arc, 80e-6, 2e-6, stations=3)
            >>> print(round(1e3 * hair.length, 2), np.round(hair.curvature, 1).tolist())
            40.0 [20.0, 20.0, 20.0]
        """
        whole("stations", stations, 2, 1000)
        trace = numbers("points", points)
        if trace.ndim != 2 or trace.shape[1] != 2 or len(trace) <= stations:
            raise ValueError(f"points must be an array (N, 2) with N over {stations}, got shape {trace.shape}")
        step = np.diff(trace, axis=0)
        way = np.hypot(*step.T)
        if not (way > 0).all():
            raise ValueError(f"points must each differ from the one before, got {shown(trace[np.argmin(way)])} twice")
        straight = cls(float(way.sum()), base_radius, tip_radius)
        heading = np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
        middle = np.cumsum(way) - 0.5 * way
        # The heading is linear in the curvatures at the stations and in the heading at the base.
        parts = [replace(straight, curvature=tuple(one)).angle(middle) for one in np.eye(stations)]
        solution = np.linalg.lstsq(np.column_stack([*parts, np.ones(len(middle))]), heading, rcond=None)[0]
        return replace(straight, curvature=tuple(solution[:-1].tolist()))

    def radius(self, place: ArrayLike) -> NDArray[np.float64]:
        """Return the radius (m) at a ``place`` (m) from the base."""
        return self.base_radius + (self.tip_radius - self.base_radius) * np.asarray(place, float) / self.length

    def angle(self, place: ArrayLike) -> NDArray[np.float64]:
        """Return the heading at rest (rad) at a ``place`` (m) from the base, relative to the base."""
        curvature, s = np.atleast_1d(self.curvature), np.asarray(place, float)
        if len(curvature) == 1:
            return curvature[0] * s
        station, gap = np.linspace(0.0, self.length, len(curvature), retstep=True)
        turned = np.append(0.0, np.cumsum(0.5 * gap * (curvature[1:] + curvature[:-1])))
        i = np.clip(np.searchsorted(station, s, "right") - 1, 0, len(curvature) - 2)
        beyond = s - station[i]
        return turned[i] + beyond * (curvature[i] + 0.5 * beyond * np.diff(curvature)[i] / gap)


def second_moment(radius: ArrayLike) -> NDArray[np.float64]:
    """Return the second moment of area (m^4) of a circular section of ``radius`` (m)."""
    return 0.25 * np.pi * np.asarray(radius, float) ** 4


def cone_volume(base: ArrayLike, tip: ArrayLike, length: ArrayLike) -> NDArray[np.float64]:
    """Return the volume (m^3) of a truncated cone from the radii of its ends and its length (m)."""
    base, tip = np.asarray(base, float), np.asarray(tip, float)
    return np.asarray(length) * np.pi / 3.0 * (base**2 + base * tip + tip**2)


def cone_centroid(base: ArrayLike, tip: ArrayLike, length: ArrayLike) -> NDArray[np.float64]:
    """Return the distance (m) from the base to the centroid of a truncated cone's outline, a trapezoid."""
    base, tip = np.asarray(base, float), np.asarray(tip, float)
    return np.asarray(length) / 3.0 * (base + 2.0 * tip) / (base + tip)
