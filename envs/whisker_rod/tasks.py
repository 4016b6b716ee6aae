"""Tasks of the whisker on sandpaper: tell textures apart, keep contact, regulate the vibration."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.arguments import number, read_params
from ..core.env.hooks import Record
from ..core.env.spec import ActionField, Ending, Field, Hidden, Score
from ..core.env.task import EpisodeStart, Rows, Task, clipped, measures, tolerance
from ..core.model.quantities import Option
from .animal import WhiskerRod
from .body import BANDS, SAMPLES
from .params import REFERENCE_FRICTION, Relief, WhiskerRodParams, table
from .sensor import SENSOR, follow_moment, level, take_samples

RIGHT, WRONG = 10.0, 11.0
"""Endings: the answer committed was right; it was wrong."""

SPEEDS, DISTANCES = (0.03, 0.4), (0.978, 0.992)
"""Ranges from which the agent chooses the speed of the plate (m/s) and its distance (lengths)."""

SPEED_STEP, DISTANCE_STEP = 0.02, 1e-3
"""Largest changes in a control period, in the same units."""

LENGTHS = (5e-6, 50e-6)
"""Memory lengths of the textures, m: from the finest to the coarsest."""

LAG = 0.01
"""Time constant with which the plate follows commands, s."""

CENTRE = 0.985
"""Middle of the distances, lengths."""


SMOOTH = 60.0, 2.0
"""Frequency (Hz) above which the plate shall not be shaken by more than this rms acceleration (m/s^2). The tip of a
whisker that is whisked at 8 Hz through 20 degrees has 8.8 m/s^2; this is 5% of the power of that."""


class RodTask(Task):
    """Observations and the moving plate, which all tasks of the whisker share.

    ## Starting State

    At rest in equilibrium on the plate, at a random distance within {start_distance} lengths; the speed of the plate
    begins at {start_speed:g} m/s.

    ## Version History

    * v0: first version
    """

    animal: WhiskerRod
    action_modes = ("plate",)
    control_rate = 500.0
    options = {
        "curvature_base": Option(-100.0, 0.0, "rad/m", "intrinsic curvature at the base; negative bends to +x"),
        "curvature_tip": Option(-100.0, 0.0, "rad/m", "intrinsic curvature at the tip"),
        "distance": Option(0.978, 1.0, "lengths", "distance of the plate at the start"),
    }
    arguments = {
        **Task.arguments,
        "scheme": "``midpoint``, or the paper's ``published``",
        "dt": "time step, s; by default 1e-5, for ``published`` 5e-5, with a relief 5e-6",
        "n_segments": "segments of the whisker; by default 30, or what ``params`` says",
        "params": (
            "``WhiskerRodParams``, or a mapping of its fields, which changes those of the task; what is drawn for "
            "every episode is drawn all the same"
        ),
        "relief_slope": "root mean square slope of a coarse sandpaper's relief, at most 0.5; 0 is a flat plate",
        "noise": "factor on the sensor noise",
    }
    _turn = 2 * np.pi * SMOOTH[0]
    physiology = measures(
        "whisker_rod", "RodTask", shaken_speed=1e3 * SMOOTH[1] / _turn, shaken_distance=1e6 * SMOOTH[1] / _turn**2
    )
    remembers = {
        **{"action": "({self.action_size},)f8", "plate_speed": "f8", "noise": "u8", "moment_mean": "f8"},
        **{"base_wrench_mean": "3f8", "moment_samples": f"{SAMPLES}f8", "force_samples": f"({SAMPLES},2)f8"},
        **{"band": f"({len(BANDS)},4)f8", "band_level": f"{len(BANDS)}f8"},
    }
    """Previous action, speed of the plate, seed of the noise, and what is felt: see `feel`."""
    reported = ["time", "plate_speed", "plate_distance"]
    informs = {"base_wrench": "3f8"}
    """Mean of the base wrench over the period, N m, N, N."""
    whisker = WhiskerRodParams(n_segments=30)
    """Parameters of the whisker, unless ``params`` says otherwise."""
    start_speed = 0.1
    """Speed of the plate when an episode begins, m/s."""
    start_distance = (0.98, 0.99)
    """Range of its distance then, lengths."""

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
        """Share of a commanded change that the plate, which lags, has made after a period."""

    def fields(self) -> dict[str, Field]:
        noise = 1e9 * self.noise * SENSOR[0], 1e6 * self.noise * SENSOR[1]
        eighths = "samples: means of the eighths of the period, with noise of"
        wrench = "moment, and force along x and y, of the whisker on its base, means of the samples of the period"
        forces = f"forces on the base, x and y in turn, {eighths} {noise[1]:g} uN"
        bands = " .. ".join(f"{band:g}" for band in (BANDS[0], BANDS[-1]))
        return {
            "base_wrench_mean": Field(3, "N m, N, N", (2e-8, 1e-6, 1e-6), wrench),
            "moment_samples": Field(SAMPLES, "N m", 2e-8, f"moment on the base, {eighths} {noise[0]:g} nN m"),
            "force_samples": Field(2 * SAMPLES, "N", 1e-6, forces),
            "band_level": Field(len(BANDS), "log10 (nN m)^2", 1.0, f"power of the moment's samples about {bands} Hz"),
            "plate_speed": Field(1, "m/s", 0.2, "speed of the plate along x"),
            **self.plate_place(),
            "action": Field(self.action_size, "1", 1.0, "previous action"),
            **super().fields(),
        }

    @abstractmethod
    def plate_place(self) -> dict[str, Field]:
        """Entry of the observation that tells where the plate is."""

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        draws = episodes.draw(lambda rng: rng.uniform(*self.start_distance))
        length = episodes.options.get("length", self.animal.params.length)
        distance = episodes.options.get("distance", draws)
        episodes.memory["plate_speed"] = self.start_speed
        episodes.memory["noise"] = episodes.draw(lambda rng: rng.integers(0, 2**63))
        return {"plate_distance": distance * length, **self.conditions(episodes)}

    @abstractmethod
    def conditions(self, episodes: EpisodeStart) -> dict[str, Any]:
        """Set the task's own memory, and give physical parameters that the task sets, most of them hidden."""

    def begin(self, episodes: EpisodeStart, rows: Rows) -> None:
        episodes.memory["moment_mean"] = rows["base_wrench"][:, 0]
        for row, memory in zip(rows, episodes.memory, strict=True):
            self.feel(Record(row), Record(memory))

    def command(self, row: Any, memory: Any, action: Any, drive: Any) -> None:
        """Let the plate run on along x, and the base rest; a subclass sets the plate's velocity along y, m/s."""
        for k in range(len(action)):
            memory.action[k] = action[k]
        drive[0], drive[2] = memory.plate_speed, 0.0

    def feel(self, row: Any, memory: Any) -> None:
        """Take the period's samples of the base wrench with their noise, and follow the levels of the moment."""
        period, interval = np.rint(row.time * self.control_rate), 1.0 / (SAMPLES * self.control_rate)
        moment, mean, force = memory.moment_samples, memory.base_wrench_mean, memory.force_samples
        take_samples(row.base_wrench_samples, memory.noise, period, self.noise, moment, force, mean)
        memory.moment_mean = follow_moment(moment, interval, memory.moment_mean, memory.band, memory.band_level)

    def reward(self, row: Any, memory: Any) -> Any:
        self.feel(row, memory)
        return self.worth(row, memory)

    @abstractmethod
    def worth(self, row: Any, memory: Any) -> Any:
        """Reward of the period."""

    def info(self, row: Any, memory: Any, info: Any) -> None:
        for k in range(3):
            info.base_wrench[k] = row.base_wrench_mean[k]


