"""The worm's picture: body, tracks, friction forces, kymogram, and the goal of each task."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from ..core import canvas as c
from ..core.canvas import Canvas, Panel
from ..core.view import Trail
from .animal import Worm, friction_force
from .tasks import Escape, Follow, Medium, Reach, _Forward, _WormTask

RADIUS = 0.04
"""Half width of an adult in the middle, in lengths: 80 µm on 1 mm; Boyle, Berri & Cohen (2012), Front. Comput.
Neurosci. 6:10, whose outline is the ellipse used here."""

FLESH: c.Colour = (232, 206, 160)
SHADE: c.Colour = (150, 112, 62)
FORCE: c.Colour = (96, 84, 140)
GHOST: c.Colour = (110, 116, 126)

STRIP = 116.0
"""Height of the kymogram's strip, pt."""


def draw(canvas: Canvas, task: _WormTask, trail: Trail, ghost: Trail | None = None) -> None:
    """Draw a worm.

    Parameters
    ----------
    canvas : Canvas
    task : task of the worm
    trail : Trail
    ghost : Trail, optional
        Another worm with the same task.
    """
    animal, both = task.animal, [trail] if ghost is None else [trail, ghost]
    area = (0.0, 0.0, canvas.width, canvas.height - STRIP)
    length = float(trail.rows["length"][-1])
    # Two seconds hold a whole wave on agar and several in water, so the view does not sway with the body.
    eyes = [c.steady(other.rows["centre"], 2.0 * task.rate) for other in both]
    view = canvas.view(area, [*eyes, *sights(task, trail)], 3.2 * length, 0.65 * length)
    view.grid(0.5 * length)
    goal(task, canvas, view, trail)
    for other in reversed(both):
        points = animal.points(other.rows)
        tint = c.mix(c.PAPER, GHOST, 0.5)
        view.polyline(points[:, -1], tint if other is ghost else c.AFT, 1.5, c.PAPER)
        view.polyline(points[:, 0], tint if other is ghost else c.FORE, 1.5, c.PAPER)
        if other is ghost:
            _ghost(view, points[-1])
            view.label(other.name, points[-1, 0], GHOST, 12, (0.5, 1.0), (0, -12))
    _forces(canvas, view, animal, trail)
    _body(view, animal.points(trail.rows[-1:])[0])
    view.label(trail.name, animal.points(trail.rows[-1:])[0, 0], c.INK, 12, (0.5, 1.0), (0, -12))
    view.scale_bar()
    _strip(canvas, task, trail)


@singledispatch
def sights(task: Any, trail: Trail) -> NDArray[np.float64]:
    """Points (N, 2) m that must be seen besides the worm."""
    return np.zeros((0, 2))


@sights.register
def _(task: Reach, trail: Trail) -> NDArray[np.float64]:
    return np.stack([trail.memory["target"][-1], trail.rows["centre"][0]])


@sights.register
def _(task: Follow, trail: Trail) -> NDArray[np.float64]:
    return _path(task, trail)


@singledispatch
def goal(task: Any, canvas: Canvas, view: Panel, trail: Trail) -> None:
    """Draw the goal of a task, and how far it is reached."""


@goal.register
def _(task: _Forward, canvas: Canvas, view: Panel, trail: Trail) -> None:
    memory, length = trail.memory[-1], float(trail.rows["length"][-1])
    start, way = memory["start"], memory["goal"]
    side = np.array([-way[1], way[0]])
    reach = np.hypot(*(view.high - view.low))
    along = float(np.sum((0.5 * (view.low + view.high) - start) * way))
    view.polyline([start + max(0.0, along - reach) * way, start + (along + reach) * way], c.GOAL, 1.0)
    for k in range(max(0, int((along - reach) / length)), int((along + reach) / length) + 1):
        mark = start + k * length * way
        view.arrow(mark - 0.02 * length * way, 0.08 * length * way, c.GOAL, 1.5)
        view.label(f"{k * length * 1e3:g} mm", mark, c.GOAL, 11, (0.5, 0.5), tuple(13 * side * (1, -1)))
    speed = task.info(trail.rows[-1:], trail.memory[-1:])["speed"][0]
    medium = f", medium {memory['sigma']:.2f}" if isinstance(task, Medium) else ""
    canvas.label(f"{1e3 * speed:.3f} mm/s{medium}", (24, 30), c.INK, 17)
    canvas.label("mean speed along the goal", (24, 50), c.MUTED, 12)


@goal.register
def _(task: Reach, canvas: Canvas, view: Panel, trail: Trail) -> None:
    memory = trail.memory[-1]
    view.ring(memory["target"], task.radius, c.GOAL, 2.0)
    view.disc(memory["target"], 3.0, c.GOAL)
    distance = task.info(trail.rows[-1:], trail.memory[-1:])["distance"][0]
    canvas.label(f"{1e3 * distance:.2f} mm", (24, 30), c.INK, 17)
    canvas.label("from the head to the target", (24, 50), c.MUTED, 12)


