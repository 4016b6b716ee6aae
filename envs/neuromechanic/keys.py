"""Keys of model files with allowed values, defaults, units and meanings, for the reader and the guides."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .reader import LARGEST, LIMITS, OPTIONAL, REQUIRED, SMALLEST, Form, Key, Names, Per, expect, is_number, limit, read

# Forms of values. Each check takes a value, its path in the model, and the names that it can refer to.


def number(low: float = -np.inf, high: float = np.inf) -> Form:
    """Return the form of a number from ``low`` to ``high``."""
    says = f"from {low:g} to {high:g}" if high < np.inf else f"of at least {low:g}" if low > -np.inf else ""

    def check(value: Any, path: str, names: Names) -> float:
        expect(is_number(value) and low <= value <= high, path, f"be a number {says or 'that is finite'}", value)
        return float(value)

    return Form(f"number {says}".strip(), check)


def vector(*sizes: int) -> Form:
    """Return the form of a list of numbers with one of the ``sizes``; by default, one number per joint."""

    def check(value: Any, path: str, names: Names) -> list[float]:
        allowed = sizes or (len(names.entries["joint"]),)
        count = " or ".join(map(str, allowed))
        expect(_is_list(value, *allowed) and all(map(is_number, value)), path, f"be a list of {count} numbers", value)
        return list(map(float, value))

    return Form(f"list of {' or '.join(map(str, sizes)) or 'n'} numbers", check)


def _is_list(value: Any, *sizes: int) -> bool:
    return isinstance(value, list | tuple) and (not sizes or len(value) in sizes)


def _numbers(value: Any, path: str, names: Names) -> list[float]:
    numeric = _is_list(value) and len(value) > 1 and all(map(is_number, value))
    expect(numeric, path, "be a list of at least 2 numbers", value)
    return list(map(float, value))


def _direction(value: Any, path: str, names: Names) -> NDArray[np.float64]:
    direction = np.array(vector(3).read(value, path, names))
    size = float(np.linalg.norm(direction))
    expect(size > SMALLEST, path, "not be zero", direction)
    return direction / size


def _directions(value: Any, path: str, names: Names) -> list[NDArray[np.float64]]:
    expect(_is_list(value) and len(value) > 0, path, "be a list of directions", value)
    return [_direction(axis, f"{path}.[{i}]", names) for i, axis in enumerate(value)]


def choice(*allowed: str) -> Form:
    """Return the form of one of the ``allowed`` words."""

    def check(value: Any, path: str, names: Names) -> str:
        expect(isinstance(value, str) and value in allowed, path, f"be one of {', '.join(allowed)}", value)
        return value

    return Form(", ".join(f"`{word}`" for word in allowed), check)


def name(kind: str, ground: bool = False) -> Form:
    """Return the form of the name of a table, which is read as its index."""
    says = f"name of a {kind}" + ' or "ground"' * ground
    return Form(says, lambda value, path, names: names.index(kind, value, path, ground))


def table(keys: Sequence[Key]) -> Form:
    """Return the form of a table with these keys."""
    return Form("table", lambda value, path, names: read(keys, value, path, names))


def several(keys: Sequence[Key], most: int) -> Form:
    """Return the form of a table with these keys or a list of up to ``most`` tables; both are read as a list."""

    def check(value: Any, path: str, names: Names) -> list[dict[str, Any]]:
        if not _is_list(value):
            return [read(keys, value, path, names)]
        expect(len(value) <= most, path, f"hold at most {most} tables", len(value))
        return [read(keys, entry, f"{path}[{i}]", names) for i, entry in enumerate(value)]

    return Form("table or list of tables", check)


def tables(kind: str) -> Form:
    """Return the form of a table of named tables, which are read later."""

    def check(value: Any, path: str, names: Names) -> Mapping[str, Any]:
        expect(isinstance(value, Mapping), kind, "be a table of tables", value)
        if len(value) > LIMITS[kind]:
            raise ValueError(f"{kind} must hold at most {LIMITS[kind]} tables, got {len(value)}")
        for name, values in value.items():
            expect(isinstance(values, Mapping), f"{kind}.{name}", "be a table", values)
        return value

    return Form(f"tables `[{kind}.NAME]`", check)


def _share_or_signal(value: Any, path: str, names: Names) -> float | tuple[int, int]:
    return number(0.0, 1.0).read(value, path, names) if is_number(value) else names.signal(value, path)


def _components(value: Any, path: str, names: Names) -> list[float | tuple[int, int]]:
    expect(_is_list(value, 3), path, "be a list of 3 numbers or signals", value)
    return [part if is_number(part) else names.signal(part, f"{path}[{i}]") for i, part in enumerate(value)]


def _products(value: Any, path: str, names: Names) -> NDArray[np.float64]:
    """Return the symmetric matrix with the entries [i, j, value]."""
    n, what = len(names.entries["joint"]), "be a list of [i, j, value]"
    expect(isinstance(value, list), path, what, value)
    B = np.zeros((n, n))
    for entry in value:
        numeric = _is_list(entry, 3) and all(map(is_number, entry))
        within = numeric and all(int(i) == i and 0 <= i < n for i in entry[:2])
        expect(within, path, f"{what} with i, j below {n}", entry)
        i, j = int(entry[0]), int(entry[1])
        B[i, j] = B[j, i] = entry[2]
    return B


def _input_names(value: Any, path: str, names: Names) -> list[str]:
    worded = _is_list(value) and all(isinstance(entry, str) and entry for entry in value)
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
    expect(_is_list(value) and len(value) > 1, path, "be a list of at least 2 points", value)
    points: list[tuple[Any, ...]] = []
    share = 1.0
    for i, entry in enumerate(value):
        here = f"{path}[{i}]"
        if not isinstance(entry, Mapping):
            points.append((*names.point(entry, here), -1, *ALWAYS, share))
            continue
        if "point" in entry:
            point = read(_CONDITIONAL, entry, here, names)
            expect(point["range"][0] < point["range"][1], f"{here}.range", "be [low, high]", point["range"])
            points.append((*point["point"], -1, point["joint"], point["range"], share))
            continue
        around = [{}, *value][i], [*value, {}][i + 1]
        expect(not any(isinstance(other, Mapping) for other in around), here, "be between two points", entry)
        if "pulley" in entry:
            share = 1.0 / read(_PULLEY, entry, here, names)["pulley"]
            points[-1] = (*points[-1][:-1], 0.0)
        else:
            points.append((-1, [0.0] * 3, read(_SURFACE, entry, here, names)["cylinder"], *ALWAYS, share))
    return points


def _text(value: Any, path: str, names: Names) -> str:
    expect(isinstance(value, str), path, "be a name", value)
    return str(value)


def _truth(value: Any, path: str, names: Names) -> bool:
    expect(isinstance(value, bool), path, "be true or false", value)
    return bool(value)


NUMBER, DIRECTION = number(), Form("direction", _direction)
POSITIVE = number(SMALLEST)._replace(says="number above 0")
SIGNAL = Form("signal", lambda value, path, names: names.signal(value, path))
JOINT = Form("name of a joint", lambda value, path, names: names.joint(value, path))
POINT = Form('`[body or "ground", x, y, z]`', lambda value, path, names: names.point(value, path))
NUMBERS, DIRECTIONS = Form("list of numbers", _numbers), Form("list of directions", _directions)
_CONDITIONAL = (
    Key("point", POINT, REQUIRED, "m", ""),
    Key("joint", JOINT, REQUIRED, "", ""),
    Key("range", vector(2), REQUIRED, "rad or m", ""),
)
_PULLEY = (Key("pulley", POSITIVE, REQUIRED, "", ""),)
_SURFACE = (Key("cylinder", name("cylinder"), REQUIRED, "", ""),)
PATH, PRODUCTS = Form("list of points", _points), Form("list of `[i, j, value]`", _products)
SHARE, COMPONENTS = Form("number or signal", _share_or_signal), Form("list of 3 numbers or signals", _components)
INPUTS = Form("list of names", _input_names)


def _side(value: Any, path: str, names: Names) -> NDArray[np.float64] | str:
    """Read a direction, or one of the words for surfaces without a side."""
    return str(value) if isinstance(value, str) and value in ("any", "inside") else _direction(value, path, names)


SIDES = Form('direction, "any" or "inside"', _side)


def later(says: str) -> Form:
    """Return the form of a value that is checked later, because it depends on other tables."""
    return Form(says, lambda value, path, names: value)


# Keys

LONGEST_DELAY = 10.0
"""Longest delay of a synapse, s."""

MUSCLES = ("rigid_tendon", "compliant_tendon", "short_range", "proportional")
CURVES = ("de_groote", "thelen", "mujoco", "own")
ACTIVATIONS = ("smooth", "switched", "zajac")
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
"""Words that some keys accept, in the order of the kernels' constants in `muscles` and `nerves`."""

