"""Compilation of kernels by numba, with a cache that all processes share.

Tested versions of numba compile kernels with `target`, others in their standard way, which takes longer.
"""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numba
from numba.core import serialize
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys

from . import cache as kernel_cache
from .dispatcher import Dispatcher

_LOG = logging.getLogger("gymnosoma")

FIRST, LAST = (0, 63), (0, 68)
"""Tested versions of numba."""

_DISPATCHER: Any = Dispatcher
if FIRST <= tuple(map(int, numba.__version__.split(".")[:2])) <= LAST:
    from .target import Kernel as _DISPATCHER


class Missing(Exception):
    """A kernel is not in the cache, while kernels are only loaded."""


_LOADING = ContextVar("loading", default=False)


@contextmanager
def only_loading() -> Iterator[None]:
    """Raise `Missing` instead of compiling a kernel in the block."""
    token = _LOADING.set(True)
    try:
        yield
    finally:
        _LOADING.reset(token)


class _Cache(NullCache):
    """Cache of a kernel on disk: a file with a checksum for each signature.

    numba's own cache raises if a file is damaged or cannot be written, crashes if a bit of the machine code has
    changed, and has an index of its files that concurrent processes corrupt.
    """

    def __init__(self, function: Callable[..., Any], label: str | None = None) -> None:
        self._function = function
        self._label = label
        self._lock: Any = None

    def file(self, sig: Any, codegen: Any) -> Path:
        """Return the file of a signature."""
        return kernel_cache.file_of(self._function, sig, codegen.magic_tuple())

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Load machine code for a signature; None if it must be compiled, with a log message if there is a label.

        Waits if another process is compiling the kernel.
        """
        rtsys.initialize(cpu_target.target_context)  # enough for running; compiling initialises the rest of numba
        path = self.file(sig, target_context.codegen())
        if not path.exists():
            if _LOADING.get():
                raise Missing
            if self._label is not None:
                _LOG.warning("gymnosoma: compiling a kernel of %s, kept for later runs", self._label)
            self._lock = kernel_cache.locked(path)
        try:
            content = kernel_cache.load(path)
            if content is not None:
                return CompileResult._rebuild(target_context, *pickle.loads(content))
        except Exception:  # for any error, the kernel can be recompiled
            kernel_cache.warn("are damaged: they are compiled and saved again")
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Save machine code, if possible."""
        if not cres.library.has_dynamic_globals:  # addresses that are valid in this process only
            # The annotated source is as large as the machine code and includes the path of this installation.
            content = serialize.dumps(cres._replace(type_annotation="")._reduce())
            kernel_cache.save(self.file(sig, cres.codegen), content)

    def flush(self) -> None:
        """Let other processes compile the kernel, after it was loaded, saved, or could not be compiled."""
        if self._lock is not None:
            with suppress(OSError):  # an open file on Windows
                os.unlink(self._lock.lock_file)
            self._lock.release()
            self._lock = None


def compile_kernel(
    function: Callable[..., Any], parallel: bool = False, label: str | None = None, inline: bool = False
) -> Any:
    """Compile a function to machine code kept on disk; other kernels call a translated part, which may be `inline`."""
    # Kernels do not allocate memory, so references are not counted (`_nrt`), and C does not call them.
    options = {"nopython": True, "error_model": "numpy", "parallel": parallel, "forceinline": inline, "_nrt": False}
    dispatcher = _DISPATCHER(function, targetoptions={**options, "no_cfunc_wrapper": True})
    if os.path.isfile(function.__code__.co_filename):  # not entered interactively
        dispatcher._cache = _Cache(function, label)
    dispatcher.inline = inline
    return dispatcher
