"""Parameters of the lamprey in SI, from the paper's tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import choice, number, shown, whole
from ..core.spec import Option
from ..core.table import read_table
from .body import links_dtype
from .nerves import ADAPTING, CELLS, MN, cord_dtype, motoneuron_dtype

MOST_LINKS, MOST_SEGMENTS = 100, 10_000


@cache
def table() -> dict[str, Any]:
    """Constants of Ekeberg (1993) in SI."""
    return read_table("lamprey/body.toml") | read_table("lamprey/neurons.toml")


def _column(name: str) -> tuple[float, ...]:
    return tuple(table()[name])


PHYSICAL = {
    "muscle_gain": Option(0.0, 3.0, "N m", "torque that a fully active motoneuron adds, alpha"),
    "muscle_stiffness": Option(0.0, 0.3, "N m", "stiffness that a fully active motoneuron adds, beta"),
    "tonic_stiffness": Option(0.0, 1e4, "1", "stiffness at rest in units of ``muscle_stiffness``, gamma"),
    "damping": Option(0.0, 0.03, "N m s", "damping of a joint, delta"),
    "water": Option(0.0, 1e3, "1", "factor on the drag coefficients"),
    "feedback": Option(0.0, 100.0, "m", "strength of the edge cells' synapse in the cord; 0 opens the loop"),
}
"""Parameters that a row may change."""

LINKS = {
    "length": Option(3e-4, 3.0, "m", "length of a link"),
    "mass": Option(1e-6, 5.0, "kg", "mass of a link"),
    "inertia": Option(1e-11, 5e-4, "kg m^2", "moment of inertia of a link about its midpoint"),
    "drag_perpendicular": Option(0.0, 500.0, "N s^2/m^2", "drag coefficient of a link across it"),
    "drag_parallel": Option(0.0, 500.0, "N s^2/m^2", "drag coefficient of a link along it"),
}
"""Parameters of the links, which all rows share."""


@dataclass(frozen=True)
class LampreyParams:
    """Physical parameters of one lamprey; the defaults are the paper's.

    Parameters
    ----------
    length : tuple of float, 0.0003 to 3 m
        Of each link, head to tail; it sets the number of links, 3 to 100.
    mass : tuple of float, 1e-06 to 5 kg
    inertia : tuple of float, 1e-11 to 0.0005 kg m^2
        Moment of inertia of each link about its midpoint.
    drag_perpendicular, drag_parallel : tuple of float, 0 to 500 N s^2/m^2
        Drag coefficients of each link, the paper's lambda.
    muscle_gain : float, 0 to 3 N m
        Torque that a fully active motoneuron adds, the paper's alpha.
    muscle_stiffness : float, 0 to 0.3 N m
        Stiffness that a fully active motoneuron adds, the paper's beta.
    tonic_stiffness : float, 0 to 10000
        Stiffness at rest in units of ``muscle_stiffness``, the paper's gamma.
    damping : float, 0 to 0.03 N m s
        The paper's delta.
    water : float, 0 to 1000
        Factor on the drag coefficients.
    feedback : float, 0 to 100 m
        Strength of the edge cells' synapse; 0 opens the loop.

    Raises
    ------
    ValueError
        For a value out of these ranges, some orders of magnitude around the paper's.
    """

    length: tuple[float, ...] = _column("length")
    mass: tuple[float, ...] = _column("mass")
    inertia: tuple[float, ...] = _column("inertia")
    drag_perpendicular: tuple[float, ...] = _column("drag_perpendicular")
    drag_parallel: tuple[float, ...] = _column("drag_parallel")
    muscle_gain: float = table()["muscle_gain"]
    muscle_stiffness: float = table()["muscle_stiffness"]
    tonic_stiffness: float = table()["tonic_stiffness"]
    damping: float = table()["damping"]
    water: float = 1.0
    feedback: float = table()["feedback"]

    def __post_init__(self) -> None:
        for name, option in PHYSICAL.items():
            option.check(name, number(name, getattr(self, name)))
        for name, option in LINKS.items():
            value = getattr(self, name)
            column = option.check(name, value)
            if not (column.shape == np.shape(self.length) and column.ndim == 1 and 3 <= column.size <= MOST_LINKS):
                raise ValueError(
                    f"{name} must hold a number for each of 3 to {MOST_LINKS} links, as many as length, "
                    f"got {shown(value)}"
                )

    def links(self) -> NDArray[Any]:
        """Constants of the links for the kernels, (1,) record."""
        record = np.zeros(1, links_dtype(len(self.length)))
        record["half"] = 0.5 * np.asarray(self.length)
        record["inverse_mass"] = 1.0 / np.asarray(self.mass)
        record["inverse_inertia"] = 1.0 / np.asarray(self.inertia)
        record["share"] = np.asarray(self.mass) / np.sum(self.mass)
        record["drag_perpendicular"] = self.drag_perpendicular
        record["drag_parallel"] = self.drag_parallel
        return record


class Synapse(NamedTuple):
    """A projection of Table 2: cell types, strength, and how far it reaches, in segments."""

    source: str
    target: str
    strength: float
    rostral: int
    caudal: int


@cache
def synapses() -> tuple[Synapse, ...]:
    """Projections of Table 2."""
    result = []
    for name, (strength, rostral, caudal) in read_table("lamprey/synapses.toml").items():
        source, target = name.split("_")
        result.append(Synapse(source, target, float(strength), int(rostral), int(caudal)))
    return tuple(result)


LARGEST_TONIC = 0.7
"""Level of the brainstem beyond which the cord's rhythm breaks."""


