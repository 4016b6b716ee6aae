"""Reference controllers of musculoskeletal models: constant patterns, and a pull in proportion to the error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.simulate import Controller
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.analysis import equilibrate, most_stable
from gymnosoma.envs.neuromechanic.hindlimb import PAW_FORCE, POSTURE


class Held:
    """Constant excitations (m,)."""

    def __init__(self, pattern: NDArray[np.float64]) -> None:
        self.pattern = pattern

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Excitations (B, m)."""
        return np.tile(self.pattern, (len(t), 1))


class Pull:
    """Drive each input in proportion to the error, as far as it moves the joint towards the goal.

    Parameters
    ----------
    task : Pose
    gain : float, 1/rad
        Share of an input's range per error.
    damping : float, s
        Seconds by which the error is foreseen.
    """

    def __init__(self, task: Any, gain: float = 2.0, damping: float = 0.15) -> None:
        self.task, self.gain, self.damping = task, gain, damping
        self._effect = self._effects(task.animal, task.joint, task.low, task.high)

    @staticmethod
    def _effects(animal: Neuromechanic, joint: int, low: float, high: float) -> NDArray[np.float64]:
        """Acceleration of the joint by each input, the strongest 1."""
        row, one = animal.rows(1), np.zeros(1, np.int64)
        own = animal.model.arrays["activation"] >= 0

        def acceleration(inputs: NDArray[np.float64]) -> float:
            animal.reset(row, one, {"input": inputs})
            animal.reset(row, one, {"input": inputs, "activation": row["excitation"][0][own]})
            return float(animal.mechanics(row)["qdd"][joint])

        size = animal.drive_size
        still = acceleration(np.full(size, low))
        effect = np.array([acceleration(low + (high - low) * 0.1 * side) - still for side in np.eye(size)])
        return effect / max(float(np.abs(effect).max()), 1e-300)

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Inputs (B, u)."""
        error = signals["error"][:, 0] - self.damping * signals["velocity"][:, self.task.joint]
        share = np.clip(self.gain * error[:, None] * self._effect, 0.0, 1.0)
        return self.task.low + (self.task.high - self.task.low) * share


def _least_stress(task: Any) -> NDArray[np.float64]:
    return equilibrate(task.animal, POSTURE, reaction=PAW_FORCE).activation


def _blend(task: Any, central: float) -> Controller:
    """Mix of the least-stress pattern and the central one: how much to stiffen."""
    return Held((1.0 - central) * _least_stress(task) + central * task.pattern)


REFERENCES: dict[str, dict[str, tuple[Callable[[Any], Controller], dict[str, Any]]]] = {
    "HindlimbHold": {
        "baseline": (lambda task: Held(task.pattern), {}),
        "least_stress": (lambda task: Held(_least_stress(task)), {}),
        "most_stable": (lambda task: Held(most_stable(task.animal, POSTURE, reaction=PAW_FORCE)), {}),
    },
    "Pose": {"baseline": (Pull, {})},
}
"""Controllers by task and name, each with the arguments of the environment that it needs."""

SEARCHES: dict[str, tuple[Callable[..., Controller], dict[str, tuple[float, float]]]] = {
    "HindlimbHold": (_blend, {"central": (0.0, 1.0)}),
    "Pose": (Pull, {"gain": (0.1, 10.0), "damping": (0.0, 0.5)}),
}
"""Families of controllers with constant parameters, and the parameters' bounds, by task."""
