"""Midlines as curves of constant speed whose tangent angle is a polynomial, and their fit to points of one frame.

Time is not here: `motion` smooths the fitted curves over frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .units import Array

Progress = Callable[..., Iterable[Any]]


def silent(items: Iterable[Any], **about: Any) -> Iterable[Any]:
    """Return the items; show no progress."""
    return items


PIECES = 50
"""Smallest number of pieces into which a midline is divided."""

BLOCK = 512
"""Number of frames that are fitted at once, to limit memory."""

PRIOR, DAMPING = 6, 1e-3
"""Degree above which the prior of the angle's coefficients falls from 1 rad, and first damping of a fit."""


def directions(angle: Array) -> Array:
    """Return the unit vectors (..., 2) of angles (...)."""
    return np.stack([np.cos(angle), np.sin(angle)], -1)


def rotated(vectors: Array) -> Array:
    """Return vectors (..., 2) turned to the left by a right angle."""
    return np.stack([-vectors[..., 1], vectors[..., 0]], -1)


def arc_length(curve: Array) -> Array:
    """Return the length (T, A) along curves (T, A, 2) from their first points."""
    steps = np.hypot(*np.moveaxis(np.diff(curve, axis=1), -1, 0))
    return np.pad(np.cumsum(steps, 1), ((0, 0), (1, 0)))


def in_blocks(function: Callable[[Array], Array], values: Array) -> Array:
    """Apply a function to blocks of rows, to limit memory."""
    return np.concatenate([function(values[k : k + BLOCK]) for k in range(0, len(values), BLOCK)])


