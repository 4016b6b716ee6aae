"""Construction of a model from its tables: constants of `layout.ARRAYS`, names, counts and initial states."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import shown, whole
from . import keys, muscles, nerves, skeleton
from .build_muscles import Arrays, Tables, cylinder_arrays, muscle_arrays
from .curves import curves
from .layout import arrays_of, columns
from .modules import Module
from .reader import SMALLEST, Names, across, expect, limit, listed, read

SCHEMA = 1
"""Version of the schema."""

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


def build(description: Tables, modules: Mapping[str, Module]) -> dict[str, Any]:
    """Return the fields of a `model.Model`, except the origin, from a description with plain values."""
    expect(description.get("schema", 0) == SCHEMA, "model.schema", f"be {SCHEMA}", description.get("schema", 0))
    names = Names({"module": tuple(modules)})
    top = read(keys.MODEL, description, "model", names)
    names.entries |= {kind: tuple(top[kind]) for kind in ("muscle", "neuron", "spline", "contact")}
    names.entries["input"], names.declared = tuple(top["inputs"]), bool(top["inputs"])
    axis, pulse = _platform(top["platform"], names)
    states, outputs = _modules(modules, names)
    # Each call needs names or arrays of earlier ones. Undeclared inputs are added in this order.
    arrays = {"gravity": np.array(top["gravity"]), "platform": axis, **curves(top["curve"], names)}
    joints, bodies = _bodies(top["body"], names)
    arrays |= bodies
    names.frames = _frames(top["frame"], names)
    arrays |= cylinder_arrays(top["cylinder"], names) | _splines(top["spline"], names)
    arrays |= muscle_arrays(top["muscle"], names, arrays)
    leaky, delays, neurons = _neurons(top["neuron"], names, arrays)
    arrays |= neurons | _readings(modules, names, leaky) | _motors(top["motor"], names)
    arrays |= _pins(top["pin"], names, arrays["joint"])
    arrays |= _contacts(top["contact"], names, bool(top["pin"]))
    wrench, wrenches = _wrenches(top["wrench"], names)
    arrays |= wrenches
    inputs = tuple(names.entries["input"])
    if not names.declared and len(inputs) > 1:
        raise ValueError(f"model.inputs is missing: it must list them in the order of the drive: {listed(inputs)}")
    sized = {"bodies": joints, "muscles": top["muscle"], "neurons": top["neuron"], "inputs": inputs, "wrenches": wrench}
    sized |= {"contacts": top["contact"], "leaky": leaky, "pulses": pulse}
    own = {"pins": "pin_rate", "delays": "delayed", "motors": "motor", "fits": "fit_mean", "reads": "read"}
    own |= {"links": "parent", "pushes": "push", "balls": "ball", "limits": "limit_joint"}
    counts = {name: len(value) for name, value in (sized | {name: arrays[key] for name, key in own.items()}).items()}
    counts |= {name: int(np.sum(arrays[key] >= 0)) for name, key in (("active", "activation"), ("fibres", "fibre"))}
    planar = any("tangent" in contact for contact in top["contact"].values())
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
    platform = read(keys.PLATFORM, values, "model.platform", names)
    for pulse in platform["pulse"]:
        if pulse["peak"] and not pulse["duration"]:
            raise ValueError(f"model.platform.duration must be greater than 0 for a peak of {pulse['peak']:g}, got 0")
        if 0 < pulse["duration"] < SMALLEST:
            raise ValueError(f"model.platform.duration must be 0 or at least {SMALLEST:g}, got {pulse['duration']:g}")
    return platform["axis"], np.array([[pulse[key.name] for key in keys.PULSE] for pulse in platform["pulse"]])


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


def _bodies(tables: Tables, names: Names) -> tuple[tuple[Joint, ...], Arrays]:
    """Return the joints and the arrays of the bodies, and replace the names of bodies by those of all joints."""
    if not tables:
        raise ValueError("model.body must hold at least one body")
    expect("ground" not in tables, "body.ground", "have another name, because ground is the world", "ground")
    names.entries["body"] = labels = tuple(tables)
    entries = {name: read(keys.BODY, values, f"body.{name}", names) for name, values in tables.items()}
    needed = {name: [labels[body["parent"]]] if body["parent"] >= 0 else [] for name, body in entries.items()}
    free: list[dict[str, Any]] = []
    led: list[dict[str, Any]] = []
    order: list[str] = []
    for name in _sorted("body", needed, "parent"):
        body, path = entries[name], f"body.{name}"
        kind, inertial = body["joint"]["type"], body["inertial"]
        inertial["inertia"] = _inertia(inertial, f"{path}.inertial.inertia")
        joints = [_hinge(body["joint"], path)] if kind not in _SUFFIXES else _ball(body["joint"], path, tables[name])
        parent = (needed[name] or [""])[0]
        for i, joint in enumerate(joints):
            carried = inertial if i == len(joints) - 1 else _MASSLESS
            own = name if i == len(joints) - 1 else f"{name}.{_SUFFIXES[kind][i]}"
            follows = joint.get("follows") is not None or joint.get("fixed") is not None
            (led if follows else free).append({**joint, **carried, "name": own, "parent": parent})
            order.append(own)
            parent = own
        limit("body", len(free) + len(led), f"{path}.joint.type")
    if not free:
        raise ValueError("model.body must hold at least one body with a joint that is neither fixed nor a follower")
    rows, bodies = free + led, [row["name"] for row in free + led]
    for i, row in enumerate(rows):
        row["parent"] = bodies.index(row["parent"]) if row["parent"] else -1
        row["coordinate"] = i if i < len(free) else _leader(row, len(free), bodies)
    moved, moving = [row["mass"] for row in rows], [0.0] * len(free)
    for i in map(bodies.index, reversed(order)):
        moving[rows[i]["coordinate"]] += moved[i] * (i < len(free) or rows[i].get("fixed") is None)
        if rows[i]["parent"] >= 0:
            moved[rows[i]["parent"]] += moved[i]
    for i, mass in enumerate(moving):
        if mass == 0.0:
            raise ValueError(f"body.{bodies[i]}.inertial.mass must be greater than 0: its joint moves no mass")
    names.entries["body"], names.entries["joint"] = bodies, bodies[: len(free)]
    balls = [i for i, row in enumerate(free) if row["joint"] == skeleton.BALL]
    joint_rows = (Joint(r["start"], r["range"][0], r["range"][1], r["joint"] != skeleton.PRISMATIC) for r in free)
    array = columns(rows, "parent joint axis at mass centre inertia coordinate")
    array |= columns(free, "damping stiffness rest armature") | arrays_of({"sequence": list(map(bodies.index, order))})
    array |= arrays_of({name: [0] * len(free) + [row[name] for row in led] for name in ("curve", "slope", "shift")})
    limited = [(i, _limit(each)) for i, row in enumerate(free) for each in row.get("limit") or []]
    limits = arrays_of({"limit_joint": [i for i, _ in limited], "limit": [each for _, each in limited]})
    return tuple(joint_rows), {"ball": np.array(balls, np.int64), **array, **limits}


_MASSLESS = {"mass": 0.0, "centre": np.zeros(3), "inertia": np.zeros(6)}


def _leader(row: dict[str, Any], free: int, bodies: Sequence[str]) -> int:
    """Return the leader of a follower (the first joint for a locked one), and add the function to the row."""
    path, other = f"body.{row['name']}.joint", row["follows"]
    if other is not None and row["fixed"] is not None:
        raise ValueError(f"{path}.fixed must not be given for a joint that follows another, got {row['fixed']:g}")
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


def _inertia(inertial: Mapping[str, Any], path: str) -> NDArray[np.float64]:
    """Return the inertia (6,) from three or six moments, and check that it is possible unless ``exact`` is set."""
    values = inertial["inertia"]
    inertia = np.concatenate([values, np.zeros(6 - len(values))])
    if inertial["exact"]:
        return inertia
    xx, yy, zz, xy, xz, yz = inertia
    moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    possible = moments[0] >= -1e-6 * moments[2] and moments[2] <= (moments[0] + moments[1]) * (1 + 1e-6)
    what = "have principal moments that are at least 0 and at most the sum of the other two"
    expect(possible, path, what, inertia)
    return inertia


def _hinge(joint: dict[str, Any], path: str) -> dict[str, Any]:
    expect(joint["range"][0] < joint["range"][1], f"{path}.joint.range", "be [low, high]", joint["range"])
    for bound in joint["limit"] or []:
        here, stiff = f"{path}.joint.limit", bound["stiffness"]
        expect(bound["low"] < bound["high"], f"{here}.low", f"be below high, {bound['high']:g}", bound["low"])
        expect(min(stiff) >= 0.0, f"{here}.stiffness", "not be negative", stiff)
    return {**joint, "joint": skeleton.REVOLUTE if joint["type"] == "revolute" else skeleton.PRISMATIC}


def _limit(limit: Mapping[str, Any]) -> list[float]:
    """Return a joint's limit as the argument of `body.limit_torque`."""
    stiff = limit["stiffness"]
    return [limit["low"], limit["high"], stiff[0], stiff[-1], limit["damping"], limit["transition"]]


