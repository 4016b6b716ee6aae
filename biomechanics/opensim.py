"""Import of OpenSim models (``.osim``, format 4) as model descriptions, with a report on each part.

This module converts limits and springs of coordinates, and motors. `opensim_forces` converts forces between bodies,
`opensim_muscles` muscles, and `opensim_skeleton` bodies and joints.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gymnosoma.envs.neuromechanic import LARGEST
from gymnosoma.envs.neuromechanic.model.reader import Names
from gymnosoma.envs.neuromechanic.model.tables import LIMIT

from . import opensim_skeleton as o
from .importer import Report
from .opensim_forces import bushing, contact, line
from .opensim_muscles import MUSCLES, muscle, path_actuator, path_spring, point_spring, report_properties

Force = Callable[[o.OpenSimImporter, o.Element], None]


def _on(force: o.Element) -> str:
    """Return the coordinate on which a force acts, or "" if it acts on none."""
    return o.text_of(force, "coordinate") or o.last_of(o.text_of(force, "socket_coordinate"))


def _coordinate(importer: o.OpenSimImporter, force: o.Element) -> tuple[str, dict[str, Any], float]:
    """Return the name of a force's coordinate, the keys of its joint, and the unit (rad or m) of the force's values."""
    coordinate = _on(force)
    if coordinate not in importer.owner:
        raise ValueError(f"its coordinate {coordinate!r} is not free")
    joint = importer.body[importer.owner[coordinate]]["joint"]
    return importer.owner[coordinate], joint, o.DEGREE if joint["type"] == "revolute" else 1.0


def _limit(importer: o.OpenSimImporter, force: o.Element) -> None:
    name, joint, unit = _coordinate(importer, force)
    limit: dict[str, Any] = {
        "low": unit * o.number_of(force, "lower_limit", 0.0),
        "high": unit * o.number_of(force, "upper_limit", 0.0),
        "stiffness": [o.number_of(force, f"{side}_stiffness", 1.0) / unit for side in ("lower", "upper")],
        "damping": o.number_of(force, "damping", 0.001) / unit,
        "transition": unit * o.number_of(force, "transition", 0.1),
    }
    limits = [limit]
    if not limit["low"] < limit["high"]:  # some models use crossed limits to damp a joint at all positions
        lower, upper = limit["stiffness"]
        limits = [
            limit | {"high": LARGEST, "stiffness": [lower, 0.0]},
            limit | {"low": -LARGEST, "stiffness": [0.0, upper]},
        ]
    for each in limits:
        LIMIT.read(each, f"body.{name}.joint.limit", Names({}))
    joint.setdefault("limit", []).extend(limits)
    importer.report.taken.append(f"CoordinateLimitForce {force.get('name')} of {name}")


def _spring(importer: o.OpenSimImporter, force: o.Element) -> None:
    name, joint, _ = _coordinate(importer, force)
    if "stiffness" in joint:
        raise ValueError(f"{name} already has a spring")
    joint |= {"stiffness": o.number_of(force, "stiffness", 0.0), "rest": o.number_of(force, "rest_length", 0.0)}
    joint["damping"] = o.number_of(force, "viscosity", 0.0)
    importer.report.taken.append(f"SpringGeneralizedForce {force.get('name')} of {name}")


def _motor(importer: o.OpenSimImporter, force: o.Element) -> None:
    joint, _, _ = _coordinate(importer, force)
    name = importer.name(force.get("name", ""), "muscle", force)
    importer.add_motor(name, joint, o.number_of(force, "optimal_force", 1.0))
    importer.report.taken.append(f"CoordinateActuator {name} of {joint}")


FORCES: dict[str, Force] = {
    **dict.fromkeys(MUSCLES, muscle),
    "CoordinateLimitForce": _limit,
    "SpringGeneralizedForce": _spring,
    "CoordinateActuator": _motor,
    "HuntCrossleyForce": contact,
    "BushingForce": bushing,
    "PathActuator": path_actuator,
    "PathSpring": path_spring,
    "PointToPointSpring": point_spring,
}
"""Converters of the supported forces, by OpenSim class."""


def _forces(importer: o.OpenSimImporter) -> None:
    for force in o.objects(importer.model, "ForceSet"):
        kind, name = force.tag, force.get("name", "")
        if o.text_of(force, "appliesForce", "true") == "false":
            importer.report.ignored.append(f"{kind} {name}, which applies no force")
        elif importer.depends.get(_on(force), ("free",))[0] == "":
            importer.report.ignored.append(f"{kind} {name} on {_on(force)}, which is locked")
        elif kind not in FORCES:
            importer.report.refused.append(f"{kind} {name}: supported are {', '.join(FORCES)}")
        else:
            importer.attempt(f"{kind} {name}", FORCES[kind], importer, force)
    report_properties(importer)


def read_osim(source: str | Path, partial: bool = False) -> tuple[dict[str, Any], Report]:
    """Read an OpenSim model.

    Args:
        source: File in OpenSim's format 4, or in an older one if the package ``opensim`` is installed.
        partial: Whether to leave out unsupported parts instead of raising an error.

    Returns:
        description, report: Dict for `envs.neuromechanic.load`, and a report on each part.

    Raises:
        ValueError: If the file cannot be read or has unsupported parts. The message names all of them.
    """
    importer = o.OpenSimImporter(Path(source))
    importer.skeleton()
    for constraint in importer.model.findall("ConstraintSet/objects/PointOnLineConstraint"):
        if o.text_of(constraint, "isEnforced", "true") != "false":
            importer.attempt(f"PointOnLineConstraint {constraint.get('name')}", line, importer, constraint)
    _forces(importer)
    for room in ("MarkerSet", "ControllerSet", "ProbeSet", "ComponentSet"):
        if entries := o.objects(importer.model, room):
            importer.report.ignored.append(f"{room}: {len(entries)} entries")
    return importer.finish(partial)
