"""Tasks of the lamprey: reach a place with little energy, pass waypoints, and escape."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..core.arguments import read_params
from ..core.circuit.circuit import Circuit
from ..core.env.task import ActionField, EpisodeStart, Field, Hidden, Rows, Score, Task, measures
from ..core.kernels.maths import mean, total
from ..core.model.chain import body_frame, to_body_frame
from ..core.model.control import Floats
from ..core.model.quantities import Option
from .animal import IsolatedCord, Lamprey, excite, stretch
from .params import LARGEST_TONIC, LampreyParams, paper_cord, read_circuit, table
from .steering import Steering, command_of, response, steer

_TONIC = f"tonic level of the cord; above {LARGEST_TONIC:g} the rhythm breaks down"
BRAINSTEM = {
    "tonic": ActionField(1, 0.0, LARGEST_TONIC, "1", _TONIC),
    "asymmetry": ActionField(1, -0.3, 0.3, "1", "added on the right, subtracted on the left; positive turns right"),
    "head_extra": ActionField(1, 0.0, 1.4, "1", "relative increase in the head segments"),
}
"""Drive of the spinal cord by the brainstem."""

JOINTS = 9
"""Number of joints of the paper's lamprey."""

MODES = 3
"""Number of spatial cosines of the shape at the start, and of residual commands on each side."""


class _Steered(Lamprey):
    """Lamprey with edge cells that are sensed by a cord in the task."""

    senseless = ()


