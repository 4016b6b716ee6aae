"""Ctrl-C while a command imports its libraries: one line and exit status 130, instead of a traceback."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path


def is_command(package: Path) -> bool:
    """Return whether this process is the command ``gymnosoma``, not a program that imports the ``package``."""
    program = (getattr(sys, "argv", None) or [""])[0]
    if program == "-m":  # while the parent packages of a module are imported
        return "gymnosoma" in sys.orig_argv
    return Path(program).stem == "gymnosoma" or Path(program).resolve() == package.resolve().parent / "train.py"


def end(number: int, frame: object) -> None:
    """End the process; an exception could be caught by the library that is being imported."""
    os.write(2, b"interrupted\n")
    os._exit(128 + number)


def watch() -> None:
    """End the process at Ctrl-C until `unwatch`, unless another handler is installed."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is _USUAL:
        signal.signal(signal.SIGINT, end)


def unwatch() -> None:
    """Raise KeyboardInterrupt at Ctrl-C again."""
    if signal.getsignal(signal.SIGINT) is end:
        signal.signal(signal.SIGINT, _USUAL)


_USUAL = signal.default_int_handler
