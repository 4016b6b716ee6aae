"""Lanes: sixteen animals side by side in memory, so that one instruction advances all of them.

Gives speed, with equal bits in any number of lanes. A version of numba or LLVM that no longer vectorises the loops
makes steps slower, which no test asserts; `python -m tools.speed` measures it.

Outside a step, every animal is one record ("row") of a structured array, made from a table of fields by `record`. A
step copies rows into a block, in which the last axis of each field is that of the lanes. The innermost loops of kernels
run over this axis, and LLVM turns them into vector instructions. A block with one lane runs a single animal with the
same code and identical results. `Stepper` checks the arguments of a step, chooses the block and calls the kernel that
`batch_kernel` made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import shown, whole
from .jit import fence, fetch_add, kernel, prange, serial_and_threaded, stream

LANES = 16
"""Lanes of a wide block; LLVM does not vectorise shorter loops if arrays might overlap."""

TILE = 128
"""Columns of a wide block that are copied for all lanes together, so that they stay in the fastest cache."""

MIN_BLOCK_ROWS = 3
"""Smallest number of rows for a wide block, which takes as long as about three single ones."""

OVERFLOW_LIMIT = 2.0**332
"""Smallest magnitude (about 1e100) of a state variable that counts as not finite."""

TO_INFINITY = 2.0 ** (1024 - 332)
"""Factor that makes numbers from `OVERFLOW_LIMIT` on infinite."""


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
def gather(rows, ids, first, block, count):
    """Copy ``count`` columns of ``rows`` (B, K) into the lanes of a ``block`` (K, W).

    The rows have the numbers ``ids`` (A,), from position ``first``. Unused lanes repeat the last row, so that all lanes
    have valid numbers.
    """
    width = block.shape[1]
    if width == 1:
        row = rows[ids[first]]
        for j in range(count):
            block[j, 0] = row[j]
        return
    last = len(ids) - 1
    for begin in range(0, count, TILE):
        for e in range(0, width, 4):  # four at a time, so that each cache line is written four times
            a, b = ids[min(first + e, last)], ids[min(first + e + 1, last)]
            c, d = ids[min(first + e + 2, last)], ids[min(first + e + 3, last)]
            for j in range(begin, min(begin + TILE, count)):
                block[j, e], block[j, e + 1] = rows[a, j], rows[b, j]
                block[j, e + 2], block[j, e + 3] = rows[c, j], rows[d, j]


@kernel
def mark_broken(block, status, changing):
    """Mark lanes with numbers that are not finite, unless the step set their status; return whether no lane failed.

    Numbers beyond `OVERFLOW_LIMIT` count as not finite, because their squares and products in rewards would overflow.

    Args:
        block ((K, W) float64)
        status: Column of the field ``status``, 0 without a failure. It becomes NaN.
        changing: Number of columns to check; steps do not change those behind them.
    """
    width, numbers, bad = block.shape[1], block.reshape(block.size), False
    for f in range(changing * width):
        bad |= not abs(numbers[f]) < OVERFLOW_LIMIT
    for j in range(changing if bad else 0):
        for e in range(width):
            block[status, e] += (block[j, e] * TO_INFINITY) * 0.0 if block[status, e] == 0.0 else 0.0
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
    size = TILE if block.shape[1] > 1 else changing
    for begin in range(0, changing, size):
        for e in range(min(block.shape[1], len(ids) - first)):
            if block[status, e] == 0.0:
                copy_lane(block[begin:], e, rows[ids[first + e], begin:], min(size, changing - begin))


@kernel
def record_moment(block, ids, first, status, moment, records):
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
def one_pass(x):
    """Return 1 for a positive number ``x``, which LLVM cannot predict.

    Around a loop over lanes, ``for _ in range(one_pass(dt))`` is a loop with one pass. Without it, if the loop further
    out counts down, LLVM tries to hoist the comparison of address ranges out of it, fails, and drops the vector code.
    """
    return int(x / x)


@kernel
def nothing(xs, ks, *arguments):
    """Do nothing, as the default of ``prepare``, or in place of a kernel that a `variant` does not need."""


def rows_loop(step: Any, prepare: Any, broken: float, together: bool) -> Callable[..., None]:
    """Return the loop that `batch_kernel` compiles."""

    def advance_rows(
        rows, ids, taken, prepared, blocks, lanes, work, status, changing, uniform, columns, drives, count, records,
        done, stride, steps, *rest
    ):  # fmt: skip
        width = lanes.shape[2]
        taken[0] = 0
        for t in prange(len(lanes)):
            first = fetch_add(taken) * width
            while first < len(ids):
                gather(rows, ids, first, lanes[t], changing if prepared[t] else rows.shape[1])
                if not prepared[t]:
                    prepare(blocks[t : t + 1], work[t : t + 1], *rest)
                    prepared[t] = uniform
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
                        if not record_moment(lanes[t], ids, first, status, moment, records):
                            break
                scatter(lanes[t], rows, ids, first, status, changing)
                first = fetch_add(taken) * width
            fence()

    return advance_rows


def batch_kernel(
    step: Any, broken: float, together: bool = True, prepare: Any = nothing, wide: bool = True
) -> tuple[Any, Any]:
    """Compile the loop that advances rows with a step kernel in blocks of lanes; serial and threaded.

    Each free thread takes the next block, counted in ``taken`` (1,), because cores and blocks differ in speed. If the
    parameters are ``uniform``, equal in all rows and constant, each block reads them once, as ``prepared`` (T,) shows.

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
        wide: Whether blocks of several lanes have vectors of 512 bits on processors for which LLVM prefers 256 bits
            (Intel's Xeons): the whisker chain is faster with them, the lamprey slower. On other processors kernels have
            the widest vectors in any case (AMD's Zen 5: 64 rows of any animal take 0.62 to 0.98 of the time with 256
            bits, a single row the same). Results do not depend on it.

    Returns:
        pair of kernels: For `Stepper`.
    """
    loop, function = rows_loop(step, prepare, broken, together), step.py_func
    return serial_and_threaded(loop, f"{function.__module__}.{function.__qualname__}_rows", function.__module__, wide)


@kernel
def increase(ids, count):
    """Return whether ids (A,) increase, starting at 0 or more and ending below ``count``."""
    last = -1
    for i in ids:
        if i <= last:
            return False
        last = i
    return last < count


_INT64 = np.dtype(np.int64)
LONGEST = 2**48
"""Largest number of time steps or drives."""

_NONE, _ONCE, _NOWHERE = np.zeros(0, np.int64), np.zeros((1, 0, 0)), np.zeros((0, 0, 0))
"""Columns, drives and records for rows that are advanced with their present drive."""


def checked_ids(ids: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Check row numbers (A,) below ``count``, each at most once; return them as int64 or raise ValueError."""
    if type(ids) is not np.ndarray or ids.dtype is not _INT64 or ids.ndim != 1 or not ids.flags.carray:
        if not (isinstance(ids, np.ndarray) and ids.ndim == 1 and ids.dtype.kind in "iu"):
            raise ValueError(f"ids must be an array (A,) of integers, got {shown(ids)}")
        ids = np.array(ids, np.int64)  # avoids compiling for another type
    if not (0 <= ids.item() < count if ids.size == 1 else increase(ids, count)):
        if ids.min() < 0 or ids.max() >= count:
            raise ValueError(f"ids must be within [0, {count - 1}], got {shown(ids)}")
        if len(np.unique(ids)) < len(ids):
            raise ValueError(f"ids must name each row once, got {shown(ids)}")
    return ids


def check_rows(rows: Any, state: np.dtype[Any]) -> None:
    """Raise ValueError unless ``rows`` are rows (B,) of an animal, contiguous and writable."""
    if not (isinstance(rows, np.ndarray) and rows.ndim == 1 and rows.dtype == state and rows.flags.carray):
        raise ValueError(f"rows must be records (B,) of this animal, contiguous and from rows(), got {shown(rows)}")


def kernel_drives(drives: ArrayLike, count: int, size: int) -> tuple[NDArray[np.float64], int]:
    """Check drives (T, count, size); return them in the form for kernels, and T.

    A view that repeats one drive, as from `numpy.broadcast_to`, is reduced to a single drive.
    """
    drives = np.asarray(drives, np.float64)
    many = len(drives)
    if drives.shape != (many, count, size):
        raise ValueError(f"drives must have shape (T, {count}, {size}), got {drives.shape}")
    if many > 1 and drives.strides[0] == 0:
        drives = drives[:1]
    if not drives.flags.carray:  # avoids compiling for other layouts and read-only arrays
        drives = np.array(drives, order="C")
    return drives, many


def kernel_records(
    records: NDArray[Any] | None, moment: np.dtype[Any], rows: int, drives: int, offset: int, stride: int
) -> tuple[NDArray[np.float64], int, int]:
    """Check the array of recorded states of ``rows``; return it with offset and stride in the form for kernels.

    ``moment`` is the dtype of ``records``. The other arguments are as for `Animal.run`.
    """
    if records is None:
        return _NOWHERE, 0, drives + 1
    whole("stride", stride, maximum=LONGEST)
    whole("offset", offset, -stride, LONGEST)
    last = (offset + drives) // stride
    if not (isinstance(records, np.ndarray) and records.dtype == moment and records.flags.carray):
        raise ValueError(f"records must be an array of the animal's state, got {shown(records)}")
    if records.ndim != 2 or len(records) != rows or records.shape[1] <= last:
        raise ValueError(f"records must have shape ({rows}, N) with N over {last}, got {records.shape}")
    return records.view(np.float64).reshape(*records.shape, -1), offset, stride


class Stepper:
    """Advances rows with a batch kernel in blocks of lanes.

    Args:
        state, work (dtype): Records of one animal: state that is kept between steps, and scratch space. ``state`` has a
            field ``status``, 0 without a failure.
        batch (pair of kernels, from :func:`batch_kernel`)
        threads: Number of blocks that advance at the same time. Results do not depend on it.
        lanes: Lanes of a wide block; 1 for kernels that branch per animal.
        constant: Fields that steps do not change, such as the parameters; those at the end of the record are not copied
            back.
        driven: Fields that contain the drive, in its order.
        uniform: Whether the constant fields at the end of the record are the same in all rows and calls.
    """

    def __init__(
        self,
        state: np.dtype[Any],
        work: np.dtype[Any],
        batch: tuple[Any, Any],
        threads: int = 1,
        lanes: int = LANES,
        constant: Collection[str] = (),
        driven: Sequence[str] = (),
        uniform: bool = False,
    ) -> None:
        self._records = state, work
        self._uniform = uniform
        self._batch = batch
        self._status = column(state, "status")
        self._constant = frozenset(constant)
        fields: Mapping[str, Any] = state.fields or {}
        ends = [offset + dtype.itemsize for name, (dtype, offset) in fields.items() if name not in self._constant]
        self._changing = max(ends) // np.dtype(np.float64).itemsize
        self._lanes = lanes
        self.driven = tuple(driven)
        places = [
            np.arange(offset, offset + dtype.itemsize, 8) // 8
            for dtype, offset, *_ in (fields[name] for name in driven)
        ]
        self._columns = np.concatenate([np.zeros(0, np.int64), *places])
        self._counter = aligned(1, np.dtype(np.int64))
        self.threads = threads
        self._rows: NDArray[Any] | None = None
        self._matrix: NDArray[np.float64] | None = None

    @property
    def threads(self) -> int:
        """Number of blocks that advance at the same time."""
        return self._threads

    @threads.setter
    def threads(self, threads: int) -> None:
        self._threads = threads
        self._given = []
        for width, count in ((1, 1), (self._lanes, threads)):
            state, work = (in_lanes(record, width) for record in self._records)
            blocks = aligned(count, state)
            numbers = blocks.view(np.float64).reshape(count, -1, width)
            own = self._counter, np.zeros(count, np.int64), blocks, numbers, aligned(count, work)
            self._given.append((*own, self._status, self._changing, self._uniform))

    def __deepcopy__(self, memo: dict[int, Any]) -> Stepper:
        # The blocks are scratch space, and views of each other; separate copies would not be.
        return Stepper(
            *self._records, self._batch, self._threads, self._lanes, self._constant, self.driven, self._uniform
        )

    def advance(self, rows: NDArray[Any], ids: NDArray[np.int64], steps: int, *arguments: Any) -> None:
        """Advance ``rows[ids]`` in place by ``steps`` with their present drive; other rows are unchanged."""
        self.run(rows, ids, None, None, 0, 1, steps, *arguments)

    def run(
        self,
        rows: NDArray[Any],
        ids: NDArray[np.int64],
        drives: ArrayLike | None,
        records: NDArray[Any] | None,
        offset: int,
        stride: int,
        steps: int,
        *arguments: Any,
    ) -> None:
        """Advance ``rows[ids]`` by ``steps`` with each of the drives (T, A, n); records are as for `Animal.run`."""
        if rows is not self._rows:  # the check and the view cost as much as a step
            check_rows(rows, self._records[0])
            self._rows, self._matrix = rows, matrix(rows)
        ids = checked_ids(ids, len(rows))
        if type(steps) is not int or steps < 1:
            whole("steps", steps, maximum=LONGEST)
            steps = int(steps)  # avoids compiling for another type
        if drives is None:
            self._run(rows, ids, _NONE, _ONCE, 1, _NOWHERE, 0, 2, steps, *arguments)
            return
        drives, many = kernel_drives(drives, len(ids), self._columns.size)
        recording = kernel_records(records, self._records[0], len(rows), many, offset, stride)
        self._run(rows, ids, self._columns, drives, many, *recording, steps, *arguments)

    def compile(self, count: int, *arguments: Any) -> None:
        """Compile or load the kernel for ``count`` rows, with the arguments of `advance`."""
        none = np.zeros((0, self._records[0].itemsize // 8)), _NONE
        self._call(count, *none, _NONE, _ONCE, 1, _NOWHERE, 0, 2, 1, *arguments)

    def _call(self, count: int, rows: NDArray[Any] | None, ids: NDArray[np.int64], *arguments: Any) -> None:
        """Call the kernel for ``count`` rows."""
        step = self._batch[self._threads > 1 and count > self._lanes]
        step(rows, ids, *self._given[count >= MIN_BLOCK_ROWS], *arguments)

    def _run(
        self, rows: NDArray[Any], ids: NDArray[np.int64], columns: NDArray[np.int64], drives: Any, *arguments: Any
    ) -> None:
        count, rest = len(ids), len(ids) % self._lanes
        if count == 0:
            return
        if 0 < rest < MIN_BLOCK_ROWS and rest < count:
            for part in (slice(count - rest), slice(count - rest, None)):
                self._run(rows, ids[part], columns, np.ascontiguousarray(drives[:, part]), *arguments)
            return
        self._call(count, self._matrix, ids, columns, drives, *arguments)
