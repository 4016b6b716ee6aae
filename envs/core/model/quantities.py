"""What an animal is described by: parameters that can be set, and signals that can be read."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import shown, within

Params = TypeVar("Params", bound=Any)


@dataclass(frozen=True)
class Signal:
    """What can be read of an animal.

    Args:
        shape: Of one row's value, such as "(n - 1,)".
        unit: SI unit; several, separated by commas, where the numbers differ in it.
        meaning: For the documentation.
        function (callable or str): Gives the values (B, ...) of an animal and its rows (B,); or the name of a method of
            the animal that gives them of its rows, or else of a field of the rows. By default that is the signal's
            name.
    """

    shape: str
    unit: str
    meaning: str = ""
    function: Callable[[Any, NDArray[Any]], NDArray[np.float64]] | str | None = None

    def of(self, name: str, animal: Any) -> Callable[[NDArray[Any]], NDArray[np.float64]]:
        """The function of rows that reads this signal of an animal, by its name: of a field an `itemgetter`."""
        if callable(self.function):
            return partial(self.function, animal)
        source = self.function or name
        return getattr(animal, source) if callable(getattr(type(animal), source, None)) else itemgetter(source)


def labels(name: str, shape: tuple[int, ...]) -> list[str]:
    """Names of the numbers of an array, such as ``centre_0`` and ``centre_1``; of a single number its own."""
    return ["_".join([name, *map(str, place)]) for place in np.ndindex(shape)]


def signal_table(signals: Mapping[str, Signal]) -> str:
    """Lay out a table of signals in reStructuredText, as the documentation of an animal's class holds it."""
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
        low, high: Allowed range, both ends included: where the model means something, some orders of magnitude around
            what was published.
        meaning: For the documentation.
        shape (tuple of int): Of one row's value.
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
        """Check a value, or one per row; ValueError if it is none, or out of range."""
        return within(name, value, self.low, self.high, self.unit)

    def spread(self, name: str, value: ArrayLike, count: int) -> NDArray[np.float64]:
        """Check a value and spread it over rows, ``(count, *shape)``.

        Args:
            name: For errors.
            value (array_like): For all rows, of ``shape`` or a number for all of it; or with a leading axis of
                ``count``. Where ``count`` numbers could be either, they are of ``shape``.
            count: Rows.

        Raises:
            ValueError: If it is no such value, or out of range.
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
    """Write type, range, unit and meaning of a dataclass's fields where its docstring has a line ``{ranges}``."""

    def document(kind: type[Params]) -> type[Params]:
        lines = []
        for field in fields(kind):
            if option := ranges.get(field.name):
                unit = "" if option.unit == "1" else f" {option.unit}"
                meaning = f"{option.meaning[:1].upper()}{option.meaning[1:]}."
                lines.append(f"{field.name} ({field.type}, {option.low:g} to {option.high:g}{unit}): {meaning}")
        text = kind.__doc__ or ""  # python -OO leaves none
        kind.__doc__ = re.sub(
            r"^( *)\{ranges\}$", lambda match: textwrap.indent("\n".join(lines), match[1]), text, flags=re.M
        )
        return kind

    return document
