"""Films and still images of episodes and of simulated trajectories."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import gymnasium
import numpy as np
import pygame

from gymnosoma.agents.policies.agent import Policy
from gymnosoma.agents.policies.lookup import find_policy, stand_in
from gymnosoma.agents.policies.registry import references_of
from gymnosoma.agents.support.files import check_saved, result
from gymnosoma.agents.support.interruption import noted_signals
from gymnosoma.agents.support.progress import progress_bar
from gymnosoma.envs.core.arguments import number, whole
from gymnosoma.envs.core.draw.canvas import Canvas
from gymnosoma.envs.core.draw.view import Scene, View, Window, open_display
from gymnosoma.envs.core.env.environment import FASTEST, LARGEST_FRAME, SMALLEST_FRAME
from gymnosoma.envs.core.model.trajectory import Trajectory
from gymnosoma.envs.wrappers import make_vec

FORMATS = (".mp4", ".gif", ".png")
"""File suffixes of films and still images."""

INSTEAD = "without one, save a film or still image with --save"
"""Advice for machines without a display."""

GIF_RATE = 25.0
"""Maximum frame rate of a GIF, Hz. The duration of its frames is a multiple of 0.01 s."""


class Shown(Protocol):
    """Film to show: iterate over its moments, and call ``draw`` for those that become frames."""

    fps: float
    size: tuple[int, int]

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[None]: ...

    def draw(self, fps: float | None = None) -> Canvas:
        """Draw the current moment for playback at ``fps``."""

    def close(self) -> None:
        """Release all resources."""


class _Actor:
    """Policy with a separate environment, for one episode."""

    def __init__(self, env_id: str, policy: Policy, seed: int, options: Mapping[str, float], **env: Any) -> None:
        envs: Any = make_vec(env_id, num_envs=1, render_mode="rgb_array", **policy.env | env)
        self.envs = envs
        self.view: View = self.envs.view
        self.trail = self.view.trails[0]
        self._agent = policy.make(self.envs, 0)
        self._observations, _ = self.envs.reset(seed=seed, options=dict(options))
        self._first = np.ones(1, np.bool_)
        self.ending = False

    def step(self) -> None:
        """Take a step, or keep the last state after the end of the episode."""
        if self.ending:
            return
        actions = self._agent.act(self._observations, self._first)
        self._observations, _, terminated, truncated, _ = self.envs.step(actions)
        self._first = np.zeros(1, np.bool_)
        self.ending = bool(terminated[0] or truncated[0])


class Film:
    """Film of one episode: iterate over its moments, and call ``draw`` for those that become frames.

    Args:
        ghost: Second policy, drawn as a translucent overlay. It plays a separate environment with the same seed.
        seed: Seed of the episode.
        seconds: Simulated time, s. By default, the whole episode.
        width, height: Size of a frame, in pixels.
        options: Reset options.
        **env: Arguments of the environment. ``control_rate`` (Hz) is also the rate of the moments.
    """

    def __init__(
        self,
        env_id: str,
        policy: Policy,
        ghost: Policy | None = None,
        *,
        seed: int = 0,
        seconds: float | None = None,
        width: int = 960,
        height: int = 540,
        options: Mapping[str, float] | None = None,
        **env: Any,
    ) -> None:
        if seconds is not None:
            number("seconds", seconds, above=0)
        env |= {"width": width, "height": height}
        self._actor = _Actor(env_id, policy, seed, options or {}, **env)
        self._ghost = None if ghost is None else _Actor(env_id, ghost, seed, options or {}, **env)
        if ghost is not None and self._ghost is not None:
            self._actor.trail.name, self._ghost.trail.name = policy.name, ghost.name
        limit = gymnasium.spec(env_id).max_episode_steps
        steps = np.inf if seconds is None else max(1, round(seconds * self._actor.view.task.control_rate))
        self.count = int(min(steps, np.inf if limit is None else limit))
        self.fps = self._actor.view.fps
        self.size = width, height

    def __len__(self) -> int:
        """Return the maximum number of moments."""
        return self.count

    def __iter__(self) -> Iterator[None]:
        """Advance moment by moment until the episode or the time is over."""
        for _ in range(self.count):
            if self._actor.ending:
                return
            for actor in (self._actor, self._ghost):
                if actor is not None:
                    actor.step()
            yield

    def draw(self, fps: float | None = None) -> Canvas:
        """Draw the current moment for playback at ``fps``; a ghost disappears after its episode."""
        ghost = None if self._ghost is None else self._ghost.trail
        if ghost and ghost.rows["time"][-1] < self._actor.trail.rows["time"][-1]:
            ghost = None
        return self._actor.view.draw(0, ghost, fps)

    def close(self) -> None:
        """Close the environments."""
        for actor in (self._actor, self._ghost):
            if actor is not None:
                actor.envs.close()


class Replay:
    """Film of a trajectory, with the interface of `Film`. It shows the animal without a goal.

    Arguments and errors are those of `gymnosoma.films.film`.
    """

    def __init__(
        self,
        run: Trajectory,
        width: int = 960,
        height: int = 540,
        *,
        fps: float = FASTEST,
        slow: float = 1.0,
        start: float = 0.0,
        end: float | None = None,
    ) -> None:
        if run.animal is None or run.rows is None:
            raise ValueError(
                "run must contain its animal: use a trajectory from simulate(), or Trajectory.load(path, animal) for "
                "a file"
            )
        for name, value in (("width", width), ("height", height)):
            whole(name, value, SMALLEST_FRAME, LARGEST_FRAME)
        check_playback(fps, slow)
        number("start", start, minimum=0, maximum=float(run.time[-1]))
        end = float(run.time[-1] if end is None else number("end", end, minimum=start))
        rate = 1.0 / (run.every or float(run.time[1] - run.time[0])) if len(run.time) > 1 else fps
        stride = max(1, round(rate / (fps * slow)))
        self._rows = run.rows[::stride]
        times = run.time[::stride]
        self._first = int(np.searchsorted(times, start - 0.5 / rate))
        self._count = max(1, int(np.searchsorted(times, end + 0.5 / rate)) - self._first)
        self.fps = rate / stride / slow
        self.size = width, height
        scene = Scene(run.animal, rate / stride, float(run.time[-1]))
        self.view = View(scene, 1, width, height, self.fps, False)

    def __len__(self) -> int:
        """Return the number of moments."""
        return self._count

    def __iter__(self) -> Iterator[None]:
        """Advance moment by moment."""
        memory = np.zeros((), self.view.task.memory)
        self.view.trails[0].clear()
        for k, row in enumerate(self._rows[: self._first + self._count]):
            self.view.trails[0].record(row, memory)
            if k >= self._first:
                yield

    def draw(self, fps: float | None = None) -> Canvas:
        """Draw the current moment for playback at ``fps``."""
        return self.view.draw(0, None, fps)

    def close(self) -> None:
        """Close the film; it has no resources to release."""


def check_playback(fps: float, slow: float) -> None:
    """Raise ValueError unless frame rate (Hz) and slow-motion factor are in range."""
    number("fps", fps, above=0, maximum=1000)
    number("slow", slow, minimum=1e-6, maximum=1e6)


def show_episode(
    env_id: str,
    policy: str,
    save: Path | None = None,
    seconds: float | None = None,
    *,
    seed: int = 0,
    ghost: str | None = "baseline",
    width: int = 960,
    height: int = 540,
    **how: Any,
) -> int:
    """Show one episode in a window, or save it. Ctrl-C ends it and keeps the frames drawn until then.

    Args:
        policy, ghost: Names for `find_policy`. The ghost is drawn only if it differs from the policy. A reference
            plays in the conditions of its paper, unless ``split`` is an argument.
        save: Output file: ``.mp4`` or ``.gif`` for a film, ``.png`` for the last frame. By default, a window opens.
        seconds, seed, width, height: Arguments of `Film`.
        **how: Further arguments of `Film`.

    Returns:
        int: Number of moments played.

    Raises:
        ValueError: If an argument is invalid, or if no display is available for the window.
    """
    if save is not None:
        check_saved("save", [[save]], FORMATS)
    ghost = ghost if ghost != "baseline" or references_of(env_id) else None
    policy = stand_in(env_id, policy)
    if policy in references_of(env_id):
        how = {"split": "paper"} | how
    shadow = None if ghost in (None, policy) else find_policy(env_id, str(ghost))
    actor = find_policy(env_id, policy, seed)
    film = Film(env_id, actor, shadow, seed=seed, seconds=seconds, width=width, height=height, **how)
    if save is None:
        open_display(INSTEAD)  # after the arguments: a message about them helps on any computer
    return play(film, env_id, save)


def play(film: Shown, title: str, path: Path | None = None, name: str = "save") -> int:
    """Show a film in a window, or save it, and return the number of moments.

    Ctrl-C ends the film and keeps the frames drawn until then.

    Args:
        title: Title of the window.
        path: Output file. By default, a window opens.
        name: Name of the argument for error messages about the file.
    """
    count = 0
    try:
        with noted_signals(signal.SIGINT) as caught, progress_bar(film, unit="frame", leave=False) as bar:

            def moments() -> Iterator[None]:
                nonlocal count
                for _ in bar:
                    count += 1
                    yield
                    if caught:
                        return

            if path is None:
                _show(film, moments(), title)
            else:
                with result(name, path) as file:
                    {".mp4": _save_mp4, ".gif": _save_gif, ".png": _save_png}[path.suffix](film, moments(), file)
    finally:
        film.close()
    return count


def _show(film: Shown, moments: Iterator[None], title: str) -> None:
    window = Window(film.size, title, INSTEAD)
    try:
        for _ in moments:
            window.show(film.draw(), film.fps)
            if window.closed:
                return
    finally:
        window.close()


def _save_mp4(film: Shown, moments: Iterator[None], path: Path) -> None:
    import imageio.v2

    writer: Any = imageio.v2.get_writer(path, fps=film.fps, quality=8, macro_block_size=2)
    with writer:
        for _ in moments:
            writer.append_data(film.draw().array())


def _save_gif(film: Shown, moments: Iterator[None], path: Path) -> None:
    from PIL import Image

    stride = int(np.ceil(film.fps / GIF_RATE))
    ends = np.rint(100.0 * stride / film.fps * np.arange(len(film) + 1)).astype(int)
    durations = (10 * np.diff(ends)).tolist()
    images = (
        Image.fromarray(film.draw().array()).quantize(128, dither=Image.Dither.NONE)
        for _ in islice(moments, 0, None, stride)
    )
    next(images).save(path, save_all=True, append_images=images, duration=durations, loop=0)


def _save_png(film: Shown, moments: Iterator[None], path: Path) -> None:
    for _ in moments:
        pass
    pygame.image.save(film.draw().frame(), path)