def _ball(joint: dict[str, Any], path: str, table: Tables) -> list[dict[str, Any]]:
    """Return the joints of a ball or a free body; each is the parent of the next."""
    size = float(np.linalg.norm(joint["attitude"]))
    expect(size > SMALLEST, f"{path}.joint.attitude", "not be zero", table["joint"].get("attitude"))
    w, *side = np.array(joint["attitude"]) / size * (1.0 if joint["attitude"][0] >= 0.0 else -1.0)
    long = float(np.linalg.norm(side))
    turn = [s * (2.0 * math.atan2(long, w) / long if long > 1e-9 else 2.0) for s in side]
    place, wide = joint.get("start", []), {True: 3.2, False: 1e3}
    return [
        {
            "joint": skeleton.BALL + i - len(place) if i >= len(place) else skeleton.PRISMATIC,
            "axis": np.eye(3)[i % 3],
            "at": joint["at"] if i == 0 else np.zeros(3),
            "damping": joint.get("damping", 0.0),
            "armature": 0.0,
            "stiffness": 0.0,
            "rest": 0.0,
            "start": start,
            "range": (-wide[i >= len(place)], wide[i >= len(place)]),
        }
        for i, start in enumerate([*place, *turn])
    ]


def _frames(tables: Tables, names: Names) -> dict[str, tuple[int, NDArray[np.float64], NDArray[np.float64]]]:
    """Return the body of each frame, and its rotation matrix and origin (m) in the body."""
    frames = {}
    for name, table in tables.items():
        frame, path = read(keys.FRAME, table, f"frame.{name}", names), f"frame.{name}"
        expect(name not in ("ground", *names.entries["body"]), path, "have another name than a body", name)
        w, *u = np.array(frame["attitude"])
        expect(abs(w * w + np.dot(u, u) - 1.0) < 1e-6, f"{path}.attitude", "be a unit quaternion", frame["attitude"])
        R = (w * w - np.dot(u, u)) * np.eye(3) + 2.0 * np.outer(u, u) + 2.0 * w * np.cross(np.eye(3), u)
        frames[name] = frame["body"], R, np.array(frame["at"])
    return frames


