"""Command line: ``gymnosoma COMMAND``, ``python -m gymnosoma COMMAND``, or ``python train.py COMMAND`` in a checkout.

Each command is a function in a separate module. ``tyro`` derives options and help from its signature and docstring.
"""

from __future__ import annotations

import inspect
import io
import os
import shutil
import signal
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import tyro

import gymnosoma
from gymnosoma.agents.support.workers import Unfinished
from gymnosoma.envs.core.arguments import EXTRAS, install_command, printable
from gymnosoma.interrupt import unwatch
from gymnosoma.moved import place_of

from .benchmark import benchmark
from .compile import compile_
from .evaluate import evaluate
from .fit import fit
from .import_ import import_
from .list import list_
from .play import play
from .render import render
from .simulate import simulate
from .train import train

COMMANDS: dict[str, Callable[..., Any]] = {
    "list": list_,
    "train": train,
    "evaluate": evaluate,
    "benchmark": benchmark,
    "render": render,
    "simulate": simulate,
    "play": play,
    "fit": fit,
    "compile": compile_,
    "import": import_,
}

INVALID = (ValueError, TypeError, gymnasium.error.Error)
"""Errors caused by invalid arguments (exit status 2)."""

FAILED = (OSError, ArithmeticError, MemoryError, RecursionError, ImportError, Unfinished)
"""Failures of a run (exit status 1). Any other exception is a bug and shows a traceback."""


def _one_line(error: Exception) -> str:
    """Return the message of an error as one line."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if name in EXTRAS:
        return f"{name} is not installed: {install_command(f'[{EXTRAS[name]}]')}"
    return printable(error) or type(error).__name__


def overview() -> str:
    """Return the list of commands, one line each."""
    lines = ["usage: gymnosoma COMMAND ...  (gymnosoma COMMAND --help lists its options)", ""]
    for name, command in COMMANDS.items():
        lines.append(f"  {name:10} {str(inspect.getdoc(command)).splitlines()[0]}")
    return "\n".join(lines)


NARROWEST = 40
"""Smallest width of help texts and tables, columns; tyro takes minutes for less."""


def main() -> None:
    """Run the command line."""
    unwatch()
    if shutil.get_terminal_size().columns < NARROWEST:
        os.environ["COLUMNS"] = str(NARROWEST)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):  # a console may not support bullets or plus-minus signs
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # more threads slow torch down on small networks
    received: list[int] = []

    def terminate(number: int, frame: object) -> None:
        """Treat SIGTERM, which schedulers send, like Ctrl-C."""
        received.append(number)
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGTERM)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, terminate)
    try:
        try:
            if sys.argv[1:] == ["--version"]:
                print(gymnosoma.__version__)
            elif sys.argv[1:] in ([], ["-h"], ["--help"]):
                print(overview())
                sys.exit(0 if sys.argv[1:] else 2)
            elif place := place_of(*sys.argv[1:]):
                raise ValueError(place)
            else:
                tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="gymnosoma")
        finally:
            sys.stdout.flush()  # also after help texts, which end with SystemExit
    except BrokenPipeError:  # the program that reads the output has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # lets Python flush it at exit
        sys.exit(1)
    except (*INVALID, *FAILED) as error:
        end = SystemExit(f"error: {_one_line(error)}")
        print(end, file=sys.stderr)
        end.code = 2 if isinstance(error, INVALID) else 1
        raise end from None
    except KeyboardInterrupt:
        sys.exit(128 + (signal.SIGTERM if received else signal.SIGINT))
    finally:
        signal.signal(signal.SIGTERM, before)
