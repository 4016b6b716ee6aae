"""Wrappers for imperfect sensors, delays, and other forms of the observation.

Each wrapper has a scalar form and a vector form with the prefix ``Vector``, which give equal numbers:

>>> import gymnasium
>>> from gymnosoma.envs.wrappers import DelayObservation, VectorPixelObservation
>>> env = DelayObservation(gymnasium.make("gymnosoma/WormSwim-v0"), delay=2)
>>> envs = VectorPixelObservation(gymnasium.make_vec("gymnosoma/WormSwim-v0", num_envs=3), size=64)
>>> envs.single_observation_space.shape
(64, 64, 3)

`ModeObservation` and `PixelObservation` replace the observation, so they come first (innermost), and `GoalObservation`
comes last. `make` and `make_vec` make an environment with wrappers from plain data, such as a recipe.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from .core.arguments import choice, shown, whole, within
from .core.env.environment import BodyEnv, Snapshot, check_array
from .core.env.hooks import LIMIT, Record
from .core.env.task import Field, Layout, Rows
from .core.env.vector import BodyVectorEnv
from .core.kernels.maths import normal, uniform
from .core.model.chain import body_frame

__all__ = [
    "DelayAction",
    "DelayObservation",
    "DisturbObservation",
    "GoalObservation",
    "ModeObservation",
    "PixelObservation",
    "VectorDelayAction",
    "VectorDelayObservation",
    "VectorDisturbObservation",
    "VectorGoalObservation",
    "VectorModeObservation",
    "VectorPixelObservation",
    "make",
    "make_vec",
    "wrap",
]

LONGEST_DELAY = 1000
"""Longest delay, control periods."""

_DROPS = np.uint64(0x5851F42D4C957F2D)
"""Combined with the seed of the noise to obtain the seed of dropouts."""

_ALONE = np.zeros(1, np.int64)
"""The row of a scalar environment."""

Ids = NDArray[np.int64]


class _Work(ABC):
    """Work of a wrapper on the rows of an environment; the scalar form has one row.

    Args:
        env: The wrapped environment.
    """

    space: Any = None
    """Observation space of one row; None: that of the wrapped environment."""
    layout: Layout | None = None
    """Fields of the observation; None: those of the wrapped environment."""
    replaces = False
    """Whether the observation is made from the state of the animal instead of the wrapped observation."""

    def __init__(self, env: Any) -> None:
        if not isinstance(env.unwrapped, BodyEnv | BodyVectorEnv):
            raise TypeError(f"env must be an environment of gymnosoma, got {shown(env)}")
        self.batch = env.unwrapped.batch
        self.task: Any = self.batch.task
        self.history = self.batch.frames.shape[1]
        vector = isinstance(env, VectorEnv)
        self.inner_space = env.single_observation_space if vector else env.observation_space
        if not isinstance(self.inner_space, Box):
            raise ValueError(f"GoalObservation must be the outermost wrapper, got {type(self).__name__[1:]} around it")
        self.inner_layout: Layout | None = _inner(env, "layout")
        if self.replaces and any(isinstance(each, _Scalar | _Vector) for each in _chain(env)):
            raise ValueError(f"{type(self).__name__[1:]} must be the innermost wrapper, got {env}")
        self.state: dict[str, NDArray[Any]] = {}
        """Arrays with an entry for each row, saved and restored with the environment."""

    @abstractmethod
    def begin(self, ids: Ids, observations: Any, states: tuple[Rows, Rows]) -> Any:
        """Return observations (B, ...) whose ``ids`` start episodes.

        Args:
            observations: Those of the wrapped environment.
            states: Rows of the animals and of the memory.
        """

    @abstractmethod
    def observe(self, ids: Ids, observations: Any, states: tuple[Rows, Rows]) -> Any:
        """Return observations (B, ...) after a step of ``ids``."""

    def act(self, ids: Ids, actions: Any, alone: bool) -> Any:
        """Return the actions (B, n) for the wrapped environment; ``alone``: they are (n,) in the scalar form."""
        return actions[None] if alone else actions

    def outcome(self, ids: Ids, outcome: list[NDArray[Any]], states: tuple[Rows, Rows]) -> list[NDArray[Any]]:
        """Return rewards, terminations and truncations, each (B,), after a step of ``ids``."""
        return outcome


def _chain(env: Any) -> Iterator[Any]:
    """Return an environment and those that it wraps, outermost first."""
    while isinstance(env, gymnasium.Wrapper | VectorWrapper):
        yield env
        env = env.env


def _inner(env: Any, name: str) -> Any:
    """Return an attribute of the outermost wrapper of this module that has it, or of the environment."""
    ours = (each for each in _chain(env) if isinstance(each, _Scalar | _Vector))
    return getattr(next(ours, env.unwrapped), name)


class _Wrapper:
    """Attributes of both forms of a wrapper."""

    kind: ClassVar[type[_Work]]
    work: _Work
    env: Any

    @property
    def task(self) -> Any:
        """Task of the environment."""
        return self.work.task

    @property
    def layout(self) -> Layout | None:
        """Fields of the observation; None if it is a picture or a mapping."""
        return self.work.layout

    def save(self) -> Snapshot:
        """Copy the states of the environment and of the wrappers."""
        own = {name: value.copy() for name, value in self._arrays().items()}
        return {"wrapper": type(self).__name__, "inner": _inner(self.env, "save")(), "own": own}

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a state from ``save``; the same actions then give exactly the same results."""
        name, arrays = type(self).__name__, self._arrays()
        if not (isinstance(snapshot, Mapping) and {"inner", "own"} <= {*snapshot} and snapshot["wrapper"] == name):
            raise ValueError(f"snapshot must be one of {name}, from save(), got {shown(snapshot)}")
        if not isinstance(snapshot["own"], Mapping) or {*snapshot["own"]} != {*arrays}:
            raise ValueError(f"snapshot: own must have {', '.join(arrays)}, got {shown(snapshot['own'])}")
        for key, own in arrays.items():
            check_array(f"snapshot: own: {key}", snapshot["own"][key], own)
        _inner(self.env, "restore")(snapshot["inner"])
        for key, own in arrays.items():
            own[...] = snapshot["own"][key]

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return self.work.state

    def _states(self) -> tuple[Rows, Rows]:
        return self.work.batch.rows, self.work.batch.memory


