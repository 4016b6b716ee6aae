"""C. elegans, after Chung, Chang & Kim (2024)."""

from .animal import Worm
from .fit import fit_medium
from .forces import forces
from .kymogram import KymogramPlayback, SineKymogram, load_kymogram
from .midlines import Midlines
from .params import WormParams
from .recording import Kymogram
from .relaxation import fit_relaxation

__all__ = [
    "Kymogram",
    "KymogramPlayback",
    "Midlines",
    "SineKymogram",
    "Worm",
    "WormParams",
    "fit_medium",
    "fit_relaxation",
    "forces",
    "load_kymogram",
]
