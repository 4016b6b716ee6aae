"""Tasks of musculoskeletal models: hold the cat's hindlimb, stand on a platform, take a posture with any model."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import choice, number
from ..core.task import Field, Layout, Option, Score, Task, tolerance
from .analysis import central_pattern
from .animal import Neuromechanic
from .contact import SLIP
from .hindlimb import PAW_FORCE, POSTURE, hindlimb
from .standing import DAMPING, DELAY, LEG, STIFFNESS, splay, standing, upright

FALLEN, BEYOND, DOWN = 10.0, 11.0, 12.0
"""Endings: the limb has left its posture; a joint has left its range; the figure has fallen."""


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


class _Standing(Task):
    """What the standing figure's tasks share: stance and pulse, late senses, reward, and the fall."""

    animal: Neuromechanic
    options: Mapping[str, Option] = {
        "stance": Option(0.8, 1.8, "hip widths"),
        "push": Option(-1.0, 1.0, "m/s"),
        "onset": Option(0.0, 100.0, "s"),
    }
    endings: Mapping[float, str] = {DOWN: "the figure has fallen"}
    score = Score("survived")
    stance, push, onset = (1.0, 1.4), (0.1, 0.4), (0.1, 0.5)
    """Ranges that are drawn from: hip widths, m/s either way, s."""
    lasts = 0.0507
    """Duration of the ground's acceleration, s."""
    steepest, lowest = 1.2, 0.4 * LEG
    """A fall: angle of torso or leg, rad, or height of the hips, m."""
    strongest = 200.0
    """Torque, N m, at which effort counts as one."""
    longest = DELAY
    """Delay of the senses, s, at most."""

    def __init__(
        self,
        actions: str | None = None,
        scheme: str = "semi_implicit",
        dt: float = 1e-3,
        rate: float | None = None,
        contacts: str | None = None,
        threads: int = 1,
    ) -> None:
        super().__init__(actions, rate)
        number("dt", dt, above=0, most=0.5 * self.longest)
        if abs(self.longest / dt - round(self.longest / dt)) > 1e-6:
            raise ValueError(f"dt must divide the delay of {self.longest:g} s, got {dt!r}")
        self.animal = Neuromechanic(self._figure(dt), dt, scheme, threads, contacts=contacts)
        fields = {
            "torso_angle": Field(1, "rad", 0.3),
            "torso_rate": Field(1, "rad/s", 1.0),
            "hip_angle": Field(2, "rad", 0.3),
            "hip_rate": Field(2, "rad/s", 1.0),
            "stance": Field(1, "hip widths", 1.0),
        }
        self.action_size = 2
        self.layout = Layout(fields | self._fields())

    @abstractmethod
    def _figure(self, dt: float) -> dict[str, Any]:
        """Model."""

    @abstractmethod
    def _fields(self) -> dict[str, Field]:
        """What is observed besides the body and the stance."""

    @abstractmethod
    def _told(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
        """Values of those fields."""

    @abstractmethod
    def _torques(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Torques of the hips (B, 2), N m."""

    def _begin(
        self, stance: NDArray[np.float64], rngs: Sequence[np.random.Generator]
    ) -> dict[str, NDArray[np.float64]]:
        """Initial values of the figure besides posture and pulse."""
        return {}

    def _known(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
        """Body as the nervous system knows it, and the stance."""
        neuron = rows["neuron"]
        return {
            "torso_angle": neuron[:, 0],
            "torso_rate": neuron[:, 1],
            "hip_angle": neuron[:, 2:6:2],
            "hip_rate": neuron[:, 3:6:2],
            "stance": memory["stance"],
        }

    def reset(
        self,
        rows: NDArray[Any],
        memory: NDArray[Any],
        ids: NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
        options: Mapping[str, NDArray[np.float64]],
    ) -> None:
        """Stand upright, and draw stance and pulse."""
        draws = np.array([rng.random(4) for rng in rngs])

        def drawn(j: int, low: float, high: float) -> NDArray[np.float64]:
            return low + (high - low) * draws[:, j]

        fresh = np.zeros(len(ids), self.memory)
        fresh["stance"] = options.get("stance", drawn(0, *self.stance))
        side = np.where(draws[:, 3] < 0.5, -1.0, 1.0)
        pulse = np.empty((len(ids), 3))
        pulse[:, 0] = options.get("onset", drawn(2, *self.onset))
        pulse[:, 1] = self.lasts
        pulse[:, 2] = options.get("push", side * drawn(1, *self.push)) * np.pi / (2.0 * self.lasts)
        start = {"q": upright(fresh["stance"]), "pulse": pulse, **self._begin(fresh["stance"], rngs)}
        self.animal.reset(rows, ids, {**start, **self.physical(options)})
        memory[ids] = fresh

    def observe(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float32]:
        """What is known of the body, the stance, and what the task tells."""
        return self.layout.encode(self._known(rows, memory) | self._told(rows, memory))

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Alive, less leaning, effort and slip."""
        lean = np.sqrt(np.mean((rows["q"] - upright(memory["stance"]))[:, 2:] ** 2, 1))
        effort = np.mean((self._torques(rows) / self.strongest) ** 2, 1)
        slips = np.mean(rows["mode"] >= SLIP, 1)
        return 1.0 - 0.4 * (1.0 - tolerance(lean, 0.0, 0.0, 0.5)) - 0.1 * effort - 0.1 * slips

    def terminated(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """End when torso or legs lean too far, or the hips are too low."""
        q = rows["q"]
        lean = np.maximum(np.abs(q[:, 2]), np.abs(q[:, 2:3] + q[:, 3:]).max(1))
        return np.where((lean > self.steepest) | (q[:, 1] < self.lowest), DOWN, 0.0)

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time (s), 1 while it stands, stance (hip widths), the ground's speed (m/s), number of slipping feet."""
        return {
            "time": rows["time"].copy(),
            "survived": np.where((rows["status"] == 0.0) & (self.terminated(rows, memory) == 0.0), 1.0, 0.0),
            "stance": memory["stance"].copy(),
            "push": rows["pulse"][:, 2] * 2.0 * self.lasts / np.pi,
            "slipping": np.sum(rows["mode"] >= SLIP, 1),
        }


class StandPulse(_Standing, _Driven):
    """Stay on one's feet when the ground jerks sideways, by the torques of the hips, with late senses.

    ## Description

    The standing figure of Bunderson et al. (2012), illustration 3: torso and two straight legs, seen from the front,
    feet in frictional contact with a platform. After 0.1 to 0.5 s the platform takes up a speed of 0.1 to 0.4 m/s, to
    either side, within 51 ms. What the nervous system knows is 120 ms old. 100 Hz, 4 s. The paper's reflex feeds back
    each hip's own angle and rate; feet may slip, lift off, and step.

    ## Action Space

    ``Box(-1, 1, (2,))`` with ``actions="torque"`` (default): torques of left and right hip, 200 N m. ``"residual"``,
    (2,): added to the paper's reflex of 255 N m/rad and 85 N m s/rad, in units of 100 N m, clipped to 200 N m.

    ## Observation Space

    ``Box(-10, 10, (31,))``; angles and rates are 120 ms old. At another rate there are as many torques as cover 120 ms:

    | entries  | value                                                    | unit       | divided by |
    |----------|----------------------------------------------------------|------------|------------|
    | 0        | angle of the torso                                       | rad        | 0.3        |
    | 1        | its rate                                                 | rad/s      | 1          |
    | 2, 3     | angles of left and right leg from the torso              | rad        | 0.3        |
    | 4, 5     | their rates                                              | rad/s      | 1          |
    | 6        | distance of the feet at the start                        | hip widths | 1          |
    | 7 .. 30  | torques of left and right hip in the last 120 ms, oldest first | N m  | 200        |

    ## Rewards

    One each step, less up to 0.4 for leaning (0.36 at 0.5 rad, rms over torso and hips), 0.1 times the mean squared
    torque over 200 N m, and 0.05 for each foot that slips.

    ## Starting State

    Upright at rest, feet 1 to 1.4 hip widths apart.

    ## Episode End

    Failure: torso or a leg leans by more than 1.2 rad, the hips are lower than 0.4 leg lengths, a joint moves absurdly
    fast, or the state is not finite. Truncated after 400 steps.

    ## Arguments

    ``actions``; ``scheme``: ``semi_implicit``, as contacts demand; ``dt``: time step, s, 1 ms by default; ``rate``:
    control rate, Hz; ``contacts``: solver, ``modes`` (default), ``staggered`` (the paper's) or ``sweep``. Reset
    options: ``stance``, hip widths; ``push``, the platform's speed in m/s, positive to the right; ``onset``, s; and the
    factors ``mass``, ``friction`` and ``delay``, whose product with 120 ms is rounded to time steps; 0 leaves two.

    ## Version History

    * v0: first version
    """

    levels = ("torque", "residual")
    low, high = -_Standing.strongest, _Standing.strongest

    def _figure(self, dt: float) -> dict[str, Any]:
        self.past = math.ceil(DELAY * self.rate - 1e-6)
        self.memory = np.dtype([("stance", "f8"), ("past", "f8", (self.past, 2))])
        # Neurons are read as of the beginning of the last time step.
        return standing(drive="torque", delay=DELAY - dt)

    def _fields(self) -> dict[str, Field]:
        return {"past_torque": Field(2 * self.past, "N m", self.high)}

    def _told(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
        return {"past_torque": memory["past"].reshape(len(rows), -1)}

    def _torques(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        return rows["input"]

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Torques from actions."""
        if self.actions == "residual":
            known = self._known(rows, memory)
            rest = splay(memory["stance"])[:, None] * [-1.0, 1.0]
            torque = -STIFFNESS * (known["hip_angle"] - rest) - DAMPING * known["hip_rate"] + 100.0 * actions
            torque = np.clip(torque, self.low, self.high)
        else:
            torque = self._drive(actions)
        memory["past"] = np.concatenate([memory["past"][:, 1:], torque[:, None]], 1)
        return torque


class StandGains(_Standing):
    """Stay on one's feet when the ground jerks sideways, by setting the gains of the hips' reflexes.

    ## Description

    As StandPulse, but the paper's reflexes act by themselves, at every time step: the torque of each hip is minus
    stiffness times its angle from the symmetric stance, minus damping times its rate, as they were a delay ago. The
    action sets the two gains, 20 times a second. The delay, 80 to 140 ms, is drawn for every episode, as is the stance.
    4 s.

    ## Action Space

    ``Box(-1, 1, (2,))`` with ``actions="gains"``: stiffness, 0 to 600 N m/rad, and damping, 0 to 200 N m s/rad.

    ## Observation Space

    ``Box(-10, 10, (10,))``; angles and rates are as old as the delay, and one time step:

    | entries | value                                       | unit       | divided by |
    |---------|---------------------------------------------|------------|------------|
    | 0       | angle of the torso                          | rad        | 0.3        |
    | 1       | its rate                                    | rad/s      | 1          |
    | 2, 3    | angles of left and right leg from the torso | rad        | 0.3        |
    | 4, 5    | their rates                                 | rad/s      | 1          |
    | 6       | distance of the feet at the start           | hip widths | 1          |
    | 7       | delay                                       | s          | 0.1        |
    | 8       | stiffness                                   | N m/rad    | 300        |
    | 9       | damping                                     | N m s/rad  | 100        |

    ## Rewards

    One each step, less up to 0.4 for leaning (0.36 at 0.5 rad, rms over torso and hips), 0.1 times the mean squared
    torque over 200 N m, and 0.05 for each foot that slips.

    ## Starting State

    Upright at rest, feet 1 to 1.4 hip widths apart, with the paper's gains of 255 N m/rad and 85 N m s/rad.

    ## Episode End

    Failure: torso or a leg leans by more than 1.2 rad, the hips are lower than 0.4 leg lengths, a joint moves absurdly
    fast, or the state is not finite. Truncated after 80 steps.

    ## Arguments

    ``scheme``: ``semi_implicit``, as contacts demand; ``dt``: time step, s, 1 ms by default; ``rate``: control rate,
    Hz; ``contacts``: solver, ``modes`` (default), ``staggered`` (the paper's) or ``sweep``. Reset options:
    ``stance``, hip widths; ``push``, the platform's speed in m/s, positive to the right; ``onset``, s; and the factors
    ``mass``, ``friction`` and ``delay`` (of 140 ms, rounded to time steps).

    ## Version History

    * v0: first version
    """

    levels = ("gains",)
    rate = 20.0
    memory = np.dtype([("stance", "f8")])
    most = np.array([600.0, 200.0])
    """Stiffness (N m/rad) and damping (N m s/rad) of action 1."""
    longest, shortest = 0.14, 0.08

    def _figure(self, dt: float) -> dict[str, Any]:
        return standing(delay=self.longest)

    def _fields(self) -> dict[str, Field]:
        return {
            "delay": Field(1, "s", 0.1),
            "stiffness": Field(1, "N m/rad", 300.0),
            "damping": Field(1, "N m s/rad", 100.0),
        }

    def _told(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
        gains = rows["input"]
        return {"delay": self.longest * rows["delay"], "stiffness": gains[:, 1], "damping": gains[:, 2]}

    def _torques(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        return rows["neuron"][:, -2:]

    def _begin(
        self, stance: NDArray[np.float64], rngs: Sequence[np.random.Generator]
    ) -> dict[str, NDArray[np.float64]]:
        gains = np.tile([0.0, STIFFNESS, DAMPING], (len(rngs), 1))
        gains[:, 0] = splay(stance)
        delay = np.array([rng.uniform(self.shortest, self.longest) for rng in rngs])
        return {"input": gains, "delay": delay / self.longest}

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Splay of the stance, and gains from actions."""
        return np.column_stack([splay(memory["stance"]), 0.5 * (actions + 1.0) * self.most])

    def encode(self, drive: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action whose gains come closest to those of a drive (B, 3), whose first entry is the stance's."""
        return np.clip(2.0 * np.asarray(drive)[:, 1:] / self.most - 1.0, -1.0, 1.0).astype(np.float32)


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
    ``rate``: control rate, Hz; ``scheme``; ``contacts``: their solver. Reset options: ``goal``, and the factors that
    the model has a use for, of ``strength``, ``mass``, ``damping``, ``friction`` and ``delay``.

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
        contacts: str | None = None,
    ) -> None:
        super().__init__(actions, rate)
        self.animal = Neuromechanic(model, dt, scheme, threads, modules, contacts)
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