class _Scalar(_Wrapper, gymnasium.Wrapper, RecordConstructorArgs):
    """Scalar form of a wrapper."""

    def __init__(self, env: gymnasium.Env, **arguments: Any) -> None:
        RecordConstructorArgs.__init__(self, **arguments)
        gymnasium.Wrapper.__init__(self, env)
        self.work = self.kind(env, **arguments)
        if self.work.space is not None:
            self.observation_space = self.work.space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode, with the arguments of the environment."""
        observation, info = self.env.reset(seed=seed, options=options)
        return _row(self.work.begin(_ALONE, observation[None], self._states()), 0), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Apply an action for one control period."""
        actions = self.work.act(_ALONE, np.asarray(action), alone=True)
        observation, *outcome, info = self.env.step(actions[0])
        states = self._states()
        observations = self.work.observe(_ALONE, observation[None], states)
        outcome = self.work.outcome(_ALONE, [np.array([each]) for each in outcome], states)
        reward, terminated, truncated = (each[0].item() for each in outcome)
        return _row(observations, 0), reward, terminated, truncated, info


class _Vector(_Wrapper, VectorWrapper):
    """Vector form of a wrapper."""

    def __init__(self, env: VectorEnv, **arguments: Any) -> None:
        VectorWrapper.__init__(self, env)
        self.work = self.kind(env, **arguments)
        if self.work.space is not None:
            self.single_observation_space = self.work.space
            self.observation_space = batch_space(self.work.space, self.num_envs)
        self._mode = env.metadata["autoreset_mode"]
        self._ids = np.arange(self.num_envs)
        self._needs_reset = np.zeros(self.num_envs, np.bool_)
        """Rows whose episode has ended; the next step (NEXT_STEP) or the user (DISABLED) resets them."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.env, name)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start episodes, with the arguments of the environment."""
        mask = options.get("reset_mask") if isinstance(options, Mapping) else None
        observations, infos = self.env.reset(seed=seed, options=options)
        ids = self._ids if mask is None else np.flatnonzero(mask)
        self._needs_reset[ids] = False
        return self.work.begin(ids, observations, self._states()), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Apply the actions for one control period."""
        if self._mode is AutoresetMode.DISABLED and self._needs_reset.any():
            return self.env.step(actions)  # raises an error
        alive, resetting = np.flatnonzero(~self._needs_reset), np.flatnonzero(self._needs_reset)
        observations, *outcome, infos = self.env.step(self.work.act(alive, actions, alone=False))
        over = np.flatnonzero(outcome[1] | outcome[2]) if self._mode is AutoresetMode.SAME_STEP else _ALONE[:0]
        if not len(over):
            states = self._states()
            seen = self.work.observe(alive, observations, states)
            outcome = self.work.outcome(alive, outcome, states)
            if len(resetting):
                seen = self.work.begin(resetting, observations, states)
            self._needs_reset[...] = outcome[1] | outcome[2]
            return seen, *outcome, infos
        last, finals = observations.copy(), infos["final_obs"].copy()
        last[over] = np.stack(finals[over])
        rows, memory = (array.copy() for array in self._states())
        rows[over], memory[over] = self.work.batch.ended
        seen = self.work.observe(alive, last, (rows, memory))
        outcome = self.work.outcome(alive, outcome, (rows, memory))
        for i in over:
            finals[i] = _row(seen, i)
        return self.work.begin(over, observations, self._states()), *outcome, infos | {"final_obs": finals}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {**self.work.state, "needs_reset": self._needs_reset}


def _row(observations: Any, i: int) -> Any:
    """Return a copy of the observation of row ``i``."""
    if isinstance(observations, dict):
        return {name: value[i].copy() for name, value in observations.items()}
    return observations[i].copy()


class _Stack(_Work):
    """Work on the newest of ``history`` stacked observations; the older ones are those of earlier steps."""

    def _open(self, shape: tuple[int, ...], dtype: Any) -> None:
        """Make the state for frames of a shape."""
        *first, last = shape
        self._size = last
        count = len(self.batch.rows)
        self.state["frames"] = np.zeros((count, *first, last * self.history), dtype)

    @abstractmethod
    def frame(self, observations: Any, states: tuple[Rows, Rows]) -> NDArray[Any]:
        """Return the newest frames (B, ...) of all rows."""

    def begin(self, ids: Ids, observations: Any, states: tuple[Rows, Rows]) -> Any:
        frames, new = self.state["frames"], self.frame(observations, states)
        frames[ids] = np.concatenate([new[ids]] * self.history, -1)
        return frames.copy()

    def observe(self, ids: Ids, observations: Any, states: tuple[Rows, Rows]) -> Any:
        frames, new = self.state["frames"], self.frame(observations, states)
        frames[ids] = np.concatenate([frames[ids][..., self._size :], new[ids]], -1)
        return frames.copy()


class _DisturbObservation(_Stack):
    def __init__(self, env: Any, noise: Any = None, dropout: Any = None, resolution: Any = None) -> None:
        super().__init__(env)
        if self.inner_layout is None:
            raise ValueError("DisturbObservation needs fields, got an observation of pixels")
        layout = self.layout = self.inner_layout
        deviation, share, step = np.zeros(layout.size), np.zeros(layout.size), np.zeros(layout.size)
        for argument, values, target, lowest, relative in (
            ("noise", noise, deviation, 0.0, True),
            ("dropout", dropout, share, 0.0, False),
            ("resolution", resolution, step, 1e-6, True),
        ):
            if not isinstance(values, Mapping | None):
                raise ValueError(f"{argument} must map fields of the observation to numbers, got {shown(values)}")
            for name, value in (values or {}).items():
                choice(argument, name, layout.fields)
                part, unit = layout.slices[name], layout.fields[name].unit
                largest = LIMIT * layout.scale[part].max() if relative else 1.0
                checked = within(f"{argument}: {name}", value, lowest * largest, largest, unit if relative else "1")
                if checked.ndim:
                    raise ValueError(f"{argument}: {name} must be a number, got {shown(value)}")
                target[part] = checked / (layout.scale[part] if relative else 1.0)
        self._noisy, self._droppable, self._rounded = map(np.flatnonzero, (deviation, share, step))
        self._deviation, self._share, self._step = deviation[self._noisy], share[self._droppable], step[self._rounded]
        self._open((layout.size,), np.float32)
        self.state["seed"] = np.zeros(len(self.batch.rows), np.uint64)
        self.state["count"] = np.zeros(len(self.batch.rows))

    def begin(self, ids: Ids, observations: Any, states: tuple[Rows, Rows]) -> Any:
        if len(self._noisy) or len(self._droppable):
            seeds = [self.batch.rngs[i].integers(2**63, dtype=np.uint64) for i in ids]
            self.state["seed"][ids] = seeds
        self.state["count"][ids] = 0.0
        return super().begin(ids, observations, states)

    def observe(self, ids: Ids, observations: Any, states: tuple[Rows, Rows]) -> Any:
        self.state["count"][ids] += 1.0
        return super().observe(ids, observations, states)

    def frame(self, observations: Any, states: tuple[Rows, Rows]) -> NDArray[Any]:
        frames = observations[:, -self._size :].astype(float)
        seed, count = self.state["seed"], self.state["count"]
        if len(self._noisy):
            frames[:, self._noisy] += self._deviation * normal(seed, count, len(self._noisy))
        if len(self._rounded):
            frames[:, self._rounded] = np.rint(frames[:, self._rounded] / self._step) * self._step
        if len(self._droppable):
            silent = uniform(seed ^ _DROPS, count, len(self._droppable)) < self._share
            frames[:, self._droppable] = np.where(silent, 0.0, frames[:, self._droppable])
        return np.clip(frames, -LIMIT, LIMIT).astype(np.float32)


class DisturbObservation(_Scalar):
    """Add noise to fields of the observation, round them, and drop some of their numbers, in this order.

    Random numbers depend on the row's generator at the start of an episode and on the number of steps since then. With
    ``history``, each stacked observation keeps the errors that it had when it was the newest.

    Args:
        env: Environment to wrap.
        noise: Standard deviations by name of the field, in the field's unit.
        dropout: Probabilities that a number reads 0, by field; 1 removes the field.
        resolution: Values are rounded to multiples of these numbers, by field, in the field's unit.

    Raises:
        ValueError: If a field is unknown or a value is out of range.

    Examples:
        >>> env = DisturbObservation(
        ...     gymnasium.make("gymnosoma/WormSwim-v0"), noise={"joint_angle": 0.05}, dropout={"joint_rate": 0.1}
        ... )
    """

    kind = _DisturbObservation

    def __init__(
        self,
        env: gymnasium.Env,
        noise: Mapping[str, float] | None = None,
        dropout: Mapping[str, float] | None = None,
        resolution: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(env, noise=noise, dropout=dropout, resolution=resolution)


class VectorDisturbObservation(_Vector):
    """Vector form of `DisturbObservation`."""

    kind = _DisturbObservation


class _DelayObservation(_Work):
    def __init__(self, env: Any, delay: int) -> None:
        super().__init__(env)
        self.layout = self.inner_layout
        whole("delay", delay, 0, LONGEST_DELAY)
        shape, dtype = self.inner_space.shape, self.inner_space.dtype
        self.state["waiting"] = np.zeros((len(self.batch.rows), delay + 1, *shape), dtype)

    def begin(self, ids: Ids, observations: Any, states: tuple[Rows, Rows]) -> Any:
        self.state["waiting"][ids] = observations[ids][:, None]
        return self.state["waiting"][:, 0].copy()

    def observe(self, ids: Ids, observations: Any, states: tuple[Rows, Rows]) -> Any:
        _push(self.state["waiting"], ids, observations)
        return self.state["waiting"][:, 0].copy()


def _push(queue: NDArray[Any], ids: Ids, new: Any) -> None:
    """Drop the oldest entry of a queue (B, n, ...) in ``ids`` and append a new one."""
    queue[ids, :-1] = queue[ids, 1:]
    queue[ids, -1] = new[ids]


class DelayObservation(_Scalar):
    """Delay the observations; before the second one arrives, the first is repeated.

    Args:
        env: Environment to wrap.
        delay: Delay in control periods, 0 to 1000.

    Raises:
        ValueError: If the delay is out of range.
    """

    kind = _DelayObservation

    def __init__(self, env: gymnasium.Env, delay: int) -> None:
        super().__init__(env, delay=delay)


class VectorDelayObservation(_Vector):
    """Vector form of `DelayObservation`."""

    kind = _DelayObservation


class _DelayAction(_Work):
    def __init__(self, env: Any, delay: int) -> None:
        super().__init__(env)
        self.layout = self.inner_layout
        whole("delay", delay, 0, LONGEST_DELAY)
        nothing = np.clip(np.zeros((1, self.task.action_size)), *self.task.action_bounds)
        self._rest = np.asarray(self.task.action_from_values(nothing), float)[0]
        self.state["waiting"] = np.zeros((len(self.batch.rows), delay + 1, self.task.action_size))
        self._last: Any = None

    def begin(self, ids: Ids, observations: Any, states: tuple[Rows, Rows]) -> Any:
        self.state["waiting"][ids] = self._rest
        return observations

    def observe(self, ids: Ids, observations: Any, states: tuple[Rows, Rows]) -> Any:
        return observations

    def act(self, ids: Ids, actions: Any, alone: bool) -> Any:
        _push(self.state["waiting"], ids, self.batch.check_actions(actions, alone, limited=False))
        return self.state["waiting"][:, 0]


class DelayAction(_Scalar):
    """Delay the actions; before the first one arrives, the action whose values are nearest to 0 is applied.

    Args:
        env: Environment to wrap.
        delay: Delay in control periods, 0 to 1000.

    Raises:
        ValueError: If the delay is out of range.
    """

    kind = _DelayAction

    def __init__(self, env: gymnasium.Env, delay: int) -> None:
        super().__init__(env, delay=delay)


class VectorDelayAction(_Vector):
    """Vector form of `DelayAction`."""

    kind = _DelayAction


class ModeLayout(Layout):
    """Layout with a fixed number of cosine amplitudes in place of values joint by joint.

    The cosines are fitted to the values by least squares. For angles and their rates, amplitudes are multiplied by the
    number of joints over `Field.usual`, so that the observation of a bent body does not depend on its number of joints.

    Args:
        fields (mapping of name to Field)
        modes: Number of cosines, with 0, 1/2, 1, ... waves from the first joint to the last.

    Raises:
        ValueError: If ``modes`` is out of range, or no field has values along a body.
    """

    def __init__(self, fields: Mapping[str, Field], modes: int) -> None:
        whole("modes", modes)
        observed, self._weights = dict(fields), {}
        for name, field in fields.items():
            if not field.along:
                continue
            joints = field.size // field.along
            whole("modes", modes, 1, joints)
            cosines = np.cos(np.pi * np.arange(modes)[:, None] * np.linspace(0.0, 1.0, joints))
            weights = np.linalg.solve(cosines @ cosines.T, cosines) * (joints / field.usual if field.usual else 1.0)
            self._weights[name] = (field.along, weights)
            as_usual = f", scaled to {field.usual} joints" if field.usual else ""
            meaning = f"{field.meaning}; amplitudes of {modes} cosines along the body{as_usual}"
            observed[name] = replace(field, size=modes * field.along, meaning=meaning)
        if not self._weights:
            raise ValueError("ModeObservation needs fields with a value for each joint along a body")
        super().__init__(observed)

    def pack(self, sensed: NDArray[Any]) -> NDArray[np.float32]:
        """Convert records (B,) of values in SI, joint by joint along the body, to observations (B, d)."""
        packed = np.empty((len(sensed), self.size))
        with np.errstate(all="ignore"):  # rows that have failed
            for name, part in self.slices.items():
                packed[:, part] = self._amplitudes(name, sensed[name])
            return np.clip(packed / self.scale, -LIMIT, LIMIT).astype(np.float32)

    def _amplitudes(self, name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if name not in self._weights:
            return values
        lists, weights = self._weights[name]
        each = values.reshape(-1, lists, 1, weights.shape[1])
        return np.sum(each * weights, 3).reshape(len(each), -1)


class _ModeObservation(_Stack):
    replaces = True
    layout: ModeLayout

    def __init__(self, env: Any, modes: int = 6) -> None:
        super().__init__(env)
        self.layout = ModeLayout(self.task.layout.fields, modes)
        self.space = Box(-LIMIT, LIMIT, (self.history * self.layout.size,), np.float32)
        self._open((self.layout.size,), np.float32)

    def frame(self, observations: Any, states: tuple[Rows, Rows]) -> NDArray[Any]:
        return self.layout.pack(self.task.hooks.sensed(*states))


class ModeObservation(_Scalar):
    """Observe amplitudes of cosines along the body, whose number does not depend on the number of joints.

    Only worms and lampreys have fields along the body. See `ModeLayout`.

    Args:
        env: Environment to wrap.
        modes: Number of cosines, at most the number of joints.

    Raises:
        ValueError: If ``modes`` is out of range, or the task has no fields along a body.
    """

    kind = _ModeObservation

    def __init__(self, env: gymnasium.Env, modes: int = 6) -> None:
        super().__init__(env, modes=modes)


class VectorModeObservation(_Vector):
    """Vector form of `ModeObservation`."""

    kind = _ModeObservation


class _PixelObservation(_Stack):
    replaces = True

    def __init__(self, env: Any, size: int = 84) -> None:
        from .core.draw.pixels import Pixels  # other environments do not need it

        super().__init__(env)
        self._pixels = Pixels(self.task, size)
        self.space = Box(np.uint8(0), np.uint8(255), (size, size, 3 * self.history), np.uint8)
        self._open((size, size, 3), np.uint8)

    def frame(self, observations: Any, states: tuple[Rows, Rows]) -> NDArray[Any]:
        return self._pixels.draw(*states)


class PixelObservation(_Scalar):
    """Observe a picture (size, size, 3) of uint8 of body, goal and medium, without hidden options.

    With ``history``, pictures are stacked along the last axis.

    Args:
        env: Environment to wrap.
        size: Width and height, 32 to 256 pixels.

    Raises:
        ValueError: If the size is out of range.
    """

    kind = _PixelObservation

    def __init__(self, env: gymnasium.Env, size: int = 84) -> None:
        super().__init__(env, size=size)


class VectorPixelObservation(_Vector):
    """Vector form of `PixelObservation`."""

    kind = _PixelObservation


class _GoalObservation(_Work):
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        if not hasattr(self.task, "goal_wanted"):
            name = type(self.task).__name__
            raise ValueError(f"GoalObservation needs a task with goals, WormReach or LampreyWaypoints, got {name}")
        if self.inner_layout is None:
            raise ValueError("GoalObservation needs fields, got an observation of pixels")
        size = self.inner_layout.size
        self.batch.failures_end = False
        self._kept = np.delete(np.arange(size), self.inner_layout.slices[self.task.goal_field])
        goal = Box(-LIMIT, LIMIT, (2,), np.float32)
        rest = Box(-LIMIT, LIMIT, (self.history * (len(self._kept) + 2),), np.float32)
        self.space = Dict({"observation": rest, "achieved_goal": goal, "desired_goal": goal})
        count = len(self.batch.rows)
        self.state["frame"] = np.zeros((count, 3))
        self.state["goal"] = np.zeros((count, 2))
        self.state["facing"] = np.zeros((count, self.history, 2), np.float32)
        self.state["observed"] = np.zeros((count, 2, 2), np.float32)

    def begin(self, ids: Ids, observations: Any, states: tuple[Rows, Rows]) -> Any:
        for i in ids:
            row, memory = Record(states[0][i]), Record(states[1][i])
            self.state["frame"][i] = *self.task.goal_place(row), self.task.goal_axis(row)
            self.state["goal"][i] = self.task.goal_wanted(memory)
            self._sense(i, row)
            self.state["facing"][i] = self.state["facing"][i, -1]
        return self._formed(observations)

    def observe(self, ids: Ids, observations: Any, states: tuple[Rows, Rows]) -> Any:
        self.state["facing"][ids, :-1] = self.state["facing"][ids, 1:]
        for i in ids:
            self._sense(i, Record(states[0][i]))
            self.state["goal"][i] = self.task.goal_wanted(Record(states[1][i]))  # from the next step on
        return self._formed(observations)

    def _sense(self, i: int, row: Record) -> None:
        """Observe the direction and the places of row ``i``."""
        x, y, axis = self.state["frame"][i]
        turned = self.task.heading(row) - axis
        self.state["facing"][i, -1] = _clipped(np.cos(turned)), _clipped(np.sin(turned))
        for k, place in enumerate((self.task.goal_place(row), self.state["goal"][i])):
            along, left = body_frame(axis, place[0] - x, place[1] - y)
            scale = self.task.goal_scale
            self.state["observed"][i, k] = _clipped(along / scale), _clipped(left / scale)

    def _formed(self, observations: NDArray[Any]) -> dict[str, NDArray[Any]]:
        count = len(observations)
        frames = observations.reshape(count, self.history, -1)[:, :, self._kept]
        rest = np.concatenate([frames, self.state["facing"]], 2).reshape(count, -1)
        achieved, desired = self.state["observed"].swapaxes(0, 1).copy()
        return {"observation": rest, "achieved_goal": achieved, "desired_goal": desired}

    def compute_reward(self, achieved_goal: ArrayLike, desired_goal: ArrayLike) -> NDArray[np.float64]:
        """Return the rewards (...) of observed goals (..., 2)."""
        away = self.task.goal_scale * (np.asarray(achieved_goal, float) - np.asarray(desired_goal, float))
        return np.where(np.sqrt(np.sum(away * away, -1)) <= self.task.radius, 0.0, -1.0)

    def outcome(self, ids: Ids, outcome: list[NDArray[Any]], states: tuple[Rows, Rows]) -> list[NDArray[Any]]:
        rewards = outcome[0].copy()
        achieved, desired = self.state["observed"][ids].swapaxes(0, 1)
        rewards[ids] = self.compute_reward(achieved, desired)
        return [rewards, *outcome[1:]]


def _clipped(value: float) -> float:
    """Return a number as observed, within its limits; those of failed rows may not be finite."""
    return value if abs(value) <= LIMIT else (LIMIT if value > 0.0 else -LIMIT)


class _Goal:
    """Method of both forms that libraries look for."""

    work: _GoalObservation

    def compute_reward(
        self, achieved_goal: ArrayLike, desired_goal: ArrayLike, info: Any = None
    ) -> NDArray[np.float64] | float:
        """Return the rewards, a float or an array (...), of observed goals (..., 2); ``info`` is ignored."""
        rewards = self.work.compute_reward(achieved_goal, desired_goal)
        return rewards if rewards.ndim else float(rewards)


class GoalObservation(_Goal, _Scalar):  # type: ignore[misc]
    """Observe a place to reach in Gymnasium's goal form, with a reward that shows only success.

    The observation is a mapping with ``achieved_goal``, ``desired_goal`` and ``observation``, whose last two numbers
    are the direction of the body. Places are relative to the animal's place at the start, with x along its direction
    then, and divided by the task's ``goal_scale`` (m).

    The reward is 0 within the task's ``radius`` of the desired place and -1 outside, without costs and penalties.
    ``compute_reward`` computes it for other goals. The wrapper switches off endings of the task other than success,
    because an early end would avoid negative rewards. A breakdown of the animal still ends an episode.

    Args:
        env: Environment of WormReach or LampreyWaypoints to wrap.

    Raises:
        ValueError: If the task has no goals.
    """

    kind = _GoalObservation


class VectorGoalObservation(_Goal, _Vector):  # type: ignore[misc]
    """Vector form of `GoalObservation`."""

    kind = _GoalObservation


WRAPPERS: dict[str, tuple[type[_Scalar], type[_Vector]]] = {
    "DisturbObservation": (DisturbObservation, VectorDisturbObservation),
    "DelayObservation": (DelayObservation, VectorDelayObservation),
    "DelayAction": (DelayAction, VectorDelayAction),
    "ModeObservation": (ModeObservation, VectorModeObservation),
    "PixelObservation": (PixelObservation, VectorPixelObservation),
    "GoalObservation": (GoalObservation, VectorGoalObservation),
}
"""Scalar and vector form of each wrapper by name. Names from files are only looked up here."""

Wrappers = Mapping[str, Mapping[str, Any]]
"""Arguments of wrappers by name, the innermost first, such as ``{"DelayObservation": {"delay": 2}}``."""


def wrap(env: Any, wrappers: Wrappers | None) -> Any:
    """Wrap a scalar or vector environment.

    Raises:
        TypeError: If an argument of a wrapper is unknown.
        ValueError: If a wrapper is unknown, or the value of an argument is invalid.
    """
    if not isinstance(wrappers, Mapping | None):
        raise ValueError(f"wrappers must map names of wrappers to their arguments, got {shown(wrappers)}")
    for name, arguments in (wrappers or {}).items():
        choice("wrappers", name, WRAPPERS)
        if not isinstance(arguments, Mapping):
            raise ValueError(f"wrappers: {name} must be a mapping of arguments, got {shown(arguments)}")
        env = WRAPPERS[name][isinstance(env, VectorEnv)](env, **arguments)
    return env


def make(env_id: str, wrappers: Wrappers | None = None, **arguments: Any) -> Any:
    """Make an environment by ``gymnasium.make`` and wrap it; see `wrap`."""
    return wrap(gymnasium.make(env_id, **arguments), wrappers)


def make_vec(env_id: str, num_envs: int, wrappers: Wrappers | None = None, **arguments: Any) -> Any:
    """Make a vector environment by ``gymnasium.make_vec`` and wrap it; see `wrap`."""
    return wrap(gymnasium.make_vec(env_id, num_envs, **arguments), wrappers)
