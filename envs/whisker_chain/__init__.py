"""Rat vibrissa, after Quist et al. (2014)."""

from ..core.model.beam import Hair
from .animal import Whisker, follow, wall
from .params import WhiskerParams
from .recording import RecordedBase, free_forces
from .statics import quasi_static

__all__ = ["Hair", "RecordedBase", "Whisker", "WhiskerParams", "follow", "free_forces", "quasi_static", "wall"]
