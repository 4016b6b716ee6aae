"""Cache of compiled kernels on disk, which all processes share, and dispatchers of numba that use it.

Saves compile time, and keeps bits equal: machine code is only called with the records it was compiled for.
`test_kernel_cache.py` fails if a version of numba changes the names of types, how compiled functions are saved and
loaded, or how a dispatcher calls its cache.

The key of a kernel consists of its module and name, the types of its arguments, the CPU, and a digest of its code, of
the functions it calls and of the constants it reads, from all files. An edit recompiles only the kernels it changes,
and installed copies of a version share their kernels. numba's own cache uses the path and the time of the one file with
the function: it would run outdated machine code after an edit of a helper in another file, and would recompile for each
copy. It also raises if a file is damaged or cannot be written, crashes if a bit of the machine code has changed, and
has an index of its files that concurrent processes corrupt.

Problems with the folder never stop a program: kernels that cannot be read are compiled, and kernels that cannot be
saved are compiled in each process.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import inspect
import json
import logging
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import threading
import time
import uuid
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import serialize, types
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime.nrt import rtsys
from numba.extending import models, register_model

from ..files import LARGEST_BINARY, LARGEST_TEXT, check_file, is_own, sync_folder

_LOG = logging.getLogger("gymnosoma")

CHECKSUM = hashlib.sha256().digest_size

PATIENCE = 300.0
"""Longest time to wait for a kernel that another process compiles, s."""

LIBRARIES = frozenset({"llvmlite", "numba", "numpy", "re"})
"""Packages whose functions are identified by name alone."""


def find_folder() -> Path:
    """Return the folder for kernels of this version of numba; it may be missing or read-only."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    own = os.path.join(base if os.path.isabs(base) else "~/.cache", "gymnosoma")  # relative: ignored, by the standard
    root = os.path.expanduser(os.environ.get("NUMBA_CACHE_DIR") or own)
    if root.startswith("~"):  # unknown home; never load code from the working folder
        root = os.devnull
    checked = " checked" if getattr(numba.config, "BOUNDSCHECK", None) else ""
    digest = hashlib.sha256(f"{numba.__version__} {sys.implementation.cache_tag}{checked}".encode())
    with contextlib.suppress(OSError):  # installed without sources
        for name in ("cache", "jit", "lowering", "target"):
            digest.update(Path(__file__).with_name(f"{name}.py").read_bytes())
    return Path(root).absolute() / digest.hexdigest()[:16]


FOLDER = find_folder()

SHIPPED = Path(__file__).with_name("shipped") / FOLDER.name
"""Folder for kernels that came in the wheel, which need not exist."""

LEVELS = {
    "x86-64-v4": "+avx,+avx2,+avx512bw,+avx512cd,+avx512dq,+avx512f,+avx512vl,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe",
    "x86-64-v3": "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe",
}
"""Processors that kernels are shipped for, and the features that a processor must have for them, best first."""

FOREIGN = "are not used, for other users can write there: chmod go-w, or chown"
"""Warning about a folder or a file in it."""


def compiled() -> set[Path]:
    """Return the files of compiled kernels."""
    return set(FOLDER.glob("*.nbc"))


def code_digest(function: Callable[..., Any]) -> str:
    """Return the digest of a function's code and all code and constants it uses, equal in every process."""
    functions: list[Any] = [function]  # functions that it calls are appended
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
    """Describe a value that the function ``user`` uses; functions are appended to the list and named by index."""
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
    value = inspect.unwrap(value)  # the function of a kernel or an intrinsic
    if isinstance(value, FunctionType) and str(value.__module__).partition(".")[0] not in LIBRARIES:
        if value not in functions:
            functions.append(value)
        return f"function {functions.index(value)}"
    members = [getattr(value, name, None) for name in ("__members__", "_fields")]  # of enumerations and named tuples
    return re.sub(" at 0x[0-9A-Fa-f]+", "", f"{value!r} {members}")


