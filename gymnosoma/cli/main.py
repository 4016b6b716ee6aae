"""The command line: ``python train.py COMMAND`` in a checkout, ``gymnosoma COMMAND`` once installed.

``python -m gymnosoma COMMAND`` does the same.

A module for each command; the function of its name is what ``tyro`` reads.
"""

from __future__ import annotations

import inspect
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import gymnasium
import tyro

import gymnosoma
from gymnosoma.agents.support.workers import Unfinished
from gymnosoma.envs.core.arguments import choice

from . import checkout
from .arguments import WORDS
from .benchmark import benchmark
from .compile import compile_
from .contest import check, enter, leaderboard
from .evaluate import evaluate
from .fit import fit
from .import_ import import_
from .list import list_
from .play import play
from .record import record
from .render import render
from .simulate import simulate
from .sweep import sweep
from .train import train
from .tune import tune

COMMANDS: dict[str, Callable[..., Any]] = {
    "list": list_,
    "train": train,
    "tune": tune,
    "evaluate": evaluate,
    "benchmark": benchmark,
    "enter": enter,
    "check": check,
    "leaderboard": leaderboard,
    "gates": checkout.command("gates"),
    "record": record,
    "figures": checkout.command("figures"),
    "speed": checkout.command("speed"),
    "soak": checkout.command("soak"),
    "live": checkout.command("live"),
    "render": render,
    "simulate": simulate,
    "sweep": sweep,
    "play": play,
    "fit": fit,
    "compile": compile_,
    "import": import_,
}

CAUSED = (
    ValueError,
    TypeError,
    OSError,
    ArithmeticError,
    MemoryError,
    RecursionError,
    ImportError,
    gymnasium.error.Error,
    Unfinished,
)
"""Errors that users can cause by an argument, a file or what their machine lacks; others are ours, and show a trace."""

USAGE = (ValueError, TypeError, gymnasium.error.Error)
"""Those of arguments, of which the exit status is 2; that of the others is 1."""


TRAIN = ("cma", "matplotlib", "optuna", "stable_baselines3", "tensorboard", "torch")
"""Modules that come with the extra ``train``; commands that show or simulate do without them."""

LEARNING = {"train", "tune", "--train-seeds"}
"""What learns in a command line; other pictures and figures need nothing of that extra but matplotlib."""


MEANT = {"timesteps": "steps", "total-timesteps": "steps", "output": "save", "n-envs": "num-envs"}
"""Options of other programs, and what they are called here."""


def _check_names(given: Sequence[str]) -> None:
    """Raise ValueError that says what was meant by a command or an option that other programs have."""
    if not given or given[0].startswith("-"):
        return
    choice("command", given[0], COMMANDS)
    known = {name.replace("_", "-") for name in inspect.signature(COMMANDS[given[0]]).parameters}
    for option in (each.removeprefix("--").partition("=")[0].replace("_", "-") for each in given if each[:2] == "--"):
        if option in MEANT and option not in known and MEANT[option] in known:
            raise ValueError(f"--{option} is not known to {given[0]}; did you mean --{MEANT[option]}?")


class Terminated(KeyboardInterrupt):
    """SIGTERM, which schedulers send; it ends everything as well as Ctrl-C does."""


@contextmanager
def _terminable() -> Iterator[None]:
    received: list[int] = []

    def end(number: int, frame: object) -> None:
        received.append(number)
        raise Terminated

    before = signal.getsignal(signal.SIGTERM)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        if received:  # Ray, while it waits, makes a plain KeyboardInterrupt of it
            raise Terminated from None
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _one_line(error: Exception) -> str:
    """Message of an error, in one line."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if name in TRAIN:
        extra = "data" if name == "matplotlib" and LEARNING.isdisjoint(sys.argv) else "train"
        return f"{name} is not installed: pip install 'gymnosoma[{extra}]'"
    return " ".join(str(error).splitlines()) or type(error).__name__


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] == ["--version"]:
        print(gymnosoma.__version__)
        return
    if sys.argv[1:2] == ["help"]:
        sys.argv[1:] = [*sys.argv[2:3], "--help"]
    for stream in (sys.stdout, sys.stderr):  # a console may lack a bullet or a plus-minus
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's threads cost more than they gain on small networks
    try:
        with _terminable():
            if sys.argv[1:2] and sys.argv[1] in checkout.COMMANDS:  # before its arguments are read
                checkout.room(checkout.COMMANDS[sys.argv[1]])
            _check_names(sys.argv[1:])
            how: dict[str, Any] = {"prog": "gymnosoma", "description": gymnosoma.__doc__, "registry": WORDS}
            tyro.extras.subcommand_cli_from_dict(COMMANDS, **how)
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python can flush it at its end
        sys.exit(1)
    except CAUSED as error:
        end = SystemExit(f"error: {_one_line(error)}")
        print(end, file=sys.stderr)
        end.code = 2 if isinstance(error, USAGE) else 1
        raise end from None
    except KeyboardInterrupt as end:
        sys.exit(128 + (signal.SIGTERM if isinstance(end, Terminated) else signal.SIGINT))
