"""Compilation of kernels: decorators, and instructions that numba does not have.

Gives equal bits: there is no fused multiply-add and no reassociation. `stream` and `add_scaled` give speed, too.
`test_kernel_cache.py` fails if a version of numba changes the constructor of a dispatcher or the options of `jit`.

Kernels are compiled by the project's own target for numba, see `target`. With ``GYMNOSOMA_PLAIN_NUMBA=1`` in the
environment, numba compiles them in its standard way. Results are the same; compiling takes two to three times as long,
and a step up to a fifth longer. `test_plain_numba.py` compares all environments.
"""

from __future__ import annotations

import dis
import functools
import os
import types
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import prange
from numba.extending import intrinsic, lower_cast

from .cache import Cache, Dispatcher, compiled

__all__ = ["callback", "compiled", "fence", "inlined", "kernel", "prange", "serial_and_threaded"]
__all__ += ["add_scaled", "fetch_add", "rebound", "stream", "uncached", "variant"]

if getattr(numba.config, "DISABLE_JIT", 0):
    raise ImportError("NUMBA_DISABLE_JIT must be 0; to debug the hooks of a task, set its attribute compiled = False")

_intrinsic: Any = intrinsic  # its annotation does not fit its result

TESTED = (0, 63), (0, 68)
"""First and last tested version of numba, as in ``pyproject.toml``. Others compile in the standard way."""

PLAIN = os.environ.get("GYMNOSOMA_PLAIN_NUMBA", "0") not in ("", "0")
PLAIN = PLAIN or not TESTED[0] <= tuple(map(int, numba.__version__.split(".")[:2])) <= TESTED[1]
"""Whether numba compiles in its standard way."""


def as_array(context: Any, builder: Any, old: Any, new: Any, value: Any) -> Any:
    """Cast a field of a record to an array; numba's own cast refuses fields of these records."""
    return value


_DISPATCHER: Any = Dispatcher
if PLAIN:
    lower_cast(numba.types.NestedArray, numba.types.Array)(as_array)
else:
    from .target import Kernel as _DISPATCHER


def _compile(function: Callable[..., Any], inline: bool = False, parallel: bool = False, **about: Any) -> Any:
    """Compile a function to machine code kept on disk; ``about`` are attributes of the `Dispatcher`."""
    # Kernels do not allocate memory, so references are not counted (`_nrt`), and C does not call them.
    options = {"nopython": True, "error_model": "numpy", "parallel": parallel, "forceinline": inline, "_nrt": False}
    dispatcher = _DISPATCHER(function, targetoptions={**options, "no_cfunc_wrapper": True})
    vars(dispatcher).update(about, inline=inline)
    if os.path.isfile(function.__code__.co_filename):  # not entered interactively
        dispatcher._cache = Cache(function, (_DISPATCHER.__name__, dispatcher.wide), about.get("label"))
    return dispatcher


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function of numbers, arrays and records to machine code that is kept on disk.

    Division by zero gives inf or NaN, because an exception would prevent vectorisation.
    """
    return _compile(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a kernel that is inlined into its callers, for large kernels with a single caller.

    LLVM does not inline large functions, and then accesses their records through pointers. A function with many callers
    would be compiled once per caller.
    """
    return _compile(function, inline=True)


@functools.cache
def callback(function: Callable[..., None], vectors: int) -> Any:
    """Compile a kernel of a number and some vectors to a function pointer that kernels take as an argument.

    A kernel passed directly would become part of the type of its callers, which would be recompiled in each process.
    """
    signature = numba.types.void(numba.types.float64, *[numba.types.Array(numba.types.float64, 1, "A")] * vectors)
    return numba.cfunc(signature, error_model="numpy")(getattr(function, "py_func", function))


def uncached(function: Callable[..., Any]) -> Any:
    """Compile a function made at run time, without the cache on disk; a kernel is returned unchanged."""
    return numba.njit(error_model="numpy")(function) if not hasattr(function, "py_func") else function


def rebound(function: Callable[..., Any], name: str, module: str | None = None, **constants: Any) -> Callable[..., Any]:
    """Copy a function under another name, with ``constants`` replacing some of its global names."""
    names = function.__globals__ | constants if constants else function.__globals__
    copy = types.FunctionType(function.__code__, names, name, function.__defaults__, function.__closure__)
    copy.__qualname__ = name
    copy.__module__ = module or function.__module__
    return copy


