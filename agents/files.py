"""Writes files so that a failure loses neither what was there before nor what was to be written."""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from gymnosoma.envs.core.files import PARTIAL, replacing

TRIAL = 2**16
"""Bytes written to learn whether a folder takes any."""


def check_writable(name: str, path: Path) -> None:
    """Raise ValueError, naming the argument, if a file cannot be written: before the work whose results it is to hold.

    A file that exists stays as it is.
    """
    _check_name(name, path)
    try:
        if path.is_dir() or not path.parent.is_dir():
            raise ValueError(f"{name} must be a file in a folder that exists, got {str(path)!r}")
        if path.exists():
            path.open("ab").close()
        if path.is_file() or not path.exists():  # no device or pipe
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix="trial-") as trial:
                trial.write(bytes(TRIAL))
                trial.flush()
    except OSError as error:
        raise ValueError(f"{name} must be a file that can be written, got {str(path)!r}: {error.strerror}") from None


def _check_name(name: str, path: Path) -> None:
    """Raise ValueError for a name with control characters, which tables and messages could not show."""
    if re.search(r"[\x00-\x1f\x7f]", str(path)):
        raise ValueError(f"{name} must be a name without line breaks and control characters, got {str(path)!r}")


@contextmanager
def locked(name: str, place: Path, *, file: bool = False) -> Iterator[None]:
    """Hold a folder of results, or a file: no other process that asks for it gets it before the block has ended.

    The lock ends with its process, however that ends; on a folder that machines share it holds as far as its file
    system has locks. What a killed process left half written is removed. A process may hold a place twice.

    Args:
        name: The argument that names the place.
        place: The folder, made if there is none.
        file: Whether it is a file.

    Raises:
        ValueError: If another process holds it; says which.
    """
    _check_name(name, place)
    folder = place.parent if file else place
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / (f".{place.name}.lock" if file else ".lock")
    lock = FileLock(note.absolute(), blocking=False, is_singleton=True)
    try:
        lock.acquire()
    except Timeout:
        holder = ""
        with suppress(OSError):
            holder = note.read_text("utf-8", "replace")
        raise ValueError(
            f"{name} must be one that no other process is writing, got {str(place)!r}, which is held by "
            f"{holder or 'another process'}"
        ) from None
    try:
        with suppress(OSError):  # on Windows a file that is locked cannot be written
            note.write_text(f"process {os.getpid()} on {platform.node()} since {time.strftime('%Y-%m-%d %H:%M:%S')}")
        for left in folder.glob(PARTIAL.format(place.name if file else "*")):
            left.unlink(missing_ok=True)
        yield
    finally:
        lock.release()


@contextmanager
def result(name: str, path: Path) -> Iterator[Path]:
    """A file for the result of long work: written elsewhere, moved to ``path`` in the end, kept where that fails.

    What is given has the name of ``path``, and is to be written to.

    Raises:
        ValueError: If nothing can be written to ``path``, naming the argument. Found only after the work, the error
            says where the result is.
    """
    check_writable(name, path)
    folder = Path(tempfile.mkdtemp(prefix="gymnosoma-"))
    draft = folder / path.name
    try:
        yield draft
        if draft.exists():
            _move(draft, path)
    except _Stuck as stuck:
        raise ValueError(
            f"{name} could not be written to {str(path)!r}: {stuck}; the result is kept in {str(draft)!r}"
        ) from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


class _Stuck(Exception):
    """A result that cannot be moved to where it belongs."""


def _move(draft: Path, path: Path) -> None:
    try:
        if path.exists() and not path.is_file():  # a device or pipe
            path.write_bytes(draft.read_bytes())
        else:
            with replacing(path.resolve()) as file, draft.open("rb") as source:  # a link stays one
                shutil.copyfileobj(source, file)
    except OSError as error:
        raise _Stuck(error.strerror or str(error)) from None
