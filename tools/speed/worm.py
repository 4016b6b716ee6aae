"""Speed of the worm against its authors' program, ElegansBot."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.worm import SineKymogram, Worm, WormParams

from .measure import LANES, Row, paired

HOLD = 0.025
"""Time for which both simulators hold a command, s: a control period at 40 Hz."""

ENVIRONMENTS = ("WormCrawl-v0", "WormSwim-v0")
"""Those that are timed."""


def commands(sigma: float, seconds: float) -> NDArray[np.float64]:
    """Control angles (K, n) rad of the paper's wave in a medium, one for every ``HOLD``."""
    wave = SineKymogram.for_medium(sigma, ramp=0.0)
    return np.array([wave((k + 0.5) * HOLD) for k in range(round(seconds / HOLD))])


def _elegansbot(sigma: float, seconds: float) -> tuple[float, NDArray[np.float64]]:
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


def _ours(sigma: float, seconds: float, count: int = 1, **arguments: Any) -> tuple[float, NDArray[np.float64]]:
    """Wall seconds per simulated second and worm, and the head at the end (m)."""
    worm = Worm(WormParams.in_medium(sigma), **arguments)
    rows, ids, steps = worm.rows(count), np.arange(count), round(HOLD / worm.dt)
    drives = np.repeat(commands(sigma, seconds)[:, None], count, 1)
    worm.advance(rows, ids, drives[0], 1)  # compile
    worm.reset(rows, ids)
    start = time.perf_counter()
    for drive in drives:
        worm.advance(rows, ids, drive, steps)
    wall = time.perf_counter() - start
    return wall / seconds / count, worm.points(rows)[0, 0]


def _wall(job: Callable[[float], tuple[float, NDArray[np.float64]]], seconds: float) -> float:
    return job(max(round(seconds / HOLD), 1) * HOLD)[0]


def simulations(repeats: int, seconds: float) -> list[Row]:
    """Simulated worms against the authors' program, in both media, with the errors after ``seconds``."""
    rows = []
    peer = importlib.util.find_spec("elegansbot") is not None
    for name, sigma in (("agar", 1.0), ("water", 0.0)):
        _, exact = _ours(sigma, seconds, dt=1e-4)
        jobs: dict[str, Callable[[float], tuple[float, NDArray[np.float64]]]] = {}
        if peer:
            jobs["ElegansBot, dt 0.01 ms"] = partial(_elegansbot, sigma)
        jobs |= {
            "midpoint, dt 5 ms, alone": partial(_ours, sigma),
            f"midpoint, dt 5 ms, {LANES} in lanes": partial(_ours, sigma, count=LANES),
            "published, dt 0.01 ms, alone": partial(_ours, sigma, scheme="published"),
            f"published, dt 0.01 ms, {LANES} in lanes": partial(_ours, sigma, count=LANES, scheme="published"),
        }
        errors = {
            what: np.linalg.norm(job(seconds)[1] - exact) * 1e3 for what, job in jobs.items() if "published" not in what
        }
        chunk = max(round(seconds / repeats / HOLD), 10) * HOLD
        short = {what: partial(_wall, job, chunk / (10 if "lanes" in what else 1)) for what, job in jobs.items()}
        walls = paired(short, repeats)
        for what, wall in walls.items():
            ratio = walls["ElegansBot, dt 0.01 ms"] / wall if peer else None
            note = f"{errors[what]:.4f} mm off at the end" if what in errors else "errs as ElegansBot"
            rows.append(Row.median(f"{name}: {what}", wall, "wall s per simulated s", ratio, note))
    return rows
