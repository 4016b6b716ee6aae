"""Musculoskeletal models with nervous systems, after Bunderson et al. (2012)."""

from .analysis import differences, equilibrate, growth, linearise, refuse_contacts
from .animal import Neuromechanic, at_joints
from .model import Model, cubics, load
from .model.reader import LARGEST
from .model.tables import HIGHEST, MUJOCO_CURVES, THELEN_CURVES
from .muscles import COMPLIANT_TENDON, RIGID_TENDON
from .nerves import Module

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
    "differences",
    "equilibrate",
    "growth",
    "linearise",
    "load",
    "refuse_contacts",
]
