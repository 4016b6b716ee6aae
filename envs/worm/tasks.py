"""Tasks of the worm: crawl, swim, reach, escape and follow."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from gymnosoma.moved import points

from ..core.arguments import choice, read_params, shown, within
from ..core.env.task import (
    ActionField,
    Ending,
    EpisodeStart,
    Field,
    Hidden,
    Rows,
    Score,
    Task,
    clipped,
    measures,
    tolerance,
)
from ..core.kernels.maths import mean
from ..core.model.chain import body_frame, chain_head, crosses_itself, to_body_frame
from ..core.model.control import Controller, Floats
from ..core.model.quantities import Option
from .animal import Worm
from .kymogram import FRAME_RATE, RECORDED, KymogramPlayback, SineKymogram
from .params import WormParams
from .steering import REMEMBERED, SteeringLaw, steer

if TYPE_CHECKING:
    from ..core.circuit.circuit import Circuit


class WormEnding(IntEnum):
    """Endings of the worm's tasks."""

    CROSSED = 10
    REACHED = 11
    LOST = 12
    COMPLETE = 13
    ESCAPED = 14


MAX_WEIGHT = 3.0
"""Maximum factor on a projection of a circuit with ``actions="weights"``."""

JOINTS = 24
"""Number of joints of the paper's worm."""

FAILURE = {"failure": "in the step in which an episode fails, the whole reward"}
"""Term of rewards that lower the return of failed episodes to a fixed value."""

MODES = 6
"""Number of cosines of the action modes ``modes`` and ``residual``; at most the number of joints."""


