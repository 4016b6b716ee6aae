"""Tasks of the whisker on sandpaper: tell textures apart, keep contact, regulate the vibration."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import number
from ..core.spec import ActionField, Ending, Field, Option, Score
from ..core.task import EpisodeStart, Task, tolerance
from .animal import WhiskerRod
from .body import BANDS, SAMPLES
from .params import Relief, WhiskerRodParams, table

RIGHT, WRONG = 10.0, 11.0
"""Endings: the right texture was named; a wrong one was."""

SPEEDS, DISTANCES = (0.03, 0.4), (0.978, 0.992)
"""What the agent may choose: speed of the plate in m/s, its distance in lengths."""

SPEED_STEP, DISTANCE_STEP = 0.02, 1e-3
"""Largest changes in a control period, in the same units."""

TEXTURES = (5e-6, 10e-6, 20e-6, 50e-6)
"""Memory lengths of the four textures, m."""

CENTRE = 0.985
"""Middle of the distances, lengths."""


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
    options: Mapping[str, Option] = {
        "curvature_base": Option(-100.0, 0.0, "rad/m", "intrinsic curvature at the base; negative bends to +x"),
        "curvature_tip": Option(-100.0, 0.0, "rad/m", "intrinsic curvature at the tip"),
        "distance": Option(0.978, 1.0, "lengths", "distance of the plate at the start"),
    }
    arguments: Mapping[str, str] = {
        **Task.arguments,
        "scheme": "``midpoint``, or the paper's ``published``",
        "dt": "time step, s; by default 1e-5, for ``published`` 5e-5, with a relief 5e-6",
        "n_segments": "segments of the whisker",
        "relief_slope": "root mean square slope of a coarse sandpaper's relief, at most 0.5; 0 is a flat plate",
    }
    start_speed = 0.1
    """Of the plate when an episode begins, m/s."""
    start_distance = (0.98, 0.99)
    """Of the plate when an episode begins, lengths."""

    def __init__(
        self,
        actions: str | None = None,
        scheme: str = "midpoint",
        dt: float | None = None,
        control_rate: float | None = None,
        n_segments: int = 30,
        relief_slope: float = 0.0,
    ) -> None:
        super().__init__(actions, control_rate)
        number("relief_slope", relief_slope, least=0, most=0.5)
        relief = Relief.random(table()["coarse_grain"], relief_slope) if relief_slope else None
        self.animal = WhiskerRod(WhiskerRodParams(n_segments=n_segments), dt, scheme, relief)

    def fields(self) -> dict[str, Field]:
        """Wrench on the base, its vibration, the plate, the previous action."""
        eighths = "means of the eighths of the period"
        bands = " .. ".join(f"{band:g}" for band in (BANDS[0], BANDS[-1]))
        return {
            "base_wrench_mean": Field(
                3,
                "N m, N, N",
                (2e-8, 1e-6, 1e-6),
                "moment, and force along x and y, of the whisker on its base, means of the period",
            ),
            "moment_samples": Field(SAMPLES, "N m", 2e-8, f"moment on the base, {eighths}"),
            "force_samples": Field(2 * SAMPLES, "N", 1e-6, f"forces on the base, {eighths}, x and y in turn"),
            "band_level": Field(len(BANDS), "log10 (nN m)^2", 1.0, f"power of the moment about {bands} Hz"),
            "plate_speed": Field(1, "m/s", 0.2, "speed of the plate along x"),
            **self.plate_place(),
            "action": Field(self.action_size, "1", 1.0, "previous action"),
        }

    @abstractmethod
    def plate_place(self) -> dict[str, Field]:
        """Entry of the observation that tells where the plate is."""

    def memory_fields(self) -> list[tuple[Any, ...]]:
        """Previous action, and the speed of the plate."""
        return [("action", "f8", (self.action_size,)), ("speed", "f8")]

    def start(self, episodes: EpisodeStart) -> dict[str, Any]:
        """In equilibrium on the plate, at a random distance of it."""
        draws = episodes.draw(lambda rng: rng.uniform(0.0, 1.0, 4))
        length = episodes.options.get("length", self.animal.params.length)
        low, high = self.start_distance
        distance = episodes.options.get("distance", low + (high - low) * draws[:, 0])
        episodes.memory["speed"] = self.start_speed
        return {"plate_distance": distance * length, **self.conditions(episodes, draws[:, 1:])}

    @abstractmethod
    def conditions(self, episodes: EpisodeStart, draws: NDArray[np.float64]) -> dict[str, Any]:
        """Physical parameters that the task hides, from ``draws`` (A, 3) in [0, 1); sets its own memory too."""

    def sense(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Wrench on the base, its vibration, speed of the plate, previous action."""
        samples = rows["base_wrench_samples"]
        return {
            "base_wrench_mean": rows["base_wrench_mean"],
            "moment_samples": samples[:, :, 0],
            "force_samples": samples[:, :, 1:].reshape(len(rows), -1),
            "band_level": level(rows["band_power"]),
            "plate_speed": memory["speed"],
            "action": memory["action"],
        }

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time (s), mean base wrench (N m, N, N), and the plate's speed (m/s) and distance (m)."""
        return {
            "time": rows["time"].copy(),
            "base_wrench": rows["base_wrench_mean"].copy(),
            "plate_speed": memory["speed"].copy(),
            "plate_distance": rows["plate_distance"].copy(),
        }


