"""What the paper measures in its Figs. 5 and 7 to 12, each of many whiskers side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs.core.model.run import ensemble
from gymnosoma.envs.whisker_chain import Whisker, WhiskerParams, follow, quasi_static
from gymnosoma.envs.whisker_chain.animal import FAR
from gymnosoma.envs.whisker_chain.linear import matrices, tip_arm
from gymnosoma.envs.whisker_chain.params import table

Array = NDArray[np.float64]

HOLD = 0.08
"""Time (s) for which a half-sine's push is held."""

INSTANT = 2e-9
"""Time step (s) of the paper's Fig. 8."""

STRIDE = np.deg2rad(0.1)
"""Step of the base angle between equilibria that are looked up."""


def _peg(place: Array, length: ArrayLike) -> dict[str, Array]:
    """Start value of one peg for each row at a share (B,) of the length, on the x axis; far away where it is inf."""
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
    """Whisk at 8 Hz through 20 degrees, in air or against a peg (Figs. 7, 11 and 12), from rest at the rearmost angle.

    The whisk goes ``push`` (B,) rad beyond the base angle at which the straight whisker meets the peg, which lies at
    ``place`` (B,) of its length, inf for none; it is told from ``since`` s on. ``every``, ``signals`` and what is
    returned are those of `ensemble`.
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
    """Magnification (B,) of the base's motion across the whisker at its tip, simulated (Fig. 6).

    The frequencies (B,) are multiples of 5 Hz; the amplitude of the acceleration (m/s^2) is the same at all of them.
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
    """Half-sine pushes against a peg, of B vibrissae (Figs. 9 and 10)."""

    time: Array  # (N, B) s from the first touch, or from where a whisker without peg passes that angle
    base_angle: Array  # (N, B) rad
    moment: Array  # (N, B) N m
    contact_rate: Array  # (B,) rad/s of the base at time 0
    peak_moment: Array  # (B,) N m; of a whisker without peg the largest modulus while the base moves


def tap(frequency: ArrayLike, place: ArrayLike, dt: float = 2e-5) -> Taps:
    """Turn the base from -14 to 6 degrees by half a sine of ``frequency`` (B,) Hz, and hold it for `HOLD`."""
    frequency, place = np.broadcast_arrays(np.asarray(frequency, float), np.asarray(place, float))
    rise, middle, half = 0.5 / frequency, np.deg2rad(-4.0), np.deg2rad(10.0)
    whisker = Whisker(dt=dt)
    drive, start = follow(dt, lambda t: middle - half * np.cos(2 * np.pi * frequency * np.clip(t, 0.0, rise)))
    start |= _peg(place, whisker.params.length)
    signals = ("base_angle", "base_rate", "base_wrench", "contact_force")
    duration = np.ceil((rise.max() + HOLD) / dt) * dt
    run = ensemble(whisker, drive, len(place), duration, start=start, signals=signals)
    # What is recorded of forces holds for the start of the last step.
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
    """A rotation so slow that it should be quasi-static (Fig. 5)."""

    base_angle: Array  # (N,) rad
    base_wrench: Array  # (N, 3) N m and N: M, Fx, Fy of the dynamic model
    quasi_static: Array  # (N, 3), of the equilibria
    error: Array  # (N, 3) median of the difference so far, over the largest modulus so far


def slow_deflection(
    place: float, rotation: float, speed: float = np.deg2rad(0.5), records: int = 300
) -> SlowDeflection:
    """Turn the base by ``rotation`` (rad) at ``speed`` (rad/s) against a peg, and compare with the equilibria."""
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
    """What follows a collision of a whisker whose base has been stopped (Fig. 8)."""

    time: Array  # (N,) s from the collision
    energy: Array  # (N,) J
    gap: Array  # (N,) m of the link that collides
    before: float  # J before the collision
    collision_energy: float  # J that stopping the approach takes, E_C
    approach: float  # m/s with which the gap closes
    height: float  # m of the first bounce


