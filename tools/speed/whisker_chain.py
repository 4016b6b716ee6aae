"""Speed of the vibrissa; its peer, trep, is quoted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from gymnosoma.envs.whisker_chain import Whisker, WhiskerParams, follow

from .measure import PACE, Case, Row
from .measure import simulations as measure

TREP = 0.14, 0.25
"""Simulated seconds per wall second of trep on the vibrissa: 705 to 404 us for the same step of 0.1 ms.

Measured once, when the model was settled, to be quoted.
"""


def simulations(repeats: int, seconds: float) -> list[Row]:
    """Simulated seconds per wall second, alone and in lanes."""
    quoted = Row("trep", TREP[1], PACE, None, f"quoted, not measured: {TREP[0]:g} to {TREP[1]:g}")
    return [*measure(_cases(), repeats), quoted]


def _cases() -> list[Case]:
    hold, params = 4e-3, WhiskerParams()
    scenes: dict[str, tuple[Callable[[float], float], dict[str, Any]]] = {
        "free, 20 deg at 8 Hz": (lambda t: -np.deg2rad(10.0) * np.cos(16.0 * np.pi * t), {}),
        "3 deg against a peg at 40%": (
            lambda t: np.deg2rad(1.5) * (1.0 - np.cos(16.0 * np.pi * t)),
            {"peg": [[0.4 * params.length, 1e-9]]},
        ),
    }
    cases = []
    for what, (angle, scene) in scenes.items():
        drive, start = follow(hold, angle)
        values = partial(_stiffened, {**start, **scene}, params.joint_stiffness[1])
        cases.append(Case(what, Whisker, drive, hold, 0.25, values))
    return cases


def _stiffened(start: dict[str, Any], stiffness: float, count: int) -> dict[str, Any]:
    return start | {"stiffness": stiffness * np.linspace(1.0, 1.1, count)}
