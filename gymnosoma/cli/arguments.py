"""Arguments that commands share."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Union, get_args

import numpy as np
import tyro
from numpy.typing import NDArray
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from gymnosoma.agents.policies.fingerprints import of_values
from gymnosoma.agents.support.schema import in_range
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

Saved = Annotated[tuple[tuple[Path, ...], ...], tyro.conf.arg(metavar="FILE ..."), tyro.conf.UseAppendAction]
"""Files that results go to, each by its ending."""

WORDS = ConstructorRegistry()
"""How types are told in help texts."""


@WORDS.primitive_rule
def _or_none(info: PrimitiveTypeInfo) -> Any:
    """``INT or none`` for what may be left out."""
    kinds = get_args(info.type)
    if NoneType not in kinds:
        return None
    kind: Any = Union.__getitem__(tuple(each for each in kinds if each is not NoneType))
    spec = ConstructorRegistry.get_primitive_spec(PrimitiveTypeInfo.make(kind, info.markers))
    if not isinstance(spec, PrimitiveConstructorSpec):
        return spec

    def read(given: list[str]) -> Any:
        return None if [text.lower() for text in given] == ["none"] else spec.instance_from_str(given)

    return replace(
        spec,
        nargs=(1, spec.nargs) if isinstance(spec.nargs, int) and spec.nargs > 1 else spec.nargs,
        metavar=f"{spec.metavar.strip('{}').replace(',', ', ')} or none",
        instance_from_str=read,
        is_instance=lambda value: value is None or spec.is_instance(value),
        str_from_instance=lambda value: ["none"] if value is None else spec.str_from_instance(value),
        choices=spec.choices and (*spec.choices, "none"),
    )


def _read_processes(given: list[str]) -> int:
    in_range("processes", int(given[0]) if given[0].lstrip("-").isdecimal() else given[0], 1, 1024)
    return int(given[0])


Processes = Annotated[
    int,
    PrimitiveConstructorSpec(1, "N", _read_processes, lambda value: isinstance(value, int), lambda value: [str(value)]),
    tyro.conf.arg(help="Pieces of the work that are done at the same time, each in a process of its own."),
]
Ray = Annotated[
    str | None,
    PrimitiveConstructorSpec(
        (0, 1),
        "[ADDRESS]",
        lambda given: given[0] if given else "",
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


def read_options(given: Sequence[str], events: Sequence[str] = ()) -> dict[str, Any]:
    """Options of a reset from ``NAME=VALUE`` each, and from ``TIME:NAME=VALUE`` those of its events.

    A value is a number, or ``@FILE``, a table of numbers with commas.
    """
    options: dict[str, Any] = dict(assignment("option", text, "distance=0.98") for text in given)
    if events:
        options["events"] = [read_event(text) for text in events]
    return options


def read_arguments(given: Sequence[str], params: Sequence[str] = ()) -> dict[str, Any]:
    """Arguments of an environment from ``NAME=VALUE`` each; a value that is JSON is that, another one text.

    ``params`` are fields of its argument of this name, see `read_params_of`.
    """
    arguments: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise ValueError(f"env must be NAME=VALUE, such as actions=residual, got {text!r}")
        try:
            arguments[name] = json.loads(value, parse_constant=_refuse)
        except ValueError:
            arguments[name] = value
    if params:
        if "params" in arguments:
            raise ValueError(f"env must leave params out where param is given, got {arguments['params']!r}")
        arguments["params"] = read_params_of(params)
    return arguments


def read_params_of(given: Sequence[str]) -> dict[str, Any]:
    """Parameters from ``NAME=VALUE`` each, in tables where names have dots; values as JSON, text, or ``@FILE``."""
    result: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise ValueError(f"param must be NAME=VALUE, such as stiffness=1e-10, got {text!r}")
        *tables, last = name.split(".")
        place = result
        for table in tables:
            place = place.setdefault(table, {})
            if not isinstance(place, dict):
                raise ValueError(f"param must not give a value and its parts, got {text!r}")
        place[last] = assignment("param", text, "")[1] if value.startswith("@") else read_arguments([text])[name]
    return result


def folder_part(arguments: Mapping[str, Any]) -> str:
    """Part of a folder's name that arguments of an environment give: themselves, or a digest where they are long."""
    text = "".join(f"-{name}={arguments[name]}" for name in sorted(arguments))
    return text if re.fullmatch(r"[\w.=-]{0,60}", text) else f"-{of_values(arguments)}"


def _refuse(text: str) -> None:
    raise ValueError(f"numbers must be finite, got {text}")


def read_event(text: str) -> Event:
    """Event from ``TIME:NAME=VALUE``."""
    example = "2.0:stiffness=1e-10"
    time, colon, rest = text.partition(":")
    try:
        at = float(time) if colon else -1.0
    except ValueError:
        at = -1.0
    if not 0.0 <= at < math.inf:
        raise ValueError(f"event must be TIME:NAME=VALUE with a time of at least 0 s, such as {example}, got {text!r}")
    return Event(at, dict([assignment("event", rest, example.partition(":")[2])]))


def assignment(what: str, text: str, example: str) -> tuple[str, Any]:
    """Name and value from ``NAME=VALUE``."""
    name, _, value = text.partition("=")
    if name and value.startswith("@"):
        return name, _read_table(f"{what} {name}", value[1:])
    try:
        return name, float(value if name else "")
    except ValueError:
        raise ValueError(
            f"{what} must be NAME=VALUE with a number or @FILE of numbers, such as {example}, got {text!r}"
        ) from None


def _read_table(what: str, path: str) -> NDArray[np.float64]:
    """Numbers of a file with commas: a row or a column as (n,), more as (rows, columns)."""
    try:
        check_file(Path(path))
        with warnings.catch_warnings(action="error"):  # of an empty file
            return np.loadtxt(path, delimiter=",", ndmin=1)
    except (OSError, ValueError, UserWarning) as error:
        raise ValueError(f"{what}: file {path!r} cannot be read as numbers with commas: {error}") from None
