"""Forces at the base of a recorded vibrissa that whisks in free air: they follow from the motion of its base."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs import OpenLoop, Trajectory, simulate
from gymnosoma.envs.core.arguments import number, numbers, shown
from gymnosoma.envs.core.files import check_file
from gymnosoma.envs.whisker_chain import Whisker, WhiskerParams

from .smoothing import smooth

ORDER = 5
"""Of the differences that are kept small: accelerations are smooth then."""

EDGE = 0.1
"""Time (s) at each end of a recording that is left out: its motion is not well known, and the vibrissa rings."""

HIGHEST_RATE = 1e6
"""Frames a second of a recording at most."""

LARGEST_WEIGHT = 1e10
"""Of the differences: at 500 Hz what is slower than 8 Hz is left."""


class RecordedBase(OpenLoop):
    """Motion of the base of a recorded vibrissa, without the camera's noise, as its drive.

    Fifth differences are penalised, with the weight of greatest restricted likelihood: of 2 mrad of noise at 500 Hz
    the force across keeps 4%, where a filter at 85 Hz leaves 27%, and a spline through all points 200%.

    Args:
        angle ((N,) float, rad): Of the base, counter-clockwise, continuous; NaN where it was not measured.
        rate: Frames a second.
        x, y ((N,) float, m): Place of the base; it stays at the origin by default.

    Raises:
        ValueError: For series that are no such lists, or shorter than three times `EDGE`.
    """

    def __init__(self, angle: ArrayLike, rate: float, x: ArrayLike | None = None, y: ArrayLike | None = None) -> None:
        from scipy.interpolate import make_interp_spline  # slow to import

        self.rate = number("rate", rate, above=0, maximum=HIGHEST_RATE)
        count = len(np.atleast_1d(angle))
        if count < 3 * EDGE * rate or count < 4 * ORDER:
            least = f"{3 * EDGE:g} s and {4 * ORDER} frames"
            raise ValueError(f"angle must last {least} at least, got {count} frames at {rate:g} Hz")
        columns = np.zeros((count, 3))
        self.noise: dict[str, float] = {}
        for column, (name, value) in zip(columns.T, {"angle": angle, "x": x, "y": y}.items(), strict=True):
            if value is None:
                continue
            values = np.asarray(value)
            if values.shape != (count,):
                raise ValueError(f"{name} must be a list of {count} numbers, got shape {values.shape}")
            measured = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(count, bool)
            numbers(name, values[measured])
            series = smooth(values[:, None].astype(float), ORDER, "reml", measured, LARGEST_WEIGHT)
            column[:] = series.values[:, 0]
            rest = (values - column)[measured]
            self.noise[name] = float(np.sqrt(np.sum(rest**2) / (measured.sum() - series.freedom[0])))
        self._motion = make_interp_spline(np.arange(count) / rate, columns, k=5)
        self.duration = (count - 1) / rate

    @classmethod
    def read(cls, path: str | Path, rate: float | None = None) -> RecordedBase:
        """Read a table (``.csv``) whose first line names its columns: ``angle``, and ``x``, ``y``, ``time`` if known.

        Args:
            rate: Frames a second, where there are no times; these must be even within 2%.

        Raises:
            ValueError: If the file cannot be read so; names it.
        """
        path = Path(path)
        try:
            check_file(path)
            with open(path, encoding="utf-8-sig") as file:
                names = [name.strip().lower() for name in file.readline().split(",")]
                if "angle" not in names:
                    raise ValueError(f"its first line must name a column angle, got {shown(', '.join(names))}")
                table = np.genfromtxt(file, delimiter=",", ndmin=2)
            columns = dict(zip(names, table.T, strict=True))
            if rate is None:
                if "time" not in columns:
                    raise ValueError("rate must be given, frames a second, or a column time")
                steps = np.diff(columns["time"])
                rate = float(1.0 / np.median(steps))
                if not np.abs(steps * rate - 1.0).max() < 0.02:
                    raise ValueError("time must be even within 2%")
            return cls(columns["angle"], rate, columns.get("x"), columns.get("y"))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or " ".join(str(error).split())
            raise ValueError(f"recording {str(path)!r} cannot be read: {reason}") from None

    @property
    def start(self) -> dict[str, NDArray[np.float64]]:
        """Initial values of the vibrissa, for `simulate`."""
        place, speed = self._motion(0.0), self._motion(0.0, 1)
        return {"base_angle": place[0], "base": place[1:], "base_rate": speed[0], "base_velocity": speed[1:]}

    def at(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Accelerations (T, 3) of the base at times ``t`` (T,) s."""
        return np.asarray(self._motion(np.minimum(t, self.duration), 2))


def free_forces(base: RecordedBase, params: WhiskerParams | None = None) -> Trajectory:
    """Simulate a vibrissa in free air that follows a recorded base: ``base_wrench`` is M, Fx and Fy at the follicle.

    In contact this does not hold: the force of contact is not in the motion of the base.

    Args:
        params: The paper's D1 vibrissa by default; `WhiskerParams.of` makes others.

    Returns:
        Trajectory: At the times of the frames, without `EDGE` at each end.
    """
    whisker = Whisker(params)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # a failure is an error here
        run = simulate(whisker, base, base.duration, 1.0 / base.rate, base.start)
    if run.failure is not None:
        raise ValueError(f"params must be of a vibrissa that can follow the base, got one of which {run.failure}")
    assert run.rows is not None
    inside = (run.time > EDGE) & (run.time < base.duration - EDGE)
    return Trajectory(run.time[inside], None, None, whisker, run.rows[inside], run.every)
