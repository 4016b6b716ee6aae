"""Constants of a model from its tables: `build` checks what depends on several tables, and makes the arrays.

Here are the model as a whole and its mechanics: bodies, curves of followers, frames, splines, pins, contacts and
wrenches. `build_muscles` adds muscles and neurons. The checks of single tables are in `tables`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arguments import shown, whole
from .. import skeleton
from ..nerves import Module
from .build_muscles import cylinder_arrays, motor_arrays, muscle_arrays, neuron_arrays, reading_arrays
from .layout import Arrays, arrays_of, columns
from .reader import Names, Tables, across, expect, limit, listed, ordered, turned
from .tables import BODY, BUSHING, CONTACT, CURVE, FRAME, MODEL, PIN, PLATFORM, PULSE, SPLINE, WRENCH

SCHEMA = 1
"""Version of the schema."""

_HINGES = {"revolute": skeleton.REVOLUTE, "prismatic": skeleton.PRISMATIC}
_SUFFIXES = {"ball": ("rx", "ry"), "free": ("x", "y", "z", "rx", "ry")}


class Joint(NamedTuple):
    """Start, range and type of a joint, for tasks and pictures.

    Args:
        start, low, high (rad or m): Initial position and range.
        revolute: Whether positions are in rad; otherwise they are in m.
    """

    start: float
    low: float
    high: float
    revolute: bool


def build(description: Mapping[str, Any], modules: Mapping[str, Module]) -> dict[str, Any]:
    """Return the fields of a `model.Model`, except the origin, from a description with plain values."""
    expect(description.get("schema", 0) == SCHEMA, "model.schema", f"be {SCHEMA}", description.get("schema", 0))
    names = Names({"module": tuple(modules)})
    top = MODEL.read(description, "model", names)
    names.entries |= {kind: tuple(top[kind]) for kind in ("muscle", "neuron", "spline", "contact")}
    names.entries["input"], names.declared = tuple(top["inputs"]), bool(top["inputs"])
    axis, pulse = _platform(top["platform"], names)
    states, outputs = _modules(modules, names)
    # Each call needs names or arrays of earlier ones. Undeclared inputs are added in this order.
    arrays = {"gravity": np.array(top["gravity"]), "platform": axis, **_curves(top["curve"], names)}
    joints, bodies = _bodies(top["body"], names)
    arrays |= bodies
    names.frames = _frames(top["frame"], names)
    arrays |= cylinder_arrays(top["cylinder"], names) | _splines(top["spline"], names)
    arrays |= muscle_arrays(top["muscle"], names, arrays)
    leaky, delays, neurons = neuron_arrays(top["neuron"], names, arrays)
    arrays |= neurons | reading_arrays(modules, names, leaky) | motor_arrays(top["motor"], names)
    arrays |= _pins(top["pin"], names, arrays["joint"])
    rigid, compliant = _contacts(top["contact"], names, bool(top["pin"]))
    arrays |= rigid | compliant | _bushings(top["bushing"], names)
    wrench, wrenches = _wrenches(top["wrench"], names)
    arrays |= wrenches
    inputs = tuple(names.entries["input"])
    if not names.declared and len(inputs) > 1:
        raise ValueError(f"model.inputs is missing: it must list them in the order of the drive: {listed(inputs)}")
    sized = {"bodies": joints, "muscles": top["muscle"], "neurons": top["neuron"], "inputs": inputs, "wrenches": wrench}
    sized |= {"leaky": leaky, "pulses": pulse}
    own = {"pins": "pin_rate", "delays": "delayed", "motors": "motor", "fits": "fit_mean", "reads": "read"}
    own |= {"links": "parent", "pushes": "push", "balls": "ball", "limits": "limit_joint"}
    own |= {"contacts": "contact_body", "touches": "touch_body", "bushings": "bushing_body"}
    counts = {name: len(value) for name, value in (sized | {name: arrays[key] for name, key in own.items()}).items()}
    counts |= {name: int(np.sum(arrays[key] >= 0)) for name, key in (("active", "activation"), ("fibres", "fibre"))}
    planar = any("tangent" in contact for contact in top["contact"].values())
    counts["elastics"] = 3 * counts["touches"] + 6 * counts["bushings"]
    counts |= {"contact_rows": 2 if planar else 3, "states": states + len(leaky), "outputs": outputs}
    counts["size"] = 2 * counts["bodies"] + counts["states"] + counts["active"] + counts["fibres"]
    kinds = {"muscles": "muscle", "neurons": "neuron", "wrenches": "wrench", "pins": "pin", "contacts": "contact"}
    return {name: tuple(top[kind]) for name, kind in kinds.items()} | {
        "bodies": tuple(names.entries["joint"]),
        "followers": tuple(names.entries["body"][len(joints) :]),
        "inputs": inputs,
        "joints": joints,
        "frames": names.frames,
        "modules": tuple(module._replace(reads=tuple(module.reads)) for module in modules.values()),
        "delays": delays,
        "wrench": wrench,
        "start": np.concatenate([np.zeros(states), list(leaky.values())]),
        "pulse": pulse,
        "arrays": arrays,
        "counts": counts,
        "description": None if modules else description,
    }


def _platform(values: Any, names: Names) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the axis of the platform (zero if there is none) and its pulses (P, 3)."""
    if not values:
        return np.zeros(3), np.zeros((0, 3))
    platform = PLATFORM.read(values, "model.platform", names)
    return platform["axis"], np.array([[pulse[key.name] for key in PULSE.keys] for pulse in platform["pulse"]])


