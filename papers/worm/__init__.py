"""Draws the figures of the worm paper from our own simulations.

Where the paper prints digits they are those of its own scheme (``published``), and so are ours beside them; what the
converged model gives stands in the note.
"""

from __future__ import annotations

from ..paper import Paper
from . import media, turns, waves

_TWO, _TWO_1, *_FIVE = waves.FIGURES

PAPER = Paper(
    "worm",
    "Chung, Chang & Kim (2024), ElegansBot, eLife 12:RP92562. *Ours* is here the paper's own time stepping "
    "(`published`), as the printed digits are; what the converged model gives (`midpoint`) stands in the last column. "
    "Figure 5 and its supplement 1 are by `midpoint` alone.",
    (_TWO, _TWO_1, *turns.FIGURES, *_FIVE, *media.FIGURES),
    {
        "Figure 1": "scheme: the rods, their forces and torques",
        "Figure 3, videos 1 and 2": "films of the two turns; `python train.py render WormFollow-v0` makes such films",
        "Appendix 1, figure 1": "scheme: places and velocities of the rods",
        "Appendix 1, figure 2": "scheme: the actuator of a joint",
    },
)
