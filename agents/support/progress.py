"""Shows the progress of long work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

display = True
"""Whether bars are shown; a command with many parts shows one bar of its own, not those of the parts."""


class _Lines:
    """Writes what tqdm draws as lines, for a standard error that is no terminal."""

    def write(self, text: str) -> None:
        """Write the text between carriage returns as a line."""
        if text := text.strip():
            sys.stderr.write(text + "\n")

    def flush(self) -> None:
        """Flush standard error."""
        sys.stderr.flush()


def progress_bar(*args: Any, **kwargs: Any) -> tqdm:
    """A ``tqdm``; where standard error is no terminal it writes a line every ten seconds."""
    if not sys.stderr.isatty():
        kwargs |= {"file": _Lines(), "mininterval": 10.0, "maxinterval": 10.0}
    return tqdm(*args, disable=not display, **kwargs)


@contextmanager
def hidden() -> Iterator[None]:
    """Show no bars in this block."""
    global display
    before, display = display, False
    try:
        yield
    finally:
        display = before
