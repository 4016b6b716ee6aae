"""Reference controllers of the worm: sine waves, steering, recorded kymograms, and its own circuit.

They command control angles, except for the circuit. By default, actions are added to the ``baseline``, so that zero
actions reproduce it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gymnosoma.envs.core.arguments import choice
from gymnosoma.envs.core.model.control import Controller, Flags, Floats, TaskController, Values
from gymnosoma.envs.worm.animal import Worm
from gymnosoma.envs.worm.chemotaxis import Chemotaxis
from gymnosoma.envs.worm.kymogram import KymogramPlayback, SineKymogram
from gymnosoma.envs.worm.media import Medium, of_medium
from gymnosoma.envs.worm.params import WormParams, medium_index
from gymnosoma.envs.worm.steering import SteeringLaw
from gymnosoma.envs.worm.tasks import Crawl, Escape, Follow, Reach, Swim

from . import Law, read_references
from .base import ByHand, ConstantValues, RowMemory, moved, pressed


@dataclass(eq=False)
class SteeredSine(RowMemory):
    """A ``wave`` with steering by the bearing of ``towards``, a field of the observation; see `SteeringLaw`."""

    wave: Controller
    steering: SteeringLaw
    towards: str = "target"
    memory = {"towards": np.zeros(2), "off": 0.0}

    @property
    def reads(self) -> tuple[str, ...]:  # type: ignore[override]
        """Signals of the wave, and the field for steering."""
        return (*self.wave.reads, self.towards)

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return control angles (B, n_joints) in rad at times ``t`` (B,) s."""
        first, memory = self.recall(first)
        return self.wave.drive(t, signals, first) + self.steering.bias(signals[self.towards], first, memory)


class Mirrored:
    """Recorded turn to the left, or its mirror image, depending on the field ``side``."""

    reads = ("side",)

    def __init__(self, turn: KymogramPlayback) -> None:
        self._turn = turn

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return control angles (B, n_joints) in rad at times ``t`` (B,) s."""
        return signals["side"] * self._turn.drive(t, signals, first)


class WithoutCurl(RowMemory):
    """Integral feedback against curling: it subtracts the accumulated excess of the mean joint angle."""

    control_rate: float
    integral: float
    """Gain, 1/s."""
    memory: Mapping[str, Any] = {"curl": 0.0}

    def straight(self, own: Floats, signals: Values, memory: dict[str, Floats]) -> Floats:
        """Correct desired control angles (B, n_joints) in rad by the mean deviation of the joint angles."""
        off = signals["joint_angle"].mean(1) - own.mean(1)
        curl = memory["curl"] = memory["curl"] + self.integral * off / self.control_rate
        return own - curl[:, None]


@dataclass(eq=False)
class StagedWaves(WithoutCurl):
    """Escape in three stages (reverse, turn, run), each with a wave, and with a lateral bend during the turn.

    It reads stage, side and joint angles.

    Args:
        waves: Amplitude (rad), wavenumber and frequency (Hz, negative for backward waves) of each stage.
        bend: Bend at the head during the turn, rad.
        loss: Relative decrease of the bend from head to tail.
    """

    control_rate: float
    n_joints: int
    waves: ArrayLike
    bend: float
    loss: float
    integral: float
    reads = ("side", "stage", "joint_angle")
    memory = {"curl": 0.0, "phase": 0.0, "bend": 0.0, "wave": np.zeros(3)}
    settling = 0.2
    """Time constant of the transition between the waves of two stages, s."""

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return control angles (B, n_joints) in rad at times ``t`` (B,) s."""
        _, memory = self.recall(first)
        stage = signals["stage"][:, 0].astype(int)
        share = 1.0 - np.exp(-1.0 / (self.settling * self.control_rate))
        wave = memory["wave"] = memory["wave"] + share * (np.asarray(self.waves)[stage] - memory["wave"])
        bend = memory["bend"] = memory["bend"] + share * (np.where(stage == 1, self.bend, 0.0) - memory["bend"])
        phase = memory["phase"] = memory["phase"] + wave[:, 2] / self.control_rate
        place = np.arange(self.n_joints) / (self.n_joints - 1)
        own = wave[:, :1] * np.cos(2 * np.pi * (wave[:, 1:2] * place - phase[:, None]))
        # The worm turns towards its concave side: bent to the right (positive angles), it turns right.
        own -= signals["side"] * bend[:, None] * (1.0 - self.loss * place)
        return self.straight(own, signals, memory)


