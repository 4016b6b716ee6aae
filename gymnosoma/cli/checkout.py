"""What only a checkout has: the rooms `papers` and `tools`, which the command line finds by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

COMMANDS = {
    "figures": "papers.command",
    "speed": "tools.speed.command",
    "soak": "tools.soak.command",
    "live": "tools.live.command",
    "gates": "tools.gates",
}
"""Commands of a checkout, with their modules below ``gymnosoma``."""


def room(module: str) -> ModuleType:
    """Import a module of a room that is not installed.

    Args:
        module: Below ``gymnosoma``, such as ``"tools.publish"``.

    Raises:
        ValueError: If this is no checkout.
    """
    folder = module.partition(".")[0]
    if find_spec(folder) is None:
        raise ValueError(
            f"this needs the folder {folder}/ of the repository, which is not part of the installed package: "
            "use `python train.py` in a checkout, or in the unpacked sdist"
        )
    return import_module(module)


def command(name: str) -> Callable[..., Any]:
    """The command ``name`` of `COMMANDS`; where there is no such room, one that says where it is."""
    if find_spec(COMMANDS[name].partition(".")[0]) is not None:
        return getattr(room(COMMANDS[name]), name)

    def missing() -> None:
        room(COMMANDS[name])

    missing.__doc__ = f"Not part of the installed package: `python train.py {name}` in a checkout does this."
    return missing
