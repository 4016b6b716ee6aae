"""Speed of the cat's hindlimb and the standing figure against MuJoCo: time steps per second of the same bodies."""

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

ENVIRONMENTS = ("HindlimbHold-v0", "StandPulse-v0")
"""Those that are timed."""


def simulations(repeats: int, seconds: float) -> list[Row]:
    """Time steps per second of hindlimb and standing figure against MuJoCo, and with what MuJoCo's have not."""
    jobs: dict[str, Callable[[], float]] = {}
    peer = importlib.util.find_spec("mujoco") is not None
    peers = {"semi_implicit": "mjINT_EULER", "rk4": "mjINT_RK4"}
    for scheme, integrator in peers.items():
        if peer:
            jobs[f"skeleton, {scheme}: MuJoCo"] = _mujoco_steps(_limb(False), 1e-4, integrator)
        jobs[f"skeleton, {scheme}: ours, alone"] = partial(_steps, Neuromechanic(_limb(False), 1e-4, scheme))
        jobs[f"skeleton, {scheme}: ours, {LANES} rows"] = partial(
            _steps, Neuromechanic(_limb(False), 1e-4, scheme), LANES
        )
    jobs["31 muscles, semi_implicit: ours, alone"] = partial(_steps, Neuromechanic(_limb(True)))
    jobs["31 muscles, rk4: ours, alone"] = partial(_steps, Neuromechanic(_limb(True), 1e-5, "rk4"))
    figure = standing_on_springs()
    if peer:
        jobs["standing on two feet: MuJoCo"] = _mujoco_steps(figure, 1e-3)
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
        other = rates.get(f"{what.partition(':')[0]}: MuJoCo")
        rows.append(
            Row(what, float(np.median(rate)), "steps/s", None if other is None else float(np.median(rate / other)))
        )
    return rows


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


def _mujoco_steps(description: Mapping[str, Any], dt: float, integrator: str = "mjINT_EULER") -> Callable[[], float]:
    """Time steps of MuJoCo per second of wall time, taken without leaving its library."""
    import mujoco

    model, data = in_mujoco(description, dt, integrator)
    posture = data.qpos.copy()

    def steps(count: int = 5000) -> float:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = posture
        start = time.perf_counter()
        mujoco.mj_step(model, data, count)
        return count / (time.perf_counter() - start)

    return steps