def _describe_names(values: Mapping[str, Any], user: Any, functions: list[Any]) -> list[str]:
    """Describe the values of the names that the function ``user`` uses."""

    def names(code: CodeType) -> set[str]:
        return {*code.co_names, *code.co_freevars}.union(*map(names, filter(inspect.iscode, code.co_consts)))

    return [
        f"{name} {_describe(values[name], user, functions)}" for name in sorted(names(user.__code__) & values.keys())
    ]


def file_of(function: Callable[..., Any], *key: Any) -> Path:
    """Return the file of a kernel with a further key."""
    name = f"{function.__module__} {function.__qualname__} {code_digest(function)} {key}"
    return FOLDER / f"{function.__name__.strip('<>')}-{hashlib.sha256(name.encode()).hexdigest()[:24]}.nbc"


def shipped(function: Callable[..., Any], sig: Any, target: tuple[str, str, str], key: tuple[Any, ...]) -> Path | None:
    """Return the file of a kernel from a wheel, for the best level of this processor; None if there is none.

    ``target`` names the machine, the processor and its features. The wheel's kernels are in `SHIPPED`, or in `FOLDER`
    if ``gymnosoma compile --wheel`` copied them.
    """
    machine, processor, features = target
    for level, needed in LEVELS.items():
        if processor not in LEVELS and {*needed.split(",")} <= {*features.split(",")}:
            name = file_of(function, sig, (machine, level, needed), *key).name
            for path in (SHIPPED / name, FOLDER / name):
                if path.exists():
                    return path
    return None


def copy_shipped(wheel: Path) -> int:
    """Copy the kernels in a wheel that suit this version of the code to `FOLDER`, and return their number.

    Raises:
        ValueError: If the file is not a wheel, or has no kernels for this version of the code, of numba and of Python.
        OSError: If the file is missing, or the folder cannot be written.
    """
    inside = f"{__package__.replace('.', '/')}/{SHIPPED.parent.name}/{FOLDER.name}/"
    check_file(wheel, LARGEST_BINARY)
    try:
        with zipfile.ZipFile(wheel) as archive:
            found = [each for each in archive.infolist() if each.filename.startswith(inside) and not each.is_dir()]
            contents = {
                each.filename[len(inside) :]: archive.read(each) for each in found if each.file_size <= LARGEST_TEXT
            }
    except zipfile.BadZipFile:
        raise ValueError(f"wheel must be a wheel of gymnosoma, got {str(wheel)!r}") from None
    contents = {name: content for name, content in contents.items() if re.fullmatch(r"[\w-]+\.nbc", name)}
    if not contents:
        raise ValueError(f"wheel must have kernels for this version of the code, numba and Python, got {str(wheel)!r}")
    for name, content in contents.items():
        if checksum(FOLDER / name, content[CHECKSUM:]) != content[:CHECKSUM]:
            raise ValueError(f"wheel has a damaged kernel, {name}: {str(wheel)!r}")
    for name, content in contents.items():
        save(FOLDER / name, content[CHECKSUM:])
    return len(contents)


def checksum(path: Path, content: bytes) -> bytes:
    """Return the checksum of a kernel, which includes its name, so that exchanged files are recognised."""
    return hashlib.sha256(path.name.encode() + content).digest()


def load(path: Path) -> bytes | None:
    """Read a saved kernel; None if it is missing or not safe, ValueError if it is damaged.

    Files contain pickles and machine code, so files that other users can write are not read.
    """
    try:
        check_file(path)
        with path.open("rb") as file:
            if not (is_own(path.parent) and is_own(file.fileno())):
                if path.parent == FOLDER:
                    warn(FOREIGN)
                return None
            content = file.read()
    except OSError:
        return None
    if checksum(path, content[CHECKSUM:]) != content[:CHECKSUM]:
        raise ValueError("wrong checksum")
    return content[CHECKSUM:]


def locked(path: Path) -> Any:
    """Return a lock for compiling a kernel, waiting if another process has it; None if there can be no lock."""
    from filelock import FileLock  # not needed if all kernels are compiled

    with contextlib.suppress(OSError, NotImplementedError):  # a read-only folder, or no locks in this file system
        FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_own(FOLDER):
            lock = FileLock(path.with_suffix(".tmp"), timeout=PATIENCE)
            lock.acquire()
            return lock
    return None


