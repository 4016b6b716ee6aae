"""Musculoskeletal models converted to MuJoCo, for comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gymnosoma.envs.neuromechanic.standing import DAMPING, STIFFNESS, standing


def standing_on_springs() -> dict[str, Any]:
    """Return the standing figure with hip springs as stiff as the reflexes, but without delay, for use in MuJoCo."""
    model = standing()
    for name in ("neuron", "motor", "platform", "inputs"):
        del model[name]
    for side in ("left_leg", "right_leg"):
        joint = model["body"][side]["joint"]
        joint |= {"stiffness": STIFFNESS, "damping": DAMPING, "rest": joint["start"]}
    return model


def in_mujoco(description: Mapping[str, Any], dt: float, integrator: str = "mjINT_EULER") -> tuple[Any, Any]:
    """Return MuJoCo's model and data with the same bodies, springs and contacts, in the start posture."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.gravity, spec.option.timestep = description["gravity"], dt
    spec.option.integrator = getattr(mujoco.mjtIntegrator, integrator)
    kinds = {"revolute": mujoco.mjtJoint.mjJNT_HINGE, "prismatic": mujoco.mjtJoint.mjJNT_SLIDE}
    bodies: dict[str, tuple[Any, list[Any]]] = {"ground": (spec.worldbody, [])}
    for name, body in description["body"].items():
        # A joint of a massless body becomes a further joint of the next body, the natural and fastest form in MuJoCo.
        parent, waiting = bodies[body.get("parent", "ground")]
        waiting = [*waiting, body["joint"]]
        if "inertial" not in body:
            bodies[name] = parent, waiting
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
        # MuJoCo rejects thin rods: the inertia about their axis must not be 0.
        inertia = np.concatenate([inertial["inertia"], np.zeros(6 - len(inertial["inertia"]))])
        new.fullinertia = np.add(inertia, [1e-9, 1e-9, 1e-9, 0.0, 0.0, 0.0])
        bodies[name] = new, []
    radius = 1e-3
    if "contact" in description:
        ground = mujoco.mjtGeom.mjGEOM_PLANE
        spec.worldbody.add_geom(type=ground, size=[10.0, 10.0, 1.0], quat=[np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0])
    for contact in description.get("contact", {}).values():
        name, *at = contact["point"]
        bodies[name][0].add_geom(
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