class PlateTask(RodTask):
    """A task whose actions are the speed and the distance of the plate."""

    def plate_place(self) -> dict[str, Field]:
        return {"plate_offset": Field(1, "lengths", 0.01, f"distance of the plate, less {CENTRE:g} lengths")}

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        """Speed and distance of the plate."""
        change = f"changes by at most {SPEED_STEP:g} m/s in a period"
        way = f"changes by at most {DISTANCE_STEP:g} lengths in a period"
        return {
            "plate_speed": ActionField(1, *SPEEDS, "m/s", f"speed of the plate along x; {change}"),
            "plate_distance": ActionField(1, *DISTANCES, "lengths", f"distance of the plate; {way}"),
        }

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Velocity of the plate (x, y) in m/s, and of the base, which rests."""
        memory["action"] = actions
        length = rows["length"]
        speed, distance = _value(actions[:, 0], SPEEDS), _value(actions[:, 1], DISTANCES)
        memory["speed"] += np.clip(speed - memory["speed"], -SPEED_STEP, SPEED_STEP)
        way = np.clip(distance * length - rows["plate_distance"], -DISTANCE_STEP * length, DISTANCE_STEP * length)
        return np.stack([memory["speed"], way * self.control_rate, np.zeros(len(rows))], 1)

    def action_from_values(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action for a speed in m/s, a distance in lengths, and all else as it is."""
        actions = np.array(values, float)
        actions[:, 0] = _share(actions[:, 0], SPEEDS)
        actions[:, 1] = _share(actions[:, 1], DISTANCES)
        return np.clip(actions, -1.0, 1.0).astype(np.float32)

    def sense(self, rows, memory):
        return super().sense(rows, memory) | {"plate_offset": rows["plate_distance"] / rows["length"] - CENTRE}


def _value(share: NDArray[np.float64], bounds: tuple[float, float]) -> NDArray[np.float64]:
    """What an action in [-1, 1] means between ``bounds``."""
    low, high = bounds
    return low + 0.5 * (share + 1.0) * (high - low)


def _share(value: NDArray[np.float64], bounds: tuple[float, float]) -> NDArray[np.float64]:
    """Action in [-1, 1] that means ``value``."""
    low, high = bounds
    return 2.0 * (value - low) / (high - low) - 1.0


def level(power: NDArray[np.float64]) -> NDArray[np.float64]:
    """Power of the moment, (N m)^2, as log10 of (nN m)^2, at least -6."""
    return np.log10(np.maximum(power, 1e-24)) + 18.0


