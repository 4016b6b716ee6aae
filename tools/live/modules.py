"""Kernels, memory and tables of each animal for the browser."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.kernels.jit import variant
from gymnosoma.envs.core.kernels.lanes import aligned, in_lanes
from gymnosoma.envs.core.model.chain import chain_points
from gymnosoma.envs.lamprey import Lamprey, nerves
from gymnosoma.envs.lamprey import body as lamprey_body
from gymnosoma.envs.lamprey import picture as lamprey_picture
from gymnosoma.envs.lamprey.params import table as lamprey_table
from gymnosoma.envs.neuromechanic import Neuromechanic, standing
from gymnosoma.envs.neuromechanic import body as steps
from gymnosoma.envs.neuromechanic import picture as model_picture
from gymnosoma.envs.neuromechanic.hindlimb import (
    LARGEST_REFLEX,
    PAW_FORCE,
    POSTURE,
    RATE,
    STRETCH,
    STRETCH_DELAY,
    hindlimb,
    kept_pattern,
)
from gymnosoma.envs.neuromechanic.tasks import HindlimbHold, StandGains
from gymnosoma.envs.whisker_chain import Whisker
from gymnosoma.envs.whisker_chain import body as chain
from gymnosoma.envs.whisker_chain import picture as chain_picture
from gymnosoma.envs.whisker_chain.animal import HALVINGS
from gymnosoma.envs.whisker_rod import Relief, WhiskerRod
from gymnosoma.envs.whisker_rod import body as rod
from gymnosoma.envs.whisker_rod import picture as rod_picture
from gymnosoma.envs.worm import Worm, picture
from gymnosoma.envs.worm import body as worm_body
from gymnosoma.envs.worm.kymogram import FRAME_RATE, RECORDED, load_kymogram
from gymnosoma.envs.worm.params import friction, table
from gymnosoma.envs.worm.tasks import Crawl, Swim

from .wasm import compile_module

LINE = 64
"""Alignment of arrays, bytes."""

GAP = 8
"""Number of consecutive zeros that splits the image of a memory."""


@dataclass
class Live:
    """Animal for a browser.

    Args:
        animal: Model; the browser has one row of it.
        kernels: Function and argument names of each exported kernel. Arguments are names of arrays or numbers, or
            ``steps``.
        arrays: Array arguments of the kernels other than ``state``: ``work``, constants, results.
        numbers: Numeric arguments of the kernels, int or float; a page can change them.
        start: Initial values, as in `Animal.reset`.
        views: Fields of the state that a kernel takes as an array, by argument name: field and shape.
        never: C library functions that the kernels reference but do not call, see `compile_module`.
        more: Further data for the page, serialisable as JSON.
    """

    animal: Any
    kernels: Mapping[str, tuple[Callable[..., Any], tuple[str, ...]]]
    arrays: Mapping[str, NDArray[Any]]
    numbers: Mapping[str, float]
    start: Mapping[str, Any] = field(default_factory=dict)
    views: Mapping[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    never: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    def rows(self) -> NDArray[Any]:
        """Return an initialised row (1,)."""
        rows = self.animal.rows(1)
        self.animal.reset(rows, np.array([0]), self.start)
        return rows

    def memory(self) -> dict[str, NDArray[Any]]:
        """Return all array arguments of the kernels by name, ``state`` first."""
        rows = self.rows()
        kind = getattr(self.animal, "_kernel_state", None)
        state = rows.view(in_lanes(self.animal.state, 1) if kind is None else kind)
        return {"state": state, **self.arrays}

    def module(self) -> bytes:
        """Compile the kernels to a WebAssembly module."""
        memory = self.memory()

        def kind(name: str) -> Any:
            if name in self.views:
                return numba.types.Array(numba.float64, len(self.views[name][1]), "C")
            if name in memory:
                return numba.typeof(memory[name])
            return numba.int64 if name == "steps" or isinstance(self.numbers[name], int) else numba.float64

        signed = {}
        for export, (function, names) in self.kernels.items():
            signed[export] = function, numba.void(*map(kind, names))
        return compile_module(signed, self.never)

    def table(self) -> dict[str, Any]:
        """Return the layout of the module's memory from ``__heap_base`` on, with units, meanings and initial values."""
        places, whole = {}, bytearray()
        for name, array in self.memory().items():
            whole.extend(bytes(-len(whole) % LINE))
            places[name] = _place(array, len(whole))
            whole.extend(array.tobytes())
        state = places["state"]
        state["fields"] = _fields(self.animal.state)  # public names
        for name, (of, shape) in self.views.items():
            places[name] = {"at": state["at"] + state["fields"][of]["at"], "shape": list(shape), "item": 8}
        rows, signals = self.rows(), type(self.animal).SIGNALS
        for name, entry in state["fields"].items():
            source = signals.get(name) or self.animal.parameters.get(name)
            if source is not None:
                entry["unit"] = source.unit
        parameters = {
            name: {key: getattr(option, key) for key in ("low", "high", "unit", "meaning")}
            | {"value": rows[name][0].tolist()}
            for name, option in self.animal.parameters.items()
            if name in state["fields"]
        }
        return {
            "scheme": self.animal.scheme,
            "numbers": dict(self.numbers),
            "whole": [name for name, value in self.numbers.items() if isinstance(value, int)],
            "kernels": {name: list(names) for name, (_, names) in self.kernels.items()},
            "arrays": places,
            "bytes": len(whole),
            "image": _image(bytes(whole)),
            "driven": list(self.animal._stepper.driven) if hasattr(self.animal, "_stepper") else ["input"],
            "parameters": parameters,
            "failures": {str(code): text for code, text in self.animal.failures.items()},
            **self.more,
        }


