"""What circuits as data cost: the cord as data against the built-in one, cut, and in the body; the worm's circuit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from gymnosoma.envs.core.model.animal import Animal
from gymnosoma.envs.lamprey import IsolatedCord, Lamprey
from gymnosoma.envs.worm import Worm

from .measure import LANES, Row, paired

Variant = tuple[Animal, Mapping[str, Any]]
"""An animal, and the start of its rows."""


def circuits(repeats: int) -> list[Row]:
    """CPU time of a step and row; ratios to the first of each group, by its time over theirs, pair by pair."""
    own, data = IsolatedCord(), IsolatedCord(circuit="cord")
    halves, apart = np.zeros((2, 2, 99))
    halves[0, 49] = apart[:, 49] = 1.0
    isolated: dict[str, Variant] = {
        "built-in": (own, {}),
        "as data": (data, {}),
        "as data, hemisected": (data, {"cut": halves}),
        "built-in, transected": (own, {"transection": 50}),
        "as data, transected": (data, {"cut": apart}),
    }
    groups: list[tuple[str, Mapping[str, Variant], list[float], tuple[int, ...]]] = [
        ("isolated cord", isolated, [0.4, 0.0, 0.7, *np.zeros(9)], (1, 100)),
        (
            "lamprey, cord",
            {"built-in": (Lamprey(), {}), "as data": (Lamprey(circuit="cord"), {})},
            [0.4, 0, 0.7],
            (100,),
        ),
        ("worm", {"no neurons": (Worm(), {}), "`ahead`": (Worm(circuit="ahead"), {})}, [0.0] * 24, (100,)),
    ]
    rows = []
    for what, variants, drive, calls in groups:
        for count in (1, LANES):
            for steps in calls:
                jobs = {name: partial(_step, *variant, drive, count, steps) for name, variant in variants.items()}
                for job in jobs.values():
                    job(0.0)  # compile
                found = paired(jobs, repeats)
                for name, spent in found.items():
                    label = f"{what} {name}, {count} row{'s' * (count > 1)}, {steps} step{'s' * (steps > 1)} a call"
                    note = f"least {1e6 * spent.min():.3g}"
                    relative = next(iter(found.values())) / spent
                    rows.append(Row.median(label, 1e6 * spent, "CPU us a step", relative, note))
    return rows


def _step(
    animal: Animal, start: Mapping[str, Any], drive: list[float], count: int, steps: int, least: float = 0.1
) -> float:
    """CPU seconds of a time step of one of ``count`` animals, over at least so many; they begin differently."""
    rows, ids = animal.rows(count), np.arange(count)
    kick = {"kick": np.linspace(0.1, 0.05, count)} if "kick" in animal.start_shapes() else {}
    animal.reset(rows, ids, {**kick, **start})
    drives = np.tile(drive, (count, 1))
    done, spent = 0, 0.0
    while done == 0 or spent < least:
        begun = time.process_time()
        for _ in range(max(200 // steps, 1)):
            animal.advance(rows, ids, drives, steps)
        spent += time.process_time() - begun
        done += max(200 // steps, 1) * steps * count
    if rows["status"].any():
        raise RuntimeError(f"{type(animal).__name__}: an animal failed, its speed means nothing")
    return spent / done
