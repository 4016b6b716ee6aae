"""Lamprey of Ekeberg (1993).

Read the files in this order: ``params`` (constants), ``body`` (equations of motion and three schemes), ``nerves``
(spinal cord and motoneurons), ``animal`` (classes `Lamprey` and `IsolatedCord`), ``steering`` (brainstem), ``tasks``
(environments), ``picture``, ``analysis`` (swimming and entrainment). The lamprey's controllers are in
``agents/controllers/lamprey.py``, figures of the paper in ``papers/lamprey``.
"""

from gymnosoma.moved import point_from

from .animal import IsolatedCord, Lamprey
from .params import LampreyParams

__all__ = ["IsolatedCord", "Lamprey", "LampreyParams"]

point_from(__name__)
