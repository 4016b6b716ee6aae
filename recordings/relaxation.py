"""Passive properties of a worm's body, estimated from a worm that straightens with silent muscles."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs import simulate
from gymnosoma.envs.core.arguments import number, whole
from gymnosoma.envs.worm import Worm, WormParams, medium

from .medium import LARGEST_RATIO, fit_medium, sigma_of
from .motion import FINER, Motion, seen_again

Array = NDArray[np.float64]

STEP = 0.02
"""Step of the finite differences, in logarithms."""

ITERATIONS, AGAIN = 8, 3
"""Number of Levenberg-Marquardt iterations for the recording and for each bootstrap repeat."""

ORDER = 16
"""Degree of the polynomials along the body; at most the number of points less 2."""

MODES = 12
"""Number of polynomials along the body that correct the measured initial shape, which is sensitive to noise."""

MISSED, BARELY = 0.05, 1e-4
"""Largest distance by which tips are missed (share of the length), and relative damping of poorly determined values."""

BODY = 3
"""Number of unknowns before the modes: logarithms of friction, damping and length."""

SMOOTHED, SHARE, PLAIN = 0.05, 0.25, 1e-2
"""Standard deviations of the prior.

In order: difference of each mode from the smoothed initial shape (root mean square, rad); distance by which tips are
missed, relative to the mean of |N(0, jitter)| (30% more for a uniform, 25% less for an exponential distribution);
logarithm of the length if no tips are missed.
"""

LIKELY = np.array([3.0, 3.0, 0.01, *[0.1] * MODES])
"""Scale of a step of each unknown that the recording does not determine."""

STARTS = (0.0, -1.0, 1.0)
"""Initial values of the search: logarithm of friction, relative to the paper's medium with the same ratio."""

FAR = np.array([[-14.0, -3.0, -0.1, *[-0.5] * MODES], [4.0, 3.0, 0.1, *[0.5] * MODES]])
"""Bounds of the unknowns.

Logarithms of friction and damping relative to the paper's values on agar (water is at -10), logarithm of the length
relative to the midlines, and modes (rad).
"""

UNKNOWN = 0.5
"""Standard error of the logarithm above which only a bound is reported."""

VISIBLE = 10.0
"""Increase of the squares without friction, in variances of the noise, that is required to report a value."""

CAUTION = 2.0
"""Distance of a bound from the best fit, in standard errors; it holds in all of 40 recordings of 2 s in water."""

INNER = slice(2, -2)
"""Joints used for residuals; the other angles have twice the error."""

LEAST_SECONDS, LEAST_ANGLE = 1.0, 0.05
"""Smallest duration of a relaxation (s), and smallest root mean square of the initial joint angles (rad)."""


@dataclass(frozen=True)
class RelaxationFit:
    """Passive properties of a worm's body that can be determined without a known force.

    Args:
        friction_over_stiffness (s/m^2): b_perp / kappa; NaN if only an upper bound is known.
        friction_interval (tuple of 2 float): 95% interval; if only a bound is known, from 0 to the bound at `CAUTION`
            standard errors.
        lag (s): c / kappa.
        lag_interval (tuple of 2 float): 95% interval.
        ratio: Assumed or estimated b_perp / b_par.
        residual (rad): Root mean square of the residuals of the joint angles.
    """

    friction_over_stiffness: float
    friction_interval: tuple[float, float]
    lag: float
    lag_interval: tuple[float, float]
    ratio: float
    residual: float

    @property
    def report(self) -> str:
        """Results, one line each."""
        low, high = self.friction_interval
        if np.isnan(self.friction_over_stiffness):
            medium = f"b_perp / kappa is at most {high:.3g} s/m^2: the damping is mainly that of the body"
        else:
            medium = f"b_perp / kappa = {self.friction_over_stiffness:.3g} s/m^2 (95% from {low:.3g} to {high:.3g})"
        least, most = self.lag_interval
        return f"{medium}\nc / kappa = {self.lag:.3g} s (95% from {least:.3g} to {most:.3g})"


