"""Musculoskeletal models with their nervous systems, after Bunderson et al. (2012)."""

from .animal import Neuromechanic
from .model import Model, load
from .modules import Module, centre_of_mass

COM = Module(6, 12, centre_of_mass)
"""Control module of the centre of mass; its outputs are its integrals of momentum, then the momentum."""

__all__ = ["COM", "Model", "Module", "Neuromechanic", "load"]
