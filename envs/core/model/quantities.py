"""Quantities of an animal: parameters that can be set, and signals that can be read."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
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
