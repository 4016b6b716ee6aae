"""Draws the figures of the lamprey paper from our own simulations."""

from __future__ import annotations

from .paper import Paper

PAPER = Paper(
    "lamprey",
    "Ekeberg (1993), A combined neuronal and mechanical model of fish swimming, Biol. Cybern. 69:363-374",
    (),
    {},
)
