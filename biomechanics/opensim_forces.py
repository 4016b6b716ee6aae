"""Import of OpenSim's contact, bushings and constraints of points on lines."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from . import opensim_skeleton as o
from .importer import Place

_MATERIAL = ("stiffness", "dissipation", "static_friction", "dynamic_friction", "viscous_friction")


class _Surface(NamedTuple):
    """Contact geometry with its frame, its radius (m, 0 for a half-space) and the constants of its material."""

    name: str
    frame: Place
    radius: float
    material: dict[str, float]


def contact(importer: o.OpenSimImporter, force: o.Element) -> None:
    """Convert a HuntCrossleyForce to a compliant contact for each pair of its surfaces on different bodies."""
    surfaces = [
        _surface(importer, name, {key: o.number_of(parameters, key, 0.0) for key in _MATERIAL})
        for parameters in force.findall("HuntCrossleyForce_ContactParametersSet/objects/*")
        for name in o.text_of(parameters, "geometry").split()
    ]
    label, transition = force.get("name", ""), o.number_of(force, "transition_velocity", 0.01)
    entries = {
        f"{label}_{one.name}_{other.name}": _pair(one, other) | {"transition_velocity": transition}
        for one, other in combinations(sorted(surfaces, key=_order), 2)
        if one.radius and one.frame.body != other.frame.body
    }
    for name, entry in entries.items():
        importer.add("contact", importer.name(name, "contact", (force, name)), entry)
    importer.report.taken.append(f"HuntCrossleyForce {label}: {len(entries)} pairs of surfaces")


def _surface(importer: o.OpenSimImporter, name: str, material: dict[str, float]) -> _Surface:
    geometry = {element.get("name"): element for element in o.objects(importer.model, "ContactGeometrySet")}
    shape = geometry.get(o.last_of(name))
    if shape is None:
        raise ValueError(f"the model has no contact geometry {name!r}")
    if shape.tag not in ("ContactSphere", "ContactHalfSpace"):
        raise ValueError(f"its surface {name!r} is a {shape.tag}; supported are ContactSphere and ContactHalfSpace")
    turn, at = o.turned(o.numbers_of(shape, "orientation")), o.numbers_of(shape, "location")
    frame = importer.place(shape, "socket_frame")
    radius = o.number_of(shape, "radius", 0.0) if shape.tag == "ContactSphere" else 0.0
    return _Surface(o.last_of(name), Place(frame.body, frame.R @ turn, frame.R @ at + frame.p), radius, material)


def _order(surface: _Surface) -> tuple[bool, bool]:
    """Sort spheres on bodies first and half-spaces last."""
    return surface.radius == 0.0, surface.frame.body == "ground"


def _pair(sphere: _Surface, other: _Surface) -> dict[str, Any]:
    """Return the contact of a sphere; `HuntCrossleyForce` of Simbody joins the constants of the two materials."""
    a, b = sphere.material, other.material
    soft, hard = a["stiffness"] ** (2.0 / 3.0), b["stiffness"] ** (2.0 / 3.0)
    share = hard / max(soft + hard, 1e-300)

    def joined(key: str) -> float:
        return 2.0 * a[key] * b[key] / (a[key] + b[key]) if a[key] or b[key] else 0.0

    entry = {
        "type": "compliant",
        "point": sphere.frame.point(np.zeros(3)),
        "radius": sphere.radius,
        "to": other.frame.point(np.zeros(3)),
        "stiffness": (share * soft) ** 1.5,
        "share": share,
        "dissipation": share * a["dissipation"] + (1.0 - share) * b["dissipation"],
        "friction": joined("dynamic_friction"),
        "static_friction": joined("static_friction"),
        "viscous_friction": joined("viscous_friction"),
    }
    return entry | ({"to_radius": other.radius} if other.radius else {"normal": (-other.frame.R[:, 0]).tolist()})


def bushing(importer: o.OpenSimImporter, force: o.Element) -> None:
    """Convert a BushingForce, with a frame of the description for each of its frames."""
    label = force.get("name", "")
    places = {
        key: importer.place(force, socket) for key, socket in (("frame", "socket_frame2"), ("to", "socket_frame1"))
    }
    if places["frame"].body == places["to"].body:
        importer.report.ignored.append(f"BushingForce {label}, whose frames move together")
        return
    entry: dict[str, Any] = {}
    for key, place in places.items():
        entry[key] = importer.name(f"{label}_{key}", part=(force, key))
        importer.add("frame", entry[key], place.frame())
    for kind in ("rotational_stiffness", "translational_stiffness", "rotational_damping", "translational_damping"):
        entry[kind] = o.numbers_of(force, kind).tolist()
    importer.add("bushing", importer.name(label, "bushing", force), entry)
    importer.report.taken.append(f"BushingForce {label}")


def line(importer: o.OpenSimImporter, constraint: o.Element) -> None:
    """Convert a PointOnLineConstraint to a pin of two directions."""
    own = importer.place(constraint, "socket_follower_body").point(o.numbers_of(constraint, "point_on_follower"))
    place = importer.place(constraint, "socket_line_body")
    along = place.R @ o.numbers_of(constraint, "line_direction_vec")
    if not along.any():
        raise ValueError(f"line_direction_vec must not be zero, got {along}")
    axes = np.linalg.svd(along[None])[2][1:]
    to = place.point(o.numbers_of(constraint, "point_on_line"))
    name = importer.name(constraint.get("name", ""), "pin", constraint)
    importer.add("pin", name, {"point": own, "to": to, "axes": axes.tolist(), "frame": "body"})
    importer.report.taken.append(f"PointOnLineConstraint {name}")
