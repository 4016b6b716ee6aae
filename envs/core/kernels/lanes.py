"""Lanes: sixteen animals side by side in memory, so that one instruction advances all of them.

Outside a step, every animal is one record ("row") of a structured array. A step copies rows into a block, in which the
last axis of each field is that of the lanes. The innermost loops of kernels run over this axis, and LLVM turns them
into vector instructions. A block with one lane runs a single animal with the same code and identical results.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .jit import fence, fetch_add, kernel, prange, serial_and_threaded, stream

LANES = 16
"""Lanes of a wide block; LLVM does not vectorise shorter loops if arrays might overlap."""

FEW = 3
"""Smallest number of rows for a wide block, which takes as long as about three single ones."""

LARGEST = 2.0**332
"""Smallest magnitude (about 1e100) of a state variable that counts as not finite."""

OVERFLOW = 2.0 ** (1024 - 332)
"""Factor that makes numbers from `LARGEST` on infinite."""


@cache
def in_lanes(row: np.dtype[Any], lanes: int) -> np.dtype[Any]:
    """Transpose a record dtype: each field gains a last axis of ``lanes``; ``numbers`` (K, lanes) is the whole block.

    All fields of ``row`` must be float64 (status codes and counters too), packed without gaps; a block is then the
    transpose of the float64 matrix of ``lanes`` rows.

    Args:
        row (dtype): Record of one animal.
        lanes: Number of animals in a block.

    Returns:
        dtype: The same object for equal arguments, which numba recognises faster.
    """
    fields: Mapping[str, Any] = row.fields or {}
    packed = row.itemsize == sum(dtype.itemsize for dtype, *_ in fields.values())
    if not packed or any(dtype.base != np.float64 for dtype, *_ in fields.values()) or "numbers" in fields:
        raise ValueError(f"row must have float64 fields without gaps, none of them 'numbers', got {row}")
    whole = np.dtype((np.float64, (row.itemsize // 8,)))
    places = {**fields, "numbers": (whole, 0)}
    return np.dtype(
        {
            "names": list(places),
            "formats": [(np.float64, (*dtype.shape, lanes)) for dtype, *_ in places.values()],
            "offsets": [offset * lanes for _, offset, *_ in places.values()],
            "itemsize": row.itemsize * lanes,
        }
    )


def aligned(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a zeroed array of ``count`` records that starts on a cache line (64 bytes) and shares none."""
    size = count * dtype.itemsize
    memory = np.zeros(size + 128, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype)


def matrix(rows: NDArray[Any]) -> NDArray[np.float64]:
    """View contiguous records as their float64 matrix, one line per record."""
    return rows.view(np.float64).reshape(len(rows), -1)


def column(row: np.dtype[Any], name: str) -> int:
    """Return the column of a scalar field in the matrix of records, see :func:`matrix`."""
    fields: Mapping[str, Any] = row.fields or {}
    if name not in fields or fields[name][0] != np.float64:
        raise ValueError(f"row must have a float64 field {name!r}, got {row}")
    return int(fields[name][1]) // np.dtype(np.float64).itemsize


@kernel
def gather(rows, ids, first, block):
    """Copy ``rows`` (B, K) with numbers ``ids`` (A,), from position ``first``, into the lanes of a ``block`` (K, W).

    Unused lanes repeat the last row, so that all lanes have valid numbers.
    """
    width = block.shape[1]
    if width == 1:
        row = rows[ids[first]]
        for j in range(len(block)):
            block[j, 0] = row[j]
        return
    last = len(ids) - 1
    for e in range(0, width, 4):  # four at a time, so that each cache line is fetched four times
        a, b = ids[min(first + e, last)], ids[min(first + e + 1, last)]
        c, d = ids[min(first + e + 2, last)], ids[min(first + e + 3, last)]
        for j in range(block.shape[0]):
            block[j, e], block[j, e + 1] = rows[a, j], rows[b, j]
            block[j, e + 2], block[j, e + 3] = rows[c, j], rows[d, j]


@kernel
def mark_broken(block, status, changing):
    """Mark lanes with numbers that are not finite, unless the step set their status; return whether no lane failed.

    Numbers beyond `LARGEST` count as not finite, because their squares and products in rewards would overflow.

    Args:
        block ((K, W) float64)
        status: Column of the field ``status``, 0 without a failure. It becomes NaN.
        changing: Number of columns to check; steps do not change those behind them.
    """
    width = block.shape[1]
    if width == 1:
        bad = False
        for j in range(changing):
            bad |= not abs(block[j, 0]) < LARGEST
        if bad and block[status, 0] == 0.0:
            block[status, 0] = np.nan
        return block[status, 0] == 0.0
    whole = changing // 4 * 4
    for j in range(0, whole, 4):
        for e in range(width):
            bad = (block[j, e] * OVERFLOW) * 0.0 + (block[j + 1, e] * OVERFLOW) * 0.0
            bad += (block[j + 2, e] * OVERFLOW) * 0.0 + (block[j + 3, e] * OVERFLOW) * 0.0
            block[status, e] += bad if block[status, e] == 0.0 else 0.0
    for j in range(whole, changing):
        for e in range(width):
            block[status, e] += (block[j, e] * OVERFLOW) * 0.0 if block[status, e] == 0.0 else 0.0
    well = True
    for e in range(width):
        well &= block[status, e] == 0.0
    return well


@kernel
def copy_lane(block, e, row, count):
    """Copy the first ``count`` numbers of lane ``e`` of a block (K, W) to ``row``."""
    if block.shape[1] == 1:  # lets LLVM assume contiguous numbers
        for j in range(count):
            row[j] = block[j, 0]
    else:
        for j in range(count):
            row[j] = block[j, e]


