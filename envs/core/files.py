"""Atomic writing of files, and checks before reading."""

from __future__ import annotations

import json
import os
import stat
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


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


LARGEST_TEXT = 1 << 26
"""Largest size of a table of numbers, bytes."""


def check_file(path: Path, largest: int = LARGEST_TEXT) -> None:
    """Raise ValueError unless a path is a regular file of at most ``largest`` bytes; OSError if it is missing."""
    if path.exists() and not path.is_file():  # reading a pipe or device may never end
        raise ValueError("it is not a regular file")
    if path.stat().st_size > largest:
        raise ValueError(f"it has {path.stat().st_size} bytes, {largest} are allowed")


PARTIAL = f"partial-{{}}-{'[0-9a-f]' * 32}"
"""Pattern of the names of incomplete files."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file atomically: readers find the old file until the new one is completely on the disk.

    Args:
        path: The file. The data go to a temporary file with an unpredictable name in the same folder, which is removed
            if writing fails.

    Raises:
        OSError: If the file cannot be written; the message names it.
    """
    partial = path.with_name(f"partial-{path.name}-{uuid.uuid4().hex}")
    try:
        with open(partial, "x+b") as file:  # never an existing file or a link; zipfile needs to read
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        partial.unlink(missing_ok=True)


def toml_value(value: Any) -> str:
    """Return a value in TOML syntax."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value) if isinstance(value, str) else repr(value)
