"""Records of a model, of its state and of scratch space.

Their arrays are padded to powers of two, and the loops run to the counts. So models of about the same size
share one compilation, which is cached on disk, and still all addresses but one are constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .params import PHYSICAL

_COUNTS = [
    "bodies",
    "muscles",
    "active",
    "fibres",
    "neurons",
    "inputs",
    "wrenches",
    "pins",
    "contacts",
    "contact_rows",
    "delays",
    "depth",
    "motors",
    "fits",
    "states",
    "outputs",
    "size",
    "leaky",
    "reads",
    "pushes",
    "balls",
]

WRITTEN = "excitation", "force", "neuron", "reaction", "impulse", "mode", "contact_error"
"""What a step writes besides the state vector: side by side in a row, so that one look tells whether it is finite."""


def _power(least: int, *counts: int) -> int:
    """Power of two of at least ``least`` and all ``counts``."""
    return 1 << (max(least, *counts) - 1).bit_length()


def pack(
    arrays: Mapping[str, NDArray[Any]], counts: Mapping[str, int]
) -> tuple[NDArray[Any], dict[str, np.dtype[Any]]]:
    """Pack the arrays of a model into the record that the kernels read, and make the records of state and work.

    Bodies stand after their parents; index -1 is the ground. A signal is a kind and an index. ``*_start`` delimit the
    points of a muscle's path, the synapses of a neuron and the pieces of a spline.

    Parameters
    ----------
    arrays : mapping
        Constants by name, as `model` makes them.
    counts : mapping
        Numbers of bodies, muscles and so on.

    Returns
    -------
    table : (1,) record
    records : dict
        ``row``, of an animal by the names that people use; ``state``, the same memory for the kernels; ``work``.

    Notes
    -----
    A row: ``time`` s; ``step`` since reset; ``status``; the state vector of Eq. 3, z, which is ``q`` (rad or m) and
    ``v`` of the joints, ``n`` of control modules and leaky neurons, ``activation``, ``fibre_length`` (m) of compliant
    tendons;
    ``input``, the drive; external ``wrench`` (force, moment); ``ring``, the past of delayed signals; as of the last
    evaluation ``excitation``, ``force`` (N), ``neuron`` outputs and ``reaction`` (N) of the pins; of the contacts in
    the last step ``impulse`` (m, rows) N s, ``mode``, ``contact_error`` (m/s) and ``alternations``, see `contact`;
    ``pulse`` of the ground, which begins (s), lasts (s) and has a peak (m/s^2); the parameters.
    """
    b = _power(8, counts["bodies"])
    points = ("point_body", "point_at", "point_cylinder")
    most = max(len(a) - name.endswith("_start") for name, a in arrays.items() if name not in points)
    solved = counts["contacts"] * counts["contact_rows"]
    c = _power(8, most, -(-len(arrays["point_body"]) // 4), solved, counts["states"], counts["outputs"])
    past = counts["depth"] * counts["delays"]
    ring = _power(256, past) if past else 1
    fields: list[tuple[Any, ...]] = [(name, "i8") for name in _COUNTS]
    for name, array in arrays.items():
        if name in ("gravity", "platform"):
            shape: tuple[int, ...] = (3,)
        else:
            first = 4 * c if name.startswith("point") else (c + 1 if name.endswith("_start") else c)
            by_body = {"fit_at": (b,), "fit_a": (b,), "fit_B": (b, b)}
            shape = (first, *by_body.get(name, array.shape[1:]))
        fields.append((name, "i8" if array.dtype.kind == "i" else "f8", shape))
    table = np.zeros(1, np.dtype(fields))
    for name in _COUNTS:
        table[name] = counts[name]
    for name, array in arrays.items():
        table[name][0][tuple(slice(0, n) for n in array.shape)] = array
    z = 2 * b + 3 * c
    plain = np.dtype(
        [
            ("time", "f8"),
            ("step", "f8"),
            ("status", "f8"),
            ("z", "f8", (z,)),
            ("input", "f8", (c,)),
            ("wrench", "f8", (c, 6)),
            ("ring", "f8", (ring,)),
            ("excitation", "f8", (c,)),
            ("force", "f8", (c,)),
            ("neuron", "f8", (c,)),
            ("reaction", "f8", (c,)),
            ("impulse", "f8", (c,)),
            ("mode", "f8", (c,)),
            ("contact_error", "f8"),
            ("alternations", "f8"),
            ("pulse", "f8", (3,)),
            *[(name, "f8") for name in PHYSICAL],
        ]
    )
    kept = {name: (form, at) for name, (form, at, *_) in plain.fields.items()}  # type: ignore[union-attr]
    first, last = kept[WRITTEN[0]][1], kept[WRITTEN[-1]][1] + 8
    kept |= {"written": (("f8", ((last - first) // 8,)), first), "all": (("f8", (plain.itemsize // 8,)), 0)}
    kernel = _record(kept, plain.itemsize)
    work = np.dtype(
        [
            ("turn", "f8", (b, 3, 3)),
            ("origin", "f8", (b, 3)),
            ("S", "f8", (b, 6)),
            ("V", "f8", (b, 6)),
            ("A", "f8", (b, 6)),
            ("f", "f8", (b, 6)),
            ("body_inertia", "f8", (b, 10)),
            ("inertia", "f8", (b, 10)),
            ("M", "f8", (b, b)),
            ("L", "f8", (b, b)),
            ("bias", "f8", (b,)),
            ("tau", "f8", (b,)),
            ("qdd", "f8", (b,)),
            ("momentum", "f8", (12,)),
            ("meet", "f8", (4, 3)),
            ("ball", "f8", (3, 3)),
            ("arm", "f8", (c, b)),
            ("length", "f8", (c,)),
            ("rate", "f8", (c,)),
            ("fibre", "f8", (c,)),
            ("fibre_rate", "f8", (c,)),
            ("slope", "f8", (c,)),
            ("force", "f8", (c,)),
            ("neuron", "f8", (c,)),
            ("output", "f8", (c,)),
            ("heard", "f8", (c,)),
            ("motor", "f8", (c,)),
            ("push", "f8", (c,)),
            ("excitation", "f8", (c,)),
            ("J", "f8", (c, b)),
            ("drift", "f8", (c,)),
            ("MJ", "f8", (c, b)),
            ("schur", "f8", (c, c)),
            ("reaction", "f8", (c,)),
            ("dz", "f8", (z,)),
            ("free", "f8", (c,)),
            ("friction", "f8", (c,)),
            ("grid", "f8", (4, 5)),
            ("gravity", "f8", (3,)),
            ("delayed", "f8", (c,)),
            ("start", "f8", (z,)),
            ("stage", "f8", (z,)),
            ("total", "f8", (z,)),
        ]
    )
    n, at = counts["bodies"], kept["z"][1]
    shapes = {"q": n, "v": n, "n": counts["states"], "activation": counts["active"], "fibre_length": counts["fibres"]}
    places: dict[str, tuple[Any, int]] = {}
    for name in ("time", "step", "status"):
        places[name] = "f8", kept[name][1]
    for name, size in shapes.items():
        places[name] = ("f8", (size,)), at
        at += 8 * size
    sizes = {
        "input": (counts["inputs"],),
        "wrench": (counts["wrenches"], 6),
        "ring": (counts["depth"], counts["delays"]),
        "excitation": (counts["muscles"],),
        "force": (counts["muscles"],),
        "neuron": (counts["neurons"],),
        "reaction": (counts["pins"],),
        "impulse": (counts["contacts"], counts["contact_rows"]),
        "mode": (counts["contacts"],),
        "contact_error": (),
        "alternations": (),
        "pulse": (3,),
        **dict.fromkeys(PHYSICAL, ()),
    }
    for name, shape in sizes.items():
        places[name] = ("f8", shape), kept[name][1]
    return table, {"row": _record(places, plain.itemsize), "state": kernel, "work": work}


def _record(places: Mapping[str, tuple[Any, int]], itemsize: int) -> np.dtype[Any]:
    """Record of fields, by name their form and offset; they may overlap."""
    forms, offsets = zip(*places.values(), strict=True)
    return np.dtype({"names": list(places), "formats": forms, "offsets": offsets, "itemsize": itemsize})
