"""Import of OpenSim's muscles: properties, paths and wrapping surfaces.

`PROPERTIES` lists how each property of a muscle is converted. Properties that it does not list, or that have no effect
here, are reported if they are not at their default.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np

from gymnosoma.envs.core.arguments import choice
from gymnosoma.envs.neuromechanic import LARGEST, THELEN_CURVES

from . import opensim_skeleton as o
from .hill_curves import MILLARD, SCHUTTE, de_groote, millard, schutte_passive, schutte_velocity
from .importer import Place

MARGIN = 1e-5
"""OpenSim's margin of the range in which a conditional point is active, rad or m."""

USED, REFUSED = "used", "refused"
_START, _BOUNDS = "simulations start with fibres at rest, at the activation in `start`", "inputs are 0 to 1"
_ANGLE, _LEAST = "fibres can turn further", "it is 0.01 with compliant tendons and 0 with rigid ones"
_THELEN = "FmaxTendonStrain", "FmaxMuscleStrain", "KshapePassive", "KshapeActive", "Flen", "Af"
_COMMON: dict[str, tuple[float | str, str]] = {
    **dict.fromkeys(("appliesForce", "path", "GeometryPath", "ignore_tendon_compliance"), ("", USED)),
    "max_isometric_force": (1000.0, USED),
    "optimal_fiber_length": (0.1, USED),
    "tendon_slack_length": (0.2, USED),
    "pennation_angle_at_optimal": (0.0, USED),
    "max_contraction_velocity": (10.0, USED),
    "activation_time_constant": (0.015, USED),
    "deactivation_time_constant": (0.05, USED),
    "ignore_activation_dynamics": ("false", REFUSED),
    "optimal_force": (1.0, "it has no effect on muscles"),
    "min_control": (0.01, _BOUNDS),
    "max_control": (1.0, _BOUNDS),
    "default_activation": (0.05, _START),
    "default_fiber_length": (0.1, _START),
    "minimum_activation": (0.01, _LEAST),
    "maximum_pennation_angle": (1.4706289, _ANGLE),
}
PROPERTIES: dict[str, dict[str, tuple[float | str, str]]] = {
    "Thelen2003Muscle": {
        **_COMMON,
        **{key: (default, USED) for key, (_, default, _) in zip(_THELEN, THELEN_CURVES, strict=True)},
        "fv_linear_extrap_threshold": (0.95, "the curve is continued from 0.975"),
    },
    "Millard2012EquilibriumMuscle": {
        **_COMMON,
        **dict.fromkeys(MILLARD, ("", USED)),
        "fiber_damping": (0.1, USED),
        "activation_time_constant": (0.01, USED),
        "deactivation_time_constant": (0.04, USED),
    },
    "DeGrooteFregly2016Muscle": {
        **_COMMON,
        "min_control": (0.0, _BOUNDS),
        "deactivation_time_constant": (0.06, USED),
        **dict.fromkeys(("default_activation", "default_normalized_tendon_force"), (0.5, _START)),
        "active_force_width_scale": (1.0, USED),
        "fiber_damping": (0.0, USED),
        "passive_fiber_strain_at_one_norm_force": (0.6, USED),
        "tendon_strain_at_one_norm_force": (0.049, USED),
        "ignore_passive_fiber_force": ("", USED),
        "tendon_compliance_dynamics_mode": ("explicit", "the tendon is integrated explicitly"),
        "activation_dynamics_smoothing": (0.1, "it is 0.1"),
    },
    "Schutte1993Muscle_Deprecated": {
        **_COMMON,
        "max_contraction_velocity": (10.0, "`time_scale` sets it"),
        "ignore_tendon_compliance": ("false", REFUSED),
        "time_scale": (0.1, USED),
        "activation1": (7.667, USED),
        "activation2": (1.459854, USED),
        "damping": (0.1, USED),
        "SimmSpline": ("", USED),
    },
}
"""Default and treatment of each property of each kind of muscle: used, refused, or the reason why it has no effect."""

MUSCLES = tuple(PROPERTIES)

SURFACES = "WrapCylinder", "WrapSphere", "WrapEllipsoid"
"""Surfaces that paths can wrap."""


