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

from numba.core import types
from numba.core.codegen import JITCodeLibrary
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

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


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


class KernelCompiler(Compiler):
    """Compiles a kernel that Python calls, with all that it calls."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        with _quickly():
            return super().compile_extra(func)


class PartCompiler(Compiler):
    """Translates a kernel that another one calls."""

    def __init__(self, typing: Any, target: Any, library: Any, *arguments: Any) -> None:
        super().__init__(typing, target, _Part(target.codegen(), "part"), *arguments)


@contextlib.contextmanager
def _quickly() -> Iterator[None]:
    """Spare numba what it repeats in vain thousands of times while it compiles, a third of its time.

    It compares and hashes its options one by one, imports its own modules again before each look at them, and makes
    millions of objects, of which few are garbage.
    """
    hashes: dict[type, int] = {}
    loaded = set()
    plain_hash, plain_eq = TargetConfig.__hash__, TargetConfig.__eq__
    plain_load = CPUContext.load_additional_registries

    def quick_hash(self: Any) -> int:  # of the names of the options, which are those of the class
        if type(self) not in hashes:
            hashes[type(self)] = plain_hash(self)
        return hashes[type(self)]

    def quick_eq(self: Any, other: Any) -> Any:
        return (type(self) is type(other) and self._values == other._values) or plain_eq(self, other)

    def load_once(self: Any) -> None:
        if id(self) not in loaded:
            loaded.add(id(self))
            plain_load(self)

    plain = (
        (TargetConfig, "__hash__", plain_hash),
        (TargetConfig, "__eq__", plain_eq),
        (CPUContext, "load_additional_registries", plain_load),
    )
    collects = gc.isenabled()
    gc.disable()
    try:
        for (kind, name, _), quick in zip(plain, (quick_hash, quick_eq, load_once), strict=True):
            setattr(kind, name, quick)
        yield
    finally:
        for kind, name, function in plain:
            setattr(kind, name, function)
        if collects:
            gc.enable()
