"""Controllers that are fitted to single episodes; their mean score is 1 on the normalised scale, see `oracle`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gymnosoma.agents.controllers.lamprey import WAVES, SteeredWave
from gymnosoma.agents.controllers.neuromechanic import IntegralReflex
from gymnosoma.agents.controllers.worm import SteeredSine
from gymnosoma.envs.core.model.control import Controller, Flags, Floats, TaskController, Values
from gymnosoma.envs.lamprey import tasks as lamprey
from gymnosoma.envs.neuromechanic.tasks import HindlimbHold
from gymnosoma.envs.worm.steering import SteeringLaw
from gymnosoma.envs.worm.tasks import Crawl, Swim


@dataclass(frozen=True)
class Oracle:
    """Controller whose parameters are fitted to each episode separately.

    A seed determines the hidden values, noise and pushes of an episode, so the search can adapt to them. The mean of
    the best scores is 1 on the normalised scale.
    """

    make: Callable[[Any, Floats], Controller | TaskController]
    """Function of a task and parameters (B, k), one row per environment, that makes the controller."""
    start: Sequence[float]
    """Initial parameters (k,) of each search, such as those of the best reference."""
    spread: Sequence[float]
    """Standard deviations (k,) of the parameters in the first generation."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment."""


class Waves:
    """Periodic wave of each row, with an amplitude that grows over the first period, as in `SineKymogram`.

    Args:
        period ((B,) float, s): Period of each wave.
        cosines, sines ((H, B, n_joints) float, rad): Amplitudes of each harmonic.
    """

    reads: tuple[str, ...] = ()

    def __init__(self, period: Floats, cosines: Floats, sines: Floats) -> None:
        self._period, self._parts = period, list(zip(cosines, sines, strict=True))

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return the control angles (B, n_joints) in rad at times ``t`` (B,) in s."""
        phase = t / self._period
        height, angle = np.minimum(phase, 1.0), 2 * np.pi * phase
        return sum(
            (height * np.cos(h * angle))[:, None] * cosine + (height * np.sin(h * angle))[:, None] * sine
            for h, (cosine, sine) in enumerate(self._parts, 1)
        )


def _gait(task: Any, parameters: Floats) -> Controller:
    """Make the steered wave of each row of ``parameters``, (B, 6 + 2 x number of spatial modes).

    The parameters are amplitude, wavenumber, period, gain, limit and integral, then the coefficients of the spatial
    modes added to the wave's cosine and to its sine in time.
    """
    amplitude, wavenumber, period, gain, limit, integral = parameters[:, :6].T
    period, phase = np.maximum(period, 0.1), wavenumber[:, None] * np.linspace(0.0, 2 * np.pi, task.animal.drive_size)
    parts = np.sum(parameters[:, 6:].reshape(len(parameters), 2, -1, 1) * task.modes, 2)
    parts += amplitude[:, None, None] * np.stack([np.cos(phase), np.sin(phase)], 1)
    wave = Waves(period, parts[None, :, 0], parts[None, :, 1])
    return SteeredSine(wave, SteeringLaw(task.control_rate, period, gain, np.abs(limit), integral), "direction")


def _gaits(start: str) -> Oracle:
    """Make an oracle of `_gait` whose initial parameters are the best of a search over the whole training split."""
    begin = [float(each) for each in start.split()]
    spread = [0.03, 0.1, 0.05 * begin[2], 0.05, 0.1, 0.02] + [0.03] * (len(begin) - 6)
    return Oracle(_gait, begin, spread, {"actions": "angles"})


class PlannedWave(SteeredWave):
    """Steered wave with a ``plan`` (B, K) added to its bias, linear between K knots over ``duration`` (s)."""

    def __init__(self, task: Any, plan: Floats, duration: float, **parameters: Any) -> None:
        super().__init__(task, **{**WAVES[type(task)], **parameters})
        self._knots, self._duration = plan, duration

    def _plan(self, t: Floats) -> Floats:
        last = self._knots.shape[1] - 1
        at = np.clip(t / self._duration, 0.0, 1.0) * last
        knot = np.minimum(at.astype(int), last - 1)
        row, share = np.arange(len(t)) % len(self._knots), at - knot
        return ((1.0 - share) * self._knots[row, knot] + share * self._knots[row, knot + 1])[:, None]


def _planned_waves(
    duration: float, knots: int, steering: float, env: Mapping[str, Any] = {}, **parameters: tuple[float, float]
) -> Oracle:
    """Make an oracle of a steered wave and a plan of its bias.

    ``parameters`` are the searched parameters, each with its initial value and standard deviation. ``steering`` is the
    standard deviation of the plan's knots.
    """
    count = len(parameters)

    def make(task: Any, values: Floats) -> Controller:
        return PlannedWave(task, values[:, count:], duration, **dict(zip(parameters, values.T[:count], strict=True)))

    start, spread = np.array(list(parameters.values())).T
    plan = np.zeros(knots)
    return Oracle(make, [*start, *plan], [*spread, *(plan + steering)], {"actions": "motoneuron", **env})


def _known_load(task: HindlimbHold, numbers: Floats) -> Controller:
    """Make the integral reflex with the parameters of each row, including the initial sum, which suits the load."""
    stretch, rate, integral, lead = np.split(numbers[:, :4], 4, 1)
    return IntegralReflex(task, stretch, rate, integral, lead=lead, start=numbers[:, 4:])


ORACLES: dict[type, Oracle] = {
    # These controllers do not read hidden values; their gait and steering are fitted to them.
    Crawl: _gaits(
        "0.582 1.77 0.877 0.463 0.439 0.0745 -0.0601 -0.137 -0.135 "
        "-0.0163 0.0373 -0.0348 0.0423 -0.0399 0.135 0.0463 0.0118 -0.0328"
    ),
    Swim: _gaits(
        "0.648 0.869 0.403 0.251 0.809 0.158 -0.2 -0.0701 0.0136 "
        "-0.00443 -0.0965 0.0271 0.02 -0.114 -0.0373 -0.0222 0.0773 0.0399"
    ),
    lamprey.Economy: _planned_waves(
        6.0,
        4,
        0.25,
        frequency=(1.6, 0.3),
        head=(1.3, 0.3),
        tail=(0.19, 0.2),
        strengthening=(0.7, 0.3),
        offset=(-0.45, 0.2),
    ),
    # A swim straight ahead, without any turn.
    lamprey.Waypoints: _planned_waves(
        20.0,
        2,
        0.1,
        frequency=(4.5, 0.5),
        wavelength=(0.95, 0.2),
        head=(2.6, 0.6),
        tail=(0.4, 0.3),
        gain=(0.2, 0.1),
        offset=(-0.05, 0.15),
        env={"randomize": {"turning": (0.0, 0.0)}},
    ),
    lamprey.Escape: _planned_waves(
        4.0, 8, 0.5, frequency=(5.4, 0.4), wavelength=(0.8, 0.04), head=(2.0, 0.8), tail=(6.0, 2.0), offset=(0.1, 0.15)
    ),
    # The initial values are the integral reflex itself; the spreads are those of its final sum in the training split.
    HindlimbHold: Oracle(
        _known_load,
        start=(22.7, 0.37, 9.8, 0.89, *[0.0] * 7),
        spread=(4.0, 0.06, 3.0, 0.1, 0.03, 0.1, 0.07, 0.03, 0.1, 0.15, 0.3),
        env={"actions": "excitation"},
    ),
}
"""Oracles of the tasks whose scale does not end at a bound."""
