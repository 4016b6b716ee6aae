"""Environments of model files, for the command ``train``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from gymnosoma.envs import register_model


def registered(model: Path, joint: str | None, fixed: tuple[str, ...], ranges: str) -> str:
    """Register the environment of a model file and return its id.

    Unsupported parts are left out, and printed.

    Raises:
        ValueError: If the file cannot be read, or the task cannot use it.
    """
    from gymnosoma.biomechanics import READERS, import_model

    source: Any = model
    if model.suffix.lower() in READERS:
        source, report = import_model(model, partial=True)
        for entry in report.refused:
            print(f"left out: {entry}")
    env_id = f"gymnosoma/{re.sub(r'[^A-Za-z0-9]', '', model.stem) or 'Model'}-v0"
    register_model(env_id, source, joint=joint, fixed=fixed, ranges=ranges)
    return env_id
