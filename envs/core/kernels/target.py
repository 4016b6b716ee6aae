"""Target of numba for kernels, which makes faster code than numba alone in less time, and leaves other code as it is.

Two parts, marked below:

* Speed of steps: the optimiser's two passes and the width of vectors. Steps are up to a fifth faster.
* Compile time: numba optimises each kernel, makes machine code and a Python wrapper for it, links it into all kernels
  that call it, and optimises those again. Here a kernel that another one calls is only translated
  (:class:`PartCompiler`) and is optimised once, in its caller. Compiling takes a third to a half of the time.

Results are identical to the bit, because no permitted optimisation changes them. The target has its own contexts, code
generator and compilers, so that functions of other packages are compiled by numba as if this package did not exist.

This file and `lowering` use private names of numba that differ between its versions: `jit` imports them for tested
versions only, and ``GYMNOSOMA_PLAIN_NUMBA=1`` does without them. If numba changes, `test_kernel_cache.py` and
`test_plain_numba.py` fail.
"""

from __future__ import annotations

import functools
import gc
from typing import Any

import numba
from llvmlite import binding as llvm
from numba.core import target_extension, types
from numba.core import typing as numba_typing
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager
from numba.core.cpu import CPUContext
from numba.core.registry import CPUDispatcher, CPUTarget, cpu_target
from numba.core.runtime.nrt import rtsys
from numba.core.sigutils import normalize_signature
from numba.extending import models, register_model

from .cache import Dispatcher, own

NAME = "gymnosoma"
"""Name of the target."""


# Speed of steps.


def pass_builder(machine: Any, level: int, unroll: bool = False, loops: bool = False, others: bool = False) -> Any:
    """Return a builder of LLVM passes, with options to unroll loops and to vectorise loops and other code."""
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_unrolling, options.loop_vectorization, options.slp_vectorization = unroll, loops, others
    return llvm.create_pass_builder(machine, options)


class _Library(JITCodeLibrary):
    _codegen: Any

    def finalize(self) -> None:
        """Link all parts and optimise."""
        linked(self)
        super().finalize()

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Optimise all code of a kernel, once or twice, at first with rolled loops.

        numba first unrolls the short loops over lanes; LLVM then vectorises the loop around them, over numbers that are
        far apart in memory. Loops over a single lane vanish, and unrolling the others costs time and gains nothing.
        """
        for unroll in (False, True) if self._codegen.twice else (False,):
            builder = pass_builder(self._codegen._tm, 3, unroll, loops=True, others=unroll)
            builder.getModulePassManager().run(self._final_module, builder)


class _Codegen(JITCPUCodegen):
    _library_class = _Library
    twice = True

    def choose_options(self, kernel: Kernel, kinds: Any) -> None:
        """Choose how to optimise a kernel with arguments of these types.

        Kernels of records are optimised ``twice`` only if they step rows, in several lanes or without lanes. In several
        lanes, ``wide`` kernels have vectors of 512 bits, which LLVM avoids on some processors.
        """
        options: dict[str, Any] = {"opt": 3}
        self._customize_tm_options(options)
        records = [each.dtype for each in kinds if isinstance(getattr(each, "dtype", None), types.Record)]
        lanes = [each.typeof("numbers").shape[-1] for each in records if "numbers" in each.fields]
        self.twice = not records or (kernel.stepping and all(count > 1 for count in lanes))
        if kernel.wide and any(count > 1 for count in lanes) and "+avx512f" in self._tm_features:
            options["features"] += ",-prefer-256-bit"
        self._tm = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(**options)


# Compile time.


class _Context(CPUContext):
    def init(self) -> None:
        super().init()
        self._internal_codegen = _Codegen("gymnosoma.exec")

    def load_additional_registries(self) -> None:
        """Load numba's implementations, and those of this target."""
        rtsys.initialize(cpu_target.target_context)
        super().load_additional_registries()
        from .lowering import REGISTRY  # imports much that is only needed to compile

        self.install_registry(REGISTRY)


class _Function(types.Function):
    """Operator or function of numba that recalls its resolved calls, which is used by type inference and lowering."""

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        return context.recall(super().get_call_type, self, args, kws, context)


register_model(_Function)(models.OpaqueModel)
_function = functools.cache(lambda kind: _Function(kind.templates))


class _Typing(numba_typing.Context):
    def init(self) -> None:
        self._calls: dict[Any, Any] = {}

    def recall(self, resolve: Any, func: Any, args: Any, kws: Any, *first: Any) -> Any:
        """Resolve a call once: the same operators and types recur often while a kernel is compiled."""
        key = func, tuple(args), tuple(dict(kws).items())
        if key not in self._calls:
            self._calls[key] = resolve(*(first or (func,)), args, kws)
        return self._calls[key]

    def resolve_value_type(self, val: Any) -> Any:
        foreign = isinstance(val, CPUDispatcher) and not isinstance(val, Dispatcher)
        kind = super().resolve_value_type(_part(val) if foreign else val)
        return _function(kind) if type(kind) is types.Function else kind

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """Resolve a call; those named by a string may have arguments that are not types."""
        if isinstance(func, types.Dispatcher | str):
            return super().resolve_function_type(func, args, kws)
        return self.recall(super().resolve_function_type, func, args, kws)


