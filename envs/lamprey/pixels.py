"""Pixel observations of lampreys: body, goal and water."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.draw.pixels import WATER, Colour, Sketch
from .tasks import Economy, Waypoints, present_waypoint

FLESH: Colour = (84, 92, 88)
HEAD: Colour = (200, 62, 50)


def sketch(task: Any, rows: Any, memory: Any) -> Sketch:
    """Draw each lamprey from above, at the centre of its picture."""
    length, points = float(np.sum(task.animal.params.length)), task.animal.points(rows)
    result = Sketch(rows["centre"], 3.0 * length, 0.3 * length, WATER)
    if isinstance(task, Waypoints):
        result.target(present_waypoint(task, memory), task.radius)
    elif isinstance(task, Economy):
        result.target(memory["place"], task.near)
    else:
        result.direction(memory["goal"])
    pieces = points.shape[1] - 1
    place = (np.arange(pieces) + 0.5) / pieces
    result.chain(points, 0.045 * length * np.sqrt(1.0 - 0.9 * place), FLESH)
    result.disc(points[:, 0], 0.035 * length, HEAD)
    return result
