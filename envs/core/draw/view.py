"""Recent states of animals (`Trail`), a `View` that draws them, and a `Window`."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from importlib import import_module
from typing import Any

import numpy as np
import pygame
from numpy.typing import NDArray

from ..arguments import DISPLAYS
from ..env.task import Task
from .canvas import INK, MUTED, PLATE, Canvas, Panel

MOMENTS = 600
"""Largest number of moments in a trail."""


@dataclass(frozen=True)
class Scene:
    """Animal without a task, drawn without a goal.

    Args:
        control_rate: Moments per second.
        duration (s)
    """

    animal: Any
    control_rate: float
    duration: float
    memory = np.dtype([])


class Trail:
    """Recent states of one animal since the start of its episode.

    Args:
        state, memory (dtype): Records of the animal and of its task.
        name: Label next to the animal.
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
        """Delete all states."""
        self._end = 0

    def record(self, row: NDArray[Any], memory: NDArray[Any]) -> None:
        """Add the present state."""
        if self._end == len(self._rows):
            self._rows[:MOMENTS], self._memory[:MOMENTS] = self.rows, self.memory
            self._end = MOMENTS
        self._rows[self._end], self._memory[self._end] = row, memory
        self._end += 1


@singledispatch
def goal(task: Any, canvas: Canvas, view: Panel, trail: Trail) -> tuple[str, str]:
    """Draw the goal of a task into ``view``, and return its progress as headline and caption.

    A function for a class of tasks is registered in ``picture.py`` of the animal's package with ``@goal.register``.
    """
    return "", ""


@singledispatch
def sights(task: Any, trail: Trail) -> list[NDArray[np.float64]]:
    """Return the tracks (N, 2), m, of further objects that must be visible; registered like `goal`."""
    return []


class View:
    """Records the recent states of animals, and draws them with ``picture.draw`` of the animal's package.

    ``draw(canvas, task, trail, ghost)`` draws the animal of a `Trail` with its task or with a `Scene`; ``ghost`` is the
    trail of another animal with the same task, drawn translucent, or None.

    Args:
        task (Task or Scene)
        count: Number of animals.
        width, height: Size of a frame, in pixels.
        fps: Frame rate, with one frame per control period.
        human: Whether a window shows the first animal.
    """

    def __init__(self, task: Task | Scene, count: int, width: int, height: int, fps: float, human: bool) -> None:
        package = type(task.animal).__module__.rpartition(".")[0]
        self._draw = import_module(f"{package}.picture").draw
        self.task, self.fps, self.human = task, fps, human
        self.canvas = Canvas(width, height)
        self.trails = [Trail(task.animal.state, task.memory) for _ in range(count)]
        self.window: Window | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the trails without the window, which reopens when it is next shown."""
        return self.__dict__ | {"canvas": self.canvas.size, "window": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"canvas": Canvas(*state["canvas"])}

    def clear(self, ids: NDArray[np.int64]) -> None:
        """Delete the trails of animals ``ids``, which start new episodes."""
        for i in ids:
            self.trails[i].clear()

    def record(self, rows: NDArray[Any], memory: NDArray[Any], ids: NDArray[np.int64]) -> None:
        """Record the present states of animals ``ids``."""
        for i in ids:
            self.trails[i].record(rows[i], memory[i])

    def draw(self, i: int = 0, ghost: Trail | None = None, fps: float | None = None) -> Canvas:
        """Draw animal ``i``.

        Args:
            ghost: Another animal with the same task, drawn translucent.
            fps: Frame rate, if it differs from the view's.
        """
        canvas, trail = self.canvas, self.trails[i]
        canvas.clear()
        self._draw(canvas, self.task, trail, ghost)
        canvas.label(f"{trail.rows['time'][-1]:.2f} s", (canvas.width - 24, 30), INK, 17, (1.0, 0.5), back=PLATE)
        slow = self.task.control_rate / (fps or self.fps)
        if abs(slow - 1.0) > 1e-3:
            caption = f"slowed down {slow:.3g} times" if slow > 1.0 else f"sped up {1.0 / slow:.3g} times"
            canvas.label(caption, (canvas.width - 24, 50), MUTED, 12, (1.0, 0.5), back=PLATE)
        return canvas

    def show(self) -> None:
        """Show the first animal in the window, if ``human``."""
        if not self.human:
            return
        if self.window is None:
            animals = f", animal 1 of {len(self.trails)}" if len(self.trails) > 1 else ""
            title = f"{type(self.task).__name__}{animals}"
            self.window = Window(self.canvas.size, title, "use render_mode='rgb_array' without one")
        if not self.window.closed:
            self.window.show(self.draw(), self.fps)

    def close(self) -> None:
        """Close the window; may be called twice."""
        if self.window is not None:
            self.window.close()


def open_display(instead: str, then: Callable[[], Any] = lambda: None) -> Any:
    """Open the display and return ``then()``; without a display, raise ValueError with the hint ``instead``."""
    try:
        if sys.platform == "linux" and not DISPLAYS & os.environ.keys():
            raise pygame.error("DISPLAY is not set")  # SDL would print warnings first
        if not pygame.display.get_init():  # another library has closed it
            _windows.clear()
        pygame.display.init()
        # SDL uses the driver "offscreen" if no display can be opened.
        if pygame.display.get_driver() == "offscreen" and "SDL_VIDEODRIVER" not in os.environ:
            raise pygame.error("SDL cannot open one")
        return then()
    except pygame.error as error:
        if not _windows:
            pygame.display.quit()
        raise ValueError(f"a window needs a display ({error}): {instead}") from None


class Window:
    """Window on the screen.

    Args:
        size ((width, height), pixels)
        instead: Hint in the message about a missing display.

    Raises:
        ValueError: Without a display.
    """

    def __init__(self, size: tuple[int, int], title: str, instead: str) -> None:
        self._window = open_display(instead, lambda: pygame.Window(title, size))
        self._clock = pygame.time.Clock()
        self.closed = False
        _windows.add(self)

    def show(self, canvas: Canvas, fps: float) -> None:
        """Show a picture at least 1/``fps`` after the last one; has no effect after the user closed the window."""
        if self.closed or not pygame.display.get_init():  # another library may have closed it
            return
        for event in pygame.event.get((pygame.QUIT, pygame.WINDOWCLOSE)):
            for window in [*_windows]:
                if event.type == pygame.QUIT or event.window is window._window:
                    window.close()
        if self.closed:
            return
        pygame.event.pump()
        self._window.get_surface().blit(canvas.frame(), (0, 0))
        self._window.flip()
        self._clock.tick(fps)

    def close(self) -> None:
        """Close the window; may be called twice. The last window closes the display, unless the caller uses it, too."""
        if not self.closed:
            self.closed = True
            _windows.discard(self)
            self._window.destroy()
            if not _windows and pygame.display.get_surface() is None:
                pygame.display.quit()


_windows: weakref.WeakSet[Window] = weakref.WeakSet()
"""Open windows, which share one display."""
