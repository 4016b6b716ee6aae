"""Lamprey of Ekeberg (1993)."""

from .animal import Lamprey
from .isolated import IsolatedCord
from .params import LampreyParams

__all__ = ["IsolatedCord", "Lamprey", "LampreyParams"]
