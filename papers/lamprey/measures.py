"""Measures of swimming for the figures of Ekeberg (1993)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.lamprey import analysis
from gymnosoma.envs.lamprey.analysis import slope

Array = NDArray[np.float64]


class Swimming(analysis.Swimming):
    """Statistics of steady swimming, with the phases and amplitudes that the paper shows."""

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
