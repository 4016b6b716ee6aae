"""Parameters of the worm in SI, from the paper's tables."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import choice, number, numbers, shown, whole, within
from ..core.model.beam import cone_volume
from ..core.model.constants import read_table
from ..core.model.quantities import Option, documented


@cache
def table() -> dict[str, float]:
    """Constants of Chung, Chang & Kim (2024) in SI."""
    return read_table("worm/parameters.toml")


def friction(sigma: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Friction coefficients (kg/s) across and along the body between water (``sigma`` 0) and agar (1).

    Chung et al. (2024), "Body shape ensembles": b_water^(1 - sigma) b_agar^sigma.
    """
    t, s = table(), np.asarray(sigma, float)
    water, agar = t["water_friction_perpendicular"], t["agar_friction_perpendicular"]
    perpendicular = water ** (1.0 - s) * agar**s
    return perpendicular, perpendicular / (t["water_friction_ratio"] ** (1.0 - s) * t["agar_friction_ratio"] ** s)


def medium(sigma: ArrayLike = 1.0, scale: ArrayLike = 1.0) -> dict[str, NDArray[np.float64]]:
    """Friction coefficients as reset options: medium index ``sigma``, times ``scale`` (eta of the appendix)."""
    perpendicular, parallel = friction(sigma)
    factor = np.asarray(scale, float)
    return {"friction_perpendicular": factor * perpendicular, "friction_parallel": factor * parallel}


def medium_index(friction_perpendicular: float) -> float:
    """Medium index, 0 (water) to 1 (agar), with the friction across the body (kg/s) that comes closest to this one."""
    water, agar = (table()[f"{name}_friction_perpendicular"] for name in ("water", "agar"))
    return math.log(min(max(friction_perpendicular, water), agar) / water) / math.log(agar / water)


PHYSICAL = {
    "mass": Option(2e-12, 2e-6, "kg", "mass"),
    "length": Option(1e-5, 0.1, "m", "length"),
    "friction_perpendicular": Option(0.0, 100.0, "kg/s", "friction of the straight body across it"),
    "friction_parallel": Option(0.0, 100.0, "kg/s", "friction of the straight body along it"),
}
"""Parameters of the whole worm that a row may change."""

JOINTS = {
    "stiffness": Option(0.0, 2e-7, "N m", "elasticity of each joint, kappa"),
    "damping": Option(0.0, 3e-8, "N m s", "damping of each joint, c"),
    "control_gain": Option(0.0, 10.0, "1", "factor on each control angle; 0: no muscle bends the joint"),
}
"""Parameters that a row may change for each joint, or for all."""

FELT = Option(0.0, 100.0, "1", "factor on what a circuit feels of each joint; 0: the joint is deaf")
"""The same of a worm with a circuit."""

PROFILE = ("rod_mass", "rod_length", "rod_friction")
"""Shares of the rods in the whole."""

LEAST_SHARE, MAX_SHARE = 1e-3, 1e3
"""Range of a rod's mass, length and friction in those of a rod of the uniform body."""