def save(path: Path, content: bytes) -> None:
    """Save a kernel, or warn if this fails."""
    temporary = path.with_suffix(f".{uuid.uuid4().hex}.tmp")
    try:
        FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_own(FOLDER):
            return warn(FOREIGN)
        temporary.write_bytes(checksum(path, content) + content)
        os.replace(temporary, path)
        sync_folder(FOLDER)
    except OSError as error:
        warn(f"cannot be saved ({error.strerror})")
    with contextlib.suppress(OSError):
        temporary.unlink(missing_ok=True)
        for partial in FOLDER.glob("*.tmp"):  # of processes that were killed
            if time.time() - partial.stat().st_mtime > 3600.0:
                partial.unlink()


@functools.cache
def warn(problem: str) -> None:
    """Warn of a problem with the folder, once per process."""
    text = f"compiled kernels in {FOLDER} {problem}; NUMBA_CACHE_DIR names another folder"
    warnings.warn(text, RuntimeWarning, stacklevel=3)


SECONDS = {"worm": 5, "lamprey": 15, "whisker_chain": 10, "whisker_rod": 10, "neuromechanic": 20}
"""Typical time of compilation on one core, in s, by the folder of the animal."""


@functools.cache
def announce(animal: str) -> None:
    """Tell that an animal is compiled, once per process: it has several kernels."""
    duration = f"about {SECONDS[animal]} seconds" if animal in SECONDS else "some seconds"
    text = "gymnosoma: compiling kernels of the %s (%s); they are cached for later runs on this machine"
    _LOG.warning(text, animal.replace("_", " "), duration)


class Missing(Exception):
    """A kernel is not in the cache, while kernels are only loaded."""


_LOADING = ContextVar("loading", default=False)


@contextlib.contextmanager
def only_loading() -> Iterator[None]:
    """Raise `Missing` instead of compiling a kernel in the block."""
    token = _LOADING.set(True)
    try:
        yield
    finally:
        _LOADING.reset(token)


_NATIVE = ContextVar("native", default=False)


@contextlib.contextmanager
def only_native(wanted: bool = True) -> Iterator[None]:
    """Compile kernels for this very processor in the block, even if a wheel has some for its level."""
    token = _NATIVE.set(wanted)
    try:
        yield
    finally:
        _NATIVE.reset(token)


class Cache(NullCache):
    """Cache of a kernel: a file with a checksum for each signature.

    Args:
        function: Python function of the kernel.
        key: Whatever else determines the machine code.
        label: Name of the animal in the message before the kernel is compiled; None for no message.
    """

    def __init__(self, function: Callable[..., Any], key: tuple[Any, ...], label: str | None = None) -> None:
        self._function = function
        self._key = key
        self._label = label
        self._lock: Any = None

    def file(self, sig: Any, codegen: Any) -> Path:
        """Return the file of a signature."""
        return file_of(self._function, sig, codegen.magic_tuple(), *self._key)

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Load machine code for a signature; None if it must be compiled, with a log message if there is a label.

        Waits if another process is compiling the kernel.
        """
        rtsys.initialize(cpu_target.target_context)  # enough for running; compiling initialises the rest of numba
        path = self.file(sig, target_context.codegen())
        if not path.exists() and not _NATIVE.get():
            other = shipped(self._function, sig, target_context.codegen().magic_tuple(), self._key)
            if other is not None and (kernel := self._read(other, target_context)) is not None:
                return kernel
        if not path.exists():
            if _LOADING.get():
                raise Missing
            if self._label is not None:
                announce(self._label)
            self._lock = locked(path)
        return self._read(path, target_context)

    def _read(self, path: Path, target_context: Any) -> CompileResult | None:
        try:
            content = load(path)
            if content is not None:
                return CompileResult._rebuild(target_context, *pickle.loads(content))
        except Exception:  # for any error, the kernel can be recompiled
            warn("are damaged: they are compiled and saved again")
        return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Save machine code, if possible."""
        if not cres.library.has_dynamic_globals:  # addresses that are valid in this process only
            # The annotated source is as large as the machine code and includes the path of this installation.
            content = serialize.dumps(cres._replace(type_annotation="")._reduce())
            save(self.file(sig, cres.codegen), content)

    def flush(self) -> None:
        """Let other processes compile the kernel, after it was loaded, saved, or could not be compiled."""
        if self._lock is not None:
            with contextlib.suppress(OSError):  # an open file on Windows
                os.unlink(self._lock.lock_file)
            self._lock.release()
            self._lock = None


