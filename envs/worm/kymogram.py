"""Kymograms: control angles over joints and time, as waves or as recorded from real worms."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import number, numbers, whole
from .params import table

FRAME_RATE = 32.0
"""Frames a second of the recorded kymograms, Hz."""

RECORDED = ("omega_turn", "delta_turn")
"""Names of the recorded kymograms."""


def load_kymogram(source: str | Path) -> NDArray[np.float64]:
    """Read a kymogram.

    Parameters
    ----------
    source : str or path
        ``"omega_turn"`` or ``"delta_turn"`` (recorded worms, see ``assets/worm/README.md``), or a file:
        ``.npy``, or ``.csv`` with commas, a row a frame and a column a joint, head to tail.

    Returns
    -------
    angles : (N, n_joints) float, rad

    Raises
    ------
    ValueError
        If the file cannot be read as a matrix of finite numbers. Pickled objects are never loaded.
    """
    try:
        if source in RECORDED:
            with resources.files("gymnosoma.assets").joinpath(f"worm/{source}.npy").open("rb") as file:
                angles = np.load(file, allow_pickle=False)
        elif Path(source).suffix == ".csv":
            angles = np.loadtxt(source, delimiter=",", ndmin=2)
        elif Path(source).suffix == ".npy":
            angles = np.load(source, allow_pickle=False)
        else:
            raise ValueError(f"it is neither {' nor '.join(RECORDED)}, nor a .npy or .csv file")
        angles = np.asarray(angles, float)
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"kymogram {str(source)!r} cannot be read: {error}") from None
    if angles.ndim != 2 or not angles.size or not np.isfinite(angles).all():
        raise ValueError(
            f"kymogram {str(source)!r} must be a matrix of finite angles (frames, joints), got shape {angles.shape}"
        )
    return angles


class SineKymogram:
    """Travelling wave A cos(2 pi (nu (i - 1)/(n - 2) - t/T)) + bias; Chung et al. (2024), Fig. 2.

    Parameters
    ----------
    amplitude : float, rad
        The paper's 0.6.
    wavenumber : float
        Waves on the body, nu; positive runs head to tail (forwards).
    period : float, s
        T; negative runs backwards.
    bias : float, rad
        Added to all joints: steers.
    ramp : float, s, optional
        The amplitude grows linearly over this time; one period by default, 0 for the paper's start.
    n_joints : int
    """

    reads: tuple[str, ...] = ()

    def __init__(
        self,
        amplitude: float = 0.6,
        wavenumber: float = 1.832,
        period: float = 1.6,
        bias: float = 0.0,
        ramp: float | None = None,
        n_joints: int = 24,
    ) -> None:
        self.amplitude, self.wavenumber = number("amplitude", amplitude), number("wavenumber", wavenumber)
        self.period, self.bias = number("period", period), number("bias", bias)
        if period == 0:
            raise ValueError(f"period must not be 0, got {period!r}")
        self.ramp = abs(self.period) if ramp is None else number("ramp", ramp, least=0)
        whole("n_joints", n_joints, 2)
        self._phase = 2 * np.pi * wavenumber * np.arange(n_joints) / (n_joints - 1)

    @classmethod
    def for_medium(cls, sigma: float, **changes: Any) -> SineKymogram:
        """Build the paper's wave on agar (sigma 1) or in water (0), interpolated linearly between them."""
        t = table()
        wave = {
            "amplitude": t["wave_amplitude"],
            "wavenumber": (1 - sigma) * t["water_wavenumber"] + sigma * t["agar_wavenumber"],
            "period": (1 - sigma) * t["water_period"] + sigma * t["agar_period"],
        }
        return cls(**wave | changes)

    def __call__(self, t: float) -> NDArray[np.float64]:
        """Control angles (n_joints,) rad at time ``t`` s."""
        return self.drive(np.array([t]), {}, np.array([False]))[0]

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Control angles (B, n_joints) rad at times ``t`` (B,) s."""
        grown = np.minimum(t / self.ramp, 1.0) if self.ramp else np.ones_like(t)
        wave = np.cos(self._phase - (2 * np.pi / self.period) * t[:, None])
        return (self.amplitude * grown)[:, None] * wave + self.bias


class KymogramPlayback:
    """A kymogram played frame by frame, each held until the next; the last is held for ever.

    Parameters
    ----------
    source : str, path or array (N, n_joints)
        What `load_kymogram` takes, or the angles themselves in rad.
    rate : float, Hz
        Frames a second.
    """

    reads: tuple[str, ...] = ()

    def __init__(self, source: str | Path | ArrayLike, rate: float = FRAME_RATE) -> None:
        self.rate = number("rate", rate, above=0)
        if isinstance(source, str | Path):
            self.angles = load_kymogram(source)
        else:
            self.angles = numbers("source", source)
            if self.angles.ndim != 2 or not self.angles.size:
                raise ValueError(f"source must be a matrix of angles, got shape {self.angles.shape}")

    def __call__(self, t: float) -> NDArray[np.float64]:
        """Control angles (n_joints,) rad at time ``t`` s."""
        return self.drive(np.array([t]), {}, np.array([False]))[0]

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Control angles (B, n_joints) rad at times ``t`` (B,) s."""
        frame = np.floor(t * self.rate + 1e-9).astype(int)  # a frame's own time belongs to it
        return self.angles[np.clip(frame, 0, len(self.angles) - 1)]
