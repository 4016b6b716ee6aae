"""Forces at the base of a recorded whisker in free air, computed from the motion of its base.

Contact forces do not follow from this motion. The formats of files are in `whisker_files`.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs import OpenLoop, Trajectory, simulate
from gymnosoma.envs.core.arguments import number, numbers
from gymnosoma.envs.core.kinds import takes_objects
from gymnosoma.envs.whisker_chain import Whisker, WhiskerParams

from .smoothing import smooth
from .units import HIGHEST_RATE, Array, Hints, reading, stretches, within_span
from .whisker_files import read_base

ORDER = 5
"""Order of the penalised differences, which makes accelerations smooth."""

EDGE = 0.1
"""Time (s) removed at each end of a recording, where the motion is uncertain and the whisker rings."""

LARGEST_WEIGHT = 1e10
"""Largest weight of the penalty; at 500 Hz it leaves motion slower than 8 Hz."""

FRAMES = 5.0
"""Smallest number of frames in a period of the fastest motion, for accelerations within about 3%."""

FASTEST = 25.0
"""Highest frequency of whisking, Hz."""

DETAIL = 0.01
"""Share of the squared acceleration that may be faster than the frame rate resolves."""

GAP, GAPS = 3, 8.0
"""Longest gap of any recording, frames, and smallest period of the fastest motion, in longest gaps."""

STEP = 1e-4
"""Largest time step of the simulation, s."""

ARMS = np.array([0.03, 1.0, 1.0])
"""Lengths (m) by which angle, x and y move the middle of a whisker."""

STILL = 1e-7
"""Largest motion (m) of a base at rest."""

MOST = {"angle": (100.0, 0.1), "x": (1.0, 1e-3), "y": (1.0, 1e-3)}
"""Largest plausible speed (rad/s, m/s) and noise (rad, m) of a base."""


class RecordedBase(OpenLoop):
    """Smoothed motion of the base of a recorded whisker, as the drive of a simulation.

    The fifth differences are penalised with the weight of largest restricted likelihood. For 2 mrad of noise at 500 Hz,
    the error of the transverse force is 4%, compared with 27% for a filter at 85 Hz and 200% for a spline through all
    points. Frames before the first measurement of all series and after the last are removed.

    Args:
        angle ((N,) float, rad): Angle of the base, counter-clockwise; NaN for missing measurements.
        rate (Hz): Frame rate, at least `FRAMES` times the highest frequency of the motion and twice `FASTEST`.
        x, y ((N,) float, m): Position of the base; the origin by default.

    Raises:
        ValueError: If the series have different lengths or long gaps, are shorter than three times `EDGE`, or are not
            resolved by the frame rate, or if their speed or noise is not that of a whisker.
    """

    def __init__(self, angle: ArrayLike, rate: float, x: ArrayLike | None = None, y: ArrayLike | None = None) -> None:
        from scipy.interpolate import make_interp_spline  # slow to import

        self.rate = number("rate", rate, above=0, maximum=HIGHEST_RATE)
        self.noise: dict[str, float] = {}
        self.notes: tuple[str, ...] = ()
        size = len(np.atleast_1d(angle))
        columns = zip(MOST, (angle, x, y), strict=True)
        series = {name: np.array(np.atleast_1d(each)) for name, each in columns if each is not None}
        for name, values in series.items():
            if values.shape != (size,):
                raise ValueError(f"{name} must be an array of {size} numbers, got shape {values.shape}")
            numbers(name, values[~np.isnan(values)] if values.dtype.kind == "f" else values)
        measured = np.flatnonzero(np.all([np.isfinite(values) for values in series.values()], 0))
        self.first, last = (int(measured[k]) if len(measured) else -k - 1 for k in (0, -1))
        count = last - self.first + 1
        _check_gaps(measured, rate)  # before smoothing, which cannot bridge long ones
        if count < 3 * EDGE * rate or count < 4 * ORDER:
            least = f"{3 * EDGE:g} s and {4 * ORDER} frames"
            raise ValueError(f"angle must have at least {least}, got {count} frames at {rate:g} Hz")
        motion, residuals = np.zeros((2, count, 3))
        self._measured: dict[str, NDArray[np.bool_]] = {}
        for name, values in series.items():
            values = values[self.first : last + 1].astype(float)
            known = self._measured[name] = ~np.isnan(values)
            if name == "angle":
                values[known] = np.unwrap(values[known])
            smoothed = smooth(values[:, None], ORDER, "reml", known, LARGEST_WEIGHT)
            residual = np.where(known, values - smoothed.values[:, 0], 0.0)
            self.noise[name] = float(np.sqrt(np.sum(residual**2) / (known.sum() - smoothed.freedom[0])))
            motion[:, list(MOST).index(name)], residuals[:, list(MOST).index(name)] = smoothed.values[:, 0], residual
        self._motion, self.duration = make_interp_spline(np.arange(count) / rate, motion, k=5), (count - 1) / rate
        inside = np.all([*self._measured.values()], 0)
        part = slice(*max(stretches(inside, GAP), key=lambda stretch: stretch[1] - stretch[0]))
        fastest = _fastest(motion[part] * ARMS, residuals[part] * ARMS, rate)
        # Slower cameras can show whisking as slower motion.
        need = FRAMES * (fastest if rate >= 2.0 * FASTEST else FASTEST)
        if rate < need:
            raise ValueError(f"rate must be at least {np.ceil(need):.0f} Hz to resolve this motion, got {rate:g}")
        _check_gaps(measured, rate, fastest)
        speeds = np.abs(self._motion(np.flatnonzero(inside) / rate, 1)).max(0)
        for (name, limits), speed in zip(MOST.items(), speeds, strict=True):
            if speed > limits[0] or self.noise.get(name, 0.0) > limits[1]:
                si, likely = ("rad", "degrees") if name == "angle" else ("m", "mm or pixels")
                what = f"{speed:.3g} {si}/s with noise of {self.noise[name]:.2g} {si}"
                raise ValueError(f"{name} must be in {si}, got {what}: likely in {likely}, so give the unit")

    @classmethod
    def read(
        cls,
        path: str | Path,
        rate: float | None = None,
        whisker: str | int | None = None,
        angle_unit: str | None = None,
        length_unit: str | None = None,
        microns_per_pixel: float | None = None,
        y_down: bool | None = None,
        start: float | None = None,
        stop: float | None = None,
    ) -> RecordedBase:
        """Read a table, or a file of whisk; `whisker_files` describes the formats.

        Args:
            path: File ``.csv``, ``.tsv``, ``.txt``, ``.measurements`` or ``.whiskers``.
            rate (Hz): Frame rate; required without a column of times, which it must match otherwise.
            whisker: Whisker to read; required if there are several.
            angle_unit, length_unit: Units of columns whose names have none, such as deg and mm; by default rad and m.
            microns_per_pixel (um): Size of a pixel; required for positions in pixels.
            y_down: Whether y points downwards and angles are clockwise; required for positions in pixels, and True by
                default for files of whisk.
            start, stop (s): Part of the recording to use, in time from its first frame; all by default.

        Raises:
            ValueError: If the file cannot be read, or a required argument is missing, or one is given that has no
                effect.
        """
        path = Path(path)
        units = {"angle_unit": angle_unit, "length_unit": length_unit, "time_unit": None}
        hints = Hints(rate=rate, whisker=whisker, microns_per_pixel=microns_per_pixel, y_down=y_down, **units)
        with reading("recording", path, "base", "drive"):
            motion, rate, notes = read_base(path, hints)
            hints.check_unused()
            base = cls(rate=rate, **{name: within_span(each, rate, start, stop) for name, each in motion.items()})
        base.notes = notes
        return base

    def repeated(self, seed: int) -> RecordedBase:
        """Return the motion with new noise of the measured size, smoothed again, whose difference is an error."""
        times, rng = np.arange(round(self.duration * self.rate) + 1) / self.rate, np.random.default_rng(seed)
        columns = dict(zip(MOST, self._motion(times).T, strict=True))
        noisy = {name: columns[name] + sd * rng.standard_normal(len(times)) for name, sd in self.noise.items()}
        return RecordedBase(
            rate=self.rate, **{name: np.where(self._measured[name], noisy[name], np.nan) for name in noisy}
        )

    @property
    def start(self) -> dict[str, NDArray[np.float64]]:
        """Initial values of the whisker, for `simulate`."""
        place, speed = self._motion(0.0), self._motion(0.0, 1)
        return {"base_angle": place[0], "base": place[1:], "base_rate": speed[0], "base_velocity": speed[1:]}

    def at(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the accelerations (T, 3) of the base at times ``t`` (T,) in s."""
        return np.asarray(self._motion(np.minimum(t, self.duration), 2))


