"""Musculoskeletal models with nervous systems, after Bunderson et al. (2012).

Read the files in this order: ``params`` (parameters of a row), ``model`` (what a model file says, and its constants),
``body`` (state derivative and both schemes) with the kernels ``skeleton``, ``paths``, ``muscles``, ``nerves`` and
``contact``, ``animal`` (class `Neuromechanic`), ``hindlimb`` and ``standing`` (the paper's models), ``tasks``
(environments), ``picture``, ``analysis`` (equilibria and stability, with ``convex``). Controllers are in
``agents/controllers/neuromechanic.py``, figures of the paper in ``papers/neuromechanic``, and the import of OpenSim and
MuJoCo models, inverse dynamics and feedback design in ``biomechanics``.
"""

from gymnosoma.moved import point_from

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

point_from(__name__)
