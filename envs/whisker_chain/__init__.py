"""Rat whisker as a chain of rigid links (Quist et al., 2014)."""

from ..core.model.beam import Hair
from .animal import Whisker, follow, wall
from .params import WhiskerParams
from .statics import quasi_static

__all__ = ["Hair", "Whisker", "WhiskerParams", "follow", "quasi_static", "wall"]
