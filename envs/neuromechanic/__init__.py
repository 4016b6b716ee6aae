"""Musculoskeletal models with their nervous systems, after Bunderson et al. (2012)."""

from .animal import Neuromechanic
from .model import Model, Module, load

__all__ = ["Model", "Module", "Neuromechanic", "load"]