COACTIVATION = {"Ia": 50.0, "II": 20.0}
"""Rate (1/s) of an afferent at full activation.

The equation for spindles is from Prochazka & Gorassini (1998, J Physiol 507:277-291). This constant and the defaults in
`NEURON` are values of cats' afferents from Prochazka (1999, Prog Brain Res 123:133-142).
"""

NOWHERE = (0.0, 0.0, 0.0)
_RATE = {"type": "saturate", "low": 0.0, "high": 1000.0}  # 1/s, of afferents
_SHAPES = Per("type", {"sum": {"type": "linear"}, "spindle": _RATE, "golgi": _RATE})
_RANGES = Per("type", {"revolute": (-math.pi, math.pi), "prismatic": (-10.0, 10.0)})
_TENDONS = ("rigid_tendon", "compliant_tendon")
_HILL, _SHORT, _HINGES = (*_TENDONS, "short_range"), ("short_range",), ("revolute", "prismatic")
_ORGANS, _SPINDLE, _BOUNDED = ("spindle", "golgi"), ("spindle",), ("heaviside", "saturate")
_DELAY = number(0.0, LONGEST_DELAY)
_POWER = number(0.01, 10.0)
_LEAST = number(0.0)
_ABOVE_1 = number(1.0 + 1e-12)
_CURVE = name("curve")
_BOUNDS = {"lmin": number(0.0, 1.0 - 1e-12), "lmax": _ABOVE_1, "fvmax": number(1.0), "eccentric": _ABOVE_1}
"""Forms of constants of the curves that have other bounds than 0; ends of the active curve cannot be 1."""

