"""Equilibrium of the whisker rod on the plate, the initial state of simulations with contact.

Here is the kernel that finds it for one whisker. The segments are those of ``body.segments``.
"""

from __future__ import annotations

import math

from ..core.kernels.jit import kernel
from ..core.kernels.maths import sincos

FORCES, TIPS = 400, 40_000
"""Largest number of steps in the search for the force (by a factor of 1.3) and for the angle of the tip (by 0.05
rad)."""


@kernel
def _shape(theta, rod, force, mu):
    """Compute the shape ``theta`` from the tip's angle ``theta[n - 1]``, under (mu, -1) ``force`` (N) at the tip.

    Returns the corresponding angle of the base (rad) and its derivative by ``force`` (rad/N).
    """
    n = len(theta)
    angle = theta[n - 1]
    torque = slope = torque_slope = 0.0
    for i in range(n - 1, -1, -1):
        theta[i] = angle
        s, c = sincos(angle)
        torque -= force * rod[0, i] * (mu * s + c)
        torque_slope -= rod[0, i] * (mu * s + c + force * (mu * c - s) * slope)
        angle -= torque / rod[3, i] + rod[5, i]
        slope -= torque_slope / rod[3, i]
    return angle, slope


@kernel
def _pressed(theta, rod, base, mu):
    """Return the smallest force (N) at the tip that bends the rod to the base angle ``base`` (rad), or NaN.

    The last entry of ``theta`` (n,) is an input; the first n - 1 entries are outputs.
    """
    n = len(theta)
    length = 0.0
    for i in range(n):
        length += rod[0, i]
    low = 0.0
    high = 1e-2 * rod[3, 0] * rod[0, 0] / (length * length)
    angle, slope = _shape(theta, rod, high, mu)
    for _ in range(FORCES):
        if angle >= base:
            break
        low = high
        high *= 1.3
        angle, slope = _shape(theta, rod, high, mu)
    if not angle >= base:
        return math.nan
    force = high
    for _ in range(60):
        new = force - (angle - base) / slope
        new = new if low < new < high else 0.5 * (low + high)
        if abs(new - force) < 1e-14 * high:
            break
        force = new
        angle, slope = _shape(theta, rod, force, mu)
        if angle < base:
            low = force
        else:
            high = force
    return force


@kernel
def _height(theta, rod):
    """Return the height (m) of the tip above the base."""
    y = 0.0
    for i in range(len(theta)):
        y += rod[0, i] * sincos(theta[i])[0]
    return y


@kernel
def equilibrium(rod, base, distance, mu, theta):
    """Compute the static shape of a rod with its tip on the plate, bent towards +x.

    It solves Eqs 6-12 without inertia and damping, as two nested scalar equations. For a given angle of the tip, the
    angle of the base determines the force. The height of the tip decreases with the angle of the tip.

    Args:
        rod ((6, n) float): From ``body.rods``: lengths (m), ..., joint stiffness (N m), ..., rest angles (rad).
        base, distance, mu: Angle of the base (rad), distance of the plate (m), ratio of tangential to normal force.
        theta ((n,) float, rad): Output: angles of the segments.

    Returns:
        force float, N: Normal force; 0 if the unloaded whisker does not reach the plate, NaN if no shape touches it
            with the tip alone.
    """
    n = len(theta)
    angle = base
    for i in range(n):
        angle += rod[5, i]
        theta[i] = angle
    high = angle
    if _height(theta, rod) <= distance:
        return 0.0
    s, c = sincos(high)
    if mu * s + c < -1e-9:  # the plate would bend it further towards -x
        return math.nan
    low, above = high, 0.0
    below, force = 1.0, 0.0
    for _ in range(TIPS):
        if below <= 0.0:
            break
        high, above = low, below
        low -= 0.05
        if low <= 0.0:
            low = 1e-9
        theta[n - 1] = low
        force = _pressed(theta, rod, base, mu)
        below = _height(theta, rod) - distance
        if math.isnan(force) or (below > 0.0 and low == 1e-9):
            return math.nan
    if below > 0.0:
        return math.nan
    for _ in range(60):
        middle = low + (high - low) * 0.5
        if above - below > 0.0 and above < 1.0:
            middle = low - below * (high - low) / (above - below)
        theta[n - 1] = middle
        force = _pressed(theta, rod, base, mu)
        miss = _height(theta, rod) - distance
        if abs(miss) < 1e-14 or high - low < 1e-13:
            break
        if miss > 0.0:
            high, above = middle, miss
            below *= 0.5
        else:
            low, below = middle, miss
            above *= 0.5
    return force if abs(_height(theta, rod) - distance) < 1e-9 * distance else math.nan