class Body:
    """Midlines of constant speed, whose tangent angle is a polynomial, seen at ``places`` (P,), shares of the length.

    The unknowns of a frame are the coefficients of the angle (order + 1, orthonormal Legendre polynomials), the length,
    and the centre (2).
    """

    def __init__(self, places: Array, order: int, n_rods: int) -> None:
        self.order, self.n_rods = order, n_rods
        count = n_rods * -(-PIECES // n_rods)
        self.middle = (np.arange(count) + 0.5) / count
        degree = np.arange(order + 1)
        self.modes = np.polynomial.legendre.legvander(2.0 * self.middle - 1.0, order) * np.sqrt(2.0 * degree + 1.0)
        reach = np.clip(places[:, None] * count - np.arange(count), 0.0, 1.0) / count
        self._reach = reach - (1.0 - self.middle) / count
        self.places = places
        # Prior of the coefficients: the spectrum of worms with up to two waves on the body.
        self._precision = np.concatenate([(np.maximum(degree, PRIOR) / PRIOR) ** 8.0 * (degree > 0), np.zeros(3)])

    def start(self, points: Array) -> Array:
        """Return initial values (N, U) of the unknowns, from splines through about a dozen points (N, P, 2)."""
        from scipy.interpolate import CubicSpline  # slow to import

        some = np.unique(np.linspace(0, points.shape[1] - 1, min(points.shape[1], self.order + 1)).round().astype(int))
        slope = CubicSpline(self.places[some], points[:, some], axis=1)(self.middle, 1)
        angle = np.unwrap(np.arctan2(slope[..., 1], slope[..., 0]), axis=1)
        length = np.mean(np.hypot(slope[..., 0], slope[..., 1]), 1)
        return np.concatenate([angle @ self.modes / len(self.middle), length[:, None], points.mean(1)], 1)

    def fit(
        self, points: Array, unknown: Array, noise: float, steps: int, progress: Progress = silent
    ) -> tuple[Array, Array]:
        """Return the unknowns (N, U) after Levenberg-Marquardt steps, and the residuals (N, P, 2) m."""
        fitted, residuals = np.empty_like(unknown), np.empty_like(points)
        prior = noise**2 * self._precision
        for first in progress(range(0, len(points), BLOCK), desc="midlines"):
            part = slice(first, first + BLOCK)
            best, least = unknown[part], np.full(len(points[part]), np.inf)
            now, damping = best.copy(), np.full(len(best), DAMPING)
            for step in range(steps + 1):
                deviation, slope = self._linear(points[part], now, step < steps)
                cost = np.sum(deviation**2, 1) + now**2 @ prior
                better = cost < least
                best, least = np.where(better[:, None], now, best), np.where(better, cost, least)
                if step == 0:
                    matrix, right = np.empty((len(now), now.shape[1], now.shape[1])), np.empty_like(now)
                if step < steps:
                    part_slope = slope[better]
                    matrix[better] = np.swapaxes(part_slope, 1, 2) @ part_slope + np.diag(prior)
                    right[better] = np.squeeze(deviation[better][:, None] @ part_slope, 1) - now[better] * prior
                    damping = np.where(better, damping / 10.0, np.maximum(damping, DAMPING) * 10.0)
                    damped = matrix * (1.0 + damping[:, None, None] * np.eye(now.shape[1]))
                    now = best + np.linalg.solve(damped, right[..., None])[..., 0]
            deviation, _ = self._linear(points[part], best, False)
            best[:, 0] += np.pi * (best[:, -3] < 0.0)  # the same line, from the other side
            best[:, -3] = np.abs(best[:, -3])
            fitted[part], residuals[part] = best, deviation.reshape(points[part].shape)
        return fitted, residuals

    def _linear(self, points: Array, unknown: Array, sloped: bool = True) -> tuple[Array, Array]:
        """Return the residuals (N, 2 P) and the derivatives of the points (N, 2 P, U)."""
        length, centre = unknown[:, -3], unknown[:, -2:]
        tangent, line = self._line(unknown[:, : self.order + 1])
        residuals = points - centre[:, None] - length[:, None, None] * line
        if not sloped:
            return residuals.reshape(len(residuals), -1), residuals
        count, width = points.shape[:2]
        slope = np.zeros((count, width, 2, unknown.shape[1]))
        normal = np.stack([-tangent[:, 1], tangent[:, 0]], 1) * length[:, None, None]
        for axis in range(2):
            slope[:, :, axis, : self.order + 1] = self._reach @ (normal[:, axis, :, None] * self.modes)
            slope[:, :, axis, -2 + axis] = 1.0
        slope[..., -3] = line
        return residuals.reshape(count, -1), slope.reshape(count, 2 * width, -1)

    def _line(self, modes: Array) -> tuple[Array, Array]:
        """Return the directions (N, 2, M) of the pieces of midlines of length 1, and their points (N, P, 2)."""
        angle = modes @ self.modes.T
        tangent = np.stack([np.cos(angle), np.sin(angle)], 1)
        return tangent, np.swapaxes(tangent @ self._reach.T, 1, 2)

    def response(self, unknown: Array, noise: float) -> tuple[Array, float]:
        """Return how one frame reacts to deviations of its points.

        Returns:
            projection (2 P, 2 P): Matrix that maps small deviations to residuals.
            variance: Variance of the length, for deviations with a standard deviation of 1.
        """
        _, slope = self._linear(np.zeros((1, len(self.places), 2)), unknown[None])
        matrix = slope[0].T @ slope[0] + noise**2 * np.diag(self._precision)
        projection = np.eye(slope.shape[1]) - slope[0] @ np.linalg.solve(matrix, slope[0].T)
        return projection, float(np.linalg.inv(matrix)[-3, -3])

    def points(self, modes: Array, length: float, centre: Array, head: Array, tail: Array) -> Array:
        """Return the points (N, P, 2) of midlines whose tips are missed by ``head`` and ``tail`` (N,)."""
        _, line = self._line(modes)
        moved = head[:, None] * (1.0 - self.places) - tail[:, None] * self.places
        return centre[:, None] + length * (line + moved[..., None] * self.tangent(modes))

    def tangent(self, modes: Array) -> Array:
        """Return the directions (N, P, 2) of the midlines at the points."""
        near = np.minimum((self.places * len(self.middle)).astype(int), len(self.middle) - 1)
        angle = modes[:, : self.order + 1] @ self.modes[near].T
        return directions(angle)

    def coefficients(self, rod_angle: Array) -> Array:
        """Return the coefficients (N, order + 1) of the headings (N, n) of rods."""
        return np.asarray(rod_angle @ np.linalg.pinv(self.modes.reshape(self.n_rods, -1, self.order + 1).mean(1)).T)

    def chord(self, modes: Array) -> float:
        """Return the mean length of a rod relative to the curve between its ends."""

        def chords(modes: Array) -> Array:
            angle = (modes @ self.modes.T).reshape(len(modes), self.n_rods, -1)
            return np.asarray(np.hypot(np.cos(angle).mean(2), np.sin(angle).mean(2)))

        return float(np.mean(in_blocks(chords, modes)))

    def rods(self, coefficients: Array) -> Array:
        """Return the headings (T, n) of rods, continuous along the body."""
        mean = (coefficients @ self.modes.T).reshape(len(coefficients), self.n_rods, -1)
        middle = mean.mean(2, keepdims=True)
        turn = np.arctan2(np.sin(mean - middle).mean(2), np.cos(mean - middle).mean(2))
        return np.asarray(middle[..., 0] + turn)
