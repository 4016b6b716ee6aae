"""Constants of muscles and wrapping surfaces, computed from their tables; `build` computes the rest of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import keys, nerves, paths
from .layout import arrays_of, columns
from .reader import LARGEST, SMALLEST, Names, across, expect, limit, listed, read

Tables = Mapping[str, Any]
Arrays = dict[str, NDArray[Any]]


def cylinder_arrays(tables: Tables, names: Names) -> Arrays:
    """Return the constants of cylinders and spheres."""
    rows = []
    for name, values in tables.items():
        row = read(keys.CYLINDER, values, f"cylinder.{name}", names)
        axis, way, ball = row.get("axis", np.eye(3)[2]), row["side"], row["type"] == "sphere"
        side = np.eye(3)[np.argmin(np.abs(axis))] if isinstance(way, str) else way
        if ball:
            axis = np.eye(3)[np.argmin(np.abs(side))]
            axis = across(axis, side, f"cylinder.{name}.side", values.get("side"))
        side = across(side, axis, f"cylinder.{name}.side", values.get("side"))
        if isinstance(way, str):
            kind = paths.ANY if way == "any" else paths.INSIDE
        else:
            kind = paths.SIDED if ball or row["rule"] == "mujoco" else paths.SIDE
        kind += (paths.SPHERE - paths.ANY) * ball
        row |= {"way": kind, "half": 0.5 * row.get("length", LARGEST)}
        rows.append({**row, "frame": [side, np.cross(axis, side), axis]})
    names.entries["cylinder"] = tuple(tables)
    return columns(rows, "body at frame radius half way", "cylinder_")


def muscle_arrays(tables: Tables, names: Names, cylinders: Arrays) -> Arrays:
    """Return the constants of muscles: paths or fitted lengths, excitations and muscle models."""
    rows: list[dict[str, Any]] = []
    points: list[tuple[Any, ...]] = []
    wraps: list[tuple[int, int, int]] = []
    wrap_start = [0]
    fits: list[dict[str, Any]] = []
    start, sources, active, fibres = [0], [], 0, 0
    for name, table in tables.items():
        path = f"muscle.{name}"
        if ("path" in table) == ("length" in table):
            raise ValueError(f"{path} must have either path or length, got {listed(table)}")
        muscle = read(keys.MUSCLE, table, path, names)
        fit, model = muscle["length"], muscle["model"]
        own, around, winds = _path(muscle, cylinders, path, names)
        points += own
        wraps += around
        wrap_start.append(len(wraps))
        limit("wraps", len(wraps), f"{path}.wraps")
        limit("points of paths", len(points), f"{path}.path")
        start.append(len(points))
        sources.append((muscle["excitation"], f"{path}.excitation"))
        if model["type"] == "proportional":
            names.proportional.add(name)
        activated, compliant = model["type"] != "proportional", model["type"] == "compliant_tendon"
        places = {"activation": active if activated else -1, "fibre": fibres if compliant else -1}
        rows.append({**_muscle(model, path), **places, "winds": winds, "fit": -1})
        active, fibres = active + activated, fibres + compliant
        if fit is not None:
            rows[-1]["fit"] = len(fits)
            fits.append({**fit, "at": fit["at"] or [0.0] * len(fit["a"])})
    excitations = [keys.SHARE.read(source, path, names) for source, path in sources]
    signals = [(nerves.CONSTANT, 0) if isinstance(source, float) else source for source in excitations]
    for name, (kind, index) in zip(tables, signals, strict=True):
        if name in names.proportional and kind == nerves.FORCE and list(tables)[index] in names.proportional:
            raise ValueError(f"muscle.{name}.excitation must not be the force of a proportional muscle")
    parts = zip(*points, strict=True) if points else [()] * 6
    names_of = ("body", "at", "cylinder", "joint", "range", "share")
    strings: dict[str, Any] = {f"point_{key}": part for key, part in zip(names_of, parts, strict=True)}
    strings |= {"path_start": start, "wrap_start": wrap_start, "wrap": wraps}
    values = [source if isinstance(source, float) else 0.0 for source in excitations]
    return (
        columns(rows, _MUSCLE)
        | arrays_of(strings | {"excitation": signals, "excitation_value": values})
        | columns(fits, "mean at a B", "fit_", len(names.entries["joint"]))
    )


def _path(
    muscle: Mapping[str, Any], cylinders: Arrays, path: str, names: Names
) -> tuple[list[tuple[Any, ...]], list[tuple[int, int, int]], bool]:
    """Return points and wraps of a muscle, and whether `paths.winding` must compute its length.

    This is so if the path has wraps, conditional points, pulleys or surfaces other than plain sided cylinders.
    """
    points = muscle["path"] or []
    tables = muscle["wraps"]
    expect(tables is None or isinstance(tables, list), f"{path}.wraps", "be a list of tables", tables)
    if tables and muscle["path"] is None:
        raise ValueError(f"{path}.wraps must not be given without a path")
    inline = [point[2] for point in points if point[2] >= 0]
    way, half = cylinders["cylinder_way"], cylinders["cylinder_half"]
    plain = all(way[c] == paths.SIDE and half[c] == 0.5 * LARGEST for c in inline)
    if plain and not tables and all(point[3] < 0 and point[5] == 1.0 for point in points):
        return points, [], False
    own: list[tuple[Any, ...]] = []
    wraps = []
    for point in points:
        if point[2] >= 0:
            wraps.append((point[2], len(own) - 1, len(own)))
        else:
            own.append(point)
    for i, values in enumerate(tables or []):
        wrap, here = read(keys.WRAP, values, f"{path}.wraps[{i}]", names), f"{path}.wraps[{i}]"
        ends = wrap["from"], len(own) - 1 if wrap["to"] is None else wrap["to"]
        whole = all(isinstance(end, int) and not isinstance(end, bool) for end in ends)
        expect(whole and 0 <= ends[0] < ends[1] < len(own), here, f"have 0 <= from < to < {len(own)} points", ends)
        wraps.append((wrap["cylinder"], *ends))
    return own, wraps, True


_MUSCLE = """
    muscle curves max_force optimal_length slack_length cos_pennation max_velocity thelen force_length short_stiffness
    short_viscosity reference_length activation activation_kind rise_time fall_time fibre winds fit
