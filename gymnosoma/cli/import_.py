"""Command ``import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from gymnosoma.agents.support.files import check_writable, result
from gymnosoma.envs.neuromechanic import load
from gymnosoma.envs.neuromechanic.model import describe
from gymnosoma.envs.neuromechanic.written import written


def import_(
    file: Annotated[Path, tyro.conf.Positional],
    /,
    to: Annotated[Path | None, tyro.conf.arg(aliases=("--save",))] = None,
    partial: bool = False,
) -> None:
    """Read a model of OpenSim or MuJoCo, and tell what was taken, renamed, ignored and refused.

    It is written as a model of ours.

    Args:
        file: Model in OpenSim's format 4 (.osim), or of MuJoCo (.xml, .mjb), which the package mujoco compiles.
        to: TOML file to write, which `Neuromechanic`, `register_model` and all commands read.
        partial: Leave out what is refused; without it, a model with such parts is an error.
    """
    if to is not None:
        if to.suffix != ".toml":
            raise ValueError(f"to must end in .toml, got {str(to)!r}")
        check_writable("to", to)
    description, report = describe(file, partial)
    if report is None:
        raise ValueError(f"FILE must be a model of OpenSim (.osim) or MuJoCo (.xml, .mjb), got {str(file)!r}")
    model = load(description)
    print(report)
    print(f"{len(model.bodies)} joints, {len(model.followers)} that follow, {len(model.muscles)} muscles")
    if to is not None:
        with result("to", to) as new:
            new.write_text(f"# From {file.name}, by gymnosoma import.\n" + written(description), "utf-8")
        print(f"written to {to}")