class _Relaxing:
    """Shapes of a motion from frame ``first`` on, and simulations of worms that straighten from there."""

    def __init__(self, motion: Motion, ratio: float, first: int) -> None:
        from scipy.interpolate import CubicSpline  # slow to import

        # Each tip is missed by |N(0, jitter)|.
        missed = 2.0 * np.sqrt(2.0 / np.pi) * motion.jitter
        # A bent curve through the joints is longer than the rods.
        bent = float(np.median(np.mean(motion.joint_angle[motion.reliable] ** 2, 1)))
        self.length = (motion.length + missed) * (1.0 - bent / 24.0)
        off = np.array([np.inf, np.inf, np.hypot(SHARE * missed / self.length, PLAIN), *[SMOOTHED] * MODES])
        self._prior = motion.noise / off
        self._ratio, self._usual = ratio, WormParams.in_medium(1.0, length=self.length)
        assert motion.points is not None
        self._angle, self._centre = motion.rod_angle[first * FINER], motion.centre[first * FINER]
        joints = len(self._angle) - 1
        self._modes = np.sqrt(joints) * _polynomials(np.linspace(0.0, 1.0, joints), MODES - 1).T
        measured = motion.measured & motion.reliable[::FINER]
        self._valid, self._smooth = measured[first:], motion.joint_angle[first * FINER :: FINER, INNER]
        # Use unsmoothed frames: smoothing in time would blunt the release, which determines the damping.
        basis = _polynomials(motion.places, min(ORDER, len(motion.places) - 2))
        self._measured = basis.T @ motion.points[first:][self._valid]
        spline = CubicSpline(np.linspace(0.0, 1.0, joints + 2), np.eye(joints + 2))
        self._seen = spline(motion.places)
        # Missed tips shift points along the body so far that its curvature matters.
        from_head, from_tail = motion.places[:, None], 1.0 - motion.places[:, None]
        self._slope, bend = spline(motion.places, 1), spline(motion.places, 2)
        self._moved = [basis.T * each.T for each in (from_tail, from_head)]
        curved = (from_tail**2 * bend, from_tail * from_head * bend, from_head**2 * bend)
        self._curved = [basis.T @ each for each in curved]
        self._places, self._basis = motion.places, basis
        self._every, self._frames = 1.0 / motion.rate, len(self._valid) - 1
        self._worm = Worm(self._usual, dt=self._every / np.ceil(self._every / 5e-3))

    def run(self, unknown: Array) -> list[tuple[Array, Array]]:
        """Simulate worms with ``unknown`` (K, BODY + MODES), see `FAR`; return rod angles (N, n) and centres (N, 2)."""
        p, count = self._usual, len(unknown)
        across = p.friction_perpendicular * np.exp(unknown[:, 0])
        damping = np.outer(np.asarray(p.damping) * np.exp(unknown[:, 1]), np.ones(p.n_rods - 1))
        bend = np.cumsum(np.sum(unknown[:, BODY:, None] * self._modes, 1), 1)
        bend = np.pad(bend, ((0, 0), (1, 0)))
        start = {
            "rod_angle": self._angle + bend - bend.mean(1, keepdims=True),
            "centre": np.tile(self._centre, (count, 1)),
        }
        start |= {"friction_perpendicular": across, "friction_parallel": across / self._ratio, "damping": damping}
        start["length"] = p.length * np.exp(unknown[:, 2])
        still, end = np.zeros(p.n_rods - 1), self._frames * self._every
        runs = simulate(self._worm, still, end, self._every, start, count=count, signals=("rod_angle", "centre"))
        return [(self._whole(run["rod_angle"]), self._whole(run["centre"])) for run in runs]

    def _whole(self, values: Array) -> Array:
        """Pad values to all frames with NaN after a simulation has failed."""
        missing = self._frames + 1 - len(values)
        return np.pad(values, ((0, missing), (0, 0)), constant_values=np.nan)

    def misfit(self, unknown: Array) -> Array:
        """Return the residuals (K, M) of simulated and measured polynomials, m, independent of position and heading.

        Missed tips are fitted, too. The last residuals are those of the prior, in units of the noise.
        """
        rest = []
        for (angle, centre), own in zip(self.run(unknown), unknown, strict=True):
            angle, centre = angle[self._valid], centre[self._valid]
            rods = self._usual.length * np.exp(own[2]) / angle.shape[1] * np.stack([np.cos(angle), np.sin(angle)], -1)
            ends = np.pad(np.cumsum(rods, 1), ((0, 0), (1, 0), (0, 0)))
            ends += (centre - 0.5 * (ends[:, 1:] + ends[:, :-1]).mean(1))[:, None]
            # Points are evenly spaced along the curve through the joints, which is longer where it is bent.
            tangent = self._slope @ ends
            speed = np.hypot(tangent[..., 0], tangent[..., 1])
            along = arc_length_of(speed, self._places)
            tangent *= (along[:, -1:] / speed)[..., None]
            shape = self._basis.T @ (self._seen @ ends + (self._places - along / along[:, -1:])[..., None] * tangent)
            tips = [each @ tangent for each in self._moved] + [each @ ends for each in self._curved]
            # Omit the first polynomial, the position of the body.
            data = _unexplained(shape[:, 1:], self._measured[:, 1:], [tip[:, 1:] for tip in tips])
            rest.append(np.concatenate([data, self._prior * own]))
        return np.array(rest)

    def residual(self, unknown: Array) -> float:
        """Return the root mean square difference between simulated and smoothed joint angles, rad."""
        ((angle, _),) = self.run(unknown[None])
        return float(np.sqrt(np.mean((np.diff(angle)[:, INNER] - self._smooth)[self._valid] ** 2)))

    def fit(self, unknown: Array, iterations: int, constant: int = -1) -> tuple[Array, float, Array]:
        """Fit the unknowns by least squares, except the one with index ``constant`` if that is not negative.

        Returns:
            unknown (BODY + MODES,): Best values.
            squares: Sum of squares.
            slopes (M, BODY + MODES): Jacobian; 0 for the constant unknown.
        """
        best, least, slopes = unknown, np.inf, np.zeros((1, len(unknown)))
        moves = np.concatenate([np.zeros((1, len(unknown))), STEP * np.eye(len(unknown))])
        for _ in range(iterations + 1):
            rest = self.misfit(unknown + moves)
            cost = float(np.sum(rest[0] ** 2))
            if not (np.isfinite(rest).all() and cost < least):  # the step was too long, or a simulation failed
                unknown = 0.5 * (unknown + best)
                continue
            slope = (rest[1:] - rest[0]).T / STEP
            if constant >= 0:
                slope[:, constant] = 0.0
            best, least, slopes = unknown, cost, slope
            # Levenberg's damping limits steps of poorly determined unknowns.
            damped = slope.T @ slope + np.diag(cost / len(slope) / LIKELY**2)
            move = np.linalg.solve(damped, -slope.T @ rest[0])
            unknown = np.clip(unknown + np.clip(move, -1.0, 1.0), *FAR)
        return best, least, slopes


