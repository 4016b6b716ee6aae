"""Environment ids that can be trained and measured, with their tasks and references."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium

from gymnosoma.envs.core.arguments import choice, one_of, printable
from gymnosoma.envs.core.env.environment import SHARED
from gymnosoma.envs.core.env.task import Task, load_task, task_arguments
from gymnosoma.envs.core.kinds import hint
from gymnosoma.envs.wrappers import make_vec

from ..controllers import Reference, references
from .fingerprints import files_digest
from .models import saved_id


@dataclass(frozen=True)
class Algorithm:
    """Learning algorithm.

    Args:
        module: Module of `agents.learning` with the function ``learn``.
        libraries: Libraries that it imports.
        checkpoint: Name of the checkpoint file.
        seconds: CPU time of learning for each step, with the settings of the recipes, s.
    """

    module: str
    libraries: tuple[str, ...]
    checkpoint: str
    seconds: float


ALGORITHMS = {
    "ppo": Algorithm("reinforcement", ("torch", "stable_baselines3"), "checkpoint.zip", 50e-6),
    "sac": Algorithm("reinforcement", ("torch", "stable_baselines3"), "checkpoint.zip", 3e-3),
    "cma": Algorithm("evolution", ("cma",), "checkpoint.json", 5e-6),
    "supervised": Algorithm("supervision", ("torch",), "checkpoint.json", 1e-3),
}


def all_ids() -> list[str]:
    """Return all ids that this package can train and measure, including ids registered by users."""
    return [key for key in gymnasium.registry if key.startswith("gymnosoma/")]


def full_id(name: str) -> str:
    """Complete an environment id, such as ``WormSwim-v0`` to ``gymnosoma/WormSwim-v0``.

    For ``module:id``, the module is imported first to register the id, also from the working folder. A run folder of a
    model registers the model's environment. Raises ValueError if the id is not registered in the namespace
    ``gymnosoma``.
    """
    if own_id := saved_id(Path(name)):
        return own_id
    module, _, own = name.rpartition(":")
    if module:
        own_module(f"id {name!r}", module)
        name = own
    full = name if "/" in name else f"gymnosoma/{name}"
    if full not in all_ids():
        # The common prefix would make all ids similar, so suggestions are searched without it.
        ids = {key.removeprefix("gymnosoma/"): key for key in sorted(all_ids())}
        raise ValueError(one_of("id", full.removeprefix("gymnosoma/"), ids) + hint(name))
    return full


def versions(*libraries: str) -> dict[str, str]:
    """Return the versions of the packages that affect every result, and of some libraries."""
    names = ("gymnosoma", "gymnasium", "numpy", *libraries)
    return {name: import_module(name).__version__ for name in names}


def task_class(env_id: str) -> type[Task]:
    """Return the task class of an environment."""
    return load_task(gymnasium.spec(env_id).kwargs["task"])


def references_of(env_id: str) -> dict[str, Reference]:
    """Return the references of an environment by name, with the animal's own controller first; may be empty."""
    return references(task_class(env_id))


def source_digest(module: Any, definition: Any) -> str:
    """Return a digest of the files of a user's module and of the module that defines one of its functions."""
    modules = [module, sys.modules.get(getattr(definition, "__module__", ""), module)]
    return files_digest(*(Path(file) for file in dict.fromkeys(each.__file__ for each in modules)))


def searched(env_id: str, name: str) -> Reference:
    """Return a reference by name; raise ValueError unless it has bounded parameters."""
    own = {key: reference for key, reference in references_of(env_id).items() if reference.bounds}
    if name not in own:
        choices = f"one of {', '.join(own)}, which have parameters to search" if own else "'': no reference has bounds"
        raise ValueError(f"controller must be {choices}, got {name!r}")
    return own[name]


def own_module(what: str, module: str) -> Any:
    """Import a user's module, also from the working folder; raise ValueError, starting with ``what``, if it fails."""
    if not {"", str(Path.cwd())} & {*sys.path}:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return import_module(module)
    except Exception as error:  # user code can raise any error
        cause = printable(f"{type(error).__name__}: {error}")
        raise ValueError(f"{what}: module {module!r} cannot be imported: {cause}") from error


def check_env(env_id: str, env: Mapping[str, Any]) -> None:
    """Raise ValueError, naming the argument, unless the environment accepts these arguments."""
    check_names(env_id, env)
    try:
        task_of(env_id, **env)
    except Exception as error:  # the arguments may come from an untrusted file
        raise ValueError(f"env: {printable(error)}") from None


def check_names(env_id: str, env: Mapping[str, Any], what: str = "env: argument") -> None:
    """Raise ValueError unless all names are arguments of the task or of all environments.

    Every file's arguments pass this check, because others, such as ``task``, would be imported and called. Names of
    wrappers are only looked up in a table.
    """
    for name in env:
        choice(what, name, (*task_arguments(task_class(env_id)), *SHARED, "wrappers"))


def task_of(env_id: str, **env: Any) -> Task:
    """Create an environment and return its task."""
    envs: Any = make_vec(env_id, num_envs=1, **env)
    return envs.task
