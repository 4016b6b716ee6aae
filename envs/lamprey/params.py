"""Parameters of the lamprey in SI, from the paper's tables."""

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
from ..core.model.constants import read_table
from ..core.model.quantities import Option, documented
from .body import MUSCLES, links_dtype
from .nerves import motoneuron_dtype

MAX_LINKS = 100


@cache
def table() -> dict[str, Any]:
    """Constants of Ekeberg (1993) in SI."""
    return read_table("lamprey/body.toml")


def _column(name: str) -> tuple[float, ...]:
    return tuple(table()[name])


PHYSICAL = {
    "muscle_gain": Option(0.0, 3.0, "N m", "torque that a fully active motoneuron adds, alpha, by joint"),
    "muscle_stiffness": Option(0.0, 0.3, "N m", "stiffness that a fully active motoneuron adds, beta, by joint"),
    "tonic_stiffness": Option(0.0, 1e4, "1", "stiffness at rest in units of ``muscle_stiffness``, gamma, by joint"),
    "damping": Option(0.0, 0.03, "N m s", "damping of a joint, delta, by joint"),
    "water": Option(0.0, 1e3, "1", "factor on the drag coefficients"),
    "feedback": Option(0.0, 100.0, "m", "strength of the edge cells' synapses in the cord; 0 opens the loop"),
}
"""Parameters that a row may change."""


def physical(joints: int) -> dict[str, Option]:
    """Parameters that a row of a body with so many joints may change; of muscles one number serves all joints."""
    own = {name: replace(option, shape=(joints,)) if name in MUSCLES else option for name, option in PHYSICAL.items()}
    lag = "lag of it, by joint: it is ``forced_bending`` cos(2 pi ``forced_frequency`` time - lag)"
    return {
        **own,
        "current": Option(-10.0, 10.0, "m/s", "velocity of the water, x and y", (2,)),
        "forced_bending": Option(0.0, 3.0, "N m", "amplitude of a torque from outside, by joint", (joints,)),
        "forced_lag": Option(-100.0, 100.0, "rad", lag, (joints,)),
        "forced_frequency": Option(0.0, 100.0, "Hz", "frequency of it; 0: it is constant"),
    }


LINKS = {
    "length": Option(3e-4, 3.0, "m", "length of a link"),
    "mass": Option(1e-6, 5.0, "kg", "mass of a link"),
    "inertia": Option(1e-11, 5e-4, "kg m^2", "moment of inertia of a link about its midpoint"),
    "drag_perpendicular": Option(0.0, 500.0, "N s^2/m^2", "drag coefficient of a link across it"),
    "drag_parallel": Option(0.0, 500.0, "N s^2/m^2", "drag coefficient of a link along it"),
}
"""Parameters of the links, which all rows share."""


@documented(LINKS | PHYSICAL)
@dataclass(frozen=True)
class LampreyParams:
    """Physical parameters of one lamprey; the defaults are the paper's.

    Those of links have an entry for each of 3 to 100 links, head to tail. Those of muscles are a number, or one for
    each joint: "measured values for muscle parameters would be desirable", section 5.

    Args:
        {ranges}

    Raises:
        ValueError: For a value out of these ranges, some orders of magnitude around the paper's.

    Examples:
        Muscles that fade towards the tail, and a body of another shape:

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
                    f"{name} must hold a number for each of 3 to {MAX_LINKS} links, as many as length, "
                    f"got {shown(value)}"
                )
        joints = len(self.length) - 1
        for name, option in PHYSICAL.items():
            value = getattr(self, name)
            if name not in MUSCLES:
                number(name, value)
            if option.check(name, value).shape not in ((), (joints,)):
                raise ValueError(f"{name} must be a number, or one for each of {joints} joints, got {shown(value)}")
        for name in (*LINKS, *MUSCLES):  # arrays and lists are as welcome, but a frozen value is hashed and compared
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
        """Make a body from its shape, as Ekeberg (1993) does in sections 3.1 and 3.2.

        Mass is density times volume; the moment of inertia is that of an elliptical cylinder, m (w^2 / 16 + l^2 / 12);
        drag across a link is density * drag / 2 times its side, l h.

        Args:
            width, height (float or array, m): Axes of the elliptical cross section; arrays at evenly spaced places from
                the tip of the head to that of the tail, linear in between. The paper's is 0.02 wide for about a third
                of the body, then tapers to the tail, and 0.03 high.
            length, links (float, m, and int): Of the body, in equal links.
            density (kg/m^3): Of water, and so of the animal.
            fill: Area of a cross section by w h: pi / 4 is an ellipse, and 1 / 4 what Table 3 was computed with.
            drag, nose_drag: Coefficient C of Eq. 5 across the body, and along it for its largest cross section,
                ``fill`` w h. Like the values of Table 3, which the paper calls estimates, the drag along the body is
                spread over the first third, 3 : 2 : 1 over three of ten links; 0.8 gives their size.
            **others: Muscles, ``water`` and ``feedback``, see above.

        Raises:
            ValueError: For a number that is negative or not finite, or links beyond their ranges.
        """
        whole("links", links, 3, MAX_LINKS)
        total = number("length", length, above=0, maximum=MAX_LINKS * LINKS["length"].high)
        for name, factor in {"density": density, "fill": fill, "drag": drag, "nose_drag": nose_drag}.items():
            number(name, factor, minimum=0, maximum=1e5)
        fine = 60  # places in a link
        middle = (np.arange(links * fine) + 0.5) / (links * fine)
        axes = {}
        for name, value in (("width", width), ("height", height)):
            outline = np.atleast_1d(numbers(name, value, minimum=0, maximum=10))
            if outline.ndim > 1 or not outline.size:
                raise ValueError(f"{name} must be a number or a list of them, got {shown(value)}")
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
        """Constants of the links for the kernels, (1,) record."""
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
    """Spinal cord of Ekeberg (1993), Tables 1 and 2."""
    return Circuit.load("cord", "lamprey")


def read_circuit(circuit: Circuit | Mapping[str, Any] | str | Path | None) -> Circuit:
    """Read the nervous system of a lamprey: the paper's cord, that cord with changes, or another circuit.

    Raises:
        ValueError: For a circuit that cannot be read, or does not fit a lamprey.
    """
    if circuit is None or isinstance(circuit, Mapping):
        result = paper_cord().replace(**(circuit or {}))
    else:
        result = Circuit.load(circuit, "lamprey")
    for sense in result.senses:
        choice(f"sense {sense.population}: signal", sense.signal, ("edge_cell",))
    if result[result.muscles].sides != 2:
        raise ValueError(f"muscles must be driven by cells of two sides, got {result.muscles} on the midline")
    return result


LARGEST_TONIC = 0.7
"""Level of the brainstem beyond which the cord's rhythm breaks."""


@cache
def motoneuron() -> NDArray[Any]:
    """Constants of motoneurons without a cord for the kernels, (1,) record.

    A command of 1 is all that excites a motoneuron of the paper: the brainstem at ``LARGEST_TONIC`` and its EIN, fully
    active; -1 is its CCIN, fully active.
    """
    cord = paper_cord()
    cell, strength = cord["MN"], {each.name: each.strength for each in cord.projections}
    record = np.zeros(1, motoneuron_dtype())
    record["threshold"], record["gain"], record["rate"] = cell.threshold, cell.gain, 1.0 / cell.delay
    record["excite"] = LARGEST_TONIC * cell.tonic + strength["EIN_MN"]
    record["inhibit"] = strength["CCIN_MN"]
    return record
