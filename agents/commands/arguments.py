"""Arguments that commands share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import tyro

Id = Annotated[
    str, tyro.conf.arg(metavar="ID", help="An environment, such as WormSwim-v0; see `list`."), tyro.conf.Positional
]
Options = Annotated[
    tuple[str, ...],
    tyro.conf.arg(metavar="NAME=VALUE", help="Reset option or physical parameter in SI, a number; may be repeated."),
    tyro.conf.UseAppendAction,
]

Arguments = Annotated[
    tuple[str, ...],
    tyro.conf.arg(metavar="NAME=VALUE", help="Argument of the environment; may be repeated."),
    tyro.conf.UseAppendAction,
]


def read_size(size: str) -> tuple[int, int]:
    """Width and height in pixels from ``WIDTHxHEIGHT``."""
    width, _, height = size.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise ValueError(f"size must be WIDTHxHEIGHT in pixels, such as 960x540, got {size!r}")
    return int(width), int(height)


def read_options(given: Sequence[str]) -> dict[str, float]:
    """Options from ``NAME=VALUE`` each."""
    options: dict[str, float] = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            options[name] = float(value)
        except ValueError:
            name = ""
        if not name:
            raise ValueError(f"option must be NAME=VALUE with a number, such as distance=0.98, got {text!r}")
    return options


def read_arguments(given: Sequence[str]) -> dict[str, Any]:
    """Arguments of an environment from ``NAME=VALUE`` each; a value that is JSON is that, another one text."""
    arguments: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise ValueError(f"env must be NAME=VALUE, such as actions=residual, got {text!r}")
        try:
            arguments[name] = json.loads(value, parse_constant=_refuse)
        except ValueError:
            arguments[name] = value
    return arguments


def _refuse(text: str) -> None:
    raise ValueError(f"numbers must be finite, got {text}")
