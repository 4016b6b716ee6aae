"""Young's modulus and damping of a hair from how it swings: a linear model is fitted to what was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import numbers

Array = NDArray[np.float64]
System = tuple[Array, Array, Array, Array, Array]
"""M, B and K of M phi'' + B phi' + K phi = -h y'' for a base moved by y, h, and the motion of the tip by each phi."""
Params = TypeVar("Params")

SPAN = 32.0
"""Factor on either side of the guess within which modulus and damping are sought."""

SAMPLES = 20, 200_000
"""Least and most samples of a recording."""

TRANSIENTS = 6
"""Eigenvalues, the slowest, whose free decay a recording may begin with."""


@dataclass(frozen=True)
class Identification(Generic[Params]):
    """What was identified, with standard errors of white noise of the size of what is left.

    Args:
        damping, damping_error (1)
        params: Parameters of the animal with these values.
        fitted ((N,) array): What was measured, according to the model.
        residual: Root mean square of what is left, in the measurement's unit.
    """

    modulus: float
    modulus_error: float
    damping: float
    damping_error: float
    params: Params
    fitted: Array
    residual: float


def from_motion(
    time: ArrayLike,
    tip: ArrayLike,
    base: ArrayLike | None,
    make: Callable[[float, float], Params],
    system: Callable[[Params], System],
    guess: tuple[float, float],
) -> Identification[Params]:
    """Identify from the motion of the tip, forced by the base's or free.

    The response to the base, linear between its samples, is exact by modes; the free decay from an unknown state,
    and where the tip rests, are fitted linearly along with it.

    Args:
        time ((N,) array, s): At equal distances.
        tip ((N,) array, m): Displacement across the base's heading, of any origin.
        base ((N,) array, m): The same of the base, which has rested before; held still by default.
        make: Parameters from modulus (Pa) and damping.
        system: Linear equations of these.
        guess ((float, float)): Modulus and damping about which they are sought.
    """
    t, y = numbers("time", time), numbers("tip", tip)
    u = np.zeros_like(y) if base is None else numbers("base", base)
    if t.ndim != 1 or not SAMPLES[0] <= len(t) <= SAMPLES[1]:
        raise ValueError(f"time must be an array of {SAMPLES[0]} to {SAMPLES[1]} times, got shape {t.shape}")
    for name, array in (("tip", y), ("base", u)):
        if array.shape != t.shape:
            raise ValueError(f"{name} must have shape {t.shape} like time, got {array.shape}")
    dt = (t[-1] - t[0]) / (len(t) - 1)
    if not dt > 0 or np.abs(np.diff(t) - dt).max() > 1e-3 * dt:
        raise ValueError(
            f"time must rise in equal steps, got steps from {np.diff(t).min():g} to {np.diff(t).max():g} s"
        )
    moved = u - u[0]

    def predict(values: tuple[float, float]) -> Array:
        rates, residues, direct = _poles(*system(make(*values)))
        forced = direct * moved + _filtered(moved, rates, residues, dt) if moved.any() else np.zeros_like(t)
        slow = rates[np.argsort(np.abs(rates.real))]
        slow = slow[slow.imag >= 0.0][:TRANSIENTS]
        waves = np.exp(np.outer(t - t[0], slow))
        free = np.column_stack([np.ones_like(t), waves.real, waves.imag[:, slow.imag > 0.0]])
        return forced + free @ np.linalg.lstsq(free, y - forced, rcond=None)[0]

    return search(y, predict, make, guess)


def search(
    measured: Array,
    predict: Callable[[tuple[float, float]], Array],
    make: Callable[[float, float], Params],
    guess: tuple[float, float],
) -> Identification[Params]:
    """Find modulus and damping, near a guess, with which ``predict`` of both comes nearest to what was ``measured``."""
    from scipy.optimize import least_squares  # scipy.optimize is slow to import

    size = float(np.std(measured))
    if not size > 0:
        raise ValueError("what was measured must vary, got the same value everywhere")

    def missed(logarithms: Array) -> Array:
        modulus, damping = np.array(guess) * np.exp(logarithms)
        return (predict((modulus, damping)) - measured) / size

    # From the best point of a grid: where it swings too fast or too slow, a fit sees no way to go.
    end = np.log(SPAN)
    grid = [np.array([a, b]) for a in np.linspace(-end, end, 29)[1:-1] for b in (-0.5 * end, 0.0, 0.5 * end)]
    start = min(grid, key=lambda point: float(np.sum(missed(point) ** 2)))
    found = least_squares(missed, start, bounds=(-end, end), x_scale=0.1, xtol=1e-12, ftol=1e-12, gtol=1e-12)
    modulus, damping = (np.array(guess) * np.exp(found.x)).tolist()
    variance = 2.0 * found.cost / max(len(measured) - 2, 1)
    errors = np.sqrt(np.diag(variance * np.linalg.pinv(found.jac.T @ found.jac)))
    return Identification(
        modulus,
        modulus * float(errors[0]),
        damping,
        damping * float(errors[1]),
        make(modulus, damping),
        measured + size * found.fun,
        size * float(np.sqrt(np.mean(found.fun**2))),
    )


def _poles(inertia: Array, damping: Array, stiffness: Array, moment: Array, arm: Array) -> tuple[Array, Array, float]:
    """Motion of the tip by the base's, direct + sum of residues/(s - rates)."""
    n = len(inertia)
    solved = np.linalg.solve(inertia, np.column_stack([stiffness, damping, moment]))
    rates, right = np.linalg.eig(np.block([[np.zeros((n, n)), np.eye(n)], [-solved[:, :n], -solved[:, n:-1]]]))
    left = np.linalg.solve(right, np.append(np.zeros(n), solved[:, -1]))
    return rates, -(rates**2) * (arm @ right[:n]) * left, float(1.0 - arm @ solved[:, -1])


def _filtered(u: Array, rates: Array, residues: Array, dt: float) -> Array:
    """Sum of residues/(s - rates) applied to ``u`` (N,), which is linear between its samples."""
    from scipy.signal import lfilter

    z = rates * dt
    decay = np.exp(z)
    now, before = dt * (decay - 1.0 - z) / z**2, dt * (decay * (z - 1.0) + 1.0) / z**2
    parts = [r * lfilter([b, a], [1.0, -e], u) for r, a, b, e in zip(residues, before, now, decay, strict=True)]
    return np.sum(parts, 0).real