def _splines(tables: Tables, names: Names) -> Arrays:
    start, times, cubics = [0], list[float](), list[Any]()
    for name, table in tables.items():
        spline, path = read(keys.SPLINE, table, f"spline.{name}", names), f"spline.{name}.times"
        knots, values = np.array(spline["times"]), np.array(spline["values"])
        ascending = len(knots) == len(values) and bool((np.diff(knots) > 1e-9).all())
        expect(ascending, path, "be ascending, one for each value", knots)
        limit("times of splines", len(times) + len(knots), path)
        from scipy.interpolate import CubicSpline  # slow to import; few models have splines

        cubic = CubicSpline(knots, values, bc_type=spline["ends"])
        times += spline["times"]
        cubics += [*cubic.c.T, np.array([0.0, 0.0, 0.0, values[-1]])]
        start.append(len(times))
    return arrays_of({"spline_start": start, "spline_time": times, "spline_cubic": cubics})


def _neurons(tables: Tables, names: Names, muscle: Arrays) -> tuple[dict[str, float], NDArray[np.float64], Arrays]:
    """Return the initial states of leaky neurons, the delays (s) of all synapses, and the arrays."""
    neurons = {name: read(keys.NEURON, values, f"neuron.{name}", names) for name, values in tables.items()}
    leaky = {name: neuron["start"] for name, neuron in neurons.items() if neuron["tau"] is not None}
    heard: dict[str, list[str]] = {name: [] for name in tables}
    delayed: dict[tuple[int, int], int] = {}
    shapes, synapses, start = [], [], [0]
    for name, neuron in neurons.items():
        path, shape = f"neuron.{name}", neuron["shape"]
        form = {"low": 0.0, "high": 0.0, **shape, "shape": keys.SHAPES.index(shape["type"]), "bias": neuron["bias"]}
        if "low" in shape and not shape["low"] < shape["high"]:
            raise ValueError(f"{path}.shape.low must be less than high, got {shape['low']:g} and {shape['high']:g}")
        shapes.append(form)
        own = [read(keys.SYNAPSE, synapse, path, names) for synapse in _organ(neuron, path, names, muscle)]
        paths = [f"{path}.synapse[{i}]" for i in range(len(neuron["synapse"]))] + [path] * len(own)
        for here, synapse in zip(paths, neuron["synapse"] + own, strict=True):
            by, source, column = synapse["by"] or (nerves.CONSTANT, 0), synapse["from"], -1
            _refuse_instant(f"{here}.by", by, names)
            now = [by]
            if synapse["delay"] > 0.0:
                column = delayed.setdefault(source, len(delayed))
            else:
                _refuse_instant(f"{here}.delay must be greater than 0", source, names)
                now.append(source)
            heard[name] += [names.entries["neuron"][index] for kind, index in now if kind == nerves.NEURON]
            synapses.append({**synapse, "synapse": (*source, column, 0, *by)})
            limit("synapses", len(synapses), here)
        start.append(len(synapses))
    # The output of a leaky neuron follows from its state. So its sum can be computed last.
    heard = {name: [] if name in leaky else [other for other in heard[name] if other not in leaky] for name in heard}
    order = [name for name in _sorted("neuron", heard, "synapse without delay") if name not in leaky]
    arrays = columns(shapes, "bias shape low high") | columns(synapses, "power synapse gain offset")
    arrays |= arrays_of(
        {
            "tau": [neurons[name]["tau"] for name in leaky],
            "order": [list(tables).index(name) for name in [*order, *leaky]],
            "synapse_start": start,
            "delayed": list(delayed),
        }
    )
    return leaky, np.array([synapse["delay"] for synapse in synapses], float), arrays


