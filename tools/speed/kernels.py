"""Simulated time per wall time of each animal's kernel, compared with another program for the same model.

Kernels run one animal alone, or many in lanes. The worm is compared with ElegansBot, the whisker rod with SciPy's
Radau, and the musculoskeletal models with MuJoCo, if these are installed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.model.animal import Animal
from gymnosoma.envs.lamprey import Lamprey
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.hindlimb import asset
from gymnosoma.envs.whisker_chain import Whisker, WhiskerParams, follow
from gymnosoma.envs.whisker_rod import WhiskerRod, WhiskerRodParams
from gymnosoma.envs.worm import SineKymogram, Worm, WormParams
from papers.whisker_rod.reference import Reference

from .measure import LANES, Row, paired
from .mujoco import in_mujoco, standing_on_springs

UNIT = "simulated s per wall s"

Peer = tuple[str, Callable[[], float]]
"""Name of another program, and a function that returns its simulated seconds per wall second."""


@dataclass(frozen=True)
class Case:
    """Simulation to measure.

    Args:
        what: Name of the simulation.
        animal: Model.
        drives ((K, nu) array): Drives in SI units, each held for ``hold`` s.
        hold (s): Duration of each drive.
        start: Function of the number of animals that returns their initial values. These must differ, because identical
            animals would run faster in lanes.
        peer: Other program for the same simulation.
        note: Note on the measurement.
    """

    what: str
    animal: Animal
    drives: NDArray[np.float64]
    hold: float
    start: Callable[[int], Mapping[str, Any]] = lambda count: {}
    peer: Peer | None = None
    note: str = ""


def kernels(animals: Sequence[str], repeats: int) -> list[Row]:
    """Measure simulated seconds per wall second, alone and in lanes."""
    rows: list[Row] = []
    for case in (case for name in animals for case in CASES[name]()):
        jobs: dict[str, Callable[[], float]] = {} if case.peer is None else dict([case.peer])
        jobs |= {"alone": partial(pace, case, 1), f"{LANES} in lanes": partial(pace, case, LANES)}
        for job in (partial(pace, case, count, 0.0) for count in (1, LANES)):
            job()  # compile
        paces = paired(jobs, repeats)
        for name, values in paces.items():
            ratios = None if case.peer is None else values / paces[case.peer[0]]
            note = case.note if name == "alone" else ""
            rows.append(Row.median(f"{case.what}: {name}", values, UNIT, ratios, note))
    return rows


def pace(case: Case, count: int, wall: float = 0.1) -> float:
    """Return the simulated seconds of all animals together per wall second, measured for at least ``wall`` s."""
    animal = case.animal
    rows, ids, steps = animal.rows(count), np.arange(count), round(case.hold / animal.dt)
    drives = np.repeat(case.drives[:, None], count, 1)
    runs, spent = 0, 0.0
    while runs == 0 or spent < wall:
        animal.reset(rows, ids, case.start(count))
        begin = time.perf_counter()
        for drive in drives:
            animal.advance(rows, ids, drive, steps)
        spent += time.perf_counter() - begin
        runs += 1
    if rows["status"].any():
        raise RuntimeError(f"{case.what}: the simulation of an animal failed")
    return runs * len(drives) * case.hold * count / spent


def _worm() -> list[Case]:
    """Return worms on agar and in water, driven by the paper's wave."""
    hold, duration, cases = 0.025, 2.0, []
    for what, sigma in (("agar", 1.0), ("water", 0.0)):
        wave, params = SineKymogram.for_medium(sigma, ramp=0.0), WormParams.in_medium(sigma)
        drives = np.array([wave((k + 0.5) * hold) for k in range(round(duration / hold))])
        exact, ours = (_head(worm, drives, hold) for worm in (Worm(params, dt=1e-4), Worm(params)))
        note, peer = f"head {1e3 * np.linalg.norm(ours - exact):.4f} mm off after {duration:g} s", None
        if find_spec("elegansbot") is not None:
            _, theirs = _elegansbot(params, drives, hold)
            note += f", ElegansBot's {1e3 * np.linalg.norm(theirs - exact):.4f} mm"
            peer = "ElegansBot", lambda params=params, drives=drives: _elegansbot(params, drives[:10], hold)[0]
        turned = lambda count: {"heading": np.linspace(0.0, 1.0, count)}  # noqa: E731
        cases.append(Case(f"worm in {what}", Worm(params), drives, hold, turned, peer, note))
    return cases


def _head(worm: Worm, drives: NDArray[np.float64], hold: float) -> NDArray[np.float64]:
    """Return the final position of the head, m."""
    rows, ids = worm.rows(1), np.arange(1)
    worm.reset(rows, ids)
    for drive in drives:
        worm.advance(rows, ids, drive[None], round(hold / worm.dt))
    return worm.points(rows)[0, 0]


