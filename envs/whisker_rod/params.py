"""Parameters of the whisker and of the surface it touches, in SI, from the paper's tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import number, numbers, shown, whole
from ..core.model.beam import Hair
from ..core.model.constants import read_table
from ..core.model.quantities import Option, documented

REFERENCE_FRICTION = 0.37
"""mu_*, missing in Table 1: with it the whisker slides with mu = 0.2 at the paper's 0.2 m/s."""


@cache
def table() -> dict[str, Any]:
    """Constants of Oladazimi, Putelat et al. (2021) in SI."""
    return read_table("whisker_rod/parameters.toml")


PHYSICAL = {
    "density": Option(1.0, 1e6, "kg/m^3", "density"),
    "length": Option(1e-3, 1.0, "m", "length"),
    "base_radius": Option(1e-6, 5e-3, "m", "radius at the base"),
    "tip_radius": Option(1e-8, 5e-3, "m", "radius at the tip"),
    "youngs_modulus": Option(3e6, 3e12, "Pa", "Young's modulus, E"),
    "damping": Option(0.0, 1e3, "1", "Kelvin-Voigt damping, alpha"),
    "external_damping": Option(0.0, 1e5, "1/s", "damping by the surroundings"),
    "curvature_base": Option(-1e3, 1e3, "rad/m", "intrinsic curvature at the base; negative bends to +x"),
    "curvature_tip": Option(-1e3, 1e3, "rad/m", "intrinsic curvature at the tip"),
    "curvature": Option(-1e3, 1e3, "rad/m", "intrinsic curvature at each joint, in addition; for all alike"),
    "rate_strength": Option(1e-9, 1.0, "1", "friction: strength of the rate, a"),
    "state_strength": Option(0.0, 1.0, "1", "friction: strength of the state, b"),
    "reference_speed": Option(1e-9, 1e-3, "m/s", "friction: reference speed, V_*"),
    "reference_friction": Option(0.0, 2.0, "1", "friction: coefficient at that speed, mu_*"),
    "memory_length": Option(1e-8, 0.1, "m", "friction: slip length, L"),
    "relief": Option(0.0, 100.0, "1", "factor on the height profile of the plate"),
}
"""Parameters that a row may change. exp(mu_*/a) enters the law; with b > a the friction of a long stick exceeds mu_* by
less than that."""


def middles(n: int) -> NDArray[np.float64]:
    """Middles of ``n`` segments, (n,) lengths from the base: shorter ones towards the tip, see ``body.segments``."""
    nodes = 1.0 - (1.0 - np.arange(n + 1) / n) ** 1.5
    return 0.5 * (nodes[1:] + nodes[:-1])


@documented(PHYSICAL)
@dataclass(frozen=True)
class WhiskerRodParams:
    """Physical parameters of one whisker and its friction; the defaults are Table 1 at L = 10 um.

    The whisker is a truncated cone. Kelvin-Voigt damping is 0.5 alpha rho c_s r_0^3 A(s); that by the surroundings,
    which is not in the paper, is proportional to mass and velocity. The intrinsic curvature is linear from base to tip
    (an Euler spiral), and negative in a whisker that is to start on the plate, bent the way that the plate goes.
    ``curvature``, a number or one for each joint before a segment, is added; `of` takes it from a `Hair`.

    Args:
        n_segments (3 to 1000): Rigid segments of the rod. Thirty, as in the tasks, give modes 1 to 6 within 0.35% and
            static forces within 0.1%; 45 within 0.15% and 0.05%, for three quarters of the speed.
        {ranges}

    Raises:
        ValueError: For a value out of these ranges, some orders of magnitude around the paper's.
    """

    n_segments: int = 45
    length: float = 28.36e-3
    base_radius: float = 69e-6
    tip_radius: float = 2.5e-6
    density: float = 1295.1
    youngs_modulus: float = 3.3e9
    damping: float = 1.0
    external_damping: float = 0.0
    curvature_base: float = 0.0
    curvature_tip: float = 0.0
    curvature: float | tuple[float, ...] = 0.0
    rate_strength: float = 0.035
    state_strength: float = 0.049
    reference_speed: float = 1e-6
    reference_friction: float = REFERENCE_FRICTION
    memory_length: float = 10e-6
    relief: float = 1.0

    def __post_init__(self) -> None:
        whole("n_segments", self.n_segments, 3, 1000)
        for name, option in PHYSICAL.items():
            value = getattr(self, name)
            option.check(name, value if name == "curvature" else number(name, value))
        if np.shape(self.curvature) not in ((), (self.n_segments,)):
            raise ValueError(
                f"curvature must be a number or have {self.n_segments} entries, got {shown(self.curvature)}"
            )

    @classmethod
    def of(cls, hair: Hair | None = None, n_segments: int = 45, **others: float) -> WhiskerRodParams:
        """Make a whisker of the shape of a hair, that of the paper's C4 whisker by default.

        Args:
            n_segments (3 to 1000)
            **others: Any other parameter.
        """
        whole("n_segments", n_segments, 3, 1000)
        hair = Hair(cls.length, cls.base_radius, cls.tip_radius) if hair is None else hair
        middle = hair.length * middles(n_segments)
        return cls(
            n_segments,
            hair.length,
            hair.base_radius,
            hair.tip_radius,
            curvature=tuple((np.diff(hair.angle(middle), prepend=0.0) / np.diff(middle, prepend=0.0)).tolist()),
            **others,
        )


