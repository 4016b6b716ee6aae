"""Others' programs at the work of ours, and figures of those that are not run here."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.whisker_rod import WhiskerRod, WhiskerRodParams
from gymnosoma.envs.whisker_rod.reference import Reference
from gymnosoma.envs.worm import WormParams
from gymnosoma.envs.worm.kymogram import SineKymogram

TREP = 0.14, 0.25
"""Simulated seconds per wall second of trep on the vibrissa: 705 to 404 us for the same step of 0.1 ms.

Measured once, when the model was settled, to be quoted.
"""

NANOSECONDS = 3.0
"""Time step of PyElastica on the rod: stable over 0.9 ms, while with 4 ns the thin tip's shear waves crumple it."""

HOLD = 0.025
"""Time for which both simulators of the worm hold a command, s: a control period at 40 Hz."""

SLIDE = 0.2
"""Speed of the plate under the rod, m/s."""

SLIDING = 10e-3
"""For which the plate slides, s."""

RADAU = 1e-3
"""Tolerance of scipy's Radau at which its tip is as exact as ours: 0.135 um off after 10 ms, ours 0.128 um."""


def commands(sigma: float, seconds: float) -> NDArray[np.float64]:
    """Control angles (K, n) rad of the paper's wave in a medium, one for every ``HOLD``."""
    wave = SineKymogram.for_medium(sigma, ramp=0.0)
    return np.array([wave((k + 0.5) * HOLD) for k in range(round(seconds / HOLD))])


def elegansbot(sigma: float, seconds: float) -> tuple[float, NDArray[np.float64]]:
    """Wall seconds per simulated second of the worm's authors' program, and the head at the end (m)."""
    from elegansbot import Worm as Peer

    params = WormParams.in_medium(sigma)
    peer = Peer(
        bT=params.friction_perpendicular * 1e9,
        bII=params.friction_parallel * 1e9,
        polarity_clockwise=True,
        simTime=seconds,
        dt_snapshot=HOLD,
        angle_init=-np.pi,  # the authors start with the head at +x
    )
    held = commands(sigma, seconds)
    start = time.perf_counter()
    for command in held:
        peer.act = command
        peer.steps()
    wall = time.perf_counter() - start
    return wall / seconds, _head(peer)


def _head(peer: Any) -> NDArray[np.float64]:
    """Head of the authors' worm (m), from its centre of mass and its angles."""
    step = np.stack([np.cos(peer.s), np.sin(peer.s)], 1) / peer.n
    joints = np.concatenate([np.zeros((1, 2)), np.cumsum(step, 0)])
    return (np.array([peer.xc, peer.yc]) - 0.5 * (joints[1:] + joints[:-1]).mean(0)) * 1e-3


def radau() -> float:
    """Simulated seconds per wall second of scipy's Radau IIA: the rod on the plate that slides, from rest."""
    animal = WhiskerRod()
    rows = animal.rows(1)
    animal.reset(rows, np.arange(1))
    rod = Reference(animal, rows[0], SLIDE)
    start = time.perf_counter()
    rod.integrate(rows[0], np.array([0.0, SLIDING]), tolerance=RADAU)
    return SLIDING / (time.perf_counter() - start)


def pyelastica(steps: int = 5000) -> float:
    """Simulated seconds per wall second of PyElastica: the rod, undamped and clamped at its base, swings in air.

    Its units are um, ms and pg: in SI it takes the tip's inertia for zero.
    """
    import elastica

    class Swing(elastica.BaseSystemCollection, elastica.Constraints):
        """A rod with a fixed end."""

    params, dt = WhiskerRodParams(), 1e-6 * NANOSECONDS
    edges = np.linspace(0.0, 1.0, params.n_segments + 1)
    radius = params.base_radius + (params.tip_radius - params.base_radius) * 0.5 * (edges[1:] + edges[:-1])
    modulus = 1e3 * params.youngs_modulus
    axes = np.zeros(3), np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    rod = elastica.CosseratRod.straight_rod(
        params.n_segments,
        *axes,
        1e6 * params.length,
        1e6 * radius,
        1e-3 * params.density,
        youngs_modulus=modulus,
        shear_modulus=modulus / 3.0,
    )
    rod.velocity_collection[0] = 1e3 * SLIDE * edges**2
    swing, stepper, now = Swing(), elastica.PositionVerlet(), np.float64(0.0)
    swing.append(rod)
    swing.constrain(rod).using(elastica.OneEndFixedBC, constrained_position_idx=(0,), constrained_director_idx=(0,))
    swing.finalize()
    now = stepper.step(swing, now, dt)  # compile
    start = time.perf_counter()
    for _ in range(steps):
        now = stepper.step(swing, now, dt)
    wall = time.perf_counter() - start
    if not abs(rod.position_collection[1, -1] - 1e6 * params.length) < 1e4 * params.length:  # 1%
        raise RuntimeError("PyElastica's rod blew up, its speed means nothing")
    return 1e-3 * dt * steps / wall
