"""Reading of untrusted mappings into dataclasses, whose type hints are the schema of files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from gymnosoma.envs.core.arguments import choice, number, numbers, shown
from gymnosoma.envs.core.files import read_bytes

Check = Callable[[str, Any], object]
"""Function of a name and a value that raises ValueError, starting with the name, if the value is invalid."""

T = TypeVar("T")

_hints: Callable[[Any], dict[str, Any]] = cache(partial(get_type_hints, include_extras=True))


def text(name: str, value: Any) -> None:
    """Raise ValueError unless ``value`` is a string that a terminal can show."""
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{name} must be a printable string, got {shown(value)}")


def mapping(name: str, value: Any) -> None:
    """Raise ValueError unless ``value`` is an object of JSON, or a table of TOML."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} must be an object, got {shown(value)}")


def read(kind: type[T], value: Any, name: str) -> T:
    """Read a mapping into a dataclass.

    Each value is checked against the type hint of its field: ``str`` (printable), ``int``, finite ``float``,
    ``Literal`` of strings, lists of numbers or texts, ``dict``, another dataclass, or one of these or None. Functions
    in ``Annotated`` check further, see `Check`. Fields with a default are optional. The key of a field is its name
    without underscores at the end, which avoid Python's keywords.

    Raises:
        ValueError: If a key is missing or unknown, or a value is invalid; names the key, the value, and what is
            allowed.
    """
    mapping(name, value)
    hints = _hints(kind)
    fields = {field.name.rstrip("_"): field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key, field in fields.items():
        if key not in value and field.default is field.default_factory is dataclasses.MISSING:
            raise ValueError(f"{name}: {key} is missing")
    for key in value:
        if key not in fields:
            raise ValueError(f"{name}: {shown(key)} is not known; allowed are {', '.join(fields)}")
    values = {fields[key].name: _read(hints[fields[key].name], each, f"{name}: {key}") for key, each in value.items()}
    try:
        return kind(**values)
    except ValueError as error:  # of values that do not fit together
        raise ValueError(f"{name}: {error}") from None


def _read(hint: Any, value: Any, name: str) -> Any:
    """Read a value with a type hint."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind is Annotated:
        for check in parts[1:]:
            check(name, value)
        return _read(parts[0], value, name)
    if NoneType in parts:  # an empty object is no dataclass
        absent = value is None or (value == {} and dataclasses.is_dataclass(parts[0]))
        return None if absent else _read(parts[0], value, name)
    if dataclasses.is_dataclass(kind):
        return read(kind, value, name)  # type: ignore[arg-type]
    if kind is Literal:
        choice(name, value, parts)
    elif kind is int:
        if type(value) is not int:
            raise ValueError(f"{name} must be an integer, got {shown(value)}")
    elif kind is float:
        number(name, value)
    elif kind is str:
        text(name, value)
    elif kind is dict:
        mapping(name, value)
        for key, each in value.items():
            text(f"{name}: key", key)
            _read(parts[1], each, f"{name}: {key}")
    elif kind is list:
        if not isinstance(value, list):
            raise ValueError(f"{name} must be a list, got {shown(value)}")
        if parts == (float,):
            if numbers(name, value).ndim != 1:
                raise ValueError(f"{name} must be a list of numbers, got {shown(value)}")
        else:
            for each in value:
                _read(parts[0], each, name)
    return value


def plain(value: Any) -> dict[str, Any]:
    """Convert a dataclass to a mapping that `read` accepts. Optional fields with their default are left out."""
    return {
        field.name.rstrip("_"): plain(each) if dataclasses.is_dataclass(each) else each
        for field in dataclasses.fields(value)
        if (each := getattr(value, field.name)) is not field.default
    }


def read_json(kind: type[T], path: Path, largest: int) -> T:
    """Read a dataclass from an untrusted JSON file.

    Raises:
        ValueError: If a value is invalid, or if the file has more than ``largest`` bytes, is not a regular file, or
            cannot be read; names file and key.
    """
    try:
        value = parse_json(read_bytes(path, largest))
    except OSError as error:
        raise ValueError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} cannot be read: {error}") from None
    return read(kind, value, repr(str(path)))


def parse_json(content: bytes | str) -> Any:
    """Parse JSON; raise ValueError for numbers that are not finite."""

    def refuse(constant: str) -> None:
        raise ValueError(f"numbers must be finite, got {constant}")

    return json.loads(content, parse_constant=refuse)
