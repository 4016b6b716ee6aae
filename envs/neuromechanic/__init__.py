"""Musculoskeletal models with nervous systems, after Bunderson et al. (2012)."""

from .analysis import growth, linearise
from .animal import Neuromechanic, at_joints
from .curves import HIGHEST, cubics
from .equilibrium import equilibrate, refuse_contacts
from .keys import MUJOCO_CURVES, THELEN_CURVES
from .model import Model, load
from .modules import Module
from .muscles import COMPLIANT_TENDON, RIGID_TENDON
from .reader import LARGEST

__all__ = [
    "COMPLIANT_TENDON",
    "HIGHEST",
    "LARGEST",
    "MUJOCO_CURVES",
    "RIGID_TENDON",
    "THELEN_CURVES",
    "Model",
    "Module",
    "Neuromechanic",
    "at_joints",
    "cubics",
    "equilibrate",
    "growth",
    "linearise",
    "load",
    "refuse_contacts",
]