"""


def _muscle(model: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the constants of a muscle; constants that its model does not use have no effect."""
    if model.get("curves") == "mujoco":
        expect(
            model["type"] == "rigid_tendon", f"{path}.model.type", "be rigid_tendon with MuJoCo's curves", model["type"]
        )
        shape = [*(model[name] for name, _, _ in keys.MUJOCO_CURVES), 0.0, 0.0]
    else:
        shape = [model.get(name, default) for name, default, _ in keys.THELEN_CURVES]
        if model.get("curves") == "own":
            shape = [*(model[name] for name, _ in keys.OWN_CURVES), model["fibre_damping"], 0.0]
        slack = model.get("slack_length", 1.0)
        expect(slack >= SMALLEST, f"{path}.model.slack_length", "be a number greater than 0", slack)
    activation = model.get("activation", {"type": "smooth", "rise": 0.0, "fall": 0.0})
    return {
        **dict.fromkeys(_MUSCLE.split(), 0.0),
        **model,
        "muscle": keys.MUSCLES.index(model["type"]),
        "curves": keys.CURVES.index(model.get("curves", "de_groote")),
        "thelen": shape,
        "optimal_length": model.get("optimal_length", 1.0),
        "cos_pennation": np.cos(model.get("pennation", 0.0)),
        "short_stiffness": model.get("stiffness", 0.0),
        "short_viscosity": model.get("viscosity", 0.0),
        "activation_kind": keys.ACTIVATIONS.index(activation["type"]),
        "rise_time": activation["rise"],
        "fall_time": activation["fall"],
    }
