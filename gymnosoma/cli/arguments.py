"""Arguments shared by several commands, and their parsers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from numpy.typing import NDArray

from gymnosoma.agents.policies.fingerprints import values_digest
from gymnosoma.envs import Event
from gymnosoma.envs.core.arguments import whole
from gymnosoma.envs.core.env.environment import LARGEST_FRAME, SMALLEST_FRAME
from gymnosoma.envs.core.files import read_table
from gymnosoma.envs.core.kinds import advice

Id = Annotated[
    str,
    tyro.conf.arg(
        metavar="ID",
        help="Environment, such as WormSwim-v0 (see `list`); module:ID for an environment that a module registers; or "
        "the run folder of a model.",
    ),
    tyro.conf.Positional,
]
Options = Annotated[
    tuple[str, ...],
    tyro.conf.arg(
        metavar="NAME=VALUE",
        help="Reset option or physical parameter (SI): a number, or @FILE.csv with numbers. May be repeated.",
    ),
    tyro.conf.UseAppendAction,
]
Events = Annotated[
    tuple[str, ...],
    tyro.conf.arg(
        metavar="TIME:NAME=VALUE",
        help="Change a physical parameter at TIME (s), such as 2.0:stiffness=1e-10. May be repeated.",
    ),
    tyro.conf.UseAppendAction,
]

Arguments = Annotated[
    tuple[str, ...],
    tyro.conf.arg(metavar="NAME=VALUE", help="Argument of the environment. May be repeated."),
    tyro.conf.UseAppendAction,
]

Params = Annotated[
    tuple[str, ...],
    tyro.conf.arg(metavar="NAME=VALUE", help="Field of the animal's parameters; @FILE.csv for a table. Repeatable."),
    tyro.conf.UseAppendAction,
]

Outputs = Annotated[tuple[tuple[Path, ...], ...], tyro.conf.arg(metavar="FILE ..."), tyro.conf.UseAppendAction]
"""Output files; the suffix selects the format."""

Processes = Annotated[int, tyro.conf.arg(help="Number of processes on this machine that share the work.")]

Ray = Annotated[
    str | None,
    tyro.conf.arg(
        metavar="ADDRESS",
        help="Ray cluster that shares the work, such as 10.0.0.1:6379, or auto for the cluster of this machine.",
    ),
]


def read_size(size: str) -> tuple[int, int]:
    """Parse ``WIDTHxHEIGHT`` into width and height in pixels."""
    width, _, height = size.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise ValueError(f"size must be WIDTHxHEIGHT in pixels, such as 960x540, got {size!r}")
    for name, text in (("width", width), ("height", height)):
        whole(f"size: {name}", int(text), SMALLEST_FRAME, LARGEST_FRAME)
    return int(width), int(height)


def read_options(texts: Sequence[str], events: Sequence[str] = ()) -> dict[str, Any]:
    """Parse reset options from ``NAME=VALUE`` texts, and their ``events`` from ``TIME:NAME=VALUE`` texts."""
    options: dict[str, Any] = dict(assignment("option", text) for text in texts)
    if events:
        options["events"] = [read_event(text) for text in events]
    return options


def read_arguments(texts: Sequence[str], params: Sequence[str] = ()) -> dict[str, Any]:
    """Parse arguments of an environment from ``NAME=VALUE`` texts, with values in JSON or plain text.

    ``params`` lists the fields of the argument ``params``, see `read_params_of`.
    """
    arguments = {name: _json(value) for name, value in (_split("env", text) for text in texts)}
    if params:
        if "params" in arguments:
            raise ValueError(f"env must not set params together with --param, got {arguments['params']!r}")
        arguments["params"] = read_params_of(params)
    return arguments


def read_params_of(texts: Sequence[str]) -> dict[str, Any]:
    """Parse parameters from ``NAME=VALUE`` texts, with values in JSON, plain text or ``@FILE``.

    Dots in a name separate the keys of nested tables.
    """
    params: dict[str, Any] = {}
    for text in texts:
        name, value = _split("param", text)
        *tables, last = name.split(".")
        place = params
        for table in tables:
            place = place.setdefault(table, {})
            if not isinstance(place, dict):
                raise ValueError(f"param must not set both a name and a part of it, got {text!r}")
        place[last] = _read_table(f"param {name}", value[1:]) if value.startswith("@") else _json(value)
    return params


def folder_part(arguments: Mapping[str, Any]) -> str:
    """Return the suffix of a folder name for arguments of an environment, or a digest if it would be too long."""
    text = "".join(f"-{name}={arguments[name]}" for name in sorted(arguments))
    return text if re.fullmatch(r"[\w.=-]{0,60}", text) else f"-{values_digest(arguments)}"


def read_event(text: str) -> Event:
    """Parse an event from ``TIME:NAME=VALUE``."""
    time, _, rest = text.partition(":")
    try:
        return Event(float(time), dict([assignment("event", rest)]))
    except ValueError as error:
        raise ValueError(f"event must be TIME:NAME=VALUE, such as 2.0:stiffness=1e-10, got {text!r}: {error}") from None


def assignment(what: str, text: str) -> tuple[str, Any]:
    """Parse ``NAME=VALUE``, where the value is a number or ``@FILE`` with comma-separated numbers."""
    name, value = _split(what, text)
    if value.startswith("@"):
        return name, _read_table(f"{what} {name}", value[1:])
    try:
        return name, float(value)
    except ValueError:
        raise ValueError(f"{what} {name} must be a number or @FILE of numbers, got {text!r}") from None


def _split(what: str, text: str) -> tuple[str, str]:
    """Split ``NAME=VALUE`` into its two texts."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ValueError(f"{what} must be NAME=VALUE, got {text!r}")
    return name, value


def _json(text: str) -> Any:
    """Parse JSON with finite numbers, or return the text unchanged if it is not valid."""

    def refuse(constant: str) -> None:
        raise ValueError

    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError:
        return text


def _read_table(what: str, path: str) -> NDArray[np.float64]:
    """Read comma-separated numbers: a single row or column as (n,), a table as (rows, columns)."""
    try:
        table = read_table(Path(path))
        return table.ravel() if 1 in table.shape else table
    except (OSError, ValueError) as error:
        reason = advice(path, "drive", "base") or error
        raise ValueError(f"{what}: file {path!r} cannot be read as comma-separated numbers: {reason}") from None
