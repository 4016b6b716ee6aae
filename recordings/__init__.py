"""Analysis of recordings: medium, forces and drive of worms, forces at the base of a whisker."""

from .forces import RecordedRun, forces
from .joint_angles import Kymogram
from .medium import MediumFit, fit_medium
from .midlines import Midlines
from .motion import Motion
from .study import Study, study_vibrissa, study_worms
from .vibrissa import RecordedBase, free_forces

__all__ = [
    "Kymogram",
    "MediumFit",
    "Midlines",
    "Motion",
    "RecordedBase",
    "RecordedRun",
    "Study",
    "fit_medium",
    "forces",
    "free_forces",
    "study_vibrissa",
    "study_worms",
]