@goal.register
def _(task: Escape, canvas: Canvas, view: Panel, trail: Trail) -> None:
    memory, length = trail.memory[-1], float(trail.rows["length"][-1])
    stages = (
        ("reverse", memory["reversed"] / task.retreat, f"{1e3 * memory['reversed']:.2f} mm"),
        ("turn", memory["turned"] / task.turn, f"{np.rad2deg(memory['turned']):.0f}°"),
        ("run", memory["run"] / length, f"{1e3 * memory['run']:.2f} mm"),
    )
    for k, (name, share, value) in enumerate(stages):
        x, now = 24 + 150 * k, memory["stage"] == k
        canvas.label(name, (x, 28), c.INK if now else c.MUTED, 15)
        canvas.label(value, (x + 130, 28), c.INK if now else c.MUTED, 12, (1.0, 0.5))
        canvas.bar((x, 40, 130, 5), share, c.GOAL)


@goal.register
def _(task: Follow, canvas: Canvas, view: Panel, trail: Trail) -> None:
    view.polyline(_path(task, trail), c.mix(c.PAPER, c.GOAL, 0.6), 4.0)
    place = task.place(trail.rows[-1:], trail.memory[-1:])[0]
    view.disc(place, 6.0, c.GOAL)
    error = task.info(trail.rows[-1:], trail.memory[-1:])["error"][0]
    canvas.label(f"{1e3 * error:.3f} mm", (24, 30), c.INK, 17)
    canvas.label("from the centre to the real worm's", (24, 50), c.MUTED, 12)


def _path(task: Follow, trail: Trail) -> NDArray[np.float64]:
    row, memory = trail.rows[-1:].copy(), trail.memory[-1:]
    row["time"] = 0.0
    return np.concatenate([task.place(row, memory, k) for k in range(0, len(task.path), 4)])


def _shape(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Midline (N, 2) smoothed between the joints, and its dorsal and ventral sides, m."""
    joints = np.linspace(0.0, 1.0, len(points))
    length = float(np.sum(np.hypot(*np.diff(points, axis=0).T)))
    # Denser at the ends, which are round.
    along = 0.5 * (1.0 - np.cos(np.linspace(0.0, np.pi, 4 * len(points))))
    middle = CubicSpline(joints, points)(along)
    radius = RADIUS * length * np.sqrt(np.maximum(0.0, 1.0 - (2.0 * along - 1.0) ** 2))
    # The tail of the animal is a cone rather than half an ellipse.
    radius *= np.minimum(1.0, 0.15 + 0.85 * np.sqrt(np.maximum(0.0, 1.0 - along) / 0.3))
    return middle, *c.outline(middle, radius)


def _body(view: Panel, points: NDArray[np.float64]) -> None:
    middle, dorsal, ventral = _shape(points)
    whole = np.concatenate([dorsal, ventral[::-1]])
    view.polygon(whole, FLESH, SHADE, 1.0)
    view.polygon(np.concatenate([middle, ventral[::-1]]), c.mix(FLESH, SHADE, 0.18))
    view.polyline(dorsal, c.WARM, 1.75)
    view.polyline(ventral, c.COLD, 1.75)
    for place, size in ((9, 0.012), (15, 0.016)):
        view.disc(middle[place], size * 1e-3 / view.point, SHADE)
    view.disc(middle[2], 4.0, c.FORE)


def _ghost(view: Panel, points: NDArray[np.float64]) -> None:
    _, dorsal, ventral = _shape(points)
    view.polygon(np.concatenate([dorsal, ventral[::-1]]), (*GHOST, 90), (*GHOST, 150), 1.0)


def _forces(canvas: Canvas, view: Panel, animal: Worm, trail: Trail) -> None:
    rows = trail.rows
    force = friction_force(rows["rod_angle"], rows["rod_velocity"].swapaxes(1, 2), rows)
    # Agar's forces are 25,000 times those of water: the scale is the past's root mean square.
    usual = np.sqrt(np.mean(np.sum(force**2, -1)))
    if not usual > 0:
        return
    metre = 0.09 * float(rows["length"][-1]) / usual
    joints = animal.points(rows[-1:])[0]
    for at, vector in zip(0.5 * (joints[1:] + joints[:-1]), force[-1] * metre, strict=True):
        view.arrow(at, vector, FORCE, 1.25)
    shown = c.rounded(2.0 * usual)
    end = canvas.width - 24.0
    length = shown * metre / view.point
    y = canvas.height - STRIP - 62.0
    canvas.arrow((end - length, y), (length, 0.0), FORCE, 1.25)
    canvas.label(f"friction {c.quantity(shown, 'N')}", (end - length, y), FORCE, 11, (1.0, 0.5), (-6, 0))


def _strip(canvas: Canvas, task: _WormTask, trail: Trail) -> None:
    top, left, right = canvas.height - STRIP, 112.0, 92.0
    height = 0.5 * (STRIP - 26.0)
    shown = round(8.0 * task.rate)
    rows = trail.rows[-shown:]
    canvas.box((0, top, canvas.width, STRIP), c.mix(c.PAPER, c.CARD, 0.5))
    angles = (("commanded", rows["control_angle"]), ("actual", np.diff(rows["rod_angle"])))
    for k, (name, values) in enumerate(angles):
        y = top + 10 + k * (height + 6)
        area = (left, y, canvas.width - left - right, height)
        canvas.box(area, c.CARD)
        panel = canvas.panel(area, (-shown, 0), (0, 1))
        panel.raster(c.diverging(values.T, 0.8), (-len(rows), 0), (0, 1))
        canvas.label(name, (left - 12, y + 0.5 * height), c.INK, 12, (1.0, 0.5))