def _modules(modules: Mapping[str, Module], names: Names) -> tuple[int, int]:
    """Return the numbers of states and outputs of all control modules, and add the outputs to the names."""
    states = outputs = 0
    for name, module in modules.items():
        if not isinstance(module, Module) or not callable(module.kernel) or isinstance(module.reads, str):
            raise ValueError(f"modules: {name!r} must be a Module with a kernel and names, got {shown(module)}")
        whole(f"modules: states of {name}", module.states, 0, 1024)
        whole(f"modules: outputs of {name}", module.outputs, 0, 1024)
        names.outputs[name] = outputs, module.outputs
        states, outputs = states + module.states, outputs + module.outputs
    if max(states, outputs) > 1024:
        raise ValueError(f"modules: states and outputs must add up to at most 1024, got {states} and {outputs}")
    return states, outputs


def _curves(tables: Tables, names: Names) -> Arrays:
    """Return the arrays of all curves for `skeleton.curve`."""
    start, places, pieces = [0], list[float](), list[NDArray[np.float64]]()
    for name, curve in CURVE.read_all("curve", tables, names).items():
        if curve["kind"] == "polynomial":
            places, pieces = [*places, 0.0], [*pieces, np.array(curve["coefficients"])]
        else:
            x, y = np.array(curve["x"]), np.array(curve["y"])
            places += [x[0], *x]
            pieces += list(cubics(curve["kind"], x, y))
        start.append(len(places))
        limit("pieces of curves", len(places), f"curve.{name}")
    names.entries["curve"] = tuple(tables)
    wide = 1 << (max([4, *map(len, pieces)]) - 1).bit_length()  # `layout` pads to powers of two, at the end
    padded = [np.concatenate([np.zeros(wide - len(piece)), piece]) for piece in pieces]
    return arrays_of({"curve_start": start, "curve_x": places, "curve_piece": padded}, wide=wide)


