"""Pixel observations: small pictures of many rows, drawn by a kernel.

``picture.py`` in an animal's package describes them: ``sketch(task, rows, memory)`` returns a `Sketch`. Hidden options
of a task are not drawn. The rendered picture of one animal is in ``view.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import singledispatch
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import whole
from ..env.task import Rows, Task
from .canvas import GOAL, PAPER, Colour

SMALLEST_PICTURE, LARGEST_PICTURE = 32, 256
"""Smallest and largest width and height of a picture, pixels."""

WATER: Colour = (214, 230, 238)


@dataclass
class Sketch:
    """Content of the pictures of B rows.

    Args:
        centre ((B, 2), m): Middle of the picture.
        span ((B,) or float, m): Width and height of the picture.
        spacing (float, m): Distance between the rules on the paper, which are part of the medium.
        paper ((B, 3) or (3,)): Colour of the medium, 0 to 255.
        origin ((B, 2) or (2,), m): Position of a crossing of rules, which moves with the medium.
    """

    centre: NDArray[np.float64]
    span: ArrayLike
    spacing: float
    paper: ArrayLike = PAPER
    origin: ArrayLike = (0.0, 0.0)
    parts: list[tuple[NDArray[np.float64], Any, Any]] = field(default_factory=list)

    def chain(self, points: NDArray[np.float64], radius: ArrayLike, colour: Colour) -> None:
        """Draw lines through points (B, N, 2) above earlier parts; ``radius`` (m) is one, or (B, N - 1)."""
        ends = np.concatenate([points[:, :-1], points[:, 1:]], 2)
        self.parts.append((ends, np.broadcast_to(radius, ends.shape[:2]), colour))

    def disc(self, at: NDArray[np.float64], radius: ArrayLike, colour: Colour) -> None:
        """Draw a disc at (B, 2)."""
        self.chain(np.stack([at, at], 1), radius, colour)

    def target(self, at: NDArray[np.float64], radius: float) -> None:
        """Draw the goal at (B, 2), or at the border of the picture if it is outside."""
        half = np.reshape(self.span, (-1, 1)) * 0.5 - radius
        self.disc(self.centre + np.clip(at - self.centre, -half, half), radius, GOAL)

    def direction(self, way: NDArray[np.float64]) -> None:
        """Draw the goal as a direction (B, 2), a line from near the middle to the border."""
        span = np.reshape(self.span, (-1, 1))
        ends = [self.centre + share * span * way for share in (0.3, 0.46)]
        self.chain(np.stack(ends, 1), 0.012 * np.ravel(span)[:, None], GOAL)


@singledispatch
def mark(task: Any, sketch: Sketch, rows: Rows, memory: Rows) -> None:
    """Draw the goal of a task into the pixel observation: by default, a vector ``goal`` of the memory as a direction.

    A function for a class of tasks is registered in ``picture.py`` of the animal's package with ``@mark.register``.
    """
    if "goal" in (memory.dtype.names or ()) and memory["goal"].ndim == 2:
        sketch.direction(memory["goal"])


class Pixels:
    """Draws the pixel observations of a task.

    Args:
        size: Width and height, pixels.

    Raises:
        ValueError: If the size is out of range, or the animal's ``picture.py`` has no ``sketch``.
    """

    def __init__(self, task: Task, size: int) -> None:
        whole("size", size, SMALLEST_PICTURE, LARGEST_PICTURE)
        package = type(task.animal).__module__.rpartition(".")[0]
        picture = import_module(f"{package}.picture")
        if not hasattr(picture, "sketch"):
            raise ValueError(f"PixelObservation needs a function sketch in {package}.picture")
        self._sketch = picture.sketch
        self.task, self.size = task, size
        self._across = np.zeros((2, size))

    def draw(self, rows: Rows, memory: Rows) -> NDArray[np.uint8]:
        """Return the pictures (B, size, size, 3) of rows."""
        from .pixel_kernels import paint

        count = len(rows)
        with np.errstate(all="ignore"):  # rows that have failed
            sketch: Sketch = self._sketch(self.task, rows, memory)
        paper = np.array(np.broadcast_to(sketch.paper, (count, 3)), float)
        colours = np.repeat([part[2] for part in sketch.parts], [part[0].shape[1] for part in sketch.parts], axis=0)
        out = np.empty((count, self.size, self.size, 3), np.uint8)
        paint(
            np.concatenate([part[0] for part in sketch.parts], 1),
            np.concatenate([np.broadcast_to(part[1], part[0].shape[:2]) for part in sketch.parts], 1),
            colours.astype(float),
            np.ascontiguousarray(sketch.centre, float),
            np.array(np.broadcast_to(sketch.span, count), float),
            paper,
            0.9 * paper,
            float(sketch.spacing),
            np.array(np.broadcast_to(sketch.origin, (count, 2)), float),
            self._across,
            out,
        )
        return out


def shade(colour: Colour, other: Colour, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interpolate between ``colour`` (share 0) and ``other`` (share 1); colours (B, 3)."""
    return np.add(colour, share[:, None] * np.subtract(other, colour))
