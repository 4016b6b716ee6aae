"""Comparison of an imported model with the program that it comes from, if that is installed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.neuromechanic import Neuromechanic

from .importer import valid_name

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
    with suppress(ModuleNotFoundError):
        if find_spec(program) is not None:
            return _check(animal, (_mujoco if program == "mujoco" else _opensim)(animal, str(source)), postures)
    return []


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
    import opensim

    level = opensim.Logger.getLevelString()
    opensim.Logger.setLevelString("Off")
    model = opensim.Model(source)
    state = model.initSystem()
    opensim.Logger.setLevelString(level)

    def named(things: Any) -> dict[str, Any]:
        return {valid_name(things.get(i).getName()): things.get(i) for i in range(things.getSize())}

    coordinates, muscles = named(model.getCoordinateSet()), named(model.getMuscles())

    def measure(q: Vector, k: dict[str, Vector]) -> dict[str, float]:
        for name, value in zip(animal.model.bodies, q, strict=True):
            if name in coordinates:
                coordinates[name].setValue(state, float(value), False)
        model.assemble(state)
        model.realizePosition(state)
        return {name: muscle.getLength(state) for name, muscle in muscles.items()}

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
