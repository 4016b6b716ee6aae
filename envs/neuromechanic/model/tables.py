"""Tables of a model: the keys of each, with allowed values, defaults, units and meanings, and checks of their values.

All checks that need one table alone are here; `build` checks what depends on several tables, and `loading` the size of
a file. The guides list the tables of `KINDS`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .reader import (
    ANY_JOINT,
    BODY_FRAME,
    DIRECTION,
    DIRECTIONS,
    FREE_JOINT,
    LARGEST,
    LIMITS,
    NUMBER,
    NUMBERS,
    OPTIONAL,
    POINT,
    POSITIVE,
    REQUIRED,
    SIGNAL,
    SMALLEST,
    TEXT,
    TRUTH,
    Form,
    Key,
    Names,
    Per,
    Table,
    choice,
    expect,
    is_list,
    is_number,
    later,
    limit,
    name,
    number,
    several,
    table,
    tables,
    vector,
)

LONGEST_DELAY = 10.0
"""Longest delay of a synapse, s."""

MUSCLES = ("rigid_tendon", "compliant_tendon", "short_range", "proportional", "spring")
CURVES = ("de_groote", "thelen", "mujoco", "own")
ACTIVATIONS = ("smooth", "switched", "zajac", "schutte")
THELEN_CURVES = (
    ("tendon_strain", 0.04, "strain of the tendon at the maximal force"),
    ("passive_strain", 0.6, "strain of passive fibres at the maximal force"),
    ("passive_shape", 5.0, "exponent of passive fibres"),
    ("active_shape", 0.45, "width of the active curve"),
    ("eccentric", 1.4, "largest force of lengthening fibres, in isometric forces; above 1"),
    ("concave", 0.25, "curvature of the force-velocity curve"),
)
"""Name, default and meaning of the constants of Thelen's curves, in the kernels' order.

Source of the defaults: Thelen (2003), J Biomech Eng 125:70-77, values for young adults.
"""
MUJOCO_CURVES = (
    ("lmin", 0.5, "shortest length of active fibres, in optimal lengths"),
    ("lmax", 1.6, "longest length of active fibres, in optimal lengths"),
    ("fvmax", 1.2, "largest force of lengthening fibres, in isometric forces; above 1"),
    ("fpmax", 1.3, "passive force at `lmax` according to MuJoCo's documentation; see its formula"),
)
"""Name, default and meaning of the constants of MuJoCo's muscles, in the kernels' order, with MuJoCo's defaults."""
OWN_CURVES = (
    ("active", "active force by fibre length / optimal length"),
    ("passive", "passive force by fibre length / optimal length"),
    ("velocity", "factor on the active force by velocity / maximal velocity, from -1 to 1; increasing"),
    ("tendon", "force of the tendon by its length / slack length; increasing"),
)
"""Name and meaning of the curves of ``curves = "own"``, in the kernels' order; forces are relative to the maximal."""
CURVE_KINDS = ("simm", "linear", "polynomial")
SHAPES = ("linear", "sigmoid", "tanh", "heaviside", "saturate")
QUADRANTS = {"all": 0, "x": 1, "y": 2, "z": 3, "-x": -1, "-y": -2, "-z": -3}
METHODS = ("hybrid", "axial", "midpoint")
"""Words that some keys accept, in the order of the kernels' constants in `muscles`, `nerves` and `ellipsoid`."""

COACTIVATION = {"Ia": 50.0, "II": 20.0}
"""Rate (1/s) of an afferent at full activation.

The equation for spindles is from Prochazka & Gorassini (1998, J Physiol 507:277-291). This constant and the defaults in
`NEURON` are values of cats' afferents from Prochazka (1999, Prog Brain Res 123:133-142).
"""


# Forms of values of single keys


def _share_or_signal(value: Any, path: str, names: Names) -> float | tuple[int, int]:
    return number(0.0, 1.0).read(value, path, names) if is_number(value) else names.signal(value, path)


def _components(value: Any, path: str, names: Names) -> list[float | tuple[int, int]]:
    expect(is_list(value, 3), path, "be a list of 3 numbers or signals", value)
    return [part if is_number(part) else names.signal(part, f"{path}[{i}]") for i, part in enumerate(value)]


def _products(value: Any, path: str, names: Names) -> NDArray[np.float64]:
    """Return the symmetric matrix with the entries [i, j, value]."""
    n, what = len(names.entries["joint"]), "be a list of [i, j, value]"
    expect(isinstance(value, list), path, what, value)
    B = np.zeros((n, n))
    for entry in value:
        numeric = is_list(entry, 3) and all(map(is_number, entry))
        within = numeric and all(int(i) == i and 0 <= i < n for i in entry[:2])
        expect(within, path, f"{what} with i, j below {n}", entry)
        i, j = int(entry[0]), int(entry[1])
        B[i, j] = B[j, i] = entry[2]
    return B