def _unexplained(shape: Array, measured: Array, tips: list[Array]) -> Array:
    """Return residuals (M,) of shapes and measured shapes (T, m, 2), after fitting headings and missed tips.

    ``tips`` are five arrays (T, m, 2): first and second derivatives by the missed shares at head and tail.
    """
    aside, count = np.array([[0.0, 1.0], [-1.0, 0.0]]), len(shape)
    best = np.zeros((count, 3))
    for remaining in (2, 1, 0):
        turn, head, tail = best.T[..., None, None]
        at_head, at_tail = (tips[0] + head * tips[2] + tail * tips[3], tips[1] + head * tips[3] + tail * tips[4])
        body = shape + 0.5 * (head * (tips[0] + at_head) + tail * (tips[1] + at_tail))
        turned = np.cos(turn) * np.eye(2) + np.sin(turn) * aside
        rest = (body @ turned - measured).reshape(count, -1, 1)
        moves = np.stack([body @ aside @ turned, at_head @ turned, at_tail @ turned], -1).reshape(count, -1, 3)
        if remaining:
            across = np.swapaxes(moves, 1, 2)
            square = np.nan_to_num(across @ moves)
            # If the body is straight, the data do not determine by how much the tips are missed.
            damping = BARELY * np.maximum(np.trace(square, axis1=1, axis2=2), 1e-30)
            square += damping[:, None, None] * np.eye(3)
            best = best - np.linalg.solve(square, across @ rest)[..., 0]
            best[:, 1:] = np.clip(best[:, 1:], -MISSED, MISSED)
    axes, _ = np.linalg.qr(moves)
    return np.asarray((rest - axes @ (np.swapaxes(axes, 1, 2) @ rest)).ravel())


