"""Simulations and measures of the paper's Figs. 5 to 12, most of them for many whiskers at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs.whisker_chain import Whisker, WhiskerParams, follow, quasi_static
from gymnosoma.envs.whisker_chain.analysis import matrices, tip_arm
from gymnosoma.envs.whisker_chain.animal import FAR
from gymnosoma.envs.whisker_chain.params import table
from papers.simulations import ensemble

Array = NDArray[np.float64]

HOLD = 0.08
"""Time (s) for which a half-sine's push is held."""

INSTANT = 2e-9
"""Time step (s) of the paper's Fig. 8."""

STRIDE = np.deg2rad(0.1)
"""Step of the base angle in tables of equilibria, rad."""


def _peg(place: Array, length: ArrayLike) -> dict[str, Array]:
    """Return start values with one peg per row on the x axis, at a share (B,) of the length (inf: far away)."""
    peg = np.zeros((len(place), 1, 2))
    peg[:, 0, 0] = np.where(np.isfinite(place), place * np.asarray(length), FAR)
    return {"peg": peg}


def whisk(
    push: ArrayLike,
    place: ArrayLike,
    duration: float,
    dt: float = 1e-4,
    every: float | None = None,
    since: float = 0.0,
    signals: Sequence[str] = ("base_angle", "base_wrench"),
    length: ArrayLike | None = None,
) -> dict[str, Array]:
    """Simulate whisks at 8 Hz through 20 degrees, in air or against a peg (Figs. 7, 11 and 12).

    The start is rest at the rearmost angle.

    Args:
        push ((B,) float, rad): Largest base angle; at 0 the straight whisker meets the peg.
        place ((B,) float): Position of the peg as a share of the whisker's length; inf for no peg.
        duration (s): Simulated time.
        dt (s): Time step.
        every, signals: As in `ensemble`.
        since (s): Time from which on signals are returned.
        length (m): Length of the whisker.

    Returns:
        dict: Signals by name, as in `ensemble`.
    """
    ahead, place = np.broadcast_arrays(np.asarray(push, float), np.asarray(place, float))
    t = table()
    half, omega = 0.5 * t["whisk_amplitude"], 2 * np.pi * t["whisk_frequency"]
    whisker = Whisker(dt=dt)
    drive, start = follow(dt, lambda t: ahead - half - half * np.cos(omega * t))
    length = whisker.params.length if length is None else length
    start |= _peg(place, length) | {"length": length}
    run = ensemble(whisker, drive, len(place), duration, every, start=start, signals=signals)
    return {name: values[round(since / (every or dt)) :] for name, values in run.items()}


def shake(frequency: ArrayLike, acceleration: float = 1.0, dt: float = 1e-4) -> Array:
    """Simulate the ratio (B,) of the tip's motion to the base's, both perpendicular to the whisker (Fig. 6).

    Args:
        frequency ((B,) float, Hz): Multiples of 5 Hz.
        acceleration (m/s^2): Amplitude of the base's acceleration.
        dt (s): Time step.
    """
    omega = 2 * np.pi * np.asarray(frequency, float)
    reach = acceleration / omega**2
    whisker = Whisker(dt=dt)
    drive, start = follow(dt, lambda t: 0.0, y=lambda t: reach * (1.0 - np.cos(omega * t)))
    run = ensemble(whisker, drive, len(omega), 0.6, 5 * dt, start=start, signals=("node",))
    late = slice(round(0.4 / (5 * dt)) + 1, None)
    wave = np.exp(-1j * omega * run["time"][late])
    return np.abs(np.mean(run["node"][late, :, -1, 1] * wave, 0)) / (0.5 * reach)


@dataclass(frozen=True)
class Taps:
    """Half-sine pushes of B whiskers against a peg (Figs. 9 and 10)."""

    time: Array  # (N, B) s from the first touch; without a peg, from base angle 0
    base_angle: Array  # (N, B) rad
    moment: Array  # (N, B) N m
    contact_rate: Array  # (B,) rad/s of the base at time 0
    peak_moment: Array  # (B,) N m; without a peg, the largest modulus while the base moves