class PlateTask(RodTask):
    """A task whose actions are the speed and the distance of the plate."""

    def plate_place(self) -> dict[str, Field]:
        return {"plate_offset": Field(1, "lengths", 0.01, f"distance of the plate, less {CENTRE:g} lengths")}

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        late = f"reached {1e3 * LAG:g} ms late, with changes of at most"
        speed = f"speed of the plate along x; {late} {SPEED_STEP:g} m/s in a period"
        distance = f"distance of the plate; {late} {DISTANCE_STEP:g} lengths in a period"
        return {
            "plate_speed": ActionField(1, *SPEEDS, "m/s", speed),
            "plate_distance": ActionField(1, *DISTANCES, "lengths", distance),
        }

    def command(self, row: Any, memory: Any, action: Any, drive: Any) -> None:
        change = self.answered * (self.meaning(action, 0) - memory.plate_speed)
        memory.plate_speed += min(max(change, -SPEED_STEP), SPEED_STEP)
        super().command(row, memory, action, drive)
        largest = DISTANCE_STEP * row.length
        way = self.answered * (self.meaning(action, 1) * row.length - row.plate_distance)
        drive[1] = min(max(way, -largest), largest) * self.control_rate

    def sense(self, row, memory, observation):
        super().sense(row, memory, observation)
        observation.plate_offset[0] = row.plate_distance / row.length - CENTRE


