"""Tasks of the whisker rod: keep contact, regulate the vibration, tell two roughnesses apart."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.arguments import number, read_params, within
from ..core.env.hooks import Record
from ..core.env.task import ActionField, EpisodeStart, Field, Hidden, Rows, Task, clipped, measures, tolerance
from ..core.kernels.maths import interpolated
from ..core.model.quantities import Option
from .animal import WhiskerRod
from .body import BANDS, SAMPLES
from .params import REFERENCE_FRICTION, Relief, WhiskerRodParams, table
from .sensor import SENSOR, follow_moment, level, take_samples, take_vibration

SPEEDS, DISTANCES = (0.03, 0.4), (0.978, 0.992)
"""Ranges of the commanded speed (m/s) and distance (lengths) of the plate."""

LAG = 0.01
"""Time constant (s) of the plate's response to commands."""

EASE = 0.03
"""Time constant (s) with which commands of speed and distance follow the actions, as muscles do. Together with `LAG`,
it keeps actions from shaking the whisker in its own modes."""

CENTRE = 0.985
"""Middle of the distances, lengths."""

ADDED = ", added to the animal's own"

LEVELS = (np.array([-0.6, -0.16, 0.11, 0.46, 0.71, 0.98, 1.19]), np.array([0.03, 0.04, 0.05, 0.07, 0.09, 0.12, 0.15]))
"""Levels of the second mode, log10 (nN m)^2, and the constant speeds (m/s) that cause them at L = 25 um and 0.985
lengths."""

FORCE, SLOPE = 0.805e-6, 1.64e-5
"""Mean force towards the base (N) at 0.985 lengths, and its decrease with the distance (N per length), measured at
0.979 to 0.991 lengths and 0.1 m/s."""

SETTLING = 0.05
"""Time (s) in which the vibration grows from rest and does not yet depend on the speed."""


SMOOTH = 60.0, 2.0
"""Frequency (Hz), and largest rms acceleration (m/s^2) of the plate above it. The tip of a whisker in an 8 Hz whisk of
20 degrees has 8.8 m/s^2; the limit is 5% of the power of that acceleration."""


