"""Machine code of kernels on disk: where it lies, and what it is found by.

A kernel is found by its module and name, the types of its arguments, the CPU, and a digest of its code and of all that
the code reaches: the functions it calls and the constants it reads, from whatever files they come. So an edit compiles
the kernels that it changes and no others, and all copies of a version share their kernels, wherever they are installed.
numba's own cache goes by the path and the time of the one file that holds the function: it would go on running old
machine code when a helper in another file was edited, and would compile anew for each copy.

Whatever happens to the folder, programs run: what cannot be read is compiled, what cannot be saved is compiled by
every process.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import os
import re
import sys
import time
import uuid
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np

from ..files import is_own

CHECKSUM = hashlib.sha256().digest_size

LIBRARIES = frozenset({"llvmlite", "numba", "numpy", "re"})
"""Packages whose functions are distinguished by their names alone."""


def find_folder() -> Path:
    """Folder for kernels that this version of numba compiles; it need not exist, nor be one that can be written."""
    own = os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "gymnosoma")
    root = os.path.expanduser(os.environ.get("NUMBA_CACHE_DIR") or own)
    if root.startswith("~"):  # no home is known, and code is not loaded from the working folder
        root = os.devnull
    checked = " checked" if getattr(numba.config, "BOUNDSCHECK", None) else ""
    digest = hashlib.sha256(f"{numba.__version__} {sys.implementation.cache_tag}{checked}".encode())
    with contextlib.suppress(OSError):  # installed without sources
        digest.update(Path(__file__).with_name("compiling.py").read_bytes())
    return Path(root).absolute() / digest.hexdigest()[:16]


FOLDER = find_folder()

FOREIGN = "are not used, for other users can write there: chmod go-w, or chown"
"""Warning about a folder or a file in it."""


def compiled() -> set[Path]:
    """Files of the kernels that are compiled already."""
    return set(FOLDER.glob("*.nbc"))


def code_digest(function: Callable[..., Any]) -> str:
    """Compute the digest of a function's code and of all that it reaches; it is the same in every process."""
    functions: list[Any] = [function]  # those that it calls are appended
    digest = hashlib.sha256()
    for each in functions:
        cells = zip(each.__code__.co_freevars, each.__closure__ or (), strict=True)
        values = each.__globals__ | {name: cell.cell_contents for name, cell in cells}
        described = (
            _describe((each.__code__, each.__defaults__), each, functions),
            _describe_names(values, each, functions),
        )
        digest.update(f"{each.__module__} {each.__qualname__} {described}".encode())
    return digest.hexdigest()


def _describe(value: Any, user: Any, functions: list[Any]) -> str:
    """Describe what the function ``user`` reaches; a function by its place in the list, to which it is appended."""
    if isinstance(value, ModuleType):
        inside = {} if value.__name__.partition(".")[0] in LIBRARIES else vars(value)
        return f"{value.__name__} {_describe_names(inside, user, functions)}"
    if isinstance(value, CodeType):
        constants = [each for each in value.co_consts if each is None or each is not user.__doc__]
        return f"{value.co_code!r} {value.co_names} {value.co_varnames} {_describe(constants, user, functions)}"
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{value.dtype} {value.shape} {value.tobytes()!r}"
    if isinstance(value, (tuple, list, frozenset)):
        each = [_describe(each, user, functions) for each in value]
        return f"{type(value)} {sorted(each) if isinstance(value, frozenset) else each}"
    value = inspect.unwrap(value)  # of a kernel or an intrinsic, its function
    if isinstance(value, FunctionType) and str(value.__module__).partition(".")[0] not in LIBRARIES:
        if value not in functions:
            functions.append(value)
        return f"function {functions.index(value)}"
    members = [getattr(value, name, None) for name in ("__members__", "_fields")]  # of an enumeration, a named tuple
    return re.sub(" at 0x[0-9A-Fa-f]+", "", f"{value!r} {members}")


def _describe_names(values: Mapping[str, Any], user: Any, functions: list[Any]) -> list[str]:
    """Describe those names that the function ``user`` uses."""

    def names(code: CodeType) -> set[str]:
        return {*code.co_names, *code.co_freevars}.union(*map(names, filter(inspect.iscode, code.co_consts)))

    return [
        f"{name} {_describe(values[name], user, functions)}" for name in sorted(names(user.__code__) & values.keys())
    ]


def file_of(function: Callable[..., Any], *key: Any) -> Path:
    """File of a kernel with a further key."""
    name = f"{function.__module__} {function.__qualname__} {code_digest(function)} {key}"
    return FOLDER / f"{function.__name__.strip('<>')}-{hashlib.sha256(name.encode()).hexdigest()[:24]}.nbc"


def load(path: Path) -> bytes | None:
    """Read what was saved, None where there is nothing of our own; raises ValueError where it is damaged.

    Machine code is unpickled, and then run: nothing is read that another user may have written.
    """
    try:
        with path.open("rb") as file:
            if not (is_own(FOLDER) and is_own(file.fileno())):
                warn(FOREIGN)
                return None
            content = file.read()
    except OSError:
        return None
    if hashlib.sha256(content[CHECKSUM:]).digest() != content[:CHECKSUM]:
        raise ValueError("wrong checksum")
    return content[CHECKSUM:]


def save(path: Path, content: bytes) -> None:
    """Save a kernel, or warn that it cannot be done."""
    temporary = path.with_suffix(f".{uuid.uuid4().hex}.tmp")
    try:
        FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_own(FOLDER):
            return warn(FOREIGN)
        temporary.write_bytes(hashlib.sha256(content).digest() + content)
        os.replace(temporary, path)
    except OSError as error:
        warn(f"cannot be saved ({error.strerror})")
    with contextlib.suppress(OSError):
        temporary.unlink(missing_ok=True)
        for partial in FOLDER.glob("*.tmp"):  # of processes that were killed
            if time.time() - partial.stat().st_mtime > 3600.0:
                partial.unlink()


@functools.cache
def warn(problem: str) -> None:
    """Warn of a problem with the folder, once in a process."""
    text = f"compiled kernels in {FOLDER} {problem}; NUMBA_CACHE_DIR names another folder"
    warnings.warn(text, RuntimeWarning, stacklevel=3)
