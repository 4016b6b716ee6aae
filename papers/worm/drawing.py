"""Common parts of the worm's figures: the recorded turns, and drawings of bodies, tracks and kymograms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from gymnosoma.envs.worm import Worm
from gymnosoma.envs.worm.kymogram import load_kymogram

Array = NDArray[np.float64]

MM, PN, FW = 1e3, 1e12, 1e15
"""Factors from SI to the units of the paper's axes."""

HOLD = 1e-3
"""Time for which the authors' program holds a command, s."""

HEAD, TAIL = "#f28e2b", "#4eb3d3"
OURS, PAPER = "#b8322c", "0.45"
COLOURS = {"forward": "#3b6fb6", "backward": "#c8413b", "turn": "#4a9a4a"}
RADIUS = 40e-6
"""Largest radius of the body, m (Appendix 1, Mass)."""


class Recording(NamedTuple):
    """Recorded turn, and the paper's view of it.

    ``side`` is the sign of the recorded angles in the plane of the picture. ``heading`` (rad) is the initial mean rod
    angle, which orients the tracks as in Fig. 3. ``snapshots`` are the frames drawn there. ``deep`` is the frame of the
    deep bend of Fig. 4, and ``bend`` the range of the rods that form it.
    """

    title: str
    kymogram: str
    side: float
    heading: float
    snapshots: tuple[int, ...]
    deep: int
    bend: tuple[int, int]

    @property
    def angles(self) -> Array:
        """Joint angles (N, n - 1) rad in the plane of the picture."""
        return self.side * load_kymogram(self.kymogram)


OMEGA = Recording(
    "Escape with omega turn", "omega_turn", -1.0, np.pi * 1.86, (60, 240, 300, 359, 390, 590), 359, (3, 15)
)
DELTA = Recording("Delta turn", "delta_turn", 1.0, np.pi * 0.97, (30, 90, 127, 160, 194, 290), 194, (15, 25))


def joints(rod_angle: Array, centre: Array) -> Array:
    """Return the ends of the rods (..., n + 1, 2) in m, for worms of the paper's length."""
    worm = Worm()
    rows = worm.rows(int(np.prod(rod_angle.shape[:-1])))
    rows["rod_angle"], rows["centre"] = rod_angle.reshape(len(rows), -1), centre.reshape(len(rows), 2)
    return worm.points(rows).reshape(*rod_angle.shape[:-1], -1, 2)


def body(ax: Axes, points: Array, **style: Any) -> None:
    """Draw the outline of a worm with rod ends ``points`` (n + 1, 2) in m, on axes in mm."""
    along = np.gradient(points, axis=0)
    across = np.stack([-along[:, 1], along[:, 0]], -1) / np.linalg.norm(along, axis=1, keepdims=True)
    width = RADIUS * np.sqrt(1 - np.linspace(-1, 1, len(points)) ** 2)[:, None] * across
    outline = MM * np.concatenate([points + width, (points - width)[::-1]])
    look: dict[str, Any] = {"facecolor": "#d9cfc1", "edgecolor": "#4d4235", "lw": 0.7, "zorder": 3}
    ax.fill(*outline.T, **look | style)


def turn_right(way: Array) -> Array:
    """Return the matrix that rotates row vectors so that ``way`` (2,) points along x."""
    x, y = way / np.linalg.norm(way)
    return np.array([[x, -y], [y, x]])


def head(ax: Axes, points: Array, size: float = 4.5) -> None:
    """Mark the head of a worm with rod ends ``points`` (n + 1, 2) in m."""
    x, y = MM * points[0]
    ax.plot(x, y, "o", ms=size, mfc="#ffe14d", mec="#4d4235", mew=0.6, zorder=5, label="head")


def tracks(ax: Axes, points: Array) -> None:
    """Draw the tracks of head and tail; ``points`` (N, n + 1, 2) are in m."""
    ax.plot(*(MM * points[:, 0]).T, color=HEAD, lw=1.1, label="head track", zorder=1)
    ax.plot(*(MM * points[:, -1]).T, color=TAIL, lw=1.1, label="tail track", zorder=1)


def forces(ax: Axes, place: Array, force: Array, longest: float, length: float = 0.4) -> Any:
    """Draw arrows of ``force`` (n, 2) N at ``place`` (n, 2) m, with ``longest`` N drawn as ``length`` mm."""
    return ax.quiver(
        *(MM * place).T,
        *force.T,
        angles="xy",
        scale_units="xy",
        scale=longest / length,
        width=0.006,
        headwidth=3.5,
        zorder=4,
    )


def map_arena(ax: Axes) -> None:
    """Label axes as the plane in mm, with equal scales."""
    ax.set_aspect("equal")
    ax.set_xlabel("x (mm)")
    ax.set_ylabel("y (mm)")


def heat_map(ax: Axes, values: Array, duration: float, limit: float, **style: Any) -> Any:
    """Draw a heat map of values (N, n) along the body over time, with the head at the top and limits +- ``limit``."""
    look: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit, "interpolation": "nearest"}
    image = ax.imshow(values.T, aspect="auto", extent=(0, duration, 1, 0), **look | style)
    ax.set_yticks([0, 1], ["head", "tail"])
    return image


def marks(ax: Axes, times: Iterable[float]) -> None:
    """Mark the times (s) of snapshots by triangles on the upper edge."""
    for t in times:
        ax.plot(t, 1.0, "kv", ms=5, transform=ax.get_xaxis_transform(), clip_on=False, zorder=6)


def places(points: Array) -> dict[str, Array]:
    """Return table columns with head, middle and tail of ``points`` (..., n + 1, 2) in m."""
    middle = points.shape[-2] // 2
    return {
        f"{name}_{axis}_mm": MM * points[..., k, a]
        for name, k in (("head", 0), ("middle", middle), ("tail", -1))
        for a, axis in enumerate("xy")
    }
