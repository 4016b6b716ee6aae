"""Tasks of musculoskeletal models: hold the cat's hindlimb, and take a posture with any model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import choice, number
from ..core.task import Field, Layout, Option, Score, Task, tolerance
from .analysis import central_pattern
from .animal import Neuromechanic
from .hindlimb import PAW_FORCE, POSTURE, hindlimb

FALLEN, BEYOND = 10.0, 11.0
"""Endings: the limb has left its posture; a joint has left its range."""


class _Driven(Task):
    """Actions that all tasks share: the model's inputs, each between ``low`` and ``high``."""

    animal: Neuromechanic
    rate = 100.0
    low, high = 0.0, 1.0

    def _drive(self, actions: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.low + 0.5 * (actions + 1.0) * (self.high - self.low)

    def encode(self, drive: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action whose inputs come closest to ``drive`` (B, u)."""
        if self.actions == "residual":
            raise ValueError("actions='residual' adds to the reference controller, whose own action is zero")
        actions = 2.0 * (np.asarray(drive) - self.low) / (self.high - self.low) - 1.0
        return np.clip(actions, -1.0, 1.0).astype(np.float32)


class HindlimbHold(_Driven):
    """Hold posture and paw force of a cat's hindlimb against pushes.

    ## Description

    The hindlimb of Bunderson et al. (2012), illustrations 1 and 2: 31 muscles, 7 joints, the pelvis fixed, the paw
    gimballed where it stands, so that four degrees of freedom are left. The paw is to push with 8.5 N, 35 degrees
    backward of straight down. Every second a push of 50 ms hits the ankle, at a random time from a random direction.
    100 Hz, 5 s. Many patterns of excitation hold the limb, but only some are stable.

    ## Action Space

    ``Box(-1, 1, (31,))`` with ``actions="excitation"`` (default): excitation of each muscle, -1 is none and 1 full.
    ``"residual"``, (31,): added to the central one of all patterns that hold the limb, in units of 0.25, clipped.

    ## Observation Space

    ``Box(-10, 10, (48,))``:

    | entries     | value                                        | unit  | divided by |
    |-------------|----------------------------------------------|-------|------------|
    | 0 .. 6      | joint angles from the posture to be held     | rad   | 0.2        |
    | 7 .. 13     | joint rates                                  | rad/s | 5          |
    | 14 .. 44    | activations                                  | 1     | 1          |
    | 45 .. 47    | ground's force on the paw, from the wanted   | N     | 5          |

    ## Rewards

    0.6 for the posture, falling to a tenth at 0.1 rad (rms over the joints); 0.3 for the force, falling to a tenth
    4 N off; 0.1 times one minus the mean squared activation.

    ## Starting State

    In the posture, at rest, with the activations of the pattern that ``"residual"`` adds to, each changed by up to
    0.02 at random.

    ## Episode End

    Failure: a joint is 0.7 rad from the posture, moves absurdly fast, or the state is not finite. Truncated after 500
    steps.

    ## Arguments

    ``actions``; ``scheme``: ``semi_implicit`` (default) or the paper's ``rk4``; ``dt``: time step, s, by default 1 ms,
    with ``rk4`` 0.02 ms; ``rate``: control rate, Hz; ``stiffness``: of the muscles, in maximal forces per optimal
    length. Reset options: ``push``, the pushes' largest force in N, and the factors ``strength``, ``mass`` and
    ``damping``.

    ## Version History

    * v0: first version
    """

    levels = ("excitation", "residual")
    options: Mapping[str, Option] = {"push": Option(0.0, 50.0, "N")}
    endings: Mapping[float, str] = {FALLEN: "the limb has left its posture"}
    seconds = 5
    """Pushes that are drawn at a reset, one for each second."""
    last = 0.05
    """Duration of a push, s."""
    push = 4.0
    """Largest force, N."""

    def __init__(
        self,
        actions: str | None = None,
        scheme: str = "semi_implicit",
        dt: float | None = None,
        rate: float | None = None,
        stiffness: float = 6.0,
        threads: int = 1,
    ) -> None:
        super().__init__(actions, rate)
        number("stiffness", stiffness, above=0)
        model = hindlimb(stiffness)
        model["wrench"] = {"push": {"body": "ankle_extension"}}
        default = 1e-3 if scheme == "semi_implicit" else 2e-5
        self.animal = Neuromechanic(model, default if dt is None else dt, scheme, threads)
        self.action_size = self.animal.drive_size
        self.pattern = central_pattern(self.animal, POSTURE, reaction=PAW_FORCE)
        joints = len(POSTURE)
        self.layout = Layout(
            {
                "posture_error": Field(joints, "rad", 0.2),
                "joint_rate": Field(joints, "rad/s", 5.0),
                "activation": Field(self.action_size, "1", 1.0),
                "force_error": Field(3, "N", 5.0),
            }
        )
        self.memory = np.dtype([("push", "f8", (self.seconds, 4))])

    def reset(
        self,
        rows: NDArray[Any],
        memory: NDArray[Any],
        ids: NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
        options: Mapping[str, NDArray[np.float64]],
    ) -> None:
        """Start in the posture, and draw the pushes: when, and their force."""
        count = len(ids)
        draws = np.array([rng.uniform(-1.0, 1.0, self.action_size) for rng in rngs])
        activation = np.clip(self.pattern + 0.02 * draws, 0.0, 1.0)
        self.animal.reset(rows, ids, {"activation": activation, "input": activation, **self.physical(options)})
        pushes = np.array([rng.standard_normal((self.seconds, 3)) for rng in rngs])
        chance = np.array([rng.random((self.seconds, 2)) for rng in rngs])
        pushes /= np.sqrt(np.sum(pushes**2, -1, keepdims=True))
        size = np.broadcast_to(options.get("push", np.full(count, self.push)), count)
        fresh = np.zeros(count, self.memory)
        fresh["push"][:, :, 0] = np.arange(self.seconds) + (1.0 - self.last) * chance[:, :, 0]
        fresh["push"][:, :, 1:] = (size[:, None] * chance[:, :, 1])[:, :, None] * pushes
        memory[ids] = fresh

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Excitations from actions; pushes begin and end with a control period."""
        second = np.minimum(rows["time"].astype(np.int64), self.seconds - 1)
        push = memory["push"][np.arange(len(rows)), second]
        since = rows["time"] - push[:, 0]
        rows["wrench"][:, 0, :3] = np.where(((since >= 0) & (since < self.last))[:, None], push[:, 1:], 0.0)
        if self.actions == "residual":
            return np.clip(self.pattern + 0.25 * actions, 0.0, 1.0)
        return self._drive(actions)

    def _errors(self, rows: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return rows["q"] - POSTURE, rows["reaction"] - PAW_FORCE

    def observe(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float32]:
        """Deviations, rates, and activations."""
        angle, force = self._errors(rows)
        return self.layout.encode(
            {
                "posture_error": angle,
                "joint_rate": rows["v"],
                "activation": rows["activation"],
                "force_error": force,
            }
        )

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Posture, force and economy."""
        angle, force = self._errors(rows)
        held = tolerance(np.sqrt(np.mean(angle**2, 1)), 0.0, 0.0, 0.1)
        pushed = tolerance(np.sqrt(np.sum(force**2, 1)), 0.0, 0.0, 4.0)
        return 0.6 * held + 0.3 * pushed + 0.1 * (1.0 - np.mean(rows["activation"] ** 2, 1))

    def terminated(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """End when a joint is far from the posture."""
        return np.where(np.abs(rows["q"] - POSTURE).max(1) > 0.7, FALLEN, 0.0)

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time held (s), deviations of posture (rad, rms) and force (N), and the force on the paw (N)."""
        angle, force = self._errors(rows)
        return {
            "time": rows["time"].copy(),
            "held": rows["time"].copy(),
            "posture_error": np.sqrt(np.mean(angle**2, 1)),
            "force_error": np.sqrt(np.sum(force**2, 1)),
            "paw_force": rows["reaction"].copy(),
        }


class Pose(_Driven):
    """Bring a joint of any model to an angle and hold it there.

    ## Description

    For models that users write: `register_model` makes an id of a TOML file. The goal is drawn for every episode.

    ## Action Space

    ``Box(-1, 1, (u,))``: the model's inputs, in the order of ``model.inputs``, from ``inputs[0]`` to ``inputs[1]``.

    ## Observation Space

    ``Box(-10, 10, (2 n + a + 2,))``:

    | entries  | value                          | unit          | divided by |
    |----------|--------------------------------|---------------|------------|
    | n        | joint positions                | rad or m      | 1          |
    | n        | joint velocities               | rad/s or m/s  | 5          |
    | a        | activations                    | 1             | 1          |
    | 1        | goal                           | rad or m      | 1          |
    | 1        | goal less position             | rad or m      | 0.3        |

    ## Rewards

    One at the goal, a tenth 0.5 away from it, less a twentieth of the mean squared activation.

    ## Starting State

    The model's start, each joint displaced by up to 0.05 at random, at rest and silent.

    ## Episode End

    Failure: a joint leaves its range, moves absurdly fast, or the state is not finite.

    ## Arguments

    ``model``: path or mapping; ``joint``: a body's name, the last by default; ``goal``: (low, high), by default the
    middle half of the joint's range; ``inputs``: (low, high); ``modules``: control modules; ``dt``: time step, s;
    ``rate``: control rate, Hz; ``scheme``. Reset options: ``goal``, and the factors ``strength``, ``mass``,
    ``damping``.

    ## Version History

    * v0: first version
    """

    levels = ("inputs",)
    rate = 50.0
    endings: Mapping[float, str] = {BEYOND: "a joint has left its range"}
    score = Score("error", "rad")

    def __init__(
        self,
        model: str | Path | Mapping[str, Any],
        joint: str | None = None,
        goal: tuple[float, float] | None = None,
        inputs: tuple[float, float] = (0.0, 1.0),
        actions: str | None = None,
        scheme: str = "semi_implicit",
        dt: float = 1e-3,
        rate: float | None = None,
        threads: int = 1,
        modules: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(actions, rate)
        self.animal = Neuromechanic(model, dt, scheme, threads, modules)
        bodies, joints = self.animal.model.bodies, self.animal.model.joints
        choice("joint", bodies[-1] if joint is None else joint, bodies)
        self.joint = len(bodies) - 1 if joint is None else bodies.index(joint)
        self._range = np.array([[one.low, one.high] for one in joints]).T
        low, high = self._range[:, self.joint]
        self.goal = goal or (0.75 * low + 0.25 * high, 0.25 * low + 0.75 * high)
        if not low <= self.goal[0] < self.goal[1] <= high:
            raise ValueError(f"goal must be (low, high) within [{low:g}, {high:g}], got {goal!r}")
        if not inputs[0] < inputs[1]:
            raise ValueError(f"inputs must be (low, high), got {inputs!r}")
        if not self.animal.drive_size:
            raise ValueError("model must have at least one input.NAME, got none")
        self.low, self.high = inputs
        self.options = {"goal": Option(low, high, "rad" if joints[self.joint].revolute else "m")}
        self.action_size = self.animal.drive_size
        n, active = len(bodies), self.animal.model.counts["active"]
        self.layout = Layout(
            {
                "position": Field(n, "rad", 1.0),
                "velocity": Field(n, "rad/s", 5.0),
                "activation": Field(active, "1", 1.0),
                "goal": Field(1, "rad", 1.0),
                "error": Field(1, "rad", 0.3),
            }
        )
        self.memory = np.dtype([("goal", "f8")])

    def reset(
        self,
        rows: NDArray[Any],
        memory: NDArray[Any],
        ids: NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
        options: Mapping[str, NDArray[np.float64]],
    ) -> None:
        """Start near the model's start, and draw a goal."""
        n = len(self.animal.model.bodies)
        draws = np.array([rng.uniform(-0.05, 0.05, n) for rng in rngs])
        goal = np.array([rng.uniform(*self.goal) for rng in rngs])
        start = np.array([joint.start for joint in self.animal.model.joints])
        self.animal.reset(rows, ids, {"q": start + draws, "input": self.low, **self.physical(options)})
        memory["goal"][ids] = options.get("goal", goal)

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Inputs from actions."""
        return self._drive(actions)

    def observe(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float32]:
        """Joints, activations, and the goal."""
        return self.layout.encode(
            {
                "position": rows["q"],
                "velocity": rows["v"],
                "activation": rows["activation"],
                "goal": memory["goal"],
                "error": memory["goal"] - rows["q"][:, self.joint],
            }
        )

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Nearness to the goal, less effort."""
        error = np.abs(memory["goal"] - rows["q"][:, self.joint])
        effort = np.sum(rows["activation"] ** 2, 1) / max(rows["activation"].shape[1], 1)
        return tolerance(error, 0.0, 0.0, 0.5) - 0.05 * effort

    def terminated(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """End when a joint leaves its range."""
        low, high = self._range
        return np.where(((rows["q"] < low) | (rows["q"] > high)).any(1), BEYOND, 0.0)

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time (s), goal and distance from it (rad or m)."""
        error = np.abs(memory["goal"] - rows["q"][:, self.joint])
        return {"time": rows["time"].copy(), "goal": memory["goal"].copy(), "error": error}
