"""Young's modulus and damping of a hair, by fitting a linear model to recorded oscillations.

    python examples/hair_material.py

shows it with a simulated whisker that has half of the paper's stiffness and damping.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs import simulate
from gymnosoma.envs.whisker_chain import Hair, Whisker, WhiskerParams
from gymnosoma.envs.whisker_chain.analysis import matrices, tip_arm
from gymnosoma.envs.whisker_chain.params import DAMPING_RATIO, MODULUS

Array = NDArray[np.float64]

SPAN = 32.0
"""Largest factor between the guess and the result, for modulus and damping."""

SAMPLES = 20, 200_000
"""Smallest and largest number of samples of a recording."""

TRANSIENTS = 6
"""Number of slowest eigenvalues whose free decay is part of the fit."""


@dataclass(frozen=True)
class Identification:
    """Modulus and damping of a hair.

    The standard errors are valid if the residuals are white noise.

    Args:
        modulus, modulus_error (Pa): Young's modulus and its standard error.
        damping, damping_error: Damping (dimensionless) and its standard error.
        params: Parameters of the animal with these values.
        prediction ((N,) array, m): Motion of the tip in the fitted model.
        residual (m): Root mean square of the difference to the measurement.
    """

    modulus: float
    modulus_error: float
    damping: float
    damping_error: float
    params: WhiskerParams
    prediction: Array
    residual: float


def _identify(
    time: ArrayLike,
    tip: ArrayLike,
    base: ArrayLike | None,
    make: Callable[[float, float], WhiskerParams],
    system: Callable[[WhiskerParams], tuple[Array, ...]],
    guess: tuple[float, float],
) -> Identification:
    """Fit modulus and damping near a guess to the motion of the tip, by least squares; see `identify_chain`.

    The response to the base, which is linear between samples, is computed exactly by modes. The free decay from an
    unknown state and the rest position of the tip are fitted linearly in the same step.

    Args:
        time, tip, base ((N,) arrays, s, m, m): Recording.
        make: Function of modulus (Pa) and damping that returns parameters.
        system: Function of the parameters that returns M, B, K and h of M phi'' + B phi' + K phi = -h y'' for a base
            moved by y, and the motion of the tip by each phi.
        guess ((float, float)): Initial modulus and damping.
    """
    from scipy.optimize import least_squares  # slow to import

    t, y = np.asarray(time, float), np.asarray(tip, float)
    u = np.zeros_like(y) if base is None else np.asarray(base, float)
    if t.ndim != 1 or not SAMPLES[0] <= len(t) <= SAMPLES[1]:
        raise ValueError(f"time must be an array of {SAMPLES[0]} to {SAMPLES[1]} values, got shape {t.shape}")
    for name, array in (("time", t), ("tip", y), ("base", u)):
        if array.shape != t.shape:
            raise ValueError(f"{name} must have shape {t.shape} like time, got {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite")
    dt = (t[-1] - t[0]) / (len(t) - 1)
    if not dt > 0 or np.abs(np.diff(t) - dt).max() > 1e-3 * dt:
        raise ValueError(
            f"time must increase in equal steps, got steps from {np.diff(t).min():g} to {np.diff(t).max():g} s"
        )
    shift = u - u[0]

    def predict(modulus: float, damping: float) -> Array:
        rates, residues, direct = _poles(*system(make(modulus, damping)))
        forced = direct * shift + _filtered(shift, rates, residues, dt) if shift.any() else np.zeros_like(t)
        slow = rates[np.argsort(np.abs(rates.real))]
        slow = slow[slow.imag >= 0.0][:TRANSIENTS]
        waves = np.exp(np.outer(t - t[0], slow))
        free = np.column_stack([np.ones_like(t), waves.real, waves.imag[:, slow.imag > 0.0]])
        return forced + free @ np.linalg.lstsq(free, y - forced, rcond=None)[0]

    size = float(np.std(y))
    if not size > 0:
        raise ValueError("tip must move, got a constant position")

    def misfit(logarithms: Array) -> Array:
        modulus, damping = np.array(guess) * np.exp(logarithms)
        return (predict(modulus, damping) - y) / size

    # Start from the best point of a grid: far from the right frequency the gradient is not informative.
    end = np.log(SPAN)
    grid = [np.array([a, b]) for a in np.linspace(-end, end, 29)[1:-1] for b in (-0.5 * end, 0.0, 0.5 * end)]
    start = min(grid, key=lambda point: float(np.sum(misfit(point) ** 2)))
    best = least_squares(misfit, start, bounds=(-end, end), x_scale=0.1, xtol=1e-12, ftol=1e-12, gtol=1e-12)
    modulus, damping = (np.array(guess) * np.exp(best.x)).tolist()
    variance = 2.0 * best.cost / (len(y) - 2)
    errors = np.sqrt(np.diag(variance * np.linalg.pinv(best.jac.T @ best.jac)))
    return Identification(
        modulus,
        modulus * float(errors[0]),
        damping,
        damping * float(errors[1]),
        make(modulus, damping),
        y + size * best.fun,
        size * float(np.sqrt(np.mean(best.fun**2))),
    )


def _poles(inertia: Array, damping: Array, stiffness: Array, moment: Array, arm: Array) -> tuple[Array, Array, float]:
    """Return rates, residues and direct of the transfer function base to tip, direct + sum of residues/(s - rates)."""
    n = len(inertia)
    solved = np.linalg.solve(inertia, np.column_stack([stiffness, damping, moment]))
    rates, right = np.linalg.eig(np.block([[np.zeros((n, n)), np.eye(n)], [-solved[:, :n], -solved[:, n:-1]]]))
    shares = np.linalg.solve(right, np.append(np.zeros(n), solved[:, -1]))
    return rates, -(rates**2) * (arm @ right[:n]) * shares, float(1.0 - arm @ solved[:, -1])


def _filtered(u: Array, rates: Array, residues: Array, dt: float) -> Array:
    """Apply the sum of residues/(s - rates) to ``u`` (N,), which is linear between samples."""
    from scipy.signal import lfilter

    z = rates * dt
    decay = np.exp(z)
    now, before = dt * (decay - 1.0 - z) / z**2, dt * (decay * (z - 1.0) + 1.0) / z**2
    parts = [r * lfilter([b, a], [1.0, -e], u) for r, a, b, e in zip(residues, before, now, decay, strict=True)]
    return np.sum(parts, 0).real


def identify_chain(
    time: ArrayLike,
    tip: ArrayLike,
    base: ArrayLike | None = None,
    hair: Hair | None = None,
    modulus: tuple[float, float] = MODULUS,
    damping_ratio: tuple[float, float] = DAMPING_RATIO,
    **others: Any,
) -> Identification:
    """Estimate Young's modulus and damping ratio of a whisker chain from the motion of its tip.

    The whisker is plucked and released, or its base is shaken. The amplitude must be small, because the equations
    (Quist et al. 2014, Eqs. 29-32, in the time domain) are linear. The profile of modulus and damping ratio along the
    whisker is that of the guess.

    Args:
        time ((N,) array, s): Times in equal steps.
        tip ((N,) array, m): Displacement of the tip perpendicular to the base's heading, from any origin.
        base ((N,) array, m): Displacement of the base in the same direction, at rest before the recording; not moving
            by default.
        hair: Shape of the whisker; by default the paper's D1 whisker.
        modulus, damping_ratio ((float, float), Pa and 1): Guess for the first and the last link, correct within a
            factor of 30.
        **others: Further arguments of `WhiskerParams.of`, such as ``density``.

    Returns:
        Identification: ``modulus`` (Pa) and ``damping`` (1) of the first link, and ``params``.
    """
    (stiff, stiff_tip), (damped, damped_tip) = modulus, damping_ratio

    def make(first: float, ratio: float) -> WhiskerParams:
        return WhiskerParams.of(
            hair,
            modulus=(first, first * stiff_tip / stiff),
            damping_ratio=(ratio, ratio * damped_tip / damped),
            **others,
        )

    make(stiff, damped)  # checks the arguments
    return _identify(time, tip, base, make, lambda p: (*matrices(p), tip_arm(p)), (stiff, damped))


if __name__ == "__main__":
    # Released from a bend and filmed at 1 kHz for 0.1 s.
    soft = WhiskerParams.of(modulus=(2.25e9, 1.54e9), damping_ratio=(0.494, 0.0165))
    run = simulate(Whisker(soft), np.zeros(3), 0.1, every=1e-3, start={"link_angle": 2e-3 * np.arange(13)})
    fit = identify_chain(run.time, run["node"][:, -1, 1])
    print(f"{1e-9 * fit.modulus:.2f} GPa, damping ratio {fit.damping:.2f}")  # 2.25 GPa, damping ratio 0.49
