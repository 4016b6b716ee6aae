"""Compare imported models with OpenSim and MuJoCo: ``python -m gymnosoma.biomechanics.compare FOLDER``.

The program imports all ``.osim`` and ``.xml`` files of the folder and prints a table of the largest differences from
the packages ``opensim`` and ``mujoco``, which must be installed (``pip install opensim mujoco``), at random states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from numpy.typing import NDArray

from gymnosoma.envs.neuromechanic import Neuromechanic

from .importer import valid_name
from .inverse import torques
from .mujoco import converted
from .opensim_skeleton import opensim_model

Vector = NDArray[np.float64]


class OpenSim:
    """Model in OpenSim, for comparison with an imported one.

    Args:
        source: File.
        names: Free coordinates in the order of positions (n,).
    """

    def __init__(self, source: str | Path, names: tuple[str, ...]) -> None:
        import opensim

        self.model, self.names = opensim_model(Path(source)), names
        for coordinate in self._all(self.model.updCoordinateSet()).values():  # OpenSim ignores values of locked ones
            coordinate.setDefaultLocked(False)
        self.state = self.model.initSystem()
        self.coordinates = self._all(self.model.getCoordinateSet())
        self.muscles = self._all(self.model.getMuscles())
        self.forces = [self.model.getForceSet().get(i) for i in range(self.model.getForceSet().getSize())]
        for force in self.forces:
            force.setAppliesForce(self.state, False)
        self.column, self.couplers = {}, list(self._couplers())
        for name, coordinate in self.coordinates.items():
            self.state.setU(opensim.Vector(self.state.getNU(), 0.0))
            coordinate.setSpeedValue(self.state, 1.0)
            self.column[name] = int(np.argmax(self.state.getU().to_numpy()))

    @staticmethod
    def _all(things: Any) -> dict[str, Any]:
        return {valid_name(things.get(i).getName()): things.get(i) for i in range(things.getSize())}

    def _couplers(self) -> Iterator[tuple[str, str, Any, float]]:
        """Yield dependent and independent coordinate, function and factor of each coupler."""
        import opensim

        for constraint in self._all(self.model.getConstraintSet()).values():
            coupler = opensim.CoordinateCouplerConstraint.safeDownCast(constraint)
            if coupler is not None and coupler.get_isEnforced():
                own = coupler.getDependentCoordinateName()
                lead = coupler.getIndependentCoordinateNames().get(0)
                scale = opensim.PropertyHelper.getValueDouble(coupler.getPropertyByName("scale_factor"))
                yield valid_name(own), valid_name(lead), coupler.getFunction(), scale

    def place(self, q: Vector) -> None:
        """Set the positions of the free coordinates (n,) rad or m, and of those that depend on them."""
        import opensim

        for name, value in zip(self.names, q, strict=True):
            if name in self.coordinates:
                self.coordinates[name].setValue(self.state, float(value), False)
        for own, lead, f, scale in self.couplers:  # not by assembly, which would also move free coordinates
            value = scale * f.calcValue(opensim.Vector(1, self.coordinates[lead].getValue(self.state)))
            self.coordinates[own].setValue(self.state, value, False)
        self.model.realizePosition(self.state)

    def lengths(self) -> dict[str, float]:
        """Return the lengths (m) of the muscles."""
        return {name: muscle.getLength(self.state) for name, muscle in self.muscles.items()}

    def arms(self) -> dict[str, Vector]:
        """Return the moment arms (n,) of the muscles, m or 1."""
        own = [self.coordinates[name] for name in self.names]
        return {
            name: np.array([muscle.computeMomentArm(self.state, coordinate) for coordinate in own])
            for name, muscle in self.muscles.items()
        }

    def torques(self, v: Vector, qdd: Vector) -> tuple[Vector, Vector]:
        """Compute torques (n,) N m or N at the velocities and accelerations (n,) of the free coordinates.

        Returns:
            torque, passive: Inverse dynamics without forces; sum of the torques of all forces.
        """
        import opensim

        G, bend = self.dependence(v)
        self.state.setU(opensim.Vector.createFromMat(G @ v))
        udot, solver = opensim.Vector.createFromMat(G @ qdd + bend), opensim.InverseDynamicsSolver(self.model)
        alone = solver.solve(self.state, udot).to_numpy()
        passive = [force for force in self.forces if opensim.Actuator.safeDownCast(force) is None]
        for force in passive:
            force.setAppliesForce(self.state, force.get_appliesForce())
        together = solver.solve(self.state, udot).to_numpy()
        for force in passive:
            force.setAppliesForce(self.state, False)
        return G.T @ alone, G.T @ (alone - together)

    def dependence(self, v: Vector) -> tuple[Vector, Vector]:
        """Return the derivative (N, n) of OpenSim's speeds by ``v`` (n,), and their rates (N,) at constant ``v``."""
        import opensim

        G, bend = np.zeros((self.state.getNU(), len(v))), np.zeros(self.state.getNU())
        for i, name in enumerate(self.names):
            G[self.column[name], i] = 1.0
        for name, leader, f, scale in self.couplers:
            own, lead = self.column[name], self.column[leader]
            at = opensim.Vector(1, self.coordinates[leader].getValue(self.state))
            slope, curvature = (scale * f.calcDerivative(opensim.StdVectorInt([0] * order), at) for order in (1, 2))
            bend[own] = slope * bend[lead] + curvature * (G[lead] @ v) ** 2
            G[own] = slope * G[lead]
        for joint in self._all(self.model.getJointSet()).values():
            free = opensim.FreeJoint.safeDownCast(joint)
            if free is None:
                continue
            # OpenSim's speeds of a FreeJoint are the angular velocity, not the rates of its angles.
            angles = [free.get_coordinates(i) for i in range(3)]
            turn = [self.column[valid_name(coordinate.getName())] for coordinate in angles]
            a, b, _ = (coordinate.getValue(self.state) for coordinate in angles)
            axes = [np.eye(3)[0], np.array([0.0, np.cos(a), np.sin(a)])]
            axes.append(np.array([np.sin(b), -np.sin(a) * np.cos(b), np.cos(a) * np.cos(b)]))
            rates = G[turn] @ v
            bend[turn] += rates[0] * np.cross(axes[0], axes[1]) * rates[1]
            bend[turn] += np.cross(rates[0] * axes[0] + rates[1] * axes[1], axes[2]) * rates[2]
            G[turn] = np.array(axes).T @ G[turn]
        return G, bend


