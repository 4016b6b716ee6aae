"""Tasks of the whisker on sandpaper: tell textures apart, keep contact, regulate the vibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import choice, number
from ..core.task import Field, Layout, Option, Score, Task, tolerance
from .animal import WhiskerRod
from .body import BANDS, SAMPLES
from .params import Relief, WhiskerRodParams, table

RIGHT, WRONG = 10.0, 11.0
"""Endings: the texture was told; another one was."""

SPEEDS, DISTANCES = (0.03, 0.4), (0.978, 0.992)
"""What the agent may choose: speed of the plate in m/s, its distance in lengths."""

SPEED_STEP, DISTANCE_STEP = 0.02, 1e-3
"""Largest changes in a control period, in the same units."""

TEXTURES = (5e-6, 10e-6, 20e-6, 50e-6)
"""Memory lengths of the four textures, m."""

CENTRE = 0.985
"""Middle of the distances, lengths."""


class _RodTask(Task):
    """Observations and the moving plate, which all tasks of the whisker share."""

    animal: WhiskerRod
    levels = ("plate",)
    rate = 500.0
    action_size = 2
    fields: Mapping[str, Field] = {}
    records: tuple[tuple[Any, ...], ...] = ()
    options: Mapping[str, Option] = {
        "curvature_base": Option(-100.0, 0.0, "rad/m"),
        "curvature_tip": Option(-100.0, 0.0, "rad/m"),
        "distance": Option(0.978, 1.0, "lengths"),
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
        rate: float | None = None,
        n_segments: int = 30,
        relief_slope: float = 0.0,
        threads: int = 1,
    ) -> None:
        super().__init__(actions, rate)
        choice("scheme", scheme, ("midpoint",))
        number("relief_slope", relief_slope, least=0, most=0.5)
        relief = Relief.random(table()["coarse_grain"], relief_slope) if relief_slope else None
        self.animal = WhiskerRod(WhiskerRodParams(n_segments=n_segments), dt, relief, threads)
        self.layout = Layout(
            {
                "moment": Field(1, "N m", 2e-8),
                "force": Field(2, "N", 1e-6),
                "moment_samples": Field(SAMPLES, "N m", 2e-8),
                "force_samples": Field(2 * SAMPLES, "N", 1e-6),
                "band_level": Field(len(BANDS), "log10 (nN m)^2", 1.0),
                "speed": Field(1, "m/s", 0.2),
                "distance": Field(1, "lengths from 0.985", 0.01),
                "action": Field(self.action_size, "1", 1.0),
                **self.fields,
            }
        )
        self.memory = np.dtype([("action", "f8", (self.action_size,)), ("speed", "f8"), *self.records])

    def reset(
        self,
        rows: NDArray[Any],
        memory: NDArray[Any],
        ids: NDArray[np.int64],
        rngs: Sequence[np.random.Generator],
        options: Mapping[str, NDArray[np.float64]],
    ) -> None:
        """Start in equilibrium on the plate, at a random distance of it."""
        draws = np.array([rng.uniform(0.0, 1.0, 4) for rng in rngs])
        physical = self.physical(options)
        length = physical.get("length", self.animal.params.length)
        low, high = self.start_distance
        distance = options.get("distance", low + (high - low) * draws[:, 0])
        fresh = np.zeros(len(ids), self.memory)
        fresh["speed"] = self.start_speed
        hidden = self.begin(fresh, draws[:, 1:], options)
        self.animal.reset(rows, ids, {"plate_distance": distance * length, **hidden, **physical})
        memory[ids] = fresh

    def begin(
        self, memory: NDArray[Any], draws: NDArray[np.float64], options: Mapping[str, NDArray[np.float64]]
    ) -> dict[str, Any]:
        """Set the task's own ``records`` from ``draws`` (A, 3) in [0, 1); give the physical parameters it hides."""
        return {}

    def move(
        self, rows: NDArray[Any], memory: NDArray[Any], speed: NDArray[np.float64], distance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Drive (B, 3) that takes the plate towards a speed (B,) in m/s and a distance (B,) in lengths."""
        length = rows["length"]
        change = np.clip(speed - memory["speed"], -SPEED_STEP, SPEED_STEP)
        memory["speed"] += change
        way = np.clip(distance * length - rows["plate_distance"], -DISTANCE_STEP * length, DISTANCE_STEP * length)
        return np.stack([memory["speed"], way * self.rate, np.zeros(len(rows))], 1)

    def command(self, actions: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Motion of the plate from the first two actions."""
        memory["action"] = actions
        return self.move(rows, memory, _spread(actions[:, 0], SPEEDS), _spread(actions[:, 1], DISTANCES))

    def encode(self, drive: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action for a speed in m/s and a distance in lengths, ``drive`` (B, 2); further columns are kept."""
        actions = np.array(drive, float)
        actions[:, 0] = _share(actions[:, 0], SPEEDS)
        actions[:, 1] = _share(actions[:, 1], DISTANCES)
        return np.clip(actions, -1.0, 1.0).astype(np.float32)

    def observe(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float32]:
        """Wrench at the base, its vibration, the plate, the previous action, and the task's own fields."""
        mean, samples = rows["base_wrench_mean"], rows["base_wrench_samples"]
        return self.layout.encode(
            {
                "moment": mean[:, 0],
                "force": mean[:, 1:],
                "moment_samples": samples[:, :, 0],
                "force_samples": samples[:, :, 1:].reshape(len(rows), -1),
                "band_level": level(rows["band_power"]),
                "speed": memory["speed"],
                "distance": rows["plate_distance"] / rows["length"] - CENTRE,
                "action": memory["action"],
                **self.goal(rows, memory),
            }
        )

    def goal(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Values of the task's own ``fields``."""
        return {}

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time (s), mean base wrench (N m, N, N), and the plate's speed (m/s) and distance (m)."""
        return {
            "time": rows["time"].copy(),
            "base_wrench": rows["base_wrench_mean"].copy(),
            "plate_speed": memory["speed"].copy(),
            "plate_distance": rows["plate_distance"].copy(),
        }


def _spread(action: NDArray[np.float64], bounds: tuple[float, float]) -> NDArray[np.float64]:
    low, high = bounds
    return low + 0.5 * (action + 1.0) * (high - low)


def _share(value: NDArray[np.float64], bounds: tuple[float, float]) -> NDArray[np.float64]:
    low, high = bounds
    return 2.0 * (value - low) / (high - low) - 1.0


def level(power: NDArray[np.float64]) -> NDArray[np.float64]:
    """Power of the moment, (N m)^2, as log10 of (nN m)^2, at least -6."""
    return np.log10(np.maximum(power, 1e-24)) + 18.0


class Texture(_RodTask):
    """Tell four textures apart by feel: choose how to sweep, stop, and say which it is.

    ## Description

    The textures differ in the memory length L of the friction (5, 10, 20, 50 um; Oladazimi, Putelat et al.,
    2021, take it for roughness), the friction mu_* varies by 10% on top. 500 Hz, 0.5 s. Slow sweeps tell
    textures apart; at the paper's 0.2 m/s all settle into much the same vibration.

    ## Action Space

    ``Box(-1, 1, (7,))``, ``actions="plate"``: speed of the plate (0.03 .. 0.4 m/s), its distance
    (0.978 .. 0.992 lengths), stop if positive and after 0.1 s, and a score of each texture, of which the
    highest is then named. Speed changes by at most 0.02 m/s, distance by 0.001 lengths in a period.

    ## Observation Space

    ``Box(-10, 10, (45,))``:

    | entries  | value                                                     | unit           | divided by |
    |----------|-----------------------------------------------------------|----------------|------------|
    | 0        | moment on the base, mean of the period                    | N m            | 2e-8       |
    | 1 .. 2   | force on the base along x and y, mean                     | N              | 1e-6       |
    | 3 .. 10  | moment, means of the eighths of the period                | N m            | 2e-8       |
    | 11 .. 26 | forces, likewise, x and y in turn                         | N              | 1e-6       |
    | 27 .. 34 | power of the moment about 60 .. 1000 Hz                   | log10 (nN m)^2 | 1          |
    | 35       | speed of the plate                                        | m/s            | 0.2        |
    | 36       | distance of the plate from 0.985 lengths                  | lengths        | 0.01       |
    | 37 .. 43 | previous action                                           | 1              | 1          |
    | 44       | time                                                      | s              | 0.1        |

    ## Rewards

    1 for the right texture, -1 for a wrong one; -0.002 for every period.

    ## Starting State

    At rest on the plate at 0.98 .. 0.99 lengths, which moves at 0.05 m/s.

    ## Episode End

    Success (``info["is_success"]``): the right texture is named. Failure: a wrong one is, the whisker no
    longer touches with its tip alone, or the state is not finite. Truncated after 250 steps.

    ## Arguments

    ``actions``: ``plate``; ``scheme``: ``midpoint``; ``dt``: time step, s; ``rate``: control rate, Hz;
    ``n_segments``; ``relief_slope``: rms slope of a coarse sandpaper's relief (0). Reset options:
    ``texture`` (0 .. 3), ``distance`` (lengths), and the physical parameters of ``WhiskerRodParams``.

    ## Version History

    * v0: first version
    """

    action_size = 2 + 1 + len(TEXTURES)
    endings: Mapping[float, str] = {WRONG: "the wrong texture was named"}
    options: Mapping[str, Option] = {**_RodTask.options, "texture": Option(0.0, len(TEXTURES) - 1.0, "1")}
    fields: Mapping[str, Field] = {"time": Field(1, "s", 0.1)}
    records = (("texture", "f8"), ("named", "f8"))
    score = Score("is_success")
    start_speed = 0.05
    least = 0.1
    """Time before which nothing is named, s: the whisker has yet to settle."""

    def begin(self, memory, draws, options):
        memory["texture"] = np.rint(options.get("texture", np.floor(draws[:, 0] * len(TEXTURES))))
        memory["named"] = -1.0
        return {
            "memory_length": np.array(TEXTURES)[memory["texture"].astype(int)],
            "reference_friction": self.animal.params.reference_friction * (0.9 + 0.2 * draws[:, 1]),
        }

    def command(self, actions, rows, memory):
        stop = (actions[:, 2] > 0.0) & (rows["time"] > self.least - 0.5 / self.rate)
        memory["named"] = np.where(stop, np.argmax(actions[:, 3:], 1), -1.0)
        return super().command(actions, rows, memory)

    def goal(self, rows, memory):
        return {"time": rows["time"]}

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """1 for the right texture, -1 for a wrong one, and a small price of time."""
        verdict = np.where(memory["named"] == memory["texture"], 1.0, -1.0)
        return np.where(memory["named"] >= 0.0, verdict, 0.0) - 0.002

    def terminated(self, rows, memory):
        verdict = np.where(memory["named"] == memory["texture"], RIGHT, WRONG)
        return np.where(memory["named"] >= 0.0, verdict, 0.0)

    def info(self, rows, memory):
        right = memory["named"] == memory["texture"]
        return super().info(rows, memory) | {"is_success": right, "texture": memory["texture"].copy()}


class Sweep(_RodTask):
    """Keep the tip on a surface that moves to and fro, neither lifting off nor laying the whisker over.

    ## Description

    The plate runs at 0.1 m/s, L = 20 um; its distance swings by 0.3 to 0.6% of the whisker's length at 1 to
    6 Hz, unseen, and fully so from 0.1 s on. 500 Hz, 1 s.

    ## Action Space

    ``Box(-1, 1, (1,))``, ``actions="plate"``: change of the plate's distance in this period, in units of
    0.001 lengths, on top of the swing.

    ## Observation Space

    ``Box(-10, 10, (38,))``:

    | entries  | value                                                     | unit           | divided by |
    |----------|-----------------------------------------------------------|----------------|------------|
    | 0        | moment on the base, mean of the period                    | N m            | 2e-8       |
    | 1 .. 2   | force on the base along x and y, mean                     | N              | 1e-6       |
    | 3 .. 10  | moment, means of the eighths of the period                | N m            | 2e-8       |
    | 11 .. 26 | forces, likewise, x and y in turn                         | N              | 1e-6       |
    | 27 .. 34 | power of the moment about 60 .. 1000 Hz                   | log10 (nN m)^2 | 1          |
    | 35       | speed of the plate                                        | m/s            | 0.2        |
    | 36       | own share of the plate's way since the start              | lengths        | 0.01       |
    | 37       | previous action                                           | 1              | 1          |

    ## Rewards

    1 in every period in contact with the plate within 0.978 and 0.993 lengths; less outside (0.1 at 0.004
    lengths), less 1 for the part of the period in flight.

    ## Starting State

    At rest on the plate at 0.979 .. 0.981 lengths: the paper's distance, near the limit of what is possible.

    ## Episode End

    Failure: the whisker no longer touches with its tip alone, or the state is not finite. Truncated after
    500 steps.

    ## Arguments

    ``actions``: ``plate``; ``scheme``: ``midpoint``; ``dt``: time step, s; ``rate``: control rate, Hz;
    ``n_segments``; ``relief_slope``: rms slope of a coarse sandpaper's relief (0). Reset options:
    ``amplitude`` (lengths) and ``frequency`` (Hz) of the swing, ``distance`` (lengths), and the physical
    parameters of ``WhiskerRodParams``.

    ## Version History

    * v0: first version
    """

    action_size = 1
    options: Mapping[str, Option] = {
        **_RodTask.options,
        "amplitude": Option(0.0, 0.01, "lengths"),
        "frequency": Option(0.0, 10.0, "Hz"),
    }
    records = (("amplitude", "f8"), ("frequency", "f8"), ("own", "f8"), ("held", "f8"))
    start_distance = (0.979, 0.981)

    window = (0.978, 0.993)
    """Distances of the plate that count as held, lengths."""

    def begin(self, memory, draws, options):
        swing = np.where(draws[:, 2] < 0.5, -1.0, 1.0) * (0.003 + 0.003 * draws[:, 0])
        memory["amplitude"] = options.get("amplitude", swing)
        memory["frequency"] = options.get("frequency", 1.0 + 5.0 * draws[:, 1])
        return {"memory_length": 20e-6}

    def command(self, actions, rows, memory):
        memory["action"] = actions
        swing = self._swing(rows["time"] + 1.0 / self.rate, memory) - self._swing(rows["time"], memory)
        own = DISTANCE_STEP * actions[:, 0]
        memory["own"] += own
        way = (swing + own) * rows["length"] * self.rate
        return np.stack([memory["speed"], way, np.zeros(len(rows))], 1)

    def _swing(self, time: NDArray[np.float64], memory: NDArray[Any]) -> NDArray[np.float64]:
        return memory["amplitude"] * np.minimum(10.0 * time, 1.0) * np.sin(2.0 * np.pi * memory["frequency"] * time)

    def encode(self, drive: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action for a change of the distance in a period, ``drive`` (B, 1) in lengths."""
        return np.clip(np.asarray(drive) / DISTANCE_STEP, -1.0, 1.0).astype(np.float32)

    def goal(self, rows, memory):
        return {"distance": memory["own"]}

    def _inside(self, rows: NDArray[Any], margin: float) -> NDArray[np.float64]:
        return tolerance(rows["plate_distance"] / rows["length"], *self.window, margin)

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """1 in contact within the window, less outside it; -1 in flight."""
        memory["held"] += self._inside(rows, 0.0) * rows["contact"]
        return (1.0 + self._inside(rows, 0.004)) * rows["contact"] - 1.0

    def info(self, rows, memory):
        periods = np.maximum(np.rint(rows["time"] * self.rate), 1.0)
        return super().info(rows, memory) | {"contact": rows["contact"].copy(), "held": memory["held"] / periods}


class Regulate(_RodTask):
    """Hold the power of the second bending mode at a given level, on a texture that is not told.

    ## Description

    Stick-slip feeds the second mode, about 220 Hz, the more the faster the sweep and depending on the
    texture, whose L is drawn from 10 to 50 um. The goal is a level of the moment's power in the band about
    200 Hz. 500 Hz, 1 s.

    ## Action Space

    ``Box(-1, 1, (2,))``, ``actions="plate"``: speed of the plate (0.03 .. 0.4 m/s) and its distance
    (0.978 .. 0.992 lengths). Speed changes by at most 0.02 m/s, distance by 0.001 lengths in a period.

    ## Observation Space

    ``Box(-10, 10, (40,))``:

    | entries  | value                                                     | unit           | divided by |
    |----------|-----------------------------------------------------------|----------------|------------|
    | 0        | moment on the base, mean of the period                    | N m            | 2e-8       |
    | 1 .. 2   | force on the base along x and y, mean                     | N              | 1e-6       |
    | 3 .. 10  | moment, means of the eighths of the period                | N m            | 2e-8       |
    | 11 .. 26 | forces, likewise, x and y in turn                         | N              | 1e-6       |
    | 27 .. 34 | power of the moment about 60 .. 1000 Hz                   | log10 (nN m)^2 | 1          |
    | 35       | speed of the plate                                        | m/s            | 0.2        |
    | 36       | distance of the plate from 0.985 lengths                  | lengths        | 0.01       |
    | 37 .. 38 | previous action                                           | 1              | 1          |
    | 39       | goal                                                      | log10 (nN m)^2 | 1          |

    ## Rewards

    1 within 0.1 (a quarter) of the goal, 0.1 at 0.6.

    ## Starting State

    At rest on the plate at 0.98 .. 0.99 lengths, which moves at 0.1 m/s.

    ## Episode End

    Failure: the whisker no longer touches with its tip alone, or the state is not finite. Truncated after
    500 steps.

    ## Arguments

    ``actions``: ``plate``; ``scheme``: ``midpoint``; ``dt``: time step, s; ``rate``: control rate, Hz;
    ``n_segments``; ``relief_slope``: rms slope of a coarse sandpaper's relief (0). Reset options: ``goal``
    (log10 (nN m)^2), ``distance`` (lengths), and the physical parameters of ``WhiskerRodParams``.

    ## Version History

    * v0: first version
    """

    options: Mapping[str, Option] = {**_RodTask.options, "goal": Option(-3.0, 3.0, "log10 (nN m)^2")}
    fields: Mapping[str, Field] = {"goal": Field(1, "log10 (nN m)^2", 1.0)}
    records = (("goal", "f8"),)

    band = BANDS.index(200.0)
    goals = (0.5, 2.0)
    """From which the goal is drawn."""

    def begin(self, memory, draws, options):
        memory["goal"] = options.get("goal", self.goals[0] + (self.goals[1] - self.goals[0]) * draws[:, 0])
        return {"memory_length": 10e-6 * 5.0 ** draws[:, 1]}

    def goal(self, rows, memory):
        return {"goal": memory["goal"]}

    def _error(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        return level(rows["band_power"][:, self.band]) - memory["goal"]

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """1 within 0.1 of the goal, 0.1 at 0.6."""
        return tolerance(self._error(rows, memory), -0.1, 0.1, 0.5)

    def info(self, rows, memory):
        return super().info(rows, memory) | {"error": self._error(rows, memory), "goal": memory["goal"].copy()}
