"""Rat whisker as a rod on sandpaper (Oladazimi, Putelat et al., 2021)."""

from ..core.model.beam import Hair
from .animal import WhiskerRod
from .params import Relief, WhiskerRodParams

__all__ = ["Hair", "Relief", "WhiskerRod", "WhiskerRodParams"]