@dataclass
class Difference:
    """Largest differences of an imported model from OpenSim.

    Args:
        length, arm (m): Of muscle lengths and moment arms; of forces along sliding joints, the unit of arms is 1.
        muscle: Muscle with the largest difference of the length.
        torque, passive: Of inverse dynamics without forces, and of the torques of all forces except those of muscles
            and motors, relative to the largest torque of the state, at least 1 N m or N.
    """

    length: float = 0.0
    arm: float = 0.0
    muscle: str = ""
    torque: float = 0.0
    passive: float = 0.0


def compare(animal: Neuromechanic, source: str | Path, states: int = 10) -> Difference:
    """Compare an imported model with OpenSim at random states, with positions in the ranges of the joints.

    If the model has contacts, one touches in every second state.

    Args:
        animal: Imported model.
        source: Its file.
        states: Number of states.
    """
    other, worst, row = OpenSim(source, animal.model.bodies), Difference(), animal.rows(1)
    muscles, rng = [name for name in animal.model.muscles if name in other.muscles], np.random.default_rng(0)
    place = [animal.model.muscles.index(name) for name in muscles]
    ranges = np.clip([(joint.low, joint.high) for joint in animal.model.joints], -1.5, 1.5)
    for i in range(states):
        q = rng.uniform(*ranges.T)
        v, qdd = rng.normal(size=(2, len(q)))
        if animal.model.counts["touches"] and i % 2:
            q = _touching(animal, q, rng)
        row["q"], row["v"] = q, v
        other.place(q)
        k = animal.mechanics(row)
        pulls = k["contact_force"].any(1)
        if pulls.any() and (pulls != (k["contact_gap"] < 0.0)).any():
            continue  # OpenSim leaves out the contacts after one that separates too fast
        if muscles:
            lengths, arms = other.lengths(), other.arms()
            off = [abs(k["length"][m] - lengths[name]) for m, name in zip(place, muscles, strict=True)]
            if max(off) > worst.length:
                worst.length, worst.muscle = float(max(off)), muscles[int(np.argmax(off))]
            off = [float(np.abs(k["arm"][m] - arms[name]).max()) for m, name in zip(place, muscles, strict=True)]
            worst.arm = max(worst.arm, *off)
        torque, passive = other.torques(v, qdd)
        own = torques(animal, np.zeros(1), q[None], v[None], qdd[None])["torque"][0]
        worst.torque = max(worst.torque, float(np.abs(own - torque).max() / max(1.0, np.abs(torque).max())))
        own = k["joint_torque"] + k["contact_torque"].sum(0) - k["arm"][place].T @ k["force"][place]
        worst.passive = max(worst.passive, float(np.abs(own - passive).max() / max(1.0, np.abs(passive).max())))
    return worst


