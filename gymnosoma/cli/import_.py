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
    """Convert an OpenSim or MuJoCo model to TOML.

    The report lists the elements that were converted, renamed, ignored and rejected. If the program that the model
    comes from is installed, muscle lengths at random postures are compared with it.

    Args:
        file: OpenSim 4 model (.osim), or MuJoCo model (.xml; requires the package mujoco).
        to: TOML file to write. `Neuromechanic`, `register_model` and all commands can read it.
        partial: Leave out unsupported elements. Without this option they are an error.
    """
    from gymnosoma.biomechanics import import_model, write_toml
    from gymnosoma.biomechanics.self_check import check_lengths
    from gymnosoma.envs.neuromechanic import Neuromechanic, load

    if to is not None:
        if to.suffix != ".toml":
            raise ValueError(f"to must end in .toml, got {str(to)!r}")
        check_writable("to", to)
    description, report = import_model(file, partial)
    model = load(description)
    report.taken += check_lengths(Neuromechanic(model), file) if model.muscles else []
    print(report)
    print(f"{len(model.bodies)} joints, {len(model.followers)} that follow, {len(model.muscles)} muscles")
    if to is not None:
        with result("to", to) as new:
            new.write_text(f"# From {file.name!r}, by gymnosoma import.\n" + write_toml(description), "utf-8")
        print(f"written to {to}")
