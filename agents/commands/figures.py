"""Command ``figures``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal


def figures(figure: tuple[Literal[2, 3, 4, 5], ...] = (2, 3, 4, 5), folder: Path = Path("figures")) -> None:
    """Draw the figures of Chung et al. (2024) from simulations.

    Args:
        figure: Which.
        folder: Where the pictures go.
    """
    from ..figures.worm import figures as draw

    for path in draw(folder, figure):
        print(path)