def _organ(neuron: dict[str, Any], path: str, names: Names, muscle: Arrays) -> list[dict[str, Any]]:
    """Return the synapses by which a spindle or tendon organ senses its muscle; empty for other neurons."""
    if neuron["type"] == "sum":
        return []
    m, delay = neuron["muscle"], neuron["delay"]
    source = f"muscle.{names.entries['muscle'][m]}"
    if neuron["type"] == "golgi":
        gain = neuron["gain"] / muscle["max_force"][m]
        return [{"from": f"{source}.force", "gain": gain, "offset": neuron["threshold"], "delay": delay}]
    rest, active = neuron["rest"], neuron["coactivation"]
    kind = muscle["muscle"][m]
    if rest is None:
        if kind == muscles.PROPORTIONAL:
            raise ValueError(f"{path}.rest is missing")
        rest = muscle["reference_length"][m]
        if kind != muscles.SHORT_RANGE:
            rest = muscle["slack_length"][m] + muscle["optimal_length"][m] * muscle["cos_pennation"][m]
    if active is None:
        active = 0.0 if kind == muscles.PROPORTIONAL else keys.COACTIVATION[neuron["afferent"]]
    parts = {
        "length": {"gain": neuron["length_gain"], "offset": rest},
        "velocity": {"gain": neuron["velocity_gain"], "power": neuron["power"]},
        "activation": {"gain": active},
    }
    return [
        {"from": f"{source}.{part}", "delay": delay, **values}
        for part, values in parts.items()
        if values["gain"] != 0.0
    ]


def _refuse_instant(path: str, signal: tuple[int, int], names: Names) -> None:
    """Raise ValueError for the force of a proportional muscle, which depends on the present neurons."""
    if signal[0] == nerves.FORCE and names.entries["muscle"][signal[1]] in names.proportional:
        raise ValueError(f"{path}: the force of a proportional muscle follows its excitation without delay")


def _readings(modules: Mapping[str, Module], names: Names, leaky: Mapping[str, float]) -> Arrays:
    """Return the signals that control modules read, and check that they are computed before the modules."""
    sources = []
    for name, module in modules.items():
        for i, source in enumerate(module.reads):
            path = f"modules: {name}.reads[{i}]"
            kind, index = names.signal(source, path)
            if kind == nerves.MODULE:
                raise ValueError(f"{path} must not be an output of a module, got {source!r}")
            if kind == nerves.NEURON and (neuron := names.entries["neuron"][index]) not in leaky:
                raise ValueError(f"{path}: neuron {neuron!r} must have a tau, because modules run before other neurons")
            _refuse_instant(path, (kind, index), names)
            sources.append((kind, index))
    return arrays_of({"read": sources})


