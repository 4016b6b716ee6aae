"""Draws the figures of the whisker_chain paper from our own simulations."""

from __future__ import annotations

from .paper import Paper

PAPER = Paper(
    "whisker_chain", "Quist et al. (2014), Mechanical signals at the base of a rat vibrissa, J. Neurophysiol.", (), {}
)
