"""Parameters of the worm in SI, from the paper's tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import number, whole
from ..core.spec import Option
from ..core.table import read_table


@cache
def table() -> dict[str, float]:
    """Constants of Chung, Chang & Kim (2024) in SI."""
    return read_table("worm/parameters.toml")


def friction(sigma: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Friction coefficients between water and agar, b_water^(1 - sigma) b_agar^sigma.

    Chung et al. (2024), "Body shape ensembles".

    Parameters
    ----------
    sigma : array_like
        Medium index: 0 water, 1 agar.

    Returns
    -------
    perpendicular, parallel : array, kg/s
    """
    t, s = table(), np.asarray(sigma, float)
    water, agar = t["water_friction_perpendicular"], t["agar_friction_perpendicular"]
    perpendicular = water ** (1.0 - s) * agar**s
    return perpendicular, perpendicular / (t["water_friction_ratio"] ** (1.0 - s) * t["agar_friction_ratio"] ** s)


PHYSICAL = {
    "mass": Option(2e-12, 2e-6, "kg", "mass"),
    "length": Option(1e-5, 0.1, "m", "length"),
    "friction_perpendicular": Option(0.0, 100.0, "kg/s", "friction of the straight body across it"),
    "friction_parallel": Option(0.0, 100.0, "kg/s", "friction of the straight body along it"),
    "stiffness": Option(0.0, 2e-7, "N m", "elasticity of a joint, kappa"),
    "damping": Option(0.0, 3e-8, "N m s", "damping of a joint, c"),
}
"""Parameters that a row may change."""


@dataclass(frozen=True)
class WormParams:
    """Physical parameters of one worm; the defaults are the paper's worm on agar.

    Parameters
    ----------
    n_rods : int, 3 to 1000
        Rods of the chain.
    mass : float, 2e-12 to 2e-06 kg
    length : float, 1e-05 to 0.1 m
    friction_perpendicular, friction_parallel : float, 0 to 100 kg/s
        Friction coefficients of the whole straight body across and along it.
    stiffness : float, 0 to 2e-07 N m
        Elasticity of a joint, the paper's kappa.
    damping : float, 0 to 3e-08 N m s
        Damping of a joint, the paper's c.

    Raises
    ------
    ValueError
        For a value out of these ranges, some orders of magnitude around the paper's.
    """

    n_rods: int = 25
    mass: float = 2e-9
    length: float = 1e-3
    friction_perpendicular: float = 0.128
    friction_parallel: float = 0.0032
    stiffness: float = 1.75e-10
    damping: float = 1.75e-10 / 5.6

    def __post_init__(self) -> None:
        whole("n_rods", self.n_rods, 3, 1000)
        for name, option in PHYSICAL.items():
            option.check(name, number(name, getattr(self, name)))

    @classmethod
    def in_medium(cls, sigma: float = 1.0, scale: float = 1.0, n_rods: int | None = None) -> WormParams:
        """Build the paper's worm in a medium.

        Parameters
        ----------
        sigma : float, 0 to 1
            Medium index: 0 water, 1 agar.
        scale : float, 0 to 100
            Factor on the friction coefficients; the paper's turns use agar with 0.01.
        n_rods : int, optional
            Rods of the chain; the paper's 25.
        """
        sigma, scale = number("sigma", sigma, least=0, most=1), number("scale", scale, least=0, most=100)
        t = table()
        perpendicular, parallel = friction(sigma)
        return cls(
            n_rods=int(t["n_rods"]) if n_rods is None else n_rods,
            mass=t["mass"],
            length=t["length"],
            friction_perpendicular=scale * float(perpendicular),
            friction_parallel=scale * float(parallel),
            stiffness=t["stiffness"],
            damping=t["stiffness"] / t["relaxation"],
        )