def cubics(kind: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the coefficients (n + 1, 4), highest power first, of the pieces before, between and after n points.

    Kind ``"simm"`` is the spline of SIMM and OpenSim (SimmSpline): its third derivative at each end is that of the
    cubic through the four points at this end. Kind ``"linear"`` interpolates linearly.
    """
    n, h = len(x), np.diff(x)
    d = np.diff(y) / h
    c = np.zeros(n)  # second derivative / 6
    if n > 2 and kind != "linear":
        A, r = np.zeros((n, n)), np.zeros(n)
        for i in range(1, n - 1):
            A[i, i - 1 : i + 2] = h[i - 1], 2.0 * (h[i - 1] + h[i]), h[i]
            r[i] = d[i] - d[i - 1]
        A[0, :2], A[-1, -2:] = (-h[0], h[0]), (h[-1], -h[-1])
        if n > 3:
            r[0] = (r[2] / (x[3] - x[1]) - r[1] / (x[2] - x[0])) * h[0] ** 2 / (x[3] - x[0])
            r[-1] = -(r[-2] / (x[-1] - x[-3]) - r[-3] / (x[-2] - x[-4])) * h[-1] ** 2 / (x[-1] - x[-4])
        c[:] = np.linalg.solve(A, r)
    slope = d - h * (c[1:] + 2.0 * c[:-1])
    last = d[-1] + h[-1] * (c[-2] + 2.0 * c[-1])
    zero = np.zeros(n - 1)
    bend, turn = (3.0 * c[:-1], np.diff(c) / h) if kind != "linear" else (zero, zero)
    inner = np.stack([turn, bend, slope, y[:-1]], 1)
    return np.vstack([[0.0, 0.0, slope[0], y[0]], inner, [0.0, 0.0, last, y[-1]]])


def _bodies(tables: Tables, names: Names) -> tuple[tuple[Joint, ...], Arrays]:
    """Return the joints and the arrays of the bodies, and replace the names of bodies by those of all joints."""
    if not tables:
        raise ValueError("model.body must hold at least one body")
    expect("ground" not in tables, "body.ground", "have another name, because ground is the world", "ground")
    names.entries["body"] = labels = tuple(tables)
    entries = BODY.read_all("body", tables, names)
    needed = {name: [labels[body["parent"]]] if body["parent"] >= 0 else [] for name, body in entries.items()}
    free: list[dict[str, Any]] = []
    led: list[dict[str, Any]] = []
    order: list[str] = []
    for name in ordered("body", needed, "parent"):
        body = entries[name]
        kind, inertial = body["joint"]["type"], body["inertial"]
        joints = [{**body["joint"], "joint": _HINGES[kind]}] if kind in _HINGES else _ball(body["joint"])
        parent = (needed[name] or [""])[0]
        for i, joint in enumerate(joints):
            carried = inertial if i == len(joints) - 1 else _MASSLESS
            own = name if i == len(joints) - 1 else f"{name}.{_SUFFIXES[kind][i]}"
            follows = joint.get("follows") is not None or joint.get("fixed") is not None
            (led if follows else free).append({**joint, **carried, "name": own, "parent": parent})
            order.append(own)
            parent = own
        limit("body", len(free) + len(led), f"body.{name}.joint.type")
    if not free:
        raise ValueError("model.body must hold at least one body with a joint that is neither fixed nor a follower")
    rows, bodies = free + led, [row["name"] for row in free + led]
    for i, row in enumerate(rows):
        row["parent"] = bodies.index(row["parent"]) if row["parent"] else -1
        row["coordinate"] = i if i < len(free) else _leader(row, len(free), bodies)
    for name in idle_joints(tables):
        raise ValueError(f"body.{name}.inertial.mass must be greater than 0: its joint moves no mass")
    names.entries["body"], names.entries["joint"] = bodies, bodies[: len(free)]
    balls = [i for i, row in enumerate(free) if row["joint"] == skeleton.BALL]
    joint_rows = (Joint(r["start"], r["range"][0], r["range"][1], r["joint"] != skeleton.PRISMATIC) for r in free)
    array = columns(rows, "parent joint axis at mass centre inertia coordinate")
    array |= columns(free, "damping stiffness rest armature") | arrays_of({"sequence": list(map(bodies.index, order))})
    array |= arrays_of({name: [0] * len(free) + [row[name] for row in led] for name in ("curve", "slope", "shift")})
    limited = [(i, _limit(each)) for i, row in enumerate(free) for each in row.get("limit") or []]
    limits = arrays_of({"limit_joint": [i for i, _ in limited], "limit": [each for _, each in limited]})
    return tuple(joint_rows), {"ball": np.array(balls, np.int64), **array, **limits}


def idle_joints(tables: Tables) -> list[str]:
    """Return the bodies with a free joint that moves no mass, neither below it nor by joints that follow it."""
    parents = {name: body.get("parent", "ground") for name, body in tables.items()}
    moved = {name: body.get("inertial", {}).get("mass", 0.0) for name, body in tables.items()}
    moving = dict.fromkeys(tables, 0.0)
    for name in reversed(
        ordered("body", {name: [p] if p != "ground" else [] for name, p in parents.items()}, "parent")
    ):
        joint = tables[name]["joint"]
        if joint.get("fixed") is None:
            leader = joint.get("follows") or name
            moving[leader] = moving.get(leader, 0.0) + moved[name]
        if parents[name] != "ground":
            moved[parents[name]] += moved[name]
    led = ("follows", "fixed")
    return [name for name in tables if moving[name] == 0.0 and not any(key in tables[name]["joint"] for key in led)]


_MASSLESS = {"mass": 0.0, "centre": np.zeros(3), "inertia": np.zeros(6)}


def _leader(row: dict[str, Any], free: int, bodies: Sequence[str]) -> int:
    """Return the leader of a follower (the first joint for a locked one), and add the function to the row."""
    path, other = f"body.{row['name']}.joint", row["follows"]
    row |= {"curve": -1, "slope": 0.0, "shift": row["fixed"]}
    if other is None:
        return 0
    expect(other in bodies, f"{path}.follows", f"be one of {listed(bodies[:free])}", other)
    leader = bodies.index(other)
    if leader >= free:
        raise ValueError(f"{path}.follows must be a free joint, got {other!r}; use the joint that it follows")
    row |= {"curve": -1 if row["by"] is None else row["by"], "slope": row.get("gain", 1.0)}
    row["shift"] = row.get("offset", 0.0)
    return leader


def _limit(limit: Mapping[str, Any]) -> list[float]:
    """Return a joint's limit as the argument of `body.limit_torque`."""
    stiff = limit["stiffness"]
    return [limit["low"], limit["high"], stiff[0], stiff[-1], limit["damping"], limit["transition"]]


def _ball(joint: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the joints of a ball or a free body; each is the parent of the next."""
    size = float(np.linalg.norm(joint["attitude"]))
    w, *side = np.array(joint["attitude"]) / size * (1.0 if joint["attitude"][0] >= 0.0 else -1.0)
    long = float(np.linalg.norm(side))
    turn = [s * (2.0 * math.atan2(long, w) / long if long > 1e-9 else 2.0) for s in side]
    place, wide = joint.get("start", []), {True: 3.2, False: 1e3}
    return [
        {
            "joint": skeleton.BALL + i - len(place) if i >= len(place) else skeleton.PRISMATIC,
            "axis": np.eye(3)[i % 3],
            "at": joint["at"] if i == 0 else np.zeros(3),
            **{key: joint[key] for key in ("damping", "armature", "stiffness")},
            "rest": 0.0,
            "start": start,
            "range": (-wide[i >= len(place)], wide[i >= len(place)]),
        }
        for i, start in enumerate([*place, *turn])
    ]


def _frames(tables: Tables, names: Names) -> dict[str, tuple[int, NDArray[np.float64], NDArray[np.float64]]]:
    """Return the body of each frame, and its rotation matrix and origin (m) in the body."""
    frames = {}
    for name, frame in FRAME.read_all("frame", tables, names).items():
        expect(name not in ("ground", *names.entries["body"]), f"frame.{name}", "have another name than a body", name)
        frames[name] = frame["body"], turned(frame["attitude"]), np.array(frame["at"])
    return frames


def _splines(tables: Tables, names: Names) -> Arrays:
    start, times, cubics = [0], list[float](), list[Any]()
    for name, spline in SPLINE.read_all("spline", tables, names).items():
        knots, values = np.array(spline["times"]), np.array(spline["values"])
        limit("times of splines", len(times) + len(knots), f"spline.{name}.times")
        from scipy.interpolate import CubicSpline  # slow to import; few models have splines

        cubic = CubicSpline(knots, values, bc_type=spline["ends"])
        times += spline["times"]
        cubics += [*cubic.c.T, np.array([0.0, 0.0, 0.0, values[-1]])]
        start.append(len(times))
    return arrays_of({"spline_start": start, "spline_time": times, "spline_cubic": cubics})


def _pins(tables: Tables, names: Names, joints: NDArray[np.int64]) -> Arrays:
    rows = []
    for name, pin in PIN.read_all("pin", tables, names).items():
        path = f"pin.{name}"
        if pin["joint"] is None:
            (body, at), (other, to), axes = pin["point"], pin["to"], pin["axes"]
            local = pin["frame"] == "body" and other >= 0
            _, R, _ = names.frames.get(tables[name]["to"][0], (other, np.eye(3), to))
            axes = axes if pin["frame"] == "world" else [R @ axis for axis in axes]
            part = {"joint": -1, "body": (body, other), "at": (at, to), "local": local}
            parts = [part | {"axis": axis} for axis in axes]
        elif joints[pin["joint"]] >= skeleton.BALL:
            raise ValueError(f"{path}.joint must be revolute or prismatic, got {shown(tables[name]['joint'])}")
        else:
            nowhere = [0.0] * 3
            part = {"joint": pin["joint"], "body": (-1, -1), "at": (nowhere, nowhere), "local": False}
            parts = [part | {"axis": nowhere}]
        splines = _motion(pin["motion"], len(parts), f"{path}.motion", names)
        rows += [{**part, "spline": s, "rate": pin["rate"]} for part, s in zip(parts, splines, strict=True)]
    return columns(rows, "joint spline body at axis local rate", "pin_")


def _motion(motion: Any, count: int, path: str, names: Names) -> list[int]:
    """Return the splines that a pin follows, -1 for no motion."""
    values = [motion] * count if count == 1 and not isinstance(motion, list | tuple) else motion
    if values == 0:
        values = [0] * count
    fits = isinstance(values, list | tuple) and len(values) == count
    expect(fits, path, f"be a list of {count} entries, each 0 or spline.NAME", motion)
    splines = []
    for i, value in enumerate(values):
        kind, name, *rest = [*str(value).split(".", 1), ""]
        if value == 0 and not isinstance(value, bool):
            splines.append(-1)
        else:
            expect(kind == "spline" and rest == [""], f"{path}[{i}]", "be 0 or spline.NAME", value)
            splines.append(names.index("spline", name, f"{path}[{i}]"))
    return splines


def _contacts(tables: Tables, names: Names, pinned: bool) -> tuple[Arrays, Arrays]:
    """Return the arrays of rigid and of compliant contacts; a model has contacts of one type."""
    rows, touches = [], []
    contacts = CONTACT.read_all("contact", tables, names)
    for name, contact in contacts.items():
        if len({each["type"] for each in contacts.values()}) > 1:
            raise ValueError(f"contact.{name}.type must be the same for all contacts, got {contact['type']!r}")
        if contact["type"] == "compliant":
            touches.append(_touch(contact, tables[name].get("to", ("ground",))[0], names))
            continue
        if pinned:
            raise ValueError(f"contact.{name}: contacts and pins exclude each other; remove the tables pin or contact")
        if len({"tangent" in table for table in tables.values()}) > 1:
            raise ValueError(f"contact.{name}.tangent must be given for all contacts (planar model) or none")
        (body, at), normal, tangent = contact["point"], contact["normal"], contact["tangent"]
        direction = np.eye(3)[np.argmin(np.abs(normal))] if tangent is None else tangent
        side = across(direction, normal, f"contact.{name}.tangent", tables[name].get("tangent"))
        rows.append({**contact, "body": body, "at": at, "frame": [normal, side, np.cross(normal, side)]})
    limit("rigid contacts", len(rows), "contact")
    arrays = columns(rows, "body at frame height friction", "contact_")
    return arrays, columns(touches, "body at radius normal law", "touch_")


_LAW = ["stiffness", "dissipation", "share", "friction", "static_friction", "viscous_friction", "transition_velocity"]


def _touch(contact: dict[str, Any], frame: str, names: Names) -> dict[str, Any]:
    """Return the constants of a compliant contact with a surface in a body or ``frame``."""
    (body, at), (other, to) = contact["point"], contact["to"]
    _, R, _ = names.frames.get(frame, (other, np.eye(3), np.zeros(3)))
    normal = R @ contact.get("normal", np.zeros(3))
    if contact["static_friction"] is None:
        contact["static_friction"] = contact["friction"]
    return {
        "body": (body, other),
        "at": (at, to + contact.get("height", 0.0) * normal),
        "radius": (contact["radius"], contact["to_radius"] or 0.0),
        "normal": normal,
        "law": [contact[name] for name in _LAW],
    }


def _bushings(tables: Tables, names: Names) -> Arrays:
    rows = []
    for bushing in BUSHING.read_all("bushing", tables, names).values():
        body, frame, at = zip(bushing["frame"], bushing["to"], strict=True)
        row = {key: bushing[f"rotational_{key}"] + bushing[f"translational_{key}"] for key in ("stiffness", "damping")}
        rows.append(row | {"body": body, "frame": frame, "at": at})
    return columns(rows, "body at frame stiffness damping", "bushing_")


def _wrenches(tables: Tables, names: Names) -> tuple[NDArray[np.float64], Arrays]:
    """Return the constant parts (W, 6) of all wrenches, and the arrays."""
    rows, driven = [], []
    constant = np.zeros((len(tables), 6))
    for w, (name, wrench) in enumerate(WRENCH.read_all("wrench", tables, names).items()):
        for part, value in enumerate(wrench["force"] + wrench["moment"]):
            if isinstance(value, tuple):
                driven.append((w, part, *value))
            else:
                constant[w, part] = value
        rows.append({**wrench, "local": wrench["frame"] == "body"})
        limit("wrench", len(driven), f"wrench.{name}: signals")
    return constant, arrays_of({"push": driven}) | columns(rows, "body at local", "wrench_")
