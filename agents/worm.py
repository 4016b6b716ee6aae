"""Reference controllers of the worm: waves with the right constants, steering, recorded kymograms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.simulate import Controller
from gymnosoma.envs.worm.kymogram import KymogramPlayback, SineKymogram
from gymnosoma.envs.worm.params import table


class MediumSine:
    """The wave that suits the medium, seen in the signal ``sigma``: between the paper's two settings."""

    def __init__(self, n_joints: int = 24) -> None:
        self._place = np.arange(n_joints) / (n_joints - 1)

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Control angles (B, n_joints) rad at times ``t`` (B,) s."""
        w, sigma = table(), signals["sigma"][:, 0]
        wavenumber = (1 - sigma) * w["water_wavenumber"] + sigma * w["agar_wavenumber"]
        period = (1 - sigma) * w["water_period"] + sigma * w["agar_period"]
        phase = wavenumber[:, None] * self._place - (t / period)[:, None]
        return (w["wave_amplitude"] * np.minimum(t / period, 1.0))[:, None] * np.cos(2 * np.pi * phase)


class SteeredSine:
    """Proportional steering: the wave with a bias in proportion to the bearing of ``target``.

    Parameters
    ----------
    wave : SineKymogram
    gain : float
        Bias in rad per rad of bearing.
    limit : float, rad
        Largest bias.
    smoothing : float, s
        The bearing swings with the head; it is averaged over this time.
    rate : float, Hz
        Of the control.
    """

    def __init__(
        self, wave: SineKymogram, gain: float = 0.1, limit: float = 0.15, smoothing: float = 1.6, rate: float = 20.0
    ) -> None:
        self.wave, self.gain, self.limit = wave, gain, limit
        self._keep = np.exp(-1.0 / (smoothing * rate))
        self._target = np.zeros((0, 2))

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Control angles (B, n_joints) rad at times ``t`` (B,) s."""
        # Directions, not angles, are averaged: a bearing jumps by a turn behind the tail.
        seen = signals["target"] / np.maximum(np.linalg.norm(signals["target"], axis=1, keepdims=True), 1e-12)
        if len(self._target) != len(t):
            self._target = seen
        mixed = self._keep * self._target + (1 - self._keep) * seen
        self._target = np.where(first[:, None], seen, mixed)
        bearing = np.arctan2(self._target[:, 1], self._target[:, 0])
        # The worm turns towards its concave side: bent to the right (positive angles), it turns right.
        bias = np.clip(-self.gain * bearing, -self.limit, self.limit)
        return self.wave.drive(t, signals, first) + bias[:, None]


REFERENCES: dict[str, dict[str, tuple[Callable[[Any], Controller], dict[str, Any]]]] = {
    "Crawl": {
        "baseline": (lambda task: task.reference(), {}),
        "best_sine": (lambda task: SineKymogram(0.9, 1.6, 0.65), {}),
    },
    "Swim": {
        "baseline": (lambda task: task.reference(), {}),
        "best_sine": (lambda task: SineKymogram(0.9, 0.65, 0.25), {}),
    },
    "Medium": {"baseline": (lambda task: MediumSine(), {"observe_medium": True})},
    "Reach": {"baseline": (lambda task: SteeredSine(SineKymogram.for_medium(1.0), rate=task.rate), {})},
    "Escape": {"baseline": (lambda task: task.reference(), {})},
    "Follow": {"baseline": (lambda task: task.reference(), {})},
}
"""Controllers by task and name, each with the arguments of the environment that it needs."""

_WAVE = {"amplitude": (0.1, 0.9), "wavenumber": (0.3, 2.5), "period": (0.15, 2.5)}


def _wave(task: Any, **wave: Any) -> Controller:
    return SineKymogram(**wave)


def _steered(task: Any, gain: float, **wave: Any) -> Controller:
    return SteeredSine(SineKymogram(**wave), gain, rate=task.rate)


def _replayed(task: Any, gain: float, pace: float) -> Controller:
    recorded = task.reference()
    return KymogramPlayback(gain * recorded.angles, pace * recorded.rate)


SEARCHES: dict[str, tuple[Callable[..., Controller], dict[str, tuple[float, float]]]] = {
    "Crawl": (_wave, _WAVE),
    "Swim": (_wave, _WAVE),
    "Medium": (_wave, _WAVE),
    "Reach": (_steered, {"gain": (0.02, 0.3), **_WAVE}),
    "Escape": (_replayed, {"gain": (0.5, 1.1), "pace": (0.5, 3.0)}),
    "Follow": (_replayed, {"gain": (0.5, 1.1), "pace": (0.8, 1.2)}),
}
"""Families of controllers with constant parameters, and the parameters' bounds, by task."""
