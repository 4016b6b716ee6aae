"""Curves of OpenSim's muscles as points: Millard et al. (2013), De Groote et al. (2016) with constants, Schutte (1993).

Millard's curves consist of quintic Bezier curves between straight ends. Sources: Millard, Uchida, Seth & Delp (2013), J
Biomech Eng 135:021005, and OpenSim's SmoothSegmentedFunctionFactory.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.neuromechanic.muscles import D1, D2, D3, D4, GAUSSIANS

Vector = NDArray[np.float64]
End = tuple[float, float, float]
"""x, y and slope of an end of a Bezier curve."""

_CONSTANTS: tuple[tuple[str, str, tuple[float | None, ...]], ...] = (
    (
        "ActiveForceLengthCurve",
        "min_norm_active_fiber_length transition_norm_fiber_length max_norm_active_fiber_length "
        "shallow_ascending_slope minimum_value",
        (0.4441, 0.73, 1.8123, 0.8616, 0.1),
    ),
    (
        "FiberForceLengthCurve",
        "strain_at_zero_force strain_at_one_norm_force stiffness_at_low_force stiffness_at_one_norm_force curviness",
        (0.0, 0.7, 0.2, None, 0.75),
    ),
    (
        "ForceVelocityCurve",
        "concentric_slope_at_vmax concentric_slope_near_vmax isometric_slope eccentric_slope_at_vmax "
        "eccentric_slope_near_vmax max_eccentric_velocity_force_multiplier concentric_curviness eccentric_curviness",
        (0.0, 0.25, 5.0, 0.0, 0.15, 1.4, 0.6, 0.9),
    ),
    (
        "TendonForceLengthCurve",
        "strain_at_one_norm_force stiffness_at_one_norm_force norm_force_at_toe_end curviness",
        (0.049, None, 2.0 / 3.0, 0.5),
    ),
)
MILLARD = {kind: dict(zip(names.split(), values, strict=True)) for kind, names, values in _CONSTANTS}
"""Constants of Millard's curves with OpenSim's defaults; None if the default depends on the strain."""


def _bezier(curviness: float, *ends: End) -> dict[str, Any]:
    """Return the curve through ``ends``, whose control points lie between the ends and the corners of the tangents."""
    u = np.linspace(0.0, 1.0, 17)[:, None]
    weights: Vector = np.array([1, 5, 10, 10, 5, 1]) * u ** np.arange(6) * (1.0 - u) ** np.arange(5, -1, -1)
    bend, pieces = 0.1 + 0.8 * curviness, []
    for (x0, y0, s0), (x1, y1, s1) in pairwise(ends):
        xc = (y1 - y0 - x1 * s1 + x0 * s0) / (s0 - s1) if abs(s0 - s1) > 1e-12 else 0.5 * (x0 + x1)
        first, last, corner = np.array([x0, y0]), np.array([x1, y1]), np.array([xc, y1 + (xc - x1) * s1])
        inner = [first + bend * (corner - first)] * 2 + [last + bend * (corner - last)] * 2
        pieces.append(weights @ np.array([first, *inner, last]))
    x, y = np.vstack([piece[: -1 if i < len(pieces) - 1 else None] for i, piece in enumerate(pieces)]).T
    (_, _, slope), (_, _, other) = ends[0], ends[-1]
    reach = 0.01 * (x[-1] - x[0]) * np.arange(1, 4)  # the spline is straight beyond its ends
    x, y = np.r_[x[0] - reach[::-1], x, x[-1] + reach], np.r_[y[0] - slope * reach[::-1], y, y[-1] + other * reach]
    return {"kind": "simm", "x": x.tolist(), "y": y.tolist()}


def millard(constants: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return Millard's active, passive, velocity and tendon curve from the constants of `MILLARD`."""
    active, passive, speed, tendon = ({**MILLARD[name], **constants.get(name, {})} for name in MILLARD)
    low, middle, high, slope, least = active.values()
    shoulder, y1 = 0.95, 1.0 - active["shallow_ascending_slope"] * (0.95 - middle)
    curves = {
        "active": _bezier(
            1.0,
            (low, least, 0.0),
            (0.5 * (low + middle), 0.5 * y1, 1.25 * y1 / (middle - low)),
            (0.5 * (middle + shoulder), 0.5 * (1.0 + y1), slope),
            (1.0, 1.0, 0.0),
            (0.5 * (1.05 + high), 0.5, -1.0 / (high - 1.1)),
            (high, least, 0.0),
        )
    }
    zero, one, soft, stiff, curviness = passive.values()
    stiff = 2.0 / (one - zero) if stiff is None else stiff
    toe = min(0.1 / stiff, 0.1 * (one - zero))
    ends = (1.0 + zero, 0.0, 0.0), (1.0 + zero + toe, 0.5 * soft * toe, soft), (1.0 + one, 1.0, stiff)
    curves["passive"] = _bezier(curviness, *ends)
    last, near, still, far, beyond, most, shortening, lengthening = speed.values()
    isometric, fast = (0.0, 1.0, still), (-0.9, 0.05 * (near + last), near)
    slow, quick = _bezier(shortening, (-1.0, 0.0, last), fast, isometric), (0.9, most - 0.05 * (beyond + far), beyond)
    more = _bezier(lengthening, isometric, quick, (1.0, most, far))
    curves["velocity"] = slow | {axis: slow[axis][:-3] + more[axis][4:] for axis in "xy"}
    one, stiff, toe, curviness = tendon.values()
    stiff = 1.375 / one if stiff is None else stiff
    end = 1.0 + one + (toe - 1.0) / stiff
    foot, knee = 1.0 + 0.1 * (end - 1.0), 1.0 + one + (0.5 * toe - 1.0) / stiff
    slope, at = 0.5 * toe / (knee - foot), 0.5 * (foot + knee)
    curves["tendon"] = _bezier(curviness, (1.0, 0.0, 0.0), (at, slope * (at - foot), slope), (end, toe, stiff))
    return curves


