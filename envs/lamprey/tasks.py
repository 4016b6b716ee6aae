"""Tasks of the lamprey: sprint, swim cheaply, pass waypoints, escape, hold a speed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.chain import to_body_frame
from ..core.spec import ActionField, Field, Option, Score
from ..core.task import EpisodeStart, Task, tolerance
from .animal import Lamprey
from .params import Cord, table

BRAINSTEM = {
    "tonic": ActionField(1, 0.0, 0.7, "1", "tonic level of the cord; beyond 0.7 the rhythm breaks"),
    "asymmetry": ActionField(1, -0.3, 0.3, "1", "added on the right, taken away on the left; positive turns right"),
    "head_extra": ActionField(1, 0.0, 1.4, "1", "relative extra on the head segments"),
}
"""Drive of the spinal cord."""

MODES = 3
"""Spatial cosine modes of the shape at the start."""


class LampreyTask(Task):
    """Actions and observations that all tasks of the lamprey share; subclasses add goal, reward, endings.

    ## Starting State

    At rest, slightly and smoothly bent at random (up to 0.02 rad per mode), heading anywhere. Where there is a spinal
    cord, that is unless ``actions="motoneuron"``, the excitatory neurons of one of its sides are a little excited, and
    two more options lesion it: ``segment_gain`` (2, 100) of left and right segments, ``cell_gain`` (2, 5) of left and
    right EIN, CCIN, LIN, motoneurons and edge cells, each from 0 (lesioned) to 1 (intact).

    ## Version History

    * v0: first version
    """

    animal: Lamprey
    action_modes: tuple[str, ...] = ("motoneuron", "brainstem", "residual")
    tonic = 0.4
    """Level of the cord to which ``actions="residual"`` adds."""
    control_rate = 50.0
    options: Mapping[str, Option] = {"current": Option(-1.0, 1.0, "m/s", "velocity of the water, x and y", (2,))}
    arguments: Mapping[str, str] = {
        **Task.arguments,
        "scheme": (
            "the paper's ``published`` (up to 6 % off in frequency and speed), ``implicit`` (3 % in speed) or "
            "``reference`` (second order with the cord), see ``Lamprey``"
        ),
        "dt": "step of the neurons, s; by default that of the scheme",
        "ends": "ends of the cord: ``exist`` or ``clamp``, see ``Cord``",
    }

    def __init__(
        self,
        actions: str | None = None,
        scheme: str = "published",
        dt: float | None = None,
        control_rate: float | None = None,
        ends: str = "exist",
    ) -> None:
        super().__init__(actions, control_rate)
        self.animal = Lamprey(drive=self.actions, dt=dt, scheme=scheme, cord=Cord(ends=ends))
        self.joints = self.animal.links - 1
        """Joints of the body."""
        self.length = float(np.sum(self.animal.params.length))
        """Of the body, m."""
        place = np.arange(self.joints) / (self.joints - 1)
        self._modes = np.cos(np.pi * np.arange(MODES)[:, None] * place)
        # Of the brainstem each entry has its own; all motoneurons, and all residuals, share theirs.
        self._low, self._high = np.array([(field.low, field.high) for field in self.action_fields().values()]).T
        if self.animal.cord is not None:
            gains = {
                "segment_gain": "output left to the segments of the left and right side, 0 (lesioned) .. 1 (intact)",
                "cell_gain": "output left to left and right EIN, CCIN, LIN, motoneurons and edge cells",
            }
            shapes = {name: self.animal.state[name].shape for name in gains}
            self.options = {
                **self.options,
                **{name: Option(0.0, 1.0, "1", meaning, shapes[name]) for name, meaning in gains.items()},
            }

    def fields(self) -> dict[str, Field]:
        """Posture, edge cells, previous action, velocity."""
        return {
            "joint_angle": Field(self.joints, "rad", 0.5, "joint angles, head to tail"),
            "joint_rate": Field(self.joints, "rad/s", 10.0, "joint rates"),
            "edge_cell": Field(2 * self.joints, "1/m", 10.0, "edge cells of the joints, left, then right"),
            "action": Field(self.action_size, "1", 1.0, "previous action"),
            "velocity": Field(2, "m/s", 0.5, "velocity of the centre of mass along and left of the body"),
            "yaw_rate": Field(1, "rad/s", 5.0, "rate of turning, positive to the left"),
        }

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        """Motoneurons, the brainstem's drive of the cord, or what is added to the cord's motoneurons."""
        mode, size = mode or self.actions, 2 * self.joints
        if mode == "brainstem":
            return dict(BRAINSTEM)
        each = "the motoneurons of each joint, left, then right"
        if mode == "motoneuron":
            return {"motoneuron": ActionField(size, 0.0, 1.0, "1", f"drive of {each}")}
        meaning = f"added to {each}, of a cord with tonic level {self.tonic:g}; the sum is kept within 0 .. 1"
        return {"residual": ActionField(size, -1.0, 1.0, "1", meaning)}

    def memory_fields(self) -> list[tuple[Any, ...]]:
        """Previous action, and where the centre was before it."""
        return [("action", "f8", (self.action_size,)), ("from", "f8", (2,))]

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        """At rest, slightly and smoothly bent, heading anywhere, one side of the cord a little excited."""
        draws = episodes.draw(lambda rng: rng.uniform(-1.0, 1.0, MODES + 2))
        values = {
            "joint_angle": 0.02 * np.sum(draws[:, :MODES, None] * self._modes, 1),
            "heading": np.pi * draws[:, MODES],
        }
        if self.animal.cord is not None:
            side = draws[:, MODES + 1]
            values["kick"] = np.where(side < 0.0, -0.1, 0.1) + 0.05 * side
        given = ("current", "segment_gain", "cell_gain")
        return values | {name: episodes.options[name] for name in given if name in episodes.options}

    def begin(self, episodes: EpisodeStart, rows: NDArray[Any]) -> None:
        """Remember where the centre is."""
        episodes.memory["from"] = rows["centre"]

    @staticmethod
    def forward(episodes: EpisodeStart) -> NDArray[np.float64]:
        """Direction (A, 2) in which the bodies point on average at the start."""
        heading = episodes.values["heading"]
        return -np.stack([np.cos(heading), np.sin(heading)], 1)

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Drive of the animal from actions."""
        memory["action"] = actions
        memory["from"] = rows["centre"]
        if self.actions == "motoneuron":
            return 0.5 * (actions + 1.0)
        if self.actions == "brainstem":
            return self._low + 0.5 * (actions + 1.0) * (self._high - self._low)
        drive = np.empty((len(actions), self.animal.drive_size))
        drive[:, : len(BRAINSTEM)] = self.tonic, 0.0, table()["head_extra"]
        drive[:, len(BRAINSTEM) :] = actions
        return drive

    def action_from_values(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action of this drive of motoneurons or brainstem, or of these residuals."""
        actions = 2.0 * (np.asarray(values) - self._low) / (self._high - self._low) - 1.0
        return np.clip(actions, -1.0, 1.0).astype(np.float32)

    def action_from_drive(self, drive: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action whose command comes closest to ``drive`` (B, nu): values of these actions are the drive."""
        if self.actions == "residual":
            raise ValueError("actions='residual' adds to the cord's own motoneurons, whose action is zero")
        return self.action_from_values(drive)

    def sense(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Posture, edge cells, previous action, velocity in the frame of the body."""
        angle, rate, heading = rows["link_angle"], rows["link_rate"], self.animal.heading(rows)
        return {
            "joint_angle": angle[:, 1:] - angle[:, :-1],  # np.diff takes three times as long
            "joint_rate": rate[:, 1:] - rate[:, :-1],
            "edge_cell": self.animal.edge_cells(rows).reshape(len(rows), -1),
            "action": memory["action"],
            "velocity": to_body_frame(heading, rows["centre_velocity"]),
            "heading": heading,
            "yaw_rate": self.animal.yaw_rate(rows),
        }

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time (s), centre of mass (m), and the positive work of the muscles in the period (J)."""
        return {"time": rows["time"].copy(), "centre": rows["centre"].copy(), "work": rows["work"].copy()}


class Directed(LampreyTask):
    """Go in a direction, that of the body at the start unless a subclass turns it.

    ## Rewards

    Speed along the goal in body lengths per second, less {cost:g} for each W of positive muscle power.
    ``info["distance"]`` (m) counts from the start.
    """

    cost = 0.0
    """Weight of the power, body lengths a second per W."""
    score = Score("distance", "m")

    def fields(self):
        return super().fields() | {"direction": Field(2, "1", 1.0, "goal direction along and left of the body")}

    def memory_fields(self):
        return [*super().memory_fields(), ("goal", "f8", (2,)), ("start", "f8", (2,))]

    def begin(self, episodes, rows):
        super().begin(episodes, rows)
        episodes.memory["goal"] = self.forward(episodes)
        episodes.memory["start"] = rows["centre"]

    def sense(self, rows, memory):
        seen = super().sense(rows, memory)
        return seen | {"direction": to_body_frame(seen["heading"], memory["goal"])}

    def _way(self, rows: NDArray[Any], memory: NDArray[Any], since: str) -> NDArray[np.float64]:
        """Displacement along the goal (B,) m since ``from`` or ``start``."""
        return np.sum((rows["centre"] - memory[since]) * memory["goal"], 1)

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Speed along the goal in body lengths a second, less the cost of power."""
        return self.control_rate * (self._way(rows, memory, "from") / self.length - self.cost * rows["work"])

    def info(self, rows, memory):
        return super().info(rows, memory) | {"distance": self._way(rows, memory, "start")}


class Sprint(Directed):
    """Swim as far as possible from rest.

    ## Description

    The lamprey of Ekeberg (1993). The goal is the mean direction of the body at the start. The cord as a policy gets
    2.6 m far at a tonic level of 0.4 and 3.7 m at 0.7, the best constant sine 5.3 m.
    """

    cost = 0.5
    tonic = 0.7


class Economy(Directed):
    """Swim with little work.

    ## Description

    As ``Sprint``, for economy: metres along the goal per joule of positive muscle work, which counts from {least:g} m
    on. The cord makes 16 m/J at a tonic level of 0.15 (1.8 m), 6 m/J at 0.4 (2.6 m), the best constant sine 27 m/J
    (1.5 m).

    ## Rewards

    Speed along the goal in body lengths per second, less {cost:g} for each W of positive muscle power: a way at
    0.18 J/m earns nothing. ``info["economy"]`` (m/J), ``info["distance"]`` (m) and ``info["spent"]`` (J) count from
    the start.
    """

    cost = 18.5
    tonic = 0.15
    least = 1.5
    """Distance without which economy counts nothing, m."""
    score = Score("economy", "m/J")

    def memory_fields(self):
        return [*super().memory_fields(), ("spent", "f8")]

    def reward(self, rows, memory):
        memory["spent"] += rows["work"]
        return super().reward(rows, memory)

    def info(self, rows, memory):
        base = super().info(rows, memory)
        far = base["distance"] >= self.least
        economy = np.where(far, base["distance"], 0.0) / np.maximum(memory["spent"], 1e-9)
        return base | {"spent": memory["spent"].copy(), "economy": economy}


class Waypoints(LampreyTask):
    """Pass as many waypoints as possible.

    ## Description

    The lamprey of Ekeberg (1993). Each waypoint lies 0.6 .. 1.2 m from the one before it, in any direction, and is
    reached where the centre of mass comes within {radius:g} m. Proportional steering reaches 13.

    ## Rewards

    Approach in body lengths per second; 10 more for each waypoint. ``info["reached"]`` counts them.
    """

    action_modes = ("brainstem", "motoneuron", "residual")
    control_rate = 20.0
    count = 48
    """Waypoints laid out for an episode; more than a lamprey can reach."""
    score = Score("reached")

    radius = 0.1
    """Distance of the centre of mass from a waypoint that counts as reached, m."""

    def fields(self):
        meaning = "waypoint from the centre of mass, along and left of the body"
        return super().fields() | {"target": Field(2, "m", 1.0, meaning)}

    def memory_fields(self):
        own = [("waypoint", "f8", (self.count, 2)), ("reached", "f8"), ("distance", "f8")]
        return [*super().memory_fields(), *own]

    def begin(self, episodes, rows):
        super().begin(episodes, rows)
        drawn = episodes.draw(lambda rng: (rng.uniform(0.6, 1.2, self.count), rng.uniform(-np.pi, np.pi, self.count)))
        steps = drawn[:, 0, :, None] * np.stack([np.cos(drawn[:, 1]), np.sin(drawn[:, 1])], -1)
        episodes.memory["waypoint"] = rows["centre"][:, None] + np.cumsum(steps, 1)
        episodes.memory["distance"] = drawn[:, 0, 0]

    def waypoint(self, memory: NDArray[Any]) -> NDArray[np.float64]:
        """Present waypoint (B, 2) m."""
        index = np.minimum(memory["reached"].astype(int), self.count - 1)
        return memory["waypoint"][np.arange(len(memory)), index]

    def _away(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """From the centre of mass to the present waypoint (B, 2) m."""
        return self.waypoint(memory) - rows["centre"]

    def sense(self, rows, memory):
        seen = super().sense(rows, memory)
        return seen | {"target": to_body_frame(seen["heading"], self._away(rows, memory))}

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Approach in body lengths a second; 10 more for each waypoint."""
        distance = np.sqrt(np.sum(self._away(rows, memory) ** 2, 1))
        approach = self.control_rate * (memory["distance"] - distance) / self.length
        arrived = distance <= self.radius
        memory["reached"] += arrived
        memory["distance"] = np.sqrt(np.sum(self._away(rows, memory) ** 2, 1))
        return approach + np.where(arrived, 10.0, 0.0)

    def info(self, rows, memory):
        return super().info(rows, memory) | {"reached": memory["reached"].copy()}


class Escape(Directed):
    """Get away in a given direction, from rest.

    ## Description

    The lamprey of Ekeberg (1993). The direction is drawn from all around. The cord at a tonic level of 0.6 with
    proportional steering gets 0.84 m far straight ahead, 0.68 m at 90 degrees, 0.29 m at 135, -0.19 m backwards.

    ## Rewards

    Speed along the goal in body lengths per second. ``info["distance"]`` (m) counts from the start.
    """

    tonic = 0.6
    options: Mapping[str, Option] = {
        **Directed.options,
        "bearing": Option(-np.pi, np.pi, "rad", "of the goal from the direction of the body, positive to the left"),
    }

    def begin(self, episodes, rows):
        super().begin(episodes, rows)
        drawn = episodes.draw(lambda rng: rng.uniform(-np.pi, np.pi))
        bearing = episodes.options.get("bearing", drawn)
        episodes.memory["goal"] = to_body_frame(-bearing, self.forward(episodes))


class Speed(Directed):
    """Hold a speed that steps, in a current, with a lesion.

    ## Description

    The lamprey of Ekeberg (1993). The goal is the mean direction of the body at the start, the wanted speed over
    ground along it is drawn from 0.35 .. 0.7 m/s every {hold:g} s, the current from all directions up to 0.1 m/s, and
    ten neighbouring segments of one side have lost half of their output. Current and lesion are hidden; four
    observations are stacked, so that they can be felt.

    ## Rewards

    1 where the mean speed of the period is within 0.02 m/s of the wanted one, 0.1 at 0.22 m/s.
    ``info["error"]`` (m/s) is the mean distance between the two since the start.
    """

    action_modes = ("brainstem", "residual")
    control_rate = 20.0
    stages = 4
    """Target speeds of an episode; the last stands until its end."""
    hold = 5.0
    """Time for which a target speed stands, s."""
    options: Mapping[str, Option] = {
        **Directed.options,
        "target_speed": Option(0.0, 1.0, "m/s", "wanted speeds, one after the other", (stages,)),
    }
    score = Score("return")

    def fields(self):
        return super().fields() | {
            "target_speed": Field(1, "m/s", 0.5, "wanted speed"),
            "speed": Field(1, "m/s", 0.5, "speed along the goal, mean of the period"),
        }

    def memory_fields(self):
        return [*super().memory_fields(), ("target_speed", "f8", (self.stages,)), ("speed", "f8"), ("error", "f8")]

    def start(self, episodes):
        values = super().start(episodes)
        drawn = episodes.draw(lambda rng: rng.uniform(0.0, 1.0, self.stages + 4))
        speeds, (strength, direction, place, side) = drawn[:, : self.stages], drawn[:, self.stages :].T
        episodes.memory["target_speed"] = episodes.options.get("target_speed", 0.35 + 0.35 * speeds)
        return {"current": _current(strength, direction), "segment_gain": self._lesion(place, side)} | values

    def _lesion(self, place: NDArray[np.float64], side: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gains (A, 2, S) of segments, ten of which have lost half, from numbers (A,) in [0, 1)."""
        segments = self.animal.state["segment_gain"].shape[1]
        first = np.floor(place * (segments - 10))[:, None]
        q = np.arange(segments)
        hit = (q >= first) & (q < first + 10)
        left = (side < 0.5)[:, None]
        return 1.0 - 0.5 * np.stack([hit & left, hit & ~left], 1)

    def target(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Speed wanted now, (B,) m/s."""
        stage = np.minimum((rows["time"] / self.hold + 1e-6).astype(int), self.stages - 1)
        return memory["target_speed"][np.arange(len(rows)), stage]

    def sense(self, rows, memory):
        return super().sense(rows, memory) | {
            "target_speed": self.target(rows, memory),
            "speed": memory["speed"],
        }

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """1 within 0.02 m/s of the wanted speed along the goal, 0.1 at 0.22 m/s."""
        memory["speed"] = self.control_rate * self._way(rows, memory, "from")
        wanted = self.target(rows, memory)
        steps = np.maximum(np.rint(self.control_rate * rows["time"]), 1.0)
        memory["error"] += (np.abs(memory["speed"] - wanted) - memory["error"]) / steps
        return tolerance(memory["speed"] - wanted, -0.02, 0.02, 0.2)

    def info(self, rows, memory):
        return super().info(rows, memory) | {"speed": memory["speed"].copy(), "error": memory["error"].copy()}


def _current(strength: NDArray[np.float64], direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Current (A, 2) m/s of up to 0.1 m/s from all directions, from numbers (A,) in [0, 1)."""
    speed, angle = 0.1 * strength, 2 * np.pi * direction
    return speed[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
