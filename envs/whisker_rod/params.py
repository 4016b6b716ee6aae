"""Parameters of the whisker rod and of the surface that it touches in SI, from the paper's tables.

Here are `WhiskerRodParams`, `Relief`, and the ranges of the parameters that rows, resets and events can set. The
printed values are in ``assets/whisker_rod/parameters.toml``, hairs are in ``core/model/beam.py``. The fields of a row
are in ``body.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import number, numbers, shown, whole
from ..core.files import read_text
from ..core.kinds import advice, takes_objects
from ..core.model.beam import Hair
from ..core.model.quantities import Option, documented, read_numbers, read_table

REFERENCE_FRICTION = 0.37
"""mu_*, which is missing in Table 1; with this value, mu = 0.2 at the paper's speed of 0.2 m/s."""


@cache
def table() -> dict[str, Any]:
    """Return the constants of Oladazimi, Putelat et al. (2021) in SI."""
    return read_table("whisker_rod/parameters.toml")


PRINTED = read_numbers("whisker_rod/parameters.toml")
"""Numbers of the paper in SI, which are the defaults below."""

PHYSICAL = {
    "density": Option(1.0, 1e6, "kg/m^3", "density"),
    "length": Option(1e-3, 1.0, "m", "length"),
    "base_radius": Option(1e-6, 5e-3, "m", "radius at the base"),
    "tip_radius": Option(1e-8, 5e-3, "m", "radius at the tip"),
    "youngs_modulus": Option(3e6, 3e12, "Pa", "Young's modulus, E"),
    "damping": Option(0.0, 1e3, "1", "Kelvin-Voigt damping, alpha"),
    "external_damping": Option(0.0, 1e5, "1/s", "external damping rate"),
    "curvature_base": Option(-1e3, 1e3, "rad/m", "intrinsic curvature at the base; negative bends towards +x"),
    "curvature_tip": Option(-1e3, 1e3, "rad/m", "intrinsic curvature at the tip"),
    "curvature": Option(-1e3, 1e3, "rad/m", "additional intrinsic curvature at each joint; a number sets all"),
    "rate_strength": Option(1e-9, 1.0, "1", "friction: strength of the rate effect, a"),
    "state_strength": Option(0.0, 1.0, "1", "friction: strength of the state effect, b"),
    "reference_speed": Option(1e-9, 1e-3, "m/s", "friction: reference speed, V_*"),
    "reference_friction": Option(0.0, 2.0, "1", "friction: coefficient at the reference speed, mu_*"),
    "memory_length": Option(1e-8, 0.1, "m", "friction: memory length (slip length), L"),
    "relief": Option(0.0, 100.0, "1", "factor of the height profile of the plate"),
}
"""Parameters that can differ between rows. The range of mu_* is small because exp(mu_*/a) enters the friction law."""


def middles(n: int) -> NDArray[np.float64]:
    """Return the middles of ``n`` segments in lengths from the base, (n,); see ``body.segments``.

    Segments are shorter towards the tip.
    """
    nodes = 1.0 - (1.0 - np.arange(n + 1) / n) ** 1.5
    return 0.5 * (nodes[1:] + nodes[:-1])


@documented(PHYSICAL)
@dataclass(frozen=True)
class WhiskerRodParams:
    """Physical parameters of one whisker and its friction; the defaults are those of Table 1 with L = 10 um.

    The whisker is a truncated cone. The Kelvin-Voigt damping is 0.5 alpha rho c_s r_0^3 A(s). External damping, which
    the paper does not have, is proportional to mass and velocity. The intrinsic curvature is linear in arc length (an
    Euler spiral). If the whisker starts on a plate that moves along +x, the curvature should be negative.
    ``curvature``, a number or one per joint, is added; `of` computes it from a `Hair`.

    Args:
        n_segments (3 to 1000): Number of rigid segments. With 30, as in the tasks, modes 1 to 6 are accurate to 0.35%
            and static forces to 0.1%; with 45, to 0.15% and 0.05%.
        {ranges}

    Raises:
        ValueError: If a value is out of range. Ranges extend some orders of magnitude around the paper's values.
    """

    n_segments: int = 45
    length: float = PRINTED["length"]
    base_radius: float = PRINTED["base_radius"]
    tip_radius: float = PRINTED["tip_radius"]
    density: float = PRINTED["density"]
    youngs_modulus: float = PRINTED["youngs_modulus"]
    damping: float = PRINTED["damping"]
    external_damping: float = 0.0
    curvature_base: float = PRINTED["intrinsic_curvature"]
    curvature_tip: float = PRINTED["intrinsic_curvature"]
    curvature: float | tuple[float, ...] = 0.0
    rate_strength: float = PRINTED["rate_strength"]
    state_strength: float = PRINTED["state_strength"]
    reference_speed: float = PRINTED["reference_speed"]
    reference_friction: float = REFERENCE_FRICTION
    memory_length: float = PRINTED["memory_length"]
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
    @takes_objects
    def of(cls, hair: Hair | None = None, n_segments: int = 45, **others: float) -> WhiskerRodParams:
        """Compute the parameters of a whisker with the shape of a hair.

        Args:
            hair: Shape; by default that of the paper's whisker C4.
            n_segments (3 to 1000)
            **others: Further parameters, such as ``density``.
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
    """Periodic height profile of a surface, interpolated by cubic polynomials.

    Args:
        period (m)
        height ((K,) array, m): Heights at equal distances over one period, positive away from the whisker's base.
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
        """Return the paper's flat plate."""
        return cls(1.0, np.zeros(1))

    @classmethod
    def sine(cls, amplitude: float, wavelength: float) -> Relief:
        """Return a sinusoidal grating.

        Args:
            amplitude, wavelength (m)
        """
        return cls(wavelength, amplitude * np.sin(2 * np.pi * np.arange(32) / 32))

    @classmethod
    def measured(cls, file: Any, spacing: float) -> Relief:
        """Read a measured profile, and remove its mean and trend so that it can be repeated.

        Args:
            file (path or file): Text with one height in metres per line.
            spacing (m): Distance between two heights.
        """
        try:
            text = file.read() if hasattr(file, "read") else read_text(Path(file))
            height = numbers("heights", np.loadtxt(text.splitlines(), ndmin=1) if text.strip() else [])
        except (OSError, ValueError, TypeError) as error:
            raise ValueError(f"file {shown(file)} cannot be read: {advice(file) or error}") from None
        if height.ndim != 1 or len(height) < 3:
            raise ValueError(f"file {shown(file)} must be a column of at least 3 heights, got shape {height.shape}")
        height = height - np.linspace(height[0], height[-1], len(height))
        return cls(spacing * len(height), height - height.mean())

    @classmethod
    def random(cls, grain: float, slope: float, seed: int = 0, period: float | None = None) -> Relief:
        """Return random sandpaper, with wavelengths around the diameter of the grains.

        Args:
            grain (m): Mean wavelength; 201 um for the paper's P80, 15.3 um for its P1200.
            slope: Root mean square slope.
            period (m): Period of the profile; by default 100 grains, at most 100,000 grains.
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
        """Return the polynomials of the intervals, (K, 4) m: c0 + c1 f + c2 f^2 + c3 f^3 at fraction f of each."""
        count = len(self.height)
        if count < 3:
            return np.column_stack([self.height, *[np.zeros(count)] * 3])
        from scipy.interpolate import CubicSpline  # not needed for a flat plate

        spline = CubicSpline(np.arange(count + 1), np.append(self.height, self.height[0]), bc_type="periodic")
        return np.ascontiguousarray(spline.c[::-1].T)
