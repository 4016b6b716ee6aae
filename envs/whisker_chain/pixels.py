"""Pixel observations of the whisker chain: skin, whisker, goal, and pegs unless the task hides them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.draw.pixels import GOAL, INK, Colour, Sketch
from ..core.env.hooks import Record
from .animal import FAR
from .tasks import Whisk

SKIN: Colour = (226, 196, 182)
WHISKER: Colour = (92, 70, 52)


def sketch(task: Any, rows: Any, memory: Any) -> Sketch:
    """Draw whiskers from above, with the head on the left."""
    length, nodes = rows["length"], task.animal.nodes(rows)
    usual = task.animal.params.length
    centre = np.stack([0.5 * length, np.zeros(len(rows))], 1)
    result = Sketch(centre, 1.3 * length, 0.2 * usual)
    side = length[:, None, None] * np.array([[-0.1, -1.0], [-0.1, 1.0]])
    result.chain(side, 0.1 * length[:, None], SKIN)
    if isinstance(task, Whisk):
        angle = np.array([task.sines(Record(one), time) for one, time in zip(memory, rows["time"], strict=True)])
        way = 1.05 * length[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
        result.chain(np.stack([np.zeros_like(way), way], 1), 0.004 * usual, GOAL)
    places = np.linspace(0.02, 0.006, nodes.shape[1] - 1)
    result.chain(nodes, places * length[:, None], WHISKER)
    if "peg_place" not in task.hidden:
        for o in range(task.animal.pegs):
            at = rows["peg"][:, :, o]
            there = np.hypot(at[:, 0], at[:, 1]) < 0.9 * FAR
            result.disc(
                np.where(there[:, None], at, np.nan), np.maximum(rows["peg_radius"][:, o, None], 0.02 * usual), INK
            )
    return result
