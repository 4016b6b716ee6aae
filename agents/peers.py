"""Others' programs at the work of ours, and figures of those that are not run here."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.whisker_rod import WhiskerRod
from gymnosoma.envs.whisker_rod.reference import Reference
from gymnosoma.envs.worm import WormParams
from gymnosoma.envs.worm.kymogram import SineKymogram

TREP = 0.14, 0.25
"""Simulated seconds per wall second of trep on the vibrissa: 705 to 404 us for the same step of 0.1 ms.

Measured once, when the model was settled, to be quoted.
"""

PYELASTICA = 1e-3 / 15.0
"""Simulated seconds per wall second of PyElastica 1.0 on the rod: 15 s for a millisecond.

Measured once, when the model was settled, to be quoted; the command was not kept.
"""

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