def linked(library: Any) -> list[Any]:
    """Let a library link the parts of its parts, too, and return all that it links, each once."""
    parts: list[Any] = library._linking_libraries
    for part in parts:  # grows
        if isinstance(part, _Part):
            parts += [each for each in part._linking_libraries if each not in parts]
    return parts


class _Part(_Library):
    """Code of a kernel that is linked into its callers and never run separately."""

    @property
    def codegen(self) -> Any:
        """Object with the method `set_env`."""
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Ignore the environment, which is for Python objects; kernels have none."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, since there is no machine code."""
        return 0

    def _optimize_functions(self, ll_module: Any) -> None:
        # Loops stay rolled, because calls within a loop must be inlined before it is vectorised.
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                builder = pass_builder(self._codegen._tm, 3 if self._codegen.twice else 1)
                builder.getFunctionPassManager().run(function, builder)

    def finalize(self) -> None:
        """Keep the code for the kernels that link it."""
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"  # copies may be merged and removed
        self._shared_module, self._finalized = self._final_module, True


_NEEDLESS = (
    "FindLiterallyCalls IRLegalization IRProcessing InlineClosureLikes InlineInlinables InlineOverloads "
    "LiteralPropagationSubPipelinePass LiteralUnroll MakeFunctionToJitFunction NopythonRewrites WithLifting"
)
"""Passes for closures, `with`, `literally`, inlined NumPy, array expressions, and references; kernels have none."""


class PartCompiler(Compiler):
    """Translates a kernel or a function of numba that a kernel calls."""

    library: Any = _Part

    def __init__(self, typing: Any, target: Any, library: Any, *arguments: Any) -> None:
        super().__init__(typing, target, self.library(target.codegen(), "kernel"), *arguments)

    def define_pipelines(self) -> list[Any]:
        """Remove passes without effect on a kernel; threaded kernels and functions of numba need some of them."""
        managers = super().define_pipelines()
        if self.state.flags.auto_parallel.enabled or self.state.flags.nrt:
            return managers
        manager = PassManager("nopython")
        manager.passes = [each for each in managers[0].passes if each[0].__name__ not in _NEEDLESS]
        manager.finalize()
        return [manager]


class KernelCompiler(PartCompiler):
    """Compiles a kernel called from Python, with all kernels that it calls."""

    library = staticmethod(lambda *named: None)  # numba makes it

    def __init__(self, kernel: Kernel, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._kernel = kernel

    def compile_extra(self, func: Any) -> Any:
        """Compile a function, without garbage collections: numba creates millions of objects with little garbage."""
        self.state.targetctx.codegen().choose_options(self._kernel, self.state.args)
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if collects:
                gc.enable()


def _plain(kind: Any) -> Any:
    """Return the argument type to compile a part for: the same for constants and variables, for fields and arrays."""
    if isinstance(kind, types.NestedArray):
        return types.Array(kind.dtype, kind.ndim, kind.layout)
    return types.unliteral(kind)


class _Key(target_extension.CPU):
    """Key of the target in numba's tables."""


target_extension.target_registry[NAME] = _Key
_TARGET: Any = CPUTarget(NAME)
_TARGET._toplevel_typing_context = _Typing()
_TARGET._toplevel_target_context = _Context(_TARGET.typing_context, NAME)


class Part(Dispatcher):
    """Translates a function for this target while a kernel is compiled."""

    targetdescr = _TARGET

    def compile(self, sig: Any) -> Any:
        """Compile the function for a tuple of argument types, and return its entry point."""
        kinds = tuple(map(own, normalize_signature(sig)[0]))
        if kinds not in self.overloads:
            self.add_overload(self._compiler.compile(kinds, None))
        return self.overloads[kinds].entry_point


target_extension.dispatcher_registry[_Key] = Part
target_extension.jit_registry[_Key] = functools.partial(numba.jit, _target=NAME, pipeline_class=PartCompiler)


@functools.cache
def _part(function: Any) -> Part:
    """Translate a function that another package compiles for numba's target."""
    return Part(function.py_func, targetoptions=function.targetoptions, pipeline_class=PartCompiler)


class Kernel(Part):
    """Compiles a kernel for Python. Kernels call its part, other functions a copy for the target of numba."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions, functools.partial(KernelCompiler, self))

    def compile(self, sig: Any) -> Any:
        """Compile the function for a tuple of argument types, and return its entry point."""
        with target_extension.target_override(NAME):
            return Dispatcher.compile(self, sig)

    @functools.cached_property
    def part(self) -> Part:
        """Kernel as others call it."""
        options = {**self.targetoptions, "no_cpython_wrapper": True}
        return Part(self.py_func, targetoptions=options, pipeline_class=PartCompiler)

    @functools.cached_property
    def _copy(self) -> Any:
        return numba.njit(error_model="numpy")(self.py_func)

    def _called(self) -> Any:
        return self.part if target_extension.current_target() == NAME else self._copy

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the signature of a call."""
        return self._called().get_call_template(tuple(map(_plain, args)), {k: _plain(each) for k, each in kws.items()})

    def get_overload(self, sig: Any) -> Any:
        """Return the compiled function for a call."""
        return self._called().get_overload(sig)