LIMIT = (
    Key("low", NUMBER, REQUIRED, "rad or m", "lower bound; the limit acts below it"),
    Key("high", NUMBER, REQUIRED, "rad or m", "upper bound; the limit acts above it"),
    Key("stiffness", vector(1, 2), REQUIRED, "N m/rad or N/m", "beyond both bounds, or beyond the lower and the upper"),
    Key("damping", _LEAST, 0.0, "N m s/rad or N s/m", "damping beyond the bounds"),
    Key("transition", POSITIVE, REQUIRED, "rad or m", "distance beyond a bound over which both rise from 0"),
)
JOINT_KEYS = (
    Key("type", choice("revolute", "prismatic", "ball", "free"), REQUIRED, "", "motion of the body in its parent"),
    Key("axis", DIRECTION, REQUIRED, "", "axis of rotation or direction of sliding", _HINGES),
    Key("at", vector(3), NOWHERE, "m", "position of the joint in the parent"),
    Key("follows", Form("name of a body", _text), OPTIONAL, "", "leader: its joint determines this joint", _HINGES),
    Key("by", name("curve"), OPTIONAL, "", "position as a function of the leader's", _HINGES, "follows"),
    Key("gain", NUMBER, 1.0, "", "factor on the leader's position", _HINGES, "no by"),
    Key("offset", NUMBER, 0.0, "rad or m", "added to the position", _HINGES, "no by"),
    Key("fixed", NUMBER, OPTIONAL, "rad or m", "position of a locked joint", _HINGES),
    Key("damping", _LEAST, 0.0, "N m s/rad or N s/m", "damping of the joint", (*_HINGES, "ball")),
    Key("armature", _LEAST, 0.0, "kg m^2 or kg", "inertia of the joint itself, such as that of a rotor", _HINGES),
    Key("stiffness", _LEAST, 0.0, "N m/rad or N/m", "stiffness of a spring in the joint", _HINGES),
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
)
INERTIAL = (
    Key("mass", _LEAST, REQUIRED, "kg", "mass of the body"),
    Key("inertia", vector(3, 6), NOWHERE, "kg m^2", "about the centre of mass: xx, yy, zz and optionally xy, xz, yz"),
    Key("exact", Form("true or false", _truth), False, "", "whether to accept a physically impossible inertia"),
    Key("centre", vector(3), NOWHERE, "m", "centre of mass"),
)
BODY = (
    Key("parent", name("body", ground=True), "ground", "", "body to which the joint connects"),
    Key("joint", table(JOINT_KEYS), REQUIRED, "", "joint between parent and body"),
    Key("inertial", table(INERTIAL), {"mass": 0.0}, "", "mass properties; massless bodies must carry bodies with mass"),
)
FRAME = (
    Key("body", name("body", ground=True), REQUIRED, "", "body that the frame is fixed to"),
    Key("at", vector(3), NOWHERE, "m", "origin in the body"),
    Key("attitude", vector(4), (1.0, 0.0, 0.0, 0.0), "1", "unit quaternion w, x, y, z of the axes in the body"),
)
CYLINDER = (
    Key("body", name("body", ground=True), REQUIRED, "", "body that the surface is fixed to"),
    Key("type", choice("cylinder", "sphere"), "cylinder", "", "shape of the surface"),
    Key("at", vector(3), REQUIRED, "m", "a point on the axis, or the centre of a sphere"),
    Key("axis", DIRECTION, REQUIRED, "", "axis of the cylinder", ("cylinder",)),
    Key("side", SIDES, REQUIRED, "", "side on which paths wrap it, or inside it", ("cylinder",)),
    Key("side", SIDES, "any", "", "side on which paths wrap it by MuJoCo's rule, or inside it", ("sphere",)),
    Key("rule", choice("opensim", "mujoco"), "opensim", "", "program that defines when paths wrap", ("cylinder",)),
    Key("radius", POSITIVE, REQUIRED, "m", "radius of the surface"),
    Key("length", POSITIVE, LARGEST, "m", "length with `at` in the middle; paths do not wrap beyond it", ("cylinder",)),
)
CURVE = (
    Key("kind", choice(*CURVE_KINDS), REQUIRED, "", "cubic spline of SIMM, linear interpolation, or polynomial"),
    Key("x", NUMBERS, REQUIRED, "rad or m", "ascending arguments", beside="kind!=polynomial"),
    Key("y", NUMBERS, REQUIRED, "rad or m", "value at each x; linear beyond the ends", beside="kind!=polynomial"),
    Key("coefficients", NUMBERS, REQUIRED, "", "coefficients, highest power first", beside="kind=polynomial"),
)
WRAP = (
    Key("cylinder", name("cylinder"), REQUIRED, "", "surface that the path can wrap"),
    Key("from", later("number of a point"), 0, "", "first point of the segments that can wrap it, counted from 0"),
    Key("to", later("number of a point"), OPTIONAL, "", "last point of these segments; the path's last by default"),
)
SPLINE = (
    Key("times", NUMBERS, REQUIRED, "s", "ascending times"),
    Key("values", NUMBERS, REQUIRED, "", "value at each time; constant beyond the ends"),
    Key("ends", choice("natural", "clamped"), "natural", "", "a clamped spline has no slope at its ends"),
)
ACTIVATION = (
    Key("type", choice(*ACTIVATIONS), "smooth", "", "equation of the activation"),
    Key("rise", POSITIVE, 0.015, "s", "time constant of rising activation"),
    Key("fall", POSITIVE, 0.06, "s", "time constant of falling activation"),
)
MUSCLE_MODEL = (
    Key("type", choice(*MUSCLES), REQUIRED, "", "model of the muscle's force"),
    Key("max_force", POSITIVE, REQUIRED, "N", "maximal force"),
    Key("optimal_length", POSITIVE, REQUIRED, "m", "optimal length of the fibres", _HILL),
    Key("pennation", number(0.0, 1.4), 0.0, "rad", "angle of the fibres at the optimal length", _HILL),
    Key("activation", table(ACTIVATION), {"type": "smooth"}, "", "activation dynamics", _HILL),
    Key("slack_length", NUMBER, REQUIRED, "m", "of the tendon; above 0 except with MuJoCo's curves", _TENDONS),
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
    Key("stiffness", _LEAST, REQUIRED, "1", "short-range stiffness, in maximal forces per optimal length", _SHORT),
    Key("viscosity", _LEAST, 0.0, "s", "in maximal forces times seconds per optimal length", _SHORT),
    Key("force_length", _LEAST, 1.0, "1", "force at the reference length, in maximal forces", _SHORT),
    Key("reference_length", NUMBER, REQUIRED, "m", "length of the path at which stretch is 0", _SHORT),
)
LENGTH = (
    Key("mean", POSITIVE, REQUIRED, "m", "length at the joint positions `at`"),
    Key("a", vector(), REQUIRED, "m or 1", "moment arms at these positions"),
    Key("at", vector(), OPTIONAL, "rad or m", "joint positions; 0 by default"),
    Key("B", PRODUCTS, [], "m/rad", "symmetric matrix: moment arms are a + B d, d = q - at"),
)
MUSCLE = (
    Key(
        "path",
        PATH,
        OPTIONAL,
        "m",
        "`[body, x, y, z]`, `{ cylinder = NAME }`, `{ point, joint, range }`, `{ pulley = N }`",
    ),
    Key("wraps", later("list of tables"), OPTIONAL, "", "surfaces that any segment between two points can wrap"),
    Key("length", table(LENGTH), OPTIONAL, "", "length mean - a d - d B d / 2 with d = q - at, instead of a path"),
    Key("excitation", later("number from 0 to 1, or signal"), REQUIRED, "1", "input of the activation"),
    Key("model", table(MUSCLE_MODEL), REQUIRED, "", "muscle model and its constants"),
)
SYNAPSE = (
    Key("from", SIGNAL, REQUIRED, "", "source"),
    Key("by", SIGNAL, OPTIONAL, "", "signal that multiplies the gain"),
    Key("gain", NUMBER, 1.0, "", "factor on (signal - offset)^power"),
    Key("offset", NUMBER, 0.0, "", "subtracted from the signal, in its unit"),
    Key("power", _POWER, 1.0, "1", "exponent of the magnitude of the difference, which keeps its sign"),
    Key("delay", _DELAY, 0.0, "s", "whole number of time steps"),
)
SHAPE = (
    Key("type", choice(*SHAPES), REQUIRED, "", "function of the sum"),
    Key("low", NUMBER, 0.0, "", "lower bound, or value for negative sums", _BOUNDED),
    Key("high", NUMBER, 1.0, "", "upper bound, or value for sums from 0", _BOUNDED),
)
NEURON = (
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
MOTOR = (
    Key("joint", JOINT, REQUIRED, "", "joint on which the motor acts"),
    Key("from", SIGNAL, REQUIRED, "", "signal that drives the motor"),
    Key("gain", NUMBER, 1.0, "", "torque (N m) or force (N) per unit of the signal"),
)
_AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
PIN = (
    Key("rate", _LEAST, 20.0, "1/s", "decay rate of errors"),
    Key("joint", JOINT, OPTIONAL, "", "joint to constrain, instead of a point"),
    Key("point", POINT, REQUIRED, "m", "point to constrain", beside="no joint"),
    Key("to", POINT, REQUIRED, "m", "point to which it is pinned", beside="no joint"),
    Key("axes", DIRECTIONS, _AXES, "", "constrained directions", beside="no joint"),
    Key("motion", later("0 or `spline.NAME`, or a list"), 0, "", "prescribed distance by direction, or position"),
)
CONTACT = (
    Key("tangent", DIRECTION, OPTIONAL, "", "direction of friction in planar models; for all contacts or none"),
    Key("point", POINT, REQUIRED, "m", "point on a body that can touch the surface"),
    Key("normal", DIRECTION, (0.0, 1.0, 0.0), "", "normal of the surface"),
    Key("height", NUMBER, 0.0, "m", "height of the surface along the normal"),
    Key("friction", _LEAST, REQUIRED, "1", "Coulomb friction coefficient"),
)
PULSE = (
    Key("onset", _LEAST, 0.0, "s", "start of the pulse"),
    Key("duration", _LEAST, 0.0, "s", "duration of the pulse"),
    Key("peak", NUMBER, 0.0, "m/s^2", "peak acceleration of the half-sine pulse"),
)
PLATFORM = (
    Key("axis", DIRECTION, (1.0, 0.0, 0.0), "", "direction of the ground's motion"),
    Key("pulse", several(PULSE, 64), {}, "", "acceleration of the ground, such as a ramp and its end; pulses add up"),
)
WRENCH = (
    Key("body", name("body"), REQUIRED, "", "body on which the wrench acts"),
    Key("at", vector(3), NOWHERE, "m", "point of application in the body"),
    Key("frame", choice("world", "body"), "world", "", "frame of the components"),
    Key("force", COMPONENTS, NOWHERE, "N", "a row's parameter `wrench` replaces the numbers and adds to the signals"),
    Key("moment", COMPONENTS, NOWHERE, "N m", "like `force`"),
)
MODEL = (
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
    Key("contact", tables("contact"), {}, "", "points that can touch a surface; not possible with pins"),
    Key("wrench", tables("wrench"), {}, "", "external forces and moments"),
    Key("platform", later("table"), {}, "", "motion of the ground"),
)
KINDS = {
    "": MODEL,
    "body.NAME": BODY,
    "body.NAME.joint": JOINT_KEYS,
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
    "wrench.NAME": WRENCH,
    "platform": PLATFORM,
    "platform.pulse": PULSE,
}
"""Keys of each table."""
