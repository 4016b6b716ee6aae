"""Parameters of the lamprey in SI, from the tables of Ekeberg (1993), and the paper's spinal cord.

Here are `LampreyParams` and the ranges of the parameters that rows, resets and events can set. The printed values are
in ``assets/lamprey/body.toml``, the cord is in ``assets/lamprey/circuits``. The fields of a row are in
``body.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import choice, number, numbers, shown, whole
from ..core.circuit.circuit import Circuit
from ..core.model.quantities import Option, documented, read_table
from .body import MUSCLES, links_dtype
from .nerves import motoneuron_dtype

MAX_LINKS = 100
"""Maximum number of links."""


@cache
def table() -> dict[str, Any]:
    """Return the constants of Ekeberg (1993) in SI, by name."""
    return read_table("lamprey/body.toml")


def _column(name: str) -> tuple[float, ...]:
    return tuple(table()[name])


PHYSICAL = {
    "muscle_gain": Option(0.0, 3.0, "N m", "torque of a fully active motoneuron, alpha, by joint"),
    "muscle_stiffness": Option(0.0, 0.3, "N m", "stiffness of a fully active motoneuron, beta, by joint"),
    "tonic_stiffness": Option(0.0, 1e4, "1", "stiffness at rest relative to ``muscle_stiffness``, gamma, by joint"),
    "damping": Option(0.0, 0.03, "N m s", "damping of a joint, delta, by joint"),
    "water": Option(0.0, 1e3, "1", "factor on the drag coefficients"),
    "feedback": Option(0.0, 100.0, "m", "strength of the edge cells' synapses; 0 opens the feedback loop"),
}
"""Parameters that may differ between rows."""


def physical(joints: int) -> dict[str, Option]:
    """Return the parameters that may differ between rows of a body with this number of joints."""
    own = {name: replace(option, shape=(joints,)) if name in MUSCLES else option for name, option in PHYSICAL.items()}
    lag = "lag by joint; the torque is ``forced_bending`` cos(2 pi ``forced_frequency`` time - ``forced_lag``)"
    return {
        **own,
        "current": Option(-10.0, 10.0, "m/s", "velocity of the water, x and y", (2,)),
        "forced_bending": Option(0.0, 3.0, "N m", "amplitude of an external torque, by joint", (joints,)),
        "forced_lag": Option(-100.0, 100.0, "rad", lag, (joints,)),
        "forced_frequency": Option(0.0, 100.0, "Hz", "frequency of the external torque; 0 is constant"),
    }


LINKS = {
    "length": Option(3e-4, 3.0, "m", "length of a link"),
    "mass": Option(1e-6, 5.0, "kg", "mass of a link"),
    "inertia": Option(1e-11, 5e-4, "kg m^2", "moment of inertia of a link about its midpoint"),
    "drag_perpendicular": Option(0.0, 500.0, "N s^2/m^2", "drag coefficient of a link across its axis"),
    "drag_parallel": Option(0.0, 500.0, "N s^2/m^2", "drag coefficient of a link along its axis"),
}
"""Parameters of the links, which are equal in all rows."""


@documented(LINKS | PHYSICAL)
@dataclass(frozen=True)
class LampreyParams:
    """Physical parameters of one lamprey; the defaults are the paper's.

    Parameters of links have one entry per link, head to tail, for 3 to 100 links. Parameters of muscles are one number
    for all joints, or one per joint. The paper has no measurements of muscle parameters (section 5).

    Args:
        {ranges}

    Raises:
        ValueError: If a value has the wrong shape or is out of range. Ranges include a few orders of magnitude around
            the paper's values.

    Examples:
        Muscles that become weaker towards the tail, and a body with another shape:

        >>> import numpy as np
        >>> from gymnosoma.envs.lamprey import LampreyParams
        >>> weak = LampreyParams(muscle_gain=np.linspace(3e-3, 1e-3, 9))
        >>> eel = LampreyParams.from_outline(width=[0.02, 0.02, 0.02, 0.01, 0.0], height=0.03, length=0.4)
        >>> [round(1e3 * float(m), 2) for m in eel.mass]
        [6.0, 6.0, 6.0, 6.0, 6.0, 5.4, 4.2, 3.0, 1.8, 0.6]
    """

    length: tuple[float, ...] = _column("length")
    mass: tuple[float, ...] = _column("mass")
    inertia: tuple[float, ...] = _column("inertia")
    drag_perpendicular: tuple[float, ...] = _column("drag_perpendicular")
    drag_parallel: tuple[float, ...] = _column("drag_parallel")
    muscle_gain: float | tuple[float, ...] = table()["muscle_gain"]
    muscle_stiffness: float | tuple[float, ...] = table()["muscle_stiffness"]
    tonic_stiffness: float | tuple[float, ...] = table()["tonic_stiffness"]
    damping: float | tuple[float, ...] = table()["damping"]
    water: float = 1.0
    feedback: float = table()["feedback"]

    def __post_init__(self) -> None:
        for name, option in LINKS.items():
            value = getattr(self, name)
            column = option.check(name, value)
            if not (column.shape == np.shape(self.length) and column.ndim == 1 and 3 <= column.size <= MAX_LINKS):
                raise ValueError(
                    f"{name} must be one number for each of 3 to {MAX_LINKS} links, as many as in length, "
                    f"got {shown(value)}"
                )
        joints = len(self.length) - 1
        for name, option in PHYSICAL.items():
            value = getattr(self, name)
            if name not in MUSCLES:
                number(name, value)
            if option.check(name, value).shape not in ((), (joints,)):
                raise ValueError(f"{name} must be a number or {joints} numbers, one per joint, got {shown(value)}")
        for name in (*LINKS, *MUSCLES):  # tuples can be hashed and compared
            value = getattr(self, name)
            if np.ndim(value):
                object.__setattr__(self, name, tuple(np.asarray(value, float).tolist()))

    @classmethod
    def from_outline(
        cls,
        width: ArrayLike = 0.02,
        height: ArrayLike = 0.03,
        length: float = 0.3,
        links: int = 10,
        density: float = 1000.0,
        fill: float = 0.25,
        drag: float = 1.0,
        nose_drag: float = 0.8,
        **others: Any,
    ) -> Self:
        """Compute the parameters of a body from its shape; Ekeberg (1993), sections 3.1 and 3.2.

        The mass is density times volume. The moment of inertia of a link is that of an elliptical cylinder,
        m (w^2 / 16 + l^2 / 12). The drag coefficient across a link is density * drag / 2 times its side area, l h.

        Args:
            width, height (float or array, m): Axes of the elliptical cross section. Arrays are for evenly spaced places
                from the tip of the head to the tip of the tail, linearly interpolated. The paper's body is 0.02 m wide
                for about a third of its length, then tapers to the tail, and 0.03 m high.
            length (m): Length of the body.
            links: Number of links of equal length.
            density (kg/m^3): Density of the animal and the water.
            fill: Area of a cross section divided by w h: pi / 4 for an ellipse, 1 / 4 for the values of Table 3.
            drag, nose_drag: Coefficient C of Eq. 5, across the body, and along it for its largest cross section
                ``fill`` w h. The drag along the body acts on the first third, distributed 3 : 2 : 1 over three of ten
                links as in Table 3. A ``nose_drag`` of 0.8 results in drag as large as in this table, which the paper
                calls an estimate.
            **others: Parameters of muscles, ``water`` and ``feedback``, see the class.

        Raises:
            ValueError: If a number is negative or not finite, or a parameter of the links is out of range.
        """
        whole("links", links, 3, MAX_LINKS)
        total = number("length", length, above=0, maximum=MAX_LINKS * LINKS["length"].high)
        for name, factor in {"density": density, "fill": fill, "drag": drag, "nose_drag": nose_drag}.items():
            number(name, factor, minimum=0, maximum=1e5)
        fine = 60  # sampling points per link
        middle = (np.arange(links * fine) + 0.5) / (links * fine)
        axes = {}
        for name, value in (("width", width), ("height", height)):
            outline = np.atleast_1d(numbers(name, value, minimum=0, maximum=10))
            if outline.ndim > 1 or not outline.size:
                raise ValueError(f"{name} must be a number or a list of numbers, got {shown(value)}")
            axes[name] = np.interp(middle, np.linspace(0.0, 1.0, len(outline)), outline).reshape(links, fine)
        link = total / links
        area = fill * axes["width"] * axes["height"]
        mass = density * link * area.mean(1)
        inertia = mass * (axes["width"].mean(1) ** 2 / 16.0 + link**2 / 12.0)
        ahead = np.maximum(3.5 - 10.0 * (np.arange(links) + 0.5) / links, 0.0)
        return cls(
            length=(link,) * links,
            mass=tuple(mass.tolist()),
            inertia=tuple(inertia.tolist()),
            drag_perpendicular=tuple((0.5 * density * drag * link * axes["height"].mean(1)).tolist()),
            drag_parallel=tuple((0.5 * density * nose_drag * area.max() * ahead / ahead.sum()).tolist()),
            **others,
        )

    def links(self) -> NDArray[Any]:
        """Return the constants of the links for kernels, a record (1,)."""
        record = np.zeros(1, links_dtype(len(self.length)))
        record["half"] = 0.5 * np.asarray(self.length)
        record["inverse_mass"] = 1.0 / np.asarray(self.mass)
        record["inverse_inertia"] = 1.0 / np.asarray(self.inertia)
        record["share"] = np.asarray(self.mass) / np.sum(self.mass)
        record["drag_perpendicular"] = self.drag_perpendicular
        record["drag_parallel"] = self.drag_parallel
        return record


@cache
def paper_cord() -> Circuit:
    """Return the spinal cord of Ekeberg (1993), Tables 1 and 2."""
    return Circuit.load("cord", "lamprey")


def read_circuit(circuit: Circuit | Mapping[str, Any] | str | Path | None) -> Circuit:
    """Return the circuit of a lamprey: the paper's cord, the cord with changes, or another circuit.

    Raises:
        ValueError: If the circuit cannot be read or does not fit a lamprey.
    """
    if circuit is None or isinstance(circuit, Mapping):
        result = paper_cord().replace(**(circuit or {}))
    else:
        result = Circuit.load(circuit, "lamprey")
    for sense in result.senses:
        choice(f"sense {sense.population}: signal", sense.signal, ("edge_cell",))
    if result[result.muscles].sides != 2:
        raise ValueError(f"muscles must be driven by cells on both sides, got {result.muscles} on the midline")
    return result


LARGEST_TONIC = 0.7
"""Maximum tonic level; above it the cord's rhythm breaks down."""


@cache
def motoneuron() -> NDArray[Any]:
    """Return the constants of motoneurons without a cord for kernels, a record (1,).

    A command of 1 is the maximal excitation of a motoneuron (MN) in the paper's cord: the brainstem at
    `LARGEST_TONIC` plus fully active excitatory interneurons (EIN). A command of -1 is its maximal inhibition, by
    fully active contralaterally and caudally projecting interneurons (CCIN).
    """
    cord = paper_cord()
    cell, strength = cord["MN"], {each.name: each.strength for each in cord.projections}
    record = np.zeros(1, motoneuron_dtype())
    record["threshold"], record["gain"], record["rate"] = cell.threshold, cell.gain, 1.0 / cell.delay
    record["excite"] = LARGEST_TONIC * cell.tonic + strength["EIN_MN"]
    record["inhibit"] = strength["CCIN_MN"]
    return record
