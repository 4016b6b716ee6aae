"""Conversion of model descriptions to TOML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnosoma.envs.core.files import toml_key, toml_value


def write_toml(description: Mapping[str, Any]) -> str:
    """Return a description as TOML text, with one table for each body, muscle and other part."""
    lines = [
        f"{toml_key(key)} = {toml_value(value)}" for key, value in description.items() if not isinstance(value, Mapping)
    ]
    for kind, tables in description.items():
        if isinstance(tables, Mapping):
            nested = all(isinstance(values, Mapping) for values in tables.values())
            for name, values in tables.items() if nested else [(None, tables)]:
                lines.append(f"[{kind}]" if name is None else f"[{kind}.{toml_key(name)}]")
                lines += [f"{toml_key(key)} = {toml_value(value)}" for key, value in values.items()]
    return "\n".join(lines) + "\n"
