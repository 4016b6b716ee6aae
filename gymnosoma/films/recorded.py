"""A recorded worm beside what the medium makes of its shapes: as a film, and as a figure for a paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gymnosoma.agents.support.files import result
from gymnosoma.envs.core.draw import canvas as c
from gymnosoma.envs.core.draw.canvas import Canvas
from gymnosoma.envs.core.draw.view import open_display
from gymnosoma.envs.worm.fit import GRID, MediumFit
from gymnosoma.envs.worm.forces import RecordedRun
from gymnosoma.envs.worm.midlines import Midlines
from gymnosoma.envs.worm.picture import body

from .reel import check_film, play

RECORDED: c.Colour = (110, 116, 126)

AGO = 2.0
"""Seconds of the tracks that are shown."""


class RecordedFilm:
    """Frame by frame, the recorded midline in grey and the worm that the medium moves in colour.

    Args:
        run: Of `forces`.
        midlines: That it was made of.
        width, height: Of a frame, in pixels.
    """

    def __init__(self, run: RecordedRun, midlines: Midlines, width: int = 960, height: int = 540) -> None:
        open_display("")
        self._first = round(float(run.time[0]) * midlines.rate)
        stride = round(1.0 / (midlines.rate * float(run.time[1] - run.time[0])))
        self._joints = run.refit_joints[::stride]
        self._run, self._lines = run, midlines.points[self._first : self._first + len(self._joints)]
        self._reliable = run["reliable"][::stride] > 0.0
        self._canvas, self._now = Canvas(width, height), 0
        self.fps, self.size = midlines.rate, (width, height)

    def __len__(self) -> int:
        """Number of frames."""
        return len(self._joints)

    def __iter__(self) -> Iterator[None]:
        """Move to the next frame."""
        for k in range(len(self)):
            self._now = k
            yield

    def draw(self, fps: float | None = None) -> Canvas:
        """Draw the present."""
        canvas, k, length = self._canvas, self._now, self._run.motion.length
        canvas.clear()
        since = max(0, k - round(AGO * self.fps))
        seen = self._lines[k] if np.isfinite(self._lines[k]).all() else self._joints[k]
        eyes = np.stack([self._joints[k].mean(0), seen.mean(0)])
        view = canvas.view((0.0, 0.0, canvas.width, canvas.height), eyes, 3.2 * length, 0.7 * length, 1.4 * length)
        view.grid(0.5 * length)
        body(view, self._joints[k], False)
        for track, colour in ((self._lines, RECORDED), (self._joints, c.FORE)):
            view.polyline(track[since : k + 1, 0][np.isfinite(track[since : k + 1, 0, 0])], colour, 1.25, c.PAPER)
        if np.isfinite(self._lines[k]).all():
            view.polyline(self._lines[k], RECORDED, 3.0)
        known = "" if self._reliable[k] else ", in a gap: interpolated"
        ratio = f"b_perp / b_par = {self._run.ratio:.3g}"
        canvas.titles(f"{(k + self._first) / self.fps:.2f} s{known}", f"grey: recorded; colour: moved by {ratio}")
        view.scale_bar()
        return canvas

    def close(self) -> None:
        """Nothing is open."""


def save_recorded(run: RecordedRun, midlines: Midlines, path: Path, width: int, height: int) -> int:
    """Write the film, or its last frame (``.png``); the number of frames.

    Raises:
        ValueError: If it cannot be written.
    """
    check_film("film", path, width, height)
    with result("film", path) as file:
        return play(RecordedFilm(run, midlines, width, height), path.name, file)


def save_figure(run: RecordedRun, fit: MediumFit, path: Path) -> None:
    """Draw path, kymogram, forces and the profile of sigma with its interval, in a format that matplotlib writes.

    Raises:
        ImportError: If matplotlib is not installed.
        ValueError: If it cannot be written.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    ((way, kymogram), (force, profile)) = figure.subplots(2, 2)
    for centre, colour, name in (("centre", "0.55", "recorded"), ("refit_centre", "C3", "moved by the medium")):
        way.plot(
            *(1e3 * (run[centre] - run["centre"][0])).T, color=colour, label=name, lw=2.5 if colour[0] == "0" else 1
        )
    way.set(xlabel="x [mm]", ylabel="y [mm]", aspect="equal", adjustable="datalim")
    way.legend(fontsize=8)
    edges = np.append(run.time, 2 * run.time[-1] - run.time[-2])
    shown = np.where(run["reliable"][:, None] > 0, run["joint_angle"], np.nan).T
    most = float(np.nanmax(np.abs(shown)))
    joints = np.arange(shown.shape[0] + 1) + 0.5
    image = kymogram.pcolormesh(edges, joints, shown, cmap="RdBu_r", vmin=-most, vmax=most, rasterized=True)
    kymogram.invert_yaxis()
    kymogram.set(xlabel="time [s]", ylabel="joint, from the head")
    figure.colorbar(image, ax=kymogram, label="angle [rad]")
    newtons = "friction_force" in run
    value = 1e9 * run["friction_force"] if newtons else 1e6 * run["force_per_friction"]
    size = np.where(run["reliable"][:, None] > 0, np.hypot(*np.moveaxis(value, -1, 0)), np.nan).T
    rods = np.arange(size.shape[0] + 1) + 0.5
    image = force.pcolormesh(edges, rods, size, cmap="viridis", rasterized=True)
    force.invert_yaxis()
    force.set(xlabel="time [s]", ylabel="rod, from the head")
    figure.colorbar(image, ax=force, label="friction [nN]" if newtons else "friction / b_perp [um/s]")
    for worm in fit.per_worm:
        profile.semilogy(GRID, worm.profile, ".-", color="0.3", lw=1, ms=3)
    profile.axvspan(fit.interval[0], min(fit.interval[1], float(GRID[-1])), color="C3", alpha=0.3, label="95%")
    profile.set(xlabel="sigma (water 0, agar 1)", ylabel="sum of squares over its least", xlim=(GRID[0], GRID[-1]))
    profile.legend(fontsize=8)
    with result("figure", path) as file:
        figure.savefig(file, dpi=200)
