"""Command ``speed``."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from gymnosoma.agents.support.files import check_writable
from gymnosoma.envs.core.model.animal import ANIMALS

if TYPE_CHECKING:
    from .measure import Row

PARTS = ("simulations", "environments", "circuits", "threads", "sizes", "first")


def speed(
    animal: tuple[str, ...] = tuple(ANIMALS),
    part: tuple[str, ...] = PARTS[:2],
    seconds: float = 10.0,
    repeats: int = 5,
    json_file: Annotated[Path | None, tyro.conf.arg(aliases=("--save",))] = None,
) -> None:
    """Measure the speed on one core: alone, in lanes, and of installed peers (ElegansBot, MuJoCo, OpenSim, PyElastica).

    Args:
        animal: Which.
        part: simulations and environments against their peers, and `simulate` against the bare kernel; circuits as
            data against what is built in; two threads against one; bodies of other sizes, for each piece of the body;
            the first use, in what it takes to import numba and gymnasium.
        seconds: Simulated time after which the worm's errors are compared.
        repeats: Times that everything is measured, in turn; medians are shown.
        json_file: Also write the figures there, with what was measured on.
    """
    from dataclasses import asdict

    from gymnosoma.agents.support.progress import progress_bar
    from gymnosoma.envs.core.arguments import choice
    from gymnosoma.envs.core.files import replacing

    from . import environments
    from .circuits import circuits
    from .first import first
    from .measure import machine, report
    from .simulate import overheads
    from .sizes import sizes
    from .threads import threads

    for name in animal:
        choice("animal", name, ANIMALS)
    for name in part:
        choice("part", name, PARTS)
    if not seconds > 0 or repeats < 1:
        raise ValueError(f"seconds must be greater than 0 and repeats at least 1, got {seconds!r} and {repeats!r}")
    parts: dict[str, Callable[[], list[Row]]] = {}
    if "simulations" in part:
        for name in animal:
            module = f"tools.speed.{name}"
            if importlib.util.find_spec(module) is not None:
                parts[f"Simulation: {name}"] = partial(importlib.import_module(module).simulations, repeats, seconds)
        parts["`simulate` over the kernel"] = partial(overheads, animal, repeats)
    if "environments" in part:
        parts["Environments: steps a second"] = partial(environments.environments, animal, repeats)
        if "worm" in animal:
            parts["Environments: time of a call"] = partial(environments.overhead, repeats)
    if "circuits" in part:
        parts["Circuits as data: CPU time of a step and row"] = partial(circuits, repeats)
    if "threads" in part:
        parts["Two threads against one"] = partial(threads, animal, repeats)
    if "sizes" in part:
        parts["Bodies of other sizes: time of a step, for each piece of the body"] = partial(sizes, animal, repeats)
    if "first" in part:
        parts["First use"] = partial(first, animal, repeats)
    if json_file is not None:
        check_writable("json_file", json_file)
    about = machine()
    figures: dict[str, list[dict[str, Any]]] = {}
    for title, measure in progress_bar(parts.items(), leave=False):
        rows = measure()
        report(rows, title)
        figures[title] = [asdict(row) for row in rows]
        if json_file is not None:  # after each part: all of them take minutes
            with replacing(json_file) as file:
                file.write((json.dumps({"machine": about, "figures": figures}, indent=2) + "\n").encode())
    print(", ".join(f"{name} {value}" for name, value in about.items()))