def arc_length_of(speed: Array, places: Array) -> Array:
    """Return the length (T, P) up to each of ``places`` (P,) along curves with ``speed`` (T, P) there."""
    steps = 0.5 * (speed[:, 1:] + speed[:, :-1]) * np.diff(places)
    return np.pad(np.cumsum(steps, 1), ((0, 0), (1, 0)))


def _polynomials(places: Array, order: int) -> Array:
    """Return orthonormal polynomials (P, order + 1) at ``places`` (shares of the length)."""
    return np.asarray(np.linalg.qr(np.polynomial.legendre.legvander(2.0 * places - 1.0, order))[0])


def fit_relaxation(
    motion: Motion, ratio: float | None = None, start: float = 0.0, repeats: int = 20, seed: int = 0
) -> RelaxationFit:
    """Estimate b_perp / kappa and c / kappa of a worm with silent muscles, such as an anaesthetised worm released bent.

    Without a drive, friction and the body's damping determine how the joints straighten. In media like water, friction
    is negligible, so there is only an upper bound of b_perp / kappa. The stiffness kappa (N m) itself requires a known
    force.

    Frames are not smoothed in time, because this would blunt the release. The fit includes the distances by which the
    tracker misses the tips, and the length of the body, which has the largest effect on c / kappa. At sigma 1, the
    uncertainty of c / kappa from 5 s is about 5%, and larger if the tips are missed by the same distance in all frames.

    Args:
        motion: Motion from `Midlines.smoothed`.
        ratio: b_perp / b_par; by default the result of `fit_medium` for this motion.
        start (s): Time of the recording from which on the muscles are silent.
        repeats (5 to 1000): Number of repeats of the parametric bootstrap for the intervals.
        seed: Random seed of the bootstrap.

    Raises:
        ValueError: If the worm is not bent, if there is less than a second after ``start``, or if the ratio is required
            but cannot be determined from the motion.
    """
    from scipy.stats import t as student  # slow to import

    whole("repeats", repeats, 5, 1000)
    whole("seed", seed, 0, 2**63)
    first = _first(motion, start)
    ratio = _ratio(motion, ratio)
    worm = _Relaxing(motion, ratio, first)
    usual = WormParams.in_medium(1.0)
    across = medium(sigma_of(ratio))["friction_perpendicular"]
    begin = float(np.log(across / usual.friction_perpendicular))
    fits = [worm.fit(np.array([begin + each, *[0.0] * (BODY + MODES - 1)]), ITERATIONS) for each in STARTS]
    best, squares, slopes = min(fits, key=lambda each: each[1])
    if not np.isfinite(squares):
        raise ValueError("motion must be that of a worm that straightens; all simulations failed")
    ((angle, centre),) = worm.run(best[None])
    rng = np.random.default_rng(seed)
    before = motion.rod_angle[: first * FINER : FINER], motion.centre[: first * FINER : FINER]
    whole_angle, whole_centre = np.concatenate([before[0], angle]), np.concatenate([before[1], centre])
    entire = replace(motion, length=worm.length * float(np.exp(best[2])))
    draws = np.array(
        [
            _Relaxing(seen_again(entire, whole_angle, whole_centre, rng), ratio, first).fit(best, AGAIN)[0][:2]
            for _ in range(repeats)
        ]
    )
    # Widen the intervals for the uncertainty of spread and bias with few repeats.
    few = float(student.ppf(0.975, repeats - 1)) * np.sqrt(1.0 + 1.0 / repeats) / 1.96
    spread = draws.std(0, ddof=1)
    corrected = np.exp(2.0 * best[:2] - draws.mean(0))
    noise = squares / len(slopes)
    own = noise * np.diag(np.linalg.pinv(slopes.T @ slopes, rcond=1e-12))
    # The bootstrap shows whether the noise is larger than the model assumes.
    more = max(1.0, float(spread[1] ** 2 / own[1]))
    spread = np.maximum(few * spread, np.sqrt(own[:2]))
    kappa = float(np.max(usual.stiffness))
    scale, lag = usual.friction_perpendicular / kappa, float(np.max(usual.damping)) / kappa * float(corrected[1])
    without = worm.fit(np.array([FAR[0, 0], *best[1:]]), AGAIN, constant=0)[1]
    if spread[0] > UNKNOWN or without < squares + VISIBLE * more * noise:
        friction, low, high = float("nan"), 0.0, scale * float(np.exp(_bound(worm, best, squares, more * noise)))
    else:
        friction, by = scale * float(corrected[0]), float(np.exp(1.96 * spread[0]))
        low, high = friction / by, friction * by
    by = float(np.exp(1.96 * spread[1]))
    return RelaxationFit(friction, (low, high), lag, (lag / by, lag * by), float(ratio), worm.residual(best))


