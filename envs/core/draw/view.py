"""What a picture is drawn from (`Trail`), and who draws it: a `View` of some animals, and a `Window`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pygame
from numpy.typing import NDArray

from ..arguments import DISPLAYS
from ..env.task import Task
from .canvas import INK, MUTED, PLATE, Canvas

MOMENTS = 600
"""Moments that a trail holds at most."""


@dataclass(frozen=True)
class Scene:
    """An animal without a task, as pictures see it: they show it without a goal.

    Args:
        control_rate: Moments a second.
        duration (s)
    """

    animal: Any
    control_rate: float
    duration: float
    memory = np.dtype([])


class Trail:
    """The last moments of one animal since its episode began.

    Args:
        state, memory (dtype): Records of the animal and of its task.
        name: Written beside the animal.
    """

    def __init__(self, state: np.dtype[Any], memory: np.dtype[Any], name: str = "") -> None:
        self.name = name
        self._rows, self._memory = np.zeros(2 * MOMENTS, state), np.zeros(2 * MOMENTS, memory)
        self._end = 0

    @property
    def rows(self) -> NDArray[Any]:
        """States (N,), oldest first; the last one is the present."""
        return self._rows[max(0, self._end - MOMENTS) : self._end]

    @property
    def memory(self) -> NDArray[Any]:
        """Memories (N,) of the same moments."""
        return self._memory[max(0, self._end - MOMENTS) : self._end]

    def clear(self) -> None:
        """Forget the past."""
        self._end = 0

    def record(self, row: NDArray[Any], memory: NDArray[Any]) -> None:
        """Add the present."""
        if self._end == len(self._rows):
            self._rows[:MOMENTS], self._memory[:MOMENTS] = self.rows, self.memory
            self._end = MOMENTS
        self._rows[self._end], self._memory[self._end] = row, memory
        self._end += 1


class View:
    """Watches animals, and draws them with the ``picture`` of the animal's package.

    Its ``draw(canvas, task, trail, ghost)`` draws the animal of a `Trail`, with a task of the animal or a `Scene`
    without one; ``ghost``, where there is one, is the trail of another animal with the same task, drawn translucent.

    Args:
        task (Task or Scene)
        count: Number of animals.
        width, height: Of a frame, in pixels.
        fps: At which frames are shown, one for every control period.
        human: A window shows the first animal.
    """

    def __init__(self, task: Task | Scene, count: int, width: int, height: int, fps: float, human: bool) -> None:
        package = type(task.animal).__module__.rpartition(".")[0]
        self._draw = import_module(f"{package}.picture").draw
        self.task, self.fps, self.human = task, fps, human
        self.canvas = Canvas(width, height)
        self.trails = [Trail(task.animal.state, task.memory) for _ in range(count)]
        self.window: Window | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Trails, without what belongs to a screen: the window opens again where it is shown."""
        return self.__dict__ | {"canvas": self.canvas.size, "window": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"canvas": Canvas(*state["canvas"])}

    def clear(self, ids: NDArray[np.int64]) -> None:
        """Forget the past of animals ``ids``: they start new episodes."""
        for i in ids:
            self.trails[i].clear()

    def record(self, rows: NDArray[Any], memory: NDArray[Any], ids: NDArray[np.int64]) -> None:
        """Record the present of animals ``ids``."""
        for i in ids:
            self.trails[i].record(rows[i], memory[i])

    def draw(self, i: int = 0, ghost: Trail | None = None, fps: float | None = None) -> Canvas:
        """Draw animal ``i``.

        Args:
            ghost: Another animal with the same task, drawn translucent.
            fps: At which the frames will be shown, where it is not the view's own.
        """
        canvas, trail = self.canvas, self.trails[i]
        canvas.clear()
        self._draw(canvas, self.task, trail, ghost)
        canvas.label(f"{trail.rows['time'][-1]:.2f} s", (canvas.width - 24, 30), INK, 17, (1.0, 0.5), back=PLATE)
        slow = self.task.control_rate / (fps or self.fps)
        if slow > 1.001:
            caption = f"slowed down {slow:.3g} times"
            canvas.label(caption, (canvas.width - 24, 50), MUTED, 12, (1.0, 0.5), back=PLATE)
        return canvas

    def show(self) -> None:
        """Show the first animal in the window, where there is to be one."""
        if not self.human:
            return
        if self.window is None:
            animals = f", animal 1 of {len(self.trails)}" if len(self.trails) > 1 else ""
            title = f"{type(self.task).__name__}{animals}"
            self.window = Window(self.canvas.size, title, "without one use render_mode='rgb_array'")
        if not self.window.closed:
            self.window.show(self.draw(), self.fps)

    def close(self) -> None:
        """Close the window; may be called twice."""
        if self.window is not None:
            self.window.close()


def open_display(instead: str, then: Callable[[], Any] = lambda: None) -> Any:
    """Open the display and do something there; without it this finds out whether there is one, as `Window` would."""
    try:
        if sys.platform == "linux" and not DISPLAYS & os.environ.keys():
            raise pygame.error("DISPLAY is not set")  # SDL would say so too, after complaints of its own
        pygame.display.init()
        # Where a display cannot be opened SDL draws to nowhere, unasked.
        if pygame.display.get_driver() == "offscreen" and "SDL_VIDEODRIVER" not in os.environ:
            raise pygame.error("none could be opened")
        return then()
    except pygame.error as error:
        pygame.display.quit()
        raise ValueError(f"a window needs a display ({error}): {instead}") from None


class Window:
    """A window on the screen.

    Args:
        size ((width, height), pixels)
        instead: What can be done where there is no display.

    Raises:
        ValueError: If there is no display.
    """

    def __init__(self, size: tuple[int, int], title: str, instead: str) -> None:
        self._screen = open_display(instead, lambda: pygame.display.set_mode(size))
        pygame.display.set_caption(title)
        self._clock = pygame.time.Clock()
        self.closed = False

    def show(self, canvas: Canvas, fps: float) -> None:
        """Show a picture, not before 1/``fps`` after the last one; does nothing once the user closed it."""
        if pygame.event.get(pygame.QUIT):
            self.close()
        if self.closed:
            return
        pygame.event.pump()
        self._screen.blit(canvas.frame(), (0, 0))
        pygame.display.flip()
        self._clock.tick(fps)

    def close(self) -> None:
        """Close it; may be called twice."""
        if not self.closed:
            self.closed = True
            pygame.display.quit()
