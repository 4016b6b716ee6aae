"""Import of OpenSim and MuJoCo models, inverse dynamics of recorded motions, and feedback design."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gymnosoma.envs.core.kinds import hint
from gymnosoma.envs.neuromechanic.model import write_toml
from gymnosoma.moved import point_from

from .feedback import Regulator, characteristic_roots, input_matrix, lqr
from .importer import Report
from .inverse import induced_accelerations, inverse_dynamics, moment_arms, point_path, static_optimisation, torques
from .motions import Load, Motion, read_loads, read_motion
from .mujoco import read_mujoco
from .opensim import read_osim

__all__ = [
    "Load",
    "Motion",
    "Regulator",
    "Report",
    "characteristic_roots",
    "import_model",
    "induced_accelerations",
    "input_matrix",
    "inverse_dynamics",
    "load",
    "lqr",
    "moment_arms",
    "point_path",
    "read_loads",
    "read_motion",
    "static_optimisation",
    "torques",
    "write_toml",
]

READERS = {".osim": read_osim, ".xml": read_mujoco}
"""Readers of other programs' models by file suffix."""


def import_model(path: str | Path, partial: bool = False) -> tuple[dict[str, Any], Report]:
    """Read an OpenSim (``.osim``) or MuJoCo (``.xml``) model.

    Args:
        path: Model file. MuJoCo files require the package ``mujoco``, and OpenSim's formats before 4 ``opensim``.
        partial: Whether to leave out unsupported parts instead of raising an error.

    Returns:
        description, report: Dict for `envs.neuromechanic.Neuromechanic`, and a report on each part.

    Raises:
        ValueError: If the file cannot be read or has unsupported parts. The message names all of them.
    """
    reader = READERS.get(Path(path).suffix.lower())
    if reader is None:
        binary = Path(path).suffix.lower() == ".mjb"
        advice = "; save it as .xml with mujoco.mj_saveLastXML" if binary else hint(path, "foreign")
        raise ValueError(f"model must be an OpenSim (.osim) or MuJoCo (.xml) file, got {str(path)!r}{advice}")
    return reader(path, partial)


def load(path: str | Path, partial: bool = False) -> dict[str, Any]:
    """Return the description of an OpenSim or MuJoCo model; see `import_model`.

    Examples:
        >>> from gymnosoma.biomechanics import load
        >>> from gymnosoma.envs.neuromechanic import Neuromechanic
        >>> leg = Neuromechanic(load("leg.osim"))  # doctest: +SKIP
    """
    return import_model(path, partial)[0]


point_from(__name__)
