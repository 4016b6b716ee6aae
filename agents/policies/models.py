"""Environments of models that a user has trained: ``environment.json`` of a run folder has all that they need."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from gymnosoma.envs import CATALOGUE, register_model
from gymnosoma.envs.core.arguments import choice, shown
from gymnosoma.envs.core.files import LARGEST_SETTINGS

from ..support.files import replacing
from ..support.schema import plain, read_json

ENVIRONMENT = "environment.json"
"""Name of the file."""


def _free_id(name: str, value: Any) -> None:
    """Raise ValueError unless ``value`` is an id of the namespace ``gymnosoma`` that no environment of ours has."""
    if not isinstance(value, str) or not value.startswith("gymnosoma/") or not value.isprintable():
        raise ValueError(f"{name} must start with gymnosoma/, got {shown(value)}")
    if value.partition("/")[2] in {entry.name for entry in CATALOGUE}:
        raise ValueError(f"{name} must not be an environment of this package, got {shown(value)}; rename the file")


@dataclass(frozen=True)
class ModelEnv:
    """Arguments of `register_model` for a model that is trained from a file.

    Args:
        model: Description of the model.
        goal: Position, or range of two positions, rad or m; None for the middle half of the joint's range.
    """

    env_id: Annotated[str, _free_id]
    model: dict[str, Any]
    joint: str
    goal: Any = None
    fixed: list[str] = field(default_factory=list)
    ranges: Annotated[str, partial(choice, choices=("end", "limit", "ignore"))] = "end"

    def register(self) -> str:
        """Register the environment and return its id."""
        _free_id("id", self.env_id)
        register_model(**vars(self))
        return self.env_id

    def save(self, folder: Path) -> None:
        """Write ``environment.json`` into a run folder."""
        with replacing(folder / ENVIRONMENT) as file:
            file.write(json.dumps(plain(self), allow_nan=False).encode())


def saved_id(folder: Path) -> str | None:
    """Register the environment of a run folder and return its id; None if the folder has no ``environment.json``."""
    path = folder / ENVIRONMENT
    return read_json(ModelEnv, path, LARGEST_SETTINGS).register() if path.is_file() else None
