"""Reference controllers of musculoskeletal models: constant patterns, reflexes and proportional control."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gymnosoma.envs.core.model.control import Controller, Flags, Floats, OpenLoop, Values
from gymnosoma.envs.neuromechanic import Neuromechanic, equilibrate
from gymnosoma.envs.neuromechanic.hindlimb import LARGEST_REFLEX, PAW_FORCE, POSTURE
from gymnosoma.envs.neuromechanic.standing import DAMPING, STIFFNESS
from gymnosoma.envs.neuromechanic.tasks import HindlimbHold, Pose, StandGains

from . import Law, read_references
from .base import ByHand, moved, pressed


@dataclass(eq=False)
class ConstantDrive(OpenLoop):
    """Constant drive (u,), such as a pattern of excitations."""

    pattern: Floats

    def at(self, t: Floats) -> Floats:
        """Return the drive (T, u)."""
        return np.tile(self.pattern, (len(t), 1))


@dataclass(eq=False)
class Reflex:
    """Constant pattern of excitations plus a stretch reflex of each muscle, with delayed signals.

    With the delayed posture error e (rad), its rate e' and the integral I' = ``integral`` e, the reflex is
    u = pattern - arm (k_s (e + I) + k_r e'), within ``largest`` of the pattern, and the excitation is
    u + ``lead`` (u - activation).

    Args:
        task: Task of the limb.
        stretch_gain (1/m), rate_gain (s/m), integral (1/s): Gains k_s, k_r and of the integral.
        pattern: Name of the task's pattern.
        largest: Largest magnitude of the excitation from the reflex.
        lead: Gain of the difference between u and activation, for slow activations.
        start ((7,) float, rad): Initial integral I. The value that balances the load is best.

    Gains of shape (B, 1) and ``start`` of shape (B, 7) set different values for each row.
    """

    task: HindlimbHold
    stretch_gain: float | Floats
    rate_gain: float | Floats
    integral: float | Floats = 0.0
    pattern: str = "stable_pattern"
    largest: float = LARGEST_REFLEX
    lead: float | Floats = 0.0
    start: float | Floats = 0.0
    reads: ClassVar[tuple[str, ...]] = ("posture_error", "posture_rate", "activation")

    def __post_init__(self) -> None:
        self._pattern, self._sum = getattr(self.task, self.pattern), np.zeros((0, len(POSTURE)))

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return the excitations (B, 31)."""
        angle, rate = signals["posture_error"], signals["posture_rate"]
        before = self._sum if len(self._sum) == len(first) else np.zeros_like(angle)
        before = np.where(first[:, None], self.start, before)
        self._sum = before + self.integral / self.task.control_rate * angle
        moved = self.stretch_gain * (angle + self._sum) + self.rate_gain * rate
        reflex = np.clip(-np.sum(moved[:, None, :] * self.task.arm, 2), -self.largest, self.largest)
        excitation = self._pattern + reflex
        return excitation + self.lead * (excitation - signals["activation"])


class Pull:
    """Proportional-derivative control of a joint by all inputs that move it towards the goal.

    Each input gets ``gain`` (1/rad) times (error - ``damping`` (s) times joint rate) times its relative effect on the
    joint, clipped to 0 to 1, as a fraction of its range.
    """

    reads = ("error", "joint_rate")

    def __init__(self, task: Pose, gain: float = 2.0, damping: float = 0.15) -> None:
        self.gain, self.damping = gain, damping
        self._joint, self._inputs = task.joint, task.inputs
        self._effect = self._effects(task.animal, task.joint, *task.inputs)

    @staticmethod
    def _effects(animal: Neuromechanic, joint: int, low: float, high: float) -> Floats:
        """Return the acceleration of the joint due to each input, divided by the largest."""
        row, one = animal.rows(1), np.zeros(1, np.int64)
        own = animal.model.arrays["activation"] >= 0

        def acceleration(inputs: Floats) -> float:
            animal.reset(row, one, {"input": inputs})
            animal.reset(row, one, {"input": inputs, "activation": row["excitation"][0][own]})
            return float(animal.mechanics(row)["qdd"][joint])

        size = animal.drive_size
        still = acceleration(np.full(size, low))
        effect = np.array([acceleration(low + (high - low) * 0.1 * side) - still for side in np.eye(size)])
        return effect / max(float(np.abs(effect).max()), 1e-300)

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return the inputs (B, u)."""
        low, high = self._inputs
        error = signals["error"][:, 0] - self.damping * signals["joint_rate"][:, self._joint]
        share = np.clip(self.gain * error[:, None] * self._effect, 0.0, 1.0)
        return low + (high - low) * share


class Steering(ByHand):
    """Keyboard control of the gains of the standing figure's reflexes."""

    control_rate = 100.0
    pace = 1.0
    """Time in which a pressed key changes a gain over its whole range, s."""
    keys = (("up, down", "stiffer, softer reflexes"), ("right, left", "more, less damping"), ("F", "ice or rubber"))

    def __init__(self, task: Any) -> None:
        if not isinstance(task, StandGains):
            raise ValueError(f"id must be one of a task that can be steered by hand, got one of {type(task).__name__}")
        super().__init__()
        self.stiffness, self.damping = task.own

    def hold(self, keys: Set[str], dt: float) -> None:
        share, stiffest, strongest = dt / self.pace, StandGains.largest_stiffness, StandGains.largest_damping
        self.stiffness = moved(self.stiffness, stiffest * share * pressed(keys, "up", "down"), 0, stiffest)
        self.damping = moved(self.damping, strongest * share * pressed(keys, "right", "left"), 0, strongest)

    def press(self, key: str) -> None:
        """Switch the friction of the ground between slippery and normal on key F."""
        if key == "f":
            self.parameters = {"friction": 1.0 if self.parameters.get("friction", 1.0) < 1.0 else 0.2}

    def state(self) -> str:
        ice = ", on ice" if self.parameters.get("friction", 1.0) < 1.0 else ""
        return f"{self.stiffness:.0f} N m/rad, {self.damping:.0f} N m s/rad{ice}"

    def drive(self, t: Floats, signals: Values, first: Flags) -> Floats:
        """Return the gains (B, 3)."""
        return np.tile([0.0, self.stiffness, self.damping], (len(t), 1))


def _least_stress(task: HindlimbHold) -> Controller:
    return ConstantDrive(equilibrate(task.animal, POSTURE, reaction=PAW_FORCE).activation)


def _gains(task: StandGains, stiffness: float = STIFFNESS, damping: float = DAMPING) -> Controller:
    """Return a controller with constant gains; the task sets the splay."""
    return ConstantDrive(np.array([0.0, stiffness, damping]))


LAWS: dict[str, Law] = {
    "reflex": Reflex,
    "pattern": lambda task, pattern: ConstantDrive(getattr(task, pattern)),
    "least_stress": _least_stress,
    "gains": _gains,
    "pull": Pull,
}

REFERENCES = read_references("neuromechanic", (HindlimbHold, StandGains, Pose), LAWS)
