"""Pixel observations of worms: body, goal, and a medium between water and agar."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.draw.pixels import GOAL, WATER, Colour, Sketch, shade
from .params import friction
from .tasks import Follow, Reach, path_place

AGAR: Colour = (244, 232, 200)
FLESH: Colour = (150, 112, 62)
HEAD: Colour = (200, 62, 50)

RADIUS = 0.04
"""Half width of the body in the middle, in body lengths."""


def sketch(task: Any, rows: Any, memory: Any) -> Sketch:
    """Draw each worm from above, at the centre of its picture."""
    length, points = rows["length"], task.animal.points(rows)
    water, agar = (float(friction(sigma)[0]) for sigma in (0.0, 1.0))
    felt = np.maximum(rows["friction_perpendicular"], 1e-12)
    share = np.clip(np.log(felt / water) / np.log(agar / water), 0.0, 1.0)
    paper = shade(WATER, AGAR, np.full(len(rows), 0.5) if task.hidden else share)
    usual = task.animal.params.length
    result = Sketch(rows["centre"], 2.4 * length, 0.3 * usual, paper)
    if isinstance(task, Reach):
        result.target(memory["target"], 0.05 * usual)
    elif isinstance(task, Follow):
        path = np.stack([path_place(task, rows, memory, k) for k in (0, *task.ahead)], 1)
        result.chain(path, 0.02 * usual, GOAL)
        result.target(path[:, 0], 0.05 * usual)
    elif "goal" in (memory.dtype.names or ()):
        result.direction(memory["goal"])
    pieces = points.shape[1] - 1
    place = (2.0 * np.arange(pieces) + 1.0) / pieces - 1.0
    width = RADIUS * np.sqrt(1.0 - place**2) * length[:, None]  # an ellipse
    result.chain(points, width, FLESH)
    result.disc(points[:, 0], 0.03 * length[:, None], HEAD)
    return result
