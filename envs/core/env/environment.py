"""The environments: one animal (`BodyEnv`) or many (`BodyVectorEnv`). Only this file knows Gymnasium."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Dict
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from ..arguments import DISPLAYS, number, numbers, shown
from ..model.spec import LIMIT
from .documentation import describe
from .goals import GOALS
from .rows import RENDER_MODES, Simulation, Snapshot

if TYPE_CHECKING:
    from ..draw.view import View
    from .task import Task


def _is_seed(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 0


class _TaskDocumentation:
    """``__doc__`` of the class as written; of an environment, the documentation of its task."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, env: BodyEnv | BodyVectorEnv | None, kind: type) -> str | None:
        if env is None:
            return self._text
        task, history = env.simulation.task, env.simulation.frames.shape[1]
        # The specification of the innermost environment lacks what wrappers do.
        spec = None if env.spec is None else gymnasium.registry.get(env.spec.id)
        if spec is None:
            return describe(task, history)
        return describe(task, history, spec.id, spec.max_episode_steps, spec.reward_threshold)


def _render_modes() -> list[str]:
    """Render modes that work here: a window needs a display, and Gymnasium's ``check_env`` opens one of each."""
    windowless = sys.platform == "linux" and not DISPLAYS & os.environ.keys()
    return [mode for mode in RENDER_MODES if not (windowless and mode == "human")]


