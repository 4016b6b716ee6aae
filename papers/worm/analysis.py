"""Measures of the worm's paper: forces, power, tracks and speeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs.worm import Worm, medium
from gymnosoma.envs.worm.animal import friction_force
from gymnosoma.envs.worm.kymogram import FRAME_RATE
from gymnosoma.envs.worm.params import table
from papers.simulations import ensemble

Array = NDArray[np.float64]


class ForceMap(NamedTuple):
    """Friction on the rods in each frame (Fig. 4, upper three panels)."""

    force: Array  # (N, n, 2) N
    magnitude: Array  # (N, n) N
    mean: Array  # (N,) N, mean over the rods
    power: Array  # (N,) W spent against friction


def force_map(
    rod_angle: Array, rod_centre: Array, parameters: Mapping[str, Any] | NDArray[Any], interval: float = 1 / FRAME_RATE
) -> ForceMap:
    """Compute friction on each rod and power from snapshots of the rods (Fig. 4).

    Velocities are backward differences of the rod centres, resolved along the rods of the later snapshot, and zero in
    frame 0. As in the paper, friction against the rods' rotation is neglected.

    Args:
        rod_angle ((N, ..., n) float, rad): Headings of the rods.
        rod_centre ((N, ..., n, 2) float, m): Centres of the rods.
        parameters: Rows of the worm, or a mapping with both friction coefficients.
        interval (s): Time between snapshots.
    """
    velocity = np.zeros_like(rod_centre)
    velocity[1:] = np.diff(rod_centre, axis=0) / interval
    force = friction_force(rod_angle, velocity, parameters)
    magnitude = np.linalg.norm(force, axis=-1)
    return ForceMap(force, magnitude, magnitude.mean(-1), -np.sum(force * velocity, (-2, -1)))


def bend_force(magnitude: Array, rods: slice) -> tuple[float, float]:
    """Return the mean friction (N) on the rods of a deep bend and on the rest, from ``magnitude`` (n,) in N; Fig. 4."""
    bend = np.zeros(len(magnitude), bool)
    bend[rods] = True
    return float(magnitude[bend].mean()), float(magnitude[~bend].mean())


def tracking_error(joint_angle: Array, control_angle: Array) -> Array:
    """Compute E_theta, the mean of abs(theta - theta_ctrl) over time and joints, rad; Fig. 5, supplements 2 and 3.

    Args:
        joint_angle ((N, ..., n - 1) float, rad): Joint angles of the worms.
        control_angle ((N, n - 1) float, rad): Command at the start of each frame.
    """
    control = control_angle.reshape(len(control_angle), *(1,) * (joint_angle.ndim - 2), -1)
    return np.abs(joint_angle - control).mean((0, -1))


def distance(centre_velocity: Array, interval: float = 1 / FRAME_RATE) -> Array:
    """Compute the travelled distance (m) as in the paper: the sum of abs(v_c) dt over snapshots (N, ..., 2) of v_c.

    The frames of a kymogram are held, so the worm slows down within each frame. Snapshots are taken at the ends of
    frames, where it is slowest, so this sum is up to 8% shorter than `path_length`.
    """
    return interval * np.linalg.norm(centre_velocity, axis=-1).sum(0)


def path_length(centre: Array) -> Array:
    """Return the length (m) of the path of the centre of mass (N, ..., 2) in m."""
    return np.linalg.norm(np.diff(centre, axis=0), axis=-1).sum(0)


def turning(rod_angle: Array) -> Array:
    """Compute S, the total change of the rods' mean heading, rad, from (N, ..., n) rad; Fig. 5, supplements 2 and 3."""
    return np.abs(np.diff(rod_angle.mean(-1), axis=0)).sum(0)


def wave_speed(
    worm: Worm,
    sigma: ArrayLike,
    wavenumber: ArrayLike,
    period: ArrayLike,
    amplitude: ArrayLike = 0.6,
    after: float = 0.0,
    duration: float = 5.0,
    bent: bool = False,
    hold: float | None = None,
) -> Array:
    """Compute the speed (m/s) of worms driven from rest by A cos(2 pi (nu (i - 1)/(n - 2) - t/T)); Figs. 2 and 5.

    Args:
        worm: Model of the worms.
        sigma: Medium index; broadcasts with the next three.
        wavenumber: Wavenumber nu.
        period (s): Period T.
        amplitude (rad): Amplitude A.
        after (s): Start of the measurement.
        duration (s): Duration of the measurement.
        bent: Start in the shape of the first command instead of straight.
        hold (s): Time for which a command keeps the value at its start; the authors' program uses 1 ms. By default
            each step takes the command at its middle.

    Returns:
        array: Displacement of the centre over ``duration``; NaN if the simulation failed.
    """
    values = np.broadcast_arrays(*(np.asarray(v, float) for v in (sigma, wavenumber, period, amplitude)))
    sigmas, nu, rate, height = values[0].ravel(), values[1].ravel(), 2 * np.pi / values[2].ravel(), values[3].ravel()
    place = 2 * np.pi * nu[:, None] * np.linspace(0.0, 1.0, worm.drive_size)
    cos, sin = height[:, None] * np.cos(place), height[:, None] * np.sin(place)
    lead = 0.0 if hold is None else 0.5 * hold

    def wave(t: float) -> Array:
        angle = rate * (t - lead)
        return np.cos(angle)[:, None] * cos + np.sin(angle)[:, None] * sin

    start = medium(sigmas) | ({"joint_angle": wave(lead)} if bent else {})
    every = np.gcd(round(after * 1000), round(duration * 1000)) / 1000
    centre = ensemble(worm, wave, len(nu), after + duration, every, hold, start, ("centre",))["centre"]
    path = centre[-1] - centre[round(after / every)]
    return (np.linalg.norm(path, axis=-1) / duration).reshape(values[0].shape)


def crawl_speed(worm: Worm, hold: float | None = None) -> float:
    """Compute the speed (m/s) of the paper's crawl on agar, 0 to 5 s from rest in the shape of the wave; Fig. 2B."""
    t = table()
    wave = t["agar_wavenumber"], t["agar_period"], t["wave_amplitude"]
    return float(wave_speed(worm, 1.0, *wave, bent=True, hold=hold))


def swim_speed(worm: Worm, hold: float | None = None) -> float:
    """Compute the speed (m/s) of the paper's swim in water, over 20 periods after the first 2 s; Fig. 2D."""
    t = table()
    wave = t["water_wavenumber"], t["water_period"], t["wave_amplitude"]
    return float(wave_speed(worm, 0.0, *wave, after=2.0, duration=20 * t["water_period"], bent=True, hold=hold))


def speed_grid(worm: Worm, sigma: float, wavenumber: ArrayLike, period: ArrayLike) -> Array:
    """Compute speeds (K, L) in m/s over wavenumbers (K,) and periods (L,) in s, in 5 s from straight rest; Fig. 5A."""
    return wave_speed(worm, sigma, np.asarray(wavenumber)[:, None], np.asarray(period)[None, :])
