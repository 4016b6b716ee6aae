"""Units, times, gaps and missing information of recorded files; the formats are in the other modules."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.arguments import number, printable, shown
from gymnosoma.envs.core.kinds import advice

Array = NDArray[np.float64]

HIGHEST_RATE = 1e6
"""Largest frame rate of a recording, Hz."""

LONGEST = 0.5
"""Longest interval of times, s; longer ones are in another unit."""

MOST_NUMBERS = 1 << 28
"""Largest number of values in a recording."""

UNEVEN = 0.02
"""Largest deviation of times from even ones, and of frame rates from each other, as a share of a frame."""

PREFIXES = (
    ("centi", ("c",), 1e-2),
    ("milli", ("m",), 1e-3),
    ("micro", ("u", "µ", "μ"), 1e-6),
    ("nano", ("n",), 1e-9),
    ("kilo", ("k", "K"), 1e3),
    ("mega", ("M",), 1e6),
    ("giga", ("G",), 1e9),
)
"""Prefixes of words, their abbreviations, and their values."""

UNITS = {
    "length": (
        (("metre", "meter"), ("m",), 1.0),
        (("micron",), (), 1e-6),
        (("inch", "inches"), ("in",), 0.0254),
        (("foot", "feet"), ("ft",), 0.3048),
    ),
    "time": (
        (("second",), ("s", "sec"), 1.0),
        (("minute",), ("min",), 60.0),
        (("hour",), ("h", "hr"), 3600.0),
        (("day",), ("d",), 86400.0),
    ),
    "angle": ((("radian",), ("rad",), 1.0), (("degree",), ("deg",), math.pi / 180)),
    "number": ((("percent",), ("%",), 0.01),),
}
"""Words, abbreviations and SI values of units, which may have a plural s and a prefix of the same form."""

FACTORS = {name: (kind, si) for kind, units in UNITS.items() for *names, si in units for name in sum(names, ())}
for kind, units in UNITS.items():
    for words, abbreviations, si in units:
        for prefix, letters, factor in PREFIXES:
            for name in (*(prefix + word for word in words), *(a + b for a in letters for b in abbreviations)):
                FACTORS.setdefault(name, (kind, factor * si))  # "min" is a minute, not a milli-inch
"""Kind and SI value by name."""

PART = r"([^*/^ ]+)(?:\^(-?\d))?"
NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
"""A factor of a compound unit with its power, and a factor that is a number."""

COUNTED = {"length": ("px", "pixel", "pixels"), "time": ("frame", "frames"), "angle": ()}
"""Units whose size a file does not contain."""


class Hints:
    """Arguments of a reader for information that a file may lack.

    Args:
        **values: Arguments by name, None or () if they were not given. `asked` has the names that a reader has used.
    """

    def __init__(self, **values: Any) -> None:
        self._values, self.asked = values, set[str]()

    def __getattr__(self, name: str) -> Any:
        self.asked.add(name)
        return self._values[name]

    def check_unused(self) -> None:
        """Raise ValueError if an argument was given that a file has no use for."""
        arguments = [name for name, value in self._values.items() if value is not None and value != ()]
        unused = [name for name in arguments if name not in self.asked]
        if unused:
            raise ValueError(f"{' and '.join(unused)} must be left out, because the file has no use for it")

    def need_rate(self, value: float | None = None) -> float:
        """Return the frame rate (Hz) of the hints or, without one, that of the file."""
        return self._need("rate", value, HIGHEST_RATE)

    def need_scale(self, value: float | None = None) -> float:
        """Return the size of a pixel (m) of the hints or, without one, that of the file."""
        return 1e-6 * self._need("microns_per_pixel", value, np.inf)

    def _need(self, name: str, value: float | None, maximum: float) -> float:
        argument = getattr(self, name)
        if (value := value if argument is None else argument) is None:
            raise ValueError(f"{name} must be given, because the file does not contain it")
        return number(name, value, above=0, maximum=maximum)

    def need_y_down(self) -> bool:
        """Return whether y points downwards."""
        if self.y_down is None:
            raise ValueError("y_down must be given for pixels: True if y points downwards, as in most files")
        return bool(self.y_down)

    def pick(self, name: str, choices: Iterable[Any]) -> Any:
        """Return the animal that argument ``name`` asks for, or the only one."""
        animals, wanted = list(dict.fromkeys(choices)), getattr(self, name)
        for animal in animals:
            if str(animal) == str(wanted) or (wanted is None and len(animals) == 1):
                return animal
        if not animals:
            raise ValueError(f"file must contain the measurements of a {name}, got none")
        raise ValueError(f"{name} must be one of {shown(animals)}, got {shown(wanted)}")

    def unit(self, name: str, text: Any, kind: str) -> float:
        """Return the factor to SI of a unit of length, time or angle, such as ``um``, ``0.04*s`` or ``pixels``.

        Products, quotients, integer powers and numbers are those of WCON (``WCON_format.md`` of tracker-commons).
        """
        value, powers = 1.0, dict.fromkeys(UNITS, 0)
        formula = re.sub(r"\s*([*/^])\s*", r"\1", str(text).strip())
        is_unit = re.fullmatch(rf"{PART}([*/ ]{PART})*", formula)
        for sign, part, power in re.findall(rf"([*/ ]|^){PART}", formula) if is_unit else ():
            if part in COUNTED[kind]:
                of, factor = kind, self.need_scale() if kind == "length" else 1.0 / self.need_rate()
            elif NUMBER.fullmatch(part):
                of, factor = "number", float(part) or math.nan
            else:
                of, factor = FACTORS.get(part, FACTORS.get(part.removesuffix("s"), ("", math.nan)))
            exponent = int(power or 1) * (-1 if sign == "/" else 1)
            with np.errstate(over="ignore"):
                value *= float(np.power(factor, float(exponent)))
            powers[of] = powers.get(of, 0) + exponent
        others = [power for of, power in powers.items() if of not in (kind, "number")]
        if powers[kind] != 1 or any(others) or not 0.0 < value < np.inf:
            raise ValueError(f"unit of {name} must be a unit of {kind}, got {shown(text)}")
        return value


@contextmanager
def reading(what: str, path: Path, *kinds: str) -> Iterator[None]:
    """Turn every error in the block into a ValueError that names the file, because a damaged file can raise any.

    Args:
        what: First word of the message.
        kinds: Kinds of files that the block reads, see `kinds.advice`.
    """
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        reason = getattr(error, "strerror", None) or printable(error) or type(error).__name__
        raise ValueError(f"{what} {str(path)!r} cannot be read: {advice(path, *kinds) or reason}") from None


def whole_numbers(name: str, values: Any) -> NDArray[np.int64]:
    """Convert a column of whole numbers; raise ValueError for others."""
    array = np.asarray(values, float)
    if not len(array) or not (np.abs(array) < 1e15).all() or (array != np.rint(array)).any():
        raise ValueError(f"{name} must be whole numbers, got {shown(array[~(array == np.rint(array))][:3])}")
    return array.astype(np.int64)


def runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return start and stop (exclusive) of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]))).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def stretches(measured: NDArray[np.bool_], longest: float, least: int = 1) -> list[tuple[int, int]]:
    """Return start and stop of each stretch between gaps of over ``longest`` frames, of ``least`` measured frames."""
    gaps = [gap for gap in runs(~measured) if gap[1] - gap[0] > longest]
    bounds = [0, *(edge for gap in gaps for edge in gap), len(measured)]
    parts = zip(bounds[::2], bounds[1::2], strict=True)
    return [(start, stop) for start, stop in parts if measured[start:stop].sum() >= least]


def within_span(values: Array, rate: float, start: float | None, stop: float | None) -> Array:
    """Return values (N, ...) of frames, NaN before ``start`` and after ``stop`` (s from the first frame).

    Raises:
        ValueError: If no frame is left.
    """
    seconds, duration = np.arange(len(values)) / rate, (len(values) - 1) / rate
    first = 0.0 if start is None else number("start (--from)", start, minimum=0.0, maximum=duration)
    last = duration if stop is None else number("stop (--to)", stop, minimum=first)
    outside = (seconds < first - 0.5 / rate) | (seconds > last + 0.5 / rate)
    return np.where(outside.reshape(-1, *[1] * (values.ndim - 1)), np.nan, values)


def check_size(frames: int, width: int) -> None:
    """Raise ValueError if a recording would have too many numbers."""
    if 2 * frames * width > MOST_NUMBERS:
        raise ValueError(f"frames and points must be numbered consecutively, got {frames} frames of {width} points")


def by_frame(values: Array, frames: NDArray[np.int64], first: int | None = None) -> Array:
    """Return values (N, ...) by frame from ``first`` on, by default the first one, with NaN for missing frames."""
    unique, counts = np.unique(frames, return_counts=True)
    if len(unique) < len(frames):
        raise ValueError(f"frame numbers must be unique, got {unique[counts > 1][0]} {counts.max()} times")
    first = int(frames.min()) if first is None else first
    count = int(frames.max()) - first + 1
    check_size(count, math.prod(values.shape[1:]))
    series = np.full((count, *values.shape[1:]), np.nan)
    series[frames - first] = values
    return series


def at_even_times(time: Array, values: Array, rate: float | None = None) -> tuple[Array, float, tuple[str, ...]]:
    """Return values (N, ...) at even times, the frame rate (Hz), and notes.

    Frames that the times leave out become NaN. Times that are even but for their rounding keep their values. At other
    times, values are interpolated by splines.

    Raises:
        ValueError: If times do not increase, or their rate is not ``rate``.
    """
    from scipy.interpolate import CubicSpline  # slow to import

    steps = np.diff(time)
    wrong = np.flatnonzero(~(steps > 0))
    if len(wrong) or not np.isfinite(time).all():
        row = int(wrong[0]) + 1 if len(wrong) else 0
        raise ValueError(f"time must increase from frame to frame, got {time[row]:.9g} s in row {row}")
    if not len(steps):
        raise ValueError("time must have at least 2 frames")
    step, start = float(np.median(steps)), float(time[0])
    for _ in range(3):
        frames = np.concatenate([[0.0], np.cumsum(np.maximum(np.floor(steps / step + 0.4), 1.0))])
        step, start = np.polyfit(frames, time, 1)
    if step > LONGEST:
        unit = "us" if step > 1e3 * LONGEST else "ms"
        raise ValueError(f"time must have steps of at most {LONGEST:g} s, got {step:.3g}: likely in {unit}, or frames")
    if rate is not None and abs(rate * step - 1.0) > UNEVEN:
        raise ValueError(f"rate must be that of the times in the file, {1 / step:.6g} Hz, or left out, got {rate:g}")
    check_size(int(min(frames[-1], MOST_NUMBERS)) + 1, math.prod(values.shape[1:]))
    digits = next((k for k in range(9) if np.abs(time * 10.0**k - np.rint(time * 10.0**k)).max() < 1e-5), 9)
    if np.abs(time - start - step * frames).max() <= max(UNEVEN * step, 0.51 * 10.0**-digits):
        return by_frame(values, frames.astype(np.int64)), 1.0 / step, ()
    measured = np.isfinite(values.reshape(len(values), -1)).all(1)
    if measured.sum() < 4:
        raise ValueError(f"times are not even, and only {measured.sum()} frames have values")
    known = time[measured]
    even = known[0] + step * np.arange(int((known[-1] - known[0]) / step + 1e-6) + 1)
    after = np.searchsorted(known, even).clip(1, len(known) - 1)
    near = np.minimum(np.abs(known[after] - even), np.abs(known[after - 1] - even)) < step
    series = np.where(near.reshape(-1, *[1] * (values.ndim - 1)), CubicSpline(known, values[measured])(even), np.nan)
    return series, 1.0 / step, (f"times are not even: interpolated by splines at {1 / step:.6g} Hz",)
