"""Reference controllers of musculoskeletal models: constant patterns, reflexes, a pull in proportion to the error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gymnosoma.envs.core.simulate import Controller
from gymnosoma.envs.neuromechanic import Neuromechanic
from gymnosoma.envs.neuromechanic.analysis import equilibrate, most_stable
from gymnosoma.envs.neuromechanic.hindlimb import PAW_FORCE, POSTURE
from gymnosoma.envs.neuromechanic.standing import DAMPING, DELAY, HIPS, LEG, STIFFNESS, splay, standing
from gymnosoma.envs.neuromechanic.tasks import StandGains, StandPulse


class Held:
    """Constant drive (u,), such as excitations."""

    def __init__(self, pattern: NDArray[np.float64]) -> None:
        self.pattern = pattern

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Drive (B, u)."""
        return np.tile(self.pattern, (len(t), 1))


class Pull:
    """Drive each input in proportion to the error, as far as it moves the joint towards the goal.

    Parameters
    ----------
    task : Pose
    gain : float, 1/rad
        Share of an input's range per error.
    damping : float, s
        Seconds by which the error is foreseen.
    """

    def __init__(self, task: Any, gain: float = 2.0, damping: float = 0.15) -> None:
        self.task, self.gain, self.damping = task, gain, damping
        self._effect = self._effects(task.animal, task.joint, task.low, task.high)

    @staticmethod
    def _effects(animal: Neuromechanic, joint: int, low: float, high: float) -> NDArray[np.float64]:
        """Acceleration of the joint by each input, the strongest 1."""
        row, one = animal.rows(1), np.zeros(1, np.int64)
        own = animal.model.arrays["activation"] >= 0

        def acceleration(inputs: NDArray[np.float64]) -> float:
            animal.reset(row, one, {"input": inputs})
            animal.reset(row, one, {"input": inputs, "activation": row["excitation"][0][own]})
            return float(animal.mechanics(row)["qdd"][joint])

        size = animal.drive_size
        still = acceleration(np.full(size, low))
        effect = np.array([acceleration(low + (high - low) * 0.1 * side) - still for side in np.eye(size)])
        return effect / max(float(np.abs(effect).max()), 1e-300)

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Inputs (B, u)."""
        error = signals["error"][:, 0] - self.damping * signals["velocity"][:, self.task.joint]
        share = np.clip(self.gain * error[:, None] * self._effect, 0.0, 1.0)
        return self.task.low + (self.task.high - self.task.low) * share


class Reflex:
    """Torque of each hip by its own angle from the symmetric stance and its rate; Bunderson et al. (2012), 3.3.

    What it is told is already late.

    Parameters
    ----------
    stiffness : float, N m/rad
    damping : float, N m s/rad
    """

    def __init__(self, stiffness: float = STIFFNESS, damping: float = DAMPING) -> None:
        self.stiffness, self.damping = stiffness, damping

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Torques of left and right hip (B, 2), N m."""
        rest = splay(signals["stance"]) * [-1.0, 1.0]
        return -self.stiffness * (signals["hip_angle"] - rest) - self.damping * signals["hip_rate"]


class SmithReflex(Reflex):
    """The reflex on what the body is predicted to be by now: a Smith predictor.

    The standing figure itself is the forward model: from what is known of the past it is simulated over the delay with
    the torques given since. The pulse of the ground is not known to it until it is felt.

    Parameters
    ----------
    task : StandPulse
    stiffness, damping : float
        As of `Reflex`.
    """

    def __init__(self, task: Any, stiffness: float = STIFFNESS, damping: float = DAMPING) -> None:
        super().__init__(stiffness, damping)
        self.animal = Neuromechanic(standing(drive="torque"), task.animal.dt)
        self.steps = round(1.0 / (task.rate * task.animal.dt))
        self.late = round(DELAY / task.animal.dt)

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Torques of left and right hip (B, 2), N m."""
        rows, ids = self.animal.rows(len(t)), np.arange(len(t))
        self.animal.reset(rows, ids, {**self._body(signals), "pulse": [0.0, 0.0, 0.0]})
        past = signals["past_torque"].reshape(len(t), -1, 2)
        whole = past.shape[1] - 1
        for j in range(whole + 1):
            self.animal.advance(rows, ids, past[:, j], self.steps if j else self.late - whole * self.steps)
        return super().drive(t, {**signals, "hip_angle": rows["q"][:, 3:], "hip_rate": rows["v"][:, 3:]}, first)

    @staticmethod
    def _body(signals: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
        """Joints and rates (B, 5) of a body that stands on its lower foot, which rests."""
        each = np.arange(len(signals["stance"]))
        hips = np.array([-0.5, 0.5]) * HIPS
        turn, spin = signals["torso_angle"], signals["torso_rate"]
        leg, swing = turn + signals["hip_angle"], spin + signals["hip_rate"]
        below = hips * np.sin(turn) - LEG * np.cos(leg)
        lower = np.argmin(below, 1)
        # The feet turn about the hips' middle: velocities are those of their distances, turned.
        aside = -hips * np.sin(turn) * spin + LEG * np.cos(leg) * swing
        up = hips * np.cos(turn) * spin + LEG * np.sin(leg) * swing
        q = [np.zeros_like(turn), -below[each, lower][:, None], turn, signals["hip_angle"]]
        v = [-aside[each, lower][:, None], -up[each, lower][:, None], spin, signals["hip_rate"]]
        return {"q": np.hstack(q), "v": np.hstack(v)}


def _gains(task: Any, stiffness: float = STIFFNESS, damping: float = DAMPING) -> Controller:
    """Constant gains; the splay of the stance is the task's own."""
    return Held(np.array([0.0, stiffness, damping]))


