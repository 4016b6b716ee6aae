"""Recorded motions and loads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import shown
from gymnosoma.envs.core.files import check_file

Vector = NDArray[np.float64]

LARGEST_FILE = 1 << 28
"""Largest size of a motion file, bytes."""


@dataclass(frozen=True)
class Motion:
    """Recorded motion: a table over time.

    Args:
        time ((T,) float, s): Times.
        names (tuple of str): Names of the C columns.
        values ((T, C) float): Values of the columns.
        degrees: Whether angles are in degrees; radians otherwise.

    Raises:
        ValueError: If the shapes do not match.
    """

    time: Vector
    names: tuple[str, ...]
    values: Vector
    degrees: bool = False

    def __post_init__(self) -> None:
        shape = len(self.time), len(self.names)
        if np.shape(self.values) != shape:
            raise ValueError(f"values must have shape {shape} (times, columns), got {np.shape(self.values)}")

    def __getitem__(self, name: str) -> Vector:
        """Return a column by its name or a part of its path, such as ``knee`` in ``/jointset/knee_r/knee/value``."""
        for i, column in enumerate(self.names):
            if column == name or name in column.split("/")[-2:]:
                return self.values[:, i]
        raise ValueError(f"motion has no column {name!r}; it has {shown(self.names)}")


def read_motion(path: str | Path) -> Motion:
    """Read an OpenSim table (``.mot``, ``.sto``) or marker positions (``.trc``, columns ``NAME.x`` to ``NAME.z``).

    Raises:
        ValueError: If the file cannot be read, its times do not increase, or a row has too few numbers.
    """
    try:
        check_file(Path(path), LARGEST_FILE)
        lines = [line.strip() for line in Path(path).read_text("utf-8", "replace").splitlines() if line.strip()]
        if Path(path).suffix.lower() == ".trc":
            end = next((i for i, line in enumerate(lines) if line.startswith("Frame#")), len(lines))
            markers = " ".join(lines[end : end + 1]).split()[2:]
            names = ["Frame#", "time", *(f"{marker}.{axis}" for marker in markers for axis in "xyz")]
        else:
            end = [line.lower() for line in lines].index("endheader")
            names = " ".join(lines[end + 1 : end + 2]).split()
        time = names.index("time")
        table = np.array([line.split() for line in lines[end + 2 :]], float)
        if table.shape[1:] != (len(names),) or len(table) < 2 or not (np.diff(table[:, time]) > 0).all():
            raise ValueError(f"it must have at least 2 rows of {len(names)} numbers and increasing times")
    except (OSError, ValueError) as error:
        raise ValueError(f"motion {str(path)!r} cannot be read: {error}") from None
    degrees = "indegrees=yes" in "\n".join(lines[:end]).replace(" ", "").lower()
    columns = [i for i, name in enumerate(names) if i != time and name != "Frame#"]
    return Motion(table[:, time], tuple(names[i] for i in columns), table[:, columns], degrees)


class Load(NamedTuple):
    """Recorded external force on a body, such as the ground reaction force on a foot.

    Args:
        body: Name of the body in the model.
        motion: Table with the force, its point of application and a moment, in world coordinates.
        force, point, moment: Prefixes of the column names, which end in x, y and z. Set ``moment=""`` for no moment.
    """

    body: str
    motion: Motion
    force: str = "ground_force_v"
    point: str = "ground_force_p"
    moment: str = "ground_torque_"

    def at(self, time: Vector) -> tuple[Vector, Vector, Vector]:
        """Return force (T, 3) N, point (T, 3) m and moment (T, 3) N m, interpolated at times (T,) s."""

        def read(name: str) -> Vector:
            if not name:
                return np.zeros((len(time), 3))
            return np.stack([np.interp(time, self.motion.time, self.motion[f"{name}{axis}"]) for axis in "xyz"], 1)

        return read(self.force), read(self.point), read(self.moment)