class Texture(PlateTask):
    """Tell four textures apart by feel: choose how to sweep, stop, and name one.

    ## Description

    The textures differ in the memory length L of the friction ({textures_um} um; Oladazimi, Putelat et al.,
    2021, take it for roughness), the friction mu_* varies by 10% on top; both are hidden. An episode ends when the
    agent stops, which it can after {least:g} s, and names the texture with the highest score. Slow sweeps tell
    textures apart; at the paper's 0.2 m/s all settle into much the same vibration.

    ## Rewards

    1 for the right texture, -1 for a wrong one; -{price:g} for every period.
    """

    options: Mapping[str, Option] = {
        **RodTask.options,
        "texture": Option(0.0, len(TEXTURES) - 1.0, "1", "number of the texture, from 0, in the order of its L"),
    }
    endings: Mapping[float, Ending] = {
        RIGHT: Ending("the right texture was named", success=True),
        WRONG: Ending("the wrong texture was named"),
    }
    score = Score("is_success")
    start_speed = 0.05

    least = 0.1
    """Time before which nothing is named, s: the whisker has yet to settle."""
    price = 0.002
    """Of a period."""
    textures_um = ", ".join(f"{1e6 * length:g}" for length in TEXTURES)

    def fields(self):
        return super().fields() | {"time": Field(1, "s", 0.1, "time")}

    def action_fields(self, mode=None):
        return super().action_fields(mode) | {
            "stop": ActionField(1, -1.0, 1.0, "1", "stop and name a texture, if positive"),
            "scores": ActionField(len(TEXTURES), -1.0, 1.0, "1", "score of each texture; the highest is named"),
        }

    def memory_fields(self):
        return [*super().memory_fields(), ("texture", "f8"), ("named", "f8")]

    def conditions(self, episodes, draws):
        memory = episodes.memory
        memory["texture"] = np.rint(episodes.options.get("texture", np.floor(draws[:, 0] * len(TEXTURES))))
        memory["named"] = -1.0
        return {
            "memory_length": np.array(TEXTURES)[memory["texture"].astype(int)],
            "reference_friction": self.animal.params.reference_friction * (0.9 + 0.2 * draws[:, 1]),
        }

    def command(self, actions, rows, memory):
        stop = (actions[:, 2] > 0.0) & (rows["time"] > self.least - 0.5 / self.control_rate)
        memory["named"] = np.where(stop, np.argmax(actions[:, 3:], 1), -1.0)
        return super().command(actions, rows, memory)

    def sense(self, rows, memory):
        return super().sense(rows, memory) | {"time": rows["time"]}

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """1 for the right texture, -1 for a wrong one, and a small price of time."""
        verdict = np.where(memory["named"] == memory["texture"], 1.0, -1.0)
        return np.where(memory["named"] >= 0.0, verdict, 0.0) - self.price

    def ending(self, rows, memory):
        verdict = np.where(memory["named"] == memory["texture"], RIGHT, WRONG)
        return np.where(memory["named"] >= 0.0, verdict, 0.0)

    def info(self, rows, memory):
        right = memory["named"] == memory["texture"]
        return super().info(rows, memory) | {"is_success": right, "texture": memory["texture"].copy()}