def tap(frequency: ArrayLike, place: ArrayLike, dt: float = 2e-5, friction: float = 0.0) -> Taps:
    """Turn the base from -14 to 6 degrees by half a sine of ``frequency`` (B,) Hz, then hold it for `HOLD` s."""
    frequency, place = np.broadcast_arrays(np.asarray(frequency, float), np.asarray(place, float))
    rise, middle, half = 0.5 / frequency, np.deg2rad(-4.0), np.deg2rad(10.0)
    whisker = Whisker(WhiskerParams(friction=friction), dt=dt)
    drive, start = follow(dt, lambda t: middle - half * np.cos(2 * np.pi * frequency * np.clip(t, 0.0, rise)))
    start |= _peg(place, whisker.params.length)
    signals = ("base_angle", "base_rate", "base_wrench", "contact_force")
    duration = np.ceil((rise.max() + HOLD) / dt) * dt
    run = ensemble(whisker, drive, len(place), duration, start=start, signals=signals)
    # Recorded forces refer to the start of the last step.
    time, moment = run["time"][:-1], run["base_wrench"][1:, :, 0]
    angle, rate = run["base_angle"][:-1], run["base_rate"][:-1]
    pegged = np.isfinite(place)
    touch = np.where(pegged, run["contact_force"][1:, :, 0, 0] > 0.0, angle >= 0.0)
    first = np.argmax(touch, 0)
    each = np.arange(len(place))
    after = (np.arange(len(time))[:, None] >= first) & (time <= rise + HOLD)
    peak = np.where(
        pegged, np.where(after, -moment, -np.inf).max(0), np.where(time <= rise, np.abs(moment), 0.0).max(0)
    )
    return Taps(time - time[first, each], angle, moment, rate[first, each], peak)


@dataclass(frozen=True)
class SlowDeflection:
    """Slow rotation against a peg, compared with equilibria (Fig. 5)."""

    base_angle: Array  # (N,) rad
    base_wrench: Array  # (N, 3) N m and N: M, Fx, Fy of the dynamic model
    quasi_static: Array  # (N, 3) the same of the equilibria
    error: Array  # (N, 3) running median of the difference over the running maximum of the modulus


def slow_deflection(
    place: float, rotation: float, speed: float = np.deg2rad(0.5), records: int = 300
) -> SlowDeflection:
    """Turn the base by ``rotation`` (rad) at ``speed`` (rad/s) against a peg, and compare it with the equilibria."""
    whisker = Whisker()
    hold = round(rotation / speed / records / whisker.dt) * whisker.dt
    start = _peg(np.array([place]), whisker.params.length) | {"base_rate": speed}
    run = ensemble(
        whisker, np.zeros(3), 1, records * hold, hold=hold, start=start, signals=("base_angle", "base_wrench")
    )
    angle, wrench = run["base_angle"][:, 0], run["base_wrench"][:, 0]
    still = quasi_static(angle - np.where(angle > 0.0, speed * whisker.dt, 0.0), [place * whisker.params.length, 0.0])
    off, size = np.abs(wrench - still.base_wrench), np.maximum.accumulate(np.abs(still.base_wrench))
    error = [np.median(off[1 : k + 1], 0) / size[k] for k in range(1, len(off))]
    return SlowDeflection(angle, wrench, still.base_wrench, np.array([np.zeros(3), *error]))


@dataclass(frozen=True)
class Bounce:
    """Energy and motion of a whisker after a collision (Fig. 8)."""

    time: Array  # (N,) s from the collision
    energy: Array  # (N,) J
    gap: Array  # (N,) m, distance of the colliding link
    before: float  # J, energy before the collision
    collision_energy: float  # J, energy E_C lost when the approach is stopped
    approach: float  # m/s, speed at which the gap closes
    height: float  # m, height of the first bounce


