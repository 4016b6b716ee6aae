"""Checks of arguments; messages name the argument, its value and the allowed values."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import reprlib
import textwrap
from collections.abc import Iterable, Mapping
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 100

DISPLAYS = {"DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"}
"""Environment variables of which at least one is set on Linux with a display."""

LONGEST = 300
"""Largest number of characters of a value in a message."""

EXTRAS = dict.fromkeys(("cma", "stable_baselines3", "tensorboard", "torch"), "train")
EXTRAS |= {"matplotlib": "data", "pandas": "data", "h5py": "recordings", "sleap_io": "recordings", "ray": "cluster"}
"""Extra of the package that installs each optional library."""

ALIKE = 0.7
"""Similarity (0 to 1) from which a name is suggested for a mistyped one."""


def library(name: str) -> Any:
    """Import an optional library; raise ImportError with the extra to install if it is missing."""
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(f"{name} is not installed: {install_command(f'[{EXTRAS[name]}]')}") from None


def install_command(*needs: str) -> str:
    """Return the command that installs extras of the package, such as ``[film]``, and other packages."""
    if (Path(__file__).resolve().parents[2] / "constraints.txt").is_file():
        command, package = "in the clone, pip install -c constraints.txt", "-e '.{}'"
    else:
        command, package = "pip install", "'gymnosoma{}'"
    return " ".join([command, *(package.format(need) if need.startswith("[") else need for need in needs)])


def choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise ValueError unless ``value`` is one of the ``choices``."""
    names = tuple(choices)
    if not (isinstance(value, str) and value in names):
        raise ValueError(one_of(name, value, names))


def one_of(name: str, value: Any, choices: Iterable[str], more: str = "") -> str:
    """Return a message for a name that is not one of the ``choices``, with a suggestion, the choices and ``more``."""
    names = tuple(choices)
    hint, allowed = suggestion(value, names), f"{', '.join(names)}{more}"
    if hint:
        return f"{name} {shown(value)} is not known{hint} It must be one of {allowed}"
    return f"{name} must be one of {allowed}, got {shown(value)}"


def suggestion(value: Any, choices: Iterable[str]) -> str:
    """Return the end of a message with the closest choice; empty if none is close."""
    close = (
        difflib.get_close_matches(value, choices, 1, ALIKE) if isinstance(value, str) and len(value) <= LONGEST else []
    )
    return f"; did you mean {close[0]}?" if close else ""


def shown(value: Any) -> str:
    """Return a short text for a value on one line."""
    try:
        text = _short.repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
        return textwrap.shorten(text, LONGEST, placeholder=" ...")
    except Exception:  # an integer with too many digits, or an object with a faulty repr
        return f"a value of type {type(value).__name__}"


def printable(value: object) -> str:
    """Return a text on one line with escaped control characters, so that a terminal shows it and does nothing else."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(str(value).split()))


def whole(name: str, value: Any, minimum: int = 1, maximum: int = 1_000_000) -> None:
    """Raise ValueError unless ``value`` is an integer from ``minimum`` to ``maximum``."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise ValueError(f"{name} must be an integer from {minimum} to {maximum}, got {shown(value)}")


def wholes(name: str, value: Any, count: int, minimum: int, maximum: int) -> tuple[int, ...]:
    """Return ``count`` integers as a tuple; raise ValueError unless all are from ``minimum`` to ``maximum``."""
    array = numbers(name, value, minimum=minimum, maximum=maximum)
    if array.shape != (count,) or (array != np.rint(array)).any():
        raise ValueError(f"{name} must be {count} integers, got {shown(value)}")
    return tuple(array.astype(int).tolist())


def within(name: str, value: ArrayLike, low: float, high: float, unit: str = "1") -> NDArray[np.float64]:
    """Check numbers against a range that includes both ends; return them as an array of float.

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
    """Check a number or an array of numbers.

    Args:
        value (array_like)
        above, minimum, maximum: Bounds: every number must be greater than ``above``, at least ``minimum`` and at most
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
    """Return numbers as an array of float, or None if the value is not an array of int or float."""
    try:
        array = np.asarray(value)
        return array.astype(float) if array.dtype.kind in "iuf" and not _converted(value) else None
    except (ValueError, TypeError, OverflowError):  # lists of different lengths, integers too large for a float
        return None


def _converted(value: Any) -> bool:
    """Return whether a list contains booleans or byte buffers, which NumPy would convert to numbers."""
    if isinstance(value, list | tuple):
        return any(map(_converted, value))
    return isinstance(value, bool | np.bool_ | bytearray | memoryview)


def number(
    name: str, value: Any, above: float | None = None, minimum: float | None = None, maximum: float | None = None
) -> float:
    """Check a single number like `numbers` does."""
    array = numbers(name, value, above, minimum, maximum)
    if array.ndim:
        raise ValueError(f"{name} must be a number, got {shown(value)}")
    return float(array)


def read_params(name: str, argument: Any, usual: Any, **same: Any) -> Any:
    """Read the parameters of an animal from the argument of a task.

    Args:
        name: Name of the argument.
        argument (object of the class of ``usual``, mapping of its fields, or None): An object replaces all parameters;
            a mapping changes fields of ``usual``, with lists and arrays converted to tuples.
        usual (dataclass): The task's default parameters.
        **same: Arguments of the task that set one field each; None if not given.

    Returns:
        object of the class of ``usual``

    Raises:
        ValueError: If a key is unknown, a value is invalid, or an argument contradicts ``argument``.
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
            params = dataclasses.replace(usual, **{key: frozen(value) for key, value in argument.items()})
        except (ValueError, TypeError) as error:
            raise ValueError(f"{name}: {error}") from None
    else:
        raise ValueError(f"{name} must be {kind.__name__} or a mapping of its fields, got {shown(argument)}")
    for key, value in named.items():
        if getattr(params, key) != value:
            raise ValueError(f"{key} must be that of {name}, {shown(getattr(params, key))}, or left out, got {value!r}")
    return params


def frozen(value: Any) -> Any:
    """Convert lists and arrays to tuples, recursively."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value


def plain(value: Any) -> Any:
    """Convert a value to JSON types; an object with a ``description`` to that.

    Raises:
        TypeError: If the value is not plain data, such as a function.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if hasattr(value, "description"):  # the source of a model, if it is plain data
            if value.description is None:
                raise TypeError(f"{type(value).__name__} holds code")
            return plain(value.description)
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value) if field.init}
    if hasattr(value, "rvs"):  # distributions of SciPy, frozen or with a table of values
        if hasattr(value, "dist"):
            return {"distribution": value.dist.name, "args": plain(value.args), **plain(value.kwds)}
        return {"distribution": "rv_discrete", "values": plain([value.xk, value.pk])}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, str | int | float | None):
        return value
    raise TypeError(f"{type(value).__name__} is not plain data")


def fingerprint(*values: Any) -> str:
    """Return a short digest of values, equal for equal values in any process.

    Values may be dataclasses, mappings, lists, arrays and numbers; fields with ``compare=False`` are ignored.
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