@dataclass(eq=False)
class SteeredPlayback(WithoutCurl):
    """Recorded turn with corrections that follow a path: a bend towards the path, and a faster or slower playback.

    It reads path and joint angles.

    Args:
        turn: Recorded turn.
        control_rate: Control rate, Hz.
        integral: Gain of the feedback against curling, 1/s.
        bend: Bend per distance from the path, rad/m.
        limit: Maximum of this bend, rad.
        pace: Relative increase of the playback speed per distance to the path's point ahead, 1/m. The speed is limited
            to half to twice that of the recording.
    """

    turn: KymogramPlayback
    control_rate: float
    integral: float
    bend: float
    limit: float
    pace: float
    reads = ("path", "joint_angle")
    memory = {"curl": 0.0, "clock": 0.0}

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return control angles (B, n_joints) in rad at times ``t`` (B,) s."""
        first, memory = self.recall(first)
        path, angle = signals["path"].reshape(len(t), -1, 2), signals["joint_angle"]
        point, way = path[:, 0], path[:, 2] - path[:, 0]
        way = way / np.maximum(np.sqrt(np.sum(way * way, 1, keepdims=True)), 1e-12)
        ahead = point[:, 0] * way[:, 0] + point[:, 1] * way[:, 1]
        aside = point[:, 0] * way[:, 1] - point[:, 1] * way[:, 0]
        body = np.cumsum(angle, 1).mean(1)
        # During backward motion along the path, a bend turns the worm in the opposite direction.
        sense = np.sign(way[:, 0] * np.cos(body) + way[:, 1] * np.sin(body))
        faster = np.clip(1.0 + self.pace * ahead, 0.5, 2.0)
        clock = memory["clock"] = np.where(first, t, memory["clock"] + faster / self.control_rate)
        own = self.turn.drive(clock, signals, first)
        own = own + np.clip(self.bend * aside * sense, -self.limit, self.limit)[:, None]
        return self.straight(own, signals, memory)


@dataclass(eq=False)
class Navigation(RowMemory):
    """A ``wave`` with the klinotaxis of the task `Chemotaxis`, and with pirouettes.

    It reads the sensed change of the concentration, and the joint angles. A pirouette is a sharp turn that begins when
    the average change falls below ``onset`` (Pierce-Shimomura et al., 1999). Its side alternates.

    Args:
        task: Task with the time constants.
        gain, limit (rad s, rad): Parameters of the klinotaxis.
        onset (1/s): Average change of the concentration that begins a pirouette.
        turn, duration (rad, s): Angle added to all control angles during a pirouette, and its duration; the averages
            settle for as long before the next.
    """

    wave: Controller
    task: Any
    gain: float
    limit: float
    onset: float = -np.inf
    turn: float = 0.0
    duration: float = 0.0
    reads = ("change", "joint_angle")
    memory = {"sway": 0.0, "along": 0.0, "across": 0.0, "clock": np.inf, "side": 1.0}

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return control angles (B, n_joints) in rad at times ``t`` (B,) s."""
        first, memory = self.recall(first)
        change, angle = signals["change"][:, 0], signals["joint_angle"]
        joints = angle.shape[1]
        head = -np.sum(angle * np.arange(joints, 0, -1), 1) / (joints + 1)  # to the mean of the rods
        newest = np.where(first, 0.0, self.task.newest(self.task.sensing))
        memory["sway"] = memory["sway"] + newest * (np.sin(head) - memory["sway"])
        newest = np.where(first, 0.0, self.task.newest(self.task.averaging))
        memory["along"] = memory["along"] + newest * (change - memory["along"])
        product = (change - memory["along"]) * memory["sway"]
        memory["across"] = memory["across"] + newest * (product - memory["across"])
        begins = (memory["along"] < self.onset) & (memory["clock"] >= 2.0 * self.duration)
        memory["side"] = np.where(begins, -memory["side"], memory["side"])
        memory["clock"] = np.where(begins, 0.0, memory["clock"] + 1.0 / self.task.control_rate)
        bias = np.clip(-self.gain * memory["across"], -self.limit, self.limit)
        bias = np.where(memory["clock"] < self.duration, self.turn * memory["side"], bias)
        return self.wave.drive(t, signals, first) + bias[:, None]


