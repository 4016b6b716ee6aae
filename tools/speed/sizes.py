"""What a larger body costs: time and memory of a step over the number of rods, links, neurons, segments."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gymnosoma.envs.core.model.animal import Animal
from gymnosoma.envs.lamprey import Cord, Lamprey
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.whisker_chain import Whisker, WhiskerParams
from gymnosoma.envs.whisker_rod import WhiskerRod, WhiskerRodParams
from gymnosoma.envs.worm import Worm, WormParams

from .measure import LANES, Row, paired


def _pendulum(links: int) -> dict[str, Any]:
    """Model of a chain of rods that hangs from the ground."""
    body = {
        f"link_{k}": {
            **({"parent": f"link_{k - 1}"} if k else {}),
            "joint": {"type": "revolute", "axis": [0, 0, 1], "at": [0, -0.1 if k else 0.0, 0], "damping": 0.01},
            "inertial": {"mass": 0.1, "centre": [0, -0.05, 0], "inertia": [1e-4, 1e-5, 1e-4]},
        }
        for k in range(links)
    }
    return {"schema": 1, "gravity": [0, -9.81, 0], "body": body}


BODIES: Mapping[str, tuple[str, Sequence[int], Callable[[int], Animal]]] = {
    "worm": ("rods", (13, 25, 50, 100), lambda n: Worm(WormParams(n_rods=n))),
    "lamprey": ("segments of 10 neurons", (40, 100, 200), lambda n: Lamprey(cord=Cord(segments=n))),
    "whisker_chain": ("links", (7, 13, 26, 52), lambda n: Whisker(WhiskerParams.of(n_links=n))),
    "whisker_rod": ("segments", (15, 30, 60, 120), lambda n: WhiskerRod(WhiskerRodParams(n_segments=n))),
    "neuromechanic": ("links", (2, 4, 8, 16), lambda n: Neuromechanic(_pendulum(n))),
}
"""What is counted, how many, and the animal of so many."""


def sizes(animals: Sequence[str], repeats: int) -> list[Row]:
    """Time of a step of an animal in lanes and its memory; ratios to the smallest body's, per piece of the body."""
    rows = []
    for animal in filter(BODIES.__contains__, animals):
        what, counts, make = BODIES[animal]
        made = {count: make(count) for count in counts}
        for each in made.values():
            _step(each, 0.0)  # compile
        times = paired({str(count): partial(_step, each) for count, each in made.items()}, repeats)
        first = counts[0]
        for count, each in made.items():
            part = times[str(count)] / times[str(first)] * first / count
            note = f"{each.state.itemsize:,} bytes a row"
            rows.append(Row.median(f"{animal}, {count} {what}", 1e6 * times[str(count)], "us a step", part, note))
    return rows


def _step(animal: Animal, wall: float = 0.1) -> float:
    """Wall seconds of a time step of one animal of many, at rest."""
    rows, ids = animal.rows(LANES), np.arange(LANES)
    animal.reset(rows, ids)
    drive = np.zeros((LANES, animal.drive_size))
    steps, spent = 0, 0.0
    while steps == 0 or spent < wall:
        begun = time.perf_counter()
        animal.advance(rows, ids, drive, 20)
        spent += time.perf_counter() - begun
        steps += 20 * LANES
    return spent / steps
