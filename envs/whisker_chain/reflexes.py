"""How the vibrissa's own controllers turn its base, in tasks and for controllers alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.control import Floats

Past = Floats | float


@dataclass(frozen=True)
class Holding:
    """PI control of M by the rate of the base, with an acceleration of at most ``limit`` (rad/s^2).

    ``gain`` is in rad/s per N m, ``integral`` in rad/s^2 per N m.
    """

    gain: float = 8e6
    integral: float = 0.0
    limit: float = 1500.0

    def rate(self, error: Floats, past: Past, control_rate: float) -> tuple[Floats, Past]:
        """Rate (B,) rad/s where M is above the goal by ``error`` (B,) N m, and the integral's share after ``past``."""
        past = np.clip(past + self.integral * error / control_rate, -3.0, 3.0)
        return np.clip(self.gain * error + past, -5.0, 5.0), past  # pressing on makes M more negative


def towards(rate: Floats | float, before: Floats, control_rate: float, limit: Floats | float) -> Floats:
    """Acceleration (B,), up to ``limit`` rad/s^2, that brings a base from one rate to another in a control period."""
    return np.clip((rate - before) * control_rate, -limit, limit)
