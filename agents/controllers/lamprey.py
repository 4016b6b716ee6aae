"""Reference controllers of the lamprey: its spinal cord as a policy, steering by the brainstem, a travelling wave."""

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
from gymnosoma.envs.lamprey.tasks import BRAINSTEM, Economy, Escape, Speed, Waypoints

from . import Reference, References
from .base import ByHand, RowMemory, moved, pressed

BY_JOINT = ("motoneuron", "muscle")
"""Drives of a lamprey without a cord."""


class LampreyCPG(RowMemory):
    """The spinal cord as a policy: reads the edge cells, gives motoneuron drive, one cord per row.

    In the loop of the model cord and body meet every 10 ms, here once a control period: at 50 Hz frequency and
    speed differ by less than 2 %, at 20 Hz a quarter of the speed is lost. With ``drive="motoneuron"`` it commands
    what the cord's own motoneurons receive, on the average of a joint and a period, with ``"muscle"`` their output.

    ``tonic`` is the level of excitation; ``asymmetry`` is added on the right and taken away on the left; ``head_extra``
    raises the level in the head segments by this share. ``kick`` is the excitation xi+ of the left EIN at the start, or
    if negative of the right one: without it nothing begins.
    """

    reads: tuple[str, ...] = ("edge_cell",)
    dt = 10e-3
    """Step of the neurons, s."""

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
        """Commands of the motoneurons or their outputs (B, 2 n - 2), left and right, from ``edge_cell`` 1/m."""
        if len(self.rows) != len(first):
            self.rows = self._cord.rows(len(first))
            first = np.ones(len(first), np.bool_)
        if first.any():
            self._cord.reset(self.rows, np.flatnonzero(first), {"kick": self.kick})
        edge_cell = np.reshape(signals["edge_cell"], self.rows["edge"].shape)
        brainstem = self.brainstem(t, signals, first)
        self._cord.sense(self.rows, brainstem, edge_cell, self._steps)
        output = command(self.rows["excite"], self.rows["inhibit"]) if self._commands else self.rows["output"].copy()
        return output.reshape(len(self.rows), -1)

    def brainstem(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Level, asymmetry and head extra of every row, (B, 3)."""
        return np.tile(self._brainstem, (len(first), 1))


@dataclass(eq=False)
class WaypointSteering(RowMemory):
    """Proportional heading control over the drive of the brainstem, as the environment's own `Heading`.

    ``goal`` is the signal with the way to go, along and to the left of the heading.
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
        """Tonic level, asymmetry and head extra (B, 3)."""
        first, memory = self.recall(first)
        return self._heading.drive(self._heading.asymmetry(signals[self.goal], first, memory["recent"]))


class SteeredCPG(LampreyCPG):
    """The spinal cord as a policy, steered: another controller gives it level, asymmetry and head extra."""

    def __init__(self, steering: Controller, control_rate: float = 50.0, drive: str = "motoneuron") -> None:
        super().__init__(control_rate=control_rate, drive=drive)
        self.steering = steering
        self.reads = (*LampreyCPG.reads, *steering.reads)

    def brainstem(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Level, asymmetry and head extra of every row, (B, 3)."""
        return self.steering.drive(t, signals, first)


class EscapeTurn(SteeredCPG):
    """The steered cord, which first bends the whole body to the side of the goal, for as long as it is far off.

    Ekeberg's paper knows no such turn; its form and its numbers are ours, fitted to the task. The bend lasts ``turn``
    (s/rad) times what the bearing has beyond ``ahead`` (rad); ``level``, ``gain`` and ``limit`` are those of the
    `WaypointSteering` that follows.
    """

    def __init__(
        self,
        level: float = 0.657,
        gain: float = 0.444,
        limit: float = 0.6,
        turn: float = 0.08,
        ahead: float = 0.7,
        control_rate: float = 50.0,
        drive: str = "motoneuron",
    ) -> None:
        steering = WaypointSteering(level, gain, limit, "direction", control_rate=control_rate)
        super().__init__(steering, control_rate, drive)
        self.turn, self.ahead = turn, ahead
        self._off = -1.0 if drive == "motoneuron" else 0.0
        self.memory = {"bearing": 0.0}

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Drive of the joints (B, 2 n - 2), left and right."""
        drive, (_, memory) = super().drive(t, signals, first), self.recall(first)
        way = signals["direction"]
        bearing = memory["bearing"] = np.where(first, np.arctan2(way[:, 1], way[:, 0]), memory["bearing"])
        bending = t < self.turn * (np.abs(bearing) - self.ahead)
        left = np.where(bearing > 0.0, 1.0, self._off)
        right = np.where(bearing > 0.0, self._off, 1.0)
        bend = np.repeat(np.stack([left, right], 1), drive.shape[1] // 2, 1)
        return np.where(bending[:, None], bend, drive)


class SpeedControl(WaypointSteering):
    """Steering, with a tonic level that follows the wanted speed: feed-forward, and the integrated error.

    The level changes by ``integral`` (1/m) times the way that was lost.
    """

    def __init__(
        self, integral: float = 0.3, gain: float = 0.5, limit: float = 0.3, control_rate: float = 20.0
    ) -> None:
        super().__init__(gain=gain, limit=limit, goal="direction", control_rate=control_rate)
        self.integral = integral
        self.reads = (*self.reads, "target_speed", "speed")
        self.memory = {**self.memory, "added": 0.0}

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Tonic level, asymmetry and head extra (B, 3)."""
        drive, memory = super().drive(t, signals, first), self._state or {}
        target, speed = signals["target_speed"][:, 0], signals["speed"][:, 0]
        step = self.integral * (target - speed) / self.control_rate
        memory["added"] = np.clip(np.where(first, 0.0, memory["added"] + step), -0.3, 0.3)
        drive[:, 0] = np.clip(np.interp(target, *SPEEDS) + memory["added"], 0.12, 0.7)
        return drive


SPEEDS = (np.array([0.35, 0.447, 0.713, 0.84]), np.array([0.12, 0.15, 0.4, 0.7]))
"""Speeds (m/s) that tonic levels give in still water."""


class _Brainstem(OpenLoop):
    """Drive of the brainstem as somebody has set it."""

    def __init__(self) -> None:
        self.tonic, self.asymmetry, self.head_extra = 0.4, 0.0, table()["head_extra"]

    def at(self, t: Floats) -> Floats:
        """Tonic level, asymmetry and head extra (T, 3)."""
        return np.tile([self.tonic, self.asymmetry, self.head_extra], (len(t), 1))


class Steering(ByHand):
    """The brainstem in the hands of a person."""

    control_rate = 50.0
    keys = (("left, right", "turn"), ("up, down", "faster, slower"), ("W, S", "more, less for the head"))
    largest = BRAINSTEM["asymmetry"].high
    """Largest asymmetry."""

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
        """Drive of the joints (B, 2 n - 2) by a cord of its own, or the brainstem's (B, 3)."""
        return self._controller.drive(t, signals, first)


class SteeredWave(RowMemory):
    """A wave of excitation that runs down the body, as fast and as strong as there is need, and is bent to the goal.

    left = tanh(w + bias + offset), right = tanh(-w - bias + offset). Here w is a sine of ``wavelength`` body lengths
    whose amplitude goes from ``head`` to ``tail``, and bias = ``gain`` b + ``integral`` int b dt, up to ``limit``, by
    the bearing b of the goal, on the average of a fifth of a second. The need n is 1; where the time is limited, it is
    the speed that gets there by then, over `PACE`, up to 3, and nothing at the goal. The ``frequency`` (Hz) is
    multiplied by n^``quickening`` (of n up to 2), both amplitudes by n^``strengthening``.

    Each parameter is a number or has one for each row (B,).
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
        """Drive of the joints (B, 2 n - 2), left and right."""
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
        """What is added to the bias at times ``t`` (B,) s, whatever is seen."""
        return 0.0


class TravellingWave(OpenLoop):
    """A sine wave of drive that runs down the body, left and right in turn: one excited, the other inhibited.

    ``frequency`` is in Hz and ``wavelength`` in body lengths; muscles (``drive="muscle"``) cannot be inhibited.
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
        """Drive of the joints (T, 2 joints), left and right, at times ``t`` (T,) s."""
        wave = self.amplitude * np.sin(2 * np.pi * (self.frequency * np.asarray(t)[:, None] - self._place))
        return np.maximum(np.concatenate([wave, -wave], 1), self._least)


def _driving(task: Any, brainstem: Controller, control_rate: float) -> Controller:
    """Drive the task's animal by ``brainstem``, through a cord of the controller's own where the animal has none."""
    if task.animal.circuit is not None:
        return brainstem
    return SteeredCPG(brainstem, control_rate, task.actions)


def _driver(kind: Callable[..., Controller], **constants: float) -> Callable[..., Controller]:
    """Maker of a controller that commands what the task's actions do."""
    return lambda task, **options: kind(**constants, **options, control_rate=task.control_rate, drive=task.actions)


def _waypoints(task: Any, **steering: Any) -> Controller:
    return _driving(task, WaypointSteering(**steering, control_rate=task.control_rate), task.control_rate)


def _own(task: Any, **steering: Any) -> Controller:
    """The cord, steered as the task itself does with ``actions="residual"``, or with other parameters."""
    goal = "target" if "target" in task.layout.fields else "direction"
    return _waypoints(task, **asdict(task.steering) | {"goal": goal} | steering)


_STEERING = {"level": (0.12, 0.7), "gain": (0.05, 1.0), "limit": (0.05, 0.3)}

WAVES: Mapping[type, Mapping[str, float]] = {
    Economy: {
        "frequency": 1.811,
        "wavelength": 2.389,
        "head": 1.44,
        "tail": 0.188,
        "gain": 0.83,
        "integral": 0.095,
        "limit": 0.519,
        "offset": -0.552,
        "strengthening": 0.416,
        "quickening": 0.655,
    },
    Escape: {"frequency": 4.5, "wavelength": 0.808, "head": 0.414, "tail": 1.879, "gain": 0.186},
    Waypoints: {"frequency": 2.156, "wavelength": 1.461, "head": 0.873, "tail": 0.587, "gain": 0.357, "offset": -0.092},
}
"""Parameters of the `SteeredWave` of each task.

It knows what the task shows of the goal, and of the time left; current and weak side it does not know. CMA-ES found the
numbers, in episodes from seed 700000 on: the 10 of Economy in 48 episodes and 31 CPU s, the 5 of Escape in 40 and
16 CPU s, the 6 of Waypoints in 16 and 45 CPU s.
"""

_MOTONEURON = {"actions": "motoneuron"}


def _steered_wave(task: Any, **parameters: Any) -> Controller:
    return SteeredWave(task, **{**WAVES[type(task)], **parameters})


def _wave_of(kind: type) -> Reference:
    """Reference that knows nothing but what the task shows, and at which speed a lamprey is cheap."""
    around = {name: (0.5 * value, 1.5 * value) for name, value in WAVES[kind].items()}
    return Reference(_steered_wave, _MOTONEURON, {name: around[name] for name in ("frequency", "tail", "gain")})


REFERENCES: References = {
    Economy: {
        "baseline": Reference(_own, _MOTONEURON, _STEERING),
        "wave": _wave_of(Economy),
    },
    Waypoints: {"baseline": Reference(_waypoints, bounds=_STEERING), "wave": _wave_of(Waypoints)},
    Escape: {
        "baseline": Reference(_own, _MOTONEURON, _STEERING),
        "wave": _wave_of(Escape),
        "turn": Reference(
            _driver(EscapeTurn),
            _MOTONEURON,
            bounds={"level": (0.3, 0.8), "gain": (0.05, 1.0), "limit": (0.1, 0.8), "turn": (0.0, 0.2), "ahead": (0, 2)},
        ),
    },
    Speed: {
        "baseline": Reference(
            lambda task, **parameters: SpeedControl(**parameters, control_rate=task.control_rate),
            bounds={"integral": (0.0, 1.0), "gain": (0.05, 1.0), "limit": (0.05, 0.3)},
        )
    },
}


def _joints(animal: Any) -> int:
    if animal.circuit is not None:
        raise ValueError("drive must be 'brainstem' or numbers for a lamprey with a cord: others have drive=motoneuron")
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
"""Controllers that need no task."""
