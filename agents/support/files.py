"""Writes files so that a failure loses neither what was there before nor what was to be written."""

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
from gymnosoma.envs.core.files import PARTIAL, replacing

TABLES = (".csv", ".json", ".parquet")
"""Endings of tables."""

LIBRARIES = {".parquet": {"pandas": "gymnosoma[data]", "pyarrow": "pyarrow"}}
"""Libraries that write a file of an ending, and what brings each."""

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


def check_installed(*libraries: str) -> None:
    """Raise ModuleNotFoundError for the first that is missing, before the work that ends with it."""
    for name in libraries:
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def check_saved(name: str, groups: Iterable[Iterable[Path]], endings: Collection[str]) -> list[Path]:
    """Files that results go to; ValueError, naming the argument, if one has another ending or cannot be written.

    Raises:
        ImportError: If a library is missing that writes such a file.
    """
    paths = list(dict.fromkeys(path for group in groups for path in group))
    for path in paths:
        if path.suffix not in endings:
            raise ValueError(f"{name} must end in one of {', '.join(endings)}, got {str(path)!r}")
        if lacking := [library for library in LIBRARIES.get(path.suffix, {}) if find_spec(library) is None]:
            sources = " ".join(f"'{LIBRARIES[path.suffix][library]}'" for library in lacking)
            raise ImportError(f"{' and '.join(lacking)} must be installed for {path.suffix}: pip install {sources}")
        check_writable(name, path)
    return paths


def plain(value: Any) -> Any:
    """An event, or numbers of NumPy, for JSON."""
    return {"time": value.time, **value.values} if isinstance(value, Event) else np.asarray(value).tolist()


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as a table, by the ending of the file; NaN is left out, and what is not finite is null in JSON."""
    if path.suffix == ".json":
        finite = [{k: None if isinstance(v, float) and not isfinite(v) else v for k, v in row.items()} for row in rows]
        path.write_text(json.dumps(finite, indent=2, default=plain) + "\n", "utf-8")
        return
    flat = [
        {k: json.dumps(v, default=plain) if isinstance(v, dict) else v for k, v in row.items() if v == v}
        for row in rows
    ]
    if path.suffix == ".parquet":
        import pandas

        pandas.DataFrame(flat).to_parquet(path, index=False)
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)


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
            now = time.strftime("%Y-%m-%d %H:%M:%S")
            note.write_text(f"process {os.getpid()} on {platform.node()} since {now}", "utf-8")
        for partial in folder.glob(PARTIAL.format(place.name if file else "*")):
            partial.unlink(missing_ok=True)
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
