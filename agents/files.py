"""Writes files so that a failure loses neither what was there before nor what was to be written."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gymnosoma.envs.core.files import replacing

TRIAL = 2**16
"""Bytes written to learn whether a folder takes any."""


def check_writable(name: str, path: Path) -> None:
    """Raise ValueError, naming the argument, if a file cannot be written: before the work whose results it is to hold.

    A file that exists stays as it is.
    """
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
