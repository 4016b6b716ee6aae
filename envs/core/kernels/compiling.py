"""How numba compiles kernels: in less than half the time that it takes by itself, and once for all processes.

By itself numba optimises every kernel, makes machine code of it and wraps it for Python, then links it into all that
call it and does so again. Here a kernel that another one calls is only translated (:class:`PartCompiler`), and
optimised where it ends up, once. Results are the same to the bit: no optimisation that is allowed changes them.

All private names of numba that the package uses are in this file, which is why its version is pinned.
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
    """Name of a record type in machine code, made of its layout.

    numba's own name is a number counted up within a process. Two layouts compiled in two processes may
    get the same one, and a third process, which loads both from the cache, calls the one's kernels on
    the other's data.
    """
    digest = hashlib.sha256(str(record).encode()).digest()
    return type(record).__name__, (int.from_bytes(digest[:7]),)


setattr(types.Record, "mangling_args", property(_record_symbol))  # noqa: B010 (mypy)


class _Cache(NullCache):
    """Machine code of a kernel on disk: a file for each signature, with a checksum.

    numba's own cache raises where a file is damaged or cannot be written, crashes where a bit of machine code has
    changed, and has an index of its files, which processes that save at the same time mix up.
    """

    def __init__(self, function: Callable[..., Any], label: str | None = None) -> None:
        self._function = function
        self._label = label

    def file(self, sig: Any, codegen: Any) -> Path:
        """File of a signature."""
        return kernel_cache.file_of(self._function, sig, codegen.magic_tuple())

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Machine code for a signature, None where it has to be compiled, which is reported if it takes long."""
        rtsys.initialize(target_context)  # all that machine code needs; to compile more takes the rest of numba
        path = self.file(sig, target_context.codegen())
        try:
            content = kernel_cache.load(path)
            if content is not None:
                return CompileResult._rebuild(target_context, *pickle.loads(content))
        except Exception:  # whatever it is, the kernel can be compiled
            kernel_cache.warn("are damaged: they are compiled and saved again")
        if self._label is not None:
            _LOG.warning("gymnosoma: compiling %s, once on this machine", self._label)
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Save machine code, where that is possible."""
        if not cres.library.has_dynamic_globals:  # addresses that hold in this process only
            # The annotated source is as large as the machine code, and names the folder of this installation.
            content = serialize.dumps(cres._replace(type_annotation="")._reduce())
            kernel_cache.save(self.file(sig, cres.codegen), content)


def compile_kernel(
    function: Callable[..., Any], parallel: bool = False, label: str | None = None, inline: bool = False
) -> Any:
    """Compile a function to machine code, kept on disk; other kernels call a part of it, which may become `inline`."""
    # Kernels allocate nothing, so that no references are counted (`_nrt`), and are called by no C.
    options: dict[str, Any] = {"error_model": "numpy", "parallel": parallel, "_nrt": False, "no_cfunc_wrapper": True}
    dispatcher: Any = numba.njit(pipeline_class=KernelCompiler, **options)(function)
    if os.path.isfile(function.__code__.co_filename):  # not typed in
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
    """Code of a kernel as others call it: linked into theirs as it is, never run by itself."""

    @property
    def codegen(self) -> Any:
        """What `set_env` is called of."""
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Leave the environment unset: it is for Python objects, of which kernels have none."""

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()
        return 0

    def _optimize_functions(self, ll_module: Any) -> None:
        # Loops stay rolled: what is called in one has to become part of it before it is made of vectors.
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
    """Passes of LLVM: whether they unroll loops, and make vectors of loops and of other code."""
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_unrolling, options.loop_vectorization, options.slp_vectorization = unroll, loops, others
    return llvm.create_pass_builder(library._codegen._tm, options)


def _optimize(library: Any) -> None:
    """Optimise all code of a kernel twice, as numba does, but with loops rolled until they are made of vectors.

    numba unrolls those over lanes first, as they are short; then LLVM makes vectors of the loop around them, of
    numbers that lie far apart.
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
    """Type of an argument of which a part is compiled: the same for a constant and a variable, a field and an array."""
    if isinstance(kind, types.NestedArray):
        return types.Array(kind.dtype, kind.ndim, kind.layout)
    return types.unliteral(kind)


@lower_cast(types.NestedArray, types.Array)
def _as_array(context: Any, builder: Any, old: Any, new: Any, value: Any) -> Any:
    """Take a field of a record for the array that it is."""
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
"""Passes for what kernels have none of: closures, `with`, `literally`, inlined NumPy, expressions of whole arrays."""


class _Compiler(Compiler):
    def define_pipelines(self) -> list[Any]:
        """Leave out passes that do nothing with a kernel; threaded ones need some of them."""
        managers = super().define_pipelines()
        if not self.state.flags.auto_parallel.enabled:
            for manager in managers:
                manager.passes = [each for each in manager.passes if each[0] not in _NEEDLESS]
        return managers


class KernelCompiler(_Compiler):
    """Compiles a kernel that Python calls, with all that it calls."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        with accelerated():
            return super().compile_extra(func)


class PartCompiler(_Compiler):
    """Translates a kernel that another one calls."""

    def __init__(self, typing: Any, target: Any, library: Any, *arguments: Any) -> None:
        super().__init__(typing, target, _Part(target.codegen(), "part"), *arguments)


@contextlib.contextmanager
def accelerated() -> Iterator[None]:
    """Optimise as kernels need it, and spare numba what it repeats in vain thousands of times, a third of its time.

    It compares and hashes its options one by one, imports its own modules again before each look at them, finds out
    anew what an operator does with the same types, and makes millions of objects, of which few are garbage.
    """
    hashes: dict[type, int] = {}
    loaded: list[Any] = []
    calls: dict[Any, Any] = {}

    def quick_hash(self: Any) -> int:  # of the names of the options, which are those of the class
        if type(self) not in hashes:
            hashes[type(self)] = original[TargetConfig, "__hash__"](self)
        return hashes[type(self)]

    def quick_eq(self: Any, other: Any) -> Any:
        same = type(self) is type(other) and self._values == other._values
        return same or original[TargetConfig, "__eq__"](self, other)

    def load_once(self: Any) -> None:
        if any(self._registries is each for each in loaded):
            for registry in list(self._registries):  # intrinsics are registered when they are called
                self.install_registry(registry)
        else:
            loaded.append(self._registries)
            original[CPUContext, "load_additional_registries"](self)

    def call_once(self: Any, context: Any, args: Any, kws: Any) -> Any:  # the same operators are called again and again
        key = self, tuple(args), tuple(kws.items())
        if key not in calls:
            calls[key] = original[types.BaseFunction, "get_call_type"](self, context, args, kws)
        return calls[key]

    better: dict[tuple[type, str], Any] = {
        (types.BaseFunction, "get_call_type"): call_once,
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
