"""Geometry of a planar chain of rods: joints from angles, and self-crossing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..kernels.jit import kernel
from ..kernels.maths import sincos


@kernel
def chain_head(angle, length, lengths, masses):
    """Return the position (m) of the first rod's free end relative to the centre of mass; see `chain_points`."""
    n = len(angle)
    x = y = mean_x = mean_y = 0.0
    for i in range(n):
        s, c = sincos(angle[i])
        step = length / n * lengths[i]
        mean_x += masses[i] * (x + 0.5 * step * c)
        mean_y += masses[i] * (y + 0.5 * step * s)
        x += step * c
        y += step * s
    return -(mean_x / n), -(mean_y / n)


@kernel
def chain_points(angle, centre, length, lengths, masses, points):
    """Compute the ends of a chain's rods from angles and centre of mass.

    Args:
        angle ((B, n) float, rad): Heading of each rod, first to last.
        centre ((B, 2) float, m): Centre of mass.
        length ((B,) float, m): Length of the whole chain.
        lengths, masses ((n,) float): Length and mass of each rod, relative to the mean.
        points ((B, n + 1, 2) float, m): Output: the free end of the first rod, the joints, the free end of the last.
    """
    rows, n = angle.shape
    for b in range(rows):
        x, y = chain_head(angle[b], length[b], lengths, masses)
        x += centre[b, 0]
        y += centre[b, 1]
        points[b, 0, 0] = x
        points[b, 0, 1] = y
        along = left = 0.0
        for i in range(n):
            s, c = sincos(angle[b, i])
            along += length[b] / n * lengths[i] * c
            left += length[b] / n * lengths[i] * s
            points[b, i + 1, 0] = along + x
            points[b, i + 1, 1] = left + y


@kernel
def _side(px, py, qx, qy, rx, ry):
    """Return twice the signed area of a triangle; its sign is the side of p-q with r."""
    return (qx - px) * (ry - py) - (qy - py) * (rx - px)


@kernel
def crosses_itself(angle, length, scratch):
    """Return whether a chain crosses itself: two rods that are not neighbours intersect.

    A chain with all headings within a half turn cannot cross itself, because it advances along the middle heading;
    pairs of rods are tested only in other chains.

    Args:
        angle ((n,) float, rad): Headings, continuous along the chain.
        length ((n,) float): Lengths of the rods over their mean.
        scratch ((n + 1, 2) float): Work space.

    Returns:
        bool
    """
    n = len(angle)
    low = high = angle[0]
    for i in range(1, n):
        low = min(low, angle[i])
        high = max(high, angle[i])
    if high - low < np.pi:
        return False
    scratch[0, 0] = scratch[0, 1] = 0.0
    for i in range(n):
        s, c = sincos(angle[i])
        scratch[i + 1, 0] = scratch[i, 0] + length[i] * c
        scratch[i + 1, 1] = scratch[i, 1] + length[i] * s
    for i in range(n - 2):
        ax, ay, bx, by = scratch[i, 0], scratch[i, 1], scratch[i + 1, 0], scratch[i + 1, 1]
        for j in range(i + 2, n):
            cx, cy, dx, dy = scratch[j, 0], scratch[j, 1], scratch[j + 1, 0], scratch[j + 1, 1]
            reach = length[i] + length[j]  # rods that start further apart than this cannot meet
            if (cx - ax) * (cx - ax) + (cy - ay) * (cy - ay) > reach * reach:
                continue
            if (_side(ax, ay, bx, by, cx, cy) > 0.0) != (_side(ax, ay, bx, by, dx, dy) > 0.0) and (
                _side(cx, cy, dx, dy, ax, ay) > 0.0
            ) != (_side(cx, cy, dx, dy, bx, by) > 0.0):
                return True
    return False


@kernel
def self_crossing(angle, length, scratch, crossed):
    """Write into ``crossed`` (B,) which chains with headings (B, n) cross themselves; see `crosses_itself`."""
    for b in range(len(angle)):
        crossed[b] = crosses_itself(angle[b], length, scratch)


def headings(joint_angle: NDArray[np.float64], heading: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return headings of rods (B, n) from joint angles (B, n - 1) and mean headings (B,), all in rad."""
    angle = np.zeros((len(joint_angle), joint_angle.shape[1] + 1))
    angle[:, 1:] = np.cumsum(joint_angle, 1)
    return angle + (heading - angle.mean(1))[:, None]


def start_angles(
    values: Mapping[str, NDArray[np.float64]], name: str, straight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the initial headings (A, n) rad: the value ``name``, or from ``joint_angle`` and ``heading``."""
    if name in values:
        return values[name]
    if not values.keys() & {"joint_angle", "heading"}:
        return straight
    return headings(values.get("joint_angle", straight[:, 1:]), values.get("heading", np.zeros(len(straight))))


@kernel
def body_frame(angle, x, y):
    """Return the components of a world vector along and to the left of a heading (rad)."""
    s, c = sincos(angle)
    return c * x + s * y, c * y - s * x


@kernel
def _rotate(angle, vectors, out):
    for b in range(len(angle)):
        out[b, 0], out[b, 1] = body_frame(angle[b], vectors[b, 0], vectors[b, 1])


def to_body_frame(heading: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the components of world vectors (B, 2) along and to the left of headings (B,) rad, (B, 2)."""
    out = np.empty((len(heading), 2))
    _rotate(np.ascontiguousarray(heading), np.ascontiguousarray(vectors), out)  # one layout, one kernel
    return out