class KernelRecord(types.Record):
    """Record type whose name in machine code is made from its layout, and that is not converted to other records.

    The name of numba's own type is a counter within a process. Two layouts compiled in two processes may get the same
    number, and a third process that loads both from a cache would then call the kernels of one with data of the other.
    """

    @functools.cached_property
    def mangling_args(self) -> tuple[str, tuple[int]]:
        """Name of the type in machine code."""
        return "Record", (int.from_bytes(hashlib.sha256(str(self).encode()).digest()[:7]),)

    def can_convert_to(self, context: Any, other: Any) -> None:
        """Keep records with equal first fields apart."""


register_model(KernelRecord)(models.RecordModel)


@functools.cache
def own(kind: Any) -> Any:
    """Return a type with `KernelRecord` in place of numba's records."""
    if isinstance(kind, types.Record):
        fields: Any = [(name, {**each._asdict(), "type": own(each.type)}) for name, each in kind.fields.items()]
        return KernelRecord(fields, kind.size, kind.aligned)
    if isinstance(kind, types.NestedArray):
        return types.NestedArray(own(kind.dtype), kind.shape)
    if isinstance(kind, types.Array):
        return kind.copy(dtype=own(kind.dtype))
    if isinstance(kind, types.Tuple | types.UniTuple):
        kinds = tuple(map(own, kind.types))
        return kind if kinds == kind.types else types.Tuple(kinds)
    return kind


_CPUDispatcher: Any = CPUDispatcher


class Dispatcher(_CPUDispatcher):
    """Compiles a function for each signature, with `KernelRecord` for records."""

    inline = False
    """Whether the kernel is inlined into its callers."""
    stepping = False
    """Whether the kernel is a loop that steps rows."""
    wide = False
    """Whether such a loop has vectors of 512 bits, see `batch_kernel`."""

    def compile(self, sig: Any) -> Any:
        """Compile the function for a tuple of argument types, and return its entry point."""
        kinds = tuple(map(own, sig))
        try:
            entry = super().compile(kinds)
        finally:
            self._cache.flush()
        if kinds != sig:
            self._insert([kind._code for kind in sig], entry, False)
        return entry


CODE = """
import json, pickle, sys
sys.path[:] = json.loads(sys.argv[1])
animal, count = pickle.load(sys.stdin.buffer)
animal.compile(count)
"""
"""Program of the second process, which does not import the main module of this process."""


_STARTED: set[Any] = set()


def compile_ahead(animal: Any, count: int) -> None:
    """Compile the step of an animal for ``count`` rows in a second process, which ends with this one.

    Nothing happens if the kernel is in the cache, with a single processor, or in a worker process, since workers of a
    pool compile at the same time. A process starts once for each class of animals. Failures are ignored.
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    embedded = not re.match("python", Path(sys.executable or "").name)  # other programs do not take this code
    if processors < 2 or embedded or multiprocessing.parent_process() or type(animal) in _STARTED:
        return
    try:
        with only_loading():
            animal.compile(count)
    except Missing:
        _STARTED.add(type(animal))
        with contextlib.suppress(Exception):
            content, command = pickle.dumps((animal, count)), [sys.executable, "-c", CODE, json.dumps(sys.path)]
            pipe, null = subprocess.PIPE, subprocess.DEVNULL
            process = subprocess.Popen(command, stdin=pipe, stdout=null, stderr=null)
            atexit.register(process.kill)
            threading.Thread(target=process.communicate, args=(content,), daemon=True).start()