@dataclass(eq=False)
class Adaptation(RowMemory):
    """The fastest sine of an estimated medium, which is corrected by how far the joints follow their commands.

    With the response of the joints to the commanded sine, low-passed over ``averaging`` seconds, the estimate rises
    with ``pace`` times the logarithm of the gain expected in the estimated medium over the gain of the response.

    Args:
        task: Task with the control rate.
        averaging (s), pace (1/s): Parameters of the law.
    """

    task: Any
    averaging: float = 0.25
    pace: float = 2.0
    reads = ("joint_angle", "phase", "wave")
    memory = {"own": np.ones(3), "sigma": 0.5, "response": np.zeros(2)}
    settling = 3.0
    """Time at the start without correction, in which the amplitude rises from 0, s."""

    def choose(self, t: Floats, fields: Values, first: Flags) -> Floats:
        """Return changes (B, 3) of frequency (octaves), wavenumber and amplitude (octaves)."""
        first, memory = self.recall(first)
        angle, wave, (cosine, sine) = fields["joint_angle"], fields["wave"], fields["phase"].T
        own = memory["own"] = np.where(first[:, None], wave, memory["own"])
        media = np.linspace(0.0, 1.0, 101)
        off = sum(
            np.abs(of_medium(media, name) - own[:, k, None]) for k, name in enumerate(("frequency", "wavenumber"))
        )
        sigma = np.where(first, media[np.argmin(off, 1)], memory["sigma"])
        expected = of_medium(sigma, "gain")
        old = np.where(first[:, None], expected[:, None] * (1.0, 0.0), memory["response"])
        turns = np.exp(-2j * np.pi * wave[:, 1:2] * np.linspace(0.0, 1.0, angle.shape[1]))
        newest = 2.0 * np.mean(angle * turns, 1) * (cosine + 1j * sine) / wave[:, 2]
        both = np.stack([newest.real, newest.imag], 1)
        response = memory["response"] = old + self.task.newest(self.averaging) * (both - old)
        excess = np.log(expected / np.maximum(np.hypot(response[:, 0], response[:, 1]), 1e-3))
        change = np.where(t < self.settling, 0.0, self.pace * excess / self.task.control_rate)
        sigma = memory["sigma"] = np.clip(sigma + change, 0.0, 1.0)
        octaves = np.log2(of_medium(sigma, "frequency") / own[:, 0])
        return np.stack([octaves, of_medium(sigma, "wavenumber") - own[:, 1], np.zeros(len(t))], 1)


class CircuitWeights:
    """The worm's own circuit with constant factors on the weights of its projections (default 1)."""

    reads: tuple[str, ...] = ()

    def __init__(self, task: Any, **weights: float) -> None:
        names = task.animal.circuit.weights
        for name in weights:
            choice("weights", name, names)
        self._weights = np.array([weights.get(name, 1.0) for name in names])

    def choose(self, t: Floats, fields: Values, first: Flags) -> Floats:
        """Return factors (B, K) of the projections."""
        return np.tile(self._weights, (len(t), 1))


