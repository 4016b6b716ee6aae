"""Gymnasium environment of one animal, and the interface it shares with the vector environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box
from numpy.typing import ArrayLike, NDArray

from ..arguments import DISPLAYS, choice, plain
from .batch import RENDER_MODES, Snapshot, TaskBatch
from .spec import LIMIT, Layout

if TYPE_CHECKING:
    from ..draw.view import View
    from .task import Task


class _TaskDocumentation:
    """``__doc__`` of an environment class; on an environment, the documentation of its task."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, env: Any, kind: type) -> str | None:
        if env is None:
            return self._text
        from .documentation import describe

        task, history = env.batch.task, env.batch.frames.shape[1]
        # The registered spec has the time limit, which the spec of the innermost environment lacks.
        spec = None if env.spec is None else gymnasium.registry.get(env.spec.id)
        if spec is None:
            return describe(task, history)
        return describe(task, history, spec.id, spec.max_episode_steps, spec.reward_threshold)


class Spec(EnvSpec):
    """Gymnasium's spec, with arguments that ``to_json`` writes as plain data."""

    def to_json(self) -> str:
        """Return the spec as JSON, from which ``EnvSpec.from_json`` makes an equal environment.

        Raises:
            ValueError: If an argument contains a function or other code; the message names it.
        """
        arguments = {}
        for name, value in self.kwargs.items():
            try:
                arguments[name] = plain(str(value) if isinstance(value, Path) else value)
            except TypeError as error:
                raise ValueError(f"{name} must be plain data to be written as JSON: {error}") from None
        return EnvSpec.to_json(replace(self, kwargs=arguments))


def render_modes() -> list[str]:
    """Return the render modes available here: a window needs a display.

    Gymnasium's ``check_env`` makes an environment with each of them.
    """
    windowless = sys.platform == "linux" and not DISPLAYS & os.environ.keys()
    return [mode for mode in RENDER_MODES if not (windowless and mode == "human")]


class EnvMixin:
    """Methods and properties that both environments add to Gymnasium's interface."""

    batch: TaskBatch

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if isinstance(cls.__doc__, str):
            cls.__doc__ = _TaskDocumentation(cls.__doc__)  # type: ignore[assignment]

    @property
    def spec(self) -> Spec | None:
        """Spec that Gymnasium sets, for ``gymnasium.make(spec)``."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        self._spec = None if spec is None else Spec(**{f.name: getattr(spec, f.name) for f in fields(spec) if f.init})

    _spec: Spec | None = None

    @property
    def task(self) -> Task:
        """Task of the environment; ``task.animal`` is the animal."""
        return self.batch.task

    @property
    def view(self) -> View | None:
        """View that draws the animals and keeps their recent states; None without a ``render_mode``."""
        return self.batch.view

    def set_parameters(self, **values: ArrayLike) -> None:
        """Set physical parameters in the middle of an episode.

        Args:
            **values: Value in SI by name of the parameter, for all rows or one per row.

        Raises:
            ValueError: If a name is unknown or a value is out of range.
        """
        self.batch.set_parameters(values)

    def set_randomize(self, randomize: Mapping[str, Any] | None) -> None:
        """Replace the distributions of parameters and options, starting with the next episodes.

        Args:
            randomize: As in the constructor; None draws no values.

        Raises:
            ValueError: If a name is unknown or a distribution is invalid.
        """
        self.batch.options.set_randomize(randomize)

    @property
    def layout(self) -> Layout:
        """Fields of the observation."""
        return self.task.layout

    def signal(self, name: str) -> NDArray[Any]:
        """Return a signal of the animal in SI, which is listed on the page of the animal.

        Args:
            name: Name of the signal, such as ``"joint_rate"``.

        Returns:
            array (...), or (num_envs, ...) of a vector environment

        Raises:
            ValueError: If the animal has no such signal.
        """
        choice("name", name, self.task.animal.signals)
        values = self.task.animal.signal(self.batch.rows, name)
        return values[0] if isinstance(self, gymnasium.Env) else values

    def save(self) -> Snapshot:
        """Copy the states of all animals and their random generators, without the state of wrappers."""
        return self.batch.save()

    def restore(self, snapshot: Snapshot) -> None:
        """Return to a state from ``save``; the same actions then give exactly the same results."""
        self.batch.restore(snapshot)

    def _spaces(self) -> tuple[Box, Box]:
        """Return the observation space and the action space of one row."""
        observations = Box(-LIMIT, LIMIT, (self.batch.frames[0].size,), np.float32)
        return observations, Box(-1.0, 1.0, (self.task.action_size,), np.float32)

    def _show(self) -> None:
        """Update the window, if there is one."""
        if self.view is not None:
            self.view.show()

    def _pictures(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Return frames (height, width, 3) of all rows, or None in a window or without a render mode."""
        if self.view is None:
            gymnasium.logger.warn("render() needs a render_mode: pass render_mode='rgb_array' or 'human', got None")
            return None
        if not self.batch.rngs:
            raise ResetNeeded("no episode has begun: call reset() before render()")
        return None if self.view.human else tuple(self.view.draw(i).array() for i in range(len(self.batch.rows)))

    def _close_window(self) -> None:
        if self.view is not None:
            self.view.close()


