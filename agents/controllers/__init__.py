"""Controllers of the animals, with one module per animal, and the references of the tasks.

The table ``REFERENCES`` of an animal's module lists the references of each task class. Those of the package's animals
are data, see `read_references`. For animals in other packages, the table belongs to the package's module
``controllers``. References are optional.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from gymnosoma.envs.core.arguments import choice
from gymnosoma.envs.core.env.task import Task
from gymnosoma.envs.core.files import read_toml
from gymnosoma.envs.core.model.animal import Animal
from gymnosoma.envs.core.model.control import Controller, Schedule, TaskController

from ..support.schema import read


@dataclass(frozen=True)
class Reference:
    """Controller that serves as a standard of comparison on a task."""

    make: Callable[..., Controller | TaskController]
    """Creates the controller from the task, with the parameters listed in ``bounds`` as keyword arguments."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Required arguments of the environment."""
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Bounds (low, high) of the parameters of ``make`` in the search for the best constants.

    Only references with bounds are searched.
    """
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of ``make`` that differ from its defaults."""


References = dict[type[Task], dict[str, Reference]]
"""References by name for each task of an animal. The first is the animal's own controller, ``baseline``. If there is no
trained policy, the benchmark replays the second."""

Law = Callable[..., Controller | TaskController]
"""Function of the task and parameters that creates a controller."""


@dataclass(frozen=True)
class _Entry:
    """Table of a reference in ``references.toml``: its law, their arguments, and the origin of the parameters."""

    law: str
    about: str = ""
    env: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    bounds: dict[str, list[float]] = field(default_factory=dict)


def read_references(animal: str, tasks: Iterable[type[Task]], laws: Mapping[str, Law]) -> References:
    """Read the references of an animal's tasks from ``assets/<animal>/references.toml``.

    The file has a table ``[Task.name]`` for each reference.

    Raises:
        ValueError: If a table is invalid; names it.
    """
    kinds = {task.__name__: task for task in tasks}
    path = Path(str(resources.files("gymnosoma.assets").joinpath(animal, "references.toml")))
    references: References = {}
    for task, tables in read_toml(path).items():
        choice(f"{path.name}: task", task, kinds)
        for name, table in tables.items():
            entry = read(_Entry, table, f"{path.name}: {task}.{name}")
            choice(f"{path.name}: {task}.{name}: law", entry.law, laws)
            bounds = {key: (low, high) for key, (low, high) in entry.bounds.items()}
            make = partial(laws[entry.law], **entry.parameters)
            references.setdefault(kinds[task], {})[name] = Reference(make, entry.env, bounds, entry.parameters)
    return references


def module_of(task: type) -> Any:
    """Return the module with the controllers of a task or an animal, or None if its package has none."""
    package = task.__module__.rpartition(".")[0]
    ours, _, animal = package.rpartition(".")
    name = f"{__name__}.{animal}" if ours == "gymnosoma.envs" else f"{package}.controllers"
    if not package or importlib.util.find_spec(name) is None:
        return None
    return importlib.import_module(name)


def references(task: type[Task]) -> dict[str, Reference]:
    """Return the references of a task by name; may be empty."""
    return getattr(module_of(task), "REFERENCES", {}).get(task, {})


def drives(animal: Animal) -> Mapping[str, Callable[..., Controller]]:
    """Return the table ``DRIVES`` of an animal's module: constructors of controllers that do not need a task."""
    return getattr(module_of(type(animal)), "DRIVES", {})


def own_drive(animal: Animal) -> Controller:
    """Return the animal's own controller at the paper's parameters, the first of its `drives`.

    The drive is 0 if there is none, or if a circuit drives the muscles and the drive is added to it.
    """
    makers = drives(animal)
    if not makers or animal.drive_names[0].startswith("residual"):
        return Schedule([0.0], np.zeros((1, animal.drive_size)))
    return next(iter(makers.values()))(animal)


def steering(task: type[Task]) -> Any:
    """Return the class ``Steering`` for keyboard control of a task's animal, or None if it has none."""
    modules = map(module_of, task.__mro__[: task.__mro__.index(Task)])
    return next((module.Steering for module in modules if hasattr(module, "Steering")), None)
