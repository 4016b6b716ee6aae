"""Short LLVM code for fields of records and numbers in arrays, for the target of kernels alone.

Saves compile time, about a tenth: numba writes 30 to 60 instructions for each, which LLVM optimises to the same machine
code, and most of that time is spent in writing, reading and removing them. Only the cast is needed without it.
`test_kernel_cache.py::test_kernels_index_as_python_does` fails if numba changes the structure of arrays or records.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import Registry
from numba.np import arrayobj

from .cache import KernelRecord
from .jit import as_array

REGISTRY = Registry("gymnosoma")
"""Implementations for this target alone."""

WORD = ir.IntType(64)

DATA, SHAPE = 4, 5
"""Places in the struct of an array."""


REGISTRY.lower_cast(types.NestedArray, types.Array)(as_array)


@REGISTRY.lower_getattr_generic(KernelRecord)
def _field(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    """Read a field of a record; arrays are constants except for the address of their data."""
    kind = typ.typeof(attr)
    if not isinstance(kind, types.NestedArray):
        return arrayobj.record_getattr(context, builder, typ, value, attr)
    data = cgutils.get_record_member(builder, value, typ.offset(attr), context.get_data_type(kind.dtype))
    whole = context.get_value_type(kind)
    lengths = [[WORD(n) for n in each] for each in (kind.shape, kind.strides)]
    contents = None, None, kind.nitems, kind.size, ir.Undefined, *lengths
    constant = whole([each(content) for each, content in zip(whole.elements, contents, strict=True)])
    return builder.insert_value(constant, data, DATA)


def _item(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Return the address of one entry of a contiguous array, or None for several entries and other arrays."""
    array, index = sig.args[:2]
    kinds, indices = getattr(index, "types", (index,)), args[1:2]
    if isinstance(index, types.BaseTuple):
        indices = cgutils.unpack_tuple(builder, args[1])
    whole = len(kinds) == array.ndim and all(isinstance(each, types.Integer) for each in kinds)
    plain = array.layout == "C" and isinstance(array.dtype, types.Number | types.Record)
    if not whole or not plain or context.enable_boundscheck:
        return None
    if isinstance(array, types.NestedArray):
        sizes = [WORD(n) for n in array.shape]
    else:
        sizes = cgutils.unpack_tuple(builder, builder.extract_value(args[0], SHAPE))
    indices = [arrayobj.fix_integer_index(context, builder, *each) for each in zip(kinds, indices, sizes, strict=True)]
    return cgutils.get_item_pointer2(context, builder, builder.extract_value(args[0], DATA), sizes, None, "C", indices)


@REGISTRY.lower(operator.getitem, types.Array, types.Integer)
@REGISTRY.lower(operator.getitem, types.Array, types.BaseTuple)
def _get(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    place = _item(context, builder, sig, args)
    if place is not None:
        return arrayobj.load_item(context, builder, sig.args[0], place)
    general = arrayobj.getitem_arraynd_intp if isinstance(sig.args[1], types.Integer) else arrayobj.getitem_array_tuple
    return general(context, builder, sig, args)


@REGISTRY.lower(operator.setitem, types.Array, types.Any, types.Any)
def _set(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    place = _item(context, builder, sig, args)
    if place is None:
        return arrayobj.setitem_array(context, builder, sig, args)
    value = context.cast(builder, args[2], sig.args[2], sig.args[0].dtype)
    return arrayobj.store_item(context, builder, sig.args[0], value, place)
