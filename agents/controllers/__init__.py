"""The animals' own controllers, and which of them are a task's references; a module for each animal.

A task's references stand in the table ``REFERENCES`` of its animal's module here (for a package of your own, of its
module ``controllers``), under the class of the task. Where there are none, the task has none.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gymnosoma.envs.core.env.task import Task
from gymnosoma.envs.core.model.animal import Animal
from gymnosoma.envs.core.model.control import Controller, TaskController


@dataclass(frozen=True)
class Reference:
    """A controller against which learning on a task is measured."""

    make: Callable[..., Controller | TaskController]
    """Makes the controller from the task and, by keyword, those parameters that have ``bounds``."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment that it needs."""
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Parameters of ``make`` that the benchmark searches for the best constants, each with (low, high).

    One reference of a task has them; a task without is not searched.
    """


def drop_task(make: Callable[..., Any], **constants: Any) -> Callable[..., Any]:
    """Maker, for a `Reference`, of a controller that needs nothing of the task, with some of its parameters set."""
    return lambda task, **parameters: make(**constants, **parameters)


References = dict[type[Task], dict[str, Reference]]
"""References by name for each task of an animal: its own first, as ``baseline``, then the best other, of which one
episode's actions are replayed in the benchmark."""


def module_of(task: type) -> Any:
    """Find the module with controllers for a task or an animal, by the package it is in; None without one."""
    package = task.__module__.rpartition(".")[0]
    ours, _, animal = package.rpartition(".")
    name = f"{__name__}.{animal}" if ours == "gymnosoma.envs" else f"{package}.controllers"
    if not package or importlib.util.find_spec(name) is None:
        return None
    return importlib.import_module(name)


def references(task: type[Task]) -> dict[str, Reference]:
    """References of a task by name; empty where it has none."""
    return getattr(module_of(task), "REFERENCES", {}).get(task, {})


def drives(animal: Animal) -> Mapping[str, Callable[..., Controller]]:
    """Makers, from the animal and parameters, of controllers that need no task: the table ``DRIVES`` of its module."""
    return getattr(module_of(type(animal)), "DRIVES", {})


def steering(task: type[Task]) -> Any:
    """Class ``Steering`` with which a person drives a task's animal, None where there is none."""
    modules = map(module_of, task.__mro__[: task.__mro__.index(Task)])
    return next((module.Steering for module in modules if hasattr(module, "Steering")), None)
