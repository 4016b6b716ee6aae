"""Kymograms, which are control angles over joints and time: sine waves and recordings of real worms.

They are open-loop controllers for simulations and the base of residual actions. The recordings are in
``assets/worm``; controllers that steer are in ``agents/controllers/worm.py``.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import number, numbers, whole
from ..core.files import LARGEST_TEXT, read_array, read_table
from ..core.kernels.jit import kernel
from ..core.kinds import advice
from ..core.model.control import OpenLoop
from .params import table

FRAME_RATE = 32.0
"""Frame rate of the recorded kymograms, Hz."""

RECORDED = ("omega_turn", "delta_turn")
"""Names of the recorded kymograms."""

HIGHEST_RATE = 1e6
"""Maximum frame rate of a playback, Hz."""


def load_kymogram(source: str | Path) -> NDArray[np.float64]:
    """Read a kymogram.

    Args:
        source: ``"omega_turn"`` or ``"delta_turn"`` (recorded worms, see ``assets/worm/README.md``), or a ``.npy`` or
            ``.csv`` file. Rows are frames, columns are joints from head to tail. CSV files have commas and no header;
            ``#`` starts a comment. `gymnosoma.recordings.Kymogram` reads files with headers and gaps.

    Returns:
        Joint angles (N, n_joints), rad.

    Raises:
        ValueError: If the file cannot be read as a matrix of finite numbers. Pickled objects are never loaded.
    """
    try:
        if source in RECORDED:
            with resources.as_file(resources.files("gymnosoma.assets").joinpath(f"worm/{source}.npy")) as path:
                return np.array(read_array(path))
        path = Path(source)
        if path.suffix not in (".npy", ".csv"):
            raise ValueError(f"it must be {', '.join(RECORDED)}, or a .npy or .csv file")
        return _matrix("it", np.array(read_array(path, LARGEST_TEXT)) if path.suffix == ".npy" else read_table(path))
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(
            f"kymogram {str(source)!r} cannot be read: {advice(source, 'kymogram', 'drive', 'base') or error}"
        ) from None


def _matrix(name: str, value: ArrayLike) -> NDArray[np.float64]:
    angles = numbers(name, value)
    if angles.ndim != 2 or not angles.size:
        raise ValueError(f"{name} must be a matrix of angles (frames, joints), got shape {angles.shape}")
    return angles


@kernel
def _add_waves(along, across, cos, sin, bias, waves):
    """Set ``waves`` (T, n) to two standing waves with amplitudes (T,) and shapes (n,), plus a bias."""
    for k in range(len(waves)):
        for j in range(len(cos)):
            waves[k, j] = along[k] * cos[j] + across[k] * sin[j] + bias


def wave_for(sigma: ArrayLike) -> dict[str, Any]:
    """Return amplitude (rad), wavenumber and period (s) of the paper's wave for agar (sigma 1), water (0), or between.

    The last two are interpolated linearly, as the paper leaves them open.
    """
    t, s = table(), np.asarray(sigma, float)
    return {
        "amplitude": t["wave_amplitude"],
        "wavenumber": (1 - s) * t["water_wavenumber"] + s * t["agar_wavenumber"],
        "period": (1 - s) * t["water_period"] + s * t["agar_period"],
    }


class SineKymogram(OpenLoop):
    """Travelling wave A cos(2 pi (nu (i - 1)/(n - 2) - t/T)) + bias; Chung et al. (2024), Fig. 2.

    Args:
        amplitude (rad): Amplitude A.
        wavenumber: Number of waves on the body, nu; a positive number is a wave from head to tail (forward locomotion).
        period (s): Period T; a negative period reverses the wave.
        bias (rad): Angle added to all joints, which turns the worm.
        ramp (s): Time in which the amplitude rises linearly from 0; by default one period. The paper's waves start
            with ``ramp=0``.
        n_joints: Number of joints, n - 1.
    """

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
        self.ramp = abs(self.period) if ramp is None else number("ramp", ramp, minimum=0)
        whole("n_joints", n_joints, 2, 1000)
        phase = 2 * np.pi * wavenumber * np.arange(n_joints) / (n_joints - 1)
        self.cos, self.sin = np.cos(phase), np.sin(phase)
        self.pace = 2 * np.pi / self.period

    @classmethod
    def for_medium(cls, sigma: float, **changes: Any) -> SineKymogram:
        """Return the paper's wave for agar (sigma 1), water (0) or, by linear interpolation, a medium between them."""
        return cls(**{name: float(value) for name, value in wave_for(sigma).items()} | changes)

    def __call__(self, t: float) -> NDArray[np.float64]:
        """Return the control angles (n_joints,), rad, at time ``t`` s."""
        return self.at(np.array([t]))[0]

    def at(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the control angles (T, n_joints), rad, at times ``t`` (T,) s."""
        height = self.amplitude * (np.minimum(t / self.ramp, 1.0) if self.ramp else np.ones_like(t))
        angle = self.pace * t
        waves = np.empty((len(t), len(self.cos)))
        # cos(phase - angle), with two trigonometric functions per time
        _add_waves(height * np.cos(angle), height * np.sin(angle), self.cos, self.sin, self.bias, waves)
        return waves


class KymogramPlayback(OpenLoop):
    """Playback of a kymogram; each frame is held until the next, and the last one for ever.

    Args:
        source (str, path or array (N, n_joints)): Source for `load_kymogram`, or angles in rad.
        rate (Hz): Frame rate, at most `HIGHEST_RATE`.
    """

    def __init__(self, source: str | Path | ArrayLike, rate: float = FRAME_RATE) -> None:
        self.rate = number("rate", rate, above=0, maximum=HIGHEST_RATE)
        self.angles = load_kymogram(source) if isinstance(source, str | Path) else _matrix("source", source)

    def __call__(self, t: float) -> NDArray[np.float64]:
        """Return the control angles (n_joints,), rad, at time ``t`` s."""
        return self.at(np.array([t]))[0]

    def at(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the control angles (T, n_joints), rad, at times ``t`` (T,) s."""
        frame = np.floor(t * self.rate + 1e-9).astype(int)  # tolerates round-off at the time of a frame
        return self.angles[np.clip(frame, 0, len(self.angles) - 1)]
