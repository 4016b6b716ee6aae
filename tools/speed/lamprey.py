"""Speed of the lamprey, with and without its cord."""

from __future__ import annotations

from functools import partial

import numpy as np

from gymnosoma.agents.controllers.lamprey import TravellingWave
from gymnosoma.envs.lamprey import Lamprey

from .measure import Case, Row
from .measure import simulations as measure

ENVIRONMENTS = ("LampreyEscape-v0", "LampreyWaypoints-v0")
"""Those that are timed: the first has no cord, the second one has."""


def simulations(repeats: int, seconds: float) -> list[Row]:
    """Simulated seconds per wall second, alone and in lanes."""
    return measure(_cases(), repeats)


def _cases() -> list[Case]:
    wave = TravellingWave()
    cases = []
    for scheme in ("published", "implicit"):
        cord, body = partial(Lamprey, scheme=scheme), partial(Lamprey, drive="muscle", scheme=scheme)
        cases += [
            Case(
                f"{scheme}, with the cord",
                cord,
                lambda t: (0.4, 0.0, 0.7),
                0.05,
                5.0,
                lambda count: {"kick": np.linspace(0.1, 0.05, count)},
            ),
            Case(
                f"{scheme}, body alone",
                body,
                lambda t: wave.drive(np.array([t + 0.01]), {}, np.zeros(1, np.bool_))[0],
                0.02,
                5.0,
                lambda count: {"heading": np.linspace(0.0, 1.0, count)},
            ),
        ]
    return cases
