"""Parameters of the whisker chain in SI, from the paper's Table 1 or from the shape of a hair.

Here are `WhiskerParams` and the ranges of the parameters that rows, resets and events can set. The printed values are
in ``assets/whisker_chain/parameters.toml``, hairs are in ``core/model/beam.py``. The fields of a row are in
``body.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

import numpy as np

from gymnosoma.moved import points

from ..core.arguments import number, numbers, shown, whole
from ..core.kinds import takes_objects
from ..core.model.beam import Hair, cone_centroid, cone_volume, second_moment
from ..core.model.quantities import Option, documented, read_table

_COLUMNS = ("link_mass", "link_centroid", "joint_stiffness", "joint_damping")


@cache
def table() -> dict[str, Any]:
    """Return Table 1 and the constants of Quist et al. (2014) in SI."""
    return read_table("whisker_chain/parameters.toml")


def _printed(name: str) -> Callable[[], tuple[float, ...]]:
    return lambda: tuple(table()[name].tolist())


def _printed_centroid() -> tuple[float, ...]:
    t = table()
    length = t["length"] / len(t["link_mass"])
    return tuple(cone_centroid(t["base_radius"], t["tip_radius"], length).tolist())


PHYSICAL = {
    "length": Option(1e-3, 1.0, "m", "length of the whisker"),
    "mass": Option(5e-10, 5e-4, "kg", "mass of the whisker"),
    "stiffness": Option(5e-8, 0.05, "N m/rad", "stiffness of the first free joint; scales all joints"),
    "damping": Option(0.0, 1e-4, "N m s/rad", "damping of the first free joint; scales all joints"),
    "friction": Option(0.0, 10.0, "1", "Coulomb friction coefficient at pegs"),
    "restitution": Option(0.0, 1.0, "1", "fraction of the collision energy that remains, with ``scheme='events'``"),
    "stop_at_contact": Option(0.0, 1.0, "1", "at least 0.5: the base stops when the whisker meets a peg"),
    "rest_angle": Option(-1.0, 1.0, "rad", "angle of each joint at rest, link i+1 minus link i; a number sets all"),
}
"""Parameters that can differ between rows; ``friction`` only if it is positive in the model's parameters."""

SHAPE = {
    "base_radius": Option(1e-6, 0.01, "m", "radius at the base"),
    "tip_radius": Option(1e-8, 0.01, "m", "radius at the tip"),
    "link_mass": Option(1e-13, 1e-4, "kg", "mass of a link"),
    "link_centroid": Option(1e-8, 1.0, "m", "distance of a link's mass from its base"),
    "joint_stiffness": Option(1e-13, 1.0, "N m/rad", "stiffness of a joint"),
    "joint_damping": Option(0.0, 0.1, "N m s/rad", "damping of a joint"),
    "density": Option(1.0, 1e6, "kg/m^3", "density"),
    "modulus": Option(1e6, 1e13, "Pa", "Young's modulus"),
    "damping_ratio": Option(0.0, 1e3, "1", "damping ratio of a joint"),
}
"""Shape and material parameters that all rows share."""

MAX_LINKS = 200

DENSITY = float(f"{table()['density']:.15g}")
"""Density of the paper's whisker, kg/m^3; 15 digits undo the rounding of the conversion."""

MODULUS, DAMPING_RATIO = ((float(table()[key][0]), float(table()[key][-1])) for key in ("modulus", "damping_ratio"))
"""Young's modulus (Pa) and damping ratio of the first and the last link of the paper's whisker."""