def bounce(
    place: float,
    restitution: float,
    duration: float,
    rate: float = np.deg2rad(705.0),
    dt: float = INSTANT,
    stopped: bool = True,
    damping: float = 1.0,
) -> Bounce:
    """Simulate the collision of a turning whisker with a peg.

    A straight whisker that turns at a constant rate remains straight, so it meets the peg on the x axis at base angle
    0. If the base is stopped there, the links keep their momenta.

    Args:
        place: Position of the peg as a share of the whisker's length.
        restitution: Coefficient of restitution (the paper's C.O.R.).
        duration (s): Simulated time after the collision.
        rate (rad/s): Rate of the base before the collision.
        dt (s): Time step.
        stopped: Whether the base stops at the collision, or turns on.
        damping: Factor on the damping b of the joints.
    """
    params = WhiskerParams(restitution=restitution)
    params = replace(params, joint_damping=tuple(damping * b for b in params.joint_damping))
    whisker = Whisker(params, dt=dt, scheme="events")
    start: dict[str, ArrayLike] = {
        "base_angle": -1e-9,
        "base_rate": rate,
        **_peg(np.array([place]), whisker.params.length),
    }
    rows = whisker.rows(1)
    whisker.reset(rows, np.zeros(1, np.int64), start)
    rows["base_rate"] = 0.0 if stopped else rate
    speed, lost = impact(whisker, rows)
    before = whisker.energy(rows)[0]
    del start["base_rate"]
    start |= {"link_rate": whisker.speeds(rows)}
    run = ensemble(whisker, np.zeros(3), 1, duration, start=start, signals=("energy", "gap"))
    gap = run["gap"][1:, 0, 0]
    down = np.flatnonzero((gap[1:-1] < gap[:-2]) & (gap[1:-1] <= gap[2:]))  # back at the peg
    height = gap[: down[0] + 1].max() if down.size else gap.max()
    return Bounce(run["time"][1:, 0], run["energy"][1:, 0], gap, before, lost[0], -speed[0], height)


@dataclass(frozen=True)
class EnergyCycle:
    """Energy of B whisks over one cycle, and of the equilibria at the same base angles (Fig. 12)."""

    time: Array  # (N,) s from the rearmost angle
    base_angle: Array  # (N, B) rad
    moment: Array  # (N, B) N m
    quasi_static_moment: Array  # (N, B) N m; NaN if the equilibrium slips off the peg during the push
    energy: Array  # (N, B) J
    quasi_static_energy: Array
    contact: NDArray[np.bool_]  # (N, B) whether the whisker touches the peg

    def difference(self, contact: bool = False) -> Array:
        """Return the share (B,) of the energy that equilibria lack, summed over the cycle or the time in contact."""
        here = self.contact if contact else np.ones_like(self.contact)
        return 1.0 - np.sum(here * self.quasi_static_energy, 0) / np.sum(here * self.energy, 0)


def energy_cycle(push: ArrayLike, place: ArrayLike, cycles: int = 6, dt: float = 1e-4) -> EnergyCycle:
    """Whisk against a peg, and compare the last cycle with equilibria; ``push`` and ``place`` are those of `whisk`."""
    push, place = np.broadcast_arrays(np.asarray(push, float), np.asarray(place, float))
    whisker, period = Whisker(dt=dt), 1.0 / table()["whisk_frequency"]
    signals = ("base_angle", "base_wrench", "link_angle", "link_rate", "contact_force")
    run = whisk(push, place, cycles * period, dt, 5 * dt, (cycles - 1) * period + 5 * dt, signals)
    angle, rate = run["base_angle"], run["link_rate"]
    rows = whisker.rows(angle.size)
    # The energy uses the mean rates of the last step and the shape in its middle, see `Whisker.energy`.
    rows["link_angle"] = (run["link_angle"] - 0.5 * dt * rate).reshape(angle.size, -1)
    energy = whisker.energy(rows, rate.reshape(angle.size, -1)).reshape(angle.shape)
    still_moment, still_energy = np.zeros((2, *angle.shape))
    for where in np.unique(place):
        here = place == where
        angles = np.linspace(0.0, push[here].max(), int(np.ceil(push[here].max() / STRIDE)) + 1)
        still = quasi_static(angles, [where * whisker.params.length, 0.0])
        still_moment[:, here] = np.interp(angle[:, here], angles, still.base_wrench[:, 0])
        still_energy[:, here] = np.interp(angle[:, here], angles, still.energy)
        # If the whisker slips off, its equilibrium is not unique.
        off = here & (np.interp(push, angles, still.contact_force) == 0.0)
        still_moment[:, off] = still_energy[:, off] = np.nan
    time, moment = run["time"][:, 0] - (cycles - 1) * period, run["base_wrench"][..., 0]
    touch = run["contact_force"][:, :, 0, 0] > 0.0
    return EnergyCycle(time, angle, moment, still_moment, energy, still_energy, touch)


