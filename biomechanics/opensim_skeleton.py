"""Import of the skeleton of an OpenSim model: XML, functions of coordinates, frames, joints and masses.

Each joint becomes a chain of revolute and prismatic joints. A coordinate becomes the axis that it moves one to one;
other axes that depend on the coordinate follow this joint. The body frames of the description are parallel when all
joints are at 0. Points and axes are rotated into these frames once, so that joints need no orientation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import shown
from gymnosoma.envs.core.files import check_file
from gymnosoma.envs.neuromechanic import LARGEST, cubics

from .parts import Place, Report, united

LARGEST_FILE = 16 << 20
"""Largest size of a model file, bytes."""

Vector = NDArray[np.float64]
Element = ElementTree.Element

IDENTITY = {"gain": 1.0, "offset": 0.0}
DEGREE = math.pi / 180.0


# XML


def parse(path: Path) -> Element:
    """Return the model element of a file of format 4.

    Entities are rejected. Known errors in the XML of published models (``::`` in names) are corrected.
    """
    check_file(path, LARGEST_FILE)
    text = path.read_bytes().decode("utf-8", "replace")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError(f"model {str(path)!r} must have no document type and no entities")
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", text)
    try:
        root = ElementTree.fromstring(re.sub(r"(?<=[<\w])::(?=\w)", "_", text))
    except ElementTree.ParseError as error:
        raise ValueError(f"model {str(path)!r} cannot be read: {error}") from None
    version, model = root.get("Version", "0"), root.find("Model")
    if model is None or not version.isdecimal() or int(version) < 40000:
        raise ValueError(
            f"model {str(path)!r} must be of OpenSim's format 4 (Version 40000 or more), got {shown(version)}: "
            "open and save older files in OpenSim 4 to convert them"
        )
    return model


def text_of(element: Element, key: str, default: str = "") -> str:
    """Return the text of a child without surrounding spaces."""
    return (element.findtext(key) or default).strip()


def number_of(element: Element, key: str, default: float) -> float:
    """Return the number in a child."""
    return float(numbers_of(element, key, str(default), 1)[0])


def numbers_of(element: Element, key: str, default: str = "0 0 0", count: int | None = None) -> Vector:
    """Return the numbers in a child.

    Raises:
        ValueError: If the text is not numbers, contains NaN, or their number is not ``count``.
    """
    text = text_of(element, key) or default
    try:
        values = np.array(text.split(), float)
    except ValueError:
        values = np.array([np.nan])
    if np.isnan(values).any() or (count is not None and len(values) != count):
        what = "a number" if count == 1 else "numbers"
        raise ValueError(f"{key} of {element.get('name', element.tag)} must be {what}, got {shown(text)}")
    return values


def truth_of(element: Element, key: str) -> bool:
    """Return whether the text of a child is ``true``."""
    return text_of(element, key) == "true"


def last_of(path: str) -> str:
    """Return the last name of a component path."""
    return path.rstrip("/").rsplit("/", 1)[-1]


def objects(model: Element, room: str) -> list[Element]:
    """Return the elements of a set such as ``BodySet``."""
    return list(model.findall(f"{room}/objects/*"))


def turned(angles: Vector) -> Vector:
    """Return the rotation matrix (3, 3) of body-fixed rotations about x, then y, then z, rad."""
    (a, b, c), (x, y, z) = np.cos(angles), np.sin(angles)
    return np.array(
        [
            [b * c, -b * z, y],
            [a * z + x * y * c, a * c - x * y * z, -x * b],
            [x * z - a * y * c, x * c + a * y * z, a * b],
        ]
    )


# Functions of coordinates


def function_of(element: Element | None) -> dict[str, Any]:
    """Convert a function to a dict with ``gain`` and ``offset``, or with a ``curve`` (keys of `keys.CURVE`)."""
    if element is None:
        return {"gain": 0.0, "offset": 0.0}
    kind = element.tag
    if kind == "Constant":
        return {"gain": 0.0, "offset": number_of(element, "value", 0.0)}
    if kind == "LinearFunction":
        gain, offset = numbers_of(element, "coefficients", "1 0")
        return {"gain": float(gain), "offset": float(offset)}
    if kind == "MultiplierFunction":
        inner = element.find("function")
        return affine(function_of(None if inner is None else next(iter(inner), None)), number_of(element, "scale", 1.0))
    if kind == "PolynomialFunction":
        return {"curve": {"kind": "polynomial", "coefficients": _long(numbers_of(element, "coefficients", "0"))}}
    kinds = {"SimmSpline": "simm", "NaturalCubicSpline": "simm", "PiecewiseLinearFunction": "linear"}
    if kind in kinds:
        x, y = numbers_of(element, "x"), numbers_of(element, "y")
        return {"curve": {"kind": kinds[kind], "x": x.tolist(), "y": y.tolist()}}
    raise ValueError(f"function {kind} is not supported; supported are {', '.join([*_FUNCTIONS, *kinds])}")


_FUNCTIONS = "Constant", "LinearFunction", "MultiplierFunction", "PolynomialFunction"


def _long(coefficients: Vector) -> list[float]:
    return [0.0] * (2 - len(coefficients)) + coefficients.tolist()


def affine(f: dict[str, Any], gain: float, offset: float = 0.0) -> dict[str, Any]:
    """Return gain * f + offset."""
    if "curve" not in f:
        return {"gain": gain * f["gain"], "offset": gain * f["offset"] + offset}
    curve = f["curve"]
    if curve["kind"] == "polynomial":
        values = np.polyadd(gain * np.array(curve["coefficients"]), [offset]).tolist()
        return {"curve": curve | {"coefficients": values}}
    return {"curve": curve | {"y": [gain * y + offset for y in curve["y"]]}}


def composed(outer: dict[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    """Return the function outer(inner(x)); at least one of the two must be linear."""
    if "curve" not in outer:
        return affine(inner, outer["gain"], outer["offset"])
    if "curve" in inner:
        raise ValueError("a curve of a curve is not supported")
    curve, gain, offset = outer["curve"], inner["gain"], inner["offset"]
    if gain == 0.0:
        return {"gain": 0.0, "offset": value_of(outer, offset)}
    if curve["kind"] == "polynomial":
        power: Any = np.polyval(np.poly1d(curve["coefficients"]), np.poly1d([gain, offset]))
        return {"curve": curve | {"coefficients": _long(power.coeffs)}}
    pairs = sorted(((x - offset) / gain, y) for x, y in zip(curve["x"], curve["y"], strict=True))
    return {"curve": curve | {"x": [x for x, _ in pairs], "y": [y for _, y in pairs]}}


def value_of(f: dict[str, Any], x: float) -> float:
    """Return the value of a function at x."""
    if "curve" not in f:
        return float(f["gain"] * x + f["offset"])
    curve = f["curve"]
    if curve["kind"] == "polynomial":
        return float(np.polyval(curve["coefficients"], x))
    places = np.array([curve["x"][0], *curve["x"]])
    i = int(np.searchsorted(places[1:], x, "right"))
    return float(np.polyval(cubics(curve["kind"], np.array(curve["x"]), np.array(curve["y"]))[i], x - places[i]))


# Skeleton


class _Places(dict[str, Place]):
    """Places by body name; a body with a refused joint is missing."""

    def __missing__(self, body: str) -> Place:
        raise ValueError(f"the joint of its body {body!r} was not imported")


class Importer:
    """Builder of the description of one model, for `opensim.read_osim`."""

    def __init__(self, source: Path) -> None:
        self.report, self.model = Report(), parse(source)
        gravity = numbers_of(self.model, "gravity", "0 -9.80665 0")
        self.description: dict[str, Any] = {"schema": 1, "gravity": gravity.tolist()}
        self.body: dict[str, Any] = {}
        self.curve: dict[str, Any] = {}
        self.places: dict[str, Place] = _Places(ground=Place("ground", np.eye(3), np.zeros(3)))
        self.frames: dict[str, Element] = {}
        self.coordinates: dict[str, Element] = {}
        self.depends: dict[str, tuple[str, dict[str, Any]]] = {}
        self.owner: dict[str, str] = {}
        self.masses: dict[str, list[tuple[float, Vector, Vector]]] = {}
        self.names: dict[str, str] = {}
        self.wrap_objects: dict[str, tuple[str, Element]] = {}

    def name(self, label: str) -> str:
        """Return the unique name of a part in the description."""
        if label not in self.names:
            self.names[label] = self.report.rename(label, self.names.values())
        return self.names[label]

    def skeleton(self) -> None:
        """Convert bodies and joints; unsupported parts are added to the report."""
        for frame in self.model.iter("PhysicalOffsetFrame"):
            self.frames.setdefault(frame.get("name", ""), frame)
        for coordinate in self.model.findall("JointSet/objects/*//Coordinate"):
            self.coordinates[coordinate.get("name", "")] = coordinate
        self.couple()
        self.joints()
        self.inertias()
        self.report.taken.append(f"coordinates: {', '.join(self.owner)}")

    def attempt(self, what: str, make: Callable[[], None]) -> None:
        """Call ``make`` to convert a part; on ValueError, add the part to the report."""
        try:
            make()
        except ValueError as error:
            self.report.refused.append(f"{what}: {error}")

    # Coordinates

    def couple(self) -> None:
        """Find the coordinates that are locked or depend on another coordinate."""
        for name, coordinate in self.coordinates.items():
            if truth_of(coordinate, "locked"):
                value = number_of(coordinate, "default_value", 0.0)
                self.depends[name] = "", {"gain": 0.0, "offset": value}
                self.report.taken.append(f"coordinate {name}, locked at {value:g}")
        for constraint in objects(self.model, "ConstraintSet"):
            name, kind = constraint.get("name", ""), constraint.tag
            if text_of(constraint, "isEnforced", "true") == "false":
                self.report.ignored.append(f"{kind} {name}, which is not enforced")
            elif kind != "CoordinateCouplerConstraint":
                self.report.refused.append(f"{kind} {name}: only CoordinateCouplerConstraint is supported")
            else:
                others = text_of(constraint, "independent_coordinate_names").split()
                dependent = text_of(constraint, "dependent_coordinate_name")

                def make(c: Element = constraint, others: list[str] = others, dependent: str = dependent) -> None:
                    if len(others) != 1:
                        raise ValueError(f"it must have one independent coordinate, got {' '.join(others)}")
                    inner = c.find("coupled_coordinates_function")
                    f = function_of(None if inner is None else next(iter(inner), None))
                    self.depends[dependent] = others[0], affine(f, number_of(c, "scale_factor", 1.0))

                self.attempt(f"{kind} {name}", make)

    def resolve(self, coordinate: str, f: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Express a function of any coordinate as a function of a free coordinate.

        Returns:
            coordinate, f: The free coordinate ("" if f is constant) and the function of it.
        """
        for _ in range(len(self.depends) + 1):
            if coordinate not in self.depends or not coordinate:
                break
            coordinate, inner = self.depends[coordinate]
            f = composed(f, inner)
        return ("", f) if "curve" not in f and f["gain"] == 0.0 else (coordinate, f)

    # Joints

    def frame(self, path: str, local: Mapping[str, Element]) -> tuple[str, Vector, Vector]:
        """Return the body of a frame, and the frame's rotation matrix and origin (m) in the body."""
        name = last_of(path)
        frame = local.get(name) if "/" not in path.strip("/") or name not in self.body_names else None
        if frame is None and name not in self.body_names:
            frame = self.frames.get(name)
        if frame is None:
            if name not in self.body_names:
                raise ValueError(f"the model has no frame {path!r}")
            return name, np.eye(3), np.zeros(3)
        body, R, p = self.frame(text_of(frame, "socket_parent"), {})
        return body, R @ turned(numbers_of(frame, "orientation")), R @ numbers_of(frame, "translation") + p

    @property
    def body_names(self) -> set[str]:
        """Names of the bodies in the file, and ``ground``."""
        return {"ground", *(body.get("name", "") for body in objects(self.model, "BodySet"))}

    def joints(self) -> None:
        """Convert all joints, parents first."""
        waiting = []
        for joint in objects(self.model, "JointSet"):
            frames = {frame.get("name", ""): frame for frame in joint.findall("frames/*")}
            parent = self.frame(text_of(joint, "socket_parent_frame"), frames)
            waiting.append((joint, parent, self.frame(text_of(joint, "socket_child_frame"), frames)))
        while waiting:
            ready = [entry for entry in waiting if entry[1][0] in self.places]
            if not ready:
                names = ", ".join(joint.get("name", "") for joint, *_ in waiting)
                self.report.refused.append(f"joints {names}: they are not connected to the ground")
                return
            for joint, parent, child in ready:
                what = f"joint {joint.get('name')!r}"
                if child[0] in self.places:
                    self.report.refused.append(f"{what}: it closes a loop at {child[0]!r}")
                else:
                    self.attempt(what, lambda j=joint, p=parent, c=child: self.joint(j, p, c))  # type: ignore[misc]
                waiting = [entry for entry in waiting if entry[0] is not joint]

    def joint(self, joint: Element, parent: tuple[str, Vector, Vector], child: tuple[str, Vector, Vector]) -> None:
        """Convert a joint to a chain of joints, and place its child body."""
        place = self.places[parent[0]]
        R0, at, body = place.R @ parent[1], place.R @ parent[2] + place.p, place.body
        for kind, axis, coordinate, f, name in self.axes(joint):
            direction = R0 @ axis
            coordinate, f = self.resolve(coordinate, f)
            if not coordinate:
                if kind == "prismatic":
                    at = at + direction * f["offset"]
                    continue
                if f["offset"] == 0.0:
                    continue
                entry: dict[str, Any] = {"fixed": f["offset"]}
            elif coordinate not in self.owner and abs(f.get("gain", 0.0)) == 1.0 and f["offset"] == 0.0:
                name, direction = coordinate, direction * f["gain"]
                self.owner[coordinate] = self.name(coordinate)
                entry = self.free(coordinate)
            else:
                entry = self.follower(coordinate, f, f"{joint.get('name')}_{name}")
            own = self.name(name if name in self.owner else f"{joint.get('name')}_{name}")
            where = {"type": kind, "axis": direction.tolist(), "at": at.tolist()}
            self.body[own] = {"parent": body, "joint": where | entry}
            body, at = own, np.zeros(3)
        turn = R0 @ child[1].T
        self.places[child[0]] = Place(body, turn, at - turn @ child[2])
        self.report.taken.append(f"{joint.tag} {joint.get('name')}: body {child[0]} moves with {body}")

    def free(self, coordinate: str) -> dict[str, Any]:
        """Return the keys of the joint of a free coordinate."""
        element = self.coordinates[coordinate]
        keys: dict[str, Any] = {"start": number_of(element, "default_value", 0.0)}
        low, high = np.clip(numbers_of(element, "range", "-99999 99999"), -LARGEST, LARGEST)
        if low < high:
            keys["range"] = [float(low), float(high)]
        return keys

    def follower(self, coordinate: str, f: dict[str, Any], name: str) -> dict[str, Any]:
        """Return the keys of a joint that follows a coordinate."""
        entry: dict[str, Any] = {"follows": self.name(coordinate)}
        if "curve" not in f:
            return entry | f
        own = self.name(f"{name}_curve")
        self.curve[own] = f["curve"]
        return entry | {"by": own}

    def axes(self, joint: Element) -> list[tuple[str, Vector, str, dict[str, Any], str]]:
        """Return the axes of a joint in its parent's frame: type, direction, coordinate, function and name."""
        kind, eye = joint.tag, np.eye(3)
        names = [c.get("name", "") for c in joint.findall("coordinates/Coordinate")]
        if kind == "CustomJoint":
            entries = []
            for axis in joint.findall("SpatialTransform/TransformAxis"):
                function = next((part for part in axis if part.tag not in ("coordinates", "axis")), None)
                if function is not None and function.tag == "function":
                    function = next(iter(function), None)
                name, coordinates = axis.get("name", ""), text_of(axis, "coordinates").split()
                if len(coordinates) > 1:
                    raise ValueError(f"{name} depends on several coordinates, {' '.join(coordinates)}")
                move = "prismatic" if name.startswith("translation") else "revolute"
                direction = numbers_of(axis, "axis")
                f = function_of(function)
                entries.append((move, direction / np.linalg.norm(direction), (coordinates or [""])[0], f, name))
            order = {"translation1": 0, "translation2": 1, "translation3": 2}
            return sorted(entries, key=lambda entry: order.get(entry[4], 3 + int(entry[4][-1])))
        forms = {
            "WeldJoint": [],
            "PinJoint": [("revolute", 2, 0)],
            "SliderJoint": [("prismatic", 0, 0)],
            "UniversalJoint": [("revolute", 0, 0), ("revolute", 1, 1)],
            "GimbalJoint": [("revolute", i, i) for i in range(3)],
            "PlanarJoint": [("prismatic", 0, 1), ("prismatic", 1, 2), ("revolute", 2, 0)],
            "FreeJoint": [("prismatic", i, 3 + i) for i in range(3)] + [("revolute", i, i) for i in range(3)],
        }
        if kind not in forms:
            raise ValueError(f"a {kind} is not supported; supported are CustomJoint, {', '.join(forms)}")
        return [(move, eye[i], names[c], dict(IDENTITY), f"{move}{i}") for move, i, c in forms[kind]]

    # Masses

    def inertias(self) -> None:
        """Add the masses of OpenSim's bodies to the bodies of the description that they move with."""
        for body in objects(self.model, "BodySet"):
            name, mass = body.get("name", ""), number_of(body, "mass", 0.0)
            if name not in self.places:
                self.report.refused.append(f"body {name}: its joint was not imported")
                continue
            place = self.places[name]
            xx, yy, zz, xy, xz, yz = numbers_of(body, "inertia", "0 0 0 0 0 0")
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            if (mass or inertia.any()) and place.body != "ground":
                centre = place.R @ numbers_of(body, "mass_center") + place.p
                self.masses.setdefault(place.body, []).append((mass, centre, place.R @ inertia @ place.R.T))
            elif mass:
                self.report.ignored.append(f"mass of body {name}, which is fixed to the ground")
        for name, parts in self.masses.items():
            entry = united(parts)
            xx, yy, zz, xy, xz, yz = entry["inertia"]
            moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            if moments[0] < -1e-6 * moments[2] or moments[2] > (moments[0] + moments[1]) * (1 + 1e-6):
                entry["exact"] = True
                self.report.taken.append(f"inertia of {name}, unchanged although physically impossible")
            self.body[name]["inertial"] = entry
