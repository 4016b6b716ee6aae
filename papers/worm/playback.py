"""Playback of recordings on the worm's model; Chung, Chang & Kim (2024), Figs. 3 and 4.

`gymnosoma.recordings` classifies the behaviour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs.worm import Worm
from gymnosoma.envs.worm.kymogram import FRAME_RATE
from papers.simulations import ensemble

Array = NDArray[np.float64]


def play(
    worm: Worm,
    angles: Array,
    start: Mapping[str, ArrayLike] | None = None,
    count: int = 1,
    rate: float = FRAME_RATE,
    signals: Sequence[str] = ("centre", "centre_velocity", "rod_angle", "rod_centre", "joint_angle"),
) -> dict[str, Array]:
    """Play a kymogram on many worms, from rest in the shape of frame 0; each frame is held for 1/rate.

    Source: Chung et al. (2024), Fig. 3; with ``start=medium(...)`` Fig. 5, supplements 2 and 3, and Appendix 1,
    Figs. 3 to 6.

    Args:
        worm: Model of the worms. The time step is reduced if it does not divide 1/rate.
        angles ((N, n - 1) float, rad): Frames of the kymogram, at least two.
        start, count, signals: As in `ensemble`.
        rate (Hz): Frame rate, from 0.01 to 10^6.

    Returns:
        dict: Name to array (N, count, ...), one snapshot per frame.
    """
    steps = int(np.ceil(1 / (rate * worm.dt) - 1e-6))
    if abs(steps * worm.dt * rate - 1) > 1e-6:
        worm = Worm(worm.params, 1 / (rate * steps), worm.scheme, worm.threads)
    return ensemble(
        worm,
        lambda t: angles[int(t * rate)],
        count,
        (len(angles) - 1) / rate,
        1 / rate,
        hold=1 / rate,
        start={"joint_angle": angles[0]} | dict(start or {}),
        signals=signals,
    )
