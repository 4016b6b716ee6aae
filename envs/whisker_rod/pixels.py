"""Pixel observations of the whisker rod: whisker, plate, and the motion of the plate."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.draw.pixels import INK, Colour, Sketch

GRIT: Colour = (178, 160, 132)
WHISKER: Colour = (92, 74, 58)


def sketch(task: Any, rows: Any, memory: Any) -> Sketch:
    """Draw whiskers from the side with the plate at the top; the grid moves with the plate."""
    length, points = rows["length"], task.animal.centreline(rows)
    usual = task.animal.params.length
    centre = np.stack([0.125 * length, 0.5 * length], 1)
    origin = np.stack([rows["plate_position"], rows["plate_distance"]], 1)
    result = Sketch(centre, 1.2 * length, 0.1 * usual, origin=origin)
    ends = np.array([-1.0, 1.0]) * length[:, None]
    thick = 0.1 * length[:, None]
    plate = np.stack([ends, np.broadcast_to(rows["plate_distance"][:, None] + thick, ends.shape)], 2)
    result.chain(plate, thick, GRIT)
    result.chain(points, np.linspace(0.02, 0.006, points.shape[1] - 1) * length[:, None], WHISKER)
    result.disc(np.zeros((len(rows), 2)), 0.04 * length[:, None], INK)
    return result
