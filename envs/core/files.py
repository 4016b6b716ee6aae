"""Writes a file so that it is whole at any time."""

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
    """Whether nobody but this user and root could have written a file or folder: what is unpickled runs as code.

    It belongs to one of the two, and only its owner may write, or a group of which this user is the one member. Where
    the system knows no owners, as on Windows, this is always true: there folders of a user are the user's own.
    """
    if not hasattr(os, "geteuid"):
        return True
    status = os.stat(file)
    shared = status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid))
    return status.st_uid in (0, os.geteuid()) and not shared


def _is_own_group(number: int) -> bool:
    import grp  # where there are owners
    import pwd

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return number == user.pw_gid and group.gr_name == user.pw_name and {*group.gr_mem} <= {user.pw_name}


LARGEST_TEXT = 1 << 26
"""Bytes of a table of numbers that is read."""


def check_file(path: Path, largest: int = LARGEST_TEXT) -> None:
    """Raise ValueError unless a path is that of a file of at most ``largest`` bytes; OSError where there is none."""
    if path.exists() and not path.is_file():  # a pipe would be waited for, a device never ends
        raise ValueError("it is no file")
    if path.stat().st_size > largest:
        raise ValueError(f"it has {path.stat().st_size} bytes, {largest} are allowed")


PARTIAL = f"partial-{{}}-{'[0-9a-f]' * 32}"
"""Pattern of the names of files that are not whole yet."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file anew: until all of it is on the disk, whoever reads it finds the old one.

    Args:
        path: The file; what is written beside it, under a name that nobody can foresee, goes if writing fails.

    Raises:
        OSError: If it cannot be written; names the file.
    """
    partial = path.with_name(f"partial-{path.name}-{uuid.uuid4().hex}")
    try:
        with open(partial, "x+b") as file:  # never what is there, nor where a link points; zipfile reads what it wrote
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        partial.unlink(missing_ok=True)


def toml_value(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value) if isinstance(value, str) else repr(value)
