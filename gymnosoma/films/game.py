"""Interactive window to steer an animal with the keyboard."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

import gymnasium
import numpy as np
import pygame

from gymnosoma.agents.controllers import steering
from gymnosoma.agents.policies.agent import ControllerAgent
from gymnosoma.agents.policies.registry import task_class
from gymnosoma.envs.core.draw.canvas import GOAL, INK, MUTED, PLATE, WARM, Canvas
from gymnosoma.envs.core.draw.view import View, Window, open_display
from gymnosoma.envs.wrappers import wrap

SLOWER = (1, 2, 4, 8)
"""Slow-motion factors."""

KEYS = (("space", "pause"), ("T", "slow motion"), ("R", "start again"), ("H", "hide this"), ("esc", "leave"))


class Steering(Protocol):
    """Controller operated by a user, defined as ``Steering`` in ``controllers/<animal>.py``.

    It is a `Controller` or a `TaskController`, constructed with the task, and runs at ``control_rate`` Hz.
    """

    reads: tuple[str, ...]
    control_rate: float
    keys: tuple[tuple[str, str], ...]
    parameters: Mapping[str, float]

    def hold(self, keys: AbstractSet[str], dt: float) -> None:
        """Apply the ``keys`` (pygame's names) held down for ``dt`` s; called once before each ``drive``."""

    def press(self, key: str) -> None:
        """Handle a key press, which may change ``parameters`` of the animal."""

    def state(self) -> str:
        """Return a description of the current drive."""


class Game:
    """Window with one animal. Call ``turn`` repeatedly while it is ``running``.

    Raises:
        ValueError: If the animal cannot be steered by hand, or if no display is available.
    """

    def __init__(
        self,
        env_id: str,
        seed: int = 0,
        width: int = 960,
        height: int = 540,
        options: Mapping[str, Any] | None = None,
        **env: Any,
    ) -> None:
        task = task_class(env_id)
        make = steering(task)
        if make is None:
            raise ValueError(f"id must have an animal that can be steered by hand, got {env_id!r}")
        by_hand = next(mode for mode in task.action_modes if mode != "residual")
        env = {"control_rate": make.control_rate, "actions": by_hand, **env}
        wrappers = env.pop("wrappers", None)
        bare: Any = gymnasium.make(env_id, render_mode="rgb_array", width=width, height=height, **env).unwrapped
        self._env = wrap(bare, wrappers)  # without its time limit
        bare.batch.options.read(options, 1)
        instead = "run play on a computer with a screen, or through ssh -X"
        open_display(instead)
        self.task = bare.task
        self._view: View = bare.view
        self.steering: Steering = make(self.task)
        title = f"{env_id}: steer with the arrow keys"
        self._window = Window((width, height), title, instead)
        self._view.canvas.close = True
        self._agent = ControllerAgent(self.steering, self.task)
        self._keys: set[str] = set()
        self._slow, self._options = 0, dict(options or {})
        self.paused, self._hidden = False, False
        self._start(seed)

    @property
    def running(self) -> bool:
        """Whether the window is open."""
        return not self._window.closed

    def _start(self, seed: int | None = None) -> None:
        self._observation, _ = self._env.reset(seed=seed, options=self._options)
        self._first, self._ending = True, ""

    def turn(self) -> None:
        """Read the keys, advance the animal by one control period, and draw it."""
        pressed = set()  # keys pressed in this turn, even if released again
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                self.close()
                return
            if event.type == pygame.KEYDOWN:
                self._press(key := pygame.key.name(event.key))
                pressed.add(key)
            elif event.type == pygame.KEYUP:
                self._keys.discard(pygame.key.name(event.key))
        if not self.running:
            return
        if not (self.paused or self._ending):
            self._move(self._keys | pressed)
        fps = self._view.fps / SLOWER[self._slow]
        canvas = self._view.draw(fps=fps)
        self._write(canvas)
        self._window.show(canvas, fps)

    def _press(self, key: str) -> None:
        self._keys.add(key)
        if key == "escape":
            self.close()
        elif key == "space":
            self.paused = not self.paused
        elif key == "r":
            self._start()
        elif key == "t":
            self._slow = (self._slow + 1) % len(SLOWER)
        elif key == "h":
            self._hidden = not self._hidden
        else:
            self.steering.press(key)

    def _move(self, keys: AbstractSet[str]) -> None:
        self.steering.hold(keys, 1.0 / self.task.control_rate)
        self._env.unwrapped.set_parameters(**self.steering.parameters)
        action = self._agent.act(self._observation[None], np.array([self._first]))[0]
        self._observation, _, ended, _, info = self._env.step(action)
        self._first = False
        if ended:
            self._ending = self._env.unwrapped.failures[info["failure"]] or "the goal is reached"

    def _write(self, canvas: Canvas) -> None:
        if self._ending or self.paused:
            text = f"{self._ending}: R starts again" if self._ending else "paused"
            failed = self._ending and self._ending != "the goal is reached"
            canvas.label(text, (0.4 * canvas.width, 66), WARM if failed else GOAL, 18, (0.5, 0.5), back=PLATE)
        canvas.label(self.steering.state(), (24, 78), INK, 12, back=PLATE)
        if self._hidden:
            return
        for k, (key, meaning) in enumerate((*self.steering.keys, *KEYS)):
            y = 104.0 + 17.0 * k
            canvas.label(key, (24, y), INK, 11, back=PLATE)
            canvas.label(meaning, (98, y), MUTED, 11, back=PLATE)

    def close(self) -> None:
        """Close the window."""
        self._window.close()
        self._env.close()
