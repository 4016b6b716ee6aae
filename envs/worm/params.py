"""Parameters of the worm in SI, from the tables of Chung, Chang & Kim (2024).

Here are the friction of a medium, `WormParams`, and the ranges of the parameters that rows, resets and events can set.
The printed values are in ``assets/worm/parameters.toml``; the fields of a row are in ``body.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.moved import points

from ..core.arguments import choice, number, numbers, shown, whole, within
from ..core.model.quantities import Option, documented, read_numbers, read_table


@cache
def table() -> dict[str, float]:
    """Return the constants of Chung, Chang & Kim (2024) in SI, by name."""
    return read_table("worm/parameters.toml")


def friction(sigma: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the friction coefficients across and along the body, kg/s, from water (``sigma`` 0) to agar (1).

    They are b_water^(1 - sigma) b_agar^sigma; Chung et al. (2024), "Body shape ensembles".
    """
    t, s = table(), np.asarray(sigma, float)
    water, agar = t["water_friction_perpendicular"], t["agar_friction_perpendicular"]
    perpendicular = water ** (1.0 - s) * agar**s
    return perpendicular, perpendicular / (t["water_friction_ratio"] ** (1.0 - s) * t["agar_friction_ratio"] ** s)


def medium(sigma: ArrayLike = 1.0, scale: ArrayLike = 1.0) -> dict[str, NDArray[np.float64]]:
    """Return friction coefficients as reset options for a medium index ``sigma``, times ``scale`` (eta).

    The index is 0 in water and 1 on agar; eta is the factor in the appendix of Chung et al. (2024).
    """
    perpendicular, parallel = friction(sigma)
    factor = np.asarray(scale, float)
    return {"friction_perpendicular": factor * perpendicular, "friction_parallel": factor * parallel}


def medium_index(friction_perpendicular: float) -> float:
    """Return the medium index, 0 (water) to 1 (agar), for a friction across the body (kg/s); clipped to this range."""
    water, agar = (table()[f"{name}_friction_perpendicular"] for name in ("water", "agar"))
    return math.log(min(max(friction_perpendicular, water), agar) / water) / math.log(agar / water)


PRINTED = read_numbers("worm/parameters.toml")
"""Numbers of the paper in SI, which are the defaults below."""

PHYSICAL = {
    "mass": Option(2e-12, 2e-6, "kg", "mass"),
    "length": Option(1e-5, 0.1, "m", "length"),
    "friction_perpendicular": Option(0.0, 100.0, "kg/s", "friction of the straight body across its axis"),
    "friction_parallel": Option(0.0, 100.0, "kg/s", "friction of the straight body along its axis"),
}
"""Parameters of the whole worm, which may differ between rows."""

JOINTS = {
    "stiffness": Option(0.0, 2e-7, "N m", "elasticity of each joint, kappa"),
    "damping": Option(0.0, 3e-8, "N m s", "damping of each joint, c"),
    "control_gain": Option(0.0, 10.0, "1", "factor on each control angle; 0 disables the muscles of the joint"),
}
"""Parameters of joints, which may differ between rows; a number is for all joints."""

FELT = Option(0.0, 100.0, "1", "factor on the angle of each joint that a circuit senses")
"""Additional parameter of the joints of a worm with a circuit."""

TONIC = Option(0.0, 10.0, "1", "tonic drive of the circuit, such as that of the interneurons AVB")
"""Additional parameter of a worm with a circuit that has a tonic input."""

STIFFENING = Option(0.0, 1.0, "1", "effect of the muscles' activation on stiffness and damping of the joints")
"""Additional parameter of a worm with a circuit that has antagonists."""


def active_joints(joints: int) -> dict[str, Any]:
    """Return options of joints whose stiffness and damping follow the activation of the muscles, as in Boyle et al.

    They are the lateral springs of Boyle, Berri & Cohen (2012), 2 k R^2 per segment of L/48 with k = 0.02 N/m and a
    damping of 25 ms k, in a body with the half width R = 40 um sin(arccos((i - 24)/24.2)), i = 0 .. 48. The worm needs
    a circuit with antagonists.
    """
    place = 48.0 * (np.arange(joints) + 1.0) / (joints + 1.0)
    radius = 40e-6 * np.abs(np.sin(np.arccos((place - 24.0) / 24.2)))
    stiffness = 0.02 * joints / 24.0 * radius**2
    return {"stiffness": stiffness, "damping": 0.025 * stiffness, "stiffening": 1.0}


PROFILE = ("rod_mass", "rod_length", "rod_friction")
"""Parameters of the rods, relative to a rod of the uniform body."""

LEAST_SHARE, MAX_SHARE = 1e-3, 1e3
"""Range of mass, length and friction of a rod relative to a rod of the uniform body."""


