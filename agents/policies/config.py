"""Reads and checks the ``config.json`` of run folders."""

from __future__ import annotations

import json
import reprlib
from functools import partial
from pathlib import Path
from typing import Any

from gymnosoma.envs.core.arguments import choice

from ..support.schema import Check, in_range, read, typed
from .registry import ALGORITHMS, all_ids, check_env


def read_config(folder: Path) -> dict[str, Any]:
    """Configuration of a run folder; ValueError, naming file and key, if it is not what ``train`` writes."""
    file = folder / "config.json"
    try:
        if file.stat().st_size > MAX_CONFIG:
            raise ValueError(f"it must have at most {MAX_CONFIG} bytes, got {file.stat().st_size}")
        config = json.loads(file.read_text("utf-8"))
        check_config(config)
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"run folder {str(folder)!r} has no usable config.json: {error}") from None
    return config


MAX_CONFIG = 2**16
"""Bytes of a ``config.json``."""

RANGES = {
    "steps": (1, 10**12),
    "num_envs": (1, 2**16),
    "seed": (0, 2**32 - 1),  # NumPy's
    "checkpoint": (1, 10**12),
    "threads": (1, 256),
}
"""Lowest and highest value of the whole numbers that a run is given."""


def _check_settings(name: str, settings: Any) -> None:
    _TABLE(name, settings)
    for key, value in settings.items():
        items = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [value]
        if not all(isinstance(item, int | float | str) for item in items):
            raise ValueError(f"{name}: {key!r} must be a number, a word or some of them, got {reprlib.repr(value)}")


def _check_versions(name: str, versions: Any) -> None:
    _TABLE(name, versions)
    for key, value in versions.items():
        _TEXT(f"{name}: {key!r}", value)


def _check_range(name: str, value: Any) -> None:
    in_range(name, value, *RANGES[name])


_TEXT, _TABLE = partial(typed, kind=str, words="be a string"), partial(typed, kind=dict, words="map names to values")

CONFIG: dict[str, Check] = {
    **dict.fromkeys(("id", "algorithm"), _TEXT),
    **dict.fromkeys(("steps", "num_envs"), _check_range),
    "imitate": _TEXT,
    "seed": _check_range,
    "env": _TABLE,
    "fingerprint": _TEXT,
    "settings": _check_settings,
    "versions": _check_versions,
}
"""Keys of a ``config.json``."""


def check_config(config: Any) -> None:
    """Raise ValueError, naming the key, unless this may stand in a ``config.json``."""
    if not isinstance(config, dict):
        raise ValueError(f"it must hold {', '.join(CONFIG)}, got {reprlib.repr(config)}")
    for key in config:
        choice("key", key, CONFIG)
    read({"fingerprint": "", **config}, CONFIG, "{key!r} is missing")  # of runs that are played, not resumed
    choice("id", config["id"], all_ids())
    choice("algorithm", config["algorithm"], ALGORITHMS)
    check_env(config["id"], config["env"])
