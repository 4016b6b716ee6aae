"""Tasks of the worm: crawl, swim, cope with a medium, reach, escape, follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arguments import choice
from ..core.chain import into_frame
from ..core.simulate import Controller
from ..core.task import Field, Layout, Option, Score, Task, tolerance
from .analysis import Phase, classify, phases
from .animal import Worm
from .kymogram import FRAME_RATE, RECORDED, KymogramPlayback, SineKymogram, load_kymogram
from .params import WormParams, friction

CROSSED, REACHED, LOST, COMPLETE = 10.0, 11.0, 12.0, 13.0
"""Endings: the body crossed itself; target reached; path lost; path complete."""

MODES = 6
"""Spatial cosine modes of the action level ``modes``."""


class _WormTask(Task):
    """Actions and observations that all tasks of the worm share; subclasses add goal, reward, endings."""

    animal: Worm
    levels = ("angles", "modes", "residual")
    sigma = 1.0
    scale = 1.0
    rate = 20.0
    bend = 0.9
    """Largest commanded joint angle, rad."""
    time_step = 5e-3
    endings: Mapping[float, str] = {CROSSED: "the body crossed itself"}
    fields: Mapping[str, Field] = {}
    records: tuple[tuple[Any, ...], ...] = ()

    def __init__(
        self,
        actions: str | None = None,
        scheme: str = "midpoint",
        dt: float | None = None,
        rate: float | None = None,
        n_rods: int = 25,
        threads: int = 1,
    ) -> None:
        super().__init__(actions, rate)
        if dt is None and scheme == "midpoint":
            dt = self.time_step
        self.animal = Worm(WormParams.in_medium(self.sigma, self.scale, n_rods), dt, scheme, threads)
        joints = self.animal.drive_size
        self.action_size = MODES if self.actions == "modes" else joints
        place = np.arange(joints) / (joints - 1)
        self._modes = np.cos(np.pi * np.arange(MODES)[:, None] * place)
        self._wave = SineKymogram.for_medium(self.sigma, n_joints=joints)
        self.layout = Layout(
            {
                "joint_angle": Field(joints, "rad", 0.5),
                "joint_rate": Field(joints, "rad/s", 5.0),
                "action": Field(self.action_size, "1", 1.0),
                "velocity": Field(2, "m/s", 1e-3),
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
        """Start at rest, slightly and smoothly bent, with the head in a random direction."""
        draws = np.array([rng.uniform(-1.0, 1.0, MODES + 1) for rng in rngs])
        bend = 0.05 * np.sum(draws[:, :MODES, None] * self._modes, 1)
        heading = np.pi * draws[:, MODES]
        physical = self.physical(options)
        self.animal.reset(rows, ids, {"joint_angle": self.posture() + bend, "heading": heading, **physical})
        fresh = np.zeros(len(ids), self.memory)
        fresh["from"] = rows["centre"][ids]
        self.begin(rows, fresh, ids, rngs, options, -np.stack([np.cos(heading), np.sin(heading)], 1))
        memory[ids] = fresh

    def posture(self) -> NDArray[np.float64] | float:
        """Mean joint angles at the start, rad."""
        return 0.0

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
        """Control angles from actions."""
        memory["action"] = actions
        memory["from"] = rows["centre"]
        if self.actions == "angles":
            return self.bend * actions
        if self.actions == "modes":
            angles = self.bend * np.sum(actions[:, :, None] * self._modes, 1)
        else:
            time = rows["time"]
            angles = self.reference().drive(time + 0.5 / self.rate, {}, time == 0.0) + self.bend * actions
        return np.minimum(np.maximum(angles, -self.bend), self.bend)

    def reference(self) -> Controller:
        """Controller to which ``actions="residual"`` adds: the paper's."""
        return self._wave

    def encode(self, drive: NDArray[np.float64]) -> NDArray[np.float32]:
        """Action whose control angles come closest to ``drive`` (B, n_joints) rad."""
        actions = np.asarray(drive) / self.bend
        if self.actions == "modes":
            weights = np.linalg.solve(self._modes @ self._modes.T, self._modes)
            actions = np.sum(actions[:, None, :] * weights, 2)
        elif self.actions == "residual":
            raise ValueError("actions='residual' adds to the reference controller, whose own action is zero")
        return np.clip(actions, -1.0, 1.0).astype(np.float32)

    def observe(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float32]:
        """Posture, previous action, velocity in the frame of the head, and the task's own fields."""
        heading = rows["rod_angle"][:, 0] + np.pi
        return self.layout.encode(
            {
                "joint_angle": np.diff(rows["rod_angle"]),
                "joint_rate": np.diff(rows["rod_rate"]),
                "action": memory["action"],
                "velocity": into_frame(heading, rows["centre_velocity"]),
                **self.goal(heading, rows, memory),
            }
        )

    def goal(self, heading: NDArray[np.float64], rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Values of the task's own ``fields``, with the head pointing along ``heading`` (B,)."""
        return {}

    def terminated(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """End when the body crosses itself."""
        return np.where(self.animal.crosses(rows), CROSSED, 0.0)

    def info(self, rows: NDArray[Any], memory: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Time (s), centre of mass (m), and the work of the period against friction (J)."""
        return {"time": rows["time"].copy(), "centre": rows["centre"].copy(), "work": rows["work"].copy()}


class _Forward(_WormTask):
    """Go as far as possible in the direction in which the head pointed on average at the start."""

    cost: float
    """Weight of the power, in units of the joint stiffness a second."""
    fields: Mapping[str, Field] = {"direction": Field(2, "1", 1.0)}
    records: tuple[tuple[Any, ...], ...] = (("goal", "f8", (2,)), ("start", "f8", (2,)))
    score = Score("speed", "mm/s", 1e3)

    def begin(self, rows, memory, ids, rngs, options, forward):
        memory["goal"] = forward
        memory["start"] = rows["centre"][ids]

    def goal(self, heading, rows, memory):
        return {"direction": into_frame(heading, memory["goal"])}

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Speed along the goal in body lengths a second, less the cost of power."""
        way = np.sum((rows["centre"] - memory["from"]) * memory["goal"], 1)
        return self.rate * (way / rows["length"] - self.cost * rows["work"] / self.animal.params.stiffness)

    def info(self, rows, memory):
        distance = np.sum((rows["centre"] - memory["start"]) * memory["goal"], 1)
        speed = distance / np.maximum(rows["time"], 0.5 * self.animal.dt)
        return super().info(rows, memory) | {"distance": distance, "speed": speed}


class Crawl(_Forward):
    """Crawl on agar, as far as possible in the direction in which the worm lies.

    ## Description

    The body of C. elegans on agar (Chung et al., 2024), 20 Hz, 20 s. The goal is the mean direction of the
    body at the start. The paper's sine reaches 0.2 mm/s, the best constant sine 0.5 mm/s.

    ## Action Space

    ``Box(-1, 1, (24,))`` with ``actions="angles"`` (default): control angle of each joint, head to tail,
    in units of 0.9 rad. ``"modes"``, (6,): amplitudes of six cosines along the body, in the same units,
    their sum clipped. ``"residual"``, (24,): added to the paper's sine, clipped.

    ## Observation Space

    ``Box(-10, 10, (76,))``; with n actions:

    | entries     | value                                                  | unit  | divided by |
    |-------------|--------------------------------------------------------|-------|------------|
    | 0 .. 23     | joint angles, head to tail                             | rad   | 0.5        |
    | 24 .. 47    | joint rates                                            | rad/s | 5          |
    | 48 .. 47+n  | previous action                                        | 1     | 1          |
    | next 2      | velocity of the centre of mass along and left of head  | m/s   | 1e-3       |
    | next 2      | goal direction along and left of head                  | 1     | 1          |

    ## Rewards

    Speed along the goal in body lengths per second, less 0.005 times the power against friction in units
    of the joint stiffness a second. ``info["distance"]`` (m) and ``info["speed"]`` (m/s) count from the start.

    ## Starting State

    At rest, slightly and smoothly bent at random (up to 0.05 rad per mode), heading anywhere.

    ## Episode End

    Failure: the body crosses itself, a joint folds back to 180 degrees, or the state is not finite.
    Truncated after 400 steps.

    ## Arguments

    ``actions``; ``scheme``: ``midpoint`` (default) or the paper's ``published``; ``dt``: time step, s;
    ``rate``: control rate, Hz; ``n_rods``. Reset options: ``mass``, ``length``,
    ``friction_perpendicular``, ``friction_parallel``, ``stiffness``, ``damping``.

    ## Version History

    * v0: first version
    """

    cost = 0.005


class Swim(_Forward):
    """Swim in water, as far as possible in the direction in which the worm lies.

    ## Description

    The body of C. elegans in water (Chung et al., 2024), 40 Hz, 10 s. The goal is the mean direction of the
    body at the start. The paper's sine reaches 0.22 mm/s, the best constant sine 0.34 mm/s.

    ## Action Space

    ``Box(-1, 1, (24,))`` with ``actions="angles"`` (default): control angle of each joint, head to tail,
    in units of 0.9 rad. ``"modes"``, (6,): amplitudes of six cosines along the body, in the same units,
    their sum clipped. ``"residual"``, (24,): added to the paper's sine, clipped.

    ## Observation Space

    ``Box(-10, 10, (76,))``; with n actions:

    | entries     | value                                                  | unit  | divided by |
    |-------------|--------------------------------------------------------|-------|------------|
    | 0 .. 23     | joint angles, head to tail                             | rad   | 0.5        |
    | 24 .. 47    | joint rates                                            | rad/s | 5          |
    | 48 .. 47+n  | previous action                                        | 1     | 1          |
    | next 2      | velocity of the centre of mass along and left of head  | m/s   | 1e-3       |
    | next 2      | goal direction along and left of head                  | 1     | 1          |

    ## Rewards

    Speed along the goal in body lengths per second, less 0.05 times the power against friction in units
    of the joint stiffness a second. ``info["distance"]`` (m) and ``info["speed"]`` (m/s) count from the start.

    ## Starting State

    At rest, slightly and smoothly bent at random (up to 0.05 rad per mode), heading anywhere.

    ## Episode End

    Failure: the body crosses itself, a joint folds back to 180 degrees, or the state is not finite.
    Truncated after 400 steps.

    ## Arguments

    ``actions``; ``scheme``: ``midpoint`` (default) or the paper's ``published``; ``dt``: time step, s;
    ``rate``: control rate, Hz; ``n_rods``. Reset options: ``mass``, ``length``,
    ``friction_perpendicular``, ``friction_parallel``, ``stiffness``, ``damping``.

    ## Version History

    * v0: first version
    """

    sigma = 0.0
    rate = 40.0
    cost = 0.05


class Medium(_Forward):
    """Move forward in a medium between water and agar that the worm cannot see.

    ## Description

    As ``Crawl``, but the medium index sigma (0 water, 1 agar) is drawn uniformly for every episode and
    hidden; four observations are stacked, so that it can be felt. 20 Hz, 20 s.

    ## Action Space

    ``Box(-1, 1, (24,))`` with ``actions="angles"`` (default): control angle of each joint, head to tail,
    in units of 0.9 rad. ``"modes"``, (6,): amplitudes of six cosines along the body, in the same units,
    their sum clipped. ``"residual"``, (24,): added to the paper's sine on agar, clipped.

    ## Observation Space

    ``Box(-10, 10, (4 * 76,))`` (``history=4``); with n actions:

    | entries     | value                                                  | unit  | divided by |
    |-------------|--------------------------------------------------------|-------|------------|
    | 0 .. 23     | joint angles, head to tail                             | rad   | 0.5        |
    | 24 .. 47    | joint rates                                            | rad/s | 5          |
    | 48 .. 47+n  | previous action                                        | 1     | 1          |
    | next 2      | velocity of the centre of mass along and left of head  | m/s   | 1e-3       |
    | next 2      | goal direction along and left of head                  | 1     | 1          |

    ## Rewards

    Speed along the goal in body lengths per second, less 0.005 times the power against friction in units
    of the joint stiffness a second. ``info["distance"]`` (m) and ``info["speed"]`` (m/s) count from the start.

    ## Starting State

    At rest, slightly and smoothly bent at random (up to 0.05 rad per mode), heading anywhere.

    ## Episode End

    Failure: the body crosses itself, a joint folds back to 180 degrees, or the state is not finite.
    Truncated after 400 steps.

    ## Arguments

    ``actions``; ``scheme``: ``midpoint`` (default) or the paper's ``published``; ``dt``: time step, s;
    ``rate``: control rate, Hz; ``n_rods``; ``observe_medium``: append sigma to the
    observation (the reference controller needs it). Reset options: ``mass``, ``length``,
    ``friction_perpendicular``, ``friction_parallel``, ``stiffness``, ``damping``,
    ``sigma`` (0 .. 1).

    ## Version History

    * v0: first version
    """

    cost = 0.005
    options: Mapping[str, Option] = {"sigma": Option(0.0, 1.0, "1")}
    records = (*_Forward.records, ("sigma", "f8"))

    def __init__(self, observe_medium: bool = False, **arguments: Any) -> None:
        if observe_medium:
            self.fields = {**self.fields, "sigma": Field(1, "1", 1.0)}
        self._observed = observe_medium
        super().__init__(**arguments)

    def begin(self, rows, memory, ids, rngs, options, forward):
        super().begin(rows, memory, ids, rngs, options, forward)
        for name in ("friction_perpendicular", "friction_parallel"):
            if name in options:
                raise ValueError(f"options: {name} follows from sigma in this task; give sigma")
        drawn = np.array([rng.uniform(0.0, 1.0) for rng in rngs])
        memory["sigma"] = options.get("sigma", drawn)
        perpendicular, parallel = friction(memory["sigma"])
        rows["friction_perpendicular"][ids] = perpendicular
        rows["friction_parallel"][ids] = parallel

    def goal(self, heading, rows, memory):
        seen = {"sigma": memory["sigma"]} if self._observed else {}
        return super().goal(heading, rows, memory) | seen

    def info(self, rows, memory):
        return super().info(rows, memory) | {"sigma": memory["sigma"].copy()}


class Reach(_WormTask):
    """Bring the head to a target.

    ## Description

    On agar with a hundredth of its friction, 20 Hz, 30 s. A point lies 2 to 4 mm from the head in any
    direction; it is reached within 0.1 mm.

    ## Action Space

    ``Box(-1, 1, (24,))`` with ``actions="angles"`` (default): control angle of each joint, head to tail,
    in units of 0.9 rad. ``"modes"``, (6,): amplitudes of six cosines along the body, in the same units,
    their sum clipped. ``"residual"``, (24,): added to the paper's sine on agar, clipped.

    ## Observation Space

    ``Box(-10, 10, (76,))``; with n actions:

    | entries     | value                                                  | unit  | divided by |
    |-------------|--------------------------------------------------------|-------|------------|
    | 0 .. 23     | joint angles, head to tail                             | rad   | 0.5        |
    | 24 .. 47    | joint rates                                            | rad/s | 5          |
    | 48 .. 47+n  | previous action                                        | 1     | 1          |
    | next 2      | velocity of the centre of mass along and left of head  | m/s   | 1e-3       |
    | next 2      | target from the head, along and left of it             | m     | 2e-3       |

    ## Rewards

    Approach of the head in body lengths per second, less 0.1 times the power against friction in units of
    the joint stiffness a second, less 0.05; 10 more on arrival.

    ## Starting State

    At rest, slightly and smoothly bent at random (up to 0.05 rad per mode), heading anywhere.

    ## Episode End

    Success (``info["is_success"]``): the target is reached. Failure: the body crosses itself, a joint
    folds back to 180 degrees, or the state is not finite. Truncated after 600 steps.

    ## Arguments

    ``actions``; ``scheme``: ``midpoint`` (default) or the paper's ``published``; ``dt``: time step, s;
    ``rate``: control rate, Hz; ``n_rods``. Reset options: ``mass``, ``length``,
    ``friction_perpendicular``, ``friction_parallel``, ``stiffness``, ``damping``,
    ``target_distance`` (m), ``target_bearing`` (rad from the direction of the body, left positive).

    ## Version History

    * v0: first version
    """

    scale = 0.01
    options: Mapping[str, Option] = {
        "target_distance": Option(0.2e-3, 10e-3, "m"),
        "target_bearing": Option(-np.pi, np.pi, "rad"),
    }
    fields: Mapping[str, Field] = {"target": Field(2, "m", 2e-3)}
    records = (("target", "f8", (2,)), ("distance", "f8"))
    score = Score("is_success")

    cost = 0.1
    """Weight of the power, in units of the joint stiffness a second."""
    radius = 0.1e-3
    """Distance of the head from the target that counts as reached, m."""

    def begin(self, rows, memory, ids, rngs, options, forward):
        drawn = np.array([(rng.uniform(2e-3, 4e-3), rng.uniform(-np.pi, np.pi)) for rng in rngs])
        distance = options.get("target_distance", drawn[:, 0])
        bearing = np.arctan2(forward[:, 1], forward[:, 0]) + options.get("target_bearing", drawn[:, 1])
        head = self.animal.points(rows[ids])[:, 0]
        memory["target"] = head + distance[:, None] * np.stack([np.cos(bearing), np.sin(bearing)], 1)
        memory["distance"] = distance

    def _distance(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        away = self.animal.points(rows)[:, 0] - memory["target"]
        return np.sqrt(np.sum(away * away, 1))

    def command(self, actions, rows, memory):
        memory["distance"] = self._distance(rows, memory)
        return super().command(actions, rows, memory)

    def goal(self, heading, rows, memory):
        return {"target": into_frame(heading, memory["target"] - self.animal.points(rows)[:, 0])}

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Approach of the head in body lengths a second, less power and haste; 10 more when it arrives."""
        distance = self._distance(rows, memory)
        approach = (memory["distance"] - distance) / rows["length"]
        effort = self.cost * rows["work"] / self.animal.params.stiffness
        return self.rate * (approach - effort) - 0.05 + np.where(distance <= self.radius, 10.0, 0.0)

    def terminated(self, rows, memory):
        ending = super().terminated(rows, memory)
        return np.where(self._distance(rows, memory) <= self.radius, REACHED, ending)

    def info(self, rows, memory):
        distance = self._distance(rows, memory)
        return super().info(rows, memory) | {"distance": distance, "is_success": distance <= self.radius}


class Escape(_WormTask):
    """Escape: reverse by half a body length, turn by 120 degrees, then run.

    ## Description

    The omega turn of a real worm as a task: agar with a hundredth of its friction, 32 Hz, 15 s. Stage 0
    ends when the centre of mass is 0.5 mm behind its farthest point along the start direction; stage 1 when
    the mean direction of the body has swung by 120 degrees; stage 2 counts the distance of the centre of
    mass from where that was. The reference is the last 15 s of the recorded escape.

    ## Action Space

    ``Box(-1, 1, (24,))`` with ``actions="angles"`` (default): control angle of each joint, head to tail,
    in units of 1.1 rad. ``"modes"``, (6,): amplitudes of six cosines along the body, in the same units,
    their sum clipped. ``"residual"``, (24,): added to the recorded kymogram, clipped.

    ## Observation Space

    ``Box(-10, 10, (77,))``; with n actions:

    | entries     | value                                                  | unit  | divided by |
    |-------------|--------------------------------------------------------|-------|------------|
    | 0 .. 23     | joint angles, head to tail                             | rad   | 0.5        |
    | 24 .. 47    | joint rates                                            | rad/s | 5          |
    | 48 .. 47+n  | previous action                                        | 1     | 1          |
    | next 2      | velocity of the centre of mass along and left of head  | m/s   | 1e-3       |
    | next        | distance reversed                                      | m     | 1e-3       |
    | next        | angle turned                                           | rad   | 1          |
    | next        | stage 0, 1, 2                                          | 1     | 1          |

    ## Rewards

    Progress: body lengths reversed (at most 0.5), then turns in units of 120 degrees (at most 1), then body
    lengths run; less 0.02 times the work against friction in units of the joint stiffness. The score,
    ``info["progress"]``, leaves out the work.

    ## Starting State

    At rest, slightly and smoothly bent at random (up to 0.05 rad per mode), heading anywhere.

    ## Episode End

    Failure: a joint folds back to 180 degrees, or the state is not finite. A body lying on itself is only
    reported (``info["crossed"]``), as real worms do so. ``info["is_success"]``: ran a body length. Truncated
    after 480 steps.

    ## Arguments

    ``actions``; ``scheme``: ``midpoint`` (default) or the paper's ``published``; ``dt``: time step, s;
    ``rate``: control rate, Hz; ``n_rods``. Reset options: ``mass``, ``length``,
    ``friction_perpendicular``, ``friction_parallel``, ``stiffness``, ``damping``.

    ## Version History

    * v0: first version
    """

    scale = 0.01
    rate = FRAME_RATE
    bend = 1.1
    time_step = 0.1 / FRAME_RATE
    endings: Mapping[float, str] = {}
    fields: Mapping[str, Field] = {
        "reversed": Field(1, "m", 1e-3),
        "turned": Field(1, "rad", 1.0),
        "stage": Field(1, "1", 1.0),
    }
    records = (
        ("goal", "f8", (2,)),
        ("start", "f8", (2,)),
        ("farthest", "f8"),
        ("low", "f8"),
        ("high", "f8"),
        ("stage", "f8"),
        ("reversed", "f8"),
        ("turned", "f8"),
        ("turn_centre", "f8", (2,)),
        ("run", "f8"),
    )

    score = Score("progress")

    cost = 0.02
    """Weight of the work, in units of the joint stiffness."""
    retreat = 0.5e-3
    """Distance to reverse, m."""
    turn = 2.0 * np.pi / 3.0
    """Angle to turn by, rad."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._recorded = _recorded(self.animal, "omega_turn", round(15.0 * FRAME_RATE))

    def reference(self) -> Controller:
        return self._recorded

    def begin(self, rows, memory, ids, rngs, options, forward):
        memory["goal"] = forward
        memory["start"] = rows["centre"][ids]

    def goal(self, heading, rows, memory):
        return {name: memory[name] for name in self.fields}

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Progress, less the cost of work."""
        stage, heading = memory["stage"].copy(), rows["rod_angle"].mean(1)
        before = self._progress(rows, memory)
        ahead = np.sum((rows["centre"] - memory["start"]) * memory["goal"], 1)
        memory["farthest"] = np.maximum(memory["farthest"], ahead)
        back = np.minimum(memory["farthest"] - ahead, self.retreat)
        memory["reversed"] = np.where(stage == 0, np.maximum(memory["reversed"], back), memory["reversed"])
        memory["low"] = np.where(stage == 0, heading, np.minimum(memory["low"], heading))
        memory["high"] = np.where(stage == 0, heading, np.maximum(memory["high"], heading))
        turned = np.minimum(np.maximum(heading - memory["low"], memory["high"] - heading), self.turn)
        memory["turned"] = np.where(stage == 1, np.maximum(memory["turned"], turned), memory["turned"])
        away = rows["centre"] - memory["turn_centre"]
        memory["run"] = np.where(stage == 2, np.sqrt(np.sum(away * away, 1)), 0.0)
        memory["turn_centre"] = np.where((stage < 2)[:, None], rows["centre"], memory["turn_centre"])
        done = np.where(stage == 0, memory["reversed"] >= self.retreat, memory["turned"] >= self.turn)
        memory["stage"] = np.where((stage < 2) & done, stage + 1, stage)
        return self._progress(rows, memory) - before - self.cost * rows["work"] / self.animal.params.stiffness

    def _progress(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """Body lengths reversed, turns in units of 120 degrees, and body lengths run."""
        return (memory["reversed"] + memory["run"]) / rows["length"] + memory["turned"] / self.turn

    def terminated(self, rows, memory):
        return np.zeros(len(rows))

    def info(self, rows, memory):
        progress = {name: memory[name].copy() for name in ("stage", "reversed", "turned", "run")}
        progress["progress"] = self._progress(rows, memory)
        success = (memory["stage"] == 2) & (memory["run"] >= rows["length"])
        return super().info(rows, memory) | progress | {"is_success": success, "crossed": self.animal.crosses(rows)}


class Follow(_WormTask):
    """Follow the path of a real worm through its omega or delta turn.

    ## Description

    The path is that of the centre of mass under the recorded kymogram; the point to be at moves along it
    in real time. Agar with a hundredth of its friction, 32 Hz, 18.75 s (delta turn: 9.4 s).

    ## Action Space

    ``Box(-1, 1, (24,))`` with ``actions="angles"`` (default): control angle of each joint, head to tail,
    in units of 1.1 rad. ``"modes"``, (6,): amplitudes of six cosines along the body, in the same units,
    their sum clipped. ``"residual"``, (24,): added to the recorded kymogram, clipped.

    ## Observation Space

    ``Box(-10, 10, (82,))``; with n actions:

    | entries     | value                                                  | unit  | divided by |
    |-------------|--------------------------------------------------------|-------|------------|
    | 0 .. 23     | joint angles, head to tail                             | rad   | 0.5        |
    | 24 .. 47    | joint rates                                            | rad/s | 5          |
    | 48 .. 47+n  | previous action                                        | 1     | 1          |
    | next 2      | velocity of the centre of mass along and left of head  | m/s   | 1e-3       |
    | next 8      | path now and 8, 16, 32 frames ahead, from the centre,  | m     | 5e-4       |
    |             | along and left of the head                             |       |            |

    ## Rewards

    1 within 0.02 mm of the point, falling to 0.1 at 0.22 mm.

    ## Starting State

    At rest in the first shape of the recording, slightly and smoothly bent at random, heading anywhere.

    ## Episode End

    Success (``info["is_success"]``): the path is complete, after 600 frames (delta turn: 300). Failure: more
    than a body length away, a joint folds back to 180 degrees, or the state is not finite. A body lying on
    itself is only reported (``info["crossed"]``).

    ## Arguments

    ``actions``; ``scheme``: ``midpoint`` (default) or the paper's ``published``; ``dt``: time step, s;
    ``rate``: control rate, Hz; ``n_rods``; ``turn``: ``omega_turn`` (default) or
    ``delta_turn``. Reset options: ``mass``, ``length``,
    ``friction_perpendicular``, ``friction_parallel``, ``stiffness``, ``damping``.

    ## Version History

    * v0: first version
    """

    scale = 0.01
    rate = FRAME_RATE
    bend = 1.1
    time_step = 0.1 / FRAME_RATE
    endings: Mapping[float, str] = {LOST: "the path was lost: more than a body length away from it"}
    fields: Mapping[str, Field] = {"path": Field(8, "m", 0.5e-3)}
    records = (("origin", "f8", (2,)), ("heading", "f8"))

    score = Score("return")

    ahead = (0, 8, 16, 32)
    """Frames ahead at which the path is seen."""

    def __init__(self, turn: str = "omega_turn", **arguments: Any) -> None:
        choice("turn", turn, RECORDED)
        super().__init__(**arguments)
        self._recorded = _recorded(self.animal, turn)
        self._steps = round(1.0 / (FRAME_RATE * self.animal.dt))
        if abs(self._steps * FRAME_RATE * self.animal.dt - 1.0) > 1e-6:
            raise ValueError(f"dt must divide 1/32 s, the time of a frame, got {self.animal.dt!r}")
        self.path, self._bends = self._walk(self._recorded.angles)

    @cached_property
    def phases(self) -> list[Phase]:
        """Phases of the behaviour, in frames, of a worm under the whole kymogram."""
        return phases(classify(self._bends).label)

    def _walk(self, angles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Path (N + 1, 2) m of the centre of mass under a kymogram, from the origin along -x; joint angles (N, 24)."""
        worm, ids = self.animal, np.zeros(1, np.int64)
        rows = worm.rows(1)
        worm.reset(rows, ids, {"joint_angle": angles[0]})
        path, bends = np.zeros((len(angles) + 1, 2)), np.zeros(angles.shape)
        for k, frame in enumerate(angles):
            worm.advance(rows, ids, frame[None], self._steps)
            path[k + 1] = rows["centre"][0]
            bends[k] = np.diff(rows["rod_angle"][0])
        return path, bends

    def reference(self) -> Controller:
        return self._recorded

    def posture(self) -> NDArray[np.float64]:
        return self._recorded.angles[0]

    def begin(self, rows, memory, ids, rngs, options, forward):
        memory["origin"] = rows["centre"][ids]
        memory["heading"] = rows["rod_angle"][ids].mean(1)

    def place(self, rows: NDArray[Any], memory: NDArray[Any], ahead: int = 0) -> NDArray[np.float64]:
        """Point of the path (B, 2) m, ``ahead`` frames from now."""
        frame = np.minimum(np.rint(rows["time"] * FRAME_RATE).astype(int) + ahead, len(self.path) - 1)
        return memory["origin"] + into_frame(-memory["heading"], self.path[frame])

    def goal(self, heading, rows, memory):
        points = [into_frame(heading, self.place(rows, memory, k) - rows["centre"]) for k in self.ahead]
        return {"path": np.concatenate(points, 1)}

    def _error(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        away = self.place(rows, memory) - rows["centre"]
        return np.sqrt(np.sum(away * away, 1))

    def reward(self, rows: NDArray[Any], memory: NDArray[Any]) -> NDArray[np.float64]:
        """1 within 0.02 mm of the path's present point, 0.1 at 0.22 mm."""
        return tolerance(self._error(rows, memory), 0.0, 0.02e-3, 0.2e-3)

    def _complete(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        return rows["time"] * FRAME_RATE > len(self.path) - 1.5

    def terminated(self, rows, memory):
        lost = self._error(rows, memory) > rows["length"]
        return np.where(lost, LOST, np.where(self._complete(rows), COMPLETE, 0.0))

    def info(self, rows, memory):
        error = self._error(rows, memory)
        success = self._complete(rows) & (error <= rows["length"])
        return super().info(rows, memory) | {
            "error": error,
            "is_success": success,
            "crossed": self.animal.crosses(rows),
        }


def _recorded(worm: Worm, name: str, last: int = 0) -> KymogramPlayback:
    """Playback of the (last frames of the) recorded kymogram ``name``."""
    angles = load_kymogram(name)[-last:]
    if worm.drive_size != angles.shape[1]:
        raise ValueError(f"n_rods must be {angles.shape[1] + 1} to play {name}, got {worm.drive_size + 1}")
    return KymogramPlayback(angles)
