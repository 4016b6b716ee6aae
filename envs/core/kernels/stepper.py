"""Advances rows with compiled kernels, after checks that kernels omit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import shown, whole
from .lanes import FEW, LANES, aligned, column, in_lanes, increase, matrix

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
    if not increase(ids, count):
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
    if drives.shape[1:] != (count, size):
        raise ValueError(f"drives must have shape (T, {count}, {size}), got {drives.shape}")
    many = len(drives)
    if drives.strides[0] == 0:
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
    ) -> None:
        self._records = state, work
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
        self.threads = threads
        self._counter = aligned(1, np.dtype(np.int64))
        self._rows: NDArray[Any] | None = None
        self._matrix: NDArray[np.float64] | None = None

    @property
    def threads(self) -> int:
        """Number of blocks that advance at the same time."""
        return self._threads

    @threads.setter
    def threads(self, threads: int) -> None:
        self._threads = threads
        self._blocks = {}
        for width, count in ((1, 1), (self._lanes, threads)):
            state, work = (in_lanes(record, width) for record in self._records)
            blocks = aligned(count, state)
            numbers = blocks.view(np.float64).reshape(count, -1, width)
            self._blocks[width] = blocks, numbers, aligned(count, work)

    def __deepcopy__(self, memo: dict[int, Any]) -> Stepper:
        # The blocks are scratch space, and views of each other; separate copies would not be.
        return Stepper(*self._records, self._batch, self._threads, self._lanes, self._constant, self.driven)

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
        blocks = self._blocks[1 if count < FEW else self._lanes]
        step = self._batch[self._threads > 1 and count > self._lanes]
        step(rows, ids, self._counter, *blocks, self._status, self._changing, *arguments)

    def _run(
        self, rows: NDArray[Any], ids: NDArray[np.int64], columns: NDArray[np.int64], drives: Any, *arguments: Any
    ) -> None:
        count, rest = len(ids), len(ids) % self._lanes
        if count == 0:
            return
        if 0 < rest < FEW and rest < count:
            for part in (slice(count - rest), slice(count - rest, None)):
                self._run(rows, ids[part], columns, np.ascontiguousarray(drives[:, part]), *arguments)
            return
        self._call(count, self._matrix, ids, columns, drives, *arguments)
