"""The command line: ``python train.py COMMAND`` in a checkout, ``gymnosoma COMMAND`` once installed.

A module for each command; the function of its name is what ``tyro`` reads.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

try:
    import rich  # noqa: F401
    import tqdm  # noqa: F401
    import tyro
except ImportError as missing:  # the core installs without the command line
    sys.exit(f"error: {missing.name} is not installed: pip install 'gymnosoma[train]'")

import gymnasium

import gymnosoma

from .benchmark import benchmark
from .evaluate import evaluate
from .figures import figures
from .list import list_
from .play import play
from .render import render
from .speed import speed
from .train import train

COMMANDS: dict[str, Callable[..., Any]] = {
    "list": list_,
    "train": train,
    "evaluate": evaluate,
    "benchmark": benchmark,
    "figures": figures,
    "speed": speed,
    "render": render,
    "play": play,
}


def main() -> None:
    """Run the command line."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's threads cost more than they gain on small networks
    try:
        tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="gymnosoma", description=gymnosoma.__doc__)
    except (ValueError, TypeError, OSError, gymnasium.error.Error) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
