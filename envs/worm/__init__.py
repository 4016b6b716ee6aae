"""C. elegans of Chung, Chang & Kim (2024)."""

from .animal import Worm
from .kymogram import KymogramPlayback, SineKymogram, load_kymogram
from .params import WormParams, active_joints, medium

__all__ = ["KymogramPlayback", "SineKymogram", "Worm", "WormParams", "active_joints", "load_kymogram", "medium"]
