"""The ids that can be trained and measured, and what belongs to each: its task, its references."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import gymnosoma
from gymnosoma.envs.core.arguments import choice, one_of
from gymnosoma.envs.core.env.batch import SHARED
from gymnosoma.envs.core.env.task import Task, load_task, task_arguments

from ..controllers import Reference, module_of, references
from .fingerprints import of_sources

ALGORITHMS = ("ppo", "sac", "cma", "supervised")


def all_ids() -> list[str]:
    """Ids that this package can train and measure: the catalogue's, and those registered beside them."""
    return [key for key in gymnasium.registry if key.startswith("gymnosoma/")]


def full_id(name: str) -> str:
    """Complete an id: ``WormSwim-v0`` means ``gymnosoma/WormSwim-v0``.

    Of ``module:id`` the module, which registers the id, is imported first, as Gymnasium does; it may lie in the working
    folder. ValueError if no such environment is registered by this package.
    """
    module, _, own = name.rpartition(":")
    if module:
        own_module(f"id {name!r}", module)
        name = own
    full = name if "/" in name else f"gymnosoma/{name}"
    if full not in all_ids():
        # Compared without what all ids have in common, which would make all of them alike.
        ids = {key.removeprefix("gymnosoma/"): key for key in sorted(all_ids())}
        raise ValueError(one_of("id", full.removeprefix("gymnosoma/"), ids))
    return full


def versions() -> dict[str, str]:
    """Versions of what every result depends on."""
    packages = {"gymnosoma": gymnosoma, "gymnasium": gymnasium, "numpy": np}
    return {name: package.__version__ for name, package in packages.items()}


def task_class(env_id: str) -> type[Task]:
    """Class of an id's task."""
    return load_task(gymnasium.spec(env_id).kwargs["task"])


def references_of(env_id: str) -> dict[str, Reference]:
    """References of an id by name, the animal's own controller first; empty where it has none."""
    return references(task_class(env_id))


def controllers_digest(env_id: str) -> str:
    """Digest of the sources of the references of an id."""
    return of_sources(module_of(task_class(env_id)).__name__, within="gymnosoma.agents")


def searched(env_id: str, name: str) -> Reference:
    """Return the reference of a name; ValueError unless it has parameters to search."""
    own = {key: reference for key, reference in references_of(env_id).items() if reference.bounds}
    if name not in own:
        choices = f"one of {', '.join(own)}, which have parameters to search" if own else "'': no reference has bounds"
        raise ValueError(f"controller must be {choices}, got {name!r}")
    return own[name]


def own_module(what: str, module: str) -> Any:
    """Import a user's module, also from the working folder; ValueError, which names ``what`` asks for it."""
    if not {"", str(Path.cwd())} & {*sys.path}:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return import_module(module)
    except Exception as error:  # the module may do anything
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"{what}: module {module!r} cannot be imported: {cause}") from error


def check_env(env_id: str, env: Mapping[str, Any]) -> None:
    """Raise ValueError, naming the argument, unless an id takes these."""
    for name in env:
        choice("env: argument", name, (*task_arguments(task_class(env_id)), *SHARED))
    try:
        task_of(env_id, **env)
    except Exception as error:  # a file may hold anything
        raise ValueError(f"env: {' '.join(str(error).split())}") from None


def task_of(env_id: str, **env: Any) -> Task:
    """Return the task of an id."""
    envs: Any = gymnasium.make_vec(env_id, num_envs=1, **env)
    return envs.task
