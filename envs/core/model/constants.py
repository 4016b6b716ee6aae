"""Tables of the papers, converted to SI."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

import numpy as np

_UNITS = {
    "1": 1.0,
    "m": 1.0,
    "cm": 1e-2,
    "mm": 1e-3,
    "um": 1e-6,
    "kg": 1.0,
    "g": 1e-3,
    "mg": 1e-6,
    "ug": 1e-9,
    "s": 1.0,
    "ms": 1e-3,
    "Hz": 1.0,
    "N": 1.0,
    "mN": 1e-3,
    "uN": 1e-6,
    "pN": 1e-12,
    "Pa": 1.0,
    "MPa": 1e6,
    "GPa": 1e9,
    "J": 1.0,
    "W": 1.0,
    "fW": 1e-15,
    "rad": 1.0,
    "deg": np.pi / 180.0,
}


def unit_factor(unit: str) -> float:
    """Return the factor that converts a value in ``unit`` to SI.

    Args:
        unit: Factors separated by blanks, each with an optional power; a factor after a slash divides, as in ``"ug
            mm^2/s^2"`` or ``"N s^2/m^2"``. Angles become radians.

    Raises:
        ValueError: If a factor is not a known unit.
    """
    result = 1.0
    for part in unit.replace("/", " /").split():
        name, _, power = part.removeprefix("/").partition("^")
        if name not in _UNITS or not (power or "1").isdigit():
            raise ValueError(f"unit {unit!r}: {part.removeprefix('/')!r} is not known; known are {', '.join(_UNITS)}")
        exponent = int(power or "1")
        result *= _UNITS[name] ** (-exponent if part.startswith("/") else exponent)
    return float(result)


def read_table(path: str) -> dict[str, Any]:
    """Read a table of a paper in SI.

    Args:
        path: TOML file in ``assets``, such as ``"worm/parameters.toml"``. Each entry has ``value`` as printed and
            ``unit``, and ``used`` and ``note`` if the printed value is a misprint.

    Returns:
        dict: Name to number, or to an array if the entry is a list.

    Raises:
        ValueError: If an entry lacks ``value`` or ``unit``, or its unit is not known.
    """
    with resources.files("gymnosoma.assets").joinpath(path).open("rb") as file:
        table = tomllib.load(file)
    result = {}
    for name, entry in table.items():
        missing = {"value", "unit"} - entry.keys()
        if missing:
            raise ValueError(f"table {path}: entry {name!r} lacks {', '.join(sorted(missing))}")
        value = entry.get("used", entry["value"])
        factor = unit_factor(entry["unit"])
        result[name] = np.asarray(value, float) * factor if isinstance(value, list) else float(value) * factor
    return result


def read_numbers(path: str) -> dict[str, float]:
    """Read the numbers of a table in SI, without its lists; 15 digits undo the rounding of the conversion."""
    return {name: float(f"{value:.15g}") for name, value in read_table(path).items() if np.ndim(value) == 0}