def tip_response(
    frequency: ArrayLike, params: WhiskerParams | None = None, elastic_base: bool = False, masses_at_ends: bool = False
) -> NDArray[np.complex128]:
    """Compute the frequency response of the tip to the base, both perpendicular to link 1; Quist et al. (2014), Fig. 6.

    Args:
        frequency ((F,) array): Frequencies in Hz.
        params, elastic_base, masses_at_ends: As in `linear.matrices`.

    Returns:
        response (F,) complex: Ratio of the motions; its modulus is the magnification.
    """
    p = WhiskerParams() if params is None else params
    inertia, damping, stiffness, moment = matrices(p, elastic_base, masses_at_ends)
    omega = 2 * np.pi * np.asarray(frequency, float)[:, None, None]
    system = stiffness + 1j * omega * damping - omega**2 * inertia
    phi = np.linalg.solve(system, omega**2 * moment[:, None])[..., 0]
    return 1.0 + np.sum(tip_arm(p, elastic_base) * phi, -1)


def modes(
    params: WhiskerParams | None = None, elastic_base: bool = False, masses_at_ends: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the damped frequencies (Hz, ascending) and damping ratios of the oscillating modes."""
    inertia, damping, stiffness, _ = matrices(params, elastic_base, masses_at_ends)
    n = len(inertia)
    rates = np.linalg.solve(inertia, np.hstack([-stiffness, -damping]))
    values = np.linalg.eigvals(np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), rates]))
    values = values[values.imag > 1e-6 * np.abs(values)]
    values = values[np.argsort(values.imag)]
    return values.imag / (2 * np.pi), -values.real / np.abs(values)


def impact(whisker: Whisker, rows: NDArray[Any]) -> tuple[Array, Array]:
    """Compute the speed and energy of a collision of whiskers with their first peg, at the nearest point.

    The energy is that needed to stop the approach, v_n^2/(2 G M^-1 G^T); Quist et al. (2014), Eqs. 19-21.

    Args:
        whisker: Model of the whiskers.
        rows ((B,) records): States of the whiskers.

    Returns:
        speed (B,) float, m/s: Rate of change of the gap; negative if it closes.
        energy (B,) float, J: Energy lost if the approach is stopped.
    """
    along, across, _, link = (value[:, 0] for value in whisker.at_pegs(rows))
    i = np.arange(whisker.params.n_links)
    length = (rows["length"] / whisker.params.n_links)[:, None]
    arm = np.where(i < link[:, None], length, np.where(i == link[:, None], along[:, None], 0.0))
    angle = rows["link_angle"]
    touched = np.take_along_axis(angle, link[:, None], 1)
    side = np.where(across >= 0.0, 1.0, -1.0)
    gradient = -side[:, None] * arm * np.cos(angle - touched)
    normal = side[:, None] * np.concatenate([np.sin(touched), -np.cos(touched)], 1)
    relative = rows["base_velocity"] - rows["peg_velocity"][:, :, 0]
    speed = np.sum(gradient * whisker.speeds(rows), 1) + np.sum(normal * relative, 1)
    free = gradient[:, 1:]
    give = np.linalg.solve(whisker.matrices(rows)[0][:, 1:, 1:], free[..., None])[..., 0]
    return speed, 0.5 * speed**2 / np.sum(free * give, 1)