@points
class WormTask(Task):
    """Base class of the worm's tasks: actions, observations and muscle work; subclasses add `return_so_far`.

    ## Starting State

    The worm is at rest, with a random smooth bend (up to 0.05 rad per mode) and a random heading.
    """

    animal: Worm
    action_modes: tuple[str, ...] = ("residual", "modes", "angles")
    sigma = 1.0
    """Medium index, 0 for water and 1 for agar."""
    friction_scale = 1.0
    """Factor on the friction coefficients."""
    control_rate = 20.0
    largest_angle = 0.9
    """Maximum control angle, rad."""
    fastest = 12.5
    """Maximum rate of a control angle, rad/s; recorded worms reach 12.3 between frames."""
    time_step = 5e-3
    reference_text = "the paper's sine"
    """Name of the base controller of ``actions="residual"``, for the documentation."""
    residual_scale = 0.5
    """Amplitude that a residual action of 1 adds in each mode with an ``authority`` of 1, relative to the maximum
    angle."""
    authority, smoothing = 0.3, 0.1
    steers: Mapping[str, float] | None = None
    """Parameters of the `SteeringLaw` that steers the paper's sine; None for no steering."""
    recorded: str | None = None
    """Name of the recorded kymogram that is the default reference; None for the paper's sine."""
    follows = False
    """Whether the kymogram has an effect in all action modes."""
    recorded_frames = 0
    """Number of frames to use from the end of the recording; 0 for all."""
    recorded_smoothing = 0.0
    """Standard deviation (s) of a Gaussian filter over the time of the recording."""
    endings: Mapping[float, Ending] = {WormEnding.CROSSED: Ending("the body crossed itself")}
    physiology = measures("worm", "WormTask", largest_angle=largest_angle)
    posture: Floats | float = 0.0
    """Mean joint angles at the start, rad."""
    info_fields = dict.fromkeys(("centre", "work", "muscle_work", "energy"), "copy")
    drives = True
    arguments = {
        "scheme": "``midpoint``, or the paper's ``published``",
        "dt": "time step, s; the default depends on the scheme and the task",
        "n_rods": "number of rods; by default that of ``params``, or 25",
        "params": "``WormParams``, or a mapping with changes to the task's parameters",
        "kymogram": (
            'base of ``actions="residual"`` instead of the animal\'s own controller: name of a recording, file, or '
            "angles (frames, joints) in rad with 32 frames per second"
        ),
        "circuit": (
            "nervous system: a ``Circuit``, a file, ``boyle``, ``ventral_cord`` or ``ahead``; actions add to its "
            'control angles, or set factors on its projections with ``actions="weights"``'
        ),
    }

    def __init__(
        self,
        scheme: str = "midpoint",
        dt: float | None = None,
        n_rods: int | None = None,
        params: WormParams | Mapping[str, Any] | None = None,
        kymogram: str | Path | ArrayLike | None = None,
        circuit: Circuit | str | Path | None = None,
        **common: Any,
    ) -> None:
        if circuit is not None:
            self.action_modes = ("angles", "modes", "weights")
        super().__init__(**common)
        choice("scheme", scheme, Worm.solvers["scheme"])
        if dt is None and scheme == "midpoint":
            dt = self.time_step
        usual = WormParams.in_medium(self.sigma, self.friction_scale)
        self.animal = Worm(read_params("params", params, usual, n_rods=n_rods), dt, scheme, circuit=circuit)
        self.drives = self.actions != "weights"
        joints = self.animal.drive_size
        place = np.arange(joints) / (joints - 1)
        self.modes = np.cos(np.pi * np.arange(min(MODES, joints))[:, None] * place)
        """Spatial modes (modes, joints)."""
        self.wave = SineKymogram.for_medium(self.sigma, n_joints=joints)
        self.steering = SteeringLaw(self.control_rate, self.wave.period, **self.steers or {})
        """Steering law of the paper's sine; used only if ``steers`` is set."""
        if kymogram is not None and self.actions != "residual" and not self.follows:
            raise ValueError(f"kymogram needs actions='residual', got actions={self.actions!r}")
        self.kymogram = self._angles(kymogram)
        """Joint angles (frames, joints), rad, 32 per second; empty if the reference is the paper's sine."""
        self.plays = len(self.kymogram) > 0
        """Whether the reference is a kymogram."""
        self.largest_change = self.fastest / self.control_rate
        """Maximum change of a control angle in a control period, rad."""

    @property
    def observation_fields(self) -> Mapping[str, Field]:
        joints = self.animal.drive_size
        return {
            "joint_angle": Field(joints, "rad", 0.5, "joint angles, head to tail", 1, JOINTS),
            "joint_rate": Field(joints, "rad/s", 5.0, "joint rates", 1, JOINTS),
            "action": Field(self.action_size, "1", self.authority, "previous action", int(self.actions == "angles")),
            "velocity": Field(2, "m/s", 1e-3, "velocity of the centre of mass, along and to the left of the head"),
        }

    @property
    def memory_fields(self) -> Mapping[str, str]:
        """Previous action, muscle work since the start (J), sum of rewards, and whether the body crosses itself."""
        return {"action": f"({self.action_size},)f8", "energy": "f8", "return_so_far": "f8", "crossed": "f8"}

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        mode, largest, joints = mode or self.actions, self.largest_angle, self.animal.drive_size
        pace = f"changes by at most {self.fastest:g} rad/s"
        if mode == "weights":
            assert self.animal.circuit is not None
            names = self.animal.circuit.weights
            return {"weight": ActionField(len(names), 0.0, MAX_WEIGHT, "1", f"factors on {', '.join(names)}")}
        if mode == "angles":
            meaning = f"control angle of each joint, head to tail; it {pace}"
            return {"control_angle": ActionField(joints, -largest, largest, "rad", meaning)}
        meaning = "amplitudes of cosines with 0, 1/2, 1, ... waves along the body"
        if mode == "residual":
            largest *= self.residual_scale
            meaning += f", added to {self.reference_text}"
        meaning += f"; the sum is clipped, and {pace}"
        return {"mode_amplitude": ActionField(len(self.modes), -largest, largest, "rad", meaning)}

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        draws = episodes.draw(lambda rng: rng.uniform(-1.0, 1.0, MODES + 1))
        deviation = 0.05 * np.sum(draws[:, : len(self.modes), None] * self.modes, 1)
        return {"joint_angle": self.posture + deviation, "heading": np.pi * draws[:, MODES]}

    def begin(self, episodes: EpisodeStart, rows: Rows) -> None:
        episodes.memory["crossed"] = self.animal.crosses(rows)

    @staticmethod
    def forward(episodes: EpisodeStart) -> Floats:
        """Return the directions (A, 2) of the bodies at the start, tail to head."""
        heading = episodes.values["heading"]
        return -np.stack([np.cos(heading), np.sin(heading)], 1)

    def command(self, row: Any, memory: Any, action: Any, drive: Any) -> None:
        curl = self.curl(memory)
        if self.actions == "weights":
            for k in range(len(action)):
                row.synapse[k] = self.meaning(action, k)
        if self.actions == "residual":
            self.reference_angles(row, memory, drive)
        for j in range(len(drive)):
            if self.actions == "weights":
                drive[j] = curl
            else:
                angle = self.largest_angle * self.bend(action, j)
                if self.actions == "residual":
                    angle = drive[j] + self.residual_scale * angle
                before = (row.control_angle[j] if self.animal.circuit is None else row.residual[j]) - curl
                wanted = min(max(angle, -self.largest_angle), self.largest_angle)
                drive[j] = min(max(wanted, before - self.largest_change), before + self.largest_change) + curl
        for k in range(len(action)):
            memory.action[k] = action[k]

    def bend(self, action: Any, j: int) -> Any:
        """Return the angle that an action commands at joint ``j``, relative to the maximum angle."""
        if self.actions == "angles":
            return action[j]
        share = 0.0
        for k in range(len(action)):
            share += action[k] * self.modes[k, j]
        return share

    def curl(self, memory: Any) -> Any:
        """Return the hidden angle (rad) added to all control angles; 0 if the memory has no ``curl``."""
        if self.curled:
            return memory.curl
        return 0.0

    @property
    def curled(self) -> bool:
        """Whether the task's memory has a ``curl``."""
        return "curl" in (self.memory.names or ())

    def _angles(self, kymogram: str | Path | ArrayLike | None) -> Floats:
        """Return the angles of a kymogram, by default the task's recording."""
        joints = self.animal.drive_size
        source = self.recorded if kymogram is None else kymogram
        if source is None:
            return np.empty((0, joints))
        try:
            angles = KymogramPlayback(source).angles
        except ValueError as error:
            raise ValueError(f"kymogram: {error}") from None
        within("kymogram", angles, -np.pi, np.pi, "rad")
        if angles.shape[1] != joints:
            name = source if isinstance(source, str | Path) else "kymogram"
            raise ValueError(f"n_rods must be {angles.shape[1] + 1} to play {name}, got {joints + 1}")
        if kymogram is not None:
            return angles
        angles = angles[-self.recorded_frames :]
        if self.recorded_smoothing:
            from scipy.ndimage import gaussian_filter1d  # slow to import

            angles = gaussian_filter1d(angles, self.recorded_smoothing * FRAME_RATE, axis=0, mode="nearest")
        return angles

    def reference(self) -> Controller:
        """Return the base controller of ``actions="residual"`` without steering: a kymogram or the paper's sine."""
        return KymogramPlayback(self.kymogram) if self.plays else self.wave

    def reference_angles(self, row: Any, memory: Any, drive: Any) -> None:
        """Set ``drive`` to the control angles (n_joints,), rad, of the base controller of ``actions="residual"``."""
        time = row.time + 0.5 / self.control_rate
        if self.plays:
            frame = min(math.floor(time * FRAME_RATE + 1e-9), len(self.kymogram) - 1)
            for j in range(len(drive)):
                drive[j] = self.kymogram[frame, j]
        else:
            height = self.wave.amplitude * min(time / self.wave.ramp, 1.0)
            cosine, sine = height * math.cos(self.wave.pace * time), height * math.sin(self.wave.pace * time)
            bias = 0.0
            if self.steers is not None:
                bias = self.steering_bias(row, memory)
            for j in range(len(drive)):
                drive[j] = cosine * self.wave.cos[j] + sine * self.wave.sin[j] + bias

    def steering_bias(self, row: Any, memory: Any) -> Any:
        """Return the bias (rad) of all control angles that turns the worm to its goal."""
        along, left = self.aim(row, memory)
        bias, memory.off = steer(
            along,
            left,
            row.time == 0.0,
            self.control_rate,
            memory.towards,
            memory.off,
            self.steering.decay,
            self.steering.gain,
            self.steering.integral,
            self.steering.limit,
        )
        return bias

    def aim(self, row: Any, memory: Any) -> Any:
        """Return the direction of the goal, along and to the left of the head; needed for a steered reference."""
        raise NotImplementedError

    def action_from_values(self, values):
        if self.actions == "weights":
            return super().action_from_values(values)
        return clipped(np.asarray(values) / (self.authority * self.action_bounds[1]))

    def action_from_drive(self, drive):
        if self.actions != "modes":
            return super().action_from_drive(drive)
        weights = np.linalg.solve(self.modes @ self.modes.T, self.modes)
        actions = np.asarray(drive) / self.largest_angle
        return clipped(np.sum(actions[:, None, :] * weights, 2))

    def newest(self, time: Any) -> Any:
        """Return the weight of the newest value in a low-pass filter with a time constant (s)."""
        return -math.expm1(-1.0 / (time * self.control_rate))

    def heading(self, row: Any) -> Any:
        """Return the direction of the head, rad."""
        return row.rod_angle[0] + math.pi

    def sense(self, row: Any, memory: Any, observation: Any) -> None:
        for j in range(len(row.rod_angle) - 1):
            observation.joint_angle[j] = row.rod_angle[j + 1] - row.rod_angle[j]
            observation.joint_rate[j] = row.rod_rate[j + 1] - row.rod_rate[j]
        if self.feels_velocity:
            along, left = body_frame(self.heading(row), row.centre_velocity[0], row.centre_velocity[1])
            observation.velocity[0], observation.velocity[1] = along, left

    @property
    def feels_velocity(self) -> bool:
        """Whether the observation has the ``velocity``."""
        return "velocity" in self.layout.fields

    def reward(self, row: Any, memory: Any) -> Any:
        """Return the change of `return_so_far`, so that the return is the last value."""
        memory.energy += row.muscle_work
        memory.crossed = 1.0 if self.crosses(row) else 0.0
        before = memory.return_so_far
        memory.return_so_far = self.return_so_far(row, memory)
        reward = memory.return_so_far - before
        self.set_terms(reward, row, memory)
        return reward

    def set_terms(self, reward: Any, row: Any, memory: Any) -> None:
        """Set the terms of a ``reward`` in the memory, if there are ``reward_terms``."""
        return

    def crosses(self, row: Any) -> Any:
        """Return whether the body crosses itself."""
        return crosses_itself(row.rod_angle, self.animal.rod_lengths, self.animal.scratch)

    @abstractmethod
    def return_so_far(self, row: Any, memory: Any) -> Any:
        """Return the episode's return if it ends now; called once per period, so that it may update the memory."""

    def ending(self, row: Any, memory: Any) -> Any:
        return WormEnding.CROSSED * memory.crossed

    def fails(self, row: Any, memory: Any) -> Any:
        """Return whether the worm crosses itself or its simulation failed."""
        return row.status + memory.crossed != 0.0


