"""Analysis of recordings: medium, forces, drive and behaviour of worms, forces at the base of a whisker.

The command ``fit`` and films of recordings are in `gymnosoma.cli` and `gymnosoma.films`.
"""

from gymnosoma.moved import point_from

from .behaviour import Behaviour, SineFit, classify, fit_sine, phase_means, phases
from .forces import RecordedRun, forces
from .joint_angles import Kymogram
from .medium import MediumFit, fit_medium
from .midlines import Midlines
from .motion import Motion
from .vibrissa import RecordedBase, free_forces

__all__ = [
    "Behaviour",
    "Kymogram",
    "MediumFit",
    "Midlines",
    "Motion",
    "RecordedBase",
    "RecordedRun",
    "SineFit",
    "classify",
    "fit_medium",
    "fit_sine",
    "forces",
    "free_forces",
    "phase_means",
    "phases",
]

point_from(__name__)
