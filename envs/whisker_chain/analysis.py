"""Detectability of a touch."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri


def sensitivity(said: ArrayLike, present: ArrayLike) -> float:
    """Sensitivity index d' of a detector: the difference of the normal deviates of the rates.

    Half an episode is added to either answer, so that it stays finite (Hautus 1995, Behav. Res. Methods 27:46).

    Args:
        said, present ((B,) arrays of bool): Whether a peg was declared, and whether there was one.
    """
    said, present = np.asarray(said, bool), np.asarray(present, bool)
    hits, alarms = ((said[of].sum() + 0.5) / (of.sum() + 1.0) for of in (present, ~present))
    return float(ndtri(hits) - ndtri(alarms))