class RodTask(Task):
    """Base class for tasks of the whisker rod: observations and the moving plate.

    ## Starting State

    The whisker is at rest in equilibrium on the plate. The distance of the plate is drawn from {start_distance}
    lengths, and its speed is {start_speed:g} m/s.
    """

    animal: WhiskerRod
    action_modes = ("residual", "plate")
    control_rate = 500.0
    options = {
        "curvature_base": Option(-100.0, 0.0, "rad/m", "intrinsic curvature at the base; negative bends towards +x"),
        "curvature_tip": Option(-100.0, 0.0, "rad/m", "intrinsic curvature at the tip"),
        "distance": Option(0.978, 1.0, "lengths", "distance of the plate at the start"),
    }
    arguments = {
        "scheme": "``midpoint``, or the paper's ``published``",
        "dt": "time step, s; by default 1e-5, with ``published`` 5e-5, with a relief 5e-6",
        "n_segments": "number of segments of the whisker, by default that of ``params`` (30)",
        "params": (
            "``WhiskerRodParams``, or a mapping of its fields with changes to the task's values; hidden options are "
            "drawn for every episode all the same"
        ),
        "relief_slope": "rms slope of the plate's relief, a coarse sandpaper, at most 0.5; 0: flat plate",
        "noise": "factor of the sensor noise",
    }
    _turn = 2 * np.pi * SMOOTH[0]
    physiology = measures(
        "whisker_rod", "RodTask", shaken_speed=1e3 * SMOOTH[1] / _turn, shaken_distance=1e6 * SMOOTH[1] / _turn**2
    )
    info_fields = {"plate_speed": "copy", "plate_distance": "copy", "base_wrench": "3f8"}
    """Mean of the base wrench over the period, N m, N, N."""
    whisker = WhiskerRodParams(n_segments=30)
    """Default parameters of the whisker."""
    start_speed = 0.1
    """Initial speed of the plate, m/s."""
    start_distance = (0.98, 0.99)
    """Range of the initial distance of the plate, lengths."""
    enough = 0.5
    """Fraction of an episode with full reward that is a success."""

    def __init__(
        self,
        scheme: str = "midpoint",
        dt: float | None = None,
        n_segments: int | None = None,
        relief_slope: float = 0.0,
        noise: float = 1.0,
        params: WhiskerRodParams | Mapping[str, Any] | None = None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self.noise, self.relief_slope = number("noise", noise, minimum=0), relief_slope
        number("relief_slope", relief_slope, minimum=0, maximum=0.5)
        relief = Relief.random(table()["coarse_grain"], relief_slope) if relief_slope else None
        whisker = read_params("params", params, self.whisker, n_segments=n_segments)
        self.animal = WhiskerRod(whisker, dt, scheme, relief)
        self.answered = -float(np.expm1(-1.0 / (LAG * self.control_rate)))
        """Fraction of a commanded change that the plate completes in a period."""

    @property
    def observation_fields(self) -> Mapping[str, Field]:
        noise = 1e9 * self.noise * SENSOR[0], 1e6 * self.noise * SENSOR[1]
        eighths = "means over the eighths of the period, with noise of"
        wrench = "M, Fx, Fy of the whisker on its base, means of the samples of the period"
        forces = f"Fx and Fy on the base in turn, {eighths} {noise[1]:g} uN"
        bands = " .. ".join(f"{band:g}" for band in (BANDS[0], BANDS[-1]))
        return {
            "base_wrench_mean": Field(3, "N m, N, N", (2e-8, 1e-6, 1e-6), wrench),
            "moment_samples": Field(SAMPLES, "N m", 2e-8, f"M on the base, {eighths} {noise[0]:g} nN m"),
            "force_samples": Field(2 * SAMPLES, "N", 1e-6, forces),
            "band_level": Field(len(BANDS), "log10 (nN m)^2", 1.0, f"power of M in bands around {bands} Hz"),
            "plate_speed": Field(1, "m/s", 0.2, "speed of the plate along x"),
            **self.plate_place(),
            "action": Field(self.action_size, "1", self.authority, "previous action"),
        }

    @property
    def memory_fields(self) -> Mapping[str, str]:
        """Previous action, speed of the plate (m/s), seed of the noise, and sensed wrench and levels, see `feel`."""
        return {
            **{"action": f"({self.action_size},)f8", "plate_speed": "f8", "noise": "u8", "moment_mean": "f8"},
            **{"base_wrench_mean": "3f8", "moment_samples": f"{SAMPLES}f8", "force_samples": f"({SAMPLES},2)f8"},
            **{"band": f"({len(BANDS)},4)f8", "band_level": f"{len(BANDS)}f8"},
        }

    @abstractmethod
    def plate_place(self) -> dict[str, Field]:
        """Return the entry of the observation with the place of the plate."""

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        draws = episodes.draw(lambda rng: rng.uniform(*self.start_distance))
        length = episodes.options.get("length", self.animal.params.length)
        distance = episodes.options.get("distance", draws)
        episodes.memory["plate_speed"] = self.start_speed
        episodes.memory["noise"] = episodes.draw(lambda rng: rng.integers(0, 2**63))
        return {"plate_distance": distance * length, **self.conditions(episodes)}

    @abstractmethod
    def conditions(self, episodes: EpisodeStart) -> dict[str, Any]:
        """Set the memory of the task, and return the start values and parameters that it draws."""

    def begin(self, episodes: EpisodeStart, rows: Rows) -> None:
        episodes.memory["moment_mean"] = rows["base_wrench"][:, 0]
        for row, memory in zip(rows, episodes.memory, strict=True):
            self.feel(Record(row), Record(memory))

    def command(self, row: Any, memory: Any, action: Any, drive: Any) -> None:
        """Set the plate's velocity along x and a base at rest; subclasses set the plate's velocity along y (m/s)."""
        for k in range(len(action)):
            memory.action[k] = action[k]
        drive[0], drive[2] = memory.plate_speed, 0.0

    def feel(self, row: Any, memory: Any) -> None:
        """Sample the base wrench of the period with noise, and update the levels of the moment."""
        period, interval = np.rint(row.time * self.control_rate), 1.0 / (SAMPLES * self.control_rate)
        moment, mean, force = memory.moment_samples, memory.base_wrench_mean, memory.force_samples
        take_samples(row.base_wrench_samples, memory.noise, period, self.noise, moment, force, mean)
        memory.moment_mean = follow_moment(moment, interval, memory.moment_mean, memory.band, memory.band_level)

    def reward(self, row: Any, memory: Any) -> Any:
        self.feel(row, memory)
        return self.worth(row, memory)

    @abstractmethod
    def worth(self, row: Any, memory: Any) -> Any:
        """Return the reward of the period."""

    def info(self, row: Any, memory: Any, info: Any) -> None:
        for k in range(3):
            info.base_wrench[k] = row.base_wrench_mean[k]


class Sweep(RodTask):
    """Keep the tip on a plate that swings to and fro, without lifting off or laying the whisker over.

    ## Description

    The model is the whisker C4 of Oladazimi, Putelat et al. (2021) on a plate that moves at {start_speed:g} m/s by
    default, with L = 20 µm. The distance of the plate swings in a sine, which reaches its full amplitude after 0.1 s:

    | hidden quantity | distribution                                   |
    |-----------------|------------------------------------------------|
    | amplitude       | 0.006 to 0.01 lengths, starting to either side |
    | frequency       | 5 to 10 Hz                                     |

    As in the paper's model, the base is clamped, and the plate moves instead: 0.2 m/s are a base that turns at
    420 deg/s. So the plate replaces a trajectory of the base in all actions.

    The animal's own controller is a reflex, which opposes the distance inferred from the force on the base. By default,
    actions add to its changes of the distance; with ``actions="plate"`` they are all changes. The task is hard because
    the swing is not observed and must be inferred from noisy forces, for which three observations are stacked, and
    because the plate follows commands with a time constant of {lag_ms:g} ms.

    ## Rewards

    The reward of each step is ``r = C W - {effort_price:g} A^2``:

    * ``C``: fraction of the period in contact
    * ``W = 1 / (1 + 9 (d / {margin:g})^2)``, where ``d`` is the distance (lengths) of the plate from the window
      {window} lengths, 0 inside
    * ``A``: commanded change of the distance, by reflex and action, in units of the largest change

    It rewards contact near the middle distance without jerks at the limit. ``info["held"]`` is the fraction of the
    episode's {duration:g} s in contact inside the window. ``info["is_success"]`` is true once it is {enough:g}.

    ## Starting State

    The whisker is at rest in equilibrium on the plate, with a distance drawn from {start_distance} lengths.
    """

    options = {
        "amplitude": Option(0.0, 0.01, "lengths", "amplitude of the swing"),
        "frequency": Option(0.0, 10.0, "Hz", "frequency of the swing"),
    }
    hidden = {"amplitude": Hidden(0.006, 0.01), "frequency": Hidden(5.0, 10.0)}
    whisker = replace(RodTask.whisker, memory_length=20e-6)
    start_distance = (0.984, 0.986)

    window = (0.983, 0.987)
    """Range of distances of the plate with full reward, lengths."""
    margin = 0.002
    gain = 0.2
    """Weight of the newest distance in the reflex's mean."""
    memory_fields = dict.fromkeys(("amplitude", "frequency", "asked_way", "own_way", "periods_held"), "f8")
    memory_fields |= dict.fromkeys(("asked", "felt_swing", "reflex_way"), "f8")
    """Swing: amplitude (lengths) and frequency (Hz). Displacement (lengths) commanded and reached; number of periods
    held; change commanded in this period, in units of the largest. Reflex: felt swing and its commands (lengths)."""
    info_fields = {"contact": "copy", "held": "f8", "is_success": "?"}
    reward_terms = {"contact": "``C W``", "effort": "``-{effort_price:g} A^2``"}
    lag_ms = 1e3 * LAG
    authority = 0.2
    largest_change = 3e-3
    """Largest change of the distance in a period, lengths; the swing needs at most 1.3e-3."""
    effort_price = 0.3
    """Cost of a period with the largest commanded change of the distance; our choice."""
    duration = 1.0
    """Duration of an episode, s."""
    arguments = {"plate_speed": "speed of the plate, m/s; the paper's is 0.2"}

    def __init__(self, plate_speed: float = RodTask.start_speed, **arguments: Any) -> None:
        self.start_speed = float(within("plate_speed", number("plate_speed", plate_speed), *SPEEDS, "m/s"))
        super().__init__(**arguments)

    def plate_place(self) -> dict[str, Field]:
        return {"own_way": Field(1, "lengths", 0.01, "displacement of the plate by actions since the start")}

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        added = ADDED if (mode or self.actions) == "residual" else ""
        meaning = f"change of the distance{added}; added to the swing with a time constant of {self.lag_ms:g} ms"
        return {"distance_change": ActionField(1, -self.largest_change, self.largest_change, "lengths", meaning)}

    def conditions(self, episodes):
        memory, side = episodes.memory, episodes.draw(lambda rng: rng.choice((-1.0, 1.0)))
        # An amplitude from the options keeps its sign.
        memory["amplitude"] = np.where("amplitude" in episodes.options, 1.0, side) * episodes.hidden("amplitude")
        memory["frequency"] = episodes.hidden("frequency")
        return {}

    def command(self, row, memory, action, drive):
        super().command(row, memory, action, drive)
        swing = self.swing(row.time + 1.0 / self.control_rate, memory) - self.swing(row.time, memory)
        memory.asked = action[0]
        if self.actions == "residual":
            memory.asked = min(max(action[0] + self.reflex(memory), -1.0), 1.0)
        memory.asked_way += self.largest_change * memory.asked
        own = (memory.asked_way - memory.own_way) * self.answered
        memory.own_way += own
        drive[1] = (swing + own) * row.length * self.control_rate

    def reflex(self, memory: Any) -> Any:
        """Return the change of the distance by the animal's own controller, in units of the largest."""
        felt = (FORCE + memory.base_wrench_mean[2]) / SLOPE - memory.own_way
        memory.felt_swing += self.gain * (felt - memory.felt_swing)
        change = min(max((-memory.felt_swing - memory.reflex_way) / self.largest_change, -1.0), 1.0)
        memory.reflex_way += self.largest_change * change
        return change

    def swing(self, time: Any, memory: Any) -> Any:
        """Return the displacement (lengths) of the plate by the swing at a ``time`` (s)."""
        return memory.amplitude * min(10.0 * time, 1.0) * math.sin(2.0 * math.pi * memory.frequency * time)

    def action_from_values(self, values):
        return clipped(np.asarray(values) / (self.authority * self.largest_change))

    def inside(self, row: Any, margin: float) -> Any:
        """Return 1 if the plate is inside the window, and less outside: 0.1 at a ``margin`` (lengths) from it."""
        return tolerance(row.plate_distance / row.length, self.window[0], self.window[1], margin)

    def worth(self, row, memory):
        memory.periods_held += self.inside(row, 0.0) * row.contact
        memory.reward_contact = self.inside(row, self.margin) * row.contact
        memory.reward_effort = -self.effort_price * memory.asked**2
        return memory.reward_contact + memory.reward_effort

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.held = memory.periods_held / (self.duration * self.control_rate)
        info.is_success = info.held >= self.enough


class Regulate(RodTask):
    """Hold the power of the second bending mode at changing levels on a hidden texture.

    ## Description

    The model is the whisker C4 of Oladazimi, Putelat et al. (2021) on a moving plate. Stick-slip excites the second
    bending mode at about 220 Hz. The power of the moment in the band around 200 Hz increases with the speed of the
    sweep, and depends on the texture, the memory length L of the friction:

    | hidden quantity | distribution             |
    |-----------------|--------------------------|
    | L               | 15 to 50 µm, log-uniform |

    The level is the mean of this power, with weights that decrease with a time constant of {mean_ms:g} ms: within a
    cycle of stick and slip, the power itself changes by a factor of 3. The goal, which is part of the observation,
    changes every {span:g} s. Each quarter of the range {goals} log10 (nN m)^2 occurs once per episode, in random
    order, so that no episode has only low levels, which are harder to hold. The animal's own controller sweeps at a
    speed that depends on the goal, and corrects it by integral feedback from the sensed level. The task is hard because
    the texture must be inferred from noisy samples of the vibration that it causes, because the plate and the level
    follow late, and because fast sweeps lock the vibration at levels above 1.9.

    As in the paper's model, the base is clamped, and the plate moves instead: 0.2 m/s are a base that turns at
    420 deg/s. So the plate replaces a trajectory of the base in all actions.

    By default, actions multiply the animal's speed by 0.2 to 5, and add to its distance of 0.985 lengths. The plate
    follows slowly, as muscles do: the command approaches the action with a time constant of 30 ms, and the plate the
    command with one of 10 ms.

    ## Rewards

    The reward of each step is ``r = 1 / (1 + 9 e^2)``:

    * ``e = max(|level - goal| - {near:g}, 0) / {margin:g}``, where level and goal are in log10 (nN m)^2: full reward
      within {near:g}, a factor of 1.26 in power, and 0.1 at a distance of 0.35

    It rewards precision. ``info["error"]`` is the level minus the goal, and ``info["held"]`` the fraction of the
    episode's {duration:g} s within {near:g} of the goal. ``info["is_success"]`` is true once it is {enough:g}.
    """

    options = {"goal": Option(-3.0, 3.0, "log10 (nN m)^2", "constant level to hold")}
    hidden = {"memory_length": Hidden(15e-6, 50e-6, logarithmic=True)}
    observation_fields = {
        "speed_command": Field(1, "m/s", 0.2, "commanded speed of the plate, which its speed approaches"),
        "goal": Field(1, "log10 (nN m)^2", 1.0, "level to hold in the band around 200 Hz"),
        "felt_level": Field(1, "log10 (nN m)^2", 1.0, "level of the sensed moment in this band"),
    }
    memory_fields = {"speed_command": "f8", "distance_command": "f8", "goal": "f8", "later": "3f8"}
    memory_fields |= dict.fromkeys(("periods_held", "power", "felt_power", "correction"), "f8")
    """Speed (m/s) and distance (lengths) that the plate approaches. Current goal, later goals, and the number of
    periods close to the goal. Mean power, true and sensed, (N m)^2. Of the animal's own controller: logarithm of a
    factor of the speed."""
    info_fields = {"goal": "copy", "error": "f8", "held": "f8", "is_success": "?"}
    reward_terms = {"precision": "``1 / (1 + 9 e^2)``"}
    band = BANDS.index(200.0)
    goals = (-0.2, 1.1)
    """Range of the goals, log10 (nN m)^2."""
    near, margin = 0.1, 0.25
    """Largest error with full reward, and the additional error at which the reward is 0.1."""
    span = 0.25
    """Time between changes of the goal, s."""
    duration = 1.0
    """Duration of an episode, s."""
    mean_ms = 20.0
    """Time constant of the mean power, ms."""
    gain = 0.003
    """The animal's own controller: change of the logarithm of the speed in a period per error, log10 (nN m)^2."""
    levels, speeds = LEVELS
    faster = math.log(5.0)
    """Largest change of the logarithm of the animal's own speed by an action with an ``authority`` of 1."""
    authority = 0.3

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.eased = -float(np.expm1(-1.0 / (EASE * self.control_rate)))
        """Fraction of the difference from an action by which the command changes in a period."""
        self.newest = -float(np.expm1(-1e3 / (self.mean_ms * self.control_rate)))
        """Weight of the newest power in the mean."""

    def begin(self, episodes: EpisodeStart, rows: Rows) -> None:
        super().begin(episodes, rows)
        episodes.memory["speed_command"] = self.start_speed
        episodes.memory["distance_command"] = rows["plate_distance"] / rows["length"]

    def plate_place(self) -> dict[str, Field]:
        return {"plate_offset": Field(1, "lengths", 0.01, f"distance of the plate minus {CENTRE:g} lengths")}

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        late = f"approached with time constants of {1e3 * EASE:g} and {1e3 * LAG:g} ms"
        speed = ActionField(1, *SPEEDS, "m/s", f"speed of the plate along x; {late}")
        distances, added = DISTANCES, ""
        if (mode or self.actions) == "residual":
            meaning = f"logarithm of a factor of the animal's own speed of the plate; {late}"
            speed = ActionField(1, -self.faster, self.faster, "1", meaning)
            distances, added = (DISTANCES[0] - CENTRE, DISTANCES[1] - CENTRE), ADDED
        distance = f"distance of the plate{added}; {late}"
        return {"plate_speed": speed, "plate_distance": ActionField(1, *distances, "lengths", distance)}

    def conditions(self, episodes):
        (low, high), count = self.goals, 4
        part = (high - low) / count
        goals = episodes.draw(lambda rng: low + part * (rng.permutation(count) + rng.uniform(size=count)))
        episodes.memory["goal"] = episodes.options.get("goal", goals[:, 0])
        later = episodes.options.get("goal", goals[:, 1:].T)
        episodes.memory["later"] = np.broadcast_to(later, (3, len(episodes))).T
        return {"memory_length": episodes.hidden("memory_length")}

    def own(self, row, memory):
        if row.time + 0.5 / self.control_rate > SETTLING:
            change = self.gain * (memory.goal - level(memory.felt_power))
            memory.correction = min(max(memory.correction + change, -1.5), 1.5)
        return interpolated(memory.goal, self.levels, self.speeds) * math.exp(memory.correction)

    def command(self, row, memory, action, drive):
        speed, distance = self.meaning(action, 0), self.meaning(action, 1)
        if self.actions == "residual":
            speed = min(max(self.own(row, memory) * math.exp(speed), SPEEDS[0]), SPEEDS[1])
            distance += CENTRE
        memory.speed_command += self.eased * (speed - memory.speed_command)
        memory.distance_command += self.eased * (distance - memory.distance_command)
        memory.plate_speed += self.answered * (memory.speed_command - memory.plate_speed)
        super().command(row, memory, action, drive)
        way = self.answered * (memory.distance_command * row.length - row.plate_distance)
        drive[1] = way * self.control_rate
        step, periods = np.rint(row.time * self.control_rate), self.span * self.control_rate
        if step >= periods:
            memory.goal = memory.later[min(int(step // periods) - 1, 2)]

    def error(self, row: Any, memory: Any) -> Any:
        """Return the level minus the goal, log10 (nN m)^2."""
        return level(memory.power) - memory.goal

    def worth(self, row, memory):
        memory.power += self.newest * (row.band_power[self.band] - memory.power)
        memory.felt_power += self.newest * (10.0 ** (memory.band_level[self.band] - 18.0) - memory.felt_power)
        error = self.error(row, memory)
        memory.periods_held += tolerance(error, -self.near, self.near, 0.0)
        memory.reward_precision = tolerance(error, -self.near, self.near, self.margin)
        return memory.reward_precision

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        observation.plate_offset[0] = row.plate_distance / row.length - CENTRE
        observation.felt_level[0] = level(memory.felt_power)

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.error = self.error(row, memory)
        info.held = memory.periods_held / (self.duration * self.control_rate)
        info.is_success = info.held >= self.enough


class Texture(RodTask):
    """Tell rough from smooth sandpaper by touch, soon: choose the sweep, and when to answer.

    ## Description

    The model is the whisker C4 of Oladazimi, Putelat et al. (2021) on a plate of sandpaper with a mean wavelength of
    201 µm, the paper's P80. The plate consists of pieces, which are smooth or rough with equal probability. The agent
    answers for each piece, and its answer begins the next one. Other quantities also change the vibration:

    | quantity      | distribution                                                      | drawn for   |
    |---------------|-------------------------------------------------------------------|-------------|
    | rms slope     | ``relief_slope`` (rough, by default 0.08), or {smooth:g} of it (smooth) | each piece  |
    | L             | 15 to 50 µm, log-uniform                                          | each piece  |
    | friction mu_* | 0.333 to 0.407                                                    | each piece  |
    | distance      | {start_distance} lengths                                          | the episode |

    The animal's own controller sweeps at {slow:g} m/s, which is a base that turns at 210 deg/s, and integrates evidence
    to a bound, as rats do when they discriminate textures with 1 to 6 touches (Zuo and Diamond 2019, Curr. Biol.
    29:1415). Its evidence is the kinetic signature of the last period: log10 of the mean square change of the moment M
    between samples, minus the mean for both roughnesses at this speed. The sum starts {settling_ms:g} ms after the
    start of the piece. At {bound:g} the animal answers "rough", at -{bound:g} "smooth", and after {longest:g} s by the
    sign of the sum. Bounds of 2 and 2.5 have the same return within its error, and one of 3 a lower return.

    By default, actions multiply the speed by 0.66 to 1.52, and add up to 0.45 to the evidence of a period. With
    ``actions="plate"``, they are the speed and the evidence. The task is hard because load and friction change the
    vibration as much as the roughness does, because fast sweeps show the texture better in the transverse force but
    hide it in the moment behind stick and slip, and because time on one piece is lost for the others.

    As in the paper's model, the base is clamped, and the plate moves instead.

    ## Rewards

    The reward of each step is ``r = C - C_before``, the change of the credit in the step:

    * ``C``: 0 at the start of each piece, 1 after a right and -{wrong_cost:g} after a wrong answer. Before the answer,
      the sum of the evidence in units of the bound, positive for the true roughness

    So each right answer counts 1 and each wrong one -{wrong_cost:g}, whatever the evidence. It rewards right answers
    per time, since the episode lasts {duration:g} s; a guess costs 1 on average.
    ``info["answered"]`` is the number of answers, ``info["right"]`` the share of right ones, and
    ``info["decision_time"]`` the mean time (s) on a piece. ``info["is_success"]`` is true if at least {least:g} answers
    have been given and a share of {enough:g} is right.

    ## Starting State

    The whisker is at rest in equilibrium at a random place of the plate. The distance of the plate is drawn from
    {start_distance} lengths, and its speed is {start_speed:g} m/s.
    """

    arguments = {"dt": "time step, s; by default 1e-5, whose vibration is that of smaller steps"}
    options = {"roughness": Option(0.0, 1.0, "1", "0: all pieces are smooth, 1: rough")}
    hidden = {
        "memory_length": Hidden(15e-6, 50e-6, logarithmic=True),
        "reference_friction": Hidden(0.9 * REFERENCE_FRICTION, 1.1 * REFERENCE_FRICTION, paper=REFERENCE_FRICTION),
    }
    pieces = 48
    """Number of pieces of the plate, which then repeat."""
    duration = 1.0
    """Duration of an episode, s."""
    smooth = 0.75
    """Factor of the heights of a smooth piece."""
    slow = 0.1
    """Speed of the animal's own sweep, m/s."""
    bound, longest = 2.5, 0.3
    """Sum of the evidence at which the animal answers, and largest time on a piece, s."""
    settling_ms = 20.0
    """Time at the start of a piece before evidence is integrated, ms."""
    wrong_cost = 3.0
    """Cost of a wrong answer, in right ones."""
    enough, least = 0.9, 5.0
    """Share of right answers that is a success, and the smallest number of answers for it."""
    faster, largest_evidence = math.log(4.0), 1.5
    """Largest change of the logarithm of the speed, and of the evidence of a period, by an action of 1 with an
    ``authority`` of 1."""
    authority = 0.3
    whole_evidence = 1.5
    """Largest evidence of a period with ``actions="plate"``."""
    start_distance = (0.98, 0.99)
    speeds = np.array([0.03, 0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4])
    criteria = np.array(
        [
            [0.632, 0.861, 1.029, 1.237, 1.414, 1.551, 1.694, 1.899],
            [-0.55, -0.337, -0.169, 0.062, 0.265, 0.332, 0.328, 0.426],
            [0.856, 1.026, 1.17, 1.378, 1.57, 1.61, 1.562, 1.636],
            [-0.217, -0.044, 0.109, 0.341, 0.566, 0.64, 0.57, 0.608],
        ]
    )
    """Means of the powers of `take_vibration` of both roughnesses at constant ``speeds`` (m/s)."""
    usual = np.array([-6e-9, -FORCE])
    """Typical means of M (N m) and Fy (N)."""
    memory_fields = {
        **dict.fromkeys(("roughness", "memory_length", "reference_friction"), f"{pieces}f8"),
        **dict.fromkeys(
            ("speed_command", "piece", "periods", "evidence", "added", "right", "time_spent", "credit"), "f8"
        ),
        **{"vibration": "4f8", "vibration_mean": "4f8", "load_mean": "2f8"},
    }
    """Roughness (0 or 1), L (m) and mu_* of the pieces. Speed (m/s) that the plate approaches; number of answered
    pieces, of periods on this piece; sum of the evidence, and that of this period; number of right answers; time (s)
    on answered pieces. Deviations of this period from ``criteria``, their means on this piece, and means of M
    (N m) and Fy (N)."""
    info_fields = {"right": "f8", "answered": "f8", "decision_time": "f8", "is_success": "?"}
    reward_terms = {"answer": "``C - C_before``"}
    observation_fields: Mapping[str, Any] = {
        "moment_samples": None,
        "force_samples": None,
        "speed_command": Field(1, "m/s", 0.2, "commanded speed of the plate, which its speed approaches"),
        "since": Field(1, "s", 0.1, "time on this piece"),
        "evidence": Field(1, "1", 2.5, "sum of the evidence on this piece; the answer is given at the bounds"),
        "vibration": Field(
            4,
            "1",
            0.5,
            "log10 of the mean squares of the first differences of M and Fx, then of the second differences, in the "
            "period, minus the means of both roughnesses at this speed",
        ),
        "vibration_mean": Field(4, "1", 0.2, "means of ``vibration`` on this piece"),
        "load_mean": Field(2, "N m, N", (1e-9, 1e-7), "means of M and Fy on this piece, minus typical values"),
    }

    def __init__(self, relief_slope: float = 0.08, dt: float | None = 1e-5, **arguments: Any) -> None:
        slope = number("relief_slope", relief_slope, above=0, maximum=0.5)
        super().__init__(relief_slope=slope, dt=dt, **arguments)
        self.eased = -float(np.expm1(-1.0 / (EASE * self.control_rate)))
        self.settled = float(round(1e-3 * self.settling_ms * self.control_rate))
        self.last = float(max(round(self.longest * self.control_rate), self.settled + 1))

    def plate_place(self) -> dict[str, Field]:
        return {}

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        late = f"approached with time constants of {1e3 * EASE:g} and {1e3 * LAG:g} ms"
        speed = ActionField(1, *SPEEDS, "m/s", f"speed of the plate along x; {late}")
        largest, added = self.whole_evidence, ""
        if (mode or self.actions) == "residual":
            meaning = f"logarithm of a factor of the animal's own speed of the plate; {late}"
            speed, largest, added = (
                ActionField(1, -self.faster, self.faster, "1", meaning),
                self.largest_evidence,
                ADDED,
            )
        evidence = ActionField(1, -largest, largest, "1", f"evidence of the period for a rough plate{added}")
        return {"plate_speed": speed, "evidence": evidence}

    def conditions(self, episodes):
        memory = episodes.memory
        place = episodes.draw(lambda rng: rng.uniform(0.0, self.animal.relief.period))
        draws = {"roughness": episodes.draw(lambda rng: rng.integers(0, 2, self.pieces))}
        for name, one in self.hidden.items():
            draws[name] = episodes.draw(lambda rng, one=one: [one.draw(rng, self.split) for _ in range(self.pieces)])
        for name, values in draws.items():
            memory[name] = np.reshape(episodes.options.get(name, values), (len(place), -1))
        return {"plate_position": place, **{name: memory[name][:, 0] for name in self.hidden}}

    def begin(self, episodes: EpisodeStart, rows: Rows) -> None:
        super().begin(episodes, rows)
        episodes.memory["speed_command"] = self.start_speed

    def command(self, row, memory, action, drive):
        piece = int(memory.piece) % self.pieces
        row.memory_length, row.reference_friction = memory.memory_length[piece], memory.reference_friction[piece]
        row.relief = self.smooth + (1.0 - self.smooth) * memory.roughness[piece]
        speed, memory.added = self.meaning(action, 0), self.meaning(action, 1)
        if self.actions == "residual":
            memory.added += min(max(memory.vibration[0], -self.whole_evidence), self.whole_evidence)
            speed = min(max(self.slow * math.exp(speed), SPEEDS[0]), SPEEDS[1])
        memory.speed_command += self.eased * (speed - memory.speed_command)
        memory.plate_speed += self.answered * (memory.speed_command - memory.plate_speed)
        super().command(row, memory, action, drive)
        drive[1] = 0.0

    def worth(self, row, memory):
        memory.periods += 1.0
        take_vibration(memory.moment_samples, memory.force_samples, memory.vibration)
        for j in range(4):
            memory.vibration[j] -= interpolated(memory.plate_speed, self.speeds, self.criteria[j])
        before, memory.reward_answer = memory.credit, 0.0
        if memory.periods > self.settled:
            share = 1.0 / (memory.periods - self.settled)
            for j in range(4):
                memory.vibration_mean[j] += share * (memory.vibration[j] - memory.vibration_mean[j])
            for j in range(2):
                load = memory.base_wrench_mean[2 * j] - self.usual[j]
                memory.load_mean[j] += share * (load - memory.load_mean[j])
            memory.evidence += memory.added
            if abs(memory.evidence) >= self.bound or memory.periods >= self.last:
                self.answer(memory)
            else:
                side = 2.0 * memory.roughness[int(memory.piece) % self.pieces] - 1.0
                memory.credit = side * memory.evidence / self.bound
            memory.reward_answer = memory.credit - before
            if memory.periods == 0.0:
                memory.credit = 0.0
        return memory.reward_answer

    def answer(self, memory: Any) -> Any:
        """Answer by the sign of the evidence, and begin the next piece."""
        rough = memory.roughness[int(memory.piece) % self.pieces] > 0.5
        right = rough == (memory.evidence > 0.0)
        memory.credit = 1.0 if right else -self.wrong_cost
        memory.right += right
        memory.time_spent += memory.periods / self.control_rate
        memory.piece += 1.0
        memory.periods = memory.evidence = 0.0
        for j in range(4):
            memory.vibration_mean[j] = 0.0
        for j in range(2):
            memory.load_mean[j] = 0.0

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        observation.since[0] = memory.periods / self.control_rate

    def info(self, row, memory, info):
        super().info(row, memory, info)
        answered = max(memory.piece, 1.0)
        info.right, info.decision_time = memory.right / answered, memory.time_spent / answered
        info.answered = memory.piece
        info.is_success = memory.piece >= self.least and info.right >= self.enough