def _place(array: NDArray[Any], at: int) -> dict[str, Any]:
    """Return the offset, shape and item size (bytes) of an array, and the numeric fields of a structured one."""
    place: dict[str, Any] = {"at": at, "shape": list(array.shape), "item": array.itemsize}
    if array.dtype.names:
        place["fields"] = _fields(array.dtype)
    return place


def _fields(record: np.dtype[Any]) -> dict[str, Any]:
    """Return the offsets and shapes of a record's numeric fields."""
    fields: Mapping[str, Any] = record.fields or {}
    numbers = {name: form for name, form in fields.items() if form[0].base == np.float64 and name != "numbers"}
    return {name: {"at": form[1], "shape": _shape(form[0])} for name, form in numbers.items()}


def _shape(form: np.dtype[Any]) -> list[int]:
    """Return the shape of a field without its single lane."""
    return list(form.shape[:-1] if form.shape[-1:] == (1,) else form.shape)


def _image(whole: bytes) -> list[Any]:
    """Return the non-zero parts of a memory: alternating offsets and bytes in base64."""
    filled = np.flatnonzero(np.frombuffer(whole.ljust(-(-len(whole) // 8) * 8, b"\0"), np.int64))
    if not len(filled):
        return []
    parts: list[Any] = []
    for run in np.split(filled, np.flatnonzero(np.diff(filled) > GAP) + 1):
        low, high = 8 * int(run[0]), 8 * int(run[-1]) + 8
        parts += [low, base64.b64encode(whole[low:high]).decode()]
    return parts


def _work(animal: Any) -> NDArray[Any]:
    """Return scratch space for one animal."""
    return aligned(1, in_lanes(animal._stepper._records[1], 1))


def worm() -> Live:
    """Return the worm, with a kernel for the points of its body."""
    animal = Worm()
    n = animal.params.n_rods
    kernels = {
        "advance": (worm_body.midpoint, ("state", "work", "steps", "dt", "profile")),
        "points": (chain_points, ("rod_angle", "centre", "length", "lengths", "masses", "points")),
    }
    arrays = {"work": _work(animal), "profile": animal._profile, "points": np.zeros((1, n + 1, 2))}
    arrays |= {"lengths": animal.rod_lengths, "masses": animal.rod_masses}
    views = {"rod_angle": ("rod_angle", (1, n)), "centre": ("centre", (1, 2)), "length": ("length", (1,))}
    recorded = {name: load_kymogram(name).astype("<f4").tobytes() for name in RECORDED}
    more = {
        "colours": {"flesh": picture.FLESH, "shade": picture.SHADE, "force": picture.FORCE, "radius": picture.RADIUS},
        "friction": [np.ravel(friction(sigma)).tolist() for sigma in (0.0, 1.0)],
        "price": [
            [task.own_speed / (4.0 * task.own_power), task.own_power / task.own_effort] for task in (Swim, Crawl)
        ],
        "wave": {name: value for name, value in table().items() if name.split("_")[0] in ("water", "agar", "wave")},
        "frame_rate": FRAME_RATE,
        "recorded": {name: base64.b64encode(angles).decode() for name, angles in recorded.items()},
    }
    return Live(animal, kernels, arrays, {"dt": animal.dt}, views=views, more=more)


def move_lamprey(xs, ks, steps, dt, links, circuit, scheme, substeps):
    """Advance a lamprey, as its batch advances a row."""
    nerves.prepare_swimming(xs, ks, dt, links, circuit, scheme, substeps)
    nerves.swim(xs, ks, steps, dt, links, circuit, scheme, substeps)


def lamprey() -> Live:
    """Return the lamprey with its spinal cord, with the paper's scheme and the implicit one."""
    animal = Lamprey()
    assert animal.circuit is not None
    names = ("state", "work", "steps", "dt", "links", "circuit", "scheme", "substeps")
    arrays = dict(zip(("work", "links", "circuit"), (_work(animal), *animal._constants), strict=True))
    numbers = {"dt": animal.dt, "scheme": lamprey_body.EULER, "substeps": animal.substeps}
    more = {
        "schemes": {
            "published": {"scheme": lamprey_body.EULER, "substeps": 10},
            "implicit": {"scheme": lamprey_body.IMPLICIT, "substeps": 4},
        },
        "segments": animal.circuit.segments,
        "lengths": list(animal.params.length),
        # Widths follow from the masses of Table 3 for an ellipse 3 cm high, without the factor pi (as in the paper).
        "widths": (np.divide(animal.params.mass, animal.params.length) * 4.0 / (1000.0 * 0.03)).tolist(),
        "head_extra": float(lamprey_table()["head_extra"]),
        "colours": {name.lower(): getattr(lamprey_picture, name) for name in ("FLESH", "SHADE", "MUSCLE")},
    }
    return Live(animal, {"advance": (move_lamprey, names)}, arrays, numbers, {"kick": 0.1}, more=more)


def move_vibrissa(xs, ks, steps, dt, profile):
    """Advance a whisker chain, as its batch advances a row."""
    chain.prepare(xs, ks, dt, profile)
    chain.complementarity(xs, ks, steps, dt, profile)


PEG = 5e-4
"""Radius of the peg, m."""


def vibrissa() -> Live:
    """Return the whisker chain with a peg."""
    animal = Whisker()
    kernels = {"advance": (move_vibrissa, ("state", "work", "steps", "dt", "profile"))}
    start = {"peg": [[0.7 * animal.params.length, 8e-3]], "peg_radius": [PEG]}
    more = {
        "radii": [animal.params.base_radius, animal.params.tip_radius],
        "halvings": HALVINGS,
        "peg_radius": PEG,
        "colours": {name.lower(): getattr(chain_picture, name) for name in ("WHISKER", "SKIN", "FOLLICLE", "PEG")},
    }
    return Live(
        animal, kernels, {"work": _work(animal), "profile": animal.profile}, {"dt": animal.dt}, start, more=more
    )


def move_rod(xs, ks, steps, dt, profile, period, top):
    """Advance a whisker rod, as its batch advances a row."""
    rod.prepare(xs, ks, dt, profile, period, top)
    rod.midpoint(xs, ks, steps, dt, profile, period, top)


def whisker() -> Live:
    """Return the whisker rod on a plate, flat or with a grating."""
    relief = Relief.sine(1e-6, 200e-6)
    animal = WhiskerRod(relief=relief, dt=10e-6)
    names = ("state", "work", "steps", "dt", "profile", "period", "top")
    profile, period, top = animal._surface
    numbers = {"dt": animal.dt, "period": period, "top": top}
    start = {"plate_distance": 0.98 * animal.params.length, "relief": 0.0}
    more = {
        "radii": [animal.params.base_radius, animal.params.tip_radius],
        "period": period,
        "top": top,
        "colours": {name.lower(): getattr(rod_picture, name) for name in ("WHISKER", "GRIT")},
    }
    arrays = {"work": _work(animal), "profile": profile}
    return Live(animal, {"advance": (move_rod, names)}, arrays, numbers, start, more=more)


take: Any = None
"""Kernel ``take_steps`` of a model, bound by `variant`."""


def move_model(ts, ks, xs, steps, dt):
    """Advance a musculoskeletal model with the inputs in its row."""
    take(ts[0], ks[0], xs[0], steps, dt, None)
    keep_finite(xs[0])


keep_finite = steps.keep_finite


def _model(animal: Neuromechanic, **more: Any) -> Live:
    """Return a musculoskeletal model."""
    moves = variant(move_model, "live", take=animal.take_steps)
    arrays = {"table": animal.table, "work": animal._work}
    if len(animal.model.arrays["cylinder_radius"]) or len(animal.model.arrays["ball"]):
        raise ValueError("model must not have cylinders or balls: they need functions of the C library")
    kernels = {"advance": (moves, ("table", "work", "state", "steps", "dt"))}
    return Live(animal, kernels, arrays, {"dt": animal.dt}, never=("acos", "atan2", "hypot"), **more)


STANCES = (0.8, 1.0, 1.1, 1.2, 1.4, 1.7, 2.0)
"""Initial stances of the figure, hip widths."""


def figure() -> Live:
    """Return the standing figure with free feet and the paper's reflex, in several stances."""
    animal = Neuromechanic(standing.standing(STANCES[2]))

    def start(stance: float) -> dict[str, Any]:
        drive = standing.reflex_input(stance)
        return {"input": drive, "q": standing.upright(stance), "pulse": standing.ramp_and_hold(UNTIL, 0.0)}

    starts = {}
    for stance in STANCES:
        rows = animal.rows(1)
        animal.reset(rows, np.array([0]), start(stance))
        starts[f"{stance:g}"] = {"state": _image(rows.tobytes()), "splay": float(standing.splay(stance))}
    more = {
        "starts": starts,
        "gains": [standing.STIFFNESS, standing.DAMPING],
        "figure": {
            "hips": standing.HIPS,
            "leg": standing.LEG,
            "ramp": standing.RAMP,
            "hold": standing.HOLD,
            "delay": standing.DELAY,
            "lowest": StandGains.lowest_hips,
            "leaning": StandGains.largest_lean,
        },
        "colours": {name.lower(): getattr(model_picture, name) for name in ("BONE", "EDGE")},
    }
    return _model(animal, start=start(STANCES[2]), more=more)


UNTIL = 1e6
"""Onset of a pulse that never starts, s."""


def limb() -> Live:
    """Return the cat's hindlimb, held by the central activation pattern of its task, with a push at the ankle."""
    model = hindlimb(4.0)
    model["wrench"] = {"push": {"body": "ankle_extension"}}
    animal, pattern = Neuromechanic(model), kept_pattern("central")
    start = {"activation": pattern, "input": pattern}
    rows = animal.rows(1)
    k = animal.mechanics(rows)
    sticks = []
    for body, ends in model_picture._sticks(animal, k):
        sticks.append([body, *((end - k["origin"][body]) @ k["turn"][body] for end in ends)])
    outline = np.concatenate([ends[:, :2] for _, ends in model_picture._sticks(animal, k)])
    more = {
        "limb": {
            "sticks": [[body, first.tolist(), last.tolist()] for body, first, last in sticks],
            "reach": float(np.ptp(outline, 0).max()) * 1.3,
            "middle": (0.5 * (outline.min(0) + outline.max(0))).tolist(),
            "pushed": list(animal.model.bodies).index("ankle_extension"),
            "posture": POSTURE.tolist(),
            "pattern": pattern.tolist(),
            "muscles": [model_picture.MUSCLES.get(name, name) for name in animal.model.muscles],
            "arm": k["arm"].tolist(),
            "stretch": STRETCH,
            "rate": RATE,
            "largest": LARGEST_REFLEX,
            "periods": round(100 * STRETCH_DELAY),
            "paw_force": PAW_FORCE.tolist(),
            "largest_error": HindlimbHold.largest_error,
        },
        "colours": {name.lower(): getattr(model_picture, name) for name in ("BONE", "EDGE")},
    }
    return _model(animal, start=start, more=more)


ANIMALS: dict[str, Callable[[], Live]] = {
    "worm": worm,
    "lamprey": lamprey,
    "vibrissa": vibrissa,
    "whisker": whisker,
    "figure": figure,
    "limb": limb,
}
"""Animals by the name of their script."""
