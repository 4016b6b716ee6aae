"""Constants of muscles, their surfaces, neurons and motors, from their tables; `build` makes the rest of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import muscles, nerves, paths
from ..nerves import Module
from .layout import Arrays, arrays_of, columns
from .reader import LARGEST, Names, Tables, across, limit, ordered, turned
from .tables import (
    ACTIVATIONS,
    COACTIVATION,
    CURVES,
    CYLINDER,
    METHODS,
    MOTOR,
    MUJOCO_CURVES,
    MUSCLE,
    MUSCLES,
    NEURON,
    OWN_CURVES,
    QUADRANTS,
    SHAPES,
    SHARE,
    SYNAPSE,
    THELEN_CURVES,
)


def cylinder_arrays(tables: Tables, names: Names) -> Arrays:
    """Return the constants of cylinders, spheres and ellipsoids."""
    rows: list[dict[str, Any]] = []
    unused: dict[str, Any] = {"radius": 0.0, "radii": [0.0] * 3, "half": 0.5 * LARGEST}
    for name, surface in CYLINDER.read_all("cylinder", tables, names).items():
        row = unused | surface
        row["quadrant"] = QUADRANTS[row.get("quadrant", "all")]
        if row["type"] == "ellipsoid":
            way = paths.ELLIPSOID + METHODS.index(row["method"])
            rows.append({**row, "way": way, "frame": turned(row["attitude"]).T})
            continue
        axis, way, ball = row.get("axis", np.eye(3)[2]), row["side"], row["type"] == "sphere"
        side = np.eye(3)[np.argmin(np.abs(axis))] if isinstance(way, str) else way
        if ball:
            axis = np.eye(3)[np.argmin(np.abs(side))]
            axis = across(axis, side, f"cylinder.{name}.side", tables[name].get("side"))
        side = across(side, axis, f"cylinder.{name}.side", tables[name].get("side"))
        if isinstance(way, str):
            kind = paths.ANY if way == "any" else paths.INSIDE
        else:
            kind = paths.SIDED if ball or row["rule"] == "mujoco" else paths.SIDE
        kind += (paths.SPHERE - paths.ANY) * ball
        row |= {"way": kind, "half": 0.5 * row.get("length", LARGEST)}
        rows.append({**row, "frame": [side, np.cross(axis, side), axis]})
    names.entries["cylinder"] = tuple(tables)
    return columns(rows, "body at frame radius radii half way quadrant", "cylinder_")


def muscle_arrays(tables: Tables, names: Names, cylinders: Arrays) -> Arrays:
    """Return the constants of muscles: paths or fitted lengths, excitations and muscle models."""
    rows: list[dict[str, Any]] = []
    points: list[tuple[Any, ...]] = []
    wraps: list[tuple[int, int, int]] = []
    wrap_start = [0]
    fits: list[dict[str, Any]] = []
    start, sources, active, fibres = [0], [], 0, 0
    for name, muscle in MUSCLE.read_all("muscle", tables, names).items():
        path, fit, model = f"muscle.{name}", muscle["length"], muscle["model"]
        own, around, winds = _path(muscle, cylinders)
        points += own
        wraps += around
        wrap_start.append(len(wraps))
        limit("wraps", len(wraps), f"{path}.wraps")
        limit("points of paths", len(points), f"{path}.path")
        start.append(len(points))
        sources.append((muscle["excitation"] or 0.0, f"{path}.excitation"))
        names.muscles[name] = model["type"]
        activated, compliant = "activation" in model, model["type"] == "compliant_tendon"
        places = {"activation": active if activated else -1, "fibre": fibres if compliant else -1}
        rows.append({**_muscle(model), **places, "winds": winds, "fit": -1})
        active, fibres = active + activated, fibres + compliant
        if fit is not None:
            rows[-1]["fit"] = len(fits)
            fits.append({**fit, "at": fit["at"] or [0.0] * len(fit["a"])})
    excitations = [SHARE.read(source, path, names) for source, path in sources]
    signals = [(nerves.CONSTANT, 0) if isinstance(source, float) else source for source in excitations]
    for name, signal in zip(tables, signals, strict=True):
        if names.muscles[name] == "proportional" and _is_instant(signal, names):
            raise ValueError(f"muscle.{name}.excitation must not be the force of a proportional muscle")
    parts = zip(*points, strict=True) if points else [()] * 6
    names_of = ("body", "at", "cylinder", "joint", "range", "share")
    strings: dict[str, Any] = {f"point_{key}": part for key, part in zip(names_of, parts, strict=True)}
    strings |= {"path_start": start, "wrap_start": wrap_start, "wrap": wraps}
    values = [source if isinstance(source, float) else 0.0 for source in excitations]
    strings |= {"excitation_low": [row["low"] for row in rows], "excitation_high": [row["high"] for row in rows]}
    return (
        columns(rows, _MUSCLE)
        | arrays_of(strings | {"excitation": signals, "excitation_value": values})
        | columns(fits, "mean at a B", "fit_", len(names.entries["joint"]))
    )


def _path(
    muscle: Mapping[str, Any], cylinders: Arrays
) -> tuple[list[tuple[Any, ...]], list[tuple[int, int, int]], bool]:
    """Return points and wraps of a muscle, and whether `paths.winding` must compute its length.

    This is so if the path has wraps, conditional points, pulleys or surfaces other than plain sided cylinders.
    """
    points = muscle["path"] or []
    inline = [point[2] for point in points if point[2] >= 0]
    way, half = cylinders["cylinder_way"], cylinders["cylinder_half"]
    plain = all(way[c] == paths.SIDE and half[c] == 0.5 * LARGEST for c in inline)
    if plain and not muscle["wraps"] and all(point[3] < 0 and point[5] == 1.0 for point in points):
        return points, [], False
    own: list[tuple[Any, ...]] = []
    wraps = []
    for point in points:
        if point[2] >= 0:
            wraps.append((point[2], len(own) - 1, len(own)))
        else:
            own.append(point)
    for wrap in muscle["wraps"]:
        wraps.append((wrap["cylinder"], wrap["from"], len(own) - 1 if wrap["to"] is None else wrap["to"]))
    return own, wraps, True


_MUSCLE = """
    muscle curves max_force optimal_length slack_length cos_pennation max_velocity thelen force_length short_stiffness
    short_viscosity reference_length activation activation_kind rise_time fall_time fibre winds fit