def _motors(tables: Tables, names: Names) -> Arrays:
    rows = [read(keys.MOTOR, motor, f"motor.{name}", names) for name, motor in tables.items()]
    return columns(
        [{"motor": (row["joint"], *row["from"]), "motor_gain": row["gain"]} for row in rows], "motor motor_gain"
    )


def _pins(tables: Tables, names: Names, joints: NDArray[np.int64]) -> Arrays:
    rows = []
    for name, table in tables.items():
        path = f"pin.{name}"
        pin = read(keys.PIN, table, path, names)
        if pin["joint"] is None:
            (body, at), (other, to), axes = pin["point"], pin["to"], pin["axes"]
            parts = [{"joint": -1, "body": (body, other), "at": (at, to), "axis": axis} for axis in axes]
        elif joints[pin["joint"]] >= skeleton.BALL:
            raise ValueError(f"{path}.joint must be revolute or prismatic, got {shown(table['joint'])}")
        else:
            nowhere = [0.0] * 3
            parts = [{"joint": pin["joint"], "body": (-1, -1), "at": (nowhere, nowhere), "axis": nowhere}]
        splines = _motion(pin["motion"], len(parts), f"{path}.motion", names)
        rows += [{**part, "spline": s, "rate": pin["rate"]} for part, s in zip(parts, splines, strict=True)]
    return columns(rows, "joint spline body at axis rate", "pin_")


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


def _contacts(tables: Tables, names: Names, pinned: bool) -> Arrays:
    rows = []
    for name in tables if pinned else ():
        raise ValueError(f"contact.{name}: contacts and pins exclude each other; remove the tables pin or contact")
    if len({"tangent" in table for table in tables.values()}) > 1:
        name = next(iter(tables))
        raise ValueError(f"contact.{name}.tangent must be given for all contacts (planar model) or none")
    for name, table in tables.items():
        path = f"contact.{name}"
        contact = read(keys.CONTACT, table, path, names)
        (body, at), normal, tangent = contact["point"], contact["normal"], contact["tangent"]
        expect(body >= 0, f"{path}.point", "be on a body", "ground")
        direction = np.eye(3)[np.argmin(np.abs(normal))] if tangent is None else tangent
        side = across(direction, normal, f"{path}.tangent", table.get("tangent"))
        rows.append({**contact, "body": body, "at": at, "frame": [normal, side, np.cross(normal, side)]})
    return columns(rows, "body at frame height friction", "contact_")


def _wrenches(tables: Tables, names: Names) -> tuple[NDArray[np.float64], Arrays]:
    """Return the constant parts (W, 6) of all wrenches, and the arrays."""
    rows, driven = [], []
    constant = np.zeros((len(tables), 6))
    for w, (name, values) in enumerate(tables.items()):
        wrench = read(keys.WRENCH, values, f"wrench.{name}", names)
        for part, value in enumerate(wrench["force"] + wrench["moment"]):
            if isinstance(value, tuple):
                driven.append((w, part, *value))
            else:
                constant[w, part] = value
        rows.append({**wrench, "local": wrench["frame"] == "body"})
        limit("wrench", len(driven), f"wrench.{name}: signals")
    return constant, arrays_of({"push": driven}) | columns(rows, "body at local", "wrench_")


def _sorted(kind: str, after: Mapping[str, Sequence[str]], key: str) -> list[str]:
    """Return the names in an order that puts each after the names in its list; raise ValueError for a cycle."""
    order: dict[str, None] = {}
    for first in after:
        way: dict[str, Iterator[str]] = {} if first in order else {first: iter(after[first])}
        while way:
            name = next(reversed(way))
            for other in way[name]:
                if other in way:
                    names = list(way)
                    cycle = " -> ".join([*names[names.index(other) :][:20], other])
                    raise ValueError(f"{kind}.{other}.{key} makes a cycle: {cycle}")
                if other not in order:
                    way[other] = iter(after[other])
                    break
            else:
                del way[name]
                order[name] = None
    return list(order)
