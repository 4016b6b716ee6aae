"""Rat vibrissa, after Quist et al. (2014)."""

from .animal import Whisker, follow, wall
from .params import WhiskerParams
from .statics import quasi_static

__all__ = ["Whisker", "WhiskerParams", "follow", "quasi_static", "wall"]
