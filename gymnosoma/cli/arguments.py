"""Arguments that commands share."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from numpy.typing import NDArray
from tyro.constructors import PrimitiveConstructorSpec

from gymnosoma.agents.policies.fingerprints import of_values
from gymnosoma.envs import Event
from gymnosoma.envs.core.files import check_file

Id = Annotated[
    str,
    tyro.conf.arg(
        metavar="ID",
        help="An environment, such as WormSwim-v0, see `list`; or module:ID of one's own, which the module registers.",
    ),
    tyro.conf.Positional,
]
Options = Annotated[
    tuple[str, ...],
    tyro.conf.arg(
        metavar="NAME=VALUE",
        help="Reset option or physical parameter in SI, a number, or @FILE.csv of them; may be repeated.",
    ),
    tyro.conf.UseAppendAction,
]
Events = Annotated[
    tuple[str, ...],
    tyro.conf.arg(
        metavar="TIME:NAME=VALUE",
        help="Physical parameter that changes after so many seconds, as in 2.0:stiffness=1e-10; may be repeated.",
    ),
    tyro.conf.UseAppendAction,
]

Arguments = Annotated[
    tuple[str, ...],
    tyro.conf.arg(metavar="NAME=VALUE", help="Argument of the environment; may be repeated."),
    tyro.conf.UseAppendAction,
]

Params = Annotated[
    tuple[str, ...],
    tyro.conf.arg(metavar="NAME=VALUE", help="Field of the animal's parameters, or @FILE.csv; may be repeated."),
    tyro.conf.UseAppendAction,
]

Outputs = Annotated[tuple[tuple[Path, ...], ...], tyro.conf.arg(metavar="FILE ..."), tyro.conf.UseAppendAction]
"""Files that results go to, each by its ending."""

Processes = Annotated[int, tyro.conf.arg(help="Pieces of the work done at the same time, each in its own process.")]
Ray = Annotated[
    str | None,
    PrimitiveConstructorSpec(
        (0, 1),
        "[ADDRESS]",
        lambda texts: texts[0] if texts else "",
        lambda value: value is None or isinstance(value, str),
        lambda value: [] if value is None else [value],
    ),
    tyro.conf.arg(help="Instead, on a Ray cluster: its address, or the one that runs here, or this machine's cores."),
]


def read_size(size: str) -> tuple[int, int]:
    """Width and height in pixels from ``WIDTHxHEIGHT``."""
    width, _, height = size.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise ValueError(f"size must be WIDTHxHEIGHT in pixels, such as 960x540, got {size!r}")
    return int(width), int(height)


def read_options(texts: Sequence[str], events: Sequence[str] = ()) -> dict[str, Any]:
    """Options of a reset from ``NAME=VALUE`` each, and from ``TIME:NAME=VALUE`` those of its events."""
    options: dict[str, Any] = dict(assignment("option", text) for text in texts)
    if events:
        options["events"] = [read_event(text) for text in events]
    return options


def read_arguments(texts: Sequence[str], params: Sequence[str] = ()) -> dict[str, Any]:
    """Arguments of an environment from ``NAME=VALUE`` each; values are JSON or text.

    ``params`` are fields of its argument of this name, see `read_params_of`.
    """
    arguments = {name: _json(value) for name, value in (_split("env", text) for text in texts)}
    if params:
        if "params" in arguments:
            raise ValueError(f"env must leave params out where param is given, got {arguments['params']!r}")
        arguments["params"] = read_params_of(params)
    return arguments


def read_params_of(texts: Sequence[str]) -> dict[str, Any]:
    """Parameters from ``NAME=VALUE`` each, in tables where names have dots; values as JSON, text, or ``@FILE``."""
    params: dict[str, Any] = {}
    for text in texts:
        name, value = _split("param", text)
        *tables, last = name.split(".")
        place = params
        for table in tables:
            place = place.setdefault(table, {})
            if not isinstance(place, dict):
                raise ValueError(f"param must not give a value and its parts, got {text!r}")
        place[last] = _read_table(f"param {name}", value[1:]) if value.startswith("@") else _json(value)
    return params


def folder_part(arguments: Mapping[str, Any]) -> str:
    """Part of a folder's name for arguments of an environment: the arguments, or a digest if they are long."""
    text = "".join(f"-{name}={arguments[name]}" for name in sorted(arguments))
    return text if re.fullmatch(r"[\w.=-]{0,60}", text) else f"-{of_values(arguments)}"


def read_event(text: str) -> Event:
    """Event from ``TIME:NAME=VALUE``."""
    time, _, rest = text.partition(":")
    try:
        return Event(float(time), dict([assignment("event", rest)]))
    except ValueError as error:
        raise ValueError(f"event must be TIME:NAME=VALUE, such as 2.0:stiffness=1e-10, got {text!r}: {error}") from None


def assignment(what: str, text: str) -> tuple[str, Any]:
    """Name and value from ``NAME=VALUE``, where the value is a number or ``@FILE``, a table of numbers with commas."""
    name, value = _split(what, text)
    if value.startswith("@"):
        return name, _read_table(f"{what} {name}", value[1:])
    try:
        return name, float(value)
    except ValueError:
        raise ValueError(f"{what} {name} must be a number or @FILE of numbers, got {text!r}") from None


def _split(what: str, text: str) -> tuple[str, str]:
    """Name and text of the value from ``NAME=VALUE``."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ValueError(f"{what} must be NAME=VALUE, got {text!r}")
    return name, value


def _json(text: str) -> Any:
    """A value in JSON with finite numbers, or else the text."""

    def refuse(constant: str) -> None:
        raise ValueError

    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError:
        return text


def _read_table(what: str, path: str) -> NDArray[np.float64]:
    """Numbers of a file with commas: a row or a column as (n,), more as (rows, columns)."""
    try:
        check_file(Path(path))
        with warnings.catch_warnings(action="error"):  # of an empty file
            return np.loadtxt(path, delimiter=",", ndmin=1)
    except (OSError, ValueError, UserWarning) as error:
        raise ValueError(f"{what}: file {path!r} cannot be read as numbers with commas: {error}") from None
