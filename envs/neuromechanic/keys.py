"""The keys of models, as a table: what each may hold, its default, unit and meaning. Reader and guides use it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .reader import LARGEST, LIMITS, OPTIONAL, REQUIRED, SMALLEST, Form, Key, Names, Per, expect, is_number, limit, read

# What keys hold: each function checks a value, given its path and the names that it may refer to.


def number(low: float = -np.inf, high: float = np.inf) -> Form:
    """A number within limits."""
    says = f"from {low:g} to {high:g}" if high < np.inf else f"of at least {low:g}" if low > -np.inf else ""

    def check(value: Any, path: str, names: Names) -> float:
        expect(is_number(value) and low <= value <= high, path, f"be a number {says or 'that is finite'}", value)
        return float(value)

    return Form(f"number {says}".strip(), check)


def vector(*sizes: int) -> Form:
    """A list of so many numbers; without sizes, a number for each joint."""

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
    """One of some words."""

    def check(value: Any, path: str, names: Names) -> str:
        expect(isinstance(value, str) and value in allowed, path, f"be one of {', '.join(allowed)}", value)
        return value

    return Form(", ".join(f"`{word}`" for word in allowed), check)


def name(kind: str, ground: bool = False) -> Form:
    """The name of a table of some kind, of which the index is kept."""
    says = f"name of a {kind}" + ' or "ground"' * ground
    return Form(says, lambda value, path, names: names.index(kind, value, path, ground))


def table(keys: Sequence[Key]) -> Form:
    """A table with these keys."""
    return Form("table", lambda value, path, names: read(keys, value, path, names))


def several(keys: Sequence[Key], most: int) -> Form:
    """A table with these keys, or a list of up to ``most``; a list either way."""

    def check(value: Any, path: str, names: Names) -> list[dict[str, Any]]:
        if not _is_list(value):
            return [read(keys, value, path, names)]
        expect(len(value) <= most, path, f"hold at most {most} tables", len(value))
        return [read(keys, entry, f"{path}[{i}]", names) for i, entry in enumerate(value)]

    return Form("table or list of tables", check)


def tables(kind: str) -> Form:
    """A table of tables of a kind, by their names; they are read later."""

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
    """Symmetric matrix of the entries [i, j, value]."""
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
"""Joint and range of a point that is always there."""


def _points(value: Any, path: str, names: Names) -> list[tuple[Any, ...]]:
    """Read the points of a path: body, place, cylinder that stands for it or -1, joint on which it depends, range.

    Last is the share by which the piece that begins there counts, 0 before a pulley.
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
        expect(not any(isinstance(other, Mapping) for other in around), here, "stand between two points", entry)
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
    """A direction, or how a path that has none keeps to a surface."""
    return str(value) if isinstance(value, str) and value in ("any", "inside") else _direction(value, path, names)


SIDES = Form('direction, "any" or "inside"', _side)


def later(says: str) -> Form:
    """What is checked by those who make something of it, as it depends on other tables."""
    return Form(says, lambda value, path, names: value)


# The table

LONGEST_DELAY = 10.0
"""The longest delay of a synapse, s."""

MUSCLES = ("rigid_tendon", "compliant_tendon", "short_range", "proportional")
CURVES = ("de_groote", "thelen", "mujoco")
ACTIVATIONS = ("smooth", "switched", "zajac")
THELEN_CURVES = (
    ("tendon_strain", 0.04, "strain of the tendon at the maximal force"),
    ("passive_strain", 0.6, "strain at which passive fibres bear the maximal force"),
    ("passive_shape", 5.0, "exponent of passive fibres"),
    ("active_shape", 0.45, "width of the active curve"),
    ("eccentric", 1.4, "force of lengthening fibres at most, in isometric forces; above 1"),
    ("concave", 0.25, "curvature of the force-velocity curve"),
)
"""Constants of the curves of Thelen (2003), J Biomech Eng 125:70-77, as printed for young adults, in kernels' order."""
MUJOCO_CURVES = (
    ("lmin", 0.5, "least length of active fibres, in optimal lengths"),
    ("lmax", 1.6, "greatest length of active fibres"),
    ("fvmax", 1.2, "force of lengthening fibres at most, in isometric forces; above 1"),
    ("fpmax", 1.3, "passive force at the greatest length, by MuJoCo's own words; see its formula"),
)
"""Constants of the curves of MuJoCo's muscles, by its names and with its defaults, in kernels' order."""
CURVE_KINDS = ("simm", "linear", "polynomial")
SHAPES = ("linear", "sigmoid", "tanh", "heaviside", "saturate")
"""Words of the keys below, in the order of the kernels' constants in `muscles` and `nerves`."""