def _first(motion: Motion, start: float) -> int:
    """Return the first frame with silent muscles."""
    end = float(motion.time[-1])
    first = round((number("start", start, minimum=0.0, maximum=end) - motion.time[0]) * motion.rate)
    if first < 0 or end - start < LEAST_SECONDS:
        raise ValueError(f"start must be in [{motion.time[0]:g}, {end - LEAST_SECONDS:g}] s, got {start!r}")
    bend = float(np.sqrt(np.mean(motion.joint_angle[first * FINER] ** 2)))
    if bend < LEAST_ANGLE or not motion.reliable[first * FINER]:
        least = f"{LEAST_ANGLE:g} rad (root mean square)"
        raise ValueError(f"motion must be bent at the start by {least}, outside of gaps, got {bend:.2g}")
    return first


def _ratio(motion: Motion, ratio: float | None) -> float:
    """Return the ratio of the friction coefficients, by default estimated from the motion."""
    if ratio is None:
        try:
            return fit_medium(motion).ratio
        except ValueError as error:
            raise ValueError(f"ratio must be given, because the motion does not determine it: {error}") from None
    return number("ratio", ratio, minimum=1.0 / LARGEST_RATIO, maximum=LARGEST_RATIO)


def _bound(worm: _Relaxing, best: Array, squares: float, noise: float) -> float:
    """Return the logarithm of friction at which the sum of squares exceeds the limit of `CAUTION` standard errors."""
    limit = squares + CAUTION**2 * noise
    low, high = float(best[0]), float(FAR[1, 0])
    while high - low > 0.05:
        middle = 0.5 * (low + high)
        if worm.fit(np.array([middle, *best[1:]]), ITERATIONS, constant=0)[1] > limit:
            high = middle
        else:
            low = middle
    return high
