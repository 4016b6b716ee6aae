"""Speed of the cat's hindlimb against MuJoCo: time steps per second of the same bodies."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.hindlimb import asset

from .speed import LANES, Row, paired


def _limb(muscles: bool) -> dict[str, Any]:
    """Model of the cat's hindlimb that swings from the pelvis, with or without its muscles."""
    model = asset("hindlimb")
    del model["wrench"]
    if not muscles:
        del model["muscle"]
        for body in model["body"].values():
            body["joint"]["damping"] = 0.0  # its segments are so light that explicit steps could not damp them
    return model


def _limb_steps(animal: Neuromechanic, count: int = 1, steps: int = 5000) -> float:
    """Time steps per second of wall time, of all limbs together."""
    rows, ids = animal.rows(count), np.arange(count)
    drive = np.full((count, animal.drive_size), 0.05)
    animal.advance(rows, ids, drive, 1)  # compile
    start = time.perf_counter()
    animal.advance(rows, ids, drive, steps // count)
    wall = time.perf_counter() - start
    if rows["status"].any():
        raise RuntimeError(f"the limb broke down: {animal.failures[rows['status'].max()]}")
    return count * (steps // count) / wall


def _mujoco_limb(integrator: str) -> Callable[[], float]:
    """The same bodies in MuJoCo, stepped without leaving its library."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    description = _limb(False)
    parent, waiting = spec.worldbody, []
    for body in description["body"].values():
        # A joint with a massless body becomes one more joint of the next body: MuJoCo's own form, and its fastest.
        waiting.append(body["joint"])
        if "inertial" not in body:
            continue
        places = np.cumsum([joint["at"] for joint in waiting], 0)
        parent = parent.add_body(pos=places[-1])
        for joint, place in zip(waiting, places, strict=True):
            hinge = mujoco.mjtJoint.mjJNT_HINGE
            parent.add_joint(type=hinge, axis=joint["axis"], pos=place - places[-1], damping=joint["damping"])
        inertial, waiting = body["inertial"], []
        parent.mass, parent.ipos, parent.explicitinertial = inertial["mass"], inertial["centre"], True
        # MuJoCo refuses thin rods: they must turn about their axis with some inertia.
        parent.fullinertia = np.add(inertial["inertia"], [1e-9, 1e-9, 1e-9, 0.0, 0.0, 0.0])
    spec.option.gravity, spec.option.timestep = description["gravity"], 1e-4
    spec.option.integrator = getattr(mujoco.mjtIntegrator, integrator)
    model = spec.compile()
    data = mujoco.MjData(model)

    def steps(count: int = 5000) -> float:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = [body["joint"]["start"] for body in description["body"].values()]
        start = time.perf_counter()
        mujoco.mj_step(model, data, count)
        return count / (time.perf_counter() - start)

    return steps


def limbs(repeats: int) -> list[Row]:
    """Time steps per second of a 7-joint limb against MuJoCo, and with 31 muscles, which MuJoCo's limb has not."""
    jobs: dict[str, Callable[[], float]] = {}
    peers = {"semi_implicit": "mjINT_EULER", "rk4": "mjINT_RK4"}
    for scheme, integrator in peers.items():
        if importlib.util.find_spec("mujoco") is not None:
            jobs[f"skeleton, {scheme}: MuJoCo"] = _mujoco_limb(integrator)
        jobs[f"skeleton, {scheme}: ours, alone"] = partial(_limb_steps, Neuromechanic(_limb(False), 1e-4, scheme))
        jobs[f"skeleton, {scheme}: ours, {LANES} rows"] = partial(
            _limb_steps, Neuromechanic(_limb(False), 1e-4, scheme), LANES
        )
    jobs["31 muscles, semi_implicit: ours, alone"] = partial(_limb_steps, Neuromechanic(_limb(True)))
    jobs["31 muscles, rk4: ours, alone"] = partial(_limb_steps, Neuromechanic(_limb(True), 1e-5, "rk4"))
    for job in jobs.values():
        job()
    rates = paired(jobs, repeats)
    rows = []
    for what, rate in rates.items():
        peer = rates.get(f"{what.partition(':')[0]}: MuJoCo")
        rows.append(
            Row(what, float(np.median(rate)), "steps/s", None if peer is None else float(np.median(rate / peer)))
        )
    return rows
