"""The environments: one animal (`BodyEnv`) or many (`BodyVectorEnv`). Only this file knows Gymnasium."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from .arguments import whole
from .rows import admit, conclude
from .task import LIMIT, Option, Task

if TYPE_CHECKING:
    from .view import View

FASTEST = 50.0
"""Most frames a second, Hz; a task with a higher rate is shown in slow motion."""

Snapshot = dict[str, Any]
"""State of environments as plain arrays; can be pickled."""


class Bodies:
    """Rows of one task with their memories and generators; both environments are thin shells around it.

    Parameters
    ----------
    task : str
        Module and class below ``gymnosoma.envs``, as in ``"worm.tasks:Crawl"``.
    count : int
        Number of rows.
    history : int
        Observations stacked into one, oldest first.
    randomize : mapping, optional
        Name of a parameter or option to (low, high); drawn uniformly for every episode.
    arguments : mapping
        Passed to the task.
    render_mode : {None, "rgb_array", "human"}
    width, height : int
        Of a frame, in pixels.
    """

    def __init__(
        self,
        task: str,
        count: int,
        history: int,
        randomize: Mapping[str, tuple[float, float]] | None,
        arguments: Mapping[str, Any],
        render_mode: str | None,
        width: int,
        height: int,
    ) -> None:
        if render_mode not in (None, *BodyEnv.metadata["render_modes"]):
            raise ValueError(f"render_mode must be None, 'rgb_array' or 'human', got {render_mode!r}")
        module, _, name = task.partition(":")
        kind = getattr(import_module(f"gymnosoma.envs.{module}"), name)
        known = {key for base in kind.__mro__ for key in signature(base).parameters if base is not object}
        for key in arguments.keys() - known:
            allowed = ", ".join(sorted(known - {"args", "kwargs", "arguments"}))
            raise ValueError(f"argument {key!r} is not known; allowed are {allowed}, history and randomize")
        self.task: Task = kind(**arguments)
        animal = self.task.animal
        steps = 1.0 / (self.task.rate * animal.dt)
        self.steps = round(steps)
        if self.steps < 1 or abs(steps - self.steps) > 1e-6 * self.steps:
            raise ValueError(
                f"rate must divide 1/dt (rate {self.task.rate:g} Hz, dt {animal.dt:g} s): a control period must be a "
                f"whole number of time steps, got {steps:g}"
            )
        whole("history", history)
        whole("num_envs", count)
        self.randomize = {}
        if not isinstance(randomize, Mapping | None):
            raise ValueError(f"randomize must map names to (low, high), got {randomize!r}")
        for name, bounds in (randomize or {}).items():
            if np.shape(bounds) != (2,):
                raise ValueError(f"randomize: {name} must be (low, high), got {bounds!r}")
            low, high = self._value(f"randomize: {name}", name, bounds, 2)
            if np.shape(low) or not low <= high:
                raise ValueError(f"randomize: {name} must be (low, high) of a scalar, got {bounds!r}")
            self.randomize[name] = float(low), float(high)
        self.rows = animal.rows(count)
        self.memory = np.zeros(count, self.task.memory)
        self.rngs: list[np.random.Generator] = []
        self.frames = np.zeros((count, history, self.task.layout.size), np.float32)
        self.ids = np.arange(count)
        self.fps = min(self.task.rate, FASTEST)
        self.view: View | None = None
        if render_mode is not None:
            from .view import View  # pygame stays out of processes that draw nothing

            self.view = View(self.task, count, width, height, self.fps, render_mode == "human")

    def _value(self, label: str, name: str, value: Any, count: int) -> NDArray[np.float64]:
        """Check an option and spread it over ``count`` rows."""
        option = self.task.options.get(name)
        if option is None:
            if name not in self.task.animal.parameters:
                known = ", ".join(dict.fromkeys([*self.task.options, *self.task.animal.parameters]))
                raise ValueError(f"{label} is not known; allowed are {known}")
            option = Option(-np.inf, np.inf, "SI")
        try:
            array = np.asarray(value, float)
            spread = np.broadcast_to(array, (count, *option.shape))
        except (ValueError, TypeError):
            raise ValueError(
                f"{label} must have shape {option.shape} or {(count, *option.shape)}, got {value!r}"
            ) from None
        if not (np.isfinite(array).all() and (array >= option.low).all() and (array <= option.high).all()):
            raise ValueError(f"{label} must be within [{option.low:g}, {option.high:g}] {option.unit}, got {value!r}")
        if name in self.task.animal.parameters:
            try:
                self.task.animal.check_parameter(name, array)
            except ValueError as error:
                raise ValueError(f"{label.partition(':')[0]}: {error}") from None
        return spread

    def options(self, given: Mapping[str, Any] | None, count: int) -> dict[str, NDArray[np.float64]]:
        """Check the options of a reset of ``count`` rows."""
        if not isinstance(given, Mapping | None):
            raise ValueError(f"options must map names to values, got {given!r}")
        return {name: self._value(f"options: {name}", name, value, count) for name, value in (given or {}).items()}

    def reset(self, ids: NDArray[np.int64], given: Mapping[str, NDArray[np.float64]]) -> None:
        """Start new episodes in ``ids``; ``given`` options win over drawn ones."""
        rngs = [self.rngs[i] for i in ids]
        drawn = np.array([[rng.uniform(*bounds) for bounds in self.randomize.values()] for rng in rngs])
        options = {name: drawn[:, j] for j, name in enumerate(self.randomize)} | dict(given)
        self.task.reset(self.rows, self.memory, ids, rngs, options)
        start = self.task.observe(self.rows[ids], self.memory[ids])
        self.frames[ids] = start[:, None]
        if self.view is not None:
            self.view.begin(ids)
            self.view.note(self.rows, self.memory, ids)

    def check(self, actions: ArrayLike, alone: bool = False) -> NDArray[np.float64]:
        """Actions (B, n), or (n,) of an animal alone, as finite float64 (B, n) within [-1, 1]."""
        shape = (len(self.rows), self.task.action_size)
        try:
            array = np.asarray(actions)
            if array.dtype != np.float32:
                array = array.astype(np.float64, casting="same_kind" if array.dtype.kind == "c" else "unsafe")
        except (ValueError, TypeError):
            raise ValueError(f"action must be an array of real numbers, got {actions!r}") from None
        if array.shape != shape[alone:]:
            raise ValueError(f"action must have shape {shape[alone:]}, got {array.shape}")
        array = array.reshape(shape)
        clipped = np.empty(shape)
        if not admit(array, clipped):
            raise ValueError(f"action must be finite, got {array[~np.isfinite(array).all(1)][0]}")
        return clipped

    def step(self, actions: NDArray[np.float64], ids: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Advance ``ids`` by one control period; rewards and the tasks' endings of all rows."""
        task, rows, memory = self.task, self.rows, self.memory
        drive = task.command(actions, rows, memory)
        task.animal.advance(rows, ids, drive if len(ids) == len(rows) else drive[ids], self.steps)
        rewards = task.reward(rows, memory)
        if self.view is not None:
            self.view.note(rows, memory, ids)
        return rewards, task.terminated(rows, memory)

    def observe(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Observe again in ``ids``, and give the stacked observations of all rows, as a copy."""
        frames = self.frames
        if len(ids):
            new = self.task.observe(self.rows, self.memory)
            if frames.shape[1] == 1 and len(ids) == len(frames):
                frames[:, 0] = new
                return new
            frames[ids, :-1] = frames[ids, 1:]
            frames[ids, -1] = new[ids]
        return frames.reshape(len(frames), -1).copy()

    def failure(self, ending: float) -> str | None:
        """Reason for which an episode failed, None if it did not."""
        return self.task.animal.failures.get(ending) or self.task.endings.get(ending)

    def save(self) -> Snapshot:
        """Copy everything that the future depends on."""
        return {
            "task": self._identity(),
            "rows": self.rows.copy(),
            "memory": self.memory.copy(),
            "frames": self.frames.copy(),
            "generators": [copy.deepcopy(rng.bit_generator.state) for rng in self.rngs],
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a snapshot of the same task with as many rows."""
        if not isinstance(snapshot, Mapping) or snapshot.get("task") != self._identity():
            found = snapshot.get("task") if isinstance(snapshot, Mapping) else snapshot
            raise ValueError(f"snapshot must be one of {self._identity()}, as save() gives it, got one of {found!r}")
        for name in ("rows", "memory", "frames"):
            own, other = getattr(self, name), snapshot.get(name)
            if not (isinstance(other, np.ndarray) and other.dtype == own.dtype and other.shape == own.shape):
                raise ValueError(
                    f"snapshot: {name} must be an array of shape {own.shape} of this task's records, as save() gives it"
                )
        if len(snapshot["generators"]) not in (0, len(self.rows)):
            raise ValueError(f"snapshot: generators must be {len(self.rows)}, got {len(snapshot['generators'])}")
        for name in ("rows", "memory", "frames"):
            getattr(self, name)[...] = snapshot[name]
        self.rngs = [np.random.default_rng() for _ in snapshot["generators"]]
        for rng, state in zip(self.rngs, snapshot["generators"], strict=True):
            rng.bit_generator.state = copy.deepcopy(state)
        if self.view is not None:
            self.view.begin(self.ids)
            self.view.note(self.rows, self.memory, self.ids)

    def _identity(self) -> str:
        """Task, action level, solvers, time step and rate: what a snapshot must agree in."""
        task, animal = self.task, self.task.animal
        solvers = [getattr(animal, name) for name in ("scheme", "contacts") if getattr(animal, name, None)]
        parts = [f"{type(task).__module__}:{type(task).__name__}", task.actions, *solvers]
        return ", ".join([*parts, f"dt {animal.dt:g} s", f"{task.rate:g} Hz"])

    def show(self) -> None:
        """Bring the window up to date, if there is one."""
        if self.view is not None:
            self.view.show()

    def pictures(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Frames (height, width, 3) of all rows; None if a window shows the first, or nothing is drawn."""
        if self.view is None:
            gymnasium.logger.warn("render() draws nothing: render_mode is None, and can be 'rgb_array' or 'human'")
            return None
        if not self.rngs:
            raise ResetNeeded("no episode has begun: call reset() before render()")
        return None if self.view.human else tuple(self.view.draw(i).array() for i in range(len(self.rows)))

    def close(self) -> None:
        """Close the window; may be called twice."""
        if self.view is not None:
            self.view.close()

    def spaces(self) -> tuple[Box, Box]:
        """Observation and action space of one row."""
        size = self.frames.shape[1] * self.frames.shape[2]
        return (
            Box(-LIMIT, LIMIT, (size,), np.float32),
            Box(-1.0, 1.0, (self.task.action_size,), np.float32),
        )


class BodyEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """One animal with one task as a Gymnasium environment.

    Parameters
    ----------
    task : str
        Set by the catalogue: module and class of the task.
    render_mode : {None, "rgb_array", "human"}
    history : int
        Observations stacked into one, oldest first, for tasks whose state is hidden.
    randomize : mapping, optional
        Name of a physical parameter or task option to (low, high), drawn anew for every episode.
    width, height : int
        Of a rendered frame, in pixels.
    **arguments
        Of the task, such as ``actions=``, ``scheme=``, ``dt=`` and ``rate=``.

    Raises
    ------
    ValueError
        For an unknown or impossible argument, naming it.
    """

    metadata = {"render_modes": ["rgb_array", "human"], "render_fps": 40}  # noqa: RUF012 (Gymnasium's form)

    def __init__(
        self,
        task: str,
        render_mode: str | None = None,
        history: int = 1,
        randomize: Mapping[str, tuple[float, float]] | None = None,
        width: int = 960,
        height: int = 540,
        **arguments: Any,
    ) -> None:
        self.bodies = Bodies(task, 1, history, randomize, arguments, render_mode, width, height)
        self.task = self.bodies.task
        self.render_mode = render_mode
        self.metadata = self.metadata | {"render_fps": self.bodies.fps}
        observation, action = self.bodies.spaces()
        self.observation_space: Any = observation
        self.action_space: Any = action
        self._ended = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode.

        Parameters
        ----------
        seed : int, optional
        options : dict, optional
            Values of physical parameters or of the task's options, for this episode.

        Returns
        -------
        observation, info
        """
        given = self.bodies.options(options, 1)
        super().reset(seed=seed)
        self.bodies.rngs = [self.np_random]
        self.bodies.reset(self.bodies.ids, given)
        self._ended = False
        self.bodies.show()
        return self.bodies.frames.reshape(-1).copy(), self._info()

    def step(self, action: ArrayLike) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Hold ``action`` for one control period; values beyond [-1, 1] are clipped.

        Returns
        -------
        observation, reward, terminated, truncated, info
            ``info["failure"]`` is there when the episode failed, and says why.

        Raises
        ------
        ValueError
            If the action has a wrong shape or is not finite.
        """
        if self._ended:
            raise ResetNeeded("the episode has ended or not begun: call reset()")
        bodies = self.bodies
        reward, ending = bodies.step(bodies.check(action, alone=True), bodies.ids)
        status = bodies.rows["status"]
        ending = status if status[0] != 0.0 else ending
        self._ended = bool(ending[0] != 0.0)
        observation = bodies.observe(bodies.ids)[0]
        info = self._info()
        if self._ended:
            failure = bodies.failure(ending[0])
            if failure is not None:
                info["failure"] = failure
        bodies.show()
        return observation, float(reward[0]), self._ended, False, info

    def render(self) -> NDArray[np.uint8] | None:
        """Draw the present: a frame (height, width, 3), or None where a window shows it."""
        frames = self.bodies.pictures()
        return None if frames is None else frames[0]

    def close(self) -> None:
        """Close the window, if there is one; may be called twice."""
        self.bodies.close()

    def _info(self) -> dict[str, Any]:
        return {name: value[0] for name, value in self.task.info(self.bodies.rows, self.bodies.memory).items()}

    def save(self) -> Snapshot:
        """Copy the state of the environment, generator included (not that of wrappers)."""
        return self.bodies.save() | {"ended": self._ended}

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a state that ``save`` gave; the future then repeats itself exactly."""
        self.bodies.restore(snapshot)
        if self.bodies.rngs:
            self._np_random = self.bodies.rngs[0]
        self._ended = bool(snapshot["ended"])


class BodyVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.float32], NDArray[Any]]):
    """Many animals with the same task; bit for bit what as many `BodyEnv` do.

    Row i is seeded ``seed + i``. Results do not depend on ``num_envs`` or ``threads``.

    Parameters
    ----------
    num_envs : int
    task, render_mode, history, randomize, width, height, **arguments
        As for `BodyEnv`; the window of ``render_mode="human"`` shows the first animal.
    max_episode_steps : int, optional
        Steps after which an episode is truncated.
    autoreset_mode : AutoresetMode or str
        NEXT_STEP (default): the step after an episode's end resets, ignoring the action. SAME_STEP: the
        ending step resets; ``info`` has ``final_obs`` and ``final_info``. DISABLED: the user resets with
        ``options={"reset_mask": mask}``.
    threads : int
        Threads that advance the animals. With more than one, start worker processes by spawn or
        forkserver: numba's thread pool does not survive a fork.
    """

    metadata = BodyEnv.metadata

    def __init__(
        self,
        num_envs: int,
        task: str,
        render_mode: str | None = None,
        history: int = 1,
        randomize: Mapping[str, tuple[float, float]] | None = None,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int = 1,
        width: int = 960,
        height: int = 540,
        **arguments: Any,
    ) -> None:
        try:
            mode = AutoresetMode(autoreset_mode)
        except ValueError:
            known = ", ".join(mode.value for mode in AutoresetMode)
            raise ValueError(f"autoreset_mode must be one of {known}, got {autoreset_mode!r}") from None
        self.bodies = Bodies(
            task, num_envs, history, randomize, arguments | {"threads": threads}, render_mode, width, height
        )
        self.task = self.bodies.task
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.autoreset_mode = mode
        self.metadata = self.metadata | {"render_fps": self.bodies.fps, "autoreset_mode": mode}
        self.single_observation_space, self.single_action_space = self.bodies.spaces()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._limit = np.inf if max_episode_steps is None else float(max_episode_steps)
        if not self._limit >= 1:
            raise ValueError(f"max_episode_steps must be at least 1, got {max_episode_steps!r}")
        self._elapsed = np.zeros(num_envs)
        self._done = np.zeros(num_envs, np.bool_)  # valid only while _over
        self._over = False
        self._seeds: list[int] = []
        self._everyone = np.ones(num_envs, np.bool_)
        self._everyone.flags.writeable = False  # shared by all infos

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Generators of the rows."""
        return tuple(self.bodies.rngs)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """Seeds of the rows' generators."""
        return tuple(self._seeds)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start episodes in all rows, or in those of ``options["reset_mask"]``.

        Parameters
        ----------
        seed : int or list of int, optional
            An int seeds row i with ``seed + i``.
        options : dict, optional
            Physical parameters and task options, each one value or one per row reset; valid for this
            reset, automatic resets draw from ``randomize``.

        Returns
        -------
        observations, info
        """
        mask = None
        if isinstance(options, Mapping):
            options = dict(options)
            mask = options.pop("reset_mask", None)
        if mask is None:
            mask = self._everyone
        elif not (
            isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == (self.num_envs,) and mask.any()
        ):
            raise ValueError(
                f"options: reset_mask must be a bool array of shape ({self.num_envs},) with a True, got {mask!r}"
            )
        elif not self.bodies.rngs:
            raise ResetNeeded("no episode has begun: the first reset() takes no reset_mask")
        else:
            mask = mask.copy()  # becomes part of the info
        ids = np.flatnonzero(mask)
        given = self.bodies.options(options, len(ids))
        self._seed(seed, ids)
        self.bodies.reset(ids, given)
        self._elapsed[ids] = 0.0
        self._done = self._done & ~mask if self._over else np.zeros(self.num_envs, np.bool_)
        self._over = bool(self._done.any())
        self.bodies.show()
        return self.bodies.observe(ids[:0]), self._info(mask)

    def _seed(self, seed: int | Sequence[int | None] | None, ids: NDArray[np.int64]) -> None:
        count = self.num_envs
        if seed is None:
            seeds: Sequence[int | None] = [None] * count
        elif isinstance(seed, int | np.integer):
            seeds = [int(seed) + i for i in range(count)]
        else:
            seeds = list(seed) if isinstance(seed, Sequence | np.ndarray) and not isinstance(seed, str) else []
        if len(seeds) != count:
            raise ValueError(f"seed must be an int or {count} of them, got {seed!r}")
        if not self.bodies.rngs:
            self.bodies.rngs, self._seeds = map(list, zip(*(seeding.np_random(s) for s in seeds), strict=True))
        else:
            for i in ids:
                if seeds[i] is not None:
                    self.bodies.rngs[i], self._seeds[i] = seeding.np_random(seeds[i])

    def step(
        self, actions: ArrayLike
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Hold the actions for one control period; values beyond [-1, 1] are clipped.

        Returns
        -------
        observations, rewards, terminations, truncations, infos
            ``infos["failure"]`` holds the reason of each row that failed, ``infos["_failure"]`` which.

        Raises
        ------
        ValueError
            If the actions have a wrong shape or are not finite.
        """
        bodies, done = self.bodies, self._done
        if not bodies.rngs:
            raise ResetNeeded("no episode has begun: call reset()")
        checked = bodies.check(actions)
        alive = bodies.ids
        if self._over:
            if self.autoreset_mode is AutoresetMode.DISABLED:
                raise ResetNeeded(f"episodes of rows {np.flatnonzero(done)} have ended: reset them with reset_mask")
            alive = np.flatnonzero(~done)
        rewards, ending = bodies.step(checked, alive)
        if self._over:
            ids = np.flatnonzero(done)
            bodies.reset(ids, {})
            self._elapsed[ids] = -1.0  # this step does not count
            ending[ids] = 0.0
            rewards[ids] = 0.0
        observations = bodies.observe(alive)
        bodies.show()
        terminated, truncated = np.empty_like(done), np.empty_like(done)
        self._over = conclude(bodies.rows["status"], ending, self._elapsed, self._limit, terminated, truncated)
        if not self._over:
            return observations, rewards, terminated, truncated, self._info(self._everyone)
        self._done = over = terminated | truncated
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            return observations, rewards, terminated, truncated, self._info(self._everyone, ending)

        ids = np.flatnonzero(over)
        final = np.full(self.num_envs, None, object)
        for i in ids:
            final[i] = observations[i]
        final_info = self._info(over, ending)
        bodies.reset(ids, {})
        self._elapsed[ids] = 0.0
        self._over = False
        info = {"final_obs": final, "_final_obs": over, "final_info": final_info, "_final_info": over.copy()}
        return bodies.observe(ids[:0]), rewards, terminated, truncated, info | self._info(self._everyone)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Draw the present: a frame (height, width, 3) of every animal, or None where a window shows the first."""
        return self.bodies.pictures()

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window, if there is one."""
        self.bodies.close()

    def _info(self, mask: NDArray[np.bool_], ending: NDArray[np.float64] | None = None) -> dict[str, Any]:
        """Info of the rows in ``mask``, in Gymnasium's form: each key with a mask of its rows."""
        info: dict[str, Any] = {}
        for name, value in self.task.info(self.bodies.rows, self.bodies.memory).items():
            if mask is not self._everyone:
                value = np.where(mask.reshape(-1, *[1] * (value.ndim - 1)), value, np.zeros((), value.dtype))
            info[name], info[f"_{name}"] = value, mask
        if ending is not None and ending.any():
            reasons = [self.bodies.failure(code) for code in ending]
            failed = np.array([reason is not None for reason in reasons])
            if failed.any():
                info["failure"], info["_failure"] = np.array(reasons, object), failed
        return info

    def save(self) -> Snapshot:
        """Copy the state of all rows, generators included."""
        done = self._done.copy() if self._over else np.zeros_like(self._done)
        return self.bodies.save() | {"elapsed": self._elapsed.copy(), "done": done}

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a state that ``save`` gave; the future then repeats itself exactly."""
        self.bodies.restore(snapshot)
        self._elapsed[:] = snapshot["elapsed"]
        self._done = snapshot["done"].copy()
        self._over = bool(self._done.any())