def _least_stress(task: Any) -> NDArray[np.float64]:
    return equilibrate(task.animal, POSTURE, reaction=PAW_FORCE).activation


def _blend(task: Any, central: float) -> Controller:
    """Mix of the least-stress pattern and the central one: how much to stiffen."""
    return Held((1.0 - central) * _least_stress(task) + central * task.pattern)


class Steering:
    """The standing figure in the hands of a person, beside its reflexes; see `agents.play`."""

    rate = 100.0
    pace = 1.0
    """Time in which a key takes a gain through its range, s."""
    push = 60.0
    """Torque that a key adds to both hips, N m."""

    def __init__(self, task: Any) -> None:
        if not isinstance(task, StandPulse | StandGains):
            raise ValueError(f"id must be of a task that can be steered by hand, got one of {type(task).__name__}")
        self._torque = isinstance(task, StandPulse)
        self.stiffness, self.damping, self.added = STIFFNESS, DAMPING, 0.0
        self.parameters: dict[str, float] = {}
        across = ("right, left", "push with the hips" if self._torque else "more, less damping")
        self.keys = (("up, down", "stiffer, softer reflexes"), across, ("F", "ice or rubber"))

    def hold(self, held: Set[str], dt: float) -> None:
        """Keys in ``held`` are down for ``dt`` s."""
        share, across = dt / self.pace, ("right" in held) - ("left" in held)
        most = StandGains.most
        self.stiffness = float(
            np.clip(self.stiffness + most[0] * share * (("up" in held) - ("down" in held)), 0, most[0])
        )
        if self._torque:
            self.added = self.push * across
        else:
            self.damping = float(np.clip(self.damping + most[1] * share * across, 0, most[1]))

    def press(self, key: str) -> None:
        """Make the ground slippery, or rough again."""
        if key == "f":
            self.parameters = {"friction": 1.0 if self.parameters.get("friction", 1.0) < 1.0 else 0.2}

    def state(self) -> str:
        """Drive in words."""
        ice = ", on ice" if self.parameters.get("friction", 1.0) < 1.0 else ""
        return f"{self.stiffness:.0f} N m/rad, {self.damping:.0f} N m s/rad{ice}"

    def drive(
        self, t: NDArray[np.float64], signals: Mapping[str, NDArray[np.float64]], first: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Torques (B, 2), N m, or what `StandGains` takes (B, 3)."""
        if self._torque:
            return self.added + Reflex(self.stiffness, self.damping).drive(t, signals, first)
        return np.tile([0.0, self.stiffness, self.damping], (len(t), 1))


REFERENCES: dict[str, dict[str, tuple[Callable[[Any], Controller], dict[str, Any]]]] = {
    "HindlimbHold": {
        "baseline": (lambda task: Held(task.pattern), {}),
        "least_stress": (lambda task: Held(_least_stress(task)), {}),
        "most_stable": (lambda task: Held(most_stable(task.animal, POSTURE, reaction=PAW_FORCE)), {}),
    },
    "StandPulse": {
        "baseline": (lambda task: Reflex(), {}),
        "smith": (SmithReflex, {}),
        "none": (lambda task: Reflex(0.0, 0.0), {}),
    },
    "StandGains": {"baseline": (_gains, {})},
    "Pose": {"baseline": (Pull, {})},
}
"""Controllers by task and name, each with the arguments of the environment that it needs."""

SEARCHES: dict[str, tuple[Callable[..., Controller], dict[str, tuple[float, float]]]] = {
    "HindlimbHold": (_blend, {"central": (0.0, 1.0)}),
    "StandPulse": (lambda task, **gains: Reflex(**gains), {"stiffness": (0.0, 600.0), "damping": (0.0, 200.0)}),
    "StandGains": (_gains, {"stiffness": (0.0, 600.0), "damping": (0.0, 200.0)}),
    "Pose": (Pull, {"gain": (0.1, 10.0), "damping": (0.0, 0.5)}),
}
"""Families of controllers with constant parameters, and the parameters' bounds, by task."""