def bounce(
    place: float,
    restitution: float,
    duration: float,
    rate: float = np.deg2rad(705.0),
    dt: float = INSTANT,
    stopped: bool = True,
    damping: float = 1.0,
) -> Bounce:
    """Let the whisker, which turns at ``rate`` (rad/s), meet a peg, its base stopped at that instant, or turning on.

    The links keep their momenta when the base stops. A straight whisker that turns evenly remains straight, so that
    it meets the peg on the x axis at base angle 0. ``restitution`` is the paper's C.O.R., ``damping`` a factor on b.
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
    down = np.flatnonzero((gap[1:-1] < gap[:-2]) & (gap[1:-1] <= gap[2:]))  # it is back at the peg
    height = gap[: down[0] + 1].max() if down.size else gap.max()
    return Bounce(run["time"][1:, 0], run["energy"][1:, 0], gap, before, lost[0], -speed[0], height)


@dataclass(frozen=True)
class EnergyCycle:
    """Energy of B whisking vibrissae, and of the equilibria that they pass (Fig. 12), over one cycle."""

    time: Array  # (N,) s from the rearmost angle
    base_angle: Array  # (N, B) rad
    moment: Array  # (N, B) N m
    quasi_static_moment: Array  # NaN for a push that no equilibrium at the peg holds
    energy: Array  # (N, B) J
    quasi_static_energy: Array
    contact: NDArray[np.bool_]  # (N, B) whether the whisker touches the peg

    def difference(self, contact: bool = False) -> Array:
        """Share of the dynamic energy that the equilibria lack (B,), summed over the cycle or while in contact."""
        here = self.contact if contact else np.ones_like(self.contact)
        return 1.0 - np.sum(here * self.quasi_static_energy, 0) / np.sum(here * self.energy, 0)


def energy_cycle(push: ArrayLike, place: ArrayLike, cycles: int = 6, dt: float = 1e-4) -> EnergyCycle:
    """Whisk against a peg, ``push`` and ``place`` as of `whisk`, and compare the last cycle with equilibria."""
    push, place = np.broadcast_arrays(np.asarray(push, float), np.asarray(place, float))
    whisker, period = Whisker(dt=dt), 1.0 / table()["whisk_frequency"]
    signals = ("base_angle", "base_wrench", "link_angle", "link_rate", "contact_force")
    run = whisk(push, place, cycles * period, dt, 5 * dt, (cycles - 1) * period + 5 * dt, signals)
    angle, rate = run["base_angle"], run["link_rate"]
    rows = whisker.rows(angle.size)
    # By the mean rates of the last step and the shape in its middle, see `Whisker.energy`.
    rows["link_angle"] = (run["link_angle"] - 0.5 * dt * rate).reshape(angle.size, -1)
    energy = whisker.energy(rows, rate.reshape(angle.size, -1)).reshape(angle.shape)
    still_moment, still_energy = np.zeros((2, *angle.shape))
    for where in np.unique(place):
        here = place == where
        angles = np.linspace(0.0, push[here].max(), int(np.ceil(push[here].max() / STRIDE)) + 1)
        still = quasi_static(angles, [where * whisker.params.length, 0.0])
        still_moment[:, here] = np.interp(angle[:, here], angles, still.base_wrench[:, 0])
        still_energy[:, here] = np.interp(angle[:, here], angles, still.energy)
        # Where it slips off there is no one equilibrium for an angle.
        off = here & (np.interp(push, angles, still.contact_force) == 0.0)
        still_moment[:, off] = still_energy[:, off] = np.nan
    time, moment = run["time"][:, 0] - (cycles - 1) * period, run["base_wrench"][..., 0]
    touch = run["contact_force"][:, :, 0, 0] > 0.0
    return EnergyCycle(time, angle, moment, still_moment, energy, still_energy, touch)


def tip_response(
    frequency: ArrayLike,
    params: WhiskerParams | None = None,
    elastic_base: bool = False,
    masses_at_ends: bool = False,
) -> NDArray[np.complex128]:
    """Motion of the tip per motion of the base, both across link 1, Quist et al. (2014), Fig. 6.

    Args:
        frequency ((F,) array, Hz)
        params, elastic_base, masses_at_ends: As of `linear.matrices`.

    Returns:
        response (F,) complex: Its modulus is the magnification ratio.
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
    """Damped frequencies (Hz) and damping ratios of the oscillating modes, lowest first, by `linear.matrices`."""
    inertia, damping, stiffness, _ = matrices(params, elastic_base, masses_at_ends)
    n = len(inertia)
    rates = np.linalg.solve(inertia, np.hstack([-stiffness, -damping]))
    values = np.linalg.eigvals(np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), rates]))
    values = values[values.imag > 1e-6 * np.abs(values)]
    values = values[np.argsort(values.imag)]
    return values.imag / (2 * np.pi), -values.real / np.abs(values)


def impact(whisker: Whisker, rows: NDArray[Any]) -> tuple[Array, Array]:
    """Find the collision of whiskers with their first peg, at the place nearest to it.

    Quist et al. (2014), Eqs. 19-21: the energy needed to stop the approach, v_n^2/(2 G M^-1 G^T).

    Args:
        rows ((B,) records)

    Returns:
        speed (B,) float, m/s: Of the gap; negative when it closes.
        energy (B,) float, J
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
