"""Speed of the cat's hindlimb and the standing figure against MuJoCo, in time steps per second; OpenSim's models."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.hindlimb import asset
from gymnosoma.envs.neuromechanic.standing import DAMPING, STIFFNESS, splay, standing

from .measure import LANES, Row, paired
from .mujoco import in_mujoco, standing_on_springs
from .opensim import beside_opensim

ENVIRONMENTS = ("HindlimbHold-v0", "StandPulse-v0")
"""Those that are timed."""


def simulations(repeats: int, seconds: float) -> list[Row]:
    """Time steps per second of hindlimb and standing figure against MuJoCo, and with what MuJoCo's have not."""
    jobs: dict[str, Callable[[], float]] = {}
    peer = importlib.util.find_spec("mujoco") is not None
    peers = {"semi_implicit": "mjINT_EULER", "rk4": "mjINT_RK4"}
    for scheme, integrator in peers.items():
        if peer:
            for what, count in (("MuJoCo's rollout", 1), (f"MuJoCo's rollout, {LANES} rows", LANES)):
                jobs[f"skeleton, {scheme}: {what}"] = _mujoco_steps(_limb(False), 1e-4, integrator, count)
        jobs[f"skeleton, {scheme}: ours, alone"] = partial(_steps, Neuromechanic(_limb(False), 1e-4, scheme))
        jobs[f"skeleton, {scheme}: ours, {LANES} rows"] = partial(
            _steps, Neuromechanic(_limb(False), 1e-4, scheme), LANES
        )
    jobs["31 muscles, semi_implicit: ours, alone"] = partial(_steps, Neuromechanic(_limb(True)))
    jobs["31 muscles, rk4: ours, alone"] = partial(_steps, Neuromechanic(_limb(True), 1e-5, "rk4"))
    figure = standing_on_springs()
    if peer:
        jobs["standing on two feet: MuJoCo's rollout"] = _mujoco_steps(figure, 1e-3)
        jobs[f"standing on two feet: MuJoCo's rollout, {LANES} rows"] = _mujoco_steps(figure, 1e-3, count=LANES)
    jobs["standing on two feet: ours, alone"] = partial(_steps, Neuromechanic(figure))
    jobs[f"standing on two feet: ours, {LANES} rows"] = partial(_steps, Neuromechanic(figure), LANES)
    jobs["standing on two feet: ours, staggered"] = partial(_steps, Neuromechanic(figure, contacts="staggered"))
    reflexes = [float(splay(1.1)), STIFFNESS, DAMPING]
    still = standing() | {"platform": {}}
    jobs["standing by late reflexes: ours, alone"] = partial(_steps, Neuromechanic(still), 1, reflexes)
    for job in jobs.values():
        job()
    rates = paired(jobs, repeats)
    rows = []
    for what, rate in rates.items():
        side = f", {LANES} rows" if what.endswith("rows") else ""
        other = rates.get(f"{what.partition(':')[0]}: MuJoCo's rollout{side}")
        rows.append(Row.median(what, rate, "steps/s", None if other is None else rate / other))
    return rows + beside_opensim(repeats)


def _limb(muscles: bool) -> dict[str, Any]:
    """Model of the cat's hindlimb that swings from the pelvis, with or without its muscles."""
    model = asset("hindlimb")
    del model["wrench"]
    if not muscles:
        del model["muscle"]
        for body in model["body"].values():
            body["joint"]["damping"] = 0.0  # its segments are so light that explicit steps could not damp them
    return model


def _steps(animal: Neuromechanic, count: int = 1, drive: ArrayLike = 0.05, steps: int = 5000) -> float:
    """Time steps per second of wall time, of all bodies together."""
    rows, ids = animal.rows(count), np.arange(count)
    drives = np.tile(np.broadcast_to(drive, animal.drive_size), (count, 1))
    animal.advance(rows, ids, drives, 1)  # compile
    start = time.perf_counter()
    animal.advance(rows, ids, drives, steps // count)
    wall = time.perf_counter() - start
    if rows["status"].any():
        raise RuntimeError(f"the model broke down: {animal.failures[rows['status'].max()]}")
    return count * (steps // count) / wall


def _mujoco_steps(
    description: Mapping[str, Any], dt: float, integrator: str = "mjINT_EULER", count: int = 1
) -> Callable[[], float]:
    """Time steps of MuJoCo per second of wall time, of ``count`` bodies by its ``rollout`` on one thread."""
    import mujoco
    from mujoco import rollout

    model, data = in_mujoco(description, dt, integrator)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.empty(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, data, state, kind)
    start = np.tile(state, (count, 1))

    def steps(number: int = 5000) -> float:
        begun = time.perf_counter()
        rollout.rollout(model, data, start, nstep=number // count)
        return count * (number // count) / (time.perf_counter() - begun)

    return steps