def _elegansbot(params: WormParams, drives: NDArray[np.float64], hold: float) -> tuple[float, NDArray[np.float64]]:
    """Return the simulated seconds per wall second of the authors' program, and the final position of the head, m."""
    from elegansbot import Worm as Peer

    peer = Peer(
        bT=params.friction_perpendicular * 1e9,
        bII=params.friction_parallel * 1e9,
        polarity_clockwise=True,
        simTime=len(drives) * hold,
        dt_snapshot=hold,
        angle_init=-np.pi,  # the authors start with the head at +x
    )
    begin = time.perf_counter()
    for drive in drives:
        peer.act = drive
        peer.steps()
    wall = time.perf_counter() - begin
    step = np.stack([np.cos(peer.s), np.sin(peer.s)], 1) / peer.n
    joints = np.concatenate([np.zeros((1, 2)), np.cumsum(step, 0)])
    return len(drives) * hold / wall, (np.array([peer.xc, peer.yc]) - 0.5 * (joints[1:] + joints[:-1]).mean(0)) * 1e-3


def _lamprey() -> list[Case]:
    kick = lambda count: {"kick": np.linspace(0.1, 0.05, count)}  # noqa: E731
    return [Case("lamprey with its cord", Lamprey(), np.tile([0.4, 0.0, 0.7], (100, 1)), 0.05, kick)]


def _whisker_chain() -> list[Case]:
    """Return a whisker chain that sweeps against a peg."""
    params, hold = WhiskerParams(), 4e-3
    drive, start = follow(hold, lambda t: np.deg2rad(1.5) * (1.0 - np.cos(16.0 * np.pi * t)))
    drives = np.array([drive(k * hold) for k in range(62)])
    start = {**start, "peg": [[0.4 * params.length, 1e-9]]}

    def values(count: int) -> Mapping[str, Any]:
        return start | {"stiffness": params.joint_stiffness[1] * np.linspace(1.0, 1.1, count)}

    return [Case("whisker chain against a peg", Whisker(params), drives, hold, values)]


def _whisker_rod() -> list[Case]:
    """Return a whisker rod on a plate that slides at 0.2 m/s for 10 ms."""
    animal, speed, duration = WhiskerRod(WhiskerRodParams(n_segments=30)), 0.2, 10e-3

    def radau() -> float:
        rows = animal.rows(1)
        animal.reset(rows, np.arange(1))
        rod, begin = Reference(animal, rows[0], speed), time.perf_counter()
        rod.integrate(rows[0], np.array([0.0, duration]), tolerance=1e-3)  # as exact as ours: 0.13 um at the tip
        return duration / (time.perf_counter() - begin)

    def start(count: int) -> Mapping[str, Any]:
        return {"plate_distance": animal.params.length * np.linspace(0.98, 0.985, count)}

    peer = "scipy's Radau", radau
    return [Case("whisker rod on a plate", animal, np.tile([speed, 0.0, 0.0], (5, 1)), 2e-3, start, peer)]


def _neuromechanic() -> list[Case]:
    """Return the skeleton of the cat's hindlimb, and the standing figure on springs."""
    skeleton = asset("hindlimb")
    del skeleton["wrench"], skeleton["muscle"]
    for body in skeleton["body"].values():
        body["joint"]["damping"] = 0.0  # explicit steps are unstable for such light segments
    cases = []
    models = (("the hindlimb's skeleton", skeleton, 1e-4), ("the standing figure", standing_on_springs(), 1e-3))
    for what, model, dt in models:
        animal = Neuromechanic(model, dt)
        peer = None if find_spec("mujoco") is None else ("MuJoCo's rollout", partial(_mujoco, model, dt))
        cases.append(Case(what, animal, np.full((5, animal.drive_size), 0.05), 0.1, peer=peer))
    return cases


def _mujoco(description: Mapping[str, Any], dt: float, steps: int = 5000) -> float:
    """Return the simulated seconds per wall second of MuJoCo's ``rollout`` on one thread."""
    import mujoco
    from mujoco import rollout

    model, data = in_mujoco(description, dt)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.empty((1, mujoco.mj_stateSize(model, kind)))
    mujoco.mj_getState(model, data, state[0], kind)
    begin = time.perf_counter()
    rollout.rollout(model, data, state, nstep=steps)
    return steps * dt / (time.perf_counter() - begin)


CASES: Mapping[str, Callable[[], list[Case]]] = {
    "worm": _worm,
    "lamprey": _lamprey,
    "whisker_chain": _whisker_chain,
    "whisker_rod": _whisker_rod,
    "neuromechanic": _neuromechanic,
}
