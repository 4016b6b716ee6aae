"""Quantities of an animal: printed constants, parameters that can be set, and signals that can be read."""

from __future__ import annotations

import math
import re
import textwrap
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from importlib import resources
from itertools import product
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import shown, within

Params = TypeVar("Params", bound=Any)


@dataclass(frozen=True)
class Signal:
    """Quantity that can be read from an animal.

    Args:
        shape: Shape of one row's value, such as "(n - 1,)". In tables and plots, a first axis "sides" has the names
            left and right, and a following axis "P" those of `Animal.cells`.
        unit: SI unit of the values; separated by commas if the numbers have different units.
        meaning: Text for the documentation.
        function (callable or str): Function from an animal and its rows (B,) to the values (B, ...); or the name of a
            method of the animal that takes rows, or of a field of the rows. The default is the signal's name.
    """

    shape: str
    unit: str
    meaning: str = ""
    function: Callable[[Any, NDArray[Any]], NDArray[np.float64]] | str | None = None

    def of(self, name: str, animal: Any) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
        """Return the function from rows to this signal of an animal; it is an `itemgetter` for a field."""
        if callable(self.function):
            return partial(self.function, animal)
        source = self.function or name
        return getattr(animal, source) if callable(getattr(type(animal), source, None)) else itemgetter(source)


def labels(name: str, shape: tuple[int, ...], axes: Sequence[Sequence[str]] = ()) -> list[str]:
    """Return names for the numbers of an array, such as ``centre_0``; a single number keeps its name.

    ``axes`` are names along the first axes, as in ``motoneuron_left_0``; the others are numbered.
    """
    numbered = (map(str, range(size)) for size in shape[len(axes) :])
    return ["_".join([name, *place]) for place in product(*axes, *numbered)]


def signal_table(signals: Mapping[str, Signal]) -> str:
    """Return a table of signals in reStructuredText for the docstring of an animal's class."""
    rows = [("name", "shape", "unit", "meaning")]
    for name, signal in signals.items():
        first, *more = textwrap.wrap(signal.meaning, 66) or [""]
        rows += [(f"``{name}``", signal.shape, signal.unit, first), *(("", "", "", text) for text in more)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    head, *lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([rule, head, rule, *lines, rule])


@dataclass(frozen=True)
class Option:
    """A value that ``reset(options=...)`` accepts and ``randomize`` may draw.

    Args:
        low, high: Allowed range, including both ends: a few orders of magnitude around published values, if the model
            is valid there.
        meaning: Text for the documentation.
        shape (tuple of int): Shape of one row's value.
    """

    low: float
    high: float
    unit: str
    meaning: str
    shape: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not -math.inf < self.low <= self.high < math.inf:
            raise ValueError(f"low and high must be finite and in order, got {self.low!r} and {self.high!r}")

    def check(self, name: str, value: ArrayLike) -> NDArray[np.float64]:
        """Check a value, or one per row; raises ValueError if it is invalid or out of range."""
        return within(name, value, self.low, self.high, self.unit)

    def spread(self, name: str, value: ArrayLike, count: int) -> NDArray[np.float64]:
        """Check a value and broadcast it to rows, ``(count, *shape)``.

        Args:
            name: Name of the option in messages.
            value (array_like): A number or an array of ``shape`` for all rows, or with a leading axis of ``count``. If
                ``shape`` is ``(count,)``, an array of this shape is for all rows.
            count: Number of rows.

        Raises:
            ValueError: If the value is invalid or out of range.
        """
        array = self.check(name, value)
        if self.shape and array.shape == (count,) != self.shape:
            array = array.reshape(count, *(1,) * len(self.shape))
        try:
            return np.broadcast_to(array, (count, *self.shape))
        except ValueError:
            either = f"{self.shape} or {(count, *self.shape)}"
            raise ValueError(f"{name} must have shape {either}, got {shown(value)}") from None


def documented(ranges: Mapping[str, Option]) -> Callable[[type[Params]], type[Params]]:
    """Return a decorator that replaces the line ``{ranges}`` in a dataclass's docstring by its fields.

    Each field is listed with its type, range, unit and meaning.
    """

    def document(kind: type[Params]) -> type[Params]:
        lines = []
        for field in fields(kind):
            if option := ranges.get(field.name):
                unit = "" if option.unit == "1" else f" {option.unit}"
                meaning = f"{option.meaning[:1].upper()}{option.meaning[1:]}."
                lines.append(f"{field.name} ({field.type}, {option.low:g} to {option.high:g}{unit}): {meaning}")
        text = kind.__doc__ or ""  # python -OO removes it
        kind.__doc__ = re.sub(
            r"^( *)\{ranges\}$", lambda match: textwrap.indent("\n".join(lines), match[1]), text, flags=re.M
        )
        return kind

    return document


# Tables of the papers.

_UNITS = {
    "1": 1.0,
    "m": 1.0,
    "cm": 1e-2,
    "mm": 1e-3,
    "um": 1e-6,
    "kg": 1.0,
    "g": 1e-3,
    "mg": 1e-6,
    "ug": 1e-9,
    "s": 1.0,
    "ms": 1e-3,
    "Hz": 1.0,
    "N": 1.0,
    "mN": 1e-3,
    "uN": 1e-6,
    "pN": 1e-12,
    "Pa": 1.0,
    "MPa": 1e6,
    "GPa": 1e9,
    "J": 1.0,
    "W": 1.0,
    "fW": 1e-15,
    "rad": 1.0,
    "deg": np.pi / 180.0,
}


def unit_factor(unit: str) -> float:
    """Return the factor that converts a value in ``unit`` to SI.

    Args:
        unit: Factors separated by blanks, each with an optional power; a factor after a slash divides, as in ``"ug
            mm^2/s^2"`` or ``"N s^2/m^2"``. Angles become radians.

    Raises:
        ValueError: If a factor is not a known unit.
    """
    result = 1.0
    for part in unit.replace("/", " /").split():
        name, _, power = part.removeprefix("/").partition("^")
        if name not in _UNITS or not (power or "1").isdigit():
            raise ValueError(f"unit {unit!r}: {part.removeprefix('/')!r} is not known; known are {', '.join(_UNITS)}")
        exponent = int(power or "1")
        result *= _UNITS[name] ** (-exponent if part.startswith("/") else exponent)
    return float(result)


def read_table(path: str) -> dict[str, Any]:
    """Read a table of a paper in SI.

    Args:
        path: TOML file in ``assets``, such as ``"worm/parameters.toml"``. Each entry has ``value`` as printed and
            ``unit``, and ``used`` and ``note`` if the printed value is a misprint.

    Returns:
        dict: Name to number, or to an array if the entry is a list.

    Raises:
        ValueError: If an entry lacks ``value`` or ``unit``, or its unit is not known.
    """
    with resources.files("gymnosoma.assets").joinpath(path).open("rb") as file:
        table = tomllib.load(file)
    result = {}
    for name, entry in table.items():
        missing = {"value", "unit"} - entry.keys()
        if missing:
            raise ValueError(f"table {path}: entry {name!r} lacks {', '.join(sorted(missing))}")
        value = entry.get("used", entry["value"])
        factor = unit_factor(entry["unit"])
        result[name] = np.asarray(value, float) * factor if isinstance(value, list) else float(value) * factor
    return result


def read_numbers(path: str) -> dict[str, float]:
    """Read the numbers of a table in SI, without its lists; 15 digits undo the rounding of the conversion."""
    return {name: float(f"{value:.15g}") for name, value in read_table(path).items() if np.ndim(value) == 0}
