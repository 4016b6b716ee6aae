"""Conversion of model descriptions to TOML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def write_toml(description: Mapping[str, Any]) -> str:
    """Return a description as TOML text, with one table for each body, muscle and other part."""
    lines = [f"{_key(key)} = {_value(value)}" for key, value in description.items() if not isinstance(value, Mapping)]
    for kind, tables in description.items():
        if isinstance(tables, Mapping):
            nested = all(isinstance(values, Mapping) for values in tables.values())
            for name, values in tables.items() if nested else [(None, tables)]:
                lines.append(f"[{kind}]" if name is None else f"[{kind}.{_key(name)}]")
                lines += [f"{_key(key)} = {_value(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def _text(text: str) -> str:
    """Return a string with all but printable characters escaped."""
    valid = text.encode("utf-8", "replace").decode()
    inner = (
        "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in part) for part in re.split(r'(["\\])', valid)
    )
    return '"' + "".join("\\" + part if part in ('"', "\\") else part for part in inner) + '"'


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _text(value) if isinstance(value, str) else repr(float(value) if isinstance(value, float) else int(value))