def de_groote(width: float, passive_strain: float, passive: bool, tendon_strain: float) -> dict[str, dict[str, Any]]:
    """Return De Groote's curves with another width of the active curve and other strains at the maximal force.

    Args:
        width: Factor on the distance from the optimal length, of the active curve.
        passive_strain, tendon_strain: Strains at the maximal force.
        passive: Whether fibres have passive force.
    """
    x = np.linspace(0.0, 2.0, 101)
    length, v = (x - 1.0) / width + 1.0, np.linspace(-1.2, 1.2, 97)
    active = sum(b1 * np.exp(-0.5 * ((length - b2) / (b3 + b4 * length)) ** 2) for b1, b2, b3, b4 in GAUSSIANS)
    offset, stretch = np.exp(-3.2 / passive_strain), np.linspace(0.9, 1.0 + 3.0 * tendon_strain, 65)
    force = (np.exp(4.0 * (x - 1.0) / passive_strain) - offset) / (np.exp(4.0) - offset)
    shapes = {
        "active": (x, active),
        "passive": (x, passive * np.maximum(force, 0.0)),
        "velocity": (v, np.maximum(D1 * np.arcsinh(D2 * v + D3) + D4, 0.0)),
        "tendon": (stretch, 0.2 * np.expm1(np.log(6.0) / tendon_strain * (stretch - 1.0))),
    }
    return {name: {"kind": "simm", "x": a.tolist(), "y": b.tolist()} for name, (a, b) in shapes.items()}


SCHUTTE = {
    "tendon_force_length_curve": (
        "-10 -0.002 -0.001 0 0.00131 0.00281 0.00431 0.00581 0.00731 0.00881 0.0103 0.0118 0.0123 9.2 9.201 9.202 20",
        "0 0 0 0 0.0108 0.0257 0.0435 0.0652 0.0915 0.123 0.161 0.208 0.227 345 345 345 345",
    ),
    "active_force_length_curve": (
        "-5.307692 -4.307692 -1.923077 -0.884615 -0.269231 0.230769 0.461538 0.52725 0.62875 0.71875 0.86125 1.045 "
        "1.2175 1.43875 1.5 1.615385 2 2.961538 3.692308 5.461538 9.901902",
        "0.012188 0.021899 0.036466 0.052493 0.075312 0.114158 0.157859 0.226667 0.636667 0.856667 0.95 0.993333 "
        "0.77 0.246667 0.193821 0.133252 0.072683 0.044417 0.036341 0.021899 0.007332",
    ),
}
"""OpenSim's default points of the curves of Schutte1993Muscle_Deprecated: strain of the tendon or length, and force."""


def schutte_passive() -> dict[str, Any]:
    """Return the default passive curve of Schutte1993Muscle_Deprecated, exp(8 length - 12)."""
    x = np.linspace(0.0, 2.0, 101)
    return {"kind": "simm", "x": x.tolist(), "y": np.exp(8.0 * x - 12.0).tolist()}


def schutte_velocity() -> dict[str, Any]:
    """Return the force-velocity curve of Schutte1993Muscle_Deprecated without damping: a hyperbola for each direction.

    OpenSim's calcFiberVelocity solves the curve plus damping for the velocity; the points are dense at 0.
    """
    v = 0.005 * np.expm1(np.linspace(0.0, np.log(201.0), 201))
    slow = 0.13 * 0.15 / 1.15
    shortening, lengthening = (1.0 - v) / (1.0 + v / 0.15), (slow + 1.4 * v) / (slow + v)
    y = np.r_[shortening[:0:-1], lengthening]
    return {"kind": "linear", "x": np.r_[-v[:0:-1], v].tolist(), "y": y.tolist()}