class Forward(WormTask):
    """Base class of tasks to move fast and efficiently in the initial direction of the body.

    ## Rewards

    The reward of each control period, in mm/s, is ``r = v - c (P + H)``:

    * ``v``: speed of the centre of mass along the goal direction (mm/s)
    * ``P``: positive power of the muscles (nW), the sum over all joints of the positive part of ``tau omega``, where
      ``tau = kappa (g theta_ctrl - theta)`` is the torque of the paper's spring with the gain ``g`` of the muscle, and
      ``omega`` is the joint rate. It includes energy that a bent body returns passively.
    * ``H = P0 E / E0``: heat of the muscles (nW), with the effort ``E``, the sum of ``tau^2 / kappa`` (J) over all
      joints. It models the energy needed to hold a force.
    * ``c = v0 / (4 P0)``: cost of power, {price_shown} per nW

    ``v0``, ``P0`` and ``E0`` are speed, power and effort of the animal's own wave. The cost is chosen so that this wave
    keeps half its speed, and neither a faster nor a slower wave scores higher. If an episode fails, its return is
    {failure_return:g}.

    ``info`` has means since the start: ``speed`` along the goal direction (m/s), ``power`` and ``heat`` (W),
    ``priced_speed``, which is the speed minus the costs (m/s), and ``cost_of_transport``, the work per distance (J/m,
    infinite without forward displacement).
    """

    own_speed: float
    """Speed v0 of the animal's own wave, m/s."""
    own_power: float
    """Positive muscle power P0 of this wave, W."""
    own_effort: float
    """Muscle effort E0 of this wave, the mean of squared torque over stiffness, summed over the joints, J."""
    failure_return = -100.0
    """Return of a failed episode, equal to -0.25 mm/s for 400 periods."""
    score = Score("priced_speed", "mm/s", 1e3, failed=-0.25e-3)
    physiology = measures("worm", "Forward", WormTask.physiology)
    observation_fields = {"direction": Field(2, "1", 1.0, "goal direction, along and to the left of the head")}
    reference_text = "the paper's sine, steered by the goal direction"
    steers = {"gain": 0.1, "limit": 0.3, "integral": 0.03}
    options: Mapping[str, Option] = {"curl": Option(-0.5, 0.5, "rad", "angle added to all control angles")}
    hidden: Mapping[str, Hidden] = {"curl": Hidden(-0.15, 0.15, paper=0.0)}
    memory_fields = {"goal": "2f8", "start": "2f8", "paid": "f8", "heat": "f8", "curl": "f8", **REMEMBERED}
    info_fields = dict.fromkeys(("distance", "speed", "power", "heat", "priced_speed", "cost_of_transport"), "f8")
    reward_terms = {"speed": "``v``", "power": "``-c P``", "heat": "``-c H``", **FAILURE}

    @property
    def price_shown(self) -> str:
        """Cost of 1 nW as text, for the documentation."""
        return f"{1e-6 * self.own_speed / (4.0 * self.own_power):.3f} mm/s"

    def start(self, episodes):
        values = super().start(episodes)
        episodes.memory["curl"] = episodes.hidden("curl")
        return values

    def begin(self, episodes, rows):
        super().begin(episodes, rows)
        episodes.memory["goal"] = self.forward(episodes)
        episodes.memory["start"] = rows["centre"]

    def aim(self, row, memory):
        return body_frame(self.heading(row), memory.goal[0], memory.goal[1])

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        observation.direction[0], observation.direction[1] = self.aim(row, memory)

    def distance(self, row: Any, memory: Any) -> Any:
        """Return the displacement along the goal direction since the start, m."""
        x, y = row.centre[0] - memory.start[0], row.centre[1] - memory.start[1]
        return x * memory.goal[0] + y * memory.goal[1]

    def return_so_far(self, row, memory):
        heat = row.muscle_effort * (self.own_power / self.own_effort)
        memory.heat += heat
        memory.paid += self.own_speed / (4.0 * self.own_power) * (row.muscle_work + heat)
        if self.fails(row, memory):
            return self.failure_return
        return 1e3 * self.control_rate * (self.distance(row, memory) - memory.paid)

    def set_terms(self, reward, row, memory):
        price = 1e3 * self.control_rate * self.own_speed / (4.0 * self.own_power)
        failed = self.fails(row, memory)
        memory.reward_power = 0.0 if failed else -price * row.muscle_work
        memory.reward_heat = 0.0 if failed else -price * row.muscle_effort * (self.own_power / self.own_effort)
        memory.reward_failure = reward if failed else 0.0
        memory.reward_speed = reward - memory.reward_power - memory.reward_heat - memory.reward_failure

    def info(self, row, memory, info):
        distance, time = self.distance(row, memory), max(row.time, 0.5 * self.animal.dt)
        info.distance = distance
        info.speed = distance / time
        info.power = memory.energy / time
        info.heat = memory.heat / time
        info.priced_speed = (distance - memory.paid) / time
        info.cost_of_transport = memory.energy / distance if distance > 0.0 else math.inf