class Texture(PlateTask):
    """Tell a texture by feel: choose how to sweep, and say, when sure enough, how long its friction remembers.

    ## Description

    Textures differ in the memory length L of the friction (Oladazimi, Putelat et al., 2021, take it for roughness),
    drawn evenly in its logarithm from {finest_um:g} to {coarsest_um:g} um. The friction mu_* varies by 10%, the
    sandpaper's relief has a slope of up to {relief_slope:g} and begins anywhere, and the sensor is noisy. All of
    that is hidden. The action holds an answer all the time, and a commit: when it has been positive for
    {hold_ms:g} ms on end, the answer given then is final, and the episode ends. Slow sweeps tell textures apart; at
    the paper's 0.2 m/s all settle into much the same vibration. ``info["memory_length"]`` is the truth.

    The id is not ranked: an episode holds one answer, right or wrong, so that 256 of them resolve the difference of two
    policies to 13% of the scale, whose 1 is the bound of a right answer after {hold_ms:g} ms. How near to that the best
    estimate from all that is felt comes is not known; for 3%, an episode would have to hold some twenty textures.

    ## Rewards

    1 - t/{patience:g} s for an answer within a factor {near:g} of L at the time t of the end; nothing for another, nor
    for none.

    ## Starting State

    At rest in equilibrium on the plate, at a random distance within {start_distance} lengths and a random place of the
    relief; the speed of the plate begins at {start_speed:g} m/s.
    """

    hidden = {
        "memory_length": Hidden(*LENGTHS, logarithmic=True),
        "reference_friction": Hidden(0.9 * REFERENCE_FRICTION, 1.1 * REFERENCE_FRICTION),
        "relief": Hidden(0.0, 1.0),
    }
    endings = {RIGHT: Ending("the texture was told", success=True), WRONG: Ending("the answer was wrong")}
    score = Score("return", binary=True)
    start_speed = 0.05
    observes = {
        "time": Field(1, "s", 0.1, "time"),
        "committing": Field(1, "s", 0.02, "time for which the commit has been held"),
    }
    remembers = {"answer": "f8", "committing": "f8"}
    reported = [*PlateTask.reported, "answer", "memory_length"]
    informs = {"is_success": "?", "committed": "?"}
    finest_um, coarsest_um = (1e6 * length for length in LENGTHS)
    near = 1.3
    """Factor of L within which an answer is right."""
    hold = 0.02
    """Time for which a commit is held, s."""
    hold_ms = 1e3 * hold
    patience = 1.0
    """Time at which an answer would be worth nothing, s; the episode is shorter."""

    def __init__(self, relief_slope: float = 0.05, **arguments: Any) -> None:
        super().__init__(relief_slope=relief_slope, **arguments)

    def action_fields(self, mode=None):
        meaning = "answer: L of the friction, evenly in its logarithm"
        return super().action_fields(mode) | {
            "memory_length": ActionField(1, *LENGTHS, "m", meaning, "memory_length"),
            "commit": ActionField(1, -1.0, 1.0, "1", f"positive for {1e3 * self.hold:g} ms: the answer is final"),
        }

    def conditions(self, episodes):
        episodes.memory["answer"] = LENGTHS[0]
        place = episodes.draw(lambda rng: rng.uniform(0.0, self.animal.relief.period))
        return {"plate_position": place, **{name: episodes.hidden(name) for name in self.hidden}}

    def command(self, row, memory, action, drive):
        memory.answer = LENGTHS[0] * (LENGTHS[1] / LENGTHS[0]) ** (0.5 * (action[2] + 1.0))
        memory.committing = memory.committing + 1.0 / self.control_rate if action[3] > 0.0 else 0.0
        super().command(row, memory, action, drive)

    def action_from_values(self, values):
        actions = super().action_from_values(values)
        shares = 2.0 * np.log(np.asarray(values)[:, 2] / LENGTHS[0]) / np.log(LENGTHS[1] / LENGTHS[0]) - 1.0
        actions[:, 2] = clipped(shares)  # evenly in the logarithm
        return actions

    def right(self, row: Any, memory: Any) -> Any:
        """Tell whether the answer, committed or not, is right."""
        return abs(math.log(memory.answer / row.memory_length)) <= math.log(self.near)

    def committed(self, memory: Any) -> Any:
        """Tell whether the answer is final."""
        return memory.committing > self.hold - 0.5 / self.control_rate

    def worth(self, row, memory):
        solved = self.committed(memory) and self.right(row, memory) and row.status == 0.0
        return 1.0 - row.time / self.patience if solved else 0.0

    def ending(self, row, memory):
        verdict = RIGHT if self.right(row, memory) else WRONG
        return verdict if self.committed(memory) else 0.0

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.committed = self.committed(memory)
        info.is_success = info.committed and self.right(row, memory)


