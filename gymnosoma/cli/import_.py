"""Command ``import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from gymnosoma.agents.support.files import check_writable, result


def import_(
    file: Annotated[Path, tyro.conf.Positional],
    /,
    to: Annotated[Path | None, tyro.conf.arg(aliases=("--save",))] = None,
    partial: bool = False,
) -> None:
    """Convert a model of OpenSim or MuJoCo to TOML, and report what was taken, renamed, ignored and refused.

    Args:
        file: Model in OpenSim's format 4 (.osim), or of MuJoCo (.xml, .mjb), which the package mujoco compiles.
        to: TOML file to write, which `Neuromechanic`, `register_model` and all commands read.
        partial: Leave out what is refused; without it, a model with such parts is an error.
    """
    from gymnosoma.biomechanics import import_model, write_toml
    from gymnosoma.envs.neuromechanic import load

    if to is not None:
        if to.suffix != ".toml":
            raise ValueError(f"to must end in .toml, got {str(to)!r}")
        check_writable("to", to)
    description, report = import_model(file, partial)
    model = load(description)
    print(report)
    print(f"{len(model.bodies)} joints, {len(model.followers)} that follow, {len(model.muscles)} muscles")
    if to is not None:
        with result("to", to) as new:
            new.write_text(f"# From {file.name}, by gymnosoma import.\n" + write_toml(description), "utf-8")
        print(f"written to {to}")
