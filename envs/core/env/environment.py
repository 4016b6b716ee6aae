"""The environment of one animal, and what it shares with the one of many."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Dict
from numpy.typing import ArrayLike, NDArray

from ..arguments import DISPLAYS
from .batch import RENDER_MODES, Batch, Snapshot
from .spec import GOALS, LIMIT

if TYPE_CHECKING:
    from ..draw.view import View
    from .task import Task


class _TaskDocumentation:
    """``__doc__`` of the class as written; of an environment, the documentation of its task."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, env: Any, kind: type) -> str | None:
        if env is None:
            return self._text
        from .documentation import describe

        task, history = env.batch.task, env.batch.frames.shape[1]
        # The specification of the innermost environment lacks what wrappers do.
        spec = None if env.spec is None else gymnasium.registry.get(env.spec.id)
        if spec is None:
            return describe(task, history)
        return describe(task, history, spec.id, spec.max_episode_steps, spec.reward_threshold)


def render_modes() -> list[str]:
    """Render modes that work here: a window needs a display, and Gymnasium's ``check_env`` opens one of each."""
    windowless = sys.platform == "linux" and not DISPLAYS & os.environ.keys()
    return [mode for mode in RENDER_MODES if not (windowless and mode == "human")]


class Shared:
    """What both environments offer beside Gymnasium's interface."""

    batch: Batch

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if isinstance(cls.__doc__, str):
            cls.__doc__ = _TaskDocumentation(cls.__doc__)  # type: ignore[assignment]

    @property
    def task(self) -> Task:
        """The task, and with it the animal."""
        return self.batch.task

    @property
    def view(self) -> View | None:
        """View that draws the animals and holds their trails; None without a ``render_mode``."""
        return self.batch.view

    def set_parameters(self, **values: ArrayLike) -> None:
        """Set physical parameters now, in the middle of the episode, one value or one per row.

        Raises:
            ValueError: For an unknown name, or a value that is not possible.
        """
        self.batch.set_parameters(values)

    def set_randomize(self, randomize: Mapping[str, Any] | None) -> None:
        """Draw parameters and options otherwise from the next episodes on; ``randomize`` is as of the constructor.

        Raises:
            ValueError: For what cannot be drawn.
        """
        self.batch.options.set_randomize(randomize)

    def _spaces(self) -> tuple[Any, Box]:
        """Make the observation and action space of one row."""
        history, *shape = self.batch.frames.shape[1:]
        shape[-1] *= history
        observations: Any = Box(-LIMIT, LIMIT, tuple(shape), np.float32)
        if self.batch.pixels is not None:
            observations = Box(np.uint8(0), np.uint8(255), tuple(shape), np.uint8)
        if self._goals:
            if self.batch.pixels is not None:
                raise ValueError("observation must be 'fields' with goal=True, got 'pixels'")
            goal = Box(-LIMIT, LIMIT, (2,), np.float32)
            rest = Box(-LIMIT, LIMIT, (history * (shape[-1] // history - 4),), np.float32)
            observations = Dict({"observation": rest, "achieved_goal": goal, "desired_goal": goal})
        return observations, Box(-1.0, 1.0, (self.task.action_size,), np.float32)

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any = None) -> Any:
        """Rewards for goals (..., 2) as they are observed, with ``goal=True``; ``info`` is not read."""
        if not self._goals:
            raise ValueError("compute_reward needs goal=True, which WormReach and LampreyWaypoints have")
        rewards = self.task.compute_reward(achieved_goal, desired_goal)  # type: ignore[attr-defined]
        return rewards if rewards.ndim else float(rewards)

    _goals = False
    """Whether observations are mappings with goals."""

    def _formed(self, observations: NDArray[Any]) -> Any:
        """Bring observations (B, ...) into the form of the space: with ``goal=True`` a mapping."""
        if not self._goals:
            return observations
        frames = observations.reshape(len(observations), self.batch.frames.shape[1], -1)
        size = frames.shape[2] - 4
        return {
            "observation": frames[:, :, :size].reshape(len(observations), -1),
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
        if not self.batch.rngs:
            raise ResetNeeded("no episode has begun: call reset() before render()")
        return None if self.view.human else tuple(self.view.draw(i).array() for i in range(len(self.batch.rows)))

    def _close_window(self) -> None:
        if self.view is not None:
            self.view.close()


class BodyEnv(Shared, gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
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
        >>> lamprey = gymnasium.make("gymnosoma/LampreyEscape-v0", actions="brainstem", circuit=cord)
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
        self.batch = Batch(task, 1, render_mode=render_mode, **arguments)
        self._goals = GOALS[1] in self.task.layout.slices
        self.render_mode = render_mode
        self.metadata = self.metadata | {"render_modes": render_modes(), "render_fps": self.batch.fps}
        observation, action = self._spaces()
        self.observation_space: Any = observation
        self.action_space: Any = action
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
        values, events, keep = self.batch.options.read(options, 1)
        super().reset(seed=seed)
        self._ended = True  # until all went well
        self.batch.rngs = [self.np_random]
        self.batch.reset(self.batch.ids, values, events, keep)
        self._ended = False
        self._show()
        return self._row(self.batch.observe(self.batch.ids[:0])), self._info()

    def _row(self, observations: NDArray[Any]) -> Any:
        """Return the observation of the only animal."""
        return (
            {name: value[0] for name, value in self._formed(observations).items()} if self._goals else observations[0]
        )

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
        batch = self.batch
        rewards, ending = batch.step(batch.check_actions(action, alone=True), batch.ids)
        self._ended = bool(ending[0] != 0.0 or batch.rows["status"][0] != 0.0)
        observation = self._row(batch.observe(batch.ids))
        info = self._info()
        if self._ended:
            failure = batch.failure(0, ending)
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
        return {name: value[0] for name, value in self.batch.info().items()}

    def save(self) -> Snapshot:
        """Copy the state of the environment, generator included (not that of wrappers)."""
        return self.batch.save() | {"ended": self._ended}

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a state that ``save`` gave; the future then repeats itself exactly."""
        self.batch.restore(snapshot)
        if self.batch.rngs:
            self._np_random = self.batch.rngs[0]
        self._ended = bool(snapshot.get("ended", True))
