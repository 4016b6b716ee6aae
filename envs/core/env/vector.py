"""Vector environment of many animals with the same task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from gymnosoma.moved import points

from ..arguments import shown, whole
from .environment import BodyEnv, EnvMixin, TaskBatch, is_seed, render_modes


@points
class BodyVectorEnv(EnvMixin, VectorEnv[NDArray[np.float32], NDArray[np.float32], NDArray[Any]]):  # type: ignore[misc]
    """Vector environment of many animals with one task; each row equals a separate `BodyEnv`, bit for bit.

    Row i is seeded with ``seed + i``. Results do not depend on ``num_envs`` or ``threads``.

    Args:
        num_envs: Number of animals.
        task, render_mode, history, randomize, split, width, height: As for `BodyEnv`, like all further arguments.
            With ``render_mode="human"``, the window shows the first animal.
        max_episode_steps: Number of steps after which an episode is truncated; None: that of the id, if it was made
            from one; -1: no limit.
        autoreset_mode (AutoresetMode or str): NEXT_STEP (default): the step after the end of an episode resets the row
            and ignores its action. SAME_STEP: the step that ends an episode also resets the row; ``info`` has
            ``final_obs`` and ``final_info``. DISABLED: the user resets rows with ``options={"reset_mask": mask}``.
        threads: Number of threads. With more than one, start worker processes with spawn or forkserver, because numba's
            thread pool does not survive a fork.
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
            modes = ", ".join(mode.value for mode in AutoresetMode)
            raise ValueError(f"autoreset_mode must be one of {modes}, got {shown(autoreset_mode)}") from None
        self.batch = TaskBatch(task, num_envs, render_mode=render_mode, **arguments)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.autoreset_mode = mode
        self.metadata = self.metadata | {
            "render_modes": render_modes(),
            "render_fps": self.batch.fps,
            "autoreset_mode": mode,
        }
        self.single_observation_space, self.single_action_space = self._spaces()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        unlimited = isinstance(max_episode_steps, int) and max_episode_steps == -1
        if max_episode_steps is not None and not unlimited:
            whole("max_episode_steps", max_episode_steps, maximum=10**9)
        self._steps = np.inf if unlimited else max_episode_steps
        self._seeds: list[int] = []
        self._everyone = np.ones(num_envs, np.bool_)
        self._everyone.flags.writeable = False  # shared by all infos

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Random generators of the rows."""
        return tuple(self.batch.rngs)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """Seeds of the rows' generators; -1 if unknown."""
        return tuple(self._seeds)

    @property
    def _limit(self) -> float:
        """Number of steps after which an episode is truncated."""
        if self._steps is not None:
            return float(self._steps)
        return float((self.spec and self.spec.max_episode_steps) or np.inf)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start episodes in all rows, or in the rows of ``options["reset_mask"]``.

        Args:
            seed: An int seeds row i with ``seed + i``; a sequence has an int or None for each row. None continues with
                the present generators.
            options: Physical parameters, task options and ``events`` as for `BodyEnv`, each with one value or one per
                reset row. ``reset_mask`` is a bool array (num_envs,). With ``"keep": True``, the options also apply to
                automatic resets; by default, those draw from ``randomize`` without events.

        Returns:
            observations, info

        Raises:
            ValueError: If the seed, the mask or an option is invalid.
            ResetNeeded: If the first reset has a mask.
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
        elif not self.batch.rngs:
            raise ResetNeeded("no episode has begun: call reset() without reset_mask first")
        else:
            mask = mask.copy()  # becomes part of the info
        ids = np.flatnonzero(mask)
        read = self.batch.options.read(options, len(ids))
        self._seed(seed, ids)
        self.batch.reset(ids, *read)
        self._show()
        return self.batch.observations(), self._info(mask)

    def _seed(self, seed: int | Sequence[int | None] | NDArray[np.int64] | None, ids: NDArray[np.int64]) -> None:
        """Make new generators for those of ``ids`` that have a seed, and for all rows at the first reset."""
        count = self.num_envs
        seeds: Any = seed.tolist() if isinstance(seed, np.ndarray) else seed
        if seeds is None or is_seed(seeds):
            seeds = [None if seeds is None else int(seeds) + i for i in range(count)]
        if not (
            isinstance(seeds, list | tuple | range)
            and len(seeds) == count
            and all(each is None or is_seed(each) for each in seeds)
        ):
            raise ValueError(f"seed must be an int of at least 0, or a list of {count}, got {shown(seed)}")
        first = not self.batch.rngs
        if first:
            self.batch.rngs = [np.random.default_rng()] * count
        if not self._seeds:
            self._seeds = [-1] * count  # unknown, as after `restore`
        for i in ids:
            if first or seeds[i] is not None:
                self.batch.rngs[i], self._seeds[i] = seeding.np_random(None if seeds[i] is None else int(seeds[i]))

    def step(
        self, actions: ArrayLike
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Apply the actions for one control period; values outside [-1, 1] are clipped.

        Returns:
            observations, rewards, terminations, truncations, infos: ``infos["failure"]`` is the place of the reason
                in ``failures`` for each row that failed, and 0 for the others.

        Raises:
            ValueError: If the actions have the wrong shape or are not finite.
            ResetNeeded: If `reset` was not called, or a row must be reset first (DISABLED).
        """
        batch = self.batch
        if not batch.rngs:
            raise ResetNeeded("no episode has begun: call reset()")
        checked = batch.check_actions(actions)
        if self.autoreset_mode is AutoresetMode.DISABLED and np.count_nonzero(batch.needs_reset):
            ended = np.flatnonzero(batch.needs_reset)
            raise ResetNeeded(f"episodes of rows {ended} have ended: reset them with reset_mask")
        observations, rewards = batch.step(checked)
        terminated, truncated = batch.over(self._limit)
        self._show()
        if self.autoreset_mode is not AutoresetMode.SAME_STEP or not np.count_nonzero(batch.needs_reset):
            return observations, rewards, terminated, truncated, self._info(self._everyone)

        over = batch.needs_reset.copy()
        ids = np.flatnonzero(over)
        final = np.full(self.num_envs, None, object)
        for i in ids:
            final[i] = observations[i]
        batch.ended = batch.rows[ids], batch.memory[ids]
        info = {"final_obs": final, "_final_obs": over, "final_info": self._info(over), "_final_info": over.copy()}
        batch.reset(ids)
        return batch.observations(), rewards, terminated, truncated, info | self._info(self._everyone)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Draw the current state.

        Returns:
            tuple of (height, width, 3) arrays of uint8, or None: A frame per animal; None if a window shows the first
                one.
        """
        return self._pictures()

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window, if there is one."""
        self._close_window()

    def _info(self, mask: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the info of the rows in ``mask`` in Gymnasium's form, each key with a mask of its rows."""
        info: dict[str, Any] = {}
        for name, value in (self.batch.infos() | {"failure": self.batch.failures()}).items():
            if mask is not self._everyone:
                value = np.where(mask.reshape(-1, *[1] * (value.ndim - 1)), value, np.zeros((), value.dtype))
            info[name], info[f"_{name}"] = value, mask
        return info
