"""Comparison of an imported model with the program that it comes from, if that is installed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.skeleton import PRISMATIC

from .importer import installed, valid_name

Vector = NDArray[np.float64]
Lengths = Callable[[Vector, dict[str, Vector]], dict[str, float]]
"""Function from joint positions (n,) and `Neuromechanic.mechanics` to the length (m) of each muscle by name."""

FAR = 1e-3
"""Difference of length (m) from which a muscle is listed."""


def check_lengths(animal: Neuromechanic, source: str | Path, postures: int = 20) -> list[str]:
    """Compare the lengths of muscles with those of OpenSim or MuJoCo, at random postures within the ranges.

    Args:
        animal: Imported model.
        source: Its file.
        postures: Number of postures.

    Returns:
        list of str: A line for each muscle that is off by more than `FAR`, and one for the others; empty if the program
            is not installed.
    """
    program = "opensim.simulation" if Path(source).suffix.lower() == ".osim" else "mujoco"
    if not installed(program):
        return []
    return _check(animal, (_mujoco if program == "mujoco" else _opensim)(animal, str(source)), postures)


def _check(animal: Neuromechanic, measure: Lengths, postures: int) -> list[str]:
    ranges = np.clip([(joint.low, joint.high) for joint in animal.model.joints], -1.5, 1.5)
    errors, row = dict.fromkeys(animal.model.muscles, 0.0), animal.rows(1)
    for share in np.random.default_rng(0).random((postures, len(ranges))):
        row["q"] = q = ranges[:, 0] + share * (ranges[:, 1] - ranges[:, 0])
        k = animal.mechanics(row)
        lengths = measure(q, k)
        for name, own in zip(animal.model.muscles, k["length"], strict=True):
            errors[name] = max(errors[name], abs(float(own) - lengths.get(name, float(own))))
    far = [f"length of {name}: off by up to {1e3 * error:.1f} mm" for name, error in errors.items() if error > FAR]
    return [*far, f"lengths of {len(errors) - len(far)} muscles: within {1e3 * FAR:g} mm of the source"]


def _opensim(animal: Neuromechanic, source: str) -> Lengths:
    from .compare import OpenSim

    other = OpenSim(source, animal.model.bodies)

    def measure(q: Vector, k: dict[str, Vector]) -> dict[str, float]:
        other.place(q)
        return other.lengths()

    return measure


def _mujoco(animal: Neuromechanic, source: str) -> Lengths:
    import mujoco

    load = mujoco.MjModel.from_binary_path if source.lower().endswith(".mjb") else mujoco.MjModel.from_xml_path
    model = load(source)
    data, joints = mujoco.MjData(model), (*animal.model.bodies, *animal.model.followers)
    names = {valid_name(model.joint(i).name): int(model.jnt_qposadr[i]) for i in range(model.njnt)}

    def measure(q: Vector, k: dict[str, Vector]) -> dict[str, float]:
        data.qpos[:] = model.qpos0
        for name, value in zip(joints, [*q, *k["follow"][len(q) :, 0]], strict=True):
            if name in names:
                data.qpos[names[name]] += value
        mujoco.mj_fwdPosition(model, data)
        labels = (valid_name(model.actuator(i).name) for i in range(model.nu))
        return dict(zip(labels, data.actuator_length.tolist(), strict=True))

    return measure


def mujoco_errors(
    animal: Neuromechanic,
    model: Any,
    joints: Mapping[str, tuple[int, Vector]],
    actuators: Mapping[str, int],
    states: int = 3,
) -> tuple[float, Vector, Vector]:
    """Compare accelerations, lengths and moment arms of muscles with MuJoCo's at random states, without constraints.

    Constraints are contacts, limits, friction and equalities. Joints that follow others are held exactly, as in
    gymnosoma, by projection. Muscles and motors have random activations and inputs from 0 to 1, velocities random
    numbers of variance 1. Differences are relative to the largest acceleration of the state, or to 1 rad/s^2.

    Args:
        animal: Imported model.
        model (mujoco.MjModel): Source, without fields that are not converted.
        joints: Index in MuJoCo and rotation matrix of its body in the description's body, by the body's name.
        actuators: Index in MuJoCo by the input's name.

    Returns:
        acceleration, length, arm: Largest difference of accelerations; largest differences (m,) m of the lengths and
            moment arms of each muscle.
    """
    import mujoco

    model = copy.copy(model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL
    model.opt.enableflags, rng, errors = 0, np.random.default_rng(0), list[float]()
    muscles = [actuators[name] for name in animal.model.muscles]
    length, arm = np.zeros(len(muscles)), np.zeros(len(muscles))
    ranges = np.clip([(joint.low, joint.high) for joint in animal.model.joints], -1.5, 1.5)
    for _ in range(states):
        data, row = mujoco.MjData(model), animal.rows(1)
        row["q"], row["v"] = rng.uniform(*ranges.T), rng.normal(size=len(ranges))
        row["input"], row["activation"] = rng.random(row["input"].shape), rng.random(row["activation"].shape)
        k = animal.mechanics(row)
        G, bend = _to_mujoco(animal, row, k, model, data, joints)
        data.qvel[:] = G @ row["v"][0]
        for name, value in zip(animal.model.inputs, row["input"][0], strict=True):
            data.ctrl[model.actuator_ctrladr[actuators[name]]] = value
        for name, value in zip(animal.model.muscles, row["activation"][0], strict=True):
            data.act[model.actuator_actadr[actuators[name]]] = value
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        qdd = np.linalg.solve(G.T @ M @ G, G.T @ (data.qfrc_smooth - M @ bend))
        errors.append(np.abs(k["qdd"] - qdd).max() / max(1.0, np.abs(qdd).max()))
        moment = np.zeros((model.nu, model.nv))
        sparse = data.moment_rownnz, data.moment_rowadr, data.moment_colind
        mujoco.mju_sparse2dense(moment, data.actuator_moment, *sparse)
        length = np.maximum(length, np.abs(k["length"] - data.actuator_length[muscles]))
        arm = np.maximum(arm, np.abs(k["arm"] + moment[muscles] @ G).max(1, initial=0.0))
    return float(np.max(errors)), length, arm


def _to_mujoco(
    animal: Neuromechanic,
    row: Any,
    k: dict[str, Vector],
    model: Any,
    data: Any,
    joints: Mapping[str, tuple[int, Vector]],
) -> tuple[Vector, Vector]:
    """Write MuJoCo's positions.

    Returns:
        G, bend: Derivative (N, n) of MuJoCo's velocities with respect to the animal's, and MuJoCo's accelerations (N,)
            for accelerations 0 of the animal.
    """
    from scipy.spatial.transform import Rotation

    bodies, followers, coordinate = animal.model.bodies, animal.model.followers, animal.model.arrays["coordinate"]
    q, v, n = row["q"][0], row["v"][0], len(animal.model.bodies)
    G, bend = np.zeros((model.nv, n)), np.zeros(model.nv)
    for name, (j, R) in joints.items():
        at, dof = model.jnt_qposadr[j], model.jnt_dofadr[j]
        if name in followers:
            i = n + followers.index(name)
            lead, (place, slope, curvature, _) = coordinate[i], k["follow"][i]
            data.qpos[at] += place
            G[dof, lead], bend[dof] = slope, curvature * v[lead] ** 2
        elif name in bodies and model.jnt_type[j] >= 2:
            i = bodies.index(name)
            data.qpos[at] += q[i]
            G[dof, i] = 1.0
        elif name in bodies:
            i = bodies.index(name) - 2
            turn = Rotation.from_rotvec(q[i : i + 3]) * Rotation.from_matrix(R)
            if model.jnt_type[j] == 0:
                data.qpos[at : at + 3] += q[i - 3 : i]
                G[dof : dof + 3, i - 3 : i] = np.eye(3)
                at, dof = at + 3, dof + 3
            else:
                turn = Rotation.from_matrix(R).inv() * turn
            data.qpos[at : at + 4] = np.roll(turn.as_quat(), 1)
            G[dof : dof + 3, i : i + 3] = R.T
    return G, bend


def falling(animal: Neuromechanic) -> list[str]:
    """Return the joints between the ground and the first mass if nothing carries the model in one of them.

    The list is empty if the model has contacts or pins on points.
    """
    model, a = animal.model, animal.model.arrays
    g = a["gravity"]
    if model.counts["contacts"] or model.counts["touches"] or (a["pin_body"] >= 0).any():
        return []
    k, loose, free = animal.mechanics(animal.rows(1)), list[str](), len(model.bodies)
    carried = {*a["pin_joint"], *a["motor"][:, 0], *a["limit_joint"], *np.flatnonzero(a["stiffness"])}
    force, weight = k["joint_torque"] + k["wrench_torque"].sum(0), float(np.sum(a["mass"]) * np.linalg.norm(g))
    for root in np.flatnonzero(a["parent"] < 0).tolist():
        chain = [root]
        while a["mass"][chain[-1]] == 0.0 and np.sum(a["parent"] == chain[-1]) == 1:
            chain.append(int(np.argmax(a["parent"] == chain[-1])))
        own = [i for i in chain if i < free]
        for i in own:
            along = abs(float(k["turn"][i] @ a["axis"][i] @ g))
            down = a["joint"][i] == PRISMATIC and along > 0.1 * float(np.linalg.norm(g)) > 0.0
            if down and i not in carried and abs(force[i]) < 0.05 * weight:
                loose += [model.bodies[j] for j in own if j not in carried and "." not in model.bodies[j]]
                break
    return loose
