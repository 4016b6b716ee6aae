"""Checks of arguments: an error names the argument, its value, and what is allowed."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def choice(name: str, value: Any, known: Iterable[str]) -> None:
    """Raise ValueError unless ``value`` is one of the ``known`` names."""
    if value not in (names := tuple(known)):
        raise ValueError(f"{name} must be one of {', '.join(names)}, got {value!r}")


def whole(name: str, value: Any, least: int = 1) -> None:
    """Raise ValueError unless ``value`` is an integer of at least ``least``."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")


def numbers(
    name: str, value: ArrayLike, above: float | None = None, least: float | None = None, most: float | None = None
) -> NDArray[np.float64]:
    """Check a number, or an array of them.

    Parameters
    ----------
    name : str
    value : array_like
    above, least, most : float, optional
        Every number must be greater than ``above``, at least ``least`` and at most ``most``.

    Returns
    -------
    array of float
        The value.

    Raises
    ------
    ValueError
        Unless all are real, finite and within these bounds.
    """
    bounds = (
        ("greater than", above, np.greater),
        ("at least", least, np.greater_equal),
        ("at most", most, np.less_equal),
    )
    given = [(word, bound, holds) for word, bound, holds in bounds if bound is not None]
    try:
        array = np.asarray(value)
        possible = array.dtype.kind in "iuf" and bool(np.isfinite(array).all())
    except ValueError:  # nested lists of different lengths
        possible = False
    if not (possible and all(holds(array, bound).all() for _, bound, holds in given)):
        wanted = " and ".join(["finite", *(f"{word} {bound:g}" for word, bound, _ in given)])
        got = value.tolist() if isinstance(value, np.ndarray) else value
        raise ValueError(f"{name} must be {wanted}, got {reprlib.repr(got)}")
    return array.astype(float)


def number(
    name: str, value: Any, above: float | None = None, least: float | None = None, most: float | None = None
) -> float:
    """Check a single number as `numbers` does."""
    if np.ndim(value):
        raise ValueError(f"{name} must be a number, got {reprlib.repr(value)}")
    return float(numbers(name, value, above, least, most))