def motoneuron() -> NDArray[Any]:
    """Constants of motoneurons without a cord for the kernels, (1,) record.

    A command of 1 is all that excites a motoneuron of the paper: the brainstem at ``LARGEST_TONIC`` and its EIN, fully
    active; -1 is its CCIN, fully active.
    """
    t, strength = table(), {(s.source, s.target): s.strength for s in synapses()}
    record = np.zeros(1, motoneuron_dtype())
    record["threshold"], record["gain"], record["rate"] = t["threshold"][MN], t["gain"][MN], 1.0 / t["delay"][MN]
    record["excite"] = LARGEST_TONIC * t["brainstem"][MN] + strength["EIN", "MN"]
    record["inhibit"] = strength["CCIN", "MN"]
    return record


@dataclass(frozen=True)
class Cord:
    """Structure of the spinal cord; the defaults are the paper's.

    Parameters
    ----------
    segments : int
        A multiple of the number of links.
    ends : {"exist", "clamp"}
        Where a projection would reach beyond the cord: the weight is shared among the segments that exist, or
        the end segment stands in for those that do not.
    synapses : tuple of Synapse, optional
        Table 2 by default. EIN excite; CCIN and LIN inhibit, CCIN on the other side.
    head_segments : int
        Rostral segments that get ``head_extra`` more tonic drive.
    """

    segments: int = int(table()["segments"])
    ends: str = "exist"
    synapses: tuple[Synapse, ...] = synapses()
    head_segments: int = int(table()["head_segments"])

    def __post_init__(self) -> None:
        choice("ends", self.ends, ("exist", "clamp"))
        whole("segments", self.segments, most=MOST_SEGMENTS)
        if not (isinstance(self.head_segments, int | np.integer) and 0 <= self.head_segments <= self.segments):
            raise ValueError(
                f"head_segments must be an integer within [0, {self.segments}], got {self.head_segments!r}"
            )
        if not self.synapses:
            raise ValueError(f"synapses must hold at least one, got {self.synapses!r}")
        for synapse in self.synapses:
            reach = (synapse.rostral, synapse.caudal)
            number("synapses: strength", synapse.strength, least=0, most=1000)
            known = synapse.source in CELLS[:3] and synapse.target in CELLS
            if not (known and all(isinstance(r, int | np.integer) and 0 <= r < self.segments for r in reach)):
                raise ValueError(
                    f"synapses must go from {', '.join(CELLS[:3])} to {', '.join(CELLS)} with extents "
                    f"within [0, {self.segments - 1}], got {synapse!r}"
                )

    @property
    def windows(self) -> tuple[tuple[int, int], ...]:
        """The different (rostral, caudal) extents."""
        return tuple(dict.fromkeys((s.rostral, s.caudal) for s in self.synapses))

    def record(self) -> NDArray[Any]:
        """Constants of the cord for the kernels, (1,) record."""
        windows, t, q = self.windows, table(), np.arange(self.segments)
        record = np.zeros(1, cord_dtype(self.segments, len(self.synapses), len(windows)))
        for name in ("threshold", "gain", "adaptation", "brainstem"):
            record[name] = t[name]
        record["rate"] = 1.0 / t["delay"]
        record["adaptation_rate"][0, :ADAPTING] = 1.0 / t["adaptation_delay"]
        for i, s in enumerate(self.synapses):
            record["source"][0, i], record["target"][0, i] = CELLS.index(s.source), CELLS.index(s.target)
            record["inhibitory"][0, i], record["crossed"][0, i] = s.source != "EIN", s.source == "CCIN"
            record["strength"][0, i], record["window"][0, i] = s.strength, windows.index((s.rostral, s.caudal))
        for i, (rostral, caudal) in enumerate(windows):
            record["rostral"][0, i], record["caudal"][0, i] = rostral, caudal
            existing = np.minimum(q + rostral, self.segments - 1) - np.maximum(q - caudal, 0) + 1
            record["share"][0, i] = 1.0 / (existing if self.ends == "exist" else rostral + caudal + 1)
        record["head"] = self.head_segments
        record["clamp"] = float(self.ends == "clamp")
        return record