class Crawl(Forward):
    """Crawl fast and efficiently on agar.

    ## Description

    The body is that of C. elegans on agar (Chung et al., 2024). The goal direction is the mean direction of the body at
    the start.

    | hidden quantity | range                     | effect                                                       |
    |-----------------|---------------------------|--------------------------------------------------------------|
    | ``curl``        | -0.15 to 0.15 rad         | added to all control angles; makes the worm crawl in circles |
    | ``drag``        | 0.92 to 1.09, log-uniform | factor on the friction                                       |
    | ``strength``    | 0.87 to 1.15, log-uniform | gain of all muscles; visible in how far the joints follow    |

    The task is hard because the worm must steer against an unknown curl, and because work and heat of its muscles cost
    the animal's own wave half its speed. Without curl, the paper's sine crawls at 0.2 mm/s. The reference adds steering
    to it.
    """

    own_speed, own_power, own_effort = 0.2041e-3, 1.340e-9, 3.328e-10
    """Means of 64 episodes without curl, from seed 0."""
    physiology = measures("worm", "Crawl", Forward.physiology)
    options = {
        "drag": Option(0.1, 10.0, "1", "factor on the friction of the medium"),
        "strength": Option(0.1, 2.0, "1", "factor on the gain of all muscles"),
    }
    hidden = {
        "drag": Hidden(0.92, 1.09, logarithmic=True, paper=1.0),
        "strength": Hidden(0.87, 1.15, logarithmic=True, paper=1.0),
    }

    def start(self, episodes):
        usual = self.animal.params
        drag, strength = episodes.hidden("drag"), episodes.hidden("strength")
        return super().start(episodes) | {
            "friction_perpendicular": usual.friction_perpendicular * drag,
            "friction_parallel": usual.friction_parallel * drag,
            "control_gain": usual.control_gain * strength[:, None],
        }