class _Shared:
    """What both environments offer beside Gymnasium's interface."""

    simulation: Simulation

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if isinstance(cls.__doc__, str):
            cls.__doc__ = _TaskDocumentation(cls.__doc__)  # type: ignore[assignment]

    @property
    def task(self) -> Task:
        """The task, and with it the animal."""
        return self.simulation.task

    @property
    def view(self) -> View | None:
        """View that draws the animals and holds their trails; None without a ``render_mode``."""
        return self.simulation.view

    def set_parameters(self, **values: ArrayLike) -> None:
        """Set physical parameters now, in the middle of the episode, one value or one per row.

        Raises:
            ValueError: For an unknown name, or a value that is not possible.
        """
        self.simulation.set_parameters(values)

    def set_randomize(self, randomize: Mapping[str, Any] | None, rows: NDArray[np.bool_] | None = None) -> None:
        """Draw parameters and options otherwise from the next episodes on.

        Args:
            randomize: As of the constructor; it replaces what was drawn.
            rows ((B,) bool): Rows in which it does; all by default.

        Raises:
            ValueError: For what cannot be drawn, or rows that there are not.
        """
        self.simulation.set_randomize(randomize, rows)

    def _spaces(self) -> tuple[Any, Box]:
        """Observation and action space of one row."""
        history, *shape = self.simulation.frames.shape[1:]
        shape[-1] *= history
        seen: Any = Box(-LIMIT, LIMIT, tuple(shape), np.float32)
        if self.simulation.pixels is not None:
            seen = Box(np.uint8(0), np.uint8(255), tuple(shape), np.uint8)
        if self._goals:
            if self.simulation.pixels is not None:
                raise ValueError("observation must be 'fields' with goal=True, got 'pixels'")
            goal = Box(-LIMIT, LIMIT, (2,), np.float32)
            rest = Box(-LIMIT, LIMIT, (history * (shape[-1] // history - 4),), np.float32)
            seen = Dict({"observation": rest, "achieved_goal": goal, "desired_goal": goal})
        return seen, Box(-1.0, 1.0, (self.task.action_size,), np.float32)

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any = None) -> Any:
        """Rewards for goals (..., 2) as they are observed, with ``goal=True``; ``info`` is not read.

        Raises:
            ValueError: Without ``goal=True``, or for goals of other shapes.
        """
        if not self._goals:
            raise ValueError("compute_reward needs goal=True, which WormReach and LampreyWaypoints have")
        goals = [
            numbers(name, value) for name, value in (("achieved_goal", achieved_goal), ("desired_goal", desired_goal))
        ]
        for name, value in zip(GOALS, goals, strict=True):
            if value.shape[-1:] != (2,) or value.shape != goals[0].shape:
                raise ValueError(f"{name} must have shape (..., 2), as the other goal, got {value.shape}")
        rewards = self.task.compute_reward(*goals)  # type: ignore[attr-defined]
        return rewards if rewards.ndim else float(rewards)

    _goals = False
    """Whether observations are mappings with goals."""

    def _formed(self, seen: NDArray[Any]) -> Any:
        """Observations (B, ...) in the form of the space: with ``goal=True`` a mapping."""
        if not self._goals:
            return seen
        frames = seen.reshape(len(seen), self.simulation.frames.shape[1], -1)
        size = frames.shape[2] - 4
        return {
            "observation": frames[:, :, :size].reshape(len(seen), -1),
            "achieved_goal": frames[:, -1, size : size + 2].copy(),
            "desired_goal": frames[:, -1, size + 2 :].copy(),
        }

    def _show(self) -> None:
        """Bring the window up to date, if there is one."""
        if self.view is not None:
            self.view.show()

    def _pictures(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Frames (height, width, 3) of all rows; None if a window shows the first, or nothing is drawn."""
        if self.view is None:
            gymnasium.logger.warn("render() draws nothing: render_mode is None, and can be 'rgb_array' or 'human'")
            return None
        if not self.simulation.rngs:
            raise ResetNeeded("no episode has begun: call reset() before render()")
        return None if self.view.human else tuple(self.view.draw(i).array() for i in range(len(self.simulation.rows)))

    def _close_window(self) -> None:
        if self.view is not None:
            self.view.close()


class BodyEnv(_Shared, gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """One animal with one task as a Gymnasium environment.

    Args:
        task: Set at registration: module and class of the task.
        render_mode ({None, "rgb_array", "human"})
        history: Observations stacked into one, oldest first, for tasks whose state is hidden.
        randomize: Name of a physical parameter or task option to what it is drawn from anew for every episode, by the
            environment's own generator: (low, high), a `gymnosoma.envs.LogUniform`, `Normal`, `Choice` or `Uniform`, or
            a function of a generator.
        split ({None, "train", "within", "test", "robust"}): Tasks that hide options draw them for every episode: from
            all of their ranges, without what is held out, or from that alone, in between or beyond; "robust": from all,
            for another body.
        threads: As of `BodyVectorEnv`, so that the same arguments make both; one animal moves in one.
        width, height: Of a rendered frame, in pixels.
        signals (sequence of str): Signals of the animal to be added to the info, such as ``("joint_rate",)``.
        observation ({"fields", "modes", "pixels"}): What is observed: numbers, joint by joint; numbers that do not
            depend on how many joints a body has; or a small picture (pixels, pixels, 3) of body, goal and medium, in
            which what the task hides is not drawn; more of them are stacked in the last axis.
        pixels: Width and height of that picture, 32 to 256.
        modes: With ``"modes"``, cosines along the body, whose amplitudes are observed instead of the joints' values.
        sensor_noise, sensor_dropout, sensor_step: Field of the observation to the standard deviation of its noise, to
            the probability with which a number of it reads 0, and to the step to whose multiples it is rounded; the
            first and the last in the field's unit.
        observation_delay, action_delay: Control periods by which observations are late, and actions.
        **arguments: Of the task, such as ``actions=``, ``scheme=``, ``dt=``, ``control_rate=``, and ``params=``: the
            animal's parameters, as an object of its own or as a mapping of what is to be changed.

    Raises:
        TypeError: For an unknown argument, in Python's own words.
        ValueError: For an impossible one, naming it.

    Examples:
        A worm with weak muscles and its joint rates in the info; a lamprey on a cord of another structure; a standing
        figure with a heavy torso; a path of one's own:

        >>> import gymnasium, numpy
        >>> import gymnosoma.envs
        >>> weak = gymnasium.make("gymnosoma/WormSwim-v0", params={"stiffness": 1e-10}, signals=["joint_rate"])
        >>> seen, info = weak.reset(seed=0)
        >>> info["joint_rate"].shape
        (24,)
        >>> cord = {"ends": "clamp", "head_segments": 20}
        >>> lamprey = gymnasium.make("gymnosoma/LampreyEscape-v0", actions="brainstem", cord=cord)
        >>> heavy = {"body": {"torso": {"inertial": {"mass": 50.0}}}}
        >>> figure = gymnasium.make("gymnosoma/StandPulse-v0", params=heavy)
        >>> angles = 0.5 * numpy.sin(numpy.linspace(0.0, 12.0, 200)[:, None] - numpy.linspace(0.0, 8.0, 24))
        >>> path = gymnasium.make("gymnosoma/WormFollow-v0", kymogram=angles)
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 40}  # noqa: RUF012 (Gymnasium's form)

    def __init__(
        self,
        task: str,
        render_mode: str | None = None,
        **arguments: Any,
    ) -> None:
        self.simulation = Simulation(task, 1, render_mode=render_mode, **arguments)
        self._goals = GOALS[1] in self.task.layout.slices
        self.render_mode = render_mode
        self.metadata = self.metadata | {"render_modes": _render_modes(), "render_fps": self.simulation.fps}
        observation, action = self._spaces()
        self.observation_space: Any = observation
        self.action_space: Any = action
        self._elapsed = np.zeros(1)
        self._ended = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode.

        Args:
            options: Values of physical parameters or of the task's options, for this episode; ``events``, a list of
                `Event` or mappings: what changes in its course; and ``keep``: True lets all of them stay for the
                episodes that follow, until a reset keeps others.

        Returns:
            observation, info
        """
        given, events, keep = self.simulation.options(options, 1)
        before = self._np_random, self._np_random_seed
        super().reset(seed=seed)
        try:
            self.simulation.begin([self.np_random], self.simulation.ids, given, events, keep)
        except Exception:
            self._np_random, self._np_random_seed = before
            raise
        self._ended = False
        self._show()
        return self._row(self.simulation.observe(self.simulation.ids[:0])), self._info()

    def _row(self, seen: NDArray[Any]) -> Any:
        """Observation of the animal, from those of all one of them."""
        return {name: value[0] for name, value in self._formed(seen).items()} if self._goals else seen[0]

    def step(self, action: ArrayLike) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Hold ``action`` for one control period; values beyond [-1, 1] are clipped.

        Returns:
            observation, reward, terminated, truncated, info: ``info["failure"]`` is there when the episode failed, and
                says why.

        Raises:
            ValueError: If the action has a wrong shape or is not finite.
        """
        if self._ended:
            raise ResetNeeded("the episode has ended or not begun: call reset()")
        simulation = self.simulation
        rewards, ending = simulation.step(simulation.check_actions(action, alone=True), simulation.ids)
        self._ended, *_ = simulation.close_step(ending, self._elapsed, np.inf)
        observation = self._row(simulation.observe(simulation.ids))
        info = self._info()
        if self._ended:
            failure = simulation.failure(0, ending)
            if failure is not None:
                info["failure"] = failure
        self._show()
        return observation, float(rewards[0]), self._ended, False, info

    def render(self) -> NDArray[np.uint8] | None:
        """Draw the present: a frame (height, width, 3), or None where a window shows it."""
        frames = self._pictures()
        return None if frames is None else frames[0]

    def close(self) -> None:
        """Close the window, if there is one; may be called twice."""
        self._close_window()

    def _info(self) -> dict[str, Any]:
        return {name: value[0] for name, value in self.simulation.info().items()}

    def save(self) -> Snapshot:
        """Copy the state of the environment, generator included (not that of wrappers)."""
        return self.simulation.save() | {"ended": self._ended}

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a state that ``save`` gave; the future then repeats itself exactly."""
        ended = snapshot.get("ended") if isinstance(snapshot, Mapping) else None
        if not isinstance(ended, bool | np.bool_) and isinstance(snapshot, Mapping):
            raise ValueError(f"snapshot: ended must be a bool, got {shown(ended)}")
        self.simulation.restore(snapshot)
        if self.simulation.rngs:
            self._np_random = self.simulation.rngs[0]
        self._ended = bool(ended)


class BodyVectorEnv(_Shared, VectorEnv[NDArray[np.float32], NDArray[np.float32], NDArray[Any]]):
    """Many animals with the same task; bit for bit what as many `BodyEnv` do.

    Row i is seeded ``seed + i``. Results do not depend on ``num_envs`` or ``threads``.

    Args:
        task, render_mode, history, randomize, split, width, height, signals: As for `BodyEnv`, as are all further
            arguments; the window of ``render_mode="human"`` shows the first animal.
        max_episode_steps: Steps after which an episode is truncated.
        autoreset_mode (AutoresetMode or str): NEXT_STEP (default): the step after an episode's end resets, ignoring the
            action. SAME_STEP: the ending step resets; ``info`` has ``final_obs`` and ``final_info``. DISABLED: the user
            resets with ``options={"reset_mask": mask}``.
        threads: Threads that advance the animals. With more than one, start worker processes by spawn or forkserver:
            numba's thread pool does not survive a fork.
    """

    metadata = BodyEnv.metadata

    def __init__(
        self,
        num_envs: int,
        task: str,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **arguments: Any,
    ) -> None:
        try:
            mode = AutoresetMode(autoreset_mode)
        except ValueError:
            known = ", ".join(mode.value for mode in AutoresetMode)
            raise ValueError(f"autoreset_mode must be one of {known}, got {shown(autoreset_mode)}") from None
        self.simulation = Simulation(task, num_envs, render_mode=render_mode, **arguments)
        self._goals = GOALS[1] in self.task.layout.slices
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.autoreset_mode = mode
        self.metadata = self.metadata | {
            "render_modes": _render_modes(),
            "render_fps": self.simulation.fps,
            "autoreset_mode": mode,
        }
        self.single_observation_space, self.single_action_space = self._spaces()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._limit = np.inf
        if max_episode_steps is not None:
            self._limit = number("max_episode_steps", max_episode_steps, minimum=1)
        self._elapsed = np.zeros(num_envs)
        self._done = np.zeros(num_envs, np.bool_)  # valid only while _over
        self._over = False
        self._seeds: list[int] = []
        self._everyone = np.ones(num_envs, np.bool_)
        self._everyone.flags.writeable = False  # shared by all infos

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Generators of the rows."""
        return tuple(self.simulation.rngs)

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

        Args:
            seed: An int seeds row i with ``seed + i``.
            options: Physical parameters and task options, each one value or one per row reset, and ``events``, as for
                `BodyEnv`, whose values may be one per row reset, too; valid for this reset, or with ``"keep": True``
                for the automatic ones, too, which otherwise draw from ``randomize`` and have no events.

        Returns:
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
                f"options: reset_mask must be a bool array of shape ({self.num_envs},) with a True, got {shown(mask)}"
            )
        elif not self.simulation.rngs:
            raise ResetNeeded("no episode has begun: the first reset() takes no reset_mask")
        else:
            mask = mask.copy()  # becomes part of the info
        ids = np.flatnonzero(mask)
        given, events, keep = self.simulation.options(options, len(ids))
        rngs, seeds = self._seeded(seed, ids)
        self.simulation.begin(rngs, ids, given, events, keep)
        self._seeds = seeds
        self._elapsed[ids] = 0.0
        self._done = self._done & ~mask if self._over else np.zeros(self.num_envs, np.bool_)
        self._over = bool(self._done.any())
        self._show()
        return self._formed(self.simulation.observe(ids[:0])), self._info(mask)

    def _seeded(
        self, seed: int | Sequence[int | None] | NDArray[np.int64] | None, ids: NDArray[np.int64]
    ) -> tuple[list[np.random.Generator], list[int]]:
        """Generators of all rows and their seeds, those of ``ids`` made anew where there is a seed."""
        count = self.num_envs
        if isinstance(seed, np.ndarray):
            seed = seed.tolist()
        if seed is None:
            seeds: Sequence[int | None] = [None] * count
        elif _is_seed(seed):
            seeds = [int(seed) + i for i in range(count)]  # type: ignore[arg-type]
        elif (
            isinstance(seed, list | tuple | range)
            and len(seed) == count
            and all(each is None or _is_seed(each) for each in seed)
        ):
            seeds = [None if each is None else int(each) for each in seed]
        else:
            raise ValueError(f"seed must be an int of at least 0, or {count} of them, got {shown(seed)}")
        rngs: list[Any] = list(self.simulation.rngs) or [None] * count
        own = list(self._seeds) or [0] * count
        for i in ids:
            if rngs[i] is None or seeds[i] is not None:
                rngs[i], own[i] = seeding.np_random(seeds[i])
        return rngs, own

    def step(
        self, actions: ArrayLike
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Hold the actions for one control period; values beyond [-1, 1] are clipped.

        Returns:
            observations, rewards, terminations, truncations, infos: ``infos["failure"]`` holds the reason of each row
                that failed, ``infos["_failure"]`` which.

        Raises:
            ValueError: If the actions have a wrong shape or are not finite.
        """
        simulation, done = self.simulation, self._done
        if not simulation.rngs:
            raise ResetNeeded("no episode has begun: call reset()")
        checked = simulation.check_actions(actions)
        alive = simulation.ids
        if self._over:
            if self.autoreset_mode is AutoresetMode.DISABLED:
                raise ResetNeeded(f"episodes of rows {np.flatnonzero(done)} have ended: reset them with reset_mask")
            alive = np.flatnonzero(~done)
        rewards, ending = simulation.step(checked, alive)
        if self._over:
            ids = np.flatnonzero(done)
            simulation.reset(ids, {})
            self._elapsed[ids] = -1.0  # this step does not count
            ending[ids] = 0.0
            rewards[ids] = 0.0
        observations: Any = self._formed(simulation.observe(alive))
        self._show()
        self._over, terminated, truncated = simulation.close_step(ending, self._elapsed, self._limit)
        if not self._over:
            return observations, rewards, terminated, truncated, self._info(self._everyone)
        over = terminated | truncated
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            self._done = over
            return observations, rewards, terminated, truncated, self._info(self._everyone, ending)

        ids = np.flatnonzero(over)
        final = np.full(self.num_envs, None, object)
        for i in ids:
            final[i] = {k: v[i] for k, v in observations.items()} if self._goals else observations[i]
        final_info = self._info(over, ending)
        simulation.reset(ids, {})
        self._elapsed[ids] = 0.0
        self._over = False
        info = {"final_obs": final, "_final_obs": over, "final_info": final_info, "_final_info": over.copy()}
        now = self._formed(simulation.observe(ids[:0]))
        return now, rewards, terminated, truncated, info | self._info(self._everyone)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Draw the present: a frame (height, width, 3) of every animal, or None where a window shows the first."""
        return self._pictures()

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window, if there is one."""
        self._close_window()

    def _info(self, mask: NDArray[np.bool_], ending: NDArray[np.float64] | None = None) -> dict[str, Any]:
        """Info of the rows in ``mask``, in Gymnasium's form: each key with a mask of its rows."""
        info: dict[str, Any] = {}
        for name, value in self.simulation.info().items():
            if mask is not self._everyone:
                value = np.where(mask.reshape(-1, *[1] * (value.ndim - 1)), value, np.zeros((), value.dtype))
            info[name], info[f"_{name}"] = value, mask
        if ending is not None:
            reasons = [self.simulation.failure(i, ending) for i in range(self.num_envs)]
            failed = np.array([reason is not None for reason in reasons])
            if failed.any():
                info["failure"], info["_failure"] = np.array(reasons, object), failed
        return info

    def save(self) -> Snapshot:
        """Copy the state of all rows, generators included."""
        done = self._done.copy() if self._over else np.zeros_like(self._done)
        return self.simulation.save() | {"elapsed": self._elapsed.copy(), "done": done}

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a state that ``save`` gave; the future then repeats itself exactly."""
        if isinstance(snapshot, Mapping):
            for name, own in (("elapsed", self._elapsed), ("done", self._done)):
                value = snapshot.get(name)
                if not (isinstance(value, np.ndarray) and value.dtype == own.dtype and value.shape == own.shape):
                    raise ValueError(
                        f"snapshot: {name} must be an array of shape {own.shape} and {own.dtype}, got {shown(value)}"
                    )
            numbers("snapshot: elapsed", snapshot["elapsed"], minimum=0)
        self.simulation.restore(snapshot)
        self._elapsed[:] = snapshot["elapsed"]
        self._done = snapshot["done"].copy()
        self._over = bool(self._done.any())