COACTIVATION = {"Ia": 50.0, "II": 20.0}
"""Rate (1/s) at full activation by afferent. With `NEURON`'s rates at rest (1/s), per m and per (m/s)^0.6 these are of
the cat's afferents: the form is that of Prochazka & Gorassini (1998, J Physiol 507:277-291), the constants those of
Prochazka (1999, Prog Brain Res 123:133-142), as models of spinal reflexes use them."""

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
_BOUNDS = {"lmin": number(0.0, 1.0 - 1e-12), "lmax": _ABOVE_1, "fvmax": number(1.0), "eccentric": _ABOVE_1}
"""Of constants of the curves: those that are ends of the active curve are not 1."""

LIMIT = (
    Key("low", NUMBER, REQUIRED, "rad or m", "position below which it pushes"),
    Key("high", NUMBER, REQUIRED, "rad or m", "position above which it pushes"),
    Key("stiffness", vector(1, 2), REQUIRED, "N m/rad or N/m", "beyond both bounds, or the low one and the high one"),
    Key("damping", _LEAST, 0.0, "N m s/rad or N s/m", "beyond them"),
    Key("transition", POSITIVE, REQUIRED, "rad or m", "way beyond a bound over which both rise from 0"),
)
JOINT_KEYS = (
    Key("type", choice("revolute", "prismatic", "ball", "free"), REQUIRED, "", "how the body moves in its parent"),
    Key("axis", DIRECTION, REQUIRED, "", "about or along which it moves", _HINGES),
    Key("at", vector(3), NOWHERE, "m", "where the joint is in the parent"),
    Key("follows", Form("name of a body", _text), OPTIONAL, "", "whose joint's position decides this one's", _HINGES),
    Key("by", name("curve"), OPTIONAL, "", "function that gives this position", _HINGES, "follows"),
    Key("gain", NUMBER, 1.0, "", "or factor on that one's", _HINGES, "no by"),
    Key("offset", NUMBER, 0.0, "rad or m", "and what is added", _HINGES, "no by"),
    Key("fixed", NUMBER, OPTIONAL, "rad or m", "position in which it is locked", _HINGES),
    Key("damping", _LEAST, 0.0, "N m s/rad or N s/m", "of the joint", (*_HINGES, "ball")),
    Key("armature", _LEAST, 0.0, "kg m^2 or kg", "inertia of the joint alone, of a rotor for instance", _HINGES),
    Key("stiffness", _LEAST, 0.0, "N m/rad or N/m", "of a spring in the joint", _HINGES),
    Key("start", NUMBER, 0.0, "rad or m", "position at the beginning", _HINGES),
    Key("rest", NUMBER, 0.0, "rad or m", "position in which the spring rests", _HINGES),
    Key(
        "range",
        vector(2),
        _RANGES,
        "rad or m",
        "beyond which tasks end an episode, and in which they start it; nothing stops the joint, but a `limit`",
        _HINGES,
    ),
    Key("limit", several(LIMIT, 8), OPTIONAL, "", "torque that holds the joint back; several add up", _HINGES),
    Key("start", vector(3), NOWHERE, "m", "x, y and z at the beginning", ("free",)),
    Key("attitude", vector(4), (1.0, 0.0, 0.0, 0.0), "1", "quaternion w, x, y, z at the beginning", ("ball", "free")),
)
INERTIAL = (
    Key("mass", _LEAST, REQUIRED, "kg", "of the body"),
    Key("inertia", vector(3, 6), NOWHERE, "kg m^2", "about the centre: xx, yy, zz, and perhaps xy, xz, yz"),
    Key("exact", Form("true or false", _truth), False, "", "whether it is taken even where no body can have it"),
    Key("centre", vector(3), NOWHERE, "m", "of mass"),
)
BODY = (
    Key("parent", name("body", ground=True), "ground", "", "what its joint is fixed to"),
    Key("joint", table(JOINT_KEYS), REQUIRED, "", "how it moves"),
    Key("inertial", table(INERTIAL), {"mass": 0.0}, "", "its mass; a body without needs others that it carries"),
)
CYLINDER = (
    Key("body", name("body", ground=True), REQUIRED, "", "what it is fixed to"),
    Key("type", choice("cylinder", "sphere"), "cylinder", "", "its form"),
    Key("at", vector(3), REQUIRED, "m", "a point of its axis, or its centre"),
    Key("axis", DIRECTION, REQUIRED, "", "of the cylinder", ("cylinder",)),
    Key("side", SIDES, REQUIRED, "", "the way round it that paths take, or through it", ("cylinder",)),
    Key("side", SIDES, "any", "", "likewise, by MuJoCo's rule", ("sphere",)),
    Key("rule", choice("opensim", "mujoco"), "opensim", "", "whose rule decides when paths take it", ("cylinder",)),
    Key("radius", POSITIVE, REQUIRED, "m", "of it"),
    Key("length", POSITIVE, LARGEST, "m", "beyond which paths do not touch it, `at` in its middle", ("cylinder",)),
)
CURVE = (
    Key(
        "kind",
        choice(*CURVE_KINDS),
        REQUIRED,
        "",
        "cubics through points, as of SIMM; lines; or a polynomial",
    ),
    Key("x", NUMBERS, REQUIRED, "rad or m", "ascending", beside="kind!=polynomial"),
    Key("y", NUMBERS, REQUIRED, "rad or m", "one for each x; straight beyond the ends", beside="kind!=polynomial"),
    Key("coefficients", NUMBERS, REQUIRED, "", "highest power first", beside="kind=polynomial"),
)
WRAP = (
    Key("cylinder", name("cylinder"), REQUIRED, "", "that it may wrap"),
    Key("from", later("number of a point"), 0, "", "from which on, counted from 0"),
    Key("to", later("number of a point"), OPTIONAL, "", "up to which; the last one by default"),
)
SPLINE = (
    Key("times", NUMBERS, REQUIRED, "s", "ascending"),
    Key("values", NUMBERS, REQUIRED, "", "one for each time; those at the ends hold beyond"),
    Key("ends", choice("natural", "clamped"), "natural", "", "a clamped spline begins and ends at rest"),
)
ACTIVATION = (
    Key("type", choice(*ACTIVATIONS), "smooth", "", "equation of the activation"),
    Key("rise", POSITIVE, 0.015, "s", "time constant of rising activation"),
    Key("fall", POSITIVE, 0.06, "s", "time constant of falling activation"),
)
MUSCLE_MODEL = (
    Key("type", choice(*MUSCLES), REQUIRED, "", "how its force follows"),
    Key("max_force", POSITIVE, REQUIRED, "N", "maximal force"),
    Key("optimal_length", POSITIVE, REQUIRED, "m", "of the fibres", _HILL),
    Key("pennation", number(0.0, 1.4), 0.0, "rad", "angle of the fibres at the optimal length", _HILL),
    Key("activation", table(ACTIVATION), {"type": "smooth"}, "", "how activation follows excitation", _HILL),
    Key("slack_length", NUMBER, REQUIRED, "m", "of the tendon, above 0 but with MuJoCo's curves", _TENDONS),
    Key("max_velocity", POSITIVE, 10.0, "lengths/s", "at which fibres shorten at most, in optimal lengths", _TENDONS),
    Key("curves", choice(*CURVES), "de_groote", "", "of force by length and velocity", _TENDONS),
    *(
        Key(name, _BOUNDS.get(name, POSITIVE), default, "1", f"of Thelen's curves: {meaning}", beside="curves=thelen")
        for name, default, meaning in THELEN_CURVES
    ),
    *(
        Key(name, _BOUNDS.get(name, _LEAST), default, "1", f"of MuJoCo's curves: {meaning}", beside="curves=mujoco")
        for name, default, meaning in MUJOCO_CURVES
    ),
    Key("stiffness", _LEAST, REQUIRED, "1", "short-range stiffness, in maximal forces per optimal length", _SHORT),
    Key("viscosity", _LEAST, 0.0, "s", "in maximal forces times seconds per optimal length", _SHORT),
    Key("force_length", _LEAST, 1.0, "1", "force at the reference length, in maximal forces", _SHORT),
    Key("reference_length", NUMBER, REQUIRED, "m", "of the path, from which stretch counts", _SHORT),
)
LENGTH = (
    Key("mean", POSITIVE, REQUIRED, "m", "length where all joints are `at`"),
    Key("a", vector(), REQUIRED, "m or 1", "moment arms there"),
    Key("at", vector(), OPTIONAL, "rad or m", "positions of the joints; 0 by default"),
    Key("B", PRODUCTS, [], "m/rad", "symmetric matrix: moment arms are a + B d"),
)
MUSCLE = (
    Key(
        "path",
        PATH,
        OPTIONAL,
        "m",
        "`[body, x, y, z]`, `{ cylinder = NAME }`, `{ point, joint, range }`, `{ pulley = N }`",
    ),
    Key("wraps", later("list of tables"), OPTIONAL, "", "cylinders that it may wrap in any of some segments"),
    Key(
        "length",
        table(LENGTH),
        OPTIONAL,
        "",
        "instead of a path: mean - a d - d B d / 2 in d = q - at",
    ),
    Key("excitation", later("number from 0 to 1, or signal"), REQUIRED, "1", "what activates it"),
    Key("model", table(MUSCLE_MODEL), REQUIRED, "", "what its force follows from"),
)
SYNAPSE = (
    Key("from", SIGNAL, REQUIRED, "", "what it hears"),
    Key("by", SIGNAL, OPTIONAL, "", "a signal that multiplies the gain"),
    Key("gain", NUMBER, 1.0, "", "times what is heard, less the offset"),
    Key("offset", NUMBER, 0.0, "", "in the unit of the signal"),
    Key("power", _POWER, 1.0, "1", "to which that difference is raised, with its sign"),
    Key("delay", _DELAY, 0.0, "s", "in whole time steps"),
)
SHAPE = (
    Key("type", choice(*SHAPES), REQUIRED, "", "function of the sum"),
    Key("low", NUMBER, 0.0, "", "lower bound, or value below 0", _BOUNDED),
    Key("high", NUMBER, 1.0, "", "upper bound, or value from 0 on", _BOUNDED),
)
NEURON = (
    Key("tau", POSITIVE, OPTIONAL, "s", "time constant of what is shaped, which is a state then"),
    Key("start", NUMBER, 0.0, "", "of that state", beside="tau"),
    Key("type", choice("sum", *_ORGANS), "sum", "", "a sum of synapses, or also the organ of a muscle"),
    Key("bias", NUMBER, 0.0, "", "added to the sum", ("sum",)),
    Key("muscle", name("muscle"), REQUIRED, "", "in which the organ is", _ORGANS),
    Key("delay", _DELAY, 0.0, "s", "of the organ", _ORGANS),
    Key("gain", _LEAST, 333.0, "1/s", "impulses at the maximal force, Prochazka (1999)", ("golgi",)),
    Key("threshold", _LEAST, 0.0, "N", "force from which on it fires", ("golgi",)),
    Key("bias", NUMBER, 0.0, "1/s", "impulses at the threshold", ("golgi",)),
    Key("afferent", choice("Ia", "II"), "Ia", "", "kind of the spindle's ending", _SPINDLE),
    Key("length_gain", NUMBER, Per("afferent", {"Ia": 2000.0, "II": 13500.0}), "1/(m s)", "by length", _SPINDLE),
    Key("rest", NUMBER, OPTIONAL, "m", "length from which it counts: where fibres are optimal by default", _SPINDLE),
    Key("velocity_gain", NUMBER, Per("afferent", {"Ia": 4.3 * 1e3**0.6, "II": 0.0}), "", "by velocity^power", _SPINDLE),
    Key("power", _POWER, 0.6, "1", "of the velocity", _SPINDLE),
    Key("coactivation", NUMBER, OPTIONAL, "1/s", "at full activation: 50 for Ia, 20 for II by default", _SPINDLE),
    Key("bias", NUMBER, Per("afferent", {"Ia": 50.0, "II": 80.0}), "1/s", "impulses at rest", _SPINDLE),
    Key("shape", table(SHAPE), _SHAPES, "", "function of the sum; organs fire with 0 to 1000 impulses/s by default"),
    Key("synapse", several(SYNAPSE, LIMITS["synapses"]), [], "", "what it hears: adds gain (signal - offset)^power"),
)
MOTOR = (
    Key("joint", JOINT, REQUIRED, "", "on which it acts"),
    Key("from", SIGNAL, REQUIRED, "", "what it follows"),
    Key("gain", NUMBER, 1.0, "", "torque (N m) or force (N) by that signal"),
)
_AXES = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
PIN = (
    Key("rate", _LEAST, 20.0, "1/s", "at which errors decay"),
    Key("joint", JOINT, OPTIONAL, "", "a joint that is led, instead of a point"),
    Key("point", POINT, REQUIRED, "m", "what is held", beside="no joint"),
    Key("to", POINT, REQUIRED, "m", "where it is held", beside="no joint"),
    Key("axes", DIRECTIONS, _AXES, "", "in which it is held", beside="no joint"),
    Key("motion", later("0 or `spline.NAME`, or a list"), 0, "", "distance or position, for each direction"),
)
CONTACT = (
    Key("tangent", DIRECTION, OPTIONAL, "", "of friction in a plane; for all contacts or none"),
    Key("point", POINT, REQUIRED, "m", "what touches the surface; on a body"),
    Key("normal", DIRECTION, (0.0, 1.0, 0.0), "", "of the surface"),
    Key("height", NUMBER, 0.0, "m", "of the surface, along the normal"),
    Key("friction", _LEAST, REQUIRED, "1", "coefficient of Coulomb's friction"),
)
PLATFORM = (
    Key("axis", DIRECTION, (1.0, 0.0, 0.0), "", "along which the ground moves"),
    Key("onset", _LEAST, 0.0, "s", "when it begins"),
    Key("duration", _LEAST, 0.0, "s", "how long it lasts"),
    Key("peak", NUMBER, 0.0, "m/s^2", "of the half-sine of its acceleration"),
)
WRENCH = (
    Key("body", name("body"), REQUIRED, "", "that it pushes"),
    Key("at", vector(3), NOWHERE, "m", "where in the body"),
    Key("frame", choice("world", "body"), "world", "", "in which its components are"),
    Key("force", COMPONENTS, NOWHERE, "N", "a row's parameter `wrench` replaces the numbers and adds to the signals"),
    Key("moment", COMPONENTS, NOWHERE, "N m", "likewise"),
)
MODEL = (
    Key("schema", later("1"), REQUIRED, "", "version of these tables"),
    Key("gravity", vector(3), NOWHERE, "m/s^2", "acceleration of what falls"),
    Key("inputs", INPUTS, [], "", "in the order of the drive; must be given for several"),
    Key("body", tables("body"), {}, "", "at least one"),
    Key("curve", tables("curve"), {}, "", "functions by which joints follow others"),
    Key("cylinder", tables("cylinder"), {}, "", "surfaces that the paths of muscles wrap"),
    Key("muscle", tables("muscle"), {}, "", "what pulls"),
    Key("neuron", tables("neuron"), {}, "", "sums of signals, and the organs of muscles"),
    Key("spline", tables("spline"), {}, "", "prescribed courses in time"),
    Key("motor", tables("motor"), {}, "", "torques or forces of joints"),
    Key("pin", tables("pin"), {}, "", "points and joints that are held or led"),
    Key("contact", tables("contact"), {}, "", "points that touch a surface; a model with pins has none"),
    Key("wrench", tables("wrench"), {}, "", "forces and moments from outside"),
    Key("platform", later("table"), {}, "", "how the ground is jerked"),
)
KINDS = {
    "": MODEL,
    "body.NAME": BODY,
    "body.NAME.joint": JOINT_KEYS,
    "body.NAME.joint.limit": LIMIT,
    "body.NAME.inertial": INERTIAL,
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
}
"""Keys by the table that holds them."""
