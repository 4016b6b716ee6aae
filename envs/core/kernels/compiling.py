"""Faster compilation of kernels by numba, with a cache that all processes share.

numba optimises each kernel, makes machine code and a Python wrapper for it, links it into all kernels that call it, and
optimises those again. Here a kernel that another one calls is only translated (:class:`PartCompiler`) and is optimised
once, in its caller. Results are identical to the bit, because no permitted optimisation changes them.

This file has all uses of numba's private names, which is why the version of numba is pinned.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import logging
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core import serialize, typed_passes, types, untyped_passes
from numba.core.caching import NullCache
from numba.core.codegen import CPUCodeLibrary, JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.cpu import CPUContext
from numba.core.runtime.nrt import rtsys
from numba.core.targetconfig import TargetConfig
from numba.extending import lower_cast

from . import cache as kernel_cache

_LOG = logging.getLogger("gymnosoma")


def _record_symbol(record: Any) -> tuple[str, tuple[int]]:
    """Return the name of a record type in machine code, made from its layout.

    numba's own name is a counter within a process. Two layouts compiled in two processes may get the same number, and a
    third process that loads both from the cache would then call the kernels of one with data of the other.
    """
    digest = hashlib.sha256(str(record).encode()).digest()
    return type(record).__name__, (int.from_bytes(digest[:7]),)


setattr(types.Record, "mangling_args", property(_record_symbol))  # noqa: B010 (mypy)


class _Cache(NullCache):
    """Cache of a kernel on disk: a file with a checksum for each signature.

    numba's own cache raises if a file is damaged or cannot be written, crashes if a bit of the machine code has
    changed, and has an index of its files that concurrent processes corrupt.
    """

    def __init__(self, function: Callable[..., Any], label: str | None = None) -> None:
        self._function = function
        self._label = label

    def file(self, sig: Any, codegen: Any) -> Path:
        """Return the file of a signature."""
        return kernel_cache.file_of(self._function, sig, codegen.magic_tuple())

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Load machine code for a signature; None if it must be compiled, with a log message if there is a label."""
        rtsys.initialize(target_context)  # enough for running; compiling initialises the rest of numba
        path = self.file(sig, target_context.codegen())
        try:
            content = kernel_cache.load(path)
            if content is not None:
                return CompileResult._rebuild(target_context, *pickle.loads(content))
        except Exception:  # for any error, the kernel can be recompiled
            kernel_cache.warn("are damaged: they are compiled and saved again")
        if self._label is not None:
            _LOG.warning("gymnosoma: compiling %s, once on this machine", self._label)
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Save machine code, if possible."""
        if not cres.library.has_dynamic_globals:  # addresses that are valid in this process only
            # The annotated source is as large as the machine code and includes the path of this installation.
            content = serialize.dumps(cres._replace(type_annotation="")._reduce())
            kernel_cache.save(self.file(sig, cres.codegen), content)


def compile_kernel(
    function: Callable[..., Any], parallel: bool = False, label: str | None = None, inline: bool = False
) -> Any:
    """Compile a function to machine code kept on disk; other kernels call a translated part, which may be `inline`."""
    # Kernels do not allocate memory, so references are not counted (`_nrt`), and C does not call them.
    options: dict[str, Any] = {"error_model": "numpy", "parallel": parallel, "_nrt": False, "no_cfunc_wrapper": True}
    dispatcher: Any = numba.njit(pipeline_class=KernelCompiler, **options)(function)
    if os.path.isfile(function.__code__.co_filename):  # not entered interactively
        dispatcher._cache = _Cache(function, label)

    @functools.cache
    def part() -> Any:
        options.update(no_cpython_wrapper=True, forceinline=inline)
        return numba.njit(pipeline_class=PartCompiler, **options)(function)

    dispatcher.inline = inline
    # Other kernels call the part; Python calls the kernel.
    dispatcher.get_call_template = lambda args, kws: part().get_call_template(
        tuple(map(_plain, args)), {name: _plain(kind) for name, kind in kws.items()}
    )
    dispatcher.get_overload = lambda signature: part().get_overload(signature)
    return dispatcher


class _Part(JITCodeLibrary):
    """Code of a kernel that is linked into its callers and never run separately."""

    @property
    def codegen(self) -> Any:
        """Object with the method `set_env`."""
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Ignore the environment, which is for Python objects; kernels have none."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, since there is no machine code."""
        self._ensure_finalized()
        return 0

    def _optimize_functions(self, ll_module: Any) -> None:
        # Loops stay rolled, because calls within a loop must be inlined before it is vectorised.
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                builder = _builder(self, unroll=False, loops=False, others=False)
                builder.getFunctionPassManager().run(function, builder)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


