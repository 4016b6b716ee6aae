"""Records that kernels work on, made of tables of their fields: layout and documentation are one thing."""

from __future__ import annotations

from typing import Any

import numpy as np


def fields(*table: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Fields of a record, as numpy takes them.

    Args:
        *table ((names, shape, unit, meaning) or (names, shape, unit, meaning, type)): A line is a field, or several
            that are alike, their names separated by blanks. A shape (n,) is written n. The SI unit and the meaning are
            for the reader; the type is "f8" where a line says nothing else.
    """
    return [
        (name, *(kind or ["f8"]), (shape,) if isinstance(shape, int) else shape)
        for names, shape, _, _, *kind in table
        for name in names.split()
    ]


def record(*table: tuple[Any, ...]) -> np.dtype[Any]:
    """Type of a record that has the fields of a table, see `fields`."""
    return np.dtype(fields(*table))