def _touching(animal: Neuromechanic, q: Vector, rng: np.random.Generator) -> Vector:
    """Return positions (n,) near ``q`` at which one of the contacts sinks in by up to 1 mm, by Newton's method."""
    row, c, depth = animal.rows(1), rng.integers(animal.model.counts["touches"]), 1e-3 * rng.random()

    def gap(q: Vector) -> float:
        row["q"] = q
        return float(animal.mechanics(row)["contact_gap"][c])

    for _ in range(8):
        here = gap(q)
        slope = np.array([gap(q + step) - here for step in 1e-6 * np.eye(len(q))]) / 1e-6
        q = q - (here + depth) * slope / max(float(slope @ slope), 1e-6)
    return q


COLUMNS = "file", "coordinates, muscles", "refused", "lengths", "moment arms", "inverse dynamics", "other forces"
"""Columns of the table; lengths and moment arms are in mm."""


def line(path: Path, states: int = 10) -> str:
    """Return the row of the table for a file."""
    from . import import_model

    try:
        if path.suffix == ".xml":
            importer = converted(path)
            description, report = importer.finish(True)
            animal = Neuromechanic(description)
            acceleration, lengths, arms = importer.errors(animal, states)
            muscle = animal.model.muscles[int(np.argmax(lengths))] if len(lengths) else ""
            worst = Difference(lengths.max(initial=0.0), arms.max(initial=0.0), muscle, acceleration)
        else:
            description, report = import_model(path, partial=True)
            animal = Neuromechanic(description)
            worst = compare(animal, path, states)
    except (ValueError, RuntimeError) as error:
        return f"| {path.name} | | {str(error).splitlines()[0]} | | | | |"
    model, refused = animal.model, [entry.partition(":")[0] for entry in report.refused]
    muscle = f" {worst.muscle}" if worst.length > 1e-5 else ""
    cells = [
        path.name,
        f"{len(model.bodies)}, {len(model.muscles)}",
        ", ".join(refused) or "none",
        f"{1e3 * worst.length:.1g}{muscle}",
        f"{1e3 * worst.arm:.1g}",
        f"{worst.torque:.0e}",
        f"{worst.passive:.0e}" if path.suffix == ".osim" else "",
    ]
    return f"| {' | '.join(cells)} |"


def main(folder: Annotated[Path, tyro.conf.Positional], /, states: int = 10) -> None:
    """Print a table of the largest differences of imported models from OpenSim or MuJoCo, at random states.

    Differences of torques are relative to the largest torque of the state, or to 1 N m. For MuJoCo's models, the column
    of inverse dynamics has accelerations with active muscles, relative to the largest of the state, or to 1 rad/s^2.
    Parts that are refused are left out.

    Args:
        folder: Folder with ``.osim`` and ``.xml`` files, or one such file.
        states: Number of random states for each file.
    """
    print(f"| {' | '.join(COLUMNS)} |")
    print("|---" * len(COLUMNS) + "|")
    files = [folder] if folder.is_file() else (each for each in folder.iterdir() if each.suffix in (".osim", ".xml"))
    for path in sorted(files):
        print(line(path, states), flush=True)


if __name__ == "__main__":
    tyro.cli(main)
