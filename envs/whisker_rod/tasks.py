"""Tasks of the whisker on sandpaper: tell textures apart, keep contact, regulate the vibration."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import number, read_params
from ..core.env.spec import ActionField, Ending, Field, Hidden, Score
from ..core.env.task import EpisodeStart, Rows, Task, clipped, measures, tolerances
from ..core.kernels.noise import normal
from ..core.model.control import Floats
from ..core.model.quantities import Option
from .animal import WhiskerRod
from .body import BANDS, SAMPLES
from .params import REFERENCE_FRICTION, Relief, WhiskerRodParams, table
from .sensor import follow_samples

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

SENSOR = (1e-9, 0.3e-6, 0.3e-6)
"""Standard deviation of the noise on each sample of the base wrench: M (N m), Fx, Fy (N)."""

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
        **{"action": "({self.action_size},)f8", "speed": "f8", "noise": "u8", "moment_mean": "f8"},
        **{"samples": f"({SAMPLES},3)f8", "band": f"({len(BANDS)},4)f8", "band_power": f"{len(BANDS)}f8"},
    }
    """Previous action, speed of the plate, seed of the noise, and what is felt: see `feel`."""
    reported = ["time", "plate_distance"]
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
        episodes.memory["speed"] = self.start_speed
        episodes.memory["noise"] = episodes.draw(lambda rng: rng.integers(0, 2**63))
        return {"plate_distance": distance * length, **self.conditions(episodes)}

    @abstractmethod
    def conditions(self, episodes: EpisodeStart) -> dict[str, Any]:
        """Set the task's own memory, and give physical parameters that the task sets, most of them hidden."""

    def begin(self, episodes: EpisodeStart, rows: Rows) -> None:
        episodes.memory["moment_mean"] = rows["base_wrench"][:, 0]
        self.feel(rows, episodes.memory)

    def answered(self) -> float:
        """Share of a commanded change that the plate, which lags, has made after a period."""
        return -float(np.expm1(-1.0 / (LAG * self.control_rate)))

    def feel(self, rows: Rows, memory: Rows) -> None:
        """Keep the period's ``samples`` of the base wrench with their noise, and the ``band_power`` of the moment."""
        step = np.rint(rows["time"] * self.control_rate)
        noise = normal(memory["noise"], step, 3 * SAMPLES).reshape(-1, SAMPLES, 3)
        memory["samples"] = rows["base_wrench_samples"] + self.noise * np.array(SENSOR) * noise
        interval = 1.0 / (SAMPLES * self.control_rate)
        follow_samples(memory["samples"], memory["moment_mean"], memory["band"], memory["band_power"], interval)

    def reward(self, rows: Rows, memory: Rows) -> Floats:
        self.feel(rows, memory)
        return self.worth(rows, memory)

    @abstractmethod
    def worth(self, rows: Rows, memory: Rows) -> Floats:
        """Reward (B,) of the period."""

    def sense(self, rows: Rows, memory: Rows) -> dict[str, NDArray[Any]]:
        samples = memory["samples"]
        return super().sense(rows, memory) | {
            "base_wrench_mean": samples.sum(1) / SAMPLES,
            "moment_samples": samples[:, :, 0],
            "force_samples": samples[:, :, 1:].reshape(len(rows), -1),
            "band_level": level(memory["band_power"]),
            "plate_speed": memory["speed"],
        }

    def info(self, rows: Rows, memory: Rows) -> dict[str, NDArray[Any]]:
        """Time (s), mean base wrench (N m, N, N), and the plate's speed (m/s) and distance (m)."""
        named = {"base_wrench": rows["base_wrench_mean"].copy(), "plate_speed": memory["speed"].copy()}
        return super().info(rows, memory) | named


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

    def command(self, actions: Floats, rows: Rows, memory: Rows) -> Floats:
        """Velocity of the plate (x, y) in m/s, and of the base, which rests."""
        memory["action"] = actions
        length = rows["length"]
        speed, distance = self.values(actions)[:, :2].T
        share = self.answered()
        memory["speed"] += np.clip(share * (speed - memory["speed"]), -SPEED_STEP, SPEED_STEP)
        way = share * (distance * length - rows["plate_distance"])
        way = np.clip(way, -DISTANCE_STEP * length, DISTANCE_STEP * length)
        return np.stack([memory["speed"], way * self.control_rate, np.zeros(len(rows))], 1)

    def sense(self, rows, memory):
        return super().sense(rows, memory) | {"plate_offset": rows["plate_distance"] / rows["length"] - CENTRE}


