"""C. elegans of Chung, Chang & Kim (2024).

Read the files in this order: ``params`` (constants), ``body`` (equations of motion and both schemes), ``nerves``
(circuits), ``animal`` (class `Worm`), ``kymogram`` and ``steering`` (waves and steering law), ``task`` and ``tasks``
(environments), ``picture``, ``analysis`` (gaits). The worm's controllers are in ``agents/controllers/worm.py``, figures
of the paper in ``papers/worm``.
"""

from gymnosoma.moved import point_from

from .animal import Worm
from .kymogram import KymogramPlayback, SineKymogram, load_kymogram
from .params import WormParams, active_joints, medium

__all__ = ["KymogramPlayback", "SineKymogram", "Worm", "WormParams", "active_joints", "load_kymogram", "medium"]

point_from(__name__)
