"""Compilation of kernels, and elementary functions that LLVM can vectorise over lanes.

Every kernel of the project is compiled by :func:`kernel`, :func:`serial_and_threaded` or :func:`callback`, which
guarantee two properties:

* Results do not depend on the machine: there is no fused multiply-add and no reassociation, and our own polynomial
  functions replace those of the C library, which LLVM cannot vectorise and which differ between systems.
* Compiled code is kept on disk, see `cache`, and compiles faster than with numba alone, see `compiling`.
"""

from __future__ import annotations

import dis
import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import prange
from numba.extending import intrinsic

from .cache import compiled
from .compiling import compile_kernel

__all__ = ["asinh", "callback", "compiled", "exp", "fence", "inlined", "kernel", "log", "prange", "serial_and_threaded"]
__all__ += ["add_scaled", "fetch_add", "rebound", "sincos", "sincos_small", "stream", "uncached", "variant"]

if getattr(numba.config, "DISABLE_JIT", 0):
    raise ImportError("NUMBA_DISABLE_JIT must be 0; to debug the hooks of a task, set its attribute compiled = False")

_intrinsic: Any = intrinsic  # its annotation does not fit its result


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function of numbers, arrays and records to machine code that is kept on disk.

    Division by zero gives inf or NaN, because an exception would prevent vectorisation.
    """
    return compile_kernel(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a kernel that is inlined into its callers, for large kernels with a single caller.

    LLVM does not inline large functions, and then accesses their records through pointers. A function with many callers
    would be compiled once per caller.
    """
    return compile_kernel(function, inline=True)


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
    copy = types.FunctionType(function.__code__, names, name, function.__defaults__)
    copy.__qualname__ = name
    copy.__module__ = module or function.__module__
    return copy


def variant(function: Callable[..., Any], name: str, **constants: Any) -> Any:
    """Compile a function or kernel again, with other constants for some global names, such as other kernels.

    The kernels that it calls are recompiled if they use such a name, directly or through other kernels; unaffected
    kernels are reused. Branches that the constants exclude are not compiled. Kernels call a plain function as if
    `inlined`. A kernel passed as an argument could not be kept on disk.

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
    return compile_kernel(copy, inline=getattr(function, "inline", True))


def serial_and_threaded(
    function: Callable[..., Any], name: str | None = None, module: str | None = None, **constants: Any
) -> tuple[Any, Any]:
    """Compile a function written with ``prange`` twice: serial and threaded.

    The two have different names in the cache. A function that is compiled several times with other ``constants`` for
    its global names, such as other kernels, needs a ``name`` and a ``module`` for each.
    """
    twins = []
    for suffix in ("", "_threaded"):
        twin = rebound(function, (name or function.__qualname__) + suffix, module, **constants)
        animal, what = twin.__module__.split(".")[-2:][0], twin.__qualname__.split(".")[-1]
        label = f"{animal} ({what.replace('_rows', '').replace('_', ' ').strip() or 'rows'})"
        twins.append(compile_kernel(twin, bool(suffix), label))
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


@kernel
def sincos_small(r):
    """Return sine and cosine of an angle up to pi/4 in magnitude (rad), by the polynomials of fdlibm."""
    z = r * r
    p = 2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)
    p = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * p)
    s = r + r * z * (-1.66666666666666324348e-01 + z * p)
    p = -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)
    p = -1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * p)
    c = 1.0 - 0.5 * z + z * z * (4.16666666666666019037e-02 + z * p)
    return s, c


@kernel
def sincos(x):
    """Return sine and cosine of any angle, by Cody-Waite reduction, without branches.

    Args:
        x (rad): Accurate to 2e-16 for abs(x) < 1e5; beyond that the reduction loses digits.

    Returns:
        sin, cos float
    """
    # Adding and subtracting 1.5 * 2**52 rounds to the nearest integer in two vectorisable operations.
    n = (x * 0.6366197723675814 + 6755399441055744.0) - 6755399441055744.0
    # pi/2 in three parts of 33 bits: their products with n are exact up to n = 2**20.
    r = ((x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21
    s, c = sincos_small(r)
    quadrant = n - 4.0 * ((n * 0.25 + 6755399441055744.0) - 6755399441055744.0)  # -2 .. 2
    swap = (quadrant == 1.0) | (quadrant == -1.0)
    sin = c if swap else s
    cos = s if swap else c
    sin = -sin if (quadrant < 0.0) | (quadrant == 2.0) else sin
    cos = -cos if (quadrant > 0.0) | (quadrant == -2.0) else cos
    return sin, cos


@kernel
def exp(x):
    """Return the exponential, by Cody-Waite reduction and its series to the 13th power, without branches.

    Args:
        x: Clipped to -708 .. 709, so that the result is neither subnormal nor infinite.

    Returns:
        float: Relative error below 2e-16.
    """
    y = -708.0 if x < -708.0 else (709.0 if x > 709.0 else x)
    # The sum with 1.5 * 2**52 holds the nearest integer n in its lowest bits: they become the exponent of 2**n.
    t = y * 1.4426950408889634 + 6755399441055744.0
    n = t - 6755399441055744.0
    r = (y - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10
    power = np.int64((np.float64(t).view(np.int64) << 52) + 0x3FF0000000000000).view(np.float64)
    tail = 1 / 3628800 + r * (1 / 39916800 + r * (1 / 479001600 + r * (1 / 6227020800)))
    tail = 1 / 5040 + r * (1 / 40320 + r * (1 / 362880 + r * tail))
    tail = 1 / 24 + r * (1 / 120 + r * (1 / 720 + r * tail))
    return power * (1.0 + r * (1.0 + r * (1 / 2 + r * (1 / 6 + r * tail))))


@kernel
def log(x):
    """Return the natural logarithm, by the reduction and the polynomial of fdlibm, without branches.

    Args:
        x: Positive and normal (at least 2.3e-308); the result for any other number is meaningless.

    Returns:
        float: Relative error below 3e-16.
    """
    # Relative to the bits of sqrt(1/2), the exponent k leaves a mantissa in sqrt(1/2) .. sqrt(2).
    bits = np.float64(x).view(np.int64) - 0x3FE6A09E667F3BCD
    # k in the lowest bits of 1.5 * 2**52 converts it to a float without an integer conversion.
    k = np.int64((bits >> 52) + 0x4338000000000000).view(np.float64) - 6755399441055744.0
    f = np.int64((bits & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    # Two shorter chains of operations: a single lane waits for each result.
    odd = z * (
        6.666666666666735130e-01
        + w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01))
    )
    even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
    r = odd + even
    h = 0.5 * f * f
    return k * 6.93147180369123816490e-01 - ((h - (s * (h + r) + k * 1.90821492927058770002e-10)) - f)


@kernel
def asinh(x):
    """Return the inverse hyperbolic sine, without branches.

    Args:
        x: Below 1e150 in magnitude, so that its square is finite.

    Returns:
        float: Relative error below 5e-16.
    """
    y = abs(x)
    t = y + y * y / (1.0 + math.sqrt(1.0 + y * y))
    u = 1.0 + t
    result = log(u) + (t - (u - 1.0)) / u  # the second term corrects the rounding of 1 + t
    return -result if x < 0.0 else result
