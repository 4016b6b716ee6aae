"""C. elegans, after Chung, Chang & Kim (2024)."""

from .animal import Worm
from .kymogram import KymogramPlayback, SineKymogram, load_kymogram
from .params import WormParams
from .recording import Kymogram

__all__ = ["Kymogram", "KymogramPlayback", "SineKymogram", "Worm", "WormParams", "load_kymogram"]
