"""Kymograms: control angles over joints and time, as waves or as recorded from real worms."""

from __future__ import annotations

import warnings
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import number, numbers, whole
from ..core.files import check_file
from ..core.model.control import OpenLoop
from .params import table

FRAME_RATE = 32.0
"""Frames a second of the recorded kymograms, Hz."""

RECORDED = ("omega_turn", "delta_turn")
"""Names of the recorded kymograms."""

HIGHEST_RATE = 1e6
"""Frames a second of a playback at most, Hz."""


def load_kymogram(source: str | Path) -> NDArray[np.float64]:
    """Read a kymogram.

    Args:
        source: ``"omega_turn"`` or ``"delta_turn"`` (recorded worms, see ``assets/worm/README.md``), or a file:
            ``.npy``, or ``.csv`` with commas, a row a frame and a column a joint, head to tail; what follows a ``#`` is
            a comment, and there is no other header. `gymnosoma.recordings.Kymogram` reads files with headers and gaps.

    Returns:
        angles (N, n_joints) float, rad

    Raises:
        ValueError: If the file cannot be read as a matrix of finite numbers. Pickled objects are never loaded.
    """
    try:
        if source in RECORDED:
            with resources.as_file(resources.files("gymnosoma.assets").joinpath(f"worm/{source}.npy")) as path:
                return _read_array(path)
        path = Path(source)
        if path.suffix not in (".npy", ".csv"):
            raise ValueError(f"it is neither {' nor '.join(RECORDED)}, nor a .npy or .csv file")
        check_file(path)
        return _matrix("it", (_read_array if path.suffix == ".npy" else _read_text)(path))
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"kymogram {str(source)!r} cannot be read: {error}") from None


def _matrix(name: str, value: ArrayLike) -> NDArray[np.float64]:
    angles = numbers(name, value)
    if angles.ndim != 2 or not angles.size:
        raise ValueError(f"{name} must be a matrix of angles (frames, joints), got shape {angles.shape}")
    return angles


def _read_array(path: Path) -> NDArray[np.float64]:
    try:
        # A mapped file takes no memory for what its header claims and the file does not hold.
        angles = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError:
        raise
    except Exception as error:  # a damaged header ends in many ways
        raise ValueError(f"it is no array: {error}") from None
    if not isinstance(angles, np.ndarray):
        raise ValueError("it must hold an array, got an archive")
    return np.array(angles)


def _read_text(path: Path) -> NDArray[np.float64]:
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of an empty file
        return np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8")


class SineKymogram(OpenLoop):
    """Travelling wave A cos(2 pi (nu (i - 1)/(n - 2) - t/T)) + bias; Chung et al. (2024), Fig. 2.

    Args:
        amplitude (rad): The paper's 0.6.
        wavenumber: Waves on the body, nu; positive runs head to tail (forwards).
        period (s): T; negative runs backwards.
        bias (rad): Added to all joints: steers.
        ramp (s): The amplitude grows linearly over this time; one period by default, 0 for the paper's start.
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
        return self.at(np.array([t]))[0]

    def at(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Control angles (T, n_joints) rad at times ``t`` (T,) s."""
        height = self.amplitude * (np.minimum(t / self.ramp, 1.0) if self.ramp else np.ones_like(t))
        angle = self.pace * t
        # cos(phase - angle), by as few cosines as there are times
        wave = (height * np.cos(angle))[:, None] * self.cos
        wave += (height * np.sin(angle))[:, None] * self.sin
        wave += self.bias
        return wave


class KymogramPlayback(OpenLoop):
    """A kymogram played frame by frame, each held until the next; the last is held for ever.

    Args:
        source (str, path or array (N, n_joints)): What `load_kymogram` takes, or the angles themselves in rad.
        rate: Frames a second, at most `HIGHEST_RATE`.
    """

    def __init__(self, source: str | Path | ArrayLike, rate: float = FRAME_RATE) -> None:
        self.rate = number("rate", rate, above=0, maximum=HIGHEST_RATE)
        self.angles = load_kymogram(source) if isinstance(source, str | Path) else _matrix("source", source)

    def __call__(self, t: float) -> NDArray[np.float64]:
        """Control angles (n_joints,) rad at time ``t`` s."""
        return self.at(np.array([t]))[0]

    def at(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Control angles (T, n_joints) rad at times ``t`` (T,) s."""
        frame = np.floor(t * self.rate + 1e-9).astype(int)  # a frame's own time belongs to it
        return self.angles[np.clip(frame, 0, len(self.angles) - 1)]
