"""Compare the speed of imported models with OpenSim's: ``python -m gymnosoma.biomechanics.timing FILE ...``.

Both programs simulate each ``.osim`` file from its default posture with constant excitations, at several accuracies.
The packages are those of ``pip install gymnosoma opensim``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from numpy.typing import NDArray

from gymnosoma.envs.neuromechanic import Neuromechanic

from .importer import valid_name
from .opensim_skeleton import opensim_model

Vector = NDArray[np.float64]

EXCITATION, ACTIVATION, DURATION, MOMENTS = 0.1, 0.05, 0.5, 5
"""Excitation of all muscles, their initial activation, simulated time (s), and number of compared moments."""

METHODS = "RungeKuttaMerson", "RungeKutta3", "RungeKutta2", "SemiExplicitEuler2"
"""Integrators of OpenSim's `Manager` with variable steps; the first is the default."""

ACCURACIES = 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8
"""Accuracies of these integrators. The default of `Manager` is 1e-4, and that of OpenSim's tools 1e-5."""

SCHEMES = {"semi_implicit": (2e-3, 1e-3, 5e-4), "rk4": (5e-3, 2.5e-3, 1e-3)}
"""Time steps (s) of the schemes of gymnosoma."""

EXACT = 1e-5
"""Time step (s) of gymnosoma's converged solution; that of OpenSim has an accuracy of 1e-9."""

LARGEST, SLOWEST = 20.0, 1.0
"""Largest error (degrees) of a setting in the table, and largest CPU time (s) of OpenSim's."""


@dataclass
class Setting:
    """Simulation with one setting.

    Args:
        program, name: Names of the program and the setting.
        run: Function that simulates once, and returns CPU time (s) and joint angles (moments, n) in degrees.
        animals: Number of animals that it simulates.
    """

    program: str
    name: str
    run: Callable[[], tuple[float, Vector]]
    animals: int = 1
    error: float = np.inf
    seconds: float = np.inf


def ours(animal: Neuromechanic, count: int = 1) -> tuple[float, Vector]:
    """Simulate with gymnosoma; see `Setting`."""
    rows, ids = animal.rows(count), np.arange(count)
    steps = round(DURATION / MOMENTS / animal.dt)
    drive = np.full((count, animal.drive_size), EXCITATION)
    animal.reset(rows, ids, {"input": drive, "activation": ACTIVATION})
    started, angles = time.process_time(), []
    for _ in range(MOMENTS):
        animal.advance(rows, ids, drive, steps)
        angles.append(rows["q"][0].copy())
    return time.process_time() - started, np.rad2deg(angles)


def theirs(model: Any, names: tuple[str, ...], method: str, accuracy: float) -> tuple[float, Vector]:
    """Simulate with OpenSim's `Manager`; see `Setting`."""
    import opensim

    state = model.initSystem()
    coordinates = [model.getCoordinateSet().get(i) for i in range(model.getCoordinateSet().getSize())]
    columns = {valid_name(each.getName()): each for each in coordinates}
    muscles = [model.getMuscles().get(i) for i in range(model.getMuscles().getSize())]
    for muscle in muscles:
        muscle.setActivation(state, ACTIVATION)
    model.equilibrateMuscles(state)
    manager = opensim.Manager(model)
    manager.setIntegratorMethod(getattr(opensim.Manager, f"IntegratorMethod_{method}"))
    manager.setIntegratorAccuracy(accuracy)
    manager.setWriteToStorage(False)
    manager.initialize(state)
    started, angles = time.process_time(), []
    for k in range(MOMENTS):
        state = manager.integrate(DURATION * (k + 1) / MOMENTS)
        angles.append([columns[name].getValue(state) for name in names])
    return time.process_time() - started, np.rad2deg(angles)


def excited(path: Path, muscles: tuple[str, ...]) -> Any:
    """Return OpenSim's model with constant excitations, without muscles that are not imported."""
    import opensim

    model = opensim_model(path)
    forces = model.updForceSet()
    for i in reversed(range(forces.getSize())):
        if opensim.Muscle.safeDownCast(forces.get(i)) and valid_name(forces.get(i).getName()) not in muscles:
            forces.remove(i)
    model.finalizeFromProperties()
    controller = opensim.PrescribedController()
    model.addController(controller)
    model.finalizeConnections()
    for i in range(model.getMuscles().getSize()):
        muscle = model.getMuscles().get(i)
        controller.addActuator(muscle)
        controller.prescribeControlForActuator(muscle.getAbsolutePathString(), opensim.Constant(EXCITATION))
    return model


