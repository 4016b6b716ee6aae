"""Swimming as Ekeberg (1993) describes it: rhythm, waves of neurons and body, speed, turning, edge cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arguments import number, numbers, shown, whole
from ..core.model.control import Schedule
from ..core.model.run import simulate
from ..core.model.trajectory import Trajectory
from .animal import Lamprey
from .isolated import IsolatedCord

Array = NDArray[np.float64]


def swim(
    lamprey: Lamprey | IsolatedCord,
    drive: ArrayLike | Callable[[float], ArrayLike],
    duration: float = 20.0,
    start: Mapping[str, ArrayLike] | None = None,
    after: tuple[float, ArrayLike] | None = None,
    signals: Sequence[str] = ("centre", "link_angle", "link_centre", "joint_angle", "edge_cell", "neurons"),
) -> list[Trajectory]:
    """Simulate many lampreys side by side, recorded every 10 ms; `simulate` does one.

    Args:
        lamprey (Lamprey or IsolatedCord)
        drive ((B, drive_size) float, or function of time (s)): Held; a function gives it, (B, drive_size), at the
            middle of each 10 ms.
        duration (s)
        start: Initial values and parameters, each with or without a leading axis of B; see `Lamprey`.
        after ((float, (B, drive_size) float)): Time (s) from which on another drive is held, where ``drive`` is no
            function.
        signals (sequence of str): What to record, see `Lamprey`.

    Returns:
        list of Trajectory: One for each animal, from time 0 until it fails.
    """
    every = 10e-3
    count = len(np.asarray(drive(0.5 * every) if callable(drive) else drive))
    schedule: Any = drive
    if after is not None and not callable(drive):
        schedule = Schedule([0.0, after[0]], np.array([drive, after[1]], float))
    duration = round(duration / every) * every
    return simulate(lamprey, schedule, duration, every, start, every, count=count, signals=signals)


@dataclass(frozen=True)
class Entrainment:
    """Which imposed frequencies the rhythm of a cord follows, cycle by cycle, joint by joint; see `entrain`.

    Args:
        frequency ((F,) array, Hz): Imposed.
        rhythm ((F, n - 1) array, Hz): Of the motoneurons of each joint, not a number where there is none.
        wander ((F, n - 1) array): Range over which the phase of the rhythm in the imposed cycle moves, in cycles.
        apart ((F, n - 1) array): Difference between the phases, 0 to half a cycle, in which the rhythm is at the end if
            the same cord is bent from the other side on: 0 where it follows, a half where it goes its own way.
        free ((n - 1,) array, Hz): Rhythm of the same cord without bending.
    """

    frequency: Array
    rhythm: Array
    wander: Array
    apart: Array
    free: Array

    @property
    def drift(self) -> Array:
        """By how many cycles a second the rhythm falls behind the imposed one, (F, n - 1) Hz."""
        return self.frequency[:, None] - self.rhythm

    @property
    def entrained(self) -> NDArray[np.bool_]:
        """Where the phase stays within a quarter of a cycle over the last half, and depends on the bending, (F, n - 1).

        The phase of a rhythm of its own that is near the imposed one stays, too, but wherever it began.
        """
        return (self.wander < 0.25) & (self.apart < 0.25)

    def range(self, joint: int) -> tuple[float, float]:
        """Lowest and highest of the imposed frequencies next to each other, about the free one, that entrain, Hz.

        Both are not a number where none entrains. ``joint`` is 0 at the head.
        """
        indices = np.flatnonzero(self.entrained[:, joint])
        if not indices.size:
            return float("nan"), float("nan")
        runs = np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1)
        run = min(runs, key=lambda r: np.min(np.abs(self.frequency[r] - self.free[joint])))
        return float(self.frequency[run[0]]), float(self.frequency[run[-1]])


def entrain(
    cord: IsolatedCord | Lamprey,
    frequencies: ArrayLike,
    amplitude: float = 0.5,
    bent: Sequence[int] = (0, 1, 2),
    drive: ArrayLike = (0.4, 0.0, 0.7),
    duration: float = 40.0,
    start: Mapping[str, ArrayLike] | None = None,
) -> Entrainment:
    """Bend a part of a cord by a sine of each frequency, and find those that its rhythm follows one to one.

    All are simulated side by side, twice, bent to either side first; the rhythm is that of the motoneurons, left less
    right, of each joint over the last half. With the paper's synapses the head leads: bent there the whole cord
    follows, while the tail bent alone is overruled from in front, or at most follows alone.

    A `Lamprey` swims meanwhile, and is bent by torques (``forced_bending``).

    Args:
        frequencies ((F,) float, Hz): In ascending order.
        amplitude (rad, or N m): Of each bent joint, or of the torque on it.
        bent (sequence of int): Joints, 0 at the head; the first three by default.
        drive ((3,) float): Tonic level, asymmetry and head extra.
        duration (s)
        start: Of the cord, such as ``transection``.

    Raises:
        ValueError: For numbers that are not positive and finite, or joints that are none.

    Examples:
        >>> import numpy as np
        >>> from gymnosoma.envs.lamprey import IsolatedCord
        >>> from gymnosoma.envs.lamprey.analysis import entrain
        >>> found = entrain(IsolatedCord(), np.arange(3.4, 4.6, 0.1))
        >>> [low, high], free = found.range(joint=8), found.free[8]
        >>> print(f"free {free:.2f} Hz, entrained {low:.1f} to {high:.1f} Hz")
        free 3.81 Hz, entrained 3.8 to 4.2 Hz
    """
    sought = np.atleast_1d(numbers("frequencies", frequencies, above=0, maximum=50))
    joints = cord.links - 1
    for joint in bent:
        whole("bent", joint, 0, joints - 1)
    number("amplitude", amplitude, minimum=0, maximum=2)
    if not (np.diff(sought) > 0).all():
        raise ValueError(f"frequencies must be in ascending order, got {shown(frequencies)}")
    count, all_of = len(sought), np.concatenate([sought, sought, [0.0]])  # the last is not bent
    side = np.where(np.arange(len(all_of)) < count, 1.0, -1.0)
    drives = np.zeros((len(all_of), cord.drive_size))
    drives[:, :3] = drive

    def bending(t: float) -> Array:
        drives[:, [3 + j for j in bent]] = (amplitude * side * np.sin(2.0 * np.pi * all_of * t))[:, None]
        return drives

    driven: Any = bending
    if isinstance(cord, Lamprey):  # a sine lags by a quarter of a cycle behind a cosine
        torque = amplitude * np.isin(np.arange(joints), bent) * (all_of > 0.0)[:, None]
        forced = {"forced_bending": torque, "forced_frequency": all_of}
        driven, start = drives, {**(start or {}), **forced, "forced_lag": np.outer(0.5 * np.pi * side, np.ones(joints))}

    rhythm, wander, phase = np.full((3, len(all_of), joints), np.nan)
    wander[:] = np.inf
    for k, run in enumerate(swim(cord, driven, duration, start, signals=("motoneuron",))):
        late = run.time >= 0.5 * duration
        for j, wave in enumerate((run["motoneuron"][late, 0] - run["motoneuron"][late, 1]).T):
            begins = _crossings(run.time[late], wave)
            if len(begins) > 3:
                rhythm[k, j] = 1.0 / slope(begins)
                wander[k, j] = np.ptp(np.arange(len(begins)) - all_of[k] * begins)
                phase[k, j] = all_of[k] * begins[-1]
    apart = np.abs((phase[:count] - phase[count:-1]) % 1.0 - 0.5)  # the sines themselves are half a cycle apart
    return Entrainment(sought, rhythm[:count], wander[:count], apart, rhythm[-1])


class Swimming:
    """Statistics of steady swimming, over the last half of a run.

    Cycles are upward crossings of the mean by M_L - M_R of the middle joint; phases and amplitudes are those of the
    fundamental over whole cycles.

    Args:
        lamprey (Lamprey or IsolatedCord)
        run: Of `swim`, or of `simulate` with a cord; recorded every 10 ms.
        begin (s): Where the statistics begin; half the time of the run by default.

    Raises:
        ValueError: Where the animal failed, there is no rhythm, or the intervals between recordings differ.
    """

    def __init__(self, lamprey: Lamprey | IsolatedCord, run: Trajectory, begin: float | None = None) -> None:
        if run.failure is not None:
            raise ValueError(f"run must not fail, got {run.failure!r}")
        if run.every is not None and np.abs(run.time - run.every * np.arange(len(run.time))).max() > 1e-6 * run.every:
            raise ValueError(
                f"run must be recorded at equal intervals, got every={run.every!r}, where the nearest were"
            )
        late = slice(len(run.time) // 2 if begin is None else int(np.searchsorted(run.time, begin - 1e-9)), None)
        self.time = run.time[late]
        self.signal = {name: run[name][late] for name in run}
        self.params = lamprey.params
        circuit = lamprey.circuit
        if circuit is None:
            raise ValueError("lamprey must have a cord or a circuit, got one whose muscles are driven")
        self.joints = self.signal["joint_angle"].shape[1]
        self.joint = circuit.joints(self.joints)
        """Nearest joint of each segment, whose edge cells it has, (S,)."""
        self.cells = lamprey.cells
        """Names of the neurons."""
        self.muscles = circuit.muscles
        middle = np.flatnonzero(self.joint == self.joints // 2)
        drive = self.cell(self.muscles)[:, :, middle].mean(2)
        self.cycles = _crossings(self.time, drive[:, 0] - drive[:, 1])
        if len(self.cycles) < 3:
            raise ValueError(f"run must have a rhythm, got {len(self.cycles)} cycles in {np.ptp(self.time):g} s")
        """When they begin, s."""
        self.frequency = (len(self.cycles) - 1) / (self.cycles[-1] - self.cycles[0])
        """Hz."""
        self.whole = (self.time >= self.cycles[0]) & (self.time < self.cycles[-1])
        """Moments in whole cycles, (T,)."""

    def __getitem__(self, name: str) -> Array:
        return self.signal[name]

    @property
    def neurons(self) -> Array:
        """Outputs (T, 2, P, S) of left and right cells, by population."""
        return self.signal["neurons"]

    def fundamental(self, values: Array) -> NDArray[np.complex128]:
        """Complex amplitude of ``values`` (T, ...) at the frequency of the rhythm."""
        turns = np.exp(-2j * np.pi * self.frequency * self.time[self.whole])
        return 2.0 * np.tensordot(turns, values[self.whole], 1) / self.whole.sum()

    def cell(self, name: str) -> Array:
        """Output (T, 2, S) of the left and right cells of a type."""
        return self.neurons[:, :, self.cells.index(name)]

    @cached_property
    def edge_cells(self) -> Array:
        """Output (T, 2, S) of the edge cells that each segment has, 1/m."""
        return self.signal["edge_cell"][:, :, self.joint]

    @property
    def speed(self) -> float:
        """Speed of the centre from cycle to cycle, m/s."""
        centre = np.stack([np.interp(self.cycles, self.time, c) for c in self["centre"].T], 1)
        return float(np.mean(np.linalg.norm(np.diff(centre, axis=0), axis=1) / np.diff(self.cycles)))

    @property
    def phase(self) -> Array:
        """Lag (S,) in cycles of the motoneurons of each segment behind the first's."""
        mn = self.cell(self.muscles)
        angle = np.unwrap(np.angle(self.fundamental(mn[:, 0] - mn[:, 1])))
        return (angle[0] - angle) / (2.0 * np.pi)

    @property
    def lag(self) -> float:
        """Lag of the motoneurons from segment to segment in cycles, but for the first and last tenth of the cord."""
        tenth = len(self.joint) // 10
        return slope(self.phase[tenth : len(self.joint) - tenth])

    @property
    def wavelength(self) -> float:
        """Length of the neural wave in cords, from the lags of all but the first and last tenth of the segments."""
        lag = self.phase
        tenth = len(lag) // 10
        return float(1.0 / (slope(lag[tenth:-tenth]) * len(lag)))

    @property
    def turn_rate(self) -> float:
        """Rate of the mean angle of the links' mass, deg/s; negative to the right."""
        heading = self["link_angle"] @ (np.asarray(self.params.mass) / np.sum(self.params.mass))
        return float(np.degrees(np.polyfit(self.time, heading, 1)[0]))


def _crossings(time: Array, values: Array) -> Array:
    """When values (T,) pass their mean upwards, s; ``time`` (T,) is even."""
    wave = values - values.mean()
    up = np.flatnonzero((wave[:-1] < 0) & (wave[1:] >= 0))
    return time[up] - (time[1] - time[0]) * wave[up] / (wave[up + 1] - wave[up])


def slope(values: Array) -> float:
    """Increase of evenly spaced values from one place to the next."""
    return float(np.polyfit(np.arange(len(values)), values, 1)[0])
