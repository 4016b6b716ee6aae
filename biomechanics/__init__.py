"""Models of OpenSim and MuJoCo, recorded motions, the torques and muscles that they take, and design of feedback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .delays import characteristic_roots
from .inverse import induced_accelerations, inverse_dynamics, moment_arms, static_optimisation, torques
from .motions import Load, Motion, read_motion
from .mujoco import read_mujoco
from .opensim import read_osim
from .parts import Report
from .regulation import Regulator, input_matrix, lqr
from .toml_writer import write_toml

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
    "read_motion",
    "static_optimisation",
    "torques",
    "write_toml",
]

READERS = {".osim": read_osim, ".xml": read_mujoco, ".mjb": read_mujoco}
"""Readers of other programs' models by the suffix of the file."""


def import_model(path: str | Path, partial: bool = False) -> tuple[dict[str, Any], Report]:
    """Read a model of OpenSim (``.osim``, format 4) or MuJoCo (``.xml``, ``.mjb``).

    Args:
        path: File; MuJoCo's need the package ``mujoco``.
        partial: Leave out parts that are not supported.

    Returns:
        description, report: A dict for `envs.neuromechanic.Neuromechanic`, and what became of each part.

    Raises:
        ValueError: If the file cannot be read, or has parts that are not supported; each is named.
    """
    reader = READERS.get(Path(path).suffix.lower())
    if reader is None:
        raise ValueError(f"model must be a file of OpenSim (.osim) or MuJoCo (.xml, .mjb), got {str(path)!r}")
    return reader(path, partial)


def load(path: str | Path, partial: bool = False) -> dict[str, Any]:
    """Description of a model of OpenSim or MuJoCo; see `import_model`.

    Examples:
        >>> from gymnosoma.biomechanics import load
        >>> from gymnosoma.envs.neuromechanic import Neuromechanic
        >>> leg = Neuromechanic(load("leg.osim"))  # doctest: +SKIP
    """
    return import_model(path, partial)[0]