@kernel
def scatter(block, rows, ids, first, status, changing):
    """Copy ``changing`` columns of lanes without failure back to their rows; see `mark_broken` and `gather`."""
    for e in range(min(block.shape[1], len(ids) - first)):
        if block[status, e] == 0.0:
            copy_lane(block, e, rows[ids[first + e]], changing)


@kernel
def record(block, ids, first, status, moment, records):
    """Copy lanes without failure to a ``moment`` of ``records`` (B, N, K); return whether there are any."""
    well = False
    for e in range(min(block.shape[1], len(ids) - first)):
        if block[status, e] == 0.0:
            well = True
            row = records[ids[first + e], moment]
            for j in range(len(block)):
                stream(row, j, block[j, e])
    return well


@kernel
def set_back(block, rows, ids, first, status, broken, moment, records, drive, columns):
    """Restore rows of failed lanes to a ``moment`` (-1: none) of ``records`` (B, N, K), and set their status.

    Such a row gets the finite state of that moment, or keeps the state before it was gathered, with the ``drive`` (A,
    n) since then in ``columns`` (n,).
    """
    for e in range(min(block.shape[1], len(ids) - first)):
        i, code = ids[first + e], block[status, e]
        if code != 0.0 and rows[i, status] == 0.0:
            for j in range(records.shape[2] if moment >= 0 else 0):
                rows[i, j] = records[i, moment, j]
            for j in range(len(columns)):
                rows[i, columns[j]] = drive[first + e, j]
            rows[i, status] = code if code == code else broken


@kernel
def put_in_lanes(drive, columns, first, block):
    """Copy the drive (A, n) into ``columns`` (n,) of a block that has the rows from position ``first``."""
    for e in range(block.shape[1]):
        a = min(first + e, len(drive) - 1)
        for j in range(len(columns)):
            block[columns[j], e] = drive[a, j]


@kernel
def count_equal(drives, h, until, first, width):
    """Count the equal drives (T, A, n) from ``h`` on, for ``width`` rows from position ``first``.

    The drive before ``until`` is always separate, because some fields record events since the last call.
    """
    if len(drives) == 1:
        return max(until - 1 - h, 1)
    alike = 1
    while h + alike < until - 1:
        for a in range(first, min(first + width, drives.shape[1])):
            for j in range(drives.shape[2]):
                if drives[h + alike, a, j] != drives[h, a, j]:
                    return alike
        alike += 1
    return alike


@kernel
def nothing(xs, ks, *arguments):
    """Do nothing, as the default of ``prepare``, or in place of a kernel that a `variant` does not need."""


prepare: Any = nothing
step: Any = None
broken, together = 0.0, True
"""Names that :func:`batch_kernel` replaces in the loop below."""


def _rows(
    rows, ids, taken, blocks, lanes, work, status, changing, columns, drives, count, records, done, stride, steps, *rest
):
    width = lanes.shape[2]
    taken[0] = 0
    for t in prange(len(lanes)):
        first = fetch_add(taken) * width
        while first < len(ids):
            gather(rows, ids, first, lanes[t])
            prepare(blocks[t : t + 1], work[t : t + 1], *rest)
            h, begun, moment = 0, 0, -1
            until = stride - done % stride
            while h < count:
                put_in_lanes(drives[min(h, len(drives) - 1)], columns, first, lanes[t])
                alike = count_equal(drives, h, min(until, count) if together else h, first, width)
                step(blocks[t : t + 1], work[t : t + 1], alike * steps, *rest)
                h += alike
                due = h == until
                if (due or h == count) and not mark_broken(lanes[t], status, changing):
                    drive = drives[min(begun, len(drives) - 1)]
                    set_back(lanes[t], rows, ids, first, status, broken, moment, records, drive, columns)
                if due:
                    begun, moment, until = h, (done + h) // stride, h + stride
                    if not record(lanes[t], ids, first, status, moment, records):
                        break
            scatter(lanes[t], rows, ids, first, status, changing)
            first = fetch_add(taken) * width
        fence()


def batch_kernel(step: Any, broken: float, together: bool = True, prepare: Any = nothing) -> tuple[Any, Any]:
    """Compile the loop that advances rows with a step kernel in blocks of lanes; serial and threaded.

    Each free thread takes the next block, counted in ``taken`` (1,), because cores and blocks differ in speed.

    For each of ``count`` drives (T, A, n), with T = 1 for a constant drive, the loop copies the drive into ``columns``
    (n,) of the state and takes ``steps``. After every ``stride`` drives, including the ``done`` earlier ones, it copies
    rows without failure to ``records`` (B, N, K). States stay in their lanes throughout, and equal drives between these
    moments are combined. A row that fails is set back to the last moment.

    Args:
        step (kernel): Called as ``step(xs, ks, steps, *arguments)`` with the (1,) records of state and scratch space in
            lanes.
        broken: Status of a row with a state that is not finite.
        together: Whether many steps in one call give exactly the same result as in several calls; if False, equal
            drives are not combined.
        prepare (kernel): Called as ``prepare(xs, ks, *arguments)`` after rows are copied into lanes, to compute
            quantities from the parameters.

    Returns:
        pair of kernels: For `Stepper`.
    """
    function = step.py_func
    name = f"{function.__module__}.{function.__qualname__}_rows"
    return serial_and_threaded(
        _rows, name, function.__module__, step=step, broken=broken, together=together, prepare=prepare
    )


@kernel
def increase(ids, count):
    """Return whether ids (A,) increase, starting at 0 or more and ending below ``count``."""
    last = -1
    for i in ids:
        if i <= last:
            return False
        last = i
    return last < count