@dataclass(frozen=True, eq=False)
class Relief:
    """Height profile of a surface, repeated periodically and joined by cubic polynomials.

    Args:
        period (m)
        height ((K,) array, m): At equal distances over one period; positive is away from the whisker's base.
    """

    period: float
    height: NDArray[np.float64]

    def __post_init__(self) -> None:
        height = numbers("height", self.height)
        number("period", self.period, above=0)
        if height.ndim != 1 or len(height) in (0, 2):
            raise ValueError(f"height must be an array (K,) of one number or at least three, got {self.height!r}")
        object.__setattr__(self, "height", height)

    @classmethod
    def flat(cls) -> Relief:
        """Build the paper's plate."""
        return cls(1.0, np.zeros(1))

    @classmethod
    def sine(cls, amplitude: float, wavelength: float) -> Relief:
        """Build a grating.

        Args:
            amplitude, wavelength (m)
        """
        return cls(wavelength, amplitude * np.sin(2 * np.pi * np.arange(32) / 32))

    @classmethod
    def measured(cls, file: Any, spacing: float) -> Relief:
        """Read a measured profile; its mean and its trend are removed, so that the ends meet.

        Args:
            file (path or file): Text with one height in metres per line.
            spacing (m): Distance between two heights.
        """
        try:
            height = numbers("heights", np.loadtxt(file, ndmin=1))
        except (OSError, ValueError) as error:
            raise ValueError(f"file {shown(file)} cannot be read: {error}") from None
        if height.ndim != 1 or len(height) < 3:
            raise ValueError(f"file must hold a column of at least 3 heights, got shape {height.shape}")
        height = height - np.linspace(height[0], height[-1], len(height))
        return cls(spacing * len(height), height - height.mean())

    @classmethod
    def random(cls, grain: float, slope: float, seed: int = 0, period: float | None = None) -> Relief:
        """Draw sandpaper: random heights with wavelengths around the grain's diameter.

        Args:
            grain (m): Mean wavelength; the paper's P80 has 201 um, its P1200 15.3 um.
            slope: Root mean square slope.
            period (m): Length after which the profile repeats; 100 grains by default, at most 100,000.
        """
        grain, slope = number("grain", grain, above=0), number("slope", slope, minimum=0)
        period = 100 * grain if period is None else number("period", period, above=0, maximum=1e5 * grain)
        count = int(np.ceil(16 * period / grain))
        wave = np.arange(count // 2 + 1) * grain / period
        rng = np.random.default_rng(seed)
        spectrum = np.exp(-0.5 * ((wave - 1.0) / 0.25) ** 2) * np.exp(2j * np.pi * rng.uniform(size=len(wave)))
        spectrum[0] = 0.0
        height = np.fft.irfft(spectrum, count)
        steepness = np.fft.irfft(2j * np.pi / grain * wave * spectrum, count)
        return cls(period, height * slope / np.sqrt(np.mean(steepness**2)))

    def coefficients(self) -> NDArray[np.float64]:
        """Polynomials of the intervals, (K, 4): c0 + c1 f + c2 f^2 + c3 f^3 at a fraction f of an interval, in m."""
        count = len(self.height)
        if count < 3:
            return np.column_stack([self.height, *[np.zeros(count)] * 3])
        from scipy.interpolate import CubicSpline  # a flat plate needs none of it

        spline = CubicSpline(np.arange(count + 1), np.append(self.height, self.height[0]), bc_type="periodic")
        return np.ascontiguousarray(spline.c[::-1].T)