@takes_objects
def free_forces(base: RecordedBase, params: WhiskerParams | None = None) -> Trajectory:
    """Simulate a whisker in free air whose base follows a recording.

    The signal ``base_wrench`` is M, Fx and Fy at the follicle. It is not valid in contact, because the motion of the
    base does not determine the contact force.

    Args:
        base: Motion of the base.
        params: Parameters of the whisker chain; by default the paper's D1 whisker, others from `WhiskerParams.of`.

    Returns:
        Trajectory: Signals at the times of the frames, without `EDGE` at each end.

    Raises:
        ValueError: If the simulation fails, because the whisker cannot follow the base.
    """
    frame = 1.0 / base.rate
    whisker = Whisker(params, dt=frame / np.ceil(frame / STEP - 1e-6))
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # a failure is an error here
        run = simulate(whisker, base, base.duration, frame, base.start)
    if run.failure is not None:
        raise ValueError(f"params must allow the whisker to follow the base, got a failure: {run.failure}")
    assert run.rows is not None
    inside = (run.time > EDGE) & (run.time < base.duration - EDGE)
    return Trajectory(run.time[inside] + base.first * frame, None, None, whisker, run.rows[inside], run.every)


def _check_gaps(measured: NDArray[np.int64], rate: float, fastest: float | None = None) -> None:
    """Raise ValueError if measured frames have a longer gap than the fastest motion (Hz), if known, allows."""
    longest = max(float(GAP), rate / (GAPS * max(fastest or 1.0, 1.0)))
    limit = f"{int(longest)} frames" if fastest else f"{int(longest)} frames, or fewer in fast motion"
    for before in np.flatnonzero(np.diff(measured) - 1 > longest):
        start, stop = int(measured[before]) + 1, int(measured[before + 1])
        raise ValueError(
            f"gaps must have at most {limit}, got one from frame {start} to {stop - 1}: leave it out with "
            f"--to {(start - 1) / rate:.6g} or --from {stop / rate:.6g} (Python: stop and start of `read`)"
        )


def _fastest(motion: Array, residual: Array, rate: float) -> float:
    """Return the highest frequency (Hz) of a motion (T, 3) in m, or of what smoothing has wrongly removed from it."""
    if np.ptp(motion + residual, 0).max() < STILL:
        return 0.0
    frequency, window = np.fft.rfftfreq(len(motion), 1.0 / rate), np.hanning(len(motion))[:, None]
    spectra = (np.fft.rfft((each - each.mean(0)) * window, axis=0) for each in (motion, residual))
    power, lost = (np.sum(np.abs(each) ** 2, 1) for each in spectra)
    share = np.cumsum((power * frequency**4)[::-1])[::-1]
    fastest = frequency[share > DETAIL * share[0]].max(initial=0.0)
    peak = frequency[np.argmax(lost)]
    is_motion = np.sum(lost[np.abs(frequency - peak) <= 2.0]) > 0.5 * np.sum(lost)
    is_motion &= np.sum(residual.var(0)) > 0.02**2 * np.sum((motion + residual).var(0))
    return float(max(fastest, peak) if is_motion else fastest)
