"""Progress bars of long work."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

display = True
"""Whether bars are shown. A command with many parts hides the bars of the parts and shows a single one."""


class _Lines:
    """File object that writes the output of tqdm as lines, for a standard error that is not a terminal."""

    def write(self, text: str) -> None:
        """Write the text between carriage returns as a line."""
        if text := text.strip():
            sys.stderr.write(text + "\n")

    def flush(self) -> None:
        """Flush standard error."""
        sys.stderr.flush()


def progress_bar(*args: Any, **kwargs: Any) -> tqdm:
    """Create a ``tqdm`` bar. If standard error is not a terminal, it writes a line every ten seconds."""
    if not sys.stderr.isatty():
        kwargs |= {"file": _Lines(), "mininterval": 10.0, "maxinterval": 10.0}
    return tqdm(*args, disable=not display, **kwargs)


@contextmanager
def hidden() -> Iterator[None]:
    """Hide progress bars in the block."""
    global display
    before, display = display, False
    try:
        yield
    finally:
        display = before


def sparkline(values: Sequence[float], width: int = 12) -> str:
    """Draw numbers as bars of text, each the mean of a part of them; empty if standard error cannot show these."""
    if "utf" not in (getattr(sys.stderr, "encoding", None) or "").lower():
        return ""
    parts = min(len(values), width)
    ends = [len(values) * k // parts for k in range(parts + 1)] if parts else []
    means = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(ends)]
    low, span = min(means, default=0.0), max(means, default=0.0) - min(means, default=0.0)
    return "".join("▁▂▃▄▅▆▇█"[round(7 * (mean - low) / span) if span else 0] for mean in means)