def level(power: Floats) -> Floats:
    """Power of the moment, (N m)^2, as log10 of (nN m)^2, at least -6."""
    return np.log10(np.maximum(power, 1e-24)) + 18.0


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

    def command(self, actions, rows, memory):
        memory["answer"] = LENGTHS[0] * (LENGTHS[1] / LENGTHS[0]) ** (0.5 * (actions[:, 2] + 1.0))
        memory["committing"] = np.where(actions[:, 3] > 0.0, memory["committing"] + 1.0 / self.control_rate, 0.0)
        return super().command(actions, rows, memory)

    def action_from_values(self, values):
        actions = super().action_from_values(values)
        shares = 2.0 * np.log(np.asarray(values)[:, 2] / LENGTHS[0]) / np.log(LENGTHS[1] / LENGTHS[0]) - 1.0
        actions[:, 2] = clipped(shares)  # evenly in the logarithm
        return actions

    def _right(self, rows: Rows, memory: Rows) -> NDArray[np.bool_]:
        """Whether the answer, committed or not, is right."""
        return np.abs(np.log(memory["answer"] / rows["memory_length"])) <= np.log(self.near)

    def _committed(self, memory: Rows) -> NDArray[np.bool_]:
        return memory["committing"] > self.hold - 0.5 / self.control_rate

    def worth(self, rows: Rows, memory: Rows) -> Floats:
        solved = self._committed(memory) & self._right(rows, memory) & (rows["status"] == 0.0)
        return np.where(solved, 1.0 - rows["time"] / self.patience, 0.0)

    def ending(self, rows, memory):
        verdict = np.where(self._right(rows, memory), RIGHT, WRONG)
        return np.where(self._committed(memory), verdict, 0.0)

    def info(self, rows, memory):
        committed = self._committed(memory)
        return super().info(rows, memory) | {
            "is_success": committed & self._right(rows, memory),
            "committed": committed,
        }


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
    remembers = dict.fromkeys(("amplitude", "frequency", "asked", "own", "held"), "f8")
    reported = [*RodTask.reported, "contact"]
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

    def command(self, actions, rows, memory):
        memory["action"] = actions
        time = rows["time"]
        swing = self._swing(time + 1.0 / self.control_rate, memory) - self._swing(time, memory)
        memory["asked"] += self.largest_change * actions[:, 0]
        own = (memory["asked"] - memory["own"]) * self.answered()
        memory["own"] += own
        way = (swing + own) * rows["length"] * self.control_rate
        return np.stack([memory["speed"], way, np.zeros(len(rows))], 1)

    def _swing(self, time: Floats, memory: Rows) -> Floats:
        """Distance of the plate (B,) by which it has swung, lengths."""
        return memory["amplitude"] * np.minimum(10.0 * time, 1.0) * np.sin(2.0 * np.pi * memory["frequency"] * time)

    def action_from_values(self, values: Floats) -> NDArray[np.float32]:
        return clipped(np.asarray(values) / self.largest_change)

    def sense(self, rows, memory):
        return super().sense(rows, memory) | {"own_way": memory["own"]}

    def _inside(self, rows: Rows, margin: float) -> Floats:
        return tolerances(rows["plate_distance"] / rows["length"], *self.window, margin)

    def worth(self, rows: Rows, memory: Rows) -> Floats:
        memory["held"] += self._inside(rows, 0.0) * rows["contact"]
        return self._inside(rows, self.margin) * rows["contact"] - self.effort_price * memory["action"][:, 0] ** 2

    def info(self, rows, memory):
        share = memory["held"] / (self.duration * self.control_rate)
        return super().info(rows, memory) | {"held": share}


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
    remembers = {"goal": "f8", "later": "3f8", "held": "f8"}
    """Level to be held, those that follow, and the time for which one was."""
    reported = [*PlateTask.reported, "goal"]
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

    def command(self, actions, rows, memory):
        step, periods = np.rint(rows["time"] * self.control_rate), self.span * self.control_rate
        coming = np.clip(step // periods - 1, 0, 2).astype(np.int64)
        memory["goal"] = np.where(step >= periods, memory["later"][np.arange(len(rows)), coming], memory["goal"])
        return super().command(actions, rows, memory)

    def _error(self, rows: Rows, memory: Rows) -> Floats:
        return level(rows["band_power"][:, self.band]) - memory["goal"]

    def worth(self, rows: Rows, memory: Rows) -> Floats:
        error = self._error(rows, memory)
        memory["held"] += tolerances(error, -self.near, self.near, 0.0)
        return tolerances(error, -self.near, self.near, self.margin)

    def info(self, rows, memory):
        return super().info(rows, memory) | {
            "error": self._error(rows, memory),
            "held": memory["held"] / (self.duration * self.control_rate),
        }
