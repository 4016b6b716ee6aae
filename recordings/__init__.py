"""Analysis of recordings: medium, forces and drive of worms, forces at the base of a whisker, material of a hair."""

from .forces import RecordedRun, forces
from .joint_angles import Kymogram
from .material import Identification, identify_chain, identify_rod
from .medium import MediumFit, fit_medium
from .midlines import Midlines
from .motion import Motion
from .relaxation import RelaxationFit, fit_relaxation
from .study import Study, study_relaxation, study_vibrissa, study_worms
from .vibrissa import RecordedBase, free_forces

__all__ = [
    "Identification",
    "Kymogram",
    "MediumFit",
    "Midlines",
    "Motion",
    "RecordedBase",
    "RecordedRun",
    "RelaxationFit",
    "Study",
    "fit_medium",
    "fit_relaxation",
    "forces",
    "free_forces",
    "identify_chain",
    "identify_rod",
    "study_relaxation",
    "study_vibrissa",
    "study_worms",
]
