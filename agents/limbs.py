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


def standing_on_springs() -> dict[str, Any]:
    """Model of the standing figure whose hips are springs, as stiff as the reflexes but at once: MuJoCo has these."""
    model = standing()
    for name in ("neuron", "motor", "platform"):
        del model[name]
    for side in ("left_leg", "right_leg"):
        joint = model["body"][side]["joint"]
        joint |= {"stiffness": STIFFNESS, "damping": DAMPING, "rest": joint["start"]}
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


def in_mujoco(description: Mapping[str, Any], dt: float, integrator: str = "mjINT_EULER") -> tuple[Any, Any]:
    """Model and data of MuJoCo with the same bodies, springs and contacts, in the start posture."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity, spec.option.timestep = description["gravity"], dt
    spec.option.integrator = getattr(mujoco.mjtIntegrator, integrator)
    kinds = {"revolute": mujoco.mjtJoint.mjJNT_HINGE, "prismatic": mujoco.mjtJoint.mjJNT_SLIDE}
    made: dict[str, tuple[Any, list[Any]]] = {"ground": (spec.worldbody, [])}
    for name, body in description["body"].items():
        # A joint with a massless body becomes one more joint of the next body: MuJoCo's own form, and its fastest.
        parent, waiting = made[body.get("parent", "ground")]
        waiting = [*waiting, body["joint"]]
        if "inertial" not in body:
            made[name] = parent, waiting
            continue
        places = np.cumsum([joint.get("at", (0.0, 0.0, 0.0)) for joint in waiting], 0)
        new, inertial = parent.add_body(name=name, pos=places[-1]), body["inertial"]
        for joint, place in zip(waiting, places, strict=True):
            new.add_joint(
                type=kinds[joint["type"]],
                axis=joint["axis"],
                pos=place - places[-1],
                damping=joint.get("damping", 0.0),
                stiffness=joint.get("stiffness", 0.0),
                springref=joint.get("rest", 0.0),
            )
        new.mass, new.ipos, new.explicitinertial = inertial["mass"], inertial["centre"], True
        # MuJoCo refuses thin rods: they must turn about their axis with some inertia.
        inertia = np.concatenate([inertial["inertia"], np.zeros(6 - len(inertial["inertia"]))])
        new.fullinertia = np.add(inertia, [1e-9, 1e-9, 1e-9, 0.0, 0.0, 0.0])
        made[name] = new, []
    radius = 1e-3
    if "contact" in description:
        ground = mujoco.mjtGeom.mjGEOM_PLANE
        spec.worldbody.add_geom(type=ground, size=[10.0, 10.0, 1.0], quat=[np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0])
    for contact in description.get("contact", {}).values():
        name, *at = contact["point"]
        made[name][0].add_geom(
            type=mujoco.mjtGeom.mjGEOM_SPHERE,
            size=[radius, 0.0, 0.0],
            pos=np.add(at, [0.0, radius, 0.0]),
            friction=[contact["friction"], 0.0, 0.0],
            contype=1,
            conaffinity=0,
            priority=1,
        )
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = [body["joint"].get("start", 0.0) for body in description["body"].values()]
    return model, data


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


def limbs(repeats: int) -> list[Row]:
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
