"""Reading of untrusted files within limits of size and memory, and atomic writing."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import stat
import tomllib
import uuid
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray


def is_own(file: int | Path) -> bool:
    """Return whether only this user and root can have written a file or folder, so that unpickling it is safe.

    It must belong to one of them and be writable by its owner alone, or by a group with this user as its only member.
    On systems without owners, such as Windows, the result is always True.
    """
    if not hasattr(os, "geteuid"):
        return True
    status = os.stat(file)
    shared = status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid))
    return status.st_uid in (0, os.geteuid()) and not shared


def _is_own_group(number: int) -> bool:
    import grp  # Unix only
    import pwd

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return number == user.pw_gid and group.gr_name == user.pw_name and {*group.gr_mem} <= {user.pw_name}


LARGEST_SETTINGS, LARGEST_TEXT, LARGEST_RECORDING = 1 << 20, 1 << 26, 1 << 28
"""Largest sizes of a file of settings (models, circuits, recipes), of a table, and of a recording as text, bytes."""

LARGEST_BINARY = 1 << 31
"""Largest size of a recording in a binary format, bytes."""

MEMORY, GROWTH = 1 << 28, 16
"""The contents of a file may take ``MEMORY`` bytes, or ``GROWTH`` times the size of a larger file."""

SECONDS = 60
"""Largest time that another program's compiler may take to read a file, s."""

_VALUE_BYTES = {",": 32, ";": 32, "\t": 32, "\n": 64, "[": 64, "{": 64, '"': 64}
_PARTS = 16  # of a key; the parser's run time grows with the square of their number
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_PARTS}}}", re.ASCII)


def check_file(path: Path, largest: int = LARGEST_TEXT) -> int:
    """Return the size of a regular file of at most ``largest`` bytes; raise ValueError, or OSError if it is missing."""
    if path.exists() and not path.is_file():  # reading a pipe or device may never end
        raise ValueError("it is not a regular file")
    if (size := path.stat().st_size) > largest:
        raise ValueError(f"it has {size} bytes, {largest} are allowed")
    return size


def check_memory(size: int, file_size: int, largest: int | None = None) -> None:
    """Raise ValueError if the contents of a file of ``file_size`` bytes take more than ``largest`` bytes.

    By default, they may take `MEMORY` bytes, or `GROWTH` times the size of a larger file.
    """
    largest = max(MEMORY, GROWTH * file_size) if largest is None else largest
    if size > largest:
        raise ValueError(f"its contents take {size} bytes, {largest} are allowed")


def read_bytes(path: Path, largest: int = LARGEST_TEXT) -> bytes:
    """Return the contents of a regular file of at most ``largest`` bytes; raises as `check_file` does."""
    size = check_file(path, largest)
    with path.open("rb") as file:
        content = file.read(size + 1)
    if len(content) > size:  # as some files of the system have
        raise ValueError("it has more bytes than its size")
    return content


def decoded(content: bytes, file_size: int) -> str:
    """Decode a text of numbers from a file of ``file_size`` bytes; raise ValueError if they take too much memory."""
    text = content.decode("utf-8-sig")
    check_memory(sum(size * text.count(mark) for mark, size in _VALUE_BYTES.items()), file_size)
    return text


def read_text(path: Path, largest: int = LARGEST_TEXT) -> str:
    """Return the text of a file of numbers; raises as `check_file` and `decoded` do."""
    content = read_bytes(path, largest)
    return decoded(content, len(content))


def read_table(path: Path) -> NDArray[np.float64]:
    """Return comma-separated numbers (rows, columns); raises ValueError, or OSError if the file is missing."""
    lines = read_text(path).splitlines()
    if not any(line.partition("#")[0].strip() for line in lines):
        raise ValueError("it contains no numbers")
    return np.loadtxt(lines, delimiter=",", ndmin=2)


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file of at most `LARGEST_SETTINGS` bytes; raises ValueError, or OSError if it is missing."""
    text = read_bytes(path, LARGEST_SETTINGS).decode()
    if match := _LONG_KEY.search(text):
        raise ValueError(f"line {text.count(chr(10), 0, match.start()) + 1}: a key has more than {_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def read_array(path: Path, largest: int = LARGEST_BINARY) -> NDArray[Any]:
    """Read a ``.npy`` file into a memory map; raises ValueError, also for pickled objects, or OSError."""
    check_file(path, largest)
    try:
        # A memory map allocates no memory for data that the header claims but the file lacks.
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError:
        raise
    except Exception as error:  # a damaged header raises many types
        raise ValueError(f"it is not an array: {error}") from None
    if not isinstance(array, np.ndarray):
        raise ValueError("it must contain one array, got an archive")
    return array


@contextmanager
def zipped(path: Path, largest: int, memory: int | None = None) -> Iterator[zipfile.ZipFile]:
    """Open a zip file after checking its size, and the sizes and methods of its members.

    Args:
        path: The file.
        largest: Largest size of the file, bytes.
        memory: Largest size of all members, bytes; by default that of `check_memory`.

    Raises:
        ValueError: If a limit is exceeded or the file is damaged or encrypted; also in the block.
    """
    size = check_file(path, largest)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if not {each.compress_type for each in members} <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise ValueError("it has an unknown method of compression")
            check_memory(sum(each.file_size for each in members), size, memory)
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:  # the last one if it is encrypted
        raise ValueError(f"it is not a complete zip file: {error}") from None


def read_arrays(path: Path, largest: int, memory: int | None = None) -> dict[str, NDArray[Any]]:
    """Read the arrays of a ``.npz`` file; arguments and errors as for `zipped`, and pickled objects are errors."""
    arrays, form = {}, np.lib.format
    with zipped(path, largest, memory) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:
                header = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}
                shape, _, kind = header[form.read_magic(file)](file)
            if kind.itemsize * math.prod(shape) > member.file_size:
                raise ValueError(f"{member.filename} has {member.file_size} bytes, too few for shape {shape}")
            with archive.open(member) as file:
                arrays[member.filename.removesuffix(".npy")] = form.read_array(file, allow_pickle=False)
    return arrays


def sync_folder(folder: Path) -> None:
    """Write the names of new and renamed files in a folder to the disk, where the system supports it."""
    with suppress(OSError):  # Windows opens no folders, and some file systems do not sync them
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


PARTIAL = f"partial-{{}}-{'[0-9a-f]' * 32}"
"""Pattern of the names of incomplete files and folders."""


def partial_path(path: Path) -> Path:
    """Return an unpredictable name for an incomplete file or folder beside ``path``."""
    return path.with_name(f"partial-{path.name}-{uuid.uuid4().hex}")


def remove(path: Path) -> None:
    """Remove a file, or a folder with its contents, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file atomically: readers find the old file until the new one is completely on the disk.

    Args:
        path: The file. The data go to a temporary file with an unpredictable name in the same folder, which is removed
            if writing fails.

    Raises:
        OSError: If the file cannot be written; the message names it.
    """
    partial = partial_path(path)
    try:
        with open(partial, "x+b") as file:  # never an existing file or a link; zipfile needs to read
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        sync_folder(path.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        partial.unlink(missing_ok=True)


def toml_key(name: str) -> str:
    """Return a key in TOML syntax."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_value(value: Any) -> str:
    """Return a value in TOML syntax; NumPy numbers and arrays are written as numbers and lists."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value.encode("utf-8", "replace").decode(), ensure_ascii=False).replace("\x7f", "\\u007f")
    if not isinstance(value, int | float):
        raise ValueError(f"TOML has no value for {value!r}")
    return repr(value)