def settings(path: Path, count: int) -> tuple[list[Setting], float]:
    """Return all settings with their errors, and the difference (degrees) between the two converged solutions."""
    from . import import_model

    description, report = import_model(path, partial=True)
    for entry in report.refused:
        print(f"left out: {entry}")
    first = Neuromechanic(description)
    turning = [joint.revolute for joint in first.model.joints]
    model, names = excited(path, first.model.muscles), first.model.bodies
    table, exact = list[Setting](), dict[str, Vector]()
    exact["OpenSim"] = theirs(model, names, METHODS[0], 1e-9)[1]
    exact["gymnosoma"] = ours(Neuromechanic(description, EXACT, "rk4"))[1]
    for method in METHODS:
        table += [
            Setting("OpenSim", f"{method}, accuracy {a:g}", partial(theirs, model, names, method, a))
            for a in ACCURACIES
        ]
    for scheme, steps in SCHEMES.items():
        for dt in steps:
            animal = Neuromechanic(description, dt, scheme)
            table.append(Setting("gymnosoma", f"{scheme}, {1e3 * dt:g} ms", partial(ours, animal)))
            text = f"{scheme}, {1e3 * dt:g} ms, {count} animals"
            table.append(Setting("gymnosoma", text, partial(ours, animal, count), count))
    for each in table:
        try:
            each.seconds, angles = each.run()
        except RuntimeError:  # OpenSim's integrator has failed
            continue
        off = (angles - exact[each.program])[:, turning]
        each.error = float(np.sqrt(np.mean(off**2))) if np.isfinite(off).all() else np.inf
    apart = float(np.sqrt(np.mean((exact["OpenSim"] - exact["gymnosoma"])[:, turning] ** 2)))
    kept = (each for each in table if each.program == "gymnosoma" or each.seconds < SLOWEST)
    return [each for each in kept if each.error < LARGEST], apart


def cheapest(table: list[Setting], error: float) -> Setting | None:
    """Return the fastest setting of OpenSim with at most an error (degrees)."""
    fitting = [each for each in table if each.program == "OpenSim" and each.error <= error]
    return min(fitting, key=lambda each: each.seconds, default=None)


COLUMNS = "gymnosoma", "error", "CPU s per simulated s", "OpenSim, at most this error", "error", "CPU s", "ratio"
"""Columns of the table; errors are in degrees."""


def main(files: Annotated[tuple[Path, ...], tyro.conf.Positional], /, repeats: int = 5, count: int = 64) -> None:
    """Print a table of errors and CPU times of gymnosoma and of OpenSim at equal error.

    The error is the rms difference of all joint angles from the same program's converged solution. Each setting of
    gymnosoma is compared with OpenSim's fastest setting that is at least as accurate. Times are medians
    of alternating runs.

    Args:
        files: OpenSim models.
        repeats: Number of runs of each setting.
        count: Number of animals that gymnosoma simulates together.
    """
    for path in files:
        table, apart = settings(path, count)
        times = np.array([[each.run()[0] / (DURATION * each.animals) for each in table] for _ in range(repeats)])
        for each, seconds in zip(table, np.median(times, 0).tolist(), strict=True):
            each.seconds = seconds
        print(f"\n{path.name}: the converged solutions of both programs differ by {apart:.2g} degrees (rms).\n")
        print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
        for each in table:
            if each.program == "gymnosoma":
                best = cheapest(table, each.error)
                cells = [each.name, f"{each.error:.1g}", f"{each.seconds:.2g}"]
                if best:
                    ratio = f"{best.seconds / each.seconds:.2g}"
                    cells += [best.name, f"{best.error:.1g}", f"{best.seconds:.2g}", ratio]
                else:
                    cells += ["none", "", "", ""]
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    tyro.cli(main)