def muscle(importer: o.OpenSimImporter, force: o.Element) -> None:
    """Convert a muscle."""
    kind, properties = force.tag, PROPERTIES[force.tag]
    name = importer.name(force.get("name", ""), "muscle", force)
    _check_properties(importer, force, name)

    def number(key: str) -> float:
        return o.number_of(force, key, float(properties[key][0]))

    model: dict[str, Any] = {
        "type": "rigid_tendon" if o.truth_of(force, "ignore_tendon_compliance") else "compliant_tendon",
        "max_force": number("max_isometric_force"),
        "optimal_length": number("optimal_fiber_length"),
        "slack_length": number("tendon_slack_length"),
        "pennation": number("pennation_angle_at_optimal"),
        "max_velocity": number("max_contraction_velocity"),
        "activation": {
            "type": "smooth" if kind.startswith("DeGroote") else "switched",
            "rise": number("activation_time_constant"),
            "fall": number("deactivation_time_constant"),
        },
    }
    if kind == "Thelen2003Muscle":
        shape = [number(key) for key in _THELEN]
        model |= {"curves": "thelen"} | {key: value for (key, _, _), value in zip(THELEN_CURVES, shape, strict=True)}
    elif kind.startswith("Schutte"):
        first, second, scale = number("activation1"), number("activation2"), number("time_scale")
        if not (first >= 0.0 and second > 0.0 and scale > 0.0):
            values = f"{first:g}, {second:g} and {scale:g}"
            raise ValueError(f"activation1, activation2 and time_scale must be positive, got {values}")
        model |= {"max_velocity": 1.0 / scale}
        model["activation"] = {"type": "schutte", "rise": scale / (first + second), "fall": scale / second}
        model |= _shared(importer, "schutte", _schutte(force), number("damping")) | {"clipped": True}
    elif kind.startswith("Millard"):
        constants = {curve: _constants(force.find(curve), curve) for curve in MILLARD}
        model |= _own(importer, "millard", constants, number("fiber_damping"))
    else:
        keys = "active_force_width_scale", "passive_fiber_strain_at_one_norm_force", "tendon_strain_at_one_norm_force"
        width, passive, tendon = (number(key) for key in keys)
        shape = [width, passive, not o.truth_of(force, "ignore_passive_fiber_force"), tendon]
        if shape != [1.0, 0.6, True, 0.049] or number("fiber_damping") != 0.0:
            model |= _own(importer, "de_groote", shape, number("fiber_damping"))
    importer.add_muscle(name, _course(importer, force, name), model)
    importer.report.taken.append(f"{kind} {name}")


def _course(importer: o.OpenSimImporter, force: o.Element, name: str) -> dict[str, Any]:
    """Return the keys of a muscle for the GeometryPath of a force."""
    path = force.find("GeometryPath")
    if path is None:
        path = force.find("path")
    if path is None:
        raise ValueError("it has no GeometryPath")
    points = [_point(importer, name, point) for point in o.objects(path, "PathPointSet")]
    entry: dict[str, Any] = {"path": [point for point in points if point is not None]}
    wraps = [_wrap(importer, wrap, points) for wrap in o.objects(path, "PathWrapSet")]
    if surfaces := [wrap for wrap in wraps if wrap is not None]:
        entry["wraps"] = surfaces
        if len(surfaces) > 1:
            importer.report.taken.append(
                f"{len(surfaces)} surfaces of {name}, with the shortest path around them; if two touch one segment, "
                "lengths from OpenSim 4.6 differ by some mm, as it mixes results of different iterations"
            )
    return entry


def path_actuator(importer: o.OpenSimImporter, force: o.Element) -> None:
    """Convert a PathActuator to a muscle whose force is proportional to its input, within the control's bounds."""
    name = importer.name(force.get("name", ""), "muscle", force)
    model = {"type": "proportional", "max_force": o.number_of(force, "optimal_force", 1.0)}
    for key, bound, default in (("low", "min_control", "-inf"), ("high", "max_control", "inf")):
        model[key] = float(o.numbers_of(force, bound, default)[0])
    importer.add_muscle(name, _course(importer, force, name), model)
    importer.report.taken.append(f"PathActuator {name}")


def path_spring(importer: o.OpenSimImporter, force: o.Element) -> None:
    """Convert a PathSpring."""
    name = importer.name(force.get("name", ""), "muscle", force)
    model = {"rest_length": "resting_length", "stiffness": "stiffness", "dissipation": "dissipation"}
    _spring(importer, force, name, _course(importer, force, name), model)


def point_spring(importer: o.OpenSimImporter, force: o.Element) -> None:
    """Convert a PointToPointSpring, which also pushes."""
    name = importer.name(force.get("name", ""), "muscle", force)
    ends = [importer.place(force, f"socket_body{i}").point(o.numbers_of(force, f"point{i}")) for i in (1, 2)]
    _spring(
        importer, force, name, {"path": ends}, {"rest_length": "rest_length", "stiffness": "stiffness"}, pushes=True
    )


