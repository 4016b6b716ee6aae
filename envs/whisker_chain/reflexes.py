"""How the vibrissa's own controllers turn its base, in tasks and for controllers alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.model.control import Flags, Floats
from .task import ACCELERATION

Past = Floats | float


@dataclass(frozen=True)
class Tapping:
    """Approaches at a ``speed`` (rad/s) and turns back as soon as Fx falls below minus the ``threshold`` (N)."""

    speed: float = 1.6
    threshold: float = 0.8e-6

    def feels(self, wrench: Floats, evidence: Floats | float = 0.0) -> Flags:
        """Tell from M, Fx, Fy (B, 3), in N m and N, and other ``evidence`` (N), who feels a touch, (B,)."""
        return wrench[:, 1] - evidence < -self.threshold

    @staticmethod
    def learns(feels: Flags, turns: Flags, angle: Floats, least: Floats, last: Floats) -> tuple[Floats, Floats]:
        """Least base angle at which it has turned back and then felt the peg, and the ``last`` at which it did, rad.

        All are (B,); the last is infinite where it did not turn in the last period, and is forgotten then.
        """
        return np.where(feels, np.minimum(least, last), least), np.where(turns, angle, np.inf)

    def turns(self, rate: Floats, angle: Floats, turned: Flags, control_rate: float) -> Floats:
        """Acceleration (B,) rad/s^2, at a ``rate`` (rad/s) and ``angle`` (rad), of who has ``turned`` or has not."""
        back = towards(np.where(angle > -0.3, -4.0, 0.0), rate, control_rate, ACCELERATION)
        return np.where(turned, back, towards(self.speed, rate, control_rate, 1000.0))


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