class Sweep(RodTask):
    """Keep the tip on a surface that moves to and fro, neither lifting off nor laying the whisker over.

    ## Description

    The plate runs at {start_speed:g} m/s, L = 20 um; its distance swings by 0.6 to 1% of the whisker's length at 5 to
    10 Hz, unseen, and fully so from 0.1 s on. The way that the action adds follows it {lag_ms:g} ms late, and the
    sensor is noisy; three observations are stacked, so that the swing can be felt. ``info["held"]`` is the share of
    the episode's {duration:g} s in contact within {window} lengths.

    ## Rewards

    1 in every period in contact with the plate within {window} lengths; less outside (0.1 at {margin:g} lengths), and
    nothing for the part of the period in flight. A change of the distance costs {effort_price:g} in every period in
    which it is the largest, in proportion to its square, so that jerks at the limit do not pay.

    ## Starting State

    At rest in equilibrium on the plate, at a random distance within {start_distance} lengths.
    """

    options = {
        **RodTask.options,
        "amplitude": Option(0.0, 0.01, "lengths", "amplitude of the swing"),
        "frequency": Option(0.0, 10.0, "Hz", "frequency of the swing"),
    }
    hidden = {"amplitude": Hidden(0.006, 0.01), "frequency": Hidden(5.0, 10.0)}
    whisker = replace(RodTask.whisker, memory_length=20e-6)
    start_distance = (0.984, 0.986)

    window = (0.983, 0.987)
    """Distances of the plate that count as held, lengths."""
    margin = 0.002
    remembers = dict.fromkeys(("amplitude", "frequency", "asked_way", "own_way", "periods_held"), "f8")
    reported = [*RodTask.reported, "contact"]
    informs = {"held": "f8"}
    lag_ms = 1e3 * LAG
    largest_change = 3e-3
    """Largest change of the distance in a period, lengths; the swing needs 1.3e-3 at its fastest."""
    effort_price = 0.3
    """Price of a period in which the distance changes as fast as can be commanded; chosen."""
    duration = 1.0
    """Length of an episode, s."""

    def plate_place(self) -> dict[str, Field]:
        return {"own_way": Field(1, "lengths", 0.01, "own share of the plate's way along y since the start")}

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        meaning = f"change of the distance that the plate is to have, on top of the swing, {self.lag_ms:g} ms late"
        return {"distance_change": ActionField(1, -self.largest_change, self.largest_change, "lengths", meaning)}

    def conditions(self, episodes):
        memory, side = episodes.memory, episodes.draw(lambda rng: rng.choice((-1.0, 1.0)))
        # An amplitude that is given as an option keeps its sign.
        memory["amplitude"] = np.where("amplitude" in episodes.options, 1.0, side) * episodes.hidden("amplitude")
        memory["frequency"] = episodes.hidden("frequency")
        return {}

    def command(self, row, memory, action, drive):
        super().command(row, memory, action, drive)
        swing = self.swing(row.time + 1.0 / self.control_rate, memory) - self.swing(row.time, memory)
        memory.asked_way += self.largest_change * action[0]
        own = (memory.asked_way - memory.own_way) * self.answered
        memory.own_way += own
        drive[1] = (swing + own) * row.length * self.control_rate

    def swing(self, time: Any, memory: Any) -> Any:
        """Distance by which the plate has swung at a ``time`` (s), lengths."""
        return memory.amplitude * min(10.0 * time, 1.0) * math.sin(2.0 * math.pi * memory.frequency * time)

    def action_from_values(self, values):
        return clipped(np.asarray(values) / self.largest_change)

    def inside(self, row: Any, margin: float) -> Any:
        """Tell how far the plate is within the window, from 1 to 0; 0.1 at a ``margin`` (lengths) outside."""
        return tolerance(row.plate_distance / row.length, self.window[0], self.window[1], margin)

    def worth(self, row, memory):
        memory.periods_held += self.inside(row, 0.0) * row.contact
        return self.inside(row, self.margin) * row.contact - self.effort_price * memory.action[0] ** 2

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.held = memory.periods_held / (self.duration * self.control_rate)


