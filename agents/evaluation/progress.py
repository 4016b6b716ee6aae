"""Shows how far a long work is."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm

shown = True
"""Whether there are bars at all; a work of many parts shows its own, not those of each part."""


class _Lines:
    """Where standard error is no terminal: what tqdm draws, as lines."""

    def write(self, text: str) -> None:
        """Write what there is between carriage returns."""
        if text := text.strip():
            sys.stderr.write(text + "\n")

    def flush(self) -> None:
        """Let it be seen."""
        sys.stderr.flush()


def progress_bar(*args: Any, **kwargs: Any) -> tqdm:
    """A ``tqdm``; where standard error is no terminal it writes a line every ten seconds, and draws over nothing."""
    if not sys.stderr.isatty():
        kwargs |= {"file": _Lines(), "mininterval": 10.0, "maxinterval": 10.0}
    return tqdm(*args, disable=not shown, **kwargs)
