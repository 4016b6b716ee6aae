"""Record types of kernels, defined and documented by tables of fields."""

from __future__ import annotations

from typing import Any

import numpy as np


def fields(*table: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Return the fields of a record for numpy.

    Args:
        *table ((names, shape, unit, meaning) or (names, shape, unit, meaning, type)): Each line is a field, or several
            similar fields with names separated by blanks. A shape (n,) may be written n. The SI unit and the meaning
            are documentation. The default type is "f8".
    """
    return [
        (name, *(kind or ["f8"]), (shape,) if isinstance(shape, int) else shape)
        for names, shape, _, _, *kind in table
        for name in names.split()
    ]


def record(*table: tuple[Any, ...]) -> np.dtype[Any]:
    """Return the record type with the fields of a table, see `fields`."""
    return np.dtype(fields(*table))
