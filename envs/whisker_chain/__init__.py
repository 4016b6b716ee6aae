"""Rat whisker as a chain of rigid links (Quist et al., 2014)."""

from ..core.model.beam import Hair
from .analysis import quasi_static
from .animal import Whisker, follow, wall
from .params import WhiskerParams

__all__ = ["Hair", "Whisker", "WhiskerParams", "follow", "quasi_static", "wall"]
