"""Tasks of the lamprey: sprint, swim cheaply, pass waypoints, escape, hold a speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.chain import into_frame
from ..core.task import Field, Layout, Option, Score, Task, tolerance
from .animal import Lamprey
from .params import Cord, table

BRAINSTEM_LOW, BRAINSTEM_HIGH = np.array([0.0, -0.3, 0.0]), np.array([0.7, 0.3, 1.4])
"""Tonic level, asymmetry and head extra at actions of -1 and 1; beyond a level of 0.7 the rhythm breaks."""


class _LampreyTask(Task):
    """Actions and observations that all tasks of the lamprey share; subclasses add goal, reward, endings."""

    animal: Lamprey
    levels: tuple[str, ...] = ("motoneuron", "brainstem", "residual")
    tonic = 0.4
    """Level of the cord to which ``actions="residual"`` adds."""
    rate = 50.0
    fields: Mapping[str, Field] = {}
    records: tuple[tuple[Any, ...], ...] = ()

    def __init__(
        self,
        actions: str | None = None,
        scheme: str = "published",
        dt: float | None = None,
        rate: float | None = None,
        ends: str = "exist",
        threads: int = 1,
    ) -> None:
        super().__init__(actions, rate)
        self.animal = Lamprey(drive=self.actions, dt=dt, scheme=scheme, cord=Cord(ends=ends), threads=threads)
        joints = self.animal.links - 1
        self.action_size = 3 if self.actions == "brainstem" else 2 * joints
        self._length = float(np.sum(self.animal.params.length))
        self._share = np.asarray(self.animal.params.mass) / np.sum(self.animal.params.mass)
        self._place = np.arange(joints) / (joints - 1)
        self.options = {"current": Option(-1.0, 1.0, "m/s", (2,)), **self.options}
        if self.animal.cord is not None:
            for name in ("segment_gain", "cell_gain"):
                self.options[name] = Option(0.0, 1.0, "1", self.animal.state[name].shape)
        self.layout = Layout(
            {
                "joint_angle": Field(joints, "rad", 0.5),
                "joint_rate": Field(joints, "rad/s", 10.0),
                "edge_cell": Field(2 * joints, "1/m", 10.0),
                "action": Field(self.action_size, "1", 1.0),
                "velocity": Field(2, "m/s", 0.5),
                "yaw_rate": Field(1, "rad/s", 5.0),
                **self.fields,
            }
        )
        self.memory = np.dtype([("action", "f8", (self.action_size,)), ("from", "f8", (2,)), *self.records])

    def reset(
        self,
        rows: NDArray[Any],
        memory: NDArray[Any],
        ids: NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
        options: Mapping[str, NDArray[np.float64]],
    ) -> None:
        """Start at rest, slightly and smoothly bent, heading anywhere, one side of the cord a little excited."""
        draws = np.array([rng.uniform(-1.0, 1.0, 5) for rng in rngs])
        bend = 0.02 * np.sum(draws[:, :3, None] * np.cos(np.pi * np.arange(3)[:, None] * self._place), 1)
        heading = np.pi * draws[:, 3]
        start = {"joint_angle": bend, "heading": heading}
        names = {"current", *self.animal.parameters}
        if self.animal.cord is not None:
            start["kick"] = np.where(draws[:, 4] < 0.0, -0.1, 0.1) + 0.05 * draws[:, 4]
            names |= {"segment_gain", "cell_gain"}
        self.animal.reset(rows, ids, start | {name: options[name] for name in names & options.keys()})
        fresh = np.zeros(len(ids), self.memory)
        fresh["from"] = rows["centre"][ids]
        self.begin(rows, fresh, ids, rngs, options, -np.stack([np.cos(heading), np.sin(heading)], 1))
        memory[ids] = fresh

    def begin(
        self,
        rows: NDArray[Any],
        memory: NDArray[Any],
        ids: NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
        options: Mapping[str, NDArray[np.float64]],
        forward: NDArray[np.float64],
    ) -> None:
        """Set the task's own ``records`` in ``memory``, which has an entry per id, as has ``forward`` (A, 2)."""

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Drive of the animal from actions."""
        memory["action"] = actions
        memory["from"] = rows["centre"]
        if self.actions == "motoneuron":
            return 0.5 * (actions + 1.0)
        if self.actions == "brainstem":
            return BRAINSTEM_LOW + 0.5 * (actions + 1.0) * (BRAINSTEM_HIGH - BRAINSTEM_LOW)
        drive = np.empty((len(actions), self.animal.drive_size))
        drive[:, :3] = self.tonic, 0.0, table()["head_extra"]
        drive[:, 3:] = actions
        return drive

    def encode(self, drive: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action whose command comes closest to ``drive`` (B, nu)."""
        if self.actions == "residual":
            raise ValueError("actions='residual' adds to the cord's own motoneurons, whose action is zero")
        low, high = (BRAINSTEM_LOW, BRAINSTEM_HIGH) if self.actions == "brainstem" else (0.0, 1.0)
        actions = 2.0 * (np.asarray(drive) - low) / (high - low) - 1.0
        return np.clip(actions, -1.0, 1.0).astype(np.float32)

    def heading(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Direction (B,) rad in which the body points on the average of its mass."""
        return np.sum(self._share * rows["link_angle"], 1) + np.pi

    def observe(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float32]:
        """Posture, edge cells, previous action, velocity in the frame of the body, and the task's own fields."""
        heading = self.heading(rows)
        return self.layout.encode(
            {
                "joint_angle": np.diff(rows["link_angle"]),
                "joint_rate": np.diff(rows["link_rate"]),
                "edge_cell": self.animal.edge_cells(rows).reshape(len(rows), -1),
                "action": memory["action"],
                "velocity": into_frame(heading, rows["centre_velocity"]),
                "yaw_rate": np.sum(self._share * rows["link_rate"], 1),
                **self.goal(heading, rows, memory),
            }
        )

    def goal(self, heading: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Values of the task's own ``fields``, with the body pointing along ``heading`` (B,)."""
        return {}

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time (s), centre of mass (m), and the positive work of the muscles in the period (J)."""
        return {"time": rows["time"].copy(), "centre": rows["centre"].copy(), "work": rows["work"].copy()}


class _Directed(_LampreyTask):
    """Go in a direction, that of the body at the start unless a subclass turns it."""

    cost: float
    """Weight of the power, body lengths a second per W."""
    fields: Mapping[str, Field] = {"direction": Field(2, "1", 1.0)}
    records: tuple[tuple[Any, ...], ...] = (("goal", "f8", (2,)), ("start", "f8", (2,)))
    score = Score("distance", "m")

    def begin(self, rows, memory, ids, rngs, options, forward):
        memory["goal"] = forward
        memory["start"] = rows["centre"][ids]

    def goal(self, heading, rows, memory):
        return {"direction": into_frame(heading, memory["goal"])}

    def _way(self, rows: NDArray[Any], memory: NDArray[Any], since: str) -> NDArray[np.float64]:
        """Displacement along the goal (B,) m since ``from`` or ``start``."""
        return np.sum((rows["centre"] - memory[since]) * memory["goal"], 1)

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Speed along the goal in body lengths a second, less the cost of power."""
        return self.rate * (self._way(rows, memory, "from") / self._length - self.cost * rows["work"])

    def info(self, rows, memory):
        return super().info(rows, memory) | {"distance": self._way(rows, memory, "start")}


class Sprint(_Directed):
    """Swim as far as possible in 5 s from rest.

    ## Description

    The lamprey of Ekeberg (1993), 50 Hz, 5 s. The goal is the mean direction of the body at the start. The cord
    as a policy gets 2.6 m far at a tonic level of 0.4 and 3.7 m at 0.7, the best constant sine 5.3 m.

    ## Action Space

    ``Box(-1, 1, (18,))`` with ``actions="motoneuron"`` (default): motoneuron drive of the nine joints, first left,
    then right, from none at -1 to full at 1. ``"brainstem"``, (3,): drive of the spinal cord in the loop, its tonic
    level 0 .. 0.7, asymmetry -0.3 .. 0.3 (positive turns right) and relative extra on the head segments 0 .. 1.4.
    ``"residual"``, (18,): added to the motoneurons of a cord with tonic level 0.7.

    ## Observation Space

    ``Box(-10, 10, (59,))``; with n actions:

    | entries    | value                                                 | unit  | divided by |
    |------------|-------------------------------------------------------|-------|------------|
    | 0 .. 8     | joint angles, head to tail                            | rad   | 0.5        |
    | 9 .. 17    | joint rates                                           | rad/s | 10         |
    | 18 .. 35   | edge cells of the joints, left, then right            | 1/m   | 10         |
    | 36 .. 35+n | previous action                                       | 1     | 1          |
    | next 2     | velocity of the centre of mass along and left of body | m/s   | 0.5        |
    | next 1     | rate of turning, positive to the left                 | rad/s | 5          |
    | next 2     | goal direction along and left of body                 | 1     | 1          |

    ## Rewards

    Speed along the goal in body lengths per second, less 0.5 for each W of positive muscle power.
    ``info["distance"]`` (m) counts from the start.

    ## Starting State

    At rest, slightly and smoothly bent at random (up to 0.02 rad per mode), heading anywhere; in the cord the
    excitatory neurons of one side are a little excited.

    ## Episode End

    Failure: a joint is bent beyond 2 rad, or the state is not finite. Truncated after 250 steps.

    ## Arguments

    ``actions``; ``scheme``: the paper's ``published`` (default), ``implicit`` or ``reference``; ``dt``: step of
    the neurons, s; ``rate``: control rate, Hz; ``ends``: ``exist`` (default) or ``clamp``, see ``Cord``. Reset
    options: ``muscle_gain``, ``muscle_stiffness``, ``tonic_stiffness``, ``damping``, ``water``, ``feedback``,
    ``current`` (2,) m/s; with a cord ``segment_gain`` (2, 100) and ``cell_gain`` (2, 5), which lesion it.

    ## Version History

    * v0: first version
    """

    cost = 0.5
    tonic = 0.7


class Economy(_Directed):
    """Swim with little work.

    ## Description

    As ``Sprint``, for economy: metres along the goal per joule of positive muscle work, which counts from 1.5 m on.
    The cord makes 16 m/J at a tonic level of 0.15 (1.8 m), 6 m/J at 0.4 (2.6 m), the
    best constant sine 27 m/J (1.5 m). 50 Hz, 5 s.

    ## Action Space

    ``Box(-1, 1, (18,))`` with ``actions="motoneuron"`` (default): motoneuron drive of the nine joints, first left,
    then right, from none at -1 to full at 1. ``"brainstem"``, (3,): drive of the spinal cord in the loop, its tonic
    level 0 .. 0.7, asymmetry -0.3 .. 0.3 (positive turns right) and relative extra on the head segments 0 .. 1.4.
    ``"residual"``, (18,): added to the motoneurons of a cord with tonic level 0.15.

    ## Observation Space

    ``Box(-10, 10, (59,))``; with n actions:

    | entries    | value                                                 | unit  | divided by |
    |------------|-------------------------------------------------------|-------|------------|
    | 0 .. 8     | joint angles, head to tail                            | rad   | 0.5        |
    | 9 .. 17    | joint rates                                           | rad/s | 10         |
    | 18 .. 35   | edge cells of the joints, left, then right            | 1/m   | 10         |
    | 36 .. 35+n | previous action                                       | 1     | 1          |
    | next 2     | velocity of the centre of mass along and left of body | m/s   | 0.5        |
    | next 1     | rate of turning, positive to the left                 | rad/s | 5          |
    | next 2     | goal direction along and left of body                 | 1     | 1          |

    ## Rewards

    Speed along the goal in body lengths per second, less 18.5 for each W of positive muscle power: a way at 0.18 J/m
    earns nothing. ``info["economy"]`` (m/J), ``info["distance"]`` (m) and ``info["spent"]`` (J) count from the start.

    ## Starting State

    At rest, slightly and smoothly bent at random (up to 0.02 rad per mode), heading anywhere; in the cord the
    excitatory neurons of one side are a little excited.

    ## Episode End

    Failure: a joint is bent beyond 2 rad, or the state is not finite. Truncated after 250 steps.

    ## Arguments

    ``actions``; ``scheme``: the paper's ``published`` (default), ``implicit`` or ``reference``; ``dt``: step of
    the neurons, s; ``rate``: control rate, Hz; ``ends``: ``exist`` (default) or ``clamp``, see ``Cord``. Reset
    options: ``muscle_gain``, ``muscle_stiffness``, ``tonic_stiffness``, ``damping``, ``water``, ``feedback``,
    ``current`` (2,) m/s; with a cord ``segment_gain`` (2, 100) and ``cell_gain`` (2, 5), which lesion it.

    ## Version History

    * v0: first version
    """

    cost = 18.5
    tonic = 0.15
    least = 1.5
    """Distance without which economy counts nothing, m."""
    records = (*_Directed.records, ("spent", "f8"))
    score = Score("economy", "m/J")

    def reward(self, rows, memory):
        memory["spent"] += rows["work"]
        return super().reward(rows, memory)

    def info(self, rows, memory):
        base = super().info(rows, memory)
        far = base["distance"] >= self.least
        economy = np.where(far, base["distance"], 0.0) / np.maximum(memory["spent"], 1e-9)
        return base | {"spent": memory["spent"].copy(), "economy": economy}


class Waypoints(_LampreyTask):
    """Pass as many waypoints as possible in 30 s.

    ## Description

    The lamprey of Ekeberg (1993), 20 Hz, 30 s. Each waypoint lies 0.6 .. 1.2 m from the one before it, in any
    direction, and is reached where the centre of mass comes within 0.1 m. Proportional steering reaches 13.

    ## Action Space

    ``Box(-1, 1, (3,))`` with ``actions="brainstem"`` (default): drive of the spinal cord in the loop, its tonic
    level 0 .. 0.7, asymmetry -0.3 .. 0.3 (positive turns right) and relative extra on the head segments 0 .. 1.4.
    ``"motoneuron"``, (18,): motoneuron drive of the nine joints, first left, then right, from none to full.
    ``"residual"``, (18,): added to the motoneurons of a cord with tonic level 0.4.

    ## Observation Space

    ``Box(-10, 10, (44,))``; with n actions:

    | entries    | value                                                    | unit  | divided by |
    |------------|----------------------------------------------------------|-------|------------|
    | 0 .. 8     | joint angles, head to tail                               | rad   | 0.5        |
    | 9 .. 17    | joint rates                                              | rad/s | 10         |
    | 18 .. 35   | edge cells of the joints, left, then right               | 1/m   | 10         |
    | 36 .. 35+n | previous action                                          | 1     | 1          |
    | next 2     | velocity of the centre of mass along and left of body    | m/s   | 0.5        |
    | next 1     | rate of turning, positive to the left                    | rad/s | 5          |
    | next 2     | waypoint from the centre of mass, along and left of body | m     | 1          |

    ## Rewards

    Approach in body lengths per second; 10 more for each waypoint. ``info["reached"]`` counts them.

    ## Starting State

    At rest, slightly and smoothly bent at random (up to 0.02 rad per mode), heading anywhere; in the cord the
    excitatory neurons of one side are a little excited.

    ## Episode End

    Failure: a joint is bent beyond 2 rad, or the state is not finite. Truncated after 600 steps.

    ## Arguments

    ``actions``; ``scheme``: the paper's ``published`` (default), ``implicit`` or ``reference``; ``dt``: step of
    the neurons, s; ``rate``: control rate, Hz; ``ends``: ``exist`` (default) or ``clamp``, see ``Cord``. Reset
    options: ``muscle_gain``, ``muscle_stiffness``, ``tonic_stiffness``, ``damping``, ``water``, ``feedback``,
    ``current`` (2,) m/s; with a cord ``segment_gain`` (2, 100) and ``cell_gain`` (2, 5), which lesion it.

    ## Version History

    * v0: first version
    """

    levels = ("brainstem", "motoneuron", "residual")
    rate = 20.0
    fields: Mapping[str, Field] = {"target": Field(2, "m", 1.0)}
    count = 48
    """Waypoints laid out for an episode; more than a lamprey can reach."""
    records = (("waypoint", "f8", (count, 2)), ("reached", "f8"), ("distance", "f8"))
    score = Score("reached")

    radius = 0.1
    """Distance of the centre of mass from a waypoint that counts as reached, m."""

    def begin(self, rows, memory, ids, rngs, options, forward):
        drawn = np.array([(rng.uniform(0.6, 1.2, self.count), rng.uniform(-np.pi, np.pi, self.count)) for rng in rngs])
        steps = drawn[:, 0, :, None] * np.stack([np.cos(drawn[:, 1]), np.sin(drawn[:, 1])], -1)
        memory["waypoint"] = rows["centre"][ids][:, None] + np.cumsum(steps, 1)
        memory["distance"] = drawn[:, 0, 0]

    def waypoint(self, memory: NDArray[Any]) -> NDArray[np.float64]:
        """Present waypoint (B, 2) m."""
        index = np.minimum(memory["reached"].astype(int), self.count - 1)
        return memory["waypoint"][np.arange(len(memory)), index]

    def _away(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """From the centre of mass to the present waypoint (B, 2) m."""
        return self.waypoint(memory) - rows["centre"]

    def goal(self, heading, rows, memory):
        return {"target": into_frame(heading, self._away(rows, memory))}

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Approach in body lengths a second; 10 more for each waypoint."""
        distance = np.sqrt(np.sum(self._away(rows, memory) ** 2, 1))
        approach = self.rate * (memory["distance"] - distance) / self._length
        arrived = distance <= self.radius
        memory["reached"] += arrived
        memory["distance"] = np.sqrt(np.sum(self._away(rows, memory) ** 2, 1))
        return approach + np.where(arrived, 10.0, 0.0)

    def info(self, rows, memory):
        return super().info(rows, memory) | {"reached": memory["reached"].copy()}


class Escape(_Directed):
    """Get away in a given direction, in 2 s from rest.

    ## Description

    The lamprey of Ekeberg (1993), 50 Hz, 2 s. The direction is drawn from all around. The cord at a tonic level of
    0.6 with proportional steering gets 0.84 m far straight ahead, 0.68 m at 90 degrees, 0.29 m at 135, -0.19 m
    backwards.

    ## Action Space

    ``Box(-1, 1, (18,))`` with ``actions="motoneuron"`` (default): motoneuron drive of the nine joints, first left,
    then right, from none at -1 to full at 1. ``"brainstem"``, (3,): drive of the spinal cord in the loop, its tonic
    level 0 .. 0.7, asymmetry -0.3 .. 0.3 (positive turns right) and relative extra on the head segments 0 .. 1.4.
    ``"residual"``, (18,): added to the motoneurons of a cord with tonic level 0.6.

    ## Observation Space

    ``Box(-10, 10, (59,))``; with n actions:

    | entries    | value                                                 | unit  | divided by |
    |------------|-------------------------------------------------------|-------|------------|
    | 0 .. 8     | joint angles, head to tail                            | rad   | 0.5        |
    | 9 .. 17    | joint rates                                           | rad/s | 10         |
    | 18 .. 35   | edge cells of the joints, left, then right            | 1/m   | 10         |
    | 36 .. 35+n | previous action                                       | 1     | 1          |
    | next 2     | velocity of the centre of mass along and left of body | m/s   | 0.5        |
    | next 1     | rate of turning, positive to the left                 | rad/s | 5          |
    | next 2     | goal direction along and left of body                 | 1     | 1          |

    ## Rewards

    Speed along the goal in body lengths per second. ``info["distance"]`` (m) counts from the start.

    ## Starting State

    At rest, slightly and smoothly bent at random (up to 0.02 rad per mode), heading anywhere; in the cord the
    excitatory neurons of one side are a little excited.

    ## Episode End

    Failure: a joint is bent beyond 2 rad, or the state is not finite. Truncated after 100 steps.

    ## Arguments

    ``actions``; ``scheme``: the paper's ``published`` (default), ``implicit`` or ``reference``; ``dt``: step of
    the neurons, s; ``rate``: control rate, Hz; ``ends``: ``exist`` (default) or ``clamp``, see ``Cord``. Reset
    options: ``bearing`` rad of the goal, positive to the left; ``muscle_gain``, ``muscle_stiffness``,
    ``tonic_stiffness``, ``damping``, ``water``, ``feedback``, ``current`` (2,) m/s; with a cord
    ``segment_gain`` (2, 100) and ``cell_gain`` (2, 5), which lesion it.

    ## Version History

    * v0: first version
    """

    cost = 0.0
    tonic = 0.6
    options: Mapping[str, Option] = {"bearing": Option(-np.pi, np.pi, "rad")}

    def begin(self, rows, memory, ids, rngs, options, forward):
        super().begin(rows, memory, ids, rngs, options, forward)
        drawn = np.array([rng.uniform(-np.pi, np.pi) for rng in rngs])
        memory["goal"] = into_frame(-options.get("bearing", drawn), forward)


class Speed(_Directed):
    """Hold a speed that steps, in a current, with a lesion.

    ## Description

    The lamprey of Ekeberg (1993), 20 Hz, 20 s. The goal is the mean direction of the body at the start, the wanted
    speed over ground along it is drawn from 0.35 .. 0.7 m/s every 5 s, the current from all directions up to
    0.1 m/s, and ten neighbouring segments of one side have lost half of their output. Current and lesion are
    hidden; four observations are stacked, so that they can be felt.

    ## Action Space

    ``Box(-1, 1, (3,))`` with ``actions="brainstem"`` (default): drive of the spinal cord in the loop, its tonic
    level 0 .. 0.7, asymmetry -0.3 .. 0.3 (positive turns right) and relative extra on the head segments 0 .. 1.4.
    ``"residual"``, (18,): added to the motoneurons of a cord with tonic level 0.4.

    ## Observation Space

    ``Box(-10, 10, (4 * 46,))`` (``history=4``); with n actions:

    | entries    | value                                                 | unit  | divided by |
    |------------|-------------------------------------------------------|-------|------------|
    | 0 .. 8     | joint angles, head to tail                            | rad   | 0.5        |
    | 9 .. 17    | joint rates                                           | rad/s | 10         |
    | 18 .. 35   | edge cells of the joints, left, then right            | 1/m   | 10         |
    | 36 .. 35+n | previous action                                       | 1     | 1          |
    | next 2     | velocity of the centre of mass along and left of body | m/s   | 0.5        |
    | next 1     | rate of turning, positive to the left                 | rad/s | 5          |
    | next 2     | goal direction along and left of body                 | 1     | 1          |
    | next 1     | wanted speed                                          | m/s   | 0.5        |
    | next 1     | speed along the goal, mean of the period              | m/s   | 0.5        |

    ## Rewards

    1 where the mean speed of the period is within 0.02 m/s of the wanted one, 0.1 at 0.22 m/s.
    ``info["error"]`` (m/s) is the mean distance between the two since the start.

    ## Starting State

    At rest, slightly and smoothly bent at random (up to 0.02 rad per mode), heading anywhere; in the cord the
    excitatory neurons of one side are a little excited.

    ## Episode End

    Failure: a joint is bent beyond 2 rad, or the state is not finite. Truncated after 400 steps.

    ## Arguments

    ``actions``; ``scheme``: the paper's ``published`` (default), ``implicit`` or ``reference``; ``dt``: step of
    the neurons, s; ``rate``: control rate, Hz; ``ends``: ``exist`` (default) or ``clamp``, see ``Cord``. Reset
    options: ``target_speed`` (4,) m/s; ``muscle_gain``, ``muscle_stiffness``, ``tonic_stiffness``, ``damping``,
    ``water``, ``feedback``, ``current`` (2,) m/s; with a cord ``segment_gain`` (2, 100) and ``cell_gain`` (2,
    5), which lesion it.

    ## Version History

    * v0: first version
    """

    levels = ("brainstem", "residual")
    rate = 20.0
    options: Mapping[str, Option] = {"target_speed": Option(0.0, 1.0, "m/s", (4,))}
    fields: Mapping[str, Field] = {
        **_Directed.fields,
        "target_speed": Field(1, "m/s", 0.5),
        "speed": Field(1, "m/s", 0.5),
    }
    records = (*_Directed.records, ("target_speed", "f8", (4,)), ("speed", "f8"), ("error", "f8"))
    score = Score("return")

    hold = 5.0
    """Time for which a target speed stands, s."""

    def begin(self, rows, memory, ids, rngs, options, forward):
        super().begin(rows, memory, ids, rngs, options, forward)
        drawn = np.array([rng.uniform(0.0, 1.0, 8) for rng in rngs])
        memory["target_speed"] = options.get("target_speed", 0.35 + 0.35 * drawn[:, :4])
        if "current" not in options:
            speed, angle = 0.1 * drawn[:, 4], 2 * np.pi * drawn[:, 5]
            rows["current"][ids] = speed[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
        if "segment_gain" not in options:
            segments = self.animal.state["segment_gain"].shape[1]
            first = np.floor(drawn[:, 6] * (segments - 10))[:, None]
            q = np.arange(segments)
            hit = (q >= first) & (q < first + 10)
            left = (drawn[:, 7] < 0.5)[:, None]
            rows["segment_gain"][ids] = 1.0 - 0.5 * np.stack([hit & left, hit & ~left], 1)

    def target(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Speed wanted now, (B,) m/s."""
        stage = np.minimum((rows["time"] / self.hold + 1e-6).astype(int), 3)
        return memory["target_speed"][np.arange(len(rows)), stage]

    def goal(self, heading, rows, memory):
        return super().goal(heading, rows, memory) | {
            "target_speed": self.target(rows, memory),
            "speed": memory["speed"],
        }

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """1 within 0.02 m/s of the wanted speed along the goal, 0.1 at 0.22 m/s."""
        memory["speed"] = self.rate * self._way(rows, memory, "from")
        wanted = self.target(rows, memory)
        steps = np.maximum(np.rint(self.rate * rows["time"]), 1.0)
        memory["error"] += (np.abs(memory["speed"] - wanted) - memory["error"]) / steps
        return tolerance(memory["speed"] - wanted, -0.02, 0.02, 0.2)

    def info(self, rows, memory):
        return super().info(rows, memory) | {"speed": memory["speed"].copy(), "error": memory["error"].copy()}