class Regulate(PlateTask):
    """Hold the power of the second bending mode at levels that change, on a hidden texture.

    ## Description

    Stick-slip feeds the second mode, about 220 Hz, the more the faster the sweep and depending on the
    texture, whose L is drawn from 10 to 50 um. The goal is a level of the moment's power in the band about
    200 Hz; every {span:g} s another is drawn from {goals} log10 (nN m)^2.

    ## Rewards

    1 within {near:g} (an eighth) of the goal, 0.1 at 0.3. ``info["held"]`` is the share of the episode's {duration:g} s
    within {near:g}.
    """

    options = {**RodTask.options, "goal": Option(-3.0, 3.0, "log10 (nN m)^2", "level to be held all the time")}
    hidden = {"memory_length": Hidden(10e-6, 50e-6, logarithmic=True)}
    observes = {"goal": Field(1, "log10 (nN m)^2", 1.0, "level to be held about 200 Hz")}
    remembers = {"goal": "f8", "later": "3f8", "periods_held": "f8"}
    """Level to be held, those that follow, and the number of periods in which one was."""
    reported = [*PlateTask.reported, "goal"]
    informs = {"error": "f8", "held": "f8"}
    band = BANDS.index(200.0)
    goals = (0.5, 2.0)
    """Range from which the goals are drawn."""
    near, margin = 0.05, 0.25
    """Distance from the goal that counts as held, and how much farther a tenth is earned."""
    span = 0.25
    """Time for which a goal stays, s."""
    duration = 1.0
    """Length of an episode, s."""

    def conditions(self, episodes):
        goals = episodes.draw(lambda rng: rng.uniform(*self.goals, 4))
        episodes.memory["goal"] = episodes.options.get("goal", goals[:, 0])
        later = episodes.options.get("goal", goals[:, 1:].T)
        episodes.memory["later"] = np.broadcast_to(later, (3, len(episodes))).T
        return {"memory_length": episodes.hidden("memory_length")}

    def command(self, row, memory, action, drive):
        step, periods = np.rint(row.time * self.control_rate), self.span * self.control_rate
        if step >= periods:
            memory.goal = memory.later[min(int(step // periods) - 1, 2)]
        super().command(row, memory, action, drive)

    def error(self, row: Any, memory: Any) -> Any:
        """Level less the goal, log10 (nN m)^2."""
        return level(row.band_power[self.band]) - memory.goal

    def worth(self, row, memory):
        error = self.error(row, memory)
        memory.periods_held += tolerance(error, -self.near, self.near, 0.0)
        return tolerance(error, -self.near, self.near, self.margin)

    def info(self, row, memory, info):
        super().info(row, memory, info)
        info.error = self.error(row, memory)
        info.held = memory.periods_held / (self.duration * self.control_rate)
