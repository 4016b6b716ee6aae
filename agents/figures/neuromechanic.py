"""Draws the figures of the neuromechanic paper from our own simulations."""

from __future__ import annotations

from .paper import Paper

PAPER = Paper("neuromechanic", "Bunderson et al. (2012), Neuromechanic", (), {})