class LampreyTask(Task):
    """Base class of the lamprey's tasks: actions, observations and reward; subclasses add `way` and `distance`.

    One side can lose a share of its excitation, from head to tail (option ``weakness``). Inhibition is intact. With
    ``actions="brainstem"``, the outputs of all segments on that side are weakened instead. The drive of the joints
    follows commands with a time constant, which limits rhythms to the animal's range.

    ## Rewards

    The reward of each step, in body lengths per second, is ``r = (d - {price:g} e) / (L T)``:

    * ``d``: increase of ``info["distance"]`` in this step (m)
    * ``e``: energy spent by the muscles in this step (J), the sum of positive work and heat of activity (Hill, 1938) on
      both sides
    * ``L``: body length (m)
    * ``T``: control period (s)

    The cost of energy, {price:g} m/J, is chosen so that a tonic level of {tonic:g} is best in steady swimming with the
    cord. ``info["energy_spent"]`` (J) is the energy since the start. ``info["priced_distance"]`` (m) is the distance
    minus the cost of this energy, so the return is proportional to the score.

    ## Starting State

    The lamprey is at rest, with a random smooth bend (up to 0.02 rad per mode) and a random heading. In a spinal cord,
    the excitatory interneurons of one side start with a weak excitation. With ``actions="brainstem"``, further options
    lesion, cut or bathe the cord.
    """

    animal: Lamprey
    action_modes: tuple[str, ...] = ("residual", "motoneuron", "muscle", "brainstem")
    tonic = 0.4
    """Best tonic level of the cord at this cost."""
    steering = Steering()
    """Steering of the cord in the loop, to which ``actions="residual"`` adds commands."""
    amplitude = 1.0
    """Maximum residual command of one spatial cosine with an ``authority`` of 1."""
    authority, smoothing = 0.3, 0.05
    price = 1.6
    """Cost of energy, m/J: slope of speed over power in steady swimming of the cord at the level ``tonic``."""
    score = Score("priced_distance", "m")
    physiology = measures("lamprey", "LampreyTask")
    info_fields = dict.fromkeys(("centre", "work"), "copy")
    info_fields |= dict.fromkeys(("energy_spent", "distance", "economy", "priced_distance"), "f8")
    reward_terms = {"distance": "``d / (L T)``", "energy": "``-{price:g} e / (L T)``"}
    drives = True
    residual_to = "the commands of a steered cord, which are those of zero actions"
    control_rate = 50.0
    options: Mapping[str, Option] = {
        "current": Option(-1.0, 1.0, "m/s", "velocity of the water, x and y", (2,)),
        "weakness": Option(-1.0, 1.0, "1", "share of excitation lost on the left (below 0) or the right side"),
    }
    lag = 0.035
    """Time constant of the drive of the joints after a command, s."""
    arguments = {
        "scheme": (
            "``published``, the paper's (errors up to 6 % in frequency and speed), ``implicit`` (3 % in speed) or "
            "``reference`` (second order with the cord), see ``Lamprey``"
        ),
        "dt": "time step of the neurons, s; the default depends on the scheme",
        "params": "``LampreyParams``, or a mapping with changes to the paper's parameters",
        "circuit": (
            "nervous system: a mapping of changes to the paper's cord, as for ``Circuit.replace``; a ``Circuit``; a "
            "file; or ``cord``, the paper's cord"
        ),
    }

    def __init__(
        self,
        scheme: str = "published",
        dt: float | None = None,
        params: LampreyParams | Mapping[str, Any] | None = None,
        circuit: Circuit | Mapping[str, Any] | str | Path | None = None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        body = read_params("params", params, LampreyParams())
        self.circuit_in_animal = self.actions == "brainstem"
        """Whether the cord or another circuit is part of the animal."""
        nerves = read_circuit(circuit) if self.actions in ("brainstem", "residual") else None
        if circuit is not None and nerves is None:
            raise ValueError(f"circuit needs actions='brainstem' or 'residual', got actions={self.actions!r}")
        self.circuit: IsolatedCord | None = None
        """Cord in the loop that the task steers; its state is in ``memory``."""
        if self.actions == "residual":
            assert nerves is not None
            if nerves[nerves.muscles].dynamics != "ekeberg":
                raise ValueError(
                    "circuit: muscles must be driven by a population with dynamics 'ekeberg' if actions='residual', "
                    f"got {nerves[nerves.muscles].dynamics!r}"
                )
            self.animal = _Steered(body, "motoneuron", dt, scheme)
            self.circuit = IsolatedCord(nerves, body, self.animal.dt, intact=True)
        else:
            self.animal = Lamprey(body, self.actions, dt, scheme, circuit=nerves)
        self._circuits: Rows = np.zeros(0)
        self.head_extra = table()["head_extra"]
        self.response = response()
        self.joints = self.animal.links - 1
        """Number of joints."""
        self.muscles = 2 * self.joints
        """Number of muscles; those of the left side come first."""
        self.length = float(np.sum(self.animal.params.length))
        """Length of the body, m."""
        place = np.arange(self.joints) / (self.joints - 1)
        self.modes = np.cos(np.pi * np.arange(MODES)[:, None] * place)
        """Spatial modes (MODES, joints)."""
        self.scratch = np.zeros(self.animal.links)
        """Scratch space of `mass_mean`."""
        if not self.circuit_in_animal:
            nervous = (*paper_cord().options(), "lesion")
            self.unavailable = dict.fromkeys(nervous, "actions='brainstem', with a cord in the animal")
            if self.circuit is None:
                self.unavailable["feedback"] = "a cord: actions='brainstem' or 'residual'"

    @property
    def memory_fields(self) -> Mapping[str, Any]:
        """Fields of the memory.

        Previous action, centre before it (m), and since the start energy (J) and distance minus cost (m); strength of
        the left and right side, and drive of the joints after the lag; inputs and state of a circuit in the loop, and
        inputs of its motoneurons by side and joint.
        """
        fields = {"action": f"({self.action_size},)f8", "before": "2f8", "energy": "f8", "gained": "f8"}
        fields |= {"strength": "2f8", "excited": f"({self.muscles},)f8"}
        if self.circuit is None:
            return fields
        recent, neuron = (2, self.steering.kept(self.control_rate)), self.circuit.state["neuron"].shape
        circuit = {"inputs": f"({3 + self.joints + self.muscles},)f8", "neuron": ("f8", neuron)}
        circuit |= dict.fromkeys(("excite", "inhibit"), f"(2,{self.joints})f8")
        return {**fields, "recent": ("f8", recent), **circuit}

    @property
    def observation_fields(self) -> Mapping[str, Field]:
        by_joint = self.actions != "brainstem" and self.circuit is None
        return {
            "joint_angle": Field(self.joints, "rad", 0.5, "joint angles, head to tail", 1, JOINTS),
            "joint_rate": Field(self.joints, "rad/s", 10.0, "joint rates", 1, JOINTS),
            "edge_cell": Field(self.muscles, "1/m", 10.0, "edge cells of the joints, left, then right", 2),
            "action": Field(self.action_size, "1", self.authority, "previous action", 2 if by_joint else 0),
            "velocity": Field(2, "m/s", 0.5, "velocity of the centre of mass, along and to the left of the body"),
            "yaw_rate": Field(1, "rad/s", 5.0, "rate of turning, positive to the left"),
        }

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        mode, size = mode or self.actions, self.muscles
        if mode == "brainstem":
            return dict(BRAINSTEM)
        each = "the motoneurons of each joint, left, then right"
        if mode == "motoneuron":
            meaning = f"command of {each}, -1 (fully inhibited) .. 1 (fully excited), with a delay of 20 ms"
            return {"motoneuron": ActionField(size, -1.0, 1.0, "1", meaning)}
        if mode == "muscle":
            return {"muscle": ActionField(size, 0.0, 1.0, "1", f"output of {each}, without a delay")}
        meaning = (
            f"added to the commands of a cord, which is steered to the goal, for {each}: amplitudes of {MODES} "
            f"cosines along the body, left, then right; the sum is clipped to -1 .. 1"
        )
        return {"residual": ActionField(2 * MODES, -self.amplitude, self.amplitude, "1", meaning)}

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        draws = episodes.draw(lambda rng: rng.uniform(-1.0, 1.0, MODES + 2))
        values = {
            "joint_angle": 0.02 * np.sum(draws[:, :MODES, None] * self.modes, 1),
            "heading": np.pi * draws[:, MODES],
        }
        none = np.zeros(len(episodes))
        weakness = episodes.hidden("weakness") if "weakness" in self.hidden else episodes.options.get("weakness", none)
        strength = episodes.memory["strength"] = 1.0 - np.maximum(np.stack([-weakness, weakness], 1), 0.0)
        if self.circuit_in_animal:
            side = draws[:, MODES + 1]
            values["kick"] = np.where(side < 0.0, -0.1, 0.1) + 0.05 * side
            segments = self.animal.state["segment_gain"].shape[1]
            values["segment_gain"] = np.repeat(strength[:, :, None], segments, 2)
        return values

    @property
    def answer(self) -> float:
        """Relative approach of the drive to the command in a control period."""
        return 1.0 - np.exp(-1.0 / (self.lag * self.control_rate))

    def begin(self, episodes: EpisodeStart, rows: Rows) -> None:
        episodes.memory["before"] = rows["centre"]
        if self.circuit is not None:
            excite(episodes.memory, np.full(len(episodes), 0.1))

    @abstractmethod
    def way(self, row: Any, memory: Any) -> Any:
        """Return the vector to the goal, along and to the left of the body, of any length."""

    @staticmethod
    def forward(episodes: EpisodeStart) -> Floats:
        """Return the mean directions (A, 2) of the bodies at the start, tail to head."""
        heading = episodes.values["heading"]
        return -np.stack([np.cos(heading), np.sin(heading)], 1)

    def prepare(self, row: Any, memory: Any, action: Any) -> None:
        if self.circuit is not None:
            ahead, aside = self.way(row, memory)
            gain, limit = self.steering.gain, self.steering.limit
            memory.inputs[0], memory.inputs[2] = self.steering.level, self.head_extra
            memory.inputs[1] = steer(ahead, aside, row.time == 0.0, memory.recent, gain, limit)
            for j in range(self.joints):
                bending = row.link_angle[j + 1] - row.link_angle[j]
                left, right = stretch(bending, self.animal.lengths[j], self.animal.lengths[j + 1])
                memory.inputs[3 + j] = bending
                memory.inputs[3 + self.joints + j], memory.inputs[3 + self.muscles + j] = left, right

    def advance_circuit(self, rows: Rows, memory: Rows) -> None:
        assert self.circuit is not None
        if len(self._circuits) != len(rows):
            self._circuits = self.circuit.rows(len(rows))
        cords, self.circuit.threads = self._circuits, self.animal.threads
        cords["status"], cords["feedback"] = 0.0, rows["feedback"]
        cords["neuron"] = memory["neuron"]
        self.circuit.sense(cords, memory["inputs"], round(1.0 / (self.control_rate * self.circuit.dt)))
        for name in ("neuron", "excite", "inhibit"):
            memory[name] = cords[name]

    def command(self, row: Any, memory: Any, action: Any, drive: Any) -> None:
        for k in range(len(action)):
            memory.action[k] = action[k]
        memory.before[0], memory.before[1] = row.centre[0], row.centre[1]
        if self.actions != "residual":
            super().command(row, memory, action, drive)
        else:
            for j in range(len(drive)):
                side, k = j // self.joints, j % self.joints
                own = command_of(memory.excite[side, k], memory.inhibit[side, k], self.response)
                drive[j] = min(max(own + self.added(action, j), -1.0), 1.0)
        if not self.circuit_in_animal:
            for j in range(self.muscles):
                commanded = drive[j]
                if commanded > 0.0:
                    commanded *= memory.strength[j // self.joints]
                memory.excited[j] += self.answer * (commanded - memory.excited[j])
                drive[j] = memory.excited[j]

    def added(self, action: Any, j: int) -> Any:
        """Return the residual command of muscle ``j``, a sum of the cosines of its side."""
        added, side = 0.0, j // self.joints
        for k in range(MODES):
            added += self.meaning(action, side * MODES + k) * self.modes[k, j - side * self.joints]
        return added

    def mass_mean(self, values: Any) -> Any:
        """Return the mass-weighted mean of a quantity (n,) of the links."""
        for i in range(len(values)):
            self.scratch[i] = self.animal.share[i] * values[i]
        return total(self.scratch)

    def heading(self, row: Any) -> Any:
        """Return the mass-weighted mean direction of the body, rad."""
        return self.mass_mean(row.link_angle) + math.pi

    def sense(self, row: Any, memory: Any, observation: Any) -> None:
        for j in range(self.joints):
            bending = row.link_angle[j + 1] - row.link_angle[j]
            observation.joint_angle[j] = bending
            observation.joint_rate[j] = row.link_rate[j + 1] - row.link_rate[j]
            left, right = stretch(bending, self.animal.lengths[j], self.animal.lengths[j + 1])
            observation.edge_cell[j], observation.edge_cell[self.joints + j] = left, right
        along, left = body_frame(self.heading(row), row.centre_velocity[0], row.centre_velocity[1])
        observation.velocity[0], observation.velocity[1] = along, left
        observation.yaw_rate[0] = self.mass_mean(row.link_rate)

    @abstractmethod
    def distance(self, row: Any, memory: Any) -> Any:
        """Return the distance covered towards the goal, m."""

    def reward(self, row: Any, memory: Any) -> Any:
        before = memory.gained
        memory.energy += row.spent
        memory.gained = self.distance(row, memory) - self.price * memory.energy
        reward = self.control_rate / self.length * (memory.gained - before)
        memory.reward_energy = -self.control_rate / self.length * self.price * row.spent
        memory.reward_distance = reward - memory.reward_energy
        return reward

    def info(self, row: Any, memory: Any, info: Any) -> None:
        """Set energy (J), distances (m) and distance per energy (m/J) since the start."""
        info.distance = self.distance(row, memory) + 0.0  # turns -0 into 0
        info.energy_spent = memory.energy
        info.economy = info.distance / max(memory.energy, 1e-9)
        info.priced_distance = memory.gained


class Economy(LampreyTask):
    """Reach a place in time with little energy, in a hidden current and with a weak side.

    ## Description

    The lamprey of Ekeberg (1993) swims to a place that is {away:g} m away, up to 0.8 rad to either side of its
    direction. The time is {duration:g} s. ``info["distance"]`` is the largest approach since the start, without the
    last {near:g} m. ``info["is_success"]`` is true once the lamprey has been within these {near:g} m of the place.

    | hidden quantity       | range          | effect                                                           |
    |-----------------------|----------------|------------------------------------------------------------------|
    | ``current_speed``     | 0 to 0.15 m/s  | speed of the water                                               |
    | ``current_direction`` | all directions | direction of the water's motion                                  |
    | ``weakness``          | -0.5 to 0.5    | share of excitation lost on the left (below 0) or the right side |

    The task is hard because current and weak side can only be inferred from two stacked observations, while energy is
    expensive. The drive of the joints follows commands with a time constant of 35 ms. By default, a cord in the loop
    swims to the place, and actions add to its commands. Zero actions are the animal's own controller.
    """

    price = 4.0
    tonic = 0.185
    steering = Steering(0.23, 0.2, 0.3)
    away = 1.2
    """Initial distance of the place, m."""
    near = 0.05
    """Distance of the centre of mass from the place at which it is reached, m."""
    duration = 6.0
    """Duration of an episode, s."""
    score = Score("priced_distance", "m", failed=-1.0)
    options = {
        "current_speed": Option(0.0, 1.0, "m/s", "speed of the current, unless ``current`` is set"),
        "current_direction": Option(-2.0 * np.pi, 2.0 * np.pi, "rad", "direction of the current"),
        "bearing": Option(-np.pi, np.pi, "rad", "bearing of the place from the body axis, positive to the left"),
    }
    hidden = {
        "current_speed": Hidden(0.0, 0.15, paper=0.0),
        "current_direction": Hidden(0.0, 2.0 * np.pi, test=()),
        "weakness": Hidden(-0.5, 0.5, paper=0.0),
    }
    observation_fields = {
        "target": Field(2, "m", 1.0, "place from the centre of mass, along and to the left of the body"),
        "time_left": Field(1, "s", 5.0, "time until the end"),
    }
    memory_fields = {"place": "2f8", "nearest": "f8"}
    info_fields = {"is_success": "?"}

    def start(self, episodes):
        values = super().start(episodes)
        speed, direction = episodes.hidden("current_speed"), episodes.hidden("current_direction")
        current = speed[:, None] * np.stack([np.cos(direction), np.sin(direction)], 1)
        return {"current": current} | values

    def begin(self, episodes, rows):
        super().begin(episodes, rows)
        bearing = episodes.options.get("bearing", episodes.draw(lambda rng: rng.uniform(-0.8, 0.8)))
        way = to_body_frame(-bearing, self.forward(episodes))
        episodes.memory["place"] = rows["centre"] + self.away * way
        episodes.memory["nearest"] = self.away

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        observation.target[0], observation.target[1] = self.way(row, memory)
        observation.time_left[0] = max(self.duration - row.time, 0.0)

    def way(self, row, memory):
        return body_frame(self.heading(row), memory.place[0] - row.centre[0], memory.place[1] - row.centre[1])

    def reward(self, row, memory):
        x, y = memory.place[0] - row.centre[0], memory.place[1] - row.centre[1]
        memory.nearest = min(memory.nearest, math.sqrt(x * x + y * y))
        return super().reward(row, memory)

    def distance(self, row, memory):
        return self.away - max(memory.nearest, self.near)

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.is_success = memory.nearest <= self.near


class Waypoints(LampreyTask):
    """Pass waypoints with little energy and a weak side.

    ## Description

    The lamprey of Ekeberg (1993) swims to one waypoint after the other. Each is 0.6 to 1.2 m from the previous one, and
    is reached when the centre of mass is within {radius:g} m. Of eight successive turns, one is from each eighth of the
    circle, in random order, so that episodes are equally hard. ``info["distance"]`` is the total approach to these
    waypoints, ``info["reached"]`` the number of reached waypoints.

    | hidden quantity | range       | effect                                                           |
    |-----------------|-------------|------------------------------------------------------------------|
    | ``weakness``    | -0.1 to 0.1 | share of excitation lost on the left (below 0) or the right side |

    The task is hard because most waypoints require a turn with an unknown weakness, and the energy for it is expensive.
    The drive of the joints follows commands with a time constant of 35 ms. By default, a cord in the loop swims to the
    waypoint, and actions add to its commands. Zero actions are the animal's own controller.
    """

    steering = Steering(0.3, 0.6, 0.25)
    authority, smoothing = 0.35, 0.1
    count = 48
    """Number of waypoints of an episode, more than a lamprey can reach."""
    score = Score("priced_distance", "m", failed=-25.0)
    observation_fields = {
        "target": Field(2, "m", 1.0, "waypoint from the centre of mass, along and to the left of the body")
    }
    memory_fields = {"waypoint": f"({count},2)f8", "reached": "f8", "away": "f8", "approached": "f8"}
    indices = {"reached": range(2**53)}
    info_fields = {"reached": "copy"}
    options = {"turning": Option(0.0, 1.0, "1", "factor on all turns; 0: straight ahead")}
    hidden = {"weakness": Hidden(-0.1, 0.1, paper=0.0)}
    radius = 0.1
    """Distance of the centre of mass from a waypoint at which it is reached, m."""
    goal_scale, goal_field = 3.0, "target"
    """Scale of places (m) with `GoalObservation`, and the field that it replaces."""

    def goal_place(self, row):
        """Return the place (x, y) of the centre of mass, m."""
        return row.centre[0], row.centre[1]

    def goal_wanted(self, memory):
        """Return the present waypoint (x, y), m."""
        return self.waypoint(memory)

    def goal_axis(self, row):
        """Return the mean direction of the body, rad."""
        return mean(row.link_angle) + math.pi

    def begin(self, episodes, rows):
        super().begin(episodes, rows)
        away = episodes.draw(lambda rng: rng.uniform(0.6, 1.2, self.count))
        eighths = np.tile(np.arange(8.0), (self.count // 8, 1))
        turns = episodes.draw(lambda rng: rng.permuted(eighths, axis=1).ravel() + rng.random(self.count))
        turning = episodes.options.get("turning", np.ones(len(episodes)))[:, None]
        heading = episodes.values["heading"][:, None] + np.pi + turning * 0.25 * np.pi * np.cumsum(turns, 1)
        steps = away[..., None] * np.stack([np.cos(heading), np.sin(heading)], -1)
        episodes.memory["waypoint"] = rows["centre"][:, None] + np.cumsum(steps, 1)
        episodes.memory["away"] = away[:, 0]

    def waypoint(self, memory: Any) -> Any:
        """Return the present waypoint (x, y), m."""
        place = min(int(memory.reached), self.count - 1)
        return memory.waypoint[place, 0], memory.waypoint[place, 1]

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        observation.target[0], observation.target[1] = self.way(row, memory)

    def way(self, row, memory):
        x, y = self.waypoint(memory)
        return body_frame(self.heading(row), x - row.centre[0], y - row.centre[1])

    def away_from(self, memory: Any, place: Any) -> Any:
        """Return the distance of the present waypoint from a place (2,), m."""
        x, y = self.waypoint(memory)
        x, y = x - place[0], y - place[1]
        return math.sqrt(x * x + y * y)

    def reward(self, row: Any, memory: Any) -> Any:
        away = self.away_from(memory, row.centre)
        memory.approached += memory.away - away
        memory.reached += away <= self.radius
        memory.away = self.away_from(memory, row.centre)
        return super().reward(row, memory)

    def distance(self, row, memory):
        return memory.approached


def present_waypoint(task: Waypoints, memory: Rows) -> Floats:
    """Return the present waypoints (B, 2), m, of many rows, for pictures."""
    place = np.minimum(memory["reached"].astype(int), task.count - 1)
    return memory["waypoint"][np.arange(len(memory)), place]


class Escape(LampreyTask):
    """Escape from rest in a given direction, with a weak side and little energy.

    ## Description

    The lamprey of Ekeberg (1993) starts at rest and swims in a random goal direction. ``info["distance"]`` is the
    displacement of the centre of mass along it.

    | hidden quantity | range       | effect                                                           |
    |-----------------|-------------|------------------------------------------------------------------|
    | ``weakness``    | -0.4 to 0.4 | share of excitation lost on the left (below 0) or the right side |

    The task is hard because the lamprey must turn and accelerate from rest with an unknown weakness. The drive of the
    joints follows commands with a time constant of 35 ms, so that rhythms above the maximum of the cord, 5.3 Hz, do not
    pay. By default, a cord in the loop swims in the goal direction, and actions add to its commands. Zero actions are
    the animal's own controller.
    """

    steering = Steering(0.4, 0.6, 0.3)
    authority = 0.35
    score = Score("priced_distance", "m", failed=-1.0)
    options = {
        "bearing": Option(-np.pi, np.pi, "rad", "bearing of the goal from the body axis, positive to the left"),
    }
    hidden = {"weakness": Hidden(-0.4, 0.4, paper=0.0)}
    observation_fields = {"direction": Field(2, "1", 1.0, "goal direction, along and to the left of the body")}
    memory_fields = {"goal": "2f8", "start": "2f8"}

    def begin(self, episodes, rows):
        super().begin(episodes, rows)
        episodes.memory["start"] = rows["centre"]
        samples = episodes.draw(lambda rng: rng.uniform(-np.pi, np.pi))
        bearing = episodes.options.get("bearing", samples)
        episodes.memory["goal"] = to_body_frame(-bearing, self.forward(episodes))

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        observation.direction[0], observation.direction[1] = self.way(row, memory)

    def way(self, row, memory):
        return body_frame(self.heading(row), memory.goal[0], memory.goal[1])

    def distance(self, row, memory):
        x, y = row.centre[0] - memory.start[0], row.centre[1] - memory.start[1]
        return x * memory.goal[0] + y * memory.goal[1]