@documented(PHYSICAL | JOINTS)
@dataclass(frozen=True)
class WormParams:
    """Physical parameters of one worm; the defaults are the paper's worm on agar.

    Those of joints are a number, or one for each of the n_rods - 1 joints.

    Args:
        n_rods (3 to 1000): Rods of the chain.
        {ranges}
        rod_mass, rod_length, rod_friction (n_rods float, optional, 0.001 to 1000): Mass, length and friction
            coefficients of each rod in those of a rod of the uniform body, the paper's, which is the default; scaled to
            a mean of 1. `with_outline` makes them from a shape.

    Raises:
        ValueError: For a value out of these ranges, some orders of magnitude around the paper's, or another number of
            them.

    Examples:
        A worm on agar whose muscles are ablated from the middle to the tail, beside the whole one; then at 4 s:

        >>> import numpy as np
        >>> from gymnosoma.envs import simulate
        >>> from gymnosoma.envs.worm import SineKymogram, Worm, WormParams
        >>> gain = np.where(np.arange(24) < 12, 1.0, 0.0)
        >>> for params in WormParams(), WormParams(control_gain=gain):
        ...     run = simulate(Worm(params), SineKymogram.for_medium(1.0), duration=8.0, every=0.05)
        ...     bend = np.ptp(run["joint_angle"][-32:], axis=0)
        ...     print(f"{np.ptp(run['centre'][:, 0]) * 1e3:.2f} mm, tail {bend[18]:.2f} rad")
        1.57 mm, tail 0.84 rad
        1.29 mm, tail 0.10 rad
        >>> ablation = {"time": 4.0, "control_gain": gain}
        >>> run = simulate(Worm(), SineKymogram.for_medium(1.0), duration=8.0, every=0.05, events=[ablation])
        >>> before, after = (np.abs(run["control_torque"][part, 18]).max() for part in (slice(80), slice(81, None)))
        >>> print(f"{before:.2g} N m, {after:.2g} N m")
        1.1e-10 N m, 0 N m
    """

    n_rods: int = 25
    mass: float = 2e-9
    length: float = 1e-3
    friction_perpendicular: float = 0.128
    friction_parallel: float = 0.0032
    stiffness: float | tuple[float, ...] = 1.75e-10
    damping: float | tuple[float, ...] = 1.75e-10 / 5.6
    control_gain: float | tuple[float, ...] = 1.0
    rod_mass: tuple[float, ...] | None = None
    rod_length: tuple[float, ...] | None = None
    rod_friction: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        whole("n_rods", self.n_rods, 3, 1000)
        for name, option in PHYSICAL.items():
            option.check(name, number(name, getattr(self, name)))
        for name, option in JOINTS.items():
            values = option.check(name, getattr(self, name))
            if values.shape not in ((), (self.n_rods - 1,)):
                raise ValueError(
                    f"{name} must be a number, or one for each of {self.n_rods - 1} joints, got shape {values.shape}"
                )
            object.__setattr__(self, name, _plain(values))
        for name in PROFILE:
            if getattr(self, name) is None:
                continue
            values = within(name, getattr(self, name), LEAST_SHARE, MAX_SHARE)
            if values.shape != (self.n_rods,):
                raise ValueError(f"{name} must hold a number for each of {self.n_rods} rods, got shape {values.shape}")
            object.__setattr__(self, name, _plain(values / values.mean()))

    @property
    def profile(self) -> NDArray[np.float64]:
        """Masses, lengths and friction (3, n_rods) of the rods in those of the uniform body, which has none, (0,)."""
        shares = [getattr(self, name) for name in PROFILE]
        if all(share is None for share in shares):
            return np.zeros(0)
        return np.array([np.ones(self.n_rods) if share is None else share for share in shares])

    @classmethod
    def in_medium(cls, sigma: float = 1.0, scale: float = 1.0, n_rods: int | None = None, **changes: Any) -> WormParams:
        """Build the paper's worm in a medium.

        Args:
            sigma (0 to 1): Medium index: 0 water, 1 agar.
            scale (0 to 100): Factor on the friction coefficients; the paper's turns use agar with 0.01.
            n_rods: Rods of the chain; the paper's 25.
            **changes: Other parameters that are not the paper's.
        """
        sigma, scale = number("sigma", sigma, minimum=0, maximum=1), number("scale", scale, minimum=0, maximum=100)
        t = table()
        perpendicular, parallel = friction(sigma)
        usual: dict[str, Any] = {
            "n_rods": int(t["n_rods"]) if n_rods is None else n_rods,
            "mass": t["mass"],
            "length": t["length"],
            "friction_perpendicular": scale * float(perpendicular),
            "friction_parallel": scale * float(parallel),
            "stiffness": t["stiffness"],
            "damping": t["stiffness"] / t["relaxation"],
        }
        return cls(**usual | changes)

    def with_outline(
        self,
        radius: ArrayLike,
        density: float | None = None,
        joints: ArrayLike | None = None,
        drag: str = "length",
    ) -> WormParams:
        """Give the worm a shape, round in section: masses, lengths and friction of its rods.

        A rod has the mass of its volume, and friction by its length, as in the paper (in slender bodies it depends on
        the width by a logarithm only), or by the area that it shows from the side. Its centre of mass is taken to be
        its middle, its moment of inertia that of a thin rod.

        Args:
            radius ((P,) float, m): Half widths at P >= 2 places evenly from the tip of the head to that of the tail,
                linear between them.
            density (kg/m^3): Makes the mass from the volume; by default the mass stays, and is spread.
            joints ((n_rods - 1,) float): Places of the joints along the body, between 0 and 1; evenly by default.
            drag ({"length", "area"}): By what the friction of the whole is spread over the rods.

        Raises:
            ValueError: For an outline that is no such list, or joints that are out of order.

        Examples:
            An adult that tapers to both ends; its middle rod, and its last:

            >>> import numpy as np
            >>> from gymnosoma.envs.worm import Worm, WormParams
            >>> along = np.linspace(0.0, 1.0, 401)
            >>> radius = 40e-6 * np.sqrt(1 - (2 * along - 1) ** 2)
            >>> params = WormParams.in_medium(0.0).with_outline(radius, density=1060.0, drag="area")
            >>> print(f"{params.mass:.3g} kg; {params.rod_mass[12]:.2f}, {params.rod_mass[24]:.3f}")
            3.55e-09 kg; 1.50, 0.117
            >>> worm = Worm(params)
        """
        choice("drag", drag, ("length", "area"))
        half = numbers("radius", radius, minimum=0.0)
        if half.ndim != 1 or len(half) < 2 or not half.any():
            raise ValueError(f"radius must be a list of at least 2 half widths that are not all 0, got {shown(radius)}")
        n = self.n_rods
        inner = np.linspace(0.0, 1.0, n + 1)[1:-1] if joints is None else numbers("joints", joints)
        if inner.shape != (n - 1,):
            raise ValueError(f"joints must hold {n - 1} places, one less than n_rods, got shape {inner.shape}")
        ends = np.array([0.0, *inner, 1.0])
        if not (np.diff(ends) > 0.0).all():
            raise ValueError(f"joints must rise between 0 and 1, got {shown(joints)}")
        places = np.linspace(0.0, 1.0, len(half))
        corners = np.union1d(ends, places)  # between two of them the body is a truncated cone
        width = np.interp(corners, places, half)
        volume = cone_volume(width[:-1], width[1:], self.length * np.diff(corners))
        side = (width[:-1] + width[1:]) * self.length * np.diff(corners)
        first = np.searchsorted(corners, ends[:-1])
        mass, area, length = np.add.reduceat(volume, first), np.add.reduceat(side, first), np.diff(ends)
        shares = {
            "rod_mass": mass / mass.mean(),
            "rod_length": length / length.mean(),
            "rod_friction": (length if drag == "length" else area) / (length if drag == "length" else area).mean(),
        }
        if density is not None:
            shares["mass"] = number("density", density, above=0.0) * float(mass.sum())
        return replace(self, **shares)


def _plain(values: NDArray[np.float64]) -> Any:
    """A number, or a tuple of them, which can be compared and named."""
    return values.tolist() if values.ndim == 0 else tuple(values.tolist())
