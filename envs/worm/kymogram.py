"""Kymograms: control angles over joints and time, as waves or as recorded from real worms."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import number, numbers, shown, whole
from ..core.files import check_file
from ..core.model.control import OpenLoop
from .params import table

FRAME_RATE = 32.0
"""Frames a second of the recorded kymograms, Hz."""

RECORDED = ("omega_turn", "delta_turn")
"""Names of the recorded kymograms."""

LARGEST_FILE = 1 << 26
"""Bytes that a kymogram's file may have: three hours at the recorded rate."""

HIGHEST_RATE = 1e6
"""Frames a second of a playback at most, Hz."""


def load_kymogram(source: str | Path) -> NDArray[np.float64]:
    """Read a kymogram.

    Args:
        source: ``"omega_turn"`` or ``"delta_turn"`` (recorded worms, see ``assets/worm/README.md``), or a file:
            ``.npy``, or ``.csv`` with commas, a row a frame and a column a joint, head to tail; what follows a ``#`` is
            a comment, and there is no other header. `Kymogram.read` takes files with headers and gaps.

    Returns:
        angles (N, n_joints) float, rad

    Raises:
        ValueError: If the file cannot be read as a matrix of finite numbers, or has more than `LARGEST_FILE` bytes.
            Pickled objects are never loaded. Rows and columns in errors count from 1, rows of text as the lines of the
            file.
    """
    try:
        if source in RECORDED:
            with resources.as_file(resources.files("gymnosoma.assets").joinpath(f"worm/{source}.npy")) as path:
                return _read_array(path)
        path = Path(source)
        if path.suffix not in (".npy", ".csv"):
            raise ValueError(f"it is neither {' nor '.join(RECORDED)}, nor a .npy or .csv file")
        check_file(path, LARGEST_FILE)
        return (_read_array if path.suffix == ".npy" else _read_text)(path)
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"kymogram {str(source)!r} cannot be read: {error}") from None


def _read_array(path: Path) -> NDArray[np.float64]:
    angles = read_matrix(path)
    for row, column in np.argwhere(~np.isfinite(angles))[:1]:
        value = angles[row, column]
        raise ValueError(f"row {row + 1}, column {column + 1} must be a finite number, got {value}")
    return angles


def read_matrix(path: Path) -> NDArray[np.float64]:
    """Matrix of numbers, finite or not, in a ``.npy`` file; ValueError or OSError if it holds none."""
    try:
        # A mapped file takes no memory for what its header claims and the file does not hold.
        angles = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError:
        raise
    except Exception as error:  # a damaged header ends in many ways
        reason = " ".join(str(error).split())
        raise ValueError(f"the header does not fit a file of {path.stat().st_size} bytes: {reason}") from None
    if not isinstance(angles, np.ndarray) or angles.dtype.kind not in "iuf" or angles.ndim != 2 or not angles.size:
        held = f"{angles.dtype} of shape {angles.shape}" if isinstance(angles, np.ndarray) else "an archive"
        raise ValueError(f"it must hold a matrix of numbers (frames, joints), got {held}")
    return np.array(angles, float)


def _read_text(path: Path) -> NDArray[np.float64]:
    rows: list[NDArray[np.float64]] = []
    for i, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.partition("#")[0]
        if not text.strip():
            continue
        cells = text.split(",")
        row = np.empty(len(cells))
        for j, cell in enumerate(cells):
            try:
                row[j] = float(cell)
            except ValueError:
                row[j] = np.nan
            if not np.isfinite(row[j]):
                raise ValueError(f"row {i}, column {j + 1} must be a finite number, got {shown(cell)}")
        if rows and len(row) != len(rows[0]):
            raise ValueError(f"row {i} has {len(row)} columns, those before have {len(rows[0])}")
        rows.append(row)
    if not rows:
        raise ValueError("it must hold a matrix of numbers (frames, joints), got none")
    return np.array(rows)


def measured(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Numbers or NaN as an array of float."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise ValueError
        array = array.astype(float)
    except (ValueError, TypeError):
        raise ValueError(f"{name} must hold numbers, or NaN where nothing was measured, got {shown(value)}") from None
    if np.isinf(array).any():
        raise ValueError(f"{name} must be finite, or NaN where nothing was measured, got inf")
    return array


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
        self._cos, self._sin = np.cos(phase), np.sin(phase)

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
        angle = (2 * np.pi / self.period) * t
        # cos(phase - angle), by as few cosines as there are times
        wave = (height * np.cos(angle))[:, None] * self._cos
        wave += (height * np.sin(angle))[:, None] * self._sin
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
        if isinstance(source, str | Path):
            self.angles = load_kymogram(source)
        else:
            self.angles = numbers("source", source)
            if self.angles.ndim != 2 or not self.angles.size:
                raise ValueError(f"source must be a matrix of angles, got shape {self.angles.shape}")

    def __call__(self, t: float) -> NDArray[np.float64]:
        """Control angles (n_joints,) rad at time ``t`` s."""
        return self.at(np.array([t]))[0]

    def at(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Control angles (T, n_joints) rad at times ``t`` (T,) s."""
        frame = np.floor(t * self.rate + 1e-9).astype(int)  # a frame's own time belongs to it
        return self.angles[np.clip(frame, 0, len(self.angles) - 1)]