def _input_names(value: Any, path: str, names: Names) -> list[str]:
    worded = is_list(value) and all(isinstance(entry, str) and entry for entry in value)
    expect(worded, path, "be a list of names", value)
    for entry in value:
        once = "." not in entry and list(value).count(entry) == 1
        expect(once, path, "hold each name once, and none with a dot", entry)
    limit("inputs", len(value), path)
    return list(value)


ALWAYS = -1, [0.0, 0.0]
"""Joint and range of an unconditional point."""


def _points(value: Any, path: str, names: Names) -> list[tuple[Any, ...]]:
    """Read the points of a path.

    Returns:
        list of (body, position, cylinder, joint, range, share): ``cylinder`` is -1 for a point, ``joint`` and ``range``
            belong to conditional points, and ``share`` is the factor on the length of the following segment, 0 before
            a pulley.
    """
    expect(is_list(value) and len(value) > 1, path, "be a list of at least 2 points", value)
    points: list[tuple[Any, ...]] = []
    share = 1.0
    for i, entry in enumerate(value):
        here = f"{path}[{i}]"
        if not isinstance(entry, Mapping):
            points.append((*names.point(entry, here), -1, *ALWAYS, share))
            continue
        if "point" in entry:
            point = _CONDITIONAL.read(entry, here, names)
            points.append((*point["point"], -1, point["joint"], point["range"], share))
            continue
        around = [{}, *value][i], [*value, {}][i + 1]
        expect(not any(isinstance(other, Mapping) for other in around), here, "be between two points", entry)
        if "pulley" in entry:
            share = 1.0 / _PULLEY.read(entry, here, names)["pulley"]
            points[-1] = (*points[-1][:-1], 0.0)
        else:
            points.append((-1, [0.0] * 3, _SURFACE.read(entry, here, names)["cylinder"], *ALWAYS, share))
    return points


def _not_negative(value: Any, path: str, names: Names) -> list[float]:
    numbers = vector(3).read(value, path, names)
    expect(min(numbers) >= 0.0, path, "not be negative", value)
    return numbers


def _side(value: Any, path: str, names: Names) -> NDArray[np.float64] | str:
    """Read a direction, or one of the words for surfaces without a side."""
    return str(value) if isinstance(value, str) and value in ("any", "inside") else DIRECTION.read(value, path, names)


def _moments(value: Any, path: str, names: Names) -> NDArray[np.float64]:
    """Return the moments and products (6,) of inertia; products are 0 by default."""
    moments = vector(3, 6).read(value, path, names)
    return np.concatenate([moments, np.zeros(6 - len(moments))])


def _number_of_point(value: Any, path: str, names: Names) -> int:
    expect(isinstance(value, int) and not isinstance(value, bool), path, "be a whole number", value)
    return int(value)


def _wraps(value: Any, path: str, names: Names) -> list[dict[str, Any]]:
    expect(isinstance(value, list), path, "be a list of tables", value)
    return [WRAP.read(wrap, f"{path}[{i}]", names) for i, wrap in enumerate(value)]


# Checks of the values of a table

HIGHEST = 15
"""Highest power of a polynomial."""


def check_curve(curve: Mapping[str, Any], path: str) -> None:
    """Raise ValueError unless x ascends and has one y each, or a polynomial has at most `HIGHEST` + 1 coefficients."""
    if curve["kind"] == "polynomial":
        powers = curve["coefficients"]
        expect(len(powers) <= HIGHEST + 1, f"{path}.coefficients", f"be at most {HIGHEST + 1} numbers", len(powers))
        return
    x, y = curve["x"], curve["y"]
    expect(is_ascending(x), f"{path}.x", "be ascending", x)
    expect(len(x) == len(y), f"{path}.y", f"be {len(x)} numbers, one for each x", y)


def is_ascending(values: ArrayLike) -> bool:
    """Return whether numbers ascend by more than rounding errors."""
    return bool((np.diff(values) > 1e-9).all())


