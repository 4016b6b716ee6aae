"""Film of a recorded worm next to the worm moved by the fitted medium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gymnosoma.envs.core.draw import canvas as c
from gymnosoma.envs.core.draw.canvas import Canvas
from gymnosoma.envs.worm.picture import body
from gymnosoma.recordings import Midlines, RecordedRun

from .reel import play

RECORDED: c.Colour = (110, 116, 126)

AGO = 2.0
"""Duration of the tracks shown, s."""


class RecordedFilm:
    """Frames with the recorded midline in grey and the worm moved by the fitted medium in colour.

    Args:
        run: Result of `forces`.
        midlines: Recording used to compute ``run``.
        width, height: Size of a frame, in pixels.
    """

    def __init__(self, run: RecordedRun, midlines: Midlines, width: int, height: int) -> None:
        self._first = round(float(run.time[0]) * midlines.rate)
        stride = round(1.0 / (midlines.rate * float(run.time[1] - run.time[0])))
        self._joints = run.refit_joints[::stride]
        self._run, self._lines = run, midlines.points[self._first : self._first + len(self._joints)]
        self._reliable = run["reliable"][::stride] > 0.0
        self._canvas, self._now = Canvas(width, height), 0
        self.fps, self.size = midlines.rate, (width, height)

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self._joints)

    def __iter__(self) -> Iterator[None]:
        """Advance frame by frame."""
        for k in range(len(self)):
            self._now = k
            yield

    def draw(self, fps: float | None = None) -> Canvas:
        """Draw the current frame."""
        canvas, k, length = self._canvas, self._now, self._run.motion.length
        canvas.clear()
        since = max(0, k - round(AGO * self.fps))
        line = self._lines[k] if np.isfinite(self._lines[k]).all() else self._joints[k]
        eyes = np.stack([self._joints[k].mean(0), line.mean(0)])
        view = canvas.view((0.0, 0.0, canvas.width, canvas.height), eyes, 3.2 * length, 0.7 * length, 1.4 * length)
        view.grid(0.5 * length)
        body(view, self._joints[k], False)
        for track, colour in ((self._lines, RECORDED), (self._joints, c.FORE)):
            view.polyline(track[since : k + 1, 0][np.isfinite(track[since : k + 1, 0, 0])], colour, 1.25, c.PAPER)
        if np.isfinite(self._lines[k]).all():
            view.polyline(self._lines[k], RECORDED, 3.0)
        gap = "" if self._reliable[k] else ", in a gap: interpolated"
        ratio = f"b_perp / b_par = {self._run.ratio:.3g}"
        canvas.titles(f"{(k + self._first) / self.fps:.2f} s{gap}", f"grey: recorded; colour: moved by {ratio}")
        view.scale_bar()
        return canvas

    def close(self) -> None:
        """Close the film; it has no resources to release."""


def save_recorded(run: RecordedRun, midlines: Midlines, path: Path, width: int, height: int) -> int:
    """Write the film, or its last frame (``.png``), and return the number of frames."""
    return play(RecordedFilm(run, midlines, width, height), path.name, path)
