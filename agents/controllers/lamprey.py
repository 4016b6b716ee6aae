"""Reference controllers of the lamprey: spinal cord, steering by the brainstem, and travelling waves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gymnosoma.envs.core.arguments import choice
from gymnosoma.envs.core.model.control import Controller, Flags, Floats, OpenLoop, Values
from gymnosoma.envs.lamprey import IsolatedCord
from gymnosoma.envs.lamprey.params import table
from gymnosoma.envs.lamprey.steering import Steering as Heading
from gymnosoma.envs.lamprey.steering import command
from gymnosoma.envs.lamprey.tasks import BRAINSTEM, Economy, Escape, Waypoints

from . import Law, read_references
from .base import ByHand, RowMemory, moved, pressed

BY_JOINT = ("motoneuron", "muscle")
"""Kinds of drive of a lamprey without a cord."""


class LampreyCPG(RowMemory):
    """Spinal cord as a policy, which reads edge cells and commands motoneurons or muscles; one cord per row.

    Cord and body interact once per control period; in the model, they interact every 10 ms. At a control rate of 50 Hz,
    frequency and speed differ from the model by less than 2 %; at 20 Hz, the lamprey loses a quarter of its speed.

    Args:
        tonic: Tonic level of excitation.
        asymmetry: Addition to the level on the right, subtracted on the left.
        head_extra: Relative increase of the level in the head segments; by default the paper's.
        control_rate (Hz): Control rate, a divisor of 100 Hz.
        kick: Initial excitation xi+ of the excitatory interneurons (EIN) on the left, or on the right if negative. With
            0 the rhythm does not start.
        drive ({"motoneuron", "muscle"}): ``"motoneuron"``: commands equivalent to the inputs of the cord's motoneurons;
            ``"muscle"``: their outputs. Both are means over the segments of a joint and over a control period.
    """

    reads: tuple[str, ...] = ("edge_cell",)
    dt = 10e-3
    """Time step of the neurons, s."""

    def __init__(
        self,
        tonic: float = 0.4,
        asymmetry: float = 0.0,
        head_extra: float | None = None,
        control_rate: float = 50.0,
        kick: float = 0.1,
        drive: str = "motoneuron",
    ) -> None:
        choice("drive", drive, BY_JOINT)
        self._commands = drive == "motoneuron"
        extra = table()["head_extra"] if head_extra is None else head_extra
        self._brainstem = np.array([tonic, asymmetry, extra])
        self.kick, self.control_rate = kick, control_rate
        self._steps = round(1.0 / (control_rate * self.dt))
        if abs(self._steps * control_rate * self.dt - 1.0) > 1e-6:
            raise ValueError(f"control_rate must divide {1 / self.dt:g} Hz, got {control_rate!r}")
        self._cord = IsolatedCord()
        self.rows = self._cord.rows(0)

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return commands of the motoneurons or their outputs (B, 2 n - 2), left, then right."""
        if len(self.rows) != len(first):
            self.rows = self._cord.rows(len(first))
            first = np.ones(len(first), np.bool_)
        if first.any():
            self._cord.reset(self.rows, np.flatnonzero(first), {"kick": self.kick})
        edge_cell, angles = np.reshape(signals["edge_cell"], (len(first), -1)), self.rows["joint_angle"]
        inputs = np.concatenate([self.brainstem(t, signals, first), angles, edge_cell], 1)
        self._cord.sense(self.rows, inputs, self._steps)
        output = command(self.rows["excite"], self.rows["inhibit"]) if self._commands else self.rows["output"].copy()
        return output.reshape(len(self.rows), -1)

    def brainstem(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return tonic level, asymmetry and head extra of each row, (B, 3)."""
        return np.tile(self._brainstem, (len(first), 1))


@dataclass(eq=False)
class WaypointSteering(RowMemory):
    """Proportional heading control by the drive of the brainstem, for parameters see `lamprey.steering.Steering`.

    ``goal`` is the signal with the vector to the goal, along and to the left of the heading.
    """

    level: float = 0.4
    gain: float = 0.25
    limit: float = 0.2
    goal: str = "target"
    smoothing: float = 0.25
    control_rate: float = 20.0

    def __post_init__(self) -> None:
        self.reads = (self.goal,)
        self._heading = Heading(self.level, self.gain, self.limit, self.smoothing)
        self.memory = {"recent": np.zeros((2, self._heading.kept(self.control_rate)))}

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return tonic level, asymmetry and head extra (B, 3)."""
        first, memory = self.recall(first)
        return self._heading.drive(self._heading.asymmetry(signals[self.goal], first, memory["recent"]))


class SteeredCPG(LampreyCPG):
    """Spinal cord as a policy, with tonic level, asymmetry and head extra from another controller."""

    def __init__(self, steering: Controller, control_rate: float = 50.0, drive: str = "motoneuron") -> None:
        super().__init__(control_rate=control_rate, drive=drive)
        self.steering = steering
        self.reads = (*LampreyCPG.reads, *steering.reads)

    def brainstem(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return tonic level, asymmetry and head extra of each row, (B, 3)."""
        return self.steering.drive(t, signals, first)


class EscapeTurn(SteeredCPG):
    """Steered cord that starts with a bend of the whole body to the side of the goal if the bearing is large.

    This turn is not from Ekeberg's paper. The bend lasts ``turn``
    (s/rad) times the excess of the initial bearing over ``ahead`` (rad). ``level``, ``gain`` and ``limit`` are
    parameters of the subsequent `WaypointSteering`.
    """

    def __init__(
        self,
        level: float,
        gain: float,
        limit: float,
        turn: float,
        ahead: float,
        control_rate: float = 50.0,
        drive: str = "motoneuron",
    ) -> None:
        steering = WaypointSteering(level, gain, limit, "direction", control_rate=control_rate)
        super().__init__(steering, control_rate, drive)
        self.turn, self.ahead = turn, ahead
        self._off = -1.0 if drive == "motoneuron" else 0.0
        self.memory = {"bearing": 0.0}

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return the drive of the joints (B, 2 n - 2), left, then right."""
        drive, (_, memory) = super().drive(t, signals, first), self.recall(first)
        way = signals["direction"]
        bearing = memory["bearing"] = np.where(first, np.arctan2(way[:, 1], way[:, 0]), memory["bearing"])
        bending = t < self.turn * (np.abs(bearing) - self.ahead)
        left = np.where(bearing > 0.0, 1.0, self._off)
        right = np.where(bearing > 0.0, self._off, 1.0)
        bend = np.repeat(np.stack([left, right], 1), drive.shape[1] // 2, 1)
        return np.where(bending[:, None], bend, drive)


class _Brainstem(OpenLoop):
    """Adjustable constant drive of the brainstem."""

    def __init__(self) -> None:
        self.tonic, self.asymmetry, self.head_extra = 0.4, 0.0, table()["head_extra"]

    def at(self, t: Floats) -> Floats:
        """Return tonic level, asymmetry and head extra (T, 3)."""
        return np.tile([self.tonic, self.asymmetry, self.head_extra], (len(t), 1))


class Steering(ByHand):
    """Keyboard control of the brainstem."""

    control_rate = 50.0
    keys = (("left, right", "turn"), ("up, down", "faster, slower"), ("W, S", "more, less for the head"))
    largest = BRAINSTEM["asymmetry"].high
    """Maximum asymmetry."""

    def __init__(self, task: Any) -> None:
        super().__init__()
        self.brainstem = _Brainstem()
        self._controller = _driving(task, self.brainstem, self.control_rate)
        self.reads = self._controller.reads

    def hold(self, keys: Set[str], dt: float) -> None:
        b = self.brainstem
        aim = self.largest * pressed(keys, "right", "left")
        b.asymmetry += float(np.clip(aim - b.asymmetry, -dt, dt))
        tonic, head_extra = BRAINSTEM["tonic"], BRAINSTEM["head_extra"]
        b.tonic = moved(b.tonic, 0.2 * dt * pressed(keys, "up", "down"), tonic.low, tonic.high)
        b.head_extra = moved(b.head_extra, 0.5 * dt * pressed(keys, "w", "s"), head_extra.low, head_extra.high)

    def state(self) -> str:
        b = self.brainstem
        return f"level {b.tonic:.2f}, asymmetry {b.asymmetry:+.2f}, head + {100 * b.head_extra:.0f} %"

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return the drive of the brainstem (B, 3), or of the joints (B, 2 n - 2) by a cord if the animal has none."""
        return self._controller.drive(t, signals, first)


class SteeredWave(RowMemory):
    """Travelling wave of excitation with steering, and with frequency and amplitude adapted to the remaining distance.

    ``left = tanh(w + bias + offset)``, ``right = tanh(-w - bias + offset)``. The wave w is a sine with a length of
    ``wavelength`` body lengths and an amplitude from ``head`` to ``tail``. The bias is ``gain b + integral int b dt``,
    clipped to ``limit``, where b is the bearing of the goal, averaged over 0.2 s. The ``frequency`` (Hz) is multiplied
    by min(n, 2)^``quickening``, both amplitudes by n^``strengthening``. If the time is limited, n is the speed required
    to arrive in time divided by `PACE`, at most 3, and 0 at the goal; if not, n is 1.

    Each parameter is a number, or has one number per row (B,).
    """

    PACE, SMOOTHING, LARGEST = 0.25, 0.2, 2.0

    def __init__(
        self,
        task: Any,
        frequency: Any,
        wavelength: Any,
        head: Any,
        tail: Any,
        gain: Any,
        integral: Any = 0.0,
        limit: Any = 1.0,
        offset: Any = 0.0,
        strengthening: Any = 0.0,
        quickening: Any = 0.0,
    ) -> None:
        choice("actions", task.actions, BY_JOINT)
        self.goal = "target" if "target" in task.layout.fields else "direction"
        self.timed = "time_left" in task.layout.fields
        self.reads = (self.goal, "time_left") if self.timed else (self.goal,)
        self.task = task
        parameters = (frequency, wavelength, head, tail, gain, integral, limit, offset, strengthening, quickening)
        self._parameters = [np.reshape(each, (-1, 1)) for each in parameters]
        self._place = np.arange(task.joints) / task.joints
        self.memory = {"way": np.zeros(2), "turned": np.zeros(1), "phase": np.zeros(1)}

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return the drive of the joints (B, 2 n - 2), left, then right."""
        frequency, wavelength, head, tail, gain, integral, limit, offset, strengthening, quickening = self._parameters
        (first, memory), rate = self.recall(first), self.task.control_rate
        share = np.where(first, 1.0, 1.0 / (self.SMOOTHING * rate))[:, None]
        memory["way"] += share * (signals[self.goal] - memory["way"])
        bearing = np.arctan2(memory["way"][:, 1:], memory["way"][:, :1])
        memory["turned"] = np.clip(memory["turned"] + bearing / rate, -self.LARGEST, self.LARGEST)
        need = self._need(signals)
        bias = np.clip(gain * bearing + integral * memory["turned"], -limit, limit) + self._plan(t)
        some = np.maximum(need, 1e-3)
        memory["phase"] += frequency * np.minimum(some, 2.0) ** quickening / rate
        amplitude = (head + (tail - head) * self._place) * some**strengthening
        wave = amplitude * np.sin(2 * np.pi * (memory["phase"] - self._place / wavelength)) + bias
        drive = np.tanh(np.concatenate([wave, -wave], 1) + offset)
        least = -1.0 if self.task.actions == "motoneuron" else 0.0
        return np.where(need > 0.0, np.maximum(drive, least), least)

    def _need(self, signals: Values) -> Floats:
        if not self.timed:
            return np.ones((len(signals[self.goal]), 1))
        away = np.sqrt(np.sum(signals[self.goal] ** 2, 1, keepdims=True))
        need = np.clip(away / np.maximum(signals["time_left"] - 0.1, 0.1) / self.PACE, 0.0, 3.0)
        return np.where(away > 1.1 * self.task.near, need, 0.0)

    def _plan(self, t: Floats) -> Floats | float:
        """Return an open-loop addition to the bias at times ``t`` (B,) s; for subclasses."""
        return 0.0


class TravellingWave(OpenLoop):
    """Travelling sine wave that excites left and right in turn, and inhibits the opposite side.

    ``frequency`` is in Hz and ``wavelength`` in body lengths. With ``drive="muscle"`` there is excitation only.
    """

    def __init__(
        self,
        amplitude: float = 1.0,
        frequency: float = 6.0,
        wavelength: float = 0.8,
        joints: int = 9,
        drive: str = "motoneuron",
    ) -> None:
        choice("drive", drive, BY_JOINT)
        self.amplitude, self.frequency = amplitude, frequency
        self._least = -1.0 if drive == "motoneuron" else 0.0
        self._place = np.arange(joints) / ((joints + 1) * wavelength)

    def at(self, t: ArrayLike) -> Floats:
        """Return the drive of the joints (T, 2 joints), left, then right, at times ``t`` (T,) s."""
        wave = self.amplitude * np.sin(2 * np.pi * (self.frequency * np.asarray(t)[:, None] - self._place))
        return np.maximum(np.concatenate([wave, -wave], 1), self._least)


def _driving(task: Any, brainstem: Controller, control_rate: float) -> Controller:
    """Return a controller with this ``brainstem``; it includes a cord if the animal has none."""
    if task.animal.circuit is not None:
        return brainstem
    return SteeredCPG(brainstem, control_rate, task.actions)


def _driver(kind: Callable[..., Controller], **constants: float) -> Callable[..., Controller]:
    """Return a constructor that creates a controller from a task."""
    return lambda task, **options: kind(**constants, **options, control_rate=task.control_rate, drive=task.actions)


def _waypoints(task: Any, **steering: Any) -> Controller:
    return _driving(task, WaypointSteering(**steering, control_rate=task.control_rate), task.control_rate)


def _own(task: Any, **steering: Any) -> Controller:
    """Create the steered cord of the task's ``actions="residual"``, by default with its parameters."""
    goal = "target" if "target" in task.layout.fields else "direction"
    return _waypoints(task, **asdict(task.steering) | {"goal": goal} | steering)


LAWS: dict[str, Law] = {"cord": _own, "wave": SteeredWave, "turn": _driver(EscapeTurn)}

REFERENCES = read_references("lamprey", (Economy, Waypoints, Escape), LAWS)


def _joints(animal: Any) -> int:
    if animal.circuit is not None:
        raise ValueError("drive must be 'brainstem' or numbers with a cord; 'sine' needs drive=motoneuron")
    return animal.links - 1


def _own_cord(animal: Any, **parameters: Any) -> Controller:
    if animal.drive_size == 3:
        return _Brainstem(**parameters)
    _joints(animal)
    return LampreyCPG(drive=animal.drive, **parameters)


DRIVES: Mapping[str, Callable[..., Controller]] = {
    "brainstem": _own_cord,
    "sine": lambda animal, **parameters: TravellingWave(joints=_joints(animal), drive=animal.drive, **parameters),
}
"""Controllers that do not need a task."""
