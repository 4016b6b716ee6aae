"""Configuration files (``config.json``) of run folders."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from gymnosoma.envs.core.arguments import choice, whole

from ..support.schema import OBJECT, TEXT, Check, held, read_json
from .registry import ALGORITHMS, all_ids, check_env

CONFIG, MAX_CONFIG = "config.json", 2**16
"""Name of the file, and its maximum size in bytes."""

RANGES = {
    "steps": (1, 10**12),
    "num_envs": (1, 2**16),
    "seed": (0, 2**32 - 1),  # NumPy's
    "checkpoint": (1, 10**12),
    "threads": (1, 256),
}
"""Lowest and highest values of the integer settings of a run."""

KEYS: dict[str, Check] = {
    "id": lambda name, value: choice(name, value, all_ids()),
    "algorithm": partial(choice, choices=ALGORITHMS),
    **{
        name: partial(whole, minimum=RANGES[name][0], maximum=RANGES[name][1]) for name in ("steps", "num_envs", "seed")
    },
    "env": OBJECT,
    "settings": OBJECT,
    "fingerprint": TEXT,
    "versions": OBJECT,
}


def read_config(folder: Path) -> dict[str, Any]:
    """Read the configuration of a run folder; raise ValueError, naming file and key, if ``train`` did not write it."""
    config = read_json(folder / CONFIG, MAX_CONFIG, KEYS)
    try:
        check_env(config["id"], config["env"])
    except ValueError as error:
        raise ValueError(f"{str(folder / CONFIG)!r}: {error}") from None
    return config


def check_config(config: dict[str, Any]) -> None:
    """Raise ValueError, naming the key, unless this is a valid configuration of a run."""
    held("run", config, KEYS)
    check_env(config["id"], config["env"])
