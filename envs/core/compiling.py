"""How numba compiles kernels: in less than half the time that it takes by itself.

numba by itself optimises every kernel, makes machine code of it and wraps it for Python, then links it into all that
call it and does so again. Here a kernel that another one calls is only translated (:class:`PartCompiler`), and
optimised where it ends up, once. Results are the same to the bit: no optimisation that is allowed changes them.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llvmlite import binding as llvm
from numba.core import typed_passes, types, untyped_passes
from numba.core.codegen import CPUCodeLibrary, JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.cpu import CPUContext
from numba.core.imputils import lower_cast
from numba.core.targetconfig import TargetConfig

__all__ = ["KernelCompiler", "PartCompiler", "plain"]


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


def plain(args: Sequence[Any], kws: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Types of arguments of which a part is compiled: the same for a constant and a variable, a field and an array."""
    return tuple(map(_plain, args)), {name: _plain(kind) for name, kind in kws.items()}


def _plain(kind: Any) -> Any:
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
        """Leave out the passes that do nothing with a kernel, unless it is threaded, which needs some of them."""
        managers = super().define_pipelines()
        if not self.state.flags.auto_parallel.enabled:
            for manager in managers:
                manager.passes = [each for each in manager.passes if each[0] not in _NEEDLESS]
        return managers


class KernelCompiler(_Compiler):
    """Compiles a kernel that Python calls, with all that it calls."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        with _better():
            return super().compile_extra(func)


class PartCompiler(_Compiler):
    """Translates a kernel that another one calls."""

    def __init__(self, typing: Any, target: Any, library: Any, *arguments: Any) -> None:
        super().__init__(typing, target, _Part(target.codegen(), "part"), *arguments)


@contextlib.contextmanager
def _better() -> Iterator[None]:
    """Optimise as kernels need it, and spare numba what it repeats in vain thousands of times, a third of its time.

    It compares and hashes its options one by one, imports its own modules again before each look at them, finds out
    anew what an operator does with the same types, and makes millions of objects, of which few are garbage.
    """
    hashes: dict[type, int] = {}
    loaded: list[Any] = []
    plain_hash, plain_eq = TargetConfig.__hash__, TargetConfig.__eq__
    plain_load = CPUContext.load_additional_registries

    def quick_hash(self: Any) -> int:  # of the names of the options, which are those of the class
        if type(self) not in hashes:
            hashes[type(self)] = plain_hash(self)
        return hashes[type(self)]

    def quick_eq(self: Any, other: Any) -> Any:
        return (type(self) is type(other) and self._values == other._values) or plain_eq(self, other)

    def load_once(self: Any) -> None:
        if any(self._registries is each for each in loaded):
            for registry in list(self._registries):  # intrinsics are registered when they are called
                self.install_registry(registry)
        else:
            loaded.append(self._registries)
            plain_load(self)

    calls: dict[Any, Any] = {}
    plain_call = types.BaseFunction.get_call_type

    def call_once(self: Any, context: Any, args: Any, kws: Any) -> Any:  # the same operators are called again and again
        key = self, tuple(args), tuple(kws.items())
        if key not in calls:
            calls[key] = plain_call(self, context, args, kws)
        return calls[key]

    plain = (
        (types.BaseFunction, "get_call_type", plain_call, call_once),
        (TargetConfig, "__hash__", plain_hash, quick_hash),
        (TargetConfig, "__eq__", plain_eq, quick_eq),
        (CPUContext, "load_additional_registries", plain_load, load_once),
        (CPUCodeLibrary, "_optimize_final_module", CPUCodeLibrary._optimize_final_module, _optimize),
    )
    collects = gc.isenabled()
    gc.disable()
    try:
        for kind, name, _, better in plain:
            setattr(kind, name, better)
        yield
    finally:
        for kind, name, function, _ in plain:
            setattr(kind, name, function)
        if collects:
            gc.enable()
