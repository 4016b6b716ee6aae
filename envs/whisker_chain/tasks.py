"""Tasks of the vibrissa: localise, detect, tap, hold a contact, whisk to a set point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import number
from ..core.noise import normal, uniform
from ..core.task import Field, Layout, Option, Task, tolerance
from .animal import FAR, Whisker, wrench_mean
from .params import WhiskerParams

ACCELERATION, RATE, REACH = 3000.0, 20.0, 0.7
"""Largest angular acceleration (rad/s^2) and rate (rad/s) of the base, and its largest angle (rad) either way."""

SENSOR = (0.01e-6, 0.2e-6, 0.2e-6)
"""Standard deviation of the sensor noise: M (N m), Fx, Fy (N)."""

MICRO = 1e-6

WHISK = {"amplitude": (0.0, 0.35), "set point": (-0.35, 0.35), "frequency": (2.0, 20.0)}
"""Ranges of a whisk: rad, rad, Hz."""


class _WhiskerTask(Task):
    """Actions and observations that all tasks of the vibrissa share; subclasses add scene, answer, reward."""

    animal: Whisker
    levels = ("trajectory", "whisk")
    rate = 250.0
    duration: float
    """Length of an episode, s."""
    start = -0.35
    """Base angle at the start, rad."""
    fields: Mapping[str, Field] = {}
    answers: Mapping[str, tuple[float, float]] = {}
    """What the action tells beside the motion: name to the values of -1 and 1."""
    records: tuple[tuple[Any, ...], ...] = ()

    def __init__(
        self,
        actions: str | None = None,
        scheme: str = "complementarity",
        dt: float = 1e-4,
        rate: float | None = None,
        noise: float = 1.0,
        friction: float = 0.0,
        threads: int = 1,
    ) -> None:
        super().__init__(actions, rate)
        self.noise = number("noise", noise, least=0)
        self.animal = Whisker(WhiskerParams(friction=friction), dt, scheme, threads=threads)
        motion = {"acceleration": (-ACCELERATION, ACCELERATION)} if self.actions == "trajectory" else WHISK
        ranges = np.array([*motion.values(), *self.answers.values()])
        self._middle, self._half = ranges.mean(1), 0.5 * np.diff(ranges)[:, 0]
        self.action_size = len(ranges)
        self.layout = Layout(
            {
                "moment": Field(1, "N m", 1e-6),
                "axial": Field(1, "N", 1e-5),
                "transverse": Field(1, "N", 5e-5),
                "angle": Field(1, "rad", 0.5),
                "speed": Field(1, "rad/s", 10.0),
                "clock": Field(1, "s", 1.0),
                "action": Field(self.action_size, "1", 1.0),
                **({"phase": Field(2, "1", 1.0)} if self.actions == "whisk" else {}),
                **self.fields,
            }
        )
        self.memory = np.dtype(
            [
                ("action", "f8", (self.action_size,)),
                ("phase", "f8"),
                ("whisk", "f8", (2,)),
                ("noise", "u8"),
                *self.records,
            ]
        )

    def reset(
        self,
        rows: NDArray[Any],
        memory: NDArray[Any],
        ids: NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
        options: Mapping[str, NDArray[np.float64]],
    ) -> None:
        """Start straight and at rest at the angle ``start``, with the scene of the task."""
        fresh = np.zeros(len(ids), self.memory)
        fresh["noise"] = [rng.integers(0, 2**63) for rng in rngs]
        fresh["whisk"][:, 1] = self.start
        scene = self.scene(fresh, rngs, options, options.get("length", self.animal.params.length))
        self.animal.reset(rows, ids, {"base_angle": self.start, **scene, **self.physical(options)})
        memory[ids] = fresh

    def scene(
        self,
        memory: NDArray[Any],
        rngs: Sequence[np.random.Generator],
        options: Mapping[str, NDArray[np.float64]],
        length: NDArray[np.float64] | float,
    ) -> dict[str, NDArray[np.float64]]:
        """Start values beyond the base angle; sets the task's own ``records``. All have an entry per id."""
        return {}

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Angular acceleration of the base, so that its rate stays continuous and its angle within reach."""
        memory["action"] = actions
        wanted = self._middle + self._half * actions
        theta, omega, period = rows["link_angle"][:, 0], rows["base_rate"], 1.0 / self.rate
        plain = self.actions == "trajectory"
        acceleration = wanted[:, 0] if plain else self._whisk(wanted, theta, omega, memory)
        # The fastest rates at the period's end from which the base can still stop within its reach.
        half, coast = 0.5 * ACCELERATION * period, 0.5 * period * omega
        high = np.sqrt(np.maximum(half**2 + 2 * ACCELERATION * (REACH - theta - coast), 0.0)) - half
        low = half - np.sqrt(np.maximum(half**2 + 2 * ACCELERATION * (REACH + theta + coast), 0.0))
        high, low = np.minimum(high, RATE), np.maximum(low, -RATE)
        target = np.minimum(np.maximum(omega + np.clip(acceleration, -ACCELERATION, ACCELERATION) * period, low), high)
        drive = np.zeros((len(rows), self.animal.drive_size))
        drive[:, 0] = np.clip((target - omega) * self.rate, -ACCELERATION, ACCELERATION)
        return drive

    def _whisk(
        self, wanted: NDArray[np.float64], theta: NDArray[np.float64], omega: NDArray[np.float64], memory: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Acceleration that follows the whisk set point - amplitude cos(phase), both smoothed over 20 ms."""
        period = 1.0 / self.rate
        turn = 2 * np.pi * wanted[:, 2]
        memory["phase"] = (memory["phase"] + turn * period) % (2 * np.pi)
        memory["whisk"] += (wanted[:, :2] - memory["whisk"]) * (period / (period + 0.02))
        amplitude, middle = memory["whisk"][:, 0], memory["whisk"][:, 1]
        s, c = np.sin(memory["phase"]), np.cos(memory["phase"])
        stiffness = 75.0  # 1/s, natural frequency of the follower
        ahead = amplitude * turn**2 * c
        return ahead + 2 * stiffness * (amplitude * turn * s - omega) + stiffness**2 * (middle - amplitude * c - theta)

    def answer(self, memory: NDArray[Any], name: str) -> NDArray[np.float64]:
        """What the last action told as ``name``, (B,)."""
        j = self.action_size - len(self.answers) + list(self.answers).index(name)
        return self._middle[j] + self._half[j] * memory["action"][:, j]

    def encode(self, drive: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action that commands ``drive`` (B, action_size), in SI.

        Angular acceleration (rad/s^2), or amplitude (rad), set point (rad) and frequency (Hz) of a whisk;
        then the task's answers.
        """
        return np.clip((np.asarray(drive) - self._middle) / self._half, -1.0, 1.0).astype(np.float32)

    def observe(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float32]:
        """Noisy mean wrench of the period, motion of the base, time, previous action, the task's own fields."""
        wrench = wrench_mean(rows) + self.noise * np.array(SENSOR) * normal(memory["noise"], rows["step"], 3)
        phase = np.stack([np.sin(memory["phase"]), np.cos(memory["phase"])], 1)
        return self.layout.encode(
            {
                "moment": wrench[:, 0],
                "axial": wrench[:, 1],
                "transverse": wrench[:, 2],
                "angle": rows["link_angle"][:, 0],
                "speed": rows["base_rate"],
                "clock": rows["time"],
                "action": memory["action"],
                "phase": phase,
                **self.goal(rows, memory),
            }
        )

    def goal(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Values of the task's own ``fields``."""
        return {}

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time (s), base angle (rad), mean wrench (N m, N) and push of the peg (N s) in the period."""
        return {
            "time": rows["time"].copy(),
            "base_angle": rows["link_angle"][:, 0].copy(),
            "base_wrench": wrench_mean(rows),
            "push": rows["contact_sum"][:, 0].copy(),
        }


class _Peg(_WhiskerTask):
    """A point peg somewhere ahead, given by its place on the straight hair and the base angle that touches it."""

    place = (0.3, 0.9)
    """Range of the peg's distance from the base, in lengths of the hair."""
    bearing = (-0.15, 0.35)
    """Range of the base angle at which the straight hair would touch, rad."""
    absent = 0.0
    """Share of episodes without a peg."""
    cost = 0.01
    """Price of a push of 1 uN s."""
    options: Mapping[str, Option] = {
        "peg_place": Option(0.15, 1.2, "lengths"),
        "peg_bearing": Option(-0.3, 0.6, "rad"),
        "peg_present": Option(0.0, 1.0, "1"),
    }
    records: tuple[tuple[Any, ...], ...] = (
        ("place", "f8"),
        ("bearing", "f8"),
        ("present", "f8"),
        ("touched", "f8"),
        ("pushed", "f8"),
    )

    def scene(self, memory, rngs, options, length):
        drawn = np.array([(rng.uniform(*self.place), rng.uniform(*self.bearing), rng.uniform()) for rng in rngs])
        memory["place"] = options.get("peg_place", drawn[:, 0])
        memory["bearing"] = options.get("peg_bearing", drawn[:, 1])
        memory["present"] = options.get("peg_present", drawn[:, 2] >= self.absent)
        memory["touched"] = np.inf
        distance = np.where(memory["present"] > 0.5, memory["place"] * length, FAR)
        peg = distance[:, None] * np.stack([np.cos(memory["bearing"]), np.sin(memory["bearing"])], 1)
        return {"peg": peg[:, None]}

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Price of the push; keeps the time of the first touch and the sum of pushes."""
        push = rows["contact_sum"][:, 0]
        memory["pushed"] += push
        memory["touched"] = np.where((push > 0.0) & np.isinf(memory["touched"]), rows["time"], memory["touched"])
        return -self.cost * push / MICRO

    def info(self, rows, memory):
        return super().info(rows, memory) | {
            "peg_place": memory["place"].copy(),
            "peg_bearing": memory["bearing"].copy(),
            "touched": np.isfinite(memory["touched"]).astype(float),
            "pushed": memory["pushed"].copy(),
        }


class Localize(_Peg):
    """Touch a peg and say where it is.

    ## Description

    The vibrissa of Quist et al. (2014) at 250 Hz for 0.6 s. A point peg stands 0.3 to 0.9 lengths from the
    base, where the straight hair would touch it at a base angle of -0.15 to 0.35 rad. The reference sweeps
    at 100 deg/s until Fx tells the touch, decelerates, waits for the vibrations to die and solves the
    statics: its median radial error is 0.001 lengths, 90% are below 0.03, and it returns 0.33. With four
    times the haste it returns 0.59.

    ## Action Space

    ``Box(-1, 1, (3,))``. ``actions="trajectory"`` (default): angular acceleration of the base in units of
    3000 rad/s^2, its rate and angle kept within 20 rad/s and 0.7 rad and continuous; then the estimates of
    the peg's distance (0.2 to 1 lengths) and bearing (-0.35 to 0.55 rad). ``"whisk"``, (5,): amplitude (0
    to 0.35 rad), set point (-0.35 to 0.35 rad) and frequency (2 to 20 Hz) of a sine that the base follows,
    in place of the acceleration.

    ## Observation Space

    ``Box(-10, 10, (9,))``; with n actions:

    | entries    | value                                                       | unit  | divided by |
    |------------|-------------------------------------------------------------|-------|------------|
    | 0          | M, mean over the period, with noise of 0.01 uN m            | N m   | 1e-6       |
    | 1, 2       | Fx, Fy, likewise, with noise of 0.2 uN                      | N     | 1e-5, 5e-5 |
    | 3, 4       | angle and rate of the base                                  | rad   | 0.5, 10    |
    | 5          | time                                                        | s     | 1          |
    | 6 .. 5+n   | previous action                                             | 1     | 1          |
    | next 2     | sine and cosine of the phase, only with ``"whisk"``         | 1     | 1          |

    ## Rewards

    At every step 1/150 if the estimated point is within 0.01 lengths of the peg, falling to 0.1/150 at 0.11
    lengths; less 0.01 for every uN s of push. ``info["error"]`` is the distance between both in lengths,
    ``info["place_error"]`` that of the radial distances.

    ## Starting State

    Straight and at rest at a base angle of -0.35 rad.

    ## Episode End

    Failure: a step cannot be solved, or the state is not finite. Truncated after 150 steps.

    ## Arguments

    ``actions``; ``scheme``: ``complementarity`` (default) or ``events``, the paper's; ``dt``: time step, s;
    ``rate``: control rate, Hz; ``noise``: factor on the sensor noise; ``friction``: Coulomb's coefficient.
    Reset options: ``peg_place``, ``peg_bearing``, ``peg_present``, ``length``, ``mass``, ``stiffness``,
    ``damping``, ``restitution``.

    ## Version History

    * v0: first version
    """

    duration = 0.6
    answers: Mapping[str, tuple[float, float]] = {"place": (0.2, 1.0), "bearing": (-0.35, 0.55)}

    def _errors(self, memory: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        place, bearing = self.answer(memory, "place"), self.answer(memory, "bearing")
        off = place**2 + memory["place"] ** 2 - 2 * place * memory["place"] * np.cos(bearing - memory["bearing"])
        return np.sqrt(np.maximum(off, 0.0)), np.abs(place - memory["place"])

    def reward(self, rows, memory):
        steps = self.rate * self.duration
        return super().reward(rows, memory) + tolerance(self._errors(memory)[0], 0.0, 0.01, 0.1) / steps

    def info(self, rows, memory):
        error, place_error = self._errors(memory)
        return super().info(rows, memory) | {"error": error, "place_error": place_error}


class Detect(_Peg):
    """Tell, quickly and gently, whether a peg stands in the way.

    ## Description

    The vibrissa of Quist et al. (2014) at 250 Hz for 0.4 s. In half of the episodes a point peg stands 0.5 to
    0.9 lengths from the base, where the straight hair would touch it at a base angle of -0.15 to 0.3 rad.
    The reference whisks at 8 Hz and takes Fx below a threshold for a touch: always right, 11 ms late, it
    returns 0.45. At a distal touch M is no larger than in free whisking: this is the paper's claim.

    ## Action Space

    ``Box(-1, 1, (2,))``. ``actions="trajectory"`` (default): angular acceleration of the base in units of
    3000 rad/s^2, its rate and angle kept within 20 rad/s and 0.7 rad and continuous; then the verdict: the
    first value above 0 declares a touch, once and for all. ``"whisk"``, (4,): amplitude (0 to 0.35 rad),
    set point (-0.35 to 0.35 rad) and frequency (2 to 20 Hz) of a sine that the base follows, in place of
    the acceleration.

    ## Observation Space

    ``Box(-10, 10, (9,))``; with n actions:

    | entries    | value                                                       | unit  | divided by |
    |------------|-------------------------------------------------------------|-------|------------|
    | 0          | M, mean over the period, with noise of 0.01 uN m            | N m   | 1e-6       |
    | 1, 2       | Fx, Fy, likewise, with noise of 0.2 uN                      | N     | 1e-5, 5e-5 |
    | 3, 4       | angle and rate of the base                                  | rad   | 0.5, 10    |
    | 5          | time                                                        | s     | 1          |
    | 6 .. 5+n   | previous action                                             | 1     | 1          |
    | next 2     | sine and cosine of the phase, only with ``"whisk"``         | 1     | 1          |
    | last       | 1 once a touch is declared                                  | 1     | 1          |

    ## Rewards

    A declaration after the first touch earns 1, less 0.5 for every 100 ms of delay, at least 0.1; one
    without a touch costs 1. Every uN s of push costs 0.01. ``info["hit"]``, ``info["false_alarm"]`` and
    ``info["delay"]`` (s, infinite without a hit) tell what has happened, ``info["correct"]`` is 1 for a hit or for
    silence without a touch.

    ## Starting State

    Straight and at rest at a base angle of -0.35 rad.

    ## Episode End

    Failure: a step cannot be solved, or the state is not finite. Truncated after 100 steps.

    ## Arguments

    ``actions``; ``scheme``: ``complementarity`` (default) or ``events``, the paper's; ``dt``: time step, s;
    ``rate``: control rate, Hz; ``noise``: factor on the sensor noise; ``friction``: Coulomb's coefficient.
    Reset options: ``peg_place``, ``peg_bearing``, ``peg_present``, ``length``, ``mass``, ``stiffness``,
    ``damping``, ``restitution``.

    ## Version History

    * v0: first version
    """

    duration = 0.4
    place = (0.5, 0.9)
    bearing = (-0.15, 0.3)
    absent = 0.5
    answers: Mapping[str, tuple[float, float]] = {"verdict": (-1.0, 1.0)}
    fields: Mapping[str, Field] = {"declared": Field(1, "1", 1.0)}
    records = (*_Peg.records, ("declared", "f8"), ("hit", "f8"), ("alarm", "f8"))

    def scene(self, memory, rngs, options, length):
        memory["declared"] = np.inf
        return super().scene(memory, rngs, options, length)

    def goal(self, rows, memory):
        return {"declared": np.isfinite(memory["declared"]).astype(float)}

    def reward(self, rows, memory):
        # The verdict was given before the period whose push is paid for now.
        declares = np.isinf(memory["declared"]) & (self.answer(memory, "verdict") > 0.0)
        began = rows["time"] - 1.0 / self.rate
        touched = memory["touched"] <= began + 0.5 * self.animal.dt
        memory["declared"] = np.where(declares, began, memory["declared"])
        memory["hit"] = np.where(declares & touched, 1.0, memory["hit"])
        memory["alarm"] = np.where(declares & ~touched, 1.0, memory["alarm"])
        delay = np.where(touched & declares, began, 0.0) - np.where(touched & declares, memory["touched"], 0.0)
        prize = np.where(touched, np.maximum(1.0 - 5.0 * delay, 0.1), -1.0)
        return super().reward(rows, memory) + np.where(declares, prize, 0.0)

    def info(self, rows, memory):
        hit, silent = memory["hit"] > 0.0, np.isinf(memory["declared"])
        delay = np.where(hit, memory["declared"], np.inf) - np.where(hit, memory["touched"], 0.0)
        quiet = silent & np.isinf(memory["touched"])
        return super().info(rows, memory) | {
            "hit": memory["hit"].copy(),
            "false_alarm": memory["alarm"].copy(),
            "correct": (hit | quiet).astype(float),
            "delay": delay,
        }


class Tap(_Peg):
    """Touch a peg in time, with the least push.

    ## Description

    The vibrissa of Quist et al. (2014) at 250 Hz for 0.4 s. A point peg stands 0.4 to 0.9 lengths from the
    base, where the straight hair would touch it at a base angle of -0.15 to 0.25 rad. The reference
    approaches at 115 deg/s and retracts as soon as Fx tells the touch; it returns 0.84.

    ## Action Space

    ``Box(-1, 1, (1,))``. ``actions="trajectory"`` (default): angular acceleration of the base in units of
    3000 rad/s^2, its rate and angle kept within 20 rad/s and 0.7 rad and continuous. ``"whisk"``, (3,):
    amplitude (0 to 0.35 rad), set point (-0.35 to 0.35 rad) and frequency (2 to 20 Hz) of a sine that the
    base follows.

    ## Observation Space

    ``Box(-10, 10, (7,))``; with n actions:

    | entries    | value                                                       | unit  | divided by |
    |------------|-------------------------------------------------------------|-------|------------|
    | 0          | M, mean over the period, with noise of 0.01 uN m            | N m   | 1e-6       |
    | 1, 2       | Fx, Fy, likewise, with noise of 0.2 uN                      | N     | 1e-5, 5e-5 |
    | 3, 4       | angle and rate of the base                                  | rad   | 0.5, 10    |
    | 5          | time                                                        | s     | 1          |
    | 6 .. 5+n   | previous action                                             | 1     | 1          |
    | next 2     | sine and cosine of the phase, only with ``"whisk"``         | 1     | 1          |

    ## Rewards

    The changes of a grade that is 0 before the first touch and then 1/(1 + pushed/1 uN s); so the return is the
    grade at the end, and a late touch is worth as much as an early one. ``info["touched"]`` tells whether,
    ``info["pushed"]`` how much in N s.

    ## Starting State

    Straight and at rest at a base angle of -0.35 rad.

    ## Episode End

    Failure: a step cannot be solved, or the state is not finite. Truncated after 100 steps.

    ## Arguments

    ``actions``; ``scheme``: ``complementarity`` (default) or ``events``, the paper's; ``dt``: time step, s;
    ``rate``: control rate, Hz; ``noise``: factor on the sensor noise; ``friction``: Coulomb's coefficient.
    Reset options: ``peg_place``, ``peg_bearing``, ``peg_present``, ``length``, ``mass``, ``stiffness``,
    ``damping``, ``restitution``.

    ## Version History

    * v0: first version
    """

    duration = 0.4
    place = (0.4, 0.9)
    bearing = (-0.15, 0.25)

    def _grade(self, memory: NDArray[Any]) -> NDArray[np.float64]:
        return np.where(np.isfinite(memory["touched"]), 1.0 / (1.0 + memory["pushed"] / MICRO), 0.0)

    def reward(self, rows, memory):
        before = self._grade(memory)
        super().reward(rows, memory)
        return self._grade(memory) - before


class Hold(_WhiskerTask):
    """Hold a contact moment against a peg that moves.

    ## Description

    The vibrissa of Quist et al. (2014) at 250 Hz for 2 s. A point peg 0.35 to 0.6 lengths from the base, just
    ahead of the hair, swings across it by up to 1 mm in three sines of 0.5 to 4 Hz. The rats are predicted
    to press in and to wait until the vibrations have died; here the pressure itself is to be kept. The
    reference, a PI controller of M, stays within 0.04 uN m on average and returns 469.

    ## Action Space

    ``Box(-1, 1, (1,))``. ``actions="trajectory"`` (default): angular acceleration of the base in units of
    3000 rad/s^2, its rate and angle kept within 20 rad/s and 0.7 rad and continuous. ``"whisk"``, (3,):
    amplitude (0 to 0.35 rad), set point (-0.35 to 0.35 rad) and frequency (2 to 20 Hz) of a sine that the
    base follows.

    ## Observation Space

    ``Box(-10, 10, (8,))``; with n actions:

    | entries    | value                                                       | unit  | divided by |
    |------------|-------------------------------------------------------------|-------|------------|
    | 0          | M, mean over the period, with noise of 0.01 uN m            | N m   | 1e-6       |
    | 1, 2       | Fx, Fy, likewise, with noise of 0.2 uN                      | N     | 1e-5, 5e-5 |
    | 3, 4       | angle and rate of the base                                  | rad   | 0.5, 10    |
    | 5          | time                                                        | s     | 1          |
    | 6 .. 5+n   | previous action                                             | 1     | 1          |
    | next 2     | sine and cosine of the phase, only with ``"whisk"``         | 1     | 1          |
    | last       | moment to hold, -1.5 to -0.5 uN m                           | N m   | 1e-6       |

    ## Rewards

    1 within 0.02 uN m of the goal, falling to 0.1 at 0.32 uN m. ``info["error"]`` is the distance in N m, mean
    over the episode so far.

    ## Starting State

    Straight and at rest, 0.05 rad short of the peg.

    ## Episode End

    Failure: a step cannot be solved, or the state is not finite. Truncated after 500 steps.

    ## Arguments

    ``actions``; ``scheme``: ``complementarity`` (default) or ``events``, the paper's; ``dt``: time step, s;
    ``rate``: control rate, Hz; ``noise``: factor on the sensor noise; ``friction``: Coulomb's coefficient.
    Reset options: ``peg_place``, ``goal`` (N m), ``length``, ``mass``, ``stiffness``, ``damping``,
    ``restitution``.

    ## Version History

    * v0: first version
    """

    duration = 2.0
    start = -0.05
    options: Mapping[str, Option] = {
        "peg_place": Option(0.2, 0.9, "lengths"),
        "goal": Option(-3e-6, 0.0, "N m"),
    }
    fields: Mapping[str, Field] = {"goal": Field(1, "N m", 1e-6)}
    records = (
        ("goal", "f8"),
        ("swing", "f8", (3,)),
        ("frequency", "f8", (3,)),
        ("lag", "f8", (3,)),
        ("error", "f8"),
    )

    def scene(self, memory, rngs, options, length):
        drawn = np.array([rng.uniform(size=11) for rng in rngs])
        memory["goal"] = options.get("goal", (-1.5 + drawn[:, 0]) * MICRO)
        memory["swing"] = 1e-3 / 3 * drawn[:, 2:5]
        memory["frequency"] = 0.5 + 3.5 * drawn[:, 5:8]
        memory["lag"] = 2 * np.pi * drawn[:, 8:11]
        place = options.get("peg_place", 0.35 + 0.25 * drawn[:, 1])
        return {"peg": np.stack([place * length, self._peg(memory, 0.0)], 1)[:, None]}

    def _peg(self, memory: NDArray[Any], time: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Place of the peg across the hair at ``time``, (B,) m; 0 at the start."""
        phase = 2 * np.pi * memory["frequency"] * np.asarray(time)[..., None]
        return np.sum(memory["swing"] * (np.sin(phase + memory["lag"]) - np.sin(memory["lag"])), 1)

    def command(self, actions, rows, memory):
        """Move the peg, too: it swings on whatever the hair does."""
        now = rows["time"]
        ahead = self._peg(memory, now + 1.0 / self.rate) - self._peg(memory, now)
        rows["peg_velocity"][:, 1, 0] = ahead * self.rate
        return super().command(actions, rows, memory)

    def goal(self, rows, memory):
        return {"goal": memory["goal"]}

    def _off(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        return np.abs(wrench_mean(rows)[:, 0] - memory["goal"])

    def reward(self, rows, memory):
        memory["error"] += self._off(rows, memory)
        return tolerance(self._off(rows, memory), 0.0, 0.02 * MICRO, 0.3 * MICRO)

    def info(self, rows, memory):
        periods = np.maximum(rows["time"] * self.rate, 1.0)
        return super().info(rows, memory) | {"goal": memory["goal"].copy(), "error": memory["error"] / periods}


class Whisk(_WhiskerTask):
    """Follow a set point in free air with the least vibration.

    ## Description

    The vibrissa of Quist et al. (2014) at 250 Hz for 2 s, without a peg. Every 0.25 s the goal jumps to an angle
    between -0.35 and 0.35 rad, to which the tip's direction from the base is to come, and stay. The hair
    resonates at 49 Hz. The reference moves the base by a shaped ramp, in two halves half a period apart, and
    returns 456; without the shaping 435.

    ## Action Space

    ``Box(-1, 1, (1,))``. ``actions="trajectory"`` (default): angular acceleration of the base in units of
    3000 rad/s^2, its rate and angle kept within 20 rad/s and 0.7 rad and continuous. ``"whisk"``, (3,):
    amplitude (0 to 0.35 rad), set point (-0.35 to 0.35 rad) and frequency (2 to 20 Hz) of a sine that the
    base follows.

    ## Observation Space

    ``Box(-10, 10, (8,))``; with n actions:

    | entries    | value                                                       | unit  | divided by |
    |------------|-------------------------------------------------------------|-------|------------|
    | 0          | M, mean over the period, with noise of 0.01 uN m            | N m   | 1e-6       |
    | 1, 2       | Fx, Fy, likewise, with noise of 0.2 uN                      | N     | 1e-5, 5e-5 |
    | 3, 4       | angle and rate of the base                                  | rad   | 0.5, 10    |
    | 5          | time                                                        | s     | 1          |
    | 6 .. 5+n   | previous action                                             | 1     | 1          |
    | next 2     | sine and cosine of the phase, only with ``"whisk"``         | 1     | 1          |
    | last       | angle of the goal                                           | rad   | 0.5        |

    ## Rewards

    1 while the tip's direction is within 0.005 rad of the goal, falling to 0.1 at 0.055 rad.
    ``info["error"]`` is the distance in rad, mean over the episode so far.

    ## Starting State

    Straight and at rest along x.

    ## Episode End

    Failure: a step cannot be solved, or the state is not finite. Truncated after 500 steps.

    ## Arguments

    ``actions``; ``scheme``: ``complementarity`` (default) or ``events``, the paper's; ``dt``: time step, s;
    ``rate``: control rate, Hz; ``noise``: factor on the sensor noise; ``friction``: Coulomb's coefficient.
    Reset options: ``length``, ``mass``, ``stiffness``, ``damping``, ``restitution``.

    ## Version History

    * v0: first version
    """

    duration = 2.0
    start = 0.0
    span = 0.25
    """Time between jumps of the goal, s."""
    fields: Mapping[str, Field] = {"goal": Field(1, "rad", 0.5)}
    records = (("error", "f8"),)

    def _goal(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Angle (B,) to be at, from the end of this period on."""
        number = np.floor((rows["time"] + 0.5 / self.rate) / self.span)
        return 0.35 * (2.0 * uniform(~memory["noise"], number, 1)[:, 0] - 1.0)

    def goal(self, rows, memory):
        return {"goal": self._goal(rows, memory)}

    def _off(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        angle = rows["link_angle"]
        tip = np.arctan2(np.sum(np.sin(angle), 1), np.sum(np.cos(angle), 1))
        return np.abs(tip - self._goal(rows, memory))

    def reward(self, rows, memory):
        memory["error"] += self._off(rows, memory)
        return tolerance(self._off(rows, memory), 0.0, 0.005, 0.05)

    def info(self, rows, memory):
        periods = np.maximum(rows["time"] * self.rate, 1.0)
        return super().info(rows, memory) | {"error": memory["error"] / periods}
