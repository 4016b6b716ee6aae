"""C. elegans, after Chung, Chang & Kim (2024)."""

from .animal import Worm
from .params import WormParams

__all__ = ["Worm", "WormParams"]
