"""Rat whisker as a rod on sandpaper (Oladazimi, Putelat et al., 2021).

Read the files in this order: ``params`` (constants and reliefs), ``body`` (equations of motion, linearly implicit
scheme), ``radau`` (the paper's scheme), ``statics`` (equilibrium on the plate), ``animal`` (class `WhiskerRod`),
``sensor`` (follicle), ``tasks`` (environments), ``picture``. The whisker's controllers are in
``agents/controllers/whisker_rod.py``, figures of the paper in ``papers/whisker_rod``.
"""

from ..core.model.beam import Hair
from .animal import WhiskerRod
from .params import Relief, WhiskerRodParams

__all__ = ["Hair", "Relief", "WhiskerRod", "WhiskerRodParams"]