@documented(PHYSICAL | SHAPE)
@points
@dataclass(frozen=True)
class WhiskerParams:
    """Physical parameters of one whisker; the defaults are the paper's whisker D1 (Table 1).

    Tuples have one entry per link from base to tip, 3 to 200. Link 1 is in the follicle and its joint is rigid, so the
    first stiffness and damping are not used. The total mass and the stiffness and damping of the first free joint must
    be within the ranges of ``mass``, ``stiffness`` and ``damping`` in `PHYSICAL`. The radii only affect the picture.
    The default ``link_centroid`` is the centroid of the planar outline: it reproduces the paper's damping and collision
    energies, while the centroid of the solid does not.

    The paper's pegs are frictionless. ``restitution`` is the paper's C.O.R. and requires ``scheme="events"``. With
    ``stop_at_contact``, the base stops when the whisker meets a peg and ignores its drive (Fig. 8) until the row sets
    ``stop_at_contact`` below 0.5. ``rest_angle``, the intrinsic curvature, is one number for all joints or n - 1
    numbers; `of` computes it from a `Hair`.

    Args:
        {ranges}

    Raises:
        ValueError: If a value is out of range. Ranges extend some orders of magnitude around the paper's values.
    """

    length: float = 49e-3
    base_radius: float = 91.4e-6
    tip_radius: float = 1.75e-6
    link_mass: tuple[float, ...] = field(default_factory=_printed("link_mass"))
    link_centroid: tuple[float, ...] = field(default_factory=_printed_centroid)
    joint_stiffness: tuple[float, ...] = field(default_factory=_printed("joint_stiffness"))
    joint_damping: tuple[float, ...] = field(default_factory=_printed("joint_damping"))
    friction: float = 0.0
    restitution: float = 0.0
    stop_at_contact: float = 0.0
    rest_angle: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        n = np.size(numbers("link_mass", self.link_mass))
        if not 3 <= n <= MAX_LINKS:
            raise ValueError(f"link_mass must have 3 to {MAX_LINKS} entries, got {shown(self.link_mass)}")
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name == "rest_angle":
                if np.shape(value) not in ((), (n - 1,)):
                    raise ValueError(f"rest_angle must be a number or have {n - 1} entries, got {shown(value)}")
            elif entry.name not in _COLUMNS:
                number(entry.name, value)
            elif np.shape(value) != (n,):
                raise ValueError(f"{entry.name} must have {n} entries like link_mass, got {shown(value)}")
            (PHYSICAL | SHAPE)[entry.name].check(entry.name, value)
        first = {"stiffness": self.joint_stiffness[1], "damping": self.joint_damping[1]}
        for name, value in {"mass": sum(self.link_mass), **first}.items():
            PHYSICAL[name].check(PHYSICAL[name].meaning.partition(";")[0], value)
        if max(self.link_centroid) >= self.length / n:
            raise ValueError(f"link_centroid must be below a link's {self.length / n:g} m, got {self.link_centroid}")

    @property
    def n_links(self) -> int:
        """Number of links."""
        return len(self.link_mass)

    @classmethod
    @takes_objects
    def of(
        cls,
        hair: Hair | None = None,
        n_links: int = 13,
        density: float = DENSITY,
        modulus: tuple[float, float] = MODULUS,
        damping_ratio: tuple[float, float] = DAMPING_RATIO,
        **others: float,
    ) -> WhiskerParams:
        """Compute the parameters of a hair with the formulas behind Table 1.

        Quist et al. (2014), "Model parameters": m = rho V; k = E I/L at the base of a link; b = 2 zeta Lp sqrt(Mp k),
        where Lp and Mp describe the pendulum from the joint to the centre of mass of all links beyond it. The defaults
        reproduce Table 1 to 0.8%. Link 1 has the heading of the hair at the middle of the link.

        Args:
            hair: Shape; by default that of the paper's whisker D1.
            n_links (3 to 200)
            density (1 to 1e+06 kg/m^3)
            modulus ((float, float), 1e+06 to 1e+13 Pa): First and last link; linear in between.
            damping_ratio ((float, float), 0 to 1000): First and last link; linear in between.
            **others: ``friction``, ``restitution``, ``stop_at_contact``.
        """
        whole("n_links", n_links, 3, MAX_LINKS)
        hair = Hair(cls.length, cls.base_radius, cls.tip_radius) if hair is None else hair
        SHAPE["density"].check("density", number("density", density))
        for name, pair in (("modulus", modulus), ("damping_ratio", damping_ratio)):
            SHAPE[name].check(name, pair)
            if np.shape(pair) != (2,):
                raise ValueError(f"{name} must be two numbers, for the first and the last link, got {shown(pair)}")
        link = hair.length / n_links
        radius = np.linspace(hair.base_radius, hair.tip_radius, n_links + 1)
        base, tip = radius[:-1], radius[1:]
        m = density * cone_volume(base, tip, link)
        c = cone_centroid(base, tip, link)
        k = np.linspace(*modulus, n_links) * second_moment(base) / link
        place = link * np.arange(n_links)
        beyond = np.cumsum(m[::-1])[::-1]
        pendulum = np.cumsum((m * (place + c))[::-1])[::-1] / beyond - place
        b = 2.0 * np.linspace(*damping_ratio, n_links) * pendulum * np.sqrt(beyond * k)
        return cls(
            length=hair.length,
            base_radius=hair.base_radius,
            tip_radius=hair.tip_radius,
            link_mass=tuple(m.tolist()),
            link_centroid=tuple(c.tolist()),
            joint_stiffness=tuple(k.tolist()),
            joint_damping=tuple(b.tolist()),
            rest_angle=tuple(np.diff(hair.angle(place + 0.5 * link)).tolist()),
            **others,
        )
