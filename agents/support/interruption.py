"""Deferred signals: long work stops at the next safe point."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def noted_signals(*numbers: int, message: str = "") -> Iterator[list[int]]:
    """Catch the first of some signals and append its number to the list yielded; a second signal acts as usual.

    The ``message`` is written to standard error when the first signal arrives.
    """
    caught: list[int] = []
    before = {number: signal.getsignal(number) for number in numbers}

    def note(number: int, frame: object) -> None:
        caught.append(number)
        restore()
        with suppress(OSError):  # os.write, because the signal may interrupt a print
            os.write(2, message.encode())

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # set by nohup
            signal.signal(number, note)
    try:
        yield caught
    finally:
        restore()
