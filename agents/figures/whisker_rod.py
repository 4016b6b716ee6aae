"""Draws the figures of the whisker_rod paper from our own simulations."""

from __future__ import annotations

from .paper import Paper

PAPER = Paper("whisker_rod", "Oladazimi, Putelat et al. (2021)", (), {})
