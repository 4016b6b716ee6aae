"""Lanes: sixteen animals side by side in memory, so that one instruction moves all of them.

Outside a step every animal is one record ("row") of a structured array. For the step, rows are
transposed into a block whose fields have a last axis of lanes; kernels keep their innermost loops
over that axis, and LLVM turns them into vector instructions. A block of one lane serves a single
animal with the same code, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .jit import fence, fetch_add, kernel, prange, serial_and_threaded, stream

LANES = 16
"""Lanes of a wide block: of shorter loops LLVM makes no vectors where arrays might overlap."""

FEW = 3
"""Fewer rows than this are stepped one by one: a wide block costs as much as about three single ones."""

LARGEST = 2.0**332
"""Magnitude, about 1e100, from which on a number of the state counts as not finite."""

OVERFLOW = 2.0 ** (1024 - 332)
"""Times this, numbers from `LARGEST` on are infinite."""


@cache
def in_lanes(row: np.dtype[Any], lanes: int) -> np.dtype[Any]:
    """Transpose a record dtype: every field gains a last axis of ``lanes``; ``numbers`` (K, lanes) are all of them.

    All fields of ``row`` must be float64 (status codes and counters too), packed without gaps; then a
    block is the transpose of the float64 matrix of ``lanes`` rows.

    Args:
        row (dtype): Record of one animal.
        lanes: Animals in a block.

    Returns:
        dtype: The same object for equal arguments, by which numba knows it at once.
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
    """Zeroed array of ``count`` records whose memory starts on a cache line (64 bytes), and shares none."""
    size = count * dtype.itemsize
    memory = np.zeros(size + 128, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype)


def matrix(rows: NDArray[Any]) -> NDArray[np.float64]:
    """View contiguous records as their float64 matrix, one line per record."""
    return rows.view(np.float64).reshape(len(rows), -1)


def column(row: np.dtype[Any], name: str) -> int:
    """Column of a scalar field in the matrix of records, see :func:`matrix`."""
    fields: Mapping[str, Any] = row.fields or {}
    if name not in fields or fields[name][0] != np.float64:
        raise ValueError(f"row must have a float64 field {name!r}, got {row}")
    return int(fields[name][1]) // np.dtype(np.float64).itemsize


@kernel
def gather(rows, ids, first, block):
    """Copy ``rows`` (B, K), those of ``ids`` (A,) from position ``first`` on, into the lanes of a ``block`` (K, W).

    Lanes that are left over repeat the last row, so that all hold valid numbers.
    """
    width = block.shape[1]
    if width == 1:
        row = rows[ids[first]]
        for j in range(len(block)):
            block[j, 0] = row[j]
        return
    last = len(ids) - 1
    for e in range(0, width, 4):  # four at a time: each line of the block is then fetched four times, not sixteen
        a, b = ids[min(first + e, last)], ids[min(first + e + 1, last)]
        c, d = ids[min(first + e + 2, last)], ids[min(first + e + 3, last)]
        for j in range(block.shape[0]):
            block[j, e], block[j, e + 1] = rows[a, j], rows[b, j]
            block[j, e + 2], block[j, e + 3] = rows[c, j], rows[d, j]


@kernel
def mark_broken(block, status, changing):
    """Mark lanes whose numbers are not finite, unless the step has told what failed; tell whether all are well.

    Numbers beyond `LARGEST` count as not finite, because their squares and products, in rewards, would not be.

    Args:
        block ((K, W) float64)
        status: Column of the field ``status``; zero means that all is well. It becomes NaN.
        changing: Columns that are looked at; the others, behind them, do not change in a step.
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
    if block.shape[1] == 1:  # one after the other in memory, as LLVM cannot know otherwise
        for j in range(count):
            row[j] = block[j, 0]
    else:
        for j in range(count):
            row[j] = block[j, e]


@kernel
def scatter(block, rows, ids, first, status, changing):
    """Copy lanes that are well back into their rows: columns that are ``changing``, see `mark_broken` and `gather`."""
    for e in range(min(block.shape[1], len(ids) - first)):
        if block[status, e] == 0.0:
            copy_lane(block, e, rows[ids[first + e]], changing)


@kernel
def record(block, ids, first, status, moment, records):
    """Copy lanes that are well to a ``moment`` of ``records`` (B, N, K); tell whether there are any."""
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
    """Give their status to rows whose lanes failed since a ``moment`` of ``records`` (B, N, K), -1 where there is none.

    A row always holds a finite state: that of the moment, or what it was gathered from; and the ``drive`` (A, n) in
    ``columns`` (n,) that it was put to since.
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
    """Copy the drive (A, n) into ``columns`` (n,) of a block that holds the rows from position ``first`` on."""
    for e in range(block.shape[1]):
        a = min(first + e, len(drive) - 1)
        for j in range(len(columns)):
            block[columns[j], e] = drive[a, j]


@kernel
def count_equal(drives, h, until, first, width):
    """Count the drives (T, A, n) from ``h`` on that are the same for ``width`` rows from position ``first`` on.

    The one before ``until`` is alone: some fields tell what happened since the last call.
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
def _nothing(xs, ks, *arguments):
    """Prepare nothing."""


prepare: Any = _nothing
step: Any = None
broken, together = 0.0, True
"""Names that :func:`batch_kernel` binds anew in the loop below."""


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
            while h < count:
                put_in_lanes(drives[min(h, len(drives) - 1)], columns, first, lanes[t])
                until = min(h + stride - (done + h) % stride, count) if together else h
                alike = count_equal(drives, h, until, first, width)
                step(blocks[t : t + 1], work[t : t + 1], alike * steps, *rest)
                h += alike
                due = (done + h) % stride == 0
                if (due or h == count) and not mark_broken(lanes[t], status, changing):
                    drive = drives[min(begun, len(drives) - 1)]
                    set_back(lanes[t], rows, ids, first, status, broken, moment, records, drive, columns)
                if due:
                    begun, moment = h, (done + h) // stride
                    if not record(lanes[t], ids, first, status, moment, records):
                        break
            scatter(lanes[t], rows, ids, first, status, changing)
            first = fetch_add(taken) * width
        fence()


def batch_kernel(step: Any, broken: float, together: bool = True, prepare: Any = _nothing) -> tuple[Any, Any]:
    """Compile the loop that takes rows through a step kernel in blocks of lanes; serial, and threaded.

    A thread takes the next block when it is done with one, for which ``taken`` (1,) counts them: cores are not equally
    fast, nor blocks equally hard.

    For each of ``count`` drives (T, A, n), T being 1 where one is held, it puts the drive into ``columns`` (n,) of
    the state, and takes ``steps``. After every ``stride`` drives, counting ``done`` ones before, it keeps the rows
    that are well in ``records`` (B, N, K); a state stays in its lane all the time, and between these moments equal
    drives are taken together. So a row that fails is as it was at the last moment.

    Args:
        step (kernel): Called as ``step(xs, ks, steps, *arguments)`` with the (1,) records of state and scratch space in
            lanes.
        broken: Status of a row whose state is not finite.
        together: Whether many steps in one call are, to the bit, what they are in several; else equal drives are not
            taken together.
        prepare (kernel): Called before the first step of rows that came into lanes, as ``prepare(xs, ks, *arguments)``:
            for what follows from the parameters.

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
    """Tell whether ids (A,) increase, from 0 on and below ``count``."""
    last = -1
    for i in ids:
        if i <= last:
            return False
        last = i
    return last < count