class Swim(Crawl):
    """Swim fast and efficiently in water.

    ## Description

    The body is that of ``Crawl``, in water. The goal direction is the mean direction of the body at the start.

    | hidden quantity | range                     | effect                                                      |
    |-----------------|---------------------------|-------------------------------------------------------------|
    | ``curl``        | -0.1 to 0.1 rad           | added to all control angles; makes the worm swim in circles |
    | ``drag``        | 0.85 to 1.18, log-uniform | factor on the friction                                      |
    | ``strength``    | 0.8 to 1.18, log-uniform  | gain of all muscles; visible in how far the joints follow   |

    The task is hard because nearly all work is done on the body itself and hardly any against the water, while the worm
    must steer against the unknown curl. Without curl, the paper's sine swims at 0.2 mm/s.
    """

    sigma = 0.0
    control_rate = 40.0
    authority, smoothing = 0.2, 0.06
    steers = Forward.steers | {"limit": 0.12}  # larger ones can coil the body over itself
    own_speed, own_power, own_effort = 0.2161e-3, 3.645e-9, 6.528e-10
    physiology = Forward.physiology
    hidden = {
        "curl": Hidden(-0.1, 0.1, paper=0.0),
        "drag": Hidden(0.85, 1.18, logarithmic=True, paper=1.0),
        "strength": Hidden(0.8, 1.18, logarithmic=True, paper=1.0),
    }


class Reach(WormTask):
    """Bring the head to a target.

    ## Description

    The worm is on agar with a hundredth of its friction. The target is 2 to 4 mm from the head, in any direction. It is
    reached when the head is within {radius_mm:g} mm. The task is hard because the worm steers only by bending its
    undulating body, and both time and muscle work reduce the return.

    ## Rewards

    The reward of each step is the increase of
    ``V = {reward_scale:g} (1 - d / d0 - {haste:g} t / ({own_time:g} s) - {effort:g} W / ({own_energy_nj:g} nJ))``:

    * ``d``: distance (m) of the head from the circle around the target, ``d0`` at the start
    * ``t``: time since the start (s)
    * ``W``: positive muscle work since the start (nJ)

    The scales are the time and the work of the reference. The return is the last ``V``, at most {reward_scale:g}, or
    {failure_return:g} if the episode fails.
    """

    friction_scale = 0.01
    reference_text = "the paper's sine on agar, steered by the target"
    steers = {"gain": 0.1, "limit": 0.15}
    options = {
        "target_distance": Option(0.2e-3, 10e-3, "m", "distance of the target from the head"),
        "target_bearing": Option(-np.pi, np.pi, "rad", "bearing of the target from the body axis, left positive"),
    }
    endings = {WormEnding.REACHED: Ending("the target is reached", success=True)}
    observation_fields = {"target": Field(2, "m", 2e-3, "target relative to the head, along and to the left of it")}
    memory_fields = {"target": "2f8", "way": "f8", **REMEMBERED}
    info_fields = {"distance": "f8", "is_success": "?"}
    reward_terms = {
        "progress": "increase of ``{reward_scale:g} (1 - d / d0)``",
        "time": "cost of the time",
        "work": "cost of the work",
        **FAILURE,
    }
    own_time, own_energy = 13.9, 17.9e-9
    """Time (s) and muscle work (J) of the reference until the target."""
    own_energy_nj = 1e9 * own_energy
    haste, effort = 0.5, 0.5
    """Costs of this time and work."""
    reward_scale = 100.0
    """Factor on all rewards. With a return of 1 for a whole episode, SAC's entropy bonus outweighs the task."""
    failure_return = -200.0
    """Return of a failed episode."""
    radius = 0.1e-3
    """Distance of the head from the target at which it is reached, m."""
    radius_mm = 1e3 * radius
    goal_scale, goal_field = 2e-3, "target"
    """Scale of places (m) with `GoalObservation`, and the field that it replaces."""

    def goal_place(self, row):
        """Return the place (x, y) of the head, m."""
        x, y = chain_head(row.rod_angle, row.length, self.animal.rod_lengths, self.animal.rod_masses)
        return x + row.centre[0], y + row.centre[1]

    def goal_wanted(self, memory):
        """Return the place (x, y) of the target, m."""
        return memory.target[0], memory.target[1]

    def goal_axis(self, row):
        """Return the direction of the body, rad."""
        return mean(row.rod_angle) + math.pi

    def begin(self, episodes, rows):
        super().begin(episodes, rows)
        samples = episodes.draw(lambda rng: (rng.uniform(2e-3, 4e-3), rng.uniform(-np.pi, np.pi)))
        distance = episodes.options.get("target_distance", samples[:, 0])
        forward = self.forward(episodes)
        bearing = np.arctan2(forward[:, 1], forward[:, 0]) + episodes.options.get("target_bearing", samples[:, 1])
        head = self.animal.points(rows)[:, 0]
        episodes.memory["target"] = head + distance[:, None] * np.stack([np.cos(bearing), np.sin(bearing)], 1)
        episodes.memory["way"] = distance - self.radius

    def to_target(self, row: Any, memory: Any) -> Any:
        """Return the vector (x, y) from the head to the target, m."""
        x, y = self.goal_place(row)
        return memory.target[0] - x, memory.target[1] - y

    def distance(self, row: Any, memory: Any) -> Any:
        """Return the distance of the head from the target, m."""
        x, y = self.to_target(row, memory)
        return math.sqrt(x * x + y * y)

    def aim(self, row, memory):
        x, y = self.to_target(row, memory)
        return body_frame(self.heading(row), x, y)

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        observation.target[0], observation.target[1] = self.aim(row, memory)

    def return_so_far(self, row, memory):
        remaining = max(self.distance(row, memory) - self.radius, 0.0) / memory.way
        paid = self.haste * row.time / self.own_time + self.effort * memory.energy / self.own_energy
        return self.failure_return if self.fails(row, memory) else self.reward_scale * (1.0 - remaining - paid)

    def set_terms(self, reward, row, memory):
        failed = self.fails(row, memory)
        memory.reward_time = 0.0 if failed else -self.reward_scale * self.haste / (self.own_time * self.control_rate)
        memory.reward_work = 0.0 if failed else -self.reward_scale * self.effort * row.muscle_work / self.own_energy
        memory.reward_failure = reward if failed else 0.0
        memory.reward_progress = reward - memory.reward_time - memory.reward_work - memory.reward_failure

    def ending(self, row, memory):
        return WormEnding.REACHED if self.distance(row, memory) <= self.radius else super().ending(row, memory)

    def info(self, row, memory, info):
        distance = self.distance(row, memory)
        info.distance, info.is_success = distance, distance <= self.radius


