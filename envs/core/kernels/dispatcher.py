"""Types and dispatchers of kernels.

Keeps results equal to the bit: machine code from the cache is only called with the records it was compiled for.
`test_kernel_cache.py::test_records_of_equal_fields_are_told_apart_by_any_numba` fails if numba changes the names of
types or the way in which a dispatcher is called.
"""

from __future__ import annotations

import hashlib
from functools import cache, cached_property
from typing import Any

from numba.core import types
from numba.core.registry import CPUDispatcher
from numba.extending import models, register_model


class KernelRecord(types.Record):
    """Record type whose name in machine code is made from its layout, and that is not converted to other records.

    The name of numba's own type is a counter within a process. Two layouts compiled in two processes may get the same
    number, and a third process that loads both from a cache would then call the kernels of one with data of the other.
    """

    @cached_property
    def mangling_args(self) -> tuple[str, tuple[int]]:
        """Name of the type in machine code."""
        return "Record", (int.from_bytes(hashlib.sha256(str(self).encode()).digest()[:7]),)

    def can_convert_to(self, context: Any, other: Any) -> None:
        """Keep records with equal first fields apart."""


register_model(KernelRecord)(models.RecordModel)


def as_array(context: Any, builder: Any, old: Any, new: Any, value: Any) -> Any:
    """Cast a field of a record to an array; numba's own cast refuses fields of these records."""
    return value


@cache
def own(kind: Any) -> Any:
    """Return a type with `KernelRecord` in place of numba's records."""
    if isinstance(kind, types.Record):
        fields: Any = [(name, {**each._asdict(), "type": own(each.type)}) for name, each in kind.fields.items()]
        return KernelRecord(fields, kind.size, kind.aligned)
    if isinstance(kind, types.NestedArray):
        return types.NestedArray(own(kind.dtype), kind.shape)
    if isinstance(kind, types.Array):
        return kind.copy(dtype=own(kind.dtype))
    if isinstance(kind, types.Tuple | types.UniTuple):
        kinds = tuple(map(own, kind.types))
        return kind if kinds == kind.types else types.Tuple(kinds)
    return kind


_CPUDispatcher: Any = CPUDispatcher


class Dispatcher(_CPUDispatcher):
    """Compiles a function for each signature, with `KernelRecord` for records."""

    inline = False
    """Whether the kernel is inlined into its callers."""
    stepping = False
    """Whether the kernel is a loop that steps rows."""
    wide = False
    """Whether such a loop has vectors of 512 bits, see `batch_kernel`."""

    def compile(self, sig: Any) -> Any:
        """Compile the function for a tuple of argument types, and return its entry point."""
        kinds = tuple(map(own, sig))
        try:
            entry = super().compile(kinds)
        finally:
            self._cache.flush()
        if kinds != sig:
            self._insert([kind._code for kind in sig], entry, False)
        return entry