class Sweep(RodTask):
    """Keep the tip on a surface that moves to and fro, neither lifting off nor laying the whisker over.

    ## Description

    The plate runs at {start_speed:g} m/s, L = 20 um; its distance swings by 0.3 to 0.6% of the whisker's length at 1
    to 6 Hz, unseen, and fully so from 0.1 s on.

    ## Rewards

    1 in every period in contact with the plate within 0.978 and 0.993 lengths; less outside (0.1 at 0.004
    lengths), less 1 for the part of the period in flight. ``info["held"]`` is the share of the time in contact
    within these distances.

    ## Starting State

    At rest in equilibrium on the plate, at a random distance within {start_distance} lengths: about the paper's
    distance, near the limit of what is possible.
    """

    options: Mapping[str, Option] = {
        **RodTask.options,
        "amplitude": Option(0.0, 0.01, "lengths", "amplitude of the swing"),
        "frequency": Option(0.0, 10.0, "Hz", "frequency of the swing"),
    }
    start_distance = (0.979, 0.981)

    window = (0.978, 0.993)
    """Distances of the plate that count as held, lengths."""

    def plate_place(self) -> dict[str, Field]:
        return {"own_way": Field(1, "lengths", 0.01, "own share of the plate's way along y since the start")}

    def action_fields(self, mode: str | None = None) -> dict[str, ActionField]:
        """Change of the distance."""
        meaning = "change of the plate's distance in this period, on top of the swing"
        return {"distance_change": ActionField(1, -DISTANCE_STEP, DISTANCE_STEP, "lengths", meaning)}

    def memory_fields(self):
        return [*super().memory_fields(), ("amplitude", "f8"), ("frequency", "f8"), ("own", "f8"), ("held", "f8")]

    def conditions(self, episodes, draws):
        swing = np.where(draws[:, 2] < 0.5, -1.0, 1.0) * (0.003 + 0.003 * draws[:, 0])
        episodes.memory["amplitude"] = episodes.options.get("amplitude", swing)
        episodes.memory["frequency"] = episodes.options.get("frequency", 1.0 + 5.0 * draws[:, 1])
        return {"memory_length": 20e-6}

    def command(self, actions, rows, memory):
        memory["action"] = actions
        time = rows["time"]
        swing = self._swing(time + 1.0 / self.control_rate, memory) - self._swing(time, memory)
        own = DISTANCE_STEP * actions[:, 0]
        memory["own"] += own
        way = (swing + own) * rows["length"] * self.control_rate
        return np.stack([memory["speed"], way, np.zeros(len(rows))], 1)

    def _swing(self, time: NDArray[np.float64], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Distance of the plate (B,) by which it has swung, lengths."""
        return memory["amplitude"] * np.minimum(10.0 * time, 1.0) * np.sin(2.0 * np.pi * memory["frequency"] * time)

    def action_from_values(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action for a change of the distance in a period, ``values`` (B, 1) in lengths."""
        return np.clip(np.asarray(values) / DISTANCE_STEP, -1.0, 1.0).astype(np.float32)

    def sense(self, rows, memory):
        return super().sense(rows, memory) | {"own_way": memory["own"]}

    def _inside(self, rows: NDArray[Any], margin: float) -> NDArray[np.float64]:
        return tolerance(rows["plate_distance"] / rows["length"], *self.window, margin)

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """1 in contact within the window, less outside it; -1 in flight."""
        memory["held"] += self._inside(rows, 0.0) * rows["contact"]
        return (1.0 + self._inside(rows, 0.004)) * rows["contact"] - 1.0

    def info(self, rows, memory):
        periods = np.maximum(np.rint(rows["time"] * self.control_rate), 1.0)
        return super().info(rows, memory) | {"contact": rows["contact"].copy(), "held": memory["held"] / periods}


class Regulate(PlateTask):
    """Hold the power of the second bending mode at a given level, on a hidden texture.

    ## Description

    Stick-slip feeds the second mode, about 220 Hz, the more the faster the sweep and depending on the
    texture, whose L is drawn from 10 to 50 um. The goal is a level of the moment's power in the band about
    200 Hz, drawn from {goals} log10 (nN m)^2.

    ## Rewards

    1 within 0.1 (a quarter) of the goal, 0.1 at 0.6.
    """

    options: Mapping[str, Option] = {
        **RodTask.options,
        "goal": Option(-3.0, 3.0, "log10 (nN m)^2", "level to be held"),
    }

    band = BANDS.index(200.0)
    goals = (0.5, 2.0)
    """From which the goal is drawn."""

    def fields(self):
        return super().fields() | {"goal": Field(1, "log10 (nN m)^2", 1.0, "level to be held about 200 Hz")}

    def memory_fields(self):
        return [*super().memory_fields(), ("goal", "f8")]

    def conditions(self, episodes, draws):
        goal = self.goals[0] + (self.goals[1] - self.goals[0]) * draws[:, 0]
        episodes.memory["goal"] = episodes.options.get("goal", goal)
        return {"memory_length": 10e-6 * 5.0 ** draws[:, 1]}

    def sense(self, rows, memory):
        return super().sense(rows, memory) | {"goal": memory["goal"]}

    def _error(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        return level(rows["band_power"][:, self.band]) - memory["goal"]

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """1 within 0.1 of the goal, 0.1 at 0.6."""
        return tolerance(self._error(rows, memory), -0.1, 0.1, 0.5)

    def info(self, rows, memory):
        return super().info(rows, memory) | {"error": self._error(rows, memory), "goal": memory["goal"].copy()}
