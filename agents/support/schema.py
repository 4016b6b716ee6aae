"""Checks of the contents of files that anybody may have written; tables of their keys are made of them."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[str, Any], object]
"""Raises ValueError, which begins with the first argument, unless the second is what it should be."""

Show = Callable[[Any], str]
"""Writes a value for an error."""


def typed(name: str, value: Any, kind: type, words: str, show: Show = reprlib.repr) -> None:
    """Raise ValueError unless ``value`` is of a type; True and False are no integers."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{name} must {words}, got {show(value)}")


def in_range(name: str, value: Any, low: int, high: int) -> None:
    """Raise ValueError unless ``value`` is a whole number from ``low`` to ``high``."""
    typed(name, value, int, "be a whole number")
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value}")
    if value > high:
        raise ValueError(f"{name} must be at most {high}, got {reprlib.repr(value)}")


def held(name: str, value: Any, keys: Mapping[str, Check], show: Show = reprlib.repr) -> None:
    """Raise ValueError unless ``value`` is an object of just these ``keys``, each as its check asks."""
    typed(name, value, dict, "be an object", show)
    if value.keys() != keys.keys():
        raise ValueError(f"{name} must hold {' and '.join(keys)}, got {show(sorted(value))}")
    for key, check in keys.items():
        check(f"{name}: {key}", value[key])


def read(given: Mapping[str, Any], keys: Mapping[str, Check], missing: str = "{key} is missing") -> None:
    """Raise ValueError unless all ``keys`` are there, each as its check asks."""
    for key in keys:
        if key not in given:
            raise ValueError(missing.format(key=key))
    for key, check in keys.items():
        check(key, given[key])
