"""Checks of the contents of untrusted files, declared as tables of their keys."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from gymnosoma.envs.core.files import read_bytes

Check = Callable[[str, Any], object]
"""Function of a name and a value that raises ValueError, starting with the name, if the value is invalid."""


def typed(name: str, value: Any, kind: type, words: str) -> None:
    """Raise ValueError unless ``value`` has the type ``kind``.

    Booleans do not count as integers. Text must be printable, because it may be shown in a terminal.
    """
    wrong = not value.isprintable() if isinstance(value, str) else kind is int and isinstance(value, bool)
    if wrong or not isinstance(value, kind):
        raise ValueError(f"{name} must {words}, got {reprlib.repr(value)}")


TEXT: Check = partial(typed, kind=str, words="be a printable string")
OBJECT: Check = partial(typed, kind=dict, words="be an object")


def held(name: str, value: Any, keys: Mapping[str, Check], optional: Collection[str] = ()) -> None:
    """Raise ValueError unless ``value`` is an object with exactly these ``keys`` whose values pass their checks.

    Keys in ``optional`` may be missing.
    """
    OBJECT(name, value)
    for key in keys:
        if key not in value and key not in optional:
            raise ValueError(f"{name}: {key} is missing")
    for key, item in value.items():
        if key not in keys:
            raise ValueError(f"{name}: {reprlib.repr(key)} is not known; allowed are {', '.join(keys)}")
        keys[key](f"{name}: {key}", item)


def read_json(
    path: Path, largest: int, keys: Mapping[str, Check] | None = None, optional: Collection[str] = ()
) -> dict[str, Any]:
    """Read an object with exactly these ``keys`` from an untrusted JSON file.

    Raises:
        ValueError: If a key is invalid, or if the file has more than ``largest`` bytes, is not a regular file, or
            cannot be read; names file and key.
    """
    try:
        value = json.loads(read_bytes(path, largest), parse_constant=refuse)
    except OSError as error:
        raise ValueError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} cannot be read: {error}") from None
    if keys is None:
        OBJECT(repr(str(path)), value)
    else:
        held(repr(str(path)), value, keys, optional)
    return value


def refuse(text: str) -> None:
    """Raise ValueError for a number in JSON that is not finite."""
    raise ValueError(f"numbers must be finite, got {text}")