def is_possible(inertia: ArrayLike) -> bool:
    """Return whether a body can have the moments (6,) kg m^2: xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = np.asarray(inertia)
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return bool(moments[0] >= -1e-6 * moments[2] and moments[2] <= (moments[0] + moments[1]) * (1 + 1e-6))


def _check_inertial(inertial: dict[str, Any], path: str) -> None:
    possible = inertial["exact"] or is_possible(inertial["inertia"])
    what = "have principal moments that are at least 0 and at most the sum of the other two"
    expect(possible, f"{path}.inertia", what, inertial["inertia"])


def _check_limit(limit: Mapping[str, Any], path: str) -> None:
    expect(limit["low"] < limit["high"], f"{path}.low", f"be below high, {limit['high']:g}", limit["low"])
    expect(min(limit["stiffness"]) >= 0.0, f"{path}.stiffness", "not be negative", limit["stiffness"])


def _check_range(table: Mapping[str, Any], path: str) -> None:
    low, high = table["range"]
    expect(low < high, f"{path}.range", "be [low, high]", table["range"])


def _check_joint(joint: Mapping[str, Any], path: str) -> None:
    if "range" in joint:
        _check_range(joint, path)
        if joint["follows"] is not None and joint["fixed"] is not None:
            raise ValueError(f"{path}.fixed must not be given for a joint that follows another, got {joint['fixed']:g}")
    else:
        expect(any(joint["attitude"]), f"{path}.attitude", "not be zero", joint["attitude"])


def _check_frame(frame: Mapping[str, Any], path: str) -> None:
    unit = abs(np.dot(frame["attitude"], frame["attitude"]) - 1.0) < 1e-6
    expect(unit, f"{path}.attitude", "be a unit quaternion", frame["attitude"])


def _check_surface(surface: Mapping[str, Any], path: str) -> None:
    if surface["type"] == "ellipsoid":
        _check_frame(surface, path)
        low = all(SMALLEST <= radius <= LARGEST for radius in surface["radii"])
        expect(low, f"{path}.radii", "be 3 numbers above 0", surface["radii"])


def _check_spline(spline: Mapping[str, Any], path: str) -> None:
    times = spline["times"]
    ascending = len(times) == len(spline["values"]) and is_ascending(times)
    expect(ascending, f"{path}.times", "be ascending, one for each value", times)


def _check_muscle_model(model: Mapping[str, Any], path: str) -> None:
    if "low" in model:
        expect(model["low"] < model["high"], f"{path}.low", f"be below high, {model['high']:g}", model["low"])
    if model.get("curves") == "mujoco":
        expect(model["type"] == "rigid_tendon", f"{path}.type", "be rigid_tendon with MuJoCo's curves", model["type"])
    elif "slack_length" in model:
        slack, rigid = model["slack_length"], model["type"] == "rigid_tendon"
        least = "of at least" if rigid else "greater than"
        expect(slack >= (0.0 if rigid else SMALLEST), f"{path}.slack_length", f"be a number {least} 0", slack)


def _check_muscle(muscle: Mapping[str, Any], path: str) -> None:
    points, spring = muscle["path"], muscle["model"]["type"] == "spring"
    if (muscle["excitation"] is None) != spring:
        raise ValueError(f"{path}.excitation {'must not be given for a spring' if spring else 'is missing'}")
    if (points is None) == (muscle["length"] is None):
        raise ValueError(f"{path} must have either path or length, got {'none' if points is None else 'both'}")
    if muscle["wraps"] and points is None:
        raise ValueError(f"{path}.wraps must not be given without a path")
    count = sum(point[2] < 0 for point in points or ())
    for i, wrap in enumerate(muscle["wraps"]):
        ends = wrap["from"], count - 1 if wrap["to"] is None else wrap["to"]
        within = 0 <= ends[0] < ends[1] < count
        expect(within, f"{path}.wraps[{i}]", f"have 0 <= from < to < {count} points", ends)


def _check_shape(shape: Mapping[str, Any], path: str) -> None:
    if "low" in shape and not shape["low"] < shape["high"]:
        raise ValueError(f"{path}.low must be less than high, got {shape['low']:g} and {shape['high']:g}")


def _check_contact(contact: Mapping[str, Any], path: str) -> None:
    bodies = contact["point"][0], contact.get("to", (-1,))[0]
    expect(max(bodies) >= 0, f"{path}.point", "be on a body", "ground")
    if contact["type"] == "compliant":
        expect(bodies[0] != bodies[1], f"{path}.to", "be on another body than point", bodies[1])


def _check_bushing(bushing: Mapping[str, Any], path: str) -> None:
    body, other = bushing["frame"][0], bushing["to"][0]
    expect(body != other, f"{path}.to", "be on another body than frame", "ground" if other < 0 else other)


def _check_pulse(pulse: Mapping[str, Any], path: str) -> None:
    if pulse["peak"] and not pulse["duration"]:
        raise ValueError(f"{path}.duration must be greater than 0 for a peak of {pulse['peak']:g}, got 0")
    if 0 < pulse["duration"] < SMALLEST:
        raise ValueError(f"{path}.duration must be 0 or at least {SMALLEST:g}, got {pulse['duration']:g}")


# Tables

_CONDITIONAL = Table(
    Key("point", POINT, REQUIRED, "m", ""),
    Key("joint", ANY_JOINT, REQUIRED, "", ""),
    Key("range", vector(2), REQUIRED, "rad or m", ""),
    check=_check_range,
)
_PULLEY = Table(Key("pulley", POSITIVE, REQUIRED, "", ""))
_SURFACE = Table(Key("cylinder", name("cylinder"), REQUIRED, "", ""))
PATH, PRODUCTS = Form("list of points", _points), Form("list of `[i, j, value]`", _products)
SHARE, COMPONENTS = Form("number or signal", _share_or_signal), Form("list of 3 numbers or signals", _components)
INPUTS = Form("list of names", _input_names)
SIDES = Form('direction, "any" or "inside"', _side)
NOWHERE = (0.0, 0.0, 0.0)
_RATE = {"type": "saturate", "low": 0.0, "high": 1000.0}  # 1/s, of afferents
_SHAPES = Per("type", {"sum": {"type": "linear"}, "spindle": _RATE, "golgi": _RATE})
_RANGES = Per("type", {"revolute": (-math.pi, math.pi), "prismatic": (-10.0, 10.0)})
_TENDONS = ("rigid_tendon", "compliant_tendon")
_HILL, _SHORT, _HINGES = (*_TENDONS, "short_range"), ("short_range",), ("revolute", "prismatic")
_RIGID, _COMPLIANT = ("rigid",), ("compliant",)
_SPRING = ("spring",)
_ORGANS, _SPINDLE, _BOUNDED = ("spindle", "golgi"), ("spindle",), ("heaviside", "saturate")
_DELAY = number(0.0, LONGEST_DELAY)
_POWER = number(0.01, 10.0)
_LEAST, _LEASTS = number(0.0), Form("list of 3 numbers of at least 0", _not_negative)
_ABOVE_1 = number(1.0 + 1e-12)
_CURVE, _POINT_NUMBER = name("curve"), Form("number of a point", _number_of_point)
_BOUNDS = {"lmin": number(0.0, 1.0 - 1e-12), "lmax": _ABOVE_1, "fvmax": number(1.0), "eccentric": _ABOVE_1}
"""Forms of constants of the curves that have other bounds than 0; ends of the active curve cannot be 1."""

LIMIT = Table(
    Key("low", NUMBER, REQUIRED, "rad or m", "lower bound; the limit acts below it"),
    Key("high", NUMBER, REQUIRED, "rad or m", "upper bound; the limit acts above it"),
    Key("stiffness", vector(1, 2), REQUIRED, "N m/rad or N/m", "beyond both bounds, or beyond the lower and the upper"),
    Key("damping", _LEAST, 0.0, "N m s/rad or N s/m", "damping beyond the bounds"),
    Key("transition", POSITIVE, REQUIRED, "rad or m", "distance beyond a bound over which both rise from 0"),
    check=_check_limit,
)
JOINT = Table(
    Key("type", choice("revolute", "prismatic", "ball", "free"), REQUIRED, "", "motion of the body in its parent"),
    Key("axis", DIRECTION, REQUIRED, "", "axis of rotation or direction of sliding", _HINGES),
    Key("at", vector(3), NOWHERE, "m", "position of the joint in the parent"),
    Key("follows", TEXT, OPTIONAL, "", "leader: its joint determines this joint", _HINGES),
    Key("by", name("curve"), OPTIONAL, "", "position as a function of the leader's", _HINGES, "follows"),
    Key("gain", NUMBER, 1.0, "", "factor on the leader's position", _HINGES, "no by"),
    Key("offset", NUMBER, 0.0, "rad or m", "added to the position", _HINGES, "no by"),
    Key("fixed", NUMBER, OPTIONAL, "rad or m", "position of a locked joint", _HINGES),
    Key("damping", _LEAST, 0.0, "N m s/rad or N s/m", "damping of each degree of freedom"),
    Key("armature", _LEAST, 0.0, "kg m^2 or kg", "inertia of the joint itself, such as that of a rotor"),
    Key("stiffness", _LEAST, 0.0, "N m/rad or N/m", "stiffness of a spring in each degree of freedom"),
    Key("start", NUMBER, 0.0, "rad or m", "initial position", _HINGES),
    Key("rest", NUMBER, 0.0, "rad or m", "rest position of the spring", _HINGES),
    Key(
        "range",
        vector(2),
        _RANGES,
        "rad or m",
        "range in which tasks start an episode and beyond which they end it; only a `limit` stops the joint",
        _HINGES,
    ),
    Key("limit", several(LIMIT, 8), OPTIONAL, "", "torque beyond bounds; several limits add up", _HINGES),
    Key("start", vector(3), NOWHERE, "m", "initial x, y and z", ("free",)),
    Key("attitude", vector(4), (1.0, 0.0, 0.0, 0.0), "1", "initial quaternion w, x, y, z", ("ball", "free")),
    check=_check_joint,
)
INERTIAL = Table(
    Key("mass", _LEAST, REQUIRED, "kg", "mass of the body"),
    Key(
        "inertia",
        Form("list of 3 or 6 numbers", _moments),
        NOWHERE,
        "kg m^2",
        "about the centre of mass: xx, yy, zz and optionally xy, xz, yz",
    ),
    Key("exact", TRUTH, False, "", "whether to accept a physically impossible inertia"),
    Key("centre", vector(3), NOWHERE, "m", "centre of mass"),
    check=_check_inertial,
)
BODY = Table(
    Key("parent", name("body", ground=True), "ground", "", "body to which the joint connects"),
    Key("joint", table(JOINT), REQUIRED, "", "joint between parent and body"),
    Key("inertial", table(INERTIAL), {"mass": 0.0}, "", "mass properties; massless bodies must carry bodies with mass"),
)
FRAME = Table(
    Key("body", name("body", ground=True), REQUIRED, "", "body that the frame is fixed to"),
    Key("at", vector(3), NOWHERE, "m", "origin in the body"),
    Key("attitude", vector(4), (1.0, 0.0, 0.0, 0.0), "1", "unit quaternion w, x, y, z of the axes in the body"),
    check=_check_frame,
)
CYLINDER = Table(
    Key("body", name("body", ground=True), REQUIRED, "", "body that the surface is fixed to"),
    Key("type", choice("cylinder", "sphere", "ellipsoid"), "cylinder", "", "shape of the surface"),
    Key("at", vector(3), REQUIRED, "m", "a point on the axis, or the centre of a sphere or ellipsoid"),
    Key("axis", DIRECTION, REQUIRED, "", "axis of the cylinder", ("cylinder",)),
    Key("side", SIDES, REQUIRED, "", "side on which paths wrap it, or inside it", ("cylinder",)),
    Key("side", SIDES, "any", "", "side on which paths wrap it by MuJoCo's rule, or inside it", ("sphere",)),
    Key("rule", choice("opensim", "mujoco"), "opensim", "", "program that defines when paths wrap", ("cylinder",)),
    Key("radius", POSITIVE, REQUIRED, "m", "radius of the surface", ("cylinder", "sphere")),
    Key("radii", vector(3), REQUIRED, "m", "radii along its axes", ("ellipsoid",)),
    Key(
        "attitude",
        vector(4),
        (1.0, 0.0, 0.0, 0.0),
        "1",
        "unit quaternion w, x, y, z of its axes in the body",
        ("ellipsoid",),
    ),
    Key("quadrant", choice(*QUADRANTS), "all", "", "half on which paths wrap it, by its axis", ("ellipsoid",)),
    Key("method", choice(*METHODS), "hybrid", "", "OpenSim's method for the plane of a path", ("ellipsoid",)),
    Key("length", POSITIVE, LARGEST, "m", "length with `at` in the middle; paths do not wrap beyond it", ("cylinder",)),
    check=_check_surface,
)
CURVE = Table(
    Key("kind", choice(*CURVE_KINDS), REQUIRED, "", "cubic spline of SIMM, linear interpolation, or polynomial"),
    Key("x", NUMBERS, REQUIRED, "rad or m", "ascending arguments", beside="kind!=polynomial"),
    Key("y", NUMBERS, REQUIRED, "rad or m", "value at each x; linear beyond the ends", beside="kind!=polynomial"),
    Key("coefficients", NUMBERS, REQUIRED, "", "coefficients, highest power first", beside="kind=polynomial"),
    check=check_curve,
)
WRAP = Table(
    Key("cylinder", name("cylinder"), REQUIRED, "", "surface that the path can wrap"),
    Key("from", _POINT_NUMBER, 0, "", "first point of the segments that can wrap it, counted from 0"),
    Key("to", _POINT_NUMBER, OPTIONAL, "", "last point of these segments; the path's last by default"),
)
SPLINE = Table(
    Key("times", NUMBERS, REQUIRED, "s", "ascending times"),
    Key("values", NUMBERS, REQUIRED, "", "value at each time; constant beyond the ends"),
    Key("ends", choice("natural", "clamped"), "natural", "", "a clamped spline has no slope at its ends"),
    check=_check_spline,
)
ACTIVATION = Table(
    Key("type", choice(*ACTIVATIONS), "smooth", "", "equation of the activation"),
    Key("rise", POSITIVE, 0.015, "s", "time constant of rising activation"),
    Key("fall", POSITIVE, 0.06, "s", "time constant of falling activation"),
)
MUSCLE_MODEL = Table(
    Key("type", choice(*MUSCLES), REQUIRED, "", "model of the muscle's force"),
    Key("max_force", POSITIVE, REQUIRED, "N", "maximal force, or force per excitation", (*_HILL, "proportional")),
    Key("low", NUMBER, 0.0, "1", "smallest excitation", ("proportional",)),
    Key("high", NUMBER, 1.0, "1", "largest excitation", ("proportional",)),
    Key("stiffness", _LEAST, REQUIRED, "N/m", "stiffness of the spring", _SPRING),
    Key("rest_length", NUMBER, REQUIRED, "m", "length of the path at which the force is 0", _SPRING),
    Key("dissipation", _LEAST, 0.0, "s/m", "relative increase of the force per velocity of lengthening", _SPRING),
    Key("pushes", TRUTH, False, "", "whether the spring pushes below its rest length", _SPRING),
    Key("optimal_length", POSITIVE, REQUIRED, "m", "optimal length of the fibres", _HILL),
    Key("pennation", number(0.0, 1.4), 0.0, "rad", "angle of the fibres at the optimal length", _HILL),
    Key("activation", table(ACTIVATION), {"type": "smooth"}, "", "activation dynamics", _HILL),
    Key(
        "slack_length",
        NUMBER,
        REQUIRED,
        "m",
        "of the tendon; at least 0 with rigid ones, above 0 with compliant ones, any with MuJoCo's curves",
        _TENDONS,
    ),
    Key("max_velocity", POSITIVE, 10.0, "lengths/s", "largest shortening velocity, in optimal lengths", _TENDONS),
    Key("curves", choice(*CURVES), "de_groote", "", "force-length and force-velocity curves", _TENDONS),
    *(
        Key(name, _BOUNDS.get(name, POSITIVE), default, "1", f"of Thelen's curves: {meaning}", beside="curves=thelen")
        for name, default, meaning in THELEN_CURVES
    ),
    *(
        Key(name, _BOUNDS.get(name, _LEAST), default, "1", f"of MuJoCo's curves: {meaning}", beside="curves=mujoco")
        for name, default, meaning in MUJOCO_CURVES
    ),
    *(Key(name, _CURVE, REQUIRED, "", meaning, beside="curves=own") for name, meaning in OWN_CURVES),
    Key("fibre_damping", _LEAST, 0.0, "1", "maximal forces at the maximal velocity", beside="curves=own"),
    Key("clipped", TRUTH, False, "", "whether active force and damping add up to at least 0", beside="curves=own"),
    Key("stiffness", _LEAST, REQUIRED, "1", "short-range stiffness, in maximal forces per optimal length", _SHORT),
    Key("viscosity", _LEAST, 0.0, "s", "in maximal forces times seconds per optimal length", _SHORT),
    Key("force_length", _LEAST, 1.0, "1", "force at the reference length, in maximal forces", _SHORT),
    Key("reference_length", NUMBER, REQUIRED, "m", "length of the path at which stretch is 0", _SHORT),
    check=_check_muscle_model,
)
LENGTH = Table(
    Key("mean", POSITIVE, REQUIRED, "m", "length at the joint positions `at`"),
    Key("a", vector(), REQUIRED, "m or 1", "moment arms at these positions"),
    Key("at", vector(), OPTIONAL, "rad or m", "joint positions; 0 by default"),
    Key("B", PRODUCTS, [], "m/rad", "symmetric matrix: moment arms are a + B d, d = q - at"),
)
MUSCLE = Table(
    Key(
        "path",
        PATH,
        OPTIONAL,
        "m",
        "`[body, x, y, z]`, `{ cylinder = NAME }`, `{ point, joint, range }`, `{ pulley = N }`",
    ),
    Key("wraps", Form("list of tables", _wraps), [], "", "surfaces that any segment between two points can wrap"),
    Key("length", table(LENGTH), OPTIONAL, "", "length mean - a d - d B d / 2 with d = q - at, instead of a path"),
    Key("excitation", later("number from 0 to 1, or signal"), OPTIONAL, "1", "input of the activation; not of springs"),
    Key("model", table(MUSCLE_MODEL), REQUIRED, "", "muscle model and its constants"),
    check=_check_muscle,
)
SYNAPSE = Table(
    Key("from", SIGNAL, REQUIRED, "", "source"),
    Key("by", SIGNAL, OPTIONAL, "", "signal that multiplies the gain"),
    Key("gain", NUMBER, 1.0, "", "factor on (signal - offset)^power"),
    Key("offset", NUMBER, 0.0, "", "subtracted from the signal, in its unit"),
    Key("power", _POWER, 1.0, "1", "exponent of the magnitude of the difference, which keeps its sign"),
    Key("delay", _DELAY, 0.0, "s", "whole number of time steps"),
)
SHAPE = Table(
    Key("type", choice(*SHAPES), REQUIRED, "", "function of the sum"),
    Key("low", NUMBER, 0.0, "", "lower bound, or value for negative sums", _BOUNDED),
    Key("high", NUMBER, 1.0, "", "upper bound, or value for sums from 0", _BOUNDED),
    check=_check_shape,
)
NEURON = Table(
    Key("tau", POSITIVE, OPTIONAL, "s", "time constant of a leaky neuron: the sum becomes a state before the shape"),
    Key("start", NUMBER, 0.0, "", "initial value of the state", beside="tau"),
    Key("type", choice("sum", *_ORGANS), "sum", "", "sum of synapses, or a sense organ of a muscle with synapses"),
    Key("bias", NUMBER, 0.0, "", "added to the sum", ("sum",)),
    Key("muscle", name("muscle"), REQUIRED, "", "muscle of the organ", _ORGANS),
    Key("delay", _DELAY, 0.0, "s", "delay of the organ", _ORGANS),
    Key("gain", _LEAST, 333.0, "1/s", "increase of the rate at the maximal force, Prochazka (1999)", ("golgi",)),
    Key("threshold", _LEAST, 0.0, "N", "force at which the rate is `bias`", ("golgi",)),
    Key("bias", NUMBER, 0.0, "1/s", "rate at the threshold", ("golgi",)),
    Key("afferent", choice("Ia", "II"), "Ia", "", "type of the spindle's afferent", _SPINDLE),
    Key("length_gain", NUMBER, Per("afferent", {"Ia": 2000.0, "II": 13500.0}), "1/(m s)", "rate per length", _SPINDLE),
    Key("rest", NUMBER, OPTIONAL, "m", "reference length; by default that with optimal fibres", _SPINDLE),
    Key("velocity_gain", NUMBER, Per("afferent", {"Ia": 4.3 * 1e3**0.6, "II": 0.0}), "", "per speed^power", _SPINDLE),
    Key("power", _POWER, 0.6, "1", "exponent of the velocity", _SPINDLE),
    Key("coactivation", NUMBER, OPTIONAL, "1/s", "at full activation: 50 for Ia, 20 for II by default", _SPINDLE),
    Key("bias", NUMBER, Per("afferent", {"Ia": 50.0, "II": 80.0}), "1/s", "rate at rest", _SPINDLE),
    Key("shape", table(SHAPE), _SHAPES, "", "function of the sum; by default, organs are limited to 0 to 1000 1/s"),
    Key("synapse", several(SYNAPSE, LIMITS["synapses"]), [], "", "inputs; each adds gain (signal - offset)^power"),
)
MOTOR = Table(
    Key("joint", FREE_JOINT, REQUIRED, "", "joint on which the motor acts"),
    Key("from", SIGNAL, REQUIRED, "", "signal that drives the motor"),
    Key("gain", NUMBER, 1.0, "", "torque (N m) or force (N) per unit of the signal"),
)
_AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
PIN = Table(
    Key("rate", _LEAST, 20.0, "1/s", "decay rate of errors"),
    Key("joint", FREE_JOINT, OPTIONAL, "", "joint to constrain, instead of a point"),
    Key("point", POINT, REQUIRED, "m", "point to constrain", beside="no joint"),
    Key("to", POINT, REQUIRED, "m", "point to which it is pinned", beside="no joint"),
    Key("axes", DIRECTIONS, _AXES, "", "constrained directions", beside="no joint"),
    Key(
        "frame",
        choice("world", "body"),
        "world",
        "",
        "frame of the directions; `body`: that of `to`",
        beside="no joint",
    ),
    Key("motion", later("0 or `spline.NAME`, or a list"), 0, "", "prescribed distance by direction, or position"),
)
CONTACT = Table(
    Key("type", choice("rigid", "compliant"), "rigid", "", "a point that does not sink in, or an elastic sphere"),
    Key("tangent", DIRECTION, OPTIONAL, "", "direction of friction in planar models; for all contacts or none", _RIGID),
    Key("point", POINT, REQUIRED, "m", "point on a body that can touch the surface, or the centre of the sphere"),
    Key("radius", POSITIVE, REQUIRED, "m", "radius of the sphere", _COMPLIANT),
    Key("to", POINT, ("ground", 0, 0, 0), "m", "point on the plane, or the centre of the other sphere", _COMPLIANT),
    Key("to_radius", POSITIVE, OPTIONAL, "m", "radius of the other sphere; a plane without it", _COMPLIANT),
    Key(
        "normal",
        DIRECTION,
        (0.0, 1.0, 0.0),
        "",
        "normal of the surface; of a compliant one in the frame of `to`",
        beside="no to_radius",
    ),
    Key("height", NUMBER, 0.0, "m", "height of the surface along the normal", beside="no to_radius"),
    Key("friction", _LEAST, REQUIRED, "1", "Coulomb friction coefficient"),
    Key(
        "static_friction", _LEAST, OPTIONAL, "1", "friction coefficient before sliding; default `friction`", _COMPLIANT
    ),
    Key("viscous_friction", _LEAST, 0.0, "s/m", "friction coefficient per velocity of slip", _COMPLIANT),
    Key("transition_velocity", POSITIVE, 0.01, "m/s", "slip at which static friction is largest", _COMPLIANT),
    Key("stiffness", POSITIVE, REQUIRED, "Pa", "effective modulus of both surfaces", _COMPLIANT),
    Key("dissipation", _LEAST, 0.0, "s/m", "loss of speed per speed, of slow impacts", _COMPLIANT),
    Key("share", number(0.0, 1.0), 0.5, "1", "share of the indentation that the sphere takes", _COMPLIANT),
    check=_check_contact,
)
BUSHING = Table(
    Key("frame", BODY_FRAME, REQUIRED, "", "body or frame whose position is measured"),
    Key("to", BODY_FRAME, "ground", "", "body or frame in which it is measured"),
    Key("rotational_stiffness", _LEASTS, NOWHERE, "N m/rad", "of the angles about x, then y, then z"),
    Key("translational_stiffness", _LEASTS, NOWHERE, "N/m", "of the displacements along the axes of `to`"),
    Key("rotational_damping", _LEASTS, NOWHERE, "N m s/rad", "of the rates of the angles"),
    Key("translational_damping", _LEASTS, NOWHERE, "N s/m", "of the rates of the displacements"),
    check=_check_bushing,
)
PULSE = Table(
    Key("onset", _LEAST, 0.0, "s", "start of the pulse"),
    Key("duration", _LEAST, 0.0, "s", "duration of the pulse"),
    Key("peak", NUMBER, 0.0, "m/s^2", "peak acceleration of the half-sine pulse"),
    check=_check_pulse,
)
PLATFORM = Table(
    Key("axis", DIRECTION, (1.0, 0.0, 0.0), "", "direction of the ground's motion"),
    Key("pulse", several(PULSE, 64), {}, "", "acceleration of the ground, such as a ramp and its end; pulses add up"),
)
WRENCH = Table(
    Key("body", name("body"), REQUIRED, "", "body on which the wrench acts"),
    Key("at", vector(3), NOWHERE, "m", "point of application in the body"),
    Key("frame", choice("world", "body"), "world", "", "frame of the components"),
    Key("force", COMPONENTS, NOWHERE, "N", "a row's parameter `wrench` replaces the numbers and adds to the signals"),
    Key("moment", COMPONENTS, NOWHERE, "N m", "like `force`"),
)
MODEL = Table(
    Key("schema", later("1"), REQUIRED, "", "version of these tables"),
    Key("gravity", vector(3), NOWHERE, "m/s^2", "acceleration due to gravity"),
    Key("inputs", INPUTS, [], "", "inputs in the order of the drive; required for more than one"),
    Key("body", tables("body"), {}, "", "bodies; at least one"),
    Key("frame", tables("frame"), {}, "", "further frames for points, such as those of an imported model's bodies"),
    Key("curve", tables("curve"), {}, "", "functions for joints that follow another joint"),
    Key("cylinder", tables("cylinder"), {}, "", "surfaces that muscle paths wrap"),
    Key("muscle", tables("muscle"), {}, "", "muscles"),
    Key("neuron", tables("neuron"), {}, "", "neurons and sense organs of muscles"),
    Key("spline", tables("spline"), {}, "", "prescribed functions of time"),
    Key("motor", tables("motor"), {}, "", "torques or forces on joints"),
    Key("pin", tables("pin"), {}, "", "constraints on points and joints"),
    Key("contact", tables("contact"), {}, "", "points that can touch a surface; rigid ones are not possible with pins"),
    Key("bushing", tables("bushing"), {}, "", "springs and dampers of six directions between two frames"),
    Key("wrench", tables("wrench"), {}, "", "external forces and moments"),
    Key("platform", later("table"), {}, "", "motion of the ground"),
)
KINDS = {
    "": MODEL,
    "body.NAME": BODY,
    "body.NAME.joint": JOINT,
    "body.NAME.joint.limit": LIMIT,
    "body.NAME.inertial": INERTIAL,
    "frame.NAME": FRAME,
    "curve.NAME": CURVE,
    "muscle.NAME": MUSCLE,
    "muscle.NAME.wraps": WRAP,
    "muscle.NAME.model": MUSCLE_MODEL,
    "muscle.NAME.model.activation": ACTIVATION,
    "muscle.NAME.length": LENGTH,
    "cylinder.NAME": CYLINDER,
    "neuron.NAME": NEURON,
    "neuron.NAME.synapse": SYNAPSE,
    "neuron.NAME.shape": SHAPE,
    "spline.NAME": SPLINE,
    "motor.NAME": MOTOR,
    "pin.NAME": PIN,
    "contact.NAME": CONTACT,
    "bushing.NAME": BUSHING,
    "wrench.NAME": WRENCH,
    "platform": PLATFORM,
    "platform.pulse": PULSE,
}
"""Keys of each table."""
