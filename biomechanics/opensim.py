"""Import of OpenSim models (``.osim``, format 4) as model descriptions, with a report on each part.

This module converts the forces: muscles with their paths and wrapping surfaces, limits and springs of coordinates, and
motors. `opensim_skeleton` converts bodies and joints.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gymnosoma.envs.neuromechanic import LARGEST, THELEN_CURVES

from . import opensim_skeleton as o
from .parts import Place, Report

Force = Callable[[o.Importer, o.Element, list[str]], None]

_THELEN = "FmaxTendonStrain", "FmaxMuscleStrain", "KshapePassive", "KshapeActive", "Flen", "Af"


def wrap_objects(importer: o.Importer) -> dict[str, tuple[str, o.Element]]:
    """Return the body and the element of each wrap object by name."""
    wraps = {}
    bodies = [
        ("ground", importer.model.find("Ground")),
        *((b.get("name", ""), b) for b in o.objects(importer.model, "BodySet")),
    ]
    for body, element in bodies:
        for wrap in o.objects(element, "WrapObjectSet") if element is not None else []:
            wraps[wrap.get("name", "")] = body, wrap
    return wraps


def _muscle(importer: o.Importer, force: o.Element, inputs: list[str]) -> None:
    name, kind = importer.name(force.get("name", "")), force.tag
    rigid = o.truth_of(force, "ignore_tendon_compliance")
    model: dict[str, Any] = {
        "type": "rigid_tendon" if rigid else "compliant_tendon",
        "max_force": o.number_of(force, "max_isometric_force", 1000.0),
        "optimal_length": o.number_of(force, "optimal_fiber_length", 0.1),
        "slack_length": o.number_of(force, "tendon_slack_length", 0.2),
        "pennation": o.number_of(force, "pennation_angle_at_optimal", 0.0),
        "max_velocity": o.number_of(force, "max_contraction_velocity", 10.0),
    }
    rise, fall = (0.01, 0.04) if kind.startswith("Millard") else (0.015, 0.05)
    activation = {
        "type": "smooth" if kind.startswith("DeGroote") else "switched",
        "rise": o.number_of(force, "activation_time_constant", rise),
        "fall": o.number_of(force, "deactivation_time_constant", fall),
    }
    if kind == "Thelen2003Muscle":
        shape = [o.number_of(force, key, default) for key, (_, default, _) in zip(_THELEN, THELEN_CURVES, strict=True)]
        model |= {"curves": "thelen"} | {key: value for (key, _, _), value in zip(THELEN_CURVES, shape, strict=True)}
    elif kind.startswith("Millard"):
        importer.report.taken.append(
            f"{kind} {name}, with the curves of De Groote et al. (2016) and without fibre damping"
        )
    path = force.find("GeometryPath")
    if path is None:
        path = force.find("path")
    if path is None:
        raise ValueError("it has no GeometryPath")
    points = [_point(importer, name, point) for point in o.objects(path, "PathPointSet")]
    entry: dict[str, Any] = {"path": points}
    wraps = [_wrap(importer, wrap, len(points)) for wrap in o.objects(path, "PathWrapSet")]
    if surfaces := [wrap for wrap in wraps if wrap is not None]:
        entry["wraps"] = surfaces
        if len(surfaces) > 1:
            importer.report.taken.append(
                f"{len(surfaces)} surfaces of {name}, with the shortest path around them; if two touch one segment, "
                "lengths from OpenSim 4.6 are some mm shorter, as it mixes results of different iterations"
            )
    muscle = entry | {"excitation": f"input.{name}", "model": model | {"activation": activation}}
    importer.description.setdefault("muscle", {})[name] = muscle
    inputs.append(name)
    if not kind.startswith("Millard"):
        importer.report.taken.append(f"{kind} {name}")


def _point(importer: o.Importer, muscle: str, point: o.Element) -> Any:
    body, R, p = importer.frame(o.text_of(point, "socket_parent_frame"), {})
    frame = importer.places[body]
    place = Place(frame.body, frame.R @ R, frame.R @ p + frame.p)
    if point.tag == "MovingPathPoint":
        return _moving(importer, muscle, point, place)
    own = place.point(o.numbers_of(point, "location"))
    if point.tag == "PathPoint":
        return own
    if point.tag != "ConditionalPathPoint":
        raise ValueError(
            f"point {point.get('name')} is a {point.tag}; supported: PathPoint, MovingPathPoint, ConditionalPathPoint"
        )
    coordinate = o.last_of(o.text_of(point, "socket_coordinate") or o.text_of(point, "coordinate"))
    low, high = o.numbers_of(point, "range", "-1e9 1e9").tolist()
    free, f = importer.resolve(coordinate, dict(o.IDENTITY))
    if not free:
        if low <= f["offset"] <= high:
            return own
        raise ValueError(f"point {point.get('name')} is never active, because {coordinate} is locked out of its range")
    if "curve" in f:
        raise ValueError(
            f"point {point.get('name')} depends on {coordinate}, which follows another coordinate by a curve"
        )
    low, high = sorted(((end - f["offset"]) / f["gain"]) for end in (low, high))
    return {"point": own, "joint": importer.name(free), "range": [low, high]}


def _moving(importer: o.Importer, muscle: str, point: o.Element, place: Place) -> list[Any]:
    """Return a moving point: the end of a chain of massless sliding joints that follow coordinates."""
    body, at = place.body, place.p
    label = f"{muscle}_{point.get('name', '')}"
    for i, axis in enumerate("xyz"):
        coordinate = o.last_of(o.text_of(point, f"socket_{axis}_coordinate") or o.text_of(point, f"{axis}_coordinate"))
        inner = point.find(f"{axis}_location")
        free, f = importer.resolve(coordinate, o.function_of(None if inner is None else next(iter(inner), None)))
        if not free:
            at = at + place.R[:, i] * f["offset"]
            continue
        own = importer.name(f"{label}_{axis}")
        where = {"type": "prismatic", "axis": place.R[:, i].tolist(), "at": at.tolist()}
        importer.body[own] = {"parent": body, "joint": where | importer.follower(free, f, f"{label}_{axis}")}
        body, at = own, np.zeros(3)
    return [body, *at.tolist()]


def _wrap(importer: o.Importer, wrap: o.Element, count: int) -> dict[str, Any] | None:
    name = o.text_of(wrap, "wrap_object")
    if name not in importer.wrap_objects:
        raise ValueError(f"the model has no wrap object {name!r}")
    body, shape = importer.wrap_objects[name]
    if o.text_of(shape, "active", "true") == "false":
        importer.report.ignored.append(f"{shape.tag} {name}, which is not active")
        return None
    if shape.tag not in ("WrapCylinder", "WrapSphere"):
        raise ValueError(f"it wraps the {shape.tag} {name!r}; supported are WrapCylinder and WrapSphere")
    frame = importer.places[body]
    R = frame.R @ o.turned(o.numbers_of(shape, "xyz_body_rotation"))
    at = (frame.R @ o.numbers_of(shape, "translation") + frame.p).tolist()
    entry: dict[str, Any] = {"body": frame.body, "at": at, "radius": o.number_of(shape, "radius", 1.0)}
    quadrant = o.text_of(shape, "quadrant", "all").lower()
    if shape.tag == "WrapSphere":
        if quadrant != "all":
            raise ValueError(f"the WrapSphere {name!r} has quadrant {quadrant!r}; supported is 'all'")
        entry["type"] = "sphere"
    else:
        sign = -1.0 if quadrant.startswith("-") else 1.0
        axis = quadrant.lstrip("+-")
        if axis not in ("x", "y", "all"):
            raise ValueError(f"the WrapCylinder {name!r} has quadrant {quadrant!r}; supported are x, y, -x, -y and all")
        side: Any = "any" if axis == "all" else (sign * R[:, "xy".index(axis)]).tolist()
        entry |= {"axis": R[:, 2].tolist(), "side": side, "length": o.number_of(shape, "length", 1.0)}
    own = importer.name(name)
    importer.description.setdefault("cylinder", {})[own] = entry
    first, last = (int(end) for end in o.numbers_of(wrap, "range", "-1 -1"))
    return {"cylinder": own, "from": max(first - 1, 0), "to": last - 1 if last >= 1 else count - 1}


def _on(force: o.Element) -> str:
    """Return the coordinate on which a force acts, or "" if it acts on none."""
    return o.text_of(force, "coordinate") or o.last_of(o.text_of(force, "socket_coordinate"))


def _coordinate(importer: o.Importer, force: o.Element) -> tuple[str, dict[str, Any], float]:
    """Return the name of a force's coordinate, the keys of its joint, and the unit (rad or m) of the force's values."""
    coordinate = _on(force)
    if coordinate not in importer.owner:
        raise ValueError(f"its coordinate {coordinate!r} is not free")
    joint = importer.body[importer.owner[coordinate]]["joint"]
    return importer.owner[coordinate], joint, o.DEGREE if joint["type"] == "revolute" else 1.0


def _limit(importer: o.Importer, force: o.Element, inputs: list[str]) -> None:
    name, joint, unit = _coordinate(importer, force)
    limit: dict[str, Any] = {
        "low": unit * o.number_of(force, "lower_limit", 0.0),
        "high": unit * o.number_of(force, "upper_limit", 0.0),
        "stiffness": [o.number_of(force, f"{side}_stiffness", 1.0) / unit for side in ("lower", "upper")],
        "damping": o.number_of(force, "damping", 0.001) / unit,
        "transition": unit * o.number_of(force, "transition", 1.0),
    }
    limits = joint.setdefault("limit", [])
    if limit["low"] < limit["high"]:
        limits.append(limit)
    else:  # some models use crossed limits to damp a joint at all positions
        lower, upper = limit["stiffness"]
        limits.append(limit | {"high": LARGEST, "stiffness": [lower, 0.0]})
        limits.append(limit | {"low": -LARGEST, "stiffness": [0.0, upper]})
    importer.report.taken.append(f"CoordinateLimitForce {force.get('name')} of {name}")


def _spring(importer: o.Importer, force: o.Element, inputs: list[str]) -> None:
    name, joint, _ = _coordinate(importer, force)
    if "stiffness" in joint:
        raise ValueError(f"{name} already has a spring")
    joint |= {"stiffness": o.number_of(force, "stiffness", 0.0), "rest": o.number_of(force, "rest_length", 0.0)}
    joint["damping"] = o.number_of(force, "viscosity", 0.0)
    importer.report.taken.append(f"SpringGeneralizedForce {force.get('name')} of {name}")


def _motor(importer: o.Importer, force: o.Element, inputs: list[str]) -> None:
    joint, _, _ = _coordinate(importer, force)
    name = importer.name(force.get("name", ""))
    motor = {"joint": joint, "from": f"input.{name}", "gain": o.number_of(force, "optimal_force", 1.0)}
    importer.description.setdefault("motor", {})[name] = motor
    inputs.append(name)
    importer.report.taken.append(f"CoordinateActuator {name} of {joint}")


FORCES: dict[str, Force] = {
    "Thelen2003Muscle": _muscle,
    "Millard2012EquilibriumMuscle": _muscle,
    "DeGrooteFregly2016Muscle": _muscle,
    "CoordinateLimitForce": _limit,
    "SpringGeneralizedForce": _spring,
    "CoordinateActuator": _motor,
}
"""Converters of the supported forces, by OpenSim class."""


def _forces(importer: o.Importer) -> None:
    inputs: list[str] = []
    importer.wrap_objects = wrap_objects(importer)
    for force in o.objects(importer.model, "ForceSet"):
        kind, name = force.tag, force.get("name", "")
        if o.text_of(force, "appliesForce", "true") == "false":
            importer.report.ignored.append(f"{kind} {name}, which applies no force")
        elif importer.depends.get(_on(force), ("free",))[0] == "":
            importer.report.ignored.append(f"{kind} {name} on {_on(force)}, which is locked")
        elif kind not in FORCES:
            importer.report.refused.append(f"{kind} {name}: supported are {', '.join(FORCES)}")
        else:
            importer.attempt(f"{kind} {name}", lambda k=kind, f=force: FORCES[k](importer, f, inputs))  # type: ignore[misc]
    if inputs:
        importer.description["inputs"] = inputs


def read_osim(source: str | Path, partial: bool = False) -> tuple[dict[str, Any], Report]:
    """Read an OpenSim model.

    Args:
        source: File in OpenSim's format 4.
        partial: Whether to leave out unsupported parts instead of raising an error.

    Returns:
        description, report: Dict for `envs.neuromechanic.load`, and a report on each part.

    Raises:
        ValueError: If the file cannot be read or has unsupported parts. The message names all of them.
    """
    importer = o.Importer(Path(source))
    importer.skeleton()
    _forces(importer)
    for room in ("MarkerSet", "ControllerSet", "ProbeSet", "ContactGeometrySet", "ComponentSet"):
        if entries := o.objects(importer.model, room):
            importer.report.ignored.append(f"{room}: {len(entries)} entries")
    refused = importer.report.refused
    if refused and not partial:
        raise ValueError(f"model {str(source)!r} has parts that are not supported: {'; '.join(refused)}")
    parts = {"curve": importer.curve} if importer.curve else {}
    return {**importer.description, "body": importer.body, **parts}, importer.report
