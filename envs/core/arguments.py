"""Checks of arguments: an error names the argument, its value, and what is allowed."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import reprlib
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 100

DISPLAYS = {"DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"}
"""Variables of the environment of which Linux has one where there is a display."""

LONGEST = 300
"""Characters of a value in an error."""

ALIKE = 0.7
"""Share of two names that is the same where one may be the other, mistyped."""


def choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise ValueError unless ``value`` is one of the ``choices``."""
    names = tuple(choices)
    if not (isinstance(value, str) and value in names):
        raise ValueError(one_of(name, value, names))


def one_of(name: str, value: Any, choices: Iterable[str], more: str = "") -> str:
    """Write an error about a name that is none of the ``choices``: the closest one, then all, and ``more``."""
    names = tuple(choices)
    meant, listed = suggestion(value, names), f"{', '.join(names)}{more}"
    if meant:
        return f"{name} {shown(value)} is not known{meant} It must be one of {listed}"
    return f"{name} must be one of {listed}, got {shown(value)}"


def suggestion(value: Any, choices: Iterable[str]) -> str:
    """End an error about an unknown name with the closest choice; empty if none is close."""
    close = (
        difflib.get_close_matches(value, choices, 1, ALIKE) if isinstance(value, str) and len(value) <= LONGEST else []
    )
    return f"; did you mean {close[0]}?" if close else ""


def shown(value: Any) -> str:
    """Write a value for an error: on one line, and short."""
    try:
        text = _short.repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
        return textwrap.shorten(text, LONGEST, placeholder=" ...")
    except Exception:  # an integer of more digits than Python writes, or an object whose own repr fails
        return f"a value of type {type(value).__name__}"


def whole(name: str, value: Any, minimum: int = 1, maximum: int = 1_000_000) -> None:
    """Raise ValueError unless ``value`` is an integer from ``minimum`` to ``maximum``."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise ValueError(f"{name} must be an integer from {minimum} to {maximum}, got {shown(value)}")


def within(name: str, value: ArrayLike, low: float, high: float, unit: str = "1") -> NDArray[np.float64]:
    """Check a number, or an array of them, against a range, both ends included; returns it as an array of float.

    Raises:
        ValueError: Unless all are real and within the range.
    """
    array = _real(value)
    if array is None or not ((array >= low) & (array <= high)).all():
        unit = "" if unit == "1" else f" {unit}"
        raise ValueError(f"{name} must be within [{low:g}, {high:g}]{unit}, got {shown(value)}")
    return array


def numbers(
    name: str, value: ArrayLike, above: float | None = None, minimum: float | None = None, maximum: float | None = None
) -> NDArray[np.float64]:
    """Check a number, or an array of them.

    Args:
        value (array_like)
        above, minimum, maximum: Every number must be greater than ``above``, at least ``minimum`` and at most
            ``maximum``.

    Returns:
        array of float: The value.

    Raises:
        ValueError: Unless all are real, finite and within these bounds.
    """
    bounds = (
        ("greater than", above, np.greater),
        ("at least", minimum, np.greater_equal),
        ("at most", maximum, np.less_equal),
    )
    limits = [(word, bound, holds) for word, bound, holds in bounds if bound is not None]
    array = _real(value)
    if array is None or not (np.isfinite(array).all() and all(holds(array, bound).all() for _, bound, holds in limits)):
        allowed = " and ".join(["finite", *(f"{word} {bound:g}" for word, bound, _ in limits)])
        raise ValueError(f"{name} must be {allowed}, got {shown(value)}")
    return array


def _real(value: Any) -> NDArray[np.float64] | None:
    """Numbers as an array of float; None for what is no array of int or float."""
    try:
        array = np.asarray(value)
        return array.astype(float) if array.dtype.kind in "iuf" and not _converted(value) else None
    except (ValueError, TypeError, OverflowError):  # lists of different lengths, integers beyond any float
        return None


def _converted(value: Any) -> bool:
    """Whether there is a boolean or a buffer of bytes in a list, which NumPy turns into numbers."""
    if isinstance(value, list | tuple):
        return any(map(_converted, value))
    return isinstance(value, bool | np.bool_ | bytearray | memoryview)


def number(
    name: str, value: Any, above: float | None = None, minimum: float | None = None, maximum: float | None = None
) -> float:
    """Check a single number as `numbers` does."""
    array = numbers(name, value, above, minimum, maximum)
    if array.ndim:
        raise ValueError(f"{name} must be a number, got {shown(value)}")
    return float(array)


def read_params(name: str, argument: Any, usual: Any, **same: Any) -> Any:
    """Read parameters of an animal, as a task's constructor takes them.

    Args:
        name: Of the argument.
        argument (object of the class of ``usual``, mapping of its fields, or None): An object sets everything, a
            mapping changes what is ``usual``; lists and arrays in it become tuples.
        usual (dataclass): What the task has otherwise.
        **same: Arguments of the task that stand for a field each; None where they are not given.

    Returns:
        object of the class of ``usual``

    Raises:
        ValueError: For something else, an unknown key, an impossible value, or an argument that says otherwise.
    """
    kind = type(usual)
    named = {key: value for key, value in same.items() if value is not None}
    usual = dataclasses.replace(usual, **named)
    if argument is None:
        return usual
    if isinstance(argument, kind):
        params = argument
    elif isinstance(argument, Mapping):
        names = [field.name for field in dataclasses.fields(usual)]
        for key in argument:
            if key not in names:
                raise ValueError(f"{name}: {shown(key)} is not known; allowed are {', '.join(names)}")
        try:
            params = dataclasses.replace(usual, **{key: _frozen(value) for key, value in argument.items()})
        except (ValueError, TypeError) as error:
            raise ValueError(f"{name}: {error}") from None
    else:
        raise ValueError(f"{name} must be {kind.__name__} or a mapping of its fields, got {shown(argument)}")
    for key, value in named.items():
        if getattr(params, key) != value:
            raise ValueError(f"{key} must be that of {name}, {shown(getattr(params, key))}, or left out, got {value!r}")
    return params


def _frozen(value: Any) -> Any:
    """Lists and arrays as tuples, all the way down."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def fingerprint(*values: Any) -> str:
    """Short name of values that is the same for equal ones in any process, and another one for others.

    Of dataclasses, mappings, lists, arrays and numbers; fields that are not compared do not count.
    """
    digest = hashlib.sha256()

    def add(value: Any) -> None:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            add({field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.compare})
        elif isinstance(value, Mapping):
            add([list(pair) for pair in sorted(value.items())])
        elif isinstance(value, np.ndarray | np.generic) and value.dtype.kind != "O":
            add(value.tolist())
        elif isinstance(value, list | tuple):
            digest.update(b"(")
            for each in value:
                add(each)
            digest.update(b")")
        elif callable(value):
            digest.update(f"{value.__module__}.{value.__qualname__},".encode())
        else:
            digest.update(f"{value!r},".encode())

    add(values)
    return digest.hexdigest()[:12]
