"""Recorded motions and loads."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import shown
from gymnosoma.envs.core.files import LARGEST_RECORDING, check_memory, read_bytes
from gymnosoma.envs.core.kinds import advice, hint

from .opensim_skeleton import Element, last_of, read_xml, text_of, truth_of

Vector = NDArray[np.float64]

_ROWS = r"(?im)(?:^nrows\s*=\s*|\bnumframes\b.*\n\S+\s+\S+\s+)(\d+)"


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
        """Return a column by its label, or by its coordinate, such as ``knee`` in ``/jointset/knee_r/knee/value``.

        Raises:
            ValueError: If there is no such column, or several.
        """
        columns = [i for i, label in enumerate(self.names) if label == name]
        columns = columns or [i for i, label in enumerate(self.names) if f"/{label}".endswith(f"/{name}/value")]
        if len(columns) == 1:
            return self.values[:, columns[0]]
        labels = [self.names[i] for i in columns] or [label for label in self.names if name in label.split("/")]
        what = "several columns" if columns else "no column"
        raise ValueError(
            f"motion has {what} {name!r}; {'candidates are' if labels else 'it has'} "
            f"{shown(tuple(labels) or self.names)}"
        )

    def filled(self, name: str) -> Vector:
        """Return a column without gaps.

        Raises:
            ValueError: If it has gaps. The message names the column and the first time.
        """
        column = self[name]
        if not np.isfinite(column).all():
            first = self.time[~np.isfinite(column)][0]
            raise ValueError(f"motion has a gap in column {name!r} at {first:g} s; fill gaps first, or cut them off")
        return column


_YES = {"yes": True, "y": True, "no": False, "n": False}


def read_motion(path: str | Path) -> Motion:
    """Read an OpenSim table (``.mot``, ``.sto``) or marker positions (``.trc``, columns ``NAME.x`` to ``NAME.z``).

    Blank cells become NaN. As in OpenSim, angles are in degrees if the header says ``inDegrees=yes``, or if it has
    neither this flag nor a version, such as SIMM's.

    Raises:
        ValueError: If the file cannot be read, its times do not increase, a row has a wrong number of values, a
            column occurs twice, or there are fewer rows than the header says.
    """
    try:
        text = read_bytes(Path(path), LARGEST_RECORDING).decode("utf-8", "replace")
        lines = [(i, line.strip(" \r")) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
        stripped = [line.strip() for _, line in lines]
        if Path(path).suffix.lower() == ".trc":
            end = next((i for i, line in enumerate(stripped) if line.startswith("Frame#")), len(lines))
            markers = " ".join(stripped[end : end + 1]).split()[2:]
            names = ["Frame#", "time", *(f"{marker}.{axis}" for marker in markers for axis in "xyz")]
        else:
            end = [line.lower() for line in stripped].index("endheader")
            names = " ".join(stripped[end + 1 : end + 2]).split()
        time = names.index("time")
        if len(set(names)) < len(names):
            raise ValueError(f"its columns must have distinct names, got {shown(names)}")
        check_memory(64 * len(names) * len(lines), len(text))
        table = np.array([_row(line, number, names) for number, line in lines[end + 2 :]], float)
        if len(table) < 2 or not (np.diff(table[:, time]) > 0).all() or not np.isfinite(table[:, time]).all():
            raise ValueError("it must have at least 2 rows with increasing, finite times")
        for count in re.findall(_ROWS, "\n".join(stripped[:end])):
            if len(table) < float(count):
                raise ValueError(f"it must have {count:.20} rows, as its header says, got {len(table)}")
        header = dict(
            re.findall(r"(?im)^(indegrees|version)[ \t]*[= \t][ \t]*(\S+)$", "\n".join(stripped[:end]).lower())
        )
        flag = header.get("indegrees", "no" if "version" in header else "yes")
        if flag not in _YES:
            raise ValueError(f"inDegrees must be yes or no, got {shown(flag)}")
    except (OSError, ValueError) as error:
        raise ValueError(f"motion {str(path)!r} cannot be read: {advice(path, 'motion') or error}") from None
    columns = [i for i, name in enumerate(names) if i != time and name != "Frame#"]
    return Motion(table[:, time], tuple(names[i] for i in columns), table[:, columns], _YES[flag])


def _row(line: str, number: int, names: list[str]) -> list[float]:
    """Return the numbers of a row; between tabs, cells can be blank."""
    cells = line.split("\t")
    blank = [cell.strip() or "nan" for cell in cells[: len(names)]]
    whole = len(blank) == len(names) and not any(cell.strip() for cell in cells[len(names) :])
    cells = blank if whole and all(len(cell.split()) == 1 for cell in blank) else line.split()
    if len(cells) != len(names):
        raise ValueError(f"line {number} must have {len(names)} values, got {len(cells)}")
    values = []
    for name, cell in zip(names, cells, strict=True):
        try:
            values.append(float(cell))
        except ValueError:
            raise ValueError(f"line {number} must have a number for {name}, got {shown(cell)}") from None
    return values


class Load(NamedTuple):
    """Recorded external force on a body, such as the ground reaction force on a foot.

    Args:
        body: Name of a body or frame of the model, such as ``calcn_r``.
        motion: Table with the force, its point of application and a moment.
        force, point, moment: Prefixes of the column names, which end in x, y and z. Set ``force=""`` or
            ``moment=""`` for none, and ``point=""`` for the origin of the body.
        axes, origin: Frames of the components of force and moment, and of the point: names of bodies or ``"ground"``.
    """

    body: str
    motion: Motion
    force: str = "ground_force_v"
    point: str = "ground_force_p"
    moment: str = "ground_torque_"
    axes: str = "ground"
    origin: str = "ground"

    def at(self, time: Vector) -> tuple[Vector, Vector, Vector]:
        """Return force (T, 3) N, point (T, 3) m and moment (T, 3) N m, interpolated at times (T,) s."""

        def read(name: str) -> Vector:
            if not name:
                return np.zeros((len(time), 3))
            return np.stack(
                [np.interp(time, self.motion.time, self.motion.filled(f"{name}{axis}")) for axis in "xyz"], 1
            )

        return read(self.force), read(self.point), read(self.moment)


def read_loads(path: str | Path) -> list[Load]:
    """Read the external loads of an OpenSim analysis (``ExternalLoads`` in XML) and their data file.

    Raises:
        ValueError: If a file cannot be read, or a force has no body.
    """
    root = read_xml(Path(path), "loads")
    loads, forces = root.find(".//ExternalLoads"), root.findall(".//ExternalForce")
    if loads is None or not forces:
        raise ValueError(f"loads {str(path)!r} must have ExternalLoads with an ExternalForce{hint(path, 'loads')}")
    motion = read_motion(Path(path).parent / text_of(loads, "datafile"))

    def column(force: Element, key: str) -> str:
        label = text_of(force, key)
        return "" if label == "Unassigned" else label

    result = []
    for force in forces:
        if text_of(force, "appliesForce", "true") == "false" or truth_of(force, "isDisabled"):
            continue
        frames = [last_of(text_of(force, f"{what}_expressed_in_body", "ground")) for what in ("force", "point")]
        columns = (column(force, f"{what}_identifier") for what in ("force", "point", "torque"))
        body = last_of(text_of(force, "applied_to_body"))
        if not body:
            raise ValueError(f"loads {str(path)!r}: ExternalForce {force.get('name')!r} must have applied_to_body")
        result.append(Load(body, motion, *columns, *frames))
    return result
