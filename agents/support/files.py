"""Safe file writing: a failure loses neither the previous file nor the new result."""

from __future__ import annotations

import csv
import json
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from gymnosoma.envs import Event
from gymnosoma.envs.core.arguments import install_command
from gymnosoma.envs.core.files import PARTIAL, remove, replacing

TABLES = (".csv", ".json", ".parquet")
"""File suffixes of tables."""

LIBRARIES = {
    ".parquet": {"pandas": "[data]", "pyarrow": "pyarrow"},
    ".mp4": {"imageio_ffmpeg": "[film]"},
    ".gif": {"PIL": "[film]"},
}
"""Libraries needed for a file suffix, each with the extra or package to install."""

patience = 0.0
"""Time (s) that `locked` waits for another process to release the folder."""

TRIAL = 2**16
"""Number of bytes written to test whether a folder is writable."""


def check_writable(name: str, path: Path) -> None:
    """Raise ValueError, naming the argument, if a file cannot be written. Call this before computing its contents.

    An existing file is not changed.
    """
    _check_name(name, path)
    try:
        with suppress(FileNotFoundError):
            path.stat()  # fails for a link to itself
        if path.is_dir() or not path.parent.is_dir():
            raise ValueError(f"{name} must be a file in an existing folder, got {str(path)!r}")
        if path.exists():
            path.open("ab").close()
        if path.is_file() or not path.exists():  # not a device or pipe
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix="trial-") as trial:
                trial.write(bytes(TRIAL))
                trial.flush()
    except OSError as error:
        raise ValueError(f"{name} must be a writable file, got {str(path)!r}: {error.strerror}") from None


def check_folder(name: str, path: Path) -> None:
    """Raise ValueError, naming the argument, unless a folder is writable or can be created; nothing is created."""
    _check_name(name, path)
    try:
        parent = next(each for each in (path, *path.absolute().parents) if each.exists())
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        raise ValueError(f"{name} must be a writable folder, got {str(path)!r}: {error.strerror}") from None


def check_installed(*libraries: str) -> None:
    """Raise ModuleNotFoundError for the first missing library. Call this before long work that needs them."""
    for name in libraries:
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def check_saved(name: str, groups: Iterable[Iterable[Path]], endings: Collection[str]) -> list[Path]:
    """Check groups of output files and return them as one list without duplicates.

    Raises:
        ValueError: If a suffix is not in ``endings`` or a file cannot be written; names the argument.
        ImportError: If a library needed to write one of the files is missing.
    """
    paths = list(dict.fromkeys(path for group in groups for path in group))
    for path in paths:
        if path.suffix not in endings:
            raise ValueError(f"{name} must end in one of {', '.join(endings)}, got {str(path)!r}")
        if missing := [library for library in LIBRARIES.get(path.suffix, {}) if find_spec(library) is None]:
            command = install_command(*(LIBRARIES[path.suffix][library] for library in missing))
            raise ImportError(f"{' and '.join(missing)} must be installed for {path.suffix}: {command}")
        check_writable(name, path)
    return paths


def to_json(value: Any) -> Any:
    """Convert events and arrays to values that JSON supports; numbers that are not finite become None."""
    if isinstance(value, Event):
        value = {"time": value.time, **value.values}
    if isinstance(value, Mapping):
        return {str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    return to_json(np.asarray(value).tolist())


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as a table in the format of the file suffix.

    In JSON, numbers that are not finite become null. In other formats, NaN becomes an empty cell.
    """
    if path.suffix == ".json":
        path.write_text(json.dumps(to_json(rows), indent=2) + "\n", "utf-8")
        return
    flat = [{k: json.dumps(to_json(v)) if isinstance(v, dict) else v for k, v in row.items() if v == v} for row in rows]
    if path.suffix == ".parquet":
        import pandas

        pandas.DataFrame(flat).to_parquet(path, index=False)
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in flat)


def _cell(value: Any) -> Any:
    """Return a value for a table, with an apostrophe before text that a spreadsheet would run as a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _check_name(name: str, path: Path) -> None:
    """Raise ValueError for a name with control characters, which tables and messages cannot show."""
    if re.search(r"[\x00-\x1f\x7f]", str(path)):
        raise ValueError(f"{name} must not contain line breaks or control characters, got {str(path)!r}")


@contextmanager
def locked(name: str, folder: Path) -> Iterator[None]:
    """Lock a results folder against other processes for the duration of the block.

    The lock is released when the process ends for any reason. On a shared folder it works between machines if the file
    system supports locks. Partial files of a killed process are removed, also in subfolders without their own lock. The
    lock is reentrant within a process.

    Args:
        name: Argument that contains the path, for error messages.
        folder: Folder, created if it does not exist.

    Raises:
        ValueError: If another process has locked the folder; names the process.
    """
    check_folder(name, folder)
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / ".lock"
    lock = FileLock(note.absolute(), is_singleton=True)
    try:
        lock.acquire(timeout=patience)
    except Timeout:
        holder = ""
        with suppress(OSError):
            holder = note.read_text("utf-8", "replace")
        raise ValueError(
            f"{name} must not be in use by others, got {str(folder)!r}, locked by {holder or 'another process'}"
        ) from None
    try:
        with suppress(OSError):  # Windows does not allow writing to a locked file
            now = time.strftime("%Y-%m-%d %H:%M:%S")
            note.write_text(f"process {os.getpid()} on {platform.node()} since {now}", "utf-8")
        pattern = PARTIAL.format("*")
        for partial in (*folder.glob(pattern), *folder.glob(f"*/{pattern}")):
            if partial.parent == folder or not (partial.parent / note.name).exists():  # else another may write it
                remove(partial)
        yield
    finally:
        lock.release()


@contextmanager
def result(name: str, path: Path) -> Iterator[Path]:
    """Yield a temporary file for the result of long work, and move it to ``path`` at the end of the block.

    The temporary file has the same name as ``path``. It is kept if the move fails.

    Raises:
        ValueError: If ``path`` is not writable; names the argument.
        OSError: If this is detected after the work; the message contains the path of the temporary file.
    """
    check_writable(name, path)
    folder = Path(tempfile.mkdtemp(prefix="gymnosoma-"))
    draft = folder / path.name
    try:
        yield draft
        if draft.exists():
            _move(draft, path)
    except _Stuck as stuck:
        raise OSError(
            f"{name} could not be written to {str(path)!r}: {stuck}; the result is kept in {str(draft)!r}"
        ) from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


class _Stuck(Exception):
    """Error of a result that cannot be moved to its destination."""


def _move(draft: Path, path: Path) -> None:
    try:
        if path.exists() and not path.is_file():  # a device or pipe
            path.write_bytes(draft.read_bytes())
        else:
            with replacing(path.resolve()) as file, draft.open("rb") as source:  # keeps a symbolic link
                shutil.copyfileobj(source, file)
    except OSError as error:
        raise _Stuck(error.strerror or str(error)) from None