def _spring(
    importer: o.OpenSimImporter, force: o.Element, name: str, course: dict[str, Any], keys: dict[str, str], **more: Any
) -> None:
    """Add a spring with the numbers of OpenSim's ``keys``."""
    model = {"type": "spring"} | {key: o.number_of(force, label, 0.0) for key, label in keys.items()} | more
    importer.add("muscle", name, course | {"model": model})
    importer.report.taken.append(f"{force.tag} {name}")


def _check_properties(importer: o.OpenSimImporter, force: o.Element, name: str) -> None:
    """Refuse or note the properties of a muscle that are not at their default and have no effect here."""
    properties = PROPERTIES[force.tag]
    for part in force:
        default, how = properties.get(part.tag, (None, "it is not known"))
        text = (part.text or "").strip() or ("" if len(part) == 0 else "a table")
        same = text in ("", default)
        if isinstance(default, float) and text:
            same = abs(o.number_of(force, part.tag, default) - default) <= 1e-6 * abs(default)
        if how == USED or same:
            continue
        if how == REFUSED:
            raise ValueError(f"{part.tag} = {text} is not supported")
        importer.properties.setdefault((force.tag, part.tag, how), []).append(f"{name} ({text[:40]})")


def report_properties(importer: o.OpenSimImporter) -> None:
    """Add one line for each property that has no effect to the report."""
    for (kind, key, how), muscles in importer.properties.items():
        more = f" and {len(muscles) - 3} more" if len(muscles) > 3 else ""
        importer.report.ignored.append(f"{key} of {kind} {', '.join(muscles[:3])}{more}: {how}")


def _constants(curve: o.Element | None, kind: str) -> dict[str, float]:
    """Return the constants of one of Millard's curves."""
    keys = [part.tag for part in curve if (part.text or "").strip()] if curve is not None else []
    for key in keys:
        choice(f"constant of {kind}", key, MILLARD[kind])
    return {key: o.number_of(curve, key, 0.0) for key in keys}  # type: ignore[arg-type]


def _schutte(force: o.Element) -> dict[str, dict[str, Any]]:
    """Return the curves of a Schutte1993Muscle_Deprecated."""
    parts = {part.get("name"): part for part in force if part.get("name")}
    curves = {"velocity": schutte_velocity()}
    for key in ("tendon", "active", "passive"):
        name = f"{key}_force_length_curve"
        if name in parts:
            f = o.function_of(parts[name])
        elif key == "passive":
            f = {"curve": schutte_passive()}
        else:
            x, y = (list(map(float, numbers.split())) for numbers in SCHUTTE[name])
            f = {"curve": {"kind": "simm", "x": x, "y": y}}
        if "curve" not in f:
            raise ValueError(f"{name} must be a spline, got {parts[name].tag}")
        curves[key] = (o.composed(f, {"gain": 1.0, "offset": -1.0}) if key == "tendon" else f)["curve"]
    return curves


def _own(importer: o.OpenSimImporter, kind: str, constants: Any, damping: float) -> dict[str, Any]:
    """Return the keys of a muscle with curves of its own from their constants."""
    try:
        with np.errstate(all="raise", under="ignore"):
            curves = millard(constants) if kind == "millard" else de_groote(*constants)
        for curve in curves.values():
            o.curve_of(**curve)
    except (ArithmeticError, ValueError):
        raise ValueError(f"its curves must have possible constants, got {constants}") from None
    return _shared(importer, kind, curves, damping)


def _shared(
    importer: o.OpenSimImporter, kind: str, curves: dict[str, dict[str, Any]], damping: float
) -> dict[str, Any]:
    """Return the keys of a muscle with curves of its own; muscles share equal curves."""
    names = {}
    for part, curve in curves.items():
        key = f"{kind}_{part}", tuple(curve["x"]), tuple(curve["y"])
        if key not in importer.shared:
            importer.shared[key] = importer.name(f"{key[0]}_{len(importer.shared) + 1}", "curve")
            importer.curve[importer.shared[key]] = curve
        names[part] = importer.shared[key]
    return {"curves": "own", "fibre_damping": damping} | names


def _point(importer: o.OpenSimImporter, muscle: str, point: o.Element) -> Any:
    """Return a point of a path; None for one that is never active."""
    place = importer.place(point, "socket_parent_frame")
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
    if not low <= high:
        raise ValueError(f"the range of point {point.get('name')} must be ascending, got {low:g} and {high:g}")
    low, high = np.clip([low - MARGIN, high + MARGIN], -LARGEST, LARGEST).tolist()
    free, f = importer.resolve(coordinate, dict(o.IDENTITY))
    if not free:
        if low <= f["offset"] <= high:
            return own
        importer.report.ignored.append(
            f"point {point.get('name')} of {muscle}, never active, because {coordinate} is locked out of its range"
        )
        return None
    if "curve" in f:
        follower = importer.name(f"{coordinate}_value")
        if follower not in importer.body:
            where = {"type": "revolute", "axis": [1.0, 0.0, 0.0]}
            importer.add_body(follower, "ground", where | importer.follower(free, f, follower))
        return {"point": own, "joint": follower, "range": [low, high]}
    low, high = sorted(((end - f["offset"]) / f["gain"]) for end in (low, high))
    return {"point": own, "joint": importer.name(free), "range": [low, high]}


