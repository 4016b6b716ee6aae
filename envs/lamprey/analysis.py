"""Analysis of swimming as in Ekeberg (1993): frequency, phase lags, speed, entrainment.

Here is what users of recorded runs need. Measures that only the figures of the paper show are in ``papers/lamprey``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gymnosoma.moved import point_from, points

from ..core.arguments import number, numbers, shown, whole
from ..core.kinds import takes_objects
from ..core.model.simulate import simulate
from ..core.model.trajectory import Trajectory
from .animal import IsolatedCord, Lamprey

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Entrainment:
    """Entrainment of a cord's rhythm by each imposed frequency, joint by joint; see `entrain`.

    Args:
        frequency ((F,) array, Hz): Imposed frequencies.
        rhythm ((F, n - 1) array, Hz): Frequency of the motoneurons of each joint, NaN without a rhythm.
        wander ((F, n - 1) array, cycles): Range of the rhythm's phase relative to the imposed cycle.
        apart ((F, n - 1) array, cycles): Effect of the bending on the phase, from two runs with opposite bending: 0 if
            their final phases differ by half a cycle, so that the rhythm follows, and 0.5 if they are equal, so that
            the rhythm is independent.
        free ((n - 1,) array, Hz): Frequency of the same cord without bending.
    """

    frequency: Array
    rhythm: Array
    wander: Array
    apart: Array
    free: Array

    @property
    def drift(self) -> Array:
        """Imposed minus actual frequency, (F, n - 1) Hz."""
        return self.frequency[:, None] - self.rhythm

    @property
    def entrained(self) -> NDArray[np.bool_]:
        """Whether the rhythm follows the bending one to one, (F, n - 1).

        Its phase must stay within a quarter of a cycle over the last half of the run, and must depend on the bending.
        The phase of an independent rhythm with a similar frequency stays constant, too, but depends only on its start.
        """
        return (self.wander < 0.25) & (self.apart < 0.25)

    def range(self, joint: int) -> tuple[float, float]:
        """Return the lowest and highest of the successive entraining frequencies closest to the free one, Hz.

        Both are NaN if no frequency entrains. ``joint`` is 0 at the head.
        """
        indices = np.flatnonzero(self.entrained[:, joint])
        if not indices.size:
            return float("nan"), float("nan")
        runs = np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1)
        run = min(runs, key=lambda r: np.min(np.abs(self.frequency[r] - self.free[joint])))
        return float(self.frequency[run[0]]), float(self.frequency[run[-1]])


@takes_objects
def entrain(
    cord: IsolatedCord | Lamprey,
    frequencies: ArrayLike,
    amplitude: float = 0.5,
    bent: Sequence[int] = (0, 1, 2),
    drive: ArrayLike = (0.4, 0.0, 0.7),
    duration: float = 40.0,
    start: Mapping[str, ArrayLike] | None = None,
) -> Entrainment:
    """Bend part of a cord sinusoidally, and find the frequencies that its rhythm follows one to one.

    All frequencies are simulated in parallel, and twice, with opposite bending. The rhythm of a joint is that of its
    motoneurons, left minus right, in the last half of the run. With the paper's synapses, the head dominates: if it is
    bent, the whole cord follows. If only the tail is bent, it is overruled by the rostral cord or follows alone.

    A `Lamprey` swims during this, and is bent by torques (``forced_bending``).

    Args:
        cord (IsolatedCord or Lamprey): Cord to bend.
        frequencies ((F,) float, Hz): Frequencies in ascending order, at most 50.
        amplitude (rad, or N m): Amplitude of the angle of each bent joint, or of the torque on it, at most 2.
        bent (sequence of int): Bent joints, 0 at the head; by default the first three.
        drive ((3,) float): Tonic level, asymmetry and head extra.
        duration (s): Duration of each run.
        start: Initial values and parameters, such as ``transection``.

    Raises:
        ValueError: If a number is out of range, or a joint does not exist.

    Examples:
        >>> import numpy as np
        >>> from gymnosoma.envs.lamprey import IsolatedCord
        >>> from gymnosoma.envs.lamprey.analysis import entrain
        >>> result = entrain(IsolatedCord(), np.arange(3.4, 4.6, 0.1))
        >>> [low, high], free = result.range(joint=8), result.free[8]
        >>> print(f"free {free:.2f} Hz, entrained {low:.1f} to {high:.1f} Hz")
        free 3.81 Hz, entrained 3.8 to 4.2 Hz
    """
    imposed = np.atleast_1d(numbers("frequencies", frequencies, above=0, maximum=50))
    joints = cord.links - 1
    for joint in bent:
        whole("bent", joint, 0, joints - 1)
    number("amplitude", amplitude, minimum=0, maximum=2)
    if not (np.diff(imposed) > 0).all():
        raise ValueError(f"frequencies must be in ascending order, got {shown(frequencies)}")
    count, all_of = len(imposed), np.concatenate([imposed, imposed, [0.0]])  # the last one is free
    side = np.where(np.arange(len(all_of)) < count, 1.0, -1.0)
    drives = np.zeros((len(all_of), cord.drive_size))
    drives[:, :3] = drive

    def bending(t: float) -> Array:
        drives[:, [3 + j for j in bent]] = (amplitude * side * np.sin(2.0 * np.pi * all_of * t))[:, None]
        return drives

    driven: Any = bending
    if isinstance(cord, Lamprey):  # a sine lags a cosine by a quarter of a cycle
        torque = amplitude * np.isin(np.arange(joints), bent) * (all_of > 0.0)[:, None]
        forced = {"forced_bending": torque, "forced_frequency": all_of}
        driven, start = drives, {**(start or {}), **forced, "forced_lag": np.outer(0.5 * np.pi * side, np.ones(joints))}

    rhythm, wander, phase = np.full((3, len(all_of), joints), np.nan)
    wander[:] = np.inf
    every, signals = 10e-3, ("motoneuron",)
    whole_duration = round(duration / every) * every
    runs = simulate(cord, driven, whole_duration, every, start, every, count=len(drives), signals=signals)
    for k, run in enumerate(runs):
        late = run.time >= 0.5 * duration
        for j, wave in enumerate((run["motoneuron"][late, 0] - run["motoneuron"][late, 1]).T):
            onsets = _crossings(run.time[late], wave)
            if len(onsets) > 3:
                rhythm[k, j] = 1.0 / slope(onsets)
                wander[k, j] = np.ptp(np.arange(len(onsets)) - all_of[k] * onsets)
                phase[k, j] = all_of[k] * onsets[-1]
    apart = np.abs((phase[:count] - phase[count:-1]) % 1.0 - 0.5)  # the bending differs by half a cycle
    return Entrainment(imposed, rhythm[:count], wander[:count], apart, rhythm[-1])


@points
class Swimming:
    """Statistics of steady swimming in the last half of a run.

    Cycles start where M_L - M_R at the middle joint of the segments crosses its mean upwards. Phases and amplitudes are
    those of the fundamental over whole cycles. The two parts of a cut cord may have different rhythms: measure each one
    with ``segments``.

    Args:
        lamprey (Lamprey or IsolatedCord): Animal of the run.
        run (Trajectory): Result of `simulate` with a cord, recorded every 10 ms.
        begin (s): Start of the statistics; by default the middle of the run.
        segments ((int, int)): First segment (0 at the head), and the one after the last, of the part whose cycles and
            lag are measured; by default the whole cord. Behind ``transection: 50`` it is (50, 100).

    Attributes:
        frequency (float, Hz): Frequency of the cycles.
        cycles ((N,) float, s): Start times of the cycles.

    Raises:
        ValueError: If the animal failed or has no circuit, there is no rhythm, the recording intervals differ, or
            ``segments`` are not in the cord.
    """

    @takes_objects
    def __init__(
        self,
        lamprey: Lamprey | IsolatedCord,
        run: Trajectory,
        begin: float | None = None,
        segments: tuple[int, int] | None = None,
    ) -> None:
        if run.failure is not None:
            raise ValueError(f"run must not fail, got {run.failure!r}")
        if run.every is not None and np.abs(run.time - run.every * np.arange(len(run.time))).max() > 1e-6 * run.every:
            raise ValueError(
                f"run must be recorded at equal intervals, got times that are not multiples of every={run.every!r}"
            )
        late = slice(len(run.time) // 2 if begin is None else int(np.searchsorted(run.time, begin - 1e-9)), None)
        self.time = run.time[late]
        self.signal = {name: run[name][late] for name in run}
        self.params = lamprey.params
        circuit = lamprey.circuit
        if circuit is None:
            raise ValueError("lamprey must have a cord or another circuit, got none")
        self.joints = self.signal["joint_angle"].shape[1]
        self.joint = circuit.joints(self.joints)
        """Nearest joint of each segment, (S,); the segment has the edge cells of this joint."""
        self.cells = lamprey.cells
        """Names of the populations."""
        self.muscles = circuit.muscles
        first, end = segments if segments is not None else (0, len(self.joint))
        whole("segments", first, 0, len(self.joint) - 2)
        whole("segments", end, first + 2, len(self.joint))
        self.part = slice(first, end)
        """The segments whose cycles and lag are measured."""
        joints = self.joint[self.part]
        middle = first + np.flatnonzero(joints == (joints[0] + joints[-1] + 1) // 2)
        drive = self.cell(self.muscles)[:, :, middle].mean(2)
        self.cycles = _crossings(self.time, drive[:, 0] - drive[:, 1])
        if len(self.cycles) < 3:
            raise ValueError(f"run must have a rhythm, got {len(self.cycles)} cycles in {np.ptp(self.time):g} s")
        self.frequency = (len(self.cycles) - 1) / (self.cycles[-1] - self.cycles[0])
        self.whole = (self.time >= self.cycles[0]) & (self.time < self.cycles[-1])
        """Whether each sample is in a whole cycle, (T,)."""

    def __getitem__(self, name: str) -> Array:
        return self.signal[name]

    @property
    def neurons(self) -> Array:
        """Outputs (T, 2, P, S) of left and right cells, by population."""
        return self.signal["neurons"]

    def fundamental(self, values: Array) -> NDArray[np.complex128]:
        """Return the complex amplitude of ``values`` (T, ...) at the frequency of the cycles."""
        turns = np.exp(-2j * np.pi * self.frequency * self.time[self.whole])
        return 2.0 * np.tensordot(turns, values[self.whole], 1) / self.whole.sum()

    def cell(self, name: str) -> Array:
        """Return the output (T, 2, S) of the left and right cells of a population."""
        return self.neurons[:, :, self.cells.index(name)]

    @property
    def speed(self) -> float:
        """Mean speed of the centre from cycle to cycle, m/s."""
        centre = np.stack([np.interp(self.cycles, self.time, c) for c in self["centre"].T], 1)
        return float(np.mean(np.linalg.norm(np.diff(centre, axis=0), axis=1) / np.diff(self.cycles)))

    @property
    def phase(self) -> Array:
        """Phase lag (S,), in cycles, of the motoneurons of each segment relative to the first of the measured ones.

        It is NaN for segments outside these, and for segments that do not follow the rhythm: its fundamental has less
        than half of the variance of their motoneurons, left minus right.
        """
        mn = self.cell(self.muscles)[:, :, self.part]
        wave = mn[:, 0] - mn[:, 1]
        fundamental, variance = self.fundamental(wave), wave[self.whole].var(0)
        angle = np.unwrap(np.angle(fundamental))
        rhythmic = (variance > 1e-6) & (np.abs(fundamental) ** 2 > variance)
        lag = np.full(len(self.joint), np.nan)
        lag[self.part] = np.where(rhythmic, (angle[0] - angle) / (2.0 * np.pi), np.nan)
        return lag

    @property
    def lag(self) -> float:
        """Phase lag per segment in cycles, without the first and last tenth; NaN if a segment has no lag."""
        lags = self.phase[self.part]
        tenth = len(lags) // 10
        return slope(lags[tenth : len(lags) - tenth])


def _crossings(time: Array, values: Array) -> Array:
    """Return the times, s, of upward crossings of the mean of values (T,), for evenly spaced ``time`` (T,)."""
    wave = values - values.mean()
    up = np.flatnonzero((wave[:-1] < 0) & (wave[1:] >= 0))
    return time[up] - (time[1] - time[0]) * wave[up] / (wave[up + 1] - wave[up])


def slope(values: Array) -> float:
    """Return the slope of a linear fit to ``values``, per entry."""
    return float(np.polyfit(np.arange(len(values)), values, 1)[0])


point_from(__name__)
