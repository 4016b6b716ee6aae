"""Runs and measures of swimming for the figures of Ekeberg (1993)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.envs import Schedule, Trajectory, simulate
from gymnosoma.envs.lamprey import IsolatedCord, Lamprey, analysis
from gymnosoma.envs.lamprey.analysis import slope

Array = NDArray[np.float64]


def swim(
    lamprey: Lamprey | IsolatedCord,
    drive: ArrayLike | Callable[[float], ArrayLike],
    duration: float = 20.0,
    start: Mapping[str, ArrayLike] | None = None,
    after: tuple[float, ArrayLike] | None = None,
    signals: Sequence[str] = ("centre", "link_angle", "link_centre", "joint_angle", "edge_cell", "neurons"),
) -> list[Trajectory]:
    """Simulate many lampreys, recorded every 10 ms; use `simulate` for a single one.

    Args:
        lamprey (Lamprey or IsolatedCord): Animal to simulate.
        drive ((B, drive_size) float, or function of time (s)): Constant drive, or a function that returns the drive
            (B, drive_size) for the middle of each 10 ms.
        duration (s): Duration.
        start: Initial values and parameters, each with or without a leading axis of B; see `Lamprey`.
        after ((float, (B, drive_size) float)): Time (s) of a change of the drive, and the drive after it; ignored if
            ``drive`` is a function.
        signals (sequence of str): Signals to record, see `Lamprey`.

    Returns:
        list of Trajectory: One per animal, from time 0 to the end or to its failure.
    """
    every = 10e-3
    count = len(np.asarray(drive(0.5 * every) if callable(drive) else drive))
    schedule: Any = drive
    if after is not None and not callable(drive):
        schedule = Schedule([0.0, after[0]], np.array([drive, after[1]], float))
    duration = round(duration / every) * every
    return simulate(lamprey, schedule, duration, every, start, every, count=count, signals=signals)


class Swimming(analysis.Swimming):
    """Statistics of steady swimming, with the phases, amplitudes and rates that the paper shows."""

    @cached_property
    def edge_cells(self) -> Array:
        """Output (T, 2, S) of the left and right edge cells of each segment, 1/m."""
        return self.signal["edge_cell"][:, :, self.joint]

    @property
    def wavelength(self) -> float:
        """Length of the neural wave in cord lengths, from the lags without the first and last tenth of the cord."""
        return float(1.0 / (self.lag * len(self.joint)))

    @property
    def turn_rate(self) -> float:
        """Rate of the mass-weighted mean angle of the links, deg/s; negative to the right."""
        heading = self["link_angle"] @ (np.asarray(self.params.mass) / np.sum(self.params.mass))
        return float(np.degrees(np.polyfit(self.time, heading, 1)[0]))

    @property
    def mechanical_wave(self) -> float:
        """Speed of the wave of joint angles along the body, m/s."""
        angle = np.unwrap(np.angle(self.fundamental(self["joint_angle"])))
        return float(-2.0 * np.pi * self.frequency * np.mean(self.params.length) / slope(angle))

    @property
    def lateral(self) -> Array:
        """Amplitude (n,) of the links' midpoints perpendicular to the direction of swimming, m, head to tail."""
        way = self["centre"][-1] - self["centre"][0]
        across = np.array([-way[1], way[0]]) / np.hypot(*way)
        return np.abs(self.fundamental(self["link_centre"] @ across))

    @property
    def edge_cell_lead(self) -> Array:
        """Phase lead (S,) of the edge cells over the motoneurons of the same segment, of right minus left, deg."""
        mn, edge = self.cell(self.muscles), self.edge_cells
        ratio = self.fundamental(edge[:, 1] - edge[:, 0]) / self.fundamental(mn[:, 1] - mn[:, 0])
        return np.degrees(np.angle(ratio))

    @property
    def mean_edge_cell_lead(self) -> float:
        """Circular mean of the leads of all segments, deg."""
        return float(np.degrees(np.angle(np.mean(np.exp(1j * np.radians(self.edge_cell_lead))))))

    @property
    def edge_cell_peak(self) -> Array:
        """Phase lag (S,) of the right edge cells' maximum after the motoneurons change sides, deg.

        The sides change when the right motoneurons become more active than the left ones, in the mean cycle.
        """
        mn, edge = (self.mean_cycle(values) for values in (self.cell(self.muscles), self.edge_cells))
        excess = mn[:, 1] - mn[:, 0]
        late = np.argmax(edge[:, 1], 0) - [_upward(column) for column in excess.T]
        return (late + 180.0) % 360.0 - 180.0

    def mean_cycle(self, values: Array) -> Array:
        """Average ``values`` (T, ...) over the cycles at every degree of phase, (360, ...)."""
        period = np.arange(360) / 360
        moments = (self.cycles[:-1, None] + period * np.diff(self.cycles)[:, None]).ravel()
        flat = values.reshape(len(values), -1)
        columns = [np.interp(moments, self.time, column).reshape(-1, 360).mean(0) for column in flat.T]
        return np.stack(columns, 1).reshape(360, *values.shape[1:])

    def burst(self, side: int) -> float:
        """Return the time per cycle for which the middle joint's left (0) or right (1) motoneurons are active, s."""
        middle = np.flatnonzero(self.joint == self.joints // 2)
        return float(np.mean(self.cell(self.muscles)[self.whole][:, side, middle] > 0.0) / self.frequency)


def _upward(excess: Array) -> float:
    """Return the phase (deg) at which a cycle (360,) last turned positive before its maximum."""
    top = int(np.argmax(excess))
    before = np.roll(excess, -top - 1)[::-1]
    return top - int(np.argmax(before < 0.0)) + 0.5