class Recorded(WormTask):
    """Base class of tasks after recorded worms, with a hidden ``curl`` and ``drag``.

    ## Description

    The worm is on agar with a hundredth of its friction. A hidden ``curl`` is added to all control angles, and a hidden
    ``drag`` is a factor on the friction.
    """

    friction_scale = 0.01
    control_rate = FRAME_RATE
    largest_angle = 1.1
    residual_scale = 0.3
    time_step = 0.1 / FRAME_RATE
    reference_text = "the recorded kymogram"
    options = {
        "curl": Option(-0.5, 0.5, "rad", "angle added to all control angles"),
        "drag": Option(0.1, 10.0, "1", "factor on the friction of the medium"),
    }
    hidden = {"curl": Hidden(-0.12, 0.12, paper=0.0), "drag": Hidden(0.5, 2.0, logarithmic=True, paper=1.0)}
    endings = {WormEnding.CROSSED: None}  # type: ignore[dict-item]
    memory_fields = {"curl": "f8"}
    info_fields = {"crossed": "?"}

    def start(self, episodes):
        usual, drag = self.animal.params, episodes.hidden("drag")
        episodes.memory["curl"] = episodes.hidden("curl")
        return super().start(episodes) | {
            "friction_perpendicular": usual.friction_perpendicular * drag,
            "friction_parallel": usual.friction_parallel * drag,
        }

    def fails(self, row, memory):
        return row.status != 0.0

    def info(self, row, memory, info):
        info.crossed = memory.crossed != 0.0