class BodyEnv(EnvMixin, gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):  # type: ignore[misc]
    """Gymnasium environment of one animal with one task.

    Args:
        task: Module and class of the task; set at registration.
        render_mode ({None, "rgb_array", "human"}): With ``"rgb_array"``, ``render`` returns frames; with ``"human"``, a
            window shows the animal.
        history: Number of observations stacked into one, oldest first, for tasks with hidden state.
        randomize: Mapping of names to distributions, for physical parameters and task options to draw for every
            episode. A distribution is a pair (low, high), a `gymnosoma.envs.Uniform`, `LogUniform`, `Normal` or
            `Choice`, a mapping such as ``{"distribution": "LogUniform", "low": 0.5, "high": 2.0}``, or a function of a
            random generator, which ``spec.to_json`` refuses.
        split ({None, "paper", "train", "within", "test", "robust"}): Part of the ranges of the task's hidden options.
            ``"paper"``: the conditions of the paper, as far as it states them, such as no curl and the printed drag.
            None: the whole range. ``"train"``: the range without the held-out parts. ``"within"``: held-out parts
            inside the range. ``"test"``: held-out parts at its ends. ``"robust"``: the whole range, with parameters of
            the body multiplied by factors from 0.7 to 1.3.
        threads: Accepted for compatibility with `BodyVectorEnv`; one animal uses one thread.
        width, height: Size of a rendered frame in pixels, 64 to 4096.
        **arguments: Arguments of the task, such as ``actions``, ``scheme``, ``dt``, ``control_rate`` and ``params``.
            ``params`` is an object with the animal's parameters, or a mapping of the parameters to change.

    Raises:
        TypeError: If an argument is unknown.
        ValueError: If the value of an argument is invalid; the message names the argument.

    Examples:
        A worm with weak muscles, and a signal of it that is not in the info; a lamprey with a changed spinal cord; a
        standing figure with a heavy torso; and a worm that follows a given kymogram:

        >>> import gymnasium, numpy
        >>> import gymnosoma.envs
        >>> weak = gymnasium.make("gymnosoma/WormSwim-v0", params={"stiffness": 1e-10})
        >>> observation, info = weak.reset(seed=0)
        >>> weak.unwrapped.signal("joint_rate").shape
        (24,)
        >>> cord = {"ends": "clamp", "head_segments": 20}
        >>> lamprey = gymnasium.make("gymnosoma/LampreyEscape-v0", actions="brainstem", circuit=cord)
        >>> heavy = {"body": {"torso": {"inertial": {"mass": 50.0}}}}
        >>> figure = gymnasium.make("gymnosoma/StandGains-v0", params=heavy)
        >>> angles = 0.5 * numpy.sin(numpy.linspace(0.0, 12.0, 200)[:, None] - numpy.linspace(0.0, 8.0, 24))
        >>> path = gymnasium.make("gymnosoma/WormFollow-v0", kymogram=angles)
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 40}  # noqa: RUF012 (Gymnasium's form)

    def __init__(self, task: str, render_mode: str | None = None, **arguments: Any) -> None:
        self.batch = TaskBatch(task, 1, render_mode=render_mode, **arguments)
        self.render_mode = render_mode
        self.metadata = self.metadata | {"render_modes": render_modes(), "render_fps": self.batch.fps}
        spaces: Any = self._spaces()
        self.observation_space, self.action_space = spaces

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Seed of the random generator; None continues with the present generator.
            options: Values of physical parameters and task options by name for this episode, and two special keys.
                ``events`` is a list of `Event` or mappings: changes during the episode. ``keep=True`` also applies the
                values and events to the following episodes, until another reset with ``keep``.

        Returns:
            observation, info

        Raises:
            ValueError: If an option is unknown or its value is invalid.
        """
        read = self.batch.options.read(options, 1)
        super().reset(seed=seed)
        self.batch.rngs = [self.np_random]
        self.batch.reset(self.batch.ids, *read)
        self._show()
        return self.batch.observations()[0], self._info()

    def step(self, action: ArrayLike) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Apply ``action`` for one control period; values outside [-1, 1] are clipped.

        Returns:
            observation, reward, terminated, truncated, info: ``info["failure"]`` is the reason if the episode failed,
                else empty. ``truncated`` is False; Gymnasium's wrapper applies the time limit.

        Raises:
            ValueError: If the action has the wrong shape or is not finite.
            ResetNeeded: If the episode has ended, or `reset` was not called.
        """
        batch = self.batch
        if batch.needs_reset[0]:
            raise ResetNeeded("the episode has ended or not begun: call reset()")
        observations, rewards = batch.step(batch.check_actions(action, alone=True))
        terminated = batch.terminated()
        self._show()
        return observations[0], float(rewards[0]), terminated, False, self._info()

    def render(self) -> NDArray[np.uint8] | None:
        """Draw the current state.

        Returns:
            (height, width, 3) array of uint8, or None: The frame; None if a window shows it.
        """
        frames = self._pictures()
        return None if frames is None else frames[0]

    def close(self) -> None:
        """Close the window, if there is one; may be called twice."""
        self._close_window()

    def _info(self) -> dict[str, Any]:
        infos = self.batch.infos()
        info = {name: infos[name][0] for name in infos.dtype.names or ()}
        info["failure"] = self.batch.failures()[0]
        return info

    def restore(self, snapshot: Snapshot) -> None:  # noqa: D102
        super().restore(snapshot)
        if self.batch.rngs:
            self._np_random = self.batch.rngs[0]