def _moving(importer: o.OpenSimImporter, muscle: str, point: o.Element, place: Place) -> list[Any]:
    """Return a moving point: the end of a chain of massless sliding joints that follow coordinates."""
    body, at = place.body, place.p
    label = f"{muscle}_{point.get('name', '')}"
    for i, axis in enumerate("xyz"):
        coordinate = o.last_of(o.text_of(point, f"socket_{axis}_coordinate") or o.text_of(point, f"{axis}_coordinate"))
        inner = point.find(f"{axis}_location")
        free, f = importer.resolve(coordinate, o.function_of(o.inner_of(point, f"{axis}_location")))
        if not free:
            at = at + place.R[:, i] * f["offset"]
            continue
        own = importer.name(f"{label}_{axis}", part=inner)
        where = {"type": "prismatic", "axis": place.R[:, i].tolist(), "at": at.tolist()}
        importer.add_body(own, body, where | importer.follower(free, f, own))
        body, at = own, np.zeros(3)
    return [body, *at.tolist()]


def _wrap(importer: o.OpenSimImporter, wrap: o.Element, points: list[Any]) -> dict[str, Any] | None:
    name = o.text_of(wrap, "wrap_object")
    if name not in importer.wrap_objects:
        raise ValueError(f"the model has no wrap object {name!r}")
    holder, shape = importer.wrap_objects[name]
    if o.text_of(shape, "active", "true") == "false":
        importer.report.ignored.append(f"{shape.tag} {name}, which is not active")
        return None
    if shape.tag not in SURFACES:
        raise ValueError(f"it wraps the {shape.tag} {name!r}; supported are {', '.join(SURFACES)}")
    body, turn, origin = importer.locate(holder)
    place = importer.places[body]
    frame = Place(place.body, place.R @ turn, place.R @ origin + place.p)
    R = frame.R @ o.turned(o.numbers_of(shape, "xyz_body_rotation"))
    at = (frame.R @ o.numbers_of(shape, "translation") + frame.p).tolist()
    entry: dict[str, Any] = {"body": frame.body, "at": at}
    quadrant = o.text_of(shape, "quadrant", "all").lower().replace("unassigned", "all")
    part: Any = shape
    if shape.tag == "WrapEllipsoid":
        method = o.text_of(wrap, "method", "hybrid").lower().replace("unassigned", "hybrid")
        radii = o.numbers_of(shape, "dimensions", "-1 -1 -1").tolist()
        attitude = Place(frame.body, R, frame.p).frame()["attitude"]
        entry |= {"type": "ellipsoid", "radii": radii, "attitude": attitude}
        entry |= {"quadrant": quadrant.removeprefix("+"), "method": method}
        part = shape, method
    else:
        entry["radius"] = o.number_of(shape, "radius", 0.05 if shape.tag == "WrapSphere" else 1.0)
    if shape.tag == "WrapSphere":
        if quadrant != "all":
            raise ValueError(f"the WrapSphere {name!r} has quadrant {quadrant!r}; supported is 'all'")
        entry["type"] = "sphere"
    elif shape.tag == "WrapCylinder":
        sign = -1.0 if quadrant.startswith("-") else 1.0
        axis = quadrant.lstrip("+-")
        if axis not in ("x", "y", "all"):
            raise ValueError(f"the WrapCylinder {name!r} has quadrant {quadrant!r}; supported are x, y, -x, -y and all")
        side: Any = "any" if axis == "all" else (sign * R[:, "xy".index(axis)]).tolist()
        entry |= {"axis": R[:, 2].tolist(), "side": side, "length": o.number_of(shape, "length", 1.0)}
    own = importer.name(name, "cylinder", part)
    importer.add("cylinder", own, entry)
    count, present = len(points), [i + 1 for i, point in enumerate(points) if point is not None]
    first, last = o.numbers_of(wrap, "range", "-1 -1")
    first, last = 1.0 if first < 1.0 else first, float(count) if last < 1.0 else last
    if not (first < last <= count and first == int(first) and last == int(last)):
        raise ValueError(f"the range of its wrap {name!r} must be two of {count} points, got {first:g} and {last:g}")
    return {"cylinder": own, "from": bisect_left(present, first), "to": bisect_right(present, last) - 1}
