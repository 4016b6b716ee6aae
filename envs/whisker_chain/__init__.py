"""Rat whisker as a chain of rigid links (Quist et al., 2014).

Read the files in this order: ``params`` (constants), ``body`` (equations of motion, contacts and both schemes),
``animal`` (class `Whisker`), ``task`` and ``tasks`` (environments), ``picture``, ``analysis`` (bending and vibrations
without a simulation). The whisker's controllers are in ``agents/controllers/whisker_chain.py``, figures of the paper in
``papers/whisker_chain``.
"""

from gymnosoma.moved import point_from

from ..core.model.beam import Hair
from .analysis import quasi_static
from .animal import Whisker, follow, wall
from .params import WhiskerParams

__all__ = ["Hair", "Whisker", "WhiskerParams", "follow", "quasi_static", "wall"]

point_from(__name__)
