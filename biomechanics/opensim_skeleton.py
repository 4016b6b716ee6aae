"""Import of the skeleton of an OpenSim model: XML, functions of coordinates, frames, joints and masses.

Each joint becomes a chain of revolute and prismatic joints. A coordinate becomes the axis that it moves one to one;
other axes that depend on the coordinate follow this joint. The body frames of the description are parallel when all
joints are at 0. Points and axes are rotated into these frames once, so that joints need no orientation.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import shown
from gymnosoma.envs.core.files import check_memory, read_bytes
from gymnosoma.envs.core.kinds import advice
from gymnosoma.envs.neuromechanic import LARGEST
from gymnosoma.envs.neuromechanic.model.reader import Names
from gymnosoma.envs.neuromechanic.model.tables import CURVE

from .importer import LARGEST_FILE, Importer, Place, installed, value_of

ELEMENT_BYTES = 256
"""Memory of an element per ``<`` of the text, bytes."""

Vector = NDArray[np.float64]
Element = ElementTree.Element

IDENTITY = {"gain": 1.0, "offset": 0.0}
DEGREE = math.pi / 180.0


# XML


def read_xml(path: Path, what: str) -> Element:
    """Return the root of an XML file; error messages start with ``what``.

    Entities are rejected. Known errors in the XML of published models (``::`` in names) are corrected.
    """
    try:
        text = read_bytes(path, LARGEST_FILE).decode("utf-8", "replace")
        check_memory(ELEMENT_BYTES * text.count("<"), len(text))
    except (OSError, ValueError) as error:
        raise ValueError(f"{what} {str(path)!r} cannot be read: {error}") from None
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError(f"{what} {str(path)!r} must have no document type and no entities")
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", text)
    try:
        return ElementTree.fromstring(re.sub(r"(?<=[<\w])::(?=\w)", "_", text))
    except ElementTree.ParseError as error:
        raise ValueError(f"{what} {str(path)!r} cannot be read: {advice(path, 'foreign', 'loads') or error}") from None


def parse(path: Path) -> Element:
    """Return the model element of a file of format 4, to which OpenSim converts older ones if it is installed."""
    root = read_xml(path, "model")
    version, model = root.get("Version", "0"), root.find("Model")
    if model is not None and version.isdecimal() and int(version) >= 40000:
        return model
    if model is None or not installed("opensim.simulation"):
        raise ValueError(
            f"model {str(path)!r} must be of OpenSim's format 4 (Version 40000 or more), got {shown(version)}: "
            "install OpenSim to convert it (pip install opensim), or save it in another installation by "
            f'opensim.Model("{path.name}").printToXML("new.osim")'
        )
    with TemporaryDirectory() as folder:
        new = Path(folder) / "model.osim"
        opensim_model(path).printToXML(str(new))
        return parse(new)


def opensim_model(path: Path) -> Any:
    """Return OpenSim's own model of a file; its messages are off.

    Raises:
        ValueError: If OpenSim cannot read it.
    """
    import opensim

    opensim.Logger.removeFileSink()
    opensim.Logger.setLevelString("Off")
    try:
        return opensim.Model(str(path))
    except RuntimeError as error:
        raise ValueError(f"model {str(path)!r} cannot be read by OpenSim: {error}") from None


def text_of(element: Element, key: str, default: str = "") -> str:
    """Return the text of a child without surrounding spaces."""
    return (element.findtext(key) or default).strip()


def number_of(element: Element, key: str, default: float) -> float:
    """Return the number in a child."""
    return float(numbers_of(element, key, str(default))[0])


def numbers_of(element: Element, key: str, default: str = "0 0 0", count: int | None = None) -> Vector:
    """Return the numbers in a child; infinite bounds become the largest number of a model.

    Raises:
        ValueError: If the text is not finite numbers, or their number is not ``count``, by default that of ``default``.
    """
    text, count = text_of(element, key) or default, len(default.split()) if count is None else count
    try:
        values = np.array(text.split(), float)
    except ValueError:
        values = np.array([np.nan])
    values = np.clip(values, -LARGEST, LARGEST) if key in ("range", "min_control", "max_control") else values
    if not np.isfinite(values).all() or count not in (0, len(values)):
        what = "a number" if count == 1 else f"{count or ''} numbers".strip()
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


def inner_of(element: Element, key: str) -> Element | None:
    """Return the first element within a child."""
    return next(iter(element.findall(f"{key}/*")), None)


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
    """Convert a function to a dict with ``gain`` and ``offset``, or with a ``curve`` (keys of `tables.CURVE`)."""
    if element is None:
        return {"gain": 0.0, "offset": 0.0}
    kind = element.tag
    if kind == "Constant":
        return {"gain": 0.0, "offset": number_of(element, "value", 0.0)}
    if kind == "LinearFunction":
        gain, offset = numbers_of(element, "coefficients", "1 0")
        return {"gain": float(gain), "offset": float(offset)}
    if kind == "MultiplierFunction":
        return affine(function_of(inner_of(element, "function")), number_of(element, "scale", 1.0))
    if kind == "PolynomialFunction":
        return _polynomial(numbers_of(element, "coefficients", "0", 0))
    kinds = {"SimmSpline": "simm", "NaturalCubicSpline": "simm", "PiecewiseLinearFunction": "linear"}
    if kind in kinds:
        x, y = numbers_of(element, "x", count=0), numbers_of(element, "y", count=0)
        return curve_of(kinds[kind], x=x.tolist(), y=y.tolist())
    raise ValueError(f"function {kind} is not supported; supported are {', '.join([*_FUNCTIONS, *kinds])}")


_FUNCTIONS = "Constant", "LinearFunction", "MultiplierFunction", "PolynomialFunction"


def curve_of(kind: str, **numbers: list[float]) -> dict[str, Any]:
    """Return a function with a ``curve`` of these keys, after the builder's checks.

    Raises:
        ValueError: If the description of a model cannot have such a curve.
    """
    curve = {"kind": kind, **numbers}
    CURVE.read(curve, "its function", Names({}))
    return {"curve": curve}


def _polynomial(coefficients: NDArray[Any]) -> dict[str, Any]:
    """Return the function of a polynomial with these coefficients, highest power first."""
    values = np.trim_zeros(coefficients, "f").tolist()
    return curve_of("polynomial", coefficients=[0.0] * (2 - len(values)) + values)


def affine(f: dict[str, Any], gain: float, offset: float = 0.0) -> dict[str, Any]:
    """Return gain * f + offset."""
    if "curve" not in f:
        return {"gain": gain * f["gain"], "offset": gain * f["offset"] + offset}
    curve = f["curve"]
    if curve["kind"] == "polynomial":
        return _polynomial(np.polyadd(gain * np.array(curve["coefficients"]), [offset]))
    return curve_of(curve["kind"], x=curve["x"], y=[gain * y + offset for y in curve["y"]])


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
        return _polynomial(power.coeffs)
    pairs = sorted(((x - offset) / gain, y) for x, y in zip(curve["x"], curve["y"], strict=True))
    return curve_of(curve["kind"], x=[x for x, _ in pairs], y=[y for _, y in pairs])


# Skeleton


def components(model: Element) -> Iterator[tuple[str, Element]]:
    """Yield the path and the element of each component in the order of OpenSim, parents first."""
    waiting = [("", model, False)]
    while waiting:
        path, element, named = waiting.pop()
        if named:
            yield path, element
        for part in reversed(element):
            own = part.tag.lower() if element is model and part.tag.endswith("Set") else part.get("name", "")
            waiting.append((f"{path}/{own}" if own else path, part, bool(own)))


class _Places(dict[str, Place]):
    """Places by body name; a body with a refused joint is missing."""

    def __missing__(self, body: str) -> Place:
        raise ValueError(f"the joint of its body {body!r} was not imported")


class OpenSimImporter(Importer):
    """Builder of the description of one model, for `opensim.read_osim`."""

    def __init__(self, source: Path) -> None:
        self.model = parse(source)
        super().__init__(source, numbers_of(self.model, "gravity", "0 -9.80665 0"))
        self.places: dict[str, Place] = _Places(ground=Place("ground", np.eye(3), np.zeros(3)))
        self.paths: dict[str, Element] = {}
        self.path_of: dict[Element, str] = {}
        self.located: dict[str, tuple[str, Vector, Vector]] = {"/ground": ("ground", np.eye(3), np.zeros(3))}
        self.coordinates: dict[str, Element] = {}
        self.depends: dict[str, tuple[str, dict[str, Any]]] = {}
        self.owner: dict[str, str] = {}
        self.wrap_objects: dict[str, tuple[str, Element]] = {}
        self.shared: dict[tuple[Any, ...], str] = {}
        self.properties: dict[tuple[str, str, str], list[str]] = {}

    def skeleton(self) -> None:
        """Convert bodies and joints; unsupported parts are added to the report."""
        for path, element in components(self.model):
            if path in self.paths and element.tag in ("Body", "Coordinate"):
                self.report.refused.append(f"{element.tag} {path}: another one has this name")
            self.paths.setdefault(path, element)
            self.path_of[element] = path
            for wrap in objects(element, "WrapObjectSet"):  # the first of a name counts
                self.wrap_objects.setdefault(wrap.get("name", ""), (path, wrap))
            if element.tag == "Body":
                self.located[path] = element.get("name", ""), np.eye(3), np.zeros(3)
        for coordinate in self.model.findall("JointSet/objects/*//Coordinate"):
            name = coordinate.get("name", "")
            if self.coordinates.setdefault(name, coordinate) is not coordinate:
                self.report.refused.append(f"Coordinate {name}: another joint has a coordinate of this name")
        self.couple()
        self.joints()
        self.leaders()
        self.inertias()
        names = {
            label: self.name(label, part=body)
            for body in objects(self.model, "BodySet")
            if (label := body.get("name", "")) in self.places
        }
        for label, name in names.items():
            self.add("frame", name, self.places[label].frame())
        self.report.taken.append(f"coordinates: {', '.join(self.owner)}")

    # Coordinates

    def couple(self) -> None:
        """Find the coordinates that are locked or depend on another coordinate."""
        for name, coordinate in self.coordinates.items():
            self.attempt(f"coordinate {name}", self.hold, name, coordinate)
        for constraint in objects(self.model, "ConstraintSet"):
            name, kind = constraint.get("name", ""), constraint.tag
            if text_of(constraint, "isEnforced", "true") == "false":
                self.report.ignored.append(f"{kind} {name}, which is not enforced")
            elif kind not in ("CoordinateCouplerConstraint", "PointOnLineConstraint"):
                supported = "supported are CoordinateCouplerConstraint and PointOnLineConstraint"
                self.report.refused.append(f"{kind} {name}: {supported}")
            elif kind == "CoordinateCouplerConstraint":
                self.attempt(f"{kind} {name}", self.depend, constraint)

    def hold(self, name: str, coordinate: Element) -> None:
        """Hold a coordinate that is locked or prescribed."""
        how, f = "locked", {"gain": 0.0, "offset": 0.0}
        function = inner_of(coordinate, "prescribed_function")
        if truth_of(coordinate, "locked"):
            f["offset"] = number_of(coordinate, "default_value", 0.0)
        elif truth_of(coordinate, "prescribed") and function is not None:
            how, f = "prescribed", function_of(function)
        else:
            return
        if "curve" in f or f["gain"] != 0.0:
            raise ValueError("it is prescribed by a function of time; supported are constants")
        self.depends[name] = "", f
        self.report.taken.append(f"coordinate {name}, {how} at {f['offset']:g}")

    def depend(self, constraint: Element) -> None:
        """Make a coordinate depend on another one by a coupler."""
        others = text_of(constraint, "independent_coordinate_names").split()
        dependent = text_of(constraint, "dependent_coordinate_name")
        if len(others) != 1:
            raise ValueError(f"it must have one independent coordinate, got {' '.join(others)}")
        for coordinate in (dependent, others[0]):
            if coordinate not in self.coordinates:
                raise ValueError(f"the model has no coordinate {coordinate!r}")
        if dependent in self.depends:
            raise ValueError(f"{dependent} is locked, prescribed or coupled already")
        f = function_of(inner_of(constraint, "coupled_coordinates_function"))
        self.depends[dependent] = others[0], affine(f, number_of(constraint, "scale_factor", 1.0))
        self.resolve(dependent, dict(IDENTITY))

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
        if coordinate in self.depends:
            raise ValueError(f"{coordinate} depends on itself")
        if coordinate and coordinate not in self.coordinates:
            raise ValueError(f"the model has no coordinate {coordinate!r}")
        return ("", f) if "curve" not in f and f["gain"] == 0.0 else (coordinate, f)

    # Joints

    def frame(self, owner: Element, socket: str) -> tuple[str, Vector, Vector]:
        """Return the body of the frame in a socket of a component, and the frame's rotation and origin (m) in the body.

        Sockets hold paths, absolute or relative to the component. If there is no such frame, the last name counts.
        """
        return self.locate(self._path(owner, text_of(owner, socket)))

    def place(self, owner: Element, socket: str) -> Place:
        """Return the frame in a socket of a component, in the description's bodies; see `frame`."""
        body, R, p = self.frame(owner, socket)
        place = self.places[body]
        return Place(place.body, place.R @ R, place.R @ p + place.p)

    def locate(self, path: str) -> tuple[str, Vector, Vector]:
        """Return the body of a frame by its path, and the frame's rotation and origin (m) in the body."""
        chain: list[Element] = []
        while path not in self.located:
            frame = self.paths[path]
            if frame.tag != "PhysicalOffsetFrame" or frame in chain:
                raise ValueError(
                    f"{path} must be a body or a PhysicalOffsetFrame that is fixed to one, got {frame.tag}"
                )
            chain.append(frame)
            path = self._path(frame, text_of(frame, "socket_parent"))
        body, R, p = self.located[path]
        for frame in reversed(chain):
            turn, at = turned(numbers_of(frame, "orientation")), numbers_of(frame, "translation")
            body, R, p = self.located[self.path_of[frame]] = body, R @ turn, R @ at + p
        return body, R, p

    def _path(self, owner: Element, path: str) -> str:
        whole = posixpath.normpath(posixpath.join(self.path_of.get(owner, "/"), path))
        if whole in self.paths:
            return whole
        named = self.labels.get(last_of(path), [])
        if len(named) != 1:
            wrong = f"there are several: {', '.join(named)}" if named else "the model has none of this name"
            raise ValueError(f"frame {path!r} is not known; {wrong}")
        return named[0]

    @cached_property
    def labels(self) -> dict[str, list[str]]:
        """Paths of bodies, or else of offset frames, by their last name."""
        labels: dict[str, list[str]] = {"ground": ["/ground"]}
        for tag in ("Body", "PhysicalOffsetFrame"):
            frames: dict[str, list[str]] = {}
            for path, element in self.paths.items():
                if element.tag == tag:
                    frames.setdefault(last_of(path), []).append(path)
            labels = frames | labels
        return labels

    def joints(self) -> None:
        """Convert all joints, parents first."""
        children: dict[str, list[tuple[Element, Any, Any]]] = {}

        def find(joint: Element) -> None:
            parent, child = self.frame(joint, "socket_parent_frame"), self.frame(joint, "socket_child_frame")
            children.setdefault(parent[0], []).append((joint, parent, child))

        for joint in objects(self.model, "JointSet"):
            self.attempt(f"joint {joint.get('name')!r}", find, joint)
        bodies = ["ground"]
        for body in bodies:
            for joint, parent, child in children.pop(body, []):
                what = f"joint {joint.get('name')!r}"
                if child[0] in self.places:
                    self.report.refused.append(f"{what}: it closes a loop at {child[0]!r}")
                else:
                    self.attempt(what, self.joint, joint, parent, child)
                    bodies += [child[0]] if child[0] in self.places else []
        if children:
            names = ", ".join(entry[0].get("name", "") for entries in children.values() for entry in entries)
            self.report.refused.append(f"joints {names}: they are not connected to the ground")

    def joint(self, joint: Element, parent: tuple[str, Vector, Vector], child: tuple[str, Vector, Vector]) -> None:
        """Convert a joint to a chain of joints, and place its child body."""
        place = self.places[parent[0]]
        R0, at, body = place.R @ parent[1], place.R @ parent[2] + place.p, place.body
        for kind, axis, coordinate, f, name in self.axes(joint):
            direction = R0 @ axis
            coordinate, f = self.resolve(coordinate, f)
            if not coordinate and (kind == "prismatic" or f["offset"] == 0.0):
                at = at + direction * f["offset"] if kind == "prismatic" else at
                continue
            leads = coordinate not in self.owner and abs(f.get("gain", 0.0)) == 1.0 and f["offset"] == 0.0
            own = self.name(coordinate if leads else f"{joint.get('name')}_{name}")
            if own in self.body:
                raise ValueError(f"there are two axes {own}; joints and coordinates must have different names")
            if not coordinate:
                entry: dict[str, Any] = {"fixed": f["offset"]}
            elif leads:
                direction = direction * f["gain"]
                self.owner[coordinate] = own
                entry = self.free(coordinate)
            else:
                entry = self.follower(coordinate, f, own)
            where = {"type": kind, "axis": direction.tolist(), "at": at.tolist()}
            self.add_body(own, body, where | entry)
            body, at = own, np.zeros(3)
        turn = R0 @ child[1].T
        self.places[child[0]] = Place(body, turn, at - turn @ child[2])
        self.report.taken.append(f"{joint.tag} {joint.get('name')}: body {child[0]} moves with {body}")

    def leaders(self) -> None:
        """Give coordinates that move no axis one to one a massless joint, which their axes follow."""
        for joint in [body["joint"] for body in self.body.values()]:
            name = joint.get("follows")
            if name is not None and name not in self.body:
                coordinate = next(label for label in self.coordinates if self.name(label) == name)
                self.owner[coordinate] = name
                where = {"type": joint["type"], "axis": [1.0, 0.0, 0.0]}
                self.add_body(name, "ground", where | self.free(coordinate))

    def label_of(self, name: str) -> str:  # noqa: D102
        moved = {name}  # bodies come after their parents
        for own, body in self.body.items():
            if body["parent"] in moved or body["joint"].get("follows") in moved:
                moved.add(own)
        return next((f"body {label}" for label, place in self.places.items() if place.body in moved), name)

    def lock(self, name: str, start: float) -> None:  # noqa: D102
        super().lock(name, start)
        for coordinate in [label for label, own in self.owner.items() if own == name]:
            self.depends[coordinate] = "", {"gain": 0.0, "offset": start}
            del self.owner[coordinate]

    def free(self, coordinate: str) -> dict[str, Any]:
        """Return the keys of the joint of a free coordinate."""
        element = self.coordinates[coordinate]
        keys: dict[str, Any] = {"start": number_of(element, "default_value", 0.0)}
        low, high = numbers_of(element, "range", "-99999 99999")
        if low < high:
            keys["range"] = [float(low), float(high)]
        return keys

    def follower(self, coordinate: str, f: dict[str, Any], name: str) -> dict[str, Any]:
        """Return the keys of a joint that follows a coordinate."""
        entry: dict[str, Any] = {"follows": self.name(coordinate)}
        if "curve" not in f:
            return entry | f
        own = self.name(f"{name}_curve", "curve")
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
                    function = inner_of(axis, "function")
                name, coordinates = axis.get("name", ""), text_of(axis, "coordinates").split()
                if len(coordinates) > 1:
                    raise ValueError(f"{name} depends on several coordinates, {' '.join(coordinates)}")
                move = "prismatic" if name.startswith("translation") else "revolute"
                direction = numbers_of(axis, "axis")
                if not direction.any():
                    raise ValueError(f"{name} must have an axis, got {shown(direction)}")
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
        if len(names) < len(forms[kind]):
            raise ValueError(f"a {kind} must have {len(forms[kind])} coordinates, got {len(names)}")
        return [(move, eye[i], names[c], dict(IDENTITY), f"{move}{i}") for move, i, c in forms[kind]]

    # Masses

    def inertias(self) -> None:
        """Add the masses of OpenSim's bodies to the bodies of the description that they move with."""
        for body in objects(self.model, "BodySet"):
            self.attempt(f"body {body.get('name')}", self.mass, body)
        self.add_masses()

    def mass(self, body: Element) -> None:
        """Add the mass of a body to the body of the description that it moves with."""
        name, mass = body.get("name", ""), number_of(body, "mass", 0.0)
        if name not in self.places:
            raise ValueError("its joint was not imported")
        place = self.places[name]
        xx, yy, zz, xy, xz, yz = numbers_of(body, "inertia", "0 0 0 0 0 0")
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if (mass or inertia.any()) and place.body != "ground":
            centre = place.R @ numbers_of(body, "mass_center") + place.p
            self.add_mass(place.body, mass, centre, place.R @ inertia @ place.R.T)
        elif mass:
            self.report.ignored.append(f"mass of body {name}, which is fixed to the ground")