class Escape(Recorded):
    """Escape: reverse by half a body length, turn by 120 degrees to one side, then run.

    ## Description

    The task is the omega turn of a real worm, on agar with a hundredth of its friction. It has three stages:

    | stage      | progress                                                                           | complete at   |
    |------------|------------------------------------------------------------------------------------|---------------|
    | 0, reverse | distance of the centre of mass behind its farthest point along the start direction | 0.5 mm        |
    | 1, turn    | swing of the body's mean direction to the observed ``side``                        | 120 degrees   |
    | 2, run     | distance of the centre of mass from its position at the end of the turn            | a body length |

    The worm has escaped when stage 2 is complete. Progress counts at no more than {fastest_way_shown:g} mm/s and
    {fastest_turn:g} rad/s, the maximum of the recorded worm over half a second, so that short bursts do not pay.

    | hidden quantity | range                 | effect                                                |
    |-----------------|-----------------------|-------------------------------------------------------|
    | ``curl``        | -0.06 to 0.06 rad     | added to all control angles; turns the worm to a side |
    | ``drag``        | 0.5 to 2, log-uniform | factor on the friction                                |

    The task is hard because three manoeuvres must succeed in sequence with an unknown curl and friction, and because
    abrupt commands cost more work than the escape is worth. The reference is the last 15 s of the recorded escape, or
    their mirror image, smoothed over time by a Gaussian of {recorded_smoothing:g} s.

    ## Rewards

    The reward of each step is the increase of ``V = {reward_scale:g} (0.2 A + 0.4 B + 0.4 C - P)``, where
    ``P = {haste:g} t / ({own_time:g} s) + {effort:g} W / ({own_energy_nj:g} nJ)``:

    * ``A``, ``B``, ``C``: progress in reversing, turning and running, each from 0 to 1
    * ``t``: time since the start (s)
    * ``W``: positive muscle work since the start (nJ)

    The scales are the time and the work of the recorded commands, not smoothed and without hidden changes. The return
    is the last ``V``. It is below 97, because an escape takes at least 3.5 s, and {failure_return:g} if the
    simulation of the worm fails. As in real worms, the body may cross itself; ``info["crossed"]`` reports this.
    """

    physiology = measures("worm", "Escape", WormTask.physiology, largest_angle=Recorded.largest_angle)
    residual_scale = 0.1
    hidden = {"curl": Hidden(-0.06, 0.06, paper=0.0)}
    options = {"side": Option(-1.0, 1.0, "1", "side of the turn: left if positive, right if not")}
    observation_fields = {
        "side": Field(1, "1", 1.0, "side to turn to, 1 left, -1 right"),
        "reversed": Field(1, "m", 1e-3, "distance reversed"),
        "turned": Field(1, "rad", 1.0, "angle turned"),
        "stage": Field(1, "1", 1.0, "stage of the escape, 0, 1 or 2"),
    }
    memory_fields = {
        **dict.fromkeys(("goal", "start", "turn_centre"), "2f8"),
        **dict.fromkeys(("side", "farthest", "low", "stage", "reversed", "turned", "run"), "f8"),
    }
    indices = {"stage": range(3)}
    info_fields = dict.fromkeys(("side", "stage", "reversed", "turned", "run"), "copy")
    info_fields |= {"progress": "f8", "is_success": "?"}
    reward_terms = {**Reach.reward_terms, "progress": "increase of ``{reward_scale:g} (0.2 A + 0.4 B + 0.4 C)``"}
    set_terms = Reach.set_terms
    endings = {WormEnding.ESCAPED: Ending("the worm has escaped", success=True)}
    own_time, own_energy = 11.5, 5.9e-9
    """Time (s) and muscle work (J) of the recorded commands."""
    own_energy_nj = 1e9 * own_energy
    haste, effort = 0.1, 3.0
    """Costs of this time and work; a smooth escape takes a twentieth of the work."""
    reward_scale = Reach.reward_scale
    failure_return = -500.0
    """Return of a failed episode."""
    retreat = 0.5e-3
    """Distance to reverse, m."""
    turn = 2.0 * np.pi / 3.0
    """Angle to turn by, rad."""
    fastest_way, fastest_turn = 0.6e-3, 2.1
    """Maximum rates of progress, m/s and rad/s; the recorded worm reaches 0.58 mm/s and 2.11 rad/s in half a second."""
    fastest_way_shown = 1e3 * fastest_way
    recorded, recorded_frames, recorded_smoothing = "omega_turn", round(15.0 * FRAME_RATE), 0.25

    def begin(self, episodes, rows):
        super().begin(episodes, rows)
        episodes.memory["goal"] = self.forward(episodes)
        episodes.memory["start"] = rows["centre"]
        samples = episodes.draw(lambda rng: rng.uniform(-1.0, 1.0))
        episodes.memory["side"] = np.where(episodes.options.get("side", samples) > 0.0, 1.0, -1.0)

    def reference_angles(self, row, memory, drive):
        super().reference_angles(row, memory, drive)
        for j in range(len(drive)):
            drive[j] *= memory.side

    def return_so_far(self, row, memory):
        stage, heading = memory.stage, memory.side * mean(row.rod_angle)
        x, y = row.centre[0] - memory.start[0], row.centre[1] - memory.start[1]
        ahead = x * memory.goal[0] + y * memory.goal[1]
        memory.farthest = max(memory.farthest, ahead)
        memory.low = heading if stage == 0.0 else min(memory.low, heading)
        way = self.fastest_way / self.control_rate
        if stage == 0.0:
            memory.reversed = self.advanced(memory.reversed, memory.farthest - ahead, way, self.retreat)
        elif stage == 1.0:
            most = self.fastest_turn / self.control_rate
            memory.turned = self.advanced(memory.turned, heading - memory.low, most, self.turn)
        else:
            x, y = row.centre[0] - memory.turn_centre[0], row.centre[1] - memory.turn_centre[1]
            memory.run = self.advanced(memory.run, math.sqrt(x * x + y * y), way, row.length)
        if stage < 2.0:
            memory.turn_centre[0], memory.turn_centre[1] = row.centre[0], row.centre[1]
            complete = memory.reversed >= self.retreat if stage == 0.0 else memory.turned >= self.turn
            memory.stage = stage + 1.0 if complete else stage
        paid = self.haste * row.time / self.own_time + self.effort * memory.energy / self.own_energy
        gained = self.reward_scale * (self.progress(row, memory) - paid)
        return self.failure_return if self.fails(row, memory) else gained

    def advanced(self, before: Any, present: Any, most: Any, whole: Any) -> Any:
        """Return the progress of a stage: ``present``, limited to ``before`` .. ``before + most`` and to ``whole``."""
        return min(max(before, min(present, before + most)), whole)

    def progress(self, row: Any, memory: Any) -> Any:
        """Return the progress of the escape, from 0 to 1."""
        reversed_, turned = memory.reversed / self.retreat, memory.turned / self.turn
        return 0.2 * reversed_ + 0.4 * turned + 0.4 * memory.run / row.length

    def escaped(self, row: Any, memory: Any) -> Any:
        """Return whether the worm has escaped."""
        return memory.stage == 2.0 and memory.run >= row.length

    def ending(self, row, memory):
        return WormEnding.ESCAPED if self.escaped(row, memory) else 0.0

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.progress, info.is_success = self.progress(row, memory), self.escaped(row, memory)


