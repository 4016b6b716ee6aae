"""Ends long work at a signal, when what is under way is done."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def noted_signals(*numbers: int, message: str = "") -> Iterator[list[int]]:
    """Note the first of some signals in the list that is given, instead of obeying it; a second one is obeyed at once.

    The ``message`` is written to standard error when the first one comes.
    """
    caught: list[int] = []
    before = {number: signal.getsignal(number) for number in numbers}

    def note(number: int, frame: object) -> None:
        caught.append(number)
        restore()
        with suppress(OSError):  # os.write, because a signal may come amid a print
            os.write(2, message.encode())

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as nohup sets it
            signal.signal(number, note)
    try:
        yield caught
    finally:
        restore()
