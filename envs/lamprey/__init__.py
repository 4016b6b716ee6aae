"""Lamprey of Ekeberg (1993)."""

from .animal import IsolatedCord, Lamprey
from .params import LampreyParams

__all__ = ["IsolatedCord", "Lamprey", "LampreyParams"]