class Follow(Recorded):
    """Follow the path of a real worm through its omega or delta turn.

    ## Description

    The path is that of the centre of mass when the recorded kymogram is played without hidden changes. The target point
    moves along it in real time, in 600 frames of 1/32 s (delta turn: 300). The worm is on agar with a hundredth of its
    friction.

    | hidden quantity | range                 | effect                                                |
    |-----------------|-----------------------|-------------------------------------------------------|
    | ``curl``        | -0.12 to 0.12 rad     | added to all control angles; turns the worm to a side |
    | ``drag``        | 0.5 to 2, log-uniform | factor on the friction                                |

    The task is hard because curl and friction are unknown, so playing back the recording leads away from the path.

    ## Rewards

    The reward of each step is ``r = N - {effort:g} P / P0``:

    * ``N = 1 / (1 + 9 (e / 0.2)^2)``, where ``e`` (mm) is the excess of the distance between centre of mass and target
      point over 0.02 mm: 1 within 0.02 mm, 0.1 at 0.22 mm
    * ``P``: positive muscle power, ``P0``: its mean during the whole recording

    ``info["is_success"]`` is true when the path is complete. The body may cross itself; ``info["crossed"]`` reports
    this.

    ## Starting State

    The worm is at rest in the first shape of the recording, with a random smooth bend (up to 0.05 rad per mode) and a
    random heading.
    """

    physiology = measures("worm", "Follow", WormTask.physiology, largest_angle=Recorded.largest_angle)
    endings = {
        WormEnding.LOST: Ending("the path was lost: more than a body length away from it"),
        WormEnding.COMPLETE: Ending("the path is complete", success=True),
    }
    arguments = {"turn": "``omega_turn`` or ``delta_turn``"}
    follows = True
    effort = 0.2
    """Cost of the mean power of the recording."""
    ahead = (0, 8, 16, 32)
    """Frames ahead at which the path is observed."""
    _meaning = f"path {', '.join(map(str, ahead))} frames ahead from the centre, along and to the left of the head"
    observation_fields = {"path": Field(2 * len(ahead), "m", 0.5e-3, _meaning)}
    memory_fields = {"origin": "2f8", "heading": "f8"}
    info_fields = {"error": "f8", "is_success": "?"}
    reward_terms = {"precision": "``N``", "power": "``-{effort:g} P / P0``"}

    def __init__(self, turn: str = "omega_turn", **arguments: Any) -> None:
        choice("turn", turn, RECORDED)
        if turn != RECORDED[0] and arguments.get("kymogram") is not None:
            raise ValueError(f"turn must be left out with a kymogram, which replaces it, got {turn!r}")
        self.recorded = turn
        super().__init__(**arguments)
        self._steps = round(1.0 / (FRAME_RATE * self.animal.dt))
        if abs(self._steps * FRAME_RATE * self.animal.dt - 1.0) > 1e-6:
            raise ValueError(f"dt must divide 1/32 s, the duration of a frame, got {self.animal.dt!r}")
        self.posture = self.kymogram[0]
        self.path, self.own_work = self._walk(self.kymogram)
        if not self.own_work > 0.0:
            raise ValueError(f"kymogram must move the worm, got {shown(self.kymogram)}")

    def _walk(self, angles: Floats) -> tuple[Floats, float]:
        """Simulate a worm with a kymogram as control angles.

        Returns:
            Path of the centre of mass (N + 1, 2), m, which starts at the origin in the direction of -x, and the mean
            positive muscle work per frame, J.
        """
        worm, ids = self.animal, np.zeros(1, np.int64)
        rows = worm.rows(1)
        worm.reset(rows, ids, {"joint_angle": angles[0]})
        path, work = np.zeros((len(angles) + 1, 2)), np.zeros(len(angles))
        for k, frame in enumerate(angles):
            worm.advance(rows, ids, frame[None], self._steps)
            path[k + 1] = rows["centre"][0]
            work[k] = rows["muscle_work"][0]
        return path, float(work.mean())

    def begin(self, episodes, rows):
        super().begin(episodes, rows)
        episodes.memory["origin"] = rows["centre"]
        episodes.memory["heading"] = rows["rod_angle"].mean(1)

    def place(self, row: Any, memory: Any, ahead: int) -> Any:
        """Return the point (x, y) of the path, m, ``ahead`` frames from now."""
        frame = min(int(np.rint(row.time * FRAME_RATE)) + ahead, len(self.path) - 1)
        x, y = body_frame(-memory.heading, self.path[frame, 0], self.path[frame, 1])
        return memory.origin[0] + x, memory.origin[1] + y

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        for k in range(len(self.ahead)):
            x, y = self.place(row, memory, self.ahead[k])
            along, left = body_frame(self.heading(row), x - row.centre[0], y - row.centre[1])
            observation.path[2 * k], observation.path[2 * k + 1] = along, left

    def error(self, row: Any, memory: Any) -> Any:
        """Return the distance from the present point of the path, m."""
        x, y = self.place(row, memory, 0)
        x, y = x - row.centre[0], y - row.centre[1]
        return math.sqrt(x * x + y * y)

    def return_so_far(self, row, memory):
        near = tolerance(self.error(row, memory), 0.0, 0.02e-3, 0.2e-3)
        return memory.return_so_far + near - self.effort * row.muscle_work / self.own_work

    def set_terms(self, reward, row, memory):
        memory.reward_power = -self.effort * row.muscle_work / self.own_work
        memory.reward_precision = reward - memory.reward_power

    def complete(self, row: Any) -> Any:
        """Return whether the path is complete."""
        return row.time * FRAME_RATE > len(self.path) - 1.5

    def ending(self, row, memory):
        if self.error(row, memory) > row.length:
            return WormEnding.LOST
        return WormEnding.COMPLETE if self.complete(row) else 0.0

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.error = self.error(row, memory)
        info.is_success = self.complete(row) and info.error <= row.length


def path_place(task: Follow, rows: Rows, memory: Rows, ahead: int = 0) -> Floats:
    """Return the points of the path (B, 2), m, of many rows, for pictures."""
    frame = np.minimum(np.rint(rows["time"] * FRAME_RATE).astype(int) + ahead, len(task.path) - 1)
    return memory["origin"] + to_body_frame(-memory["heading"], task.path[frame])
