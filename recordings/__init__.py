"""Analysis of recordings: medium, forces and drive of worms, forces at the base of a whisker.

The command ``fit`` and films of recordings are in `gymnosoma.cli` and `gymnosoma.films`.
"""

from gymnosoma.moved import point_from

from .forces import RecordedRun, forces
from .joint_angles import Kymogram
from .medium import MediumFit, fit_medium
from .midlines import Midlines
from .motion import Motion
from .vibrissa import RecordedBase, free_forces

__all__ = [
    "Kymogram",
    "MediumFit",
    "Midlines",
    "Motion",
    "RecordedBase",
    "RecordedRun",
    "fit_medium",
    "forces",
    "free_forces",
]

point_from(__name__)
