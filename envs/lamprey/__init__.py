"""The lamprey, after Ekeberg (1993)."""

from .animal import Lamprey
from .isolated import IsolatedCord
from .params import Cord, EdgeSynapse, LampreyParams, Neuron, Synapse

__all__ = ["Cord", "EdgeSynapse", "IsolatedCord", "Lamprey", "LampreyParams", "Neuron", "Synapse"]