def variant(function: Callable[..., Any], name: str, **constants: Any) -> Any:
    """Compile a function or kernel again, with other constants for some global names, such as other kernels.

    The kernels that it calls are recompiled if they use such a name, directly or through other kernels; unaffected
    kernels are reused. Branches that the constants exclude are not compiled. Kernels call a plain function as if
    `inlined`. A kernel passed as an argument could not be kept on disk. As closures, which the loops over rows are, all
    kernels on the way from the caller to the changed name would have to be closures.

    ``name`` is appended to the function's name; ``constants`` are keyed by the global names that they replace.
    """
    return _variant(function, name, frozenset(constants.items()))


@functools.cache
def _variant(function: Any, name: str, constants: frozenset[tuple[str, Any]]) -> Any:
    values, changed = dict(constants), {}
    plain = getattr(function, "py_func", function)
    for each in {line.argval for line in dis.get_instructions(plain) if line.opname == "LOAD_GLOBAL"}:
        own = plain.__globals__.get(each)
        value = values.get(each, own)
        if hasattr(value, "py_func"):
            value = _variant(value, name, constants)
        if value is not own:
            changed[each] = value
    if plain is not function and not changed:
        return function
    copy = rebound(plain, f"{plain.__qualname__}_{name}", **changed)
    return _compile(copy, inline=getattr(function, "inline", True))


def serial_and_threaded(
    function: Callable[..., Any], name: str | None = None, module: str | None = None, wide: bool = False
) -> tuple[Any, Any]:
    """Compile a loop over rows that is written with ``prange`` twice: serial and threaded.

    The two have different names in the cache. Closures over different kernels need a ``name`` and a ``module`` for
    each. For ``wide`` see `batch_kernel`.
    """
    twins = []
    for suffix in ("", "_threaded"):
        twin = rebound(function, (name or function.__qualname__) + suffix, module)
        animal = twin.__module__.split(".")[-2:][0]
        twins.append(_compile(twin, parallel=bool(suffix), label=animal, stepping=True, wide=wide))
    return twins[0], twins[1]


@_intrinsic
def fetch_add(context: Any, counter: Any) -> Any:
    """Atomically add one to the first number of ``counter`` (int64) and return its previous value."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.atomic_rmw("add", array.data, context.get_constant(numba.types.int64, 1), "monotonic")

    return numba.types.int64(counter), generate


@_intrinsic
def stream(context: Any, array: Any, place: Any, value: Any) -> Any:
    """Set ``array[place]`` (float64, contiguous) in memory, bypassing the caches, for large data that is not read soon.

    A cached store would first read the overwritten memory and displace useful data. Other threads see the value after
    `fence`.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        stored = builder.store(args[2], builder.gep(data, [args[1]]))
        stored.set_metadata("nontemporal", builder.module.add_metadata([context.get_constant(numba.types.int32, 1)]))
        return context.get_dummy_value()

    return numba.types.none(numba.types.float64[::1], numba.types.int64, numba.types.float64), generate


@_intrinsic
def _add_eight(context: Any, row: Any, base: Any, factor: Any, other: Any, place: Any) -> Any:
    """Apply `add_scaled` to eight numbers from ``place`` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        eight = ir.VectorType(ir.DoubleType(), 8)
        data = [context.make_array(signature.args[i])(context, builder, args[i]).data for i in (0, 1, 3)]
        places = [builder.bitcast(builder.gep(each, [args[4]]), eight.as_pointer()) for each in data]
        one = builder.insert_element(ir.Constant(eight, ir.Undefined), args[2], ir.Constant(ir.IntType(32), 0))
        all_eight = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), 8), [0] * 8))
        product = builder.fmul(all_eight, builder.load(places[2], align=8))
        builder.store(builder.fadd(builder.load(places[1], align=8), product), places[0], align=8)
        return context.get_dummy_value()

    return numba.types.none(row, base, numba.types.float64, other, numba.types.int64), generate


@kernel
def add_scaled(row, base, factor, other):
    """Write ``base + factor * other`` to ``row``, three arrays (n,) with n a multiple of 8, as vectors.

    LLVM does not vectorise such short loops, because the arrays might overlap.
    """
    for i in range(0, len(row), 8):
        _add_eight(row, base, factor, other, i)


@_intrinsic
def fence(context: Any) -> Any:
    """Wait until all stores of this thread are visible to other threads."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return numba.types.none(), generate