class Steering(ByHand):
    """Keyboard control of the paper's wave."""

    control_rate = 40.0
    keys = (
        ("left, right", "bend, and so turn"),
        ("up, down", "faster, slower"),
        ("W, S", "bend more, less"),
        ("B", "backwards, forwards"),
        ("M", "another medium"),
    )
    media = ((0.0, 1.0), (1.0, 1.0), (1.0, 0.01))
    """Medium index and friction factor of water, agar, and agar with 1/100 of the friction."""
    largest = 0.1
    """Maximum bias, rad."""

    def __init__(self, task: Any) -> None:
        super().__init__()
        self._place = np.arange(task.animal.drive_size) / (task.animal.drive_size - 1)
        self._medium = self.media.index((task.sigma, task.friction_scale))
        self._phase = self.bias = 0.0
        self._sense = 1.0
        self._suit(task.sigma)

    def _suit(self, sigma: float) -> None:
        wave = SineKymogram.for_medium(sigma)
        self.amplitude, self.wavenumber, self.frequency = wave.amplitude, wave.wavenumber, 1.0 / wave.period

    def hold(self, keys: Set[str], dt: float) -> None:
        aim = self.largest * pressed(keys, "right", "left")
        self.bias += float(np.clip(aim - self.bias, -0.5 * dt, 0.5 * dt))
        self.frequency = moved(self.frequency * np.exp(dt * pressed(keys, "up", "down")), 0.0, 0.1, 5.0)
        self.amplitude = moved(self.amplitude, 0.4 * dt * pressed(keys, "w", "s"), 0.0, 0.9)
        self._phase += self._sense * self.frequency * dt

    def press(self, key: str) -> None:
        """Reverse the wave, or change the medium and adapt the wave to it."""
        if key == "b":
            self._sense = -self._sense
        elif key == "m":
            self._medium = (self._medium + 1) % len(self.media)
            sigma, scale = self.media[self._medium]
            params = WormParams.in_medium(sigma, scale)
            self.parameters = {name: getattr(params, name) for name in ("friction_perpendicular", "friction_parallel")}
            self._suit(sigma)

    def state(self) -> str:
        way = "forwards" if self._sense > 0 else "backwards"
        return f"{way}, {self.frequency:.2f} Hz, ± {self.amplitude:.2f} rad, bias {self.bias:+.2f} rad"

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return control angles (B, n_joints) in rad at times ``t`` (B,) s."""
        wave = np.cos(2 * np.pi * (self.wavenumber * self._place - self._phase))
        return (self.amplitude * np.minimum(t * self.frequency, 1.0))[:, None] * wave + self.bias


def _wave(task: Any, **wave: float) -> SineKymogram:
    return SineKymogram.for_medium(task.sigma, n_joints=task.animal.drive_size, **wave)


def _steered_wave(task: Any, **values: float) -> Controller:
    """Create a wave, by default the paper's, with steering by the task's law to the target or desired direction."""
    steers = {name: values.pop(name) for name in ("gain", "integral", "limit", "smoothing") if name in values}
    wave = _wave(task, **values)
    if "target" in task.layout.fields:
        return SteeredSine(wave, replace(task.steering, **steers))
    return SteeredSine(wave, replace(task.steering, **{"smoothing": wave.period, **steers}), "direction")


def _steered_playback(task: Any, gain: float, **values: float) -> Controller:
    return SteeredPlayback(_replayed(task, gain), task.control_rate, **values)


def _mirrored(task: Any, **values: float) -> Controller:
    return Mirrored(_replayed(task, **values))


def _replayed(task: Any, gain: float = 1.0, pace: float = 1.0) -> KymogramPlayback:
    recorded = task.reference()
    return KymogramPlayback(gain * recorded.angles, pace * recorded.rate)


def _navigation(task: Any, gain: float | None = None, limit: float | None = None, **values: float) -> Controller:
    """Create a wave, by default the paper's, with klinotaxis, by default the task's, and with pirouettes."""
    turns = {name: values.pop(name) for name in ("onset", "turn", "duration") if name in values}
    own = (task.gain if gain is None else gain, task.limit if limit is None else limit)
    return Navigation(_wave(task, **values), task, *own, **turns)


def _changed_sine(task: Any, octaves: float = 0.0, waves: float = 0.0, growth: float = 0.0) -> TaskController:
    """Create constant changes of frequency (octaves), wavenumber and amplitude (octaves) of the animal's sine."""
    return ConstantValues(task, (octaves, waves, growth))


LAWS: dict[str, Law] = {
    "steered_wave": _steered_wave,
    "staged_waves": lambda task, **values: StagedWaves(task.control_rate, task.animal.drive_size, **values),
    "recording": _replayed,
    "steered_recording": _steered_playback,
    "turn": _mirrored,
    "navigation": _navigation,
    "changed_sine": _changed_sine,
    "adaptation": Adaptation,
    "circuit": CircuitWeights,
}

REFERENCES = read_references("worm", (Crawl, Swim, Reach, Escape, Follow, Chemotaxis, Medium), LAWS)


def _sine(animal: Worm, sigma: float | None = None, **changes: float) -> SineKymogram:
    """Create the wave for the medium of a worm, or for ``sigma``."""
    sigma = medium_index(animal.params.friction_perpendicular) if sigma is None else sigma
    return SineKymogram.for_medium(sigma, n_joints=animal.drive_size, **changes)


DRIVES: Mapping[str, Callable[..., Controller]] = {
    "sine": _sine,
    "water_sine": lambda animal, **values: SineKymogram.for_medium(0.0, n_joints=animal.drive_size, **values),
    "omega_turn": lambda animal, **values: KymogramPlayback("omega_turn", **values),
    "delta_turn": lambda animal, **values: KymogramPlayback("delta_turn", **values),
}
"""Controllers that do not need a task."""
