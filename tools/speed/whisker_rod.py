"""Speed of the whisker on sandpaper against scipy's Radau and PyElastica."""

from __future__ import annotations

import importlib.util
import time
from functools import partial

import numpy as np

from gymnosoma.envs.whisker_rod import WhiskerRod, WhiskerRodParams
from papers.whisker_rod.reference import Reference

from .measure import Case, Row
from .measure import simulations as measure

ENVIRONMENTS = ("WhiskerRegulate-v0",)
"""Those that are timed."""

NANOSECONDS = 3.0
"""Time step of PyElastica on the rod: stable over 0.9 ms, while with 4 ns the thin tip's shear waves crumple it."""

SLIDE = 0.2
"""Speed of the plate under the rod, m/s."""

SLIDING = 10e-3
"""For which the plate slides, s."""

WHISKER = WhiskerRodParams(n_segments=30)
"""As in the tasks."""

RADAU = 1e-3
"""Tolerance of scipy's Radau at which its tip is as exact as ours: 0.135 um off after 10 ms, ours 0.128 um."""


def simulations(repeats: int, seconds: float) -> list[Row]:
    """Simulated seconds per wall second, alone and in lanes, and of the peers."""
    peers = {f"scipy's Radau, dense, tolerance {RADAU:g}": _radau}
    if importlib.util.find_spec("elastica") is not None:
        peers[f"PyElastica, dt {NANOSECONDS:g} ns"] = _pyelastica
    return measure(_cases(), repeats, peers)


def _cases() -> list[Case]:
    return [
        Case(
            f"on a plate at 0.2 m/s, N = {WHISKER.n_segments}, {scheme}",
            partial(WhiskerRod, WHISKER, scheme=scheme),
            lambda t: (SLIDE, 0.0, 0.0),
            2e-3,
            SLIDING,
            lambda count: {"plate_distance": WHISKER.length * np.linspace(0.98, 0.985, count)},
        )
        for scheme in ("midpoint", "published")
    ]


def _radau() -> float:
    """Simulated seconds per wall second of scipy's Radau IIA: the rod on the plate that slides, from rest."""
    animal = WhiskerRod(WHISKER)
    rows = animal.rows(1)
    animal.reset(rows, np.arange(1))
    rod = Reference(animal, rows[0], SLIDE)
    start = time.perf_counter()
    rod.integrate(rows[0], np.array([0.0, SLIDING]), tolerance=RADAU)
    return SLIDING / (time.perf_counter() - start)


def _pyelastica(steps: int = 5000) -> float:
    """Simulated seconds per wall second of PyElastica: the rod, undamped and clamped at its base, swings in air.

    Its units are um, ms and pg: in SI it takes the tip's inertia for zero.
    """
    import elastica

    class Swing(elastica.BaseSystemCollection, elastica.Constraints):
        """A rod with a fixed end."""

    params, dt = WHISKER, 1e-6 * NANOSECONDS
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