"""


def _muscle(model: dict[str, Any]) -> dict[str, Any]:
    """Return the constants of a muscle; constants that its model does not use have no effect."""
    if model.get("curves") == "mujoco":
        shape = [*(model[name] for name, _, _ in MUJOCO_CURVES), 0.0, 0.0]
    elif model.get("curves") == "own":
        shape = [*(model[name] for name, _ in OWN_CURVES), model["fibre_damping"], model["clipped"]]
    else:
        shape = [model.get(name, default) for name, default, _ in THELEN_CURVES]
    if model["type"] == "spring":
        model |= {"viscosity": model["dissipation"], "force_length": float(model["pushes"])}
        model |= {"reference_length": model["rest_length"]}
    activation = model.get("activation", {"type": "smooth", "rise": 0.0, "fall": 0.0})
    return {
        **dict.fromkeys(_MUSCLE.split(), 0.0) | {"low": 0.0, "high": 1.0},
        **model,
        "muscle": MUSCLES.index(model["type"]),
        "curves": CURVES.index(model.get("curves", "de_groote")),
        "thelen": shape,
        "optimal_length": model.get("optimal_length", 1.0),
        "cos_pennation": np.cos(model.get("pennation", 0.0)),
        "short_stiffness": model.get("stiffness", 0.0),
        "short_viscosity": model.get("viscosity", 0.0),
        "activation_kind": ACTIVATIONS.index(activation["type"]),
        "rise_time": activation["rise"],
        "fall_time": activation["fall"],
    }


# Neurons


def neuron_arrays(tables: Tables, names: Names, muscle: Arrays) -> tuple[dict[str, float], NDArray[np.float64], Arrays]:
    """Return the initial states of leaky neurons, the delays (s) of all synapses, and the arrays."""
    neurons = NEURON.read_all("neuron", tables, names)
    leaky = {name: neuron["start"] for name, neuron in neurons.items() if neuron["tau"] is not None}
    heard: dict[str, list[str]] = {name: [] for name in tables}
    delayed: dict[tuple[int, int], int] = {}
    shapes, synapses, start = [], [], [0]
    for name, neuron in neurons.items():
        path, shape = f"neuron.{name}", neuron["shape"]
        form = {"low": 0.0, "high": 0.0, **shape, "shape": SHAPES.index(shape["type"]), "bias": neuron["bias"]}
        shapes.append(form)
        own = [SYNAPSE.read(synapse, path, names) for synapse in _organ(neuron, path, names, muscle)]
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
    order = [name for name in ordered("neuron", heard, "synapse without delay") if name not in leaky]
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
    kind = muscle["muscle"][m]
    if neuron["type"] == "golgi":
        if kind == muscles.SPRING:
            raise ValueError(f"{path}.muscle must not be a spring, which has no maximal force, got {source[7:]!r}")
        gain = neuron["gain"] / muscle["max_force"][m]
        return [{"from": f"{source}.force", "gain": gain, "offset": neuron["threshold"], "delay": delay}]
    rest, active = neuron["rest"], neuron["coactivation"]
    if rest is None:
        if kind == muscles.PROPORTIONAL:
            raise ValueError(f"{path}.rest is missing")
        rest = muscle["reference_length"][m]
        if kind not in (muscles.SHORT_RANGE, muscles.SPRING):
            rest = muscle["slack_length"][m] + muscle["optimal_length"][m] * muscle["cos_pennation"][m]
    if active is None:
        active = 0.0 if muscle["activation"][m] < 0 else COACTIVATION[neuron["afferent"]]
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
    if _is_instant(signal, names):
        raise ValueError(f"{path}: the force of a proportional muscle follows its excitation without delay")


def _is_instant(signal: tuple[int, int], names: Names) -> bool:
    """Return whether a signal is the force of a proportional muscle."""
    return signal[0] == nerves.FORCE and names.muscles[names.entries["muscle"][signal[1]]] == "proportional"


def reading_arrays(modules: Mapping[str, Module], names: Names, leaky: Mapping[str, float]) -> Arrays:
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


def motor_arrays(tables: Tables, names: Names) -> Arrays:
    """Return the constants of motors."""
    rows = MOTOR.read_all("motor", tables, names).values()
    return columns(
        [{"motor": (row["joint"], *row["from"]), "motor_gain": row["gain"]} for row in rows], "motor motor_gain"
    )
