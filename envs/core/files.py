"""Writes a file so that it is whole at any time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file anew: until all of it is on the disk, whoever reads it finds the old one.

    Args:
        path: The file; what is written beside it goes if writing fails.

    Raises:
        OSError: If it cannot be written; names the file.
    """
    partial = path.with_name(f"partial-{path.name}")
    try:
        with open(partial, "w+b") as file:  # to be read, too: zipfile appends so
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        partial.unlink(missing_ok=True)
