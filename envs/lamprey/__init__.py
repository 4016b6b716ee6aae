"""The lamprey, after Ekeberg (1993)."""

from .animal import Lamprey
from .params import Cord, LampreyParams, Synapse

__all__ = ["Cord", "Lamprey", "LampreyParams", "Synapse"]