@documented(PHYSICAL | JOINTS)
@points
@dataclass(frozen=True)
class WormParams:
    """Physical parameters of one worm; the defaults are the paper's worm on agar.

    A parameter of the joints is a number for all, or n_rods - 1 numbers.

    Args:
        n_rods (3 to 1000): Number of rods.
        {ranges}
        rod_mass, rod_length, rod_friction (n_rods float, optional, 0.001 to 1000): Mass, length and friction
            coefficients of each rod relative to a rod of the uniform body; scaled to a mean of 1. The default is the
            paper's uniform body. `with_outline` computes them from a shape.

    Raises:
        ValueError: If a value has the wrong shape or is out of range. Ranges include a few orders of magnitude around
            the paper's values.

    Examples:
        An intact worm on agar, and one with its muscles ablated from the middle to the tail; then an ablation at 4 s:

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

    n_rods: int = int(PRINTED["n_rods"])
    mass: float = PRINTED["mass"]
    length: float = PRINTED["length"]
    friction_perpendicular: float = PRINTED["agar_friction_perpendicular"]
    friction_parallel: float = PRINTED["agar_friction_perpendicular"] / PRINTED["agar_friction_ratio"]
    stiffness: float | tuple[float, ...] = PRINTED["stiffness"]
    damping: float | tuple[float, ...] = PRINTED["stiffness"] / PRINTED["relaxation"]
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
                    f"{name} must be a number or {self.n_rods - 1} numbers, one per joint, got shape {values.shape}"
                )
            object.__setattr__(self, name, _plain(values))
        for name in PROFILE:
            if getattr(self, name) is None:
                continue
            values = within(name, getattr(self, name), LEAST_SHARE, MAX_SHARE)
            if values.shape != (self.n_rods,):
                raise ValueError(f"{name} must be {self.n_rods} numbers, one per rod, got shape {values.shape}")
            object.__setattr__(self, name, _plain(values / values.mean()))

    @property
    def profile(self) -> NDArray[np.float64]:
        """Mass, length and friction (3, n_rods) of the rods relative to a uniform body; (0,) for a uniform body."""
        shares = [getattr(self, name) for name in PROFILE]
        if all(share is None for share in shares):
            return np.zeros(0)
        return np.array([np.ones(self.n_rods) if share is None else share for share in shares])

    @classmethod
    def in_medium(cls, sigma: float = 1.0, scale: float = 1.0, n_rods: int | None = None, **changes: Any) -> WormParams:
        """Return the paper's worm in a medium.

        Args:
            sigma (0 to 1): Medium index, 0 for water and 1 for agar.
            scale (0 to 100): Factor on the friction coefficients; the paper's turns use agar with 0.01.
            n_rods: Number of rods; by default the paper's 25.
            **changes: Parameters that differ from the paper's.
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
        self, radius: ArrayLike, density: float | None = None, joints: ArrayLike | None = None, drag: str = "length"
    ) -> WormParams:
        """Return parameters with masses, lengths and friction of the rods from a shape with round cross sections.

        The mass of a rod is proportional to its volume. Its friction is proportional to its length, as in the paper
        (the friction of slender bodies depends only logarithmically on the width), or to its side area. The centre of
        mass is at the middle of the rod, and the moment of inertia is that of a thin rod.

        Args:
            radius ((P,) float, m): Half widths at P >= 2 evenly spaced places from the tip of the head to the tip of
                the tail, linearly interpolated.
            density (kg/m^3): Density, which determines the mass; by default the total mass does not change.
            joints ((n_rods - 1,) float): Positions of the joints along the body, between 0 and 1; by default evenly
                spaced.
            drag ({"length", "area"}): Measure of a rod that determines its share of the friction.

        Raises:
            ValueError: If ``radius`` is not a list of half widths, or ``joints`` are not increasing.

        Examples:
            Mass, and relative mass of the middle and the last rod, of an adult that tapers to both ends:

            >>> import numpy as np
            >>> from gymnosoma.envs.worm import Worm, WormParams
            >>> along = np.linspace(0.0, 1.0, 401)
            >>> radius = 40e-6 * np.sqrt(1 - (2 * along - 1) ** 2)
            >>> params = WormParams.in_medium(0.0).with_outline(radius, density=1060.0, drag="area")
            >>> print(f"{params.mass:.3g} kg; {params.rod_mass[12]:.2f}, {params.rod_mass[24]:.3f}")
            3.55e-09 kg; 1.50, 0.117
            >>> worm = Worm(params)
        """
        from ..core.model.beam import cone_volume  # environments have no outline

        choice("drag", drag, ("length", "area"))
        half = numbers("radius", radius, minimum=0.0)
        if half.ndim != 1 or len(half) < 2 or not half.any():
            raise ValueError(f"radius must be a list of at least 2 half widths, not all 0, got {shown(radius)}")
        n = self.n_rods
        inner = np.linspace(0.0, 1.0, n + 1)[1:-1] if joints is None else numbers("joints", joints)
        if inner.shape != (n - 1,):
            raise ValueError(f"joints must be {n - 1} positions, one less than n_rods, got shape {inner.shape}")
        ends = np.array([0.0, *inner, 1.0])
        if not (np.diff(ends) > 0.0).all():
            raise ValueError(f"joints must increase strictly between 0 and 1, got {shown(joints)}")
        places = np.linspace(0.0, 1.0, len(half))
        corners = np.union1d(ends, places)  # the body is a truncated cone between two of them
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
    """Return an array as a number or a tuple, which can be compared and hashed."""
    return values.tolist() if values.ndim == 0 else tuple(values.tolist())
