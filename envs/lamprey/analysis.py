"""Swimming as Ekeberg (1993) describes it: rhythm, waves of neurons and body, speed, turning, edge cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.trajectory import Trajectory
from .animal import Lamprey
from .nerves import CELLS, MN

Array = NDArray[np.float64]


def swim(
    lamprey: Lamprey,
    drive: ArrayLike,
    duration: float = 20.0,
    start: Mapping[str, ArrayLike] | None = None,
    after: tuple[float, ArrayLike] | None = None,
    signals: Sequence[str] = ("centre", "link_angle", "link_centre", "joint_angle", "edge_cell", "neurons"),
) -> list[Trajectory]:
    """Simulate many lampreys side by side, recorded every 10 ms; `simulate` does one.

    Parameters
    ----------
    lamprey : Lamprey
    drive : (B, drive_size) float
        Held.
    duration : float, s
    start : mapping, optional
        Initial values and parameters, each with or without a leading axis of B; see `Lamprey.reset`.
    after : (float, (B, drive_size) float), optional
        Time (s) from which on another drive is held.
    signals : sequence of str
        What to record, see `Lamprey`.

    Returns
    -------
    list of Trajectory
        One for each animal, from time 0 until it fails.
    """
    every = 10e-3
    steps = round(every / lamprey.dt)
    drives = np.array(drive, float)
    later, second = (np.inf, drives) if after is None else (after[0], np.array(after[1], float))
    rows, ids = lamprey.rows(len(drives)), np.arange(len(drives))
    lamprey.reset(rows, ids, start)
    records: dict[str, list[Array]] = {name: [np.copy(lamprey.signals[name](rows))] for name in signals}
    moments = np.ones(len(drives), int)
    for k in range(round(duration / every)):
        lamprey.advance(rows, ids, drives if (k + 0.5) * every < later else second, steps)
        for name in signals:
            records[name].append(np.copy(lamprey.signals[name](rows)))
        moments += rows["status"] == 0.0
    recorded = {name: np.array(values) for name, values in records.items()}
    return [
        Trajectory(
            every * np.arange(count, dtype=float),
            {name: values[:count, row] for name, values in recorded.items()},
            lamprey.failures.get(float(rows["status"][row])),
        )
        for row, count in enumerate(moments)
    ]


class Swimming:
    """Statistics of steady swimming, over the last half of a run.

    Cycles are upward crossings of the mean by M_L - M_R of the middle joint; phases and amplitudes are those of the
    fundamental over whole cycles.

    Parameters
    ----------
    lamprey : Lamprey
    run : Trajectory
        Of `swim`, or of `simulate` with a cord; recorded every 10 ms.
    begin : float, s, optional
        Where the statistics begin; half the time of the run by default.

    Raises
    ------
    ValueError
        Where the animal failed, or there is no rhythm.
    """

    def __init__(self, lamprey: Lamprey, run: Trajectory, begin: float | None = None) -> None:
        if run.failure is not None:
            raise ValueError(f"run must not fail, got {run.failure!r}")
        late = slice(len(run.time) // 2 if begin is None else int(np.searchsorted(run.time, begin - 1e-9)), None)
        self.time = run.time[late]
        self.signal = {name: run[name][late] for name in run}
        self.interval = self.time[1] - self.time[0]
        self._length, self._mass = np.asarray(lamprey.params.length), np.asarray(lamprey.params.mass)
        segments = self.neurons.shape[3]
        self.joints = self.signal["joint_angle"].shape[1]
        link = segments // (self.joints + 1)
        self.joint = np.clip((np.arange(segments) - link // 2) // link, 0, self.joints - 1)
        """Nearest joint of each segment, whose edge cells it has, (S,)."""
        middle = np.flatnonzero(self.joint == self.joints // 2)
        drive = self.neurons[:, :, MN, middle].mean(2)
        wave = drive[:, 0] - drive[:, 1]
        wave = wave - wave.mean()
        up = np.flatnonzero((wave[:-1] < 0) & (wave[1:] >= 0))
        if len(up) < 3:
            raise ValueError(f"run must have a rhythm, got {len(up)} cycles in {np.ptp(self.time):g} s")
        self.cycles = self.time[up] - self.interval * wave[up] / (wave[up + 1] - wave[up])
        """When they begin, s."""
        self.frequency = (len(self.cycles) - 1) / (self.cycles[-1] - self.cycles[0])
        """Hz."""
        self._whole = (self.time >= self.cycles[0]) & (self.time < self.cycles[-1])

    def __getitem__(self, name: str) -> Array:
        return self.signal[name]

    @property
    def neurons(self) -> Array:
        """Outputs (T, 2, 4, S) of left and right EIN, CCIN, LIN and MN."""
        return self.signal["neurons"]

    def fundamental(self, values: Array) -> NDArray[np.complex128]:
        """Complex amplitude of ``values`` (T, ...) at the frequency of the rhythm."""
        turns = np.exp(-2j * np.pi * self.frequency * self.time[self._whole])
        return 2.0 * np.tensordot(turns, values[self._whole], 1) / self._whole.sum()

    def cell(self, name: str) -> Array:
        """Output (T, 2, S) of the left and right cells of a type."""
        return self.neurons[:, :, CELLS.index(name)]

    @cached_property
    def edge_cells(self) -> Array:
        """Output (T, 2, S) of the edge cells that each segment has, 1/m."""
        return self.signal["edge_cell"][:, :, self.joint]

    @property
    def speed(self) -> float:
        """Of the centre from cycle to cycle, m/s."""
        centre = np.stack([np.interp(self.cycles, self.time, c) for c in self["centre"].T], 1)
        return float(np.mean(np.linalg.norm(np.diff(centre, axis=0), axis=1) / np.diff(self.cycles)))

    @property
    def phase(self) -> Array:
        """Lag (S,) in cycles of the motoneurons of each segment behind the first's."""
        mn = self.cell("MN")
        angle = np.unwrap(np.angle(self.fundamental(mn[:, 0] - mn[:, 1])))
        return (angle[0] - angle) / (2.0 * np.pi)

    @property
    def wavelength(self) -> float:
        """Length of the neural wave in cords, from the lags of all but the first and last tenth of the segments."""
        lag = self.phase
        tenth = len(lag) // 10
        return float(1.0 / (_slope(lag[tenth:-tenth]) * len(lag)))

    @property
    def mechanical_wave(self) -> float:
        """Speed of the wave of joint angles along the body, m/s."""
        angle = np.unwrap(np.angle(self.fundamental(self["joint_angle"])))
        return float(-2.0 * np.pi * self.frequency * self._length.mean() / _slope(angle))

    @property
    def lateral(self) -> Array:
        """Amplitude (n,) of the links' midpoints across the way, m, head to tail."""
        way = self["centre"][-1] - self["centre"][0]
        across = np.array([-way[1], way[0]]) / np.hypot(*way)
        return np.abs(self.fundamental(self["link_centre"] @ across))

    @property
    def edge_cell_lead(self) -> Array:
        """Phase (S,) of edge cells before the motoneurons of their side and segment, right minus left, deg."""
        mn, edge = self.cell("MN"), self.edge_cells
        ratio = self.fundamental(edge[:, 1] - edge[:, 0]) / self.fundamental(mn[:, 1] - mn[:, 0])
        return np.degrees(np.angle(ratio))

    @property
    def mean_edge_cell_lead(self) -> float:
        """Mean direction of the leads of all segments, deg."""
        return float(np.degrees(np.angle(np.mean(np.exp(1j * np.radians(self.edge_cell_lead))))))

    @property
    def edge_cell_peak(self) -> Array:
        """Phase (S,) by which the right edge cells' maximum follows the change of sides of the motoneurons, deg.

        In the mean cycle; sides change where those of the right become more active than those of the left.
        """
        mn, edge = (self.mean_cycle(values) for values in (self.cell("MN"), self.edge_cells))
        excess = mn[:, 1] - mn[:, 0]
        late = np.argmax(edge[:, 1], 0) - [_upward(column) for column in excess.T]
        return (late + 180.0) % 360.0 - 180.0

    def mean_cycle(self, values: Array) -> Array:
        """Mean of ``values`` (T, ...) over the cycles, at every degree of phase, (360, ...)."""
        period = np.arange(360) / 360
        moments = (self.cycles[:-1, None] + period * np.diff(self.cycles)[:, None]).ravel()
        flat = values.reshape(len(values), -1)
        columns = [np.interp(moments, self.time, column).reshape(-1, 360).mean(0) for column in flat.T]
        return np.stack(columns, 1).reshape(360, *values.shape[1:])

    def burst(self, side: int) -> float:
        """How long in a cycle the motoneurons of the middle joint on the left (0) or right (1) are active, s."""
        middle = np.flatnonzero(self.joint == self.joints // 2)
        return float(np.mean(self.cell("MN")[self._whole][:, side, middle] > 0.0) / self.frequency)

    @property
    def turn_rate(self) -> float:
        """Of the mean angle of the links' mass, deg/s; negative to the right."""
        heading = self["link_angle"] @ self._mass / self._mass.sum()
        return float(np.degrees(np.polyfit(self.time, heading, 1)[0]))

    @property
    def silent_left_lin(self) -> float:
        """Share of the left LIN that never fire."""
        return float(np.mean(self.cell("LIN")[:, 0].max(0) == 0.0))


def _upward(excess: Array) -> float:
    """Place (deg) where a cycle (360,) last turned positive before its maximum."""
    top = int(np.argmax(excess))
    before = np.roll(excess, -top - 1)[::-1]
    return top - int(np.argmax(before < 0.0)) + 0.5


def _slope(values: Array) -> float:
    """Increase per place."""
    return float(np.polyfit(np.arange(len(values)), values, 1)[0])
