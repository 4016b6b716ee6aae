"""Speed beside OpenSim: an arm that is moved by its muscles, and the torques of recorded walking, in CPU time."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.inverse import torques

from .measure import Row, paired

MODELS = Path(__file__).resolve().parents[2] / "tests" / "opensim"
START, EXCITATION = (0.3, 0.8), (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Posture (rad) of arm26 from which it moves for 1 s, at these excitations of its muscles."""

EXACT, ACCURACY, STEP = 1e-8, 1e-4, 1e-3
"""Accuracies of OpenSim: that from which errors are counted, and its loosest with an error below ours; our step, s."""

Moved = tuple[float, NDArray[np.float64]]
"""Seconds of CPU time, and postures (10, 2) rad every 0.1 s."""


def beside_opensim(repeats: int) -> list[Row]:
    """Simulated seconds, and frames of inverse dynamics, per CPU second; none where OpenSim is not installed."""
    found = importlib.util.find_spec("opensim")
    if found is None or found.origin is None:  # the folder beside our tests is a module of that name without origin
        print("The package opensim is not installed, so nothing is compared with OpenSim.")
        return []
    import opensim

    opensim.Logger.setLevelString("Off")
    opensim.Logger.removeFileSink()
    (_, exact), start = _their_arm(opensim, EXACT)
    walker = Neuromechanic(MODELS / "gait10dof18musc.osim")
    moves: dict[str, Callable[[], Moved]] = {
        "OpenSim": lambda: _their_arm(opensim, ACCURACY)[0],
        "ours": partial(_our_arm, *start),
    }
    errors = {name: float(np.abs(move()[1] - exact).max()) for name, move in moves.items()}
    jobs: dict[str, Callable[[], float]] = {
        f"arm26 for 1 s: {name}": partial(_rate, move) for name, move in moves.items()
    }
    jobs["inverse dynamics: OpenSim"] = _their_torques(opensim, walker.model.bodies)
    jobs["inverse dynamics: ours"] = partial(_our_torques, walker)
    notes = {f"arm26 for 1 s: {name}": f"error {error:.2g} rad" for name, error in errors.items()}
    rates = paired(jobs, repeats)
    rows = []
    for what, rate in rates.items():
        unit = "simulated s per CPU s" if "arm26" in what else "frames per CPU s"
        other = rates[f"{what.partition(':')[0]}: OpenSim"]
        rows.append(Row.median(what, rate, unit, rate / other, notes.get(what, "gait10dof18musc")))
    return rows


def _rate(move: Callable[[], Moved]) -> float:
    """Simulated seconds per CPU second."""
    return 1.0 / move()[0]


def _their_arm(opensim: Any, accuracy: float) -> tuple[Moved, tuple[list[float], list[float]]]:
    """OpenSim's motion of arm26, and the activations and fibre lengths (m) with which it began."""
    model, control = opensim.Model(str(MODELS / "arm26.osim")), opensim.PrescribedController()
    muscles = [model.getMuscles().get(i) for i in range(len(EXCITATION))]
    model.addController(control)
    for muscle, excitation in zip(muscles, EXCITATION, strict=True):
        control.addActuator(muscle)
        control.prescribeControlForActuator(muscle.getName(), opensim.Constant(excitation))
    state = model.initSystem()
    joints = [model.getCoordinateSet().get(name) for name in ("r_shoulder_elev", "r_elbow_flex")]
    for joint, value in zip(joints, START, strict=True):
        joint.setValue(state, value)
    model.equilibrateMuscles(state)
    start = [m.getActivation(state) for m in muscles], [m.getFiberLength(state) for m in muscles]
    manager, found = opensim.Manager(model), []
    manager.setIntegratorAccuracy(accuracy)
    manager.initialize(state)
    begun = time.process_time()
    for i in range(10):
        state = manager.integrate(0.1 * (i + 1))
        found.append([joint.getValue(state) for joint in joints])
    return (time.process_time() - begun, np.array(found)), start


def _our_arm(activation: list[float], fibre_length: list[float]) -> Moved:
    """Our motion of arm26, by Runge and Kutta's method."""
    animal = Neuromechanic(MODELS / "arm26.toml", dt=STEP, scheme="rk4")
    rows, ids, drive, found = animal.rows(1), np.arange(1), np.array([EXCITATION]), []
    animal.advance(rows.copy(), ids, drive, 1)  # compile
    rows["q"], rows["activation"], rows["fibre_length"] = START, activation, fibre_length
    begun = time.process_time()
    for _ in range(10):
        animal.advance(rows, ids, drive, round(0.1 / STEP))
        found.append(rows["q"][0].copy())
    return time.process_time() - begun, np.array(found)


def _walking(names: Sequence[str]) -> tuple[NDArray[np.float64], ...]:
    """Times (s), and positions, velocities and accelerations (100, n) of these joints in recorded walking."""
    case = json.loads((MODELS / "gait10dof18musc_walk_id.json").read_text("utf-8"))
    places = [case["coordinates"].index(name) for name in names]
    q, u, udot = (np.array(case[name])[places].T for name in ("q", "u", "udot"))
    return np.array(case["time"]), q, u, udot


def _their_torques(opensim: Any, names: Sequence[str]) -> Callable[[], float]:
    """Frames per CPU second for which OpenSim finds the torques of joints; its muscles are left out."""
    case = json.loads((MODELS / "gait10dof18musc.json").read_text("utf-8"))
    model = opensim.Model(str(MODELS / "gait10dof18musc.osim"))
    for i in range(model.getForceSet().getSize()):
        model.getForceSet().get(i).set_appliesForce(False)
    state, solver = model.initSystem(), opensim.InverseDynamicsSolver(model)
    joints = [model.getCoordinateSet().get(name) for name in names]
    places = [case["u_index"][case["coordinates"].index(name)] for name in names]
    _, q, u, udot = _walking(names)

    def rate() -> float:
        begun = time.process_time()
        for frame in range(len(q)):
            accelerations = opensim.Vector(model.getNumSpeeds(), 0.0)
            for i, joint in enumerate(joints):
                joint.setValue(state, q[frame, i], False)
                joint.setSpeedValue(state, u[frame, i])
                accelerations[places[i]] = udot[frame, i]
            solver.solve(state, accelerations)
        return len(q) / (time.process_time() - begun)

    return rate


def _our_torques(animal: Neuromechanic) -> float:
    """Frames per CPU second for which ours finds torques."""
    moments, q, u, udot = _walking(animal.model.bodies)
    begun = time.process_time()
    torques(animal, moments, q, u, udot)
    return len(q) / (time.process_time() - begun)
