"""Conversion of model descriptions to TOML."""

from __future__ import annotations

import json
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
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(float(value)) if isinstance(value, float) else json.dumps(value)