def _builder(library: Any, unroll: bool, loops: bool, others: bool) -> Any:
    """Return a builder of LLVM passes, with options to unroll loops and to vectorise loops and other code."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_unrolling, options.loop_vectorization, options.slp_vectorization = unroll, loops, others
    return llvm.create_pass_builder(library._codegen._tm, options)


def _optimize(library: Any) -> None:
    """Optimise all code of a kernel twice, like numba, but keep loops rolled until they are vectorised.

    numba first unrolls the short loops over lanes; LLVM then vectorises the loop around them, over numbers that are far
    apart in memory.
    """
    first = _builder(library, unroll=False, loops=True, others=False)
    passes = first.getModulePassManager()
    passes.add_loop_rotate_pass()
    passes.add_instruction_combine_pass()
    passes.add_jump_threading_pass()
    passes.run(library._final_module, first)
    second = _builder(library, unroll=True, loops=True, others=True)
    second.getModulePassManager().run(library._final_module, second)


def _plain(kind: Any) -> Any:
    """Return the argument type to compile a part for: the same for constants and variables, for fields and arrays."""
    if isinstance(kind, types.NestedArray):
        return types.Array(kind.dtype, kind.ndim, kind.layout)
    return types.unliteral(kind)


@lower_cast(types.NestedArray, types.Array)
def _as_array(context: Any, builder: Any, old: Any, new: Any, value: Any) -> Any:
    """Treat a field of a record as an array."""
    return value


_NEEDLESS = (
    untyped_passes.FindLiterallyCalls,
    untyped_passes.InlineClosureLikes,
    untyped_passes.InlineInlinables,
    untyped_passes.LiteralPropagationSubPipelinePass,
    untyped_passes.LiteralUnroll,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.WithLifting,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
)
"""Passes for features that kernels do not use: closures, `with`, `literally`, inlined NumPy, array expressions."""


class _Compiler(Compiler):
    def define_pipelines(self) -> list[Any]:
        """Remove passes without effect on a kernel; threaded kernels need some of them."""
        managers = super().define_pipelines()
        if not self.state.flags.auto_parallel.enabled:
            for manager in managers:
                manager.passes = [each for each in manager.passes if each[0] not in _NEEDLESS]
        return managers


class KernelCompiler(_Compiler):
    """Compiles a kernel called from Python, with all kernels that it calls."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        with accelerated():
            return super().compile_extra(func)


class PartCompiler(_Compiler):
    """Translates a kernel that another kernel calls."""

    def __init__(self, typing: Any, target: Any, library: Any, *arguments: Any) -> None:
        super().__init__(typing, target, _Part(target.codegen(), "part"), *arguments)


@contextlib.contextmanager
def accelerated() -> Iterator[None]:
    """Optimise for kernels, and avoid repeated work in numba that takes a third of its time.

    numba compares and hashes its options one by one, reloads its own modules before each lookup, resolves the same
    operators with the same types repeatedly, and creates millions of objects with little garbage.
    """
    hashes: dict[type, int] = {}
    loaded: list[Any] = []
    calls: dict[Any, Any] = {}

    def quick_hash(self: Any) -> int:  # the names of the options are the same for the whole class
        if type(self) not in hashes:
            hashes[type(self)] = original[TargetConfig, "__hash__"](self)
        return hashes[type(self)]

    def quick_eq(self: Any, other: Any) -> Any:
        same = type(self) is type(other) and self._values == other._values
        return same or original[TargetConfig, "__eq__"](self, other)

    def load_once(self: Any) -> None:
        if any(self._registries is each for each in loaded):
            for registry in list(self._registries):  # intrinsics are registered on first call
                self.install_registry(registry)
        else:
            loaded.append(self._registries)
            original[CPUContext, "load_additional_registries"](self)

    def call_once(self: Any, context: Any, args: Any, kws: Any) -> Any:  # the same operators recur often
        key = self, tuple(args), tuple(kws.items())
        if key not in calls:
            calls[key] = original[types.BaseFunction, "get_call_type"](self, context, args, kws)
        return calls[key]

    better: dict[tuple[type, str], Any] = {
        (types.BaseFunction, "get_call_type"): call_once,
        (types.Record, "can_convert_to"): lambda *_: None,  # keep records with equal first fields apart
        (TargetConfig, "__hash__"): quick_hash,
        (TargetConfig, "__eq__"): quick_eq,
        (CPUContext, "load_additional_registries"): load_once,
        (CPUCodeLibrary, "_optimize_final_module"): _optimize,
    }
    original = {place: getattr(*place) for place in better}
    collects = gc.isenabled()
    gc.disable()
    try:
        for place, function in better.items():
            setattr(*place, function)
        yield
    finally:
        for place, function in original.items():
            setattr(*place, function)
        if collects:
            gc.enable()
